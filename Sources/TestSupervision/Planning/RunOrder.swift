// Which tests of a plan run, in which order, and which part of them is this machine's.

import TestEvents

/// A part of the selected tests, for one of several machines.
package enum TestPartition: Equatable, Sendable {
    /// Every `count`-th test, beginning with the one of this index from 0: even, but moved by every new test.
    case slice(index: Int, count: Int)
    /// The tests whose names hash to this index from 0: each stays where it is when others come and go.
    case hash(index: Int, count: Int)

    /// Reads `slice:m/n`, `hash:m/n` or `m/n`, which is a slice; m counts from 1.
    package init?(_ text: String) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard let fraction = parts.last?.split(separator: "/", omittingEmptySubsequences: false), parts.count <= 2,
            fraction.count == 2, let number = Int(fraction[0]), let count = Int(fraction[1]), number >= 1,
            number <= count
        else { return nil }
        switch parts.count == 2 ? parts[0] : "slice" {
        case "slice": self = .slice(index: number - 1, count: count)
        case "hash": self = .hash(index: number - 1, count: count)
        default: return nil
        }
    }

    /// The part of the selected tests that this is, in the order they had.
    package func part(of selected: [Int], plan: [PlannedTest]) -> [Int] {
        switch self {
        case .slice(let index, let count):
            selected.enumerated().filter { $0.offset % count == index }.map(\.element)
        case .hash(let index, let count):
            selected.filter { Int(Self.hash("\(plan[$0].module).\(plan[$0].name)") % UInt64(count)) == index }
        }
    }

    /// FNV-1a, which is the same on every machine and in every year.
    private static func hash(_ name: String) -> UInt64 {
        name.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
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

extension TestPartition: SelfTesting {
    package static var testSelectors: TestSelectors {
        [
            "testReadsItsForms": testReadsItsForms,
            "testPartsAreTheWhole": testPartsAreTheWhole,
            "testHashKeepsTestsWhereTheyAre": testHashKeepsTestsWhereTheyAre,
        ]
    }

    private static func plan(_ count: Int) -> [PlannedTest] {
        (0..<count).map { PlannedTest(typeName: "T", testName: "test\($0)", testType: "unit", module: "M") }
    }

    private static func testReadsItsForms() {
        expectEqual(TestPartition("2/3"), .slice(index: 1, count: 3))
        expectEqual(TestPartition("slice:3/3"), .slice(index: 2, count: 3))
        expectEqual(TestPartition("hash:1/1"), .hash(index: 0, count: 1))
        for text in ["", "0/3", "4/3", "1", "x:1/2", "1/2/3", "1:2/3", "-1/2", "/2"] {
            expectNil(TestPartition(text), text)
        }
    }

    private static func testPartsAreTheWhole() {
        for count in [0, 1, 7, 100] {
            for parts in 1...8 {
                let all = Array(0..<count)
                let slices = (0..<parts).map {
                    TestPartition.slice(index: $0, count: parts).part(of: all, plan: plan(count))
                }
                let hashes = (0..<parts).map {
                    TestPartition.hash(index: $0, count: parts).part(of: all, plan: plan(count))
                }
                expectEqual(slices.flatMap(\.self).sorted(), all)
                expectEqual(hashes.flatMap(\.self).sorted(), all)
                expectLessOrEqual((slices.map(\.count).max() ?? 0) - (slices.map(\.count).min() ?? 0), 1, "evenness")
            }
        }
    }

    private static func testHashKeepsTestsWhereTheyAre() {
        let few = TestPartition.hash(index: 1, count: 3).part(of: Array(0..<50), plan: plan(50))
        let many = TestPartition.hash(index: 1, count: 3).part(of: Array(0..<90), plan: plan(90))
        expectEqual(few, many.filter { $0 < 50 })
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
