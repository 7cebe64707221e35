// The table that rows are inserted into. Its name is resolved once. The facts about its schema that inserting depends on are
// read again after a schema has changed.

import CSystemSQLite
import PlistStreaming

/// A table or view of one schema, as the target of insertions.
final class InsertTarget {
    let connection: SQLiteConnection
    /// The name of the schema: `main`, `temp`, or that of an attached database.
    let schema: String
    let name: String
    /// Both names in quotes, so that a table of the same name that is created later in another schema is never used instead.
    let qualifiedName: String
    /// The columns when the target was made, including computed ones.
    let columns: [SQLiteColumn]
    /// The folded names of the primary key's columns, and of the columns without an affinity.
    let primaryKey: Set<SQLiteName.Folded>
    let untyped: Set<SQLiteName.Folded>
    /// A Boolean value that indicates whether the target is a table that SQLite itself stores.
    let isOrdinary: Bool
    private let versionQuery: String
    private var known: (facts: InsertFacts, versions: [Int64])?
    private var comparisons: (names: [[String]: [String]], versions: [Int64]) = ([:], [])

    /// Finds the table for a name without a schema, or returns nil if it doesn't exist.
    init?(_ connection: SQLiteConnection, _ name: String) throws(SQLiteError) {
        guard let place = try connection.place(ofTable: name) else { return nil }
        self.connection = connection
        self.name = name
        (schema, isOrdinary) = (place.schema, place.isOrdinary)
        let quotedSchema = try SQLiteName.quoted(place.schema)
        qualifiedName = "\(quotedSchema).\(try SQLiteName.quoted(name))"
        versionQuery = "PRAGMA \(quotedSchema).schema_version"
        columns = try connection.columns(ofTable: name, inSchema: place.schema)
        primaryKey = Set(columns.filter { $0.primaryKeyIndex > 0 }.map { SQLiteName.folded($0.name) })
        untyped = Set(columns.filter { $0.affinity == .blob }.map { SQLiteName.folded($0.name) })
    }

    /// Creates a target for a temporary table that does not exist yet, with columns that have no types.
    init(temporary name: String, _ connection: SQLiteConnection) {
        (self.connection, schema, self.name, isOrdinary) = (connection, "temp", name, true)
        qualifiedName = "temp.\(SQLiteName.inQuotes(name))"
        versionQuery = "PRAGMA temp.schema_version"
        (columns, primaryKey, untyped) = ([], [], [])
    }

    /// The names of columns in quotes, each with the collation by which the unique index of exactly these columns tells rows
    /// apart; that of the primary key, where there are several.
    ///
    /// With the column's own collation, two values may be equal that are different in the index, or the other way round. In a
    /// transaction that has only begun, changes by other connections since then are ignored.
    /// - Throws: `misuse` if several indexes use different collations and none of them belongs to the primary key.
    func comparedNames(_ columns: [String]) throws(SQLiteError) -> [String] {
        if try !isComparedAsBefore() { comparisons = ([:], try versions()) }
        if let made = comparisons.names[columns] { return made }
        let names = try columns.map { (name) throws(SQLiteError) in try SQLiteName.quoted(name) }
        let folded = columns.map(SQLiteName.folded)
        let indexes = try connection.indexes(ofTable: name, inSchema: schema).compactMap {
            index -> (isPrimary: Bool, collations: [String])? in
            guard index.isUnique, !index.isPartial, index.columns.count == folded.count else { return nil }
            let collations = folded.compactMap { name in index.columns.first { $0.name == name }?.collation }
            return collations.count == folded.count ? (isPrimary: index.isPrimaryKey, collations: collations) : nil
        }
        var made = names
        let primary = indexes.first { $0.isPrimary }
        // The row id takes precedence, even if the column also has an index.
        let integerKey = try primary != nil ? nil : connection.columns(ofTable: name, inSchema: schema).integerKey
        let isRowID = integerKey.map { [SQLiteName.folded($0.name)] == folded } ?? false
        if !isRowID, let chosen = primary ?? indexes.first {
            let collations = chosen.collations.map(SQLiteName.folded)
            guard chosen.isPrimary || indexes.allSatisfy({ $0.collations.map(SQLiteName.folded) == collations }) else {
                throw SQLiteError(
                    .misuse,
                    "the table \(name) has several unique indexes of (\(columns.joined(separator: ", "))), which have "
                        + "different collations")
            }
            made = zip(names, chosen.collations).map { "\($0) COLLATE \(SQLiteName.inQuotes($1))" }
        }
        comparisons.names[columns] = made
        return made
    }

