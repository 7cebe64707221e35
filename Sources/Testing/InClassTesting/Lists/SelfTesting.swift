// Declares the two protocols for types with tests, and creates the fixture of each test.

#if DEBUG || IN_CLASS_TESTS

/// A type that lists its own tests, which builds run.
///
/// Conform a type in an extension at the bottom of its own file. Structures, classes, enumerations and actors conform
/// in the same way, even if they are nested, private or noncopyable. The extension of a generic type must fix every
/// parameter: `extension Table: SelfTesting where Value == Int`.
///
/// To give a subclass its own tests, override `testSelectors`. The superclass must declare `testSelectors` as
/// `class var` in the class body. If a subclass doesn't override a class property, it runs no tests of its own.
public protocol SelfTesting: ~Copyable, ~Escapable {
    /// The tests that builds run, in the usual order.
    static var testSelectors: TestSelectors { get }
    /// The lists that run only on request, by name. To run a list, enter `swift package testlogger --test-type NAME`.
    static var testSelectorsByType: [TestType: TestSelectors] { get }
    /// The time limit of each test of this type, rounded up to whole milliseconds. If it is nil, which is the default,
    /// the limit of the option `--timeout` applies.
    static var testTimeLimit: Duration? { get }
}

extension SelfTesting where Self: ~Copyable & ~Escapable {
    /// An empty dictionary, so the type has no lists that run on request.
    public static var testSelectorsByType: [TestType: TestSelectors] { [:] }
    /// Nil, so the limit of the option `--timeout` applies.
    public static var testTimeLimit: Duration? { nil }
}

/// A type whose tests can be instance methods. Each of these tests runs on its own instance, its *fixture*.
///
/// Immediately before each test, `testFixture()` creates the fixture and `setUp()` prepares it. `tearDown()` runs after
/// the test, even if the test failed. If one of these functions throws an error, only this test fails.
public protocol FixtureTesting: SelfTesting, ~Copyable {
    /// Creates the fixture for one test.
    nonisolated(nonsending) static func testFixture() async throws -> Self
    /// Prepares the fixture. The default implementation does nothing.
    nonisolated(nonsending) mutating func setUp() async throws
    /// Cleans up after the test, even if the test failed or `setUp()` threw an error. The default implementation does
    /// nothing.
    nonisolated(nonsending) mutating func tearDown() async throws
    /// A Boolean value that indicates whether a test fails if its fixture is still referenced after the test and
    /// `tearDown()`. It applies only to classes. The default is false.
    static var testDetectsFixtureLeaks: Bool { get }
    /// Returns a closure that returns the name of the type while the instance exists, or nil if the type isn't a class.
    static func _end(of instance: borrowing Self) -> (() -> String?)?
}

extension FixtureTesting where Self: ~Copyable {
    /// Does nothing.
    public nonisolated(nonsending) mutating func setUp() async throws {}
    /// Does nothing.
    public nonisolated(nonsending) mutating func tearDown() async throws {}
    /// Fixtures may outlive their test.
    public static var testDetectsFixtureLeaks: Bool { false }
    /// Value types can't leak.
    public static func _end(of instance: borrowing Self) -> (() -> String?)? { nil }

    /// Creates a list entry from a closure that receives a fresh fixture. The closure can call mutating methods, and
    /// methods that are isolated to an actor.
    ///
    /// ```swift
    /// "testPop": fixture { try $0.testPop() },
    /// ```
    public static func fixture(
        _ test: @escaping (inout Self) async throws -> Void, isolation: isolated (any Actor)? = #isolation
    ) -> TestBody {
        {
            // An isolated conformance can be used on its actor only. Without a synchronous call, Swift 6.3 calls
            // `testFixture()` before it switches to the actor.
            isolation?.preconditionIsolated()
            // SAFETY: only one task uses the fixture, on one actor after another.
            nonisolated(unsafe) var instance: Self
            do { instance = try await testFixture() } catch {
                return try recordThrown(error, from: "testFixture()")
            }
            let end = testDetectsFixtureLeaks ? _end(of: instance) : nil
            // The fixture is torn down before an error is rethrown.
            var thrown: (any Error)?
            do {
                try await instance.setUp()
                do { try await test(&instance) } catch { thrown = error }
            } catch {
                do { try recordThrown(error, from: "setUp()") } catch { thrown = error }
            }
            do { try await instance.tearDown() } catch { try? recordThrown(error, from: "tearDown()") }
            _ = consume instance
            if let type = end?() {
                Recorder.record(
                    RecordedIssue(
                        place: .test, message: "instance of \(type) leaked: still referenced after tearDown()"))
            }
            if let thrown { throw thrown }
        }
    }

}

extension FixtureTesting where Self: AnyObject {
    /// Returns a closure that returns the name of the type while the instance exists.
    public static func _end(of instance: borrowing Self) -> (() -> String?)? {
        weak let reference = copy instance
        return { reference == nil ? nil : TypeDiscovery.displayName(Self.self) }
    }
}

extension FixtureTesting {
    /// Creates a list entry from an instance method, which runs on a fresh fixture.
    ///
    /// ```swift
    /// "testPush": fixture(testPush),
    /// ```
    // A closure of several statements must use the other overload. The compiler prefers an overload that makes nothing
    // asynchronous, even if it is disfavored. So this overload is disfavored and also takes a function that is asynchronous
    // in `Self`.
    @_disfavoredOverload
    public static func fixture(
        _ test: @escaping (Self) async -> () async throws -> Void, isolation: isolated (any Actor)? = #isolation
    ) -> TestBody {
        fixture { (instance: inout Self) in try await test(instance)() }
    }
}

