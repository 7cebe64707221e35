// The doors of one line: values, columns and rows of a delimited text, and the text of values.

public import PlistBuilding
public import PlistStreaming

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// Values, columns and rows from delimited text, and delimited text of values.
///
/// ```swift
/// let stops = try CSV.decode(Stop.self, contentsOfFile: "stops.txt")
/// let columns = try CSV.columns(from: text)
/// try CSV.forEachRow(contentsOfFile: "stop_times.txt") { row in count += row.count }
/// let text = try CSV.text(of: stops)
/// ```
public enum CSV {
    // MARK: Values

    /// Makes values of the records in an array of bytes.
    ///
    /// - Throws: The first error of the text, with its position, or of a value that does not fit, with its path as well.
    /// - Complexity: O(*n*) in the bytes.
    public static func decode<Value: StreamValue>(
        _ type: Value.Type = Value.self, from bytes: [UInt8], options: CSVReaderOptions = CSVReaderOptions(),
        builderOptions: BuilderOptions = BuilderOptions()
    ) throws(StreamError) -> [Value] {
        var builder = try ObjectBuilder<[Value]>(options: builderOptions)
        try builder.readCSV(bytes, options: options)
        return try builder.takeResult()
    }

    /// Makes values of the records in a string.
    ///
    /// - Throws: The first error of the text, with its position, or of a value that does not fit, with its path as well.
    /// - Complexity: O(*n*) in the bytes.
    public static func decode<Value: StreamValue>(
        _ type: Value.Type = Value.self, from text: String, options: CSVReaderOptions = CSVReaderOptions(),
        builderOptions: BuilderOptions = BuilderOptions()
    ) throws(StreamError) -> [Value] {
        var builder = try ObjectBuilder<[Value]>(options: builderOptions)
        try builder.readCSV(text, options: options)
        return try builder.takeResult()
    }

    /// Makes values of the records in data.
    ///
    /// - Throws: The first error of the text, with its position, or of a value that does not fit, with its path as well.
    /// - Complexity: O(*n*) in the bytes.
    public static func decode<Value: StreamValue>(
        _ type: Value.Type = Value.self, from data: Data, options: CSVReaderOptions = CSVReaderOptions(),
        builderOptions: BuilderOptions = BuilderOptions()
    ) throws(StreamError) -> [Value] {
        var builder = try ObjectBuilder<[Value]>(options: builderOptions)
        try builder.readCSV(data, options: options)
        return try builder.takeResult()
    }

    /// Makes values of the records in a file, which is read in chunks.
    ///
    /// - Throws: The first error of the text, with its position, or of a value that does not fit, with its path as well;
    ///   `cannotRead` when the file cannot be read.
    /// - Complexity: O(*n*) in the bytes.
    public static func decode<Value: StreamValue>(
        _ type: Value.Type = Value.self, contentsOfFile path: String, options: CSVReaderOptions = CSVReaderOptions(),
        builderOptions: BuilderOptions = BuilderOptions()
    ) throws(StreamError) -> [Value] {
        var builder = try ObjectBuilder<[Value]>(options: builderOptions)
        try builder.readCSV(contentsOfFile: path, options: options)
        return try builder.takeResult()
    }

    // MARK: Rows

    /// Lends each record of a span of bytes to a closure.
    ///
    /// - Throws: The first error of the text, with its position; what the closure throws, with the place of the record.
    /// - Complexity: O(*n*) in the bytes.
    public static func forEachRow(
        in bytes: RawSpan, options: CSVReaderOptions = CSVReaderOptions(),
        _ body: (borrowing CSVRow) throws(StreamError) -> Void
    ) throws(StreamError) {
        let cursor = CSVCursor(options: options)
        try cursor.lendRows(of: bytes, body)
        try cursor.lendLastRow(body)
    }

    /// Lends each record of an array of bytes to a closure.
    ///
    /// - Throws: The first error of the text, with its position; what the closure throws, with the place of the record.
    /// - Complexity: O(*n*) in the bytes.
    public static func forEachRow(
        in bytes: [UInt8], options: CSVReaderOptions = CSVReaderOptions(),
        _ body: (borrowing CSVRow) throws(StreamError) -> Void
    ) throws(StreamError) {
        try bytes.withRawSpan { bytes throws(StreamError) in try forEachRow(in: bytes, options: options, body) }
    }

    /// Lends each record of data to a closure.
    ///
    /// - Throws: The first error of the text, with its position; what the closure throws, with the place of the record.
    /// - Complexity: O(*n*) in the bytes.
    public static func forEachRow(
        in data: Data, options: CSVReaderOptions = CSVReaderOptions(),
        _ body: (borrowing CSVRow) throws(StreamError) -> Void
    ) throws(StreamError) {
        try forEachRow(in: data.bytes, options: options, body)
    }

    /// Lends each record of a string to a closure.
    ///
    /// - Throws: The first error of the text, with its position; what the closure throws, with the place of the record.
    /// - Complexity: O(*n*) in the bytes.
    public static func forEachRow(
        in text: String, options: CSVReaderOptions = CSVReaderOptions(),
        _ body: (borrowing CSVRow) throws(StreamError) -> Void
    ) throws(StreamError) {
        try text.withUTF8Span { bytes throws(StreamError) in try forEachRow(in: bytes, options: options, body) }
    }

    /// Lends each record of a file to a closure; the file is read in chunks and bounded memory.
    ///
    /// - Throws: The first error of the text, with its position; what the closure throws, with the place of the record;
    ///   `cannotRead` when the file cannot be read.
    /// - Complexity: O(*n*) in the bytes.
    public static func forEachRow(
        contentsOfFile path: String, options: CSVReaderOptions = CSVReaderOptions(),
        _ body: (borrowing CSVRow) throws(StreamError) -> Void
    ) throws(StreamError) {
        try forEachRow(in: InputFile(path: path), options: options, body)
    }

    /// Lends each record of an open file or another descriptor to a closure; it is read in chunks and bounded memory.
    ///
    /// - Throws: The first error of the text, with its position; what the closure throws, with the place of the record;
    ///   `cannotRead` when the descriptor cannot be read.
    /// - Complexity: O(*n*) in the bytes.
    public static func forEachRow(
        in file: borrowing InputFile, options: CSVReaderOptions = CSVReaderOptions(),
        _ body: (borrowing CSVRow) throws(StreamError) -> Void
    ) throws(StreamError) {
        let cursor = CSVCursor(options: options)
        try file.readChunks { chunk throws(StreamError) in try cursor.lendRows(of: chunk, body) }
        try cursor.lendLastRow(body)
    }

    // MARK: Text

    /// Returns the text of values, with the names of their members as a header.
    ///
    /// - Throws: What the text cannot hold, such as a list within a record, with its path.
    public static func text<Value: StreamValue>(
        of values: [Value], options: CSVWriterOptions = CSVWriterOptions(),
        writingOptions: WritingOptions = WritingOptions(nilMembers: .writeNull)
    ) throws(StreamError) -> String {
        var writer = CSVWriter(options: options)
        try writer.write(values, options: writingOptions)
        try writer.finish()
        return writer.text
    }
}
