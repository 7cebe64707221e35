// A connection to a database: opening, closing, statements and scripts. Transactions are in `+Transactions`.

import CSystemSQLite
import PlistStreaming

/// A connection to a SQLite database, which is closed when it and its statements are gone.
///
/// ```swift
/// let connection = try SQLiteConnection(path: "tasks.sqlite", options: SQLiteOptions(access: .create))
/// try connection.execute("CREATE TABLE tasks (id INTEGER PRIMARY KEY, title TEXT NOT NULL)")
/// try connection.run("INSERT INTO tasks (title) VALUES (?)", ["Paint the fence"])
/// ```
///
/// A connection and its statements are for one thread or task at a time; open one for each. Only its ``interrupter`` is
/// `Sendable`. When the task is cancelled, the statement that it runs throws ``SQLiteResultCode/interrupt``, and so does what
/// it runs afterwards, unless that is short; ends of transactions excepted. What is to run nevertheless is for a task of its own. Needs
/// SQLite 3.38 or later.
@safe
public final class SQLiteConnection {
    // SAFETY: set once by the initializer; nil after `close`, which ends all statements first.
    private var openHandle: OpaquePointer?
    /// Interrupts what this connection is doing, from any thread.
    public let interrupter: SQLiteInterrupter
    /// Interrupts what it is doing when its task is cancelled.
    let cancellation: TaskCancellation
    /// What the connection was opened with.
    public let options: SQLiteOptions
    /// The path it was opened with; `:memory:` for a database in memory.
    public let path: String
    /// Statements that no one uses now, kept for their next use; the latest last.
    private(set) var idleStatements: [IdleStatement] = []
    /// The statement that counts for `schemaExpirationCount`, made when it is first needed.
    private var expiringStatement: OpaquePointer?
    /// The number of such statements that ended, since the connection stays open where closing it fails.
    private var expiringStatementCount: Int64 = 0
    /// The virtual tables through which rows are inserted, made when they are first needed.
    private(set) lazy var rowModule = RowModule()
    /// Why the open transaction, or a part of it, could not be rolled back; until ``rollBack()`` does, nothing else runs.
    public internal(set) var rollbackFailure: SQLiteError?
    /// A Boolean value that indicates whether the file could not be written since it was read after a rollback.
    var hasFailedToWrite = false
    /// The transactions and savepoints that are open through `beginScope`, by their numbers, the innermost last.
    var openScopes: [Int] = []
    /// The number of those that were ever begun.
    var scopeCount = 0
    /// The function that takes the rows of queries, and which queries it is worth for.
    var scans = RowScanChoice()

    /// Opens a database.
    ///
    /// - Throws: ``SQLiteResultCode/cannotOpen`` with the system's reason; what the first access of the file finds. Whether a
    ///   file is a database at all is found by the first statement, unless an option needs it sooner.
    public init(path: String, options: SQLiteOptions = SQLiteOptions()) throws(SQLiteError) {
        guard !path.isEmpty, !path.utf8.contains(0) else {
            throw SQLiteError(.cannotOpen, "expected the path of a database, found an empty one or one with NUL")
        }
        self.path = path
        self.options = options
        var opened: OpaquePointer?
        // SAFETY: SQLite may return a handle even when it fails; it is closed below.
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
        try configure()
    }

    /// Opens an empty database in memory, which ends with the connection.
    ///
    /// - Throws: `noMemory`; what applying the options throws.
    public static func inMemory(
        options: SQLiteOptions = SQLiteOptions(access: .create)
    ) throws(SQLiteError) -> SQLiteConnection {
        try SQLiteConnection(path: ":memory:", options: options)
    }

