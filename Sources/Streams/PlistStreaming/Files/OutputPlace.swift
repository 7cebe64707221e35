// The target of an output path, and the state of an existing file at this path.

// SAFETY: all unsafe code here is system calls, with paths and buffers that outlive the calls. Their results are copied
// immediately.

import StreamingSystem

/// The target of an output path, after following all links.
package enum OutputPlace: Equatable {
    /// A descriptor of this process, such as `/dev/stdout`.
    case descriptor(Int32)
    /// A special file, or a file that another process has opened. It is overwritten in place.
    case special(path: String)
    /// A regular file.
    case file(path: String, FileState)
    /// A file that doesn't exist yet.
    case missing(path: String)

    /// The state of an existing file.
    package struct FileState: Equatable {
        package var device: UInt64
        package var number: UInt64
        package var size: Int
        package var linkCount: Int
        package var mode: mode_t
        package var owner: uid_t
        package var group: gid_t

        package init(_ status: stat) {
            device = UInt64(truncatingIfNeeded: status.st_dev)
            number = UInt64(status.st_ino)
            size = Int(status.st_size)
            linkCount = Int(status.st_nlink)
            mode = status.st_mode & 0o7777
            (owner, group) = (status.st_uid, status.st_gid)
        }

        package func isSameFile(_ other: FileState) -> Bool { device == other.device && number == other.number }
    }

    /// Finds the target of a path; `-` is standard output.
    package init(_ path: String) throws(StreamError) {
        if path == "-" {
            self = .descriptor(STDOUT_FILENO)
            return
        }
        var path = path
        // The number of links that the kernel follows.
        for _ in 0..<40 {
            if let place = Self.openedFile(path) {
                self = place
                return
            }
            var status = stat()
            guard unsafe lstat(path, &status) == 0 else {
                guard errno == ENOENT else { throw Self.error("open", errno) }
                self = .missing(path: path)
                return
            }
            switch status.st_mode & S_IFMT {
            case S_IFREG: self = .file(path: path, FileState(status))
            case S_IFLNK:
                path = try Self.target(ofLink: path)
                continue
            default: self = .special(path: path)
            }
            return
        }
        throw Self.error("open", ELOOP)
    }

    /// The state of the regular file, or nil for other targets.
    package var state: FileState? {
        if case .file(_, let state) = self { state } else { nil }
    }

    /// The state of the regular file, including the file of a descriptor, or nil for other targets.
    package var openState: FileState? {
        var status = stat()
        let result: Int32 =
            switch self {
            case .file, .missing: -1
            case .descriptor(let number): unsafe fstat(number, &status)
            case .special(let path): unsafe stat(path, &status)
            }
        return result == 0 && status.st_mode & S_IFMT == S_IFREG ? FileState(status) : state
    }

    /// Recognizes the paths of opened files in `/proc` and `/dev/fd`, which look like links.
    private static func openedFile(_ path: String) -> OutputPlace? {
        let (directory, name) = split(path)
        guard let resolved = unsafe realpath(directory, nil) else { return nil }
        defer { unsafe free(resolved) }
        let folder = unsafe String(cString: resolved)
        let parts = folder.split(separator: "/")
        let isOfAProcess = parts.first == "proc" && parts.last == "fd"
        guard let number = Int32(name), number >= 0, folder == "/dev/fd" || isOfAProcess else { return nil }
        return isOfAProcess && parts[1] != "\(getpid())" ? .special(path: path) : .descriptor(number)
    }

    private static func target(ofLink path: String) throws(StreamError) -> String {
        var bytes = [CChar](repeating: 0, count: 1 + Int(PATH_MAX))
        let count = unsafe readlink(path, &bytes, bytes.count)
        guard count > 0 else { throw error("open", errno) }
        let name = bytes.prefix(count).map { UInt8(bitPattern: $0) }
        guard let target = String(validating: name, as: UTF8.self) else {
            throw StreamError(.cannotWrite, "cannot open: the target of the link is not valid UTF-8")
        }
        return target.hasPrefix("/") ? target : split(path).directory + "/" + target
    }

    /// Splits a path into its directory and the name in the directory.
    package static func split(_ path: String) -> (directory: String, name: String) {
        guard let end = path.lastIndex(of: "/") else { return (".", path) }
        return (end == path.startIndex ? "/" : String(path[..<end]), String(path[path.index(after: end)...]))
    }

    package static func error(_ what: String, _ number: Int32) -> StreamError {
        StreamError(.cannotWrite, "cannot \(what): \(ByteOutput.systemMessage(number))")
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension OutputPlace: SelfTesting {
    package static var testSelectors: TestSelectors {
        [
            "testFollowsLinks": testFollowsLinks,
            "testRecognizesDescriptors": testRecognizesDescriptors,
        ]
    }

    private static func testFollowsLinks() throws {
        let directory = try temporaryDirectory()
        unsafe close(open("\(directory)/file", O_CREAT | O_WRONLY, 0o640))
        unsafe mkdir("\(directory)/d", 0o755)
        for (link, target) in [
            ("a", "file"), ("d/b", "../a"), ("new", "d/missing"), ("loop", "loop"), ("abs", "\(directory)/file"),
        ] {
            unsafe expectEqual(symlink(target, "\(directory)/\(link)"), 0, link)
        }
        let state = try OutputPlace("\(directory)/file").state
        expectEqual(state?.mode, 0o640, "mode")
        for name in ["a", "d/b", "abs"] {
            expectEqual(try OutputPlace("\(directory)/\(name)").state, state, name)
        }
        guard case .missing(let path) = try OutputPlace("\(directory)/new") else { return fail("a link to nothing") }
        expectEqual(split(path).name, "missing", "the file that is to be made")
        expectTrue(split(path).directory.hasSuffix("/d"), "where it is to be made: \(path)")
        expectThrows(StreamError.self, "a loop") { _ = try OutputPlace("\(directory)/loop") }
        expectThrows(StreamError.self, "a path through a file") { _ = try OutputPlace("\(directory)/file/x") }
        expectEqual(try OutputPlace("/dev/null"), .special(path: "/dev/null"), "a device")
        expectEqual(try OutputPlace("/nowhere/x"), .missing(path: "/nowhere/x"), "no directory")
    }

    private static func testRecognizesDescriptors() throws {
        let directory = try temporaryDirectory()
        unsafe expectEqual(symlink("/dev/stdout", "\(directory)/out"), 0, "symlink")
        for path in ["-", "/dev/stdout", "/dev/fd/1", "\(directory)/out"] {
            expectEqual(try OutputPlace(path), .descriptor(1), path)
        }
        let file = unsafe open("\(directory)/file", O_CREAT | O_WRONLY, 0o640)
        defer { close(file) }
        expectEqual(try OutputPlace("/dev/fd/\(file)"), .descriptor(file), "another descriptor")
        let state = try OutputPlace("\(directory)/file").state
        expectEqual(OutputPlace.descriptor(file).openState, state, "the file behind it")
        expectEqual(try OutputPlace("\(directory)/file").openState, state, "the file")
        for place in [.missing(path: "x"), .descriptor(-1), try OutputPlace("/dev/null")] {
            expectNil(place.openState?.size, "\(place)")
        }
    }
}
#endif
