// Rows in: a sink that puts the dictionaries it gets into a table, all or none of them.

import CSystemSQLite
import PlistBuilding
import PlistStreaming
import StringTables

/// A sink that inserts dictionaries as rows of a table: of a JSON reader, of a query of another database, of objects.
///
/// ```swift
/// var writer = try SQLiteTableWriter(connection, table: "tasks")
/// try writer.readJSON(contentsOfFile: "tasks.json")      // [{"id": 1, "title": "Paint"}, …]
/// try writer.finish()
/// ```
///
/// The outermost array is one transaction, or a savepoint when one is open; arrays in it are savepoints, empty ones cost
/// nothing. Rows outside any array are one transaction each. Any error undoes the whole outermost array, and so does
/// giving up the writer within one, for instance after an error of the reader. Arrays complete before stay.
///
/// Keys are columns, found once by their bytes, so that also ASCII case counts. A column whose key does not come gets its default. Of a key that comes
/// twice the last value counts.
public struct SQLiteTableWriter: PlistSink, ~Copyable {
    /// A column that rows have.
    struct Column {
        let name: String
        /// Whether the default is another value than null, so that a missing key is not the same as null.
        let hasDefault: Bool
        /// What messages must bring; nil for anything.
        let kind: MemberColumn.Kind?
        /// Whether the plan of the member checks the value.
        let isChecked: Bool
    }

    let connection: SQLiteConnection
    private let table: String
    private let columns: [Column]
    private let keys: KeySet
    private let options: SQLiteTableOptions
    private let members: MemberColumns?
    private let inserter: RowInserter
    /// The inserters for rows without the columns of a mask.
    private var partialInserters: [[Bool]: RowInserter] = [:]
    private var buffer: RowBuffer
    /// The values of columns whose key does not come; of a bound type.
    private var defaults: RowBuffer?

    /// The open arrays, from the outermost in.
    private var arrays: [OpenArray] = []
    /// Whether a dictionary is open that is a row.
    private var isInRow = false
    /// The column of the value to come: -1 before a key, -2 for one that is ignored.
    private var column = -1
    private var expectedColumn = 0
    /// The number of open containers of an ignored value.
    private var skippedDepth = 0
    /// Which columns of the row have come, and how many.
    private var isSeen: [Bool]
    private var seenCount = 0
    /// Elements at the root, for paths.
    private var rootIndex = 0
    private var failure: StreamError?
    /// How many rows came and were changed, and the way that was taken.
    public private(set) var report: SQLiteInsertReport = SQLiteInsertReport()
    private var changesAtStart: Int

    private struct OpenArray {
        enum Scope {
            /// Nothing was begun yet, since no row came.
            case none
            case transaction
            case savepoint(SQLiteConnection.Savepoint)
        }

        var scope = Scope.none
        /// The index of the element to come.
        var index = 0
    }

    /// Makes a writer for a table that is there, with the columns that it has.
    ///
    /// - Throws: `error` when there is no such table.
    public init(
        _ connection: SQLiteConnection, table: String, options: SQLiteTableOptions = SQLiteTableOptions()
    ) throws(SQLiteError) {
        let columns = try connection.columns(ofTable: table).filter { !$0.isGenerated }
        guard !columns.isEmpty else { throw SQLiteError(.error, "no such table: \(table)") }
        try self.init(
            connection, table: table, members: nil, options: options,
            columns: columns.map { column in
                Column(name: column.name, hasDefault: column.defaultExpression != nil, kind: nil, isChecked: false)
            })
    }

    init(
        _ connection: SQLiteConnection, table: String, members: MemberColumns?, options: SQLiteTableOptions,
        columns: [Column]
    ) throws(SQLiteError) {
        self.connection = connection
        self.table = table
        self.columns = columns
        self.members = members
        self.options = options
        var keys = KeySet()
        for column in columns { keys.insert(column.name) }
        self.keys = keys
        inserter = try RowInserter(
            connection, table: table, columns: columns.map(\.name), conflict: options.conflict,
            dateFormat: options.dateFormat)
        buffer = RowBuffer(
            columnCount: columns.count, dateFormat: options.dateFormat, byteLimit: connection.limit(.length))
        isSeen = Array(repeating: false, count: columns.count)
        changesAtStart = connection.totalChangeCount
    }

