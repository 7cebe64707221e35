// The formats JSON and JSON lines, which PlistBuilding and PlistCoding use to decode and encode values.

@_exported import PlistBuilding
@_exported import PlistCoding
@_exported import PlistStreaming

/// JSON, RFC 8259.
///
/// ```swift
/// let tasks = try JSON.decode([Task].self, from: data)
/// let text = try JSON(layout: .pretty(indent: 2)).encodeToString(tasks)
/// try JSON.write(tasks, to: .file("tasks.json"))
/// ```
public struct JSON: DefaultFormat {
    /// The options for reading documents.
    public var reader: JSONReaderOptions
    /// The options for writing documents.
    public var writer: JSONWriterOptions

    /// Creates the format with its default options.
    @inlinable
    public init() { self.init(reader: JSONReaderOptions(), writer: JSONWriterOptions()) }

    /// Creates the format.
    @inlinable
    public init(reader: JSONReaderOptions = JSONReaderOptions(), writer: JSONWriterOptions = JSONWriterOptions()) {
        self.reader = reader
        self.writer = writer
    }

    /// Creates the format with some options, which ``JSONReaderOptions`` and ``JSONWriterOptions`` describe.
    public init(
        limits: StreamLimits = .standard, duplicateKeys: JSONReaderOptions.DuplicateKeys = .allow,
        layout: JSONWriterOptions.Layout = .compact, sortsKeys: Bool = false,
        nonFinite: JSONWriterOptions.NonFinite = .reject, dates: JSONWriterOptions.Dates = .rfc3339
    ) {
        self.init(
            reader: JSONReaderOptions(limits: limits, duplicateKeys: duplicateKeys),
            writer: JSONWriterOptions(layout: layout, sortsKeys: sortsKeys, nonFinite: nonFinite, dates: dates))
    }

    /// Reads a document, or several values if the options allow a sequence, and sends its messages to a sink.
    ///
    /// - Throws: The first error of the source, the document or the sink, with its position.
    /// - Complexity: O(*n*) without allocations for text without escapes.
    @inlinable
    public func read<Sink: PlistSink & ~Copyable>(
        _ source: some ByteSource, into sink: inout Sink
    ) throws(StreamError) {
        // PERF: JSONTyped/documents; a direct call reads whole documents into values.
        if try sink.withSelf(
            as: ValueBuilder.self,
            { (builder) throws(StreamError) in
                if try source.withBytes({ (bytes) throws(StreamError) in try readValue(bytes, into: &builder) }) {
                    return
                }
                try scanValue(AnyByteSource(source), into: &builder)
            })
        {
            return
        }
        try readSpecialized(source, into: &sink)
    }

    @usableFromInline
    func readValue(_ bytes: RawSpan, into builder: inout ValueBuilder) throws(StreamError) {
        guard reader.duplicateKeys == .reject else { return try builder.readJSON(bytes, options: reader) }
        try builder.readUniqueJSON(Array(copying: bytes), options: reader)
    }

    /// Writes contents.
    ///
    /// - Throws: An error with the path of the first value that JSON can't represent, such as an infinite number.
    /// - Complexity: O(*n*) in the bytes.
    @inlinable
    public func write(_ content: some StreamContent, to output: inout some ByteSink) throws(StreamError) {
        try output.withOutput { (output) throws(StreamError) in
            var writer = JSONWriter(options: writer, taking: &output)
            defer { writer.returnOutput(&output) }
            try content.send(to: &writer)
            try writer.finish()
        }
    }

    /// Creates a ``JSONReader``.
    public func pushReader<Sink: PlistSink & ~Copyable>(into sink: consuming Sink) -> any PushReader & ~Copyable {
        makeSpecializedReader(sink)
    }
}

extension JSON: SpecializedFormat {
    @inlinable
    package func scan<Sink: PlistSink & ~Copyable>(
        _ source: some ByteSource, into sink: inout Sink
    ) throws(StreamError) {
        guard reader.duplicateKeys == .reject else { return try sink.readJSON(source, options: reader) }
        try sink.readUniqueJSON(source, options: reader)
    }

    @usableFromInline
    package func makeReader<Sink: PlistSink & ~Copyable>(_ sink: consuming Sink) -> ErasedReader {
        guard reader.duplicateKeys == .reject else { return ErasedReader(JSONReader(sink: sink, options: reader)) }
        return ErasedReader(JSONReader(sink: UniqueKeys(sink), options: reader))
    }
}

/// JSON lines: JSON values that are separated by newlines or any other whitespace.
///
/// Readers send an array of the values; errors have paths such as `$[3].title`. Writers accept an array, and write a
/// line for each element.
public struct JSONLines: DefaultFormat {
    /// The options for reading values.
    public var reader: JSONReaderOptions
    /// The options for writing values.
    public var writer: JSONWriterOptions

