// From values to a database whose tables and columns are not known before: which values are rows, and of which table.
// The tables themselves are in `StagedTable`.

import JSONStreaming
import PlistStreaming
import SQLiteStreaming
import StringTables

/// A sink that makes tables: of an array of dictionaries one, of a dictionary of such arrays one for each.
final class DatabaseWriter: ValueSink {
    private let connection: SQLiteConnection
    private let warnings: Warnings
    /// The table of the rows of an array, also where that is the only member of a dictionary; nil for `rows`, or its key.
    private let chosenTable: String?
    /// A Boolean value that indicates whether dictionaries at the root are rows.
    private let isSequence: Bool
    /// Those that are made at the end.
    private var tables: [StagedTable] = []
    /// The table of the rows that come now.
    private var current: (any RowTable)?
    /// The names of all tables that had rows, as SQLite compares them.
    private var names: Set<SQLiteName.Folded> = []
    /// The keys of the outermost dictionary.
    private var tableKeys = KeySet()
    /// The arrays without rows.
    private var emptyArrays: [String] = []
    /// The most members of a row, so that looking for one that comes again stays short.
    private let columnLimit: Int
    /// The number of open containers, and how many of them are around a row.
    private var depth = 0
    private var rowDepth = 0
    private var isInTables = false
    /// A Boolean value that indicates whether the array that is open, or was last, has rows.
    private var hasRows = false
    private var tableName = ""
    private var key = ""
    /// The number of the key among those of the table.
    private var keyIndex = 0
    private var row: [RowValue] = []
    /// The number of the row among all, the keys of its table, and the row in which each came last.
    private var rowNumber = 0
    private var rowKeys = KeySet()
    private var keyTexts: [String] = []
    private var lastRows: [Int] = []
    /// The text of an array or dictionary within a row.
    private var nested: JSONWriter?
    private var nestedDepth = 0

    /// The names of the columns, if they are known before the rows.
    private var expectedColumns: [String] = []

    /// A Boolean value that indicates whether the values are fields, which have a text, as integers beyond 64 bits with a sign.
    private let isOfFields: Bool

    init(
        _ connection: SQLiteConnection, table: String?, isSequence: Bool, isOfFields: Bool = false,
        warnings: Warnings = Warnings()
    ) {
        self.connection = connection
        self.isOfFields = isOfFields
        self.warnings = warnings
        chosenTable = table
        self.isSequence = isSequence
        columnLimit = connection.limit(.columnCount)
    }

    /// Gives all tables their types.
    func finish() throws(StreamError) {
        if names.isEmpty, !expectedColumns.isEmpty {
            let table = try makeTable()
            current = table
            try table.expect(expectedColumns)
        }
        if names.isEmpty {
            throw StreamError(
                .unrepresentable, "expected at least one row, since a table needs columns; found none")
        }
        if !emptyArrays.isEmpty {
            warnings.add("arrays without rows make no table: \(Warnings.list(emptyArrays))")
        }
        try endTable()
        for table in tables { try table.finish(warnings) }
    }

    /// Ends a table that rows were added to, before another one gets some.
    private func endTable() throws(StreamError) {
        if let table = current as? AppendedTable { try table.finish(warnings) }
        guard current != nil else { return }
        current = nil
        // The row that was read is the first one of the next table.
        (rowKeys, keyTexts, lastRows) = (KeySet(), [], [])
    }

    // MARK: Rows

    private var isInRow: Bool { rowDepth > 0 && depth == rowDepth }

    private func refusal(_ found: String) -> StreamError {
        StreamError(.typeMismatch, "expected arrays of dictionaries, which are tables of rows; found \(found)")
    }

    /// The error of a value that no column has.
    private func refusal(of message: String) -> StreamError {
        guard isInRow else { return refusal("a value outside any row") }
        return StreamError(.unrepresentable, message, path: rowPath.member(key))
    }

