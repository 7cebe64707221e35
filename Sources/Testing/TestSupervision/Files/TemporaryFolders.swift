// Keeps and removes temporary folders: those of a run's tests, and those that are removed together with their process.

internal import InClassSystem

/// The temporary directories of a run's tests. Workers create them with InClassTesting's TestDirectory and remove those of
/// passed tests.
final class DirectoryKeeper {
    /// The folder of all directories. A worker creates it with the first directory.
    let root: String
    private let keepsFailed: Bool
    /// The kept directories.
    private(set) var kept: [String] = []

    /// Chooses a new name in the folder for temporary files.
    init(keepsFailed: Bool = true) {
        let folder = Environment.temporaryFolder
        let name = "in-class-tests-\(String(UInt32.random(in: 0 ... .max), radix: 36))"
        root = "\(FileAccess.realPath(folder) ?? folder)/\(name)"
        self.keepsFailed = keepsFailed
    }

    deinit { removeRest() }

    /// Keeps the directory of a failed test, unless it is empty.
    ///
    /// - Returns: The path of the directory, or nil if it isn't kept.
    func keep(_ path: String) -> String? {
        guard keepsFailed, path.hasPrefix("\(root)/"), rmdir(path) != 0, errno != ENOENT else { return nil }
        kept.append(path)
        return path
    }

    /// Removes all other directories.
    func removeRest() {
        guard rmdir(root) != 0, errno != ENOENT else { return }
        for name in FileAccess.names(in: root) where !kept.contains("\(root)/\(name)") {
            FileAccess.removeTree("\(root)/\(name)")
        }
        rmdir(root)
    }

    /// Removes the directories that an earlier run has kept, and their folder.
    static func remove(_ kept: [String]) {
        for path in kept {
            let folder = FileAccess.directory(of: path)
            guard FileAccess.name(of: folder).hasPrefix("in-class-tests-") else { continue }
            FileAccess.removeTree(path)
            rmdir(folder)
        }
    }
}

/// A folder for the temporary files of a process. The folder is removed together with its owner. If the process ends
/// earlier, the next process with such a folder removes it.
final class PassingFolder {
    let path: String
    /// The open, locked folder. The lock ends when its process ends, for any reason.
    private let lock: Int32

    /// Creates a folder in another folder, and removes the folders with the same name whose processes have ended.
    init(in outer: String, named name: String) throws(SystemError) {
        try FileAccess.makeFolder(outer)
        // The outer folder stays locked until the new folder is locked, so no other process removes it in between.
        let gate = Self.openFolder(outer)
        defer { close(gate) }
        while gate >= 0, flock(gate, LOCK_EX) != 0, errno == EINTR {}
        for other in FileAccess.names(in: outer) where other.hasPrefix("\(name).") {
            let left = Self.openFolder("\(outer)/\(other)")
            if left >= 0, flock(left, LOCK_EX | LOCK_NB) == 0 { FileAccess.removeTree("\(outer)/\(other)") }
            close(left)
        }
        path = "\(outer)/\(name).\(String(UInt64.random(in: .min ... .max), radix: 36))"
        try FileAccess.makeFolder(path)
        lock = Self.openFolder(path)
        flock(lock, LOCK_EX | LOCK_NB)
    }

    deinit {
        FileAccess.removeTree(path)
        close(lock)
    }

    /// Opens a folder, but no other file and no link.
    private static func openFolder(_ path: String) -> Int32 {
        open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension DirectoryKeeper: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testRemovesUnkeptDirectories": testRemovesUnkeptDirectories,
            "testKeepsNothingIfDisabled": testKeepsNothingIfDisabled,
            "testRemovesDirectoriesOfEarlierRuns": testRemovesDirectoriesOfEarlierRuns,
        ]
    }

    /// Creates files and directories. A path that ends with a slash is a directory.
    private static func make(_ paths: [String]) {
        for path in paths {
            if path.hasSuffix("/") { mkdir(path, 0o700) } else { close(open(path, O_CREAT | O_WRONLY, 0o600)) }
        }
    }

    private static func testRemovesUnkeptDirectories() {
        let directories = DirectoryKeeper()
        let root = directories.root
        directories.removeRest()
        make(["\(root)/", "\(root)/a/", "\(root)/a/file", "\(root)/b/", "\(root)/b/file", "\(root)/c/"])
        expectEqual(directories.keep("\(root)/a"), "\(root)/a")
        expectNil(directories.keep("\(root)/c"), "an empty one")
        expectNil(directories.keep("\(root)/d"), "one that is not there")
        expectNil(directories.keep("/etc"), "somebody else's")
        directories.removeRest()
        expectEqual(FileAccess.names(in: root), ["a"])
        DirectoryKeeper.remove(directories.kept)
        expectFalse(FileAccess.exists(root))
    }

    private static func testKeepsNothingIfDisabled() throws {
        let directories = DirectoryKeeper(keepsFailed: false)
        let root = directories.root
        make(["\(root)/", "\(root)/a/", "\(root)/a/file"])
        expectNil(directories.keep("\(root)/a"))
        directories.removeRest()
        expectFalse(FileAccess.exists(root))
    }

    private static func testRemovesDirectoriesOfEarlierRuns() throws {
        let folder = try temporaryDirectory()
        make(["\(folder)/x/", "\(folder)/x/in-class-tests-1/", "\(folder)/x/in-class-tests-1/a/", "\(folder)/x/other/"])
        remove(["\(folder)/x/in-class-tests-1/a", "\(folder)/x/other"])
        expectEqual(FileAccess.names(in: "\(folder)/x"), ["other"], "what does not look like ours stays")
    }
}

extension PassingFolder: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testRemovesTheFolderWithItsOwner": testRemovesTheFolderWithItsOwner,
            "testRemovesFoldersOfDeadProcesses": testRemovesFoldersOfDeadProcesses,
        ]
    }

    private static func testRemovesTheFolderWithItsOwner() throws {
        let outer = "\(try temporaryDirectory())/a/b"
        var folder: PassingFolder? = try PassingFolder(in: outer, named: "M")
        expectEqual(FileAccess.names(in: outer).map { "\(outer)/\($0)" }, [folder?.path])
        try FileAccess.write([], to: "\(folder?.path ?? "")/file")
        folder = nil
        expectEqual(FileAccess.names(in: outer), [])
    }

    private static func testRemovesFoldersOfDeadProcesses() throws {
        let outer = try temporaryDirectory()
        for path in ["M.1/file", "M.2/folder/file", "Mine.3/file"] {
            try FileAccess.makeFolder(FileAccess.directory(of: "\(outer)/\(path)"))
            try FileAccess.write([], to: "\(outer)/\(path)")
        }
        try FileAccess.write([], to: "\(outer)/M.file")
        symlink("Mine.3", "\(outer)/M.link")
        let (one, other) = (try PassingFolder(in: outer, named: "M"), try PassingFolder(in: outer, named: "M"))
        let there = ["M.file", "M.link", "Mine.3"] + [one, other].map { FileAccess.name(of: $0.path) }
        expectEqual(FileAccess.names(in: outer), there.sorted(), "only folders of its own, and none that is in use")
        expectEqual(FileAccess.names(in: "\(outer)/Mine.3"), ["file"])
    }
}
#endif
