// The in-class tests of `SQLiteTable`: changes, keys, names, dictionaries, and schema changes.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistBuilding
import PlistCoding
import PlistStreaming

enum SQLiteTableChangeTests {}

extension SQLiteTableChangeTests: SelfTesting {
    private typealias Task = SQLiteTableTests.Task

    static var testSelectors: TestSelectors {
        [
            "testUpdatesAndDeletes": testUpdatesAndDeletes,
            "testSupportsCompositeKeys": testSupportsCompositeKeys,
            "testMapsNames": testMapsNames,
            "testInsertsDictionaries": testInsertsDictionaries,
            "testRefusesNullsInTheDatabase": testRefusesNullsInTheDatabase,
            "testReportsRemovedColumns": testReportsRemovedColumns,
            "testDetectsReplacementByAView": testDetectsReplacementByAView,
            "testUpsertsDoNotTouchKeys": testUpsertsDoNotTouchKeys,
            "testUpsertsRowsThatDifferInAnyByte": testUpsertsRowsThatDifferInAnyByte,
            "testUpsertsColumnsThatDifferBeyondASCII": testUpsertsColumnsThatDifferBeyondASCII,
            "testRollsBackIfIDsDoNotFit": testRollsBackIfIDsDoNotFit,
            "testUsesCustomEncodersOfRows": testUsesCustomEncodersOfRows,
        ]
    }

    private static func testUpdatesAndDeletes() throws {
        let table = try SQLiteTableTests.table()
        try table.insert(SQLiteTableTests.samples(30))
        expectEqual(try table.update(.set(\.done, true), .set(\.note, "x"), where: \.id < 20), 10, "updated rows")
        expectEqual(try table.count(where: \.note == "x" && \.done == true), 10, "rows")
        var row = try requireNotNil(try table.fetchOne(where: \.id == 3), "a row")
        row.title = "changed"
        row.level = .high
        expectTrue(try table.update(row), "an update by key")
        expectEqual(try table.fetchOne(where: \.id == 3), row, "the updated row")
        expectFalse(try table.update(Task(id: 1_000)), "an update of no row")
        expectTrue(try table.delete(row), "a deletion by key")
        expectFalse(try table.delete(row), "a second one")
        expectEqual(try table.delete(where: \.done == true), 19, "deleted rows")
        expectEqual(try table.updateAll(.set(\.flag, nil)), 10, "all rows")
        expectEqual(try table.count(where: \.flag == nil), 10, "rows without a flag")
        expectEqual(try table.deleteAll(), 10, "deleted rows")
        expectEqual(try table.count(), 0, "rows")
    }

    struct Membership: StreamObject, Equatable {
        var group = ""
        var person = 0
        var role = ""
    }

    private static func testSupportsCompositeKeys() throws {
        let connection = try SQLiteConnection.inMemory()
        let options = SQLiteTableOptions(primaryKey: ["group", "person"])
        let table = try SQLiteTable<Membership>(connection, "memberships", options: options)
        try table.insert([Membership(group: "a", person: 1, role: "x"), Membership(group: "b", person: 1, role: "y")])
        expectThrows(SQLiteError.self, "the same key") { try table.insert(Membership(group: "a", person: 1)) }
        expectTrue(try table.update(Membership(group: "b", person: 1, role: "z")), "an update")
        expectEqual(try table.fetchOne(where: \.group == "b")?.role, "z", "the updated row")
        expectTrue(try table.delete(Membership(group: "a", person: 1)), "a deletion")
        expectEqual(try table.count(), 1, "rows")
        let other = expectThrows(SQLiteError.self, "another key") {
            _ = try SQLiteTable<Membership>(
                connection, "memberships", options: SQLiteTableOptions(primaryKey: ["person"]))
        }
        expectEqual(
            other?.message,
            "the table memberships does not fit Membership: the primary key is (group, person), expected (person)",
            "message")
        let keyless = try SQLiteTable<Membership>(connection, "keyless")
        let error = expectThrows(SQLiteError.self, "a table without a key") { try keyless.update(Membership()) }
        expectEqual(error?.message, "the table 'keyless' has no primary key, which finding its rows needs", "message")
    }

    struct Named: StreamObject, Equatable {
        var id: Int? = nil
        var fullName = ""
        var isNew: Bool? = nil
    }

    private static func testMapsNames() throws {
        let table = try SQLiteTable<Named>(
            try SQLiteConnection.inMemory(), "named", options: SQLiteTableOptions(keyMapping: .snakeCase))
        expectEqual(table.columnNames, ["id", "full_name", "is_new"], "columns")
        let rows = (0..<20).map { Named(id: $0, fullName: "Name \($0)", isNew: $0 % 2 == 0) }
        try table.insert(rows)
        expectEqual(try table.fetchAll(where: \.fullName >= "Name 18"), Array(rows[2...9] + rows[18...]), "rows")
    }

