// The doors for delimited text: a reader that is fed chunks, and whole texts straight into a sink.

public import PlistStreaming

/// A reader of delimited text that owns its sink and is fed chunks of any size.
///
/// ```swift
/// var reader = CSVReader(sink: EventTrace())
/// try reader.feed("name,age\nAda,")
/// try reader.feed("36\n")
/// try reader.finish()
/// print(reader.sink.text)
/// ```
///
/// The records are sent as an array of dictionaries, by the names of the header; without names, as an array of arrays. A sink that
/// knows what it wants, a builder of a bound type or of columns, gets numbers, Booleans and nulls where it wants them; any other
/// one gets what ``CSVReaderOptions/fieldType`` says, strings unless told otherwise. An empty field is null where that is
/// possible, but an empty field in quotes is always the empty string where strings are.
///
/// The messages and the errors are the same for every division into chunks. Of the input only the record is kept that a chunk's end
/// has cut.
public struct CSVReader<Sink: PlistSink & ~Copyable>: ~Copyable {
    /// The receiver of the messages.
    public var sink: Sink
    @usableFromInline var cursor: CSVCursor

    /// Creates a reader before a sink.
    public init(sink: consuming Sink, options: CSVReaderOptions = CSVReaderOptions()) {
        self.sink = sink
        cursor = CSVCursor(options: options)
    }

    // PERF: CSV/typed; inlinable, so that the loop over messages specialises for sinks of other packages; so are the others.
    /// Reads the next chunk of the input; its bytes are not kept, but for a record that is not whole.
    ///
    /// - Throws: The first error of the input or the sink, with its position; the same on every later call.
    /// - Complexity: O(*n*).
    @inlinable
    public mutating func feed(_ bytes: RawSpan) throws(StreamError) {
        try cursor.send(bytes, to: &sink)
    }

    /// Ends the input, and the last record.
    ///
    /// - Throws: ``/PlistStreaming/StreamError/Kind/unexpectedEnd`` within quotes.
    @inlinable
    public mutating func finish() throws(StreamError) {
        try cursor.finish(into: &sink)
    }

    /// The number of bytes fed.
    public var byteOffset: Int { cursor.scanner.byteOffset }

    /// The names of the columns, once the header has come; nil before, and where records have no names.
    public var header: CSVHeader? { cursor.header }

    /// Forgets the input so far, errors included, so that another can be fed. The sink stays as it is.
    public mutating func reset() {
        cursor = CSVCursor(options: cursor.options)
    }
}

extension PlistSink where Self: ~Copyable {
    /// Receives a whole delimited text as an array of dictionaries, or of arrays where records have no names.
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
    /// - Throws: What ``readCSV(_:options:)-(RawSpan,_)`` throws, and errors of the source.
    @inlinable
    public mutating func readCSV(
        _ source: some ByteSource, options: CSVReaderOptions = CSVReaderOptions()
    ) throws(StreamError) {
        let cursor = CSVCursor(options: options)
        do throws(StreamError) {
            try source.forEachChunk { (chunk) throws(StreamError) in try cursor.send(chunk, to: &self) }
        } catch {
            // The cursor has told the sink of its own errors.
            if cursor.scanner.failure == nil { cancel(with: error) }
            throw error
        }
        try cursor.finish(into: &self)
    }
}

extension CSVReader: PushReader where Sink: ~Copyable {}
