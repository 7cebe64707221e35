// Splits Swift source into the tokens that finding tests needs: words, string literals and punctuation; comments are left
// out, but for those to the end of a line where they are asked for. It reads what a compiler has accepted, so it is lenient: whatever it does not know is punctuation.

/// A word, or a regular expression as it is written; a string literal, one character of punctuation, or a comment to the end of a line.
package struct SwiftToken {
    package enum Kind { case word, string, punctuation, comment }

    package var kind: Kind
    /// Byte offsets in the source; a string's are those of its contents.
    package var start: Int
    package var end: Int
    /// From 1.
    package var line: Int
    /// In bytes from 1.
    package var column: Int
}

package struct SwiftLexer {
    private let source: UnsafeRawBufferPointer
    private let keepsComments: Bool
    private var offset = 0
    private var line = 1
    private var lineStart = 0
    private var tokens: [SwiftToken] = []
    /// The last line in which a regular expression might have begun that does not end there.
    private var lineOfOpenRegex = 0
    /// The end of the last `/*…*/`, which is a space.
    private var endOfComment = 0
    /// The strings in whose interpolations the present token is, the innermost last.
    private var strings: [OpenString] = []

    private struct OpenString {
        let poundCount: Int
        let quoteCount: Int
        /// What will be its token.
        let token: SwiftToken
        /// How many tokens are before it.
        let tokenCount: Int
        /// Of parentheses in what is interpolated.
        var depth = 0
    }

    /// Splits a source into tokens.
    ///
    /// - Complexity: O(length of the source).
    package static func split(_ source: UnsafeRawBufferPointer, keepsComments: Bool = false) -> [SwiftToken] {
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
            } else if byte == 0x60, let end = endOfRawIdentifier() {
                add(.word, offset, end, offset)
                offset = end
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
            } else if byte == 0x22 || byte == 0x23, let poundCount = pounds(before: 0x22) {
                beginString(poundCount: poundCount)
            } else if byte == 0x23, let poundCount = pounds(before: 0x2F) {
                addRegex(endingAt: endOfRegex(poundCount: poundCount))
            } else if byte == 0x2F, let end = endOfBareRegex() {
                addRegex(endingAt: end)
            } else {
                offset &+= 1
                add(.punctuation, offset &- 1, offset, offset &- 1)
                if !strings.isEmpty { follow(byte) }
            }
        }
        while !strings.isEmpty { endString() }
    }

    private mutating func newLine() {
        offset &+= 1
        line &+= 1
        lineStart = offset
    }

    private mutating func add(_ kind: SwiftToken.Kind, _ start: Int, _ end: Int, _ place: Int) {
        tokens.append(SwiftToken(kind: kind, start: start, end: end, line: line, column: place &- lineStart &+ 1))
    }

    static func isWord(_ byte: UInt8) -> Bool {
        byte >= 0x61 && byte <= 0x7A || byte >= 0x41 && byte <= 0x5A || byte >= 0x30 && byte <= 0x39 || byte == 0x5F
            || byte >= 0x80 || byte == 0x60
    }

    /// What is behind a name in backquotes, in which there may be anything but the end of the line.
    private func endOfRawIdentifier() -> Int? {
        var end = offset + 1
        while end < source.count, source[end] != 0x60, source[end] != 0x0A { end += 1 }
        return end < source.count && source[end] == 0x60 ? end + 1 : nil
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
                endOfComment = offset
                if depth == 0 { return }
            } else if byte() == 0x0A {
                newLine()
            } else {
                offset += 1
            }
        }
    }

    private func pounds(before delimiter: UInt8) -> Int? {
        var count = 0
        while byte(count) == 0x23 { count += 1 }
        return byte(count) == delimiter ? count : nil
    }

    private mutating func addRegex(endingAt end: Int) {
        add(.word, offset, end, offset)
        while offset < end { if source[offset] == 0x0A { newLine() } else { offset += 1 } }
    }

    /// Where `#/…/#` ends, in its line unless a new one follows its beginning.
    private func endOfRegex(poundCount: Int) -> Int {
        var end = offset + poundCount + 1
        while end < source.count, [0x20, 0x09, 0x0D].contains(source[end]) { end += 1 }
        let isMultiline = end < source.count && source[end] == 0x0A
        while end < source.count, isMultiline || source[end] != 0x0A {
            if source[end] == 0x2F, (1...poundCount).allSatisfy({ byte(end - offset + $0) == 0x23 }) {
                return end + poundCount + 1
            }
            end += source[end] == 0x5C && byte(end - offset + 1) != 0x0A ? 2 : 1
        }
        return min(end, source.count)
    }

    /// Where `/…/` ends, if it is one: a slash where a prefix operator may be, and another one in its line, with no space
    /// beside them and no bracket between them that is open before. So the compiler tells it from division.
    private mutating func endOfBareRegex() -> Int? {
        var before = offset - 1
        // Behind prefix operators, which are short.
        while before >= max(endOfComment, offset - 4), "!&^~-+*%<>=|?./".utf8.contains(source[before]) { before -= 1 }
        guard before < endOfComment || source[before] <= 0x20 || "([{,;:".utf8.contains(source[before]), byte(1) > 0x20,
            lineOfOpenRegex != line
        else { return nil }
        var (end, depth, isInClass, isSpace) = (offset + 1, 0, false, false)
        while end < source.count, source[end] != 0x0A, depth >= 0 {
            let byte = source[end]
            if byte == 0x2F { return isSpace ? nil : end + 1 }
            isSpace = byte <= 0x20
            if byte == 0x5C, end + 1 < source.count, source[end + 1] != 0x0A { end += 1 }
            if byte == UInt8(ascii: "[") { isInClass = true }
            if byte == UInt8(ascii: "]") { isInClass = false }
            if byte == UInt8(ascii: "("), !isInClass { depth += 1 }
            if byte == UInt8(ascii: ")"), !isInClass { depth -= 1 }
            end += 1
        }
        if depth >= 0 { lineOfOpenRegex = line }
        return nil
    }

    private func hasPounds(_ count: Int, at distance: Int) -> Bool {
        (0..<count).allSatisfy { byte(distance + $0) == 0x23 }
    }

    /// Begins a string literal of any form. What is interpolated into it is read as all else is, and then belongs to it.
    private mutating func beginString(poundCount: Int) {
        let column = offset - lineStart + 1
        offset += poundCount
        let quoteCount = isMultiline(poundCount: poundCount) ? 3 : 1
        offset += quoteCount
        let token = SwiftToken(kind: .string, start: offset, end: 0, line: line, column: column)
        strings.append(
            OpenString(poundCount: poundCount, quoteCount: quoteCount, token: token, tokenCount: tokens.count))
        readString()
    }

    /// Returns whether three quotes begin here, and not such as in `#"""#` a literal that ends in its line.
    private func isMultiline(poundCount: Int) -> Bool {
        guard byte(1) == 0x22, byte(2) == 0x22 else { return false }
        var distance = 2
        while poundCount > 0, offset + distance < source.count, byte(distance) != 0x0A {
            if byte(distance) == 0x22, hasPounds(poundCount, at: distance + 1) { return false }
            distance += 1
        }
        return true
    }

    /// Reads the innermost string to its end, or to what is interpolated.
    private mutating func readString() {
        let string = strings[strings.count - 1]
        while offset < source.count {
            if byte() == 0x5C, hasPounds(string.poundCount, at: 1) {
                offset += 1 + string.poundCount
                if byte() == 0x28 { return }
                if byte() == 0x0A { newLine() } else { offset += 1 }
            } else if byte() == 0x22, (0..<string.quoteCount).allSatisfy({ byte($0) == 0x22 }),
                hasPounds(string.poundCount, at: string.quoteCount)
            {
                break
            } else if byte() == 0x0A {
                if string.quoteCount == 1 { break }
                newLine()
            } else {
                offset += 1
            }
        }
        endString()
    }

    private mutating func endString() {
        let string = strings.removeLast()
        tokens.removeLast(tokens.count - string.tokenCount)
        tokens.append(string.token)
        tokens[string.tokenCount].end = min(offset, source.count)
        if byte() == 0x22 { offset += string.quoteCount + string.poundCount }
    }

    /// Goes on with a string when its interpolation ends.
    private mutating func follow(_ byte: UInt8) {
        guard byte == 0x28 || byte == 0x29 else { return }
        strings[strings.count - 1].depth += byte == 0x28 ? 1 : -1
        if strings[strings.count - 1].depth == 0 { readString() }
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension SwiftLexer: SelfTesting {
    package static var testSelectors: TestSelectors {
        [
            "testSplits": testSplits,
            "testTellsRegularExpressionsFromDivision": testTellsRegularExpressionsFromDivision,
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
            ("`a {`.`b\"c`(`if`, `unclosed\n", ["`a {`", ".", "`b\"c`", "(", "`if`", ",", "`unclosed"]),
        ]
        for row in rows { expectEqual(texts(row.source), row.tokens, row.source) }
        // What is interpolated, then single-line literals that begin as if they had several.
        let strings = [
            ##"\(#"\"#)"##, #"\(1 /* ( */)"#, #"\(f(a: "\("\(")")")"), ")")b"#, #"\(`(`)"#, #"\(/\)"/)"#,
            "\\(1 // )\n)",
        ]
        for string in strings { expectEqual(texts("\"\(string)\" c"), [string, "c"]) }
        for string in ["\"", "\"\"a\"", "\"\""] { expectEqual(texts("#\"\(string)\"#\nc"), [string, "c"]) }
        expectEqual(texts("#\"\"\"\n\"#\n\"\"\"# c"), ["\n\"#\n", "c"])
        expectEqual(texts("\"a\\(b \"c\" d"), ["a\\(b \"c\" d"], "unclosed")
        expectEqual(
            texts("//\na // b \"c\n/* // */ \"// d\" //", keepsComments: true), ["//", "a", "// b \"c", "// d", "//"])
    }

    /// What the compiler takes for one: it does not look at what is before the space.
    private static func testTellsRegularExpressionsFromDivision() {
        let expressions = [
            #"/b/"#, #"/b c/"#, #"/,/"#, #"/(b)/"#, #"/[)]/"#, #"/\)/"#, #"/\//"#, #"/\/*x/"#, #"/\ b\ /"#, #"/b"c/"#,
            #"/+/"#,
            #"#/b"/#"#, "#/ b / /#", "##/b/#/##", "#/\n\"b /\n /#", "#/ \r\nb\n/#", #"#/\/#/#"#,
        ]
        for expression in expressions {
            expectEqual(texts(expression), [expression])
            expectEqual(texts("f(a, \(expression))<\"d\""), ["f", "(", "a", ",", expression, ")", "<", "d"])
            expectEqual(texts("{\(expression).b // c"), ["{", expression, ".", "b"])
        }
        let rows: [(source: String, tokens: [String])] = [
            ("!/b/.c", ["!", "/b/", ".", "c"]), ("a ^^/0xG/", ["a", "^", "^", "/0xG/"]), ("a:/b/", ["a", ":", "/b/"]),
            ("(/*x*//\\{\"/)", ["(", "/\\{\"/", ")"]), ("(a) /*x*// b", ["(", "a", ")", "/", "b"]),
            ("a / b / c", ["a", "/", "b", "/", "c"]), ("a/b/c", ["a", "/", "b", "/", "c"]),
            ("b+/c/", ["b", "+", "/", "c", "/"]),
            ("(b)/c/", ["(", "b", ")", "/", "c", "/"]), ("f(/b /)", ["f", "(", "/", "b", "/", ")"]),
            ("f(/, /)", ["f", "(", "/", ",", "/", ")"]), ("f(/) / b", ["f", "(", "/", ")", "/", "b"]),
            ("(/)\n\"b/\"", ["(", "/", ")", "b/"]), ("/b\n/", ["/", "b", "/"]),
            ("/b\\\nc/", ["/", "b", "\\", "c", "/"]),
            ("/ b/ c", ["/", "b", "/", "c"]), ("#/b\nc/#", ["#/b", "c", "/", "#"]), ("/b", ["/", "b"]),
            ("(/)/b", ["(", "/", ")", "/", "b"]), ("(/[b])/c", ["(", "/", "[", "b", "]", ")", "/", "c"]),
            ("#/b\\\nc", ["#/b\\", "c"]),
        ]
        for row in rows { expectEqual(texts(row.source), row.tokens, row.source) }
    }

    private static func testCountsLinesAndBytes() {
        let more = Array("#/\nb\n/# a\nb".utf8).withUnsafeBytes { split($0) }
        expectEqual(more.map(\.line), [1, 3, 4])
        expectEqual(more.map(\.column), [1, 4, 1])
        let tokens = Array("é a\n\n  \"b\nc".utf8).withUnsafeBytes { split($0) }
        expectEqual(tokens.map(\.line), [1, 1, 3, 4])
        expectEqual(tokens.map(\.column), [1, 4, 3, 1])
    }

    private static func testEndsOnAnything() {
        let source = Array("/* \"\"\" \\( #\" */ \"\\(\"\\( !/[(\\)/ #/\n#".utf8)
        for start in source.indices {
            for end in start...source.count {
                _ = Array(source[start..<end]).withUnsafeBytes { split($0) }
            }
        }
    }
}
#endif
