// A package with the same library and the same tests for each of three test frameworks.

import Foundation

enum Framework: String, CaseIterable {
    case inClass = "in-class"
    case xcTest = "XCTest"
    case swiftTesting = "swift-testing"

    /// The command that builds after an edit and runs all tests, without the other testing library that `swift test`
    /// would also run.
    var command: [String] {
        switch self {
        case .inClass: ["swift", "build"]
        case .xcTest: ["swift", "test", "--disable-swift-testing"]
        case .swiftTesting: ["swift", "test", "--disable-xctest"]
        }
    }
}

/// The manifest's dependency on this checkout, without the tests of the package itself.
let ownDependency = ".package(name: \"InClassTesting\", path: \"\(FrameworkSuite.root.path)\", traits: [])"

struct GeneratedPackage {
    let framework: Framework
    let folder: URL
    let fileCount: Int
    let typesPerFile: Int
    /// The number of tests per type.
    let testCount: Int
    /// The number of a test in the first file that crashes.
    let crashingTest: Int?

    /// Writes the package. Each type has 20 small methods and `testCount` tests.
    init(
        _ framework: Framework, in parent: URL, fileCount: Int, typesPerFile: Int = 1, testCount: Int,
        crashingTest: Int? = nil
    ) throws {
        self.framework = framework
        self.fileCount = fileCount
        self.typesPerFile = typesPerFile
        self.testCount = testCount
        self.crashingTest = crashingTest
        folder = parent.appending(
            path:
                "\(framework.rawValue)-\(fileCount)x\(typesPerFile)x\(testCount)\(crashingTest == nil ? "" : "-crash")")
        try write("Package.swift", manifest)
        for number in 0..<fileCount {
            try write("Sources/Lib/File\(number).swift", sources(number))
            if framework != .inClass { try write("Tests/LibTests/File\(number)Tests.swift", tests(number)) }
        }
        if framework == .inClass {
            try write("Sources/app/main.swift", "import Lib\nprint(Type0(value: 1).method0(2))\n")
        }
    }

    func write(_ path: String, _ text: String) throws {
        let url = folder.appending(path: path)
        try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: url)
    }

    private var manifest: String {
        let dependencies = framework == .inClass ? ownDependency : ""
        let targets =
            framework == .inClass
            ? """
            .target(name: "Lib", dependencies: [.product(name: "InClassTesting", package: "InClassTesting")]),
            .executableTarget(name: "app", dependencies: ["Lib"],
                plugins: [.plugin(name: "InClassTests", package: "InClassTesting")]),
            """
            : """
            .target(name: "Lib"),
            .testTarget(name: "LibTests", dependencies: ["Lib"]),
            """
        return """
            // swift-tools-version: 6.2
            import PackageDescription
            let package = Package(name: "Generated", platforms: [.macOS(.v15)], dependencies: [\(dependencies)], targets: [
            \(targets)
            ])

            """
    }

    private func types(inFile file: Int) -> Range<Int> { file * typesPerFile..<(file + 1) * typesPerFile }

    private func sources(_ file: Int, edit: Edit? = nil, revision: Int = 0) -> String {
        types(inFile: file).map { source($0, edit: $0 == 0 ? edit : nil, revision: revision) }.joined(separator: "\n")
    }

    private func tests(_ file: Int, edit: Edit? = nil, revision: Int = 0) -> String {
        let texts = types(inFile: file).map { tests(ofType: $0, edit: $0 == 0 ? edit : nil, revision: revision) }
        return (framework == .xcTest ? "import XCTest\n" : "import Testing\n") + "@testable import Lib\n\n"
            + texts.joined(separator: "\n")
    }

    /// Returns the source of a library type, including its tests for in-class testing. `edit` changes a body, an
    /// interface or a test.
    private func source(_ number: Int, edit: Edit?, revision: Int) -> String {
        var text =
            "public struct Type\(number) {\n    public var value: Int\n    public init(value: Int) { self.value = value }\n"
        for method in 0..<20 {
            let addend = edit == .body && method == 0 ? "&+ \(revision) &- \(revision)" : ""
            text +=
                "    public func method\(method)(_ argument: Int) -> Int { value &* argument &+ \(method) \(addend) }\n"
        }
        if edit == .interface { text += "    public func added\(revision)() -> Int { \(revision) }\n" }
        text += "}\n"
        guard framework == .inClass else { return text }
        text += "\n#if DEBUG || IN_CLASS_TESTS\nimport InClassTesting\n\nextension Type\(number): SelfTesting {\n"
        text += "    public static var testSelectors: TestSelectors { [\n"
        for test in 0..<testCount { text += "        \"testMethod\(test)\": testMethod\(test),\n" }
        text += "    ] }\n"
        for test in 0..<testCount {
            text += """
                    private static func testMethod\(test)() {
                        \(number == 0 && test == crashingTest ? "fatalError()" : "")
                        let subject = Type\(number)(value: \(test))
                        expectEqual(subject.method\(test % 20)(3), \(test * 3 + test % 20), \(message(test, edit, revision)))
                        expectTrue(subject.value == \(test), "value")
                    }

                """
        }
        return text + "}\n#endif\n"
    }

    /// Returns a file with the tests of a type, for the frameworks that keep tests in separate files.
    private func tests(ofType number: Int, edit: Edit?, revision: Int) -> String {
        let isXCTest = framework == .xcTest
        var text = isXCTest ? "final class Type\(number)Tests: XCTestCase {\n" : "struct Type\(number)Tests {\n"
        for test in 0..<testCount {
            let value = "subject.method\(test % 20)(3)"
            let expected = test * 3 + test % 20
            text += """
                    \(isXCTest ? "" : "@Test ")func testMethod\(test)() {
                        let subject = Type\(number)(value: \(test))
                        \(isXCTest ? "XCTAssertEqual(\(value), \(expected), \(message(test, edit, revision)))" : "#expect(\(value) == \(expected), \(message(test, edit, revision)))")
                        \(isXCTest ? "XCTAssertTrue(subject.value == \(test), \"value\")" : "#expect(subject.value == \(test), \"value\")")
                    }

                """
        }
        return text + "}\n"
    }

    private func message(_ test: Int, _ edit: Edit?, _ revision: Int) -> String {
        edit == .test && test == 0 ? "\"result \(revision)\"" : "\"result\""
    }

    /// An edit that a programmer makes between two runs.
    enum Edit: String, CaseIterable {
        case body = "edit of a body"
        case interface = "edit that adds a method"
        case test = "edit of a test"
    }

    /// Makes an edit in the first file.
    func apply(_ edit: Edit, revision: Int) throws {
        if edit == .test, framework != .inClass {
            try write("Tests/LibTests/File0Tests.swift", tests(0, edit: edit, revision: revision))
        } else {
            try write("Sources/Lib/File0.swift", sources(0, edit: edit, revision: revision))
        }
    }

    /// Returns the path of the program that runs in-class tests, built by the package's own build.
    ///
    /// A failed build leaves no `.build/debug` behind, so this function searches all product folders.
    func testlogger() throws -> String { try Self.testlogger(in: folder) }

    static func testlogger(in folder: URL) throws -> String {
        let build = folder.appending(path: ".build")
        let folders = try FileManager.default.contentsOfDirectory(atPath: build.path)
        let names = folders.flatMap { ["\($0)/debug/testlogger-tool", "\($0)/testlogger-tool"] }
        let paths = names.map { build.appending(path: $0).path }
        guard let path = paths.first(where: FileManager.default.isExecutableFile) else {
            throw CocoaError(.fileNoSuchFile, userInfo: [NSFilePathErrorKey: build.path])
        }
        return path
    }
}
