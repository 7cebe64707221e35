// The doors for XML text: a reader that is fed chunks, and whole documents straight into a sink.

public import PlistStreaming

/// A reader of XML text that owns its sink and is fed chunks of any size.
///
/// ```swift
/// var reader = XMLReader(sink: XMLTrace())
/// try reader.feed(bytes)
/// try reader.finish()
/// print(reader.sink.line)
/// ```
///
/// The messages, but for how text is divided, and the errors are the same for every division into chunks. Everything that XML 1.0 and
/// Namespaces in XML 1.0 call well-formed is accepted, and nothing else; nothing external is ever opened.
public struct XMLReader<Sink: XMLSink & ~Copyable>: ~Copyable {
    /// The receiver of the messages.
    public var sink: Sink
    private var scanner: XMLScanner
    private let options: XMLReaderOptions

    /// Creates a reader before a sink.
    public init(sink: consuming Sink, options: XMLReaderOptions = XMLReaderOptions()) {
        self.sink = sink
        self.options = options
        scanner = XMLScanner(options: options)
    }

    /// Reads the next chunk of the input; its bytes are not kept.
    ///
    /// - Throws: The first error of the input or the sink, with its position; the same on every later call.
    /// - Complexity: O(*n*), however the input is divided.
    public mutating func feed(_ bytes: RawSpan) throws(StreamError) { try scanner.feed(bytes, into: &sink) }

    /// Ends the input.
    ///
    /// - Throws: ``StreamError/Kind/unexpectedEnd`` when something is missing.
    public mutating func finish() throws(StreamError) { try scanner.finish(into: &sink) }

    /// The number of bytes fed.
    public var byteOffset: Int { scanner.input.totalCount }

    /// Forgets the input so far, errors included, so that another can be fed. The sink stays as it is.
    public mutating func reset() { scanner = XMLScanner(options: options) }
}

extension XMLScanner {
    /// Sends the parts of a chunk to a sink.
    mutating func feed<Sink: XMLSink & ~Copyable>(_ chunk: RawSpan, into sink: inout Sink) throws(StreamError) {
        try begin(chunk)
        do throws(StreamError) {
            try send(chunk, to: &sink)
        } catch {
            throw end(with: error, at: tokenizer.failedOffset, in: chunk, &sink)
        }
    }

    /// Sends what is left, and the end.
    mutating func finish<Sink: XMLSink & ~Copyable>(into sink: inout Sink) throws(StreamError) {
        try beginEnd()
        do throws(StreamError) {
            try send(RawSpan(), to: &sink)
            try checkEnd()
            tokenizer.failedOffset = tokenizer.offset
            try sink.endDocument()
        } catch {
            throw end(with: error, at: tokenizer.failedOffset, in: RawSpan(), &sink)
        }
        failure = StreamError(.misuse, "the document has ended")
    }

    private mutating func end<Sink: XMLSink & ~Copyable>(
        with error: StreamError, at offset: Int, in chunk: RawSpan, _ sink: inout Sink
    ) -> StreamError {
        let error = locate(error, at: offset, in: chunk)
        sink.abandon(after: error)
        return error
    }

    private mutating func send<Sink: XMLSink & ~Copyable>(
        _ chunk: RawSpan, to sink: inout Sink
    ) throws(StreamError) {
        while true {
            let token = try next(in: chunk)
            if token == .needsInput { return }
            if isSkipping {
                skip(token)
                if isSkipping { continue }
            }
            // Errors of the sink are at the part that it was sent.
            tokenizer.failedOffset = tokenizer.tokenStart
            switch token {
            case .startTag: try sendStartTag(chunk, to: &sink)
            case .endTag: try sendEndTag(of: false, to: &sink)
            case .text: try sink.text(XMLText(piece(of: chunk), isCDATA: tokenizer.phase == .cdata, place: place))
            default: try sendOther(token, chunk, to: &sink)
            }
        }
    }

    private mutating func sendStartTag<Sink: XMLSink & ~Copyable>(
        _ chunk: RawSpan, to sink: inout Sink
    ) throws(StreamError) {
        let isEmptyElement = tokenizer.isEmptyElement
        let interest = try sink.startElement(startTag(in: chunk))
        if isEmptyElement {
            try sendEndTag(of: true, to: &sink)
        } else if interest == .endOnly {
            skippedDepth = tokenizer.openElements.count
        }
    }

