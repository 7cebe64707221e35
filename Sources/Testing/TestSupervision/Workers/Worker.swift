// Runs a test executable in a process, and tracks its state: its announcement, its running test, its time limits and its end.
// TestRun handles its events and gives it tests to run.

internal import InClassSystem
import TestEvents

/// The end of a worker.
struct WorkerDeath {
    var end: ProcessEnd
    /// The last event of the worker, `crash` or `exit`, if it could send one.
    var crashReport: TestEvent?
    /// The reason why the supervisor ended the worker, or nil if the worker ended by itself.
    var cause: Cause?
    /// The end of the output of the running test, or of the worker if no test was running.
    var output: [UInt8] = []
    var omittedOutputCount = 0

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

final class Worker {
    /// The number of a descriptor that the system and tests are unlikely to use. The next number is that of the commands.
    static let eventDescriptor: Int32 = 198

    enum State { case starting, idle, running, closing, dead }

    /// The running test, and its events so far.
    struct RunningTest {
        let index: Int
        /// The test's own time limit, or 0.
        let timeoutMilliseconds: Int
        let outputStart: Int
        var issues: [TestIssue] = []
        var skipReason: String?
        var directory: String?
        /// The names of the attached files in the directory.
        var attachments: [String] = []
    }

    private let process: pid_t
    let events: LineReader
    private let commands: Descriptor
    private let outputFile: Descriptor
    private let options: RunOptions
    var state = State.starting { didSet { stateBegin = .now } }
    private var stateBegin = ContinuousClock.now
    /// The time since the last change of the state.
    var stateTime: Duration { .now - stateBegin }

    var announcement = PlanAnnouncement()
    /// The tests that the worker must announce, or an empty array if it announces the plan, or only the hash of the plan.
    let part: ArraySlice<PlannedTest>
    /// The only test that the worker runs, or nil if it runs as many as possible.
    let only: Int?
    private var assigned: [Range<Int>] = []
    /// The number of assigned tests that have ended.
    private var endedCount = 0
    /// A Boolean value that indicates whether the worker has run all assigned tests, or has stopped after one of them.
    var hasRunTests: Bool {
        endedCount == assigned.reduce(0) { $0 + $1.count } || options.stopsAtFirstFailure && endedCount > 0
    }
    var current: RunningTest?
    private(set) var begunCount = 0
    /// The index of the last test that ended.
    private(set) var previousIndex: Int?

    /// The time of the running test, or of the start or the end of the worker.
    private var time = TestTime()
    /// The factor of all time limits of tests. It is greater than 1 if the test executable contains a sanitizer.
    private let slowness: Int
    /// A Boolean value that indicates whether the worker has announced its end, after its last test.
    var hasFinished = false
    var crashReport: TestEvent?
    /// The reason why the supervisor ends the worker, and the time since then.
    private var ending: (cause: WorkerDeath.Cause, time: TestTime)?
    private var end: ProcessEnd?
    /// The time when the worker closed its events or its process ended.
    private var silenceBegin: ContinuousClock.Instant?
    var isOpen: Bool { silenceBegin == nil }

