// Records a run: the planned tests with their results, and all other events. JUnit's XML and GitHub's annotations and
// page are created from the record, at any time during the run.
//
// The RunEvent of a test's result comes first. JSONLinesReport and TerminalText print it at once, in the words of
// DiagnosticText. *Working on InClassTesting* describes all steps.

import TestEvents

package struct RunRecord: Sendable {
    struct Entry: Equatable, Sendable {
        let test: PlannedTest
        /// A Boolean value that indicates whether the test has begun.
        var hasBegun = false
        /// The result, or nil before the test has ended.
        var result: TestResult?
    }

    /// The planned tests, in order, followed by tests that ended without a plan.
    private(set) var entries: [Entry] = []
    /// The failures that belong to no test.
    private(set) var moduleIssues: [(module: String, issue: TestIssue)] = []
    private(set) var warnings: [SourceWarning] = []
    /// The counts. `notRun` stays zero, because a test without a result may still get one.
    private(set) var tally = RunTally()
    /// The reason why planned tests have no result, such as `Timed out`, or nil if the run was complete.
    package var earlyReason: String?
    /// The duration of the run.
    package var nanoseconds = 0
    /// The indices of the entries of each test without a result, in order. If a list names a test twice, it has two
    /// entries.
    private var open: [PlannedTest: [Int]] = [:]

    package init() {}

    /// Records an event.
    package mutating func add(_ event: RunEvent) {
        switch event {
        case .planned(_, let tests): for test in tests { append(test) }
        case .began(let test): entries[open[test]?.first ?? append(test)].hasBegun = true
        case .ended(let result):
            let index = open[result.test]?.first ?? append(result.test)
            entries[index].result = result
            open[result.test]?.removeFirst()
            if open[result.test]?.isEmpty == true { open[result.test] = nil }
            tally.add(result)
        case .failedLate(let test, let issue):
            guard let index = entries.lastIndex(where: { $0.test == test && $0.result != nil }),
                var result = entries[index].result
            else { break }
            tally.fail(&result)
            result.issues.append(issue)
            entries[index].result = result
        case .moduleIssue(let module, let issue):
            moduleIssues.append((module, issue))
            tally.moduleIssues += 1
        case .warning(let warning):
            warnings.append(warning)
            tally.warnings += 1
        }
    }

    @discardableResult
    private mutating func append(_ test: PlannedTest) -> Int {
        entries.append(Entry(test: test))
        tally.planned += 1
        open[test, default: []].append(entries.count - 1)
        return entries.count - 1
    }

    /// The results so far, in the order of the plan.
    var results: [TestResult] { entries.compactMap(\.result) }

    /// The tests that have begun but not ended.
    var running: [PlannedTest] { entries.filter { $0.hasBegun && $0.result == nil }.map(\.test) }

    /// The tests that have not begun.
    var waiting: [PlannedTest] { entries.filter { !$0.hasBegun && $0.result == nil }.map(\.test) }

    /// The outcome of a test that began and has no result.
    var reasonForRunning: String { earlyReason ?? "no result" }

    /// The outcome of a test that never began.
    var reasonForWaiting: String { earlyReason.map { "not run: \($0)" } ?? "not run" }
}

extension Sequence<String> {
    /// The lines as text, each with its newline.
    package var joinedLines: String { map { "\($0)\n" }.joined() }
}

extension TestIssue.Kind {
    /// The order of reports: issues that stop a test come first.
    var rank: Int {
        switch self {
        case .crash: 0
        case .exit: 1
        case .timeout: 2
        case .list: 3
        case .thrownError: 4
        case .expectation: 5
        }
    }
}

extension Sequence<TestIssue> {
    /// The issues outside `withKnownIssue`.
    var failures: [TestIssue] { filter { $0.knownReason == nil } }

    /// The first of the gravest issues.
    var worst: TestIssue? { self.min { $0.kind.rank < $1.kind.rank } }
}

/// Writes decimal fractions, because the standard library doesn't.
enum DecimalText {
    /// Returns seconds with six decimal places. The text always has a point, because some readers treat a number
    /// without a point as milliseconds.
    static func seconds(_ nanoseconds: Int) -> String { milliseconds(nanoseconds / 1000) }

