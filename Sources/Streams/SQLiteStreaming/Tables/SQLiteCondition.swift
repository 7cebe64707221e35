// Conditions for rows in Swift: key paths and operators, whose values are bound as parameters.

import PlistBuilding
import PlistStreaming

/// A condition for the rows of a type, such as `\.age > 30 && \.name == "Ada"`.
///
/// A key path represents the column of its property, which must be stored and a member of the type. Values are bound as
/// parameters, and dates are compared in the table's format. `==` and `!=` treat nil like any other value, as in Swift; the
/// other operators are never true for nil. Text is compared by its UTF-8 bytes, and so by Unicode scalars.
public struct SQLiteCondition<Row: StreamObject>: Sendable {
    /// A part of the SQL of a comparison.
    enum Term: Sendable {
        case text(String)
        case member(SQLiteMember)
        case value(ScalarValue)
    }

    indirect enum Node: Sendable {
        case terms([Term])
        case and(Node, Node)
        case or(Node, Node)
        case not(Node)
        case sql(String, [SQLiteValue])
        /// A value that can't be bound. Using the condition throws the error.
        case invalid(StreamError)
    }

    let node: Node
    private let depth: Int
    /// SQLite's own default limit. A condition that exceeds it is invalid.
    private static var depthLimit: Int { 1_000 }

    init(_ node: Node) { (self.node, depth) = (node, 1) }

    /// Joins conditions whose maximum depth is given.
    private init(_ node: Node, over depth: Int) {
        let isTooDeep = depth >= Self.depthLimit
        let error = StreamError(.limitExceeded, "conditions are nested deeper than \(Self.depthLimit)")
        self.node = isTooDeep ? .invalid(error) : node
        self.depth = isTooDeep ? 1 : depth + 1
    }

    init<Value: StreamValue>(
        _ property: KeyPath<Row, Value>, _ symbol: String, _ value: some StreamValue
    ) {
        self.init { () throws(StreamError) in
            .terms([
                .member(SQLiteMember(property)), .text(" \(symbol) "), .value(try CellSink.scalar(of: value)),
            ])
        }
    }

    /// Makes a condition from values that may not be bindable.
    private init(_ node: () throws(StreamError) -> Node) {
        do throws(StreamError) { self.init(try node()) } catch { self.init(.invalid(error)) }
    }

    /// Makes a condition from SQL with values for its `?`, for everything that has no operator.
    ///
    /// ```swift
    /// try tasks.fetchAll(where: .sql("length(title) > ?", [20]))
    /// ```
    public static func sql(_ text: String, _ values: [SQLiteValue] = []) -> SQLiteCondition {
        SQLiteCondition(.sql(text, values))
    }

    /// Returns whether a column matches an SQL pattern, where `%` is any text and `_` any character. ASCII case is ignored.
    public static func like(_ property: KeyPath<Row, String>, _ pattern: String) -> SQLiteCondition {
        SQLiteCondition(property, "LIKE", pattern)
    }

    /// Returns whether a column matches an SQL pattern; never true for nil.
    public static func like(_ property: KeyPath<Row, String?>, _ pattern: String) -> SQLiteCondition {
        SQLiteCondition(property, "LIKE", pattern)
    }

    /// Returns whether the value of a column is equal to one of several values, each of which is a parameter.
    public static func isIn<Value: StreamValue>(
        _ property: KeyPath<Row, Value>, _ values: some Sequence<Value>
    ) -> SQLiteCondition {
        SQLiteCondition { () throws(StreamError) in
            var terms: [Term] = []
            for value in values { terms += [.text(", "), .value(try CellSink.scalar(of: value))] }
            return .terms([.member(SQLiteMember(property)), .text(" IN (")] + terms.dropFirst() + [.text(")")])
        }
    }

    /// Returns whether the value of a column is within a range, including its ends.
    public static func between<Value: StreamValue & Comparable>(
        _ property: KeyPath<Row, Value>, _ range: ClosedRange<Value>
    ) -> SQLiteCondition {
        SQLiteCondition { () throws(StreamError) in
            .terms([
                .member(SQLiteMember(property)), .text(" BETWEEN "), .value(try CellSink.scalar(of: range.lowerBound)),
                .text(" AND "), .value(try CellSink.scalar(of: range.upperBound)),
            ])
        }
    }

    /// Returns whether both conditions hold.
    public static func && (left: SQLiteCondition, right: SQLiteCondition) -> SQLiteCondition {
        SQLiteCondition(.and(left.node, right.node), over: max(left.depth, right.depth))
    }

    /// Returns whether at least one of the conditions holds.
    public static func || (left: SQLiteCondition, right: SQLiteCondition) -> SQLiteCondition {
        SQLiteCondition(.or(left.node, right.node), over: max(left.depth, right.depth))
    }

    /// Returns whether the condition doesn't hold. For nil, a condition and its negation can both be false.
    public static prefix func ! (condition: SQLiteCondition) -> SQLiteCondition {
        SQLiteCondition(.not(condition.node), over: condition.depth)
    }
}

/// Returns whether a column is equal to a value; nil is a value like any other.
public func == <Row: StreamObject, Value: StreamValue>(
    property: KeyPath<Row, Value>, value: Value
) -> SQLiteCondition<Row> { SQLiteCondition(property, "IS", value) }

/// Returns whether a column is different from a value; nil is a value like any other.
public func != <Row: StreamObject, Value: StreamValue>(
    property: KeyPath<Row, Value>, value: Value
) -> SQLiteCondition<Row> { SQLiteCondition(property, "IS NOT", value) }

/// Returns whether a column is less than a value.
public func < <Row: StreamObject, Value: StreamValue & Comparable>(
    property: KeyPath<Row, Value>, value: Value
) -> SQLiteCondition<Row> { SQLiteCondition(property, "<", value) }

