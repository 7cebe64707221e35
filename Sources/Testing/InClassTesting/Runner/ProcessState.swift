// The state of the process that a test can change: output, folder, environment, signal handlers, limits and so on. When a
// test has changed it, the worker ends, and a new worker runs the remaining tests.

#if DEBUG || IN_CLASS_TESTS

internal import InClassTestingSystem

/// The process state at the beginning of every test of a worker.
struct ProcessState {
    private let output: Int32
    private let outputFile: FileIdentity?
    private let errorFile: FileIdentity?
    private let folder: FileIdentity?
    private let mask: mode_t
    /// The addresses of the variables, including the nil at the end, and their texts.
    private var variables: [UnsafeMutablePointer<CChar>?]
    private let variableTexts: Set<String>
    private let settings: inclass_settings

    /// The identity of a file.
    private struct FileIdentity: Equatable {
        let device: UInt64
        let number: UInt64

        init?(_ descriptor: Int32) {
            var status = stat()
            guard fstat(descriptor, &status) == 0 else { return nil }
            self.init(status)
        }

        init?(path: String) {
            var status = stat()
            guard lstat(path, &status) == 0 else { return nil }
            self.init(status)
        }

        private init(_ status: stat) {
            device = UInt64(truncatingIfNeeded: status.st_dev)
            number = UInt64(truncatingIfNeeded: status.st_ino)
        }
    }

    /// Saves the current state.
    init() {
        // A test is unlikely to use this number.
        output = fcntl(1, F_DUPFD_CLOEXEC, 200)
        outputFile = FileIdentity(1)
        errorFile = FileIdentity(2)
        folder = FileIdentity(path: ".")
        mask = umask(0)
        umask(mask)
        variables = Self.presentVariables()
        variableTexts = Self.texts(of: variables)
        settings = Self.presentSettings()
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
    /// Reading all settings takes longer than a short test. They are read after a failure, and in images that call a
    /// function that changes them.
    mutating func isChanged(afterFailure: Bool) -> Bool {
        if FileIdentity(1) != outputFile || FileIdentity(2) != errorFile || FileIdentity(path: ".") != folder {
            return true
        }
        let mask = umask(0)
        umask(mask)
        if mask != self.mask || areVariablesChanged() { return true }
        guard afterFailure || Self.mayChangeSettings else { return false }
        var (before, now) = (settings, Self.presentSettings())
        return inclass_are_equal(&before, &now) == 0
    }

    /// Compares texts only if a pointer differs, because `setenv` replaces the pointer.
    private mutating func areVariablesChanged() -> Bool {
        if let present = SystemSymbol.environment {
            var index = 0
            // SAFETY: both lists end with a nil, and the comparison ends at the first difference, so it doesn't read past
            // the end.
            let isSame = variables.withUnsafeBufferPointer { saved in
                while index < saved.count, present[index] == saved[index] { index &+= 1 }
                return index == saved.count
            }
            if isSame { return false }
        }
        let present = Self.presentVariables()
        if Self.texts(of: present) != variableTexts { return true }
        variables = present
        return false
    }

    private static func presentVariables() -> [UnsafeMutablePointer<CChar>?] {
        var found: [UnsafeMutablePointer<CChar>?] = []
        guard var next = SystemSymbol.environment else { return [nil] }
        while let variable = next.pointee {
            found.append(variable)
            next += 1
        }
        return found + [nil]
    }

    private static func texts(of variables: [UnsafeMutablePointer<CChar>?]) -> Set<String> {
        Set(variables.compactMap { $0.map { String(cString: $0) } })
    }

    private static func presentSettings() -> inclass_settings {
        var settings = inclass_settings()
        inclass_read_settings(&settings)
        return settings
    }

    /// The functions that change settings.
    private static let calls: Set<String> = [
        "sigaction", "signal", "bsd_signal", "sysv_signal", "ssignal", "sigset", "sigignore", "siginterrupt",
        "pthread_sigmask", "sigprocmask", "sighold", "sigrelse", "sigblock", "sigsetmask", "setrlimit", "setrlimit64",
        "prlimit", "prlimit64", "ulimit", "alarm", "ualarm", "setitimer", "setpriority", "nice", "setlocale", "syscall",
    ]

    private static let mayChangeSettings = ImageSymbols.imports(among: calls)?.isEmpty != true
}

// MARK: - In-class tests

#if SELF_TESTS
extension ProcessState: SelfTesting {
    static var testSelectors: TestSelectors {
        .each("testDetectsChanges", changes, named: \.name) { change in try testDetectsChanges(change) } + [
            "testIgnoresRestoredSettings": testIgnoresRestoredSettings,
            "testFindsImportedCallsOfThisImage": testFindsImportedCallsOfThisImage,
        ]
    }

    private struct Change: Sendable {
        let name: String
        var isSetting = true
        let make: @Sendable () -> Bool
    }

    private static let changes = [
        Change(name: "output", isSetting: false) { close(1) == 0 },
        Change(name: "errors", isSetting: false) { dup2(open("/dev/null", O_WRONLY), 2) == 2 },
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

    /// InClassTesting itself calls none of these functions. Otherwise every image would read all settings after every
    /// test.
    private static func testFindsImportedCallsOfThisImage() {
        guard let found = ImageSymbols.imports(among: calls.union(["umask"])) else {
            return expectTrue(ImageSymbols.isSanitized || !ImageSymbols.areReadable)
        }
        expectEqual(found, ["umask"])
    }
}
#endif

#endif
