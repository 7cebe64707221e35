// Quotes the names of tables and columns in SQL, so that every name is possible and none is read as a keyword.

/// Names in SQL.
package enum SQLiteName {
    /// Returns a name in double quotes, with quotes in the name doubled.
    ///
    /// - Throws: `misuse` for a name with NUL or an empty one.
    static func quoted(_ name: String) throws(SQLiteError) -> String {
        guard !name.isEmpty, !name.utf8.contains(0) else {
            throw SQLiteError(
                .misuse, "expected the name of a table or column, found an empty name or one with a NUL character")
        }
        return inQuotes(name)
    }

    /// Returns a name in double quotes, with quotes in the name doubled. The caller must pass a valid name.
    package static func inQuotes(_ name: String) -> String {
        // By scalars: a quote with a combining mark is one character that doesn't equal a quote, but it would end the name in
        // SQL.
        var text = "\""
        for scalar in name.unicodeScalars {
            text.unicodeScalars.append(scalar)
            if scalar == "\"" { text.unicodeScalars.append(scalar) }
        }
        text.unicodeScalars.append("\"")
        return text
    }

    /// Returns a name with 128 random bits, which neither a database nor its author can know.
    package static func random(_ prefix: String) -> String {
        let numbers = (0..<2).map { _ in String(UInt64.random(in: .min ... .max), radix: 16) }
        return prefix + numbers.joined(separator: "_")
    }

    /// A name as SQLite compares it: by its bytes, with ASCII letters in lower case.
    package struct Folded: Hashable {
        private let bytes: [UInt8]

        fileprivate init(_ name: String) { bytes = name.utf8.map { 0x41...0x5A ~= $0 ? $0 | 0x20 : $0 } }
    }

    /// Returns the folded form of a name. Two names are equal for SQLite exactly if their folded forms are equal.
    package static func folded(_ name: String) -> Folded { Folded(name) }

    /// Returns names in double quotes, separated by commas.
    ///
    /// - Throws: The errors of `quoted`.
    static func list(_ names: [String]) throws(SQLiteError) -> String {
        for name in names { _ = try quoted(name) }
        return listInQuotes(names)
    }

    /// Returns names in double quotes, separated by commas. The caller must pass valid names.
    package static func listInQuotes(_ names: [String]) -> String {
        names.map(inQuotes).joined(separator: ", ")
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension SQLiteName: SelfTesting {
    package static var testSelectors: TestSelectors {
        ["testQuotesEveryName": testQuotesEveryName, "testFoldsCaseLikeSQLite": testFoldsCaseLikeSQLite]
    }

    private static func testFoldsCaseLikeSQLite() throws {
        let connection = try SQLiteConnection.inMemory()
        let names = [
            "Größe", "GRÖßE", "GRößE", "größe", "AZ", "az", "@[`{", "\u{212A}", "k", "I", "i", "İ", "k\u{E4}",
            "ka\u{308}", "KA\u{308}",
        ]
        for (first, second) in names.flatMap({ name in names.map { (name, $0) } }) {
            let isSame = (try? connection.execute("CREATE TABLE t (\(inQuotes(first)), \(inQuotes(second)))")) == nil
            expectEqual(folded(first) == folded(second), isSame, "\(first), \(second)")
            if !isSame { try connection.execute("DROP TABLE t") }
        }
    }

    private static func testQuotesEveryName() throws {
        let connection = try SQLiteConnection.inMemory()
        for name in [
            "a", "select", "a b", "a\"b", "\"\"", "größe", "x'; DROP TABLE t; --", "1", "e\u{301}\"", "\"\u{301}",
        ] {
            let table = try quoted(name)
            try connection.execute("CREATE TABLE \(table) (\(table))")
            expectEqual(try connection.prepare("SELECT * FROM \(table)").columnNames, [name], "column")
            expectEqual(
                try connection.value("SELECT count(*) FROM sqlite_schema WHERE name = ?", [name]), 1, "table \(name)")
        }
        for name in ["", "a\0b"] {
            expectThrows(SQLiteError.self, name.debugDescription) { _ = try quoted(name) }
        }
    }
}
#endif
