// Inserts rows into a table: values, objects, and the messages of a sink.

import PlistBuilding
import PlistStreaming

extension SQLiteTable {
    // MARK: Inserting rows

    /// Makes a sink that inserts dictionaries sent by a reader, a query or any other sender.
    ///
    /// Values are checked as if the type were read from the same messages, and missing members get their values in `init()`.
    /// So the rows are the same as after reading values and inserting them.
    /// - Throws: `mismatch` for a default that SQLite can't store; errors of preparing the insertion.
    public func makeWriter() throws(SQLiteError) -> SQLiteTableWriter { try makeWriter(idColumn: nil) }

    private func makeWriter(idColumn: String?) throws(SQLiteError) -> SQLiteTableWriter {
        var writer = try SQLiteTableWriter(
            target, members: members, options: options, idColumn: idColumn,
            columns: members.columns.map { column in
                // The plan knows which values a small integer or an enumeration can have.
                SQLiteTableWriter.Column(
                    name: column.name, hasDefault: false, kind: column.kind,
                    direct: column.storage == .none ? .none : DirectKind(column.kind),
                    isConverted: column.storage == .none && !Self.keepsValues(column.type), affinity: .blob,
                    declaredType: "")
            })
        var defaults = makeBuffer()
        try SQLiteError.of { () throws(StreamError) in try fill(&defaults, with: Row()) }
        writer.setDefaults(defaults)
        return writer
    }

    // PERF: values of other types are read and written again, which takes longer than checking that they can be read.
    /// Returns whether all values of a type are equal to the messages that they are read from.
    private static func keepsValues(_ type: ObjectIdentifier) -> Bool {
        let types: [Any.Type] = [
            String.self, Bool.self, Double.self, Int.self, Int8.self, Int16.self, Int32.self, Int64.self, UInt.self,
            UInt8.self, UInt16.self, UInt32.self, UInt64.self, String?.self, Bool?.self, Double?.self, Int?.self,
            Int8?.self, Int16?.self, Int32?.self, Int64?.self, UInt?.self, UInt8?.self, UInt16?.self, UInt32?.self,
            UInt64?.self,
        ]
        return types.contains { ObjectIdentifier($0) == type }
    }

    private func makeBuffer() -> RowBuffer {
        RowBuffer(
            columnCount: members.columns.count, dateFormat: options.dateFormat, byteLimit: connection.limit(.length))
    }

    /// Appends the row of a value to a buffer.
    private func fill(_ buffer: inout RowBuffer, with row: Row) throws(StreamError) {
        buffer.beginRow()
        // SAFETY: the address is that of a value of the type of the members, and stays in the closure.
        try unsafe withUnsafePointer(to: row) { (address) throws(StreamError) in
            for index in members.columns.indices {
                buffer.column = index
                do throws(StreamError) {
                    try unsafe fill(&buffer, index, ofValueAt: UnsafeRawPointer(address))
                } catch {
                    throw error.located(at: StreamPath([.key(members.columns[index].name)]))
                }
            }
        }
        buffer.endRow()
    }

    /// Sets a cell to the value of a column, which may belong to a computed property.
    private func fill(_ buffer: inout RowBuffer, _ index: Int, ofValueAt address: UnsafeRawPointer) throws(StreamError)
    {
        guard members.columns[index].storage == .none else {
            return try unsafe members.send(index, ofValueAt: address, to: &buffer)
        }
        let (changes, isInTransaction) = (connection.totalChangeCount, connection.isInTransaction)
        try unsafe members.send(index, ofValueAt: address, to: &buffer)
        // If an earlier row fails, rows inserted by the property would be undone. If the property ends the transaction, rows
        // would be kept.
        guard connection.totalChangeCount == changes, connection.isInTransaction == isInTransaction else {
            throw StreamError(
                .misuse, "a property changed the database while its row was inserted")
        }
    }

