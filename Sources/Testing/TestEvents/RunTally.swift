// Counts the results of a run. The runner and some reports keep a tally.

/// The counts of a run. At the end of the run, `planned` is the sum of the outcomes.
package struct RunTally: Equatable, Sendable {
    package var planned = 0
    package var passed = 0
    package var failed = 0
    package var skipped = 0
    /// The number of passed tests with a failed earlier attempt.
    package var flaky = 0
    /// The number of tests that did not begin because an earlier test failed or the run was ended.
    package var notRun = 0
    /// The number of issues inside `withKnownIssue`.
    package var knownIssues = 0
    /// The number of issues that don't belong to a test.
    package var moduleIssues = 0
    package var warnings = 0
    /// The number of tests that were not selected.
    package var unselected = 0

    package init() {}

    package var isRed: Bool { failed > 0 || moduleIssues > 0 }

    /// Counts the result of a test, or takes the result back if the factor is -1.
    package mutating func add(_ result: TestResult, _ factor: Int = 1) {
        switch result.outcome {
        case .passed: passed += factor
        case .failed: failed += factor
        case .skipped: skipped += factor
        }
        if result.isFlaky { flaky += factor }
        for issue in result.issues where issue.knownReason != nil { knownIssues += factor }
    }

    /// Fails a test whose result was counted before.
    package mutating func fail(_ result: inout TestResult) {
        add(result, -1)
        result.outcome = .failed
        add(result)
    }

    package static func + (one: Self, other: Self) -> Self {
        var sum = one
        for count in counts { sum[keyPath: count] += other[keyPath: count] }
        return sum
    }

    private static var counts: [WritableKeyPath<RunTally, Int>] {
        [
            \.planned, \.passed, \.failed, \.skipped, \.flaky, \.notRun, \.knownIssues, \.moduleIssues, \.warnings,
            \.unselected,
        ]
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension RunTally: SelfTesting {
    package static var testSelectors: TestSelectors {
        [
            "testAddsUpEachCount": testAddsUpEachCount,
            "testCountsOutcomesAndKnownIssues": testCountsOutcomesAndKnownIssues,
            "testCountsLateFailures": testCountsLateFailures,
        ]
    }

    private static func testAddsUpEachCount() {
        expectEqual(Mirror(reflecting: RunTally()).children.count, counts.count, "counts")
        for (index, count) in counts.enumerated() {
            var (one, other, expected) = (RunTally(), RunTally(), RunTally())
            expectEqual(one[keyPath: count], 0, "count \(index) at first")
            (one[keyPath: count], other[keyPath: count], expected[keyPath: count]) = (3, 4, 7)
            expectEqual(one + other, expected, "count \(index)")
            expectEqual(one.isRed, count == \.failed || count == \.moduleIssues, "count \(index)")
        }
    }

    private static func testCountsLateFailures() {
        var tally = RunTally()
        let test = PlannedTest(typeName: "S", testName: "a", testType: "unit", module: "M")
        var results = [.passed, .passed, .skipped, .failed].map { TestResult(test: test, outcome: $0) }
        results[1].earlierAttempts = [results[3]]
        for index in results.indices {
            tally.add(results[index])
            tally.fail(&results[index])
        }
        expectEqual(results.map(\.outcome), [.failed, .failed, .failed, .failed])
        expectEqual([tally.passed, tally.skipped, tally.flaky, tally.failed], [0, 0, 0, 4])
    }

    private static func testCountsOutcomesAndKnownIssues() {
        let test = PlannedTest(typeName: "S", testName: "a", testType: "unit", module: "M")
        let attempt = TestResult(test: test, outcome: .failed)
        let issue = TestIssue(kind: .expectation, got: "1", expected: "2")
        var known = issue
        known.knownReason = "issue 7"
        let rows: [(TestResult.Outcome, [TestResult], [TestIssue], [WritableKeyPath<RunTally, Int>])] = [
            (.passed, [], [], [\.passed]), (.skipped, [], [], [\.skipped]), (.failed, [], [issue], [\.failed]),
            (.passed, [attempt], [], [\.passed, \.flaky]), (.failed, [attempt], [], [\.failed]),
            (.failed, [], [known, issue, known], [\.failed, \.knownIssues, \.knownIssues]),
        ]
        for (outcome, attempts, issues, counted) in rows {
            var result = TestResult(test: test, outcome: outcome)
            result.earlierAttempts = attempts
            result.issues = issues
            var (tally, expected) = (RunTally(), RunTally())
            tally.add(result)
            for count in counted { expected[keyPath: count] += 1 }
            expectEqual(tally, expected, "\(outcome) with \(issues.count) issues")
        }
    }
}
#endif
