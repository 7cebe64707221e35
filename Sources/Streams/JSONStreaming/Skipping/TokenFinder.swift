// Finds the tokens of JSON text by byte classes, 64 bytes at a time: each token is a bit, and arithmetic moves bits to
// the next token, so that all order checks of a block run without a loop over tokens.

import BlockMasks
import CBlockMasks

/// A pass over text in groups of blocks, starting at a value or a name.
struct TokenFinder: Sendable {
    /// The information about each byte, one bit each, in this order in memory.
    enum Mask: Int, CaseIterable, Sendable {
        /// Quotes at the beginnings and the ends of strings.
        case quotes
        /// Brackets and braces; these and all of the following outside strings.
        case brackets
        /// Brackets, and the opening quotes of strings that don't follow a colon, which are names wherever names are
        /// allowed. Also escapes in such strings, and colons that don't follow a string immediately.
        case marks
        /// Tokens that are invalid at their position in an object, and tokens that are invalid at their position in an
        /// array.
        case strayInObject
        case strayInArray
        /// The first bytes of numbers and literals, or of invalid tokens at their place.
        case scalars
        /// Backslashes that begin an escape.
        case escapes
    }

    /// The maximum number of blocks in one group.
    static let capacity = Int(cblockmasks_capacity)
    /// The distance between masks in words, larger than the number of blocks: blocks are classified in groups of eight.
    static let wordStride = Int(cblockmasks_stride)
    /// The byte classes, in this order.
    static let classes = ByteClasses("\"", "\\", "[{", "]}", ",", ":", "\t\n\r", " ")

    /// The state that a block needs from the previous one.
    private var state = cblockmasks_tokens()
    private let width: Int32

    /// Creates a finder that begins at a value, or at a name after a comma or an opening brace.
    init(atName: Bool = false, width: Int32 = BlockScan.widest) {
        self.width = width
        state.colon = atName ? 0 : 1
    }

    /// A Boolean value that indicates whether the last block ended within a string.
    var isInString: Bool { state.inside != 0 }

