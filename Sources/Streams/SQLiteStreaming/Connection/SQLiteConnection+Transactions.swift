// Transactions and savepoints, which commit or undo all their changes and can be nested to any depth.

import CSystemSQLite
import PlistStreaming

extension SQLiteConnection {
    /// When a transaction takes its locks; see https://sqlite.org/lang_transaction.html.
    public enum TransactionKind: String, Sendable {
        /// With its first statement. If a transaction that has read begins to write, it may fail with `busy`.
        case deferred = "DEFERRED"
        /// Immediately, for writing. Other connections can still read.
        case immediate = "IMMEDIATE"
        /// Immediately. Other connections can't read either, unless the journal mode is `wal`.
        case exclusive = "EXCLUSIVE"
    }

    /// Runs a closure as one transaction: commits its changes, or rolls all of them back if it throws.
    ///
    /// Within an open transaction, it is a savepoint, and only the changes of the closure are rolled back. A rollback can
    /// fail, for example while an interrupted statement is still on a row. The error is then in ``rollbackFailure``, and no
    /// statement runs before ``rollBack()``. If SQLite rolls the transaction back after an error, no more statements run in
    /// the closure, because each of them would be committed on its own.
    /// - Throws: The error of the closure; an error of beginning or committing the transaction, after which nothing is
    ///   changed.
    @discardableResult
    public func transaction<Value>(
        _ kind: TransactionKind = .immediate, _ body: () throws -> Value
    ) throws -> Value {
        try scoped(beginScope(isInTransaction ? nil : kind), body)
    }

    /// Runs a closure as a savepoint, or as a transaction if none is open. Keeps its changes, or undoes them if it throws,
    /// like ``transaction(_:_:)``.
    ///
    /// - Throws: The error of the closure; an error of beginning or ending the savepoint, after which nothing is changed.
    @discardableResult
    public func savepoint<Value>(_ body: () throws -> Value) throws -> Value { try scoped(beginScope(nil), body) }

    private func scoped<Value>(_ scope: Scope, _ body: () throws -> Value) throws -> Value {
        do {
            let value = try body()
            try scope.keep()
            return value
        } catch {
            scope.undo(after: error)
            throw error
        }
    }

    /// Does the same as ``transaction(_:_:)`` for closures that throw only errors of SQLite.
    package func atomically(_ body: () throws(SQLiteError) -> Void) throws(SQLiteError) {
        try scoped(beginScope(isInTransaction ? nil : .immediate), body)
    }

    /// Does the same as ``savepoint(_:)`` for closures that throw only errors of SQLite.
    package func undoably(_ body: () throws(SQLiteError) -> Void) throws(SQLiteError) {
        try scoped(beginScope(nil), body)
    }

    private func scoped(_ scope: Scope, _ body: () throws(SQLiteError) -> Void) throws(SQLiteError) {
        do throws(SQLiteError) {
            try body()
            try scope.keep()
        } catch {
            scope.undo(after: error)
            throw error
        }
    }

    /// Begins a transaction. End it with ``commit()`` or ``rollBack()``.
    ///
    /// - Throws: `busy` if the locks aren't available; `error` within a transaction.
    public func begin(_ kind: TransactionKind = .immediate) throws(SQLiteError) {
        try control("BEGIN \(kind.rawValue)")
    }

    /// Commits the transaction that ``begin(_:)`` began.
    ///
    /// - Throws: `busy` while other connections read; the transaction then stays open. `error` if no transaction is open.
    ///   `misuse` while a part of it is incomplete: a closure of ``transaction(_:_:)`` or ``savepoint(_:)``, or an array of a
    ///   writer of rows.
    public func commit() throws(SQLiteError) {
        if isInTransaction, !openScopes.isEmpty {
            throw SQLiteError(.misuse, "a part of the transaction is still open: a closure, or an array of a writer")
        }
        try control("COMMIT")
    }

    /// Rolls back the open transaction with all its savepoints.
    ///
    /// - Throws: `error` if no transaction is open: SQLite itself ends a transaction after some errors. After any other
    ///   error, such as `interrupt` while an interrupted statement is on a row, the transaction is still open; see
    ///   ``rollbackFailure``.
    public func rollBack() throws(SQLiteError) {
        rollbackFailure = nil
        if !isInTransaction { openScopes = [] }
        defer { readAnew() }
        do throws(SQLiteError) {
            try control("ROLLBACK")
        } catch {
            if isInTransaction { rollbackFailure = error.rollbackFailure(nil) }
            throw error
        }
        openScopes = []
    }

