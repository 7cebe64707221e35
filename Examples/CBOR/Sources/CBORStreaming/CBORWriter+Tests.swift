// The tests of writing: numbers in their shortest form, dates, and misuse. The examples are in `CBORReader+Tests`.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistStreaming

enum CBORWriterTests {}

extension CBORWriterTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testWritesRealsInTheirShortestForm": testWritesRealsInTheirShortestForm,
            "testRoundTripsEveryHalfPrecisionReal": testRoundTripsEveryHalfPrecisionReal,
            "testWritesNumbersExactly": testWritesNumbersExactly,
            "testWritesDatesExactly": testWritesDatesExactly,
            "testRefusesSameValuesAsReader": testRefusesSameValuesAsReader,
            "testRefusesMisuse": testRefusesMisuse,
        ]
    }

    /// Returns the document for some messages.
    private static func bytes(
        _ limits: StreamLimits = .standard, _ send: (inout CBORWriter) throws(StreamError) -> Void
    ) throws(StreamError) -> [UInt8] {
        var writer = CBORWriter(limits: limits)
        try send(&writer)
        try writer.finish()
        return writer.output.withBytes { Array(copying: $0) }
    }

    private static func bytes(ofNumber text: String) throws(StreamError) -> [UInt8] {
        try bytes { (writer) throws(StreamError) in
            try text.withUTF8Span { (text) throws(StreamError) in try writer.writeNumber(text: text) }
        }
    }

    private static func testWritesRealsInTheirShortestForm() throws {
        let rows: [(Double, Int)] = [
            (0, 3), (0.5, 3), (65_504, 3), (65_505, 5), (65_520, 5), (0x1p-24, 3), (0x1p-25, 5), (0x1.8p-24, 5),
            (0x1.4p-14, 3),
            (0x1.004p0, 3), (0x1.002p0, 5), (0x1.fffffep127, 5), (0x1p128, 9), (0x1.000002p0, 5), (0x1.000001p0, 9),
            (0x1p-149, 5), (0x1p-150, 9), (0.1, 9), (.greatestFiniteMagnitude, 9), (.leastNonzeroMagnitude, 9),
        ]
        for (value, byteCount) in rows {
            for value in [value, -value] {
                let bytes = try bytes { (writer) throws(StreamError) in try writer.writeReal(value) }
                expectEqual(bytes.count, byteCount, "bytes of \(value)")
                expectEqual(try CBORReader.trace(bytes), "real \(value)", "\(bytes)")
            }
        }
    }

    private static func testRoundTripsEveryHalfPrecisionReal() throws {
        var failed: [UInt16] = []
        for bits in UInt16.min...UInt16.max {
            let value = HalfReal.value(bits)
            let isNaN = bits & 0x7C00 == 0x7C00 && bits & 0x3FF != 0
            if isNaN ? !value.isNaN : HalfReal.bits(Float(value)) != bits { failed.append(bits) }
        }
        expectEqual(failed, [], "numbers of 16 bits")
    }

    private static func testWritesNumbersExactly() throws {
        let rows = [
            ("5", "integer 5"), ("-5", "integer -5"), ("-0", "integer 0"),
            ("18446744073709551616", "number 18446744073709551616"),
            ("-18446744073709551616", "number -18446744073709551616"),
            ("-9223372036854775809", "number -9223372036854775809"),
            ("-340282366920938463463374607431768211456", "number -340282366920938463463374607431768211456"),
            ("1.5", "real 1.5"), ("-2.50e1", "real -25.0"), ("1e400", "number 1e400"), ("1E+400", "number 1e400"),
            ("-12.5e-400", "number -125e-401"), ("9007199254740993.0", "number 90071992547409930e-1"),
            ("0.99999999999999999", "number 99999999999999999e-17"), ("0e5", "real 0.0"),
        ]
        for (text, messages) in rows { expectEqual(try CBORReader.trace(try bytes(ofNumber: text)), messages, text) }
        for text in ["", "-", "x", "1x", "1.5.5", "1e5e5", "--1", "+1", "1 "] {
            let error = expectThrows(StreamError.self, text) { _ = try bytes(ofNumber: text) }
            expectEqual(error?.kind, .misuse, "kind of \(text)")
        }
        for text in ["1e9223372036854775808", "1.5e-9223372036854775808", "1e-99999999999999999999"] {
            let error = expectThrows(StreamError.self, text) { _ = try bytes(ofNumber: text) }
            expectEqual(error?.kind, .unrepresentable, "kind of \(text)")
        }
    }

    private static func testWritesDatesExactly() throws {
        let rows: [(Double, Int)] = [
            (0, 6), (-978_307_200, 2), (385_589_040.5, 10), (800_000_000.125, 10), (1e300, 10), (.infinity, 4),
            (-1e15, 10),
            // These dates would be rounded as seconds since 1970.
            (0.1, 27), (800_000_000.000_000_1, 31),
        ]
        for (seconds, byteCount) in rows {
            let bytes = try bytes { (writer) throws(StreamError) in try writer.writeDate(secondsSince2001: seconds) }
            expectEqual(bytes.count, byteCount, "bytes of \(seconds): \(bytes)")
            expectEqual(try CBORReader.trace(bytes), "date \(seconds)", "\(bytes)")
        }
    }

    private static func testRefusesSameValuesAsReader() throws {
        let limits = StreamLimits(depth: 1, stringByteCount: 3, numberByteCount: 20)
        let rows: [(name: String, send: (inout CBORWriter) throws(StreamError) -> Void)] = [
            (
                "an array in an array",
                { (writer) throws(StreamError) in
                    try writer.beginArray()
                    try writer.beginDictionary()
                }
            ),
            (
                "a long string",
                { (w) throws(StreamError) in try "abcd".withUTF8Span { (s) throws(StreamError) in try w.writeString(s) }
                }
            ),
            (
                "long data",
                { (w) throws(StreamError) in try "abcd".withUTF8Span { (s) throws(StreamError) in try w.writeData(s) } }
            ),
            (
                "a long number",
                { (writer) throws(StreamError) in
                    try String(repeating: "9", count: 21).withUTF8Span { (text) throws(StreamError) in
                        try writer.writeNumber(text: text)
                    }
                }
            ),
        ]
        for (name, send) in rows {
            let error = expectThrows(StreamError.self, name) { _ = try bytes(limits, send) }
            expectEqual(error?.kind, .limitExceeded, "kind of \(name)")
        }
        // The longest number that can be written can also be read.
        let longest = String(repeating: "9", count: 4_096)
        expectEqual(try CBORReader.trace(try bytes(ofNumber: longest)), "number \(longest)", "the longest number")
        let error = expectThrows(StreamError.self, "invalid text") {
            _ = try bytes { (writer) throws(StreamError) in
                _ = try ([0xFF] as [UInt8]).withBytes { (text) throws(StreamError) in try writer.writeString(text) }
            }
        }
        expectEqual(error?.kind, .invalidText, "kind of invalid text")
    }

    private static func testRefusesMisuse() {
        let rows: [(name: String, send: (inout CBORWriter) throws(StreamError) -> Void)] = [
            ("nothing", { _ throws(StreamError) in }),
            ("an open array", { (writer) throws(StreamError) in try writer.beginArray() }),
            ("an end", { (writer) throws(StreamError) in try writer.endArray() }),
            ("a key at the root", { (writer) throws(StreamError) in try writer.writeKey("a") }),
            (
                "a value without a key",
                { (writer) throws(StreamError) in
                    try writer.beginDictionary()
                    try writer.writeNull()
                }
            ),
            (
                "two roots",
                { (writer) throws(StreamError) in
                    try writer.writeNull()
                    try writer.writeBool(true)
                }
            ),
            (
                "a container as a second root",
                { (writer) throws(StreamError) in
                    try writer.writeNull()
                    try writer.beginDictionary()
                }
            ),
        ]
        for (name, send) in rows {
            let error = expectThrows(StreamError.self, name) { _ = try bytes(.standard, send) }
            expectEqual(error?.kind, .misuse, "kind of \(name)")
        }
    }
}
#endif
