// Reads the cells of a statement's current row, as a requested type or in their storage class.

import CSystemSQLite
import PlistStreaming

extension SQLiteStatement {
    /// The storage class of a cell.
    public enum CellType: Int32, Sendable {
        /// An integer of 64 bits.
        case integer = 1
        /// A floating-point number of 64 bits.
        case real
        /// Text.
        case text
        /// Bytes.
        case blob
        /// Null.
        case null
    }

    /// Returns the name of a column: that of the AS clause, or of the column without quotes.
    ///
    /// - Parameter column: The index from 0.
    func columnName(at column: Int) -> String {
        precondition(column >= 0 && column < columnCount, "column out of range")
        // SAFETY: nil only without memory; copied before the next call.
        return unsafe sqlite3_column_name(handle, Int32(column)).map { unsafe String(cString: $0) } ?? ""
    }

    /// The names of all columns, in order.
    public var columnNames: [String] { (0..<columnCount).map { columnName(at: $0) } }

    /// Returns the index of the column with a name, from 0, for the functions that read cells.
    ///
    /// ```swift
    /// let title = try statement.column(named: "title")
    /// while try statement.step() { print(try statement.text(at: title) ?? "-") }
    /// ```
    /// - Throws: `misuse` with the names of all columns if no column has exactly this name; `misuse` if several columns have
    ///   it.
    /// - Complexity: O(columns); look it up once, before the rows.
    public func column(named name: String) throws(SQLiteError) -> Int {
        let names = columnNames
        let found = names.indices.filter { names[$0].utf8.elementsEqual(name.utf8) }
        if found.count == 1 { return found[0] }
        let all = names.isEmpty ? "there are no columns" : "the columns are " + names.joined(separator: ", ")
        throw SQLiteError(
            .misuse,
            found.isEmpty
                ? "there is no column '\(name)'; \(all)"
                : "the name '\(name)' is ambiguous: \(found.count) columns have it; \(all)", sql: sql)
    }

    /// Returns a cell in its storage class, by the name of its column.
    ///
    /// - Throws: The errors of ``column(named:)`` and ``value(at:)``.
    public func value(named name: String) throws(SQLiteError) -> SQLiteValue { try value(at: column(named: name)) }

    /// Returns the type that the table declares for a column, or nil for expressions.
    ///
    /// - Parameter column: The index from 0.
    package func declaredType(at column: Int) -> String? {
        precondition(column >= 0 && column < columnCount, "column out of range")
        // SAFETY: see columnName.
        return unsafe sqlite3_column_decltype(handle, Int32(column)).map { unsafe String(cString: $0) }
    }

    private func cell(_ column: Int) -> Int32 {
        precondition(isOnRow, "the statement has no current row")
        precondition(column >= 0 && column < columnCount, "column out of range")
        return Int32(truncatingIfNeeded: column)
    }

    /// Returns the storage class of a cell.
    public func type(at column: Int) -> CellType {
        unsafe CellType(rawValue: sqlite3_column_type(handle, cell(column))) ?? .null
    }

    /// Returns whether a cell is null.
    public func isNull(at column: Int) -> Bool { type(at: column) == .null }

    /// Returns a cell as an integer with SQLite's conversion: the leading number of a text, 0 for null.
    public func integer(at column: Int) -> Int64 { unsafe sqlite3_column_int64(handle, cell(column)) }

    /// Returns a cell as a real with SQLite's conversion: the leading number of a text, 0 for null.
    public func real(at column: Int) -> Double { unsafe sqlite3_column_double(handle, cell(column)) }

    /// Returns a cell as text, or nil for null. Numbers are converted by SQLite.
    ///
    /// - Throws: `mismatch` for text that isn't valid UTF-8; `noMemory`.
    public func text(at column: Int) throws(SQLiteError) -> String? {
        guard !isNull(at: column) else { return nil }
        var result: String?
        try withText(at: column) { (text) throws(SQLiteError) in result = String(validating: text) }
        return result
    }

    /// Returns a cell as bytes, or nil for null. For text, these are its UTF-8.
    ///
    /// - Throws: `noMemory`.
    public func blob(at column: Int) throws(SQLiteError) -> [UInt8]? {
        guard !isNull(at: column) else { return nil }
        var result: [UInt8] = []
        try withBlob(at: column) { (bytes) throws(SQLiteError) in result = Array(copying: bytes) }
        return result
    }

