// The in-class tests of rows in record buffers: for types whose members don't correspond to their stored properties one to
// one, and for every builder with record buffers, which must give the same results as with messages.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistBuilding
import PlistStreaming

enum RowCursorRecordBufferTests {
    struct Inner: StreamObject, Equatable {
        var a = 1
        var note = "a default of more than fifteen bytes"
    }

    /// A type with a part of a stored property as its only member.
    struct Part: StreamObject, Equatable {
        var inner = Inner()
        var b = 2
        static var streamMembers: StreamMembers { [.member("a", \Part.inner.a), .member("b", \Part.b)] }
    }

    /// A type with two names for one property.
    struct Aliases: StreamObject, Equatable {
        var name = "a default of more than fifteen bytes"
        var id = 0
        static var streamMembers: StreamMembers {
            [.member("name", \Aliases.name), .member("title", \Aliases.name), .member("id", \Aliases.id)]
        }
    }

    struct Amount: StreamRepresentable, Equatable {
        var cents = 0
        init(cents: Int) { self.cents = cents }
        init(representation: Int) throws(StreamError) { cents = representation }
        var representation: Int { cents }
    }

    struct Item: StreamObject, Equatable {
        var price = Amount(cents: 1)
        var count = 2
    }
}

extension RowCursorRecordBufferTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testAssignsPartsOfProperties": testAssignsPartsOfProperties,
            "testLastColumnOfAPropertyIsUsed": testLastColumnOfAPropertyIsUsed,
            "testRefusesConditionsOnPartsOfProperties": testRefusesConditionsOnPartsOfProperties,
            "testFillsSameColumnsAsMessages": testFillsSameColumnsAsMessages,
            "testFillsSameObjectsAsMessages": testFillsSameObjectsAsMessages,
        ]
    }

    /// Reads a table's rows with steps and with a scan.
    private static func expectRows<Row: StreamObject & Equatable>(
        _ setup: String, _ expected: [Row], line: UInt = #line
    ) throws {
        let connection = try SQLiteConnection.inMemory()
        try connection.execute(setup)
        let statement = try connection.prepare("SELECT * FROM t")
        expectEqual(try statement.values(as: Row.self), expected, "stepped", line: line)
        let scan = RowScan(statement, .none, SQLiteReadingOptions())
        expectNotNil(scan, "a scan", line: line)
        let scanned = try RowScan.values(as: Row.self, scan, SQLiteReadingOptions(), BuilderOptions()) {
            () throws(SQLiteError) in statement
        }
        expectEqual(scanned, expected, "scanned", line: line)
    }

    private static func testAssignsPartsOfProperties() throws {
        try expectRows(
            "CREATE TABLE t (a INTEGER, b INTEGER); INSERT INTO t VALUES (5, 6), (7, 8)",
            [Part(inner: Inner(a: 5), b: 6), Part(inner: Inner(a: 7), b: 8)])
        try expectRows("CREATE TABLE t (b INTEGER); INSERT INTO t VALUES (6)", [Part(b: 6)])
        let connection = try SQLiteConnection.inMemory()
        let error = expectThrows(SQLiteError.self, "text for an integer") {
            _ = try connection.prepare("SELECT 5 AS a, 'x' AS b").values(as: Part.self)
        }
        expectEqual(error?.streamError?.path?.description, "$[0].b", "path")
    }

    private static func testLastColumnOfAPropertyIsUsed() throws {
        let (first, last) = ("the first of more than fifteen bytes", "the last of more than fifteen bytes")
        try expectRows(
            "CREATE TABLE t (name TEXT, title TEXT, id INTEGER); INSERT INTO t VALUES ('\(first)', '\(last)', 3)",
            [Aliases(name: last, id: 3)])
        try expectRows(
            "CREATE TABLE t (title TEXT, id INTEGER, name TEXT); INSERT INTO t VALUES ('\(first)', 3, '\(last)')",
            [Aliases(name: last, id: 3)])
    }

    private static func testRefusesConditionsOnPartsOfProperties() throws {
        let items = try SQLiteTable<Item>(try SQLiteConnection.inMemory(), "items")
        try items.insert([Item(), Item(price: Amount(cents: 5))])
        expectEqual(try items.fetchAll(where: \.price == Amount(cents: 5)).map(\.count), [2], "a whole property")
        let error = expectThrows(SQLiteError.self, "a part of a property") {
            _ = try items.fetchAll(where: \.price.cents == 5)
        }
        expectTrue(
            error?.message.contains("isn't a stored property with a column") ?? false, "\(error?.message ?? "")")
    }

    // MARK: Equal to messages

    /// Sends the rows of a query to a sink without record buffers.
    static func sendMessages<Sink: PlistSink & ~Copyable>(
        _ sql: String, _ connection: SQLiteConnection, _ options: SQLiteReadingOptions, to sink: inout Sink
    ) throws(StreamError) {
        let cursor = try RowCursor(try connection.statementToSend(sql, .none), options)
        defer { cursor.end() }
        unsafe cursor.state.pointee.mayUseRecordBuffer = false
        do throws(StreamError) {
            var isRow = try cursor.next()
            try sink.beginArray()
            while isRow {
                try cursor.sendRow(to: &sink)
                isRow = try cursor.next()
            }
            try sink.endArray()
        } catch {
            sink.cancel(with: error)
            throw error
        }
    }

    /// An object that counts its instances.
    private final class Thing: StreamObject, CustomStringConvertible {
        nonisolated(unsafe) static var count = 0
        var id = 0
        var name = "a default of more than fifteen bytes"
        var flag: Bool? = true
        init() { unsafe Self.count += 1 }
        deinit { unsafe Self.count -= 1 }
        var description: String { "\(id) \(name) \(flag as Any)" }
    }

    /// Expects that a sink gets the same result of a query from messages, from stepping and from a scan, including errors.
    private static func expectOneResult<Sink: PlistSink & ~Copyable>(
        _ sql: String, _ label: String, _ connection: SQLiteConnection, _ options: SQLiteReadingOptions,
        _ make: () throws -> Sink, _ describe: (inout Sink) -> String
    ) throws {
        func result(_ send: (inout Sink) throws(StreamError) -> Void) throws -> String {
            var sink = try make()
            var thrown = ""
            do throws(StreamError) { try send(&sink) } catch { thrown = "\(error)" }
            return describe(&sink) + thrown
        }
        let messages = try result { (sink) throws(StreamError) in
            try sendMessages(sql, connection, options, to: &sink)
        }
        let stepped = try result { (sink) throws(StreamError) in
            try connection.statementToSend(sql, .none).send(to: &sink, options: options)
        }
        let scanned = try result { (sink) throws(StreamError) in
            try connection.query(sql, options: options, into: &sink)
        }
        expectEqual(stepped, messages, "\(label) of \(sql), stepped")
        expectEqual(scanned, messages, "\(label) of \(sql), scanned")
    }

    private final class StreamLog<Value> {
        var text = ""
        var kept: [Value] = []
    }

    /// Expects that streams which keep no or some values, and which stop, are equal with messages, with stepping and with a
    /// scan.
    private static func expectStreams<Value: StreamObject>(
        of type: Value.Type, _ sql: String, _ connection: SQLiteConnection, _ options: SQLiteReadingOptions
    ) throws {
        for (keeping, stop) in [(Int.max, Int.max), (2, 200), (1, 1)] {
            let log = StreamLog<Value>()
            try expectOneResult(sql, "a stream of \(type)", connection, options) {
                (log.text, log.kept) = ("", [])
                var count = 0
                return try RecordStream<Value> { value throws(StreamError) in
                    let value = copy value
                    count += 1
                    log.text += "\(value); "
                    if count % keeping == 0 { log.kept.append(value) }
                    if count == stop { throw .stopRequest() }
                }
            } _: { stream in
                "\(log.text)\(log.kept) \(stream.count) "
            }
        }
    }

    /// Enough rows to fill several buffers of columns and of objects. This takes longer than a hundredth of a second.
    private static let manyRows = """
        CREATE TABLE many (id INTEGER, name TEXT, flag BOOLEAN, ratio REAL);
        INSERT INTO many WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 1030)
            SELECT i, substr('ein längerer Text von vielen Zeichen', 1, i % 37), i % 2,
            CASE i % 11 WHEN 0 THEN NULL WHEN 1 THEN i ELSE i / 7.0 END FROM n;
        CREATE VIEW some AS SELECT * FROM many WHERE id <= 260;
        """

    private static func testFillsSameColumnsAsMessages() throws {
        let connection = try RowScan.connection()
        try connection.execute(RowScan.setup + manyRows)
        let more = [
            "SELECT * FROM many", "SELECT id, nullif(name, '') AS name, flag, ratio, 1 AS more FROM many",
            "SELECT name, CASE WHEN id % 100 THEN id END AS id, flag FROM some", "SELECT flag, ratio FROM some",
            "SELECT id, name, CASE id WHEN 200 THEN x'ff' ELSE ratio END AS ratio, flag FROM some",
        ]
        for options in [SQLiteReadingOptions(), SQLiteReadingOptions(duplicateNames: .keep, nulls: .omit)] {
            for sql in RowScan.queries + more {
                try expectOneResult(sql, "columns", connection, options) {
                    ColumnsBuilder(["id": .integer, "name": .string, "flag": .bool, "ratio": .real])
                } _: { builder in
                    let rowCount = builder.rowCount
                    guard let columns = try? builder.takeResult() else { return "\(rowCount) rows " }
                    return (0..<rowCount).map { row in
                        "\(columns["id"]?.integer(row) as Any) \(columns["name"]?.string(row) as Any) "
                            + "\(columns["flag"]?.bool(row) as Any) \(columns["ratio"]?.real(row) as Any) "
                    }.joined() + columns.columns.map { "\($0.nullCount) " }.joined()
                }
            }
        }
    }

    private static func testFillsSameObjectsAsMessages() throws {
        let connection = try RowScan.connection()
        try connection.execute(RowScan.setup + manyRows)
        let more = [
            "SELECT * FROM some", "SELECT nullif(name, '') AS name, id FROM some",
            "SELECT CASE id WHEN 150 THEN 'x' ELSE id END AS id, name FROM some",
        ]
        for options in [SQLiteReadingOptions(), SQLiteReadingOptions(duplicateNames: .keep, nulls: .omit)] {
            for sql in RowScan.queries + more {
                for nulls in [BuilderOptions.Nulls.reject, .treatAsMissing] {
                    try expectOneResult(sql, "objects, nulls \(nulls)", connection, options) {
                        try ObjectBuilder<[Thing]>(options: BuilderOptions(nulls: nulls))
                    } _: { builder in
                        (try? builder.takeResult().map { "\($0)" }.joined(separator: "; ")) ?? "nothing"
                    }
                }
                try expectStreams(of: Thing.self, sql, connection, options)
                try expectStreams(of: RowScan.Plain.self, sql, connection, options)
            }
        }
        try expectRowsOneByOne(connection)
        expectEqual(unsafe Thing.count, 0, "objects that are left")
    }

    /// Objects and structures are moved out of the record buffer, and don't remain there.
    private static func expectRowsOneByOne(_ connection: SQLiteConnection) throws {
        let things = try connection.fetchCursor("SELECT id, name, flag FROM some", as: Thing.self)
        var ids: [Int] = []
        while let thing = try things.next() { ids.append(thing.id) }
        expectEqual(ids, Array(1...260), "objects")
        let sql = "SELECT CASE id WHEN 150 THEN NULL ELSE id END AS id, name FROM some"
        let plain = try connection.fetchCursor(
            sql, as: RowScan.Plain.self, builderOptions: BuilderOptions(nulls: .treatAsMissing))
        var rows: [RowScan.Plain] = []
        while let row = try plain.next() { rows.append(row) }
        expectEqual(rows.map(\.id), (1...260).map { $0 == 150 ? 0 : $0 }, "structures, one of them by messages")
        let refused = try connection.fetchCursor(sql, as: RowScan.Plain.self)
        for id in 1..<150 { expectEqual(try refused.next()?.id, id, "before the error") }
        let error = expectThrows(SQLiteError.self, "null") { _ = try refused.next() }
        expectEqual(error?.streamError?.path?.description, "$[149].id", "path")
    }
}
#endif
