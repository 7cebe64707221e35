// The tokens of a source as a reader of calls and literals sees them: brackets with what is between their commas.

/// What has tokens that are asked for the brackets among them.
package protocol TokenReading {
    var tokens: [SwiftToken] { get }

    /// The byte at an offset in the source.
    func byte(at offset: Int) -> UInt8
}

extension TokenReading {
    /// How a token changes the depth of brackets.
    func change(at position: Int) -> Int {
        guard tokens[position].kind == .punctuation else { return 0 }
        switch byte(at: tokens[position].start) {
        case UInt8(ascii: "("), UInt8(ascii: "["), UInt8(ascii: "{"): return 1
        case UInt8(ascii: ")"), UInt8(ascii: "]"), UInt8(ascii: "}"): return -1
        default: return 0
        }
    }

    /// The bracket that closes an opening one.
    package func end(ofBracket bracket: Int) -> Int? {
        var depth = 0
        for position in bracket..<max(bracket, tokens.count) {
            depth += change(at: position)
            if depth == 0 { return position }
        }
        return nil
    }

    /// The innermost bracket that is open before a token.
    package func bracket(around position: Int) -> Int? {
        var depth = 0
        return (0..<position).last { index in
            depth += change(at: index)
            return depth > 0
        }
    }

    /// What is between an opening bracket, the commas behind it and the bracket that closes it.
    package func items(ofBracket bracket: Int) -> [Range<Int>] {
        guard let end = end(ofBracket: bracket) else { return [] }
        var items: [Range<Int>] = []
        var (depth, first) = (0, bracket + 1)
        for position in bracket..<end {
            depth += change(at: position)
            let isComma = tokens[position].kind == .punctuation && byte(at: tokens[position].start) == UInt8(ascii: ",")
            guard depth == 1, isComma else { continue }
            items.append(first..<position)
            first = position + 1
        }
        return first < end ? items + [first..<end] : items
    }
}

/// A source and its tokens.
package struct TokenizedFile: TokenReading {
    package let bytes: [UInt8]
    package let tokens: [SwiftToken]

    package init(_ bytes: [UInt8]) {
        self.bytes = bytes
        tokens = bytes.withUnsafeBytes { SwiftLexer.split($0) }
    }

    /// Reads a file; nil if it can't be read.
    init?(path: String) {
        guard let bytes = try? FileAccess.contents(of: path) else { return nil }
        self.init(bytes)
    }

    package func byte(at offset: Int) -> UInt8 { bytes[offset] }

    package func text(_ token: SwiftToken) -> String { String(decoding: bytes[token.start..<token.end], as: UTF8.self) }

    /// The text of a punctuation token or word.
    package func mark(_ index: Int) -> String {
        tokens.indices.contains(index) && tokens[index].kind != .string ? text(tokens[index]) : ""
    }

    /// The index of the token that begins at a place.
    ///
    /// - Complexity: O(log *n*) in the tokens.
    func index(line: Int, column: Int) -> Int? {
        var (low, high) = (0, tokens.count)
        while low < high {
            let middle = (low + high) / 2
            if (tokens[middle].line, tokens[middle].column) < (line, column) { low = middle + 1 } else { high = middle }
        }
        return low < tokens.count && tokens[low].line == line && tokens[low].column == column ? low : nil
    }

    /// Finds the second argument of the call whose parenthesis is at a place, if it is one literal or one word.
    ///
    /// - Returns: its first token, and the bytes it takes with its quotes.
    func secondArgument(line: Int, column: Int) -> (first: SwiftToken, range: Range<Int>)? {
        guard let open = index(line: line, column: column), mark(open) == "(" else { return nil }
        let items = items(ofBracket: open)
        return items.count > 1 ? literal(at: items[1].lowerBound) : nil
    }

    /// The first token of a literal or word that is all of an argument or element, and the bytes it takes with its quotes.
    func literal(at start: Int) -> (first: SwiftToken, range: Range<Int>)? {
        var index = start
        guard index < tokens.count else { return nil }
        let first = tokens[index]
        let isString = first.kind == .string
        let quotes = isString ? bytes[..<first.start].suffix(3).reversed().prefix { $0 == UInt8(ascii: "\"") }.count : 0
        let firstByte = first.start - quotes
        var end = first.end + quotes
        index += 1
        // A number may have a sign and a fraction, which are tokens of their own.
        while !isString, index < tokens.count, tokens[index].start == end, !",)]".contains(text(tokens[index])) {
            end = tokens[index].end
            index += 1
        }
        guard index < tokens.count, [",", ")", "]"].contains(text(tokens[index])), firstByte >= 0, end <= bytes.count
        else { return nil }
        // A raw string would mean something else by the same text.
        if isString, firstByte > 0, bytes[firstByte - 1] == UInt8(ascii: "#") { return nil }
        return (first, firstByte..<end)
    }

    /// Where the values of a row begin: those of a tuple, or the row itself.
    func elements(ofRow start: Int) -> [Int] {
        guard mark(start) == "(" else { return [start] }
        return items(ofBracket: start).map { mark($0.lowerBound + 1) == ":" ? $0.lowerBound + 2 : $0.lowerBound }
    }

    /// The names of the parameters of the innermost closure with named parameters around a token, if it follows a table.
    func parameters(ofTableAround position: Int) -> [String] {
        var position = position
        while let index = bracket(around: position) {
            position = index
            guard mark(index) == "{" else { continue }
            let head = tokens[(index + 1)...].prefix { $0.kind != .string && text($0) != "in" && text($0) != "{" }
            guard mark(index + 1 + head.count) == "in" else { continue }
            let names = head.filter { $0.kind == .word }.map(text)
            let isList = names.count * 2 - 1 == head.filter { !["(", ")"].contains(text($0)) }.count
            if isList { return isTable(index - 1) ? names : [] }
        }
        return []
    }

    /// Returns whether a token is the end of `each(…)`.
    private func isTable(_ end: Int) -> Bool {
        mark(end) == ")" && bracket(around: end).map { mark($0 - 1) == "each" } ?? false
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
            let fix = LiteralFix(for: issue, inRowOf: test, in: TokenizedFile(path: issue.path), sources: scan)
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
