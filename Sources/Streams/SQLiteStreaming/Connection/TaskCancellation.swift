// Interrupts the statements of a cancelled task. SQLite calls a handler every few thousand instructions of a statement, so
// the functions that run statements don't have to be asynchronous, and a statement of a few rows has no overhead.

import CSystemSQLite
import PlistStreaming

/// Interrupts the statements of a connection whose task is cancelled.
@safe
final class TaskCancellation {
    @unsafe
    private struct State {
        /// The statement that is being stepped, or nil.
        var running: OpaquePointer?
        /// A Boolean value that indicates whether the statement runs to its end even if the task is cancelled.
        var isDeferred = false
        /// A Boolean value that indicates whether the next statement is interrupted before it is stepped, because the handler
        /// saw the cancellation only after a statement had ended.
        var isPending = false
    }

    // PERF: SQLite/reading; stepping a statement takes 117 ns for a row of four columns, with and without the handler.
    private static let instructionCount: Int32 = 10_000
    /// The message of the error.
    static let cancelledMessage = "interrupted, because the task is cancelled"

    // SAFETY: SQLite's handler reads it while the connection runs a statement; the connection closes before it releases this
    // object.
    private let state: UnsafeMutablePointer<State>

    init(_ connection: OpaquePointer) {
        unsafe state = .allocate(capacity: 1)
        unsafe state.initialize(to: State())
        unsafe sqlite3_progress_handler(
            connection, Self.instructionCount,
            { state in
                // A statement runs in the thread of its task; a thread without a task can't be cancelled.
                guard Task.isCancelled, let state = unsafe state?.assumingMemoryBound(to: State.self),
                    unsafe !state.pointee.isDeferred, let running = unsafe state.pointee.running
                else { return 0 }
                // SPEC: sqlite3VdbeExec of sqlite/src/vdbe.c: SQLite calls the handler at jumps, and also after a statement
                // has ended. An interrupt at that point would be reported as an error although all changes are kept.
                let isBusy = unsafe sqlite3_stmt_busy(running) != 0
                if !isBusy { unsafe state.pointee.isPending = true }
                return isBusy ? 1 : 0
            }, state)
    }

    deinit { unsafe state.deallocate() }

    /// Steps a statement and makes it known to the handler.
    @inline(__always)  // PERF: SQLite/reading; once a row.
    func step(_ statement: OpaquePointer) -> Int32 {
        if unsafe state.pointee.isPending, unsafe !state.pointee.isDeferred {
            unsafe state.pointee.isPending = false
            if Task.isCancelled { return SQLITE_INTERRUPT }
        }
        // A function that SQLite calls may step other statements meanwhile.
        let before = unsafe state.pointee.running
        unsafe state.pointee.running = statement
        defer { unsafe state.pointee.running = before }
        return unsafe sqlite3_step(statement)
    }