    deinit {
        interrupter.invalidate()
        // SAFETY: no statement is left but the idle ones, since each other one has a reference to this connection.
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
            // A database in memory knows `memory` and `off` only, and says so.
            guard actual == mode.rawValue || path == ":memory:" else {
                throw SQLiteError(
                    .error, "expected the journal mode \(mode.rawValue), the database stays in \(actual ?? "none")")
            }
        }
        if let synchronization = options.synchronization {
            try execute("PRAGMA synchronous = \(synchronization.rawValue)")
        }
    }

    /// A statement of SQLite that the connection owns.
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

    /// SQLite's handle, nil after closing.
    package var handle: OpaquePointer? { unsafe openHandle }

    /// Throws the error of a result code.
    package func check(_ code: Int32, sql: String? = nil) throws(SQLiteError) {
        if code != SQLITE_OK { throw unsafe SQLiteError.make(code, handle, sql: sql) }
    }

    /// Closes the database. Without it, the connection is closed when it and its statements are gone.
    ///
    /// - Throws: ``SQLiteResultCode/busy`` while statements of this connection are alive; the connection stays open then.
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
    /// - Throws: A syntax error with its byte offset; `misuse` for SQL with no statement or several, and for SQL with NUL.
    public func prepare(_ sql: String) throws(SQLiteError) -> SQLiteStatement {
        try unsafe SQLiteStatement(self, prepareHandle(sql), sql: sql, isKept: false)
    }

    /// Prepares one statement, or takes one that was prepared from the same SQL earlier and is not in use.
    ///
    /// When the statement is gone, the connection keeps what SQLite compiled for the next call with the same SQL.
    /// - Throws: What ``prepare(_:)`` throws.
    public func cachedStatement(_ sql: String) throws(SQLiteError) -> SQLiteStatement {
        try checkIsRolledBack()
        // By bytes: `==` takes a composed "é" for a decomposed one, which SQL does not.
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

    /// Keeps a statement that no one uses, or finalizes it when there are enough.
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

    // SPEC: https://sqlite.org/c3ref/c_stmtstatus_counter.html: SQLite compiles statements anew after each change of a schema,
    // and after each rollback of one, which gives the schema its old version back.
    /// How often what is known of the schemas went out of date.
    ///
    /// - Throws: What reading a schema throws.
    func schemaExpirationCount() throws(SQLiteError) -> Int64 {
        if unsafe expiringStatement == nil { unsafe expiringStatement = try prepareHandle("SELECT 1") }
        let code = unsafe sqlite3_step(expiringStatement)
        unsafe sqlite3_reset(expiringStatement)
        if code != SQLITE_ROW { try check(code) }
        let count = unsafe sqlite3_stmt_status(expiringStatement, SQLITE_STMTSTATUS_REPREPARE, 0)
        return expiringStatementCount << 32 | Int64(count)
    }

    /// Runs all statements of a script, and ignores the rows they give.
    ///
    /// The script is no transaction unless it says so: what ran before an error stays.
    /// - Throws: The first error, with the script and the byte offset in it.
    public func execute(_ script: String) throws(SQLiteError) {
        try checkIsRolledBack()
        var statements = try SQLiteScript(script)
        while let statement = try statements.next(of: self) {
            while try statement.step() {}
        }
    }

    /// Runs one statement with values for its parameters, and ignores the rows it gives.
    ///
    /// - Returns: The number of rows that it inserted, updated or deleted; 0 for other statements.
    /// - Throws: What ``prepare(_:)``, binding the values and running the statement throw.
    @discardableResult
    public func run(_ sql: String, _ parameters: SQLiteParameters = .none) throws(SQLiteError) -> Int {
        try cachedStatement(sql).run(parameters)
    }

    /// Runs one statement and returns the first cell of its first row; nil when there is no row.
    ///
    /// A statement that only reads is not run beyond that row.
    /// - Throws: What ``prepare(_:)``, binding the values and running the statement throw.
    public func value(_ sql: String, _ parameters: SQLiteParameters = .none) throws(SQLiteError) -> SQLiteValue? {
        let statement = try cachedStatement(sql)
        try statement.bind(parameters)
        guard try statement.step(), statement.columnCount > 0 else { return nil }
        let value = try statement.value(at: 0)
        // Whether changes are kept is told behind the last row.
        if !statement.isReadOnly { while try statement.step() {} }
        return value
    }

    // MARK: State

    /// The row id of the last row that this connection inserted; 0 before the first.
    public var lastInsertRowID: Int64 { unsafe openHandle.map { unsafe sqlite3_last_insert_rowid($0) } ?? 0 }

    /// The number of rows that this connection inserted, updated or deleted since it was opened, triggers included.
    public var totalChangeCount: Int { unsafe openHandle.map { unsafe Int(sqlite3_total_changes64($0)) } ?? 0 }

    /// The number of rows that the last INSERT, UPDATE or DELETE changed, without those that triggers changed.
    public var changeCount: Int { unsafe openHandle.map { unsafe Int(sqlite3_changes64($0)) } ?? 0 }

    /// A Boolean value that indicates whether a transaction is open.
    public var isInTransaction: Bool { unsafe openHandle.map { unsafe sqlite3_get_autocommit($0) == 0 } ?? false }

    /// Returns a bound of this connection.
    public func limit(_ limit: SQLiteLimit) -> Int {
        guard let handle = unsafe openHandle else { return 0 }
        return unsafe Int(sqlite3_limit(handle, limit.rawValue, -1))
    }

    /// Sets a bound of this connection; one above SQLite's own bound becomes that.
    ///
    /// - Returns: The bound before.
    @discardableResult
    public func setLimit(_ limit: SQLiteLimit, to value: Int) -> Int {
        precondition(value >= 0, "a limit is not negative")
        guard let handle = unsafe openHandle else { return 0 }
        return unsafe Int(sqlite3_limit(handle, limit.rawValue, Int32(clamping: value)))
    }
}
