// What a build and a terminal show of a run: failures as diagnostics when they happen, successes only when asked for.

import TestEvents

/// How much is shown beside failures.
package enum Verbosity: Int, Comparable, Sendable {
    /// Failures and warnings.
    case quiet
    /// A summary too.
    case summary
    /// Every test with its outcome too.
    case tests
    /// Every test as it begins too.
    case progress

    package static func < (one: Self, other: Self) -> Bool { one.rawValue < other.rawValue }
}

package struct TerminalText: Sendable {
    private let text: DiagnosticText
    private let verbosity: Verbosity
    /// Leave out times, so that two runs print the same.
    private let isStable: Bool
    /// Use a terminal's colours.
    private let isColoured: Bool
    /// Show flaky tests as errors.
    private let failsOnFlaky: Bool

    package init(
        paths: PathStyle, verbosity: Verbosity, isStable: Bool = false, isColoured: Bool = false,
        failsOnFlaky: Bool = false, showsReplacements: Bool = false
    ) {
        self.failsOnFlaky = failsOnFlaky
        text = DiagnosticText(paths: paths, showsReplacements: showsReplacements)
        self.verbosity = verbosity
        self.isStable = isStable
        self.isColoured = isColoured
    }

    /// The lines to print for an event.
    package func lines(for event: RunEvent) -> [String] {
        switch event {
        case .planned:
            return []
        case .began(let test):
            return verbosity >= .progress ? ["begin \(test.name)"] : []
        case .ended(let result):
            return lines(for: result)
        case .failedLate(let test, let issue):
            return text.lines(for: issue, of: test).map { coloured($0) }
        case .moduleIssue(let module, let issue):
            return text.lines(for: issue, of: nil, module: module).map { coloured($0) }
        case .warning(let warning):
            return text.lines(for: warning).map { coloured($0) }
        }
    }

    private func lines(for result: TestResult) -> [String] {
        var lines: [String] = []
        for issue in result.issues where issue.knownReason == nil {
            lines += text.lines(for: issue, of: result.test).map { coloured($0) }
        }
        if !result.earlierAttempts.isEmpty {
            lines += text.lines(forAttemptsOf: result, flakySeverity: failsOnFlaky ? .error : .warning).map {
                coloured($0)
            }
        }
        if result.outcome == .failed {
            lines += DiagnosticText.captured(result.output, omittedCount: result.omittedOutputCount)
        }
        let isNews = result.outcome == .skipped || result.isFlaky || result.issues.contains { $0.knownReason != nil }
        if verbosity >= .tests || verbosity == .summary && isNews { lines.append(outcomeLine(for: result)) }
        return lines
    }

    private func outcomeLine(for result: TestResult) -> String {
        var line = "\(result.isFlaky ? "flaky" : result.outcome.rawValue) \(result.test.name)"
        if !isStable, result.outcome != .skipped { line += " (\(Self.duration(result.nanoseconds)))" }
        if result.outcome == .skipped, let reason = result.skipReason {
            line += " because \(DiagnosticText.harmless(reason))"
        }
        for issue in result.issues {
            if let reason = issue.knownReason {
                line +=
                    ", known issue '\(DiagnosticText.escaped(reason))' (\(DiagnosticText.message(for: issue, of: nil)))"
            }
        }
        return line
    }

    /// A time with three significant digits and a unit.
    package static func duration(_ nanoseconds: Int) -> String {
        let units: [(name: String, size: Int)] = [("s", 1_000_000_000), ("ms", 1_000_000), ("µs", 1_000), ("ns", 1)]
        let unit = units.first { nanoseconds >= $0.size } ?? ("ns", 1)
        let whole = nanoseconds / unit.size
        let thousandths = nanoseconds % unit.size * 1000 / unit.size
        let digits = whole >= 100 || unit.size == 1 ? 0 : whole >= 10 ? 1 : 2
        guard digits > 0 else { return "\(whole) \(unit.name)" }
        let fraction = String(thousandths + 1000).dropFirst().prefix(digits)
        return "\(whole).\(fraction) \(unit.name)"
    }

    private func coloured(_ line: String) -> String {
        guard isColoured else { return line }
        for (severity, colour) in [(": error: ", "31"), (": warning: ", "35"), (": note: ", "90")] {
            if let start = line.firstRange(of: severity) {
                let word = line[start].dropFirst(2).dropLast(1)
                return "\(line[..<start.lowerBound]): \u{1B}[1;\(colour)m\(word)\u{1B}[0m \(line[start.upperBound...])"
            }
        }
        return line
    }
}

