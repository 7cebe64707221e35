// Keeps account of a run: which of the planned tests have begun and ended, and the counts. Every reporter that must be
// able to stop at any moment asks here what is still open.

import TestEvents

struct RollCall: Sendable {
    enum State: Equatable, Sendable { case waiting, running, ended }

    struct Entry: Equatable, Sendable {
        let test: PlannedTest
        var state: State
        /// What the tally counts; nil before the end.
        fileprivate(set) var outcome: TestResult.Outcome?
        fileprivate(set) var isFlaky = false
    }

    /// What was planned, in order, and then what ended without having been planned.
    private(set) var entries: [Entry] = []
    /// The counts, of which `notRun` stays zero: what has no result yet may still get one.
    private(set) var tally = RunTally()
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
            tally.add(result)
            (entries[index].outcome, entries[index].isFlaky) = (result.outcome, result.isFlaky)
            return index
        case .failedLate(let test, _):
            guard let index = entries.lastIndex(where: { $0.test == test && $0.outcome != nil }) else { return nil }
            tally.fail(after: entries[index].outcome ?? .failed, isFlaky: entries[index].isFlaky)
            (entries[index].outcome, entries[index].isFlaky) = (.failed, false)
            return index
        case .moduleIssue:
            tally.moduleIssues += 1
            return nil
        case .warning:
            tally.warnings += 1
            return nil
        }
    }

    @discardableResult
    private mutating func append(_ test: PlannedTest) -> Int {
        entries.append(Entry(test: test, state: .waiting))
        tally.planned += 1
        open[test, default: []].append(entries.count - 1)
        return entries.count - 1
    }

    private mutating func close(_ index: Int) {
        let test = entries[index].test
        entries[index].state = .ended
        open[test]?.removeFirst()
        if open[test]?.isEmpty == true { open[test] = nil }
    }

    /// The tests that have begun and not ended.
    var running: [PlannedTest] { entries.filter { $0.state == .running }.map(\.test) }

    /// The tests that have not begun.
    var waiting: [PlannedTest] { entries.filter { $0.state == .waiting }.map(\.test) }
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
            "testCountsLateFailures": testCountsLateFailures,
        ]
    }

    private static func test(_ name: String) -> PlannedTest {
        PlannedTest(typeName: "S", testName: name, testType: "unit", module: "M")
    }

    private static func testSumsAddUpAtEveryMoment() {
        var rollCall = RollCall()
        for event in SampleRun.events {
            rollCall.add(event)
            let ended = rollCall.tally.passed + rollCall.tally.failed + rollCall.tally.skipped
            expectEqual(ended + rollCall.running.count + rollCall.waiting.count, rollCall.tally.planned)
            expectEqual(rollCall.tally.planned, rollCall.entries.count)
        }
        expectEqual(rollCall.running.map(\.name), ["Stack.testHang"])
        expectEqual(rollCall.waiting.map(\.name), ["Stack.testNever"])
        expectEqual(rollCall.tally.flaky, 1)
        expectEqual(rollCall.tally.knownIssues, 1)
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

    private static func testCountsLateFailures() {
        var rollCall = RollCall()
        let late = RunEvent.failedLate(test("a"), TestIssue(kind: .expectation, got: "1", expected: "2"))
        rollCall.add(.planned(module: "M", tests: [test("b"), test("a")]))
        expectNil(rollCall.add(late), "a test that has not ended")
        rollCall.add(.ended(TestResult(test: test("a"), outcome: .passed)))
        for _ in 0..<2 { expectEqual(rollCall.add(late), 1) }
        expectEqual([rollCall.tally.passed, rollCall.tally.failed], [0, 1])
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