    /// Returns milliseconds with six decimal places.
    static func milliseconds(_ nanoseconds: Int) -> String {
        let millionths = max(0, nanoseconds)
        return "\(millionths / 1_000_000).\(String(millionths % 1_000_000 + 1_000_000).dropFirst())"
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension RunRecord: SelfTesting {
    package static var testSelectors: TestSelectors {
        [
            "testCountsAddUpAfterEachEvent": testCountsAddUpAfterEachEvent,
            "testDuplicateTestHasTwoEntries": testDuplicateTestHasTwoEntries,
            "testRecordsUnplannedTests": testRecordsUnplannedTests, "testKeepsLateFailures": testKeepsLateFailures,
            "testRanksCrashesFirst": testRanksCrashesFirst,
            "testWritesMillisecondsWithPoint": { expectEqual(DecimalText.milliseconds(1_500_001), "1.500001") },
        ] + .each("testWritesSecondsWithPoint", times) { expectEqual(DecimalText.seconds($0), $1) }
    }

    private static func test(_ name: String) -> PlannedTest {
        PlannedTest(typeName: "S", testName: name, testType: "unit", module: "M")
    }

    private static func ended(_ outcome: TestResult.Outcome) -> RunEvent {
        .ended(TestResult(test: test("a"), outcome: outcome))
    }

    private var states: [String] {
        entries.map { "\($0.test.testName) \($0.result?.outcome.rawValue ?? ($0.hasBegun ? "running" : "waiting"))" }
    }

    private static func testCountsAddUpAfterEachEvent() {
        var record = RunRecord()
        for event in SampleRun.events {
            record.add(event)
            let ended = record.tally.passed + record.tally.failed + record.tally.skipped
            expectEqual(ended + record.running.count + record.waiting.count, record.tally.planned)
            expectEqual(record.tally.planned, record.entries.count)
        }
        expectEqual(record.running.map(\.name), ["Stack.testHang"])
        expectEqual(record.waiting.map(\.name), ["Stack.testNever"])
        expectEqual(record.tally.flaky, 1)
        expectEqual(record.tally.knownIssues, 1)
    }

    private static func testDuplicateTestHasTwoEntries() {
        var record = SampleRun.record(of: [
            .planned(module: "M", tests: [test("a"), test("b"), test("a")]), .planned(module: "M", tests: [test("a")]),
            ended(.passed),
        ])
        expectEqual(record.states, ["a passed", "b waiting", "a waiting", "a waiting"])
        record.add(.began(test("a")))
        expectEqual(record.states, ["a passed", "b waiting", "a running", "a waiting"])
        for _ in 0..<2 { record.add(ended(.passed)) }
        expectEqual(record.states, ["a passed", "b waiting", "a passed", "a passed"])
    }

    private static func testKeepsLateFailures() {
        var record = RunRecord()
        let late = RunEvent.failedLate(test("a"), TestIssue(kind: .expectation, got: "1", expected: "2"))
        record.add(.planned(module: "M", tests: [test("b"), test("a")]))
        record.add(late)
        expectEqual(record.tally.failed, 0, "of a test that has not ended")
        record.add(ended(.passed))
        for _ in 0..<2 { record.add(late) }
        expectEqual([record.tally.passed, record.tally.failed], [0, 1])
        expectEqual(record.states, ["b waiting", "a failed"])
        expectEqual(record.results.map(\.issues.count), [2])
    }

    private static func testRecordsUnplannedTests() {
        let record = SampleRun.record(of: [.began(test("a")), ended(.skipped), ended(.passed)])
        expectEqual(record.states, ["a skipped", "a passed"])
    }

    private static let times = [
        (0, "0.000000"), (999, "0.000000"), (1000, "0.000001"), (4_000_000, "0.004000"),
        (12_345_678_901, "12.345678"), (-5, "0.000000"),
    ]

    private static func testRanksCrashesFirst() {
        let kinds: [TestIssue.Kind] = [.expectation, .thrownError, .crash, .timeout, .crash]
        let issues = kinds.enumerated().map { TestIssue(kind: $1, got: "\($0)", expected: "") }
        expectEqual(issues.worst?.got, "2", "the first crash")
        expectNil([TestIssue]().worst)
    }
}
#endif
