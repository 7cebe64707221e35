// Lets sinks read whole documents from bytes, strings, files and descriptors.

public import PlistStreaming

extension XMLReader where Sink: ~Copyable {
    /// Reads the next chunk of a text in UTF-8. If this is the first chunk, the encoding that the document declares is
    /// ignored.
    ///
    /// - Throws: The same errors as ``feed(_:)-(RawSpan)``.
    @inlinable
    public mutating func feed(text: RawSpan) throws(StreamError) {
        if text.byteCount > 0 { scanner.takeText() }
        try feed(text)
    }
}

extension XMLSink where Self: ~Copyable {
    /// Receives a whole XML document.
    ///
    /// - Throws: The first error of the document or of this sink, with its position.
    /// - Complexity: O(*n*).
    @inlinable
    public mutating func readXML(
        _ bytes: RawSpan, options: XMLReaderOptions = XMLReaderOptions()
    ) throws(StreamError) {
        var scanner = XMLScanner(options: options)
        try scanner.feed(bytes, into: &self)
        try scanner.finish(into: &self)
    }

    /// Receives a whole XML document from a source: bytes, a string (its declared encoding is ignored), a file or a
    /// descriptor.
    ///
    /// - Throws: The first error of the source, the document or this sink, with its position.
    @inlinable
    public mutating func readXML(
        _ source: some ByteSource, options: XMLReaderOptions = XMLReaderOptions()
    ) throws(StreamError) {
        var scanner = XMLScanner(options: options)
        if source.isText { scanner.takeText() }
        do throws(StreamError) {
            try source.forEachChunk { (chunk) throws(StreamError) in try scanner.feed(chunk, into: &self) }
        } catch {
            // The scanner has already reported its own errors to the sink.
            if scanner.failure == nil { cancel(with: error) }
            throw error
        }
        try scanner.finish(into: &self)
    }
}
