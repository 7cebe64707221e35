// A table whose columns are not known before: rows are staged without types, then each column gets the type that changes no
// value of it. Its tests are those of `DatabaseWriter`.

import PlistStreaming
import SQLiteStreaming
import StringTables

/// A value of a row, with what its cell does not say.
struct RowValue {
    /// What a message was, where the cell is another thing.
    enum Origin {
        case cell, bool, container
    }

    var key: String
    var value: SQLiteValue
    var origin: Origin = .cell

    /// The text of a number or Boolean that was read as a field, whose text it is.
    var fieldText: String? {
        switch value {
        case .integer(let value): origin == .bool ? "\(value != 0)" : "\(value)"
        case .real(let value): value.description
        default: nil
        }
    }
}

/// A table without types, in the temporary database, until all of its rows are known.
final class StagedTable: RowTable {
    /// What the values of a column are.
    private struct Kinds: OptionSet {
        let rawValue: UInt8
        static let bool = Kinds(rawValue: 1)
        static let integer = Kinds(rawValue: 2)
        static let real = Kinds(rawValue: 4)
        static let text = Kinds(rawValue: 8)
        static let blob = Kinds(rawValue: 16)
        /// A column of reals would make 0.0 of it.
        static let negativeZero = Kinds(rawValue: 32)

        /// A Boolean value that indicates whether no type has them all, and text has them if they are fields.
        var needText: Bool {
            let others = subtracting(contains(.text) ? .text : .bool)
            return !others.isEmpty && !isDisjoint(with: [.text, .bool])
        }
    }

    /// The number of values of one kind, and the row of the first.
    private struct Count {
        var first = 0
        var count = 0

        mutating func add(_ row: Int) {
            if count == 0 { first = row }
            count += 1
        }
    }

    let name: String
    private let connection: SQLiteConnection
    private let stage: String
    /// The way to the table, for warnings.
    private let path: StreamPath
    private let isOfFields: Bool
    private var names = KeySet()
    /// What the values of each column are.
    private var columns: [Kinds] = []
    private var notes = RowNotes()
    private var insertion: SQLiteStatement?
    /// The rows by the number of their members.
    private var sizes: [Int: Count] = [:]
    private(set) var rowCount = 0

    init(
        _ connection: SQLiteConnection, name: String, number: Int, path: StreamPath, isOfFields: Bool
    ) throws(StreamError) {
        self.isOfFields = isOfFields
        self.connection = connection
        self.name = name
        self.path = path
        // A temporary table hides one of the same name in the file, which may get rows as well.
        var stage = "stage\(number)"
        while try connection.isInFile(stage, orTemporary: true) { stage += "_" }
        self.stage = "temp.\(stage)"
    }

    func expect(_ columns: [String]) throws(StreamError) {
        try throwing(.cannotWrite) { () throws(SQLiteError) in try add(columns) }
    }

    func insert(_ row: [RowValue]) throws(StreamError) {
        var member: String?
        do throws(SQLiteError) { try stage(row, &member) } catch {
            // What SQLite cannot hold is a fault of the input.
            guard error.code == .mismatch || error.code == .tooBig else { throw error.streamError(.cannotWrite) }
            let place = path.element(rowCount)
            throw StreamError(.unrepresentable, error.message, path: member.map { place.member($0) } ?? place)
        }
        rowCount += 1
    }

    /// - Parameter member: The key of the value that is refused, where it is a value.
    private func stage(_ row: [RowValue], _ member: inout String?) throws(SQLiteError) {
        sizes[row.count, default: Count()].add(rowCount)
        var indexes = indexes(row)
        if indexes.contains(nil) {
            try add(zip(row, indexes).compactMap { item, index in index == nil ? item.key : nil })
            indexes = self.indexes(row)
        }
        // Rows without members before the first column are made with it.
        if columns.isEmpty { return }
        if insertion == nil {
            let marks = columns.map { _ in "?" }.joined(separator: ", ")
            insertion = try connection.prepare("INSERT INTO \(stage) VALUES (\(marks))")
        }
        guard let insertion else { return }
        insertion.clearBindings()
        for (item, index) in zip(row, indexes) {
            guard let index else { continue }
            var item = item
            let kinds = columns[index].union(Self.kinds(of: item))
            if isOfFields, kinds.needText, try makeText(ofColumn: index) {
                if let text = item.fieldText { item = RowValue(key: item.key, value: .text(text)) }
                columns[index] = .text
            } else {
                columns[index] = kinds
            }
            if item.origin == .bool { notes.add(.mixedBool, in: index, row: rowCount) }
            if item.origin == .container { notes.add(.container, in: index, row: rowCount) }
            member = item.key
            try insertion.bind(item.value, at: index + 1)
        }
        member = nil
        try insertion.execute()
    }

