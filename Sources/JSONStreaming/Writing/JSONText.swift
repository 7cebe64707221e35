// Strings as the JSON writer writes them: checked, quoted, escaped where RFC 8259 section 7 demands it.

import PlistStreaming

/// The text of JSON strings.
enum JSONText {
    /// Checks that a string is valid UTF-8.
    ///
    /// - Throws: `invalidText` for everything else.
    static func check(_ utf8: RawSpan) throws(StreamError) {
        // SAFETY: the bytes do not leave the closure.
        guard unsafe utf8.withUnsafeBytes({ unsafe UTF8Check.isValid($0) }) else { throw invalidText() }
    }

    @inline(never)
    private static func invalidText() -> StreamError {
        StreamError(.invalidText, "got a string that is not valid UTF-8")
    }

    /// The longest string that is tried in one go.
    static let shortByteCount = 256

    // PERF: one pass that checks and copies words, the last one overlapping; most keys and strings end here.
    /// Stores a short string in quotes if it is ASCII, or of more than 16 bytes, without need of escapes, and returns the
    /// number of bytes.
    ///
    /// There must be room for the string and 18 more bytes. 0 stands for any other string.
    @unsafe @inline(__always)
    static func storePlain(_ utf8: RawSpan, at start: UnsafeMutableRawPointer) -> Int {
        let count = utf8.byteCount
        if count < 8 { return unsafe storeWord(utf8, at: start) }
        if count > 16 { return unsafe storeWords(utf8, at: start) }
        // SAFETY: both words are within the string, and there is room for it.
        let (word, last) = (utf8.uncheckedWord(0), utf8.uncheckedWord(count &- 8))
        unsafe start.storeBytes(of: UInt8(ascii: "\""), as: UInt8.self)
        unsafe start.storeBytes(of: word.littleEndian, toByteOffset: 1, as: UInt64.self)
        unsafe start.storeBytes(of: last.littleEndian, toByteOffset: count &- 7, as: UInt64.self)
        unsafe start.storeBytes(of: UInt8(ascii: "\""), toByteOffset: count &+ 1, as: UInt8.self)
        return StringRuns.specialBytes(in: word) | StringRuns.specialBytes(in: last) == 0 ? count &+ 2 : 0
    }

    // PERF: JSONWriter/records; on its own, so that what stores short strings needs few registers.
    /// Stores a string of more than 16 bytes as `storePlain` does.
    @inline(never)
    private static func storeWords(_ utf8: RawSpan, at start: UnsafeMutableRawPointer) -> Int {
        let count = utf8.byteCount
        // SAFETY: words end with the string at the latest, and there is room for it.
        let first = unsafe start + 1
        var special: UInt64 = 0
        var offset = 0
        let last = count &- 8
        while offset < last {
            let word = utf8.uncheckedWord(offset)
            special |= StringRuns.specialBytes(in: word)
            unsafe first.storeBytes(of: word.littleEndian, toByteOffset: offset, as: UInt64.self)
            offset &+= 8
        }
        // The last eight bytes, of which some may be stored already.
        let word = utf8.uncheckedWord(last)
        special |= StringRuns.specialBytes(in: word)
        unsafe first.storeBytes(of: word.littleEndian, toByteOffset: last, as: UInt64.self)
        unsafe start.storeBytes(of: UInt8(ascii: "\""), as: UInt8.self)
        unsafe first.storeBytes(of: UInt8(ascii: "\""), toByteOffset: count, as: UInt8.self)
        return special == 0 || isPlain(utf8) ? count &+ 2 : 0
    }

    // PERF: SQLite/read-non-ASCII; what is plain was stored already.
    /// Whether a string of 16 bytes or more, with characters beyond ASCII, is UTF-8 without need of escapes.
    @inline(never)
    private static func isPlain(_ utf8: RawSpan) -> Bool {
        // SAFETY: the bytes do not leave the closure.
        guard endOfPlainRun(in: utf8, from: 0) == utf8.byteCount else { return false }
        return unsafe utf8.withUnsafeBytes { unsafe UTF8Check.isValid($0) }
    }