    /// Returns whether the schema is unchanged since names were last compared.
    private func isComparedAsBefore() throws(SQLiteError) -> Bool {
        guard let count = comparisons.versions.first else { return false }
        // Querying the version is a read, and if a transaction reads first, its write fails if others write meanwhile.
        if hasOnlyBegun { return try connection.schemaExpirationCount() == count }
        return try versions() == comparisons.versions
    }

    /// A Boolean value that indicates whether the open transaction has neither read nor written the schema.
    private var hasOnlyBegun: Bool {
        connection.isInTransaction && transactionState == SQLITE_TXN_NONE
    }

    /// A Boolean value that indicates whether the open transaction has already written to the schema.
    var isBeingWritten: Bool { transactionState == SQLITE_TXN_WRITE }

    private var transactionState: Int32? {
        unsafe connection.handle.map { handle in unsafe sqlite3_txn_state(handle, schema) }
    }

    /// Returns the current facts about the schema.
    func facts() throws(SQLiteError) -> InsertFacts {
        let versions = try versions()
        if let known, known.versions == versions { return known.facts }
        let facts = try InsertFacts(self)
        known = (facts, versions)
        return facts
    }

    /// Returns numbers that change with the schema or with the temporary one, which may have triggers for the table.
    ///
    /// Other processes change only the version of the schema. Undoing a change in this process restores an earlier version,
    /// and attaching another database may also set it back, so all changes by this connection are counted.
    func versions() throws(SQLiteError) -> [Int64] {
        let statement = try connection.cachedStatement(versionQuery)
        defer { statement.reset() }
        return [try connection.schemaExpirationCount(), try statement.step() ? statement.integer(at: 0) : 0]
    }
}

/// The facts about a schema that inserting rows depends on.
struct InsertFacts: Equatable {
    /// A Boolean value that indicates whether it is an ordinary table without triggers, where only the statement decides how
    /// a row with the same unique values as another one is handled.
    private(set) var isPlain = false
    /// A Boolean value that indicates whether a foreign key of the table refers to the table itself.
    private(set) var refersToItself = false
    /// A Boolean value that indicates whether the table has foreign keys or is referred to by some.
    private(set) var hasForeignKeys = false
    /// The column that is the row id, if inserting a row without it only chooses the largest id plus one.
    private(set) var rowIDColumn: String?

    init(_ target: InsertTarget) throws(SQLiteError) {
        guard target.isOrdinary else { return }
        // If the word is a part of a name, this only costs time.
        let sql = try target.connection.creationSQL(ofTable: target.name, inSchema: target.schema)
        isPlain = !sql.contains("TRIGGER") && !sql.contains("CONFLICT")
        let name = SQLiteName.folded(target.name)
        let references = try Self.references(of: target.name, target)
        refersToItself = references.contains(name)
        hasForeignKeys = !references.isEmpty
        if !hasForeignKeys {
            let others = try target.connection.prepare(
                "SELECT name FROM \(SQLiteName.quoted(target.schema)).sqlite_schema WHERE type = 'table' AND instr(upper(sql), 'REFERENCES') > 0"
            )
            while !hasForeignKeys, try others.step() {
                hasForeignKeys = try Self.references(of: try others.text(at: 0) ?? "", target).contains(name)
            }
        }
        // A trigger could detect that the id is missing.
        guard isPlain, !sql.contains("AUTOINCREMENT") else { return }
        rowIDColumn = try Self.rowIDColumn(target)
    }

    // A primary key of the type INTEGER is the row id unless it has an index of its own, for example with DESC or WITHOUT
    // ROWID.
    private static func rowIDColumn(_ target: InsertTarget) throws(SQLiteError) -> String? {
        let columns = try target.connection.columns(ofTable: target.name, inSchema: target.schema)
        guard let key = columns.integerKey else { return nil }
        let indexes = try target.connection.indexes(ofTable: target.name, inSchema: target.schema)
        return indexes.contains { $0.isPrimaryKey } ? nil : key.name
    }

