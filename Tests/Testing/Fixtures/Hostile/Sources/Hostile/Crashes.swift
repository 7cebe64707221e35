// Tests that crash.
// swift-format-ignore-file
import InClassTesting

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

enum Crashes {
    static func depth(_ number: Int) -> Int { // error: testOverflowsStack
        number == -1 ? 0 : depth(number + 1) + 1
    }
}

final class Owned {}

struct Refused: Error {}

extension Crashes: SelfTesting {
    static var testSelectors: TestSelectors { [
        "testUnwrapsNil": testUnwrapsNil, "testAfterUnwrapsNil": { Health.check() },
        "testIndexOutOfRange": testIndexOutOfRange, "testAfterIndexOutOfRange": { Health.check() },
        "testOverflows": testOverflows, "testAfterOverflows": { Health.check() },
        "testDividesByZero": testDividesByZero, "testAfterDividesByZero": { Health.check() },
        "testFatalError": testFatalError, "testAfterFatalError": { Health.check() },
        "testPrecondition": testPrecondition, "testAfterPrecondition": { Health.check() },
        "testForcedTry": testForcedTry, "testAfterForcedTry": { Health.check() },
        "testForcedCast": testForcedCast, "testAfterForcedCast": { Health.check() },
        "testUsesFreed": testUsesFreed, "testAfterUsesFreed": { Health.check() },
        "testAborts": testAborts, "testAfterAborts": { Health.check() },
        "testOverflowsStack": testOverflowsStack, "testAfterOverflowsStack": { Health.check() },
        "testReadsNowhere": testReadsNowhere, "testAfterReadsNowhere": { Health.check() },
        "testFreesTwice": testFreesTwice, "testAfterFreesTwice": { Health.check() },
        "testCrashesInDetachedTask": testCrashesInDetachedTask, "testAfterCrashesInDetachedTask": { Health.check() },
        "testCrashesInThread": testCrashesInThread, "testAfterCrashesInThread": { Health.check() },
        "testHidesCrash": testHidesCrash, "testAfterHidesCrash": { Health.check() },
        "testKillsItself": testKillsItself, "testAfterKillsItself": { Health.check() },
        "testKillsItsGroup": testKillsItsGroup, "testAfterKillsItsGroup": { Health.check() },
        "testTerminatesItself": testTerminatesItself, "testAfterTerminatesItself": { Health.check() },
        "testRaisesAlarm": testRaisesAlarm, "testAfterRaisesAlarm": { Health.check() },
        "testAllocatesTooMuch": testAllocatesTooMuch, "testAfterAllocatesTooMuch": { Health.check() },
        "testRunsOutOfMemory": testRunsOutOfMemory, "testAfterRunsOutOfMemory": { Health.check() },
        "testExits": testExits, "testAfterExits": { Health.check() },
        "testExitsWithStatus": testExitsWithStatus, "testAfterExitsWithStatus": { Health.check() },
        "testExitsAtOnce": testExitsAtOnce, "testAfterExitsAtOnce": { Health.check() },
        "testExitsInThread": testExitsInThread, "testAfterExitsInThread": { Health.check() },
    ] }

