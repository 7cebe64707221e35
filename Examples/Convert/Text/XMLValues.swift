// Sends XML as values: the represented values of a `json-to-xml` document, or the elements and attributes of any other
// document.

import PlistStreaming
import XMLStreaming

/// A sink for XML that sends the values of a document.
struct XMLValues: XMLSink, ~Copyable {
    private var messages: XMLRecordAdapter<ValueSink>
    private var representation: XMLRepresentationAdapter<ValueSink>
    /// A Boolean value that indicates whether the document represents values, or nil before the root element.
    private var isRepresentation: Bool?
    private let arguments: Arguments
    private let warnings: Warnings
    /// A Boolean value that indicates whether the children of the root are records.
    private let hasRecords: Bool
    private let keepsRootName: Bool
    /// The parts of the document that are left out.
    private(set) var omitted = OmittedParts()

    /// Creates a sink that sends its values to another sink.
    init(_ sink: ValueSink, _ arguments: Arguments, _ warnings: Warnings) {
        (self.arguments, self.warnings) = (arguments, warnings)
        // A table can't contain the name of the root. The name of the root's children becomes the name of the table.
        let isTable = arguments.to == .sqlite || arguments.to.isDelimited || arguments.to == .jsonLines
        hasRecords = isTable && arguments.records == nil
        let options = XMLObjectOptions(
            names: .qualified, root: isTable || arguments.records != nil ? .value : .member,
            arrays: hasRecords ? .records : .repeated, attributePrefix: "@", keepsRootAttributes: !hasRecords)
        keepsRootName = options.root == .member
        messages = XMLRecordAdapter(sink, options: options)
        representation = XMLRepresentationAdapter(sink)
    }

    private mutating func beginRoot(_ tag: borrowing XMLStartTag) {
        let isOfValues = tag.name.namespace.equals(XMLRepresentation.namespace)
        isRepresentation = isOfValues
        if isOfValues { return }
        if arguments.to == .xml { warnings.add("elements are written as json-to-xml writes their values") }
        if !keepsRootName { omitted.add(.rootName, at: tag.place) }
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
            omitted.add(.namespaces, count: tag.declarations.count, at: tag.place)
            let movedCount = messages.movedCount
            let interest = try messages.startElement(tag)
            omitted.add(.order, count: messages.movedCount - movedCount, at: tag.place)
            return interest
        }
        return try representation.startElement(tag)
    }

    mutating func endElement(_ tag: borrowing XMLEndTag) throws(StreamError) {
        if isRepresentation == true { return try representation.endElement(tag) }
        let movedCount = messages.movedCount
        try messages.endElement(tag)
        // The adapter counts repeated elements that lost their place at the end of their parent.
        omitted.add(.order, count: messages.movedCount - movedCount, at: tag.place)
    }

    mutating func text(_ text: borrowing XMLText) throws(StreamError) {
        if isRepresentation == true { try representation.text(text) } else { try messages.text(text) }
    }

    mutating func documentType(_ type: borrowing XMLDocumentType) { omitted.add(.documentType, at: type.place) }
    mutating func comment(_ comment: borrowing XMLComment) { omitted.add(.comments, at: comment.place) }
    mutating func processingInstruction(_ instruction: borrowing XMLProcessingInstruction) {
        omitted.add(.instructions, at: instruction.place)
    }

    mutating func skippedEntity(_ reference: borrowing XMLSkippedEntity) throws(StreamError) {
        if isRepresentation == true { return try representation.skippedEntity(reference) }
        try messages.skippedEntity(reference)
    }

    mutating func endDocument() throws(StreamError) {
        if isRepresentation != true { try messages.endDocument() }
    }

    mutating func cancel(with error: StreamError) {
        if isRepresentation == true {
            representation.cancel(with: error)
        } else {
            messages.cancel(with: error)
        }
    }
}
