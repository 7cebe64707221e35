// The doors for property lists in the old text form: a reader that is fed chunks, and whole texts straight into a sink.

public import PlistStreaming

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A reader of property lists in the text form of NeXTSTEP and OpenStep that owns its sink and is fed chunks of any size.
///
/// ```swift
/// var reader = OpenStepPlistReader(sink: EventTrace())
/// try reader.feed("{ title = write; tags = (a, \"b c\"); }")
/// try reader.finish()
/// print(reader.sink.text)
/// ```
///
/// The form has strings, data, arrays and dictionaries; numbers are strings, but for the typed values of GNUstep, such as `<*I5>`.
/// The members of the root may come without braces, as in files of localized strings. Octal escapes are characters of NeXTSTEP's
/// encoding, as for Foundation, and the text is UTF-8.
///
/// The messages and the errors are the same for every division into chunks.
public struct OpenStepPlistReader<Sink: PlistSink & ~Copyable>: ~Copyable {
    /// The receiver of the messages.
    public var sink: Sink
    private var scanner: OpenStepScanner
    private let options: OpenStepPlistReaderOptions

    /// Creates a reader before a sink.
    public init(sink: consuming Sink, options: OpenStepPlistReaderOptions = OpenStepPlistReaderOptions()) {
        self.sink = sink
        self.options = options
        scanner = OpenStepScanner(limits: options.limits)
    }

    /// Scans the next chunk of the input; its bytes are not kept.
    ///
    /// - Throws: The first error of the input or the sink, with its position; the same on every later call.
    public mutating func feed(_ bytes: RawSpan) throws(StreamError) { try scanner.scan(bytes, to: &sink) }

    /// Scans the next chunk of the input, an array of bytes.
    ///
    /// - Throws: What ``feed(_:)-(RawSpan)`` throws.
    public mutating func feed(_ bytes: [UInt8]) throws(StreamError) {
        try bytes.withRawSpan { (bytes) throws(StreamError) in try feed(bytes) }
    }

    /// Scans the next chunk of the input, a string.
    ///
    /// - Throws: What ``feed(_:)-(RawSpan)`` throws.
    public mutating func feed(_ text: String) throws(StreamError) {
        try text.withUTF8Span { (bytes) throws(StreamError) in try feed(bytes) }
    }

    /// Scans the next chunk of the input, such as one that came from a network.
    ///
    /// - Throws: What ``feed(_:)-(RawSpan)`` throws.
    public mutating func feed(_ data: Data) throws(StreamError) {
        try feed(data.bytes)
    }

    /// Ends the input.
    ///
    /// - Throws: ``/PlistStreaming/StreamError/Kind/unexpectedEnd`` when a value is missing or incomplete.
    public mutating func finish() throws(StreamError) { try scanner.finish(to: &sink) }

    /// The number of bytes fed.
    public var byteOffset: Int { scanner.chunkPlace.offset }

    /// The comments so far, and where the first one begins.
    package var comments: (count: Int, first: StreamPosition?) { scanner.comments }

    /// Forgets the input so far, errors included, so that another can be fed. The sink stays as it is.
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

    /// Receives a whole property list in the old text form from an array of bytes.
    ///
    /// - Throws: The first error of the text or of this sink, with its position.
    public mutating func readOpenStepPlist(
        _ bytes: [UInt8], options: OpenStepPlistReaderOptions = OpenStepPlistReaderOptions()
    ) throws(StreamError) {
        try bytes.withRawSpan { (bytes) throws(StreamError) in try readOpenStepPlist(bytes, options: options) }
    }

    /// Receives a whole property list in the old text form from a string.
    ///
    /// - Throws: The first error of the text or of this sink, with its position in the UTF-8 bytes.
    public mutating func readOpenStepPlist(
        _ text: String, options: OpenStepPlistReaderOptions = OpenStepPlistReaderOptions()
    ) throws(StreamError) {
        try text.withUTF8Span { (bytes) throws(StreamError) in try readOpenStepPlist(bytes, options: options) }
    }

    /// Receives a whole property list in the old text form from data.
    ///
    /// - Throws: The first error of the text or of this sink, with its position.
    public mutating func readOpenStepPlist(
        _ data: Data, options: OpenStepPlistReaderOptions = OpenStepPlistReaderOptions()
    ) throws(StreamError) {
        try readOpenStepPlist(data.bytes, options: options)
    }

    /// Receives a whole property list in the old text form from a file, in chunks and constant memory.
    ///
    /// - Throws: The first error of the text or of this sink, with its position;
    ///   ``/PlistStreaming/StreamError/Kind/cannotRead`` when the file cannot be read.
    public mutating func readOpenStepPlist(
        contentsOfFile path: String, options: OpenStepPlistReaderOptions = OpenStepPlistReaderOptions()
    ) throws(StreamError) {
        let file = try InputFile(path: path) { abandon(after: $0) }
        try readOpenStepPlist(file, options: options)
    }

    /// Receives a whole property list in the old text form from an open file or another descriptor, in chunks and constant memory.
    ///
    /// - Throws: The first error of the text or of this sink, with its position;
    ///   ``/PlistStreaming/StreamError/Kind/cannotRead`` when the descriptor cannot be read.
    public mutating func readOpenStepPlist(
        _ file: borrowing InputFile, options: OpenStepPlistReaderOptions = OpenStepPlistReaderOptions()
    ) throws(StreamError) {
        var scanner = OpenStepScanner(limits: options.limits)
        do throws(StreamError) {
            try file.readChunks { (chunk) throws(StreamError) in try scanner.scan(chunk, to: &self) }
        } catch {
            // Where the file cannot be read to its end; of its own errors the scanner has told.
            if scanner.failure == nil { abandon(after: error) }
            throw error
        }
        try scanner.finish(to: &self)
    }
}
