// Formats the lines that editors, SwiftPM and Xcode parse: `path:line:column: error: message`, as a compiler prints
// them. Only this file decides how a line is made safe for all of their patterns.

import TestEvents

/// The form of printed text.
package struct TextStyle: Equatable, Sendable {
    /// The folder that relative paths start from, or an empty text.
    package var root: String
    /// A Boolean value that indicates whether every path inside the root is relative, as in output that tests compare.
    package var isRelative: Bool
    /// A Boolean value that indicates whether times are left out, so that two runs print the same text.
    package var isStable = false
    package var verbosity = Verbosity.summary
    /// A Boolean value that indicates whether severities are coloured.
    package var isColoured = false
    /// A Boolean value that indicates whether flaky tests are errors.
    package var failsOnFlaky = false
    /// A Boolean value that indicates whether the replacement for a literal follows a failed comparison. Only Xcode
    /// reads this line: Emacs mistakes `x.swift:3:5-3` for a file name, and Vim loses the column.
    package var showsReplacements = false

    package init(root: String = "", isRelative: Bool = false) {
        self.root = root
        self.isRelative = isRelative
    }

    /// Returns the path as it is printed. It is absolute, except if Xcode wouldn't recognize it because of a quote or a
    /// colon.
    package func text(_ path: String) -> String {
        guard isRelative || path.contains(where: { $0 == "'" || $0 == "\"" || $0 == ":" }), !root.isEmpty,
            path.hasPrefix(root + "/")
        else { return path }
        return String(decoding: path.utf8.dropFirst(root.utf8.count + 1), as: UTF8.self)
    }

    /// Returns the place as it is printed: `path:line:column`.
    package func text(_ place: SourcePlace) -> String { "\(text(place.path)):\(place.line):\(place.column)" }
}

package enum Severity: String, Sendable { case error, warning, note }

