// The crash handler of a worker. It reports the signal or the exit call that ends the worker, with the return addresses. All
// handlers run on an alternate stack, with memory that was allocated before.

#if DEBUG || IN_CLASS_TESTS

internal import InClassTestingSystem

/// The crash and exit handlers of a worker process.
enum CrashHandler {
    private typealias Backtrace = @convention(c) (UnsafeMutablePointer<UnsafeMutableRawPointer?>, Int32) -> Int32

    private static let frameCountMax = Int(inclass_frame_count_max)
    private static let alternateStackSize = 64 << 10
    private static let crashSignals = [SIGILL, SIGTRAP, SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGSYS]

    // SAFETY: set once by install() before any test runs, except isTestRunning and testThread. The only thread that runs
    // tests sets these between tests; handlers only read.
    private nonisolated(unsafe) static var descriptor: Int32 = -1
    private nonisolated(unsafe) static var process: pid_t = 0
    private nonisolated(unsafe) static var executableStart: UInt = 0
    private nonisolated(unsafe) static var frames =
        UnsafeMutablePointer<UnsafeMutableRawPointer?>.allocate(capacity: frameCountMax)
    private nonisolated(unsafe) static var backtrace: Backtrace?
    private nonisolated(unsafe) static var isTestRunning = false
    private nonisolated(unsafe) static var testThread = pthread_self()
    private nonisolated(unsafe) static var lastStack: UnsafeMutableRawPointer?
    /// The thread that got its alternate stack last.
    private nonisolated(unsafe) static var preparedThread: pthread_t?

    /// Sends crash reports to the descriptor from now on.
    static func install(descriptor: Int32) {
        self.descriptor = descriptor
        process = getpid()
        _ = frames  // allocated now, because a handler must not allocate
        executableStart = SystemSymbol.executable.start
        backtrace = SystemSymbol.address(of: "backtrace").map { unsafeBitCast($0, to: Backtrace.self) }
        _ = backtraceFrames()  // loads the unwinder, which a handler must not do
        let onStack = Int32(SA_ONSTACK)
        for signal in crashSignals {
            let once = onStack | Int32(bitPattern: UInt32(SA_RESETHAND))
            inclass_report(signal, { number, _, context in CrashHandler.report(signal: number, context) }, once)
        }
        inclass_report(SIGPROF, { number, _, context in CrashHandler.report(signal: number, context) }, onStack)
        inclass_ignore(SIGPIPE, 1)
        atexit { CrashHandler.reportExit() }
        prepareThread()
    }

    /// Disables reports in this process, a child that is expected to crash or exit. Its parent checks how it ends.
    static func leaveToParent() {
        isTestRunning = false
        for number in crashSignals + [SIGPROF] { inclass_ignore(number, 0) }
        inclass_write_no_core()
    }

    /// Gives the calling thread an alternate stack for signal handlers, so that a stack overflow can be reported, too.
    static func prepareThread() {
        var current = stack_t()
        guard sigaltstack(nil, &current) == 0, current.ss_flags & Int32(SS_DISABLE) != 0 else { return }
        var stack = stack_t()
        // A thread may end before the process. Each alternate stack is preceded by the address of the previous one.
        let memory = UnsafeMutableRawPointer.allocate(byteCount: alternateStackSize + 16, alignment: 16)
        memory.storeBytes(of: lastStack, as: UnsafeMutableRawPointer?.self)
        lastStack = memory
        stack.ss_sp = memory + 16
        stack.ss_size = alternateStackSize
        sigaltstack(&stack, nil)
    }

    /// Records that a test begins on the calling thread.
    static func testBegins() {
        watchThread()
        isTestRunning = true
    }

    /// Makes timeouts report the stack of the calling thread from now on.
    static func watchThread() {
        let thread = pthread_self()
        if preparedThread.map({ pthread_equal(thread, $0) == 0 }) ?? true {
            prepareThread()
            preparedThread = thread
        }
        testThread = thread
    }

    /// Records that the test has ended. From now on, a call of exit comes from the worker itself.
    static func testEnds() { isTestRunning = false }

    // MARK: In handlers

    private static func report(signal number: Int32, _ context: UnsafeMutableRawPointer?) {
        // A timeout signal is sent to the process. The thread to examine is the thread that runs the test.
        if number == SIGPROF, pthread_equal(pthread_self(), testThread) == 0 {
            pthread_kill(testThread, SIGPROF)
            return
        }
        send(number, context)
        inclass_ignore(number, 0)
        if number == SIGPROF { _exit(1) }
        raise(number)
    }

    private static func reportExit() {
        guard isTestRunning else { return }
        isTestRunning = false
        send(0)
    }

    private static func backtraceFrames(_ context: UnsafeMutableRawPointer? = nil) -> Int {
        if let context, let count = InterruptedThread.writeFrames(context, to: frames, capacity: frameCountMax) {
            return count
        }
        // If the C library has no backtrace (musl), the supervisor reports the position of the test's declaration.
        return backtrace.map { Int($0(frames, Int32(frameCountMax))) } ?? 0
    }

    /// Reports a signal, or the exit 0.
    private static func send(_ number: Int32, _ context: UnsafeMutableRawPointer? = nil) {
        // A child process that a test has forked ends without ending the test.
        if getpid() != process { return }
        inclass_send_report(descriptor, number, frames, Int32(backtraceFrames(context)), executableStart)
    }
}

#endif
