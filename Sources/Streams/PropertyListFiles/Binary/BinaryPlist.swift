// The doors of one line: a value from a binary property list, and back, of types that are bound to streams.

public import PlistBuilding
public import PlistStreaming

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// Values from binary property lists, and binary property lists of values.
///
/// ```swift
/// let tasks = try BinaryPlist.decode([Task].self, from: data)
/// let bytes = try BinaryPlist.encode(tasks)
/// ```
///
/// Types are bound by `StreamObject` or are other `StreamValue`s. Dates and data are stored as such.
public enum BinaryPlist {
    /// Makes a value of a property list in an array of bytes.
    ///
    /// - Throws: The first error of the bytes, with its position and path, or of a value that does not fit.
    /// - Complexity: O(*n*) in the values.
    public static func decode<Value: StreamValue>(
        _ type: Value.Type = Value.self, from bytes: [UInt8],
        options: BinaryPlistReaderOptions = BinaryPlistReaderOptions(),
        builderOptions: BuilderOptions = BuilderOptions()
    ) throws(StreamError) -> Value {
        try ObjectBuilder.build(builderOptions) { (builder) throws(StreamError) in
            try builder.readBinaryPlist(bytes, options: options)
        }
    }

    /// Makes a value of a property list in data.
    ///
    /// - Throws: The first error of the bytes, with its position and path, or of a value that does not fit.
    /// - Complexity: O(*n*) in the values.
    public static func decode<Value: StreamValue>(
        _ type: Value.Type = Value.self, from data: Data,
        options: BinaryPlistReaderOptions = BinaryPlistReaderOptions(),
        builderOptions: BuilderOptions = BuilderOptions()
    ) throws(StreamError) -> Value {
        try ObjectBuilder.build(builderOptions) { (builder) throws(StreamError) in
            try builder.readBinaryPlist(data, options: options)
        }
    }

    /// Makes a value of a property list in a file.
    ///
    /// - Throws: As above, and ``/PlistStreaming/StreamError/Kind/cannotRead`` when the file cannot be read.
    /// - Complexity: O(*n*) in the values.
    public static func decode<Value: StreamValue>(
        _ type: Value.Type = Value.self, contentsOfFile path: String,
        options: BinaryPlistReaderOptions = BinaryPlistReaderOptions(),
        builderOptions: BuilderOptions = BuilderOptions()
    ) throws(StreamError) -> Value {
        try ObjectBuilder.build(builderOptions) { (builder) throws(StreamError) in
            try builder.readBinaryPlist(contentsOfFile: path, options: options)
        }
    }

    /// Returns the binary property list of a value.
    ///
    /// - Parameters:
    ///   - value: What is written: of a bound type, an array, a dictionary or a scalar.
    ///   - options: What becomes of null and of UIDs.
    ///   - writingOptions: The names of members, and what is written for those that are nil.
    /// - Throws: What property lists cannot hold, such as null, with its path.
    /// - Complexity: O(*n*) in the values.
    public static func encode<Value: StreamValue>(
        _ value: Value, options: BinaryPlistWriterOptions = BinaryPlistWriterOptions(),
        writingOptions: WritingOptions = WritingOptions()
    ) throws(StreamError) -> [UInt8] {
        var writer = BinaryPlistWriter(options: options)
        try writer.write(value, options: writingOptions)
        try writer.finish()
        return writer.bytes
    }
}
