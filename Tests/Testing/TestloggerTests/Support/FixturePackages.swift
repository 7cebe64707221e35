// Creates packages for tests in a temporary folder: copies of fixtures, with their dependency adjusted to this
// checkout, and packages of generated files. The folder is deleted when the test process exits.

import Foundation
import Testing

enum Fixtures {
    /// The root folder of this checkout.
    static let checkout = (1...5).reduce(URL(filePath: #filePath)) { file, _ in file.deletingLastPathComponent() }

    /// The folders of this checkout's modules, keyed by module name.
    static let modules: [String: URL] = {
        var found: [String: URL] = [:]
        for product in ["Testing", "Streams"] {
            let folder = checkout.appending(path: "Sources/\(product)")
            for name in (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? [] {
                found[name] = folder.appending(path: name)
            }
        }
        return found
    }()

    /// The compiler options for importing this checkout's C modules.
    static let moduleMaps = ["CBlockMasks", "CInClassSystem", "CStackAddress", "CSystemSQLite"].flatMap { name in
        let folder = name == "CBlockMasks" ? "\(name)/include" : name
        let product = name == "CInClassSystem" ? "Testing" : "Streams"
        let map = checkout.appending(path: "Sources/\(product)/\(folder)/module.modulemap")
        return ["-Xcc", "-fmodule-map-file=\(map.path)"]
    }

    /// The folder for all files that these tests create. It is deleted when the process exits.
    static let folder: URL = {
        // Use the real path, because the compiler's diagnostics print it instead of a path with symbolic links.
        let temporary = URL(filePath: NSTemporaryDirectory()).resolvingSymlinksInPath()
        let folder = temporary.appending(path: "InClassTesting-\(ProcessInfo.processInfo.processIdentifier)")
        try? FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        atexit { try? FileManager.default.removeItem(at: Fixtures.folder) }
        return folder
    }()

    /// The folder for temporary files of the programs that tests run, such as SwiftPM's locks.
    static let temporaryFolder: URL = {
        let folder = Fixtures.folder.appending(path: "tmp")
        try? FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return folder
    }()

    /// A copy of this checkout's visible files, in a folder like that of SwiftPM's checkouts. Fixture packages depend
    /// on it as a user's package depends on its checkout.
    static let dependency = Result {
        let copy = folder.appending(path: "checkouts/InClassTesting")
        let names = try FileManager.default.contentsOfDirectory(atPath: checkout.path)
        for name in names where !name.hasPrefix(".") {
            try copyVisible(checkout.appending(path: name), to: copy.appending(path: name))
        }
        return copy
    }

    /// Copies a file or folder, except hidden contents such as build folders.
    static func copyVisible(_ source: URL, to target: URL) throws {
        guard try source.resourceValues(forKeys: [.isDirectoryKey]).isDirectory == true else {
            try FileManager.default.createDirectory(
                at: target.deletingLastPathComponent(), withIntermediateDirectories: true)
            return try FileManager.default.copyItem(at: source, to: target)
        }
        for name in try FileManager.default.contentsOfDirectory(atPath: source.path) where !name.hasPrefix(".") {
            try copyVisible(source.appending(path: name), to: target.appending(path: name))
        }
    }

    /// The testlogger executable of the current build, which is in the same folder as the tests.
    static let testlogger: URL = {
        let folders = [Bundle.main.bundleURL, URL(filePath: CommandLine.arguments[0])].flatMap {
            [$0.deletingLastPathComponent(), $0]
        }
        return folders.map { $0.appending(path: "testlogger") }
            .first { FileManager.default.isExecutableFile(atPath: $0.path) }
            ?? checkout.appending(path: ".build/debug/testlogger")
    }()
}

/// The two build systems of SwiftPM.
enum BuildSystem: String, CaseIterable, CustomTestStringConvertible {
    case native, swiftbuild
    var testDescription: String { rawValue }
    var options: [String] { ["--build-system", rawValue] }
}

/// A package for tests, such as a copy of a fixture.
struct FixturePackage {
    let folder: URL

    /// Copies a fixture of `Tests/Testing/Fixtures`.
    ///
    /// - Parameters:
    ///   - fixture: The fixture's name.
    ///   - name: The name of the copy's folder. A different name creates a separate copy.
    init(_ fixture: String, as name: String? = nil) throws {
        try self.init(
            copying: "Tests/Testing/Fixtures/\(fixture)", dependencyPath: "../../../..", as: name ?? fixture)
    }

    /// Copies a package of this checkout, and replaces the path of its dependency on the checkout.
    init(copying path: String, dependencyPath: String, as name: String) throws {
        folder = Fixtures.folder.appending(path: name)
        try Fixtures.copyVisible(Fixtures.checkout.appending(path: path), to: folder)
        for path in try FileManager.default.subpathsOfDirectory(atPath: folder.path) { try makeOld(path) }
        let dependency = Self.literal(try Fixtures.dependency.get().path)
        try replace("path: \"\(dependencyPath)\"", with: "path: \(dependency)", in: "Package.swift")
    }

    /// Refers to a package that other code creates.
    init(at folder: URL) { self.folder = folder }

    /// Creates a package from the texts of its files, keyed by path.
    init(named name: String, files: [String: String]) throws {
        folder = Fixtures.folder.appending(path: name)
        for (path, text) in files { try write(text, to: path) }
    }

    /// The declaration of a dependency on this checkout, for manifests that tests write.
    static var dependency: String {
        get throws { ".package(name: \"InClassTesting\", path: \(literal(try Fixtures.dependency.get().path)))" }
    }

    /// Returns a text as a Swift string literal.
    static func literal(_ text: String) -> String {
        "\"\(text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\""))\""
    }

    /// Runs `swift` with these arguments in the package.
    func swift(_ words: String..., environment: [String: String] = [:]) throws -> ProgramResult {
        try RunningPrograms.swift(words, in: folder, environment: environment)
    }

    /// Builds the package.
    func build(_ system: BuildSystem = .native, _ words: String..., environment: [String: String] = [:]) throws
        -> ProgramResult
    {
        try RunningPrograms.swift(["build"] + system.options + words, in: folder, environment: environment)
    }

    /// Runs this build's testlogger in the package.
    func testlogger(_ words: [String], environment: [String: String] = [:]) throws -> ProgramResult {
        try RunningPrograms.run([Fixtures.testlogger.path] + words, in: folder, environment: environment)
    }

    /// Starts this build's testlogger in the package and returns while it runs.
    func startTestlogger(_ words: [String], environment: [String: String] = [:], input: String? = nil) throws
        -> RunningProgram
    {
        try RunningPrograms.start(
            [Fixtures.testlogger.path] + words, in: folder, environment: environment, input: input)
    }

    /// Returns the processes that run in the package or build it. They are recognized by the variable
    /// `SWIFTPM_BUILD_DIR`, because SwiftPM would recompile the plugins if tests set a variable of their own.
    func processes() throws -> [String] {
        try RunningPrograms.processes(with: "SWIFTPM_BUILD_DIR=\(file(".build").resolvingSymlinksInPath().path)")
    }

    /// Deletes the record of the last run. Otherwise tests that failed in it would run first.
    func forgetLastRun() throws {
        for path in built(".img.memory") { try FileManager.default.removeItem(atPath: path) }
    }

    // MARK: Files

    func file(_ path: String) -> URL { path.hasPrefix("/") ? URL(filePath: path) : folder.appending(path: path) }

    func text(of path: String) throws -> String { try String(contentsOf: file(path), encoding: .utf8) }

    /// Writes a file as an editor would, unless the file already has this text.
    ///
    /// The compiler considers a source changed if the whole seconds of its modification time differ from those of the
    /// compiled version. New files are dated one minute back, so only a file that is written twice within a second
    /// makes this function wait.
    func write(_ text: String, to path: String) throws {
        let isThere = exists(path)
        if isThere, try self.text(of: path) == text { return }
        let age = isThere ? Date().timeIntervalSince(try modificationTime(of: path)) : 0
        if isThere, age < 1 { Thread.sleep(forTimeInterval: 1 - age) }
        try FileManager.default.createDirectory(
            at: file(path).deletingLastPathComponent(), withIntermediateDirectories: true)
        // Write atomically, so that a program that watches the file never reads a part of the text.
        try Data(text.utf8).write(to: file(path), options: .atomic)
        if !isThere { try makeOld(path) }
    }

    private func makeOld(_ path: String) throws {
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSinceNow: -60)], ofItemAtPath: file(path).path)
    }

    /// Replaces a text that must occur exactly once in a file.
    func replace(_ old: String, with new: String, in path: String) throws {
        let parts = try text(of: path).components(separatedBy: old)
        guard parts.count == 2 else {
            throw ProgramError(description: "'\(old)' occurs \(parts.count - 1) times in \(path)")
        }
        try write(parts.joined(separator: new), to: path)
    }

    func remove(_ path: String) throws { try FileManager.default.removeItem(at: file(path)) }

    /// Updates a file's modification time without changing the file's contents.
    func touch(_ path: String) throws {
        try FileManager.default.setAttributes([.modificationDate: Date()], ofItemAtPath: file(path).path)
    }

    func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: file(path).path) }

    /// Returns the sorted paths of all files in the build folder that end with this suffix.
    func built(_ suffix: String) -> [String] {
        _ = try? SharedBuild.enter(folder)
        let build = file(".build").resolvingSymlinksInPath().path
        let paths = (try? FileManager.default.subpathsOfDirectory(atPath: build)) ?? []
        return paths.filter { $0.hasSuffix(suffix) }.sorted().map { file(".build/\($0)").path }
    }

    /// Returns the modification time of a file.
    func modificationTime(of path: String) throws -> Date {
        try FileManager.default.attributesOfItem(atPath: file(path).path)[.modificationDate] as? Date ?? .distantPast
    }

    /// Makes a text's paths in the package's folder relative.
    func relative(_ text: String) -> String { text.replacing(folder.path + "/", with: "") }
}
