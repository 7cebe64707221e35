// The doors of one line: a value from a JSON document, an array from JSON lines, and a JSON text from a value, of types that
// are bound to streams.
// What they are made of, a builder and a writer, has more doors: pieces, records one by one, descriptors.

public import PlistBuilding
public import PlistStreaming

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// Values from JSON documents, and JSON text of values.
///
/// ```swift
/// let tasks = try JSON.decode([Task].self, from: data)
/// let text = try JSON.text(of: tasks)
/// let events = try JSON.decodeLines(Event.self, contentsOfFile: "events.jsonl")
/// ```
///
/// Types are bound by `StreamObject` or are other `StreamValue`s; for those that are only `Codable` there are
/// ``JSONStreamDecoder`` and ``JSONStreamEncoder``.
public enum JSON {
    /// Makes a value of the document in an array of bytes.
    ///
    /// - Throws: The first error of the document, with its position, or of a value that does not fit, with its path as well.
    /// - Complexity: O(*n*) in the bytes.
    public static func decode<Value: StreamValue>(
        _ type: Value.Type = Value.self, from bytes: [UInt8], options: JSONReaderOptions = JSONReaderOptions(),
        builderOptions: BuilderOptions = BuilderOptions()
    ) throws(StreamError) -> Value {
        try ObjectBuilder.build(builderOptions) { (builder) throws(StreamError) in
            try builder.readJSON(bytes, options: options)
        }
    }

    /// Makes a value of the document in data.
    ///
    /// - Throws: The first error of the document, with its position, or of a value that does not fit, with its path as well.
    /// - Complexity: O(*n*) in the bytes.
    public static func decode<Value: StreamValue>(
        _ type: Value.Type = Value.self, from data: Data, options: JSONReaderOptions = JSONReaderOptions(),
        builderOptions: BuilderOptions = BuilderOptions()
    ) throws(StreamError) -> Value {
        try ObjectBuilder.build(builderOptions) { (builder) throws(StreamError) in
            try builder.readJSON(data, options: options)
        }
    }

    /// Makes a value of the document in a string.
    ///
    /// - Throws: The first error of the document, with its position in the UTF-8 bytes, or of a value that does not fit.
    /// - Complexity: O(*n*) in the bytes.
    public static func decode<Value: StreamValue>(
        _ type: Value.Type = Value.self, from text: String, options: JSONReaderOptions = JSONReaderOptions(),
        builderOptions: BuilderOptions = BuilderOptions()
    ) throws(StreamError) -> Value {
        try ObjectBuilder.build(builderOptions) { (builder) throws(StreamError) in
            try builder.readJSON(text, options: options)
        }
    }

    /// Makes a value of the document in a file, which is read in chunks.
    ///
    /// - Throws: As above, and ``/PlistStreaming/StreamError/Kind/cannotRead`` when the file cannot be read.
    /// - Complexity: O(*n*) in the bytes.
    public static func decode<Value: StreamValue>(
        _ type: Value.Type = Value.self, contentsOfFile path: String, options: JSONReaderOptions = JSONReaderOptions(),
        builderOptions: BuilderOptions = BuilderOptions()
    ) throws(StreamError) -> Value {
        try ObjectBuilder.build(builderOptions) { (builder) throws(StreamError) in
            try builder.readJSON(contentsOfFile: path, options: options)
        }
    }

    // MARK: JSON lines

    /// Makes an array of the values in an array of bytes, which whitespace separates, as in JSON lines.
    ///
    /// - Throws: As for a document; paths begin with the number of the value, from 0: `$[3].title`.
    /// - Complexity: O(*n*) in the bytes.
    public static func decodeLines<Value: StreamValue>(
        _ type: Value.Type = Value.self, from bytes: [UInt8], options: JSONReaderOptions = JSONReaderOptions(),
        builderOptions: BuilderOptions = BuilderOptions()
    ) throws(StreamError) -> [Value] {
        try buildLines(options, builderOptions) { (builder, options) throws(StreamError) in
            try builder.readJSON(bytes, options: options)
        }
    }

