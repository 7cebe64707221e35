// Runs the tests that the supervisor requests, one after another.

#if DEBUG || IN_CLASS_TESTS

internal import InClassTestingSystem

/// The loop of a worker. It reads commands and runs the requested tests.
final class TestLoop: @unchecked Sendable {
    // SAFETY: one task at a time uses the loop.
    private let tests: [WorkerMain.Test]
    /// The index of the first test in `tests`.
    private let first: Int
    /// The descriptor of the commands.
    private let commands: Int32
    // PERF: in a debug build, the exclusivity check of an access takes longer than the access.
    @exclusivity(unchecked) private var state = ProcessState()
    @exclusivity(unchecked) private var outputEnd: Int
    /// The rest of the current command, or nil before the first. The tests before `next` have run.
    @exclusivity(unchecked) private var ranges: ArraySlice<Range<Int>>?
    /// A Boolean value that indicates whether no test of the command begins after a failure.
    @exclusivity(unchecked) private var stopsAtFailure = false
    @exclusivity(unchecked) private var next = 0
    @exclusivity(unchecked) private var end = 0

    init(_ tests: [WorkerMain.Test], first: Int, commands: Int32) {
        self.tests = tests
        self.first = first
        self.commands = commands
        outputEnd = state.outputSize ?? 0
    }

    /// Runs tests until the supervisor closes the commands, or a test has changed the state of the process.
    ///
    /// - Returns: true if a test has canceled the calling task. Call the function again in a new task in this case.
    func run() async -> Bool {
        while let index = nextIndex() {
            let hasFailed = await run(tests[index - first], index)
            if state.isChanged(afterFailure: hasFailed) {
                Recorder.send { $0.add("changed") }
                return false
            }
            if hasFailed, stopsAtFailure { (next, end, ranges) = (0, 0, []) }
            if Task.isCancelled { return true }
        }
        return false
    }

    /// Returns the next test to run, or nil if the supervisor has closed the commands.
    private func nextIndex() -> Int? {
        while true {
            // PERF: without a call of a generic function, which in a debug build takes as long as a short test.
            if next < end {
                next &+= 1
                return next &- 1
            }
            if let range = ranges?.popFirst()?.clamped(to: first..<first + tests.count) {
                (next, end) = (range.lowerBound, range.upperBound)
                continue
            }
            if ranges != nil { Recorder.send { $0.add("idle") } }
            guard let words = nextCommand() else { return nil }
            stopsAtFailure = words.first == "try"
            let numbers = words.dropFirst().compactMap { Int($0) }
            ranges = stride(from: 1, to: numbers.count, by: 2).map { numbers[$0 - 1]..<numbers[$0] }[...]
        }
    }

    /// Reads the words of the next command, a line: `run`, or `try`, which stops at the first failure. Ranges of the plan
    /// follow, each as FIRST and END. The supervisor sends a command only after the previous command.
    ///
    /// - Returns: nil if the supervisor has closed the commands.
    private func nextCommand() -> [Substring]? {
        var line: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4096)
        while line.last != 0x0A {
            let count = read(commands, &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return nil }
            line += chunk[..<count]
        }
        return String(decoding: line.dropLast(), as: UTF8.self).split(separator: " ")
    }

    /// Runs a test.
    ///
    /// - Returns: true if the test has failed.
    private func run(_ test: WorkerMain.Test, _ index: Int) async -> Bool {
        Recorder.begin(index, outputStart: outputEnd)
        TestDirectory.testBegins(type: test.list.type.name, test: test.entry.name)
        CrashHandler.testBegins()
        let start = Self.now
        await Recorder.$ownIndex.withValue(index) {
            do { try await test.entry.body() } catch { try? recordThrown(error, from: "the test") }
            Recorder.endIfForked()
        }
        let nanoseconds = Self.now - start
        CrashHandler.testEnds()
        fflush(nil)
        outputEnd = state.outputSize ?? 0
        let (hasFailed, outputIsOfUse) = Recorder.end(index, nanoseconds: nanoseconds, outputEnd: outputEnd)
        TestDirectory.testEnds(hasFailed: hasFailed)
        // The output of passed tests isn't shown, and it may be large.
        if !outputIsOfUse, outputEnd > 1 << 20, state.emptyOutput() { outputEnd = 0 }
        return hasFailed
    }

    /// The monotonic time in nanoseconds.
    private static var now: Int {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return time.tv_sec &* 1_000_000_000 &+ time.tv_nsec
    }
}

#endif
