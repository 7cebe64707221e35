// The tokens of JSON text by the classes of its bytes, 64 at a time: bits are tokens, and arithmetic moves them to the next
// one, so that what follows what is known without a look at any of them.

import BlockMasks

/// A pass over the classes of bytes, a block at a time, from the beginning of a value on that is no name.
struct TokenFinder: Sendable {
    /// What is known of a block; the first byte's bit is the lowest one.
    struct Block: Sendable, Equatable {
        /// Quotes at the beginnings and the ends of strings.
        var quotes: UInt64
        /// Brackets and braces, outside strings as all that follows.
        var brackets: UInt64
        /// Tokens that must not be where they are within an object, and those that must not be so within an array.
        var strayInObject: UInt64
        var strayInArray: UInt64
        /// The first bytes of numbers and literals, or of what tries to be one.
        var scalars: UInt64
        /// Backslashes that begin an escape.
        var escapes: UInt64
        /// Bytes of strings, with the quotes at their beginnings.
        var strings: UInt64
        // A block takes the place of the eight words that it is made of.
        var unused: UInt64 = 0
    }

    /// The classes that are looked at, in this order.
    static let classes = ByteClasses("\"", "\\", "[{", "]}", ",", ":", "\t\n\r", " ")

    // What a block must know of the one before it; each is one bit, the lowest one, but for `inside`.
    /// Whether the first byte is escaped.
    private var escape: UInt64 = 0
    /// All bits when the first byte is within a string.
    private var inside: UInt64 = 0
    /// Whether that string may be a name.
    private var key: UInt64 = 0
    /// Whether the byte before belongs to a number or a literal.
    private var scalar: UInt64 = 0
    /// Whether the token before ended a value, opened a container, was a colon, or a string that may be a name.
    private var value: UInt64 = 0
    private var opener: UInt64 = 0
    private var colon: UInt64 = 1
    private var name: UInt64 = 0

    /// Whether the last block ended within a string.
    var isInString: Bool { inside != 0 }

    // PERF: JSONTyped/posts; some eighty instructions for 64 bytes, whatever the tokens among them are.
    /// Finds the tokens of the next block; nil when a control character is within a string.
    @inline(__always)
    mutating func next(_ words: SIMD8<UInt64>) -> Block? {
        let (escapes, escaped) = findEscapes(words[1])
        let quotes = words[0] & ~escaped
        let inside = Self.prefixXor(quotes) ^ self.inside
        self.inside = UInt64(bitPattern: Int64(bitPattern: inside) &>> 63)
        let outside = ~inside

        let (openers, closers) = (words[2] & outside, words[3] & outside)
        let (commas, colons) = (words[4] & outside, words[5] & outside)
        let gaps = (words[6] | words[7]) & outside
        let (opening, closing) = (quotes & inside, quotes & outside)
        let scalars = outside & ~(openers | closers | commas | colons | gaps | closing)
        let behindScalars = scalars &<< 1 | scalar
        scalar = scalars &>> 63
        let firsts = scalars & ~behindScalars
        let followers = commas | colons | closers
        let tokens = openers | followers | opening | firsts

        // Where a value has ended, the next token must be a follower; elsewhere it must not, but for an empty container.
        let behindValues = Self.behind(closers | closing, behindScalars & ~scalars, gaps, &value)
        let behindOpeners = Self.behind(openers, 0, gaps, &opener)
        let behindColons = Self.behind(colons, 0, gaps, &colon)
        // A string that is no value may be a name: then a colon comes behind it, and in an object one must come.
        let (sum, overflow) = inside.addingReportingOverflow(opening & ~behindColons | key)
        key = overflow ? 1 : 0
        let behindNames = Self.behind(sum & closing, 0, gaps, &name)
        let stray =
            tokens & behindValues & ~followers | followers & ~behindValues & ~(closers & behindOpeners)
            | colons & ~behindNames
        let strayInObject = tokens & behindNames & ~colons | (openers | firsts) & ~behindColons & ~behindValues

        guard words[6] & inside == 0 else { return nil }
        return Block(
            quotes: quotes, brackets: openers | closers, strayInObject: stray | strayInObject,
            strayInArray: stray | colons, scalars: firsts, escapes: escapes, strings: inside)
    }

    /// The bytes behind those that end tokens, or behind whitespace that follows these: a carry runs through ones.
    @inline(__always)
    private static func behind(_ ends: UInt64, _ others: UInt64, _ gaps: UInt64, _ carry: inout UInt64) -> UInt64 {
        let next = ends &<< 1 | others | carry
        let (sum, overflow) = (next & gaps).addingReportingOverflow(gaps)
        carry = ends &>> 63 | (overflow ? 1 : 0)
        return (sum | next) & ~gaps
    }

    /// The backslashes that begin an escape, and the bytes behind them: of a run of backslashes, every other one.
    @inline(__always)
    private mutating func findEscapes(_ backslashes: UInt64) -> (first: UInt64, escaped: UInt64) {
        guard backslashes != 0 else {
            defer { escape = 0 }
            return (0, escape)
        }
        // A borrow runs through a run from its first one on, and the parity of where it ends is told by odd bits.
        let odd: UInt64 = 0xAAAA_AAAA_AAAA_AAAA
        let begins = backslashes & ~escape
        let ends = ((begins &<< 1 | odd) &- begins) ^ odd
        let escaped = ends ^ (backslashes | escape)
        let first = ends & backslashes
        escape = first &>> 63
        return (first, escaped)
    }

