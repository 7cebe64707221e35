// Strings in the plain scanner: UTF-8, escapes and surrogate pairs, byte by byte.

import BlockMasks
import PlistStreaming

extension JSONScanner {
    // PERF: JSONReader in chunks; a string that was cut at the end of a chunk is copied by words.
    /// Appends the plain bytes of a string from an offset on, up to the limit, and returns the offset after them.
    mutating func appendRun(_ bytes: RawSpan, from start: Int) -> Int {
        // A character that isn't ASCII may be cut, so the byte after it is checked alone.
        guard lastBytes < 0x8000_0000 else { return start }
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
        lastBytes = 0
        unsafe bytes.extracting(start..<offset).withUnsafeBytes { run in
            // SAFETY: the pointer does not leave the closure.
            unsafe scratch.append(contentsOf: run)
        }
        return offset
    }

    mutating func stepInString(_ byte: UInt8, in bytes: RawSpan, at offset: Int) -> Completion {
        guard mayContinue(with: byte) else {
            let message = "expected valid UTF-8 in a string, found \(Self.name(of: byte))"
            return .failure(fail(.invalidText, message, in: bytes, at: offset))
        }
        switch byte {
        case UInt8(ascii: "\""):
            lastBytes = 0
            if isKey {
                state = .colon
                return .key
            }
            state = nesting.depth == 0 ? .afterRoot : .afterValue
            return .string
        case UInt8(ascii: "\\"):
            (state, escapeCount, codeUnits) = (.escape, 0, 0)
            return .nothing
        case 0x00..<0x20:
            let found = "a control character in a string, \(Self.name(of: byte))"
            return .failure(fail(.invalidSyntax, "expected an escape, found \(found)", in: bytes, at: offset))
        default:
            return append(byte, in: bytes, at: offset)
        }
    }

    /// Returns whether a byte may follow the text of the string so far, which may end within a character.
    private func mayContinue(with byte: UInt8) -> Bool {
        byte < 0x80 && lastBytes < 0x8000_0000 || BlockScan.mayFollow(byte, lastBytes)
    }

    private mutating func append(_ byte: UInt8, in bytes: RawSpan, at offset: Int) -> Completion {
        guard scratch.count < options.limits.stringByteCount else { return tooLong(in: bytes, at: offset) }
        scratch.append(byte)
        lastBytes = lastBytes >> 8 | UInt32(byte) << 24
        return .nothing
    }

    private mutating func append(scalar: Unicode.Scalar, in bytes: RawSpan, at offset: Int) -> Completion {
        let encoded = UTF8.encode(scalar)
        guard let encoded, scratch.count + encoded.count <= options.limits.stringByteCount else {
            return tooLong(in: bytes, at: offset)
        }
        scratch.append(contentsOf: encoded)
        lastBytes = 0
        return .nothing
    }

    private mutating func tooLong(in bytes: RawSpan, at offset: Int) -> Completion {
        .failure(fail(limit: "bytes in a string", options.limits.stringByteCount, in: bytes, at: offset))
    }

    /// Takes a byte of an escape, or of the two escapes that make one character.
    mutating func stepInEscape(_ byte: UInt8, in bytes: RawSpan, at offset: Int) -> Completion {
        switch escapeCount {
        case 0 where byte == UInt8(ascii: "u"), 5 where byte == UInt8(ascii: "\\"), 6 where byte == UInt8(ascii: "u"):
            break
        case 0:
            guard let meaning = StringEscapes.meaning(of: byte) else {
                return .failure(unexpected(byte, in: bytes, at: offset))
            }
            state = .string
            return append(meaning, in: bytes, at: offset)
        case 5, 6:
            let message = "expected \(expectation), found \(Self.name(of: byte))"
            return .failure(fail(.invalidText, message, in: bytes, at: offset))
        default:
            guard let digit = CharacterCode.hexadecimalValue(of: byte) else {
                return .failure(unexpected(byte, in: bytes, at: offset))
            }
            codeUnits = codeUnits << 4 | digit
        }
        escapeCount += 1
        return escapeCount == 5 || escapeCount == 11 ? endCodeUnit(in: bytes, at: offset) : .nothing
    }

    /// Appends the character of one escape, or of two.
    private mutating func endCodeUnit(in bytes: RawSpan, at offset: Int) -> Completion {
        var value = codeUnits
        if escapeCount > 5 {
            guard value & 0xFC00 == 0xDC00 else {
                let message = "expected the low surrogate of a pair, found another escape"
                return .failure(fail(.invalidText, message, in: bytes, at: offset))
            }
            value = 0x10000 + (value >> 16 & 0x3FF) << 10 + value & 0x3FF
        } else if value & 0xFC00 == 0xD800 {
            return .nothing
        }
        guard let scalar = Unicode.Scalar(value) else {
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
        for (row, rest) in rows.flatMap({ [($0, "\"]"), ($0, "of a longer text\"]")] }) {
            let text = Array("[\"".utf8) + row + Array(rest.utf8)
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
