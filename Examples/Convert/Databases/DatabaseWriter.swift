// Writes values to a database whose tables and columns aren't known in advance. This file finds the rows and tables
// among the values. `RowTable` writes the rows.

import JSONStreaming
import PlistStreaming
import SQLiteStreaming
import StringTables

/// A sink that creates tables. An array of dictionaries becomes one table, and a dictionary of such arrays becomes
/// several.
final class DatabaseWriter: ValueSink {
    private let connection: SQLiteConnection
    private let warnings: Warnings
    /// The name of the table for the rows of an array, even if the array is the only member of a dictionary. Nil for
    /// `rows`, or for the member's key.
    private let chosenTable: String?
    /// A Boolean value that indicates whether dictionaries at the root are rows.
    private let isSequence: Bool
    /// A Boolean value that indicates whether the values are fields of delimited text.
    private let isOfFields: Bool
    /// The table of the current rows.
    private var table: RowTable?
    /// The names of all tables with rows, in the form that SQLite compares.
    private var names: Set<SQLiteName.Folded> = []
    /// The keys of the outermost dictionary.
    private var tableKeys = KeySet()
    /// The arrays without rows.
    private var emptyArrays: [String] = []
    /// The number of open containers. `rowDepth` is the depth of the current row, or zero outside of rows.
    private var depth = 0
    private var rowDepth = 0
    private var isInTables = false
    /// A Boolean value that indicates whether the open array, or else the last array, has rows.
    private var hasRows = false
    private var tableName = ""
    /// The writer for the text of an array or dictionary inside a row.
    private var nested: JSONWriter?
    private var nestedDepth = 0
    /// The names of the columns, if they are known in advance.
    private var expectedColumns: [String] = []

    init(
        _ connection: SQLiteConnection, table: String?, isSequence: Bool, isOfFields: Bool = false,
        warnings: Warnings = Warnings()
    ) {
        self.connection = connection
        self.isOfFields = isOfFields
        self.warnings = warnings
        chosenTable = table
        self.isSequence = isSequence
    }

    /// Finishes the last table.
    func finish() throws(StreamError) {
        if names.isEmpty, !expectedColumns.isEmpty { try nextTable().expectColumns(expectedColumns) }
        if names.isEmpty {
            throw StreamError(
                .unrepresentable, "expected at least one row, because a table needs columns")
        }
        if !emptyArrays.isEmpty {
            warnings.add("no tables were made for arrays without rows: \(Warnings.list(emptyArrays))")
        }
        try table?.finish()
    }

    // MARK: Tables

    private var name: String { chosenTable ?? (isInTables ? tableName : "rows") }

    private var tablePath: StreamPath { StreamPath(isInTables ? [.key(tableName)] : []) }

    private func refusal(_ found: String) -> StreamError {
        StreamError(.typeMismatch, "expected arrays of dictionaries, which are tables of rows; found \(found)")
    }

    /// Returns the table of the next row.
    private func nextTable() throws(StreamError) -> RowTable {
        if let table, table.isNamed(name) { return table }
        try table?.finish()
        table = nil
        func refused(_ message: String) -> StreamError {
            StreamError(.unrepresentable, message, path: tablePath.element(0))
        }
        guard names.insert(SQLiteName.folded(name)).inserted else {
            throw refused("the table \(name) exists twice; table names don't distinguish case")
        }
        guard !name.utf8.contains(0) else {
            throw refused("found a NUL character in a key, which can't be part of a table name")
        }
        let start = String(decoding: name.utf8.prefix("sqlite_".utf8.count), as: UTF8.self)
        guard SQLiteName.folded(start) != SQLiteName.folded("sqlite_") else {
            throw refused("the name \(name) is reserved by SQLite: it begins with sqlite_")
        }
        let next = try RowTable(
            connection, name: name, path: tablePath, isOfFields: isOfFields, warnings: warnings)
        table = next
        return next
    }

    // MARK: Containers

