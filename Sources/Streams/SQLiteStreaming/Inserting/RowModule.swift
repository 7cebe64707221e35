// A virtual table of SQLite over rows in this process's memory, so that one statement inserts or compares all of them. Instead
// of a bind for each cell and a step for each row, SQLite calls back for each cell, which is loaded from its place in memory.
// Source: https://sqlite.org/vtab.html

import CSystemSQLite

/// The virtual tables of a connection: one for each number of columns.
@safe
final class RowModule {
    static let namePrefix = "stream_rows_"
    /// The reader of the rows of all tables.
    let reader = RowReader()
    // SAFETY: allocated once and freed with this object, which the connection keeps until it is closed.
    private let module: UnsafeMutablePointer<sqlite3_module>
    private var names: [Int: String] = [:]

    init() {
        unsafe module = .allocate(capacity: 1)
        unsafe module.initialize(to: Self.makeModule())
    }

    deinit { unsafe module.deallocate() }

    /// Returns the name of the table with a number of columns, which are called `c0`, `c1` and so on.
    ///
    /// Every table of a schema hides a virtual table of the same name, so its name is random and can't be known in advance.
    /// Statements of users that read from it are rejected by `RowSource.isScanned`.
    func table(columnCount: Int, of connection: SQLiteConnection) throws(SQLiteError) -> String {
        if let name = names[columnCount] { return name }
        let name = SQLiteName.random("\(Self.namePrefix)\(columnCount)_")
        let handle = try unsafe connection.requireHandle()
        // SAFETY: the connection is closed before the reader is freed.
        try unsafe connection.check(
            sqlite3_create_module_v2(
                handle, name, module, Unmanaged.passUnretained(reader).toOpaque(), nil))
        names[columnCount] = name
        return name
    }
}

extension SQLiteConnection {
    /// Returns the name of the virtual table with the columns `c0`, `c1` and so on of staged rows. Its row ids are the indices
    /// of the rows.
    package func stagedTable(columnCount: Int) throws(SQLiteError) -> String {
        try rowModule.table(columnCount: columnCount, of: self)
    }

    /// Runs a statement that reads staged rows; see `RowSource`.
    package func readingStagedRows<Value>(
        _ cells: UnsafePointer<StagedCell>?, _ bytes: UnsafeRawPointer, stride: Int, columnCount: Int,
        _ range: Range<Int>, _ indices: UnsafePointer<Int>?, _ body: () throws(SQLiteError) -> Value
    ) throws(SQLiteError) -> Value {
        let reader = rowModule.reader
        guard !reader.isReading else { throw RowReader.isInUse }
        unsafe reader.begin(
            RowSource(staged: cells, bytes, stride: stride, columnCount: columnCount, range, indices))
        defer { reader.end() }
        return try body()
    }
}

extension SQLiteError {
    /// Returns this error without a statement that reads staged rows, which users don't know.
    package var withoutStagedRows: SQLiteError {
        sql?.contains(RowModule.namePrefix) ?? false ? replacingSQL(by: nil) : self
    }
}

// MARK: - SQLite's side

/// A virtual table in SQLite's layout: SQLite's structure comes first.
@unsafe
private struct RowTable {
    var base = unsafe sqlite3_vtab()
    var reader: Unmanaged<RowReader>
    let columnCount: Int
}

/// A cursor in SQLite's layout: SQLite's structure comes first.
@unsafe
private struct RowTableCursor {
    var base = unsafe sqlite3_vtab_cursor()
    var reader: Unmanaged<RowReader>
    var source: UnsafeMutablePointer<RowSource>
}

extension RowModule {
    /// Makes the functions of the module. SQLite passes the results of `xConnect` and `xOpen` until `xDisconnect` and
    /// `xClose`.
    private static func makeModule() -> sqlite3_module {
        var module = sqlite3_module()
        module.iVersion = 1
        // Statements name this table first, so SQLite reads it once.
        unsafe module.xBestIndex = { _, plan in
            unsafe plan?.pointee.estimatedCost = 1_000_000
            unsafe plan?.pointee.estimatedRows = 1_000
            return SQLITE_OK
        }
        setTable(of: &module)
        setCursor(of: &module)
        return module
    }

