// Ends this process after its supervisor has ended, because the supervisor can't end it any more.
//
// Sources: prctl(2), PR_SET_PDEATHSIG, for Linux. macOS has no such signal, so a thread checks the parent of this
// process. If a parent ends, launchd becomes the parent of its children (exit(3)).

#if DEBUG || IN_CLASS_TESTS

internal import InClassTestingSystem

enum Supervisor {
    /// Makes this process end together with the process that started it.
    static func endWithIt() {
        if inclass_end_with_parent(SIGKILL) == 0 { watch(getppid(), every: 100_000) }
    }

    // SAFETY: the values are written before the thread that reads them starts.
    private nonisolated(unsafe) static var watched: (parent: pid_t, interval: UInt32) = (0, 0)

    /// Starts a thread that checks at an interval in microseconds whether this process is still a child of its parent.
    static func watch(_ parent: pid_t, every interval: UInt32) {
        watched = (parent, interval)
        // Signals for a test must not be delivered to the new thread.
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
        // This isn't a call of `exit`, because the exit handlers of tests must not run any more.
        kill(getpid(), SIGKILL)
        _exit(1)
    }
}

// MARK: - In-class tests

#if SELF_TESTS
extension Supervisor: SelfTesting {
    static var testSelectors: TestSelectors { ["testExitsWhenItsParentIsKilled": testExitsWhenItsParentIsKilled] }

    /// A grandchild that watches its parent ends after the parent has been killed, but not before.
    private static func testExitsWhenItsParentIsKilled() {
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
            // The pipe is closed when the process ends.
            exit(poll(&end, 1, 10_000) == 1 && read(ends[0], &byte, 1) == 0 ? 7 : 4)
        }
    }
}
#endif

#endif
