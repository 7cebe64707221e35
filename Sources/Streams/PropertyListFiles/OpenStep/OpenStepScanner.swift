// The parser for the old text form. A token is scanned when all of its bytes are known; the bytes of a token that continues in
// the next chunk are kept. `OpenStepScanner+Tokens` scans tokens, `OpenStepScanner+Structure` handles the meaning of complete
// tokens.

import PlistStreaming

/// A parser that turns text of the old form, chunk by chunk, into messages.
///
/// ```
/// list       = value | members | nothing but whitespace and comments
/// value      = string | data | typed | array | dictionary
/// array      = "(" [ value *( "," value ) [ "," ] ] ")"
/// dictionary = "{" members "}"
/// members    = *( string [ "=" value ] ";" )
/// string     = 1*( letter | digit | one of _ $ / : . - ) | quoted by " or '
/// data       = "<" hexadecimal digits, by twos, and whitespace ">"
/// typed      = "<*I" integer ">" | "<*R" real ">" | "<*BY>" | "<*BN>" | "<*D" date and time ">" | "<[" Base64 "]>"
/// ```
///
/// Whitespace and C comments may separate tokens. A member without a value has its key as its value. Input without
/// tokens is a dictionary without members, as an empty file of localized strings; input of zero bytes isn't a property
/// list.
struct OpenStepScanner: Sendable {
    /// The tokens that may come next.
    enum Next: UInt8, Sendable {
        case root, rootString, value, element, comma, key, equals, semicolon, end
    }

    let limits: StreamLimits
    var next = Next.root
    var nesting = NestingStack()
    /// A Boolean value that indicates whether the members of the root have no braces around them.
    var isBare = false
    /// The decoded part of the token, and the text of the last key, or of a string at the root.
    var text: [UInt8] = []
    var key: [UInt8] = []

    /// The place of the token that is scanned now or next, and its offset in the bytes that are scanned.
    private var place = LinePlace()
    var tokenStart = 0
    var tokenPlace = StreamPosition.start
    private(set) var failure: StreamError?
    /// The number of comments so far, and the position of the first one.
    var comments: (count: Int, first: StreamPosition?) = (0, nil)

    /// The bytes of an incomplete token, and the number of bytes at which it is scanned again. The number doubles, so that the
    /// time for long tokens in small chunks stays linear.
    private var carried: [UInt8] = []
    private var scannedCount = 0

    init(limits: StreamLimits) { self.limits = limits }

    /// The number of bytes received so far.
    var byteOffset: Int { place.offset + carried.count }

    /// Scans a chunk of bytes.
    mutating func scan<Sink: PlistSink & ~Copyable>(_ bytes: RawSpan, to sink: inout Sink) throws(StreamError) {
        if let failure { throw failure }
        do throws(StreamError) {
            let remaining = limits.totalByteCount - byteOffset
            guard bytes.byteCount > remaining else { return try scanChunk(bytes, to: &sink) }
            try scanChunk(bytes.extracting(0..<remaining), isEnd: true, to: &sink)
            carried.withRawSpan { place.advance(over: $0) }
            throw fail(.limitExceeded, "more than \(limits.totalByteCount) bytes of input", at: place.position)
        } catch { throw abandon(error, &sink) }
    }

    /// Ends the input.
    mutating func finish<Sink: PlistSink & ~Copyable>(to sink: inout Sink) throws(StreamError) {
        if let failure { throw failure }
        do throws(StreamError) { try scanEnd(to: &sink) } catch { throw abandon(error, &sink) }
    }

    /// Cancels the sink after an error, and returns the error with its position.
    private mutating func abandon<Sink: PlistSink & ~Copyable>(_ error: StreamError, _ sink: inout Sink) -> StreamError
    {
        let error = failure ?? error.ofSink(at: tokenPlace)
        failure = error
        sink.cancel(with: error)
        return error
    }

    /// Scans the complete tokens of a chunk, and keeps the rest.
    /// - Parameter isEnd: A Boolean value that indicates whether to scan an incomplete token even if it was scanned recently.
    private mutating func scanChunk<Sink: PlistSink & ~Copyable>(
        _ bytes: RawSpan, isEnd: Bool = false, to sink: inout Sink
    ) throws(StreamError) {
        if carried.isEmpty {
            let count = try scanTokens(bytes, isLast: false, to: &sink)
            bytes.extracting(count..<bytes.byteCount).appendTo(&carried)
        } else {
            bytes.appendTo(&carried)
            guard isEnd || carried.count >= scannedCount else { return }
            let all = carried
            carried = []
            let count = try all.withRawSpan { (all) throws(StreamError) in
                try scanTokens(all, isLast: false, to: &sink)
            }
            carried = Array(all[count...])
        }
        scannedCount = 2 * carried.count
    }

    /// Scans the complete tokens, and returns the offset of the incomplete one, or the count of the bytes.
    private mutating func scanTokens<Sink: PlistSink & ~Copyable>(
        _ bytes: RawSpan, isLast: Bool, to sink: inout Sink
    ) throws(StreamError) -> Int {
        tokenStart = 0
        while tokenStart < bytes.byteCount, let end = try scanToken(bytes, isLast: isLast, to: &sink) {
            place.advance(over: bytes.extracting(tokenStart..<end))
            tokenStart = end
        }
        return tokenStart
    }

