// The door to imports: a sink that any reader fills. `ImportMachine` stages the records, `ImportNode` writes them.

import PlistStreaming
import SQLiteStreaming

/// A sink that imports records into related tables: inserts those that are new, updates those that differ, and leaves the
/// others alone.
///
/// ```swift
/// var importer = try Importer(people, into: connection)
/// try importer.readJSON(.file("people.json"))
/// let report = try importer.finish()
/// print(report.insertedCount, report.updatedCount, report.unchangedCount)
/// ```
///
/// The stream is an array of dictionaries, one dictionary, or a sequence of dictionaries, as in JSON lines. Records are
/// staged in memory and written in batches, each of which is atomic: a transaction, or a savepoint when the caller has one
/// open. Nothing else of the input is held. For each batch and table one upsert reads the staged records as a virtual table,
/// inserts those that are new and updates those that differ. Where an upsert would do more than that, as in tables with
/// triggers, one statement finds the rows that are there and compares them, one inserts the others, and each row that differs
/// is updated. So importing the same records again writes nothing, and an import that was killed is run again, or goes on
/// where it was when ``ImportOptions/progress`` names it.
///
/// The result is that of records written one after another, whatever the size of the batches. Of records with one key the later
/// one updates the earlier one. A child that one record gives up and a later one takes is an orphan in between, so that
/// ``ImportRelationship/Policy/replace`` deletes it and inserts it again; one that is taken before it is given up just moves.
/// Foreign keys are checked at the end of each batch, so that within one records may come in any order. A record that refers
/// to one of a later batch waits for it, and is written at the end; it fails when what it refers to does not come.
///
/// Sources: the articles on importing JSON with unique constraints (batches of 256, one look-up a batch, upsert);
/// https://sqlite.org/vtab.html
@safe
public struct Importer: PlistSink, ~Copyable {
    // SAFETY: allocated and initialized by the initializer, freed by the deinitializer; no one else has the address.
    private let machine: UnsafeMutablePointer<ImportMachine>

    /// Prepares an import.
    ///
    /// - Throws: `schema` when a table is missing or differs from its declaration; `misuse` when a declaration contradicts
    ///   itself.
    public init(
        _ table: ImportTable, into connection: SQLiteConnection, options: ImportOptions = ImportOptions()
    ) throws(SQLiteError) {
        let made = try ImportMachine(table, connection: connection, options: options)
        unsafe machine = .allocate(capacity: 1)
        unsafe machine.initialize(to: made)
    }

    deinit {
        unsafe machine.pointee.end()
        unsafe machine.deinitialize(count: 1)
        unsafe machine.deallocate()
    }

    /// What was imported so far: what is in committed batches.
    public var report: ImportReport { unsafe machine.pointee.report }

    /// Writes the last batch and ends the import.
    ///
    /// - Throws: What writing a batch throws; `unexpectedEnd` within a record; `missingMember` when nothing is at the root
    ///   path.
    @discardableResult
    public mutating func finish() throws(StreamError) -> ImportReport { try unsafe machine.pointee.finish() }

    /// Opens an array: the records, or the children of one.
    public mutating func beginArray() throws(StreamError) { try unsafe machine.pointee.beginArray() }
    /// Closes an array.
    public mutating func endArray() throws(StreamError) { try unsafe machine.pointee.endArray() }
    /// Opens a record.
    public mutating func beginDictionary() throws(StreamError) { try unsafe machine.pointee.beginDictionary() }
    /// Closes a record; the last one of a batch writes it.
    ///
    /// - Throws: `missingMember` when a required member is absent; `cannotWrite` with the ``/SQLiteStreaming/SQLiteError`` as its cause.
    public mutating func endDictionary() throws(StreamError) { try unsafe machine.pointee.endDictionary() }
    /// Names a member.
    public mutating func writeKey(_ utf8: RawSpan) throws(StreamError) { try unsafe machine.pointee.writeKey(utf8) }
    /// Stages null.
    public mutating func writeNull() throws(StreamError) { try unsafe machine.pointee.write(.null) }
    /// Stages a Boolean.
    public mutating func writeBool(_ value: Bool) throws(StreamError) { try unsafe machine.pointee.write(.bool(value)) }
    /// Stages an integer.
    public mutating func writeInteger(_ value: Int64) throws(StreamError) {
        try unsafe machine.pointee.write(.integer(value))
    }
    /// Stages an integer above 2^63 - 1, which only text holds, and reals those that are exact.
    public mutating func writeUnsigned(_ value: UInt64) throws(StreamError) {
        try unsafe machine.pointee.write(.unsigned(value))
    }
    /// Stages a real.
    public mutating func writeReal(_ value: Double) throws(StreamError) {
        try unsafe machine.pointee.write(.real(value))
    }
    /// Stages a number that only text holds.
    public mutating func writeNumber(text: RawSpan) throws(StreamError) {
        // SAFETY: the bytes are copied before the closure ends, here and below.
        try unsafe text.withUnsafeBytes { (bytes) throws(StreamError) in
            try unsafe machine.pointee.write(.number(bytes))
        }
    }
    /// Stages text.
    public mutating func writeString(_ utf8: RawSpan) throws(StreamError) {
        try unsafe utf8.withUnsafeBytes { (bytes) throws(StreamError) in
            try unsafe machine.pointee.write(.string(bytes))
        }
    }
    /// Stages a blob.
    public mutating func writeData(_ bytes: RawSpan) throws(StreamError) {
        try unsafe bytes.withUnsafeBytes { (bytes) throws(StreamError) in
            try unsafe machine.pointee.write(.data(bytes))
        }
    }
    /// Stages a date.
    public mutating func writeDate(secondsSince2001 seconds: Double) throws(StreamError) {
        try unsafe machine.pointee.write(.date(seconds))
    }
}
