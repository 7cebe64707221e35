// A prepared statement. Its parameters are in `+Parameters`, its cells in `+Cells`.

import CSystemSQLite
import PlistStreaming

/// A prepared statement of a connection. Bind values to its parameters, then step from row to row.
///
/// ```swift
/// let statement = try connection.prepare("SELECT title FROM tasks WHERE done = :done")
/// try statement.bind(["done": false])
/// while try statement.step() { print(try statement.text(at: 0) ?? "-") }
/// ```
///
/// It retains its connection and is finalized when it is released. Use it only from the thread or task of its connection.
@safe
public final class SQLiteStatement {
    /// The connection that prepared the statement.
    public let connection: SQLiteConnection
    /// The SQL of the statement. For a statement of a script, this is the whole script.
    public let sql: String
    // SAFETY: valid as long as this object, which alone finalizes it or returns it to the connection.
    package let handle: OpaquePointer
    /// A Boolean value that indicates whether the connection keeps the handle when this object is released.
    private let isKept: Bool
    /// The number of bytes of `sql` before this statement.
    let baseOffset: Int
    /// A Boolean value that indicates whether the statement is on a row whose cells can be read.
    private(set) var isOnRow = false
    /// A Boolean value that indicates whether `send` is reading the rows.
    private var isSending = false
    /// The cells that closures are reading. Their memory stays valid until the closures return. A cell can occur more than
    /// once.
    private(set) var columnsInUse: [Int] = []

    init(
        _ connection: SQLiteConnection, _ handle: OpaquePointer, sql: String, isKept: Bool, baseOffset: Int = 0
    ) {
        self.connection = connection
        unsafe self.handle = unsafe handle
        self.sql = sql
        self.isKept = isKept
        self.baseOffset = baseOffset
    }

    deinit {
        if isKept {
            unsafe connection.takeBack(handle, sql: sql)
        } else {
            unsafe sqlite3_finalize(handle)
        }
    }

    /// The number of columns of its rows, or 0 for statements without rows.
    public var columnCount: Int { unsafe Int(sqlite3_column_count(handle)) }

    /// A Boolean value that indicates whether the statement itself changes nothing in the database file.
    var isReadOnly: Bool { unsafe sqlite3_stmt_readonly(handle) != 0 }

    /// Moves to the next row.
    ///
    /// - Returns: A Boolean value that indicates whether there is another row. After the last row, the statement is reset and
    ///   can be stepped again.
    /// - Throws: The error of SQLite, such as `busy`, `interrupt` or a constraint; the statement is then reset.
    public func step() throws(SQLiteError) -> Bool {
        checkMayMove()
        if !isOnRow { try connection.checkIsRolledBack() }
        let code = unsafe connection.cancellation.step(handle)
        if code == SQLITE_ROW {
            isOnRow = true
            return true
        }
        isOnRow = false
        connection.transactions.endStatement(of: connection)
        if code == SQLITE_DONE {
            unsafe sqlite3_reset(handle)
            return false
        }
        let error = makeError(code)
        unsafe sqlite3_reset(handle)
        throw error
    }

    /// Moves back before the first row. Parameters keep their values.
    ///
    /// Step a statement that changes rows and returns them with `RETURNING` to its end. Outside a transaction, its changes
    /// are committed or rejected only there, and this function can't report an error.
    public func reset() {
        checkMayMove()
        isOnRow = false
        unsafe sqlite3_reset(handle)
    }

    /// Runs the statement to its end with values for its parameters and ignores the rows it returns.
    ///
    /// - Returns: The number of rows that it inserted, updated or deleted, excluding those changed by triggers.
    /// - Throws: The errors of ``bind(_:)`` and ``step()``.
    @discardableResult
    public func run(_ parameters: SQLiteParameters = .none) throws(SQLiteError) -> Int {
        reset()
        try bind(parameters)
        return try execute()
    }

    /// Runs the statement to its end with the current values of its parameters and ignores the rows it returns.
    ///
    /// - Returns: The number of rows that it inserted, updated or deleted, excluding those changed by triggers.
    /// - Throws: The errors of ``step()``.
    @discardableResult
    public func execute() throws(SQLiteError) -> Int {
        let before = connection.totalChangeCount
        while try step() {}
        return connection.totalChangeCount == before ? 0 : connection.changeCount
    }

