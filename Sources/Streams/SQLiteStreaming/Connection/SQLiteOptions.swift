// The options for opening a connection. Everything that changes the behavior of SQLite is visible here.

import CSystemSQLite

/// Options for opening a database and for the behavior of the connection.
public struct SQLiteOptions: Sendable {
    /// The allowed access to the file.
    public enum Access: Sendable {
        /// Read it; it must exist.
        case readOnly
        /// Read and write it; it must exist.
        case readWrite
        /// Read and write it; it is created if it doesn't exist.
        case create
    }

    /// The method that makes transactions atomic; see https://sqlite.org/pragma.html#pragma_journal_mode.
    public enum JournalMode: String, Sendable {
        /// A journal that is deleted at the end of each transaction; the mode of a new file.
        case delete
        /// A journal that is truncated to zero bytes instead.
        case truncate
        /// A journal whose header is overwritten instead.
        case persist
        /// A journal in memory: a crash in a transaction damages the file.
        case memory
        /// A write-ahead log: one connection writes while others read. The mode is stored in the file.
        case wal
        /// No journal: nothing can be rolled back, and a crash or error in a transaction damages the file.
        case off
    }

    /// When changes are forced to the disk; see https://sqlite.org/pragma.html#pragma_synchronous.
    public enum Synchronization: String, Sendable {
        /// Never: a crash of the system may damage the file.
        case off
        /// At critical moments: with `wal`, a crash of the system may undo transactions but doesn't damage the file.
        case normal
        /// With each transaction.
        case full
        /// As `full`, and also the directory after a journal is deleted.
        case extra
    }

    /// The allowed access to the file. Files are created only with `create`, so that a wrong path is an error.
    public var access: Access
    /// The time to wait for locks of other connections before ``SQLiteResultCode/busy`` is thrown.
    public var busyTimeout: Duration
    /// The journal mode to set; nil keeps the mode of the database. With `wal`, other connections can read while one writes.
    public var journalMode: JournalMode?
    /// When changes are forced to the disk; nil keeps SQLite's default, which survives loss of power.
    public var synchronization: Synchronization?
    /// A Boolean value that indicates whether foreign keys are enforced.
    public var enforcesForeignKeys: Bool
    /// A Boolean value that indicates whether a name in double quotes that isn't a column is read as a string. This SQLite
    /// quirk hides mistakes.
    public var allowsDoubleQuotedStrings: Bool
    /// A Boolean value that indicates whether the statements in errors contain the values bound to them.
    public var showsBoundValues: Bool
    /// The number of prepared statements that are kept for reuse.
    public var statementCacheSize: Int
    /// Parameters for SQLite's file URIs, such as `immutable=1`; see https://sqlite.org/uri.html. If this isn't nil, even if
    /// it is empty, `ATTACH` accepts URIs.
    package var fileParameters: String?

    /// Returns the URI of a file with parameters.
    package static func uri(ofFile path: String, _ parameters: String) -> String {
        var text = path.utf8.first == UInt8(ascii: "/") ? "file://" : "file:"
        for byte in path.utf8 {
            let isPlain =
                byte > 0x20 && byte != UInt8(ascii: "%") && byte != UInt8(ascii: "?") && byte != UInt8(ascii: "#")
            text += isPlain && byte < 0x80 ? String(UnicodeScalar(byte)) : Self.percent(byte)
        }
        return parameters.isEmpty ? text : "\(text)?\(parameters)"
    }

    private static func percent(_ byte: UInt8) -> String {
        "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }

    /// Creates options.
    public init(
        access: Access = .readWrite, busyTimeout: Duration = .seconds(5), journalMode: JournalMode? = nil,
        synchronization: Synchronization? = nil, enforcesForeignKeys: Bool = true,
        allowsDoubleQuotedStrings: Bool = false, showsBoundValues: Bool = false, statementCacheSize: Int = 32
    ) {
        self.access = access
        self.busyTimeout = busyTimeout
        self.journalMode = journalMode
        self.synchronization = synchronization
        self.enforcesForeignKeys = enforcesForeignKeys
        self.allowsDoubleQuotedStrings = allowsDoubleQuotedStrings
        self.showsBoundValues = showsBoundValues
        self.statementCacheSize = statementCacheSize
    }

    /// SQLite's flags. A mutex isn't needed because only one thread at a time uses a connection.
    var flags: Int32 {
        let access =
            switch access {
            case .readOnly: SQLITE_OPEN_READONLY
            case .readWrite: SQLITE_OPEN_READWRITE
            case .create: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
            }
        let uri = fileParameters == nil ? 0 : SQLITE_OPEN_URI
        return access | uri | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
    }
}

/// A limit of a connection; see https://sqlite.org/c3ref/c_limit_attached.html.
public enum SQLiteLimit: Int32, Sendable, CaseIterable {
    /// The longest text, blob or row in bytes.
    case length = 0
    /// The longest statement in bytes.
    case sqlLength
    /// The largest number of columns of a table, index, or result.
    case columnCount
    /// The deepest expression.
    case expressionDepth
    /// The largest number of terms in a compound SELECT.
    case compoundSelectCount
    /// The largest number of instructions of a statement.
    case instructionCount
    /// The largest number of arguments of a function.
    case functionArgumentCount
    /// The largest number of attached databases.
    case attachedCount
    /// The longest pattern of LIKE and GLOB in bytes.
    case patternLength
    /// The largest index of a parameter.
    case parameterCount
    /// The deepest recursion of triggers.
    case triggerDepth
    /// The largest number of worker threads of a statement.
    case workerThreadCount
}
