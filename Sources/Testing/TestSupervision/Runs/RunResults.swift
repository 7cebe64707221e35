// Collects the results of a run, orders and counts them, and stores the record of the run. All events of a run are
// reported here. TestRun decides which results are final.

import TestEvents

final class RunResults {
    let options: RunOptions
    let locator: IssueLocator
    private let directories: DirectoryKeeper
    private let report: (RunEvent) -> Void
    /// The module's tests, after a worker has announced them.
    private(set) var plan: [PlannedTest] = []
    /// The selected tests, in the order of the plan.
    private var order: [Int] = []
    /// The number of tests in `order` whose results have been reported.
    private var reportedCount = 0
    /// The results that wait for the results of earlier tests, by index.
    private var waiting: [Int: TestResult] = [:]

    private(set) var tally = RunTally()
    /// The literals and goldens that `--accept` may replace.
    private(set) var fixes: [LiteralFix] = []
    /// The failed comparisons whose values can't be accepted.
    private(set) var unaccepted: [UnacceptedValue] = []
    /// The places of passed expectations, and the golden files that matched.
    var met: Set<String> = []
    /// For each test of the plan, a Boolean value that indicates whether it has run.
    private(set) var done: [Bool] = []
    private var failedNames: Set<String> = []
    /// The results of all tests, except those that simply passed.
    private var counted: [PlannedTest: TestResult] = [:]
    /// The times of slow tests in nanoseconds, by name.
    private var slowTimes: [String: Int] = [:]

    /// Prepares for the results of a module's tests.
    ///
    /// - Parameter report: receives each event as it happens.
    init(
        _ options: RunOptions, _ locator: IssueLocator, _ directories: DirectoryKeeper,
        report: @escaping (RunEvent) -> Void
    ) {
        self.options = options
        self.locator = locator
        self.directories = directories
        self.report = report
    }

    var hasFailures: Bool { !failedNames.isEmpty }

    /// Stores the plan, and reports the selected tests.
    func takePlan(_ plan: [PlannedTest], chosen: [Int]) {
        self.plan = plan
        order = chosen
        done = Array(repeating: false, count: plan.count)
        tally.planned = chosen.count
        tally.unselected = plan.count - chosen.count
        let tests = chosen.count == plan.count ? plan : chosen.map { plan[$0] }
        report(.planned(module: locator.module.module, tests: tests))
    }

    /// Fails the duplicates among the selected tests.
    ///
    /// - Returns: The other selected tests.
    func takeDuplicates(among chosen: [Int]) -> [Int] {
        let duplicates = ListCheck.duplicates(in: plan)
        if duplicates.isEmpty { return chosen }
        for index in chosen where duplicates.contains(index) {
            let result = ListCheck.duplicate(plan[index], in: locator.sources.scan)
            add(completed(result, index, nil), index)
        }
        return chosen.filter { !duplicates.contains($0) }
    }

    /// Reports the start of a test.
    func takeBeginning(_ index: Int) {
        // In stable output, the starts have the order of the results.
        if !options.reportsOnlyNews, !options.isStable { report(.began(plan[index])) }
    }

    /// Records the end of a test that has passed at its first attempt without issues.
    func takePass(_ index: Int, _ nanoseconds: Int) {
        if options.reportsOnlyNews, nanoseconds < LastRun.slowTime, waiting.isEmpty, isNext(index) {
            done[index] = true
            reportedCount += 1
            tally.passed += 1
            return
        }
        var result = TestResult(test: plan[index], outcome: .passed)
        result.nanoseconds = nanoseconds
        add(completed(result, index, nil), index)
    }

    /// Adds the places of issues and the kept files to the result of an attempt.
    ///
    /// - Parameter directory: the test's temporary directory, if it still exists.
    func completed(_ result: TestResult, _ index: Int, _ directory: String?) -> TestResult {
        var result = result
        if result.nanoseconds >= LastRun.slowTime { slowTimes[result.test.name] = result.nanoseconds }
        done[index] = true
        keepFiles(of: &result, directory)
        let seed = options.shuffleSeed.map { "the order was shuffled with seed \($0)" }
        for index in result.issues.indices {
            let issue = locator.located(result.issues[index], test: result.test)
            let notes = [locator.noteOnMainFile(issue, of: result.test), seed].compactMap(\.self)
            result.issues[index] = issue
            result.issues[index].notes += notes.filter { !issue.notes.contains($0) }
        }
        return result
    }

