// Ends this process when its supervisor is gone, which could then not do it.
//
// Sources: prctl(2), PR_SET_PDEATHSIG, for Linux. macOS has no such signal; there a thread looks whose child this
// process is: one whose parent has ended is given to launchd (exit(3)).

#if DEBUG || IN_CLASS_TESTS

internal import InClassTestingSystem

enum Supervisor {
    /// Has this process end with the one that started it.
    static func endWithIt() {
        if inclass_end_with_parent(SIGKILL) == 0 { watch(getppid(), every: 100_000) }
    }

    // SAFETY: written before the thread is started that reads them.
    private nonisolated(unsafe) static var watched: (parent: pid_t, interval: UInt32) = (0, 0)

    /// Looks every so many microseconds whether this process is still a child of that one, in a thread of its own.
    static func watch(_ parent: pid_t, every interval: UInt32) {
        watched = (parent, interval)
        // Signals that are for a test are not for this thread.
        var all = sigset_t()
        var before = sigset_t()
        sigfillset(&all)
        inclass_block(&all, &before)
        #if canImport(Darwin)
        var thread: pthread_t?
        #else
        var thread = pthread_t()
        #endif
        pthread_create(&thread, nil, { _ in Supervisor.watch() }, nil)
        inclass_block(&before, nil)
    }

    private static func watch() -> Never {
        while getppid() == watched.parent { usleep(watched.interval) }
        // Not by exit: what tests have registered is not to run any more.
        kill(getpid(), SIGKILL)
        _exit(1)
    }
}

// MARK: - In-class tests

#if SELF_TESTS
extension Supervisor: SelfTesting {
    static var testSelectors: TestSelectors { ["testEndsWithItsParent": testEndsWithItsParent] }

    /// A grandchild that watches its parent is gone when that is killed, and not before.
    private static func testEndsWithItsParent() {
        expectExit(.exit(7)) {
            var ends: [Int32] = [0, 0]
            guard pipe(&ends) == 0 else { exit(1) }
            let child = inclass_fork()
            if child == 0 {
                if inclass_fork() == 0 {
                    watch(getppid(), every: 1_000)
                    _ = write(ends[1], "x", 1)
                }
                while true { sleep(60) }
            }
            close(ends[1])
            var byte: UInt8 = 0
            guard read(ends[0], &byte, 1) == 1 else { exit(2) }
            var end = pollfd(fd: ends[0], events: Int16(POLLIN), revents: 0)
            guard poll(&end, 1, 50) == 0 else { exit(3) }
            kill(child, SIGKILL)
            // At its end the pipe is closed.
            exit(poll(&end, 1, 10_000) == 1 && read(ends[0], &byte, 1) == 0 ? 7 : 4)
        }
    }
}
#endif

#endif
