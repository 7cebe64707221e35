// Reads values, columns and rows with several workers. The results are the same as with one worker.

public import PlistBuilding
public import PlistStreaming

extension CSV {
    /// The minimum number of bytes per worker.
    static var smallestPart: Int { 1 << 18 }

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
        if let file = source as? FileSource {
            let text = CSVFileText(
                try InputFile(path: file.path), reader, pieceByteCount: Self.pieceByteCount)
            return try await Self.decode(Value.self, text, options, workers)
        }
        let parts = await CSVParts(
            try Self.bytes(of: source), reader, count: workers, smallest: Self.smallestPart)
        return try await Self.decode(Value.self, parts, options)
    }

    /// Returns all bytes of a source that isn't a file.
    private static func bytes(of source: some ByteSource) throws(StreamError) -> [UInt8] {
        if let bytes = source as? [UInt8] { return bytes }
        return try source.withAllBytes { Array(copying: $0) }
    }

    static func decode<Value: StreamValue & Sendable>(
        _ type: Value.Type, _ parts: CSVParts, _ options: BuilderOptions
    ) async throws(StreamError) -> [Value] {
        let found = try await parts.read(isForOne: options.unknownMembers == .collect) { (piece) throws(StreamError) in
            try piece.values(type, options)
        }
        guard found.count != 1 else { return found[0] }
        var values: [Value] = []
        values.reserveCapacity(found.reduce(0) { $0 + $1.count })
        for part in found { values += part }
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
        if let file = source as? FileSource {
            let text = CSVFileText(
                try InputFile(path: file.path), reader, pieceByteCount: Self.pieceByteCount)
            return try await Self.map(text, workers, transform)
        }
        let parts = await CSVParts(
            try Self.bytes(of: source), reader, count: workers, smallest: Self.smallestPart)
        return try await Self.map(parts, transform)
    }

    static func map<Value: Sendable>(
        _ parts: CSVParts, _ transform: @escaping @Sendable (borrowing CSVRow) throws(StreamError) -> Value
    ) async throws(StreamError) -> [Value] {
        let found = try await parts.read { (piece) async throws(StreamError) in try await piece.map(transform) }
        return Array(found.joined())
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
            return try await Self.columns(declared, fromFile: file.path, reader, workers, Self.pieceByteCount)
        }
        return try await Self.columns(
            declared, from: try Self.bytes(of: source), reader, workers, smallest: Self.smallestPart)
    }

    static func columns(
        _ declared: [(name: String, type: ColumnType)]?, from bytes: [UInt8], _ options: CSVReaderOptions,
        _ workers: Int, smallest: Int
    ) async throws(StreamError) -> Columns {
        let parts = await CSVParts(bytes, options.forTypes, count: workers, smallest: smallest)
        let types: [(name: String, type: ColumnType)]
        if let declared {
            types = declared
        } else {
            let found = try await parts.read { (piece) throws(StreamError) in try piece.types() }
            types = try InferredTypes(joining: found).columns(options)
        }
        let chosen = try options.forColumns(types)
        let texts = await CSVParts(bytes, chosen, count: workers, smallest: smallest)
        let found = try await texts.read { (piece) throws(StreamError) in try piece.columns(types) }
        return found.count == 1 ? found[0] : Columns(joining: found)
    }
}
