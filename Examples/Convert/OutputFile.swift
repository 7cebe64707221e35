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
/// The bytes go to a file in the same directory, which has no name where the system can do that (Linux), so that nothing
/// is left behind however the process ends; elsewhere to one with a temporary name, which is removed after an error and
/// when a signal that can be caught ends the process. `commit` puts it into its place. Standard output and what is no
/// regular file, such as `/dev/null`, are written directly.
struct OutputFile: ~Copyable {
    /// Where the bytes are before the file is complete.
    private enum Place {
        /// In the output itself.
        case direct
        /// In a file without a name.
        case unnamed
        /// In a file of another name.
        case named(String)
    }

    let descriptor: Int32
    private let path: String
    private let place: Place
    private var isCommitted: Bool = false
    /// The path of the file that is written, for libraries that open files themselves.
    var writtenPath: String { if case .named(let temporary) = place { temporary } else { path } }

    /// Opens an output; `-` is standard output.
    /// - Parameter isNamed: Whether the file has a temporary name also where none is needed.
    init(path: String, isNamed: Bool = false) throws(StreamError) {
        if path == "-" {
            self.init(descriptor: STDOUT_FILENO, path: path, place: .direct)
            return
        }
        var status = stat()
        let exists = stat(path, &status) == 0
        if exists && status.st_mode & S_IFMT != S_IFREG {
            let descriptor = open(path, O_WRONLY | O_CLOEXEC)
            guard descriptor >= 0 else { throw Self.error("open") }
            self.init(descriptor: descriptor, path: path, place: .direct)
            return
        }
        // A directory lets one replace a file that is protected from writing; what is protected stays.
        guard !exists || faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0 else { throw Self.error("replace") }
        // A link stays a link: what it leads to is replaced.
        let target = exists ? Self.resolved(path) : path
        let unnamed = isNamed ? -1 : Self.openUnnamed(besides: target)
        if unnamed >= 0 {
            self.init(descriptor: unnamed, path: target, place: .unnamed)
        } else {
            let temporary = Self.temporaryPath(target)
            let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
            guard descriptor >= 0 else { throw Self.error("create") }
            Interruption.remove(temporary)
            self.init(descriptor: descriptor, path: target, place: .named(temporary))
        }
        if exists { _ = fchmod(descriptor, status.st_mode & 0o7777) }
    }

    private init(descriptor: Int32, path: String, place: Place) {
        self.descriptor = descriptor
        self.path = path
        self.place = place
    }

    deinit {
        guard descriptor != STDOUT_FILENO else { return }
        close(descriptor)
        if case .named(let temporary) = place {
            if !isCommitted { unlink(temporary) }
            Interruption.removeNothing()
        }
    }

    /// Checks that no database is in the place that is in use, or was left in the middle of a transaction.
    ///
    /// SQLite would take the log or journal of that one for the new one's, and undo or redo what they say.
    borrowing func checkIsNoOpenDatabase() throws(StreamError) {
        for ending in ["-wal", "-journal"] where access(path + ending, F_OK) == 0 {
            throw StreamError(
                .cannotWrite,
                "cannot replace: the database there is in use or was not closed, since there is \(path)\(ending)")
        }
    }

    /// Puts the complete file into its place.
    consuming func commit() throws(StreamError) {
        switch place {
        case .direct: return
        case .unnamed:
            // A name can be given to a file, but not one that another file has; so it goes by way of a third one.
            let temporary = Self.temporaryPath(path)
            Interruption.remove(temporary)
            defer { Interruption.removeNothing() }
            guard linkat(AT_FDCWD, Self.link(to: descriptor), AT_FDCWD, temporary, AT_SYMLINK_FOLLOW) == 0 else {
                throw Self.error("create")
            }
            guard rename(temporary, path) == 0 else {
                let error = Self.error("replace")
                unlink(temporary)
                throw error
            }
        case .named(let temporary):
            guard rename(temporary, path) == 0 else { throw Self.error("replace") }
        }
        isCommitted = true
    }

    /// Opens a file without a name in the directory of a path; a negative number where that is not possible.
    private static func openUnnamed(besides path: String) -> Int32 {
        #if os(Linux)
        let end = path.lastIndex(of: "/")
        let directory = end.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        // O_TMPFILE, which is too complex a macro for Swift.
        let descriptor = open(directory, O_WRONLY | O_CLOEXEC | O_DIRECTORY | 0o20_000_000, 0o666)
        guard descriptor >= 0, access(link(to: descriptor), F_OK) != 0 else { return descriptor }
        // Without /proc it can get no name.
        close(descriptor)
        #endif
        return -1
    }

    private static func link(to descriptor: Int32) -> String { "/proc/self/fd/\(descriptor)" }

    private static func temporaryPath(_ path: String) -> String { "\(path).\(getpid()).partial" }

