// The messages that XML text becomes, and what a receiver of them says back.

public import PlistStreaming

/// What a sink wants of an element, said at its start.
public enum XMLInterest: Sendable, Hashable {
    /// The elements and texts within it.
    case content
    /// Nothing but its end: what is within is checked as strictly, and not sent.
    case skipChildren
}

/// A receiver of the parts of an XML document, in the order of the text.
///
/// The messages of a document are, where `?` is none or one, `*` any number:
///
///     document = declaration? misc* (documentType misc*)? element misc* endDocument
///     element  = startElement content* endElement
///     content  = element | text | comment | processingInstruction | skippedEntity
///     misc     = comment | processingInstruction
///
/// `content` is absent where ``startElement(_:)`` returned ``XMLInterest/skipChildren``. Text comes in any number of pieces, none of
/// which is empty. White space outside the root element is no message. After an error there is only ``cancel(with:)``.
///
/// What a message lends is valid for the call. All bytes are UTF-8, whatever the encoding of the document.
public protocol XMLSink: ~Copyable {
    /// Receives the XML declaration.
    mutating func declaration(_ declaration: borrowing XMLDeclaration) throws(StreamError)
    /// Receives the document type declaration.
    mutating func documentType(_ type: borrowing XMLDocumentType) throws(StreamError)
    /// Receives a start tag or an empty-element tag, and says whether the content of the element is wanted.
    mutating func startElement(_ tag: borrowing XMLStartTag) throws(StreamError) -> XMLInterest
    /// Receives an end tag, or the end that an empty-element tag has.
    mutating func endElement(_ tag: borrowing XMLEndTag) throws(StreamError)
    /// Receives a piece of text.
    mutating func text(_ text: borrowing XMLText) throws(StreamError)
    /// Receives a comment.
    mutating func comment(_ comment: borrowing XMLComment) throws(StreamError)
    /// Receives a processing instruction.
    mutating func processingInstruction(_ instruction: borrowing XMLProcessingInstruction) throws(StreamError)
    /// Receives a reference to an entity that is not in the document: an external one, or one that a part of the document type
    /// declaration that was not read may declare. One in the value of an attribute is told by
    /// ``XMLAttribute/hasSkippedEntity``.
    mutating func skippedEntity(_ reference: borrowing XMLSkippedEntity) throws(StreamError)
    /// Receives the end of the document.
    mutating func endDocument() throws(StreamError)
    /// Learns that the rest of the document does not come, and why.
    mutating func cancel(with error: StreamError)
}

extension XMLSink where Self: ~Copyable {
    /// Does nothing.
    public mutating func declaration(_ declaration: borrowing XMLDeclaration) throws(StreamError) {}
    /// Does nothing.
    public mutating func documentType(_ type: borrowing XMLDocumentType) throws(StreamError) {}
    /// Does nothing.
    public mutating func endElement(_ tag: borrowing XMLEndTag) throws(StreamError) {}
    /// Does nothing.
    public mutating func text(_ text: borrowing XMLText) throws(StreamError) {}
    /// Does nothing.
    public mutating func comment(_ comment: borrowing XMLComment) throws(StreamError) {}
    /// Does nothing.
    public mutating func processingInstruction(_ instruction: borrowing XMLProcessingInstruction) throws(StreamError) {}
    /// Does nothing.
    public mutating func skippedEntity(_ reference: borrowing XMLSkippedEntity) throws(StreamError) {}
    /// Does nothing.
    public mutating func endDocument() throws(StreamError) {}
    /// Does nothing.
    public mutating func cancel(with error: StreamError) {}
}
