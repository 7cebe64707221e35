// XML as values: what `json-to-xml` made as what it was made of, any other document as its elements and attributes.

import JSONStreaming
import PlistBuilding
import PlistStreaming
import XMLStreaming

/// A sink of XML that sends what a document stands for.
struct XMLValues: XMLSink, ~Copyable {
    private var messages: XMLRecordAdapter<ValueSink>
    private var representation: RepresentationState
    /// A Boolean value that indicates whether the document is a representation of values, once its root has come.
    private var isRepresentation: Bool?
    private let arguments: Arguments
    private let warnings: Warnings
    /// A Boolean value that indicates whether the children of the root are records.
    private let hasRecords: Bool
    private let keepsRootName: Bool
    /// What of the document is no value.
    private(set) var leftOut = LeftOutParts()

    /// Creates a sink before another one.
    init(_ sink: ValueSink, _ arguments: Arguments, _ warnings: Warnings) {
        (self.arguments, self.warnings) = (arguments, warnings)
        // A table has no place for the name of the root; that of its children is the table's.
        let isTable = arguments.to == .sqlite || arguments.to.isDelimited || arguments.to == .jsonLines
        hasRecords = isTable && arguments.records == nil
        let options = XMLObjectOptions(
            names: .qualified, root: isTable || arguments.records != nil ? .value : .member,
            arrays: hasRecords ? .records : .repeated, attributePrefix: "@", keepsRootAttributes: !hasRecords)
        keepsRootName = options.root == .member
        messages = XMLRecordAdapter(sink, options: options)
        representation = RepresentationState(sink)
    }

    private mutating func beginRoot(_ tag: borrowing XMLStartTag) {
        let isOfValues = tag.name.namespace.equals(XMLRepresentation.namespace)
        isRepresentation = isOfValues
        if isOfValues { return }
        if arguments.to == .xml { warnings.add("the elements become those that json-to-xml makes of their values") }
        if !keepsRootName { leftOut.add(.rootName, at: tag.place) }
        guard hasRecords else { return }
        messages.sink.rootDictionary = .table
        if tag.attributes.count > 0 {
            let name = String(validating: tag.attributes[0].name.qualified) ?? ""
            warnings.add(
                "attributes of the root are left out", at: StreamPath([.key("@" + name)]), count: tag.attributes.count)
        }
    }

    mutating func startElement(_ tag: borrowing XMLStartTag) throws(StreamError) -> XMLInterest {
        if isRepresentation == nil { beginRoot(tag) }
        guard isRepresentation == true else {
            leftOut.add(.namespaces, count: tag.declarations.count, at: tag.place)
            let movedCount = messages.movedCount
            let interest = try messages.startElement(tag)
            leftOut.add(.order, count: messages.movedCount - movedCount, at: tag.place)
            return interest
        }
        try representation.begin(tag)
        return .content
    }

    mutating func endElement(_ tag: borrowing XMLEndTag) throws(StreamError) {
        if isRepresentation == true { return try representation.end() }
        let movedCount = messages.movedCount
        try messages.endElement(tag)
        // Of those that are repeated it is known where all have come.
        leftOut.add(.order, count: messages.movedCount - movedCount, at: tag.place)
    }

    mutating func text(_ text: borrowing XMLText) throws(StreamError) {
        if isRepresentation == true { try representation.add(text.utf8) } else { try messages.text(text) }
    }

    mutating func documentType(_ type: borrowing XMLDocumentType) { leftOut.add(.documentType, at: type.place) }
    mutating func comment(_ comment: borrowing XMLComment) { leftOut.add(.comments, at: comment.place) }
    mutating func processingInstruction(_ instruction: borrowing XMLProcessingInstruction) {
        leftOut.add(.instructions, at: instruction.place)
    }

    mutating func skippedEntity(_ reference: borrowing XMLSkippedEntity) throws(StreamError) {
        guard isRepresentation == true else { return try messages.skippedEntity(reference) }
        throw StreamError(.unrepresentable, "expected the text of an entity, which is not in the document")
    }

    mutating func endDocument() throws(StreamError) {
        if isRepresentation != true { try messages.endDocument() }
    }

    mutating func cancel(with error: StreamError) {
        if isRepresentation == true {
            representation.sink.cancel(with: error)
        } else {
            messages.cancel(with: error)
        }
    }
}

