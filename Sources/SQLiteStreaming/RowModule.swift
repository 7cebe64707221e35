// A virtual table of SQLite over rows in this process's memory, so that one INSERT … SELECT takes them all. What would
// be a bind for each cell and a step for each row is a call back for each that loads from where the value lies.
// Source: https://sqlite.org/vtab.html

import CSystemSQLite
import PlistBuilding
import PlistStreaming

/// Where the rows of one statement come from.
@unsafe
struct RowSource {
    enum Kind { case none, buffer, values, objects }

    var kind = Kind.none
    var rowCount = 0
    /// The row that the statement is on.
    var row = 0
    var columnCount = 0
    /// The cells of a `RowBuffer` and its bytes.
    var cells: UnsafePointer<BufferedCell>?
    var bytes: UnsafeRawPointer?
    /// The first value of an array, and what is known of its columns.
    var values: UnsafeRawPointer?
    var stride = 0
    var columns: UnsafePointer<SourceColumn>?
    /// The short strings of a row, which have no address of their own: 16 bytes for each column.
    var shortText: UnsafeMutableRawPointer
}

/// How the values of a column lie in memory.
@unsafe
struct SourceColumn {
    let storage: MemberColumn.Storage
    let offset: Int
}

/// The virtual tables of a connection: one for each number of columns.
@safe
final class RowModule {
    // SAFETY: allocated once and freed with this object, which the connection keeps until it is closed.
    let source: UnsafeMutablePointer<RowSource>
    private let module: UnsafeMutablePointer<sqlite3_module>
    private var names: [Int: String] = [:]
    /// The members behind the rows, for those of which only their plan knows the storage.
    var members: MemberColumns?
    /// Takes such values, one at a time.
    private var scratch: RowBuffer
    private var shortTextCount = 64
    /// What is wrong with a value, when the statement fails because of it.
    var failure: (error: StreamError, column: Int)?

    init() {
        unsafe source = .allocate(capacity: 1)
        unsafe source.initialize(to: RowSource(shortText: .allocate(byteCount: 16 * shortTextCount, alignment: 16)))
        unsafe module = .allocate(capacity: 1)
        unsafe module.initialize(to: Self.makeModule())
        scratch = RowBuffer(columnCount: 1, dateFormat: .text, byteLimit: .max)
    }

    deinit {
        unsafe source.pointee.shortText.deallocate()
        unsafe source.deallocate()
        unsafe module.deallocate()
    }

    /// Returns the name of the table with so many columns, `c0`, `c1` and so on; nil where SQLite has no virtual tables.
    func table(columnCount: Int, of connection: SQLiteConnection) throws(SQLiteError) -> String {
        if let name = names[columnCount] { return name }
        let name = "stream_rows_\(columnCount)"
        let handle = try unsafe connection.requireHandle()
        // SAFETY: the connection is closed before this object is gone.
        try unsafe connection.check(
            sqlite3_create_module_v2(
                handle, name, module, Unmanaged.passUnretained(self).toOpaque(), nil))
        names[columnCount] = name
        return name
    }

    /// A source without rows.
    var emptySource: RowSource { unsafe RowSource(shortText: source.pointee.shortText) }

    /// Prepares for rows: sets where they come from, and how dates among them are stored.
    ///
    /// - Returns: Whether no other rows are being inserted.
    func begin(_ rows: RowSource, of members: MemberColumns?, _ dateFormat: SQLiteDateFormat) -> Bool {
        guard unsafe source.pointee.kind == .none else { return false }
        if unsafe rows.columnCount > shortTextCount {
            shortTextCount = unsafe rows.columnCount
            unsafe source.pointee.shortText.deallocate()
            unsafe source.pointee.shortText = .allocate(byteCount: 16 * shortTextCount, alignment: 16)
        }
        let shortText = unsafe source.pointee.shortText
        unsafe source.pointee = unsafe rows
        unsafe source.pointee.shortText = unsafe shortText
        self.members = members
        scratch.dateFormat = dateFormat
        failure = nil
        return true
    }

