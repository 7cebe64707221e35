// Sinks that receive all scalars in one function, and sinks that implement only some messages.

/// A scalar message with its value. Text and bytes are valid during the message.
@frozen
public enum StreamScalar: ~Escapable {
    /// Null.
    case null
    /// A Boolean value.
    case bool(Bool)
    /// An integer between -2^63 and 2^63 - 1.
    case integer(Int64)
    /// An unsigned integer. Readers send only integers above 2^63 - 1.
    case unsigned(UInt64)
    /// A floating-point number.
    case real(Double)
    /// The text, in ASCII, of a number that neither a 64-bit integer nor a finite double can represent.
    case number(RawSpan)
    /// A string in UTF-8.
    case string(RawSpan)
    /// A block of bytes.
    case data(RawSpan)
    /// A point in time, in seconds since 2001-01-01 00:00:00 UTC.
    case date(Double)

    /// Sends the message.
    ///
    /// - Throws: The errors of the sink.
    @inlinable
    public func send<Sink: PlistSink & ~Copyable>(to sink: inout Sink) throws(StreamError) {
        switch self {
        case .null: try sink.writeNull()
        case .bool(let value): try sink.writeBool(value)
        case .integer(let value): try sink.writeInteger(value)
        case .unsigned(let value): try sink.writeUnsigned(value)
        case .real(let value): try sink.writeReal(value)
        case .number(let text): try sink.writeNumber(text: text)
        case .string(let utf8): try sink.writeString(utf8)
        case .data(let bytes): try sink.writeData(bytes)
        case .date(let seconds): try sink.writeDate(secondsSince2001: seconds)
        }
    }
}

/// A sink that receives all scalars in one function, such as a sink that forwards most of them.
public protocol ScalarSink: PlistSink, ~Copyable {
    /// Receives a scalar.
    ///
    /// - Throws: A `StreamError` to refuse it, or `StreamError.stopRequest()`.
    mutating func write(_ scalar: borrowing StreamScalar) throws(StreamError)
}

extension ScalarSink where Self: ~Copyable {
    /// Sends null to ``write(_:)``.
    @inlinable public mutating func writeNull() throws(StreamError) { try write(.null) }
    /// Sends the value to ``write(_:)``.
    @inlinable public mutating func writeBool(_ value: Bool) throws(StreamError) { try write(.bool(value)) }
    /// Sends the value to ``write(_:)``.
    @inlinable public mutating func writeInteger(_ value: Int64) throws(StreamError) { try write(.integer(value)) }
    /// Sends the value to ``write(_:)``.
    @inlinable public mutating func writeUnsigned(_ value: UInt64) throws(StreamError) { try write(.unsigned(value)) }
    /// Sends the value to ``write(_:)``.
    @inlinable public mutating func writeReal(_ value: Double) throws(StreamError) { try write(.real(value)) }
    /// Sends the text to ``write(_:)``.
    @inlinable public mutating func writeNumber(text: RawSpan) throws(StreamError) { try write(.number(text)) }
    /// Sends the string to ``write(_:)``.
    @inlinable public mutating func writeString(_ utf8: RawSpan) throws(StreamError) { try write(.string(utf8)) }
    /// Sends the bytes to ``write(_:)``.
    @inlinable public mutating func writeData(_ bytes: RawSpan) throws(StreamError) { try write(.data(bytes)) }
    /// Sends the date to ``write(_:)``.
    @inlinable public mutating func writeDate(secondsSince2001 seconds: Double) throws(StreamError) {
        try write(.date(seconds))
    }
}

/// A sink that ignores every message that it doesn't implement.
///
/// ```swift
/// struct Titles: PartialSink {
///     var titles: [String] = []
///     mutating func writeString(_ utf8: RawSpan) { titles.append(String(validating: utf8) ?? "") }
/// }
/// ```
public protocol PartialSink: ScalarSink, ~Copyable {}

extension PartialSink where Self: ~Copyable {
    /// Ignores the scalar.
    @inlinable public mutating func write(_ scalar: borrowing StreamScalar) throws(StreamError) {}
    /// Ignores the message.
    @inlinable public mutating func beginArray() throws(StreamError) {}
    /// Ignores the message.
    @inlinable public mutating func endArray() throws(StreamError) {}
    /// Ignores the message.
    @inlinable public mutating func beginDictionary() throws(StreamError) {}
    /// Ignores the message.
    @inlinable public mutating func endDictionary() throws(StreamError) {}
    /// Ignores the key.
    @inlinable public mutating func writeKey(_ utf8: RawSpan) throws(StreamError) {}
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

enum ScalarSinkTests {
    /// A sink that forwards all messages, and counts scalars.
    private struct Counter: ScalarSink {
        var trace = EventTrace()
        var count = 0
        mutating func write(_ scalar: borrowing StreamScalar) throws(StreamError) {
            count += 1
            try scalar.send(to: &trace)
        }
        mutating func beginArray() throws(StreamError) { try trace.beginArray() }
        mutating func endArray() throws(StreamError) { try trace.endArray() }
        mutating func beginDictionary() throws(StreamError) { try trace.beginDictionary() }
        mutating func endDictionary() throws(StreamError) { try trace.endDictionary() }
        mutating func writeKey(_ utf8: RawSpan) throws(StreamError) { try trace.writeKey(utf8) }
    }

    private struct Titles: PartialSink {
        var titles: [String] = []
        mutating func writeString(_ utf8: RawSpan) { titles.append(String(validating: utf8) ?? "") }
    }

    static let script = """
        { key "a" [ null true integer -1 unsigned 18446744073709551615 real 0.5 number 1e400 string "x" data 00ff date 0.0 ] \
        key "b" { key "c" string "é" } }
        """
}

extension ScalarSinkTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testForwardsEveryScalar": testForwardsEveryScalar,
            "testIgnoresUnimplementedMessages": testIgnoresUnimplementedMessages,
        ]
    }

    private static func testForwardsEveryScalar() throws {
        var sink = Counter()
        try EventScript.send(script, to: &sink)
        expectEqual(sink.trace.text, script, "messages")
        expectEqual(sink.count, 10, "scalars")
    }

    private static func testIgnoresUnimplementedMessages() throws {
        var sink = Titles()
        try EventScript.send(script, to: &sink)
        expectEqual(sink.titles, ["x", "é"], "strings")
    }
}
#endif
