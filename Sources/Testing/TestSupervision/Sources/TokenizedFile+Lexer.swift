// Splits Swift source into the tokens that the search for tests needs: words, string literals and punctuation, without
// comments. The lexer only reads source that a compiler has accepted, so any unknown byte is punctuation.

internal import InClassSystem

/// The state of a lexer: how far it has split the source.
struct LexerState {
    var offset = 0
    /// The brackets that are not closed yet.
    var open: [Int] = []
    /// The end of the last line whose slash doesn't begin a regular expression, because the line has no second slash.
    var openRegexEnd = 0
    /// The end of the last `/*…*/`, which separates tokens like a space.
    var commentEnd = 0
    /// A Boolean value that indicates whether the lexer skips tokens.
    var isSkipping = false
    /// A Boolean value that indicates whether the characters of an operator become a single token, and comments are
    /// kept.
    var isForMutants = false
}

extension TokenizedFile {
    /// Returns the byte at a small distance, or zero after the end of the source.
    private func byte(_ distance: Int = 0) -> UInt8 { base[state.offset &+ distance] }

    /// Reads the source up to the end of the next token.
    ///
    /// - Returns: false at the end of the source.
    func readToken() -> Bool {
        while state.offset < count { if step() { return true } }
        return false
    }

    /// Reads one token, comment or space.
    ///
    /// - Returns: true if there is a new token.
    @discardableResult private func step() -> Bool {
        let start = state.offset
        let byte = base[start]
        var end = start &+ 1
        if byte <= 0x20 {
            while end < count, base[end] <= 0x20 { end &+= 1 }
            state.offset = end
            return false
        }
        if Self.isWord(byte) {
            if byte == 0x60, let rawEnd = endOfRawIdentifier() { return add(.word, to: rawEnd) }
            while Self.isWord(base[end]) { end &+= 1 }
            return add(.word, to: end)
        }
        if byte == 0x2F, base[start &+ 1] == 0x2F {
            state.offset = endOfLine()
            if state.isForMutants { comments.append(start..<state.offset) }
            return false
        }
        if byte == 0x2F, base[start &+ 1] == 0x2A { return skipBlockComment() }
        let poundCount = poundCount()
        if self.byte(poundCount) == 0x22 { return readString(poundCount: poundCount) }
        if poundCount > 0, self.byte(poundCount) == 0x2F { return add(.word, to: endOfRegex(poundCount: poundCount)) }
        if byte == 0x2F, let end = endOfBareRegex() { return add(.word, to: end) }
        return addPunctuation(byte)
    }

    /// Adds a token that begins at the current offset.
    private func add(_ kind: SwiftToken.Kind, to end: Int, delimiterCount: Int = 0) -> Bool {
        let start = state.offset
        state.offset = min(end, count)
        if state.isSkipping { return false }
        tokens.append(
            SwiftToken(
                kind: kind, start: start, end: min(end, count), delimiterCount: delimiterCount,
                bracket: state.open.last ?? -1, partner: tokens.count))
        return true
    }

    private func addPunctuation(_ byte: UInt8) -> Bool {
        let start = state.offset
        if state.isForMutants, Self.isOperator(byte), let last = tokens.last, last.end == start,
            last.kind == .punctuation, Self.isOperator(base[last.start])
        {
            state.offset += 1
            tokens[tokens.count - 1].end = state.offset
            return false
        }
        if !add(.punctuation, to: start + 1) { return false }
        switch byte {
        case UInt8(ascii: "("), UInt8(ascii: "["), UInt8(ascii: "{"):
            state.open.append(tokens.count - 1)
            tokens[tokens.count - 1].partner = -1
        case UInt8(ascii: ")"), UInt8(ascii: "]"), UInt8(ascii: "}"):
            guard let bracket = state.open.popLast() else { break }
            tokens[bracket].partner = tokens.count - 1
            tokens[tokens.count - 1].partner = bracket
        default: break
        }
        return true
    }

