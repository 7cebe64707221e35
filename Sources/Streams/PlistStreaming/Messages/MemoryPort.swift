// The fast paths between the readers, sinks and values of this package, which use shared memory instead of messages.
// This file owns the handles, and PlistBuilding owns the types behind them. Outside the package the handles are opaque: other
// code can neither provide, use nor keep the memory.
//
// The port is a requirement of `PlistSink`, although other packages can't use it. Readers are generic over all sinks, and find
// the port in the conformance that they are specialized for. A protocol of this package that refines `PlistSink` could only be
// found with a dynamic cast, which noncopyable sinks don't support, and which is not specialized.

/// The functions of a sink in this package that use shared memory instead of messages.
///
/// A reader stores the members of records in memory of a builder, and a writer reads values directly from their memory. The
/// result is the same as with messages. Only the readers, builders and writers of this package can create or use a port. All
/// other sinks have no port, and get messages.
@safe
public struct MemoryPort {
    /// Provides memory to a reader, or accepts the stored records. It is called with the address of the sink.
    @usableFromInline
    package typealias Begin = (UnsafeMutableRawPointer, RecordBufferKind) throws(StreamError) -> RecordPort?
    @usableFromInline package typealias End = (UnsafeMutableRawPointer) throws(StreamError) -> Void
    /// Writes a value directly from its memory. It is called with the address of the sink, and returns false if the sink needs
    /// messages.
    @usableFromInline
    package typealias Write = (UnsafeMutableRawPointer, ValuePort) throws(StreamError) -> Bool
    /// Returns the next expected value. It is called with the address of the sink.
    @usableFromInline package typealias Expected = (UnsafeMutableRawPointer) -> ExpectedValue
    /// Compares the names of columns with the names of members. It is called with the address of the sink.
    @usableFromInline package typealias CheckHeader = (UnsafeMutableRawPointer, [String]) -> NameProblem?
    /// Selects the dictionaries whose names are compared. It is called with the address of the sink.
    @usableFromInline package typealias WatchNames = (UnsafeMutableRawPointer, NameWatch) -> Void

    /// The type of the sinks whose addresses the functions accept. It is checked before each call.
    @usableFromInline let sink: ObjectIdentifier
    @usableFromInline let recordBuffer: (begin: Begin, end: End)?
    @usableFromInline let write: Write?
    @usableFromInline let expected: Expected?
    @usableFromInline let names: (check: CheckHeader, watch: WatchNames)?

    // PERF: JSONRecords; inlinable, so that a reader calls the functions directly if it knows the sink.
    /// Creates the port of a builder.
    @inlinable
    package init<Sink: PlistSink & ~Copyable>(
        recordBuffersOf type: Sink.Type, begin: @escaping Begin, end: @escaping End, expected: @escaping Expected,
        checkHeader: @escaping CheckHeader, watchNames: @escaping WatchNames
    ) {
        sink = ObjectIdentifier(type)
        unsafe recordBuffer = unsafe (begin, end)
        unsafe write = nil
        unsafe self.expected = unsafe expected
        unsafe names = unsafe (checkHeader, watchNames)
    }

    /// Creates the port of a sink that only returns expected values.
    package init<Sink: PlistSink & ~Copyable>(expectationsOf type: Sink.Type, _ expected: @escaping Expected) {
        sink = ObjectIdentifier(type)
        unsafe recordBuffer = nil
        unsafe write = nil
        unsafe self.expected = unsafe expected
        unsafe names = nil
    }

    /// Creates the port of a writer.
    @inlinable
    package init<Sink: PlistSink & ~Copyable>(writingOf type: Sink.Type, _ write: @escaping Write) {
        sink = ObjectIdentifier(type)
        unsafe recordBuffer = nil
        unsafe self.write = unsafe write
        unsafe (expected, names) = (nil, nil)
    }
}

/// A problem with one of several names.
@usableFromInline
package struct NameProblem {
    /// The index of the name.
    package let index: Int
    package let message: String

    package init(index: Int, message: String) { (self.index, self.message) = (index, message) }
}

/// The dictionaries whose names a sink compares with those of its members, and whether an array continues.
@usableFromInline
package enum NameWatch {
    case none, all
    /// All names are compared. The open dictionary is an element that has only attributes, like an empty list.
    case attributesOnly
    /// The names are unchanged. The next array contains more elements of the earlier array with the same key.
    case continuedArray
}

