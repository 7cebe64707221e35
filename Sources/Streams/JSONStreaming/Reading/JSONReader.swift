// The entry points for JSON text: a reader that accepts chunks, and functions that send whole documents to a sink.

public import PlistStreaming

/// A reader of JSON text that owns its sink and accepts chunks of any size.
///
/// ```swift
/// var reader = JSONReader(sink: EventTrace())
/// try reader.feed(bytes)
/// try reader.finish()
/// print(reader.sink.text)
/// ```
///
/// The messages and the errors are the same for every division into chunks. Members are sent in the order of the text,
/// including repeated names.
public struct JSONReader<Sink: PlistSink & ~Copyable>: ~Copyable {
    /// The receiver of the messages.
    public var sink: Sink
    @usableFromInline var scanner: JSONScanner
    private let options: JSONReaderOptions

    /// Creates a reader for a sink.
    public init(sink: consuming Sink, options: JSONReaderOptions = JSONReaderOptions()) {
        self.sink = sink
        self.options = options
        scanner = JSONScanner(options: options)
    }

    // PERF: inlinable, so that the scanner specializes for sinks of other packages.
    /// Scans the next chunk of the input without keeping its bytes.
    ///
    /// - Throws: The first error of the input or the sink, with its position; the same error on every later call.
    @inlinable
    public mutating func feed(_ bytes: RawSpan) throws(StreamError) {
        try scanner.scan(bytes, into: &sink)
    }

    /// Ends the input.
    ///
    /// - Throws: ``/PlistStreaming/StreamError/Kind/unexpectedEnd`` if a value is missing or incomplete.
    @inlinable
    public mutating func finish() throws(StreamError) {
        try scanner.finish(into: &sink)
    }

    /// The number of bytes fed.
    public var byteOffset: Int { scanner.byteOffset }

    /// Discards the input so far, including errors, so that the reader accepts new input. The sink is unchanged.
    public mutating func reset() {
        scanner = JSONScanner(options: options)
    }
}

extension PlistSink where Self: ~Copyable {
    // PERF: inlinable, so that the scanner specializes for sinks of other packages.
    /// Receives a whole JSON document.
    ///
    /// - Throws: The first error of the document or of this sink, with its position.
    /// - Complexity: O(*n*) without allocations for text without escapes.
    @inlinable
    public mutating func readJSON(
        _ bytes: RawSpan,
        options: JSONReaderOptions = JSONReaderOptions()
    ) throws(StreamError) {
        var scanner = JSONScanner(options: options)
        try scanner.scanLast(bytes, into: &self)
    }

    /// Receives a whole JSON document from a source: bytes, a string, a file or a descriptor.
    ///
    /// - Throws: The first error of the source, the document or this sink, with its position.
    @inlinable
    public mutating func readJSON(
        _ source: some ByteSource,
        options: JSONReaderOptions = JSONReaderOptions()
    ) throws(StreamError) {
        if try source.withBytes({ (bytes) throws(StreamError) in try readJSON(bytes, options: options) }) { return }
        var scanner = JSONScanner(options: options)
        do throws(StreamError) {
            var input = try source.open()
            while try input.next({ (chunk) throws(StreamError) in try scanner.scan(chunk, into: &self) }) {}
        } catch {
            // The scanner has already notified the sink of its own errors.
            if scanner.failure == nil { cancel(with: error) }
            throw error
        }
        try scanner.finish(into: &self)
    }
}

extension JSONReader: PushReader where Sink: ~Copyable {}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistBuilding

enum JSONReaderTests {}

