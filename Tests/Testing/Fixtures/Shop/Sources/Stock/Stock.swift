// A library that tests itself, and counts in a file beside its test executable how often.
// swift-format-ignore-file

public struct Stock {
    private var counts: [String: Int] = [:]

    public init() {}

    public mutating func add(_ count: Int, of article: String) {
        counts[article, default: 0] += count
    }

    public func count(of article: String) -> Int { counts[article] ?? 0 }
}

#if DEBUG || IN_CLASS_TESTS
import Foundation
import InClassTesting

extension Stock: FixtureTesting {
    public static var testSelectors: TestSelectors { [
        "testAdds": fixture { $0.testAdds() },
        "testRuns": testRuns,
    ] }

    public static func testFixture() -> Stock { Stock() }

    private mutating func testAdds() {
        add(2, of: "pens")
        expectEqual(count(of: "pens"), 2, "count after adding")
    }

    private static func testRuns() throws {
        let path = CommandLine.arguments[0] + ".runs"
        let runs = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
        try (runs + "run\n").write(toFile: path, atomically: true, encoding: .utf8)
    }
}
#endif
