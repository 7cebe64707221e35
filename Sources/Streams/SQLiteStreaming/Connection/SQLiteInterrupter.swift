// Interrupts the running statements of a connection. This is the only part of a connection that other threads can use.

import CSystemSQLite
import PlistStreaming

/// Interrupts the running statements of a connection, from any thread.
///
/// The statements throw ``SQLiteResultCode/interrupt``. A statement that was changing rows undoes its changes, and SQLite may
/// roll back its transaction. Interrupting has no effect while no statement runs and after the connection is closed.
@safe
public final class SQLiteInterrupter: @unchecked Sendable {
    // SAFETY: the connection is read and written only while the lock is held, and it is set to nil before the connection is
    // closed.
    private var connection: OpaquePointer?
    private let lock = Lock()

    init(_ connection: OpaquePointer) {
        unsafe self.connection = connection
    }

    /// Interrupts the running statements.
    public func interrupt() {
        lock.withLock {
            if let connection = unsafe connection { unsafe sqlite3_interrupt(connection) }
        }
    }

    /// Removes the connection, which is about to be closed.
    func invalidate() {
        lock.withLock { unsafe connection = nil }
    }
}
