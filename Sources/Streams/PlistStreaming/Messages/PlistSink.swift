// The protocol of the messages that every reader sends and every builder and writer receives.
// This file defines the messages and their order. `MessageGrammar` checks the order, and `EventTrace` prints the messages.

/// A receiver of the messages that describe a property list piece by piece.
///
/// A reader is generic over its sink and sends messages while it scans. A builder converts them to values, and a writer
/// to bytes. You can therefore combine any reader with any sink, without intermediate storage.
///
/// The legal order of messages is this grammar:
///
///     stream     = value*
///     value      = scalar | array | dictionary
///     scalar     = writeNull | writeBool | writeInteger | writeUnsigned | writeReal | writeNumber
///                | writeString | writeData | writeDate
///     array      = beginArray value* endArray
///     dictionary = beginDictionary ( writeKey value )* endDictionary
///
/// A stream has one value, except in formats that are sequences of values, such as JSON lines.
///
/// A reader guarantees:
/// - It never violates the grammar, even for bad input. After an error of the reader or the sink, it calls
///   ``cancel(with:)`` and sends nothing more, so the sent messages are a prefix of a legal stream.
/// - Keys and strings are valid UTF-8, complete, and unescaped. A sink may rely on this for correctness, but must stay
///   memory-safe without it.
/// - A number is sent with the first message that represents it exactly: `writeInteger`, `writeUnsigned` (from 2^63 up),
///   `writeReal` (a decimal fraction is rounded to the nearest double), `writeNumber` for all other numbers. A double is not
///   used if rounding it again would give another result than rounding the number. This is the case if the double is not
///   exactly the number, and either has no fraction, up to 2^64, or has only the digits of a `Float`. An example is
///   `9007199254740993.0`.
/// - Keys may be repeated within a dictionary, and are sent unchanged. The sink decides how to handle a repeated key:
///   builders keep the last value by default, and ``UniqueKeys`` refuses repeated keys.
///
/// A sink may:
/// - Refuse a message by throwing. The reader adds the position of the value, sends nothing more, and throws the same
///   error to its caller.
/// - Stop the stream by throwing ``StreamError/stopRequest()``, an error of the kind `stopRequested`.
///
/// A sink must not keep spans: their bytes are valid only during the call.
///
/// A sink must stay memory-safe for messages outside the grammar. Writers throw an error of the
/// kind `misuse`. Builders throw it if a message is not allowed at its position, and otherwise may omit incomplete values, such
/// as a key without a value. To check the messages of your own code, use a ``MessageGrammar``.
///
/// Use readers, sinks and writers from one thread or task at a time. Each separate stream needs a separate sink.
///
/// A conforming type may be noncopyable, and may be a class: then the methods need no `mutating`.
public protocol PlistSink: ~Copyable {
    /// Opens an array.
    mutating func beginArray() throws(StreamError)
    /// Closes the innermost container, which is an array.
    mutating func endArray() throws(StreamError)
    /// Opens a dictionary.
    mutating func beginDictionary() throws(StreamError)
    /// Closes the innermost container, which is a dictionary.
    mutating func endDictionary() throws(StreamError)
    /// Names the value that follows in the innermost dictionary.
    ///
    /// - Parameter utf8: The unescaped key; valid UTF-8, valid during the call.
    mutating func writeKey(_ utf8: RawSpan) throws(StreamError)
    /// Sends the null value.
    mutating func writeNull() throws(StreamError)
    /// Sends a Boolean value.
    mutating func writeBool(_ value: Bool) throws(StreamError)
    /// Sends an integer between -2^63 and 2^63 - 1.
    mutating func writeInteger(_ value: Int64) throws(StreamError)
    /// Sends an unsigned integer. Readers send only integers above 2^63 - 1.
    mutating func writeUnsigned(_ value: UInt64) throws(StreamError)
    /// Sends a floating-point number. It is finite in JSON, and may be infinite or NaN in property lists.
    mutating func writeReal(_ value: Double) throws(StreamError)
    /// Sends the text of a number that neither a 64-bit integer nor a finite double can represent.
    ///
    /// - Parameter text: A number in the grammar of RFC 8259 section 6, ASCII; valid during the call.
    mutating func writeNumber(text: RawSpan) throws(StreamError)
    /// Sends a string.
    ///
    /// - Parameter utf8: The unescaped string; valid UTF-8, valid during the call.
    mutating func writeString(_ utf8: RawSpan) throws(StreamError)
    /// Sends a block of bytes.
    ///
    /// - Parameter bytes: The bytes; valid during the call.
    mutating func writeData(_ bytes: RawSpan) throws(StreamError)
    /// Sends a point in time.
    ///
    /// - Parameter seconds: Seconds since 2001-01-01 00:00:00 UTC, negative before.
    mutating func writeDate(secondsSince2001 seconds: Double) throws(StreamError)

