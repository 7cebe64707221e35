// Tables whose columns are not known before the rows: rows are staged in a temporary table without types, then each column
// gets a type that keeps its values.

import PlistBuilding
import PlistStreaming
import StringTables

extension SQLiteTableWriter {
    /// The columns of a table that a writer creates for its rows.
    public enum NewColumns: Sendable {
        /// A column for each key. Its type is BOOLEAN, INTEGER, REAL, TEXT or BLOB if all values except null are of this type.
        /// Other columns have no type, so that each value keeps its own.
        case asNeeded
        /// The same for fields of delimited text. A column with text and other values, or with Booleans and numbers, has the
        /// type TEXT: its numbers and Booleans become the text that they were read from.
        case asNeededForFields
    }

    /// Creates a writer that creates its table, with the columns that its rows need.
    ///
    /// ```swift
    /// var writer = try SQLiteTableWriter(connection, table: "tasks", columns: .asNeeded)
    /// try writer.readJSON(.file("tasks.json"))      // [{"id": 1, "title": "Paint"}, {"id": 2, "done": true}]
    /// try writer.finish()                           // CREATE TABLE tasks (id INTEGER, title TEXT, done BOOLEAN)
    /// ```
    ///
    /// The order of the columns is that of the first occurrences of their keys, and rows without a key get null. Until ``finish()`` creates the
    /// table, the rows are in a temporary table. An error discards the rows of all arrays, and so does ``rollBack()``.
    ///
    /// - Parameters:
    ///   - connection: The connection to the database.
    ///   - table: The name of the table, which must not exist in the main database when the writer finishes.
    ///   - columns: The columns that the table gets.
    ///   - options: Of these, the format of dates and the policy for repeated keys apply.
    /// - Throws: `misuse` for a name with NUL. For a key with NUL and for keys that differ only in ASCII case, the writer
    ///   throws `unrepresentable`, for more columns than the limit of the connection `limitExceeded`. ``finish()`` throws
    ///   `unrepresentable` if no row has a member and no reader has named columns, and `cannotWrite` if the table exists.
    /// - Complexity: O(*n*) in the values of all rows and their nulls. The file is written once, the temporary table twice.
    public init(
        _ connection: SQLiteConnection, table: String, columns: NewColumns,
        options: SQLiteTableOptions = SQLiteTableOptions()
    ) throws(SQLiteError) {
        guard !table.utf8.contains(0) else {
            throw SQLiteError(.misuse, "found a NUL character in the name of a table")
        }
        try self.init(
            InsertTarget(temporary: SQLiteName.random("stream_stage_"), connection), members: nil, options: options,
            columns: [])
        newTable = NewTable(name: table, isOfFields: columns == .asNeededForFields)
    }

    /// A table that is created when all rows are staged.
    struct NewTable {
        let name: String
        let isOfFields: Bool
        /// The names of the columns, as SQLite compares them.
        var names: Set<SQLiteName.Folded> = []
        /// The number of columns of the temporary table, including spare columns at the end.
        var stagedColumnCount = 0
        /// The number of rows before the first one that has members.
        var emptyRowCount = 0
        /// The report of the tables that are complete.
        var completeReport = InsertResult()
    }

    // MARK: Columns

    /// Adds the columns that a reader names, unless there are columns.
    public mutating func expectColumns(_ names: [String]) throws(StreamError) {
        guard newTable != nil, columns.isEmpty, !names.isEmpty else { return }
        if let failure { throw failure }
        for name in names where keys.index(of: name) == nil {
            try name.withUTF8Span { (key) throws(StreamError) in _ = try addColumn(key) }
        }
        try stageColumns()
    }

    /// Adds a column for a key that no row had before, and returns its index.
    mutating func addColumn(_ key: RawSpan) throws(StreamError) -> Int {
        column = -1
        let name = String(validating: key) ?? ""
        let limit = target.connection.limit(.columnCount)
        guard columns.count < limit else {
            throw fail(StreamError(.limitExceeded, "expected at most \(limit) columns in a table, found more"))
        }
        guard !name.utf8.contains(0) else {
            throw fail(
                StreamError(.unrepresentable, "found a NUL character in a key; column names can't contain it"))
        }
        guard newTable?.names.insert(SQLiteName.folded(name)).inserted ?? false else {
            throw fail(StreamError(.unrepresentable, "duplicate column name: \(name)"))
        }
        if columns.count == buffer.columnCount {
            try stageCompleteRows()
            // A stage with rows gets spare columns, so that many new keys need few statements of their own.
            let isStaged = newTable.map { $0.stagedColumnCount > 0 } ?? false
            buffer.addColumns(isStaged ? min(limit - columns.count, columns.count / 4 + 1) : 1)
        }
        columns.append(
            Column(name: name, hasDefault: false, kind: nil, direct: .none, affinity: .blob, declaredType: ""))
        isSeen.append(false)
        return keys.insert(key).index
    }

