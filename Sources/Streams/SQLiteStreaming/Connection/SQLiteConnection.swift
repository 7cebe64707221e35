// A connection to a database: opens and closes it, prepares and runs statements and scripts. Transactions are in
// `+Transactions`.

import CSystemSQLite
import PlistStreaming

/// A connection to a SQLite database. It closes when it and all its statements are released.
///
/// ```swift
/// let connection = try SQLiteConnection(path: "tasks.sqlite", options: SQLiteOptions(access: .create))
/// try connection.execute("CREATE TABLE tasks (id INTEGER PRIMARY KEY, title TEXT NOT NULL)")
/// try connection.run("INSERT INTO tasks (title) VALUES (?)", ["Paint the fence"])
/// ```
///
/// Use a connection and its statements from one thread or task at a time, and open a connection for each of them. Only its
/// ``interrupter`` is `Sendable`. If the task is cancelled, the running statement throws ``SQLiteResultCode/interrupt``.
/// Later statements in that task do too, except short ones and those that end transactions. Run cleanup statements in a new
/// task. Requires SQLite 3.38 or later.
@safe
public final class SQLiteConnection {
    // SAFETY: set once by the initializer; nil after `close`, which ends all statements first.
    private var openHandle: OpaquePointer?
    /// Interrupts the running statements of this connection from any thread.
    public let interrupter: SQLiteInterrupter
    /// Interrupts the running statements when their task is cancelled.
    let cancellation: TaskCancellation
    let transactions: TransactionWatch
    /// The options that the connection was opened with.
    public let options: SQLiteOptions
    /// The path of the database file, or `:memory:` for a database in memory.
    public let path: String
    /// The statements kept for reuse, the most recently used one last.
    private(set) var idleStatements: [IdleStatement] = []
    /// The statement that counts changes for `schemaExpirationCount`, prepared on first use.
    private var expiringStatement: OpaquePointer?
    /// The number of counting statements finalized so far. A connection that can't be closed stays open and makes a new one.
    private var expiringStatementCount: Int64 = 0
    /// The virtual tables that rows are inserted from, created on first use.
    private(set) lazy var rowModule = RowModule()
    /// The error of the open transaction or savepoint that couldn't be rolled back. No statement runs until ``rollBack()``
    /// succeeds.
    public internal(set) var rollbackFailure: SQLiteError?
    /// A Boolean value that indicates whether writing the file has failed since the last read after a rollback.
    var hasFailedToWrite = false
    /// The numbers of the transactions and savepoints opened by `beginScope`, the innermost last.
    var openScopes: [Int] = []
    /// The number of scopes ever begun.
    var scopeCount = 0
    /// The function that receives the rows of queries, and the record of the queries it is used for.
    var scans = RowScanChoice()

    /// Opens a database.
    ///
    /// - Throws: ``SQLiteResultCode/cannotOpen`` with the system's reason; errors of the first access to the file. A file
    ///   that isn't a database is detected by the first statement, or here if an option has to access the file.
    public init(path: String, options: SQLiteOptions = SQLiteOptions()) throws(SQLiteError) {
        guard !path.isEmpty, !path.utf8.contains(0) else {
            throw SQLiteError(
                .cannotOpen, "expected the path of a database, found an empty path or one with a NUL character")
        }
        self.path = path
        self.options = options
        var opened: OpaquePointer?
        // SAFETY: SQLite may return a handle even if it fails; it is closed below.
        let name = options.fileParameters.map { SQLiteOptions.uri(ofFile: path, $0) } ?? path
        let code = unsafe sqlite3_open_v2(name, &opened, options.flags, nil)
        guard let opened = unsafe opened, code == SQLITE_OK else {
            let error = unsafe SQLiteError.make(code == SQLITE_OK ? SQLITE_NOMEM : code, opened)
            unsafe sqlite3_close_v2(opened)
            throw SQLiteError(error.extendedCode, "\(path.debugDescription): \(error.message)")
        }
        unsafe openHandle = opened
        unsafe interrupter = SQLiteInterrupter(opened)
        unsafe cancellation = TaskCancellation(opened)
        unsafe transactions = TransactionWatch(opened)
        try configure()
    }

    /// Opens an empty database in memory, which exists until the connection is closed.
    ///
    /// - Throws: `noMemory`; errors of applying the options.
    public static func inMemory(
        options: SQLiteOptions = SQLiteOptions(access: .create)
    ) throws(SQLiteError) -> SQLiteConnection {
        try SQLiteConnection(path: ":memory:", options: options)
    }

    deinit {
        interrupter.invalidate()
        // SAFETY: only the idle statements are left, since every other statement retains this connection.
        finalizeIdleStatements()
        unsafe sqlite3_close_v2(openHandle)
    }

