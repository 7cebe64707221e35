// Rows out from inside of SQLite: an aggregate function gets the cells of each row, so that a row costs no return from
// `sqlite3_step` and no call for each of its cells.

import CSystemSQLite
import PlistStreaming

/// An SQL function of a connection that hands its arguments over as the cells of a row.
@safe
final class RowFunction {
    /// The query whose rows are taken now; nil while nothing is read by the function.
    typealias Taker = Unmanaged<RowScan>?

    /// A name that no other function has.
    let name: String
    // SAFETY: freed by SQLite with the function, which the connection outlives.
    private let taker: UnsafeMutablePointer<Taker>

    init(_ connection: SQLiteConnection) throws(SQLiteError) {
        name = SQLiteName.random("stream_row_")
        let taker = UnsafeMutablePointer<Taker>.allocate(capacity: 1)
        unsafe taker.initialize(to: nil)
        unsafe self.taker = unsafe taker
        // SAFETY: SQLite passes the address to the closures until it destroys the function, when the last one frees it; it
        // does so as well when creating fails.
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
        // What takes the row may run other statements, of which none is to call this function for it.
        unsafe place.pointee = nil
        let isTaken = unsafe taker._withUnsafeGuaranteedRef { taker in unsafe taker.take(values, count) }
        unsafe place.pointee = unsafe taker
        if !isTaken { unsafe sqlite3_result_error(context, "the rows are not wanted", -1) }
    }

    /// Steps a statement that calls the function with all its rows; returns SQLite's result code.
    func run(_ statement: SQLiteStatement, _ taker: RowScan) -> Int32 {
        withExtendedLifetime(taker) {
            let outer = unsafe self.taker.pointee
            unsafe self.taker.pointee = unsafe Unmanaged.passUnretained(taker)
            let code = unsafe statement.connection.cancellation.step(statement.handle)
            // The memory is there still: a connection is not closed while it has a statement.
            unsafe self.taker.pointee = unsafe outer
            return code
        }
    }
}
