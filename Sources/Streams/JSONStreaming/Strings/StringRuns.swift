// Runs of bytes within strings and between tokens, eight at a time in one machine word. These functions only find ends.
// They don't use the scanner's state and report no errors.

import PlistStreaming

/// Searches in JSON text that read words instead of bytes.
@usableFromInline
enum StringRuns {
    @usableFromInline static let notFound: Int = -1

    // PERF: inlinable and always inlined; one test of eight bytes in ten instructions, compared with four tests per
    // byte.
    /// Returns the high bit of each byte that ends a run of plain text: quote, backslash, control character, or not
    /// ASCII.
    ///
    /// Bits above the lowest set one may be wrong, because subtraction borrows upwards; the lowest one is right.
    @inlinable @inline(__always)
    static func specialBytes(in word: UInt64) -> UInt64 {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let quotes = (word ^ (ones &* 0x22)) &- ones
        let backslashes = (word ^ (ones &* 0x5C)) &- ones
        let controls = word &- ones &* 0x20
        return (quotes | backslashes | controls | word) & (ones &* 0x80)
    }

    /// Returns the offset of the quote that closes a string without escapes, or `notFound`.
    ///
    /// The result is `notFound` in all other cases: for an escape, invalid text, or the end of the span.
    @usableFromInline
    static func closingQuote(in bytes: RawSpan, from start: Int) -> Int {
        let end = endOfText(in: bytes, from: start)
        return end >= 0 && bytes.uncheckedByte(end) == UInt8(ascii: "\"") ? end : notFound
    }

    /// Returns the offset of the first quote, backslash or control character after valid text, or `notFound`.
    static func endOfText(in bytes: RawSpan, from start: Int) -> Int {
        var offset = start
        let lastWord = bytes.byteCount &- 8
        while offset <= lastWord {
            let special = specialBytes(in: bytes.uncheckedWord(offset))
            guard special != 0 else {
                offset &+= 8
                continue
            }
            offset &+= special.trailingZeroBitCount &>> 3
            guard bytes.uncheckedByte(offset) >= 0x80 else { return offset }
            offset = endOfMultibyteRun(in: bytes, from: offset)
            if offset < 0 { return notFound }
        }
        return notFound
    }

    /// Returns the offset after a run of valid UTF-8 beyond ASCII, or `notFound` if a sequence is invalid or cut off.
    @usableFromInline
    static func endOfMultibyteRun(in bytes: RawSpan, from start: Int) -> Int {
        var offset = start
        let lastHalf = bytes.byteCount &- 4
        while offset <= lastHalf {
            let half = bytes.uncheckedHalf(offset)
            guard half & 0x80 != 0 else { return offset }
            // SPEC: Unicode 16, table 3-7: no overlong forms, no surrogates, nothing above U+10FFFF.
            if half & 0xC0C0F0 == 0x8080E0 {
                let significant = half & 0x200F
                guard significant != 0, significant != 0x200D else { return notFound }
                offset &+= 3
            } else if half & 0xC0E0 == 0x80C0 {
                guard half & 0x1E != 0 else { return notFound }
                offset &+= 2
            } else if half & 0xC0C0_C0F8 == 0x8080_80F0 {
                guard half & 0x3007 != 0, half & 7 < 4 || half & 0x3007 == 4 else { return notFound }
                offset &+= 4
            } else {
                return notFound
            }
        }
        return notFound
    }

