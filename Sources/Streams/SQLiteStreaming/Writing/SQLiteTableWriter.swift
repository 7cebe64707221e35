// A sink that inserts the dictionaries it receives into a table, all or none of them. Keys and values are in `+Values`.

import PlistBuilding
import PlistStreaming
import StringTables

/// A sink that inserts dictionaries as rows of a table. They can come from a JSON reader, a query of another database, or
/// objects.
///
/// ```swift
/// var writer = try SQLiteTableWriter(connection, table: "tasks")
/// try writer.readJSON(.file("tasks.json"))      // [{"id": 1, "title": "Paint"}, …]
/// try writer.finish()
/// ```
///
/// The outermost array is one transaction, or a savepoint if a transaction is open. Arrays in it are savepoints, and empty
/// arrays have no cost. Each row outside of any array is a transaction of its own. Any error undoes the whole outermost array
/// at once, including an error of the reader, and so does releasing the writer within an array. Arrays that were complete
/// before are kept. If they are in a transaction of other code that is rolled back, the next row and ``finish()`` throw
/// `abort`. After an error, every message and ``finish()`` throw it again, until ``rollBack()`` lets the writer begin
/// a new stream. If writers of one connection take turns, an array that begins within an array of another writer must end
/// before that one: otherwise both are undone.
///
/// Keys are the names of columns, compared by bytes, so they are case-sensitive. A column without a key gets its default. If
/// a key occurs twice, the last value is used. A value that the type of its column would change is rejected, for example the text
/// `007` in a column of integers; see ``SQLiteColumn/Affinity``.
public struct SQLiteTableWriter: ScalarSink, ~Copyable {
    /// A column of the rows.
    struct Column {
        let name: String
        /// A Boolean value that indicates whether the default is a value other than null, so that a missing key differs from
        /// null.
        let hasDefault: Bool
        /// The kind of values that messages must have, or nil for any kind.
        let kind: MemberColumn.Kind?
        /// The kind of values that are stored without a check by the plan of the member.
        let direct: DirectKind
        /// A Boolean value that indicates whether the member may have a value that differs from the message.
        var isConverted = false
        /// The conversion of values of any type in the column, or `blob` if members decide.
        let affinity: SQLiteColumn.Affinity
        let declaredType: String
        /// The kinds of the values, of a table that is created when all rows have come.
        var kinds: ColumnKinds = []
        /// The kinds of the values that are stored as numbers, although the column became one of text after them.
        var formerKinds: ColumnKinds = []
    }

    /// The table that the rows are inserted into.
    var target: InsertTarget
    var table: String { target.name }
    var columns: [Column]
    var keys: KeySet
    let options: SQLiteTableOptions
    let members: MemberColumns?
    var inserter: RowInserter
    /// The inserters for rows without the columns of a mask.
    private var partialInserters: [[Bool]: RowInserter] = [:]
    var buffer: RowBuffer
    /// The values for columns without a key, for a bound type.
    private var defaults: RowBuffer?

    /// The table that is created when all rows have come; nil for one that exists.
    var newTable: NewTable?
    /// Temporary tables that a statement in use keeps from being deleted. They have no rows.
    var leftStages: [String] = []

    /// The open arrays, with their transactions.
    var arrays: ArrayTransactions
    /// A Boolean value that indicates whether a dictionary is open that is a row.
    var isInRow = false
    /// The column of the value to come: -1 before a key, -2 for one that is ignored.
    package internal(set) var column = -1
    var expectedColumn = 0
    /// The number of open containers of an ignored value.
    var skippedDepth = 0
    /// The columns of the row that have a value, and their number.
    var isSeen: [Bool]
    var seenCount = 0
    /// The number of elements at the root, for paths.
    private var rootIndex = 0
    var failure: StreamError?
    /// The numbers of received and changed rows, excluding those that were undone, and the insertion path.
    public internal(set) var report: InsertResult = InsertResult()
    /// The report before the outermost open array, which is undone as a whole.
    private var reportBefore = InsertResult()
    /// The report before the open transaction of other code.
    private var reportBeforeTransaction = InsertResult()
    /// The values that are read back, row by row.
    var ids: [Int64?] { inserter.ids }

