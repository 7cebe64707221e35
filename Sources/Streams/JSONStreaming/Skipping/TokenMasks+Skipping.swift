// Skips unneeded values by their tokens, with the same checks as reading but without messages. Like the fast loop it
// reports no errors: the plain scanner handles all text that isn't plainly valid, and reports its errors.

import PlistStreaming

extension TokenMasks {
    /// Returns the offset after a container.
    ///
    /// - Parameters:
    ///   - start: The offset of its first byte, at the beginning of a value.
    ///   - depth: The maximum nesting depth of the value, including itself; at most 64.
    ///   - limit: The maximum length of a string in bytes, the same as in the last initialization or reset.
    ///   - last: The last offset to examine.
    /// - Returns: `StringRuns.notFound` if the container isn't plainly valid or isn't complete.
    mutating func endOfContainer(_ bytes: RawSpan, from start: Int, depth: Int, limit: Int, last: Int) -> Int {
        guard depth > 0 else { return StringRuns.notFound }
        // Many containers are empty: then the second byte closes the container.
        let (opener, next) = (bytes.uncheckedByte(start), bytes.uncheckedByte(start &+ 1))
        if next == opener &+ 2 { return start &+ 2 }
        guard unsafe cover(start, of: bytes) else { return StringRuns.notFound }
        let deepest = min(depth, 64)
        let place = unsafe start &- self.start
        var index = place &>> 6
        // One bit per level, the innermost in the lowest bit: set if the container is an object.
        var objects = UInt64(opener &>> 5 & 1)
        var level = 1
        var rest: UInt64 = ~1 &<< UInt64(truncatingIfNeeded: place & 63)
        // PERF: JSONTyped/posts; the kind of bracket is unpredictable, so the code doesn't branch on it.
        var wrong: UInt64 = 0
        while true {
            let (base, first) = unsafe (self.start &+ index &* 64, rest)
            let (inArray, inObject) = unsafe (self[.strayInArray, index], self[.strayInObject, index])
            var brackets = unsafe self[.brackets, index] & rest
            while brackets != 0 {
                let bit = brackets & (0 &- brackets)
                let upTo = bit | (bit &- 1)
                wrong |= (objects & 1 != 0 ? inObject : inArray) & rest & upTo
                rest &= ~upTo
                brackets ^= bit
                let offset = base &+ bit.trailingZeroBitCount
                let byte = UInt64(bytes.uncheckedByte(offset))
                let (isObject, isEnd) = (byte &>> 5 & 1, byte &>> 2 & 1)
                wrong |= (objects ^ isObject) & isEnd
                objects = isEnd != 0 ? objects &>> 1 : objects &<< 1 | isObject
                level = isEnd != 0 ? level &- 1 : level &+ 1
                guard UInt(bitPattern: level &- 1) >= UInt(bitPattern: deepest) else { continue }
                guard level == 0, wrong == 0 else { return StringRuns.notFound }
                unsafe skippedCount &+= offset &- start
                return unsafe areValid(index, first & upTo, bytes) ? offset &+ 1 : StringRuns.notFound
            }
            wrong |= (objects & 1 != 0 ? inObject : inArray) & rest
            guard wrong == 0, unsafe areValid(index, first, bytes) else { return StringRuns.notFound }
            rest = .max
            index &+= 1
            guard base &+ 64 <= last else { return StringRuns.notFound }
            if unsafe index == count {
                guard unsafe advance(bytes, limit: limit) else { return StringRuns.notFound }
                index = 0
            }
        }
    }

    // MARK: Strings and scalars

    /// Returns the offset of the quote that closes a string, searching from an offset within it, and whether escapes
    /// precede it.
    @inline(__always)  // PERF: JSONTyped/posts; once a string of more than a word.
    mutating func closingQuote(from offset: Int) -> (offset: Int, hasEscapes: Bool) {
        let place = unsafe offset &- start
        guard unsafe place >= 0 && place < end else { return (StringRuns.notFound, false) }
        let quote = unsafe next(.quotes, from: place)
        guard unsafe quote < end else { return (StringRuns.notFound, false) }
        return unsafe (start &+ quote, has(.escapes, from: place, to: quote))
    }

