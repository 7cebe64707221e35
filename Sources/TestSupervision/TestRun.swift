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

    private var results = ResultOrder([])
    /// What is to be run yet.
    private var queue = WorkQueue([], known: [:], workerCountMax: 1)
    /// Failed tests that are to run again, each in a worker of its own.
    private var retries: [Int] = []
    /// The failed attempts at tests that have no result yet, by index.
    private var attempts: [Int: [TestResult]] = [:]
    private var sessions: [WorkerSession] = []
    /// The session whose plan all others have.
    private var first: WorkerSession?
    /// Which tests have run, by index.
    private var done: [Bool] = []
    private var failedNames: Set<String> = []
    /// Whether the lists certainly name all tests that the sources declare.
    private var isListComplete = false
    private var slowTimes: [String: Int] = [:]
    private lazy var directories = TemporaryDirectories(keptFolder: options.keptDirectoryFolder)
    private var limitsChecked = ContinuousClock.now
    private var lastWake = ContinuousClock.now
    /// How often in a row it was woken shortly after the last time.
    private var quickWakeCount = 0
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
        defer { directories.removeRest() }
        let first = try startedSession()
        // The worker takes its time to start; meanwhile the sources are read.
        let declaredSum = options.selection.isRestricted ? nil : NameSums.declared(in: module.sources)
        guard try waitUntilReady(first) else { return tally }
        self.first = first
        plan = first.plan
        var memory = RunMemory(module)
        let chosen = options.selection.indices(in: plan, memory: memory, sources: { self.sources })
        results = ResultOrder(chosen)
        tally.planned = chosen.count
        tally.unselected = plan.count - chosen.count
        report(.planned(module: module.module, tests: chosen.count == plan.count ? plan : chosen.map { plan[$0] }))
        if options.isListing { return tally }
        done = Array(repeating: false, count: plan.count)
        // What an earlier run has kept is of use until the next.
        TemporaryDirectories.remove(memory.keptDirectories)
        let duplicates = Self.duplicates(in: plan)
        for index in duplicates.sorted() where chosen.contains(index) { passOn(duplicateResult(plan[index]), index) }
        let runnable = duplicates.isEmpty ? chosen : chosen.filter { !duplicates.contains($0) }
        let workerCountMax = min(options.workerCountMax, max(1, runnable.count))
        queue = WorkQueue(
            ordered(runnable, memory), known: workerCountMax > 1 ? memory.times(in: plan) : [:],
            workerCountMax: workerCountMax)
        assign()
        // While the worker runs.
        isListComplete =
            !options.selection.isRestricted && NameSums.showNothingLost(declared: declaredSum, plan: plan)
        try runQueue()
        giveUpRetries()
        tally.notRun += results.finish(passOn: count)
        reportWarnings(first.warnings)
        memory.update(failed: failedNames, times: slowTimes, isOfAll: tally.unselected + tally.notRun == 0) {
            Set(plan.indices.filter { done[$0] }.map { plan[$0].name })
        }
        memory.keptDirectories = directories.kept
        memory.store(for: module)
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

    @discardableResult
    private func startedSession() throws(RunError) -> WorkerSession {
        do throws(SystemError) {
            let session = try WorkerSession(module, options: options, directory: directories.root, plan: first)
            sessions.append(session)
            return session
        } catch { throw .system(error) }
    }

    /// Waits for a worker's plan; false when it died over it, which is then reported.
    private func waitUntilReady(_ session: WorkerSession) throws(RunError) -> Bool {
        while session.state == .starting {
            session.receive(waiting: session.patience)
            while let report = session.nextReport() {
                switch report {
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
                if queue.isEmpty, retries.isEmpty { return }
                try startedSession()
            }
            let isLong = ContinuousClock.now - start > .milliseconds(40)
            if isWorthAnother(isLong: isLong) { try startedSession() }
            letEventsGather()
            let speaking = Worker.wait(
                for: sessions.map(\.worker), milliseconds: min(patience, isLong ? 1000 : 10))
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

    /// Whether another worker pays for its start: for what is known to take long, or has done so already.
    private func isWorthAnother(isLong: Bool) -> Bool {
        guard sessions.count < options.workerCountMax, !isStopping,
            sessions.count(where: { $0.state == .starting }) <= sessions.count / 2
        else { return false }
        if !retries.isEmpty { return true }
        if options.stopsAtFirstFailure, !attempts.isEmpty { return false }
        guard queue.count > 1 else { return false }
        let share = queue.estimate / sessions.count
        return isLong ? share > 10_000_000 || queue.count <= 4 * sessions.count : share > 80_000_000
    }

    private func interrupt(_ reason: String) {
        isStopping = true
        WorkerSession.interrupt(sessions, reason)
    }

    private var patience: Int { sessions.map(\.patience).min() ?? 0 }

    private func serve(_ session: WorkerSession) throws(RunError) {
        session.receive(waiting: 0)
        while let report = session.nextReport() {
            switch report {
            case .began(let index): if !options.reportsOnlyNews { self.report(.began(plan[index])) }
            case .passed(let index, let nanoseconds): takePass(index, nanoseconds)
            case .ended(let index, let result, let directory): take(result, index, directory)
            case .protocolMismatch(let text): throw .protocolMismatch(text)
            case .died(let death): try take(death, of: session)
            }
        }
    }

    /// Gives idle workers something to run, or sends them home.
    private func assign() {
        for session in sessions where session.state == .idle && options.stopsAtFirstFailure {
            queue.putBack(session.takeUnfinished { done[$0] })
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
            let isWaiting = options.stopsAtFirstFailure && !attempts.isEmpty
            let piece = isWaiting || session.isForAttempt ? [] : queue.takePiece()
            if piece.isEmpty { session.finish() } else { session.run(piece) }
        }
    }

    private func take(_ death: WorkerDeath, of session: WorkerSession) throws(RunError) {
        // What a dead worker had not begun is run by the next.
        let rest = session.takeUnfinished { done[$0] || $0 == death.test?.index }
        guard let (index, partial) = death.test else {
            if case .interruption? = death.verdict { return }
            if session.wasStarting || !rest.isEmpty || death.end != .exited(0) {
                reportModuleIssue(locator.issue(for: death, expected: "quiet end after the last test"))
                // A worker that dies between tests would do so for ever.
                queue.removeAll()
                isStopping = true
            }
            return
        }
        queue.putBack(rest)
        var result = partial
        var issue = locator.located(locator.issue(for: death, expected: "end of test"), test: result.test)
        // A test that is run again is run alone, which says more.
        let isAgain = options.retryCount > 0 || session.isForAttempt
        if issue.kind == .crash || issue.kind == .exit, death.verdict == nil, !isAgain {
            issue.notes += try noteOnRunningAlone(index, session)
        }
        result.issues.append(issue)
        result.outcome = .failed
        result.output = death.output
        result.omittedOutputCount = death.omittedOutputCount
        if case .interruption? = death.verdict { return take(result, index, nil, isFinal: true) }
        take(result, index, death.directory)
    }

    /// Runs a test that died once more in a worker of its own, and says whether it dies there too.
    private func noteOnRunningAlone(_ index: Int, _ session: WorkerSession) throws(RunError) -> [String] {
        guard session.begunCount > 1, let previous = session.previousTest else { return [] }
        let alone = try startedSession()
        defer { sessions.removeAll { $0 === alone } }
        while Interruption.reason == nil {
            if alone.state == .idle { alone.run([index..<index + 1]) }
            alone.receive(waiting: alone.patience)
            while let report = alone.nextReport() {
                switch report {
                case .died(let death): return death.test == nil ? [] : ["it fails alone, too"]
                case .passed:
                    alone.abort()
                    return ["it passes alone and failed only after other tests, the last of which was \(previous.name)"]
                case .ended(_, let result, _):
                    alone.abort()
                    return [
                        result.outcome == .failed
                            ? "it fails alone, too, but otherwise"
                            : "it passes alone and failed only after other tests, the last of which was \(previous.name)"
                    ]
                case .protocolMismatch: return []
                case .began: break
                }
            }
            alone.checkLimits()
        }
        return []
    }

    // MARK: Results

    /// Takes the end of a test that has passed with nothing to say of it.
    private func takePass(_ index: Int, _ nanoseconds: Int) {
        queue.note(index, nanoseconds: nanoseconds)
        if options.reportsOnlyNews, nanoseconds < RunMemory.slowTime, attempts.isEmpty, results.skip(index) {
            done[index] = true
            tally.passed += 1
            return
        }
        var result = TestResult(test: plan[index], outcome: .passed)
        result.nanoseconds = nanoseconds
        if nanoseconds >= RunMemory.slowTime { slowTimes[result.test.name] = nanoseconds }
        done[index] = true
        if !attempts.isEmpty { result.earlierAttempts = takeAttempts(index) }
        results.add(result, index, passOn: count)
    }

    /// Takes the end of a test: has it run again, or passes its result on.
    ///
    /// - Parameters:
    ///   - directory: the test's temporary directory, if it is still there.
    ///   - isFinal: whether the test is not to run again.
    private func take(_ result: TestResult, _ index: Int, _ directory: String?, isFinal: Bool = false) {
        var result = result
        queue.note(index, nanoseconds: result.nanoseconds)
        if result.nanoseconds >= RunMemory.slowTime { slowTimes[result.test.name] = result.nanoseconds }
        done[index] = true
        if result.outcome == .failed, let directory, let place = directories.keep(directory),
            let last = result.issues.lastIndex(where: { $0.knownReason == nil })
        {
            result.issues[last].notes.append(
                options.isStable ? "its temporary directory is kept" : "its temporary directory is kept: \(place)")
        }
        if result.outcome == .failed, !isFinal, !isStopping, attempts[index, default: []].count < options.retryCount {
            attempts[index, default: []].append(placed(result))
            retries.append(index)
            return
        }
        result.earlierAttempts = takeAttempts(index)
        passOn(result, index)
    }

    private func takeAttempts(_ index: Int) -> [TestAttempt] {
        (attempts.removeValue(forKey: index) ?? []).map(\.lastAttempt)
    }

    /// Lets the last attempt stand for each test that will not run again after all.
    private func giveUpRetries() {
        retries = []
        let running = sessions.filter { $0.isForAttempt && $0.state == .running }.flatMap {
            $0.assigned.flatMap(\.self)
        }
        for index in attempts.keys.sorted() where !running.contains(index) {
            guard var result = attempts[index]?.popLast() else { continue }
            result.earlierAttempts = takeAttempts(index)
            passOn(result, index)
        }
    }

    /// Passes a result on, in the order of the plan.
    private func passOn(_ result: TestResult, _ index: Int) {
        if result.outcome == .failed {
            failedNames.insert(result.test.name)
            if options.stopsAtFirstFailure { isStopping = true }
        }
        var placed = placed(result)
        for issue in placed.issues.indices { placed.issues[issue].fixIt = fixIt(for: placed.issues[issue]) }
        results.add(placed, index, passOn: count)
    }

    /// Gives every issue of a result its place, and what repeats it.
    private func placed(_ result: TestResult) -> TestResult {
        var placed = result
        let seed = options.shuffleSeed.map { "the order was shuffled with seed \($0)" }
        for index in placed.issues.indices {
            placed.issues[index] = locator.located(result.issues[index], test: result.test)
            if let seed, !placed.issues[index].notes.contains(seed) { placed.issues[index].notes.append(seed) }
        }
        return placed
    }

    /// Offers what was got in place of the literal that was expected, while the source is still what was compiled.
    private func fixIt(for issue: TestIssue) -> SourceFixIt? {
        guard let written = FileAccess.modificationTime(of: issue.path),
            let linked = FileAccess.modificationTime(of: module.image), written < linked,
            let fix = LiteralFix(for: issue)
        else { return nil }
        fixes.append(fix)
        return SourceFixIt(start: fix.start, end: fix.end, text: fix.replacement)
    }

    /// Counts a result and reports it.
    private func count(_ result: TestResult) {
        switch result.outcome {
        case .passed: tally.passed += 1
        case .failed: tally.failed += 1
        case .skipped: tally.skipped += 1
        }
        if options.reportsOnlyNews, result.isPlainPass, options.slowMilliseconds == 0 { return }
        if result.isFlaky { tally.flaky += 1 }
        for issue in result.issues where issue.knownReason != nil { tally.knownIssues += 1 }
        report(.ended(result))
        if options.slowMilliseconds > 0, result.nanoseconds > options.slowMilliseconds * 1_000_000 {
            warnSlow(result)
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
        var start = 0
        // PERF: here and below `while` for `for`, which in a debug build costs more than what it does.
        while start < plan.count {
            // The tests of one list stand together.
            var end = start + 1
            while end < plan.count, plan[end].typeName == plan[start].typeName,
                plan[end].testType == plan[start].testType
            {
                end += 1
            }
            if mayHaveDuplicates(plan, start, end) {
                var names: Set<String> = []
                for index in start..<end where !names.insert(plan[index].testName).inserted { duplicates.insert(index) }
            }
            start = end
        }
        return duplicates
    }

    /// Whether two names have the same hash.
    private static func mayHaveDuplicates(_ plan: [PlannedTest], _ start: Int, _ end: Int) -> Bool {
        var slotCount = 16
        while slotCount < (end - start) * 4 { slotCount *= 2 }
        let slots = UnsafeMutablePointer<Int>.allocate(capacity: slotCount)
        slots.initialize(repeating: 0, count: slotCount)
        defer { slots.deallocate() }
        var index = start
        while index < end {
            let hash = plan[index].testName.hashValue | 1
            // SAFETY: the mask keeps the slot below the count, which is a power of two and larger than what is stored.
            var slot = (hash >> 1) & (slotCount - 1)
            while slots[slot] != 0 {
                if slots[slot] == hash { return true }
                slot = (slot + 1) & (slotCount - 1)
            }
            slots[slot] = hash
            index += 1
        }
        return false
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
        if options.selection.isRestricted || isListComplete { return }
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
