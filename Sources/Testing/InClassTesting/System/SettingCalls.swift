// The calls by which a process is set, where each system has another form of them.
//
// Sources: POSIX for what they do; sys/signal.h and sys/resource.h of macOS (`__sigaction_u`, resources are plain
// numbers) and of glibc (`__sigaction_handler`, resources are an enumeration) for how Swift sees them.

#if DEBUG || IN_CLASS_TESTS

internal import InClassSystem

/// The calls by which processes are set, found by a name that the linker does not see.
enum SettingCalls {
    typealias SetAction =
        @convention(c) (Int32, UnsafePointer<sigaction>?, UnsafeMutablePointer<sigaction>?) -> Int32
    typealias SetMask = @convention(c) (Int32, UnsafePointer<sigset_t>?, UnsafeMutablePointer<sigset_t>?) -> Int32
    typealias SetLimit = @convention(c) (Int32, UnsafePointer<rlimit>) -> Int32
    typealias SetTimer = @convention(c) (Int32, UnsafePointer<itimerval>, UnsafeMutablePointer<itimerval>?) -> Int32
    typealias SetPriority = @convention(c) (Int32, UInt32, Int32) -> Int32
    typealias SetLocale = @convention(c) (Int32, UnsafePointer<CChar>?) -> UnsafeMutablePointer<CChar>?

    #if canImport(Darwin) || canImport(Musl)
    static let setAction: SetAction? = { sigaction($0, $1, $2) }
    static let setMask: SetMask? = { pthread_sigmask($0, $1, $2) }
    static let setLimit: SetLimit? = { setrlimit($0, $1) }
    static let setTimer: SetTimer? = { setitimer($0, $1, $2) }
    static let setPriority: SetPriority? = { setpriority($0, $1, $2) }
    static let setLocale: SetLocale? = { setlocale($0, $1) }

    /// The resources that a process runs out of when it opens files, or writes what is left of it.
    static let openFiles = RLIMIT_NOFILE
    static let coreSize = RLIMIT_CORE
    #else
    // SAFETY: the signatures of POSIX; enumerations and identifiers are numbers of 32 bits.
    static let setAction = SystemSymbol.address(of: "sigaction").map { unsafeBitCast($0, to: SetAction.self) }
    static let setMask = SystemSymbol.address(of: "pthread_sigmask").map { unsafeBitCast($0, to: SetMask.self) }
    static let setLimit = SystemSymbol.address(of: "setrlimit").map { unsafeBitCast($0, to: SetLimit.self) }
    static let setTimer = SystemSymbol.address(of: "setitimer").map { unsafeBitCast($0, to: SetTimer.self) }
    static let setPriority = SystemSymbol.address(of: "setpriority").map { unsafeBitCast($0, to: SetPriority.self) }
    static let setLocale = SystemSymbol.address(of: "setlocale").map { unsafeBitCast($0, to: SetLocale.self) }

    static let openFiles = Int32(RLIMIT_NOFILE.rawValue)
    static let coreSize = Int32(RLIMIT_CORE.rawValue)
    #endif

    /// Has a signal handled in one of the system's own ways.
    @discardableResult
    static func set(_ signal: Int32, ignored: Bool) -> Bool {
        var action = sigaction()
        action.handler = ignored ? SIG_IGN : SIG_DFL
        return setAction?(signal, &action, nil) == 0
    }

    static func set(_ resource: Int32, _ limit: rlimit) -> Bool {
        var limit = limit
        return setLimit?(resource, &limit) == 0
    }

    /// The present limit of a resource, or nil for a number that is none.
    static func limit(of resource: Int32) -> rlimit? {
        var limit = rlimit()
        #if canImport(Darwin) || canImport(Musl)
        let code = getrlimit(resource, &limit)
        #else
        let code = getrlimit(__rlimit_resource_t(UInt32(resource)), &limit)
        #endif
        return code == 0 ? limit : nil
    }
}

extension sigaction {
    typealias Handler = @convention(c) (Int32) -> Void

    /// What is called with the signal's number alone.
    var handler: Handler? {
        get {
            #if canImport(Darwin)
            __sigaction_u.__sa_handler
            #else
            __sigaction_handler.sa_handler
            #endif
        }
        set {
            #if canImport(Darwin)
            __sigaction_u.__sa_handler = newValue
            #else
            __sigaction_handler.sa_handler = newValue
            #endif
        }
    }

    /// Has a function called with the signal's number, what is known of it, and the registers of the thread.
    mutating func call(
        _ handler: @escaping @convention(c) (Int32, UnsafeMutablePointer<siginfo_t>?, UnsafeMutableRawPointer?) -> Void
    ) {
        sa_flags |= Int32(SA_SIGINFO)
        #if canImport(Darwin)
        __sigaction_u.__sa_sigaction = handler
        #else
        __sigaction_handler.sa_sigaction = handler
        #endif
    }
}

#endif
