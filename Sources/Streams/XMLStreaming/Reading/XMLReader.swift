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
    @usableFromInline var scanner: XMLScanner
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
    @inlinable  // PERF: so that the scanner specialises for sinks of other packages; so are the others.
    public mutating func feed(_ bytes: RawSpan) throws(StreamError) { try scanner.feed(bytes, into: &sink) }

    /// Ends the input.
    ///
    /// - Throws: ``/PlistStreaming/StreamError/Kind/unexpectedEnd`` when something is missing.
    @inlinable
    public mutating func finish() throws(StreamError) { try scanner.finish(into: &sink) }

    /// The number of bytes fed.
    public var byteOffset: Int { scanner.input.totalCount }

    /// Forgets the input so far, errors included, so that another can be fed. The sink stays as it is.
    public mutating func reset() { scanner = XMLScanner(options: options) }
}