    /// Makes a writer for an existing table, with all its columns.
    ///
    /// - Throws: `error` if the table doesn't exist.
    public init(
        _ connection: SQLiteConnection, table: String, options: SQLiteTableOptions = SQLiteTableOptions()
    ) throws(SQLiteError) {
        guard let target = try InsertTarget(connection, table) else {
            throw SQLiteError(.error, "no such table: \(table)")
        }
        // Triggers of views and the modules of virtual tables get the values unchanged.
        try self.init(
            target, members: nil, options: options,
            columns: target.columns.filter { !$0.isGenerated }.map { column in
                Column(
                    name: column.name, hasDefault: column.defaultExpression != nil, kind: nil, direct: .none,
                    affinity: target.isOrdinary ? column.affinity : .blob, declaredType: column.declaredType)
            })
    }

    /// - Parameter idColumn: The column whose values are read back.
    init(
        _ target: InsertTarget, members: MemberColumns?, options: SQLiteTableOptions, idColumn: String? = nil,
        columns: [Column]
    ) throws(SQLiteError) {
        self.target = target
        arrays = ArrayTransactions(target.connection)
        self.columns = columns
        self.members = members
        self.options = options
        var keys = KeySet()
        for column in columns { keys.insert(column.name) }
        self.keys = keys
        inserter = try RowInserter(
            target, columns: columns.map(\.name), conflict: options.conflict, idColumn: idColumn)
        buffer = RowBuffer(
            columnCount: columns.count, dateFormat: options.dateFormat, byteLimit: target.connection.limit(.length))
        isSeen = Array(repeating: false, count: columns.count)
    }

    deinit {
        // Incomplete arrays are undone, even if a sender stopped with an error that this sink doesn't know about.
        arrays.undo()
        if let newTable {
            let stages = leftStages + (newTable.stagedColumnCount > 0 ? [target.qualifiedName] : [])
            for stage in stages { try? target.connection.execute("DROP TABLE IF EXISTS \(stage)") }
        }
    }

    /// Sets the values for columns without a key.
    mutating func setDefaults(_ defaults: consuming RowBuffer) { self.defaults = .some(defaults) }

    // MARK: Ends

    /// Says that no more messages come, and creates the table if the writer has new columns.
    ///
    /// - Throws: `unexpectedEnd` within an array or a row, all of which is undone then; errors of creating the table.
    public mutating func finish() throws(StreamError) {
        if let failure { throw failure }
        guard arrays.isEmpty, !isInRow else {
            throw fail(StreamError(.unexpectedEnd, "the stream ended within a row or an array"))
        }
        do throws(SQLiteError) { try arrays.surrounding.check() } catch { throw fail(error) }
        try createTable()
    }

    /// Undoes the rows of the open arrays. The next message begins a new stream.
    public mutating func rollBack() {
        arrays.undo()
        let isUndone = arrays.surrounding.isRolledBack
        if isUndone || !arrays.isEmpty {
            let before = isUndone ? reportBeforeTransaction : reportBefore
            (report.rowCount, report.changedRowCount) = (before.rowCount, before.changedRowCount)
        }
        arrays.removeAll()
        buffer.removeAll()
        discardNewTable()
        isInRow = false
        (column, skippedDepth, rootIndex) = (-1, 0, 0)
        failure = nil
    }

    /// Undoes the rows of the open arrays because the sender has ended the stream with an error. Until ``rollBack()``, every
    /// message throws this error. If the writer already has an error of its own, that one is kept.
    public mutating func cancel(with error: StreamError) {
        guard failure == nil else { return }
        _ = end(with: error)
    }

    /// Undoes all open arrays and records the error. If a buffered row before the value is rejected, its error is recorded
    /// instead.
    @inline(never)
    mutating func fail(_ error: StreamError) -> StreamError {
        if let failure { return failure }
        let located = error.located(at: path)
        do throws(SQLiteError) {
            try insertBuffered()
        } catch {
            return fail(error)
        }
        return end(with: located)
    }

    @inline(never)
    mutating func fail(_ error: SQLiteError) -> StreamError {
        let failure = error.streamError(.cannotWrite)
        return end(with: error.isOfFile ? failure : failure.located(at: path))
    }