    private static func setTable(of module: inout sqlite3_module) {
        // Without xCreate, the table exists in every connection with the module, and in no schema.
        unsafe module.xConnect = { connection, context, count, arguments, table, _ in
            guard let context = unsafe context, count > 0, let name = unsafe arguments?[0],
                let columnCount = unsafe Int(String(cString: name).drop { !$0.isNumber }.prefix { $0.isNumber })
            else { return SQLITE_ERROR }
            let columns = (0..<columnCount).map { "c\($0)" }.joined(separator: ", ")
            let code = unsafe sqlite3_declare_vtab(connection, "CREATE TABLE x (\(columns))")
            guard code == SQLITE_OK else { return code }
            unsafe csqlite_configure_table(connection, SQLITE_VTAB_DIRECTONLY)
            let made = UnsafeMutablePointer<RowTable>.allocate(capacity: 1)
            unsafe made.initialize(
                to: RowTable(reader: Unmanaged<RowReader>.fromOpaque(context), columnCount: columnCount))
            unsafe table?.pointee = UnsafeMutableRawPointer(made).assumingMemoryBound(to: sqlite3_vtab.self)
            return SQLITE_OK
        }
        // SAFETY: SQLite passes back the results of `xConnect` and `xOpen` once; both are trivial.
        unsafe module.xDisconnect = { table in
            unsafe UnsafeMutableRawPointer(table)?.deallocate()
            return SQLITE_OK
        }
    }

    private static func setCursor(of module: inout sqlite3_module) {
        unsafe module.xClose = { cursor in
            unsafe UnsafeMutableRawPointer(cursor)?.deallocate()
            return SQLITE_OK
        }
        unsafe module.xOpen = { table, cursor in
            guard let table = unsafe UnsafeMutableRawPointer(table)?.assumingMemoryBound(to: RowTable.self) else {
                return SQLITE_ERROR
            }
            let source = unsafe table.pointee.reader._withUnsafeGuaranteedRef { unsafe $0.source }
            // Rows exist only while a statement is run for them, with this number of columns, and only for that statement.
            guard unsafe source.pointee.columnCount == table.pointee.columnCount, unsafe !source.pointee.isScanned
            else {
                return SQLITE_MISUSE
            }
            unsafe source.pointee.isScanned = true
            let made = UnsafeMutablePointer<RowTableCursor>.allocate(capacity: 1)
            unsafe made.initialize(to: RowTableCursor(reader: table.pointee.reader, source: source))
            unsafe cursor?.pointee = UnsafeMutableRawPointer(made).assumingMemoryBound(to: sqlite3_vtab_cursor.self)
            return SQLITE_OK
        }
        unsafe module.xFilter = { cursor, _, _, _, _ in
            guard let source = unsafe rowCursor(cursor)?.pointee.source else { return SQLITE_ERROR }
            unsafe source.pointee.row = source.pointee.firstRow
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
            return unsafe RowSource.pass(
                Int(column), of: cursor.pointee.source, to: ResultDestination(context: context), cursor.pointee.reader)
        }
        unsafe module.xRowid = { cursor, row in
            // PERF: SQLite/insert-gaps; for SQLite, asking for an id is half the work of asking for a column.
            guard let source = unsafe rowCursor(cursor)?.pointee.source,
                case .integer(let id) = unsafe source.pointee.rowID(source.pointee.row)
            else { return SQLITE_ERROR }
            unsafe row?.pointee = id
            return SQLITE_OK
        }
    }
}

// PERF: SQLite/insert; once a row and once a cell.
@inline(__always)
private func rowCursor(_ cursor: UnsafeMutablePointer<sqlite3_vtab_cursor>?) -> UnsafeMutablePointer<RowTableCursor>? {
    // SAFETY: `xOpen` made every cursor.
    unsafe UnsafeMutableRawPointer(cursor)?.assumingMemoryBound(to: RowTableCursor.self)
}
