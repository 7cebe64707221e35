// How values and their differences are written.
// swift-format-ignore-file
import InClassTesting

struct Point: Equatable { var x: Int, y: Int, name: String }
enum Shape: Equatable { case circle(radius: Double), nothing }
struct Lying: Equatable, CustomStringConvertible {
    var number: Int
    var description: String { "the same" }
}
final class Reference: Equatable {
    let number: Int
    init(_ number: Int) { self.number = number }
    static func == (one: Reference, other: Reference) -> Bool { one.number == other.number }
}

enum Values {}

extension Values: SelfTesting {
    static var testSelectors: TestSelectors { [
        "testStrings": testStrings,
        "testLongStrings": testLongStrings,
        "testLines": testLines,
        "testArrays": testArrays,
        "testSetsAndDictionaries": testSetsAndDictionaries,
        "testStructures": testStructures,
        "testLongValue": testLongValue,
        "testManyDifferences": testManyDifferences,
    ] }

    private static func testStrings() {
        expectEqual("tab\t quote\" back\\slash \u{1}\u{2028} %d %s", "", "escapes")
        expectEqual("a\nb", "a b", "newline")
        expectEqual("e\u{301}", "e", "accent")
        expectEqual(Substring("abc"), "abd", "part")
    }

    private static func testLongStrings() {
        expectEqual("The quick brown fox jumps over the lazy dog.", "The quick brown cat jumps over the lazy dog.")
    }

    private static func testLines() {
        expectEqual("one\ntwo\nthree\nfour", "one\n2\nthree\nfour\nfive", "poem")
    }

    private static func testArrays() {
        expectEqual([1, 2, 3], [1, 3], "list")
        expectEqual([1, 2, 3], [1, 5, 3], "list")
        expectEqual(["a", "b"], ["a", "b", "c"], "words")
        expectEqual([] as [Int], [1])
    }

    private static func testSetsAndDictionaries() {
        expectEqual(Set([1]), [2], "set")
        expectEqual(["a": 1], ["a": 2], "table")
        expectEqual([3: "x"], [4: "x"], "table")
    }

    private static func testStructures() {
        expectEqual(Point(x: 1, y: 2, name: "p"), Point(x: 1, y: 3, name: "q"), "point")
        expectEqual(Shape.circle(radius: 2), Shape.nothing, "shape")
        expectEqual(Lying(number: 1), Lying(number: 2), "written alike")
        expectEqual(Reference(1), Reference(2), "objects")
    }

    private static func testLongValue() {
        expectEqual(String(repeating: "0123456789", count: 100), "", "a thousand characters")
    }

    private static func testManyDifferences() {
        expectEqual(Array(0..<20), Array(100..<120), "all")
    }
}