    private mutating func end(with error: StreamError) -> StreamError {
        rollBack()
        failure = error
        return error
    }

    package func name(ofColumn index: Int) -> String { columns[index].name }

    /// The path of the value to come.
    package var path: StreamPath {
        var steps: [StreamPath.Step] = arrays.indices.map { .index($0) }
        if isInRow, column >= 0 { steps.append(.key(columns[column].name)) }
        return StreamPath(steps)
    }

    // MARK: Containers

    /// Begins an array. A transaction, or a savepoint in one, begins with its first row.
    public mutating func beginArray() throws(StreamError) {
        if isInRow { return try beginInRow("an array") }
        if let failure { throw failure }
        try flush()
        if arrays.isEmpty { reportBefore = report }
        arrays.open()
    }

    /// Ends an array and keeps its rows.
    public mutating func endArray() throws(StreamError) {
        if isInRow { return try endInRow() }
        if let failure { throw failure }
        try flush()
        guard !arrays.isEmpty else { throw fail(StreamError(.misuse, "got endArray without an open array")) }
        do throws(SQLiteError) { try arrays.close() } catch {
            // The error isn't caused by a single row but by all rows of the array together.
            let path = StreamPath(arrays.indices.dropLast().map { .index($0) })
            throw end(with: error.streamError(.cannotWrite).located(at: path))
        }
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

    /// Completes a row. It is inserted when the buffer is full.
    public mutating func endDictionary() throws(StreamError) {
        if skippedDepth > 0 || !isInRow { return try endInRow() }
        if newTable != nil, try !stageColumns() {
            isInRow = false
            return countElement()
        }
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
        if arrays.isEmpty { rootIndex += 1 } else { arrays.advance(by: 1) }
    }

    /// Opens a container in a row, which is allowed only within an ignored value.
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

    /// Sets the columns without a key to their defaults.
    ///
    /// - Returns: A Boolean value that indicates whether the row was inserted on its own because only SQLite knows a default.
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
        do throws(SQLiteError) {
            try begin()
            try insertBuffered()
            let partial = try partialInserter(mask)
            let changedRowCount = partial.changedRowCount
            do throws(RowInserter.Failure) {
                try partial.insertLast(of: buffer)
            } catch {
                throw error.error
            }
            countRows(1, changed: partial.changedRowCount - changedRowCount)
        } catch {
            throw fail(error)
        }
        report.path = .bindAndStep
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
        // Each inserter keeps a statement.
        if partialInserters.count >= 64 { partialInserters = [:] }
        let indices = columns.indices.filter { mask[$0] }
        let inserter = try RowInserter(
            target, columns: indices.map { columns[$0].name }, conflict: options.conflict, cells: indices)
        partialInserters[mask] = inserter
        return inserter
    }

    // MARK: Inserting rows

    /// Inserts the buffered rows into the table.
    private mutating func flush() throws(StreamError) {
        guard buffer.rowCount > 0 else { return }
        do throws(SQLiteError) { try insertBuffered() } catch { throw fail(error) }
        buffer.removeAll()
    }

    /// Begins the transactions of the open arrays.
    mutating func begin() throws(SQLiteError) {
        let surrounding = arrays.surrounding
        try arrays.begin()
        if arrays.surrounding != surrounding { reportBeforeTransaction = report }
    }

    /// Inserts the complete rows of the buffer.
    mutating func insertBuffered() throws(SQLiteError) {
        let (count, changedRowCount) = (buffer.rowCount, inserter.changedRowCount)
        guard count > 0 else { return }
        try begin()
        do throws(RowInserter.Failure) {
            try inserter.insert(buffer, by: options.insertPath)
        } catch {
            // The path of the rejected row.
            if !arrays.isEmpty { arrays.advance(by: error.row - count) }
            (isInRow, column) = (error.column != nil, error.column ?? -1)
            throw error.error
        }
        report.path = inserter.path
        countRows(count, changed: inserter.changedRowCount - changedRowCount)
    }

    mutating func countRows(_ count: Int, changed: Int) {
        report.rowCount += count
        report.changedRowCount += changed
    }
}
