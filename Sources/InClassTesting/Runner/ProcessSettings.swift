// What a test may set for the whole process by a call of the C library: signal handlers, masks, limits, timers, priority,
// locale. To look at all of it takes longer than a short test, so it is put back after every test of an image in which
// such a call is named at all, and otherwise only after a failure. That works because this module itself calls nothing
// of it by its name.

#if DEBUG || IN_CLASS_TESTS

#if canImport(Darwin)
@preconcurrency import Darwin
#elseif canImport(Musl)
@preconcurrency import Musl
#else
@preconcurrency import Glibc
#endif

/// The calls by which processes are set, found by a name that the linker does not see.
enum SettingCalls {
    typealias SetAction =
        @convention(c) (Int32, UnsafePointer<sigaction>?, UnsafeMutablePointer<sigaction>?) -> Int32
    typealias SetMask = @convention(c) (Int32, UnsafePointer<sigset_t>?, UnsafeMutablePointer<sigset_t>?) -> Int32
    typealias SetLimit = @convention(c) (Int32, UnsafePointer<rlimit>) -> Int32
    typealias SetTimer = @convention(c) (Int32, UnsafePointer<itimerval>, UnsafeMutablePointer<itimerval>?) -> Int32
    typealias SetPriority = @convention(c) (Int32, UInt32, Int32) -> Int32
    typealias SetLocale = @convention(c) (Int32, UnsafePointer<CChar>?) -> UnsafeMutablePointer<CChar>?

    #if canImport(Glibc)
    // SAFETY: the signatures of POSIX; enumerations and identifiers are numbers of 32 bits.
    static let setAction = dlsym(nil, "sigaction").map { unsafeBitCast($0, to: SetAction.self) }
    static let setMask = dlsym(nil, "pthread_sigmask").map { unsafeBitCast($0, to: SetMask.self) }
    static let setLimit = dlsym(nil, "setrlimit").map { unsafeBitCast($0, to: SetLimit.self) }
    static let setTimer = dlsym(nil, "setitimer").map { unsafeBitCast($0, to: SetTimer.self) }
    static let setPriority = dlsym(nil, "setpriority").map { unsafeBitCast($0, to: SetPriority.self) }
    static let setLocale = dlsym(nil, "setlocale").map { unsafeBitCast($0, to: SetLocale.self) }
    #else
    static let setAction: SetAction? = { sigaction($0, $1, $2) }
    static let setMask: SetMask? = { pthread_sigmask($0, $1, $2) }
    static let setLimit: SetLimit? = { setrlimit($0, $1) }
    static let setTimer: SetTimer? = { setitimer($0, $1, $2) }
    static let setPriority: SetPriority? = { setpriority($0, $1, $2) }
    static let setLocale: SetLocale? = { setlocale($0, $1) }
    #endif

    /// Has a signal handled in one of the system's own ways.
    @discardableResult
    static func set(_ signal: Int32, ignored: Bool) -> Bool {
        var action = sigaction()
        #if canImport(Darwin)
        action.__sigaction_u.__sa_handler = ignored ? SIG_IGN : SIG_DFL
        #else
        action.__sigaction_handler.sa_handler = ignored ? SIG_IGN : SIG_DFL
        #endif
        return setAction?(signal, &action, nil) == 0
    }

    static func set(_ resource: Int32, _ limit: rlimit) -> Bool {
        var limit = limit
        return setLimit?(resource, &limit) == 0
    }
}

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
            var limit = rlimit()
            #if canImport(Glibc)
            let code = getrlimit(__rlimit_resource_t(UInt32(resource)), &limit)
            #else
            let code = getrlimit(resource, &limit)
            #endif
            return code == 0 ? (resource, limit) : nil
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
                var present = rlimit()
                #if canImport(Glibc)
                getrlimit(__rlimit_resource_t(UInt32(resource)), &present)
                #else
                getrlimit(resource, &present)
                #endif
                present.rlim_cur = min(limit.rlim_cur, present.rlim_max)
                _ = SettingCalls.set(resource, present)
            }
            index += 1
        }
    }
}