    /// Forgets the rows.
    ///
    /// - Returns: The row that was the last one asked for.
    func end() -> Int {
        unsafe source.pointee.kind = .none
        members = nil
        return unsafe source.pointee.row
    }

    // MARK: Cells

    // PERF: SQLite/insert; no reference is counted and no variable of this object read here, either of which would cost as
    // much as the rest of a cell.
    /// Gives SQLite the cell of a column in the row it is on.
    func give(_ column: Int, to context: OpaquePointer) -> Int32 {
        // SAFETY: SQLite asks for columns that the table declared, and for rows below the count; the source stays as it
        // is while the statement runs. Text goes without a copy, since SQLite has stored it before the next row.
        let source = unsafe source.pointee
        switch unsafe source.kind {
        case .buffer:
            guard let cells = unsafe source.cells, let bytes = unsafe source.bytes else { return SQLITE_ERROR }
            let cell = unsafe cells + (source.row &* source.columnCount &+ column)
            switch unsafe cell.pointee.kind {
            case .null: unsafe sqlite3_result_null(context)
            case .integer: unsafe sqlite3_result_int64(context, Int64(truncatingIfNeeded: cell.pointee.payload))
            case .real:
                unsafe sqlite3_result_double(
                    context, Double(bitPattern: UInt64(truncatingIfNeeded: cell.pointee.payload)))
            case .text:
                let text = unsafe (bytes + cell.pointee.payload).assumingMemoryBound(to: CChar.self)
                unsafe sqlite3_result_text(context, text, cell.pointee.byteCount, nil)
            case .blob:
                unsafe sqlite3_result_blob(context, bytes + cell.pointee.payload, cell.pointee.byteCount, nil)
            }
            return SQLITE_OK
        case .values, .objects:
            guard let values = unsafe source.values, let columns = unsafe source.columns else { return SQLITE_ERROR }
            let value = unsafe values + source.row &* source.stride
            let base = unsafe source.kind == .objects ? value.load(as: UnsafeRawPointer.self) : value
            let place = unsafe base + columns[column].offset
            switch unsafe columns[column].storage {
            case .integer:
                unsafe sqlite3_result_int64(context, place.load(as: Int64.self))
            case .string:
                return unsafe giveText(place.assumingMemoryBound(to: String.self), column, context)
            case .bool:
                unsafe sqlite3_result_int(context, place.load(as: Bool.self) ? 1 : 0)
            case .real:
                return unsafe giveReal(place.load(as: Double.self), column, context)
            case .optionalInteger:
                guard let integer = unsafe place.load(as: Int64?.self) else { return SQLITE_OK }
                unsafe sqlite3_result_int64(context, integer)
            case .optionalReal:
                guard let real = unsafe place.load(as: Double?.self) else { return SQLITE_OK }
                return unsafe giveReal(real, column, context)
            case .optionalBool:
                guard let bool = unsafe place.load(as: Bool?.self) else { return SQLITE_OK }
                unsafe sqlite3_result_int(context, bool ? 1 : 0)
            case .optionalString:
                // A string in an optional lies where the optional does.
                let string = unsafe place.assumingMemoryBound(to: String?.self)
                guard unsafe string.pointee != nil else { return SQLITE_OK }
                return unsafe giveText(place.assumingMemoryBound(to: String.self), column, context)
            case .other:
                return unsafe giveOther(value, column, context)
            }
            return SQLITE_OK
        case .none:
            return SQLITE_MISUSE
        }
    }

    private func giveReal(_ value: Double, _ column: Int, _ context: OpaquePointer) -> Int32 {
        guard !value.isNaN else {
            return fail(StreamError(.unrepresentable, "expected a number, found NaN, which SQLite has not"), column)
        }
        unsafe sqlite3_result_double(context, value)
        return SQLITE_OK
    }

