// One worker and what it is doing: starting, running a part of the plan, or dying. A session turns the worker's events
// into results; which part of the plan it runs, and what becomes of the results, is TestRun's business.

internal import InClassSystem
import TestEvents

/// Why a worker is gone.
struct WorkerDeath {
    var end: ProcessEnd
    /// The `crash` or `exit` that it could still send.
    var lastWords: TestEvent?
    /// The test that was running.
    var test: (index: Int, result: TestResult)?
    /// The temporary directory of that test.
    var directory: String?
    /// The end of what the test, or the worker without one, had written.
    var output: [UInt8]
    var omittedOutputCount: Int
    /// What ended it, when the supervisor did.
    var cause: Cause?
    /// What it was doing.
    var state: WorkerSession.State

    var isInterruption: Bool { if case .interruption? = cause { true } else { false } }

    enum Cause: Equatable {
        case timeout(milliseconds: Int)
        case flood(byteCount: Int)
        case interruption(reason: String)
        /// The test closed the descriptor of the worker's events and went on.
        case silence
        /// The test wrote to the descriptor of the worker's events.
        case intrusion
    }
}

final class WorkerSession {
    private struct Running {
        var index: Int
        var outputStart: Int
        var issues: [TestIssue] = []
        var skipReason: String?
        var directory: String?
        /// The names of the files in it that are attached.
        var attachments: [String] = []
    }

    enum State: Equatable { case starting, idle, running, closing, dead }

    let worker: Worker
    private let outputFile: Int32
    private let options: RunOptions
    private(set) var state = State.starting
    var plan: [PlannedTest] = []
    /// The number of tests that it has announced, and their hash.
    private(set) var announced: (count: Int, hash: Int)?
    /// The types that have no tests to run, and why if their lists aren't empty.
    private(set) var untested: [(typeName: String, reason: String?)] = []
    /// What was not met while the lists were made.
    private(set) var listIssues: [TestIssue] = []
    /// The limits below zero of types' lists, which are none.
    private(set) var refusedLimits: [(typeName: String, milliseconds: Int)] = []
    /// The part of the plan it was last given.
    private(set) var assigned: [Range<Int>] = []
    /// When that was.
    private(set) var assignment = ContinuousClock.now
    private var idleSince = ContinuousClock.now
    /// The time since the last test ended.
    var idleTime: Duration { .now - idleSince }
    /// The only test that it runs, if it was started for one test.
    let attempt: Int?
    /// A Boolean value that indicates whether it ends because a test has changed the state of its process.
    private(set) var leavesRest = false
    /// How many tests this worker has begun.
    private(set) var begunCount = 0
    /// The index of the test that is running.
    var runningIndex: Int? { current?.index }
    /// The test that ran before the present one.
    var previousTest: PlannedTest? { previousIndex.map { plan[$0] } }
    private var previousIndex: Int?
    /// A Boolean value that indicates whether it may say something yet.
    private var isOpen = true

    /// The test that is running.
    private var current: Running?
    private var list: PlannedTest?
    /// Of what it is doing.
    private var time = TestTime()
    /// How long starting and ending may take.
    private let limitOutsideTests: Int
    /// How many times longer everything may take, as it does with a sanitizer in the image.
    private var slowness = 1
    private var lastWords: TestEvent?
    /// Why it is being ended.
    private var cause: WorkerDeath.Cause?
    /// How long it has been taking to say where it is, so that it can be ended.
    private var answerTime = TestTime()
    /// What it must announce.
    private var expected: (count: Int, hash: Int)?
    private let part: [PlannedTest]
    /// The plan of all tests, which replaces the announced part.
    private var whole: [PlannedTest]?