    private static func testInsertsDictionaries() throws {
        let table = try SQLiteTableTests.table()
        func insert(_ dictionaries: [[String: Any]]) throws -> InsertResult {
            var writer = try table.makeWriter()
            try writer.write(any: dictionaries)
            try writer.finish()
            return writer.report
        }
        let report = try insert([
            ["id": 5, "title": "a", "done": true], ["title": "b", "note": Int?.none as Any, "score": 2],
            ["title": "c", "small": 9],
        ])
        expectEqual(report.changedRowCount, 3, "rows")
        var expected = [
            Task(id: 5, title: "a", done: true), Task(id: 6, title: "b", score: 2), Task(id: 7, title: "c"),
        ]
        expected[2].small = 9
        expectEqual(try table.fetchAll(), expected, "rows, with the defaults of the type")
        let rows: [([String: Any], String)] = [
            (["title": 5], "$[0].title: expected a string, found integer 5"),
            (["title": "x", "done": 1], "$[0].done: expected a Boolean, found integer 1"),
            (["title": Int?.none as Any], "$[0].title: expected a string, found null"),
            (["small": 70_000], "$[0].small: expected an integer from 0 to 65535, found integer 70000"),
            (["level": 5], "$[0].level: expected a raw value of Level, found 5"),
            (["nothing": 5], "$[0]: the table tasks has no column \"nothing\""),
        ]
        for (dictionary, message) in rows {
            let error = expectThrows(StreamError.self, message) { _ = try insert([dictionary]) }
            expectEqual(error?.description, message, "message")
        }
        expectEqual(try table.count(), 3, "rows after errors")
    }

    private static func testRefusesNullsInTheDatabase() throws {
        let table = try SQLiteTableTests.table()
        try table.insert(SQLiteTableTests.samples(3))
        // A table from another source can contain any values.
        try table.connection.execute("UPDATE tasks SET done = 2 WHERE id = 3")
        let error = expectThrows(SQLiteError.self, "no Boolean") { _ = try table.fetchAll() }
        expectEqual(error?.streamError?.description, "$[1].done: expected 0 or 1, found another value", "message")
    }

    private static func testDetectsReplacementByAView() throws {
        struct Item: StreamObject { var id: Int? = nil, a: Int? = nil }
        let trigger = "CREATE TRIGGER i INSTEAD OF INSERT ON t BEGIN INSERT INTO other VALUES (new.a); END"
        for count in [1, 20] {
            for conflict in [SQLiteConflict.abort, .ignore, .replace] {
                for accepts in [false, true] {
                    let connection = try SQLiteConnection.inMemory()
                    let table = try SQLiteTable<Item>(connection, "t", options: SQLiteTableOptions(conflict: conflict))
                    try connection.execute(
                        "DROP TABLE t; CREATE TABLE other (a); CREATE VIEW t AS SELECT 1 AS id, 2 AS a")
                    if accepts { try connection.execute(trigger) }
                    var items = (0..<count).map { Item(id: $0 % 2 == 0 ? nil : $0, a: $0) }
                    var error: (any Error)?
                    do { try table.insert(&items) } catch let thrown { error = thrown }
                    expectEqual(error == nil, accepts, "\(count) rows, \(conflict): \(error as Any)")
                    let stored = try connection.value("SELECT count(*) FROM other")
                    expectEqual(stored, .integer(accepts ? Int64(count) : 0), "rows")
                }
            }
        }
    }

    private static func testReportsRemovedColumns() throws {
        let file = try TemporaryDatabase()
        let table = try SQLiteTable<SQLiteTableTests.Person>(try file.open(), "people")
        try table.insert(SQLiteTableTests.Person("a", 1))
        try file.open(.readWrite).execute("ALTER TABLE people RENAME COLUMN age TO years")
        let error = expectThrows(SQLiteError.self, "inserting") {
            try table.insert((0..<20).map { SQLiteTableTests.Person("b", $0) })
        }
        expectEqual(error?.message, "$[0]: table main.people has no column named age", "message")
        expectThrows(SQLiteError.self, "selecting") { _ = try table.fetchAll() }
        expectEqual(try table.count(), 1, "rows")
    }

    private struct Titled: StreamObject, Equatable {
        var id: Int? = nil
        var title = ""
        var count = 0
    }

