// Finds, changes and deletes rows of a table by conditions. Access by primary key is in `SQLiteTable+Keys`.

import PlistBuilding
import PlistStreaming

extension SQLiteTable {
    // MARK: Reading rows

    // PERF: SQLite/reading; inlinable, so that structures are moved into their array without reading their metadata.
    /// Returns the rows that satisfy a condition, or all rows without one.
    ///
    /// ```swift
    /// let adults = try people.fetchAll(where: \.age > 17 && \.name != nil, orderedBy: .ascending(\.name), limit: 10)
    /// ```
    /// - Precondition: `limit` and `offset` are not negative.
    /// - Throws: The errors of SQLite; for a row that can't be read as a value, its error as `streamError`.
    @inlinable
    public func fetchAll(
        where condition: SQLiteCondition<Row>? = nil, orderedBy orders: SQLiteOrder<Row>..., limit: Int? = nil,
        offset: Int = 0
    ) throws(SQLiteError) -> [Row] {
        let scan = try orders.isEmpty && limit == nil && offset == 0 ? self.scan(condition) : nil
        return try RowScan.values(as: Row.self, scan, readingOptions, BuilderOptions(keyMapping: keyMapping)) {
            () throws(SQLiteError) in try selection(condition, orders, limit, offset)
        }
    }

    /// Returns the first row that satisfies a condition, or nil if there isn't one.
    ///
    /// - Throws: The errors of ``fetchAll(where:orderedBy:limit:offset:)``.
    public func fetchOne(
        where condition: SQLiteCondition<Row>? = nil, orderedBy orders: SQLiteOrder<Row>...
    ) throws(SQLiteError) -> Row? {
        try selection(condition, orders, 1, 0).values(
            as: Row.self, options: readingOptions, builderOptions: BuilderOptions(keyMapping: options.keyMapping)
        ).first
    }

    /// Returns the rows that satisfy a condition, or all rows without one, each read on request.
    ///
    /// ```swift
    /// let rows = try people.fetchCursor(where: \.age > 17)
    /// while let person = try rows.next() { print(person.name) }
    /// ```
    /// ``fetchAll(where:orderedBy:limit:offset:)`` returns all of them at once, which is faster.
    /// - Precondition: `limit` and `offset` are not negative.
    /// - Throws: `misuse` for a property that isn't a column; the errors of preparing the query. The query runs when the
    ///   first row is requested.
    public func fetchCursor(
        where condition: SQLiteCondition<Row>? = nil, orderedBy orders: SQLiteOrder<Row>..., limit: Int? = nil,
        offset: Int = 0
    ) throws(SQLiteError) -> SQLiteRows<Row> {
        try SQLiteRows(
            try selection(condition, orders, limit, offset), readingOptions, BuilderOptions(keyMapping: keyMapping))
    }

    // PERF: SQLite/reading; inlinable, so that the loop is specialized for sinks of other modules.
    /// Sends the rows that satisfy a condition to a sink, as an array of dictionaries.
    ///
    /// - Precondition: `limit` and `offset` are not negative.
    /// - Throws: The errors of SQLite and of the sink.
    @inlinable
    public func send<Sink: PlistSink & ~Copyable>(
        where condition: SQLiteCondition<Row>? = nil, orderedBy orders: SQLiteOrder<Row>..., limit: Int? = nil,
        offset: Int = 0, to sink: inout Sink
    ) throws(StreamError) {
        let (scan, statement): (RowScan?, SQLiteStatement)
        do throws(SQLiteError) {
            scan = try orders.isEmpty && limit == nil && offset == 0 ? self.scan(condition) : nil
            statement = try selection(condition, orders, limit, offset)
        } catch {
            throw error.streamError(.cannotRead)
        }
        if let scan, try scan.send(to: &sink) { return }
        try statement.send(to: &sink, options: readingOptions)
    }

    /// The key mapping of the options, for code that is inlined elsewhere.
    @usableFromInline var keyMapping: KeyMapping { options.keyMapping }

    /// Prepares a scan for the rows that satisfy a condition, in SQLite's own order.
    @usableFromInline
    func scan(_ condition: SQLiteCondition<Row>?) throws(SQLiteError) -> RowScan? {
        var source = SQLiteClause(members, options.dateFormat)
        source.append(" FROM \(target.qualifiedName)")
        try source.appendWhere(condition)
        return RowScan(
            connection, columnNames, source.sql, SQLiteParameters(source.values), readingOptions
        ) { () throws(SQLiteError) in try selection(condition, [], nil, 0) }
    }

