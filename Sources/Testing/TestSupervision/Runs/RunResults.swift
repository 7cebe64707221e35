// The results of a run's tests: which are final and which an attempt that is followed by another, in what order they are
// passed on, what they add up to, and what is remembered of them. Everything that a run reports is reported here; nothing
// here asks back.

import TestEvents

final class RunResults {
    let options: RunOptions
    let locator: IssueLocator
    private let directories: DirectoryKeeper
    private let report: (RunEvent) -> Void
    /// The module's tests, once a worker has announced them.
    private(set) var plan: [PlannedTest] = []
    private var order = Resequencer([])
    /// The failed attempts at tests that have no result yet, by index.
    private var attempts: [Int: [TestResult]] = [:]

    private(set) var tally = RunTally()
    /// The literals and goldens that `--accept` may replace.
    private(set) var fixes: [LiteralFix] = []
    /// The failed comparisons that are not among them.
    private(set) var unaccepted: [UnacceptedValue] = []
    /// The places of expectations, and the golden files, that some test has met.
    var met: Set<String> = []
    /// Which tests have run, by index.
    private(set) var done: [Bool] = []
    private var failedNames: Set<String> = []
    /// The tests whose results say more than that they passed.
    private var counted: [PlannedTest: (outcome: TestResult.Outcome, isFlaky: Bool)] = [:]
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

    /// Takes the plan, and reports which of its tests are to have results.
    func takePlan(_ plan: [PlannedTest], chosen: [Int]) {
        self.plan = plan
        order = Resequencer(chosen)
        done = Array(repeating: false, count: plan.count)
        tally.planned = chosen.count
        tally.unselected = plan.count - chosen.count
        let tests = chosen.count == plan.count ? plan : chosen.map { plan[$0] }
        report(.planned(module: locator.module.module, tests: tests))
    }

    /// Gives the duplicates among the chosen tests their results.
    ///
    /// - Returns: the others, which are to run.
    func takeDuplicates(among chosen: [Int]) -> [Int] {
        let duplicates = DuplicateEntries.indices(in: plan)
        if duplicates.isEmpty { return chosen }
        for index in chosen where duplicates.contains(index) {
            passOn(DuplicateEntries.result(of: plan[index], sources: locator.sources.scan), index)
        }
        return chosen.filter { !duplicates.contains($0) }
    }

    /// Takes the beginning of a test.
    func takeBeginning(_ index: Int) {
        // Output that is to be compared tells of beginnings in the order of results.
        if !options.reportsOnlyNews, !options.isStable { report(.began(plan[index])) }
    }

    /// Takes the end of a test that has passed with nothing to say of it.
    func takePass(_ index: Int, _ nanoseconds: Int) {
        if options.reportsOnlyNews, nanoseconds < LastRun.slowTime, attempts.isEmpty, order.skip(index) {
            done[index] = true
            tally.passed += 1
            return
        }
        var result = TestResult(test: plan[index], outcome: .passed)
        result.nanoseconds = nanoseconds
        if nanoseconds >= LastRun.slowTime { slowTimes[result.test.name] = nanoseconds }
        done[index] = true
        if !attempts.isEmpty { result.earlierAttempts = takeAttempts(index) }
        order.add(result, index, passOn: count)
    }

    /// Takes the end of a test, and passes its result on unless the test is to run again.
    ///
    /// - Parameters:
    ///   - directory: the test's temporary directory, if it is still there.
    ///   - isFinal: whether the test is not to run again in any case.
    /// - Returns: whether the test is to run again.
    func take(_ result: TestResult, _ index: Int, _ directory: String?, isFinal: Bool) -> Bool {
        var result = result
        if result.nanoseconds >= LastRun.slowTime { slowTimes[result.test.name] = result.nanoseconds }
        done[index] = true
        keepFiles(of: &result, directory)
        if result.outcome == .failed, !isFinal, attempts[index, default: []].count < options.retryCount {
            attempts[index, default: []].append(placed(result))
            return true
        }
        result.earlierAttempts = takeAttempts(index)
        passOn(result, index)
        return false
    }

    /// Has the files of a failed test stay, and says with its last failure where they are.
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

    private func takeAttempts(_ index: Int) -> [TestResult] {
        attempts.removeValue(forKey: index) ?? []
    }

    /// A Boolean value that indicates whether some test has failed and is to run again.
    var hasOpenAttempts: Bool { !attempts.isEmpty }

