// The doors for rows: a reader that is fed chunks and lends each record, and whole texts.

public import PlistStreaming

/// A reader of delimited text that is fed chunks of any size and lends the records, one after another.
///
/// ```swift
/// var reader = CSVRowReader()
/// var total: Int64 = 0
/// for chunk in chunks {
///     try reader.feed(chunk) { row in total += row.integer(at: 1) ?? 0 }
/// }
/// try reader.finish { row in total += row.integer(at: 1) ?? 0 }
/// ```
///
/// Of the options those count that say what a record is: dialect, header and names, ragged records, encoding and limits. Records of
/// another number of fields than the header, or the first record, are refused unless the options allow them; then they come as they
/// are. Columns and types are for messages; see ``CSVReader``.
public struct CSVRowReader: ~Copyable {
    private var cursor: CSVCursor

    /// Creates a reader before the first byte.
    public init(options: CSVReaderOptions = CSVReaderOptions()) {
        cursor = CSVCursor(options: options)
    }

    /// Reads the next chunk of the input, and lends the records that it completes.
    ///
    /// - Throws: The first error of the input, with its position; what the closure throws, as `StreamError` with the place of the
    ///   record.
    /// - Complexity: O(*n*).
    public mutating func feed(
        _ bytes: RawSpan, _ body: (borrowing CSVRow) throws(StreamError) -> Void
    ) throws(StreamError) {
        try cursor.lendRows(of: bytes, body)
    }

    /// Reads the next chunk of the input, such as an array of bytes or a string, and lends the records that it completes.
    ///
    /// - Throws: What ``feed(_:_:)-(RawSpan,_)`` throws.
    public mutating func feed(
        _ source: some ByteSource, _ body: (borrowing CSVRow) throws(StreamError) -> Void
    ) throws(StreamError) {
        try source.withAllBytes { (bytes) throws(StreamError) in try feed(bytes, body) }
    }

    /// Ends the input, and lends the last record if its line has no end.
    ///
    /// - Throws: ``/PlistStreaming/StreamError/Kind/unexpectedEnd`` within quotes.
    public mutating func finish(_ body: (borrowing CSVRow) throws(StreamError) -> Void) throws(StreamError) {
        try cursor.lendLastRow(body)
    }

    /// The names of the columns, once the header has come; nil before, and where records have no names.
    public var header: CSVHeader? { cursor.header }

    /// The number of bytes fed.
    public var byteOffset: Int { cursor.scanner.byteOffset }

    /// Forgets the input so far, errors included, so that another can be fed.
    public mutating func reset() { cursor = CSVCursor(options: cursor.options) }
}

extension CSVCursor {
    /// Lends the records that a chunk completes.
    @usableFromInline
    func lendRows(
        of bytes: RawSpan, _ body: (borrowing CSVRow) throws(StreamError) -> Void
    ) throws(StreamError) {
        try checkGoesOn()
        // SAFETY: the scanner has the chunk within the closure only.
        try unsafe bytes.withUnsafeBytes { buffer throws(StreamError) in
            unsafe scanner.beginChunk(buffer)
            while try next() { try lendBatch(body) }
            scanner.endChunk()
        }
    }

    /// Goes over the records that a chunk completes, and looks at nothing of them.
    func countRows(of bytes: RawSpan) throws(StreamError) {
        try checkGoesOn()
        // SAFETY: the scanner has the chunk within the closure only.
        try unsafe bytes.withUnsafeBytes { buffer throws(StreamError) in
            unsafe scanner.beginChunk(buffer)
            while try next() { (record, row) = (count - 1, row + count - 1 - record) }
            scanner.endChunk()
        }
    }

    /// Goes over the record that the end of the input ends.
    func countLastRow() throws(StreamError) {
        try checkGoesOn()
        _ = try finish()
        endInput()
    }

    /// Lends the record that the end of the input ends.
    @usableFromInline
    func lendLastRow(_ body: (borrowing CSVRow) throws(StreamError) -> Void) throws(StreamError) {
        try checkGoesOn()
        if try finish() { try lendBatch(body) }
        endInput()
    }

    /// Lends the record at hand and those of its batch behind it.
    private func lendBatch(_ body: (borrowing CSVRow) throws(StreamError) -> Void) throws(StreamError) {
        let batch = unsafe scanner.batch
        let (last, width) = (count - 1, width)
        while true {
            if unsafe batch.fieldCount(of: record) != width { _ = try checkedFieldCount() }
            do throws(StreamError) {
                try unsafe body(CSVRow(self, batch, record, index: row))
            } catch {
                throw located(error, -1)
            }
            guard record < last else { return }
            record += 1
            row += 1
        }
    }
}
