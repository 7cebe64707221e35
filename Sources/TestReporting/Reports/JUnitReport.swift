// A run as JUnit XML, for GitLab, Jenkins and whoever else reads it. This file keeps what was reported and
// decides what each test becomes; JUnitReport+Elements.swift writes it.

import TestEvents

/// A JUnit report of all events so far, valid at every moment.
///
/// One `testsuite` stands for each type, one `testcase` for each planned test, and one more, `outside tests`, for the
/// failures of a module that belong to none. What was planned and has no result is in the report, too: as an error when
/// the test had begun, as skipped with `status="notrun"` when it had not. A test that was run again is written in
/// Surefire's form: `flakyFailure` and `flakyError` before a success; `rerunFailure` and `rerunError` after a failure.
package struct JUnitReport: RunReporter {
    package struct Options: Sendable {
        /// How paths are written; relative to the repository is what readers make links of.
        package var paths = PathStyle()
        /// What readers may want to know of the run, such as its seed; repeated in every suite.
        package var properties: [(name: String, value: String)] = []
        /// When the run began, in ISO 8601; left out when nil.
        package var timestamp: String?
        package var hostname: String?
        /// Leave out times, so that two runs print the same.
        package var isStable = false
        /// How long a report may become before captured output is left out; GitLab refuses more than 30 MB.
        package var byteCountMax = 24 << 20
        /// How much of the lines about one test's issues is written.
        package var issueByteCountMax = 64 << 10

        package init() {}
    }

    let options: Options
    private var rollCall = RollCall()
    private var results: [Int: TestResult] = [:]
    private var moduleIssues: [(module: String, issue: TestIssue)] = []
    private(set) var warnings: [SourceWarning] = []

    package init(options: Options = Options()) { self.options = options }

    @discardableResult
    package mutating func add(_ event: RunEvent) -> [String] {
        let index = rollCall.add(event)
        switch event {
        case .ended(let result):
            if let index { results[index] = result }
        case .failedLate(_, let issue):
            guard let index else { break }
            results[index]?.outcome = .failed
            results[index]?.issues.append(issue)
        case .moduleIssue(let module, let issue): moduleIssues.append((module, issue))
        case .warning(let warning): warnings.append(warning)
        case .planned, .began: break
        }
        return []
    }

    package func closingText(_ end: RunEnd) -> String { xml(of: suites(end)) }
}

// MARK: - What each test becomes

extension JUnitReport {
    enum Verdict: Equatable {
        case passed
        /// An element of this name with the issues of an attempt.
        case failure, error
        case skipped(reason: String, isRun: Bool)
        /// An error that no issue tells of.
        case aborted(reason: String)
    }

    struct Case {
        var name: String
        var verdict: Verdict
        /// The attempt whose issues and output stand for the test, if it was run.
        var attempt: TestAttempt?
        /// Failed attempts beside that one.
        var otherAttempts: [TestAttempt] = []
        var test: PlannedTest?

        var nanoseconds: Int { attempt?.nanoseconds ?? 0 }
    }

    struct Suite {
        var name: String
        var cases: [Case] = []
        fileprivate var names: Set<String> = []

        var nanoseconds: Int { cases.reduce(0) { $0 + $1.nanoseconds } }
        var failureCount: Int { cases.reduce(0) { $0 + ($1.verdict == .failure ? 1 : 0) } }
        var skippedCount: Int {
            cases.reduce(0) { count, test in if case .skipped = test.verdict { count + 1 } else { count } }
        }
        var errorCount: Int {
            cases.reduce(0) { count, test in
                switch test.verdict {
                case .error, .aborted: count + 1
                default: count
                }
            }
        }

        init(name: String) { self.name = name }

        /// Adds a case under a name that no other has, because GitLab keeps only one of each name.
        fileprivate mutating func add(_ added: Case) {
            var added = added
            added.name = XMLText.allowed(added.name)
            if !names.insert(added.name).inserted {
                let base = XMLText.allowed("\(added.name) (\(added.test?.testType ?? "again"))")
                var number = 1
                repeat {
                    added.name = number == 1 ? base : "\(base) \(number)"
                    number += 1
                } while !names.insert(added.name).inserted
            }
            cases.append(added)
        }
    }