    /// Starts a worker with a module's test executable.
    ///
    /// - Parameters:
    ///   - directory: the folder for the temporary directories of the tests.
    ///   - isPlanKnown: a Boolean value that indicates whether another worker has announced the plan.
    ///   - only: the only test that the worker runs, or nil.
    ///   - part: the tests of that test's type, if the worker creates only the lists of this type.
    init(
        _ module: ModuleDescription, options: RunOptions, directory: String, isPlanKnown: Bool, only: Int?,
        part: ArraySlice<PlannedTest> = []
    ) throws(SystemError) {
        self.options = options
        self.only = only
        self.part = part
        outputFile = try ChildProcess.temporaryFile()
        _ = fcntl(outputFile.number, F_SETFL, O_APPEND)
        let (eventPipe, commandPipe) = (try ChildProcess.makePipe(), try ChildProcess.makePipe())
        events = LineReader(eventPipe.read)
        commands = commandPipe.write
        let sanitizers = SanitizerReport.environment(module, inherited: Environment.value)
        slowness = sanitizers.isEmpty ? 1 : 5
        let file = options.leavesOutput ? nil : outputFile
        let outputs = [1, 2].map { file ?? Descriptor(fcntl($0, F_DUPFD_CLOEXEC, 0)) }
        let plan = part.first.map { "\(part.startIndex):\($0.typeName)" } ?? (isPlanKnown ? "known" : "unknown")
        let (event, command) = (Self.eventDescriptor, Self.eventDescriptor + 1)
        process = try ChildProcess.start(
            [module.executable, "--in-class-worker", module.module, "\(event)", "\(command)", plan],
            environment: Self.environment(module, options, directory).merging(sanitizers) { $1 },
            descriptors: [
                (Descriptor(open("/dev/null", O_RDONLY | O_CLOEXEC)), 0), (outputs[0], 1), (outputs[1], 2),
                (eventPipe.write, event), (commandPipe.read, command),
            ], isGroup: true)
    }

    deinit {
        guard end == nil else { return }
        kill(process, SIGKILL)
        kill(-process, SIGKILL)
        // A process that hangs in the kernel can't be ended.
        _ = ChildProcess.wait(for: process, until: .now + .seconds(5))
    }

    /// Returns the end of the process, or nil if it hasn't ended. Also ends the processes that a test has left in its
    /// group.
    private func reap() -> ProcessEnd? {
        if end == nil, ChildProcess.hasEnded(process) {
            // After the wait, another group may have the same number.
            kill(-process, SIGKILL)
            end = ChildProcess.wait(for: process)
        }
        return end
    }

    private func send(signal: Int32) {
        if end == nil { kill(process, signal) }
    }

    private static func environment(
        _ module: ModuleDescription, _ options: RunOptions, _ directory: String
    ) -> [String: String] {
        // Swift's own crash reporter is slower, and its report isn't an event.
        var environment = ["IN_CLASS_TEMPORARY": directory, "SWIFT_BACKTRACE": "enable=no"]
        let resources = module.resources.filter(FileAccess.isDirectory)
        // Without these folders, the worker uses the folders of this process.
        if !resources.isEmpty { environment["IN_CLASS_RESOURCES"] = resources.joined(separator: ":") }
        // A bundle in the build is only a copy. Goldens are in the folder that the plugin names.
        if !module.bundleFolder.isEmpty || !module.ownResources.isEmpty {
            environment["IN_CLASS_GOLDENS"] = module.ownResources.joined(separator: "\n")
        }
        if options.isAccepting { environment["IN_CLASS_ACCEPTING"] = "1" }
        if options.isStable { environment["SWIFT_DETERMINISTIC_HASHING"] = "1" }
        // An instrumented test executable writes a profile when it ends.
        return environment.merging(
            options.leavesProfiles ? CoverageReport.environment(module) : ["LLVM_PROFILE_FILE": "/dev/null"]
        ) { $1 }
    }

    // MARK: What it runs

    /// Runs a part of the plan. If requested, the worker stops at the first failure.
    func run(_ ranges: [Range<Int>]) {
        assigned = ranges
        endedCount = 0
        state = .running
        var text = options.stopsAtFirstFailure ? "try" : "run"
        for range in ranges { text += " \(range.lowerBound) \(range.upperBound)" }
        // If the worker has ended, its events end, too.
        try? FileAccess.write(Array("\(text)\n".utf8), to: commands.number, name: "")
    }

    /// Returns the assigned tests that haven't run, and takes them from the worker. The worker's only test is never
    /// taken back.
    func takeUnfinished(isDone: (Int) -> Bool) -> [Int] {
        defer { assigned = [] }
        return only != nil ? [] : assigned.flatMap { $0.filter { !isDone($0) } }
    }