    @inline(__always)  // PERF: SQLite/reading; once a row.
    private func checkMayMove() {
        precondition(!isSending, "the statement is sending its rows")
        precondition(columnsInUse.isEmpty, "a cell of the statement is being read in a closure")
    }

    /// Calls a closure that reads the memory of a cell. Meanwhile the statement must stay on the row.
    func withColumnInUse(_ column: Int, _ body: () throws(SQLiteError) -> Void) throws(SQLiteError) {
        columnsInUse.append(column)
        defer { columnsInUse.removeLast() }
        try body()
    }

    /// Begins to read the rows for `send`.
    func beginSending() throws(SQLiteError) {
        guard !isSending else { throw SQLiteError(.misuse, "the statement is sending its rows already", sql: sql) }
        guard columnsInUse.isEmpty else {
            throw SQLiteError(.misuse, "a cell of the statement is being read in a closure", sql: sql)
        }
        try connection.checkIsRolledBack()
        reset()
        isSending = true
    }

    /// Ends reading the rows for `send`, regardless of the position.
    func endSending() {
        isSending = false
        unsafe sqlite3_reset(handle)
    }

    /// Makes the error of a result code of this statement.
    func makeError(_ code: Int32) -> SQLiteError {
        let error = unsafe SQLiteError.make(code, connection.handle, sql: shownSQL, baseOffset: baseOffset)
        if error.isOfFile { connection.hasFailedToWrite = true }
        return error
    }

    /// The SQL for errors. It doesn't contain bound values unless the connection's options enable this.
    var shownSQL: String {
        guard connection.options.showsBoundValues, let text = unsafe sqlite3_expanded_sql(handle) else { return sql }
        defer { unsafe sqlite3_free(text) }
        return unsafe String(cString: text)
    }

