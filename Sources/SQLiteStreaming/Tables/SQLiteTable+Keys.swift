// The rows of a table by their primary key: changing and deleting one.

import PlistBuilding
import PlistStreaming

extension SQLiteTable {
    /// Sets all columns of the row with the primary key of a value.
    ///
    /// - Returns: Whether there is such a row.
    /// - Throws: `misuse` for a table without a primary key.
    @discardableResult
    public func update(_ row: Row) throws(SQLiteError) -> Bool {
        let values = try values(of: row)
        var clause = SQLiteClause(members, options.dateFormat)
        clause.append("UPDATE \(target.qualifiedName) SET ")
        var isFirst = true
        for (column, value) in zip(members.columns, values) where !primaryKey.contains(column.name) {
            clause.append("\(isFirst ? "" : ", ")\(try SQLiteName.quoted(column.name)) = ")
            clause.append(parameter: value)
            isFirst = false
        }
        // A table of nothing but a key has nothing to set, and yet a row or none.
        if isFirst {
            clause.append("\(try SQLiteName.quoted(columnNames[0])) = \(try SQLiteName.quoted(columnNames[0]))")
        }
        try appendKey(of: values, to: &clause)
        return try clause.statement(connection).runBound() > 0
    }

    /// Deletes the row with the primary key of a value.
    ///
    /// - Returns: Whether there was such a row.
    /// - Throws: `misuse` for a table without a primary key.
    @discardableResult
    public func delete(_ row: Row) throws(SQLiteError) -> Bool {
        var clause = SQLiteClause(members, options.dateFormat)
        clause.append("DELETE FROM \(target.qualifiedName)")
        try appendKey(of: try values(of: row), to: &clause)
        return try clause.statement(connection).runBound() > 0
    }

    private func appendKey(of values: [SQLiteValue], to clause: inout SQLiteClause) throws(SQLiteError) {
        guard !primaryKey.isEmpty else {
            throw SQLiteError(.misuse, "the table \(name) has no primary key to find the row by")
        }
        for (index, key) in primaryKey.enumerated() {
            clause.append("\(index == 0 ? " WHERE " : " AND ")\(try SQLiteName.quoted(key)) = ")
            clause.append(parameter: columnNames.firstIndex(of: key).map { values[$0] } ?? .null)
        }
    }

    /// The values of all columns of a row.
    private func values(of row: Row) throws(SQLiteError) -> [SQLiteValue] {
        var result: Result<[SQLiteValue], SQLiteError> = .success([])
        // SAFETY: the address is that of a value of the type of the members, and stays in the closure.
        unsafe withUnsafePointer(to: row) { address in
            do throws(SQLiteError) {
                var values: [SQLiteValue] = []
                for index in members.columns.indices {
                    var sink = ScalarSink()
                    do throws(StreamError) {
                        try unsafe members.send(index, ofValueAt: UnsafeRawPointer(address), to: &sink)
                    } catch {
                        throw SQLiteError(error)
                    }
                    values.append(try SQLiteClause.value(sink.value ?? .null, options.dateFormat))
                }
                result = .success(values)
            } catch {
                result = .failure(error)
            }
        }
        return try result.get()
    }
}
