// Finds the literal that an expectation compares with, so that a reader can be offered what the code makes instead, and
// `--accept` can write it. In doubt there is nothing to offer.

import TestEvents

/// A literal in a source and what may take its place.
package struct LiteralFix: Equatable, Sendable {
    package var path: String
    /// Byte offsets in the file.
    package var range: Range<Int>
    /// The place of the literal's first byte, and of the one behind its last.
    package var start: SourcePlace
    package var end: SourcePlace
    package var literal: String
    package var replacement: String
}

extension LiteralFix {
    /// Finds the literal of a failed comparison.
    ///
    /// The issue's place is the opening parenthesis of the call. Its second argument must be one literal, which says
    /// what the issue says was expected, and what was got must be a literal of the same kind.
    package init?(for issue: TestIssue) {
        guard issue.kind == .expectation, issue.knownReason == nil,
            let kind = LiteralKind(issue.expected), kind == LiteralKind(issue.got),
            let bytes = try? FileAccess.contents(of: issue.path)
        else { return nil }
        let tokens = bytes.withUnsafeBytes(SwiftLexer.split)
        func text(_ token: SwiftToken) -> String { String(decoding: bytes[token.start..<token.end], as: UTF8.self) }
        guard let open = tokens.firstIndex(where: { $0.line == issue.line && $0.column == issue.column }),
            text(tokens[open]) == "("
        else { return nil }
        // The comma behind the first argument, at the depth of the call itself.
        var depth = 0
        var index = open
        while index < tokens.count {
            let mark = tokens[index].kind == .punctuation ? text(tokens[index]) : ""
            if ["(", "[", "{"].contains(mark) { depth += 1 }
            if [")", "]", "}"].contains(mark) { depth -= 1 }
            if depth == 0 { return nil }
            if mark == ",", depth == 1 { break }
            index += 1
        }
        index += 1
        guard index < tokens.count else { return nil }
        let first = tokens[index]
        let isString = first.kind == .string
        let start = isString ? first.start - 1 : first.start
        var end = isString ? first.end + 1 : first.end
        index += 1
        // A number may have a sign and a fraction, which are tokens of their own.
        while !isString, index < tokens.count, tokens[index].start == end, !",)".contains(text(tokens[index])) {
            end = tokens[index].end
            index += 1
        }
        guard index < tokens.count, [",", ")"].contains(text(tokens[index])), start >= 0, end <= bytes.count else {
            return nil
        }
        // A raw string would mean something else by the same text.
        if isString, start > 0, bytes[start - 1] == UInt8(ascii: "#") { return nil }
        let literal = String(decoding: bytes[start..<end], as: UTF8.self)
        guard kind.writes(literal, issue.expected) else { return nil }
        path = issue.path
        range = start..<end
        self.start = SourcePlace(path: path, line: first.line, column: first.column)
        self.end = SourcePlace(path: path, line: first.line, column: first.column + (end - start))
        self.literal = literal
        replacement = issue.got
    }

    /// Writes replacements into a file, all or none; a link to it, its mode and its owner stay.
    ///
    /// - Returns: false when a literal is not where it was found; the file is then as before.
    package static func apply(_ fixes: [LiteralFix], to path: String) throws(SystemError) -> Bool {
        var bytes = try FileAccess.contents(of: path)
        for fix in fixes.sorted(by: { $0.range.lowerBound > $1.range.lowerBound }) {
            guard fix.range.upperBound <= bytes.count, Array(bytes[fix.range]) == Array(fix.literal.utf8) else {
                return false
            }
            bytes.replaceSubrange(fix.range, with: fix.replacement.utf8)
        }
        try FileReplacement.write(bytes, to: path)
        return true
    }
}

/// The kinds of literal that values are written as.
private enum LiteralKind: Equatable {
    case integer, real, boolean, string

