// Values from the elements that represent them: the reader of `XMLRepresentation`.

import PlistBuilding
package import PlistStreaming

/// An XML sink that sends the values of a document in ``XMLRepresentation`` to a sink of property-list messages.
package struct XMLRepresentationAdapter<Sink: PlistSink & ~Copyable>: XMLSink, ~Copyable {
    private enum Kind: String {
        case map, array, string, number, boolean, null
    }

    /// The receiver of the messages.
    package var sink: Sink
    private var open: [Kind] = []
    private var text: [UInt8] = []
    private var isEscaped = false

    /// Creates a sink in front of another one.
    package init(_ sink: consuming Sink) { self.sink = sink }

    /// Sends the key of a value, and the start of a container.
    ///
    /// - Throws: `invalidSyntax` for other elements and attributes, `missingMember` for a value without a key.
    package mutating func startElement(_ tag: borrowing XMLStartTag) throws(StreamError) -> XMLInterest {
        let name = String(validating: tag.name.local) ?? ""
        guard tag.name.namespace.equals(XMLRepresentation.namespace), let kind = Kind(rawValue: name) else {
            throw StreamError(.invalidSyntax, "expected an element of a JSON representation, found <\(name)>")
        }
        var key: String?
        var isKeyEscaped = false
        isEscaped = false
        for index in 0..<tag.attributes.count {
            let attribute = tag.attributes[index]
            // SPEC: as in the schema of the representation, attributes of other namespaces have no meaning.
            let isOther =
                attribute.name.namespace.byteCount > 0
                && !attribute.name.namespace.equals(XMLRepresentation.namespace)
            if isOther { continue }
            if attribute.hasSkippedEntity { throw attribute.lack }
            let value = String(validating: attribute.value) ?? ""
            let name = String(validating: attribute.name.qualified) ?? ""
            switch name {
            case "key": key = value
            case "escaped-key": isKeyEscaped = try Self.bool(value)
            case "escaped" where kind == .string: isEscaped = try Self.bool(value)
            default: throw StreamError(.invalidSyntax, "expected no attribute \(name) of an element <\(kind)>")
            }
        }
        switch open.last {
        case nil, .array:
            if key != nil { throw StreamError(.invalidSyntax, "expected no key outside a map") }
        case .map:
            guard let key else { throw StreamError(.missingMember, "expected a key for a member of a map") }
            let name = isKeyEscaped ? try XMLRepresentation.unescaped(key) : key
            try name.withUTF8Span { (name) throws(StreamError) in try sink.writeKey(name) }
        case .some(let outer):
            throw StreamError(.invalidSyntax, "expected text in an element <\(outer)>, found an element <\(kind)>")
        }
        open.append(kind)
        text.removeAll(keepingCapacity: true)
        if kind == .map { try sink.beginDictionary() }
        if kind == .array { try sink.beginArray() }
        return .content
    }

    /// Keeps text until its element ends.
    ///
    /// - Throws: `invalidSyntax` for text other than white space between elements.
    package mutating func text(_ piece: borrowing XMLText) throws(StreamError) {
        switch open.last {
        case .string, .number, .boolean: text += Array(copying: piece.utf8)
        default:
            guard piece.utf8.isXMLWhitespace else {
                throw StreamError(.invalidSyntax, "expected an element, found text")
            }
        }
    }

    /// Sends a scalar, or the end of a container.
    ///
    /// - Throws: `invalidSyntax` for other text than that of a number or Boolean, `invalidText` for other escapes.
    package mutating func endElement(_ tag: borrowing XMLEndTag) throws(StreamError) {
        let text = text
        try text.withRawSpan { (text) throws(StreamError) in
            switch open.popLast() {
            case .map: try sink.endDictionary()
            case .array: try sink.endArray()
            case .null: try sink.writeNull()
            case .boolean: try sink.writeBool(Self.bool(String(validating: text.withoutXMLWhitespaceAround) ?? ""))
            case .number: try writeNumber(text.withoutXMLWhitespaceAround)
            case .string where isEscaped:
                let string = try XMLRepresentation.unescaped(String(validating: text) ?? "")
                try string.withUTF8Span { (string) throws(StreamError) in try sink.writeString(string) }
            case .string: try sink.writeString(text)
            case nil: break
            }
        }
    }

    /// Refuses a reference to an entity whose text is not in the document.
    ///
    /// - Throws: `unrepresentable`.
    package mutating func skippedEntity(_ reference: borrowing XMLSkippedEntity) throws(StreamError) {
        throw StreamError(.unrepresentable, "expected the text of an entity, which is not in the document")
    }

    /// Forwards the call.
    package mutating func cancel(with error: StreamError) { sink.cancel(with: error) }

    private mutating func writeNumber(_ text: RawSpan) throws(StreamError) {
        guard let number = DecimalNumber(text) else {
            throw StreamError(
                .invalidSyntax, "expected a JSON number, found '\(String(validating: text) ?? "")'")
        }
        if !number.isInteger, let real = NumberText.real(text, as: Double.self),
            !NumberText.hasDigits(of: text, real)
        {
            return try sink.writeNumber(text: text)
        }
        try sink.write(number, in: text)
    }

    private static func bool(_ text: String) throws(StreamError) -> Bool {
        switch text {
        case "true", "1": return true
        case "false", "0": return false
        default: throw StreamError(.invalidSyntax, "expected true or false, found '\(text)'")
        }
    }
}
