// Tests whose surroundings fail.
// swift-format-ignore-file
import InClassTesting

struct SetUpFails {}

extension SetUpFails: FixtureTesting {
    static var testSelectors: TestSelectors { [
        "testNotReached": fixture(testNotReached), "testAfterSetUp": { Health.check() },
    ] }

    static func testFixture() -> SetUpFails { SetUpFails() }
    func setUp() throws { throw Refused() }
    private func testNotReached() { // error: testNotReached
        fail("not reached")
    }
}

struct TearDownFails {}

extension TearDownFails: FixtureTesting {
    static var testSelectors: TestSelectors { [
        "testPassesItself": fixture(testPassesItself), "testAfterTearDown": { Health.check() },
    ] }

    static func testFixture() -> TearDownFails { TearDownFails() }
    func tearDown() throws { throw Refused() }
    private func testPassesItself() {} // error: testPassesItself
}

struct TearDownCrashes {}

extension TearDownCrashes: FixtureTesting {
    static var testSelectors: TestSelectors { [
        "testIsTornDown": fixture(testIsTornDown), "testAfterCrash": { Health.check() },
    ] }

    static func testFixture() -> TearDownCrashes { TearDownCrashes() }
    func tearDown() { print(Health.number("x")!) } // error: testIsTornDown
    private func testIsTornDown() {}
}

struct FixtureFails {}

extension FixtureFails: FixtureTesting {
    static var testSelectors: TestSelectors { [
        "testWithoutFixture": fixture(testWithoutFixture), "testAfterFixture": { Health.check() },
    ] }

    static func testFixture() throws -> FixtureFails { throw Refused() }
    private func testWithoutFixture() { // error: testWithoutFixture
        fail("not reached")
    }
}