    /// Skips the code after an opening brace, unless tokens after the brace have been read or the code contains tests.
    /// Only the lines of `#if` and other conditions become tokens.
    func skipBody(behind brace: Int) {
        guard tokens.count == brace + 1 else { return }
        let before = state
        var (depth, directiveEnd) = (1, 0)
        while state.offset < count {
            state.isSkipping = state.offset >= directiveEnd
            if state.isSkipping { state.offset += strcspn(base + state.offset, "{}\"/#`") }
            depth += byte() == UInt8(ascii: "{") ? 1 : byte() == UInt8(ascii: "}") ? -1 : 0
            if depth == 0 { break }
            if byte() == 0x23, isDirective() { directiveEnd = endOfLine() }
            state.isSkipping = state.offset >= directiveEnd
            step()
        }
        state.isSkipping = false
        let body = UnsafeRawBufferPointer(start: base + before.offset, count: state.offset - before.offset)
        if ByteSearch.offset(of: "func test", in: body) != nil
            || ByteSearch.offset(of: "testSelectors", in: body) != nil
        {
            tokens.removeLast(tokens.count - brace - 1)
            state = before
        }
    }

    /// Returns whether `#if`, `#else`, `#elseif` or `#endif` begins here.
    private func isDirective() -> Bool {
        let words: [StaticString] = ["#if", "#else", "#endif"]
        return words.contains { strncmp(base + state.offset, $0.utf8Start, $0.utf8CodeUnitCount) == 0 }
    }

    static func isWord(_ byte: UInt8) -> Bool {
        byte >= 0x61 && byte <= 0x7A || byte >= 0x41 && byte <= 0x5A || byte >= 0x30 && byte <= 0x39 || byte == 0x5F
            || byte >= 0x80 || byte == 0x60
    }

    static func isOperator(_ byte: UInt8) -> Bool { "!&^~-+*%<>=|?./".utf8.contains(byte) }

    /// Returns the offset of the next newline, or of the end of the source.
    private func endOfLine() -> Int {
        memchr(base + state.offset, 0x0A, count - state.offset)
            .map { UnsafeRawPointer($0) - UnsafeRawPointer(base) } ?? count
    }

    /// Returns the end of a name in backquotes, which may contain any character except a newline.
    private func endOfRawIdentifier() -> Int? {
        let end = state.offset + 1 + strcspn(base + state.offset + 1, "`\n")
        return base[end] == 0x60 ? end + 1 : nil
    }

    private func skipBlockComment() -> Bool {
        var depth = 0
        while state.offset < count {
            state.offset += strcspn(base + state.offset, "/*")
            let change = byte() == 0x2F && byte(1) == 0x2A ? 1 : byte() == 0x2A && byte(1) == 0x2F ? -1 : 0
            depth += change
            state.offset = min(state.offset + (change == 0 ? 1 : 2), count)
            if change < 0 { state.commentEnd = state.offset }
            if depth == 0 { break }
        }
        return false
    }

    // MARK: Literals

    private func poundCount(at distance: Int = 0) -> Int {
        var count = 0
        while byte(distance &+ count) == 0x23 { count &+= 1 }
        return count
    }

    /// Returns the end of `#/…/#`. It is on the same line unless a newline follows the opening delimiter.
    private func endOfRegex(poundCount: Int) -> Int {
        var end = state.offset + poundCount + 1
        while [0x20, 0x09, 0x0D].contains(base[end]) { end += 1 }
        let isMultiline = base[end] == 0x0A
        while end < count, isMultiline || base[end] != 0x0A {
            if base[end] == 0x2F, self.poundCount(at: end - state.offset + 1) >= poundCount {
                return end + poundCount + 1
            }
            end += base[end] == 0x5C && base[end + 1] != 0x0A ? 2 : 1
        }
        return min(end, count)
    }