    /// Inserts all values or none, in the fastest way for their number.
    ///
    /// They are inserted in one transaction, or in a savepoint if a transaction is open. For an id that is nil, SQLite
    /// chooses one; `insert(&rows)` reads it back. A type with its own function for writing is written with that function.
    /// - Returns: The number of inserted rows, and the insertion path that was used.
    /// - Throws: The error of the first rejected row, with its path, such as `$[3].title`.
    @discardableResult
    public func insert(_ rows: [Row]) throws(SQLiteError) -> InsertResult { try insert(rows) { _ in } }

    /// Inserts all values or none.
    ///
    /// - Parameters:
    ///   - idColumn: The column whose values are read back.
    ///   - completion: Called with these values before the insertion is committed.
    private func insert(
        _ rows: [Row], idColumn: String? = nil, _ completion: ([Int64?]) throws(SQLiteError) -> Void
    ) throws(SQLiteError) -> InsertResult {
        guard !rows.isEmpty else { return InsertResult() }
        var report = InsertResult()
        if Row.self is any StreamEncodable.Type {
            try connection.atomically { () throws(SQLiteError) in
                let ids: [Int64?]
                (report, ids) = try insertMessages(of: rows, idColumn)
                try completion(ids)
            }
            return report
        }
        let inserter = try RowInserter(target, columns: columnNames, conflict: options.conflict, idColumn: idColumn)
        try connection.atomically { () throws(SQLiteError) in
            do throws(RowInserter.Failure) {
                // A value that only the plan of a member can read may be computed by the user's own code.
                if members.columns.contains(where: { $0.storage == .none }) {
                    try insertBuffered(rows, inserter)
                } else {
                    try insertArray(rows, inserter)
                }
            } catch {
                throw located(error)
            }
            try completion(inserter.ids)
        }
        report.rowCount = rows.count
        report.changedRowCount = inserter.changedRowCount
        report.path = inserter.path
        return report
    }

    /// Inserts one value.
    ///
    /// - Throws: The error of the value, with its path from `$[0]`.
    @discardableResult
    public func insert(_ row: Row) throws(SQLiteError) -> InsertResult { try insert([row]) }

    /// Inserts a value and sets its id if it is nil and SQLite chooses it.
    ///
    /// - Throws: The error of the value, with its path from `$[0]`; the id then stays nil.
    public func insert(_ row: inout Row) throws(SQLiteError) {
        var rows = [row]
        try insert(&rows)
        row = rows[0]
    }

    /// Inserts all values or none, and sets the ids that are nil to those of their rows.
    ///
    /// The ids are those of the row id column, a column of integers that is the whole primary key. SQLite chooses them; with
    /// `upsert`, a value may also become an existing row. If a row is ignored, its id stays nil. After an error, which is the
    /// same as in ``insert(_:)``, no id is set.
    @discardableResult
    public func insert(_ rows: inout [Row]) throws(SQLiteError) -> InsertResult {
        guard let rowID = Self.rowIDColumn(members, primaryKey),
            let index = columnNames.firstIndex(of: rowID), members.columns[index].isOptional
        else { return try insert(rows as [Row]) }
        var chosen: [(number: Int, id: Int64)] = []
        let report = try insert(rows, idColumn: rowID) { (ids) throws(SQLiteError) in
            for (number, id) in ids.enumerated() {
                guard let id, try scalar(index, of: rows[number]) == .null else { continue }
                do throws(StreamError) { try unsafe members.check(.integer(id), index) } catch {
                    throw SQLiteError(error.located(at: StreamPath([.index(number), .key(rowID)])))
                }
                chosen.append((number, id))
            }
        }
        for (number, id) in chosen { try setInteger(id, index, of: &rows[number]) }
        return report
    }

    /// Returns the scalar that a column of a row is sent as.
    func scalar(_ index: Int, of row: Row) throws(SQLiteError) -> ScalarValue {
        var sink = CellSink()
        // SAFETY: the address is that of a value of the type of the members, and stays in the closure.
        try SQLiteError.of { () throws(StreamError) in
            try unsafe withUnsafePointer(to: row) { (address) throws(StreamError) in
                try unsafe members.send(index, ofValueAt: UnsafeRawPointer(address), to: &sink)
            }
        }
        return sink.value ?? .null
    }

