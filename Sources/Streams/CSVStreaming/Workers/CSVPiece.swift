// The input and the results of one worker: a piece of a text that begins with a record.

import PlistBuilding
import PlistStreaming

/// A piece of a delimited text, with complete records, for one worker.
struct CSVPiece: Sendable {
    /// The bytes of the piece, or of several if one worker reads the rest of the text.
    private let parts: [ArraySlice<UInt8>]
    private let options: CSVReaderOptions
    /// The index of the piece, and the known extents of the other pieces.
    private let index: Int
    private let order: PieceOrder
    /// The start of the piece; only its byte offset is known before all earlier pieces were read.
    private var start: Start
    /// The text, if one worker reads the rest of it.
    private var text: CSVPieces?

    /// Creates a piece, one of several that are read at the same time. Its indexes are offsets in the text.
    init(_ bytes: ArraySlice<UInt8>, _ options: CSVReaderOptions, _ order: PieceOrder, _ index: Int) {
        (parts, self.options, self.order, self.index) = ([bytes], options, order, index)
        start = Start(place: LinePlace(offset: bytes.startIndex))
    }

    /// Creates a piece for one worker that reads from the given piece to the end of the text.
    init(
        _ parts: [ArraySlice<UInt8>], of text: CSVPieces, behind index: Int, from start: Start,
        _ options: CSVReaderOptions
    ) {
        (self.parts, self.options, order, self.index) = (parts, options, PieceOrder(), index)
        (self.start, self.text) = (start, text)
    }

    /// Returns the options of all pieces except the first, which alone has a header and a byte order mark. Returns nil
    /// if one worker must read everything: if neither a header nor the options name the fields, or if the first piece
    /// has no record, because empty lines before the first record aren't records.
    static func otherOptions(behind bytes: ArraySlice<UInt8>, _ options: CSVReaderOptions) -> CSVReaderOptions? {
        guard options.dialect.hasHeader || options.names != nil else { return nil }
        let cursor = CSVCursor(options: options)
        do throws(StreamError) {
            try unsafe bytes.withUnsafeBufferPointer { buffer throws(StreamError) in
                // SAFETY: the scanner uses the bytes only within the closure.
                unsafe cursor.scanner.beginChunk(UnsafeRawBufferPointer(buffer))
                _ = try cursor.next()
                cursor.scanner.endChunk()
            }
        } catch {
            return nil
        }
        guard let header = cursor.header else { return nil }
        var others = options
        others.skipsByteOrderMark = false
        others.dialect.hasHeader = false
        others.names = header.names
        return others
    }

    /// The start of a piece: the number of records before it, and its place in the text.
    struct Start: Sendable {
        var rowCount = 0
        var place = LinePlace()

        /// Returns the start of the next piece.
        func behind(_ extent: Extent) -> Start {
            var end = extent.end
            end.line += place.line - extent.start.line
            // The last line of the piece may have begun before it.
            if end.lineOffset == extent.start.lineOffset { end.lineOffset = place.lineOffset }
            return Start(rowCount: rowCount + extent.rowCount, place: end)
        }
    }

    /// The extent of a piece: its number of records, and its lines from its assumed start to its end.
    struct Extent: Sendable {
        let rowCount: Int
        let start: LinePlace
        let end: LinePlace
    }

    /// The result of a worker for a piece, and the extent of the piece.
    struct Output<Value: Sendable>: Sendable {
        let value: Value
        let extent: Extent
    }

    /// A function that reads a piece with a cursor.
    typealias Read<Value: Sendable> = @Sendable (CSVPiece) async throws(StreamError) -> Output<Value>

    private func output<Value>(_ value: Value, _ cursor: CSVCursor) -> Output<Value> {
        Output(value: value, extent: extent(cursor))
    }

    /// Returns the progress of a cursor that began with the piece.
    private func extent(_ cursor: CSVCursor) -> Extent {
        Extent(rowCount: cursor.rowCount - start.rowCount, start: start.place, end: cursor.scanner.chunkPlace)
    }

    /// Creates a cursor before the first record.
    private func makeCursor() -> CSVCursor {
        CSVCursor(
            options: options, place: start.place, rowsBefore: start.rowCount, isContinuing: index > 0)
    }

    /// Calls a closure with the bytes in chunks. Between chunks, the worker checks for cancellation.
    private func forEachChunk(_ body: (RawSpan) throws(StreamError) -> Void) throws(StreamError) {
        for part in parts {
            try unsafe part.withUnsafeBufferPointer { buffer throws(StreamError) in
                // SAFETY: the span does not leave the closure.
                let bytes = unsafe UnsafeRawBufferPointer(buffer).bytes
                for start in stride(from: 0, to: bytes.byteCount, by: 1 << 20) {
                    if Task.isCancelled { throw StreamError(ofReceiver: CancellationError()) }
                    if order.hasFailed(before: index) { throw .stopRequest() }
                    try body(bytes.extracting(start..<min(bytes.byteCount, start + 1 << 20)))
                }
            }
        }
        try text?.forEachUnreadChunk { (chunk) throws(StreamError) in
            if Task.isCancelled { throw StreamError(ofReceiver: CancellationError()) }
            try body(chunk)
        }
    }

    // MARK: Results

    /// Returns the values of the records.
    func values<Value: StreamValue & Sendable>(
        _ type: Value.Type, _ options: BuilderOptions
    ) throws(StreamError) -> Output<[Value]> {
        var builder = try ObjectBuilder<[Value]>(options: options)
        let cursor = try send(to: &builder)
        return output(try builder.takeResult(), cursor)
    }

    /// Returns the columns of the records.
    func columns(_ types: [(name: String, type: ColumnType)]) throws(StreamError) -> Output<Columns> {
        var builder = ColumnsBuilder(columns: types)
        let cursor = try send(to: &builder)
        return output(try builder.takeResult(), cursor)
    }

    private func send<Sink: PlistSink & ~Copyable>(to sink: inout Sink) throws(StreamError) -> CSVCursor {
        let cursor = makeCursor()
        try forEachChunk { (chunk) throws(StreamError) in try cursor.send(chunk, to: &sink) }
        try cursor.finish(into: &sink)
        return cursor
    }

    /// Returns the results of a closure for the records, which it borrows with their indexes and places in the whole
    /// text.
    ///
    /// To get these, all pieces are counted first, at the same time.
    func map<Value: Sendable>(
        _ transform: @Sendable (borrowing CSVRow) throws(StreamError) -> Value
    ) async throws(StreamError) -> Output<[Value]> {
        var piece = self
        if text == nil {
            order.note(try mapRows { _ in }.extent, of: index)
            guard let start = await order.start(of: index) else { throw .stopRequest() }
            piece.start = start
        }
        return try piece.mapRows(transform)
    }

    private func mapRows<Value: Sendable>(
        _ transform: (borrowing CSVRow) throws(StreamError) -> Value
    ) throws(StreamError) -> Output<[Value]> {
        var values: [Value] = []
        let cursor = makeCursor()
        try forEachChunk { (chunk) throws(StreamError) in
            try cursor.passRows(of: chunk) { (row) throws(StreamError) in values.append(try transform(row)) }
        }
        try cursor.passLastRow { (row) throws(StreamError) in values.append(try transform(row)) }
        return output(values, cursor)
    }

    /// Returns the types that columns may have.
    func types() throws(StreamError) -> Output<InferredTypes> {
        let cursor = makeCursor()
        var types = InferredTypes()
        try forEachChunk { (chunk) throws(StreamError) in try types.note(chunk, cursor) }
        try types.noteLast(cursor)
        return output(types, cursor)
    }
}
