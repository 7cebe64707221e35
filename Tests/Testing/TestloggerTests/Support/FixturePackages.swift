// Whole packages for tests: a fixture is copied into a temporary folder, told where this checkout is, built there, and
// removed when the tests are over.

import Foundation
import Testing

enum Fixtures {
    /// This checkout.
    static let checkout = (1...5).reduce(URL(filePath: #filePath)) { file, _ in file.deletingLastPathComponent() }

    /// The folders of this checkout's modules, by their names.
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

    /// The options that tell the compiler of this checkout's C modules.
    static let moduleMaps = ["CBlockMasks", "CInClassSystem", "CStackAddress", "CSystemSQLite"].flatMap { name in
        let folder = name == "CBlockMasks" ? "\(name)/include" : name
        let product = name == "CInClassSystem" ? "Testing" : "Streams"
        let map = checkout.appending(path: "Sources/\(product)/\(folder)/module.modulemap")
        return ["-Xcc", "-fmodule-map-file=\(map.path)"]
    }

    /// The folder of everything these tests make; it goes away with the process.
    static let folder: URL = {
        // The real path: the compiler's diagnostics print no other.
        let temporary = URL(filePath: NSTemporaryDirectory()).resolvingSymlinksInPath()
        let folder = temporary.appending(path: "InClassTesting-\(ProcessInfo.processInfo.processIdentifier)")
        try? FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        atexit { try? FileManager.default.removeItem(at: Fixtures.folder) }
        return folder
    }()

    /// Where the programs that tests run put their own temporary files, SwiftPM its locks for one.
    static let temporaryFolder: URL = {
        let folder = Fixtures.folder.appending(path: "tmp")
        try? FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return folder
    }()

    /// What a stranger's package depends on: the contents of this checkout where SwiftPM would have checked them out.
    static let dependency = Result {
        let copy = folder.appending(path: "checkouts/InClassTesting")
        let names = try FileManager.default.contentsOfDirectory(atPath: checkout.path)
        for name in names where !name.hasPrefix(".") {
            try copyVisible(checkout.appending(path: name), to: copy.appending(path: name))
        }
        return copy
    }

    /// Copies files and folders but for hidden ones, such as build folders.
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

    /// The command as this build made it: it lies beside the tests.
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

/// A copy of a fixture.
struct FixturePackage {
    let folder: URL

    /// Copies a fixture of `Tests/Testing/Fixtures`.
    ///
    /// - Parameters:
    ///   - fixture: the fixture's name.
    ///   - name: the name of the copy's folder; another one makes another copy.
    init(_ fixture: String, as name: String? = nil) throws {
        try self.init(
            copying: "Tests/Testing/Fixtures/\(fixture)", dependencyPath: "../../../..", as: name ?? fixture)
    }

    /// Copies a package of this checkout, whose path to the checkout is replaced.
    init(copying path: String, dependencyPath: String, as name: String) throws {
        folder = Fixtures.folder.appending(path: name)
        try Fixtures.copyVisible(Fixtures.checkout.appending(path: path), to: folder)
        for path in try FileManager.default.subpathsOfDirectory(atPath: folder.path) { try makeOld(path) }
        let dependency = Self.literal(try Fixtures.dependency.get().path)
        try replace("path: \"\(dependencyPath)\"", with: "path: \(dependency)", in: "Package.swift")
    }

    /// A package that something else makes.
    init(at folder: URL) { self.folder = folder }

    /// Creates a package of these files.
    init(named name: String, files: [String: String]) throws {
        folder = Fixtures.folder.appending(path: name)
        for (path, text) in files { try write(text, to: path) }
    }

    /// A dependency on this checkout, for manifests that are written here.
    static var dependency: String {
        get throws { ".package(name: \"InClassTesting\", path: \(literal(try Fixtures.dependency.get().path)))" }
    }

    /// A text as a literal of a source.
    static func literal(_ text: String) -> String {
        "\"\(text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\""))\""
    }

    /// Runs `swift` with these words in the package.
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

    /// Starts this build's testlogger in the package, beside the test.
    func startTestlogger(_ words: [String], environment: [String: String] = [:], input: String? = nil) throws
        -> RunningProgram
    {
        try RunningPrograms.start(
            [Fixtures.testlogger.path] + words, in: folder, environment: environment, input: input)
    }

    /// The processes of what runs in the package and builds it: they have a variable that says where. One more would make
    /// SwiftPM compile the plugins again.
    func processes() throws -> [String] {
        try RunningPrograms.processes(with: "SWIFTPM_BUILD_DIR=\(file(".build").resolvingSymlinksInPath().path)")
    }

    /// Makes testlogger forget what failed last time and would run first.
    func forgetLastRun() throws {
        for path in built(".img.memory") { try FileManager.default.removeItem(atPath: path) }
    }

    // MARK: Files

    func file(_ path: String) -> URL { path.hasPrefix("/") ? URL(filePath: path) : folder.appending(path: path) }

    func text(of path: String) throws -> String { try String(contentsOf: file(path), encoding: .utf8) }

    /// Writes a file, as an editor would, unless it has this text already.
    ///
    /// The compiler takes a source for changed when the second of its time is not that of the one it has compiled. A file
    /// that is new here is a minute old, hence only one that is written twice in a second waits.
    func write(_ text: String, to path: String) throws {
        let isThere = exists(path)
        if isThere, try self.text(of: path) == text { return }
        let age = isThere ? Date().timeIntervalSince(try modificationTime(of: path)) : 0
        if isThere, age < 1 { Thread.sleep(forTimeInterval: 1 - age) }
        try FileManager.default.createDirectory(
            at: file(path).deletingLastPathComponent(), withIntermediateDirectories: true)
        // At once: who watches the file sees no half of it.
        try Data(text.utf8).write(to: file(path), options: .atomic)
        if !isThere { try makeOld(path) }
    }

    private func makeOld(_ path: String) throws {
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSinceNow: -60)], ofItemAtPath: file(path).path)
    }

    /// Replaces a text that occurs in a file exactly once.
    func replace(_ old: String, with new: String, in path: String) throws {
        let parts = try text(of: path).components(separatedBy: old)
        guard parts.count == 2 else {
            throw ProgramError(description: "'\(old)' occurs \(parts.count - 1) times in \(path)")
        }
        try write(parts.joined(separator: new), to: path)
    }

    func remove(_ path: String) throws { try FileManager.default.removeItem(at: file(path)) }

    /// Makes a file newer without changing it.
    func touch(_ path: String) throws {
        try FileManager.default.setAttributes([.modificationDate: Date()], ofItemAtPath: file(path).path)
    }

    func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: file(path).path) }

    /// The paths of all files of this name or ending below the build folder.
    func built(_ suffix: String) -> [String] {
        _ = try? SharedBuild.enter(folder)
        let build = file(".build").resolvingSymlinksInPath().path
        let paths = (try? FileManager.default.subpathsOfDirectory(atPath: build)) ?? []
        return paths.filter { $0.hasSuffix(suffix) }.sorted().map { file(".build/\($0)").path }
    }

    /// When a file was last written.
    func modificationTime(of path: String) throws -> Date {
        try FileManager.default.attributesOfItem(atPath: file(path).path)[.modificationDate] as? Date ?? .distantPast
    }

    /// Puts relative paths in place of the package's own.
    func relative(_ text: String) -> String { text.replacing(folder.path + "/", with: "") }
}
