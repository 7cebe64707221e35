// The protocols of formats. A format reads bytes into a sink and writes contents to bytes; PlistBuilding and PlistCoding add
// decoding, encoding and the other functions to every format.

/// Contents that can be sent to a sink: a bound value, a property list, a query of a database, a document of a format.
public protocol StreamContent {
    /// Sends the messages of one value.
    ///
    /// - Throws: Errors of the sink and of the contents.
    func send<Sink: PlistSink & ~Copyable>(to sink: inout Sink) throws(StreamError)
}

/// A format of bytes, such as JSON, with its options.
///
/// Your own format conforms like the formats of this package, and gets the same functions:
///
/// ```swift
/// let tasks = try CBOR().decode([Task].self, from: .file("tasks.cbor"))
/// ```
public protocol StreamFormat: Sendable {
    /// The type information in a document; ``ValueTypes/marked`` by default.
    var valueTypes: ValueTypes { get }

    /// Reads a source and sends its messages to a sink.
    ///
    /// After an error the format calls `cancel(with:)` of the sink.
    /// - Throws: The first error of the source, the bytes or the sink, with its position in the bytes.
    func read<Sink: PlistSink & ~Copyable>(_ source: some ByteSource, into sink: inout Sink) throws(StreamError)

    /// Writes contents.
    ///
    /// - Throws: An error with a path for values that the format can't represent, and errors of the contents and of the
    ///   destination.
    func write(_ content: some StreamContent, to output: inout some ByteSink) throws(StreamError)

    /// Creates a reader that receives chunks. The default reader collects all chunks and then reads them.
    func pushReader<Sink: PlistSink & ~Copyable>(into sink: consuming Sink) -> any PushReader & ~Copyable

    /// A Boolean value that indicates whether the format writes text in UTF-8. True by default.
    var isText: Bool { get }
}

/// The type information in the documents of a format.
///
/// Bound types and `Decodable` types are decoded from text by the same rules: an integer from ` 007`, a Boolean from `true` or
/// `1`.
public enum ValueTypes: Sendable {
    /// Numbers, Booleans, strings, arrays and dictionaries are distinct, as in JSON.
    case marked
    /// Numbers and Booleans are text, as in CSV.
    case text
    /// Numbers and Booleans are text, an array of one element looks like the element, and a dictionary without members looks
    /// like the empty string, as in XML.
    case elements
}

/// A format with default options, whose functions are also static: `JSON.decode(Task.self, from: data)`.
public protocol DefaultFormat: StreamFormat {
    /// Creates the format with its default options.
    init()
}

/// A reader that receives chunks of any size, such as chunks of a network.
///
/// It sends the same messages and throws the same errors for any sizes of the chunks.
public protocol PushReader: ~Copyable {
    /// Reads the next chunk.
    ///
    /// - Throws: The first error of the bytes or the sink, with its position, and the same error on every later call.
    mutating func feed(_ bytes: RawSpan) throws(StreamError)

    /// Reads the next chunk of a text in UTF-8, even if the text declares another encoding. The default reads it as bytes.
    ///
    /// - Throws: The errors of ``feed(_:)-(RawSpan)``.
    mutating func feed(text: RawSpan) throws(StreamError)

    /// Ends the input.
    ///
    /// - Throws: ``StreamError/Kind/unexpectedEnd`` if the input is incomplete.
    mutating func finish() throws(StreamError)
}

extension StreamFormat {
    /// ``ValueTypes/marked`` by default.
    public var valueTypes: ValueTypes { .marked }

    /// Creates a reader that collects all chunks and reads them when the input ends.
    public func pushReader<Sink: PlistSink & ~Copyable>(into sink: consuming Sink) -> any PushReader & ~Copyable {
        collectingReader(into: sink, byteLimit: .max)
    }

    /// Creates a reader that collects up to a number of bytes and reads them when the input ends, for formats that can't be
    /// read in pieces.
    public func collectingReader<Sink: PlistSink & ~Copyable>(
        into sink: consuming Sink, byteLimit: Int
    ) -> any PushReader & ~Copyable {
        CollectingReader(format: self, sink: sink, byteLimit: byteLimit)
    }

    /// True by default.
    public var isText: Bool { true }

    /// A document of this format as contents, which other formats write:
    ///
    /// ```swift
    /// try CSV().write(JSON().document(.file("a.json")), to: .file("a.csv"))
    /// ```
    public func document<Source: ByteSource>(_ source: Source) -> StreamDocument<Self, Source> {
        StreamDocument(format: self, source: source)
    }

    /// Writes contents to a file or a descriptor.
    ///
    /// - Throws: An error with a path for values that the format can't represent, and errors of the contents and of the
    ///   destination.
    public func write(_ content: some StreamContent, to output: some ExternalByteSink) throws(StreamError) {
        var output = output
        try write(content, to: &output)
    }
}

/// A document of a format, which is read when it is sent.
public struct StreamDocument<Format: StreamFormat, Source: ByteSource>: StreamContent {
    private let format: Format
    private let source: Source

    init(format: Format, source: Source) {
        self.format = format
        self.source = source
    }

    /// Reads the document into a sink.
    public func send<Sink: PlistSink & ~Copyable>(to sink: inout Sink) throws(StreamError) {
        try format.read(source, into: &sink)
    }
}

