// Runs the tests of one module: hands parts of the plan to workers, starts another where one died, and passes results on
// in the order of the plan, whatever order they came in. What is done with them is up to the reporters.

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif
import TestEvents

package final class TestRun {
    private let module: ModuleDescription
    private let options: RunOptions
    private let report: (RunEvent) -> Void
    private lazy var sources = SourceScan(sources: module.sources, module: module.module)
    private lazy var locator = IssueLocator(module: module) { [unowned self] in sources }

    /// The module's tests, once a worker has announced them.
    package private(set) var plan: [PlannedTest] = []
    private var tally = RunTally()
    /// The literals that `--accept` may replace.
    package private(set) var fixes: [LiteralFix] = []

    /// The selected tests in the order their results are passed on, and those results that wait for an earlier one.
    private var selected: ArraySlice<Int> = []
    private var waiting: [Int: TestResult] = [:]
    /// What is to be run yet, in the order it is to be run.
    private var queue: ArraySlice<Int> = []
    private var sessions: [WorkerSession] = []
    /// The indices of the tests that have a result.
    private var done: Set<Int> = []
    private var failedNames: Set<String> = []
    private var isStopping = false

    /// Prepares a run.
    ///
    /// - Parameter report: receives each event as it happens.
    package init(_ module: ModuleDescription, options: RunOptions, report: @escaping (RunEvent) -> Void) {
        self.module = module
        self.options = options
        self.report = report
    }

    /// Runs the selected tests and says what they came to.
    package func run() throws(RunError) -> RunTally {
        Orphans.adopt(true)
        defer {
            sessions = []
            Orphans.end()
            Orphans.adopt(false)
        }
        let first = try startedSession()
        guard try waitUntilReady(first) else { return tally }
        plan = first.plan
        let memory = RunMemory(module)
        let chosen = options.selection.indices(in: plan, memory: memory, sources: { self.sources })
        selected = chosen[...]
        tally.planned = chosen.count
        tally.unselected = plan.count - chosen.count
        report(.planned(module: module.module, tests: chosen.map { plan[$0] }))
        if options.isListing { return tally }
        let duplicates = Self.duplicates(in: plan)
        let runnable = chosen.filter { !duplicates.contains($0) }
        for index in chosen where duplicates.contains(index) { pass(duplicateResult(plan[index]), index) }
        queue = ordered(runnable, memory)[...]
        try runQueue()
        passOnRest()
        reportWarnings(first.warnings)
        memory.store(failed: failedNames, run: Set(done.map { plan[$0].name }), for: module)
        return checkedTally()
    }

    private func ordered(_ indices: [Int], _ memory: RunMemory) -> [Int] {
        guard let seed = options.shuffleSeed else {
            return RunOrder.urgentFirst(indices, plan: plan, memory: memory, sources: { self.sources })
        }
        var generator = SeededGenerator(seed: seed)
        return indices.shuffled(using: &generator)
    }

    private func checkedTally() -> RunTally {
        let sum = tally.passed + tally.failed + tally.skipped + tally.notRun
        if sum != tally.planned {
            reportModuleIssue(
                TestIssue(kind: .list, got: "\(sum) results", expected: "\(tally.planned), one for each test"))
        }
        return tally
    }

    // MARK: Workers

    private func startedSession() throws(RunError) -> WorkerSession {
        do throws(SystemError) {
            let session = try WorkerSession(module, options: options)
            sessions.append(session)
            return session
        } catch { throw .system(error) }
    }

    /// Waits for a worker's plan; false when it died over it, which is then reported.
    private func waitUntilReady(_ session: WorkerSession) throws(RunError) -> Bool {
        while session.state == .starting {
            if let reason = Interruption.reason { session.interrupt(reason) }
            for case let event in session.reports(waiting: session.patience) {
                switch event {
                case .protocolMismatch(let text): throw .protocolMismatch(text)
                case .died(let death):
                    reportModuleIssue(locator.issue(for: death, expected: "list of its tests"))
                    return false
                default: break
                }
            }
            session.checkLimits()
        }
        return true
    }

    private func runQueue() throws(RunError) {
        let start = ContinuousClock.now
        while true {
            if let reason = Interruption.reason { interrupt(reason) }
            assign()
            sessions.removeAll { $0.state == .dead }
            if sessions.isEmpty {
                Orphans.end()
                if queue.isEmpty { return }
                _ = try startedSession()
            }
            // More workers only for what takes long enough to pay for starting them.
            let isLong = ContinuousClock.now - start > .milliseconds(40)
            if isLong, queue.count > 4, sessions.count < options.workerCountMax { _ = try startedSession() }
            Worker.wait(for: sessions.map(\.worker), milliseconds: min(patience, isLong ? 1000 : 10))
            for session in sessions { try serve(session) }
        }
    }

    private func interrupt(_ reason: String) {
        isStopping = true
        for session in sessions { session.interrupt(reason) }
    }

    private var patience: Int { sessions.map(\.patience).min() ?? 0 }

    private func serve(_ session: WorkerSession) throws(RunError) {
        for event in session.reports(waiting: 0) {
            switch event {
            case .began(let test): report(.began(test))
            case .ended(let index, let result): pass(result, index)
            case .late(let test, let issue): take(issue, after: test)
            case .protocolMismatch(let text): throw .protocolMismatch(text)
            case .died(let death): try take(death, of: session)
            }
        }
        // One that has died while starting has announced no plan, or half of one.
        if session.state != .starting, !session.wasStarting, !session.isPlanChecked {
            guard session.plan == plan else { throw .protocolMismatch("the test image announced two different plans") }
            session.isPlanChecked = true
        }
        session.checkLimits()
    }

    /// Gives idle workers something to run, or sends them home.
    private func assign() {
        for session in sessions where session.state == .idle {
            // One worker alone runs all there is; several share it in pieces that get smaller towards the end.
            // Where a failure ends the run, nothing may have been handed out beyond it.
            let share = max(1, min(queue.count, 4096) / (options.workerCountMax * 4))
            let limit = options.stopsAtFirstFailure ? 1 : options.workerCountMax == 1 ? Int.max : share
            if !isStopping, let range = RunOrder.nextRange(&queue, limit: limit) {
                session.assigned = range
                session.run(range)
            } else {
                session.finish()
            }
        }
        if isStopping { queue = [] }
    }

    private func take(_ death: WorkerDeath, of session: WorkerSession) throws(RunError) {
        // What a dead worker had not begun is run by the next.
        let rest = session.assigned.filter { !done.contains($0) && $0 != death.test?.index }
        guard let (index, partial) = death.test else {
            if case .interruption? = death.verdict { return }
            if session.wasStarting || !rest.isEmpty || death.end != .exited(0) {
                reportModuleIssue(locator.issue(for: death, expected: "quiet end after the last test"))
                // One that has not even begun a test is followed by others like it.
                if session.begunCount == 0, !session.wasClosing {
                    queue = []
                    isStopping = true
                    return
                }
            }
            queue = (rest + queue)[...]
            return
        }
        queue = (rest + queue)[...]
        var result = partial
        var issue = locator.located(locator.issue(for: death, expected: "end of test"), test: result.test)
        if issue.kind == .crash || issue.kind == .exit, death.verdict == nil {
            issue.notes += try noteOnRunningAlone(index, session)
        }
        result.issues.append(issue)
        result.outcome = .failed
        result.output = death.output
        result.omittedOutputCount = death.omittedOutputCount
        pass(result, index)
    }

    /// Reports an issue of a test whose result is out already; it makes the run red, and the test failed next time.
    private func take(_ issue: TestIssue, after test: PlannedTest) {
        var issue = locator.located(issue, test: test)
        if issue.knownReason != nil { return }
        issue.notes.append("found after the end of \(test.name), by what it has left running")
        failedNames.insert(test.name)
        reportModuleIssue(issue)
    }

    /// Runs a test that died once more in a worker of its own, and says whether it dies there too.
    private func noteOnRunningAlone(_ index: Int, _ session: WorkerSession) throws(RunError) -> [String] {
        // The first test of a worker was alone already.
        guard session.begunCount > 1, let previous = session.previousTest else { return ["it fails alone, too"] }
        let alone = try startedSession()
        defer { sessions.removeAll { $0 === alone } }
        while alone.state == .starting {
            if Interruption.reason != nil { return [] }
            for case .died in alone.reports(waiting: alone.patience) { return [] }
            alone.checkLimits()
        }
        alone.run(index..<index + 1)
        while true {
            if Interruption.reason != nil { return [] }
            for event in alone.reports(waiting: alone.patience) {
                switch event {
                case .died: return ["it fails alone, too"]
                case .ended(_, let result):
                    alone.abort()
                    return [
                        result.outcome == .failed
                            ? "it fails alone, too, but otherwise"
                            : "it passes alone and failed only after other tests, the last of which was \(previous.name)"
                    ]
                case .protocolMismatch: return []
                case .began, .late: break
                }
            }
            alone.checkLimits()
        }
    }

    // MARK: Results

    /// Takes a result and passes on what is complete, in the order of the plan.
    private func pass(_ result: TestResult, _ index: Int) {
        var located = result
        located.issues = result.issues.map { locator.located($0, test: result.test) }
        for index in located.issues.indices { located.issues[index].fixIt = fixIt(for: located.issues[index]) }
        if let seed = options.shuffleSeed {
            for issue in located.issues.indices {
                located.issues[issue].notes.append("the order was shuffled with seed \(seed)")
            }
        }
        done.insert(index)
        if located.outcome == .failed {
            failedNames.insert(result.test.name)
            if options.stopsAtFirstFailure { isStopping = true }
        }
        waiting[index] = located
        passOn()
    }

    /// Offers what was got in place of the literal that was expected, while the source is still what was compiled.
    private func fixIt(for issue: TestIssue) -> SourceFixIt? {
        guard let written = FileAccess.modificationTime(of: issue.path), written < compilationTime,
            let fix = LiteralFix(for: issue)
        else { return nil }
        fixes.append(fix)
        return SourceFixIt(start: fix.start, end: fix.end, text: fix.replacement)
    }

    /// When the image was linked, or what is in it was compiled if that is earlier; a relinked image is no newer.
    private lazy var compilationTime: Int = {
        let compiled = (try? module.resolvedObjects())?.compactMap(FileAccess.modificationTime).max()
        return min(FileAccess.modificationTime(of: module.image) ?? 0, compiled ?? .max)
    }()

    private func passOn() {
        while let index = selected.first, let result = waiting.removeValue(forKey: index) {
            selected.removeFirst()
            switch result.outcome {
            case .passed: tally.passed += 1
            case .failed: tally.failed += 1
            case .skipped: tally.skipped += 1
            }
            tally.knownIssues += result.issues.reduce(0) { $0 + ($1.knownReason == nil ? 0 : 1) }
            report(.ended(result))
            if options.slowMilliseconds > 0, result.nanoseconds > options.slowMilliseconds * 1_000_000 {
                warnSlow(result)
            }
        }
    }

    /// Passes on what waits for tests that will have no result, and counts those.
    private func passOnRest() {
        while let index = selected.first {
            if waiting[index] == nil {
                tally.notRun += 1
                selected.removeFirst()
            } else {
                passOn()
            }
        }
    }

    private func warnSlow(_ result: TestResult) {
        let place = sources.place(of: result.test) ?? locator.fallbackPlace
        let milliseconds = result.nanoseconds / 1_000_000
        warn(
            SourceWarning(
                place: place, text: "\(result.test.name) took \(milliseconds) ms, more than \(options.slowMilliseconds)"
            ))
    }

    private func reportModuleIssue(_ issue: TestIssue) {
        tally.moduleIssues += 1
        report(.moduleIssue(module: module.module, locator.located(issue, test: nil)))
    }

    /// The place of the test of this name, `Type.test`.
    package static func place(ofTestNamed name: String, in module: ModuleDescription) -> SourcePlace? {
        guard let dot = name.lastIndex(of: ".") else { return nil }
        let test = PlannedTest(
            typeName: String(name[..<dot]), testName: String(name[name.index(after: dot)...]), testType: "unit",
            module: module.module)
        return SourceScan(sources: module.sources, module: module.module).place(of: test)
    }

    // MARK: Lists

    /// The indices of tests whose list has named them before.
    static func duplicates(in plan: [PlannedTest]) -> Set<Int> {
        var duplicates: Set<Int> = []
        var names: Set<String> = []
        for (index, test) in plan.enumerated() {
            // The tests of one list stand together.
            if index > 0, plan[index - 1].typeName != test.typeName || plan[index - 1].testType != test.testType {
                names.removeAll(keepingCapacity: true)
            }
            if !names.insert(test.testName).inserted { duplicates.insert(index) }
        }
        return duplicates
    }

    private func duplicateResult(_ test: PlannedTest) -> TestResult {
        var result = TestResult(test: test, outcome: .failed)
        let issue = TestIssue(
            kind: .list, got: "a second entry of this name, which did not run", expected: "each name once")
        let entries = sources[test.typeName]?.listed.filter { $0.name == test.testName } ?? []
        result.issues = [entries.dropFirst().first.map { issue.placed(at: $0.place) } ?? issue]
        return result
    }

    /// Reports what the worker could not test and what the sources say was forgotten.
    private func reportWarnings(_ warnings: [(typeName: String, text: String)]) {
        for (typeName, text) in warnings {
            let place = sources[typeName]?.lists.first ?? locator.fallbackPlace
            warn(SourceWarning(place: place, text: "\(typeName): \(text)"))
        }
        if options.selection.isRestricted || NameSums.showNothingLost(sources: module.sources, plan: plan) { return }
        for warning in sources.listWarnings(plan: plan) { warn(warning) }
    }

    private func warn(_ warning: SourceWarning) {
        tally.warnings += 1
        report(.warning(warning))
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension TestRun: SelfTesting {
    package static var testSelectors: TestSelectors {
        [
            "testFindsDuplicatesWithinAList": testFindsDuplicatesWithinAList
        ]
    }

    private static func testFindsDuplicatesWithinAList() {
        let rows = [
            ("A", "t", "unit"), ("A", "t", "slow"), ("A", "t", "slow"), ("B", "t", "unit"), ("B", "u", "unit"),
            ("B", "t", "unit"),
        ]
        let plan = rows.map { PlannedTest(typeName: $0.0, testName: $0.1, testType: $0.2, module: "M") }
        expectEqual(duplicates(in: plan), [2, 5])
    }
}
#endif
