// The tests of reading: every example of RFC 8949, and documents that are malformed, truncated, or declare excessive lengths.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistStreaming

extension CBORReader: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testRoundTripsExamplesOfRFC8949": testRoundTripsExamplesOfRFC8949,
            "testReadsItemsBeyondTheExamples": testReadsItemsBeyondTheExamples,
            "testRefusesMalformedItems": testRefusesMalformedItems,
            "testRefusesUnrepresentableItems": testRefusesUnrepresentableItems,
            "testRefusesTruncatedDocuments": testRefusesTruncatedDocuments,
            "testNeverTrustsDeclaredLengths": testNeverTrustsDeclaredLengths,
            "testRefusesInvalidText": testRefusesInvalidText,
            "testEnforcesLimits": testEnforcesLimits,
            "testReportsLocationOfErrors": testReportsLocationOfErrors,
            "testSurvivesRandomChanges": testSurvivesRandomChanges,
        ]
    }

    /// Returns the bytes of hexadecimal digits.
    static func bytes(_ hex: String) -> [UInt8] {
        let digits = hex.compactMap(\.hexDigitValue)
        return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }

    /// Returns the messages of a document.
    static func trace(_ bytes: [UInt8], _ limits: StreamLimits = .standard) throws(StreamError) -> String {
        var trace = EventTrace()
        try CBOR(limits: limits).read(bytes, into: &trace)
        return trace.text
    }

    /// Returns the document that the writer makes from the same values, in hexadecimal digits.
    static func rewritten(_ bytes: [UInt8]) throws(StreamError) -> String {
        var output: [UInt8] = []
        try CBOR().write(CBOR().document(bytes), to: &output)
        return output.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    // SPEC: RFC 8949 appendix A, in its order.
    /// Documents, their messages, and the written document if it differs.
    static let examples: [(hex: String, messages: String, written: String?)] =
        numberExamples + scalarExamples + containerExamples

    private static let numberExamples: [(hex: String, messages: String, written: String?)] = [
        ("00", "integer 0", nil), ("01", "integer 1", nil), ("0a", "integer 10", nil), ("17", "integer 23", nil),
        ("1818", "integer 24", nil), ("1819", "integer 25", nil), ("1864", "integer 100", nil),
        ("1903e8", "integer 1000", nil), ("1a000f4240", "integer 1000000", nil),
        ("1b000000e8d4a51000", "integer 1000000000000", nil),
        ("1bffffffffffffffff", "unsigned 18446744073709551615", nil),
        ("c249010000000000000000", "number 18446744073709551616", nil),
        ("3bffffffffffffffff", "number -18446744073709551616", nil),
        ("c349010000000000000000", "number -18446744073709551617", nil), ("20", "integer -1", nil),
        ("29", "integer -10", nil), ("3863", "integer -100", nil), ("3903e7", "integer -1000", nil),
        ("f90000", "real 0.0", nil), ("f98000", "real -0.0", nil), ("f93c00", "real 1.0", nil),
        ("fb3ff199999999999a", "real 1.1", nil), ("f93e00", "real 1.5", nil), ("f97bff", "real 65504.0", nil),
        ("fa47c35000", "real 100000.0", nil), ("fa7f7fffff", "real 3.4028234663852886e+38", nil),
        ("fb7e37e43c8800759c", "real 1e+300", nil), ("f90001", "real 5.960464477539063e-08", nil),
        ("f90400", "real 6.103515625e-05", nil), ("f9c400", "real -4.0", nil),
        ("fbc010666666666666", "real -4.1", nil), ("f97c00", "real inf", nil), ("f97e00", "real nan", nil),
        ("f9fc00", "real -inf", nil), ("fa7f800000", "real inf", "f97c00"), ("fa7fc00000", "real nan", "f97e00"),
        ("faff800000", "real -inf", "f9fc00"), ("fb7ff0000000000000", "real inf", "f97c00"),
        ("fb7ff8000000000000", "real nan", "f97e00"), ("fbfff0000000000000", "real -inf", "f9fc00"),
    ]

    private static let scalarExamples: [(hex: String, messages: String, written: String?)] = [
        ("f4", "false", nil), ("f5", "true", nil), ("f6", "null", nil), ("f7", "null", "f6"),
        ("c074323031332d30332d32315432303a30343a30305a", "date 385589040.0", "c11a514b67b0"),
        ("c11a514b67b0", "date 385589040.0", nil), ("c1fb41d452d9ec200000", "date 385589040.5", nil),
        ("d74401020304", "data 01020304", "4401020304"), ("d818456449455446", "data 6449455446", "456449455446"),
        (
            "d82076687474703a2f2f7777772e6578616d706c652e636f6d", "string \"http://www.example.com\"",
            "76687474703a2f2f7777772e6578616d706c652e636f6d"
        ),
        ("40", "data ", nil), ("4401020304", "data 01020304", nil), ("60", "string \"\"", nil),
        ("6161", "string \"a\"", nil), ("6449455446", "string \"IETF\"", nil),
        ("62225c", #"string "\u{22}\u{5c}""#, nil), ("62c3bc", "string \"ü\"", nil), ("63e6b0b4", "string \"水\"", nil),
        ("64f0908591", "string \"𐅑\"", nil),
    ]

    private static let containerExamples: [(hex: String, messages: String, written: String?)] = {
        let to25 = (1...25).map { "integer \($0)" }.joined(separator: " ")
        let hexTo25 = "0102030405060708090a0b0c0d0e0f101112131415161718181819"
        let nested = "[ integer 1 [ integer 2 integer 3 ] [ integer 4 integer 5 ] ]"
        let nestedHex = "9f019f0203ff9f0405ffff"
        let map = "{ key \"a\" integer 1 key \"b\" [ integer 2 integer 3 ] }"
        let array = "[ string \"a\" { key \"b\" string \"c\" } ]"
        let letters = ["a", "b", "c", "d", "e"].map { "key \"\($0)\" string \"\($0.uppercased())\"" }
        return [
            ("80", "[ ]", "9fff"), ("83010203", "[ integer 1 integer 2 integer 3 ]", "9f010203ff"),
            ("8301820203820405", nested, nestedHex), ("9819\(hexTo25)", "[ \(to25) ]", "9f\(hexTo25)ff"),
            ("a0", "{ }", "bfff"), ("a26161016162820203", map, "bf61610161629f0203ffff"),
            ("826161a161626163", array, "9f6161bf61626163ffff"),
            (
                "a56161614161626142616361436164614461656145", "{ \(letters.joined(separator: " ")) }",
                "bf6161614161626142616361436164614461656145ff"
            ),
            ("5f42010243030405ff", "data 0102030405", "450102030405"),
            ("7f657374726561646d696e67ff", "string \"streaming\"", "6973747265616d696e67"), ("9fff", "[ ]", nil),
            ("9f018202039f0405ffff", nested, nestedHex), ("9f01820203820405ff", nested, nestedHex),
            ("83018202039f0405ff", nested, nestedHex), ("83019f0203ff820405", nested, nestedHex),
            ("9f\(hexTo25)ff", "[ \(to25) ]", nil), ("bf61610161629f0203ffff", map, nil),
            ("826161bf61626163ff", array, "9f6161bf61626163ffff"),
            ("bf6346756ef563416d7421ff", "{ key \"Fun\" true key \"Amt\" integer -2 }", nil),
        ]
    }()

    private static func testRoundTripsExamplesOfRFC8949() throws {
        expectEqual(examples.count + 3, 81, "all examples, three of which are refused")
        for (hex, messages, written) in examples {
            expectEqual(try trace(bytes(hex)), messages, hex)
            expectEqual(try rewritten(bytes(hex)), written ?? hex, "what is written of \(hex)")
        }
    }

    private static func testReadsItemsBeyondTheExamples() throws {
        let rows = [
            // Integers at the limits of message types.
            ("1b7fffffffffffffff", "integer 9223372036854775807"),
            ("1b8000000000000000", "unsigned 9223372036854775808"),
            ("3b7fffffffffffffff", "integer -9223372036854775808"),
            ("3b8000000000000000", "number -9223372036854775809"),
            ("1b0000000000000001", "integer 1"),
            // Bignums with few bytes, leading zeros, or chunks.
            ("c240", "integer 0"), ("c340", "integer -1"), ("c24105", "integer 5"),
            ("c24a00000000000000000005", "integer 5"),
            ("c248ffffffffffffffff", "unsigned 18446744073709551615"), ("c25f4101420203ff", "integer 66051"),
            // Decimal fractions.
            ("c48221196ab3", "real 273.15"), ("c4820105", "real 50.0"), ("c49f2005ff", "real 0.5"),
            ("c482190190c24101", "number 1e400"), ("c48220c349010000000000000000", "number -18446744073709551617e-1"),
            // Dates.
            ("c100", "date -978307200.0"), ("c120", "date -978307201.0"), ("c1f93800", "date -978307199.5"),
            ("c07819323030312d30312d30315430303a30303a30302b30313a3030", "date -3600.0"),
            // Tags that are ignored, including before one that isn't.
            ("d9d9f78101", "[ integer 1 ]"), ("81d9d9f7c100", "[ date -978307200.0 ]"), ("c6c6c6f5", "true"),
            // Strings and containers without content.
            ("5fff", "data "), ("7f60ff", "string \"\""), ("bf7f6161ff01ff", "{ key \"a\" integer 1 }"),
        ]
        for (hex, messages) in rows { expectEqual(try trace(bytes(hex)), messages, hex) }
    }

    // SPEC: RFC 8949 appendix F, with keys that are text.
    private static func testRefusesMalformedItems() {
        let reserved = (0..<8).flatMap { type in (28...30).map { String(type << 5 | $0, radix: 16) } }
        let rows =
            reserved + ["1f", "3f", "df", "f800", "f801", "f818", "f81f", "ff"] + [
                // Chunks of another type or of chunks.
                "5f00ff", "5f21ff", "5f6100ff", "5f80ff", "5fa0ff", "5fc000ff", "5fe0ff", "7f4100ff", "5f5f4100ffff",
                "7f7f6100ffff",
                // Breaks in the wrong place.
                "81ff", "8200ff", "a1ff00", "a16100ff", "a2610000ff", "9f81ff", "9f829f819f9fffffffff",
                "bf6100ff",
                "bf6100006161ff", "c1ff", "c2ff", "c482ff", "c49f0001ff00",
                // More than one item.
                "0000", "80ff", "f4f5", "818100ff", "9fffff",
                // Tags with content of another type.
                "c000", "c1f5", "c16130", "c1c100", "c201", "c26130", "c400", "c48101", "c483010203", "c482f93c0001",
                "c482016161", "c06130", "c0d9d9f76130",
            ]
        for hex in rows {
            let error = expectThrows(StreamError.self, hex) { _ = try trace(bytes(hex)) }
            expectEqual(error?.kind, .invalidSyntax, "kind of \(hex): \(error as Any)")
            expectNotNil(error?.position, "position of \(hex)")
            expectNil(error?.position?.line, "line of \(hex)")
        }
    }

    private static func testRefusesUnrepresentableItems() {
        for hex in [
            "f0", "f8ff", "f820", "e0", "a201020304", "a14100f5", "a180f5", "a1a0f5", "a1c26161f5", "a1f5f5",
            "bff6f5ff",
        ] {
            let error = expectThrows(StreamError.self, hex) { _ = try trace(bytes(hex)) }
            expectEqual(error?.kind, .unrepresentable, "kind of \(hex): \(error as Any)")
        }
    }

    private static func testRefusesTruncatedDocuments() {
        // Every proper prefix of a complete document is incomplete.
        for (hex, _, _) in examples {
            let document = bytes(hex)
            for end in document.indices {
                let error = expectThrows(StreamError.self, "\(end) bytes of \(hex)") {
                    _ = try trace(Array(document[..<end]))
                }
                expectEqual(error?.kind, .unexpectedEnd, "kind of \(end) bytes of \(hex): \(error as Any)")
            }
        }
    }

    private static func testNeverTrustsDeclaredLengths() {
        for type in [2, 3, 4, 5] {
            for argument in [
                "18ff", "19ff", "1901", "1affff", "1affffffff", "1b7fffffffffffffff", "1bffffffffffffffff",
            ] {
                for rest in ["", "00", "0000000000"] {
                    var document = bytes(argument + rest)
                    document[0] |= UInt8(type << 5)
                    let error = expectThrows(StreamError.self, "\(document)") { _ = try trace(document) }
                    expectEqual(error?.kind, .unexpectedEnd, "kind of \(document): \(error as Any)")
                }
            }
        }
        // Each of many arrays declares all following bytes as its elements.
        let document = [UInt8](repeating: 0x9A, count: 5 * 1_000)
        expectThrows(StreamError.self, "arrays of claims") { _ = try trace(document) }
    }

    private static func testRefusesInvalidText() {
        for hex in ["61ff", "62c328", "63eda080", "64f4908080", "61c3", "7f61c361bcff", "a161ff00", "82616162c328"] {
            let error = expectThrows(StreamError.self, hex) { _ = try trace(bytes(hex)) }
            expectEqual(error?.kind, .invalidText, "kind of \(hex): \(error as Any)")
        }
    }

    private static func testEnforcesLimits() throws {
        let limits = StreamLimits(depth: 2, stringByteCount: 3, numberByteCount: 20, totalByteCount: 16)
        for hex in ["8180", "bf6161a0ff", "63616263", "5f41014102ff", "c24301ffff"] {
            expectNotEqual(try trace(bytes(hex), limits), "", hex)
        }
        for hex in [
            "818180", "9f9f9f", "bf6161a16161a0ff", "6461626364", "5f420102420102ff", "a16461626364f5",
            "4401020304", String(repeating: "00", count: 17),
        ] {
            let error = expectThrows(StreamError.self, hex) { _ = try trace(bytes(hex), limits) }
            expectEqual(error?.kind, .limitExceeded, "kind of \(hex): \(error as Any)")
        }
        let long = [0xC2, 0x59, 0x08, 0x01] + [UInt8](repeating: 0xFF, count: 2_049)
        let error = expectThrows(StreamError.self, "a long bignum") { _ = try trace(long) }
        expectEqual(error?.kind, .limitExceeded, "kind of a long bignum")
        // Deep nesting neither overflows the stack nor causes another error.
        for byte: UInt8 in [0x81, 0x9F] {
            let bomb = [UInt8](repeating: byte, count: 1_000_000)
            let error = expectThrows(StreamError.self, "a million arrays") { _ = try trace(bomb) }
            expectEqual(error?.kind, .limitExceeded, "kind")
            expectEqual(error?.position?.byteOffset, 1_024, "the first array that is too deep")
        }
        expectEqual(try trace([UInt8](repeating: 0xC6, count: 1_000_000) + [0xF5]), "true", "a million tags")
    }

    // This test takes longer than others because it reads thousands of documents.
    private static func testSurvivesRandomChanges() throws {
        var state: UInt64 = 1
        func random(_ count: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % count
        }
        var readCount = 0
        for _ in 0..<4_000 {
            var document: [UInt8] = [0x9F]
            for _ in 0...random(4) { document += bytes(examples[random(examples.count)].hex) }
            document.append(0xFF)
            for _ in 0..<random(3) { document[random(document.count)] = UInt8(random(256)) }
            if random(4) == 0 { document.remove(at: random(document.count)) }
            let messages: String
            do throws(StreamError) { messages = try trace(document) } catch {
                if error.position == nil { fail("no position in \(document): \(error)") }
                continue
            }
            readCount += 1
            let again = try trace(bytes(try rewritten(document)))
            if again != messages { expectEqual(again, messages, "what is written of \(document)") }
        }
        expectTrue((1_000..<3_500).contains(readCount), "\(readCount) documents were read")
    }

    private static func testReportsLocationOfErrors() {
        let rows = [
            ("83010262c328", "expected text in UTF-8, found other bytes at byte 3"),
            ("a1616118", "expected 1 bytes of a number, found the end of the input at byte 3"),
            ("8201", "expected 2 elements, found the end of the input at byte 0"),
            ("9f01", "expected a data item, found the end of the input at byte 2"),
            ("0102", "expected the end of the input, found another data item at byte 1"),
            ("a10102", "expected text as the key of a map, found an integer at byte 1"),
            ("5f6100ff", "expected a chunk of data, found text at byte 1"),
        ]
        for (hex, message) in rows {
            let error = expectThrows(StreamError.self, hex) { _ = try trace(bytes(hex)) }
            expectEqual(error?.description, message, hex)
        }
    }
}
#endif
