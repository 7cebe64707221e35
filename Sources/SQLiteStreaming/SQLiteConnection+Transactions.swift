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
    /// Within an open transaction it is a savepoint, of which only its own part is rolled back.
    /// - Throws: What the closure throws; an error of beginning or committing, after which nothing is changed.
    @discardableResult
    public func transaction<Value>(
        _ kind: TransactionKind = .immediate, _ body: () throws -> Value
    ) throws -> Value {
        if isInTransaction { return try savepoint(body) }
        try begin(kind)
        do {
            let value = try body()
            try commit()
            return value
        } catch {
            rollBackIfOpen()
            throw error
        }
    }

    /// Runs a closure as a part of a transaction, or as one when none is open: keeps what it did, or undoes it when it
    /// throws.
    ///
    /// - Throws: What the closure throws; an error of beginning or ending, after which nothing is changed.
    @discardableResult
    public func savepoint<Value>(_ body: () throws -> Value) throws -> Value {
        let savepoint = try beginSavepoint()
        do {
            let value = try body()
            try savepoint.release()
            return value
        } catch {
            savepoint.rollBack()
            throw error
        }
    }

    /// Does what ``transaction(_:_:)`` does with errors of SQLite only.
    func atomically(_ body: () throws(SQLiteError) -> Void) throws(SQLiteError) {
        if isInTransaction { return try undoably(body) }
        try begin()
        do throws(SQLiteError) {
            try body()
            try commit()
        } catch {
            rollBackIfOpen()
            throw error
        }
    }

    /// Does what ``savepoint(_:)`` does with errors of SQLite only.
    func undoably(_ body: () throws(SQLiteError) -> Void) throws(SQLiteError) {
        let savepoint = try beginSavepoint()
        do throws(SQLiteError) {
            try body()
            try savepoint.release()
        } catch {
            savepoint.rollBack()
            throw error
        }
    }

    /// Begins a transaction, which ``commit()`` or ``rollBack()`` ends.
    ///
    /// - Throws: `busy` when the locks are not to be had; `error` within a transaction.
    public func begin(_ kind: TransactionKind = .immediate) throws(SQLiteError) {
        try cachedStatement("BEGIN \(kind.rawValue)").run()
    }

    /// Commits the open transaction.
    ///
    /// - Throws: `busy` while others read, and the transaction stays open; `error` when none is open.
    public func commit() throws(SQLiteError) { try cachedStatement("COMMIT").run() }

    /// Undoes the open transaction.
    ///
    /// - Throws: `error` when none is open: SQLite ends a transaction by itself after some errors.
    public func rollBack() throws(SQLiteError) { try cachedStatement("ROLLBACK").run() }

    /// Undoes the open transaction, if SQLite has not done so.
    func rollBackIfOpen() {
        guard isInTransaction else { return }
        // A rollback fails only when there is nothing left to roll back: its error would hide the one that led here.
        try? rollBack()
    }

    /// Begins a savepoint, a transaction when none is open.
    func beginSavepoint() throws(SQLiteError) -> Savepoint {
        let name = "stream\(savepointDepth + 1)"
        try cachedStatement("SAVEPOINT \(name)").run()
        savepointDepth += 1
        return Savepoint(connection: self, name: name)
    }

    /// An open savepoint.
    struct Savepoint {
        let connection: SQLiteConnection
        let name: String

        /// Keeps what was done since it began; commits when it was the outermost one.
        func release() throws(SQLiteError) {
            try connection.cachedStatement("RELEASE \(name)").run()
            connection.savepointDepth -= 1
        }

        /// Undoes what was done since it began.
        func rollBack() {
            connection.savepointDepth -= 1
            guard connection.isInTransaction else { return }
            // See rollBackIfOpen.
            _ = try? connection.run("ROLLBACK TO \(name)")
            _ = try? connection.run("RELEASE \(name)")
        }
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

enum TransactionTests {}

extension TransactionTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testCommitsOrRollsBack": testCommitsOrRollsBack,
            "testNestsAsSavepoints": testNestsAsSavepoints,
            "testRollsBackACommitThatFails": testRollsBackACommitThatFails,
            "testSurvivesARollbackBySQLite": testSurvivesARollbackBySQLite,
            "testRefusesAnEndWithoutABeginning": testRefusesAnEndWithoutABeginning,
        ]
    }

    private struct Refusal: Error {}

    private static func connection() throws -> SQLiteConnection {
        let connection = try SQLiteConnection.inMemory()
        try connection.execute("CREATE TABLE t (a UNIQUE)")
        return connection
    }

    private static func rows(_ connection: SQLiteConnection) throws -> String {
        try connection.value("SELECT coalesce(group_concat(a), '') FROM t")?.text ?? "?"
    }

    private static func testCommitsOrRollsBack() throws {
        for kind in [SQLiteConnection.TransactionKind.deferred, .immediate, .exclusive] {
            let connection = try connection()
            let value = try connection.transaction(kind) {
                try connection.run("INSERT INTO t VALUES (1)")
                expectTrue(connection.isInTransaction, "inside")
                return 7
            }
            expectEqual(value, 7, "value")
            expectThrows(Refusal.self, "\(kind)") {
                try connection.transaction(kind) {
                    try connection.run("INSERT INTO t VALUES (2)")
                    throw Refusal()
                }
            }
            expectFalse(connection.isInTransaction, "outside")
            expectEqual(try rows(connection), "1", "rows")
        }
    }

    private static func testNestsAsSavepoints() throws {
        let connection = try connection()
        try connection.transaction {
            try connection.run("INSERT INTO t VALUES (1)")
            try connection.savepoint { try connection.run("INSERT INTO t VALUES (2)") }
            try? connection.transaction {
                try connection.run("INSERT INTO t VALUES (3)")
                try connection.savepoint { try connection.run("INSERT INTO t VALUES (4)") }
                throw Refusal()
            }
            try connection.run("INSERT INTO t VALUES (5)")
        }
        try connection.savepoint { try connection.run("INSERT INTO t VALUES (6)") }
        expectEqual(try rows(connection), "1,2,5,6", "rows")
        expectEqual(connection.savepointDepth, 0, "savepoints")
    }

    private static func testRollsBackACommitThatFails() throws {
        let connection = try connection()
        try connection.execute("CREATE TABLE u (a REFERENCES t (a) DEFERRABLE INITIALLY DEFERRED)")
        let error = expectThrows(SQLiteError.self, "a commit") {
            try connection.transaction { _ = try connection.run("INSERT INTO u VALUES (9)") }
        }
        expectEqual(error?.extendedCode, .constraintForeignKey, "code")
        expectFalse(connection.isInTransaction, "in a transaction")
        expectEqual(try connection.value("SELECT count(*) FROM u"), 0, "rows")
    }

    private static func testSurvivesARollbackBySQLite() throws {
        let connection = try connection()
        try connection.run("INSERT INTO t VALUES (1)")
        let error = expectThrows(SQLiteError.self, "a rollback by SQLite") {
            try connection.transaction {
                try connection.savepoint { try connection.run("INSERT OR ROLLBACK INTO t VALUES (1)") }
            }
        }
        expectEqual(error?.extendedCode, .constraintUnique, "the first error")
        expectEqual(connection.savepointDepth, 0, "savepoints")
        expectNoThrow("the next one") { try connection.transaction { try connection.run("INSERT INTO t VALUES (2)") } }
    }

    private static func testRefusesAnEndWithoutABeginning() throws {
        let connection = try connection()
        expectThrows(SQLiteError.self, "commit") { try connection.commit() }
        expectThrows(SQLiteError.self, "rollback") { try connection.rollBack() }
        try connection.begin()
        expectThrows(SQLiteError.self, "begin") { try connection.begin() }
        try connection.rollBack()
    }
}
#endif