    /// Returns whether the escapes between two offsets, both in known blocks, are valid.
    mutating func areEscapesValid(_ bytes: RawSpan, _ range: Range<Int>) -> Bool {
        let (place, last) = unsafe (range.lowerBound &- start, range.upperBound &- start)
        var mask: UInt64 = .max &<< UInt64(truncatingIfNeeded: place & 63)
        for index in place &>> 6...last &>> 6 {
            if index == last &>> 6 { mask &= ~(.max &<< UInt64(truncatingIfNeeded: last & 63)) }
            guard unsafe areEscapes(self[.escapes, index] & mask, bytes, start &+ index &* 64) else { return false }
            mask = .max
        }
        return true
    }

    /// Returns whether the numbers, literals and escapes of a block are valid.
    @inline(__always)  // PERF: JSONTyped/posts; once a block.
    mutating func areValid(_ index: Int, _ range: UInt64, _ bytes: RawSpan) -> Bool {
        let base = unsafe start &+ index &* 64
        var scalars = unsafe self[.scalars, index] & range
        while scalars != 0 {
            guard unsafe Self.isScalar(bytes, at: base &+ scalars.trailingZeroBitCount) else { return false }
            scalars &= scalars &- 1
        }
        let escapes = unsafe self[.escapes, index] & range
        return unsafe escapes == 0 || areEscapes(escapes, bytes, base)
    }

    /// Returns whether a complete number or literal is at an offset.
    @inline(__always)  // PERF: JSONTyped/posts; once a number or literal.
    private static func isScalar(_ bytes: RawSpan, at start: Int) -> Bool {
        guard start <= bytes.byteCount &- JSONScanner.margin else { return false }
        let end: Int
        let half = bytes.uncheckedHalf(start)
        let first = UInt8(truncatingIfNeeded: half)
        if first >= UInt8(ascii: "a") {
            // PERF: JSONTyped/posts; which literal it is is unpredictable.
            let isFalse = first == UInt8(ascii: "f")
            let literal: UInt32 = isFalse ? 0x736C_6166 : first == UInt8(ascii: "t") ? 0x6575_7274 : 0x6C6C_756E
            let fifth = bytes.uncheckedByte(start &+ 4)
            guard half ^ literal | (isFalse ? UInt32(fifth ^ UInt8(ascii: "e")) : 0) == 0 else { return false }
            end = start &+ (isFalse ? 5 : 4)
        } else {
            end = PlainSkip.endOfNumber(bytes, from: start)
            guard end >= 0, end < bytes.byteCount else { return false }
        }
        let follower = bytes.uncheckedByte(end)
        return follower == UInt8(ascii: ",") || follower <= 0x20 || follower | 0x20 == UInt8(ascii: "}")
    }

