// A Swift source that is split into tokens, with the brackets among them.

import TestEvents

/// A word, a regular expression as it is written, a string literal, or one character of punctuation.
package struct SwiftToken {
    package enum Kind { case word, string, punctuation, comment, end }

    package var kind: Kind
    /// The byte offset of the first byte in the source. A string includes its quotes.
    package var start: Int
    package var end: Int
    /// The number of bytes that begin a string literal. The same number ends it.
    var delimiterCount: Int
    /// The index of the innermost bracket around the token, or -1.
    var bracket: Int
    /// The index of the matching bracket, or -1 for any other token and for a bracket without a partner.
    var partner: Int
}

package struct TokenizedFile {
    package let source: SourceText
    package private(set) var tokens: [SwiftToken] = []
    /// The comments that end with their line, if the tokens are for mutants.
    private(set) var comments: [Range<Int>] = []

    /// Splits a source into tokens.
    ///
    /// - Parameter isForMutants: whether the characters of an operator become a single token, and comments are kept.
    /// - Complexity: O(length of the source).
    package init(_ bytes: [UInt8], isForMutants: Bool = false) {
        source = SourceText(bytes)
        var lexer = SwiftLexer(source, keepsComments: isForMutants)
        lexer.next()
        var open: [Int] = []
        // The number of open brackets at each open `#if`.
        var branches: [Int] = []
        while lexer.kind != .end {
            if lexer.kind == .comment {
                comments.append(lexer.start..<lexer.end)
            } else if isForMutants, lexer.isOperator, tokens.last?.end == lexer.start, isOperator(tokens.count - 1) {
                tokens[tokens.count - 1].end = lexer.end
            } else {
                tokens.append(
                    SwiftToken(
                        kind: lexer.kind, start: lexer.start, end: lexer.end, delimiterCount: lexer.delimiterCount,
                        bracket: open.last ?? -1, partner: -1))
                pairBrackets(&open, &branches)
            }
            lexer.next()
        }
    }

    /// Finds the partner of the last token. An inactive branch of an `#if` may have brackets without partners, so every
    /// branch begins with the brackets that are open at the `#if`.
    private mutating func pairBrackets(_ open: inout [Int], _ branches: inout [Int]) {
        let last = tokens.count - 1
        switch mark(last) {
        case "(", "[", "{": open.append(last)
        case ")", "]", "}":
            guard open.count > branches.last ?? 0 else { break }
            let bracket = open.removeLast()
            tokens[bracket].partner = last
            tokens[last].partner = bracket
        case "if" where isMark("#", last - 1): branches.append(open.count)
        case "elseif", "else", "endif":
            guard isMark("#", last - 1), let count = branches.last else { break }
            open.removeLast(open.count - count)
            if isMark("endif", last) { branches.removeLast() }
        default: break
        }
    }

    // MARK: Text

    /// Returns the text of a token, without the quotes of a string. Returns an empty text for any other index.
    package func text(_ index: Int) -> String {
        guard tokens.indices.contains(index) else { return "" }
        let token = tokens[index]
        return source.text(token.start + token.delimiterCount..<token.end - token.delimiterCount)
    }

    /// Returns the bytes from the first to the last of these tokens.
    package func bytes(_ range: Range<Int>) -> Range<Int> {
        tokens[range.lowerBound].start..<tokens[min(range.upperBound, tokens.count) - 1].end
    }

    /// Returns the text of a punctuation token or word, or an empty text for a string.
    package func mark(_ index: Int) -> String { isString(index) ? "" : text(index) }

    func isMark(_ mark: String, _ index: Int) -> Bool { self.mark(index) == mark }

    package func isString(_ index: Int) -> Bool { tokens.indices.contains(index) && tokens[index].kind == .string }

    func isOperator(_ index: Int) -> Bool {
        tokens.indices.contains(index) && tokens[index].kind == .punctuation
            && SwiftLexer.isOperator(source.base[tokens[index].start])
    }

    // MARK: Places

    /// Returns the line of a token, from 1.
    package func line(_ index: Int) -> Int { source.line(at: tokens[index].start) }

    /// Finds the token that begins at a place.
    func index(line: Int, column: Int) -> Int? {
        var (low, high) = (0, tokens.count)
        while low < high {
            let middle = (low + high) / 2
            let place = source.place(at: tokens[middle].start, in: "")
            if (place.line, place.column) == (line, column) { return middle }
            if (place.line, place.column) < (line, column) { low = middle + 1 } else { high = middle }
        }
        return nil
    }

    // MARK: Brackets

    /// Returns the bracket that closes an opening bracket.
    package func end(ofBracket bracket: Int) -> Int? {
        opensBracket(bracket) && tokens[bracket].partner >= 0 ? tokens[bracket].partner : nil
    }

    func opensBracket(_ index: Int) -> Bool { ["(", "[", "{"].contains(mark(index)) }

    /// Returns the token after another token, or after the bracket that it opens.
    func next(_ index: Int) -> Int { (opensBracket(index) ? end(ofBracket: index) ?? tokens.count : index) + 1 }

    /// Returns the innermost bracket that is open before a token.
    package func bracket(around index: Int) -> Int? { tokens[index].bracket < 0 ? nil : tokens[index].bracket }

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

    // MARK: Arguments

    /// Returns the bytes of a call's second argument if it is a single literal or word. The index is the call's
    /// parenthesis.
    func secondArgument(ofCall parenthesis: Int) -> Range<Int>? {
        guard isMark("(", parenthesis) else { return nil }
        let items = items(ofBracket: parenthesis)
        return items.count > 1 ? literal(items[1]) : nil
    }

    /// Returns the bytes of an argument or element if it is a literal or word.
    private func literal(_ item: Range<Int>) -> Range<Int>? {
        // The sign and the fraction of a number are separate tokens.
        let isSingle = item.dropFirst().allSatisfy { !isString($0 - 1) && tokens[$0].start == tokens[$0 - 1].end }
        let bytes = bytes(item)
        // A raw string can't be replaced with a plain one, because the same characters have another meaning.
        return isSingle && source.base[bytes.lowerBound] != UInt8(ascii: "#") ? bytes : nil
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
            ? items(ofBracket: row).map { isMark(":", $0.lowerBound + 1) ? $0.dropFirst(2) : $0 }
            : items(ofBracket: bracket(around: row) ?? row).filter { $0.lowerBound == row }
        // The first parameter of a test with a fixture is the fixture.
        let offset = names.count - values.count
        guard offset >= 0, offset <= 1, values.indices.contains(position - offset) else { return nil }
        return literal(values[position - offset])
    }

    /// Returns the parameter names of the innermost closure with named parameters around a token, if it follows a
    /// table.
    private func parameters(ofTableAround position: Int) -> [String] {
        var position = position
        while let index = bracket(around: position) {
            position = index
            guard isMark("{", index) else { continue }
            let head = tokens.indices[(index + 1)...].prefix { !isString($0) && !["in", "{"].contains(text($0)) }
            guard isMark("in", index + 1 + head.count) else { continue }
            let names = head.filter { tokens[$0].kind == .word }
            let isList = names.count * 2 - 1 == head.filter { !["(", ")"].contains(text($0)) }.count
            // The closure follows `each(…)`.
            let isTable = isMark(")", index - 1) && isMark("each", tokens[index - 1].partner - 1)
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
    package static var testSelectors: TestSelectors {
        [
            "testFindsTheValueOfARow": testFindsTheValueOfARow,
            "testPairsBracketsAroundInactiveCode": testPairsBracketsAroundInactiveCode,
        ]
    }

    private static func testPairsBracketsAroundInactiveCode() {
        for code in ["", "{", "}", "} }", "[ ( }"] {
            let file = TokenizedFile(
                Array("{ (\n#if X\n\(code)\n#elseif Y\n\(code)\n#else\n\(code) [b]\n#endif\n) }".utf8))
            let last = file.tokens.count - 1
            expectEqual([0, 1].map(file.end), [last, last - 1], code)
            expectEqual(file.next(0), last + 1, code)
        }
        expectNil(TokenizedFile(Array("{ ( }".utf8)).end(ofBracket: 0))
    }

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
                for: issue, in: TestedSources().file(at: path), isAsCompiled: true, row: scan.row(of: test))
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
