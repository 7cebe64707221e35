// The tests of existing rows: all paths of writing them give the same tables and counts.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistStreaming
import SQLiteStreaming

enum ImportChangeTests {}

extension ImportChangeTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testEveryPathWritesSameRows": testEveryPathWritesSameRows,
            "testChoosesImportPath": testChoosesImportPath,
            "testKeepsTheOrderOfUniqueValues": testKeepsTheOrderOfUniqueValues,
            "testRefusesDanglingForeignKeys": testRefusesDanglingForeignKeys,
            "testIgnoresTablesNamedLikePragmas": testIgnoresTablesNamedLikePragmas,
            "testDistinguishesRowsByCollationOfIndex": testDistinguishesRowsByCollationOfIndex,
        ]
    }

    private static let table = ImportTable(
        "item", uniqueKey: ["id"],
        columns: [.integer("id"), .text("a"), .text("b"), .integer("ref"), .real("height"), .text("u")])

    /// Tables with the same columns that are written with one upsert, two upserts, one again, or a look-up. The last tables
    /// depend on objects of the temporary database, or on the names of such objects.
    private static let schemas = [
        "CREATE TABLE item (id INTEGER PRIMARY KEY, a TEXT, b TEXT, ref INTEGER, height REAL, u TEXT)",
        """
        CREATE TABLE target (id INTEGER PRIMARY KEY); INSERT INTO target VALUES (1), (2), (3);
        CREATE TABLE item (id INTEGER PRIMARY KEY, a TEXT, b TEXT, ref INTEGER REFERENCES target (id), height REAL, u TEXT);
        CREATE INDEX item_b ON item (b); CREATE INDEX item_some ON item (u) WHERE a > 'm';
        CREATE INDEX item_sum ON item (ref + id)
        """,
        """
        CREATE TABLE item (id INTEGER PRIMARY KEY, a TEXT, b TEXT, ref INTEGER, height REAL, u TEXT UNIQUE);
        CREATE INDEX item_b ON item (b)
        """,
        """
        CREATE TABLE item (id INTEGER PRIMARY KEY, a TEXT, b TEXT, ref INTEGER, height REAL, u TEXT);
        CREATE INDEX item_b ON item (b); CREATE TABLE log (id);
        CREATE TRIGGER item_log AFTER UPDATE ON item BEGIN INSERT INTO log VALUES (new.id); END
        """,
        """
        CREATE TABLE item (id INTEGER PRIMARY KEY, a TEXT, b TEXT, ref INTEGER, height REAL, u TEXT);
        CREATE TEMP TRIGGER item_log AFTER UPDATE ON item BEGIN SELECT 1; END
        """,
        """
        CREATE TABLE item (id INTEGER PRIMARY KEY, a TEXT, b TEXT, ref INTEGER, height REAL, u TEXT);
        CREATE INDEX item_b ON item (b); CREATE UNIQUE INDEX item_u ON item (u);
        CREATE TEMP TABLE other (id); CREATE INDEX temp.item_u ON other (id)
        """,
        """
        CREATE TEMP TABLE item (id INTEGER PRIMARY KEY, a TEXT, b TEXT, ref INTEGER, height REAL, u TEXT);
        CREATE TRIGGER item_log AFTER UPDATE ON item BEGIN SELECT 1; END; CREATE TABLE item (a)
        """,
    ]

    private static func records(_ random: inout UInt64) -> ImportSample {
        func next(_ bound: UInt64) -> Int64 {
            random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int64((random >> 33) % bound)
        }
        return .array(
            (0..<40).map { _ in
                let id = next(50)
                var members: [(String, ImportSample)] = [("id", .integer(id))]
                for name in ["a", "b"] where next(8) > 0 {
                    members.append((name, next(6) == 0 ? nil : .text(["x", "X", "é", "1"][Int(next(4))])))
                }
                if next(4) > 0 { members.append(("ref", next(4) == 0 ? nil : .integer(1 + next(3)))) }
                if next(3) > 0 { members.append(("height", next(2) == 0 ? .integer(next(3)) : .real(0.5))) }
                if next(2) > 0 { members.append(("u", .text("u\(id)"))) }
                return .record(members)
            })
    }

    /// Keys that are equal by the collation of their column but not by that of the index.
    private static func testDistinguishesRowsByCollationOfIndex() throws {
        let table = ImportTable("t", uniqueKey: ["k"], columns: [.text("k"), .integer("v"), .integer("w")])
        let records: ImportSample = [["k": "x", "v": 1, "w": 1], ["k": "X", "v": 2, "w": 2]]
        for more in ["", "CREATE INDEX i ON t (v)", "CREATE TRIGGER a AFTER DELETE ON t BEGIN SELECT 1; END"] {
            let connection = try SQLiteConnection.inMemory()
            try connection.execute(
                """
                CREATE TABLE t (k TEXT COLLATE NOCASE, v INTEGER, w INTEGER, PRIMARY KEY (k COLLATE BINARY));
                \(more); INSERT INTO t VALUES ('x', 0, 0), ('X', 0, 0)
                """)
            for (number, counts) in [ImportReport.Counts(updated: 2), ImportReport.Counts(unchanged: 2)].enumerated() {
                let report = try ImportFixture.run(records, table, connection)
                expectEqual(report.tables["t"], counts, "import \(number), \(more)")
                expectEqual(try ImportFixture.rows("SELECT * FROM t", connection), "x|1|1 X|2|2", "rows, \(more)")
            }
        }
        let connection = try SQLiteConnection.inMemory()
        try connection.execute(
            """
            CREATE TABLE t (k TEXT UNIQUE, v INTEGER, w INTEGER); CREATE UNIQUE INDEX i ON t (k COLLATE NOCASE);
            INSERT INTO t VALUES ('x', 0, 0)
            """)
        expectThrows(StreamError.self, "a row that another index refuses") {
            _ = try ImportFixture.run([["k": "X", "v": 1, "w": 1]], table, connection)
        }
        expectEqual(try ImportFixture.rows("SELECT * FROM t", connection), "x|0|0", "the row of another key")
    }

    private static func testEveryPathWritesSameRows() throws {
        for batchSize in [7, 256] {
            var expected: [String] = []
            for (index, schema) in schemas.enumerated() {
                let connection = try SQLiteConnection.inMemory()
                try connection.execute(schema)
                var found: [String] = []
                var random = UInt64(batchSize)
                for _ in 0..<3 {
                    let sample = records(&random)
                    for _ in 0..<2 {
                        let report = try ImportFixture.run(
                            sample, table, connection, ImportOptions(batchSize: batchSize, adaptsBatchSize: false))
                        found.append("\(report.tables)")
                        found.append(try ImportFixture.rows("SELECT * FROM item ORDER BY id", connection))
                    }
                }
                if index == 0 { expected = found }
                expectEqual(found, expected, "schema \(index) in batches of \(batchSize)")
                expectEqual(try connection.value("PRAGMA integrity_check"), "ok", "indexes of schema \(index)")
            }
        }
    }

    private static func testChoosesImportPath() throws {
        let paths = [
            (true, false), (true, true), (true, false), (false, false), (false, false), (true, false), (false, false),
        ]
        expectEqual(schemas.count, paths.count, "schemas")
        for (schema, path) in zip(schemas, paths) {
            let file = try TemporaryDatabase()
            let connection = try ImportFixture.connection(file, schema)
            var nodes: [ImportNode] = []
            let node = try ImportNode.makeTree(
                table, needs: ImportNode.Needs(), arena: ImportArena(), connection: connection, into: &nodes)
            try node.begin(ImportSchema.check(node))
            let function = try requireNotNil(node.function, "the function")
            let statements = try ImportStatements(node, function, mask: 0b111111)
            expectEqual(statements.upsert != nil, path.0, "an upsert for \(schema)")
            expectEqual(statements.upsertOfKept != nil, path.1, "two of them for \(schema)")
        }
    }

    private static func testKeepsTheOrderOfUniqueValues() throws {
        let file = try TemporaryDatabase()
        let connection = try ImportFixture.connection(file, schemas[2])
        _ = try ImportFixture.run([["id": 1, "u": "x", "b": "1"], ["id": 2, "u": "y", "b": "2"]], table, connection)
        // The second row frees the unique value of the first row, and comes before it.
        _ = try ImportFixture.run([["id": 2, "u": "z", "b": "3"], ["id": 1, "u": "y", "b": "1"]], table, connection)
        expectEqual(try ImportFixture.rows("SELECT id, u, b FROM item", connection), "1|y|1 2|z|3", "rows")
    }

    private static func testRefusesDanglingForeignKeys() throws {
        let file = try TemporaryDatabase()
        let connection = try ImportFixture.connection(file, schemas[1])
        _ = try ImportFixture.run([["id": 1, "a": "x", "ref": 1], ["id": 2, "a": "x", "ref": 2]], table, connection)
        let report = try ImportFixture.run(
            [["id": 1, "a": "y", "ref": 9], ["id": 2, "a": "y", "ref": 3], ["id": 3, "ref": 1]], table, connection,
            ImportOptions(failureLimit: 1))
        expectEqual(report.failures.map(\.recordIndex), [0], "failures")
        expectEqual(
            report.tables["item"], ImportReport.Counts(inserted: 1, updated: 1),
            "counts of the records that did not fail")
        expectEqual(try ImportFixture.rows("SELECT id, a, ref FROM item", connection), "1|x|1 2|y|3 3|-|1", "rows")
    }

    private static func testIgnoresTablesNamedLikePragmas() throws {
        for (_, creation) in SQLiteColumn.shadowsOfPragmas {
            let connection = try SQLiteConnection.inMemory()
            try connection.execute(
                """
                CREATE TABLE parent (id INTEGER PRIMARY KEY, a UNIQUE); INSERT INTO parent VALUES (1, 2);
                CREATE TABLE child (name TEXT PRIMARY KEY, n INTEGER REFERENCES parent (id)); \(creation)
                """)
            let child = ImportTable("child", uniqueKey: ["name"], columns: [.text("name"), .integer("n")])
            _ = try ImportFixture.run([["name": "a", "n": 1]], child, connection)
            expectEqual(try ImportFixture.rows("SELECT * FROM child", connection), "a|1", "rows beside \(creation)")
        }
    }
}
#endif
