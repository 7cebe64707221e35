// Skips consecutive unneeded members of an object: it examines their names, and the rest of them block by block. Like
// the fast loop it reports no errors: the plain scanner handles all text that isn't plainly valid, and reports its
// errors.

import PlistStreaming

extension TokenMasks {
    /// A walk through the members of an object, from mark to mark.
    struct MemberWalk {
        /// The current block, and its marks that were not examined yet.
        fileprivate(set) var index: Int
        fileprivate(set) var marks: UInt64
        /// The bytes of the block that are in the object itself, not in containers within it, and not yet known to be
        /// valid.
        fileprivate(set) var rest: UInt64
        /// The offset after the name or container from which nothing is counted as skipped.
        fileprivate(set) var start: Int
    }

    /// Begins to skip members of an object at the quote of a name, which isn't counted as a mark.
    mutating func beginMembers(at name: Int, of bytes: RawSpan) -> MemberWalk? {
        guard unsafe cover(name, of: bytes, atName: true) else { return nil }
        let place = unsafe name &- start
        let rest: UInt64 = .max &<< UInt64(truncatingIfNeeded: place & 63)
        return unsafe MemberWalk(
            index: place &>> 6, marks: self[.marks, place &>> 6] & rest &<< 1, rest: rest,
            start: name)
    }

    /// Returns the offset of the next mark: the first quote of a name, a bracket or brace, or text in a name that isn't
    /// plain.
    ///
    /// The text before it is valid in the blocks before its own, except for the containers that it finds and that are
    /// not skipped; in its own block, if `areValid` returns true. For `StringRuns.notFound`, see above.
    @inline(__always)  // PERF: JSONTyped/posts; once an unneeded member.
    mutating func nextMark(_ walk: inout MemberWalk, _ bytes: RawSpan, limit: Int) -> Int {
        while walk.marks == 0 {
            guard unsafe endBlock(&walk, bytes, limit: limit) else { return StringRuns.notFound }
        }
        let place = walk.index &* 64 &+ walk.marks.trailingZeroBitCount
        walk.marks &= walk.marks &- 1
        return unsafe start &+ place
    }

    /// Moves to the next block if this one is valid.
    @inline(__always)  // PERF: JSONTyped/posts; once a block.
    private mutating func endBlock(_ walk: inout MemberWalk, _ bytes: RawSpan, limit: Int) -> Bool {
        guard unsafe self[.strayInObject, walk.index] & walk.rest == 0, unsafe areValid(walk.index, walk.rest, bytes)
        else { return false }
        walk.index &+= 1
        if unsafe walk.index == count {
            guard unsafe advance(bytes, limit: limit) else { return false }
            walk.index = 0
        }
        walk.rest = .max
        walk.marks = unsafe self[.marks, walk.index]
        return true
    }

    /// Returns whether the members are valid up to and including a mark at an offset. Containers are already known to
    /// be valid.
    mutating func areValid(_ walk: MemberWalk, upTo mark: Int, _ bytes: RawSpan) -> Bool {
        let place = unsafe mark &- start
        let range = walk.rest & (.max &>> UInt64(truncatingIfNeeded: 63 &- place & 63))
        unsafe skippedCount &+= mark &- walk.start
        return unsafe self[.strayInObject, walk.index] & range == 0 && areValid(walk.index, range, bytes)
    }

