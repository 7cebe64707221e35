// The steps of parsing declarations. If the text ends, they throw an error that requests more text.

import PlistStreaming

extension XMLTokenizer {
    /// The error if the text ends within a declaration.
    static var incompleteText: StreamError { StreamError(.unexpectedEnd, "the declaration is incomplete") }

    /// The offset in the document for an error at the current position.
    var errorOffset: Int { typeReference ?? offset }

    /// Parses a declaration and returns its token, or requests more text if the text ends within it.
    mutating func token(
        _ token: XMLToken, in text: RawSpan, _ isLast: Bool, _ parse: (inout XMLTokenizer) throws(StreamError) -> Void
    ) throws(StreamError) -> XMLToken {
        do throws(StreamError) { try parse(&self) } catch {
            guard error.kind == .unexpectedEnd else { throw error }
            return try incomplete(text, isLast)
        }
        return token
    }

    /// Returns the next byte.
    func byte(in text: RawSpan) throws(StreamError) -> UInt8 {
        guard offset < text.byteCount else { throw Self.incompleteText }
        return text.uncheckedByte(offset)
    }

    /// Skips white space, and returns whether any was skipped.
    mutating func skipSpace(in text: RawSpan) throws(StreamError) -> Bool {
        let end = NameBytes.endOfSpace(in: text, from: offset)
        defer { offset = end }
        guard end < text.byteCount else { throw Self.incompleteText }
        return end > offset
    }

    /// Skips required white space.
    mutating func space(in text: RawSpan) throws(StreamError) {
        guard try skipSpace(in: text) else { throw wrong("expected white space", in: text) }
    }

    /// Skips a word if it comes next. Returns whether it does.
    mutating func skip(_ word: StaticString, in text: RawSpan) throws(StreamError) -> Bool {
        let isNext = try Self.complete(text.hasWord(word, at: offset))
        if isNext { offset += word.utf8CodeUnitCount }
        return isNext
    }

    /// Skips a required byte.
    mutating func expect(_ character: Unicode.Scalar, in text: RawSpan) throws(StreamError) {
        guard try byte(in: text) == UInt8(ascii: character) else { throw wrong("expected '\(character)'", in: text) }
        offset += 1
    }

    mutating func openQuote(_ what: String, in text: RawSpan) throws(StreamError) -> UInt8 {
        let quote = try byte(in: text)
        guard quote == 0x22 || quote == 0x27 else { throw wrong("expected \(what)", in: text) }
        offset += 1
        return quote
    }

    /// Skips a name. With namespaces, the names of entities, notations and targets have no colon.
    mutating func name(in text: RawSpan, isQualified: Bool = true) throws(StreamError) -> Range<Int> {
        let extent = NameBytes.extent(in: text, from: offset)
        guard extent.end < text.byteCount else { throw Self.incompleteText }
        guard extent.end > offset else { throw wrong("expected a name", in: text) }
        try checkNameLength(extent.end - offset, at: errorOffset)
        if options.knowsNamespaces, !extent.isQualified || !isQualified && extent.colon >= 0 {
            let message = isQualified ? "expected at most one colon" : "expected no colon"
            throw fail(.invalidSyntax, message + " in a name", at: errorOffset)
        }
        defer { offset = extent.end }
        return offset..<extent.end
    }

    /// Throws an error if a name is longer than the options allow.
    mutating func checkNameLength(_ count: Int, at offset: Int) throws(StreamError) {
        guard count > options.nameByteLimit else { return }
        throw fail(.limitExceeded, "more than \(options.nameByteLimit) bytes in a name", at: offset)
    }

    /// Returns an error at the current position.
    mutating func wrong(_ expected: String, in text: RawSpan) -> StreamError {
        fail(.invalidSyntax, "\(expected), found \(describe(text, at: offset))", at: errorOffset)
    }

    /// Returns the result of a function that returns nil if the text ends.
    static func complete<Value>(_ value: Value?) throws(StreamError) -> Value {
        guard let value else { throw incompleteText }
        return value
    }
}
