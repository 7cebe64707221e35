// Output to a new file, which replaces the old file when it is complete.

// SAFETY: all unsafe code here is system calls, with paths and buffers that outlive the calls. Their results are copied
// immediately.

import StreamingSystem

/// A file that appears under its name only when it is complete.
///
/// The bytes are written to a new file in the same directory. On Linux the new file has no name, if the file system supports
/// this. A killed process then leaves no file, unless it is killed between the two calls that name the file and rename it. On
/// other systems, and for databases, the new file has a temporary name. It is removed after an error. A program can get the
/// temporary name, to remove the file if a signal ends the process.
///
/// `commit` synchronizes the new file with the disk, and replaces the old file. If the old file has several names, or an owner
/// that a new file cannot have, `commit` overwrites its bytes instead, unless an option requires its replacement. Descriptors
/// and special files, such as `/dev/null`, are written directly.
package struct OutputFile: ~Copyable {
    /// The location of the bytes before the file is complete.
    private enum Storage {
        /// In the output itself.
        case direct
        /// In a file without a name.
        case unnamed
        /// In a file with another name.
        case named(String)
    }

    package let descriptor: Int32
    private let path: String
    private let storage: Storage
    private let options: Options

    /// The options for creating a file.
    package struct Options {
        /// A Boolean value that indicates whether the file has a temporary name even if the system doesn't need one.
        package var isNamed = false
        /// A Boolean value that indicates whether the new file also replaces a file that has other names, or an owner that a
        /// new file cannot have.
        package var replacesAnyFile = false
        /// The state of a file whose owner and permissions the new file gets if no old file exists.
        package var model: OutputPlace.FileState?
        /// A Boolean value that indicates whether to wait for the disk; tests do not.
        package var isDurable = true
        /// A closure that receives the temporary name when its file exists, and nil when the file no longer exists.
        package var noteTemporaryName: (String?) -> Void = { _ in }

        package init() {}
    }

    /// A Boolean value that indicates whether the existing file must be overwritten instead of replaced.
    private var staysItself: Bool = false
    private var isCommitted: Bool = false
    /// The path of the file that is written, for libraries that open files themselves.
    package var writtenPath: String { if case .named(let temporary) = storage { temporary } else { path } }

    /// Opens an output; `-` is standard output.
    package init(path: String, options: Options = Options()) throws(StreamError) {
        try self.init(OutputPlace(path), options: options)
    }

    package init(_ place: OutputPlace, options: Options = Options()) throws(StreamError) {
        switch place {
        case .descriptor(let number): self.init(descriptor: number, path: "-", .direct, options)
        case .special(let path):
            let descriptor = unsafe open(path, O_WRONLY | O_APPEND | O_CLOEXEC)
            guard descriptor >= 0 else { throw OutputPlace.error("open", errno) }
            self.init(descriptor: descriptor, path: path, .direct, options)
        case .missing(let path):
            try self.init(besides: path, options)
            if let model = options.model { _ = Self.give(descriptor, model) }
        case .file(let path, let state):
            // The permissions of a directory allow replacing a write-protected file, but protected files must stay.
            guard unsafe faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0 else {
                throw OutputPlace.error("replace", errno)
            }
            try self.init(besides: path, options)
            let isLike = Self.give(descriptor, state)
            staysItself = !options.replacesAnyFile && (!isLike || state.linkCount > 1)
        }
    }

    private init(besides path: String, _ options: Options) throws(StreamError) {
        let unnamed = options.isNamed ? -1 : Self.openUnnamed(besides: path)
        if unnamed >= 0 {
            self.init(descriptor: unnamed, path: path, .unnamed, options)
            return
        }
        let temporary = Self.temporaryPath(besides: path)
        let descriptor = unsafe open(temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
        guard descriptor >= 0 else { throw OutputPlace.error("create", errno) }
        options.noteTemporaryName(temporary)
        self.init(descriptor: descriptor, path: path, .named(temporary), options)
    }

    private init(descriptor: Int32, path: String, _ storage: Storage, _ options: Options) {
        self.descriptor = descriptor
        self.path = path
        self.storage = storage
        self.options = options
    }

    deinit {
        if path != "-" { close(descriptor) }
        if case .named(let temporary) = storage {
            if !isCommitted { unsafe unlink(temporary) }
            options.noteTemporaryName(nil)
        }
    }

    /// Checks that the file is not a database that is in use, or was left within a transaction.
    ///
    /// SQLite would apply the log or journal of the old database to the new one.
    package borrowing func checkIsNoOpenDatabase() throws(StreamError) {
        for ending in ["-wal", "-journal"] where unsafe access(path + ending, F_OK) == 0 {
            throw StreamError(
                .cannotWrite,
                "cannot replace: the database is in use or was not closed; found \(path)\(ending)")
        }
    }

    /// Replaces the old file with the complete new one. The new file survives a power failure.
    package consuming func commit() throws(StreamError) {
        if case .direct = storage { return }
        guard !options.isDurable || Self.synchronize(descriptor) else { throw OutputPlace.error("write", errno) }
        // `linkat` can't replace an existing name, so the file first gets a temporary name.
        let temporary = try temporaryName()
        if staysItself {
            isCommitted = true
            return try copyIntoPlace(keeping: temporary)
        }
        let error = unsafe rename(temporary, path) == 0 ? nil : OutputPlace.error("replace", errno)
        if error != nil { unsafe unlink(temporary) }
        options.noteTemporaryName(nil)
        isCommitted = true
        if let error { throw error }
        if options.isDurable { try synchronizeDirectory() }
    }

    /// Returns the name of the file, and gives an unnamed file a temporary name.
    private borrowing func temporaryName() throws(StreamError) -> String {
        if case .named(let name) = storage { return name }
        let temporary = Self.temporaryPath(besides: path)
        options.noteTemporaryName(temporary)
        guard unsafe linkat(AT_FDCWD, Self.link(to: descriptor), AT_FDCWD, temporary, AT_SYMLINK_FOLLOW) == 0 else {
            let error = OutputPlace.error("create", errno)
            options.noteTemporaryName(nil)
            throw error
        }
        return temporary
    }

    /// Synchronizes the written bytes with the disk.
    private static func synchronize(_ descriptor: Int32) -> Bool {
        #if canImport(Darwin)
        // On Darwin, fsync leaves the bytes in the disk's cache. Some file systems support only fsync.
        if fcntl(descriptor, F_FULLFSYNC) == 0 { return true }
        #endif
        return fsync(descriptor) == 0
    }

    /// Synchronizes the directory with the disk. Errors of file systems that don't support this are ignored.
    private borrowing func synchronizeDirectory() throws(StreamError) {
        let directory = unsafe open(OutputPlace.split(path).directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard directory >= 0 else { return }
        defer { close(directory) }
        guard Self.synchronize(directory) || errno == EINVAL || errno == ENOTSUP else {
            throw OutputPlace.error("write", errno)
        }
    }

    /// Overwrites the existing file, if the disk has space for all bytes.
    ///
    /// Signals that can be blocked are blocked meanwhile. If the process is killed, the temporary file contains all bytes.
    private borrowing func copyIntoPlace(keeping temporary: String) throws(StreamError) {
        var (all, before) = (sigset_t(), sigset_t())
        unsafe sigfillset(&all)
        unsafe pthread_sigmask(SIG_BLOCK, &all, &before)
        defer { unsafe pthread_sigmask(SIG_SETMASK, &before, nil) }
        let target = unsafe open(path, O_WRONLY | O_CLOEXEC)
        defer { close(target) }
        do throws(StreamError) {
            guard target >= 0 else { throw OutputPlace.error("replace", errno) }
            try reserveSpace(target)
        } catch {
            unsafe unlink(temporary)
            options.noteTemporaryName(nil)
            throw error
        }
        // From now on the temporary file is the only complete one.
        options.noteTemporaryName(nil)
        do throws(StreamError) {
            try copy(to: target)
        } catch {
            throw StreamError(
                .cannotWrite, "\(error.message); the file is incomplete, the complete new file is \(temporary)")
        }
        unsafe unlink(temporary)
    }

    /// Reserves disk space for all bytes.
    private borrowing func reserveSpace(_ target: Int32) throws(StreamError) {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw OutputPlace.error("replace", errno) }
        #if os(Linux)
        let code = status.st_size > 0 ? posix_fallocate(target, 0, status.st_size) : 0
        guard code == 0 else { throw OutputPlace.error("replace", code) }
        #endif
    }

    private borrowing func copy(to target: Int32) throws(StreamError) {
        var buffer = [UInt8](repeating: 0, count: 256 << 10)
        var offset: off_t = 0
        while true {
            let count = unsafe pread(descriptor, &buffer, buffer.count, offset)
            guard count > 0 else {
                if count == 0 { break }
                throw OutputPlace.error("replace", errno)
            }
            var written = 0
            while written < count {
                let result = unsafe buffer.withUnsafeBytes {
                    unsafe pwrite(
                        target, $0.baseAddress?.advanced(by: written), count - written, offset + off_t(written))
                }
                guard result > 0 else { throw OutputPlace.error("replace", errno) }
                written += result
            }
            offset += off_t(count)
        }
        guard ftruncate(target, offset) == 0, Self.synchronize(target) else {
            throw OutputPlace.error("replace", errno)
        }
    }

    /// Gives a new file the owner and the mode of the old file, and returns whether this succeeded.
    private static func give(_ descriptor: Int32, _ state: OutputPlace.FileState) -> Bool {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { return false }
        if status.st_uid != state.owner || status.st_gid != state.group {
            guard fchown(descriptor, state.owner, state.group) == 0 else { return false }
        }
        return fchmod(descriptor, state.mode) == 0
    }

    /// Opens a file without a name in the directory of a path. Returns a negative number if this is not possible.
    private static func openUnnamed(besides path: String) -> Int32 {
        #if os(Linux)
        // O_TMPFILE, a macro that is too complex for Swift.
        let flags = O_RDWR | O_CLOEXEC | O_DIRECTORY | 0o20_000_000
        let descriptor = unsafe open(OutputPlace.split(path).directory, flags, 0o666)
        guard descriptor >= 0, unsafe access(link(to: descriptor), F_OK) != 0 else { return descriptor }
        // Without /proc the file could not be named later.
        close(descriptor)
        #endif
        return -1
    }

    private static func link(to descriptor: Int32) -> String { "/proc/self/fd/\(descriptor)" }

    /// Returns an unused name. Files of killed processes don't conflict with it, and it doesn't have the extension of a format.
    private static func temporaryPath(besides path: String) -> String {
        let number = String(UInt64.random(in: 0...UInt64.max), radix: 36)
        return "\(OutputPlace.split(path).directory)/.output-\(getpid())-\(number).partial"
    }

    /// Returns the files that killed processes have left in the same directory, if this file has a temporary name itself.
    ///
    /// They are not removed, because their processes may be running on another machine that shares the directory.
    package borrowing func abandonedFiles() -> [String] {
        guard case .named = storage else { return [] }
        let directory = OutputPlace.split(path).directory
        return Self.names(in: directory).filter { name in
            let parts = name.split(separator: "-", omittingEmptySubsequences: false)
            guard parts.count == 3, parts[0] == ".output", parts[2].hasSuffix(".partial"),
                let process = pid_t(parts[1]),
                process > 0
            else { return false }
            return kill(process, 0) != 0 && errno == ESRCH
        }.sorted().map { "\(directory)/\($0)" }
    }

    package static func names(in directory: String) -> [String] {
        guard let stream = unsafe opendir(directory) else { return [] }
        defer { unsafe closedir(stream) }
        var names: [String] = []
        while let entry = unsafe readdir(stream) {
            unsafe names.append(
                withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                    unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
                })
        }
        return names
    }
}
