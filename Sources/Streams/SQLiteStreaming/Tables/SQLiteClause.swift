// Converts conditions, orders and assignments to SQL with parameters.

import PlistBuilding
import PlistStreaming

/// A property identified by its storage. Unlike its key path, this can be sent to another task.
struct SQLiteMember: Sendable {
    /// The offset from the start of the members, or nil for a property without storage.
    let offset: Int?
    /// The type of the property. A part of a stored property can have the same offset but not the same type.
    let type: ObjectIdentifier
    let description: String

    init<Row: StreamObject, Value>(_ property: KeyPath<Row, Value>) {
        description = "\(property)"
        type = ObjectIdentifier(Value.self)
        if let offset = MemoryLayout<Row>.offset(of: property) {
            self.offset = offset
        } else if let property = property as? ReferenceWritableKeyPath<Row, Value> {
            offset = Self.objectOffset(property)
        } else {
            offset = nil
        }
    }

    /// Returns the offset of a property in the memory of an object, or an unrelated number for a property without storage.
    private static func objectOffset<Row: StreamObject, Value>(_ property: ReferenceWritableKeyPath<Row, Value>) -> Int?
    {
        let row = Row()
        let object = row as AnyObject
        // SAFETY: the address is used only as a number.
        let start = unsafe UnsafeRawPointer(Unmanaged.passUnretained(object).toOpaque())
        return withExtendedLifetime(object) {
            unsafe withUnsafeMutablePointer(to: &row[keyPath: property]) { unsafe UnsafeRawPointer($0) - start }
        }
    }
}

/// A sink that accepts one scalar.
struct CellSink: CellsOnly {
    private(set) var value: ScalarValue?

    /// Returns the scalar that a value is sent as.
    ///
    /// - Throws: `typeMismatch` for containers; errors of sending the value.
    static func scalar(of value: some StreamValue) throws(StreamError) -> ScalarValue {
        var sink = CellSink()
        try sink.write(cell: value)
        guard let scalar = sink.value else { throw StreamError(.misuse, "expected a value, found none") }
        return scalar
    }

    mutating func write(_ scalar: borrowing StreamScalar) throws(StreamError) { value = ScalarValue(scalar) }
}

/// SQL under construction, with the values for its parameters.
struct SQLiteClause {
    let members: MemberColumns
    let dateFormat: SQLiteDateFormat
    private(set) var sql = ""
    private(set) var values: [SQLiteValue] = []

    init(_ members: MemberColumns, _ dateFormat: SQLiteDateFormat) {
        self.members = members
        self.dateFormat = dateFormat
    }

    mutating func append(_ text: String) { sql += text }

    /// Appends `?` and its value.
    mutating func append(_ value: ScalarValue) throws(SQLiteError) {
        sql += "?"
        values.append(try Self.value(value, dateFormat))
    }

    /// Appends `?` and its value.
    mutating func append(parameter value: SQLiteValue) {
        sql += "?"
        values.append(value)
    }

    /// Appends the name of a property's column.
    mutating func append(_ member: SQLiteMember) throws(SQLiteError) {
        guard let offset = member.offset, let index = members.index(ofOffset: offset, type: member.type) else {
            throw SQLiteError(.misuse, "\(member.description) isn't a stored property with a column")
        }
        sql += try SQLiteName.quoted(members.columns[index].name)
    }

    mutating func append<Row>(_ condition: SQLiteCondition<Row>) throws(SQLiteError) { try append(condition.node) }

    private mutating func append<Row>(_ node: SQLiteCondition<Row>.Node) throws(SQLiteError) {
        guard !StackBounds.isNearEnd else {
            throw SQLiteError(.misuse, "conditions are nested deeper than the thread's stack allows")
        }
        sql += "("
        try appendBare(node)
        sql += ")"
    }

    /// Appends a chain of one operator without parentheses between its parts, since SQLite's parser supports only about a
    /// hundred levels.
    private mutating func append<Row>(chain node: SQLiteCondition<Row>.Node, ofAnd isAnd: Bool) throws(SQLiteError) {
        var waiting = [node]
        var isFirst = true
        while let node = waiting.popLast() {
            switch node {
            case .and(let left, let right) where isAnd, .or(let left, let right) where !isAnd:
                waiting += [right, left]
            default:
                if !isFirst { sql += isAnd ? " AND " : " OR " }
                isFirst = false
                try append(node)
            }
        }
    }

    /// Appends a condition without enclosing parentheses.
    private mutating func appendBare<Row>(_ node: SQLiteCondition<Row>.Node) throws(SQLiteError) {
        switch node {
        case .terms(let terms):
            for term in terms {
                switch term {
                case .text(let text): sql += text
                case .member(let member): try append(member)
                case .value(let value): try append(value)
                }
            }
        case .and: try append(chain: node, ofAnd: true)
        case .or: try append(chain: node, ofAnd: false)
        case .not(let inner):
            sql += "NOT "
            try append(inner)
        case .sql(let text, let parameters):
            sql += text
            values += parameters
        case .invalid(let error):
            throw SQLiteError(error)
        }
    }

    /// Returns SQLite's value for a scalar.
    static func value(_ scalar: ScalarValue, _ dateFormat: SQLiteDateFormat) throws(SQLiteError) -> SQLiteValue {
        switch scalar {
        case .null: return .null
        case .bool(let value): return .integer(value ? 1 : 0)
        case .integer(let value): return .integer(value)
        case .unsigned(let value): return try value.sqliteValue
        case .real(let value): return try value.sqliteValue
        case .string(let value): return .text(value)
        case .data(let value): return .blob(value)
        case .number(let text):
            let kept = try SQLiteError.of { () throws(StreamError) in
                try text.withUTF8Span { (text) throws(StreamError) in try NumberText.kept(text, rounding: true) }
            }
            switch kept {
            case .integer(let value): return .integer(value)
            case .real(let value): return .real(value)
            }
        case .date(let seconds):
            guard let stored = dateFormat.stored(secondsSince2001: seconds) else {
                throw SQLiteError(.mismatch, SQLiteDateFormat.foundOtherYears)
            }
            return stored
        }
    }
}
