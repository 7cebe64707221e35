// The main function of a test executable: sends the plan to the supervisor, then runs the tests that the supervisor
// requests. Its parts are TypeDiscovery (types with tests), TestLoop (running tests one after another), Recorder
// (issues), EventWriter (the protocol), ProcessState (process state that a test may change) and CrashHandler (crashes
// and exits).

#if DEBUG || IN_CLASS_TESTS

internal import InClassTestingSystem

/// The entry point of a test executable.
///
/// The command line is `EXECUTABLE --in-class-worker MODULE EVENTS COMMANDS PLAN`. MODULE is the module to test, or an empty
/// string for all modules except this one. EVENTS and COMMANDS are the numbers of the descriptors for events and
/// commands. PLAN is `unknown` if the supervisor needs the plan, and `known` if another worker has sent it already.
/// `FIRST:TYPE` selects only the tests of one type, and FIRST is the index of its first test.
@_cdecl("inclass_main")
public func inclassMain(_ count: Int32, _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?) -> Int32 {
    WorkerMain.arguments = (0..<Int(count)).map { index in arguments?[index].map { String(cString: $0) } ?? "" }
    let words = WorkerMain.arguments
    if words.count == 4, words[1] == "--in-class-debug" { WorkerMain.startDebugging(module: words[2], test: words[3]) }
    guard words.count == 6, words[1] == "--in-class-worker", let events = Int32(words[3]),
        let commands = Int32(words[4])
    else {
        fputs(
            "This program contains in-class tests; run them with: testlogger \(words.first ?? "EXECUTABLE")\n",
            inclass_stderr())
        return 2
    }
    WorkerMain.start(module: words[2], events: events, commands: commands, plan: words[5])
    return 0
}

enum WorkerMain {
    // SAFETY: written before other code runs. The main function doesn't return, so a leak check would report its local
    // variables.
    nonisolated(unsafe) static var arguments: [String] = []

    /// The properties that the tests of one list with the same time limit share.
    final class List {
        let type: ConformingType
        let testType: TestType
        /// The time limit, or 0 for the default limit.
        let timeoutMilliseconds: Int

        init(_ type: ConformingType, _ testType: TestType, _ timeoutMilliseconds: Int) {
            self.type = type
            self.testType = testType
            self.timeoutMilliseconds = timeoutMilliseconds
        }
    }

    // SAFETY: see TestSelectors, the list that contains the entry.
    struct Test: @unchecked Sendable {
        let list: List
        let entry: TestSelectors.Entry
    }

    /// Runs on the main thread and never returns. The tests run in a task, and the main queue serves the main actor.
    static func start(module: String, events: Int32, commands: Int32, plan: String) {
        // Children that a test starts must not hold the supervisor's pipes open.
        _ = fcntl(events, F_SETFD, FD_CLOEXEC)
        _ = fcntl(commands, F_SETFD, FD_CLOEXEC)
        Supervisor.endWithIt()
        setvbuf(inclass_stdout(), nil, _IOLBF, 0)
        Recorder.connect(EventWriter(descriptor: events))
        notesWhatIsMet = getenv("IN_CLASS_ACCEPTING") != nil
        CrashHandler.install(descriptor: events)
        let (first, type) = part(of: plan)
        let tests = announcePlan(module: module, isKnown: plan == "known", only: type)
        drainMainQueue {
            let loop = TestLoop(tests, first: first, commands: commands)
            // A test that cancels its task cancels only this task.
            while await Task.detached(operation: { await loop.run() }).value {}
            endIfLeaking()
            Recorder.send { $0.add("finished") }
            // The leak check must still find the objects that the lists reference.
            withExtendedLifetime(loop) {}
            return 0
        }
    }

    /// Runs one test for a debugger in this process, with its own output, without a time limit and without a signal
    /// handler. Issues are printed.
    static func startDebugging(module: String, test name: String) -> Never {
        Recorder.connect(EventWriter(descriptor: -1))
        Recorder.printsIssues = true
        let tests = plan(ofModule: module, only: nil).tests
        guard let test = tests.first(where: { "\($0.list.type.name).\($0.entry.name)" == name }) else {
            fputs("there is no test \(name)\n", inclass_stderr())
            exit(4)
        }
        drainMainQueue {
            TestDirectory.testBegins(type: test.list.type.name, test: test.entry.name)
            do { try await test.entry.body() } catch { try? recordThrown(error, from: "the test") }
            if let path = TestDirectory.testEnds(hasFailed: Recorder.hasFailed) {
                fputs("its temporary directory is kept: \(path)\n", inclass_stderr())
            }
            fputs("\(name) is over\n", inclass_stderr())
            return 0
        }
    }

