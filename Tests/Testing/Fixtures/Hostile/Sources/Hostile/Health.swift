// What every healthy test looks at: that the process is as a test may expect to find it.
import InClassTesting

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

enum Health {
    /// Expects that nothing is left of what earlier tests have done to the process.
    static func check() {
        expectEqual(number("2"), 2, "a computation")
        expectEqual(workingDirectory, environment("HOSTILE_FOLDER"), "the working directory")
        expectEqual(write(1, "healthy\n", 8), 8, "bytes written to the standard output")
        expectEqual(write(2, "healthy\n", 8), 8, "bytes written to the standard error")
        for descriptor in [Int32(1), 2] {
            expectTrue(isAppendedFile(descriptor), "\(descriptor) is the file of the run")
        }
        expectNotNil(environment("PATH"), "the variable PATH")
        expectNil(environment("HOSTILE_CHANGE"), "a variable of an earlier test")
        expectFalse(Task.isCancelled, "whether the task is canceled")
        let mask = umask(0o22)
        umask(mask)
        expectEqual("\(mask)", environment("HOSTILE_MASK"), "the mask of new files")
        for signal in [SIGSEGV, SIGABRT, SIGTERM, SIGPROF] {
            expectNotEqual(handler(of: signal), hostileHandlerAddress, "the handler of signal \(signal)")
        }
        var limit = rlimit()
        #if canImport(Glibc)
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        #else
        getrlimit(RLIMIT_NOFILE, &limit)
        #endif
        expectGreaterThan(Int(limit.rlim_cur), 100, "files that may be open")
        let descriptor = open("/dev/null", O_RDONLY)
        expectGreaterThan(descriptor, 2, "a new descriptor")
        close(descriptor)
    }

    /// What the optimiser cannot know.
    static func number(_ text: String) -> Int? { Int(text) }

    static func environment(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

    private static var workingDirectory: String? {
        guard let path = getcwd(nil, 0) else { return nil }
        defer { free(path) }
        return String(cString: path)
    }

    private static func isAppendedFile(_ descriptor: Int32) -> Bool {
        var status = stat()
        let flags = fcntl(descriptor, F_GETFL)
        return fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && flags & O_APPEND != 0
    }

    private static func handler(of signal: Int32) -> UInt {
        var action = sigaction()
        sigaction(signal, nil, &action)
        #if canImport(Darwin)
        return unsafeBitCast(action.__sigaction_u.__sa_handler, to: UInt.self)
        #else
        return unsafeBitCast(action.__sigaction_handler.sa_handler, to: UInt.self)
        #endif
    }
}

/// A handler that hides every crash.
let hostileHandler: @convention(c) (Int32) -> Void = { _ in _exit(0) }
private let hostileHandlerAddress = unsafeBitCast(hostileHandler, to: UInt.self)
