// One worker and what it is doing: starting, running a part of the plan, or dying. A session turns the worker's events
// into results; which part of the plan it runs, and what becomes of the results, is TestRun's business.

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif
import TestEvents

/// Why a worker is gone.
struct WorkerDeath {
    var end: ProcessEnd
    /// The `crash` or `exit` that it could still send.
    var lastWords: TestEvent?
    /// The test that was running.
    var test: (index: Int, result: TestResult)?
    /// The end of what the test, or the worker without one, had written.
    var output: [UInt8]
    var omittedOutputCount: Int
    /// What ended it, when the supervisor did.
    var verdict: Verdict?

    enum Verdict: Equatable {
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
    enum State: Equatable { case starting, idle, running, closing, dead }

    let worker: Worker
    private let outputFile: Int32
    private let options: RunOptions
    private(set) var state = State.starting
    private(set) var plan: [PlannedTest] = []
    private(set) var warnings: [(typeName: String, text: String)] = []
    /// The part of the plan it was last given.
    var assigned = 0..<0
    /// Whether its plan has been compared with the first worker's.
    var isPlanChecked = false
    /// Whether it died before it could run anything.
    private(set) var wasStarting = false
    /// Whether it died when it had been told to end.
    private(set) var wasClosing = false
    /// How many tests this worker has begun.
    private(set) var begunCount = 0
    /// The name of the test that ran before the present one.
    private(set) var previousTest: PlannedTest?

    private var current: (index: Int, result: TestResult, outputStart: Int)?
    private var deadline: ContinuousClock.Instant
    private var limitMilliseconds: Int
    private var lastWords: TestEvent?
    private var verdict: WorkerDeath.Verdict?

    /// Starts a worker on a module's image.
    init(_ module: ModuleDescription, options: RunOptions) throws(SystemError) {
        self.options = options
        outputFile = try ChildProcess.temporaryFile()
        _ = fcntl(outputFile, F_SETFL, O_APPEND)
        var environment: [String: String] = [:]
        let resources = module.resources.filter(FileAccess.isDirectory)
        if !resources.isEmpty { environment["IN_CLASS_RESOURCES"] = resources.joined(separator: ":") }
        // An instrumented image leaves a profile when it ends: where it is wanted, or nowhere.
        environment.merge(
            options.leavesProfiles ? CoverageReport.environment(module) : ["LLVM_PROFILE_FILE": "/dev/null"]
        ) { $1 }
        worker = try Worker(image: module.image, module: module.module, output: outputFile, environment: environment)
        limitMilliseconds = max(options.timeoutMilliseconds, 10_000)
        deadline = ContinuousClock.now + .milliseconds(limitMilliseconds)
    }

    deinit { close(outputFile) }

    /// Has the worker run a part of the plan.
    func run(_ range: Range<Int>) {
        state = .running
        worker.run(range)
    }

    /// Has the worker end, now that there is nothing more to run.
    func finish() {
        state = .closing
        limitMilliseconds = options.timeoutMilliseconds
        deadline = ContinuousClock.now + .milliseconds(limitMilliseconds)
        worker.closeCommands()
    }

    /// How long nothing needs to be done about this worker, in milliseconds.
    var patience: Int {
        // It is about to be gone, which nobody announces while a copy of it holds the pipe.
        if lastWords != nil { return 5 }
        if state == .idle || state == .running && current == nil { return 1000 }
        let left = (deadline - ContinuousClock.now).components
        return max(0, min(1000, Int(left.seconds * 1000 + left.attoseconds / 1_000_000_000_000_000) + 1))
    }

    // MARK: Events

    /// Something that TestRun must know.
    enum Report {
        case began(PlannedTest)
        case ended(index: Int, TestResult)
        /// Something that a test has left behind found an issue after its end.
        case late(PlannedTest, TestIssue)
        case protocolMismatch(String)
        case died(WorkerDeath)
    }

    /// Takes what the worker has said; waits no longer than asked for.
    func reports(waiting milliseconds: Int) -> [Report] {
        var reports: [Report] = []
        guard let events = worker.events(waiting: milliseconds) else { return [.died(death())] }
        // What comes behind a foreign line is no event either.
        if verdict == .intrusion { return [] }
        for event in events {
            guard let event else {
                if current != nil, verdict == nil {
                    verdict = .intrusion
                    worker.send(signal: SIGKILL)
                    return reports
                }
                return reports + [
                    .protocolMismatch("the test image said what this testlogger does not understand; build it anew")
                ]
            }
            if let report = take(event) { reports.append(report) }
        }
        return reports
    }

