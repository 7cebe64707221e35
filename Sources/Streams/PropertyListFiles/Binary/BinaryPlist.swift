// The format of binary property lists.

import PlistBuilding
public import PlistStreaming

/// Binary property lists.
///
/// ```swift
/// let tasks = try BinaryPropertyList.decode([Task].self, from: data)
/// let data = try BinaryPropertyList.encode(tasks)
/// ```
///
/// Dates and data are stored as such.
public struct BinaryPropertyList: DefaultFormat {
    /// The options for reading lists.
    public var reader: BinaryPlistReaderOptions
    /// The options for writing lists.
    public var writer: BinaryPlistWriterOptions

    /// Creates the format with its default options.
    public init() { self.init(reader: BinaryPlistReaderOptions()) }

    /// Creates the format.
    public init(
        reader: BinaryPlistReaderOptions = BinaryPlistReaderOptions(),
        writer: BinaryPlistWriterOptions = BinaryPlistWriterOptions()
    ) {
        self.reader = reader
        self.writer = writer
    }

    /// Reads a list and sends its messages to a sink.
    ///
    /// - Throws: The first error of the source, the list or the sink, with its position.
    /// - Complexity: O(*n*) in the values.
    @inlinable
    public func read<Sink: PlistSink & ~Copyable>(
        _ source: some ByteSource, into sink: inout Sink
    ) throws(StreamError) {
        try readSpecialized(source, into: &sink)
    }

    /// Writes contents.
    ///
    /// - Throws: An error with the path of the first value that the form can't represent, such as null.
    /// - Complexity: O(*n*) in the bytes.
    public func write(_ content: some StreamContent, to output: inout some ByteSink) throws(StreamError) {
        try output.withOutput { (output) throws(StreamError) in
            var writer = BinaryPlistWriter(options: writer, taking: &output)
            defer { writer.returnOutput(&output) }
            try content.send(to: &writer)
            try writer.finish()
        }
    }

    /// False.
    public var isText: Bool { false }

    /// Creates a ``BinaryPlistReader``.
    public func pushReader<Sink: PlistSink & ~Copyable>(into sink: consuming Sink) -> any PushReader & ~Copyable {
        makeSpecializedReader(sink)
    }
}

extension BinaryPropertyList: SpecializedFormat {
    @inlinable
    package func scan<Sink: PlistSink & ~Copyable>(
        _ source: some ByteSource, into sink: inout Sink
    ) throws(StreamError) { try sink.readBinaryPlist(source, options: reader) }

    @usableFromInline
    package func makeReader<Sink: PlistSink & ~Copyable>(_ sink: consuming Sink) -> ErasedReader {
        ErasedReader(BinaryPlistReader(sink: sink, options: reader))
    }
}
