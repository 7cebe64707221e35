// Runs the tests of one module: starts workers, follows what they say, starts another where one died, and gives every
// issue a place in the sources. What is done with the events is up to the reporters.

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif
import TestEvents

package struct RunOptions: Sendable {
    package var selection = TestSelection()
    /// How long one test may take.
    package var timeoutMilliseconds = 10_000
    /// How much of a failed test's output is kept, from its end.
    package var outputByteCountMax = 16 << 10
    /// Only announce the plan.
    package var isListing = false

    package init() {}
}

/// What a run came to. `planned` is always the sum of the outcomes.
package struct RunTally: Equatable, Sendable {
    package var planned = 0
    package var passed = 0
    package var failed = 0
    package var skipped = 0
    /// Issues inside `withKnownIssue`.
    package var knownIssues = 0
    /// Failures that belong to no test.
    package var moduleIssues = 0
    package var warnings = 0
    /// Tests that the selection left out.
    package var unselected = 0

    package init() {}

    package var isRed: Bool { failed > 0 || moduleIssues > 0 }

    package static func + (one: Self, other: Self) -> Self {
        var sum = one
        sum.planned += other.planned
        sum.passed += other.passed
        sum.failed += other.failed
        sum.skipped += other.skipped
        sum.knownIssues += other.knownIssues
        sum.moduleIssues += other.moduleIssues
        sum.warnings += other.warnings
        sum.unselected += other.unselected
        return sum
    }
}

/// Why a run did not take place at all.
package enum RunError: Error, Equatable, CustomStringConvertible {
    /// The system refused what the runner needs.
    case system(SystemError)
    /// The image speaks another version of the worker protocol.
    case protocolMismatch(String)

    package var description: String {
        switch self {
        case .system(let error): error.description
        case .protocolMismatch(let text): text
        }
    }
}

