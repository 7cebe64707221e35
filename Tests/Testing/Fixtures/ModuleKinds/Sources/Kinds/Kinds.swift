// A type of every kind, each with tests of its own. Their names are chosen so that the order of types in the source is
// not the order in which they run.
// swift-format-ignore-file

public struct Zebra { public init() {} }
struct Structure { var count = 0 }
class Animal { var name = "animal" }
class Dog: Animal {}
final class Final {}
enum Enumeration { case one, two }
enum Namespace { struct Nested { enum Deep {} } }
actor Account { var balance = 0; func add(_ amount: Int) { balance += amount } }
@MainActor final class Window { var title = "untitled" }
@MainActor final class Panel { var title = "panel" }
struct Handle: ~Copyable { var isOpen = true; mutating func close() { isOpen = false } }
struct Table<Key: Hashable & Comparable, Value: Equatable> { var entries: [Key: Value] = [:] }
final class Cell<Content> { var content: Content?; init(_ content: Content?) { self.content = content } }
struct Outer<First> { struct Inner<Second> { var first: First, second: Second } }
private struct Private {}
fileprivate enum FilePrivate {}

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import Neighbour

extension Zebra: SelfTesting {
    public static var testSelectors: TestSelectors { [
        "testRunsFirst": testRunsFirst,
        "testAsynchronous": testAsynchronous,
        "testThrowing": testThrowing,
        "testBoth": testBoth,
        "testClosure": { expectEqual(2 + 2, 4) },
        "testAlphabeticallyFirst": testAlphabeticallyFirst,
    ] }
    private static func testRunsFirst() { expectTrue(true) }
    private static func testAsynchronous() async { await Task.yield() }
    private static func testThrowing() throws { try requireTrue(true) }
    private static func testBoth() async throws {
        let sum = try await Task.detached { try requireEqual(1 + 1, 2) }.value
        expectEqual(sum, 2)
    }
    private static func testAlphabeticallyFirst() {}
}

extension Structure: FixtureTesting {
    static var testSelectors: TestSelectors { [
        "testMutates": fixture { $0.testMutates() },
        "testIsFresh": fixture(testIsFresh),
    ] }
    static func testFixture() -> Structure { Structure(count: 7) }
    private mutating func testMutates() { count += 1; expectEqual(count, 8) }
    private func testIsFresh() { expectEqual(count, 7) }
}

/// How often the tests of a parent ran.
nonisolated(unsafe) private var runsOfAnimal = 0

extension Animal: SelfTesting {
    static var testSelectors: TestSelectors { ["testRunsOnce": testRunsOnce] }
    private static func testRunsOnce() {
        runsOfAnimal += 1
        expectEqual(runsOfAnimal, 1, "a subclass without a list of its own does not run its parent's")
    }
}

extension Final: FixtureTesting {
    static var testSelectors: TestSelectors { ["testInstance": fixture { $0.testInstance() }] }
    static func testFixture() -> Final { Final() }
    private func testInstance() { expectIdentical(self, self) }
}

extension Enumeration: SelfTesting {
    static var testSelectors: TestSelectors { ["testCases": testCases] }
    private static func testCases() { expectNotEqual(one, two) }
}

extension Namespace.Nested.Deep: SelfTesting {
    static var testSelectors: TestSelectors { ["testDeep": testDeep] }
    private static func testDeep() {}
}

extension Account: FixtureTesting {
    static var testSelectors: TestSelectors { ["testAdds": fixture { await $0.testAdds() }] }
    static func testFixture() -> Account { Account() }
    private func testAdds() { add(3); expectEqual(balance, 3) }
}

extension Window: SelfTesting {
    nonisolated static var testSelectors: TestSelectors { ["testTitle": testTitle] }
    private static func testTitle() {
        MainActor.assertIsolated()
        expectEqual(Window().title, "untitled")
    }
}

extension Panel: @MainActor SelfTesting {
    static var testSelectors: TestSelectors { ["testTitle": testTitle] }
    private static func testTitle() async {
        MainActor.assertIsolated()
        await Task.yield()
        expectEqual(Panel().title, "panel")
    }
}

extension Handle: FixtureTesting {
    static var testSelectors: TestSelectors { [
        "testStatic": testStatic,
        "testCloses": fixture { $0.testCloses() },
    ] }
    static func testFixture() -> Handle { Handle() }
    private static func testStatic() {}
    private mutating func testCloses() { close(); expectFalse(isOpen) }
}

extension Table: SelfTesting where Key == String, Value == [Int] {
    static var testSelectors: TestSelectors { ["testEntries": testEntries] }
    private static func testEntries() {
        var table = Table()
        table.entries["a"] = [1]
        expectEqual(table.entries["a"], [1])
    }
}

extension Cell: FixtureTesting, SelfTesting where Content == Int {
    static var testSelectors: TestSelectors { ["testContent": fixture { $0.testContent() }] }
    static func testFixture() -> Cell<Int> { Cell(5) }
    private func testContent() { expectEqual(content, 5) }
}

extension Outer.Inner: SelfTesting where First == Int, Second == [String: Double] {
    static var testSelectors: TestSelectors { ["testBoth": testBoth] }
    private static func testBoth() { expectEqual(Outer<Int>.Inner(first: 1, second: ["a": 2]).second["a"], 2) }
}

extension Private: SelfTesting {
    static var testSelectors: TestSelectors { ["testPrivate": testPrivate] }
    private static func testPrivate() {}
}

extension FilePrivate: SelfTesting {
    static var testSelectors: TestSelectors { ["testFilePrivate": testFilePrivate] }
    private static func testFilePrivate() {}
}

extension Coin: @retroactive SelfTesting {
    public static var testSelectors: TestSelectors { ["testDoubles": testDoubles] }
    private static func testDoubles() { expectEqual(Coin(value: 4).doubled, 8, "another package's C") }
}

extension Coin { struct Purse { var coins: [Coin] = [] } }

extension Coin.Purse: SelfTesting {
    static var testSelectors: TestSelectors { ["testEmpty": testEmpty] }
    private static func testEmpty() { expectTrue(Coin.Purse().coins.isEmpty) }
}

extension Array: @retroactive SelfTesting where Element == Int {
    public static var testSelectors: TestSelectors { ["testSum": testSum] }
    private static func testSum() { expectEqual([1, 2].reduce(0, +), 3) }
}
#endif
