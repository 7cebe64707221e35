// A run in which everything happens that a reporter must say something about; the reporters' tests share it.

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import TestEvents

enum SampleRun {
    static let root = "/repo"

    static func test(_ name: String, type: String = "Stack", list: String = "unit") -> PlannedTest {
        PlannedTest(typeName: type, testName: name, testType: list, module: "Stacks")
    }

    static func issue(_ kind: TestIssue.Kind, line: Int, got: String, expected: String) -> TestIssue {
        TestIssue(
            kind: kind, path: "/repo/Sources/Stack.swift", line: line, column: 9, got: got, expected: expected)
    }

    static func result(_ name: String, _ outcome: TestResult.Outcome, _ issues: [TestIssue] = []) -> TestResult {
        var result = TestResult(test: test(name), outcome: outcome)
        result.issues = issues
        result.nanoseconds = 1_500_000
        return result
    }

    private static var failed: TestResult {
        var result = result(
            "testPush", .failed,
            [
                issue(.expectation, line: 3, got: "4", expected: "5"),
                issue(.thrownError, line: 4, got: "error \"<a & b>\"", expected: "no error"),
            ])
        result.issues[0].message = "count # after\npush"
        result.issues[0].notes = ["2 elements differ"]
        result.output = Array("said: \u{1B}[31m]]>\n::error::x\n".utf8) + [0xFF]
        result.omittedOutputCount = 7
        result.attachments = ["/tmp/a b.html"]
        return result
    }

    private static var crashed: TestResult {
        var result = result(
            "testCrash", .failed,
            [issue(.crash, line: 8, got: "crash SIGILL 'Index out of range'", expected: "end of test")])
        result.issues[0].signal = "SIGILL"
        result.issues[0].callers = [SourcePlace(path: "/repo/Sources/Stack.swift", line: 2, column: 1)]
        return result
    }

    private static var skipped: TestResult {
        var result = result("testSkip", .skipped)
        result.skipReason = "no \"network\""
        return result
    }

    private static var known: TestResult {
        var result = result("testKnown", .passed, [issue(.expectation, line: 6, got: "1", expected: "2")])
        result.issues[0].knownReason = "issue #7"
        return result
    }

    private static var flaky: TestResult {
        var result = result("testFlaky", .passed)
        var attempt = SampleRun.result(
            "testFlaky", .failed, [issue(.timeout, line: 7, got: "no end after 50 ms", expected: "end of test")])
        attempt.nanoseconds = 50_000_000
        attempt.output = Array("slow".utf8)
        result.earlierAttempts = [attempt]
        return result
    }

    private static let warning = SourceWarning(
        place: SourcePlace(path: "/repo/Sources/Stack.swift", line: 12, column: 5), text: "'testOld' is in no list",
        fixIt: SourceFixIt(
            at: SourcePlace(path: "/repo/Sources/Stack.swift", line: 2, column: 9), inserting: "\"testOld\": testOld, ")
    )

    private static let moduleIssue = TestIssue(
        kind: .list, path: "/repo/Sources/Stack.swift", line: 1, column: 1, got: "6 results", expected: "7")

    /// Ends while one test runs and another has not begun.
    static let events: [RunEvent] = {
        let results = [result("testEmpty", .passed), failed, crashed, skipped, known, flaky]
        var events: [RunEvent] = [
            .planned(module: "Stacks", tests: results.map(\.test) + [test("testHang"), test("testNever")])
        ]
        for result in results { events += [.began(result.test), .ended(result)] }
        return events + [
            .warning(warning), .moduleIssue(module: "Stacks", moduleIssue), .began(test("testHang")),
        ]
    }()

    /// The events as a value, of a run that was cut short.
    static var record: RunRecord {
        var record = RunRecord()
        for event in events { record.add(event) }
        record.earlyReason = "Timed out"
        return record
    }
}
#endif
