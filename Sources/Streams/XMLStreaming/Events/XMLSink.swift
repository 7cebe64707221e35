// The protocol for receivers of XML messages.

public import PlistStreaming

/// The parts of an element that a sink wants, returned at the element's start.
public enum XMLInterest: Sendable, Hashable {
    /// The elements and texts within the element.
    case content
    /// Only the end of the element. The content is checked as strictly, but it isn't sent.
    case skipChildren
}

/// A receiver of the parts of an XML document, in document order.
///
/// The messages of a document have this grammar, where `?` means zero or one and `*` means any number:
///
///     document = declaration? misc* (documentType misc*)? element misc* endDocument
///     element  = startElement content* endElement
///     content  = element | text | comment | processingInstruction | skippedEntity
///     misc     = comment | processingInstruction
///
/// `content` is absent if ``startElement(_:)`` returned ``XMLInterest/skipChildren``. Text is sent in any number of pieces
/// that aren't empty. White space outside the root element isn't sent. After an error, only ``cancel(with:)`` is called.
///
/// Borrowed values in a message are valid only during the call. All bytes are UTF-8, regardless of the document's
/// encoding.
public protocol XMLSink: ~Copyable {
    /// Receives the XML declaration.
    mutating func declaration(_ declaration: borrowing XMLDeclaration) throws(StreamError)
    /// Receives the document type declaration.
    mutating func documentType(_ type: borrowing XMLDocumentType) throws(StreamError)
    /// Receives a start tag or an empty-element tag, and returns whether the sink wants the content of the element.
    mutating func startElement(_ tag: borrowing XMLStartTag) throws(StreamError) -> XMLInterest
    /// Receives an end tag, or the end of an empty-element tag.
    mutating func endElement(_ tag: borrowing XMLEndTag) throws(StreamError)
    /// Receives a piece of text.
    mutating func text(_ text: borrowing XMLText) throws(StreamError)
    /// Receives a comment.
    mutating func comment(_ comment: borrowing XMLComment) throws(StreamError)
    /// Receives a processing instruction.
    mutating func processingInstruction(_ instruction: borrowing XMLProcessingInstruction) throws(StreamError)
    /// Receives a reference to an entity that isn't in the document. It is either an external entity, or it may be declared
    /// in a part of the document type that wasn't read. For references in the value of an attribute,
    /// ``XMLAttribute/hasSkippedEntity`` is set instead.
    mutating func skippedEntity(_ reference: borrowing XMLSkippedEntity) throws(StreamError)
    /// Receives the end of the document.
    mutating func endDocument() throws(StreamError)
    /// Called when an error ends the document early.
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