    /// Runs a closure in a task and ends the process with its status, while the main thread serves the main actor.
    private static func drainMainQueue(_ body: @escaping @Sendable () async -> Int32) -> Never {
        Task.detached {
            let status = await body()
            CrashHandler.watchThread()
            fflush(nil)
            exit(status)
        }
        typealias Drain = @convention(c) () -> Void
        guard let symbol = SystemSymbol.address(of: "swift_task_asyncMainDrainQueue") else {
            fputs("the Swift runtime has no main queue\n", inclass_stderr())
            _exit(70)
        }
        // SAFETY: a function without parameters and result is the same in the Swift and the C convention.
        unsafeBitCast(symbol, to: Drain.self)()
        _exit(70)  // the main queue never ends
    }

    private static func isTested(_ name: String, _ module: String) -> Bool {
        module.isEmpty ? name != "InClassTesting" : name == module
    }

    /// Returns the index and the type in `FIRST:TYPE`. A leak check would report an array in `start`, so this is a
    /// function.
    private static func part(of plan: String) -> (first: Int, type: Substring?) {
        let words = plan.split(separator: ":", maxSplits: 1)
        return words.count == 2 ? (Int(words[0]) ?? 0, words[1]) : (0, nil)
    }

    /// Creates the lists of all types, or only of one type.
    ///
    /// - Returns: The tests, and the names of the types without tests to run, each with its reason or an empty text.
    private static func plan(
        ofModule module: String, only typeName: Substring?
    ) -> (tests: [Test], untested: [[String]]) {
        let (types, untestable) = TypeDiscovery.testedTypes()
        var tests: [Test] = []
        var untested: [[String]] = []
        for tested in types where isTested(tested.module, module) && typeName ?? tested.name[...] == tested.name {
            if !add(tested, to: &tests) { untested.append([tested.name, ""]) }
        }
        for type in untestable where isTested(type.module, module) {
            untested.append([type.name, type.reason])
        }
        return (tests, untested)
    }

    /// Creates the lists, and announces their tests.
    private static func announcePlan(module: String, isKnown: Bool, only typeName: Substring?) -> [Test] {
        let (tests, untested) = plan(ofModule: module, only: typeName)
        Recorder.send { writer in
            writer.add("version", EventWriter.version)
            for type in untested where !isKnown && typeName == nil { writer.add("untested", type) }
            let start = writer.buffer.count
            add(tests, to: &writer)
            let hash = writer.hash(from: start)
            if isKnown { writer.removeAll(from: start) }
            writer.add("ready", tests.count, hash)
        }
        return tests
    }

    private static func add(_ tests: [Test], to writer: inout EventWriter) {
        var list: List?
        var index = 0
        // PERF: `while` instead of `for` and `map`, here and below. In a debug build, these take longer than their
        // bodies.
        while index < tests.count {
            let test = tests[index]
            if test.list !== list {
                let (type, testType, limit) = (test.list.type, test.list.testType, test.list.timeoutMilliseconds)
                list = test.list
                writer.add("list", [type.name, testType.name, type.module, String(limit)])
            }
            if let row = test.entry.row {
                writer.add("row", [test.entry.name, row.table, String(row.index)])
            } else {
                writer.add("planned", [test.entry.name])
            }
            index += 1
        }
    }

    /// Adds the tests of a type's lists.
    ///
    /// - Returns: true if the lists contain tests.
    private static func add(_ tested: ConformingType, to tests: inout [Test]) -> Bool {
        func lists<T: SelfTesting & ~Copyable & ~Escapable>(_ type: T.Type) -> [(TestType, TestSelectors)] {
            [(.unit, type.testSelectors)]
                + type.testSelectorsByType.sorted { $0.key.name < $1.key.name }.map { ($0.key, $0.value) }
        }
        func limit<T: SelfTesting & ~Copyable & ~Escapable>(_ type: T.Type) -> Duration? { type.testTimeLimit }
        let before = tests.count
        let typeLimit = limit(tested.type)
        for (testType, list) in lists(tested.type) {
            let entries = list.entries
            var list: List?
            var index = 0
            while index < entries.count {
                let timeout = (entries[index].timeLimit ?? typeLimit)?.milliseconds ?? 0
                let current =
                    if let list, list.timeoutMilliseconds == timeout { list } else { List(tested, testType, timeout) }
                list = current
                tests.append(Test(list: current, entry: entries[index]))
                index += 1
            }
        }
        return tests.count > before
    }

    /// Calls the leak check of a leak sanitizer, if the test executable has one, and ends the process if the tests have
    /// leaked memory.
    private static func endIfLeaking() {
        typealias Check = @convention(c) () -> Int32
        guard let symbol = SystemSymbol.address(of: "__lsan_do_recoverable_leak_check") else { return }
        // SAFETY: the function's signature in sanitizer/lsan_interface.h.
        if unsafeBitCast(symbol, to: Check.self)() != 0 {
            fflush(nil)
            _exit(23)
        }
    }
}

#endif
