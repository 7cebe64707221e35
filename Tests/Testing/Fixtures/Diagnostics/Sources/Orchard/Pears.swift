// Tests that are selected, and say in which order they ran.
// swift-format-ignore-file
import InClassTesting

enum Pear {}

extension Pear: SelfTesting {
    static var testSelectors: TestSelectors { [
        "testGrows": testGrows,
        "testRipens": testRipens,
        "testFalls": testFalls,
        "testRots": testRots,
    ] }
    static var testSelectorsByType: [TestType: TestSelectors] { ["harvest": ["testIsPicked": testIsPicked]] }

    private static func testGrows() { Orchard.pick("Pear.testGrows") }
    private static func testRipens() { Orchard.pick("Pear.testRipens") }

    private static func testFalls() {
        let name = "Pear.testFalls"
        Orchard.pick(name)
    }

    private static func testRots() { Orchard.pick("Pear.testRots") }
    private static func testIsPicked() { Orchard.pick("Pear.testIsPicked") }
}
