// The escapes of RFC 8259 section 7: their meaning, and fast unescaping of a whole string.

import PlistBuilding
import PlistStreaming

/// The escapes of JSON strings.
@usableFromInline
enum StringEscapes {
    /// Returns the byte for a letter after a backslash, or nil for `u` and for invalid escapes.
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

    // PERF: JSONReader/posts; finding the end first and then unescaping takes 5 % longer.
    /// Unescapes a string into `text` and returns the offset after its closing quote.
    ///
    /// - Parameter start: The offset after the opening quote.
    /// - Returns: `StringRuns.notFound` for a string that is invalid, cut off or longer than the limit. Then `text` is
    ///   empty, and the plain scanner determines the error.
    @usableFromInline
    static func unescape(_ bytes: RawSpan, from start: Int, into text: inout [UInt8], limit: Int) -> Int {
        text.removeAll(keepingCapacity: true)
        var offset = start
        while true {
            let end = StringRuns.endOfText(in: bytes, from: offset)
            guard end >= 0 else { break }
            append(bytes.extracting(offset..<end), to: &text)
            offset = end
            let byte = bytes.uncheckedByte(offset)
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
        }
        text.removeAll(keepingCapacity: true)
        return StringRuns.notFound
    }

    private static func append(_ run: RawSpan, to text: inout [UInt8]) {
        // SAFETY: the buffer is read only within the closure.
        unsafe run.withUnsafeBytes { unsafe text.append(contentsOf: $0) }
    }

    /// Creates a string from the inside of a valid one that has escapes.
    static func string(of bytes: RawSpan, _ range: Range<Int>) -> String {
        // SAFETY: the memory is as large as the escaped text, and unescaping never makes text longer.
        unsafe withUnsafeTemporaryAllocation(byteCount: range.count, alignment: 8) { buffer in
            guard let memory = buffer.baseAddress else { return "" }
            let count = unsafe unescape(bytes, range, to: memory)
            return unsafe SmallText.checked.string(checked: UnsafeRawBufferPointer(start: memory, count: count).bytes)
        }
    }

    /// Unescapes the inside of a valid string, and returns the number of bytes.
    private static func unescape(_ bytes: RawSpan, _ range: Range<Int>, to memory: UnsafeMutableRawPointer) -> Int {
        // SAFETY: `place` is never greater than `offset`, so a word within the range is stored within the memory; an
        // escape has at least as many bytes as its character.
        let end = range.upperBound
        var place = 0
        var offset = range.lowerBound
        while offset < end {
            if offset &+ 8 <= end {
                let word = bytes.uncheckedWord(offset)
                let others = word ^ 0x5C5C_5C5C_5C5C_5C5C
                let backslashes = (others &- 0x0101_0101_0101_0101) & ~others & 0x8080_8080_8080_8080
                unsafe memory.storeBytes(of: word.littleEndian, toByteOffset: place, as: UInt64.self)
                let count = backslashes.trailingZeroBitCount &>> 3
                place &+= count
                offset &+= count
                if backslashes == 0 { continue }
            } else if bytes.uncheckedByte(offset) != UInt8(ascii: "\\") {
                unsafe memory.storeBytes(of: bytes.uncheckedByte(offset), toByteOffset: place, as: UInt8.self)
                place &+= 1
                offset &+= 1
                continue
            }
            if let meaning = meaning(of: bytes.uncheckedByte(offset &+ 1)) {
                unsafe memory.storeBytes(of: meaning, toByteOffset: place, as: UInt8.self)
                place &+= 1
                offset &+= 2
                continue
            }
            guard let scalar = scalar(in: bytes, at: offset), let encoded = UTF8.encode(scalar) else { break }
            for byte in encoded {
                unsafe memory.storeBytes(of: byte, toByteOffset: place, as: UInt8.self)
                place &+= 1
            }
            offset &+= scalar.value > 0xFFFF ? 12 : 6
        }
        return place
    }

    /// Returns the offset after an escape, or after the two that make one character; twelve bytes are within the span.
    static func end(of bytes: RawSpan, at start: Int) -> Int {
        let letter = bytes.uncheckedByte(start &+ 1)
        guard letter == UInt8(ascii: "u") else {
            return meaning(of: letter) == nil ? StringRuns.notFound : start &+ 2
        }
        guard let scalar = scalar(in: bytes, at: start) else { return StringRuns.notFound }
        return start &+ (scalar.value > 0xFFFF ? 12 : 6)
    }

    /// Returns the character of `\uXXXX` or of a pair of them; twelve bytes from the offset are within the span.
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
            guard let digit = CharacterCode.hexadecimalValue(of: bytes.uncheckedByte(index)) else { return nil }
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
        [
            "testUnescapesOrRefuses": testUnescapesOrRefuses,
            "testUnescapesAtEveryOffset": testUnescapesAtEveryOffset,
            "testReadsNothingAfterTheEnd": testReadsNothingAfterTheEnd,
        ]
    }

    private static func testUnescapesAtEveryOffset() {
        let escapes = [(#"\n"#, "\n"), (#"\u20ac"#, "€"), (#"\ud83d\ude42"#, "🙂"), (#"\""#, "\""), ("é", "é")]
        for count in 0..<20 {
            for (escape, meaning) in escapes {
                for follower in [0, 1, 7, 8, 9] {
                    let (before, after) = (
                        String(repeating: "a", count: count), String(repeating: "é", count: follower)
                    )
                    let text = before + escape + after
                    let expected = before + meaning + after + meaning
                    // No bytes follow the text.
                    let string = (text + escape).withUTF8Span { Self.string(of: $0, 0..<$0.byteCount) }
                    expectEqual(string, expected, text)
                }
            }
        }
    }

    /// In these builds, every load is checked against the span.
    private static func testReadsNothingAfterTheEnd() {
        for count in 0..<9 {
            let before = String(repeating: "a", count: count)
            for escapes in [#"\ud83d\ude42"#, #"\n\u20ac"#, #"\ud83d\ude42\ud83d\ude42"#, #"é\""#] {
                // The span of an array requires macOS 26.
                let text = ContiguousArray("\(before)\(escapes)\"            ".utf8)
                for length in 0...text.count {
                    var bytes: [UInt8] = []
                    // SAFETY: an array of bytes has no gaps between them.
                    let cut = unsafe text.span.bytes.extracting(0..<length)
                    let end = unescape(cut, from: 0, into: &bytes, limit: 100)
                    let isWhole = length == text.count
                    let quote = before.utf8.count + escapes.utf8.count + 1
                    expectTrue(end == quote || end == StringRuns.notFound && !isWhole, "\(length) of \(escapes)")
                    if length < quote { expectEqual(end, StringRuns.notFound, "\(length) of \(escapes)") }
                }
            }
        }
    }

    private static func testUnescapesOrRefuses() {
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
            guard let expected else { continue }
            let string = padded.withUTF8Span { Self.string(of: $0, 0..<end - 1) }
            expectEqual(string, expected, "string of \(text)")
        }
    }
}
#endif
