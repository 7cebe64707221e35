// The in-class tests of `SQLiteTable`: schema, all paths of inserting, errors. Changes are in `+ChangeTests`.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistBuilding
import PlistStreaming

enum SQLiteTableTests {
    enum Level: Int8, StreamValue { case low = -1, high = 1 }

    struct Task: StreamObject, Equatable {
        var id: Int? = nil
        var title = ""
        var done = false
        var note: String? = nil
        var ratio = 0.0
        var score: Double? = nil
        var flag: Bool? = nil
        var bytes: [UInt8] = []
        var level = Level.low
        var small: UInt16 = 0
    }

    final class Person: StreamObject {
        var id: Int? = nil
        var name = ""
        var age = 0
        init() {}

        init(_ name: String, _ age: Int) {
            self.name = name
            self.age = age
        }
    }

    static func table(_ options: SQLiteTableOptions = SQLiteTableOptions()) throws -> SQLiteTable<Task> {
        try SQLiteTable<Task>(try SQLiteConnection.inMemory(), "tasks", options: options)
    }

    /// Returns rows of every kind: short and long text, non-ASCII text, nil and other values, limits of numbers.
    static func samples(_ count: Int) -> [Task] {
        (0..<count).map { number in
            var task = Task(id: number * 2 + 1)
            task.title = number % 3 == 0 ? "kurz \(number)" : "ein größerer Titel Nr. \(number) 🙂"
            task.done = number % 2 == 0
            if number % 4 > 0 { task.note = number % 4 == 1 ? "" : "Notiz \(number)" }
            task.ratio = Double(number) / 7 - 3
            if number % 5 > 0 { task.score = Double(number) }
            if number % 3 > 0 { task.flag = number % 3 == 1 }
            task.bytes = Array(repeating: UInt8(number % 256), count: number % 40)
            task.level = number % 2 == 0 ? .low : .high
            task.small = UInt16(number % 65_536)
            return task
        }
    }
}

