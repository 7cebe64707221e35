// Notices rolled back transactions, so that a writer doesn't report rows as kept that were undone after it wrote them.

import CSystemSQLite

/// Observes the ends of the transactions of a connection.
@safe
final class TransactionWatch {
    /// A transaction, and whether it was rolled back.
    final class Transaction {
        fileprivate(set) var isRolledBack = false
    }

    /// The open transaction, or the next one.
    private(set) var current = Transaction()
    /// A Boolean value that indicates whether SQLite is committing. The commit may still fail, and leave the transaction open.
    private var isCommitting = false

    /// - Parameter connection: A connection that is closed before this object is released.
    init(_ connection: OpaquePointer) {
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        // SAFETY: the context is this object, which is alive as long as the connection calls the closures.
        unsafe sqlite3_commit_hook(
            connection,
            { context in
                if let context = unsafe context {
                    unsafe Unmanaged<TransactionWatch>.fromOpaque(context).takeUnretainedValue().isCommitting = true
                }
                return 0
            }, context)
        unsafe sqlite3_rollback_hook(
            connection,
            { context in
                guard let context = unsafe context else { return }
                let watch = unsafe Unmanaged<TransactionWatch>.fromOpaque(context).takeUnretainedValue()
                watch.current.isRolledBack = true
                watch.begin()
            }, context)
    }

    /// Completes a commit after each statement that doesn't return a row.
    func endStatement(of connection: SQLiteConnection) {
        guard isCommitting else { return }
        if connection.isInTransaction { isCommitting = false } else { begin() }
    }

    private func begin() {
        isCommitting = false
        if !isKnownUniquelyReferenced(&current) || current.isRolledBack { current = Transaction() }
    }
}

/// The transaction of other code that contains the rows of a writer, if one is open.
package struct SurroundingTransaction: Equatable {
    private var transaction: TransactionWatch.Transaction?

    package init() {}

    /// Remembers the open transaction, in which rows are written next.
    package mutating func note(_ connection: SQLiteConnection) {
        transaction = connection.isInTransaction ? connection.transactions.current : nil
    }

    /// A Boolean value that indicates whether rows that were written before are undone.
    package var isRolledBack: Bool { transaction?.isRolledBack ?? false }

    package static func == (left: SurroundingTransaction, right: SurroundingTransaction) -> Bool {
        left.transaction === right.transaction
    }

    /// Throws if rows that were written before are undone.
    package func check() throws(SQLiteError) {
        if isRolledBack { throw SQLiteError(.abort, "the transaction that contains the earlier rows was rolled back") }
    }
}
