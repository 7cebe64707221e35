// The two protocols by which a type says that it has tests, and how a test gets its fixture.

#if DEBUG || IN_CLASS_TESTS

/// A type that tests itself: it lists its tests, and every build runs them.
///
/// Conform in an extension at the bottom of the type's own file. Structures, classes, enumerations, actors, nested,
/// private and noncopyable types conform alike; a generic type pins every parameter
/// (`extension Table: SelfTesting where Value == Int`). A subclass that overrides
/// `testSelectors`, which its parent then declares as `class var` in its own braces, runs that list; one that does not
/// override a class property runs nothing of its own.
public protocol SelfTesting: ~Copyable, ~Escapable {
    /// The tests of every build, in the order they run.
    static var testSelectors: TestSelectors { get }
    /// Further lists by name, which run when `testlogger --test-type NAME` asks for them.
    static var testSelectorsByType: [TestType: TestSelectors] { get }
    /// How long each test of this type may take, in steps of a millisecond; nil, unless implemented, for the runner's limit.
    static var testTimeLimit: Duration? { get }
}

extension SelfTesting where Self: ~Copyable & ~Escapable {
    /// No further lists.
    public static var testSelectorsByType: [TestType: TestSelectors] { [:] }
    /// The runner's limit.
    public static var testTimeLimit: Duration? { nil }
}

/// A type whose tests may be instance methods, each of which runs on a fresh fixture.
///
/// Immediately before each test `testFixture()` makes the instance and `setUp()` prepares it; `tearDown()` follows the
/// test, also after a failure. An error thrown by any of the three is a failure of that test and stops no other.
public protocol FixtureTesting: SelfTesting, ~Copyable {
    /// Makes the instance that one test runs on.
    nonisolated(nonsending) static func testFixture() async throws -> Self
    /// Prepares the fixture; does nothing unless implemented.
    nonisolated(nonsending) mutating func setUp() async throws
    /// Cleans up after the test, passed or failed, and after a `setUp()` that threw; does nothing unless implemented.
    nonisolated(nonsending) mutating func tearDown() async throws
    /// A Boolean value that indicates whether it is a failure when a fixture, an instance of a class, is still held by
    /// something after its test and `tearDown()`; no, unless implemented.
    static var testDetectsFixtureLeaks: Bool { get }
    /// What names the type of an instance as long as something holds it; nil unless that is a class.
    static func _end(of instance: borrowing Self) -> (() -> String?)?
}

extension FixtureTesting where Self: ~Copyable {
    /// Does nothing.
    public nonisolated(nonsending) mutating func setUp() async throws {}
    /// Does nothing.
    public nonisolated(nonsending) mutating func tearDown() async throws {}
    /// They may live on.
    public static var testDetectsFixtureLeaks: Bool { false }
    /// Nothing else holds an instance of no class.
    public static func _end(of instance: borrowing Self) -> (() -> String?)? { nil }

    /// Makes a list entry of a closure that tests a fresh fixture: a mutating or an isolated method, for example.
    ///
    /// ```swift
    /// "testPop": fixture { try $0.testPop() },
    /// ```
    public static func fixture(
        _ test: @escaping (inout Self) async throws -> Void, isolation: isolated (any Actor)? = #isolation
    ) -> TestBody {
        {
            // An isolated conformance can be used on its actor only. Without a synchronous call, Swift 6.3 calls
            // `testFixture()` before it goes there.
            isolation?.preconditionIsolated()
            // SAFETY: one task uses the fixture, on one actor after another.
            nonisolated(unsafe) var instance: Self
            do { instance = try await testFixture() } catch {
                return try recordThrown(error, from: "testFixture()")
            }
            let end = testDetectsFixtureLeaks ? _end(of: instance) : nil
            // Whatever is thrown, the fixture is torn down before it goes on.
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
                        place: .test, got: "a \(type) that something still holds", expected: "its end with tearDown()"))
            }
            if let thrown { throw thrown }
        }
    }

}

extension FixtureTesting where Self: AnyObject {
    /// Names the type as long as something holds the instance.
    public static func _end(of instance: borrowing Self) -> (() -> String?)? {
        weak let reference = copy instance
        return { reference == nil ? nil : TypeDiscovery.displayName(Self.self) }
    }
}

