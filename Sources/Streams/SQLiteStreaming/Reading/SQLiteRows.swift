// Reads the rows of a query as values, one at a time. The caller requests each row and can stop at any time.

import CSystemSQLite
import PlistBuilding
import PlistStreaming

/// The rows of a query as values of a type, each read on request.
///
/// ```swift
/// let open = try tasks.fetchCursor(where: \.done == false)
/// while let task = try open.next() {
///     if task.title == "Paint" { break }
/// }
/// for try await task in try tasks.fetchCursor(orderedBy: .ascending(\.title)) { print(task.title) }
/// ```
/// Rows don't conform to `Sequence` because its iterators can't throw: an error, for example of the disk or of a cancelled
/// task, would look like the last row. Instead, there is a throwing ``next()``, as in GRDB's cursors, and an asynchronous
/// sequence, for which the compiler requires `try`. Neither hides an error: after an error, each call throws it again.
///
/// Rows can be read once, from the first to the last, and only one of them is in memory. Other statements of the connection
/// may run meanwhile, but it isn't defined whether rows that they insert, delete or change are seen. The query ends after the
/// last row, after an error, or when this object is released, for example after `break`. Until then it is a reader of the
/// database, and the connection can't be closed. Like their connection, rows are for one thread or task at a time.
public final class SQLiteRows<Row> {
    /// The cursor that reads the rows, or nil after the last row.
    private var cursor: RowCursor?
    /// Makes the function that reads a value from a row, at the first row.
    private let makeReader: () throws(StreamError) -> Reader
    private var reader: Reader?
    /// A Boolean value that indicates whether a row is being read. The user's own code may run meanwhile.
    private var isReading = false
    private var failure: SQLiteError?

    typealias Reader = (RowCursor) throws(StreamError) -> Row

    /// Begins before the first row, with the current values of the parameters.
    ///
    /// - Parameters:
    ///   - statement: A statement that isn't used otherwise.
    ///   - makeReader: Makes the function that reads a value from a row.
    init(
        _ statement: SQLiteStatement, _ options: SQLiteReadingOptions,
        makeReader: @escaping () throws(StreamError) -> Reader
    ) throws(SQLiteError) {
        self.makeReader = makeReader
        do throws(StreamError) { cursor = try RowCursor(statement, options) } catch { throw SQLiteError(error) }
    }

    deinit { cursor?.end() }

    /// Returns the next row, or nil after the last one.
    ///
    /// - Throws: The errors of SQLite; for a row that can't be read as a value, the error with its path as `streamError`.
    ///   After an error, each call throws the same one.
    /// - Complexity: O(columns) plus SQLite's work for the row.
    public func next() throws(SQLiteError) -> Row? {
        if let failure { throw failure }
        guard !isReading else {
            throw SQLiteError(
                .misuse, "the rows can't be read while a row is decoded, such as in an initializer of its type")
        }
        guard let cursor else { return nil }
        isReading = true
        defer { isReading = false }
        do throws(StreamError) {
            // PERF: SQLite/reading; not an optional row, whose type would be looked up each time.
            if let reader = try reader(of: cursor) { return try reader(cursor) }
        } catch {
            throw fail(SQLiteError(error))
        }
        end()
        return nil
    }

    /// Moves to the next row and returns the function that reads a value from it, or nil after the last row.
    private func reader(of cursor: RowCursor) throws(StreamError) -> Reader? {
        let isFirst = unsafe cursor.state.pointee.row < 0
        if isFirst {
            // The rows may have been requested in a transaction that has ended.
            do throws(SQLiteError) {
                try cursor.statement.connection.checkIsRolledBack()
            } catch {
                throw error.streamError(.cannotRead)
            }
        }
        guard try cursor.next() else { return nil }
        if isFirst { reader = try makeReader() }
        return reader
    }

    @inline(never)
    private func fail(_ error: SQLiteError) -> SQLiteError {
        failure = error
        end()
        return error
    }

    /// Returns the statement to the connection.
    private func end() {
        reader = nil
        cursor?.end()
        cursor = nil
    }
}

extension SQLiteRows where Row: StreamValue {
    /// Begins before the first row of bound values.
    convenience init(
        _ statement: SQLiteStatement, _ options: SQLiteReadingOptions, _ builderOptions: BuilderOptions
    ) throws(SQLiteError) {
        try self.init(statement, options) { () throws(StreamError) in
            let builder = try RowBuilder(building: Row.self, builderOptions)
            return { (cursor) throws(StreamError) in try builder.row(of: cursor, as: Row.self) }
        }
    }
}

/// Builds values from rows.
private final class RowBuilder {
    // PERF: SQLite/reading; of a known type, so that the function that sends a row is specialized.
    private var builder: ObjectBuilder<Int>

