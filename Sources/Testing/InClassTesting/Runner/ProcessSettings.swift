// What a test may set for the whole process by a call of the C library: signal handlers, masks, limits, timers, priority,
// locale. To look at all of it takes longer than a short test, so it is put back after every test of an image in which
// such a call is named at all, and otherwise only after a failure. That works because this module itself calls nothing
// of it by its name.

#if DEBUG || IN_CLASS_TESTS

internal import InClassSystem

/// The settings of a process, as they were when this was made.
struct ProcessSettings {
    /// One kind of setting, and the calls that change it.
    enum Kind: CaseIterable {
        case handlers, mask, limits, timers, priority, locale

        var calls: [String] {
            switch self {
            case .handlers:
                ["sigaction", "signal", "bsd_signal", "sysv_signal", "ssignal", "sigset", "sigignore", "siginterrupt"]
            case .mask:
                ["pthread_sigmask", "sigprocmask", "sigset", "sighold", "sigrelse", "sigblock", "sigsetmask"]
            case .limits: ["setrlimit", "setrlimit64", "prlimit", "prlimit64", "ulimit"]
            case .timers: ["alarm", "ualarm", "setitimer"]
            case .priority: ["setpriority", "nice"]
            case .locale: ["setlocale"]
            }
        }

        /// The kinds that code of this image can change: those of which it names a call.
        static let changeable: [Kind] = {
            var words = Set(allCases.flatMap(\.calls))
            words.insert("syscall")
            guard let found = ImageSymbols.imports(among: words) else { return allCases }
            if found.contains("syscall") { return allCases }
            return allCases.filter { !found.isDisjoint(with: $0.calls) }
        }()
    }

    private let handlers: [(signal: Int32, action: sigaction)]
    private let mask: sigset_t
    private let limits: [(resource: Int32, limit: rlimit)]
    private let priority: Int32
    private let locale: String

    // SAFETY: written on the main thread before any test runs.
    private nonisolated(unsafe) static var mainThreadMask: sigset_t?

    /// Keeps the mask of the calling thread, the main one, to which tests go that are isolated to the main actor.
    static func keepMaskOfMainThread() { mainThreadMask = presentMask() }

    private static func presentMask() -> sigset_t {
        var mask = sigset_t()
        sigemptyset(&mask)
        _ = SettingCalls.setMask?(SIG_BLOCK, nil, &mask)
        return mask
    }

    /// Keeps the present settings.
    init() {
        handlers = (1..<Int32(65)).compactMap { signal in
            var action = sigaction()
            return SettingCalls.setAction?(signal, nil, &action) == 0 ? (signal, action) : nil
        }
        mask = Self.presentMask()
        limits = (0..<Int32(16)).compactMap { resource in
            SettingCalls.limit(of: resource).map { (resource, $0) }
        }
        priority = getpriority(0, 0)
        locale = SettingCalls.setLocale?(LC_ALL, nil).map { String(cString: $0) } ?? "C"
    }

    /// Puts settings back, those of which nothing is known to have changed included.
    func restore(_ kinds: [Kind]) {
        var index = 0
        while index < kinds.count {
            restore(kinds[index])
            index += 1
        }
    }

    private func restore(_ kind: Kind) {
        switch kind {
        case .handlers:
            // PERF: here and below `while` for `for`, which in a debug build takes longer than what it does.
            var index = 0
            while index < handlers.count {
                var action = handlers[index].action
                _ = SettingCalls.setAction?(handlers[index].signal, &action, nil)
                index += 1
            }
        case .mask:
            var mask = mask
            _ = SettingCalls.setMask?(SIG_SETMASK, &mask, nil)
            // Not waited for: what a test has left on the main thread may hold it.
            if let mainThreadMask = Self.mainThreadMask {
                Task { @MainActor in
                    var mask = mainThreadMask
                    _ = SettingCalls.setMask?(SIG_SETMASK, &mask, nil)
                }
            }
        case .limits: restoreLimits()
        case .timers:
            var none = itimerval()
            for timer in 0..<Int32(3) { _ = SettingCalls.setTimer?(timer, &none, nil) }
        case .priority: _ = SettingCalls.setPriority?(Int32(0), 0, priority)
        case .locale:
            let present = SettingCalls.setLocale?(LC_ALL, nil).map { String(cString: $0) }
            if present != locale { _ = locale.withCString { SettingCalls.setLocale?(LC_ALL, $0) } }
        }
    }

