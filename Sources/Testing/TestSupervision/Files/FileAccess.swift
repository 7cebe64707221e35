// Calls the file functions of the C library. This module must start quickly, so it doesn't use Foundation.

internal import InClassSystem

/// A call to the operating system that failed.
package struct SystemError: Error, Equatable, CustomStringConvertible {
    /// The operation that failed, such as `open /a/b`.
    package var operation: String
    /// The error number.
    package var code: Int32

    package init(_ operation: String, code: Int32 = errno) {
        self.operation = operation
        self.code = code
    }

    package var description: String { "cannot \(operation): \(String(cString: strerror(code)))" }
}

package enum FileAccess {
    /// Reads a whole file, or a part of it.
    package static func contents(of path: String, from start: Int = 0, to end: Int = .max) throws(SystemError)
        -> [UInt8]
    {
        // With `O_NONBLOCK`, `open` doesn't wait for the writer of a pipe. The pipe is refused below.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw SystemError("open \(path)") }
        defer { close(descriptor) }
        return try contents(of: descriptor, from: start, to: end, name: path)
    }

    /// Returns a hash of a file's contents, or nil if the file can't be read.
    package static func contentHash(of path: String) -> UInt64? {
        guard let bytes = try? contents(of: path) else { return nil }
        return bytes.withUnsafeBytes { inclass_hash($0.baseAddress, $0.count) }
    }

    /// Reads a part of an open file without moving its offset.
    package static func contents(
        of descriptor: Int32, from start: Int, to end: Int, name: String
    ) throws(SystemError) -> [UInt8] {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw SystemError("read \(name)") }
        guard status.st_mode & S_IFMT == S_IFREG else { throw SystemError("read \(name)", code: EISDIR) }
        let count = max(0, min(end, Int(status.st_size)) - start)
        var failure: Int32 = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            while initialized < count {
                let got = pread(
                    descriptor, buffer.baseAddress.map { $0 + initialized }, count - initialized,
                    off_t(start + initialized))
                if got < 0, errno == EINTR { continue }
                if got < 0 { failure = errno }
                if got <= 0 { return }
                initialized += got
            }
        }
        guard failure == 0 else { throw SystemError("read \(name)", code: failure) }
        return bytes
    }

    /// Reads the rest of a pipe, or of a system file without a length. Returns nil if reading fails.
    static func rest(of descriptor: Int32) -> [UInt8]? {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 1 << 14)
        while true {
            let count = read(descriptor, &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return count == 0 ? bytes : nil }
            bytes += chunk[..<count]
        }
    }

    /// Returns the text of a system file, such as in `/proc`, or nil if it can't be read.
    static func systemText(at path: String) -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        return rest(of: descriptor).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Writes a file atomically: a reader sees the old contents or the new contents, never a part.
    package static func write(_ bytes: [UInt8], to path: String) throws(SystemError) {
        let (temporary, descriptor) = try createTemporary(beside: path, mode: 0o644)
        // After the renaming, no file has the temporary name.
        defer { unlink(temporary) }
        defer { close(descriptor) }
        try write(bytes, to: descriptor, name: temporary)
        guard rename(temporary, path) == 0 else { throw SystemError("rename \(temporary) to \(path)") }
    }

    /// Creates a folder and its missing parent folders.
    package static func makeFolder(_ path: String) throws(SystemError) {
        if isDirectory(path) { return }
        let outer = directory(of: path)
        if outer != path, outer != "." { try makeFolder(outer) }
        guard mkdir(path, 0o777) == 0 || errno == EEXIST else { throw SystemError("make the folder \(path)") }
    }

    /// Creates a file next to another file, with a random name that can't be guessed.
    static func createTemporary(beside path: String, mode: mode_t) throws(SystemError)
        -> (path: String, descriptor: Int32)
    {
        while true {
            let temporary = "\(path).\(String(UInt64.random(in: .min ... .max), radix: 36))"
            let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
            if descriptor >= 0 { return (temporary, descriptor) }
            guard errno == EEXIST else { throw SystemError("create \(temporary)") }
        }
    }

    /// Writes all bytes to an open file.
    static func write(_ bytes: [UInt8], to descriptor: Int32, name: String) throws(SystemError) {
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes {
                inclass_write(descriptor, $0.baseAddress.map { $0 + sent }, $0.count - sent)
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw SystemError("write \(name)") }
            sent += count
        }
    }

    /// Returns the time of a file's last write in nanoseconds, or nil if the file doesn't exist.
    package static func modificationTime(of path: String) -> Int? {
        status(of: path).map { Int(inclass_modification_time($0)) }
    }

    /// Returns the later of a file's last write and its last status change, such as a move. A program that sets the
    /// file's modification time can't hide the change.
    static func changeTime(of path: String) -> Int? {
        status(of: path).map { Int(max(inclass_modification_time($0), inclass_change_time($0))) }
    }

    /// Returns the length of a file in bytes, or nil if the file doesn't exist.
    package static func size(of path: String) -> Int? { status(of: path).map { Int($0.st_size) } }

    package static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

    package static func isLink(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK
    }

    package static func isExecutable(_ path: String) -> Bool {
        access(path, X_OK) == 0 && status(of: path).map { $0.st_mode & S_IFMT } == S_IFREG
    }

    package static func isDirectory(_ path: String) -> Bool {
        status(of: path).map { $0.st_mode & S_IFMT } == S_IFDIR
    }

    /// Returns the status of a file, or nil if the file doesn't exist.
    private static func status(of path: String) -> stat? {
        var status = stat()
        return stat(path, &status) == 0 ? status : nil
    }

    /// Returns the sorted names in a directory, or an empty array if it can't be read.
    package static func names(in directory: String) -> [String] {
        guard let stream = opendir(directory) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let name = inclass_next_name(stream) { names.append(String(cString: name)) }
        return names.sorted()
    }

    /// Returns the path without `.`, `..` and symbolic links, or nil if the file doesn't exist.
    package static func realPath(_ path: String) -> String? {
        guard let resolved = realpath(path, nil) else { return nil }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    package static var currentDirectory: String { realPath(".") ?? "/" }

    /// Returns the last component of a path.
    package static func name(of path: String) -> String {
        path.lastIndex(of: "/").map { String(path[path.index(after: $0)...]) } ?? path
    }

    /// Returns the path without its last component.
    package static func directory(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// Finds a program in the folders of `PATH`.
    package static func program(named name: String) -> String? {
        guard !name.contains("/") else { return isExecutable(name) ? name : nil }
        let folders = Environment.value(of: "PATH") ?? ""
        for folder in folders.split(separator: ":") where isExecutable("\(folder)/\(name)") {
            return "\(folder)/\(name)"
        }
        return nil
    }

    /// Finds a program of a toolchain: next to its compiler, if the compiler has a path, or else in the folders of
    /// `PATH`.
    static func program(named name: String, beside compiler: String) -> String? {
        let beside = "\(directory(of: compiler))/\(name)"
        return compiler.contains("/") && isExecutable(beside) ? beside : program(named: name)
    }

    /// Removes a file, or a directory with its contents. Symbolic links are removed, not followed.
    static func removeTree(_ path: String) {
        guard isDirectory(path), !isLink(path) else {
            unlink(path)
            return
        }
        // A test may have removed its own permissions.
        chmod(path, 0o700)
        for name in names(in: path) { removeTree("\(path)/\(name)") }
        rmdir(path)
    }
}

/// The environment variables of this process.
package enum Environment {
    /// Returns the value of a variable, or nil if the variable doesn't exist.
    package static func value(of name: String) -> String? { getenv(name).map { String(cString: $0) } }

    /// The folder for temporary files: the value of `TMPDIR`, or `/tmp` if that is empty.
    static var temporaryFolder: String {
        let folder = value(of: "TMPDIR") ?? ""
        return folder.isEmpty ? "/tmp" : folder
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension FileAccess: SelfTesting {
    package static var testSelectors: TestSelectors {
        [
            "testReplacesFilesCompletely": testReplacesFilesCompletely,
            "testReadsWholeFilesAndParts": testReadsWholeFilesAndParts,
            "testErrorsNameTheFailedOperation": testErrorsNameTheFailedOperation,
            "testSplitsPaths": testSplitsPaths,
            "testRecognizesPrograms": testRecognizesPrograms,
        ]
    }

    private static func testReplacesFilesCompletely() throws {
        let folder = try temporaryDirectory()
        let path = "\(folder)/file"
        try write(Array("old".utf8), to: path)
        try write(Array("new contents".utf8), to: path)
        expectEqual(String(decoding: try contents(of: path), as: UTF8.self), "new contents")
        expectEqual(try contents(of: path, from: 4, to: 7), Array("con".utf8))
        expectEqual(try contents(of: path, from: 100), [])
        expectEqual(size(of: path), 12)
        expectEqual(names(in: folder), ["file"], "no temporary file is left")
    }

    private static func testReadsWholeFilesAndParts() throws {
        let path = "\(try temporaryDirectory())/file"
        for count in [0, 1, 2, 3, 100_000] {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 + 1) }
            try write(bytes, to: path)
            expectEqual(try contents(of: path), bytes, "\(count) bytes")
            for start in [0, 1, count / 2, count] where start <= count {
                expectEqual(try contents(of: path, from: start), Array(bytes[start...]), "\(count) bytes from \(start)")
                let end = min(start + 1, count)
                expectEqual(
                    try contents(of: path, from: start, to: start + 1), Array(bytes[start..<end]), "one of \(count)")
            }
            expectEqual(try contents(of: path, from: 2, to: 1), [], "none of \(count)")
        }
    }

    private static func testErrorsNameTheFailedOperation() throws {
        let error = expectThrows(SystemError.self) { _ = try contents(of: "/nowhere/x") }
        expectEqual(error?.description, "cannot open /nowhere/x: No such file or directory")
        expectThrows(SystemError.self) { try write([], to: "/nowhere/x") }
        expectThrows(SystemError.self, "a folder") { _ = try contents(of: "/") }
        let pipe = "\(try temporaryDirectory())/pipe"
        expectEqual(mkfifo(pipe, 0o600), 0)
        expectThrows(SystemError.self, "a pipe that nobody writes") { _ = try contents(of: pipe) }
    }

    private static func testSplitsPaths() {
        let rows = [("/a/b.c", "b.c", "/a"), ("/a", "a", "/"), ("a", "a", "."), ("a/b", "b", "a")]
        for (path, name, folder) in rows {
            expectEqual(self.name(of: path), name)
            expectEqual(directory(of: path), folder)
        }
    }

    private static func testRecognizesPrograms() throws {
        let folder = try temporaryDirectory()
        let path = "\(folder)/program"
        expectFalse(isExecutable(path), "no file")
        try write(Array("#!/bin/sh\n".utf8), to: path)
        expectEqual(chmod(path, 0o644), 0)
        expectFalse(isExecutable(path), "a file")
        expectNil(program(named: path), "the path of a file")
        expectEqual(chmod(path, 0o755), 0)
        expectTrue(isExecutable(path), "a program")
        expectEqual(program(named: path), path)
        for compiler in ["\(folder)/clang", "\(folder)/no"] {
            expectEqual(program(named: "program", beside: compiler), path, compiler)
        }
        expectNil(program(named: "program", beside: "/bin/clang"), "elsewhere")
        // The contents of the current directory don't matter.
        let before = currentDirectory
        expectEqual(chdir(folder), 0)
        for compiler in ["", "clang"] { expectNil(program(named: "program", beside: compiler), compiler) }
        expectEqual(chdir(before), 0)
        expectEqual(symlink(path, "\(folder)/link"), 0)
        expectTrue(isExecutable("\(folder)/link"), "a link to a program")
        expectFalse(isExecutable("\(folder)"), "a folder, which may be searched")
        expectFalse(isExecutable("\(path)/nothing"), "below a file")
    }
}

extension Environment: SelfTesting {
    package static var testSelectors: TestSelectors {
        ["testEmptyTMPDIRMeansTheDefault": testEmptyTMPDIRMeansTheDefault]
    }

    private static func testEmptyTMPDIRMeansTheDefault() {
        let before = value(of: "TMPDIR")
        defer { if let before { setenv("TMPDIR", before, 1) } else { unsetenv("TMPDIR") } }
        for (given, folder) in [("/x y", "/x y"), ("", "/tmp")] {
            setenv("TMPDIR", given, 1)
            expectEqual(value(of: "TMPDIR"), given)
            expectEqual(temporaryFolder, folder)
        }
        unsetenv("TMPDIR")
        expectNil(value(of: "TMPDIR"))
        expectEqual(temporaryFolder, "/tmp", "without the variable")
    }
}
#endif
