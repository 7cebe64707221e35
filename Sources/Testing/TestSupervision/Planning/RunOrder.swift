// Determines the order of the selected tests: by urgency, or random but repeatable.

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

/// A generator with a seed, SplitMix64.
package struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    package init(seed: UInt64) { state = seed }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
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

extension SeededGenerator: SelfTesting {
    package static var testSelectors: TestSelectors { ["testSeedDecidesTheOrder": testSeedDecidesTheOrder] }

    private static func testSeedDecidesTheOrder() {
        var one = SeededGenerator(seed: 7)
        var other = SeededGenerator(seed: 7)
        let order = Array(0..<50).shuffled(using: &one)
        expectEqual(order, Array(0..<50).shuffled(using: &other))
        expectNotEqual(order, Array(0..<50))
        expectEqual(order.sorted(), Array(0..<50))
    }
}
#endif
