// The one part of a connection that another thread may use: it interrupts what the connection is doing.

import CSystemSQLite

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// Interrupts the running statements of a connection, from any thread.
///
/// They throw ``SQLiteResultCode/interrupt``; a statement that was changing rows undoes its changes, and SQLite may roll
/// back its transaction. After the connection is closed, and while nothing runs, interrupting does nothing.
@safe
public final class SQLiteInterrupter: @unchecked Sendable {
    // SAFETY: the connection is read and written under the mutex only, and taken away before it is closed.
    private var connection: OpaquePointer?
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>

    init(_ connection: OpaquePointer) {
        unsafe self.connection = connection
        unsafe mutex = .allocate(capacity: 1)
        unsafe mutex.initialize(to: pthread_mutex_t())
        unsafe pthread_mutex_init(mutex, nil)
    }

    deinit {
        unsafe pthread_mutex_destroy(mutex)
        unsafe mutex.deallocate()
    }

    /// Interrupts the running statements.
    public func interrupt() {
        unsafe pthread_mutex_lock(mutex)
        if let connection = unsafe connection { unsafe sqlite3_interrupt(connection) }
        unsafe pthread_mutex_unlock(mutex)
    }

    /// Forgets the connection, which is about to be closed.
    func invalidate() {
        unsafe pthread_mutex_lock(mutex)
        unsafe connection = nil
        unsafe pthread_mutex_unlock(mutex)
    }
}
