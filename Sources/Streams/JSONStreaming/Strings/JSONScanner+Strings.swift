// Strings in the plain scanner: UTF-8, escapes and surrogate pairs, byte by byte.

import PlistStreaming

extension JSONScanner {
    // PERF: JSONReader in chunks; a string that was cut at the end of a chunk is copied by words.
    /// Appends the plain bytes of a string from an offset on, up to the limit, and returns the offset after them.
    mutating func appendRun(_ bytes: RawSpan, from start: Int) -> Int {
        let end = start + min(bytes.byteCount - start, options.limits.stringByteCount - scratch.count)
        var offset = start
        while offset <= end &- 8 {
            let special = StringRuns.specialBytes(in: bytes.uncheckedWord(offset))
            guard special == 0 else {
                offset &+= special.trailingZeroBitCount &>> 3
                break
            }
            offset &+= 8
        }
        guard offset > start else { return start }
        unsafe bytes.extracting(start..<offset).withUnsafeBytes { run in
            // SAFETY: the pointer does not leave the closure.
            unsafe scratch.append(contentsOf: run)
        }
        return offset
    }

    mutating func stepInString(_ byte: UInt8, in bytes: RawSpan, at offset: Int) -> Completion {
        switch byte {
        case UInt8(ascii: "\""):
            if isKey {
                state = .colon
                return .key
            }
            state = nesting.depth == 0 ? .afterRoot : .afterValue
            return .string
        case UInt8(ascii: "\\"):
            state = .escape
            return .nothing
        case 0x00..<0x20:
            let found = "a control character in a string, \(Self.name(of: byte))"
            return .failure(fail(.invalidSyntax, "expected an escape, found \(found)", in: bytes, at: offset))
        case 0x20..<0x80: return append(byte, in: bytes, at: offset)
        default: return beginMultibyte(byte, in: bytes, at: offset)
        }
    }

    mutating func stepInStringDetail(_ byte: UInt8, in bytes: RawSpan, at offset: Int) -> Completion {
        switch state {
        case .multibyte:
            guard nextByteRange.contains(byte) else {
                return .failure(invalidText(byte, in: bytes, at: offset))
            }
            nextByteRange = 0x80...0xBF
            remainingBytes -= 1
            if remainingBytes == 0 { state = .string }
            return append(byte, in: bytes, at: offset)
        case .escape: return stepInEscape(byte, in: bytes, at: offset)
        case .unicodeEscape: return stepInUnicodeEscape(byte, in: bytes, at: offset)
        case .lowSurrogateBackslash where byte == UInt8(ascii: "\\"):
            state = .lowSurrogateU
            return .nothing
        case .lowSurrogateU where byte == UInt8(ascii: "u"):
            beginUnicodeEscape()
            return .nothing
        default:
            let message = "expected \(expectation), found \(Self.name(of: byte))"
            return .failure(fail(.invalidText, message, in: bytes, at: offset))
        }
    }

    // SPEC: Unicode 16, table 3-7: the second byte's range excludes overlong forms, surrogates and values that are too
    // large.
    private mutating func beginMultibyte(_ byte: UInt8, in bytes: RawSpan, at offset: Int) -> Completion {
        switch byte {
        case 0xC2...0xDF: (remainingBytes, nextByteRange) = (1, 0x80...0xBF)
        case 0xE0: (remainingBytes, nextByteRange) = (2, 0xA0...0xBF)
        case 0xE1...0xEC, 0xEE...0xEF: (remainingBytes, nextByteRange) = (2, 0x80...0xBF)
        case 0xED: (remainingBytes, nextByteRange) = (2, 0x80...0x9F)
        case 0xF0: (remainingBytes, nextByteRange) = (3, 0x90...0xBF)
        case 0xF1...0xF3: (remainingBytes, nextByteRange) = (3, 0x80...0xBF)
        case 0xF4: (remainingBytes, nextByteRange) = (3, 0x80...0x8F)
        default: return .failure(invalidText(byte, in: bytes, at: offset))
        }
        state = .multibyte
        return append(byte, in: bytes, at: offset)
    }

    private mutating func invalidText(_ byte: UInt8, in bytes: RawSpan, at offset: Int) -> StreamError {
        fail(.invalidText, "expected valid UTF-8 in a string, found \(Self.name(of: byte))", in: bytes, at: offset)
    }

    private mutating func append(_ byte: UInt8, in bytes: RawSpan, at offset: Int) -> Completion {
        guard scratch.count < options.limits.stringByteCount else { return tooLong(in: bytes, at: offset) }
        scratch.append(byte)
        return .nothing
    }

    private mutating func append(scalar: Unicode.Scalar, in bytes: RawSpan, at offset: Int) -> Completion {
        let encoded = UTF8.encode(scalar)
        guard let encoded, scratch.count + encoded.count <= options.limits.stringByteCount else {
            return tooLong(in: bytes, at: offset)
        }
        scratch.append(contentsOf: encoded)
        return .nothing
    }

    private mutating func tooLong(in bytes: RawSpan, at offset: Int) -> Completion {
        .failure(fail(limit: "bytes in a string", options.limits.stringByteCount, in: bytes, at: offset))
    }

