// Keeps account of a run: which of the planned tests have begun and ended, and the counts. Every reporter that must be
// able to stop at any moment asks here what is still open.

import TestEvents

struct RollCall: Sendable {
    enum State: Equatable, Sendable { case waiting, running, ended }

    struct Entry: Equatable, Sendable {
        let test: PlannedTest
        var state: State
    }

    /// What was planned, in order, and then what ended without having been planned.
    private(set) var entries: [Entry] = []
    private(set) var passed = 0
    private(set) var failed = 0
    private(set) var skipped = 0
    private(set) var flaky = 0
    private(set) var knownIssues = 0
    private(set) var moduleIssues = 0
    private(set) var warnings = 0
    /// The entries of a test without a result yet, in order; more than one when a list names it twice.
    private var open: [PlannedTest: [Int]] = [:]

    /// Takes an event.
    ///
    /// - Returns: the index of the entry that it concerns, for the beginning and the end of a test.
    @discardableResult
    mutating func add(_ event: RunEvent) -> Int? {
        switch event {
        case .planned(_, let tests):
            for test in tests { append(test) }
            return nil
        case .began(let test):
            let index = open[test]?.first ?? append(test)
            entries[index].state = .running
            return index
        case .ended(let result):
            let index = open[result.test]?.first ?? append(result.test)
            close(index)
            count(result)
            return index
        case .moduleIssue:
            moduleIssues += 1
            return nil
        case .warning:
            warnings += 1
            return nil
        }
    }

    @discardableResult
    private mutating func append(_ test: PlannedTest) -> Int {
        entries.append(Entry(test: test, state: .waiting))
        open[test, default: []].append(entries.count - 1)
        return entries.count - 1
    }

    private mutating func close(_ index: Int) {
        let test = entries[index].test
        entries[index].state = .ended
        open[test]?.removeFirst()
        if open[test]?.isEmpty == true { open[test] = nil }
    }

    private mutating func count(_ result: TestResult) {
        switch result.outcome {
        case .passed: passed += 1
        case .failed: failed += 1
        case .skipped: skipped += 1
        }
        if result.isFlaky { flaky += 1 }
        knownIssues += result.issues.count - result.issues.failures.count
    }

    /// The tests that have begun and not ended.
    var running: [PlannedTest] { entries.filter { $0.state == .running }.map(\.test) }

    /// The tests that have not begun.
    var waiting: [PlannedTest] { entries.filter { $0.state == .waiting }.map(\.test) }

    func summary(nanoseconds: Int) -> SummaryText {
        SummaryText(
            passed: passed, failed: failed, skipped: skipped, flaky: flaky, notRun: 0, knownIssues: knownIssues,
            moduleIssues: moduleIssues,
            warnings: warnings, nanoseconds: nanoseconds)
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension RollCall: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testSumsAddUpAtEveryMoment": testSumsAddUpAtEveryMoment,
            "testATestListedTwiceHasTwoEntries": testATestListedTwiceHasTwoEntries,
            "testKeepsWhatWasNotPlanned": testKeepsWhatWasNotPlanned,
        ]
    }

    private static func test(_ name: String) -> PlannedTest {
        PlannedTest(typeName: "S", testName: name, testType: "unit", module: "M")
    }

    private static func testSumsAddUpAtEveryMoment() {
        var rollCall = RollCall()
        for event in SampleRun.events {
            rollCall.add(event)
            expectEqual(
                rollCall.passed + rollCall.failed + rollCall.skipped + rollCall.running.count + rollCall.waiting.count,
                rollCall.entries.count)
        }
        expectEqual(rollCall.running.map(\.name), ["Stack.testHang"])
        expectEqual(rollCall.waiting.map(\.name), ["Stack.testNever"])
        expectEqual(rollCall.flaky, 1)
        expectEqual(rollCall.knownIssues, 1)
    }

    private static func testATestListedTwiceHasTwoEntries() {
        var rollCall = RollCall()
        rollCall.add(.planned(module: "M", tests: [test("a"), test("b"), test("a")]))
        rollCall.add(.planned(module: "M", tests: [test("a")]))
        let ended = RunEvent.ended(TestResult(test: test("a"), outcome: .passed))
        expectEqual(
            [rollCall.add(ended), rollCall.add(.began(test("a"))), rollCall.add(ended), rollCall.add(ended)],
            [0, 2, 2, 3])
        expectEqual(rollCall.waiting.map(\.testName), ["b"])
    }

    private static func testKeepsWhatWasNotPlanned() {
        var rollCall = RollCall()
        expectEqual(rollCall.add(.began(test("a"))), 0)
        expectEqual(rollCall.add(.ended(TestResult(test: test("a"), outcome: .skipped))), 0)
        expectEqual(rollCall.add(.ended(TestResult(test: test("a"), outcome: .passed))), 1)
        expectEqual(rollCall.entries.count, 2)
    }
}
#endif
