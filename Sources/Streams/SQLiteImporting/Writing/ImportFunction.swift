// The SQL function with which an upsert counts the rows that it finds.

import CSystemSQLite
import PlistStreaming
import SQLiteStreaming

/// A function that decides whether an upsert sets a row that it finds. It exists as long as this object.
@safe
final class ImportFunction {
    let name: String
    private let connection: SQLiteConnection

    init(_ rows: ImportRows, connection: SQLiteConnection) throws(SQLiteError) {
        // A name that no function has, and no other importer of the connection.
        name = SQLiteName.random("import_differs_")
        self.connection = connection
        // SAFETY: SQLite keeps a reference to the rows until it destroys the function, and then calls the last closure, which
        // releases it. SQLite also calls it if creating fails.
        let reference = unsafe Unmanaged.passRetained(rows).toOpaque()
        try unsafe connection.check(
            sqlite3_create_function_v2(
                connection.requireHandle(), name, -1, SQLITE_UTF8 | SQLITE_DIRECTONLY, reference,
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
        unsafe sqlite3_create_function_v2(handle, name, -1, SQLITE_UTF8, nil, nil, nil, nil, nil)
    }
}
