// What tests have started and left behind, also what has left their process group: while a run goes on, this process is
// the one that the system gives such processes to, and it ends them.

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

enum Orphans {
    /// Becomes the parent of what descendants leave behind, or ceases to be; Linux only.
    ///
    /// Elsewhere only what stays in the process group of a worker goes with it.
    static func adopt(_ adopts: Bool) {
        #if os(Linux)
        // Swift has no word for a function of variable arguments; all of these are words in registers.
        typealias Control = @convention(c) (Int32, UInt, UInt, UInt, UInt) -> Int32
        guard let symbol = dlsym(nil, "prctl") else { return }
        let childSubreaper: Int32 = 36
        _ = unsafeBitCast(symbol, to: Control.self)(childSubreaper, adopts ? 1 : 0, 0, 0, 0)
        #endif
    }

    /// Ends every child of this process; to be called while none of them is its own.
    static func end() {
        #if os(Linux)
        // A process that is ended hands its own children on to this one, hence again until there are none.
        while let processes = children(), !processes.isEmpty {
            for process in processes { kill(process, SIGKILL) }
            for process in processes { _ = ChildProcess.wait(for: process) }
        }
        #endif
    }

    #if os(Linux)
    private static func children() -> [pid_t]? {
        let descriptor = open("/proc/self/task/\(getpid())/children", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        // As many as fit; the next round finds the others.
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = read(descriptor, &bytes, bytes.count)
        guard count > 0, let last = bytes[..<count].lastIndex(of: UInt8(ascii: " ")) else { return nil }
        return String(decoding: bytes[..<last], as: UTF8.self).split(separator: " ").compactMap { pid_t($0) }
    }
    #endif
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension Orphans: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testEndsWhatItIsLeft": testEndsWhatItIsLeft
        ]
    }

    /// In a child process, which has no other children and whose changes are its own.
    private static func testEndsWhatItIsLeft() {
        #if os(Linux)
        expectExit(.exit(7)) {
            adopt(true)
            // The shell ends at once and leaves its child, in another session, which holds the pipe.
            guard let (_, output) = try? ChildProcess.run(["sh", "-c", "setsid sleep 60 > /dev/null 2>&1 & echo $!"]),
                let orphan = pid_t(String(decoding: output.dropLast(), as: UTF8.self)), kill(orphan, 0) == 0
            else { exit(1) }
            end()
            exit(kill(orphan, 0) == 0 ? 2 : 7)
        }
        #endif
    }
}
#endif
