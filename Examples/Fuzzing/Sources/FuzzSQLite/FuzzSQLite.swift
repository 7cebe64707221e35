// Inserts rows into tables on all paths, and compares them with plain SQL that inserts the rows one after another. The
// contents, counts and ids must be the same. If an error occurs, it must have the same kind and row, and nothing must be
// changed.

import FuzzInputs
import JSONStreaming
import PlistBuilding
import PlistStreaming
@_spi(InsertPaths) import SQLiteStreaming

@main
enum FuzzSQLite {
    static func main() {
        FuzzInput.run { start, count in
            fuzzSQLite(Array(UnsafeRawBufferPointer(start: start, count: count)))
            return 0
        }
    }
}

private func fuzzSQLite(_ bytes: [UInt8]) {
    var choices = Choices(bytes[...])
    let schema = Schema(&choices)
    let batchRowCount = choices.pick([1, 2, 7, 1_024])
    let first = choices.next()
    var rows: [Row] = []
    while !choices.isEmpty, rows.count < 40 { rows.append(Row(&choices)) }
    // Enough rows for their ids to be given in ranges.
    if choices.next() == 0, rows.count == 40 { rows += rows + rows + rows + rows + rows + rows }
    do {
        let expected = try plainly(schema, rows)
        // A few paths for each input, since opening a database takes most of the time.
        let all = paths(batchRowCount)
        for (name, path) in (0..<4).map({ all[(first + $0 * 5) % all.count] }) {
            let found = try outcome(schema, rows, path)
            check(
                found.matches(expected, schema),
                "\(name) by \(schema.conflict)\n\(schema.script)\(schema.existing)\n\(rows)\ngives \(found)\nnot \(expected)"
            )
        }
    } catch {
        // Constraints that the existing rows already violate.
        if let error = error as? SQLiteError, error.code == .constraint { return }
        fatalError("\(error)\n\(schema.script)")
    }
}

// MARK: Plain SQL

/// The result of inserting rows.
private struct Outcome: CustomStringConvertible {
    /// The whole content of the database.
    var contents: [String] = []
    var changedRowCount: Int?
    /// The ids chosen by SQLite, by row.
    var ids: [Int64?]?
    /// The Boolean values, by row, that indicate whether an id belongs to a row that existed before.
    var isOfOthers: [Bool] = []
    /// The rejected row and the result code.
    var failure: (row: Int?, code: SQLiteResultCode)?

    var description: String {
        "\(changedRowCount ?? -1) changes, ids \(ids ?? []), failure \(String(describing: failure))\n"
            + contents.joined(separator: "\n")
    }

    func matches(_ other: Outcome, _ schema: Schema) -> Bool {
        guard contents == other.contents else { return false }
        if let failure {
            guard let expected = other.failure, failure.code == expected.code else { return false }
            // A deferred constraint fails at the end of the transaction, without a row.
            return failure.row == expected.row
        }
        guard other.failure == nil else { return false }
        if let changedRowCount, changedRowCount != other.changedRowCount { return false }
        guard let ids, let expected = other.ids else { return true }
        return ids.indices.allSatisfy { index in
            ids[index] == expected[index] || other.isOfOthers[index] && ids[index] == nil
        }
    }
}

private func contents(_ connection: SQLiteConnection) throws -> [String] {
    var lines: [String] = []
    for sql in ["SELECT rowid, * FROM t ORDER BY rowid", "SELECT * FROM log ORDER BY rowid"] {
        let statement = try connection.prepare(sql)
        while try statement.step() { lines.append(try statement.values().map { "\($0)" }.joined(separator: " ")) }
    }
    return lines
}

private func fill(_ connection: SQLiteConnection, _ schema: Schema) throws {
    for row in schema.existing { try connection.run(insertion(.abort, primaryKey: []), SQLiteParameters(row.values)) }
}

private func insertion(_ conflict: SQLiteConflict, primaryKey: [String]) -> String {
    let columns = Row.columns
    let marks = "(\(columns.joined(separator: ", "))) VALUES (?, ?, ?, ?, ?, ?)"
    switch conflict {
    case .abort: return "INSERT INTO main.t \(marks)"
    case .ignore: return "INSERT OR IGNORE INTO main.t \(marks)"
    case .replace: return "INSERT OR REPLACE INTO main.t \(marks)"
    case .upsert(on: let keys):
        // The existing row keeps its id.
        let others = columns.filter { !keys.contains($0) && !primaryKey.contains($0) }
        return "INSERT INTO main.t \(marks) ON CONFLICT (\(keys.joined(separator: ", "))) DO UPDATE SET "
            + others.map { "\($0) = excluded.\($0)" }.joined(separator: ", ") + " WHERE "
            + others.map { "\($0) IS NOT excluded.\($0) COLLATE BINARY" }.joined(separator: " OR ")
    }
}