    /// Puts the complete rows into the temporary table, and keeps the one under construction.
    private mutating func stageCompleteRows() throws(StreamError) {
        guard buffer.rowCount > 0 else { return }
        do throws(SQLiteError) { try insertBuffered() } catch { throw fail(error) }
        buffer.removeCompleteRows()
    }

    /// Makes the columns that the row brought.
    ///
    /// - Returns: False if the table has no columns yet, because no row had members.
    @discardableResult
    mutating func stageColumns() throws(StreamError) -> Bool {
        guard let table = newTable, table.stagedColumnCount < buffer.columnCount else {
            if columns.isEmpty { newTable?.emptyRowCount += 1 }
            return !columns.isEmpty
        }
        let names = (0..<buffer.columnCount).map { "c\($0)" }
        do throws(SQLiteError) {
            try begin()
            if table.stagedColumnCount == 0 {
                try target.connection.execute("CREATE TABLE \(target.qualifiedName) (\(names.joined(separator: ", ")))")
                for _ in 0..<table.emptyRowCount {
                    try target.connection.run("INSERT INTO \(target.qualifiedName) DEFAULT VALUES")
                }
                countRows(table.emptyRowCount, changed: table.emptyRowCount)
            } else {
                for name in names[table.stagedColumnCount...] {
                    try target.connection.execute("ALTER TABLE \(target.qualifiedName) ADD COLUMN \(name)")
                }
            }
            inserter = try RowInserter(target, columns: names, conflict: .abort)
        } catch {
            throw fail(error)
        }
        newTable?.stagedColumnCount = buffer.columnCount
        return true
    }

    // MARK: Types

    /// Adds the kind of a value to those of its column.
    ///
    /// - Returns: True if the column was set to the text of a field.
    mutating func addKind(of message: ScalarMessage) throws(StreamError) -> Bool {
        let kinds = unsafe columns[column].kinds.union(ColumnKinds(message, isDateText: options.dateFormat == .text))
        guard newTable?.isOfFields ?? false, kinds.needText else {
            if kinds != columns[column].kinds { columns[column].kinds = kinds }
            return false
        }
        makeText(of: column)
        guard let text = unsafe message.fieldText else { return false }
        try text.withUTF8Span { (text) throws(StreamError) in try buffer.writeString(text) }
        column = -1
        return true
    }

    /// Makes the column one of text. ``createTable()`` makes text of the numbers and Booleans of earlier rows.
    private mutating func makeText(of index: Int) {
        let kinds = columns[index].kinds
        columns[index].kinds = .text
        if !kinds.isEmpty, kinds != .text { columns[index].formerKinds = kinds }
    }

    /// Makes text of the staged numbers and Booleans in columns that became columns of text after them.
    ///
    /// - Complexity: O(*n*) in the values of all rows.
    private func makeTexts() throws(SQLiteError) {
        let changed = columns.indices.filter { !columns[$0].formerKinds.isEmpty }
        let stage = target.qualifiedName
        // One parameter of the statement is the number of the row.
        let partCount = max(1, target.connection.limit(.parameterCount) - 1)
        for start in stride(from: 0, to: changed.count, by: partCount) {
            let part = changed[start..<min(start + partCount, changed.count)]
            let select = try target.connection.prepare(
                "SELECT rowid, \(part.map { "c\($0)" }.joined(separator: ", ")) FROM \(stage)")
            let update = try target.connection.prepare(
                "UPDATE \(stage) SET \(part.map { "c\($0) = ?" }.joined(separator: ", ")) WHERE rowid = ?")
            while try select.step() {
                var values: [(any SQLiteBindable)?] = []
                var isChanged = false
                for (position, index) in part.enumerated() {
                    let value = try select.value(at: position + 1)
                    let text: String? =
                        switch value {
                        case .integer(let integer) where columns[index].formerKinds == .bool: "\(integer != 0)"
                        case .integer(let integer): "\(integer)"
                        case .real(let real): real.description
                        default: nil
                        }
                    if text != nil { isChanged = true }
                    values.append(text ?? value)
                }
                if isChanged { try update.run(SQLiteParameters(values + [select.integer(at: 0)])) }
            }
        }
    }

    // MARK: The end

