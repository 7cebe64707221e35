// Counting the lines of a chunk, 64 bytes at a time, for the positions of errors.

/// The lines of a chunk.
package enum LineCount {
    /// The number of LFs before an offset, and the offset of the last one.
    package static func count(in bytes: RawSpan, to end: Int) -> (count: Int, last: Int) {
        var count = 0
        var offset = 0
        let newlines = SIMD16<UInt8>(repeating: 0x0A)
        // PERF: JSONReader in chunks; four sums that do not wait for each other, each lane of which holds 255.
        while offset &+ 64 <= end {
            var lanes = (SIMD16<UInt8>(), SIMD16<UInt8>(), SIMD16<UInt8>(), SIMD16<UInt8>())
            let stop = offset &+ min((end &- offset) &>> 6, 255) &<< 6
            while offset < stop {
                // SAFETY: `stop` is a multiple of 64 bytes from the offset, and at most `end`, which is within the span.
                let first = unsafe bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: SIMD16<UInt8>.self)
                let second = unsafe bytes.unsafeLoadUnaligned(
                    fromUncheckedByteOffset: offset &+ 16, as: SIMD16<UInt8>.self)
                let third = unsafe bytes.unsafeLoadUnaligned(
                    fromUncheckedByteOffset: offset &+ 32, as: SIMD16<UInt8>.self)
                let fourth = unsafe bytes.unsafeLoadUnaligned(
                    fromUncheckedByteOffset: offset &+ 48, as: SIMD16<UInt8>.self)
                lanes.0.replace(with: lanes.0 &+ 1, where: first .== newlines)
                lanes.1.replace(with: lanes.1 &+ 1, where: second .== newlines)
                lanes.2.replace(with: lanes.2 &+ 1, where: third .== newlines)
                lanes.3.replace(with: lanes.3 &+ 1, where: fourth .== newlines)
                offset &+= 64
            }
            count += sum(lanes.0) + sum(lanes.1) + sum(lanes.2) + sum(lanes.3)
        }
        while offset < end {
            if bytes.byte(at: offset) == 0x0A { count += 1 }
            offset += 1
        }
        guard count > 0 else { return (0, -1) }
        var last = end - 1
        while bytes.byte(at: last) != 0x0A { last -= 1 }
        return (count, last)
    }

    private static func sum(_ lanes: SIMD16<UInt8>) -> Int {
        Int(SIMD16<UInt16>(truncatingIfNeeded: lanes).wrappedSum())
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension LineCount: SelfTesting {
    package static var testSelectors: TestSelectors { ["testCountsAsAPlainLoopDoes": testCountsAsAPlainLoopDoes] }

    private static func testCountsAsAPlainLoopDoes() {
        for count in [0, 1, 15, 63, 64, 65, 127, 128, 129, 255 * 64 - 1, 255 * 64, 255 * 64 + 1, 300 * 64] {
            for period in [1, 2, 3, 17, 1_000_000] {
                let bytes = (0..<count).map { UInt8($0 % period == period - 1 ? 0x0A : 0x0B) }
                // SAFETY: the span does not leave the closure.
                let found = unsafe bytes.withUnsafeBytes { unsafe LineCount.count(in: $0.bytes, to: count) }
                expectEqual(found.count, bytes.count { $0 == 0x0A }, "lines of \(count) bytes, one every \(period)")
                expectEqual(found.last, bytes.lastIndex(of: 0x0A) ?? -1, "the last end in \(count) bytes")
            }
        }
    }
}
#endif
