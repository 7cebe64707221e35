// Conditions of rows in Swift: key paths and operators, whose values are bound as parameters.

import PlistBuilding
import PlistStreaming

/// A condition of the rows of a type, such as `\.age > 30 && \.name == "Ada"`.
///
/// A key path stands for the column of its property, which must be stored and a member of the type. Values are bound as
/// parameters, and dates are compared as the table stores them. `==` and `!=` treat nil like any other value, as in Swift; the
/// other operators are never true for nil. Text is compared by its UTF-8 bytes, so by Unicode scalars.
public struct SQLiteCondition<Row: StreamObject>: Sendable {
    indirect enum Node: Sendable {
        case compare(SQLiteMember, String, ScalarValue)
        case isIn(SQLiteMember, [ScalarValue])
        case between(SQLiteMember, ScalarValue, ScalarValue)
        case like(SQLiteMember, String)
        case and(Node, Node)
        case or(Node, Node)
        case not(Node)
        case sql(String, [SQLiteValue])
        /// A value that cannot be bound, which is thrown when the condition is used.
        case invalid(StreamError)
    }

    let node: Node

    init(_ node: Node) { self.node = node }

    init<Value: StreamValue>(
        _ property: KeyPath<Row, Value>, _ symbol: String, _ value: some StreamValue
    ) {
        do throws(StreamError) {
            node = .compare(SQLiteMember(property), symbol, try ScalarSink.scalar(of: value))
        } catch {
            node = .invalid(error)
        }
    }

    /// A condition in SQL, with values for its `?`; the escape for everything that has no operator.
    ///
    /// ```swift
    /// try tasks.select(where: .sql("length(title) > ?", [20]))
    /// ```
    public static func sql(_ text: String, _ values: [SQLiteValue] = []) -> SQLiteCondition {
        SQLiteCondition(.sql(text, values))
    }

    /// Whether a column matches a pattern of SQL, in which `%` is any text and `_` any character; ASCII case is ignored.
    public static func like(_ property: KeyPath<Row, String>, _ pattern: String) -> SQLiteCondition {
        SQLiteCondition(.like(SQLiteMember(property), pattern))
    }

    /// Whether a column matches a pattern of SQL; never for nil.
    public static func like(_ property: KeyPath<Row, String?>, _ pattern: String) -> SQLiteCondition {
        SQLiteCondition(.like(SQLiteMember(property), pattern))
    }

    /// Whether the value of a column is one of some; each is a parameter.
    public static func isIn<Value: StreamValue>(
        _ property: KeyPath<Row, Value>, _ values: some Sequence<Value>
    ) -> SQLiteCondition {
        do throws(StreamError) {
            var scalars: [ScalarValue] = []
            for value in values { scalars.append(try ScalarSink.scalar(of: value)) }
            return SQLiteCondition(.isIn(SQLiteMember(property), scalars))
        } catch {
            return SQLiteCondition(.invalid(error))
        }
    }

    /// Whether the value of a column is within a range, ends included.
    public static func between<Value: StreamValue & Comparable>(
        _ property: KeyPath<Row, Value>, _ range: ClosedRange<Value>
    ) -> SQLiteCondition {
        do throws(StreamError) {
            return SQLiteCondition(
                .between(
                    SQLiteMember(property), try ScalarSink.scalar(of: range.lowerBound),
                    try ScalarSink.scalar(of: range.upperBound)))
        } catch {
            return SQLiteCondition(.invalid(error))
        }
    }

    /// Whether both conditions hold.
    public static func && (left: SQLiteCondition, right: SQLiteCondition) -> SQLiteCondition {
        SQLiteCondition(.and(left.node, right.node))
    }

    /// Whether one of the conditions holds.
    public static func || (left: SQLiteCondition, right: SQLiteCondition) -> SQLiteCondition {
        SQLiteCondition(.or(left.node, right.node))
    }

    /// Whether the condition does not hold; for values that are nil, neither may.
    public static prefix func ! (condition: SQLiteCondition) -> SQLiteCondition {
        SQLiteCondition(.not(condition.node))
    }
}

/// Whether a column has a value; nil is a value like any other.
public func == <Row: StreamObject, Value: StreamValue>(
    property: KeyPath<Row, Value>, value: Value
) -> SQLiteCondition<Row> { SQLiteCondition(property, "IS", value) }

/// Whether a column has another value; nil is a value like any other.
public func != <Row: StreamObject, Value: StreamValue>(
    property: KeyPath<Row, Value>, value: Value
) -> SQLiteCondition<Row> { SQLiteCondition(property, "IS NOT", value) }