extension RunTally {
    /// The line that says what a run came to, without what is zero and no news.
    ///
    /// `12 tests, 11 passed, 1 failed, 2 known issues (3.10 ms)`
    ///
    /// - Parameter isStable: leave out the time.
    package func line(nanoseconds: Int, isStable: Bool) -> String {
        let count = passed + failed + skipped + notRun
        var parts = [count == 1 ? "1 test" : "\(count) tests", "\(passed) passed"]
        if failed > 0 { parts.append("\(failed) failed") }
        if skipped > 0 { parts.append("\(skipped) skipped") }
        if flaky > 0 { parts.append("\(flaky) flaky") }
        if notRun > 0 { parts.append("\(notRun) not run") }
        if knownIssues > 0 { parts.append(knownIssues == 1 ? "1 known issue" : "\(knownIssues) known issues") }
        if moduleIssues > 0 {
            parts.append(moduleIssues == 1 ? "1 failure outside tests" : "\(moduleIssues) failures outside tests")
        }
        if warnings > 0 { parts.append(warnings == 1 ? "1 warning" : "\(warnings) warnings") }
        let line = parts.joined(separator: ", ")
        return isStable ? line : "\(line) (\(TerminalText.duration(nanoseconds)))"
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension TerminalText: SelfTesting {
    package static var testSelectors: TestSelectors {
        [
            "testSuccessIsQuiet": testSuccessIsQuiet,
            "testFlakyIsAWarning": testFlakyIsAWarning,
            "testEveryAttemptIsSaid": testEveryAttemptIsSaid,
            "testSummaryNamesWhatIsNews": testSummaryNamesWhatIsNews,
            "testFailureShowsOutput": testFailureShowsOutput,
            "testDurationsHaveThreeDigits": testDurationsHaveThreeDigits,
            "testColoursTheSeverityOnly": testColoursTheSeverityOnly,
            "testTallyLeavesOutWhatIsNoNews": testTallyLeavesOutWhatIsNoNews,
        ]
    }

    private static let test = PlannedTest(typeName: "S", testName: "testA", testType: "unit", module: "M")

    private static func lines(_ result: TestResult, _ verbosity: Verbosity, isColoured: Bool = false) -> [String] {
        TerminalText(paths: PathStyle(), verbosity: verbosity, isColoured: isColoured).lines(for: .ended(result))
    }

    private static func testSuccessIsQuiet() {
        var result = TestResult(test: test, outcome: .passed)
        result.nanoseconds = 1500
        expectEqual(lines(result, .quiet), [])
        expectEqual(lines(result, .summary), [])
        expectEqual(lines(result, .tests), ["passed S.testA (1.50 µs)"])
    }

    private static func attempt(_ line: Int, got: String) -> TestResult {
        var attempt = TestResult(test: test, outcome: .failed)
        attempt.issues = [TestIssue(kind: .expectation, path: "/s", line: line, column: 2, got: got, expected: "2")]
        return attempt
    }

    private static func testFlakyIsAWarning() {
        var result = TestResult(test: test, outcome: .passed)
        result.earlierAttempts = [attempt(1, got: "0"), attempt(1, got: "1")]
        let text = "flaky: passed at attempt 3 after got 0 instead of expected 2 (S.testA)"
        let note = "/s:1:2: note: attempt 2 failed: got 1 instead of expected 2"
        expectEqual(lines(result, .quiet), ["/s:1:2: warning: \(text)", note])
        expectEqual(lines(result, .summary).last, "flaky S.testA (0 ns)")
        let strict = TerminalText(paths: PathStyle(), verbosity: .quiet, failsOnFlaky: true)
        expectEqual(strict.lines(for: .ended(result)), ["/s:1:2: error: \(text)", note])
    }

    private static func testEveryAttemptIsSaid() {
        var result = TestResult(test: test, outcome: .failed)
        result.issues = attempt(1, got: "1").issues
        result.earlierAttempts = [attempt(1, got: "1"), attempt(3, got: "0")]
        expectEqual(
            lines(result, .quiet),
            [
                "/s:1:2: error: got 1 instead of expected 2 (S.testA)", "/s:1:2: note: failed in all 3 attempts",
                "/s:3:2: note: attempt 2 failed: got 0 instead of expected 2",
            ])
    }

    private static func testSummaryNamesWhatIsNews() {
        var skipped = TestResult(test: test, outcome: .skipped)
        skipped.skipReason = "no network"
        expectEqual(lines(skipped, .summary), ["skipped S.testA because no network"])
        expectEqual(lines(skipped, .quiet), [])
        skipped.outcome = .failed
        expectEqual(lines(skipped, .tests), ["failed S.testA (0 ns)"])
        var known = TestResult(test: test, outcome: .passed)
        known.issues = [TestIssue(kind: .expectation, got: "1", expected: "2", knownReason: "issue 7")]
        expectEqual(
            lines(known, .summary), ["passed S.testA (0 ns), known issue 'issue 7' (got 1 instead of expected 2)"])
    }

    private static func testFailureShowsOutput() {
        var failed = TestResult(test: test, outcome: .failed)
        failed.issues = [TestIssue(kind: .expectation, path: "/s", line: 1, column: 2, got: "1", expected: "2")]
        failed.output = Array("said\n".utf8)
        expectEqual(lines(failed, .quiet), ["/s:1:2: error: got 1 instead of expected 2 (S.testA)", "  ' said"])
    }

    private static func testDurationsHaveThreeDigits() {
        let rows = [
            (0, "0 ns"), (999, "999 ns"), (1000, "1.00 µs"), (12_345, "12.3 µs"), (999_999, "999 µs"),
            (1_000_000, "1.00 ms"), (1_050_000_000, "1.05 s"), (123_456_000_000, "123 s"),
        ]
        for (nanoseconds, text) in rows { expectEqual(duration(nanoseconds), text) }
    }

    private static func testColoursTheSeverityOnly() {
        var failed = TestResult(test: test, outcome: .failed)
        failed.issues = [TestIssue(kind: .expectation, path: "/s", line: 1, column: 2, got: "1", expected: "2")]
        expectEqual(
            lines(failed, .quiet, isColoured: true),
            ["/s:1:2: \u{1B}[1;31merror:\u{1B}[0m got 1 instead of expected 2 (S.testA)"])
    }

    private static func testTallyLeavesOutWhatIsNoNews() {
        var tally = RunTally()
        tally.passed = 1
        expectEqual(tally.line(nanoseconds: 3_100_000, isStable: false), "1 test, 1 passed (3.10 ms)")
        tally.failed = 2
        tally.skipped = 1
        tally.flaky = 1
        tally.knownIssues = 1
        tally.moduleIssues = 2
        tally.warnings = 3
        expectEqual(
            tally.line(nanoseconds: 3_100_000, isStable: true),
            "4 tests, 1 passed, 2 failed, 1 skipped, 1 flaky, 1 known issue, 2 failures outside tests, 3 warnings")
        tally.notRun = 5
        (tally.failed, tally.moduleIssues, tally.warnings, tally.notRun) = (0, 1, 1, 5)
        tally.knownIssues = 2
        expectEqual(
            tally.line(nanoseconds: 0, isStable: true),
            "7 tests, 1 passed, 1 skipped, 1 flaky, 5 not run, 2 known issues, 1 failure outside tests, 1 warning")
    }
}
#endif
