// The writer of XML text: what is open, what may come next, tags and layout. Text and the rest are in XMLWriter+Content,
// the doors for strings in XMLWriter+Elements.

public import PlistStreaming

/// A writer of XML text to memory or to a file descriptor.
///
/// The text is always well-formed: XML 1.0 and Namespaces in XML 1.0, UTF-8, one root. What XML cannot hold, such as control
/// characters, bad names, `--` in a comment, or a prefix that is not declared, is refused before anything of it is written.
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
/// It is an ``XMLSink`` as well: what a reader sends is written as it was read, but for the spelling of text and values.
public struct XMLWriter: ~Copyable {
    /// Where in the document the writer is.
    enum Place {
        /// Nothing is written, something before the document type, something behind it.
        case start, prolog, typed
        /// The root is open, or was closed.
        case content, end
    }

    let options: XMLWriterOptions
    private let indent: Int
    var output: ByteOutput
    private(set) var place: Place = .start
    /// What the document type that is written declares.
    var types: DocumentTypes?
    /// What the declaration that is written says.
    var isStandalone: Bool?
    private var scopes = NamespaceScopes()
    private var draft = StartTagDraft()
    /// The names of the open elements, one behind the other.
    private var names = KeptStack<UInt8>()
    private var open = KeptStack<OpenElement>()
    /// A Boolean value that indicates whether the last start tag has no bracket at its end yet.
    private var isTagOpen = false

    private struct OpenElement: BitwiseCopyable {
        let nameStart: Int
        /// A Boolean value that indicates whether there is text in it, so that the layout adds no whitespace.
        var hasText = false
        /// A Boolean value that indicates whether children have lines of their own.
        var hasLines = false
    }

    /// Creates a writer to memory.
    public init(options: XMLWriterOptions = XMLWriterOptions()) {
        self.init(options: options, output: ByteOutput())
    }

    /// Creates a writer to a file descriptor, which stays the caller's to close.
    ///
    /// The memory used is `bufferByteCount`; what is longer is written as it comes.
    public init(descriptor: Int32, bufferByteCount: Int = 1 << 16, options: XMLWriterOptions = XMLWriterOptions()) {
        self.init(options: options, output: ByteOutput(descriptor: descriptor, bufferByteCount: bufferByteCount))
    }

    /// Creates a writer to an output, which ``giveBack(_:)`` returns.
    init(options: XMLWriterOptions, taking output: inout ByteOutput) {
        self.init(options: options, output: ByteOutput(capacity: 0))
        swap(&self.output, &output)
    }

    /// Returns the output that the writer was created with.
    mutating func giveBack(_ output: inout ByteOutput) { swap(&self.output, &output) }

    private init(options: XMLWriterOptions, output: consuming ByteOutput) {
        self.options = options
        self.output = output
        indent = if case .pretty(let indent) = options.layout { max(0, min(indent, 64)) } else { -1 }
    }

    /// Ends the text: checks that it is complete, and writes out what is in the buffer.
    ///
    /// - Throws: ``/PlistStreaming/StreamError/Kind/misuse`` for an open element or a missing root,
    ///   ``/PlistStreaming/StreamError/Kind/cannotWrite`` when the descriptor refuses.
    public mutating func finish() throws(StreamError) {
        guard open.isEmpty else { throw StreamError(.misuse, "finished with \(open.count) open elements") }
        guard place == .end else { throw StreamError(.misuse, "finished without a root element") }
        try output.flush()
    }

    /// Forgets what was written, so that the writer's memory serves the next text.
    public mutating func reset() {
        output.removeAll()
        (place, types, isStandalone) = (.start, nil, nil)
        scopes = NamespaceScopes()
        names.removeAll()
        open.removeAll()
        isTagOpen = false
    }

    /// The number of open elements.
    public var depth: Int { open.count }

    /// The text in memory so far; of a writer to a descriptor, the characters of which nothing was written out yet.
    public var text: String {
        // SAFETY: all that is appended is ASCII or was checked.
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

    /// Collects a start tag by a closure, checks and writes it.
    mutating func writeStartTag(_ collect: (inout StartTagDraft) -> Void) throws(StreamError) {
        guard place != .end else { throw StreamError(.misuse, "got a second root element") }
        guard open.count < options.depthLimit else {
            throw StreamError(.limitExceeded, "more than \(options.depthLimit) elements within each other")
        }
        collect(&draft)
        let depth = open.count
        do throws(StreamError) {
            try draft.check(
                in: &scopes, depth: depth, known: options.namespaces, withNamespaces: options.checksNamespaces)
        } catch {
            scopes.close(depth: depth)
            throw error
        }
        try beginNode()
        try draft.write(to: &output)
        place = .content
        open.append(OpenElement(nameStart: names.count))
        // SAFETY: the draft is not changed here.
        names.append(contentsOf: unsafe draft.unscopedName)
        isTagOpen = true
    }

    /// Closes the innermost element.
    ///
    /// - Throws: ``/PlistStreaming/StreamError/Kind/misuse`` when no element is open.
    public mutating func endElement() throws(StreamError) {
        guard !open.isEmpty else { throw StreamError(.misuse, "got endElement without an open element") }
        let element = open[open.count - 1]
        if isTagOpen {
            try WrittenText.append("/>", to: &output)
        } else {
            if element.hasLines && !element.hasText { try beginLine(open.count - 1) }
            try WrittenText.append("</", to: &output)
            // SAFETY: writing changes no names.
            try output.append(unsafe names.unscopedBytes.part(element.nameStart, names.count - element.nameStart))
            try output.append(UInt8(ascii: ">"))
        }
        isTagOpen = false
        open.removeAll(from: open.count - 1)
        names.removeAll(from: element.nameStart)
        scopes.close(depth: open.count)
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

    // MARK: What comes before a part of the content

    /// Writes what comes before an element, a comment or a processing instruction.
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

    /// Ends a comment, a processing instruction or what else is not an element.
    mutating func endNode(_ next: Place = .prolog) throws(StreamError) {
        guard open.isEmpty else { return }
        if place == .end {
            if indent >= 0 { try output.append(0x0A) }
        } else if place != .typed {
            place = next
        }
    }

    /// Writes what comes before text, and refuses text that would be read together with whitespace of the layout.
    mutating func beginText(isWhitespace: Bool) throws(StreamError) {
        guard !open.isEmpty else { throw StreamError(.misuse, "got text outside the root element") }
        let last = open.count - 1
        guard !open[last].hasLines || isWhitespace else {
            throw StreamError(.misuse, "got text behind children that have lines of their own, which would change it")
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
