// More doors of the readers: arrays, strings and data for those who have no span.

public import PlistStreaming

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension JSONReader where Sink: ~Copyable {
    /// Scans the next chunk of the input, an array of bytes.
    ///
    /// - Throws: What ``feed(_:)-(RawSpan)`` throws.
    @inlinable  // PERF: so that the scanner specialises for sinks of other packages; so are the others.
    public mutating func feed(_ bytes: [UInt8]) throws(StreamError) {
        try bytes.withRawSpan { bytes throws(StreamError) in try feed(bytes) }
    }

    /// Scans the next chunk of the input, a string.
    ///
    /// - Throws: What ``feed(_:)-(RawSpan)`` throws.
    @inlinable
    public mutating func feed(_ text: String) throws(StreamError) {
        try text.withUTF8Span { bytes throws(StreamError) in try feed(bytes) }
    }

    /// Scans the next chunk of the input, such as one that came from a network.
    ///
    /// - Throws: What ``feed(_:)-(RawSpan)`` throws.
    @inlinable
    public mutating func feed(_ data: Data) throws(StreamError) {
        try feed(data.bytes)
    }
}

extension PlistSink where Self: ~Copyable {
    /// Receives a whole JSON document from data.
    ///
    /// - Throws: The first error of the document or of this sink, with its position.
    @inlinable
    public mutating func readJSON(
        _ data: Data,
        options: JSONReaderOptions = JSONReaderOptions()
    ) throws(StreamError) {
        try readJSON(data.bytes, options: options)
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

enum JSONReaderDoorsTests {}

extension JSONReaderDoorsTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testTakesChunksOfEveryType": testTakesChunksOfEveryType,
            "testTakesADocumentAsData": testTakesADocumentAsData,
        ]
    }

    private static func testTakesChunksOfEveryType() throws {
        var reader = JSONReader(sink: EventTrace())
        try reader.feed(#"{"a": [1,"#)
        try reader.feed(Array(#" "é"#.utf8))
        try reader.feed(Data(#"", 2]"#.utf8))
        try reader.feed(Data())
        try reader.feed([])
        try reader.feed("}")
        try reader.finish()
        expectEqual(reader.sink.text, #"{ key "a" [ integer 1 string "é" integer 2 ] }"#, "messages")
        reader.reset()
        let error = expectThrows(StreamError.self, "bad data") { try reader.feed(Data("[1,\n]".utf8)) }
        expectEqual(error?.position, StreamPosition(byteOffset: 4, line: 2, column: 1), "position")
    }

    private static func testTakesADocumentAsData() throws {
        var trace = EventTrace()
        // A part of other data, whose indexes do not begin at 0.
        try trace.readJSON(Data("x[1]x".utf8).dropFirst().dropLast())
        expectEqual(trace.text, "[ integer 1 ]", "messages")
        let error = expectThrows(StreamError.self, "no value") { try trace.readJSON(Data()) }
        expectTrue(error?.isUnexpectedEnd ?? false, "\(error?.description ?? "")")
    }
}
#endif
