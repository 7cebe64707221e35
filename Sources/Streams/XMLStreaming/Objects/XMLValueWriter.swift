// Writes values as elements. The writer is the sink of the XML format.

import PlistStreaming

/// A sink that writes dictionaries as elements, their members as child elements or attributes, arrays as repeated elements,
/// and null as an element with `xsi:nil`.
struct XMLValueWriter: ScalarSink, ~Copyable {
    /// An open container.
    private enum Container {
        /// The element of a dictionary. The flags indicate whether it has members other than attributes and text, and whether
        /// its text is only white space.
        case element(hasElements: Bool, hasBlankText: Bool)
        /// An array, whose elements have the given name.
        case array(elementName: String)
    }

    private var writer: XMLWriter
    private let options: XMLObjectOptions
    private let rootName: String
    private let recordName: String
    /// The name of the attribute that marks an element as having no value.
    private let nilAttribute: String
    private var open: [Container] = []
    /// The key of the next value.
    private var key: String?
    /// The start tag that can still get attributes.
    private var tag: (name: String, attributes: [(key: String, value: String)])?

    init(_ format: XML, taking output: inout ByteOutput) {
        // SPEC: XML Schema Part 1, section 2.6.2.
        let namespace = "http://www.w3.org/2001/XMLSchema-instance"
        var (writing, prefix) = (format.writer, "xsi")
        while let other = writing.namespaces[prefix], other != namespace { prefix += "_" }
        writing.namespaces[prefix] = namespace
        nilAttribute = prefix + ":nil"
        writer = XMLWriter(options: writing, taking: &output)
        (options, rootName, recordName) = (format.objects, format.rootName, format.recordName)
    }

    mutating func returnOutput(_ output: inout ByteOutput) { writer.returnOutput(&output) }

    mutating func finish() throws(StreamError) { try writer.finish() }

    // MARK: Elements

    /// Returns the name of the next value's element, or the name of an array's elements, and removes it.
    private mutating func takeName(isArray: Bool = false) throws(StreamError) -> String {
        switch open.last {
        case nil: return rootName
        case .array(let name):
            try beginElement(in: open.count - 2)
            return name
        case .element:
            guard let key else { throw StreamError(.misuse, "expected writeKey or endDictionary, got a value") }
            self.key = nil
            if key != options.textKey, !isAttribute(key), !isArray { try beginElement(in: open.count - 1) }
            return key
        }
    }

    /// Records that an element contains another one. Throws an error if its text is only white space, because readers would
    /// drop it.
    private mutating func beginElement(in index: Int) throws(StreamError) {
        guard index >= 0, case .element(_, let hasBlankText) = open[index] else { return }
        open[index] = .element(hasElements: true, hasBlankText: hasBlankText)
        if hasBlankText { throw blankText() }
    }

    private func isAttribute(_ key: String) -> Bool {
        !options.attributePrefix.isEmpty && key.hasPrefix(options.attributePrefix)
    }

    private func blankText() -> StreamError {
        StreamError(.unrepresentable, "expected text that is more than white space in an element with children")
    }

    /// Writes the pending start tag.
    private mutating func writeTag() throws(StreamError) {
        guard let tag else { return }
        self.tag = nil
        try writer.startElement(tag.name, attributes: tag.attributes)
    }

    private mutating func write(_ text: String) throws(StreamError) {
        let name = try takeName()
        if case .element(let hasElements, _)? = open.last {
            if name == options.textKey {
                let isBlank = !text.isEmpty && text.withUTF8Span { $0.isXMLWhitespace }
                if isBlank, hasElements { throw blankText() }
                open[open.count - 1] = .element(hasElements: hasElements, hasBlankText: isBlank)
                try writeTag()
                return try writer.text(text)
            }
            if isAttribute(name) {
                guard tag != nil else {
                    throw StreamError(.unrepresentable, "expected attributes before the other members of an element")
                }
                tag?.attributes.append((String(name.dropFirst(options.attributePrefix.count)), text))
                return
            }
        }
        try writeTag()
        try writer.element(name, text: text)
    }

    // MARK: Messages

    mutating func beginArray() throws(StreamError) {
        let name = try takeName(isArray: true)
        if case .array? = open.last {
            throw StreamError(.unrepresentable, "expected no array directly in an array, which XML can't represent")
        }
        try writeTag()
        if open.isEmpty {
            try writer.startElement(name)
            open.append(.array(elementName: recordName))
        } else {
            open.append(.array(elementName: name))
        }
    }

    mutating func endArray() throws(StreamError) {
        guard case .array? = open.popLast() else { throw StreamError(.misuse, "got endArray without an open array") }
        if open.isEmpty { try writer.endElement() }
    }

    mutating func beginDictionary() throws(StreamError) {
        let name = try takeName()
        try writeTag()
        tag = (name, [])
        open.append(.element(hasElements: false, hasBlankText: false))
    }

    mutating func endDictionary() throws(StreamError) {
        guard case .element? = open.popLast() else {
            throw StreamError(.misuse, "got endDictionary without an open dictionary")
        }
        try writeTag()
        try writer.endElement()
    }

    mutating func writeKey(_ utf8: RawSpan) throws(StreamError) { key = try WrittenText.string(utf8) }

