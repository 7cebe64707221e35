// Strings in the JSON writer: checked, quoted, and escaped where RFC 8259 section 7 requires it.

import PlistStreaming

/// The text of JSON strings.
enum StringText {
    /// Checks that a string is valid UTF-8.
    ///
    /// - Throws: `invalidText` if the string isn't valid UTF-8.
    static func check(_ utf8: RawSpan) throws(StreamError) {
        guard utf8.isValidUTF8 else { throw invalidText() }
    }

    @inline(never)
    private static func invalidText() -> StreamError {
        StreamError(.invalidText, "got a string that is not valid UTF-8")
    }

    /// The maximum length of a string that is stored in one step.
    static let shortByteCount = 256
    /// The number of bytes that `store` needs: a byte may become six, and whole vectors are stored.
    @inline(__always)
    static func maxByteCount(for byteCount: Int) -> Int { 6 &* byteCount &+ 32 }

    // PERF: JSONWriter/records; most keys and strings are two words, the last one overlapping.
    /// Stores a string of up to `shortByteCount` bytes in quotes, escaped, and returns the number of bytes; 0 if it
    /// isn't UTF-8.
    ///
    /// - Parameter isChecked: A Boolean value that indicates whether the string is known to be UTF-8.
    @unsafe @inline(__always)
    static func store(_ utf8: RawSpan, isChecked: Bool, at start: UnsafeMutableRawPointer) -> Int {
        let count = utf8.byteCount
        if count &- 8 <= 8, count >= 8 {
            // SAFETY: both words are within the string, and the memory is large enough for it.
            let (word, last) = (utf8.uncheckedWord(0), utf8.uncheckedWord(count &- 8))
            if StringRuns.specialBytes(in: word) | StringRuns.specialBytes(in: last) == 0 {
                unsafe start.storeBytes(of: UInt8(ascii: "\""), as: UInt8.self)
                unsafe start.storeBytes(of: word.littleEndian, toByteOffset: 1, as: UInt64.self)
                unsafe start.storeBytes(of: last.littleEndian, toByteOffset: count &- 7, as: UInt64.self)
                unsafe start.storeBytes(of: UInt8(ascii: "\""), toByteOffset: count &+ 1, as: UInt8.self)
                return count &+ 2
            }
        } else if count < 8 {
            let word = shortWord(utf8)
            let shift = UInt64(truncatingIfNeeded: count &* 8)
            // For the test, spaces fill the rest of the word; the closing quote is stored with the text.
            if StringRuns.specialBytes(in: word | 0x2020_2020_2020_2020 &<< shift) == 0 {
                unsafe start.storeBytes(of: UInt8(ascii: "\""), as: UInt8.self)
                unsafe start.storeBytes(of: (word | 0x22 &<< shift).littleEndian, toByteOffset: 1, as: UInt64.self)
                return count &+ 2
            }
        }
        return unsafe storeAny(utf8, isChecked: isChecked, at: start)
    }

    /// Stores a string as `store` does.
    @inline(never)
    private static func storeAny(_ utf8: RawSpan, isChecked: Bool, at start: UnsafeMutableRawPointer) -> Int {
        let (count, isASCII) = unsafe storeEscaped(utf8, 0..<utf8.byteCount, at: start + 1)
        guard isChecked || isASCII || utf8.isValidUTF8 else { return 0 }
        // SAFETY: the memory is large enough for the quotes.
        unsafe start.storeBytes(of: UInt8(ascii: "\""), as: UInt8.self)
        unsafe start.storeBytes(of: UInt8(ascii: "\""), toByteOffset: count &+ 1, as: UInt8.self)
        return count &+ 2
    }

    /// Writes a string of UTF-8 in quotes.
    static func writeQuoted(_ utf8: RawSpan, to output: inout ByteOutput) throws(StreamError) {
        try output.append(UInt8(ascii: "\""))
        var offset = 0
        while offset < utf8.byteCount {
            let end = min(offset + shortByteCount, utf8.byteCount)
            try output.reserve(maxByteCount(for: end - offset))
            // SAFETY: memory for it was reserved.
            output.advance(by: unsafe storeEscaped(utf8, offset..<end, at: output.end).count)
            offset = end
        }
        try output.append(UInt8(ascii: "\""))
    }

