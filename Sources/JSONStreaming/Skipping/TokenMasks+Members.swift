// Members of an object that no one wants, one behind the other: their names are looked at, and the rest of them block by block.
// Like the fast loop it reports no errors: whatever is not plainly valid is left to those who say what is wrong with it.

import PlistStreaming

extension TokenMasks {
    /// Begins to skip members of an object, at a name.
    @inline(__always)  // PERF: JSONTyped/posts; once a run of members that no one wants.
    mutating func beginMembers(at name: Int, of bytes: RawSpan) -> Bool {
        unsafe checked = name
        return unsafe cover(name, of: bytes, atName: true)
    }

    /// The offset of what ends a member, a comma or a brace; `StringRuns.notFound` as above.
    ///
    /// What is skipped is only known to be valid when `areMembersValid` has said so.
    ///
    /// - Parameter start: The offset behind the name and its colon.
    @inline(__always)  // PERF: JSONTyped/posts; once a member that no one wants.
    mutating func endOfMember(_ bytes: RawSpan, from start: Int, depth: Int, limit: Int, last: Int) -> Int {
        let stop = unsafe offset(of: .stops, from: start, bytes, limit: limit)
        guard stop >= 0, stop <= last else { return StringRuns.notFound }
        guard bytes.uncheckedByte(stop) | 0x20 == UInt8(ascii: "{") else { return stop }
        guard unsafe areMembersValid(upTo: stop &+ 1, bytes) else { return StringRuns.notFound }
        let end = unsafe endOfContainer(bytes, from: stop, depth: depth, limit: limit, last: last)
        guard end >= 0 else { return StringRuns.notFound }
        unsafe checked = end
        return unsafe offset(of: .stops, from: end, bytes, limit: limit)
    }

    /// The offset of the quote that closes a name behind another member, with a colon behind it, as `PlainSkip` finds it.
    @inline(__always)  // PERF: JSONTyped/posts; once a member that no one wants.
    mutating func closingQuote(ofName bytes: RawSpan, from start: Int, limit: Int) -> Int {
        let (quote, hasEscapes) = unsafe closingQuote(from: start &+ 1)
        guard quote >= 0, !hasEscapes, quote &+ 1 < bytes.byteCount,
            bytes.uncheckedByte(quote &+ 1) == UInt8(ascii: ":")
        else { return PlainSkip.closingQuote(ofName: bytes, from: start, limit: limit) }
        return quote
    }

    /// The offset of the next bit of a mask from an offset on, or `StringRuns.notFound`.
    @inline(__always)  // PERF: JSONTyped/posts; thrice a member that no one wants.
    mutating func offset(of mask: TokenFinder.Mask, from offset: Int, _ bytes: RawSpan, limit: Int) -> Int {
        let place = unsafe offset &- start
        if unsafe place < end {
            let found = unsafe next(mask, from: place)
            if unsafe found < end { return unsafe start &+ found }
        }
        return unsafe offsetFurther(of: mask, from: offset, bytes, limit: limit)
    }

    @inline(never)
    private mutating func offsetFurther(
        of mask: TokenFinder.Mask, from offset: Int, _ bytes: RawSpan, limit: Int
    ) -> Int {
        while true {
            guard unsafe areMembersValid(upTo: start &+ end, bytes), unsafe advance(bytes, limit: limit) else {
                return StringRuns.notFound
            }
            let place = unsafe max(0, offset &- start)
            guard unsafe place < end else { continue }
            let found = unsafe next(mask, from: place)
            if unsafe found < end { return unsafe start &+ found }
        }
    }

    /// Whether what was skipped of an object is valid up to an offset, apart from containers, which are known to be.
    mutating func areMembersValid(upTo offset: Int, _ bytes: RawSpan) -> Bool {
        guard unsafe offset > checked else { return true }
        let (place, last) = unsafe (checked &- start, offset &- start &- 1)
        unsafe skippedCount &+= offset &- checked
        unsafe checked = offset
        var range: UInt64 = .max &<< UInt64(truncatingIfNeeded: place & 63)
        for index in place &>> 6...last &>> 6 {
            if index == last &>> 6 { range &= .max &>> UInt64(truncatingIfNeeded: 63 &- last & 63) }
            guard unsafe self[.strayInObject, index] & range == 0, unsafe areValid(index, range, bytes) else {
                return false
            }
            range = .max
        }
        return true
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension TokenMasks {
    /// The offset behind the value of a member with an empty name before it, and a comma or a brace behind it.
    mutating func endOfValue(
        _ bytes: RawSpan, from start: Int, depth: Int = 64, limit: Int, last: Int = .max
    ) -> Int {
        guard unsafe beginMembers(at: start - 3, of: bytes) else { return StringRuns.notFound }
        let end = unsafe endOfMember(bytes, from: start, depth: depth, limit: limit, last: last)
        guard end >= 0, unsafe areMembersValid(upTo: end + 1, bytes) else { return StringRuns.notFound }
        let byte = bytes.uncheckedByte(end)
        return byte == UInt8(ascii: ",") || byte == UInt8(ascii: "}") ? end : StringRuns.notFound
    }
}

enum TokenMemberTests {}

extension TokenMemberTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testFindsTheEndsOfValidValues": testFindsTheEndsOfValidValues,
            "testLeavesAllElseToOthers": testLeavesAllElseToOthers,
            "testKeepsLimits": testKeepsLimits,
            "testFindsNothingThatIsCutOff": testFindsNothingThatIsCutOff,
            "testGoesFromNameToName": testGoesFromNameToName,
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

    /// The end of a value, with blanks behind it that are enough.
    private static func end(
        of text: String, before follower: String = ",", depth: Int = 64, limit: Int = 1_000
    ) -> Int {
        let blanks = String(repeating: " ", count: JSONScanner.margin + 12)
        var end = StringRuns.notFound
        unsafe TokenMasks.withMasks(Array("\"\":\(text)\(follower)\(blanks)".utf8)) { masks, bytes in
            unsafe masks.reset(limit: limit)
            end = unsafe masks.endOfValue(bytes, from: 3, depth: depth, limit: limit, last: bytes.byteCount)
        }
        return end < 0 ? end : end - 3
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
            for (follower, count) in [(",", 0), ("}", 0), (" ,", 1), ("\n  }", 3)] {
                expectEqual(
                    end(of: value, before: follower), value.utf8.count + count, "\(value) before \(follower)")
            }
            for follower in ["]", " 1,", "\n", "[],", ":", "\"\","] {
                expectEqual(end(of: value, before: follower), StringRuns.notFound, "\(value) before \(follower)")
            }
        }
    }

