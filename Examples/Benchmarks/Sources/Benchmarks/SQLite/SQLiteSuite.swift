// Compares writing and reading rows with a C loop over SQLite's interface, GRDB and Python's sqlite3, all on the same
// library.
// The default is 2 million rows (`--rows`). For 10 million, leave out the slow cases with
// `--cases "SQLiteTable, automatic;C, bind and step"`.
// Each case opens its own file. Its count and content are verified after the first run, and its count after each run,
// all of it untimed.

import CSQLitePeers
import Foundation
import JSONStreaming
import PlistBuilding
import PlistStreaming
@_spi(InsertPaths) import SQLiteStreaming

let sqliteSuite = Suite(name: "SQLite") { scale in
    let count = scale.amount(full: scale.rows ?? 2_000_000, smoke: 100)
    let fewer = scale.amount(full: 100_000, smoke: 50)
    // The groups share these rows, which are made when the first group runs.
    let (rows, others) = (SQLiteRows(count), SQLiteRows(count, isASCII: false))
    let gaps = SQLiteRows(count, idStep: 3)
    return [
        insertGroup("insert", rows, isRelaxed: false), insertGroup("insert-relaxed", rows, isRelaxed: true),
        insertGroup("insert-non-ASCII", others, isRelaxed: true),
        // SQLite searches for the position of each id that isn't the next one.
        insertGroup("insert-gaps", gaps, isRelaxed: true, withOthers: false),
        messagesGroup(SQLiteRows(min(count, 1_000_000))),
        readGroup("read", rows), readGroup("read-non-ASCII", others),
        upsertGroup("upsert-cold", SQLiteRows(fewer), isHot: false),
        upsertGroup("upsert-hot", SQLiteRows(fewer), isHot: true),
    ]
}

struct TaskRow: StreamObject {
    var id = 0
    var title = ""
    var done = false
}

private struct PersonRow: StreamObject {
    var id = 0
    var name = ""
    var age = 0
}

private struct PhoneRow: StreamObject {
    var id = 0
    var person = 0
    var number = ""
}

/// The rows of a group in the forms that the cases need, and their checksum.
final class SQLiteRows {
    let count: Int
    let isASCII: Bool
    private let idStep: Int
    private(set) lazy var rows: [TaskRow] = (0..<count).map { number in
        let title = isASCII ? "Task number \(number)" : "Größere Aufgabe Nr. \(number) für den März"
        return TaskRow(id: number * idStep, title: title, done: number % 2 == 0)
    }
    private(set) lazy var checksum: UInt64 = rows.reduce(into: 0) {
        $0 &+= UInt64($1.id + $1.title.utf8.count + ($1.done ? 1 : 0))
    }
    private lazy var ids = rows.map { Int64($0.id) }
    private lazy var lengths = rows.map { Int32($0.title.utf8.count) }
    private lazy var done: [UInt8] = rows.map { $0.done ? 1 : 0 }
    private var titles: [UnsafePointer<CChar>?] = []

    /// Creates rows with distinct titles. They are made on first use.
    init(_ count: Int, isASCII: Bool = true, idStep: Int = 1) {
        self.count = count
        self.idStep = idStep
        self.isASCII = isASCII
    }

    deinit { for title in titles { free(UnsafeMutablePointer(mutating: title)) } }

    func withTasks(_ body: (UnsafePointer<csqlitepeers_tasks>) -> Int32) throws {
        if titles.isEmpty { titles = rows.map { UnsafePointer(strdup($0.title)) } }
        let code = ids.withUnsafeBufferPointer { ids in
            lengths.withUnsafeBufferPointer { lengths in
                done.withUnsafeBufferPointer { done in
                    titles.withUnsafeBufferPointer { titles in
                        var tasks = csqlitepeers_tasks(
                            count: Int64(count), ids: ids.baseAddress, titles: titles.baseAddress,
                            title_lengths: lengths.baseAddress, done: done.baseAddress)
                        return body(&tasks)
                    }
                }
            }
        }
        guard code == 0 else { throw DifferentResults(description: "the C peer failed with the code \(code)") }
    }
}

