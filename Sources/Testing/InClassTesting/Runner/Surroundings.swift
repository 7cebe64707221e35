// What belongs to the whole process and a test may change: where its output goes, its folder, its environment and the
// like. It is put back before the next test, which did not ask for the change.

#if DEBUG || IN_CLASS_TESTS

internal import InClassSystem

/// The state that every test of a worker begins with.
struct Surroundings {
    /// What is under these numbers is not ours to keep.
    private static let firstDescriptor: Int32 = 200

    private let output: Int32
    private let errors: Int32
    private let outputFile: FileIdentity?
    private let errorFile: FileIdentity?
    private let folder: Int32
    private let folderIdentity: FileIdentity?
    private let mask: mode_t
    /// The variables where they are, with the nil that ends them, and copies of what they were.
    private var variables: [UnsafeMutablePointer<CChar>?]
    private let variableCopies: [UnsafeMutablePointer<CChar>]
    private let settings = ProcessSettings()

    /// A file, whatever descriptor or path leads to it.
    private struct FileIdentity: Equatable {
        let device: UInt64
        let number: UInt64

        init?(_ descriptor: Int32) {
            var status = stat()
            guard fstat(descriptor, &status) == 0 else { return nil }
            self.init(status)
        }

        init(_ status: stat) {
            device = UInt64(truncatingIfNeeded: status.st_dev)
            number = UInt64(truncatingIfNeeded: status.st_ino)
        }
    }

    /// Keeps the present state.
    init() {
        output = fcntl(1, F_DUPFD_CLOEXEC, Self.firstDescriptor)
        errors = fcntl(2, F_DUPFD_CLOEXEC, Self.firstDescriptor)
        outputFile = FileIdentity(1)
        errorFile = FileIdentity(2)
        folder = fcntl(open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), F_DUPFD_CLOEXEC, Self.firstDescriptor)
        folderIdentity = FileIdentity(folder)
        mask = umask(0)
        umask(mask)
        variables = Self.presentVariables()
        variableCopies = variables.compactMap { $0.flatMap { strdup($0) } }
    }

    /// How much has been written to the standard output, when that is a file without a name, as the supervisor makes one;
    /// any other is somebody's own.
    var outputSize: Int? {
        var status = stat()
        guard fstat(output, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_nlink == 0 else { return nil }
        return Int(status.st_size)
    }

    /// Empties the file that the standard output goes to; false when it is none.
    func emptyOutput() -> Bool { ftruncate(output, 0) == 0 }

    /// Puts back what a passed test may have changed.
    mutating func restore() {
        settings.restore(ProcessSettings.Kind.changeable)
        restoreCommon()
    }

    /// Puts back everything: the test before has failed, and may have been in the middle of something.
    mutating func restoreAll() {
        settings.restore(ProcessSettings.Kind.allCases)
        restoreCommon()
    }

    /// Puts back what any library may change, and what takes next to no time to look at.
    private mutating func restoreCommon() {
        if FileIdentity(1) != outputFile { dup2(output, 1) }
        if FileIdentity(2) != errorFile { dup2(errors, 2) }
        var status = stat()
        if lstat(".", &status) != 0 || FileIdentity(status) != folderIdentity { fchdir(folder) }
        umask(mask)
        restoreEnvironment()
    }

    /// Looks at no text: who sets a variable puts another pointer in place of the old.
    private mutating func restoreEnvironment() {
        guard let present = SystemSymbol.environment else { return rebuildEnvironment() }
        var index = 0
        // SAFETY: both end with a nil, and the comparison ends with the first difference, so it reads behind neither.
        let isSame = variables.withUnsafeBufferPointer { saved in
            while index < saved.count, present[index] == saved[index] { index &+= 1 }
            return index == saved.count
        }
        if !isSame { rebuildEnvironment() }
    }

    private mutating func rebuildEnvironment() {
        let names = Self.presentVariables().compactMap { $0.map { String(cString: $0).prefix { $0 != "=" } } }
        for name in names { unsetenv(String(name)) }
        // SAFETY: the copies live as long as the process, as putenv asks.
        for copy in variableCopies { putenv(copy) }
        variables = Self.presentVariables()
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
}

// MARK: - In-class tests

#if SELF_TESTS
extension Surroundings: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testPutsBackWhatChanged": testPutsBackWhatChanged,
            "testPutsBackMoreAfterFailure": testPutsBackMoreAfterFailure,
        ]
    }

    /// In a child process, whose changes are its own.
    private static func expectRestored(by restore: @escaping (inout Surroundings) -> Void, _ change: () -> Bool) {
        expectExit(.exit(0)) {
            var state = Surroundings()
            let isChanged = change()
            restore(&state)
            // Twice, since the environment is another one after it was put back.
            restore(&state)
            let mask = umask(0)
            var status = stat()
            let isSame =
                FileIdentity(1) == state.outputFile && FileIdentity(2) == state.errorFile && mask == state.mask
                && lstat(".", &status) == 0 && FileIdentity(status) == state.folderIdentity && getenv("PATH") != nil
                && getenv("CHANGED_BY_TEST") == nil
            exit(isChanged && isSame ? 0 : 1)
        }
    }

    private static func testPutsBackWhatChanged() {
        expectRestored(by: { $0.restore() }) {
            close(1)
            dup2(open("/dev/null", O_WRONLY), 2)
            umask(0o777)
            setenv("CHANGED_BY_TEST", "1", 1)
            unsetenv("PATH")
            return chdir("/") == 0
        }
        // Not every system has this.
        typealias Clear = @convention(c) () -> Int32
        guard let symbol = SystemSymbol.address(of: "clearenv") else { return }
        expectRestored(by: { $0.restore() }) { unsafeBitCast(symbol, to: Clear.self)() == 0 }
    }

    private static func testPutsBackMoreAfterFailure() {
        expectRestored(by: { $0.restoreAll() }) {
            var limit = SettingCalls.limit(of: SettingCalls.openFiles) ?? rlimit()
            limit.rlim_cur = 0
            SettingCalls.set(SIGUSR1, ignored: true)
            return SettingCalls.set(SettingCalls.openFiles, limit) && open("/dev/null", O_RDONLY) < 0
        }
        expectExit(.signal(SIGUSR1)) {
            var state = Surroundings()
            SettingCalls.set(SIGUSR1, ignored: true)
            state.restoreAll()
            // The threads of tasks hear of no signals.
            var none = sigset_t()
            sigemptyset(&none)
            _ = SettingCalls.setMask?(SIG_SETMASK, &none, nil)
            kill(getpid(), SIGUSR1)
        }
    }
}
#endif

#endif
