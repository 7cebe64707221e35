// A lock for short accesses to data that threads share.

import StreamingSystem

/// A lock that one thread holds at a time.
@safe
package final class Lock: @unchecked Sendable {
    // SAFETY: created and freed with the lock, and used only by the functions below.
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)

    package init() {
        unsafe mutex.initialize(to: pthread_mutex_t())
        unsafe pthread_mutex_init(mutex, nil)
    }

    deinit {
        unsafe pthread_mutex_destroy(mutex)
        unsafe mutex.deallocate()
    }

    /// Calls a closure while holding the lock. The closure must not acquire this lock again.
    package func withLock<Value>(_ body: () -> Value) -> Value {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        return body()
    }
}
