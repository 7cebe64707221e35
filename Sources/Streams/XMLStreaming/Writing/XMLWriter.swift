// Writes XML text: open elements, the order of the parts, tags and layout. XMLWriter+Content writes text and the other parts.
// XMLWriter+Elements has the functions for strings.

public import PlistStreaming

/// A writer of XML text to memory or to a file descriptor.
///
/// The text is always well-formed: XML 1.0 and Namespaces in XML 1.0, UTF-8, with one root. Invalid parts, such as control
/// characters, bad names, `--` in a comment, or an undeclared prefix, are rejected before any of them is written.
///
/// ```swift
/// var writer = XMLWriter()
/// try writer.element("people") { people throws(StreamError) in
///     try people.element("person", ["id": "1"], text: "Ada & Charles")
/// }
/// try writer.finish()
/// writer.text  // <people><person id="1">Ada &amp; Charles</person></people>
/// ```
///
/// A writer is also an ``XMLSink``. It writes a document as it was read, except for the spelling of text and values.
public struct XMLWriter: ~Copyable {
    /// The position of the writer in the document.
    enum Place {
        /// Nothing is written yet, parts before the document type are written, or the document type is written.
        case start, prolog, typed
        /// The root is open, or it was closed.
        case content, end
    }

    let options: XMLWriterOptions
    private let indent: Int
    var output: ByteOutput
    private(set) var place: Place = .start
    /// The declarations of the written document type.
    var types: DocumentTypes?
    /// The value of `standalone` in the written declaration.
    var isStandalone: Bool?
    private var scope = Namespaces()
    private var draft = StartTagDraft()
    /// The names of the open elements, one after the other.
    private var names = KeptStack<UInt8>()
    private var open = KeptStack<OpenElement>()
    /// A Boolean value that indicates whether the closing bracket of the last start tag isn't written yet.
    private var isTagOpen = false

    private struct OpenElement: BitwiseCopyable {
        let nameStart: Int
        /// The number of namespace declarations before the element.
        let bindingCount: Int
        /// A Boolean value that indicates whether the element has text, so that the layout adds no white space.
        var hasText = false
        /// A Boolean value that indicates whether the children are on their own lines.
        var hasLines = false
    }

    /// Creates a writer that writes to memory.
    public init(options: XMLWriterOptions = XMLWriterOptions()) {
        self.init(options: options, output: ByteOutput())
    }

    /// Creates a writer that writes to a file descriptor. The caller has to close the descriptor.
    ///
    /// The writer uses `bufferByteCount` bytes of memory. Longer text is written as it comes.
    public init(descriptor: Int32, bufferByteCount: Int = 1 << 16, options: XMLWriterOptions = XMLWriterOptions()) {
        self.init(options: options, output: ByteOutput(descriptor: descriptor, bufferByteCount: bufferByteCount))
    }

    /// Creates a writer for an output, which is returned by ``returnOutput(_:)``.
    init(options: XMLWriterOptions, taking output: inout ByteOutput) {
        self.init(options: options, output: ByteOutput(capacity: 0))
        swap(&self.output, &output)
    }

    /// Returns the output that the writer was created with.
    mutating func returnOutput(_ output: inout ByteOutput) { swap(&self.output, &output) }

    private init(options: XMLWriterOptions, output: consuming ByteOutput) {
        self.options = options
        self.output = output
        indent = if case .pretty(let indent) = options.layout { max(0, min(indent, 64)) } else { -1 }
    }

    /// Ends the text: checks that it is complete, and writes the contents of the buffer.
    ///
    /// - Throws: ``/PlistStreaming/StreamError/Kind/misuse`` for an open element or a missing root,
    /// ``/PlistStreaming/StreamError/Kind/cannotWrite`` if the descriptor can't be written to.
    public mutating func finish() throws(StreamError) {
        guard open.isEmpty else { throw StreamError(.misuse, "finished with \(open.count) open elements") }
        guard place == .end else { throw StreamError(.misuse, "finished without a root element") }
        try output.flush()
    }

    /// Discards the written text, so that the writer's memory can be used for the next text.
    public mutating func reset() {
        output.removeAll()
        (place, types, isStandalone) = (.start, nil, nil)
        scope = Namespaces()
        names.removeAll()
        open.removeAll()
        isTagOpen = false
    }

    /// The number of open elements.
    public var depth: Int { open.count }

