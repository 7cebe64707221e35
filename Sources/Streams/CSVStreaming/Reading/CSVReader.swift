// The entry points for delimited text: a reader that accepts chunks, and functions that send whole texts to a sink.

public import PlistStreaming

/// A reader of delimited text that owns its sink and accepts chunks of any size.
///
/// ```swift
/// var reader = CSVReader(sink: EventTrace())
/// try reader.feed("name,age\nAda,")
/// try reader.feed("36\n")
/// try reader.finish()
/// print(reader.sink.text)
/// ```
///
/// The records are sent as an array of dictionaries with the names of the header, or as an array of arrays if the text
/// has no names. A sink that expects particular types, such as a builder of a bound type or of columns, receives
/// numbers, Booleans and nulls accordingly. Any other sink receives the types of ``CSVReaderOptions/fieldType``, which
/// are strings by default. An empty field is null if possible, but an empty field in quotes is always the empty string
/// if strings are possible.
///
/// The messages and the errors are the same for every division into chunks. The reader keeps only a record that is cut
/// at the end of a chunk.
public struct CSVReader<Sink: PlistSink & ~Copyable>: ~Copyable {
    /// The receiver of the messages.
    public var sink: Sink
    @usableFromInline var cursor: CSVCursor

    /// Creates a reader for a sink.
    public init(sink: consuming Sink, options: CSVReaderOptions = CSVReaderOptions()) {
        self.sink = sink
        cursor = CSVCursor(options: options)
    }

    // PERF: CSV/typed; inlinable, like the following functions, so that the loop over messages specializes for sinks of
    // other packages.
    /// Reads the next chunk of the input. The reader keeps no bytes except those of an incomplete record.
    ///
    /// - Throws: The first error of the input or the sink, with its position; the same error on every later call.
    /// - Complexity: O(*n*).
    @inlinable
    public mutating func feed(_ bytes: RawSpan) throws(StreamError) {
        try cursor.send(bytes, to: &sink)
    }

    /// Ends the input and the last record.
    ///
    /// - Throws: ``/PlistStreaming/StreamError/Kind/unexpectedEnd`` within quotes.
    @inlinable
    public mutating func finish() throws(StreamError) {
        try cursor.finish(into: &sink)
    }

    /// The number of bytes fed.
    public var byteOffset: Int { cursor.scanner.byteOffset }

    /// The names of the columns after the header was read; nil before, and if records have no names.
    public var header: CSVHeader? { cursor.header }

    /// Discards the input so far, including errors, so that the reader accepts new input. The sink is unchanged.
    public mutating func reset() {
        cursor = CSVCursor(options: cursor.options)
    }
}

extension PlistSink where Self: ~Copyable {
    /// Receives a whole delimited text as an array of dictionaries, or of arrays if records have no names.
    ///
    /// - Throws: The first error of the text or of this sink, with its position, and its record and field as the path.
    /// - Complexity: O(*n*).
    @inlinable
    public mutating func readCSV(
        _ bytes: RawSpan, options: CSVReaderOptions = CSVReaderOptions()
    ) throws(StreamError) {
        let cursor = CSVCursor(options: options)
        try cursor.send(bytes, to: &self)
        try cursor.finish(into: &self)
    }

    /// Receives a whole delimited text from a source: bytes, a string, a file or a descriptor.
    ///
    /// - Throws: The same errors as ``readCSV(_:options:)-(RawSpan,_)``, and errors of the source.
    @inlinable
    public mutating func readCSV(
        _ source: some ByteSource, options: CSVReaderOptions = CSVReaderOptions()
    ) throws(StreamError) {
        let cursor = CSVCursor(options: options)
        do throws(StreamError) {
            try source.forEachChunk { (chunk) throws(StreamError) in try cursor.send(chunk, to: &self) }
        } catch {
            // The cursor has already notified the sink of its own errors.
            if cursor.scanner.failure == nil { cancel(with: error) }
            throw error
        }
        try cursor.finish(into: &self)
    }
}

extension CSVReader: PushReader where Sink: ~Copyable {}
