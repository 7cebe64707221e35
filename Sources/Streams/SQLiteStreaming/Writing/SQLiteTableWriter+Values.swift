// The keys and values sent to a `SQLiteTableWriter`: each value is checked like the member of its column, and stored in the
// row under construction.

import PlistBuilding
import PlistStreaming

extension SQLiteTableWriter {
    /// Finds the column of a key.
    public mutating func writeKey(_ utf8: RawSpan) throws(StreamError) {
        guard isInRow, failure == nil else { throw misplaced("a key") }
        if skippedDepth > 0 { return }
        // PERF: SQLite/messages; keys usually come in the order of the columns or of the previous row.
        if expectedColumn < columns.count, keys.isKey(at: expectedColumn, equalTo: utf8) {
            column = expectedColumn
        } else if let index = keys.index(of: utf8) {
            column = index
        } else if newTable != nil {
            column = try addColumn(utf8)
        } else {
            guard options.unknownMembers == .ignore else {
                column = -1
                throw fail(StreamError(.unknownMember, "the table \(table) has no column \(ShownText.quoted(utf8))"))
            }
            column = -2
            return
        }
        expectedColumn = column &+ 1
        if !isSeen[column] {
            isSeen[column] = true
            seenCount &+= 1
        } else if options.duplicateKeys == .reject {
            throw fail(StreamError(.duplicateKey, "duplicate key \(ShownText.quoted(utf8))"))
        }
        buffer.column = column
    }

    private mutating func misplaced(_ found: String) -> StreamError {
        fail(StreamError(.typeMismatch, "expected a dictionary of columns, found \(found)"))
    }

    /// Prepares the column for a value. Returns false if the value is ignored.
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

