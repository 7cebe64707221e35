// The unchecked loads of the JSON scanner. Callers check bounds once per run, on the screen where they load.

// PERF: inlinable and always inlined; each is one machine instruction in the scanner's specialised loop.
extension RawSpan {
    /// The byte at an offset that the caller has checked.
    @inlinable @inline(__always)
    func uncheckedByte(_ offset: Int) -> UInt8 {
        assert(offset >= 0 && offset < byteCount)
        // SAFETY: every caller has compared the offset with the span's count.
        return unsafe unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: UInt8.self)
    }

    /// Four bytes from an offset on, the first in the low bits; the caller has checked all four.
    @inlinable @inline(__always)
    func uncheckedHalf(_ offset: Int) -> UInt32 {
        assert(offset >= 0 && offset + 4 <= byteCount)
        // SAFETY: every caller has compared the offset with the span's count less four.
        return UInt32(littleEndian: unsafe unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: UInt32.self))
    }

    /// Eight bytes from an offset on, the first in the low bits; the caller has checked all eight.
    @inlinable @inline(__always)
    func uncheckedWord(_ offset: Int) -> UInt64 {
        assert(offset >= 0 && offset + 8 <= byteCount)
        // SAFETY: every caller has compared the offset with the span's count less eight.
        return UInt64(littleEndian: unsafe unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: UInt64.self))
    }
}
