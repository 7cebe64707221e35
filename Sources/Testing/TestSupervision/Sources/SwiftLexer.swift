// Splits Swift source into the tokens that the search for tests needs: words, string literals and punctuation, without
// comments. The lexer only reads source that a compiler has accepted, so any unknown byte is punctuation.

internal import InClassSystem

/// A position between two tokens of a source. A copy of it remembers the position.
struct SwiftLexer {
    // PERF: Pointers and integers, because a debug build counts references to arrays and texts, and copies a lexer often.
    let base: UnsafePointer<UInt8>
    private let count: Int
    private let keepsComments: Bool

    /// The kind of the current token. A regular expression is a word.
    private(set) var kind = SwiftToken.Kind.end
    /// The byte offset of the first byte of the current token. A string includes its quotes.
    private(set) var start = 0
    /// The byte offset after the current token, where the next begins.
    private(set) var end = 0
    /// The number of bytes that begin a string literal. The same number ends it.
    private(set) var delimiterCount = 0
    /// The end of the last `/*…*/`, which separates tokens like a space.
    private var commentEnd = 0

    /// Creates a lexer in front of the first token. The source must outlive the lexer.
    ///
    /// - Parameter keepsComments: whether the comments that end with their line are tokens.
    init(_ source: SourceText, keepsComments: Bool = false) {
        base = source.base
        count = source.count
        self.keepsComments = keepsComments
        let hasByteOrderMark = count >= 3 && base[0] == 0xEF && base[1] == 0xBB && base[2] == 0xBF
        if hasByteOrderMark { end = 3 }
    }

    /// A Boolean value that indicates whether the current word is the name of a member or a label, even if it is spelled
    /// like a keyword.
    var isMemberOrLabel: Bool {
        var index = start
        while index > 0, base[index &- 1] <= 0x20 { index &-= 1 }
        if index == 0 { return false }
        let byte = base[index &- 1]
        return byte == UInt8(ascii: ".") || byte == UInt8(ascii: "(") || byte == UInt8(ascii: ",")
    }

    /// Reads the next token. After the last token, its kind is `end`.
    mutating func next() {
        while !step() {
            if end >= count {
                start = count
                return kind = .end
            }
        }
    }

    /// Reads one token, comment or space.
    ///
    /// - Returns: true if it is a token.
    private mutating func step() -> Bool {
        if end >= count { return false }
        start = end
        end &+= 1
        (kind, delimiterCount) = (.punctuation, 0)
        let byte = base[start]
        defer { if end > count { end = count } }
        if byte <= 0x20 {
            end &+= strspn(base + end, Self.spaces.utf8Start)
            return false
        }
        if Self.isWord(byte) {
            while Self.isWord(base[end]) { end &+= 1 }
            if byte == 0x60 {
                // A name in backquotes may contain any character except a newline.
                let rawEnd = offset(ofAny: "`\n", from: start + 1)
                if base[rawEnd] == 0x60 { end = rawEnd + 1 }
            }
            kind = .word
            return true
        }
        if byte == 0x2F, base[end] == 0x2F {
            end = endOfLine
            kind = .comment
            return keepsComments
        }
        if byte == 0x2F, base[end] == 0x2A { return skipBlockComment() }
        let poundCount = poundCount(at: start)
        if base[start &+ poundCount] == 0x22 {
            readString(poundCount: poundCount)
        } else if poundCount > 0, base[start &+ poundCount] == 0x2F {
            kind = .word
            end = endOfRegex(poundCount: poundCount)
        } else if byte == 0x2F, let regexEnd = endOfBareRegex() {
            kind = .word
            end = regexEnd
        }
        return true
    }

    /// Skips the code up to the brace that closes the current brace.
    ///
    /// - Parameter limit: the offset of code that must not be skipped.
    /// - Returns: false if the code reaches the limit or contains an `#if`. The current token is then unchanged.
    mutating func skipBody(before limit: Int) -> Bool {
        let before = self
        var depth = 1
        while end < count {
            end = offset(ofAny: "{}\"/#`", from: end)
            let byte = base[end]
            depth += byte == 0x7B ? 1 : byte == 0x7D ? -1 : 0
            if end > limit || byte == 0x23 && isDirective(at: end) { break }
            if depth == 0 { return true }
            _ = step()
        }
        self = before
        return false
    }

    /// Returns whether `#if`, `#else`, `#elseif` or `#endif` may begin at an offset.
    func isDirective(at offset: Int) -> Bool {
        has("#if", at: offset) || has("#el", at: offset) || has("#en", at: offset)
    }

    // PERF: Static strings, because a call of a C function copies any other text.
    private static let spaces: StaticString = " \t\r\n"

    /// Returns the offset of the first of several bytes at or after an offset.
    private func offset(ofAny bytes: StaticString, from start: Int) -> Int {
        start &+ strcspn(base + start, bytes.utf8Start)
    }

    /// Returns whether a text begins at an offset.
    private func has(_ text: StaticString, at offset: Int) -> Bool {
        memcmp(base + offset, text.utf8Start, text.utf8CodeUnitCount) == 0
    }

