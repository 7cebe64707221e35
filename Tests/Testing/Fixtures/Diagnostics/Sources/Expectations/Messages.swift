// Messages and values that look like something else to whoever reads the line.
// swift-format-ignore-file
import InClassTesting

enum Messages {}

extension Messages: SelfTesting {
    static var testSelectors: TestSelectors { [
        "testMessages": testMessages,
        "testValues": testValues,
        "testTooMany": testTooMany,
    ] }

    private static func testMessages() {
        expectEqual(1, 2, "100% of %d and %s")
        expectEqual(1, 2, "two\nlines\r\nand a tab\t")
        expectEqual(1, 2, "\"double\" and 'single' quotes")
        expectEqual(1, 2, "a: b: c")
        expectEqual(1, 2, "x.swift:3:1: error: not this one")
        expectEqual(1, 2, "error: nor this one")
        expectEqual(1, 2, "note: nor this one")
        expectEqual(1, 2, "fatal error: nor this one")
        expectEqual(1, 2, "quote ' then y.swift:3:1: error: nor this one")
        expectEqual(1, 2, "")
    }

    private static func testValues() {
        expectEqual("x.swift:3:1: error: got", "y.swift:4: warning: expected", "text")
        expectEqual("a", "b", "row 3: a number and a colon behind two quotes")
        expectEqual([1: "a"], [2: "b"], "numbers and colons")
        expectEqual(["3: x"], ["4: y"], "the same in a note")
        expectThrows(Refusal.self) { throw Colons() }
    }

    private static func testTooMany() {
        for number in 0..<105 { expectEqual(number, -1) }
    }
}

struct Colons: Error, CustomStringConvertible {
    var description: String { "z.swift:3:1: error: thrown" }
}
