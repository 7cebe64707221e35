// Creates a folder for the temporary files of a process. The folder is removed together with its owner. If the process
// ends earlier, the next process with such a folder removes it.

internal import InClassSystem

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
