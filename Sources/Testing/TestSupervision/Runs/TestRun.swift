// Runs the tests of one module in one loop: starts workers, gives them parts of the plan, and passes their events to
// RunResults, which reports results in the order of the plan. *Architecture* in the documentation of InClassTesting describes
// each step of a test.

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
    /// Tests that are to run again, each in a worker of its own.
    private var retries: [Int] = []
    /// The tests that died and run again to say more of it, by index.
    private var dead: [Int: DeadTest] = [:]
    private var sessions: [WorkerSession] = []
    /// The session whose plan all others have.
    private var first: WorkerSession?
    /// The plan with the names that workers use.
    private var announced: [PlannedTest] = []
    private lazy var lastRun = LastRun(module)
    /// A Boolean value that indicates whether nothing more is to begin.
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
        try startWorker()
        // The worker takes its time to start; meanwhile the sources are read.
        let declaredSum = options.choice.checksLists ? NameSums.declared(in: module.sources) : nil
        try loop()
        guard let first, !options.isListing else { return results.tally }
        results.finish()
        if !options.isBuildStep { results.warnOfNewerSources() }
        for issue in first.listIssues where issue.knownReason == nil { results.reportModuleIssue(issue) }
        results.reportLimits(first.refusedLimits)
        results.reportLists(
            first.untested,
            isListComplete: !options.choice.checksLists
                || NameSums.showNothingLost(declared: declaredSum, plan: plan))
        results.remember(after: lastRun)
        return results.checkedTally()
    }

    /// Chooses what is to run of the plan that the first worker has announced.
    private func takePlan(of session: WorkerSession) {
        first = session
        announced = session.plan
        let plan = SourceScan.tellingTypesApart(announced, sources: locator.sources)
        session.plan = plan
        let chosen = options.choice.indices(in: plan, lastRun: lastRun, sources: locator.sources)
        if options.choice.isFailedOnly { goneFailures = lastRun.failed.subtracting(plan.map(\.name)) }
        for line in options.choice.lines where module.sources.contains(where: line.names) {
            if let mistake = locator.sources.scan.mistake(in: line, of: plan) { lineMistakes.append(mistake) }
        }
        results.takePlan(plan, chosen: chosen)
        if options.isListing { return sessions = [] }
        // What an earlier run has kept is of use until the next.
        if !options.isRepetition { DirectoryKeeper.remove(lastRun.keptDirectories) }
        // Entries whose name an earlier one has have their result at once.
        let runnable = results.takeDuplicates(among: chosen)
        stopIfFailed()
        let workerCountMax = min(options.workerCountMax, max(1, runnable.count))
        queue = WorkQueue(
            ordered(runnable), known: workerCountMax > 1 ? lastRun.times(in: plan) : [:],
            workerCountMax: workerCountMax, isolatesTests: options.isolatesTests)
    }

    private func ordered(_ indices: [Int]) -> [Int] {
        guard let seed = options.shuffleSeed else {
            return RunOrder.urgentFirst(indices, plan: plan, lastRun: lastRun, sources: locator.sources)
        }
        var generator = SeededGenerator(seed: seed)
        return indices.shuffled(using: &generator)
    }

    // MARK: Workers

    /// Starts a worker, for one of the tests that are to run again if there are any.
    private func startWorker() throws(RunError) {
        var attempt = retries.isEmpty ? nil : retries.removeFirst()
        var part: ArraySlice<PlannedTest> = []
        if options.isolatesTests, first != nil {
            attempt = attempt ?? queue.takePiece().first?.lowerBound
            if let attempt { part = announcedTests(ofTypeAt: attempt) }
        }
        var options = options
        // What a test said before it died went to the terminal; this time it is kept.
        if let attempt, dead[attempt] != nil { options.leavesOutput = false }
        do throws(SystemError) {
            sessions.append(
                try WorkerSession(
                    module, options: options, directory: directories.root, plan: first, attempt: attempt,
                    part: part))
        } catch { throw .system(error) }
    }

    /// Returns the tests of a test's type, which are consecutive.
    private func announcedTests(ofTypeAt index: Int) -> ArraySlice<PlannedTest> {
        var (start, end) = (index, index + 1)
        while start > 0, announced[start - 1].typeName == announced[index].typeName { start -= 1 }
        while end < announced.count, announced[end].typeName == announced[index].typeName { end += 1 }
        return announced[start..<end]
    }

    /// Reads what workers say and gives them what to do until there is nothing more.
    private func loop() throws(RunError) {
        while true {
            if let reason = Interruption.reason {
                isStopping = true
                for session in sessions { session.end(.interruption(reason: reason)) }
            }
            assign()
            sessions.removeAll { $0.state == .dead }
            if sessions.isEmpty {
                orphans.end()
                if queue.isEmpty, retries.isEmpty { return giveUpRetries() }
            }
            if isWorthAnother { try startWorker() }
            letEventsGather()
            let mayGrow = busy.count < options.workerCountMax && !queue.isEmpty
            let speaking = Worker.wait(
                for: sessions.map(\.worker), milliseconds: min(patience, mayGrow ? 20 : 1000))
            let sessions = sessions
            for index in speaking { try serve(sessions[index]) }
            if speaking.isEmpty || ContinuousClock.now - limitsChecked > .milliseconds(10) {
                // A worker may be gone although something that it has started still holds its pipe.
                for session in sessions where session.state != .dead {
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
        let busy = busy
        if sessions.isEmpty || busy.isEmpty && !(queue.isEmpty && retries.isEmpty) { return true }
        guard busy.count < options.workerCountMax, !isStopping,
            busy.count(where: { $0.state == .starting }) <= busy.count / 2
        else { return false }
        if !retries.isEmpty { return true }
        if queue.isEmpty || isWaiting { return false }
        if options.isolatesTests { return true }
        return busy.allSatisfy {
            $0.state == .starting
                || $0.state == .running && ContinuousClock.now - $0.assignment > .milliseconds(40)
        }
    }

    /// The sessions that aren't only waiting for late failures of their one test.
    private var busy: [WorkerSession] { sessions.filter { $0.state == .running || !isOver($0) } }

    /// Returns whether a session has run its only test.
    private func isOver(_ session: WorkerSession) -> Bool {
        session.begunCount > 0 && (options.isolatesTests || session.attempt != nil)
    }

    /// A Boolean value that indicates whether a test that failed runs again, which decides whether it is the first failure and
    /// the last test.
    private var isWaiting: Bool { options.stopsAtFirstFailure && (results.hasOpenAttempts || !dead.isEmpty) }

    private var patience: Int {
        sessions.map { isOver($0) ? min($0.patience, options.lateMilliseconds / 4) : $0.patience }.min() ?? 0
    }

    private func serve(_ session: WorkerSession) throws(RunError) {
        session.receive(waiting: 0)
        while let notice = try session.nextNotice() {
            if let index = session.attempt, let test = dead[index] {
                take(notice, index, test, session)
                continue
            }
            switch notice {
            case .began(let index): results.takeBeginning(index)
            case .met(let place): results.met.insert(place)
            case .passed(let index, let nanoseconds): results.takePass(index, nanoseconds)
            case .ended(let index, let result, let directory): take(result, index, directory)
            case .stray(let index, let issue): take(issue, of: index, session)
            case .died(let death): take(death, of: session)
            }
        }
    }

    /// Gives idle workers something to run, or sends them home.
    private func assign() {
        if first == nil, let session = sessions.first, session.state == .idle { takePlan(of: session) }
        for session in sessions where session.state == .idle && options.stopsAtFirstFailure {
            queue.putBack(session.takeUnfinished { results.done[$0] })
        }
        if isStopping {
            queue.removeAll()
            giveUpRetries()
        }
        for session in sessions where session.state == .idle {
            if let index = session.attempt, session.begunCount == 0, !isStopping {
                session.run([index..<index + 1])
                continue
            }
            let isOver = isOver(session)
            // Tasks that the test has started may still fail.
            if isOver, !isStopping, session.idleTime < .milliseconds(options.lateMilliseconds) { continue }
            let piece = isWaiting || isOver || session.attempt != nil ? [] : queue.takePiece()
            if piece.isEmpty { session.finish() } else { session.run(piece) }
        }
    }

    private func take(_ death: WorkerDeath, of session: WorkerSession) {
        guard first != nil else {
            isStopping = true
            if isExcused(death) { return }
            return results.reportModuleIssue(locator.issue(for: death, expected: "list of its tests"))
        }
        // What a dead worker had not begun is run by the next.
        let rest = session.takeUnfinished { results.done[$0] || $0 == death.test?.index }
        guard let (index, result) = death.test else {
            if death.isInterruption { return }
            let leaks = death.state == .closing ? locator.leaks(death) : []
            if !leaks.isEmpty {
                queue.putBack(rest)
                return leaks.forEach(results.reportModuleIssue)
            }
            if death.state == .starting || !rest.isEmpty && !session.leavesRest || death.end != .exited(0) {
                results.reportModuleIssue(locator.issue(for: death, expected: "quiet end after the last test"))
                // One that has not even begun a test is followed by others like it.
                if session.begunCount == 0, death.state != .closing {
                    queue.removeAll()
                    isStopping = true
                    return
                }
            }
            return queue.putBack(rest)
        }
        if isExcused(death) { return }
        queue.putBack(rest)
        let test = DeadTest(
            result: result, death: death, previous: session.begunCount > 1 ? session.previousTest : nil)
        // A test that is run again in any case is run alone, which says more.
        guard death.cause == nil, options.retryCount == 0 || options.leavesOutput else { return fail(index, test) }
        // The first test of a worker was alone already.
        if test.previous == nil, !options.leavesOutput { return fail(index, test, note: "it fails alone, too") }
        dead[index] = test
        retries.insert(index, at: 0)
    }

    /// Returns whether a worker was ended together with the run, for which nothing in it is to blame.
    private func isExcused(_ death: WorkerDeath) -> Bool { options.isBuildStep && death.isInterruption }

    /// A test in which its worker died.
    private struct DeadTest {
        var result: TestResult
        let death: WorkerDeath
        /// The test that the worker had run before.
        let previous: PlannedTest?
    }

    /// Takes what a worker says of a test that had died and is running alone.
    private func take(_ notice: WorkerSession.Notice, _ index: Int, _ test: DeadTest, _ session: WorkerSession) {
        let passes = test.previous.map {
            "it passes alone and failed only after other tests, the last of which was \($0.name)"
        }
        var note: String? = passes ?? "it passed when it ran again"
        var again: WorkerDeath?
        switch notice {
        case .began, .stray, .met: return
        case .passed: break
        case .ended(_, let result, _):
            if result.outcome == .failed { note = "it fails alone, too, but otherwise" }
        case .died(let death):
            note = death.test == nil || death.isInterruption ? nil : "it fails alone, too"
            again = death
        }
        sessions.removeAll { $0 === session }
        dead[index] = nil
        fail(index, test, note: options.retryCount == 0 ? note : nil, again: again)
    }

    /// Fails a test in which its worker died.
    ///
    /// - Parameters:
    ///   - note: how the test ends when it runs alone.
    ///   - again: its death when it ran alone, if it died there.
    private func fail(_ index: Int, _ test: DeadTest, note: String? = nil, again: WorkerDeath? = nil) {
        var (result, death) = (test.result, test.death)
        if options.leavesOutput, let again, again.test != nil, again.end == death.end { death = again }
        var issue = locator.located(locator.issue(for: death, expected: "end of test"), test: result.test)
        if let note { issue.notes.append(note) }
        result.issues.append(issue)
        result.outcome = .failed
        result.output = test.death.output
        result.omittedOutputCount = test.death.omittedOutputCount
        let isFinal = test.death.isInterruption
        take(result, index, isFinal ? nil : test.death.directory, isFinal: isFinal)
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

    /// Lets stand what is known of tests that were to run again and do not yet.
    private func giveUpRetries() {
        retries = []
        let running = sessions.filter { $0.state == .running }.compactMap(\.attempt)
        for (index, test) in dead.sorted(by: { $0.key < $1.key }) where !running.contains(index) {
            dead[index] = nil
            fail(index, test)
        }
        results.giveUpAttempts(but: running)
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