// MARK: - In-class tests

#if SELF_TESTS
/// The functions that were called on the fixtures of one test, in order.
private final class CallLog: @unchecked Sendable {
    // SAFETY: the tests below use it from one task at a time.
    var calls: [String] = []
}

/// A fixture that outlives its test, unless `tearDown` releases it.
private final class HeldFixture: FixtureTesting {
    // SAFETY: the one test below uses them.
    nonisolated(unsafe) static var last: HeldFixture?
    nonisolated(unsafe) static var keeps = true

    static var testSelectors: TestSelectors { ["testReleasesItsFixture": fixture { _ in }] }
    static var testDetectsFixtureLeaks: Bool { true }
    static func testFixture() -> HeldFixture { HeldFixture() }
    func tearDown() { if !Self.keeps { Self.last = nil } }
}

/// Fixtures of the main actor, with a conformance that is isolated to it.
@MainActor private struct MainActorFixture { var value = 0 }

extension MainActorFixture: @MainActor FixtureTesting {
    static var testSelectors: TestSelectors {
        [
            "testStaticMethodRunsOnMainActor": testStaticMethodRunsOnMainActor,
            "testMethodGetsANewFixture": fixture(testMethodGetsANewFixture),
            "testMutatesOnTheMainActor": fixture { try await $0.testMutatesOnTheMainActor() },
        ] + each("testRowsGetNewFixtures", [1, 2]) { $0.testRowsGetNewFixtures($1) }
    }
    static func testFixture() -> Self {
        MainActor.assertIsolated()
        return Self()
    }
    func setUp() { MainActor.assertIsolated() }
    func tearDown() { MainActor.assertIsolated() }
    static func testStaticMethodRunsOnMainActor() { MainActor.assertIsolated() }
    func testMethodGetsANewFixture() { expectEqual(value, 0) }
    func testRowsGetNewFixtures(_ row: Int) { expectEqual(value + row, row) }
    mutating func testMutatesOnTheMainActor() async throws {
        value += 1
        await Task.yield()
        MainActor.assertIsolated()
        expectEqual(value, 1)
    }
}

private struct FixtureTests {
    struct Trouble: Error {}

    @TaskLocal static var log = CallLog()
    @TaskLocal static var troubleIn = ""
    var value = 0

    private static func call(_ name: String) throws {
        log.calls.append(name)
        if troubleIn == name { throw Trouble() }
    }
}

extension FixtureTests: FixtureTesting {
    static var testSelectors: TestSelectors {
        [
            "testEachTestGetsANewFixture": testEachTestGetsANewFixture,
            "testInstanceMethodsRunAfterSetUp": fixture(testInstanceMethodsRunAfterSetUp),
            "testMutatingMethodsChangeTheFixture": fixture { $0.testMutatingMethodsChangeTheFixture() },
            "testClosuresMayHaveSeveralStatements": fixture { tests in
                tests.testMutatingMethodsChangeTheFixture()
                expectEqual(tests.value, 3)
            },
        ]
            + .each("testCallsMethodsInOrder", troubles, testCallsMethodsInOrder)
            + .each("testReportsLeakedFixtures", [true, false], testReportsLeakedFixtures)
    }
    static func testFixture() throws -> Self {
        try call("testFixture")
        return Self(value: 1)
    }
    mutating func setUp() throws {
        try Self.call("setUp")
        value += 1
    }
    func tearDown() throws { try Self.call("tearDown") }

    private static let all = ["testFixture", "setUp", "test", "tearDown"]
    /// The function that throws, the functions that run, and the issues they record.
    private static let troubles: [(place: String, calls: [String], issues: [String])] = [
        ("nowhere", all, []), ("test", all, []),
        ("setUp", ["testFixture", "setUp", "tearDown"], ["setUp() threw Trouble()"]),
        ("testFixture", ["testFixture"], ["testFixture() threw Trouble()"]),
        ("tearDown", all, ["tearDown() threw Trouble()"]),
    ]

    private static func testCallsMethodsInOrder(_ row: (place: String, calls: [String], issues: [String])) async {
        let entry = fixture { (_: inout Self) in try call("test") }
        let log = CallLog()
        var thrown: (any Error)?
        let issues = await Recorder.issues {
            await $log.withValue(log) {
                await $troubleIn.withValue(row.place) {
                    do { try await entry() } catch { thrown = error }
                }
            }
        }
        expectEqual(log.calls, row.calls)
        expectEqual(issues.map(\.message), row.issues)
        expectEqual(thrown.map { "\($0)" }, row.place == "test" ? "Trouble()" : nil)
    }

    private static func testEachTestGetsANewFixture() async throws {
        let entry = fixture { $0.testMutatingMethodsChangeTheFixture() }
        try await entry()
        try await entry()
    }

    private static func testReportsLeakedFixtures(isHeld: Bool) async throws {
        let entry = HeldFixture.fixture { HeldFixture.last = $0 }
        HeldFixture.keeps = isHeld
        let issues = try await Recorder.issues { try await entry() }
        expectEqual(
            issues.map(\.message), isHeld ? ["instance of HeldFixture leaked: still referenced after tearDown()"] : [])
        expectEqual(issues.map(\.place), isHeld ? [.test] : [])
        HeldFixture.last = nil
    }

    private func testInstanceMethodsRunAfterSetUp() { expectEqual(value, 2, "value after setUp") }
    private mutating func testMutatingMethodsChangeTheFixture() {
        value += 1
        expectEqual(value, 3, "value after setUp and once more")
    }
}
#endif

#endif
