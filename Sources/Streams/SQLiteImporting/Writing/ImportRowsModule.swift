// A virtual table over the staged rows of a table, so that one statement compares or inserts a whole batch: a row needs no
// call from outside SQLite, and text isn't copied.

import CSystemSQLite
import PlistStreaming
import SQLiteStreaming

/// A virtual table over the rows of an `ImportRows`, which exists as long as this object.
///
/// Its columns are `c0`, `c1` and so on for the slots, and `r`, the number of the row.
@safe
final class ImportRowsModule {
    static let namePrefix = "import_rows_"
    let name: String
    private let connection: SQLiteConnection

    init(_ rows: ImportRows, connection: SQLiteConnection) throws(SQLiteError) {
        // A name that no table has, and no other importer of the connection.
        name = SQLiteName.random(Self.namePrefix)
        self.connection = connection
        let handle = try unsafe connection.requireHandle()
        // SAFETY: SQLite keeps a reference to the rows until it destroys the module, and then calls the closure, which
        // releases it. SQLite also calls it if creating fails. The module is static.
        let reference = unsafe Unmanaged.passRetained(rows).toOpaque()
        try unsafe connection.check(
            sqlite3_create_module_v2(handle, name, Self.module, reference) { pointer in
                if let pointer = unsafe pointer { unsafe Unmanaged<ImportRows>.fromOpaque(pointer).release() }
            })
        try makeFunction(rows)
    }

    /// The name of a function that returns whether a row has to be updated, and counts its calls.
    ///
    /// Its first argument indicates whether a row differs. The second one indicates whether it differs in columns that aren't
    /// set, and the third one whether it has a different parent.
    var differsFunction: String { name + "_differs" }

    /// Creates the function, which counts in `rows.found`.
    private func makeFunction(_ rows: ImportRows) throws(SQLiteError) {
        // SAFETY: the same as for the module.
        let reference = unsafe Unmanaged.passRetained(rows).toOpaque()
        try unsafe connection.check(
            sqlite3_create_function_v2(
                connection.requireHandle(), differsFunction, -1, SQLITE_UTF8 | SQLITE_DIRECTONLY, reference,
                { context, count, values in
                    guard count > 0, let rows = unsafe sqlite3_user_data(context), let values = unsafe values else {
                        return
                    }
                    let differs = unsafe sqlite3_value_int(values[0]) != 0
                    let isKept = unsafe count > 1 && sqlite3_value_int(values[1]) != 0
                    let isMoved = unsafe count > 2 && sqlite3_value_int(values[2]) != 0
                    let isSet = unsafe Unmanaged<ImportRows>.fromOpaque(rows)._withUnsafeGuaranteedRef {
                        $0.note(differs: differs, isKept: isKept, isMoved: isMoved)
                    }
                    unsafe sqlite3_result_int(context, isSet ? 1 : 0)
                }, nil, nil,
                { pointer in
                    if let pointer = unsafe pointer { unsafe Unmanaged<ImportRows>.fromOpaque(pointer).release() }
                }))
    }

    deinit {
        guard let handle = unsafe connection.handle else { return }
        // SAFETY: the statements of the importer are finalized, so no cursor is left.
        unsafe sqlite3_create_module_v2(handle, name, nil, nil, nil)
        unsafe sqlite3_create_function_v2(handle, differsFunction, -1, SQLITE_UTF8, nil, nil, nil, nil, nil)
    }

    // MARK: Module

    /// SQLite's part comes first, so that a pointer to it is also a pointer to the whole structure.
    @safe
    private struct Table {
        var base = unsafe sqlite3_vtab()
        let rows: Unmanaged<ImportRows>
    }

    // PERF: the data for a row is copied into the cursor, since the closures below run for each row or cell.
    @safe
    private struct Cursor {
        var base = unsafe sqlite3_vtab_cursor()
        let rows: Unmanaged<ImportRows>
        // SAFETY: from `xFilter` on, these many cells and headers exist, and text for the cells.
        var cells = unsafe UnsafeBufferPointer<StagedCell>(start: nil, count: 0)
        var headers = unsafe UnsafeBufferPointer<ImportRows.Header>(start: nil, count: 0)
        var text: UnsafeMutableRawPointer
        var slotCount = 0
        var columnCount = 0
        var row = 0
        var end = 0
        var window = ImportRows.Window()

        /// Advances to a row that the window shows.
        mutating func skip() {
            while row < end, unsafe !window.shows(headers[row]) { row += 1 }
        }
    }

