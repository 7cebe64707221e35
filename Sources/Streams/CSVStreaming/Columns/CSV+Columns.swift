// The doors for columns: of types that are given, or found in the text.

public import PlistBuilding
public import PlistStreaming

extension CSV {
    /// Makes columns of the records in an array of bytes.
    ///
    /// Without types, each column gets the narrowest that holds all its fields without losing a digit: integers of 64 bits, reals,
    /// Booleans, or else strings. Only bare fields are numbers and Booleans. An empty field without quotes is null. A real holds a
    /// number of up to 15 digits, and one of more that is the shortest text of its double.
    ///
    /// The names and types of the columns may come in any order. Where there are none, all columns are made.
    /// - Throws: The first error of the text, with its position; `unknownMember` for a column that there is not; `duplicateKey` for
    ///   one whose name comes twice, whatever the options say of such names; `typeMismatch` for a field that is not of its column's
    ///   type.
    /// - Complexity: O(*n*) in the bytes, which are gone through twice where there are no types.
    public static func columns(
        _ columns: KeyValuePairs<String, ColumnType>? = nil, from bytes: [UInt8],
        options: CSVReaderOptions = CSVReaderOptions()
    ) throws(StreamError) -> Columns {
        let types: [(name: String, type: ColumnType)]
        if let columns {
            types = columns.map { ($0, $1) }
        } else {
            types = try InferredTypes(of: bytes, options.forTypes).columns(options)
        }
        var builder = ColumnsBuilder(columns: types)
        try builder.readCSV(bytes, options: options.forColumns(types))
        return try builder.takeResult()
    }

    /// Makes columns of the records in a file, which is read in chunks, and twice where no types are given.
    ///
    /// - Throws: What ``columns(_:from:options:)`` throws; `cannotRead` when the file cannot be read, and for one that cannot be read
    ///   twice, such as a pipe, where it has to be.
    /// - Complexity: O(*n*) in the bytes.
    public static func columns(
        _ columns: KeyValuePairs<String, ColumnType>? = nil, contentsOfFile path: String,
        options: CSVReaderOptions = CSVReaderOptions()
    ) throws(StreamError) -> Columns {
        let types: [(name: String, type: ColumnType)]
        if let columns {
            types = columns.map { ($0, $1) }
        } else {
            var found = InferredTypes()
            let cursor = CSVCursor(options: options.forTypes)
            try fileToReadTwice(path).readChunks { (chunk) throws(StreamError) in try found.note(chunk, cursor) }
            try found.noteLast(cursor)
            types = try found.columns(options)
        }
        var builder = ColumnsBuilder(columns: types)
        try builder.readCSV(contentsOfFile: path, options: options.forColumns(types))
        return try builder.takeResult()
    }
}

extension CSV {
    /// Opens a file whose types are to be found first.
    ///
    /// - Throws: `cannotRead`, also for a pipe or a terminal, of which nothing is left for a second time.
    static func fileToReadTwice(_ path: String) throws(StreamError) -> InputFile {
        let file = try InputFile(path: path)
        guard file.byteCount != nil else {
            throw StreamError(
                .cannotRead, "cannot read twice, which without types of columns is needed: not a regular file")
        }
        return file
    }
}

extension CSVReaderOptions {
    /// The options of a pass that finds the types of columns.
    var forTypes: CSVReaderOptions {
        var options = self
        options.isForColumns = true
        return options
    }

    /// The options of a pass into columns: those are chosen, and their types known whether they are lent or not.
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