/// Whether a column has a smaller value.
public func < <Row: StreamObject, Value: StreamValue & Comparable>(
    property: KeyPath<Row, Value>, value: Value
) -> SQLiteCondition<Row> { SQLiteCondition(property, "<", value) }

/// Whether a column has a smaller value or this one.
public func <= <Row: StreamObject, Value: StreamValue & Comparable>(
    property: KeyPath<Row, Value>, value: Value
) -> SQLiteCondition<Row> { SQLiteCondition(property, "<=", value) }

/// Whether a column has a greater value.
public func > <Row: StreamObject, Value: StreamValue & Comparable>(
    property: KeyPath<Row, Value>, value: Value
) -> SQLiteCondition<Row> { SQLiteCondition(property, ">", value) }

/// Whether a column has a greater value or this one.
public func >= <Row: StreamObject, Value: StreamValue & Comparable>(
    property: KeyPath<Row, Value>, value: Value
) -> SQLiteCondition<Row> { SQLiteCondition(property, ">=", value) }

/// Whether a column has a smaller value; never for nil.
public func < <Row: StreamObject, Value: StreamValue & Comparable>(
    property: KeyPath<Row, Value?>, value: Value
) -> SQLiteCondition<Row> { SQLiteCondition(property, "<", value) }

/// Whether a column has a smaller value or this one; never for nil.
public func <= <Row: StreamObject, Value: StreamValue & Comparable>(
    property: KeyPath<Row, Value?>, value: Value
) -> SQLiteCondition<Row> { SQLiteCondition(property, "<=", value) }

/// Whether a column has a greater value; never for nil.
public func > <Row: StreamObject, Value: StreamValue & Comparable>(
    property: KeyPath<Row, Value?>, value: Value
) -> SQLiteCondition<Row> { SQLiteCondition(property, ">", value) }

/// Whether a column has a greater value or this one; never for nil.
public func >= <Row: StreamObject, Value: StreamValue & Comparable>(
    property: KeyPath<Row, Value?>, value: Value
) -> SQLiteCondition<Row> { SQLiteCondition(property, ">=", value) }

/// The order of rows by one column.
public struct SQLiteOrder<Row: StreamObject>: Sendable {
    let member: SQLiteMember
    let isDescending: Bool

    /// From the smallest value up; nil comes first.
    public static func ascending<Value: StreamValue>(_ property: KeyPath<Row, Value>) -> SQLiteOrder {
        SQLiteOrder(member: SQLiteMember(property), isDescending: false)
    }

    /// From the largest value down; nil comes last.
    public static func descending<Value: StreamValue>(_ property: KeyPath<Row, Value>) -> SQLiteOrder {
        SQLiteOrder(member: SQLiteMember(property), isDescending: true)
    }
}

/// A new value for a column, as in `.set(\.done, true)`.
public struct SQLiteAssignment<Row: StreamObject>: Sendable {
    let member: SQLiteMember
    let value: Result<ScalarValue, StreamError>

    /// Sets the column of a property to a value.
    public static func set<Value: StreamValue>(_ property: KeyPath<Row, Value>, _ value: Value) -> SQLiteAssignment {
        let result: Result<ScalarValue, StreamError>
        do throws(StreamError) {
            result = .success(try ScalarSink.scalar(of: value))
        } catch {
            result = .failure(error)
        }
        return SQLiteAssignment(member: SQLiteMember(property), value: result)
    }
}

/// A property by the place where it is stored, which unlike its key path crosses tasks.
struct SQLiteMember: Sendable {
    /// The offset from the start of the members; nil for a property without storage.
    let offset: Int?
    let description: String

    init<Row: StreamObject, Value>(_ property: KeyPath<Row, Value>) {
        description = "\(property)"
        if let offset = MemoryLayout<Row>.offset(of: property) {
            self.offset = offset
        } else if let property = property as? ReferenceWritableKeyPath<Row, Value> {
            offset = Self.objectOffset(property)
        } else {
            offset = nil
        }
    }

    /// The offset of a property in the memory of an object, or some other number when it has no storage there.
    private static func objectOffset<Row: StreamObject, Value>(_ property: ReferenceWritableKeyPath<Row, Value>) -> Int?
    {
        let row = Row()
        let object = row as AnyObject
        // SAFETY: only the address is used, as a number.
        let start = unsafe UnsafeRawPointer(Unmanaged.passUnretained(object).toOpaque())
        return withExtendedLifetime(object) {
            unsafe withUnsafeMutablePointer(to: &row[keyPath: property]) { unsafe UnsafeRawPointer($0) - start }
        }
    }
}

/// A sink that takes one scalar.
struct ScalarSink: PlistSink {
    private(set) var value: ScalarValue?

