// Expectations about conditions, presence and order, not met.
// swift-format-ignore-file
import InClassTesting

enum Truth {}

extension Truth: SelfTesting {
    static var testSelectors: TestSelectors { [
        "testTruth": testTruth,
        "testPresence": testPresence,
        "testOrder": testOrder,
        "testFail": testFail,
    ] }

    private static func testTruth() {
        expectTrue(1 > 2)
        expectTrue(1 > 2, "order")
        expectFalse([1].contains(1), "membership")
    }

    private static func testPresence() {
        expectNil(Int("12"), "number")
        expectNotNil(Int("x"), "number")
    }

    private static func testOrder() {
        expectLessThan(2, 2, "small")
        expectLessThanOrEqual(3, 2, "small")
        expectGreaterThan("a", "b", "large")
        expectGreaterThanOrEqual(1.5, 2, "large")
    }

    private static func testFail() {
        fail("this line was reached")
    }
}