    /// Stores a string of up to seven bytes as `storePlain` does, the text and its closing quote as one word.
    @inline(__always)
    private static func storeWord(_ utf8: RawSpan, at start: UnsafeMutableRawPointer) -> Int {
        let count = utf8.byteCount
        var word: UInt64 = 0
        if count >= 4 {
            word = UInt64(utf8.uncheckedHalf(0))
            word |= UInt64(utf8.uncheckedHalf(count &- 4)) &<< UInt64(truncatingIfNeeded: (count &- 4) &* 8)
        } else if count > 0 {
            // The first, the middle and the last of one to three bytes.
            let (middle, last) = (count &>> 1, count &- 1)
            word = UInt64(utf8.uncheckedByte(0))
            word |= UInt64(utf8.uncheckedByte(middle)) &<< UInt64(truncatingIfNeeded: middle &* 8)
            word |= UInt64(utf8.uncheckedByte(last)) &<< UInt64(truncatingIfNeeded: last &* 8)
        }
        let shift = UInt64(truncatingIfNeeded: count &* 8)
        // Spaces fill the rest of the word for the test.
        let special = StringRuns.specialBytes(in: word | 0x2020_2020_2020_2020 &<< shift)
        // SAFETY: there is room for 18 bytes.
        unsafe start.storeBytes(of: UInt8(ascii: "\""), as: UInt8.self)
        unsafe start.storeBytes(of: (word | 0x22 &<< shift).littleEndian, toByteOffset: 1, as: UInt64.self)
        return special == 0 ? count &+ 2 : 0
    }

    /// Writes a string in quotes.
    static func writeQuoted(_ utf8: RawSpan, to output: inout ByteOutput) throws(StreamError) {
        let end = utf8.byteCount
        try output.reserve(end &+ 18)
        output.appendReserved(UInt8(ascii: "\""))
        var runStart = 0
        var offset = 0
        while true {
            offset = endOfPlainRun(in: utf8, from: offset)
            try output.append(utf8.extracting(runStart..<offset))
            guard offset < end else { break }
            try writeEscape(utf8.uncheckedByte(offset), to: &output)
            offset &+= 1
            runStart = offset
        }
        try output.append(UInt8(ascii: "\""))
    }

    // PERF: SQLite/read-non-ASCII, JSONWriter; ten instructions for sixteen bytes of any text.
    /// The offset of the first byte that needs an escape, or the end.
    private static func endOfPlainRun(in utf8: RawSpan, from start: Int) -> Int {
        var offset = start
        let end = utf8.byteCount
        while offset &+ 16 <= end {
            let found = escapes(in: utf8, at: offset)
            let (low, high) = (found[0].littleEndian, found[1].littleEndian)
            if low != 0 { return offset &+ low.trailingZeroBitCount &>> 3 }
            if high != 0 { return offset &+ 8 &+ high.trailingZeroBitCount &>> 3 }
            offset &+= 16
        }
        // The last bytes, of which some were passed already.
        if offset < end, start &+ 16 <= end {
            let found = escapes(in: utf8, at: end &- 16)
            if found[0] | found[1] == 0 { return end }
        }
        while offset < end, !needsEscape(utf8.uncheckedByte(offset)) { offset &+= 1 }
        return offset
    }

