// Creates the errors of the scanner with their positions, outside the loops.

import PlistStreaming

extension JSONScanner {
    /// Records an error at an offset of the chunk; the scanner stays failed.
    @usableFromInline @inline(never)
    mutating func fail(_ kind: StreamError.Kind, _ message: String, in bytes: RawSpan, at offset: Int) -> StreamError {
        tokenOffset = chunkOffset + offset
        return fail(StreamError(kind, message), in: bytes)
    }

    @usableFromInline @inline(never)
    mutating func fail(limit what: String, _ limit: Int, in bytes: RawSpan, at offset: Int) -> StreamError {
        fail(.limitExceeded, "more than \(limit) \(what)", in: bytes, at: offset)
    }

    /// Records an error at the current token, such as a token that the sink refused.
    @usableFromInline @inline(never)
    mutating func fail(_ error: StreamError, in bytes: RawSpan) -> StreamError {
        // An error of this scanner already has its position.
        if let failure { return failure }
        state = .failed
        // A token that began in an earlier chunk never contains a line end.
        var place = chunkPlace
        place.advance(over: bytes.extracting(first: max(0, tokenOffset - chunkOffset)))
        let error = error.ofSink(at: place.at(tokenOffset).position)
        failure = error
        return error
    }

    @usableFromInline @inline(never)
    mutating func failAtEnd(of bytes: RawSpan) -> StreamError {
        let found = "found the end of the input"
        return fail(.unexpectedEnd, "expected \(expectation), \(found)", in: bytes, at: bytes.byteCount)
    }
}
