// A database that is read: opened so that it leaves no files, and the names in its schema.

import PlistStreaming
import SQLiteStreaming

/// A database that is only read.
final class DatabaseInput {
    let path: String
    /// How SQLite opens it, also when it is attached to another connection.
    let parameters: String
    let connection: SQLiteConnection
    /// The index of a log that SQLite makes when it reads the log, and leaves.
    private let index: String?

    /// Opens a database in a transaction, so that all tables are of the same moment.
    ///
    /// - Throws: `cannotRead`, or `invalidSyntax` for another file than a database.
    init(path: String) throws(StreamError) {
        let header = try Self.header(ofFile: path)
        // SQLite reads any file of a few bytes as a database without tables.
        guard header.isEmpty || Self.isDatabase(header) else {
            throw StreamError(.invalidSyntax, "expected a SQLite database, found another file")
        }
        self.path = path
        // SPEC: https://sqlite.org/fileformat2.html section 1.3: 2 says that there may be a write-ahead log.
        let isLogged = header.count > 18 && header[18] == 2
        (parameters, index) = isLogged ? Self.parameters(ofLogged: path) : ("mode=ro", nil)
        do throws(SQLiteError) {
            var options = SQLiteOptions(
                access: parameters == "mode=rw" ? .readWrite : .readOnly, enforcesForeignKeys: false)
            options.fileParameters = parameters
            connection = try SQLiteConnection(path: path, options: options)
            try connection.execute("PRAGMA query_only = ON")
            try connection.begin(.deferred)
            _ = try connection.tableNames()
        } catch {
            if error.code == .readOnly {
                throw StreamError(
                    .cannotRead, "the database was left in the middle of a transaction; open it once to have it undone")
            }
            throw error.streamError(.cannotRead)
        }
    }

    /// Says how to read a database with a write-ahead log without leaving files that were not there.
    ///
    /// A reader makes the log and its index when they are missing, and only one that may write removes them at the end.
    private static func parameters(ofLogged path: String) -> (String, index: String?) {
        let place = (try? OutputPlace(path)) ?? .missing(path: path)
        let file = if case .file(let path, _) = place { path } else { path }
        let (hasLog, hasIndex) = (access(file + "-wal", F_OK) == 0, access(file + "-shm", F_OK) == 0)
        if hasLog { return ("mode=ro", hasIndex ? nil : file + "-shm") }
        let mayWrite = access(file, W_OK) == 0 && access(OutputPlace.split(file).directory, W_OK) == 0
        // Without a log, no process writes to the database. A process that begins to write is noticed if this one may write,
        // too.
        return (mayWrite ? "mode=rw" : "immutable=1", nil)
    }

    /// Closes the database, after all others of this process that read it, and removes what SQLite left.
    func close() {
        guard (try? connection.close()) != nil, let index else { return }
        // SPEC: https://sqlite.org/fileformat2.html: each process that uses the database has a lock on these bytes. Without
        // such a lock, the index is unused, and this lock keeps other processes from starting to use it.
        let file = open(String(index.dropLast("-shm".utf8.count)), O_RDWR | O_CLOEXEC)
        guard file >= 0 else { return }
        defer { _ = systemClose(file) }
        var lock = flock()
        lock.l_type = Int16(F_WRLCK)
        lock.l_whence = Int16(SEEK_SET)
        (lock.l_start, lock.l_len) = (0x4000_0000, 512)
        if fcntl(file, F_SETLK, &lock) == 0 { unlink(index) }
    }

    /// Returns whether a file with these first bytes is a database.
    static func isDatabase(_ header: [UInt8]) -> Bool { header.starts(with: "SQLite format 3\0".utf8) }

    /// The first bytes of a file.
    static func header(ofFile path: String) throws(StreamError) -> [UInt8] {
        var status = stat()
        if stat(path, &status) == 0, status.st_mode & S_IFMT != S_IFREG {
            throw StreamError(.cannotRead, "expected a file, found a directory, a device or a pipe")
        }
        return try InputWithBeginning(FileSource(path: path), byteCount: 100).beginning
    }

    /// The tables to convert: one that is asked for, or all.
    func tableNames(only table: String?) throws(StreamError) -> [String] {
        guard let table else { return try throwing(.cannotRead, connection.tableNames()) }
        if try throwing(.cannotRead, connection.hasTable(table)) { return [table] }
        throw SQLiteError(.error, "no such table: \(table)").streamError(.cannotRead)
    }

    /// The names of the views, triggers or indexes; of one table, or of all.
    func names(of type: String, onTable table: String? = nil) throws(SQLiteError) -> [String] {
        let statement = try connection.prepare(
            "SELECT name FROM sqlite_schema WHERE type = ? AND tbl_name = coalesce(?, tbl_name) COLLATE NOCASE")
        try statement.bind([type, table])
        var names: [String] = []
        while try statement.step() { names.append(try statement.text(at: 0) ?? "") }
        return names
    }
}

private func systemClose(_ descriptor: Int32) -> Int32 { close(descriptor) }
