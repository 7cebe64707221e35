// The one part of a connection that another thread may use: it interrupts what the connection is doing.

import CSystemSQLite
import PlistStreaming

/// Interrupts the running statements of a connection, from any thread.
///
/// They throw ``SQLiteResultCode/interrupt``; a statement that was changing rows undoes its changes, and SQLite may roll
/// back its transaction. After the connection is closed, and while nothing runs, interrupting does nothing.
@safe
public final class SQLiteInterrupter: @unchecked Sendable {
    // SAFETY: the connection is read and written under the lock only, and taken away before it is closed.
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

    /// Forgets the connection, which is about to be closed.
    func invalidate() {
        lock.withLock { unsafe connection = nil }
    }
}
