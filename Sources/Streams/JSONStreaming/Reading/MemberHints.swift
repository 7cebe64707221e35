// The texts between values that were scanned before: comma, spaces, name, colon, spaces. If the same bytes follow
// again, the fast loop knows the name and the start of the next value without searching for their ends.

// PERF: JSONReader in Examples/Benchmarks. Finding an end is a chain of ten dependent instructions. Comparing a known
// number of bytes is a branch that the processor predicts, so that it can continue speculatively.

import PlistStreaming

/// The consecutive members in a chunk, used to predict the next members.
///
/// A hint never decides anything: it is a position in the chunk with bytes that were scanned, and applies only if
/// exactly the same bytes follow in the same state. So even if all links between hints are wrong, the result is
/// correct.
@usableFromInline
struct MemberHints: Sendable {
    /// The text between the previous value, or the brace, and the value of a member.
    @usableFromInline
    struct Hint: Sendable {
        /// The first word of the text, the number of the second one in `words`, and the length.
        @usableFromInline var firstWord: UInt64 = 0
        @usableFromInline var place: UInt32 = 0
        @usableFromInline var count: UInt16 = 0
        /// The offset of the name in the text, after its quote, and the length of the name.
        @usableFromInline var nameOffset: UInt8 = 0
        @usableFromInline var nameCount: UInt8 = 0
        /// Three hints: the next member of the same dictionary, the first member of a dictionary that is this member's
        /// value, and the member that contains this one's dictionary. 0 means no hint, or the root.
        @usableFromInline var next: UInt16 = 0
        @usableFromInline var child: UInt16 = 0
        @usableFromInline var parent: UInt16 = 0

        @usableFromInline init() {}
    }

    /// The hints by number; the first one is the root.
    @usableFromInline var hints: [Hint] = []
    /// The texts of the hints, each in words of eight bytes. The last word ends with the text.
    @usableFromInline var words: [UInt64] = []

    /// The member with the current value, and the member whose value is the innermost dictionary, between two runs.
    @usableFromInline var member = 0
    @usableFromInline var context = 0
    /// The number of open containers at the end of the last run.
    @usableFromInline var depth = 0
    @usableFromInline var levels: UInt64 = 0
    // PERF: JSONReader in chunks; links from a wrong position would fail in every following dictionary.
    /// A Boolean value that indicates whether the plain scanner may have read members since, at the end of a chunk, so
    /// that the position is unknown.
    @usableFromInline var isLost = false

    /// The offset in the whole input at which learning members starts: after the beginning, because small documents
    /// have few repeated members, and after a pause.
    @usableFromInline var learningStart: Int = Self.firstOffset
    private var missCount = 0
    private var windowStart = 0
    private var windowMissCount = 128
    private var pause = 1 << 14

    static let capacity = 1_024
    static let firstOffset = 2_048
    /// The average distance of misses, in bytes, below which the hints are forgotten. Learning a member is a miss, too.
    private var missDistance: Int { 32 }

    init() {}

    /// Returns the hint with a number, or an empty hint for a number that was forgotten.
    @inlinable @inline(__always)
    func hint(_ number: Int) -> Hint { number < hints.count ? hints[number] : Hint() }

    /// Keeps the position between two runs.
    @usableFromInline
    mutating func suspend(member: Int, context: Int, nesting: NestingStack) {
        (self.member, self.context) = (member, context)
        (depth, levels) = (nesting.depth, nesting.innermostLevels)
    }

    /// Notes that a chunk has ended.
    @usableFromInline
    mutating func endChunk() { isLost = hints.count > 1 }

    /// Finds the position again, after the plain scanner has opened or closed containers.
    @usableFromInline
    mutating func resume(nesting: NestingStack) -> (member: Int, context: Int) {
        var level = 0
        while depth > nesting.depth {
            if levels &>> UInt64(truncatingIfNeeded: level) & 1 != 0 {
                (member, context) = (context, Int(hint(context).parent))
            }
            depth &-= 1
            level &+= 1
        }
        // A dictionary whose name wasn't plain counts as the value of the member before it.
        if depth < nesting.depth && nesting.isInDictionary { context = member }
        return (member, context)
    }