/// Where in a representation of values a reader is.
struct RepresentationState {
    private enum Kind: String {
        case map, array, string, number, boolean, null
    }

    var sink: ValueSink
    private var open: [Kind] = []
    private var text: [UInt8] = []
    private var isEscaped = false

    init(_ sink: ValueSink) { self.sink = sink }

    mutating func begin(_ tag: borrowing XMLStartTag) throws(StreamError) {
        let name = String(validating: tag.name.local) ?? ""
        guard tag.name.namespace.equals(XMLRepresentation.namespace), let kind = Kind(rawValue: name) else {
            throw StreamError(.invalidSyntax, "expected an element of a JSON representation, found <\(name)>")
        }
        var key: String?
        var isKeyEscaped = false
        isEscaped = false
        for index in 0..<tag.attributes.count {
            let attribute = tag.attributes[index]
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
            guard let key else { throw StreamError(.missingMember, "expected a key of a member of a map") }
            let name = isKeyEscaped ? try Self.unescaped(key) : key
            try name.withUTF8Span { (name) throws(StreamError) in try sink.writeKey(name) }
        case .some(let outer):
            throw StreamError(.invalidSyntax, "expected text in an element <\(outer)>, found an element <\(kind)>")
        }
        open.append(kind)
        text.removeAll(keepingCapacity: true)
        if kind == .map { try sink.beginDictionary() }
        if kind == .array { try sink.beginArray() }
    }

    mutating func add(_ utf8: RawSpan) throws(StreamError) {
        switch open.last {
        case .string, .number, .boolean: utf8.withUnsafeBytes { text.append(contentsOf: $0) }
        default:
            let isBlank = utf8.withUnsafeBytes { $0.allSatisfy { [0x20, 0x09, 0x0A, 0x0D].contains($0) } }
            guard isBlank else { throw StreamError(.invalidSyntax, "expected an element, found text") }
        }
    }

    mutating func end() throws(StreamError) {
        switch open.popLast() {
        case .map: try sink.endDictionary()
        case .array: try sink.endArray()
        case .null: try sink.writeNull()
        case .boolean:
            try sink.writeBool(try Self.bool(String(decoding: Self.trimmed(text), as: UTF8.self)))
        case .number: try endNumber()
        case .string:
            if isEscaped { text = Array(try Self.unescaped(String(decoding: text, as: UTF8.self)).utf8) }
            try text.withRawSpan { (text) throws(StreamError) in try sink.writeString(text) }
        case nil: break
        }
    }

    private func endNumber() throws(StreamError) {
        try Array(Self.trimmed(text)).withRawSpan { (text) throws(StreamError) in
            guard let number = DecimalNumber(text) else {
                throw StreamError(
                    .invalidSyntax, "expected a number of JSON, found '\(String(validating: text) ?? "")'")
            }
            var sink = sink
            if !NumberText.isInteger(text), let real = NumberText.real(text, as: Double.self),
                !NumberText.hasDigits(of: text, real)
            {
                return try sink.writeNumber(text: text)
            }
            try sink.write(number, in: text)
        }
    }

    private static func trimmed(_ text: [UInt8]) -> ArraySlice<UInt8> {
        func isBlank(_ byte: UInt8) -> Bool { [0x20, 0x09, 0x0A, 0x0D].contains(byte) }
        let end = text.lastIndex { !isBlank($0) }.map { $0 + 1 } ?? 0
        return text[..<end].drop(while: isBlank)
    }

    private static func bool(_ text: String) throws(StreamError) -> Bool {
        switch text {
        case "true", "1": return true
        case "false", "0": return false
        default: throw StreamError(.invalidSyntax, "expected true or false, found '\(text)'")
        }
    }

    /// The string that a text with JSON's escapes stands for.
    private static func unescaped(_ text: String) throws(StreamError) -> String {
        var literal = "\""
        var isEscape = false
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"" where !isEscape: literal += "\\\""
            case "\t": literal += "\\t"
            case "\n": literal += "\\n"
            case "\r": literal += "\\r"
            default: literal.unicodeScalars.append(scalar)
            }
            isEscape = scalar == "\\" && !isEscape
        }
        do throws(StreamError) {
            return try JSON.decode(String.self, from: literal + "\"")
        } catch {
            throw StreamError(.invalidText, "expected text with escapes of JSON: \(error.message)")
        }
    }
}