/// The default push reader of formats.
private struct CollectingReader<Format: StreamFormat, Sink: PlistSink & ~Copyable>: PushReader, ~Copyable {
    let format: Format
    var sink: Sink
    let byteLimit: Int
    var bytes: [UInt8] = []
    /// A Boolean value that indicates whether all chunks were text.
    var isText = true
    var failure: StreamError?

    init(format: Format, sink: consuming Sink, byteLimit: Int) {
        self.format = format
        self.sink = sink
        self.byteLimit = byteLimit
    }

    mutating func feed(_ bytes: RawSpan) throws(StreamError) {
        isText = isText && bytes.byteCount == 0
        try collect(bytes)
    }

    mutating func feed(text: RawSpan) throws(StreamError) { try collect(text) }

    private mutating func collect(_ bytes: RawSpan) throws(StreamError) {
        if let failure { throw failure }
        guard bytes.byteCount <= byteLimit - self.bytes.count else {
            let error = StreamError(.limitExceeded, "more than \(byteLimit) bytes")
            (failure, self.bytes) = (error, [])
            sink.cancel(with: error)
            throw error
        }
        self.bytes += Array(copying: bytes)
    }

    mutating func finish() throws(StreamError) {
        if let failure { throw failure }
        failure = StreamError(.misuse, "the input has ended")
        do throws(StreamError) { try format.read(Collected(bytes: bytes, isText: isText), into: &sink) } catch {
            failure = error
            throw error
        }
    }

    /// The bytes of all chunks.
    private struct Collected: ByteSource {
        let bytes: [UInt8]
        let isText: Bool

        func open() -> ByteInput { ByteInput(bytes) }

        func withBytes(_ body: (RawSpan) throws(StreamError) -> Void) throws(StreamError) -> Bool {
            try bytes.withBytes(body)
        }
    }
}

extension PushReader where Self: ~Copyable {
    /// Reads the next chunk as bytes.
    @inlinable
    public mutating func feed(text: RawSpan) throws(StreamError) { try feed(text) }

    /// Reads the next chunk: an array of bytes, a string or data.
    ///
    /// - Throws: The errors of ``feed(_:)-(RawSpan)``, and ``StreamError/Kind/cannotRead``.
    @inlinable
    public mutating func feed(_ source: some ByteSource) throws(StreamError) {
        try source.withAllBytes { (bytes) throws(StreamError) in
            if source.isText { try feed(text: bytes) } else { try feed(bytes) }
        }
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

enum StreamFormatTests {}

extension StreamFormatTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testCollectsChunksUntilTheEnd": testCollectsChunksUntilTheEnd,
            "testCollectsUpToALimit": testCollectsUpToALimit,
            "testRepeatsTheErrorOfAnInput": testRepeatsTheErrorOfAnInput,
        ]
    }

    /// A format whose documents are one string.
    private struct Plain: StreamFormat {
        func read<Sink: PlistSink & ~Copyable>(
            _ source: some ByteSource, into sink: inout Sink
        ) throws(StreamError) {
            try source.withAllBytes { (bytes) throws(StreamError) in try sink.writeString(bytes) }
        }

        func write(_ content: some StreamContent, to output: inout some ByteSink) throws(StreamError) {}
    }

    /// A sink that records its messages, and refuses the string `no`.
    private final class Notes: PartialSink {
        var trace = EventTrace()

        func writeString(_ utf8: RawSpan) throws(StreamError) {
            if utf8.equals("no") { throw StreamError(.typeMismatch, "no") }
            try trace.writeString(utf8)
        }
        func cancel(with error: StreamError) { try? "canceled".withUTF8Span { try trace.writeString($0) } }
    }

    private static func testCollectsChunksUntilTheEnd() throws {
        let notes = Notes()
        var reader = Plain().pushReader(into: notes)
        for chunk in ["a", "", "bc"] { try reader.feed(chunk) }
        expectEqual(notes.trace.text, "", "before the end")
        try reader.finish()
        expectEqual(notes.trace.text, "string \"abc\"", "all chunks")
    }

    private static func testCollectsUpToALimit() throws {
        let notes = Notes()
        var reader = Plain().collectingReader(into: notes, byteLimit: 3)
        try reader.feed("abc")
        for _ in 0..<2 {
            let error = expectThrows(StreamError.self, "another byte") { try reader.feed("d") }
            expectEqual(error?.kind, .limitExceeded, "kind")
        }
        expectThrows(StreamError.self, "the end") { try reader.finish() }
        expectEqual(notes.trace.text, "string \"canceled\"", "messages")
    }

    private static func testRepeatsTheErrorOfAnInput() throws {
        for (text, kind) in [("yes", StreamError.Kind.misuse), ("no", .typeMismatch)] {
            let notes = Notes()
            var reader = Plain().pushReader(into: notes)
            try reader.feed(text)
            do { try reader.finish() } catch { expectEqual(error.kind, kind, "the first end of \(text)") }
            let trace = notes.trace.text
            let end = expectThrows(StreamError.self, "another end of \(text)") { try reader.finish() }
            expectEqual(end?.kind, kind, "kind")
            let chunk = expectThrows(StreamError.self, "a chunk after \(text)") { try reader.feed("x") }
            expectEqual(chunk?.kind, kind, "kind")
            expectEqual(notes.trace.text, trace, "messages of \(text)")
        }
    }
}
#endif