    /// Remembers the text before a scanned value, or finds that it is already known as a later hint.
    ///
    /// - Parameters:
    ///   - previous: The member before it, or -1 for the first one.
    ///   - context: The member whose value the dictionary is.
    /// - Returns: The number of the hint, or 0 if there isn't one; then all hints may have been forgotten. After the
    ///   end of a chunk it is a hint at any position with this text, and the caller uses its context.
    @usableFromInline @inline(never)
    mutating func learn(
        _ bytes: RawSpan, from start: Int, name: Int, to end: Int, after previous: Int, in context: Int,
        expected: Int, chunkOffset: Int
    ) -> Int {
        missCount &+= 1
        if missCount == windowMissCount && isOftenWrong(at: chunkOffset &+ start) { return 0 }
        guard end &- start <= 255 else { return 0 }
        let nameEnd = StringRuns.closingQuote(in: bytes, from: name)
        guard nameEnd >= 0 else { return 0 }
        var number = expected
        var attempts = 4
        while number > 0, attempts > 0 {
            let hint = hints[number]
            if Int(hint.count) == end &- start, matches(hint, bytes, at: start, last: end) {
                isLost = false
                return number
            }
            number = Int(hint.next)
            attempts &-= 1
        }
        let wasLost = isLost
        if wasLost {
            isLost = false
            for number in hints.indices.dropFirst() {
                let hint = hints[number]
                if Int(hint.count) == end &- start, matches(hint, bytes, at: start, last: end) { return number }
            }
        }
        if hints.count >= Self.capacity || hints.isEmpty {
            removeAllHints()
            return 0
        }
        number = hints.count
        var hint = Hint()
        hint.firstWord = bytes.uncheckedWord(start)
        hint.place = UInt32(truncatingIfNeeded: words.count)
        hint.count = UInt16(truncatingIfNeeded: end &- start)
        hint.nameOffset = UInt8(truncatingIfNeeded: name &- start)
        hint.nameCount = UInt8(truncatingIfNeeded: nameEnd &- name)
        hint.next = UInt16(truncatingIfNeeded: expected)
        hint.parent = UInt16(truncatingIfNeeded: context)
        hints.append(hint)
        if end &- start > 8 {
            for offset in stride(from: start &+ 8, to: end &- 8, by: 8) { words.append(bytes.uncheckedWord(offset)) }
            words.append(bytes.uncheckedWord(end &- 8))
        }
        if wasLost { return number }
        if previous < 0 {
            hints[context].child = UInt16(truncatingIfNeeded: number)
        } else {
            hints[previous].next = UInt16(truncatingIfNeeded: number)
        }
        return number
    }

    private mutating func removeAllHints() {
        hints.removeAll(keepingCapacity: true)
        words.removeAll(keepingCapacity: true)
        hints.append(Hint())
    }

    // PERF: one unexpected member costs as much as five or six expected ones save. So objects whose names are data, or
    // whose members are omitted at random, are read without hints, in longer and longer pauses.
    /// Ends a window of wrong predictions, and pauses if they were close to each other.
    private mutating func isOftenWrong(at offset: Int) -> Bool {
        let isOften = offset &- windowStart < missCount &* missDistance && windowStart > 0
        (missCount, windowStart, windowMissCount) = (0, offset, 64)
        guard isOften else { return false }
        removeAllHints()
        learningStart = offset &+ pause
        windowStart = learningStart
        pause = min(2 &* pause, 1 << 24)
        return true
    }

