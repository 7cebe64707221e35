// The unchecked loads of scanners, and the comparison of bytes, which uses them. Callers check the bounds once for each run,
// close to the loads.

// PERF: inlinable and always inlined; each is a single machine instruction in the specialized loop of a scanner.
extension RawSpan {
    /// The byte at an offset that the caller has checked.
    @inlinable @inline(__always)
    package func uncheckedByte(_ offset: Int) -> UInt8 {
        assert(offset >= 0 && offset < byteCount, "byte offset out of bounds")
        // SAFETY: every caller has compared the offset with the span's count.
        return unsafe unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: UInt8.self)
    }

    /// Four bytes starting at an offset, the first in the low bits; the caller has checked all four.
    @inlinable @inline(__always)
    package func uncheckedHalf(_ offset: Int) -> UInt32 {
        assert(offset >= 0 && offset + 4 <= byteCount, "byte offset out of bounds")
        // SAFETY: every caller has compared the offset with the span's count less four.
        return UInt32(littleEndian: unsafe unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: UInt32.self))
    }

    /// Eight bytes starting at an offset, the first in the low bits; the caller has checked all eight.
    @inlinable @inline(__always)
    package func uncheckedWord(_ offset: Int) -> UInt64 {
        assert(offset >= 0 && offset + 8 <= byteCount, "byte offset out of bounds")
        // SAFETY: every caller has compared the offset with the span's count less eight.
        return UInt64(littleEndian: unsafe unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: UInt64.self))
    }

    // PERF: inlinable; XML compares a name for each end tag and pair of attributes.
    /// Returns whether both have the same bytes.
    ///
    /// - Complexity: O(*n*).
    @inlinable
    package func hasSameBytes(as other: RawSpan) -> Bool {
        let count = byteCount
        guard count == other.byteCount else { return false }
        // Each load reads only bytes below the count of both. The last two loads may overlap.
        if count < 8 {
            if count >= 4 {
                return uncheckedHalf(0) == other.uncheckedHalf(0)
                    && uncheckedHalf(count &- 4) == other.uncheckedHalf(count &- 4)
            }
            var offset = 0
            while offset < count {
                guard uncheckedByte(offset) == other.uncheckedByte(offset) else { return false }
                offset &+= 1
            }
            return true
        }
        var offset = 0
        while offset &+ 8 <= count {
            guard uncheckedWord(offset) == other.uncheckedWord(offset) else { return false }
            offset &+= 8
        }
        return uncheckedWord(count &- 8) == other.uncheckedWord(count &- 8)
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

enum RawSpanLoadsTests {}

extension RawSpanLoadsTests: SelfTesting {
    static var testSelectors: TestSelectors { ["testComparesEveryByte": testComparesEveryByte] }

    private static func testComparesEveryByte() {
        for count in 0...40 {
            let bytes = (0..<count).map { UInt8($0) }
            // SAFETY: the spans do not leave the closures.
            unsafe bytes.withUnsafeBytes { left in
                expectTrue(unsafe left.bytes.hasSameBytes(as: left.bytes), "\(count) bytes")
                for index in 0..<count {
                    var other = bytes
                    other[index] ^= 0x40
                    let isSame = unsafe other.withUnsafeBytes { unsafe left.bytes.hasSameBytes(as: $0.bytes) }
                    expectFalse(isSame, "\(count) bytes, another at \(index)")
                }
                if count > 0 {
                    let less = unsafe left.bytes.extracting(0..<(count - 1))
                    expectFalse(unsafe left.bytes.hasSameBytes(as: less), "one byte less")
                }
            }
        }
    }
}
#endif
