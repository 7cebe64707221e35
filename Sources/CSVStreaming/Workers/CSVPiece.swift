// What one worker reads: a piece of a text that begins with a record, and what is made of it.

import PlistBuilding
import PlistStreaming

/// A piece of a delimited text, of whole records, for one worker.
struct CSVPiece: Sendable {
    private let bytes: [UInt8]
    private let range: Range<Int>
    private let options: CSVReaderOptions
    /// The index of the piece, and the first one in which there was an error, after which nothing counts.
    private let index: Int
    private let failures: FirstFailure
    /// The records and lines before, where errors are to tell them.
    var rowsBefore = 0
    var place = RecordBatch.Place()
    /// What follows, where one worker reads it all.
    var rest: (pieces: [[UInt8]], text: CSVFileText)?

    init(
        _ bytes: [UInt8], _ range: Range<Int>, _ options: CSVReaderOptions, _ failures: FirstFailure, _ index: Int = 0
    ) {
        (self.bytes, self.range, self.options) = (bytes, range, options)
        (self.index, self.failures) = (index, failures)
    }

    /// The options of all pieces but the first, which alone has a header and a mark; nil where one worker has to read all, since
    /// the first piece does not say what records are.
    static func firstOptions(of bytes: ArraySlice<UInt8>, _ options: CSVReaderOptions) -> CSVReaderOptions? {
        var others = options
        others.skipsByteOrderMark = false
        guard options.dialect.hasHeader else { return options.names == nil ? nil : others }
        let cursor = CSVCursor(options: options)
        do throws(StreamError) {
            try unsafe bytes.withUnsafeBufferPointer { buffer throws(StreamError) in
                // SAFETY: the scanner has the bytes within the closure only.
                unsafe cursor.scanner.beginChunk(UnsafeRawBufferPointer(buffer))
                _ = try cursor.next()
                cursor.scanner.endChunk()
            }
        } catch {
            return nil
        }
        guard let header = cursor.header else { return nil }
        others.dialect.hasHeader = false
        others.names = header.names
        return others
    }

    /// What a worker makes of a piece, and how far it is behind it.
    struct Output<Value: Sendable>: Sendable {
        let value: Value
        let rowCount: Int
        let place: RecordBatch.Place

        init(_ value: Value, _ cursor: CSVCursor) {
            (self.value, rowCount) = (value, cursor.rowCount)
            place = RecordBatch.Place(
                offset: cursor.scanner.byteOffset, line: cursor.scanner.line, lineOffset: cursor.scanner.lineOffset)
        }
    }

    /// Reads a piece by a cursor.
    typealias Read<Value: Sendable> = @Sendable (CSVPiece) throws(StreamError) -> Output<Value>

    /// A cursor before the first record.
    private func makeCursor() -> CSVCursor {
        CSVCursor(options: options, place: place, rowsBefore: rowsBefore, isContinuing: index > 0)
    }

    /// The bytes in chunks between which a worker looks whether it goes on.
    private func forEachChunk(_ body: (RawSpan) throws(StreamError) -> Void) throws(StreamError) {
        try forEachChunk(of: bytes, range, body)
        guard let rest else { return }
        for piece in rest.pieces { try forEachChunk(of: piece, 0..<piece.count, body) }
        try rest.text.forEachChunk { (chunk) throws(StreamError) in
            if Task.isCancelled { throw StreamError(ofReceiver: CancellationError()) }
            try body(chunk)
        }
    }

    private func forEachChunk(
        of bytes: [UInt8], _ range: Range<Int>, _ body: (RawSpan) throws(StreamError) -> Void
    ) throws(StreamError) {
        try unsafe bytes.withUnsafeBufferPointer { buffer throws(StreamError) in
            // SAFETY: the span does not leave the closure.
            let bytes = unsafe UnsafeRawBufferPointer(buffer).bytes
            var start = range.lowerBound
            while start < range.upperBound {
                if Task.isCancelled { throw StreamError(ofReceiver: CancellationError()) }
                if failures.isBefore(index) { throw .stopRequest() }
                let end = min(range.upperBound, start + 1 << 20)
                try body(bytes.extracting(start..<end))
                start = end
            }
        }
    }

    // MARK: What is made of it

    /// The values of the records.
    func values<Value: StreamValue & Sendable>(
        _ type: Value.Type, _ options: BuilderOptions
    ) throws(StreamError) -> Output<[Value]> {
        var builder = try ObjectBuilder<[Value]>(options: options)
        let cursor = try send(to: &builder)
        return Output(try builder.takeResult(), cursor)
    }

    /// The columns of the records.
    func columns(_ types: [(name: String, type: ColumnType)]) throws(StreamError) -> Output<Columns> {
        var builder = ColumnsBuilder(columns: types)
        let cursor = try send(to: &builder)
        return Output(try builder.takeResult(), cursor)
    }

    private func send<Sink: PlistSink & ~Copyable>(to sink: inout Sink) throws(StreamError) -> CSVCursor {
        let cursor = makeCursor()
        try forEachChunk { (chunk) throws(StreamError) in try cursor.send(chunk, to: &sink) }
        try cursor.finish(into: &sink)
        return cursor
    }

    /// What a closure makes of the records.
    func map<Value: Sendable>(
        _ transform: (borrowing CSVRow) throws(StreamError) -> Value
    ) throws(StreamError) -> Output<[Value]> {
        var values: [Value] = []
        let cursor = makeCursor()
        try forEachChunk { (chunk) throws(StreamError) in
            try cursor.lendRows(of: chunk) { (row) throws(StreamError) in values.append(try transform(row)) }
        }
        try cursor.lendLastRow { (row) throws(StreamError) in values.append(try transform(row)) }
        return Output(values, cursor)
    }

    /// The types that columns may have.
    func types() throws(StreamError) -> Output<InferredTypes> {
        let cursor = makeCursor()
        var types = InferredTypes()
        try forEachChunk { (chunk) throws(StreamError) in try types.note(chunk, cursor) }
        try types.noteLast(cursor)
        return Output(types, cursor)
    }
}

/// The first part in which a worker has found an error, which those behind it need not go on for.
final class FirstFailure: Sendable {
    private let lock = Lock()
    // SAFETY: read and written within the lock only.
    nonisolated(unsafe) private var first = Int.max

    func note(_ index: Int) { lock.withLock { unsafe first = unsafe min(first, index) } }

    func isBefore(_ index: Int) -> Bool { lock.withLock { unsafe first < index } }
}