    /// Returns the scalar that a value is sent as.
    ///
    /// - Throws: `typeMismatch` for containers, what sending the value throws.
    static func scalar(of value: some StreamValue) throws(StreamError) -> ScalarValue {
        var sink = ScalarSink()
        try sink.write(cell: value)
        guard let scalar = sink.value else { throw StreamError(.misuse, "the value sent nothing") }
        return scalar
    }

    mutating func writeNull() throws(StreamError) { value = .null }
    mutating func writeBool(_ value: Bool) throws(StreamError) { self.value = .bool(value) }
    mutating func writeInteger(_ value: Int64) throws(StreamError) { self.value = .integer(value) }
    mutating func writeUnsigned(_ value: UInt64) throws(StreamError) { self.value = .unsigned(value) }
    mutating func writeReal(_ value: Double) throws(StreamError) { self.value = .real(value) }
    mutating func writeDate(secondsSince2001 seconds: Double) throws(StreamError) { value = .date(seconds) }
    mutating func writeNumber(text: RawSpan) throws(StreamError) { value = .number(String(validating: text) ?? "") }
    mutating func writeString(_ utf8: RawSpan) throws(StreamError) { value = .string(String(validating: utf8) ?? "") }
    mutating func writeData(_ bytes: RawSpan) throws(StreamError) { value = .data(Array(copying: bytes)) }
    mutating func beginArray() throws(StreamError) { throw RowBuffer.refusal("an array") }
    mutating func endArray() throws(StreamError) { throw RowBuffer.refusal("an array") }
    mutating func beginDictionary() throws(StreamError) { throw RowBuffer.refusal("a dictionary") }
    mutating func endDictionary() throws(StreamError) { throw RowBuffer.refusal("a dictionary") }
    mutating func writeKey(_ utf8: RawSpan) throws(StreamError) { throw RowBuffer.refusal("a dictionary") }
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
        guard let offset = member.offset, let index = members.index(ofOffset: offset) else {
            throw SQLiteError(.misuse, "\(member.description) is no stored property that is a column")
        }
        sql += try SQLiteName.quoted(members.columns[index].name)
    }

    mutating func append<Row>(_ condition: SQLiteCondition<Row>) throws(SQLiteError) { try append(condition.node) }

    private mutating func append<Row>(_ node: SQLiteCondition<Row>.Node) throws(SQLiteError) {
        sql += "("
        switch node {
        case .compare(let member, let symbol, let value):
            try append(member)
            sql += " \(symbol) "
            try append(value)
        case .isIn(let member, let scalars):
            try append(member)
            sql += " IN ("
            for (index, scalar) in scalars.enumerated() {
                if index > 0 { sql += ", " }
                try append(scalar)
            }
            sql += ")"
        case .between(let member, let low, let high):
            try append(member)
            sql += " BETWEEN "
            try append(low)
            sql += " AND "
            try append(high)
        case .like(let member, let pattern):
            try append(member)
            sql += " LIKE "
            try append(.string(pattern))
        case .and(let left, let right):
            try append(left)
            sql += " AND "
            try append(right)
        case .or(let left, let right):
            try append(left)
            sql += " OR "
            try append(right)
        case .not(let inner):
            sql += "NOT "
            try append(inner)
        case .sql(let text, let parameters):
            sql += text
            values += parameters
        case .invalid(let error):
            throw SQLiteError(error)
        }
        sql += ")"
    }

    /// The value that SQLite has for a scalar.
    static func value(_ scalar: ScalarValue, _ dateFormat: SQLiteDateFormat) throws(SQLiteError) -> SQLiteValue {
        switch scalar {
        case .null: return .null
        case .bool(let value): return .integer(value ? 1 : 0)
        case .integer(let value): return .integer(value)
        case .unsigned(let value): return try value.sqliteValue
        case .real(let value): return try value.sqliteValue
        case .string(let value): return .text(value)
        case .data(let value): return .blob(value)
        case .number: throw SQLiteError(.mismatch, "expected a number that 64 bits hold, found a longer one")
        case .date(let seconds):
            switch dateFormat {
            case .secondsSince1970: return .real(seconds + secondsFrom1970To2001)
            case .secondsSince2001: return .real(seconds)
            case .text:
                guard let text = DateText.text(secondsSince2001: seconds) else {
                    throw SQLiteError(.mismatch, "expected a date of the years 0 to 9999, found another one")
                }
                return .text(text)
            }
        }
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

enum SQLiteConditionTests {
    struct Animal: StreamObject, Equatable {
        var id = 0
        var name = ""
        var age = 0
        var note: String? = nil
        var weight: Double? = nil
        var isTame = false
        var described: String { name + "!" }
    }

    static func animals() throws -> SQLiteTable<Animal> {
        let table = try SQLiteTable<Animal>(try SQLiteConnection.inMemory(), "animals")
        try table.insert([
            Animal(id: 1, name: "Ämmer", age: 3, note: "x", weight: 1.5, isTame: true),
            Animal(id: 2, name: "Bär", age: 12), Animal(id: 3, name: "cat", age: 7, note: "", weight: 4, isTame: true),
            Animal(id: 4, name: "O'Hara \"; DROP TABLE animals", age: 30, weight: 0),
        ])
        return table
    }
}

extension SQLiteConditionTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testComparesColumns": testComparesColumns,
            "testBindsEveryValue": testBindsEveryValue,
            "testRefusesPropertiesThatAreNoColumns": testRefusesPropertiesThatAreNoColumns,
            "testCrossesTasks": testCrossesTasks,
            "testOrdersAndLimits": testOrdersAndLimits,
        ]
    }

    private static func testComparesColumns() throws {
        let table = try animals()
        let rows: [(SQLiteCondition<Animal>, [Int])] = [
            (\.age > 7, [2, 4]), (\.age >= 7, [2, 3, 4]), (\.age < 7, [1]), (\.age <= 7, [1, 3]), (\.age == 7, [3]),
            (\.age != 7, [1, 2, 4]), (\.note == nil, [2, 4]), (\.note != nil, [1, 3]), (\.note == "x", [1]),
            (\.note != "x", [2, 3, 4]), (\.weight > 0, [1, 3]), (\.weight <= 1.5, [1, 4]), (\.weight < 0, []),
            (\.weight >= 4, [3]), (\.isTame == true, [1, 3]), (!(\.isTame == true), [2, 4]),
            (\.age > 3 && \.age < 12 || \.name == "Bär", [2, 3]), (.isIn(\.id, [4, 1, 9]), [1, 4]),
            (.isIn(\.id, []), []), (.between(\.age, 3...7), [1, 3]), (.like(\.name, "%ä%"), [2]),
            (.like(\.note, "X"), [1]), (.sql("length(name) = ?", [3]) && \.age > 7, [2]),
            (\.name == "O'Hara \"; DROP TABLE animals", [4]), (\.name > "cat", [1]), (\.name < "a", [2, 4]),
        ]
        for (number, (condition, ids)) in rows.enumerated() {
            expectEqual(
                try table.select(where: condition, orderedBy: .ascending(\.id)).map(\.id), ids, "condition \(number)")
            expectEqual(try table.count(where: condition), ids.count, "count of condition \(number)")
        }
    }

    private static func testBindsEveryValue() throws {
        let table = try animals()
        var clause = SQLiteClause(table.members, .text)
        try clause.append(\Animal.age > 3 && (\Animal.name == "x" || .isIn(\.id, [1, 2])))
        expectEqual(clause.sql, #"(("age" > ?) AND (("name" IS ?) OR ("id" IN (?, ?))))"#, "SQL")
        expectEqual(clause.values, [3, "x", 1, 2], "values")
        let error = expectThrows(SQLiteError.self, "NaN") { _ = try table.count(where: \.weight == .nan) }
        expectEqual(error?.code, .mismatch, "code")
    }

    private static func testRefusesPropertiesThatAreNoColumns() throws {
        let error = expectThrows(SQLiteError.self, "a computed property") {
            _ = try animals().count(where: \.described == "x")
        }
        expectEqual(error?.code, .misuse, "code")
    }

    private static func testCrossesTasks() async throws {
        let condition: SQLiteCondition<Animal> = \.age > 7
        let count = try await Task.detached { try animals().count(where: condition) }.value
        expectEqual(count, 2, "rows found in another task")
    }

    private static func testOrdersAndLimits() throws {
        let table = try animals()
        expectEqual(
            try table.select(orderedBy: .descending(\.isTame), .ascending(\.age)).map(\.id), [1, 3, 2, 4], "order")
        expectEqual(try table.select(orderedBy: .descending(\.id), limit: 2, offset: 1).map(\.id), [3, 2], "a part")
        expectEqual(try table.select(limit: 0), [], "nothing")
        expectEqual(try table.select(orderedBy: .ascending(\.weight), offset: 1).count, 3, "without the first")
        var trace = EventTrace()
        try table.send(where: \.id == 2, to: &trace)
        expectEqual(
            trace.text,
            #"[ { key "id" integer 2 key "name" string "Bär" key "age" integer 12 key "note" null key "weight" null "#
                + #"key "isTame" false } ]"#, "messages")
    }
}
#endif
