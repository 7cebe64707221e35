// Checks external faults: full disks, locks, damaged files, changed schemas, read-only directories, and values that are
// too large. Each must give a clear error, and no part of the affected batch may be written.

import Foundation
import JSONStreaming
import PlistBuilding
import PlistStreaming
import SQLiteImporting
import SQLiteStreaming
import SQLiteWorker
import Testing

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// A row of a bulk insert.
struct BulkRow: StreamObject {
    var a = ""
}

@Suite(.serialized) struct FaultTests {
    private func open(_ path: String, timeout: Duration = .zero) throws -> SQLiteConnection {
        try SQLiteConnection(path: path, options: SQLiteOptions(access: .create, busyTimeout: timeout))
    }

    private func options(batchSize: Int = 64) -> ImportOptions {
        ImportOptions(batchSize: batchSize, adaptsBatchSize: false, createsTables: true)
    }

    /// Imports a file and returns the error.
    private func importFailing(
        _ path: String, _ connection: SQLiteConnection, batchSize: Int = 64
    ) throws -> StreamError {
        var importer = try Importer(.people, into: connection, options: options(batchSize: batchSize))
        do throws(StreamError) {
            try importer.readJSON(.file(path))
            try importer.finish()
        } catch {
            return error
        }
        Issue.record("the import succeeded")
        return StreamError(.misuse, "no error")
    }

    /// Requires that a database is intact and contains only whole batches, and returns the number of people.
    private func peopleInWholeBatches(_ connection: SQLiteConnection, batchSize: Int64 = 64) throws -> Int64 {
        #expect(!connection.isInTransaction)
        #expect(try connection.value("PRAGMA integrity_check") == "ok")
        #expect(try connection.value("PRAGMA foreign_key_check") == nil)
        guard case .integer(let people)? = try connection.value("SELECT count(*) FROM person") else { return -1 }
        #expect(people % batchSize == 0)
        #expect(try connection.value("SELECT count(*) FROM person WHERE id >= ?", [people]) == 0)
        let phones = (0..<people).reduce(0) { $0 + $1 % 4 }
        #expect(try connection.value("SELECT count(*) FROM phone") == .integer(phones))
        return people
    }

    // MARK: Disk space

    private func checkFull(
        _ connection: SQLiteConnection, input: String, freeSpace: () throws -> Void
    ) throws {
        let error = try importFailing(input, connection)
        #expect(error.kind == .cannotWrite)
        #expect(error.sqliteError?.code == .full, "\(error)")
        // The error has neither an input position nor a table of the importer.
        let message = "database or disk is full (SQLITE_FULL 13)"
        #expect([message, message + ", in: COMMIT"].contains(error.description))
        let people = try peopleInWholeBatches(connection)
        #expect(people > 0 && people < 1_280, "the disk was full with \(people) people")
        // A bulk insert is also all or nothing.
        try freeSpace()
        try connection.execute("CREATE TABLE IF NOT EXISTS other (a)")
        var importer = try Importer(.people, into: connection, options: options())
        try importer.readJSON(.file(input))
        let report = try importer.finish()
        #expect(report.tables["person"]?.unchanged == Int(people))
        #expect(report.tables["person"]?.inserted == 1_280 - Int(people))
        #expect(try peopleInWholeBatches(connection) == 1_280)
    }

    @Test(.enabled(if: SmallDisk.isAvailable, "mounting a small file system needs root"), arguments: ["delete", "wal"])
    func fullDiskKeepsWholeBatches(mode: String) throws {
        let disk = try SmallDisk(kibibytes: 1_200)
        let input = try TemporaryDirectory()
        try KillTests.writePeople(1_280, to: input.path("people.json"))
        try Data(count: 1_000 << 10).write(to: URL(fileURLWithPath: disk.path("filler")))
        let connection = try open(disk.path("full.sqlite"))
        try connection.execute("PRAGMA journal_mode = \(mode)")
        try checkFull(connection, input: input.path("people.json")) {
            try FileManager.default.removeItem(atPath: disk.path("filler"))
        }
    }

    @Test func fullDatabaseKeepsWholeBatches() throws {
        let directory = try TemporaryDirectory()
        try KillTests.writePeople(1_280, to: directory.path("people.json"))
        let connection = try open(directory.path("full.sqlite"))
        try connection.execute("PRAGMA max_page_count = 30")
        try checkFull(connection, input: directory.path("people.json")) {
            try connection.execute("PRAGMA max_page_count = 1000000")
        }
    }

