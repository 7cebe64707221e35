// Reads XML text in chunks of any size and sends it to a sink.

public import PlistStreaming

/// A reader of XML text that owns its sink and takes chunks of any size.
///
/// ```swift
/// var reader = XMLReader(sink: XMLWriter(options: .pretty))
/// try reader.feed(bytes)
/// try reader.finish()
/// print(reader.sink.text)
/// ```
///
/// Messages and errors are the same for every division into chunks, except that text may be divided differently. The reader
/// accepts every document that is well-formed according to XML 1.0 and Namespaces in XML 1.0, and no other documents. It
/// never opens external resources.
public struct XMLReader<Sink: XMLSink & ~Copyable>: ~Copyable {
    /// The receiver of the messages.
    public var sink: Sink
    @usableFromInline var scanner: XMLScanner
    private let options: XMLReaderOptions

    /// Creates a reader that sends messages to a sink.
    public init(sink: consuming Sink, options: XMLReaderOptions = XMLReaderOptions()) {
        self.sink = sink
        self.options = options
        scanner = XMLScanner(options: options)
    }

    /// Reads the next chunk of the input. The bytes aren't kept.
    ///
    /// - Throws: The first error of the input or the sink, with its position. Later calls throw the same error.
    /// - Complexity: O(*n*), regardless of how the input is divided.
    @inlinable  // PERF: so that the scanner specialises for sinks of other packages; also below.
    public mutating func feed(_ bytes: RawSpan) throws(StreamError) { try scanner.feed(bytes, into: &sink) }

    /// Ends the input.
    ///
    /// - Throws: ``/PlistStreaming/StreamError/Kind/unexpectedEnd`` if the document isn't complete.
    @inlinable
    public mutating func finish() throws(StreamError) { try scanner.finish(into: &sink) }

    /// The number of bytes fed.
    public var byteOffset: Int { scanner.input.totalCount }

    /// Discards the input so far, including errors, so that another document can be read. The sink isn't changed.
    public mutating func reset() { scanner = XMLScanner(options: options) }
}
