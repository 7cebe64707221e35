// Tables of cases, of which some rows fail; fixtures that must end; classes with lists of their own.
// swift-format-ignore-file
import Foundation
import InClassTesting

struct Sum {
    var text: String
    var value: Int { text.split(separator: "+").compactMap { Int($0) }.reduce(0, +) }
    var log: [Int] = []
}

extension Sum: FixtureTesting {
    static var testSelectors: TestSelectors {
        ["testIsEmpty": testIsEmpty]
            + .each("testAdds", [
                ("1+1", 2),
                ("2+3",
                    6),
                ("2+3", 5), ("4", 5),
            ]) { text, value in
                expectEqual(Sum(text: text).value, value, "sum")
            }
            + each("testLogs", [[1], [1, 2]]) { $0.testLogs($1) }
            + .each("testDivides", made, testDivides)
            + .each("testNone", [Int]()) { _ in }
            + .each("testNamed", [3, 4], named: { "row\n\($0)" }) { expectEqual($0, 3) }
    }

    /// Not the same in two processes, when that is asked for.
    static var made: [Int] {
        [1, 0, ProcessInfo.processInfo.environment["TABLES_ARE_RANDOM"] == nil ? 2 : Int.random(in: 3..<1_000_000)]
    }

    static func testFixture() -> Sum { Sum(text: "") }
    private static func testIsEmpty() { expectEqual(Sum(text: "").value, 0) }

    private static func testDivides(_ divisor: Int) throws {
        expectEqual(2 / divisor * divisor, 2)
    }

    private mutating func testLogs(_ row: [Int]) {
        log += row
        expectEqual(log, [1])
    }
}

final class Cache {
    var parent: Cache?
    var next: Cache?
}

extension Cache: FixtureTesting {
    static var testSelectors: TestSelectors {
        ["testIsAlone": fixture(testIsAlone), "testIsHeld": fixture(testIsHeld)]
    }
    static var testDetectsFixtureLeaks: Bool { true }
    static func testFixture() -> Cache { Cache() }
    private func testIsAlone() { expectNil(next) }
    private func testIsHeld() {
        next = Cache()
        next?.parent = self
    }
}

class Shape: SelfTesting {
    class var sides: Int { 0 }
    class var testSelectors: TestSelectors { ["testHasNoSides": { expectEqual(Shape.sides, 0) }] }
}

final class Square: Shape {
    override class var sides: Int { 5 }
    override class var testSelectors: TestSelectors { ["testHasFourSides": testHasFourSides] }
    private static func testHasFourSides() { expectEqual(sides, 4) }
}

final class Round: Shape {}
