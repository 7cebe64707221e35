// Tests that fail and leave their process, or others, changed.
// swift-format-ignore-file
import InClassTesting

#if canImport(Darwin)
@preconcurrency import Darwin
#elseif canImport(Musl)
@preconcurrency import Musl
#else
@preconcurrency import Glibc
#endif

enum Disturbances {
    private typealias Fork = @convention(c) () -> pid_t
    /// Swift has no word for it.
    static func fork() -> pid_t { unsafeBitCast(dlsym(nil, "fork"), to: Fork.self)() }

    /// Lives for a minute, and holds whatever it has been left.
    static func sleepAndEnd() -> Never {
        sleep(60)
        _exit(0)
    }
}

extension Disturbances: SelfTesting {
    static var testSelectors: TestSelectors { [
        "testClosesOutput": testClosesOutput, "testAfterClosesOutput": { Health.check() },
        "testClosesErrors": testClosesErrors, "testAfterClosesErrors": { Health.check() },
        "testReplacesOutput": testReplacesOutput, "testAfterReplacesOutput": { Health.check() },
        "testClosesEvents": testClosesEvents, "testAfterClosesEvents": { Health.check() },
        "testClosesEverything": testClosesEverything, "testAfterClosesEverything": { Health.check() },
        "testFloods": testFloods, "testAfterFloods": { Health.check() },
        "testWritesToEvents": testWritesToEvents, "testAfterWritesToEvents": { Health.check() },
        "testPrintsDiagnostics": testPrintsDiagnostics, "testAfterPrintsDiagnostics": { Health.check() },
        "testLeavesProgram": testLeavesProgram, "testAfterLeavesProgram": { Health.check() },
        "testLeavesCopy": testLeavesCopy, "testAfterLeavesCopy": { Health.check() },
        "testLeavesDaemon": testLeavesDaemon, "testAfterLeavesDaemon": { Health.check() },
        "testCrashesBesideChild": testCrashesBesideChild, "testAfterCrashesBesideChild": { Health.check() },
        "testChangesFolder": testChangesFolder, "testAfterChangesFolder": { Health.check() },
        "testChangesMask": testChangesMask, "testAfterChangesMask": { Health.check() },
        "testChangesLimits": testChangesLimits, "testAfterChangesLimits": { Health.check() },
        "testChangesEnvironment": testChangesEnvironment, "testAfterChangesEnvironment": { Health.check() },
        "testClearsEnvironment": testClearsEnvironment, "testAfterClearsEnvironment": { Health.check() },
        "testChangesHandlers": testChangesHandlers, "testAfterChangesHandlers": { Health.check() },
        "testThrows": testThrows, "testAfterThrows": { Health.check() },
        "testRequires": testRequires, "testAfterRequires": { Health.check() },
        "testReturnsTwice": testReturnsTwice, "testAfterReturnsTwice": { Health.check() },
        "testFailsInChild": testFailsInChild, "testAfterFailsInChild": { Health.check() },
        "testCancelsItself": testCancelsItself, "testAfterCancelsItself": { Health.check() },
        "testRunsIntoBrokenPipe": testRunsIntoBrokenPipe, "testAfterRunsIntoBrokenPipe": { Health.check() },
    ] }

