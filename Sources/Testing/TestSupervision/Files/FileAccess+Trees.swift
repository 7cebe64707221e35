// Removes directories with their contents.

internal import InClassSystem

extension FileAccess {
    /// Removes a file, or a directory with its contents. Symbolic links are removed, not followed.
    static func removeTree(_ path: String) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return }
        guard status.st_mode & S_IFMT == S_IFDIR else {
            unlink(path)
            return
        }
        // A test may have removed its own permissions.
        chmod(path, 0o700)
        for name in names(in: path) { removeTree("\(path)/\(name)") }
        rmdir(path)
    }
}
