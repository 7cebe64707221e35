// The tests of the fast loop in JSONScanner+Runs: tokens of all kinds, and all text that it leaves to the plain
// scanner.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

enum JSONScannerRunsTests {}

extension JSONScannerRunsTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testScansTokensOfEveryKind": testScansTokensOfEveryKind,
            "testAgreesWithPlainScanOnErrors": testAgreesWithPlainScanOnErrors,
            "testAgreesAtEveryAlignment": testAgreesAtEveryAlignment,
        ]
    }

    private static func testScansTokensOfEveryKind() {
        let text = #" {"a" : [1,-2 , 3.5,true,false,null,"x",[],{}, [ ] ,{ }],"b":{"c":"d"} } "#
        JSONScanner.expectOutcome(
            Array(text.utf8),
            #"{ key "a" [ integer 1 integer -2 real 3.5 true false null string "x" [ ] { } [ ] { } ] key "b" "#
                + #"{ key "c" string "d" } }"#, "all tokens")
    }

    private static func testAgreesWithPlainScanOnErrors() {
        let rows = [
            "[1 2]", "[1,]", "[,1]", "{\"a\" 1}", "{\"a\":}", "{\"a\":1,}", "{\"a\":\u{1} 1}", "{\"a\":\u{1}1}",
            "{\"a\": \u{1}1}", "[\u{1}1]", "[1\u{1}]", "{,}", "{a:1}", "[}", "{]", "[1}",
            "{\"a\":1]",
            "[tru]", "[nul ]", "[falsy]", "[truex]", "[01]", "[-]", "[1.]", "[.5]", "[1e]", "[1e+]", "[+1]", "[-01]",
            "[\"\u{1}\"]", "[\"\\x\"]", "[\"\\u12g4\"]", "[\"\\ud800\"]", "[\"\\udc00\"]", "[\"\\ud800\\u0041\"]", "]",
            "}",
            "[1]]", "{}1", "[\"a]", "{\"a", "[1,", "{\"a\":", "1.5.5", "[1.5x]", " \u{FEFF}[]", "\u{FEFF}]", "['a']",
            "[\"a\"\"b\"]",
            ":",
        ]
        for row in rows { JSONScanner.expectOutcome(Array(row.utf8), nil, row) }
        for row in rows { expectTrue(JSONScanner.outcome([Array(row.utf8)]).contains("!"), "an error for \(row)") }
    }

    private static func testAgreesAtEveryAlignment() {
        for count in Array(0...16) + [23, 31, 39] {
            let spaces = String(repeating: " ", count: count)
            let letters = String(repeating: "ab", count: count)
            let text =
                "\(spaces)[\"\(letters)é\",\(spaces)\"\(letters)\\n\",\(spaces)123456789012345678,0.\(count)1e-\(count)]"
            JSONScanner.expectOutcome(Array(text.utf8), nil, "alignment \(count)")
        }
    }
}
#endif
