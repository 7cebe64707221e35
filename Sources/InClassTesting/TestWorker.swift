// The main function of a test image: announces the plan to the supervisor, then runs what it is told to. Its parts are
// ConformanceRecords (which types), Recorder (issues), EventWriter (the wire) and CrashReports (last words).

#if DEBUG || IN_CLASS_TESTS

#if canImport(Darwin)
@preconcurrency import Darwin
#elseif canImport(Musl)
@preconcurrency import Musl
#else
@preconcurrency import Glibc
#endif

/// The entry point that a test image is linked with.
///
/// The command line is `IMAGE --in-class-worker MODULE EVENTS COMMANDS`: the module to test, or an empty string for
/// all but this one, and the numbers of the descriptors that events go to and commands come from.
@_cdecl("inclass_main")
public func inclassMain(_ count: Int32, _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?) -> Int32 {
    let words = (0..<Int(count)).map { index in arguments?[index].map { String(cString: $0) } ?? "" }
    if words.count == 4, words[1] == "--in-class-debug" { TestWorker.startDebugging(module: words[2], test: words[3]) }
    guard words.count == 5, words[1] == "--in-class-worker", let events = Int32(words[3]),
        let commands = Int32(words[4])
    else {
        fputs("This is a test image; run it with: testlogger \(words.first ?? "IMAGE")\n", stderr)
        return 2
    }
    TestWorker.start(module: words[2], events: events, commands: commands)
    return 0
}

enum TestWorker {
    struct Test {
        var typeName: String
        var testName: String
        var testType: String
        var module: String
        /// How long it may take, or 0 for as long as any other.
        var timeoutMilliseconds: Int
        var body: TestBody
    }

    /// Runs on the main thread and never returns: the tests run in a task, and the main queue goes on serving
    /// whatever they need of the main actor.
    static func start(module: String, events: Int32, commands: Int32) {
        // Children that a test starts must not hold the supervisor's pipes open.
        _ = fcntl(events, F_SETFD, FD_CLOEXEC)
        _ = fcntl(commands, F_SETFD, FD_CLOEXEC)
        endWithSupervisor()
        setvbuf(stdout, nil, _IOLBF, 0)
        Recorder.connect(EventWriter(descriptor: events))
        CrashReports.install(descriptor: events)
        let tests = announcePlan(module: module)
        drainMainQueue {
            await serve(CommandReader(descriptor: commands), tests)
            return 0
        }
    }

    /// Has the system end this process when the supervisor is killed, which could then not do it; Linux only.
    private static func endWithSupervisor() {
        #if os(Linux)
        typealias Control = @convention(c) (Int32, UInt, UInt, UInt, UInt) -> Int32
        let parentDeathSignal: Int32 = 1
        guard let symbol = dlsym(nil, "prctl") else { return }
        // SAFETY: a function of variable arguments, all of which are words in registers here.
        _ = unsafeBitCast(symbol, to: Control.self)(parentDeathSignal, UInt(SIGKILL), 0, 0, 0)
        #endif
    }

    /// Runs one test for a debugger: in this process with its own output, no limit and no handler; issues are printed.
    static func startDebugging(module: String, test name: String) -> Never {
        Recorder.connect(EventWriter(descriptor: -1))
        Recorder.printsIssues = true
        let tests = plannedTests(module: module).filter { "\($0.typeName).\($0.testName)" == name }
        guard let test = tests.first else {
            fputs("there is no test \(name)\n", stderr)
            exit(4)
        }
        drainMainQueue {
            do { try await test.body() } catch { try? recordThrown(error, from: "the test") }
            fputs("\(name) is over\n", stderr)
            return 0
        }
    }

    /// Runs something in a task and ends the process with its status, while the main thread serves the main actor.
    private static func drainMainQueue(_ body: @escaping @Sendable () async -> Int32) -> Never {
        Task.detached {
            let status = await body()
            fflush(nil)
            exit(status)
        }
        typealias Drain = @convention(c) () -> Void
        guard let symbol = dlsym(nil, "swift_task_asyncMainDrainQueue") else {
            fputs("this Swift runtime has no main queue to serve\n", stderr)
            _exit(70)
        }
        // SAFETY: takes nothing and returns nothing; the same in the Swift and the C convention.
        unsafeBitCast(symbol, to: Drain.self)()
        _exit(70)  // the main queue is never done
    }

    private static func plannedTests(module: String) -> [Test] {
        var tests: [Test] = []
        for tested in ConformanceRecords.testedTypes().tested where isTested(tested.module, module) {
            tests += list(of: tested)
        }
        return tests
    }

