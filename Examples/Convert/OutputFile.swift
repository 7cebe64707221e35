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
/// when a signal that can be caught ends the process. `commit` has the disk keep it and puts it into its place; a file that
/// has several names, or an owner that no new file can have, gets the bytes instead. Descriptors and what is no regular file,
/// such as `/dev/null`, are written directly.
struct OutputFile: ~Copyable {
    /// Where the bytes are before the file is complete.
    private enum Storage {
        /// In the output itself.
        case direct
        /// In a file without a name.
        case unnamed
        /// In a file of another name.
        case named(String)
    }

    let descriptor: Int32
    private let path: String
    private let storage: Storage
    /// Whether a file that is there must stay and get the bytes.
    private var staysItself: Bool = false
    private var isCommitted: Bool = false
    /// The path of the file that is written, for libraries that open files themselves.
    var writtenPath: String { if case .named(let temporary) = storage { temporary } else { path } }

    /// Opens an output; `-` is standard output.
    /// - Parameter isNamed: Whether the file has a temporary name also where none is needed.
    init(path: String, isNamed: Bool = false) throws(StreamError) {
        try self.init(OutputPlace(path), isNamed: isNamed)
    }

    init(_ place: OutputPlace, isNamed: Bool = false) throws(StreamError) {
        switch place {
        case .descriptor(let number): self.init(descriptor: number, path: "-", storage: .direct)
        case .special(let path):
            let descriptor = open(path, O_WRONLY | O_APPEND | O_CLOEXEC)
            guard descriptor >= 0 else { throw OutputPlace.error("open", errno) }
            self.init(descriptor: descriptor, path: path, storage: .direct)
        case .missing(let path): try self.init(besides: path, isNamed)
        case .file(let path, let state):
            // A directory lets one replace a file that is protected from writing; what is protected stays.
            guard faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0 else { throw OutputPlace.error("replace", errno) }
            try self.init(besides: path, isNamed)
            staysItself = !Self.give(descriptor, state) || state.linkCount > 1
        }
    }

