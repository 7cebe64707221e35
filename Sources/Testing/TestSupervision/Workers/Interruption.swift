// Handles the signals that end a run.

internal import InClassSystem

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

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

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
#endif