    /// Starts a worker on a module's image.
    ///
    /// - Parameters:
    ///   - directory: where its tests have their temporary directories.
    ///   - plan: what another worker has announced, or nil for the first.
    ///   - attempt: the only test that it is to run.
    ///   - part: the tests of that one's type, as they were announced; then it makes no other lists.
    init(
        _ module: ModuleDescription, options: RunOptions, directory: String, plan known: WorkerSession?, attempt: Int?,
        part: ArraySlice<PlannedTest> = []
    ) throws(SystemError) {
        self.options = options
        self.attempt = attempt
        limitOutsideTests = max(options.timeoutMilliseconds, 10_000)
        self.part = Array(part)
        if let known, part.isEmpty {
            plan = known.plan
            expected = known.announced
        } else {
            whole = known?.plan
        }
        outputFile = try ChildProcess.temporaryFile()
        _ = fcntl(outputFile, F_SETFL, O_APPEND)
        var environment = ["IN_CLASS_TEMPORARY": directory]
        let resources = module.resources.filter(FileAccess.isDirectory)
        // Without any, those that this process has been told of are the worker's.
        if !resources.isEmpty { environment["IN_CLASS_RESOURCES"] = resources.joined(separator: ":") }
        // Not a bundle of the build, which is a copy, where a plugin has said what it is a copy of.
        if !module.bundleFolder.isEmpty || !module.ownResources.isEmpty {
            environment["IN_CLASS_GOLDENS"] = module.ownResources.joined(separator: "\n")
        }
        if options.isAccepting { environment["IN_CLASS_ACCEPTING"] = "1" }
        if options.isStable { environment["SWIFT_DETERMINISTIC_HASHING"] = "1" }
        let sanitizers = SanitizerReport.environment(module, inherited: Environment.value)
        environment.merge(sanitizers) { $1 }
        if !sanitizers.isEmpty { slowness = 5 }
        // An instrumented image leaves a profile when it ends: where it is wanted, or nowhere.
        environment.merge(
            options.leavesProfiles ? CoverageReport.environment(module) : ["LLVM_PROFILE_FILE": "/dev/null"]
        ) { $1 }
        worker = try Worker(
            image: module.image, module: module.module, output: options.leavesOutput ? nil : outputFile,
            environment: environment,
            plan: part.first.map { "\(part.startIndex):\($0.typeName)" } ?? (known == nil ? "unknown" : "known"))
    }

    deinit { close(outputFile) }

    /// Has the worker run a part of the plan, the rest of which is given up at a failure when all else is, too.
    func run(_ ranges: [Range<Int>]) {
        assigned = ranges
        assignment = ContinuousClock.now
        state = .running
        worker.run(ranges, stopsAtFailure: options.stopsAtFirstFailure)
    }

    /// What it was told to run and has not; it is not told to again.
    func takeUnfinished(isDone: (Int) -> Bool) -> [Int] {
        var unfinished: [Int] = []
        for range in attempt != nil ? [] : assigned {
            var index = range.lowerBound
            while index < range.upperBound {
                if !isDone(index) { unfinished.append(index) }
                index += 1
            }
        }
        assigned = []
        return unfinished
    }

    /// Has the worker end, now that there is nothing more to run.
    func finish() {
        state = .closing
        time = TestTime()
        worker.closeCommands()
    }

    /// How long what it is doing may take.
    private var limitMilliseconds: Int {
        guard let current else {
            return min(
                state == .closing ? options.timeoutMilliseconds : limitOutsideTests, options.timeoutMillisecondsMax)
        }
        let own = plan[current.index].timeoutMilliseconds
        let limit = min(own > 0 ? own : options.timeoutMilliseconds, options.timeoutMillisecondsMax)
        return min(limit, Int.max / slowness) * slowness
    }

    /// How long nothing needs to be done about this worker, in milliseconds.
    var patience: Int {
        // It is about to be gone, which nobody announces while a copy of it holds the pipe.
        if lastWords != nil { return 5 }
        if cause != nil { return 20 }
        if state == .idle || state == .running && current == nil { return 1000 }
        return max(1, min(1000, time.left(of: limitMilliseconds) + 1))
    }

    // MARK: Events