    private func configure() throws(SQLiteError) {
        let handle = try unsafe requireHandle()
        let components = options.busyTimeout.components
        let milliseconds = components.seconds.multipliedReportingOverflow(by: 1_000)
        let timeout = milliseconds.overflow ? Int64.max : milliseconds.partialValue
        try unsafe check(
            sqlite3_busy_timeout(
                handle,
                Int32(clamping: timeout &+ components.attoseconds / 1_000_000_000_000_000)))
        if !options.allowsDoubleQuotedStrings {
            try unsafe check(csqlite_configure(handle, SQLITE_DBCONFIG_DQS_DML, 0))
        }
        try unsafe check(
            csqlite_configure(handle, SQLITE_DBCONFIG_ENABLE_FKEY, options.enforcesForeignKeys ? 1 : 0))
        if let mode = options.journalMode {
            let statement = try prepare("PRAGMA journal_mode = \(mode.rawValue)")
            let isRow = try statement.step()
            let actual = isRow ? try statement.text(at: 0) : nil
            // A database in memory supports only the modes `memory` and `off`, and reports the actual one.
            guard actual == mode.rawValue || path == ":memory:" else {
                throw SQLiteError(
                    .error, "expected the journal mode \(mode.rawValue), the database stays in \(actual ?? "none")")
            }
        }
        if let synchronization = options.synchronization {
            try execute("PRAGMA synchronous = \(synchronization.rawValue)")
        }
    }

    /// A prepared statement of SQLite that the connection owns.
    @safe
    struct IdleStatement {
        let sql: String
        let handle: OpaquePointer
    }

    /// SQLite's handle.
    package func requireHandle() throws(SQLiteError) -> OpaquePointer {
        guard let handle = unsafe openHandle else { throw SQLiteError(.misuse, "the connection is closed") }
        return unsafe handle
    }

    /// SQLite's handle, or nil after the connection is closed.
    package var handle: OpaquePointer? { unsafe openHandle }

    /// Throws an error for a result code other than `SQLITE_OK`.
    package func check(_ code: Int32, sql: String? = nil) throws(SQLiteError) {
        if code != SQLITE_OK { throw unsafe SQLiteError.make(code, handle, sql: sql) }
    }

    /// Closes the database. Otherwise it closes when the connection and all its statements are released.
    ///
    /// - Throws: ``SQLiteResultCode/busy`` while statements of this connection exist; the connection then stays open.
    public func close() throws(SQLiteError) {
        guard let handle = unsafe openHandle else { return }
        finalizeIdleStatements()
        let code = unsafe sqlite3_close(handle)
        guard code == SQLITE_OK else { throw unsafe SQLiteError.make(code, handle) }
        interrupter.invalidate()
        unsafe openHandle = nil
    }

    // MARK: Statements

    /// Prepares one statement.
    ///
    /// - Throws: A syntax error with its byte offset; `misuse` for SQL without a statement, with several statements, or with
    ///   NUL.
    public func prepare(_ sql: String) throws(SQLiteError) -> SQLiteStatement {
        try unsafe SQLiteStatement(self, prepareHandle(sql), sql: sql, isKept: false)
    }

    /// Returns a statement for the SQL, reusing an earlier one that isn't in use.
    ///
    /// When the statement is released, the connection keeps its compiled form for the next call with the same SQL.
    /// - Throws: The errors of ``prepare(_:)``.
    public func cachedStatement(_ sql: String) throws(SQLiteError) -> SQLiteStatement {
        try checkIsRolledBack()
        // By bytes: for `==`, a composed and a decomposed "é" are equal, but for SQL they aren't.
        if let index = idleStatements.lastIndex(where: { $0.sql == sql && $0.sql.utf8.elementsEqual(sql.utf8) }) {
            return unsafe SQLiteStatement(self, idleStatements.remove(at: index).handle, sql: sql, isKept: true)
        }
        return try unsafe SQLiteStatement(self, prepareHandle(sql), sql: sql, isKept: true)
    }

    private func prepareHandle(_ sql: String) throws(SQLiteError) -> OpaquePointer {
        try checkIsRolledBack()
        var script = try SQLiteScript(sql)
        guard let handle = try unsafe script.nextHandle(of: self) else {
            throw SQLiteError(.misuse, "expected a statement, found none", sql: sql)
        }
        let end = script.byteOffset
        do throws(SQLiteError) {
            guard let other = try unsafe script.nextHandle(of: self) else { return unsafe handle }
            unsafe sqlite3_finalize(other)
            throw SQLiteError(.misuse, "expected one statement, found another after it", sql: sql, byteOffset: end)
        } catch {
            unsafe sqlite3_finalize(handle)
            throw error
        }
    }

