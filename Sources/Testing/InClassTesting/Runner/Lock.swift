// The lock of what the threads of a test share. It is this module's own, which depends on no other.

#if DEBUG || IN_CLASS_TESTS

internal import InClassTestingSystem

/// A lock that one thread holds at a time.
struct Lock: @unchecked Sendable {
    // SAFETY: used by the functions below only.
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)

    init() {
        mutex.initialize(to: pthread_mutex_t())
        pthread_mutex_init(mutex, nil)
    }

    /// Frees the lock, which nobody uses any more.
    func destroy() {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    /// Calls a closure, which asks for this lock no more, while no other thread is in such a call.
    func withLock<Value, Failure: Error>(_ body: () throws(Failure) -> Value) throws(Failure) -> Value {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body()
    }
}
#endif
