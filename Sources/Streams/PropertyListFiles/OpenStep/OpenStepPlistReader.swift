// The entry points for property lists in the old text form: a reader that accepts chunks, and functions that send whole
// texts to a sink.

public import PlistStreaming

/// A reader of property lists in the text form of NeXTSTEP and OpenStep that owns its sink and accepts chunks of any
/// size.
///
/// ```swift
/// var reader = OpenStepPlistReader(sink: EventTrace())
/// try reader.feed("{ title = write; tags = (a, \"b c\"); }")
/// try reader.finish()
/// print(reader.sink.text)
/// ```
///
/// The form has strings, data, arrays and dictionaries. Numbers are strings, except for the typed values of GNUstep,
/// such as `<*I5>`. The members of the root may come without braces, as in files of localized strings. Octal escapes
/// are characters of NeXTSTEP's encoding, as in Foundation, and the text is UTF-8.
///
/// The messages and the errors are the same for every division into chunks.
public struct OpenStepPlistReader<Sink: PlistSink & ~Copyable>: ~Copyable {
    /// The receiver of the messages.
    public var sink: Sink
    private var scanner: OpenStepScanner
    private let options: OpenStepPlistReaderOptions

    /// Creates a reader for a sink.
    public init(sink: consuming Sink, options: OpenStepPlistReaderOptions = OpenStepPlistReaderOptions()) {
        self.sink = sink
        self.options = options
        scanner = OpenStepScanner(limits: options.limits)
    }

    /// Scans the next chunk of the input without keeping its bytes.
    ///
    /// - Throws: The first error of the input or the sink, with its position; the same error on every later call.
    public mutating func feed(_ bytes: RawSpan) throws(StreamError) { try scanner.scan(bytes, to: &sink) }

    /// Ends the input.
    ///
    /// - Throws: ``/PlistStreaming/StreamError/Kind/unexpectedEnd`` if a value is missing or incomplete.
    public mutating func finish() throws(StreamError) { try scanner.finish(to: &sink) }

    /// The number of bytes fed.
    public var byteOffset: Int { scanner.byteOffset }

    /// The number of comments so far, and the position of the first one.
    package var comments: (count: Int, first: StreamPosition?) { scanner.comments }

    /// Discards the input so far, including errors, so that the reader accepts new input. The sink is unchanged.
    public mutating func reset() { scanner = OpenStepScanner(limits: options.limits) }
}

extension PlistSink where Self: ~Copyable {
    /// Receives a whole property list in the old text form.
    ///
    /// - Throws: The first error of the text or of this sink, with its position.
    /// - Complexity: O(*n*) in the bytes.
    public mutating func readOpenStepPlist(
        _ bytes: RawSpan, options: OpenStepPlistReaderOptions = OpenStepPlistReaderOptions()
    ) throws(StreamError) {
        var scanner = OpenStepScanner(limits: options.limits)
        try scanner.scan(bytes, to: &self)
        try scanner.finish(to: &self)
    }

    /// Receives a whole property list in the old text form from a source: bytes, a string, a file or a descriptor.
    ///
    /// - Throws: The first error of the source, the text or this sink, with its position.

    public mutating func readOpenStepPlist(
        _ source: some ByteSource, options: OpenStepPlistReaderOptions = OpenStepPlistReaderOptions()
    ) throws(StreamError) {
        var scanner = OpenStepScanner(limits: options.limits)
        do throws(StreamError) {
            try source.forEachChunk { (chunk) throws(StreamError) in try scanner.scan(chunk, to: &self) }
        } catch {
            // The scanner has already notified the sink of its own errors.
            if scanner.failure == nil { cancel(with: error) }
            throw error
        }
        try scanner.finish(to: &self)
    }
}

extension OpenStepPlistReader: PushReader where Sink: ~Copyable {}