    /// Checks a value with the plan of its member, whose type may not accept it, or with the affinity of a column without a
    /// member.
    ///
    /// - Returns: A Boolean value that indicates whether the column is already set: to a date or data that the member reads
    ///   from a text or number, or to the value that a member of another type reads.
    private mutating func check(_ message: ScalarMessage) throws(StreamError) -> Bool {
        guard let kind = columns[column].kind, let members else {
            if newTable != nil { return try unsafe addKind(of: message) }
            let affinity = columns[column].affinity
            if affinity == .blob { return false }
            if let found = unsafe affinity.change(of: message, keepingTypes: options.keepsTypes) {
                throw failToKeep(found)
            }
            return false
        }
        do throws(StreamError) {
            guard kind == .date || kind == .data || columns[column].isConverted else {
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

    @inline(never)
    private mutating func failToKeep(_ found: String) -> StreamError {
        let type = columns[column].declaredType
        return fail(
            StreamError(
                .unrepresentable,
                "expected a value that the column \(columns[column].name) of the type \(type) stores unchanged, "
                    + "found \(found)"))
    }

    /// Sets the column to the value of a message, unless the value is ignored.
    ///
    /// - Parameters:
    ///   - kind: The kind of members that accept all such values.
    ///   - store: Stores the value in the row.
    @inline(__always)  // PERF: SQLite/messages; once a value.
    private mutating func set(
        _ message: ScalarMessage, _ kind: MemberColumn.Kind?,
        _ store: (inout SQLiteTableWriter) throws(StreamError) -> Void
    ) throws(StreamError) {
        guard try unsafe open(message.summary) else { return }
        do throws(StreamError) {
            let isHeld = kind != nil && columns[column].kind == kind && !columns[column].isChecked
            // PERF: SQLite/messages; text usually goes into columns of text.
            let isText = kind == .string && columns[column].affinity == .text
            if !isHeld, !isText, try unsafe check(message) { return }
            try store(&self)
        } catch {
            throw fail(error)
        }
        column = -1
    }

    /// Sets the column to null.
    public mutating func writeNull() throws(StreamError) {
        try unsafe set(.null, nil) { (writer) throws(StreamError) in try writer.buffer.writeNull() }
    }

    /// Sets the column to 1 or 0.
    public mutating func writeBool(_ value: Bool) throws(StreamError) {
        try unsafe set(.bool(value), .bool) { (writer) throws(StreamError) in
            try writer.buffer.writeBool(value)
        }
    }

    /// Sets the column to an integer.
    public mutating func writeInteger(_ value: Int64) throws(StreamError) {
        try unsafe set(.integer(value), .integer) { (writer) throws(StreamError) in
            try writer.buffer.writeInteger(value)
        }
    }

    /// Sets the column to an integer, which must be less than 2^63.
    public mutating func writeUnsigned(_ value: UInt64) throws(StreamError) {
        try unsafe set(.unsigned(value), nil) { (writer) throws(StreamError) in
            if writer.columns[writer.column].kind == .real {
                try writer.buffer.writeReal(Double(value))
            } else {
                try writer.buffer.writeUnsigned(value)
            }
        }
    }

    /// Sets the column to a real, or to an integer if the member is one and the real has no fraction.
    public mutating func writeReal(_ value: Double) throws(StreamError) {
        try unsafe set(.real(value), .real) { (writer) throws(StreamError) in
            if writer.columns[writer.column].kind == .integer, let integer = Int64(exactly: value) {
                try writer.buffer.writeInteger(integer)
            } else {
                try writer.buffer.writeReal(value)
            }
        }
    }

    /// Sets the column to a number. If the member is a real, the column is set to the nearest real. Otherwise it is set to
    /// the number itself, or to the nearest real for a number with a fraction. A number that would become infinite or zero is
    /// rejected.
    public mutating func writeNumber(text: RawSpan) throws(StreamError) {
        let kind = column >= 0 ? columns[column].kind : .any
        if kind == .integer, let integer = NumberText.integer(text, as: Int64.self) { return try writeInteger(integer) }
        if kind == nil { return try writeKept(text) }
        try unsafe text.withUnsafeBytes { (bytes) throws(StreamError) in
            try unsafe set(.number(bytes), .real) { (writer) throws(StreamError) in
                if kind == .real, let value = NumberText.real(text, as: Double.self) {
                    try writer.buffer.writeReal(value)
                } else {
                    try writer.buffer.writeNumber(text: text)
                }
            }
        }
    }

    /// Sets a column without a member to a number, as if the value that is kept of it had been sent.
    @inline(never)
    private mutating func writeKept(_ text: RawSpan) throws(StreamError) {
        let kept: NumberText.Kept
        do throws(StreamError) { kept = try NumberText.kept(text, rounding: true) } catch { throw fail(error) }
        switch kept {
        case .integer(let value): try writeInteger(value)
        case .real(let value): try writeReal(value)
        }
    }

    /// Sets the column to a text, which must not contain NUL.
    public mutating func writeString(_ utf8: RawSpan) throws(StreamError) {
        try unsafe utf8.withUnsafeBytes { (bytes) throws(StreamError) in
            try unsafe set(.string(bytes), .string) { (writer) throws(StreamError) in
                try writer.buffer.writeString(utf8)
            }
        }
    }

    /// Sets the column to a blob.
    public mutating func writeData(_ bytes: RawSpan) throws(StreamError) {
        try unsafe bytes.withUnsafeBytes { (buffer) throws(StreamError) in
            try unsafe set(.data(buffer), .data) { (writer) throws(StreamError) in
                try writer.buffer.writeData(bytes)
            }
        }
    }

    /// Sets the column to a date, in the format of the options.
    public mutating func writeDate(secondsSince2001 seconds: Double) throws(StreamError) {
        try unsafe set(.date(seconds), nil) { (writer) throws(StreamError) in
            // In a format other than text, a date is stored as a real.
            let isReal = writer.options.dateFormat != .text && writer.columns[writer.column].kind == nil
            let stored = isReal ? writer.options.dateFormat.stored(secondsSince2001: seconds) : nil
            if let real = stored?.real, try unsafe writer.check(.real(real)) { return }
            try writer.buffer.writeDate(secondsSince2001: seconds)
        }
    }
}