    /// For each bit, whether an odd number is set up to and with it.
    @inline(__always)
    private static func prefixXor(_ bits: UInt64) -> UInt64 {
        var bits = bits
        bits ^= bits &<< 1
        bits ^= bits &<< 2
        bits ^= bits &<< 4
        bits ^= bits &<< 8
        bits ^= bits &<< 16
        return bits ^ bits &<< 32
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension TokenFinder: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testFindsTokens": testFindsTokens,
            "testTellsStrayTokens": testTellsStrayTokens,
            "testGoesOnBehindABlock": testGoesOnBehindABlock,
        ]
    }

    /// The blocks of a text, behind so many spaces; nil where a string has a control character.
    private static func blocks(of text: String, after count: Int = 0) -> [Block?] {
        var bytes = [UInt8](repeating: 0x20, count: count) + Array(text.utf8)
        bytes += [UInt8](repeating: 0x20, count: 64 - bytes.count % 64)
        var finder = TokenFinder()
        return stride(from: 0, to: bytes.count, by: 64).map { start in
            var words = SIMD8<UInt64>()
            for place in 0..<64 {
                for index in 0..<8 where classes.classes(of: bytes[start + place]) & 1 << UInt8(index) != 0 {
                    words[index] |= 1 << UInt64(place)
                }
            }
            return finder.next(words)
        }
    }

    /// The bits of a mask below a text, as a line of marks.
    private static func line(_ text: String, _ mask: KeyPath<Block, UInt64>, after count: Int = 0) -> String {
        let blocks = blocks(of: text, after: count)
        let marks = (count..<count + text.utf8.count).map { place in
            blocks[place / 64].map { $0[keyPath: mask] >> UInt64(place % 64) & 1 == 1 ? "^" : " " } ?? "?"
        }
        return marks.joined()
    }

    private static func testFindsTokens() {
        let text = #"{"a\\":["b\"c", -1.5e3,true ],"\\":null}"#
        let rows: [(KeyPath<Block, UInt64>, String)] = [
            (\.quotes, #" ^   ^  ^    ^                ^  ^      "#),
            (\.brackets, #"^      ^                    ^          ^"#),
            (\.scalars, #"                ^      ^           ^    "#),
            (\.escapes, #"   ^      ^                    ^        "#),
        ]
        for (mask, marks) in rows { expectEqual(line(text, mask), marks, text) }
    }

    private static func testTellsStrayTokens() {
        let rows: [(text: String, inObject: String, inArray: String)] = [
            (#"{"a":1,"b" : [ ]}"#, "                 ", "    ^      ^     "),
            (#"["a","b"]"#, "    ^   ^", "         "),
            (#"["a" "b"]"#, "     ^  ^", "     ^   "),
            (#"[1 2]"#, " ^ ^ ", "   ^ "),
            (#"[1:2]"#, " ^^  ", "  ^  "),
            (#"{"a":"b":1}"#, "        ^  ", "    ^   ^  "),
            (#"[,1]"#, " ^^ ", " ^  "),
            (#"[,]"#, " ^^", " ^^"),
            (#"[[ ]1]"#, " ^  ^ ", "    ^ "),
            (#"{"a":}"#, "     ^", "    ^^"),
            (#"{"a",}"#, "    ^^", "     ^"),
            (#"{ 1 }"#, "  ^  ", "     "),
            (#"[true{}]"#, " ^   ^  ", "     ^  "),
            (#"[1,]"#, " ^ ^", "   ^"),
            (#"{"a"}"#, "    ^", "     "),
            (#"{[]}"#, " ^  ", "    "),
            (#"{"a":1,}"#, "       ^", "    ^  ^"),
            (#"{"a"1}"#, "    ^ ", "    ^ "),
            (#"{"a":1"b":2}"#, "      ^     ", "    ^ ^  ^  "),
            (#"{:1}"#, " ^  ", " ^  "),
        ]
        for row in rows {
            expectEqual(line(row.text, \.strayInObject), row.inObject, "\(row.text) in an object")
            expectEqual(line(row.text, \.strayInArray), row.inArray, "\(row.text) in an array")
        }
    }

    /// What a block's end cuts is what it is elsewhere.
    private static func testGoesOnBehindABlock() {
        let text = #"{"a\\\"" : [ "b" , 12 , { } , tru ] , "" : "\"" x , ] }"#
        for mask in [
            \.quotes, \.brackets, \.strayInObject, \.strayInArray, \.scalars, \.escapes, \.strings,
        ] as [KeyPath<Block, UInt64>] {
            let expected = line(text, mask)
            for count in 1..<64 { expectEqual(line(text, mask, after: count), expected, "behind \(count) spaces") }
        }
        expectTrue(blocks(of: "[\"a\tb\"]").contains(nil), "a control character")
        expectFalse(blocks(of: "[\"a\"\t]").contains(nil), "a tab between tokens")
    }
}
#endif
