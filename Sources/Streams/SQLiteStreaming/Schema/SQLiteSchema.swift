// Reads the schema of a database: its tables, columns and indexes.

import CSystemSQLite
import PlistStreaming

/// A column of a table in the schema.
public struct SQLiteColumn: Sendable, Hashable {
    /// The conversion of values that are stored in a column; see https://sqlite.org/datatype3.html.
    public enum Affinity: String, Sendable {
        /// Numbers become text.
        case text
        /// Text that is a number becomes one; a real without a fraction becomes an integer.
        case numeric
        /// Like `numeric`, except in casts.
        case integer
        /// Like `numeric`, but integers become reals.
        case real
        /// Values aren't converted.
        case blob
    }

    /// The name, without quotes.
    public let name: String
    /// The declared type, or an empty text if there is none.
    public let declaredType: String
    /// A Boolean value that indicates whether null is rejected.
    public let isNotNull: Bool
    /// The SQL of the default value, or nil if it is null.
    public let defaultExpression: String?
    /// The position in the primary key from 1, or 0 if the column isn't a part of it.
    public let primaryKeyIndex: Int
    /// A Boolean value that indicates whether the value is computed, so that it cannot be inserted.
    public let isGenerated: Bool
    /// A Boolean value that indicates whether the table is STRICT: the column then only accepts its declared type, or any
    /// value if the type is `ANY`.
    package internal(set) var isStrict: Bool = false

    // SPEC: https://sqlite.org/datatype3.html section 3.1, in this order; https://sqlite.org/stricttables.html for ANY.
    /// The affinity of the declared type.
    public var affinity: Affinity {
        if isStrict, declaredType.uppercased() == "ANY" { return .blob }
        let type = declaredType.uppercased()
        if type.contains("INT") { return .integer }
        if type.contains("CHAR") || type.contains("CLOB") || type.contains("TEXT") { return .text }
        if type.isEmpty || type.contains("BLOB") { return .blob }
        if type.contains("REAL") || type.contains("FLOA") || type.contains("DOUB") { return .real }
        return .numeric
    }
}

extension [SQLiteColumn] {
    // SPEC: https://sqlite.org/lang_createtable.html section 5.
    /// The column that is the whole primary key and has the type INTEGER. It is the row id unless the key has an index of its
    /// own.
    package var integerKey: SQLiteColumn? {
        let keys = filter { $0.primaryKeyIndex > 0 }
        return keys.count == 1 && keys[0].declaredType.uppercased() == "INTEGER" ? keys[0] : nil
    }
}

/// An index of a table in the schema.
package struct SQLiteIndex {
    package let isUnique: Bool
    /// A Boolean value that indicates whether the index exists for the primary key.
    package let isPrimaryKey: Bool
    package let isPartial: Bool
    /// The compared columns, each with its collation; an expression has an empty name.
    package let columns: [(name: SQLiteName.Folded, collation: String)]
}

