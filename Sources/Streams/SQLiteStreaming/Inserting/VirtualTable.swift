// What the virtual tables of this library have in common: rows in this process's memory, which are read from the first to the
// last. What the rows are is told by who makes a table, in the functions of the module that are left to it.
// Source: https://sqlite.org/vtab.html

import CSystemSQLite

/// Virtual tables on SQLite's side: tables and cursors begin with the structure that SQLite has of them.
package enum VirtualTable {
    /// The module of a table that has all its rows in order; `xConnect`, `xOpen` and what a cursor does are missing.
    package static func makeModule() -> sqlite3_module {
        var module = sqlite3_module()
        module.iVersion = 1
        // Without xCreate the table is there in every connection that has the module, and in no schema.
        // SAFETY: SQLite passes back what `connect` and `open` made, once.
        unsafe module.xDisconnect = { table in
            unsafe UnsafeMutableRawPointer(table)?.deallocate()
            return SQLITE_OK
        }
        unsafe module.xClose = { cursor in
            unsafe UnsafeMutableRawPointer(cursor)?.deallocate()
            return SQLITE_OK
        }
        // Statements name the table first, and so read it once.
        unsafe module.xBestIndex = { _, plan in
            unsafe plan?.pointee.estimatedCost = 1_000_000
            unsafe plan?.pointee.estimatedRows = 1_000
            return SQLITE_OK
        }
        return module
    }

    /// Gives SQLite a table with columns; what it has of Swift must need no end.
    package static func connect<Table: BitwiseCopyable>(
        _ table: @autoclosure () -> Table, columns: [String], _ connection: OpaquePointer?,
        _ result: UnsafeMutablePointer<UnsafeMutablePointer<sqlite3_vtab>?>?
    ) -> Int32 {
        let code = unsafe sqlite3_declare_vtab(connection, "CREATE TABLE x (\(columns.joined(separator: ", ")))")
        guard code == SQLITE_OK else { return code }
        unsafe csqlite_configure_table(connection, SQLITE_VTAB_DIRECTONLY)
        let made = UnsafeMutablePointer<Table>.allocate(capacity: 1)
        unsafe made.initialize(to: table())
        unsafe result?.pointee = UnsafeMutableRawPointer(made).assumingMemoryBound(to: sqlite3_vtab.self)
        return SQLITE_OK
    }

    /// Gives SQLite a cursor; what it has of Swift must need no end.
    package static func open<Cursor: BitwiseCopyable>(
        _ cursor: Cursor, _ result: UnsafeMutablePointer<UnsafeMutablePointer<sqlite3_vtab_cursor>?>?
    ) -> Int32 {
        let made = UnsafeMutablePointer<Cursor>.allocate(capacity: 1)
        unsafe made.initialize(to: cursor)
        unsafe result?.pointee = UnsafeMutableRawPointer(made).assumingMemoryBound(to: sqlite3_vtab_cursor.self)
        return SQLITE_OK
    }
}
