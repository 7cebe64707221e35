// The rows that a connection is inserting, and the cells of them that are not read by a load: values that only the plan of
// their member knows, strings of other libraries, and values that SQLite cannot hold.

import CSystemSQLite
import PlistBuilding
import PlistStreaming

/// Reads the rows of one source at a time.
@safe
final class RowReader {
    // SAFETY: allocated once and freed with this object, which outlives what was given the address.
    let source: UnsafeMutablePointer<RowSource>
    /// The members behind the rows, for those of which only their plan knows the storage.
    private var members: MemberColumns?
    /// The connection that inserts the rows.
    private var connection: SQLiteConnection?
    /// Takes such values, one at a time.
    private var scratch: RowBuffer
    /// What is wrong with a value, when the statement fails because of it.
    var failure: (error: StreamError, column: Int)?

    init() {
        unsafe source = .allocate(capacity: 1)
        unsafe source.initialize(to: RowSource())
        scratch = RowBuffer(columnCount: 1, dateFormat: .text, byteLimit: .max)
    }

    deinit { unsafe source.deallocate() }

    /// Whether there are rows, which are being inserted.
    var isReading: Bool { unsafe source.pointee.kind != .none }

    /// Sets where the rows come from, and how dates among them are stored.
    func begin(
        _ rows: RowSource, of members: MemberColumns?, _ dateFormat: SQLiteDateFormat, _ connection: SQLiteConnection
    ) {
        unsafe source.pointee = unsafe rows
        self.members = members
        self.connection = connection
        scratch.dateFormat = dateFormat
        failure = nil
    }

    /// Forgets the rows.
    func end() {
        unsafe source.pointee = RowSource()
        members = nil
        connection = nil
    }

    // MARK: Cells

    /// Gives a string that has no UTF-8 in memory: SQLite copies what it is made of.
    @inline(never)
    func giveForeign<Taker: CellTaker>(_ string: String, _ column: Int, to taker: Taker) -> Int32 {
        string.withUTF8Span { span in
            if let offset = TextCheck.firstNUL(in: span) { return refuseNUL(at: offset, column) }
            // SAFETY: the bytes are copied during the call.
            return unsafe span.withUnsafeBytes { bytes in
                guard bytes.count <= Int(Int32.max) else { return SQLITE_TOOBIG }
                return unsafe taker.take(
                    text: bytes.baseAddress ?? UnsafeRawPointer(emptyText),
                    byteCount: Int32(truncatingIfNeeded: bytes.count), isPassing: true)
            }
        }
    }

    /// Gives a value that only its plan knows: it is sent to a buffer of one cell, which SQLite copies.
    @inline(never)
    func giveOther<Taker: CellTaker>(_ value: UnsafeRawPointer, _ column: Int, to taker: Taker) -> Int32 {
        guard let members, let connection else { return SQLITE_ERROR }
        let changes = connection.totalChangeCount
        scratch.removeAll()
        scratch.beginRow()
        do throws(StreamError) {
            try unsafe members.send(column, ofValueAt: value, to: &scratch)
        } catch {
            return fail(error, column)
        }
        // A property that is computed may have put a row into this very table, which would change the ids to come.
        let tellsIDs = unsafe source.pointee.rowIDs.column < 0
        guard tellsIDs || connection.totalChangeCount == changes else {
            return fail(
                StreamError(
                    .misuse,
                    "expected a property that changes nothing in the database, while its row is inserted"), column)
        }
        return unsafe taker.take(scratch.cells[0], scratch.bytes, isPassing: true)
    }

    @inline(never)
    func refuseNaN(_ column: Int) -> Int32 {
        fail(StreamError(.unrepresentable, "expected a number, found NaN, which SQLite has not"), column)
    }

    @inline(never)
    func refuseNUL(at offset: Int, _ column: Int) -> Int32 { fail(TextCheck.foundNUL(at: offset), column) }

    private func fail(_ error: StreamError, _ column: Int) -> Int32 {
        failure = (error, column)
        return SQLITE_ERROR
    }
}