    private static func testClosesOutput() {
        close(1)
        fail("output closed") // error: testClosesOutput
    }
    private static func testClosesErrors() {
        close(2)
        fail("errors closed") // error: testClosesErrors
    }
    private static func testReplacesOutput() {
        let file = open("\(Health.environment("HOSTILE_FOLDER") ?? "")/precious", O_RDWR | O_CREAT | O_TRUNC, 0o644)
        let text = [UInt8](repeating: 0x70, count: 2 << 20)
        write(file, text, text.count)
        dup2(file, 1)
        fail("output replaced") // error: testReplacesOutput
    }
    private static func testClosesEvents() { // error: testClosesEvents
        close(198)
    }
    private static func testClosesEverything() { // error: testClosesEverything
        for descriptor in 0..<Int32(1024) { close(descriptor) }
    }
    private static func testFloods() {
        let text = [UInt8](repeating: 0x2E, count: 1 << 20)
        for _ in 0..<100 { write(1, text, text.count) }
        fail("100 MB written") // error: testFloods
    }
    private static func testWritesToEvents() { // error: testWritesToEvents
        let text = "no event at all\n"
        write(198, text, text.utf8.count)
    }
    private static func testPrintsDiagnostics() {
        print("begin\t0\t0\nend\t0\t1\t1\nidle\ncrash\t11\nready\t0")
        print("/tmp/x.swift:3:1: error: printed\n::error file=x.swift::printed\nnot ok 1 - printed\n]]></system-out>")
        fail("lies printed") // error: testPrintsDiagnostics
    }
    private static func testLeavesProgram() {
        var process: pid_t = 0
        var words = [strdup("sleep"), strdup("60"), nil]
        posix_spawnp(&process, "sleep", nil, nil, &words, environ)
        fail("program left") // error: testLeavesProgram
    }
    private static func testLeavesCopy() {
        if fork() == 0 { sleepAndEnd() }
        fail("copy left") // error: testLeavesCopy
    }
    private static func testLeavesDaemon() {
        let child = fork()
        if child == 0 {
            setsid()
            if fork() != 0 { _exit(0) }
            sleepAndEnd()
        }
        var status: Int32 = 0
        waitpid(child, &status, 0)
        fail("daemon left") // error: testLeavesDaemon
    }
    private static func testCrashesBesideChild() {
        if fork() == 0 { sleepAndEnd() }
        abort() // error: testCrashesBesideChild
    }
    private static func testChangesFolder() {
        chdir("/")
        fail("folder changed") // error: testChangesFolder
    }
    private static func testChangesMask() {
        umask(0o777)
        fail("mask changed") // error: testChangesMask
    }
    private static func testChangesLimits() {
        limit(RLIMIT_NOFILE, to: 0)
        limit(RLIMIT_FSIZE, to: 0)
        fail("limits changed") // error: testChangesLimits
    }
    private static func testChangesEnvironment() {
        setenv("HOSTILE_CHANGE", "1", 1)
        unsetenv("PATH")
        fail("environment changed") // error: testChangesEnvironment
    }
    private static func testClearsEnvironment() {
        #if canImport(Darwin)
        environ[0] = nil
        #else
        clearenv()
        #endif
        fail("environment cleared") // error: testClearsEnvironment
    }
    private static func testChangesHandlers() {
        for number in [SIGILL, SIGTRAP, SIGSEGV, SIGBUS, SIGABRT, SIGTERM, SIGPROF] { signal(number, hostileHandler) }
        fail("handlers changed") // error: testChangesHandlers
    }
    private static func testThrows() throws { // error: testThrows
        throw Refused()
    }
    private static func testRequires() throws {
        _ = try requireNotNil(Health.number("x")) // error: testRequires
        fail("not reached")
    }
    private static func testReturnsTwice() { // error: testReturnsTwice
        let child = fork()
        var status: Int32 = 0
        if child != 0 { waitpid(child, &status, 0) }
    }
    private static func testFailsInChild() {
        let child = fork()
        if child == 0 {
            fail("in the child") // error: testFailsInChild
            exit(0)
        }
        var status: Int32 = 0
        waitpid(child, &status, 0)
    }
    private static func testCancelsItself() {
        withUnsafeCurrentTask { $0?.cancel() }
        fail("canceled") // error: testCancelsItself
    }
    private static func testRunsIntoBrokenPipe() { // error: testRunsIntoBrokenPipe
        var ends: [Int32] = [0, 0]
        pipe(&ends)
        close(ends[0])
        signal(SIGPIPE, SIG_DFL)
        write(ends[1], "x", 1)
    }
}

/// Passing tests that leave something that fails later. Each is run with its neighbour only.
enum Remains {}

extension Remains: SelfTesting {
    static var testSelectors: TestSelectors { [:] }
    static var testSelectorsByType: [TestType: TestSelectors] { [
        "task": ["testFailsLate": testFailsLate, "testAfterFailsLate": testAfterFailsLate],
        "detached": ["testFailsDetached": testFailsDetached, "testAfterFailsDetached": testAfterFailsDetached],
        "parent": ["testFailsFirst": { fail("before the end") }, "testKillsParent": testKillsParent],
        "exit": ["testLeavesExitHandler": testLeavesExitHandler, "testAfterLeavesExitHandler": { Health.check() }],
        "crash": ["testLeavesCrash": testLeavesCrash, "testAfterLeavesCrash": { Health.check() }],
        "hang": ["testLeavesHang": testLeavesHang, "testAfterLeavesHang": { Health.check() }],
    ] }

    nonisolated(unsafe) private static var late: Task<Void, Never>?
    nonisolated(unsafe) private static var isAfter = false

    private static func testFailsLate() {
        late = Task {
            while !isAfter { await Task.yield() }
            fail("too late") // error: testFailsLate
        }
    }
    /// Still runs when the issue of the test before it comes.
    private static func testAfterFailsLate() async {
        isAfter = true
        await late?.value
        Health.check()
    }
    private static func testFailsDetached() {
        Task.detached {
            for await _ in released.stream {}
            fail("too late") // error: testFailsDetached
            recorded.continuation.finish()
        }
    }
    /// What an earlier test has left is none of the issues that are known here.
    private static func testAfterFailsDetached() async {
        await withKnownIssue("another") {
            released.continuation.finish()
            for await _ in recorded.stream {}
            fail("known")
        }
    }
    private static let released = AsyncStream<Void>.makeStream()
    private static let recorded = AsyncStream<Void>.makeStream()
    /// Waits until the failure of the test before it is printed.
    private static func testKillsParent() {
        while access("\(Health.environment("HOSTILE_FOLDER") ?? "")/printed", F_OK) != 0 { usleep(1_000) }
        kill(getppid(), SIGKILL)
        sleep(60)
    }
    private static func testLeavesExitHandler() {
        atexit { exit(7) }
    }
    private static func testLeavesCrash() {
        atexit { print(Health.number("x")!) } // error: testLeavesCrash
    }
    private static func testLeavesHang() {
        atexit { while true { sleep(60) } } // error: testLeavesHang
    }
}
