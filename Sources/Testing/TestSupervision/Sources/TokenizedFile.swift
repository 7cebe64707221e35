// A Swift source and its tokens, with the brackets among them. `TokenizedFile+Lexer.swift` splits the source.

internal import InClassSystem
import TestEvents

/// A word, a regular expression as it is written, a string literal, or one character of punctuation.
package struct SwiftToken {
    package enum Kind { case word, string, punctuation }

    package var kind: Kind
    /// The byte offset of the first byte in the source. A string includes its quotes.
    package var start: Int
    package var end: Int
    /// The number of bytes that begin a string literal. The same number ends it.
    var delimiterCount: Int
    /// The index of the innermost bracket around the token, or -1.
    var bracket: Int
    /// The index of the matching bracket, or -1 until the lexer finds it. For any other token, its own index.
    var partner: Int
}

/// A Swift source that is split into tokens, either at once or on demand.
package final class TokenizedFile {
    package let bytes: [UInt8]
    package internal(set) var tokens: [SwiftToken] = []
    /// The comments that end with their line, if the lexer keeps them.
    var comments: [Range<Int>] = []
    let count: Int
    /// A copy of the bytes, followed by some zeros.
    let base: UnsafeMutablePointer<UInt8>
    var state = LexerState()
    private lazy var lineStarts: [Int] = {
        var starts = [0]
        var start = 0
        while let newline = memchr(base + start, 0x0A, count - start) {
            start = UnsafeRawPointer(newline) - UnsafeRawPointer(base) + 1
            starts.append(start)
        }
        return starts
    }()

    /// Creates a file that is split on demand, as far as its tokens are used.
    init(unread bytes: [UInt8]) {
        self.bytes = bytes
        count = bytes.count
        base = .allocate(capacity: count + 8)
        base.update(repeating: 0, count: count + 8)
        bytes.withUnsafeBufferPointer { buffer in
            if let start = buffer.baseAddress { base.update(from: start, count: buffer.count) }
        }
    }

    deinit { base.deallocate() }

    /// Splits a source into tokens.
    ///
    /// - Complexity: O(length of the source).
    package convenience init(_ bytes: [UInt8], isForMutants: Bool = false) {
        self.init(unread: bytes)
        state.isForMutants = isForMutants
        while readToken() {}
    }

    /// Returns whether the source has a token with this index.
    func has(_ index: Int) -> Bool {
        while index >= tokens.count { if !readToken() { return false } }
        return index >= 0
    }

    // MARK: Text

    /// Returns the text of a token, without the quotes of a string, or an empty text after the last token.
    package func text(_ index: Int) -> String {
        guard has(index) else { return "" }
        let token = tokens[index]
        return text(token.start + token.delimiterCount..<token.end - token.delimiterCount)
    }

    func text(_ range: Range<Int>) -> String {
        String(decoding: UnsafeBufferPointer(start: base + range.lowerBound, count: range.count), as: UTF8.self)
    }

    /// Returns the text of a punctuation token or word, or an empty text for a string.
    package func mark(_ index: Int) -> String { has(index) && tokens[index].kind != .string ? text(index) : "" }

    func isMark(_ character: Unicode.Scalar, _ index: Int) -> Bool {
        has(index) && tokens[index].kind == .punctuation && base[tokens[index].start] == UInt8(ascii: character)
    }

    func isString(_ index: Int) -> Bool { has(index) && tokens[index].kind == .string }

    func isWord(_ word: StaticString, _ index: Int) -> Bool {
        guard has(index) else { return false }
        let token = tokens[index]
        return token.kind == .word && token.end - token.start == word.utf8CodeUnitCount
            && memcmp(base + token.start, word.utf8Start, word.utf8CodeUnitCount) == 0
    }

    // MARK: Places

    /// Returns the line of a byte, from 1.
    ///
    /// - Complexity: O(log *n*), where *n* is the number of lines.
    func line(at offset: Int) -> Int {
        let starts = lineStarts
        return Self.firstIndex(below: starts.count) { starts[$0] > offset }
    }

    /// The number of lines, including an empty last line.
    var lineCount: Int { lineStarts.count }

    /// Returns the line of a token, from 1.
    package func line(_ index: Int) -> Int { line(at: tokens[index].start) }

    /// Returns the line and the column of a byte in a source with this path.
    package func place(at offset: Int, in path: String) -> SourcePlace {
        let line = line(at: offset)
        return SourcePlace(path: path, line: line, column: offset - lineStarts[line - 1] + 1)
    }

    /// Finds the token that begins at a place.
    ///
    /// - Complexity: O(log *n*), where *n* is the number of tokens.
    func index(line: Int, column: Int) -> Int? {
        guard lineStarts.indices.contains(line - 1) else { return nil }
        let offset = lineStarts[line - 1] + column - 1
        let index = Self.firstIndex(below: tokens.count) { tokens[$0].start >= offset }
        return index < tokens.count && tokens[index].start == offset ? index : nil
    }

    /// Returns the first index that satisfies a condition. All later indices must satisfy it, too.
    private static func firstIndex(below count: Int, where holds: (Int) -> Bool) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if holds(middle) { high = middle } else { low = middle + 1 }
        }
        return low
    }

    // MARK: Brackets

    /// Returns the bracket that closes an opening bracket.
    package func end(ofBracket bracket: Int) -> Int? {
        guard has(bracket) else { return nil }
        while tokens[bracket].partner < 0 { if !readToken() { return nil } }
        return tokens[bracket].partner
    }

    func opensBracket(_ index: Int) -> Bool {
        has(index) && (tokens[index].partner < 0 || tokens[index].partner > index)
    }

    /// Returns the token after another token, or after the bracket that it opens.
    func next(_ index: Int) -> Int { max(index, end(ofBracket: index) ?? tokens.count) + 1 }

    /// Returns the innermost bracket that is open before a token.
    package func bracket(around index: Int) -> Int? {
        tokens[index].bracket < 0 ? nil : tokens[index].bracket
    }

    /// Returns the ranges of the tokens that commas separate between an opening bracket and its closing bracket.
    package func items(ofBracket bracket: Int) -> [Range<Int>] {
        guard let end = end(ofBracket: bracket) else { return [] }
        var items: [Range<Int>] = []
        var (first, index) = (bracket + 1, bracket + 1)
        while index < end {
            if isMark(",", index) {
                items.append(first..<index)
                first = index + 1
            }
            index = next(index)
        }
        return first < end ? items + [first..<end] : items
    }

    // MARK: Modifiers

    static let modifierNames: Set = [
        "borrowing", "class", "consuming", "distributed", "dynamic", "fileprivate", "final", "func", "indirect",
        "internal", "isolated", "mutating", "nonisolated", "open", "override", "package", "private", "public", "static",
        "unsafe", "var", "weak",
    ]

    /// The words that begin declarations.
    static let declarationNames = modifierNames.union([
        "actor", "associatedtype", "case", "deinit", "enum", "extension", "import", "init", "lazy", "let", "protocol",
        "struct", "subscript", "typealias",
    ])

    /// Returns the modifiers before a keyword.
    func modifiers(before keyword: Int) -> Set<String> {
        var modifiers: Set<String> = []
        var position = keyword - 1
        while position >= 0 {
            // The arguments belong to an attribute, or to `private(set)`.
            if isMark(")", position) { position = tokens[position].partner - 1 }
            let word = mark(position)
            if isMark("@", position - 1) {
                position -= 2
            } else if Self.modifierNames.contains(word) {
                modifiers.insert(word)
                position -= 1
            } else {
                break
            }
        }
        return modifiers
    }

    // MARK: Arguments

    /// Returns the bytes of a call's second argument if it is a single literal or word. The index is the call's
    /// parenthesis.
    func secondArgument(ofCall parenthesis: Int) -> Range<Int>? {
        guard isMark("(", parenthesis) else { return nil }
        let items = items(ofBracket: parenthesis)
        return items.count > 1 ? literal(at: items[1].lowerBound) : nil
    }

    /// Returns the bytes of a literal or word that is the whole argument or element.
    private func literal(at start: Int) -> Range<Int>? {
        guard has(start) else { return nil }
        let first = tokens[start]
        var (index, end) = (start + 1, first.end)
        // The sign and the fraction of a number are separate tokens.
        while first.kind != .string, has(index), tokens[index].start == end, ![",", ")", "]"].contains(mark(index)) {
            end = tokens[index].end
            index += 1
        }
        // A raw string can't be replaced with a plain one, because the same characters have another meaning.
        guard [",", ")", "]"].contains(mark(index)), base[first.start] != UInt8(ascii: "#") else { return nil }
        return first.start..<end
    }

    /// Returns the bytes of a literal in a row of a table. The closure around the call receives the literal under this
    /// name.
    func value(of name: String, inRowAt place: SourcePlace, ofTableAround call: Int) -> Range<Int>? {
        let names = parameters(ofTableAround: call)
        guard let row = index(line: place.line, column: place.column), row < call,
            let position = names.firstIndex(of: name)
        else { return nil }
        let values =
            isMark("(", row)
            ? items(ofBracket: row).map { isMark(":", $0.lowerBound + 1) ? $0.lowerBound + 2 : $0.lowerBound } : [row]
        // The first parameter of a test with a fixture is the fixture.
        let offset = names.count - values.count
        guard offset >= 0, offset <= 1, values.indices.contains(position - offset) else { return nil }
        return literal(at: values[position - offset])
    }

    /// Returns the parameter names of the innermost closure with named parameters around a token, if it follows a
    /// table.
    private func parameters(ofTableAround position: Int) -> [String] {
        var position = position
        while let index = bracket(around: position) {
            position = index
            guard isMark("{", index) else { continue }
            let head = tokens.indices[(index + 1)...].prefix { !isString($0) && !["in", "{"].contains(text($0)) }
            guard isWord("in", index + 1 + head.count) else { continue }
            let names = head.filter { tokens[$0].kind == .word }
            let isList = names.count * 2 - 1 == head.filter { !["(", ")"].contains(text($0)) }.count
            // The closure follows `each(…)`.
            let isTable = isMark(")", index - 1) && isWord("each", tokens[index - 1].partner - 1)
            if isList { return isTable ? names.map(text) : [] }
        }
        return []
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting
import TestEvents

extension TokenizedFile: SelfTesting {
    package static var testSelectors: TestSelectors { ["testFindsTheValueOfARow": testFindsTheValueOfARow] }

    private static func testFindsTheValueOfARow() throws {
        let folder = try temporaryDirectory()
        let rows: [(table: String, expected: String, literal: String?)] = [
            (".each(\"t\", [(\"x\", 1), (\"y\", 5)]) { text, value in\nexpectEqual(f(text), value)\n}", "5", "5"),
            (".each(\"t\", [(a: 5, b: 4), (a: 5, b: -5)]) { (a, b) in\nexpectEqual(a, b)\n}", "-5", "-5"),
            (".each(\"t\", [4, 5]) { n in f {\nexpectEqual($0, n) }\n}", "5", "5"),
            ("each(\"t\", [4, 5]) { s, n in\nexpectEqual(s.n, n)\n}", "5", "5"),
            (".each(\"t\", [4, 5]) { n in for m in n {\nexpectEqual(m, n) }\n}", "5", "5"),
            (".each(\"t\", [4, 5]) { n in g { m in\nexpectEqual(n, m) }\n}", "5", nil),
            (".each(\"t\", [4, 5]) { n in\nexpectEqual(n, x)\n}", "5", nil),
            (".each(\"t\", [4, 2 + 3]) { n in\nexpectEqual(m, n)\n}", "5", nil),
            (".each(\"t\", [4, 6]) { n in\nexpectEqual(m, n)\n}", "5", nil),
        ]
        for (number, row) in rows.enumerated() {
            let path = "\(folder)/\(number).swift"
            let source = "extension S { static var testSelectors: TestSelectors { \(row.table) } }"
            try FileAccess.write(Array(source.utf8), to: path)
            let test = PlannedTest(
                typeName: "S", testName: "t(1)", testType: "unit", module: "M",
                row: PlannedTest.TableRow(table: "t", index: 1))
            let issue = TestIssue(
                kind: .expectation, path: path, line: 2, column: 12, got: "7", expected: row.expected)
            let scan = SourceScan(sources: [path], module: "M")
            let fix = try? LiteralFix.find(
                for: issue, of: test, in: TestedSources().file(at: path), isAsCompiled: true
            ) { scan.entry(of: test)?.rows }
            expectEqual(fix?.literal, row.literal, row.table)
            if let fix {
                expectEqual(fix.start.line, 1)
                expectEqual(fix.call, fix.start)
                expectEqual(fix.replacement, "7")
            }
        }
    }
}
#endif
