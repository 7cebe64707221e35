// Grows arrays whose final count can be estimated: in few steps, and into large pages if the system has them.

import PlistStreaming

/// Functions that determine the growth of arrays and columns.
@usableFromInline
enum ArrayGrowth {
    /// The limit for growing to the expected count at once, as a multiple of the present count. Without it, input could
    /// reserve more memory than in proportion to its elements.
    @usableFromInline static let largestFactor = 16

    // PERF: SQLite/read; values copied into a larger array are written to new pages of the usual size, which cost 2 µs each.
    // Values appended after them are written to large pages. Unused capacity costs addresses, but no memory.
    /// The range of byte counts for arrays that grow to four times their size if no further values are expected.
    @usableFromInline static let quadrupledByteCounts = 1 << 20..<256 << 20

    /// Returns the capacity for `needed` values, if `count` values exist and `expected` more values are expected after the
    /// needed ones.
    ///
    /// - Parameter stride: The number of bytes of a value if growing copies the values to new memory, otherwise 0.
    @usableFromInline
    static func capacity(count: Int, needed: Int, expecting expected: Int, stride: Int = 0) -> Int {
        let factor = expected == 0 && quadrupledByteCounts.contains(count * stride) ? 4 : 2
        let estimate = needed + expected + expected / 64
        return max(needed, factor * count, min(estimate, largestFactor * max(count, 256)))
    }

    /// Reserves memory for `count` more elements, and for the elements expected after them.
    @inlinable
    static func reserve<Element>(_ array: inout [Element], _ count: Int, expecting expected: Int) {
        let needed = array.count + count
        guard needed > array.capacity else { return }
        let capacity = capacity(
            count: array.count, needed: needed, expecting: expected, stride: MemoryLayout<Element>.stride)
        array.reserveCapacity(capacity)
        let byteCount = capacity * MemoryLayout<Element>.stride
        guard byteCount >= largePage else { return }
        // SAFETY: only the address is used; the unused capacity belongs to the array.
        unsafe array.withUnsafeMutableBufferPointer { buffer in
            unsafe useLargePages(UnsafeMutableRawPointer(buffer.baseAddress), byteCount)
        }
    }

    @usableFromInline static let largePage = LargePages.byteCount

    /// Asks the system for large pages in memory that will be filled. This is only a hint and changes no values.
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
            "testGrowsInProportionToCount": testGrowsInProportionToCount,
            "testQuadruplesLargeArraysOfUnknownCount": testQuadruplesLargeArraysOfUnknownCount,
            "testReservesExpectedCountOnce": testReservesExpectedCountOnce,
        ]
    }

    private static func testGrowsInProportionToCount() {
        let rows: [(count: Int, needed: Int, expected: Int, capacity: Int)] = [
            (0, 3, 0, 3), (3, 6, 0, 6), (100, 101, 0, 200), (0, 256, 1_000_000, 4_096), (256, 512, 0, 512),
            (4_096, 4_352, 1_000_000_000, 65_536), (65_536, 65_792, 100_000, 167_354),
        ]
        for row in rows {
            expectEqual(
                capacity(count: row.count, needed: row.needed, expecting: row.expected), row.capacity, "\(row)")
        }
    }

    private static func testQuadruplesLargeArraysOfUnknownCount() {
        let (least, most) = (1 << 20, 256 << 20)
        let rows: [(count: Int, stride: Int, expected: Int, factor: Int)] = [
            (least / 32 - 1, 32, 0, 2), (least / 32, 32, 0, 4), (most / 32 - 1, 32, 0, 4), (most / 32, 32, 0, 2),
            (least, 1, 0, 4), (least / 32, 32, 1, 2), (least, 0, 0, 2),
        ]
        for row in rows {
            expectEqual(
                capacity(count: row.count, needed: row.count + 1, expecting: row.expected, stride: row.stride),
                row.factor * row.count, "\(row)")
        }
        var array = [Int](repeating: 7, count: least / 8)
        array.reserveCapacity(array.count)
        reserve(&array, array.capacity - array.count + 1, expecting: 0)
        expectGreaterThanOrEqual(array.capacity, least / 2, "capacity of an array of a megabyte")
        expectEqual(array, [Int](repeating: 7, count: least / 8), "elements")
    }

    private static func testReservesExpectedCountOnce() {
        var array = [Int](repeating: 7, count: 1_000)
        // Large enough for large pages, which must not change any value.
        reserve(&array, 256, expecting: 500_000)
        expectEqual(array.capacity >= 16_000, true, "capacity")
        expectEqual(array, [Int](repeating: 7, count: 1_000), "elements")
        var large = [Int](repeating: 7, count: 200_000)
        reserve(&large, large.capacity - large.count + 1, expecting: 1_000_000)
        let capacity = large.capacity
        expectGreaterThanOrEqual(capacity, 1_200_001, "capacity for all")
        for number in 0..<1_000_000 { large.append(number) }
        expectEqual(large.capacity, capacity, "capacity after appending")
        expectEqual([large[0], large[199_999], large[200_000], large[1_199_999]], [7, 7, 0, 999_999], "elements")
    }
}
#endif
