// The doors for several workers: values, columns and rows of a text that is in memory, with the results of one worker.

public import PlistBuilding
public import PlistStreaming

extension CSV {
    /// The fewest bytes for which a worker more is worth it.
    static var smallestPart: Int { 1 << 18 }

    /// Makes values of the records in an array of bytes by several workers.
    ///
    /// The result is that of one worker, and so are errors, their positions included: of several the first in the order of the text.
    /// The memory needed is that of the text and twice that of the values. A text without names of columns is read by one
    /// worker, also one whose unknown members are collected, as there is a limit for all of them; and what comes behind quotes
    /// that are in no field in quotes may be.
    /// There are as many tasks as `workers` says, 1 at least.
    /// - Throws: What ``decode(_:from:options:builderOptions:)-(_,[UInt8],_,_)`` throws; `receiverFailed` with a
    ///   `CancellationError` as the cause when the task is cancelled.
    /// - Complexity: O(*n*) in the bytes.
    public static func decode<Value: StreamValue & Sendable>(
        _ type: Value.Type = Value.self, from bytes: [UInt8], options: CSVReaderOptions = CSVReaderOptions(),
        builderOptions: BuilderOptions = BuilderOptions(), workers: Int
    ) async throws(StreamError) -> [Value] {
        let parts = await CSVParts(bytes, options, count: workers, smallest: smallestPart)
        return try await decode(type, parts, builderOptions)
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

    /// Makes values of rows by several workers, in the order of the text.
    ///
    /// Rows have their indexes and positions in the whole text. For that the records are counted before the first of them is lent.
    /// There are as many tasks as `workers` says, 1 at least. The closure, which makes a value of a row, is called by several of
    /// them at once.
    /// - Throws: The first error of the text, or of the closure, in the order of the text, with its position; `receiverFailed` with a
    ///   `CancellationError` as the cause when the task is cancelled.
    /// - Complexity: O(*n*) in the bytes.
    public static func map<Value: Sendable>(
        rowsOf bytes: [UInt8], options: CSVReaderOptions = CSVReaderOptions(), workers: Int,
        _ transform: @escaping @Sendable (borrowing CSVRow) throws(StreamError) -> Value
    ) async throws(StreamError) -> [Value] {
        let parts = await CSVParts(bytes, options, count: workers, smallest: smallestPart)
        return try await map(parts, transform)
    }

    static func map<Value: Sendable>(
        _ parts: CSVParts, _ transform: @escaping @Sendable (borrowing CSVRow) throws(StreamError) -> Value
    ) async throws(StreamError) -> [Value] {
        let found = try await parts.read { (piece) async throws(StreamError) in try await piece.map(transform) }
        return Array(found.joined())
    }

    /// Makes columns of the records in an array of bytes by several workers.
    ///
    /// The names and types of the columns may come in any order. Where there are none, all columns are made, of the types of their
    /// fields. There are as many tasks as `workers` says, 1 at least.
    /// - Throws: What ``columns(_:from:options:)`` throws; `receiverFailed` with a `CancellationError` as the cause when the task
    ///   is cancelled.
    /// - Complexity: O(*n*) in the bytes; the memory is that of the text and twice that of the columns.
    public static func columns(
        _ columns: KeyValuePairs<String, ColumnType>? = nil, from bytes: [UInt8],
        options: CSVReaderOptions = CSVReaderOptions(), workers: Int
    ) async throws(StreamError) -> Columns {
        try await self.columns(columns?.map { ($0, $1) }, from: bytes, options, workers, smallest: smallestPart)
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
