// How much of the running thread's stack is left, for the few functions that go as deep as the values they are given: a
// fixed limit of levels is too high for one thread and too low for another.

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// The stack of the running thread.
package enum StackRoom {
    /// What has to be left: for some levels more, since not every level asks, and for what is called from the deepest one.
    private static let reserve = 128 << 10

    /// Whether too little is left to go some levels deeper.
    ///
    /// - Complexity: O(1), some nanoseconds; the first call on a thread asks the system for its stack.
    package static var isLow: Bool { byteCount < reserve }

    /// The bytes that are left; the largest number where nothing is known of the stack.
    static var byteCount: Int {
        var marker: UInt8 = 0
        // SAFETY: only the address is used.
        let here = unsafe withUnsafeMutablePointer(to: &marker) { Int(bitPattern: $0) }
        let lowest = lowestAddress
        // Code that is checked for wrong addresses may have its variables elsewhere.
        return lowest > 1 && here > lowest ? here - lowest : .max
    }

    /// Keeps the lowest address for each thread.
    private static let key: pthread_key_t? = {
        var key = pthread_key_t()
        return unsafe pthread_key_create(&key, nil) == 0 ? key : nil
    }()

    /// The lowest address of the stack; 1 when it is not known.
    private static var lowestAddress: Int {
        guard let key else { return 1 }
        // SAFETY: what is kept is a number, which nobody takes for an address of memory.
        let known = unsafe Int(bitPattern: pthread_getspecific(key))
        if known != 0 { return known }
        let found = max(findLowestAddress() ?? 1, 1)
        unsafe pthread_setspecific(key, UnsafeRawPointer(bitPattern: found))
        return found
    }

    private static func findLowestAddress() -> Int? {
        #if canImport(Darwin)
        // SAFETY: the thread is the running one.
        let highest = unsafe Int(bitPattern: pthread_get_stackaddr_np(pthread_self()))
        return highest - pthread_get_stacksize_np(pthread_self())
        #else
        var attributes = pthread_attr_t()
        // SAFETY: the thread is the running one; the attributes are initialized by the first call and destroyed.
        guard unsafe attributesOfThread(pthread_self(), &attributes) == 0 else { return nil }
        defer { unsafe pthread_attr_destroy(&attributes) }
        var lowest: UnsafeMutableRawPointer?
        var byteCount = 0
        guard unsafe pthread_attr_getstack(&attributes, &lowest, &byteCount) == 0 else { return nil }
        return Int(bitPattern: lowest)
        #endif
    }
}

#if !canImport(Darwin)
// Declared here, since the C library's header shows it to programs with `_GNU_SOURCE` only.
@_silgen_name("pthread_getattr_np")
private func attributesOfThread(_ thread: pthread_t, _ attributes: UnsafeMutablePointer<pthread_attr_t>) -> CInt
#endif

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension StackRoom {
    /// Calls a closure on a thread with a stack of its own size, and waits for its end.
    package static func onThread(stackByteCount: Int, _ body: @escaping () -> Void) {
        final class Body {
            let call: () -> Void
            init(_ call: @escaping () -> Void) { self.call = call }
        }
        var attributes = pthread_attr_t()
        #if canImport(Darwin)
        var thread: pthread_t?
        #else
        var thread = pthread_t()
        #endif
        // SAFETY: the thread takes over the reference, and has ended before this returns.
        let argument = unsafe Unmanaged.passRetained(Body(body)).toOpaque()
        unsafe pthread_attr_init(&attributes)
        unsafe pthread_attr_setstacksize(&attributes, stackByteCount)
        let status = unsafe pthread_create(
            &thread, &attributes,
            { argument in
                #if canImport(Darwin)
                unsafe Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().call()
                #else
                if let argument = unsafe argument {
                    unsafe Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().call()
                }
                #endif
                return nil
            }, argument)
        unsafe pthread_attr_destroy(&attributes)
        guard status == 0 else { return fail("no thread could be made: \(status)") }
        #if canImport(Darwin)
        if let thread = unsafe thread { unsafe pthread_join(thread, nil) }
        #else
        pthread_join(thread, nil)
        #endif
    }
}

extension StackRoom: SelfTesting {
    /// The tests of this type.
    package static var testSelectors: TestSelectors {
        [
            "testLessIsLeftFartherDown": testLessIsLeftFartherDown,
            "testIsLowBeforeTheStackEnds": testIsLowBeforeTheStackEnds,
            "testKnowsTheStackOfEveryThread": testKnowsTheStackOfEveryThread,
        ]
    }

    /// What is left so many calls farther down; -1 for nothing known.
    @inline(never)
    private static func byteCount(below calls: Int) -> Int {
        guard calls > 0 else { return byteCount == .max ? -1 : byteCount }
        let below = byteCount(below: calls - 1)
        return byteCount < below ? 0 : below
    }

    private static func testLessIsLeftFartherDown() {
        let (here, below) = (byteCount, byteCount(below: 100))
        expectTrue(here == .max || (0..<here).contains(below), "\(here) bytes here, \(below) below")
        expectTrue(here == .max || here - below < 100 << 10, "\(here - below) bytes of a hundred calls")
    }

    /// Goes down as long as there is room, and returns how far.
    @inline(never)
    private static func depth(from depth: Int) -> Int {
        if isLow || depth == 100_000_000 { return depth }
        let deepest = Self.depth(from: depth + 1)
        // What follows the call keeps it one.
        return max(depth, deepest)
    }

    private static func testIsLowBeforeTheStackEnds() {
        onThread(stackByteCount: 1 << 20) { expectGreater(depth(from: 0), 10, "calls until the stack is low") }
    }

    private static func testKnowsTheStackOfEveryThread() {
        for size in [256 << 10, 512 << 10, 4 << 20] {
            onThread(stackByteCount: size) {
                // The system may take the larger stack of a thread that has ended.
                expectGreater(byteCount, size - (64 << 10), "bytes of \(size)")
            }
        }
    }
}
#endif
