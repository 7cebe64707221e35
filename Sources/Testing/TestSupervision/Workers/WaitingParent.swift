// Forks the process that a build starts: the child process runs the tests, and the parent waits for it. If a signal
// ends a build step, SwiftPM cancels the build without an error. The waiting parent reports such an end as an error.
//
// Sources: fork(2), setitimer(2): a child inherits the signal handlers of its parent, but not its timers.

internal import InClassSystem

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
        if SystemCalls.isUnderThreadSanitizer { try skip("the thread sanitizer is on") }
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
        let ends = try ChildProcess.pipe()
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
        ends.write.close()
        var byte: UInt8 = 0
        expectEqual(read(ends.read.number, &byte, 1), 1, "bytes after the end of the parent")
    }
}
#endif