    /// Makes an array of the values in data, which whitespace separates, as in JSON lines.
    ///
    /// - Throws: As for a document; paths begin with the number of the value, from 0: `$[3].title`.
    /// - Complexity: O(*n*) in the bytes.
    public static func decodeLines<Value: StreamValue>(
        _ type: Value.Type = Value.self, from data: Data, options: JSONReaderOptions = JSONReaderOptions(),
        builderOptions: BuilderOptions = BuilderOptions()
    ) throws(StreamError) -> [Value] {
        try buildLines(options, builderOptions) { (builder, options) throws(StreamError) in
            try builder.readJSON(data, options: options)
        }
    }

    /// Makes an array of the values in a string, which whitespace separates, as in JSON lines.
    ///
    /// - Throws: As for a document; paths begin with the number of the value, from 0: `$[3].title`.
    /// - Complexity: O(*n*) in the bytes.
    public static func decodeLines<Value: StreamValue>(
        _ type: Value.Type = Value.self, from text: String, options: JSONReaderOptions = JSONReaderOptions(),
        builderOptions: BuilderOptions = BuilderOptions()
    ) throws(StreamError) -> [Value] {
        try buildLines(options, builderOptions) { (builder, options) throws(StreamError) in
            try builder.readJSON(text, options: options)
        }
    }

    /// Makes an array of the values in a file, which whitespace separates, as in JSON lines.
    ///
    /// - Throws: As above, and ``/PlistStreaming/StreamError/Kind/cannotRead`` when the file cannot be read.
    /// - Complexity: O(*n*) in the bytes.
    public static func decodeLines<Value: StreamValue>(
        _ type: Value.Type = Value.self, contentsOfFile path: String, options: JSONReaderOptions = JSONReaderOptions(),
        builderOptions: BuilderOptions = BuilderOptions()
    ) throws(StreamError) -> [Value] {
        try buildLines(options, builderOptions) { (builder, options) throws(StreamError) in
            try builder.readJSON(contentsOfFile: path, options: options)
        }
    }

    // MARK: Text

    /// Returns the text of a value as UTF-8.
    ///
    /// - Parameters:
    ///   - value: What is written: of a bound type, an array, a dictionary or a scalar.
    ///   - options: The layout of the text, and what is written for numbers that are none.
    ///   - writingOptions: The names of members, and what is written for those that are nil.
    /// - Throws: What JSON cannot hold, such as an infinite number, with its path.
    /// - Complexity: O(*n*) in the bytes.
    public static func encode<Value: StreamValue>(
        _ value: Value, options: JSONWriterOptions = JSONWriterOptions(),
        writingOptions: WritingOptions = WritingOptions()
    ) throws(StreamError) -> [UInt8] {
        try writer(of: value, options, writingOptions).bytes
    }

    /// Returns the text of a value.
    ///
    /// - Parameters: As of ``encode(_:options:writingOptions:)``.
    /// - Throws: What JSON cannot hold, such as an infinite number, with its path.
    /// - Complexity: O(*n*) in the bytes.
    public static func text<Value: StreamValue>(
        of value: Value, options: JSONWriterOptions = JSONWriterOptions(),
        writingOptions: WritingOptions = WritingOptions()
    ) throws(StreamError) -> String {
        try writer(of: value, options, writingOptions).text
    }

    /// The lines are the elements of an array of which a reader knows nothing.
    private static func buildLines<Value: StreamValue>(
        _ options: JSONReaderOptions, _ builderOptions: BuilderOptions,
        _ read: (inout ObjectBuilder<PropertyList>, JSONReaderOptions) throws(StreamError) -> Void
    ) throws(StreamError) -> [Value] {
        try ObjectBuilder.build(builderOptions.besideLines) { (builder) throws(StreamError) in
            try builder.beginArray()
            try read(&builder, options.ofLines)
            try builder.endArray()
        }
    }

    private static func writer<Value: StreamValue>(
        of value: Value, _ options: JSONWriterOptions, _ writingOptions: WritingOptions
    ) throws(StreamError) -> JSONWriter {
        var writer = JSONWriter(options: options)
        try writer.write(value, options: writingOptions)
        try writer.finish()
        return writer
    }
}

extension JSONReaderOptions {
    /// The same options for a sequence of values.
    var ofLines: JSONReaderOptions {
        var options = self
        options.isSequence = true
        return options
    }
}

