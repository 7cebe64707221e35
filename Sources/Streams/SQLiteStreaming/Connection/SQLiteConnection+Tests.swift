// The in-class tests of `SQLiteConnection`, on real files.

#if DEBUG || IN_CLASS_TESTS
import Dispatch
import InClassTesting

extension SQLiteConnection: SelfTesting {
    /// The tests of this type.
    public static var testSelectors: TestSelectors {
        [
            "testFollowsAccessModes": testFollowsAccessModes,
            "testAppliesOptions": testAppliesOptions,
            "testRefusesToCloseWithOpenStatements": testRefusesToCloseWithOpenStatements,
            "testRunsScripts": testRunsScripts,
            "testRequiresExactlyOneStatement": testRequiresExactlyOneStatement,
            "testCachesStatements": testCachesStatements,
            "testReportsLocks": testReportsLocks,
            "testReportsOtherFiles": testReportsOtherFiles,
            "testReportsDamage": testReportsDamage,
            "testEnforcesLimits": testEnforcesLimits,
            "testCanBeInterruptedFromAnotherThread": testCanBeInterruptedFromAnotherThread,
        ]
    }

    private static func testFollowsAccessModes() throws {
        let file = try TemporaryDatabase()
        for access in [SQLiteOptions.Access.readOnly, .readWrite] {
            let error = expectThrows(SQLiteError.self, "a missing file, \(access)") { _ = try file.open(access) }
            expectEqual(error?.code, .cannotOpen, "code")
            expectTrue(error?.message.hasSuffix(": No such file or directory") ?? false, "\(error?.message ?? "")")
        }
        expectEqual(file.names, [], "files")
        try file.open(.create).execute("CREATE TABLE t (a)")
        expectEqual(try file.open(.readWrite).run("INSERT INTO t VALUES (1), (2)"), 2, "rows")
        let reader = try file.open(.readOnly)
        expectEqual(try reader.value("SELECT count(*) FROM t"), 2, "rows read")
        let error = expectThrows(SQLiteError.self, "a write") { try reader.run("DELETE FROM t") }
        expectEqual(error?.code, .readOnly, "code of a write")
        for path in ["", "a\0b"] {
            expectThrows(SQLiteError.self, path.debugDescription) { _ = try SQLiteConnection(path: path) }
        }
    }

    private static func testAppliesOptions() throws {
        let file = try TemporaryDatabase()
        let options = SQLiteOptions(
            access: .create, busyTimeout: .milliseconds(1_500), journalMode: .wal, synchronization: .normal)
        let connection = try SQLiteConnection(path: file.path, options: options)
        expectEqual(try connection.value("PRAGMA journal_mode"), "wal", "journal mode")
        expectEqual(try connection.value("PRAGMA synchronous"), 1, "synchronization")
        expectEqual(try connection.value("PRAGMA busy_timeout"), 1500, "busy timeout")
        expectEqual(try connection.value("PRAGMA foreign_keys"), 1, "foreign keys")
        let error = expectThrows(SQLiteError.self, "a misspelt column") { try connection.run("SELECT \"nothing\"") }
        expectEqual(error?.message, "no such column: nothing", "message")
        let lenient = try SQLiteConnection.inMemory(
            options: SQLiteOptions(access: .create, enforcesForeignKeys: false, allowsDoubleQuotedStrings: true))
        expectEqual(try lenient.value("PRAGMA foreign_keys"), 0, "foreign keys switched off")
        expectEqual(try lenient.value("SELECT \"nothing\""), "nothing", "a string in double quotes")
    }

    private static func testRefusesToCloseWithOpenStatements() throws {
        let connection = try SQLiteConnection.inMemory()
        var statement: SQLiteStatement? = try connection.prepare("SELECT 1")
        let error = expectThrows(SQLiteError.self, "closing") { try connection.close() }
        expectEqual(error?.code, .busy, "code")
        expectTrue(try statement?.step() ?? false, "the statement goes on")
        statement = nil
        _ = try connection.cachedStatement("SELECT 2")
        try connection.close()
        try connection.close()
        let closed = expectThrows(SQLiteError.self, "a closed connection") { try connection.run("SELECT 1") }
        expectEqual(closed?.message, "the connection is closed", "message")
        connection.interrupter.interrupt()
        // A statement retains its connection.
        let alone = try SQLiteConnection.inMemory().prepare("SELECT 3")
        expectTrue(try alone.step(), "a row")
        expectEqual(alone.integer(at: 0), 3, "cell")
    }

    private static func testRunsScripts() throws {
        let connection = try SQLiteConnection.inMemory()
        try connection.execute(
            "CREATE TABLE t (a); -- one\nINSERT INTO t VALUES (1), (2), (3); SELECT * FROM t; DELETE FROM t WHERE a = 2;"
        )
        expectEqual(try connection.value("SELECT group_concat(a) FROM t"), "1,3", "rows")
        expectEqual(connection.lastInsertRowID, 3, "last row id")
        expectEqual(connection.changeCount, 1, "changes of the last statement")
        expectEqual(connection.totalChangeCount, 4, "all changes")
        let script = "INSERT INTO t VALUES (4); INSERT INTO u VALUES (1); DELETE FROM t"
        let error = expectThrows(SQLiteError.self, "a script") { try connection.execute(script) }
        expectEqual(error?.message, "no such table: u", "message")
        expectEqual(error?.sql, script, "script")
        expectEqual(try connection.value("SELECT count(*) FROM t"), 3, "rows up to the error")
    }

