// The in-class tests of conversions as a whole: each pair of formats with the values that formats differ in, and with values
// drawn at random. Whatever comes is exact, refused with its place, or named by a warning.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import JSONStreaming
import PlistStreaming
import SQLiteStreaming

#if canImport(Darwin)
@preconcurrency import Darwin
#elseif canImport(Musl)
@preconcurrency import Musl
#else
@preconcurrency import Glibc
#endif

extension Conversion: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testNamesTheTableOfABadRow": testNamesTheTableOfABadRow,
            "testIsExactRefusedOrWarned": testIsExactRefusedOrWarned,
            "testConvertsWhatADatabaseHolds": testConvertsWhatADatabaseHolds,
            "testIsExactForValuesAtRandom": testIsExactForValuesAtRandom,
            "testIsExactForTablesAtRandom": testIsExactForTablesAtRandom,
            "testKeepsSchemas": testKeepsSchemas,
            "testAppendsInOneTransaction": testAppendsInOneTransaction,
            "testAppendsExactly": testAppendsExactly,
            "testWarnsOfWhatAColumnMakesOfValues": testWarnsOfWhatAColumnMakesOfValues,
            "testTakesAnyNameOfATable": testTakesAnyNameOfATable,
            "testSaysThatAViewBecomesATable": testSaysThatAViewBecomesATable,
            "testRunsNothingThatASchemaHides": testRunsNothingThatASchemaHides,
            "testDestroysNothing": testDestroysNothing,
            "testLeavesNothingBesideALoggedDatabase": testLeavesNothingBesideALoggedDatabase,
        ]
    }

    /// What became of a conversion.
    private enum Outcome: Equatable {
        case exact
        case warned(String)
        case refused(String)
        case changed(String)
    }

    private static func write(_ text: String, to path: String) throws {
        let file = try OutputFile(path: path)
        try requireEqual(systemWrite(file.descriptor, text, text.utf8.count), text.utf8.count, "written bytes")
        try file.commit(isDurable: false)
    }

    private static func text(_ path: String) throws -> String {
        var bytes: [UInt8] = []
        try InputFile(path: path).readChunks { chunk in bytes += Array(copying: chunk) }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Runs the command, and returns its warnings.
    @discardableResult
    private static func run(_ words: String...) throws -> [String] {
        let conversion = Conversion(try Arguments(words), isDurable: false)
        try conversion.check()
        try conversion.run()
        return conversion.warnings.lines
    }

    /// Converts a file there and back, and says what became of it.
    ///
    /// - Parameter read: What is to be equal.
    private static func outcome(
        _ first: String, by steps: [[String]], _ read: (String) throws -> String
    ) throws -> Outcome {
        let before = try read(first)
        var warnings: [String] = []
        var path = first
        do {
            for step in steps {
                let conversion = Conversion(try Arguments([path] + step + ["--replace"]), isDurable: false)
                try conversion.check()
                try conversion.run()
                warnings += conversion.warnings.lines
                path = step[0]
            }
        } catch let error as StreamError {
            expectTrue(error.position != nil || error.path != nil, "a place of \(error)")
            return .refused(error.message)
        }
        let after = try read(path)
        if let warning = warnings.first { return .warned(warning) }
        return after == before ? .exact : .changed("\(before) became \(after)")
    }

    /// JSON with its members in order.
    private static func sorted(_ path: String) throws -> String {
        var writer = JSONWriter(options: JSONWriterOptions(sortsKeys: true))
        try writer.readJSON(contentsOfFile: path)
        try writer.finish()
        return writer.text
    }

    // MARK: From text

    /// An array of rows, and what becomes of it in a table; as JSON and as lines it stays what it is.
    private static let rows: [(json: String, inATable: Outcome)] = [
        (#"[{"a":9007199254740993},{"a":-9007199254740993}]"#, .exact),
        (#"[{"a":9223372036854775807},{"a":-9223372036854775808}]"#, .exact),
        (#"[{"a":9223372036854775808}]"#, .refused("expected an integer below 2^63, found 9223372036854775808")),
        (#"[{"a":18446744073709551616}]"#, .refused("expected a number that 64 bits hold, found another one")),
        (#"[{"a":-9223372036854775809}]"#, .refused("expected a number that 64 bits hold, found another one")),
        (#"[{"a":1e-400}]"#, .refused("expected a number that 64 bits hold, found another one")),
        (#"[{"a":1.5},{"a":-3e-999}]"#, .refused("expected a number that 64 bits hold, found another one")),
        (
            #"[{"a":[1e400,1e-400]}]"#,
            .warned("$[0].a: in the column a, arrays and dictionaries become text, their json")
        ),
        (#"[{"a":1e400}]"#, .refused("expected a number that 64 bits hold, found another one")),
        (#"[{"a":-0.0}]"#, .exact), (#"[{"a":-0.0},{"a":1.5},{"a":2}]"#, .exact), (#"[{"a":0.0},{"a":0}]"#, .exact),
        (#"[{"a":0.1},{"a":2.2250738585072014e-308},{"a":1.7976931348623157e308},{"a":5e-324}]"#, .exact),
        (#"[{"a":1},{"a":2.0},{"a":"1"},{"a":null}]"#, .exact), (#"[{"a":1.0},{"a":1e15}]"#, .exact),
        (#"[{"a":true},{"a":false},{"a":null}]"#, .exact), (#"[{"a":0},{"a":1}]"#, .exact),
        (
            #"[{"a":2},{"a":true}]"#,
            .warned("$[1].a: in the column a, which has other values, true and false become 1 and 0")
        ),
        (
            #"[{"a":"true"},{"a":false},{"a":true}]"#,
            .warned("$[1].a: in the column a, which has other values, true and false become 1 and 0 (and 1 more)")
        ),
        (#"[{},{"a":1}]"#, .warned("$[0]: members that are missing become null in the table rows")),
        (
            #"[{"a":1},{},{"b":2}]"#,
            .warned("$[0]: members that are missing become null in the table rows (and 2 more)")
        ),
        (#"[{"a":""},{"a":" "},{"a":"007"},{"a":"1e3"},{"a":"NULL"},{"a":"2026-11-22"}]"#, .exact),
        (#"[{"a":1,"a":2}]"#, .refused(#"duplicate key "a""#)),
        (#"[{"a":1,"A":2}]"#, .refused("duplicate column name: A")),
        (#"[{"a":1},{"A":2}]"#, .refused("duplicate column name: A")),
        (#"[{"é":1,"É":2,"e\u0301":3,"":4,"\"":5,"rowid":6}]"#, .exact),
        (
            #"[{"a":"x\u0000y"}]"#,
            .refused("found a NUL character in text (at its byte 1), where SQL functions would cut it")
        ),
        (#"[{"a\u0000":1}]"#, .refused("found a NUL character in a key, which no name of a column has")),
        (#"[{"a":"\ud83d\ude42\uffff\u2028"}]"#, .exact),
        (#"[{"a":[1,{"b":2}]}]"#, .warned("$[0].a: in the column a, arrays and dictionaries become text, their json")),
        (#"[{"a":9007199254740993.0}]"#, .changed("")),
    ]

    /// Takes longer than other tests, since each step makes files.
    private static func testIsExactRefusedOrWarned() throws {
        let directory = try temporaryDirectory()
        let input = "\(directory)/in.json"
        for (json, expected) in rows {
            try write(json, to: input)
            let table = try outcome(input, by: [["\(directory)/t.db"], ["\(directory)/out.json"]], sorted)
            if case .changed = expected {
                // A fraction of zero goes, the digits stay.
                expectEqual(try text("\(directory)/out.json"), #"[{"a":9007199254740993}]"#, json)
            } else {
                expectEqual(table, expected, "\(json) in a table")
            }
            let lines = ["\(directory)/out.jsonl"]
            expectEqual(
                try outcome(input, by: [lines, ["\(directory)/back.json"]], sorted), .exact, "\(json) in lines")
            expectEqual(try outcome(input, by: [["\(directory)/copy.json"]], sorted), .exact, "\(json) again")
            let fromLines = [lines, ["\(directory)/l.db"], ["\(directory)/l.json"]]
            let table2 = try outcome(input, by: fromLines, sorted)
            expectEqual(Self.kind(table2), Self.kind(table), "\(json) by lines to a table")
        }
        for json in [#"["\ud800"]"#, #"["\udc00\ud800"]"#, "[NaN]", "[-Infinity]", "[01]", "[1,]"] {
            try write(json, to: input)
            for output in ["x.json", "x.jsonl", "x.db"] {
                let error = expectThrows(StreamError.self, json) { try run(input, "\(directory)/\(output)") }
                expectNotNil(error?.position, "the place in \(json)")
                expectTrue(access("\(directory)/\(output)", F_OK) != 0, "no output for \(json)")
            }
        }
    }

    private static func kind(_ outcome: Outcome) -> Int {
        switch outcome {
        case .exact: 0
        case .warned: 1
        case .refused: 2
        case .changed: 3
        }
    }

    // MARK: From databases

    private static func connection(_ path: String, _ script: String = "") throws -> SQLiteConnection {
        let connection = try SQLiteConnection(path: path, options: SQLiteOptions(access: .create))
        try connection.execute("PRAGMA synchronous = OFF; " + script)
        return connection
    }

    /// All cells of all tables as SQL; text by its bytes, of which SQL would cut some.
    private static func cells(_ path: String) throws -> String {
        try shown(path) { "CASE typeof(\($0)) WHEN 'text' THEN 'text ' || hex(\($0)) ELSE quote(\($0)) END" }
    }

    private static func shown(_ path: String, by form: (String) -> String = { "quote(\($0))" }) throws -> String {
        let connection = try connection(path)
        return try connection.tableNames().map { table in
            let columns = try connection.columns(ofTable: table).map { form(SQLText.quoted($0.name)) }
            let list = columns.joined(separator: " || ' ' || ")
            return try connection.value(
                "SELECT coalesce(group_concat(\(list), ','), '') FROM \(SQLText.quoted(table))")?.text ?? "?"
        }.joined(separator: ";")
    }

    private static let databases: [(script: String, asJSON: Outcome)] = [
        (
            "CREATE TABLE t (a, b REAL); INSERT INTO t VALUES (9223372036854775807, 0.1), (-0.0, 1), (NULL, 1e300)",
            .exact
        ),
        ("CREATE TABLE t (a); INSERT INTO t VALUES (1), (1.0), ('1'), ('')", .exact),
        ("CREATE TABLE t (a BOOLEAN); INSERT INTO t VALUES (1), (0), (NULL)", .exact),
        ("CREATE TABLE t (a BOOLEAN); INSERT INTO t VALUES (1), (2), ('x'), (0.5)", .exact),
        ("CREATE TABLE t (a INTEGER); INSERT INTO t VALUES (1), (0)", .exact),
        ("CREATE TABLE t (a); INSERT INTO t VALUES (9e999)", .refused("JSON has no number for Infinity")),
        ("CREATE TABLE t (a); INSERT INTO t VALUES (-9e999)", .refused("JSON has no number for -Infinity")),
        (
            "CREATE TABLE t (a); INSERT INTO t VALUES (1), (x'00ff'), (x'')",
            .warned("$[1].a: blobs of the column a become text, in base64 (and 1 more)")
        ),
        (
            "CREATE TABLE t (a); INSERT INTO t VALUES (CAST(x'610062' AS TEXT))",
            .refused("found a NUL character in text (at its byte 1), where SQL functions would cut it")
        ),
        ("CREATE TABLE t (a); INSERT INTO t VALUES (CAST(x'ff' AS TEXT))", .refused("the text is not valid UTF-8")),
        (
            "CREATE TABLE t (a); INSERT INTO t VALUES (1); CREATE VIEW v AS SELECT 1",
            .warned("views are not converted: v")
        ),
        ("CREATE TABLE t (a); INSERT INTO t VALUES (1); CREATE TABLE u (b DATETIME); INSERT INTO u VALUES (7)", .exact),
    ]

    private static func testConvertsWhatADatabaseHolds() throws {
        let directory = try temporaryDirectory()
        for (index, (script, expected)) in databases.enumerated() {
            let input = "\(directory)/\(index).db"
            try connection(input, script).close()
            let back = [["\(directory)/x.json"], ["\(directory)/x.db"]]
            expectEqual(try outcome(input, by: back, cells), expected, script)
            expectEqual(try outcome(input, by: [["\(directory)/copy.db"]], cells), .exact, "a copy of \(script)")
            let table = ["\(directory)/table.db", "--table", "t"]
            if !script.contains(" u ") {
                expectEqual(try outcome(input, by: [table], cells), .exact, "a table of \(script)")
            }
        }
    }

    private static func testKeepsSchemas() throws {
        let directory = try temporaryDirectory()
        let script = """
            PRAGMA user_version = 3; CREATE TABLE "a b" (k INTEGER PRIMARY KEY AUTOINCREMENT, "c d" TEXT UNIQUE COLLATE NOCASE
            DEFAULT 'x' CHECK (length("c d") < 9), g AS (k * 2)); CREATE INDEX i ON "a b" ("c d" DESC) WHERE k > 1;
            CREATE TABLE w (x PRIMARY KEY, y REFERENCES "a b" (k)) WITHOUT ROWID; CREATE TABLE r (rowid, z);
            CREATE TABLE empty (n NOT NULL); CREATE VIEW v AS SELECT 1; CREATE TRIGGER t AFTER DELETE ON w BEGIN SELECT 1; END;
            INSERT INTO "a b" (k, "c d") VALUES (5, 'q'), (3, 'é'); DELETE FROM "a b" WHERE k = 5;
            INSERT INTO w VALUES (1, 3); INSERT INTO r (_rowid_, rowid, z) VALUES (40, 'r', 1), (7, 's', 2)
            """
        let input = "\(directory)/in.db"
        let source = try connection(input, script)
        try source.close()
        func facts(_ path: String, _ tables: [String]) throws -> [String] {
            let connection = try connection(path)
            var facts: [String] = []
            for table in tables {
                facts.append(
                    try connection.value(
                        "SELECT group_concat(sql, ';') FROM sqlite_schema WHERE type <> 'trigger' AND tbl_name = ?",
                        [table])?
                        .text ?? "")
            }
            facts.append(try connection.value("SELECT seq FROM sqlite_sequence").map { "\($0)" } ?? "")
            facts.append(try connection.value("SELECT group_concat(_rowid_ || rowid || z) FROM r")?.text ?? "")
            return facts
        }
        let tables = ["a b", "w", "r", "empty"]
        let expected = try facts(input, tables)
        try run(input, "\(directory)/copy.db")
        expectEqual(try facts("\(directory)/copy.db", tables), expected, "a copy")
        let copy = try connection("\(directory)/copy.db")
        expectEqual(try copy.value("PRAGMA user_version"), 3, "the user's version")
        expectEqual(
            try copy.value("SELECT count(*) FROM sqlite_schema WHERE type IN ('view', 'trigger')"), 2, "the rest")
        try copy.close()
        var warnings: [String] = []
        for (index, table) in tables.enumerated() {
            let option = index == 0 ? "--replace" : "--append"
            warnings += try run(input, "\(directory)/tables.db", "--table", table, option)
        }
        expectEqual(try facts("\(directory)/tables.db", tables), expected, "its tables")
        expectEqual(warnings, ["the triggers of the table w are not converted: t"], "warnings")
        expectEqual(
            try run(input, "\(directory)/w.db", "--table", "w").last,
            "the table w refers to tables that are not converted: a b", "a table alone")
    }

    // MARK: What is there

    private static func testAppendsInOneTransaction() throws {
        let directory = try temporaryDirectory()
        let (input, output) = ("\(directory)/in.json", "\(directory)/out.db")
        func fill() throws {
            unlink(output)
            try connection(
                output,
                "CREATE TABLE t (a INTEGER UNIQUE, b DEFAULT 'd'); INSERT INTO t VALUES (1, 2); CREATE VIEW v AS SELECT 1"
            ).close()
        }
        let rows: [(String, String, String?)] = [
            (#"[{"a":3},{"a":4,"b":[5]}]"#, "1 2,3 'd',4 '[5]'", nil), (#"[{"a":null}]"#, "1 2,NULL 'd'", nil),
            (#"[{"a":3},{"a":1}]"#, "1 2", "$[1]: UNIQUE constraint failed: t.a"),
            (#"[{"a":3},{"c":1}]"#, "1 2", "$[1]: the table t has no column \"c\""),
            (#"[{"a":3},"#, "1 2", "expected a value"), (#"{"t":[{"a":3}],"u":[{"x":1}]}"#, "1 2,3 'd';1", nil),
            (#"{"u":[{"x":1}],"t":[{"a":1}]}"#, "1 2", "$.t[0]: UNIQUE constraint failed: t.a"),
            (#"{"v":[{"x":1}]}"#, "1 2", "v"),
        ]
        for (json, expected, message) in rows {
            try fill()
            try write(json, to: input)
            if let message {
                let error = expectThrows(StreamError.self, json) { try run(input, output, "--append", "--table", "t") }
                expectTrue(error?.description.contains(message) ?? false, "\(error?.description ?? "") for \(json)")
            } else {
                expectNoThrow(json) { try run(input, output, "--append", "--table", "t") }
            }
            expectEqual(try shown(output), expected, json)
        }
        try write("no database", to: output)
        expectThrows(StreamError.self, "what is no database") { try run(input, output, "--append") }
        expectEqual(try text(output), "no database", "the file")
        unlink(output)
        try write(#"[{"a":1}]"#, to: input)
        for _ in 0..<2 { try run(input, output, "--append") }
        expectEqual(try cells(output), "1,1", "a database that was not there")
    }

    /// Each value into a column of each type: what is there afterwards is equal, or nothing was added.
    private static func testAppendsExactly() throws {
        let types = ["", "INTEGER", "REAL", "TEXT", "BLOB", "NUMERIC", "BOOLEAN", "DATETIME"]
        let values = [
            "1", "-0.0", "2.0", "2.5", "9007199254740993", "9223372036854775807", "1e300", "0.1", "\"007\"", "\" 1 \"",
            "\"1e400\"", "\"-.5\"", "\"1.\"", "\"0x10\"", "\"inf\"", "\"1e\"", "\"+\"", "\"\"",
            "\"12345678901234567890\"",
            "\"x\"", "null",
        ]
        var refusedCount = 0
        let connection = try SQLiteConnection.inMemory()
        try connection.execute("CREATE TEMP TABLE e (a)")
        for (index, type) in types.enumerated() { try connection.execute("CREATE TABLE t\(index) (a \(type))") }
        for value in values {
            for (index, type) in types.enumerated() {
                let table = "t\(index)"
                do throws(StreamError) {
                    var writer = DatabaseWriter(connection, table: table, isSequence: false)
                    try writer.readJSON("[{\"a\":\(value)}]")
                    try writer.finish()
                } catch {
                    expectEqual(error.path?.description, "$[0].a", "the place of \(value) in \(type)")
                    refusedCount += 1
                    continue
                }
                // Equal in value and, numbers aside, in type: with a column that keeps all on the right.
                var expected: SQLiteValue = .null
                if value.hasPrefix("\"") {
                    expected = .text(String(value.dropFirst().dropLast()))
                } else if let integer = Int64(value) {
                    expected = .integer(integer)
                } else if let real = Double(value) {
                    expected = .real(real)
                }
                try connection.run("DELETE FROM e")
                try connection.run("INSERT INTO e VALUES (?)", [expected])
                let isEqual = try connection.value(
                    """
                    SELECT e.a IS t.a AND (typeof(e.a) = 'text') = (typeof(t.a) = 'text') AND \
                    (quote(e.a) <> '-0.0' OR quote(t.a) = '-0.0') FROM e, (SELECT a FROM \(table) ORDER BY rowid DESC LIMIT 1) t
                    """)
                expectEqual(isEqual, 1, "\(value) in \(type)")
            }
        }
        expectGreater(refusedCount, 20, "refused")
    }

    /// What is added to a column is what comes back, or there is a warning with the place.
    private static func testWarnsOfWhatAColumnMakesOfValues() throws {
        let directory = try temporaryDirectory()
        let (input, database, output) = ("\(directory)/in.json", "\(directory)/t.db", "\(directory)/out.json")
        for type in ["", "INTEGER", "INTEGER PRIMARY KEY", "BOOLEAN", "bool", "REAL", "INT PRIMARY KEY"] {
            for values in [["1"], ["0", "true"], ["false", "true"], ["5", "true"], ["null"], ["null", "1"], ["7"]] {
                let json = "[" + values.map { "{\"k\":\($0),\"z\":\"z\"}" }.joined(separator: ",") + "]"
                unlink(database)
                try connection(database, "CREATE TABLE rows (k \(type), z)").close()
                try write(json, to: input)
                guard let warnings = try? run(input, database, "--append") else { continue }
                try run(database, output)
                // A real of the same value is the same number.
                let found = try text(output).replacing(".0,", with: ",")
                expectTrue(found.hasPrefix(json) || !warnings.isEmpty, "\(json) in \(type): \(found), \(warnings)")
                if values == ["false", "true"], type.uppercased().hasPrefix("BOOL") {
                    expectEqual(warnings, [], "Booleans in \(type)")
                }
            }
        }
    }

    private static func testTakesAnyNameOfATable() throws {
        let directory = try temporaryDirectory()
        let (input, database, output) = ("\(directory)/in.json", "\(directory)/t.db", "\(directory)/out.db")
        let names =
            ["stage0", "STAGE1", "stage0_", "source", "temp", "main", "json_each"]
            + ["index_list", "table_list", "table_xinfo", "foreign_key_list"].map { "pragma_" + $0 }
        for name in names {
            for other in ["new", "stage0_", "stage1"] where other != SQLText.folded(name) {
                unlink(database)
                unlink(output)
                try connection(database, "CREATE TABLE \(SQLText.quoted(name)) (a)").close()
                try write(#"{"\#(other)":[{"a":1}],"\#(name)":[{"a":5}]}"#, to: input)
                try run(input, database, "--append")
                try run(database, output, "--table", name)
                try run(database, output, "--append", "--table", other)
                for path in [database, output] {
                    let connection = try connection(path)
                    for (table, value) in [(name, "5"), (other, "1")] {
                        let found = try connection.value("SELECT group_concat(a) FROM main.\(SQLText.quoted(table))")
                        expectEqual(found?.text, value, "\(table) beside \(name), in \(path)")
                    }
                }
            }
        }
    }

    private static func testSaysThatAViewBecomesATable() throws {
        let directory = try temporaryDirectory()
        let (database, output) = ("\(directory)/v.db", "\(directory)/out.db")
        try connection(database, "CREATE TABLE t (a); CREATE VIEW v AS SELECT 5 AS a; CREATE VIEW w AS SELECT 6 AS a")
            .close()
        for (view, cells) in [("v", "5"), ("w", "5;6")] {
            let warnings = try run(database, output, "--append", "--table", view)
            expectTrue(warnings.description.contains("\(view), a view or"), "\(warnings)")
            expectEqual(try self.cells(output), cells, "rows of \(view)")
        }
        // Several that are no tables of SQLite's own, one after another.
        let virtual = "CREATE VIRTUAL TABLE f USING fts5 (a); CREATE VIRTUAL TABLE g USING fts5 (a)"
        unlink(database)
        guard let made = try? connection(database, virtual) else { return }
        try made.execute("INSERT INTO f VALUES ('x'); INSERT INTO g VALUES ('y')")
        try made.close()
        try run(database, output, "--append")
        expectTrue(try connection(output).hasTable("g"), "the second virtual table")
    }

    /// SQLite reads the first statement of what a schema says of a table or an index, and no other.
    private static func testRunsNothingThatASchemaHides() throws {
        let directory = try temporaryDirectory()
        let (victim, database, output) = ("\(directory)/victim.db", "\(directory)/in.db", "\(directory)/out.db")
        for hidden in ["t", "i"] {
            for path in [victim, database] { unlink(path) }
            try connection(victim, "CREATE TABLE kept (a); INSERT INTO kept VALUES (1)").close()
            let made = try connection(
                database, "CREATE TABLE t (a); CREATE INDEX i ON t (a); PRAGMA writable_schema = ON")
            try made.run(
                "UPDATE sqlite_schema SET sql = sql || ? WHERE name = ?",
                ["; COMMIT; ATTACH '\(victim)' AS v; DELETE FROM v.kept; BEGIN", hidden])
            try made.close()
            expectThrows(StreamError.self, hidden) { try run(database, output, "--table", "t") }
            expectEqual(try cells(victim), "1", "another database, after a statement behind that of \(hidden)")
        }
    }

    private static func testDestroysNothing() throws {
        let directory = try temporaryDirectory()
        for name in ["a.json", "b.json", "text.db"] { try write(#"[{"a":1}]"#, to: "\(directory)/\(name)") }
        try connection("\(directory)/a.db", "CREATE TABLE t (x); INSERT INTO t VALUES (1)").close()
        try connection("\(directory)/b.db", "CREATE TABLE u (y); INSERT INTO u VALUES (1)").close()
        for (name, target) in [("link.db", "a.db"), ("link.json", "a.json"), ("link2.json", "b.db")] {
            symlink(target, "\(directory)/\(name)")
        }
        link("\(directory)/a.db", "\(directory)/hard.db")
        let databases = try ["a.db", "b.db"].map { try cells("\(directory)/\($0)") }
        let refused: [([String], String)] = [
            (["a.json", "a.db"], "there is a database"), (["b.db", "a.db"], "there is a database"),
            (["a.json", "text.db"], "which is no database"), (["a.json", "link.db"], "there is a database"),
            (["a.json", "a.db", "--to", "json"], "there is a database"),
            (["a.db", "link2.json"], "there is a database"),
            (["a.db", "a.db", "--replace"], "are one file"), (["a.db", "link.db", "--replace"], "are one file"),
            (["hard.db", "a.db", "--append"], "are one file"),
            (["a.db", "a.db", "--to", "json", "--replace"], "one file"),
            (["a.json", "link.json", "--to", "sqlite", "--replace"], "are one file"),
            (["a.json", "/dev/null", "--to", "sqlite"], "is written to a file"),
            (["a.json", "/dev/stdout", "--to", "sqlite"], "is written to a file"),
        ]
        for (words, message) in refused {
            let files = words.prefix(2).map { $0.hasPrefix("/") ? $0 : "\(directory)/\($0)" }
            let conversion = Conversion(try Arguments(files + words.dropFirst(2)))
            let error = expectThrows(UsageError.self, "\(words)") { try conversion.check() }
            expectTrue(error?.message.contains(message) ?? false, "\(error?.message ?? "") for \(words)")
        }
        expectEqual(try ["a.db", "b.db"].map { try cells("\(directory)/\($0)") }, databases, "databases")
        try run("\(directory)/a.json", "\(directory)/link.db", "--replace")
        expectEqual(try cells("\(directory)/a.db"), "1", "what the link leads to")
        expectEqual(try connection("\(directory)/hard.db").tableNames(), ["rows"], "its other name")
        try run("\(directory)/a.json", "\(directory)/link.json")
        expectEqual(try text("\(directory)/a.json"), #"[{"a":1}]"#, "text to itself")
    }

    private static func testLeavesNothingBesideALoggedDatabase() throws {
        let directory = try temporaryDirectory()
        func names() -> [String] {
            ["in.db-wal", "in.db-shm"].filter { access("\(directory)/\($0)", F_OK) == 0 }
        }
        let input = "\(directory)/in.db"
        func convert(_ what: String, expecting files: [String]) throws {
            for output in [
                ["x.json"], ["x.db"], ["t.db", "--table", "t"], ["a.db", "--append"], ["a.db", "--append"],
            ] {
                let option = output.contains("--append") ? [] : ["--replace"]
                let conversion = Conversion(
                    try Arguments([input, "\(directory)/\(output[0])"] + output[1...] + option))
                try conversion.run()
                expectEqual(names(), files, "files of \(what) after \(output)")
            }
            expectEqual(try text("\(directory)/x.json"), #"[{"a":1},{"a":2}]"#, what)
            expectEqual(try cells("\(directory)/t.db"), "1,2", what)
        }
        var writer: SQLiteConnection? = try connection(
            input, "PRAGMA journal_mode = wal; CREATE TABLE t (a); INSERT INTO t VALUES (1)")
        try writer?.execute("INSERT INTO t VALUES (2)")
        try convert("a database in use", expecting: ["in.db-wal", "in.db-shm"])
        let log = try ["in.db", "in.db-wal"].map { name in
            var bytes: [UInt8] = []
            try InputFile(path: "\(directory)/\(name)").readChunks { bytes += Array(copying: $0) }
            return bytes
        }
        writer = nil
        try convert("a closed database", expecting: [])
        for (name, bytes) in zip(["in.db", "in.db-wal"], log) {
            let file = open("\(directory)/\(name)", O_WRONLY | O_CREAT | O_TRUNC, 0o644)
            expectEqual(systemWrite(file, bytes, bytes.count), bytes.count, "written bytes")
            close(file)
        }
        unlink("\(directory)/a.db")
        try convert("a database with a log and no index", expecting: ["in.db-wal"])
    }

    private static func testNamesTheTableOfABadRow() throws {
        let directory = try temporaryDirectory()
        let input = "\(directory)/in.db"
        try connection(input, "CREATE TABLE a (x); CREATE TABLE b (y); INSERT INTO b VALUES (1), (1e999)").close()
        for (words, path) in [([], "$.b[1].y"), (["--table", "b"], "$[1].y")] {
            let arguments = try Arguments([input, "\(directory)/out.json"] + words)
            let error = expectThrows(StreamError.self, "infinity") { try Conversion(arguments).run() }
            expectEqual(error?.description, "\(path): JSON has no number for Infinity", "with \(words)")
        }
    }

    // MARK: At random

    /// Numbers that are the same in every run.
    private struct Generator {
        var state: UInt64

        mutating func next(_ count: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int((state >> 33) % UInt64(count))
        }

        mutating func pick(_ choices: [String]) -> String { choices[next(choices.count)] }
    }

    private static let jsonValues = [
        "null", "true", "false", "0", "1", "-1", "-0.0", "0.0", "2.5", "1e300", "5e-324", "0.1", "9007199254740993",
        "9223372036854775807", "-9223372036854775808", "9223372036854775808", "99999999999999999999", "1e999", "\"\"",
        "\"007\"",
        "\"1e5\"", "\"é\\ud83d\\ude42\"", "\"\\u0000\"", "[]", "{\"x\":[1,-0.0]}", "\"true\"", "\"x\"",
        "12345678901234567", "1.0",
    ]

    /// Takes longer than other tests, since each case makes files.
    private static func testIsExactForValuesAtRandom() throws {
        let directory = try temporaryDirectory()
        let input = "\(directory)/in.json"
        var exactCount = 0
        for seed in 0..<40 as Range<UInt64> {
            var generator = Generator(state: seed)
            // A few kinds of values for each case, so that many cases are of one kind.
            let values = (0...generator.next(4)).map { _ in generator.pick(jsonValues) }
            let keys = ["a", "b", "A", "é", "rowid", ""].prefix(1 + generator.next(3) + generator.next(2))
            let rows = (0...generator.next(5)).map { _ in
                let members = keys.filter { _ in generator.next(12) > 0 }.map { "\"\($0)\":" + generator.pick(values) }
                return "{" + members.joined(separator: ",") + "}"
            }
            let json = "[" + rows.joined(separator: ",") + "]"
            try write(json, to: input)
            for middle in ["x.db", "x.jsonl", "x.json"] {
                let steps = [["\(directory)/\(middle)"], ["\(directory)/out.json"]]
                let outcome = try outcome(input, by: steps, sorted)
                if case .changed(let words) = outcome { fail("\(words) by \(middle)") }
                if middle != "x.db" { expectEqual(outcome, .exact, "\(json) by \(middle)") }
                if middle == "x.db", outcome == .exact { exactCount += 1 }
            }
        }
        expectGreater(exactCount, 5, "tables that are exact")
    }

    private static func testIsExactForTablesAtRandom() throws {
        let directory = try temporaryDirectory()
        let values = [
            "NULL", "0", "1", "2", "-0.0", "1.0", "2.5", "9e999", "9007199254740993", "9223372036854775807", "''",
            "'007'",
            "'1'", "x'00'", "x''", "CAST(x'6100' AS TEXT)", "CAST(x'c3' AS TEXT)", "'é'", "5e-324", "'true'",
        ]
        let types = [
            "", " INTEGER", " REAL", " TEXT", " BLOB", " BOOLEAN", " NUMERIC", " DATETIME",
            " VARCHAR(3) COLLATE NOCASE",
        ]
        var exactCount = 0
        for seed in 0..<40 as Range<UInt64> {
            var generator = Generator(state: seed &+ 1_000)
            let used = (0...generator.next(3)).map { _ in generator.pick(values) }
            let columns = ["a", "b", "c"].prefix(1 + generator.next(3)).map { $0 + generator.pick(types) }
            var script = "CREATE TABLE t (\(columns.joined(separator: ", ")));"
            for _ in 0...generator.next(4) {
                script += "INSERT INTO t VALUES (\(columns.map { _ in generator.pick(used) }.joined(separator: ", ")));"
            }
            let input = "\(directory)/in.db"
            unlink(input)
            try connection(input, script).close()
            for steps in [["copy.db"], ["table.db", "--table", "t"]] {
                let step = ["\(directory)/\(steps[0])"] + steps[1...]
                expectEqual(try outcome(input, by: [step], cells), .exact, "\(steps) of \(script)")
            }
            let back = try outcome(input, by: [["\(directory)/x.json"], ["\(directory)/x.db"]], cells)
            if case .changed(let words) = back { fail("\(words) of \(script)") }
            if back == .exact { exactCount += 1 }
        }
        expectGreater(exactCount, 5, "tables that are exact")
    }
}

private func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawPointer, _ count: Int) -> Int {
    write(descriptor, bytes, count)
}
#endif
