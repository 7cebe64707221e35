// What a database says of its tables and their columns.

import CSystemSQLite
import PlistStreaming

/// A column of a table, as the schema has it.
public struct SQLiteColumn: Sendable, Hashable {
    /// The type that values are turned to when they are stored; see https://sqlite.org/datatype3.html.
    public enum Affinity: String, Sendable {
        /// Numbers become text.
        case text
        /// Text that is a number becomes one; a real without a fraction becomes an integer.
        case numeric
        /// As `numeric`, except in casts.
        case integer
        /// As `numeric`, but integers become reals.
        case real
        /// Nothing is turned.
        case blob
    }

    /// The name, without quotes.
    public let name: String
    /// The declared type; empty when there is none.
    public let declaredType: String
    /// Whether null is refused.
    public let isNotNull: Bool
    /// The SQL of the default; nil when that is null.
    public let defaultExpression: String?
    /// The place in the primary key from 1; 0 outside.
    public let primaryKeyIndex: Int
    /// Whether the value is computed, so that it cannot be inserted.
    public let isGenerated: Bool

    // SPEC: https://sqlite.org/datatype3.html section 3.1, in this order.
    /// The affinity of the declared type.
    public var affinity: Affinity {
        let type = declaredType.uppercased()
        if type.contains("INT") { return .integer }
        if type.contains("CHAR") || type.contains("CLOB") || type.contains("TEXT") { return .text }
        if type.isEmpty || type.contains("BLOB") { return .blob }
        if type.contains("REAL") || type.contains("FLOA") || type.contains("DOUB") { return .real }
        return .numeric
    }
}

extension SQLiteConnection {
    /// Returns the names of the tables in the order in which they were created, those of SQLite itself excepted.
    ///
    /// - Throws: What reading the schema throws, such as `notADatabase` or `busy`; here and below.
    public func tableNames() throws(SQLiteError) -> [String] {
        try names("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'")
    }

    /// Returns the names of the tables and views in the order in which they were created, those of SQLite excepted.
    public func tableAndViewNames() throws(SQLiteError) -> [String] {
        try names(
            "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'")
    }

    private func names(_ sql: String) throws(SQLiteError) -> [String] {
        let statement = try cachedStatement(sql)
        var names: [String] = []
        while try statement.step() { names.append(try statement.text(at: 0) ?? "") }
        return names
    }

    /// Returns the columns of a table or view in order; none when there is no such table.
    ///
    /// - Throws: What reading the schema throws.
    public func columns(ofTable table: String) throws(SQLiteError) -> [SQLiteColumn] {
        let statement = try cachedStatement(
            "SELECT name, type, \"notnull\", dflt_value, pk, hidden FROM pragma_table_xinfo(?) WHERE hidden <> 1")
        try statement.bind([table])
        var columns: [SQLiteColumn] = []
        while try statement.step() {
            columns.append(
                SQLiteColumn(
                    name: try statement.text(at: 0) ?? "", declaredType: try statement.text(at: 1) ?? "",
                    isNotNull: statement.integer(at: 2) != 0, defaultExpression: try statement.text(at: 3),
                    primaryKeyIndex: Int(statement.integer(at: 4)), isGenerated: statement.integer(at: 5) != 0))
        }
        return columns
    }

    /// Whether there is a table or view with this name, in which ASCII case does not count.
    ///
    /// - Throws: What reading the schema throws.
    public func hasTable(_ name: String) throws(SQLiteError) -> Bool { try !columns(ofTable: name).isEmpty }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension SQLiteColumn: SelfTesting {
    /// The tests of this type.
    public static var testSelectors: TestSelectors {
        [
            "testDescribesTables": testDescribesTables,
            "testKnowsAffinities": testKnowsAffinities,
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
        expectEqual(try connection.tableAndViewNames(), ["b c", "a", "v"], "with views")
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
    }

    private static func testKnowsAffinities() {
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
}
#endif
