// Handles the events that end a run from outside: signals, and the end of the process that has started this one.
//
// Sources: fork(2): a child inherits the signal handlers of its parent; setitimer(2): but not its timers; exit(2) and
// exit(3): if the parent of a process ends, the process gets another parent, on Linux and on macOS.

internal import InClassSystem

/// The signals that end a run.
package enum Interruption {
    // SAFETY: The memory is only accessed with atomic operations, and never freed.
    private nonisolated(unsafe) static let signalNumber: UnsafeMutablePointer<Int32> = {
        let number = UnsafeMutablePointer<Int32>.allocate(capacity: 1)
        number.initialize(to: 0)
        return number
    }()

    /// The signals that end a run.
    static let signals = [SIGTERM, SIGINT, SIGHUP, SIGQUIT]

    /// Records the signals that normally end a program, so that a run can report its results first.
    package static func watchSignals() {
        _ = signalNumber  // allocated now, because a handler must not allocate
        for number in signals { handle(number) { inclass_store(Interruption.signalNumber, $0) } }
        // The reports are written even if the reader of the output or of a worker's commands has ended. This must be a
        // handler, because child processes would inherit an ignored signal.
        handle(SIGPIPE) { _ in }
        // Some parents block signals, for example 'swift test'. This process and its workers inherit the blocked
        // signals.
        unblockSignals()
    }

    static func unblockSignals() {
        var none = sigset_t()
        sigemptyset(&none)
        sigprocmask(SIG_SETMASK, &none, nil)
    }

    /// The last signal, or nil before the first signal.
    package static var signal: Int32? {
        let number = inclass_load(signalNumber)
        return number == 0 ? nil : number
    }

    /// The name of the signal that ended the run, or nil.
    package static var reason: String? { signal.map(signalName) }

    /// Installs a function that is called at each signal.
    static func handle(_ number: Int32, _ handler: @escaping @convention(c) (Int32) -> Void) {
        inclass_handle(number, handler, 0)
    }
}

/// Ends this process after its parent has ended. If SwiftPM is interrupted, it ends its plugins at once, but not the
/// processes that they have started.
package enum Starter {
    /// The variable with the process number of the parent, if this process must end with it.
    private static let variable = "IN_CLASS_STARTER"
    // SAFETY: The variable is written before the timer starts. The timer's handler only reads it.
    private nonisolated(unsafe) static var process: pid_t = 0
    // SAFETY: set once, before the program starts a thread.
    /// A Boolean value that indicates whether a plugin started this program in SwiftPM's sandbox, which macOS has.
    package private(set) nonisolated(unsafe) static var isSandboxed = false

    /// Sends SIGTERM to this process after its parent has ended, if the parent has set the variable.
    ///
    /// A timer checks this ten times a second. Its signal, SIGALRM, restarts system calls.
    package static func endWithIt() {
        guard let text = Environment.value(of: variable), let starter = pid_t(text) else { return }
        isSandboxed = TargetSystem.current == .macOS
        // Processes that tests start must not inherit the variable.
        unsetenv(variable)
        end(with: starter)
    }

    /// Sends SIGTERM to this process after its parent has ended.
    static func end(with parent: pid_t) {
        process = parent
        inclass_handle(
            SIGALRM, { _ in if getppid() != Starter.process { kill(getpid(), SIGTERM) } }, numericCast(SA_RESTART))
        inclass_start_timer(100_000)
    }
}

