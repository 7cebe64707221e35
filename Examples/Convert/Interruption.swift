// What is removed when a signal that can be caught ends the process.

#if canImport(Darwin)
@preconcurrency import Darwin
#elseif canImport(Musl)
@preconcurrency import Musl
#else
@preconcurrency import Glibc
#endif

/// What to remove when the process is interrupted.
enum Interruption {
    // A signal handler reads it; it is set while the handlers are not installed.
    nonisolated(unsafe) private static var path: UnsafeMutablePointer<CChar>?
    /// The signals that a handler was installed for.
    nonisolated(unsafe) private static var caught: [Int32] = []
    private static let signals = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU]

    /// Has a file removed when a signal ends the process; one that is ignored, as under `nohup`, stays ignored.
    static func remove(_ file: String) {
        path = strdup(file)
        caught = signals.filter { !isIgnored($0) }
        for number in caught {
            _ = signal(number) { number in
                if let path = Interruption.path { unlink(path) }
                signal(number, SIG_DFL)
                raise(number)
            }
        }
    }

    static func removeNothing() {
        for number in caught { signal(number, SIG_DFL) }
        caught = []
        free(path)
        path = nil
    }

    private static func isIgnored(_ number: Int32) -> Bool {
        var action = sigaction()
        sigaction(number, nil, &action)
        #if canImport(Darwin)
        let handler = unsafeBitCast(action.__sigaction_u.__sa_handler, to: Int.self)
        #else
        let handler = unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
        #endif
        return handler == unsafeBitCast(SIG_IGN, to: Int.self)
    }
}
