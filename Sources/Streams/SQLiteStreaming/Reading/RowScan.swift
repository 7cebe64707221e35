// Queries that probably read whole tables, run with `RowFunction`. All other queries are stepped row by row, with equal
// results and errors.

import CSystemSQLite
import PlistBuilding
import PlistStreaming

/// A query whose rows SQLite passes to a function.
@usableFromInline @safe
final class RowScan {
    @usableFromInline let cursor: RowCursor
    /// The statement that calls the function with all rows.
    private let caller: SQLiteStatement
    private let function: RowFunction
    private let columns: RowColumns
    /// The statement that returns the rows when it is stepped.
    private let plain: () throws(SQLiteError) -> SQLiteStatement
    /// A Boolean value that indicates whether names and types of columns may change with the schema.
    private let isChecked: Bool
    /// The closure that is called with each row while the query runs, and the error it threw.
    private var body: (() throws(StreamError) -> Void)?
    private var failure: StreamError?

    /// Prepares to read the rows of a statement with the function. Returns nil if the statement has to be stepped.
    ///
    /// - Parameter parameters: The values bound to the statement.
    @usableFromInline
    init?(_ statement: SQLiteStatement, _ parameters: SQLiteParameters, _ options: SQLiteReadingOptions) {
        let connection = statement.connection
        guard connection.scans.accepts(statement.sql), statement.isReadOnly else { return nil }
        let columns = RowColumns(statement)
        guard Self.isPossible(columns.names.count, connection) else { return nil }
        do {
            let function = try connection.scans.function(of: connection)
            let names = columns.names.indices.map { "c\($0)" }.joined(separator: ", ")
            // The table expression has the function's name, which nothing else has. The line break ends a comment.
            caller = try connection.cachedStatement(
                "WITH \(function.name) (\(names)) AS (\(statement.sql)\n) SELECT \(function.name)(\(names)) FROM "
                    + function.name)
            try caller.bind(parameters)
            cursor = try RowCursor(statement, options)
            self.function = function
        } catch {
            connection.scans.refuse(statement.sql)
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
    ///   - source: The part of the query after the columns, without an order.
    ///   - plain: Makes the query as a statement that is stepped.
    init?(
        _ connection: SQLiteConnection, _ columnNames: [String], _ source: String, _ parameters: SQLiteParameters,
        _ options: SQLiteReadingOptions, plain: @escaping () throws(SQLiteError) -> SQLiteStatement
    ) {
        guard Self.isPossible(columnNames.count, connection),
            columnNames.allSatisfy({ options.mappings[$0] != nil })
        else { return nil }
        do {
            let function = try connection.scans.function(of: connection)
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

    /// Prepares the columns. If the statement is stepped, this is repeated with the first row.
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
    /// - Returns: A Boolean value that indicates whether the rows were read. If it is false, the closure wasn't called, and
    ///   the statement has to be stepped.
    /// - Throws: The errors of SQLite and of the closure.
    @usableFromInline
    func run(_ body: () throws(StreamError) -> Void) throws(StreamError) -> Bool {
        defer {
            cursor.end()
            caller.reset()
        }
        let code = withoutActuallyEscaping(body) { body in
            self.body = body
            defer { self.body = nil }
            return function.run(caller, self)
        }
        if let failure { throw failure }
        if code == SQLITE_ROW || code == SQLITE_DONE {
            if isChecked {
                cursor.statement.connection.scans.note(unsafe cursor.state.pointee.row + 1, of: cursor.statement.sql)
            }
            return true
        }
        // An error in the statement itself is reported by stepping it, not for the enclosing statement.
        let isBeforeRows = unsafe cursor.state.pointee.row < 0
        if isBeforeRows && (code & 0xFF == SQLITE_ERROR || code & 0xFF == SQLITE_SCHEMA) { return false }
        let error = caller.makeError(code)
        throw error.replacingSQL(by: (try? plain())?.shownSQL).streamError(.cannotRead)
    }

    /// Receives a row whose cells SQLite passes. Returns whether more rows may follow.
    @inline(__always)  // PERF: SQLite/reading; once a row.
    func receive(_ values: UnsafeMutablePointer<OpaquePointer?>, _ count: Int32) -> Bool {
        // Before the first row, so that the statement is stepped instead.
        if unsafe cursor.state.pointee.row < 0 && !isCurrent() { return false }
        guard unsafe Int(count) == cursor.state.pointee.columnCount else { return false }
        unsafe cursor.take(values)
        // PERF: SQLite/reading; calling the closure takes 100 instructions per row, and isn't needed for record buffers.
        if unsafe cursor.state.pointee.hasRecordBuffer, cursor.fillRow() { return true }
        do throws(StreamError) {
            try body?()
            return true
        } catch {
            failure = error
            return false
        }
    }

    /// Returns whether the schema that the rows are read with still gives the prepared columns.
    private func isCurrent() -> Bool {
        guard isChecked else { return true }
        guard let statement = try? cursor.statement.connection.prepare(cursor.statement.sql) else { return false }
        return RowColumns(statement) == columns
    }

    // PERF: SQLite/reading; inlinable, so that it is specialized for sinks of other modules.
    /// Sends the rows as an array of dictionaries.
    ///
    /// - Returns: A Boolean value that indicates whether they were sent. If it is false, nothing was sent.
    @inlinable
    func send<Sink: PlistSink & ~Copyable>(to sink: inout Sink) throws(StreamError) -> Bool {
        var isBegun = false
        do throws(StreamError) {
            let isSent = try run { () throws(StreamError) in
                if !isBegun {
                    isBegun = true
                    try sink.expectColumns(cursor.keys)
                    try sink.beginArray()
                }
                try cursor.sendRow(to: &sink)
            }
            guard isSent else { return false }
            if !isBegun {
                try sink.expectColumns(cursor.keys)
                try sink.beginArray()
            }
            try cursor.endRecordBuffer(of: &sink)
            try sink.endArray()
            return true
        } catch {
            try? cursor.endRecordBuffer(of: &sink)
            sink.cancel(with: error)
            throw error
        }
    }
}
