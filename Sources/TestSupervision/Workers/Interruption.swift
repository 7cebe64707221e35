// The end of a run from outside: a signal to this process, or the moment by which it must be over.

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

package enum Interruption {
    // SAFETY: written by the handler and read by the one thread there is; a word is written at once.
    private nonisolated(unsafe) static var signalNumber: Int32 = 0
    // SAFETY: set once before the first run.
    private nonisolated(unsafe) static var deadline: ContinuousClock.Instant?

    /// Takes note of the signals that end programs instead of being ended by them, so that a run can say how far it got.
    package static func watchSignals() {
        for number in [SIGTERM, SIGINT, SIGHUP] {
            signal(number) { Interruption.signalNumber = $0 }
        }
        // A reader that is gone, of the output or a worker's commands, is no reason to lose the reports. A handler, since
        // programs that are started would inherit that the signal is ignored.
        signal(SIGPIPE) { _ in }
        // A parent that blocks signals, as 'swift test' does, would have this process and all of its workers deaf to them.
        var none = sigset_t()
        sigemptyset(&none)
        sigprocmask(SIG_SETMASK, &none, nil)
    }

    /// The variable by which a program that starts this one says its process, to have what it started end with it.
    private static let starterVariable = "IN_CLASS_STARTER"
    // SAFETY: written before the thread is started that reads them.
    private nonisolated(unsafe) static var watched: (starter: pid_t, interval: UInt32) = (0, 0)

    /// Ends this process as SIGTERM does when the one is gone that started it, if that one has asked for it: SwiftPM, when it
    /// is interrupted, ends its plugins at once and not what they have started.
    package static func endWithStarter(lookingEvery microseconds: UInt32 = 100_000) {
        guard let text = getenv(starterVariable), let starter = pid_t(String(cString: text)) else { return }
        // What tests start is not meant.
        unsetenv(starterVariable)
        watched = (starter, microseconds)
        // The signals are for the thread that runs tests, which they wake.
        var (all, before) = (sigset_t(), sigset_t())
        sigfillset(&all)
        pthread_sigmask(SIG_SETMASK, &all, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        #if canImport(Darwin)
        var thread: pthread_t?
        #else
        var thread = pthread_t()
        #endif
        pthread_create(
            &thread, nil,
            { _ in
                while getppid() == Interruption.watched.starter { usleep(Interruption.watched.interval) }
                kill(getpid(), SIGTERM)
                return nil
            }, nil)
    }

    /// Ends what still runs at a moment.
    package static func endRuns(at instant: ContinuousClock.Instant) { deadline = instant }

    /// The signal that has come, if one has.
    package static var signal: Int32? { signalNumber == 0 ? nil : signalNumber }

    /// Why runs are to end now, if they are.
    package static var reason: String? { reason(at: ContinuousClock.now) }

    private static func reason(at instant: @autoclosure () -> ContinuousClock.Instant) -> String? {
        if let signal { return signalName(signal) }
        guard let deadline, instant() >= deadline else { return nil }
        return "its time limit"
    }

    private static func signal(_ number: Int32, _ handler: @escaping @convention(c) (Int32) -> Void) {
        var action = sigaction(calling: handler)
        sigaction(number, &action, nil)
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension Interruption: SelfTesting {
    package static var testSelectors: TestSelectors {
        [
            "testEndsRunsAtTheDeadline": testEndsRunsAtTheDeadline, "testPutsTheSignalFirst": testPutsTheSignalFirst,
            "testEndsWithWhoStartedIt": testEndsWithWhoStartedIt,
        ]
    }

    /// Does something while runs are to end at a moment.
    static func withDeadline<Result>(_ instant: ContinuousClock.Instant, _ body: () throws -> Result) rethrows -> Result
    {
        endRuns(at: instant)
        defer { deadline = nil }
        return try body()
    }

    private static func testEndsRunsAtTheDeadline() {
        let instant = ContinuousClock.now
        expectNil(reason(at: instant), "without a deadline")
        endRuns(at: instant)
        defer { deadline = nil }
        expectNil(reason(at: instant - .nanoseconds(1)), "before it")
        expectEqual(reason(at: instant), "its time limit", "at the deadline")
        expectEqual(reason, "its time limit", "after it")
    }

    /// Only if that one says so, and is not there any more.
    private static func testEndsWithWhoStartedIt() {
        for (isParent, word, isOver) in [(true, "", false), (false, "", true), (false, "x", false)] {
            let process = getpid()
            expectExit(.exit(isOver ? SIGTERM : 0), "\(isParent) \(word)") {
                let starter = isParent ? process : getpid()
                setenv(starterVariable, "\(word)\(starter)", 1)
                watchSignals()
                endWithStarter(lookingEvery: 1_000)
                var count = isOver ? 10_000 : 50
                while signal == nil, count > 0 {
                    usleep(1_000)
                    count -= 1
                }
                let isPassedOn = getenv(starterVariable) != nil
                _exit(isPassedOn != word.isEmpty ? signal ?? 0 : 99)
            }
        }
    }

    private static func testPutsTheSignalFirst() {
        endRuns(at: ContinuousClock.now)
        signalNumber = SIGTERM
        defer { (deadline, signalNumber) = (nil, 0) }
        expectEqual(reason, signalName(SIGTERM))
    }
}
#endif