    @usableFromInline
    func selection(
        _ condition: SQLiteCondition<Row>?, _ orders: [SQLiteOrder<Row>], _ limit: Int?, _ offset: Int
    ) throws(SQLiteError) -> SQLiteStatement {
        precondition(limit ?? 0 >= 0 && offset >= 0, "limit and offset must not be negative")
        var clause = SQLiteClause(members, options.dateFormat)
        clause.append("SELECT \(try SQLiteName.list(columnNames)) FROM \(target.qualifiedName)")
        try clause.appendWhere(condition)
        for (index, order) in orders.enumerated() {
            clause.append(index == 0 ? " ORDER BY " : ", ")
            try clause.append(order.member)
            clause.append(order.isDescending ? " DESC" : "")
        }
        if limit != nil || offset > 0 {
            clause.append(" LIMIT ")
            try clause.append(.integer(Int64(limit ?? -1)))
            clause.append(" OFFSET ")
            try clause.append(.integer(Int64(offset)))
        }
        return try clause.statement(connection)
    }

    /// The options that convert cells to the messages that the members expect.
    @usableFromInline var readingOptions: SQLiteReadingOptions {
        var mappings: [String: SQLiteReadingOptions.ColumnMapping] = [:]
        for column in members.columns {
            switch column.kind {
            case .bool: mappings[column.name] = .boolean
            case .date: mappings[column.name] = .date(options.dateFormat)
            case .any: break
            default: mappings[column.name] = .stored
            }
        }
        return SQLiteReadingOptions(mappings: mappings)
    }

    /// Returns the number of rows that satisfy a condition, or of all rows without one.
    ///
    /// - Throws: `misuse` for a property that isn't a column; the errors of SQLite.
    public func count(where condition: SQLiteCondition<Row>? = nil) throws(SQLiteError) -> Int {
        var clause = SQLiteClause(members, options.dateFormat)
        clause.append("SELECT count(*) FROM \(target.qualifiedName)")
        try clause.appendWhere(condition)
        let statement = try clause.statement(connection)
        return try statement.step() ? Int(statement.integer(at: 0)) : 0
    }

    // MARK: Changes

    /// Sets columns of the rows that satisfy a condition.
    ///
    /// - Returns: The number of those rows.
    /// - Throws: `misuse` for a property that isn't a column; `mismatch` for a value that SQLite can't store; the errors of
    ///   SQLite.
    @discardableResult
    public func update(
        _ assignments: SQLiteAssignment<Row>..., where condition: SQLiteCondition<Row>
    ) throws(SQLiteError) -> Int {
        try update(assignments, condition)
    }

    /// Sets columns of all rows.
    ///
    /// - Returns: The number of rows.
    /// - Throws: The same errors as an update with a condition.
    @discardableResult
    public func updateAll(_ assignments: SQLiteAssignment<Row>...) throws(SQLiteError) -> Int {
        try update(assignments, nil)
    }

    private func update(
        _ assignments: [SQLiteAssignment<Row>], _ condition: SQLiteCondition<Row>?
    ) throws(SQLiteError) -> Int {
        precondition(!assignments.isEmpty, "an update must set at least one column")
        var clause = SQLiteClause(members, options.dateFormat)
        clause.append("UPDATE \(target.qualifiedName)")
        for (index, assignment) in assignments.enumerated() {
            clause.append(index == 0 ? " SET " : ", ")
            try clause.append(assignment.member)
            clause.append(" = ")
            switch assignment.value {
            case .success(let value): try clause.append(value)
            case .failure(let error): throw SQLiteError(error)
            }
        }
        try clause.appendWhere(condition)
        return try clause.statement(connection).execute()
    }

    /// Deletes the rows that satisfy a condition.
    ///
    /// - Returns: The number of those rows.
    /// - Throws: `misuse` for a property that isn't a column; the errors of SQLite, for example of a foreign key.
    @discardableResult
    public func delete(where condition: SQLiteCondition<Row>) throws(SQLiteError) -> Int {
        var clause = SQLiteClause(members, options.dateFormat)
        clause.append("DELETE FROM \(target.qualifiedName)")
        try clause.appendWhere(condition)
        return try clause.statement(connection).execute()
    }

    /// Deletes all rows.
    ///
    /// - Returns: The number of rows.
    /// - Throws: The errors of SQLite, for example of a foreign key.
    @discardableResult
    public func deleteAll() throws(SQLiteError) -> Int {
        try connection.run("DELETE FROM \(target.qualifiedName)")
    }
}

extension SQLiteClause {
    /// Appends WHERE and a condition, or nothing without a condition.
    mutating func appendWhere<Row>(_ condition: SQLiteCondition<Row>?) throws(SQLiteError) {
        guard let condition else { return }
        append(" WHERE ")
        try append(condition)
    }

    /// Prepares the SQL and binds the values.
    func statement(_ connection: SQLiteConnection) throws(SQLiteError) -> SQLiteStatement {
        let statement = try connection.cachedStatement(sql)
        try statement.bind(SQLiteParameters(values))
        return statement
    }
}
