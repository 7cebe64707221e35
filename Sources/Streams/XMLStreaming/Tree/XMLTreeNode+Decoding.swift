// Decodes values from an element of a tree. The element is sent to a sink as a reader would send it.

public import PlistBuilding
public import PlistCoding
public import PlistStreaming

extension XMLTreeNode {
    /// Decodes a value of a bound type from the current state of an element.
    ///
    /// - Parameters:
    ///   - type: The type of the value.
    ///   - format: The options for turning elements into values.
    ///   - options: The options for unknown and missing members, null and names.
    /// - Throws: `misuse` for a node that isn't an element; the error of a value that doesn't fit, with its path in the
    ///   element.
    /// - Complexity: O(*n*) in the content of the element.
    public func decode<Value: StreamValue>(
        _ type: Value.Type = Value.self, as format: XML = XML(), options: BuilderOptions = BuilderOptions()
    ) throws(StreamError) -> Value {
        try ElementFormat(node: self, objects: format.objects).decode(type, from: [UInt8](), options: options)
    }

    /// Decodes a value of a `Decodable` type from the current state of an element.
    ///
    /// - Parameters:
    ///   - type: The type of the value.
    ///   - format: The options for turning elements into values.
    ///   - options: The options for decoding values.
    /// - Throws: `misuse` for a node that isn't an element; `DecodingError` and errors of the type for values that don't fit.
    /// - Complexity: O(*n*) in the content of the element.
    @_disfavoredOverload
    public func decode<Value: Decodable>(
        _ type: Value.Type = Value.self, as format: XML = XML(), options: DecodingOptions = DecodingOptions()
    ) throws -> Value {
        try ElementFormat(node: self, objects: format.objects).decode(type, from: [UInt8](), options: options)
    }

    /// Sends an element as a document whose root is this element.
    ///
    /// - Complexity: O(*n*) in the content of the element, without recursion.
    func send<Sink: XMLSink & ~Copyable>(to sink: inout Sink) throws(StreamError) {
        guard node.kind == .element else { throw StreamError(.misuse, "expected an element to decode") }
        var memory = XMLTagMemory()
        var current = self
        while true {
            if try current.begin(&memory, &sink), let child = current.firstChild {
                current = child
                continue
            }
            if current.node.kind == .element { try current.end(&sink) }
            while current.index != index, current.next == nil, let parent = current.parent {
                current = parent
                try current.end(&sink)
            }
            guard current.index != index, let next = current.next else { break }
            current = next
        }
        try sink.endDocument()
    }

    /// Sends a start tag, a text or a reference.
    ///
    /// - Returns: `true` if the sink wants the content of the element.
    private func begin<Sink: XMLSink & ~Copyable>(
        _ memory: inout XMLTagMemory, _ sink: inout Sink
    ) throws(StreamError) -> Bool {
        switch kind {
        case .element:
            withName(name, namespace) { memory.begin($0) }
            for attribute in tree.attributes(of: index) where !attribute.isDeclaration {
                let name = tree.memory.names.string(attribute.name)
                if attribute.hasSkippedEntity {
                    throw StreamError(.unrepresentable, "the text of an entity in the attribute \(name) is unknown")
                }
                let uri = attribute.namespace < 0 ? "" : tree.memory.namespaces.string(attribute.namespace)
                withName(name, uri) { name in value(attribute).withUTF8Span { memory.append(name, value: $0) } }
            }
            return try sink.startElement(memory.startTag) == .content
        case .text:
            try text.withUTF8Span { (text) throws(StreamError) in
                if text.byteCount > 0 { try sink.text(XMLText(text)) }
            }
        case .entityReference:
            try name.withUTF8Span { (name) throws(StreamError) in try sink.skippedEntity(XMLSkippedEntity(name: name)) }
        case .document, .comment, .processingInstruction:
            break
        }
        return false
    }

    private func end<Sink: XMLSink & ~Copyable>(_ sink: inout Sink) throws(StreamError) {
        try name.withUTF8Span { (name) throws(StreamError) in try sink.endElement(XMLEndTag(name: XMLName(name))) }
    }

    private func withName(_ name: String, _ namespace: String, _ body: (borrowing XMLName) -> Void) {
        let colon = tree.options.reader.knowsNamespaces ? name.utf8.firstIndex(of: UInt8(ascii: ":")) : nil
        let prefixCount = colon.map { name.utf8.distance(from: name.startIndex, to: $0) } ?? 0
        name.withUTF8Span { name in
            namespace.withUTF8Span { uri in
                body(XMLName(name, prefixCount: prefixCount, namespace: uri))
            }
        }
    }
}

/// A format whose only document is an element.
// SAFETY: only the caller's thread uses the tree, and only during the call.
private struct ElementFormat: StreamFormat, @unchecked Sendable {
    let node: XMLTreeNode
    let objects: XMLObjectOptions

    var valueTypes: ValueTypes { .elements }

    func read<Sink: PlistSink & ~Copyable>(_ source: some ByteSource, into sink: inout Sink) throws(StreamError) {
        try sink.receive(objects) { (messages) throws(StreamError) in
            do throws(StreamError) { try node.send(to: &messages) } catch {
                messages.cancel(with: error)
                throw error
            }
        }
    }

    func write(_ content: some StreamContent, to output: inout some ByteSink) throws(StreamError) {
        throw StreamError(.misuse, "an element of a tree can't be written to")
    }
}