    private var isInRow: Bool { rowDepth > 0 && depth == rowDepth }

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
            try nextTable().beginRow()
        }
    }

    override func endDictionary() throws(StreamError) {
        if try endNested(isArray: false) { return }
        if isInRow {
            try table?.endRow()
            hasRows = true
            rowDepth = 0
        }
        depth -= 1
    }

    /// Begins an array or dictionary inside a row. Returns false outside of rows.
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
            try writer.text.withUTF8Span { (text) throws(StreamError) in
                try table?.write(.string(text), isContainer: true)
            }
        }
        return true
    }

    override func writeKey(_ utf8: RawSpan) throws(StreamError) {
        if nestedDepth > 0 { return try nested?.writeKey(utf8) ?? () }
        if isInRow { return try table?.writeKey(utf8) ?? () }
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

    // MARK: Values

    override func write(_ scalar: borrowing StreamScalar) throws(StreamError) {
        if nestedDepth > 0 {
            // An error ends the conversion, so the text isn't needed afterwards.
            guard var writer = nested.take() else { return }
            try scalar.send(to: &writer)
            nested = consume writer
            return
        }
        guard isInRow, let table else { throw refusal("a value outside any row") }
        switch copy scalar {
        case .number(let text):
            warnOfNumber(text, in: table)
            try table.write(scalar)
        case .date(let seconds): try writeDate(seconds, to: table)
        default: try table.write(scalar)
        }
    }

    private func warnOfNumber(_ text: RawSpan, in table: RowTable) {
        switch try? NumberText.kept(text, rounding: true) {
        case .integer where !NumberText.isInteger(text):
            warnings.add(
                "numbers with a fraction or an exponent that a double can't represent become integers", at: table.place)
        case .real(let value) where !NumberText.hasDigits(of: text, value):
            warnings.add("numbers with a fraction or an exponent become the nearest doubles", at: table.place)
        // The table refuses all other numbers.
        default: break
        }
    }

    private func writeDate(_ seconds: Double, to table: RowTable) throws(StreamError) {
        guard seconds.isFinite else {
            throw StreamError(
                .unrepresentable, "expected a date of a finite number of seconds", path: table.place)
        }
        // SQLite's date functions expect Unix time.
        let time = seconds + 978_307_200
        warnings.add("dates become numbers, seconds since 1970", at: table.place)
        if time - 978_307_200 != seconds { warnings.add("dates lose digits of their seconds", at: table.place) }
        try table.write(.real(time))
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

enum DatabaseWriterTests {}

extension DatabaseWriterTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testChoosesTypesThatKeepValues": testChoosesTypesThatKeepValues,
            "testCreatesTablesForDictionaryMembers": testCreatesTablesForDictionaryMembers,
            "testRefusesInvalidTables": testRefusesInvalidTables,
            "testAcceptsAnyKeyAsColumnName": testAcceptsAnyKeyAsColumnName,
            "testKeepsTheOrderOfRows": testKeepsTheOrderOfRows,
            "testWritesWideRowsQuickly": testWritesWideRowsQuickly,
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

    private static func testChoosesTypesThatKeepValues() throws {
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

    private static func testCreatesTablesForDictionaryMembers() throws {
        let connection = try database(#"{"a b":[{"x":1}],"empty":[],"c":[{"y":"\""},{"x":2}]}"#)
        expectEqual(try connection.tableNames(), ["a b", "c"], "tables")
        expectEqual(try json(connection, "SELECT * FROM c"), #"[{"y":"\""},{"x":2}]"#, "rows")
    }

    private static func testAcceptsAnyKeyAsColumnName() throws {
        // A quote with a combining mark is another character in Swift, but it ends a name in SQL.
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
        // Two canonically equivalent keys are two columns, and two tables.
        let text = #"[{"e\u0301":1,"\u00e9":2}]"#
        let written = try json(try database(text), "SELECT * FROM rows")
        expectEqual(Array(written.utf8), Array("[{\"e\u{301}\":1,\"\u{E9}\":2}]".utf8), "equivalent keys")
        let tables = try database(#"{"e\u0301":[{"a":1}],"\u00e9":[{"a":2}]}"#)
        expectEqual(try tables.tableNames().map { Array($0.utf8).count }, [3, 2], "equivalent tables")
    }

    /// This test takes more than a minute if each key is compared with all others of its row.
    private static func testWritesWideRowsQuickly() throws {
        let row = "{" + (0..<1_900).map { "\"a key of some length \($0)\":\($0)" }.joined(separator: ",") + "}"
        let connection = try database("[" + Array(repeating: row, count: 20).joined(separator: ",") + "]")
        expectEqual(try connection.value("SELECT sum(\"a key of some length 1899\") FROM rows"), 37_980, "sum")
    }

    private static func testKeepsTheOrderOfRows() throws {
        let text = #"[{"rowid":5,"oid":1,"_rowid_":7},{"rowid":1,"oid":9,"_rowid_":2}]"#
        expectEqual(try json(try database(text), "SELECT * FROM rows"), text, "rows with the names of row ids")
    }

    private static func testRefusesInvalidTables() {
        let limit = 30
        let members = (0...limit).map { "\"k\($0)\":1" }
        let tooMany = "expected at most \(limit) columns in a table, found more"
        let rows = [
            ("1e400", "found a value outside any row"), ("[18446744073709551615]", "found a value outside any row"),
            ("1", "found a value outside any row"), ("[1]", "found a value outside any row"),
            ("[[{}]]", "found an array in an array"), (#"{"a":1}"#, "found a value outside any row"),
            (#"{"a":{"b":1}}"#, "found a dictionary in a dictionary"), ("[]", "expected at least one row"),
            ("[{},{}]", "$[0]: expected a dictionary with members"),
            (#"[{"a":18446744073709551615}]"#, "$[0].a: expected an integer below 2^63"),
            (#"[{"a":1e999}]"#, "$[0].a: expected a 64-bit integer or a number within"),
            (#"[{"a":1},{"a":1e-400}]"#, "$[1].a: expected a 64-bit integer or a number within"),
            (#"{"t":[{"a":-1e-999}]}"#, "$.t[0].a: expected a 64-bit integer or a number within"),
            (#"[{"a":1},{"a":1,"A":2}]"#, "$[1]: duplicate column name: A"),
            (#"[{"a":"x\u0000"}]"#, "$[0].a: found a NUL character"),
            (#"{"t":[{"b":1},{"b":1,"a":"x\u0000"}]}"#, "$.t[1].a: found a NUL character"),
            (#"{"t":[{"a":1}],"u":[{"a":1}],"t":[{"a":1}]}"#, "$.t: duplicate key \"t\""),
            (#"{"t":[{"a":1}],"T":[{"a":1}]}"#, "$.T[0]: the table T exists twice; table names don't distinguish case"),
            (#"{"Sqlite_a":[{"a":1}]}"#, "$.Sqlite_a[0]: the name Sqlite_a is reserved by SQLite"),
            (#"{"a\u0000":[{"a":1}]}"#, "found a NUL character in a key"), (#"[{"a\u0000":1}]"#, "$[0]: found a NUL"),
            (#"[{"a":1,"b":2,"a":1}]"#, "$[0].a: duplicate key \"a\""),
            (#"[{"a":-1e400}]"#, "a 64-bit integer or a number within"),
            (#"[{"a":99999999999999999999}]"#, "a 64-bit integer or a number within"),
            ("[{\(members.joined(separator: ","))}]", "$[0]: \(tooMany)"),
            ("[{\(members.joined(separator: "},{"))}]", "$[\(limit)]: \(tooMany)"),
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