    private func setInteger(_ value: Int64, _ index: Int, of row: inout Row) throws(SQLiteError) {
        // SAFETY: the address is that of a value of the type of the members, and stays in the closure.
        try SQLiteError.of { () throws(StreamError) in
            try unsafe withUnsafeMutablePointer(to: &row) { (address) throws(StreamError) in
                try unsafe members.setInteger(value, index, ofValueAt: UnsafeMutableRawPointer(address))
            }
        }
    }

    /// Inserts rows of a type with its own function for writing.
    private func insertMessages(
        of rows: [Row], _ idColumn: String?
    ) throws(SQLiteError) -> (InsertResult, ids: [Int64?]) {
        var writer = try makeWriter(idColumn: idColumn)
        try SQLiteError.of { () throws(StreamError) in
            try writer.write(
                rows, options: WritingOptions(keyMapping: options.keyMapping, nilMembers: .writeNull))
            try writer.finish()
        }
        return (writer.report, writer.ids)
    }

    /// Inserts rows with computed values, which are read in advance for some rows at a time.
    private func insertBuffered(_ rows: [Row], _ inserter: RowInserter) throws(RowInserter.Failure) {
        var buffer = makeBuffer()
        var first = 0
        let scope = connection.openScopes.last
        func insertRows() throws(RowInserter.Failure) {
            guard buffer.rowCount > 0 else { return }
            // If a property has ended the transaction, each row would be committed on its own.
            guard connection.openScopes.last == scope, connection.isInTransaction else {
                throw RowInserter.Failure(error: SQLiteConnection.Scope.endedByOthers, row: first, column: nil)
            }
            do throws(RowInserter.Failure) {
                try inserter.insert(buffer, by: options.insertPath)
            } catch {
                throw RowInserter.Failure(error: error.error, row: first + error.row, column: error.column)
            }
            first += buffer.rowCount
            buffer.removeAll()
        }
        for (number, row) in rows.enumerated() {
            do throws(StreamError) {
                try fill(&buffer, with: row)
            } catch {
                // An earlier row may be rejected as well.
                try insertRows()
                throw RowInserter.Failure(error: SQLiteError(error), row: number, column: nil)
            }
            if buffer.rowCount >= options.batchRowCount || buffer.byteCount >= options.batchByteCount {
                try insertRows()
            }
        }
        try insertRows()
    }

    private func insertArray(_ rows: [Row], _ inserter: RowInserter) throws(RowInserter.Failure) {
        let columns = unsafe members.columns.map { unsafe SourceColumn(storage: $0.storage, offset: max(0, $0.offset)) }
        // SAFETY: both arrays outlive the closures, and SQLite keeps no reference to them.
        try unsafe columns.withUnsafeBufferPointer { (columns) throws(RowInserter.Failure) in
            try unsafe rows.withUnsafeBufferPointer { (values) throws(RowInserter.Failure) in
                guard let first = values.baseAddress, let columns = columns.baseAddress else { return }
                let source = unsafe RowSource(
                    UnsafeRawPointer(first), count: values.count, columns: columns, of: members)
                try unsafe inserter.insert(source, by: options.insertPath)
            }
        }
    }

    /// Returns the error of a row, with its path.
    private func located(_ failure: RowInserter.Failure) -> SQLiteError {
        if failure.error.isOfFile { return failure.error }
        var steps: [StreamPath.Step] = [.index(failure.row)]
        if let column = failure.column { steps.append(.key(columnNames[column])) }
        let error = failure.error.streamError(.cannotWrite)
        return SQLiteError(
            error.path == nil ? error.located(at: StreamPath(steps)) : error.under([.index(failure.row)]))
    }
}