    /// The text in memory so far. For a writer to a descriptor, the text that is still in the buffer.
    public var text: String {
        // SAFETY: all appended bytes are ASCII or were checked.
        unsafe output.text
    }

    /// A copy of the bytes in memory so far.
    public var bytes: [UInt8] { output.bytes }

    /// Calls a closure with the bytes in memory so far.
    public func withBytes<Value, Failure: Error>(
        _ body: (RawSpan) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        try output.withBytes(body)
    }

    // MARK: Tags

    /// Collects a start tag in a closure, and then checks and writes it.
    mutating func writeStartTag(_ collect: (inout StartTagDraft) -> Void) throws(StreamError) {
        guard place != .end else { throw StreamError(.misuse, "got a second root element") }
        guard open.count < options.depthLimit else {
            throw StreamError(.limitExceeded, "more than \(options.depthLimit) levels of elements")
        }
        collect(&draft)
        let outer = scope.bindingCount
        do throws(StreamError) {
            try draft.check(in: &scope, known: options.namespaces, withNamespaces: options.checksNamespaces)
        } catch {
            scope.endScope(outer)
            throw error
        }
        try beginNode()
        try draft.write(to: &output)
        place = .content
        open.append(OpenElement(nameStart: names.count, bindingCount: outer))
        // SAFETY: the draft is not changed here.
        names.append(contentsOf: unsafe draft.unscopedName)
        isTagOpen = true
    }

    /// Closes the innermost element.
    ///
    /// - Throws: ``/PlistStreaming/StreamError/Kind/misuse`` if no element is open.
    public mutating func endElement() throws(StreamError) {
        guard !open.isEmpty else { throw StreamError(.misuse, "got endElement without an open element") }
        let element = open[open.count - 1]
        if isTagOpen {
            try WrittenText.append("/>", to: &output)
        } else {
            if element.hasLines && !element.hasText { try beginLine(open.count - 1) }
            try WrittenText.append("</", to: &output)
            // SAFETY: writing doesn't change the names.
            try output.append(unsafe names.unscopedBytes.part(element.nameStart, names.count - element.nameStart))
            try output.append(UInt8(ascii: ">"))
        }
        isTagOpen = false
        open.removeAll(from: open.count - 1)
        names.removeAll(from: element.nameStart)
        if scope.bindingCount > element.bindingCount { scope.endScope(element.bindingCount) }
        if open.isEmpty {
            place = .end
            if indent >= 0 { try output.append(0x0A) }
        }
    }

    /// Returns whether the innermost open element has a name.
    func isOpen(_ name: RawSpan) -> Bool {
        guard !open.isEmpty else { return false }
        let start = open[open.count - 1].nameStart
        return names.bytes.part(start, names.count - start).hasSameBytes(as: name)
    }

    // MARK: Separators before content

    /// Writes the bracket and the white space before an element, a comment or a processing instruction.
    mutating func beginNode() throws(StreamError) {
        try endOpenTag()
        guard indent >= 0 else { return }
        if !open.isEmpty {
            let last = open.count - 1
            guard !open[last].hasText else { return }
            open[last].hasLines = true
            try beginLine(open.count)
        } else if place != .start && place != .end {
            try output.append(0x0A)
        }
    }

    /// Ends a comment, a processing instruction or another part that isn't an element.
    mutating func endNode(_ next: Place = .prolog) throws(StreamError) {
        guard open.isEmpty else { return }
        if place == .end {
            if indent >= 0 { try output.append(0x0A) }
        } else if place != .typed {
            place = next
        }
    }

    /// Writes the bracket before text. Throws an error for text that would be joined with white space of the layout.
    mutating func beginText(isWhitespace: Bool) throws(StreamError) {
        guard !open.isEmpty else { throw StreamError(.misuse, "got text outside the root element") }
        let last = open.count - 1
        guard !open[last].hasLines || isWhitespace else {
            throw StreamError(.misuse, "got text after indented children, whose indentation would change it")
        }
        open[last].hasText = true
        try endOpenTag()
    }

    private mutating func endOpenTag() throws(StreamError) {
        guard isTagOpen else { return }
        try output.append(UInt8(ascii: ">"))
        isTagOpen = false
    }

    private mutating func beginLine(_ depth: Int) throws(StreamError) {
        try output.append(0x0A)
        for _ in 0..<(indent * depth) { try output.append(0x20) }
    }
}