    /// Returns the end of `/…/` if the compiler's rules make it a regular expression: The first slash is where a prefix
    /// operator may be, and the second is on the same line. Inside, no space is next to the slashes, and no closing
    /// bracket is unmatched.
    private func endOfBareRegex() -> Int? {
        let start = state.offset
        var before = start - 1
        // Go back over prefix operators, which are short.
        while before >= max(state.commentEnd, start - 4), Self.isOperator(base[before]) { before -= 1 }
        guard before < state.commentEnd || base[before] <= 0x20 || "([{,;:".utf8.contains(base[before]), byte(1) > 0x20,
            start >= state.openRegexEnd
        else { return nil }
        var (end, depth, isInClass, isSpace) = (start + 1, 0, false, false)
        while end < count, base[end] != 0x0A, depth >= 0 {
            let byte = base[end]
            if byte == 0x2F { return isSpace ? nil : end + 1 }
            isSpace = byte <= 0x20
            if byte == 0x5C, end + 1 < count, base[end + 1] != 0x0A { end += 1 }
            if byte == UInt8(ascii: "[") { isInClass = true }
            if byte == UInt8(ascii: "]") { isInClass = false }
            if byte == UInt8(ascii: "("), !isInClass { depth += 1 }
            if byte == UInt8(ascii: ")"), !isInClass { depth -= 1 }
            end += 1
        }
        if depth >= 0 { state.openRegexEnd = end }
        return nil
    }

    /// Reads a string literal of any form, with the code in it. A literal without an end becomes a word.
    private func readString(poundCount: Int) -> Bool {
        let start = state.offset
        state.offset += poundCount
        let quoteCount = isMultiline(poundCount: poundCount) ? 3 : 1
        state.offset += quoteCount
        var kind = SwiftToken.Kind.word
        while state.offset < count, kind == .word {
            state.offset += strcspn(base + state.offset, quoteCount == 1 ? "\\\"\n" : "\\\"")
            let byte = byte()
            if byte == 0x5C, self.poundCount(at: 1) >= poundCount {
                state.offset += 1 + poundCount
                if self.byte() == 0x28 { readInterpolation() } else { state.offset += 1 }
            } else if byte == 0x22, quoteCount == 1 || self.byte(1) == 0x22 && self.byte(2) == 0x22,
                self.poundCount(at: quoteCount) >= poundCount
            {
                state.offset += quoteCount + poundCount
                kind = .string
            } else if byte == 0x0A, quoteCount == 1 {
                break
            } else {
                state.offset += 1
            }
        }
        let end = state.offset
        state.offset = start
        return add(kind, to: end, delimiterCount: kind == .string ? quoteCount + poundCount : 0)
    }

    /// Returns whether three quotes begin a multi-line literal here. In `#"""#`, they are a literal that ends on its
    /// line.
    private func isMultiline(poundCount: Int) -> Bool {
        guard byte(1) == 0x22, byte(2) == 0x22 else { return false }
        var distance = 2
        while poundCount > 0, state.offset + distance < count, byte(distance) != 0x0A {
            if byte(distance) == 0x22, self.poundCount(at: distance + 1) >= poundCount { return false }
            distance += 1
        }
        return true
    }

