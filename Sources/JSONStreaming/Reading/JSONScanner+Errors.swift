// The errors of the scanner, and where they are: made here, out of the loops.

import PlistStreaming

extension JSONScanner {
    mutating func countLines(in bytes: RawSpan, to end: Int) {
        let (count, last) = LineCount.count(in: bytes, to: end)
        guard count > 0 else { return }
        line += count
        lineOffset = chunkOffset + last + 1
    }

    /// The position of an offset in the whole input, which is on the last line of the chunk's bytes before `end`.
    private mutating func position(of offset: Int, in bytes: RawSpan, countingTo end: Int) -> StreamPosition {
        countLines(in: bytes, to: end)
        return StreamPosition(byteOffset: offset, line: line, column: offset - lineOffset + 1)
    }

    /// Records an error at an offset of the chunk; the scanner stays failed.
    @usableFromInline @inline(never)
    mutating func fail(_ kind: StreamError.Kind, _ message: String, in bytes: RawSpan, at offset: Int) -> StreamError {
        state = .failed
        let place = position(of: chunkOffset + offset, in: bytes, countingTo: offset)
        let error = StreamError(kind, message, position: place)
        failure = error
        return error
    }

    @usableFromInline @inline(never)
    mutating func fail(limit what: String, _ limit: Int, in bytes: RawSpan, at offset: Int) -> StreamError {
        fail(.limitExceeded, "more than \(limit) \(what)", in: bytes, at: offset)
    }

    /// Records an error of the sink, at the token it refused.
    @usableFromInline @inline(never)
    mutating func fail(_ error: StreamError, in bytes: RawSpan) -> StreamError {
        // An error of this scanner, which has its position.
        if let failure { return failure }
        state = .failed
        let end = max(0, tokenOffset - chunkOffset)
        let error = error.ofThisText.located(at: position(of: tokenOffset, in: bytes, countingTo: end))
        failure = error
        return error
    }

    @usableFromInline @inline(never)
    mutating func failAtEnd(of bytes: RawSpan) -> StreamError {
        let found = "found the end of the input"
        return fail(.unexpectedEnd, "expected \(expectation), \(found)", in: bytes, at: bytes.byteCount)
    }
}