    private mutating func sendEndTag<Sink: XMLSink & ~Copyable>(
        of isEmptyElement: Bool, to sink: inout Sink
    ) throws(StreamError) {
        try sink.endElement(XMLEndTag(name: innermostElement, isEmptyElement: isEmptyElement, place: place))
        tokenizer.closeElement()
    }

    @inline(never)
    private mutating func sendOther<Sink: XMLSink & ~Copyable>(
        _ token: XMLToken, _ chunk: RawSpan, to sink: inout Sink
    ) throws(StreamError) {
        switch token {
        case .comment: try sink.comment(XMLComment(piece(of: chunk), place: place))
        case .instruction:
            let target = text(of: chunk).extracting(tokenizer.target)
            try sink.processingInstruction(
                XMLProcessingInstruction(target: target, data: piece(of: chunk), place: place))
        case .skippedEntity: try sink.skippedEntity(XMLSkippedEntity(name: piece(of: chunk), place: place))
        case .declaration:
            let text = text(of: chunk)
            try sink.declaration(
                XMLDeclaration(
                    version: text.extracting(tokenizer.versionRange),
                    encoding: text.extracting(tokenizer.encodingRange),
                    isStandalone: tokenizer.isStandalone, place: place))
        case .documentType:
            let (text, parts) = (text(of: chunk), tokenizer.typeParts)
            try sink.documentType(
                XMLDocumentType(
                    name: text.extracting(parts.name), hasExternalID: parts.hasExternalID,
                    publicID: tokenizer.copies.bytes.extracting(parts.publicID),
                    systemID: text.extracting(parts.systemID), hasInternalSubset: parts.internalSubset != nil,
                    internalSubset: text.extracting(parts.internalSubset ?? 0..<0), place: place))
        default: break
        }
    }

    // MARK: What is lent

    @_lifetime(borrow self, copy chunk)
    private func piece(of chunk: RawSpan) -> RawSpan {
        // SAFETY: both memories live as long as what the result depends on.
        let source = tokenizer.isPieceCopied ? unsafe tokenizer.copies.unscopedBytes : unscopedText(of: chunk)
        return unsafe _overrideLifetime(source.extracting(tokenizer.piece), borrowing: self)
    }

    @_lifetime(borrow self, copy chunk)
    private func startTag(in chunk: RawSpan) -> XMLStartTag {
        let memory = TagSpans(
            text: unscopedText(of: chunk).extracting(tokenizer.tokenStart..<tokenizer.offset),
            copies: tokenizer.copies.bytes,
            namespaces: tokenizer.namespaces.uriBytes)
        let tag = XMLStartTag(
            memory: memory, name: tokenizer.elementName,
            attributes: XMLAttributes(memory: memory, records: tokenizer.attributes.span),
            declarations: XMLAttributes(memory: memory, records: tokenizer.declaredNamespaces.span),
            isEmptyElement: tokenizer.isEmptyElement, place: place)
        // SAFETY: the memories live as long as what the result depends on.
        return unsafe _overrideLifetime(tag, borrowing: self)
    }

    private var innermostElement: XMLName {
        @_lifetime(borrow self) get {
            let element = tokenizer.openElements[tokenizer.openElements.count &- 1]
            return XMLName(
                tokenizer.openNames.bytes.part(element.nameStart, Int(element.nameCount)),
                prefixCount: Int(element.prefixCount),
                namespace: tokenizer.namespaces.uriBytes.part(
                    Int(element.namespaceStart), Int(element.namespaceCount)))
        }
    }

    // MARK: Skipping

    private var isSkipping: Bool { skippedDepth > 0 }

    /// Goes over a part of an element whose content is not wanted, until its end tag.
    private mutating func skip(_ token: XMLToken) {
        switch token {
        case .startTag where tokenizer.isEmptyElement: tokenizer.closeElement()
        case .endTag:
            if tokenizer.openElements.count == skippedDepth {
                skippedDepth = 0
            } else {
                tokenizer.closeElement()
            }
        default: break
        }
    }
}
