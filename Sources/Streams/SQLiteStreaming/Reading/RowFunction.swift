// An aggregate function that receives the cells of each row inside SQLite, so that a row needs neither a return from
// `sqlite3_step` nor a call for each of its cells.

import CSystemSQLite
import PlistStreaming

/// An SQL function of a connection that passes on its arguments as the cells of a row.
@safe
final class RowFunction {
    /// The query whose rows are being received, or nil while the function isn't used.
    typealias Taker = Unmanaged<RowScan>?

    /// The name, which no other function has.
    let name: String
    // SAFETY: SQLite frees it with the function, which the connection outlives.
    private let taker: UnsafeMutablePointer<Taker>

    init(_ connection: SQLiteConnection) throws(SQLiteError) {
        name = SQLiteName.random("stream_row_")
        let taker = UnsafeMutablePointer<Taker>.allocate(capacity: 1)
        unsafe taker.initialize(to: nil)
        unsafe self.taker = unsafe taker
        // SAFETY: SQLite passes the address to the closures until it destroys the function; the last closure then frees it.
        // SQLite also calls it if creating the function fails.
        try unsafe connection.check(
            sqlite3_create_function_v2(
                connection.requireHandle(), name, -1, SQLITE_UTF8 | SQLITE_DIRECTONLY, taker, nil, Self.step, { _ in },
                { unsafe $0?.assumingMemoryBound(to: Taker.self).deallocate() }))
    }

    // SAFETY: the user data is the address above; the taker lives while `run` steps the statement.
    private static let step: @convention(c) (OpaquePointer?, Int32, UnsafeMutablePointer<OpaquePointer?>?) -> Void = {
        context, count, values in
        guard let place = unsafe sqlite3_user_data(context)?.assumingMemoryBound(to: Taker.self),
            let taker = unsafe place.pointee, let values = unsafe values
        else { return unsafe sqlite3_result_error(context, "the function is for queries of this library", -1) }
        // The code that receives the row may run other statements, which must not call this function for the same query.
        unsafe place.pointee = nil
        let isTaken = unsafe taker._withUnsafeGuaranteedRef { taker in unsafe taker.take(values, count) }
        unsafe place.pointee = unsafe taker
        if !isTaken { unsafe sqlite3_result_error(context, "the rows are not wanted", -1) }
    }

    /// Steps a statement that calls the function with all its rows, and returns SQLite's result code.
    func run(_ statement: SQLiteStatement, _ taker: RowScan) -> Int32 {
        withExtendedLifetime(taker) {
            let outer = unsafe self.taker.pointee
            unsafe self.taker.pointee = unsafe Unmanaged.passUnretained(taker)
            let code = unsafe statement.connection.cancellation.step(statement.handle)
            // The memory still exists: a connection isn't closed while it has a statement.
            unsafe self.taker.pointee = unsafe outer
            return code
        }
    }
}
