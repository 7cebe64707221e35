// Writes JSON. It doesn't use the package's JSON modules, because their tests use it.

/// A value that can be written as JSON.
protocol JSONValue {
    var json: String { get }
}

extension Int: JSONValue {
    var json: String { "\(self)" }
}

extension Bool: JSONValue {
    var json: String { "\(self)" }
}

extension String: JSONValue {
    var json: String { JSONObject.quoted(self) }
}

extension Array: JSONValue where Element: JSONValue {
    var json: String { "[\(map(\.json).joined(separator: ","))]" }
}

/// A number in JSON's form.
struct JSONNumber: JSONValue {
    let json: String
}

/// An object. Members without a value are left out.
struct JSONObject: JSONValue, ExpressibleByDictionaryLiteral {
    private let members: [String]

    init(dictionaryLiteral elements: (String, (any JSONValue)?)...) {
        members = elements.compactMap { name, value in value.map { "\(name.json):\($0.json)" } }
    }

    /// Creates an object with the members of several objects.
    init(joining objects: [JSONObject]) { members = objects.flatMap(\.members) }

    /// The object on one line.
    var json: String { "{\(members.joined(separator: ","))}" }

    /// Returns a string literal that is also valid in YAML. Characters that aren't printable are escaped.
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
        let inner: JSONObject = ["n": -1, "nothing": nil]
        expectEqual(JSONObject(joining: []).json, "{}")
        let outer: JSONObject = [
            "s\"": "v", "b": true, "o": inner, "a": [inner, inner], "t": [] as [String], "u": ["x", "y"],
        ]
        expectEqual(
            JSONObject(joining: [outer, ["r": JSONNumber(json: "1.5")]]).json,
            #"{"s\"":"v","b":true,"o":{"n":-1},"a":[{"n":-1},{"n":-1}],"t":[],"u":["x","y"],"r":1.5}"#)
    }
}
#endif
