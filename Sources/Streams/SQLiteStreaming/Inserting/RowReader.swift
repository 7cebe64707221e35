// The rows that a connection is inserting, and the cells of them that are not read by a load: strings of other libraries, and
// values that SQLite cannot hold.

import CSystemSQLite
import PlistBuilding
import PlistStreaming

/// Reads the rows of one source at a time.
@safe
final class RowReader {
    // SAFETY: allocated once and freed with this object, which outlives what was given the address.
    let source: UnsafeMutablePointer<RowSource>
    /// What is wrong with a value, when the statement fails because of it.
    var failure: (error: StreamError, column: Int)?

    init() {
        unsafe source = .allocate(capacity: 1)
        unsafe source.initialize(to: RowSource())
    }

    deinit { unsafe source.deallocate() }

    /// A Boolean value that indicates whether there are rows, which are being inserted.
    var isReading: Bool { unsafe source.pointee.kind != .none }

    /// Sets where the rows come from.
    func begin(_ rows: RowSource) {
        unsafe source.pointee = unsafe rows
        failure = nil
    }

    /// Forgets the rows.
    func end() { unsafe source.pointee = RowSource() }

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

    @inline(never)
    func refuseNaN(_ column: Int) -> Int32 {
        fail(StreamError(.unrepresentable, SQLiteValue.foundNaN), column)
    }

    @inline(never)
    func refuseNUL(at offset: Int, _ column: Int) -> Int32 { fail(TextCheck.foundNUL(at: offset), column) }

    private func fail(_ error: StreamError, _ column: Int) -> Int32 {
        failure = (error, column)
        return SQLITE_ERROR
    }
}