/// Inserts the rows one by one with plain statements.
private func plainly(_ schema: Schema, _ rows: [Row]) throws -> Outcome {
    let connection = try schema.open()
    try fill(connection, schema)
    let before = try contents(connection)
    let sql = insertion(schema.conflict, primaryKey: schema.primaryKey)
    var outcome = Outcome(changedRowCount: 0, ids: [])
    try connection.execute("BEGIN IMMEDIATE")
    var row: Int?
    do {
        for (index, values) in rows.enumerated() {
            row = index
            let count = try connection.value("SELECT count(*) FROM t")
            let changes = try connection.run(sql, SQLiteParameters(values.values))
            outcome.changedRowCount = (outcome.changedRowCount ?? 0) + changes
            let isNew = try changes > 0 && connection.value("SELECT count(*) FROM t") != count
            let isChosen = values.id == nil && changes > 0 && !schema.primaryKey.isEmpty
            var id = isChosen ? connection.lastInsertRowID : values.id.map(Int64.init)
            var isOfOthers = false
            if case .upsert = schema.conflict, values.id == nil, !isNew {
                id = try connection.value("SELECT id FROM t WHERE title = ?", [values.title])?.integer
                isOfOthers = true
            }
            outcome.ids?.append(id)
            outcome.isOfOthers.append(isOfOthers)
        }
        row = nil
        try connection.execute("COMMIT")
        outcome.contents = try contents(connection)
    } catch let error as SQLiteError {
        outcome.failure = (row, error.code)
        if connection.isInTransaction { try connection.execute("ROLLBACK") }
        outcome.contents = try contents(connection)
        check(outcome.contents == before, "a transaction is undone")
    }
    return outcome
}

// MARK: All paths

private typealias Variant = (SQLiteConnection, SQLiteTableOptions, [Row]) throws -> (
    report: InsertResult, ids: [Int64?]?
)

private func paths(_ batchRowCount: Int) -> [(String, Variant)] {
    var paths: [(String, Variant)] = []
    for path in SQLiteInsertPath.allCases {
        paths.append(
            (
                "structures, \(path)",
                { connection, options, rows in
                    var options = options
                    options.insertPath = path
                    return (try SQLiteTable<Row>(connection, "t", options: options).insert(rows), nil)
                }
            ))
        paths.append(
            (
                "objects, \(path)",
                { connection, options, rows in
                    var options = options
                    options.insertPath = path
                    let table = try SQLiteTable<RowObject>(connection, "t", options: options)
                    return (try table.insert(rows.map { RowObject($0) }), nil)
                }
            ))
        paths.append(
            (
                "JSON, bound, \(path)",
                { connection, options, rows in
                    var options = options
                    options.insertPath = path
                    options.batchRowCount = batchRowCount
                    var writer = try SQLiteTable<Row>(connection, "t", options: options).makeWriter()
                    try writer.readJSON(try json(rows))
                    try writer.finish()
                    return (writer.report, nil)
                }
            ))
        paths.append(
            (
                "JSON, untyped, \(path)",
                { connection, options, rows in
                    var options = options
                    options.insertPath = path
                    options.batchRowCount = batchRowCount
                    var writer = try SQLiteTableWriter(connection, table: "t", options: options)
                    try writer.readJSON(try json(rows))
                    try writer.finish()
                    return (writer.report, nil)
                }
            ))
    }
    paths.append(
        (
            "structures with ids",
            { connection, options, rows in
                var rows = rows
                let report = try SQLiteTable<Row>(connection, "t", options: options).insert(&rows)
                return (report, rows.map { $0.id.map(Int64.init) })
            }
        ))
    return paths
}

private func json(_ rows: [Row]) throws(StreamError) -> [UInt8] {
    var writer = JSONWriter()
    try writer.write(rows, options: WritingOptions(nilMembers: .writeNull))
    try writer.finish()
    return writer.bytes
}

private func outcome(_ schema: Schema, _ rows: [Row], _ path: Variant) throws -> Outcome {
    let connection = try schema.open()
    try fill(connection, schema)
    let options = SQLiteTableOptions(primaryKey: schema.primaryKey, conflict: schema.conflict)
    var outcome = Outcome()
    do {
        let (report, ids) = try path(connection, options, rows)
        check(report.rowCount == rows.count, "\(report.rowCount) of \(rows.count) rows came")
        outcome.changedRowCount = report.changedRowCount
        outcome.ids = ids
    } catch {
        let stream = error as? StreamError
        guard let sqlite = error as? SQLiteError ?? stream?.sqliteError else { throw error }
        let path = stream?.path ?? sqlite.streamError?.path
        // For errors of SQLite itself, the path is in the message.
        let named = sqlite.message.firstMatch(of: /^\$\[(\d+)\]/).flatMap { Int($0.output.1) }
        outcome.failure = (row(in: path) ?? named, sqlite.code)
    }
    check(!connection.isInTransaction, "a transaction is left open")
    outcome.contents = try contents(connection)
    return outcome
}

/// Returns the row at the beginning of a path.
private func row(in path: StreamPath?) -> Int? {
    guard case .index(let row)? = path?.steps.first else { return nil }
    return row
}
