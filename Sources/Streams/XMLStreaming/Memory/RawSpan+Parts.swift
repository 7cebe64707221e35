// Functions that return parts of the bytes of a document.

extension RawSpan {
    /// Returns a number of bytes starting at an offset. The caller has checked that the range is within the bounds.
    @inlinable @inline(__always) @_lifetime(copy self)
    func uncheckedPart(_ start: Int, _ count: Int) -> RawSpan {
        assert(start >= 0 && count >= 0 && start + count <= byteCount, "bytes out of bounds")
        // SAFETY: callers compare the range with the count first.
        return unsafe extracting(unchecked: start..<start &+ count)
    }

    /// Returns a number of bytes starting at an offset.
    @inlinable @inline(__always) @_lifetime(copy self)
    func part(_ start: Int, _ count: Int) -> RawSpan { extracting(start..<start &+ count) }
}

extension String {
    /// Creates a string from bytes of a document, which the reader has validated as UTF-8.
    public init(xml bytes: RawSpan) {
        // SAFETY: the bytes are only read within the closure.
        self = unsafe bytes.withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) }
    }
}
