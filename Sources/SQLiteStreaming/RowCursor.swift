// Reads the rows of a statement for `send`: not generic, so that only the loop over messages is specialised by sinks.

import CSQLite
import PlistStreaming

/// One cell of a row; bytes are valid until the next one is read.
@usableFromInline @unsafe
enum RowCell {
    case null
    case integer(Int64)
    case real(Double)
    case text(UnsafeRawBufferPointer)
    case blob(UnsafeRawBufferPointer)
    case bool(Bool)
    case date(Double)
}

/// The rows of a statement, one after another. A class, since a compiler crashes on the deinitializer of a noncopyable structure
/// in a function that is inlined elsewhere.
@usableFromInline @safe
final class RowCursor {
    @safe
    private struct Column {
        /// The UTF-8 of the key, which the cursor frees.
        let key: UnsafeRawBufferPointer
        let mapping: SQLiteReadingOptions.ColumnMapping
        let isRequired: Bool
    }

    private let statement: SQLiteStatement
    private let options: SQLiteReadingOptions
    private var columns: [Column] = []
    /// The number of the row, from 0; -1 before the first.
    @usableFromInline private(set) var row = -1
    @usableFromInline let omitsNulls: Bool

    /// Begins at the first row, with the values that the parameters have.
    @usableFromInline
    init(_ statement: SQLiteStatement, _ options: SQLiteReadingOptions) throws(StreamError) {
        do throws(SQLiteError) { try statement.beginSending() } catch { throw error.streamError(.cannotRead) }
        self.statement = statement
        self.options = options
        omitsNulls = options.nulls == .omit
    }

    deinit {
        for column in columns { unsafe column.key.deallocate() }
    }

    /// Leaves the statement, wherever it is.
    @usableFromInline
    func end() { statement.endSending() }

    /// The number of columns; known from the first row on.
    @usableFromInline var columnCount: Int { columns.count }

    /// Moves to the next row; false after the last.
    @usableFromInline
    func next() throws(StreamError) -> Bool {
        do throws(SQLiteError) {
            guard try statement.stepToSend() else { return false }
        } catch {
            throw error.streamError(.cannotRead)
        }
        row &+= 1
        // Here and not before: the first step compiles the statement again when the schema has changed.
        if row == 0 { try makeColumns() }
        return true
    }

    private func makeColumns() throws(StreamError) {
        let keys = try options.keys(for: statement.columnNames)
        for (index, key) in keys.enumerated() {
            let (mapping, isRequired) = options.mapping(of: key, declaredType: statement.declaredType(at: index))
            let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: key.utf8.count, alignment: 8)
            unsafe copy.copyBytes(from: key.utf8)
            unsafe columns.append(
                Column(key: UnsafeRawBufferPointer(copy), mapping: mapping, isRequired: isRequired))
        }
    }

    /// The key of a column.
    @usableFromInline
    func key(at index: Int) -> UnsafeRawBufferPointer { unsafe columns[index].key }

    // PERF: SQLite/reading; a cell costs one call that checks where it is, and one or two that do not.
    /// A cell of the row.
    @usableFromInline
    func cell(at index: Int) throws(StreamError) -> RowCell {
        // SAFETY: the statement is on a row, which is left by `next` only; SQLite checks the index. A value is used by
        // this thread only, as the whole connection is.
        let value = unsafe sqlite3_column_value(statement.handle, Int32(truncatingIfNeeded: index))
        let cell: RowCell
        switch unsafe sqlite3_value_type(value) {
        case SQLITE_INTEGER:
            unsafe cell = .integer(sqlite3_value_int64(value))
        case SQLITE_TEXT:
            guard let address = unsafe sqlite3_value_text(value) else { throw noMemory() }
            let bytes = unsafe UnsafeRawBufferPointer(start: address, count: Int(sqlite3_value_bytes(value)))
            guard unsafe TextCheck.isUTF8(bytes) else {
                throw StreamError(.invalidText, "the text is not valid UTF-8", path: path(index))
            }
            unsafe cell = unsafe .text(bytes)
        case SQLITE_FLOAT:
            unsafe cell = .real(sqlite3_value_double(value))
        case SQLITE_BLOB:
            let address = unsafe sqlite3_value_blob(value)
            unsafe cell = .blob(
                UnsafeRawBufferPointer(
                    start: address ?? UnsafeRawPointer(emptyText), count: Int(sqlite3_value_bytes(value))))
        default:
            unsafe cell = .null
        }
        if columns[index].mapping != .stored { return try unsafe mapped(cell, index) }
        return unsafe cell
    }

    @inline(never)
    private func mapped(_ cell: RowCell, _ index: Int) throws(StreamError) -> RowCell {
        let column = columns[index]
        switch unsafe (column.mapping, cell) {
        case (_, .null), (.stored, _):
            return unsafe cell
        case (.boolean, .integer(let value)) where value == 0 || value == 1:
            return unsafe .bool(value == 1)
        case (.date(.text), .text(let text)):
            if let seconds = unsafe DateText.secondsSince2001(text) { return unsafe .date(seconds) }
        case (.date(.secondsSince1970), .integer(let value)):
            return unsafe .date(Double(value) - secondsFrom1970To2001)
        case (.date(.secondsSince1970), .real(let value)):
            return unsafe .date(value - secondsFrom1970To2001)
        case (.date(.secondsSince2001), .integer(let value)):
            return unsafe .date(Double(value))
        case (.date(.secondsSince2001), .real(let value)):
            return unsafe .date(value)
        default:
            break
        }
        guard column.isRequired else { return unsafe cell }
        let expected = column.mapping == .boolean ? "0 or 1" : "a date"
        throw StreamError(.typeMismatch, "expected \(expected), found another value", path: path(index))
    }

    private func noMemory() -> StreamError { statement.makeError(SQLITE_NOMEM).streamError(.cannotRead) }

    /// The path of a cell.
    @usableFromInline
    func path(_ index: Int) -> StreamPath {
        let key = unsafe String(decoding: columns[index].key, as: UTF8.self)
        return StreamPath([.index(max(0, row)), .key(key)])
    }
}