    /// Lets the last attempt stand for each test that will not run again after all.
    ///
    /// - Parameter running: those that do run again.
    func giveUpAttempts(but running: [Int]) {
        for index in attempts.keys.sorted() where !running.contains(index) {
            guard var result = attempts[index]?.popLast() else { continue }
            result.earlierAttempts = takeAttempts(index)
            passOn(result, index)
        }
    }

    /// Passes on what still waits, and counts the tests that will have no result.
    func finish() { tally.notRun += order.finish(passOn: count) }

    /// Passes a result on, in the order of the plan.
    private func passOn(_ result: TestResult, _ index: Int) {
        if result.outcome == .failed {
            failedNames.insert(result.test.name)
        }
        var placed = placed(result)
        for issue in placed.issues.indices {
            placed.issues[issue].fixIt = fixIt(for: placed.issues[issue], of: placed.test)
            placed.issues[issue].texts = nil
        }
        order.add(placed, index, passOn: count)
    }

    /// Gives every issue of a result its place, and what repeats it.
    private func placed(_ result: TestResult) -> TestResult {
        var placed = result
        let seed = options.shuffleSeed.map { "the order was shuffled with seed \($0)" }
        for index in placed.issues.indices {
            placed.issues[index] = locator.located(result.issues[index], test: result.test)
            for case let note? in [locator.noteOnMainFile(placed.issues[index], of: result.test), seed]
            where !placed.issues[index].notes.contains(note) {
                placed.issues[index].notes.append(note)
            }
        }
        return placed
    }

    /// Offers what was got in place of the literal that was expected, while the source is still what was compiled.
    private func fixIt(for issue: TestIssue, of test: PlannedTest) -> SourceFixIt? {
        if let fix = LiteralFix(forGoldenOf: issue) {
            fixes.append(fix)
            return nil
        }
        let isAsCompiled = locator.sources.isAsCompiled(issue.path)
        let file = isAsCompiled || options.isAccepting ? locator.sources.file(at: issue.path) : nil
        let fix =
            isAsCompiled
            ? LiteralFix(for: issue, in: file)
                ?? LiteralFix(for: issue, inRowOf: test, in: file, sources: locator.sources.scan) : nil
        guard let fix else {
            guard options.isAccepting, let value = UnacceptedValue(of: issue, in: file, isAsCompiled: isAsCompiled)
            else {
                return nil
            }
            unaccepted.append(value)
            return nil
        }
        fixes.append(fix)
        return SourceFixIt(start: fix.start, end: fix.end, text: fix.replacement)
    }

    /// Counts a result and reports it.
    private func count(_ result: TestResult) {
        tally.add(result)
        if !result.isPlainPass { counted[result.test] = (result.outcome, result.isFlaky) }
        if options.reportsOnlyNews, result.isPlainPass, options.slowMilliseconds == 0 { return }
        // A second entry of one name has never begun.
        if options.isStable, !result.issues.contains(where: { $0.kind == .list }) { report(.began(result.test)) }
        report(.ended(result))
        if options.isSlow(nanoseconds: result.nanoseconds) { warnSlow(result) }
    }

    private func warnSlow(_ result: TestResult) {
        let place = locator.sources.scan.place(of: result.test) ?? locator.fallbackPlace
        let milliseconds = result.nanoseconds / 1_000_000
        warn(
            SourceWarning(
                place: place, text: "\(result.test.name) took \(milliseconds) ms, more than \(options.slowMilliseconds)"
            ))
    }

    /// Takes an issue of a test that isn't running; that test has failed.
    ///
    /// - Parameters:
    ///   - index: the test, or nil if it is unknown.
    ///   - running: the test that was running.
    func take(_ issue: TestIssue, of index: Int?, running: Int?) {
        var issue = issue
        guard let index, done[index] else {
            let other = running.map { "\(plan[$0].name) was running" } ?? "no test was running"
            issue.notes.append("recorded by a detached task, thread or child process of an unknown test; \(other)")
            if let running { failedNames.insert(plan[running].name) }
            return reportModuleIssue(issue)
        }
        let test = plan[index]
        issue = locator.located(issue, test: test)
        issue.notes.append("recorded after \(test.name) had ended")
        if let last = attempts[index]?.indices.last {
            attempts[index]?[last].issues.append(issue)
            return
        }
        failedNames.insert(test.name)
        if order.add(issue, to: index) { return }
        let (outcome, isFlaky) = counted[test] ?? (.passed, false)
        tally.fail(after: outcome, isFlaky: isFlaky)
        counted[test] = (.failed, false)
        report(.failedLate(test, issue))
    }