/// The database file of one case. It is removed before each run and at the end.
final class SQLiteFile {
    let path: String
    private var verifiedChecksum: UInt64?

    init() { path = NSTemporaryDirectory() + "benchmark-\(UUID().uuidString).sqlite" }

    deinit { remove() }

    func remove() {
        for suffix in ["", "-journal", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) }
    }

    /// Counts the rows. The first time, also adds up their content.
    func verified(_ table: String = "tasks", _ sum: String = "id + length(CAST(title AS BLOB)) + done") throws -> UInt64
    {
        let connection = try SQLiteConnection(path: path, options: SQLiteOptions(access: .readOnly))
        let count = UInt64(try connection.value("SELECT count(*) FROM \(table)")?.integer ?? -1)
        if let verifiedChecksum { return verifiedChecksum &+ count }
        let content = UInt64(try connection.value("SELECT sum(\(sum)) FROM \(table)")?.integer ?? 0)
        guard try connection.value("PRAGMA integrity_check") == "ok" else {
            throw DifferentResults(description: "\(path) is damaged")
        }
        verifiedChecksum = content
        return content &+ count
    }

    /// Counts and adds up the tables of the upserts in the same way.
    func verifiedPersons() throws -> UInt64 {
        try verified("persons JOIN phones USING (id)", "id + length(CAST(name AS BLOB)) + age")
    }
}

private func connect(_ file: SQLiteFile, isRelaxed: Bool) throws -> SQLiteConnection {
    try SQLiteConnection(
        path: file.path,
        options: SQLiteOptions(
            access: .create, journalMode: isRelaxed ? .off : nil, synchronization: isRelaxed ? .off : nil))
}

// MARK: Inserting rows

private func insertGroup(_ name: String, _ data: SQLiteRows, isRelaxed: Bool, withOthers: Bool = true) -> Group {
    func ours(_ path: SQLiteInsertPath, goal: Double? = nil) -> Case {
        let file = SQLiteFile()
        let also = goal == nil ? [] : [Goal(peer: "C, multi-row VALUES")]
        return Case(
            name: "SQLiteTable, \(path)", peer: "C, bind and step", goal: goal, also: also, prepare: { file.remove() },
            verify: { try file.verified() }
        ) {
            let table = try SQLiteTable<TaskRow>(
                try connect(file, isRelaxed: isRelaxed), "tasks", options: SQLiteTableOptions(insertPath: path))
            return UInt64(try table.insert(data.rows).changedRowCount)
        }
    }
    func peer(
        _ name: String, _ insert: @escaping (UnsafePointer<CChar>, UnsafePointer<csqlitepeers_tasks>, Int32) -> Int32
    ) -> Case {
        let file = SQLiteFile()
        return Case(name: name, prepare: { file.remove() }, verify: { try file.verified() }) {
            try data.withTasks { tasks in insert(file.path, tasks, isRelaxed ? 1 : 0) }
            return 0
        }
    }
    var cases = [
        ours(.automatic, goal: 2), ours(.bindAndStep),
        peer("C, bind and step") { csqlitepeers_insert($0, $1, $2) },
        peer("C, multi-row VALUES") { csqlitepeers_insert_many($0, $1, $2) },
        peer("C, with mutexes") { csqlitepeers_insert_locked($0, $1, $2) },
    ]
    if withOthers {
        cases += grdbInsertCases(data, isRelaxed: isRelaxed)
        cases += pythonInsertCases(data, isRelaxed: isRelaxed, isASCII: data.isASCII)
    }
    return Group(name: name, work: Work(count: data.count, unit: "row"), cases: cases)
}

