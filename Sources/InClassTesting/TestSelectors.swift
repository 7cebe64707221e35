// The lists in which a type names its tests. Who reads them is TestWorker's business.

#if DEBUG || IN_CLASS_TESTS

/// A test as it is listed: a function without parameters that may be asynchronous and may throw.
public typealias TestBody = @Sendable () async throws -> Void

/// A list of named tests, written as a dictionary literal and run in the order it is written.
///
/// ```swift
/// public static var testSelectors: TestSelectors { [
///     "testStartsEmpty": testStartsEmpty,
///     "testPush": fixture(testPush),
/// ] }
/// ```
/// Write a computed `static var`: the compiler then checks the list once, not once more for each edit elsewhere.
public struct TestSelectors: ExpressibleByDictionaryLiteral, Sendable {
    package let entries: [(name: String, body: TestBody)]
    /// How long each of these tests may take, or nil for the limit of their type.
    package private(set) var timeoutMilliseconds: Int?

    /// Creates a list of the given names and functions, in this order.
    public init(dictionaryLiteral elements: (String, TestBody)...) {
        entries = elements.map { (name: $0.0, body: $0.1) }
    }

    /// Creates a list from names and functions made at run time, such as the rows of a table.
    ///
    /// - Complexity: O(number of tests).
    public init(_ elements: [(String, TestBody)]) {
        entries = elements.map { (name: $0.0, body: $0.1) }
    }

    /// The same tests, each of which may take so long.
    ///
    /// ```swift
    /// ["slow": ["testMillionPushes": testMillionPushes].timeout(milliseconds: 60_000)]
    /// ```
    public func timeout(milliseconds: Int) -> TestSelectors {
        var list = self
        list.timeoutMilliseconds = milliseconds
        return list
    }
}

/// A name for a list of tests that runs only when it is asked for, such as `slow` or `network`.
public struct TestType: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
    /// The name as `testlogger --test-type` takes it.
    public let name: String

    /// Creates a test type of this name.
    public init(_ name: String) { self.name = name }
    /// Creates a test type of this name.
    public init(stringLiteral name: String) { self.name = name }

    /// The tests in `testSelectors`, which run in every build.
    public static let unit = TestType("unit")

    /// The name.
    public var description: String { name }
}

#endif
