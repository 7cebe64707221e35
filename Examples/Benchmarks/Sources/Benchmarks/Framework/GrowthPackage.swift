// Measures how the time grows when the number of tests, failures, crashes, or the amount of output or source doubles.
// Environment variables set the amounts in one package.

import Foundation

/// The quantity that doubles, and its smallest amount with a meaningful time.
private enum Growth: String, CaseIterable {
    case passing = "passing tests"
    case failing = "failing tests"
    case failures = "failures of one test"
    case skipped = "skipped tests"
    case crashing = "crashing tests"
    case lines = "lines of output"
    case line = "characters of a line of output"
    case text = "characters of a text that differs"
    case array = "elements of an array that differs"
    case types = "lists of types"
    case source = "lines of source"

    var smallest: Int {
        switch self {
        case .passing, .skipped: 8_192
        case .failing, .failures: 1_024
        case .crashing: 8
        case .lines: 8_192
        case .line, .text: 131_072
        case .array: 8_192
        case .types: 128
        case .source: 8_192
        }
    }

    /// A Boolean value that indicates whether the measured program reports failures.
    var isRed: Bool {
        switch self {
        case .passing, .skipped, .types, .source: false
        case .failing, .failures, .crashing, .lines, .line, .text, .array: true
        }
    }
}

private struct GrowthPackage {
    let folder: URL

    init(in parent: URL) throws {
        folder = parent.appending(path: "growth")
        let manifest = """
            // swift-tools-version: 6.2
            import PackageDescription
            let package = Package(name: "Growth", platforms: [.macOS(.v15)], dependencies: [\(ownDependency)], targets: [
                .target(name: "Lib", dependencies: [.product(name: "InClassTesting", package: "InClassTesting")]),
                .executableTarget(name: "app", dependencies: ["Lib"],
                    plugins: [.plugin(name: "InClassTests", package: "InClassTesting")]),
            ])

            """
        try write("Package.swift", manifest)
        try write("Sources/Lib/Growing.swift", Self.tests)
        try write("Sources/app/main.swift", "print(1)\n")
        try write(.source, amount: 0)
        try write(.types, amount: 0)
    }

    private func write(_ path: String, _ text: String) throws {
        let url = folder.appending(path: path)
        try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: url)
    }

    /// Writes the source file for a quantity.
    private func write(_ growth: Growth, amount: Int) throws {
        var text = "#if DEBUG || IN_CLASS_TESTS\nimport InClassTesting\n"
        for number in 0..<amount {
            text +=
                growth == .source
                ? "// \"testMethod\(number)\": { [ a line that is read, and means nothing\n"
                : """
                enum Type\(number): SelfTesting {
                    static var testSelectors: TestSelectors { ["testNothing": testNothing] }
                    static func testNothing() { expectEqual(1, 1, "one") }
                }

                """
        }
        try write("Sources/Lib/\(growth).swift", text + "#endif\n")
    }

    /// A list of tests whose kind `GROWTH` names and whose length `AMOUNT` gives. Without these variables, its tests
    /// pass.
    private static let tests = """
        #if DEBUG || IN_CLASS_TESTS
        import Foundation
        import InClassTesting

        enum Growing: SelfTesting {
            static var testSelectors: TestSelectors {
                let environment = ProcessInfo.processInfo.environment
                let amount = environment["AMOUNT"].flatMap { Int($0) } ?? 1
                func many(_ body: @escaping TestBody) -> TestSelectors {
                    TestSelectors((0..<amount).map { ("test\\($0)", body) })
                }
                func one(_ body: @escaping TestBody) -> TestSelectors { ["testOnce": body] }
                let text = String(repeating: "a varied text \\n", count: amount / 16)
                switch environment["GROWTH"] {
                case "failing": return many { expectEqual(1, 2, "one") }
                case "failures": return one { for number in 0..<amount { expectEqual(number, -1, "number") } }
                case "skipped": return many { try skip("for a reason") }
                case "crashing": return many { fatalError("on purpose") }
                case "lines": return one { for number in 0..<amount { print("line", number) }; fail("shows its output") }
                case "line": return one { print(String(repeating: "x", count: amount)); fail("shows its output") }
                case "text": return one { expectEqual(text + "b" + text, text + "c" + text, "text") }
                case "array": return one { expectEqual(Array(0..<amount), (0..<amount).map { $0 * 7 % 1_009 }, "array") }
                default: return many { expectEqual(1, 1, "one") }
                }
            }
        }
        #endif

        """

    /// Returns the processor time of a test run in seconds, including its child processes.
    func seconds(_ growth: Growth, amount: Int) throws -> Double {
        if growth == .source || growth == .types {
            try write(growth, amount: amount)
            _ = try milliseconds(["swift", "build"], in: folder)
        }
        let tool = try GeneratedPackage.testlogger(in: folder)
        let report = folder.appending(path: "report")
        let command = [tool, "Lib", "--jobs", "1", "--junit", report.path, "--json", report.path + "-json"]
        let variables = ["env", "GROWTH=\(growth)", "AMOUNT=\(growth == .source || growth == .types ? 1 : amount)"]
        let start = Self.processorTime()
        _ = try milliseconds(variables + command, in: folder, status: growth.isRed ? 1 : 0)
        return Self.processorTime() - start
    }

    /// Returns the processor time used by finished child processes and their descendants.
    private static func processorTime() -> Double {
        var usage = rusage()
        #if canImport(Darwin)
        getrusage(RUSAGE_CHILDREN, &usage)
        #else
        getrusage(__rusage_who_t(RUSAGE_CHILDREN.rawValue), &usage)
        #endif
        return Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
            + Double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6
    }
}

/// Doubles each amount three times and prints how the processor time grows.
func measureGrowth(in parent: URL, isSmoke: Bool) throws {
    let package = try GrowthPackage(in: parent)
    _ = try milliseconds(["swift", "build"], in: package.folder)
    print("processor time of testlogger with both reports, ms, for 1, 2, 4 and 8 times the amount")
    for growth in Growth.allCases {
        let smallest = isSmoke ? 16 : growth.smallest
        let times = try (isSmoke ? [1] : [1, 2, 4, 8]).map { factor in
            try (0..<(isSmoke ? 1 : 2)).map { _ in try package.seconds(growth, amount: smallest * factor) }.min()
                ?? .nan
        }
        let ratios = zip(times.dropFirst(), times).map { String(format: "%.2f", $0 / $1) }.joined(separator: "  ")
        let milliseconds = times.map { String(format: "%.0f", $0 * 1_000) }.joined(separator: ", ")
        print("  \(growth.rawValue) from \(smallest): \(ratios)  (\(milliseconds))")
        fflush(nil)
    }
}
