// Tests of `JSONWriter` with messages. `JSONWriter+BoundTests` tests bound values.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistStreaming

#if canImport(FoundationEssentials)
import FoundationEssentials
#endif
#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

enum JSONWriterTests {}

extension JSONWriterTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testRoundTripsText": testRoundTripsText,
            "testWritesPrettyText": testWritesPrettyText,
            "testSortsMembers": testSortsMembers,
            "testWritesLines": testWritesLines,
            "testWritesLargeTexts": testWritesLargeTexts,
            "testWritesLiteralKeys": testWritesLiteralKeys,
            "testIsReusableAfterReset": testIsReusableAfterReset,
            "testRefusesMisuse": testRefusesMisuse,
            "testRefusesTooDeepNesting": testRefusesTooDeepNesting,
            "testTextStartsWithWholeCharacter": testTextStartsWithWholeCharacter,
        ]
    }

    static func rewritten(_ text: String, _ options: JSONWriterOptions = JSONWriterOptions()) throws -> String {
        var writer = JSONWriter(options: options)
        try writer.readJSON(text, options: JSONReaderOptions(allowsMultipleValues: options.allowsMultipleValues))
        try writer.finish()
        return writer.text
    }

    private static func testTextStartsWithWholeCharacter() throws {
        // A pipe with a limited capacity; at some shift, each offset of the text is cut within a character.
        for shift in 0..<4 {
            var ends: [Int32] = [-1, -1]
            // SAFETY: the array has two elements for the descriptors.
            try requireEqual(unsafe pipe(&ends), 0, "pipe")
            defer { for end in ends { close(end) } }
            expectEqual(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0, "fcntl")
            var writer = JSONWriter(descriptor: ends[1], bufferByteCount: 1 << 22)
            let text = String(repeating: "x", count: shift) + String(repeating: "😀é日", count: 100_000)
            try text.withUTF8Span { (span) throws(StreamError) in try writer.writeString(span) }
            expectThrows(StreamError.self, "a full pipe") { try writer.finish() }
            let rest = writer.text
            expectTrue(
                rest.unicodeScalars.allSatisfy { $0 != "\u{FFFD}" } && text.hasSuffix(rest.dropLast()), "the rest")
            expectNotNil(String(validating: Array(rest.utf8), as: UTF8.self), "the rest as UTF-8")
            expectGreaterThan(rest.utf8.count, 100_000, "the rest")
        }
    }

    private static let sample = #"{"b":[1,-2.5,"é\n\"",null,true,false,[],{}],"a":{"d":[[1],[2]],"c":{"z":0,"y":1}}}"#

    private static func testRoundTripsText() throws {
        for text in [sample, "1", "\"\"", "[]", "{}", "null", "[18446744073709551615,1e400,-0.0,-9223372036854775808]"]
        {
            expectEqual(try rewritten(text), text, "compact")
            var expected = EventTrace()
            try expected.readJSON(text)
            for options in [JSONWriterOptions.pretty, JSONWriterOptions(layout: .pretty(indent: 0))] {
                var trace = EventTrace()
                try trace.readJSON(try rewritten(text, options))
                expectEqual(trace.text, expected.text, "after \(options)")
            }
        }
    }

    /// In every state: at the start, after a key, in containers, and in members that wait to be sorted.
    private static func testIsReusableAfterReset() throws {
        for options in [JSONWriterOptions(), .pretty, JSONWriterOptions(sortsKeys: true)] {
            let expected = try rewritten(sample, options)
            let path = "\(try temporaryDirectory())/text"
            // SAFETY: the path is valid during the call.
            let file = unsafe open(path, O_RDWR | O_CREAT | O_TRUNC, 0o644)
            defer { close(file) }
            var writer = JSONWriter(options: options)
            var fileWriter = JSONWriter(descriptor: file, options: options)
            for length in 0...sample.count {
                expectEqual(length < sample.count, (try? writer.readJSON(String(sample.prefix(length)))) == nil)
                _ = try? fileWriter.readJSON(String(sample.prefix(length)))
                writer.reset()
                fileWriter.reset()
                try writer.readJSON(sample)
                try writer.finish()
                expectEqual(writer.text, expected, "after \(length) bytes")
                try fileWriter.readJSON(sample)
                try fileWriter.finish()
                writer.reset()
                fileWriter.reset()
            }
            let count = lseek(file, 0, SEEK_END)
            expectEqual(Int(count), (sample.count + 1) * expected.utf8.count, "bytes of all")
            var start = [UInt8](repeating: 0, count: expected.utf8.count)
            // SAFETY: the array has as many bytes as are requested.
            expectEqual(unsafe pread(file, &start, start.count, 0), start.count, "what is read of the first")
            expectEqual(String(decoding: start, as: UTF8.self), expected, "the first")
        }
    }

    private static func testWritesPrettyText() throws {
        expectEqual(
            try rewritten(#"{"a":[1,[],{}],"b":{"c":null}}"#, .pretty),
            """
            {
              "a": [
                1,
                [],
                {}
              ],
              "b": {
                "c": null
              }
            }

            """, "pretty")
    }

    private static func testSortsMembers() throws {
        expectEqual(
            try rewritten(sample, JSONWriterOptions(sortsKeys: true)),
            #"{"a":{"c":{"y":1,"z":0},"d":[[1],[2]]},"b":[1,-2.5,"é\n\"",null,true,false,[],{}]}"#, "compact")
        expectEqual(
            try rewritten(
                #"[{"b":1,"":2,"a":{"d":1,"c":2},"é":3,"b":4}]"#,
                JSONWriterOptions(layout: .pretty(indent: 1), sortsKeys: true)),
            """
            [
             {
              "": 2,
              "a": {
               "c": 2,
               "d": 1
              },
              "b": 1,
              "b": 4,
              "é": 3
             }
            ]

            """, "pretty")
    }

    private static func testWritesLines() throws {
        expectEqual(
            try rewritten("{\"a\":1} [2]\n3", JSONWriterOptions(allowsMultipleValues: true)), "{\"a\":1}\n[2]\n3\n",
            "lines")
        expectEqual(try rewritten("", JSONWriterOptions(allowsMultipleValues: true)), "", "no line")
    }

    private static func testWritesLargeTexts() throws {
        // Larger than a large page, with characters of several bytes.
        let part = String(repeating: "0123456789", count: 6_400) + "é🙂"
        var writer = JSONWriter()
        try writer.beginArray()
        for number in 0..<70 {
            try writer.writeInteger(Int64(number))
            try part.withUTF8Span { try writer.writeString($0) }
        }
        try writer.endArray()
        try writer.finish()
        let text = writer.text
        expectGreaterThan(text.utf8.count, 2 * LargePages.byteCount, "bytes")
        expectTrue(Array(text.utf8) == writer.bytes, "text and bytes are the same")
        let expected = (0..<70).map { "\($0),\"\(part)\"" }.joined(separator: ",")
        expectTrue(text == "[\(expected)]", "the text is what was written")
    }

    /// A literal of one character, which has no address.
    private struct Character: ExpressibleByUnicodeScalarLiteral {
        let literal: StaticString
        init(unicodeScalarLiteral literal: StaticString) { self.literal = literal }
    }

    private static func testWritesLiteralKeys() throws {
        let scalar = ("🙂" as Character).literal
        expectFalse(scalar.hasPointerRepresentation, "an address of a character")
        for options in [JSONWriterOptions(), .pretty, JSONWriterOptions(sortsKeys: true)] {
            var writer = JSONWriter(options: options)
            var expected = JSONWriter(options: options)
            try writer.beginDictionary()
            try expected.beginDictionary()
            let keys: [StaticString] = [
                "", "a", "hi", "comment", "größer", "\"\\\n", "a key beyond sixteen bytes", scalar,
            ]
            for key in keys {
                try writer.writeKey(key)
                try writer.writeNull()
                try key.description.withUTF8Span { try expected.writeKey($0) }
                try expected.writeNull()
            }
            try writer.endDictionary()
            try expected.endDictionary()
            expectEqual(writer.text, expected.text, "keys of literals")
        }
        var writer = JSONWriter()
        let error = expectThrows(StreamError.self, "a key at the root") { try writer.writeKey("a") }
        expectEqual(error?.kind, .misuse, "kind")
    }

    private static func testRefusesMisuse() {
        func expectMisuse(_ message: String, _ body: (inout JSONWriter) throws -> Void) {
            var writer = JSONWriter()
            let error = expectThrows(StreamError.self, message) { try body(&writer) }
            expectEqual(error?.kind, .misuse, "kind of \(message)")
        }
        expectMisuse("no value") { try $0.finish() }
        expectMisuse("an open array") {
            try $0.beginArray(); try $0.finish()
        }
        expectMisuse("two roots") {
            try $0.writeNull(); try $0.writeNull()
        }
        expectMisuse("a value without a key") {
            try $0.beginDictionary(); try $0.writeNull()
        }
        expectMisuse("a container without a key") {
            try $0.beginDictionary(); try $0.beginArray()
        }
        expectMisuse("endArray in a dictionary") {
            try $0.beginDictionary(); try $0.endArray()
        }
        expectMisuse("endDictionary in an array") {
            try $0.beginArray(); try $0.endDictionary()
        }
        expectMisuse("endArray at the root") { try $0.endArray() }
        expectMisuse("a key in an array") { writer in
            try writer.beginArray(); try "a".withUTF8Span { try writer.writeKey($0) }
        }
        expectMisuse("two keys") { writer in
            try writer.beginDictionary()
            try "a".withUTF8Span {
                try writer.writeKey($0); try writer.writeKey($0)
            }
        }
        expectMisuse("a key without a value") { writer in
            try writer.beginDictionary()
            try "a".withUTF8Span { try writer.writeKey($0) }
            try writer.endDictionary()
        }
        expectMisuse("a number that is none") { writer in try "1.".withUTF8Span { try writer.writeNumber(text: $0) } }
    }

    private static func testRefusesTooDeepNesting() throws {
        var writer = JSONWriter(options: JSONWriterOptions(depthLimit: 2))
        try writer.beginArray()
        try writer.beginDictionary()
        try "a".withUTF8Span { try writer.writeKey($0) }
        let error = expectThrows(StreamError.self, "a third level") { try writer.beginArray() }
        expectEqual(error?.kind, .limitExceeded, "kind")
        try writer.writeNull()
        try writer.endDictionary()
        try writer.endArray()
        try writer.finish()
        expectEqual(writer.text, #"[{"a":null}]"#, "what was written without it")
    }
}
#endif