    /// Creates the format with its default options.
    public init() { self.init(JSON()) }

    /// Creates the format with the options of JSON.
    public init(_ json: JSON) {
        reader = json.reader
        writer = json.writer
        (reader.allowsMultipleValues, writer.allowsMultipleValues) = (true, true)
    }

    /// Reads the values and sends them to a sink as an array.
    ///
    /// - Throws: The first error of the source, a value or the sink, with its position.
    /// - Complexity: O(*n*) without allocations for text without escapes.
    @inlinable
    public func read<Sink: PlistSink & ~Copyable>(
        _ source: some ByteSource, into sink: inout Sink
    ) throws(StreamError) {
        try readSpecialized(source, into: &sink)
    }

    /// Writes the elements of an array, one per line.
    ///
    /// - Throws: An error with the path of the first value that JSON can't represent; `unrepresentable` if the contents
    ///   are not an array.
    /// - Complexity: O(*n*) in the bytes.
    public func write(_ content: some StreamContent, to output: inout some ByteSink) throws(StreamError) {
        try output.withOutput { (output) throws(StreamError) in
            var lines = ElementSink(JSONWriter(options: writer, taking: &output))
            defer { lines.sink.returnOutput(&output) }
            try content.send(to: &lines)
            try lines.sink.finish()
        }
    }

    /// Creates a reader of the values as an array.
    public func pushReader<Sink: PlistSink & ~Copyable>(into sink: consuming Sink) -> any PushReader & ~Copyable {
        makeSpecializedReader(sink)
    }
}

extension PlistSink where Self: ~Copyable {
    /// Receives values as an array.
    @inlinable
    mutating func readLines(_ source: some ByteSource, _ options: JSONReaderOptions) throws(StreamError) {
        try lineMessage(at: .start) { (sink) throws(StreamError) in try sink.beginArray() }
        if options.duplicateKeys == .reject {
            try readUniqueJSON(source, options: options)
        } else {
            try readJSON(source, options: options)
        }
        try lineMessage { (sink) throws(StreamError) in try sink.endArray() }
    }

    /// Sends a message for the array around the lines, and cancels the sink if it refuses the message.
    @usableFromInline
    mutating func lineMessage(
        at position: StreamPosition? = nil, _ body: (inout Self) throws(StreamError) -> Void
    ) throws(StreamError) {
        do throws(StreamError) { try body(&self) } catch {
            let error = position.map { error.ofSink(at: $0) } ?? error
            cancel(with: error)
            throw error
        }
    }

    /// Receives a document in which each object has unique names.
    @usableFromInline
    mutating func readUniqueJSON(_ source: some ByteSource, options: JSONReaderOptions) throws(StreamError) {
        var filter = UniqueKeys(self)
        do throws(StreamError) {
            try filter.readJSON(source, options: options)
        } catch {
            self = filter.takeTarget()
            throw error
        }
        self = filter.takeTarget()
    }
}

extension JSONLines: SpecializedFormat {
    @inlinable
    package func scan<Sink: PlistSink & ~Copyable>(
        _ source: some ByteSource, into sink: inout Sink
    ) throws(StreamError) { try sink.readLines(source, reader) }

    @usableFromInline
    package func makeReader<Sink: PlistSink & ~Copyable>(_ sink: consuming Sink) -> ErasedReader {
        guard reader.duplicateKeys == .reject else {
            return ErasedReader(LinePushReader(JSONReader(sink: sink, options: reader)))
        }
        return ErasedReader(LinePushReader(JSONReader(sink: UniqueKeys(sink), options: reader)))
    }
}

/// A reader of JSON lines that puts an array around the values.
private struct LinePushReader<Sink: PlistSink & ~Copyable>: PushReader, ~Copyable {
    private enum State { case before, within, after }

    private var reader: JSONReader<Sink>
    private var state = State.before

    init(_ reader: consuming JSONReader<Sink>) { self.reader = reader }

    mutating func feed(_ bytes: RawSpan) throws(StreamError) {
        try begin()
        try reader.feed(bytes)
    }

    mutating func finish() throws(StreamError) {
        try begin()
        try reader.finish()
        state = .after
        try reader.sink.lineMessage { (sink) throws(StreamError) in try sink.endArray() }
    }

