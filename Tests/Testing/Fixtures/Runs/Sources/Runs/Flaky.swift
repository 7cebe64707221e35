/// Tests that pass when they are run again, or do not.
enum Flaky {}

#if DEBUG || IN_CLASS_TESTS
import Foundation
import InClassTesting

extension Flaky: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testPasses": testPasses,
            "testPassesAtTheThird": testPassesAtTheThird,
            "testCrashesAtFirst": testCrashesAtFirst,
            "testNeverPasses": testNeverPasses,
            "testIsTheLast": testIsTheLast,
        ]
    }

    /// The number of this attempt, from 1: each leaves a line in a file of the folder that the environment names.
    private static func attempt(_ name: String) throws -> Int {
        let folder = try requireNotNil(ProcessInfo.processInfo.environment["RUNS_ATTEMPTS"])
        let earlier = (try? String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8)) ?? ""
        try (earlier + "\(getpid())\n").write(toFile: "\(folder)/\(name)", atomically: true, encoding: .utf8)
        expectFalse(earlier.contains("\(getpid())\n"), "an attempt in the same process")
        return earlier.split(separator: "\n").count + 1
    }

    private static func testPasses() {}
    private static func testPassesAtTheThird() throws { expectGreaterThan(try attempt("third"), 2, "attempt") }
    private static func testCrashesAtFirst() throws { if try attempt("crash") == 1 { fatalError("on purpose") } }
    private static func testNeverPasses() throws { expectEqual(try attempt("never"), 0, "attempt") }
    private static func testIsTheLast() {}
}
#endif