    /// Returns whether all escapes are valid in RFC 8259 and all surrogates are paired.
    @inline(never)
    private mutating func areEscapes(_ bits: UInt64, _ bytes: RawSpan, _ base: Int) -> Bool {
        var rest = bits
        while rest != 0 {
            let start = base &+ rest.trailingZeroBitCount
            rest &= rest &- 1
            // The second escape of a pair, maybe in another block, was already checked with the first one.
            if unsafe start == secondOfPair { continue }
            // Bounds: an escape has at most twelve bytes.
            guard start <= bytes.byteCount &- 12 else { return false }
            let end = StringEscapes.end(of: bytes, at: start)
            guard end >= 0 else { return false }
            if end &- start == 12 { unsafe secondOfPair = start &+ 6 }
        }
        return true
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

enum TokenSkippingTests {}

extension TokenSkippingTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testSkipsExactlyReadableText": testSkipsExactlyReadableText,
            "testSkipsPairsOfSurrogatesAcrossBlocks": testSkipsPairsOfSurrogatesAcrossBlocks,
            "testMeasuresStringsAcrossWindows": testMeasuresStringsAcrossWindows,
            "testMeasuresStringsAtAnyOffset": testMeasuresStringsAtAnyOffset,
            "testSkipsTextBeforeIncompleteCharacter": testSkipsTextBeforeIncompleteCharacter,
            "testSkipsValuesLongerThanItsMemory": testSkipsValuesLongerThanItsMemory,
            "testFindsTheEndsOfStrings": testFindsTheEndsOfStrings,
        ]
    }

    /// Returns the end of a container after the given number of spaces, or -1. Enough bytes follow the container.
    private static func end(of text: String, after count: Int = 0, limit: Int = 100_000, depth: Int = 64) -> Int {
        let bytes =
            [UInt8](repeating: 0x20, count: count) + Array(text.utf8)
            + [UInt8](repeating: 0x20, count: JSONScanner.margin)
        var end = 0
        unsafe TokenMasks.withMasks(bytes) { masks, bytes in
            unsafe masks.reset(limit: limit)
            end = unsafe masks.endOfContainer(bytes, from: count, depth: depth, limit: limit, last: bytes.byteCount)
        }
        return end < 0 ? end : end - count
    }

    /// Random tokens, mostly in a valid order, and every possible change of some texts: all skipped text can be read,
    /// and all readable text with at most 64 levels is skipped.
    private static func testSkipsExactlyReadableText() {
        var generator = TestRandom(seed: 20_261_122)
        var skipped = 0
        for round in 0..<3_000 {
            var text = container(&generator, levels: 4)
            if round % 3 != 0 { text = mutated(text, &generator) }
            guard let first = text.utf8.first, first == UInt8(ascii: "[") || first == UInt8(ascii: "{") else {
                continue
            }
            let outcome = JSONScanner.outcome([Array(text.utf8)])
            let expected = outcome.contains("! ") ? StringRuns.notFound : text.utf8.count
            let found = end(of: text, after: Int.random(in: 0..<3, using: &generator))
            skipped += found > 0 ? 1 : 0
            // A container may end before the text does. Then the error is in the text after it.
            if found != expected, !(found > 0 && outcome.contains("the end of the input")) || found > text.utf8.count {
                expectEqual(found, expected, "\(text) \(outcome)")
            }
        }
        expectGreaterThan(skipped, 1_000, "containers that were skipped")
    }

    private static func container(_ generator: inout TestRandom, levels: Int) -> String {
        func gap() -> String { ["", " ", "", "\n    ", "", "\t", ""].randomElement(using: &generator) ?? "" }
        func string() -> String {
            let parts = [
                "a", "bc", "é", "🙂", "\\\\", "\\\"", "\\n", "\\u00e9", "\\ud83d\\ude42", "{", "]", ",", ":",
                "long text",
            ]
            let count = Int.random(in: 0..<7, using: &generator)
            return "\"" + (0..<count).map { _ in parts.randomElement(using: &generator) ?? "" }.joined() + "\""
        }
        func value(_ levels: Int) -> String {
            switch Int.random(in: 0..<(levels > 0 ? 9 : 6), using: &generator) {
            case 0: return string()
            case 1: return "null"
            case 2: return "true"
            case 3: return "false"
            case 4: return String(Int.random(in: -100_000...100_000, using: &generator))
            case 5: return ["0", "-0.5", "1e5", "12.25E-3", "1234567890123"].randomElement(using: &generator) ?? "0"
            default: return container(levels - 1)
            }
        }
        func container(_ levels: Int) -> String {
            let isObject = Bool.random(using: &generator)
            let count = Int.random(in: 0..<5, using: &generator)
            let members = (0..<count).map { _ in
                gap() + (isObject ? string() + gap() + ":" + gap() : "") + value(levels) + gap()
            }
            return (isObject ? "{" : "[") + (count == 0 ? gap() : members.joined(separator: ","))
                + (isObject ? "}" : "]")
        }
        return container(levels)
    }

    /// Returns a text with one byte changed, removed or repeated.
    private static func mutated(_ text: String, _ generator: inout TestRandom) -> String {
        var bytes = Array(text.utf8)
        let place = Int.random(in: 0..<bytes.count, using: &generator)
        let alphabet = Array("\"\\[]{},: 0-.eaun".utf8)
        switch Int.random(in: 0..<3, using: &generator) {
        case 0: bytes[place] = alphabet.randomElement(using: &generator) ?? 0
        case 1: bytes.remove(at: place)
        default: bytes.insert(alphabet.randomElement(using: &generator) ?? 0, at: place)
        }
        return String(validating: bytes, as: UTF8.self) ?? text
    }

    private static func testSkipsPairsOfSurrogatesAcrossBlocks() {
        for count in 0..<70 {
            let padding = String(repeating: "x", count: count)
            for (escapes, isValid) in [
                (#"\ud83d\ude42"#, true), (#"\ud83d\ude42\ud83d\ude42"#, true), (#"\ude42"#, false),
                (#"\\ud83d\ude42"#, false), (#"\ud83d\ud83d"#, false), (#"\ud83dx"#, false),
            ] {
                let text = "[\"\(padding)\(escapes)\"]"
                expectEqual(end(of: text), isValid ? text.utf8.count : StringRuns.notFound, text)
            }
        }
    }

    private static func testMeasuresStringsAcrossWindows() {
        for limit in [64, 100, 127, 128, 1_000, 4_096, 5_000] {
            for length in [limit - 1, limit, limit + 1] {
                for count in Array(0..<70) + [123, 124, 500, 507] where count <= limit {
                    let text =
                        "[\"\(String(repeating: "y", count: count))\",\"\(String(repeating: "x", count: length))\"]"
                    let expected = length <= limit ? text.utf8.count : StringRuns.notFound
                    expectEqual(end(of: text, limit: limit), expected, "\(length) bytes behind \(count), of \(limit)")
                }
            }
        }
    }

    /// Strings begin at any position in blocks and windows, and are much longer than a window.
    private static func testMeasuresStringsAtAnyOffset() {
        for count in 0..<300 {
            let text = "[\"\(String(repeating: "y", count: count))\",\"\(String(repeating: "x", count: 9_000))\"]"
            expectEqual(end(of: text, limit: 8_999), StringRuns.notFound, "too long, behind \(count)")
            expectEqual(end(of: text, limit: 9_000), text.utf8.count, "not too long, behind \(count)")
            expectEqual(end(of: text, limit: .max), text.utf8.count, "without a limit, behind \(count)")
        }
    }

    /// A character that is cut at the end of a chunk doesn't prevent skipping the text before it.
    private static func testSkipsTextBeforeIncompleteCharacter() {
        for character in ["é", "€", "🙂"] {
            for count in 0..<140 {
                for cut in 1..<character.utf8.count {
                    let text = "[\"a\",{}]" + String(repeating: " ", count: JSONScanner.margin + count)
                    let bytes = Array(text.utf8) + character.utf8.prefix(cut)
                    unsafe TokenMasks.withMasks(bytes) { masks, bytes in
                        let end = unsafe masks.endOfContainer(bytes, from: 0, depth: 9, limit: 100, last: 60)
                        expectEqual(end, 8, "\(cut) bytes of \(character) behind \(count)")
                    }
                }
            }
        }
    }

    private static func testSkipsValuesLongerThanItsMemory() {
        let inner = (0..<3_000).map { "{\"number\":\($0),\"text\":\"é\\n\",\"list\":[true,null]}" }.joined(
            separator: ",")
        for text in ["[\(inner)]", "{\"a\":[\(inner)],\"b\":{}}"] {
            expectEqual(end(of: text), text.utf8.count, "\(text.utf8.count) bytes")
            expectEqual(end(of: String(text.dropLast())), StringRuns.notFound, "without its end")
        }
    }

    /// Each string alone and with text after it, skipped as part of a value.
    private static func testFindsTheEndsOfStrings() {
        for length in [0, 1, 61, 62, 63, 64, 125, 126, 127, 128, 500, 511, 512, 513, 5_000, 9_999, 10_000, 10_001] {
            for (text, hasEscapes, isValid) in [
                ("", false, true), ("é", false, true), (#"\n"#, true, true), (#"\\"#, true, true),
                (#"\x"#, true, false), (#"\ud83d\ude42"#, true, true), (#"\ude42"#, true, false),
                (#"\\\""#, true, true), ("\n", false, false),
            ] {
                let string = "\"" + String(repeating: "x", count: max(0, length - text.utf8.count)) + text + "\""
                let count = string.utf8.count - 2
                let bytes = Array("\"\":\(string),\"\":".utf8) + [UInt8](repeating: 0x20, count: JSONScanner.margin)
                unsafe TokenMasks.withMasks(bytes) { masks, bytes in
                    unsafe masks.reset(limit: 10_000)
                    let end = unsafe masks.endOfValue(bytes, from: 3, limit: 10_000)
                    let isWithin = isValid && count <= 10_000
                    expectEqual(end, isWithin ? count + 5 : StringRuns.notFound, "\(count) bytes with \(text)")
                    guard text != "\n", count < 120 else { return }
                    for offset in 4...4 + count {
                        let quote = unsafe masks.closingQuote(from: offset)
                        // Searching from within an escape may find another quote.
                        guard !hasEscapes || offset == 4 || offset == 4 + count else { continue }
                        let words = "from \(offset) of \(count) with \(text)"
                        expectEqual(quote.offset, count + 4, words)
                        expectEqual(quote.hasEscapes, hasEscapes && offset == 4, "escapes \(words)")
                        if quote.hasEscapes {
                            expectEqual(unsafe masks.areEscapesValid(bytes, offset..<quote.offset), isValid, words)
                        }
                    }
                    for offset in [-1, 128, 9_000] {
                        let quote = unsafe masks.closingQuote(from: offset)
                        expectEqual(quote.offset, StringRuns.notFound, "at \(offset), which is not known")
                    }
                }
            }
        }
    }
}
#endif