    /// Something that TestRun must know.
    enum Notice {
        case began(index: Int)
        /// A test has made what is expected at a place, or in a golden.
        indirect case met(place: String)
        /// A test has passed of which nothing else is to be said.
        case passed(index: Int, nanoseconds: Int)
        // PERF: indirect, so that the notices of passed tests stay small.
        indirect case ended(index: Int, TestResult, directory: String?)
        /// An issue of a test that isn't running, or of an unknown one.
        indirect case stray(index: Int?, TestIssue)
        indirect case died(WorkerDeath)
    }

    /// Reads what the worker has said; waits no longer than asked for. Notices follow, one by one.
    func receive(waiting milliseconds: Int) {
        if isOpen { isOpen = worker.receive(waiting: milliseconds) }
    }

    /// The next notice of what has been read.
    func nextNotice() throws(RunError) -> Notice? {
        while let line = worker.nextLine() {
            // What comes behind a foreign line is no event either.
            if cause != .intrusion, let notice = try take(line) { return notice }
        }
        return isOpen || state == .dead ? nil : .died(death())
    }

    private func take(_ line: EventLine) throws(RunError) -> Notice? {
        switch line {
        case .begin(let index, let outputStart):
            guard plan.indices.contains(index) else {
                throw .protocolMismatch("the test image began an unknown test")
            }
            begunCount += 1
            current = Running(index: index, outputStart: outputStart)
            time = TestTime()
            return .began(index: index)
        case .end(let index, let nanoseconds, let outputEnd):
            guard let ended = current, ended.index == index else { return try takeForeignLine() }
            current = nil
            previousIndex = index
            if ended.issues.isEmpty, ended.skipReason == nil { return .passed(index: index, nanoseconds: nanoseconds) }
            return .ended(index: index, result(of: ended, nanoseconds, outputEnd), directory: ended.directory)
        case .event(let event): return try take(event)
        case .unknown: return try takeForeignLine()
        }
    }

    /// Ends the worker, since a line in its descriptor isn't from it.
    private func takeForeignLine() throws(RunError) -> Notice? {
        // What is ended already may have been cut off within a line.
        if cause != nil { return nil }
        guard announced != nil else {
            throw .protocolMismatch("the test image said what this testlogger does not understand; build it anew")
        }
        cause = .intrusion
        worker.send(signal: SIGKILL)
        return nil
    }

    private func take(_ event: TestEvent) throws(RunError) -> Notice? {
        switch event {
        case .issue(let issue):
            if state == .starting {
                listIssues.append(issue)
            } else if current != nil {
                current?.issues.append(issue)
            } else {
                return try takeForeignLine()
            }
        case .stray(let index, let issue):
            if let index {
                if index >= plan.count { throw .protocolMismatch("the test image named an unknown test") }
                if add(issue, to: index) { return nil }
            } else if state == .starting {
                listIssues.append(issue)
                return nil
            }
            return .stray(index: index, issue)
        case .skip(let reason):
            current?.skipReason = reason
        case .directory(let path):
            current?.directory = path
        case .attachment(let name):
            current?.attachments.append(name)
        case .met(let place):
            return .met(place: place)
        case .idle:
            state = .idle
            idleSince = .now
        case .changed:
            finish()
            leavesRest = true
        case .crash, .exit:
            lastWords = event
        case .begin, .end: break
        case .version, .untested, .list, .planned, .row, .ready:
            try takePlan(event)
        }
        return nil
    }

    /// Adds an issue to a test if that test is running.
    func add(_ issue: TestIssue, to index: Int) -> Bool {
        if current?.index != index { return false }
        current?.issues.append(issue)
        return true
    }

    private func takePlan(_ event: TestEvent) throws(RunError) {
        switch event {
        case .version(let number) where number != TestEvent.currentVersion:
            throw .protocolMismatch(
                "the test image speaks version \(number), this testlogger \(TestEvent.currentVersion)")
        case .untested(let typeName, let reason):
            untested.append((typeName, reason))
        case .list(let test):
            list = test
            if test.timeoutMilliseconds < 0 { refusedLimits.append((test.typeName, test.timeoutMilliseconds)) }
        case .planned(let testName):
            try plan(testName, nil)
        case .row(let testName, let row):
            try plan(testName, row)
        case .ready(let count, let hash):
            guard count == plan.count else {
                throw .protocolMismatch("the test image announced \(count) tests but counts \(plan.count)")
            }
            let isOther = whole != nil && plan != part
            if let whole { plan = whole }
            if isOther || expected.map({ $0 != (count, hash) }) ?? false {
                throw .protocolMismatch(
                    "the test image announced two different plans; names and rows made at run time must be the same "
                        + "in every process, which those of a Set, a Dictionary or a clock are not")
            }
            announced = (count, hash)
            state = .idle
        default: break
        }
    }

