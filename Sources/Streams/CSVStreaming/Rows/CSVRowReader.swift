// The entry points for rows: a reader that accepts chunks and passes each record to a closure, and functions for whole
// texts.

public import PlistStreaming

/// A reader of delimited text that accepts chunks of any size and passes the records to a closure, one after another.
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
/// The reader uses the options that define a record: dialect, header and names, ragged records, encoding and limits.
/// Records with another number of fields than the header, or than the first record, are refused unless the options
/// allow them. If they are allowed, they are passed on unchanged. Columns and types apply only to messages; see
/// ``CSVReader``.
public struct CSVRowReader: ~Copyable {
    private var cursor: CSVCursor

    /// Creates a reader before the first byte.
    public init(options: CSVReaderOptions = CSVReaderOptions()) {
        cursor = CSVCursor(options: options)
    }

    /// Reads the next chunk of the input, and passes the records that it completes to a closure.
    ///
    /// - Throws: The first error of the input, with its position; an error of the closure becomes a `StreamError` with
    ///   the position of the record.
    /// - Complexity: O(*n*).
    public mutating func feed(
        _ bytes: RawSpan, _ body: (borrowing CSVRow) throws(StreamError) -> Void
    ) throws(StreamError) {
        try cursor.passRows(of: bytes, body)
    }

    /// Reads the next chunk of the input, such as an array of bytes or a string, and passes the records that it
    /// completes to a closure.
    ///
    /// - Throws: The same errors as ``feed(_:_:)-(RawSpan,_)``.
    public mutating func feed(
        _ source: some ByteSource, _ body: (borrowing CSVRow) throws(StreamError) -> Void
    ) throws(StreamError) {
        try source.withAllBytes { (bytes) throws(StreamError) in try feed(bytes, body) }
    }

    /// Ends the input, and passes on the last record if its line has no end.
    ///
    /// - Throws: ``/PlistStreaming/StreamError/Kind/unexpectedEnd`` within quotes.
    public mutating func finish(_ body: (borrowing CSVRow) throws(StreamError) -> Void) throws(StreamError) {
        try cursor.passLastRow(body)
    }

    /// The names of the columns after the header was read; nil before, and if records have no names.
    public var header: CSVHeader? { cursor.header }

    /// The number of bytes fed.
    public var byteOffset: Int { cursor.scanner.byteOffset }

    /// Discards the input so far, including errors, so that the reader accepts new input.
    public mutating func reset() { cursor = CSVCursor(options: cursor.options) }
}

extension CSVCursor {
    /// Passes the records that a chunk completes to a closure.
    @usableFromInline
    func passRows(
        of bytes: RawSpan, _ body: (borrowing CSVRow) throws(StreamError) -> Void
    ) throws(StreamError) {
        try checkGoesOn()
        // SAFETY: the scanner uses the chunk only within the closure.
        try unsafe bytes.withUnsafeBytes { buffer throws(StreamError) in
            unsafe scanner.beginChunk(buffer)
            while try next() { try passBatch(body) }
            scanner.endChunk()
        }
    }

    /// Passes on the record that the end of the input completes.
    @usableFromInline
    func passLastRow(_ body: (borrowing CSVRow) throws(StreamError) -> Void) throws(StreamError) {
        try checkGoesOn()
        if try finish() { try passBatch(body) }
        endInput()
    }

    /// Passes on the current record and the following ones of its batch.
    private func passBatch(_ body: (borrowing CSVRow) throws(StreamError) -> Void) throws(StreamError) {
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
