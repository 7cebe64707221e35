// Messages from text, for in-class tests: the inverse of `EventTrace`. Tests of builders use it instead of a format.

#if DEBUG || IN_CLASS_TESTS

/// Sends the messages that the text of an `EventTrace` shows.
package struct EventScript {
    private var rest: Substring

    private init(_ text: String) { rest = text[...] }

    /// Sends all messages to a sink.
    package static func send<Sink: PlistSink & ~Copyable>(_ text: String, to sink: inout Sink) throws(StreamError) {
        var script = EventScript(text)
        while let word = script.nextWord() { try script.send(word, to: &sink) }
    }

    private mutating func send<Sink: PlistSink & ~Copyable>(
        _ word: Substring, to sink: inout Sink
    ) throws(StreamError) {
        switch word {
        case "[": try sink.beginArray()
        case "]": try sink.endArray()
        case "{": try sink.beginDictionary()
        case "}": try sink.endDictionary()
        case "null": try sink.writeNull()
        case "true": try sink.writeBool(true)
        case "false": try sink.writeBool(false)
        case "integer": try sink.writeInteger(Int64(nextWord() ?? "") ?? 0)
        case "unsigned": try sink.writeUnsigned(UInt64(nextWord() ?? "") ?? 0)
        case "real": try sink.writeReal(Double(nextWord() ?? "") ?? .nan)
        case "date": try sink.writeDate(secondsSince2001: Double(nextWord() ?? "") ?? .nan)
        case "number":
            try String(nextWord() ?? "").withUTF8Span { (span) throws(StreamError) in try sink.writeNumber(text: span) }
        case "key":
            try nextQuoted().withUTF8Span { (span) throws(StreamError) in try sink.writeKey(span) }
        case "string":
            try nextQuoted().withUTF8Span { (span) throws(StreamError) in try sink.writeString(span) }
        case "data":
            let digits = Array(nextWord() ?? "")
            let bytes = stride(from: 0, to: digits.count, by: 2).map {
                UInt8(String(digits[$0...($0 + 1)]), radix: 16) ?? 0
            }
            // SAFETY: the span does not leave the closure.
            try unsafe bytes.withUnsafeBufferPointer { (buffer) throws(StreamError) in
                try unsafe sink.writeData(UnsafeRawBufferPointer(buffer).bytes)
            }
        default: throw StreamError(.misuse, "unknown word \(word)")
        }
    }

    private mutating func nextWord() -> Substring? {
        rest = rest.drop { $0 == " " || $0 == "\n" }
        guard !rest.isEmpty else { return nil }
        let word = rest.prefix { $0 != " " && $0 != "\n" }
        rest = rest.dropFirst(word.count)
        return word
    }

    private mutating func nextQuoted() -> String {
        rest = rest.drop { $0 == " " || $0 == "\n" }.dropFirst()
        let text = rest.prefix { $0 != "\"" }
        rest = rest.dropFirst(text.count + 1)
        return String(text)
    }
}
#endif
