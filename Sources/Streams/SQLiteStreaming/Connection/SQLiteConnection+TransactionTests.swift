// The in-class tests of transactions and savepoints: nesting, errors, rollbacks that fail.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistCoding
import PlistStreaming

enum TransactionTests {}

extension TransactionTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testCommitsOrRollsBack": testCommitsOrRollsBack,
            "testNestsTransactionsAsSavepoints": testNestsTransactionsAsSavepoints,
            "testRollsBackFailedCommits": testRollsBackFailedCommits,
            "testSurvivesARollbackBySQLite": testSurvivesARollbackBySQLite,
            "testKeepsNothingOfEndedTransactions": testKeepsNothingOfEndedTransactions,
            "testRefusesUnbalancedTransactions": testRefusesUnbalancedTransactions,
            "testRefusesWorkUntilRollback": testRefusesWorkUntilRollback,
            "testRollsBackAllIfSavepointCannotRollBack": testRollsBackAllIfSavepointCannotRollBack,
            "testRollsBackDespiteOpenStatements": testRollsBackDespiteOpenStatements,
            "testRefusesToEndScopesOutOfOrder": testRefusesToEndScopesOutOfOrder,
            "testReportsUncommittedReturnedRow": testReportsUncommittedReturnedRow,
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

    private static func testNestsTransactionsAsSavepoints() throws {
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
        expectEqual(connection.openScopes, [], "savepoints")
    }

    private static func testRollsBackFailedCommits() throws {
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
        expectEqual(connection.openScopes, [], "savepoints")
        expectNoThrow("the next one") { try connection.transaction { try connection.run("INSERT INTO t VALUES (2)") } }
    }

    private static func testKeepsNothingOfEndedTransactions() throws {
        for end in ["INSERT OR ROLLBACK INTO t VALUES (1)", "ROLLBACK"] {
            for isNested in [false, true] {
                let connection = try connection()
                try connection.run("INSERT INTO t VALUES (1)")
                let error = expectThrows(SQLiteError.self, end) {
                    try connection.transaction {
                        try connection.run("INSERT INTO t VALUES (2)")
                        // Code that ignores this error.
                        try? connection.execute(end)
                        let insert = { _ = try connection.run("INSERT INTO t VALUES (3)") }
                        if isNested { try connection.transaction(.immediate, insert) } else { try insert() }
                    }
                }
                expectEqual(error?.code, .abort, "code after \(end)")
                expectEqual(try rows(connection), "1", "rows after \(end), nested: \(isNested)")
                expectNoThrow("the next one") { try connection.transaction { try connection.run("DELETE FROM t") } }
            }
        }
    }

    private static func testRefusesUnbalancedTransactions() throws {
        let connection = try connection()
        expectThrows(SQLiteError.self, "commit") { try connection.commit() }
        expectThrows(SQLiteError.self, "rollback") { try connection.rollBack() }
        try connection.begin()
        expectThrows(SQLiteError.self, "begin") { try connection.begin() }
        try connection.rollBack()
    }

    /// Returns an interrupted statement on its first row. While it exists, SQLite interrupts all other statements.
    private static func interrupted(_ connection: SQLiteConnection) throws -> SQLiteStatement {
        let statement = try connection.prepare("VALUES (1), (2), (3)")
        _ = try statement.step()
        connection.interrupter.interrupt()
        return statement
    }

    private static func testRefusesWorkUntilRollback() throws {
        let insert = "INSERT INTO t VALUES (1)"
        typealias Body = (SQLiteConnection, () throws -> Void) throws -> Void
        let variants: [(String, Body)] = [
            ("transaction", { try $0.transaction(.immediate, $1) }), ("savepoint", { try $0.savepoint($1) }),
            ("in a transaction", { one, body in try one.transaction { try? one.transaction(.immediate, body) } }),
            (
                "begin",
                { one, body in
                    try one.begin()
                    do { try body() } catch { try one.rollBack() }
                }
            ),
        ]
        for (name, variant) in variants {
            let file = try TemporaryDatabase()
            let connection = try file.open()
            try connection.execute("CREATE TABLE t (a)")
            let prepared = try connection.prepare(insert)
            var reader: SQLiteStatement?
            let error = expectThrows(SQLiteError.self, name) {
                try variant(connection) {
                    try connection.run(insert)
                    reader = try interrupted(connection)
                    // SQLite itself rolls the transaction back if a writing statement is interrupted.
                    try connection.run("SELECT * FROM t")
                }
            }
            expectTrue([.interrupt, .abort].contains(error?.code), "the first error of \(name): \(error as Any)")
            expectTrue(connection.isInTransaction, "an open transaction after \(name)")
            expectNotNil(connection.rollbackFailure, "\(name)")
            let refused: [() throws -> Void] = [
                { try connection.run(insert) }, { try prepared.run() }, { try connection.execute("SELECT 1") },
                { try connection.transaction {} }, { try connection.savepoint {} }, { try connection.commit() },
                {
                    var trace = EventTrace(); try connection.query("SELECT * FROM t", into: &trace)
                },
                {
                    var writer = try SQLiteTableWriter(connection, table: "t"); try writer.write(any: [["a": 1]])
                },
            ]
            for (index, work) in refused.enumerated() {
                let error = expectThrows((any Error).self, "work \(index) after \(name)") { try work() }
                expectTrue(error.map { "\($0)".contains("call rollBack() first") } ?? false, "\(error as Any)")
            }
            expectThrows(SQLiteError.self, "a rollback while it is interrupted") { try connection.rollBack() }
            expectThrows(SQLiteError.self, "still") { try connection.run(insert) }
            reader?.reset()
            try connection.rollBack()
            expectNil(connection.rollbackFailure, "after a rollback")
            for _ in 0..<3 { try connection.transaction { _ = try connection.run(insert) } }
            reader = nil
            expectEqual(try file.open().value("SELECT count(*) FROM t"), 3, "rows that others see after \(name)")
        }
    }

    private static func testRollsBackAllIfSavepointCannotRollBack() throws {
        let connection = try connection()
        var readers: [SQLiteStatement] = []
        expectThrows(SQLiteError.self, "a transaction with a part that cannot be undone") {
            try connection.transaction {
                try connection.run("INSERT INTO t VALUES (1)")
                try? connection.savepoint {
                    try connection.run("INSERT INTO t VALUES (2)")
                    readers = [try interrupted(connection)]
                    throw Refusal()
                }
                expectTrue(connection.rollbackFailure?.message.contains("Refusal()") ?? false, "the reason")
                // The outer transaction can be rolled back, which also undoes the inner one.
                readers.removeAll { $0.isOnRow }
                try connection.run("INSERT INTO t VALUES (3)")
            }
        }
        expectNil(connection.rollbackFailure, "after the transaction around it")
        expectFalse(connection.isInTransaction, "in a transaction")
        expectEqual(try rows(connection), "", "rows")
    }

    private static func testRollsBackDespiteOpenStatements() throws {
        for isSavepoint in [false, true] {
            for isNested in [false, true] {
                let file = try TemporaryDatabase()
                let connection = try file.open()
                try connection.execute("CREATE TABLE t (a); INSERT INTO t VALUES (0)")
                let writing = try connection.prepare("INSERT INTO t VALUES (1), (2), (3) RETURNING a")
                let reading = try connection.prepare("SELECT a FROM t UNION ALL SELECT 9")
                func body() throws {
                    _ = try reading.step()
                    _ = try writing.step()
                    throw Refusal()
                }
                func part() throws {
                    if isSavepoint { try connection.savepoint(body) } else { try connection.transaction { try body() } }
                }
                expectThrows(Refusal.self, "the first error") {
                    try isNested ? connection.transaction { try part() } : part()
                }
                for statement in [writing, reading] { statement.reset() }
                if connection.isInTransaction { try connection.rollBack() }
                try connection.transaction { _ = try connection.run("INSERT INTO t VALUES (4)") }
                expectEqual(try file.open().value("SELECT group_concat(a) FROM t"), "0,4", "rows that others see")
            }
        }
    }

    private static func testRefusesToEndScopesOutOfOrder() throws {
        let connection = try connection()
        let outer = try connection.beginScope(.immediate)
        let inner = try connection.beginScope(nil)
        try connection.run("INSERT INTO t VALUES (1)")
        for end in [{ try outer.keep() }, { try connection.commit() }] {
            let error = expectThrows(SQLiteError.self, "the outer one first") { try end() }
            expectEqual(error?.code, .misuse, "code")
        }
        outer.undo()
        expectEqual(expectThrows(SQLiteError.self, "the inner one") { try inner.keep() }?.code, .abort, "code")
        inner.undo()
        expectEqual(try rows(connection), "", "rows")
        // A scope whose transaction was committed doesn't treat the next transaction as its own.
        let old = try connection.beginScope(.immediate)
        try connection.execute("COMMIT")
        expectThrows(SQLiteError.self, "another one before it has ended") { _ = try connection.beginScope(.immediate) }
        expectThrows(SQLiteError.self, "one that was committed by others") { try old.keep() }
        old.undo()
        let new = try connection.beginScope(.immediate)
        old.undo()
        expectNoThrow("the new one") { try new.keep() }
    }

    private static func testReportsUncommittedReturnedRow() throws {
        let connection = try SQLiteConnection.inMemory()
        try connection.execute(
            "CREATE TABLE p (id INTEGER PRIMARY KEY);"
                + "CREATE TABLE c (id INTEGER PRIMARY KEY, p REFERENCES p (id) DEFERRABLE INITIALLY DEFERRED)")
        let error = expectThrows(SQLiteError.self, "a parent that is missing") {
            _ = try connection.value("INSERT INTO c (p) VALUES (7) RETURNING id")
        }
        expectEqual(error?.extendedCode, .constraintForeignKey, "code")
        expectEqual(try connection.value("SELECT count(*) FROM c"), 0, "rows")
        expectEqual(try connection.value("INSERT INTO p VALUES (7), (8) RETURNING id"), 7, "the first row")
        expectEqual(try connection.value("SELECT count(*) FROM p"), 2, "rows that are kept")
        let rows = expectThrows(SQLiteError.self, "rows that change") {
            _ = try connection.fetchCursor("INSERT INTO p VALUES (9) RETURNING id", as: Int.self)
        }
        expectEqual(rows?.code, .misuse, "code of rows that change")
        expectEqual(try connection.value("SELECT count(*) FROM p"), 2, "nothing was inserted")
    }
}
#endif