extension JSONReaderTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testReadsFromEverySource": testReadsFromEverySource,
            "testReadsAnotherInputAfterReset": testReadsAnotherInputAfterReset,
            "testReadsSingleRowsAfterAnError": testReadsSingleRowsAfterAnError,
            "testReadsDocumentsIntoOneBuilder": testReadsDocumentsIntoOneBuilder,
            "testSendsRepeatedNames": testSendsRepeatedNames,
            "testReadsShortTextLikeLongText": testReadsShortTextLikeLongText,
        ]
    }

    private static func testReadsFromEverySource() throws {
        let text = #"{"a": [1, "é"]}"#
        let expected = #"{ key "a" [ integer 1 string "é" ] }"#
        var fromText = EventTrace()
        try fromText.readJSON(text)
        expectEqual(fromText.text, expected, "from a string")
        var fromBytes = EventTrace()
        try fromBytes.readJSON(Array(text.utf8))
        expectEqual(fromBytes.text, expected, "from an array")
        var reader = JSONReader(sink: EventTrace())
        try text.withUTF8Span { try reader.feed($0) }
        try reader.finish()
        expectEqual(reader.sink.text, expected, "in chunks")
        expectEqual(reader.byteOffset, text.utf8.count, "bytes")
    }

    private static func testReadsAnotherInputAfterReset() throws {
        var reader = JSONReader(sink: EventTrace())
        expectThrows(StreamError.self, "a bad input") {
            try "[".withUTF8Span { try reader.feed($0) }; try reader.finish()
        }
        reader.reset()
        reader.sink = EventTrace()
        try "1 ".withUTF8Span { try reader.feed($0) }
        try reader.finish()
        expectEqual(reader.sink.text, "integer 1", "the next input")
    }

    /// A reader that stores rows directly continues after an error in the same way as messages.
    private static func testReadsSingleRowsAfterAnError() throws {
        for size in [1, 7, 1_000] {
            var columns = ColumnsBuilder(["id": .integer], depth: 0)
            for (text, isGood) in [(#"{"id":"x"}"#, false), (#"{"id":7}"#, true), (#"{"id":8}"#, true)] {
                var scanner = JSONScanner()
                do throws(StreamError) {
                    let bytes = Array(text.utf8) + [UInt8](repeating: 0x20, count: 100)
                    for start in stride(from: 0, to: bytes.count, by: size) {
                        let piece = Array(bytes[start..<min(start + size, bytes.count)])
                        try piece.withRawSpan { bytes throws(StreamError) in try scanner.scan(bytes, into: &columns) }
                    }
                    try scanner.finish(into: &columns)
                    expectTrue(isGood, "\(text) in pieces of \(size)")
                } catch {
                    expectFalse(isGood, "\(text) in pieces of \(size): \(error)")
                }
            }
            expectEqual(columns.rowCount, 2, "rows in pieces of \(size)")
            let rows = try columns.takeResult()
            expectEqual((0..<rows.rowCount).map { rows["id"]?.integer($0) }, [7, 8], "in pieces of \(size)")
        }
    }

    private struct Document: StreamObject {
        var id = 7
        var name: String? = "a default of more than fifteen bytes"
        var tags: [String] = []
    }

    private final class SharedDocument: StreamObject {
        var id = 7
        var name: String? = "a default of more than fifteen bytes"
        var inner: Document?
    }

    /// Consecutive documents that are complete, have different members, or are invalid.
    private static let documents = [
        #"{"id":1,"name":"the name of the first one","tags":["a","b"]}"#, "{}", #"{"other":[1],"id":2}"#,
        #"{"id":3,"inner":{"id":4,"x":null}}"#, #"{"id":5}"#, #"{"id":6,"name":"a name without an end}"#, #"{"id":7}"#,
        #"{"name":8}"#, #"{"id":9}{"#, #"{"id":10}"#, "[]", #"{"id":11,"more":1}"#, #" { "tags" : [ "x" ] } "#, "{}",
    ]

    private static func testReadsDocumentsIntoOneBuilder() throws {
        func expectSame<Value: StreamValue>(_ type: Value.Type, _ options: BuilderOptions) throws {
            func outcome(_ builder: inout ObjectBuilder<Value>, _ text: String, isPlain: Bool) -> String {
                var reading = JSONReaderOptions()
                reading.usesPlainScan = isPlain
                do {
                    try builder.readJSON(text, options: reading)
                    var description = ""
                    dump(try builder.takeResult(), to: &description)
                    return description + " \(builder.unknownMembers.map(\.path))"
                } catch {
                    return "\(error) \(builder.unknownMembers.map(\.path))"
                }
            }
            for padding in [0, 200] {
                var kept = try ObjectBuilder<Value>(options: options)
                for text in documents {
                    let text = text + String(repeating: " ", count: padding)
                    var plain = try ObjectBuilder<Value>(options: options)
                    let expected = outcome(&plain, text, isPlain: true)
                    expectEqual(outcome(&kept, text, isPlain: false), expected, "\(type) of \(text)")
                }
            }
        }
        for unknown in [BuilderOptions.UnknownMembers.ignore, .collect, .reject] {
            for missing in [BuilderOptions.MissingMembers.useDefaults, .reject] {
                let options = BuilderOptions(unknownMembers: unknown, missingMembers: missing)
                try expectSame(Document.self, options)
                try expectSame(SharedDocument.self, options)
                try expectSame(Document?.self, options)
            }
        }
    }

    private static func testSendsRepeatedNames() throws {
        var trace = EventTrace()
        try trace.readJSON(#"{"a":1,"a":2}"#)
        expectEqual(trace.text, #"{ key "a" integer 1 key "a" integer 2 }"#, "repeated names")
        var unique = UniqueKeys(EventTrace())
        let error = expectThrows(StreamError.self, "refused") { try unique.readJSON(#"{"a":1,"\u0061":2}"#) }
        expectEqual(error?.kind, .duplicateKey, "kind")
        expectEqual(error?.position?.column, 8, "column")
    }

    private static func testReadsShortTextLikeLongText() {
        let texts = [
            #"{"id":7,"title":"ö \n a title of some length","done":true,"due":null,"tags":["a","bc"],"x":-1.5e3}"#,
            "[ 1, 23456789, -0.25, \"\", {}, [] , \"\u{1F642}\" ]\n", "\"text\"", "-12.5", "[[[[]],{\"a\":{}}]]",
        ]
        func check(_ text: [UInt8]) {
            let whole = JSONScanner.outcome([text], endsWithLast: true)
            let expected = JSONScanner.outcome(text.map { [$0] })
            if whole != expected { expectEqual(whole, expected, String(decoding: text, as: UTF8.self)) }
        }
        for text in texts.map({ Array($0.utf8) }) {
            for end in 0...text.count { check(Array(text[..<end])) }
            for place in text.indices {
                for byte in Array("\"\\{}[],:0-. \n".utf8) + [0, 0xC3, 0x80] {
                    check(text[..<place] + [byte] + text[(place + 1)...])
                }
            }
        }
    }
}
#endif
