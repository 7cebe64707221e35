// In-class tests of `RowScan`, `RowScanChoice` and `RowFunction`: scanning gives the same rows and errors as stepping.

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistBuilding
import PlistStreaming

extension RowScan: SelfTesting {
    @usableFromInline
    static var testSelectors: TestSelectors {
        [
            "testRecognizesWholeScans": testRecognizesWholeScans,
            "testSendsSameMessagesAsStepping": testSendsSameMessagesAsStepping,
            "testFillsSameValuesAsStepping": testFillsSameValuesAsStepping,
            "testFillsAnyNumberOfRows": testFillsAnyNumberOfRows,
            "testReadsTablesLikeStepping": testReadsTablesLikeStepping,
            "testBindsParameters": testBindsParameters,
            "testDetectsSchemaChanges": testDetectsSchemaChanges,
            "testStopsEarlyAndNests": testStopsEarlyAndNests,
            "testStopsIfInterrupted": testStopsIfInterrupted,
            "testHidesItsFunctionFromSQL": testHidesItsFunctionFromSQL,
            "testStepsThroughWideTables": testStepsThroughWideTables,
            "testPausesScansForFewRows": testPausesScansForFewRows,
        ]
    }

    /// Returns a database in memory that tries to scan all whole tables.
    static func connection() throws -> SQLiteConnection {
        let connection = try SQLiteConnection.inMemory()
        connection.scans.fewRowCount = 0
        return connection
    }

    private static func testRecognizesWholeScans() {
        for sql in [
            "SELECT a FROM t", " select a, b\n from t -- all of them", "SELECT * FROM t JOIN u USING (a)",
            "SELECT a FROM t /* the end", "SELECT \"limits\" FROM t",
        ] {
            expectTrue(RowScanChoice.isWholeScan(sql), sql)
        }
        for sql in [
            "", "SELECT 1", "SELECT a FROM t WHERE a", "select a from t order by a", "SELECT a FROM t LIMIT 1",
            "SELECT count(*) FROM t", "SELECT a FROM t UNION SELECT 1", "VALUES (1)", "DELETE FROM t",
            "SELECT a FROM t;",
            "WITH t AS (SELECT 1) SELECT * FROM t", "EXPLAIN SELECT a FROM t", "SELECT a FROM t --;",
            "SELECT DISTINCT a FROM t",
            "/* */ DELETE FROM t RETURNING a", "SELECT 'order' FROM t",
        ] {
            expectFalse(RowScanChoice.isWholeScan(sql), sql)
        }
    }

    // MARK: Equal to stepping

    static let setup = """
        CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, flag BOOLEAN, ratio REAL, bytes BLOB, day DATETIME, any);
        INSERT INTO t VALUES (1, 'é', 1, 0.5, x'00ff', '2001-01-01 00:00:01.5', 1), (-9223372036854775808, '', 0, 1e300, x'',
            NULL, 'x'), (3, NULL, NULL, 2, NULL, 5, NULL), (9223372036854775807, 'a longer text, of ASCII only', 7, -0.0,
            'text', 'never', x'80');
        CREATE TABLE nul (id INTEGER, name TEXT);
        INSERT INTO nul VALUES (1, 'a' || char(0) || 'b'), (2, 'fifteen bytes..'), (3, 'sixteen bytes...'), (4, 'größer als');
        CREATE TABLE bad (id INTEGER, name TEXT);
        INSERT INTO bad VALUES (1, 'a'), (2, CAST(x'61ff' AS TEXT)), (3, 'b');
        CREATE TABLE blob (id INTEGER, name TEXT); INSERT INTO blob VALUES (1, 'a'), (2, x'61');
        CREATE TABLE large (id INTEGER, name TEXT); INSERT INTO large VALUES (1, 'a'), (300, 'b');
        CREATE TABLE real (id INTEGER, name TEXT); INSERT INTO real VALUES (1, 'a'), (2.5, 'b');
        CREATE TABLE empty (id INTEGER, name TEXT);
        CREATE VIEW v AS SELECT id, name FROM nul WHERE id > 2 ORDER BY id DESC;
        """