    private mutating func begin() throws(StreamError) {
        switch state {
        case .before: try reader.sink.lineMessage(at: .start) { (sink) throws(StreamError) in try sink.beginArray() }
        case .within: break
        case .after: throw StreamError(.misuse, "the input has ended")
        }
        state = .within
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import Foundation
import InClassTesting

extension JSON: SelfTesting {
    /// The tests of this type.
    public static var testSelectors: TestSelectors {
        [
            "testReadsFromEverySource": testReadsFromEverySource,
            "testReportsLocationOfErrors": testReportsLocationOfErrors,
            "testReadsLines": testReadsLines,
            "testReportsLineOfErrors": testReportsLineOfErrors,
            "testRoundTripsValues": testRoundTripsValues,
            "testReadsOneTypeOnManyThreads": testReadsOneTypeOnManyThreads,
            "testTreatsNegativeLimitsAsZero": testTreatsNegativeLimitsAsZero,
            "testRejectsDuplicateKeysIfAsked": testRejectsDuplicateKeysIfAsked,
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
        // Arrays, single documents, and incomplete ones, so that scanners are borrowed, returned and dropped.
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

    private static func testTreatsNegativeLimitsAsZero() {
        let text = #"["abcdefghijklmnopqrstuvwxyz"]"#
        for number in [-1, .min, .min + 5] {
            for limits in [StreamLimits(stringByteCount: number), StreamLimits(totalByteCount: number)] {
                let options = JSONReaderOptions(limits: limits)
                let whole = expectThrows(StreamError.self, "a whole text") {
                    _ = try JSON(reader: options).decode([String].self, from: text)
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

    private static func testRejectsDuplicateKeysIfAsked() throws {
        struct Coded: Codable { var id: Int }
        struct Row: StreamObject { var id = 0 }
        let strict = JSON(duplicateKeys: .reject)
        let text = "[{\"id\":1},\n{\"id\":2,\"x\":{\"id\":1},\"id\":3}]"
        expectEqual(try JSON.decode([Row].self, from: text).map(\.id), [1, 3], "bound values, the last counts")
        expectEqual(try JSON.decode([Coded].self, from: text).map(\.id), [1, 3], "Codable values, the last counts")
        let lines = JSONLines(strict)
        let entryPoints: [(String, () throws -> Void)] = [
            ("decode", { _ = try strict.decode([Row].self, from: text) }),
            ("decode from data", { _ = try strict.decode([Row].self, from: Data(text.utf8)) }),
            ("decode Codable", { _ = try strict.decode([Coded].self, from: text) }),
            ("decodeEach", { try strict.decodeEach(Row.self, from: text) { _ in } }),
            ("decodeEach Codable", { try strict.decodeEach(Coded.self, from: text) { _ in } }),
            ("records", { _ = try strict.records(of: Row.self, from: text).results.map { try $0.get() } }),
            ("propertyList", { _ = try strict.propertyList(from: text) }),
            ("columns", { _ = try strict.columns(["id": .integer], from: text) }),
            (
                "document",
                {
                    var output = Data()
                    try JSON().write(strict.document(text), to: &output)
                }
            ),
            ("lines", { _ = try lines.decode([[Row]].self, from: text) }),
            ("lines pushed", { _ = try lines.records(of: [Row].self, from: text).results.map { try $0.get() } }),
        ]
        for (name, read) in entryPoints {
            let error = expectThrows(StreamError.self, name) { try read() }
            let found = error?.cause as? StreamError ?? error
            expectEqual(found?.kind, .duplicateKey, "kind by \(name)")
            expectEqual(found?.position?.line, 2, "line by \(name)")
        }
        expectEqual(try strict.decode([Row].self, from: "[{\"id\":1},{\"id\":2}]").map(\.id), [1, 2], "unique keys")
    }

    private static func testReadsFromEverySource() throws {
        expectEqual(try decode([Task].self, from: Array(text.utf8)), tasks, "from bytes")
        expectEqual(try decode([Task].self, from: Data(text.utf8)), tasks, "from data")
        expectEqual(try decode([Task].self, from: text), tasks, "from text")
        let path = try temporaryDirectory() + "/tasks.json"
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        expectEqual(try decode([Task].self, from: .file(path)), tasks, "from a file")
        let inferred: [Task] = try decode(from: text)
        expectEqual(inferred, tasks, "of the type that is wanted")
        let named = try decode(Task.self, from: #"{"id":3}"#, options: BuilderOptions(keyMapping: .snakeCase))
        expectEqual(named.id, 3, "with options")
    }

    private static func testReportsLocationOfErrors() {
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
            _ = try decode([Task].self, from: .file("/no/such/file"))
        }
        expectEqual(missing?.kind, .cannotRead, "kind")
    }

    private static let lines = "{\"id\":1,\"title\":\"ö\",\"weight\":0.5}\n{\"id\":2,\"title\":\"\",\"weight\":null}\n"

    private static func testReadsLines() throws {
        expectEqual(try JSONLines.decode([Task].self, from: Array(lines.utf8)), tasks, "from bytes")
        expectEqual(try JSONLines.decode([Task].self, from: Data(lines.utf8)), tasks, "from data")
        expectEqual(try JSONLines.decode([Task].self, from: lines), tasks, "from text")
        let path = try temporaryDirectory() + "/tasks.jsonl"
        try Data(lines.utf8).write(to: URL(fileURLWithPath: path))
        expectEqual(try JSONLines.decode([Task].self, from: .file(path)), tasks, "from a file")
        let inferred: [Task] = try JSONLines.decode(from: String(lines.dropLast()))
        expectEqual(inferred, tasks, "without a newline at the end")
        for (text, values) in [("", []), (" \n\n", []), ("1", [1]), ("1\n", [1]), ("1 2\r\n\n3", [1, 2, 3])] {
            expectEqual(try JSONLines.decode([Int].self, from: text), values, text)
        }
        expectEqual(try JSONLines.decode([[Int]].self, from: "[1]\n[]\n[2,3]"), [[1], [], [2, 3]], "arrays")
        let flat = BuilderOptions(depthLimit: 2)
        expectEqual(try JSONLines.decode([[Int]].self, from: "[1]", options: flat), [[1]], "as deep as the limit")
        expectThrows(StreamError.self, "deeper") {
            _ = try JSONLines.decode([[[Int]]].self, from: "[[1]]", options: flat)
        }
        let limitless = BuilderOptions(depthLimit: .max)
        expectEqual(try JSONLines.decode([Task].self, from: lines, options: limitless), tasks, "without a limit")
    }

    private static func testReportsLineOfErrors() {
        let rows: [(String, StreamError.Kind, String?, Int)] = [
            ("{\"id\":1}\n{\"id\":\"x\"}\n{\"id\":3}", .typeMismatch, "$[1].id", 2),
            ("{\"id\":1}\n\n{\"id\":2\n", .unexpectedEnd, nil, 4), ("{\"id\":1}\n]", .invalidSyntax, nil, 2),
            ("{\"id\":1}{\"id\":2}", .invalidSyntax, nil, 1), ("{\"id\":1},\n", .invalidSyntax, nil, 1),
            ("7", .typeMismatch, "$[0]", 1),
        ]
        let other = expectThrows(StreamError.self, "no array") { _ = try JSONLines.decode(Int.self, from: "1\n") }
        expectEqual(other?.position?.line, 1, "line of an error of the array around the lines")
        for (text, kind, path, line) in rows {
            let error = expectThrows(StreamError.self, text) { _ = try JSONLines.decode([Task].self, from: text) }
            expectEqual(error?.kind, kind, "kind of \(text)")
            expectEqual(error?.position?.line, line, "line of \(text)")
            if let path { expectEqual(error?.path?.description, path, "path of \(text)") }
        }
    }

    private static func testRoundTripsValues() throws {
        expectEqual(try encodeToString(tasks), #"[{"id":1,"title":"ö","weight":0.5},{"id":2,"title":""}]"#, "text")
        expectEqual(try encode(tasks), Data(try encodeToString(tasks).utf8), "bytes")
        expectEqual(try decode([Task].self, from: encode(tasks)), tasks, "there and back")
        struct Log: StreamObject, Equatable { var taskID = 7, note: String? = nil }
        let snakes = WritingOptions(keyMapping: .snakeCase, nilMembers: .writeNull)
        expectEqual(
            try JSON(writer: .pretty).encodeToString(Log(), options: snakes),
            "{\n  \"task_id\": 7,\n  \"note\": null\n}\n",
            "names and nulls")
        let bytes = try encode([Log()], options: snakes)
        expectEqual(bytes, Data(#"[{"task_id":7,"note":null}]"#.utf8), "bytes of them")
        let read = try decode([Log].self, from: bytes, options: BuilderOptions(keyMapping: .snakeCase))
        expectEqual(read, [Log()], "there and back with names")
        let error = expectThrows(StreamError.self, "infinite") { _ = try encode([Task(weight: .infinity)]) }
        expectEqual(error?.kind, .unrepresentable, "kind")
        expectEqual(error?.path?.description, "$[0].weight", "path")
        let table = expectThrows(StreamError.self, "infinite") { _ = try encodeToString(["a": [1, 2, Double.nan]]) }
        expectEqual(table?.path?.description, "$.a[2]", "path in a dictionary")
        let pretty = expectThrows(StreamError.self, "infinite") {
            _ = try JSON(writer: .pretty).encodeToString([["a": 1.5], ["b": -Double.infinity]])
        }
        expectEqual(pretty?.path?.description, "$[1].b", "path in another layout")
    }
}
#endif
