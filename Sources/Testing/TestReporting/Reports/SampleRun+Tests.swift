// A run with every kind of event, for the tests of all reporters.

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import TestEvents

enum SampleRun {
    /// Relative paths, and no times.
    static var style: TextStyle {
        var style = TextStyle(root: "/repo", isRelative: true)
        style.isStable = true
        return style
    }

    static func test(_ name: String, type: String = "Stack", list: String = "unit") -> PlannedTest {
        PlannedTest(typeName: type, testName: name, testType: list, module: "Stacks")
    }

    static func issue(
        _ kind: TestIssue.Kind, line: Int, got: String = "", expected: String = "", message: String = ""
    ) -> TestIssue {
        TestIssue(
            kind: kind, path: "/repo/Sources/Stack.swift", line: line, column: 9, got: got, expected: expected,
            message: message)
    }

    static func result(
        _ name: String, _ outcome: TestResult.Outcome, _ issues: [TestIssue] = [],
        change: (inout TestResult) -> Void = { _ in }
    ) -> TestResult {
        var result = TestResult(test: test(name), outcome: outcome)
        (result.issues, result.nanoseconds) = (issues, 1_500_000)
        change(&result)
        return result
    }

    static func record(of events: [RunEvent]) -> RunRecord { events.reduce(into: RunRecord()) { $0.add($1) } }

    private static var results: [TestResult] {
        let unequal = issue(.expectation, line: 3, got: "4", expected: "5")
        let thrown = issue(.thrownError, line: 4, message: "threw \"<a & b>\"")
        let crash = issue(.crash, line: 8, message: "crashed with SIGILL: Index out of range")
        let known = issue(.expectation, line: 6, got: "1", expected: "2")
        let timeout = issue(.timeout, line: 7, message: "timed out after 50 ms")
        return [
            result("testEmpty", .passed),
            result("testPush", .failed, [unequal, thrown]) {
                $0.issues[0].message = "count # after\npush"
                $0.issues[0].notes = ["2 elements differ"]
                $0.output = Array("said: \u{1B}[31m]]>\n::error::x\n".utf8) + [0xFF]
                $0.omittedOutputCount = 7
                $0.attachments = ["/tmp/a b.html"]
            },
            result("testCrash", .failed, [crash]) {
                $0.issues[0].signal = "SIGILL"
                $0.issues[0].callers = [SourcePlace(path: "/repo/Sources/Stack.swift", line: 2, column: 1)]
            },
            result("testSkip", .skipped) { $0.skipReason = "no \"network\"" },
            result("testKnown", .passed, [known]) { $0.issues[0].knownReason = "issue #7" },
            result("testFlaky", .passed) {
                let attempt = result("testFlaky", .failed, [timeout]) {
                    ($0.nanoseconds, $0.output) = (50_000_000, Array("slow".utf8))
                }
                $0.earlierAttempts = [attempt]
            },
        ]
    }

    private static let warning = SourceWarning(
        place: SourcePlace(path: "/repo/Sources/Stack.swift", line: 12, column: 5), text: "'testOld' is in no list",
        fixIt: SourceFixIt(
            at: SourcePlace(path: "/repo/Sources/Stack.swift", line: 2, column: 9), inserting: "\"testOld\": testOld, ")
    )

    private static let moduleIssue = TestIssue(
        kind: .list, path: "/repo/Sources/Stack.swift", line: 1, column: 1, message: "6 results for 7 tests")

    /// The events of a run that ends while one test is running and another has not begun.
    static let events: [RunEvent] = {
        var events: [RunEvent] = [
            .planned(module: "Stacks", tests: results.map(\.test) + [test("testHang"), test("testNever")])
        ]
        for result in results { events += [.began(result.test), .ended(result)] }
        return events + [
            .warning(warning), .moduleIssue(module: "Stacks", moduleIssue), .began(test("testHang")),
        ]
    }()

    /// The record of the events, for an interrupted run.
    static var record: RunRecord {
        var record = record(of: events)
        record.earlyReason = "Timed out"
        return record
    }
}
#endif
