// Queries that are likely to read whole tables, run through `RowFunction`. All others, and those that cannot be run so, are
// stepped row by row, with equal results and errors.

import CSystemSQLite
import PlistBuilding
import PlistStreaming

/// A query whose rows SQLite hands over to a function.
@usableFromInline @safe
final class RowScan {
    @usableFromInline let cursor: RowCursor
    /// Calls the function with all rows.
    private let caller: SQLiteStatement
    private let function: RowFunction
    private let columns: RowColumns
    /// The statement that gives the rows when it is stepped.
    private let plain: () throws(SQLiteError) -> SQLiteStatement
    /// Whether names and types of columns may change with the schema.
    private let isChecked: Bool

    /// Prepares to read the rows of a statement by the function; nil when it is to be stepped.
    ///
    /// - Parameter parameters: What is bound to the statement.
    @usableFromInline
    init?(_ statement: SQLiteStatement, _ parameters: SQLiteParameters, _ options: SQLiteReadingOptions) {
        guard Self.isWholeScan(statement.sql), statement.isReadOnly else { return nil }
        let connection = statement.connection
        let columns = RowColumns(statement)
        guard Self.isPossible(columns.names.count, connection) else { return nil }
        do {
            let function = try connection.makeRowFunction()
            let names = columns.names.indices.map { "c\($0)" }.joined(separator: ", ")
            // Its names are those of the function, which nothing else has. The end of the line ends a comment.
            caller = try connection.cachedStatement(
                "WITH \(function.name) (\(names)) AS (\(statement.sql)\n) SELECT \(function.name)(\(names)) FROM "
                    + function.name)
            try caller.bind(parameters)
            cursor = try RowCursor(statement, options)
            self.function = function
        } catch {
            return nil
        }
        self.columns = columns
        plain = { () throws(SQLiteError) in statement }
        isChecked = true
        guard begin() else { return nil }
    }

    /// Prepares to read the columns of a table.
    ///
    /// - Parameters:
    ///   - source: What follows the columns in the query, without an order.
    ///   - plain: Makes the query as a statement that is stepped.
    init?(
        _ connection: SQLiteConnection, _ columnNames: [String], _ source: String, _ parameters: SQLiteParameters,
        _ options: SQLiteReadingOptions, plain: @escaping () throws(SQLiteError) -> SQLiteStatement
    ) {
        guard Self.isPossible(columnNames.count, connection),
            columnNames.allSatisfy({ options.mappings[$0] != nil })
        else { return nil }
        do {
            let function = try connection.makeRowFunction()
            caller = try connection.cachedStatement(
                "SELECT \(function.name)(\(SQLiteName.list(columnNames)))\(source)")
            try caller.bind(parameters)
            cursor = try RowCursor(caller, options)
            self.function = function
        } catch {
            return nil
        }
        columns = RowColumns(names: columnNames)
        self.plain = plain
        isChecked = false
        guard begin() else { return nil }
    }

    /// Prepares for the columns, which is repeated with the first row when the statement is stepped.
    private func begin() -> Bool {
        do throws(StreamError) {
            try cursor.makeColumns(columns)
            return true
        } catch {
            cursor.end()
            return false
        }
    }

    private static func isPossible(_ columnCount: Int, _ connection: SQLiteConnection) -> Bool {
        columnCount > 0 && columnCount <= connection.limit(.functionArgumentCount)
    }

    // MARK: Running

    /// Calls a closure with the cursor on each row.
    ///
    /// - Returns: Whether the rows were read; if not, none was handed over, and the statement is to be stepped.
    /// - Throws: What SQLite and the closure throw.
    @usableFromInline
    func run(_ body: () throws(StreamError) -> Void) throws(StreamError) -> Bool { try run(nil, body) }

    /// Stores all rows.
    ///
    /// - Returns: As `run`.
    @usableFromInline
    func fill(_ filler: RowFiller) throws(StreamError) -> Bool { try run(filler) {} }