    private mutating func stepInEscape(_ byte: UInt8, in bytes: RawSpan, at offset: Int) -> Completion {
        if byte == UInt8(ascii: "u") {
            highSurrogate = 0
            beginUnicodeEscape()
            return .nothing
        }
        guard let meaning = StringEscapes.meaning(of: byte) else {
            return .failure(unexpected(byte, in: bytes, at: offset))
        }
        state = .string
        return append(meaning, in: bytes, at: offset)
    }

    private mutating func beginUnicodeEscape() {
        state = .unicodeEscape
        remainingDigits = 4
        codeUnit = 0
    }

    private mutating func stepInUnicodeEscape(_ byte: UInt8, in bytes: RawSpan, at offset: Int) -> Completion {
        guard let digit = CharacterCode.hexadecimalValue(of: byte) else {
            return .failure(unexpected(byte, in: bytes, at: offset))
        }
        codeUnit = codeUnit << 4 | digit
        remainingDigits -= 1
        guard remainingDigits == 0 else { return .nothing }
        if highSurrogate != 0 {
            guard codeUnit & 0xFC00 == 0xDC00 else {
                let message = "expected the low surrogate of a pair, found another escape"
                return .failure(fail(.invalidText, message, in: bytes, at: offset))
            }
            codeUnit = 0x10000 + (highSurrogate & 0x3FF) << 10 + codeUnit & 0x3FF
            highSurrogate = 0
        } else if codeUnit & 0xFC00 == 0xD800 {
            highSurrogate = codeUnit
            state = .lowSurrogateBackslash
            return .nothing
        }
        guard let scalar = Unicode.Scalar(codeUnit) else {
            let message = "expected a character, found the escape of a low surrogate without a high one"
            return .failure(fail(.invalidText, message, in: bytes, at: offset))
        }
        state = .string
        return append(scalar: scalar, in: bytes, at: offset)
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

enum JSONScannerStringsTests {}

extension JSONScannerStringsTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testUnescapesKeysAndValues": testUnescapesKeysAndValues,
            "testAcceptsUTF8SequencesOfEveryLength": testAcceptsUTF8SequencesOfEveryLength,
            "testRejectsInvalidUTF8": testRejectsInvalidUTF8,
            "testRejectsLoneSurrogates": testRejectsLoneSurrogates,
        ]
    }

    private static func testUnescapesKeysAndValues() {
        let escapes = #"\"\\\/\b\f\n\r\t\u0041\u00e9\u20AC\ud83d\ude42"#
        let text = "{\"\(escapes)\":\"\(escapes)\"}"
        let value = #""\u{22}\u{5c}/\u{8}\u{c}\u{a}\u{d}\u{9}Aé€🙂""#
        JSONScanner.expectOutcome(Array(text.utf8), "{ key \(value) string \(value) }", "escapes")
        JSONScanner.expectOutcome(Array(#"["\u0000"]"#.utf8), #"[ string "\u{0}" ]"#, "NUL")
    }

    private static func testAcceptsUTF8SequencesOfEveryLength() {
        for scalar in [
            "\u{7F}", "\u{80}", "\u{7FF}", "\u{800}", "\u{D7FF}", "\u{E000}", "\u{FFFF}", "\u{10000}", "\u{10FFFF}",
        ] {
            JSONScanner.expectOutcome(Array("[\"a\(scalar)b\"]".utf8), "[ string \"a\(scalar)b\" ]", "scalar \(scalar)")
        }
    }

    private static func testRejectsInvalidUTF8() {
        // The last byte of each row is the first invalid one.
        let rows: [[UInt8]] = [
            [0x80], [0xBF], [0xC0], [0xC1], [0xF5], [0xFF], [0xC2, 0x22], [0xC2, 0xC2], [0xE0, 0x9F],
            [0xE0, 0xA0, 0x22],
            [0xED, 0xA0], [0xEF, 0xBF, 0x7F], [0xF0, 0x8F], [0xF4, 0x90], [0xF0, 0x90, 0x80, 0x22], [0xF1, 0x22],
        ]
        for row in rows {
            let text = Array("[\"".utf8) + row + Array("\"]".utf8)
            JSONScanner.expectOutcome(text, nil, "bytes \(row)")
            let outcome = JSONScanner.outcome([text])
            expectTrue(outcome.hasPrefix("[ ! invalidText"), "invalid text \(row): \(outcome)")
            expectTrue(outcome.hasSuffix("(byte \(1 + row.count))"), "the offset of \(row): \(outcome)")
        }
    }

    private static func testRejectsLoneSurrogates() {
        let rows: [(String, Int)] = [
            (#"["\ud800"]"#, 8), (#"["\udc00"]"#, 7), (#"["\ud800\n"]"#, 9), (#"["\ud800\u0041"]"#, 13),
            (#"["\ud800\ud800"]"#, 13), (#"["\udfff\ud800"]"#, 7), (#"["\ud800x"]"#, 8),
        ]
        for (text, offset) in rows {
            JSONScanner.expectOutcome(Array(text.utf8), nil, text)
            let outcome = JSONScanner.outcome([Array(text.utf8)])
            expectTrue(outcome.hasPrefix("[ ! invalidText"), "invalid text \(text): \(outcome)")
            expectTrue(outcome.hasSuffix("(byte \(offset))"), "the offset of \(text): \(outcome)")
        }
    }
}
#endif