    static let queries = [
        "SELECT * FROM t", "SELECT id, id, name AS id, 5 AS [a \"b], flag AS [id:1] FROM t", "SELECT * FROM nul",
        "SELECT * FROM bad", "SELECT * FROM blob", "SELECT * FROM large", "SELECT * FROM real", "SELECT * FROM empty",
        "SELECT * FROM v", "SELECT CASE id WHEN 3 THEN json('{') END AS j FROM nul", "SELECT json('{') AS j FROM t",
        "SELECT json('{') AS j FROM empty", "SELECT t.id, u.name FROM t JOIN nul AS u",
        "SELECT id, name FROM (SELECT * FROM nul)",
        "SELECT id, name FROM nul -- the end", "SELECT id, name FROM nul /* the end", "SELECT nowhere FROM t",
        "SELECT id, name FROM nowhere", "SELECT name, id FROM nul LEFT JOIN empty USING (id, name)",
        "SELECT id, name FROM nul) AS x", "SELECT zeroblob(3) AS name, id + 0.0 AS id FROM nul",
    ]

    private static func sent(_ options: SQLiteReadingOptions, _ send: (inout EventTrace) throws -> Void) -> [String] {
        var trace = EventTrace()
        do {
            try send(&trace)
            return [trace.text]
        } catch {
            return [trace.text, "\(error)", "\((error as? StreamError)?.sqliteError as Any)"]
        }
    }

    private static func testSendsSameMessagesAsStepping() throws {
        for script in [setup, "PRAGMA encoding = 'UTF-16le';" + setup] {
            let connection = try Self.connection()
            try connection.execute(script)
            var scanCount = 0
            for options in [
                SQLiteReadingOptions(), SQLiteReadingOptions(nulls: .omit),
                SQLiteReadingOptions(duplicateNames: .reject),
                SQLiteReadingOptions(mappings: ["day": .date(.text), "flag": .boolean], duplicateNames: .keep),
            ] {
                for sql in queries {
                    expectTrue(RowScanChoice.isWholeScan(sql), sql)
                    let scanned = sent(options) { try connection.query(sql, options: options, into: &$0) }
                    let stepped = sent(options) { trace in
                        try connection.statementToSend(sql, .none).send(to: &trace, options: options)
                    }
                    expectEqual(scanned, stepped, sql)
                    if let statement = try? connection.prepare(sql), let scan = RowScan(statement, .none, options) {
                        scanCount += (try? scan.run {}) ?? true ? 1 : 0
                    }
                }
            }
            // All except three that fail to compile, one that ends in a comment, which would hide the rest, one that fails in
            // its first row, and one with rejected duplicate names.
            expectEqual(scanCount, 4 * (queries.count - 5) - 1, "queries that were read by the function")
        }
    }

    private struct Small: StreamObject, Equatable {
        var id: Int8 = 0
        var name = ""
    }

    struct Plain: StreamObject, Equatable {
        var id = 0
        var name = "unset"
    }

    private struct Wide: StreamObject, Equatable {
        var id = 0
        var name: String? = nil
        var flag: Bool? = nil
        var ratio: Double? = nil
        var bytes: [UInt8]? = nil
        var day: PropertyList? = nil
        var any: PropertyList? = nil
    }

    private static func filled<Row: StreamObject>(
        _ type: Row.Type, _ read: () throws -> [Row]
    ) -> [String] {
        do { return try read().map { "\($0)" } } catch {
            return ["\(error)", "\((error as? SQLiteError)?.sql as Any)"]
        }
    }