    /// Ones in the places of the bytes that need an escape, of sixteen that the caller has checked to be there.
    @inline(__always)
    private static func escapes(in utf8: RawSpan, at offset: Int) -> SIMD2<UInt64> {
        // SAFETY: the callers compare the offset with the count less sixteen.
        let block = unsafe utf8.unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: SIMD16<UInt8>.self)
        // PERF: the types are written out: the general operators of vectors, a loop each, would be chosen otherwise.
        let (quote, backslash) = (SIMD16<UInt8>(repeating: 0x22), SIMD16<UInt8>(repeating: 0x5C))
        let space = SIMD16<UInt8>(repeating: 0x20)
        let found: SIMDMask<SIMD16<Int8>> = (block .== quote) .| (block .== backslash) .| (block .< space)
        // SAFETY: vectors of the same size, of which the lanes are all ones or all zeros.
        return unsafe unsafeBitCast(found, to: SIMD2<UInt64>.self)
    }

    private static func needsEscape(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
    }

    private static func writeEscape(_ byte: UInt8, to output: inout ByteOutput) throws(StreamError) {
        try output.reserve(8)
        output.appendReserved(UInt8(ascii: "\\"))
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): output.appendReserved(byte)
        case 0x08: output.appendReserved(UInt8(ascii: "b"))
        case 0x0C: output.appendReserved(UInt8(ascii: "f"))
        case 0x0A: output.appendReserved(UInt8(ascii: "n"))
        case 0x0D: output.appendReserved(UInt8(ascii: "r"))
        case 0x09: output.appendReserved(UInt8(ascii: "t"))
        default:
            for character: UInt8 in [0x75, 0x30, 0x30, 0x30 + byte >> 4, hexadecimalDigit(byte & 15)] {
                output.appendReserved(character)
            }
        }
    }

    private static func hexadecimalDigit(_ value: UInt8) -> UInt8 {
        value < 10 ? 0x30 + value : 0x57 + value
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension JSONText: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testEscapesWhatItMust": testEscapesWhatItMust,
            "testEscapesInEveryPlace": testEscapesInEveryPlace,
            "testStoresPlainStringsOfEveryLength": testStoresPlainStringsOfEveryLength,
        ]
    }

    private static func quoted(_ text: String) throws -> String? {
        var output = ByteOutput()
        try text.withUTF8Span { try writeQuoted($0, to: &output) }
        return output.withBytes { String(validating: $0) }
    }

    private static func testEscapesWhatItMust() throws {
        expectEqual(try quoted("\"\\/\u{8}\u{c}\n\r\t"), #""\"\\/\b\f\n\r\t""#, "short escapes")
        expectEqual(try quoted("\0\u{1}\u{1f}\u{7f}"), "\"\\u0000\\u0001\\u001f\u{7f}\"", "control characters")
        expectEqual(try quoted("é€🙂\u{2028}"), "\"é€🙂\u{2028}\"", "characters beyond ASCII")
    }

    private static func testEscapesInEveryPlace() throws {
        for count in 0..<40 {
            let head = String(repeating: "a", count: count)
            for tail in ["", "é", "bbbbbbbbb"] {
                expectEqual(try quoted("\(head)\"\(tail)"), "\"\(head)\\\"\(tail)\"", "a quote after \(count) bytes")
                expectEqual(
                    try quoted("é\(head)\n\(tail)"), "\"é\(head)\\n\(tail)\"", "a newline after \(count + 2) bytes")
            }
        }
    }

    private static func testStoresPlainStringsOfEveryLength() throws {
        func stored(_ bytes: [UInt8]) throws -> String? {
            var output = ByteOutput()
            try output.reserve(bytes.count + 24)
            // SAFETY: the span does not leave the closure.
            let count = unsafe bytes.withUnsafeBytes { unsafe storePlain($0.bytes, at: output.end) }
            guard count > 0 else { return nil }
            output.advance(by: count)
            return output.withBytes { String(validating: $0) }
        }
        for count in 14..<50 {
            for character in ["é", "€", "🙂"] {
                for place in 0...count {
                    let text =
                        String(repeating: "a", count: place) + character + String(repeating: "b", count: count - place)
                    let found = try stored(Array(text.utf8))
                    if found != "\"\(text)\"", found != nil || text.utf8.count > 16 { fail("\(text): \(found ?? "-")") }
                    if let found = try stored(Array("\(text)\"".utf8)) { fail("\(text) with a quote: \(found)") }
                }
            }
        }
        for count in 0..<34 {
            let plain = (0..<count).map { 0x61 + UInt8($0 % 26) }
            expectEqual(try stored(plain), "\"\(String(decoding: plain, as: UTF8.self))\"", "\(count) bytes")
            for place in 0..<count {
                for special in [UInt8(0), 0x1F, 0x22, 0x5C, 0x80, 0xFF] {
                    var bytes = plain
                    bytes[place] = special
                    let text = try stored(bytes)
                    if text != nil { expectNil(text, "\(special) at \(place) of \(count) bytes") }
                }
            }
        }
    }
}
#endif