    /// Returns the folded names of the tables that a table of the target's schema refers to.
    private static func references(of table: String, _ target: InsertTarget) throws(SQLiteError) -> [SQLiteName.Folded]
    {
        try target.connection.rows(ofPragma: "foreign_key_list", table, inSchema: target.schema) {
            (row) throws(SQLiteError) in try row.text(at: 2).map(SQLiteName.folded)
        }
    }

    /// Returns whether one statement for many rows has the same effect as one statement for each row, up to the first
    /// rejected row.
    ///
    /// SQLite checks foreign keys at the end of a statement, so a later row could repair a violation by an earlier one.
    func allowsManyRows(_ conflict: SQLiteConflict) -> Bool {
        switch conflict {
        case .abort, .ignore: isPlain && !refersToItself
        case .replace, .upsert: isPlain && !hasForeignKeys
        }
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension InsertTarget: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testRecognizesTablesWithPlainRowIDs": testRecognizesTablesWithPlainRowIDs,
            "testAllowsManyRowsOnlyIfSafe": testAllowsManyRowsOnlyIfSafe,
            "testDetectsSchemaChanges": testDetectsSchemaChanges,
            "testDetectsSchemaChangesAfterRollbacks": testDetectsSchemaChangesAfterRollbacks,
            "testFindsCollationsOfIndexes": testFindsCollationsOfIndexes,
            "testReadsNothingInAnUnusedTransaction": testReadsNothingInAnUnusedTransaction,
        ]
    }

    private static func facts(_ connection: SQLiteConnection, _ name: String) throws -> InsertFacts? {
        try InsertTarget(connection, name)?.facts()
    }

    private static func testRecognizesTablesWithPlainRowIDs() throws {
        let rows: [(String, String?)] = [
            ("id INTEGER PRIMARY KEY, a", "id"), ("a, \"Größe\" integer, PRIMARY KEY (\"Größe\")", "Größe"),
            ("id INT PRIMARY KEY, a", nil), ("id INTEGER PRIMARY KEY DESC, a", nil), ("id INTEGER, a", nil),
            ("id INTEGER PRIMARY KEY autoIncrement, a", nil), ("id INTEGER, a, PRIMARY KEY (id, a)", nil),
            ("a, id INTEGER PRIMARY KEY, b UNIQUE", "id"), ("id INTEGER PRIMARY KEY, b UNIQUE ON conflict IGNORE", nil),
        ]
        for (columns, expected) in rows {
            let connection = try SQLiteConnection.inMemory()
            try connection.execute("PRAGMA case_sensitive_like = ON; CREATE TABLE T (\(columns))")
            for name in ["T", "t"] { expectEqual(try facts(connection, name)?.rowIDColumn, expected, columns) }
        }
        let connection = try SQLiteConnection.inMemory()
        try connection.execute(
            """
            CREATE TABLE w (id INTEGER PRIMARY KEY, a) WITHOUT ROWID; CREATE TABLE x (id INTEGER PRIMARY KEY, a);
            CREATE TABLE y (id INTEGER PRIMARY KEY, a); CREATE TABLE z (id INTEGER PRIMARY KEY, a);
            CREATE TRIGGER i BEFORE INSERT ON x BEGIN SELECT 1; END;
            CREATE TEMP TRIGGER j BEFORE INSERT ON y BEGIN SELECT 1; END;
            CREATE TEMP TABLE z (a, no INTEGER PRIMARY KEY); CREATE VIEW v AS SELECT * FROM w
            """)
        for name in ["w", "x", "X", "y", "v"] {
            let facts = try requireNotNil(try facts(connection, name), name)
            expectNil(facts.rowIDColumn, name)
        }
        expectEqual(try facts(connection, "z")?.rowIDColumn, "no", "the temporary table")
        expectNil(try InsertTarget(connection, "nothing")?.name, "no table")
    }

    private static func testFindsCollationsOfIndexes() throws {
        let rows: [(String, [String]?)] = [
            ("a INTEGER PRIMARY KEY, b", ["\"b\"", "\"a\""]),
            ("a, b COLLATE NOCASE, PRIMARY KEY (a, b)", ["\"b\" COLLATE \"NOCASE\"", "\"a\" COLLATE \"BINARY\""]),
            (
                "a, b COLLATE NOCASE, PRIMARY KEY (a COLLATE rtrim, b COLLATE \"BINARY\") ) WITHOUT ROWID; --",
                ["\"b\" COLLATE \"BINARY\"", "\"a\" COLLATE \"rtrim\""]
            ),
            (
                "a, b, UNIQUE (a, b COLLATE NOCASE), PRIMARY KEY (b, a)",
                ["\"b\" COLLATE \"BINARY\"", "\"a\" COLLATE \"BINARY\""]
            ),
            (
                "a, b, UNIQUE (a, b COLLATE NOCASE), UNIQUE (a), UNIQUE (b)",
                ["\"b\" COLLATE \"NOCASE\"", "\"a\" COLLATE \"BINARY\""]
            ),
            ("a, b, UNIQUE (a, b COLLATE NOCASE), UNIQUE (b, a)", nil),
            (
                "a, b, UNIQUE (b COLLATE NOCASE, a), UNIQUE (a COLLATE binary, b COLLATE nocase)",
                ["\"b\" COLLATE \"nocase\"", "\"a\" COLLATE \"binary\""]
            ),
        ]
        for (columns, expected) in rows {
            let connection = try SQLiteConnection.inMemory()
            try connection.execute(
                """
                CREATE TABLE t (\(columns));
                CREATE UNIQUE INDEX i ON t (a, lower(b)); CREATE UNIQUE INDEX j ON t (a, b COLLATE NOCASE) WHERE a > 1
                """)
            let target = try requireNotNil(try InsertTarget(connection, "t"), "a table")
            for _ in 0..<2 { expectEqual(try? target.comparedNames(["b", "a"]), expected, columns) }
        }
        let connection = try SQLiteConnection.inMemory()
        try connection.execute(
            "CREATE TABLE r (A INTEGER PRIMARY KEY, UNIQUE (A)); CREATE TABLE s (a INTEGER PRIMARY KEY, b) WITHOUT ROWID"
        )
        expectEqual(try InsertTarget(connection, "r")?.comparedNames(["a"]), ["\"a\""], "the row id, with an index")
        expectEqual(
            try InsertTarget(connection, "s")?.comparedNames(["a"]), ["\"a\" COLLATE \"BINARY\""], "an integer key")
        try connection.execute("CREATE TABLE t (a TEXT COLLATE NOCASE, PRIMARY KEY (a COLLATE BINARY))")
        let name = try requireNotNil(try InsertTarget(connection, "t")?.comparedNames(["a"]).first, "a name")
        let plan = try connection.prepare("EXPLAIN QUERY PLAN SELECT * FROM t WHERE \(name) = ?")
        expectTrue(try plan.step(), "a plan")
        let detail = try plan.text(at: 3) ?? ""
        expectTrue(detail.hasPrefix("SEARCH"), "the plan \(detail)")
    }

    // A transaction that has read can't write if others have written meanwhile.
    private static func testReadsNothingInAnUnusedTransaction() throws {
        let file = try TemporaryDatabase()
        let connection = try file.open()
        try connection.execute("PRAGMA journal_mode = WAL; CREATE TABLE t (a PRIMARY KEY)")
        let target = try requireNotNil(try InsertTarget(connection, "t"), "a table")
        let names = try target.comparedNames(["a"])
        let other = try file.open(.readWrite)
        for change in ["INSERT INTO t VALUES (1)", "CREATE TABLE u (a)"] {
            try connection.begin(.deferred)
            expectEqual(try target.comparedNames(["a"]), names, "names after the beginning")
            try other.execute(change)
            try connection.run("INSERT INTO t VALUES (2)")
            try connection.rollBack()
            expectEqual(try target.comparedNames(["a"]), names, "names after \(change)")
        }
    }

    private static func testAllowsManyRowsOnlyIfSafe() throws {
        let connection = try SQLiteConnection.inMemory()
        try connection.execute(
            """
            ATTACH ':memory:' AS o; CREATE TABLE plain (a UNIQUE); CREATE TABLE own (a PRIMARY KEY, b REFERENCES OWN);
            CREATE TABLE child (a REFERENCES parent); CREATE TABLE parent (a PRIMARY KEY);
            CREATE TABLE o.watched (a); CREATE TRIGGER o.i AFTER DELETE ON watched BEGIN SELECT 1; END;
            CREATE TABLE clause (a NOT NULL ON CONFLICT IGNORE); CREATE VIEW v AS SELECT a FROM plain
            """)
        let rows: [(String, (abort: Bool, replace: Bool))] = [
            ("plain", (true, true)), ("own", (false, false)), ("child", (true, false)), ("parent", (true, false)),
            ("watched", (false, false)), ("clause", (false, false)), ("v", (false, false)),
        ]
        for (name, expected) in rows {
            let facts = try requireNotNil(try facts(connection, name), name)
            for (conflict, expected) in [
                (SQLiteConflict.abort, expected.abort), (.ignore, expected.abort), (.replace, expected.replace),
                (.upsert(on: ["a"]), expected.replace),
            ] {
                expectEqual(facts.allowsManyRows(conflict), expected, "\(name), \(conflict)")
            }
        }
    }

    private static func testDetectsSchemaChanges() throws {
        let connection = try SQLiteConnection.inMemory()
        try connection.execute("CREATE TABLE s (id INTEGER PRIMARY KEY)")
        let target = try requireNotNil(try InsertTarget(connection, "s"), "a table")
        expectEqual(try target.facts().rowIDColumn, "id", "row id")
        var versions = [try target.versions()]
        for sql in [
            "CREATE TABLE t (a)", "CREATE TEMP TABLE u (a)", "DROP TABLE t",
            "CREATE TEMP TRIGGER i AFTER INSERT ON s BEGIN SELECT 1; END",
        ] {
            try connection.execute(sql)
            versions.append(try target.versions())
        }
        expectEqual(Set(versions).count, versions.count, "versions \(versions)")
        expectFalse(try target.facts().isPlain, "a table with a trigger")
    }

    // Undoing a change restores the version, and the next change gets the same number.
    private static func testDetectsSchemaChangesAfterRollbacks() throws {
        let changes = [
            "CREATE TABLE u (a)", "CREATE TRIGGER o.i AFTER INSERT ON s BEGIN SELECT 1; END",
            "CREATE TEMP TRIGGER i AFTER INSERT ON o.s BEGIN SELECT 1; END", "CREATE TABLE o.t (a REFERENCES s)",
            "ALTER TABLE o.s ADD COLUMN b REFERENCES s", "DROP TABLE o.s; CREATE TABLE o.s (id INT)",
        ]
        let transactions = [
            ("BEGIN", "ROLLBACK"), ("SAVEPOINT a", "ROLLBACK TO a"), ("BEGIN; SAVEPOINT a", "ROLLBACK TO a; COMMIT"),
            ("SAVEPOINT a", "ROLLBACK TO a; RELEASE a"),
            ("DETACH o; ATTACH ':memory:' AS o; CREATE TABLE o.s (a)", "DETACH o; ATTACH ':memory:' AS o"),
        ]
        for (start, end) in transactions {
            for first in changes {
                for second in changes where second != first {
                    let connection = try SQLiteConnection.inMemory()
                    let schema = "CREATE TABLE o.s (id INTEGER PRIMARY KEY)"
                    try connection.execute("CREATE TEMP TABLE x (a); ATTACH ':memory:' AS o; \(schema)")
                    let target = try requireNotNil(try InsertTarget(connection, "s"), "a table")
                    _ = try target.facts()
                    try connection.execute("\(start); \(first)")
                    _ = try target.facts()
                    try connection.execute(end)
                    if start.hasPrefix("DETACH") { try connection.execute(schema) }
                    try connection.execute(second)
                    let fresh = try requireNotNil(try InsertTarget(connection, "s")?.facts(), "a table")
                    expectEqual(try target.facts(), fresh, "facts after \(start); \(first); \(end); \(second)")
                }
            }
        }
    }
}
#endif
