// Ends this process after its parent has ended. If SwiftPM is interrupted, it ends its plugins at once, but not the
// processes that they have started.
//
// Sources: exit(2) and exit(3): if the parent of a process ends, the process gets another parent, on Linux and on
// macOS; setitimer(2): children don't inherit timers.

internal import InClassSystem

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

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension Starter: SelfTesting {
    package static var testSelectors: TestSelectors {
        // Under the thread sanitizer, a child of a process with several threads receives no signals.
        let getsSignals = !SystemCalls.isUnderThreadSanitizer
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
#endif
