// The tests of imports, on database files. All files of the import are tested through the `Importer`.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistStreaming
import SQLiteStreaming

enum ImporterTests {}

extension ImporterTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testInsertsRelatesAndReports": testInsertsRelatesAndReports,
            "testRepeatedImportWritesNothing": testRepeatedImportWritesNothing,
            "testUpdatesOnlyChangedRows": testUpdatesOnlyChangedRows,
            "testUpdatesEveryKindOfDifference": testUpdatesEveryKindOfDifference,
            "testDistinguishesMissingFromNull": testDistinguishesMissingFromNull,
            "testImportsRepeatedRecordsInOrder": testImportsRepeatedRecordsInOrder,
            "testResultDoesNotDependOnBatchSize": testResultDoesNotDependOnBatchSize,
            "testUsesCompoundKeys": testUsesCompoundKeys,
            "testMapsKeys": testMapsKeys,
            "testConvertsValues": testConvertsValues,
            "testReadsEveryShapeOfDocument": testReadsEveryShapeOfDocument,
        ]
    }

    // Made for each use, since a leak sanitizer does not see the references of an enumeration.
    private static var two: ImportSample {
        [
            [
                "id": 1, "firstName": "Ann", "height": 1.7,
                "phones": [["number": "11", "kind": "home"], ["number": "12"]],
            ],
            ["phones": [["number": "21"]], "other": [1, ["x": 2]], "firstName": "Zoë", "id": 2],
        ]
    }
    private static let twoRows = "p|1|Ann|1.7 p|2|Zoë|- n|11|home|1 n|12|-|1 n|21|-|2"

    private static func testInsertsRelatesAndReports() throws {
        let file = try TemporaryDatabase()
        let connection = try ImportFixture.connection(file)
        let report = try ImportFixture.run(two, ImportFixture.people(), connection)
        expectEqual(try ImportFixture.rows(ImportFixture.everything, connection), twoRows, "rows")
        expectEqual(report.tables["person"], ImportReport.Counts(inserted: 2), "people")
        expectEqual(report.tables["phone"], ImportReport.Counts(inserted: 3), "phones")
        expectEqual(report.recordCount, 2, "records")
        expectEqual(report.batchCount, 1, "batches")
        expectEqual(report.insertedCount, 5, "rows inserted")
        expectFalse(connection.isInTransaction, "in a transaction")
        expectEqual(try connection.value("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'import%'"), 0, "traces")
        expectNoThrow("closing") { try connection.close() }
    }

    private static func testRepeatedImportWritesNothing() throws {
        let file = try TemporaryDatabase()
        let connection = try ImportFixture.connection(file)
        for policy in [ImportRelationship.Policy.merge, .assign, .replace] {
            _ = try ImportFixture.run(two, ImportFixture.people(policy: policy), connection)
            let before = connection.totalChangeCount
            let report = try ImportFixture.run(two, ImportFixture.people(policy: policy), connection)
            expectEqual(connection.totalChangeCount, before, "changes, \(policy)")
            expectEqual(report.unchangedCount, 5, "unchanged, \(policy)")
            expectEqual(report.insertedCount + report.updatedCount, 0, "written, \(policy)")
            expectEqual(try ImportFixture.rows(ImportFixture.everything, connection), twoRows, "rows, \(policy)")
        }
    }

    private static func testUpdatesOnlyChangedRows() throws {
        let file = try TemporaryDatabase()
        let connection = try ImportFixture.connection(file)
        _ = try ImportFixture.run(two, ImportFixture.people(), connection)
        try connection.execute(
            "CREATE TABLE log (what); CREATE TRIGGER t AFTER UPDATE ON person BEGIN INSERT INTO log VALUES (new.id); END"
        )
        let report = try ImportFixture.run(
            [
                ["id": 1, "firstName": "ann", "height": 1.7, "phones": [["number": "11", "kind": nil]]],
                ["id": 2, "firstName": "Zoë"], ["id": 3, "firstName": "New", "phones": [["number": "21"]]],
            ], ImportFixture.people(), connection)
        expectEqual(
            try ImportFixture.rows(ImportFixture.everything, connection),
            "p|1|ann|1.7 p|2|Zoë|- p|3|New|- n|11|-|1 n|12|-|1 n|21|-|3", "rows")
        expectEqual(report.tables["person"], ImportReport.Counts(inserted: 1, updated: 1, unchanged: 1), "people")
        expectEqual(report.tables["phone"], ImportReport.Counts(updated: 2), "phones")
        expectEqual(try ImportFixture.rows("SELECT what FROM log", connection), "1", "updated rows")
    }

    private static func testUpdatesEveryKindOfDifference() throws {
        for trigger in ["", "CREATE TRIGGER a AFTER DELETE ON t BEGIN SELECT 1; END"] {
            let file = try TemporaryDatabase()
            let connection = try ImportFixture.connection(
                file, "CREATE TABLE t (k INTEGER PRIMARY KEY, a TEXT COLLATE NOCASE, b BLOB, r REAL, x);" + trigger)
            let table = ImportTable(
                "t", uniqueKey: ["k"], columns: [.integer("k"), .text("a"), .blob("b"), .real("r"), .any("x")])
            let values: [[(String, ImportSample)]] = [
                [("a", "a")], [("a", "A")], [("a", nil)], [("a", "")], [("a", "é")], [("a", "e\u{301}")],
                [("b", .data([]))], [("b", .data([0]))], [("b", .data([0, 0]))], [("r", 0.1)],
                [("r", 0.30000000000000004)],
                [("r", nil)], [("x", "1")], [("x", 1)], [("x", .data([0x31]))], [("x", nil)], [("x", .integer(.max))],
                [("x", .integer(.max - 1))],
            ]
            _ = try ImportFixture.run([["k": 1]], table, connection)
            for (index, value) in values.enumerated() {
                let record = ImportSample.array([.record([("k", 1)] + value)])
                let first = try ImportFixture.run(record, table, connection).tables["t"]
                expectEqual(first, ImportReport.Counts(updated: 1), "value \(index) \(trigger)")
                let second = try ImportFixture.run(record, table, connection).tables["t"]
                expectEqual(second, ImportReport.Counts(unchanged: 1), "value \(index) again \(trigger)")
            }
        }
    }

    private static func testDistinguishesMissingFromNull() throws {
        let file = try TemporaryDatabase()
        let connection = try ImportFixture.connection(file)
        let table = ImportFixture.people()
        _ = try ImportFixture.run([["id": 1, "firstName": "Ann", "height": 1.5], ["id": 2]], table, connection)
        expectEqual(
            try ImportFixture.rows("SELECT * FROM person", connection), "1|Ann|1.5|- 2|nobody|-|-", "defaults")
        _ = try ImportFixture.run([["id": 1], ["height": 2, "id": 2]], table, connection)
        expectEqual(
            try ImportFixture.rows("SELECT * FROM person", connection), "1|Ann|1.5|- 2|nobody|2.0|-", "missing")
        _ = try ImportFixture.run([["height": nil, "id": 1]], table, connection)
        expectEqual(try ImportFixture.rows("SELECT * FROM person WHERE id = 1", connection), "1|Ann|-|-", "null")
        // Constraints apply to the resulting row, not to a row of defaults.
        try connection.execute(
            """
            CREATE TABLE t (k INTEGER PRIMARY KEY, a TEXT NOT NULL, b INTEGER DEFAULT 0, c INTEGER, CHECK (b >= c));
            INSERT INTO t VALUES (1, 'a', 5, 1);
            """)
        let part = ImportTable(
            "t", uniqueKey: ["k"], columns: [.integer("k"), .text("a"), .integer("b"), .integer("c")])
        _ = try ImportFixture.run([["k": 1, "c": 3], ["k": 2, "a": "b", "b": 9, "c": 9]], part, connection)
        _ = try ImportFixture.run([["k": 2, "c": 4, "a": "c"]], part, connection)
        expectEqual(try ImportFixture.rows("SELECT * FROM t", connection), "1|a|5|3 2|c|9|4", "parts of rows")
    }

    private static func testImportsRepeatedRecordsInOrder() throws {
        let records: ImportSample = [
            ["id": 1, "firstName": "a", "phones": [["number": "1"], ["number": "2"]]],
            ["id": 1, "height": 1], ["id": 2, "firstName": "b", "phones": ["2"]],
            ["id": 1, "firstName": "a"], ["id": 1, "firstName": "c", "phones": [["number": "1", "kind": "x"]]],
        ]
        for size in 1...6 {
            let file = try TemporaryDatabase()
            let connection = try ImportFixture.connection(file)
            let report = try ImportFixture.run(
                records, ImportFixture.people(), connection, ImportOptions(batchSize: size, adaptsBatchSize: false))
            expectEqual(
                try ImportFixture.rows(ImportFixture.everything, connection), "p|1|c|1.0 p|2|b|- n|1|x|1 n|2|-|2",
                "batches of \(size)")
            expectEqual(
                report.tables["person"], ImportReport.Counts(inserted: 2, updated: 2, unchanged: 1), "people by \(size)"
            )
            expectEqual(report.tables["phone"], ImportReport.Counts(inserted: 2, updated: 2), "phones by \(size)")
        }
    }

    private static func testResultDoesNotDependOnBatchSize() throws {
        // Keys that repeat at distances below and above every batch size, and varying sets of members.
        var records: [ImportSample] = []
        for number in 0..<300 as Range<Int64> {
            var members: [(String, ImportSample)] = [("id", .integer(number * number % 97))]
            if number % 3 != 0 { members.append(("firstName", .text("name \(number % 11)"))) }
            if number % 5 == 0 { members.append(("height", number % 2 == 0 ? .null : .real(Double(number % 3)))) }
            if number % 2 == 0 {
                let numbers = (0..<(number % 4)).map { ImportSample.text("\((number + $0 * 7) % 50)") }
                members.append(("phones", .array(numbers)))
            }
            records.append(.record(members))
        }
        // With triggers, rows are looked up first; without them, an upsert is enough.
        let triggers = """
            CREATE TRIGGER a AFTER DELETE ON person BEGIN SELECT 1; END;
            CREATE TRIGGER b AFTER DELETE ON phone BEGIN SELECT 1; END;
            """
        var results: Set<String> = []
        for (size, more) in [(1, ""), (2, triggers), (7, ""), (64, triggers), (256, ""), (300, triggers), (1_000, "")] {
            let file = try TemporaryDatabase()
            let connection = try ImportFixture.connection(file)
            try connection.execute(more)
            let report = try ImportFixture.run(
                .array(records), ImportFixture.people(policy: .merge), connection,
                ImportOptions(batchSize: size, adaptsBatchSize: false))
            expectEqual(report.batchCount, (300 + size - 1) / size, "batches of \(size)")
            let tables = report.tables.sorted { $0.key < $1.key }
            results.insert(try ImportFixture.rows(ImportFixture.everything, connection) + "\(tables)")
        }
        expectEqual(results.count, 1, "different results")
    }

    private static func testUsesCompoundKeys() throws {
        let file = try TemporaryDatabase()
        let connection = try ImportFixture.connection(
            file,
            """
            CREATE TABLE album (artist TEXT, title TEXT, year INTEGER, PRIMARY KEY (artist, title)) WITHOUT ROWID;
            CREATE TABLE track (artist TEXT, album TEXT, number INTEGER, name TEXT, UNIQUE (number, album, artist),
                FOREIGN KEY (artist, album) REFERENCES album (artist, title));
            """)
        let table = ImportTable(
            "album", uniqueKey: ["artist", "title"], columns: [.text("artist"), .text("title"), .integer("year")],
            relationships: [
                .toMany(
                    "tracks",
                    ImportTable(
                        "track", uniqueKey: ["artist", "album", "number"], columns: [.integer("number"), .text("name")]),
                    foreignKey: ["artist", "album"], policy: .replace)
            ])
        let albums: ImportSample = [
            [
                "title": "X", "artist": "A", "year": 1,
                "tracks": [["number": 1, "name": "x1"], ["number": 2, "name": "x2"]],
            ],
            ["title": "Y", "artist": "A", "tracks": [["number": 1, "name": "y1"]]],
            ["title": "AX", "artist": "", "tracks": []],
        ]
        expectEqual(try ImportFixture.run(albums, table, connection).insertedCount, 6, "inserted")
        expectEqual(try ImportFixture.run(albums, table, connection).unchangedCount, 6, "unchanged")
        let report = try ImportFixture.run(
            [["title": "X", "artist": "A", "tracks": [["number": 2, "name": "x3"]]]], table, connection)
        expectEqual(report.tables["track"], ImportReport.Counts(updated: 1, deleted: 1), "tracks")
        expectEqual(
            try ImportFixture.rows("SELECT * FROM track ORDER BY album, number", connection), "A|X|2|x3 A|Y|1|y1",
            "rows")
    }

    private static func testMapsKeys() throws {
        let file = try TemporaryDatabase()
        let connection = try ImportFixture.connection(
            file, "CREATE TABLE t (userID INTEGER PRIMARY KEY, fullName TEXT, \"odd \"\"name\" TEXT)")
        let table = ImportTable(
            "t", uniqueKey: ["userID"],
            columns: [.integer("userID"), .text("fullName"), .text("odd \"name", from: "ø")],
            keyMapping: .snakeCase)
        _ = try ImportFixture.run([["user_id": 1, "full_name": "n", "ø": "o", "fullName": "no"]], table, connection)
        expectEqual(try ImportFixture.rows("SELECT * FROM t", connection), "1|n|o", "rows")
        let error = expectThrows(SQLiteError.self, "two columns of one key") {
            _ = try Importer(
                ImportTable(
                    "t", uniqueKey: ["userID"], columns: [.integer("userID"), .text("fullName", from: "userID")]),
                into: connection)
        }
        expectEqual(error?.message, "the key userID of t has two columns", "message")
    }

    private static func testConvertsValues() throws {
        let file = try TemporaryDatabase()
        let connection = try ImportFixture.connection(
            file, "CREATE TABLE t (k TEXT PRIMARY KEY, i INTEGER, r REAL, b BOOLEAN, x BLOB, d DATETIME, s REAL, a)")
        let table = ImportTable(
            "t", uniqueKey: ["k"],
            columns: [
                .text("k"), .integer("i"), .real("r"), .boolean("b"), .blob("x"), .date("d"),
                .date("s", as: .secondsSince1970), .any("a"),
            ])
        let rows: [(ImportSample, String)] = [
            (["k": "a", "i": "-12", "r": 2, "b": true], "a|-12|2.0|1|-|-|-|-"),
            (["k": 7, "i": 3.0, "r": "1e2", "b": 0], "7|3|100.0|0|-|-|-|-"),
            (["k": .unsigned(.max), "r": .unsigned(1 << 63)], "18446744073709551615|-|9.22337203685478e+18|-|-|-|-|-"),
            (
                ["k": "n", "r": .integer(.min), "a": .unsigned(.max)],
                "n|-|-9.22337203685478e+18|-|-|-|-|18446744073709551615"
            ),
            (
                ["k": "e", "r": .number("-36893488147419103232"), "a": .number("1e999")],
                "e|-|-3.68934881474191e+19|-|-|-|-|1e999"
            ),
            (
                ["k": .number("1e999"), "d": .date(0.5), "s": .date(0)],
                "1e999|-|-|-|-|2001-01-01 00:00:00.500|978307200.0|-"
            ),
            (
                ["k": "é", "d": "2001-01-01T00:00:01Z", "x": .data([0x41, 0x42]), "a": 1.5],
                "é|-|-|-|AB|2001-01-01 00:00:01.000|-|1.5"
            ),
        ]
        for (record, expected) in rows {
            try connection.run("DELETE FROM t")
            for _ in 0..<2 { _ = try ImportFixture.run([record], table, connection) }
            expectEqual(try ImportFixture.rows("SELECT * FROM t", connection), expected, expected)
        }
    }

    private static func testReadsEveryShapeOfDocument() throws {
        let record: ImportSample = ["id": 1, "firstName": "a"]
        let path = ImportOptions(rootPath: ["data", "people"])
        let rows: [(ImportSample, ImportOptions, String)] = [
            (record, ImportOptions(), "p|1|a|-"), ([], ImportOptions(), ""),
            ([record, record], ImportOptions(), "p|1|a|-"),
            (["data": ["x": [1], "people": [record], "people2": 1], "y": ["people": [["id": 2]]]], path, "p|1|a|-"),
            (["people": [["id": 2]], "data": ["people": record]], path, "p|1|a|-"),
        ]
        for (document, options, expected) in rows {
            let file = try TemporaryDatabase()
            let connection = try ImportFixture.connection(file)
            _ = try ImportFixture.run(document, ImportFixture.people(), connection, options)
            expectEqual(try ImportFixture.rows(ImportFixture.everything, connection), expected, "\(document)")
        }
        let file = try TemporaryDatabase()
        let connection = try ImportFixture.connection(file)
        var importer = try Importer(ImportFixture.people(), into: connection)
        for number in 1...3 { try ImportSample.record([("id", .integer(Int64(number)))]).send(to: &importer) }
        expectEqual(try importer.finish().insertedCount, 3, "a sequence of records")
        for (document, message) in [
            (["data": [1]], "$.data: expected a dictionary on the path to the records, found an array"),
            (["data": ["x": 1]], "$.data.people: expected records, found none"),
            ([], "$: expected a dictionary on the path to the records, found an array"),
        ] as [(ImportSample, String)] {
            let error = expectThrows(StreamError.self, message) {
                _ = try ImportFixture.run(document, ImportFixture.people(), connection, path)
            }
            expectEqual(error?.description, message, "message")
        }
    }
}
#endif
