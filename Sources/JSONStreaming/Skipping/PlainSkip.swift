// Values that no one wants: their end, found as strictly as if they were read, without a message.
// Like the fast loop it reports no errors: whatever is not plainly valid is left to those who say what is wrong with it.

import PlistBuilding
import PlistStreaming

/// The ends of plainly valid members and values; `StringRuns.notFound` for all else.
enum PlainSkip {
    /// The offset behind a value.
    ///
    /// - Parameters:
    ///   - start: The offset of its first byte, with `JSONScanner.margin` bytes behind it.
    ///   - depth: The levels of containers that the value may have, itself included; 64 at the most.
    ///   - limit: The longest string in bytes.
    ///   - last: The last offset that is looked at.
    ///   - state: The records, for what is known of their text.
    @inline(__always)  // PERF: JSONTyped/posts; once a member that no one wants.
    static func endOfValue(
        _ bytes: RawSpan, from start: Int, depth: Int, limit: Int, last: Int,
        _ state: UnsafeMutablePointer<RecordState>
    ) -> Int {
        switch bytes.uncheckedByte(start) {
        case UInt8(ascii: "\""):
            let end = endOfShortString(bytes, from: start)
            if end >= 0 { return end }
            // Whoever skips one string only is not to look at what is behind it.
            if let masks = unsafe TokenMasks.known(to: state), unsafe masks.pointee.isNear(start) {
                let end = unsafe masks.pointee.endOfString(bytes, from: start, limit: limit)
                if end >= 0 { return end }
            }
            return endOfString(bytes, from: start, limit: limit)
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            guard let masks = unsafe TokenMasks.made(for: state) else { return StringRuns.notFound }
            return unsafe masks.pointee.endOfContainer(bytes, from: start, depth: depth, limit: limit, last: last)
        case UInt8(ascii: "t"):
            return bytes.uncheckedHalf(start) == 0x6575_7274 ? start &+ 4 : StringRuns.notFound
        case UInt8(ascii: "f"):
            return bytes.uncheckedHalf(start &+ 1) == 0x6573_6C61 ? start &+ 5 : StringRuns.notFound
        case UInt8(ascii: "n"):
            return bytes.uncheckedHalf(start) == 0x6C6C_756E ? start &+ 4 : StringRuns.notFound
        default:
            return endOfNumber(bytes, from: start)
        }
    }

    /// The offset of the quote that closes a name, with a colon behind it.
    ///
    /// The name has no escapes, so that it is the one that it looks like; its opening quote is at the offset.
    @inline(__always)  // PERF: JSONTyped/posts; once a name.
    static func closingQuote(ofName bytes: RawSpan, from start: Int, limit: Int) -> Int {
        let first = StringRuns.specialBytes(in: bytes.uncheckedWord(start &+ 1))
        let second = StringRuns.specialBytes(in: bytes.uncheckedWord(start &+ 9))
        let count = first == 0 ? 8 &+ second.trailingZeroBitCount &>> 3 : first.trailingZeroBitCount &>> 3
        var offset = start &+ 1 &+ count
        if bytes.uncheckedHalf(offset) & 0xFFFF != 0x3A22 {
            offset = StringRuns.closingQuote(in: bytes, from: offset)
            guard offset >= 0, offset &- start <= limit, offset &+ 1 < bytes.byteCount,
                bytes.uncheckedByte(offset &+ 1) == UInt8(ascii: ":")
            else { return StringRuns.notFound }
        }
        return bytes.uncheckedByte(start) == UInt8(ascii: "\"") ? offset : StringRuns.notFound
    }

    /// The offset behind whitespace, mostly one space, none, or a line end with spaces, from an offset near the margin on.
    @inline(__always)  // PERF: JSONTyped/posts; twice a member.
    static func endOfGap(_ bytes: RawSpan, from start: Int) -> Int {
        let byte = bytes.uncheckedByte(start)
        guard byte <= 0x20 else { return start }
        if byte == 0x20, bytes.uncheckedByte(start &+ 1) > 0x20 { return start &+ 1 }
        return endOfLongGap(bytes, from: start)
    }