    /// Keeps a statement for reuse. If the cache is full, finalizes the oldest one.
    func takeBack(_ statement: OpaquePointer, sql: String) {
        guard unsafe openHandle != nil, options.statementCacheSize > 0 else {
            unsafe sqlite3_finalize(statement)
            return
        }
        unsafe sqlite3_reset(statement)
        unsafe sqlite3_clear_bindings(statement)
        if idleStatements.count >= options.statementCacheSize {
            unsafe sqlite3_finalize(idleStatements.removeFirst().handle)
        }
        unsafe idleStatements.append(IdleStatement(sql: sql, handle: statement))
    }

    private func finalizeIdleStatements() {
        for statement in idleStatements { unsafe sqlite3_finalize(statement.handle) }
        idleStatements = []
        unsafe sqlite3_finalize(expiringStatement)
        unsafe expiringStatement = nil
        expiringStatementCount += 1
    }

    // SPEC: https://sqlite.org/c3ref/c_stmtstatus_counter.html: SQLite recompiles statements after each change of a schema, and
    // after each rollback of such a change, which restores the old version number.
    /// Returns the number of times that cached facts about the schemas became outdated.
    ///
    /// - Throws: The errors of reading a schema.
    func schemaExpirationCount() throws(SQLiteError) -> Int64 {
        if unsafe expiringStatement == nil { unsafe expiringStatement = try prepareHandle("SELECT 1") }
        let code = unsafe sqlite3_step(expiringStatement)
        unsafe sqlite3_reset(expiringStatement)
        if code != SQLITE_ROW { try check(code) }
        let count = unsafe sqlite3_stmt_status(expiringStatement, SQLITE_STMTSTATUS_REPREPARE, 0)
        return expiringStatementCount << 32 | Int64(count)
    }

    /// Runs all statements of a script and ignores the rows they return.
    ///
    /// The script is a transaction only if it contains the statements for one; otherwise the changes before an error stay.
    /// - Throws: The first error, with the script and the byte offset in it.
    public func execute(_ script: String) throws(SQLiteError) {
        try checkIsRolledBack()
        var statements = try SQLiteScript(script)
        while let statement = try statements.next(of: self) {
            while try statement.step() {}
        }
    }

    /// Runs one statement with values for its parameters and ignores the rows it returns.
    ///
    /// - Returns: The number of rows that it inserted, updated or deleted, or 0 for other statements.
    /// - Throws: The errors of ``prepare(_:)``, of binding the values and of running the statement.
    @discardableResult
    public func run(_ sql: String, _ parameters: SQLiteParameters = .none) throws(SQLiteError) -> Int {
        try cachedStatement(sql).run(parameters)
    }

    /// Runs one statement and returns the first cell of its first row, or nil if there are no rows.
    ///
    /// A statement that only reads stops after that row.
    /// - Throws: The errors of ``prepare(_:)``, of binding the values and of running the statement.
    public func value(_ sql: String, _ parameters: SQLiteParameters = .none) throws(SQLiteError) -> SQLiteValue? {
        let statement = try cachedStatement(sql)
        try statement.bind(parameters)
        guard try statement.step(), statement.columnCount > 0 else { return nil }
        let value = try statement.value(at: 0)
        // A statement that changes rows commits or fails only after its last row.
        if !statement.isReadOnly { while try statement.step() {} }
        return value
    }

    // MARK: State

    /// The row id of the last row that this connection inserted, or 0 before the first.
    public var lastInsertRowID: Int64 { unsafe openHandle.map { unsafe sqlite3_last_insert_rowid($0) } ?? 0 }

    /// The number of rows that this connection has inserted, updated or deleted since it was opened, including those changed
    /// by triggers.
    public var totalChangeCount: Int { unsafe openHandle.map { unsafe Int(sqlite3_total_changes64($0)) } ?? 0 }

    /// The number of rows that the last INSERT, UPDATE or DELETE changed, excluding those changed by triggers.
    public var changeCount: Int { unsafe openHandle.map { unsafe Int(sqlite3_changes64($0)) } ?? 0 }

    /// A Boolean value that indicates whether a transaction is open.
    public var isInTransaction: Bool { unsafe openHandle.map { unsafe sqlite3_get_autocommit($0) == 0 } ?? false }

    /// Returns a limit of this connection.
    public func limit(_ limit: SQLiteLimit) -> Int {
        guard let handle = unsafe openHandle else { return 0 }
        return unsafe Int(sqlite3_limit(handle, limit.rawValue, -1))
    }

    /// Sets a limit of this connection. A value above SQLite's own limit is reduced to that limit.
    ///
    /// - Returns: The previous limit.
    @discardableResult
    public func setLimit(_ limit: SQLiteLimit, to value: Int) -> Int {
        precondition(value >= 0, "a limit must not be negative")
        guard let handle = unsafe openHandle else { return 0 }
        return unsafe Int(sqlite3_limit(handle, limit.rawValue, Int32(clamping: value)))
    }
}