    /// Called when an error ends the stream early.
    ///
    /// Builders of this package discard their values and are empty: the next message begins a new stream. If you send
    /// messages yourself and stop before the end, call this function. If your sink forwards messages, forward this call,
    /// too.
    ///
    /// - Parameter error: The error that ended the stream, which may be a request to stop.
    mutating func cancel(with error: StreamError)

    /// Receives the names of the columns before the array of records, even if the array is empty.
    ///
    /// Readers of tables, such as CSV and SQLite, call this function. It is not a message of the grammar. By default, a sink
    /// ignores it. If your sink forwards messages, forward this call, too.
    mutating func expectColumns(_ names: [String]) throws(StreamError)

    /// A Boolean value that indicates whether the dictionaries that this sink receives are records with columns, so that
    /// members that are nil should be sent as null. False by default.
    static var hasColumns: Bool { get }

    /// Calls a closure with this sink, or with an equivalent sink, if it has the given type.
    ///
    /// A format specializes its reader for the usual builders in its own module:
    ///
    /// ```swift
    /// let isKnown = try sink.withSelf(as: ValueBuilder.self) { (builder) throws(StreamError) in
    ///     try scan(bytes, into: &builder)
    /// }
    /// if isKnown { return }
    /// ```
    /// - Returns: True after the call; false, without a call, for another type. The default compares the type of the sink.
    mutating func withSelf<Known: PlistSink & ~Copyable>(
        as type: Known.Type, _ body: (inout Known) throws(StreamError) -> Void
    ) throws(StreamError) -> Bool

    /// The port to the memory of a sink in this package; nil for all other sinks.
    static var memoryPort: MemoryPort? { get }
}

extension PlistSink where Self: ~Copyable {
    /// Does nothing.
    @inlinable
    public mutating func expectColumns(_ names: [String]) throws(StreamError) {}

    /// False by default.
    @inlinable
    public static var hasColumns: Bool { false }

    /// Calls a closure with this sink if it has the given type.
    @inlinable
    public mutating func withSelf<Known: PlistSink & ~Copyable>(
        as type: Known.Type, _ body: (inout Known) throws(StreamError) -> Void
    ) throws(StreamError) -> Bool {
        guard ObjectIdentifier(Self.self) == ObjectIdentifier(type) else { return false }
        // SAFETY: the types are the same, and the address is that of this sink during the call.
        try unsafe withUnsafeMutablePointer(to: &self) { (sink) throws(StreamError) in
            try body(&(unsafe UnsafeMutableRawPointer(sink).assumingMemoryBound(to: Known.self).pointee))
        }
        return true
    }

    /// Does nothing: the sink keeps the received messages as if no error had occurred.
    @inlinable
    public mutating func cancel(with error: StreamError) {}

    // PERF: JSONWriter/records; the bytes of a literal are passed directly, while those of a `String` need a copy and a
    // closure.
    /// Names the value that follows in the innermost dictionary by a literal, as in `sink.writeKey("name")`.
    ///
    /// - Throws: The errors of ``writeKey(_:)-(RawSpan)``.
    @inlinable @inline(__always)
    public mutating func writeKey(_ key: StaticString) throws(StreamError) {
        if key.hasPointerRepresentation {
            // SAFETY: the bytes of a literal live as long as the program.
            try writeKey(unsafe UnsafeRawBufferPointer(start: key.utf8Start, count: key.utf8CodeUnitCount).bytes)
        } else {
            try String(key.unicodeScalar).withUTF8Span { (span) throws(StreamError) in try writeKey(span) }
        }
    }
}
