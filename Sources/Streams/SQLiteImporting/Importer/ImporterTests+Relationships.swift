// The tests of relationships: policies, orphans, bare keys, references in both directions, created tables.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistStreaming
import SQLiteStreaming

enum ImportRelationshipTests {}

extension ImportRelationshipTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testFollowsRelationshipPolicies": testFollowsRelationshipPolicies,
            "testMovesChildren": testMovesChildren,
            "testWritesTableUsedTwiceInOrder": testWritesTableUsedTwiceInOrder,
            "testRefusesToDeleteReferencedOrphans": testRefusesToDeleteReferencedOrphans,
            "testComparesParentKeysByBytes": testComparesParentKeysByBytes,
            "testLastRepeatedParentWins": testLastRepeatedParentWins,
            "testRefersToGeneratedKeys": testRefersToGeneratedKeys,
            "testAcceptsKeysInsteadOfObjects": testAcceptsKeysInsteadOfObjects,
            "testResolvesReferencesWithinABatch": testResolvesReferencesWithinABatch,
            "testWaitsForReferencesAcrossBatches": testWaitsForReferencesAcrossBatches,
            "testKeepsRowsNestedInWaitingRecords": testKeepsRowsNestedInWaitingRecords,
            "testImportsDeepNesting": testImportsDeepNesting,
            "testCreatesTables": testCreatesTables,
            "testRefusesOtherSchemas": testRefusesOtherSchemas,
            "testIgnoresCaseOfCollationNames": testIgnoresCaseOfCollationNames,
            "testComparesNamesLikeSQLite": testComparesNamesLikeSQLite,
            "testRefusesContradictoryTables": testRefusesContradictoryTables,
        ]
    }

    private static let phones = "SELECT number, person_id FROM phone ORDER BY 1"

    private static func testFollowsRelationshipPolicies() throws {
        typealias Row = (ImportRelationship.Policy, ImportRelationship.OrphanPolicy, ImportSample, String)
        let rows: [Row] = [
            (.merge, .unlink, [["number": "2"], ["number": "4"]], "1|1 2|1 3|2 4|1"),
            (.merge, .unlink, [], "1|1 2|1 3|2"),
            (.merge, .delete, nil, "1|1 2|1 3|2"),
            (.assign, .unlink, [["number": "2"], ["number": "4"]], "1|- 2|1 3|2 4|1"),
            (.assign, .unlink, [], "1|- 2|- 3|2"),
            (.assign, .unlink, nil, "1|- 2|- 3|2"),
            (.assign, .delete, [["number": "2"]], "2|1 3|2"),
            (.assign, .reject, [["number": "2"], ["number": "1"]], "1|1 2|1 3|2"),
            (.replace, .unlink, [["number": "2"], ["number": "4"]], "2|1 3|2 4|1"),
            (.replace, .unlink, nil, "3|2"),
        ]
        for (policy, orphans, given, expected) in rows {
            let file = try TemporaryDatabase()
            let connection = try ImportFixture.connection(file)
            let table = ImportFixture.people(policy: policy, orphans: orphans)
            _ = try ImportFixture.run(
                [["id": 1, "phones": ["1", "2"]], ["id": 2, "phones": ["3"]]], table, connection)
            _ = try ImportFixture.run([["id": 1, "phones": given]], table, connection)
            expectEqual(try ImportFixture.rows(phones, connection), expected, "\(policy) \(orphans) \(given)")
            _ = try ImportFixture.run([["id": 2]], table, connection)
            expectEqual(try ImportFixture.rows(phones, connection), expected, "a record without the member, \(policy)")
        }
        let file = try TemporaryDatabase()
        let connection = try ImportFixture.connection(file)
        let table = ImportFixture.people(policy: .assign, orphans: .reject)
        _ = try ImportFixture.run([["id": 1, "phones": ["1", "2"]]], table, connection)
        let error = expectThrows(StreamError.self, "an orphan") {
            _ = try ImportFixture.run([["id": 3], ["id": 1, "phones": ["1"]]], table, connection)
        }
        expectEqual(error?.path?.description, "$[1]", "path")
        expectEqual(try ImportFixture.rows("SELECT count(*) FROM person", connection), "1", "people")
    }

    private static func testMovesChildren() throws {
        for size in [1, 256] {
            let file = try TemporaryDatabase()
            let connection = try ImportFixture.connection(file)
            let table = ImportFixture.people(policy: .replace)
            let options = ImportOptions(batchSize: size, adaptsBatchSize: false)
            _ = try ImportFixture.run([["id": 1, "phones": ["1", "2"]], ["id": 2]], table, connection, options)
            // In the same import, each record takes the child that the other one gives up.
            _ = try ImportFixture.run(
                [["id": 2, "phones": ["1"]], ["id": 1, "phones": ["2"]]], table, connection, options)
            expectEqual(try ImportFixture.rows(phones, connection), "1|2 2|1", "batches of \(size)")
        }
    }

    /// The same row as a record and within another one: the later one is used, regardless of its place.
    private static func testWritesTableUsedTwiceInOrder() throws {
        let boss = ImportTable("P", uniqueKey: ["id"], columns: [.text("id"), .text("name")])
        let table = ImportTable(
            "p", uniqueKey: ["id"], columns: [.text("id"), .text("name")],
            relationships: [.toOne("boss", boss, foreignKey: ["boss"])])
        let rows: [(ImportSample, String, [Int])] = [
            ([["id": "b", "name": "1"], ["id": "a", "boss": ["id": "b", "name": "2"]]], "a|-|b b|2|-", [2, 1, 0]),
            ([["id": "a", "boss": ["id": "b", "name": "2"]], ["id": "b", "name": "1"]], "a|-|b b|1|-", [2, 1, 0]),
            ([["id": "b", "name": "1"], ["id": "a", "boss": "b"]], "a|-|b b|1|-", [2, 0, 1]),
        ]
        for (sample, expected, counts) in rows {
            for size in [1, 2, 256] {
                let connection = try SQLiteConnection.inMemory()
                try connection.execute(
                    "CREATE TABLE p (id TEXT PRIMARY KEY NOT NULL, name TEXT, boss TEXT REFERENCES p (id))")
                let report = try ImportFixture.run(
                    sample, table, connection, ImportOptions(batchSize: size, adaptsBatchSize: false))
                let found = try ImportFixture.rows("SELECT id, name, boss FROM p ORDER BY 1", connection)
                expectEqual(found, expected, "batches of \(size)")
                expectEqual(
                    [report.insertedCount, report.updatedCount, report.unchangedCount], counts,
                    "by \(size): \(expected)")
            }
        }
    }

    /// An orphan that other rows refer to makes its record fail, even if a later record contains it.
    private static func testRefusesToDeleteReferencedOrphans() throws {
        let tags = ImportTable("tag", uniqueKey: ["t"], columns: [.text("t")])
        let phones = ImportTable(
            "phone", uniqueKey: ["num"], columns: [.text("num"), .text("kind")],
            relationships: [.toMany("tags", tags, foreignKey: ["phone"], policy: .merge)])
        let sample: ImportSample = [
            ["id": 4, "phones": [["num": "1", "kind": "x", "tags": [["t": "t2"]]]]], ["id": 4, "phones": []],
            ["id": 0, "phones": ["1"]], ["id": "no number"],
        ]
        for (policy, orphans) in [
            (.replace, .unlink), (.assign, .delete),
        ] as [(ImportRelationship.Policy, ImportRelationship.OrphanPolicy)] {
            let table = ImportTable(
                "person", uniqueKey: ["id"], columns: [.integer("id")],
                relationships: [
                    .toMany("phones", phones, foreignKey: ["pid"], policy: policy, orphans: orphans)
                ])
            for size in [1, 2, 3, 256] {
                let connection = try SQLiteConnection.inMemory()
                try connection.execute(
                    """
                    PRAGMA foreign_keys = ON; CREATE TABLE person (id INTEGER PRIMARY KEY);
                    CREATE TABLE phone (num TEXT NOT NULL UNIQUE, kind TEXT, pid INTEGER REFERENCES person (id));
                    CREATE TABLE tag (t TEXT NOT NULL PRIMARY KEY, phone TEXT REFERENCES phone (num))
                    """)
                let report = try ImportFixture.run(
                    sample, table, connection,
                    ImportOptions(batchSize: size, adaptsBatchSize: false, failureLimit: 3))
                expectEqual(report.failures.map(\.recordIndex), [1, 3], "the record that gives it up, by \(size)")
                expectEqual(
                    report.failures.first?.error.message.contains("rows of phone that rows of other tables refer to"),
                    true,
                    "\(report.failures)")
                let found = try ImportFixture.rows("SELECT num, kind, pid FROM phone", connection)
                expectEqual(found, "1|x|0", "\(policy) by \(size)")
            }
        }
    }

    /// Keys of parents that are equal by the collation of the foreign key.
    private static func testComparesParentKeysByBytes() throws {
        let policies: [(ImportRelationship.Policy, ImportRelationship.OrphanPolicy, String)] = [
            (.assign, .delete, "1|x|a 3|y|b"), (.assign, .unlink, "1|x|a 2|-|- 3|y|b"),
            (.replace, .unlink, "1|x|a 3|y|b"),
        ]
        for (policy, orphans, expected) in policies + [(.assign, .reject, "")] {
            for (collation, y, index) in [
                ("NOCASE", "X", ""), ("nocase", "X", "CREATE INDEX i ON c (pk, pl)"), ("RTRIM", "x  ", ""),
                ("BINARY", "X", "CREATE INDEX i ON c (pl, pk)"),
            ] {
                let connection = try SQLiteConnection.inMemory()
                try connection.execute(
                    """
                    PRAGMA foreign_keys = ON; CREATE TABLE p (k TEXT NOT NULL, l TEXT NOT NULL, PRIMARY KEY (k, l));
                    CREATE TABLE c (id INTEGER PRIMARY KEY, pk TEXT COLLATE \(collation), pl TEXT COLLATE \(collation),
                        FOREIGN KEY (pk, pl) REFERENCES p (k, l)); \(index)
                    """)
                let table = ImportTable(
                    "p", uniqueKey: ["k", "l"], columns: [.text("k"), .text("l")],
                    relationships: [
                        .toMany(
                            "cs", ImportTable("c", uniqueKey: ["id"], columns: [.integer("id")]),
                            foreignKey: ["pk", "pl"], policy: policy, orphans: orphans)
                    ])
                let name = "\(policy) \(orphans) \(collation)"
                let both: ImportSample = [
                    ["k": "x", "l": "a", "cs": [1, 2]], ["k": .text(y), "l": "b", "cs": [3]],
                    ["k": .text(y), "l": "a", "cs": []],
                ]
                func expectChildren(_ expected: String) throws {
                    let rows = try ImportFixture.rows("SELECT id, pk, pl FROM c ORDER BY 1", connection)
                    expectEqual(rows, expected.replacing("y", with: y), name)
                }
                _ = try ImportFixture.run(both, table, connection)
                try expectChildren("1|x|a 2|x|a 3|y|b")
                if orphans == .reject { continue }
                _ = try ImportFixture.run([["k": "x", "l": "a", "cs": [1]]], table, connection)
                try expectChildren(expected)
            }
        }
    }

    private static func testLastRepeatedParentWins() throws {
        for size in [1, 2, 256] {
            let file = try TemporaryDatabase()
            let connection = try ImportFixture.connection(file)
            _ = try ImportFixture.run(
                [
                    ["id": 1, "phones": ["1", "2"]], ["id": 1, "phones": ["2", "3"]], ["id": 1, "firstName": "a"],
                    ["id": 2, "phones": ["9"]],
                ], ImportFixture.people(policy: .replace), connection,
                ImportOptions(batchSize: size, adaptsBatchSize: false))
            expectEqual(try ImportFixture.rows(phones, connection), "2|1 3|1 9|2", "batches of \(size)")
        }
    }

    private static func testRefersToGeneratedKeys() throws {
        let file = try TemporaryDatabase()
        let connection = try ImportFixture.connection(file)
        try connection.run("INSERT INTO company (id, code) VALUES (70, 'z')")
        let table = ImportFixture.people()
        let people: ImportSample = [
            ["id": 1, "company": ["code": "a", "title": "A"]], ["id": 2, "company": ["title": "Z", "code": "z"]],
            ["id": 3, "company": ["code": "a"]], ["id": 4, "company": nil], ["id": 5],
        ]
        _ = try ImportFixture.run(people, table, connection)
        let sql = "SELECT p.id, p.company_id, title FROM person p LEFT JOIN company c ON c.id = company_id ORDER BY 1"
        expectEqual(try ImportFixture.rows(sql, connection), "1|71|A 2|70|Z 3|71|A 4|-|- 5|-|-", "rows")
        expectEqual(try ImportFixture.run(people, table, connection).unchangedCount, 8, "unchanged")
        _ = try ImportFixture.run([["id": 1, "company": nil], ["id": 2]], table, connection)
        expectEqual(try ImportFixture.rows(sql, connection), "1|-|- 2|70|Z 3|71|A 4|-|- 5|-|-", "null and missing")

        try connection.execute(
            """
            CREATE TABLE book (book_id INTEGER PRIMARY KEY, isbn TEXT UNIQUE);
            CREATE TABLE page (book_id INTEGER REFERENCES book, number INTEGER, PRIMARY KEY (book_id, number));
            """)
        let books = ImportTable(
            "book", uniqueKey: ["isbn"], columns: [.text("isbn")],
            relationships: [
                .toMany(
                    "pages", ImportTable("page", uniqueKey: ["book_id", "number"], columns: [.integer("number")]),
                    foreignKey: ["book_id"], references: ["book_id"], policy: .replace)
            ])
        _ = try ImportFixture.run([["pages": [1, 2], "isbn": "x"], ["pages": [1], "isbn": "y"]], books, connection)
        _ = try ImportFixture.run([["pages": [1], "isbn": "y"], ["pages": [2, 3], "isbn": "x"]], books, connection)
        expectEqual(
            try ImportFixture.rows("SELECT isbn, number FROM book NATURAL JOIN page ORDER BY 1, 2", connection),
            "x|2 x|3 y|1", "pages")
    }

    private static func testAcceptsKeysInsteadOfObjects() throws {
        let file = try TemporaryDatabase()
        let connection = try ImportFixture.connection(file)
        let table = ImportFixture.people()
        // A reference to a later record, and one to an existing row.
        _ = try ImportFixture.run(
            [
                ["id": 1, "company": "c", "phones": ["1"]],
                ["id": 2, "company": ["code": "c", "title": "C"], "phones": [["number": "1", "kind": "x"]]],
                ["id": 3, "company": "c"],
            ], table, connection, ImportOptions(batchSize: 1, adaptsBatchSize: false))
        expectEqual(
            try ImportFixture.rows("SELECT p.id, title FROM person p JOIN company c ON c.id = company_id", connection),
            "1|C 2|C 3|C", "companies")
        expectEqual(try ImportFixture.rows("SELECT * FROM phone", connection), "1|x|2", "phones")
    }

    private static func testResolvesReferencesWithinABatch() throws {
        let file = try TemporaryDatabase()
        let connection = try ImportFixture.connection(
            file, "CREATE TABLE node (id INTEGER PRIMARY KEY, up INTEGER REFERENCES node (id), a CHECK (a <> 'bad'))")
        let table = ImportTable("node", uniqueKey: ["id"], columns: [.integer("id"), .integer("up"), .any("a")])
        _ = try ImportFixture.run([["id": 1, "up": 2], ["id": 2, "up": 3], ["id": 3, "up": 1]], table, connection)
        expectEqual(try ImportFixture.rows("SELECT id, up FROM node", connection), "1|2 2|3 3|1", "a circle")
        try connection.run("DELETE FROM node")
        // The same records next to rejected ones, which are found one by one.
        let report = try ImportFixture.run(
            [
                ["id": 1, "up": 2], ["id": 2, "up": 3], ["id": 3], ["id": 4, "a": "bad"], ["id": 5, "up": 4],
                ["id": 6, "up": 7],
                ["id": 7, "up": 6], ["id": 8, "up": 1],
            ], table, connection, ImportOptions(failureLimit: 5))
        expectEqual(try ImportFixture.rows("SELECT id FROM node", connection), "1 2 3 8", "what is accepted")
        expectEqual(report.failures.map(\.recordIndex), [3, 4, 5, 6], "what is not")
        expectEqual(report.tables["node"], ImportReport.Counts(inserted: 4), "counts")
        let circle = try ImportFixture.run(
            [["id": 6, "up": 7], ["id": 7, "up": 6], ["id": 9, "a": "ok", "up": 6], ["id": 10, "up": 9]], table,
            connection)
        expectEqual(circle.insertedCount, 4, "a circle alone")
    }

    /// Nodes that refer to other nodes, to their leaves, and to a tag.
    private static let nodeSchema = """
        CREATE TABLE node (id INTEGER PRIMARY KEY, up INTEGER REFERENCES node (id), a TEXT NOT NULL, t INTEGER REFERENCES tag);
        CREATE TABLE leaf (k TEXT PRIMARY KEY, node INTEGER REFERENCES node (id));
        CREATE TABLE tag (n INTEGER PRIMARY KEY, name TEXT UNIQUE);
        """

    private static var nodes: ImportTable {
        ImportTable(
            "node", uniqueKey: ["id"], columns: [.integer("id"), .integer("up"), .text("a")],
            relationships: [
                .toMany(
                    "leaves", ImportTable("leaf", uniqueKey: ["k"], columns: [.text("k")]), foreignKey: ["node"],
                    policy: .replace),
                .toOne(
                    "tag", ImportTable("tag", uniqueKey: ["name"], columns: [.text("name")]), foreignKey: ["t"],
                    references: ["n"]),
            ])
    }

    private static func testWaitsForReferencesAcrossBatches() throws {
        // Each record refers to the seventh record after it; the last ones refer to the first ones.
        let records = (0..<40 as Range<Int64>).map { number in
            ImportSample.record([
                ("leaves", .array((0..<(number % 3)).map { .text("leaf \(number) \($0)") })), ("id", .integer(number)),
                ("up", .integer((number + 7) % 40)), ("a", .text("text of \(number)")),
                ("tag", .text("tag \(number % 5)")),
            ])
        }
        var results: Set<String> = []
        for size in [1, 2, 5, 64] {
            let file = try TemporaryDatabase()
            let connection = try ImportFixture.connection(file, nodeSchema)
            var options = ImportOptions(
                batchSize: size, adaptsBatchSize: false, progress: ImportOptions.Progress(name: "n", fingerprint: "f"))
            do {
                var importer = try Importer(nodes, into: connection, options: options)
                try importer.beginArray()
                for record in records.prefix(30) { try record.send(to: &importer) }
            }
            // Rows aren't written before the rows they refer to, and progress doesn't pass waiting records.
            expectEqual(try connection.value("SELECT count(*) FROM node"), 0, "rows by \(size)")
            let progress = try ImportFixture.rows("SELECT records FROM import_progress", connection)
            expectEqual(progress, size < 64 ? "0" : "", "progress by \(size)")
            let report = try ImportFixture.run(.array(records), nodes, connection, options)
            expectEqual(report.tables["node"], ImportReport.Counts(inserted: 40), "nodes by \(size)")
            results.insert(
                try ImportFixture.rows(
                    """
                    SELECT id, up, a, name, (SELECT group_concat(k) FROM leaf WHERE node = id ORDER BY k) FROM node
                    JOIN tag ON n = t ORDER BY id
                    """, connection))
            expectEqual(try ImportFixture.rows("PRAGMA foreign_key_check", connection), "", "foreign keys by \(size)")
            // Only a record whose reference has no target fails, at the end.
            options.progress = nil
            let error = expectThrows(StreamError.self, "a reference to nothing") {
                _ = try ImportFixture.run(
                    [["id": 50, "up": 51, "a": "x"], ["id": 60, "a": "y", "up": 1]], nodes, connection, options)
            }
            expectEqual(error?.path?.description, "$[0]", "path")
            expectEqual(error?.sqliteError?.extendedCode, .constraintForeignKey, "code")
            expectEqual(try connection.value("SELECT count(*) FROM node WHERE id > 40"), 1, "rows beside it by \(size)")
        }
        expectEqual(results.count, 1, "different results")
    }

    private static func testKeepsRowsNestedInWaitingRecords() throws {
        let file = try TemporaryDatabase()
        let connection = try ImportFixture.connection(file, nodeSchema)
        let report = try ImportFixture.run(
            [
                ["id": 1, "a": "1", "tag": "x", "leaves": ["1"]],
                ["id": 2, "a": "2", "up": 9, "tag": "y", "leaves": ["2"]],
                ["id": 3, "a": "3", "tag": "z", "leaves": ["3"]],
                ["id": 4, "a": "4", "up": 9, "tag": "w", "leaves": ["4"]],
                ["id": 9, "a": "9", "tag": "v", "leaves": ["9"]],
            ], nodes, connection, ImportOptions(batchSize: 2, adaptsBatchSize: false))
        expectEqual(report.insertedCount, 15, "inserted")
        expectEqual(
            try ImportFixture.rows(
                "SELECT id, name, k FROM node JOIN tag ON n = t JOIN leaf ON node = id ORDER BY id", connection),
            "1|x|1 2|y|2 3|z|3 4|w|4 9|v|9", "rows")
    }

    private static func testImportsDeepNesting() throws {
        let file = try TemporaryDatabase()
        let connection = try file.open()
        var table = ImportTable("t4", uniqueKey: ["k"], columns: [.text("k")])
        for level in (0..<4).reversed() {
            table = ImportTable(
                "t\(level)", uniqueKey: ["k"], columns: [.text("k")],
                relationships: [.toMany("below", table, foreignKey: ["above"], policy: .replace)])
        }
        func record(_ path: String, _ depth: Int) -> ImportSample {
            var members: [(String, ImportSample)] = [("k", .text(path))]
            if depth < 4 { members.append(("below", .array((0..<2).map { record("\(path)\($0)", depth + 1) }))) }
            return .record(members)
        }
        let options = ImportOptions(createsTables: true)
        expectEqual(
            try ImportFixture.run([record("a", 0), record("b", 0)], table, connection, options).insertedCount, 62,
            "rows")
        expectEqual(
            try ImportFixture.run([record("a", 0), record("b", 0)], table, connection).unchangedCount, 62, "again")
        let broken = try connection.value(
            "SELECT count(*) FROM t4 JOIN t3 ON t3.k = t4.above WHERE t4.k NOT LIKE t3.k || '_'")
        expectEqual(broken, 0, "children elsewhere")
    }

    private static func testCreatesTables() throws {
        let file = try TemporaryDatabase()
        let connection = try file.open()
        let table = ImportTable(
            "person", uniqueKey: ["email"],
            columns: [.text("email"), .boolean("active").required(), .date("born"), .any("extra")],
            relationships: [
                .toMany(
                    "phones", ImportTable("phone", uniqueKey: ["number"], columns: [.text("number")]),
                    foreignKey: ["person_id"], references: ["id"]),
                .toOne(
                    "city", ImportTable("city", uniqueKey: ["id"], columns: [.integer("id")]), foreignKey: ["city_id"]),
            ])
        for _ in 0..<2 {
            _ = try ImportFixture.run(
                [["email": "a", "active": true, "phones": ["1"], "city": 9]], table, connection,
                ImportOptions(createsTables: true))
        }
        expectEqual(
            try ImportFixture.rows("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid", connection),
            [
                "CREATE TABLE \"city\" (\"id\" INTEGER PRIMARY KEY)",
                "CREATE TABLE \"person\" (\"id\" INTEGER PRIMARY KEY, \"email\" TEXT NOT NULL, \"active\" BOOLEAN NOT NULL, "
                    + "\"born\" DATETIME, \"extra\" BLOB, \"city_id\" INTEGER, UNIQUE (\"email\"), "
                    + "FOREIGN KEY (\"city_id\") REFERENCES \"city\" (\"id\"))",
                "CREATE INDEX \"person_city_id_index\" ON \"person\" (\"city_id\")",
                "CREATE TABLE \"phone\" (\"number\" TEXT NOT NULL, \"person_id\" INTEGER, UNIQUE (\"number\"), "
                    + "FOREIGN KEY (\"person_id\") REFERENCES \"person\" (\"id\"))",
                "CREATE INDEX \"phone_person_id_index\" ON \"phone\" (\"person_id\")",
            ].joined(separator: " "), "schema")
        expectEqual(
            try ImportFixture.rows(
                "SELECT * FROM person NATURAL JOIN (SELECT number, person_id AS id FROM phone)", connection),
            "1|a|1|-|-|9|1", "rows")
    }

    private static func testRefusesOtherSchemas() throws {
        let rows: [(String, String)] = [
            ("CREATE TABLE u (a)", "there is no table t"),
            ("CREATE TABLE t (k TEXT PRIMARY KEY)", "the table t has no column v"),
            ("CREATE TABLE t (k TEXT PRIMARY KEY, v TEXT)", "the column t.v of type 'TEXT' would change integers"),
            ("CREATE TABLE t (k INTEGER PRIMARY KEY, v INTEGER)", "the column t.k of type 'INTEGER' would change text"),
            ("CREATE TABLE t (k TEXT, v INTEGER)", index), ("CREATE TABLE t (k TEXT, v INTEGER, UNIQUE (k, v))", index),
            ("CREATE TABLE t (k TEXT, v INTEGER); CREATE INDEX i ON t (k)", index),
            ("CREATE TABLE t (k TEXT, v INTEGER); CREATE UNIQUE INDEX i ON t (k) WHERE v > 1", index),
            ("CREATE TABLE t (k TEXT, v INTEGER); CREATE UNIQUE INDEX i ON t (lower(k))", index),
            ("CREATE TABLE t (k TEXT COLLATE NOCASE UNIQUE, v INTEGER)", index),
            ("CREATE TABLE u (k TEXT UNIQUE, v INTEGER); CREATE VIEW t AS SELECT * FROM u", index),
        ]
        for (schema, message) in rows {
            let connection = try SQLiteConnection.inMemory()
            try connection.execute(schema)
            let error = expectThrows(SQLiteError.self, schema) {
                _ = try Importer(
                    ImportTable("t", uniqueKey: ["k"], columns: [.text("k"), .integer("v")]), into: connection)
            }
            expectEqual(error?.message, message, schema)
            expectEqual(error?.code, .schema, "code for \(schema)")
        }
    }
    private static let index = "the table t has no unique index of exactly (k) that compares text by its bytes"

    private static func testIgnoresCaseOfCollationNames() throws {
        for schema in [
            "CREATE TABLE t (k TEXT COLLATE binary PRIMARY KEY, v INTEGER)",
            "CREATE TABLE t (k TEXT COLLATE NOCASE, v INTEGER, PRIMARY KEY (k COLLATE Binary)) WITHOUT ROWID",
        ] {
            let connection = try SQLiteConnection.inMemory()
            try connection.execute(schema)
            let table = ImportTable("t", uniqueKey: ["k"], columns: [.text("k"), .integer("v")])
            for value in 1...2 {
                _ = try ImportFixture.run([["k": "x", "v": .integer(Int64(value))]], table, connection)
                expectEqual(try ImportFixture.rows("SELECT * FROM t", connection), "x|\(value)", schema)
            }
        }
    }

    private static func testComparesNamesLikeSQLite() throws {
        let table = ImportTable("t", uniqueKey: ["Kä"], columns: [.text("Kä"), .integer("vÄ")])
        let connection = try SQLiteConnection.inMemory()
        // Only ASCII case is ignored.
        try connection.execute("CREATE TABLE t (KÄ INTEGER, kä TEXT PRIMARY KEY, vä TEXT, VÄ INTEGER)")
        for _ in 0..<2 { _ = try ImportFixture.run([["Kä": "a", "vÄ": 1]], table, connection) }
        expectEqual(try ImportFixture.rows("SELECT * FROM t", connection), "-|a|-|1", "rows")
        try connection.execute("DROP TABLE t; CREATE TABLE t (kä TEXT PRIMARY KEY, vä INTEGER)")
        let error = expectThrows(SQLiteError.self, "another name") { _ = try Importer(table, into: connection) }
        expectEqual(error?.message, "the table t has no column vÄ", "message")
        // The same text with other bytes is another name.
        try connection.execute("DROP TABLE t; CREATE TABLE t (ka\u{308} INTEGER, k\u{E4} TEXT PRIMARY KEY)")
        let composed = ImportTable("t", uniqueKey: ["k\u{E4}"], columns: [.text("k\u{E4}")])
        _ = try ImportFixture.run([["k\u{E4}": "a"]], composed, connection)
        expectEqual(try ImportFixture.rows("SELECT * FROM t", connection), "-|a", "rows of another spelling")
    }

    private static func testRefusesContradictoryTables() throws {
        let child = ImportTable("c", uniqueKey: ["k", "up"], columns: [.text("k")])
        func table(
            key: [String] = ["k"], columns: [ImportColumn] = [.text("k"), .text("v")],
            _ relationships: [ImportRelationship] = []
        ) -> ImportTable { ImportTable("t", uniqueKey: key, columns: columns, relationships: relationships) }
        let many = (0..<65).map { ImportColumn.text("c\($0)") }
        let rows: [(ImportTable, String)] = [
            (table(key: []), "expected at least one column in the unique key of t"),
            (table(key: ["k", "k"]), "expected at least one column in the unique key of t"),
            (table(key: ["x"]), "the column x of the unique key of t is not imported"),
            (table(columns: [.text("k"), .text("k", from: "l")]), "the column k of the table t is imported twice"),
            (table(columns: [.text("k"), .text("K", from: "l")]), "the column K of the table t is imported twice"),
            (table([.toMany("v", child, foreignKey: ["up"])]), "the key v of t is used twice"),
            (
                table([.toMany("x", child, foreignKey: ["up", "k"])]),
                "the foreign key (up, k) does not fit the columns (k) of t"
            ),
            (table([.toMany("x", child, foreignKey: ["k"])]), "the column k of the table c is imported twice"),
            (
                table([.toMany("x", child, foreignKey: ["up"], policy: .assign)]),
                "the orphans of c cannot be unlinked, since up is in its unique key"
            ),
            (
                table([.toMany("x", child, foreignKey: ["up"], references: ["v"])]),
                "a foreign key refers to t.v, which is imported but isn't a unique key"
            ),
            (
                table(key: ["c0"], columns: many),
                "expected at most 64 columns and 30 relationships of t, found 65 and 0"
            ),
        ]
        for (table, message) in rows {
            let connection = try SQLiteConnection.inMemory()
            let error = expectThrows(SQLiteError.self, message) { _ = try Importer(table, into: connection) }
            expectEqual(error?.message, message, "message")
        }
    }
}
#endif
