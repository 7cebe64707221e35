// The doors of an XML writer for strings: elements with attributes and content, text, comments.

public import PlistStreaming

extension XMLWriter {
    /// Opens an element.
    ///
    /// - Parameters:
    ///   - name: Its name, with a prefix where one is wanted.
    ///   - attributes: Names and values, in order; `xmlns` and `xmlns:p` declare namespaces for the element and what is in it.
    /// - Throws: ``/PlistStreaming/StreamError/Kind/misuse`` for a second root or a prefix that is not declared,
    ///   `unrepresentable`, `invalidText` and `duplicateKey` for names and values that cannot stand. Nothing is written then.
    /// - Complexity: O(*n*) in the bytes.
    public mutating func startElement(
        _ name: String, _ attributes: KeyValuePairs<String, String> = [:]
    ) throws(StreamError) {
        try startElement(name, attributes: attributes)
    }

    /// Opens an element with attributes that are not written in place, such as those of a dictionary or an array of pairs.
    ///
    /// - Throws: What `startElement(_:_:)` throws.
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

    /// Writes an element whose content a closure writes.
    ///
    /// - Throws: What `startElement(_:_:)` throws, and what the closure throws; for errors of other types,
    ///   ``/PlistStreaming/StreamError/Kind/receiverFailed`` with the error as its cause.
    public mutating func element<Failure: Error>(
        _ name: String, _ attributes: KeyValuePairs<String, String> = [:],
        _ content: (inout XMLWriter) throws(Failure) -> Void
    ) throws(StreamError) {
        try startElement(name, attributes)
        let opened = depth
        do throws(Failure) { try content(&self) } catch {
            throw (error as? StreamError) ?? StreamError(ofReceiver: error)
        }
        guard depth == opened else { throw StreamError(.misuse, "the content of an element opens and closes as many") }
        try endElement()
    }

    /// Writes an element with text, or without any.
    ///
    /// - Throws: What `startElement(_:_:)` and ``text(_:)-(RawSpan)`` throw; nothing is written for text that cannot stand.
    public mutating func element(
        _ name: String, _ attributes: KeyValuePairs<String, String> = [:], text: String = ""
    ) throws(StreamError) {
        try text.withUTF8Span { (text) throws(StreamError) in try WrittenText.check(text, in: "text") }
        try startElement(name, attributes)
        try self.text(text)
        try endElement()
    }

    /// Writes text, escaped.
    ///
    /// - Throws: What ``text(_:)-(RawSpan)`` throws.
    public mutating func text(_ text: String) throws(StreamError) {
        try text.withUTF8Span { (text) throws(StreamError) in try self.text(text) }
    }

    /// Writes text in a CDATA section, or in several.
    ///
    /// - Throws: What ``cdata(_:)-(RawSpan)`` throws.
    public mutating func cdata(_ text: String) throws(StreamError) {
        try text.withUTF8Span { (text) throws(StreamError) in try cdata(text) }
    }

    /// Writes a comment.
    ///
    /// - Throws: What ``comment(_:)-(RawSpan)`` throws.
    public mutating func comment(_ text: String) throws(StreamError) {
        try text.withUTF8Span { (text) throws(StreamError) in try comment(text) }
    }

    /// Writes a processing instruction.
    ///
    /// - Throws: What ``processingInstruction(_:_:)-(RawSpan,_)`` throws.
    public mutating func processingInstruction(_ target: String, _ data: String = "") throws(StreamError) {
        try target.withUTF8Span { (target) throws(StreamError) in
            try data.withUTF8Span { (data) throws(StreamError) in try processingInstruction(target, data) }
        }
    }
}
