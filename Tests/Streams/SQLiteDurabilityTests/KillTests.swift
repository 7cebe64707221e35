// Checks that a database contains only whole transactions if the process that writes it is killed at any moment. It
// must contain all transactions that were reported as committed, and later processes must be able to continue.

import Foundation
import JSONStreaming
import PlistStreaming
import SQLiteImporting
import SQLiteStreaming
import SQLiteWorker
import Testing

@Suite(.serialized) struct KillTests {
    /// The number of kills in each test. `SQLITE_KILLS` sets a larger number, as in the second tier of `.ci/run`.
    static let kills = environment("SQLITE_KILLS", default: 16)

    static let modes = ["delete", "wal", "truncate", "persist"]

    private func integrity(_ connection: SQLiteConnection) throws -> SQLiteValue? {
        try connection.value("PRAGMA integrity_check")
    }

    @Test func killedBulkInsertLeavesWholeTransactions() throws {
        let rows = 500
        var generator = SystemRandomNumberGenerator()
        var (kills, acknowledged, lostNothing) = (0, 0, 0)
        var directory = try TemporaryDirectory()
        var round = 0
        while kills < Self.kills {
            // Regularly create a new database, so that small and large databases and the creation of the table are hit.
            if round % 10 == 0 { directory = try TemporaryDirectory() }
            let path = directory.path("bulk.sqlite")
            let mode = Self.modes[round / 10 % Self.modes.count]
            round += 1
            try #require(round < 10 * Self.kills, "the worker is not killed in its work")
            let worker = try WorkerProcess(["insert", path, mode, "\(rows)", "1000000"])
            // Every fourth worker is killed while it opens the database and recovers the state that the previous worker
            // left. Half of the workers commit at least once, regardless of the machine's speed.
            if round % 4 != 0 { try worker.waitUntilReady(lineCount: round % 4 == 1 ? 1 : 2) }
            usleep(UInt32.random(in: 0..<40_000, using: &generator))
            worker.kill()
            let outcome = try worker.outcome()
            try #require(outcome.status == -SIGKILL, "\(outcome)")
            kills += 1

            guard FileManager.default.fileExists(atPath: path) else { continue }
            let connection = try SQLiteConnection(path: path)
            #expect(try integrity(connection) == "ok")
            let hasTable = try connection.value("SELECT count(*) FROM sqlite_schema WHERE name = 'entry'") == 1
            guard hasTable else { continue }
            let torn = try connection.value(
                "SELECT count(*) FROM (SELECT 1 FROM entry GROUP BY batch HAVING count(*) <> ? OR sum(number) <> ?)",
                [rows, rows * (rows - 1) / 2])
            #expect(torn == 0, "transactions that are not whole")
            let shape = try connection.prepare("SELECT count(DISTINCT batch), coalesce(max(batch) + 1, 0) FROM entry")
            try #require(try shape.step())
            #expect(shape.integer(at: 0) == shape.integer(at: 1), "batches that are missing")
            // All batches that the worker reported as committed must exist. One more is allowed because it may have
            // been committed but not yet reported.
            if let last = outcome.lines.last.flatMap({ Int($0) }) {
                acknowledged += 1
                #expect(shape.integer(at: 1) >= last + 1 && shape.integer(at: 1) <= last + 2)
                if shape.integer(at: 1) >= last + 1 { lostNothing += 1 }
            }
        }
        #expect(acknowledged == lostNothing)
        #expect(acknowledged > Self.kills / 4, "too few kills came after a commit to show anything")
    }

    /// Writes people with repeated phones and companies, so that batches update the rows of earlier ones.
    static func writePeople(_ count: Int, to path: String) throws {
        var text = "["
        for id in 0..<count {
            if id > 0 { text += ",\n" }
            let phones = (0..<(id % 4)).map { "{\"number\":\"\(id)-\($0)\",\"kind\":\"größer \(id % 3)\"}" }
            text += "{\"phones\":[\(phones.joined(separator: ","))],\"id\":\(id),\"name\":\"name \(id)\","
            text += "\"company\":{\"code\":\"c\(id % 50)\",\"title\":\"title \(id % 50)\"}}"
        }
        try Data((text + "]").utf8).write(to: URL(fileURLWithPath: path))
    }

