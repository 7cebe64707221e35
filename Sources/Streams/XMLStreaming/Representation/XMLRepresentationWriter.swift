// Values as XML, as XPath represents JSON: the sink that writes it.

import PlistStreaming
import XMLStreaming

// SPEC: XPath and XQuery Functions and Operators 3.1, section 22.4.2, "Representing JSON using XML".
/// What the function `json-to-xml` makes of values: `<map>`, `<array>`, `<string>`, `<number>`, `<boolean>` and `<null/>`.
enum XMLRepresentation {
    /// The namespace of the elements.
    static let namespace = "http://www.w3.org/2005/xpath-functions"

    /// The text that stands for one that XML cannot hold, with escapes of JSON; nil where nothing has to be escaped.
    static func escaped(_ text: String) -> String? {
        guard text.unicodeScalars.contains(where: isForbidden) else { return nil }
        var escaped = ""
        for scalar in text.unicodeScalars {
            if scalar == "\\" {
                escaped += "\\\\"
            } else if isForbidden(scalar) {
                let digits = String(scalar.value, radix: 16)
                escaped += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            } else {
                escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }

    // SPEC: XML 1.0, production 2.
    private static func isForbidden(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value < 0x20 && ![0x09, 0x0A, 0x0D].contains(scalar.value) || scalar.value & ~1 == 0xFFFE
    }
}

/// A sink that writes values as `json-to-xml` does.
struct XMLRepresentationWriter: TextWriter, ScalarSink, ~Copyable {
    private var writer: XMLWriter
    private var key: String?
    private var isEmpty = true

    init(descriptor: Int32, isPretty: Bool) {
        writer = XMLWriter(descriptor: descriptor, options: isPretty ? .pretty : XMLWriterOptions())
    }

    mutating func finish() throws(StreamError) { try writer.finish() }

    private mutating func begin(_ name: String, isEscaped: Bool = false) throws(StreamError) {
        var attributes: [(key: String, value: String)] = []
        if isEmpty { attributes.append(("xmlns", XMLRepresentation.namespace)) }
        isEmpty = false
        if let key {
            let escaped = XMLRepresentation.escaped(key)
            attributes.append(("key", escaped ?? key))
            if escaped != nil { attributes.append(("escaped-key", "true")) }
        }
        if isEscaped { attributes.append(("escaped", "true")) }
        key = nil
        try writer.startElement(name, attributes: attributes)
    }

    private mutating func write(_ name: String, _ text: String, isEscaped: Bool = false) throws(StreamError) {
        try begin(name, isEscaped: isEscaped)
        try writer.text(text)
        try writer.endElement()
    }

    mutating func beginArray() throws(StreamError) { try begin("array") }
    mutating func endArray() throws(StreamError) { try writer.endElement() }
    mutating func beginDictionary() throws(StreamError) { try begin("map") }
    mutating func endDictionary() throws(StreamError) { try writer.endElement() }
    mutating func writeKey(_ utf8: RawSpan) throws(StreamError) { key = try Self.text(utf8) }

    mutating func write(_ scalar: borrowing StreamScalar) throws(StreamError) {
        switch scalar {
        case .null: try write("null", "")
        case .bool(let value): try write("boolean", value ? "true" : "false")
        case .integer(let value): try write("number", "\(value)")
        case .unsigned(let value): try write("number", "\(value)")
        case .real(let value):
            guard value.isFinite else { throw StreamError(.unrepresentable, "there is no number for \(value)") }
            try write("number", NumberText.text(of: value))
        case .number(let text): try write("number", Self.text(text))
        case .string(let utf8):
            let text = try Self.text(utf8)
            let escaped = XMLRepresentation.escaped(text)
            try write("string", escaped ?? text, isEscaped: escaped != nil)
        case .data(let bytes): try write("string", Base64Text.string(of: bytes))
        case .date(let seconds):
            guard let text = DateText.rfc3339(secondsSince2001: seconds) else {
                throw StreamError(.unrepresentable, "a date has a year from 0 to 9999")
            }
            try write("string", text)
        }
    }

    private static func text(_ utf8: RawSpan) throws(StreamError) -> String {
        guard let text = String(validating: utf8) else {
            throw StreamError(.invalidText, "the string is not valid UTF-8")
        }
        return text
    }
}
