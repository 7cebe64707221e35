// Ends this process when the one is gone that started it, which could then not do it: SwiftPM, when it is interrupted, ends
// its plugins at once, and not what they have started.
//
// Sources: exit(2) and exit(3): a process whose parent has ended is given to another one, on Linux and on macOS; pthread.h
// for the type of a thread.

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

package enum Starter {
    /// The variable by which a program that starts this one says its process, to have what it started end with it.
    private static let variable = "IN_CLASS_STARTER"
    // SAFETY: written before the thread is started that reads them.
    private nonisolated(unsafe) static var watched: (process: pid_t, interval: UInt32) = (0, 0)

    /// Has SIGTERM come to this process when the one is gone that started it, if that one has asked for it.
    package static func endWithIt(lookingEvery microseconds: UInt32 = 100_000) {
        guard let text = getenv(variable), let process = pid_t(String(cString: text)) else { return }
        // What tests start is not meant.
        unsetenv(variable)
        watched = (process, microseconds)
        // The signals are for the thread that runs tests, which they wake.
        var all = sigset_t()
        var before = sigset_t()
        sigfillset(&all)
        pthread_sigmask(SIG_SETMASK, &all, &before)
        #if canImport(Darwin)
        var thread: pthread_t?
        #else
        var thread = pthread_t()
        #endif
        pthread_create(
            &thread, nil,
            { _ in
                Starter.watch()
                return nil
            }, nil)
        pthread_sigmask(SIG_SETMASK, &before, nil)
    }

    private static func watch() {
        while getppid() == watched.process { usleep(watched.interval) }
        kill(getpid(), SIGTERM)
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension Starter: SelfTesting {
    package static var testSelectors: TestSelectors { ["testEndsWithWhoStartedIt": testEndsWithWhoStartedIt] }

    /// Only if that one says so, and is not there any more.
    private static func testEndsWithWhoStartedIt() {
        for (isParent, word, isOver) in [(true, "", false), (false, "", true), (false, "x", false)] {
            let parent = getpid()
            expectExit(.exit(isOver ? SIGTERM : 0), "\(isParent) \(word)") {
                setenv(variable, "\(word)\(isParent ? parent : getpid())", 1)
                Interruption.watchSignals()
                endWithIt(lookingEvery: 1_000)
                var count = isOver ? 10_000 : 50
                while Interruption.signal == nil, count > 0 {
                    usleep(1_000)
                    count -= 1
                }
                let isPassedOn = getenv(variable) != nil
                _exit(isPassedOn != word.isEmpty ? Interruption.signal ?? 0 : 99)
            }
        }
    }
}
#endif
