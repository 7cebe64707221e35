// The one line that says what a run came to.

/// The counts of a run, as people and CI read them.
package struct SummaryText: Equatable, Sendable {
    package var passed: Int
    package var failed: Int
    package var skipped: Int
    /// Those of the passed that failed at first.
    package var flaky = 0
    package var notRun: Int
    package var knownIssues: Int
    package var moduleIssues: Int
    package var warnings: Int
    package var nanoseconds: Int

    package init(
        passed: Int, failed: Int, skipped: Int, flaky: Int = 0, notRun: Int, knownIssues: Int, moduleIssues: Int,
        warnings: Int,
        nanoseconds: Int
    ) {
        self.passed = passed
        self.failed = failed
        self.skipped = skipped
        self.flaky = flaky
        self.notRun = notRun
        self.knownIssues = knownIssues
        self.moduleIssues = moduleIssues
        self.warnings = warnings
        self.nanoseconds = nanoseconds
    }

    /// `12 tests, 11 passed, 1 failed, 2 known issues (3.10 ms)`: what is zero and no news is left out.
    ///
    /// - Parameter isStable: leave out the time.
    package func line(isStable: Bool) -> String {
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

extension SummaryText: SelfTesting {
    package static var testSelectors: TestSelectors {
        [
            "testLeavesOutWhatIsNoNews": testLeavesOutWhatIsNoNews
        ]
    }

    private static func testLeavesOutWhatIsNoNews() {
        var summary = SummaryText(
            passed: 1, failed: 0, skipped: 0, notRun: 0, knownIssues: 0, moduleIssues: 0, warnings: 0,
            nanoseconds: 3_100_000)
        expectEqual(summary.line(isStable: false), "1 test, 1 passed (3.10 ms)")
        summary.failed = 2
        summary.skipped = 1
        summary.flaky = 1
        summary.knownIssues = 1
        summary.moduleIssues = 2
        summary.warnings = 3
        expectEqual(
            summary.line(isStable: true),
            "4 tests, 1 passed, 2 failed, 1 skipped, 1 flaky, 1 known issue, 2 failures outside tests, 3 warnings")
    }
}
#endif