    /// Scans whitespace or a token, and returns the offset of its end, or nil for an incomplete one.
    private mutating func scanToken<Sink: PlistSink & ~Copyable>(
        _ bytes: RawSpan, isLast: Bool, to sink: inout Sink
    ) throws(StreamError) -> Int? {
        let byte = bytes.byte(at: tokenStart)
        var end = tokenStart + 1
        if Self.isSpace(byte) {
            while end < bytes.byteCount, Self.isSpace(bytes.byte(at: end)) { end += 1 }
            return end
        }
        tokenPlace = place.position
        switch byte {
        case UInt8(ascii: "/"):
            guard end < bytes.byteCount else { return isLast ? try scanUnquoted(bytes, isLast: true, to: &sink) : nil }
            switch bytes.byte(at: end) {
            case UInt8(ascii: "/"): return scanLineComment(bytes, isLast: isLast)
            case UInt8(ascii: "*"): return try scanBlockComment(bytes, isLast: isLast)
            default: return try scanUnquoted(bytes, isLast: isLast, to: &sink)
            }
        case UInt8(ascii: ","), UInt8(ascii: ";"), UInt8(ascii: "="): try scanMark(byte, bytes, to: &sink)
        case UInt8(ascii: ")"):
            try require(next == .element || next == .comma, bytes)
            try endContainer(isDictionary: false, to: &sink)
        case UInt8(ascii: "}"):
            try require(next == .key && !(isBare && nesting.depth == 1), bytes)
            try endContainer(isDictionary: true, to: &sink)
        case UInt8(ascii: "("), UInt8(ascii: "{"):
            try require(isValueNext, bytes)
            try begin(isDictionary: byte == UInt8(ascii: "{"), to: &sink)
        case UInt8(ascii: "<"):
            try require(isValueNext, bytes)
            return try scanAngle(bytes, isLast: isLast, to: &sink)
        case 0xEF where place.offset == 0: return try scanByteOrderMark(bytes, isLast: isLast)
        case 0xFE... where place.offset == 0:
            throw fail(.invalidText, "expected text in UTF-8, found UTF-16", at: tokenPlace)
        case UInt8(ascii: "\""), UInt8(ascii: "'"):
            try require(isValueNext || next == .key, bytes)
            return try scanQuoted(bytes, isLast: isLast, to: &sink)
        default: return try scanUnquoted(bytes, isLast: isLast, to: &sink)
        }
        return end
    }

    private mutating func scanEnd<Sink: PlistSink & ~Copyable>(to sink: inout Sink) throws(StreamError) {
        let rest = carried
        carried = []
        try rest.withRawSpan { (rest) throws(StreamError) in _ = try scanTokens(rest, isLast: true, to: &sink) }
        if next == .rootString {
            next = .end
            let string = key
            try string.withRawSpan { (text) throws(StreamError) in try sink.writeString(text) }
        }
        if next == .root, place.offset > 0 {
            isBare = true
            tokenPlace = place.position
            try begin(isDictionary: true, to: &sink)
        }
        if next == .key, isBare, nesting.depth == 1 { try endContainer(isDictionary: true, to: &sink) }
        guard next == .end else {
            throw fail(.unexpectedEnd, "expected \(expectation), found the end of the input", at: place.position)
        }
    }

    // MARK: Errors

    /// Returns the position of a byte of the current token.
    func position(_ bytes: RawSpan, _ offset: Int) -> StreamPosition {
        var place = place
        place.advance(over: bytes.extracting(tokenStart..<offset))
        return place.position
    }

    @inline(never)
    mutating func fail(_ kind: StreamError.Kind, _ message: String, at place: StreamPosition) -> StreamError {
        let error = StreamError(kind, message, position: place)
        failure = error
        return error
    }

    /// Returns the error for an unexpected byte.
    @inline(never)
    mutating func fail(expected what: String, _ bytes: RawSpan, _ offset: Int) -> StreamError {
        let byte = bytes.byte(at: offset)
        let found =
            (0x21...0x7E).contains(byte)
            ? "'\(Character(UnicodeScalar(byte)))'" : "the byte 0x\(String(byte, radix: 16))"
        return fail(.invalidSyntax, "expected \(what), found \(found)", at: position(bytes, offset))
    }

    /// Throws an error unless the first byte of the token is expected.
    mutating func require(_ isExpected: Bool, _ bytes: RawSpan) throws(StreamError) {
        if !isExpected { throw fail(expected: expectation, bytes, tokenStart) }
    }

    /// Returns nil for a token that continues in the next chunk, and throws an error if there is no next chunk.
    mutating func incomplete(_ name: String, _ bytes: RawSpan, isLast: Bool) throws(StreamError) -> Int? {
        guard isLast else { return nil }
        throw fail(
            .unexpectedEnd, "expected the end of \(name), found the end of the input",
            at: position(bytes, bytes.byteCount))
    }

    /// The syntax that is expected next.
    private var expectation: String {
        switch next {
        case .root, .value: "a value"
        case .rootString: "'=', ';' or the end of the input"
        case .element: "a value or ')'"
        case .comma: "',' or ')'"
        case .key: isBare && nesting.depth == 1 ? "a key" : "a key or '}'"
        case .equals: "'=' or ';'"
        case .semicolon: "';'"
        case .end: "the end of the input"
        }
    }
}
