// The result codes of SQLite by name. `SQLiteError` decides which of them are errors.

/// A result code of SQLite, primary or extended.
///
/// The lowest eight bits of an extended code are its primary code: `.constraintUnique.primary == .constraint`.
/// Source: https://sqlite.org/rescode.html
public struct SQLiteResultCode: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
    /// The number in SQLite's header.
    public let rawValue: Int32

    /// Creates a code from its number.
    public init(rawValue: Int32) { self.rawValue = rawValue }

    /// The primary code of an extended code, or the code itself if it is primary.
    public var primary: SQLiteResultCode { SQLiteResultCode(rawValue: rawValue & 0xFF) }

    /// A wrong statement, or another failure without a code of its own.
    public static let error: SQLiteResultCode = SQLiteResultCode(rawValue: 1)
    /// A bug in SQLite.
    public static let `internal`: SQLiteResultCode = SQLiteResultCode(rawValue: 2)
    /// The file's permissions forbid it.
    public static let permission: SQLiteResultCode = SQLiteResultCode(rawValue: 3)
    /// The operation was aborted, usually by a rollback.
    public static let abort: SQLiteResultCode = SQLiteResultCode(rawValue: 4)
    /// Another connection holds a lock for longer than the busy timeout.
    public static let busy: SQLiteResultCode = SQLiteResultCode(rawValue: 5)
    /// A statement of this connection holds a lock on the table.
    public static let locked: SQLiteResultCode = SQLiteResultCode(rawValue: 6)
    /// There is no memory left.
    public static let noMemory: SQLiteResultCode = SQLiteResultCode(rawValue: 7)
    /// The database, or this connection, is read-only.
    public static let readOnly: SQLiteResultCode = SQLiteResultCode(rawValue: 8)
    /// The statement was interrupted.
    public static let interrupt: SQLiteResultCode = SQLiteResultCode(rawValue: 9)
    /// The operating system failed to read or write.
    public static let io: SQLiteResultCode = SQLiteResultCode(rawValue: 10)
    /// The database file is damaged.
    public static let corrupt: SQLiteResultCode = SQLiteResultCode(rawValue: 11)
    /// Something was not found, such as a parameter name.
    public static let notFound: SQLiteResultCode = SQLiteResultCode(rawValue: 12)
    /// The disk is full.
    public static let full: SQLiteResultCode = SQLiteResultCode(rawValue: 13)
    /// The file cannot be opened.
    public static let cannotOpen: SQLiteResultCode = SQLiteResultCode(rawValue: 14)
    /// The locks of the write-ahead log are in an invalid state.
    public static let `protocol`: SQLiteResultCode = SQLiteResultCode(rawValue: 15)
    /// The schema has changed meanwhile, or differs from the expected one.
    public static let schema: SQLiteResultCode = SQLiteResultCode(rawValue: 17)
    /// A text or blob is longer than the limit.
    public static let tooBig: SQLiteResultCode = SQLiteResultCode(rawValue: 18)
    /// A constraint of the schema rejects the change.
    public static let constraint: SQLiteResultCode = SQLiteResultCode(rawValue: 19)
    /// A value has a type that the column or the property doesn't accept.
    public static let mismatch: SQLiteResultCode = SQLiteResultCode(rawValue: 20)
    /// The library was used incorrectly.
    public static let misuse: SQLiteResultCode = SQLiteResultCode(rawValue: 21)
    /// The authorizer rejected the statement.
    public static let authorization: SQLiteResultCode = SQLiteResultCode(rawValue: 23)
    /// The parameter or column index is out of range.
    public static let range: SQLiteResultCode = SQLiteResultCode(rawValue: 25)
    /// The file isn't a database.
    public static let notADatabase: SQLiteResultCode = SQLiteResultCode(rawValue: 26)

    /// A CHECK constraint failed.
    public static let constraintCheck: SQLiteResultCode = SQLiteResultCode(rawValue: 19 | 1 << 8)
    /// A foreign key refers to a row that doesn't exist.
    public static let constraintForeignKey: SQLiteResultCode = SQLiteResultCode(rawValue: 19 | 3 << 8)
    /// A NOT NULL column was set to null.
    public static let constraintNotNull: SQLiteResultCode = SQLiteResultCode(rawValue: 19 | 5 << 8)
    /// Two rows have the same primary key.
    public static let constraintPrimaryKey: SQLiteResultCode = SQLiteResultCode(rawValue: 19 | 6 << 8)
    /// Two rows have the same values in unique columns.
    public static let constraintUnique: SQLiteResultCode = SQLiteResultCode(rawValue: 19 | 8 << 8)
    /// Two rows have the same row id.
    public static let constraintRowID: SQLiteResultCode = SQLiteResultCode(rawValue: 19 | 10 << 8)
    /// A value has a type that a column of a STRICT table doesn't accept.
    public static let constraintDataType: SQLiteResultCode = SQLiteResultCode(rawValue: 19 | 12 << 8)
    /// The transaction reads a snapshot that is older than a change by another connection.
    public static let busySnapshot: SQLiteResultCode = SQLiteResultCode(rawValue: 5 | 2 << 8)

    private static let names: [Int32: String] = [
        1: "ERROR", 2: "INTERNAL", 3: "PERM", 4: "ABORT", 5: "BUSY", 6: "LOCKED", 7: "NOMEM", 8: "READONLY",
        9: "INTERRUPT", 10: "IOERR", 11: "CORRUPT", 12: "NOTFOUND", 13: "FULL", 14: "CANTOPEN", 15: "PROTOCOL",
        16: "EMPTY", 17: "SCHEMA", 18: "TOOBIG", 19: "CONSTRAINT", 20: "MISMATCH", 21: "MISUSE", 22: "NOLFS",
        23: "AUTH", 24: "FORMAT", 25: "RANGE", 26: "NOTADB",
    ]

    /// SQLite's name of the primary code and the number, such as `SQLITE_CONSTRAINT 2067`.
    public var description: String {
        "SQLITE_\(Self.names[rawValue & 0xFF] ?? "\(rawValue & 0xFF)") \(rawValue)"
    }
}
