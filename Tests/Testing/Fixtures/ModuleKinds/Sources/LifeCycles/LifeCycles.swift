// The life of a fixture: made just before its test, set up, tested, torn down.
// swift-format-ignore-file

public final class Recording {
    public init() {}
}

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

/// What happened since the last fixture was made.
nonisolated(unsafe) private var log: [String] = []
nonisolated(unsafe) private var fixtureCount = 0

extension Recording: FixtureTesting {
    public static var testSelectors: TestSelectors { [
        "testOne": fixture(testOne),
        "testTwo": fixture { $0.testTwo() },
        "testSkipped": fixture { _ in try skip("to see it torn down") },
        "testWithoutFixture": testWithoutFixture,
    ] }
    public static func testFixture() async -> Recording {
        expectTrue(log.isEmpty || log.last == "tearDown", "the fixture before is torn down")
        log = ["fixture"]
        fixtureCount += 1
        return Recording()
    }
    public func setUp() async {
        await Task.yield()
        log.append("setUp")
    }
    public func tearDown() async {
        expectEqual(Array(log.prefix(2)), ["fixture", "setUp"], "what happens before a test")
        log.append("tearDown")
    }
    private func testOne() async {
        let made = fixtureCount
        await Task.yield()
        expectEqual(log, ["fixture", "setUp"])
        expectEqual(fixtureCount, made, "no other fixture is made while a test runs")
        log.append("one")
    }
    private func testTwo() {
        expectEqual(log, ["fixture", "setUp"], "a fixture of this test's own")
        log.append("two")
    }
    private static func testWithoutFixture() {
        expectTrue(log.isEmpty || log.last == "tearDown", "no fixture is left")
    }
}
#endif