    /// The disk gets full at the commit, or earlier if SQLite keeps only a few pages in memory.
    @Test(
        .enabled(if: SmallDisk.isAvailable, "mounting a small file system needs root"), arguments: [2_000, 10])
    func fullDiskUndoesABulkInsert(pageCount: Int) throws {
        let disk = try SmallDisk(kibibytes: 512)
        let connection = try open(disk.path("bulk.sqlite"))
        try connection.execute("PRAGMA cache_size = \(pageCount)")
        let table = try SQLiteTable<BulkRow>(connection, "bulk")
        try table.insert([BulkRow(a: "first")])
        let error = #expect(throws: SQLiteError.self) {
            try table.insert((0..<20_000).map { BulkRow(a: "a row with number \($0)") })
        }
        #expect(error?.code == .full)
        #expect(!connection.isInTransaction)
        // If the program exits now, it also leaves free space for others.
        #expect(!FileManager.default.fileExists(atPath: disk.path("bulk.sqlite-journal")))
        let size = try FileManager.default.attributesOfItem(atPath: disk.path("bulk.sqlite"))[.size] as? Int
        #expect(size ?? 0 < 20_000)
        #expect(try connection.value("SELECT count(*) FROM bulk") == 1)
        #expect(try connection.value("PRAGMA integrity_check") == "ok")
        try table.insert([BulkRow(a: "second")])
    }

    @Test(.enabled(if: SmallDisk.isAvailable, "a read-only file system needs root"))
    func reportsReadOnlyDirectory() throws {
        let disk = try SmallDisk(kibibytes: 512)
        do {
            let connection = try open(disk.path("there.sqlite"))
            try connection.execute("CREATE TABLE t (a); INSERT INTO t VALUES (1)")
        }
        try disk.makeReadOnly()
        let missing = #expect(throws: SQLiteError.self) { _ = try open(disk.path("new.sqlite")) }
        #expect(missing?.code == .cannotOpen)
        #expect(missing?.description.contains("new.sqlite") == true, "\(String(describing: missing))")
        let reader = try SQLiteConnection(path: disk.path("there.sqlite"), options: SQLiteOptions(access: .readOnly))
        #expect(try reader.value("SELECT a FROM t") == 1)
        let writer = try open(disk.path("there.sqlite"))
        let refused = #expect(throws: SQLiteError.self) { try writer.run("INSERT INTO t VALUES (2)") }
        #expect(refused?.code == .readOnly || refused?.code == .cannotOpen, "\(String(describing: refused))")
        #expect(try writer.value("SELECT count(*) FROM t") == 1)
    }

    @Test(.enabled(if: getuid() != 0, "root may write everywhere"))
    func reportsMissingPermission() throws {
        let directory = try TemporaryDirectory()
        _ = try open(directory.path("there.sqlite")).run("CREATE TABLE t (a)")
        chmod(directory.url.path, 0o555)
        defer { chmod(directory.url.path, 0o755) }
        let missing = #expect(throws: SQLiteError.self) { _ = try open(directory.path("new.sqlite")) }
        #expect(missing?.code == .cannotOpen)
        let writer = try open(directory.path("there.sqlite"))
        let refused = #expect(throws: SQLiteError.self) { try writer.run("INSERT INTO t VALUES (2)") }
        #expect(refused?.code == .readOnly || refused?.code == .cannotOpen)
    }

    // MARK: Locks

    @Test func waitsForLocksAndReportsThem() throws {
        let directory = try TemporaryDirectory()
        let input = directory.path("people.json")
        try KillTests.writePeople(64, to: input)
        let path = directory.path("locked.sqlite")
        try open(path).execute("CREATE TABLE t (a)")
        let impatient = try open(path, timeout: .milliseconds(200))
        var importer = try Importer(.people, into: impatient, options: options(batchSize: 1_000))
        // The test kills the worker when the lock has been held long enough, regardless of the machine's speed.
        let locker = try WorkerProcess(["lock", path, "600000"])
        try locker.waitUntilReady()
        let start = ContinuousClock.now
        do throws(StreamError) {
            try importer.readJSON(.file(input))
            try importer.finish()
            Issue.record("the import wrote a locked database")
        } catch {
            #expect(error.kind == .cannotWrite)
            #expect(error.sqliteError?.code == .busy, "\(error)")
            #expect(error.description.contains("database is locked"), "\(error)")
        }
        let waited = ContinuousClock.now - start
        #expect(waited > .milliseconds(150), "it waited \(waited)")
        locker.kill()
        #expect(try locker.outcome().status == -SIGKILL)
        // A connection with a longer timeout gets the lock when the worker releases it.
        let patient = try open(path, timeout: .seconds(300))
        let brief = try WorkerProcess(["lock", path, "300"])
        try brief.waitUntilReady()
        try patient.run("INSERT INTO t VALUES (1)")
        #expect(try brief.outcome().status == 0)
        #expect(try patient.value("SELECT count(*) FROM person") == 0)
    }

    @Test func writersAndReadersLoseNothing() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("shared.sqlite")
        let seconds = "\(environment("SQLITE_SECONDS", default: 1))"
        let connection = try open(path, timeout: .seconds(30))
        try connection.execute(
            """
            PRAGMA journal_mode = wal;
            CREATE TABLE entry (writer INTEGER, number INTEGER, PRIMARY KEY (writer, number));
            CREATE TABLE total (count INTEGER); INSERT INTO total VALUES (0);
            """)
        let readers = try (0..<8).map { _ in try WorkerProcess(["read", path, seconds]) }
        let writers = try (0..<2).map { try WorkerProcess(["write", path, "\($0)", seconds]) }
        var sum: Int64 = 0
        for (number, writer) in writers.enumerated() {
            let outcome = try writer.outcome()
            try #require(outcome.status == 0, "\(outcome)")
            let count = try #require(outcome.lines.last.flatMap { Int64($0) })
            #expect(count > 0)
            #expect(
                try connection.value(
                    "SELECT count(*) FROM entry WHERE writer = ? AND number < ?", [number, count]) == .integer(count))
            sum += count
        }
        for reader in readers {
            let outcome = try reader.outcome()
            #expect(outcome.status == 0, "\(outcome)")
            #expect(outcome.lines.last.flatMap { Int($0) } ?? 0 > 0)
        }
        #expect(try connection.value("SELECT count(*) FROM entry") == .integer(sum))
        #expect(try connection.value("SELECT count FROM total") == .integer(sum))
        #expect(try connection.value("PRAGMA integrity_check") == "ok")
    }

    // MARK: Damage

    @Test func reportsDamagedFilesWithoutCrash() throws {
        let directory = try TemporaryDirectory()
        let whole = directory.path("whole.sqlite")
        try KillTests.writePeople(640, to: directory.path("people.json"))
        #expect(try WorkerProcess.run("import", whole, directory.path("people.json"), "delete", "again").status == 0)
        let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: whole)))
        #expect(bytes.count > 20_000)
        var generator = SystemRandomNumberGenerator()
        var files: [(name: String, bytes: [UInt8], error: String?)] = [
            (
                "no database", Array("no database".utf8) + [UInt8](repeating: 0x41, count: 4_096),
                "file is not a database"
            ),
            ("cut in the middle", Array(bytes.prefix(bytes.count / 2)), "malformed"),
            ("cut within the first page", Array(bytes.prefix(1_000)), nil),
            ("an empty file", [], "no such table"),
        ]
        for page in 1..<min(8, bytes.count / 4_096) {
            var damaged = bytes
            for offset in (page * 4_096)..<((page + 1) * 4_096) { damaged[offset] = 0xA5 }
            files.append(("page \(page + 1) overwritten", damaged, nil))
        }
        for seed in 0..<12 {
            var damaged = bytes
            for _ in 0..<200 {
                damaged[Int.random(in: 100..<damaged.count, using: &generator)] = UInt8.random(
                    in: 0...255, using: &generator)
            }
            files.append(("random bytes \(seed)", damaged, nil))
        }
        var found = 0
        for (name, bytes, expected) in files {
            let path = directory.path("damaged.sqlite")
            try Data(bytes).write(to: URL(fileURLWithPath: path))
            let outcome = try WorkerProcess.run("check", path)
            // Some damage is in places that aren't read. All other damage must give an error and not a crash.
            #expect(outcome.status == 0 || outcome.status == 1, "\(name): \(outcome)")
            #expect(outcome.status == 0 || outcome.errors.hasPrefix("error: "), "\(name): \(outcome)")
            if let expected { #expect(outcome.errors.contains(expected), "\(name): \(outcome)") }
            if outcome.status == 1 { found += 1 }
            for suffix in ["", "-journal", "-wal", "-shm"] {
                try? FileManager.default.removeItem(atPath: path + suffix)
            }
        }
        #expect(found >= 8, "\(found) of \(files.count) damaged files were found out")
    }

    // MARK: Schemas

    @Test(arguments: [
        ("ALTER TABLE phone RENAME COLUMN kind TO sort", "no column named kind|no such column"),
        ("DROP TABLE phone", "no such table: main.phone|no such table: phone"),
        ("ALTER TABLE person ADD COLUMN must TEXT NOT NULL DEFAULT 'x'", ""),
        ("CREATE TRIGGER t BEFORE INSERT ON phone BEGIN SELECT RAISE(ABORT, 'not now'); END", "not now"),
    ])
    func reportsIncompatibleSchemaChanges(change: String, expected: String) throws {
        let directory = try TemporaryDirectory()
        let connection = try open(directory.path("changed.sqlite"))
        var importer = try Importer(.people, into: connection, options: options(batchSize: 2))
        func record(_ id: Int) -> String { #"{"id":\#(id),"name":"n","phones":[{"number":"\#(id)","kind":"k"}]}"# }
        var thrown: StreamError?
        do throws(StreamError) {
            for id in 0..<4 { try importer.readJSON(record(id)) }
            do { try open(directory.path("changed.sqlite")).execute(change) } catch { Issue.record(error) }
            for id in 4..<8 { try importer.readJSON(record(id)) }
        } catch {
            thrown = error
        }
        #expect((thrown == nil) == expected.isEmpty, "\(String(describing: thrown))")
        let messages = expected.split(separator: "|").map(String.init)
        if let thrown {
            #expect(thrown.kind == .cannotWrite)
            #expect(messages.contains { thrown.description.contains($0) }, "\(thrown)")
        }
        #expect(!connection.isInTransaction)
        #expect(try connection.value("SELECT count(*) FROM person") == .integer(thrown == nil ? 8 : 4))
        #expect(try connection.value("PRAGMA integrity_check") == "ok")
    }

    // MARK: Statements and values

    // SQLite reports no position if the input ends too early.
    @Test(arguments: [
        ("SELECT 1 +", nil, "incomplete input"), ("SELEC 1", 0, "near \"SELEC\": syntax error"),
        ("CREATE TABLE a (b); INSERT INTO a VALUES (1) x", 45, "near \"x\": syntax error"),
        ("CREATE TABLE a (b); CREATE TABLE c (d,,)", 38, "near \",\": syntax error"),
        ("SELECT 'größer', 'x", 19, "unrecognized token: \"'x\""),
    ])
    func reportsOffsetOfInvalidSQL(sql: String, byteOffset: Int?, message: String) throws {
        let directory = try TemporaryDirectory()
        let connection = try open(directory.path("script.sqlite"))
        let error = #expect(throws: SQLiteError.self) { try connection.transaction { try connection.execute(sql) } }
        #expect(error?.message == message)
        #expect(error?.sql == sql)
        #expect(error?.byteOffset == byteOffset)
        #expect(try connection.value("SELECT count(*) FROM sqlite_schema") == 0, "statements before it")
    }

    @Test func reportsLocationOfTextWithNUL() throws {
        let directory = try TemporaryDirectory()
        let connection = try open(directory.path("nul.sqlite"))
        var importer = try Importer(.people, into: connection, options: options())
        let error = #expect(throws: StreamError.self) {
            try importer.readJSON("[{\"id\":1,\"name\":\"n\"},\n{\"id\":2,\"name\":\"a\\u0000b\"}]")
        }
        #expect(error?.path?.description == "$[1].name")
        #expect(error?.position?.line == 2)
        #expect(error?.message.contains("NUL character") == true)
        #expect(try connection.value("SELECT count(*) FROM person") == 0)
    }

    @Test func refusesTooLongBlobsUnread() throws {
        let directory = try TemporaryDirectory()
        let connection = try open(directory.path("blob.sqlite"))
        try connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a BLOB)")
        let evaluated = #expect(throws: SQLiteError.self) { _ = try connection.value("SELECT zeroblob(1073741824)") }
        #expect(evaluated?.code == .tooBig)
        // Reserve addresses without memory. Reading them would take a gigabyte, page by page.
        let count = 1 << 30
        #if canImport(Darwin)
        let flags = MAP_PRIVATE | MAP_ANON | MAP_NORESERVE
        #else
        let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE
        #endif
        let address = try #require(mmap(nil, count, PROT_READ, flags, -1, 0))
        try #require(address != MAP_FAILED)
        defer { munmap(address, count) }
        let before = residentPages()
        let span = UnsafeRawBufferPointer(start: address, count: count).bytes
        let statement = try connection.prepare("INSERT INTO t (a) VALUES (?)")
        var bound: SQLiteError?
        do throws(SQLiteError) { try statement.bind(blob: span, at: 1) } catch { bound = error }
        #expect(bound?.code == .tooBig)
        var importer = try Importer(
            ImportTable("t", uniqueKey: ["id"], columns: [.integer("id"), .blob("a")]), into: connection)
        var staged: StreamError?
        do throws(StreamError) {
            try importer.beginDictionary()
            try "id".withUTF8Span { (key) throws(StreamError) in try importer.writeKey(key) }
            try importer.writeInteger(1)
            try "a".withUTF8Span { (key) throws(StreamError) in try importer.writeKey(key) }
            try importer.writeData(span)
        } catch {
            staged = error
        }
        #expect(staged?.kind == .limitExceeded)
        #expect(staged?.path?.description == "$[0].a")
        if let before, let after = residentPages() { #expect(after - before < 10_000, "pages that were read") }
        #expect(try connection.value("SELECT count(*) FROM t") == 0)
    }

    /// Returns the number of resident pages of this process, or nil if the system doesn't report it.
    private func residentPages() -> Int? {
        guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8) else { return nil }
        return text.split(separator: " ").dropFirst().first.flatMap { Int($0) }
    }
}
