// Comparisons with literals that are not what the code makes, with text around them that is easily damaged.
// swift-format-ignore-file
import InClassTesting

enum Accepting {
    static func number() -> Int { 42 }
    static func strange() -> String { "\0\u{1B}[1m\\(x)\u{7F}\u{200B}\r #\"" }
    static func text() -> String { "a \"quoted\" é\n\tline" }
}

extension Accepting: SelfTesting {
    static var testSelectors: TestSelectors { [
        "testInteger": testInteger, "testNegative": testNegative, "testText": testText, "testTruth": testTruth,
        "testReal": testReal, "testSeveralOnALine": testSeveralOnALine, "testNoLiteral": testNoLiteral,
        "testInLoop": testInLoop, "testRaw": testRaw, "testKnown": testKnown, "testMessage": testMessage,
        "testStrange": testStrange, "testPasses": testPasses,
    ] + .each("testRows", [42, 7]) { row in expectEqual(row, 42) } }

    private static func testInteger() {	
        expectEqual(number(), 41 , "é, \"quoted\", 41")   // 41 stays
    }
    private static func testNegative() { expectEqual(-number(), -1) }
    private static func testText() { expectEqual(text(), "b", "text") }
    private static func testTruth() { expectEqual(number() == 42, false) }
    private static func testReal() { expectEqual(Double(number()) / 4, 1.25) }
    private static func testSeveralOnALine() { expectEqual(number(), 1); expectEqual(number(), 2) }
    private static func testNoLiteral() { expectEqual(number(), 40 + 1) }
    private static func testInLoop() { for value in [7, 8] { expectEqual(value, 6) } }
    private static func testRaw() { expectEqual(text(), #"c"#) }
    private static func testKnown() { withKnownIssue("12") { expectEqual(number(), 3) } }
    private static func testMessage() { expectEqual(number(), 5, "not 5, nor \(1 + 1)") }
    private static func testStrange() { expectEqual(strange(), "") }
    private static func testPasses() { expectEqual(number(), 42) }
}