    private func suites(_ end: RunEnd) -> [Suite] {
        var suites: [Suite] = []
        var indices: [String: Int] = [:]
        func suiteIndex(_ anyName: String) -> Int {
            let name = XMLText.allowed(anyName)
            if let index = indices[name] { return index }
            indices[name] = suites.count
            suites.append(Suite(name: name))
            return suites.count - 1
        }
        for (index, entry) in rollCall.entries.enumerated() {
            let test = entry.test
            let suite = suiteIndex(test.module.isEmpty ? test.typeName : "\(test.module).\(test.typeName)")
            suites[suite].add(Self.testCase(for: entry, results[index], end))
        }
        var modules: [String] = []
        for (module, _) in moduleIssues where !modules.contains(module) { modules.append(module) }
        for module in modules {
            var attempt = TestAttempt(outcome: .failed)
            attempt.issues = moduleIssues.filter { $0.module == module }.map(\.issue)
            suites[suiteIndex(module.isEmpty ? "testlogger" : module)]
                .add(Case(name: "outside tests", verdict: .error, attempt: attempt))
        }
        return suites
    }

    private static func testCase(for entry: RollCall.Entry, _ result: TestResult?, _ end: RunEnd) -> Case {
        var made = Case(name: entry.test.testName, verdict: .passed, test: entry.test)
        guard let result else {
            made.verdict =
                entry.state == .waiting
                ? .skipped(reason: end.reasonForWaiting, isRun: false) : .aborted(reason: end.reasonForRunning)
            return made
        }
        let failed = (result.earlierAttempts + [result.lastAttempt]).filter { $0.outcome == .failed }
        switch result.outcome {
        case .failed:
            // Surefire's order: the first failure is the test's, the others are reruns.
            made.attempt = failed.first
            made.otherAttempts = Array(failed.dropFirst())
            made.verdict = verdict(for: made.attempt)
        case .skipped:
            made.attempt = result.lastAttempt
            made.verdict = .skipped(reason: result.skipReason ?? "", isRun: true)
        case .passed:
            made.attempt = result.lastAttempt
            made.otherAttempts = failed
        }
        return made
    }

    /// A failure is an expectation that was not met; anything else is an error.
    static func verdict(for attempt: TestAttempt?) -> Verdict {
        guard let worst = attempt?.issues.failures.worst else { return .aborted(reason: "failed without an issue") }
        return worst.kind == .expectation ? .failure : .error
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension JUnitReport: SelfTesting {
    package static var testSelectors: TestSelectors {
        [
            "testNamesAreUniqueWithinASuite": testNamesAreUniqueWithinASuite,
            "testFirstFailureStandsForATestThatWasRunAgain": testFirstFailureStandsForATestThatWasRunAgain,
            "testCountsAddUpAtEveryMoment": testCountsAddUpAtEveryMoment,
        ]
    }

    private static func testNamesAreUniqueWithinASuite() {
        var report = JUnitReport()
        let tests = ["unit", "unit", "slow", "unit"].map { SampleRun.test("testA", list: $0) }
        report.add(.planned(module: "M", tests: tests + [SampleRun.test("testA", type: "Other")]))
        let suites = report.suites(RunEnd())
        expectEqual(suites.map(\.name), ["Stacks.Stack", "Stacks.Other"])
        expectEqual(
            suites.first?.cases.map(\.name) ?? [], ["testA", "testA (unit)", "testA (slow)", "testA (unit) 2"])
    }

    private static func testFirstFailureStandsForATestThatWasRunAgain() {
        let kinds: [TestIssue.Kind] = [.expectation, .crash]
        var attempts = kinds.map { kind in
            var attempt = TestAttempt(outcome: .failed)
            attempt.issues = [SampleRun.issue(kind, line: 1, got: "a", expected: "b")]
            return attempt
        }
        attempts.insert(TestAttempt(outcome: .passed), at: 0)
        var result = SampleRun.result("testA", .failed, [SampleRun.issue(.timeout, line: 2, got: "c", expected: "d")])
        result.earlierAttempts = attempts
        var report = JUnitReport()
        report.add(.ended(result))
        let made = report.suites(RunEnd()).first?.cases.first
        expectEqual(made?.verdict, .failure)
        expectEqual(made?.otherAttempts.map { $0.issues.first?.kind }, [.crash, .timeout])
    }

    private static func testCountsAddUpAtEveryMoment() {
        var report = JUnitReport()
        for event in SampleRun.events {
            report.add(event)
            for suite in report.suites(RunEnd(earlyReason: "Timed out")) {
                let passed = suite.cases.filter { $0.verdict == .passed }.count
                expectEqual(passed + suite.failureCount + suite.errorCount + suite.skippedCount, suite.cases.count)
            }
        }
    }
}
#endif