extension BuilderOptions {
    /// The same options for values that lie in an array which is not in the text.
    var besideLines: BuilderOptions {
        var options = self
        if options.depthLimit < .max { options.depthLimit += 1 }
        return options
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension JSON: SelfTesting {
    /// The tests of this type.
    public static var testSelectors: TestSelectors {
        [
            "testReadsThroughEveryDoor": testReadsThroughEveryDoor,
            "testSaysWhereTheErrorIs": testSaysWhereTheErrorIs,
            "testReadsLines": testReadsLines,
            "testSaysInWhichLineTheErrorIs": testSaysInWhichLineTheErrorIs,
            "testWritesWhatItReads": testWritesWhatItReads,
            "testReadsOneTypeOnManyThreads": testReadsOneTypeOnManyThreads,
            "testHasNoNegativeLimits": testHasNoNegativeLimits,
        ]
    }

    private struct Task: StreamObject, Equatable {
        var id = 0
        var title = ""
        var weight: Double?
    }

    private static let text = #"[{"id":1,"title":"ö","weight":0.5},{"id":2,"title":"","weight":null}]"#
    private static let tasks = [Task(id: 1, title: "ö", weight: 0.5), Task(id: 2)]

    private static func testReadsOneTypeOnManyThreads() async {
        // Arrays, single documents, and what is given up, so that machines are lent to, left and dropped.
        let texts = [text, #"[{"id":1},{"id":2,"#, #"[{"id":1},{"id":"a"}]"#, "[]"]
        let counts = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    (0..<100).reduce(0) { $0 + ((try? decode([Task].self, from: texts[$1 % 4]))?.count ?? 0) }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        expectEqual(counts, [50, 50, 50, 50], "values of each")
    }

    private static func testHasNoNegativeLimits() {
        let text = #"["abcdefghijklmnopqrstuvwxyz"]"#
        for number in [-1, .min, .min + 5] {
            for limits in [StreamLimits(stringByteCount: number), StreamLimits(totalByteCount: number)] {
                let options = JSONReaderOptions(limits: limits)
                let whole = expectThrows(StreamError.self, "a whole text") {
                    _ = try decode([String].self, from: text, options: options)
                }
                expectEqual(whole?.kind, .limitExceeded, "a whole text, \(number)")
                let pieces = expectThrows(StreamError.self, "pieces") {
                    var reader = JSONReader(sink: try ObjectBuilder<[String]>(), options: options)
                    for byte in text.utf8 { try reader.feed([byte]) }
                }
                expectEqual(pieces?.kind, .limitExceeded, "pieces, \(number)")
            }
        }
    }

    private static func testReadsThroughEveryDoor() throws {
        expectEqual(try decode([Task].self, from: Array(text.utf8)), tasks, "from bytes")
        expectEqual(try decode([Task].self, from: Data(text.utf8)), tasks, "from data")
        expectEqual(try decode([Task].self, from: text), tasks, "from text")
        let path = try temporaryDirectory() + "/tasks.json"
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        expectEqual(try decode([Task].self, contentsOfFile: path), tasks, "from a file")
        let inferred: [Task] = try decode(from: text)
        expectEqual(inferred, tasks, "of the type that is wanted")
        let named = try decode(Task.self, from: #"{"id":3}"#, builderOptions: BuilderOptions(keyMapping: .snakeCase))
        expectEqual(named.id, 3, "with options")
    }

    private static func testSaysWhereTheErrorIs() {
        let rows: [(String, StreamError.Kind, String?, Int?)] = [
            ("[{\"id\":1},\n{\"id\":\"x\"}]", .typeMismatch, "$[1].id", 2),
            ("[{\"id\":1},\n{]", .invalidSyntax, nil, 2), ("[", .unexpectedEnd, nil, 1), ("", .unexpectedEnd, nil, 1),
        ]
        for (text, kind, path, line) in rows {
            let error = expectThrows(StreamError.self, text) { _ = try decode([Task].self, from: text) }
            expectEqual(error?.kind, kind, "kind of \(text)")
            expectEqual(error?.position?.line, line, "line of \(text)")
            if let path { expectEqual(error?.path?.description, path, "path of \(text)") }
        }
        let missing = expectThrows(StreamError.self, "no file") {
            _ = try decode([Task].self, contentsOfFile: "/no/such/file")
        }
        expectEqual(missing?.kind, .cannotRead, "kind")
    }

    private static let lines = "{\"id\":1,\"title\":\"ö\",\"weight\":0.5}\n{\"id\":2,\"title\":\"\",\"weight\":null}\n"

    private static func testReadsLines() throws {
        expectEqual(try decodeLines(Task.self, from: Array(lines.utf8)), tasks, "from bytes")
        expectEqual(try decodeLines(Task.self, from: Data(lines.utf8)), tasks, "from data")
        expectEqual(try decodeLines(Task.self, from: lines), tasks, "from text")
        let path = try temporaryDirectory() + "/tasks.jsonl"
        try Data(lines.utf8).write(to: URL(fileURLWithPath: path))
        expectEqual(try decodeLines(Task.self, contentsOfFile: path), tasks, "from a file")
        let inferred: [Task] = try decodeLines(from: String(lines.dropLast()))
        expectEqual(inferred, tasks, "without a newline at the end")
        for (text, values) in [("", []), (" \n\n", []), ("1", [1]), ("1\n", [1]), ("1 2\r\n\n3", [1, 2, 3])] {
            expectEqual(try decodeLines(Int.self, from: text), values, text)
        }
        expectEqual(try decodeLines([Int].self, from: "[1]\n[]\n[2,3]"), [[1], [], [2, 3]], "arrays")
        let flat = BuilderOptions(depthLimit: 1)
        expectEqual(try decodeLines([Int].self, from: "[1]", builderOptions: flat), [[1]], "as deep as the limit")
        expectThrows(StreamError.self, "deeper") {
            _ = try decodeLines([[Int]].self, from: "[[1]]", builderOptions: flat)
        }
        let limitless = BuilderOptions(depthLimit: .max)
        expectEqual(try decodeLines(Task.self, from: lines, builderOptions: limitless), tasks, "without a limit")
    }

    private static func testSaysInWhichLineTheErrorIs() {
        let rows: [(String, StreamError.Kind, String?, Int)] = [
            ("{\"id\":1}\n{\"id\":\"x\"}\n{\"id\":3}", .typeMismatch, "$[1].id", 2),
            ("{\"id\":1}\n\n{\"id\":2\n", .unexpectedEnd, nil, 4), ("{\"id\":1}\n]", .invalidSyntax, nil, 2),
            ("{\"id\":1}{\"id\":2}", .invalidSyntax, nil, 1), ("{\"id\":1},\n", .invalidSyntax, nil, 1),
            ("7", .typeMismatch, "$[0]", 1),
        ]
        for (text, kind, path, line) in rows {
            let error = expectThrows(StreamError.self, text) { _ = try decodeLines(Task.self, from: text) }
            expectEqual(error?.kind, kind, "kind of \(text)")
            expectEqual(error?.position?.line, line, "line of \(text)")
            if let path { expectEqual(error?.path?.description, path, "path of \(text)") }
        }
    }

    private static func testWritesWhatItReads() throws {
        expectEqual(try text(of: tasks), #"[{"id":1,"title":"ö","weight":0.5},{"id":2,"title":""}]"#, "text")
        expectEqual(try encode(tasks), Array(try text(of: tasks).utf8), "bytes")
        expectEqual(try decode([Task].self, from: encode(tasks)), tasks, "there and back")
        struct Log: StreamObject, Equatable { var taskID = 7, note: String? = nil }
        let snakes = WritingOptions(keyMapping: .snakeCase, nilMembers: .writeNull)
        expectEqual(
            try text(of: Log(), options: .pretty, writingOptions: snakes),
            "{\n  \"task_id\": 7,\n  \"note\": null\n}\n",
            "names and nulls")
        let bytes = try encode([Log()], writingOptions: snakes)
        expectEqual(bytes, Array(#"[{"task_id":7,"note":null}]"#.utf8), "bytes of them")
        let read = try decode([Log].self, from: bytes, builderOptions: BuilderOptions(keyMapping: .snakeCase))
        expectEqual(read, [Log()], "there and back with names")
        let error = expectThrows(StreamError.self, "infinite") { _ = try encode([Task(weight: .infinity)]) }
        expectEqual(error?.kind, .unrepresentable, "kind")
        expectEqual(error?.path?.description, "$[0].weight", "path")
        let table = expectThrows(StreamError.self, "infinite") { _ = try text(of: ["a": [1, 2, .nan]]) }
        expectEqual(table?.path?.description, "$.a[2]", "path in a dictionary")
        let pretty = expectThrows(StreamError.self, "infinite") {
            _ = try text(of: [["a": 1.5], ["b": -Double.infinity]], options: .pretty)
        }
        expectEqual(pretty?.path?.description, "$[1].b", "path in another layout")
    }
}
#endif