    @inline(__always)  // PERF: SQLite/insert; once a string.
    private func giveText(_ string: UnsafePointer<String>, _ column: Int, _ context: OpaquePointer) -> Int32 {
        // SAFETY: a string beyond 15 bytes has its own memory, which stays where it is as long as the caller's array
        // holds the string; a shorter one is copied to memory of this object, a place for each column.
        let code: Int32? = unsafe string.pointee.utf8.withContiguousStorageIfAvailable { utf8 in
            guard let start = utf8.baseAddress, utf8.count > 0 else {
                unsafe sqlite3_result_text(context, emptyText, 0, nil)
                return SQLITE_OK
            }
            if let offset = TextCheck.firstNUL(in: unsafe UnsafeRawBufferPointer(utf8).bytes) {
                return fail(TextCheck.foundNUL(at: offset), column)
            }
            guard utf8.count <= Int(Int32.max) else { return SQLITE_TOOBIG }
            let count = Int32(truncatingIfNeeded: utf8.count)
            if utf8.count <= 15 {
                let place = unsafe source.pointee.shortText + 16 * column
                unsafe place.copyMemory(from: start, byteCount: utf8.count)
                unsafe sqlite3_result_text(context, place.assumingMemoryBound(to: CChar.self), count, nil)
            } else {
                unsafe UnsafeRawPointer(start).withMemoryRebound(to: CChar.self, capacity: utf8.count) { text in
                    unsafe sqlite3_result_text(context, text, count, nil)
                }
            }
            return SQLITE_OK
        }
        if let code { return code }
        // A string of another library has no UTF-8 in memory: SQLite copies what it is made of.
        return unsafe giveForeign(string.pointee, column, context)
    }

    @inline(never)
    private func giveForeign(_ string: String, _ column: Int, _ context: OpaquePointer) -> Int32 {
        string.withUTF8Span { span in
            if let offset = TextCheck.firstNUL(in: span) { return fail(TextCheck.foundNUL(at: offset), column) }
            return unsafe span.withUnsafeBytes { bytes in
                guard bytes.count <= Int(Int32.max) else { return SQLITE_TOOBIG }
                let text = unsafe bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
                unsafe sqlite3_result_text(
                    context, text ?? emptyText, Int32(truncatingIfNeeded: bytes.count), csqlite_transient())
                return SQLITE_OK
            }
        }
    }

    /// Gives a value that only its plan knows: it is sent to a buffer of one cell, which SQLite copies.
    @inline(never)
    private func giveOther(_ value: UnsafeRawPointer, _ column: Int, _ context: OpaquePointer) -> Int32 {
        guard let members else { return SQLITE_ERROR }
        scratch.removeAll()
        scratch.beginRow()
        do throws(StreamError) {
            try unsafe members.send(column, ofValueAt: value, to: &scratch)
        } catch {
            return fail(error, column)
        }
        let cell = unsafe scratch.cells[0]
        switch unsafe cell.kind {
        case .null: unsafe sqlite3_result_null(context)
        case .integer: unsafe sqlite3_result_int64(context, Int64(truncatingIfNeeded: cell.payload))
        case .real: unsafe sqlite3_result_double(context, Double(bitPattern: UInt64(truncatingIfNeeded: cell.payload)))
        case .text:
            let text = unsafe (scratch.bytes + cell.payload).assumingMemoryBound(to: CChar.self)
            unsafe sqlite3_result_text(context, text, cell.byteCount, csqlite_transient())
        case .blob:
            unsafe sqlite3_result_blob(context, scratch.bytes + cell.payload, cell.byteCount, csqlite_transient())
        }
        return SQLITE_OK
    }

    @inline(never)
    private func fail(_ error: StreamError, _ column: Int) -> Int32 {
        failure = (error, column)
        return SQLITE_ERROR
    }
}

// MARK: - SQLite's side

/// A virtual table as SQLite sees it: its own structure first.
@unsafe
private struct RowTable {
    var base = unsafe sqlite3_vtab()
    var module: Unmanaged<RowModule>
}

/// A cursor as SQLite sees it: its own structure first.
@unsafe
private struct RowTableCursor {
    var base = unsafe sqlite3_vtab_cursor()
    var module: Unmanaged<RowModule>
    var source: UnsafeMutablePointer<RowSource>
}

