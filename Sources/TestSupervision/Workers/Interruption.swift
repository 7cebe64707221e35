// The end of a run from outside: a signal to this process, or the moment by which it must be over.

internal import InClassSystem

package enum Interruption {
    // SAFETY: written by the handler and read by the one thread there is; a word is written at once.
    private nonisolated(unsafe) static var signalNumber: Int32 = 0
    // SAFETY: set once before the first run.
    private nonisolated(unsafe) static var deadline: ContinuousClock.Instant?

    /// The signals that end a run.
    static let signals = [SIGTERM, SIGINT, SIGHUP, SIGQUIT]

    /// Takes note of the signals that end programs instead of being ended by them, so that a run can say how far it got.
    package static func watchSignals() {
        for number in signals { handle(number) { Interruption.signalNumber = $0 } }
        // A reader that is gone, of the output or a worker's commands, is no reason to lose the reports. A handler, since
        // programs that are started would inherit that the signal is ignored.
        handle(SIGPIPE) { _ in }
        // A parent that blocks signals, as 'swift test' does, would have this process and all of its workers deaf to them.
        unblockSignals()
    }

    static func unblockSignals() {
        var none = sigset_t()
        sigemptyset(&none)
        sigprocmask(SIG_SETMASK, &none, nil)
    }

    /// Ends the tests that still run at a moment; nil takes the deadline away.
    package static func endRuns(at instant: ContinuousClock.Instant?) { deadline = instant }

    /// The signal that has come, if one has.
    package static var signal: Int32? { signalNumber == 0 ? nil : signalNumber }

    /// Why runs are to end now, if they are.
    package static var reason: String? { reason(at: ContinuousClock.now) }

    private static func reason(at instant: @autoclosure () -> ContinuousClock.Instant) -> String? {
        if let signal { return signalName(signal) }
        guard let deadline, instant() >= deadline else { return nil }
        return "its time limit"
    }

    /// Calls a function when a signal comes.
    static func handle(_ number: Int32, _ handler: @escaping @convention(c) (Int32) -> Void) {
        inclass_handle(number, handler, 0)
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension Interruption: SelfTesting {
    package static var testSelectors: TestSelectors {
        ["testEndsRunsAtTheDeadline": testEndsRunsAtTheDeadline, "testPutsTheSignalFirst": testPutsTheSignalFirst]
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

    private static func testPutsTheSignalFirst() {
        endRuns(at: ContinuousClock.now)
        signalNumber = SIGTERM
        defer { (deadline, signalNumber) = (nil, 0) }
        expectEqual(reason, signalName(SIGTERM))
    }
}
#endif
