// A package, for each framework, with one test that evaluates a million expectations and writes the time per
// expectation.

import Foundation

struct ExpectationPackage {
    static let count = 1_000_000

    let framework: Framework
    let folder: URL
    /// The file where the test writes the nanoseconds per expectation.
    private let result: URL

    init(_ framework: Framework, in parent: URL) throws {
        self.framework = framework
        folder = parent.appending(path: "expectations-\(framework.rawValue)")
        result = folder.appending(path: "nanoseconds")
        let manifest = try GeneratedPackage(
            framework, in: parent.appending(path: "expectations"), fileCount: 1, testCount: 1)
        try FileManager.default.copyItem(at: manifest.folder, to: folder)
        let loop = """
            let values = (0..<1024).map { $0 &* 7 }
                let others = values.map { $0 }
                let clock = ContinuousClock()
                let elapsed = clock.measure {
                    for index in 0..<\(Self.count) { \(expectation) }
                }
                let nanoseconds = Double(elapsed.components.attoseconds) / 1e9 / \(Self.count) + Double(elapsed.components.seconds) * 1e9 / \(Self.count)
                try "\\(nanoseconds)".write(toFile: "\(result.path)", atomically: true, encoding: .utf8)
            """
        let test: (path: String, text: String) =
            switch framework {
            case .inClass:
                (
                    "Sources/Lib/File0.swift",
                    """
                    import Foundation
                    public struct Type0 { public init(value: Int) {}; public func method0(_ argument: Int) -> Int { argument } }
                    #if DEBUG || IN_CLASS_TESTS
                    import InClassTesting
                    extension Type0: SelfTesting {
                        public static var testSelectors: TestSelectors { .timeLimit(.seconds(100), ["testMillion": testMillion]) }
                        private static func testMillion() throws {
                        \(loop)
                        }
                    }
                    #endif

                    """
                )
            case .xcTest:
                (
                    "Tests/LibTests/File0Tests.swift",
                    "import Foundation\nimport XCTest\nfinal class Tests: XCTestCase { func testMillion() throws {\n    \(loop)\n} }\n"
                )
            case .swiftTesting:
                (
                    "Tests/LibTests/File0Tests.swift",
                    "import Foundation\nimport Testing\n@Test func million() throws {\n    \(loop)\n}\n"
                )
            }
        try Data(test.text.utf8).write(to: folder.appending(path: test.path))
    }

    private var expectation: String {
        let (value, other) = ("values[index & 1023]", "others[index & 1023]")
        return switch framework {
        case .inClass: "expectEqual(\(value), \(other), \"value\")"
        case .xcTest: "XCTAssertEqual(\(value), \(other), \"value\")"
        case .swiftTesting: "#expect(\(value) == \(other), \"value\")"
        }
    }

    /// Runs the test in a configuration and returns the nanoseconds per expectation.
    func nanoseconds(isRelease: Bool) throws -> Double {
        try? FileManager.default.removeItem(at: result)
        var arguments = framework.command
        if isRelease {
            arguments += ["-c", "release", "-Xswiftc", framework == .inClass ? "-DIN_CLASS_TESTS" : "-enable-testing"]
        }
        // Passed tests run again only after their object files change. SwiftPM detects changed files at a resolution of
        // seconds.
        Thread.sleep(forTimeInterval: 1.2)
        let source = folder.appending(path: "Sources/Lib/File0.swift")
        let text = try String(contentsOf: source, encoding: .utf8)
        let round = text.split(separator: "\n").count
        try Data((text + "public let round\(round) = \(round)\n").utf8).write(to: source)
        _ = try milliseconds(arguments, in: folder)
        return Double(try String(contentsOf: result, encoding: .utf8)) ?? .nan
    }
}