    private func store(_ value: SQLiteValue, _ origin: RowValue.Origin = .cell) throws(StreamError) {
        guard isInRow else { throw refusal("a value outside any row") }
        guard lastRows[keyIndex] != rowNumber else {
            throw StreamError(.duplicateKey, "duplicate key \(key.debugDescription)", path: rowPath.member(key))
        }
        lastRows[keyIndex] = rowNumber
        guard row.count < columnLimit else {
            throw StreamError(.limitExceeded, "more than \(columnLimit) columns in a row", path: rowPath)
        }
        row.append(RowValue(key: key, value: value, origin: origin))
    }

    private var name: String { chosenTable ?? (isInTables ? tableName : "rows") }

    private var tablePath: StreamPath { StreamPath(isInTables ? [.key(tableName)] : []) }

    /// The way to the row that is read.
    private var rowPath: StreamPath { tablePath.element(current.map { $0.isNamed(name) ? $0.rowCount : 0 } ?? 0) }

    private func endRow() throws(StreamError) {
        if let current, current.isNamed(name) {
            try current.insert(row)
        } else {
            try endTable()
            let table = try makeTable()
            current = table
            try table.insert(row)
        }
        row.removeAll(keepingCapacity: true)
        rowNumber += 1
    }

    /// Makes the table for the row that was read, the first of its name.
    private func makeTable() throws(StreamError) -> any RowTable {
        func refused(_ message: String) -> StreamError { StreamError(.unrepresentable, message, path: rowPath) }
        guard names.insert(SQLiteName.folded(name)).inserted else {
            throw refused("the table \(name) comes twice, since case does not count in names")
        }
        guard !name.utf8.contains(0) else {
            throw refused("found a NUL character in a key, which no name of a table has")
        }
        let start = String(decoding: name.utf8.prefix("sqlite_".utf8.count), as: UTF8.self)
        guard SQLiteName.folded(start) != SQLiteName.folded("sqlite_") else {
            throw refused("the name \(name) is one of SQLite's own, which begin with sqlite_")
        }
        if try connection.isInFile(name) {
            return try AppendedTable(connection, name: name, path: tablePath, isOfFields: isOfFields)
        }
        let table = try StagedTable(
            connection, name: name, number: tables.count, path: tablePath, isOfFields: isOfFields)
        tables.append(table)
        return table
    }

    // MARK: Containers

    override func expectColumns(_ names: [String]) { if depth == 0 { expectedColumns = names } }

    override func beginArray() throws(StreamError) {
        if try beginNested(isArray: true) { return }
        guard depth == 0 || depth == 1 && isInTables else { throw refusal("an array in an array") }
        depth += 1
        hasRows = false
    }

    override func endArray() throws(StreamError) {
        if try endNested(isArray: true) { return }
        depth -= 1
        if !hasRows, isInTables { emptyArrays.append(tableName) }
    }

    override func beginDictionary() throws(StreamError) {
        if try beginNested(isArray: false) { return }
        depth += 1
        if depth == 1, !isSequence {
            isInTables = true
        } else {
            if isInTables && depth < 3 { throw refusal("a dictionary in a dictionary") }
            rowDepth = depth
        }
    }

    override func endDictionary() throws(StreamError) {
        if try endNested(isArray: false) { return }
        if isInRow {
            try endRow()
            hasRows = true
            rowDepth = 0
        }
        depth -= 1
    }

    /// Begins an array or dictionary that is a value of a row, or one inside it.
    private func beginNested(isArray: Bool) throws(StreamError) -> Bool {
        guard isInRow else { return false }
        if nestedDepth == 0 { nested = .some(JSONWriter()) }
        nestedDepth += 1
        if isArray { try nested?.beginArray() } else { try nested?.beginDictionary() }
        return true
    }

    private func endNested(isArray: Bool) throws(StreamError) -> Bool {
        guard nestedDepth > 0 else { return false }
        if isArray { try nested?.endArray() } else { try nested?.endDictionary() }
        nestedDepth -= 1
        if nestedDepth == 0, var writer = nested.take() {
            try writer.finish()
            try store(.text(writer.text), .container)
        }
        return true
    }