    private static func expectSame<Row: StreamObject>(
        _ type: Row.Type, _ sql: String, _ connection: SQLiteConnection
    ) {
        for reading in [SQLiteReadingOptions(), SQLiteReadingOptions(mappings: ["flag": .boolean], nulls: .omit)] {
            let scanned = filled(type) { try connection.fetchAll(sql, as: type, options: reading) }
            let stepped = filled(type) { try connection.prepare(sql).values(as: type, options: reading) }
            let built = filled(type) {
                var builder = try ObjectBuilder<[Row]>()
                do throws(StreamError) {
                    try RowCursorRecordBufferTests.sendMessages(sql, connection, reading, to: &builder)
                    return try builder.takeResult()
                } catch {
                    throw SQLiteError(error)
                }
            }
            expectEqual(scanned, stepped, "\(type) of \(sql)")
            expectEqual(scanned, built, "\(type) of \(sql), by messages")
            let single = filled(type) {
                let rows = try connection.fetchCursor(sql, as: type, options: reading)
                var values: [Row] = []
                while let row = try rows.next() { values.append(row) }
                return values
            }
            expectEqual(single, built, "\(type) of \(sql), one by one")
        }
    }

    private static func testFillsSameValuesAsStepping() throws {
        for script in [setup, "PRAGMA encoding = 'UTF-16le';" + setup] {
            let connection = try Self.connection()
            try connection.execute(script)
            for sql in queries {
                expectSame(Small.self, sql, connection)
                expectSame(Plain.self, sql, connection)
                expectSame(Wide.self, sql, connection)
            }
        }
    }

    private static func testFillsAnyNumberOfRows() throws {
        let connection = try Self.connection()
        try connection.execute(
            "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT); CREATE TABLE u (id INTEGER PRIMARY KEY);"
                + "INSERT INTO u WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 501) SELECT i FROM n"
        )
        var expected: [Plain] = []
        for count in 0...500 {
            // The ends of record buffers, and all small counts.
            if count < 5 || [63, 64, 65, 191, 192, 193, 255, 256, 257, 447, 448, 449, 500].contains(count) {
                expectEqual(try connection.fetchAll("SELECT * FROM t", as: Plain.self), expected, "\(count) rows")
                expectEqual(
                    try connection.prepare("SELECT * FROM t").values(as: Plain.self), expected, "\(count) stepped")
                let error = expectThrows(SQLiteError.self, "an error after \(count) rows") {
                    _ = try connection.fetchAll(
                        "SELECT ifnull(t.id, 9) AS id, CASE u.id WHEN \(count + 1) THEN 1 ELSE '' END AS name "
                            + "FROM u LEFT JOIN t ON t.id = u.id", as: Plain.self)
                }
                expectEqual(error?.streamError?.path?.description, "$[\(count)].name", "path after \(count)")
            }
            let row = Plain(id: count + 1, name: String(repeating: "é", count: count % 40))
            try connection.run("INSERT INTO t VALUES (?, ?)", [row.id, row.name])
            expected.append(row)
        }
    }

    private static func testReadsTablesLikeStepping() throws {
        let connection = try Self.connection()
        let table = try SQLiteTable<Plain>(connection, "a \"quoted\" name")
        let rows = (1...300).map { Plain(id: $0, name: $0 % 3 == 0 ? "" : "name \($0)") }
        try table.insert(rows)
        expectEqual(try table.fetchAll(), rows, "all")
        expectEqual(try table.fetchAll(where: \.id > 250), Array(rows[250...]), "some")
        expectEqual(try table.fetchAll(where: \.id > 1_000), [], "none")
        expectEqual(try table.fetchAll(orderedBy: .descending(\.id)), rows.reversed(), "in another order")
        expectEqual(try table.fetchAll(limit: 3, offset: 2), Array(rows[2..<5]), "limited")
        var (all, ordered) = (EventTrace(), EventTrace())
        try table.send(to: &all)
        try table.send(orderedBy: .ascending(\.id), to: &ordered)
        expectEqual(all.text, ordered.text, "sent")
        try connection.run("UPDATE \"a \"\"quoted\"\" name\" SET name = x'61' WHERE id = 200")
        let (scanned, stepped) = (
            filled(Plain.self) { try table.fetchAll() }, filled(Plain.self) { try table.fetchAll(limit: 300) }
        )
        expectEqual(scanned.first, stepped.first, "an error")
        try connection.execute("DROP TABLE \"a \"\"quoted\"\" name\"")
        let error = expectThrows(SQLiteError.self, "a table that is gone") { _ = try table.fetchAll() }
        expectEqual(
            error?.sql, "SELECT \"id\", \"name\" FROM \"main\".\"a \"\"quoted\"\" name\"", "the SQL of the error")
    }

