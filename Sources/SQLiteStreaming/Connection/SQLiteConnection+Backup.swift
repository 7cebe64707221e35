// A copy of a whole database, page by page, by SQLite's backup.

import CSystemSQLite
import PlistStreaming

extension SQLiteConnection {
    /// Makes another database a copy of this one: tables with their row ids, constraints, indexes, views, triggers, settings.
    ///
    /// ```swift
    /// try connection.backUp(to: SQLiteConnection(path: "copy.sqlite", options: SQLiteOptions(access: .create)))
    /// ```
    /// The copy is of one moment, also while others write to this database. What the other one held is gone.
    /// - Throws: `busy` or `locked` while others write, or the other one is in use; what reading and writing throw, after
    ///   which the other database is what it was.
    /// - Complexity: O(pages).
    public func backUp(to copy: SQLiteConnection) throws(SQLiteError) {
        try checkIsRolledBack()
        try copy.checkIsRolledBack()
        let (source, target) = (try unsafe requireHandle(), try unsafe copy.requireHandle())
        // SAFETY: both handles are open until the end, since their connections are held by this call.
        guard let backup = unsafe sqlite3_backup_init(target, "main", source, "main") else {
            throw unsafe SQLiteError.make(sqlite3_errcode(target), target)
        }
        let code = unsafe sqlite3_backup_step(backup, -1)
        let end = unsafe sqlite3_backup_finish(backup)
        guard code == SQLITE_DONE, end == SQLITE_OK else {
            throw unsafe SQLiteError.make(end == SQLITE_OK ? code : end, target)
        }
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

enum BackupTests {}

extension BackupTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testCopiesEverything": testCopiesEverything,
            "testLeavesTheCopyAsItWas": testLeavesTheCopyAsItWas,
            "testOpensFilesByURIs": testOpensFilesByURIs,
        ]
    }

    private static let script = """
        PRAGMA user_version = 7; PRAGMA application_id = 8; PRAGMA page_size = 1024;
        CREATE TABLE t (a TEXT UNIQUE COLLATE NOCASE, b REFERENCES u (k) CHECK (b > 0));
        CREATE TABLE u (k INTEGER PRIMARY KEY AUTOINCREMENT, s AS (k + 1)); CREATE INDEX i ON t (b DESC);
        CREATE VIEW v AS SELECT * FROM t; CREATE TRIGGER r AFTER INSERT ON t BEGIN SELECT 1; END; CREATE TABLE empty (x);
        INSERT INTO u VALUES (5); INSERT INTO t (rowid, a, b) VALUES (9, CAST(x'610062' AS TEXT), 5), (3, x'00ff', 5);
        """

    private static func testCopiesEverything() throws {
        for mode in ["delete", "wal"] {
            let (file, other) = (try TemporaryDatabase(), try TemporaryDatabase())
            let source = try file.open()
            try source.execute("PRAGMA journal_mode = \(mode); \(script)")
            let copy = try other.open()
            try copy.execute("CREATE TABLE old (x)")
            try source.backUp(to: copy)
            for sql in [
                "SELECT group_concat(sql) FROM sqlite_schema", "SELECT group_concat(rowid || hex(a) || b) FROM t",
                "PRAGMA user_version", "PRAGMA application_id", "PRAGMA page_size", "SELECT seq FROM sqlite_sequence",
                "PRAGMA integrity_check",
            ] {
                expectEqual(try copy.value(sql), try source.value(sql), "\(sql) of \(mode)")
            }
        }
    }

    private static func testLeavesTheCopyAsItWas() throws {
        let (file, other) = (try TemporaryDatabase(), try TemporaryDatabase())
        let source = try file.open()
        try source.execute(script)
        let copy = try other.open()
        try copy.execute("CREATE TABLE old (x)")
        let writer = try file.open()
        try writer.begin(.exclusive)
        expectEqual(expectThrows(SQLiteError.self, "a locked one") { try source.backUp(to: copy) }?.code, .busy, "code")
        try writer.rollBack()
        try copy.begin()
        expectThrows(SQLiteError.self, "one that is in use") { try source.backUp(to: copy) }
        try copy.rollBack()
        expectEqual(try copy.tableNames(), ["old"], "tables")
        expectThrows(SQLiteError.self, "itself") { try copy.backUp(to: copy) }
    }

    private static func testOpensFilesByURIs() throws {
        let file = try TemporaryDatabase()
        for name in ["a b", "50%20?x=1#y", "größer", "plain"] {
            let path = "\(file.directory)/\(name)"
            try SQLiteConnection(path: path, options: SQLiteOptions(access: .create)).execute("CREATE TABLE t (a)")
            var options = SQLiteOptions(access: .readOnly)
            options.fileParameters = "immutable=1"
            expectEqual(try SQLiteConnection(path: path, options: options).tableNames(), ["t"], name)
        }
    }
}
#endif
