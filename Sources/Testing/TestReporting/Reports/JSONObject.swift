// A small writer of JSON objects. It is the tester's own: the package's JSON modules are tested with it.

struct JSONObject: Sendable {
    private var members = ""

    /// The object as text, on one line.
    var text: String { "{\(members)}" }

    mutating func add(_ name: String, _ value: String) { add(name, raw: Self.quoted(value)) }

    mutating func add(_ name: String, _ value: Int) { add(name, raw: String(value)) }

    mutating func add(_ name: String, _ value: Bool) { add(name, raw: value ? "true" : "false") }

    mutating func add(_ name: String, _ value: JSONObject) { add(name, raw: value.text) }

    mutating func add(_ name: String, _ values: [JSONObject]) {
        add(name, raw: "[" + values.map(\.text).joined(separator: ",") + "]")
    }

    mutating func add(_ name: String, _ values: [String]) {
        add(name, raw: "[" + values.map(Self.quoted).joined(separator: ",") + "]")
    }

    /// Adds a member whose value is JSON already.
    mutating func add(_ name: String, raw value: String) {
        if !members.isEmpty { members += "," }
        members += Self.quoted(name)
        members += ":"
        members += value
    }

    /// A string literal that JSON and YAML read alike: what is not printable is written as an escape.
    // SPEC: RFC 8259 section 7; YAML 1.2.2, 5.1 and 7.3.1.
    static func quoted(_ text: String) -> String {
        let escaped = text.replacingScalars { scalar in
            switch scalar {
            case "\"": "\\\""
            case "\\": "\\\\"
            case "\n": "\\n"
            case "\r": "\\r"
            case "\t": "\\t"
            case _ where scalar.isControl || [0xFEFF, 0xFFFE, 0xFFFF].contains(scalar.value):
                "\\u" + String(scalar.value + 0x10000, radix: 16).dropFirst()
            default: nil
            }
        }
        return "\"\(escaped)\""
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension JSONObject: SelfTesting {
    static var testSelectors: TestSelectors {
        ["testWritesEveryKindOfValue": testWritesEveryKindOfValue]
            + .each("testQuotesAnyText", texts) { expectEqual(quoted($0), $1) }
    }

    private static let texts = [
        ("", #""""#), ("é😀/'", #""é😀/'""#), ("\"\\", #""\"\\""#), ("\n\r\t", #""\n\r\t""#),
        ("\u{0}\u{1B}\u{1F} ", #""\u0000\u001b\u001f ""#), ("\u{7F}\u{9F}\u{A0}", "\"\\u007f\\u009f\u{A0}\""),
        ("\u{2028}\u{FEFF}\u{FFFF}", #""\u2028\ufeff\uffff""#), ("\r\n", #""\r\n""#),
    ]

    private static func testWritesEveryKindOfValue() {
        var inner = JSONObject()
        expectEqual(inner.text, "{}")
        inner.add("n", -1)
        var json = JSONObject()
        json.add("s\"", "v")
        json.add("b", true)
        json.add("o", inner)
        json.add("a", [inner, inner])
        json.add("t", [] as [String])
        json.add("u", ["x", "y"])
        json.add("r", raw: "1.5")
        expectEqual(
            json.text, #"{"s\"":"v","b":true,"o":{"n":-1},"a":[{"n":-1},{"n":-1}],"t":[],"u":["x","y"],"r":1.5}"#)
    }
}
#endif
