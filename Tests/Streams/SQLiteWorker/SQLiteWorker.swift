// The program that the durability tests start, kill and run in parallel. The first word of its command line selects the
// job.
// It prints one line when it is ready and one for each committed transaction, without buffering.

import JSONStreaming
import PlistBuilding
import PlistStreaming
import SQLiteImporting
import SQLiteStreaming

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// A row of the bulk insert: its transaction and its position in it.
struct Entry: StreamObject {
    var batch = 0
    var number = 0
    var title = ""
}

@main
enum SQLiteWorker {
    static func main() {
        let arguments = Array(CommandLine.arguments.dropFirst())
        do {
            switch (arguments.first, arguments.count) {
            case ("insert", 5):
                try insert(arguments[1], mode: arguments[2], rows: number(arguments[3]), batches: number(arguments[4]))
            case ("import", 5):
                try importPeople(
                    arguments[1], from: arguments[2], mode: arguments[3], resumes: arguments[4] == "progress")
            case ("lock", 3): try lock(arguments[1], milliseconds: number(arguments[2]))
            case ("write", 4): try write(arguments[1], writer: number(arguments[2]), seconds: number(arguments[3]))
            case ("read", 3): try read(arguments[1], seconds: number(arguments[2]))
            case ("check", 2): try check(arguments[1])
            default: fail("unknown job \(arguments)")
            }
        } catch {
            fail("\(error)")
        }
    }

    static func number(_ word: String) -> Int { Int(word) ?? 0 }

    static func fail(_ message: String) -> Never {
        let line = "error: \(message)\n"
        line.withCString { _ = put(2, $0, line.utf8.count) }
        exit(1)
    }

    static func printLine(_ line: String) {
        let line = line + "\n"
        line.withCString { _ = put(1, $0, line.utf8.count) }
    }

    private static func put(_ descriptor: Int32, _ text: UnsafePointer<CChar>, _ count: Int) -> Int {
        #if canImport(Darwin)
        Darwin.write(descriptor, text, count)
        #elseif canImport(Musl)
        Musl.write(descriptor, text, count)
        #else
        Glibc.write(descriptor, text, count)
        #endif
    }

    static func open(_ path: String, mode: String, timeout: Duration = .seconds(30)) throws -> SQLiteConnection {
        guard let mode = SQLiteOptions.JournalMode(rawValue: mode) else { fail("no journal mode \(mode)") }
        return try SQLiteConnection(
            path: path, options: SQLiteOptions(access: .create, busyTimeout: timeout, journalMode: mode))
    }

    /// Inserts batches of rows after the existing ones, each in one transaction.
    static func insert(_ path: String, mode: String, rows: Int, batches: Int) throws {
        let connection = try open(path, mode: mode)
        let table = try SQLiteTable<Entry>(connection, "entry")
        guard case .integer(let last)? = try connection.value("SELECT coalesce(max(batch), -1) FROM entry") else {
            fail("no last batch")
        }
        printLine("ready")
        for batch in (Int(last) + 1)..<max(Int(last) + 1, batches) {
            try table.insert((0..<rows).map { Entry(batch: batch, number: $0, title: "größer \(batch) \($0)") })
            printLine("\(batch)")
        }
    }

    /// Imports a file of people, in batches of 64.
    static func importPeople(_ path: String, from input: String, mode: String, resumes: Bool) throws {
        let connection = try open(path, mode: mode)
        let progress = ImportOptions.Progress(name: "people", fingerprint: input)
        let options = ImportOptions(
            batchSize: 64, adaptsBatchSize: false, createsTables: true, progress: resumes ? progress : nil)
        var importer = try Importer(.people, into: connection, options: options)
        printLine("ready")
        try importer.readJSON(.file(input))
        let report = try importer.finish()
        printLine(
            "inserted \(report.insertedCount) updated \(report.updatedCount) unchanged \(report.unchangedCount) "
                + "resumed \(report.resumedCount)")
    }

    /// Holds the write lock for the given time.
    static func lock(_ path: String, milliseconds: Int) throws {
        let connection = try SQLiteConnection(path: path)
        try connection.begin(.exclusive)
        printLine("ready")
        usleep(UInt32(milliseconds) * 1_000)
        try connection.rollBack()
    }

    /// Writes separate rows, and counts them in a row that it shares with other writers.
    static func write(_ path: String, writer: Int, seconds: Int) throws {
        let connection = try SQLiteConnection(path: path, options: SQLiteOptions(busyTimeout: .seconds(60)))
        let end = ContinuousClock.now + .seconds(seconds)
        var count = 0
        // Write at least once, regardless of the machine's speed.
        repeat {
            try connection.transaction {
                for _ in 0..<(1 + count % 7) {
                    try connection.run("INSERT INTO entry (writer, number) VALUES (?, ?)", [writer, count])
                    try connection.run("UPDATE total SET count = count + 1")
                    count += 1
                }
            }
        } while ContinuousClock.now < end
        printLine("\(count)")
    }

    /// Reads snapshots. Each of them must be complete and not older than the previous one.
    static func read(_ path: String, seconds: Int) throws {
        let options = SQLiteOptions(access: .readOnly, busyTimeout: .seconds(60))
        let connection = try SQLiteConnection(path: path, options: options)
        let end = ContinuousClock.now + .seconds(seconds)
        var (count, last) = (0, Int64(-1))
        repeat {
            try connection.transaction(.deferred) {
                guard case .integer(let rows)? = try connection.value("SELECT count(*) FROM entry"),
                    case .integer(let total)? = try connection.value("SELECT count FROM total"),
                    try connection.value("SELECT count(*) FROM entry") == .integer(rows)
                else { fail("no counts, or two of them in one transaction") }
                guard rows == total else { fail("saw \(rows) rows of \(total)") }
                guard rows >= last else { fail("saw \(rows) rows after \(last)") }
                last = rows
            }
            count += 1
        } while ContinuousClock.now < end
        printLine("\(count)")
    }

    /// Reads and changes a database that may have any kind of damage.
    static func check(_ path: String) throws {
        let connection = try SQLiteConnection(path: path)
        for name in ["company", "person", "phone"] {
            var sink = NullSink()
            try connection.prepare("SELECT * FROM \(name)").send(to: &sink)
        }
        var importer = try Importer(.people, into: connection)
        try importer.readJSON(#"[{"id":7,"name":"x","phones":["7"],"company":"c"},{"id":70000,"name":"y"}]"#)
        try importer.finish()
    }
}
