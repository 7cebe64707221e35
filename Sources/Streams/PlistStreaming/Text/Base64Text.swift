// Data as Base64 text, RFC 4648 section 4, for formats that support only text.

/// The Base64 text of data.
package enum Base64Text {
    private static let alphabet: [UInt8] = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    /// The value of each letter, 255 for other bytes.
    private static let values: [UInt8] = {
        var values = [UInt8](repeating: 255, count: 256)
        for (value, letter) in alphabet.enumerated() { values[Int(letter)] = UInt8(value) }
        return values
    }()

    /// Writes bytes in groups of four letters, the last one padded with `=`.
    package static func write(_ bytes: RawSpan, to output: inout ByteOutput) throws(StreamError) {
        var offset = 0
        while offset < bytes.byteCount {
            let count = min(3, bytes.byteCount - offset)
            var group: UInt32 = 0
            for index in 0..<3 { group = group << 8 | (index < count ? UInt32(bytes.byte(at: offset + index)) : 0) }
            try output.reserve(4)
            for index in 0..<4 {
                let letter = alphabet[Int(group >> UInt32(18 - 6 * index) & 63)]
                output.appendReserved(index <= count ? letter : UInt8(ascii: "="))
            }
            offset += count
        }
    }

    /// The text of bytes, as a string.
    package static func string(of bytes: RawSpan) -> String {
        var output = ByteOutput(capacity: (bytes.byteCount + 2) / 3 * 4)
        // An output in memory doesn't throw for small data.
        do throws(StreamError) { try write(bytes, to: &output) } catch { assertionFailure("\(error)") }
        return output.withBytes { String(validating: $0) ?? "" }
    }

    /// Returns the bytes of a text, ignoring whitespace, or nil for text that is not Base64 with its padding.
    package static func decoded(_ text: RawSpan) -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.byteCount / 4 * 3 + 3)
        var (group, letterCount, paddingCount): (UInt32, Int, Int) = (0, 0, 0)
        for offset in text.byteOffsets {
            let byte = text.byte(at: offset)
            if byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { continue }
            if byte == UInt8(ascii: "=") {
                paddingCount += 1
                continue
            }
            let value = values[Int(byte)]
            guard value < 64, paddingCount == 0 else { return nil }
            group = group << 6 | UInt32(value)
            letterCount += 1
            if letterCount & 3 == 0 {
                for shift: UInt32 in [16, 8, 0] { bytes.append(UInt8(truncatingIfNeeded: group >> shift)) }
            }
        }
        switch (letterCount & 3, paddingCount) {
        case (0, 0): break
        case (2, 2): bytes.append(UInt8(truncatingIfNeeded: group >> 4))
        case (3, 1):
            bytes.append(UInt8(truncatingIfNeeded: group >> 10))
            bytes.append(UInt8(truncatingIfNeeded: group >> 2))
        default: return nil
        }
        return bytes
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension Base64Text: SelfTesting {
    package static var testSelectors: TestSelectors {
        ["testReadsItsOwnOutput": testReadsItsOwnOutput, "testRefusesInvalidText": testRefusesInvalidText]
    }

    private static func testReadsItsOwnOutput() throws {
        // RFC 4648 section 10.
        let rows = [
            ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("\u{FF}?>", "w78/Pg=="),
        ]
        for (text, expected) in rows {
            var output = ByteOutput()
            try text.withUTF8Span { (bytes) throws(StreamError) in try write(bytes, to: &output) }
            expectEqual(output.withBytes { String(validating: $0) }, expected, text)
            expectEqual(text.withUTF8Span { string(of: $0) }, expected, "string of \(text)")
            expectEqual(expected.withUTF8Span { decoded($0) }, Array(text.utf8), expected)
            let spaced = expected.map { "\n\t\($0) \r" }.joined()
            expectEqual(spaced.withUTF8Span { decoded($0) }, Array(text.utf8), "with spaces")
        }
    }

    private static func testRefusesInvalidText() {
        for text in [
            "Z", "Zg", "Zg=", "Zg===", "Zm8", "Zm8==", "=", "====", "Zg==Zg==", "Z=g=", "Zm9v=", "Zm-_", "Zm9ö",
        ] {
            let read: [UInt8]? = text.withUTF8Span { (text: RawSpan) -> [UInt8]? in decoded(text) }
            expectNil(read, text)
        }
    }
}
#endif
