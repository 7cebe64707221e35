// Tables of an attached database: a copy of the rows with all that the schema says about the table itself.

import PlistStreaming

extension SQLiteConnection {
    /// Copies a table of an attached database into the main database, with its row ids, constraints, indexes and the largest id
    /// of an AUTOINCREMENT column.
    ///
    /// ```swift
    /// try connection.run("ATTACH ? AS source", ["other.sqlite"])
    /// try connection.copyTable("tasks", fromSchema: "source")
    /// ```
    ///
    /// Triggers and other tables are not copied. Rows that violate a CHECK constraint are.
    /// - Returns: False, without a copy, if the name is that of a view or a virtual table, or unknown.
    /// - Throws: `error` if the main database has a table or index with the name of one that is copied; other errors of reading
    ///   and writing. Rows that were copied before an error stay unless you call the function in a
    ///   transaction.
    /// - Complexity: O(*n* log *n*) in the rows because of the indexes.
    @discardableResult
    public func copyTable(_ name: String, fromSchema schema: String) throws(SQLiteError) -> Bool {
        let kinds = try rows(ofPragma: "table_list", name, inSchema: schema) { (row) throws(SQLiteError) in
            (name: try row.text(at: 1) ?? name, type: try row.text(at: 2), hasRowID: row.integer(at: 4) == 0)
        }
        guard let (name, type, hasRowID) = kinds.first, type == "table" else { return false }
        let source = SQLiteName.inQuotes(schema)
        let creation = "SELECT sql FROM \(source).sqlite_schema WHERE type = 'table' AND name = ?"
        guard let sql = try value(creation, [name])?.text else { return false }
        // One statement: a manipulated file may have more statements after it, which SQLite itself never runs.
        try run(sql)
        try copyRows(of: name, hasRowID: hasRowID, fromSchema: schema)
        let indexes = try prepare(
            """
            SELECT sql FROM \(source).sqlite_schema \
            WHERE type = 'index' AND tbl_name = ? COLLATE NOCASE AND sql IS NOT NULL
            """)
        try indexes.bind([name])
        var scripts: [String] = []
        while try indexes.step() { scripts.append(try indexes.text(at: 0) ?? "") }
        for sql in scripts { try run(Self.creatingInMain(sql)) }
        for schema in ["main", source] {
            let known = "SELECT 1 FROM \(schema).sqlite_schema WHERE name = 'sqlite_sequence'"
            guard try value(known) != nil else { return true }
        }
        try run("DELETE FROM main.sqlite_sequence WHERE name = ?", [name])
        try run(
            "INSERT INTO main.sqlite_sequence SELECT name, seq FROM \(source).sqlite_sequence WHERE name = ?", [name])
        return true
    }

    /// Returns the definition of an index as SQLite stores it, with the schema. Without the schema, the index would be one of a
    /// temporary table with the same name.
    private static func creatingInMain(_ sql: String) -> String {
        for start in ["CREATE INDEX ", "CREATE UNIQUE INDEX "] where sql.utf8.starts(with: start.utf8) {
            return start + "main." + String(Substring(sql.utf8.dropFirst(start.utf8.count)))
        }
        return sql
    }

    private func copyRows(of table: String, hasRowID: Bool, fromSchema schema: String) throws(SQLiteError) {
        let columns = try rows(ofPragma: "table_xinfo", table, inSchema: schema) { (row) throws(SQLiteError) in
            row.integer(at: 6) == 0 ? try row.text(at: 1) : nil
        }
        var names = columns.map(SQLiteName.inQuotes)
        // Ids are not accessible if columns have all three names.
        let rowID = ["rowid", "_rowid_", "oid"].first { id in !columns.contains { $0.lowercased() == id } }
        if hasRowID, let rowID { names.insert(rowID, at: 0) }
        let list = names.joined(separator: ", ")
        let isIgnoring = try value("PRAGMA ignore_check_constraints")?.integer ?? 0
        try execute("PRAGMA ignore_check_constraints = ON")
        defer { try? execute("PRAGMA ignore_check_constraints = \(isIgnoring)") }
        let quoted = SQLiteName.inQuotes(table)
        try execute(
            "INSERT INTO main.\(quoted) (\(list)) SELECT \(list) FROM \(SQLiteName.inQuotes(schema)).\(quoted)")
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

enum TableCopyTests {}

extension TableCopyTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testCopiesTables": testCopiesTables,
            "testLeavesTemporaryTablesAndSettings": testLeavesTemporaryTablesAndSettings,
        ]
    }

    private static func testCopiesTables() throws {
        let connection = try SQLiteConnection.inMemory()
        try connection.execute(
            """
            ATTACH ':memory:' AS "a b";
            CREATE TABLE "a b".t (id INTEGER PRIMARY KEY AUTOINCREMENT, x TEXT CHECK (x <> 'y'), g AS (id * 2));
            CREATE UNIQUE INDEX "a b".i ON t (x); CREATE VIEW "a b".v AS SELECT 1 AS one;
            INSERT INTO "a b".t (id, x) VALUES (7, 'q'), (3, 'z'); DELETE FROM "a b".t WHERE id = 7;
            PRAGMA ignore_check_constraints = ON; INSERT INTO "a b".t (id, x) VALUES (2, 'y');
            PRAGMA ignore_check_constraints = OFF; CREATE TABLE "a b".r (rowid);
            INSERT INTO "a b".r (oid, rowid) VALUES (9, 'r')
            """)
        for (name, isCopied) in [("T", true), ("r", true), ("v", false), ("none", false)] {
            expectEqual(try connection.copyTable(name, fromSchema: "a b"), isCopied, name)
        }
        expectEqual(try connection.value("SELECT group_concat(id || x || g) FROM main.t"), "2y4,3z6", "rows")
        expectEqual(try connection.value("SELECT oid || rowid FROM main.r"), "9r", "row ids")
        expectEqual(try connection.value("SELECT seq FROM main.sqlite_sequence"), 7, "the largest id")
        let constraints = ["INSERT INTO main.t (x) VALUES ('z')", "INSERT INTO main.t (x) VALUES ('y')"]
        for sql in constraints {
            let error = expectThrows(SQLiteError.self, sql) { try connection.run(sql) }
            expectEqual(error?.code, .constraint, sql)
        }
        expectThrows(SQLiteError.self, "a second copy") { try connection.copyTable("t", fromSchema: "a b") }
    }

    private static func testLeavesTemporaryTablesAndSettings() throws {
        let connection = try SQLiteConnection.inMemory()
        try connection.execute(
            """
            ATTACH ':memory:' AS o; CREATE TABLE o.t (a, b); CREATE UNIQUE INDEX o."i j" ON t (b) WHERE b > 0;
            CREATE INDEX o.k ON t (a); CREATE TEMP TABLE t (a, b)
            """)
        for setting in ["0", "1"] {
            try connection.execute("PRAGMA ignore_check_constraints = \(setting); DROP TABLE IF EXISTS main.t")
            expectTrue(try connection.copyTable("t", fromSchema: "o"), "a copy")
            for (schema, expected) in [("main", "i j,k"), ("temp", nil)] {
                let names = "SELECT group_concat(name) FROM \(schema).sqlite_schema WHERE type = 'index'"
                expectEqual(try connection.value(names)?.text, expected, "indexes of \(schema)")
            }
            let value = try connection.value("PRAGMA ignore_check_constraints")
            expectEqual(value?.integer, Int64(setting), "the setting")
        }
    }
}
#endif
