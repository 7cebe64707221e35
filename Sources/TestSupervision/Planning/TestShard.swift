// Which part of the selected tests is this machine's.

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
                let counts = shards.map(\.count).sorted()
                expectLessThanOrEqual(counts[parts - 1] - counts[0], 1, "evenness")
            }
        }
    }
}
#endif