    private static func testUnwrapsNil() {
        print(Health.number("x")!) // error: testUnwrapsNil
    }
    private static func testIndexOutOfRange() {
        print([1, 2][Health.number("5")!]) // error: testIndexOutOfRange
    }
    private static func testOverflows() {
        print(Int.max + Health.number("1")!) // error: testOverflows
    }
    private static func testDividesByZero() {
        print(1 / Health.number("0")!) // error: testDividesByZero
    }
    private static func testFatalError() {
        fatalError("on purpose: error: x") // error: testFatalError
    }
    private static func testPrecondition() {
        precondition(Health.number("1") == 2, "on purpose") // error: testPrecondition
    }
    private static func testForcedTry() {
        func refuse() throws { throw Refused() }
        try! refuse() // error: testForcedTry
    }
    private static func testForcedCast() {
        let value: Any = 3
        print((value as! String).count) // error: testForcedCast
    }
    private static func testUsesFreed() {
        var owner: Owned? = Owned()
        unowned let owned = owner!
        owner = nil
        print(ObjectIdentifier(owned)) // error: testUsesFreed
    }
    private static func testAborts() {
        abort() // error: testAborts
    }
    private static func testOverflowsStack() {
        print(depth(0))
    }
    private static func testReadsNowhere() {
        print(UnsafePointer<Int>(bitPattern: Health.number("8")!)!.pointee) // error: testReadsNowhere
    }
    private static func testFreesTwice() {
        let memory = malloc(100_000)
        free(memory)
        let other = malloc(100_000)
        free(memory)
        free(other) // error: testFreesTwice
    }
    private static func testCrashesInDetachedTask() async {
        await Task.detached {
            print([1][Health.number("1")!]) // error: testCrashesInDetachedTask
        }.value
    }
    private static func testCrashesInThread() {
        inThread {
            print([1][Health.number("1")!]) // error: testCrashesInThread
        }
    }
    private static func testHidesCrash() {
        for number in [SIGILL, SIGTRAP, SIGSEGV, SIGBUS, SIGABRT, SIGTERM] { signal(number, hostileHandler) }
        print(Health.number("x")!) // error: testHidesCrash
    }
    private static func testKillsItself() { // error: testKillsItself
        kill(getpid(), SIGKILL)
    }
    private static func testKillsItsGroup() { // error: testKillsItsGroup
        kill(0, SIGKILL)
    }
    private static func testTerminatesItself() { // error: testTerminatesItself
        kill(getpid(), SIGTERM)
        sleep(60)
    }
    private static func testRaisesAlarm() { // error: testRaisesAlarm
        kill(getpid(), SIGALRM)
        sleep(60)
    }
    private static func testAllocatesTooMuch() {
        let memory = UnsafeMutablePointer<UInt8>.allocate(capacity: 1 << 60) // error: testAllocatesTooMuch
        memory.pointee = 1
    }
    private static func testRunsOutOfMemory() {
        limit(RLIMIT_AS, to: 1 << 30)
        var blocks: [[UInt8]] = []
        while true { blocks.append([UInt8](repeating: 1, count: 64 << 20)) } // error: testRunsOutOfMemory
    }
    private static func testExits() {
        exit(0) // error: testExits
    }
    private static func testExitsWithStatus() {
        exit(3) // error: testExitsWithStatus
    }
    private static func testExitsAtOnce() { // error: testExitsAtOnce
        _exit(0)
    }
    private static func testExitsInThread() {
        inThread {
            exit(0) // error: testExitsInThread
        }
    }
}

/// Runs something in another thread and waits for its end.
func inThread(_ body: @escaping @Sendable () -> Void) {
    final class Box { let body: @Sendable () -> Void; init(_ body: @escaping @Sendable () -> Void) { self.body = body } }
    #if canImport(Darwin)
    var thread: pthread_t?
    pthread_create(&thread, nil, { Unmanaged<Box>.fromOpaque($0).takeRetainedValue().body(); return nil }, Unmanaged.passRetained(Box(body)).toOpaque())
    if let thread { pthread_join(thread, nil) }
    #else
    var thread = pthread_t()
    pthread_create(&thread, nil, { Unmanaged<Box>.fromOpaque($0!).takeRetainedValue().body(); return nil }, Unmanaged.passRetained(Box(body)).toOpaque())
    pthread_join(thread, nil)
    #endif
}

#if canImport(Glibc)
func limit(_ resource: __rlimit_resource, to value: UInt) {
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(resource.rawValue), &limit)
    limit.rlim_cur = rlim_t(value)
    setrlimit(__rlimit_resource_t(resource.rawValue), &limit)
}
#else
func limit(_ resource: Int32, to value: UInt) {
    var limit = rlimit()
    getrlimit(resource, &limit)
    limit.rlim_cur = rlim_t(value)
    setrlimit(resource, &limit)
}
#endif
