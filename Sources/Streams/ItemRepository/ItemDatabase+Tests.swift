// The in-class tests of repositories in databases, including changes by other programs.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistBuilding
import PlistStreaming
import SQLiteStreaming

enum ItemDatabaseTests {}

extension ItemDatabaseTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testWritesOnlyChangedRows": testWritesOnlyChangedRows,
            "testKeepsOtherTables": testKeepsOtherTables,
            "testRefusesAForeignTable": testRefusesAForeignTable,
            "testRefusesADamagedDatabaseWithOtherTables": testRefusesADamagedDatabaseWithOtherTables,
            "testAppendsAfterTheLargestNumber": testAppendsAfterTheLargestNumber,
            "testIgnoresCaseOfTableName": testIgnoresCaseOfTableName,
            "testRefusesTablesWithoutIntegerPrimaryKey": testRefusesTablesWithoutIntegerPrimaryKey,
            "testAcceptsTablesWithOtherConstraints": testAcceptsTablesWithOtherConstraints,
            "testWritesChangesThatCollationsIgnore": testWritesChangesThatCollationsIgnore,
            "testRefusesAKeyWithNUL": testRefusesAKeyWithNUL,
        ]
    }

    private typealias Clip = ItemRepositoryTests.Clip
    private typealias Clips = ItemRepository<Clip>

    private static func testWritesOnlyChangedRows() throws {
        let path = "\(try temporaryDirectory())/clips"
        let clips = try Clips(path: path, format: .sqlite)
        for number in 0..<10 { clips.add(Clip(number)) }
        try clips.flush()
        let connection = try SQLiteConnection(path: path, options: SQLiteOptions(access: .readWrite))
        try connection.execute(
            """
            CREATE TABLE log (what TEXT);
            CREATE TRIGGER i AFTER INSERT ON items BEGIN INSERT INTO log VALUES ('+' || new.id); END;
            CREATE TRIGGER u AFTER UPDATE ON items BEGIN INSERT INTO log VALUES ('*' || new.id); END;
            CREATE TRIGGER d AFTER DELETE ON items BEGIN INSERT INTO log VALUES ('-' || old.id); END;
            """)
        var changed = Clip(4)
        changed.note = "changed"
        clips.add(changed)
        clips.remove(id: "clip 7")
        clips.add(Clip(11))
        try clips.flush()
        try clips.flush()
        expectEqual(
            try connection.value("SELECT group_concat(what) FROM (SELECT what FROM log ORDER BY what)"),
            .text("*clip 4,+clip 11,-clip 7"), "changes")
    }

    private static func testKeepsOtherTables() throws {
        let path = "\(try temporaryDirectory())/clips"
        let connection = try SQLiteConnection(path: path, options: SQLiteOptions(access: .create, journalMode: .wal))
        try connection.execute("CREATE TABLE other (x); INSERT INTO other VALUES (1)")
        let clips = try Clips(path: path, format: .sqlite)
        expectEqual(clips.count, 0, "a database without the table")
        clips.add(Clip(1))
        try clips.flush()
        clips.removeAll()
        try clips.flush()
        expectEqual(try connection.value("SELECT count(*) FROM other"), .integer(1), "another table")
        expectEqual(try connection.value("SELECT count(*) FROM items"), .integer(0), "items")
    }

    private static func testRefusesAForeignTable() throws {
        let path = "\(try temporaryDirectory())/clips"
        let connection = try SQLiteConnection(path: path, options: SQLiteOptions(access: .create))
        try connection.execute("CREATE TABLE items (price REAL); INSERT INTO items VALUES (1)")
        let error = expectThrows(StreamError.self, "another table") { _ = try Clips(path: path, format: .sqlite) }
        expectEqual(error?.kind, .cannotRead, "kind")
        expectTrue(
            error?.message.contains("expected the columns number, id and item") ?? false, "\(error?.message ?? "")")
        expectEqual(try connection.value("SELECT count(*) FROM items"), .integer(1), "its rows")
    }

    private static func testRefusesADamagedDatabaseWithOtherTables() throws {
        let path = "\(try temporaryDirectory())/clips"
        let connection = try SQLiteConnection(path: path, options: SQLiteOptions(access: .create))
        try connection.execute(
            """
            CREATE TABLE other (x TEXT CHECK (length(x) < 3), y NOT NULL);
            CREATE TABLE items (number INTEGER PRIMARY KEY, id TEXT, item TEXT CHECK (length(item) > 3));
            PRAGMA ignore_check_constraints = ON;
            INSERT INTO other VALUES ('long', 1);
            INSERT INTO items VALUES (1, 'a', '{"identifier": "a"}'), (2, 'b', '7');
            """)
        let clips = try Clips(path: path, format: .sqlite)
        expectEqual(clips.items.map(\.id), ["a"], "items of a whole database")
        expectEqual(clips.problems.count, 1, "what is no item: \(clips.problems)")
        expectEqual(try connection.value("SELECT count(*) FROM other"), .integer(1), "the other table")
        // Overwrites the page of the items.
        let page = try requireNotNil(
            try connection.value("SELECT rootpage FROM sqlite_schema WHERE name = 'items'"), "page")
        let size = try requireNotNil(try connection.value("PRAGMA page_size"), "size")
        guard case .integer(let page) = page, case .integer(let size) = size else { return fail("no integers") }
        try ItemRepositoryTests.overwrite(path, at: Int((page - 1) * size), [UInt8](repeating: 0xFF, count: 100))
        let error = expectThrows(StreamError.self, "damaged, and shared") {
            _ = try Clips(path: path, format: .sqlite)
        }
        expectEqual(error?.kind, .cannotRead, "kind")
        expectEqual(try SQLiteConnection(path: path).value("SELECT count(*) FROM other"), .integer(1), "still there")
    }

    private static func testAppendsAfterTheLargestNumber() throws {
        let path = "\(try temporaryDirectory())/clips"
        let connection = try SQLiteConnection(path: path, options: SQLiteOptions(access: .create))
        try connection.execute(
            """
            CREATE TABLE items (number INTEGER PRIMARY KEY, id TEXT, item TEXT);
            INSERT INTO items VALUES (\(Int64.max - 1), 'a', '{"identifier": "a"}');
            """)
        let clips = try Clips(path: path, format: .sqlite)
        clips.add(Clip(1))
        try clips.flush()
        expectEqual(try Clips(path: path, format: .sqlite).items.map(\.id), ["a", "clip 1"], "order")
        clips.add(Clip(2))
        let error = expectThrows(StreamError.self, "no number left") { try clips.flush() }
        expectEqual(error?.kind, .unrepresentable, "kind")
        expectEqual(try connection.value("SELECT count(*) FROM items"), .integer(2), "rows")
    }

    private static func testIgnoresCaseOfTableName() throws {
        let path = "\(try temporaryDirectory())/clips"
        let connection = try SQLiteConnection(path: path, options: SQLiteOptions(access: .create))
        try connection.execute("CREATE TABLE Items (Number INTEGER PRIMARY KEY, ID TEXT, Item TEXT)")
        let clips = try Clips(path: path, format: .sqlite)
        clips.add(Clip(1))
        try clips.flush()
        expectEqual(try Clips(path: path, format: .sqlite).items, [Clip(1)], "items")
    }

    private static func testRefusesTablesWithoutIntegerPrimaryKey() throws {
        let rows = #"INSERT INTO items VALUES (1, 'a', '{"identifier": "a"}'), (2, 'b', '{"identifier": "b"}')"#
        for (index, table) in [
            "TABLE items (number INTEGER, id TEXT, item TEXT)",
            "TABLE items (number INTEGER UNIQUE, id TEXT, item TEXT)",
            "TABLE items (number INT PRIMARY KEY, id TEXT, item TEXT)",
            "TABLE items (number TEXT PRIMARY KEY, id TEXT, item TEXT)",
            "TABLE items (number INTEGER PRIMARY KEY DESC, id TEXT, item TEXT)",
            "TABLE items (number INTEGER PRIMARY KEY, id TEXT, item TEXT) WITHOUT ROWID",
            "TABLE items (number INTEGER, id TEXT, item TEXT, PRIMARY KEY (number, id))",
            "TABLE items (number INTEGER, id INTEGER PRIMARY KEY, item TEXT)",
            "TABLE t (number INTEGER PRIMARY KEY, id TEXT, item TEXT); CREATE VIEW items AS SELECT * FROM t",
        ].enumerated() {
            let path = "\(try temporaryDirectory())/clips\(index)"
            let connection = try SQLiteConnection(path: path, options: SQLiteOptions(access: .create))
            try connection.execute("CREATE \(table)")
            if !table.contains("VIEW") && !table.contains("id INTEGER") { try connection.execute(rows) }
            let error = expectThrows(StreamError.self, table) { _ = try Clips(path: path, format: .sqlite) }
            expectEqual(error?.kind, .cannotRead, "kind: \(table)")
            expectTrue(error?.message.contains("INTEGER PRIMARY KEY") ?? false, "\(error?.message ?? "")")
        }
    }

    private static func testAcceptsTablesWithOtherConstraints() throws {
        for (index, table) in [
            "(number integer PRIMARY KEY AUTOINCREMENT, id TEXT UNIQUE, item TEXT NOT NULL)",
            "(number INTEGER, id TEXT, item TEXT, PRIMARY KEY (number))",
            "(Number Integer PRIMARY KEY, id TEXT, item BLOB)",
        ].enumerated() {
            let path = "\(try temporaryDirectory())/clips\(index)"
            let connection = try SQLiteConnection(path: path, options: SQLiteOptions(access: .create))
            try connection.execute("CREATE TABLE items \(table)")
            let clips = try Clips(path: path, format: .sqlite)
            for number in 0..<3 { clips.add(Clip(number)) }
            try clips.flush()
            clips.remove(id: "clip 1")
            try clips.flush()
            try clips.reload()
            expectEqual(clips.items, [Clip(0), Clip(2)], table)
        }
    }

    /// An item is written if its bytes changed, even if the table's collation treats both as equal.
    private static func testWritesChangesThatCollationsIgnore() throws {
        for (index, rule) in ["NOCASE", "RTRIM"].enumerated() {
            let path = "\(try temporaryDirectory())/clips\(index)"
            let connection = try SQLiteConnection(path: path, options: SQLiteOptions(access: .create))
            try connection.execute(
                """
                CREATE TABLE items (number INTEGER PRIMARY KEY, id TEXT COLLATE \(rule), item TEXT COLLATE \(rule));
                """)
            let clips = try Clips(path: path, format: .sqlite)
            var clip = Clip(2)
            for note in ["hello", "HELLO"] {
                clip.note = note
                clips.add(clip)
                try clips.flush()
                try clips.reload()
                expectEqual(clips.items, [clip], "\(note), \(rule)")
            }
        }
    }

    private static func testRefusesAKeyWithNUL() throws {
        let clips = try Clips(path: "\(try temporaryDirectory())/clips", format: .sqlite)
        clips.add(Clip(1))
        try clips.flush()
        var clip = Clip(2)
        clip.identifier = "a\0b"
        clips.add(clip)
        let error = expectThrows(StreamError.self, "a key with NUL") { try clips.flush() }
        expectEqual(error?.kind, .unrepresentable, "kind")
        expectEqual(error?.path?.description, "$[1]", "path")
        expectTrue(error?.message.contains("NUL character in a key") ?? false, "\(error?.message ?? "")")
        try clips.reload()
        expectEqual(clips.items, [Clip(1)], "the file")
    }
}
#endif