    /// Keeps the files of a failed test, and adds their paths to the notes of its last failure.
    private func keepFiles(of result: inout TestResult, _ directory: String?) {
        let attached = result.attachments
        result.attachments = []
        guard result.outcome == .failed, let directory, let place = directories.keep(directory),
            let last = result.issues.lastIndex(where: { $0.knownReason == nil })
        else { return }
        for path in attached where FileAccess.exists(path) {
            let text = options.isStable ? FileAccess.name(of: path) : path
            result.issues[last].notes.append("attached: \(text)")
            result.attachments.append(text)
        }
        result.issues[last].notes.append(
            options.isStable ? "its temporary directory is kept" : "its temporary directory is kept: \(place)")
    }

    private func isNext(_ index: Int) -> Bool { reportedCount < order.count && order[reportedCount] == index }

    /// Adds the final result of a test, and reports all results that don't wait for an earlier result.
    func add(_ result: TestResult, _ index: Int) {
        if result.outcome == .failed { failedNames.insert(result.test.name) }
        var result = result
        for issue in result.issues.indices {
            result.issues[issue].fixIt = fixIt(for: result.issues[issue], of: result.test)
            result.issues[issue].texts = nil
        }
        waiting[index] = result
        while reportedCount < order.count, let next = waiting.removeValue(forKey: order[reportedCount]) {
            count(next)
            reportedCount += 1
        }
    }

    /// Reports the waiting results, and counts the tests without a result. Only a run that was stopped has such tests.
    func finish(isStopped: Bool) {
        tally.notRun += order.count - reportedCount - waiting.count
        for index in order[reportedCount...] {
            if let result = waiting.removeValue(forKey: index) { count(result) }
        }
        reportedCount = order.count
        let resultCount = tally.passed + tally.failed + tally.skipped
        if resultCount + tally.notRun != tally.planned || tally.notRun > 0 && !isStopped {
            reportModuleIssue(
                TestIssue(kind: .list, got: "\(resultCount) results", expected: "\(tally.planned), one for each test"))
        }
    }

    /// Returns a fix-it that replaces the expected literal with the actual value, if the source hasn't changed since it
    /// was compiled.
    private func fixIt(for issue: TestIssue, of test: PlannedTest) -> SourceFixIt? {
        if let fix = LiteralFix(forGoldenOf: issue) {
            fixes.append(fix)
            return nil
        }
        let sources = locator.sources
        let isAsCompiled = sources.isAsCompiled(issue.place.path)
        let file = isAsCompiled || options.isAccepting ? sources.file(at: issue.place.path) : nil
        do throws(UnacceptedValue) {
            let fix = try LiteralFix.find(
                for: issue, in: file, isAsCompiled: isAsCompiled, row: sources.scan.row(of: test))
            guard let fix else { return nil }
            fixes.append(fix)
            return SourceFixIt(start: fix.start, end: fix.end, text: fix.replacement)
        } catch {
            if options.isAccepting { unaccepted.append(error) }
            return nil
        }
    }

    /// Counts a result and reports it.
    private func count(_ result: TestResult) {
        tally.add(result)
        if !result.isPlainPass { counted[result.test] = result }
        if options.reportsOnlyNews, result.isPlainPass, options.slowMilliseconds == 0 { return }
        // A duplicate entry has not begun.
        if options.isStable, !result.issues.contains(where: { $0.kind == .list }) { report(.began(result.test)) }
        report(.ended(result))
        if options.isSlow(nanoseconds: result.nanoseconds) { warnSlow(result) }
    }

    private func warnSlow(_ result: TestResult) {
        let place = locator.sources.scan.place(of: result.test) ?? locator.fallbackPlace
        let milliseconds = result.nanoseconds / 1_000_000
        warn(
            SourceWarning(
                place: place,
                text: "\(result.test.name) took \(milliseconds) ms, more than \(options.slowMilliseconds) ms"
            ))
    }

    /// Records an issue of a test that has ended. The test has failed.
    ///
    /// - Parameters:
    ///   - index: the test, or nil if it is unknown.
    ///   - running: the test that was running.
    func take(_ issue: TestIssue, of index: Int?, running: Int?) {
        guard let index, done[index] else {
            let other = running.map { "\(plan[$0].name) was running" } ?? "no test was running"
            var issue = issue
            issue.notes.append(
                "recorded by a detached task, a thread or a child process; the test is unknown; \(other)")
            if let running { failedNames.insert(plan[running].name) }
            return reportModuleIssue(issue)
        }
        let test = plan[index]
        let issue = noted(issue, afterTest: test)
        failedNames.insert(test.name)
        if waiting[index] != nil {
            waiting[index]?.outcome = .failed
            waiting[index]?.issues.append(issue)
            return
        }
        tally.fail(&counted[test, default: TestResult(test: test, outcome: .passed)])
        report(.failedLate(test, issue))
    }