    // PERF: JSONWriter/strings; one pass that examines sixteen bytes and stores them, even if not all of them count.
    // With the eight bytes of `StringRuns` it takes 8 % longer, and blocks of 64 are larger than most strings.
    /// Stores a part of a string, escaped, and returns the number of bytes, and whether all of them are ASCII.
    @inline(__always)
    private static func storeEscaped(
        _ utf8: RawSpan, _ range: Range<Int>, at start: UnsafeMutableRawPointer
    ) -> (count: Int, isASCII: Bool) {
        var offset = range.lowerBound
        let end = range.upperBound
        var target = unsafe start
        var bits = SIMD2<UInt64>()
        while offset < end {
            let rest = end &- offset
            // SAFETY: sixteen bytes are readable, or as many as are loaded; the memory has capacity for each byte and
            // fifteen more.
            let block = rest >= 16 ? load(utf8, offset) : lastBlock(utf8, from: offset, rest)
            let found = unsafe escapes(in: unsafeBitCast(block, to: SIMD16<UInt8>.self))
            unsafe target.storeBytes(of: block, as: SIMD2<UInt64>.self)
            bits |= block
            let (low, high) = (found[0].littleEndian, found[1].littleEndian)
            if low | high == 0 {
                unsafe target += min(rest, 16)
                offset &+= 16
                continue
            }
            let count = low != 0 ? low.trailingZeroBitCount &>> 3 : 8 &+ high.trailingZeroBitCount &>> 3
            unsafe target += count &+ storeEscape(utf8.uncheckedByte(offset &+ count), at: target + count)
            offset &+= count &+ 1
        }
        return (unsafe target - start, (bits[0] | bits[1]) & 0x8080_8080_8080_8080 == 0)
    }

