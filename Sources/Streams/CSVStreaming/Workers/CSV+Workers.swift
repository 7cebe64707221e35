// Reads values, columns and rows with several workers. The results are the same as with one worker.

public import PlistBuilding
public import PlistStreaming

extension CSV {
    /// The minimum number of bytes in a piece of a text in memory.
    static var smallestPiece: Int { 1 << 18 }
    /// The number of bytes in a piece of a file.
    static var pieceByteCount: Int { 4 << 20 }

    /// Decodes the records with several workers.
    ///
    /// The result is the same as with one worker, including errors and their positions. One worker reads everything if
    /// the text has no column names, or if unknown members are collected, because the limit applies to all of them. One
    /// worker also reads all text after quotes outside quoted fields. For a file, the memory holds at most two pieces
    /// of 4 MiB per worker and one more. A longer record needs additional memory, up to twice
    /// ``CSVReaderOptions/recordByteLimit``. Other sources are read into memory completely. The number of tasks is
    /// `workers`, at least 1.
    /// - Throws: The same errors as decoding with one worker; `receiverFailed` with a `CancellationError` as the cause
    ///   if the task is canceled.
    /// - Complexity: O(*n*) in the bytes.
    public func decode<Value: StreamValue & Sendable>(
        _ type: [Value].Type = [Value].self, from source: some ByteSource, options: BuilderOptions = BuilderOptions(),
        workers: Int
    ) async throws(StreamError) -> [Value] {
        try await Self.decode(Value.self, try pieces(of: source, workers), options, workers)
    }

    /// Returns a text in pieces: a file as it is read, and the bytes of other sources.
    private func pieces(of source: some ByteSource, _ workers: Int) throws(StreamError) -> CSVPieces {
        if let file = source as? FileSource {
            return CSVPieces(try InputFile(path: file.path), reader, pieceByteCount: Self.pieceByteCount)
        }
        return Self.pieces(of: try Self.bytes(of: source), reader, workers)
    }

    private static func pieces(of bytes: [UInt8], _ options: CSVReaderOptions, _ workers: Int) -> CSVPieces {
        let share = bytes.count / max(1, workers) + 1
        return CSVPieces(bytes, options, pieceByteCount: max(smallestPiece, min(share, pieceByteCount)))
    }

    /// Returns all bytes of a source that isn't a file.
    private static func bytes(of source: some ByteSource) throws(StreamError) -> [UInt8] {
        if let bytes = source as? [UInt8] { return bytes }
        return try source.withAllBytes { Array(copying: $0) }
    }

    static func decode<Value: StreamValue & Sendable>(
        _ type: Value.Type, _ text: CSVPieces, _ options: BuilderOptions, _ workers: Int
    ) async throws(StreamError) -> [Value] {
        var values: [Value] = []
        try await text.read(
            workers: workers, isForOne: options.unknownMembers == .collect,
            { (piece) throws(StreamError) in try piece.values(type, options) }, { values += $0 })
        return values
    }

    /// Maps each row with several workers, and returns the results in the order of the text.
    ///
    /// Rows have their indexes and positions in the whole text. The number of tasks is `workers`, at least 1.
    /// - Parameters:
    ///   - source: The text.
    ///   - workers: The number of tasks.
    ///   - transform: Maps a row to a value. Several tasks call it at the same time.
    /// - Throws: The first error of the text, or of the closure, in the order of the text, with its position; `cannotRead`;
    ///   `receiverFailed` with a `CancellationError` as the cause if the task is canceled.
    /// - Complexity: O(*n*) in the bytes.
    public func map<Value: Sendable>(
        rowsOf source: some ByteSource, workers: Int,
        _ transform: @escaping @Sendable (borrowing CSVRow) throws(StreamError) -> Value
    ) async throws(StreamError) -> [Value] {
        try await Self.map(try pieces(of: source, workers), workers, transform)
    }

    static func map<Value: Sendable>(
        _ text: CSVPieces, _ workers: Int,
        _ transform: @escaping @Sendable (borrowing CSVRow) throws(StreamError) -> Value
    ) async throws(StreamError) -> [Value] {
        var values: [Value] = []
        try await text.read(
            workers: workers, { (piece) async throws(StreamError) in try await piece.map(transform) }, { values += $0 })
        return values
    }

    /// Builds columns of the records with several workers; the source is read twice if no types are given.
    ///
    /// The memory is twice that of the columns, plus that of the text, or for a file that of the pieces as when values
    /// are decoded. The number of tasks is `workers`, at least 1.
    /// - Parameters:
    ///   - columns: The names and types of the columns, in any order; nil for all columns.
    ///   - source: The text.
    ///   - workers: The number of tasks.
    /// - Throws: The same errors as with one worker; `receiverFailed` with a `CancellationError` as the cause if the
    ///   task is canceled.
    /// - Complexity: O(*n*) in the bytes.
    public func columns(
        _ columns: KeyValuePairs<String, ColumnType>? = nil, from source: some ByteSource, workers: Int
    ) async throws(StreamError) -> Columns {
        let declared = columns?.map { (name: $0, type: $1) }
        if let file = Self.fileToReadTwice(source) {
            return try await Self.columns(declared, reader, workers) { (options) throws(StreamError) in
                CSVPieces(try InputFile(path: file.path), options, pieceByteCount: Self.pieceByteCount)
            }
        }
        let bytes = try Self.bytes(of: source)
        return try await Self.columns(declared, reader, workers) { Self.pieces(of: bytes, $0, workers) }
    }

    static func columns(
        _ declared: [(name: String, type: ColumnType)]?, _ options: CSVReaderOptions, _ workers: Int,
        _ text: (CSVReaderOptions) throws(StreamError) -> CSVPieces
    ) async throws(StreamError) -> Columns {
        let types: [(name: String, type: ColumnType)]
        if let declared {
            types = declared
        } else {
            var found: [InferredTypes] = []
            try await text(options.forTypes).read(
                workers: workers, { (piece) throws(StreamError) in try piece.types() }, { found.append($0) })
            types = try InferredTypes(joining: found).columns(options)
        }
        var parts: [Columns] = []
        try await text(try options.forColumns(types)).read(
            workers: workers, { (piece) throws(StreamError) in try piece.columns(types) }, { parts.append($0) })
        return parts.count == 1 ? parts[0] : Columns(joining: parts)
    }
}
