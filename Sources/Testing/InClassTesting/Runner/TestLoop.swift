// Runs the tests that the supervisor requests, one after another.

#if DEBUG || IN_CLASS_TESTS

internal import InClassTestingSystem

/// The loop of a worker. It reads commands and runs the requested tests.
final class TestLoop: @unchecked Sendable {
    // SAFETY: one task at a time uses the loop.
    private let tests: [ImageMain.Test]
    /// The index of the first test in `tests`.
    private let first: Int
    private var commands: CommandReader
    // PERF: in a debug build, the exclusivity check of an access takes longer than the access.
    @exclusivity(unchecked) private var state = ProcessState()
    @exclusivity(unchecked) private var outputEnd: Int
    /// The current command, or nil before the first. The tests before its `next` have run.
    @exclusivity(unchecked) private var command: Command?
    @exclusivity(unchecked) private var next = 0
    @exclusivity(unchecked) private var end = 0

    init(_ tests: [ImageMain.Test], first: Int, commands: Int32) {
        self.tests = tests
        self.first = first
        self.commands = CommandReader(descriptor: commands)
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
            if hasFailed, command?.stopsAtFailure ?? false {
                (next, end) = (0, 0)
                command?.ranges = []
            }
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
            if let range = command?.ranges.popFirst()?.clamped(to: first..<first + tests.count) {
                (next, end) = (range.lowerBound, range.upperBound)
                continue
            }
            if command != nil { Recorder.send { $0.add("idle") } }
            command = commands.next()
            if command == nil { return nil }
        }
    }

    /// Runs a test.
    ///
    /// - Returns: true if the test has failed.
    private func run(_ test: ImageMain.Test, _ index: Int) async -> Bool {
        Recorder.begin(index, outputStart: outputEnd)
        TestDirectory.testBegins(type: test.typeName, test: test.testName)
        LastWords.testBegins()
        let start = Self.now
        await Recorder.$ownIndex.withValue(index) {
            do { try await test.body() } catch { try? recordThrown(error, from: "the test") }
            Recorder.endIfForked()
        }
        let nanoseconds = Self.now - start
        LastWords.testEnds()
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

/// A part of the plan to run.
private struct Command {
    var ranges: ArraySlice<Range<Int>>
    /// A Boolean value that indicates whether no test begins after a failure.
    var stopsAtFailure: Bool
}

/// Reads commands, one per line. A command is `run`, or `try`, which stops at the first failure. Ranges of the plan
/// follow, each as FIRST and END.
private struct CommandReader: ~Copyable {
    let descriptor: Int32
    private var pending: [UInt8] = []

    init(descriptor: Int32) { self.descriptor = descriptor }

    mutating func next() -> Command? {
        var chunk = [UInt8](repeating: 0, count: 4096)
        while true {
            if let end = pending.firstIndex(of: 0x0A) {
                let line = String(decoding: pending[..<end], as: UTF8.self)
                pending.removeFirst(end + 1)
                return Self.command(line)
            }
            let count = read(descriptor, &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return nil }
            pending += chunk[..<count]
        }
    }

    private static func command(_ line: String) -> Command? {
        let words = line.split(separator: " ")
        let numbers = words.dropFirst().compactMap { Int($0) }
        guard let kind = words.first, kind == "run" || kind == "try", numbers.count == words.count - 1,
            numbers.count.isMultiple(of: 2)
        else { return nil }
        var command = Command(ranges: [], stopsAtFailure: kind == "try")
        for index in stride(from: 0, to: numbers.count, by: 2) {
            guard numbers[index] <= numbers[index + 1] else { return nil }
            command.ranges.append(numbers[index]..<numbers[index + 1])
        }
        return command
    }
}

#endif