    /// Returns the imported content, without the row ids that SQLite chose.
    static func content(_ connection: SQLiteConnection) throws -> [SQLiteValue] {
        let sql = """
            SELECT count(*), sum(p.id), count(DISTINCT p.name),
                (SELECT count(*) || ' ' || count(DISTINCT number) || ' ' || sum(length(kind)) FROM phone),
                (SELECT count(*) FROM phone WHERE number NOT LIKE person_id || '-%'),
                (SELECT count(*) FROM company),
                (SELECT count(*) FROM person q JOIN company c ON c.id = q.company_id WHERE code = 'c' || (q.id % 50))
            FROM person p
            """
        let statement = try connection.prepare(sql)
        _ = try statement.step()
        return try statement.values()
    }

    @Test(arguments: [true, false]) func killedImportContinuesToCompleteResult(keepsProgress: Bool) throws {
        let count = 1_280
        let input = try TemporaryDirectory()
        try Self.writePeople(count, to: input.path("people.json"))
        let whole = try SQLiteConnection(path: input.path("whole.sqlite"), options: SQLiteOptions(access: .create))
        var importer = try Importer(.people, into: whole, options: ImportOptions(createsTables: true))
        try importer.readJSON(.file(input.path("people.json")))
        let expectedRows = try importer.finish().insertedCount
        let expected = try Self.content(whole)
        #expect(expected[0] == .integer(Int64(count)))
        #expect(expected[4] == 0 && expected[6] == .integer(Int64(count)))

        var generator = SystemRandomNumberGenerator()
        var (kills, round, completed, resumed) = (0, 0, 0, 0)
        while kills < Self.kills / 2 {
            let directory = try TemporaryDirectory()
            let path = directory.path("import.sqlite")
            let mode = Self.modes[completed % Self.modes.count]
            var last: Int64 = 0
            var limit = 20_000.0
            while true {
                round += 1
                try #require(round < 20 * Self.kills, "the worker is not killed in its work")
                let worker = try WorkerProcess(
                    ["import", path, input.path("people.json"), mode, keepsProgress ? "progress" : "again"])
                try worker.waitUntilReady()
                // Later workers of a chain get more time, so that an import without progress records finishes even on a
                // slow machine.
                usleep(UInt32.random(in: 0..<UInt32(limit), using: &generator))
                limit = min(limit * 1.2, 60_000_000)
                worker.kill()
                let outcome = try worker.outcome()
                let connection = try SQLiteConnection(path: path)
                #expect(try integrity(connection) == "ok")
                guard case .integer(let people)? = try connection.value("SELECT count(*) FROM person") else { return }
                if outcome.status == 0 {
                    #expect(outcome.lines.last?.hasPrefix("inserted ") == true, "\(outcome)")
                    break
                }
                try #require(outcome.status == -SIGKILL, "\(outcome)")
                kills += 1
                // Only whole batches exist: people in order, each with all phones and the company.
                #expect(people % 64 == 0 && people >= last, "\(people) after \(last)")
                #expect(try connection.value("SELECT count(*) FROM person WHERE id >= ?", [people]) == 0)
                #expect(try connection.value("SELECT count(*) FROM person WHERE company_id IS NULL") == 0)
                let phones = (0..<people).reduce(0) { $0 + $1 % 4 }
                #expect(try connection.value("SELECT count(*) FROM phone") == .integer(phones))
                if keepsProgress {
                    let remembered = try connection.value("SELECT max(records) FROM import_progress")
                    #expect(remembered == (people == 0 ? .null : .integer(people)) || people == count)
                    if people > 0 { resumed += 1 }
                }
                last = people
            }
            let connection = try SQLiteConnection(path: path)
            #expect(try Self.content(connection) == expected)
            #expect(try connection.value("PRAGMA foreign_key_check") == nil)
            completed += 1
            // Another import changes nothing.
            var again = try Importer(.people, into: connection)
            try again.readJSON(.file(input.path("people.json")))
            let report = try again.finish()
            // Companies count once for each person.
            #expect(report.insertedCount == 0 && report.updatedCount == 0)
            #expect(report.tables["person"]?.unchanged == count && report.unchangedCount >= expectedRows)
        }
        #expect(completed > 0)
        if keepsProgress { #expect(resumed > 0, "no import went on from where another one was") }
    }
}
