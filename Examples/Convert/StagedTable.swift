// A table whose columns are not known before: rows are staged without types, then each column gets the type that changes no
// value of it. Its tests are those of `DatabaseWriter`.

import SQLiteStreaming
import StringTables

/// A table without types, in the temporary database, until all of its rows are known.
final class StagedTable {
    /// What the values of a column are.
    private struct Kinds: OptionSet {
        let rawValue: UInt8
        static let bool = Kinds(rawValue: 1)
        static let integer = Kinds(rawValue: 2)
        static let real = Kinds(rawValue: 4)
        static let text = Kinds(rawValue: 8)
        static let blob = Kinds(rawValue: 16)
    }

    let name: String
    private let connection: SQLiteConnection
    private let stage: String
    private var columns = KeySet()
    private var kinds: [Kinds] = []
    private var insertion: SQLiteStatement?
    private(set) var rowCount = 0

    init(_ connection: SQLiteConnection, name: String, number: Int) {
        self.connection = connection
        self.name = name
        stage = "temp.stage\(number)"
    }

    func isNamed(_ name: String) -> Bool { self.name.utf8.elementsEqual(name.utf8) }

    func insert(_ row: [(key: String, value: SQLiteValue, isBool: Bool)]) throws(SQLiteError) {
        try add(row.lazy.map(\.key).filter { !self.columns.contains($0) })
        if columns.isEmpty { throw SQLiteError(.error, "expected a dictionary with members, found an empty one first") }
        if insertion == nil {
            let marks = kinds.map { _ in "?" }.joined(separator: ", ")
            insertion = try connection.prepare("INSERT INTO \(stage) VALUES (\(marks))")
        }
        guard let insertion else { return }
        insertion.clearBindings()
        for (key, value, isBool) in row {
            guard let index = columns.index(of: key) else { continue }
            switch value {
            case .null: break
            case .integer: kinds[index].insert(isBool ? .bool : .integer)
            case .real: kinds[index].insert(.real)
            case .text: kinds[index].insert(.text)
            case .blob: kinds[index].insert(.blob)
            }
            try insertion.bind(value, at: index + 1)
        }
        try insertion.runBound()
        rowCount += 1
    }

    /// Adds columns; to have those of the first row at once, SQLite reads the declaration once.
    private func add(_ keys: [String]) throws(SQLiteError) {
        if keys.isEmpty { return }
        insertion = nil
        let limit = connection.limit(.columnCount)
        guard columns.count + keys.count <= limit else {
            throw SQLiteError(.tooBig, "more than \(limit) columns in a table")
        }
        let names = keys.map(SQLText.quoted)
        do throws(SQLiteError) {
            if columns.isEmpty {
                try connection.execute("CREATE TABLE \(stage) (\(names.joined(separator: ", ")))")
            } else {
                for name in names { try connection.execute("ALTER TABLE \(stage) ADD COLUMN \(name)") }
            }
        } catch {
            // A name that SQLite refuses, such as `A` beside `a`, is a fault of the input.
            throw error.code == .error ? SQLiteError(.mismatch, error.message) : error
        }
        for key in keys {
            columns.insert(key)
            kinds.append([])
        }
    }

    /// Makes the table and moves the rows to it.
    func finish() throws(SQLiteError) {
        insertion = nil
        let declarations = kinds.enumerated().map { index, kinds in
            let type =
                switch kinds {
                case .bool: " BOOLEAN"
                case .integer: " INTEGER"
                case .real: " REAL"
                case .text: " TEXT"
                case .blob: " BLOB"
                // Without a type, a column changes no value: 1 stays an integer beside 2.5.
                default: ""
                }
            return SQLText.quoted(columns[index]) + type
        }
        // A table is read in the order of its rows; a name for that, such as `rowid`, may be that of a column.
        try connection.execute(
            """
            CREATE TABLE main.\(SQLText.quoted(name)) (\(declarations.joined(separator: ", ")));
            INSERT INTO main.\(SQLText.quoted(name)) SELECT * FROM \(stage)
            """)
        // To drop a table SQLite looks at all others; so only those go that take space.
        if rowCount > 1_000 { try connection.execute("DROP TABLE \(stage)") }
    }
}

/// Text of SQL.
enum SQLText {
    /// A name in double quotes, those inside doubled: all of them, also where a combining mark makes one character of two.
    static func quoted(_ name: String) -> String {
        var text = "\""
        for scalar in name.unicodeScalars {
            if scalar == "\"" { text.unicodeScalars.append(scalar) }
            text.unicodeScalars.append(scalar)
        }
        text.unicodeScalars.append("\"")
        return text
    }
}
