// Reads the rows that a connection is inserting, including cells that can't be read with a load: strings of other libraries,
// and values that SQLite can't store.

import CSystemSQLite
import PlistBuilding
import PlistStreaming

/// Reads the rows of one source at a time.
@safe
final class RowReader {
    // SAFETY: allocated once and freed with this object, which outlives all users of the address.
    let source: UnsafeMutablePointer<RowSource>
    /// The error of the value that makes the statement fail.
    var failure: (error: StreamError, column: Int)?

    init() {
        unsafe source = .allocate(capacity: 1)
        unsafe source.initialize(to: RowSource())
    }

    deinit { unsafe source.deallocate() }

    /// A Boolean value that indicates whether rows are being inserted.
    static let isInUse = SQLiteError(.misuse, "the connection is inserting rows already")

    var isReading: Bool { unsafe source.pointee.kind != .none }

    /// Sets the source of the rows.
    func begin(_ rows: RowSource) {
        unsafe source.pointee = unsafe rows
        failure = nil
    }

    /// Removes the rows.
    func end() { unsafe source.pointee = RowSource() }

    // MARK: Cells

    /// Passes a string without UTF-8 in memory to a destination. SQLite copies the converted bytes.
    @inline(never)
    func passForeign<Destination: CellDestination>(_ string: String, _ column: Int, to destination: Destination)
        -> Int32
    {
        string.withUTF8Span { span in
            if let offset = TextCheck.firstNUL(in: span) { return refuseNUL(at: offset, column) }
            // SAFETY: the bytes are copied during the call.
            return unsafe span.withUnsafeBytes { bytes in
                guard bytes.count <= Int(Int32.max) else { return SQLITE_TOOBIG }
                return unsafe destination.set(
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