    // SAFETY: made once and never changed or freed.
    nonisolated(unsafe) private static let module: UnsafeMutablePointer<sqlite3_module> = {
        var module = VirtualTable.makeModule()
        setTable(of: &module)
        setCursor(of: &module)
        setCells(of: &module)
        let pointer = UnsafeMutablePointer<sqlite3_module>.allocate(capacity: 1)
        unsafe pointer.initialize(to: module)
        return unsafe pointer
    }()

    private static func setTable(of module: inout sqlite3_module) {
        unsafe module.xConnect = { connection, rows, _, _, result, _ in
            guard let rows = unsafe rows else { return SQLITE_MISUSE }
            let reference = unsafe Unmanaged<ImportRows>.fromOpaque(rows)
            let count = unsafe reference.takeUnretainedValue().columnCount
            return unsafe VirtualTable.connect(
                Table(rows: reference), columns: (0..<count).map { "c\($0)" } + ["r"], connection,
                result)
        }
        unsafe module.xOpen = { table, result in
            guard let table = unsafe UnsafeMutableRawPointer(table)?.assumingMemoryBound(to: Table.self) else {
                return SQLITE_MISUSE
            }
            let rows = unsafe table.pointee.rows
            let text = unsafe rows._withUnsafeGuaranteedRef { unsafe $0.arena.base }
            return unsafe VirtualTable.open(Cursor(rows: rows, text: text), result)
        }
    }

    private static func setCursor(of module: inout sqlite3_module) {
        unsafe module.xFilter = { cursor, _, _, _, _ in
            guard let cursor = unsafe ImportRowsModule.cursor(cursor) else { return SQLITE_MISUSE }
            // Rows and text may have moved since the cursor was opened; they don't move while a statement runs.
            unsafe cursor.pointee.rows._withUnsafeGuaranteedRef { rows in
                unsafe cursor.pointee.cells = rows.cells
                unsafe cursor.pointee.headers = rows.headers
                unsafe cursor.pointee.text = rows.arena.base
                unsafe cursor.pointee.slotCount = rows.slotCount
                unsafe cursor.pointee.columnCount = rows.columnCount
                unsafe cursor.pointee.window = rows.window
                unsafe cursor.pointee.end = min(rows.window.end, rows.count)
                unsafe cursor.pointee.row = rows.window.start
            }
            unsafe cursor.pointee.skip()
            return SQLITE_OK
        }
        unsafe module.xNext = { cursor in
            guard let cursor = unsafe ImportRowsModule.cursor(cursor) else { return SQLITE_MISUSE }
            unsafe cursor.pointee.row += 1
            unsafe cursor.pointee.skip()
            return SQLITE_OK
        }
        unsafe module.xEof = { cursor in
            guard let cursor = unsafe ImportRowsModule.cursor(cursor) else { return 1 }
            return unsafe cursor.pointee.row < cursor.pointee.end ? 0 : 1
        }
    }

    private static func setCells(of module: inout sqlite3_module) {
        unsafe module.xRowid = { cursor, result in
            guard let cursor = unsafe ImportRowsModule.cursor(cursor) else { return SQLITE_MISUSE }
            unsafe result?.pointee = sqlite3_int64(cursor.pointee.row)
            return SQLITE_OK
        }
        unsafe module.xColumn = { cursor, context, column in
            guard let cursor = unsafe ImportRowsModule.cursor(cursor) else { return SQLITE_MISUSE }
            let row = unsafe cursor.pointee.row
            guard unsafe column < cursor.pointee.columnCount else {
                unsafe sqlite3_result_int64(context, sqlite3_int64(row))
                return SQLITE_OK
            }
            let cell = unsafe cursor.pointee.cells[row * cursor.pointee.slotCount + Int(column)]
            // SAFETY: bytes stay at their address until the statement is reset, so SQLite doesn't have to copy them.
            guard let context = unsafe context else { return SQLITE_MISUSE }
            return unsafe cell.pass(to: ResultDestination(context: context), cursor.pointee.text)
        }
    }

    // SAFETY: SQLite passes the cursor that xOpen made.
    private static func cursor(_ base: UnsafeMutablePointer<sqlite3_vtab_cursor>?) -> UnsafeMutablePointer<Cursor>? {
        unsafe UnsafeMutableRawPointer(base)?.assumingMemoryBound(to: Cursor.self)
    }
}
