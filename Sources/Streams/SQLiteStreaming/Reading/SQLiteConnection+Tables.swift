// Rows of a whole table, without SQL.

public import PlistStreaming
import StringTables

extension SQLiteConnection {
    /// Sends the rows of a table or view to a sink, as an array of dictionaries.
    ///
    /// ```swift
    /// var writer = CSVWriter()
    /// try connection.query(table: "artists", columns: ["name", "country"], into: &writer)
    /// ```
    ///
    /// Unlike a query in SQL, this function accepts any value in a column that is declared `BOOL` or `BOOLEAN`: the column is
    /// sent as Booleans if it has no other values than 0, 1 and null, and otherwise as it is stored.
    ///
    /// - Parameters:
    ///   - table: The name of the table.
    ///   - columns: The names of the columns to send, in this order; nil for all columns.
    ///   - options: The options for turning values into messages.
    ///   - sink: The sink that receives an array of dictionaries.
    /// - Throws: `cannotRead` with the ``SQLiteError`` as its cause for an unknown table or column, before anything is sent;
    ///   the errors of ``SQLiteStatement/send(to:options:)``.
    /// - Complexity: O(*n*) in the rows, which are read once more for each column of Booleans.
    public func query<Sink: PlistSink & ~Copyable>(
        table: String, columns: [String]? = nil, options: SQLiteReadingOptions = SQLiteReadingOptions(),
        into sink: inout Sink
    ) throws(StreamError) {
        var options = options
        do throws(SQLiteError) {
            guard columns?.isEmpty != true else {
                throw SQLiteError(.misuse, "expected the names of columns, found none")
            }
            let known = try self.columns(ofTable: table)
            // By bytes, as SQLite compares names beyond ASCII.
            let names = KeySet(known.map(\.name))
            for column in columns ?? [] where names.index(of: column) == nil {
                let nearest = NearestName.find(column, among: known.map(\.name)).map { "; did you mean '\($0)'?" } ?? ""
                throw SQLiteError(.error, "there is no column '\(column)' in \(table)\(nearest)")
            }
            for column in known where column.isBoolean && options.mappings[column.name] == nil {
                let name = SQLiteName.inQuotes(column.name)
                let others = try value(
                    """
                    SELECT EXISTS (SELECT 1 FROM \(SQLiteName.inQuotes(table)) \
                    WHERE \(name) IS NOT NULL AND (typeof(\(name)) <> 'integer' OR \(name) NOT IN (0, 1)))
                    """)
                if others == 1 { options.mappings[column.name] = .stored }
            }
        } catch {
            throw error.streamError(.cannotRead)
        }
        let list = columns.map(SQLiteName.listInQuotes) ?? "*"
        try query("SELECT \(list) FROM \(SQLiteName.inQuotes(table))", options: options, into: &sink)
    }
}

extension SQLiteColumn {
    /// A Boolean value that indicates whether 0 and 1 are sent as Booleans, because the column is declared `BOOL` or `BOOLEAN`.
    package var isBoolean: Bool { ["BOOL", "BOOLEAN"].contains(declaredType.uppercased()) }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

enum TableQueryTests {}

extension TableQueryTests: SelfTesting {
    static var testSelectors: TestSelectors { ["testSendsTheRowsOfATable": testSendsTheRowsOfATable] }

    private static func testSendsTheRowsOfATable() throws {
        let connection = try SQLiteConnection.inMemory()
        try connection.execute(
            """
            CREATE TABLE "a b" (x BOOLEAN, "y" BOOL, "e\u{301}" TEXT, "\u{E9}");
            INSERT INTO "a b" VALUES (1, 1, 's', 2), (NULL, 7, NULL, 'q')
            """)
        let rows: [([String]?, String)] = [
            (["y", "x"], "[ { key \"y\" integer 1 key \"x\" true } { key \"y\" integer 7 key \"x\" null } ]"),
            (["\u{E9}"], "[ { key \"\u{E9}\" integer 2 } { key \"\u{E9}\" string \"q\" } ]"),
            (["e\u{301}"], "[ { key \"e\u{301}\" string \"s\" } { key \"e\u{301}\" null } ]"),
        ]
        for (columns, expected) in rows {
            var trace = EventTrace()
            try connection.query(table: "a b", columns: columns, into: &trace)
            expectEqual(Array(trace.text.utf8), Array(expected.utf8), trace.text)
        }
        let refused: [(String, String?, String)] = [
            ("a b", "xx", "there is no column 'xx' in a b; did you mean 'x'?"),
            ("none", "x", "there is no column 'x' in none"), ("a b", nil, "expected the names of columns, found none"),
        ]
        for (table, column, message) in refused {
            let error = expectThrows(StreamError.self, message) {
                var trace = EventTrace()
                try connection.query(table: table, columns: column.map { [$0] } ?? [], into: &trace)
            }
            expectEqual(error?.sqliteError?.message, message, "message")
        }
    }
}
#endif
