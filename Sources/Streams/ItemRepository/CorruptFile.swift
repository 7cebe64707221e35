// A file that cannot be read gets another name, so that no flush replaces what may still be saved.

import PlistStreaming

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// A file that was moved aside.
struct CorruptFile {
    /// Where it is now.
    let path: String
    /// What it was, whose owner and permissions the next file gets.
    let state: OutputPlace.FileState

    /// Moves a file to the first name that nobody has, `NAME.corrupt-1` and so on, with those beside it, and returns it.
    ///
    /// Nil when the file there is not the one that was read any more.
    ///
    /// - Throws: `cannotWrite`; then the file is where it was.
    static func move(
        _ path: String, asRead read: OutputPlace, with endings: [String] = []
    ) throws(StreamError) -> CorruptFile? {
        guard case .file(_, let state) = read else {
            throw StreamError(.cannotRead, "expected a file, found something else")
        }
        guard case .file(let path, let now) = try OutputPlace(path), now == state else { return nil }
        for number in 1... {
            let moved = "\(path).corrupt-\(number)"
            // A link is never made over another file, as a new name would be given.
            // SAFETY: the paths are strings that outlive the calls.
            if unsafe link(path, moved) == 0 {
                guard unsafe unlink(path) == 0 else {
                    let error = OutputPlace.error("keep the corrupt file aside", errno)
                    _ = unsafe unlink(moved)
                    throw error
                }
            } else {
                if unsafe errno == EEXIST || access(moved, F_OK) == 0 { continue }
                // Not every file system has links.
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