    init<Row: StreamValue>(building type: Row.Type, _ options: BuilderOptions) throws(StreamError) {
        builder = try ObjectBuilder(building: type, options: options)
    }

    func row<Row: StreamValue>(of cursor: RowCursor, as type: Row.Type) throws(StreamError) -> Row {
        do throws(StreamError) {
            try cursor.sendRow(to: &builder)
            return try builder.takeResult(of: type)
        } catch {
            // The builder only knows about one row.
            if case .index? = error.path?.steps.first { throw error }
            throw error.under([.index(unsafe cursor.state.pointee.row)])
        }
    }
}

extension SQLiteRows: AsyncSequence {
    /// The iterator over the remaining rows, for `for try await`.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let rows: SQLiteRows

        /// Returns the next row, or nil after the last one.
        ///
        /// - Throws: The errors of ``SQLiteRows/next()``; `interrupt` if the task is cancelled.
        public mutating func next() async throws(SQLiteError) -> Row? { try rows.nextUnlessCancelled() }

        /// Returns the next row on the loop's actor, or nil after the last one.
        ///
        /// - Throws: The errors of ``SQLiteRows/next()``; `interrupt` if the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(SQLiteError) -> Row? {
            try rows.nextUnlessCancelled()
        }
    }

    /// Makes an iterator over the remaining rows, which all iterators share.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(rows: self) }

    private func nextUnlessCancelled() throws(SQLiteError) -> Row? {
        guard Task.isCancelled, failure == nil, cursor != nil else { return try next() }
        throw fail(SQLiteError(.interrupt, TaskCancellation.cancelledMessage))
    }
}

extension SQLiteConnection {
    /// Runs a statement and returns its rows as values of a type, each read on request.
    ///
    /// ```swift
    /// let rows = try connection.fetchCursor("SELECT * FROM artists WHERE born < ?", [1900], as: Artist.self)
    /// while let artist = try rows.next() { print(artist.name) }
    /// ```
    /// ``fetchAll(_:_:as:options:builderOptions:)`` returns all of them at once, which is faster.
    /// - Throws: A syntax error; an error of binding the values; `misuse` for a statement that changes rows and returns them,
    ///   because its changes are committed or rejected only after its last row. The statement runs when the first row is
    ///   requested.
    public func fetchCursor<Row: StreamValue>(
        _ sql: String, _ parameters: SQLiteParameters = .none, as type: Row.Type,
        options: SQLiteReadingOptions = SQLiteReadingOptions(), builderOptions: BuilderOptions = BuilderOptions()
    ) throws(SQLiteError) -> SQLiteRows<Row> {
        try SQLiteRows(
            try readingStatement(sql, parameters), options.reading(type, builderOptions), builderOptions)
    }

    /// Prepares a statement that only reads, with values for its parameters.
    func readingStatement(_ sql: String, _ parameters: SQLiteParameters) throws(SQLiteError) -> SQLiteStatement {
        let statement = try cachedStatement(sql)
        guard statement.isReadOnly else {
            throw SQLiteError(
                .misuse,
                "expected a statement that doesn't change the database",
                sql: sql)
        }
        try statement.bind(parameters)
        return statement
    }