    /// The kind of a value's text in a failure, or nil when it is no literal, or has been abridged.
    init?(_ text: String) {
        let digits = text.hasPrefix("-") ? text.dropFirst() : text[...]
        if text == "true" || text == "false" {
            self = .boolean
        } else if !digits.isEmpty, digits.allSatisfy({ $0.isASCII && $0.isNumber }) {
            self = .integer
        } else if digits.first?.isNumber == true,
            digits.allSatisfy({ $0.isASCII && ($0.isNumber || ".e-+".contains($0)) })
        {
            self = .real
        } else if text.count >= 2, text.hasPrefix("\""), text.hasSuffix("\""), !text.contains(" characters) …") {
            self = .string
        } else {
            return nil
        }
    }

    /// Whether a literal of the source is the value that a text says.
    func writes(_ literal: String, _ text: String) -> Bool {
        if literal == text { return true }
        switch self {
        case .integer: return Int(literal.filter { $0 != "_" }).map(String.init) == text
        case .real: return Double(literal.filter { $0 != "_" }) == Double(text)
        case .boolean, .string: return false
        }
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

extension LiteralFix: SelfTesting {
    package static var testSelectors: TestSelectors {
        [
            "testFindsTheLiteral": testFindsTheLiteral,
            "testRefusesInDoubt": testRefusesInDoubt,
            "testAppliesAllOrNone": testAppliesAllOrNone,
        ]
    }

    /// Writes a source of one line and looks for the literal of its call.
    private static func fix(_ source: String, got: String, expected: String) throws -> (fix: LiteralFix?, path: String)
    {
        let folder = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        let path = "\(folder)/literal-fix-\(getpid()).swift"
        try FileAccess.write(Array("// é\n\(source)\n".utf8), to: path)
        let column =
            (source.utf8.firstIndex(of: UInt8(ascii: "(")).map {
                source.utf8.distance(from: source.utf8.startIndex, to: $0)
            } ?? 0) + 1
        let issue = TestIssue(kind: .expectation, path: path, line: 2, column: column, got: got, expected: expected)
        return (LiteralFix(for: issue), path)
    }

    private static func testFindsTheLiteral() throws {
        let rows: [(source: String, got: String, expected: String, literal: String?)] = [
            ("expectEqual(f(1, 2), 5, \"x\")", "4", "5", "5"),
            ("expectEqual(a[1, 2], -5)", "4", "-5", "-5"),
            ("é.expectEqual(x, 1_000)", "4", "1000", "1_000"),
            ("expectEqual({ a, b in 1 }, 5)", "4", "5", "5"),
            ("expectEqual(s, \"a\\nb\")", "\"c\"", "\"a\\nb\"", "\"a\\nb\""),
            ("expectEqual(s, true, \"m\")", "false", "true", "true"),
            ("expectEqual(s, 1.5)", "2.5", "1.5", "1.5"),
            ("expectEqual(s, 3)", "2.5", "3.0", nil),
        ]
        for row in rows {
            let (fix, path) = try fix(row.source, got: row.got, expected: row.expected)
            unlink(path)
            if row.literal != nil { expectEqual(fix?.literal, row.literal, row.source) }
            if let fix { expectEqual(fix.replacement, row.got) }
        }
    }

    private static func testRefusesInDoubt() throws {
        let rows = [
            ("expectEqual(x, y)", "4", "5"), ("expectEqual(x, 5 + 1)", "4", "6"), ("expectEqual(x, f(5))", "4", "5"),
            ("expectEqual(x, 5)", "nil", "5"), ("expectEqual(x, 5)", "4", "6"), ("expectEqual(x, [5])", "[4]", "[5]"),
            ("expectEqual(x, #\"b\"#)", "\"a\\n\"", "\"b\""), ("expectEqual(x)", "4", "5"),
            ("expectTrue(x)", "false", "true"),
        ]
        for (source, got, expected) in rows {
            let (fix, path) = try fix(source, got: got, expected: expected)
            unlink(path)
            expectNil(fix, source)
        }
    }

    private static func testAppliesAllOrNone() throws {
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
