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
        var result = [UInt8(ascii: "\"")]
        result.reserveCapacity(text.utf8.count + 2)
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\"".utf8
            case "\\": result += "\\\\".utf8
            case "\n": result += "\\n".utf8
            case "\r": result += "\\r".utf8
            case "\t": result += "\\t".utf8
            case _ where mustBeEscaped(scalar.value):
                result += "\\u".utf8
                result += String(scalar.value + 0x10000, radix: 16).dropFirst().utf8
            default: result += UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter
            }
        }
        result.append(UInt8(ascii: "\""))
        return String(decoding: result, as: UTF8.self)
    }

    private static func mustBeEscaped(_ value: UInt32) -> Bool {
        value < 0x20 || (0x7F..<0xA0).contains(value) || value == 0x2028 || value == 0x2029 || value == 0xFEFF
            || value == 0xFFFE || value == 0xFFFF
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
