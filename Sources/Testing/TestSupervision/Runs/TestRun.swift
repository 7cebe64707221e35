// Runs the tests of one module in a loop that starts workers and gives them parts of the plan. TestRun+Events handles
// their events. *Working on InClassTesting* describes each step of a test.

internal import InClassSystem
import TestEvents

package final class TestRun {
    private let module: ModuleDescription
    let options: RunOptions
    private let directories: DirectoryKeeper
    let locator: IssueLocator
    let results: RunResults

    /// The module's tests, after a worker has announced them.
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

    /// The errors in the selected lines of this module.
    package private(set) var lineMistakes: [String] = []

    private var orphans = Orphans()
    /// The tests that no worker has been given.
    var queue = WorkQueue([], known: [:], workerCountMax: 1)
    /// The tests that have run but have no final result, by index. Each of them runs again in its own worker.
    var open: [Int: OpenTest] = [:]
    /// The open tests that no worker has been given.
    var retries: [Int] = []
    var workers: [Worker] = []
    /// The first worker's announcement: the plan with the names that workers use.
    var announcement: PlanAnnouncement?
    private lazy var lastRun = LastRun(module)
    /// A Boolean value that indicates whether no more tests begin.
    var isStopping = false
    private var lastWake = ContinuousClock.now
    /// The number of consecutive short waits.
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
            workers = []
            orphans.end()
            orphans.adopt(false)
            directories.removeRest()
        }
        try startWorker()
        // The sources are read while the worker starts.
        if options.choice.checksLists { _ = locator.sources.scan }
        try loop()
        guard let announcement, !options.isListing else { return results.tally }
        results.finish(isStopped: isStopping)
        if !options.isBuildStep { results.warnOfNewerSources() }
        for issue in announcement.issues where issue.knownReason == nil { results.reportModuleIssue(issue) }
        results.reportLimits(announcement.refusedLimits)
        results.reportLists(announcement.untested)
        results.remember(after: lastRun)
        return results.tally
    }

    /// Compares the plan of a worker with that of the first worker. If this is the first worker, selects the tests to
    /// run.
    func takePlan(of worker: Worker) throws(RunError) {
        let announced = worker.announcement
        if let first = announcement?.sum, let sum = announced.sum {
            if worker.part.isEmpty ? sum == first : announced.tests[...] == worker.part { return }
            throw .protocolMismatch(
                "the tests differ from process to process; names and rows that are made at run time must not "
                    + "depend on the order of a Set or Dictionary, or on the time")
        }
        guard let count = announced.sum?.count, count == announced.tests.count else {
            throw .protocolMismatch(
                "the test executable announced \(announced.sum?.count ?? 0) tests but counted \(announced.tests.count)")
        }
        announcement = announced
        choose(from: SourceScan.tellingTypesApart(announced.tests, sources: locator.sources))
    }

    /// Selects the tests of the plan that run.
    private func choose(from plan: [PlannedTest]) {
        let chosen = options.choice.indices(in: plan, lastRun: lastRun, sources: locator.sources)
        if options.choice.isFailedOnly { goneFailures = lastRun.failed.subtracting(plan.map(\.name)) }
        for line in options.choice.lines where module.sources.contains(where: line.names) {
            if let mistake = locator.sources.scan.mistake(in: line, of: plan) { lineMistakes.append(mistake) }
        }
        results.takePlan(plan, chosen: chosen)
        if options.isListing { return workers = [] }
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

    /// Starts a worker. If a test must run again, the worker runs that test.
    private func startWorker() throws(RunError) {
        var only = retries.isEmpty ? nil : retries.removeFirst()
        var part: ArraySlice<PlannedTest> = []
        if options.isolatesTests, let announced = announcement?.tests {
            only = only ?? queue.takePiece().first?.lowerBound
            if let only { part = Self.testsOfType(at: only, in: announced) }
        }
        var options = options
        // In the first run, the messages of the test went to the terminal. The diagnosis needs them.
        if let only, open[only]?.diagnosis != nil { options.leavesOutput = false }
        do throws(SystemError) {
            workers.append(
                try Worker(
                    module, options: options, directory: directories.root, isPlanKnown: announcement != nil, only: only,
                    part: part))
        } catch { throw .system(error) }
    }

    /// Returns all tests of a test's type. They are consecutive.
    private static func testsOfType(at index: Int, in tests: [PlannedTest]) -> ArraySlice<PlannedTest> {
        var (start, end) = (index, index + 1)
        while start > 0, tests[start - 1].typeName == tests[index].typeName { start -= 1 }
        while end < tests.count, tests[end].typeName == tests[index].typeName { end += 1 }
        return tests[start..<end]
    }

    /// Runs all tests in workers and handles their events.
    private func loop() throws(RunError) {
        while true {
            if let reason = Interruption.reason {
                isStopping = true
                for worker in workers { worker.end(.interruption(reason: reason)) }
            }
            assign()
            workers.removeAll { $0.state == .dead }
            if workers.isEmpty {
                orphans.end()
                if queue.isEmpty, retries.isEmpty { return giveUpRetries() }
            }
            if isWorthAnother { try startWorker() }
            letEventsGather()
            let mayGrow = busy.count < options.workerCountMax && !queue.isEmpty
            let workers = workers
            LineReader.wait(
                for: workers.filter(\.isOpen).map(\.events), milliseconds: min(patience, mayGrow ? 20 : 1000))
            // A test may have reached its limit, or a worker may have ended, even without an event.
            for worker in workers where worker.state != .dead { try serve(worker) }
        }
    }

    /// Waits a moment if workers send a few events at short intervals. Otherwise, waking up would take longer than
    /// short tests.
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

    /// A Boolean value that indicates whether starting another worker is worthwhile because all others run long tests.
    private var isWorthAnother: Bool {
        let busy = busy
        if workers.isEmpty || busy.isEmpty && !(queue.isEmpty && retries.isEmpty) { return true }
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

    /// The workers with work. A worker that only waits for late failures of its only test isn't included.
    private var busy: [Worker] { workers.filter { $0.state == .running || !isOver($0) } }

    /// Returns whether a worker has run its only test.
    func isOver(_ worker: Worker) -> Bool {
        worker.begunCount > 0 && (options.isolatesTests || worker.only != nil)
    }

    /// A Boolean value that indicates whether the next tests wait for the end of a test that runs again.
    private var isWaiting: Bool { options.stopsAtFirstFailure && !open.isEmpty }

    private var patience: Int {
        workers.map { isOver($0) ? min($0.patience, options.lateMilliseconds / 4) : $0.patience }.min() ?? 0
    }

    /// Gives tests to idle workers, or ends the workers.
    private func assign() {
        if isStopping {
            queue.removeAll()
            giveUpRetries()
        }
        for worker in workers where worker.state == .idle {
            if options.stopsAtFirstFailure, !isStopping { queue.putBack(worker.takeUnfinished { results.done[$0] }) }
            if let only = worker.only, worker.begunCount == 0, !isStopping {
                worker.run([only..<only + 1])
                continue
            }
            let isOver = isOver(worker)
            // Tasks that the test has started may still fail.
            if isOver, !isStopping, worker.stateTime < .milliseconds(options.lateMilliseconds) { continue }
            let piece = isWaiting || isOver || worker.only != nil ? [] : queue.takePiece()
            if piece.isEmpty { worker.finish() } else { worker.run(piece) }
        }
    }

    /// Returns the name of a test as workers use it.
    package func workerName(ofTestAt index: Int) -> String { (announcement?.tests ?? plan)[index].name }

    package func place(ofTestAt index: Int) -> SourcePlace? { locator.sources.scan.place(of: plan[index]) }
}
