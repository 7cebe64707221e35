// Finds the literal in a failed comparison, so that editors can offer the actual value as a replacement and `--accept`
// can write it. A golden is replaced as a whole file. If the literal is uncertain, it stays.

import TestEvents

/// A literal in a source, or a whole golden file, and its replacement.
package struct LiteralFix: Equatable, Sendable {
    package var path: String
    /// The byte offsets in the file.
    package var range: Range<Int>
    /// The place of the literal's first byte. `end` is the place after its last byte.
    package var start: SourcePlace
    package var end: SourcePlace
    /// The place of the comparison.
    package var call: SourcePlace
    package var literal: String
    package var replacement: String
    package var isGolden = false
}

/// A failed comparison whose expected value can't be replaced, and the reason.
package struct UnacceptedValue: Error, Equatable, Sendable {
    package var place: SourcePlace
    package var reason: String
}

extension LiteralFix {
    /// Finds the literal that a failed comparison expects. It is the second argument of the call. If that argument is a
    /// parameter of the closure of a table, as in `.each("testA", [("x", 1)]) { text, value in`, it is the value in the
    /// table's row.
    ///
    /// The issue's place is the opening parenthesis of the call. The literal must have the expected value of the issue, and
    /// the actual value must be a literal of the same kind.
    /// - Parameter row: returns the place where the row of the test's table begins.
    /// - Returns: nil if the issue is known or doesn't compare values.
    /// - Throws: `UnacceptedValue` with the reason why the value can't be replaced.
    static func find(
        for issue: TestIssue, in file: TokenizedFile?, isAsCompiled: Bool, row: @autoclosure () -> SourcePlace?
    ) throws(UnacceptedValue) -> LiteralFix? {
        guard issue.kind == .expectation, issue.knownReason == nil, issue.texts?.golden.isEmpty ?? true, let file
        else { return nil }
        let call = file.index(line: issue.place.line, column: issue.place.column)
        let isComparison = call.map { ["expectEqual", "requireEqual"].contains(file.mark($0 - 1)) } ?? false
        if !isAsCompiled {
            // The call may have moved since then.
            let isOfNumbers = [.integer, .real].contains(LiteralKind(issue.expected))
            guard isComparison || issue.texts != nil || isOfNumbers else { return nil }
            throw UnacceptedValue(place: issue.place, reason: "the source has changed since it was compiled")
        }
        let argument = call.flatMap { file.secondArgument(ofCall: $0) }
        if let argument, let fix = LiteralFix(for: issue, in: file, argument) { return fix }
        if let call, let argument, let row = row(), row.path == issue.place.path,
            let value = file.value(of: file.source.text(argument), inRowAt: row, ofTableAround: call),
            var fix = LiteralFix(for: issue, in: file, value)
        {
            // Other rows pass at the same call, so the place of the literal identifies this row.
            fix.call = fix.start
            return fix
        }
        if !isComparison { return nil }
        throw UnacceptedValue(place: issue.place, reason: reason(for: issue, argument.map(file.source.text)))
    }

    private static func reason(for issue: TestIssue, _ literal: String?) -> String {
        if literal?.first == "\"", issue.texts == nil, issue.got.hasPrefix("\"") { return "the texts are too long" }
        return literal.map { says($0, issue) } ?? false
            ? "the actual value can't be written as a literal of the same kind"
            : "the expected value isn't one plain literal"
    }

    /// Returns whether a literal has the expected value of an issue.
    private static func says(_ literal: String, _ issue: TestIssue) -> Bool {
        if literal.first != "\"" { return LiteralKind(issue.expected)?.writes(literal, issue.expected) ?? false }
        return StringLiteral(literal).map { form in issue.texts.map { form.says($0.expected) } ?? true } ?? false
    }

    /// Creates a fix that replaces a literal, if the literal is the expected value of a failed comparison.
    private init?(for issue: TestIssue, in file: TokenizedFile, _ range: Range<Int>) {
        literal = file.source.text(range)
        guard Self.says(literal, issue) else { return nil }
        if literal.first == "\"" {
            guard let texts = issue.texts, let form = StringLiteral(literal) else { return nil }
            replacement = form.saying(texts.got)
        } else {
            guard LiteralKind(issue.expected) == LiteralKind(issue.got) else { return nil }
            replacement = issue.got
        }
        path = issue.place.path
        self.range = range
        start = file.source.place(at: range.lowerBound, in: path)
        end = file.source.place(at: range.upperBound, in: path)
        call = issue.place
    }

    /// Creates a fix that writes the actual text of a failed comparison into its golden.
    package init?(forGoldenOf issue: TestIssue) {
        guard issue.knownReason == nil, let texts = issue.texts, !texts.golden.isEmpty else { return nil }
        path = texts.golden
        range = 0..<texts.expected.utf8.count
        start = SourcePlace(path: path, line: 1, column: 1)
        end = start
        call = issue.place
        literal = texts.expected
        replacement = texts.got
        isGolden = true
    }

