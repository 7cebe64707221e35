// Tests whole conversions: each pair of formats, with the values that formats treat differently and with random values.
// Each result is exact, refused with its place, or described by a warning.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import JSONStreaming
import PlistStreaming
import SQLiteStreaming

extension Warnings {
    /// The lines. The name of the file is left out of lines without a place.
    var lines: [String] {
        lines(ofFile: "in").map { $0.hasPrefix("in: warning: ") ? String($0.dropFirst("in: warning: ".count)) : $0 }
    }
}

extension Conversion: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testReportsTableOfInvalidRow": testReportsTableOfInvalidRow,
            "testConvertsExactlyOrWarnsOrRefuses": testConvertsExactlyOrWarnsOrRefuses,
            "testConvertsContentsOfDatabases": testConvertsContentsOfDatabases,
            "testConvertsRandomValuesExactlyOrWarns": testConvertsRandomValuesExactlyOrWarns,
            "testConvertsRandomTablesExactlyOrWarns": testConvertsRandomTablesExactlyOrWarns,
            "testKeepsSchemas": testKeepsSchemas,
            "testComparesTableNamesByBytes": testComparesTableNamesByBytes,
            "testAppendsInOneTransaction": testAppendsInOneTransaction,
            "testAppendsExactly": testAppendsExactly,
            "testWarnsAboutValuesChangedByColumns": testWarnsAboutValuesChangedByColumns,
            "testComparesColumnNamesByBytes": testComparesColumnNamesByBytes,
            "testRefusesToOverwriteItsInput": testRefusesToOverwriteItsInput,
            "testAcceptsAnyTableName": testAcceptsAnyTableName,
            "testWarnsIfViewBecomesTable": testWarnsIfViewBecomesTable,
            "testRefusesToAppendNoTable": testRefusesToAppendNoTable,
            "testRunsNoHiddenSQLOfSchemas": testRunsNoHiddenSQLOfSchemas,
            "testRefusesToReplaceExistingDatabases": testRefusesToReplaceExistingDatabases,
            "testLeavesNoLogFilesBesideItsInput": testLeavesNoLogFilesBesideItsInput,
        ]
    }

    /// The outcome of a conversion.
    enum Outcome: Equatable {
        case exact
        case warned(String)
        case refused(String)
        case changed(String)
    }

    /// The outcome for a number that neither a 64-bit integer nor a double represents.
    private static func outOfRange(_ number: String) -> Outcome {
        .refused("expected a 64-bit integer or a number within the range of a double, found \(number)")
    }

    static func write(_ text: String, to path: String) throws {
        var options = OutputFile.Options()
        options.isDurable = false
        let file = try OutputFile(path: path, options: options)
        try requireEqual(systemWrite(file.descriptor, text, text.utf8.count), text.utf8.count, "written bytes")
        try file.commit()
    }

    static func text(_ path: String) throws -> String {
        var bytes: [UInt8] = []
        try InputFile(path: path).readChunks { chunk in bytes += Array(copying: chunk) }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Runs the command and returns its warnings.
    @discardableResult
    static func run(_ arguments: String...) throws -> [String] {
        let conversion = Conversion(try Arguments(arguments), isDurable: false)
        try conversion.check()
        try conversion.run()
        return conversion.warnings.lines
    }

    /// Converts a file in several steps, and returns the outcome.
    ///
    /// - Parameter read: Returns the text of a file that must be equal before and after the conversion.
    static func outcome(
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

    /// Returns JSON with sorted members.
    static func sorted(_ path: String) throws -> String {
        var writer = JSONWriter(options: JSONWriterOptions(sortsKeys: true))
        try writer.readJSON(.file(path))
        try writer.finish()
        return writer.text
    }

    // MARK: From text

    /// Arrays of rows, and the outcomes of converting them to a table. JSON and JSON lines keep them unchanged.
    private static let rows: [(json: String, inATable: Outcome)] = [
        (#"[{"a":9007199254740993},{"a":-9007199254740993}]"#, .exact),
        (#"[{"a":9223372036854775807},{"a":-9223372036854775808}]"#, .exact),
        (#"[{"a":9223372036854775808}]"#, .refused("expected an integer below 2^63, found 9223372036854775808")),
        (#"[{"a":18446744073709551616}]"#, outOfRange("18446744073709551616")),
        (#"[{"a":-9223372036854775809}]"#, outOfRange("-9223372036854775809")),
        (#"[{"a":1e-400}]"#, outOfRange("1e-400")),
        (#"[{"a":1.5},{"a":-3e-999}]"#, outOfRange("-3e-999")),
        (
            #"[{"a":[1e400,1e-400]}]"#,
            .warned("$[0].a: in the column a, arrays and dictionaries become json text")
        ),
        (#"[{"a":1e400}]"#, outOfRange("1e400")),
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
        (#"[{},{"a":1}]"#, .warned("$[0]: missing members become null in the table rows")),
        (
            #"[{"a":1},{},{"b":2}]"#,
            .warned("$[0]: missing members become null in the table rows (and 2 more)")
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
        (#"[{"a\u0000":1}]"#, .refused("found a NUL character in a key; column names can't contain it")),
        (#"[{"a":"\ud83d\ude42\uffff\u2028"}]"#, .exact),
        (#"[{"a":[1,{"b":2}]}]"#, .warned("$[0].a: in the column a, arrays and dictionaries become json text")),
        (#"[{"a":9007199254740993.0}]"#, .changed("")),
    ]

    /// This test takes longer than others, because each step creates files.
    private static func testConvertsExactlyOrWarnsOrRefuses() throws {
        let directory = try temporaryDirectory()
        let input = "\(directory)/in.json"
        for (json, expected) in rows {
            try write(json, to: input)
            let table = try outcome(input, by: [["\(directory)/t.db"], ["\(directory)/out.json"]], sorted)
            if case .changed = expected {
                // The fraction zero is removed, but the digits stay.
                expectEqual(try text("\(directory)/out.json"), #"[{"a":9007199254740993}]"#, json)
            } else {
                expectEqual(table, expected, "\(json) in a table")
            }
            let lines = ["\(directory)/out.jsonl"]
            let isRepeated = json == #"[{"a":1,"a":2}]"#
            let kept = isRepeated ? .warned("$[0].a: \(ConversionLossTests.repeatedKeys)") : Outcome.exact
            expectEqual(
                try outcome(input, by: [lines, ["\(directory)/back.json"]], sorted), kept, "\(json) in lines")
            expectEqual(try outcome(input, by: [["\(directory)/copy.json"]], sorted), kept, "\(json) again")
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

    static func connection(_ path: String, _ script: String = "") throws -> SQLiteConnection {
        let connection = try SQLiteConnection(path: path, options: SQLiteOptions(access: .create))
        try connection.execute("PRAGMA synchronous = OFF; " + script)
        return connection
    }

    /// Returns all cells of all tables as SQL. Text is written as bytes, because SQL would cut some texts.
    static func cells(_ path: String) throws -> String {
        try shown(path) { "CASE typeof(\($0)) WHEN 'text' THEN 'text ' || hex(\($0)) ELSE quote(\($0)) END" }
    }

    static func shown(_ path: String, by form: (String) -> String = { "quote(\($0))" }) throws -> String {
        let connection = try connection(path)
        return try connection.tableNames().map { table in
            let columns = try connection.columns(ofTable: table).map { form(SQLiteName.inQuotes($0.name)) }
            let list = columns.joined(separator: " || ' ' || ")
            return try connection.value(
                "SELECT coalesce(group_concat(\(list), ','), '') FROM \(SQLiteName.inQuotes(table))")?.text ?? "?"
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

    private static func testConvertsContentsOfDatabases() throws {
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

    private static func testComparesTableNamesByBytes() throws {
        let directory = try temporaryDirectory()
        let input = "\(directory)/in.db"
        // The names of the two parents are canonically equivalent, and one of them is the table itself.
        let (one, other) = ("\u{E9}", "e\u{301}")
        try connection(
            input,
            "CREATE TABLE \(one) (a REFERENCES \(other), b REFERENCES \(one));"
                + "CREATE TABLE c (a REFERENCES \(one), b REFERENCES \(other))"
        ).close()
        func spelled(_ text: String) -> String { text.unicodeScalars.map { $0.escaped(asASCII: true) }.joined() }
        // SQLite lists the last reference first.
        for (table, parents) in [(one, [other]), ("c", [other, one])] {
            let warning = "the table \(table) refers to tables that are not converted: "
            let warnings = try run(input, "\(directory)/\(table).db", "--table", table)
            let expected = spelled(warning + parents.joined(separator: ", "))
            expectEqual(warnings.map(spelled), [expected], "warnings of \(table)")
        }
    }

    private static func testReportsTableOfInvalidRow() throws {
        let directory = try temporaryDirectory()
        let input = "\(directory)/in.db"
        try connection(input, "CREATE TABLE a (x); CREATE TABLE b (y); INSERT INTO b VALUES (1), (1e999)").close()
        for (options, path) in [([], "$.b[1].y"), (["--table", "b"], "$[1].y")] {
            let arguments = try Arguments([input, "\(directory)/out.json"] + options)
            let error = expectThrows(StreamError.self, "infinity") { try Conversion(arguments).run() }
            expectEqual(error?.description, "\(path): JSON has no number for Infinity", "with \(options)")
        }
    }
}

/// Calls the system's `write`, because the tests have their own function with this name.
func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawPointer, _ count: Int) -> Int {
    write(descriptor, bytes, count)
}
#endif
