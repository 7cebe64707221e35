// The in-class tests of writers that create their table: types, columns, what is refused and what is discarded.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistBuilding
import PlistStreaming

enum NewColumnsTests {}

extension NewColumnsTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testChoosesTheTypesThatChangeNothing": testChoosesTheTypesThatChangeNothing,
            "testAddsColumnsBetweenRowsAndWithinThem": testAddsColumnsBetweenRowsAndWithinThem,
            "testCreatesTheColumnsThatAReaderNames": testCreatesTheColumnsThatAReaderNames,
            "testRefusesRowsWithoutATable": testRefusesRowsWithoutATable,
            "testDiscardsRowsAtAnError": testDiscardsRowsAtAnError,
            "testRefusesRepeatedKeysAndOtherTypes": testRefusesRepeatedKeysAndOtherTypes,
            "testWorksBesideOpenStatements": testWorksBesideOpenStatements,
            "testMakesTextOfStoredDates": testMakesTextOfStoredDates,
            "testCountsTheRowsOfTheTable": testCountsTheRowsOfTheTable,
            "testMakesTextOfManyColumnsInOnePass": testMakesTextOfManyColumnsInOnePass,
        ]
    }

    /// Sends a script of messages, and returns the declared types and the rows.
    private static func written(
        _ script: String, _ columns: SQLiteTableWriter.NewColumns = .asNeeded,
        _ options: SQLiteTableOptions = SQLiteTableOptions(), in connection: SQLiteConnection? = nil
    ) throws -> String {
        let connection = try connection ?? SQLiteConnection.inMemory()
        var writer = try SQLiteTableWriter(connection, table: "t", columns: columns, options: options)
        try EventScript.send(script, to: &writer)
        try writer.finish()
        expectEqual(try connection.value("SELECT count(*) FROM temp.sqlite_schema"), 0, "temporary tables")
        let made = try connection.columns(ofTable: "t")
        let cells = made.map { "quote(\(SQLiteName.inQuotes($0.name)))" }.joined(separator: " || ' ' || ")
        let rows = try connection.value("SELECT group_concat(\(cells), ', ') FROM t")?.text ?? ""
        return made.map { "\($0.name):\($0.declaredType)" }.joined(separator: " ") + " | " + rows
    }

    private static func testChoosesTheTypesThatChangeNothing() throws {
        let big = "unsigned 18446744073709551615"
        let rows: [(values: [String], asNeeded: String?, forFields: String)] = [
            (["integer 1", "null", "integer -2"], "INTEGER 1,NULL,-2", "INTEGER 1,NULL,-2"),
            (["real 1.5", "real 2.0"], "REAL 1.5,2.0", "REAL 1.5,2.0"),
            (["real 1.5", "real -0.0"], " 1.5,0.0", " 1.5,0.0"),
            (["true", "false", "null"], "BOOLEAN 1,0,NULL", "BOOLEAN 1,0,NULL"),
            (["true", "integer 7"], " 1,7", "TEXT 'true','7'"),
            (["integer 7", "true", "false"], " 7,1,0", "TEXT '7','true','false'"),
            (["string \"7\"", "string \"x\""], "TEXT '7','x'", "TEXT '7','x'"),
            (["integer 7", "real 2.5"], " 7,2.5", " 7,2.5"),
            (["integer 7", "real 1e300", "string \"x\""], " 7,1.0e+300,'x'", "TEXT '7','1e+300','x'"),
            (["string \"x\"", "real 0.5", "null"], " 'x',0.5,NULL", "TEXT 'x','0.5',NULL"),
            (["data 00ff", "data 01"], "BLOB X'00FF',X'01'", "BLOB X'00FF',X'01'"),
            (["number 9007199254740993.0"], "INTEGER 9007199254740993", "INTEGER 9007199254740993"),
            (["date 0.0"], "TEXT '2001-01-01 00:00:00.000'", "TEXT '2001-01-01 00:00:00.000'"),
            (["null"], " NULL", " NULL"), (["integer 1", big], nil, "TEXT '1','18446744073709551615'"),
        ]
        for (values, asNeeded, forFields) in rows {
            for (columns, expected) in [
                (SQLiteTableWriter.NewColumns.asNeeded, asNeeded), (.asNeededForFields, forFields),
            ] {
                let script = "[ " + values.map { "{ key \"a\" \($0) } " }.joined() + "]"
                guard let expected else {
                    expectThrows(StreamError.self, script) { _ = try written(script, columns) }
                    continue
                }
                let found = try written(script, columns).replacing(", ", with: ",")
                let (type, cells) = (
                    expected.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)[0],
                    expected.drop { $0 != " " }
                )
                expectEqual(found, "a:\(type) |\(cells)", "\(values) in \(columns)")
            }
        }
    }

    private static func testAddsColumnsBetweenRowsAndWithinThem() throws {
        let script = """
            [ { } { key "a" integer 1 } { key "a" integer 2 key "b" string "x" } { key "c" null key "a" integer 3 } ] \
            { key "b" string "y" key "d e" true }
            """
        for batch in [1, 2, 1_024] {
            expectEqual(
                try written(script, .asNeeded, SQLiteTableOptions(batchRowCount: batch)),
                "a:INTEGER b:TEXT c: d e:BOOLEAN | NULL NULL NULL NULL, 1 NULL NULL NULL, 2 'x' NULL NULL, "
                    + "3 NULL NULL NULL, NULL 'y' NULL 1", "batches of \(batch) rows")
        }
        expectEqual(
            try written("{ key \"a\" integer 1 key \"a\" string \"x\" }", .asNeededForFields), "a:TEXT | 'x'",
            "the last value of a key")
        let text = "{ key \"\" integer 1 key \"rowid\" integer 2 key \"c0\" integer 3 }"
        expectEqual(try written(text), ":INTEGER rowid:INTEGER c0:INTEGER | 1 2 3", "any name")
        let zero = try SQLiteConnection.inMemory()
        _ = try written("[ { key \"a\" real 0.5 } { key \"a\" real -0.0 } ]", in: zero)
        expectEqual(try zero.value("SELECT min(a) FROM t")?.real?.sign, .minus, "the sign of zero")
        let many = (0..<300).map { "{ key \"k\($0)\" string \"value \($0)\" key \"k0\" string \"z\" } " }.joined()
        expectThrows(StreamError.self, "a duplicate") {
            _ = try written("[ \(many)]", .asNeeded, SQLiteTableOptions(duplicateKeys: .reject))
        }
        let connection = try SQLiteConnection.inMemory()
        _ = try written("[ \(many)]", in: connection)
        expectEqual(try connection.columns(ofTable: "t").count, 300, "columns")
        expectEqual(try connection.value("SELECT count(*) FROM t WHERE k0 = 'z'"), 300, "rows")
        expectEqual(try connection.value("SELECT k299 FROM t ORDER BY rowid DESC LIMIT 1"), "value 299", "the last row")
    }

    private static func testCreatesTheColumnsThatAReaderNames() throws {
        let connection = try SQLiteConnection.inMemory()
        var writer = try SQLiteTableWriter(connection, table: "t", columns: .asNeeded)
        try writer.expectColumns(["b", "a", "b"])
        try EventScript.send("[ ]", to: &writer)
        try writer.finish()
        expectEqual(try connection.columns(ofTable: "t").map(\.name), ["b", "a"], "columns")
        let error = expectThrows(StreamError.self, "another end") { try writer.finish() }
        expectEqual(error?.kind, .misuse, "kind")
    }

    private static func testRefusesRowsWithoutATable() throws {
        let limited = try SQLiteConnection.inMemory()
        limited.setLimit(.columnCount, to: 30)
        let members = (1...31).map { "key \"k\($0)\" null" }
        let rows = [
            ("[ ]", "$: expected a dictionary with members, because a table needs columns; found none"),
            ("[ { } ]", "$[0]: expected a dictionary with members, because a table needs columns; found none"),
            ("[ { key \"a\" null } { key \"a\" null key \"A\" null } ]", "$[1]: duplicate column name: A"),
            ("[ { \(members.joined(separator: " ")) } ]", "$[0]: expected at most 30 columns in a table, found more"),
            (
                "[ { \(members.joined(separator: " } { ")) } ]",
                "$[30]: expected at most 30 columns in a table, found more"
            ),
            (
                "[ { key \"a\0\" null } ]",
                "$[0]: found a NUL character in a key; column names can't contain it"
            ),
            ("[ { key \"a\" [ ] } ]", "$[0].a: expected a value that a column can store, found an array"),
            (
                "[ { key \"a\" integer 1 } { key \"a\" unsigned 9223372036854775808 } ]",
                "$[1].a: expected an integer below"
            ),
        ]
        for (script, message) in rows {
            let connection = message.contains("at most") ? limited : try SQLiteConnection.inMemory()
            let error = expectThrows(StreamError.self, script) { _ = try written(script, in: connection) }
            expectTrue(error?.description.hasPrefix(message) ?? false, "\(error?.description ?? "") for \(script)")
            expectEqual(try connection.tableNames(), [], "tables after \(script)")
        }
        let connection = try SQLiteConnection.inMemory()
        try connection.execute("CREATE TABLE T (a)")
        let error = expectThrows(StreamError.self, "a table that exists") {
            _ = try written("{ key \"a\" null }", in: connection)
        }
        expectEqual(error?.kind, .cannotWrite, "kind")
        expectThrows(SQLiteError.self, "NUL") {
            _ = try SQLiteTableWriter(connection, table: "a\0", columns: .asNeeded)
        }
    }

    private static func testDiscardsRowsAtAnError() throws {
        let connection = try SQLiteConnection.inMemory()
        func temporaryCount() throws -> SQLiteValue? {
            try connection.value("SELECT count(*) FROM temp.sqlite_schema")
        }
        var writer = try SQLiteTableWriter(
            connection, table: "t", columns: .asNeeded, options: SQLiteTableOptions(batchRowCount: 1))
        try EventScript.send("[ { key \"a\" integer 1 } ]", to: &writer)
        expectEqual(try temporaryCount(), 1, "the temporary table")
        try writer.beginArray()
        try EventScript.send("{ key \"b\" integer 1 }", to: &writer)
        writer.cancel(with: .stopRequest())
        expectEqual(try temporaryCount(), 0, "the temporary table after the error")
        expectThrows(StreamError.self, "the end") { try writer.finish() }
        writer.rollBack()
        try EventScript.send("[ { key \"c\" integer 2 } ]", to: &writer)
        try writer.finish()
        expectEqual(try connection.columns(ofTable: "t").map(\.name), ["c"], "columns of a new stream")
        do {
            var abandoned = try SQLiteTableWriter(connection, table: "u", columns: .asNeeded)
            try EventScript.send("{ key \"a\" integer 1 }", to: &abandoned)
        }
        expectEqual(try temporaryCount(), 0, "the temporary table of an abandoned writer")
        expectFalse(connection.isInTransaction, "a transaction")
    }

    private static func testWorksBesideOpenStatements() throws {
        let connection = try SQLiteConnection.inMemory()
        try connection.execute("CREATE TABLE s (x); INSERT INTO s VALUES (1), (2), (3)")
        let statement = try connection.prepare("SELECT x FROM s")
        while try statement.step() {
            var writer = try SQLiteTableWriter(connection, table: "t\(statement.integer(at: 0))", columns: .asNeeded)
            try EventScript.send("[ { key \"a\" integer 1 } ]", to: &writer)
            try writer.finish()
        }
        expectEqual(try connection.tableNames(), ["s", "t1", "t2", "t3"], "tables")
        var writer = try SQLiteTableWriter(connection, table: "t", columns: .asNeeded)
        try EventScript.send("[ { key \"a\" integer 1 } ]", to: &writer)
        let open = try connection.prepare("SELECT x FROM s")
        expectTrue(try open.step(), "a row")
        writer.rollBack()
        expectTrue(try open.step(), "another row")
        open.reset()
        try EventScript.send("[ { key \"b\" integer 2 } ]", to: &writer)
        try writer.finish()
        expectEqual(try connection.value("SELECT group_concat(b) FROM t"), "2", "rows of the new stream")
        expectEqual(writer.leftStages, [], "temporary tables that are left")
    }

    private static func testMakesTextOfStoredDates() throws {
        let options = SQLiteTableOptions(dateFormat: .secondsSince1970)
        for (script, expected) in [
            ("[ { key \"a\" string \"x\" } { key \"a\" date 1.0 } ]", "a:TEXT | 'x', '978307201.0'"),
            ("[ { key \"a\" date 1.0 } { key \"a\" string \"x\" } ]", "a:TEXT | '978307201.0', 'x'"),
        ] {
            expectEqual(try written(script, .asNeededForFields, options), expected, script)
        }
    }

    private static func testMakesTextOfManyColumnsInOnePass() throws {
        let kinds = [("integer 7", "'7'"), ("real 1.5", "'1.5'"), ("true", "'true'")]
        func row(_ value: (Int) -> String) -> String {
            "{ " + (0..<9).map { "key \"k\($0)\" \(value($0)) " }.joined() + "}"
        }
        let script = "[ \(row { kinds[$0 % 3].0 }) { } \(row { _ in "string \"x\"" }) \(row { kinds[$0 % 3].0 }) ]"
        let types = (0..<9).map { "k\($0):TEXT" }.joined(separator: " ")
        func cells(_ value: (Int) -> String) -> String { (0..<9).map(value).joined(separator: " ") }
        let numbers = cells { kinds[$0 % 3].1 }
        let expected = "\(types) | \(numbers), \(cells { _ in "NULL" }), \(cells { _ in "'x'" }), \(numbers)"
        for limit in [5, 32_766] {
            let connection = try SQLiteConnection.inMemory()
            var writer = try SQLiteTableWriter(connection, table: "t", columns: .asNeededForFields)
            try EventScript.send(script, to: &writer)
            connection.setLimit(.parameterCount, to: limit)
            try writer.finish()
            connection.setLimit(.parameterCount, to: 32_766)
            let made = try connection.columns(ofTable: "t")
            let quoted = made.map { "quote(\($0.name))" }.joined(separator: " || ' ' || ")
            let rows = try connection.value("SELECT group_concat(\(quoted), ', ') FROM t")?.text ?? ""
            expectEqual(
                made.map { "\($0.name):\($0.declaredType)" }.joined(separator: " ") + " | " + rows, expected,
                "at most \(limit) parameters")
        }
    }

    private static func testCountsTheRowsOfTheTable() throws {
        let connection = try SQLiteConnection.inMemory()
        var writer = try SQLiteTableWriter(connection, table: "t", columns: .asNeeded)
        try EventScript.send("[ { } { } { key \"a\" integer 1 } { } ]", to: &writer)
        expectEqual(writer.report.rowCount, 4, "staged rows")
        writer.rollBack()
        expectEqual(writer.report.rowCount, 0, "rows that were discarded")
        try EventScript.send("[ { key \"a\" integer 1 } ]", to: &writer)
        try writer.finish()
        writer.rollBack()
        expectEqual(writer.report.rowCount, 1, "rows of the table")
        try EventScript.send("[ { key \"a\" integer 1 } ]", to: &writer)
        expectThrows(StreamError.self, "a table that exists") { try writer.finish() }
        expectEqual(writer.report.changedRowCount, 1, "rows after the error")
    }

    private static func testRefusesRepeatedKeysAndOtherTypes() throws {
        let connection = try SQLiteConnection.inMemory()
        try connection.execute("CREATE TABLE t (i INTEGER, s TEXT, r REAL, n)")
        let options = SQLiteTableOptions(duplicateKeys: .reject, keepsTypes: true)
        let rows: [(String, String?)] = [
            ("key \"i\" integer 1 key \"i\" integer 2", "$.i: duplicate key \"i\""),
            ("key \"i\" string \"7\"", "found a text that would become a number"), ("key \"i\" string \"x\"", nil),
            ("key \"s\" integer 7", "found an integer, which would become text"), ("key \"s\" string \"7\"", nil),
            ("key \"r\" real -0.0", "found -0.0, which would become 0"), ("key \"r\" integer 1", nil),
            ("key \"n\" real -0.0", nil), ("key \"n\" string \"7\"", nil),
        ]
        for (row, message) in rows {
            var writer = try SQLiteTableWriter(connection, table: "t", options: options)
            var found: StreamError?
            do throws(StreamError) { try EventScript.send("{ \(row) }", to: &writer) } catch { found = error }
            expectEqual(found == nil, message == nil, row)
            expectTrue(found?.description.contains(message ?? "") ?? true, "\(found as Any) for \(row)")
        }
    }
}
#endif