    /// Skips the code in a string.
    private func readInterpolation() {
        let (tokenCount, open) = (tokens.count, state.open)
        var depth = 0
        repeat {
            depth += byte() == 0x28 ? 1 : byte() == 0x29 ? -1 : 0
            step()
        } while depth > 0 && state.offset < count
        tokens.removeLast(tokens.count - tokenCount)
        state.open = open
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

enum LexerTests {}

extension LexerTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testSplitsSourcesIntoTokens": testSplitsSourcesIntoTokens,
            "testSkipsBodiesOfFunctions": testSkipsBodiesOfFunctions,
            "testDistinguishesRegularExpressionsFromDivision": testDistinguishesRegularExpressionsFromDivision,
            "testCountsLinesAndBytes": testCountsLinesAndBytes,
            "testReadsTruncatedSources": testReadsTruncatedSources,
        ]
    }

    private static func texts(_ source: String) -> [String] {
        let file = TokenizedFile(Array(source.utf8))
        return file.tokens.indices.map(file.text)
    }

    private static func testSplitsSourcesIntoTokens() {
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
            ("\"unclosed\n a", ["\"unclosed", "a"]),
            ("`a {`.`b\"c`(`if`, `unclosed\n", ["`a {`", ".", "`b\"c`", "(", "`if`", ",", "`unclosed"]),
        ]
        for row in rows { expectEqual(texts(row.source), row.tokens, row.source) }
        // Interpolations, then single-line literals that begin like multi-line literals.
        let strings = [
            ##"\(#"\"#)"##, #"\(1 /* ( */)"#, #"\(f(a: "\("\(")")")"), ")")b"#, #"\(`(`)"#, #"\(/\)"/)"#,
            "\\(1 // )\n)",
        ]
        for string in strings { expectEqual(texts("\"\(string)\" c"), [string, "c"]) }
        for string in ["\"", "\"\"a\"", "\"\""] { expectEqual(texts("#\"\(string)\"#\nc"), [string, "c"]) }
        expectEqual(texts("#\"\"\"\n\"#\n\"\"\"# c"), ["\n\"#\n", "c"])
        expectEqual(texts("\"a\\(b \"c\" d"), ["\"a\\(b \"c\" d"], "unclosed")
        let file = TokenizedFile(Array("//\na // b \"c\n/* // */ \"// d\" <== /".utf8), isForMutants: true)
        expectEqual(file.comments.map(file.text), ["//", "// b \"c"])
        expectEqual(file.tokens.indices.map(file.text), ["a", "// d", "<==", "/"])
    }

    private static func testSkipsBodiesOfFunctions() {
        let rows: [(body: String, tokens: [String])] = [
            ("{ a { \"}\" } /* } */ `}` /}/ \"\\(\"}\")\" // }\n}", []),
            ("{ struct S { func testA() } }", ["struct", "S"]),
            ("{ #else\n { \n#if A\n#selector(b) } }", ["#", "else", "#", "if", "A"]),
        ]
        for row in rows {
            let file = TokenizedFile(unread: Array("a \(row.body) b".utf8))
            expectTrue(file.has(1))
            file.skipBody(behind: 1)
            while file.readToken() {}
            let texts = file.tokens.indices.map(file.text)
            expectEqual(Array(texts[2...].prefix(row.tokens.count)), row.tokens, row.body)
            expectEqual(texts.suffix(2), ["}", "b"], row.body)
            if row.tokens.isEmpty { expectEqual(file.tokens[1].partner, 2, row.body) }
        }
    }

    /// The compiler's rules, which ignore everything before a space.
    private static func testDistinguishesRegularExpressionsFromDivision() {
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
        for (source, lines, columns) in [
            ("#/\nb\n/# a\nb", [1, 3, 4], [1, 4, 1]), ("é a\n\n  \"b\nc", [1, 1, 3, 4], [1, 4, 3, 1]),
        ] {
            let file = TokenizedFile(Array(source.utf8))
            let places = file.tokens.map { file.place(at: $0.start, in: "") }
            expectEqual(places.map(\.line), lines, source)
            expectEqual(places.map(\.column), columns, source)
            for (index, place) in places.enumerated() {
                expectEqual(file.index(line: place.line, column: place.column), index, source)
            }
        }
    }

    private static func testReadsTruncatedSources() {
        let source = Array("/* \"\"\" \\( #\" */ \"\\(\"\\( !/[(\\)/ #/\n#".utf8)
        for start in source.indices {
            for end in start...source.count {
                _ = TokenizedFile(Array(source[start..<end]))
                let file = TokenizedFile(unread: [0x7B] + source[start..<end])
                if file.readToken() { file.skipBody(behind: 0) }
                while file.readToken() {}
            }
        }
    }
}
#endif