    private init(besides path: String, _ isNamed: Bool) throws(StreamError) {
        let unnamed = isNamed ? -1 : Self.openUnnamed(besides: path)
        if unnamed >= 0 {
            self.init(descriptor: unnamed, path: path, storage: .unnamed)
            return
        }
        let temporary = Self.temporaryPath(besides: path)
        let descriptor = open(temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
        guard descriptor >= 0 else { throw OutputPlace.error("create", errno) }
        Interruption.remove(temporary)
        self.init(descriptor: descriptor, path: path, storage: .named(temporary))
    }

    private init(descriptor: Int32, path: String, storage: Storage) {
        self.descriptor = descriptor
        self.path = path
        self.storage = storage
    }

    deinit {
        if path != "-" { close(descriptor) }
        if case .named(let temporary) = storage {
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

    /// Puts the complete file into its place, where it is also after a loss of power.
    consuming func commit() throws(StreamError) {
        if case .direct = storage { return }
        guard fsync(descriptor) == 0 else { throw OutputPlace.error("write", errno) }
        if staysItself { return try copyIntoPlace() }
        var temporary = ""
        switch storage {
        case .direct: break
        case .named(let name): temporary = name
        case .unnamed:
            // A name can be given to a file, but not one that another file has; so it goes by way of a third one.
            temporary = Self.temporaryPath(besides: path)
            Interruption.remove(temporary)
            guard linkat(AT_FDCWD, Self.link(to: descriptor), AT_FDCWD, temporary, AT_SYMLINK_FOLLOW) == 0 else {
                let error = OutputPlace.error("create", errno)
                Interruption.removeNothing()
                throw error
            }
        }
        let error = rename(temporary, path) == 0 ? nil : OutputPlace.error("replace", errno)
        if error != nil { unlink(temporary) }
        Interruption.removeNothing()
        isCommitted = true
        if let error { throw error }
        try synchronizeDirectory()
    }

    /// Has the disk keep the name. Some file systems cannot, and keep it without.
    private borrowing func synchronizeDirectory() throws(StreamError) {
        let directory = open(OutputPlace.split(path).directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard directory >= 0 else { return }
        defer { close(directory) }
        guard fsync(directory) == 0 || errno == EINVAL || errno == ENOTSUP else {
            throw OutputPlace.error("write", errno)
        }
    }

    /// Writes the bytes into the file that is there, when there is room for all of them.
    private borrowing func copyIntoPlace() throws(StreamError) {
        var status = stat()
        let target = open(path, O_WRONLY | O_CLOEXEC)
        guard target >= 0, fstat(descriptor, &status) == 0 else { throw OutputPlace.error("replace", errno) }
        defer { close(target) }
        #if os(Linux)
        let code = status.st_size > 0 ? posix_fallocate(target, 0, status.st_size) : 0
        guard code == 0 else { throw OutputPlace.error("replace", code) }
        #endif
        var buffer = [UInt8](repeating: 0, count: 256 << 10)
        var offset: off_t = 0
        while true {
            let count = pread(descriptor, &buffer, buffer.count, offset)
            guard count > 0 else {
                if count == 0 { break }
                throw OutputPlace.error("replace", errno)
            }
            var written = 0
            while written < count {
                let result = buffer.withUnsafeBytes {
                    pwrite(target, $0.baseAddress?.advanced(by: written), count - written, offset + off_t(written))
                }
                guard result > 0 else { throw OutputPlace.error("replace", errno) }
                written += result
            }
            offset += off_t(count)
        }
        guard ftruncate(target, offset) == 0, fsync(target) == 0 else { throw OutputPlace.error("replace", errno) }
    }

    /// Gives a new file the owner and the mode of the one that it takes the place of; returns whether it has them.
    private static func give(_ descriptor: Int32, _ state: OutputPlace.FileState) -> Bool {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return false }
        if status.st_uid != state.owner || status.st_gid != state.group {
            guard fchown(descriptor, state.owner, state.group) == 0 else { return false }
        }
        return fchmod(descriptor, state.mode) == 0
    }

    /// Opens a file without a name in the directory of a path; a negative number where that is not possible.
    private static func openUnnamed(besides path: String) -> Int32 {
        #if os(Linux)
        // O_TMPFILE, which is too complex a macro for Swift.
        let flags = O_RDWR | O_CLOEXEC | O_DIRECTORY | 0o20_000_000
        let descriptor = open(OutputPlace.split(path).directory, flags, 0o666)
        guard descriptor >= 0, access(link(to: descriptor), F_OK) != 0 else { return descriptor }
        // Without /proc it can get no name.
        close(descriptor)
        #endif
        return -1
    }

    private static func link(to descriptor: Int32) -> String { "/proc/self/fd/\(descriptor)" }

    /// A name that nobody has: what a killed process leaves is in no later one's way, and has no format's ending.
    private static func temporaryPath(besides path: String) -> String {
        let number = String(UInt64.random(in: 0...UInt64.max), radix: 36)
        return "\(OutputPlace.split(path).directory)/.convert-\(number).partial"
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
            "testMakesTheFileThatALinkLeadsTo": testMakesTheFileThatALinkLeadsTo,
            "testKeepsTheOwner": testKeepsTheOwner,
            "testIsInNobodysWay": testIsInNobodysWay,
            "testWritesToDescriptors": testWritesToDescriptors,
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

    private static func put(_ text: String, to path: String, isNamed: Bool) throws {
        let file = try OutputFile(path: path, isNamed: isNamed)
        expectEqual(write(file.descriptor, text, text.utf8.count), text.utf8.count, "written bytes")
        try file.commit()
    }

    private static func text(_ path: String) throws -> String {
        var text = ""
        try InputFile(path: path).readChunks { bytes in text += String(validating: bytes) ?? "?" }
        return text
    }

    private static func testMakesTheFileThatALinkLeadsTo() throws {
        for isNamed in [false, true] {
            try withDirectory { directory in
                expectEqual(symlink("new", "\(directory)/link"), 0, "symlink")
                try put("one", to: "\(directory)/link", isNamed: isNamed)
                expectEqual(files(directory), ["link", "new"], "files")
                var status = stat()
                expectEqual(lstat("\(directory)/link", &status), 0, "lstat")
                expectEqual(status.st_mode & S_IFMT, S_IFLNK, "the type of the link")
                // A file with two names keeps both, whichever is written to.
                expectEqual(link("\(directory)/new", "\(directory)/other"), 0, "link")
                for text in ["longer than before", "x"] {
                    try put(text, to: "\(directory)/other", isNamed: isNamed)
                    for name in ["new", "other"] { expectEqual(try self.text("\(directory)/\(name)"), text, name) }
                }
                expectEqual(files(directory), ["link", "new", "other"], "files")
            }
        }
    }

    private static func testKeepsTheOwner() throws {
        guard geteuid() == 0 else { try skip("only root gives files away") }
        for isNamed in [false, true] {
            try withDirectory { directory in
                close(open("\(directory)/out", O_CREAT | O_WRONLY, 0o640))
                expectEqual(chown("\(directory)/out", 1, 2), 0, "chown")
                chmod("\(directory)/out", 0o4750)
                try put("x", to: "\(directory)/out", isNamed: isNamed)
                let state = try OutputPlace("\(directory)/out").state
                expectEqual([state?.owner, state?.group], [1, 2], "owner and group")
                expectEqual(state?.mode, 0o4750, "mode")
                // Who cannot give it to its owner writes into it.
                chmod(directory, 0o777)
                chmod("\(directory)/out", 0o666)
                expectExit(.exit(7), "another user") {
                    setuid(65_534)
                    try? put("of another", to: "\(directory)/out", isNamed: isNamed)
                    exit(7)
                }
                expectEqual(try OutputPlace("\(directory)/out").state?.owner, 1, "owner after another user")
                expectEqual(try text("\(directory)/out"), "of another", "text")
                expectEqual(files(directory), ["out"], "files")
            }
        }
    }

    private static func testIsInNobodysWay() throws {
        try withDirectory { directory in
            let name = String(repeating: "é", count: 127)
            for _ in 0..<2 {
                expectExit(.signal(SIGKILL), "a process that is killed") {
                    guard let file = try? OutputFile(path: "\(directory)/\(name)", isNamed: true) else { return }
                    kill(getpid(), SIGKILL)
                    _ = file.descriptor
                }
            }
            let left = files(directory)
            expectEqual(left.count, 2, "what is left: \(left)")
            expectTrue(left.allSatisfy { $0.hasPrefix(".convert-") && Format(path: $0) == nil }, "their names: \(left)")
            for isNamed in [false, true] { try put("x", to: "\(directory)/\(name)", isNamed: isNamed) }
            expectEqual(files(directory).count, 3, "files")
        }
    }

    private static func testWritesToDescriptors() throws {
        try withDirectory { directory in
            let descriptor = open("\(directory)/log", O_CREAT | O_WRONLY, 0o600)
            defer { close(descriptor) }
            expectEqual(write(descriptor, "before ", 7), 7, "before")
            for isNamed in [false, true] { try put("x", to: "/dev/fd/\(descriptor)", isNamed: isNamed) }
            expectEqual(write(descriptor, " after", 6), 6, "after")
            expectEqual(try text("\(directory)/log"), "before xx after", "text")
            expectEqual(files(directory), ["log"], "files")
        }
    }
}
#endif