    override func writeKey(_ utf8: RawSpan) throws(StreamError) {
        if nestedDepth > 0 { return try nested?.writeKey(utf8) ?? () }
        if isInRow { return nameValue(utf8) }
        let text = String(validating: utf8) ?? ""
        tableName = text
        guard tableKeys.insert(text).inserted else {
            throw StreamError(.duplicateKey, "duplicate key \(text.debugDescription)", path: tablePath)
        }
        if let chosenTable, tableKeys.count > 1 {
            throw StreamError(
                .unrepresentable,
                "expected one array of rows, which --table names \(chosenTable), found another member",
                path: tablePath)
        }
    }

    /// Names the value of the row that comes next, which mostly has the key that this place had in the row before.
    private func nameValue(_ utf8: RawSpan) {
        keyIndex = row.count
        if keyIndex < keyTexts.count, utf8.equals(keyTexts[keyIndex]) {
            key = keyTexts[keyIndex]
            return
        }
        key = String(validating: utf8) ?? ""
        // By bytes, as SQLite tells columns apart: `==` takes a composed "é" for a decomposed one.
        let (isNew, index) = rowKeys.insert(key)
        keyIndex = index
        guard isNew else { return }
        keyTexts.append(key)
        lastRows.append(-1)
    }

    // MARK: Values

    override func write(_ scalar: borrowing StreamScalar) throws(StreamError) {
        if nestedDepth > 0 {
            // An error ends the conversion, and the text with it.
            guard var writer = nested.take() else { return }
            try scalar.send(to: &writer)
            nested = consume writer
            return
        }
        switch scalar {
        case .null: try store(.null)
        case .bool(let value): try store(.integer(value ? 1 : 0), .bool)
        case .integer(let value): try store(.integer(value))
        case .unsigned(let value):
            guard let integer = Int64(exactly: value) else {
                if isOfFields { return try store(.text("\(value)")) }
                throw refusal(of: "expected an integer below 2^63, found \(value)")
            }
            try store(.integer(integer))
        case .real(let value): try store(.real(value))
        case .number(let text): try storeNumber(text)
        case .string(let utf8): try store(.text(String(validating: utf8) ?? ""))
        case .data(let bytes): try store(.blob(Array(copying: bytes)))
        case .date(let seconds): try storeDate(seconds)
        }
    }

    private func storeNumber(_ text: RawSpan) throws(StreamError) {
        let kept: NumberText.Kept
        do throws(StreamError) {
            kept = try NumberText.kept(text, rounding: true)
        } catch {
            throw refusal(of: error.message)
        }
        switch kept {
        case .integer(let value):
            if !NumberText.isInteger(text) {
                warnings.add(
                    "numbers with a fraction or an exponent that are no doubles become integers",
                    at: rowPath.member(key))
            }
            try store(.integer(value))
        case .real(let value):
            if !NumberText.hasDigits(of: text, value) {
                warnings.add(
                    "numbers with a fraction or an exponent become the nearest doubles", at: rowPath.member(key))
            }
            try store(.real(value))
        }
    }

