// Renames a file that cannot be read, so that a flush doesn't replace data that may still be recovered.

import PlistStreaming

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// An unreadable file that was renamed.
struct CorruptFile {
    /// The new path of the file.
    let path: String
    /// The state of the file. The next file gets its owner and permissions.
    let state: OutputPlace.FileState

    /// Renames a file to the first unused name, `NAME.corrupt-1` and so on.
    ///
    /// - Parameter endings: The name endings of related files, which are renamed, too.
    /// - Returns: The renamed file, or nil if the file at the path is no longer the one that was read.
    /// - Throws: `cannotWrite`; then the file keeps its name.
    static func move(
        _ path: String, asRead read: OutputPlace, with endings: [String] = []
    ) throws(StreamError) -> CorruptFile? {
        guard case .file(_, let state) = read else {
            throw StreamError(.cannotRead, "expected a file, found something else")
        }
        guard case .file(let path, let now) = try OutputPlace(path), now == state else { return nil }
        for number in 1... {
            let moved = "\(path).corrupt-\(number)"
            // Unlike `rename`, `link` never replaces another file.
            // SAFETY: the paths are strings that outlive the calls.
            if unsafe link(path, moved) == 0 {
                guard unsafe unlink(path) == 0 else {
                    let error = OutputPlace.error("keep the corrupt file aside", errno)
                    _ = unsafe unlink(moved)
                    throw error
                }
            } else {
                if unsafe errno == EEXIST || access(moved, F_OK) == 0 { continue }
                // Some file systems don't support links.
                guard unsafe rename(path, moved) == 0 else {
                    throw OutputPlace.error("keep the corrupt file aside", errno)
                }
            }
            for ending in endings { _ = unsafe rename(path + ending, moved + ending) }
            return CorruptFile(path: moved, state: state)
        }
        throw StreamError(.cannotWrite, "cannot keep the corrupt file aside")
    }
}