    deinit {
        // What is not complete is undone: also when a reader stopped with an error of which this sink knows nothing.
        Self.undo(arrays, connection)
    }

    /// Sets the values of columns whose key does not come.
    mutating func setDefaults(_ defaults: consuming RowBuffer) { self.defaults = .some(defaults) }

    // MARK: Ends

    /// Says that no more messages come.
    ///
    /// - Throws: `unexpectedEnd` within an array or a row, all of which is undone then.
    public mutating func finish() throws(StreamError) {
        if let failure { throw failure }
        guard arrays.isEmpty, !isInRow else {
            throw fail(StreamError(.unexpectedEnd, "the rows are not complete"))
        }
    }

    /// Gives up the open arrays and undoes what they inserted; the next message begins a new stream.
    public mutating func rollBack() {
        Self.undo(arrays, connection)
        arrays = []
        buffer.removeAll()
        isInRow = false
        (column, skippedDepth, rootIndex) = (-1, 0, 0)
        failure = nil
    }

    private static func undo(_ arrays: [OpenArray], _ connection: SQLiteConnection) {
        for array in arrays.reversed() {
            switch array.scope {
            case .none: break
            case .savepoint(let savepoint): savepoint.rollBack()
            case .transaction: connection.rollBackIfOpen()
            }
        }
    }

    /// Undoes everything and remembers why.
    @inline(never)
    private mutating func fail(_ error: StreamError) -> StreamError {
        if let failure { return failure }
        let located = error.located(at: path)
        rollBack()
        failure = located
        return located
    }

    @inline(never)
    private mutating func fail(_ error: SQLiteError) -> StreamError { fail(error.streamError(.cannotWrite)) }

    /// The path of the value to come.
    private var path: StreamPath {
        var steps: [StreamPath.Step] = arrays.map { .index($0.index) }
        if isInRow, column >= 0 { steps.append(.key(columns[column].name)) }
        return StreamPath(steps)
    }

    // MARK: Containers

    /// Begins a transaction, or a savepoint in one, with the first row that comes.
    public mutating func beginArray() throws(StreamError) {
        if isInRow { return try beginInRow("an array") }
        if let failure { throw failure }
        try flush()
        arrays.append(OpenArray())
    }

    /// Ends what the array began, and so keeps its rows.
    public mutating func endArray() throws(StreamError) {
        if isInRow { return try endInRow() }
        if let failure { throw failure }
        try flush()
        guard let array = arrays.last else { throw fail(StreamError(.misuse, "got endArray without an open array")) }
        do throws(SQLiteError) {
            switch array.scope {
            case .none: break
            case .savepoint(let savepoint): try savepoint.release()
            case .transaction: try connection.commit()
            }
        } catch {
            throw fail(error)
        }
        arrays.removeLast()
        countElement()
    }

    /// Begins a row.
    public mutating func beginDictionary() throws(StreamError) {
        if isInRow { return try beginInRow("a dictionary") }
        if let failure { throw failure }
        buffer.beginRow()
        isInRow = true
        column = -1
        expectedColumn = 0
        if seenCount > 0 {
            for index in isSeen.indices { isSeen[index] = false }
            seenCount = 0
        }
    }

    /// Completes a row, which is in the table when as many have come as are put into it at a time.
    public mutating func endDictionary() throws(StreamError) {
        if skippedDepth > 0 || !isInRow { return try endInRow() }
        if seenCount < columns.count, try completeRow() {
            isInRow = false
            return countElement()
        }
        isInRow = false
        buffer.endRow()
        countElement()
        if arrays.isEmpty || buffer.rowCount >= options.batchRowCount || buffer.byteCount >= options.batchByteCount {
            try flush()
        }
    }

    private mutating func countElement() {
        if arrays.isEmpty { rootIndex += 1 } else { arrays[arrays.count - 1].index &+= 1 }
    }

    /// Opens a container in a row: only one that is ignored may be there.
    private mutating func beginInRow(_ found: String) throws(StreamError) {
        if let failure { throw failure }
        guard skippedDepth > 0 || column == -2 else { throw fail(RowBuffer.refusal(found)) }
        skippedDepth += 1
    }

    private mutating func endInRow() throws(StreamError) {
        if let failure { throw failure }
        guard skippedDepth > 0 else {
            throw fail(StreamError(.misuse, "got the end of a container that is not open"))
        }
        skippedDepth -= 1
        if skippedDepth == 0 { column = -1 }
    }

