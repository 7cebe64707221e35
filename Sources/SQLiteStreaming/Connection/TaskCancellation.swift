// What a cancelled task runs is interrupted: SQLite asks for it every few thousand instructions of a statement. So there is
// nothing to do at the doors, which are not asynchronous, and a statement of a few rows costs nothing.

import CSystemSQLite
import PlistStreaming

/// Interrupts the statements of a connection whose task is cancelled.
@safe
final class TaskCancellation {
    @unsafe
    private struct State {
        let connection: OpaquePointer
        /// Whether the statement that runs is to end whatever happens.
        var isDeferred = false
    }

    // PERF: SQLite/reading; a statement that is stepped takes 117 ns for a row of four columns, with the handler and without.
    private static let instructionCount: Int32 = 10_000
    /// What the error says.
    static let words = "interrupted, since the task is cancelled"

    // SAFETY: SQLite's handler reads it while the connection runs a statement; the connection closes before it gives this up.
    private let state: UnsafeMutablePointer<State>

    init(_ connection: OpaquePointer) {
        unsafe state = .allocate(capacity: 1)
        unsafe state.initialize(to: State(connection: connection))
        unsafe sqlite3_progress_handler(
            connection, Self.instructionCount,
            { state in
                // A statement runs where its task does; on a thread of its own there is none.
                guard Task.isCancelled, let state = unsafe state?.assumingMemoryBound(to: State.self) else { return 0 }
                return unsafe TaskCancellation.interrupts(state.pointee) ? 1 : 0
            }, state)
    }

    deinit { unsafe state.deallocate() }

    // SPEC: sqlite3VdbeExec of sqlite/src/vdbe.c: the handler is asked at jumps and also when a statement has ended, which is
    // an error then though all that it did is kept.
    /// Whether the statement that runs is to end with an error now.
    private static func interrupts(_ state: State) -> Bool {
        if unsafe state.isDeferred { return false }
        var (isReading, isWriting) = (false, false)
        var statement = unsafe sqlite3_next_stmt(state.connection, nil)
        while let one = unsafe statement {
            if unsafe sqlite3_stmt_busy(one) != 0 {
                if unsafe sqlite3_stmt_readonly(one) != 0 { isReading = true } else { isWriting = true }
            }
            unsafe statement = unsafe sqlite3_next_stmt(state.connection, one)
        }
        // A transaction is rolled back when one of its statements fails.
        if unsafe isWriting || isReading && sqlite3_get_autocommit(state.connection) == 0 { return true }
        // This may be the end of one that wrote, beside rows that are open: SQLite ends those with their next jump.
        if isReading { unsafe sqlite3_interrupt(state.connection) }
        return false
    }

    /// Calls a closure whose statements end also in a cancelled task: those that begin, keep and undo transactions.
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
            "testLeavesOtherTasksAlone": testLeavesOtherTasksAlone,
        ]
    }

    private static let endless = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"

    /// Runs a closure in a task of its own, and returns its error.
    private static func error(_ body: @escaping @Sendable () throws -> Void) async -> SQLiteError? {
        await Task.detached { expectThrows(SQLiteError.self, "a cancelled task") { try body() } }.value
    }

    private static func cancel() { unsafe withUnsafeCurrentTask { unsafe $0?.cancel() } }

    private static func check(_ error: SQLiteError?, _ message: String) {
        expectEqual(error?.code, .interrupt, "code of \(message)")
        expectEqual(error?.message, words, "message of \(message)")
    }

    private static func testInterruptsALongStatement() async throws {
        let before = await error {
            let connection = try SQLiteConnection.inMemory()
            cancel()
            _ = try connection.value(endless)
        }
        check(before, "a statement of a task that is cancelled already")
        // Whether it has begun or not.
        let task = Task.detached {
            expectThrows(SQLiteError.self, "an endless statement") {
                _ = try SQLiteConnection.inMemory().value(endless)
            }
        }
        task.cancel()
        check(await task.value, "a statement that runs while the task is cancelled")
    }

    private static func testInterruptsManyShortStatements() async throws {
        let lent = Lent(connection: try SQLiteConnection.inMemory())
        try lent.connection.execute("CREATE TABLE t (a)")
        let inserting = await error {
            let insert = try lent.connection.prepare("INSERT INTO t VALUES (?)")
            let reader = try lent.connection.prepare("VALUES (1), (2)")
            cancel()
            var count = 0
            defer { expectEqual(try? lent.connection.value("SELECT count(*) FROM t"), .integer(Int64(count)), "rows") }
            for number in 0..<100_000 {
                // Also beside an open statement no row is there of which an error said that it is not.
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
            ("select", { _ = try $0.select() }), ("select with a condition", { _ = try $0.select(where: \.id > 0) }),
            ("save", { try $0.save((0..<5_000).map { Item(id: $0, title: "another") }) }),
            ("insert", { try $0.insert(Array(repeating: Item(), count: 5_000)) }),
            ("update", { try $0.updateAll(.set(\.title, "x")) }), ("delete", { try $0.delete(where: \.title != "") }),
            (
                "rows",
                {
                    let rows = try $0.rows(); while try rows.next() != nil {}
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
            let lent = Lent(connection: try SQLiteConnection.inMemory())
            let table = try SQLiteTable<Item>(lent.connection, "items")
            try table.insert(Array(repeating: Item(), count: 5_000))
            let error = await error {
                let table = try SQLiteTable<Item>(lent.connection, "items")
                cancel()
                try work(table)
            }
            expectEqual(error?.code, .interrupt, "code of \(name): \(error as Any)")
            expectEqual(try table.count(where: \.title == "a title"), 5_000, "rows after \(name)")
        }
    }

    /// A connection that goes from one task to the next.
    private struct Lent: @unchecked Sendable { let connection: SQLiteConnection }

    private static func testUndoesTheTransaction() async throws {
        for work in [
            "INSERT INTO t WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n", endless,
        ] {
            let lent = Lent(connection: try SQLiteConnection.inMemory())
            try lent.connection.execute("CREATE TABLE t (a); INSERT INTO t VALUES (0)")
            let error = await error {
                try lent.connection.transaction {
                    try lent.connection.run("INSERT INTO t VALUES (1)")
                    cancel()
                    try lent.connection.execute(work)
                }
            }
            check(error, work)
            let connection = lent.connection
            expectFalse(connection.isInTransaction, "in a transaction")
            expectNil(connection.rollbackFailure, "after \(work)")
            expectEqual(try connection.value("SELECT group_concat(a) FROM t"), "0", "rows")
            // Here nothing is cancelled.
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
                // So often that each is asked, since statements count their instructions from one use to the next.
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

    private static func testLeavesOtherTasksAlone() async throws {
        let long = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 20000) SELECT max(i) FROM n"
        expectEqual(try SQLiteConnection.inMemory().value(long), 20_000, "in a task that goes on")
        let other = Task.detached { cancel() }
        await other.value
        expectEqual(try SQLiteConnection.inMemory().value(long), 20_000, "after another one was cancelled")
    }
}
#endif
