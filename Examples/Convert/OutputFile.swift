// The output: a new file beside the old one, which takes its place when it is complete.

import PlistStreaming

#if canImport(Darwin)
@preconcurrency import Darwin
#elseif canImport(Musl)
@preconcurrency import Musl
#else
@preconcurrency import Glibc
#endif

/// A file that appears under its name only when it is complete.
///
/// The bytes go to a temporary file in the same directory. `commit` renames it; without, it is removed, also when the
/// process is interrupted. Standard output and what is no regular file, such as `/dev/null`, are written directly.
struct OutputFile: ~Copyable {
    let descriptor: Int32
    private let path: String
    private let temporaryPath: String?
    private var isCommitted: Bool = false
    /// The path of the file that is written, for libraries that open files themselves.
    var writtenPath: String { temporaryPath ?? path }

    /// Opens an output; `-` is standard output.
    init(path: String) throws(StreamError) {
        if path == "-" {
            self.init(descriptor: STDOUT_FILENO, path: path, temporaryPath: nil)
            return
        }
        var status = stat()
        let exists = stat(path, &status) == 0
        if exists && status.st_mode & S_IFMT != S_IFREG {
            let descriptor = open(path, O_WRONLY | O_CLOEXEC)
            guard descriptor >= 0 else { throw Self.error("open", path) }
            self.init(descriptor: descriptor, path: path, temporaryPath: nil)
            return
        }
        // A link stays a link: what it leads to is replaced.
        let target = exists ? Self.resolved(path) : path
        let temporary = "\(target).\(getpid()).partial"
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
        guard descriptor >= 0 else { throw Self.error("create", path) }
        if exists { _ = fchmod(descriptor, status.st_mode & 0o7777) }
        Interruption.remove(temporary)
        self.init(descriptor: descriptor, path: target, temporaryPath: temporary)
    }

    private init(descriptor: Int32, path: String, temporaryPath: String?) {
        self.descriptor = descriptor
        self.path = path
        self.temporaryPath = temporaryPath
    }

    deinit {
        guard descriptor != STDOUT_FILENO else { return }
        close(descriptor)
        if let temporaryPath, !isCommitted { unlink(temporaryPath) }
        Interruption.removeNothing()
    }

    /// Puts the complete file into its place.
    consuming func commit() throws(StreamError) {
        guard let temporaryPath else { return }
        guard rename(temporaryPath, path) == 0 else { throw Self.error("replace", path) }
        isCommitted = true
    }

    private static func error(_ what: String, _ path: String) -> StreamError {
        StreamError(.cannotWrite, "cannot \(what): \(ByteOutput.systemMessage(errno))")
    }

    private static func resolved(_ path: String) -> String {
        guard let resolved = realpath(path, nil) else { return path }
        defer { free(resolved) }
        return String(cString: resolved)
    }
}

/// What to remove when the process is interrupted.
enum Interruption {
    // A signal handler reads it; it is set while the handlers are not installed.
    nonisolated(unsafe) private static var path: UnsafeMutablePointer<CChar>?
    private static let signals = [SIGINT, SIGTERM, SIGHUP]

    /// Has a file removed when a signal ends the process.
    static func remove(_ file: String) {
        path = strdup(file)
        for number in signals {
            _ = signal(number) { number in
                if let path = Interruption.path { unlink(path) }
                signal(number, SIG_DFL)
                raise(number)
            }
        }
    }

    static func removeNothing() {
        for number in signals { signal(number, SIG_DFL) }
        free(path)
        path = nil
    }
}
