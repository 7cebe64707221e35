// The in-class tests of `SQLiteTableWriter`: transactions, savepoints, keys, defaults, rejected values.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistBuilding
import PlistCoding
import PlistStreaming

enum SQLiteTableWriterTests {
    static func connection() throws -> SQLiteConnection {
        let connection = try SQLiteConnection.inMemory()
        try connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a, b DEFAULT 'default', UNIQUE (a))")
        return connection
    }

    static func rows(_ connection: SQLiteConnection) throws -> String {
        let statement = try connection.prepare("SELECT id || ':' || coalesce(a, '-') || ':' || coalesce(b, '-') FROM t")
        var texts: [String] = []
        while try statement.step() { texts.append(try statement.text(at: 0) ?? "?") }
        return texts.joined(separator: " ")
    }

    /// Writes any value and returns the resulting rows of the table.
    static func write(_ value: Any, _ options: SQLiteTableOptions = SQLiteTableOptions()) throws -> String {
        let connection = try connection()
        var writer = try SQLiteTableWriter(connection, table: "t", options: options)
        try writer.write(any: value)
        try writer.finish()
        expectFalse(connection.isInTransaction, "a transaction after the end")
        return try rows(connection)
    }
}

extension SQLiteTableWriterTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testInsertsArraysAndSingleRows": testInsertsArraysAndSingleRows,
            "testMissingKeysGetDefaults": testMissingKeysGetDefaults,
            "testUsesOneTransactionPerOuterArray": testUsesOneTransactionPerOuterArray,
            "testErrorsRollBackAllArrays": testErrorsRollBackAllArrays,
            "testRollsBackIncompleteArrays": testRollsBackIncompleteArrays,
            "testRollsBackImmediatelyIfCancelled": testRollsBackImmediatelyIfCancelled,
            "testReportsCommittedRows": testReportsCommittedRows,
            "testStaysInAnOpenTransaction": testStaysInAnOpenTransaction,
            "testRefusesInvalidRows": testRefusesInvalidRows,
            "testIgnoresUnknownMembersIfAsked": testIgnoresUnknownMembersIfAsked,
            "testWritesBatchesOfEverySize": testWritesBatchesOfEverySize,
            "testCopiesBetweenDatabases": testCopiesBetweenDatabases,
            "testFollowsDateFormat": testFollowsDateFormat,
            "testReportsALockedDatabase": testReportsALockedDatabase,
            "testReportsAFullDatabase": testReportsAFullDatabase,
            "testKeepsEveryValueOrRefusesIt": testKeepsEveryValueOrRefusesIt,
            "testReportsFirstRefusedRow": testReportsFirstRefusedRow,
        ]
    }

    private static func testInsertsArraysAndSingleRows() throws {
        expectEqual(
            try write([["id": 1, "a": "x", "b": 2.5], ["b": "y", "id": 2, "a": true]]), "1:x:2.5 2:1:y", "rows")
        expectEqual(try write(["id": 7, "a": 1, "b": 2]), "7:1:2", "a single row")
        expectEqual(try write([] as [Any]), "", "no row")
        expectEqual(
            try write([
                [["id": 1, "a": 1, "b": 1]], [] as [Any], [[["id": 2, "a": 2, "b": 2]]], ["id": 3, "a": 3, "b": 3],
            ]),
            "1:1:1 2:2:2 3:3:3", "nested arrays")
        var writer = try SQLiteTableWriter(try connection(), table: "t")
        for number in 1...3 { try writer.write(any: ["id": number]) }
        expectEqual(writer.report.changedRowCount, 3, "rows that were inserted, each at once")
    }

    private static func testMissingKeysGetDefaults() throws {
        expectEqual(
            try write([
                ["a": 1, "b": "x"], ["a": 2], ["b": Int?.none as Any, "a": 3] as [String: Any], [:] as [String: Any],
                ["b": "y"],
                ["a": 4, "b": "z"],
            ]), "1:1:x 2:2:default 3:3:- 4:-:default 5:-:y 6:4:z", "rows")
    }

    private static func testUsesOneTransactionPerOuterArray() throws {
        let file = try TemporaryDatabase()
        let first = try file.open()
        try first.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a)")
        let second = try file.open(.readOnly)
        func count() throws -> SQLiteValue? { try second.value("SELECT count(*) FROM t") }
        var writer = try SQLiteTableWriter(first, table: "t", options: SQLiteTableOptions(batchRowCount: 2))
        try writer.beginArray()
        expectFalse(first.isInTransaction, "a transaction before the first row")
        for number in 0..<5 { try writer.write(any: ["id": number]) }
        expectTrue(first.isInTransaction, "a transaction after some rows")
        expectEqual(try count(), 0, "rows that others see within")
        try writer.endArray()
        expectEqual(try count(), 5, "rows that others see after it")
        try writer.beginArray()
        try writer.endArray()
        expectEqual(writer.report.rowCount, 5, "rows that came")
        try writer.finish()
    }

    private static func testErrorsRollBackAllArrays() throws {
        for path in SQLiteInsertPath.allCases {
            for batch in [1, 3, 1_000] {
                let connection = try connection()
                let options = SQLiteTableOptions(insertPath: path, batchRowCount: batch)
                var writer = try SQLiteTableWriter(connection, table: "t", options: options)
                try writer.write(any: [["a": -1, "b": 0]])
                let rows = (0..<50).map { ["a": $0 == 40 ? 3 : $0, "b": $0] }
                let error = expectThrows(StreamError.self, "\(path)") {
                    try writer.write(any: [rows[..<20].map { $0 }, [rows[20...].map { $0 }]] as [Any])
                }
                expectEqual(
                    error?.sqliteError?.message, "UNIQUE constraint failed: t.a", "message by \(path) of \(batch)")
                expectEqual(error?.path?.description, "$[1][0][20]", "path by \(path) of \(batch)")
                expectEqual(try self.rows(connection), "1:-1:0", "rows by \(path) of \(batch)")
                expectFalse(connection.isInTransaction, "a transaction")
                let again = expectThrows(StreamError.self, "going on") { try writer.write(any: ["a": 100]) }
                expectEqual(again, error, "the same error")
                writer.rollBack()
                try writer.write(any: [["a": 100, "b": 0]])
                expectEqual(try self.rows(connection), "1:-1:0 2:100:0", "rows after a new start")
            }
        }
    }

    private static func testRollsBackIncompleteArrays() throws {
        let connection = try connection()
        do {
            var writer = try SQLiteTableWriter(connection, table: "t", options: SQLiteTableOptions(batchRowCount: 1))
            try writer.beginArray()
            try writer.write(any: ["a": 1])
            expectTrue(connection.isInTransaction, "a transaction")
        }
        expectFalse(connection.isInTransaction, "a transaction after the writer")
        expectEqual(try rows(connection), "", "rows")
        var writer = try SQLiteTableWriter(connection, table: "t")
        try writer.beginArray()
        try writer.write(any: ["a": 1, "b": 1])
        let error = expectThrows(StreamError.self, "finishing within") { try writer.finish() }
        expectEqual(error?.kind, .unexpectedEnd, "kind")
        expectEqual(try rows(connection), "", "rows after an unfinished array")
    }

    private static func testRollsBackImmediatelyIfCancelled() throws {
        let ended = StreamError(.invalidSyntax, "expected a value, found ']'")
        for (script, kept) in [
            ("[ { key \"a\" integer 1 }", ""), ("[ { key \"a\" integer 1 } { key \"a\"", ""),
            ("[ { key \"a\" integer 1 } ] [ [ { key \"a\" integer 2 } ]", "1:1:default"), ("{ key \"a\"", ""),
            ("[", ""),
            ("{ key \"a\" integer 1 }", "1:1:default"),
        ] {
            for isInTransaction in [false, true] {
                let connection = try connection()
                if isInTransaction { try connection.begin() }
                var writer = try SQLiteTableWriter(
                    connection, table: "t", options: SQLiteTableOptions(batchRowCount: 1))
                try EventScript.send(script, to: &writer)
                writer.cancel(with: ended)
                expectEqual(connection.isInTransaction, isInTransaction, "a transaction after \(script)")
                expectEqual(try rows(connection), kept, "rows after \(script)")
                writer.cancel(with: StreamError(.cannotRead, "another one"))
                expectEqual(
                    expectThrows(StreamError.self, "a row") { try writer.write(any: ["a": 9]) }, ended, "its error")
                expectEqual(expectThrows(StreamError.self, "the end") { try writer.finish() }, ended, "its error")
                writer.rollBack()
                try writer.write(any: [["a": 9, "b": 0]])
                try writer.finish()
                let all = kept.isEmpty ? "1:9:0" : kept + " 2:9:0"
                expectEqual(try rows(connection), all, "rows of a new stream after \(script)")
            }
        }
    }

    private static func testReportsCommittedRows() throws {
        let row = "{ key \"a\" null } "
        for (script, rowCount) in [
            ("[ \(row)\(row)", 0), ("[ \(row)[ \(row)] \(row)", 0), ("[ \(row)\(row)] [ \(row)\(row)", 2),
            ("\(row)[ \(row)", 1), ("[ \(row)] \(row)", 2), ("[ \(row){ key \"a\" null key \"b\" null } ] {", 2),
            ("[ [ \(row)] [ ] ] [ ] [ [ \(row)]", 1),
        ] {
            for batch in [1, 2, 1_000] {
                for isAbandoned in [false, true] {
                    let connection = try connection()
                    try connection.execute("INSERT INTO t (id) VALUES (9)")
                    let options = SQLiteTableOptions(batchRowCount: batch)
                    var writer = try SQLiteTableWriter(connection, table: "t", options: options)
                    try EventScript.send(script, to: &writer)
                    if isAbandoned { writer.cancel(with: StreamError(.cannotRead, "an error")) }
                    let name = "\(script) by \(batch), \(isAbandoned)"
                    for number in 0...2 {
                        // The second call has nothing to undo.
                        if number < 2 { writer.rollBack() } else { try writer.write(any: [["a": 1]]) }
                        let expected = rowCount + number / 2
                        expectEqual(writer.report.rowCount, expected, "rows that came, \(name)")
                        expectEqual(writer.report.changedRowCount, expected, "changed rows, \(name)")
                        let count = try connection.value("SELECT count(*) - 1 FROM t")
                        expectEqual(count, .integer(Int64(expected)), "rows, \(name)")
                    }
                }
            }
        }
    }

    private static func testStaysInAnOpenTransaction() throws {
        let connection = try connection()
        try connection.begin()
        var writer = try SQLiteTableWriter(connection, table: "t")
        try writer.write(any: [["a": 1, "b": 1]])
        expectTrue(connection.isInTransaction, "the caller's transaction")
        expectThrows(StreamError.self, "a duplicate") { try writer.write(any: [["a": 2, "b": 1], ["a": 1, "b": 1]]) }
        expectTrue(connection.isInTransaction, "the caller's transaction after an error")
        try connection.commit()
        expectEqual(try rows(connection), "1:1:1", "rows")
    }

    private static func testRefusesInvalidRows() {
        let rows: [(Any, StreamError.Kind, String)] = [
            ([1], .typeMismatch, "$[0]: expected a dictionary of columns, found integer 1"),
            ("x", .typeMismatch, "$: expected a dictionary of columns, found string \"x\""),
            (
                [["a": 1], ["a": [2]]], .typeMismatch,
                "$[1].a: expected a value that a column can store, found an array"
            ),
            ([["a": ["b": 2]]], .typeMismatch, "$[0].a: expected a value that a column can store, found a dictionary"),
            ([["c": 2]], .unknownMember, "$[0]: the table t has no column \"c\""),
            ([["a": UInt64.max]], .unrepresentable, "$[0].a: expected an integer below 2^63, found \(UInt64.max)"),
            ([["a": Double.nan]], .unrepresentable, "$[0].a: expected a number, found NaN, which SQLite can't store"),
            (
                [["b": "x\0"]], .unrepresentable,
                "$[0].b: found a NUL character in text (at its byte 1), where SQL functions would cut it"
            ),
        ]
        for (value, kind, message) in rows {
            let error = expectThrows(StreamError.self, message) { _ = try write(value) }
            expectEqual(error?.kind, kind, "kind for \(message)")
            expectEqual(error?.description, message, "message")
        }
        expectThrows(SQLiteError.self, "a table that is not there") {
            _ = try SQLiteTableWriter(try connection(), table: "nothing")
        }
    }

    private static func testIgnoresUnknownMembersIfAsked() throws {
        let value: [Any] = [
            ["a": 1, "b": 1, "c": [["d": 1], [] as [Any]] as [Any]], ["c": 5, "a": 2, "b": 2, "e": Int?.none as Any],
        ]
        expectEqual(try write(value, SQLiteTableOptions(unknownMembers: .ignore)), "1:1:1 2:2:2", "rows")
    }

    private static func testWritesBatchesOfEverySize() throws {
        let rows = (0..<300).map {
            ["id": $0 + 1, "a": "Wert \($0) " + String(repeating: "é", count: $0 % 50), "b": $0] as [String: Any]
        }
        var expected: String?
        for path in SQLiteInsertPath.allCases {
            for (count, bytes) in [(1, 1_000), (7, 1 << 20), (8, 100), (299, 1 << 20), (300, 1), (10_000, 1 << 20)] {
                let text = try write(
                    rows, SQLiteTableOptions(insertPath: path, batchRowCount: count, batchByteCount: bytes))
                if let expected { expectTrue(text == expected, "\(path), \(count) rows, \(bytes) bytes") }
                expected = text
            }
        }
        expectTrue(expected?.contains(" 300:Wert 299 ") ?? false, "the last row")
    }

    private static func testCopiesBetweenDatabases() throws {
        let source = try SQLiteConnection.inMemory()
        try source.execute(
            """
            CREATE TABLE t (id INTEGER PRIMARY KEY, a, b);
            WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
            INSERT INTO t SELECT i, CASE i % 4 WHEN 0 THEN i WHEN 1 THEN i + 0.5 WHEN 2 THEN 'größe ' || i END, zeroblob(i % 7) FROM n
            """)
        let target = try connection()
        var writer = try SQLiteTableWriter(target, table: "t")
        try source.query("SELECT * FROM t", into: &writer)
        try writer.finish()
        let sum = "SELECT sum(id) || typeof(max(a)) || count(a) || sum(length(b)) || count(DISTINCT typeof(a)) FROM t"
        expectEqual(try target.value(sum), try source.value(sum), "content")
        // A table is copied within its own database while it is read.
        try target.execute("CREATE TABLE u (id INTEGER PRIMARY KEY, a, b)")
        var copier = try SQLiteTableWriter(target, table: "u")
        try target.query("SELECT * FROM t", into: &copier)
        try copier.finish()
        expectEqual(
            try target.value("SELECT count(*) FROM t NATURAL JOIN u WHERE t.a IS NOT NULL"), 2_250, "equal rows")
    }

    private static func testFollowsDateFormat() throws {
        for (format, expected) in [
            (SQLiteDateFormat.text, SQLiteValue.text("2001-01-01 00:00:01.500")), (.secondsSince1970, 978_307_201.5),
            (.secondsSince2001, 1.5),
        ] {
            let connection = try connection()
            var writer = try SQLiteTableWriter(connection, table: "t", options: SQLiteTableOptions(dateFormat: format))
            try writer.beginDictionary()
            try "a".withUTF8Span { try writer.writeKey($0) }
            try writer.writeDate(secondsSince2001: 1.5)
            try writer.endDictionary()
            expectEqual(try connection.value("SELECT a FROM t"), expected, "\(format)")
            var trace = EventTrace()
            try connection.query(
                "SELECT a FROM t", options: SQLiteReadingOptions(mappings: ["a": .date(format)]), into: &trace)
            expectEqual(trace.text, "[ { key \"a\" date 1.5 } ]", "read back from \(format)")
        }
    }

    private static func testReportsAFullDatabase() throws {
        for path in SQLiteInsertPath.allCases {
            let connection = try connection()
            try connection.execute("INSERT INTO t (a) VALUES ('kept'); PRAGMA max_page_count = 8")
            let options = SQLiteTableOptions(insertPath: path, batchRowCount: 100)
            var writer = try SQLiteTableWriter(connection, table: "t", options: options)
            let error = expectThrows(StreamError.self, "\(path)") {
                try writer.write(any: (2..<1_000).map { ["id": $0, "a": "text of the row \($0)", "b": 1] })
            }
            expectEqual(error?.kind, .cannotWrite, "kind")
            expectEqual(error?.sqliteError?.code, .full, "code")
            let sql = #"INSERT INTO "main"."t" ("id", "a", "b") VALUES (?, ?, ?)"#
            expectEqual(
                error?.sqliteError?.description, "database or disk is full (SQLITE_FULL 13), in: \(sql)",
                "message by \(path)")
            expectEqual(try rows(connection), "1:kept:default", "rows by \(path)")
        }
    }

    private static func testReportsALockedDatabase() throws {
        let file = try TemporaryDatabase()
        let first = try file.open()
        try first.execute("CREATE TABLE t (a)")
        try first.begin(.immediate)
        var writer = try SQLiteTableWriter(try file.open(.readWrite), table: "t")
        let error = expectThrows(StreamError.self, "a lock") { try writer.write(any: [["a": 1]]) }
        expectEqual(error?.sqliteError?.code, .busy, "code")
        try first.commit()
        expectEqual(try first.value("SELECT count(*) FROM t"), 0, "rows")
    }

    private static func testKeepsEveryValueOrRefusesIt() throws {
        let types = ["INTEGER", "DECIMAL(10, 2)", "REAL", "TEXT", "BLOB", ""]
        // The value, the stored value, and the types of the columns that reject it.
        let rows: [(any Sendable, SQLiteValue, Set<String>)] = [
            ("007", "007", ["INTEGER", "DECIMAL(10, 2)", "REAL"]), ("7", "7", ["REAL"]), ("-12", "-12", ["REAL"]),
            ("9223372036854775807", "9223372036854775807", ["REAL"]),
            ("9223372036854775808", "9223372036854775808", ["INTEGER", "DECIMAL(10, 2)", "REAL"]),
            ("1e400", "1e400", ["INTEGER", "DECIMAL(10, 2)", "REAL"]), ("abc", "abc", []), ("", "", []),
            ("1e", "1e", []),
            (" 5", " 5", ["INTEGER", "DECIMAL(10, 2)", "REAL"]), ("5\n", "5\n", ["INTEGER", "DECIMAL(10, 2)", "REAL"]),
            ("-0", "-0", ["INTEGER", "DECIMAL(10, 2)", "REAL"]), (".5", ".5", ["INTEGER", "DECIMAL(10, 2)", "REAL"]),
            ("5.", "5.", ["INTEGER", "DECIMAL(10, 2)", "REAL"]), ("+5", "+5", ["INTEGER", "DECIMAL(10, 2)", "REAL"]),
            ("2026-01-01", "2026-01-01", []), ("0x10", "0x10", []),
            ("1.5", "1.5", ["INTEGER", "DECIMAL(10, 2)", "REAL"]),
            ("Infinity", "Infinity", []), ("5 x", "5 x", []), (" ", " ", []),
            ("1e5 ", "1e5 ", ["INTEGER", "DECIMAL(10, 2)", "REAL"]),
            (5, 5, []), (Int.min, .integer(.min), []), (1 << 53 + 1, .integer(1 << 53 + 1), ["REAL"]),
            (Int.max, .integer(.max), ["REAL"]), (1 << 53, .integer(1 << 53), []), (true, 1, ["TEXT"]),
            (0.1 + 0.2, .real(0.1 + 0.2), ["TEXT"]), (2.5, 2.5, ["TEXT"]), (3.0, 3.0, ["TEXT"]),
            (Double.infinity, .real(.infinity), ["TEXT"]), (1e300, 1e300, ["TEXT"]),
            (9007199254740994.0, 9007199254740994.0, ["TEXT"]),
        ]
        for suffix in ["", " STRICT"] {
            for type in types where suffix.isEmpty || !["DECIMAL(10, 2)", ""].contains(type) {
                for (value, expected, refusing) in rows {
                    let connection = try SQLiteConnection.inMemory()
                    try connection.execute("CREATE TABLE t (n INTEGER, zip \(type))\(suffix)")
                    var writer = try SQLiteTableWriter(connection, table: "t")
                    let name = "\(value) of \(Swift.type(of: value)) in \(type)\(suffix)"
                    do throws(StreamError) {
                        try writer.write(any: [["n": 0], ["n": 1, "zip": value]] as [[String: Any]])
                        let stored = try? connection.value("SELECT zip FROM t WHERE n = 1")
                        expectFalse(refusing.contains(type), "\(name) is stored as \(stored as Any)")
                        let isSame =
                            stored == expected || stored?.real == expected.real && expected.real != nil
                            || stored?.text == expected.integer.map { "\($0)" }
                            || stored?.integer.map { "\($0)" } == expected.text
                        expectTrue(isSame, "\(name) is stored as \(stored as Any)")
                    } catch {
                        // A STRICT table itself rejects other types.
                        if error.sqliteError?.extendedCode == .constraintDataType { continue }
                        expectTrue(refusing.contains(type), "\(name): \(error)")
                        expectEqual(error.path?.description, "$[1].zip", name)
                        expectEqual(error.kind, .unrepresentable, name)
                        expectEqual(try connection.value("SELECT count(*) FROM t"), 0, "rows after \(name)")
                    }
                }
            }
        }
        let connection = try SQLiteConnection.inMemory()
        try connection.execute("CREATE TABLE t (a ANY) STRICT; CREATE TABLE u (a TEXT, b REAL)")
        var writer = try SQLiteTableWriter(connection, table: "t")
        try writer.write(any: [["a": "007"], ["a": true], ["a": 1.0]] as [[String: Any]])
        expectEqual(
            try connection.value("SELECT group_concat(a || typeof(a)) FROM t"), "007text,1integer,1.0real", "ANY")
        for (key, value) in [("a", "1e-400"), ("b", "18446744073709551615")] {
            var writer = try SQLiteTableWriter(connection, table: "u")
            let error = expectThrows(StreamError.self, value) {
                try writer.beginDictionary()
                try key.withUTF8Span { (span) throws(StreamError) in try writer.writeKey(span) }
                if key == "b" { return try writer.writeUnsigned(.max) }
                try value.withUTF8Span { (span) throws(StreamError) in try writer.writeNumber(text: span) }
            }
            expectEqual(error?.kind, .unrepresentable, value)
        }
    }

    private static func testReportsFirstRefusedRow() throws {
        for batch in [1, 3, 8, 1_000] {
            let connection = try connection()
            var writer = try SQLiteTableWriter(
                connection, table: "t", options: SQLiteTableOptions(batchRowCount: batch))
            let error = expectThrows(StreamError.self, "two errors") {
                try writer.write(
                    any: [["a": 1, "b": 0], ["a": 1, "b": 0], ["a": 2, "b": 0], ["a": Double.nan, "b": 0]])
            }
            expectEqual(error?.path?.description, "$[1]", "path of \(batch) rows at a time")
            expectEqual(error?.sqliteError?.message, "UNIQUE constraint failed: t.a", "of \(batch) rows at a time")
            expectEqual(try rows(connection), "", "rows")
        }
    }
}
#endif