    /// Gives the columns whose key did not come their defaults.
    ///
    /// - Returns: Whether the row was inserted by itself, because a default is known to SQLite only.
    private mutating func completeRow() throws(StreamError) -> Bool {
        var needsOwnInsert = false
        for index in columns.indices where !isSeen[index] {
            if defaults != nil {
                copyDefault(index)
            } else if columns[index].hasDefault {
                needsOwnInsert = true
            }
        }
        guard needsOwnInsert else { return false }
        let mask = columns.indices.map { isSeen[$0] || !columns[$0].hasDefault }
        try begin()
        do throws(SQLiteError) {
            try insertBuffered()
            let partial = try partialInserter(mask)
            do throws(RowInserter.Failure) {
                try partial.insertLast(of: buffer)
            } catch {
                throw error.error
            }
        } catch {
            throw fail(error)
        }
        report.path = .bindAndStep
        countRows(1)
        buffer.removeAll()
        return true
    }

    private mutating func copyDefault(_ index: Int) {
        guard let template = defaults.take() else { return }
        buffer.copyCell(index, from: template)
        defaults = .some(consume template)
    }

    private mutating func partialInserter(_ mask: [Bool]) throws(SQLiteError) -> RowInserter {
        if let inserter = partialInserters[mask] { return inserter }
        let indices = columns.indices.filter { mask[$0] }
        let inserter = try RowInserter(
            connection, table: table, columns: indices.map { columns[$0].name }, conflict: options.conflict,
            dateFormat: options.dateFormat, cells: indices)
        partialInserters[mask] = inserter
        return inserter
    }

    // MARK: Putting rows into the table

    /// Begins the transaction and savepoints of the open arrays, if that was not done.
    private mutating func begin() throws(StreamError) {
        do throws(SQLiteError) {
            for level in arrays.indices {
                guard case .none = arrays[level].scope else { continue }
                if connection.isInTransaction {
                    arrays[level].scope = .savepoint(try connection.beginSavepoint())
                } else {
                    try connection.begin(.immediate)
                    arrays[level].scope = .transaction
                }
            }
        } catch {
            throw fail(error)
        }
    }

    /// Puts the rows that are held into the table.
    private mutating func flush() throws(StreamError) {
        guard buffer.rowCount > 0 else { return }
        try begin()
        do throws(SQLiteError) { try insertBuffered() } catch { throw fail(error) }
        buffer.removeAll()
    }

    /// Inserts the complete rows of the buffer.
    private mutating func insertBuffered() throws(SQLiteError) {
        let count = buffer.rowCount
        guard count > 0 else { return }
        do throws(RowInserter.Failure) {
            try inserter.insert(buffer, by: options.insertPath)
        } catch {
            // The path of the row that failed.
            if !arrays.isEmpty { arrays[arrays.count - 1].index += error.row - count }
            (isInRow, column) = (error.column != nil, error.column ?? -1)
            throw error.error
        }
        report.path = inserter.path
        countRows(count)
    }

    private mutating func countRows(_ count: Int) {
        report.rowCount += count
        report.changedRowCount = connection.totalChangeCount - changesAtStart
    }

    // MARK: Values

    /// Finds the column of a key.
    public mutating func writeKey(_ utf8: RawSpan) throws(StreamError) {
        guard isInRow, failure == nil else { throw misplaced("a key") }
        if skippedDepth > 0 { return }
        // PERF: SQLite/messages; keys mostly come in the order of the columns, or of the row before.
        if expectedColumn < columns.count, keys.isKey(at: expectedColumn, equalTo: utf8) {
            column = expectedColumn
        } else if let index = keys.index(of: utf8) {
            column = index
        } else {
            guard options.unknownMembers == .ignore else {
                column = -1
                let name = String(validating: utf8).map { $0.utf8.count <= 64 ? " \($0.debugDescription)" : "" } ?? ""
                throw fail(StreamError(.unknownMember, "the table \(table) has no column\(name)"))
            }
            column = -2
            return
        }
        expectedColumn = column &+ 1
        if !isSeen[column] {
            isSeen[column] = true
            seenCount &+= 1
        }
        buffer.column = column
    }

    private mutating func misplaced(_ found: String) -> StreamError {
        fail(StreamError(.typeMismatch, "expected a dictionary of columns, found \(found)"))
    }