    private static func error(_ what: String) -> StreamError {
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

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

/// Tests of `OutputFile`, which is noncopyable and has no fixture.
enum OutputFileTests {}

extension OutputFileTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testAppearsWhenItIsComplete": testAppearsWhenItIsComplete,
            "testLeavesNothingUncommitted": testLeavesNothingUncommitted,
            "testLeavesNothingAfterASignal": testLeavesNothingAfterASignal,
            "testIgnoresWhatWasIgnored": testIgnoresWhatWasIgnored,
            "testKeepsLinksAndPermissions": testKeepsLinksAndPermissions,
            "testKeepsAFileThatIsProtected": testKeepsAFileThatIsProtected,
            "testReportsADirectoryThatIsNotThere": testReportsADirectoryThatIsNotThere,
            "testRefusesToReplaceAnOpenDatabase": testRefusesToReplaceAnOpenDatabase,
        ]
    }

    /// Calls a closure with a new directory, which is removed with what is in it.
    private static func withDirectory(_ body: (String) throws -> Void) throws {
        var template = Array("/tmp/output-file-XXXXXX".utf8CString)
        let directory = String(cString: try requireNotNil(mkdtemp(&template), "a new directory"))
        defer {
            for file in files(directory) { unlink("\(directory)/\(file)") }
            rmdir(directory)
        }
        try body(directory)
    }

    private static func files(_ directory: String) -> [String] {
        guard let stream = opendir(directory) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != "." && name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    private static func testAppearsWhenItIsComplete() throws {
        for isNamed in [false, true] {
            try withDirectory { directory in
                let file = try OutputFile(path: "\(directory)/out", isNamed: isNamed)
                expectEqual(write(file.descriptor, "done", 4), 4, "written bytes")
                expectFalse(files(directory).contains("out"), "the file before it is complete")
                try file.commit()
                expectEqual(files(directory), ["out"], "files, with a temporary name: \(isNamed)")
                var status = stat()
                expectEqual(stat("\(directory)/out", &status), 0, "stat")
                expectEqual(status.st_size, 4, "size")
            }
        }
    }

    private static func testLeavesNothingUncommitted() throws {
        for isNamed in [false, true] {
            try withDirectory { directory in
                do {
                    let file = try OutputFile(path: "\(directory)/out", isNamed: isNamed)
                    expectEqual(write(file.descriptor, "half", 4), 4, "written bytes")
                }
                expectEqual(files(directory), [], "files, with a temporary name: \(isNamed)")
            }
        }
    }

    private static func testLeavesNothingAfterASignal() throws {
        for isNamed in [false, true] {
            for number in [SIGINT, SIGTERM, SIGHUP] {
                try withDirectory { directory in
                    expectExit(.signal(number), "the end by a signal") {
                        guard let file = try? OutputFile(path: "\(directory)/out", isNamed: isNamed) else { return }
                        write(file.descriptor, "half", 4)
                        // The thread of a test takes no signals.
                        var none = sigset_t()
                        sigemptyset(&none)
                        pthread_sigmask(SIG_SETMASK, &none, nil)
                        raise(number)
                        _ = file.descriptor
                    }
                    expectEqual(files(directory), [], "files, with a temporary name: \(isNamed)")
                }
            }
        }
    }

    private static func testIgnoresWhatWasIgnored() throws {
        try withDirectory { directory in
            expectExit(.exit(7), "a process that was started by nohup") {
                _ = signal(SIGHUP, SIG_IGN)
                guard let file = try? OutputFile(path: "\(directory)/out", isNamed: true) else { return }
                raise(SIGHUP)
                try? file.commit()
                raise(SIGHUP)
                exit(7)
            }
            expectEqual(files(directory), ["out"], "files")
        }
    }

    private static func testKeepsAFileThatIsProtected() throws {
        for isNamed in [false, true] {
            try withDirectory { directory in
                close(open("\(directory)/out", O_CREAT | O_WRONLY, 0o444))
                chmod(directory, 0o777)
                expectExit(.exit(7), "a file that may not be written to") {
                    // Root may write to any file.
                    if geteuid() == 0 { setuid(65_534) }
                    do throws(StreamError) {
                        try OutputFile(path: "\(directory)/out", isNamed: isNamed).commit()
                    } catch {
                        exit(error.message == "cannot replace: Permission denied" ? 7 : 8)
                    }
                }
                expectEqual(files(directory), ["out"], "files")
            }
        }
    }

    private static func testKeepsLinksAndPermissions() throws {
        for isNamed in [false, true] {
            try withDirectory { directory in
                close(open("\(directory)/real", O_CREAT | O_WRONLY, 0o640))
                expectEqual(symlink("real", "\(directory)/link"), 0, "symlink")
                try OutputFile(path: "\(directory)/link", isNamed: isNamed).commit()
                var status = stat()
                expectEqual(lstat("\(directory)/link", &status), 0, "lstat")
                expectEqual(status.st_mode & S_IFMT, S_IFLNK, "the type of the link")
                expectEqual(stat("\(directory)/real", &status), 0, "stat")
                expectEqual(status.st_mode & 0o777, 0o640, "permissions")
            }
        }
    }

    private static func testRefusesToReplaceAnOpenDatabase() throws {
        for ending in ["", "-wal", "-journal"] {
            try withDirectory { directory in
                close(open("\(directory)/out\(ending)", O_CREAT | O_WRONLY, 0o640))
                let file = try OutputFile(path: "\(directory)/out", isNamed: true)
                if ending.isEmpty {
                    expectNoThrow("without a log") { try file.checkIsNoOpenDatabase() }
                } else {
                    let error = expectThrows(StreamError.self, ending) { try file.checkIsNoOpenDatabase() }
                    expectTrue(error?.message.hasSuffix("out\(ending)") ?? false, "the file in \(error?.message ?? "")")
                }
            }
        }
    }

    private static func testReportsADirectoryThatIsNotThere() {
        for isNamed in [false, true] {
            let error = expectThrows(StreamError.self, "no directory") {
                try OutputFile(path: "/nonexistent/out", isNamed: isNamed).commit()
            }
            expectEqual(error?.kind, .cannotWrite, "kind")
        }
    }
}
#endif