extension FixtureTesting {
    /// Makes a list entry of an instance method that tests a fresh fixture.
    ///
    /// ```swift
    /// "testPush": fixture(testPush),
    /// ```
    // A closure of several statements is to be the other one's. The compiler prefers what makes nothing asynchronous to
    // what is not disfavoured, so that both have to be.
    @_disfavoredOverload
    public static func fixture(
        _ test: @escaping (Self) async -> () async throws -> Void, isolation: isolated (any Actor)? = #isolation
    ) -> TestBody {
        fixture { (instance: inout Self) in try await test(instance)() }
    }
}

// MARK: - In-class tests

#if SELF_TESTS
/// What has been called on the fixtures of one test, in order.
private final class CallLog: @unchecked Sendable {
    // SAFETY: the tests below use it from one task at a time.
    var calls: [String] = []
}

/// A fixture that outlives its test, unless `tearDown` lets it go.
private final class HeldFixture: FixtureTesting {
    // SAFETY: the one test below uses them.
    nonisolated(unsafe) static var last: HeldFixture?
    nonisolated(unsafe) static var keeps = true

    static var testSelectors: TestSelectors { ["testEnds": fixture { _ in }] }
    static var testDetectsFixtureLeaks: Bool { true }
    static func testFixture() -> HeldFixture { HeldFixture() }
    func tearDown() { if !Self.keeps { Self.last = nil } }
}

/// Fixtures of the main actor, with a conformance that is isolated to it.
@MainActor private struct MainActorFixture { var value = 0 }

extension MainActorFixture: @MainActor FixtureTesting {
    static var testSelectors: TestSelectors {
        [
            "testStatic": testStatic, "testMethod": fixture(testMethod),
            "testMutates": fixture { try await $0.testMutates() },
        ] + each("testRows", [1, 2]) { $0.testRow($1) }
    }
    static func testFixture() -> Self {
        MainActor.assertIsolated()
        return Self()
    }
    func setUp() { MainActor.assertIsolated() }
    func tearDown() { MainActor.assertIsolated() }
    static func testStatic() { MainActor.assertIsolated() }
    func testMethod() { expectEqual(value, 0) }
    func testRow(_ row: Int) { expectEqual(value + row, row) }
    mutating func testMutates() async throws {
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
            "testFixtureIsFresh": testFixtureIsFresh, "testInstanceMethod": fixture(testInstanceMethod),
            "testMutatingMethod": fixture { $0.testMutatingMethod() },
            "testClosureOfStatements": fixture { tests in
                tests.testMutatingMethod()
                expectEqual(tests.value, 3)
            },
        ]
            + .each("testRunsInOrder", troubles, testRunsInOrder)
            + .each("testFixturesOfClassesMustEnd", [true, false], testFixturesOfClassesMustEnd)
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
        ("setUp", ["testFixture", "setUp", "tearDown"], ["error Trouble() from setUp()"]),
        ("testFixture", ["testFixture"], ["error Trouble() from testFixture()"]),
        ("tearDown", all, ["error Trouble() from tearDown()"]),
    ]

    private static func testRunsInOrder(_ row: (place: String, calls: [String], issues: [String])) async {
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
        expectEqual(issues.map(\.got), row.issues)
        expectEqual(thrown.map { "\($0)" }, row.place == "test" ? "Trouble()" : nil)
    }

    private static func testFixtureIsFresh() async throws {
        let entry = fixture { $0.testMutatingMethod() }
        try await entry()
        try await entry()
    }

    private static func testFixturesOfClassesMustEnd(isHeld: Bool) async throws {
        let entry = HeldFixture.fixture { HeldFixture.last = $0 }
        HeldFixture.keeps = isHeld
        let issues = try await Recorder.issues { try await entry() }
        expectEqual(issues.map(\.got), isHeld ? ["a HeldFixture that something still holds"] : [])
        expectEqual(issues.map(\.place), isHeld ? [.test] : [])
        HeldFixture.last = nil
    }

    private func testInstanceMethod() { expectEqual(value, 2, "value after setUp") }
    private mutating func testMutatingMethod() {
        value += 1
        expectEqual(value, 3, "value after setUp and once more")
    }
}
#endif

#endif
