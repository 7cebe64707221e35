// Transactions and savepoints: all or nothing, nested as deep as one likes.

import CSystemSQLite
import PlistStreaming

extension SQLiteConnection {
    /// When a transaction takes its locks; see https://sqlite.org/lang_transaction.html.
    public enum TransactionKind: String, Sendable {
        /// With its first statement. A read that becomes a write may then fail with `busy`.
        case deferred = "DEFERRED"
        /// At once, for writing; others may read.
        case immediate = "IMMEDIATE"
        /// At once, and others may not read either, unless the journal mode is `wal`.
        case exclusive = "EXCLUSIVE"
    }

    /// Runs a closure as one transaction: commits what it did, or rolls all of it back when it throws.
    ///
    /// Within an open transaction it is a savepoint, of which only its own part is rolled back. A rollback that fails, as
    /// when an interrupted statement is still on a row, is in ``rollbackFailure``, and nothing runs before ``rollBack()``. When
    /// SQLite rolls the transaction back after an error, nothing else runs in the closure, so that nothing is kept by itself.
    /// - Throws: What the closure throws; an error of beginning or committing, after which nothing is changed.
    @discardableResult
    public func transaction<Value>(
        _ kind: TransactionKind = .immediate, _ body: () throws -> Value
    ) throws -> Value {
        try scoped(beginScope(isInTransaction ? nil : kind), body)
    }

    /// Runs a closure as a part of a transaction, or as one when none is open: keeps what it did, or undoes it when it
    /// throws, as ``transaction(_:_:)`` does.
    ///
    /// - Throws: What the closure throws; an error of beginning or ending, after which nothing is changed.
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

    /// Does what ``transaction(_:_:)`` does with errors of SQLite only.
    package func atomically(_ body: () throws(SQLiteError) -> Void) throws(SQLiteError) {
        try scoped(beginScope(isInTransaction ? nil : .immediate), body)
    }

    /// Does what ``savepoint(_:)`` does with errors of SQLite only.
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

    /// Begins a transaction, which ``commit()`` or ``rollBack()`` ends.
    ///
    /// - Throws: `busy` when the locks are not to be had; `error` within a transaction.
    public func begin(_ kind: TransactionKind = .immediate) throws(SQLiteError) {
        try control("BEGIN \(kind.rawValue)")
    }

    /// Commits the transaction that ``begin(_:)`` began.
    ///
    /// - Throws: `busy` while others read, and the transaction stays open; `error` when none is open; `misuse` while a part
    ///   of it is not complete: a closure of ``transaction(_:_:)`` or ``savepoint(_:)``, or an array of a writer of rows.
    public func commit() throws(SQLiteError) {
        if isInTransaction, !openScopes.isEmpty {
            throw SQLiteError(.misuse, "expected all parts of the transaction to be complete, found one that is open")
        }
        try control("COMMIT")
    }

    /// Undoes the open transaction, with all of its parts.
    ///
    /// - Throws: `error` when none is open: SQLite ends a transaction by itself after some errors. After any other error,
    ///   such as `interrupt` while an interrupted statement is on a row, it is still open, see ``rollbackFailure``.
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

    // SPEC: pager_unlock of sqlite/src/pager.c: after a full disk, a rollback leaves the file and its journal to the next
    // reader.
    /// Reads the file after a rollback if the file could not be written, so that SQLite undoes what is in it.
    private func readAnew() {
        guard hasFailedToWrite, !isInTransaction else { return }
        hasFailedToWrite = false
        try? control("PRAGMA schema_version")
    }

    /// Runs a statement that begins or ends a transaction or a part of it, also in a cancelled task.
    private func control(_ sql: String) throws(SQLiteError) {
        try cancellation.deferred { () throws(SQLiteError) in try cachedStatement(sql).run() }
    }

    // MARK: Scopes

    /// Begins a transaction of a kind, or a savepoint, which is a transaction when none is open.
    func beginScope(_ kind: TransactionKind?) throws(SQLiteError) -> Scope {
        let isOutermost = !isInTransaction
        let name = "stream\(openScopes.count + 1)"
        try control(kind.map { "BEGIN \($0.rawValue)" } ?? "SAVEPOINT \(name)")
        scopeCount += 1
        openScopes.append(scopeCount)
        return Scope(
            connection: self, number: scopeCount, savepoint: kind == nil ? name : nil, isOutermost: isOutermost)
    }

    /// An open transaction or savepoint. Who began it ends it: it is kept after all that were begun in it have ended.
    struct Scope {
        let connection: SQLiteConnection
        /// No other scope of the connection ever has it.
        let number: Int
        /// The name; nil for a transaction.
        let savepoint: String?
        let isOutermost: Bool

        static let endedByOthers = SQLiteError(
            .abort, "the transaction around these changes was ended by others, and undone or not")

        /// Throws when it was ended by somebody else: rolled back with the one around it, or by SQLite.
        func checkIsOpen() throws(SQLiteError) {
            // The innermost one is asked mostly.
            let isListed = connection.openScopes.last == number || connection.openScopes.contains(number)
            guard isListed, connection.isInTransaction else {
                throw Self.endedByOthers
            }
        }

        /// Keeps what was done since it began; commits when it was the outermost one.
        func keep() throws(SQLiteError) {
            try checkIsOpen()
            guard connection.openScopes.last == number else {
                throw SQLiteError(
                    .misuse, "expected what was begun within this transaction to be complete, found a part that is open"
                )
            }
            try connection.control(savepoint.map { "RELEASE \($0)" } ?? "COMMIT")
            connection.openScopes.removeLast()
        }

        /// Undoes what was done since it began, if nobody else has; the connection remembers when that fails.
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
                // What could not be undone of a part within is named, since that was first.
                if connection.isInTransaction { connection.rollbackFailure = earlier ?? error.rollbackFailure(cause) }
                return
            }
            guard connection.isInTransaction else { return }
            // A savepoint that stays changes nothing: everything in it is undone, and it ends with those around it.
            try? connection.control("RELEASE \(savepoint ?? "")")
        }
    }

    /// Throws while a transaction is open that could not be rolled back, and within one that SQLite has rolled back.
    func checkIsRolledBack() throws(SQLiteError) {
        // What runs in the closure of a transaction that is gone would be kept by itself.
        if !openScopes.isEmpty, !isInTransaction {
            throw SQLiteError(
                .abort, "the transaction was rolled back, by SQLite after an error or by others; end it first")
        }
        guard let failure = rollbackFailure else { return }
        guard isInTransaction else { return rollbackFailure = nil }
        throw SQLiteError(
            .abort,
            "expected rollBack() first, since \(failure.message); statements that are on a row may have to be reset")
    }
}

extension SQLiteError {
    /// The error of a rollback with the reason for rolling back.
    fileprivate func rollbackFailure(_ cause: (any Error)?) -> SQLiteError {
        let reason = cause.map { ", after: \($0)" } ?? ""
        return SQLiteError(extendedCode, "a transaction could not be rolled back: \(message)\(reason)", sql: sql)
    }
}
