// Tests conversions to existing outputs: rows are added, other contents stay, and no input is destroyed.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistStreaming
import SQLiteStreaming

extension Conversion {
    static func testAppendsInOneTransaction() throws {
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
            func append() throws {
                if json.hasPrefix("[") {
                    try run(input, output, "--append", "--table", "t")
                } else {
                    try run(input, output, "--append")
                }
            }
            if let message {
                let error = expectThrows(StreamError.self, json) { try append() }
                expectTrue(error?.description.contains(message) ?? false, "\(error?.description ?? "") for \(json)")
            } else {
                expectNoThrow(json) { try append() }
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

    /// Adds each value to columns of each type. Afterwards, the value is equal, or nothing was added.
    static func testAppendsExactly() throws {
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
                // The comparison uses a column without a type, which keeps the expected value. The values must be
                // equal, and so must the types, except those of numbers.
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
        expectGreaterThan(refusedCount, 20, "refused")
    }

    /// Reading returns the added value, or a warning with the place was printed.
    static func testWarnsAboutValuesChangedByColumns() throws {
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
                // A real and an integer with the same value count as equal.
                let found = try text(output).replacing(".0,", with: ",")
                expectTrue(found.hasPrefix(json) || !warnings.isEmpty, "\(json) in \(type): \(found), \(warnings)")
                if values == ["false", "true"], type.uppercased().hasPrefix("BOOL") {
                    expectEqual(warnings, [], "Booleans in \(type)")
                }
            }
        }
    }

    /// The names of the two columns are the same character, with one and with two code points.
    static func testComparesColumnNamesByBytes() throws {
        let directory = try temporaryDirectory()
        let (input, database) = ("\(directory)/in.json", "\(directory)/t.db")
        try connection(database, "CREATE TABLE rows (\"e\u{301}\" INTEGER, \"\u{E9}\" TEXT, z)").close()
        try write("[{\"\u{E9}\":\"12\",\"z\":true},{\"e\u{301}\":1,\"z\":1}]", to: input)
        let warnings = try run(input, database, "--append")
        expectEqual(
            warnings.map { Array($0.utf8) },
            [
                "$[0].z: in the column z, which is not declared BOOLEAN, true and false become 1 and 0",
                "$: missing members get the default of the column e\u{301}",
                "$: missing members get the default of the column \u{E9}",
            ].map { Array($0.utf8) }, "\(warnings)")
        expectEqual(try shown(database), "NULL '12' 1,1 NULL 1", "rows")
        let output = "\(directory)/out.csv"
        try run(database, output, "--columns", "\u{E9}")
        expectEqual(Array(try text(output).utf8), Array("\u{E9}\r\n\"12\"\r\n\r\n".utf8), "the one")
        try connection(database, "ALTER TABLE rows DROP COLUMN \"\u{E9}\"").close()
        expectThrows(StreamError.self, "the other") { try run(database, output, "--columns", "\u{E9}") }
    }

    /// Otherwise, the conversion would read its own output.
    static func testRefusesToOverwriteItsInput() throws {
        let directory = try temporaryDirectory()
        let path = "\(directory)/in"
        try write("1", to: path)
        let other = "\(directory)/other"
        try write("1", to: other)
        let formats = Format.allCases.filter { $0 != .sqlite }
        for (flags, isSame) in [(O_APPEND, true), (0, true), (O_APPEND, false)] {
            let file = open(isSame ? path : other, O_WRONLY | flags)
            defer { close(file) }
            for from in formats {
                for to in formats {
                    let arguments = [path, "/dev/fd/\(file)", "--from", from.rawValue, "--to", to.rawValue]
                    let conversion = Conversion(try Arguments(arguments))
                    guard isSame else {
                        expectNoThrow("another file") { try conversion.check() }
                        continue
                    }
                    let error = expectThrows(UsageError.self, "\(arguments)") { try conversion.check() }
                    expectTrue(error?.message.contains("are the same file") ?? false, "\(error?.message ?? "")")
                }
            }
        }
        expectNoThrow("a device") {
            try Conversion(try Arguments(["/dev/null", "/dev/null", "--from", "csv", "--to", "csv"])).check()
        }
    }