    func begin(_ test: RunningTest) {
        begunCount += 1
        current = test
        time = TestTime()
    }

    /// Ends the running test. Returns nil if the running test has another index.
    func end(_ index: Int) -> RunningTest? {
        guard let ended = current, ended.index == index else { return nil }
        current = nil
        previousIndex = index
        endedCount += 1
        return ended
    }

    /// Adds an issue to a test if the test is running. Returns false otherwise.
    func add(_ issue: TestIssue, to index: Int) -> Bool {
        if current?.index != index { return false }
        current?.issues.append(issue)
        return true
    }

    /// Returns the result of a test. Without a time and an end of the output, the worker died during the test.
    func result(
        of ended: RunningTest, _ test: PlannedTest, nanoseconds: Int? = nil, outputEnd: Int? = nil
    ) -> TestResult {
        let isFailed = ended.issues.contains { $0.knownReason == nil }
        var result = TestResult(test: test, outcome: isFailed ? .failed : ended.skipReason != nil ? .skipped : .passed)
        result.issues = ended.issues
        result.skipReason = ended.skipReason
        result.attachments = ended.directory.map { folder in ended.attachments.map { "\(folder)/\($0)" } } ?? []
        result.nanoseconds = nanoseconds ?? time.elapsed
        if isFailed {
            (result.output, result.omittedOutputCount) = output(
                ended.outputStart, outputEnd ?? outputSize, countMax: options.outputByteCountMax)
        }
        return result
    }

    // MARK: Ends

    /// Closes the commands, because no further tests run. The worker ends after its current command.
    func finish() {
        state = .closing
        time = TestTime()
        commands.release()
    }

    /// Reads the events that the worker has sent.
    func receive() {
        // Check this before the read, because the process may send events until it ends.
        let hasEnded = reap() != nil
        if isOpen, !events.receive(hasEnded: hasEnded) { silenceBegin = .now }
    }

    /// Returns the next event, or nil if none has been received.
    func nextEvent() throws(RunError) -> TestEvent? {
        // A line after a line of a test isn't from the worker.
        while state != .dead, ending?.cause != .intrusion, let line = events.nextLine() {
            if let event = TestEvent(line) { return event }
            try refuseLine()
        }
        return nil
    }

    /// Ends the worker, because a line in its descriptor isn't from the worker.
    func refuseLine() throws(RunError) {
        // If the worker is being ended, it may have written only a part of the line.
        if ending != nil { return }
        guard state != .starting else {
            throw .protocolMismatch("the test executable sent an unknown event; build again")
        }
        ending = (.intrusion, TestTime())
        send(signal: SIGKILL)
    }

    /// The time limit of the current activity.
    private var limitMilliseconds: Int {
        let usual = options.timeoutMilliseconds
        guard let own = current?.timeoutMilliseconds else {
            return min(state == .closing ? usual : max(usual, 10_000), options.timeoutMillisecondsMax)
        }
        return min(own > 0 ? own : usual, options.timeoutMillisecondsMax, Int.max / slowness) * slowness
    }

    /// A Boolean value that indicates whether the current activity has a limit.
    private var isLimited: Bool { state == .starting || state == .closing || current != nil }

    /// The time in milliseconds until the next call of `checkLimits` is needed.
    var patience: Int {
        if !isOpen { return 1 }
        // The process is about to end. If a child process holds the pipe, that end isn't an event.
        if crashReport != nil { return 5 }
        if ending != nil { return 20 }
        return isLimited ? max(1, min(1000, time.left(of: limitMilliseconds) + 1)) : 1000
    }