/// One module's tests, on their way.
package final class TestRun {
    private let module: ModuleDescription
    private let options: RunOptions
    private let report: (RunEvent) -> Void
    private let outputFile: Int32
    private let scan: () -> SourceScan
    private lazy var sources = scan()

    /// The module's tests, once a worker has announced them.
    package private(set) var plan: [PlannedTest] = []
    private var warnings: [(typeName: String, text: String)] = []
    private var tally = RunTally()

    /// The test that is running, as far as the worker has said.
    private var current: (index: Int, result: TestResult, outputStart: Int, deadline: ContinuousClock.Instant)?
    private var lastWords: TestEvent?
    private var reported: Set<Int> = []

    /// Prepares a run.
    ///
    /// - Parameter report: receives each event as it happens.
    package init(
        _ module: ModuleDescription, options: RunOptions, report: @escaping (RunEvent) -> Void
    ) throws(RunError) {
        self.module = module
        self.options = options
        self.report = report
        scan = { SourceScan(sources: module.sources, module: module.module) }
        do throws(SystemError) { outputFile = try ChildProcess.temporaryFile() } catch { throw .system(error) }
        _ = fcntl(outputFile, F_SETFL, O_APPEND)
    }

    deinit { close(outputFile) }

    /// Runs the selected tests and says what they came to.
    package func run() throws(RunError) -> RunTally {
        guard let worker = try startedWorker() else { return tally }
        let selected = plan.indices.filter { options.selection.includes(plan[$0]) }
        tally.planned = selected.count
        tally.unselected = plan.count - selected.count
        report(.planned(module: module.module, tests: selected.map { plan[$0] }))
        if options.isListing { return tally }
        let duplicates = Self.duplicates(in: plan)
        try runToEnd(Self.ranges(selected.filter { !duplicates.contains($0) }), worker)
        for index in selected where duplicates.contains(index) { reportDuplicate(plan[index]) }
        reportWarnings()
        if tally.passed + tally.failed + tally.skipped != tally.planned {
            reportModuleIssue(
                got: "\(tally.passed + tally.failed + tally.skipped) results",
                expected: "\(tally.planned), one for each test")
        }
        return tally
    }

    /// Joins neighbouring indices.
    static func ranges(_ indices: [Int]) -> [Range<Int>] {
        var ranges: [Range<Int>] = []
        for index in indices {
            if let last = ranges.last, last.upperBound == index {
                ranges[ranges.count - 1] = last.lowerBound..<index + 1
            } else {
                ranges.append(index..<index + 1)
            }
        }
        return ranges
    }

    // MARK: Workers

    /// Starts a worker and reads its plan; nil when it died over it, which is then reported.
    private func startedWorker() throws(RunError) -> Worker? {
        let worker: Worker
        var environment: [String: String] = [:]
        let resources = module.resources.filter(FileAccess.isDirectory)
        if !resources.isEmpty { environment["IN_CLASS_RESOURCES"] = resources.joined(separator: ":") }
        do throws(SystemError) {
            worker = try Worker(
                image: module.image, module: module.module, output: outputFile, environment: environment)
        } catch { throw .system(error) }
        let isFirst = plan.isEmpty
        var announced: [PlannedTest] = []
        let outputStart = outputOffset
        let deadline = ContinuousClock.now + .milliseconds(options.timeoutMilliseconds)
        lastWords = nil
        while let lines = worker.lines(waiting: 100) {
            for line in lines {
                guard let event = TestEvent(line: line) else {
                    throw .protocolMismatch(
                        "the test image said what this testlogger does not understand; build it anew")
                }
                switch event {
                case .version(let number) where number != TestEvent.currentVersion:
                    throw .protocolMismatch(
                        "the test image speaks version \(number), this testlogger \(TestEvent.currentVersion)")
                case .planned(let test): announced.append(test)
                case .warning(let typeName, let text) where isFirst: warnings.append((typeName, text))
                case .ready(let count):
                    guard count == announced.count, isFirst || announced == plan else {
                        throw .protocolMismatch("the test image announced two different plans")
                    }
                    plan = announced
                    return worker
                case .crash, .exit: lastWords = event
                default: break
                }
            }
            if ContinuousClock.now > deadline {
                worker.send(signal: SIGKILL)
                break
            }
        }
        let end = worker.waitForEnd()
        let issue = deathIssue(end, outputStart: outputStart, expected: "list of its tests")
        reportModuleIssue(got: issue.got, expected: issue.expected, at: issue)
        return nil
    }

    private func runToEnd(_ ranges: [Range<Int>], _ first: Worker) throws(RunError) {
        var remaining = ranges
        var worker: Worker? = first
        while !remaining.isEmpty {
            if worker == nil { worker = try startedWorker() }
            guard let present = worker else { return }
            follow(present, through: remaining)
            let end = present.waitForEnd()
            if current != nil {
                reportDeath(end)
            } else if end != .exited(0), remaining.allSatisfy({ $0.allSatisfy(reported.contains) }) {
                let issue = deathIssue(end, outputStart: outputOffset, expected: "quiet end after the last test")
                reportModuleIssue(got: issue.got, expected: issue.expected)
            }
            let left = remaining.flatMap { $0 }.filter { !reported.contains($0) }
            // A worker that neither ran a test nor died in one would be started for ever.
            if left.count == remaining.reduce(0, { $0 + $1.count }) {
                reportModuleIssue(got: "a worker that ran no test", expected: "it to run \(left.count)")
                return
            }
            remaining = Self.ranges(left)
            worker = nil
        }
    }

    /// Has a worker run ranges until its events end, and ends it when a test takes too long.
    private func follow(_ worker: Worker, through ranges: [Range<Int>]) {
        var next = ranges[...]
        func runNext() {
            if let range = next.popFirst() { worker.run(range) } else { worker.closeCommands() }
        }
        lastWords = nil
        runNext()
        while true {
            var wait = 1000
            if let current {
                let left = (current.deadline - ContinuousClock.now).components
                wait = max(0, min(1000, Int(left.seconds * 1000 + left.attoseconds / 1_000_000_000_000_000) + 1))
                if ContinuousClock.now >= current.deadline { return endHung(worker) }
            }
            guard let lines = worker.lines(waiting: wait) else { return }
            for line in lines {
                guard let event = TestEvent(line: line) else { continue }
                if event == .idle { runNext() } else { take(event) }
            }
        }
    }

    /// Asks the worker for the stack of the test that hangs, and ends it.
    private func endHung(_ worker: Worker) {
        worker.send(signal: SIGPROF)
        let patience = ContinuousClock.now + .milliseconds(300)
        while lastWords == nil, ContinuousClock.now < patience, let lines = worker.lines(waiting: 50) {
            for line in lines { if let event = TestEvent(line: line) { take(event) } }
        }
        worker.send(signal: SIGKILL)
        if lastWords == nil { lastWords = .crash(signal: Int(SIGPROF), frames: []) }
    }

    private func take(_ event: TestEvent) {
        switch event {
        case .begin(let index, let outputStart):
            guard plan.indices.contains(index) else { return }
            current = (
                index, TestResult(test: plan[index], outcome: .passed), outputStart,
                ContinuousClock.now + .milliseconds(options.timeoutMilliseconds)
            )
            report(.began(plan[index]))
        case .issue(let issue):
            let place = located(issue, test: current?.result.test)
            current?.result.issues.append(place)
        case .skip(let reason):
            current?.result.skipReason = reason
        case .end(let index, let nanoseconds, let outputEnd):
            guard var ended = current, ended.index == index else { return }
            current = nil
            ended.result.nanoseconds = nanoseconds
            finish(ended.result, index, output: ended.outputStart..<max(ended.outputStart, outputEnd))
        case .crash, .exit:
            lastWords = event
        case .warning(let typeName, let text):
            warnings.append((typeName, text))
        default: break
        }
    }

    // MARK: Results

    private func finish(_ ended: TestResult, _ index: Int, output: Range<Int>) {
        var result = ended
        let failures = result.issues.filter { $0.knownReason == nil }
        result.outcome = !failures.isEmpty ? .failed : result.skipReason != nil ? .skipped : .passed
        if result.outcome == .failed {
            let start = max(output.lowerBound, output.upperBound - options.outputByteCountMax)
            result.omittedOutputCount = start - output.lowerBound
            let written = try? FileAccess.contents(of: outputFile, from: start, to: output.upperBound, name: "output")
            result.output = FatalMessage.withoutStackTrace(written ?? [])
        }
        tally.knownIssues += result.issues.count - failures.count
        switch result.outcome {
        case .passed: tally.passed += 1
        case .failed: tally.failed += 1
        case .skipped: tally.skipped += 1
        }
        reported.insert(index)
        report(.ended(result))
    }

    private var outputOffset: Int {
        var status = stat()
        return fstat(outputFile, &status) == 0 ? Int(status.st_size) : 0
    }

    private func reportDeath(_ end: ProcessEnd) {
        guard var died = current else { return }
        current = nil
        let issue = deathIssue(end, outputStart: died.outputStart, expected: "end of test")
        died.result.issues.append(located(issue, test: died.result.test))
        finish(died.result, died.index, output: died.outputStart..<outputOffset)
    }

    /// Describes how a worker died, at the innermost place in the module's own sources.
    private func deathIssue(_ end: ProcessEnd, outputStart: Int, expected: String) -> TestIssue {
        let output =
            (try? FileAccess.contents(
                of: outputFile, from: max(outputStart, outputOffset - 64 << 10), to: outputOffset, name: "output"))
            ?? []
        let fatal = FatalMessage(output: String(decoding: output, as: UTF8.self))
        var issue = TestIssue(kind: .crash, got: "", expected: expected)
        var frames: [Int] = []
        switch (lastWords, end) {
        case (.crash(let signal, let found), _) where signal == SIGPROF:
            issue.kind = .timeout
            issue.got = "no end after \(options.timeoutMilliseconds) ms"
            frames = found
        case (.crash(let signal, let found), _):
            issue.got = "crash \(signalName(Int32(signal)))" + (fatal.map { " '\($0.text)'" } ?? "")
            frames = found
        case (.exit(let found), .exited(let code)):
            issue.kind = .exit
            issue.got = "exit(\(code))"
            frames = found
        case (_, .killed(let signal)):
            issue.got = "crash \(signalName(signal))" + (fatal.map { " '\($0.text)'" } ?? "")
        case (_, .exited(let code)):
            issue.kind = .exit
            issue.got = "exit(\(code))"
        }
        let places = Symbolizer(image: module.image, clang: module.clang).places(of: frames).filter(isOwn)
        var place = places.first
        // The optimiser merges traps, which then have no line; the runtime's message may still name the file.
        if place == nil, let fatal { place = fatal.place(among: module.sources) }
        if let place {
            issue.path = place.path
            issue.line = place.line
            issue.column = place.column
        }
        // Recursion says the same place again and again.
        for caller in places.dropFirst() where caller != issue.callers.last && issue.callers.count < 8 {
            issue.callers.append(caller)
        }
        return issue
    }

    private func isOwn(_ place: SourcePlace) -> Bool {
        module.sources.isEmpty
            ? !place.path.contains("/InClassTesting/") && place.path.hasSuffix(".swift")
            : module.sources.contains(place.path)
    }

    /// Gives an issue without a place that of its test's declaration.
    private func located(_ issue: TestIssue, test: PlannedTest?) -> TestIssue {
        guard issue.path.isEmpty || issue.line == 0 else { return issue }
        var located = issue
        let place = test.flatMap { sources.place(of: $0) } ?? fallbackPlace
        located.path = place.path
        located.line = place.line
        located.column = place.column
        return located
    }

    /// Where a message goes that concerns no place: the first source file.
    private var fallbackPlace: SourcePlace {
        SourcePlace(path: module.sources.first ?? module.image, line: 1, column: 1)
    }

    private func reportModuleIssue(got: String, expected: String, at place: TestIssue? = nil) {
        tally.moduleIssues += 1
        var issue = place ?? TestIssue(kind: .list, got: got, expected: expected)
        if issue.path.isEmpty {
            issue.path = fallbackPlace.path
            issue.line = fallbackPlace.line
            issue.column = fallbackPlace.column
        }
        report(.moduleIssue(module: module.module, issue))
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

    private func reportDuplicate(_ test: PlannedTest) {
        var result = TestResult(test: test, outcome: .failed)
        var issue = TestIssue(
            kind: .list, got: "a second entry of this name, which did not run", expected: "each name once")
        let entries = sources[test.typeName]?.listed.filter { $0.name == test.testName } ?? []
        if let place = entries.dropFirst().first?.place {
            issue.path = place.path
            issue.line = place.line
            issue.column = place.column
        }
        result.issues = [located(issue, test: test)]
        tally.failed += 1
        report(.ended(result))
    }

    /// Reports what the worker could not test and what the sources say was forgotten.
    private func reportWarnings() {
        for (typeName, text) in warnings {
            let place = sources[typeName]?.lists.first ?? fallbackPlace
            warn(SourceWarning(place: place, text: "\(typeName): \(text)"))
        }
        guard !options.selection.isRestricted else { return }
        for warning in sources.listWarnings(plan: plan) { warn(warning) }
    }

    private func warn(_ warning: SourceWarning) {
        tally.warnings += 1
        report(.warning(warning))
    }
}

// MARK: - Words of the dying

/// What the Swift runtime said before it trapped: `Module/File.swift:12: Fatal error: Index out of range`.
struct FatalMessage: Equatable {
    var text: String
    var fileName: String?
    var line: Int?

    /// Finds the last such message in a test's output.
    init?(output: String) {
        let markers = ["Fatal error", "Precondition failed", "Assertion failed", "Could not cast value"]
        guard let line = output.split(separator: "\n").last(where: { line in markers.contains { line.contains($0) } })
        else { return nil }
        text = String(line)
        guard let marker = markers.compactMap({ line.range(of: $0) }).min(by: { $0.lowerBound < $1.lowerBound }) else {
            return
        }
        text = String(line[marker.lowerBound...])
        let parts = line[..<marker.lowerBound].split(separator: ":")
        guard parts.count >= 2, let number = Int(parts[1]) else { return }
        fileName = FileAccess.name(of: String(parts[0]))
        self.line = number
    }

    /// Leaves out the stack that some of the runtime's messages carry: addresses in libraries, which say nothing here.
    static func withoutStackTrace(_ output: [UInt8]) -> [UInt8] {
        guard output.withUnsafeBytes({ ByteSearch.offset(of: "Current stack trace:", in: $0) }) != nil else {
            return output
        }
        var isTrace = false
        let lines = output.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).filter { line in
            let text = String(decoding: line, as: UTF8.self)
            // A frame is a number, a library, an address and a function.
            isTrace = text == "Current stack trace:" || isTrace && text.first.map(\.isNumber) == true && text.count > 40
            return !isTrace
        }
        return Array(lines.joined(separator: [UInt8(ascii: "\n")]))
    }

    /// The place among a module's sources, where a file's name is unique.
    func place(among sources: [String]) -> SourcePlace? {
        guard let fileName, let line, let path = sources.first(where: { FileAccess.name(of: $0) == fileName })
        else { return nil }
        return SourcePlace(path: path, line: line, column: 1)
    }
}

