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
}
