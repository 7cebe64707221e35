// Finds the literal that a row of a table gives its test, so that `--accept` can write it, too.

import TestEvents

extension LiteralFix {
    /// Finds the value of a row that a failed comparison expects: `value` of `.each("testA", [("x", 1)]) { text, value in`.
    ///
    /// The expected value must be a parameter of the closure around the call, and one literal in the row.
    init?(for issue: TestIssue, inRowOf test: PlannedTest, in file: TokenizedFile?, sources: SourceScan) {
        guard let row = test.row, issue.kind == .expectation, issue.knownReason == nil,
            let rows = sources[test.typeName]?.listed.first(where: { $0.name == row.table })?.table?.rows,
            rows.indices.contains(row.index), rows[row.index].path == issue.path, let file,
            let (parameter, word) = file.secondArgument(line: issue.line, column: issue.column),
            word == parameter.start..<parameter.end,
            let call = file.index(line: issue.line, column: issue.column),
            let start = file.index(line: rows[row.index].line, column: rows[row.index].column), start < call
        else { return nil }
        let values = file.elements(ofRow: start)
        let names = file.parameters(ofTableAround: call)
        guard let position = names.firstIndex(of: file.text(parameter)) else { return nil }
        // The first parameter of a test with a fixture is the fixture.
        let offset = names.count - values.count
        guard offset >= 0, offset <= 1, values.indices.contains(position - offset) else { return nil }
        guard let (first, range) = file.literal(at: values[position - offset]) else { return nil }
        self.init(for: issue, in: file.bytes, first, range)
        // Other rows pass at the same call.
        self.call = self.start
    }
}

/// A source and its tokens.
struct TokenizedFile {
    let bytes: [UInt8]
    let tokens: [SwiftToken]

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        tokens = bytes.withUnsafeBytes { SwiftLexer.split($0) }
    }

    /// Reads a file; nil if it can't be read.
    init?(path: String) {
        guard let bytes = try? FileAccess.contents(of: path) else { return nil }
        self.init(bytes)
    }

    func text(_ token: SwiftToken) -> String { String(decoding: bytes[token.start..<token.end], as: UTF8.self) }

    /// The text of a punctuation token or word.
    func mark(_ index: Int) -> String {
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
        // The comma behind the first argument, at the depth of the call itself.
        var depth = 0
        var index = open
        while index < tokens.count {
            let mark = mark(index)
            if ["(", "[", "{"].contains(mark) { depth += 1 }
            if [")", "]", "}"].contains(mark) { depth -= 1 }
            if depth == 0 { return nil }
            if mark == ",", depth == 1 { break }
            index += 1
        }
        return literal(at: index + 1)
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
        var elements: [Int] = []
        var depth = 0
        for index in start..<tokens.count {
            if ["(", "[", "{"].contains(mark(index)) { depth += 1 }
            if [")", "]", "}"].contains(mark(index)) { depth -= 1 }
            if depth == 0 { break }
            guard depth == 1, mark(index) == "(" || mark(index) == "," else { continue }
            elements.append(mark(index + 2) == ":" ? index + 3 : index + 1)
        }
        return elements
    }

    /// The names of the parameters of the innermost closure with named parameters around a token, if it follows a table.
    func parameters(ofTableAround position: Int) -> [String] {
        var depth = 0
        for index in stride(from: position - 1, through: 0, by: -1) {
            if mark(index) == "}" { depth += 1 }
            guard mark(index) == "{" else { continue }
            if depth > 0 {
                depth -= 1
                continue
            }
            let head = tokens[(index + 1)...].prefix { $0.kind != .string && text($0) != "in" && text($0) != "{" }
            guard mark(index + 1 + head.count) == "in" else { continue }
            let names = head.filter { $0.kind == .word }.map(text)
            let isList = names.count * 2 - 1 == head.filter { !["(", ")"].contains(text($0)) }.count
            if isList { return isTable(index - 1) ? names : [] }
        }
        return []
    }

    /// Whether a token is the end of `each(…)`.
    private func isTable(_ end: Int) -> Bool {
        var (index, depth) = (end, 0)
        while index > 0 {
            if [")", "]", "}"].contains(mark(index)) { depth += 1 }
            if ["(", "[", "{"].contains(mark(index)) { depth -= 1 }
            if depth == 0 { break }
            index -= 1
        }
        return index < end && mark(index - 1) == "each"
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension TokenizedFile: SelfTesting {
    static var testSelectors: TestSelectors { ["testFindsTheValueOfARow": testFindsTheValueOfARow] }

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
