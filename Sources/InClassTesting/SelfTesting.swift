// The two protocols by which a type says that it has tests, and how a test gets its fixture.

#if DEBUG || IN_CLASS_TESTS

/// A type that tests itself: it lists its tests, and every build runs them.
///
/// Conform in an extension at the bottom of the type's own file. Structures, classes, enumerations, actors, nested,
/// private and noncopyable types conform alike; a generic type pins every parameter
/// (`extension Table: SelfTesting where Value == Int`). A subclass that inherits the conformance does not run its
/// parent's tests again.
public protocol SelfTesting: ~Copyable, ~Escapable {
    /// The tests of every build, in the order they run.
    static var testSelectors: TestSelectors { get }
    /// Further lists by name, which run when `testlogger --test-type NAME` asks for them.
    static var testSelectorsByType: [TestType: TestSelectors] { get }
}

extension SelfTesting where Self: ~Copyable & ~Escapable {
    /// No further lists.
    public static var testSelectorsByType: [TestType: TestSelectors] { [:] }
}

/// A type whose tests may be instance methods, each of which runs on a fresh fixture.
///
/// Immediately before each test `testFixture()` makes the instance and `setUp()` prepares it; `tearDown()` follows the
/// test, also after a failure. An error thrown by any of the three is a failure of that test and stops no other.
public protocol FixtureTesting: SelfTesting, ~Copyable {
    /// Makes the instance that one test runs on.
    static func testFixture() async throws -> Self
    /// Prepares the fixture; does nothing unless implemented.
    mutating func setUp() async throws
    /// Cleans up after the test, passed or failed, and after a `setUp()` that threw; does nothing unless implemented.
    mutating func tearDown() async throws
}

extension FixtureTesting where Self: ~Copyable {
    /// Does nothing.
    public mutating func setUp() async throws {}
    /// Does nothing.
    public mutating func tearDown() async throws {}

    /// Makes a list entry of a closure that tests a fresh fixture: a mutating or an isolated method, for example.
    ///
    /// ```swift
    /// "testPop": fixture { try $0.testPop() },
    /// ```
    public static func fixture(_ test: @escaping @Sendable (inout Self) async throws -> Void) -> TestBody
    where Self: SendableMetatype {
        {
            var instance: Self
            do { instance = try await testFixture() } catch {
                return try recordThrown(error, from: "testFixture()")
            }
            do {
                try await instance.setUp()
                try await test(&instance)
            } catch {
                await tearDown(&instance)
                throw error
            }
            await tearDown(&instance)
        }
    }

    private static func tearDown(_ instance: inout Self) async {
        do { try await instance.tearDown() } catch {
            try? recordThrown(error, from: "tearDown()")
        }
    }
}

extension FixtureTesting {
    /// Makes a list entry of an instance method that tests a fresh fixture.
    ///
    /// ```swift
    /// "testPush": fixture(testPush),
    /// ```
    public static func fixture(_ test: @escaping @Sendable (Self) -> () async throws -> Void) -> TestBody
    where Self: SendableMetatype {
        fixture { (instance: inout Self) in try await test(instance)() }
    }
}

#endif
