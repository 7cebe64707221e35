// The common part of this library's virtual tables: rows in this process's memory, which are read from the first to the last.
// Each table supplies the functions of the module that return its rows.
// Source: https://sqlite.org/vtab.html

import CSystemSQLite

/// Virtual tables as SQLite sees them: tables and cursors begin with SQLite's own structures.
package enum VirtualTable {
    /// Makes the module of a table that returns all its rows in order, without `xConnect`, `xOpen` and the functions of
    /// cursors.
    package static func makeModule() -> sqlite3_module {
        var module = sqlite3_module()
        module.iVersion = 1
        // Without xCreate, the table exists in every connection with the module, and in no schema.
        // SAFETY: SQLite passes back the results of `connect` and `open` once.
        unsafe module.xDisconnect = { table in
            unsafe UnsafeMutableRawPointer(table)?.deallocate()
            return SQLITE_OK
        }
        unsafe module.xClose = { cursor in
            unsafe UnsafeMutableRawPointer(cursor)?.deallocate()
            return SQLITE_OK
        }
        // Statements name this table first, so SQLite reads it once.
        unsafe module.xBestIndex = { _, plan in
            unsafe plan?.pointee.estimatedCost = 1_000_000
            unsafe plan?.pointee.estimatedRows = 1_000
            return SQLITE_OK
        }
        return module
    }

    /// Creates a table with columns for SQLite. Its Swift part must be trivial, since it isn't deinitialized.
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

    /// Creates a cursor for SQLite. Its Swift part must be trivial, since it isn't deinitialized.
    package static func open<Cursor: BitwiseCopyable>(
        _ cursor: Cursor, _ result: UnsafeMutablePointer<UnsafeMutablePointer<sqlite3_vtab_cursor>?>?
    ) -> Int32 {
        let made = UnsafeMutablePointer<Cursor>.allocate(capacity: 1)
        unsafe made.initialize(to: cursor)
        unsafe result?.pointee = UnsafeMutableRawPointer(made).assumingMemoryBound(to: sqlite3_vtab_cursor.self)
        return SQLITE_OK
    }
}
