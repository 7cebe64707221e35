// The short ways between the readers, sinks and values of this package, which go through memory instead of messages.
// This file owns the handles; what is behind them belongs to PlistBuilding. Outside the package they are opaque: nobody
// there can lend memory, borrow it, or keep what was lent.

/// The ways through memory that a sink of this package has besides messages.
///
/// A reader stores the members of records where a builder wants them, and a writer reads values where they lie; the result is
/// the same as that of messages. Only the readers, builders and writers of this package can make or use a port; a sink
/// that is written elsewhere has none, and gets messages.
@safe
public struct MemoryPort {
    /// Lends memory to a reader, or takes what the reader has stored; called with the address of the sink.
    @usableFromInline package typealias Lend = (UnsafeMutableRawPointer) throws(StreamError) -> RecordPort?
    @usableFromInline package typealias Take = (UnsafeMutableRawPointer) throws(StreamError) -> Void
    /// Writes a value from where it lies; called with the address of the sink. False when the sink wants messages.
    @usableFromInline
    package typealias Write = (UnsafeMutableRawPointer, ValuePort) throws(StreamError) -> Bool

    /// The type of the sinks whose addresses the functions take, which is looked at before they are called.
    @usableFromInline let sink: ObjectIdentifier
    @usableFromInline let records: (begin: Lend, end: Take)?
    @usableFromInline let arrays: (begin: Lend, end: Take)?
    @usableFromInline let write: Write?

    // PERF: JSONRecords; inlinable, so that a reader calls the functions themselves where it knows the sink.
    /// Makes the port of a builder.
    @inlinable
    package init<Sink: PlistSink & ~Copyable>(
        lendingOf type: Sink.Type, records: (begin: Lend, end: Take), arrays: (begin: Lend, end: Take)?
    ) {
        sink = ObjectIdentifier(type)
        unsafe self.records = unsafe records
        unsafe self.arrays = unsafe arrays
        unsafe write = nil
    }

    /// Makes the port of a writer.
    @inlinable
    package init<Sink: PlistSink & ~Copyable>(writingOf type: Sink.Type, _ write: @escaping Write) {
        sink = ObjectIdentifier(type)
        unsafe records = nil
        unsafe arrays = nil
        unsafe self.write = unsafe write
    }
}

/// A handle to memory into which a reader stores the plain members of records, instead of sending messages for them.
@unsafe @usableFromInline
package struct RecordPort {
    /// The address of the state, which belongs to the sink.
    package let state: UnsafeMutableRawPointer

    package init(_ state: UnsafeMutableRawPointer) { unsafe self.state = unsafe state }
}

/// A handle to a value of a bound type, which a writer may read from memory instead of taking messages for it.
@unsafe @usableFromInline
package struct ValuePort {
    /// The address of the description, which is valid during the call.
    package let source: UnsafeRawPointer

    package init(_ source: UnsafeRawPointer) { unsafe self.source = unsafe source }
}

extension PlistSink where Self: ~Copyable {
    /// No port: all comes as messages.
    @inlinable
    public static var memoryPort: MemoryPort? { nil }

    // PERF: JSONRecords; inlinable, so that nothing of this is left in a reader that is specialised for another sink.
    /// The port, if it is this type's own: one of another type takes other addresses.
    @inlinable @inline(__always)
    static var ownPort: MemoryPort? {
        guard let port = memoryPort, port.sink == ObjectIdentifier(Self.self) else { return nil }
        return port
    }

    /// Lends the memory of the dictionaries to come; nil when all members are to come as messages.
    ///
    /// A reader asks at the beginning of a dictionary. It may then store members itself, and calls ``endRecords()``
    /// instead of sending the messages that these members stand for.
    @inlinable @inline(__always)
    package mutating func beginRecords() throws(StreamError) -> RecordPort? {
        guard let records = unsafe Self.ownPort?.records else { return nil }
        // SAFETY: the functions of a type's own port take the address of a sink of the type, during the call.
        return try unsafe withUnsafeMutablePointer(to: &self) { (sink) throws(StreamError) in
            try unsafe records.begin(UnsafeMutableRawPointer(sink))
        }
    }

    /// Takes the dictionaries that a reader has stored since ``beginRecords()``; the last one may still be open.
    @inlinable @inline(__always)
    package mutating func endRecords() throws(StreamError) {
        guard let records = unsafe Self.ownPort?.records else { return }
        // SAFETY: see beginRecords.
        try unsafe withUnsafeMutablePointer(to: &self) { (sink) throws(StreamError) in
            try unsafe records.end(UnsafeMutableRawPointer(sink))
        }
    }

    /// Lends memory for the arrays to come in an array; nil when they are to come as messages.
    ///
    /// A reader asks at the beginning of an array. It may then make some arrays itself, and calls ``endArrays()`` instead
    /// of sending the messages that these arrays stand for.
    @inlinable @inline(__always)
    package mutating func beginArrays() throws(StreamError) -> RecordPort? {
        guard let arrays = unsafe Self.ownPort?.arrays else { return nil }
        // SAFETY: see beginRecords.
        return try unsafe withUnsafeMutablePointer(to: &self) { (sink) throws(StreamError) in
            try unsafe arrays.begin(UnsafeMutableRawPointer(sink))
        }
    }

    /// Takes the arrays that a reader has made since ``beginArrays()``.
    @inlinable @inline(__always)
    package mutating func endArrays() throws(StreamError) {
        guard let arrays = unsafe Self.ownPort?.arrays else { return }
        // SAFETY: see beginRecords.
        try unsafe withUnsafeMutablePointer(to: &self) { (sink) throws(StreamError) in
            try unsafe arrays.end(UnsafeMutableRawPointer(sink))
        }
    }

    /// Writes a value of a bound type from where it lies in memory; false when the sink wants messages.
    @inlinable @inline(__always)
    package mutating func writeValue(_ port: ValuePort) throws(StreamError) -> Bool {
        guard let write = unsafe Self.ownPort?.write else { return false }
        // SAFETY: see beginRecords.
        return try unsafe withUnsafeMutablePointer(to: &self) { (sink) throws(StreamError) in
            try unsafe write(UnsafeMutableRawPointer(sink), port)
        }
    }
}
