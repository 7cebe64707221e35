// Opens a database for reading so that no files are left behind, and returns the names in its schema.

import PlistStreaming
import SQLiteStreaming

/// A database that is only read.
final class DatabaseInput {
    let path: String
    /// The parameters of SQLite's URI. They also apply when the database is attached to another connection.
    let parameters: String
    let connection: SQLiteConnection
    /// The path of the index that SQLite creates when it reads a log, and leaves behind.
    private let index: String?

    /// Opens a database in a transaction, so that all tables are read in the same state.
    ///
    /// - Throws: `cannotRead`, or `invalidSyntax` if the file isn't a database.
    init(path: String) throws(StreamError) {
        let header = try Self.header(ofFile: path)
        // SQLite opens any file of a few bytes as a database without tables.
        guard header.isEmpty || Self.isDatabase(header) else {
            throw StreamError(.invalidSyntax, "expected a SQLite database, found another file")
        }
        self.path = path
        // SPEC: https://sqlite.org/fileformat2.html section 1.3: the value 2 means that the database may have a
        // write-ahead log.
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
                    .cannotRead,
                    "the database contains an unfinished transaction; open it with a program that may write, which undoes the transaction"
                )
            }
            throw error.streamError(.cannotRead)
        }
    }

    /// Returns the parameters for reading a database with a write-ahead log without leaving new files.
    ///
    /// A reader creates the log and its index if they are missing. Only a reader that may write removes them at the
    /// end.
    private static func parameters(ofLogged path: String) -> (String, index: String?) {
        let place = (try? OutputPlace(path)) ?? .missing(path: path)
        let file = if case .file(let path, _) = place { path } else { path }
        let (hasLog, hasIndex) = (access(file + "-wal", F_OK) == 0, access(file + "-shm", F_OK) == 0)
        if hasLog { return ("mode=ro", hasIndex ? nil : file + "-shm") }
        let mayWrite = access(file, W_OK) == 0 && access(OutputPlace.split(file).directory, W_OK) == 0
        // Without a log, no process writes to the database. If this process may write, it notices when another process
        // begins to write.
        return (mayWrite ? "mode=rw" : "immutable=1", nil)
    }

    /// Closes the database, and removes the files that SQLite left. Call this function after all other connections of
    /// this process to the database are closed.
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

    /// Returns the first bytes of a file.
    static func header(ofFile path: String) throws(StreamError) -> [UInt8] {
        var status = stat()
        if stat(path, &status) == 0, status.st_mode & S_IFMT != S_IFREG {
            throw StreamError(.cannotRead, "expected a file, found a directory, a device or a pipe")
        }
        return try InputWithBeginning(FileSource(path: path), byteCount: 100).beginning
    }

    /// Returns the tables to convert: the requested table, or all tables.
    func tableNames(only table: String?) throws(StreamError) -> [String] {
        guard let table else { return try throwing(.cannotRead, connection.tableNames()) }
        guard try throwing(.cannotRead, connection.hasTable(table)) else {
            throw SQLiteError(.error, "no such table: \(table)").streamError(.cannotRead)
        }
        guard try !throwing(.cannotRead, connection.shadowTables()).contains(SQLiteName.folded(table)) else {
            throw StreamError(
                .unrepresentable, "the table '\(table)' contains data of a virtual table; name that one with --table")
        }
        return [table]
    }

    /// Returns the names of the views, triggers or indexes of one table, or of all tables.
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
