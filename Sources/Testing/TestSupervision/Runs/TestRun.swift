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
    /// The places and goldens that must not be replaced: those with an expectation that passed, or that failed with a value
    /// that can't be accepted.
    package var met: Set<String> { results.met.union(unaccepted.map(\.place.text)) }

    /// The failed comparisons with values that can't be accepted.
    package var unaccepted: [UnacceptedValue] { results.unaccepted }

    /// The failed tests of the last run that are no longer listed, if only failed tests are selected.
    package private(set) var goneFailures: Set<String> = []

    /// The mistakes in the selected lines of this module.
    package private(set) var lineMistakes: [String] = []

    private var orphans = Orphans()
    /// The tests that no worker has been given.
    private var queue = WorkQueue([], known: [:], workerCountMax: 1)
    /// The tests that have run and have no result yet, by index. Each of them runs again in a worker of its own.
    private var open: [Int: OpenTest] = [:]
    /// The open tests that no worker has been given.
    private var retries: [Int] = []
    private var sessions: [WorkerSession] = []
    /// The plan with the names that workers use, which the first worker has announced.
    private var announcement: PlanAnnouncement?
    private lazy var lastRun = LastRun(module)
    /// A Boolean value that indicates whether no further tests begin.
    private var isStopping = false
    private var limitsChecked = ContinuousClock.now
    private var lastWake = ContinuousClock.now
    /// The number of waits in a row that were short.
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

    /// Runs the selected tests.
    package func run() throws(RunError) -> RunTally {
        orphans.adopt(true)
        defer {
            sessions = []
            orphans.end()
            orphans.adopt(false)
            directories.removeRest()
        }
        try startWorker()
        // The sources are read while the worker starts.
        let declaredSum = options.choice.checksLists ? NameSums.declared(in: module.sources) : nil
        try loop()
        guard let announcement, !options.isListing else { return results.tally }
        results.finish()
        if !options.isBuildStep { results.warnOfNewerSources() }
        for issue in announcement.issues where issue.knownReason == nil { results.reportModuleIssue(issue) }
        results.reportLimits(announcement.refusedLimits)
        results.reportLists(
            announcement.untested,
            isListComplete: !options.choice.checksLists
                || NameSums.showNothingLost(declared: declaredSum, plan: plan))
        results.remember(after: lastRun)
        return results.checkedTally()
    }

    /// Compares the plan of a worker with that of the first worker, or chooses the tests to run if it is the first.
    private func takePlan(of session: WorkerSession) throws(RunError) {
        let announced = session.announcement
        if let first = announcement?.sum, let sum = announced.sum {
            if session.part.isEmpty ? sum == first : announced.tests[...] == session.part { return }
            throw .protocolMismatch(
                "the test image announced two different plans; names and rows made at run time must be the same "
                    + "in every process, which those of a Set, a Dictionary or a clock are not")
        }
        guard let count = announced.sum?.count, count == announced.tests.count else {
            throw .protocolMismatch(
                "the test image announced \(announced.sum?.count ?? 0) tests but counts \(announced.tests.count)")
        }
        announcement = announced
        choose(from: SourceScan.tellingTypesApart(announced.tests, sources: locator.sources))
    }

    /// Chooses the tests of the plan that are to run.
    private func choose(from plan: [PlannedTest]) {
        let chosen = options.choice.indices(in: plan, lastRun: lastRun, sources: locator.sources)
        if options.choice.isFailedOnly { goneFailures = lastRun.failed.subtracting(plan.map(\.name)) }
        for line in options.choice.lines where module.sources.contains(where: line.names) {
            if let mistake = locator.sources.scan.mistake(in: line, of: plan) { lineMistakes.append(mistake) }
        }
        results.takePlan(plan, chosen: chosen)
        if options.isListing { return sessions = [] }
        // The files of an earlier run are kept until the next run.
        if !options.isRepetition { DirectoryKeeper.remove(lastRun.keptDirectories) }
        // Duplicate entries don't run.
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

    /// Starts a worker, for an open test if possible.
    private func startWorker() throws(RunError) {
        var only = retries.isEmpty ? nil : retries.removeFirst()
        var part: ArraySlice<PlannedTest> = []
        if options.isolatesTests, let announced = announcement?.tests {
            only = only ?? queue.takePiece().first?.lowerBound
            if let only { part = Self.testsOfType(at: only, in: announced) }
        }
        var options = options
        // In the first run, the test's messages went to the terminal. Now they are needed.
        if let only, open[only]?.dead != nil { options.leavesOutput = false }
        do throws(SystemError) {
            sessions.append(
                try WorkerSession(
                    module, options: options, directory: directories.root, isPlanKnown: announcement != nil, only: only,
                    part: part))
        } catch { throw .system(error) }
    }

    /// Returns the tests of a test's type, which are consecutive.
    private static func testsOfType(at index: Int, in tests: [PlannedTest]) -> ArraySlice<PlannedTest> {
        var (start, end) = (index, index + 1)
        while start > 0, tests[start - 1].typeName == tests[index].typeName { start -= 1 }
        while end < tests.count, tests[end].typeName == tests[index].typeName { end += 1 }
        return tests[start..<end]
    }

    /// Lets workers run all tests and takes their events.
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
            let sessions = sessions
            let speaking = Worker.wait(
                for: sessions.map { $0.isOpen ? $0.worker : nil }, milliseconds: min(patience, mayGrow ? 20 : 1000))
            for index in speaking { try serve(sessions[index]) }
            if speaking.isEmpty || ContinuousClock.now - limitsChecked > .milliseconds(10) {
                // The pipe of a worker that has ended may still be open in a process that it has started.
                for session in sessions where session.state != .dead {
                    try serve(session)
                    session.checkLimits()
                }
                limitsChecked = ContinuousClock.now
            }
        }
    }

    /// Waits a moment if workers send few events at short intervals. Otherwise, waking up takes longer than short tests.
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

    /// A Boolean value that indicates whether another worker is worth its start: all others run tests that take long.
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
                || $0.state == .running && $0.stateTime > .milliseconds(40)
        }
    }

    /// The sessions that don't only wait for late failures of their only test.
    private var busy: [WorkerSession] { sessions.filter { $0.state == .running || !isOver($0) } }

    /// Returns whether a session has run its only test.
    private func isOver(_ session: WorkerSession) -> Bool {
        session.begunCount > 0 && (options.isolatesTests || session.only != nil)
    }

    /// A Boolean value that indicates whether the end of a test that runs again decides whether further tests begin.
    private var isWaiting: Bool { options.stopsAtFirstFailure && !open.isEmpty }

    private var patience: Int {
        sessions.map { isOver($0) ? min($0.patience, options.lateMilliseconds / 4) : $0.patience }.min() ?? 0
    }

    /// Gives idle workers tests to run, or lets them end.
    private func assign() {
        if isStopping {
            queue.removeAll()
            giveUpRetries()
        }
        for session in sessions where session.state == .idle {
            if options.stopsAtFirstFailure, !isStopping { queue.putBack(session.takeUnfinished { results.done[$0] }) }
            if let only = session.only, session.begunCount == 0, !isStopping {
                session.run([only..<only + 1])
                continue
            }
            let isOver = isOver(session)
            // Tasks that the test has started may still fail.
            if isOver, !isStopping, session.stateTime < .milliseconds(options.lateMilliseconds) { continue }
            let piece = isWaiting || isOver || session.only != nil ? [] : queue.takePiece()
            if piece.isEmpty { session.finish() } else { session.run(piece) }
        }
    }

    // MARK: Events

    /// Takes the events that a worker has sent, and its end.
    private func serve(_ session: WorkerSession) throws(RunError) {
        session.receive()
        while let event = try session.nextEvent() { try take(event, of: session) }
        let state = session.state
        if let death = session.takeDeath() { take(death, of: session, state) }
    }

    private func take(_ event: TestEvent, of session: WorkerSession) throws(RunError) {
        switch event {
        case .begin(let index, let outputStart):
            guard plan.indices.contains(index) else {
                throw .protocolMismatch("the test image began an unknown test")
            }
            session.begin(
                WorkerSession.RunningTest(
                    index: index, timeoutMilliseconds: plan[index].timeoutMilliseconds, outputStart: outputStart))
            if open.isEmpty || open[index]?.dead == nil { results.takeBeginning(index) }
        case .end(let index, let nanoseconds, let outputEnd):
            guard let test = session.end(index) else { return try session.refuseLine() }
            if test.issues.isEmpty, test.skipReason == nil, open.isEmpty {
                return results.takePass(index, nanoseconds)
            }
            let result = session.result(of: test, plan[index], nanoseconds: nanoseconds, outputEnd: outputEnd)
            if let dead = open[index]?.dead {
                diagnose(dead, index, result.outcome == .failed ? "it fails alone, too, but otherwise" : dead.passNote)
                // Without its session, the process is killed.
                session.state = .dead
            } else {
                take(result, index, test.directory)
            }
        case .issue(let issue):
            if session.state == .starting {
                session.announcement.issues.append(issue)
            } else if let test = session.current {
                _ = session.add(issue, to: test.index)
            } else {
                try session.refuseLine()
            }
        case .stray(let index?, _) where index >= plan.count:
            throw .protocolMismatch("the test image named an unknown test")
        case .stray(nil, let issue) where session.state == .starting:
            session.announcement.issues.append(issue)
        case .stray(let index, let issue): take(issue, of: index, session)
        case .skip(let reason): session.current?.skipReason = reason
        case .directory(let path): session.current?.directory = path
        case .attachment(let name): session.current?.attachments.append(name)
        case .met(let place): results.met.insert(place)
        case .idle: session.state = .idle
        case .changed: session.finish()
        case .crash, .exit: session.lastWords = event
        case .version, .untested, .list, .planned, .row, .ready:
            try session.announcement.add(event)
            if case .ready = event {
                session.state = .idle
                try takePlan(of: session)
            }
        }
    }

    /// Takes the end of a worker.
    ///
    /// - Parameter state: the state of the worker before its end.
    private func take(_ death: WorkerDeath, of session: WorkerSession, _ state: WorkerSession.State) {
        // If a build ends the run, no test and no worker has failed.
        let isExcused = options.isBuildStep && death.isInterruption
        let running = session.current
        if let only = session.only, let dead = open[only]?.dead {
            let note = running == nil || death.isInterruption ? nil : "it fails alone, too"
            return diagnose(dead, only, note, running == nil ? nil : death)
        }
        guard announcement != nil else {
            isStopping = true
            if isExcused { return }
            return results.reportModuleIssue(locator.issue(for: death, expected: "list of its tests"))
        }
        let rest = session.takeUnfinished { results.done[$0] || $0 == running?.index }
        queue.putBack(rest)
        guard let running else {
            if death.isInterruption { return }
            let leaks = state == .closing ? locator.leaks(death) : []
            leaks.forEach(results.reportModuleIssue)
            let isExpected = state == .closing || state != .starting && rest.isEmpty
            if !leaks.isEmpty || isExpected && death.end == .exited(0) { return }
            results.reportModuleIssue(locator.issue(for: death, expected: "quiet end after the last test"))
            // The next worker would end in the same way.
            if session.begunCount == 0, state != .closing { isStopping = true }
            return
        }
        if isExcused { return }
        let dead = DeadTest(
            result: session.result(of: running, plan[running.index]), death: death, directory: running.directory,
            previous: session.begunCount > 1 ? session.previousIndex.map { plan[$0] } : nil)
        // A test that is retried runs alone in any case.
        guard death.cause == nil, options.retryCount == 0 || options.leavesOutput else {
            return fail(running.index, dead)
        }
        // The first test of a worker was alone.
        if dead.previous == nil, !options.leavesOutput {
            return fail(running.index, dead, note: "it fails alone, too")
        }
        open[running.index, default: OpenTest()].dead = dead
        retries.insert(running.index, at: 0)
    }

    // MARK: Tests that run again

    /// A test that has no result yet.
    private struct OpenTest {
        /// Its failed attempts.
        var attempts: [TestResult] = []
        /// Its last attempt if the worker died in it. The next attempt shows whether the test fails alone, too.
        var dead: DeadTest?
    }

    /// A test that a worker's death has ended.
    private struct DeadTest {
        var result: TestResult
        let death: WorkerDeath
        let directory: String?
        /// The test that the worker had run before.
        let previous: PlannedTest?

        /// The note if the test passes alone.
        var passNote: String {
            previous.map { "it passes alone and failed only after other tests, the last of which was \($0.name)" }
                ?? "it passed when it ran again"
        }
    }

    /// Fails a test that a worker's death has ended, after the test has run alone.
    private func diagnose(_ dead: DeadTest, _ index: Int, _ note: String?, _ again: WorkerDeath? = nil) {
        open[index]?.dead = nil
        fail(index, dead, note: options.retryCount == 0 ? note : nil, again: again)
    }

    /// Fails a test that a worker's death has ended.
    ///
    /// - Parameters:
    ///   - note: the outcome of the test when it ran alone.
    ///   - again: the death of the worker when it ran alone.
    private func fail(_ index: Int, _ dead: DeadTest, note: String? = nil, again: WorkerDeath? = nil) {
        var (result, death) = (dead.result, dead.death)
        if options.leavesOutput, let again, again.end == death.end { death = again }
        var issue = locator.located(locator.issue(for: death, expected: "end of test"), test: result.test)
        if let note { issue.notes.append(note) }
        result.issues.append(issue)
        result.outcome = .failed
        result.output = dead.death.output
        result.omittedOutputCount = dead.death.omittedOutputCount
        let isFinal = dead.death.isInterruption
        take(result, index, isFinal ? nil : dead.directory, isFinal: isFinal)
    }

    /// Takes the result of an attempt. The test may run again.
    private func take(_ result: TestResult, _ index: Int, _ directory: String?, isFinal: Bool = false) {
        var result = results.completed(result, index, directory)
        var attempts = open.removeValue(forKey: index)?.attempts ?? []
        if result.outcome == .failed, !isFinal, !isStopping, attempts.count < options.retryCount {
            attempts.append(result)
            open[index] = OpenTest(attempts: attempts)
            retries.append(index)
        } else {
            result.earlierAttempts = attempts
            results.add(result, index)
        }
        stopIfFailed()
    }

    /// Ends the tests that were to run again and have not begun to.
    private func giveUpRetries() {
        retries = []
        let running = sessions.filter { $0.state == .running }.compactMap(\.only)
        for index in open.keys.sorted() where !running.contains(index) {
            guard var test = open[index] else { continue }
            if let dead = test.dead {
                diagnose(dead, index, nil)
            } else if var result = test.attempts.popLast() {
                open[index] = nil
                result.earlierAttempts = test.attempts
                results.add(result, index)
            }
        }
    }

    /// Takes an issue that was not recorded by a task of the running test.
    private func take(_ issue: TestIssue, of index: Int?, _ session: WorkerSession) {
        if let index, session.add(issue, to: index) { return }
        if issue.knownReason != nil || session.only.map({ open[$0]?.dead != nil }) ?? false { return }
        let running = session.current?.index
        let owner = index ?? locator.owner(of: issue, in: plan, running: running) { results.done[$0] }
        if let owner, session.add(issue, to: owner) { return }
        if let owner, let last = open[owner]?.attempts.indices.last {
            open[owner]?.attempts[last].issues.append(results.noted(issue, afterTest: plan[owner]))
        } else {
            results.take(issue, of: owner, running: running)
        }
        stopIfFailed()
    }

    private func stopIfFailed() {
        if options.stopsAtFirstFailure, results.hasFailures { isStopping = true }
    }

    /// The worker's name of a test.
    package func workerName(ofTestAt index: Int) -> String { (announcement?.tests ?? plan)[index].name }

    /// The place of the test of this name, `Type.test`.
    package static func place(ofTestNamed name: String, in module: ModuleDescription) -> SourcePlace? {
        guard let dot = name.lastIndex(of: ".") else { return nil }
        let test = PlannedTest(
            typeName: String(name[..<dot]), testName: String(name[name.index(after: dot)...]), testType: "unit",
            module: module.module)
        return SourceScan(sources: module.sources, module: module.module).place(of: test)
    }
}
