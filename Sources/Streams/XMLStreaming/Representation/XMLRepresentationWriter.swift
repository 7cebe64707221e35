// Values as elements that represent them: the writer of `XMLRepresentation`.

package import PlistStreaming

/// A sink that writes a value as ``XMLRepresentation`` describes.
package struct XMLRepresentationWriter: ScalarSink, ~Copyable {
    var writer: XMLWriter
    private var key: String?
    private var isEmpty = true

    /// Creates a sink in front of a writer of XML, which must have written nothing.
    package init(_ writer: consuming XMLWriter) { self.writer = writer }

    /// Ends the document.
    ///
    /// - Throws: `misuse` if the value is not complete, and errors of the destination.
    package mutating func finish() throws(StreamError) { try writer.finish() }

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

    /// Writes the start of an array.
    package mutating func beginArray() throws(StreamError) { try begin("array") }
    /// Writes the end of an array.
    package mutating func endArray() throws(StreamError) { try writer.endElement() }
    /// Writes the start of a map.
    package mutating func beginDictionary() throws(StreamError) { try begin("map") }
    /// Writes the end of a map.
    package mutating func endDictionary() throws(StreamError) { try writer.endElement() }
    /// Keeps the key for the element of the value.
    package mutating func writeKey(_ utf8: RawSpan) throws(StreamError) { key = try WrittenText.string(utf8) }

    /// Writes the element of a scalar.
    ///
    /// - Throws: `unrepresentable` for an infinite number and a date outside the years 0 to 9999.
    package mutating func write(_ scalar: borrowing StreamScalar) throws(StreamError) {
        let text = try WrittenText.text(of: scalar) ?? ""
        switch scalar {
        case .null: try write("null", text)
        case .bool: try write("boolean", text)
        case .integer, .unsigned, .real, .number: try write("number", text)
        case .string:
            let escaped = XMLRepresentation.escaped(text)
            try write("string", escaped ?? text, isEscaped: escaped != nil)
        case .data, .date: try write("string", text)
        }
    }
}