    static func isWord(_ byte: UInt8) -> Bool {
        (byte | 0x20) &- 0x61 < 26 || byte &- 0x30 < 10 || byte == 0x5F || byte >= 0x80 || byte == 0x60
    }

    static func isOperator(_ byte: UInt8) -> Bool { "!&^~-+*%<>=|?./".utf8.contains(byte) }

    /// The offset of the next newline, or of the end of the source. As for the compiler, a carriage return is a newline.
    var endOfLine: Int { offset(of: 0x0D, before: offset(of: 0x0A, before: count)) }

    private func offset(of byte: Int32, before limit: Int) -> Int {
        memchr(base + end, byte, limit - end).map { UnsafeRawPointer($0) - UnsafeRawPointer(base) } ?? limit
    }

    private mutating func skipBlockComment() -> Bool {
        var depth = 0
        end = start
        while end < count {
            end = offset(ofAny: "/*", from: end)
            let (byte, second) = (base[end], base[end + 1])
            let change = byte == 0x2F && second == 0x2A ? 1 : byte == 0x2A && second == 0x2F ? -1 : 0
            depth += change
            end += change == 0 ? 1 : 2
            if change < 0 { commentEnd = end }
            if depth == 0 { break }
        }
        return false
    }

    // MARK: The current token

    /// A Boolean value that indicates whether the lexer isn't behind the last token.
    var isInside: Bool { if case .end = kind { false } else { true } }

    /// Returns whether the current token is this word or punctuation.
    func at(_ text: StaticString) -> Bool {
        end &- start == text.utf8CodeUnitCount && delimiterCount == 0 && has(text, at: start)
    }

    /// Goes behind the current token if it is this word or punctuation.
    mutating func accept(_ text: StaticString) -> Bool {
        if !at(text) { return false }
        next()
        return true
    }

    var isOperator: Bool { kind == .punctuation && Self.isOperator(base[start]) }
    var opensBracket: Bool { at("(") || at("[") || at("{") }
    var closesBracket: Bool { at(")") || at("]") || at("}") }

    /// A Boolean value that indicates whether the current token separates declarations or begins one.
    var isDeclaration: Bool {
        Self.declarationStarts.contains(text) && delimiterCount == 0 && (start == 0 || base[start - 1] != 0x2E)
    }

    private static let declarationStarts: Set = [
        "#", ";", "@", "actor", "associatedtype", "borrowing", "case", "class", "consuming", "convenience", "deinit",
        "distributed", "dynamic", "enum", "extension", "fileprivate", "final", "func", "import", "indirect", "infix",
        "init", "internal", "isolated", "lazy", "let", "mutating", "nonisolated", "nonmutating", "open", "override",
        "package", "postfix", "prefix", "private", "protocol", "public", "required", "static", "struct", "subscript",
        "typealias", "unowned", "unsafe", "var", "weak",
    ]

    /// A Boolean value that indicates whether the current token is `test` and then not a lowercase letter.
    /// `testFixture`, which creates a fixture, isn't a test.
    var isTestName: Bool {
        guard case .word = kind else { return false }
        let start = isRaw ? start + 1 : start
        guard end - start > 4, has("test", at: start), !at("testFixture") else { return false }
        if base[start + 4] < 0x80 { return base[start + 4] &- 0x61 >= 26 }
        return !(name.unicodeScalars.dropFirst(4).first?.properties.isLowercase ?? false)
    }

    /// A Boolean value that indicates whether the current token is a name in backquotes.
    private var isRaw: Bool { base[start] == 0x60 && end - start > 1 }

    /// The current token as a name.
    var name: String { isRaw ? text(start + 1..<end - 1) : text }

    /// The text of the current token, without quotes.
    var text: String { text(start + delimiterCount..<end - delimiterCount) }

    private func text(_ range: Range<Int>) -> String {
        String(decoding: UnsafeBufferPointer(start: base + range.lowerBound, count: range.count), as: UTF8.self)
    }

    // MARK: Literals

    private func poundCount(at start: Int) -> Int {
        var end = start
        while base[end] == 0x23 { end &+= 1 }
        return end &- start
    }

    /// Returns the end of `#/…/#`. It is on the same line unless a newline follows the opening delimiter.
    private func endOfRegex(poundCount: Int) -> Int {
        var end = start + poundCount + 1
        while base[end] == 0x20 || base[end] == 0x09 || base[end] == 0x0D { end += 1 }
        let isMultiline = base[end] == 0x0A
        while end < count, isMultiline || base[end] != 0x0A {
            if base[end] == 0x2F, self.poundCount(at: end + 1) >= poundCount { return end + poundCount + 1 }
            end += base[end] == 0x5C && base[end + 1] != 0x0A ? 2 : 1
        }
        return end
    }

