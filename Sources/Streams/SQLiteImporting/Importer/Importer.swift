// The sink that any reader can send an import to. `ImportStateMachine` stages the records, and `ImportNode` writes them.

import PlistBuilding
import PlistStreaming
import SQLiteStreaming

/// A sink that imports records into related tables. It inserts new records, updates changed ones, and leaves the others
/// unchanged.
///
/// ```swift
/// var importer = try Importer(people, into: connection)
/// try importer.readJSON(.file("people.json"))
/// let report = try importer.finish()
/// print(report.insertedCount, report.updatedCount, report.unchangedCount)
/// ```
///
/// The stream is an array of dictionaries, one dictionary, or a sequence of dictionaries, as in JSON lines. Records are
/// staged in memory and written in batches. Each batch is atomic: it is a transaction, or a savepoint in the caller's
/// transaction. Only the current batch of the input is kept in memory.
///
/// For each batch and table, one upsert reads the staged records as a virtual table, inserts new records and updates changed
/// ones. If an upsert would have other effects, as in tables with triggers, separate statements are used: one finds the
/// existing rows and compares them, one inserts the others, and each changed row is updated. So importing the same records
/// again writes nothing. You can run an interrupted import again, or continue it at its last position with
/// ``ImportOptions/progress``.
///
/// For any batch size, the result is the same as if records were written one after another. If records have the same key,
/// later ones update earlier ones. If a record gives up a child and a later record has it, the child is an orphan in between,
/// so ``ImportRelationship/Policy/replace`` deletes it and inserts it again. If the order is reversed, the child only moves.
/// Foreign keys are checked at the end of each batch, so records can be in any order within a batch. A record that refers to
/// one of a later batch waits for it and is written at the end. It fails if the other record doesn't arrive.
///
/// Sources: the articles on importing JSON with unique constraints (batches of 256, one look-up for each batch, upsert);
/// https://sqlite.org/vtab.html
@safe
public struct Importer: ScalarSink, ~Copyable {
    // SAFETY: allocated and initialized by the initializer, freed by the deinitializer; the address isn't passed on.
    private let stateMachine: UnsafeMutablePointer<ImportStateMachine>

    /// Prepares an import.
    ///
    /// - Throws: `schema` if a table is missing or differs from its declaration; `misuse` if a declaration is contradictory.
    public init(
        _ table: ImportTable, into connection: SQLiteConnection, options: ImportOptions = ImportOptions()
    ) throws(SQLiteError) {
        let made = try ImportStateMachine(table, connection: connection, options: options)
        unsafe stateMachine = .allocate(capacity: 1)
        unsafe stateMachine.initialize(to: made)
    }

    deinit {
        unsafe stateMachine.pointee.end()
        unsafe stateMachine.deinitialize(count: 1)
        unsafe stateMachine.deallocate()
    }

    /// The results of the committed batches so far.
    public var report: ImportReport { unsafe stateMachine.pointee.report }

    /// Writes the last batch and ends the import.
    ///
    /// - Throws: The errors of writing a batch; `unexpectedEnd` within a record; `missingMember` if the root path contains no
    ///   value; `cannotWrite` if other code has rolled back a transaction that contains earlier batches.
    @discardableResult
    public mutating func finish() throws(StreamError) -> ImportReport { try unsafe stateMachine.pointee.finish() }

    /// Opens the array of records, or an array of children.
    public mutating func beginArray() throws(StreamError) { try unsafe stateMachine.pointee.beginArray() }
    /// Closes an array.
    public mutating func endArray() throws(StreamError) { try unsafe stateMachine.pointee.endArray() }
    /// Opens a record.
    public mutating func beginDictionary() throws(StreamError) { try unsafe stateMachine.pointee.beginDictionary() }
    /// Closes a record, and writes the batch if it is full.
    ///
    /// - Throws: `missingMember` if a required member is absent; `cannotWrite` with the ``/SQLiteStreaming/SQLiteError`` as
    ///   its cause.
    public mutating func endDictionary() throws(StreamError) { try unsafe stateMachine.pointee.endDictionary() }
    /// Begins a member with its key.
    public mutating func writeKey(_ utf8: RawSpan) throws(StreamError) {
        try unsafe stateMachine.pointee.writeKey(utf8)
    }
    /// Stages a value of a column, or the key of a related record.
    public mutating func write(_ scalar: borrowing StreamScalar) throws(StreamError) {
        try unsafe scalar.withMessage { (message) throws(StreamError) in try unsafe stateMachine.pointee.write(message)
        }
    }
}
