// Which row ids of rows need not be told to SQLite, because it would choose the very same ones.

import PlistStreaming

// PERF: SQLite/insert; given an id, SQLite searches the B-tree for it from the root, which is a third of what a row costs.
// Choosing one it stays at the end of the table.
// SPEC: https://sqlite.org/autoinc.html: the id that SQLite chooses is one larger than the largest one in the table, 1 in an
// empty table, and unpredictable when the largest one is 2^63 - 1.
/// The row id that SQLite chooses next.
///
/// The ids of rows pass through it in order. One that SQLite would choose is given as null.
struct RowIDSequence {
    /// The column with the row id; -1 when all ids are told.
    private(set) var column = -1
    private var next: Int64 = 1
    private var isEmpty = true

    /// No ids are left to SQLite.
    init() {}

    /// - Parameter largest: The largest id in the table; nil when it is empty.
    init(column: Int, largest: Int64?) {
        guard largest != .max else { return }
        self.column = column
        guard let largest else { return }
        next = largest + 1
        isEmpty = false
    }

    /// Whether SQLite chooses this id for the row to come.
    @inline(__always)  // PERF: SQLite/insert; once a row.
    mutating func isChosen(_ id: Int64) -> Bool {
        if id == next, id != .max {
            next = id &+ 1
            isEmpty = false
            return true
        }
        if id > next || isEmpty {
            if id == .max {
                stop()
            } else {
                next = id &+ 1
                isEmpty = false
            }
        }
        return false
    }

    /// Passes a row whose id is left to SQLite anyway.
    mutating func choose() {
        guard next != .max else { return stop() }
        next &+= 1
        isEmpty = false
    }

    /// Leaves no more ids to SQLite.
    mutating func stop() { column = -1 }
}

extension SQLiteConnection {
    /// The column that is the row id of a table, if inserting a row without it does nothing but to choose the largest id plus one.
    ///
    /// So it is for an ordinary table without triggers, which would see that there is no id, and without AUTOINCREMENT.
    func plainRowIDColumn(ofTable table: String) throws(SQLiteError) -> String? {
        // A primary key of the type INTEGER is the row id unless it has an index of its own, as with DESC or WITHOUT ROWID.
        let statement = try cachedStatement(
            """
            SELECT max(name) FROM pragma_table_xinfo(?1) WHERE pk > 0 \
            AND NOT EXISTS (SELECT 1 FROM pragma_index_list(?1) WHERE origin = 'pk') \
            AND EXISTS (SELECT 1 FROM main.sqlite_schema WHERE type = 'table' AND name = ?1 COLLATE NOCASE \
            AND rootpage > 0 AND sql NOT LIKE '%AUTOINCREMENT%') \
            AND NOT EXISTS (SELECT 1 FROM main.sqlite_schema WHERE type = 'trigger' AND tbl_name = ?1 COLLATE NOCASE) \
            AND NOT EXISTS (SELECT 1 FROM temp.sqlite_schema WHERE tbl_name = ?1 COLLATE NOCASE) \
            HAVING count(*) = 1 AND upper(max(type)) = 'INTEGER'
            """)
        try statement.bind([table])
        guard try statement.step() else { return nil }
        let name = try statement.text(at: 0)
        statement.reset()
        return name
    }

