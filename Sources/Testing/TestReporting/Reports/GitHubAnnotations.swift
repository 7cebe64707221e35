// Writes a few annotations of a run, which GitHub Actions shows at the changed lines. GitHubSummary lists all issues.

import TestEvents

/// The workflow commands for issues and warnings.
///
/// GitHub shows 10 errors and 10 warnings of a step, so no more are written. Crashes come before timeouts, thrown errors and
/// expectations, and the first issue of every test comes before all second issues.
// SPEC: actions/runner, ActionCommand.cs (escapes) and ExecutionContext.cs (limits).
package enum GitHubAnnotations {
    /// The maximum number of annotations with one severity.
    package static let countMax = 10
    /// The maximum length of a message in UTF-16 units.
    package static let messageLengthMax = 4096

    /// Returns the annotations as lines for the output of a step.
    ///
    /// - Parameter style: The form of paths, which should be relative to the checkout.
    package static func lines(of record: RunRecord, _ style: TextStyle) -> [String] {
        var errors: [(rank: (kind: Int, index: Int), line: String)] = []
        var warnings: [String] = []
        func add(_ issue: TestIssue, _ title: String, of test: PlannedTest?, index: Int = 0) {
            let callers = issue.callers.map { "called from \(style.text($0))" }
            let lines =
                [DiagnosticText.message(for: issue, of: test)] + issue.notes.map(DiagnosticText.escaped) + callers
            let text = line(.error, style, at: issue.knownPlace, title, lines.joined(separator: "\n"))
            errors.append(((issue.kind.rank, index), text))
        }
        for result in record.results {
            if result.isFlaky, let issue = result.earlierAttempts.flatMap(\.issues.failures).first {
                let message = DiagnosticText.flakyMessage(for: result, after: issue)
                warnings.append(line(.warning, style, at: issue.knownPlace, result.test.name, message))
            }
            guard result.outcome == .failed else { continue }
            for (index, issue) in result.issues.failures.enumerated() {
                add(issue, result.test.name, of: result.test, index: index)
            }
        }
        for (module, issue) in record.moduleIssues {
            add(issue, module.isEmpty ? "outside tests" : "module \(module)", of: nil)
        }
        let reason = DiagnosticText.escaped(record.reasonForRunning)
        errors += record.running.map { ((TestIssue.Kind.timeout.rank, 0), line(.error, style, $0.name, reason)) }
        warnings += record.warnings.map { line(.warning, style, at: $0.place, "", DiagnosticText.escaped($0.text)) }
        // Annotations of equal rank stay in the order of the run.
        return errors.sorted { $0.rank < $1.rank }.prefix(countMax).map(\.line) + warnings.prefix(countMax)
    }

    private static func line(
        _ severity: Severity, _ style: TextStyle, at place: SourcePlace? = nil, _ title: String, _ message: String
    ) -> String {
        let properties = [
            ("file", place.map { style.text($0.path) }), ("line", place.map { "\($0.line)" }),
            ("col", place.map { "\($0.column)" }), ("title", title.isEmpty ? nil : title),
        ]
        let text = properties.compactMap { name, value in
            value.map { "\(name)=\(escaped(DiagnosticText.escaped($0), isProperty: true))" }
        }.joined(separator: ",")
        return "::\(severity.rawValue)\(text.isEmpty ? "" : " \(text)")::\(escaped(cut(message, to: messageLengthMax)))"
    }

    /// Escapes the characters that would end a workflow command or a property.
    static func escaped(_ text: String, isProperty: Bool = false) -> String {
        text.replacingScalars { scalar in
            switch scalar {
            case "%": "%25"
            case "\r": "%0D"
            case "\n": "%0A"
            case ":" where isProperty: "%3A"
            case "," where isProperty: "%2C"
            default: nil
            }
        }
    }

    /// Cuts a text to a number of UTF-16 units, between characters, and marks the cut.
    static func cut(_ text: String, to length: Int) -> String {
        guard text.utf16.count > length else { return text }
        var count = 1
        let kept = text.prefix { character in
            count += character.utf16.count
            return count <= length
        }
        return kept + "…"
    }

    /// Turns off workflow commands for lines that could contain one.
    ///
    /// - Parameter token: A random text for turning them on again. It is extended if a line contains it.
    // SPEC: actions/runner, ActionCommand.cs: `::` after spaces at the start of a line, or `##[` anywhere in it.
    package static func guarded(_ lines: [String], token: String) -> [String] {
        guard lines.contains(where: { $0.drop { $0 == " " || $0 == "\t" }.hasPrefix("::") || contains($0, "##[") })
        else {
            return lines
        }
        var free = token
        while lines.contains(where: { contains($0, "::\(free)::") }) { free += "0" }
        return ["::stop-commands::\(free)"] + lines + ["::\(free)::"]
    }

    /// Returns whether a line contains a text, also if the text begins or ends inside a character.
    private static func contains(_ line: String, _ text: String) -> Bool { line.utf8.contains(text.utf8) }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension GitHubAnnotations: SelfTesting {
    package static var testSelectors: TestSelectors {
        [
            "testAnnotatesAnInterruptedRun": testAnnotatesAnInterruptedRun,
            "testShowsTheTenMostSevereIssues": testShowsTheTenMostSevereIssues,
            "testOutputCannotRunWorkflowCommands": testOutputCannotRunWorkflowCommands,
        ]
            + .each("testEscapesDataAndProperties", parts) { text, data, property in
                expectEqual(escaped(text), data)
                expectEqual(escaped(text, isProperty: true), property)
            }
            + .each("testCutsBetweenCharacters", cuts) { expectEqual(cut($0, to: 4), $1) }
    }

    private static func testAnnotatesAnInterruptedRun() {
        expectEqual(
            lines(of: SampleRun.record, SampleRun.style).joinedLines,
            #"""
            ::error file=Sources/Stack.swift,line=8,col=9,title=Stack.testCrash::crashed with SIGILL: Index out of range (Stack.testCrash)%0Acalled from Sources/Stack.swift:2:1
            ::error title=Stack.testHang::Timed out
            ::error file=Sources/Stack.swift,line=1,col=1,title=module Stacks::6 results for 7 tests
            ::error file=Sources/Stack.swift,line=4,col=9,title=Stack.testPush::threw "<a & b>" (Stack.testPush)
            ::error file=Sources/Stack.swift,line=3,col=9,title=Stack.testPush::got 4 instead of expected 5 for count # after\npush (Stack.testPush)%0A2 elements differ
            ::warning file=Sources/Stack.swift,line=7,col=9,title=Stack.testFlaky::flaky (passed on attempt 2): timed out after 50 ms (Stack.testFlaky)
            ::warning file=Sources/Stack.swift,line=12,col=5::'testOld' is in no list

            """#)
    }

    private static func testShowsTheTenMostSevereIssues() {
        let expectation = SampleRun.issue(.expectation, line: 1, got: "1", expected: "2")
        var results = [SampleRun.result("testMany", .failed, Array(repeating: expectation, count: 20))]
        results += (0..<4).map { SampleRun.result("testOne\($0)", .failed, [expectation]) }
        for (number, kind) in [TestIssue.Kind.thrownError, .timeout, .crash].enumerated() {
            let issue = SampleRun.issue(kind, line: 2, got: "", expected: "")
            results.append(SampleRun.result("testBad\(number)", .failed, [issue]))
        }
        let warning = SourceWarning(place: SourcePlace(path: "/a", line: 1, column: 1), text: "w")
        let warnings = Array(repeating: RunEvent.warning(warning), count: 12)
        let record = SampleRun.record(of: results.map(RunEvent.ended) + warnings)
        let lines = lines(of: record, TextStyle())
        expectEqual(lines.count, 20)
        expectEqual(lines.filter { $0.hasPrefix("::warning file=/a,line=1,col=1::w") }.count, 10)
        let titles = lines.prefix(10).compactMap { $0.split(separator: ".").last?.dropLast(1) }
        let names = ["Bad2", "Bad1", "Bad0", "Many", "One0", "One1", "One2", "One3", "Many", "Many"]
        expectEqual(titles.map(String.init), names.map { "test\($0)" })
    }

    private static let parts = [
        ("100%", "100%25", "100%25"), ("a\r\nb", "a%0D%0Ab", "a%0D%0Ab"), ("a:b,c", "a:b,c", "a%3Ab%2Cc"),
        ("é::", "é::", "é%3A%3A"),
    ]

    private static let cuts = [("abcd", "abcd"), ("abcde", "abc…"), ("a😀😀", "a😀…"), ("ab😀😀", "ab…"), ("", "")]

    private static func testOutputCannotRunWorkflowCommands() {
        expectEqual(
            guarded(["::t::", "x ::t0::"], token: "t"), ["::stop-commands::t00", "::t::", "x ::t0::", "::t00::"])
        expectEqual(
            guarded(["a", "  ' ##[add-mask]e"], token: "t"), ["::stop-commands::t", "a", "  ' ##[add-mask]e", "::t::"])
        let harmless = ["/a.swift:1:2: error: got ::set-env::", "  ' ::error::x", "# [", ""]
        expectEqual(guarded(harmless, token: "t"), harmless)
    }
}
#endif
