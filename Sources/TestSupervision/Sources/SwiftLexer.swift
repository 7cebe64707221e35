// Splits Swift source into the tokens that finding tests needs: words, string literals and punctuation; comments are left
// out, but for those to the end of a line where they are asked for. It reads what a compiler has accepted, so it is lenient: whatever it does not know is punctuation.

/// A word, a string literal, one character of punctuation, or a comment to the end of a line.
struct SwiftToken {
    enum Kind { case word, string, punctuation, comment }

    var kind: Kind
    /// Byte offsets in the source; a string's are those of its contents.
    var start: Int
    var end: Int
    /// From 1.
    var line: Int
    /// In bytes from 1.
    var column: Int
}

struct SwiftLexer {
    private let source: UnsafeRawBufferPointer
    private let keepsComments: Bool
    private var offset = 0
    private var line = 1
    private var lineStart = 0
    private var tokens: [SwiftToken] = []

    /// Splits a source into tokens.
    ///
    /// - Complexity: O(length of the source).
    static func split(_ source: UnsafeRawBufferPointer, keepsComments: Bool = false) -> [SwiftToken] {
        var splitter = SwiftLexer(source, keepsComments: keepsComments)
        splitter.tokens.reserveCapacity(source.count / 5)
        splitter.run()
        return splitter.tokens
    }

    private init(_ source: UnsafeRawBufferPointer, keepsComments: Bool) {
        self.source = source
        self.keepsComments = keepsComments
    }

    private func byte(_ distance: Int = 0) -> UInt8 {
        let index = offset &+ distance
        return index < source.count ? source[index] : 0
    }

    private mutating func run() {
        while offset < source.count {
            let byte = source[offset]
            if byte == 0x0A {
                newLine()
            } else if byte <= 0x20 {
                offset &+= 1
            } else if Self.isWord(byte) {
                let start = offset
                while offset < source.count, Self.isWord(source[offset]) { offset &+= 1 }
                add(.word, start, offset, start)
            } else if byte == 0x2F, self.byte(1) == 0x2F {  // line comment
                let start = offset
                while offset < source.count, source[offset] != 0x0A { offset &+= 1 }
                if keepsComments { add(.comment, start, offset, start) }
            } else if byte == 0x2F, self.byte(1) == 0x2A {
                skipBlockComment()
            } else if byte == 0x22 {
                skipString(poundCount: 0)
            } else if byte == 0x23, let poundCount = poundsBeforeQuote() {
                skipString(poundCount: poundCount)
            } else {
                offset &+= 1
                add(.punctuation, offset &- 1, offset, offset &- 1)
            }
        }
    }

    private mutating func newLine() {
        offset &+= 1
        line &+= 1
        lineStart = offset
    }

    private mutating func add(_ kind: SwiftToken.Kind, _ start: Int, _ end: Int, _ place: Int) {
        tokens.append(SwiftToken(kind: kind, start: start, end: end, line: line, column: place &- lineStart &+ 1))
    }

    private static func isWord(_ byte: UInt8) -> Bool {
        byte >= 0x61 && byte <= 0x7A || byte >= 0x41 && byte <= 0x5A || byte >= 0x30 && byte <= 0x39 || byte == 0x5F
            || byte >= 0x80 || byte == 0x60
    }

    private mutating func skipBlockComment() {
        var depth = 0
        while offset < source.count {
            if byte() == 0x2F, byte(1) == 0x2A {
                depth += 1
                offset += 2
            } else if byte() == 0x2A, byte(1) == 0x2F {
                depth -= 1
                offset += 2
                if depth == 0 { return }
            } else if byte() == 0x0A {
                newLine()
            } else {
                offset += 1
            }
        }
    }

    private func poundsBeforeQuote() -> Int? {
        var count = 0
        while byte(count) == 0x23 { count += 1 }
        return byte(count) == 0x22 ? count : nil
    }