    private func take(_ event: TestEvent) -> Report? {
        switch event {
        case .version(let number) where number != TestEvent.currentVersion:
            return .protocolMismatch(
                "the test image speaks version \(number), this testlogger \(TestEvent.currentVersion)")
        case .planned(let test):
            plan.append(test)
        case .warning(let typeName, let text):
            warnings.append((typeName, text))
        case .ready(let count):
            guard count == plan.count else {
                return .protocolMismatch("the test image announced \(plan.count) tests but counts \(count)")
            }
            state = .idle
        case .begin(let index, let outputStart):
            guard plan.indices.contains(index) else { return .protocolMismatch("the test image began an unknown test") }
            begunCount += 1
            let test = plan[index]
            limitMilliseconds = test.timeoutMilliseconds > 0 ? test.timeoutMilliseconds : options.timeoutMilliseconds
            deadline = ContinuousClock.now + .milliseconds(limitMilliseconds)
            current = (index, TestResult(test: test, outcome: .passed), outputStart)
            return .began(test)
        case .issue(let issue):
            current?.result.issues.append(issue)
        case .late(let index, let issue):
            guard plan.indices.contains(index) else { return .protocolMismatch("the test image named an unknown test") }
            return .late(plan[index], issue)
        case .skip(let reason):
            current?.result.skipReason = reason
        case .end(let index, let nanoseconds, let outputEnd):
            guard var ended = current, ended.index == index else { return nil }
            current = nil
            previousTest = ended.result.test
            ended.result.nanoseconds = nanoseconds
            let isFailed = ended.result.issues.contains { $0.knownReason == nil }
            ended.result.outcome = isFailed ? .failed : ended.result.skipReason != nil ? .skipped : .passed
            if isFailed {
                (ended.result.output, ended.result.omittedOutputCount) = output(ended.outputStart, outputEnd)
            }
            return .ended(index: index, ended.result)
        case .idle:
            state = .idle
        case .crash, .exit:
            lastWords = event
        default: break
        }
        return nil
    }

    // MARK: Ends

    /// Ends the worker when its test takes too long or writes too much; what it says then is read as usual.
    func checkLimits() {
        guard state != .dead, verdict == nil else { return }
        if state == .running, current != nil, outputSize > options.outputFileByteCountMax {
            verdict = .flood(byteCount: outputSize)
        } else if ContinuousClock.now >= deadline, state != .idle, state != .running || current != nil {
            verdict = .timeout(milliseconds: limitMilliseconds)
        } else {
            return
        }
        // The signal asks for the stack of the test; whatever the answer, the process is ended.
        worker.send(signal: SIGPROF)
        // A process that is stopped answers nothing.
        worker.send(signal: SIGCONT)
        let patience = ContinuousClock.now + .milliseconds(300)
        while lastWords == nil, ContinuousClock.now < patience, let events = worker.events(waiting: 50) {
            for case let event? in events { _ = take(event) }
        }
        worker.send(signal: SIGKILL)
    }

    /// Ends the worker because the whole run is to end.
    func interrupt(_ reason: String) {
        if verdict == nil { verdict = .interruption(reason: reason) }
        worker.send(signal: SIGKILL)
    }

    /// Ends the worker without asking.
    func abort() { worker.send(signal: SIGKILL) }

    private func death() -> WorkerDeath {
        wasStarting = state == .starting
        wasClosing = state == .closing
        state = .dead
        let reached = worker.waitForEnd()
        if reached == nil, verdict == nil { verdict = .silence }
        let end = reached ?? .killed(signal: SIGKILL)
        let (bytes, omitted) = output(current?.outputStart ?? 0, outputSize)
        return WorkerDeath(
            end: end, lastWords: lastWords, test: current.map { ($0.index, $0.result) }, output: bytes,
            omittedOutputCount: omitted, verdict: verdict)
    }

    private var outputSize: Int {
        var status = stat()
        return fstat(outputFile, &status) == 0 ? Int(status.st_size) : 0
    }

    /// The end of a part of what the tests have written, and how much is missing before it.
    private func output(_ start: Int, _ end: Int) -> (bytes: [UInt8], omittedCount: Int) {
        let first = max(start, end - options.outputByteCountMax)
        guard first < end,
            let bytes = try? FileAccess.contents(of: outputFile, from: first, to: end, name: "output")
        else { return ([], 0) }
        return (FatalMessage.withoutStackTrace(bytes), first - start)
    }
}
