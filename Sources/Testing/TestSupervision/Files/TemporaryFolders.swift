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

/// A folder for the temporary files of one process at a time. The files of a process that has been killed are removed by
/// the next process.
final class LockedFolder {
    let path: String
    /// The open, locked folder. The lock ends when its process ends, for any reason.
    private let lock: Descriptor

    /// Creates the folder, and removes its contents. Returns nil if another owner uses the folder.
    init?(_ path: String) throws(SystemError) {
        try FileAccess.makeFolder(path)
        let lock = Descriptor(open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC))
        guard flock(lock.number, LOCK_EX | LOCK_NB) == 0 else { return nil }
        (self.path, self.lock) = (path, lock)
        clear()
    }

    deinit { clear() }

    private func clear() { for name in FileAccess.names(in: path) { FileAccess.removeTree("\(path)/\(name)") } }
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

extension LockedFolder: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testHasOneOwnerAtATime": {
                let path = "\(try temporaryDirectory())/a/b"
                var folder = try LockedFolder(path)
                try FileAccess.write([], to: "\(path)/file")
                expectNil(try LockedFolder(path), "a second owner")
                expectEqual(FileAccess.names(in: path), ["file"])
                expectNotNil(folder)
                folder = nil
                expectEqual(FileAccess.names(in: path), [])
            },
            "testRemovesFilesOfDeadProcesses": {
                let path = try temporaryDirectory()
                try FileAccess.makeFolder("\(path)/folder")
                for name in ["file", "folder/file"] { try FileAccess.write([], to: "\(path)/\(name)") }
                let folder = try requireNotNil(try LockedFolder(path))
                expectEqual(FileAccess.names(in: folder.path), [])
            },
        ]
    }
}
#endif