    @inline(__always)
    private static func load(_ utf8: RawSpan, _ offset: Int) -> SIMD2<UInt64> {
        // SAFETY: the caller has compared the offset with the count.
        unsafe utf8.unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: SIMD2<UInt64>.self)
    }

    /// Returns the last one to fifteen bytes of a part, followed by spaces.
    @inline(__always)
    private static func lastBlock(_ utf8: RawSpan, from offset: Int, _ count: Int) -> SIMD2<UInt64> {
        let spaces: UInt64 = 0x2020_2020_2020_2020
        let shift = UInt64(truncatingIfNeeded: (count & 7) &* 8)
        if count < 8 {
            return SIMD2((shortWord(utf8.extracting(offset..<offset &+ count)) | spaces &<< shift).littleEndian, spaces)
        }
        let (first, last) = (utf8.uncheckedWord(offset), utf8.uncheckedWord(offset &+ count &- 8))
        return SIMD2(first.littleEndian, (shift == 0 ? spaces : last &>> (64 &- shift) | spaces &<< shift).littleEndian)
    }

    /// Returns up to seven bytes of a string, the first in the low bits, followed by zeros.
    @inline(__always)
    private static func shortWord(_ utf8: RawSpan) -> UInt64 {
        let count = utf8.byteCount
        if count >= 4 {
            let shift = UInt64(truncatingIfNeeded: (count &- 4) &* 8)
            return UInt64(utf8.uncheckedHalf(0)) | UInt64(utf8.uncheckedHalf(count &- 4)) &<< shift
        }
        guard count > 0 else { return 0 }
        // The first, the middle and the last of one to three bytes.
        let (middle, last) = (count &>> 1, count &- 1)
        return UInt64(utf8.uncheckedByte(0)) | UInt64(utf8.uncheckedByte(middle)) &<< UInt64(middle &* 8)
            | UInt64(utf8.uncheckedByte(last)) &<< UInt64(last &* 8)
    }

    /// Returns a mask of the bytes that need an escape.
    @inline(__always)
    private static func escapes(in block: SIMD16<UInt8>) -> SIMD2<UInt64> {
        // PERF: the types are explicit, because the compiler would otherwise choose the general vector operators, which
        // are loops.
        let (quote, backslash) = (SIMD16<UInt8>(repeating: 0x22), SIMD16<UInt8>(repeating: 0x5C))
        let space = SIMD16<UInt8>(repeating: 0x20)
        let found: SIMDMask<SIMD16<Int8>> = (block .== quote) .| (block .== backslash) .| (block .< space)
        // SAFETY: vectors of the same size, whose lanes are all ones or all zeros.
        return unsafe unsafeBitCast(found, to: SIMD2<UInt64>.self)
    }

    /// Stores the escape of a byte that needs one, and returns its length. The memory must have capacity for eight
    /// bytes.
    @inline(__always)
    private static func storeEscape(_ byte: UInt8, at target: UnsafeMutableRawPointer) -> Int {
        // The letters of the escapes from 0x08 to 0x0D; 0x0B doesn't have one.
        let letters: UInt64 = 0x72_6600_6E74_62
        let place = UInt64(byte) &- 8
        let letter = byte >= 0x20 ? UInt64(byte) : place < 6 ? letters &>> (place &* 8) & 0xFF : 0
        if letter != 0 {
            unsafe target.storeBytes(of: (0x5C | letter &<< 8).littleEndian, as: UInt64.self)
            return 2
        }
        let digits = UInt64(0x30 | byte &>> 4) &<< 32 | UInt64(hexadecimalDigit(byte & 15)) &<< 40
        unsafe target.storeBytes(of: (0x3030_755C | digits).littleEndian, as: UInt64.self)
        return 6
    }

    private static func hexadecimalDigit(_ value: UInt8) -> UInt8 { value < 10 ? 0x30 + value : 0x57 + value }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension StringText: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testEscapesRequiredCharacters": testEscapesRequiredCharacters,
            "testEscapesAtEveryOffset": testEscapesAtEveryOffset,
            "testStoresStringsOfEveryLength": testStoresStringsOfEveryLength,
            "testEscapesLongStrings": testEscapesLongStrings,
        ]
    }

    private static func quoted(_ text: String) throws -> String? {
        var output = ByteOutput()
        try text.withUTF8Span { try writeQuoted($0, to: &output) }
        return output.withBytes { String(validating: $0) }
    }

    private static func testEscapesRequiredCharacters() throws {
        expectEqual(try quoted("\"\\/\u{8}\u{c}\n\r\t"), #""\"\\/\b\f\n\r\t""#, "short escapes")
        expectEqual(try quoted("\0\u{1}\u{1f}\u{7f}"), "\"\\u0000\\u0001\\u001f\u{7f}\"", "control characters")
        expectEqual(try quoted("é€🙂\u{2028}"), "\"é€🙂\u{2028}\"", "characters beyond ASCII")
    }

    private static func testEscapesAtEveryOffset() throws {
        for count in 0..<40 {
            let head = String(repeating: "a", count: count)
            for tail in ["", "é", "bbbbbbbbb"] {
                expectEqual(try quoted("\(head)\"\(tail)"), "\"\(head)\\\"\(tail)\"", "a quote after \(count) bytes")
                expectEqual(
                    try quoted("é\(head)\n\(tail)"), "\"é\(head)\\n\(tail)\"", "a newline after \(count + 2) bytes")
            }
        }
    }

    private static func stored(_ bytes: [UInt8], isChecked: Bool = false) throws -> String? {
        var output = ByteOutput()
        try output.reserve(maxByteCount(for: bytes.count))
        // SAFETY: the span does not leave the closure.
        let count = unsafe bytes.withUnsafeBytes { unsafe store($0.bytes, isChecked: isChecked, at: output.end) }
        guard count > 0 else { return nil }
        output.advance(by: count)
        return output.withBytes { String(validating: $0) }
    }

    private static func testStoresStringsOfEveryLength() throws {
        for count in 0..<50 {
            for character in ["é", "€", "🙂"] {
                for place in 0...count {
                    let text =
                        String(repeating: "a", count: place) + character + String(repeating: "b", count: count - place)
                    for isChecked in [false, true] {
                        let found = try stored(Array(text.utf8), isChecked: isChecked)
                        if found != "\"\(text)\"" { fail("\(text): \(found ?? "-")") }
                    }
                    let found = try stored(Array("\(text)\"".utf8))
                    if found != "\"\(text)\\\"\"" { fail("\(text) with a quote: \(found ?? "-")") }
                    if let found = try stored(Array(text.utf8) + [0xC3]) { fail("\(text) cut off: \(found)") }
                }
            }
        }
        for count in 0..<70 {
            let plain = (0..<count).map { 0x61 + UInt8($0 % 26) }
            expectEqual(try stored(plain), "\"\(String(decoding: plain, as: UTF8.self))\"", "\(count) bytes")
            for place in 0..<count {
                for special in [UInt8(0), 0x0B, 0x1F, 0x22, 0x5C, 0x80, 0xFF] {
                    var bytes = plain
                    bytes[place] = special
                    let text = try stored(bytes)
                    let escape = [0: "\\u0000", 0x0B: "\\u000b", 0x1F: "\\u001f", 0x22: "\\\"", 0x5C: "\\\\"][special]
                    let (head, tail) = (plain[..<place], plain[(place + 1)...])
                    let expected = escape.map {
                        "\"\(String(decoding: head, as: UTF8.self))\($0)\(String(decoding: tail, as: UTF8.self))\""
                    }
                    if text != expected { expectEqual(text, expected, "\(special) at \(place) of \(count) bytes") }
                }
            }
        }
    }

    /// Strings that are written in several parts, with escapes and non-ASCII characters at random positions.
    private static func testEscapesLongStrings() throws {
        let pieces = ["a", "b", "\"", "\\", "\n", "\u{1}", "\u{7f}", "é", "€", "🙂", "a longer piece of plain text, "]
        var state: UInt64 = 11
        func next(_ bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % bound
        }
        for _ in 0..<100 {
            let text = (0..<next(400)).map { _ in pieces[next(pieces.count)] }.joined()
            let expected = text.unicodeScalars.reduce(into: "\"") { result, scalar in
                switch scalar {
                case "\"", "\\": result += "\\\(scalar)"
                case "\n": result += "\\n"
                case "\u{1}": result += "\\u0001"
                default: result.unicodeScalars.append(scalar)
                }
            }
            let written = try quoted(text)
            if written != expected + "\"" { expectEqual(written, expected + "\"", "text") }
        }
    }
}
#endif
