// The escapes of RFC 8259 section 7: their meaning, and the fast way through a whole string that has some.

/// The escapes of JSON strings.
@usableFromInline
enum StringEscapes {
    /// The byte that a letter after a backslash stands for, nil for `u` and for what is no escape.
    static func meaning(of letter: UInt8) -> UInt8? {
        switch letter {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): letter
        case UInt8(ascii: "b"): 0x08
        case UInt8(ascii: "f"): 0x0C
        case UInt8(ascii: "n"): 0x0A
        case UInt8(ascii: "r"): 0x0D
        case UInt8(ascii: "t"): 0x09
        default: nil
        }
    }

    /// The value of a hexadecimal digit in either case.
    static func hexadecimalValue(of byte: UInt8) -> UInt32? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte) - 0x30
        case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt32(byte) - 0x57
        case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt32(byte) - 0x37
        default: nil
        }
    }

    /// Unescapes a string into `text` and returns the offset after its closing quote.
    ///
    /// - Parameter start: The offset after the opening quote.
    /// - Returns: `StringRuns.notFound` for a string that is invalid, cut off or longer than the limit: then `text` is
    ///   empty, and the plain machine finds out why.
    @usableFromInline
    static func unescape(_ bytes: RawSpan, from start: Int, into text: inout [UInt8], limit: Int) -> Int {
        text.removeAll(keepingCapacity: true)
        var runStart = start
        var offset = start
        let lastWord = bytes.byteCount &- 8
        while offset <= lastWord {
            let special = StringRuns.specialBytes(in: bytes.uncheckedWord(offset))
            guard special != 0 else {
                offset &+= 8
                continue
            }
            offset &+= special.trailingZeroBitCount &>> 3
            let byte = bytes.uncheckedByte(offset)
            if byte >= 0x80 {
                offset = StringRuns.endOfMultibyteRun(in: bytes, from: offset)
                if offset < 0 { break }
                continue
            }
            append(bytes.extracting(runStart..<offset), to: &text)
            if byte == UInt8(ascii: "\"") {
                guard text.count <= limit else { break }
                return offset + 1
            }
            guard byte == UInt8(ascii: "\\"), offset + 12 <= bytes.byteCount else { break }
            let letter = bytes.uncheckedByte(offset + 1)
            if let meaning = meaning(of: letter) {
                text.append(meaning)
                offset += 2
            } else if letter == UInt8(ascii: "u"), let scalar = scalar(in: bytes, at: offset) {
                let encoded = UTF8.encode(scalar)
                if let encoded { text.append(contentsOf: encoded) }
                offset += scalar.value > 0xFFFF ? 12 : 6
            } else {
                break
            }
            runStart = offset
        }
        text.removeAll(keepingCapacity: true)
        return StringRuns.notFound
    }

    private static func append(_ run: RawSpan, to text: inout [UInt8]) {
        // SAFETY: the buffer is read only within the closure.
        unsafe run.withUnsafeBytes { unsafe text.append(contentsOf: $0) }
    }

    /// The character of `\uXXXX` or of a pair of them; twelve bytes from the offset on are within the span.
    private static func scalar(in bytes: RawSpan, at offset: Int) -> Unicode.Scalar? {
        guard let first = codeUnit(in: bytes, at: offset + 2) else { return nil }
        guard first & 0xFC00 == 0xD800 else { return Unicode.Scalar(first) }
        guard bytes.uncheckedByte(offset + 6) == UInt8(ascii: "\\"),
            bytes.uncheckedByte(offset + 7) == UInt8(ascii: "u"),
            let second = codeUnit(in: bytes, at: offset + 8), second & 0xFC00 == 0xDC00
        else { return nil }
        return Unicode.Scalar(0x10000 + (first & 0x3FF) << 10 + second & 0x3FF)
    }

    private static func codeUnit(in bytes: RawSpan, at offset: Int) -> UInt32? {
        var value: UInt32 = 0
        for index in offset..<offset + 4 {
            guard let digit = hexadecimalValue(of: bytes.uncheckedByte(index)) else { return nil }
            value = value << 4 | digit
        }
        return value
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension StringEscapes: SelfTesting {
    /// The tests of this type.
    @usableFromInline
    static var testSelectors: TestSelectors {
        ["testUnescapesOrDeclines": testUnescapesOrDeclines]
    }

    private static func testUnescapesOrDeclines() {
        let rows: [(String, String?)] = [
            (#"a\nb""#, "a\nb"), (#"\u0041\u00e9\u20ac\ud83d\ude42""#, "Aé€🙂"),
            (#"\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{c}\n\r\t"),
            (#"é\\é""#, "é\\é"), (#"\x""#, nil), (#"\u00g0""#, nil), (#"\ud800""#, nil), (#"\udc00""#, nil),
            ("\\n\u{1}\"", nil),
            (#"never closed \n"#, nil), (#"\nlonger than twenty bytes""#, nil),
        ]
        for (text, expected) in rows {
            var bytes: [UInt8] = []
            let padded = text + String(repeating: expected == nil && text.hasPrefix("never") ? "a" : " ", count: 20)
            let end = padded.withUTF8Span { unescape($0, from: 0, into: &bytes, limit: 20) }
            expectEqual(end, expected == nil ? StringRuns.notFound : text.utf8.count, "end of \(text)")
            expectEqual(String(validating: bytes, as: UTF8.self), expected ?? "", "text of \(text)")
        }
    }
}
#endif