    private static func testLeavesAllElseToOthers() {
        for mistake in mistakes {
            for text in nested(mistake) { expectEqual(end(of: text), StringRuns.notFound, text) }
        }
        for text in ["[[1}]", "{\"a\":[1}}", "[{\"a\":1]]", "{\"a\":{\"b\":1]}", "[[1]}", "{\"a\":[]]"] {
            expectEqual(end(of: text), StringRuns.notFound, text)
        }
    }

    private static func testKeepsLimits() {
        for depth in [0, 1, 2, 5, 63, 64, 65] {
            for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
                let text = String(repeating: open, count: depth) + "[0]" + String(repeating: close, count: depth)
                for allowed in [depth, depth + 1, depth + 2] {
                    let isFound = depth + 1 <= min(allowed, 64)
                    expectEqual(
                        end(of: text, depth: allowed), isFound ? text.utf8.count : StringRuns.notFound,
                        "\(depth) \(open) and one, of \(allowed)")
                }
            }
        }
        // Readers with lower limits than 64 do not come here.
        for count in [65, 66, 67, 100, 127, 128, 1_000] {
            let string = "\"" + String(repeating: "s", count: count) + "\""
            for text in [string, "{\(string):0}", "[0,[\(string)]]"] {
                for limit in [count - 1, count] {
                    expectEqual(
                        end(of: text, limit: limit), limit == count ? text.utf8.count : StringRuns.notFound,
                        "\(text) of \(limit)")
                }
            }
        }
    }

    /// Every load is checked against the span in these builds.
    private static func testFindsNothingThatIsCutOff() {
        for value in values {
            for text in nested(value) {
                let padded = Array("\"\":\(text),".utf8) + [UInt8](repeating: 0x20, count: JSONScanner.margin)
                for length in 4 + JSONScanner.margin..<padded.count {
                    unsafe TokenMasks.withMasks(Array(padded[..<length])) { masks, part in
                        let end = unsafe masks.endOfValue(part, from: 3, limit: 1_000, last: length)
                        expectTrue(end == StringRuns.notFound || end == 3 + text.utf8.count, "\(length) of \(text)")
                    }
                }
            }
        }
    }

    /// Members of any length, at any place of blocks and windows.
    private static func testGoesFromNameToName() {
        for count in 0..<140 {
            let filler = String(repeating: "x", count: count)
            let members = [
                "\"\(filler)\":1", "\"a\":[\"\(filler)\",{}]", "\"\":\"\(filler)\\n\"", "\"b\" : []", "\"c\":{}",
            ]
            let text = Array("\(members.joined(separator: " ,\n "))}".utf8) + [UInt8](repeating: 0x20, count: 99)
            unsafe TokenMasks.withMasks(text) { masks, bytes in
                expectTrue(unsafe masks.beginMembers(at: 0, of: bytes), "behind \(count)")
                var (offset, names) = (0, [String]())
                while offset >= 0, bytes.uncheckedByte(offset) == UInt8(ascii: "\"") {
                    let quote = unsafe masks.closingQuote(ofName: bytes, from: offset, limit: 1_000)
                    // A name with a gap behind it is left to others.
                    let end = quote < 0 ? offset + 2 : quote
                    names.append(String(decoding: text[offset...end], as: UTF8.self))
                    offset = unsafe masks.endOfMember(bytes, from: end + 1, depth: 9, limit: 1_000, last: text.count)
                    guard offset >= 0, bytes.uncheckedByte(offset) == UInt8(ascii: ",") else { break }
                    offset = unsafe masks.offset(of: .quotes, from: offset + 1, bytes, limit: 1_000)
                }
                expectEqual(names, ["\"\(filler)\"", "\"a\"", "\"\"", "\"b\"", "\"c\""], "behind \(count)")
                expectTrue(unsafe masks.areMembersValid(upTo: offset + 1, bytes), "behind \(count)")
                expectEqual(text.count - offset, 100, "the end behind \(count)")
            }
        }
    }
}
#endif
