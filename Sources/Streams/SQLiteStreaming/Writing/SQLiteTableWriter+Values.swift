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
                throw refusal(found)
            }
            return false
        }
        guard kind == .date || kind == .data || columns[column].isConverted else {
            try unsafe members.check(message, column)
            return false
        }
        try unsafe members.send(message, readBy: column, to: &buffer)
        column = -1
        return true
    }

    @inline(never)
    private func refusal(_ found: String) -> StreamError {
        let type = columns[column].declaredType
        return StreamError(
            .unrepresentable,
            "expected a value that the column \(columns[column].name) of the type \(type) stores unchanged, "
                + "found \(found)")
    }

    /// Sets the column to a value, unless the value is ignored.
    ///
    /// - Booleans are stored as 1 and 0.
    /// - Integers must be less than 2^63. A member that is a real is set to the nearest real.
    /// - A real without a fraction is stored as an integer if the member is one.
    /// - For the text of a number, a member that is a real is set to the nearest real. Any other column is set to the number
    ///   itself, or to the nearest real for a number with a fraction. A number that would become infinite or zero is
    ///   rejected.
    /// - Text must not contain NUL.
    /// - Dates are stored in the format of the options.
    public mutating func write(_ scalar: borrowing StreamScalar) throws(StreamError) {
        guard column >= 0 else { return try skip(scalar) }
        do throws(StreamError) { try set(scalar) } catch { throw fail(error) }
        column = -1
    }

    /// Skips a value without a column.
    private mutating func skip(_ scalar: borrowing StreamScalar) throws(StreamError) {
        if skippedDepth > 0 { return }
        guard column == -2 else {
            throw misplaced(try unsafe scalar.withMessage { (message) throws(StreamError) in unsafe message.summary })
        }
        column = -1
    }

    /// Returns the value that is kept of the text of a number, or nil for other values and for members that read the text.
    private func kept(_ scalar: borrowing StreamScalar) throws(StreamError) -> NumberText.Kept? {
        guard case .number(let text) = copy scalar else { return nil }
        switch columns[column].kind {
        case nil: return try NumberText.kept(text, rounding: true)
        case .integer: return NumberText.integer(text, as: Int64.self).map { .integer($0) }
        default: return nil
        }
    }

    @inline(__always)  // PERF: SQLite/messages; once a value.
    private mutating func set(_ scalar: borrowing StreamScalar) throws(StreamError) {
        let kind = DirectKind(scalar)
        // PERF: SQLite/messages; text usually goes into columns of text.
        let isText = kind == .string && columns[column].affinity == .text
        if isText || kind != .none && kind == columns[column].direct {
            try buffer.write(scalar)
        } else {
            try store(scalar)
        }
    }

    /// Stores a value that the column doesn't store directly.
    @inline(never)
    private mutating func store(_ scalar: borrowing StreamScalar) throws(StreamError) {
        switch try kept(scalar) {
        case .integer(let value): return try set(.integer(value))
        case .real(let value): return try set(.real(value))
        case nil: break
        }
        let kind = columns[column].kind
        if case .number = copy scalar, columns[column].direct == .real {} else if try check(scalar) { return }
        switch copy scalar {
        case .unsigned(let value) where kind == .real: try buffer.writeReal(Double(value))
        case .number(let text) where kind == .real:
            if let value = NumberText.real(text, as: Double.self) {
                try buffer.writeReal(value)
            } else {
                try buffer.writeNumber(text: text)
            }
        case .real(let value) where kind == .integer:
            if let integer = Int64(exactly: value) {
                try buffer.writeInteger(integer)
            } else {
                try buffer.writeReal(value)
            }
        case .date(let seconds) where kind == nil && options.dateFormat != .text:
            let stored = options.dateFormat.stored(secondsSince2001: seconds)
            if let real = stored?.real, try unsafe check(ScalarMessage.real(real)) { return }
            try buffer.writeDate(secondsSince2001: seconds)
        default: try buffer.write(scalar)
        }
    }

    private mutating func check(_ scalar: borrowing StreamScalar) throws(StreamError) -> Bool {
        try unsafe scalar.withMessage { (message) throws(StreamError) in try unsafe check(message) }
    }
}

/// The kinds of values that a column may store without a check.
enum DirectKind: UInt8 {
    case none, bool, integer, real, string, data

    /// The kind of a column with a member.
    init(_ kind: MemberColumn.Kind) {
        self =
            switch kind {
            case .bool: .bool
            case .integer: .integer
            case .real: .real
            case .string: .string
            case .data: .data
            case .date, .any, .container: .none
            }
    }

    @inline(__always)  // PERF: SQLite/messages; once a value.
    fileprivate init(_ scalar: borrowing StreamScalar) {
        self =
            switch copy scalar {
            case .bool: .bool
            case .integer: .integer
            case .real: .real
            case .string: .string
            case .data: .data
            case .null, .unsigned, .number, .date: .none
            }
    }
}

extension StreamScalar {
    /// Calls a closure with the value as a message, whose bytes are valid during the call.
    package func withMessage<Result>(
        _ body: (ScalarMessage) throws(StreamError) -> Result
    ) throws(StreamError) -> Result {
        switch copy self {
        case .null: try unsafe body(.null)
        case .bool(let value): try unsafe body(.bool(value))
        case .integer(let value): try unsafe body(.integer(value))
        case .unsigned(let value): try unsafe body(.unsigned(value))
        case .real(let value): try unsafe body(.real(value))
        case .number(let text):
            try unsafe text.withUnsafeBytes { (bytes) throws(StreamError) in try unsafe body(.number(bytes)) }
        case .string(let utf8):
            try unsafe utf8.withUnsafeBytes { (bytes) throws(StreamError) in try unsafe body(.string(bytes)) }
        case .data(let bytes):
            try unsafe bytes.withUnsafeBytes { (bytes) throws(StreamError) in try unsafe body(.data(bytes)) }
        case .date(let seconds): try unsafe body(.date(seconds))
        }
    }
}