    /// Moves past a container at a mark; returns false if the container or the text before it isn't plainly valid.
    mutating func skipContainer(
        _ walk: inout MemberWalk, _ bytes: RawSpan, at mark: Int, depth: Int, limit: Int, last: Int
    ) -> Bool {
        guard unsafe areValid(walk, upTo: mark, bytes) else { return false }
        let end = unsafe endOfContainer(bytes, from: mark, depth: depth, limit: limit, last: last)
        guard end >= 0 else { return false }
        let place = unsafe end &- start
        walk.start = end
        walk.index = place &>> 6
        if unsafe walk.index == count {
            guard unsafe advance(bytes, limit: limit) else { return false }
            walk.index = 0
        }
        walk.rest = .max &<< UInt64(truncatingIfNeeded: place & 63)
        walk.marks = unsafe self[.marks, walk.index] & walk.rest
        return true
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension TokenMasks {
    /// Returns the offset of the comma after the value of a member with an empty name before it, if another name
    /// follows the comma immediately, or of the brace.
    mutating func endOfValue(
        _ bytes: RawSpan, from start: Int, depth: Int = 64, limit: Int, last: Int = .max
    ) -> Int {
        guard var walk = unsafe beginMembers(at: start - 3, of: bytes) else { return StringRuns.notFound }
        while true {
            let mark = unsafe nextMark(&walk, bytes, limit: limit)
            guard mark >= 0, mark <= last else { return StringRuns.notFound }
            switch bytes.uncheckedByte(mark) {
            case UInt8(ascii: "["), UInt8(ascii: "{"):
                guard
                    unsafe skipContainer(&walk, bytes, at: mark, depth: depth, limit: limit, last: last)
                else { return StringRuns.notFound }
            case UInt8(ascii: "\""): return unsafe areValid(walk, upTo: mark, bytes) ? mark - 1 : StringRuns.notFound
            case UInt8(ascii: "}"): return unsafe areValid(walk, upTo: mark, bytes) ? mark : StringRuns.notFound
            default: return StringRuns.notFound
            }
        }
    }
}

enum TokenMemberTests {}

extension TokenMemberTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testFindsTheEndsOfValidValues": testFindsTheEndsOfValidValues,
            "testFindsNoEndOfInvalidValues": testFindsNoEndOfInvalidValues,
            "testEnforcesLimits": testEnforcesLimits,
            "testFindsNoEndOfTruncatedValues": testFindsNoEndOfTruncatedValues,
            "testMovesFromNameToName": testMovesFromNameToName,
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

    /// Returns the end of a value that is followed by enough spaces.
    private static func end(
        of text: String, before follower: String = ",", depth: Int = 64, limit: Int = 1_000
    ) -> Int {
        let blanks = String(repeating: " ", count: JSONScanner.margin + 12)
        var end = StringRuns.notFound
        unsafe TokenMasks.withMasks(Array("\"\":\(text)\(follower)\"\":\(blanks)".utf8)) { masks, bytes in
            unsafe masks.reset(limit: limit)
            end = unsafe masks.endOfValue(bytes, from: 3, depth: depth, limit: limit, last: bytes.byteCount)
        }
        return end < 0 ? end : end - 3
    }

    /// Returns texts with a value within others; in each of them the inner value is at the same level.
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

    private static func testFindsNoEndOfInvalidValues() {
        for mistake in mistakes {
            for text in nested(mistake) { expectEqual(end(of: text), StringRuns.notFound, text) }
        }
        for text in ["[[1}]", "{\"a\":[1}}", "[{\"a\":1]]", "{\"a\":{\"b\":1]}", "[[1]}", "{\"a\":[]]"] {
            expectEqual(end(of: text), StringRuns.notFound, text)
        }
    }

    private static func testEnforcesLimits() {
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
        // Readers with lower limits than 64 don't use this code.
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

    /// In these builds, every load is checked against the span.
    private static func testFindsNoEndOfTruncatedValues() {
        for value in values {
            for text in nested(value) {
                let padded = Array("\"\":\(text),\"\":".utf8) + [UInt8](repeating: 0x20, count: JSONScanner.margin)
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
    private static func testMovesFromNameToName() {
        for count in 0..<140 {
            let filler = String(repeating: "x", count: count)
            let members = [
                "\"\(filler)\":1", "\"a\":[\"\(filler)\",{}]", "\"\":\"\(filler)\\n\"", "\"b\" : []", "\"c\":{}",
            ]
            let text = Array("\(members.joined(separator: " ,\n "))}".utf8) + [UInt8](repeating: 0x20, count: 99)
            unsafe TokenMasks.withMasks(text) { masks, bytes in
                guard var walk = unsafe masks.beginMembers(at: 0, of: bytes) else { return fail("behind \(count)") }
                func name(at offset: Int) -> String {
                    let end = text[(offset + 1)...].firstIndex(of: UInt8(ascii: "\"")) ?? offset
                    return String(decoding: text[offset...end], as: UTF8.self)
                }
                var (offset, names) = (0, [name(at: 0)])
                marks: while offset >= 0 {
                    offset = unsafe masks.nextMark(&walk, bytes, limit: 1_000)
                    guard offset >= 0 else { break }
                    switch bytes.uncheckedByte(offset) {
                    case UInt8(ascii: "\""): names.append(name(at: offset))
                    // Other code handles a name with a gap after it.
                    case UInt8(ascii: ":"): names.append(":")
                    case UInt8(ascii: "}"): break marks
                    default:
                        expectTrue(
                            unsafe masks.skipContainer(
                                &walk, bytes, at: offset, depth: 9, limit: 1_000, last: text.count), "behind \(count)")
                    }
                }
                expectEqual(names, ["\"\(filler)\"", "\"a\"", "\"\"", "\"b\"", ":", "\"c\""], "behind \(count)")
                expectTrue(unsafe masks.areValid(walk, upTo: offset, bytes), "behind \(count)")
                expectEqual(text.count - offset, 100, "the end behind \(count)")
            }
        }
    }
}
#endif