    private func plan(_ testName: String, _ row: PlannedTest.TableRow?) throws(RunError) {
        guard var test = list else { throw .protocolMismatch("the test image announced a test of no list") }
        test.testName = testName
        test.row = row
        plan.append(test)
    }

    private func result(of ended: Running, _ nanoseconds: Int, _ outputEnd: Int) -> TestResult {
        let isFailed = ended.issues.contains { $0.knownReason == nil }
        var result = TestResult(
            test: plan[ended.index], outcome: isFailed ? .failed : ended.skipReason != nil ? .skipped : .passed)
        result.issues = ended.issues
        result.skipReason = ended.skipReason
        result.attachments = ended.directory.map { folder in ended.attachments.map { "\(folder)/\($0)" } } ?? []
        result.nanoseconds = nanoseconds
        if isFailed { (result.output, result.omittedOutputCount) = output(ended.outputStart, outputEnd) }
        return result
    }

    // MARK: Ends

    /// Ends the worker when its test takes too long or writes too much, or when it is being ended and says nothing.
    func checkLimits() {
        if state == .dead { return }
        if cause != nil {
            // The process may have stopped itself again.
            worker.send(signal: SIGCONT)
            if lastWords != nil || answerTime.isOver(1000, of: worker.process) { worker.send(signal: SIGKILL) }
            return
        }
        guard state != .idle, state != .running || current != nil else { return }
        let size = state == .running ? outputSize : 0
        if size > options.outputFileByteCountMax {
            end(.flood(byteCount: size))
        } else if time.isOver(limitMilliseconds, of: worker.process) {
            end(.timeout(milliseconds: limitMilliseconds))
        }
    }

    /// Has the worker say where it is and end: the signal asks for the stack of the test. What it says until then is read
    /// as usual; whatever the answer, the process is ended after a moment.
    func end(_ cause: WorkerDeath.Cause) {
        if state == .dead || self.cause != nil { return }
        self.cause = cause
        answerTime = TestTime()
        worker.send(signal: SIGPROF)
        // A stopped process can't answer.
        worker.send(signal: SIGCONT)
    }

    private func death() -> WorkerDeath {
        let last = state
        state = .dead
        let reached = worker.waitForEnd()
        if reached == nil, cause == nil { cause = .silence }
        let end = reached ?? .killed(signal: SIGKILL)
        let size = outputSize
        let elapsed = time.elapsed
        let (bytes, omitted) = output(current?.outputStart ?? 0, size)
        return WorkerDeath(
            end: end, lastWords: lastWords, test: current.map { ($0.index, result(of: $0, elapsed, size)) },
            directory: current?.directory, output: bytes, omittedOutputCount: omitted, cause: cause, state: last)
    }

    private var outputSize: Int {
        var status = stat()
        return fstat(outputFile, &status) == 0 ? Int(status.st_size) : 0
    }

    /// The end of a part of what the tests have written, and how much is missing before it.
    private func output(_ start: Int, _ end: Int) -> (bytes: [UInt8], omittedCount: Int) {
        // What a worker has to say after its tests is not of one test, and may be a long report.
        let countMax = current == nil && state == .dead ? 1 << 20 : options.outputByteCountMax
        let first = max(start, end - countMax)
        guard first < end,
            let bytes = try? FileAccess.contents(of: outputFile, from: first, to: end, name: "output")
        else { return ([], 0) }
        return (FatalMessage.withoutStackTrace(bytes), first - start)
    }
}