    private static func isTested(_ name: String, _ module: String) -> Bool {
        module.isEmpty ? name != "InClassTesting" : name == module
    }

    private static func announcePlan(module: String) -> [Test] {
        let (types, untestable) = ConformanceRecords.testedTypes()
        var tests: [Test] = []
        Recorder.send { $0.add("version", EventWriter.version) }
        for tested in types where isTested(tested.module, module) {
            let list = list(of: tested)
            if list.isEmpty { Recorder.send { $0.add("warning", [tested.name, "its list of tests is empty"]) } }
            tests += list
        }
        for type in untestable where isTested(type.module, module) {
            Recorder.send { $0.add("warning", [type.name, "its tests do not run: \(type.reason)"]) }
        }
        Recorder.send { writer in
            for test in tests {
                writer.add(
                    "planned",
                    [test.typeName, test.testName, test.testType, test.module, String(test.timeoutMilliseconds)])
            }
            writer.add("ready", tests.count)
        }
        return tests
    }

    /// Reads the lists of a type.
    private static func list(of tested: TestedType) -> [Test] {
        func selectors<T: SelfTesting & ~Copyable & ~Escapable>(_ type: T.Type) -> [(TestType, TestSelectors)] {
            [(.unit, type.testSelectors)]
                + type.testSelectorsByType.sorted { $0.key.name < $1.key.name }.map { ($0.key, $0.value) }
        }
        func timeout<T: SelfTesting & ~Copyable & ~Escapable>(_ type: T.Type) -> Int? { type.testTimeoutMilliseconds }
        let lists = selectors(tested.type)
        let typeTimeout = timeout(tested.type)
        return lists.flatMap { testType, list in
            list.entries.map { entry in
                Test(
                    typeName: tested.name, testName: entry.name, testType: testType.name, module: tested.module,
                    timeoutMilliseconds: list.timeoutMilliseconds ?? typeTimeout ?? 0, body: entry.body)
            }
        }
    }

    /// Runs ranges of the plan until the supervisor closes the commands.
    private static func serve(_ commands: consuming CommandReader, _ tests: [Test]) async {
        var state = ProcessState()
        var outputEnd = state.outputSize ?? 0
        while let range = commands.next() {
            for index in range where tests.indices.contains(index) {
                await run(tests[index], index, &outputEnd, &state)
            }
            Recorder.send { $0.add("idle") }
        }
    }

    private static func run(_ test: Test, _ index: Int, _ outputEnd: inout Int, _ state: inout ProcessState) async {
        Recorder.begin(index, outputStart: outputEnd)
        CrashReports.testBegins()
        let start = ContinuousClock.now
        var skipReason: String?
        do { try await Recorder.$ownIndex.withValue(index) { try await test.body() } } catch let skipped as TestSkipped
        {
            skipReason = skipped.reason
        } catch { try? recordThrown(error, from: "the test") }
        let elapsed = (ContinuousClock.now - start).components
        CrashReports.testEnds()
        fflush(nil)
        if let skipReason { Recorder.send { $0.add("skip", [skipReason]) } }
        outputEnd = state.outputSize ?? 0
        let hasFailed = Recorder.end(
            index, nanoseconds: Int(elapsed.seconds * 1_000_000_000 + elapsed.attoseconds / 1_000_000_000),
            outputEnd: outputEnd)
        if hasFailed { state.restoreAll() } else { state.restore() }
        // What passed tests have written is of no use to anybody, but may be much.
        if !hasFailed, outputEnd > 1 << 20, state.emptyOutput() { outputEnd = 0 }
    }
}

/// Reads commands, one a line: `run FIRST END`, a range of the plan.
private struct CommandReader: ~Copyable {
    let descriptor: Int32
    private var line: [UInt8] = []

    init(descriptor: Int32) { self.descriptor = descriptor }

    mutating func next() -> Range<Int>? {
        line.removeAll(keepingCapacity: true)
        while true {
            var byte: UInt8 = 0
            let count = read(descriptor, &byte, 1)
            if count < 0, errno == EINTR { continue }
            guard count == 1 else { return nil }
            if byte == UInt8(ascii: "\n") { break }
            line.append(byte)
        }
        let words = String(decoding: line, as: UTF8.self).split(separator: " ")
        guard words.count == 3, words[0] == "run", let first = Int(words[1]), let end = Int(words[2]), first <= end
        else { return nil }
        return first..<end
    }
}

#endif