private func messagesGroup(_ data: SQLiteRows) -> Group {
    var made: [UInt8] = []
    func text() throws -> [UInt8] {
        if made.isEmpty {
            var writer = JSONWriter()
            try writer.write(data.rows)
            try writer.finish()
            made = writer.bytes
        }
        return made
    }
    func prepare(_ file: SQLiteFile) throws {
        file.remove()
        _ = try text()
    }
    let files = [SQLiteFile(), SQLiteFile(), SQLiteFile()]
    return Group(
        name: "JSON-to-table", work: Work(count: data.count, unit: "row"),
        cases: [
            Case(
                name: "readJSON into SQLiteTableWriter", peer: "C, bind and step, no JSON",
                prepare: { try prepare(files[0]) }, verify: { try files[0].verified() }
            ) {
                let table = try SQLiteTable<TaskRow>(try connect(files[0], isRelaxed: true), "tasks")
                var writer = try table.makeWriter()
                try writer.readJSON(text())
                try writer.finish()
                return 0
            },
            Case(
                name: "readJSON into structures, then SQLiteTable", peer: "C, bind and step, no JSON",
                prepare: { try prepare(files[1]) }, verify: { try files[1].verified() }
            ) {
                let table = try SQLiteTable<TaskRow>(try connect(files[1], isRelaxed: true), "tasks")
                var builder = try ObjectBuilder<[TaskRow]>()
                try builder.readJSON(text())
                try table.insert(try builder.takeResult())
                return 0
            },
            Case(
                name: "C, bind and step, no JSON", prepare: { try prepare(files[2]) },
                verify: { try files[2].verified() }
            ) {
                try data.withTasks { csqlitepeers_insert(files[2].path, $0, 1) }
                return 0
            },
        ])
}

// MARK: Reading rows

/// Adds up the rows of messages without building anything.
private struct SumSink: PartialSink {
    var sum: UInt64 = 0
    mutating func writeBool(_ value: Bool) throws(StreamError) { if value { sum &+= 1 } }
    mutating func writeInteger(_ value: Int64) throws(StreamError) { sum &+= UInt64(bitPattern: value) }
    mutating func writeUnsigned(_ value: UInt64) throws(StreamError) { sum &+= value }
    mutating func writeString(_ utf8: RawSpan) throws(StreamError) { sum &+= UInt64(utf8.byteCount) }
}

private final class Total {
    var sum: UInt64 = 0
}

private func readGroup(_ name: String, _ data: SQLiteRows) -> Group {
    let file = SQLiteFile()
    /// Creates the file when the first case runs.
    func prepare() throws -> String {
        if !FileManager.default.fileExists(atPath: file.path) {
            try SQLiteTable<TaskRow>(try connect(file, isRelaxed: true), "tasks").insert(data.rows)
        }
        return file.path
    }
    let sql = "SELECT id, title, done FROM tasks"
    func open() throws -> SQLiteConnection {
        try SQLiteConnection(path: try prepare(), options: SQLiteOptions(access: .readOnly))
    }
    func written() throws -> JSONWriter {
        var writer = JSONWriter()
        try open().query(sql, into: &writer)
        try writer.finish()
        return writer
    }
    func sum(_ rows: [TaskRow]) -> UInt64 {
        rows.reduce(into: 0) { $0 &+= UInt64($1.id + $1.title.utf8.count + ($1.done ? 1 : 0)) }
    }
    var cases = [
        Case(name: "query into a sum", peer: "C, a sum") {
            var sink = SumSink()
            try open().query(sql, into: &sink)
            return sink.sum
        },
        .making(
            "query into [struct]", peer: "C, structures", goal: 0.95, { try open().fetchAll(sql, as: TaskRow.self) },
            sum: sum),
        .making(
            "SQLiteTable.select", peer: "C, structures",
            { try SQLiteTable<TaskRow>(try open(), "tasks").fetchAll() }, sum: sum),
        Case(name: "query into RecordStream<struct>", peer: "C, structures") {
            let total = Total()
            var stream = try RecordStream<TaskRow> { row throws(StreamError) in
                total.sum &+= UInt64(row.id + row.title.utf8.count + (row.done ? 1 : 0))
            }
            try open().query(sql, into: &stream)
            return total.sum
        },
        .making(
            "query into columns", peer: "C, structures",
            {
                var builder = ColumnsBuilder(["id": .integer, "title": .string, "done": .bool])
                try open().query(sql, into: &builder)
                return try builder.takeResult()
            },
            sum: { columns in
                var sum = UInt64(columns["title"]?.withText { text, _ in text.count } ?? 0)
                columns["id"]?.withIntegers { for value in $0 { sum &+= UInt64(value) } }
                for row in 0..<columns.rowCount where columns["done"]?.bool(row) == true { sum &+= 1 }
                return sum
            }),
        Case(
            name: "query into JSON", peer: "C, structures",
            check: {
                // Read the written text with the reader that other suites compare with their peers.
                var sink = SumSink()
                try written().withBytes { try sink.readJSON($0) }
                return sink.sum
            }
        ) {
            try written().withBytes { UInt64($0.byteCount) }
        },
        Case(name: "C, a sum") { csqlitepeers_sum(try prepare()) },
        Case(name: "C, structures", check: { csqlitepeers_structures_checksum(try prepare()) }) {
            csqlitepeers_structures(try prepare())
        },
    ]
    cases += grdbReadCases(file, sql)
    cases += pythonReadCases(file, sql)
    return Group(name: name, work: Work(count: data.count, unit: "row"), cases: cases)
}

