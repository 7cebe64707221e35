// What the worker can still say when it dies: the signal or the call of exit, and the return addresses that lead there.
// Everything here runs in signal handlers, on an alternate stack, with memory that was allocated before.

#if DEBUG || IN_CLASS_TESTS

internal import InClassTestingSystem

/// The last words of a worker process.
enum LastWords {
    private typealias Backtrace = @convention(c) (UnsafeMutablePointer<UnsafeMutableRawPointer?>, Int32) -> Int32

    private static let frameCountMax = 64
    private static let alternateStackSize = 64 << 10

    // SAFETY: set once by install() before any test runs, but for isTestRunning and testThread, which the one thread
    // that runs tests sets between them; handlers only read.
    private nonisolated(unsafe) static var descriptor: Int32 = -1
    private nonisolated(unsafe) static var process: pid_t = 0
    private nonisolated(unsafe) static var imageStart: UInt = 0
    private nonisolated(unsafe) static var frames =
        UnsafeMutablePointer<UnsafeMutableRawPointer?>.allocate(capacity: frameCountMax)
    private nonisolated(unsafe) static var line = UnsafeMutablePointer<UInt8>.allocate(
        capacity: 64 + frameCountMax * 20)
    private nonisolated(unsafe) static var backtrace: Backtrace?
    private nonisolated(unsafe) static var isTestRunning = false
    private nonisolated(unsafe) static var testThread = pthread_self()
    private nonisolated(unsafe) static var lastStack: UnsafeMutableRawPointer?
    /// The thread that has been given its stack last.
    private nonisolated(unsafe) static var preparedThread: pthread_t?

    /// Sends last words to the descriptor from now on.
    static func install(descriptor: Int32) {
        self.descriptor = descriptor
        process = getpid()
        _ = (frames, line)  // made now, since handlers allocate nothing
        imageStart = SystemSymbol.image.start
        backtrace = SystemSymbol.address(of: "backtrace").map { unsafeBitCast($0, to: Backtrace.self) }
        _ = backtraceFrames()  // loads what the unwinder needs while that is still allowed
        let onStack = Int32(SA_ONSTACK)
        for signal in [SIGILL, SIGTRAP, SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGSYS] {
            let once = onStack | Int32(bitPattern: UInt32(SA_RESETHAND))
            inclass_report(signal, { number, _, context in LastWords.report(signal: number, context) }, once)
        }
        inclass_report(SIGPROF, { number, _, context in LastWords.report(signal: number, context) }, onStack)
        inclass_ignore(SIGPIPE, 1)
        atexit { LastWords.reportExit() }
        prepareThread()
    }

    /// Says nothing in this process, a child that is to die: its parent looks at how it does.
    static func leaveToParent() {
        isTestRunning = false
        for number in [SIGILL, SIGTRAP, SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGSYS, SIGPROF] {
            inclass_ignore(number, 0)
        }
        inclass_write_no_core()
    }

    /// Gives the calling thread the stack that its handlers run on, so that a stack overflow can be reported too.
    static func prepareThread() {
        var current = stack_t()
        guard sigaltstack(nil, &current) == 0, current.ss_flags & Int32(SS_DISABLE) != 0 else { return }
        var stack = stack_t()
        // A thread may end before the process does: below its stack each has the address of the one before.
        let memory = UnsafeMutableRawPointer.allocate(byteCount: alternateStackSize + 16, alignment: 16)
        memory.storeBytes(of: lastStack, as: UnsafeMutableRawPointer?.self)
        lastStack = memory
        stack.ss_sp = memory + 16
        stack.ss_size = alternateStackSize
        sigaltstack(&stack, nil)
    }

    /// A test begins on the calling thread.
    static func testBegins() {
        watchThread()
        isTestRunning = true
    }

    /// Reports the stack of the calling thread from now on if something takes too long.
    static func watchThread() {
        let thread = pthread_self()
        if preparedThread.map({ pthread_equal(thread, $0) == 0 }) ?? true {
            prepareThread()
            preparedThread = thread
        }
        testThread = thread
    }

    /// The test is over: a call of exit is now the worker's own.
    static func testEnds() { isTestRunning = false }

    // MARK: In handlers

    private static func report(signal number: Int32, _ context: UnsafeMutableRawPointer?) {
        // A timeout is asked of the process; the thread to look at is the one that runs the test.
        if number == SIGPROF, pthread_equal(pthread_self(), testThread) == 0 {
            pthread_kill(testThread, SIGPROF)
            return
        }
        send("crash", Int(number), context)
        inclass_ignore(number, 0)
        if number == SIGPROF { _exit(1) }
        raise(number)
    }

    private static func reportExit() {
        guard isTestRunning else { return }
        isTestRunning = false
        send("exit", nil)
    }

    private static func backtraceFrames(_ context: UnsafeMutableRawPointer? = nil) -> Int {
        if let context, let count = InterruptedThread.writeFrames(context, to: frames, capacity: frameCountMax) {
            return count
        }
        // Where the C library has no backtrace (musl), the supervisor falls back to the test's declaration.
        return backtrace.map { Int($0(frames, Int32(frameCountMax))) } ?? 0
    }

    private static func send(_ kind: StaticString, _ number: Int?, _ context: UnsafeMutableRawPointer? = nil) {
        // The end of a child process that a test has forked is not the end of the test.
        if getpid() != process { return }
        var count = 0
        func append(_ byte: UInt8) {
            line[count] = byte
            count += 1
        }
        func append(number: UInt) {
            append(UInt8(ascii: "\t"))
            var divisor: UInt = 1
            while number / divisor >= 10 { divisor *= 10 }
            while divisor > 0 {
                append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number / divisor % 10))
                divisor /= 10
            }
        }
        for index in 0..<kind.utf8CodeUnitCount { append(kind.utf8Start[index]) }
        if let number { append(number: UInt(number)) }
        for index in 0..<backtraceFrames(context) {
            let address = UInt(bitPattern: frames[index])
            // Only this image's frames have a place in the sources; those of libraries say nothing here.
            if address > imageStart { append(number: address - imageStart) }
        }
        append(UInt8(ascii: "\n"))
        var sent = 0
        while sent < count {
            let written = write(descriptor, line + sent, count - sent)
            if written <= 0 { return }
            sent += written
        }
    }
}

#endif
