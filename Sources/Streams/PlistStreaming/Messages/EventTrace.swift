// The sink that tests compare: it records every message as a word of text, in order, and checks the grammar.

/// A sink that records messages as text, for tests to compare.
///
/// `{"a": [1, 0.5, "x", null]}` gives `{ key "a" [ integer 1 real 0.5 string "x" null ] }`. The other words are
/// `true`, `false`, `unsigned 18446744073709551615`, `number 1e400`, `data 00ff` and `date 0.0`. Text is quoted, with
/// quotes, backslashes and control characters as `\u{22}`.
///
/// Messages outside the grammar of ``PlistSink`` are refused with ``StreamError/Kind/misuse``.
public struct EventTrace: ScalarSink, Sendable {
    /// The words so far, in order.
    public private(set) var events: [String] = []
    /// The grammar's state after the last message.
    public private(set) var grammar: MessageGrammar = MessageGrammar()

    /// Creates an empty trace.
    public init() {}

    /// All events as one line.
    public var text: String { events.joined(separator: " ") }

    /// Records `[`.
    public mutating func beginArray() throws(StreamError) {
        try grammar.beginArray()
        events.append("[")
    }

    /// Records `]`.
    public mutating func endArray() throws(StreamError) {
        try grammar.endArray()
        events.append("]")
    }

    /// Records `{`.
    public mutating func beginDictionary() throws(StreamError) {
        try grammar.beginDictionary()
        events.append("{")
    }

    /// Records `}`.
    public mutating func endDictionary() throws(StreamError) {
        try grammar.endDictionary()
        events.append("}")
    }

    /// Records `key "…"`.
    public mutating func writeKey(_ utf8: RawSpan) throws(StreamError) {
        try grammar.key()
        events.append("key \(try Self.quoted(utf8))")
    }

    /// Records a scalar: reals with the fewest digits that are read back as the same double, data in hexadecimal digits.
    public mutating func write(_ scalar: borrowing StreamScalar) throws(StreamError) {
        let word =
            switch scalar {
            case .null: "null"
            case .bool(let value): value ? "true" : "false"
            case .integer(let value): "integer \(value)"
            case .unsigned(let value): "unsigned \(value)"
            case .real(let value): "real \(value)"
            case .number(let text): "number \(try Self.string(text))"
            case .string(let utf8): "string \(try Self.quoted(utf8))"
            case .data(let bytes): "data \(Self.digits(bytes))"
            case .date(let seconds): "date \(seconds)"
            }
        try grammar.value()
        events.append(word)
    }

    private static func digits(_ bytes: RawSpan) -> String {
        Array(copying: bytes).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }

    private static func string(_ utf8: RawSpan) throws(StreamError) -> String {
        guard let text = String(validating: utf8) else {
            throw StreamError(.misuse, "got text that is not valid UTF-8")
        }
        return text
    }

    private static func quoted(_ utf8: RawSpan) throws(StreamError) -> String {
        var text = "\""
        for scalar in try string(utf8).unicodeScalars {
            switch scalar {
            case "\"", "\\", "\0"..."\u{1F}": text += "\\u{" + String(scalar.value, radix: 16) + "}"
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text + "\""
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension EventTrace: SelfTesting {
    /// The tests of this type.
    public static var testSelectors: TestSelectors {
        [
            "testRecordsEveryMessage": testRecordsEveryMessage,
            "testQuotesText": testQuotesText,
            "testRefusesMisuse": testRefusesMisuse,
            "testRefusesInvalidText": testRefusesInvalidText,
        ]
    }

    private static func testRecordsEveryMessage() throws {
        var trace = EventTrace()
        try trace.beginDictionary()
        try "a".withUTF8Span { try trace.writeKey($0) }
        try trace.beginArray()
        try trace.writeNull()
        try trace.writeBool(true)
        try trace.writeBool(false)
        try trace.writeInteger(.min)
        try trace.writeUnsigned(.max)
        try trace.writeReal(-0.0)
        try "1e400".withUTF8Span { try trace.writeNumber(text: $0) }
        try "x".withUTF8Span { try trace.writeString($0) }
        try "\0z".withUTF8Span { try trace.writeData($0) }
        try trace.writeDate(secondsSince2001: 0.5)
        try trace.endArray()
        try trace.endDictionary()
        expectEqual(
            trace.text,
            """
            { key "a" [ null true false integer -9223372036854775808 unsigned 18446744073709551615 real -0.0 \
            number 1e400 string "x" data 007a date 0.5 ] }
            """, "trace")
    }

    private static func testQuotesText() throws {
        var trace = EventTrace()
        try "a\"b\\c\n\0ü".withUTF8Span { try trace.writeString($0) }
        expectEqual(trace.text, #"string "a\u{22}b\u{5c}c\u{a}\u{0}ü""#, "trace")
    }

    private static func testRefusesMisuse() {
        var trace = EventTrace()
        let error = expectThrows(StreamError.self, "endArray") { try trace.endArray() }
        expectEqual(error?.kind, .misuse, "kind")
        expectEqual(trace.text, "", "nothing is recorded")
    }

    private static func testRefusesInvalidText() {
        var trace = EventTrace()
        let bytes: [UInt8] = [0xC0, 0x80]
        let error = expectThrows(StreamError.self, "writeString") {
            // SAFETY: the span does not leave the closure.
            try unsafe bytes.withUnsafeBytes { try trace.writeString(unsafe $0.bytes) }
        }
        expectEqual(error?.kind, .misuse, "kind")
    }
}
#endif
