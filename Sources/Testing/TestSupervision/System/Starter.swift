// Ends this process when the one is gone that started it, which could then not do it: SwiftPM, when it is interrupted, ends
// its plugins at once, and not what they have started.
//
// Sources: exit(2) and exit(3): a process whose parent has ended is given to another one, on Linux and on macOS;
// setitimer(2): a timer is not inherited by children.

internal import InClassSystem

package enum Starter {
    /// The variable by which a program that starts this one says its process, to have what it started end with it.
    private static let variable = "IN_CLASS_STARTER"
    // SAFETY: written before the timer begins whose handler reads it.
    private nonisolated(unsafe) static var process: pid_t = 0

    /// Has SIGTERM come to this process when the one is gone that started it, if that one has asked for it.
    ///
    /// It looks ten times a second, by SIGALRM, which no call that can be restarted notices.
    package static func endWithIt() {
        guard let text = Environment.value(of: variable), let starter = pid_t(text) else { return }
        // What tests start is not meant.
        unsetenv(variable)
        end(with: starter)
    }

    /// Has SIGTERM come to this process when its parent, which is this one, is gone.
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
        // A child of several threads gets no signals under the thread sanitizer.
        let getsSignals = !SystemCalls.isUnderThreadSanitizer
        let rows = [
            ("the parent", true, "", false), ("another process", false, "", true),
            ("no process", false, "x", false),
        ]
        return .each("testEndsWithWhoStartedIt", rows.filter { getsSignals || !$0.3 }, named: \.0) {
            testEndsWithWhoStartedIt($1, $2, $3)
        }
    }

    /// Only if that one says so, and is not there any more.
    private static func testEndsWithWhoStartedIt(_ isParent: Bool, _ word: String, _ isOver: Bool) {
        let parent = getpid()
        expectExit(.exit(isOver ? SIGTERM : 0)) {
            setenv(variable, "\(word)\(isParent ? parent : getpid())", 1)
            Interruption.watchSignals()
            endWithIt()
            guard (inclass_timer() > 0) == word.isEmpty else { _exit(98) }
            // Two turns of the timer, or as many as it takes.
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
