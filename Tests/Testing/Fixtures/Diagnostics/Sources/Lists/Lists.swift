// Lists that say something else than their writer means.
// swift-format-ignore-file
import InClassTesting

enum Forgetful {}

extension Forgetful: SelfTesting {
    static var testSelectors: TestSelectors { [
        "testListed": testListed,
    ] }
    private static func testListed() {}
    private static func testForgotten() {}
    private static func testForgottenToo() async throws {}
    private static func testify() {}
    private static func testWithArgument(_ number: Int) {}
}

struct Instances {}

extension Instances: FixtureTesting {
    static var testSelectors: TestSelectors { [
        "testListed": fixture(testListed),
    ] }
    static func testFixture() -> Instances { Instances() }
    private func testListed() {}
    private func testForgotten() {}
    private mutating func testForgottenMutating() throws {}
}

enum Misspelt {}

extension Misspelt: SelfTesting {
    static var testSelectors: TestSelectors { [
        "testFinne": testFine,
        "testOther": testOther,
    ] }
    private static func testFine() {}
    private static func testOther() { expectTrue(false, "the entry names another test") }
}

enum Doubled {}

extension Doubled: SelfTesting {
    static var testSelectors: TestSelectors { [
        "testOne": testOne,
        "testTwo": testTwo,
        "testOne": testTwo,
    ] }
    private static func testOne() {}
    private static func testTwo() {}
}

enum Idle {}

extension Idle: SelfTesting {
    static var testSelectors: TestSelectors { [:] }
    private static func testForgotten() {}
}

struct Unpinned<Element> { var elements: [Element] = [] }

extension Unpinned: SelfTesting {
    static var testSelectors: TestSelectors { ["testNothing": testNothing] }
    private static func testNothing() {}
}
