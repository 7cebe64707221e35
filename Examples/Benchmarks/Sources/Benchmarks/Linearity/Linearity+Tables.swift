// The quantities that grow in databases and key sets: statements, rows, columns, conditions, children, moves.

import CSQLitePeers
import JSONStreaming
import PlistBuilding
import PlistStreaming
import SQLiteImporting
@_spi(InsertPaths) import SQLiteStreaming
import StringTables

private struct Keyed: StreamObject {
    var id: Int?
    var title = ""
}

private func open(_ script: String = "") throws -> SQLiteConnection {
    let connection = try SQLiteConnection.inMemory()
    try connection.execute(script)
    return connection
}

private func filled(_ count: Int) throws -> SQLiteTable<LinearityRow> {
    let table = try SQLiteTable<LinearityRow>(open(), "t")
    try table.insert(LinearityRow.many(count))
    return table
}

private func insert(_ rows: [LinearityRow], _ options: SQLiteTableOptions = SQLiteTableOptions()) throws {
    try SQLiteTable<LinearityRow>(open(), "t", options: options).insert(rows)
}

/// Inserts JSON into a table with the given columns.
private func insert(_ text: [UInt8], _ columns: String) throws {
    var writer = try SQLiteTableWriter(open("CREATE TABLE t (\(columns))"), table: "t")
    try writer.readJSON(text)
    try writer.finish()
}

var rowEntryPoints: [EntryPoint] {
    [
        EntryPoint("SQLite, rows in, structures", LinearityRow.many) { try insert($0) },
        EntryPoint("SQLite, rows in, one by one", LinearityRow.many) {
            try insert($0, SQLiteTableOptions(insertPath: .bindAndStep))
        },
        EntryPoint("SQLite, rows in, upserts", LinearityRow.many) {
            try insert($0, SQLiteTableOptions(conflict: .upsert(on: ["id"])))
        },
        EntryPoint("SQLite, rows in, with ids", { (0..<$0).map { Keyed(title: "row \($0)") } }) { rows in
            var rows = rows
            try SQLiteTable<Keyed>(open(), "t").insert(&rows)
        },
        EntryPoint("SQLite, rows in, JSON", LinearityRow.json) {
            try insert($0, "id INTEGER PRIMARY KEY, title, weight, note")
        },
        EntryPoint(
            "SQLite, rows in, JSON with other members each",
            { LargeText.array($0) { "{\"id\":\($0 + 1),\"\(["title", "weight", "note"][$0 % 3])\":null}" } }
        ) { try insert($0, "id INTEGER PRIMARY KEY, title DEFAULT 1, weight DEFAULT 2, note") },
        EntryPoint("SQLite, arrays in arrays", { LargeText.array($0) { "[{\"id\":\($0 + 1)}]" } }) {
            try insert($0, "id INTEGER PRIMARY KEY")
        },
        // For each page that it changes, SQLite visits all savepoints.
        EntryPoint("SQLite, depth of arrays", largest: 960, { $0 }, beside: insertInSavepoints) { depth in
            try insert(LargeText.nested(depth, "[{\"id\":1},", "{\"id\":2}", "]"), "id")
        },
        EntryPoint("SQLite, a row that is refused last", { LinearityRow.many($0) + LinearityRow.many(1) }) { rows in
            try mustThrow { try insert(rows) }
        },
        EntryPoint("SQLite, structures out", filled) { _ = try $0.fetchAll() },
        EntryPoint("SQLite, JSON out", filled) { table in
            var writer = JSONWriter()
            try table.connection.query("SELECT * FROM t", into: &writer)
        },
        EntryPoint("SQLite, Decodable rows out", filled) {
            _ = try $0.connection.fetchAll("SELECT * FROM t", as: LinearityRow.self) as [LinearityRow]
        },
        EntryPoint("SQLite, updates", { (try filled($0), LinearityRow.many($0)) }) { table, rows in
            try table.connection.transaction { for row in rows { _ = try table.update(row) } }
        },
    ]
}

/// Executes statements without using this package.
private func executeInSQLite(_ statements: String) throws {
    guard csqlitepeers_execute(statements) else { throw NoErrorThrown() }
}

private func insertInSavepoints(_ depth: Int) throws {
    let begin = (0..<depth).map { "SAVEPOINT s\($0); INSERT INTO t VALUES (1);" }
    let end = (0..<depth).reversed().map { "RELEASE s\($0);" }
    try executeInSQLite("CREATE TABLE t (id); BEGIN;\(begin.joined())\(end.joined()) COMMIT")
}