    // PERF: always inlined; half of the bytes in human-readable files are whitespace, skipped eight spaces at a time.
    /// Returns the offset of the first byte that isn't whitespace, or an offset less than eight bytes before the end.
    @inlinable @inline(__always)
    static func endOfWhitespace(in bytes: RawSpan, from start: Int) -> Int {
        var offset = start
        let lastWord = bytes.byteCount &- 8
        while offset <= lastWord {
            let difference = bytes.uncheckedWord(offset) ^ 0x2020_2020_2020_2020
            guard difference != 0 else {
                offset &+= 8
                continue
            }
            offset &+= difference.trailingZeroBitCount &>> 3
            let byte = bytes.uncheckedByte(offset)
            guard byte == 0x0A || byte == 0x0D || byte == 0x09 else { return offset }
            offset &+= 1
        }
        return offset
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension StringRuns: SelfTesting {
    /// The tests of this type.
    @usableFromInline
    static var testSelectors: TestSelectors {
        [
            "testFindsSpecialBytesAtEveryOffset": testFindsSpecialBytesAtEveryOffset,
            "testAgreesWithTheStandardLibraryOnUTF8": testAgreesWithTheStandardLibraryOnUTF8,
            "testFindsTheEndsOfText": testFindsTheEndsOfText,
            "testSkipsWhitespaceOnly": testSkipsWhitespaceOnly,
        ]
    }

    private static func testFindsSpecialBytesAtEveryOffset() {
        for byte in UInt8.min ... .max {
            for place in 0..<8 {
                let word =
                    UInt64(0x6161_6161_6161_6161) & ~(0xFF << UInt64(8 * place)) | UInt64(byte) << UInt64(8 * place)
                let isSpecial = byte < 0x20 || byte == 0x22 || byte == 0x5C || byte >= 0x80
                let found = specialBytes(in: word)
                let expected = isSpecial ? place : 8
                guard found.trailingZeroBitCount >> 3 != expected else { continue }
                expectEqual(found.trailingZeroBitCount >> 3, expected, "byte \(byte) in place \(place)")
            }
        }
        expectEqual(specialBytes(in: 0x6161_6161_6161_6161), 0, "plain text")
    }

    private static func testAgreesWithTheStandardLibraryOnUTF8() {
        // Every first and second byte, with mostly valid continuations.
        for first in UInt8(0x80) ... .max {
            for second in stride(from: UInt8(0x40), through: 0xF0, by: 1) {
                for rest: [UInt8] in [[0x80, 0xBF, 0x61], [0x61, 0x61, 0x61]] {
                    let bytes = [first, second] + rest + [0x61, 0x61, 0x61]
                    let isValid = String(validating: bytes, as: UTF8.self) != nil
                    // SAFETY: the span does not leave the closure.
                    let end = unsafe bytes.withUnsafeBytes { endOfMultibyteRun(in: unsafe $0.bytes, from: 0) }
                    if (end >= 0) != isValid { expectEqual(end >= 0, isValid, "validity of \(bytes)") }
                }
            }
        }
    }

    /// Every length, near the end of the span and far from it.
    private static func testFindsTheEndsOfText() {
        for count in 0..<150 {
            for text in [String(repeating: "x", count: count), String(repeating: "é", count: count / 2)] {
                for (end, isQuote) in [("\"", true), ("\\", false), ("\n", false)] {
                    for rest in [8, 63, 64, 100] {
                        let padded = text + end + String(repeating: "x", count: rest)
                        padded.withUTF8Span { bytes in
                            let found = closingQuote(in: bytes, from: 0)
                            let label = "\(text.utf8.count) bytes and \(end) before \(rest)"
                            expectEqual(found, isQuote ? text.utf8.count : notFound, label)
                            expectEqual(endOfText(in: bytes, from: 0), text.utf8.count, label)
                        }
                    }
                }
                text.withUTF8Span { expectEqual(endOfText(in: $0, from: 0), notFound, "\(count) without an end") }
            }
        }
    }

    private static func testSkipsWhitespaceOnly() {
        for count in 0..<30 {
            let text = String(repeating: " ", count: count) + "\n\r\t  x.............."
            text.withUTF8Span { expectEqual(endOfWhitespace(in: $0, from: 0), count + 5, "\(count) spaces") }
        }
        "\u{B}         ".withUTF8Span { expectEqual(endOfWhitespace(in: $0, from: 0), 0, "a vertical tab") }
    }
}
#endif