    /// Returns the end of `/…/` if the compiler's rules make it a regular expression: The first slash is where a prefix
    /// operator may be, and the second is on the same line. Inside, no space is next to the slashes, and no closing
    /// bracket is unmatched.
    private func endOfBareRegex() -> Int? {
        var before = start - 1
        // Go back over prefix operators, which are short.
        while before >= max(commentEnd, start - 4), Self.isOperator(base[before]) { before -= 1 }
        guard before < commentEnd || base[before] <= 0x20 || "([{,;:".utf8.contains(base[before]),
            base[start + 1] > 0x20
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
        return nil
    }

    /// Reads a string literal of any form, with the code in it. A literal without an end becomes a word.
    private mutating func readString(poundCount: Int) {
        let start = start
        let quoteCount = isMultiline(poundCount: poundCount) ? 3 : 1
        end = start + poundCount + quoteCount
        while end < count {
            end = offset(ofAny: quoteCount == 1 ? "\\\"\n" : "\\\"", from: end)
            let byte = base[end]
            if byte == 0x0A { break }
            if byte == 0x5C, self.poundCount(at: end + 1) >= poundCount {
                end += 1 + poundCount
                if base[end] == 0x28 { readInterpolation() } else { end += 1 }
            } else if byte == 0x22, quoteCount == 1 || base[end + 1] == 0x22 && base[end + 2] == 0x22,
                poundCount == 0 || self.poundCount(at: end + quoteCount) >= poundCount
            {
                end += quoteCount + poundCount
                (kind, self.start, delimiterCount) = (.string, start, quoteCount + poundCount)
                return
            } else {
                end += 1
            }
        }
        (kind, self.start, delimiterCount) = (.word, start, 0)
    }

    /// Returns whether three quotes begin a multi-line literal here. In `#"""#`, they are a literal that ends on its
    /// line.
    private func isMultiline(poundCount: Int) -> Bool {
        var end = start + poundCount + 1
        guard base[end] == 0x22, base[end + 1] == 0x22 else { return false }
        end += 1
        while poundCount > 0, end < count, base[end] != 0x0A {
            if base[end] == 0x22, self.poundCount(at: end + 1) >= poundCount { return false }
            end += 1
        }
        return true
    }

    /// Skips the code in a string.
    private mutating func readInterpolation() {
        var depth = 0
        repeat {
            depth += base[end] == 0x28 ? 1 : base[end] == 0x29 ? -1 : 0
            _ = step()
        } while depth > 0 && end < count
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

enum LexerTests {}

extension LexerTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testReadsLiteralsAsOneToken": testReadsLiteralsAsOneToken,
            "testSkipsBodiesOfFunctions": testSkipsBodiesOfFunctions,
            "testDistinguishesRegularExpressionsFromDivision": testDistinguishesRegularExpressionsFromDivision,
            "testCountsLinesAndBytes": testCountsLinesAndBytes,
            "testReadsTruncatedSources": testReadsTruncatedSources,
        ] + .each("testSplitsSourcesIntoTokens", tokenizedSources) { expectEqual(texts($0), $1) }
    }

    private static func texts(_ source: String) -> [String] {
        let file = TokenizedFile(Array(source.utf8))
        return file.tokens.indices.map { file.text($0) }
    }

    private static var tokenizedSources: [(source: String, tokens: [String])] {
        [
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
    }

    private static func testReadsLiteralsAsOneToken() {
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
        expectEqual(file.comments.map(file.source.text), ["//", "// b \"c"])
        expectEqual(file.tokens.indices.map { file.text($0) }, ["a", "// d", "<==", "/"])
    }

    private static func testSkipsBodiesOfFunctions() {
        let bodies = [
            ("{ a { \"}\" } /* } */ `}` /}/ \"\\(\"}\")\" // }\n}", true), ("{ #selector(b) }", true), ("{}", true),
            ("{ #if A\n#endif }", false), ("{ {}", false), ("{ \"}", false),
        ]
        for (body, isSkipped) in bodies {
            let source = SourceText(Array("\(body) b".utf8))
            var lexer = SwiftLexer(source)
            lexer.next()
            expectEqual(lexer.skipBody(before: source.count), isSkipped, body)
            expectEqual(lexer.end, isSkipped ? body.utf8.count - 1 : 1, body)
            lexer = SwiftLexer(source)
            lexer.next()
            expectFalse(lexer.skipBody(before: body.utf8.count - 2), body)
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
            let places = file.tokens.map { file.source.place(at: $0.start, in: "") }
            expectEqual(places.map(\.line), lines, source)
            expectEqual(places.map(\.column), columns, source)
            for (index, place) in places.enumerated().reversed() {
                expectEqual(file.source.place(at: file.tokens[index].start, in: ""), place, source)
                expectEqual(file.index(line: place.line, column: place.column), index, source)
            }
        }
    }

    private static func testReadsTruncatedSources() {
        let source = Array("/* \"\"\" \\( #\" */ \"\\(\"\\( !/[(\\)/ #/\n#".utf8)
        for start in source.indices {
            for end in start...source.count {
                _ = TokenizedFile(Array(source[start..<end]))
                let text = SourceText([0x7B] + source[start..<end])
                var lexer = SwiftLexer(text)
                lexer.next()
                expectFalse(lexer.skipBody(before: text.count))
            }
        }
    }
}
#endif
