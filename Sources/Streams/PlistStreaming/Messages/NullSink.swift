// The sink that ignores everything: it validates an input, and measures a reader alone.

/// A sink that accepts every message and does nothing.
@frozen
public struct NullSink: PlistSink, Sendable {
    // PERF: inlinable, so that a reader in another package specialises to its bare scan.

    /// Nobody reads it: with `--sanitize thread` Swift 6.3 hands on a structure of no size by an address that is none.
    @usableFromInline let hasSize = true

    /// Creates the sink.
    @inlinable public init() {}

    /// Ignores the message.
    @inlinable public mutating func beginArray() throws(StreamError) {}
    /// Ignores the message.
    @inlinable public mutating func endArray() throws(StreamError) {}
    /// Ignores the message.
    @inlinable public mutating func beginDictionary() throws(StreamError) {}
    /// Ignores the message.
    @inlinable public mutating func endDictionary() throws(StreamError) {}
    /// Ignores the message.
    @inlinable public mutating func writeKey(_ utf8: RawSpan) throws(StreamError) {}
    /// Ignores the message.
    @inlinable public mutating func writeNull() throws(StreamError) {}
    /// Ignores the message.
    @inlinable public mutating func writeBool(_ value: Bool) throws(StreamError) {}
    /// Ignores the message.
    @inlinable public mutating func writeInteger(_ value: Int64) throws(StreamError) {}
    /// Ignores the message.
    @inlinable public mutating func writeUnsigned(_ value: UInt64) throws(StreamError) {}
    /// Ignores the message.
    @inlinable public mutating func writeReal(_ value: Double) throws(StreamError) {}
    /// Ignores the message.
    @inlinable public mutating func writeNumber(text: RawSpan) throws(StreamError) {}
    /// Ignores the message.
    @inlinable public mutating func writeString(_ utf8: RawSpan) throws(StreamError) {}
    /// Ignores the message.
    @inlinable public mutating func writeData(_ bytes: RawSpan) throws(StreamError) {}
    /// Ignores the message.
    @inlinable public mutating func writeDate(secondsSince2001 seconds: Double) throws(StreamError) {}
}