    // PERF: see above; two words decide for up to 16 bytes.
    /// Returns whether the text of a hint is at an offset with 8 bytes after it; longer texts must end before `last`.
    @inlinable @inline(__always)
    func matches(_ hint: Hint, _ bytes: RawSpan, at offset: Int, last: Int) -> Bool {
        let count = Int(hint.count)
        let first = bytes.uncheckedWord(offset) ^ hint.firstWord
        if count <= 8 { return first &<< UInt64(truncatingIfNeeded: 64 &- 8 &* count) == 0 }
        let lastWord = offset &+ count &- 8
        guard first == 0, lastWord <= last else { return false }
        var place = Int(hint.place)
        var start = offset &+ 8
        while start < lastWord {
            guard bytes.uncheckedWord(start) == words[place] else { return false }
            place &+= 1
            start &+= 8
        }
        return bytes.uncheckedWord(lastWord) == words[place]
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension MemberHints: SelfTesting {
    /// The tests of this type.
    @usableFromInline
    static var testSelectors: TestSelectors {
        [
            "testDoesNotChangeMessages": testDoesNotChangeMessages,
            "testNeverConfusesMembers": testNeverConfusesMembers,
            "testResumesHintsAfterChunks": testResumesHintsAfterChunks,
            "testDiscardsHintsBeyondCapacity": testDiscardsHintsBeyondCapacity,
            "testLearnsAndFindsMembers": testLearnsAndFindsMembers,
        ]
    }

    /// Objects in arrays and in objects, members that are sometimes missing, long names, all kinds of spaces.
    private static let shapes = [
        #"{"a":1,"bc":"x","def":[1,2],"ghij":{"k":null,"l":{}}}"#,
        #"{"a":1,"def":[{"k":1},{"k":2,"l":3}],"ghij":{"l":true,"k":[]}}"#,
        "{ \"a\" : 1 ,\n\t\"bc\": \"x\" ,\r\n   \"a name that is longer than four words\" :  [ { \"k\" : -1.5 } ] }",
        #"{"größe":"é","a\n":1,"日本語":12345678901234567890,"a":{"a":{"a":{"a":1}}},"":2}"#,
        #"{}"#, #"[{"a":[{"a":[{"a":1}]}]},{"a":1}]"#,
    ]

    private static func testDoesNotChangeMessages() {
        for shape in shapes {
            let shapes = Array(repeating: shape, count: max(3, 60 / shape.utf8.count)).joined(separator: ",")
            expectOutcome("[\(shapes)]", shape)
        }
        let mixed = (0..<40).map { shapes[($0 * $0 + $0 / 3) % shapes.count] }.joined(separator: " , ")
        expectOutcome("{\"all\":[\(mixed)]}", "all shapes")
    }

    /// Reads a text and learns its members immediately: whole, in pieces and, if it is short, split at each position.
    private static func expectOutcome(_ text: String, _ message: String) {
        let count = text.utf8.count
        let text = Array(text.utf8) + [UInt8](repeating: 0x20, count: 60)
        var plain = JSONReaderOptions()
        plain.usesPlainScan = true
        let expected = JSONScanner.outcome([text], options: plain)
        expectEqual(JSONScanner.outcome([text], learningFrom: 0), expected, message)
        for size in [64, 100, 177, 1_000] {
            let chunks = stride(from: 0, to: text.count, by: size).map { Array(text[$0..<min($0 + size, text.count)]) }
            expectEqual(
                JSONScanner.outcome(chunks, learningFrom: 0), expected, "\(message), in pieces of \(size)")
        }
        guard count < 500 else { return }
        for split in 0..<count {
            let got = JSONScanner.outcome([Array(text[..<split]), Array(text[split...])], learningFrom: 0)
            if got != expected { expectEqual(got, expected, "\(message), split at \(split)") }
        }
    }

    /// Reads more than 500 texts with one wrong byte.
    private static func testNeverConfusesMembers() {
        var plain = JSONReaderOptions()
        plain.usesPlainScan = true
        let before = Array(repeating: #"{"a" : 1,"bcdefghijklm":[{"kl":2}]}"#, count: 4).joined(separator: ",")
        let text = Array("[\(before)\(String(repeating: " ", count: 60))]".utf8)
        let end = 1 + before.utf8.count
        for offset in end - 36..<end {
            for byte in Array("\"\\,:}{[] 1a".utf8) + [0, 0x0A, 0x80, 0xC3] {
                var text = text
                text[offset] = byte
                let got = JSONScanner.outcome([text], learningFrom: 0)
                let expected = JSONScanner.outcome([text], options: plain)
                if got != expected { expectEqual(got, expected, "byte \(byte) at \(offset)") }
            }
        }
    }

    /// A position that is lost at the end of a chunk is found again, so that the members stay known.
    private static func testResumesHintsAfterChunks() throws {
        let records = Array(repeating: #"{"hi":1,"there":{"inner":[{"x":1,"y":2}]},"comment":"c"}"#, count: 400)
        let text = Array("{\"all\":[\(records.joined(separator: ","))]}".utf8)
        for size in [997, 1_000, 2_048, 4_099] {
            var scanner = JSONScanner()
            var sink = NullSink()
            for start in stride(from: 0, to: text.count, by: size) {
                try unsafe text[start..<min(start + size, text.count)].withUnsafeBytes {
                    // SAFETY: the span does not leave the closure.
                    try scanner.scan(unsafe $0.bytes, into: &sink)
                }
            }
            try scanner.finish(into: &sink)
            expectEqual(scanner.hints.learningStart, firstOffset, "no pause, in chunks of \(size)")
            expectLessThan(scanner.hints.hints.count, 16, "members that were learnt, in chunks of \(size)")
        }
    }

    private static func testDiscardsHintsBeyondCapacity() {
        let names = (0..<3 * capacity).map { "\"name \($0)\":{\"x\":\($0),\"y\":0}" }.joined(separator: ",")
        var plain = JSONReaderOptions()
        plain.usesPlainScan = true
        let text = Array("{\(names)}".utf8)
        let expected = JSONScanner.outcome([text], options: plain)
        expectTrue(JSONScanner.outcome([text]) == expected, "whole")
        for size in [100, 1_000, 5_003] {
            let chunks = stride(from: 0, to: text.count, by: size).map { Array(text[$0..<min($0 + size, text.count)]) }
            expectTrue(JSONScanner.outcome(chunks) == expected, "in chunks of \(size)")
        }
    }

    private static func testLearnsAndFindsMembers() {
        let text = #","name":1,"a longer name that takes words" : 2,"name":3"# + String(repeating: " ", count: 50)
        text.withUTF8Span { bytes in
            var hints = MemberHints()
            expectEqual(
                hints.learn(bytes, from: 0, name: 2, to: 8, after: -1, in: 0, expected: 0, chunkOffset: 0), 0,
                "no capacity yet")
            let first = hints.learn(bytes, from: 0, name: 2, to: 8, after: -1, in: 0, expected: 0, chunkOffset: 0)
            let second = hints.learn(
                bytes, from: 9, name: 11, to: 45, after: first, in: 0, expected: 0, chunkOffset: 0)
            expectEqual([first, second], [1, 2], "numbers")
            expectEqual(Int(hints.hint(0).child), first, "the first member")
            expectEqual(Int(hints.hint(first).next), second, "the one after it")
            let last = bytes.byteCount - 48
            expectTrue(hints.matches(hints.hint(first), bytes, at: 46, last: last), "the same name")
            expectFalse(hints.matches(hints.hint(second), bytes, at: 46, last: last), "another name")
            expectTrue(hints.matches(hints.hint(second), bytes, at: 9, last: last), "the long name")
            expectEqual(
                hints.learn(
                    bytes, from: 46, name: 48, to: 54, after: second, in: 0, expected: first, chunkOffset: 0),
                first,
                "known already")
        }
    }
}
#endif
