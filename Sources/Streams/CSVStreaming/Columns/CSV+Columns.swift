// The entry points for columns, whose types are given or inferred from the text.

public import PlistBuilding
public import PlistStreaming

extension CSV {
    /// Builds columns of the records, with all columns and the inferred types of their fields.
    ///
    /// Each column gets the narrowest type that holds all its fields without losing a digit: 64-bit integers, reals,
    /// Booleans, or otherwise strings. Only unquoted fields are numbers and Booleans. An empty field without quotes is
    /// null. A real holds a number of up to 15 digits, or a longer one that is the shortest text of its double.
    /// - Throws: The first error of the source or the text, with its position; `duplicateKey` for a duplicate column
    ///   name, regardless of the policy in the options.
    /// - Complexity: O(*n*) in the bytes, which are read twice. A source that can be read only once, such as a pipe, is
    ///   collected in memory.
    public func columns(from source: some ByteSource) throws(StreamError) -> Columns {
        if let file = Self.fileToReadTwice(source) { return try columns(readingTwice: file) }
        let limit = reader.limits.totalByteCount
        return try columns(readingTwice: source.withAllBytes(limit: limit) { Array(copying: $0) })
    }

    private func columns(readingTwice source: some ByteSource) throws(StreamError) -> Columns {
        var found = InferredTypes()
        let cursor = CSVCursor(options: reader.forTypes)
        try source.forEachChunk { (chunk) throws(StreamError) in try found.note(chunk, cursor) }
        try found.noteLast(cursor)
        let types = try found.columns(reader)
        _ = try reader.forColumns(types)
        var builder = ColumnsBuilder(columns: types)
        try read(source, into: &builder)
        return try builder.takeResult()
    }

    /// Builds columns of the records, with all columns and the inferred types of their fields.
    public static func columns(from source: some ByteSource) throws(StreamError) -> Columns {
        try CSV().columns(from: source)
    }

    /// Returns the source if it is a regular file, which can be read twice.
    static func fileToReadTwice(_ source: some ByteSource) -> FileSource? {
        guard let file = source as? FileSource, let input = try? InputFile(path: file.path), input.byteCount != nil
        else {
            return nil
        }
        return file
    }
}

extension CSVReaderOptions {
    /// The options for the pass that infers the types of columns.
    var forTypes: CSVReaderOptions {
        var options = self
        options.isForColumns = true
        return options
    }

    /// Returns the options for the pass that builds columns: the columns are selected, and their types are known with
    /// and without a record buffer.
    ///
    /// - Throws: `duplicateKey` for two columns of the same name.
    func forColumns(_ columns: [(name: String, type: ColumnType)]) throws(StreamError) -> CSVReaderOptions {
        var options = forTypes
        if let (column, _) = CSVHeader(columns.map(\.name)).repetition() {
            throw StreamError(
                .duplicateKey, "two columns have the same name, \(columns[column].name.debugDescription)")
        }
        options.columns = columns.map(\.name)
        if !dialect.hasHeader && names == nil { options.names = columns.map(\.name) }
        options.kinds = columns.map { FieldKind($0.type) }
        return options
    }
}
