// Calls and structures of POSIX that each C library shows to Swift in another form.
//
// Sources: sys/stat.h, signal.h, spawn.h, sys/wait.h, sys/resource.h and sys/xattr.h of macOS, glibc and musl.

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

extension sigaction {
    /// An action that calls a function with the signal's number alone.
    init(calling handler: @escaping @convention(c) (Int32) -> Void) {
        self.init()
        #if canImport(Darwin)
        __sigaction_u.__sa_handler = handler
        #else
        __sigaction_handler.sa_handler = handler
        #endif
    }
}

extension stat {
    /// When the file was last written, in nanoseconds.
    var modificationTime: Int {
        #if canImport(Darwin)
        let time = st_mtimespec
        #else
        let time = st_mtim
        #endif
        return time.tv_sec * 1_000_000_000 + time.tv_nsec
    }

    /// When the file was last written, renamed or given another time or mode, in nanoseconds.
    var changeTime: Int {
        #if canImport(Darwin)
        let time = st_ctimespec
        #else
        let time = st_ctim
        #endif
        return time.tv_sec * 1_000_000_000 + time.tv_nsec
    }
}

enum SystemCalls {
    #if canImport(Darwin)
    typealias SpawnAttributes = posix_spawnattr_t?
    typealias SpawnActions = posix_spawn_file_actions_t?
    static var emptyAttributes: SpawnAttributes { nil }
    static var emptyActions: SpawnActions { nil }
    /// That a process has ended, and nothing else, is asked, which waits for nothing and leaves it there.
    static let hasEnded = WEXITED | WNOHANG | WNOWAIT
    #else
    typealias SpawnAttributes = posix_spawnattr_t
    typealias SpawnActions = posix_spawn_file_actions_t
    static var emptyAttributes: SpawnAttributes { posix_spawnattr_t() }
    static var emptyActions: SpawnActions { posix_spawn_file_actions_t() }
    static let hasEnded = Int32(WEXITED) | Int32(WNOHANG) | Int32(WNOWAIT)
    #endif

    /// `write`, whose name is taken inside types that write.
    static func write(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
        #if canImport(Darwin)
        Darwin.write(descriptor, bytes.baseAddress, bytes.count)
        #elseif canImport(Musl)
        Musl.write(descriptor, bytes.baseAddress, bytes.count)
        #else
        Glibc.write(descriptor, bytes.baseAddress, bytes.count)
        #endif
    }

    /// Finds a function of the C library that Swift shows on some systems only; nil where dlsym has no such name.
    static func symbol(_ name: String) -> UnsafeMutableRawPointer? {
        #if canImport(Darwin)
        // dlfcn.h: `RTLD_DEFAULT` is `((void *) -2)` there, and 0 no handle at all.
        dlsym(UnsafeMutableRawPointer(bitPattern: -2), name)
        #else
        dlsym(nil, name)
        #endif
    }

    #if canImport(Darwin) || canImport(Musl)
    private static var data: Int32 { RLIMIT_DATA }
    #else
    private static var data: __rlimit_resource_t { __rlimit_resource_t(RLIMIT_DATA.rawValue) }
    #endif

    /// How much memory this process, and those that it starts, may have for their data.
    static var dataLimit: rlimit {
        get {
            var limit = rlimit()
            getrlimit(data, &limit)
            return limit
        }
        set {
            var limit = newValue
            setrlimit(data, &limit)
        }
    }

    /// The same limit, or half of the machine's memory where that is less.
    static func halfOfMemory(within limit: rlimit) -> rlimit {
        let byteCount = rlim_t(max(0, sysconf(Int32(_SC_PHYS_PAGES)))) * rlim_t(getpagesize())
        return rlimit(rlim_cur: min(limit.rlim_cur, byteCount / 2), rlim_max: limit.rlim_max)
    }

    /// Whether a file has attributes that a new one would lack; a label of the system's own it would have, too.
    static func hasAttributes(_ path: String) -> Bool {
        var names = [CChar](repeating: 0, count: 1024)
        #if canImport(Darwin)
        let count = listxattr(path, &names, names.count, 0)
        #else
        typealias List = @convention(c) (UnsafePointer<CChar>, UnsafeMutablePointer<CChar>?, Int) -> Int
        guard let symbol = symbol("listxattr") else { return false }
        // SAFETY: the function's signature; Glibc's Swift overlay does not show it.
        let count = unsafeBitCast(symbol, to: List.self)(path, &names, names.count)
        #endif
        if count < 0 { return errno == ERANGE }
        let bytes = names[..<count].map { UInt8(bitPattern: $0) }
        // macOS marks what a sandboxed program has written.
        let own = ["security.selinux", "com.apple.provenance"]
        return bytes.split(separator: 0).contains { !own.contains(String(decoding: $0, as: UTF8.self)) }
    }
}