    private static func kinds(of item: RowValue) -> Kinds {
        switch item.value {
        case .null: []
        case .integer: item.origin == .bool ? .bool : .integer
        case .real(let value): value == 0 && value.sign == .minus ? .negativeZero : .real
        case .text: .text
        case .blob: .blob
        }
    }

    /// Makes text of the numbers and Booleans of a column of fields, unless no name is left for the ids of rows.
    private func makeText(ofColumn index: Int) throws(SQLiteError) -> Bool {
        let kinds = columns[index]
        if kinds.isEmpty || kinds == .text { return true }
        let known = Set((0..<columns.count).map { names[$0].lowercased() })
        guard let rowID = ["rowid", "_rowid_", "oid"].first(where: { !known.contains($0) }) else { return false }
        let name = SQLiteName.inQuotes(names[index])
        let select = try connection.prepare(
            "SELECT \(rowID), \(name) FROM \(stage) WHERE typeof(\(name)) IN ('integer', 'real')")
        let update = try connection.prepare("UPDATE \(stage) SET \(name) = ? WHERE \(rowID) = ?")
        while try select.step() {
            let value = RowValue(
                key: "", value: try select.value(at: 1), origin: kinds == .bool ? .bool : .cell)
            try update.bind(value.fieldText ?? "", at: 1)
            try update.bind(select.integer(at: 0), at: 2)
            try update.execute()
        }
        return true
    }

    /// The columns of the values of a row.
    private func indexes(_ row: [RowValue]) -> [Int?] {
        // One copy of the set, where each use of the property would make one.
        let names = names
        return row.map { names.index(of: $0.key) }
    }

    /// Adds columns; to have those of the first row at once, SQLite reads the declaration once.
    private func add(_ keys: [String]) throws(SQLiteError) {
        if keys.isEmpty { return }
        insertion = nil
        let limit = connection.limit(.columnCount)
        guard columns.count + keys.count <= limit else {
            throw SQLiteError(.tooBig, "more than \(limit) columns in a table")
        }
        if keys.contains(where: { $0.utf8.contains(0) }) {
            throw SQLiteError(.mismatch, "found a NUL character in a key, which no name of a column has")
        }
        let quoted = keys.map(SQLiteName.inQuotes)
        do throws(SQLiteError) {
            if columns.isEmpty {
                try connection.execute("CREATE TABLE \(stage) (\(quoted.joined(separator: ", ")))")
                for _ in 0..<rowCount { try connection.run("INSERT INTO \(stage) DEFAULT VALUES") }
            } else {
                for name in quoted { try connection.execute("ALTER TABLE \(stage) ADD COLUMN \(name)") }
            }
        } catch {
            // A name that SQLite refuses, such as `A` beside `a`, is a fault of the input.
            throw error.code == .error ? SQLiteError(.mismatch, error.message) : error
        }
        for key in keys {
            names.insert(key)
            columns.append([])
        }
    }

    /// Makes the table and moves the rows to it.
    func finish(_ warnings: Warnings) throws(StreamError) {
        guard !columns.isEmpty else {
            throw StreamError(
                .unrepresentable, "expected a dictionary with members, found empty ones only", path: path.element(0))
        }
        // The table of the staged rows is no table of the user.
        do throws(SQLiteError) { try makeTable() } catch {
            throw error.replacingSQL(by: nil).streamError(.cannotWrite)
        }
        for (index, kinds) in columns.enumerated() where kinds == .bool || !kinds.contains(.bool) {
            notes.remove(.mixedBool, in: index)
        }
        notes.add(to: warnings, at: path) { names[$0] }
        let incomplete = sizes.filter { $0.key < columns.count }.map(\.value)
        if let first = incomplete.map(\.first).min() {
            warnings.add(
                "members that are missing become null in the table \(name)", at: path.element(first),
                count: incomplete.reduce(0) { $0 + $1.count })
        }
    }

    private func makeTable() throws(SQLiteError) {
        insertion = nil
        let declarations = columns.enumerated().map { index, column in
            let type =
                switch column {
                case .bool: " BOOLEAN"
                case .integer: " INTEGER"
                case .real: " REAL"
                case .text: " TEXT"
                case .blob: " BLOB"
                // Without a type, a column changes no value: 1 stays an integer beside 2.5.
                default: ""
                }
            return SQLiteName.inQuotes(names[index]) + type
        }
        // A table is read in the order of its rows; a name for that, such as `rowid`, may be that of a column.
        try connection.execute(
            """
            CREATE TABLE main.\(SQLiteName.inQuotes(name)) (\(declarations.joined(separator: ", ")));
            INSERT INTO main.\(SQLiteName.inQuotes(name)) SELECT * FROM \(stage)
            """)
        // To drop a table SQLite looks at all others; so only those go that take space.
        if rowCount > 1_000 { try connection.execute("DROP TABLE \(stage)") }
    }
}
