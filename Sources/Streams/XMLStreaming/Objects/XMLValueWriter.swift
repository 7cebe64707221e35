// Writes values as elements: the sink of the format XML.

import PlistStreaming

/// A sink that writes dictionaries as elements, their members as child elements or attributes, and arrays as repeated elements.
struct XMLValueWriter: PlistSink, ~Copyable {
    /// An open container.
    private enum Container {
        /// The element of a dictionary.
        case element
        /// An array, whose elements have this name.
        case array(elementName: String)
    }

    private var writer: XMLWriter
    private let options: XMLObjectOptions
    private let rootName: String
    private let recordName: String
    private var open: [Container] = []
    /// The key of the value to come.
    private var key: String?
    /// The start tag that more attributes may be added to.
    private var tag: (name: String, attributes: [(key: String, value: String)])?

    init(_ format: XML, taking output: inout ByteOutput) {
        writer = XMLWriter(options: format.writer, taking: &output)
        (options, rootName, recordName) = (format.objects, format.rootName, format.recordName)
    }

    mutating func giveBack(_ output: inout ByteOutput) { writer.giveBack(&output) }

    mutating func finish() throws(StreamError) { try writer.finish() }

    // MARK: Elements

    /// Takes the name of the element of the value to come.
    private mutating func takeName() throws(StreamError) -> String {
        switch open.last {
        case nil: return rootName
        case .array(let name): return name
        case .element:
            guard let key else { throw StreamError(.misuse, "expected writeKey or endDictionary, got a value") }
            self.key = nil
            return key
        }
    }

    /// Writes the start tag that waits for attributes.
    private mutating func writeTag() throws(StreamError) {
        guard let tag else { return }
        self.tag = nil
        try writer.startElement(tag.name, attributes: tag.attributes)
    }

    private mutating func write(_ text: String) throws(StreamError) {
        let name = try takeName()
        if case .element? = open.last {
            if name == options.textKey {
                try writeTag()
                return try writer.text(text)
            }
            if !options.attributePrefix.isEmpty, name.hasPrefix(options.attributePrefix) {
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
        let name = try takeName()
        if case .array? = open.last {
            throw StreamError(.unrepresentable, "expected no array in an array, which XML has no elements for")
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
        open.append(.element)
    }

    mutating func endDictionary() throws(StreamError) {
        guard case .element? = open.popLast() else {
            throw StreamError(.misuse, "got endDictionary without an open dictionary")
        }
        try writeTag()
        try writer.endElement()
    }

    mutating func writeKey(_ utf8: RawSpan) throws(StreamError) { key = try Self.text(utf8) }

    mutating func writeNull() throws(StreamError) {
        guard case .element? = open.last else {
            throw StreamError(.unrepresentable, "expected a value, found null, which only a member can be")
        }
        _ = try takeName()
    }

    mutating func writeBool(_ value: Bool) throws(StreamError) { try write(value ? "true" : "false") }
    mutating func writeInteger(_ value: Int64) throws(StreamError) { try write("\(value)") }
    mutating func writeUnsigned(_ value: UInt64) throws(StreamError) { try write("\(value)") }

    mutating func writeReal(_ value: Double) throws(StreamError) {
        guard value.isFinite else { throw StreamError(.unrepresentable, "expected a finite number, found \(value)") }
        try write(NumberText.text(of: value))
    }

    mutating func writeNumber(text: RawSpan) throws(StreamError) { try write(Self.text(text)) }
    mutating func writeString(_ utf8: RawSpan) throws(StreamError) { try write(Self.text(utf8)) }
    mutating func writeData(_ bytes: RawSpan) throws(StreamError) { try write(Base64Text.string(of: bytes)) }

    mutating func writeDate(secondsSince2001 seconds: Double) throws(StreamError) {
        guard let text = DateText.rfc3339(secondsSince2001: seconds) else {
            throw StreamError(.unrepresentable, "expected a date of a year from 0 to 9999")
        }
        try write(text)
    }

    private static func text(_ utf8: RawSpan) throws(StreamError) -> String {
        guard let text = String(validating: utf8) else {
            throw StreamError(.invalidText, "the string is not valid UTF-8")
        }
        return text
    }
}