    /// Returns a fix that keeps the literal or golden, or nil unless an expectation at its place has passed.
    package func kept(if met: Set<String>) -> LiteralFix? {
        guard met.contains(isGolden ? path : call.text) else { return nil }
        var fix = self
        fix.replacement = literal
        return fix
    }

    /// Writes replacements into a file, either all or none. A link to the file, its mode and its owner stay.
    ///
    /// A missing golden is created, together with its folders.
    /// - Returns: false if a literal is not where it was found. The file is then unchanged.
    package static func apply(_ fixes: [LiteralFix], to path: String) throws(SystemError) -> Bool {
        if !FileAccess.exists(path), fixes.count == 1, fixes[0].isGolden {
            guard fixes[0].literal.isEmpty else { return false }
            try FileAccess.makeFolder(FileAccess.directory(of: path))
            // The path may be a link to a missing file.
            try FileReplacement.writeOutput(Array(fixes[0].replacement.utf8), to: path)
            return true
        }
        var bytes = try FileAccess.contents(of: path)
        for fix in fixes.sorted(by: { $0.range.lowerBound > $1.range.lowerBound }) {
            guard fix.range.upperBound <= bytes.count, Array(bytes[fix.range]) == Array(fix.literal.utf8),
                !fix.isGolden || fix.range.upperBound == bytes.count
            else { return false }
            bytes.replaceSubrange(fix.range, with: fix.replacement.utf8)
        }
        try FileReplacement.write(bytes, to: path)
        return true
    }
}

/// The kinds of literal that a failure prints in the same form as a source.
private enum LiteralKind: Equatable {
    case integer, real, boolean

