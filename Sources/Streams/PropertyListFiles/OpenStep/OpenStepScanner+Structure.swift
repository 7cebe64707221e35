// The meaning of complete tokens: arrays, dictionaries, keys and values.

import PlistStreaming

extension OpenStepScanner {
    var isValueNext: Bool { next == .root || next == .value || next == .element }

    static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }

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

    mutating func scanMark<Sink: PlistSink & ~Copyable>(
        _ mark: UInt8, _ bytes: RawSpan, to sink: inout Sink
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
            try scanMark(mark, bytes, to: &sink)
        default: try require(false, bytes)
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