    static func testAcceptsAnyTableName() throws {
        let directory = try temporaryDirectory()
        let (input, database, output) = ("\(directory)/in.json", "\(directory)/t.db", "\(directory)/out.db")
        let names =
            ["stage0", "STAGE1", "stage0_", "source", "temp", "main", "json_each"]
            + ["index_list", "table_list", "table_xinfo", "foreign_key_list"].map { "pragma_" + $0 }
        for name in names {
            for other in ["new", "stage0_", "stage1"] where SQLiteName.folded(other) != SQLiteName.folded(name) {
                unlink(database)
                unlink(output)
                try connection(database, "CREATE TABLE \(SQLiteName.inQuotes(name)) (a)").close()
                try write(#"{"\#(other)":[{"a":1}],"\#(name)":[{"a":5}]}"#, to: input)
                try run(input, database, "--append")
                try run(database, output, "--table", name)
                try run(database, output, "--append", "--table", other)
                for path in [database, output] {
                    let connection = try connection(path)
                    for (table, value) in [(name, "5"), (other, "1")] {
                        let quoted = SQLiteName.inQuotes(table)
                        let found = try connection.value("SELECT group_concat(a) FROM main.\(quoted)")
                        expectEqual(found?.text, value, "\(table) beside \(name), in \(path)")
                    }
                }
            }
        }
    }

    static func testWarnsIfViewBecomesTable() throws {
        let directory = try temporaryDirectory()
        let (database, output) = ("\(directory)/v.db", "\(directory)/out.db")
        try connection(database, "CREATE TABLE t (a); CREATE VIEW v AS SELECT 5 AS a; CREATE VIEW w AS SELECT 6 AS a")
            .close()
        for (view, cells) in [("v", "5"), ("w", "5;6")] {
            let warnings = try run(database, output, "--append", "--table", view)
            expectTrue(warnings.description.contains("\(view), a view or"), "\(warnings)")
            expectEqual(try self.cells(output), cells, "rows of \(view)")
        }
        // Several virtual tables, one after another.
        let virtual = "CREATE VIRTUAL TABLE f USING fts5 (a); CREATE VIRTUAL TABLE g USING fts5 (a)"
        unlink(database)
        guard let made = try? connection(database, virtual) else { return }
        try made.execute("INSERT INTO f VALUES ('x'); INSERT INTO g VALUES ('y')")
        try made.close()
        try run(database, output, "--append")
        expectEqual(try connection(output).tableNames().sorted(), ["f", "g", "v", "w"], "the virtual tables")
        let error = expectThrows(StreamError.self, "a shadow table") {
            try run(database, output, "--replace", "--table", "f_content")
        }
        expectEqual(
            error?.message, "the table 'f_content' contains data of a virtual table; name that one with --table",
            "message")
        try run(database, output, "--replace", "--table", "f")
        expectEqual(try shown(output), "'x'", "rows of the first")
    }

    static func testRefusesToAppendNoTable() throws {
        let directory = try temporaryDirectory()
        let (database, output) = ("\(directory)/v.db", "\(directory)/out.db")
        try connection(output, "CREATE TABLE t (a); INSERT INTO t VALUES (1)").close()
        for script in ["PRAGMA user_version = 1", "CREATE VIEW v AS SELECT 5 AS a"] {
            unlink(database)
            try connection(database, script).close()
            let error = expectThrows(StreamError.self, script) { try run(database, output, "--append") }
            expectTrue(error?.message.contains("--append") ?? false, "\(error?.message ?? "")")
            expectEqual(try shown(output), "1", "rows")
        }
    }

    /// SQLite reads only the first statement in the schema of a table or an index.
    static func testRunsNoHiddenSQLOfSchemas() throws {
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

    static func testRefusesToReplaceExistingDatabases() throws {
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
            (["a.json", "a.db"], "exists; use --replace, or --append"),
            (["b.db", "a.db"], "exists; use --replace, or --append"),
            (["a.json", "text.db"], "exists and isn't a database"),
            (["a.json", "link.db"], "exists; use --replace, or --append"),
            (["a.json", "a.db", "--to", "json"], "exists; use --replace, or --append"),
            (["a.db", "link2.json"], "exists; use --replace, or --append"),
            (["a.db", "a.db", "--replace"], "are the same file"),
            (["a.db", "link.db", "--replace"], "are the same file"),
            (["hard.db", "a.db", "--append"], "are the same file"),
            (["a.db", "a.db", "--to", "json", "--replace"], "the same file"),
            (["a.json", "link.json", "--to", "sqlite", "--replace"], "are the same file"),
            (["a.json", "/dev/null", "--to", "sqlite"], "is written to a file"),
            (["a.json", "/dev/stdout", "--to", "sqlite"], "is written to a file"),
        ]
        for (arguments, message) in refused {
            let files = arguments.prefix(2).map { $0.hasPrefix("/") ? $0 : "\(directory)/\($0)" }
            let conversion = Conversion(try Arguments(files + arguments.dropFirst(2)))
            let error = expectThrows(UsageError.self, "\(arguments)") { try conversion.check() }
            expectTrue(error?.message.contains(message) ?? false, "\(error?.message ?? "") for \(arguments)")
        }
        expectEqual(try ["a.db", "b.db"].map { try cells("\(directory)/\($0)") }, databases, "databases")
        try run("\(directory)/a.json", "\(directory)/link.db", "--replace")
        expectEqual(try cells("\(directory)/a.db"), "1", "what the link leads to")
        expectEqual(try connection("\(directory)/hard.db").tableNames(), ["rows"], "its other name")
        try run("\(directory)/a.json", "\(directory)/link.json")
        expectEqual(try text("\(directory)/a.json"), #"[{"a":1}]"#, "text to itself")
    }

    static func testLeavesNoLogFilesBesideItsInput() throws {
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
}
#endif
