// The remaining stack of the thread, for code that must recurse: types that encode themselves, and nested values.

import StreamingSystem
import CStackAddress

/// The stack of the current thread.
@safe
package enum StackBounds {
    // SAFETY: created once; the key of thread-specific data is a number.
    private static let key: pthread_key_t? = {
        var key = pthread_key_t()
        return unsafe pthread_key_create(&key, nil) == 0 ? key : nil
    }()

    /// The lowest address that recursion may reach on this thread, or 0 if it is unknown.
    ///
    /// It reserves stack for some levels of recursion and their error: half of the stack, but at most 128 KiB. Each thread
    /// queries the system once.
    package static var limit: UInt {
        guard let key else { return 0 }
        // SAFETY: the value of the key is a number, never an address to load from.
        if let known = unsafe pthread_getspecific(key) { return UInt(bitPattern: known) &- 1 }
        let limit = findLimit()
        unsafe pthread_setspecific(key, UnsafeRawPointer(bitPattern: limit &+ 1))
        return limit
    }

    /// A Boolean value that indicates whether recursion must end, for callers that do not store the limit.
    package static var isNearEnd: Bool { isBeyond(limit) }

    // PERF: JSONTyped; the address of the frame and a comparison, once for each container.
    /// Returns whether the stack has grown below an address. A large distance means that the code runs on another stack than
    /// the thread's own, and returns false.
    @inline(__always)
    package static func isBeyond(_ limit: UInt) -> Bool { limit &- UInt(cstack_address()) &- 1 < largestReserve }

    /// The maximum stack that is reserved for some levels of recursion and their error.
    @usableFromInline static var largestReserve: UInt { 128 << 10 }

    @inline(never)
    private static func findLimit() -> UInt {
        guard let (lowest, byteCount) = bounds(), byteCount > 0 else { return 0 }
        return lowest &+ min(byteCount / 2, largestReserve)
    }

    /// The lowest address of the stack and its size.
    private static func bounds() -> (lowest: UInt, byteCount: UInt)? {
        // SAFETY: the functions set local variables; addresses are used only as numbers.
        #if canImport(Darwin)
        let size = unsafe UInt(pthread_get_stacksize_np(pthread_self()))
        return unsafe (UInt(bitPattern: pthread_get_stackaddr_np(pthread_self())) &- size, size)
        #else
        var attributes = pthread_attr_t()
        guard unsafe threadAttributes(pthread_self(), &attributes) == 0 else { return nil }
        defer { unsafe pthread_attr_destroy(&attributes) }
        var (address, size, guardSize) = unsafe (UnsafeMutableRawPointer?.none, 0, 0)
        guard unsafe pthread_attr_getstack(&attributes, &address, &size) == 0 else { return nil }
        // Some systems count the guard pages as a part of the stack.
        if unsafe pthread_attr_getguardsize(&attributes, &guardSize) != 0 { guardSize = 0 }
        guard size > guardSize else { return nil }
        return (UInt(bitPattern: address) &+ UInt(guardSize), UInt(size - guardSize))
        #endif
    }
}

#if !canImport(Darwin)
// The headers declare it under a condition that Swift does not set. Its arguments are a number and an address.
@_silgen_name("pthread_getattr_np")
private func threadAttributes(_ thread: pthread_t, _ attributes: UnsafeMutablePointer<pthread_attr_t>) -> CInt
#endif

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension StackBounds: SelfTesting {
    package static var testSelectors: TestSelectors {
        [
            "testFindsStackBoundsOfEachThread": testFindsStackBoundsOfEachThread,
            "testStopsRecursionBeforeStackOverflow": testStopsRecursionBeforeStackOverflow,
        ]
    }

    /// Runs a closure on a thread with a stack of a number of bytes, and waits for its end.
    package static func run(onStackOf byteCount: Int, _ body: @escaping () -> Void) {
        final class Work {
            let body: () -> Void
            init(_ body: @escaping () -> Void) { self.body = body }
        }
        #if canImport(Darwin)
        var thread: pthread_t?
        #else
        var thread = pthread_t()
        #endif
        // SAFETY: the thread takes the object, and ends before this function does.
        var attributes = pthread_attr_t()
        unsafe pthread_attr_init(&attributes)
        unsafe pthread_attr_setstacksize(&attributes, byteCount)
        let work = unsafe Unmanaged.passRetained(Work(body)).toOpaque()
        let status = unsafe pthread_create(
            &thread, &attributes,
            { work in
                #if canImport(Darwin)
                let work = unsafe Unmanaged<Work>.fromOpaque(work).takeRetainedValue()
                #else
                guard let work = unsafe work.map({ unsafe Unmanaged<Work>.fromOpaque($0).takeRetainedValue() }) else {
                    return nil
                }
                #endif
                work.body()
                return nil
            }, work)
        unsafe pthread_attr_destroy(&attributes)
        guard status == 0 else { return fail("no thread with a stack of \(byteCount) bytes: \(status)") }
        #if canImport(Darwin)
        if let thread = unsafe thread { unsafe pthread_join(thread, nil) }
        #else
        pthread_join(thread, nil)
        #endif
    }

    private static func testFindsStackBoundsOfEachThread() {
        for size in [64 << 10, 128 << 10, 512 << 10, 4 << 20] {
            run(onStackOf: size) {
                guard let (lowest, byteCount) = bounds() else { return fail("the stack is not known") }
                // The system may reuse the stack of a thread that has ended, up to four times as large, and a sanitizer needs
                // more stack.
                expectTrue(
                    byteCount > UInt(size) * 7 / 8 && byteCount <= UInt(size) * 4 + (128 << 10),
                    "\(byteCount) of \(size) bytes")
                let address = UInt(cstack_address())
                expectTrue(address > lowest && address < lowest + byteCount, "an address of the stack")
                expectFalse(isBeyond(lowest), "within the stack")
                expectTrue(limit > lowest && limit <= lowest + byteCount / 2, "the limit")
                expectEqual(limit, limit, "the limit that is known")
                expectFalse(isNearEnd, "at the beginning")
            }
        }
    }

    private static func testStopsRecursionBeforeStackOverflow() {
        // Work after the call; otherwise the optimizer converts the recursion to a loop, which needs no stack.
        @inline(never) @Sendable
        func depth(_ levels: inout [Int]) -> Int {
            levels.append(levels.count)
            defer { levels.removeLast() }
            return isNearEnd ? levels.count : depth(&levels)
        }
        for size in [64 << 10, 512 << 10] {
            run(onStackOf: size) {
                var levels: [Int] = []
                expectTrue(depth(&levels) > size / 2_000, "levels on \(size) bytes")
                expectTrue(levels.isEmpty, "the levels have ended")
            }
        }
    }
}
#endif
