// Finds the ends of gaps, strings and numbers by words of eight bytes, with the same checks as reading. Like the fast
// loop it reports no errors: the plain scanner handles all text that isn't plainly valid, and reports its errors.

import PlistStreaming

/// The ends of plainly valid tokens; `StringRuns.notFound` for all other text.
enum PlainSkip {
    /// Returns the offset after whitespace, mostly one space, nothing, or a line end with spaces. The start may be near
    /// the margin.
    @inline(__always)  // PERF: JSONTyped/posts; twice a member.
    static func endOfGap(_ bytes: RawSpan, from start: Int) -> Int {
        let byte = bytes.uncheckedByte(start)
        guard byte <= 0x20 else { return start }
        if byte == 0x20, bytes.uncheckedByte(start &+ 1) > 0x20 { return start &+ 1 }
        return endOfLongGap(bytes, from: start)
    }

    /// Returns the offset after a line end and spaces, or after other whitespace.
    @inline(__always)  // PERF: JSONTyped/catalogue; once a line.
    private static func endOfLongGap(_ bytes: RawSpan, from start: Int) -> Int {
        // Bounds: 33 bytes and the next one are within the margin.
        if bytes.uncheckedByte(start) == 0x0A {
            var offset = start &+ 1
            while offset < start &+ 33 {
                let difference = bytes.uncheckedWord(offset) ^ 0x2020_2020_2020_2020
                if difference != 0 {
                    offset &+= difference.trailingZeroBitCount &>> 3
                    if bytes.uncheckedByte(offset) > 0x20 { return offset }
                    break
                }
                offset &+= 8
            }
        }
        return StringRuns.endOfWhitespace(in: bytes, from: start)
    }

    /// Returns the offset after a string whose opening quote is at the given offset.
    @inline(never)
    static func endOfString(_ bytes: RawSpan, from start: Int, limit: Int) -> Int {
        var offset = start &+ 1
        while true {
            offset = StringRuns.endOfText(in: bytes, from: offset)
            guard offset >= 0 else { return StringRuns.notFound }
            let byte = bytes.uncheckedByte(offset)
            if byte == UInt8(ascii: "\"") { return offset &- start &- 1 <= limit ? offset &+ 1 : StringRuns.notFound }
            // Bounds: an escape has at most twelve bytes.
            guard byte == UInt8(ascii: "\\"), offset <= bytes.byteCount &- 12 else { return StringRuns.notFound }
            offset = StringEscapes.end(of: bytes, at: offset)
            guard offset >= 0 else { return StringRuns.notFound }
        }
    }

    /// Returns the offset after a number of at most 64 bytes that follows the grammar.
    @inline(__always)  // PERF: JSONTyped/posts; once a number.
    static func endOfNumber(_ bytes: RawSpan, from start: Int) -> Int {
        var offset = start
        if bytes.uncheckedByte(offset) == UInt8(ascii: "-") { offset &+= 1 }
        let first = bytes.uncheckedByte(offset)
        let firstDigit = offset
        offset = endOfDigits(bytes, from: offset)
        guard offset > firstDigit, first != UInt8(ascii: "0") || offset == firstDigit &+ 1 else {
            return StringRuns.notFound
        }
        let follower = bytes.uncheckedByte(offset)
        if follower == UInt8(ascii: ".") || follower | 0x20 == UInt8(ascii: "e") {
            return endOfFraction(bytes, from: start)
        }
        return offset
    }

    /// Returns the offset after at most 32 digits, because the function reads only within the margin.
    @inline(__always)  // PERF: see above.
    private static func endOfDigits(_ bytes: RawSpan, from start: Int) -> Int {
        var offset = start
        while offset &- start < 32 {
            let digits = bytes.uncheckedWord(offset) ^ 0x3030_3030_3030_3030
            let others = ((digits &+ 0x7676_7676_7676_7676) | digits) & 0x8080_8080_8080_8080
            if others != 0 { return offset &+ others.trailingZeroBitCount &>> 3 }
            offset &+= 8
        }
        return start
    }

    @inline(never)
    private static func endOfFraction(_ bytes: RawSpan, from start: Int) -> Int {
        guard let number = DecimalNumber(bytes, from: start), number.end &- start < 64, number.end < bytes.byteCount
        else { return StringRuns.notFound }
        return number.end
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension PlainSkip: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testFindsTheEndsOfStrings": testFindsTheEndsOfStrings,
            "testFindsTheEndsOfNumbers": testFindsTheEndsOfNumbers,
            "testFindsTheEndsOfGaps": testFindsTheEndsOfGaps,
        ]
    }

    /// Returns the result of a function after one byte, with enough spaces after the text, and compares it for any
    /// number of spaces.
    private static func end(of text: String, _ find: (RawSpan, Int) -> Int) -> Int {
        let padded = "x" + text + String(repeating: " ", count: JSONScanner.margin)
        return padded.withUTF8Span { bytes in
            let end = find(bytes, 1)
            for length in 1 + JSONScanner.margin..<bytes.byteCount {
                // In these builds, every load is checked against the span.
                let cut = find(bytes.extracting(0..<length), 1)
                expectTrue(cut == end || cut == StringRuns.notFound, "\(length) bytes of \(text)")
            }
            return end < 0 ? end : end - 1
        }
    }

    private static func testFindsTheEndsOfStrings() {
        for text in [
            "\"\"", "\"a\"", "\"a string of more than eight bytes\"", "\"é\"", #""\n""#,
            #""\ud83d\ude42 and more of it""#,
        ] {
            let count = text.utf8.count
            for limit in [count - 3, count - 2] {
                let found = end(of: text) { endOfString($0, from: $1, limit: limit) }
                expectEqual(found, limit == count - 2 ? count : StringRuns.notFound, "\(text) of \(limit)")
            }
        }
        for text in ["\"a\nb\"", "\"never closed", #""\x""#, #""\u00g0""#, #""\ud800""#, "\"\u{1}\""] {
            expectEqual(end(of: text) { endOfString($0, from: $1, limit: 100) }, StringRuns.notFound, text)
        }
    }

    private static func testFindsTheEndsOfNumbers() {
        for text in [
            "0", "-0", "7", "-12", "1234567890123456789012345678901", "0.5", "-1.25e-7", "1E+300", "2e5",
        ] {
            for follower in [",", "]", "}", " 1", "\n"] {
                let found = end(of: text + follower) { endOfNumber($0, from: $1) }
                expectEqual(found, text.utf8.count, "\(text) before \(follower)")
            }
        }
        for text in ["-", "01", "-01", "00", "1.", "1.e5", ".5", "+1", "1e", "1e+", "x"] {
            expectEqual(end(of: text) { endOfNumber($0, from: $1) }, StringRuns.notFound, text)
        }
    }

    private static func testFindsTheEndsOfGaps() {
        for count in 0..<70 {
            let spaces = String(repeating: " ", count: count)
            for gap in [spaces, "\n\(spaces)", "\r\n\(spaces)", "\t\(spaces)", "\(spaces)\n"] {
                let padded = "x\(gap)1" + String(repeating: " ", count: JSONScanner.margin)
                let found = padded.withUTF8Span { endOfGap($0, from: 1) }
                expectEqual(found, 1 + gap.utf8.count, "\(gap.utf8.count) bytes")
            }
        }
    }
}
#endif
