// Replaces the contents of a user's file, such as a source. The file keeps its links, owner, mode and attributes, even
// if the path leads through links.

internal import InClassSystem

package enum FileReplacement {
    /// Replaces the contents of a file. The new contents are first written to a copy, so a full disk changes nothing. If
    /// the file then can't be overwritten, the copy stays.
    ///
    /// - Throws: `SystemError` if the file is read-only or can't be written.
    package static func write(_ bytes: [UInt8], to path: String) throws(SystemError) {
        guard let target = FileAccess.realPath(path) else { throw SystemError("find \(path)") }
        var status = stat()
        guard stat(target, &status) == 0 else { throw SystemError("read \(path)") }
        // The superuser could write a read-only file, but its owner has protected it.
        guard status.st_mode & 0o222 != 0 else { throw SystemError("write \(path), which is read-only", code: EACCES) }
        let descriptor = open(target, O_WRONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw SystemError("write \(path)") }
        defer { close(descriptor) }
        let isFolderWritable = access(FileAccess.directory(of: target), W_OK) == 0
        let copy = isFolderWritable ? try FileAccess.createTemporary(beside: target, mode: 0o600) : nil
        if let copy {
            defer { close(copy.descriptor) }
            do throws(SystemError) { try FileAccess.write(bytes, to: copy.descriptor, name: copy.path) } catch {
                unlink(copy.path)
                throw error
            }
            fsync(copy.descriptor)
        }
        let name = copy.map { "\(target), whose new contents are in \($0.path)" } ?? target
        try FileAccess.write(bytes, to: descriptor, name: name)
        guard ftruncate(descriptor, off_t(bytes.count)) == 0, fsync(descriptor) == 0 else {
            throw SystemError("write \(name)")
        }
        // The system may have removed the right to run with the owner's identity.
        fchmod(descriptor, status.st_mode & 0o7777)
        if let copy { unlink(copy.path) }
    }

    /// Writes an output file that the user asked for. A link stays, and its target is written. A device or a pipe is
    /// written directly. If the path is this process's own output, the bytes are appended to it.
    package static func writeOutput(_ bytes: [UInt8], to path: String) throws(SystemError) {
        var status = stat()
        let isThere = stat(path, &status) == 0
        if isThere {
            for descriptor in [STDOUT_FILENO, STDERR_FILENO] {
                var own = stat()
                guard fstat(descriptor, &own) == 0, own.st_dev == status.st_dev, own.st_ino == status.st_ino else {
                    continue
                }
                fflush(nil)
                return try FileAccess.write(bytes, to: descriptor, name: path)
            }
            if status.st_mode & S_IFMT == S_IFREG { return try write(bytes, to: path) }
        } else if lstat(path, &status) != 0 {
            return try FileAccess.write(bytes, to: path)
        }
        let descriptor = open(path, isThere ? O_WRONLY | O_CLOEXEC : O_WRONLY | O_CREAT | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw SystemError("write \(path)") }
        defer { close(descriptor) }
        try FileAccess.write(bytes, to: descriptor, name: path)
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension FileReplacement: SelfTesting {
    package static var testSelectors: TestSelectors {
        [
            "testWritesOutputThroughLinks": testWritesOutputThroughLinks,
            "testKeepsLinks": testKeepsLinks,
            "testKeepsOwnerAndMode": testKeepsOwnerAndMode,
            "testRefusesReadOnlyFiles": testRefusesReadOnlyFiles,
            "testLeavesNoTemporaryFiles": testLeavesNoTemporaryFiles,
            "testShortensAndLengthensFiles": testShortensAndLengthensFiles,
        ]
    }

    private static func make(_ name: String) throws -> String {
        let path = "\(try temporaryDirectory())/\(name)"
        try FileAccess.write(Array("old contents".utf8), to: path)
        return path
    }

    private static func text(_ path: String) throws -> String {
        String(decoding: try FileAccess.contents(of: path), as: UTF8.self)
    }

    private static func status(_ path: String) -> stat {
        var status = stat()
        lstat(path, &status)
        return status
    }

    private static func testWritesOutputThroughLinks() throws {
        let folder = try temporaryDirectory()
        func kind(_ name: String) -> mode_t {
            var status = stat()
            return lstat("\(folder)/\(name)", &status) == 0 ? status.st_mode & S_IFMT : 0
        }
        func text(_ name: String) throws -> String {
            String(decoding: try FileAccess.contents(of: "\(folder)/\(name)"), as: UTF8.self)
        }
        try FileAccess.write(Array("older and longer".utf8), to: "\(folder)/file")
        chmod("\(folder)/file", 0o640)
        for (link, target) in [("link", "file"), ("dangling", "made")] { symlink(target, "\(folder)/\(link)") }
        for (name, target) in [("new", "new"), ("link", "file"), ("dangling", "made")] {
            try writeOutput(Array("text".utf8), to: "\(folder)/\(name)")
            expectEqual(try text(target), "text", name)
            expectEqual(kind(name), name == "new" ? S_IFREG : S_IFLNK, name)
        }
        var status = stat()
        stat("\(folder)/file", &status)
        expectEqual(status.st_mode & 0o777, 0o640, "mode of what a link leads to")
        // A device works like a pipe, but the test can't create one.
        try requireEqual(mkfifo("\(folder)/pipe", 0o600), 0)
        let pipe = open("\(folder)/pipe", O_RDWR | O_NONBLOCK | O_CLOEXEC)
        defer { close(pipe) }
        try writeOutput(Array("text".utf8), to: "\(folder)/pipe")
        expectEqual(kind("pipe"), S_IFIFO)
        var bytes = [UInt8](repeating: 0, count: 8)
        expectEqual(read(pipe, &bytes, bytes.count), 4, "bytes in the pipe")
        expectThrows(SystemError.self) { try writeOutput([], to: folder) }
    }

    private static func testKeepsLinks() throws {
        let path = try make("file")
        let links = ["symbolic", "chain", "hard"].map { "\(path)-\($0)" }
        symlink("file", links[0])
        symlink(links[0], links[1])
        try write(Array("one".utf8), to: links[1])
        link(path, links[2])
        try write(Array("more".utf8), to: links[0])
        try write(Array("most of all".utf8), to: links[2])
        for link in links + [path] { expectEqual(try text(link), "most of all", link) }
        expectEqual(links.map { status($0).st_mode & S_IFMT }, [S_IFLNK, S_IFLNK, S_IFREG])
        expectEqual(status(links[2]).st_ino, status(path).st_ino, "two names of one file")
    }

    private static func testKeepsOwnerAndMode() throws {
        let path = try make("file")
        for mode: mode_t in [0o600, 0o755, 0o664, 0o4711, 0o222] where geteuid() == 0 || mode & 0o400 != 0 {
            // A user who may change owners checks that the owner stays.
            if geteuid() == 0 { chown(path, 12, 34) }
            chmod(path, mode)
            let before = status(path)
            try write(Array("new".utf8), to: path)
            let after = status(path)
            expectEqual(after.st_mode, before.st_mode)
            expectEqual([after.st_uid, after.st_gid], [before.st_uid, before.st_gid])
        }
    }

    private static func testRefusesReadOnlyFiles() throws {
        let path = try make("file")
        chmod(path, 0o444)
        let error = expectThrows(SystemError.self) { try write([], to: path) }
        expectEqual(error?.description, "cannot write \(path), which is read-only: Permission denied")
        expectEqual(try text(path), "old contents")
        expectEqual(
            expectThrows(SystemError.self) { try write([], to: "\(path)-none") }?.description,
            "cannot find \(path)-none: No such file or directory")
    }

    private static func testLeavesNoTemporaryFiles() throws {
        let path = try make("file")
        // A link with a name that can be guessed must not be written through.
        symlink("/nowhere/else", "\(path).\(getpid())")
        try write(Array("new".utf8), to: path)
        try FileAccess.write(Array("newer".utf8), to: path)
        expectEqual(FileAccess.names(in: FileAccess.directory(of: path)), ["file", "file.\(getpid())"])
        expectEqual(try text(path), "newer")
    }

    private static func testShortensAndLengthensFiles() throws {
        let path = try make("file")
        for isLinked in [false, true] {
            if isLinked { link(path, "\(path)-2") }
            for length in [0, 1, 5000, 3] {
                try write([UInt8](repeating: 65, count: length), to: path)
                expectEqual(FileAccess.size(of: path), length)
            }
        }
    }
}
#endif
