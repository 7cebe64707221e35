// Database files for in-class tests, in a directory that is removed with this object.

#if DEBUG || IN_CLASS_TESTS

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// A directory for the files of one test.
@safe
package final class TemporaryDatabase {
    package let directory: String
    /// The path of a database, which doesn't exist at first.
    package var path: String { directory + "/test.sqlite" }

    package init() throws(SQLiteError) {
        let parent = unsafe getenv("TMPDIR").map { unsafe String(cString: $0) } ?? "/tmp"
        var template = Array("\(parent)/sqlite-tests-XXXXXX".utf8CString)
        // SAFETY: the template ends with NUL, and has the six characters that are replaced.
        guard unsafe mkdtemp(&template) != nil else {
            throw SQLiteError(.cannotOpen, "cannot create a temporary directory")
        }
        directory = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit {
        for name in names { unsafe unlink(directory + "/" + name) }
        unsafe rmdir(directory)
    }

    /// The names of the files in the directory, in order.
    package var names: [String] {
        guard let stream = unsafe opendir(directory) else { return [] }
        defer { unsafe closedir(stream) }
        var names: [String] = []
        while let entry = unsafe readdir(stream) {
            // SAFETY: the name ends with NUL within its field.
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { field in
                unsafe field.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            if name != "." && name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    /// Opens the database, and creates it if necessary.
    package func open(_ access: SQLiteOptions.Access = .create, busyTimeout: Duration = .zero) throws(SQLiteError)
        -> SQLiteConnection
    {
        try SQLiteConnection(path: path, options: SQLiteOptions(access: access, busyTimeout: busyTimeout))
    }

    /// Overwrites the database file, or a part of it.
    package func write(_ bytes: [UInt8], atOffset offset: Int = 0) throws(SQLiteError) {
        let descriptor = Self.open(path, O_WRONLY | O_CREAT, 0o600)
        defer { close(descriptor) }
        guard unsafe pwrite(descriptor, bytes, bytes.count, off_t(offset)) == bytes.count else {
            throw SQLiteError(.io, "cannot write the file of a test")
        }
    }

    private static func open(_ path: String, _ flags: Int32, _ mode: mode_t) -> Int32 {
        #if canImport(Darwin)
        unsafe Darwin.open(path, flags, mode)
        #elseif canImport(Musl)
        unsafe Musl.open(path, flags, mode)
        #else
        unsafe Glibc.open(path, flags, mode)
        #endif
    }

    /// Returns the bytes of the file.
    package func bytes() -> [UInt8] {
        let descriptor = Self.open(path, O_RDONLY, 0)
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 1 << 20)
        let count = unsafe read(descriptor, &bytes, bytes.count)
        return Array(bytes.prefix(max(0, count)))
    }
}
#endif
