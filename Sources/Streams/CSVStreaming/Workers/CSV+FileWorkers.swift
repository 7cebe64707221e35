// The doors for several workers over a file, with the results of one worker.

public import PlistBuilding
public import PlistStreaming

extension CSV {
    /// The bytes of a piece of a file.
    static var pieceByteCount: Int { 4 << 20 }

    /// Makes values of the records in a file by several workers.
    ///
    /// The result is that of one worker, and so are errors, their positions included. Of the text no more is in memory than two
    /// pieces of 4 MiB for each worker and one more, and what a record needs that is longer, up to twice
    /// ``CSVReaderOptions/recordByteLimit``. What one worker has to read alone, as a text without names of columns, is read in chunks.
    /// There are as many tasks as `workers` says, 1 at least.
    /// - Throws: What ``decode(_:contentsOfFile:options:builderOptions:)`` throws; `receiverFailed` with a `CancellationError` as the
    ///   cause when the task is cancelled.
    /// - Complexity: O(*n*) in the bytes.
    public static func decode<Value: StreamValue & Sendable>(
        _ type: Value.Type = Value.self, contentsOfFile path: String, options: CSVReaderOptions = CSVReaderOptions(),
        builderOptions: BuilderOptions = BuilderOptions(), workers: Int
    ) async throws(StreamError) -> [Value] {
        let text = CSVFileText(try InputFile(path: path), options, pieceByteCount: pieceByteCount)
        return try await decode(type, text, builderOptions, workers)
    }

    static func decode<Value: StreamValue & Sendable>(
        _ type: Value.Type, _ text: CSVFileText, _ options: BuilderOptions, _ workers: Int
    ) async throws(StreamError) -> [Value] {
        var values: [Value] = []
        try await text.read(
            workers: workers, isForOne: options.unknownMembers == .collect,
            { (piece) throws(StreamError) in try piece.values(type, options) }, { values += $0 })
        return values
    }

    /// Makes values of the rows of a file by several workers, in the order of the text.
    ///
    /// Rows have their indexes and positions in the whole text. Of the text as much is in memory as of
    /// ``decode(_:contentsOfFile:options:builderOptions:workers:)``.
    /// There are as many tasks as `workers` says, 1 at least. The closure, which makes a value of a row, is called by several of
    /// them at once.
    /// - Throws: The first error of the text, or of the closure, in the order of the text, with its position; `cannotRead` when the
    ///   file cannot be read; `receiverFailed` with a `CancellationError` as the cause when the task is cancelled.
    /// - Complexity: O(*n*) in the bytes.
    public static func map<Value: Sendable>(
        rowsOfFile path: String, options: CSVReaderOptions = CSVReaderOptions(), workers: Int,
        _ transform: @escaping @Sendable (borrowing CSVRow) throws(StreamError) -> Value
    ) async throws(StreamError) -> [Value] {
        let text = CSVFileText(try InputFile(path: path), options, pieceByteCount: pieceByteCount)
        return try await map(text, workers, transform)
    }

    static func map<Value: Sendable>(
        _ text: CSVFileText, _ workers: Int,
        _ transform: @escaping @Sendable (borrowing CSVRow) throws(StreamError) -> Value
    ) async throws(StreamError) -> [Value] {
        var values: [Value] = []
        try await text.read(
            workers: workers, { (piece) async throws(StreamError) in try await piece.map(transform) }, { values += $0 })
        return values
    }

    /// Makes columns of the records in a file by several workers; the file is read twice where no types are given.
    ///
    /// Of the text as much is in memory as of ``decode(_:contentsOfFile:options:builderOptions:workers:)``, and of the columns twice
    /// as much as they need.
    /// The names and types of the columns may come in any order. Where there are none, all columns are made, of the types of their
    /// fields. There are as many tasks as `workers` says, 1 at least.
    /// - Throws: What ``columns(_:contentsOfFile:options:)`` throws; `receiverFailed` with a `CancellationError` as the cause when
    ///   the task is cancelled.
    /// - Complexity: O(*n*) in the bytes.
    public static func columns(
        _ columns: KeyValuePairs<String, ColumnType>? = nil, contentsOfFile path: String,
        options: CSVReaderOptions = CSVReaderOptions(), workers: Int
    ) async throws(StreamError) -> Columns {
        try await self.columns(columns?.map { ($0, $1) }, contentsOfFile: path, options, workers, pieceByteCount)
    }

    static func columns(
        _ declared: [(name: String, type: ColumnType)]?, contentsOfFile path: String, _ options: CSVReaderOptions,
        _ workers: Int, _ pieceByteCount: Int
    ) async throws(StreamError) -> Columns {
        let types: [(name: String, type: ColumnType)]
        if let declared {
            types = declared
        } else {
            var found: [InferredTypes] = []
            let text = CSVFileText(try fileToReadTwice(path), options.forTypes, pieceByteCount: pieceByteCount)
            try await text.read(
                workers: workers, { (piece) throws(StreamError) in try piece.types() }, { found.append($0) })
            types = try InferredTypes(joining: found).columns(options)
        }
        var parts: [Columns] = []
        let text = CSVFileText(
            try InputFile(path: path), try options.forColumns(types), pieceByteCount: pieceByteCount)
        try await text.read(
            workers: workers, { (piece) throws(StreamError) in try piece.columns(types) }, { parts.append($0) })
        return parts.count == 1 ? parts[0] : Columns(joining: parts)
    }
}
