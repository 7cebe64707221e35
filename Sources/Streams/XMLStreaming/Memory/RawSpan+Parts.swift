// Parts of the bytes of a document.

extension RawSpan {
    /// The bytes from an offset on, as many as given; the caller has checked that they are there.
    @inlinable @inline(__always) @_lifetime(copy self)
    func uncheckedPart(_ start: Int, _ count: Int) -> RawSpan {
        assert(start >= 0 && count >= 0 && start + count <= byteCount, "bytes out of bounds")
        // SAFETY: callers compare the range with the count before.
        return unsafe extracting(unchecked: start..<start &+ count)
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
