// A lock for the data that the threads of a test share. InClassTesting has its own because it depends on no other module.

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

    /// Frees the lock. Call it after the last use of the lock.
    func destroy() {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    /// Calls a closure while no other thread is in such a call. The closure must not use the same lock.
    func withLock<Value, Failure: Error>(_ body: () throws(Failure) -> Value) throws(Failure) -> Value {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body()
    }
}
#endif