// MARK: Upsert

private func upsertGroup(_ name: String, _ data: SQLiteRows, isHot: Bool) -> Group {
    var persons: [PersonRow] = []
    var phones: [PhoneRow] = []
    let ours = SQLiteFile()
    func prepare(_ file: SQLiteFile) throws {
        if persons.isEmpty {
            persons = data.rows.map { PersonRow(id: $0.id, name: $0.title, age: $0.done ? 1 : 0) }
            phones = data.rows.map { PhoneRow(id: $0.id, person: $0.id, number: $0.title) }
        }
        if !isHot { file.remove() }
    }
    func upsert() throws {
        let connection = try connect(ours, isRelaxed: false)
        let options = SQLiteTableOptions(conflict: .upsert(on: ["id"]))
        let personTable = try SQLiteTable<PersonRow>(connection, "persons", options: options)
        let phoneTable = try SQLiteTable<PhoneRow>(connection, "phones", options: options)
        try connection.execute("CREATE INDEX IF NOT EXISTS phone_persons ON phones (person)")
        try connection.transaction {
            try personTable.insert(persons)
            try phoneTable.insert(phones)
        }
    }
    func peer(
        _ name: String, _ upsert: @escaping (UnsafePointer<CChar>, UnsafePointer<csqlitepeers_tasks>) -> Int32
    ) -> Case {
        let file = SQLiteFile()
        return Case(name: name, prepare: { try prepare(file) }, verify: { try file.verifiedPersons() }) {
            try data.withTasks { tasks in upsert(file.path, tasks) }
            return 0
        }
    }
    return Group(
        name: name, work: Work(count: 2 * data.count, unit: "row"),
        cases: [
            // Like the package, this peer doesn't write rows that are equal to the existing ones.
            Case(
                name: "SQLiteTable, upsert(on:)", peer: "C, ON CONFLICT DO UPDATE WHERE", goal: 0.95,
                also: [Goal(peer: "C, multi-row VALUES, WHERE")], prepare: { try prepare(ours) },
                verify: { try ours.verifiedPersons() }
            ) {
                try upsert()
                return 0
            },
            peer("C, ON CONFLICT DO UPDATE WHERE") { csqlitepeers_upsert($0, $1, 1) },
            peer("C, multi-row VALUES, WHERE") { csqlitepeers_upsert_many($0, $1, 1) },
            peer("C, ON CONFLICT DO UPDATE") { csqlitepeers_upsert($0, $1, 0) },
            peer("C, multi-row VALUES") { csqlitepeers_upsert_many($0, $1, 0) },
        ] + grdbUpsertCases(data, isHot: isHot))
}