extension SQLiteConnection {
    /// Returns the names of the tables in the order of their creation, without SQLite's own tables and without shadow tables,
    /// which contain the data of virtual tables.
    ///
    /// - Throws: The errors of reading the schema, such as `notADatabase` or `busy`.
    public func tableNames() throws(SQLiteError) -> [String] {
        let statement = try cachedStatement(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'")
        var names: [String] = []
        while try statement.step() { names.append(try statement.text(at: 0) ?? "") }
        let shadows = try shadowTables()
        return shadows.isEmpty ? names : names.filter { !shadows.contains(SQLiteName.folded($0)) }
    }

    /// Returns the names of the tables that contain the data of virtual tables whose modules are known.
    package func shadowTables() throws(SQLiteError) -> Set<SQLiteName.Folded> {
        // Virtual tables have no root page.
        guard try value("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND rootpage = 0") != nil else { return [] }
        let tables = try prepare("PRAGMA main.table_list")
        var names: Set<SQLiteName.Folded> = []
        while try tables.step() {
            if try tables.text(at: 2) == "shadow" { names.insert(SQLiteName.folded(try tables.text(at: 1) ?? "")) }
        }
        return names
    }

    /// Returns the columns of a table or view in order, or an empty array if it doesn't exist.
    ///
    /// - Throws: The errors of reading the schema.
    public func columns(ofTable table: String) throws(SQLiteError) -> [SQLiteColumn] {
        try columns(ofTable: table, inSchema: nil)
    }

    /// Returns the columns of a table or view in a schema. Without a schema, the first one with such a table is used.
    package func columns(ofTable table: String, inSchema schema: String?) throws(SQLiteError) -> [SQLiteColumn] {
        let isStrict = try place(ofTable: table, inSchema: schema)?.isStrict ?? false
        return try rows(ofPragma: "table_xinfo", table, inSchema: schema) {
            (row) throws(SQLiteError) -> SQLiteColumn? in
            // 1 is a hidden column of a virtual table, 2 and 3 are computed ones.
            row.integer(at: 6) == 1
                ? nil
                : SQLiteColumn(
                    name: try row.text(at: 1) ?? "", declaredType: try row.text(at: 2) ?? "",
                    isNotNull: row.integer(at: 3) != 0, defaultExpression: try row.text(at: 4),
                    primaryKeyIndex: Int(row.integer(at: 5)), isGenerated: row.integer(at: 6) != 0, isStrict: isStrict)
        }
    }

    /// Returns the indexes of a table in a schema.
    package func indexes(ofTable table: String, inSchema schema: String) throws(SQLiteError) -> [SQLiteIndex] {
        try rows(ofPragma: "index_list", table, inSchema: schema) { (index) throws(SQLiteError) in
            let columns = try rows(ofPragma: "index_xinfo", try index.text(at: 1) ?? "", inSchema: schema) {
                (part) throws(SQLiteError) -> (name: SQLiteName.Folded, collation: String)? in
                part.integer(at: 5) == 0
                    ? nil : (name: SQLiteName.folded(try part.text(at: 2) ?? ""), collation: try part.text(at: 4) ?? "")
            }
            return SQLiteIndex(
                isUnique: index.integer(at: 2) != 0, isPrimaryKey: try index.text(at: 3) == "pk",
                isPartial: index.integer(at: 4) != 0, columns: columns)
        }
    }

    /// Returns the rows of a pragma for a table or index, without those for which the closure returns nil. The array is empty
    /// if the table or index doesn't exist.
    ///
    /// A table or view can hide the function of the same name, such as `pragma_table_xinfo`, but not the pragma itself.
    package func rows<Row>(
        ofPragma pragma: String, _ name: String, inSchema schema: String? = nil,
        _ make: (SQLiteStatement) throws(SQLiteError) -> Row?
    ) throws(SQLiteError) -> [Row] {
        // No table has such a name, and SQLite would ignore the text after the NUL.
        if name.utf8.contains(0) { return [] }
        let prefix = try schema.map { (name) throws(SQLiteError) in "\(try SQLiteName.quoted(name))." } ?? ""
        let statement = try prepare("PRAGMA \(prefix)\(pragma)(\(SQLiteName.inQuotes(name)))")
        var rows: [Row] = []
        while try statement.step() {
            if let row = try make(statement) { rows.append(row) }
        }
        return rows
    }

    // SPEC: https://sqlite.org/lang_naming.html: temporary tables come first, then those of main, then those of attached
    // databases in the order of attachment.
    /// Returns the schema of a table or view and its kind, or nil if it doesn't exist.
    package func place(
        ofTable table: String, inSchema schema: String? = nil
    ) throws(SQLiteError) -> (schema: String, isOrdinary: Bool, isStrict: Bool)? {
        let places = try rows(ofPragma: "table_list", table, inSchema: schema) { (row) throws(SQLiteError) in
            (
                schema: try row.text(at: 0) ?? "main", isOrdinary: try row.text(at: 2) == "table",
                isStrict: row.integer(at: 5) != 0
            )
        }
        // They are in the order of the schemas, with the temporary one second.
        return places.first { $0.schema == "temp" } ?? places.first
    }

    /// Returns the SQL that creates a table and its triggers, in capitals.
    ///
    /// Temporary triggers can belong to a table of any schema, so those of other tables with the same name are included.
    package func creationSQL(ofTable table: String, inSchema schema: String) throws(SQLiteError) -> String {
        let statement = try prepare(
            """
            SELECT sql FROM \(SQLiteName.inQuotes(schema)).sqlite_schema \
            WHERE tbl_name = ?1 COLLATE NOCASE AND type IN ('table', 'trigger') \
            UNION ALL SELECT sql FROM temp.sqlite_schema WHERE tbl_name = ?1 COLLATE NOCASE AND type = 'trigger'
            """)
        try statement.bind([table])
        var sql = ""
        while try statement.step() { sql += try statement.text(at: 0)?.uppercased() ?? "" }
        return sql
    }

    /// Returns whether a table or view with this name exists, ignoring ASCII case.
    ///
    /// - Throws: The errors of reading the schema.
    public func hasTable(_ name: String) throws(SQLiteError) -> Bool { try !columns(ofTable: name).isEmpty }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistCoding

extension SQLiteColumn: SelfTesting {
    /// The tests of this type.
    public static var testSelectors: TestSelectors {
        [
            "testDescribesTables": testDescribesTables,
            "testFindsAffinities": testFindsAffinities,
            "testRecognizesStrictTables": testRecognizesStrictTables,
            "testFindsSameTableAsSQLite": testFindsSameTableAsSQLite,
            "testIgnoresTablesNamedLikePragmas": testIgnoresTablesNamedLikePragmas,
        ]
    }

    private static func testDescribesTables() throws {
        let connection = try SQLiteConnection.inMemory()
        try connection.execute(
            """
            CREATE TABLE "b c" (x INTEGER NOT NULL, "y z" VARCHAR(3) DEFAULT 'q', w, s AS (x + 1), PRIMARY KEY (w, x));
            CREATE TABLE a (id INTEGER PRIMARY KEY AUTOINCREMENT); CREATE VIEW v AS SELECT 1 AS one
            """)
        expectEqual(try connection.tableNames(), ["b c", "a"], "tables")
        let columns = try connection.columns(ofTable: "b c")
        expectEqual(columns.map(\.name), ["x", "y z", "w", "s"], "names")
        expectEqual(columns.map(\.declaredType), ["INTEGER", "VARCHAR(3)", "", ""], "types")
        expectEqual(columns.map(\.isNotNull), [true, false, false, false], "not null")
        expectEqual(columns.map(\.defaultExpression), [nil, "'q'", nil, nil], "defaults")
        expectEqual(columns.map(\.primaryKeyIndex), [2, 0, 1, 0], "primary key")
        expectEqual(columns.map(\.isGenerated), [false, false, false, true], "generated")
        expectEqual(try connection.columns(ofTable: "nothing"), [], "a table that is not there")
        try connection.execute("DROP TABLE a")
        expectEqual(try connection.tableNames(), ["b c"], "tables after a change")
        guard (try? connection.execute("CREATE VIRTUAL TABLE f USING fts5 (x)")) != nil else { return }
        try connection.execute("CREATE TABLE f_data2 (x)")
        expectEqual(try connection.tableNames(), ["b c", "f", "f_data2"], "tables without shadow tables")
    }

    private static func testFindsAffinities() {
        let rows: [(String, Affinity)] = [
            ("INT", .integer), ("bigint", .integer), ("POINT", .integer), ("CHARINT", .integer), ("VARCHAR(9)", .text),
            ("CLOB", .text), ("TEXT", .text), ("BLOB", .blob), ("", .blob), ("REAL", .real),
            ("DOUBLE PRECISION", .real),
            ("FLOAT", .real), ("BOOLEAN", .numeric), ("DATETIME", .numeric), ("DECIMAL(10,2)", .numeric),
        ]
        for (type, affinity) in rows {
            let column = SQLiteColumn(
                name: "a", declaredType: type, isNotNull: false, defaultExpression: nil, primaryKeyIndex: 0,
                isGenerated: false)
            expectEqual(column.affinity, affinity, type)
        }
    }

    private static func testRecognizesStrictTables() throws {
        let connection = try SQLiteConnection.inMemory()
        try connection.execute("CREATE TABLE s (a ANY, b INT, c TEXT) STRICT; CREATE TABLE l (a ANY)")
        expectEqual(try connection.columns(ofTable: "S").map(\.affinity), [.blob, .integer, .text], "a strict table")
        expectEqual(try connection.columns(ofTable: "l").map(\.affinity), [.numeric], "another one")
    }

    private static func testFindsSameTableAsSQLite() throws {
        let connection = try SQLiteConnection.inMemory()
        try connection.execute(
            """
            ATTACH ':memory:' AS "b c"; ATTACH ':memory:' AS d; CREATE TABLE "b c".t (a); CREATE TABLE d.t (b, c);
            CREATE TABLE d."ü" (d)
            """)
        func found(_ name: String) throws -> String? {
            let place = try connection.place(ofTable: name)?.schema
            let columns = try connection.columns(ofTable: name, inSchema: place).map(\.name)
            expectEqual(try connection.prepare("SELECT * FROM \(SQLiteName.quoted(name))").columnNames, columns, name)
            return place
        }
        expectEqual(try found("T"), "b c", "the first attached one")
        expectEqual(try found("ü"), "d", "the only one")
        try connection.execute("CREATE TABLE t (e)")
        expectEqual(try found("t"), "main", "main before attached ones")
        try connection.execute("CREATE TEMP VIEW t AS SELECT 1 AS f")
        expectEqual(try found("t"), "temp", "temp before main")
        expectEqual(try connection.columns(ofTable: "t", inSchema: "main").map(\.name), ["e"], "as told")
        expectTrue(try connection.place(ofTable: "nothing") == nil, "no such table")
    }

    /// Returns the results of schema queries as text.
    private static func answers(_ connection: SQLiteConnection) throws -> String {
        var answers: [String] = []
        for name in ["parent", "child", "PARENT", "v", "nothing"] {
            let place = try connection.place(ofTable: name).map { "\($0)" } ?? "nowhere"
            let facts = try InsertTarget(connection, name).map { "\(try $0.facts())" } ?? "no target"
            answers.append("\(place) \(try connection.columns(ofTable: name)) \(facts)")
        }
        return answers.joined(separator: "\n")
    }

    /// Tables and views with the names of pragma functions, and the SQL that creates each.
    package static var shadowsOfPragmas: [(name: String, creation: String)] {
        let pragmas = [
            "table_xinfo", "table_list", "database_list", "index_list", "index_xinfo", "foreign_key_list",
        ]
        return pragmas.map { "pragma_" + $0 }.flatMap { name in
            ["TABLE", "TEMP TABLE"].map { (name, "CREATE \($0) \(name) (a)") }
                + ["VIEW", "TEMP VIEW"].map { (name, "CREATE \($0) \(name) AS SELECT 1 AS a") }
        }
    }

    // SPEC: https://sqlite.org/pragma.html#pragfunc: a table or view of the same name hides the function of a pragma.
    private static func testIgnoresTablesNamedLikePragmas() throws {
        let script = """
            CREATE TABLE parent (id INTEGER PRIMARY KEY, a UNIQUE);
            CREATE TABLE child (name TEXT PRIMARY KEY, n INTEGER REFERENCES parent (id)); CREATE VIEW v AS SELECT 1 AS a;
            INSERT INTO parent VALUES (1, 2);
            """
        func connection(_ more: String) throws -> SQLiteConnection {
            let connection = try SQLiteConnection.inMemory()
            try connection.execute(script + more)
            return connection
        }
        let expected = try answers(try connection(""))
        for (name, creation) in shadowsOfPragmas {
            let connection = try connection(creation)
            expectEqual(try answers(connection), expected, "answers beside \(creation)")
            expectEqual(try connection.columns(ofTable: name).map(\.name), ["a"], "columns of \(name)")
        }
    }
}
#endif
