// Modules that the compiler makes by itself: with options that no manifest can ask for, and in a second instead of those
// that SwiftPM takes to plan a build.

import Foundation

/// The library that tests are linked with.
private struct CompiledFramework {
    /// The folder of the module to import.
    private let modules: URL
    let objects: [URL]

    /// The options by which a source imports it. Its C module is declared by a file of this checkout.
    var importOptions: [String] { ["-I", modules.path, "-I", Self.sources.appending(path: "CInClassSystem").path] }

    /// As this build made it, or compiled with a sanitizer, which library and tests must share, once.
    init(_ options: [String]) throws {
        if options.isEmpty, let built = Self.built {
            self = built
            return
        }
        modules = Fixtures.folder.appending(path: "library" + options.joined().replacing("=", with: "-"))
        objects = [modules.appending(path: "Library.o")]
        if FileManager.default.fileExists(atPath: objects[0].path) { return }
        try FileManager.default.createDirectory(at: modules, withIntermediateDirectories: true)
        // The first is imported by the second, and nothing of it is linked.
        for (module, object) in [
            ("InClassTestingSystem", modules.appending(path: "System.o")), ("InClassTesting", objects[0]),
        ] {
            let result = try RunningPrograms.run(
                [
                    "swiftc", "-swift-version", "6", "-wmo", "-g", "-parse-as-library", "-DDEBUG", "-module-name",
                    module, "-package-name", "inclasstesting", "-emit-module", "-emit-module-path",
                    modules.appending(path: "\(module).swiftmodule").path, "-c", "-o", object.path,
                ] + options + importOptions + Self.sources(of: module), in: modules)
            guard result.status == 0 else { throw ProgramError(description: "\(result)") }
        }
    }

    private static let sources = Fixtures.checkout.appending(path: "Sources/Testing")

    /// The paths of a module's sources, in order.
    private static func sources(of module: String) throws -> [String] {
        let folder = sources.appending(path: module)
        return try FileManager.default.subpathsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".swift") }
            .sorted().map { folder.appending(path: $0).path }
    }

    private init(modules: URL, objects: [URL]) {
        self.modules = modules
        self.objects = objects
    }

    /// What lies beside testlogger, where the native build system has put it.
    private static let built: CompiledFramework? = {
        let products = Fixtures.testlogger.deletingLastPathComponent()
        let modules = products.appending(path: "Modules")
        let folder = products.appending(path: "InClassTesting.build")
        // Objects of sources that have been moved or deleted since may lie there, too.
        let objects = ((try? sources(of: "InClassTesting")) ?? []).map { name in
            folder.appending(path: "\(URL(filePath: name).lastPathComponent).o")
        }
        let module = modules.appending(path: "InClassTesting.swiftmodule")
        guard !objects.isEmpty, (objects + [module]).allSatisfy({ FileManager.default.fileExists(atPath: $0.path) })
        else { return nil }
        return CompiledFramework(modules: modules, objects: objects)
    }()
}

/// A module of one source, described for testlogger.
struct CompiledModule {
    let folder: URL
    var source: URL { folder.appending(path: "Source.swift") }
    private var options: [String]
    private var framework: CompiledFramework

