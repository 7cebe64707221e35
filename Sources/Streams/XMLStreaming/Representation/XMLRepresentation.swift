// The format XMLRepresentation, and the escapes of its strings.

public import PlistStreaming

// SPEC: XPath and XQuery Functions and Operators 3.1, section 22.4.2, "Representing JSON using XML".
/// XML that represents values, as the functions `json-to-xml` and `xml-to-json` of XPath 3.1 write and read it.
///
/// The elements are `<map>`, `<array>`, `<string>`, `<number>`, `<boolean>` and `<null/>` of one namespace. Unlike ``XML``, the
/// format keeps all values of JSON and their types:
///
/// ```swift
/// let text = try XMLRepresentation().encodeToString(["done": true])
/// // <map xmlns="http://www.w3.org/2005/xpath-functions"><boolean key="done">true</boolean></map>
/// let tasks = try XMLRepresentation().decode([Task].self, from: .file("tasks.xml"))
/// ```
///
/// Data is written as base64 and a date as text such as `2026-11-25T10:00:00Z`, both in `<string>`.
public struct XMLRepresentation: DefaultFormat {
    /// The namespace of the elements.
    public static let namespace: String = "http://www.w3.org/2005/xpath-functions"

    /// A Boolean value that indicates whether each element is written on its own line, indented.
    public var isPretty: Bool = false

    /// Creates the format for compact text.
    public init() {}

    /// Reads a document and sends its values to a sink.
    ///
    /// - Throws: The first error of the source, the document or the sink, with its position; `invalidSyntax` for other
    ///   elements.
    /// - Complexity: O(*n*) in the bytes.
    public func read<Sink: PlistSink & ~Copyable>(
        _ source: some ByteSource, into sink: inout Sink
    ) throws(StreamError) {
        var adapter = XMLRepresentationAdapter(sink)
        var thrown: StreamError?
        do throws(StreamError) { try adapter.readXML(source) } catch { thrown = error }
        sink = adapter.sink
        if let thrown { throw thrown }
    }

    /// Writes one value.
    ///
    /// - Throws: `unrepresentable` for infinite numbers and dates outside the years 0 to 9999.
    /// - Complexity: O(*n*) in the bytes.
    public func write(_ content: some StreamContent, to output: inout some ByteSink) throws(StreamError) {
        let options = isPretty ? XMLWriterOptions.pretty : XMLWriterOptions()
        try output.withOutput { (output) throws(StreamError) in
            var writer = XMLRepresentationWriter(XMLWriter(options: options, taking: &output))
            defer { writer.writer.returnOutput(&output) }
            try content.send(to: &writer)
            try writer.finish()
        }
    }

    // MARK: Escapes

    /// Returns a text with JSON's escapes for characters that XML excludes; nil if nothing has to be escaped.
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

