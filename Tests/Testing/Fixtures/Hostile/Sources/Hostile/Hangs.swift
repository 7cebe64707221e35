// Tests that do not end by themselves. All have the same short limit.
// swift-format-ignore-file
import InClassTesting

#if canImport(Darwin)
@preconcurrency import Darwin
#elseif canImport(Musl)
@preconcurrency import Musl
#else
@preconcurrency import Glibc
#endif

enum Hangs {}

extension Hangs: SelfTesting {
    static var testTimeLimit: Duration? { .milliseconds(700) }

    static var testSelectors: TestSelectors { [
        "testLoops": testLoops, "testAfterLoops": { Health.check() },
        "testIsNeverResumed": testIsNeverResumed, "testAfterIsNeverResumed": { Health.check() },
        "testLocksTwice": testLocksTwice, "testAfterLocksTwice": { Health.check() },
        "testSleepsTooLong": testSleepsTooLong, "testAfterSleepsTooLong": { Health.check() },
        "testStopsItself": testStopsItself, "testAfterStopsItself": { Health.check() },
        "testIgnoresSignals": testIgnoresSignals, "testAfterIgnoresSignals": { Health.check() },
        "testBlocksSignals": testBlocksSignals, "testAfterBlocksSignals": { Health.check() },
        "testBlocksMainActor": testBlocksMainActor, "testAfterBlocksMainActor": { Health.check() },
        "testHangsWithoutDescriptors": testHangsWithoutDescriptors, "testAfterHangsWithoutDescriptors": { Health.check() },
        "testFloodsForEver": testFloodsForEver, "testAfterFloodsForEver": { Health.check() },
    ] }

    private static func testLoops() {
        while true {} // error: testLoops
    }
    private static func testIsNeverResumed() async { // error: testIsNeverResumed
        await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
    }
    private static func testLocksTwice() {
        let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
        pthread_mutex_init(mutex, nil)
        pthread_mutex_lock(mutex)
        pthread_mutex_lock(mutex) // error: testLocksTwice
    }
    private static func testSleepsTooLong() {
        sleep(60) // error: testSleepsTooLong
    }
    private static func testStopsItself() {
        while true { kill(getpid(), SIGSTOP) } // error: testStopsItself
    }
    private static func testIgnoresSignals() {
        signal(SIGTERM, SIG_IGN)
        signal(SIGINT, SIG_IGN)
        while true { sleep(60) } // error: testIgnoresSignals
    }
    private static func testBlocksSignals() { // error: testBlocksSignals
        var all = sigset_t()
        sigfillset(&all)
        pthread_sigmask(SIG_BLOCK, &all, nil)
        while true { sleep(60) }
    }
    private static func testBlocksMainActor() async { // error: testBlocksMainActor
        await MainActor.run { _ = sleep(60) }
    }
    private static func testHangsWithoutDescriptors() { // error: testHangsWithoutDescriptors
        for descriptor in [0, 1, 2, 198, 199] as [Int32] { close(descriptor) }
        while true { sleep(60) }
    }
    private static func testFloodsForEver() {
        let text = [UInt8](repeating: 0x2E, count: 1 << 20)
        while true { write(1, text, text.count) } // error: testFloodsForEver
    }
}