    private static func testRequiresExactlyOneStatement() throws {
        let connection = try SQLiteConnection.inMemory()
        for (sql, offset) in [("", nil), ("-- nothing", nil), ("SELECT 1; SELECT 2", 9)] {
            let error = expectThrows(SQLiteError.self, sql) { _ = try connection.prepare(sql) }
            expectEqual(error?.code, .misuse, "code for \(sql)")
            expectEqual(error?.byteOffset, offset, "offset for \(sql)")
        }
        expectNoThrow("a statement with a comment after it") { try connection.run("SELECT 1; -- the end") }
        expectNoThrow("closing") { try connection.close() }
    }

    private static func testCachesStatements() throws {
        let connection = try SQLiteConnection.inMemory(
            options: SQLiteOptions(access: .create, statementCacheSize: 2))
        func address(_ sql: String) throws -> OpaquePointer { try unsafe connection.cachedStatement(sql).handle }
        let first = try unsafe address("SELECT ?")
        expectTrue(try unsafe address("SELECT ?") == first, "the same statement")
        let used = try connection.cachedStatement("SELECT ?")
        try used.bind([1])
        let other = try connection.cachedStatement("SELECT ?")
        expectFalse(unsafe used.handle == other.handle, "one in use is not handed out")
        for number in 0..<5 { try connection.run("SELECT \(number)") }
        expectEqual(connection.idleStatements.count, 2, "kept statements")
        expectEqual(try connection.value("SELECT ?", [nil]), .null, "no value is left of an earlier use")
        // Names that are equal for `==` in Swift but have different bytes in SQL.
        for name in ["\u{E9}", "e\u{301}"] {
            expectEqual(
                try connection.value("SELECT hex('\(name)')"), try connection.value("SELECT hex(?)", [name]),
                "\(Array(name.utf8))")
        }
    }

    private static func testReportsLocks() throws {
        let file = try TemporaryDatabase()
        let first = try file.open()
        try first.execute("CREATE TABLE t (a)")
        let second = try file.open(.readWrite)
        try first.begin(.immediate)
        try first.run("INSERT INTO t VALUES (1)")
        let error = expectThrows(SQLiteError.self, "a second writer") { try second.run("INSERT INTO t VALUES (2)") }
        expectEqual(error?.code, .busy, "code")
        expectEqual(error?.message, "database is locked", "message")
        expectEqual(try second.value("SELECT count(*) FROM t"), 0, "a reader sees what is committed")
        try first.commit()
        expectEqual(try second.run("INSERT INTO t VALUES (2)"), 1, "the second writer after the first")
    }

    private static func testReportsOtherFiles() throws {
        let file = try TemporaryDatabase()
        try file.write(Array(repeating: 0x61, count: 4_096))
        let connection = try file.open(.readWrite)
        let error = expectThrows(SQLiteError.self, "a text file") { try connection.run("SELECT * FROM t") }
        expectEqual(error?.code, .notADatabase, "code")
        expectEqual(file.bytes(), Array(repeating: 0x61, count: 4_096), "the file afterwards")
        expectThrows(SQLiteError.self, "with a journal mode") {
            _ = try SQLiteConnection(path: file.path, options: SQLiteOptions(journalMode: .wal))
        }
    }

    private static func testReportsDamage() throws {
        let file = try TemporaryDatabase()
        try file.open().execute(
            """
            PRAGMA page_size = 512; CREATE TABLE t (a);
            WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) INSERT INTO t SELECT i FROM n
            """)
        try file.write(Array(repeating: 0xFF, count: 512), atOffset: 512 * 4)
        let connection = try file.open(.readOnly)
        let statement = try connection.prepare("SELECT a FROM t")
        let error = expectThrows(SQLiteError.self, "a damaged page") { while try statement.step() {} }
        expectEqual(error?.code, .corrupt, "code")
        expectEqual(error?.message, "database disk image is malformed", "message")
    }

    private static func testEnforcesLimits() throws {
        let connection = try SQLiteConnection.inMemory()
        expectEqual(connection.setLimit(.length, to: 1_000), 1_000_000_000, "before")
        expectEqual(connection.limit(.length), 1_000, "after")
        for value: SQLiteValue in [
            .text(String(repeating: "a", count: 1_001)), .blob(Array(repeating: 1, count: 1_001)),
        ] {
            let error = expectThrows(SQLiteError.self, "a long value") { _ = try connection.value("SELECT ?", [value]) }
            expectEqual(error?.code, .tooBig, "code")
        }
        expectNotNil(try connection.value("SELECT ?", [String(repeating: "a", count: 999)]), "a shorter one")
        let error = expectThrows(SQLiteError.self, "a long result") {
            _ = try connection.value("SELECT zeroblob(2000)")
        }
        expectEqual(error?.code, .tooBig, "code of a result")
    }

    private static func testCanBeInterruptedFromAnotherThread() throws {
        let connection = try SQLiteConnection.inMemory()
        let (interrupter, end) = (connection.interrupter, DispatchSemaphore(value: 0))
        // Neither a task nor a shared queue: with a single processor, these would wait for the statement.
        DispatchQueue(label: "interrupts").async {
            // Repeatedly, until the statement has begun and been interrupted.
            while end.wait(timeout: .now() + .milliseconds(1)) == .timedOut { interrupter.interrupt() }
        }
        defer { end.signal() }
        let error = expectThrows(SQLiteError.self, "an endless statement") {
            _ = try connection.value(
                "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n")
        }
        expectEqual(error?.code, .interrupt, "code")
    }
}
#endif
