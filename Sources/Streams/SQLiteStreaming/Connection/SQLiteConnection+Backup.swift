// Copies a whole database page by page with SQLite's backup functions.

import CSystemSQLite
import PlistStreaming

extension SQLiteConnection {
    /// Replaces another database with a copy of this one: tables with their row ids, constraints, indexes, views, triggers,
    /// settings.
    ///
    /// ```swift
    /// try connection.backUp(to: SQLiteConnection(path: "copy.sqlite", options: SQLiteOptions(access: .create)))
    /// ```
    /// The copy is a snapshot of one moment, even if other connections write to this database. The previous content of the
    /// other database is lost. The closure is called after every 256 pages, and at the end, with the number of copied pages
    /// and the number of all pages.
    /// - Throws: `busy` or `locked` while other connections write or the other database is in use; errors of reading and
    ///   writing. After an error the other database is unchanged.
    /// - Complexity: O(pages).
    public func backUp(
        to copy: SQLiteConnection, advance: ((_ copied: Int, _ all: Int) -> Void)? = nil
    ) throws(SQLiteError) {
        try checkIsRolledBack()
        try copy.checkIsRolledBack()
        // A transaction that has read something keeps the snapshot between two steps of the backup.
        let isHeld = advance != nil && !isInTransaction
        if isHeld { try begin(.deferred) }
        defer { if isHeld { try? rollBack() } }
        if advance != nil { _ = try value("SELECT count(*) FROM sqlite_schema") }
        let (source, target) = (try unsafe requireHandle(), try unsafe copy.requireHandle())
        // SAFETY: both handles are open until the end because this call retains both connections.
        guard let backup = unsafe sqlite3_backup_init(target, "main", source, "main") else {
            throw unsafe SQLiteError.make(sqlite3_errcode(target), target)
        }
        var code = SQLITE_OK
        while code == SQLITE_OK {
            code = unsafe sqlite3_backup_step(backup, advance == nil ? -1 : 256)
            let (all, left) = unsafe (Int(sqlite3_backup_pagecount(backup)), Int(sqlite3_backup_remaining(backup)))
            if code == SQLITE_OK || code == SQLITE_DONE { advance?(all - left, all) }
        }
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
            "testFailedBackupDoesNotChangeTheCopy": testFailedBackupDoesNotChangeTheCopy,
            "testReportsProgress": testReportsProgress,
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

    private static func testFailedBackupDoesNotChangeTheCopy() throws {
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

    private static func testReportsProgress() throws {
        for mode in ["delete", "wal"] {
            let (file, other) = (try TemporaryDatabase(), try TemporaryDatabase())
            let source = try file.open()
            try source.execute("PRAGMA page_size = 512; PRAGMA journal_mode = \(mode); CREATE TABLE t (a)")
            try source.execute("INSERT INTO t VALUES (zeroblob(400000))")
            let all = Int(try source.value("PRAGMA page_count")?.integer ?? 0)
            let (copy, writer) = (try other.open(), try file.open())
            var counts: [Int] = []
            try source.backUp(to: copy) { copied, total in
                counts.append(copied)
                expectEqual(total, all, "all pages in \(mode)")
                // Another connection writes meanwhile, or fails to.
                try? writer.execute("INSERT INTO t VALUES (zeroblob(1000))")
            }
            expectEqual(counts, Array(stride(from: 256, to: all, by: 256)) + [all], "copied pages in \(mode)")
            expectEqual(try copy.value("SELECT count(*) FROM t"), .integer(1), "the moment of the beginning in \(mode)")
            expectFalse(source.isInTransaction, "a transaction is left in \(mode)")
            try writer.execute("INSERT INTO t VALUES (1)")
        }
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