    private func run(_ filler: RowFiller?, _ body: () throws(StreamError) -> Void) throws(StreamError) -> Bool {
        defer {
            cursor.end()
            caller.reset()
        }
        var (code, isOutdated) = (SQLITE_OK, false)
        var thrown: StreamError?
        withoutActuallyEscaping(body) { body in
            let taker = RowTaker(
                cursor, columnCount: columns.names.count, isCurrent: { self.isCurrent() }, filler: filler, body)
            code = function.run(caller, taker)
            (thrown, isOutdated) = (taker.error, taker.isOutdated)
        }
        if let thrown { throw thrown }
        if code == SQLITE_ROW || code == SQLITE_DONE { return true }
        // What is wrong with the statement itself is said of the statement, not of the one around it.
        let isBeforeRows = unsafe cursor.state.pointee.row < 0
        if isOutdated || isBeforeRows && (code & 0xFF == SQLITE_ERROR || code & 0xFF == SQLITE_SCHEMA) { return false }
        let error = caller.makeError(code)
        let sql = (try? plain())?.shownSQL
        throw SQLiteError(error.extendedCode, error.message, sql: sql).streamError(.cannotRead)
    }

    /// Whether the columns are still those that were prepared for, in the schema that the rows are read with.
    private func isCurrent() -> Bool {
        guard isChecked else { return true }
        guard let statement = try? cursor.statement.connection.prepare(cursor.statement.sql) else { return false }
        return RowColumns(statement) == columns
    }

    // PERF: SQLite/reading; inlinable, so that it specialises for sinks of other modules.
    /// Sends the rows as an array of dictionaries.
    ///
    /// - Returns: Whether they were sent; if not, nothing was.
    @inlinable
    func send<Sink: PlistSink & ~Copyable>(to sink: inout Sink) throws(StreamError) -> Bool {
        var isBegun = false
        let isSent = try run { () throws(StreamError) in
            if !isBegun {
                isBegun = true
                try sink.beginArray()
            }
            try cursor.sendRow(to: &sink)
        }
        guard isSent else { return false }
        if !isBegun { try sink.beginArray() }
        try sink.endArray()
        return true
    }

    // MARK: Which queries

    /// Words with which a query has an order of its own, or likely few rows, which are not worth a second statement.
    private static let excludedWords: Set<String> = [
        "WHERE", "ORDER", "LIMIT", "GROUP", "HAVING", "DISTINCT", "UNION", "INTERSECT", "EXCEPT", "VALUES", "WINDOW",
        "OVER", "WITH", "COUNT", "SUM", "TOTAL", "AVG", "MIN", "MAX",
    ]

    /// Whether a query reads a whole table, or several, and in no order that must be kept.
    ///
    /// The words may as well be within strings or names: then the statement is stepped without need.
    static func isWholeScan(_ sql: String) -> Bool {
        var word: [UInt8] = []
        var (isFirst, hasFrom) = (true, false)
        func end() -> Bool {
            guard !word.isEmpty else { return true }
            let text = String(decoding: word, as: UTF8.self)
            word.removeAll(keepingCapacity: true)
            if text == "FROM" { hasFrom = true }
            if isFirst && text != "SELECT" { return false }
            isFirst = false
            return !excludedWords.contains(text)
        }
        guard sql.utf8.count <= 4_096 else { return false }
        for byte in sql.utf8 {
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): word.append(byte)
            case UInt8(ascii: "a")...UInt8(ascii: "z"): word.append(byte - 32)
            case UInt8(ascii: ";"), 0: return false
            default: if !end() { return false }
            }
        }
        return end() && hasFrom
    }
}

extension SQLiteConnection {
    /// The function that takes rows.
    func makeRowFunction() throws(SQLiteError) -> RowFunction {
        if let rowFunction { return rowFunction }
        let made = try RowFunction(self)
        rowFunction = made
        return made
    }
}
