// Determines the order of the selected tests.

import TestEvents

enum RunOrder {
    /// Returns the tests in the order of their likelihood to fail: first those that failed in the last run, then those
    /// whose sources have changed since. Otherwise, the order stays.
    static func urgentFirst(_ indices: [Int], plan: [PlannedTest], lastRun: LastRun, sources: TestedSources)
        -> [Int]
    {
        if lastRun.failed.isEmpty, lastRun.changed.isEmpty { return indices }
        func urgency(_ index: Int) -> Int {
            if lastRun.failed.contains(plan[index].name) { return 0 }
            guard !lastRun.changed.isEmpty, let place = sources.scan.place(of: plan[index]) else { return 2 }
            return lastRun.changed.contains(place.path) ? 1 : 2
        }
        let urgencies = indices.map(urgency)
        return (0...2).flatMap { level in zip(indices, urgencies).filter { $0.1 == level }.map(\.0) }
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension RunOrder: SelfTesting {
    static var testSelectors: TestSelectors {
        ["testFailedAndChangedTestsComeFirst": testFailedAndChangedTestsComeFirst]
    }

    private static func testFailedAndChangedTestsComeFirst() {
        let plan = (0..<4).map { PlannedTest(typeName: "T\($0)", testName: "test", testType: "unit", module: "M") }
        var lastRun = LastRun()
        lastRun.failed = ["T2.test"]
        lastRun.changed = ["/3.swift"]
        let sources = TestedSources(
            holding: SourceScan(
                text: "extension T3 { static var testSelectors: TestSelectors { [\"test\": x] } }", path: "/3.swift",
                module: "M"))
        expectEqual(urgentFirst([0, 1, 2, 3], plan: plan, lastRun: lastRun, sources: sources), [2, 3, 0, 1])
        expectEqual(
            urgentFirst([0, 1, 2, 3], plan: plan, lastRun: LastRun(), sources: sources), [0, 1, 2, 3])
    }
}
#endif
