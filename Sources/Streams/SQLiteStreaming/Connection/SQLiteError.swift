// The only error type of this module, and the function that makes it from SQLite's result codes.

import CSystemSQLite
import PlistStreaming

/// An error of SQLite or of this module's checks, with its statement.
///
/// The values bound to parameters aren't included, unless the connection was opened with `showsBoundValues`.
public struct SQLiteError: Error, Sendable, Equatable, CustomStringConvertible {
    private final class Storage: Sendable {
        let extendedCode: SQLiteResultCode
        let message: String
        let sql: String?
        let byteOffset: Int?
        let streamError: StreamError?

        init(_ code: SQLiteResultCode, _ message: String, _ sql: String?, _ byteOffset: Int?, _ error: StreamError?) {
            extendedCode = code
            self.message = message
            self.sql = sql
            self.byteOffset = byteOffset
            streamError = error
        }
    }

    // PERF: one reference instead of nine words keeps the error out of the hot path's registers.
    private let storage: Storage

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - code: A primary or extended result code.
    ///   - message: A lower-case fragment without a full stop that says what was expected and found.
    ///   - sql: The statement, or the script that contains it.
    ///   - byteOffset: The position in `sql`, in UTF-8 bytes from 0.
    ///   - streamError: The error of a value that couldn't be written or read.
    @inline(never)
    public init(
        _ code: SQLiteResultCode, _ message: String, sql: String? = nil, byteOffset: Int? = nil,
        streamError: StreamError? = nil
    ) {
        storage = Storage(code, message, sql, byteOffset, streamError)
    }

    /// The primary result code.
    public var code: SQLiteResultCode { storage.extendedCode.primary }
    /// The extended result code, or the primary one if SQLite has no extended code for the error.
    public var extendedCode: SQLiteResultCode { storage.extendedCode }
    /// The description of the problem, without the code and the statement.
    public var message: String { storage.message }
    /// The statement, or the whole script that contains it; nil if the error doesn't belong to a statement.
    public var sql: String? { storage.sql }
    /// The position of a syntax error in `sql`, in UTF-8 bytes from 0; nil if SQLite doesn't report one.
    public var byteOffset: Int? { storage.byteOffset }
    /// The error of a sink or of a value, if SQLite isn't the cause.
    public var streamError: StreamError? { storage.streamError }

    /// The error as text: the code, the message and the statement, which is shortened if it is long.
    public var description: String {
        var text = message
        if streamError == nil { text += " (\(extendedCode))" }
        if let sql { text += ", in: " + Self.excerpt(of: sql, around: byteOffset) }
        if let byteOffset { text += " (byte \(byteOffset))" }
        return text
    }

    /// At most 160 bytes of a statement, around the position of the error if it lies further on.
    private static func excerpt(of sql: String, around byteOffset: Int?) -> String {
        let bytes = sql.utf8
        guard bytes.count > 160 else { return sql }
        var start = bytes.index(bytes.startIndex, offsetBy: max(0, min(byteOffset ?? 0, bytes.count) - 80))
        while start > bytes.startIndex, bytes[start] & 0xC0 == 0x80 { bytes.formIndex(before: &start) }
        var end = bytes.index(start, offsetBy: 160, limitedBy: bytes.endIndex) ?? bytes.endIndex
        while end < bytes.endIndex, bytes[end] & 0xC0 == 0x80 { bytes.formIndex(before: &end) }
        return (start > bytes.startIndex ? "…" : "") + String(sql[start..<end]) + (end < bytes.endIndex ? "…" : "")
    }

    public static func == (left: SQLiteError, right: SQLiteError) -> Bool {
        left.extendedCode == right.extendedCode && left.message == right.message && left.sql == right.sql
            && left.byteOffset == right.byteOffset && left.streamError == right.streamError
    }

    // MARK: Creating errors

    /// Makes the error of a result code. All result codes that are errors are handled here.
    ///
    /// - Parameters:
    ///   - code: The result code of the function.
    ///   - connection: The connection that has the message, or nil without one.
    ///   - sql: The statement, or the script that contains it.
    ///   - baseOffset: The number of bytes of `sql` before the statement that SQLite compiled.
    @inline(never)
    static func make(
        _ code: Int32, _ connection: OpaquePointer?, sql: String? = nil, baseOffset: Int = 0
    ) -> SQLiteError {
        // SAFETY: SQLite's messages are valid until the next call of the connection; they are copied immediately.
        guard let connection = unsafe connection else {
            return SQLiteError(SQLiteResultCode(rawValue: code), unsafe String(cString: sqlite3_errstr(code)), sql: sql)
        }
        let extended = unsafe sqlite3_extended_errcode(connection)
        let isCurrent = extended & 0xFF == code & 0xFF
        // The message of another call would be misleading.
        var message = unsafe String(cString: isCurrent ? sqlite3_errmsg(connection) : sqlite3_errstr(code))
        if [SQLITE_CANTOPEN, SQLITE_IOERR].contains(code & 0xFF) {
            let number = unsafe sqlite3_system_errno(connection)
            if number != 0 { message += ": " + ByteOutput.systemMessage(number) }
        }
        if code & 0xFF == SQLITE_INTERRUPT, Task.isCancelled { message = TaskCancellation.cancelledMessage }
        let offset = unsafe isCurrent && sql != nil ? Int(sqlite3_error_offset(connection)) : -1
        return SQLiteError(
            SQLiteResultCode(rawValue: isCurrent ? extended : code), message, sql: sql,
            byteOffset: offset >= 0 ? baseOffset + offset : nil)
    }

