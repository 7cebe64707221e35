// Sends the rows of a statement directly to any sink.

import PlistBuilding
import PlistStreaming

extension SQLiteStatement {
    // PERF: SQLite/reading; inlinable, so that the loop is specialized for sinks of other modules.
    /// Sends all rows to a sink as an array of dictionaries, with the current values of the parameters.
    ///
    /// Integers, reals, text and blobs are sent as the messages of their types; Booleans and dates follow the options'
    /// mapping. Meanwhile the sink may run other statements of the same connection, but not this one.
    /// - Throws: An error of SQLite as `cannotRead` with the ``SQLiteError`` as its cause; `invalidText` for text that isn't
    ///   UTF-8; the errors of the sink, including a request to stop. After an error, nothing more is sent, and the statement
    ///   is reset.
    /// - Complexity: O(cells); allocates no memory except in SQLite.
    @inlinable
    public func send<Sink: PlistSink & ~Copyable>(
        to sink: inout Sink, options: SQLiteReadingOptions = SQLiteReadingOptions()
    ) throws(StreamError) {
        let cursor = try RowCursor(self, options)
        defer { cursor.end() }
        do throws(StreamError) {
            var isRow = try cursor.next()
            try sink.expectColumns(isRow ? cursor.keys : columnNames)
            try sink.beginArray()
            while isRow {
                try cursor.sendRow(to: &sink)
                isRow = try cursor.next()
            }
            try cursor.endRecordBuffer(of: &sink)
            try sink.endArray()
        } catch {
            try? cursor.endRecordBuffer(of: &sink)
            sink.cancel(with: error)
            throw error
        }
    }

    // PERF: SQLite/reading; inlinable, so that structures are moved into their array without reading their metadata.
    /// Returns all rows as values of a type, with the current values of the parameters.
    ///
    /// - Throws: The errors of SQLite; for a row that can't be read as a value, the error with its path as `streamError`.
    /// - Complexity: O(cells), and one allocation for each text of more than 15 bytes.
    @inlinable
    public func values<Row: StreamValue>(
        as type: Row.Type, options: SQLiteReadingOptions = SQLiteReadingOptions(),
        builderOptions: BuilderOptions = BuilderOptions()
    ) throws(SQLiteError) -> [Row] {
        try RowScan.values(as: type, nil, options.reading(type, builderOptions), builderOptions) {
            () throws(SQLiteError) in self
        }
    }
}

extension RowScan {
    // PERF: see above.
    /// Returns rows as values of a type, read by a scan if possible, otherwise by stepping a statement.
    @inlinable
    static func values<Row: StreamValue>(
        as type: Row.Type, _ scan: RowScan?, _ options: SQLiteReadingOptions, _ builderOptions: BuilderOptions,
        _ statement: () throws(SQLiteError) -> SQLiteStatement
    ) throws(SQLiteError) -> [Row] {
        do throws(StreamError) {
            var builder = try ObjectBuilder<[Row]>(options: builderOptions)
            if let scan, try scan.send(to: &builder) { return try builder.takeResult() }
            let stepped: SQLiteStatement
            do throws(SQLiteError) { stepped = try statement() } catch { throw error.streamError(.cannotRead) }
            try stepped.send(to: &builder, options: options)
            return try builder.takeResult()
        } catch {
            throw SQLiteError(error)
        }
    }
}

extension SQLiteConnection {
    /// Runs a statement and sends its rows to a sink, as an array of dictionaries.
    ///
    /// ```swift
    /// var writer = JSONWriter()
    /// try connection.query("SELECT * FROM artists WHERE name LIKE ?", ["A%"], into: &writer)
    /// ```
    /// If a query reads whole tables (a SELECT without WHERE, ORDER BY, LIMIT and aggregates), SQLite calls a function for
    /// each row. This is faster than stepping, with the same results.
    /// - Throws: The errors of ``SQLiteStatement/send(to:options:)``; errors of SQL and parameters as `cannotRead` with the
    ///   ``SQLiteError`` as their cause, before anything is sent.
    @inlinable
    public func query<Sink: PlistSink & ~Copyable>(
        _ sql: String, _ parameters: SQLiteParameters = .none, options: SQLiteReadingOptions = SQLiteReadingOptions(),
        into sink: inout Sink
    ) throws(StreamError) {
        let statement = try statementToSend(sql, parameters)
        if let scan = RowScan(statement, parameters, options), try scan.send(to: &sink) { return }
        try statement.send(to: &sink, options: options)
    }

