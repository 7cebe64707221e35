// Tests of the errors of the binary property list reader, and of the limits on the cost of a small file.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistBuilding
import PlistStreaming

enum BinaryPlistWalkTests {}

extension BinaryPlistWalkTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testReadsEveryIntegerSize": testReadsEveryIntegerSize,
            "testRefusesBadObjects": testRefusesBadObjects,
            "testRefusesBadTrailers": testRefusesBadTrailers,
            "testReportsLocationOfErrors": testReportsLocationOfErrors,
            "testRefusesTruncatedFiles": testRefusesTruncatedFiles,
            "testSurvivesCorruptedBytes": testSurvivesCorruptedBytes,
            "testRefusesContainersInThemselves": testRefusesContainersInThemselves,
            "testLimitsExpansionOfSharedValues": testLimitsExpansionOfSharedValues,
            "testEnforcesLimits": testEnforcesLimits,
        ]
    }

    /// A binary property list of objects with one byte a reference and a size of offsets.
    private static func list(
        _ objects: [[UInt8]], root: UInt8 = 0, offsetByteCount: Int = 1, referenceByteCount: UInt8 = 1
    ) -> [UInt8] {
        var bytes = Array("bplist00".utf8)
        var table: [UInt8] = []
        for object in objects {
            table += (0..<offsetByteCount).reversed().map {
                UInt8(truncatingIfNeeded: $0 > 7 ? 0 : bytes.count >> (8 * $0))
            }
            bytes += object
        }
        let start = bytes.count
        bytes += table + [0, 0, 0, 0, 0, 0, UInt8(offsetByteCount), referenceByteCount]
        for number in [objects.count, Int(root), start] {
            bytes += (0..<8).reversed().map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
        }
        return bytes
    }

    private static func testReadsEveryIntegerSize() {
        for size in 1...8 {
            let reference = [UInt8](repeating: 0, count: size - 1) + [1]
            let bytes = list(
                [[0xA1] + reference, [0x22, 0x3F, 0, 0, 0]], offsetByteCount: size, referenceByteCount: UInt8(size))
            expectEqual(BinaryPropertyList.trace(bytes), "[ real 0.5 ]", "\(size) bytes")
        }
        let rows: [([UInt8], String)] = [
            ([0xC1, 1], "[ true ]"), ([0xB1, 1], "[ true ]"), ([0x80, 7], "{ key \"CF$UID\" integer 7 }"),
            ([0x87, 255, 255, 255, 255, 255, 255, 255, 255], "{ key \"CF$UID\" unsigned 18446744073709551615 }"),
            ([0x82, 1, 0, 0], "{ key \"CF$UID\" integer 65536 }"), ([0x00], "null"),
            ([0x14] + [UInt8](repeating: 0, count: 15) + [5], "integer 5"),
            ([0x14] + [UInt8](repeating: 255, count: 16), "integer -1"),
            ([0x5F, 0x11, 0, 2, 0x61, 0x62], "string \"ab\""),
            ([0x61, 0, 0x61], "string \"a\""), ([0xAF, 0x10, 1, 1], "[ true ]"),
        ]
        for (object, expected) in rows {
            expectEqual(BinaryPropertyList.trace(list([object, [0x09]])), expected, "\(object)")
        }
    }

    private static func testRefusesBadObjects() {
        let rows: [([UInt8], StreamError.Kind)] = [
            ([0x01], .invalidSyntax), ([0x0F], .invalidSyntax), ([0x15], .invalidSyntax), ([0x20, 0], .invalidSyntax),
            ([0x24], .invalidSyntax), ([0x32, 0, 0, 0, 0], .invalidSyntax), ([0x70], .invalidSyntax),
            ([0x88, 0, 0, 0, 0, 0, 0, 0, 0, 0], .invalidSyntax), ([0x90], .invalidSyntax), ([0xE0], .invalidSyntax),
            ([0xF0], .invalidSyntax), ([0x5F, 0x09], .invalidSyntax), ([0x5F, 0x14, 0], .invalidSyntax),
            ([0x51, 0x80], .invalidText), ([0x61, 0xD8, 0], .invalidText), ([0x61, 0xDC, 0], .invalidText),
            ([0x62, 0xD8, 0, 0, 0x61], .invalidText), ([0x62, 0xDC, 0, 0xD8, 0], .invalidText),
            ([0x5F, 0x13, 255, 255, 255, 255, 255, 255, 255, 255], .invalidSyntax),
            ([0x6F, 0x13, 127, 255, 255, 255, 255, 255, 255, 255], .invalidSyntax),
            ([0x4F, 0x13, 128, 0, 0, 0, 0, 0, 0, 0], .invalidSyntax),
            ([0xAF, 0x13, 127, 255, 255, 255, 255, 255, 255, 255], .invalidSyntax),
            ([0xDF, 0x13, 64, 0, 0, 0, 0, 0, 0, 0], .invalidSyntax), ([0xA1, 2], .invalidSyntax),
            ([0xD1, 1, 1], .invalidSyntax), ([0xD1, 2, 1], .invalidSyntax), ([0xA1, 0], .invalidSyntax),
        ]
        for (object, kind) in rows {
            var trace = EventTrace()
            let error = expectThrows(StreamError.self, "\(object)") {
                try trace.readBinaryPlist(list([object, [0x09]]))
            }
            expectEqual(error?.kind, kind, "kind of \(object)")
            expectTrue(error?.position != nil && error?.path != nil, "place of \(object)")
        }
        // The end of the objects is not the end of the bytes.
        for object: [UInt8] in [
            [0x11, 0], [0x14, 0], [0x23, 0], [0x22, 0], [0x33, 0], [0x52, 0x61], [0x61, 0], [0x42, 0], [0xA1],
            [0xD1, 0],
            [0x81, 0], [0x5F], [0x5F, 0x10], [0xAF, 0x10], [0x6F, 0x11, 0],
        ] {
            var trace = EventTrace()
            let error = expectThrows(StreamError.self, "\(object)") { try trace.readBinaryPlist(list([object])) }
            expectEqual(error?.kind, .invalidSyntax, "kind of \(object)")
        }
    }

    private static func testRefusesBadTrailers() {
        let good = list([[0xA1, 1], [0x09]])
        let end = good.count - 32
        let rows: [(Int, UInt8)] = [
            (0, 0), (5, 0), (6, 0x31), (end + 6, 0), (end + 6, 9), (end + 6, 2), (end + 7, 0), (end + 7, 9),
            (end + 8, 255),
            (end + 15, 0), (end + 15, 3), (end + 16, 128), (end + 23, 2), (end + 24, 1), (end + 31, 8), (end + 31, 7),
            (end + 31, UInt8(end)), (end + 31, UInt8(end + 1)), (11, 7), (11, 11), (12, 255),
        ]
        for (offset, byte) in rows {
            var bytes = good
            bytes[offset] = byte
            var trace = EventTrace()
            let error = expectThrows(StreamError.self, "\(byte) at \(offset)") { try trace.readBinaryPlist(bytes) }
            expectEqual(error?.kind, .invalidSyntax, "kind of \(byte) at \(offset): \(BinaryPropertyList.trace(bytes))")
            expectNotNil(error?.position, "position")
        }
    }

    private static func testReportsLocationOfErrors() {
        let bytes = list([[0xD1, 1, 2], [0x61, 0, 0xFC], [0xA2, 3, 4], [0x09], [0x51, 0x80]])
        var trace = EventTrace()
        let error = expectThrows(StreamError.self, "no ASCII") { try trace.readBinaryPlist(bytes) }
        expectEqual(error?.position?.byteOffset, 18, "offset")
        expectEqual(error?.path?.description, "$.ü[1]", "path")
        expectEqual(
            error?.description,
            "$.ü[1]: expected ASCII, found another byte at offset 0 of a string at byte 18", "text")
    }

    private static func sample() throws -> [UInt8] {
        try BinaryPropertyList.written(
            """
            { key "name" string "a name of some length" key "ü" [ integer 1 integer 300 integer -1 real 0.5 date 1.5 ] \
            key "data" data 000102 key "big" unsigned 18446744073709551615 key "inner" { key "name" true key "é" [ ] } }
            """)
    }

    private static func testRefusesTruncatedFiles() throws {
        let bytes = try sample()
        for end in bytes.indices {
            var trace = EventTrace()
            let error = expectThrows(StreamError.self, "\(end) bytes") {
                try trace.readBinaryPlist(Array(bytes[..<end]))
            }
            expectNotNil(error?.position, "position at \(end)")
            var reader = BinaryPlistReader(sink: EventTrace())
            let second = expectThrows(StreamError.self, "\(end) bytes, one by one") {
                for byte in bytes[..<end] { try reader.feed([byte]) }
                try reader.finish()
            }
            expectEqual(second, error, "the same error")
        }
        for start in 1..<bytes.count {
            var trace = EventTrace()
            expectThrows(StreamError.self, "from \(start)") { try trace.readBinaryPlist(Array(bytes[start...])) }
        }
    }

    private static func testSurvivesCorruptedBytes() throws {
        let good = try sample()
        var random = SplitMix(state: 7)
        for offset in good.indices {
            for value in [
                0, 1, 0x7F, 0x80, 0xFF, good[offset] ^ 1, good[offset] ^ 0x10, UInt8(truncatingIfNeeded: random.next()),
            ] {
                var bytes = good
                bytes[offset] = value
                bytes[Int(random.next() % UInt64(bytes.count))] = UInt8(truncatingIfNeeded: random.next())
                // The trace checks the grammar; a list without errors can be written.
                let text = BinaryPropertyList.trace(bytes)
                if text.contains("misuse") { fail("\(offset) as \(value): \(text)") }
                var builder = PropertyListBuilder()
                if (try? builder.readBinaryPlist(bytes)) != nil {
                    expectNoThrow("a tree") { _ = try builder.takeResult() }
                }
            }
        }
    }

    private struct SplitMix {
        var state: UInt64
        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var word = (state ^ state >> 30) &* 0xBF58_476D_1CE4_E5B9
            word = (word ^ word >> 27) &* 0x94D0_49BB_1331_11EB
            return word ^ word >> 31
        }
    }

    private static func testRefusesContainersInThemselves() {
        for objects: [[UInt8]] in [
            [[0xA1, 0]], [[0xA1, 1], [0xA1, 0]], [[0xD1, 1, 0], [0x51, 0x61]], [[0xA2, 1, 1], [0xD1, 2, 0], [0x50]],
        ] {
            var trace = EventTrace()
            let error = expectThrows(StreamError.self, "\(objects)") { try trace.readBinaryPlist(list(objects)) }
            expectEqual(error?.kind, .invalidSyntax, "kind")
            expectTrue(error?.message.contains("inside itself") ?? false, "message of \(objects)")
        }
        expectEqual(
            BinaryPropertyList.trace(list([[0xA2, 1, 1], [0xA1, 2], [0x50]])), "[ [ string \"\" ] [ string \"\" ] ]",
            "twice")
    }

    /// Arrays that contain the next one many times, and an array that contains a long string many times.
    private static func testLimitsExpansionOfSharedValues() {
        let levels = (0..<30).map { level in [0xAF, 0x10, 30] + [UInt8](repeating: UInt8(level + 1), count: 30) }
        let text = [UInt8](repeating: 0x61, count: 60_000)
        let string: [UInt8] = [0x5F, 0x11, 0xEA, 0x60] + text
        let many: [UInt8] = [0xAF, 0x12, 0, 1, 0, 0] + [UInt8](repeating: 1, count: 65_536)
        for bytes in [list(levels + [[0x09]], offsetByteCount: 2), list([many, string], offsetByteCount: 4)] {
            var sink = NullSink()
            let error = expectThrows(StreamError.self, "\(bytes.count) bytes") { try sink.readBinaryPlist(bytes) }
            expectEqual(error?.kind, .limitExceeded, "kind")
        }
        let three = list([[0xA2, 1, 1], [0x51, 0x61]])
        for (options, isGood) in [
            (BinaryPlistReaderOptions(valueLimit: 3), true), (BinaryPlistReaderOptions(valueLimit: 2), false),
            (BinaryPlistReaderOptions(contentByteLimit: 2), true),
            (BinaryPlistReaderOptions(contentByteLimit: 1), false),
            (BinaryPlistReaderOptions(valueLimit: -1), false),
        ] { expectEqual(!BinaryPropertyList.trace(three, options).contains("limitExceeded"), isGood, "\(options)") }
    }

    private static func testEnforcesLimits() throws {
        let bytes = try BinaryPropertyList.written("[ [ string \"abc\" ] ]")
        for (limits, isGood) in [
            (StreamLimits(depth: 2), true), (StreamLimits(depth: 1), false), (StreamLimits(stringByteCount: 3), true),
            (StreamLimits(stringByteCount: 2), false), (StreamLimits(totalByteCount: bytes.count), true),
            (StreamLimits(totalByteCount: bytes.count - 1), false),
        ] {
            let options = BinaryPlistReaderOptions(limits: limits)
            expectEqual(!BinaryPropertyList.trace(bytes, options).contains("limitExceeded"), isGood, "\(limits)")
            var reader = BinaryPlistReader(sink: EventTrace(), options: options)
            do {
                for byte in bytes { try reader.feed([byte]) }
                try reader.finish()
                expectTrue(isGood, "byte by byte, \(limits)")
            } catch { expectFalse(isGood, "byte by byte, \(limits)") }
        }
        var reader = BinaryPlistReader(sink: EventTrace())
        let early = expectThrows(StreamError.self, "no list") { try reader.feed(Array("bplisT".utf8)) }
        expectEqual(early?.position?.byteOffset, 5, "the first wrong byte")
        let wide = try BinaryPropertyList.written("string \"éé\"")
        let options = BinaryPlistReaderOptions(limits: StreamLimits(stringByteCount: 3))
        expectTrue(BinaryPropertyList.trace(wide, options).contains("limitExceeded"), "bytes of UTF-8")
    }
}
#endif