    /// Returns the string that a text with JSON's escapes represents.
    ///
    /// - Throws: `invalidText` for other escapes, and for half of a surrogate pair.
    static func unescaped(_ text: String) throws(StreamError) -> String {
        let characters: [Character: UInt16] = [
            "\"": 0x22, "\\": 0x5C, "/": 0x2F, "b": 0x08, "f": 0x0C, "n": 0x0A, "r": 0x0D, "t": 0x09,
        ]
        var units: [UInt16] = []
        var rest = text.unicodeScalars[...]
        while let scalar = rest.popFirst() {
            guard scalar == "\\" else {
                units += Character(scalar).utf16
                continue
            }
            let escape = rest.popFirst()
            if escape == "u", rest.prefix(4).count == 4, rest.prefix(4).allSatisfy(\.properties.isASCIIHexDigit),
                let unit = UInt16(String(rest.prefix(4)), radix: 16)
            {
                rest = rest.dropFirst(4)
                units.append(unit)
            } else if let escape, let unit = characters[Character(escape)] {
                units.append(unit)
            } else {
                throw StreamError(.invalidText, "expected text with JSON escapes, found another escape")
            }
        }
        guard let string = String(validating: units, as: UTF16.self) else {
            throw StreamError(.invalidText, "expected text with JSON escapes, found half a surrogate pair")
        }
        return string
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension XMLRepresentation: SelfTesting {
    /// The tests of this type.
    public static var testSelectors: TestSelectors {
        [
            "testWritesAndReadsValues": testWritesAndReadsValues,
            "testEscapesWhatXMLExcludes": testEscapesWhatXMLExcludes,
            "testRefusesOtherElements": testRefusesOtherElements,
        ]
    }

    private static func read(_ text: String) throws(StreamError) -> String {
        var trace = EventTrace()
        try XMLRepresentation().read(text, into: &trace)
        return trace.text
    }

    private static func testWritesAndReadsValues() throws {
        let script = """
            { key "a" [ null true integer -1 unsigned 18446744073709551615 real 0.5 number 1e400 string " x<" ] key "" { } }
            """
        var writer = XMLRepresentationWriter(XMLWriter())
        try EventScript.send(script, to: &writer)
        try writer.finish()
        let text = writer.writer.text
        expectEqual(
            text,
            """
            <map xmlns="\(namespace)"><array key="a"><null/><boolean>true</boolean><number>-1</number>\
            <number>18446744073709551615</number><number>0.5</number><number>1e400</number><string> x&lt;</string></array>\
            <map key=""/></map>
            """, "text")
        expectEqual(try read(text), script, "messages")
        expectEqual(
            try read("<m:array xmlns:m='\(namespace)'> <m:boolean> 0 </m:boolean>\n<m:number> 1 </m:number></m:array>"),
            "[ false integer 1 ]", "white space and a prefix")
        expectEqual(
            try read("<array xmlns='\(namespace)' xmlns:o='other' o:key='a' xml:space='default'/>"), "[ ]",
            "attributes of other namespaces")
        var other = XMLRepresentationWriter(XMLWriter())
        try EventScript.send("[ data 00ff date 0.0 ]", to: &other)
        try other.finish()
        expectEqual(
            try read(other.writer.text), "[ string \"AP8=\" string \"2001-01-01T00:00:00Z\" ]", "data and dates")
    }

    private static func testEscapesWhatXMLExcludes() throws {
        for text in ["a\u{1}\\\"\n", "\u{FFFF}", "\\u0041\u{0}", "🙂\u{B}"] {
            let escaped = try requireNotNil(escaped(text), text.debugDescription)
            expectEqual(try unescaped(escaped), text, escaped)
        }
        expectNil(escaped("\\ é\t\r\n"), "text that XML has")
        expectEqual(try unescaped(#"\"\\\/\b\f\n\r\t\u00e9\ud83d\uDE42"#), "\"\\/\u{8}\u{C}\n\r\té🙂", "all escapes")
        for text in ["\\", "\\x", "\\u12", "\\u12g4", "\\ud83d", "\\ude42\\ud83d", "\\N", "\\u+123"] {
            let error = expectThrows(StreamError.self, text) { _ = try unescaped(text) }
            expectEqual(error?.kind, .invalidText, text)
        }
    }

    private static func testRefusesOtherElements() throws {
        let rows = [
            ("<map><bool/></map>", "expected an element of a JSON representation, found <bool>"),
            ("<map><null/></map>", "expected a key for a member of a map"),
            ("<array><null key='a'/></array>", "expected no key outside a map"),
            ("<string><null/></string>", "expected text in an element <string>, found an element <null>"),
            ("<array>x</array>", "expected an element, found text"),
            ("<number>x</number>", "expected a JSON number, found 'x'"),
            ("<boolean>yes</boolean>", "expected true or false, found 'yes'"),
            ("<null xmlns:j='\(namespace)' j:a='1'/>", "expected no attribute j:a of an element <null>"),
            ("<null a='1'/>", "expected no attribute a of an element <null>"),
            ("<string escaped='1'>\\x</string>", "expected text with JSON escapes"),
        ]
        for (text, message) in rows {
            let name = text.dropFirst().prefix { $0.isLetter }
            let document = "<\(name) xmlns='\(namespace)'\(text.dropFirst(name.count + 1))"
            let error = expectThrows(StreamError.self, text) { _ = try read(document) }
            expectTrue(error?.message.hasPrefix(message) ?? false, "\(error?.message ?? "") for \(text)")
            expectNotNil(error?.position, "position")
        }
    }
}
#endif
