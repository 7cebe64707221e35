// GRDB as a peer: cached statements, records, cursors and upserts, used in the ways that its documentation recommends
// for speed.

import Foundation
import GRDB

private struct Record: FetchableRecord, PersistableRecord {
    static let databaseTableName = "tasks"
    var id: Int64
    var title: String
    var done: Bool

    init(id: Int64, title: String, done: Bool) {
        self.id = id
        self.title = title
        self.done = done
    }

    init(row: Row) {
        id = row[0]
        title = row[1]
        done = row[2]
    }

    func encode(to container: inout PersistenceContainer) {
        container["id"] = id
        container["title"] = title
        container["done"] = done
    }
}

private func open(_ file: SQLiteFile, isRelaxed: Bool) throws -> DatabaseQueue {
    var configuration = Configuration()
    if isRelaxed {
        configuration.prepareDatabase { database in
            try database.execute(sql: "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF")
        }
    }
    return try DatabaseQueue(path: file.path, configuration: configuration)
}

private let creation = "CREATE TABLE tasks (id INTEGER PRIMARY KEY, title TEXT NOT NULL, done BOOLEAN NOT NULL)"

func grdbInsertCases(_ data: SQLiteRows, isRelaxed: Bool) -> [Case] {
    let (statements, records) = (SQLiteFile(), SQLiteFile())
    return [
        Case(
            name: "GRDB, cached statement, unchecked arguments", prepare: { statements.remove() },
            verify: { try statements.verified() }
        ) {
            try open(statements, isRelaxed: isRelaxed).write { database in
                try database.execute(sql: creation)
                let statement = try database.cachedStatement(sql: "INSERT INTO tasks VALUES (?, ?, ?)")
                for row in data.rows {
                    statement.setUncheckedArguments([row.id, row.title, row.done])
                    try statement.execute()
                }
            }
            return 0
        },
        Case(name: "GRDB, records", prepare: { records.remove() }, verify: { try records.verified() }) {
            try open(records, isRelaxed: isRelaxed).write { database in
                try database.execute(sql: creation)
                for row in data.rows {
                    try Record(id: Int64(row.id), title: row.title, done: row.done).insert(database)
                }
            }
            return 0
        },
    ]
}

func grdbReadCases(_ file: SQLiteFile, _ sql: String) -> [Case] {
    func open() throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.readonly = true
        return try DatabaseQueue(path: file.path, configuration: configuration)
    }
    return [
        Case(name: "GRDB, cursor of rows") {
            try open().read { database in
                var sum: UInt64 = 0
                let rows = try Row.fetchCursor(database, sql: sql)
                while let row = try rows.next() {
                    let (id, title, done): (Int64, String, Bool) = (row[0], row[1], row[2])
                    sum &+= UInt64(id) &+ UInt64(title.utf8.count) &+ (done ? 1 : 0)
                }
                return sum
            }
        },
        .making(
            "GRDB, records", { try open().read { try Record.fetchAll($0, sql: sql) } },
            sum: { records in
                records.reduce(into: 0) { $0 &+= UInt64($1.id) &+ UInt64($1.title.utf8.count) &+ ($1.done ? 1 : 0) }
            }),
    ]
}

func grdbUpsertCases(_ data: SQLiteRows, isHot: Bool) -> [Case] {
    let file = SQLiteFile()
    return [
        Case(
            name: "GRDB, ON CONFLICT DO UPDATE", prepare: { if !isHot { file.remove() } },
            verify: { try file.verifiedPersons() }
        ) {
            try open(file, isRelaxed: false).write { database in
                try database.execute(
                    sql: """
                        CREATE TABLE IF NOT EXISTS persons (id INTEGER PRIMARY KEY, name TEXT NOT NULL, age INTEGER NOT NULL);
                        CREATE TABLE IF NOT EXISTS phones (
                            id INTEGER PRIMARY KEY, person INTEGER NOT NULL, number TEXT NOT NULL);
                        CREATE INDEX IF NOT EXISTS phone_persons ON phones (person)
                        """)
                let person = try database.cachedStatement(
                    sql: """
                        INSERT INTO persons VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE SET name = excluded.name,
                        age = excluded.age
                        """)
                let phone = try database.cachedStatement(
                    sql: """
                        INSERT INTO phones VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE SET person = excluded.person,
                        number = excluded.number
                        """)
                for row in data.rows {
                    person.setUncheckedArguments([row.id, row.title, row.done ? 1 : 0])
                    try person.execute()
                    phone.setUncheckedArguments([row.id, row.id, row.title])
                    try phone.execute()
                }
            }
            return 0
        }
    ]
}