    package func check(_ code: Int32) throws(SQLiteError) {
        if code != SQLITE_OK { throw makeError(code) }
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension SQLiteStatement: SelfTesting {
    /// The tests of this type.
    public static var testSelectors: TestSelectors {
        [
            "testStepsThroughRows": testStepsThroughRows,
            "testRoundTripsEveryType": testRoundTripsEveryType,
            "testConvertsCells": testConvertsCells,
            "testBindsByName": testBindsByName,
            "testRefusesWrongParameters": testRefusesWrongParameters,
            "testHidesBoundValues": testHidesBoundValues,
            "testRefusesTextWithNUL": testRefusesTextWithNUL,
            "testClearingBindingsEndsTheRow": testClearingBindingsEndsTheRow,
            "testTrapsForChangesWhileReadingCells": testTrapsForChangesWhileReadingCells,
            "testRefusesInvalidText": testRefusesInvalidText,
            "testNamesColumns": testNamesColumns,
            "testFindsColumnsByName": testFindsColumnsByName,
            "testDetectsSchemaChanges": testDetectsSchemaChanges,
            "testCountsChanges": testCountsChanges,
        ]
    }

    private static func testStepsThroughRows() throws {
        let statement = try SQLiteConnection.inMemory().prepare("VALUES (1), (2), (3)")
        for _ in 0..<2 {
            var sum: Int64 = 0
            while try statement.step() { sum += statement.integer(at: 0) }
            expectEqual(sum, 6, "sum")
            expectFalse(statement.isOnRow, "on a row after the last")
        }
        _ = try statement.step()
        statement.reset()
        expectTrue(try statement.step(), "a row after reset")
        expectEqual(statement.integer(at: 0), 1, "the first row again")
    }

    private static let longText = String(repeating: "many bytes ", count: 10_000)

    private static func testClearingBindingsEndsTheRow() throws {
        let statement = try SQLiteConnection.inMemory().prepare("SELECT ?1, ?1 || 'x'")
        try statement.bind([longText])
        try requireTrue(try statement.step(), "a row")
        statement.clearBindings()
        expectFalse(statement.isOnRow, "on a row whose cells are gone")
        try requireTrue(try statement.step(), "a row of null")
        expectTrue(statement.isNull(at: 0), "the parameter")
        expectTrap("while a cell is read") {
            try? statement.bind([longText])
            _ = try? statement.step()
            try? statement.withText(at: 0) { _ in statement.clearBindings() }
        }
    }

    /// The actions on the statement while a closure reads a cell.
    private static var moves: [(String, (SQLiteStatement) throws(SQLiteError) -> Void)] {
        [
            ("step", { (statement) throws(SQLiteError) in _ = try statement.step() }), ("reset", { $0.reset() }),
            ("run", { (statement) throws(SQLiteError) in try statement.run() }),
            ("execute", { (statement) throws(SQLiteError) in try statement.execute() }),
            ("clear", { $0.clearBindings() }),
        ]
    }

    private static func testTrapsForChangesWhileReadingCells() throws {
        let connection = try SQLiteConnection.inMemory()
        try connection.execute("CREATE TABLE t (a, b)")
        try connection.run("INSERT INTO t VALUES (?1, CAST(?1 AS BLOB)), ('', x'')", [longText])
        func statementOnRow() throws -> SQLiteStatement {
            let statement = try connection.prepare("SELECT a, b FROM t")
            try requireTrue(try statement.step(), "a row")
            return statement
        }
        for (name, move) in moves {
            for column in [0, 1] {
                expectTrap("\(name) while column \(column) is read") {
                    try? statementOnRow().withBlob(at: column) { _ in }
                    guard let statement = try? statementOnRow() else { return }
                    try? statement.withBlob(at: column) { (_) throws(SQLiteError) in try move(statement) }
                }
            }
        }
        let wide = try SQLiteConnection.inMemory()
        try wide.execute("PRAGMA encoding = 'UTF-16'; CREATE TABLE t (a)")
        try wide.run("INSERT INTO t VALUES (?)", [longText])
        let other = try wide.prepare("SELECT a FROM t")
        try requireTrue(try other.step(), "a row in UTF-16")
        try other.withBlob(at: 0) { (bytes) throws(SQLiteError) in
            expectEqual(try other.text(at: 0), longText, "text")
            expectEqual(String(validating: bytes), longText, "the UTF-8 of text in UTF-16")
        }
        // SQLite converts a blob to text in other memory, unless the text is requested as bytes.
        let statement = try statementOnRow()
        try statement.withBlob(at: 1) { (bytes) throws(SQLiteError) in
            expectEqual(try statement.text(at: 1), longText, "a blob as text")
            try statement.withText(at: 0) { (text) throws(SQLiteError) in
                expectEqual(String(validating: text), longText, "another cell")
            }
            expectEqual(String(validating: bytes), longText, "the blob")
            let error = expectThrows(SQLiteError.self, "sending") {
                do throws(StreamError) {
                    var trace = EventTrace()
                    try statement.send(to: &trace)
                } catch {
                    throw SQLiteError(error)
                }
            }
            expectEqual(error?.code, .misuse, "code")
        }
        expectTrue(try statement.step(), "the next row")
    }

    private static let samples: [SQLiteValue] = [
        .null, 0, .integer(.min), .integer(.max), 1.5, -0.0, .real(.infinity), .real(.leastNonzeroMagnitude), "", "a",
        "größer 🙂",
        .text(String(repeating: "é", count: 100_000)), .blob([]), .blob([0, 255, 0]),
    ]

    private static func testRoundTripsEveryType() throws {
        let file = try TemporaryDatabase()
        let connection = try file.open()
        try connection.execute("CREATE TABLE t (a)")
        for value in samples { try connection.run("INSERT INTO t VALUES (?)", [value]) }
        for encoding in ["stored", "bound"] {
            let statement = try connection.prepare(encoding == "stored" ? "SELECT a FROM t" : "SELECT ?")
            for value in samples {
                if encoding == "bound" { try statement.bind([value]) }
                try requireTrue(try statement.step(), "a row")
                expectEqual(try statement.value(at: 0), value, "\(encoding) \(value)")
                if encoding == "bound" { statement.reset() }
            }
        }
        let wide = try SQLiteConnection.inMemory()
        try wide.execute("PRAGMA encoding = 'UTF-16'; CREATE TABLE t (a)")
        try wide.run("INSERT INTO t VALUES (?)", ["größer 🙂"])
        expectEqual(try wide.value("SELECT a FROM t"), "größer 🙂", "text of a database in UTF-16")
    }

    private static func testConvertsCells() throws {
        let statement = try SQLiteConnection.inMemory().prepare("SELECT '12x', 1.9, NULL, 7, x'c3a9'")
        try requireTrue(try statement.step(), "a row")
        expectEqual(statement.integer(at: 0), 12, "an integer of text")
        expectEqual(statement.integer(at: 1), 1, "an integer of a real")
        expectEqual(statement.integer(at: 2), 0, "an integer of null")
        expectNil(try statement.text(at: 2), "a text of null")
        expectNil(try statement.blob(at: 2), "a blob of null")
        expectEqual(statement.real(at: 3), 7, "a real of an integer")
        expectEqual(try statement.text(at: 3), "7", "a text of an integer")
        expectEqual(try statement.text(at: 4), "é", "a text of a blob")
        expectEqual(try statement.values().count, 5, "values")
    }

    private static func testBindsByName() throws {
        let statement = try SQLiteConnection.inMemory().prepare("SELECT :a || @b || $c || :a")
        try statement.bind(["a": "1", "@b": "2", "$c": "3"])
        try requireTrue(try statement.step(), "a row")
        expectEqual(try statement.text(at: 0), "1231", "cell")
        expectEqual(statement.parameterCount, 3, "parameters")
        expectEqual(statement.parameterIndex(named: ":b"), nil, "another prefix")
        expectEqual(statement.parameterName(at: 2), "@b", "name")
        expectNil(statement.parameterName(at: 4), "a name out of range")
    }

    private static func testRefusesWrongParameters() throws {
        let connection = try SQLiteConnection.inMemory()
        let rows: [(String, SQLiteParameters, String)] = [
            ("SELECT ?, ?", [1], "expected 2 values for parameters, found 1"),
            ("SELECT ?", [1, 2], "expected 1 values for parameters, found 2"),
            ("SELECT 1", [1], "expected 0 values for parameters, found 1"),
            ("SELECT :a, :b", ["a": 1], "the parameter ':b' has no value"),
            ("SELECT :a", ["a": 1, "b": 2], "there is no parameter 'b'"),
            ("SELECT :a", ["a": 1, ":a": 2], "the parameter ':a' has two values"),
            ("SELECT ?, :a", ["a": 1], "the parameter '1' has no value"),
            ("SELECT 1", ["": 1], "there is no parameter ''"),
        ]
        for (sql, parameters, message) in rows {
            let error = expectThrows(SQLiteError.self, sql) { _ = try connection.value(sql, parameters) }
            expectEqual(error?.message, message, sql)
            expectEqual(error?.code, .range, "code for \(sql)")
        }
        let statement = try connection.prepare("SELECT ?")
        for index in [0, 2, -1, .max] {
            expectThrows(SQLiteError.self, "index \(index)") { try statement.bind(1, at: index) }
        }
    }

    private static func testHidesBoundValues() throws {
        for (options, shows) in [
            (SQLiteOptions(access: .create), false), (SQLiteOptions(access: .create, showsBoundValues: true), true),
        ] {
            let connection = try SQLiteConnection.inMemory(options: options)
            try connection.execute("CREATE TABLE t (a CHECK (a <> 'secret'))")
            let error = expectThrows(SQLiteError.self, "a check") {
                try connection.run("INSERT INTO t VALUES (?)", ["secret"])
            }
            expectEqual(error?.extendedCode, .constraintCheck, "code")
            expectEqual(error?.sql, shows ? "INSERT INTO t VALUES ('secret')" : "INSERT INTO t VALUES (?)", "SQL")
        }
    }

    private static func testRefusesTextWithNUL() throws {
        let connection = try SQLiteConnection.inMemory()
        let error = expectThrows(SQLiteError.self, "NUL") { _ = try connection.value("SELECT ?", ["aé\0b"]) }
        expectEqual(
            error?.message, "found a NUL character in text (at its byte 3), where SQL functions would cut it", "message"
        )
        expectEqual(try connection.value("SELECT 'a' || char(0) || 'b'"), "a\0b", "one that is there is read whole")
    }

    private static func testRefusesInvalidText() throws {
        let connection = try SQLiteConnection.inMemory()
        for bytes in ["80", "c080", "eda080", "61c3", "f4908080"] {
            let error = expectThrows(SQLiteError.self, bytes) {
                _ = try connection.value("SELECT CAST(x'\(bytes)' AS TEXT) AS t")
            }
            expectEqual(error?.message, "the text in column t is not valid UTF-8", bytes)
        }
    }

    private static func testFindsColumnsByName() throws {
        let statement = try SQLiteConnection.inMemory().prepare("SELECT 1 AS a, 'x' AS \"Größe\", 3 AS a, 4 AS b")
        try requireTrue(try statement.step(), "a row")
        expectEqual(try statement.column(named: "Größe"), 1, "an index")
        expectEqual(try statement.value(named: "Größe"), "x", "a value")
        expectEqual(try statement.value(named: "b"), 4, "another value")
        for (name, message) in [
            ("B", "there is no column 'B'; the columns are a, Größe, a, b"),
            ("a", "the name 'a' is ambiguous: 2 columns have it; the columns are a, Größe, a, b"),
        ] {
            let error = expectThrows(SQLiteError.self, name) { _ = try statement.value(named: name) }
            expectEqual(error?.message, message, "message")
        }
        let none = expectThrows(SQLiteError.self, "no columns") {
            _ = try SQLiteConnection.inMemory().prepare("CREATE TABLE t (a)").column(named: "a")
        }
        expectEqual(none?.message, "there is no column 'a'; there are no columns", "message")
    }

    private static func testNamesColumns() throws {
        let connection = try SQLiteConnection.inMemory()
        try connection.execute("CREATE TABLE t (\"a b\" INTEGER, [c\"d] VARCHAR(10), e)")
        let statement = try connection.prepare("SELECT *, 1 + 1, e AS \"größe\" FROM t")
        expectEqual(statement.columnNames, ["a b", "c\"d", "e", "1 + 1", "größe"], "names")
        expectEqual((0..<5).map { statement.declaredType(at: $0) }, ["INTEGER", "VARCHAR(10)", nil, nil, nil], "types")
    }

    private static func testDetectsSchemaChanges() throws {
        let file = try TemporaryDatabase()
        let connection = try file.open()
        try connection.execute("CREATE TABLE t (a, b); INSERT INTO t VALUES (1, 2)")
        let statement = try connection.prepare("SELECT b FROM t")
        let other = try file.open(.readWrite)
        try other.execute("ALTER TABLE t DROP COLUMN a")
        try requireTrue(try statement.step(), "a row after a change that does not matter")
        expectEqual(statement.integer(at: 0), 2, "cell")
        statement.reset()
        try other.execute("ALTER TABLE t RENAME COLUMN b TO c")
        let error = expectThrows(SQLiteError.self, "after a change that does") { _ = try statement.step() }
        expectEqual(error?.message, "no such column: b", "message")
    }

    private static func testCountsChanges() throws {
        let connection = try SQLiteConnection.inMemory()
        try connection.execute("CREATE TABLE t (a)")
        let insert = try connection.prepare("INSERT INTO t VALUES (?)")
        expectEqual(try insert.run([1]), 1, "insert")
        expectEqual(try insert.run([2]), 1, "insert")
        expectEqual(try connection.run("UPDATE t SET a = a + 1"), 2, "update")
        expectEqual(try connection.run("SELECT 1"), 0, "select")
        expectEqual(try connection.run("DELETE FROM t WHERE a > 5"), 0, "delete of nothing")
        expectTrue(try connection.prepare("SELECT 1").isReadOnly, "a select is read-only")
        expectFalse(insert.isReadOnly, "an insert is not")
    }
}
#endif
