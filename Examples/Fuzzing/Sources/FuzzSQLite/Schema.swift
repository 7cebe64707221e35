// Random tables and rows: the fuzzer's bytes choose the columns and their constraints, triggers, other tables, the existing
// rows, and the rows to insert.

import PlistBuilding
import SQLiteStreaming

/// A sequence of choices, one per byte; 0 after the last one.
struct Choices {
    private var bytes: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { self.bytes = bytes }

    var isEmpty: Bool { bytes.isEmpty }

    mutating func next() -> Int { Int(bytes.popFirst() ?? 0) }

    mutating func pick<Value>(_ values: [Value]) -> Value { values[next() % values.count] }
}

/// A row of the table, which may have more columns.
struct Row: StreamObject, Equatable {
    var id: Int?
    var number = 0
    var title: String?
    var weight = 0.0
    var done = false
    var parent: Int?

    /// The values of the columns in order.
    var values: [(any SQLiteBindable)?] { [id, number, title, weight, done, parent] }
    static let columns = ["id", "number", "title", "weight", "done", "parent"]

    init() {}

    init(_ choices: inout Choices) {
        id = choices.pick([nil, nil, nil, 1, 2, 3, 5, 8, 100, -1, choices.next()])
        number = choices.pick([1, 2, 3, 13, 99, -5, .max, choices.next()])
        title = choices.pick(["a", "b", "A", "", nil, "é", "a title that is no small string", "t\(choices.next())"])
        weight = choices.pick([0.5, 1, -2.25, 1e300, 5e-324])
        done = choices.next() & 1 != 0
        parent = choices.pick([nil, nil, nil, 1, 2, 8, id])
    }
}

/// A class for the same row.
final class RowObject: StreamObject {
    var id: Int?
    var number = 0
    var title: String?
    var weight = 0.0
    var done = false
    var parent: Int?
    init() {}

    init(_ row: Row) {
        (id, number, title, weight) = (row.id, row.number, row.title, row.weight)
        (done, parent) = (row.done, row.parent)
    }
}

/// A database before the insertion, and the options for inserting.
struct Schema {
    let script: String
    let primaryKey: [String]
    let conflict: SQLiteConflict
    let existing: [Row]

    init(_ choices: inout Choices) {
        let id = choices.pick([
            "id INTEGER PRIMARY KEY", "id INTEGER PRIMARY KEY", "id INTEGER PRIMARY KEY AUTOINCREMENT", "id INTEGER",
            "ID integer CONSTRAINT key PRIMARY KEY CHECK (id <> 100)",
        ])
        let hasKey = id.contains("KEY")
        var columns = [
            hasKey ? id.replacing("ID ", with: "id ") : id,
            "number " + choices.pick(["INTEGER NOT NULL", "INTEGER NOT NULL CHECK (number < 99)", "BIGINT NOT NULL"]),
            "title "
                + choices.pick(["TEXT", "TEXT UNIQUE", "TEXT UNIQUE", "TEXT COLLATE NOCASE UNIQUE", "VARCHAR(2)"]),
            "weight " + choices.pick(["REAL NOT NULL", "NUMERIC NOT NULL", "REAL NOT NULL DEFAULT 1.5"]),
            "done " + choices.pick(["BOOLEAN NOT NULL", "INTEGER NOT NULL"]),
            "parent INTEGER"
                + choices.pick([
                    "", "", hasKey ? " REFERENCES t(id)" : "",
                    hasKey ? " REFERENCES t(id) DEFERRABLE INITIALLY DEFERRED" : "",
                ]),
        ]
        if choices.next() & 3 == 1 { columns.append("extra TEXT DEFAULT 'x'") }
        if choices.next() & 3 == 1 { columns.append("double AS (number * 2.0)") }
        if choices.next() & 1 == 1 { columns.swapAt(choices.next() % columns.count, choices.next() % columns.count) }
        var script = "CREATE TABLE t (\(columns.joined(separator: ", ")));\nCREATE TABLE log (what, id, number);\n"
        for trigger in Self.triggers where choices.next() & 7 == 1 { script += trigger + ";\n" }
        if choices.next() & 7 == 1 {
            // A name that the library might use itself.
            let kind = choices.pick(["TABLE", "TEMP TABLE"])
            script += "CREATE \(kind) stream_rows_6 (c0, c1, c2, c3, c4, c5, c6);\n"
            script += "INSERT INTO stream_rows_6 VALUES (70, 71, '72', 73, 74, 75, 76);\n"
        }
        self.script = script
        primaryKey = hasKey ? ["id"] : []
        let isUnique = columns.contains { $0.contains("UNIQUE") }
        conflict = choices.pick([
            .abort, .abort, .ignore, .replace, isUnique ? .upsert(on: ["title"]) : .abort,
            hasKey ? .upsert(on: ["id"]) : .abort,
        ])
        existing = (0..<choices.next() % 4).map { _ in Row(&choices) }
    }

    private static let triggers = [
        "CREATE TRIGGER t1 AFTER INSERT ON t BEGIN INSERT INTO log VALUES ('in', NEW.id, NEW.number); END",
        "CREATE TRIGGER t2 AFTER UPDATE ON t BEGIN INSERT INTO log VALUES ('up', NEW.id, OLD.id); END",
        "CREATE TRIGGER t3 BEFORE INSERT ON t WHEN NEW.number = 3 BEGIN SELECT RAISE(IGNORE); END",
        "CREATE TRIGGER t4 BEFORE INSERT ON t WHEN NEW.number = 13 BEGIN SELECT RAISE(ABORT, 'no'); END",
        "CREATE TRIGGER t5 AFTER INSERT ON t WHEN NEW.number = 2 BEGIN UPDATE t SET weight = 7 WHERE id = NEW.id; END",
        "CREATE TRIGGER t6 AFTER DELETE ON t BEGIN INSERT INTO log VALUES ('out', OLD.id, OLD.number); END",
        "CREATE TEMP TRIGGER t7 AFTER INSERT ON t BEGIN INSERT INTO log (what) VALUES (NEW.title); "
            + "INSERT INTO log (what) VALUES (2); END",
    ]

    /// Opens a new database.
    func open() throws(SQLiteError) -> SQLiteConnection {
        let connection = try SQLiteConnection.inMemory()
        try connection.execute(script)
        return connection
    }
}