    private static func testUpsertsDoNotTouchKeys() throws {
        for path in SQLiteInsertPath.allCases {
            let connection = try SQLiteConnection.inMemory()
            try connection.execute("CREATE TABLE child (t REFERENCES tasks (id) ON DELETE CASCADE)")
            let options = SQLiteTableOptions(
                uniqueColumns: [["title"]], conflict: .upsert(on: ["TITLE"]), insertPath: path)
            let table = try SQLiteTable<Titled>(connection, "tasks", options: options)
            var rows = (1...20).map { Titled(title: "Titel \($0)", count: $0) }
            expectEqual(try table.insert(rows).changedRowCount, 20, "new rows by \(path)")
            try connection.execute("INSERT INTO child SELECT id FROM tasks")
            expectEqual(try table.insert(rows).changedRowCount, 0, "equal rows by \(path)")
            rows[3].count = 50
            rows[4] = Titled(id: 1_000, title: "Titel 5", count: 51)
            expectEqual(try table.insert(rows).changedRowCount, 2, "rows that differ by \(path)")
            let found = try table.fetchAll(orderedBy: .ascending(\.id))
            expectEqual(found.map(\.id), (1...20).map { $0 }, "ids by \(path)")
            expectEqual(found[3...4].map(\.count), [50, 51], "counts by \(path)")
            expectEqual(try connection.value("SELECT count(*) FROM child JOIN tasks ON id = t"), 20, "children")
        }
    }

    private static func testUpsertsRowsThatDifferInAnyByte() throws {
        let connection = try SQLiteConnection.inMemory()
        try connection.execute(
            "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT COLLATE NOCASE, b); INSERT INTO t VALUES (1, 'x', 1), (2, 'y', 2)"
        )
        let options = SQLiteTableOptions(conflict: .upsert(on: ["id"]))
        var writer = try SQLiteTableWriter(connection, table: "t", options: options)
        try writer.write(any: [["id": 1, "a": "X", "b": 1], ["id": 2, "a": "y", "b": 2.0]] as [[String: Any]])
        try writer.finish()
        expectEqual(writer.report.changedRowCount, 2, "changed rows")
        expectEqual(try connection.value("SELECT group_concat(a || typeof(b)) FROM t"), "Xinteger,yreal", "rows")
    }

    private struct Umlauts: StreamObject, Equatable {
        var Ä = 0
        var ä = 0
    }

    private static func testUpsertsColumnsThatDifferBeyondASCII() throws {
        let options = SQLiteTableOptions(primaryKey: ["Ä"], conflict: .upsert(on: ["Ä"]))
        let table = try SQLiteTable<Umlauts>(try SQLiteConnection.inMemory(), "t", options: options)
        try table.insert([Umlauts(Ä: 1, ä: 1), Umlauts(Ä: 1, ä: 2)])
        expectEqual(try table.fetchAll(), [Umlauts(Ä: 1, ä: 2)], "rows")
    }

    private struct Small: StreamObject {
        var id: UInt8? = nil
        var title = ""
    }

    private static func testRollsBackIfIDsDoNotFit() throws {
        let table = try SQLiteTable<Small>(try SQLiteConnection.inMemory(), "t")
        try table.insert(Small(id: 254))
        var rows = [Small(), Small()]
        let error = expectThrows(SQLiteError.self, "an id that is too large") { try table.insert(&rows) }
        expectEqual(
            error?.streamError?.description, "$[1].id: expected an integer from 0 to 255, found integer 256", "message")
        expectEqual(rows.map(\.id), [nil, nil], "ids")
        expectEqual(try table.count(), 1, "rows")
    }

    private struct Writing: StreamObject, StreamEncodable {
        var id: Int? = nil
        var title = ""

        func write<Sink: PlistSink & ~Copyable>(to sink: inout Sink) throws(StreamError) {
            try sink.beginDictionary()
            try "title".withUTF8Span { (span) throws(StreamError) in try sink.writeKey(span) }
            try "written \(title)".withUTF8Span { (span) throws(StreamError) in try sink.writeString(span) }
            try sink.endDictionary()
        }
    }

    private static func testUsesCustomEncodersOfRows() throws {
        let table = try SQLiteTable<Writing>(try SQLiteConnection.inMemory(), "t")
        try table.insert(Writing(title: "a"))
        var rows = [Writing(title: "b"), Writing(title: "c")]
        try table.insert(&rows)
        expectEqual(rows.map(\.id), [2, 3], "ids")
        expectEqual(
            try table.connection.value("SELECT group_concat(title) FROM t"), "written a,written b,written c", "titles")
    }
}
#endif