    func reportModuleIssue(_ issue: TestIssue) {
        tally.moduleIssues += 1
        report(.moduleIssue(module: locator.module.module, locator.located(issue, test: nil)))
    }

    func warn(_ warning: SourceWarning) {
        tally.warnings += 1
        report(.warning(warning))
    }

    /// Puts what the run has shown in place of what is remembered of the module.
    func remember(after earlier: LastRun) {
        var lastRun = earlier
        // A failure that is in no list any more has not passed: only a run of all may forget it.
        if !lastRun.failed.isEmpty, options.choice.isOfAll, tally.notRun == 0 {
            lastRun.failed.formIntersection(plan.map(\.name))
        }
        lazy var waiting = Set(
            plan.indices.filter { !done[$0] && plan[$0].testType == "unit" }
                .compactMap { locator.sources.scan.place(of: plan[$0])?.path })
        lastRun.update(
            failed: failedNames, times: slowTimes, isOfAll: tally.unselected + tally.notRun == 0,
            ran: { Set(plan.indices.filter { done[$0] }.map { plan[$0].name }) }, isDone: { !waiting.contains($0) })
        // What has run is what was built: of what was written since then, nothing has.
        lastRun.changed.formUnion(locator.module.ownSourcesNewerThanBuild)
        lastRun.keptDirectories = (options.isRepetition ? earlier.keptDirectories : []) + directories.kept
        lastRun.store(for: locator.module)
    }

