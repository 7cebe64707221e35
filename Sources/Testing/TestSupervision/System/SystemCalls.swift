// Wraps the POSIX declarations that differ between the systems.
//
// Sources: spawn.h and dlfcn.h of macOS, glibc and musl.

internal import InClassSystem

enum SystemCalls {
    #if canImport(Darwin)
    static var emptyAttributes: posix_spawnattr_t? { nil }
    static var emptyActions: posix_spawn_file_actions_t? { nil }
    #else
    static var emptyAttributes: posix_spawnattr_t { posix_spawnattr_t() }
    static var emptyActions: posix_spawn_file_actions_t { posix_spawn_file_actions_t() }
    #endif

    /// Returns a memory limit of half of the machine's memory, or the given limit if that is lower.
    static func halfOfMemory(within limit: rlimit) -> rlimit {
        let byteCount = rlim_t(max(0, sysconf(Int32(_SC_PHYS_PAGES)))) * rlim_t(getpagesize())
        return rlimit(rlim_cur: min(limit.rlim_cur, byteCount / 2), rlim_max: limit.rlim_max)
    }

    /// Returns whether a file has attributes that a new file wouldn't have.
    static func hasAttributes(_ path: String) -> Bool {
        var names = [CChar](repeating: 0, count: 1024)
        let count = inclass_attributes(path, &names, names.count)
        if count < 0 { return errno == ERANGE }
        let bytes = names[..<count].map { UInt8(bitPattern: $0) }
        // A new file also gets the labels of the system. macOS marks the files that a sandboxed program has written.
        let own = ["security.selinux", "com.apple.provenance"]
        return bytes.split(separator: 0).contains { !own.contains(String(decoding: $0, as: UTF8.self)) }
    }

    /// A Boolean value that indicates whether this image runs with the thread sanitizer.
    static var isUnderThreadSanitizer: Bool {
        // dlfcn.h: On macOS, `RTLD_DEFAULT` is `((void *) -2)`, and 0 isn't a handle.
        let allImages = TargetSystem.current == .macOS ? UnsafeMutableRawPointer(bitPattern: -2) : nil
        return dlsym(allImages, "__tsan_init") != nil
    }
}
