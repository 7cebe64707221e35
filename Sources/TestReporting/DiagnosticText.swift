// Makes the lines that editors, SwiftPM and Xcode read: `path:line:column: error: message`, as a compiler prints them.
// What makes a line safe for all of their patterns at once is decided here and nowhere else.

import TestEvents

/// How paths are printed.
package struct PathStyle: Equatable, Sendable {
    /// The folder that relative paths are relative to, or empty.
    package var root: String
    /// Print every path below the root relative to it, as for output that is compared.
    package var isRelative: Bool

    package init(root: String = "", isRelative: Bool = false) {
        self.root = root
        self.isRelative = isRelative
    }

    /// The path as it is printed: absolute, but relative where a quote or a colon in it would hide it from Xcode.
    package func text(_ path: String) -> String {
        guard isRelative || path.contains(where: { $0 == "'" || $0 == "\"" || $0 == ":" }), !root.isEmpty,
            path.hasPrefix(root + "/")
        else { return path }
        return String(decoding: path.utf8.dropFirst(root.utf8.count + 1), as: UTF8.self)
    }
}

package enum Severity: String, Sendable { case error, warning, note }

package struct DiagnosticText: Sendable {
    package var paths: PathStyle

    package init(paths: PathStyle) { self.paths = paths }

    /// One line in the compiler's form, without its newline.
    package func line(_ severity: Severity, at place: SourcePlace, _ message: String) -> String {
        "\(paths.text(place.path)):\(place.line):\(place.column): \(severity.rawValue): \(message)"
    }

    /// The lines of an issue: what was got and expected, then a note for each detail.
    package func lines(for issue: TestIssue, of test: PlannedTest?, module: String = "") -> [String] {
        let place = SourcePlace(path: issue.path, line: issue.line, column: issue.column)
        var lines = [line(.error, at: place, Self.message(for: issue, of: test, module: module))]
        if let fixIt = issue.fixIt { lines.append(self.line(for: fixIt)) }
        for note in issue.notes { lines.append(line(.note, at: place, Self.harmless(note))) }
        for caller in issue.callers { lines.append(line(.note, at: caller, "called from here")) }
        return lines
    }

    /// The lines of a warning: the warning, and a fix-it where one line mends it.
    package func lines(for warning: SourceWarning) -> [String] {
        var lines = [line(.warning, at: warning.place, Self.harmless(warning.text))]
        if let fixIt = warning.fixIt { lines.append(self.line(for: fixIt)) }
        return lines
    }

    private func line(for fixIt: SourceFixIt) -> String {
        let start = "\(paths.text(fixIt.start.path)):\(fixIt.start.line):\(fixIt.start.column)"
        let end = fixIt.end == fixIt.start ? "" : "-\(fixIt.end.line):\(fixIt.end.column)"
        return "\(start)\(end): fixit: \(Self.fixItText(fixIt.text))"
    }

    /// `got 4 instead of expected 5 for count after push (Stack.testPush)`, on one line whatever the message holds.
    package static func message(for issue: TestIssue, of test: PlannedTest?, module: String = "") -> String {
        var text = "got \(harmless(issue.got)) instead of expected \(harmless(issue.expected))"
        if !issue.message.isEmpty { text += " for \(harmless(issue.message))" }
        let subject = test?.name ?? (module.isEmpty ? "" : "module \(module)")
        return subject.isEmpty ? text : "\(text) (\(subject))"
    }

    /// Makes a text fit on the line of a diagnostic: control characters escaped, and in quotes when a reader would
    /// take a part of it for another diagnostic (`: error: ` outside quotes).
    package static func harmless(_ text: String) -> String {
        let line = escaped(text)
        return looksLikeDiagnostic(line) ? "'\(line)'" : line
    }

    /// Whether a pattern of Swift Build's would find the start of a diagnostic in the text: a severity between colons
    /// with no quote before it.
    static func looksLikeDiagnostic(_ text: String) -> Bool {
        let unquoted = text.prefix { $0 != "'" && $0 != "\"" }
        var rest = unquoted
        while let colon = rest.firstIndex(of: ":") {
            let word = rest[..<colon].reversed().prefix { $0.isLetter }
            if ["error", "warning", "note", "notice", "fixit", "testlogger"].contains(String(word.reversed())) {
                return true
            }
            rest = rest[rest.index(after: colon)...]
        }
        return false
    }

    /// Writes control characters and line separators as string literals do.
    package static func escaped(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isControl) else { return text }
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\n": result += "\\n"
            case "\r": result += "\\r"
            case "\t": result += "\\t"
            case _ where isControl(scalar): result += "\\u{\(String(scalar.value, radix: 16))}"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value < 0x20 || (0x7F..<0xA0).contains(scalar.value) || (0x2028...0x2029).contains(scalar.value)
    }

    /// A replacement as Xcode reads it: with JSON's escapes and no quotes around it, colons escaped too.
    private static func fixItText(_ text: String) -> String {
        var result = ""
        for character in text {
            switch character {
            case ":": result += "\\u003a"
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            default: result.append(character)
            }
        }
        return result
    }

    /// The lines of captured output, marked so that no reader takes one for a diagnostic.
    ///
    /// The quote stops Swift Build's pattern; the colon taken out of `:3: error:` stops VS Code's.
    package static func captured(_ output: [UInt8], omittedCount: Int) -> [String] {
        guard !output.isEmpty else { return [] }
        var text = String(decoding: output, as: UTF8.self)
        if text.hasSuffix("\n") { text.removeLast() }
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            "  ' " + withoutLocation(escaped(String(line)))
        }
        if omittedCount > 0 { lines.insert("  ' … \(omittedCount) bytes left out …", at: 0) }
        return lines
    }

    /// Takes the last colon out of each `:3: error:`.
    private static func withoutLocation(_ line: String) -> String {
        var result = ""
        var rest = Substring(line)
        while let colon = rest.firstIndex(of: ":") {
            result += rest[..<colon]
            rest = rest[rest.index(after: colon)...]
            let following = rest.drop { $0 == " " }
            let isNumbered = result.last.map { $0.isASCII && $0.isNumber } ?? false
            let isSeverity = ["error", "warning", "note", "fixit"].contains { following.hasPrefix($0) }
            if !(isNumbered && isSeverity) { result += ":" }
        }
        return result + rest
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension DiagnosticText: SelfTesting {
    package static var testSelectors: TestSelectors {
        [
            "testPathsAreAbsoluteUnlessTheyWouldBeHidden": testPathsAreAbsoluteUnlessTheyWouldBeHidden,
            "testMessageStaysOnOneLine": testMessageStaysOnOneLine,
            "testQuotesWhatLooksLikeADiagnostic": testQuotesWhatLooksLikeADiagnostic,
            "testNotesFollowTheirError": testNotesFollowTheirError,
            "testFixItIsWrittenForXcode": testFixItIsWrittenForXcode,
            "testCapturedOutputIsNoDiagnostic": testCapturedOutputIsNoDiagnostic,
        ]
    }

    private static let test = PlannedTest(typeName: "Stack", testName: "testPush", testType: "unit", module: "M")

    private static func testPathsAreAbsoluteUnlessTheyWouldBeHidden() {
        let rows: [(root: String, path: String, isRelative: Bool, text: String)] = [
            ("/p", "/p/s.swift", false, "/p/s.swift"), ("/p", "/p/s.swift", true, "s.swift"),
            ("/it's", "/it's/s.swift", false, "s.swift"), ("/a:b", "/a:b/s.swift", false, "s.swift"),
            ("/p", "/pq/s.swift", true, "/pq/s.swift"), ("", "/s.swift", true, "/s.swift"),
            ("/é", "/é/s.swift", true, "s.swift"),
        ]
        for row in rows {
            expectEqual(PathStyle(root: row.root, isRelative: row.isRelative).text(row.path), row.text)
        }
    }

    private static func testMessageStaysOnOneLine() {
        let issue = TestIssue(kind: .expectation, got: "4", expected: "5", message: "a\nb\u{1B}[31m%d")
        expectEqual(
            message(for: issue, of: test), #"got 4 instead of expected 5 for a\nb\u{1b}[31m%d (Stack.testPush)"#)
    }

    private static func testQuotesWhatLooksLikeADiagnostic() {
        let rows = [
            ("plain", "plain"), ("a: error: b", "'a: error: b'"), ("error: b", "'error: b'"),
            ("x:warning: b", "'x:warning: b'"),
            ("\"a: error: b\"", "\"a: error: b\""), ("an error of type E", "an error of type E"), ("10:30", "10:30"),
        ]
        for (text, harmlessText) in rows { expectEqual(harmless(text), harmlessText) }
    }

    private static func testNotesFollowTheirError() {
        var issue = TestIssue(
            kind: .crash, path: "/s.swift", line: 3, column: 4, got: "a", expected: "b", notes: ["one\ntwo"])
        issue.callers = [SourcePlace(path: "/t.swift", line: 5, column: 6)]
        expectEqual(
            DiagnosticText(paths: PathStyle()).lines(for: issue, of: nil, module: "M"),
            [
                "/s.swift:3:4: error: got a instead of expected b (module M)", #"/s.swift:3:4: note: one\ntwo"#,
                "/t.swift:5:6: note: called from here",
            ])
    }

    private static func testFixItIsWrittenForXcode() {
        let place = SourcePlace(path: "/s.swift", line: 3, column: 4)
        let warning = SourceWarning(
            place: place, text: "w", fixIt: SourceFixIt(at: place, inserting: "\"testA\": testA, "))
        expectEqual(
            DiagnosticText(paths: PathStyle()).lines(for: warning),
            ["/s.swift:3:4: warning: w", #"/s.swift:3:4: fixit: \"testA\"\u003a testA, "#])
    }

    private static func testCapturedOutputIsNoDiagnostic() {
        let rows: [(String, [String])] = [
            ("", []), ("a\n", ["  ' a"]), ("a\n\nb", ["  ' a", "  ' ", "  ' b"]),
            ("x.swift:3:1: error: y", ["  ' x.swift:3:1 error: y"]), ("\u{1B}[0m", [#"  ' \u{1b}[0m"#]),
            ("10:30 note", ["  ' 10:30 note"]), ("a:1:  warning: b:2: note: c", ["  ' a:1  warning: b:2 note: c"]),
        ]
        for (output, lines) in rows { expectEqual(captured(Array(output.utf8), omittedCount: 0), lines) }
        expectEqual(captured([0x61], omittedCount: 7), ["  ' … 7 bytes left out …", "  ' a"])
    }
}
#endif
