// The short way between a reader and a builder of this package: memory for whole records of plain members.
// This file owns the handle and what sinks without such memory do; what is behind it belongs to PlistBuilding.

/// A handle to memory into which a reader stores the plain members of records, instead of sending messages for them.
///
/// Only the readers and builders of this package know what is behind it. A sink that has none, like every sink that is
/// written elsewhere, gets the messages of ``PlistSink``; the result is the same.
@safe
public struct RecordPort {
    /// The address of the state, which belongs to the sink.
    package let state: UnsafeMutableRawPointer

    package init(_ state: UnsafeMutableRawPointer) { unsafe self.state = state }
}

extension PlistSink where Self: ~Copyable {
    // PERF: inlinable, so that nothing of this is left in a reader that is specialised for such a sink.
    /// Lends no memory: all members come as messages.
    @inlinable
    public mutating func beginRecords() throws(StreamError) -> RecordPort? { nil }

    /// Takes nothing, since there was no memory.
    @inlinable
    public mutating func endRecords() throws(StreamError) {}

    /// Lends no memory for arrays: they come as messages.
    @inlinable
    public mutating func beginArrays() throws(StreamError) -> RecordPort? { nil }

    /// Takes nothing, since there was no memory.
    @inlinable
    public mutating func endArrays() throws(StreamError) {}
}
