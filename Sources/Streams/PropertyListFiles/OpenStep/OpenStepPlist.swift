// The doors of one line: a value from a property list in the old text form, and back, of types that are bound to streams.

public import PlistBuilding
public import PlistStreaming

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// Values from property lists in the old text form, and such property lists of values.
///
/// ```swift
/// let tasks = try OpenStepPlist.decode([Task].self, from: data)
/// let text = try OpenStepPlist.text(of: tasks)
/// ```
///
/// Types are bound by `StreamObject` or are other `StreamValue`s. Numbers, Booleans and dates are GNUstep's unless the options say otherwise.
public enum OpenStepPlist {
    /// Makes a value of a property list in an array of bytes.
    ///
    /// - Throws: The first error of the text, with its position, or of a value that does not fit, with its path as well.
    /// - Complexity: O(*n*) in the bytes.
    public static func decode<Value: StreamValue>(
        _ type: Value.Type = Value.self, from bytes: [UInt8],
        options: OpenStepPlistReaderOptions = OpenStepPlistReaderOptions(),
        builderOptions: BuilderOptions = BuilderOptions()
    ) throws(StreamError) -> Value {
        try ObjectBuilder.build(builderOptions) { (builder) throws(StreamError) in
            try builder.readOpenStepPlist(bytes, options: options)
        }
    }

    /// Makes a value of a property list in data.
    ///
    /// - Throws: The first error of the text, with its position, or of a value that does not fit, with its path as well.
    /// - Complexity: O(*n*) in the bytes.
    public static func decode<Value: StreamValue>(
        _ type: Value.Type = Value.self, from data: Data,
        options: OpenStepPlistReaderOptions = OpenStepPlistReaderOptions(),
        builderOptions: BuilderOptions = BuilderOptions()
    ) throws(StreamError) -> Value {
        try ObjectBuilder.build(builderOptions) { (builder) throws(StreamError) in
            try builder.readOpenStepPlist(data, options: options)
        }
    }

    /// Makes a value of a property list in a string.
    ///
    /// - Throws: The first error of the text, with its position in the UTF-8 bytes, or of a value that does not fit.
    /// - Complexity: O(*n*) in the bytes.
    public static func decode<Value: StreamValue>(
        _ type: Value.Type = Value.self, from text: String,
        options: OpenStepPlistReaderOptions = OpenStepPlistReaderOptions(),
        builderOptions: BuilderOptions = BuilderOptions()
    ) throws(StreamError) -> Value {
        try ObjectBuilder.build(builderOptions) { (builder) throws(StreamError) in
            try builder.readOpenStepPlist(text, options: options)
        }
    }

    /// Makes a value of a property list in a file.
    ///
    /// - Throws: As above, and ``/PlistStreaming/StreamError/Kind/cannotRead`` when the file cannot be read.
    /// - Complexity: O(*n*) in the bytes.
    public static func decode<Value: StreamValue>(
        _ type: Value.Type = Value.self, contentsOfFile path: String,
        options: OpenStepPlistReaderOptions = OpenStepPlistReaderOptions(),
        builderOptions: BuilderOptions = BuilderOptions()
    ) throws(StreamError) -> Value {
        try ObjectBuilder.build(builderOptions) { (builder) throws(StreamError) in
            try builder.readOpenStepPlist(contentsOfFile: path, options: options)
        }
    }

    /// Returns the property list of a value as UTF-8.
    ///
    /// - Throws: What the form cannot hold, such as null, with its path.
    /// - Complexity: O(*n*) in the bytes.
    public static func encode<Value: StreamValue>(
        _ value: Value, options: OpenStepPlistWriterOptions = OpenStepPlistWriterOptions(),
        writingOptions: WritingOptions = WritingOptions()
    ) throws(StreamError) -> [UInt8] {
        try writer(of: value, options, writingOptions).bytes
    }

    /// Returns the text of the property list of a value.
    ///
    /// - Throws: What the form cannot hold, such as null, with its path.
    /// - Complexity: O(*n*) in the bytes.
    public static func text<Value: StreamValue>(
        of value: Value, options: OpenStepPlistWriterOptions = OpenStepPlistWriterOptions(),
        writingOptions: WritingOptions = WritingOptions()
    ) throws(StreamError) -> String {
        try writer(of: value, options, writingOptions).text
    }

    private static func writer<Value: StreamValue>(
        of value: Value, _ options: OpenStepPlistWriterOptions, _ writingOptions: WritingOptions
    ) throws(StreamError) -> OpenStepPlistWriter {
        var writer = OpenStepPlistWriter(options: options)
        try writer.write(value, options: writingOptions)
        try writer.finish()
        return writer
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension OpenStepPlist: SelfTesting {
    /// The tests of this type.
    public static var testSelectors: TestSelectors {
        ["testReadsWhatItWrites": testReadsWhatItWrites, "testSaysWhereTheErrorIs": testSaysWhereTheErrorIs]
    }

    private struct Task: StreamObject, Equatable {
        var id = 0
        var title = ""
        var due: Date?
        var bytes = Data()
        var weight = 0.5
        var isDone = false
    }

    private static let tasks = [
        Task(id: 1, title: "ö <&> \"x\"", due: Date(timeIntervalSinceReferenceDate: 86_400), bytes: Data([0, 255])),
        Task(id: -2, weight: 1e300, isDone: true),
    ]

    private static func testReadsWhatItWrites() throws {
        let bytes = try encode(tasks)
        expectEqual(try decode([Task].self, from: bytes), tasks, "from bytes")
        expectEqual(try decode([Task].self, from: Data(bytes)), tasks, "from data")
        expectEqual(try decode([Task].self, from: text(of: tasks)), tasks, "from text")
        let path = try temporaryDirectory() + "/tasks.plist"
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        expectEqual(try decode([Task].self, contentsOfFile: path), tasks, "from a file")
    }

    private static func testSaysWhereTheErrorIs() throws {
        let error = expectThrows(StreamError.self, "another type") {
            _ = try decode([[Int]].self, from: encode([[1], [2]].map { ["a": $0] }))
        }
        expectEqual(error?.kind, .typeMismatch, "kind")
        expectEqual(error?.path?.description, "$[0]", "path")
        expectNotNil(error?.position, "position")
        let null = expectThrows(StreamError.self, "null") { _ = try encode([1, nil]) }
        expectEqual(null?.path?.description, "$[1]", "path")
    }
}
#endif
