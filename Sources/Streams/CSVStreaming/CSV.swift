// The CSV format, for decoding and encoding values with PlistBuilding and PlistCoding, and for reading rows.

@_exported import PlistBuilding
@_exported import PlistCoding
@_exported import PlistStreaming

/// Delimited text, RFC 4180 and its dialects.
///
/// ```swift
/// let stops = try CSV.decode([Stop].self, from: .file("stops.csv"))
/// let columns = try CSV().columns(from: text)
/// try CSV(dialect: .semicolons).forEachRow(in: .file("stop_times.csv")) { row in count += row.count }
/// try CSV.write(stops, to: .file("stops.csv"))
/// ```
///
/// Readers send an array of dictionaries with the names of the header as keys, or an array of arrays if records have no
/// names.
public struct CSV: DefaultFormat {
    /// The options for reading text.
    public var reader: CSVReaderOptions
    /// The options for writing text.
    public var writer: CSVWriterOptions

    /// Creates the format with its default options.
    public init() { self.init(reader: CSVReaderOptions(), writer: CSVWriterOptions()) }

    /// Creates the format.
    public init(
        reader: CSVReaderOptions = CSVReaderOptions(), writer: CSVWriterOptions = CSVWriterOptions()
    ) {
        self.reader = reader
        self.writer = writer
    }

    /// Creates the format with a dialect.
    public init(dialect: CSVDialect, fieldType: CSVFieldType = .text) {
        self.init(
            reader: CSVReaderOptions(dialect: dialect, fieldType: fieldType), writer: CSVWriterOptions(dialect: dialect)
        )
    }

    /// Reads a text and sends its records to a sink as an array.
    ///
    /// - Throws: The first error of the source, the text or the sink, with its position, and its record and field as the path.
    /// - Complexity: O(*n*) in the bytes.
    @inlinable
    public func read<Sink: PlistSink & ~Copyable>(
        _ source: some ByteSource, into sink: inout Sink
    ) throws(StreamError) {
        try readSpecialized(source, into: &sink)
    }

    /// Writes an array of records.
    ///
    /// - Throws: An error with the path of the first value that the text can't represent, such as an array within a
    ///   record.
    /// - Complexity: O(*n*) in the bytes.
    public func write(_ content: some StreamContent, to output: inout some ByteSink) throws(StreamError) {
        try output.withOutput { (output) throws(StreamError) in
            var writer = CSVWriter(options: writer, taking: &output)
            defer { writer.returnOutput(&output) }
            try content.send(to: &writer)
            try writer.finish()
        }
    }

    /// Creates a ``CSVReader``.
    public func pushReader<Sink: PlistSink & ~Copyable>(into sink: consuming Sink) -> any PushReader & ~Copyable {
        makeSpecializedReader(sink)
    }
}

extension CSV {
    /// Text: each field is converted to the type that the value expects, regardless of ``CSVReaderOptions/fieldType``.
    public var valueTypes: ValueTypes { .text }
}

extension CSV: SpecializedFormat {
    @inlinable
    package func scan<Sink: PlistSink & ~Copyable>(
        _ source: some ByteSource, into sink: inout Sink
    ) throws(StreamError) { try sink.readCSV(source, options: reader(for: source)) }

    /// Returns the options for a source: a string is always UTF-8, regardless of the encoding for files.
    @usableFromInline
    func reader(for source: some ByteSource) -> CSVReaderOptions {
        guard source.isText else { return reader }
        var options = reader
        options.encoding = .utf8
        return options
    }

    @usableFromInline
    package func scanColumns(_ source: AnyByteSource, into sink: inout ColumnsBuilder) throws(StreamError) {
        try sink.readCSV(source, options: reader(for: source).forColumns(sink.declared))
    }

    @usableFromInline
    package func makeReader<Sink: PlistSink & ~Copyable>(_ sink: consuming Sink) -> ErasedReader {
        ErasedReader(CSVReader(sink: sink, options: reader))
    }
}

// MARK: - Rows

extension CSV {
    /// Calls a closure with each record, in bounded memory. The record is valid only during the call.
    ///
    /// - Throws: The first error of the source or the text, with its position. An error of the closure becomes the
    ///   cause of a `receiverFailed` error with the position of the record.
    /// - Complexity: O(*n*) in the bytes.
    @inlinable  // PERF: CSV/slices; so that the closure is called without another one around it.
    public func forEachRow<Failure: Error>(
        in source: some ByteSource, _ body: (borrowing CSVRow) throws(Failure) -> Void
    ) throws(StreamError) {
        let cursor = CSVCursor(options: reader)
        func pass(_ row: borrowing CSVRow) throws(StreamError) {
            do throws(Failure) { try body(row) } catch { throw StreamError(ofReceiver: error) }
        }
        try source.forEachChunk { (chunk) throws(StreamError) in try cursor.passRows(of: chunk, pass) }
        try cursor.passLastRow(pass)
    }

    /// Calls a closure with each record, in bounded memory. The record is valid only during the call.
    @inlinable
    public static func forEachRow<Failure: Error>(
        in source: some ByteSource, _ body: (borrowing CSVRow) throws(Failure) -> Void
    ) throws(StreamError) {
        try CSV().forEachRow(in: source, body)
    }

    /// Returns the names of the columns from the first record, or nil if records have no names.
    ///
    /// - Throws: The first error of the source or the header, with its position.
    public func header(of source: some ByteSource) throws(StreamError) -> CSVHeader? {
        let cursor = CSVCursor(options: reader)
        func stop(_ row: borrowing CSVRow) throws(StreamError) { throw .stopRequest() }
        do throws(StreamError) {
            try source.forEachChunk { (chunk) throws(StreamError) in try cursor.passRows(of: chunk, stop) }
            try cursor.passLastRow(stop)
        } catch {
            guard error.isStopRequest else { throw error }
        }
        return cursor.header
    }

    /// Returns the names of the columns from the first record.
    public static func header(of source: some ByteSource) throws(StreamError) -> CSVHeader? {
        try CSV().header(of: source)
    }
}