    mutating func write(_ scalar: borrowing StreamScalar) throws(StreamError) {
        if let text = try WrittenText.text(of: scalar) { try write(text) } else { try writeNothing() }
    }

    private mutating func writeNothing() throws(StreamError) {
        let name = try takeName()
        if case .element? = open.last, name == options.textKey || isAttribute(name) { return }
        try writeTag()
        try writer.startElement(name, attributes: [(nilAttribute, "true")])
        try writer.endElement()
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import Foundation
import InClassTesting
import PlistBuilding

enum XMLValueWriterTests {
    fileprivate struct Everything: StreamObject, Codable, Equatable {
        var text = "", flag = false, small: Int8 = 0, large: UInt64 = 0, real = 0.0, float: Float = 0
        var data = Data(), date = Date(timeIntervalSinceReferenceDate: 0)
        var maybe: Int? = nil, maybeText: String? = nil, words: [String] = [], numbers: [Int?] = []
        var inner = Inner(), inners: [Inner] = [], scores: [String: Double] = [:], lists: [String: [Int]] = [:]
        var maybeInner: Inner? = nil
    }
    fileprivate struct Inner: StreamObject, Codable, Equatable { var x = 0, y: [String] = [] }
    fileprivate struct Defaults: StreamObject, Equatable { var count: Int? = 5, name: String? = "n" }
    fileprivate struct Entry: StreamObject, Equatable {
        var id = 0
        var text = ""
        var b: [Int] = []
        static var streamMembers: StreamMembers {
            [.member("@id", \Entry.id), .member("#text", \Entry.text), .member("b", \Entry.b)]
        }
    }
}

extension XMLValueWriterTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testRoundTripsValues": testRoundTripsValues, "testWritesElements": testWritesElements,
            "testRefusesUnrepresentableValues": testRefusesUnrepresentableValues,
        ]
    }

    private static func testRoundTripsValues() throws {
        var value = Everything()
        value.text = " a\t\r\n<&>\u{1F600} "
        (value.flag, value.small, value.large, value.real, value.float) = (true, -128, .max, 0.1, 1e-7)
        value.data = Data([0, 255, 13])
        value.date = Date(timeIntervalSinceReferenceDate: 800_000_000.125)
        (value.maybe, value.maybeText) = (0, "")
        (value.words, value.numbers) = (["", " ", "x"], [1, nil, 3])
        value.inner = Inner(x: 1, y: ["one"])
        value.inners = [Inner(), Inner(x: 2)]
        (value.scores, value.lists) = (["a": 1.5, "b": -0.0], ["one": [1], "two": [1, 2]])
        value.maybeInner = Inner()
        for format in [XML(), XML(writer: .pretty)] {
            for value in [value, Everything()] {
                let text = try format.encodeToString(value)
                expectEqual(try format.decode(Everything.self, from: text), value, text)
                let records = try format.encode([value, value])
                expectEqual(try format.decode([Everything].self, from: records), [value, value], "records")
            }
            expectEqual(try format.decode([Int].self, from: try format.encode([] as [Int])), [], "no records")
            expectEqual(try format.decode([Int?].self, from: try format.encode([nil, 1])), [nil, 1], "null")
            expectEqual(try format.decode(Int?.self, from: try format.encode(nil as Int?)), nil, "null as the document")
            expectEqual(try format.decode(String.self, from: try format.encode(" ")), " ", "a string")
        }
        let none = Defaults(count: nil, name: nil)
        let options = WritingOptions(nilMembers: .writeNull)
        let written = try XML().encode(none, options: options)
        expectEqual(try XML().decode(Defaults.self, from: written), none, "nil where the default is a value")
    }

    private static func testWritesElements() throws {
        let format = XML(objects: XMLObjectOptions(attributePrefix: "@"), rootName: "r", recordName: "e")
        let entries = [Entry(id: 1, text: "x", b: [2, 3]), Entry(text: " ")]
        let text = try format.encodeToString(entries)
        expectEqual(text, #"<r><e id="1">x<b>2</b><b>3</b></e><e id="0"> </e></r>"#, "text")
        expectEqual(try format.decode([Entry].self, from: text), entries, "values")
        expectEqual(
            try XML().encodeToString([1, nil]),
            #"<root><record>1</record><record xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" "#
                + #"xsi:nil="true"/></root>"#, "null")
    }

    private static func testRefusesUnrepresentableValues() {
        let entry = XML(objects: XMLObjectOptions(attributePrefix: "@"))
        let rows: [(String, () throws -> Void)] = [
            ("an array in an array", { _ = try XML().encode([[1]]) }),
            ("a name", { _ = try XML().encode(["a b": 1]) }),
            ("a character", { _ = try XML().encode("\u{0}") }),
            ("infinity", { _ = try XML().encode(Double.infinity) }),
            ("white space beside elements", { _ = try entry.encode(Entry(text: " \n", b: [1])) }),
        ]
        for (name, write) in rows {
            expectEqual(expectThrows(StreamError.self, name) { try write() }?.kind, .unrepresentable, name)
        }
        expectThrows(StreamError.self, "a prefix") { _ = try XML().encode(["p:x": 1]) }
    }
}
#endif