    /// Runs a statement and returns its first row as a value of a type, or nil if it has no rows.
    ///
    /// ```swift
    /// let oldest = try connection.fetchOne("SELECT * FROM artists ORDER BY born", as: Artist.self)
    /// ```
    /// - Throws: The errors of ``fetchCursor(_:_:as:options:builderOptions:)``, and the error of a row that can't be read as
    ///   a value.
    public func fetchOne<Row: StreamValue>(
        _ sql: String, _ parameters: SQLiteParameters = .none, as type: Row.Type,
        options: SQLiteReadingOptions = SQLiteReadingOptions(), builderOptions: BuilderOptions = BuilderOptions()
    ) throws(SQLiteError) -> Row? {
        try fetchCursor(sql, parameters, as: type, options: options, builderOptions: builderOptions).next()
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

enum SQLiteRowsTests {}

extension SQLiteRowsTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testReadsTheRowsOfQueries": testReadsTheRowsOfQueries,
            "testReadsValuesOfEveryKind": testReadsValuesOfEveryKind,
            "testEndsWithTheLastRow": testEndsWithTheLastRow,
            "testCanEndEarly": testCanEndEarly,
            "testRethrowsItsError": testRethrowsItsError,
            "testReportsRowsThatCannotBeDecoded": testReportsRowsThatCannotBeDecoded,
            "testRunsAlongsideOtherStatements": testRunsAlongsideOtherStatements,
            "testDetectsEndedTransaction": testDetectsEndedTransaction,
            "testRefusesReadsByItsOwnRows": testRefusesReadsByItsOwnRows,
            "testIsAnAsynchronousSequence": testIsAnAsynchronousSequence,
            "testEndsIfTaskIsCancelled": testEndsIfTaskIsCancelled,
        ]
    }

    private struct Item: StreamObject, Equatable {
        var id = 0
        var title = ""
    }

    private static func items(_ count: Int) throws -> SQLiteTable<Item> {
        let table = try SQLiteTable<Item>(try SQLiteConnection.inMemory(), "items")
        try table.insert((0..<count).map { Item(id: $0, title: "ein größerer Titel Nr. \($0)") })
        return table
    }

    private static func all<Row>(_ rows: SQLiteRows<Row>) throws -> [Row] {
        var found: [Row] = []
        while let row = try rows.next() { found.append(row) }
        return found
    }

    private static func testReadsTheRowsOfQueries() throws {
        for count in [0, 1, 2, 64, 65, 200] {
            let table = try items(count)
            let expected = try table.fetchAll()
            expectEqual(try all(table.fetchCursor()), expected, "\(count) rows of a table")
            expectEqual(
                try all(table.connection.fetchCursor("SELECT * FROM items", as: Item.self)), expected, "of a query")
            expectEqual(
                try all(table.fetchCursor(where: \.id > 3, orderedBy: .descending(\.id), limit: 5, offset: 1)),
                try table.fetchAll(where: \.id > 3, orderedBy: .descending(\.id), limit: 5, offset: 1), "some of them")
        }
        let rows = try items(9).connection.fetchCursor("SELECT * FROM items WHERE id = ?", [7], as: Item.self)
        expectEqual(try all(rows).map(\.id), [7], "with a parameter")
        expectThrows(SQLiteError.self, "no column") {
            _ = try items(1).connection.fetchCursor("SELECT x", as: Item.self)
        }
    }

    private static func testReadsValuesOfEveryKind() throws {
        let table = try SQLiteTableTests.table()
        try table.insert(SQLiteTableTests.samples(70))
        expectEqual(try all(table.fetchCursor()), SQLiteTableTests.samples(70), "structures with members of every kind")
        let people = try SQLiteTable<SQLiteTableTests.Person>(table.connection, "people")
        try people.insert((0..<9).map { SQLiteTableTests.Person("Person \($0)", $0) })
        let objects = try all(people.fetchCursor())
        expectEqual(objects.map(\.age), Array(0..<9), "objects")
        expectEqual(Set(objects.map { ObjectIdentifier($0) }).count, 9, "different ones")
        let rows = try table.connection.fetchCursor("VALUES (1), (2)", as: [String: Int].self)
        expectEqual(try all(rows), [["column1": 1], ["column1": 2]], "dictionaries")
    }

    private static func testEndsWithTheLastRow() throws {
        let table = try items(2)
        let rows = try table.fetchCursor()
        for id in [0, 1, nil, nil] { expectEqual(try rows.next()?.id, id, "row") }
        // Although the rows object still exists.
        try table.connection.execute("DROP TABLE items")
        try table.connection.close()
        expectNil(try rows.next(), "a row of a closed connection")
    }

    private static func testCanEndEarly() throws {
        let table = try items(10)
        let connection = table.connection
        for end in 0..<3 {
            var rows: SQLiteRows<Item>? = try table.fetchCursor()
            for _ in 0..<end { expectNotNil(try rows?.next(), "a row") }
            withExtendedLifetime(rows) {
                expectThrows(SQLiteError.self, "closing with open rows") { try connection.close() }
                guard end > 0 else { return }
                expectThrows(SQLiteError.self, "dropping what is read") { try connection.execute("DROP TABLE items") }
            }
            rows = nil
            // The statement is available for the next rows, before its first row.
            expectEqual(try table.fetchCursor().next()?.id, 0, "the first row after \(end) rows")
        }
        try connection.execute("DROP TABLE items")
        try connection.close()
    }

    private static func testRethrowsItsError() throws {
        let connection = try SQLiteConnection.inMemory()
        let sql = "SELECT 1 AS id, 'a' AS title UNION ALL SELECT 2, json('{')"
        let rows = try connection.fetchCursor(sql, as: Item.self)
        expectEqual(try rows.next(), Item(id: 1, title: "a"), "the first row")
        for number in 0..<3 {
            let error = expectThrows(SQLiteError.self, "call \(number)") { _ = try rows.next() }
            expectEqual(error?.message, "malformed JSON", "message")
            expectEqual(error?.sql, sql, "statement")
        }
        try connection.close()
    }

    private static func testReportsRowsThatCannotBeDecoded() throws {
        let connection = try SQLiteConnection.inMemory()
        func check<Row: StreamValue>(_ sql: String, _ type: Row.Type, _ message: String) throws {
            let rows = try connection.fetchCursor(sql, as: type)
            expectNotNil(try rows.next(), "the first row of \(sql)")
            let error = expectThrows(SQLiteError.self, sql) { _ = try rows.next() }
            expectEqual(error?.streamError?.description, message, sql)
            let all = expectThrows(SQLiteError.self, sql) { _ = try connection.fetchAll(sql, as: type) }
            expectEqual(error, all, "the error of all rows at once")
        }
        let text = "SELECT 1 AS id, 'a' AS title UNION ALL SELECT 2, 5"
        try check(text, Item.self, "$[1].title: expected a string, found integer 5")
        try check("VALUES (1), ('x')", [String: Int].self, "$[1].column1: expected an integer, found string \"x\"")
        try check(
            "SELECT 1 AS age, 'a' AS name UNION ALL SELECT 2, CAST(x'ff' AS TEXT)", SQLiteTableTests.Person.self,
            "$[1].name: the text is not valid UTF-8")
    }

    private static func testRunsAlongsideOtherStatements() throws {
        let table = try items(5)
        let (outer, other) = (try table.fetchCursor(), try table.fetchCursor())
        var pairs = ""
        while let row = try outer.next() {
            // The same SQL, in another statement.
            let inner = try table.fetchCursor(where: \.id > 2)
            while let second = try inner.next() { pairs += "\(row.id)\(second.id) " }
            try table.update(.set(\.title, "seen"), where: \.id == row.id)
            expectEqual(try other.next()?.id, row.id, "rows of another one")
        }
        expectEqual(pairs, "03 04 13 14 23 24 33 34 43 44 ", "pairs")
        expectEqual(try table.count(where: \.title == "seen"), 5, "changed rows")
    }

    private static func testDetectsEndedTransaction() throws {
        struct Refusal: Error {}
        let table = try items(5)
        var rows: [SQLiteRows<Item>] = []
        expectThrows(Refusal.self, "a transaction") {
            try table.connection.transaction {
                try table.connection.execute("CREATE TABLE u (a)")
                rows = [try table.fetchCursor(), try table.fetchCursor()]
                _ = try rows[0].next()
                throw Refusal()
            }
        }
        // Undoing a schema change ends the open readers.
        expectEqual(expectThrows(SQLiteError.self, "rows") { _ = try rows[0].next() }?.code, .abort, "code")
        expectEqual(try all(rows[1]).count, 5, "rows that were not begun")
    }

    private final class Reading: StreamObject {
        nonisolated(unsafe) static var rows: SQLiteRows<Reading>?
        nonisolated(unsafe) static var error: SQLiteError?
        var id = 0
        init() {
            guard let rows = unsafe Self.rows else { return }
            do throws(SQLiteError) { _ = try rows.next() } catch { unsafe Self.error = error }
        }
    }

    private static func testRefusesReadsByItsOwnRows() throws {
        let rows = try items(3).connection.fetchCursor("SELECT id FROM items", as: Reading.self)
        expectEqual(try rows.next()?.id, 0, "the first row")
        unsafe Reading.rows = rows
        defer { unsafe (Reading.rows, Reading.error) = (nil, nil) }
        expectEqual(try rows.next()?.id, 1, "the second row")
        expectEqual(unsafe Reading.error?.code, .misuse, "code")
        expectEqual(try rows.next()?.id, 2, "the third row")
    }

    private static func testIsAnAsynchronousSequence() async throws {
        let table = try items(5)
        var ids: [Int] = []
        for try await row in try table.fetchCursor() {
            ids.append(row.id)
            if row.id == 3 { break }
        }
        expectEqual(ids, [0, 1, 2, 3], "rows")
        let rest = try await table.fetchCursor(where: \.id > 1).reduce(into: []) { $0.append($1.id) }
        expectEqual(rest, [2, 3, 4], "all rows")
        expectEqual(try await Reader().count(), 3, "rows read by an actor")
        try table.connection.execute("DROP TABLE items")
    }

    private actor Reader {
        func count() async throws -> Int {
            var count = 0
            for try await _ in try items(3).fetchCursor() { count += 1 }
            return count
        }
    }

    private static func testEndsIfTaskIsCancelled() async {
        let task = Task.detached {
            var count = 0
            do {
                for try await _ in try items(5).fetchCursor() {
                    count += 1
                    if count == 2 { unsafe withUnsafeCurrentTask { unsafe $0?.cancel() } }
                }
                fail("all rows were read")
            } catch {
                expectEqual((error as? SQLiteError)?.code, .interrupt, "code")
                expectEqual((error as? SQLiteError)?.message, "interrupted, because the task is cancelled", "message")
            }
            return count
        }
        expectEqual(await task.value, 2, "rows before")
    }
}
#endif
