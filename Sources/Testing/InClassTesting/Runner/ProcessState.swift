// The state of the process that a test can change: output, folder, environment, signal handlers, limits and so on. When a
// test has changed it, the worker ends, and a new worker runs the remaining tests.

#if DEBUG || IN_CLASS_TESTS

internal import InClassTestingSystem

/// The process state at the beginning of every test of a worker.
struct ProcessState {
    private let output: Int32
    private var state = inclass_read_state()
    /// The addresses of the variables, including the nil at the end, and their texts.
    private var variables: [UnsafeMutablePointer<CChar>?]
    private let variableTexts: Set<String>
    private var settings = inclass_read_settings()

    /// Saves the current state.
    init() {
        // A test is unlikely to use this number.
        output = fcntl(1, F_DUPFD_CLOEXEC, 200)
        variables = Self.presentVariables()
        variableTexts = Self.texts(of: variables)
    }

    /// The size of the standard output if it is a file without a name. Only testlogger creates such a file.
    var outputSize: Int? {
        var status = stat()
        guard fstat(output, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_nlink == 0 else { return nil }
        return Int(status.st_size)
    }

    /// Empties the file of the standard output. Returns false for a terminal or a pipe.
    func emptyOutput() -> Bool { ftruncate(output, 0) == 0 }

    /// Returns true if the state has changed.
    ///
    /// Reading all settings takes longer than a short test. They are read after a failure, and in test executables that call a
    /// function that changes them.
    mutating func isChanged(afterFailure: Bool) -> Bool {
        if inclass_is_changed(&state) != 0 || areVariablesChanged() { return true }
        return (afterFailure || Self.mayChangeSettings) && inclass_are_changed(&settings) != 0
    }

    /// Compares texts only if a pointer differs, because `setenv` replaces the pointer.
    private mutating func areVariablesChanged() -> Bool {
        if inclass_is_environment(variables, variables.count) != 0 { return false }
        let present = Self.presentVariables()
        if Self.texts(of: present) != variableTexts { return true }
        variables = present
        return false
    }

    private static func presentVariables() -> [UnsafeMutablePointer<CChar>?] {
        var found: [UnsafeMutablePointer<CChar>?] = []
        guard var next = inclass_environment() else { return [nil] }
        while let variable = next.pointee {
            found.append(variable)
            next += 1
        }
        return found + [nil]
    }

    private static func texts(of variables: [UnsafeMutablePointer<CChar>?]) -> Set<String> {
        Set(variables.compactMap { $0.map { String(cString: $0) } })
    }

    /// The functions that change settings.
    private static let calls = [
        "sigaction", "signal", "bsd_signal", "sysv_signal", "ssignal", "sigset", "sigignore", "siginterrupt",
        "pthread_sigmask", "sigprocmask", "sighold", "sigrelse", "sigblock", "sigsetmask", "setrlimit", "setrlimit64",
        "prlimit", "prlimit64", "ulimit", "alarm", "ualarm", "setitimer", "setpriority", "nice", "setlocale", "syscall",
    ]

    /// A Boolean value that indicates whether a sanitizer has replaced the system's functions with its own.
    private static let isSanitized =
        SystemSymbol.address(of: "__asan_init") != nil || SystemSymbol.address(of: "__tsan_init") != nil

    /// A Boolean value that indicates whether code of this test executable may call a function that changes settings.
    private static let mayChangeSettings = isSanitized || calls.contains { imports($0) }

    private static let executableStart = SystemSymbol.executable.start
    private static func imports(_ name: String) -> Bool { inclass_imports(executableStart, name) != 0 }
}

// MARK: - In-class tests

#if SELF_TESTS
extension ProcessState: SelfTesting {
    static var testSelectors: TestSelectors {
        .each("testDetectsChanges", changes, named: \.name) { change in try testDetectsChanges(change) } + [
            "testIgnoresRestoredSettings": testIgnoresRestoredSettings,
            "testFindsImportedCallsOfThisExecutable": testFindsImportedCallsOfThisExecutable,
        ]
    }

    private struct Change: Sendable {
        let name: String
        var isSetting = true
        let make: @Sendable () -> Bool
    }