    /// Determines the kind of a value's text in a failure. Returns nil if the text is no such literal.
    init?(_ text: String) {
        let digits = text.hasPrefix("-") ? text.dropFirst() : text[...]
        if text == "true" || text == "false" {
            self = .boolean
        } else if !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
            self = .integer
        } else if digits.first?.isNumber ?? false, Double(text) != nil {
            self = .real
        } else {
            return nil
        }
    }

    /// Returns whether a literal in the source has the value of a text.
    func writes(_ literal: String, _ text: String) -> Bool {
        let plain = literal.filter { $0 != "_" }
        return plain == text || self == .real && Double(plain) == Double(text)
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

internal import InClassSystem

extension LiteralFix: SelfTesting {
    package static var testSelectors: TestSelectors {
        [
            "testReplacesGoldensCompletely": testReplacesGoldensCompletely,
            "testAppliesAllFixesOrNone": testAppliesAllFixesOrNone,
        ]
            + .each("testFindsTheExpectedLiteral", calls) { row in
                let (fix, path) = try fix(row.source, got: row.got, expected: row.expected)
                unlink(path)
                if row.literal != nil { expectEqual(fix?.literal, row.literal, row.source) }
                if let fix { expectEqual(fix.replacement, row.got) }
            }
            + .each("testRefusesAmbiguousLiterals", ambiguousCalls) { source, got, expected in
                let (fix, path) = try fix(source, got: got, expected: expected)
                unlink(path)
                expectNil(fix)
            }
            + .each("testReplacesMultilineText", texts, testReplacesMultilineText)
    }

    private static func literal(of issue: TestIssue) -> LiteralFix? {
        try? find(for: issue, in: TestedSources().file(at: issue.place.path), isAsCompiled: true, row: nil)
    }

    /// Writes a source of one line and looks for the literal of its call.
    private static func fix(
        _ source: String, got: String, expected: String, texts: TestIssue.ComparedTexts? = nil
    ) throws -> (fix: LiteralFix?, path: String) {
        let folder = Environment.temporaryFolder
        let path = "\(folder)/literal-fix-\(getpid()).swift"
        try FileAccess.write(Array("// é\n\(source)\n".utf8), to: path)
        let column =
            (source.utf8.firstIndex(of: UInt8(ascii: "(")).map {
                source.utf8.distance(from: source.utf8.startIndex, to: $0)
            } ?? 0) + 1
        let issue = TestIssue(
            kind: .expectation, path: path, line: 2, column: column, got: got, expected: expected, texts: texts)
        return (literal(of: issue), path)
    }

    private static var calls: [(source: String, got: String, expected: String, literal: String?)] {
        [
            ("expectEqual(f(1, 2), 5, \"x\")", "4", "5", "5"),
            ("expectEqual(a[1, 2], -5)", "4", "-5", "-5"),
            ("é.expectEqual(x, 1_000)", "4", "1000", "1_000"),
            ("expectEqual({ a, b in 1 }, 5)", "4", "5", "5"),
            ("expectEqual(s, true, \"m\")", "false", "true", "true"),
            ("expectEqual(s, 1.5)", "2.5", "1.5", "1.5"),
            ("expectEqual(s, 3)", "2.5", "3.0", nil),
        ]
    }

    private static var ambiguousCalls: [(source: String, got: String, expected: String)] {
        [
            ("expectEqual(x, y)", "4", "5"), ("expectEqual(x, 5 + 1)", "4", "6"), ("expectEqual(x, f(5))", "4", "5"),
            ("expectEqual(x, 5)", "nil", "5"), ("expectEqual(x, 5)", "4", "6"), ("expectEqual(x, [5])", "[4]", "[5]"),
            ("expectEqual(x)", "4", "5"), ("expectEqual(x, \"5\")", "4", "5"),
            ("expectTrue(x)", "false", "true"),
        ]
    }

    private typealias TextRow = (literal: String, expected: String, got: String, replacement: String?)

    private static var texts: [TextRow] {
        let long = String(repeating: "x", count: 5000)
        return [
            ("\"a\\nb\"", "a\nb", "c\n\"", "\"c\\n\\\"\""), ("\"\"", "", long, "\"\(long)\""),
            ("\"\"\"\n  a\n  \"\"\"", "a", "b\n\n c", "\"\"\"\n  b\n\n   c\n  \"\"\""),
            ("\"\"\"\n  a\n  \"\"\"", "b", "c", nil), ("\"a\"", "b", "c", nil), ("#\"b\"#", "b", "c", nil),
            ("\"\\(b)\"", "b", "c", nil), ("\"a\" + \"b\"", "ab", "c", nil), ("5", "5", "6", nil),
        ]
    }

    private static func testReplacesMultilineText(_ row: TextRow) throws {
        let texts = TestIssue.ComparedTexts(got: row.got, expected: row.expected)
        let (fix, path) = try fix("expectEqual(f(), \(row.literal), \"m\")", got: "", expected: "", texts: texts)
        defer { unlink(path) }
        expectEqual(fix?.replacement, row.replacement)
        guard let fix else { return }
        expectTrue(try apply([fix], to: path))
        let source = String(decoding: try FileAccess.contents(of: path), as: UTF8.self)
        expectEqual(source, "// é\nexpectEqual(f(), \(row.replacement ?? ""), \"m\")\n")
        expectEqual(fix.end.line, row.literal.contains("\"\"\"\n") ? 4 : 2)
        expectEqual(fix.end.column, row.literal.contains("\"\"\"\n") ? 6 : 18 + row.literal.utf8.count)
    }

    private static func testReplacesGoldensCompletely() throws {
        let path = "\(try temporaryDirectory())/deep/er/g.txt"
        func fix(_ expected: String, _ got: String) throws -> LiteralFix {
            let texts = TestIssue.ComparedTexts(golden: path, got: got, expected: expected)
            let issue = TestIssue(
                kind: .expectation, path: "/s", line: 3, column: 1, got: "", expected: "", texts: texts)
            expectNil(literal(of: issue), "a literal")
            return try requireNotNil(LiteralFix(forGoldenOf: issue))
        }
        expectFalse(try apply([fix("old", "new")], to: path), "a file that has been removed")
        for (expected, got) in [("", "é\n"), ("é\n", ""), ("", "new")] {
            expectTrue(try apply([fix(expected, got)], to: path), got)
            expectEqual(try FileAccess.contents(of: path), Array(got.utf8))
        }
        for expected in ["", "ne", "old", "newer"] {
            expectFalse(try apply([fix(expected, "other")], to: path), expected)
        }
        expectEqual(try FileAccess.contents(of: path), Array("new".utf8))
        let link = "\(FileAccess.directory(of: path))/link"
        symlink("made", link)
        var fixOfLink = try fix("", "text")
        fixOfLink.path = link
        expectTrue(try apply([fixOfLink], to: link), "a link to nothing")
        var status = stat()
        lstat(link, &status)
        expectEqual(status.st_mode & S_IFMT, S_IFLNK, "still a link")
        expectEqual(try FileAccess.contents(of: "\(FileAccess.directory(of: path))/made"), Array("text".utf8))
        var known = TestIssue(kind: .expectation, got: "", expected: "", knownReason: "12")
        known.texts = TestIssue.ComparedTexts(golden: path, got: "a", expected: "b")
        expectNil(LiteralFix(forGoldenOf: known), "what is known to fail")
    }

    private static func testAppliesAllFixesOrNone() throws {
        let (found, path) = try fix("expectEqual(x, 5, \"é\")", got: "1234", expected: "5")
        defer { unlink(path) }
        let fix = try requireNotNil(found)
        expectTrue(try apply([fix], to: path))
        expectEqual(
            String(decoding: try FileAccess.contents(of: path), as: UTF8.self), "// é\nexpectEqual(x, 1234, \"é\")\n")
        expectFalse(try apply([fix], to: path), "the literal is no longer there")
        expectEqual(
            String(decoding: try FileAccess.contents(of: path), as: UTF8.self), "// é\nexpectEqual(x, 1234, \"é\")\n")
    }
}
#endif