    /// Finds the tokens of the next blocks.
    ///
    /// - Parameters:
    ///   - bytes: Whole blocks, at most `capacity`.
    ///   - masks: Memory for one word per block in each mask; the masks are `wordStride` words apart.
    /// - Returns: The number of valid blocks: those before a block with a control character in a string, or 0 if the
    ///   bytes contain invalid UTF-8 or another control character. If this isn't the number of all blocks, don't
    ///   continue with the next ones. A processor without vectors finds none, so that all values are read.
    mutating func find(in bytes: RawSpan, into masks: UnsafeMutablePointer<UInt64>) -> Int {
        let count = bytes.byteCount / BlockScan.blockCount
        guard width > 0 else { return 0 }
        // SAFETY: `count` blocks are in bounds; the pointers do not leave the closures.
        return unsafe bytes.withUnsafeBytes { bytes in
            guard let bytes = bytes.baseAddress else { return 0 }
            return unsafe withUnsafeBytes(of: Self.classes.low) { low in
                unsafe withUnsafeBytes(of: Self.classes.high) { high in
                    unsafe cblockmasks_find_tokens(
                        width, bytes.assumingMemoryBound(to: UInt8.self), count,
                        low.bindMemory(to: UInt8.self).baseAddress, high.bindMemory(to: UInt8.self).baseAddress, &state,
                        masks)
                }
            }
        }
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

/// The specification of the vector code: one block after another, in plain Swift.
private struct PlainTokenFinder {
    private var state = cblockmasks_tokens()
    private var scan = BlockScan(TokenFinder.classes, width: 0)

    init(atName: Bool) { state.colon = atName ? 0 : 1 }

    mutating func find(in bytes: RawSpan, into masks: UnsafeMutablePointer<UInt64>) -> Int {
        let count = bytes.byteCount / BlockScan.blockCount
        var blocks = [SIMD8<UInt64>](repeating: .zero, count: count)
        // SAFETY: the memory has eight words per block; the pointer does not leave the closure.
        let findings = unsafe blocks.withUnsafeMutableBytes {
            unsafe scan.scan(bytes, into: $0.bindMemory(to: UInt64.self))
        }
        guard findings.isEmpty else { return 0 }
        for (block, words) in blocks.enumerated() {
            guard let found = next(words) else { return block }
            for mask in TokenFinder.Mask.allCases {
                unsafe masks[mask.rawValue &* TokenFinder.wordStride &+ block] = found[mask.rawValue]
            }
        }
        return count
    }

    /// Finds the tokens of the next block; nil if a string contains a control character.
    private mutating func next(_ words: SIMD8<UInt64>) -> SIMD8<UInt64>? {
        let (escapes, escaped) = findEscapes(words[1])
        let quotes = words[0] & ~escaped
        let inside = Self.prefixXor(quotes) ^ (0 &- state.inside)
        guard words[6] & inside == 0 else { return nil }
        state.inside = inside &>> 63
        let outside = ~inside

        let (openers, closers) = (words[2] & outside, words[3] & outside)
        let (commas, colons) = (words[4] & outside, words[5] & outside)
        let gaps = (words[6] | words[7]) & outside
        let (opening, closing) = (quotes & inside, quotes & outside)
        let followers = commas | colons | closers
        let scalars = outside & ~(openers | followers | gaps | closing)
        let (behindScalars, behindStrings) = (scalars &<< 1 | state.scalar, closing &<< 1 | state.closing)
        (state.scalar, state.closing) = (scalars &>> 63, closing &>> 63)
        let firsts = scalars & ~behindScalars
        let tokens = openers | followers | opening | firsts

        // The previous token: strings set the low bit, other values the high bit, and opening brackets set both.
        let low = Self.behind(closing | openers, 0, gaps, &state.kindLow).tokens
        let high = Self.behind(closers | openers, behindScalars & ~scalars, gaps, &state.kindHigh).tokens
        // After a colon, or after a string that follows a colon; any other string may be a name.
        let (behindColons, noNames) = Self.behind(colons, 0, gaps | inside | closing, &state.colon)
        let behindValues = low ^ high
        let behindNames = low & ~high & ~behindColons

        // After the end of a value, a follower must come next. Elsewhere a follower is invalid, except in an empty
        // container.
        let stray =
            tokens & behindValues & ~followers | followers & ~behindValues & ~(closers & low & high)
            | colons & ~behindNames
        // In an object, a colon must follow each name, and every token except a name must follow a colon.
        let strayInObject = tokens & behindNames & ~colons | (openers | firsts) & ~behindColons & ~behindValues
        let brackets = openers | closers
        let marks = brackets | (opening | escapes) & ~noNames | colons & ~behindStrings
        return [quotes, brackets, marks, stray | strayInObject, stray | colons, firsts, escapes, 0]
    }

    /// Returns the bytes after the ends of tokens or after the gaps that follow, and these gaps: a carry runs through
    /// ones.
    private static func behind(
        _ ends: UInt64, _ others: UInt64, _ gaps: UInt64, _ carry: inout UInt64
    ) -> (tokens: UInt64, gaps: UInt64) {
        let next = ends &<< 1 | others | carry
        let (sum, overflow) = (next & gaps).addingReportingOverflow(gaps)
        carry = ends &>> 63 | (overflow ? 1 : 0)
        return ((sum | next) & ~gaps, gaps & ~sum)
    }

    /// Returns the backslashes that begin an escape, and the bytes after them: in a run of backslashes, every other
    /// one.
    private mutating func findEscapes(_ backslashes: UInt64) -> (first: UInt64, escaped: UInt64) {
        // A borrow runs through each run from its first bit. An odd bit at its end shows the parity of the end
        // position.
        let odd: UInt64 = 0xAAAA_AAAA_AAAA_AAAA
        let begins = backslashes & ~state.escape
        let ends = ((begins &<< 1 | odd) &- begins) ^ odd
        let escaped = ends ^ (backslashes | state.escape)
        let first = ends & backslashes
        state.escape = first &>> 63
        return (first, escaped)
    }

    /// Returns, for each bit, whether an odd number of bits is set up to and including it.
    private static func prefixXor(_ bits: UInt64) -> UInt64 {
        [1, 2, 4, 8, 16, 32].reduce(bits) { $0 ^ $0 &<< $1 }
    }
}

extension TokenFinder: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testFindsTokens": testFindsTokens,
            "testFindsStrayTokens": testFindsStrayTokens,
            "testContinuesAcrossBlocks": testContinuesAcrossBlocks,
            "testStartsAtNamesOrValues": testStartsAtNamesOrValues,
            "testFindsSameTokensAtEveryWidth": testFindsSameTokensAtEveryWidth,
        ]
    }

    /// Returns the masks of a text after some spaces, in windows of some blocks, and the number of valid blocks. A width
    /// of 0 is the specification.
    private static func masks(
        of text: [UInt8], after count: Int = 0, _ width: Int32, windows: Int = 3, atName: Bool = false
    ) -> (words: [[UInt64]], count: Int) {
        var bytes = [UInt8](repeating: 0x20, count: count) + text
        bytes += [UInt8](repeating: 0x20, count: 64 - bytes.count % 64)
        var finder = TokenFinder(atName: atName, width: width)
        var plainFinder = PlainTokenFinder(atName: atName)
        var words = [[UInt64]](repeating: [], count: Mask.allCases.count)
        var trusted = 0
        for start in stride(from: 0, to: bytes.count, by: 64 * windows) {
            let window = bytes[start..<min(start + 64 * windows, bytes.count)]
            var memory = [UInt64](repeating: 0xAAAA, count: words.count * wordStride)
            // SAFETY: memory for all masks; no pointer leaves the closures.
            let found = unsafe window.withUnsafeBytes { bytes in
                unsafe memory.withUnsafeMutableBufferPointer { memory in
                    guard let memory = memory.baseAddress else { return 0 }
                    return unsafe width == 0
                        ? plainFinder.find(in: bytes.bytes, into: memory) : finder.find(in: bytes.bytes, into: memory)
                }
            }
            for mask in words.indices { words[mask] += memory[mask * wordStride..<mask * wordStride + found] }
            trusted += found
            guard found == window.count / 64 else { break }
        }
        return (words, trusted)
    }

    /// Returns the bits of a mask below a text, as a line of marks.
    private static func line(_ text: String, _ mask: Mask, after count: Int = 0, _ width: Int32) -> String {
        let (words, trusted) = masks(of: Array(text.utf8), after: count, width)
        let marks = (count..<count + text.utf8.count).map { place in
            place / 64 < trusted ? words[mask.rawValue][place / 64] >> UInt64(place % 64) & 1 == 1 ? "^" : " " : "?"
        }
        return marks.joined()
    }

    private static func testFindsTokens() {
        let text = #"{"a\\":["b\"c", -1.5e3,true ],"\\":null}"#
        let rows: [(Mask, String)] = [
            (.quotes, #" ^   ^  ^    ^                ^  ^      "#),
            (.brackets, #"^      ^                    ^          ^"#),
            (.marks, #"^^ ^   ^^ ^                 ^ ^^       ^"#),
            (.scalars, #"                ^      ^           ^    "#),
            (.escapes, #"   ^      ^                    ^        "#),
        ]
        for width in BlockScan.widths {
            for (mask, marks) in rows { expectEqual(line(text, mask, width), marks, "\(mask), width \(width)") }
        }
    }

    private static func testFindsStrayTokens() {
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
        for width in BlockScan.widths {
            for row in rows {
                let words = "\(row.text), width \(width)"
                expectEqual(line(row.text, .strayInObject, width), row.inObject, "in an object: \(words)")
                expectEqual(line(row.text, .strayInArray, width), row.inArray, "in an array: \(words)")
            }
        }
    }

    /// The end of a block doesn't change the tokens that it cuts.
    private static func testContinuesAcrossBlocks() {
        let text = #"{"a\\\"" : [ "b" , 12 , { } , tru ] , "" : "\"" x , ] }"#
        for width in BlockScan.widths {
            for mask in Mask.allCases {
                let expected = line(text, mask, width)
                for count in 1..<64 {
                    expectEqual(
                        line(text, mask, after: count, width), expected, "behind \(count) spaces, width \(width)")
                }
            }
            for (text, count) in [("[\"a\tb\"]", 0), ("[\"a\"\t]", 1), ("[\"é\"]", 1)] {
                expectEqual(masks(of: Array(text.utf8), width).count, count, "\(text), width \(width)")
            }
        }
    }

    /// A string after a colon isn't a name, and a name doesn't begin a value.
    private static func testStartsAtNamesOrValues() {
        for width in BlockScan.widths {
            for (text, asName, asValue) in [(#""a":1,"#, 0, 8), (#"{"a":1}"#, 1, 0), (#"1,"a":"#, 1, 0)]
                as [(String, UInt64, UInt64)]
            {
                for (atName, expected) in [(true, asName), (false, asValue)] {
                    let words = masks(of: Array(text.utf8), width, atName: atName).words
                    let stray = words[Mask.strayInObject.rawValue][0]
                    expectEqual(stray, expected, "\(text), \(atName), width \(width)")
                }
            }
        }
    }

    /// Random tokens, with invalid text now and then, in windows of any size.
    private static func testFindsSameTokensAtEveryWidth() {
        var state: UInt64 = 20_261_122
        func random(below bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(truncatingIfNeeded: state >> 33) % bound
        }
        let pieces =
            ["\"", "\\", "\\\"", "{", "}", "[", "]", ",", ":", " ", "\n  ", "true", "-1.5", "\"a\":", "é🙂", "abc"]
            .map { Array($0.utf8) } + [[0x20, 0x20, 0x20, 0x20], [UInt8](repeating: 0x78, count: 70)]
        for round in (0..<600).sampledInDebug(every: 5) {
            var text: [UInt8] = []
            while text.count < 64 * 7 { text += pieces[random(below: pieces.count)] }
            if round % 8 == 0 { text[random(below: text.count)] = [0x00, 0x09, 0x0A, 0x80, 0xFF][random(below: 5)] }
            let expected = masks(of: text, 0, windows: 1)
            for width in BlockScan.widths {
                for windows in [1, 2, 5, 9] {
                    let found = masks(of: text, width, windows: windows)
                    // Invalid text in a window makes the whole window worthless.
                    let isSame = zip(found.words, expected.words).allSatisfy {
                        $0.elementsEqual($1.prefix(found.count))
                    }
                    expectTrue(isSame && found.count <= expected.count, "round \(round), width \(width), \(windows)")
                    let same = masks(of: text, 0, windows: windows)
                    expectEqual(found.count, same.count, "blocks of round \(round), width \(width), \(windows)")
                }
            }
        }
    }
}
#endif
