// The text between tokens, and the meaning of complete tokens: arrays, dictionaries, keys and values.

import PlistStreaming

extension OpenStepScanner {
    /// Scans whitespace and the first byte of the following token.
    mutating func scanBetween<Sink: PlistSink & ~Copyable>(
        _ bytes: RawSpan, _ start: Int, to sink: inout Sink
    ) throws(StreamError) -> Int {
        var offset = start
        while offset < bytes.byteCount {
            let byte = bytes.byte(at: offset)
            guard byte == 0x20 || (0x09...0x0D).contains(byte) else { break }
            if byte == 0x0A { countLine(offset) }
            offset += 1
        }
        guard offset < bytes.byteCount else { return offset }
        let byte = bytes.byte(at: offset)
        tokenPlace = position(offset)
        switch byte {
        case UInt8(ascii: "/"): token = .slash
        case UInt8(ascii: ","), UInt8(ascii: ";"), UInt8(ascii: "="): try scanMark(byte, bytes, offset, to: &sink)
        case UInt8(ascii: ")"):
            guard next == .element || next == .comma else { throw fail(expected: expectation, bytes, offset) }
            try endContainer(isDictionary: false, to: &sink)
        case UInt8(ascii: "}"):
            guard next == .key, !(isBare && nesting.depth == 1) else {
                throw fail(expected: expectation, bytes, offset)
            }
            try endContainer(isDictionary: true, to: &sink)
        case UInt8(ascii: "("), UInt8(ascii: "{"):
            guard isValueNext else { throw fail(expected: expectation, bytes, offset) }
            try begin(isDictionary: byte == UInt8(ascii: "{"), to: &sink)
        case UInt8(ascii: "<"):
            guard isValueNext else { throw fail(expected: expectation, bytes, offset) }
            begin(.angle)
        default: return try scanFirst(byte, bytes, offset)
        }
        return offset + 1
    }

    /// Scans the first byte of a string, which is part of the text unless it is a quote.
    private mutating func scanFirst(_ byte: UInt8, _ bytes: RawSpan, _ offset: Int) throws(StreamError) -> Int {
        if byte == 0xEF, chunkPlace.offset + offset == 0 {
            begin(.byteOrderMark)
            return offset
        }
        if byte >= 0xFE, chunkPlace.offset + offset == 0 {
            throw fail(.invalidText, "expected text in UTF-8, found UTF-16", at: tokenPlace)
        }
        guard isValueNext || next == .key else { throw fail(expected: expectation, bytes, offset) }
        if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") {
            quote = byte
            begin(.quoted)
            return offset + 1
        }
        guard Self.isUnquoted(byte) else { throw fail(expected: expectation, bytes, offset) }
        begin(.unquoted)
        return offset
    }

    private var isValueNext: Bool { next == .root || next == .value || next == .element }

    mutating func begin(_ token: Token) {
        self.token = token
        text.removeAll(keepingCapacity: true)
        (digitCount, number, highSurrogate) = (0, 0, 0)
    }

    /// Returns whether a byte may occur in strings without quotes.
    static func isUnquoted(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        case UInt8(ascii: "_"), UInt8(ascii: "$"), UInt8(ascii: "/"), UInt8(ascii: ":"), UInt8(ascii: "."),
            UInt8(ascii: "-"):
            true
        default: false
        }
    }

    private mutating func scanMark<Sink: PlistSink & ~Copyable>(
        _ mark: UInt8, _ bytes: RawSpan, _ offset: Int, to sink: inout Sink
    ) throws(StreamError) {
        switch (next, mark) {
        case (.comma, UInt8(ascii: ",")): next = .element
        case (.equals, UInt8(ascii: "=")): next = .value
        case (.semicolon, UInt8(ascii: ";")): next = .key
        case (.equals, UInt8(ascii: ";")):
            next = .key
            let string = key
            try string.withRawSpan { (text) throws(StreamError) in try sink.writeString(text) }
        case (.rootString, UInt8(ascii: "=")), (.rootString, UInt8(ascii: ";")):
            isBare = true
            try begin(isDictionary: true, to: &sink)
            let string = key
            try string.withRawSpan { (text) throws(StreamError) in try sink.writeKey(text) }
            next = .equals
            try scanMark(mark, bytes, offset, to: &sink)
        default: throw fail(expected: expectation, bytes, offset)
        }
    }

    mutating func begin<Sink: PlistSink & ~Copyable>(
        isDictionary: Bool, to sink: inout Sink
    ) throws(StreamError) {
        guard nesting.depth < limits.depth else {
            throw fail(.limitExceeded, "more than \(limits.depth) levels of nesting", at: tokenPlace)
        }
        if isDictionary { try sink.beginDictionary() } else { try sink.beginArray() }
        nesting.push(isDictionary: isDictionary)
        next = isDictionary ? .key : .element
    }

    mutating func endContainer<Sink: PlistSink & ~Copyable>(
        isDictionary: Bool, to sink: inout Sink
    ) throws(StreamError) {
        if isDictionary { try sink.endDictionary() } else { try sink.endArray() }
        nesting.pop()
        endValue()
    }

    /// Updates the state after a value.
    mutating func endValue() {
        next = nesting.depth == 0 ? .end : nesting.isInDictionary ? .semicolon : .comma
    }

    /// Handles a complete and checked string as a key or a value.
    mutating func endString<Sink: PlistSink & ~Copyable>(_ string: RawSpan, to sink: inout Sink) throws(StreamError) {
        guard string.isValidUTF8 else {
            throw fail(.invalidText, "expected text in UTF-8, found other bytes", at: tokenPlace)
        }
        token = .none
        switch next {
        case .key, .root:
            key.removeAll(keepingCapacity: true)
            string.appendTo(&key)
            if next == .key { try sink.writeKey(string) }
            next = next == .key ? .equals : .rootString
        default:
            try sink.writeString(string)
            endValue()
        }
    }

    mutating func endString<Sink: PlistSink & ~Copyable>(_ string: [UInt8], to sink: inout Sink) throws(StreamError) {
        try string.withRawSpan { (string) throws(StreamError) in try endString(string, to: &sink) }
    }
}
