// Modules that the compiler makes by itself: with options that no manifest can ask for, and in seconds instead of the
// minutes that a package takes.

import Foundation

/// A module of one source, described for testlogger, with an InClassTesting that is compiled with the same options.
struct CompiledModule {
    let folder: URL
    var source: URL { folder.appending(path: "Source.swift") }
    private var options: [String]
    private var library: URL

    /// Compiles a source that imports InClassTesting.
    ///
    /// - Parameters:
    ///   - options: options for both modules, such as `-O`.
    ///   - ownOptions: options for the source alone.
    init(named name: String, source text: String, options: [String] = [], ownOptions: [String] = []) throws {
        folder = Fixtures.folder.appending(path: "compiled-\(name)")
        self.options = options
        library = try Self.library(options)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try Data(text.utf8).write(to: source)
        // An object that is no newer than its source might be another's.
        Thread.sleep(forTimeInterval: 0.02)
        let result = try compile(["-c", source.path, "-o", folder.appending(path: "Source.o").path] + ownOptions)
        guard result.status == 0 else { throw ProgramError(description: "\(result)") }
        let lines = [
            "module\tM", "root\t\(folder.path)", "source\t\(source.path)",
            "object\t\(folder.appending(path: "Source.o").path)", "object\t\(library.path)/Library.o",
            "image\t\(folder.appending(path: "M.img").path)",
        ]
        try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: folder.appending(path: "M.inclass"))
    }

    private func compile(_ words: [String]) throws -> ProgramResult {
        try RunningPrograms.run(
            ["swiftc", "-g", "-DDEBUG", "-parse-as-library", "-module-name", "M", "-wmo", "-I", library.path] + options
                + words, in: folder)
    }

    /// Checks the source again, in another mode, and returns what the compiler says.
    func check(_ words: [String]) throws -> ProgramResult { try compile(["-typecheck", source.path] + words) }

    /// Runs its tests.
    func testlogger(_ words: String..., environment: [String: String] = [:]) throws -> ProgramResult {
        try RunningPrograms.run(
            [Fixtures.testlogger.path, "--stable-output", "M.inclass"] + words, in: folder,
            environment: environment)
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

    /// Compiles InClassTesting with these options, once.
    private static func library(_ options: [String]) throws -> URL {
        let name = options.isEmpty ? "plain" : options.joined().replacing("=", with: "-")
        let folder = Fixtures.folder.appending(path: "library\(name)")
        if FileManager.default.fileExists(atPath: folder.appending(path: "Library.o").path) { return folder }
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let sources = Fixtures.checkout.appending(path: "Sources/InClassTesting")
        let names = try FileManager.default.contentsOfDirectory(atPath: sources.path).filter { $0.hasSuffix(".swift") }
        let result = try RunningPrograms.run(
            [
                "swiftc", "-swift-version", "6", "-wmo", "-g", "-parse-as-library", "-DDEBUG", "-module-name",
                "InClassTesting", "-package-name", "inclasstesting", "-emit-module", "-emit-module-path",
                folder.appending(path: "InClassTesting.swiftmodule").path, "-c", "-o",
                folder.appending(path: "Library.o").path,
            ] + options + names.sorted().map { sources.appending(path: $0).path }, in: folder)
        guard result.status == 0 else { throw ProgramError(description: "\(result)") }
        return folder
    }
}
