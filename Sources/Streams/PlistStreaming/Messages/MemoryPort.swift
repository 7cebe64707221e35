// The short ways between the readers, sinks and values of this package, which go through memory instead of messages.
// This file owns the handles; what is behind them belongs to PlistBuilding. Outside the package they are opaque: nobody
// there can lend memory, borrow it, or keep what was lent.
//
// The port is a requirement of `PlistSink`, although no one outside can do anything with it: readers are generic over all
// sinks, and find it in the conformance that they are specialised for. A protocol of this package that refines `PlistSink`
// could be found by a dynamic cast only, which sinks that are not copied do not allow, and which is not specialised.

/// The ways through memory that a sink of this package has besides messages.
///
/// A reader stores the members of records where a builder wants them, and a writer reads values where they lie; the result is
/// the same as that of messages. Only the readers, builders and writers of this package can make or use a port; a sink
/// that is written elsewhere has none, and gets messages.
@safe
public struct MemoryPort {
    /// Lends memory to a reader, or takes what the reader has stored; called with the address of the sink.
    @usableFromInline
    package typealias Begin = (UnsafeMutableRawPointer, LoanKind) throws(StreamError) -> RecordPort?
    @usableFromInline package typealias End = (UnsafeMutableRawPointer) throws(StreamError) -> Void
    /// Writes a value from where it lies; called with the address of the sink. False when the sink wants messages.
    @usableFromInline
    package typealias Write = (UnsafeMutableRawPointer, ValuePort) throws(StreamError) -> Bool
    /// Says what value is expected next; called with the address of the sink.
    @usableFromInline package typealias Expected = (UnsafeMutableRawPointer) -> ExpectedValue
    /// Compares the names of columns with those that the sink wants; called with the address of the sink.
    @usableFromInline package typealias CheckHeader = (UnsafeMutableRawPointer, [String]) -> NameProblem?
    /// Says which names in dictionaries to compare; called with the address of the sink.
    @usableFromInline package typealias WatchNames = (UnsafeMutableRawPointer, NameWatch) -> Void

    /// The type of the sinks whose addresses the functions take, which is looked at before they are called.
    @usableFromInline let sink: ObjectIdentifier
    @usableFromInline let loan: (begin: Begin, end: End)?
    @usableFromInline let write: Write?
    @usableFromInline let expected: Expected?
    @usableFromInline let names: (check: CheckHeader, watch: WatchNames)?

    // PERF: JSONRecords; inlinable, so that a reader calls the functions themselves where it knows the sink.
    /// Makes the port of a builder.
    @inlinable
    package init<Sink: PlistSink & ~Copyable>(
        lendingOf type: Sink.Type, begin: @escaping Begin, end: @escaping End, expected: @escaping Expected,
        checkHeader: @escaping CheckHeader, watchNames: @escaping WatchNames
    ) {
        sink = ObjectIdentifier(type)
        unsafe loan = unsafe (begin, end)
        unsafe write = nil
        unsafe self.expected = unsafe expected
        unsafe names = unsafe (checkHeader, watchNames)
    }

    /// Makes the port of a sink that only says what it expects.
    package init<Sink: PlistSink & ~Copyable>(expectationsOf type: Sink.Type, _ expected: @escaping Expected) {
        sink = ObjectIdentifier(type)
        unsafe loan = nil
        unsafe write = nil
        unsafe self.expected = unsafe expected
        unsafe names = nil
    }

    /// Makes the port of a writer.
    @inlinable
    package init<Sink: PlistSink & ~Copyable>(writingOf type: Sink.Type, _ write: @escaping Write) {
        sink = ObjectIdentifier(type)
        unsafe loan = nil
        unsafe self.write = unsafe write
        unsafe (expected, names) = (nil, nil)
    }
}

/// What is wrong with one of some names.
@usableFromInline
package struct NameProblem {
    /// The index of the name.
    package let index: Int
    package let message: String

    package init(index: Int, message: String) { (self.index, self.message) = (index, message) }
}

/// Which names in dictionaries a sink compares with those that it wants, and whether an array goes on.
@usableFromInline
package enum NameWatch {
    case none, all
    /// All names. The open dictionary is an element that has only attributes, like an empty list.
    case attributesOnly
    /// As before. The array that comes next holds more elements of the one that came with the same key.
    case continuedArray
}

/// What memory is lent for.
@usableFromInline
package enum LoanKind: UInt8, Sendable {
    /// Dictionaries whose members are stored where the builder wants them, the first of which begins.
    case records
    /// Arrays that follow each other in an array, the first of which begins.
    case arrays
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

    /// Lends memory for the dictionaries or arrays to come; nil when they are to come as messages.
    ///
    /// A reader asks where the first of them begins. It then stores that one and others behind it, or as much of it as it can,
    /// and calls ``endLoan()`` instead of sending the messages that these stand for: before any other message, and also
    /// when it ends with an error.
    @inlinable @inline(__always)
    package mutating func beginLoan(of kind: LoanKind) throws(StreamError) -> RecordPort? {
        guard let loan = unsafe Self.ownPort?.loan else { return nil }
        // SAFETY: the functions of a type's own port take the address of a sink of the type, during the call.
        return try unsafe withUnsafeMutablePointer(to: &self) { (sink) throws(StreamError) in
            try unsafe loan.begin(UnsafeMutableRawPointer(sink), kind)
        }
    }

    /// Takes what a reader has stored since ``beginLoan(of:)``; the last dictionary may still be open.
    ///
    /// - Throws: `misuse` without a loan, and when more is said to be stored than there was memory for.
    @inlinable @inline(__always)
    package mutating func endLoan() throws(StreamError) {
        guard let loan = unsafe Self.ownPort?.loan else { return }
        // SAFETY: see beginLoan.
        try unsafe withUnsafeMutablePointer(to: &self) { (sink) throws(StreamError) in
            try unsafe loan.end(UnsafeMutableRawPointer(sink))
        }
    }

    // Both tell a sink of names, so that a value of which nothing comes is no value of defaults; other sinks take any names.

    /// Finds what is wrong with the names of columns, whose records are the values to come.
    @inlinable
    package mutating func problem(ofHeader names: [String]) -> NameProblem? {
        guard let check = unsafe Self.ownPort?.names?.check else { return nil }
        // SAFETY: see beginLoan.
        return unsafe withUnsafeMutablePointer(to: &self) { sink in unsafe check(UnsafeMutableRawPointer(sink), names) }
    }

    /// Says which dictionaries to refuse because no name is that of a member, or one nearly is.
    @inlinable
    package mutating func watchNames(_ names: NameWatch) {
        guard let watch = unsafe Self.ownPort?.names?.watch else { return }
        // SAFETY: see beginLoan.
        unsafe withUnsafeMutablePointer(to: &self) { sink in unsafe watch(UnsafeMutableRawPointer(sink), names) }
    }

    /// Writes a value of a bound type from where it lies in memory; false when the sink wants messages.
    @inlinable @inline(__always)
    package mutating func writeValue(_ port: ValuePort) throws(StreamError) -> Bool {
        guard let write = unsafe Self.ownPort?.write else { return false }
        // SAFETY: see beginLoan.
        return try unsafe withUnsafeMutablePointer(to: &self) { (sink) throws(StreamError) in
            try unsafe write(UnsafeMutableRawPointer(sink), port)
        }
    }
}
