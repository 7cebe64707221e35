// The format of property lists in the text form of NeXTSTEP and OpenStep.

import PlistBuilding
public import PlistStreaming

/// Property lists in the text form of NeXTSTEP and OpenStep, with the types of GNUstep.
///
/// ```swift
/// let strings = try OpenStepPropertyList.decode([String: String].self, from: .file("Localizable.strings"))
/// ```
public struct OpenStepPropertyList: DefaultFormat {
    /// The options for reading lists.
    public var reader: OpenStepPlistReaderOptions
    /// The options for writing lists.
    public var writer: OpenStepPlistWriterOptions

    /// Creates the format with its default options.
    public init() { self.init(reader: OpenStepPlistReaderOptions()) }

    /// Creates the format.
    public init(
        reader: OpenStepPlistReaderOptions = OpenStepPlistReaderOptions(),
        writer: OpenStepPlistWriterOptions = OpenStepPlistWriterOptions()
    ) {
        self.reader = reader
        self.writer = writer
    }

    /// Reads a list and sends its messages to a sink.
    ///
    /// - Throws: The first error of the source, the list or the sink, with its position.
    /// - Complexity: O(*n*) in the bytes.
    public func read<Sink: PlistSink & ~Copyable>(
        _ source: some ByteSource, into sink: inout Sink
    ) throws(StreamError) {
        try readSpecialized(source, into: &sink)
    }

    /// Writes contents.
    ///
    /// - Throws: An error with the path of the first value that the form can't represent, such as null.
    /// - Complexity: O(*n*) in the bytes.
    public func write(_ content: some StreamContent, to output: inout some ByteSink) throws(StreamError) {
        try output.withOutput { (output) throws(StreamError) in
            var writer = OpenStepPlistWriter(options: writer, taking: &output)
            defer { writer.returnOutput(&output) }
            try content.send(to: &writer)
            try writer.finish()
        }
    }

    /// Creates an ``OpenStepPlistReader``.
    public func pushReader<Sink: PlistSink & ~Copyable>(into sink: consuming Sink) -> any PushReader & ~Copyable {
        makeSpecializedReader(sink)
    }
}

extension OpenStepPropertyList: SpecializedFormat {
    @usableFromInline
    package func scan<Sink: PlistSink & ~Copyable>(
        _ source: some ByteSource, into sink: inout Sink
    ) throws(StreamError) { try sink.readOpenStepPlist(source, options: reader) }

    @usableFromInline
    package func makeReader<Sink: PlistSink & ~Copyable>(_ sink: consuming Sink) -> ErasedReader {
        ErasedReader(OpenStepPlistReader(sink: sink, options: reader))
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import Foundation
import InClassTesting

extension OpenStepPropertyList: SelfTesting {
    /// The tests of this type.
    public static var testSelectors: TestSelectors {
        ["testReadsItsOwnOutput": testReadsItsOwnOutput, "testReportsLocationOfErrors": testReportsLocationOfErrors]
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

    private static func testReadsItsOwnOutput() throws {
        let bytes = try encode(tasks)
        expectEqual(try decode([Task].self, from: bytes), tasks, "from data")
        expectEqual(try decode([Task].self, from: Array(bytes)), tasks, "from bytes")
        expectEqual(try decode([Task].self, from: encodeToString(tasks)), tasks, "from text")
        let path = try temporaryDirectory() + "/tasks.plist"
        try bytes.write(to: URL(fileURLWithPath: path))
        expectEqual(try decode([Task].self, from: .file(path)), tasks, "from a file")
    }

    private static func testReportsLocationOfErrors() throws {
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