    private static func testBindsParameters() throws {
        let connection = try Self.connection()
        try connection.execute(setup)
        for _ in 0..<2 {
            let rows = try connection.fetchAll(
                "SELECT id + :b AS id, :a AS name FROM large", ["a": "x", "b": 5], as: Plain.self)
            expectEqual(rows, [Plain(id: 6, name: "x"), Plain(id: 305, name: "x")], "rows")
            let others = try connection.fetchAll("SELECT ? AS id, ? AS name FROM large", [1, "y"], as: Plain.self)
            expectEqual(others, [Plain(id: 1, name: "y"), Plain(id: 1, name: "y")], "rows by position")
        }
    }

    private static func testDetectsSchemaChanges() throws {
        let file = try TemporaryDatabase()
        let (connection, other) = (try file.open(), try file.open())
        connection.scans.fewRowCount = 0
        try other.execute("PRAGMA synchronous = OFF")
        try connection.execute("CREATE TABLE t (a, b BOOLEAN); INSERT INTO t VALUES (1, 1)")
        func trace() throws -> String {
            var trace = EventTrace()
            try connection.query("SELECT * FROM t", into: &trace)
            return trace.text
        }
        expectEqual(try trace(), #"[ { key "a" integer 1 key "b" true } ]"#, "before")
        try other.execute("ALTER TABLE t RENAME COLUMN a TO x")
        expectEqual(try trace(), #"[ { key "x" integer 1 key "b" true } ]"#, "another name")
        try other.execute("ALTER TABLE t ADD COLUMN c DEFAULT 2")
        expectEqual(try trace(), #"[ { key "x" integer 1 key "b" true key "c" integer 2 } ]"#, "another column")
        try other.execute("ALTER TABLE t DROP COLUMN x; ALTER TABLE t ADD COLUMN d BOOLEAN DEFAULT 0")
        expectEqual(try trace(), #"[ { key "b" true key "c" integer 2 key "d" false } ]"#, "as many columns")
        try other.execute("DROP TABLE t; CREATE TABLE t (b INTEGER, c, d); INSERT INTO t VALUES (1, 1, 1)")
        expectEqual(try trace(), #"[ { key "b" integer 1 key "c" integer 1 key "d" integer 1 } ]"#, "another type")
        try other.execute("DROP TABLE t")
        expectThrows(StreamError.self, "no table") { _ = try trace() }
    }

    private final class Log { var text = "" }

    private static func testStopsEarlyAndNests() throws {
        let connection = try Self.connection()
        try connection.execute(setup)
        let sql = "SELECT id, name FROM nul"
        let log = Log()
        var outer = try RecordStream<Plain> { row throws(StreamError) in
            var inner = try RecordStream<Plain> { other throws(StreamError) in
                log.text += "\(row.id)\(other.id) "
                if other.id == row.id { throw .stopRequest() }
            }
            do throws(StreamError) {
                try connection.query(sql, into: &inner)
            } catch {
                guard error.isStopRequest, row.id < 3 else { throw error }
            }
            do throws(SQLiteError) {
                try connection.run("INSERT INTO empty VALUES (?, 'x')", [row.id])
                try connection.close()
            } catch {
                log.text += error.code == .busy ? "busy " : "\(error) "
            }
        }
        let error = expectThrows(StreamError.self, "the stop") { try connection.query(sql, into: &outer) }
        expectTrue(error?.isStopRequest ?? false, "a stop request")
        expectEqual(log.text, "11 busy 21 22 busy 31 32 33 ", "pairs")
        expectEqual(try connection.value("SELECT group_concat(id) FROM empty"), "1,2", "rows inserted meanwhile")
        expectEqual(try connection.fetchAll("SELECT id, name FROM empty", as: Plain.self).count, 2, "a query after it")
        try connection.execute("DROP TABLE nul")
        try connection.close()
    }

    private static func testStopsIfInterrupted() throws {
        let connection = try Self.connection()
        try connection.execute(setup)
        let sql = "SELECT id, name FROM nul"
        let interrupter = connection.interrupter
        var stream = try RecordStream<Plain> { row throws(StreamError) in if row.id == 2 { interrupter.interrupt() } }
        let error = expectThrows(StreamError.self, "the interrupt") { try connection.query(sql, into: &stream) }
        expectEqual(error?.sqliteError?.code, .interrupt, "code")
        expectEqual(error?.sqliteError?.sql, sql, "SQL")
    }

    private static func testHidesItsFunctionFromSQL() throws {
        let connection = try Self.connection()
        try connection.execute(setup)
        let name = try connection.scans.function(of: connection).name
        let expected = "this function is reserved for SQLiteStreaming"
        let direct = expectThrows(SQLiteError.self, "a call") { _ = try connection.value("SELECT \(name)(1, 'x')") }
        expectEqual(direct?.message, expected, "message")
        var stream = try RecordStream<Plain> { _ throws(StreamError) in
            do throws(SQLiteError) {
                _ = try connection.value("SELECT \(name)(id, name) FROM nul")
            } catch {
                throw error.streamError(.cannotRead)
            }
        }
        let nested = expectThrows(StreamError.self, "a call within a query") {
            try connection.query("SELECT id, name FROM nul", into: &stream)
        }
        expectEqual(nested?.sqliteError?.message, expected, "message of a nested one")
        let other = try SQLiteConnection.inMemory()
        let another = try other.scans.function(of: other).name
        expectTrue(name != another, "each connection has its own")
    }

    private static func testPausesScansForFewRows() throws {
        let connection = try SQLiteConnection.inMemory()
        try connection.execute(setup)
        let sql = "SELECT * FROM nul"
        var tries: [Int] = []
        for number in 0..<250 {
            let statement = try connection.cachedStatement(sql)
            guard let scan = RowScan(statement, .none, SQLiteReadingOptions()) else { continue }
            tries.append(number)
            expectTrue(try scan.run {}, "a scan")
        }
        expectEqual(tries, [0, 101, 202], "scans of few rows")
        try connection.execute("INSERT INTO nul SELECT a.id, b.id FROM nul a, nul b, nul c, nul d")
        var trace = EventTrace()
        while !connection.scans.accepts(sql) {}
        try connection.query(sql, into: &trace)
        expectTrue(connection.scans.accepts(sql) && connection.scans.accepts(sql), "each time when there are many")
        for number in 0..<1_000 { expectFalse(connection.scans.accepts("SELECT \(number)"), "another query") }
    }

    private static func testStepsThroughWideTables() throws {
        let connection = try Self.connection()
        let names = (0..<200).map { "c\($0)" }
        try connection.execute(
            "CREATE TABLE t (\(names.joined(separator: ", "))); INSERT INTO t (c0, c199) VALUES (1, 2)")
        var trace = EventTrace()
        try connection.query("SELECT * FROM t", options: SQLiteReadingOptions(nulls: .omit), into: &trace)
        expectEqual(trace.text, #"[ { key "c0" integer 1 key "c199" integer 2 } ]"#, "200 columns")
    }
}
#endif
