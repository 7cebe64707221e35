// Reads the rows of a statement for `send`. It isn't generic, so that only the loop over messages is specialized for sinks.

import CSystemSQLite
import PlistBuilding
import PlistStreaming

/// The names and declared types of a statement's columns.
struct RowColumns: Equatable {
    let names: [String]
    let declaredTypes: [String?]

    init(_ statement: SQLiteStatement) {
        names = statement.columnNames
        declaredTypes = names.indices.map { statement.declaredType(at: $0) }
    }

    /// Creates columns whose declared types don't matter.
    init(names: [String]) {
        self.names = names
        declaredTypes = Array(repeating: nil, count: names.count)
    }
}

/// The state of the loop over rows, accessed by address.
@usableFromInline @unsafe
struct RowState {
    /// A column of the rows.
    @usableFromInline @unsafe
    struct Column {
        /// The UTF-8 of the key.
        @usableFromInline let key: UnsafeRawBufferPointer
        /// A Boolean value that indicates whether cells are mapped to values other than the stored ones, and one that
        /// indicates whether these are Booleans.
        let isMapped: Bool
        let isBoolean: Bool
    }

    let handle: OpaquePointer
    /// The cells of the row if SQLite passes them to a function; nil if they are those of the statement's current row.
    var values: UnsafeMutablePointer<OpaquePointer?>?
    /// The number of the row, from 0; -1 before the first.
    @usableFromInline var row = -1
    /// The number of columns, known from the first row on.
    @usableFromInline var columnCount = 0
    @usableFromInline var columns: UnsafeMutablePointer<Column>
    /// A Boolean value that indicates whether the sink may provide a record buffer, and one that indicates whether it has.
    @usableFromInline var mayUseRecordBuffer = true
    @usableFromInline var hasRecordBuffer = false
    /// The part of a row that is left after storing it in a record buffer.
    @usableFromInline var rest = RowCursor.untried
    var recordBuffer = unsafe RowRecordBuffer()
}

/// The rows of a statement, read one after another.
///
/// It is a class because a compiler crashes on the deinitializer of a noncopyable structure in a function that is inlined
/// elsewhere.
@usableFromInline @safe
final class RowCursor {
    /// The keys of the columns.
    @usableFromInline private(set) var keys: [String] = []
    // PERF: SQLite/reading; by address, since each access to a variable of a class is checked at run time.
    @usableFromInline let state: UnsafeMutablePointer<RowState>
    @usableFromInline let omitsNulls: Bool
    let statement: SQLiteStatement
    private let options: SQLiteReadingOptions
    private var mappings: [(mapping: SQLiteReadingOptions.ColumnMapping, isRequired: Bool)] = []

    /// Begins before the first row, with the current values of the parameters.
    @usableFromInline
    init(_ statement: SQLiteStatement, _ options: SQLiteReadingOptions) throws(StreamError) {
        do throws(SQLiteError) { try statement.beginSending() } catch { throw error.streamError(.cannotRead) }
        self.statement = statement
        self.options = options
        omitsNulls = options.nulls == .omit
        unsafe state = .allocate(capacity: 1)
        // The columns are made with the first row.
        unsafe state.initialize(to: RowState(handle: statement.handle, columns: .allocate(capacity: 0)))
    }

    deinit {
        for index in unsafe 0..<state.pointee.columnCount { unsafe state.pointee.columns[index].key.deallocate() }
        unsafe state.pointee.columns.deallocate()
        unsafe state.pointee.recordBuffer.deallocate()
        unsafe state.deallocate()
    }

    /// Resets the statement, regardless of its position.
    @usableFromInline
    func end() { statement.endSending() }

    /// Moves to the next row, or returns false after the last row.
    @usableFromInline
    func next() throws(StreamError) -> Bool {
        let code = unsafe statement.connection.cancellation.step(state.pointee.handle)
        guard code == SQLITE_ROW else {
            if code == SQLITE_DONE { return false }
            throw statement.makeError(code).streamError(.cannotRead)
        }
        unsafe state.pointee.row &+= 1
        // Not earlier: the first step recompiles the statement if the schema has changed.
        if unsafe state.pointee.row == 0 { try makeColumns(RowColumns(statement)) }
        return true
    }

    /// Moves to a row whose cells SQLite passes to the function.
    @inline(__always)  // PERF: SQLite/reading; once a row.
    func take(_ values: UnsafeMutablePointer<OpaquePointer?>) {
        unsafe state.pointee.values = values
        unsafe state.pointee.row &+= 1
    }

    /// Returns SQLite's value for a cell of the current row.
    @inline(__always)  // PERF: SQLite/reading; once a cell.
    static func value(_ state: UnsafeMutablePointer<RowState>, _ index: Int) -> OpaquePointer? {
        // SAFETY: the statement is on a row, or SQLite is calling a function with its cells; the loops stay below the number
        // of columns. Only this thread uses the value and the whole connection.
        if let values = unsafe state.pointee.values { return unsafe values[index] }
        return unsafe sqlite3_column_value(state.pointee.handle, Int32(truncatingIfNeeded: index))
    }