    /// Ends the worker if its test exceeds a limit of time or output.
    func checkLimits() {
        if state == .dead { return }
        if ending != nil {
            if crashReport != nil || ending?.time.isOver(1000, of: process) ?? true {
                send(signal: SIGKILL)
            } else {
                askForPlace()
            }
        } else if !isOpen {
            // A process closes its descriptors a moment before it ends.
            guard silenceTime > .milliseconds(500) else { return }
            ending = (.silence, TestTime())
            send(signal: SIGKILL)
        } else if isLimited {
            let size = current == nil ? 0 : outputSize
            if size > options.outputFileByteCountMax {
                end(.flood(byteCount: size))
            } else if time.isOver(limitMilliseconds, of: process) {
                end(.timeout(milliseconds: limitMilliseconds))
            }
        }
    }

    /// Ends the worker after it has reported the stack of its test, or after a short wait.
    func end(_ cause: WorkerDeath.Cause) {
        if state == .dead || ending != nil { return }
        ending = (cause, TestTime())
        askForPlace()
    }

    /// Sends the signal that makes the worker report its stack.
    ///
    /// If the test stops its process again and again, the first signal may be delivered to a thread that can't run.
    /// While a thread handles the signal, the next signal is delivered to another thread, and finally to the thread of
    /// the test.
    private func askForPlace() {
        send(signal: SIGPROF)
        send(signal: SIGCONT)
    }

    private var silenceTime: Duration { silenceBegin.map { .now - $0 } ?? .zero }

    /// Returns the end of the process, or nil if it hasn't ended.
    ///
    /// A process that hangs in the kernel can't be ended.
    func death() -> WorkerDeath? {
        if isOpen || state == .dead { return nil }
        let isLost = silenceTime > .seconds(5)
        guard let end = reap() ?? (isLost ? .killed(signal: SIGKILL) : nil) else { return nil }
        // A report after the tests may be long.
        let countMax = current == nil ? 1 << 20 : options.outputByteCountMax
        let (bytes, omitted) = output(current?.outputStart ?? 0, outputSize, countMax: countMax)
        return WorkerDeath(
            end: end, crashReport: crashReport, cause: ending?.cause, output: bytes, omittedOutputCount: omitted)
    }

    private var outputSize: Int {
        var status = stat()
        return fstat(outputFile.number, &status) == 0 ? Int(status.st_size) : 0
    }

    /// Returns the end of a part of the output, and the number of omitted bytes before it.
    private func output(_ start: Int, _ end: Int, countMax: Int) -> (bytes: [UInt8], omittedCount: Int) {
        let first = max(start, end - countMax)
        guard first < end,
            let bytes = try? FileAccess.contents(of: outputFile.number, from: first, to: end, name: "output")
        else { return ([], 0) }
        return (FatalMessage.withoutStackTrace(bytes), first - start)
    }
}

/// The plan that a worker announces, event by event.
struct PlanAnnouncement {
    private(set) var tests: [PlannedTest] = []
    /// The number of tests and the hash of their lines. Nil until all tests have been announced.
    private(set) var sum: (count: Int, hash: Int)?
    /// The types without tests to run, with a reason if their lists aren't empty.
    private(set) var untested: [(typeName: String, reason: String?)] = []
    /// The negative time limits of types.
    private(set) var refusedLimits: [(typeName: String, milliseconds: Int)] = []
    /// The issues that were recorded while the worker created the lists.
    var issues: [TestIssue] = []
    private var list: PlannedTest?

    mutating func add(_ event: TestEvent) throws(RunError) {
        switch event {
        case .version(let number) where number != TestEvent.currentVersion:
            throw .protocolMismatch(
                "the test executable uses version \(number) of the protocol, but this testlogger uses \(TestEvent.currentVersion); build again"
            )
        case .untested(let typeName, let reason):
            untested.append((typeName, reason))
        case .list(let test):
            list = test
            if test.timeoutMilliseconds < 0 { refusedLimits.append((test.typeName, test.timeoutMilliseconds)) }
        case .planned(let testName, let row):
            guard var test = list else {
                throw .protocolMismatch("the test executable announced a test without a list")
            }
            (test.testName, test.row) = (testName, row)
            tests.append(test)
        case .ready(let count, let hash):
            sum = (count, hash)
        default: break
        }
    }
}
