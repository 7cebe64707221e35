// Tests of reading and writing the binary form, with messages and with values of bound types.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistBuilding
import PlistStreaming

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension BinaryPropertyList: SelfTesting {
    /// The tests of this type.
    public static var testSelectors: TestSelectors {
        [
            "testReadsItsOwnOutput": testReadsItsOwnOutput,
            "testWritesKnownBytes": testWritesKnownBytes,
            "testUsesFewestBytes": testUsesFewestBytes,
            "testWritesSharedValuesOnce": testWritesSharedValuesOnce,
            "testWidensReferencesAndOffsets": testWidensReferencesAndOffsets,
            "testKeepsUIDs": testKeepsUIDs,
            "testRefusesUnrepresentableValues": testRefusesUnrepresentableValues,
            "testRefusesMessagesOutOfOrder": testRefusesMessagesOutOfOrder,
            "testReadsFromEverySource": testReadsFromEverySource,
            "testRefusesSecondFinish": testRefusesSecondFinish,
            "testKeepsValuesOfBoundTypes": testKeepsValuesOfBoundTypes,
        ]
    }

    static func written(
        _ script: String, _ options: BinaryPlistWriterOptions = BinaryPlistWriterOptions()
    ) throws(StreamError) -> [UInt8] {
        var writer = BinaryPlistWriter(options: options)
        try EventScript.send(script, to: &writer)
        try writer.finish()
        return writer.bytes
    }

    static func trace(_ bytes: [UInt8], _ options: BinaryPlistReaderOptions = BinaryPlistReaderOptions()) -> String {
        var trace = EventTrace()
        do throws(StreamError) {
            try trace.readBinaryPlist(bytes, options: options)
            return trace.text
        } catch {
            return (trace.events + ["! \(error.kind) \(error)"]).joined(separator: " ")
        }
    }

    private static let scripts = [
        "true", "false", "integer 0", "integer 255", "integer 256", "integer 65535", "integer 65536",
        "integer 4294967295", "integer 4294967296", "integer 9223372036854775807", "integer -1",
        "integer -9223372036854775808", "unsigned 9223372036854775808", "unsigned 18446744073709551615",
        "number 18446744073709551616", "number -9223372036854775809", "number 170141183460469231731687303715884105727",
        "number -170141183460469231731687303715884105728", "real 0.0", "real -0.0", "real 0.1", "real -1e+300",
        "real inf", "real nan", "date 0.0", "date -63145526400.5", "date 1e+20", "data ", "data 00ff",
        "data 000102030405060708090a0b0c0d0e0f1011", "string \"\"", "string \"a\"", "string \"abcdefghijklmn\"",
        "string \"abcdefghijklmno\"", "string \"é\"", "string \"\u{1F642} ok\u{FFFF}\"", "[ ]", "{ }",
        "[ [ ] { } [ ] ]",
        "{ key \"\" { key \"\" { key \"ü\" [ integer 1 integer 1 real 1.0 string \"1\" ] } } }",
        "[ { key \"a\" integer 1 key \"b\" true } { key \"a\" integer 2 key \"b\" false } { key \"b\" data 01 } ]",
        "{ key \"CF$UID\" integer 1 }", "{ key \"CF$UID\" string \"\" }",
        "{ key \"CF$UID\" integer 1 key \"a\" integer 2 }", "{ key \"CF$UID\" unsigned 18446744073709551615 }",
        "{ key \"CF$UID\" unsigned 18446744073709551615 key \"a\" integer 2 }",
        "{ key \"CF$UID\" unsigned 9223372036854775808 key \"a\" integer 2 }",
        "{ key \"CF$UID\" integer 9223372036854775807 key \"a\" integer 2 }",
        "{ key \"a\" integer 2 key \"CF$UID\" unsigned 18446744073709551615 }",
    ]

    private static func testReadsItsOwnOutput() throws {
        for script in scripts {
            for isUID in [false, true] {
                let bytes = try written(script, BinaryPlistWriterOptions(writesUIDs: isUID))
                expectEqual(trace(bytes), script, script)
            }
            let one = try written(script, BinaryPlistWriterOptions(sharedValueLimit: 0))
            expectEqual(trace(one), trace(try written(script)), "without sharing")
        }
        let null = BinaryPlistWriterOptions(nulls: .write)
        expectEqual(trace(try written("[ null ]", null)), "[ null ]", "null")
        let long = String(repeating: "long ", count: 20_000)
        expectEqual(trace(try written("string \"\(long)\"")), "string \"\(long)\"", "a long string")
    }

    private static func testWritesKnownBytes() throws {
        let bytes = try written("{ key \"a\" [ integer 1 integer 1 ] }")
        let expected: [UInt8] =
            Array("bplist00".utf8) + [0x51, 0x61, 0x10, 1, 0xA2, 3, 3, 0xD1, 1, 2] + [15, 8, 12, 10]
            + [0, 0, 0, 0, 0, 0, 1, 1] + [0, 0, 0, 0, 0, 0, 0, 4] + [0, 0, 0, 0, 0, 0, 0, 0] + [
                0, 0, 0, 0, 0, 0, 0, 18,
            ]
        expectEqual(bytes, expected, "bytes")
    }

    private static func testUsesFewestBytes() throws {
        let rows: [(String, Int)] = [
            ("integer 255", 2), ("integer 256", 3), ("integer 65535", 3), ("integer 65536", 5),
            ("integer 4294967295", 5), ("integer 4294967296", 9), ("integer -1", 9),
            ("unsigned 18446744073709551615", 17), ("real 0.5", 9), ("date 0.5", 9), ("true", 1), ("string \"é\"", 3),
            ("string \"abcdefghijklmn\"", 15), ("string \"abcdefghijklmno\"", 18),
        ]
        for (script, count) in rows { expectEqual(try written(script).count, 8 + count + 1 + 32, script) }
    }

    private static func testWritesSharedValuesOnce() throws {
        let value = "string \"once upon a time\" data 0011 real 0.5 date 0.5 integer 300 true string \"é\""
        let single = try written("[ \(value) ]")
        let double = try written("[ \(value) \(value) ]")
        expectEqual(double.count, single.count + 7, "seven references more")
        let apart = try written("[ \(value) \(value) ]", BinaryPlistWriterOptions(sharedValueLimit: 0))
        expectTrue(apart.count > double.count + 40, "without sharing")
        // A real, a date and eight bytes of data are not one.
        expectEqual(
            trace(try written("[ real 0.0 date 0.0 integer 0 string \"0\" data 30 false ]")),
            "[ real 0.0 date 0.0 integer 0 string \"0\" data 30 false ]", "values with like bytes")
    }

    private static func testWidensReferencesAndOffsets() throws {
        for count in [252, 253, 254, 255, 256, 257, 65_533, 65_534, 65_535, 65_536] {
            var writer = BinaryPlistWriter()
            try writer.beginArray()
            for number in 0..<count { try writer.writeInteger(Int64(number)) }
            try writer.endArray()
            try writer.finish()
            let bytes = writer.bytes
            expectEqual(Int(bytes[bytes.count - 25]), count + 1 <= 256 ? 1 : count + 1 <= 65_536 ? 2 : 3, "reference")
            expectEqual(try decode([Int].self, from: bytes), Array(0..<count), "\(count) numbers")
        }
    }

    private static func testKeepsUIDs() throws {
        let options = BinaryPlistWriterOptions(writesUIDs: true)
        for (number, byteCount) in [(0, 1), (255, 1), (256, 2), (70_000, 4), (1 << 40, 8)] {
            let script = "{ key \"CF$UID\" integer \(number) }"
            let bytes = try written(script, options)
            expectEqual(bytes[8], 0x80 + UInt8(byteCount - 1), "marker of \(number)")
            expectEqual(trace(bytes), script, script)
        }
        let script = "[ { key \"CF$UID\" integer 1 } { key \"x\" { key \"CF$UID\" integer 1 } key \"y\" true } ]"
        expectEqual(trace(try written(script, options)), script, "within others")
        let negative = "{ key \"CF$UID\" integer -1 }"
        expectEqual(try written(negative, options), try written(negative), "no UID is negative")
    }

    private static func testRefusesUnrepresentableValues() {
        let rows: [(String, StreamError.Kind)] = [
            ("[ null ]", .unrepresentable), ("number 170141183460469231731687303715884105728", .unrepresentable),
            ("number 1e400", .unrepresentable), ("number x", .misuse),
            ("{ key \"a\" integer 1 key \"b\" { key \"a\" integer 1 } key \"a\" integer 2 }", .duplicateKey),
        ]
        for (script, kind) in rows {
            expectEqual(expectThrows(StreamError.self, script) { _ = try written(script) }?.kind, kind, script)
        }
        let deep = BinaryPlistWriterOptions(depthLimit: 2)
        expectNoThrow("as deep as the limit") { _ = try written("[ [ ] ]", deep) }
        let error = expectThrows(StreamError.self, "deeper") { _ = try written("[ [ { } ] ]", deep) }
        expectEqual(error?.kind, .limitExceeded, "kind")
        let text = expectThrows(StreamError.self, "no UTF-8") {
            var writer = BinaryPlistWriter()
            let bytes: [UInt8] = [0x61, 0xC3]
            // SAFETY: the span does not leave the closure.
            try unsafe bytes.withUnsafeBytes { try writer.writeString(unsafe $0.bytes) }
        }
        expectEqual(text?.kind, .invalidText, "kind")
    }

    private static func testRefusesMessagesOutOfOrder() {
        for script in [
            "", "[", "]", "}", "[ }", "{ ]", "{ integer 1 }", "{ key \"a\" }", "{ key \"a\" key \"b\" }", "key \"a\"",
            "integer 1 integer 2", "[ ] [ ]", "[ key \"a\"", "{ key \"CF$UID\" }",
            "{ key \"CF$UID\" integer 1 integer 2",
            "{ key \"CF$UID\" integer 1", "{ key \"CF$UID\" ]",
        ] {
            for isUID in [false, true] {
                let error = expectThrows(StreamError.self, script) {
                    _ = try written(script, BinaryPlistWriterOptions(writesUIDs: isUID))
                }
                expectEqual(error?.kind, .misuse, script)
            }
        }
    }

    private struct Item: StreamObject, Equatable {
        var identifier = ""
        var created = Date(timeIntervalSinceReferenceDate: 0)
        var bytes = Data()
        var note: String?
        var views: UInt = 0
        var x = 0.5
        var isOpen = false
    }

    private static let items = [
        "one": Item(identifier: "one", created: Date(timeIntervalSinceReferenceDate: 0.25), bytes: Data([1, 2])),
        "zwölf": Item(identifier: "zwölf", note: "a note that is longer than fifteen bytes", views: .max, isOpen: true),
    ]

    private static func testKeepsValuesOfBoundTypes() throws {
        let bytes = try encode(items)
        expectEqual(try decode([String: Item].self, from: bytes), items, "from bytes")
        expectEqual(try decode([String: Item].self, from: Data(bytes)), items, "from data")
        let path = try temporaryDirectory() + "/items.plist"
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        expectEqual(try decode([String: Item].self, from: .file(path)), items, "from a file")
        let error = expectThrows(StreamError.self, "another type") {
            _ = try decode([String: [String: Int]].self, from: bytes)
        }
        expectEqual(error?.kind, .typeMismatch, "kind")
        expectTrue(error?.position != nil && error?.path?.steps.count == 2, "place \(String(describing: error))")
        let optional = expectThrows(StreamError.self, "null") { _ = try encode([1, nil]) }
        expectEqual(optional?.path?.description, "$[1]", "path")
    }

    private static func testReadsFromEverySource() throws {
        let script = "{ key \"a\" [ integer 1 string \"é\" ] }"
        let bytes = try written(script)
        let path = try temporaryDirectory() + "/a.plist"
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        var fromFile = EventTrace()
        try fromFile.readBinaryPlist(.file(path))
        expectEqual(fromFile.text, script, "from a file")
        var fromData = EventTrace()
        try fromData.readBinaryPlist(Data(bytes))
        expectEqual(fromData.text, script, "from data")
        var reader = BinaryPlistReader(sink: EventTrace())
        for byte in bytes { try reader.feed([byte]) }
        try reader.finish()
        expectEqual(reader.sink.text, script, "byte by byte")
        expectEqual(reader.byteOffset, bytes.count, "bytes")
        reader.reset()
        reader.sink = EventTrace()
        try reader.feed(Data(bytes))
        try reader.finish()
        expectEqual(reader.sink.text, script, "after another")
        reader.reset()
        let error = expectThrows(StreamError.self, "nothing") { try reader.finish() }
        expectEqual(expectThrows(StreamError.self, "again") { try reader.feed(bytes) }, error, "the same error")
        let missing = expectThrows(StreamError.self, "no file") {
            var trace = EventTrace()
            try trace.readBinaryPlist(.file("/no/such/file"))
        }
        expectEqual(missing?.kind, .cannotRead, "kind")
    }

    private static func testRefusesSecondFinish() throws {
        let bytes = try written("[ integer 1 ]")
        var reader = BinaryPlistReader(sink: EventTrace())
        for _ in 0..<2 {
            try reader.feed(bytes)
            try reader.finish()
            for _ in 0..<2 {
                let error = expectThrows(StreamError.self, "another end") { try reader.finish() }
                expectEqual(error?.kind, .misuse, "kind")
                expectEqual(expectThrows(StreamError.self, "more") { try reader.feed(bytes) }, error, "error")
            }
            expectEqual(reader.sink.text, "[ integer 1 ]", "messages")
            reader.reset()
            reader.sink = EventTrace()
        }
    }
}
#endif