    private static let changes = [
        Change(name: "input", isSetting: false) { close(0) == 0 },
        Change(name: "output", isSetting: false) { close(1) == 0 },
        Change(name: "errors", isSetting: false) { dup2(open("/dev/null", O_WRONLY), 2) == 2 },
        Change(name: "output that doesn't wait", isSetting: false) {
            fcntl(1, F_SETFL, fcntl(1, F_GETFL) ^ O_NONBLOCK) == 0
        },
        Change(name: "input that programs don't inherit", isSetting: false) {
            fcntl(0, F_SETFD, fcntl(0, F_GETFD) ^ FD_CLOEXEC) == 0
        },
        Change(name: "rounding", isSetting: false) { call("fesetround", upward) == 0 },
        Change(name: "folder", isSetting: false) { chdir("/") == 0 },
        Change(name: "file mode mask", isSetting: false) { umask(0o777) != 0o777 },
        Change(name: "new variable", isSetting: false) { setenv("CHANGED_BY_TEST", "1", 1) == 0 },
        Change(name: "variable that is gone", isSetting: false) { unsetenv("PATH") == 0 },
        Change(name: "handler") { inclass_ignore(SIGUSR1, 1) == 0 },
        Change(name: "handler of a worker's own") { inclass_ignore(SIGPIPE, 0) == 0 },
        Change(name: "handler of a real-time signal") { inclass_ignore(40, 1) == 0 },
        Change(name: "blocked signals") {
            var (signals, before) = (sigset_t(), sigset_t())
            sigemptyset(&signals)
            inclass_block(nil, &before)
            if sigismember(&before, SIGUSR2) == 0 { sigaddset(&signals, SIGUSR2) }
            return inclass_block(&signals, nil) == 0
        },
        Change(name: "limit") {
            // On Linux, 7 limits the number of open files, on macOS the number of processes.
            var limit = rlimit(rlim_cur: 100, rlim_max: 100)
            return setLimit?(7, &limit) == 0
        },
        Change(name: "timer") { call("alarm", 60) == 0 },
        Change(name: "priority") { call("nice", 1) == 1 },
        Change(name: "locale") {
            ["C.UTF-8", "en_US.UTF-8", "POSIX.UTF-8"].contains { change in
                change.withCString { setLocale?(LC_ALL, $0) } != nil
            }
        },
    ]

    /// `FE_UPWARD` of fenv.h, which is a number of the processor.
    #if arch(x86_64)
    private static let upward: Int32 = 0x800
    #elseif arch(arm64)
    private static let upward: Int32 = 0x40_0000
    #else
    private static let upward: Int32 = 3
    #endif

    /// Calls a function with one number, by a name that the linker doesn't see.
    private static func call(_ name: String, _ number: Int32) -> Int32? {
        SystemSymbol.address(of: name).map {
            unsafeBitCast($0, to: (@convention(c) (Int32) -> Int32).self)(number)
        }
    }

    private static let setLimit = SystemSymbol.address(of: "setrlimit").map {
        unsafeBitCast($0, to: (@convention(c) (Int32, UnsafePointer<rlimit>) -> Int32).self)
    }
    private static let setLocale = SystemSymbol.address(of: "setlocale").map {
        unsafeBitCast($0, to: (@convention(c) (Int32, UnsafePointer<CChar>?) -> UnsafeMutablePointer<CChar>?).self)
    }

    /// Runs in a child process, because the change affects the whole process.
    private static func testDetectsChanges(_ change: Change) throws {
        expectExit(.exit(7)) {
            var state = ProcessState()
            if state.isChanged(afterFailure: true) { exit(1) }
            guard change.make() else { exit(2) }
            let isSeen = state.isChanged(afterFailure: change.isSetting)
            // Checking the state doesn't change it.
            exit(isSeen && state.isChanged(afterFailure: change.isSetting) ? 7 : 3)
        }
    }

    private static func testIgnoresRestoredSettings() {
        expectExit(.exit(0)) {
            setenv("OF_TEST", "1", 1)
            var state = ProcessState()
            setenv("OF_TEST", "2", 1)
            let isSeen = state.isChanged(afterFailure: false)
            setenv("OF_TEST", "1", 1)
            exit(isSeen && !state.isChanged(afterFailure: true) ? 0 : 1)
        }
    }

    /// InClassTesting itself calls none of these functions. Otherwise every test executable would read all settings after every
    /// test.
    private static func testFindsImportedCallsOfThisExecutable() {
        #if canImport(Glibc)
        if !isSanitized { expectEqual((calls + ["umask"]).filter(imports), ["umask"]) }
        #endif
    }
}
#endif

#endif
