// Defines the lists of a type's tests. WorkerMain reads them.

#if DEBUG || IN_CLASS_TESTS

/// A test in a list: a function without parameters that may be asynchronous and may throw.
///
/// The function doesn't have to be `@Sendable`, because the tests in a process run one at a time. Therefore it can also
/// be a method in Swift 5 mode, where methods aren't `@Sendable`.
public typealias TestBody = () async throws -> Void

/// A list of named tests, written as a dictionary literal. Tests run in the order of the literal.
///
/// ```swift
/// public static var testSelectors: TestSelectors { [
///     "testStartsEmpty": testStartsEmpty,
///     "testPush": fixture(testPush),
/// ] }
/// ```
/// Write a computed `static var`. The compiler then checks the list only once, and not again after edits in other
/// places.
public struct TestSelectors: ExpressibleByDictionaryLiteral, @unchecked Sendable {
    // SAFETY: the creator of a list transfers its bodies, and one task at a time calls them. A body that is isolated to an
    // actor switches to the actor itself when it is called.
    package private(set) var entries: [Entry]

    /// A test of a list.
    package struct Entry {
        package var name: String
        package var body: TestBody
        /// The time limit, or nil for the limit of its type.
        package var timeLimit: Duration?
        /// The row of a table, or nil if the test doesn't belong to a table.
        package var row: TableRow?
    }

    /// A row of a table of cases.
    package struct TableRow {
        /// The name of the table.
        package var table: String
        /// The index of the row, from 0.
        package var index: Int
    }

    package init(entries: [Entry]) { self.entries = entries }

    /// Creates a list from names and functions, in the given order.
    public init(dictionaryLiteral elements: (String, TestBody)...) { self.init(elements) }

    /// Creates a list from names and functions that are computed at run time. For the rows of a table, use
    /// ``each(_:_:named:_:)``.
    ///
    /// The names must be the same each time the list is created.
    /// - Complexity: O(number of tests).
    public init(_ elements: [(String, TestBody)]) {
        // PERF: most names have no control characters. A search by scalars is slow in a debug build.
        entries = elements.map { name, body in
            Entry(name: name.utf8.contains { $0 < 0x20 || $0 == 0x7F } ? escaped(name) : name, body: body)
        }
    }

    /// Returns the tests of one list followed by the tests of another list.
    public static func + (first: TestSelectors, second: TestSelectors) -> TestSelectors {
        TestSelectors(entries: first.entries + second.entries)
    }

    /// Returns the tests of a list with a time limit for each test. This limit replaces the limit of the type and of
    /// the option `--timeout`.
    ///
    /// ```swift
    /// ["slow": .timeLimit(.seconds(60), ["testMillionPushes": testMillionPushes])]
    /// ```
    public static func timeLimit(_ limit: Duration, _ tests: TestSelectors) -> TestSelectors {
        var list = tests
        for index in list.entries.indices { list.entries[index].timeLimit = limit }
        return list
    }
}

extension Duration {
    /// The whole milliseconds, rounded away from zero and limited to the range of `Int`.
    var milliseconds: Int {
        let step: Int128 = 1_000_000_000_000_000
        return Int(clamping: (attoseconds + (attoseconds < 0 ? 1 - step : step - 1)) / step)
    }
}

/// The name of a list of tests, such as `slow` or `network`. Lists other than ``unit`` run only on request.
public struct TestType: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
    /// The name, which is the argument of the option `--test-type`.
    public let name: String

    /// Creates a test type of this name.
    public init(_ name: String) { self.name = name }
    /// Creates a test type of this name.
    public init(stringLiteral name: String) { self.name = name }

    /// The name of the list in `testSelectors`, whose tests builds run.
    public static let unit = TestType("unit")

    /// The name.
    public var description: String { name }
}

// MARK: - In-class tests

#if SELF_TESTS
extension TestSelectors: SelfTesting {
    public static var testSelectors: TestSelectors {
        [
            "testKeepsOrderAndDuplicates": testKeepsOrderAndDuplicates, "testKeepsTimeLimits": testKeepsTimeLimits,
        ] + .each("testRoundsLimitsAwayFromZero", limits) { expectEqual($0.milliseconds, $1) }
    }

    private static let limits: [(Duration, Int)] = [
        (.zero, 0), (.milliseconds(5), 5), (.seconds(60), 60_000), (.nanoseconds(1), 1), (.nanoseconds(-1), -1),
        (.microseconds(1001), 2), (.milliseconds(-5), -5), (.seconds(Int64.max), .max), (.seconds(Int64.min), .min),
        (.milliseconds(Int.max), .max), (.milliseconds(Int.min), .min),
    ]

    private static func testKeepsOrderAndDuplicates() {
        let list: TestSelectors = ["b": {}, "a": {}, "b": {}]
        expectEqual(list.entries.map(\.name), ["b", "a", "b"])
        let body: TestBody = {}
        expectEqual(TestSelectors([("x", body)]).entries.map(\.name), ["x"])
    }

    private static func testKeepsTimeLimits() {
        let lists: [TestType: TestSelectors] = ["slow": .timeLimit(.milliseconds(50), ["a": {}])]
        expectEqual(lists["slow"]?.entries.map(\.timeLimit), [.milliseconds(50)])
        expectEqual(lists["slow"]?.entries.map(\.name), ["a"])
        let joined: TestSelectors = ["a": {}] + .timeLimit(.milliseconds(50), ["b": {}]) + ["c": {}]
        expectEqual(joined.entries.map(\.name), ["a", "b", "c"])
        expectEqual(joined.entries.map(\.timeLimit), [nil, .milliseconds(50), nil])
    }
}
#endif

#endif