    /// Returns an issue that was recorded after its test, with a place and a note.
    func noted(_ issue: TestIssue, afterTest test: PlannedTest) -> TestIssue {
        var issue = locator.located(issue, test: test)
        issue.notes.append("recorded after \(test.name) ended")
        return issue
    }

    func reportModuleIssue(_ issue: TestIssue) {
        tally.moduleIssues += 1
        report(.moduleIssue(module: locator.module.module, locator.located(issue, test: nil)))
    }

    func warn(_ warning: SourceWarning) {
        tally.warnings += 1
        report(.warning(warning))
    }

    /// Stores the record of this run.
    func remember(after earlier: LastRun) {
        var lastRun = earlier
        // A failed test that is no longer listed has not passed. Only a run of all tests forgets them.
        if !lastRun.failed.isEmpty, options.choice.isOfAll, tally.notRun == 0 {
            lastRun.failed.formIntersection(plan.map(\.name))
        }
        let isOfAll = tally.unselected + tally.notRun == 0
        let unfinished =
            isOfAll || lastRun.changed.isEmpty
            ? [] : plan.indices.filter { !done[$0] && plan[$0].testType == "unit" }
        lastRun.update(
            failed: failedNames, times: slowTimes,
            ran: isOfAll ? nil : Set(plan.indices.filter { done[$0] }.map { plan[$0].name }),
            unfinished: Set(unfinished.compactMap { locator.sources.scan.place(of: plan[$0])?.path }))
        // The run hasn't tested the changes since the build.
        lastRun.changed.formUnion(locator.module.ownSourcesNewerThanBuild)
        lastRun.keptDirectories = (options.isRepetition ? earlier.keptDirectories : []) + directories.kept
        lastRun.store(for: locator.module)
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
internal import InClassSystem
import InClassTesting

extension RunResults: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testReportsInTheOrderOfThePlan": testReportsInTheOrderOfThePlan,
            "testCountsMissingResults": testCountsMissingResults,
            "testNotesNameKeptDirectories": testNotesNameKeptDirectories,
            "testOffersGoldensOfTheLastAttempt": testOffersGoldensOfTheLastAttempt,
            "testOmitsPassedTestsOnRequest": testOmitsPassedTestsOnRequest,
            "testReportsWrongTotals": testReportsWrongTotals,
            "testLateFailuresFailTheirTest": testLateFailuresFailTheirTest,
        ]
    }

    /// The reported events, as `outcome name attempts`.
    private final class Reported {
        var lines: [String] = []
        var results: [TestResult] = []

        func add(_ event: RunEvent) {
            switch event {
            case .ended(let result):
                results.append(result)
                lines.append("\(result.outcome.rawValue) \(result.test.testName) \(result.earlierAttempts.count + 1)")
            case .failedLate(let test, let issue): lines.append("late \(test.testName) \(issue.got)\(issue.message)")
            case .moduleIssue(_, let issue): lines.append("got \(issue.got)\(issue.message)")
            default: break
            }
        }
    }

    private static func make(
        _ names: [String], _ options: RunOptions = RunOptions(), root: DirectoryKeeper = DirectoryKeeper()
    ) -> (RunResults, Reported) {
        let plan = names.map { PlannedTest(typeName: "T", testName: $0, testType: "unit", module: "M") }
        let reported = Reported()
        let module = ModuleDescription()
        let results = RunResults(
            options, IssueLocator(module: module, sources: TestedSources(of: module)), root, report: reported.add)
        results.takePlan(plan, chosen: Array(plan.indices))
        return (results, reported)
    }

    private static func failure(_ results: RunResults, _ index: Int, got: String = "1") -> TestResult {
        var result = TestResult(test: results.plan[index], outcome: .failed)
        result.issues = [TestIssue(kind: .expectation, path: "/s", line: 1, column: 1, got: got, expected: "2")]
        return result
    }

    private static func testReportsInTheOrderOfThePlan() {
        var generator = SeededGenerator(seed: 7)
        let names = ["d", "b", "e", "p", "j", "c", "g"]
        for round in 0..<20 {
            let (results, reported) = make(names)
            for index in names.indices.shuffled(using: &generator) {
                if index == round % 7 {
                    results.add(failure(results, index), index)
                } else {
                    results.takePass(index, 5)
                }
            }
            let expected = names.enumerated().map { "\($0.offset == round % 7 ? "failed" : "passed") \($0.element) 1" }
            expectEqual(reported.lines, expected)
            results.finish(isStopped: true)
            expectEqual(reported.lines.count, names.count, "results that were reported twice")
        }
    }

    private static func testCountsMissingResults() {
        let (results, reported) = make(["a", "b", "c", "d"])
        results.takePass(2, 5)
        results.takePass(0, 5)
        expectEqual(reported.lines, ["passed a 1"])
        results.finish(isStopped: true)
        expectEqual(reported.lines, ["passed a 1", "passed c 1"])
        expectEqual(results.tally.notRun, 2)
        let (incomplete, reports) = make(["a", "b"])
        incomplete.takePass(1, 5)
        incomplete.finish(isStopped: false)
        expectEqual(reports.lines, ["passed b 1", "got 1 results"])
    }

    private static func testOffersGoldensOfTheLastAttempt() {
        let (results, reported) = make(["a"])
        for got in ["first", "second", "third"] {
            var result = failure(results, 0, got: got)
            result.issues[0].texts = TestIssue.ComparedTexts(golden: "/g.txt", got: got, expected: "")
            let attempt = results.completed(result, 0, nil)
            if got == "third" { results.add(attempt, 0) }
        }
        expectEqual(results.fixes.map(\.replacement), ["third"])
        expectEqual(results.fixes.map(\.path), ["/g.txt"])
        expectNil(reported.results[0].issues[0].fixIt, "what an editor writes into a source")
        expectNil(reported.results[0].issues[0].texts, "what nobody reads any more")
    }

    private static func testNotesNameKeptDirectories() throws {
        let root = DirectoryKeeper()
        defer { DirectoryKeeper.remove(root.kept) }
        for path in [root.root, "\(root.root)/T.a", "\(root.root)/T.a/full", "\(root.root)/T.b"] {
            mkdir(path, 0o700)
        }
        let (results, reported) = make(["a", "b"], root: root)
        results.add(results.completed(failure(results, 0), 0, "\(root.root)/T.a"), 0)
        results.add(results.completed(failure(results, 1), 1, "\(root.root)/T.b"), 1)
        let place = try requireNotNil(root.kept.first)
        expectEqual(
            reported.results.map { $0.issues[0].notes }, [["its temporary directory is kept: \(place)"], []])
    }

    private static func testOmitsPassedTestsOnRequest() {
        var options = RunOptions()
        options.reportsOnlyNews = true
        let (results, reported) = make(["a", "b", "c"], options)
        results.takePass(0, 5)
        results.takePass(2, 5)
        results.add(failure(results, 1), 1)
        expectEqual(reported.lines, ["failed b 1"])
        expectEqual(results.tally.passed, 2)
    }

    private static func testLateFailuresFailTheirTest() {
        let (results, reported) = make(["a", "b", "c", "d"])
        results.takePass(0, 5)
        func take(_ got: String, of index: Int?, running: Int? = nil) {
            results.take(failure(results, 0, got: got).issues[0], of: index, running: running)
        }
        take("first", of: 0)
        take("second", of: 0)
        expectEqual(reported.lines, ["passed a 1", "late a first", "late a second"])
        results.takePass(2, 5)
        take("waiting", of: 2)
        results.takePass(1, 5)
        expectEqual(reported.lines.suffix(2), ["passed b 1", "failed c 1"])
        take("unknown", of: nil, running: 3)
        take("not begun", of: 3)
        expectEqual(reported.lines.suffix(2), ["got unknown", "got not begun"])
        expectEqual(results.tally.passed, 1)
        expectEqual(results.tally.failed, 2)
    }

    private static func testReportsWrongTotals() {
        let (results, reported) = make(["a", "b"])
        // One test has two results, and the other has none.
        for _ in 0..<2 { results.takePass(0, 5) }
        results.finish(isStopped: true)
        expectEqual(reported.lines, ["passed a 1", "got 1 results"])
        expectEqual(results.tally.moduleIssues, 1)
    }
}
#endif
