// Counting the lines of a chunk, sixteen bytes at a time, for the positions of errors.

import PlistStreaming

/// The lines of a chunk.
enum LineCount {
    /// The number of LFs before an offset, and the offset of the last one.
    static func count(in bytes: RawSpan, to end: Int) -> (count: Int, last: Int) {
        var count = 0
        var offset = 0
        let lastVector = end &- 16
        var lanes = SIMD16<UInt8>(repeating: 0)
        let newlines = SIMD16<UInt8>(repeating: 0x0A)
        var pending = 0
        while offset <= lastVector {
            // SAFETY: the loop's condition keeps sixteen bytes before `end`, which is within the span.
            let vector = unsafe bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: SIMD16<UInt8>.self)
            lanes.replace(with: lanes &+ 1, where: vector .== newlines)
            offset &+= 16
            pending += 1
            if pending == 255 {
                count += sum(lanes)
                lanes = SIMD16(repeating: 0)
                pending = 0
            }
        }
        count += sum(lanes)
        while offset < end {
            if bytes.uncheckedByte(offset) == 0x0A { count += 1 }
            offset += 1
        }
        guard count > 0 else { return (0, -1) }
        var last = end - 1
        while bytes.uncheckedByte(last) != 0x0A { last -= 1 }
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
    static var testSelectors: TestSelectors { ["testCountsAsAPlainLoopDoes": testCountsAsAPlainLoopDoes] }

    private static func testCountsAsAPlainLoopDoes() {
        for count in [0, 1, 15, 16, 17, 31, 32, 33, 255 * 16, 255 * 16 + 1, 300 * 16] {
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
