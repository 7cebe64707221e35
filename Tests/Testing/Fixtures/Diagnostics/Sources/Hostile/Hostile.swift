// Tests that take their process with them, or never end. Every other test must still run.
// swift-format-ignore-file
import InClassTesting

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

enum Hostile {
    static func depth(_ number: Int) -> Int {
        number == -1 ? 0 : depth(number + 1) + 1
    }

    /// What the optimiser cannot know.
    static func number(_ text: String) -> Int? { Int(text) }
}

extension Hostile: SelfTesting {
    static var testSelectors: TestSelectors { [
        "testPassesFirst": testPassesFirst,
        "testUnwrapsNil": testUnwrapsNil,
        "testIndex": testIndex,
        "testOverflow": testOverflow,
        "testFatalError": testFatalError,
        "testPrecondition": testPrecondition,
        "testAssertion": testAssertion,
        "testTry": testTry,
        "testCast": testCast,
        "testAborts": testAborts,
        "testStackOverflow": testStackOverflow,
        "testNullPointer": testNullPointer,
        "testIsKilled": testIsKilled,
        "testDetached": testDetached,
        "testCalledFromHelper": testCalledFromHelper,
        "testExits": testExits,
        "testExitsWithStatus": testExitsWithStatus,
        "testExitsAtOnce": testExitsAtOnce,
        "testCrashesAfterFailure": testCrashesAfterFailure,
        "testPassesLast": testPassesLast,
    ] }

    static var testSelectorsByType: [TestType: TestSelectors] { [
        "hanging": ["testLoops": testLoops, "testWaits": testWaits, "testPassesAfterwards": testPassesLast],
    ] }

    private static func testPassesFirst() { expectEqual(1, 1) }
    private static func testUnwrapsNil() {
        print("before the crash")
        let missing = number("x")
        print(missing!)
    }
    private static func testIndex() {
        let numbers = [1, 2]
        print(numbers[number("5")!])
    }
    private static func testOverflow() {
        var large = Int.max
        large += number("1")!
        print(large)
    }
    private static func testFatalError() {
        fatalError("it: error: is fatal")
    }
    private static func testPrecondition() {
        precondition(number("1") == 2, "one is two")
    }
    private static func testAssertion() {
        assert(number("1") == 2, "one is two")
    }
    private static func testTry() {
        func refuse() throws { throw Refused() }
        try! refuse()
    }
    private static func testCast() {
        let value: Any = 3
        print((value as! String).count)
    }
    private static func testAborts() {
        abort()
    }
    private static func testStackOverflow() {
        print(depth(0))
    }
    private static func testNullPointer() {
        let address = number("8")!
        print(UnsafePointer<Int>(bitPattern: address)!.pointee)
    }
    private static func testIsKilled() {
        kill(getpid(), SIGKILL)
    }
    private static func testDetached() async {
        await Task.detached {
            let none: [Int] = []
            print(none[number("1")!])
        }.value
    }
    private static func trap(_ text: String) -> Int {
        number(text)!
    }
    private static func testCalledFromHelper() {
        print(trap("x"))
    }
    private static func testExits() {
        exit(0)
    }
    private static func testExitsWithStatus() {
        exit(3)
    }
    private static func testExitsAtOnce() {
        _exit(0)
    }
    private static func testCrashesAfterFailure() {
        expectEqual(1, 2, "before the crash")
        abort()
    }
    private static func testPassesLast() { expectEqual(1, 1) }

    private static func testLoops() {
        while true {}
    }
    private static func testWaits() async {
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            if number("1") == 2 { continuation.resume() }
        }
    }
}

struct Refused: Error {}