/// The symbols that this image gets from others.
enum ImageSymbols {
    /// Those of the given names that code of this image refers to, or nil when that cannot be told: where there is no
    /// table of them, or a sanitizer has put its own functions in the place of the system's.
    ///
    /// - Complexity: O(symbols that the image gets from others).
    static func imports(among words: Set<String>) -> Set<String>? {
        #if canImport(Glibc)
        guard dlsym(nil, "__asan_init") == nil, dlsym(nil, "__tsan_init") == nil,
            let table = SymbolTable(imageStart: LastWords.startOfImage())
        else { return nil }
        let firstBytes = Set(words.compactMap { $0.utf8.first })
        var found: Set<String> = []
        for index in 1..<max(1, table.importCount) {
            // PERF: a debug build takes its time to make a String of each.
            guard let name = table.name(at: index), firstBytes.contains(UInt8(bitPattern: name.pointee)) else {
                continue
            }
            let text = String(cString: name)
            if words.contains(text) { found.insert(text) }
        }
        return found
        #else
        return nil
        #endif
    }
}

#if canImport(Glibc)
/// The dynamic symbols of a loaded ELF image of 64 bits.
private struct SymbolTable {
    private let symbols: UInt
    private let names: UInt
    /// How many symbols stand before the first that the image defines itself.
    let importCount: Int

    init?(imageStart: UInt) {
        func word<Value: FixedWidthInteger>(_ address: UInt, _: Value.Type) -> Int {
            // SAFETY: inside the headers and tables of an image that is loaded.
            UnsafeRawPointer(bitPattern: address).map { Int(truncatingIfNeeded: $0.loadUnaligned(as: Value.self)) } ?? 0
        }
        guard imageStart != 0, word(imageStart, UInt32.self) == 0x464C_457F else { return nil }
        var dynamic: UInt = 0
        let headers = imageStart + UInt(word(imageStart + 0x20, UInt64.self))
        for index in 0..<word(imageStart + 0x38, UInt16.self) {
            let header = headers + UInt(index * word(imageStart + 0x36, UInt16.self))
            if word(header, UInt32.self) == 2 { dynamic = imageStart + UInt(word(header + 0x10, UInt64.self)) }
        }
        guard dynamic != 0 else { return nil }
        var found: [Int: UInt] = [:]
        while true {
            let tag = word(dynamic, Int64.self)
            if tag == 0 { break }
            let value = UInt(bitPattern: word(dynamic + 8, Int64.self))
            // The loader puts addresses in the place of offsets, on most machines.
            found[tag] = value < imageStart ? value + imageStart : value
            dynamic += 16
        }
        guard let names = found[5], let symbols = found[6] else { return nil }
        self.names = names
        self.symbols = symbols
        if let hash = found[0x6FFF_FEF5] {
            importCount = word(hash + 4, UInt32.self)
        } else if let hash = found[4] {
            importCount = word(hash + 4, UInt32.self)
        } else {
            return nil
        }
    }

    func name(at index: Int) -> UnsafePointer<CChar>? {
        // SAFETY: below the count; each symbol has 24 bytes and begins with the offset of its name.
        let offset = UnsafeRawPointer(bitPattern: symbols + UInt(index) * 24)?.load(as: UInt32.self) ?? 0
        return UnsafePointer(bitPattern: names + UInt(offset))
    }
}
#endif

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
        #if canImport(Darwin)
        return unsafeBitCast(action.__sigaction_u.__sa_handler, to: Int.self)
        #else
        return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
        #endif
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
        var limit = rlimit()
        #if canImport(Glibc)
        let resource = Int32(RLIMIT_NOFILE.rawValue)
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        #else
        let resource = RLIMIT_NOFILE
        getrlimit(resource, &limit)
        #endif
        limit.rlim_cur = rlim_t(count)
        return SettingCalls.set(resource, limit)
    }

    /// In the image of this module, tests included, nothing is called by which a process is set: every image would look
    /// at all of it after every test.
    private static func testKnowsWhatThisImageCalls() {
        #if canImport(Glibc)
        let words = Set(Kind.allCases.flatMap(\.calls) + ["syscall", "fchdir", "umask"])
        guard let found = ImageSymbols.imports(among: words) else {
            return expectTrue(dlsym(nil, "__asan_init") != nil || dlsym(nil, "__tsan_init") != nil)
        }
        expectEqual(found, ["fchdir", "umask"])
        #endif
    }
}
#endif

#endif
