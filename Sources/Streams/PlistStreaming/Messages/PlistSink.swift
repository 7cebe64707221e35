// The message protocol that every reader sends and every builder and writer receives.
// This file owns the messages and their legal order; `MessageGrammar` checks that order, `EventTrace` shows it.

/// A receiver of the messages that spell out a property list one piece at a time.
///
/// A reader is generic over its sink and sends messages while it scans; a builder turns them into values, a writer
/// into bytes. Any reader therefore feeds any sink, and nothing is held in between.
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
/// What a reader promises:
/// - It never sends a sequence outside the grammar, even for bad input. After an error, its own or the sink's, it calls
///   ``cancel(with:)`` and sends nothing more, so what was sent is a prefix of a legal stream.
/// - Keys and strings are valid UTF-8, whole, and unescaped. A sink may rely on that for correctness, but must stay
///   memory-safe without it.
/// - A number goes by the first message that holds it exactly: `writeInteger`, `writeUnsigned` (from 2^63 up),
///   `writeReal` (a decimal fraction is rounded to the nearest double), `writeNumber` for what is left. A double is none
///   where rounding it again would give another result than rounding the number: where it has no fraction, up to 2^64, or
///   the digits of a `Float`, and is not the number exactly, as for `9007199254740993.0`.
/// - Keys may repeat within a dictionary; they are sent as found. What a repeated key means is the sink's decision;
///   builders keep the last one unless they say otherwise, and ``UniqueKeys`` refuses them.
///
/// What a sink may do:
/// - Refuse a message by throwing. The reader adds the position of the value, sends nothing more, and throws the same
///   error to its caller.
/// - Stop the stream by throwing ``StreamError/stopRequest()``, which is an error of its own kind.
/// - Keep nothing it is passed: the bytes of a span are valid only during the call.
///
/// What a sink does with messages outside the grammar: it stays memory-safe whatever comes. Writers throw an error of the
/// kind `misuse`; builders throw it where a message has no place, and otherwise may leave out what is incomplete, such as a
/// key without a value. A ``MessageGrammar`` tells a sender of its own where it went wrong.
///
/// Readers, sinks and writers are for one thread or task at a time; each stream of its own needs a sink of its own.
///
/// A conformer may be noncopyable, and may be a class: then the methods need no `mutating`.
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
    /// Sends an unsigned integer, from a reader always one above 2^63 - 1.
    mutating func writeUnsigned(_ value: UInt64) throws(StreamError)
    /// Sends a floating-point number; from JSON it is finite, from property lists it may be any.
    mutating func writeReal(_ value: Double) throws(StreamError)
    /// Sends the text of a number that neither 64-bit integers nor finite doubles stand for.
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

    /// Takes notice that the stream ends here, with an error, before its end.
    ///
    /// Builders of this package give up what they have and are empty: the next message begins a new stream. Whoever sends
    /// messages of their own and stops before the end should call it as well, and a sink that passes messages on should pass
    /// this on, too.
    ///
    /// - Parameter error: What ended the stream, a request to stop included.
    mutating func cancel(with error: StreamError)

    /// Receives the names of the columns before the array of records that have them, also if there are no records.
    ///
    /// Readers of tables call it, such as those of CSV and SQLite. It is no message: a sink that needs no names ignores it, which is the
    /// default, and one that passes messages on passes this on as well.
    mutating func expectColumns(_ names: [String]) throws(StreamError)

    /// A Boolean value that indicates whether the dictionaries that this sink receives are records with columns, so that members
    /// that are nil should be sent as null. False by default.
    static var hasColumns: Bool { get }

    /// Calls a closure with this sink, or with an equivalent sink, if it has the given type.
    ///
    /// A format specializes its reader for the usual builders in its own module:
    ///
    /// ```swift
    /// if try sink.withSelf(as: ValueBuilder.self, { (builder) throws(StreamError) in try scan(bytes, into: &builder) }) { return }
    /// ```
    /// - Returns: True after the call; false, without a call, for another type. The default compares the type of the sink.
    mutating func withSelf<Known: PlistSink & ~Copyable>(
        as type: Known.Type, _ body: (inout Known) throws(StreamError) -> Void
    ) throws(StreamError) -> Bool

    /// The ways through memory that a sink of this package has besides messages; nil for all others.
    static var memoryPort: MemoryPort? { get }
}

extension PlistSink where Self: ~Copyable {
    /// Does nothing.
    @inlinable
    public mutating func expectColumns(_ names: [String]) throws(StreamError) {}

    /// False.
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

    /// Does nothing: what has come is the sink's, as when there was no error.
    @inlinable
    public mutating func cancel(with error: StreamError) {}

    // PERF: JSONWriter/records; a literal is passed where it lies, while the bytes of a `String` are a copy and a closure.
    /// Names the value that follows in the innermost dictionary by a literal, as in `sink.writeKey("name")`.
    ///
    /// - Throws: What ``writeKey(_:)-(RawSpan)`` throws.
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