    /// What the run came to; a sum that is wrong is reported.
    func checkedTally() -> RunTally {
        let sum = tally.passed + tally.failed + tally.skipped + tally.notRun
        if sum != tally.planned {
            reportModuleIssue(
                TestIssue(kind: .list, got: "\(sum) results", expected: "\(tally.planned), one for each test"))
        }
        return tally
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
internal import InClassSystem
import InClassTesting

extension RunResults: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testAPassAfterAFailureIsFlaky": testAPassAfterAFailureIsFlaky,
            "testTheLastAttemptDecides": testTheLastAttemptDecides,
            "testAttemptsThatAreGivenUpCount": testAttemptsThatAreGivenUpCount,
            "testNamesTheDirectoryThatStays": testNamesTheDirectoryThatStays,
            "testOffersGoldensOfTheLastAttempt": testOffersGoldensOfTheLastAttempt,
            "testOnlyNewsIsReported": testOnlyNewsIsReported,
            "testSumsThatAreWrongAreReported": testSumsThatAreWrongAreReported,
            "testLateFailuresFailTheirTest": testLateFailuresFailTheirTest,
        ]
    }

    /// What has been reported, as `outcome name attempts`.
    private final class Reported {
        var lines: [String] = []
        var results: [TestResult] = []

        func add(_ event: RunEvent) {
            switch event {
            case .ended(let result):
                results.append(result)
                lines.append("\(result.outcome.rawValue) \(result.test.testName) \(result.earlierAttempts.count + 1)")
            case .failedLate(let test, let issue): lines.append("late \(test.testName) \(issue.got)")
            case .moduleIssue(_, let issue): lines.append("got \(issue.got)")
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

    private static var twoRetries: RunOptions {
        var options = RunOptions()
        options.retryCount = 2
        return options
    }

    private static func testAPassAfterAFailureIsFlaky() {
        let (results, reported) = make(["a", "b"], twoRetries)
        expectTrue(results.take(failure(results, 0), 0, nil, isFinal: false), "runs again")
        results.takePass(1, 5)
        expectEqual(reported.lines, [], "what waits for the attempt")
        expectTrue(results.hasOpenAttempts)
        results.takePass(0, 5)
        expectEqual(reported.lines, ["passed a 2", "passed b 1"])
        expectTrue(reported.results[0].isFlaky)
        expectEqual(results.tally.flaky, 1)
        expectEqual(results.tally.passed, 2)
        expectFalse(results.hasFailures)
        expectFalse(results.hasOpenAttempts)
    }

    private static func testTheLastAttemptDecides() {
        let (results, reported) = make(["a"], twoRetries)
        expectTrue(results.take(failure(results, 0, got: "first"), 0, nil, isFinal: false))
        expectTrue(results.take(failure(results, 0, got: "second"), 0, nil, isFinal: false))
        expectFalse(results.take(failure(results, 0, got: "third"), 0, nil, isFinal: false), "runs a fourth time")
        expectEqual(reported.lines, ["failed a 3"])
        expectEqual(reported.results[0].issues.map(\.got), ["third"])
        expectEqual(reported.results[0].earlierAttempts.flatMap(\.issues).map(\.got), ["first", "second"])
        expectEqual(results.tally.failed, 1)
    }

    private static func testOffersGoldensOfTheLastAttempt() {
        let (results, reported) = make(["a"], twoRetries)
        for (number, got) in ["first", "second", "third"].enumerated() {
            var result = failure(results, 0, got: got)
            result.issues[0].texts = TestIssue.ComparedTexts(golden: "/g.txt", got: got, expected: "")
            expectEqual(results.take(result, 0, nil, isFinal: false), number < 2, "runs again")
        }
        expectEqual(results.fixes.map(\.replacement), ["third"])
        expectEqual(results.fixes.map(\.path), ["/g.txt"])
        expectNil(reported.results[0].issues[0].fixIt, "what an editor writes into a source")
        expectNil(reported.results[0].issues[0].texts, "what nobody reads any more")
    }

    private static func testAttemptsThatAreGivenUpCount() {
        let (results, reported) = make(["a", "b", "c"], twoRetries)
        for index in 0..<3 { expectTrue(results.take(failure(results, index), index, nil, isFinal: false)) }
        results.giveUpAttempts(but: [1])
        expectEqual(reported.lines, ["failed a 1"])
        expectFalse(results.take(failure(results, 1), 1, nil, isFinal: true))
        expectEqual(reported.lines, ["failed a 1", "failed b 2", "failed c 1"])
    }

    private static func testNamesTheDirectoryThatStays() throws {
        let root = DirectoryKeeper()
        defer { DirectoryKeeper.remove(root.kept) }
        for path in [root.root, "\(root.root)/T.a", "\(root.root)/T.a/full", "\(root.root)/T.b"] {
            mkdir(path, 0o700)
        }
        let (results, reported) = make(["a", "b"], root: root)
        _ = results.take(failure(results, 0), 0, "\(root.root)/T.a", isFinal: false)
        _ = results.take(failure(results, 1), 1, "\(root.root)/T.b", isFinal: false)
        let place = try requireNotNil(root.kept.first)
        expectEqual(
            reported.results.map { $0.issues[0].notes }, [["its temporary directory is kept: \(place)"], []])
    }

    private static func testOnlyNewsIsReported() {
        var options = RunOptions()
        options.reportsOnlyNews = true
        let (results, reported) = make(["a", "b", "c"], options)
        results.takePass(0, 5)
        results.takePass(2, 5)
        expectFalse(results.take(failure(results, 1), 1, nil, isFinal: false))
        expectEqual(reported.lines, ["failed b 1"])
        expectEqual(results.checkedTally().passed, 2)
    }

    private static func testLateFailuresFailTheirTest() {
        let (results, reported) = make(["a", "b", "c", "d"], twoRetries)
        results.takePass(0, 5)
        func take(_ got: String, of index: Int?, running: Int? = nil) {
            results.take(failure(results, 0, got: got).issues[0], of: index, running: running)
        }
        take("first", of: 0)
        take("second", of: 0)
        expectEqual(reported.lines, ["passed a 1", "late a first", "late a second"])
        results.takePass(2, 5)
        take("waiting", of: 2)
        expectTrue(results.take(failure(results, 1), 1, nil, isFinal: false))
        take("attempt", of: 1)
        results.takePass(1, 5)
        expectEqual(reported.lines.suffix(2), ["passed b 2", "failed c 1"])
        expectEqual(reported.results[1].earlierAttempts.map(\.issues.count), [2])
        take("unknown", of: nil, running: 3)
        take("not begun", of: 3)
        expectEqual(reported.lines.suffix(2), ["got unknown", "got not begun"])
        expectEqual(results.tally.passed, 1)
        expectEqual(results.tally.failed, 2)
    }

    private static func testSumsThatAreWrongAreReported() {
        let (results, reported) = make(["a", "b"])
        results.takePass(0, 5)
        expectEqual(results.checkedTally().moduleIssues, 1, "one of two results")
        expectEqual(reported.lines, ["passed a 1", "got 1 results"])
        results.finish()
        expectEqual(results.checkedTally().moduleIssues, 1, "the other has not run")
        expectEqual(results.tally.notRun, 1)
    }
}
#endif
