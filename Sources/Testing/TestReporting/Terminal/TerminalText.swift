// Formats a run for a build and a terminal: failures as diagnostics when they happen, successes only on request.

import TestEvents

/// The amount of output in addition to failures.
package enum Verbosity: Int, Comparable, Sendable {
    /// Failures and warnings.
    case quiet
    /// Also a summary.
    case summary
    /// Also every test with its outcome.
    case tests
    /// Also the start of every test.
    case progress

    package static func < (one: Self, other: Self) -> Bool { one.rawValue < other.rawValue }
}

package struct TerminalText: Sendable {
    private let style: TextStyle
    private var text: DiagnosticText { DiagnosticText(style) }

    package init(_ style: TextStyle) { self.style = style }

    /// Returns the lines to print for an event.
    package func lines(for event: RunEvent) -> [String] {
        switch event {
        case .planned: []
        case .began(let test): style.verbosity >= .progress ? ["begin \(test.name)"] : []
        case .ended(let result): lines(for: result)
        case .failedLate(let test, let issue): text.lines(for: issue, of: test).map(coloured)
        case .moduleIssue(let module, let issue): text.lines(for: issue, of: nil, module: module).map(coloured)
        case .warning(let warning): text.lines(for: warning).map(coloured)
        }
    }

    private func lines(for result: TestResult) -> [String] {
        var lines = result.issues.failures.flatMap { text.lines(for: $0, of: result.test) }
        lines = (lines + text.lines(forAttemptsOf: result)).map(coloured)
        if result.outcome == .failed {
            lines += DiagnosticText.captured(result.output, omittedCount: result.omittedOutputCount)
        }
        let isNews = result.outcome == .skipped || result.isFlaky || result.issues.contains { $0.knownReason != nil }
        if style.verbosity >= .tests || style.verbosity == .summary && isNews {
            lines.append(outcomeLine(for: result))
        }
        return lines
    }

    private func outcomeLine(for result: TestResult) -> String {
        var line = "\(result.isFlaky ? "flaky" : result.outcome.rawValue) \(result.test.name)"
        if !style.isStable, result.outcome != .skipped { line += " (\(Self.duration(result.nanoseconds)))" }
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

    /// Returns a duration with three significant digits and a unit.
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
        guard style.isColoured else { return line }
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
    /// Returns the summary of a run, without the counts that are zero.
    ///
    /// `12 tests, 11 passed, 1 failed, 2 known issues (3.10 ms)`
    ///
    /// - Parameter isStable: A Boolean value that indicates whether the time is left out.
    package func line(nanoseconds: Int, isStable: Bool) -> String {
        let count = passed + failed + skipped + notRun
        let parts = [
            (failed, "failed", "failed"), (skipped, "skipped", "skipped"), (flaky, "flaky", "flaky"),
            (notRun, "not run", "not run"), (knownIssues, "known issue", "known issues"),
            (moduleIssues, "failure outside tests", "failures outside tests"), (warnings, "warning", "warnings"),
        ].filter { $0.0 > 0 }.map { "\($0) \($0 == 1 ? $1 : $2)" }
        let line = (["\(count) \(count == 1 ? "test" : "tests")", "\(passed) passed"] + parts).joined(separator: ", ")
        return isStable ? line : "\(line) (\(TerminalText.duration(nanoseconds)))"
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension TerminalText: SelfTesting {
    package static var testSelectors: TestSelectors {
        let tests: TestSelectors = ["testTallyOmitsZeroCounts": testTallyOmitsZeroCounts]
        return tests + .each("testDurationsHaveThreeDigits", durations) { expectEqual(duration($0), $1) }
            + .each("testFormatsResults", results, named: \.name) { row in
                expectEqual(row.text.lines(for: .ended(row.result)), row.lines)
            }
    }

    private static let durations = [
        (0, "0 ns"), (999, "999 ns"), (1000, "1.00 µs"), (12_345, "12.3 µs"), (999_999, "999 µs"),
        (1_000_000, "1.00 ms"), (1_050_000_000, "1.05 s"), (123_456_000_000, "123 s"),
    ]

    private static func result(
        _ outcome: TestResult.Outcome, _ issues: [TestIssue] = [], change: (inout TestResult) -> Void = { _ in }
    ) -> TestResult {
        let test = PlannedTest(typeName: "S", testName: "testA", testType: "unit", module: "M")
        var result = TestResult(test: test, outcome: outcome)
        result.issues = issues
        change(&result)
        return result
    }

    private static func failure(_ line: Int, got: String) -> TestResult {
        result(.failed, [TestIssue(kind: .expectation, path: "/s", line: line, column: 2, got: got, expected: "2")])
    }

    private static var results: [(name: String, text: TerminalText, result: TestResult, lines: [String])] {
        func text(_ verbosity: Verbosity, failsOnFlaky: Bool = false, isColoured: Bool = false) -> TerminalText {
            var style = TextStyle()
            (style.verbosity, style.failsOnFlaky, style.isColoured) = (verbosity, failsOnFlaky, isColoured)
            return TerminalText(style)
        }
        let (quiet, summary, tests) = (text(.quiet), text(.summary), text(.tests))
        let failed = failure(1, got: "1")
        let error = "error: got 1 instead of expected 2 (S.testA)"
        let passed = result(.passed) { $0.nanoseconds = 1500 }
        let flaky = result(.passed) { $0.earlierAttempts = [failure(1, got: "0"), failed] }
        let flakyText = "flaky (passed on attempt 3): got 0 instead of expected 2 (S.testA)"
        let note = "/s:1:2: note: attempt 2 failed: got 1 instead of expected 2"
        let inAll = result(.failed, failed.issues) { $0.earlierAttempts = [failed, failure(3, got: "0")] }
        let skipped = result(.skipped) { $0.skipReason = "no network" }
        let skippedAndFailed = result(.failed) { $0.skipReason = "no network" }
        let known = TestIssue(kind: .expectation, got: "1", expected: "2", knownReason: "issue 7")
        let withOutput = result(.failed, failed.issues) { $0.output = Array("said\n".utf8) }
        return [
            ("passed", quiet, passed, []), ("passed", summary, passed, []),
            ("passed", tests, passed, ["passed S.testA (1.50 µs)"]),
            ("flaky", quiet, flaky, ["/s:1:2: warning: \(flakyText)", note]),
            ("flaky", summary, flaky, ["/s:1:2: warning: \(flakyText)", note, "flaky S.testA (0 ns)"]),
            ("flaky", text(.quiet, failsOnFlaky: true), flaky, ["/s:1:2: error: \(flakyText)", note]),
            (
                "failed in all attempts", quiet, inAll,
                [
                    "/s:1:2: \(error)", "/s:1:2: note: failed in all 3 attempts",
                    "/s:3:2: note: attempt 2 failed: got 0 instead of expected 2",
                ]
            ),
            ("skipped", summary, skipped, ["skipped S.testA because no network"]), ("skipped", quiet, skipped, []),
            ("skipped and failed", tests, skippedAndFailed, ["failed S.testA (0 ns)"]),
            (
                "known", summary, result(.passed, [known]),
                ["passed S.testA (0 ns), known issue 'issue 7' (got 1 instead of expected 2)"]
            ),
            ("output", quiet, withOutput, ["/s:1:2: \(error)", "  ' said"]),
            (
                "colours", text(.quiet, isColoured: true), failed,
                ["/s:1:2: \(error.replacing("error:", with: "\u{1B}[1;31merror:\u{1B}[0m"))"]
            ),
        ]
    }

    private static func testTallyOmitsZeroCounts() {
        var tally = RunTally()
        tally.passed = 1
        expectEqual(tally.line(nanoseconds: 3_100_000, isStable: false), "1 test, 1 passed (3.10 ms)")
        (tally.failed, tally.skipped, tally.flaky, tally.knownIssues) = (2, 1, 1, 1)
        (tally.moduleIssues, tally.warnings) = (2, 3)
        expectEqual(
            tally.line(nanoseconds: 3_100_000, isStable: true),
            "4 tests, 1 passed, 2 failed, 1 skipped, 1 flaky, 1 known issue, 2 failures outside tests, 3 warnings")
        (tally.failed, tally.knownIssues, tally.moduleIssues, tally.warnings, tally.notRun) = (0, 2, 1, 1, 5)
        expectEqual(
            tally.line(nanoseconds: 0, isStable: true),
            "7 tests, 1 passed, 1 skipped, 1 flaky, 5 not run, 2 known issues, 1 failure outside tests, 1 warning")
    }
}
#endif
