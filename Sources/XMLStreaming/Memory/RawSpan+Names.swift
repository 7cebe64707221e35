// Comparing bytes of a document with each other and with names that a program spells.

import PlistStreaming

extension RawSpan {
    /// Whether both have the same bytes.
    public func hasSameBytes(as other: RawSpan) -> Bool {
        let count = byteCount
        guard count == other.byteCount else { return false }
        var offset = 0
        // SAFETY: each load is of eight bytes, or one, below the count of both.
        while offset &+ 8 <= count {
            let (left, right) = unsafe (
                unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: UInt64.self),
                other.unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: UInt64.self)
            )
            guard left == right else { return false }
            offset &+= 8
        }
        while offset < count {
            let (left, right) = unsafe (
                unsafeLoad(fromUncheckedByteOffset: offset, as: UInt8.self),
                other.unsafeLoad(fromUncheckedByteOffset: offset, as: UInt8.self)
            )
            guard left == right else { return false }
            offset &+= 1
        }
        return true
    }

    /// Whether these are the bytes of a string in UTF-8.
    public func hasSameBytes(as text: String) -> Bool { text.withUTF8Span { hasSameBytes(as: $0) } }

    /// The byte at an offset that the caller has checked.
    @inline(__always)
    func uncheckedByte(_ offset: Int) -> UInt8 {
        assert(offset >= 0 && offset < byteCount, "byte offset out of bounds")
        // SAFETY: callers compare the offset with the count before.
        return unsafe unsafeLoad(fromUncheckedByteOffset: offset, as: UInt8.self)
    }

    /// The bytes from an offset on, as many as given.
    @inlinable @inline(__always) @_lifetime(copy self)
    func part(_ start: Int, _ count: Int) -> RawSpan { extracting(start..<start &+ count) }
}

extension String {
    /// The text of bytes of a document, which the reader has found to be UTF-8.
    public init(xml bytes: RawSpan) {
        // SAFETY: the bytes are only read within the closure.
        self = unsafe bytes.withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) }
    }
}