var statementEntryPoints: [EntryPoint] {
    [
        EntryPoint("SQLite, statements of a script", { String(repeating: "SELECT 1;\n", count: $0) }) {
            try open($0).close()
        },
        EntryPoint("SQLite, comments of a script", { String(repeating: "-- one\n;", count: $0) }) {
            try open($0).close()
        },
        EntryPoint(
            "SQLite, a long statement", { "SELECT '\(String(repeating: "text ", count: $0))'" }, beside: executeInSQLite
        ) { _ = try open().value($0) },
        EntryPoint("SQLite, statements that differ", { ($0, try open()) }) { count, connection in
            for number in 0..<count { _ = try connection.value("SELECT \(number)") }
        },
        EntryPoint(
            "SQLite, columns", largest: 1_920,
            { (count: Int) -> (String, [UInt8]) in
                let names = (0..<count).map { "c\($0)" }
                let row = "{\(names.map { "\"\($0)\":1" }.joined(separator: ","))}"
                return (names.joined(separator: ", "), LargeText.array(20) { _ in row })
            }
        ) { columns, text in
            let connection = try open("CREATE TABLE t (\(columns))")
            var writer = try SQLiteTableWriter(connection, table: "t")
            try writer.readJSON(text)
            try writer.finish()
            var json = JSONWriter()
            try connection.query("SELECT * FROM t", into: &json)
        },
        EntryPoint("SQLite, conditions", largest: 960, { ($0, try filled(10)) }) { count, table in
            var condition = \LinearityRow.id == 0
            for number in 0..<count { condition = condition || \LinearityRow.id == number }
            for _ in 0..<100 { _ = try table.count(where: condition) }
        },
    ]
}

// MARK: Imports

private func people(_ count: Int, child: (Int) -> Int) -> [UInt8] {
    LargeText.array(count) { "{\"id\":\($0),\"name\":\"n\($0)\",\"children\":[{\"id\":\(child($0)),\"name\":\"c\"}]}" }
}

private func family(_ count: Int) -> [UInt8] {
    LargeText.joined(count, "[{\"id\":1,\"name\":\"a\",\"children\":[", "{\"id\":-1}]}]") { "{\"id\":\($0)}," }
}

private func importEntryPoint(
    _ name: String, policy: ImportRelationship.Policy = .assign, _ texts: @escaping (Int) -> [[UInt8]]
) -> EntryPoint {
    let children = ImportTable("child", uniqueKey: ["id"], columns: [.integer("id"), .text("name")])
    let table = ImportTable(
        "parent", uniqueKey: ["id"], columns: [.integer("id"), .text("name")],
        relationships: [.toMany("children", children, foreignKey: ["parent_id"], policy: policy)])
    return EntryPoint("import, \(name)", texts) { texts in
        let connection = try open(
            """
            CREATE TABLE parent (id INTEGER PRIMARY KEY, name TEXT);
            CREATE TABLE child (id INTEGER PRIMARY KEY, name TEXT, parent_id INTEGER REFERENCES parent (id));
            CREATE INDEX child_parent ON child (parent_id);
            """)
        for text in texts {
            var importer = try Importer(table, into: connection, options: ImportOptions(failureLimit: .max))
            try importer.readJSON(text)
            try importer.finish()
        }
    }
}

var importEntryPoints: [EntryPoint] {
    [
        importEntryPoint("rows") { [people($0) { $0 }] },
        importEntryPoint("the same rows again") { [people($0) { $0 }, people($0) { $0 }] },
        importEntryPoint("children of one row") { [family($0)] },
        importEntryPoint("children given up") {
            [family($0), Array("[{\"id\":1,\"name\":\"a\",\"children\":[]}]".utf8)]
        },
        importEntryPoint("moves to the next row") { count in [people(count) { $0 }, people(count) { ($0 + 1) % count }]
        },
        importEntryPoint("moves to the row before") { count in
            [people(count) { $0 }, people(count) { ($0 + count - 1) % count }]
        },
        importEntryPoint("moves, replaced", policy: .replace) { count in
            [people(count) { $0 }, people(count) { ($0 + count / 2) % count }]
        },
        importEntryPoint("one row again and again") { count in
            [LargeText.array(count) { "{\"id\":1,\"name\":\"n\($0)\",\"children\":[{\"id\":\($0 % 7)}]}" }]
        },
        importEntryPoint("failures") { [LargeText.array($0) { "{\"id\":\"none\",\"name\":\"n\($0)\"}" }] },
    ]
}

// MARK: Keys

var keyEntryPoints: [EntryPoint] {
    [
        EntryPoint("string table, keys", { (0..<$0).map { "name \($0)" } }) { _ = KeySet($0) },
        EntryPoint("string table, long keys", { (0..<$0).map { "a name of more than sixteen bytes, \($0), and more" } })
        {
            _ = KeySet($0)
        },
        EntryPoint(
            "string table, keys that end alike",
            { (0..<$0).map { String(repeating: "x", count: $0 % 64) + "\($0 / 64) the same end of all" } }
        ) { _ = KeySet($0) },
        EntryPoint(
            "string table, look-ups",
            { (count: Int) -> ([String], KeySet) in
                let keys = (0..<count).map { "name \($0)" }
                return (keys, KeySet(keys))
            }
        ) { keys, set in for key in keys where !set.contains(key) { throw NoErrorThrown() } },
        EntryPoint("string table, a long key", { String(repeating: "x", count: $0) }) { key in
            for _ in 0..<50 where !KeySet([key]).contains(key) { throw NoErrorThrown() }
        },
    ]
}
