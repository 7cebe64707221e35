// The protocols of formats. A format reads bytes into a sink and writes contents to bytes; PlistBuilding and PlistCoding add
// decoding, encoding and the other functions to every format.

/// Contents that can be sent to a sink: a bound value, a property list, a query of a database, a document of a format.
public protocol StreamContent {
    /// Sends the messages of one value.
    ///
    /// - Throws: What the sink throws, and errors of the contents.
    func send<Sink: PlistSink & ~Copyable>(to sink: inout Sink) throws(StreamError)
}

/// A format of bytes, such as JSON, with its options.
///
/// A format of a third party conforms like those of this package, and gets the same functions:
///
/// ```swift
/// let tasks = try CBOR().decode([Task].self, from: .file("tasks.cbor"))
/// ```
public protocol StreamFormat: Sendable {
    /// What a document says about the types of its values; ``ValueTypes/marked`` by default.
    var valueTypes: ValueTypes { get }

    /// Reads a source and sends its messages to a sink.
    ///
    /// After an error the format calls `cancel(with:)` of the sink.
    /// - Throws: The first error of the source, the bytes or the sink, with its position in the bytes.
    func read<Sink: PlistSink & ~Copyable>(_ source: some ByteSource, into sink: inout Sink) throws(StreamError)

    /// Writes contents.
    ///
    /// - Throws: What the format can't represent, with its path, and errors of the contents and of the destination.
    func write(_ content: some StreamContent, to output: inout some ByteSink) throws(StreamError)

    /// Creates a reader that is fed chunks. The default one collects all chunks and then reads them.
    func pushReader<Sink: PlistSink & ~Copyable>(into sink: consuming Sink) -> any PushReader & ~Copyable
}

/// What the documents of a format say about the types of values.
///
/// Bound types and `Decodable` types are decoded from text alike: an integer from ` 007`, a Boolean from `true` or `1`.
public enum ValueTypes: Sendable {
    /// A document tells numbers, Booleans, strings, arrays and dictionaries apart, as in JSON.
    case marked
    /// Numbers and Booleans are text, as in CSV.
    case text
    /// Numbers and Booleans are text, an array of one element looks like the element, and a dictionary without members looks like
    /// the empty string, as in XML.
    case elements
}

/// A format with default options, whose functions are also static: `JSON.decode(Task.self, from: data)`.
public protocol DefaultFormat: StreamFormat {
    /// Creates the format with its default options.
    init()
}

/// A reader that is fed chunks of any size, such as those of a network.
///
/// It sends the same messages and throws the same errors for every division into chunks.
public protocol PushReader: ~Copyable {
    /// Reads the next chunk.
    ///
    /// - Throws: The first error of the bytes or the sink, with its position; the same one on every later call.
    mutating func feed(_ bytes: RawSpan) throws(StreamError)

    /// Ends the input.
    ///
    /// - Throws: ``StreamError/Kind/unexpectedEnd`` if the input is incomplete.
    mutating func finish() throws(StreamError)
}

extension StreamFormat {
    /// Marked types.
    public var valueTypes: ValueTypes { .marked }

    /// Creates a reader that collects all chunks and reads them when the input ends.
    public func pushReader<Sink: PlistSink & ~Copyable>(into sink: consuming Sink) -> any PushReader & ~Copyable {
        CollectingReader(format: self, sink: sink)
    }

    /// A document of this format as contents, which other formats write:
    ///
    /// ```swift
    /// try CSV().write(JSON().document(.file("a.json")), to: .file("a.csv"))
    /// ```
    public func document<Source: ByteSource>(_ source: Source) -> StreamDocument<Self, Source> {
        StreamDocument(format: self, source: source)
    }

    /// Writes contents to a file or a descriptor.
    ///
    /// - Throws: What the format can't represent, with its path, and errors of the contents and of the destination.
    public func write(_ content: some StreamContent, to output: some ByteSink) throws(StreamError) {
        var output = output
        try write(content, to: &output)
    }
}

/// A document of a format, which is read when it is sent.
public struct StreamDocument<Format: StreamFormat, Source: ByteSource>: StreamContent {
    private let format: Format
    private let source: Source

    init(format: Format, source: Source) {
        self.format = format
        self.source = source
    }

    /// Reads the document into a sink.
    public func send<Sink: PlistSink & ~Copyable>(to sink: inout Sink) throws(StreamError) {
        try format.read(source, into: &sink)
    }
}

/// The push reader of formats that have no other.
private struct CollectingReader<Format: StreamFormat, Sink: PlistSink & ~Copyable>: PushReader, ~Copyable {
    let format: Format
    var sink: Sink
    var bytes: [UInt8] = []

    init(format: Format, sink: consuming Sink) {
        self.format = format
        self.sink = sink
    }

    mutating func feed(_ bytes: RawSpan) { self.bytes += Array(copying: bytes) }

    mutating func finish() throws(StreamError) { try format.read(bytes, into: &sink) }
}

extension PushReader where Self: ~Copyable {
    /// Reads the next chunk: an array of bytes, a string or data.
    ///
    /// - Throws: What ``feed(_:)-(RawSpan)`` throws, and ``StreamError/Kind/cannotRead``.
    @inlinable
    public mutating func feed(_ source: some ByteSource) throws(StreamError) {
        try source.withAllBytes { (bytes) throws(StreamError) in try feed(bytes) }
    }
}