    /// Runs a statement and returns its rows as values of a type.
    ///
    /// ```swift
    /// let artists = try connection.fetchAll("SELECT * FROM artists", as: Artist.self)
    /// ```
    /// - Throws: The errors of SQLite; for a row that can't be read as a value, the error with its path as `streamError`.
    @inlinable
    public func fetchAll<Row: StreamValue>(
        _ sql: String, _ parameters: SQLiteParameters = .none, as type: Row.Type,
        options: SQLiteReadingOptions = SQLiteReadingOptions(), builderOptions: BuilderOptions = BuilderOptions()
    ) throws(SQLiteError) -> [Row] {
        let options = options.reading(type, builderOptions)
        let statement: SQLiteStatement
        do throws(StreamError) { statement = try statementToSend(sql, parameters) } catch { throw SQLiteError(error) }
        return try RowScan.values(as: type, RowScan(statement, parameters, options), options, builderOptions) {
            () throws(SQLiteError) in statement
        }
    }

    @usableFromInline
    func statementToSend(_ sql: String, _ parameters: SQLiteParameters) throws(StreamError) -> SQLiteStatement {
        do throws(SQLiteError) {
            let statement = try cachedStatement(sql)
            try statement.bind(parameters)
            return statement
        } catch {
            throw error.streamError(.cannotRead)
        }
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

enum SendingTests {}

extension SendingTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testSendsEveryType": testSendsEveryType,
            "testMapsBooleansAndDates": testMapsBooleansAndDates,
            "testRefusesValuesOutsideMappings": testRefusesValuesOutsideMappings,
            "testNumbersDuplicateNames": testNumbersDuplicateNames,
            "testSendsQuotedNamesWithoutQuotes": testSendsQuotedNamesWithoutQuotes,
            "testFillsEverySink": testFillsEverySink,
            "testErrorsLeaveBuildersEmpty": testErrorsLeaveBuildersEmpty,
            "testCancelsSinkIfARowFails": testCancelsSinkIfARowFails,
            "testStopsEarly": testStopsEarly,
            "testRunsNestedQueries": testRunsNestedQueries,
            "testSendsNothingIfTheQueryFails": testSendsNothingIfTheQueryFails,
            "testReportsRowAndColumn": testReportsRowAndColumn,
            "testDetectsNewColumns": testDetectsNewColumns,
        ]
    }

    private static func trace(
        _ sql: String, _ options: SQLiteReadingOptions = SQLiteReadingOptions(), setup: String = ""
    ) throws -> String {
        let connection = try SQLiteConnection.inMemory()
        try connection.execute(setup)
        var trace = EventTrace()
        try connection.query(sql, options: options, into: &trace)
        return trace.text
    }

    private static func testSendsEveryType() throws {
        let sql = "SELECT 1 AS i, -0.5 AS r, 'é' AS t, x'00ff' AS b, NULL AS n, '' AS e, x'' AS z"
        let row = #"[ { key "i" integer 1 key "r" real -0.5 key "t" string "é" key "b" data 00ff"#
        let end = #" key "e" string "" key "z" data  } ]"#
        expectEqual(try trace(sql), row + #" key "n" null"# + end, "trace")
        expectEqual(try trace(sql, SQLiteReadingOptions(nulls: .omit)), row + end, "trace without null")
        expectEqual(try trace("SELECT 1 WHERE 0"), "[ ]", "no rows")
        expectEqual(try trace("CREATE TABLE t (a)"), "[ ]", "a statement that gives none")
    }

    private static let mappedSetup = """
        CREATE TABLE t (b BOOLEAN, c BOOL, i INTEGER, d DATETIME);
        INSERT INTO t VALUES (1, 0, 1, '2001-01-01 00:00:01.5'), (2, 'x', 0, 5)
        """

    private static func testMapsBooleansAndDates() throws {
        expectEqual(
            try trace("SELECT * FROM t", setup: mappedSetup),
            #"[ { key "b" true key "c" false key "i" integer 1 key "d" string "2001-01-01 00:00:01.5" } "#
                + #"{ key "b" integer 2 key "c" string "x" key "i" integer 0 key "d" integer 5 } ]"#, "declared")
        expectEqual(
            try trace("SELECT b, d FROM t", SQLiteReadingOptions(declaredDates: .text), setup: mappedSetup),
            #"[ { key "b" true key "d" date 1.5 } { key "b" integer 2 key "d" integer 5 } ]"#, "dates")
        let options = SQLiteReadingOptions(
            mappings: ["i": .boolean, "b": .stored, "u": .date(.secondsSince1970), "s": .date(.secondsSince2001)])
        expectEqual(
            try trace("SELECT i, b, 978307201 AS u, 2.5 AS s, NULL AS i2 FROM t LIMIT 1", options, setup: mappedSetup),
            #"[ { key "i" true key "b" integer 1 key "u" date 1.0 key "s" date 2.5 key "i2" null } ]"#, "mapped")
    }

    private static func testRefusesValuesOutsideMappings() {
        let rows: [(String, SQLiteReadingOptions.ColumnMapping, String)] = [
            ("SELECT 2 AS a", .boolean, "$[0].a: expected 0 or 1, found another value"),
            ("SELECT 'x' AS a", .date(.text), "$[0].a: expected a date, found another value"),
            ("SELECT 'x' AS a", .date(.secondsSince1970), "$[0].a: expected a date, found another value"),
        ]
        for (sql, mapping, message) in rows {
            let error = expectThrows(StreamError.self, sql) {
                _ = try trace(sql, SQLiteReadingOptions(mappings: ["a": mapping]))
            }
            expectEqual(error?.description, message, sql)
        }
    }

    private static func testNumbersDuplicateNames() throws {
        let sql = "SELECT 1 AS a, 2 AS a, 3 AS \"a:1\", 4 AS a"
        expectEqual(
            try trace(sql), #"[ { key "a" integer 1 key "a:2" integer 2 key "a:1" integer 3 key "a:3" integer 4 } ]"#,
            "numbered")
        expectEqual(
            Array(try trace("SELECT 1 AS \"\u{E9}\", 2 AS \"e\u{301}\"").utf8),
            Array("[ { key \"\u{E9}\" integer 1 key \"e\u{301}\" integer 2 } ]".utf8), "names of other bytes")
        expectEqual(
            try trace("SELECT 1 AS a, 2 AS a", SQLiteReadingOptions(duplicateNames: .keep)),
            #"[ { key "a" integer 1 key "a" integer 2 } ]"#, "kept")
        let error = expectThrows(StreamError.self, "rejected") {
            _ = try trace(sql, SQLiteReadingOptions(duplicateNames: .reject))
        }
        expectEqual(error?.kind, .duplicateKey, "kind")
    }

    private static func testSendsQuotedNamesWithoutQuotes() throws {
        let setup = "CREATE TABLE t (\"a \"\"b\" , [c d], `e`); INSERT INTO t VALUES (1, 2, 3)"
        expectEqual(
            try trace("SELECT * FROM t", setup: setup),
            #"[ { key "a \u{22}b" integer 1 key "c d" integer 2 key "e" integer 3 } ]"#, "trace")
    }

    private struct Artist: StreamObject, Equatable {
        var id = 0
        var name: String? = nil
    }

    private static func artists() throws -> SQLiteConnection {
        let connection = try SQLiteConnection.inMemory()
        try connection.execute(
            "CREATE TABLE artists (id INTEGER PRIMARY KEY, name TEXT); INSERT INTO artists VALUES (1, 'é'), (2, NULL)")
        return connection
    }

    private static func testFillsEverySink() throws {
        let connection = try artists()
        let sql = "SELECT * FROM artists"
        let objects = try connection.fetchAll(sql, as: Artist.self)
        expectEqual(objects, [Artist(id: 1, name: "é"), Artist(id: 2)], "objects")
        var tree = PropertyListBuilder()
        try connection.query(sql, into: &tree)
        expectEqual(try tree.takeResult()[0]?["name"]?.stringValue, "é", "a tree")
        var columns = ColumnsBuilder(["id": .integer, "name": .string])
        try connection.query(sql, into: &columns)
        let result = try columns.takeResult()
        expectEqual(result["id"]?.integer(1), 2, "a column")
        expectEqual(result["name"]?.string(0), "é", "a column of strings")
        let scalars = try connection.fetchAll("SELECT 1 AS x", as: [String: Int].self)
        expectEqual(scalars, [["x": 1]], "dictionaries")
    }

    private final class Log { var text = "" }

    private static func testErrorsLeaveBuildersEmpty() throws {
        let connection = try artists()
        try connection.execute("CREATE TABLE bad (id, name TEXT)")
        try connection.execute("INSERT INTO bad VALUES (7, 'x'), (8, CAST(x'ff' AS TEXT))")
        // With a scan of the table, and with steps.
        for bad in ["SELECT * FROM bad", "SELECT * FROM bad WHERE id > 0"] {
            var tree = PropertyListBuilder()
            let error = expectThrows(StreamError.self, bad) { try connection.query(bad, into: &tree) }
            expectEqual(error?.kind, .invalidText, "kind")
            try connection.query("SELECT id FROM artists", into: &tree)
            expectEqual(try tree.takeResult(), [["id": 1], ["id": 2]], "rows after \(bad)")
            var columns = ColumnsBuilder(["id": .integer])
            expectThrows(StreamError.self, bad) { try connection.query(bad, into: &columns) }
            try connection.query("SELECT id FROM artists", into: &columns)
            expectEqual(try columns.takeResult().rowCount, 2, "rows of columns after \(bad)")
        }
    }

    private static func testCancelsSinkIfARowFails() throws {
        let connection = try artists()
        // With steps and with a scan of the table, and the row that fails.
        for (end, row) in [("", 1), ("", 2), (" ORDER BY id", 1), (" ORDER BY id", 2)] {
            let sql = "SELECT id + 10 AS id, CASE id WHEN \(row) THEN json('{') END AS name FROM artists\(end)"
            for isQuery in [false, true] {
                var writer = try SQLiteTableWriter(connection, table: "artists")
                try writer.beginArray()
                try writer.write(any: ["id": 5, "name": "x"])
                let error = expectThrows(StreamError.self, sql) {
                    if isQuery { return try connection.query(sql, into: &writer) }
                    try connection.prepare(sql).send(to: &writer)
                }
                expectEqual(error?.sqliteError?.message, "malformed JSON", "message")
                expectEqual(expectThrows(StreamError.self, "the end") { try writer.endArray() }, error, "its error")
                expectEqual(try connection.value("SELECT count(*) FROM artists"), 2, "rows after \(sql)")
            }
        }
    }

    private static func testStopsEarly() throws {
        let connection = try artists()
        let log = Log()
        var stream = try RecordStream<Artist> { artist throws(StreamError) in
            log.text += "\(artist.id) "
            throw .stopRequest()
        }
        let error = expectThrows(StreamError.self, "the stop") {
            try connection.query("SELECT * FROM artists", into: &stream)
        }
        expectTrue(error?.isStopRequest ?? false, "a stop request")
        expectEqual(log.text, "1 ", "values")
        // All statements have ended: the table can be changed and the connection closed.
        try connection.execute("DROP TABLE artists")
        try connection.close()
    }

    private static func testRunsNestedQueries() throws {
        let connection = try artists()
        let log = Log()
        let sql = "SELECT id, name FROM artists WHERE id >= ?"
        var outer = try RecordStream<Artist> { artist throws(StreamError) in
            var inner = try RecordStream<Artist> { other throws(StreamError) in
                log.text += "\(artist.id)\(other.id) "
            }
            // The same SQL, with another value for the same parameter.
            try connection.query(sql, [artist.id], into: &inner)
        }
        try connection.query(sql, [1], into: &outer)
        expectEqual(log.text, "11 12 22 ", "pairs")
        let statement = try connection.prepare("SELECT 1 AS id")
        var again = try RecordStream<Artist> { _ throws(StreamError) in
            var trace = EventTrace()
            try statement.send(to: &trace)
        }
        let error = expectThrows(StreamError.self, "the same statement") { try statement.send(to: &again) }
        expectEqual(error?.sqliteError?.message, "the statement is sending its rows already", "message")
    }

    private static func testSendsNothingIfTheQueryFails() throws {
        let connection = try artists()
        var trace = EventTrace()
        for sql in ["SELECT nowhere FROM artists", "SELEC", "SELECT ?", "SELECT json('{')"] {
            let error = expectThrows(StreamError.self, sql) { try connection.query(sql, into: &trace) }
            expectEqual(error?.kind, .cannotRead, "kind for \(sql)")
            expectNotNil(error?.sqliteError, "cause for \(sql)")
        }
        expectEqual(trace.text, "", "trace")
    }

    private static func testReportsRowAndColumn() throws {
        let connection = try artists()
        let invalid = expectThrows(StreamError.self, "invalid text") {
            var trace = EventTrace()
            try connection.query("SELECT 'a' AS t UNION ALL SELECT CAST(x'ff' AS TEXT)", into: &trace)
        }
        expectEqual(invalid?.description, "$[1].t: the text is not valid UTF-8", "invalid text")
        let wrong = expectThrows(SQLiteError.self, "another type") {
            _ = try connection.fetchAll("SELECT id, 5 AS name FROM artists", as: Artist.self)
        }
        expectEqual(wrong?.streamError?.description, "$[0].name: expected a string, found integer 5", "another type")
        let late = expectThrows(StreamError.self, "an error of SQLite in the second row") {
            var trace = EventTrace()
            try connection.query("SELECT CASE id WHEN 2 THEN json('{') END AS j FROM artists", into: &trace)
        }
        expectEqual(late?.sqliteError?.message, "malformed JSON", "message")
    }

    private static func testDetectsNewColumns() throws {
        let connection = try artists()
        let statement = try connection.prepare("SELECT * FROM artists WHERE id = 1")
        try connection.execute("ALTER TABLE artists ADD COLUMN born INTEGER DEFAULT 1950")
        var trace = EventTrace()
        try statement.send(to: &trace)
        expectEqual(trace.text, #"[ { key "id" integer 1 key "name" string "é" key "born" integer 1950 } ]"#, "trace")
    }
}
#endif