extension StringProtocol {
    /// Finds a text; the standard library's own search needs another module.
    fileprivate func range(of text: String) -> Range<Index>? {
        var start = startIndex
        while start < endIndex {
            if self[start...].hasPrefix(text) { return start..<index(start, offsetBy: text.count) }
            formIndex(after: &start)
        }
        return nil
    }
}

/// The name of a signal, such as SIGSEGV.
func signalName(_ signal: Int32) -> String {
    let names: [Int32: String] = [
        SIGILL: "SIGILL", SIGTRAP: "SIGTRAP", SIGSEGV: "SIGSEGV", SIGBUS: "SIGBUS", SIGABRT: "SIGABRT",
        SIGFPE: "SIGFPE",
        SIGSYS: "SIGSYS", SIGKILL: "SIGKILL", SIGTERM: "SIGTERM", SIGINT: "SIGINT", SIGPIPE: "SIGPIPE",
        SIGHUP: "SIGHUP",
        SIGXCPU: "SIGXCPU", SIGXFSZ: "SIGXFSZ", SIGQUIT: "SIGQUIT", SIGALRM: "SIGALRM",
    ]
    return names[signal] ?? "signal \(signal)"
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

enum TestRunTests {}

extension TestRunTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testJoinsNeighbours": testJoinsNeighbours,
            "testFindsDuplicatesWithinAList": testFindsDuplicatesWithinAList,
            "testReadsFatalMessages": testReadsFatalMessages,
            "testLeavesStackTracesOut": testLeavesStackTracesOut,
        ]
    }

    private static func testJoinsNeighbours() {
        expectEqual(TestRun.ranges([]), [])
        expectEqual(TestRun.ranges([0, 1, 2, 5, 7, 8]), [0..<3, 5..<6, 7..<9])
    }

    private static func testFindsDuplicatesWithinAList() {
        let plan = [
            ("A", "t", "unit"), ("A", "t", "slow"), ("A", "t", "slow"), ("B", "t", "unit"), ("B", "u", "unit"),
            ("B", "t", "unit"),
        ]
        .map { PlannedTest(typeName: $0.0, testName: $0.1, testType: $0.2, module: "M") }
        expectEqual(TestRun.duplicates(in: plan), [2, 5])
    }

    private static func testReadsFatalMessages() {
        let message = FatalMessage(output: "x\nM/A.swift:12: Fatal error: a: b\ny")
        expectEqual(message?.text, "Fatal error: a: b")
        expectEqual(
            message?.place(among: ["/s/B.swift", "/s/A.swift"]),
            SourcePlace(path: "/s/A.swift", line: 12, column: 1))
        expectNil(message?.place(among: ["/s/B.swift"]))
        expectEqual(FatalMessage(output: "Fatal error")?.text, "Fatal error")
        expectNil(FatalMessage(output: "all is well"))
    }

    private static func testLeavesStackTracesOut() {
        let frame = "0    libswiftCore.so                    0x00007ff50715f130 swift_reportError + 33"
        let output = "a\nCurrent stack trace:\n\(frame)\n\(frame)\n1 b\n"
        expectEqual(String(decoding: FatalMessage.withoutStackTrace(Array(output.utf8)), as: UTF8.self), "a\n1 b\n")
        expectEqual(FatalMessage.withoutStackTrace(Array(frame.utf8)), Array(frame.utf8))
    }
}
#endif