    /// Returns a cell in its storage class.
    ///
    /// - Throws: The errors of ``text(at:)`` and ``blob(at:)``.
    public func value(at column: Int) throws(SQLiteError) -> SQLiteValue {
        switch type(at: column) {
        case .null: .null
        case .integer: .integer(integer(at: column))
        case .real: .real(real(at: column))
        case .text: .text(try text(at: column) ?? "")
        case .blob: .blob(try blob(at: column) ?? [])
        }
    }

    /// Returns all cells of the row.
    ///
    /// - Throws: The errors of ``text(at:)`` and ``blob(at:)``.
    public func values() throws(SQLiteError) -> [SQLiteValue] {
        var values: [SQLiteValue] = []
        for column in 0..<columnCount { values.append(try value(at: column)) }
        return values
    }

    /// Calls a closure with the UTF-8 of a cell without copying it. For null, the text is empty.
    ///
    /// - Precondition: The closure does not step, run or reset the statement, nor clear its parameters.
    /// - Throws: `mismatch` for text that isn't valid UTF-8; `noMemory`; the error of the closure.
    public func withText(at column: Int, _ body: (RawSpan) throws(SQLiteError) -> Void) throws(SQLiteError) {
        let index = cell(column)
        // For a blob that is being read, SQLite would create the text in other memory.
        if columnsInUse.contains(column), type(at: column) == .blob { return try withBlobInUseAsText(column, body) }
        // SAFETY: SQLite keeps the text until the next step, reset or conversion of the cell. The span stays in the closure,
        // and the cell is in use meanwhile.
        let address = unsafe sqlite3_column_text(handle, index)
        let count = unsafe Int(sqlite3_column_bytes(handle, index))
        guard let address = unsafe address else {
            if unsafe sqlite3_column_type(handle, index) != SQLITE_NULL { throw makeError(SQLITE_NOMEM) }
            return try withEmptySpan(body)
        }
        let bytes = unsafe UnsafeRawBufferPointer(start: address, count: count)
        guard unsafe TextCheck.isUTF8(bytes) else {
            throw SQLiteError(.mismatch, "the text in column \(columnName(at: column)) is not valid UTF-8", sql: sql)
        }
        try withColumnInUse(column) { () throws(SQLiteError) in try unsafe body(bytes.bytes) }
    }

    private func withBlobInUseAsText(
        _ column: Int, _ body: (RawSpan) throws(SQLiteError) -> Void
    ) throws(SQLiteError) {
        try withBlob(at: column) { (span) throws(SQLiteError) in
            guard String(validating: span) != nil else {
                throw SQLiteError(
                    .mismatch, "the text in column \(columnName(at: column)) is not valid UTF-8", sql: sql)
            }
            try body(span)
        }
    }

    /// Calls a closure with the bytes of a cell without copying them. For null, there are no bytes.
    ///
    /// - Precondition: The closure does not step, run or reset the statement, nor clear its parameters.
    /// - Throws: `noMemory`; the error of the closure.
    public func withBlob(at column: Int, _ body: (RawSpan) throws(SQLiteError) -> Void) throws(SQLiteError) {
        let index = cell(column)
        // SAFETY: see withText. An empty blob has no address. For text in a UTF-16 database, SQLite would return UTF-16
        // bytes.
        let address =
            unsafe type(at: column) == .text
            ? UnsafeRawPointer(sqlite3_column_text(handle, index)) : sqlite3_column_blob(handle, index)
        let count = unsafe Int(sqlite3_column_bytes(handle, index))
        guard let address = unsafe address else {
            if count > 0 { throw makeError(SQLITE_NOMEM) }
            return try withEmptySpan(body)
        }
        try withColumnInUse(column) { () throws(SQLiteError) in
            try unsafe body(UnsafeRawBufferPointer(start: address, count: count).bytes)
        }
    }

    private func withEmptySpan(_ body: (RawSpan) throws(SQLiteError) -> Void) throws(SQLiteError) {
        try unsafe body(UnsafeRawBufferPointer(start: emptyText, count: 0).bytes)
    }
}
