// The parser for the old text form, byte by byte: the state between tokens and within a token. `OpenStepScanner+Tokens`
// handles the bytes within tokens, `OpenStepScanner+Structure` the meaning of complete tokens.

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

    /// The token that contains the last byte.
    enum Token: UInt8, Sendable {
        case none, byteOrderMark, slash, lineComment, blockComment, blockCommentStar
        case quoted, escape, octal, unicode, lowSurrogateBackslash, lowSurrogateU
        case unquoted
        case angle, hexadecimal, typed, base64, base64End
    }

    let limits: StreamLimits
    var next = Next.root
    var token = Token.none
    var nesting = NestingStack()
    /// A Boolean value that indicates whether the members of the root have no braces around them.
    var isBare = false
    /// The complete part of the token, and the text of the last key, or of a string at the root.
    var text: [UInt8] = []
    var key: [UInt8] = []

    /// The start of the chunk, relative to the current line, and the start of the token.
    var chunkPlace = LinePlace()
    var tokenPlace = StreamPosition.start
    var failure: StreamError?
    /// The number of comments so far, and the position of the first one.
    var comments: (count: Int, first: StreamPosition?) = (0, nil)

    // The state within tokens.
    var quote: UInt8 = 0
    var digitCount = 0
    var number: UInt32 = 0
    var highSurrogate: UInt32 = 0

    init(limits: StreamLimits) { self.limits = limits }

    /// Scans the next chunk and sends the values that it completes.
    mutating func scan<Sink: PlistSink & ~Copyable>(_ bytes: RawSpan, to sink: inout Sink) throws(StreamError) {
        if let failure { throw failure }
        do throws(StreamError) {
            let remaining = limits.totalByteCount - chunkPlace.offset
            try scanBytes(bytes.byteCount > remaining ? bytes.extracting(0..<remaining) : bytes, to: &sink)
            if bytes.byteCount > remaining {
                throw fail(
                    .limitExceeded, "more than \(limits.totalByteCount) bytes of input", at: position(remaining))
            }
        } catch { throw abandon(error, &sink) }
        chunkPlace.offset += bytes.byteCount
    }

    /// Ends the input.
    mutating func finish<Sink: PlistSink & ~Copyable>(to sink: inout Sink) throws(StreamError) {
        if let failure { throw failure }
        do throws(StreamError) { try scanEnd(to: &sink) } catch { throw abandon(error, &sink) }
    }

    private mutating func abandon<Sink: PlistSink & ~Copyable>(_ error: StreamError, _ sink: inout Sink) -> StreamError
    {
        let error = failure ?? error.ofSink(at: tokenPlace)
        failure = error
        sink.cancel(with: error)
        return error
    }

    /// Returns the position of an offset in the chunk, which must be on the current line.
    func position(_ offset: Int) -> StreamPosition { chunkPlace.at(chunkPlace.offset + offset).position }

    mutating func countLine(_ offset: Int) { chunkPlace.beginLine(at: chunkPlace.offset + offset + 1) }

    private mutating func scanBytes<Sink: PlistSink & ~Copyable>(
        _ bytes: RawSpan, to sink: inout Sink
    ) throws(StreamError) {
        var offset = 0
        while offset < bytes.byteCount {
            switch token {
            case .none: offset = try scanBetween(bytes, offset, to: &sink)
            case .byteOrderMark: offset = try scanByteOrderMark(bytes, offset)
            case .slash, .lineComment, .blockComment, .blockCommentStar: offset = try scanComment(bytes, offset)
            case .quoted, .unquoted: offset = try scanString(bytes, offset, to: &sink)
            case .escape, .octal, .unicode, .lowSurrogateBackslash, .lowSurrogateU:
                offset = try scanEscape(bytes, offset)
            case .angle, .hexadecimal, .typed, .base64, .base64End: offset = try scanAngle(bytes, offset, to: &sink)
            }
        }
    }

    private mutating func scanEnd<Sink: PlistSink & ~Copyable>(to sink: inout Sink) throws(StreamError) {
        switch token {
        case .none, .lineComment: break
        case .unquoted: try endString(text, to: &sink)
        case .slash:
            _ = try endSlash()
            try endString(text, to: &sink)
        case .blockComment, .blockCommentStar:
            throw fail(.unexpectedEnd, "expected the end of a comment, found the end of the input", at: position(0))
        default:
            throw fail(.unexpectedEnd, "expected the end of \(tokenName), found the end of the input", at: position(0))
        }
        token = .none
        if next == .rootString {
            next = .end
            let string = key
            try string.withRawSpan { (text) throws(StreamError) in try sink.writeString(text) }
        }
        if next == .root, chunkPlace.offset > 0 {
            isBare = true
            tokenPlace = position(0)
            try begin(isDictionary: true, to: &sink)
        }
        if next == .key, isBare, nesting.depth == 1 { try endContainer(isDictionary: true, to: &sink) }
        guard next == .end else {
            throw fail(.unexpectedEnd, "expected \(expectation), found the end of the input", at: position(0))
        }
    }

    // MARK: Errors

    /// Records an error; the scanner stays failed.
    @inline(never)
    mutating func fail(_ kind: StreamError.Kind, _ message: String, at place: StreamPosition) -> StreamError {
        let error = StreamError(kind, message, position: place)
        failure = error
        return error
    }

    /// Records an error at an unexpected byte.
    @inline(never)
    mutating func fail(expected what: String, _ bytes: RawSpan, _ offset: Int) -> StreamError {
        let byte = bytes.byte(at: offset)
        let found =
            (0x21...0x7E).contains(byte)
            ? "'\(Character(UnicodeScalar(byte)))'" : "the byte 0x\(String(byte, radix: 16))"
        return fail(.invalidSyntax, "expected \(what), found \(found)", at: position(offset))
    }

    private var tokenName: String {
        switch token {
        case .angle, .hexadecimal, .base64, .base64End: "data"
        case .typed: "a typed value"
        case .byteOrderMark: "a byte order mark"
        default: "a string"
        }
    }

    /// The expected tokens, in words.
    var expectation: String {
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