package struct DiagnosticText: Sendable {
    private let style: TextStyle

    package init(_ style: TextStyle) { self.style = style }

    /// Returns one line in the compiler's form, without its newline.
    package func line(_ severity: Severity, at place: SourcePlace, _ message: String) -> String {
        let message = Self.withoutPlaces(message, isMessage: true)
        return "\(style.text(place)): \(severity.rawValue): \(message)"
    }

    /// Returns the lines of an issue: the actual and expected values, then a note for each detail.
    package func lines(for issue: TestIssue, of test: PlannedTest?, module: String = "") -> [String] {
        var lines = [line(.error, at: issue.place, Self.message(for: issue, of: test, module: module))]
        if let fixIt = issue.fixIt, style.showsReplacements || fixIt.end == fixIt.start {
            lines.append(self.line(for: fixIt))
        }
        for note in issue.notes { lines.append(line(.note, at: issue.place, Self.harmless(note))) }
        for caller in issue.callers { lines.append(line(.note, at: caller, "called from here")) }
        return lines
    }

    /// Returns the lines about the attempts before the last. If the test passed in the end, they are a separate
    /// diagnostic, otherwise notes.
    func lines(forAttemptsOf result: TestResult) -> [String] {
        if result.earlierAttempts.isEmpty { return [] }
        let failed = result.earlierAttempts.enumerated().filter { $0.element.outcome == .failed }
        var lines: [String] = []
        var told = result.issues.failures.worst
        if result.isFlaky, let issue = failed.lazy.compactMap(\.element.issues.failures.worst).first {
            let severity: Severity = style.failsOnFlaky ? .error : .warning
            lines.append(line(severity, at: issue.place, Self.flakyMessage(for: result, after: issue)))
            told = issue
        } else if result.outcome == .failed, failed.count == result.earlierAttempts.count, let issue = told {
            let count = failed.count + 1
            lines.append(line(.note, at: issue.place, "failed in \(count == 2 ? "both" : "all \(count)") attempts"))
        }
        for (index, attempt) in failed {
            guard let issue = attempt.issues.failures.worst,
                issue.place != told?.place || issue.got != told?.got || issue.message != told?.message
            else {
                continue
            }
            let message = "attempt \(index + 1) failed: \(Self.message(for: issue, of: nil))"
            lines.append(line(.note, at: issue.place, Self.harmless(message)))
        }
        return lines
    }

    /// Returns the message of a flaky test.
    static func flakyMessage(for result: TestResult, after issue: TestIssue) -> String {
        "flaky (passed on attempt \(result.earlierAttempts.count + 1)): \(message(for: issue, of: result.test))"
    }

    /// Returns the lines of a warning. If inserting one line solves the problem, they include a fix-it.
    package func lines(for warning: SourceWarning) -> [String] {
        var lines = [line(.warning, at: warning.place, Self.harmless(warning.text))]
        if let fixIt = warning.fixIt { lines.append(self.line(for: fixIt)) }
        return lines
    }

    private func line(for fixIt: SourceFixIt) -> String {
        let end = fixIt.end == fixIt.start ? "" : "-\(fixIt.end.line):\(fixIt.end.column)"
        return "\(style.text(fixIt.start))\(end): fixit: \(Self.fixItText(fixIt.text))"
    }

    /// Returns a message on one line: `got 4 instead of expected 5 for count after push (Stack.testPush)`. For an issue
    /// that compares no values, returns its description: `crashed with SIGSEGV (Stack.testPush)`.
    package static func message(for issue: TestIssue, of test: PlannedTest?, module: String = "") -> String {
        var text = "got \(harmless(issue.got)) instead of expected \(harmless(issue.expected))"
        if !issue.isComparison {
            text = issue.message.isEmpty ? "failed" : harmless(issue.message)
        } else if !issue.message.isEmpty {
            text += " for \(harmless(issue.message))"
        }
        let subject = test?.name ?? (module.isEmpty ? "" : "module \(module)")
        return subject.isEmpty ? text : "\(text) (\(subject))"
    }

    /// Escapes the control characters of a text in a diagnostic. If a reader could mistake a part of it for another
    /// diagnostic (`: error: ` outside quotes), adds quotes.
    package static func harmless(_ text: String) -> String {
        let line = escaped(text)
        return looksLikeDiagnostic(line) ? "'\(line)'" : line
    }

    /// Returns whether a pattern of Swift Build would find the start of a diagnostic in the text: a severity between
    /// colons with no quote before it.
    static func looksLikeDiagnostic(_ text: String) -> Bool {
        let unquoted = text.prefix { $0 != "'" && $0 != "\"" }
        return unquoted.split(separator: ":", omittingEmptySubsequences: false).dropLast().contains { part in
            let word = String(part.reversed().prefix { $0.isLetter }.reversed())
            return ["error", "warning", "note", "notice", "fixit", "testlogger"].contains(word)
        }
    }

    /// Escapes control characters and line separators as in string literals.
    package static func escaped(_ text: String) -> String {
        text.unicodeScalars.contains(where: \.isControl) ? text.escapedForLiteral : text
    }

    /// Returns a replacement in the form that Xcode reads: with JSON's escapes, without quotes, and with escaped
    /// colons.
    private static func fixItText(_ text: String) -> String {
        text.replacingScalars { [":": "\\u003a", "\"": "\\\"", "\\": "\\\\", "\n": "\\n", "\r": "\\r"][$0] }
    }

    /// Returns the lines of captured output, marked so that no reader mistakes one for a diagnostic.
    ///
    /// The quote prevents a match of Swift Build's pattern. The spaces in texts that look like places prevent matches
    /// in editors.
    package static func captured(_ output: [UInt8], omittedCount: Int) -> [String] {
        guard !output.isEmpty else { return [] }
        var text = String(decoding: output, as: UTF8.self)
        if text.hasSuffix("\n") { text.removeLast() }
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            "  ' " + withoutPlaces(escaped(String(line)), isMessage: false)
        }
        if omittedCount > 0 { lines.insert("  ' … \(omittedCount) bytes left out …", at: 0) }
        return lines
    }

    /// Adds a space after each number that an editor would mistake for the line of a place.
    ///
    /// Vim and Emacs recognize any `word:NUMBER:`, `word(NUMBER):` and `word|NUMBER|`. Vim also recognizes a number and
    /// a colon anywhere after a text in double quotes. In a message of this module, only that case matters, because the
    /// message has its own place at the beginning.
    private static func withoutPlaces(_ line: String, isMessage: Bool) -> String {
        let scalars = Array(line.unicodeScalars)
        guard scalars.contains(where: isDigit) else { return line }
        var result = String.UnicodeScalarView()
        var quoteCount = 0
        for (index, scalar) in scalars.enumerated() {
            result.append(scalar)
            if scalar == "\"" { quoteCount += 1 }
            guard isDigit(scalar), index + 1 < scalars.count else { continue }
            let isBehindQuotes = quoteCount >= 2 && scalars[(index + 1)...].starts(with: ": ".unicodeScalars)
            if isBehindQuotes || !isMessage && isLine(endingAt: index, in: scalars) { result.append(" ") }
        }
        return String(result)
    }

    private static func isDigit(_ scalar: Unicode.Scalar) -> Bool { ("0"..."9").contains(scalar) }

    /// Returns whether the number that ends here is between the delimiters of a place.
    private static func isLine(endingAt index: Int, in scalars: [Unicode.Scalar]) -> Bool {
        let rest = scalars[(index + 1)...]
        guard [":", "|", "):"].contains(where: { rest.starts(with: $0.unicodeScalars) }) else { return false }
        let before = scalars[..<index].reversed().drop(while: isDigit).drop { $0 == " " }
        return before.first.map { ":(|,.-".unicodeScalars.contains($0) } ?? false
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension DiagnosticText: SelfTesting {
    package static var testSelectors: TestSelectors {
        [
            "testMessageStaysOnOneLine": testMessageStaysOnOneLine,
            "testNotesFollowTheirError": testNotesFollowTheirError,
            "testShowsReplacementsOnRequest": testShowsReplacementsOnRequest,
            "testWritesFixItsForXcode": testWritesFixItsForXcode,
        ]
            + .each("testShortensPathsThatEditorsCannotRead", paths, named: { "\($0.path) of \($0.root)" }) {
                row in
                expectEqual(TextStyle(root: row.root, isRelative: row.isRelative).text(row.path), row.text)
            }
            + .each("testQuotesTextThatResemblesDiagnostics", quoted) { expectEqual(harmless($0), $1) }
            + .each("testSeparatesNumbersAfterQuotesFromColons", numbered) { message, text in
                expectEqual(plain.line(.error, at: place, message), "/s.swift:3:4: error: \(text)")
            }
            + .each("testQuotesCapturedOutput", outputs) { output, omittedCount, lines in
                expectEqual(captured(Array(output.utf8), omittedCount: omittedCount), lines)
            }
    }

    private static let plain = DiagnosticText(TextStyle())
    private static let place = SourcePlace(path: "/s.swift", line: 3, column: 4)
    private static let test = PlannedTest(typeName: "Stack", testName: "testPush", testType: "unit", module: "M")

    private static let paths: [(root: String, path: String, isRelative: Bool, text: String)] = [
        ("/p", "/p/s.swift", false, "/p/s.swift"), ("/p", "/p/s.swift", true, "s.swift"),
        ("/it's", "/it's/s.swift", false, "s.swift"), ("/a:b", "/a:b/s.swift", false, "s.swift"),
        ("/p", "/pq/s.swift", true, "/pq/s.swift"), ("", "/s.swift", true, "/s.swift"),
        ("/é", "/é/s.swift", true, "s.swift"),
    ]

    private static let quoted = [
        ("plain", "plain"), ("a: error: b", "'a: error: b'"), ("error: b", "'error: b'"),
        ("x:warning: b", "'x:warning: b'"),
        ("\"a: error: b\"", "\"a: error: b\""), ("an error of type E", "an error of type E"), ("10:30", "10:30"),
    ]

    private static let numbered = [
        ("got \"a\" for row 3: b", "got \"a\" for row 3 : b"), ("got 3: b", "got 3: b"),
        ("\"a\" at 10:30", "\"a\" at 10:30"),
        ("[1: \"a\", 2: \"b\"]", "[1: \"a\", 2 : \"b\"]"),
    ]

    private static let outputs = [
        ("", 0, []), ("a\n", 0, ["  ' a"]), ("a\n\nb", 0, ["  ' a", "  ' ", "  ' b"]),
        ("x.swift:3:1: error: y", 0, ["  ' x.swift:3 :1 : error: y"]), ("\u{1B}[0m", 0, [#"  ' \u{1b}[0m"#]),
        ("10:30 note", 0, ["  ' 10:30 note"]),
        ("a:1:  warning: b:2: note: c", 0, ["  ' a:1 :  warning: b:2 : note: c"]),
        ("f.c(3): a", 0, ["  ' f.c(3 ): a"]), ("f|3| a", 0, ["  ' f|3 | a"]), ("12:30:45 a", 0, ["  ' 12:30 :45 a"]),
        ("\"f\" 3: a", 0, ["  ' \"f\" 3 : a"]), ("[1: 2]", 0, ["  ' [1: 2]"]),
        ("a", 7, ["  ' … 7 bytes left out …", "  ' a"]),
    ]

    private static func testMessageStaysOnOneLine() {
        for (got, expected, said, text) in [
            ("4", "5", "a\nb\u{1B}[31m%d", #"got 4 instead of expected 5 for a\nb\u{1b}[31m%d (Stack.testPush)"#),
            ("", "", "not reached", "not reached (Stack.testPush)"), ("", "", "", "failed (Stack.testPush)"),
        ] {
            let issue = TestIssue(kind: .expectation, got: got, expected: expected, message: said)
            expectEqual(message(for: issue, of: test), text)
        }
    }

    private static func testNotesFollowTheirError() {
        var issue = TestIssue(
            kind: .crash, path: "/s.swift", line: 3, column: 4, got: "a", expected: "b", notes: ["one\ntwo"])
        issue.callers = [SourcePlace(path: "/t.swift", line: 5, column: 6)]
        expectEqual(
            plain.lines(for: issue, of: nil, module: "M"),
            [
                "/s.swift:3:4: error: got a instead of expected b (module M)", #"/s.swift:3:4: note: one\ntwo"#,
                "/t.swift:5:6: note: called from here",
            ])
    }

    private static func testShowsReplacementsOnRequest() {
        var issue = TestIssue(kind: .expectation, path: "/s.swift", line: 3, column: 4, got: "4", expected: "5")
        let start = SourcePlace(path: "/s.swift", line: 3, column: 9)
        let end = SourcePlace(path: "/s.swift", line: 3, column: 10)
        issue.fixIt = SourceFixIt(start: start, end: end, text: "4")
        let error = "/s.swift:3:4: error: got 4 instead of expected 5 (module M)"
        expectEqual(plain.lines(for: issue, of: nil, module: "M"), [error])
        var style = TextStyle()
        style.showsReplacements = true
        expectEqual(
            DiagnosticText(style).lines(for: issue, of: nil, module: "M"),
            [error, "/s.swift:3:9-3:10: fixit: 4"])
    }

    private static func testWritesFixItsForXcode() {
        for (text, fixIt) in [("\"testA\": testA, ", #"\"testA\"\u003a testA, "#), ("a\nb\r\nc", #"a\nb\r\nc"#)] {
            let warning = SourceWarning(place: place, text: "w", fixIt: SourceFixIt(at: place, inserting: text))
            expectEqual(plain.lines(for: warning), ["/s.swift:3:4: warning: w", "/s.swift:3:4: fixit: \(fixIt)"])
        }
    }
}
#endif
