// Binds values to the parameters of a statement by position, by name, or directly by type.

import CSystemSQLite
import PlistStreaming

extension SQLiteStatement {
    /// The largest index of a parameter.
    var parameterCount: Int { unsafe Int(sqlite3_bind_parameter_count(handle)) }

    /// Returns the name of a parameter with its prefix, such as `:id`, or nil for `?`.
    ///
    /// - Parameter index: The index from 1, as in SQL.
    func parameterName(at index: Int) -> String? {
        // SAFETY: SQLite returns nil for an index out of range; the name lives as long as the statement.
        unsafe sqlite3_bind_parameter_name(handle, Int32(clamping: index)).map { unsafe String(cString: $0) }
    }

    /// Returns the index of a named parameter, from 1, or nil if it doesn't exist.
    ///
    /// - Parameter name: The name with or without its prefix in the SQL.
    func parameterIndex(named name: String) -> Int? {
        guard !name.isEmpty, !name.utf8.contains(0) else { return nil }
        let prefixes = ":@$?".contains(name.first ?? " ") ? [""] : [":", "@", "$"]
        for prefix in prefixes {
            let index = unsafe sqlite3_bind_parameter_index(handle, prefix + name)
            if index > 0 { return Int(index) }
        }
        return nil
    }

    /// Sets all parameters to null and resets the statement, since the cells of its row may be values of parameters.
    ///
    /// - Precondition: The statement is not sending its rows, and no cell of it is read in a closure.
    package func clearBindings() {
        // SQLite copies neither text nor blobs into the row, so it would use memory that is freed.
        reset()
        unsafe sqlite3_clear_bindings(handle)
    }

    /// Binds values to all parameters.
    ///
    /// - Throws: `range` if the numbers of parameters and values or their names don't match; the errors of binding a value.
    public func bind(_ parameters: SQLiteParameters) throws(SQLiteError) {
        switch parameters.content {
        case .positional(let values):
            guard values.count == parameterCount else {
                throw SQLiteError(
                    .range, "expected \(parameterCount) values for parameters, found \(values.count)", sql: sql)
            }
            for (offset, value) in values.enumerated() {
                try bind(try value?.sqliteValue ?? .null, at: offset + 1)
            }
        case .named(let values):
            var missing = Set(1...max(1, parameterCount))
            for (name, value) in values {
                guard let index = parameterIndex(named: name) else {
                    throw SQLiteError(.range, "there is no parameter '\(name)'", sql: sql)
                }
                guard missing.remove(index) != nil else {
                    throw SQLiteError(.range, "the parameter '\(name)' has two values", sql: sql)
                }
                try bind(try value?.sqliteValue ?? .null, at: index)
            }
            if parameterCount > 0, let index = missing.min() {
                let name = parameterName(at: index) ?? "\(index)"
                throw SQLiteError(.range, "the parameter '\(name)' has no value", sql: sql)
            }
        }
    }

    /// Binds a value to the parameter at an index, from 1.
    ///
    /// - Throws: `range`; `tooBig` for values above the connection's limit; `mismatch` for text with NUL, which SQL functions
    ///   would cut, and for NaN, which SQLite doesn't support.
    public func bind(_ value: SQLiteValue, at index: Int) throws(SQLiteError) {
        switch value {
        case .null: try unsafe check(sqlite3_bind_null(handle, Int32(clamping: index)))
        case .integer(let value): try unsafe check(sqlite3_bind_int64(handle, Int32(clamping: index), value))
        case .real(let value):
            guard !value.isNaN else { throw SQLiteError(.mismatch, SQLiteValue.foundNaN, sql: sql) }
            try unsafe check(sqlite3_bind_double(handle, Int32(clamping: index), value))
        case .text(let value):
            try value.withUTF8Span { (text) throws(SQLiteError) in try bind(text: text, at: index) }
        case .blob(let value):
            try value.withRawSpan { (bytes) throws(SQLiteError) in try bind(blob: bytes, at: index) }
        }
    }

    /// Binds a text to the parameter at an index, from 1. The bytes must be valid UTF-8 and are copied.
    ///
    /// - Throws: The same errors as for a `String`.
    public func bind(text: RawSpan, at index: Int) throws(SQLiteError) {
        if let offset = TextCheck.firstNUL(in: text) {
            throw SQLiteError(.mismatch, TextCheck.foundNUL(at: offset).message, sql: sql)
        }
        // SAFETY: SQLite copies the bytes during the call. An empty span may have no address, which SQLite would read as
        // null.
        let code = unsafe text.withUnsafeBytes { buffer in
            let address = unsafe buffer.baseAddress?.assumingMemoryBound(to: CChar.self)
            return unsafe sqlite3_bind_text64(
                handle, Int32(clamping: index), address ?? emptyText, UInt64(buffer.count), csqlite_transient(),
                UInt8(SQLITE_UTF8))
        }
        try check(code)
    }

    /// Binds a blob to the parameter at an index, from 1; the bytes are copied.
    ///
    /// - Throws: `range`; `misuse` while the statement is on a row; `tooBig` for a blob above the connection's limit.
    public func bind(blob: RawSpan, at index: Int) throws(SQLiteError) {
        // SAFETY: see above.
        let code = unsafe blob.withUnsafeBytes { buffer in
            unsafe sqlite3_bind_blob64(
                handle, Int32(clamping: index), buffer.baseAddress ?? UnsafeRawPointer(emptyText),
                UInt64(buffer.count), csqlite_transient())
        }
        try check(code)
    }
}
