// Directories with all that is in them.

internal import InClassSystem

extension FileAccess {
    /// Removes a file, or a directory with all that is in it; symbolic links are removed, not followed.
    static func removeTree(_ path: String) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return }
        guard status.st_mode & S_IFMT == S_IFDIR else {
            unlink(path)
            return
        }
        // A test may have taken its own rights away.
        chmod(path, 0o700)
        for name in names(in: path) { removeTree("\(path)/\(name)") }
        rmdir(path)
    }

    /// Copies regular files, symbolic links and directories; what is neither is left out.
    ///
    /// - Returns: false when something could not be copied.
    static func copyTree(_ path: String, to target: String) -> Bool {
        var status = stat()
        guard lstat(path, &status) == 0 else { return false }
        switch status.st_mode & S_IFMT {
        case S_IFDIR:
            guard mkdir(target, 0o755) == 0 else { return false }
            return names(in: path).reduce(true) { copyTree("\(path)/\($1)", to: "\(target)/\($1)") && $0 }
        case S_IFREG:
            guard let bytes = try? contents(of: path) else { return false }
            return (try? write(bytes, to: target)) != nil
        case S_IFLNK:
            var name = [CChar](repeating: 0, count: Int(PATH_MAX) + 1)
            return readlink(path, &name, Int(PATH_MAX)) > 0 && symlink(name, target) == 0
        default: return true
        }
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension FileAccess {
    static func testCopiesTrees() throws {
        let folder = try temporaryDirectory()
        for name in ["a", "a/b"] { mkdir("\(folder)/\(name)", 0o700) }
        try write(Array("text".utf8), to: "\(folder)/a/b/c")
        symlink("b/c", "\(folder)/a/link")
        expectTrue(copyTree("\(folder)/a", to: "\(folder)/copy"))
        expectEqual(String(decoding: try contents(of: "\(folder)/copy/link"), as: UTF8.self), "text")
        expectEqual(names(in: "\(folder)/copy"), ["b", "link"])
        expectFalse(copyTree("\(folder)/a", to: "\(folder)/copy"), "what is there already")
    }
}
#endif
