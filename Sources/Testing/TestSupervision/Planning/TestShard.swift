// Selects the part of the tests that a machine runs.

/// A part of the selected tests, for one of several machines. The hash of a test's name determines its part, so adding
/// a test doesn't move other tests.
package struct TestShard: Equatable, Sendable {
    /// The index of the part, from 0.
    package var index: Int
    package var count: Int

    package init(index: Int, count: Int) {
        self.index = index
        self.count = count
    }

    /// Reads `I/N`, with I from 1 to N.
    package init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, let number = Int(parts[0]), let count = Int(parts[1]), number >= 1, number <= count
        else { return nil }
        self.init(index: number - 1, count: count)
    }

    /// Returns the tests of this part, in the same order.
    package func part(of selected: [Int], name: (Int) -> String) -> [Int] {
        selected.filter { Self.hash(name($0)) % UInt64(count) == UInt64(index) }
    }

    /// Computes a 64-bit FNV-1a hash with a final mix. It is the same on every machine. Without the mix, the lowest bit
    /// would be the parity of the bytes.
    private static func hash(_ name: String) -> UInt64 {
        let hash = name.utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        let mixed = (hash ^ hash >> 32) &* 0x9E37_79B9_7F4A_7C15
        return mixed ^ mixed >> 29
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension TestShard: SelfTesting {
    package static var testSelectors: TestSelectors {
        ["testReadsIndexAndCount": testReadsIndexAndCount, "testShardsCoverAllTestsOnce": testShardsCoverAllTestsOnce]
    }

    private static func testReadsIndexAndCount() {
        expectEqual(TestShard("2/3"), TestShard(index: 1, count: 3))
        expectEqual(TestShard("1/1"), TestShard(index: 0, count: 1))
        for text in ["", "0/3", "4/3", "1", "x:1/2", "1/2/3", "slice:1/2", "-1/2", "/2"] {
            expectNil(TestShard(text), text)
        }
    }

    private static func testShardsCoverAllTestsOnce() {
        func shards(_ all: [Int], _ count: Int) -> [[Int]] {
            (0..<count).map { TestShard(index: $0, count: count).part(of: all) { "Stack.testRow(\($0))" } }
        }
        for count in [0, 1, 7, 100] {
            for parts in 1...8 {
                let all = (0..<count).map { $0 * 3 }
                let shards = shards(all, parts)
                expectEqual(shards.flatMap(\.self).sorted(), all)
                for shard in shards { expectEqual(shard, shard.sorted(), "the order stays") }
            }
        }
        let (few, many) = (shards(Array(0..<1000), 4), shards(Array(0..<1100), 4))
        for (few, many) in zip(few, many) {
            expectEqual(many.filter { $0 < 1000 }, few, "those that were there stay")
            expectTrue((225...325).contains(many.count), "\(many.count) of 1100 in one of 4 parts")
        }
    }
}
#endif
