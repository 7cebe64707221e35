// Runs the tests of one module: hands parts of the plan to workers, starts another where one died, and gives what they say
// to RunResults, which reports it in the order of the plan and asks for nothing back.
//
// A test's way through this module: ModuleDescription, ImageLinker; TestRun, WorkerSession, Worker; TestChoice, RunOrder,
// WorkQueue; and back from the worker RunResults, IssueLocator, TestedSources, SourceScan, LiteralFix, Resequencer. Where it
// comes from and where it goes is in the overview of InClassTesting.

internal import InClassSystem
import TestEvents

package final class TestRun {
    private let module: ModuleDescription
    private let options: RunOptions
    private let directories: DirectoryKeeper
    private let locator: IssueLocator
    private let results: RunResults

    /// The module's tests, once a worker has announced them.
    package var plan: [PlannedTest] { results.plan }
    /// The literals and goldens that `--accept` may replace.
    package var fixes: [LiteralFix] { results.fixes }
    /// The places of expectations, and the golden files, of which some test wants what is there, or nothing that can be.
    package var met: Set<String> { results.met.union(unaccepted.map(\.place.text)) }

    /// The failed comparisons of which there is nothing to accept.
    package var unaccepted: [UnacceptedValue] { results.unaccepted }

    /// What failed in the last run and is in no list any more, if what failed then was to run.
    package private(set) var goneFailures: Set<String> = []

    /// What is wrong with the chosen lines of this module.
    package private(set) var lineMistakes: [String] = []

    private var orphans = Orphans()
    /// What is to be run yet.
    private var queue = WorkQueue([], known: [:], workerCountMax: 1)
    /// Failed tests that are to run again, each in a worker of its own.
    private var retries: [Int] = []
    private var sessions: [WorkerSession] = []
    /// The session whose plan all others have.
    private var first: WorkerSession?
    /// The plan with the names that workers use.
    private var announced: [PlannedTest] = []
    /// Whether nothing more is to begin.
    private var isStopping = false
    private var limitsChecked = ContinuousClock.now
    private var lastWake = ContinuousClock.now
    /// How often in a row it was woken shortly after the last time.
    private var quickWakeCount = 0

    /// Prepares a run.
    ///
    /// - Parameter report: receives each event as it happens.
    package init(_ module: ModuleDescription, options: RunOptions, report: @escaping (RunEvent) -> Void) {
        self.module = module
        self.options = options
        directories = DirectoryKeeper(keepsFailed: options.keepsDirectories)
        locator = IssueLocator(module: module, sources: TestedSources(of: module))
        results = RunResults(options, locator, directories, report: report)
    }

    /// Runs the selected tests and says what they came to.
    package func run() throws(RunError) -> RunTally {
        orphans.adopt(true)
        defer {
            sessions = []
            orphans.end()
            orphans.adopt(false)
            directories.removeRest()
        }
        let first = try startedSession()
        // The worker takes its time to start; meanwhile the sources are read.
        let declaredSum = options.choice.checksLists ? NameSums.declared(in: module.sources) : nil
        guard try waitUntilReady(first) else { return results.tally }
        self.first = first
        let lastRun = LastRun(module)
        announced = first.plan
        let plan = SourceScan.tellingTypesApart(announced, sources: locator.sources)
        first.plan = plan
        let chosen = options.choice.indices(in: plan, lastRun: lastRun, sources: locator.sources)
        if options.choice.isFailedOnly { goneFailures = lastRun.failed.subtracting(plan.map(\.name)) }
        for line in options.choice.lines where module.sources.contains(where: line.names) {
            if let mistake = locator.sources.scan.mistake(in: line, of: plan) { lineMistakes.append(mistake) }
        }
        results.takePlan(plan, chosen: chosen)
        if options.isListing { return results.tally }
        // What an earlier run has kept is of use until the next.
        if !options.isRepetition { DirectoryKeeper.remove(lastRun.keptDirectories) }
        queue = makeQueue(chosen, lastRun)
        assign()
        // While the worker runs.
        let isListComplete =
            !options.choice.checksLists || NameSums.showNothingLost(declared: declaredSum, plan: plan)
        try runQueue()
        giveUpRetries()
        results.finish()
        if !options.isBuildStep { results.warnOfNewerSources() }
        for issue in first.listIssues where issue.knownReason == nil { results.reportModuleIssue(issue) }
        results.reportLimits(first.refusedLimits)
        results.reportLists(first.warnings, isListComplete: isListComplete)
        results.remember(after: lastRun)
        return results.checkedTally()
    }

    /// Makes the queue of the chosen tests, but for the duplicates among them, which have their result at once.
    private func makeQueue(_ chosen: [Int], _ lastRun: LastRun) -> WorkQueue {
        let runnable = results.takeDuplicates(among: chosen)
        stopIfFailed()
        let workerCountMax = min(options.workerCountMax, max(1, runnable.count))
        return WorkQueue(
            ordered(runnable, lastRun), known: workerCountMax > 1 ? lastRun.times(in: plan) : [:],
            workerCountMax: workerCountMax, isolatesTests: options.isolatesTests)
    }

    private func ordered(_ indices: [Int], _ lastRun: LastRun) -> [Int] {
        guard let seed = options.shuffleSeed else {
            return RunOrder.urgentFirst(indices, plan: plan, lastRun: lastRun, sources: locator.sources)
        }
        var generator = SeededGenerator(seed: seed)
        return indices.shuffled(using: &generator)
    }

    // MARK: Workers

    @discardableResult
    private func startedSession(keepsOutput: Bool = false) throws(RunError) -> WorkerSession {
        var options = options
        if keepsOutput { options.leavesOutput = false }
        do throws(SystemError) {
            let session = try WorkerSession(module, options: options, directory: directories.root, plan: first)
            sessions.append(session)
            return session
        } catch { throw .system(error) }
    }

    /// Waits for a worker's plan; false when it died over it, which is then reported.
    private func waitUntilReady(_ session: WorkerSession) throws(RunError) -> Bool {
        while session.state == .starting {
            if let reason = Interruption.reason { interrupt(reason) }
            session.receive(waiting: session.patience)
            while let notice = session.nextNotice() {
                switch notice {
                case .protocolMismatch(let text): throw .protocolMismatch(text)
                case .died(let death):
                    if isExcused(death) { return false }
                    results.reportModuleIssue(locator.issue(for: death, expected: "list of its tests"))
                    return false
                default: break
                }
            }
            session.checkLimits()
        }
        return true
    }

    private func runQueue() throws(RunError) {
        while true {
            if let reason = Interruption.reason { interrupt(reason) }
            assign()
            sessions.removeAll { $0.state == .dead }
            if sessions.isEmpty {
                orphans.end()
                if queue.isEmpty, retries.isEmpty { return }
                try startedSession()
            }
            if isWorthAnother { try startedSession() }
            letEventsGather()
            let mayGrow = sessions.count < options.workerCountMax && !queue.isEmpty
            let speaking = Worker.wait(
                for: sessions.map(\.worker), milliseconds: min(patience, mayGrow ? 20 : 1000))
            let sessions = sessions
            for index in speaking { try serve(sessions[index]) }
            if speaking.isEmpty || ContinuousClock.now - limitsChecked > .milliseconds(10) {
                // A worker may be gone although something that it has started still holds its pipe.
                for session in sessions {
                    try serve(session)
                    session.checkLimits()
                }
                limitsChecked = ContinuousClock.now
            }
        }
    }

    /// Naps when workers say little and often: being woken for each of many short tests takes longer than the tests do.
    private func letEventsGather() {
        let now = ContinuousClock.now
        quickWakeCount = now - lastWake < .microseconds(300) ? quickWakeCount + 1 : 0
        if quickWakeCount >= 4 {
            usleep(1000)
            lastWake = ContinuousClock.now
        } else {
            lastWake = now
        }
    }

    /// A Boolean value that indicates whether another worker pays for its start: all others are busy with what takes long.
    private var isWorthAnother: Bool {
        guard sessions.count < options.workerCountMax, !isStopping,
            sessions.count(where: { $0.state == .starting }) <= sessions.count / 2
        else { return false }
        if !retries.isEmpty { return true }
        if options.stopsAtFirstFailure, results.hasOpenAttempts { return false }
        if queue.isEmpty { return false }
        return sessions.allSatisfy {
            $0.state == .starting
                || $0.state == .running && ContinuousClock.now - $0.assignment > .milliseconds(40)
        }
    }

    private func interrupt(_ reason: String) {
        isStopping = true
        WorkerSession.interrupt(sessions, reason)
    }

    private var patience: Int { sessions.map(\.patience).min() ?? 0 }

    private func serve(_ session: WorkerSession) throws(RunError) {
        session.receive(waiting: 0)
        while let notice = session.nextNotice() {
            switch notice {
            case .began(let index): results.takeBeginning(index)
            case .met(let place): results.met.insert(place)
            case .passed(let index, let nanoseconds): results.takePass(index, nanoseconds)
            case .ended(let index, let result, let directory): take(result, index, directory)
            case .stray(let index, let issue): take(issue, of: index, session)
            case .protocolMismatch(let text): throw .protocolMismatch(text)
            case .died(let death): try take(death, of: session)
            }
        }
    }

    /// Gives idle workers something to run, or sends them home.
    private func assign() {
        for session in sessions where session.state == .idle && options.stopsAtFirstFailure {
            queue.putBack(session.takeUnfinished { results.done[$0] })
        }
        if isStopping {
            queue.removeAll()
            giveUpRetries()
        }
        for session in sessions where session.state == .idle {
            if session.begunCount == 0, !retries.isEmpty {
                let index = retries.removeFirst()
                session.isForAttempt = true
                session.run([index..<index + 1])
                continue
            }
            // Whether the first failure is one is decided by the test's last attempt.
            let isWaiting = options.stopsAtFirstFailure && results.hasOpenAttempts
            let isOver = session.isForAttempt || options.isolatesTests && session.begunCount > 0
            let piece = isWaiting || isOver ? [] : queue.takePiece()
            if piece.isEmpty { session.finish() } else { session.run(piece) }
        }
    }

    private func take(_ death: WorkerDeath, of session: WorkerSession) throws(RunError) {
        // What a dead worker had not begun is run by the next.
        let rest = session.takeUnfinished { results.done[$0] || $0 == death.test?.index }
        guard let (index, partial) = death.test else {
            if case .interruption? = death.cause { return }
            let leaks = session.wasClosing ? locator.leaks(death) : []
            if !leaks.isEmpty {
                queue.putBack(rest)
                return leaks.forEach(results.reportModuleIssue)
            }
            if session.wasStarting || !rest.isEmpty && !session.leavesRest || death.end != .exited(0) {
                results.reportModuleIssue(locator.issue(for: death, expected: "quiet end after the last test"))
                // One that has not even begun a test is followed by others like it.
                if session.begunCount == 0, !session.wasClosing {
                    queue.removeAll()
                    isStopping = true
                    return
                }
            }
            queue.putBack(rest)
            return
        }
        if isExcused(death) { return }
        queue.putBack(rest)
        var result = partial
        var issue = locator.located(locator.issue(for: death, expected: "end of test"), test: result.test)
        // A test that is run again is run alone, which says more.
        let isAgain = options.retryCount > 0 || session.isForAttempt
        if issue.kind == .crash || issue.kind == .exit, death.cause == nil, !isAgain || options.leavesOutput {
            let alone = try noteOnRunningAlone(index, session)
            // What it said of the reason went to the terminal; now it is kept.
            if options.leavesOutput, let again = alone.death, again.end == death.end {
                issue = locator.located(locator.issue(for: again, expected: "end of test"), test: result.test)
            }
            if !isAgain { issue.notes += alone.notes }
        }
        result.issues.append(issue)
        result.outcome = .failed
        result.output = death.output
        result.omittedOutputCount = death.omittedOutputCount
        if case .interruption? = death.cause { return take(result, index, nil, isFinal: true) }
        take(result, index, death.directory)
    }

    /// Whether a worker was ended together with the run, for which nothing in it is to blame.
    private func isExcused(_ death: WorkerDeath) -> Bool {
        if case .interruption? = death.cause { return options.isBuildStep }
        return false
    }

    /// Runs a test that died once more in a worker of its own, and says whether it dies there too, and how.
    private func noteOnRunningAlone(_ index: Int, _ session: WorkerSession) throws(RunError) -> (
        notes: [String], death: WorkerDeath?
    ) {
        let failsAlone = ["it fails alone, too"]
        let previous = session.begunCount > 1 ? session.previousTest : nil
        // The first test of a worker was alone already.
        if previous == nil, !options.leavesOutput { return (failsAlone, nil) }
        let after = previous.map {
            "it passes alone and failed only after other tests, the last of which was \($0.name)"
        }
        let alone = try startedSession(keepsOutput: true)
        defer { sessions.removeAll { $0 === alone } }
        while Interruption.reason == nil {
            if alone.state == .idle { alone.run([index..<index + 1]) }
            alone.receive(waiting: alone.patience)
            while let notice = alone.nextNotice() {
                switch notice {
                case .died(let death): return death.test == nil ? ([], nil) : (failsAlone, death)
                case .passed:
                    alone.abort()
                    return ([after ?? "it passed when it ran again"], nil)
                case .ended(_, let result, _):
                    alone.abort()
                    if result.outcome == .failed { return (["it fails alone, too, but otherwise"], nil) }
                    return ([after ?? "it passed when it ran again"], nil)
                case .protocolMismatch: return ([], nil)
                case .began, .stray, .met: break
                }
            }
            alone.checkLimits()
        }
        return ([], nil)
    }

    // MARK: Results

    /// Takes the end of a test, which may have to run again.
    private func take(_ result: TestResult, _ index: Int, _ directory: String?, isFinal: Bool = false) {
        if results.take(result, index, directory, isFinal: isFinal || isStopping) { retries.append(index) }
        stopIfFailed()
    }

    /// Takes an issue that comes from no task of the running test.
    private func take(_ issue: TestIssue, of index: Int?, _ session: WorkerSession) {
        if issue.knownReason != nil { return }
        let running = session.runningIndex
        let owner = index ?? locator.owner(of: issue, in: plan, running: running) { results.done[$0] }
        if let owner, session.add(issue, to: owner) { return }
        results.take(issue, of: owner, running: running)
        stopIfFailed()
    }

    private func stopIfFailed() {
        if options.stopsAtFirstFailure, results.hasFailures { isStopping = true }
    }

    private func giveUpRetries() {
        retries = []
        let attempts = sessions.filter { $0.isForAttempt && $0.state == .running }
        results.giveUpAttempts(but: attempts.flatMap { $0.assigned.flatMap(\.self) })
    }

    /// What a worker calls a test of the plan.
    package func workerName(ofTestAt index: Int) -> String { announced[index].name }

    /// The place of the test of this name, `Type.test`.
    package static func place(ofTestNamed name: String, in module: ModuleDescription) -> SourcePlace? {
        guard let dot = name.lastIndex(of: ".") else { return nil }
        let test = PlannedTest(
            typeName: String(name[..<dot]), testName: String(name[name.index(after: dot)...]), testType: "unit",
            module: module.module)
        return SourceScan(sources: module.sources, module: module.module).place(of: test)
    }
}