    /// Numbers that change with the schemas of the database and of temporary tables.
    func schemaVersions() throws(SQLiteError) -> [Int64] {
        var versions: [Int64] = []
        for schema in ["main", "temp"] {
            let statement = try cachedStatement("PRAGMA \(schema).schema_version")
            while try statement.step() { versions.append(statement.integer(at: 0)) }
        }
        return versions
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension RowIDSequence: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testPredictsWhatSQLiteChooses": testPredictsWhatSQLiteChooses,
            "testKnowsTablesWithPlainRowIDs": testKnowsTablesWithPlainRowIDs,
            "testSeesChangesOfTheSchema": testSeesChangesOfTheSchema,
        ]
    }

    private static func testPredictsWhatSQLiteChooses() throws {
        let tables: [[Int64]] = [[], [1], [-7], [5, 9], [.max - 2], [.max - 1], [.max], [.min], [0]]
        let sequences: [[Int64?]] = [
            [1, 2, 3], [0, 1, 2], [-3, -2, 1, 2], [nil, nil, 3, 4], [10, 11, 4, 12, 13], [.max - 1, .max, 20, 21],
            [.max - 2, nil, nil, 22], [6, 7, 8, 9, 10], [.min, .min + 1, 1], [nil, 2, nil], [10, nil, 12, nil, 14],
        ]
        for table in tables {
            for sequence in sequences where Set(sequence.compactMap(\.self)).isDisjoint(with: table) {
                let connection = try SQLiteConnection.inMemory()
                try connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a)")
                for id in table { try connection.run("INSERT INTO t VALUES (?, 0)", [id]) }
                let largest = try connection.value("SELECT max(id) FROM t")?.integer
                var rowIDs = RowIDSequence(column: 0, largest: largest)
                for id in sequence {
                    var given = id
                    if rowIDs.column == 0 {
                        if let id {
                            if rowIDs.isChosen(id) { given = nil }
                        } else {
                            rowIDs.choose()
                        }
                    }
                    let isExpected = id == nil || given != nil
                    do throws(SQLiteError) {
                        try connection.run("INSERT INTO t VALUES (?, 1)", [given])
                    } catch {
                        // The chosen one may be one that comes later.
                        expectTrue(isExpected, "\(table) \(sequence): \(error)")
                        break
                    }
                    if let id { expectEqual(connection.lastInsertRowID, id, "\(table) \(sequence)") }
                }
            }
        }
    }

    private static func testKnowsTablesWithPlainRowIDs() throws {
        let rows: [(String, String?)] = [
            ("id INTEGER PRIMARY KEY, a", "id"), ("a, \"Größe\" integer, PRIMARY KEY (\"Größe\")", "Größe"),
            ("id INT PRIMARY KEY, a", nil), ("id INTEGER PRIMARY KEY DESC, a", nil), ("id INTEGER, a", nil),
            ("id INTEGER PRIMARY KEY AUTOINCREMENT, a", nil), ("id INTEGER, a, PRIMARY KEY (id, a)", nil),
            ("a, id INTEGER PRIMARY KEY, b UNIQUE", "id"),
        ]
        for (columns, expected) in rows {
            let connection = try SQLiteConnection.inMemory()
            try connection.execute("CREATE TABLE T (\(columns))")
            for name in ["T", "t"] {
                expectEqual(try connection.plainRowIDColumn(ofTable: name), expected, columns)
            }
        }
        let connection = try SQLiteConnection.inMemory()
        try connection.execute(
            """
            CREATE TABLE w (id INTEGER PRIMARY KEY, a) WITHOUT ROWID; CREATE TABLE x (id INTEGER PRIMARY KEY, a);
            CREATE TABLE y (id INTEGER PRIMARY KEY, a); CREATE TABLE z (id INTEGER PRIMARY KEY, a);
            CREATE TRIGGER i BEFORE INSERT ON x BEGIN SELECT 1; END;
            CREATE TEMP TRIGGER j BEFORE INSERT ON y BEGIN SELECT 1; END;
            CREATE TEMP TABLE z (id INTEGER PRIMARY KEY, a); CREATE VIEW v AS SELECT * FROM w
            """)
        for name in ["w", "x", "X", "y", "z", "v", "nothing"] {
            expectNil(try connection.plainRowIDColumn(ofTable: name), name)
        }
    }

    private static func testSeesChangesOfTheSchema() throws {
        let connection = try SQLiteConnection.inMemory()
        var versions = [try connection.schemaVersions()]
        for sql in ["CREATE TABLE t (a)", "CREATE TEMP TABLE u (a)", "DROP TABLE t"] {
            try connection.execute(sql)
            versions.append(try connection.schemaVersions())
        }
        expectEqual(Set(versions).count, versions.count, "versions \(versions)")
    }
}
#endif
