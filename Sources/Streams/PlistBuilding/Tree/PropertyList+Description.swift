// Describes a tree for people, without recursion: JSON with a space after each comma and colon, except for data and dates.

import PlistStreaming

extension PropertyList: CustomStringConvertible {
    /// A text of the value, such as `{"id": 7, "tags": ["a", null]}`.
    public var description: String {
        var sink = DescribingSink()
        // The sink accepts all messages.
        do throws(StreamError) { try send(to: &sink) } catch { sink.text += error.description }
        return sink.text
    }
}

/// A sink that writes values for people.
private struct DescribingSink: ScalarSink {
    var text = ""
    /// The text before the next value or key.
    private var separator = ""

    private mutating func append(_ value: String) {
        text += separator
        text += value
        separator = ", "
    }

    private mutating func open(_ bracket: String) {
        append(bracket)
        separator = ""
    }

    private mutating func close(_ bracket: String) {
        separator = ""
        append(bracket)
    }

    private static func string(_ utf8: RawSpan) -> String { String(validating: utf8) ?? "" }

    mutating func beginArray() throws(StreamError) { open("[") }
    mutating func endArray() throws(StreamError) { close("]") }
    mutating func beginDictionary() throws(StreamError) { open("{") }
    mutating func endDictionary() throws(StreamError) { close("}") }
    mutating func writeKey(_ utf8: RawSpan) throws(StreamError) {
        append(Self.string(utf8).debugDescription)
        separator = ": "
    }
    mutating func write(_ scalar: borrowing StreamScalar) throws(StreamError) {
        switch scalar {
        case .null: append("null")
        case .bool(let value): append(value ? "true" : "false")
        case .integer(let value): append("\(value)")
        case .unsigned(let value): append("\(value)")
        case .real(let value): append("\(value)")
        case .number(let text): append(Self.string(text))
        case .string(let utf8): append(Self.string(utf8).debugDescription)
        case .data(let bytes): append("data(\(bytes.byteCount) bytes)")
        case .date(let seconds): append("date(\(seconds))")
        }
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

enum PropertyListDescriptionTests {}

extension PropertyListDescriptionTests: SelfTesting {
    static var testSelectors: TestSelectors { ["testDescribesEveryKindOfValue": testDescribesEveryKindOfValue] }

    private static func testDescribesEveryKindOfValue() throws {
        let rows = [
            ("integer 7", "7"), ("[ ]", "[]"), ("{ }", "{}"), ("string \"é\"", #""é""#),
            (
                "[ null true real 1.5 unsigned 18446744073709551615 number 1e999 ]",
                "[null, true, 1.5, 18446744073709551615, 1e999]"
            ),
            (
                "{ key \"a\" [ [ ] { } integer 1 ] key \"b\" data 0708 key \"c\" date 7.0 }",
                #"{"a": [[], {}, 1], "b": data(2 bytes), "c": date(7.0)}"#
            ),
        ]
        for (script, expected) in rows {
            expectEqual("\(try PropertyListBuilder.list(script))", expected, script)
        }
    }
}
#endif
