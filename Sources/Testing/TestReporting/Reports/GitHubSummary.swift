// Writes a page of Markdown about a run, for GitHub's step summary or a comment.

import TestEvents

/// A Markdown page with the result of a run and its failures, flaky tests, known issues, skipped tests and warnings.
package struct GitHubSummary {
    /// The maximum size of a step's summary in bytes.
    package static let byteCountMax = 1 << 20

    private let style: TextStyle

    private func text(_ issue: TestIssue) -> String { Self.escaped(DiagnosticText.message(for: issue, of: nil)) }

    private func text(_ place: SourcePlace?) -> String {
        place.map { Self.escaped(style.text($0)) } ?? ""
    }

    /// Returns the page, which is shorter than GitHub's limit.
    ///
    /// - Parameter style: The form of paths, which should be relative to the checkout.
    package static func text(of record: RunRecord, _ style: TextStyle) -> String {
        let isRed = record.tally.isRed || !record.running.isEmpty || record.earlyReason != nil
        let open = record.running.count + record.waiting.count
        var text = "## In-class tests \(isRed ? "failed" : "passed")\n\n"
        text += record.tally.line(nanoseconds: record.nanoseconds, isStable: style.isStable)
        if open > 0 { text += "; \(open) without a result" }
        if let reason = record.earlyReason { text += "; ended early: \(escaped(reason))" }
        return text + "\n" + GitHubSummary(style: style).sections(of: record)
    }

    /// Makes all sections, which together are shorter than GitHub's limit.
    private func sections(of record: RunRecord) -> String {
        let results = record.results
        var failures = results.filter { $0.outcome == .failed }.flatMap { result in
            let failures = result.issues.failures
            return failures.isEmpty
                ? [[name(of: result.test), "", "failed without an issue"]]
                : failures.map { [name(of: result.test), text($0.knownPlace), text($0)] }
        }
        failures += record.moduleIssues.map { module, issue in
            [Self.escaped("module \(module)"), text(issue.knownPlace), text(issue)]
        }
        failures += record.running.map { [name(of: $0), "", Self.escaped(record.reasonForRunning)] }
        let flaky = results.filter(\.isFlaky).compactMap { result -> [String]? in
            guard let worst = result.earlierAttempts.flatMap(\.issues.failures).worst else { return nil }
            return [name(of: result.test), String(result.earlierAttempts.count + 1), text(worst)]
        }
        let knownIssues = results.flatMap { result in
            result.issues.compactMap(\.knownReason).map { [name(of: result.test), Self.escaped($0)] }
        }
        let skipped =
            results.filter { $0.outcome == .skipped }.map { [name(of: $0.test), Self.escaped($0.skipReason ?? "")] }
            + record.waiting.map { [name(of: $0), Self.escaped(record.reasonForWaiting)] }
        let warnings = record.warnings.map { [text($0.place), Self.escaped($0.text)] }
        return section("Failures", ["Test", "Place", "Issue"], failures, byteCountMax: 512 << 10)
            + section("Flaky", ["Test", "Attempts", "Issue"], flaky)
            + section("Known issues", ["Test", "Reason"], knownIssues)
            + section("Skipped", ["Test", "Reason"], skipped) + section("Warnings", ["Place", "Warning"], warnings)
    }

    /// Makes a heading with a table, or nothing if the table has no rows.
    ///
    /// - Parameter byteCountMax: The maximum size of the rows in bytes.
    private func section(_ title: String, _ columns: [String], _ rows: [[String]], byteCountMax: Int = 96 << 10)
        -> String
    {
        if rows.isEmpty { return "" }
        func line(_ cells: [String]) -> String { "| \(cells.joined(separator: " | ")) |\n" }
        var byteCount = 0
        let shown = rows.map(line).prefix { row in
            byteCount += row.utf8.count
            return byteCount <= byteCountMax
        }
        let rest = shown.count < rows.count ? "\nand \(rows.count - shown.count) more\n" : ""
        return "\n### \(title): \(rows.count)\n\n\(line(columns))|\(String(repeating: "--|", count: columns.count))\n"
            + shown.joined() + rest
    }

    private func name(of test: PlannedTest) -> String { Self.escaped(test.name) }

    /// Escapes a text for the cell of a table, on one line and with a limited length.
    static func escaped(_ text: String) -> String {
        DiagnosticText.escaped(GitHubAnnotations.cut(text, to: 1000)).replacingScalars { scalar in
            switch scalar {
            case "&": "&amp;"
            case "<": "&lt;"
            case ">": "&gt;"
            // A mention would notify people.
            case "@": "&#64;"
            case "\\", "|", "*", "_", "`", "[", "]", "~", "#", "$": "\\\(scalar)"
            default: nil
            }
        }
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension GitHubSummary: SelfTesting {
    package static var testSelectors: TestSelectors {
        [
            "testSummarizesAnInterruptedRun": testSummarizesAnInterruptedRun,
            "testSummarizesASuccessfulRun": testSummarizesASuccessfulRun,
            "testStaysBelowTheLimit": testStaysBelowTheLimit,
        ] + .each("testEscapesMarkupInCells", cells) { expectEqual(escaped($0), $1) }
    }

    private static func testSummarizesAnInterruptedRun() {
        expectEqual(
            text(of: SampleRun.record, SampleRun.style),
            ##"""
            ## In-class tests failed

            6 tests, 3 passed, 2 failed, 1 skipped, 1 flaky, 1 known issue, 1 failure outside tests, 1 warning; 2 without a result; ended early: Timed out

            ### Failures: 5

            | Test | Place | Issue |
            |--|--|--|
            | Stack.testPush | Sources/Stack.swift:3:9 | got 4 instead of expected 5 for count \# after\\npush |
            | Stack.testPush | Sources/Stack.swift:4:9 | threw "&lt;a &amp; b&gt;" |
            | Stack.testCrash | Sources/Stack.swift:8:9 | crashed with SIGILL: Index out of range |
            | module Stacks | Sources/Stack.swift:1:1 | 6 results for 7 tests |
            | Stack.testHang |  | Timed out |

            ### Flaky: 1

            | Test | Attempts | Issue |
            |--|--|--|
            | Stack.testFlaky | 2 | timed out after 50 ms |

            ### Known issues: 1

            | Test | Reason |
            |--|--|
            | Stack.testKnown | issue \#7 |

            ### Skipped: 2

            | Test | Reason |
            |--|--|
            | Stack.testSkip | no "network" |
            | Stack.testNever | not run: Timed out |

            ### Warnings: 1

            | Place | Warning |
            |--|--|
            | Sources/Stack.swift:12:5 | 'testOld' is in no list |

            """##)
    }

    private static func testSummarizesASuccessfulRun() {
        var record = SampleRun.record(of: [.ended(SampleRun.result("testA", .passed))])
        record.nanoseconds = 3_100_000
        expectEqual(text(of: record, TextStyle()), "## In-class tests passed\n\n1 test, 1 passed (3.10 ms)\n")
    }

    private static func testStaysBelowTheLimit() {
        var issue = SampleRun.issue(.expectation, line: 1, got: String(repeating: "&", count: 1000), expected: "b")
        let failed = SampleRun.result("testA", .failed, [issue])
        issue.knownReason = String(repeating: "&", count: 1000)
        let known = SampleRun.result("testB", .skipped, [issue]) {
            ($0.skipReason, $0.earlierAttempts) = (issue.knownReason, [failed])
        }
        let flaky = SampleRun.result("testC", .passed) { $0.earlierAttempts = [failed] }
        let warning = SourceWarning(place: SourcePlace(path: "/a", line: 1, column: 1), text: issue.knownReason ?? "")
        let events: [RunEvent] = [.ended(failed), .ended(known), .ended(flaky), .warning(warning)]
        let text = text(of: SampleRun.record(of: (0..<120).flatMap { _ in events }), TextStyle())
        expectLessThan(text.utf8.count, byteCountMax)
        expectGreaterThan(text.utf8.count, byteCountMax * 3 / 4, "what fits is shown")
        expectTrue(text.contains("\nand "), "what is left out is counted")
    }

    private static let cells = [
        ("a|b", #"a\|b"#), ("<b>&", "&lt;b&gt;&amp;"), ("`*_[x]~#", ##"\`\*\_\[x\]\~\#"##), ("@all", "&#64;all"),
        ("a\nb", #"a\\nb"#),
    ]
}
#endif