    /// Prepares the columns that all rows have.
    func makeColumns(_ columns: RowColumns) throws(StreamError) {
        keys = try options.keys(for: columns.names)
        unsafe state.pointee.columns.deallocate()
        unsafe state.pointee.columns = .allocate(capacity: keys.count)
        for (index, key) in keys.enumerated() {
            let (mapping, isRequired) = options.mapping(of: key, declaredType: columns.declaredTypes[index])
            mappings.append((mapping, isRequired))
            let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: key.utf8.count, alignment: 8)
            unsafe copy.copyBytes(from: key.utf8)
            unsafe (state.pointee.columns + index).initialize(
                to: RowState.Column(
                    key: UnsafeRawBufferPointer(copy), isMapped: mapping != .stored, isBoolean: mapping == .boolean))
            unsafe state.pointee.columnCount = index + 1
        }
    }

    // PERF: SQLite/reading; a cell costs one call that checks its position, and one or two calls that don't.
    /// Returns a cell of the row as its message, whose bytes are valid until the next cell is read.
    @usableFromInline
    func cell(at index: Int) throws(StreamError) -> ScalarMessage {
        // SAFETY: see value; only `next` and `take` leave the row.
        let value = unsafe Self.value(state, index)
        let cell: ScalarMessage
        switch unsafe sqlite3_value_type(value) {
        case SQLITE_INTEGER:
            let integer = unsafe sqlite3_value_int64(value)
            if unsafe UInt64(bitPattern: integer) <= 1 && state.pointee.columns[index].isBoolean {
                return unsafe .bool(integer == 1)
            }
            unsafe cell = .integer(integer)
        case SQLITE_TEXT:
            guard let address = unsafe sqlite3_value_text(value) else { throw noMemory() }
            let bytes = unsafe UnsafeRawBufferPointer(start: address, count: Int(sqlite3_value_bytes(value)))
            guard unsafe TextCheck.isUTF8(bytes) else {
                throw StreamError(.invalidText, "the text is not valid UTF-8", path: path(index))
            }
            unsafe cell = unsafe .string(bytes)
        case SQLITE_FLOAT:
            unsafe cell = .real(sqlite3_value_double(value))
        case SQLITE_BLOB:
            let address = unsafe sqlite3_value_blob(value)
            unsafe cell = .data(
                UnsafeRawBufferPointer(
                    start: address ?? UnsafeRawPointer(emptyText), count: Int(sqlite3_value_bytes(value))))
        default:
            unsafe cell = .null
        }
        if unsafe state.pointee.columns[index].isMapped { return try unsafe mapped(cell, index) }
        return unsafe cell
    }

    private func mapped(_ cell: ScalarMessage, _ index: Int) throws(StreamError) -> ScalarMessage {
        let (mapping, isRequired) = mappings[index]
        switch unsafe (mapping, cell) {
        case (_, .null), (.stored, _):
            return unsafe cell
        case (.date(.text), .string(let text)):
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
        guard isRequired else { return unsafe cell }
        let expected = mapping == .boolean ? "0 or 1" : "a date"
        throw StreamError(.typeMismatch, "expected \(expected), found another value", path: path(index))
    }

    // PERF: SQLite/reading; inlinable, so that it is specialized for sinks of other modules.
    /// Sends the row as a dictionary, or stores it in the record buffer of the sink.
    ///
    /// `endRecordBuffer` returns the memory after the last row.
    @inlinable @inline(__always)
    func sendRow<Sink: PlistSink & ~Copyable>(to sink: inout Sink) throws(StreamError) {
        var first = 0
        if unsafe state.pointee.mayUseRecordBuffer && !state.pointee.hasRecordBuffer {
            if let port = try unsafe sink.beginRecordBuffer(of: .records) {
                unsafe useRecordBuffer(port)
            } else {
                unsafe state.pointee.mayUseRecordBuffer = false
            }
        }
        if unsafe state.pointee.hasRecordBuffer {
            if unsafe state.pointee.rest == Self.untried && fillRow() { return }
            first = unsafe state.pointee.rest
            try endRecordBuffer(of: &sink)
            if first == Self.done { return }
        } else {
            try sink.beginDictionary()
        }
        for index in unsafe first..<state.pointee.columnCount {
            // SAFETY: key and cell are used before the next row is read.
            let cell = try unsafe cell(at: index)
            if omitsNulls, case .null = unsafe cell { continue }
            do throws(StreamError) {
                try unsafe sink.writeKey(state.pointee.columns[index].key.bytes)
                try unsafe sink.write(cell)
            } catch {
                throw error.located(at: path(index))
            }
        }
        try sink.endDictionary()
    }

    private func noMemory() -> StreamError { statement.makeError(SQLITE_NOMEM).streamError(.cannotRead) }

    /// Returns the path of a cell.
    @usableFromInline
    func path(_ index: Int) -> StreamPath {
        let key = unsafe String(decoding: state.pointee.columns[index].key, as: UTF8.self)
        return StreamPath([.index(unsafe max(0, state.pointee.row)), .key(key)])
    }
}