extension RowModule {
    /// The functions of the module. SQLite passes back what `xConnect` and `xOpen` made, until `xDisconnect` and `xClose`.
    private static func makeModule() -> sqlite3_module {
        var module = sqlite3_module()
        module.iVersion = 1
        // Without xCreate the table is there in every connection that has the module, and in no schema.
        unsafe module.xConnect = { connection, context, count, arguments, table, _ in
            guard let context = unsafe context, count > 0, let name = unsafe arguments?[0],
                let columnCount = unsafe Int(String(cString: name).drop { !$0.isNumber })
            else { return SQLITE_ERROR }
            let columns = (0..<columnCount).map { "c\($0)" }.joined(separator: ", ")
            let code = unsafe sqlite3_declare_vtab(connection, "CREATE TABLE x (\(columns))")
            guard code == SQLITE_OK else { return code }
            unsafe csqlite_configure_table(connection, SQLITE_VTAB_DIRECTONLY)
            let made = UnsafeMutablePointer<RowTable>.allocate(capacity: 1)
            unsafe made.initialize(to: RowTable(module: Unmanaged<RowModule>.fromOpaque(context)))
            unsafe table?.pointee = UnsafeMutableRawPointer(made).assumingMemoryBound(to: sqlite3_vtab.self)
            return SQLITE_OK
        }
        unsafe module.xDisconnect = { table in
            unsafe UnsafeMutableRawPointer(table)?.assumingMemoryBound(to: RowTable.self).deallocate()
            return SQLITE_OK
        }
        unsafe module.xBestIndex = { _, plan in
            unsafe plan?.pointee.estimatedCost = 1_000_000
            return SQLITE_OK
        }
        unsafe module.xOpen = { table, cursor in
            guard let table = unsafe UnsafeMutableRawPointer(table)?.assumingMemoryBound(to: RowTable.self) else {
                return SQLITE_ERROR
            }
            let source = unsafe table.pointee.module._withUnsafeGuaranteedRef { unsafe $0.source }
            let made = UnsafeMutablePointer<RowTableCursor>.allocate(capacity: 1)
            unsafe made.initialize(to: RowTableCursor(module: table.pointee.module, source: source))
            unsafe cursor?.pointee = UnsafeMutableRawPointer(made).assumingMemoryBound(to: sqlite3_vtab_cursor.self)
            return SQLITE_OK
        }
        unsafe module.xClose = { cursor in
            unsafe UnsafeMutableRawPointer(cursor)?.assumingMemoryBound(to: RowTableCursor.self).deallocate()
            return SQLITE_OK
        }
        unsafe module.xFilter = { cursor, _, _, _, _ in
            unsafe rowCursor(cursor)?.pointee.source.pointee.row = 0
            return SQLITE_OK
        }
        unsafe module.xNext = { cursor in
            unsafe rowCursor(cursor)?.pointee.source.pointee.row &+= 1
            return SQLITE_OK
        }
        unsafe module.xEof = { cursor in
            guard let source = unsafe rowCursor(cursor)?.pointee.source else { return 1 }
            return unsafe source.pointee.row < source.pointee.rowCount ? 0 : 1
        }
        unsafe module.xColumn = { cursor, context, column in
            guard let cursor = unsafe rowCursor(cursor), let context = unsafe context else { return SQLITE_ERROR }
            return unsafe cursor.pointee.module._withUnsafeGuaranteedRef {
                unsafe $0.give(Int(column), to: context)
            }
        }
        unsafe module.xRowid = { cursor, row in
            unsafe row?.pointee = Int64(rowCursor(cursor)?.pointee.source.pointee.row ?? 0)
            return SQLITE_OK
        }
        return module
    }
}

// PERF: SQLite/insert; once a row and once a cell.
@inline(__always)
private func rowCursor(_ cursor: UnsafeMutablePointer<sqlite3_vtab_cursor>?) -> UnsafeMutablePointer<RowTableCursor>? {
    // SAFETY: `xOpen` made every cursor.
    unsafe UnsafeMutableRawPointer(cursor)?.assumingMemoryBound(to: RowTableCursor.self)
}
