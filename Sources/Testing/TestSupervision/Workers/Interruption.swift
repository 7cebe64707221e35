// The end of a run from outside, by a signal to this process.

internal import InClassSystem

package enum Interruption {
    // SAFETY: read and written by atomic operations only; never freed.
    private nonisolated(unsafe) static let signalNumber: UnsafeMutablePointer<Int32> = {
        let number = UnsafeMutablePointer<Int32>.allocate(capacity: 1)
        number.initialize(to: 0)
        return number
    }()

    /// The signals that end a run.
    static let signals = [SIGTERM, SIGINT, SIGHUP, SIGQUIT]

    /// Takes note of the signals that end programs instead of being ended by them, so that a run can say how far it got.
    package static func watchSignals() {
        _ = signalNumber  // made now, since a handler allocates nothing
        for number in signals { handle(number) { inclass_store(Interruption.signalNumber, $0) } }
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

    /// The signal that has come, if one has.
    package static var signal: Int32? {
        let number = inclass_load(signalNumber)
        return number == 0 ? nil : number
    }

    /// Why runs are to end now, if they are.
    package static var reason: String? { signal.map(signalName) }

    /// Calls a function when a signal comes.
    static func handle(_ number: Int32, _ handler: @escaping @convention(c) (Int32) -> Void) {
        inclass_handle(number, handler, 0)
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension Interruption: SelfTesting {
    package static var testSelectors: TestSelectors { ["testNamesTheSignal": testNamesTheSignal] }

    /// Forgets a signal that a test has had sent.
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
#endif
