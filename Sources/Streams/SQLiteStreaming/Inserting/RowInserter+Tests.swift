// The in-class tests of `RowInserter`: ids in any order, in all kinds of tables, inserted in every way.

#if DEBUG || IN_CLASS_TESTS
import CSystemSQLite
import InClassTesting
import PlistBuilding
import PlistCoding
import PlistStreaming

enum RowInserterTests {
    struct Row: StreamObject, Equatable {
        var id: Int? = nil
        var title = ""
    }

    /// A row with a computed title that changes the database.
    final class Changing: StreamObject {
        var id: Int? = nil
        var connection: SQLiteConnection?
        var sql = ""
        var title: String {
            get {
                do throws(SQLiteError) { return "\(try connection?.run(sql) ?? -1)" } catch { return error.message }
            }
            set {}
        }
        init() {}
        static var streamMembers: StreamMembers { [.member("id", \Changing.id), .member("title", \Changing.title)] }
    }
}

extension RowInserterTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testKeepsIDsOfEveryOrder": testKeepsIDsOfEveryOrder,
            "testKeepsIDsOfEveryKindOfKey": testKeepsIDsOfEveryKindOfKey,
            "testTriggersSeeIDs": testTriggersSeeIDs,
            "testKeepsIDsDespiteOtherInserts": testKeepsIDsDespiteOtherInserts,
            "testWritesBeforeReadingInATransaction": testWritesBeforeReadingInATransaction,
            "testRefusesPropertiesThatInsert": testRefusesPropertiesThatInsert,
            "testStoresReplacedPropertyValues": testStoresReplacedPropertyValues,
            "testKeepsNothingIfAPropertyEndsTheTransaction": testKeepsNothingIfAPropertyEndsTheTransaction,
            "testSurvivesPropertiesThatReadItsRows": testSurvivesPropertiesThatReadItsRows,
            "testNeverConfusesTablesOfSameName": testNeverConfusesTablesOfSameName,
            "testChecksForeignKeysPerRow": testChecksForeignKeysPerRow,
            "testCountsRowsDespiteTriggers": testCountsRowsDespiteTriggers,
        ]
    }

    private static func testKeepsIDsOfEveryOrder() throws {
        let count = 300  // More than are passed one by one.
        let orders: [(String, (Int) -> Int?)] = [
            ("from 0", { $0 }), ("from 1", { $0 + 1 }), ("with gaps", { $0 * 3 }), ("falling", { 5_000 - $0 }),
            ("negative", { $0 - 150 }), ("shuffled", { ($0 * 7_919) % 10_007 }), ("in runs", { $0 + $0 / 10 * 5 }),
            ("runs that fall", { ($0 % 100) + (3 - $0 / 100) * 1_000 }), ("chosen", { _ in nil }),
            ("chosen between", { $0 % 3 == 0 ? nil : $0 * 10 }), ("chosen in line", { $0 % 3 == 0 ? nil : $0 + 1 }),
            ("up to the largest", { .max - 299 + $0 }),
        ]
        for (name, id) in orders {
            let rows = (0..<count).map { Row(id: id($0), title: "Titel \($0)") }
            var expected: [Row]?
            for (path, before) in [.bindAndStep, .virtualTable].flatMap({ [($0, 0), ($0, 2)] })
                as [(SQLiteInsertPath, Int)]
            {
                let table = try SQLiteTable<Row>(
                    try SQLiteConnection.inMemory(), "t", options: SQLiteTableOptions(insertPath: path))
                if before > 0 { try table.insert([Row(id: -1_000), Row(id: -999)]) }
                try table.insert(rows)
                let found = try table.fetchAll(where: \.title != "", orderedBy: .ascending(\.id))
                expectEqual(found.count, count, "\(name) by \(path)")
                if !rows.contains(where: { $0.id == nil }) {
                    expectTrue(
                        found == rows.sorted { ($0.id ?? 0) < ($1.id ?? 0) }, "\(name) after \(before) by \(path)")
                } else if before == 0 {
                    if let expected { expectTrue(found == expected, "\(name) by \(path)") }
                    expected = found
                }
            }
        }
    }

    private static func testKeepsIDsOfEveryKindOfKey() throws {
        for columns in [
            "(id INTEGER PRIMARY KEY DESC, title TEXT NOT NULL)",
            "(id INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT NOT NULL)",
            "(title TEXT NOT NULL, extra, id INTEGER PRIMARY KEY)",
            "(id INTEGER PRIMARY KEY, title TEXT NOT NULL) STRICT",
            "(id INTEGER PRIMARY KEY, title TEXT NOT NULL UNIQUE CHECK (id >= 0))",
        ] {
            for path in SQLiteInsertPath.allCases {
                let connection = try SQLiteConnection.inMemory()
                try connection.execute("CREATE TABLE T \(columns)")
                let table = try SQLiteTable<Row>(connection, "t", options: SQLiteTableOptions(insertPath: path))
                let rows = (0..<700).map { Row(id: $0 + ($0 > 300 ? 10 : 0), title: "Titel \($0)") }
                try table.insert(Array(rows[..<300]))
                try table.insert(Array(rows[300...]))
                expectTrue(try table.fetchAll(orderedBy: .ascending(\.id)) == rows, "\(columns) by \(path)")
            }
        }
    }

    private static func testTriggersSeeIDs() throws {
        for kind in ["BEFORE", "AFTER"] {
            for path in SQLiteInsertPath.allCases {
                let connection = try SQLiteConnection.inMemory()
                let table = try SQLiteTable<Row>(connection, "t", options: SQLiteTableOptions(insertPath: path))
                try table.insert((1...300).map { Row(id: $0) })
                try connection.execute(
                    """
                    CREATE TABLE log (id);
                    CREATE TEMP TRIGGER i \(kind) INSERT ON t BEGIN INSERT INTO log VALUES (NEW.id); END
                    """)
                try table.insert((301...600).map { Row(id: $0) })
                expectEqual(try connection.value("SELECT count(*) || ' ' || min(id) FROM log"), "300 301", "\(kind)")
            }
        }
    }

    private static func testKeepsIDsDespiteOtherInserts() throws {
        // Between the batches of a writer, rows with ids above the largest one are inserted, and a trigger is created.
        let connection = try SQLiteConnection.inMemory()
        try connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, title); CREATE TABLE log (id)")
        var writer = try SQLiteTableWriter(connection, table: "t", options: SQLiteTableOptions(batchRowCount: 300))
        try writer.beginArray()
        for number in 0..<1_200 {
            try writer.write(any: ["id": number])
            switch number {
            case 310: try connection.execute("INSERT INTO t (id) VALUES (5000)")
            case 610: try connection.execute("DELETE FROM t WHERE id = 5000")
            case 910:
                expectEqual(writer.report.path, .virtualTable, "way without a trigger")
                try connection.execute(
                    "CREATE TRIGGER i BEFORE INSERT ON t BEGIN INSERT INTO log VALUES (NEW.id); END")
            default: break
            }
        }
        try writer.endArray()
        try writer.finish()
        expectEqual(writer.report.path, .bindAndStep, "way with a trigger")
        expectEqual(
            try connection.value("SELECT count(*) || ' ' || min(id) || ' ' || max(id) || ' ' || sum(id) FROM t"),
            "1200 0 1199 719400", "ids")
        expectEqual(try connection.value("SELECT count(*) || ' ' || min(id) FROM log"), "300 900", "ids of the trigger")
    }

    private static func testWritesBeforeReadingInATransaction() throws {
        let file = try TemporaryDatabase()
        let (first, second) = (try file.open(), try file.open())
        let table = try SQLiteTable<Row>(first, "t")
        let rows = (1...600).map { Row(id: $0) }
        try second.begin(.immediate)
        try first.begin(.deferred)
        let error = expectThrows(SQLiteError.self, "a lock of another connection") { try table.insert(rows) }
        expectEqual(error?.code, .busy, "code")
        expectEqual(unsafe sqlite3_txn_state(first.handle, "main"), SQLITE_TXN_NONE, "locks of the refused transaction")
        try second.commit()
        try table.insert(rows)
        try table.insert(rows.map { Row(id: ($0.id ?? 0) + 600) })
        try first.commit()
        expectEqual(try second.value("SELECT count(*) || ' ' || max(id) FROM t"), "1200 1200", "rows")
    }

    private static func testRefusesPropertiesThatInsert() throws {
        for path in SQLiteInsertPath.allCases {
            let connection = try SQLiteConnection.inMemory()
            let table = try SQLiteTable<Changing>(connection, "t", options: SQLiteTableOptions(insertPath: path))
            let rows = (0..<600).map { number in
                let row = Changing()
                (row.id, row.connection, row.sql) = (number, connection, "SELECT 1")
                return row
            }
            try table.insert(rows)
            expectEqual(
                try connection.value("SELECT count(*) || ' ' || sum(id) || ' ' || max(title) FROM t"), "600 179700 0",
                "rows of which one is read while they are inserted, by \(path)")
            try table.deleteAll()
            rows[400].sql = "INSERT INTO t (id, title) VALUES (2000, '')"
            let error = expectThrows(SQLiteError.self, "\(path)") { try table.insert(rows) }
            expectEqual(
                error?.streamError?.description,
                "$[400].title: a property changed the database while its row was inserted",
                "message by \(path)")
            expectEqual(try table.count(), 0, "rows by \(path)")
        }
    }

    /// A row whose title is replaced whenever its note is read.
    private final class Replacing: StreamObject {
        var id: Int? = nil
        var title = ""
        var others: [Replacing] = []
        var note: String {
            get {
                for other in others {
                    other.title = String(repeating: "replaced ", count: other.title.utf8.count % 7 + 2)
                }
                return String(repeating: "note ", count: 4)
            }
            set {}
        }
        init() {}
        static var streamMembers: StreamMembers {
            [.member("id", \Replacing.id), .member("title", \Replacing.title), .member("note", \Replacing.note)]
        }
    }

    private static func testStoresReplacedPropertyValues() throws {
        for path in SQLiteInsertPath.allCases {
            for count in [1, 7, 8, 300] {
                let table = try SQLiteTable<Replacing>(
                    try SQLiteConnection.inMemory(), "t", options: SQLiteTableOptions(insertPath: path))
                let rows = (0..<count).map { number in
                    let row = Replacing()
                    (row.id, row.title) = (number, "a title of its own with the number \(number)")
                    row.others = [row]
                    return row
                }
                defer { for row in rows { row.others = [] } }
                try table.insert(rows)
                expectEqual(
                    try table.connection.value(
                        """
                        SELECT count(*) FROM t WHERE title = 'a title of its own with the number ' || id \
                        AND note = 'note note note note '
                        """), .integer(Int64(count)), "rows by \(path)")
            }
        }
    }

    private static func testKeepsNothingIfAPropertyEndsTheTransaction() throws {
        for path in SQLiteInsertPath.allCases {
            for end in ["ROLLBACK", "rollBack()", "rollBack() and begin()"] {
                let connection = try SQLiteConnection.inMemory()
                let table = try SQLiteTable<Ending>(
                    connection, "t", options: SQLiteTableOptions(insertPath: path, batchRowCount: 16))
                for number in [0, 10, 19, 150] {
                    let rows = (0..<300).map { _ in Ending() }
                    (rows[number].connection, rows[number].end) = (connection, end)
                    expectThrows(SQLiteError.self, "\(end) by \(path)") { try table.insert(rows) }
                    if connection.isInTransaction { try connection.commit() }
                    expectEqual(try table.count(), 0, "rows after \(end) in row \(number) by \(path)")
                }
            }
        }
    }

    /// A row with a property that ends the transaction when it is read.
    private final class Ending: StreamObject {
        var id: Int? = nil
        var connection: SQLiteConnection?
        var end = ""
        var note: String {
            get {
                guard let connection else { return "" }
                self.connection = nil
                if end == "ROLLBACK" {
                    try? connection.execute(end)
                } else {
                    try? connection.rollBack()
                    if end.contains("begin") { try? connection.begin() }
                }
                return ""
            }
            set {}
        }
        init() {}
        static var streamMembers: StreamMembers { [.member("id", \Ending.id), .member("note", \Ending.note)] }
    }

    private static func testSurvivesPropertiesThatReadItsRows() throws {
        for path in SQLiteInsertPath.allCases {
            let connection = try SQLiteConnection.inMemory()
            let table = try SQLiteTable<Changing>(connection, "t", options: SQLiteTableOptions(insertPath: path))
            // This registers all modules of the connection.
            try SQLiteTable<Row>(connection, "other").insert((0..<20).map { Row(id: $0) })
            let modules = try connection.prepare("SELECT name FROM pragma_module_list WHERE name LIKE '%rows%'")
            var names: [String] = []
            while try modules.step() { names.append(try modules.text(at: 0) ?? "") }
            expectEqual(names.count, 1, "modules \(names)")
            for name in names {
                let rows = (0..<20).map { number in
                    let row = Changing()
                    (row.id, row.connection, row.sql) = (number, connection, "SELECT * FROM \(name)")
                    return row
                }
                try table.deleteAll()
                try table.insert(rows)
                expectEqual(
                    try connection.value("SELECT count(*) || ' ' || sum(id) || ' ' || min(length(title) > 5) FROM t"),
                    "20 190 1", "rows with the error of reading, by \(path)")
            }
        }
    }

    private static func testNeverConfusesTablesOfSameName() throws {
        for path in SQLiteInsertPath.allCases {
            for kind in ["TABLE", "TEMP TABLE"] {
                let connection = try SQLiteConnection.inMemory()
                let table = try SQLiteTable<Row>(connection, "t", options: SQLiteTableOptions(insertPath: path))
                let names = try (1...3).map { count in
                    let name = "stream_rows_\(count)"
                    try connection.execute(
                        "CREATE \(kind) \(name) (c0, c1, c2); INSERT INTO \(name) VALUES (-1, 'other', 0)")
                    return name
                }
                // A temporary table takes precedence over a table of the file if a name has no schema.
                try connection.execute("CREATE TEMP TABLE t (id INTEGER PRIMARY KEY, title TEXT NOT NULL)")
                let rows = (1...20).map { (id: Int) in Row(id: id, title: "Titel \(id)") }
                try table.insert(rows)
                expectTrue(try table.fetchAll() == rows, "rows by \(path) beside \(kind)")
                expectEqual(try table.count(), 20, "their number")
                expectEqual(try connection.value("SELECT count(*) FROM temp.t"), 0, "rows of the other table")
                for name in names { expectEqual(try connection.value("SELECT count(*) FROM \(name)"), 1, name) }
                try table.update(.set(\.title, ""), where: \.id == 1)
                try table.delete(where: \.id == 2)
                expectEqual(
                    try connection.value("SELECT count(*) || ' ' || min(title) FROM main.t"), "19 ", "changed rows")
                // A table that is bound now is the temporary one.
                try SQLiteTable<Row>(connection, "t").insert(rows)
                expectEqual(try connection.value("SELECT count(*) FROM temp.t"), 20, "rows of the temporary table")
                let shadow = try connection.value("SELECT max(name) FROM pragma_module_list WHERE name LIKE '%rows%'")
                guard let shadow = shadow?.text, [.automatic, .virtualTable].contains(path) else { continue }
                try connection.execute("CREATE \(kind) \(shadow) (c0, c1); INSERT INTO \(shadow) VALUES (-1, 'other')")
                let more = (101...120).map { Row(id: $0) }
                let error = expectThrows(SQLiteError.self, "a table with the name of ours") { try table.insert(more) }
                expectTrue(error?.message.contains(shadow) ?? false, error?.message ?? "no message")
                expectEqual(try table.count(), 19, "rows after it")
            }
        }
    }

    private struct Node: StreamObject {
        var id: Int? = nil
        var parent: Int? = nil
    }

    private static func testChecksForeignKeysPerRow() throws {
        for path in SQLiteInsertPath.allCases {
            for count in 2...20 {
                for wrong in [1, count / 2, count - 1] {
                    let connection = try SQLiteConnection.inMemory()
                    try connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, parent INTEGER REFERENCES t)")
                    let table = try SQLiteTable<Node>(connection, "t", options: SQLiteTableOptions(insertPath: path))
                    // A row whose parent is the next row.
                    var rows = (1...count).map { Node(id: $0, parent: $0 > 1 ? $0 - 1 : nil) }
                    rows[wrong - 1].parent = wrong + 1
                    let error = expectThrows(SQLiteError.self, "\(count) rows by \(path)") { try table.insert(rows) }
                    expectEqual(error?.message, "$[\(wrong - 1)]: FOREIGN KEY constraint failed", "message by \(path)")
                }
            }
            let connection = try SQLiteConnection.inMemory()
            try connection.execute(
                "CREATE TABLE p (id INTEGER PRIMARY KEY); CREATE TABLE t (id INTEGER PRIMARY KEY, parent INTEGER REFERENCES p)"
            )
            let table = try SQLiteTable<Node>(connection, "t", options: SQLiteTableOptions(insertPath: path))
            var rows = (1...20_000).map { Node(id: $0) }
            rows[15_123].parent = 1
            let error = expectThrows(SQLiteError.self, "by \(path)") { try table.insert(rows) }
            expectEqual(error?.message, "$[15123]: FOREIGN KEY constraint failed", "message by \(path)")
        }
    }

    private static func testCountsRowsDespiteTriggers() throws {
        for path in SQLiteInsertPath.allCases {
            let connection = try SQLiteConnection.inMemory()
            try connection.execute(
                """
                CREATE TABLE t (id INTEGER PRIMARY KEY, title TEXT NOT NULL UNIQUE); CREATE TABLE log (title);
                CREATE TRIGGER b BEFORE INSERT ON t BEGIN INSERT INTO log VALUES (NEW.title), (NEW.title); END;
                CREATE TRIGGER a AFTER INSERT ON t WHEN NEW.title = 'wrong' BEGIN SELECT RAISE(ABORT, 'wrong title'); END
                """)
            func table(_ conflict: SQLiteConflict = .abort) throws -> SQLiteTable<Row> {
                try SQLiteTable<Row>(
                    connection, "t", options: SQLiteTableOptions(conflict: conflict, insertPath: path))
            }
            var rows = (1...50).map { Row(id: nil, title: "Titel \($0)") }
            expectEqual(try table().insert(rows).changedRowCount, 50, "changed rows by \(path)")
            rows = rows.map { Row(title: $0.title + ", anders") }
            rows[20].title = "wrong"
            let error = expectThrows(SQLiteError.self, "\(path)") { try table().insert(rows) }
            expectEqual(error?.message, "$[20]: wrong title", "message by \(path)")
            var known = [
                Row(title: "neu"), Row(title: "Titel 7"), Row(title: "noch neuer"), Row(id: 9, title: "Titel 9"),
            ]
            expectEqual(try table(.ignore).insert(&known).changedRowCount, 2, "changed rows")
            expectEqual(known.map(\.id), [51, nil, 52, 9], "ids of rows that are there, ignored")
            for (index, title) in ["neu", "Titel 7", "neuer", "Titel 9"].enumerated() {
                known[index] = Row(title: title)
            }
            expectEqual(try table(.upsert(on: ["title"])).insert(&known).changedRowCount, 1, "changed rows")
            expectEqual(known.map(\.id), [51, 7, 53, 9], "ids of rows that are there, updated")
        }
    }
}
#endif