    /// Compiles a source that imports InClassTesting.
    ///
    /// - Parameters:
    ///   - options: options for the source, such as `-O`.
    ///   - sanitizer: the option of a sanitizer, for InClassTesting too.
    init(named name: String, source text: String, options: [String] = [], sanitizer: String? = nil) throws {
        folder = Fixtures.folder.appending(path: "compiled-\(name)")
        let sanitizing = sanitizer.map { ["-sanitize=\($0)"] } ?? []
        self.options = options + sanitizing
        framework = try CompiledFramework(sanitizing)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try Data(text.utf8).write(to: source)
        // Otherwise the object could have the same time, which means that it might be another's.
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSinceNow: -60)], ofItemAtPath: source.path)
        let object = folder.appending(path: "Source.o")
        let result = try compile(["-c", source.path, "-o", object.path])
        guard result.status == 0 else { throw ProgramError(description: "\(result)") }
        try Self.describe(
            "M", of: folder, sources: [source], objects: [object] + framework.objects,
            in: folder.appending(path: "M.inclass"))
    }

    private func compile(_ words: [String]) throws -> ProgramResult {
        try RunningPrograms.run(
            ["swiftc", "-g", "-DDEBUG", "-parse-as-library", "-module-name", "M", "-wmo"] + framework.importOptions
                + options + words, in: folder)
    }

    /// Checks the source again, in another mode, and returns what the compiler says.
    func check(_ words: [String]) throws -> ProgramResult { try compile(["-typecheck", source.path] + words) }

    /// Runs its tests.
    func testlogger(_ words: [String] = []) throws -> ProgramResult {
        try RunningPrograms.run([Fixtures.testlogger.path, "--stable-output", "M.inclass"] + words, in: folder)
    }

    /// The words that run its tests, for a shell.
    var command: String { "'\(Fixtures.testlogger.path)' --stable-output M.inclass" }

    /// The line of the source that ends in this comment.
    func line(_ mark: String) throws -> Int {
        let lines = try String(contentsOf: source, encoding: .utf8).components(separatedBy: "\n")
        guard let index = lines.firstIndex(where: { $0.hasSuffix("// \(mark)") }) else {
            throw ProgramError(description: "nothing is marked \(mark)")
        }
        return index + 1
    }

    /// Writes for testlogger what a module is made of; its image lies beside.
    fileprivate static func describe(
        _ module: String, of root: URL, sources: [URL], objects: [URL], in file: URL
    ) throws {
        let image = file.deletingPathExtension().appendingPathExtension("img")
        // The one of the toolchain that compiles, as a plugin would say.
        let compiler = RunningPrograms.path(of: "swiftc").map { URL(filePath: $0).resolvingSymlinksInPath() }
        let clang = compiler?.deletingLastPathComponent().appending(path: "clang").path ?? ""
        let lines =
            ["module\t\(module)", "target\t\(module)", "root\t\(root.path)", "image\t\(image.path)"]
            + (FileManager.default.isExecutableFile(atPath: clang) ? ["clang\t\(clang)"] : [])
            + sources.map { "source\t\($0.path)" } + objects.map { "object\t\($0.path)" }
        try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: file)
    }
}

extension FixturePackage {
    /// Copies a fixture of `Tests/Fixtures` and compiles each module of it, which imports no other than InClassTesting;
    /// testlogger finds them by name.
    init(compiling fixture: String, options: [String] = []) throws {
        try self.init(fixture)
        let framework = try CompiledFramework([])
        let build = folder.appending(path: ".build/plugins/outputs")
        try FileManager.default.createDirectory(at: build, withIntermediateDirectories: true)
        for module in try FileManager.default.contentsOfDirectory(atPath: file("Sources").path).sorted() {
            let names = try FileManager.default.contentsOfDirectory(atPath: file("Sources/\(module)").path)
            let sources = names.filter { $0.hasSuffix(".swift") }.sorted().map { file("Sources/\(module)/\($0)") }
            let object = build.appending(path: "\(module).o")
            let result = try RunningPrograms.run(
                [
                    "swiftc", "-g", "-DDEBUG", "-parse-as-library", "-enable-testing", "-swift-version", "6", "-wmo",
                    "-module-name", module, "-c", "-o", object.path,
                ] + framework.importOptions + options + sources.map(\.path), in: folder)
            guard result.status == 0 else { throw ProgramError(description: "\(fixture) does not build: \(result)") }
            try CompiledModule.describe(
                module, of: folder, sources: sources, objects: [object] + framework.objects,
                in: build.appending(path: "\(module).inclass"))
        }
    }
}
