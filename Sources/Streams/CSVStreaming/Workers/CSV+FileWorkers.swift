// Reads a file with several workers, with the same results as one worker. CSV+Workers has the public functions.

import PlistBuilding
import PlistStreaming

extension CSV {
    /// The number of bytes in a piece of a file.
    static var pieceByteCount: Int { 4 << 20 }

    static func decode<Value: StreamValue & Sendable>(
        _ type: Value.Type, _ text: CSVFileText, _ options: BuilderOptions, _ workers: Int
    ) async throws(StreamError) -> [Value] {
        var values: [Value] = []
        try await text.read(
            workers: workers, isForOne: options.unknownMembers == .collect,
            { (piece) throws(StreamError) in try piece.values(type, options) }, { values += $0 })
        return values
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

    static func columns(
        _ declared: [(name: String, type: ColumnType)]?, fromFile path: String, _ options: CSVReaderOptions,
        _ workers: Int, _ pieceByteCount: Int
    ) async throws(StreamError) -> Columns {
        let types: [(name: String, type: ColumnType)]
        if let declared {
            types = declared
        } else {
            var found: [InferredTypes] = []
            let text = CSVFileText(try InputFile(path: path), options.forTypes, pieceByteCount: pieceByteCount)
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
