// An aggregate function that receives the cells of each row inside SQLite, so that a row needs neither a return from
// `sqlite3_step` nor a call for each of its cells.

import CSystemSQLite
import PlistStreaming

/// An SQL function of a connection that passes on its arguments as the cells of a row.
@safe
final class RowFunction {
    /// The query whose rows are being received, or nil while the function isn't used.
    typealias Receiver = Unmanaged<RowScan>?

    /// The name, which no other function has.
    let name: String
    // SAFETY: SQLite frees it with the function, which the connection outlives.
    private let receiver: UnsafeMutablePointer<Receiver>

    init(_ connection: SQLiteConnection) throws(SQLiteError) {
        name = SQLiteName.random("stream_row_")
        let receiver = UnsafeMutablePointer<Receiver>.allocate(capacity: 1)
        unsafe receiver.initialize(to: nil)
        unsafe self.receiver = unsafe receiver
        // SAFETY: SQLite passes the address to the closures until it destroys the function; the last closure then frees it.
        // SQLite also calls it if creating the function fails.
        try unsafe connection.check(
            sqlite3_create_function_v2(
                connection.requireHandle(), name, -1, SQLITE_UTF8 | SQLITE_DIRECTONLY, receiver, nil, Self.step,
                { _ in },
                { unsafe $0?.assumingMemoryBound(to: Receiver.self).deallocate() }))
    }

    // SAFETY: the user data is the address above; the receiver lives while `run` steps the statement.
    private static let step: @convention(c) (OpaquePointer?, Int32, UnsafeMutablePointer<OpaquePointer?>?) -> Void = {
        context, count, values in
        guard let place = unsafe sqlite3_user_data(context)?.assumingMemoryBound(to: Receiver.self),
            let receiver = unsafe place.pointee, let values = unsafe values
        else { return unsafe sqlite3_result_error(context, "this function is reserved for SQLiteStreaming", -1) }
        // The code that receives the row may run other statements, which must not call this function for the same query.
        unsafe place.pointee = nil
        let isReceived = unsafe receiver._withUnsafeGuaranteedRef { receiver in unsafe receiver.receive(values, count) }
        unsafe place.pointee = unsafe receiver
        if !isReceived { unsafe sqlite3_result_error(context, "the reader stopped before the last row", -1) }
    }

    /// Steps a statement that calls the function with all its rows, and returns SQLite's result code.
    func run(_ statement: SQLiteStatement, _ receiver: RowScan) -> Int32 {
        withExtendedLifetime(receiver) {
            let outer = unsafe self.receiver.pointee
            unsafe self.receiver.pointee = unsafe Unmanaged.passUnretained(receiver)
            let code = unsafe statement.connection.cancellation.step(statement.handle)
            // The memory still exists: a connection isn't closed while it has a statement.
            unsafe self.receiver.pointee = unsafe outer
            return code
        }
    }
}
