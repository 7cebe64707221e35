// Each expectation that compares, not met.
// swift-format-ignore-file
import InClassTesting

enum Equality {}

extension Equality: SelfTesting {
    static var testSelectors: TestSelectors { [
        "testEqual": testEqual,
        "testEqualFast": testEqualFast,
        "testEqualOptionals": testEqualOptionals,
        "testWithin": testWithin,
        "testNotEqual": testNotEqual,
        "testIdentical": testIdentical,
    ] }

    private static func testEqual() {
        expectEqual(4 as UInt8, 5, "count after push")
        expectEqual(2.5, 0.1)
        expectEqual(Character("a"), "b", "letter")
    }

    private static func testEqualFast() {
        expectEqual(4, 5, "count after push")
        expectEqual("abc", "abd", "name")
        expectEqual(true, false, "flag")
        /* é and tabs:	the column counts bytes */ expectEqual(1, 2)
    }

    private static func testEqualOptionals() {
        let number: Int? = nil
        expectEqual(number, 5, "parsed")
        expectEqual(Optional(3), nil, "parsed")
    }

    private static func testWithin() {
        expectEqual(1.0, 1.5, within: 0.5, "a difference of exactly the tolerance")
        expectEqual(Double.nan, 0, within: 1)
        expectEqual(Double.infinity, 0, within: 1)
    }

    private static func testNotEqual() {
        expectNotEqual(7, 7, "identifier")
    }

    private static func testIdentical() {
        final class Node: CustomStringConvertible {
            let description: String
            init(_ description: String) { self.description = description }
        }
        expectIdentical(Node("one"), Node("one"), "shared node")
        expectIdentical(nil, Node("one"), "shared node")
    }
}