    // SPEC: pager_unlock of sqlite/src/pager.c: after a rollback on a full disk, the file and its journal stay as they are until
    // the next read.
    /// Reads the file after a rollback if the file couldn't be written, so that SQLite undoes the changes in it.
    private func readAnew() {
        guard hasFailedToWrite, !isInTransaction else { return }
        hasFailedToWrite = false
        try? control("PRAGMA schema_version")
    }

    /// Runs a statement that begins or ends a transaction or savepoint, even in a cancelled task.
    private func control(_ sql: String) throws(SQLiteError) {
        try cancellation.deferred { () throws(SQLiteError) in try cachedStatement(sql).run() }
    }

    // MARK: Scopes

    /// Begins a transaction of the given kind, or a savepoint, which is a transaction if none is open.
    func beginScope(_ kind: TransactionKind?) throws(SQLiteError) -> Scope {
        let isOutermost = !isInTransaction
        let name = "stream\(openScopes.count + 1)"
        try control(kind.map { "BEGIN \($0.rawValue)" } ?? "SAVEPOINT \(name)")
        scopeCount += 1
        openScopes.append(scopeCount)
        return Scope(
            connection: self, number: scopeCount, savepoint: kind == nil ? name : nil, isOutermost: isOutermost)
    }

    /// An open transaction or savepoint. The code that begins it also ends it, after all scopes begun within it have ended.
    struct Scope {
        let connection: SQLiteConnection
        /// A number that no other scope of the connection ever has.
        let number: Int
        /// The name; nil for a transaction.
        let savepoint: String?
        let isOutermost: Bool

        static let endedByOthers = SQLiteError(
            .abort, "other code ended the transaction of these changes, which may be undone")

        /// Throws if other code has ended the scope: by rolling it back with an outer one, or SQLite itself after an error.
        func checkIsOpen() throws(SQLiteError) {
            // Fast path: most calls are for the innermost scope.
            let isListed = connection.openScopes.last == number || connection.openScopes.contains(number)
            guard isListed, connection.isInTransaction else {
                throw Self.endedByOthers
            }
        }

        /// Keeps the changes made since the scope began, and commits if it is the outermost one.
        func keep() throws(SQLiteError) {
            try checkIsOpen()
            guard connection.openScopes.last == number else {
                throw SQLiteError(
                    .misuse, "a part of this transaction is still open: a closure, or an array of a writer"
                )
            }
            try connection.control(savepoint.map { "RELEASE \($0)" } ?? "COMMIT")
            connection.openScopes.removeLast()
        }

        /// Undoes the changes made since the scope began, unless they are undone already. The connection records a failure.
        func undo(after cause: (any Error)? = nil) {
            guard let index = connection.openScopes.lastIndex(of: number) else { return }
            connection.openScopes.removeSubrange(index...)
            defer { if index == 0 { connection.readAnew() } }
            guard connection.isInTransaction else { return }
            let earlier = connection.rollbackFailure
            connection.rollbackFailure = nil
            do throws(SQLiteError) {
                let target = isOutermost ? "" : savepoint.map { " TO \($0)" } ?? ""
                try connection.control("ROLLBACK\(target)")
            } catch {
                // If an inner scope couldn't be undone, its error is reported, since it came first.
                if connection.isInTransaction { connection.rollbackFailure = earlier ?? error.rollbackFailure(cause) }
                return
            }
            guard connection.isInTransaction else { return }
            // A savepoint that remains has no effect: all its changes are undone, and it ends with the outer scopes.
            try? connection.control("RELEASE \(savepoint ?? "")")
        }
    }

    /// Throws while a transaction is open that couldn't be rolled back, and within one that SQLite has rolled back.
    func checkIsRolledBack() throws(SQLiteError) {
        // A statement in the closure of a transaction that has ended would be committed on its own.
        if !openScopes.isEmpty, !isInTransaction {
            throw SQLiteError(
                .abort, "SQLite or other code rolled back the transaction; end its closure or array first")
        }
        guard let failure = rollbackFailure else { return }
        guard isInTransaction else { return rollbackFailure = nil }
        throw SQLiteError(
            .abort,
            "call rollBack() first, because \(failure.message); statements with a current row may have to be reset")
    }
}

extension SQLiteError {
    /// Makes the error of a failed rollback, including the reason for rolling back.
    fileprivate func rollbackFailure(_ cause: (any Error)?) -> SQLiteError {
        let reason = cause.map { ", after: \($0)" } ?? ""
        return SQLiteError(extendedCode, "a transaction could not be rolled back: \(message)\(reason)", sql: sql)
    }
}