    /// Makes the error of a value that was rejected on writing or reading, or returns the SQLite error that caused it.
    public init(_ error: StreamError) {
        guard let cause = error.sqliteError else {
            self.init(.mismatch, error.description, streamError: error)
            return
        }
        let message = error.path.map { "\($0): \(cause.message)" } ?? cause.message
        self.init(cause.extendedCode, message, sql: cause.sql, byteOffset: cause.byteOffset)
    }

    /// A Boolean value that indicates whether the file can't be written, for example because the disk is full, regardless of
    /// the row.
    var isOfFile: Bool { [.full, .io, .readOnly, .cannotOpen].contains(code) }

    /// Returns this error with other SQL, for a statement that reads a table of this library.
    package func replacingSQL(by sql: String?) -> SQLiteError {
        SQLiteError(extendedCode, message, sql: sql, streamError: streamError)
    }

    /// Returns the result of a closure, and converts its error to an error of SQLite.
    static func of<Value>(_ body: () throws(StreamError) -> Value) throws(SQLiteError) -> Value {
        do throws(StreamError) { return try body() } catch { throw SQLiteError(error) }
    }

    /// Returns this error as one that sinks throw, with this error as its cause.
    public func streamError(_ kind: StreamError.Kind) -> StreamError {
        streamError ?? StreamError(kind, description, cause: self)
    }
}

extension StreamError {
    /// The SQLite error that caused this one, or nil if the cause is something else.
    public var sqliteError: SQLiteError? { cause as? SQLiteError }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension SQLiteError: SelfTesting {
    /// The tests of this type.
    public static var testSelectors: TestSelectors {
        [
            "testDescribesCodeMessageAndSQL": testDescribesCodeMessageAndSQL,
            "testCutsLongStatements": testCutsLongStatements,
            "testReadsCodeAndMessageOfTheConnection": testReadsCodeAndMessageOfTheConnection,
            "testConvertsToStreamErrorsAndBack": testConvertsToStreamErrorsAndBack,
        ]
    }

    private static func testDescribesCodeMessageAndSQL() {
        let error = SQLiteError(.constraintUnique, "UNIQUE constraint failed: t.a", sql: "INSERT INTO t VALUES (?)")
        expectEqual(
            error.description,
            "UNIQUE constraint failed: t.a (SQLITE_CONSTRAINT 2067), in: INSERT INTO t VALUES (?)", "description")
        expectEqual(error.code, .constraint, "primary code")
    }

    private static func testCutsLongStatements() {
        let sql = String(repeating: "é", count: 500) + "x"
        for offset in [0, 1, 81, 82, 83, 500, 999, 1000, 1001] {
            let text = SQLiteError(.error, "m", sql: sql, byteOffset: offset).description
            expectTrue(text.contains("é"), "a part of the statement around \(offset)")
            expectFalse(text.contains("\u{FFFD}"), "no broken character around \(offset)")
            expectLessThan(text.utf8.count, 230, "length around \(offset)")
        }
    }

    private static func testReadsCodeAndMessageOfTheConnection() throws {
        let connection = try SQLiteConnection.inMemory()
        try connection.execute("CREATE TABLE t (a UNIQUE); INSERT INTO t VALUES (1)")
        let error = expectThrows(SQLiteError.self, "a duplicate") {
            try connection.execute("INSERT INTO t VALUES (1)")
        }
        expectEqual(error?.extendedCode, .constraintUnique, "extended code")
        expectEqual(error?.message, "UNIQUE constraint failed: t.a", "message")
        expectEqual(error?.sql, "INSERT INTO t VALUES (1)", "statement")
    }

    private static func testConvertsToStreamErrorsAndBack() {
        let error = SQLiteError(.full, "database or disk is full")
        expectEqual(SQLiteError(error.streamError(.cannotWrite)), error, "there and back")
        let refusal = StreamError(.typeMismatch, "expected a string, found null")
        expectEqual(SQLiteError(refusal).streamError(.cannotWrite), refusal, "the other way round")
    }
}
#endif