    /// Creates the table from the staged rows.
    mutating func createTable() throws(StreamError) {
        guard let table = newTable else { return }
        guard table.stagedColumnCount > 0 else {
            throw fail(
                StreamError(
                    .unrepresentable, "expected a dictionary with members, because a table needs columns; found none",
                    path: table.emptyRowCount > 0 ? StreamPath([.index(0)]) : nil))
        }
        let declarations = columns.map { SQLiteName.inQuotes($0.name) + $0.kinds.declaration }
        let name = "main.\(SQLiteName.inQuotes(table.name))"
        let cells = columns.indices.map { "c\($0)" }.joined(separator: ", ")
        do throws(SQLiteError) {
            try makeTexts()
            try target.connection.atomically { () throws(SQLiteError) in
                try target.connection.execute(
                    """
                    CREATE TABLE \(name) (\(declarations.joined(separator: ", ")));
                    INSERT INTO \(name) SELECT \(cells) FROM \(target.qualifiedName)
                    """)
            }
        } catch {
            // The temporary table is not the user's.
            throw fail(error.replacingSQL(by: nil))
        }
        dropStage()
        newTable?.completeReport = report
        failure = StreamError(.misuse, "the writer has finished its table")
    }

    /// Deletes the temporary tables. While a statement of the connection is in use, SQLite deletes no table, but its rows.
    private mutating func dropStage() {
        let (stage, connection) = (target.qualifiedName, target.connection)
        let stages = leftStages + [stage]
        var left: [String] = []
        for stage in stages {
            do throws(SQLiteError) {
                try connection.execute("DROP TABLE IF EXISTS \(stage)")
            } catch {
                left.append(stage)
            }
        }
        newTable?.stagedColumnCount = 0
        leftStages = left
        guard left.last == stage else { return }
        try? connection.execute("DELETE FROM \(stage)")
        target = InsertTarget(temporary: SQLiteName.random("stream_stage_"), connection)
    }

    /// Discards the staged rows and all columns.
    mutating func discardNewTable() {
        guard newTable != nil else { return }
        dropStage()
        guard let table = newTable else { return }
        newTable = NewTable(
            name: table.name, isOfFields: table.isOfFields, completeReport: table.completeReport)
        report = table.completeReport
        (columns, keys, isSeen, seenCount) = ([], KeySet(), [], 0)
        buffer = RowBuffer(columnCount: 0, dateFormat: buffer.dateFormat, byteLimit: buffer.byteLimit)
    }
}

/// The kinds of the values of a column.
struct ColumnKinds: OptionSet {
    let rawValue: UInt8
    static let bool = ColumnKinds(rawValue: 1)
    static let integer = ColumnKinds(rawValue: 2)
    static let real = ColumnKinds(rawValue: 4)
    static let text = ColumnKinds(rawValue: 8)
    static let blob = ColumnKinds(rawValue: 16)
    /// -0.0, which a column of reals would store as 0.0.
    static let negativeZero = ColumnKinds(rawValue: 32)

    init(rawValue: UInt8) { self.rawValue = rawValue }

    /// - Parameter isDateText: True if dates are stored as text.
    init(_ message: ScalarMessage, isDateText: Bool) {
        switch unsafe message {
        case .null: self = []
        case .bool: self = .bool
        case .integer: self = .integer
        // A field is stored as its text, any other such integer is refused.
        case .unsigned(let value): self = value > Int64.max ? [.integer, .text] : .integer
        case .real(let value): self = value == 0 && value.sign == .minus ? .negativeZero : .real
        case .number: self = .real
        case .string: self = .text
        case .data: self = .blob
        case .date: self = isDateText ? .text : .real
        }
    }

    /// A Boolean value that indicates whether no type has all of the values, but text has them if they are fields.
    var needText: Bool {
        let others = subtracting(contains(.text) ? .text : .bool)
        return !others.isEmpty && !isDisjoint(with: [.text, .bool])
    }

    /// The type that changes none of the values, with a space before it.
    var declaration: String {
        switch self {
        case .bool: " BOOLEAN"
        case .integer: " INTEGER"
        case .real: " REAL"
        case .text: " TEXT"
        case .blob: " BLOB"
        default: ""
        }
    }
}

extension ScalarMessage {
    /// The text of a number or Boolean that was read from a field.
    fileprivate var fieldText: String? {
        switch unsafe self {
        case .bool(let value): "\(value)"
        case .integer(let value): "\(value)"
        case .unsigned(let value): "\(value)"
        case .real(let value): value.description
        default: nil
        }
    }
}
