// The functions of an XML writer that take strings: elements with attributes and content, text, comments.

public import PlistStreaming

extension XMLWriter {
    /// Opens an element.
    ///
    /// - Parameters:
    ///   - name: The name, with an optional prefix.
    ///   - attributes: The names and values of the attributes, in order. `xmlns` and `xmlns:p` declare namespaces for the
    ///     element and its content.
    /// - Throws: ``/PlistStreaming/StreamError/Kind/misuse`` for a second root or an undeclared prefix; `unrepresentable`,
    ///   `invalidText` and `duplicateKey` for names and values that aren't allowed. Nothing is written in these cases.
    /// - Complexity: O(*n*) in the bytes.
    public mutating func startElement(
        _ name: String, _ attributes: KeyValuePairs<String, String> = [:]
    ) throws(StreamError) {
        try startElement(name, attributes: attributes)
    }

    /// Opens an element with the attributes of a dictionary or an array of pairs.
    ///
    /// - Throws: The same errors as `startElement(_:_:)`.
    public mutating func startElement(
        _ name: String, attributes: some Sequence<(key: String, value: String)>
    ) throws(StreamError) {
        try writeStartTag { draft in
            name.withUTF8Span { draft.begin($0) }
            for (name, value) in attributes {
                name.withUTF8Span { name in value.withUTF8Span { draft.addAttributeOrDeclaration(name, value: $0) } }
            }
        }
    }

    /// Writes an element whose content is written by a closure.
    ///
    /// - Throws: The same errors as `startElement(_:_:)`, and the errors of the closure. Errors of other types are wrapped in
    ///   ``/PlistStreaming/StreamError/Kind/receiverFailed`` as its cause.
    public mutating func element<Failure: Error>(
        _ name: String, _ attributes: KeyValuePairs<String, String> = [:],
        _ content: (inout XMLWriter) throws(Failure) -> Void
    ) throws(StreamError) {
        try startElement(name, attributes)
        let opened = depth
        do throws(Failure) { try content(&self) } catch {
            throw (error as? StreamError) ?? StreamError(ofReceiver: error)
        }
        guard depth == opened else { throw StreamError(.misuse, "expected content that closes every element it opens") }
        try endElement()
    }

    /// Writes an element with text, or an empty element.
    ///
    /// - Throws: The same errors as `startElement(_:_:)` and ``text(_:)-(RawSpan)``. Nothing is written if the text isn't
    ///   allowed.
    public mutating func element(
        _ name: String, _ attributes: KeyValuePairs<String, String> = [:], text: String = ""
    ) throws(StreamError) {
        try text.withUTF8Span { (text) throws(StreamError) in try WrittenText.check(text, in: "text") }
        try startElement(name, attributes)
        try self.text(text)
        try endElement()
    }

    /// Writes text and escapes it.
    ///
    /// - Throws: The same errors as ``text(_:)-(RawSpan)``.
    public mutating func text(_ text: String) throws(StreamError) {
        try text.withUTF8Span { (text) throws(StreamError) in try self.text(text) }
    }

    /// Writes text in one or more CDATA sections.
    ///
    /// - Throws: The same errors as ``cdata(_:)-(RawSpan)``.
    public mutating func cdata(_ text: String) throws(StreamError) {
        try text.withUTF8Span { (text) throws(StreamError) in try cdata(text) }
    }

    /// Writes a comment.
    ///
    /// - Throws: The same errors as ``comment(_:)-(RawSpan)``.
    public mutating func comment(_ text: String) throws(StreamError) {
        try text.withUTF8Span { (text) throws(StreamError) in try comment(text) }
    }

    /// Writes a processing instruction.
    ///
    /// - Throws: The same errors as ``processingInstruction(_:_:)-(RawSpan,_)``.
    public mutating func processingInstruction(_ target: String, _ data: String = "") throws(StreamError) {
        try target.withUTF8Span { (target) throws(StreamError) in
            try data.withUTF8Span { (data) throws(StreamError) in try processingInstruction(target, data) }
        }
    }
}