    /// Calls a closure whose statements also finish in a cancelled task: those that begin, keep and undo transactions.
    func deferred(_ body: () throws(SQLiteError) -> Void) throws(SQLiteError) {
        let before = unsafe state.pointee.isDeferred
        unsafe state.pointee.isDeferred = true
        defer { unsafe state.pointee.isDeferred = before }
        try body()
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistBuilding

extension TaskCancellation: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testInterruptsALongStatement": testInterruptsALongStatement,
            "testInterruptsManyShortStatements": testInterruptsManyShortStatements,
            "testInterruptsReadingAndInserting": testInterruptsReadingAndInserting,
            "testUndoesTheTransaction": testUndoesTheTransaction,
            "testEndsTransactionsInACancelledTask": testEndsTransactionsInACancelledTask,
            "testDoesNotAffectOtherTasks": testDoesNotAffectOtherTasks,
            "testKeepsOnlyReportedRows": testKeepsOnlyReportedRows,
            "testBeginsTransactionsDespiteOpenRows": testBeginsTransactionsDespiteOpenRows,
        ]
    }

    private static let endless = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"

    /// Runs a closure in a detached task and returns its error.
    private static func error(_ body: @escaping @Sendable () throws -> Void) async -> SQLiteError? {
        await Task.detached { expectThrows(SQLiteError.self, "a cancelled task") { try body() } }.value
    }

    private static func cancel() { unsafe withUnsafeCurrentTask { unsafe $0?.cancel() } }

    private static func check(_ error: SQLiteError?, _ message: String) {
        expectEqual(error?.code, .interrupt, "code of \(message)")
        expectEqual(error?.message, cancelledMessage, "message of \(message)")
    }

    private static func testInterruptsALongStatement() async throws {
        let before = await error {
            let connection = try SQLiteConnection.inMemory()
            cancel()
            _ = try connection.value(endless)
        }
        check(before, "a statement of a task that is cancelled already")
        // Regardless of whether the task has begun.
        let task = Task.detached {
            expectThrows(SQLiteError.self, "an endless statement") {
                _ = try SQLiteConnection.inMemory().value(endless)
            }
        }
        task.cancel()
        check(await task.value, "a statement that runs while the task is cancelled")
    }

    private static func testInterruptsManyShortStatements() async throws {
        let shared = SendableConnection(connection: try SQLiteConnection.inMemory())
        try shared.connection.execute("CREATE TABLE t (a)")
        let inserting = await error {
            let insert = try shared.connection.prepare("INSERT INTO t VALUES (?)")
            let reader = try shared.connection.prepare("VALUES (1), (2)")
            cancel()
            var count = 0
            defer {
                expectEqual(try? shared.connection.value("SELECT count(*) FROM t"), .integer(Int64(count)), "rows")
            }
            for number in 0..<100_000 {
                // Also while another statement is open, a row must not exist if its insertion threw an error.
                if number % 4_000 == 0 { _ = try reader.step() }
                if number % 4_000 == 2_000 { reader.reset() }
                try insert.run([number])
                count += 1
            }
        }
        check(inserting, "inserting row by row")
        let stepping = await error {
            let statement = try SQLiteConnection.inMemory().prepare("VALUES (1), (2), (3)")
            cancel()
            for _ in 0..<100_000 { while try statement.step() {} }
        }
        check(stepping, "stepping")
    }

    private struct Item: StreamObject, Sendable {
        var id: Int? = nil
        var title = "a title"
    }

    private static func testInterruptsReadingAndInserting() async throws {
        let works: [(String, @Sendable (SQLiteTable<Item>) throws -> Void)] = [
            ("select", { _ = try $0.fetchAll() }),
            ("select with a condition", { _ = try $0.fetchAll(where: \.id > 0) }),
            ("save", { try $0.save((0..<5_000).map { Item(id: $0, title: "another") }) }),
            ("insert", { try $0.insert(Array(repeating: Item(), count: 5_000)) }),
            ("update", { try $0.updateAll(.set(\.title, "x")) }), ("delete", { try $0.delete(where: \.title != "") }),
            (
                "rows",
                {
                    let rows = try $0.fetchCursor(); while try rows.next() != nil {}
                }
            ),
            (
                "send",
                { table in
                    var trace = EventTrace()
                    do throws(StreamError) { try table.send(to: &trace) } catch { throw SQLiteError(error) }
                }
            ),
        ]
        for (name, work) in works {
            let shared = SendableConnection(connection: try SQLiteConnection.inMemory())
            let table = try SQLiteTable<Item>(shared.connection, "items")
            try table.insert(Array(repeating: Item(), count: 5_000))
            let error = await error {
                let table = try SQLiteTable<Item>(shared.connection, "items")
                cancel()
                try work(table)
            }
            expectEqual(error?.code, .interrupt, "code of \(name): \(error as Any)")
            expectEqual(try table.count(where: \.title == "a title"), 5_000, "rows after \(name)")
        }
    }

    /// A connection that is passed from one task to another.
    private struct SendableConnection: @unchecked Sendable { let connection: SQLiteConnection }

    /// A transaction that is kept although one of its statements was interrupted, with and without open rows.
    private static func testKeepsOnlyReportedRows() async throws {
        for columnCount in 1...12 {
            for isBesideRows in [false, true] {
                let shared = SendableConnection(connection: try SQLiteConnection.inMemory())
                let names = (0..<columnCount).map { "c\($0)" }.joined(separator: ", ")
                try shared.connection.execute("CREATE TABLE t (\(names)); CREATE TABLE kept (n)")
                let counts: (added: Int, kept: Int64?) = try await Task.detached {
                    let connection = shared.connection
                    let reader = try connection.prepare("VALUES (1), (2)")
                    if isBesideRows { _ = try reader.step() }
                    cancel()
                    var added = 0
                    try? connection.transaction {
                        let values = Array(repeating: "0", count: columnCount).joined(separator: ", ")
                        let insert = try connection.prepare("INSERT INTO t VALUES (\(values))")
                        do {
                            for _ in 0..<100_000 {
                                try insert.run()
                                added += 1
                            }
                        } catch {}
                    }
                    reader.reset()
                    return (added, try shared.connection.value("SELECT count(*) FROM t")?.integer)
                }.value
                expectLessThan(counts.added, 100_000, "rows before the interrupt, of \(columnCount) columns")
                // SQLite may have undone the whole transaction; a rejected row must never exist.
                expectTrue(
                    counts.kept == Int64(counts.added) || counts.kept == 0,
                    "\(counts) rows of \(columnCount) columns beside rows: \(isBesideRows)")
            }
        }
    }

    /// The open rows of a cancelled task block neither its next transaction nor other tasks.
    private static func testBeginsTransactionsDespiteOpenRows() async throws {
        let shared = SendableConnection(connection: try SQLiteConnection.inMemory())
        try shared.connection.execute("CREATE TABLE t (a)")
        let reader = SendableStatement(statement: try shared.connection.prepare("VALUES (1), (2)"))
        _ = try reader.statement.step()
        let error = await error {
            cancel()
            _ = try shared.connection.value(endless)
        }
        check(error, "a long statement beside open rows")
        try shared.connection.transaction { try shared.connection.run("INSERT INTO t VALUES (1)") }
        expectEqual(try shared.connection.value("SELECT count(*) FROM t"), 1, "rows of a task that is not cancelled")
        expectTrue(try reader.statement.step(), "the rows go on")
        reader.statement.reset()
    }

    /// A statement that is passed from one task to another.
    private struct SendableStatement: @unchecked Sendable { let statement: SQLiteStatement }

    private static func testUndoesTheTransaction() async throws {
        for work in [
            "INSERT INTO t WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n", endless,
        ] {
            let shared = SendableConnection(connection: try SQLiteConnection.inMemory())
            try shared.connection.execute("CREATE TABLE t (a); INSERT INTO t VALUES (0)")
            let error = await error {
                try shared.connection.transaction {
                    try shared.connection.run("INSERT INTO t VALUES (1)")
                    cancel()
                    try shared.connection.execute(work)
                }
            }
            check(error, work)
            let connection = shared.connection
            expectFalse(connection.isInTransaction, "in a transaction")
            expectNil(connection.rollbackFailure, "after \(work)")
            expectEqual(try connection.value("SELECT group_concat(a) FROM t"), "0", "rows")
            // The task isn't cancelled here.
            try connection.transaction { _ = try connection.run("INSERT INTO t VALUES (2)") }
            expectEqual(try connection.value("SELECT sum(a) FROM t, (VALUES (1), (2))"), 4, "rows")
        }
    }

    private static func testEndsTransactionsInACancelledTask() async throws {
        let failure = await Task.detached { () -> (any Error)? in
            do {
                let connection = try SQLiteConnection.inMemory()
                try connection.execute("CREATE TABLE t (a)")
                let rows = try connection.prepare("VALUES (1), (2)")
                _ = try rows.step()
                cancel()
                // Often enough that the handler is called for each statement, since statements keep counting instructions
                // across uses.
                for number in 0..<8_000 {
                    try connection.begin()
                    if number % 2 == 0 { try connection.rollBack() } else { try connection.commit() }
                }
                expectTrue(rows.isOnRow, "rows that are open all the while")
                return nil
            } catch {
                return error
            }
        }.value
        expectNil(failure, "an error")
    }

    private static func testDoesNotAffectOtherTasks() async throws {
        let long = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 20000) SELECT max(i) FROM n"
        expectEqual(try SQLiteConnection.inMemory().value(long), 20_000, "in a task that goes on")
        let other = Task.detached { cancel() }
        await other.value
        expectEqual(try SQLiteConnection.inMemory().value(long), 20_000, "after another one was cancelled")
    }
}
#endif