/// The contents of provided memory.
@usableFromInline
package enum RecordBufferKind: UInt8, Sendable {
    /// Dictionaries whose members are stored in memory of the builder. The first one begins.
    case records
    /// Consecutive arrays in an array. The first one begins.
    case arrays
}

/// A handle to memory where a reader stores the plain members of records, instead of sending messages for them.
@unsafe @usableFromInline
package struct RecordPort {
    /// The address of the state, which belongs to the sink.
    package let state: UnsafeMutableRawPointer

    package init(_ state: UnsafeMutableRawPointer) { unsafe self.state = unsafe state }
}

/// A handle to a value of a bound type, which a writer can read from memory instead of receiving messages.
@unsafe @usableFromInline
package struct ValuePort {
    /// The address of the description, which is valid during the call.
    package let source: UnsafeRawPointer

    package init(_ source: UnsafeRawPointer) { unsafe self.source = unsafe source }
}

extension PlistSink where Self: ~Copyable {
    /// Nil: the sink receives only messages.
    @inlinable
    public static var memoryPort: MemoryPort? { nil }

    // PERF: JSONRecords; inlinable, so that a reader that is specialized for another sink contains no code of this.
    /// The port, or nil if it belongs to another type, because its functions would expect other addresses.
    @inlinable @inline(__always)
    static var ownPort: MemoryPort? {
        guard let port = memoryPort, port.sink == ObjectIdentifier(Self.self) else { return nil }
        return port
    }

    /// Provides memory for the next dictionaries or arrays, or returns nil if they must be sent as messages.
    ///
    /// A reader calls this at the beginning of the first of them. It then stores that one and the following ones, or as much of
    /// it as possible, and calls ``endRecordBuffer()`` instead of sending their messages. It must call ``endRecordBuffer()``
    /// before any other message, and also if it ends with an error.
    @inlinable @inline(__always)
    package mutating func beginRecordBuffer(of kind: RecordBufferKind) throws(StreamError) -> RecordPort? {
        guard let recordBuffer = unsafe Self.ownPort?.recordBuffer else { return nil }
        // SAFETY: the functions of a type's own port take the address of a sink of the type, during the call.
        return try unsafe withUnsafeMutablePointer(to: &self) { (sink) throws(StreamError) in
            try unsafe recordBuffer.begin(UnsafeMutableRawPointer(sink), kind)
        }
    }

    /// Accepts the records that a reader has stored since ``beginRecordBuffer(of:)``. The last dictionary may still be open.
    ///
    /// - Throws: `misuse` without ``beginRecordBuffer(of:)``, and if the reported size exceeds the provided memory.
    @inlinable @inline(__always)
    package mutating func endRecordBuffer() throws(StreamError) {
        guard let recordBuffer = unsafe Self.ownPort?.recordBuffer else { return }
        // SAFETY: see beginRecordBuffer.
        try unsafe withUnsafeMutablePointer(to: &self) { (sink) throws(StreamError) in
            try unsafe recordBuffer.end(UnsafeMutableRawPointer(sink))
        }
    }

    // Both functions pass names to a sink, so that a value without any known member is an error instead of a value of defaults.
    // Other sinks accept any names.

    /// Finds a problem in the names of the columns of the next values, which are records.
    @inlinable
    package mutating func problem(ofHeader names: [String]) -> NameProblem? {
        guard let check = unsafe Self.ownPort?.names?.check else { return nil }
        // SAFETY: see beginRecordBuffer.
        return unsafe withUnsafeMutablePointer(to: &self) { sink in unsafe check(UnsafeMutableRawPointer(sink), names) }
    }

    /// Selects the dictionaries that are refused if no name is a member, or if a name is similar to a member.
    @inlinable
    package mutating func watchNames(_ names: NameWatch) {
        guard let watch = unsafe Self.ownPort?.names?.watch else { return }
        // SAFETY: see beginRecordBuffer.
        unsafe withUnsafeMutablePointer(to: &self) { sink in unsafe watch(UnsafeMutableRawPointer(sink), names) }
    }

    /// Writes a value of a bound type directly from its memory, or returns false if the sink needs messages.
    @inlinable @inline(__always)
    package mutating func writeValue(_ port: ValuePort) throws(StreamError) -> Bool {
        guard let write = unsafe Self.ownPort?.write else { return false }
        // SAFETY: see beginRecordBuffer.
        return try unsafe withUnsafeMutablePointer(to: &self) { (sink) throws(StreamError) in
            try unsafe write(UnsafeMutableRawPointer(sink), port)
        }
    }
}