/// Returns whether a column is less than or equal to a value.
public func <= <Row: StreamObject, Value: StreamValue & Comparable>(
    property: KeyPath<Row, Value>, value: Value
) -> SQLiteCondition<Row> { SQLiteCondition(property, "<=", value) }

/// Returns whether a column is greater than a value.
public func > <Row: StreamObject, Value: StreamValue & Comparable>(
    property: KeyPath<Row, Value>, value: Value
) -> SQLiteCondition<Row> { SQLiteCondition(property, ">", value) }

/// Returns whether a column is greater than or equal to a value.
public func >= <Row: StreamObject, Value: StreamValue & Comparable>(
    property: KeyPath<Row, Value>, value: Value
) -> SQLiteCondition<Row> { SQLiteCondition(property, ">=", value) }

/// Returns whether a column is less than a value; never true for nil.
public func < <Row: StreamObject, Value: StreamValue & Comparable>(
    property: KeyPath<Row, Value?>, value: Value
) -> SQLiteCondition<Row> { SQLiteCondition(property, "<", value) }

/// Returns whether a column is less than or equal to a value; never true for nil.
public func <= <Row: StreamObject, Value: StreamValue & Comparable>(
    property: KeyPath<Row, Value?>, value: Value
) -> SQLiteCondition<Row> { SQLiteCondition(property, "<=", value) }

/// Returns whether a column is greater than a value; never true for nil.
public func > <Row: StreamObject, Value: StreamValue & Comparable>(
    property: KeyPath<Row, Value?>, value: Value
) -> SQLiteCondition<Row> { SQLiteCondition(property, ">", value) }

/// Returns whether a column is greater than or equal to a value; never true for nil.
public func >= <Row: StreamObject, Value: StreamValue & Comparable>(
    property: KeyPath<Row, Value?>, value: Value
) -> SQLiteCondition<Row> { SQLiteCondition(property, ">=", value) }

/// The sort order of rows by one column.
public struct SQLiteOrder<Row: StreamObject>: Sendable {
    let member: SQLiteMember
    let isDescending: Bool

    /// Sorts from the smallest value to the largest; nil comes first.
    public static func ascending<Value: StreamValue>(_ property: KeyPath<Row, Value>) -> SQLiteOrder {
        SQLiteOrder(member: SQLiteMember(property), isDescending: false)
    }

    /// Sorts from the largest value to the smallest; nil comes last.
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
        SQLiteAssignment(
            member: SQLiteMember(property),
            value: Result { () throws(StreamError) in try CellSink.scalar(of: value) })
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
            "testJoinsManyConditions": testJoinsManyConditions,
            "testRefusesPropertiesWithoutColumn": testRefusesPropertiesWithoutColumn,
            "testCanBeSentToOtherTasks": testCanBeSentToOtherTasks,
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
                try table.fetchAll(where: condition, orderedBy: .ascending(\.id)).map(\.id), ids, "condition \(number)")
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

    private static func testJoinsManyConditions() throws {
        let table = try animals()
        for count in [2, 99, 101, 900] {
            let ages = (0..<count).map { $0 == count / 2 ? 7 : 100 + $0 }
            var (leftward, rightward, all):
                (SQLiteCondition<Animal>, SQLiteCondition<Animal>, SQLiteCondition<Animal>) =
                    (\.age == ages[0], \.age == ages[0], \.age != ages[0])
            for age in ages.dropFirst() {
                leftward = leftward || \.age == age
                rightward = \.age == age || rightward
                all = all && \.age != age
            }
            expectEqual(try table.fetchAll(where: leftward).map(\.id), [3], "\(count) joined from the left")
            expectEqual(try table.fetchAll(where: rightward).map(\.id), [3], "\(count) joined from the right")
            expectEqual(try table.fetchAll(where: all).map(\.id), [1, 2, 4], "\(count) that all hold")
        }
        var condition: SQLiteCondition<Animal> = \.age == 0
        for age in 0..<100_000 { condition = condition || \.age == age }
        let error = expectThrows(SQLiteError.self, "too many") { _ = try table.count(where: condition) }
        expectTrue(error?.message.contains("deeper than 1000") == true, "\(error as Any)")
    }

    private static func testRefusesPropertiesWithoutColumn() throws {
        let error = expectThrows(SQLiteError.self, "a computed property") {
            _ = try animals().count(where: \.described == "x")
        }
        expectEqual(error?.code, .misuse, "code")
    }

    private static func testCanBeSentToOtherTasks() async throws {
        let condition: SQLiteCondition<Animal> = \.age > 7
        let count = try await Task.detached { try animals().count(where: condition) }.value
        expectEqual(count, 2, "rows found in another task")
    }

    private static func testOrdersAndLimits() throws {
        let table = try animals()
        expectEqual(
            try table.fetchAll(orderedBy: .descending(\.isTame), .ascending(\.age)).map(\.id), [1, 3, 2, 4], "order")
        expectEqual(try table.fetchAll(orderedBy: .descending(\.id), limit: 2, offset: 1).map(\.id), [3, 2], "a part")
        expectEqual(try table.fetchAll(limit: 0), [], "nothing")
        expectEqual(try table.fetchAll(orderedBy: .ascending(\.weight), offset: 1).count, 3, "without the first")
        var trace = EventTrace()
        try table.send(where: \.id == 2, to: &trace)
        expectEqual(
            trace.text,
            #"[ { key "id" integer 2 key "name" string "Bär" key "age" integer 12 key "note" null key "weight" null "#
                + #"key "isTame" false } ]"#, "messages")
    }
}
#endif