extension SQLiteTableTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testCreatesTheTableOfTheType": testCreatesTheTableOfTheType,
            "testConcurrentConnectionsCreateItOnce": testConcurrentConnectionsCreateItOnce,
            "testRefusesUnsupportedTypes": testRefusesUnsupportedTypes,
            "testChecksExistingTable": testChecksExistingTable,
            "testEveryPathInsertsSameRows": testEveryPathInsertsSameRows,
            "testChoosesInsertPath": testChoosesInsertPath,
            "testInsertsObjects": testInsertsObjects,
            "testReturnsGeneratedIDs": testReturnsGeneratedIDs,
            "testRollsBackAndNamesTheRow": testRollsBackAndNamesTheRow,
            "testNamesTheRowAndColumnOfABadValue": testNamesTheRowAndColumnOfABadValue,
            "testUsesSavepointWithinTransaction": testUsesSavepointWithinTransaction,
            "testFollowsConflictPolicy": testFollowsConflictPolicy,
        ]
    }

    // MARK: Schema

    private static func testCreatesTheTableOfTheType() throws {
        let table = try table(SQLiteTableOptions(uniqueColumns: [["title"], ["note", "score"]]))
        let sql = """
            CREATE TABLE "tasks" ("id" INTEGER PRIMARY KEY, "title" TEXT NOT NULL, "done" BOOLEAN NOT NULL, "note" TEXT, \
            "ratio" REAL NOT NULL, "score" REAL, "flag" BOOLEAN, "bytes" BLOB NOT NULL, "level" INTEGER NOT NULL, \
            "small" INTEGER NOT NULL, UNIQUE ("title"), UNIQUE ("note", "score"))
            """
        expectEqual(try table.creationSQL, sql, "statement")
        expectEqual(
            try table.connection.value("SELECT sql FROM sqlite_schema WHERE name = 'tasks'"), .text(sql), "schema")
        expectNoThrow("the same table again") { _ = try SQLiteTable<Task>(table.connection, "tasks") }
        let error = expectThrows(SQLiteError.self, "a table that must be there") {
            _ = try SQLiteTable<Task>(table.connection, "others", options: SQLiteTableOptions(missingTable: .reject))
        }
        expectEqual(error?.message, "no such table: others", "message")
    }

    private static func testConcurrentConnectionsCreateItOnce() async throws {
        for _ in 0..<10 {
            let file = try TemporaryDatabase()
            let path = file.path
            let errors = await withTaskGroup(of: SQLiteError?.self) { group in
                for _ in 0..<6 {
                    group.addTask {
                        do throws(SQLiteError) {
                            let connection = try SQLiteConnection(path: path, options: SQLiteOptions(access: .create))
                            _ = try SQLiteTable<Task>(connection, "tasks")
                            return nil
                        } catch {
                            return error
                        }
                    }
                }
                return await group.reduce(into: []) { errors, error in errors += error.map { [$0] } ?? [] }
            }
            expectEqual(errors, [], "errors of six connections that create one table")
        }
    }

    struct Nested: StreamObject { var tags: [String] = [] }
    struct OptionalKey: StreamObject { var a: String? = nil }

    private static func testRefusesUnsupportedTypes() throws {
        let connection = try SQLiteConnection.inMemory()
        let nested = expectThrows(SQLiteError.self, "an array") { _ = try SQLiteTable<Nested>(connection) }
        expectEqual(
            nested?.message, "Nested.tags is an array, which columns can't store; convert it or leave it out",
            "an array")
        for key in ["a", "b"] {
            expectThrows(SQLiteError.self, "key \(key)") {
                _ = try SQLiteTable<OptionalKey>(connection, options: SQLiteTableOptions(primaryKey: [key]))
            }
        }
        expectEqual(try connection.tableNames(), [], "tables")
    }

    private static func testChecksExistingTable() throws {
        let rows: [(String, String)] = [
            ("id INTEGER PRIMARY KEY, name TEXT NOT NULL, age INTEGER NOT NULL", ""),
            ("id INTEGER PRIMARY KEY, name VARCHAR(20) NOT NULL, age BIGINT NOT NULL, extra TEXT", ""),
            ("id INTEGER PRIMARY KEY, name TEXT NOT NULL, age INT NOT NULL, extra TEXT NOT NULL DEFAULT 'x'", ""),
            ("id INTEGER PRIMARY KEY, name TEXT NOT NULL", "the column age is missing"),
            (
                "id INTEGER PRIMARY KEY, Name TEXT NOT NULL, age INT NOT NULL",
                "the column name is missing; did you mean 'Name'?"
            ),
            ("id INTEGER PRIMARY KEY, name INT NOT NULL, age INT NOT NULL", "the column name has INT, expected TEXT"),
            (
                "id INTEGER PRIMARY KEY, name TEXT, age INT NOT NULL",
                "the column name may be null, but the member isn't optional"
            ),
            (
                "id INTEGER PRIMARY KEY, name TEXT NOT NULL, age INT NOT NULL, extra NOT NULL",
                "the column extra is NOT NULL without a default, but has no member"
            ),
            (
                "id INTEGER, name TEXT NOT NULL, age TEXT NOT NULL",
                "the column age has TEXT, expected INTEGER; the primary key is (), expected (id)"
            ),
            (
                "id INTEGER PRIMARY KEY, name TEXT NOT NULL, age INT NOT NULL AS (1)",
                "the column age is generated"
            ),
        ]
        for (columns, difference) in rows {
            let connection = try SQLiteConnection.inMemory()
            try connection.execute("CREATE TABLE Person (\(columns))")
            if difference.isEmpty {
                let table = try SQLiteTable<Person>(connection)
                expectNoThrow(columns) { try table.insert([Person("a", 1)]) }
                continue
            }
            let error = expectThrows(SQLiteError.self, columns) { _ = try SQLiteTable<Person>(connection) }
            expectEqual(error?.code, .schema, "code for \(columns)")
            expectEqual(error?.message, "the table Person does not fit Person: \(difference)", columns)
        }
    }

    // MARK: Inserting rows

    private static func testEveryPathInsertsSameRows() throws {
        for count in [0, 1, 7, 8, 99, 100, 101, 2_500] {
            let rows = samples(count)
            for path in SQLiteInsertPath.allCases {
                let table = try table(SQLiteTableOptions(insertPath: path))
                let report = try table.insert(rows)
                expectEqual(report.rowCount, count, "rows by \(path)")
                expectEqual(report.changedRowCount, count, "inserted rows by \(path)")
                expectTrue(try table.fetchAll() == rows, "\(count) rows by \(path)")
                expectEqual(
                    try table.connection.value("SELECT typeof(done) || typeof(bytes) || typeof(ratio) FROM tasks"),
                    count == 0 ? nil : "integerblobreal", "storage by \(path)")
            }
        }
    }

    private static func testChoosesInsertPath() throws {
        let rows = samples(200)
        let table = try table()
        expectEqual(try table.insert(Array(rows[..<7])).path, .bindAndStep, "few rows")
        expectEqual(try table.insert(Array(rows[7..<15])).path, .virtualTable, "more rows")
        expectEqual(try table.insert(rows[15]).path, .bindAndStep, "one row")
        let other = try SQLiteTable<Task>(
            table.connection, "tasks", options: SQLiteTableOptions(insertPath: .bindAndStep))
        expectEqual(try other.insert(Array(rows[16...])).path, .bindAndStep, "as told")
        expectEqual(try table.fetchAll(orderedBy: .ascending(\.id)), rows, "rows")
    }

    private static func testInsertsObjects() throws {
        let people = try SQLiteTable<Person>(try SQLiteConnection.inMemory(), "people")
        try people.insert((0..<100).map { Person("Person \($0) with a longer name", $0) })
        expectEqual(try people.count(), 100, "rows")
        expectEqual(try people.count(where: \.age >= 90 && \.age < 95), 5, "a condition on an object's member")
        expectEqual(try people.fetchOne(where: \.name == "Person 7 with a longer name")?.age, 7, "a row")
        let person = Person("Ada", 36)
        var same = person
        try people.insert(&same)
        expectEqual(person.id, 101, "the id of the same object")
    }

    private static func testReturnsGeneratedIDs() throws {
        let table = try table()
        var rows = samples(4)
        (rows[0].id, rows[1].id, rows[2].id, rows[3].id) = (nil, 50, nil, 7)
        let report = try table.insert(&rows)
        expectEqual(rows.map(\.id), [1, 50, 51, 7], "ids")
        expectEqual(report.path, .bindAndStep, "path")
        expectEqual(try table.fetchAll(orderedBy: .ascending(\.id)).map(\.id), [1, 7, 50, 51], "stored ids")
        var failing = [Task(title: "new"), Task(id: 7, title: "a duplicate")]
        let error = expectThrows(SQLiteError.self, "a duplicate") { try table.insert(&failing) }
        expectEqual(error?.message, "$[1]: UNIQUE constraint failed: tasks.id", "message")
        expectEqual(failing.map(\.id), [nil, 7], "ids after an error")
        expectEqual(try table.count(), 4, "rows after an error")
    }

    private static func testRollsBackAndNamesTheRow() throws {
        for path in SQLiteInsertPath.allCases {
            for (count, wrong) in [(3, 2), (500, 333), (2_500, 2_499)] {
                let table = try table(SQLiteTableOptions(insertPath: path))
                try table.insert(Task(id: 1, title: "before"))
                var rows = samples(count)
                for index in rows.indices { rows[index].id = 10 + index }
                rows[wrong].id = 10
                let error = expectThrows(SQLiteError.self, "\(path)") { try table.insert(rows) }
                expectEqual(error?.extendedCode, .constraintPrimaryKey, "code by \(path)")
                expectEqual(error?.message, "$[\(wrong)]: UNIQUE constraint failed: tasks.id", "message by \(path)")
                expectEqual(try table.fetchAll().map(\.title), ["before"], "rows by \(path)")
                expectFalse(table.connection.isInTransaction, "a transaction by \(path)")
                expectNoThrow("inserting again by \(path)") { try table.insert(Array(samples(9)[1...])) }
            }
        }
    }

    private static func testNamesTheRowAndColumnOfABadValue() throws {
        let rows: [(String, String, (inout Task) -> Void)] = [
            (
                "title", "found a NUL character in text (at its byte 2), where SQL functions would cut it",
                { $0.title = "ab\0" }
            ),
            (
                "note", "found a NUL character in text (at its byte 20), where SQL functions would cut it",
                { $0.note = "a note that is longer\0".replacingLast(2) }
            ),
            ("ratio", "expected a number, found NaN, which SQLite can't store", { $0.ratio = .nan }),
            ("score", "expected a number, found NaN, which SQLite can't store", { $0.score = .nan }),
        ]
        for (column, message, spoil) in rows {
            for path in SQLiteInsertPath.allCases {
                let table = try table(SQLiteTableOptions(insertPath: path))
                var values = samples(20)
                spoil(&values[13])
                let error = expectThrows(SQLiteError.self, "\(column) by \(path)") { try table.insert(values) }
                expectEqual(
                    error?.streamError?.description, "$[13].\(column): \(message)", "message for \(column) by \(path)")
                expectEqual(try table.count(), 0, "rows by \(path)")
            }
        }
        let limited = try table()
        limited.connection.setLimit(.length, to: 10_000)
        var values = samples(20)
        values[9].bytes = Array(repeating: 7, count: 20_000)
        let error = expectThrows(SQLiteError.self, "a blob over the limit") { try limited.insert(values) }
        expectTrue(
            error?.code == .tooBig || error?.streamError?.kind == .limitExceeded, "\(error?.description ?? "no error")")
        expectEqual(try limited.count(), 0, "rows")
    }

    private static func testUsesSavepointWithinTransaction() throws {
        let table = try table()
        try table.connection.transaction {
            try table.insert(samples(10))
            expectThrows(SQLiteError.self, "the same rows") { try table.insert(samples(12)) }
            expectTrue(table.connection.isInTransaction, "the transaction goes on")
        }
        expectEqual(try table.count(), 10, "rows")
        try? table.connection.transaction {
            try table.deleteAll()
            try table.insert(samples(3))
            throw StreamError.stopRequest()
        }
        expectEqual(try table.count(), 10, "rows after a rollback around it")
    }

    private static func testFollowsConflictPolicy() throws {
        for path in SQLiteInsertPath.allCases {
            func titles(_ conflict: SQLiteConflict) throws -> ([String], Int) {
                let connection = try SQLiteConnection.inMemory()
                let table = try SQLiteTable<Task>(connection, "tasks")
                try table.insert((0..<10).map { (id: Int) in Task(id: id, title: "old \(id)", note: "kept") })
                let writing = try SQLiteTable<Task>(
                    connection, "tasks", options: SQLiteTableOptions(conflict: conflict, insertPath: path))
                let rows = (5..<15).map { id in
                    let title = id < 7 ? "old \(id)" : "new \(id)"
                    return Task(id: id, title: title, note: "kept")
                }
                let report = try writing.insert(rows)
                return (try table.fetchAll(orderedBy: .ascending(\.id)).map(\.title), report.changedRowCount)
            }
            let updated = (0..<15).map { $0 < 7 ? "old \($0)" : "new \($0)" }
            let ignored = (0..<15).map { $0 < 10 ? "old \($0)" : "new \($0)" }
            expectEqual("\(try titles(.ignore))", "\((ignored, 5))", "ignoring by \(path)")
            expectEqual("\(try titles(.replace))", "\((updated, 10))", "replacing by \(path)")
            expectEqual(
                "\(try titles(.upsert(on: ["id"])))", "\((updated, 8))", "updating what differs by \(path)")
        }
    }
}

extension String {
    /// Replaces characters at the end with NUL.
    fileprivate func replacingLast(_ count: Int) -> String { String(dropLast(count)) + "\0" }
}
#endif
