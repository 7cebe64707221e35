// Compiles modules by calling the compiler directly. This allows options that manifests can't specify, and saves the
// seconds that SwiftPM needs to plan a build.

import Foundation

/// The compiled InClassTesting library that tests are linked with.
private struct CompiledFramework {
    /// The folder that contains the library's module.
    private let modules: URL
    let objects: [URL]

    /// The compiler options for importing the library. A module map in this checkout declares the library's C module.
    var importOptions: [String] { ["-I", modules.path, "-I", Self.sources.appending(path: "CInClassSystem").path] }

    /// Uses the library of the current build if `options` is empty and that library exists. Otherwise compiles the
    /// library once for these options.
    ///
    /// The library and the tests must be compiled with the same sanitizer.
    init(_ options: [String]) throws {
        if options.isEmpty, let built = Self.built {
            self = built
            return
        }
        modules = Fixtures.folder.appending(path: "library" + options.joined().replacing("=", with: "-"))
        objects = [modules.appending(path: "Library.o")]
        if FileManager.default.fileExists(atPath: objects[0].path) { return }
        try FileManager.default.createDirectory(at: modules, withIntermediateDirectories: true)
        // InClassTesting imports InClassTestingSystem, but tests aren't linked with the object of InClassTestingSystem.
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

    /// Returns the sorted paths of a module's sources.
    private static func sources(of module: String) throws -> [String] {
        let folder = sources.appending(path: module)
        return try FileManager.default.subpathsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".swift") }
            .sorted().map { folder.appending(path: $0).path }
    }

    private init(modules: URL, objects: [URL]) {
        self.modules = modules
        self.objects = objects
    }

    /// The library that the native build system placed next to testlogger, or nil if it isn't there.
    private static let built: CompiledFramework? = {
        let products = Fixtures.testlogger.deletingLastPathComponent()
        let modules = products.appending(path: "Modules")
        let folder = products.appending(path: "InClassTesting.build")
        // The folder may also contain objects of sources that have been moved or deleted, so look up only those of
        // current sources.
        let objects = ((try? sources(of: "InClassTesting")) ?? []).map { name in
            folder.appending(path: "\(URL(filePath: name).lastPathComponent).o")
        }
        let module = modules.appending(path: "InClassTesting.swiftmodule")
        guard !objects.isEmpty, (objects + [module]).allSatisfy({ FileManager.default.fileExists(atPath: $0.path) })
        else { return nil }
        return CompiledFramework(modules: modules, objects: objects)
    }()
}

/// A module with one source and a description for testlogger.
struct CompiledModule {
    let folder: URL
    var source: URL { folder.appending(path: "Source.swift") }
    private var options: [String]
    private var framework: CompiledFramework

    /// Compiles a source that imports InClassTesting.
    ///
    /// - Parameters:
    ///   - options: The compiler options for the source, such as `-O`.
    ///   - sanitizer: The name of a sanitizer, which is also used for InClassTesting.
    init(named name: String, source text: String, options: [String] = [], sanitizer: String? = nil) throws {
        folder = Fixtures.folder.appending(path: "compiled-\(name)")
        let sanitizing = sanitizer.map { ["-sanitize=\($0)"] } ?? []
        self.options = options + sanitizing
        framework = try CompiledFramework(sanitizing)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try Data(text.utf8).write(to: source)
        // The source must be older than its object. If their times are equal, testlogger assumes that the object might
        // have been compiled from another version of the source.
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

    /// Type-checks the source again with additional options and returns the compiler's result.
    func check(_ words: [String]) throws -> ProgramResult { try compile(["-typecheck", source.path] + words) }

    /// Runs the module's tests.
    func testlogger(_ words: [String] = []) throws -> ProgramResult {
        try RunningPrograms.run([Fixtures.testlogger.path, "--stable-output", "M.inclass"] + words, in: folder)
    }

    /// The shell command that runs the module's tests.
    var command: String { "'\(Fixtures.testlogger.path)' --stable-output M.inclass" }

    /// Returns the number of the source line that ends with this comment.
    func line(_ mark: String) throws -> Int {
        let lines = try String(contentsOf: source, encoding: .utf8).components(separatedBy: "\n")
        guard let index = lines.firstIndex(where: { $0.hasSuffix("// \(mark)") }) else {
            throw ProgramError(description: "nothing is marked \(mark)")
        }
        return index + 1
    }

    /// Writes a module's description for testlogger. The path of the test executable is next to that of the description.
    fileprivate static func describe(
        _ module: String, of root: URL, sources: [URL], objects: [URL], in file: URL
    ) throws {
        let executable = file.deletingPathExtension().appendingPathExtension("img")
        // The clang of the toolchain that compiles the module, as in the descriptions that the plugins write.
        let compiler = RunningPrograms.path(of: "swiftc").map { URL(filePath: $0).resolvingSymlinksInPath() }
        let clang = compiler?.deletingLastPathComponent().appending(path: "clang").path ?? ""
        let lines =
            ["module\t\(module)", "target\t\(module)", "root\t\(root.path)", "test-executable\t\(executable.path)"]
            + (FileManager.default.isExecutableFile(atPath: clang) ? ["clang\t\(clang)"] : [])
            + sources.map { "source\t\($0.path)" } + objects.map { "object\t\($0.path)" }
        try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: file)
    }
}

extension FixturePackage {
    /// Copies a fixture of `Tests/Testing/Fixtures` and compiles each of its modules, which may depend only on
    /// InClassTesting. testlogger finds the modules by name.
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