    /// Passes over a string literal of any form, with whatever is interpolated into it.
    private mutating func skipString(poundCount: Int) {
        let (place, startLine, startLineStart) = (offset, line, lineStart)
        offset += poundCount
        let isMultiline = byte(1) == 0x22 && byte(2) == 0x22
        let quoteCount = isMultiline ? 3 : 1
        offset += quoteCount
        let contents = offset
        while offset < source.count {
            if byte() == 0x5C, (0..<poundCount).allSatisfy({ byte(1 + $0) == 0x23 }) {
                offset += 1 + poundCount
                if byte() == 0x28 { skipInterpolation() } else if byte() == 0x0A { newLine() } else { offset += 1 }
            } else if byte() == 0x22, (0..<quoteCount).allSatisfy({ byte($0) == 0x22 }),
                (0..<poundCount).allSatisfy({ byte(quoteCount + $0) == 0x23 })
            {
                break
            } else if byte() == 0x0A {
                if !isMultiline { break }
                newLine()
            } else {
                offset += 1
            }
        }
        tokens.append(
            SwiftToken(
                kind: .string, start: contents, end: min(offset, source.count), line: startLine,
                column: place - startLineStart + 1))
        if byte() == 0x22 { offset += quoteCount + poundCount }
    }

    private mutating func skipInterpolation() {
        let tokenCount = tokens.count
        var depth = 0
        while offset < source.count {
            switch byte() {
            case 0x28:
                depth += 1
                offset += 1
            case 0x29:
                depth -= 1
                offset += 1
                if depth == 0 {
                    tokens.removeLast(tokens.count - tokenCount)
                    return
                }
            case 0x22: skipString(poundCount: 0)
            case 0x0A: newLine()
            default: offset += 1
            }
        }
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension SwiftLexer: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testSplits": testSplits,
            "testCountsLinesAndBytes": testCountsLinesAndBytes,
            "testEndsOnAnything": testEndsOnAnything,
        ]
    }

    private static func texts(_ source: String, keepsComments: Bool = false) -> [String] {
        Array(source.utf8).withUnsafeBytes { bytes in
            split(bytes, keepsComments: keepsComments).map { String(decoding: bytes[$0.start..<$0.end], as: UTF8.self) }
        }
    }

    private static func testSplits() {
        let rows: [(source: String, tokens: [String])] = [
            ("", []),
            ("let a = b", ["let", "a", "=", "b"]),
            ("a // b \"c\n d", ["a", "d"]),
            ("a /* b /* c */ d */ e", ["a", "e"]),
            ("\"x y\" z", ["x y", "z"]),
            ("\"a\\\"b\" c", ["a\\\"b", "c"]),
            ("\"a\\(f(\")\"))b\" c", ["a\\(f(\")\"))b", "c"]),
            ("#\"a\"b\"# c", ["a\"b", "c"]),
            ("\"\"\"\na \"b\" }\n\"\"\" c", ["\na \"b\" }\n", "c"]),
            ("#if DEBUG", ["#", "if", "DEBUG"]),
            ("`class`.é", ["`class`", ".", "é"]),
            ("\"unclosed\n a", ["unclosed", "a"]),
        ]
        for row in rows { expectEqual(texts(row.source), row.tokens, row.source) }
        expectEqual(
            texts("//\na // b \"c\n/* // */ \"// d\" //", keepsComments: true), ["//", "a", "// b \"c", "// d", "//"])
    }

    private static func testCountsLinesAndBytes() {
        let tokens = Array("é a\n\n  \"b\nc".utf8).withUnsafeBytes { split($0) }
        expectEqual(tokens.map(\.line), [1, 1, 3, 4])
        expectEqual(tokens.map(\.column), [1, 4, 3, 1])
    }

    private static func testEndsOnAnything() {
        let source = Array("/* \"\"\" \\( #\" */ \"\\(\"\\(".utf8)
        for start in source.indices {
            for end in start...source.count {
                _ = Array(source[start..<end]).withUnsafeBytes { split($0) }
            }
        }
    }
}
#endif