    private func restoreLimits() {
        var index = 0
        while index < limits.count {
            let (resource, limit) = limits[index]
            if !SettingCalls.set(resource, limit) {
                // Only the superuser raises a hard limit again; everybody else has as much as it leaves.
                var present = SettingCalls.limit(of: resource) ?? rlimit()
                present.rlim_cur = min(limit.rlim_cur, present.rlim_max)
                _ = SettingCalls.set(resource, present)
            }
            index += 1
        }
    }
}

// MARK: - In-class tests

#if SELF_TESTS
extension ProcessSettings: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testPutsEveryKindBack": testPutsEveryKindBack,
            "testKnowsWhatThisImageCalls": testKnowsWhatThisImageCalls,
        ]
    }

    /// Changes settings in a child process and says whether each is as before once it is put back.
    private static func testPutsEveryKindBack() {
        let rows: [(kind: Kind, change: () -> Bool, isRestored: () -> Bool)] = [
            (.handlers, { set(SIGUSR1, ignored: true, was: 0) }, { handler(SIGUSR1) == 0 }),
            (.handlers, { set(SIGPIPE, ignored: false, was: 1) }, { handler(SIGPIPE) == 1 }),
            (.handlers, { SettingCalls.set(34, ignored: true) }, { handler(34) == 0 }),
            (
                .mask,
                {
                    var all = sigset_t()
                    sigfillset(&all)
                    sigdelset(&all, SIGUSR2)
                    return SettingCalls.setMask?(SIG_SETMASK, &all, nil) == 0
                }, { blocks(SIGUSR2) == blockedBefore }
            ),
            (
                .limits, { setLimit(0) && open("/dev/null", O_RDONLY) < 0 },
                { open("/dev/null", O_RDONLY) >= 0 }
            ),
            (
                .limits, { setLimit(64) },
                { (200..<400).allSatisfy { dup2(0, $0) >= 0 } }
            ),
            (.timers, { setAlarm(50) == 0 }, { setAlarm(0) == 0 }),
            (
                .priority, { geteuid() != 0 || SettingCalls.setPriority?(0, 0, 3) == 0 },
                { getpriority(0, 0) == 0 || geteuid() != 0 }
            ),
            (
                .locale,
                { setLocale("C.UTF-8") || setLocale("POSIX") },
                { SettingCalls.setLocale?(LC_ALL, nil).map { String(cString: $0) } == "C" }
            ),
        ]
        for (number, row) in rows.enumerated() {
            expectExit(.exit(0), "\(row.kind) in row \(number)") {
                blockedBefore = blocks(SIGUSR2)
                let settings = ProcessSettings()
                guard row.change() else { exit(1) }
                settings.restore([row.kind])
                exit(row.isRestored() ? 0 : 2)
            }
        }
    }

    // SAFETY: written in child processes of one thread.
    private nonisolated(unsafe) static var blockedBefore = false

    private static func blocks(_ signal: Int32) -> Bool {
        var mask = presentMask()
        return sigismember(&mask, signal) == 1
    }

    /// The address of a signal's handler, or 0 and 1 for the system's own ways.
    private static func handler(_ signal: Int32) -> Int {
        var action = sigaction()
        guard SettingCalls.setAction?(signal, nil, &action) == 0 else { return -1 }
        // SAFETY: a function pointer is an address.
        return unsafeBitCast(action.handler, to: Int.self)
    }

    private static func set(_ number: Int32, ignored: Bool, was: Int) -> Bool {
        guard handler(number) == was else { return false }
        return SettingCalls.set(number, ignored: ignored) && handler(number) != was
    }

    /// Has an alarm come after so many seconds, and says when the one before would have come.
    private static func setAlarm(_ seconds: Int) -> Int? {
        var new = itimerval()
        var old = itimerval()
        new.it_value.tv_sec = seconds
        return SettingCalls.setTimer?(0, &new, &old) == 0 ? Int(old.it_value.tv_sec) : nil
    }

    private static func setLocale(_ name: String) -> Bool {
        name.withCString { SettingCalls.setLocale?(LC_ALL, $0) } != nil
    }

    private static func setLimit(_ count: UInt) -> Bool {
        var limit = SettingCalls.limit(of: SettingCalls.openFiles) ?? rlimit()
        limit.rlim_cur = rlim_t(count)
        return SettingCalls.set(SettingCalls.openFiles, limit)
    }

    /// In the image of this module, tests included, nothing is called by which a process is set: every image would look
    /// at all of it after every test.
    private static func testKnowsWhatThisImageCalls() {
        let words = Set(Kind.allCases.flatMap(\.calls) + ["syscall", "fchdir", "umask"])
        guard let found = ImageSymbols.imports(among: words) else {
            return expectTrue(ImageSymbols.isSanitized || !ImageSymbols.areReadable)
        }
        expectEqual(found, ["fchdir", "umask"])
    }
}
#endif

#endif
