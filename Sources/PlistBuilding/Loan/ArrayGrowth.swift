// How arrays grow whose final count can be guessed: in few steps, and where the system has them, into large pages.

import PlistStreaming

/// The growth of arrays and columns.
@usableFromInline
enum ArrayGrowth {
    /// Growing at once to what is expected is limited to this multiple of what is there, so that no input reserves
    /// more memory than in proportion to its elements.
    @usableFromInline static let largestFactor = 16

    /// The capacity for `needed` values, of which `count` are there, when so many more are expected behind them.
    @usableFromInline
    static func capacity(count: Int, needed: Int, expecting expected: Int) -> Int {
        let estimate = needed + expected + expected / 64
        return max(needed, 2 * count, min(estimate, largestFactor * max(count, 256)))
    }

    /// Makes room for `count` more elements, and for those expected behind them.
    @inlinable
    static func reserve<Element>(_ array: inout [Element], _ count: Int, expecting expected: Int) {
        let needed = array.count + count
        guard needed > array.capacity else { return }
        let capacity = capacity(count: array.count, needed: needed, expecting: expected)
        array.reserveCapacity(capacity)
        let byteCount = capacity * MemoryLayout<Element>.stride
        guard byteCount >= largePage else { return }
        // SAFETY: only the address is used; the capacity behind the elements belongs to the array.
        unsafe array.withUnsafeMutableBufferPointer { buffer in
            unsafe useLargePages(UnsafeMutableRawPointer(buffer.baseAddress), byteCount)
        }
    }

    @usableFromInline static let largePage = LargePages.byteCount

    /// Asks the system for large pages in memory that will be filled; a wish, which changes no value.
    @usableFromInline
    static func useLargePages(_ start: UnsafeMutableRawPointer?, _ byteCount: Int) {
        unsafe LargePages.use(start, byteCount)
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension ArrayGrowth: SelfTesting {
    /// The tests of this type.
    @usableFromInline
    static var testSelectors: TestSelectors {
        [
            "testGrowsInProportionToWhatIsThere": testGrowsInProportionToWhatIsThere,
            "testReservesOnceForWhatIsExpected": testReservesOnceForWhatIsExpected,
        ]
    }

    private static func testGrowsInProportionToWhatIsThere() {
        let rows: [(count: Int, needed: Int, expected: Int, capacity: Int)] = [
            (0, 3, 0, 3), (3, 6, 0, 6), (100, 101, 0, 200), (0, 256, 1_000_000, 4_096), (256, 512, 0, 512),
            (4_096, 4_352, 1_000_000_000, 65_536), (65_536, 65_792, 100_000, 167_354),
        ]
        for row in rows {
            expectEqual(
                capacity(count: row.count, needed: row.needed, expecting: row.expected), row.capacity, "\(row)")
        }
    }

    private static func testReservesOnceForWhatIsExpected() {
        var array = [Int](repeating: 7, count: 1_000)
        // Large enough for large pages, which must change nothing.
        reserve(&array, 256, expecting: 500_000)
        expectEqual(array.capacity >= 16_000, true, "capacity")
        expectEqual(array, [Int](repeating: 7, count: 1_000), "elements")
        var large = [Int](repeating: 7, count: 200_000)
        reserve(&large, large.capacity - large.count + 1, expecting: 1_000_000)
        let capacity = large.capacity
        expectGreaterOrEqual(capacity, 1_200_001, "capacity for all")
        for number in 0..<1_000_000 { large.append(number) }
        expectEqual(large.capacity, capacity, "capacity after appending")
        expectEqual([large[0], large[199_999], large[200_000], large[1_199_999]], [7, 7, 0, 999_999], "elements")
    }
}
#endif