    /// The offset behind a line end and spaces, or behind other whitespace.
    @inline(__always)  // PERF: JSONTyped/catalogue; once a line.
    private static func endOfLongGap(_ bytes: RawSpan, from start: Int) -> Int {
        // Bounds: 33 bytes and the one behind them are within the margin.
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

    /// The offset behind a string of up to seven plain bytes, of which the opening quote is at the offset.
    @inline(__always)  // PERF: JSONTyped/posts; once a string.
    private static func endOfShortString(_ bytes: RawSpan, from start: Int) -> Int {
        let special = StringRuns.specialBytes(in: bytes.uncheckedWord(start &+ 1))
        let end = start &+ 1 &+ special.trailingZeroBitCount &>> 3
        return bytes.uncheckedByte(end) == UInt8(ascii: "\"") ? end &+ 1 : StringRuns.notFound
    }

    /// The offset behind a string of which the opening quote is at the offset.
    @inline(never)
    static func endOfString(_ bytes: RawSpan, from start: Int, limit: Int) -> Int {
        var offset = start &+ 1
        // Bounds: an escape has twelve bytes at the most.
        let lastWord = bytes.byteCount &- 12
        while offset <= lastWord {
            let special = StringRuns.specialBytes(in: bytes.uncheckedWord(offset))
            guard special != 0 else {
                offset &+= 8
                continue
            }
            offset &+= special.trailingZeroBitCount &>> 3
            let byte = bytes.uncheckedByte(offset)
            if byte == UInt8(ascii: "\"") { return offset &- start &- 1 <= limit ? offset &+ 1 : StringRuns.notFound }
            if byte >= 0x80 {
                offset = StringRuns.endOfMultibyteRun(in: bytes, from: offset)
            } else {
                guard byte == UInt8(ascii: "\\"), offset <= lastWord else { return StringRuns.notFound }
                offset = StringEscapes.end(of: bytes, at: offset)
            }
            guard offset >= 0 else { return StringRuns.notFound }
        }
        return StringRuns.notFound
    }

    /// The offset behind a number of at most 64 bytes that follows the grammar.
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
            return endOfFraction(bytes, from: offset, start)
        }
        return offset
    }

    /// The offset behind digits, 32 at the most, since the margin is not looked beyond.
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
    private static func endOfFraction(_ bytes: RawSpan, from start: Int, _ number: Int) -> Int {
        // Every digit is looked at with a check, since the margin may be behind.
        let end = min(number &+ 64, bytes.byteCount)
        var offset = start
        func skipDigits() -> Bool {
            let first = offset
            while offset < end, bytes.uncheckedByte(offset) &- 0x30 <= 9 { offset &+= 1 }
            return offset > first && offset < end
        }
        if bytes.uncheckedByte(offset) == UInt8(ascii: ".") {
            offset &+= 1
            guard skipDigits() else { return StringRuns.notFound }
        }
        if bytes.uncheckedByte(offset) | 0x20 == UInt8(ascii: "e") {
            offset &+= 1
            guard offset < end else { return StringRuns.notFound }
            let sign = bytes.uncheckedByte(offset)
            if sign == UInt8(ascii: "-") || sign == UInt8(ascii: "+") { offset &+= 1 }
            guard skipDigits() else { return StringRuns.notFound }
        }
        return offset
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension PlainSkip: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testFindsTheEndsOfValidValues": testFindsTheEndsOfValidValues,
            "testLeavesAllElseToOthers": testLeavesAllElseToOthers,
            "testKeepsLimits": testKeepsLimits,
            "testFindsNothingThatIsCutOff": testFindsNothingThatIsCutOff,
        ]
    }

    private static let values = [
        "null", "true", "false", "0", "-0", "7", "-12", "1234567890123456789012345678901", "0.5", "-1.25e-7", "1E+300",
        "2e5",
        "\"\"", "\"a\"", "\"a string of more than eight bytes\"", "\"é\"", #""\n""#, #""\ud83d\ude42 and more of it""#,
        "[]", "{}", "[ ]", "{\n}", "[1]", "[1,2]", "[ 1 , \"a\",null ]", "{\"a\":1}", "{ \"a\": [ ] ,\"b\":{}}",
        "{\"a name of more than sixteen bytes\":true}", "[[],[[]],{}]", "{\"a\":{\"b\":[{\"c\":[1]}]},\"d\":0}",
        "[\n      1,\n      2\n]",
    ]

    private static let mistakes = [
        "tru ", "trux", "nul", "nulL", "fals ", "falsE", "-", "01", "-01", "00", "1.", "1.e5", ".5", "+1", "1e",
        "1e+", "x",
        "\"a\nb\"", "\"never closed", #""\x""#, #""\u00g0""#, #""\ud800""#, "[", "{", "[1", "[1}", "[}", "{]",
        "{\"a\":1]",
        "[1,]", "[,1]", "[,]", "[1 2]", "[1,,2]", "{,}", "{\"a\":1,}", "{\"a\"}", "{\"a\" 1}", "{\"a\":}", "{1:2}",
        "{a:1}",
        "{\"a\":1 \"b\":2}", "{\"a\":1,2}",
    ]

    /// The end of a value behind a byte, with blanks behind it that are enough.
    private static func end(of text: String, depth: Int = 64, limit: Int = 1_000) -> Int {
        let padded = "x" + text + String(repeating: " ", count: JSONScanner.margin + 12)
        return padded.withUTF8Span { bytes in
            unsafe withState(limit: limit) { state in
                unsafe endOfValue(bytes, from: 1, depth: depth, limit: limit, last: bytes.byteCount, state)
            }
        } - 1
    }

    /// Calls a closure with the state of records that lie in no others.
    private static func withState<Value>(
        limit: Int, _ body: (UnsafeMutablePointer<RecordState>) -> Value
    ) -> Value {
        var state = unsafe RecordState()
        unsafe state.limit = limit
        defer { unsafe state.deallocate() }
        return unsafe withUnsafeMutablePointer(to: &state) { state in
            unsafe TokenMasks.prepare(state, isFirst: true)
            return unsafe body(state)
        }
    }

    /// Values within others; the inner one is at the same level as whatever is around it in each of them.
    private static func nested(_ text: String) -> [String] {
        [
            text, "[\(text)]", "{\"k\":\(text)}", "[[0],\(text),{\"k\":0}]", "{\"k\":[\(text)],\"l\":{\"m\":\(text)}}",
            "[{\"k\":{\"l\":\(text)}},[\(text)]]",
        ]
    }

    private static func testFindsTheEndsOfValidValues() {
        for value in values {
            for text in nested(value) { expectEqual(end(of: text), text.utf8.count, text) }
            for follower in [",", "]", "}", " 1", "\n"] {
                expectEqual(end(of: value + follower), value.utf8.count, "\(value) before \(follower)")
            }
        }
    }

    private static func testLeavesAllElseToOthers() {
        for mistake in mistakes {
            for text in nested(mistake) { expectEqual(end(of: text), StringRuns.notFound - 1, text) }
        }
        for text in ["[[1}]", "{\"a\":[1}}", "[{\"a\":1]]", "{\"a\":{\"b\":1]}", "[[1]}", "{\"a\":[]]"] {
            expectEqual(end(of: text), StringRuns.notFound - 1, text)
        }
    }

    private static func testKeepsLimits() {
        for depth in [0, 1, 2, 5, 63, 64, 65] {
            for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
                let text = String(repeating: open, count: depth) + "[0]" + String(repeating: close, count: depth)
                for allowed in [depth, depth + 1, depth + 2] {
                    let isFound = depth + 1 <= min(allowed, 64)
                    expectEqual(
                        end(of: text, depth: allowed), isFound ? text.utf8.count : StringRuns.notFound - 1,
                        "\(depth) \(open) and one, of \(allowed)")
                }
            }
        }
        for count in [20, 21, 40, 66, 67, 100, 1_000] {
            let string = "\"" + String(repeating: "s", count: count) + "\""
            // Readers with lower limits than 64 do not come here.
            for text in count < 66 ? [string] : [string, "{\(string):0}", "[0,[\(string)]]"] {
                for limit in [count - 1, count] {
                    expectEqual(
                        end(of: text, limit: limit), limit == count ? text.utf8.count : StringRuns.notFound - 1,
                        "\(text) of \(limit)")
                }
            }
        }
    }

    /// Every load is checked against the span in these builds.
    private static func testFindsNothingThatIsCutOff() {
        for value in values {
            for text in nested(value) {
                let padded = "x" + text + String(repeating: " ", count: JSONScanner.margin)
                padded.withUTF8Span { bytes in
                    for length in 1 + JSONScanner.margin..<bytes.byteCount {
                        let part = bytes.extracting(0..<length)
                        let end = unsafe withState(limit: 1_000) { state in
                            unsafe endOfValue(part, from: 1, depth: 64, limit: 1_000, last: length, state)
                        }
                        expectTrue(end == StringRuns.notFound || end == 1 + text.utf8.count, "\(length) of \(text)")
                    }
                }
            }
        }
    }
}
#endif