    private func storeDate(_ seconds: Double) throws(StreamError) {
        guard seconds.isFinite else { throw refusal(of: "expected a date of a finite number of seconds") }
        // Unix time, which SQLite's date functions take.
        let time = seconds + 978_307_200
        let path = tablePath.element(rowNumber).member(key)
        warnings.add("dates become numbers, seconds since 1970", at: path)
        if time - 978_307_200 != seconds { warnings.add("dates lose digits of their seconds", at: path) }
        try store(.real(time))
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

enum DatabaseWriterTests {}

extension DatabaseWriterTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testMakesTheTypesThatChangeNothing": testMakesTheTypesThatChangeNothing,
            "testMakesTablesOfADictionary": testMakesTablesOfADictionary,
            "testRefusesWhatIsNoTable": testRefusesWhatIsNoTable,
            "testTakesAnyKeyForAName": testTakesAnyKeyForAName,
            "testKeepsTheOrderOfRows": testKeepsTheOrderOfRows,
            "testTakesWideRows": testTakesWideRows,
        ]
    }

    private static func database(
        _ json: String, isSequence: Bool = false, columnLimit: Int = 2_000
    ) throws -> SQLiteConnection {
        let connection = try SQLiteConnection.inMemory()
        connection.setLimit(.columnCount, to: columnLimit)
        var writer = DatabaseWriter(connection, table: nil, isSequence: isSequence)
        try writer.readJSON(json, options: JSONReaderOptions(allowsMultipleValues: isSequence))
        try writer.finish()
        return connection
    }

    private static func json(_ connection: SQLiteConnection, _ sql: String) throws -> String {
        var writer = JSONWriter()
        try connection.query(sql, options: SQLiteReadingOptions(nulls: .omit), into: &writer)
        try writer.finish()
        return writer.text
    }

    private static func testMakesTheTypesThatChangeNothing() throws {
        let text =
            #"[{"b":true,"i":1,"r":1.5,"s":"12","m":1},{"m":"x","b":false,"new":"é","i":-2},{"m":2.0,"r":2.0,"n":null}]"#
        let connection = try database(text)
        expectEqual(
            try connection.columns(ofTable: "rows").map { "\($0.name) \($0.declaredType)" },
            ["b BOOLEAN", "i INTEGER", "r REAL", "s TEXT", "m ", "new TEXT", "n "], "columns")
        expectEqual(
            try json(connection, "SELECT * FROM rows"),
            #"[{"b":true,"i":1,"r":1.5,"s":"12","m":1},{"b":false,"i":-2,"m":"x","new":"é"},{"r":2.0,"m":2.0}]"#, "rows"
        )
        let nested = try database(#"{"a":[1,{"x":null}],"b":{}} {"a":7}"#, isSequence: true)
        expectEqual(try json(nested, "SELECT * FROM rows"), #"[{"a":"[1,{\"x\":null}]","b":"{}"},{"a":7}]"#, "nested")
    }

    private static func testMakesTablesOfADictionary() throws {
        let connection = try database(#"{"a b":[{"x":1}],"empty":[],"c":[{"y":"\""},{"x":2}]}"#)
        expectEqual(try connection.tableNames(), ["a b", "c"], "tables")
        expectEqual(try json(connection, "SELECT * FROM c"), #"[{"y":"\""},{"x":2}]"#, "rows")
    }

    private static func testTakesAnyKeyForAName() throws {
        // A quote with a combining mark is one character that is not a quote, and yet ends a name in SQL.
        let keys = [
            "a\"", "\"\u{301}); DROP TABLE temp.stage0; --", "x\"\u{20DD} INTEGER, \"y", "]'`--", "", "select",
            "e\u{301}", "é",
        ]
        var row = JSONWriter()
        try row.write(any: [Dictionary(uniqueKeysWithValues: zip(keys.dropLast(2), 0...))])
        for key in keys.dropLast(2) {
            var writer = JSONWriter()
            try writer.write(any: [key: [[key: 1]]])
            let connection = try database(writer.text)
            expectEqual(try connection.tableNames(), [key], "table \(key)")
            expectEqual(try connection.columns(ofTable: key).map(\.name), [key], "columns of \(key)")
        }
        expectEqual(try database(row.text).columns(ofTable: "rows").count, keys.count - 2, "columns of one table")
        // Two keys that are canonically equivalent are two columns, and two tables.
        let text = #"[{"e\u0301":1,"\u00e9":2}]"#
        let written = try json(try database(text), "SELECT * FROM rows")
        expectEqual(Array(written.utf8), Array("[{\"e\u{301}\":1,\"\u{E9}\":2}]".utf8), "equivalent keys")
        let tables = try database(#"{"e\u0301":[{"a":1}],"\u00e9":[{"a":2}]}"#)
        expectEqual(try tables.tableNames().map { Array($0.utf8).count }, [3, 2], "equivalent tables")
    }

    /// Takes a minute and more when each key is compared with all others of its row.
    private static func testTakesWideRows() throws {
        let row = "{" + (0..<1_900).map { "\"a key of some length \($0)\":\($0)" }.joined(separator: ",") + "}"
        let connection = try database("[" + Array(repeating: row, count: 20).joined(separator: ",") + "]")
        expectEqual(try connection.value("SELECT sum(\"a key of some length 1899\") FROM rows"), 37_980, "sum")
    }

    private static func testKeepsTheOrderOfRows() throws {
        let text = #"[{"rowid":5,"oid":1,"_rowid_":7},{"rowid":1,"oid":9,"_rowid_":2}]"#
        expectEqual(try json(try database(text), "SELECT * FROM rows"), text, "rows with the names of row ids")
    }

    private static func testRefusesWhatIsNoTable() {
        let limit = 30
        let members = (0...limit).map { "\"k\($0)\":1" }
        let rows = [
            ("1e400", "found a value outside any row"), ("[18446744073709551615]", "found a value outside any row"),
            ("1", "found a value outside any row"), ("[1]", "found a value outside any row"),
            ("[[{}]]", "found an array in an array"), (#"{"a":1}"#, "found a value outside any row"),
            (#"{"a":{"b":1}}"#, "found a dictionary in a dictionary"), ("[]", "expected at least one row"),
            ("[{},{}]", "$[0]: expected a dictionary with members"),
            (#"[{"a":18446744073709551615}]"#, "$[0].a: expected an integer below 2^63"),
            (#"[{"a":1e999}]"#, "$[0].a: expected a number that 64 bits hold"),
            (#"[{"a":1},{"a":1e-400}]"#, "$[1].a: expected a number that 64 bits hold"),
            (#"{"t":[{"a":-1e-999}]}"#, "$.t[0].a: expected a number that 64 bits hold"),
            (#"[{"a":1},{"a":1,"A":2}]"#, "$[1]: duplicate column name: A"),
            (#"[{"a":"x\u0000"}]"#, "$[0].a: found a NUL character"),
            (#"{"t":[{"b":1},{"b":1,"a":"x\u0000"}]}"#, "$.t[1].a: found a NUL character"),
            (#"{"t":[{"a":1}],"u":[{"a":1}],"t":[{"a":1}]}"#, "$.t: duplicate key \"t\""),
            (#"{"t":[{"a":1}],"T":[{"a":1}]}"#, "$.T[0]: the table T comes twice, since case does not count"),
            (#"{"Sqlite_a":[{"a":1}]}"#, "$.Sqlite_a[0]: the name Sqlite_a is one of SQLite's own"),
            (#"{"a\u0000":[{"a":1}]}"#, "found a NUL character in a key"), (#"[{"a\u0000":1}]"#, "$[0]: found a NUL"),
            (#"[{"a":1,"b":2,"a":1}]"#, "$[0].a: duplicate key \"a\""),
            (#"[{"a":-1e400}]"#, "a number that 64 bits hold"),
            (#"[{"a":99999999999999999999}]"#, "a number that 64 bits hold"),
            ("[{\(members.joined(separator: ","))}]", "$[0]: more than \(limit) columns in a row"),
            ("[{\(members.joined(separator: "},{"))}]", "$[\(limit)]: more than \(limit) columns in a table"),
        ]
        for (text, message) in rows {
            let error = expectThrows((any Error).self, String(text.prefix(50))) {
                _ = try database(text, columnLimit: limit)
            }
            expectTrue(
                "\(error.map { "\($0)" } ?? "")".contains(message), "\(message) in \(error.map { "\($0)" } ?? "")")
        }
    }
}
#endif