    /// Prepares the column for a value; false when the value is ignored.
    @inline(__always)  // PERF: SQLite/messages; once a value.
    private mutating func open(_ found: @autoclosure () -> String) throws(StreamError) -> Bool {
        if column >= 0 { return true }
        if skippedDepth > 0 { return false }
        if column == -2 {
            column = -1
            return false
        }
        throw misplaced(found())
    }

    /// Has the plan of the member check a value that its type may not hold.
    ///
    /// - Returns: Whether the column is set already: to the date or data that the member makes of a text or number.
    private mutating func check(_ message: ScalarMessage) throws(StreamError) -> Bool {
        guard let kind = columns[column].kind, let members else { return false }
        do throws(StreamError) {
            guard kind == .date || kind == .data else {
                try unsafe members.check(message, column)
                return false
            }
            try unsafe members.send(message, readBy: column, to: &buffer)
        } catch {
            throw fail(error)
        }
        column = -1
        return true
    }

    /// Sets the column to null.
    public mutating func writeNull() throws(StreamError) {
        guard try open("null") else { return }
        if try unsafe check(.null) { return }
        try buffer.writeNull()
        column = -1
    }

    /// Sets the column to 1 or 0.
    public mutating func writeBool(_ value: Bool) throws(StreamError) {
        guard try open("\(value)") else { return }
        if columns[column].kind != .bool, try unsafe check(.bool(value)) { return }
        try buffer.writeBool(value)
        column = -1
    }

    /// Sets the column to an integer.
    public mutating func writeInteger(_ value: Int64) throws(StreamError) {
        guard try open("integer \(value)") else { return }
        if columns[column].kind != .integer || columns[column].isChecked, try unsafe check(.integer(value)) { return }
        try buffer.writeInteger(value)
        column = -1
    }

    /// Sets the column to an integer, which must be below 2^63.
    public mutating func writeUnsigned(_ value: UInt64) throws(StreamError) {
        guard try open("integer \(value)") else { return }
        if try unsafe check(.unsigned(value)) { return }
        do throws(StreamError) { try buffer.writeUnsigned(value) } catch { throw fail(error) }
        column = -1
    }

    /// Sets the column to a real; to an integer where the member is one and the real has no fraction.
    public mutating func writeReal(_ value: Double) throws(StreamError) {
        guard try open("real \(value)") else { return }
        if columns[column].kind != .real || columns[column].isChecked, try unsafe check(.real(value)) { return }
        do throws(StreamError) {
            if columns[column].kind == .integer, let integer = Int64(exactly: value) {
                try buffer.writeInteger(integer)
            } else {
                try buffer.writeReal(value)
            }
        } catch {
            throw fail(error)
        }
        column = -1
    }

    /// Refuses a number that SQLite cannot hold.
    public mutating func writeNumber(text: RawSpan) throws(StreamError) {
        guard try open("a number") else { return }
        do throws(StreamError) { try buffer.writeNumber(text: text) } catch { throw fail(error) }
    }

    /// Sets the column to a text, in which there must be no NUL.
    public mutating func writeString(_ utf8: RawSpan) throws(StreamError) {
        guard try open("a string") else { return }
        do throws(StreamError) {
            if let kind = columns[column].kind, kind != .string || columns[column].isChecked,
                try unsafe utf8.withUnsafeBytes({ (bytes) throws(StreamError) in try unsafe check(.string(bytes)) })
            {
                return
            }
            try buffer.writeString(utf8)
        } catch {
            throw fail(error)
        }
        column = -1
    }

    /// Sets the column to a blob.
    public mutating func writeData(_ bytes: RawSpan) throws(StreamError) {
        guard try open("data") else { return }
        do throws(StreamError) {
            if let kind = columns[column].kind, kind != .data,
                try unsafe bytes.withUnsafeBytes({ (bytes) throws(StreamError) in try unsafe check(.data(bytes)) })
            {
                return
            }
            try buffer.writeData(bytes)
        } catch {
            throw fail(error)
        }
        column = -1
    }

    /// Sets the column to a date, in the format of the options.
    public mutating func writeDate(secondsSince2001 seconds: Double) throws(StreamError) {
        guard try open("a date") else { return }
        if try unsafe check(.date(seconds)) { return }
        do throws(StreamError) { try buffer.writeDate(secondsSince2001: seconds) } catch { throw fail(error) }
        column = -1
    }
}