/// Forks the process that a build starts: the child process runs the tests, and the parent waits for it. If a signal
/// ends a build step, SwiftPM cancels the build without an error. The waiting parent reports such an end as an error.
package enum WaitingParent {
    // SAFETY: The variable is written while the signals of its readers, the handlers, are blocked.
    private nonisolated(unsafe) static var child: pid_t = 0

    /// Forks the process that does the work and returns in the child. Call this function before any thread is started.
    ///
    /// In the child process, the signals that end a run are blocked until it calls `Interruption.watchSignals`. The
    /// parent forwards these signals and exits with the status of the child process.
    ///
    /// - Parameter exitStatus: is called in the parent if a signal has ended the child, with the signal's number and
    ///   name.
    package static func fork(exitStatus: (_ signal: Int32, _ name: String) -> Int32) {
        fflush(nil)
        var signals = sigset_t()
        var before = sigset_t()
        sigemptyset(&signals)
        for number in Interruption.signals { sigaddset(&signals, number) }
        sigprocmask(SIG_BLOCK, &signals, &before)
        var orphans = Orphans()
        orphans.adopt(true)
        let parent = getpid()
        child = inclass_fork()
        if child == 0 { return Starter.end(with: parent) }
        if child < 0 {
            orphans.adopt(false)
            sigprocmask(SIG_SETMASK, &before, nil)
            return
        }
        for number in Interruption.signals { Interruption.handle(number) { kill(WaitingParent.child, $0) } }
        Interruption.handle(SIGPIPE) { _ in }
        // The parent of this process may have blocked these signals, and also the signal of the timer in `Starter`.
        Interruption.unblockSignals()
        switch ChildProcess.wait(for: child) {
        case .exited(let status): _exit(status)
        case .killed(let signal):
            // The system has killed the workers. The processes that tests have started are now children of this
            // process.
            orphans.end()
            let status = exitStatus(signal, signalName(signal))
            fflush(nil)
            _exit(status)
        }
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

/// A Boolean value that indicates whether this test executable runs with the thread sanitizer.
private var isUnderThreadSanitizer: Bool {
    // dlfcn.h: On macOS, `RTLD_DEFAULT` is `((void *) -2)`, and 0 isn't a handle.
    let allImages = TargetSystem.current == .macOS ? UnsafeMutableRawPointer(bitPattern: -2) : nil
    return dlsym(allImages, "__tsan_init") != nil
}

extension Interruption: SelfTesting {
    package static var testSelectors: TestSelectors { ["testNamesTheSignal": testNamesTheSignal] }

    /// Forgets a signal that a test has sent.
    package static func forget() { inclass_store(signalNumber, 0) }

    private static func testNamesTheSignal() {
        defer { forget() }
        expectNil(reason)
        watchSignals()
        kill(getpid(), SIGHUP)
        while signal == nil { usleep(1000) }
        expectEqual(reason, "SIGHUP")
    }
}

extension Starter: SelfTesting {
    package static var testSelectors: TestSelectors {
        // Under the thread sanitizer, a child of a process with several threads receives no signals.
        let getsSignals = !isUnderThreadSanitizer
        let rows = [
            ("the parent", true, "", false), ("another process", false, "", true),
            ("no process", false, "x", false),
        ]
        return .each("testExitsWithItsStarter", rows.filter { getsSignals || !$0.3 }, named: \.0) {
            testExitsWithItsStarter($1, $2, $3)
        }
    }

    /// The process ends only if the parent has set the variable and has ended.
    private static func testExitsWithItsStarter(_ isParent: Bool, _ word: String, _ isOver: Bool) {
        let parent = getpid()
        expectExit(.exit(isOver ? SIGTERM : 0)) {
            setenv(variable, "\(word)\(isParent ? parent : getpid())", 1)
            Interruption.watchSignals()
            endWithIt()
            guard (inclass_timer() > 0) == word.isEmpty else { _exit(98) }
            // Wait for two timer intervals, or until the signal arrives.
            var count = isOver ? 10_000 : 250
            while Interruption.signal == nil, count > 0 {
                usleep(1_000)
                count -= 1
            }
            let isPassedOn = Environment.value(of: variable) != nil
            _exit(isPassedOn != word.isEmpty ? Interruption.signal ?? 0 : 99)
        }
    }
}

extension WaitingParent: SelfTesting {
    package static var testSelectors: TestSelectors {
        [
            "testExitsWithStatusOfTheChild": testExitsWithStatusOfTheChild,
            "testReportsSignalsAsStatus": testReportsSignalsAsStatus,
            "testForwardsSignals": testForwardsSignals,
            "testUnblocksSignals": testUnblocksSignals,
            "testChildExitsWithTheParent": testChildExitsWithTheParent,
        ]
    }

    private static func fork() {
        fork { signal, name in signal == SIGKILL && name == "SIGKILL" ? 7 : 1 }
    }

    /// Under the thread sanitizer, the child of a process with several threads runs no signal handlers.
    private static func skipUnderThreadSanitizer() throws {
        if isUnderThreadSanitizer { try skip("the thread sanitizer is on") }
    }

    private static func testExitsWithStatusOfTheChild() {
        expectExit(.exit(5)) {
            fork()
            exit(5)
        }
    }

    private static func testReportsSignalsAsStatus() {
        expectExit(.exit(7)) {
            fork()
            kill(getpid(), SIGKILL)
        }
    }

    /// The child has blocked the signal before its parent can send it.
    private static func testForwardsSignals() throws {
        try skipUnderThreadSanitizer()
        expectExit(.exit(6)) {
            fork()
            var signals = sigset_t()
            sigemptyset(&signals)
            sigaddset(&signals, SIGTERM)
            sigprocmask(SIG_BLOCK, &signals, nil)
            kill(getppid(), SIGTERM)
            var number: Int32 = 0
            exit(sigwait(&signals, &number) == 0 && number == SIGTERM ? 6 : 1)
        }
    }

    /// SwiftPM blocks signals in its children, including the signal of the timer that checks the starter.
    private static func testUnblocksSignals() {
        expectExit(.signal(SIGALRM)) {
            var signals = sigset_t()
            sigfillset(&signals)
            sigprocmask(SIG_SETMASK, &signals, nil)
            fork()
            kill(getppid(), SIGALRM)
            _exit(0)
        }
    }

    private static func testChildExitsWithTheParent() throws {
        try skipUnderThreadSanitizer()
        let ends = try ChildProcess.makePipe()
        expectExit(.signal(SIGKILL)) {
            fork()
            var signals = sigset_t()
            sigemptyset(&signals)
            sigaddset(&signals, SIGTERM)
            // The threads of tasks block the signal of the timer, too.
            sigprocmask(SIG_SETMASK, &signals, nil)
            kill(getppid(), SIGKILL)
            var number: Int32 = 0
            if sigwait(&signals, &number) == 0 { _ = write(ends.write.number, "x", 1) }
            _exit(0)
        }
        ends.write.release()
        var byte: UInt8 = 0
        expectEqual(read(ends.read.number, &byte, 1), 1, "bytes after the end of the parent")
    }
}
#endif
