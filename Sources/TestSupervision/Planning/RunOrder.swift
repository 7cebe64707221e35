// Which tests of a plan run, in which order, and which part of them is this machine's.

import TestEvents

/// A part of the selected tests, for one of several machines: every `count`-th, beginning with the one of an index, so
/// that all parts are alike in length. That a new test moves others to another part costs nothing, since all machines
/// run the same build; parts by a hash of the name would stay, and be uneven.
package struct TestShard: Equatable, Sendable {
    /// From 0.
    package var index: Int
    package var count: Int

    package init(index: Int, count: Int) {
        self.index = index
        self.count = count
    }

    /// Reads `I/N`, in which I counts from 1.
    package init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, let number = Int(parts[0]), let count = Int(parts[1]), number >= 1, number <= count
        else { return nil }
        self.init(index: number - 1, count: count)
    }

    /// The part of the selected tests that this is, in the order they had.
    package func part(of selected: [Int]) -> [Int] {
        stride(from: index, to: selected.count, by: count).map { selected[$0] }
    }
}

/// Numbers that a seed decides, by SplitMix64.
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

enum RunOrder {
    /// Puts the tests that are most likely to fail first: those that failed last time, then those whose sources have
    /// changed since; otherwise the order stays.
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

extension TestShard: SelfTesting {
    package static var testSelectors: TestSelectors {
        ["testReadsItsForm": testReadsItsForm, "testPartsAreTheWhole": testPartsAreTheWhole]
    }

    private static func testReadsItsForm() {
        expectEqual(TestShard("2/3"), TestShard(index: 1, count: 3))
        expectEqual(TestShard("1/1"), TestShard(index: 0, count: 1))
        for text in ["", "0/3", "4/3", "1", "x:1/2", "1/2/3", "slice:1/2", "-1/2", "/2"] {
            expectNil(TestShard(text), text)
        }
    }

    private static func testPartsAreTheWhole() {
        for count in [0, 1, 7, 100] {
            for parts in 1...8 {
                let all = (0..<count).map { $0 * 3 }
                let shards = (0..<parts).map { TestShard(index: $0, count: parts).part(of: all) }
                expectEqual(shards.flatMap(\.self).sorted(), all)
                for shard in shards { expectEqual(shard, shard.sorted(), "the order stays") }
                expectLessOrEqual((shards.map(\.count).max() ?? 0) - (shards.map(\.count).min() ?? 0), 1, "evenness")
            }
        }
    }
}

enum RunOrderTests {}

extension RunOrderTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testFailedComeFirst": testFailedComeFirst,
            "testSeedDecidesTheOrder": testSeedDecidesTheOrder,
        ]
    }

    private static func testFailedComeFirst() {
        let plan = (0..<4).map { PlannedTest(typeName: "T\($0)", testName: "test", testType: "unit", module: "M") }
        var lastRun = LastRun()
        lastRun.failed = ["T2.test"]
        lastRun.changed = ["/3.swift"]
        let sources = TestedSources(
            holding: SourceScan(
                text: "extension T3 { static var testSelectors: TestSelectors { [\"test\": x] } }", path: "/3.swift",
                module: "M"))
        expectEqual(RunOrder.urgentFirst([0, 1, 2, 3], plan: plan, lastRun: lastRun, sources: sources), [2, 3, 0, 1])
        expectEqual(
            RunOrder.urgentFirst([0, 1, 2, 3], plan: plan, lastRun: LastRun(), sources: sources), [0, 1, 2, 3])
    }

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
