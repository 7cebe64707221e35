// Stores the tasks for many concurrent clients: reads run in parallel, writes run one after another, and many writes share a
// commit.

import Dispatch
import Logging
import NIOConcurrencyHelpers
import SQLiteStreaming

/// Answers requests from a database on disk.
///
/// A write is answered when it is on disk. Writes that arrive while others are being written wait for them. They are then
/// committed together, each in its own savepoint.
public final class TaskStore: Sendable {
    /// The sources of reads.
    public enum Reading: Sendable {
        /// The database, for each read.
        case database
        /// Memory: all tasks and their JSON, updated after each commit. Other programs can't open the database meanwhile.
        case memory
    }

    /// A table that one thread uses at a time.
    // SAFETY: only the code that took a table out of the pool uses it, and the writer's table is used only on its queue.
    private final class PooledTable: @unchecked Sendable {
        let table: TaskTable
        init(_ table: TaskTable) { self.table = table }
    }

    /// All tasks after the last commit.
    private struct Snapshot: Sendable {
        let tasks: [TaskRecord]
        let list: Representation

        init(_ table: TaskTable) throws {
            tasks = try table.all()
            list = try Representation(of: tasks)
        }

        func task(_ id: Int) throws -> TaskOutcome {
            var range = tasks.indices
            while let middle = range.dropFirst(range.count / 2).first {
                let task = tasks[middle]
                if task.id == id { return .task(task, try Representation(of: task)) }
                range = task.id ?? 0 < id ? middle + 1..<range.upperBound : range.lowerBound..<middle
            }
            return .missing
        }
    }

    private struct Waiting: Sendable {
        let command: TaskRequest.Command
        let request: TaskRequest
        let continuation: CheckedContinuation<TaskOutcome, any Error>
    }

    private struct State: Sendable {
        var readers: [PooledTable] = []
        var waiting: [Waiting] = []
        var isClosed = false
    }

    private let path: String
    private let reading: Reading
    private let logger: Logger
    private let writer: PooledTable
    private let queue = DispatchQueue(label: "tasks.writer")
    private let state = NIOLockedValueBox(State())
    /// The snapshot, or nil if reads use the database or if the snapshot couldn't be made after a commit.
    private let snapshot: NIOLockedValueBox<Snapshot?>
    /// The largest number of connections kept for reading.
    private static let readerLimit = 8
    /// The largest number of writes committed together.
    private static let groupLimit = 256

    /// Opens the database, and creates it if it doesn't exist.
    ///
    /// - Throws: `SQLiteError` for the file of another kind of database, which isn't changed, or for a database that another
    ///   program has locked.
    public init(path: String, reading: Reading = .database, logger: Logger) throws {
        (self.path, self.reading, self.logger) = (path, reading, logger)
        try TaskTable.checkIsOurs(path: path)
        let table = try TaskTable(path: path, isAlone: reading == .memory)
        writer = PooledTable(table)
        snapshot = NIOLockedValueBox(reading == .memory ? try Snapshot(table) : nil)
    }

    /// Answers a request.
    public func response(to request: TaskRequest) async -> TaskResponse {
        do throws(RequestError) {
            let command = try request.command()
            if let response = TaskResponse(to: command, request) { return response }
            do {
                let outcome = try await command.writes ? write(command, request) : read(command, request)
                return TaskResponse(outcome, request)
            } catch {
                logger.error("a request failed", metadata: ["error": "\(error)"])
                return TaskResponse(failureOf: request, isBusy: (error as? SQLiteError)?.code == .busy)
            }
        } catch {
            return TaskResponse(error, request)
        }
    }

    /// Adds tasks and makes them visible to reads.
    public func insert(_ tasks: [TaskRecord]) throws {
        try queue.sync {
            try writer.table.insert(tasks)
            publish()
        }
    }

    /// Waits for pending writes and closes the database. Later requests fail.
    public func close() throws {
        let readers = state.withLockedValue { state in
            state.isClosed = true
            defer { state.readers = [] }
            return state.readers
        }
        try queue.sync {
            for reader in readers { try reader.table.connection.close() }
            commit()
            try writer.table.connection.close()
        }
    }

    // MARK: Reads

    private func read(_ command: TaskRequest.Command, _ request: TaskRequest) throws -> TaskOutcome {
        if let snapshot = snapshot.withLockedValue({ $0 }) {
            switch command {
            case .list: return .list(snapshot.list)
            case .fetch(let id): return try snapshot.task(id)
            default: break
            }
        }
        // Such a database has only this connection.
        if reading == .memory { return try queue.sync { try writer.table.outcome(of: command, request) } }
        let (kept, isClosed) = state.withLockedValue { ($0.readers.popLast(), $0.isClosed) }
        guard !isClosed else { throw SQLiteError(.misuse, "the database is closed") }
        let reader = try kept ?? PooledTable(TaskTable(path: path))
        defer {
            state.withLockedValue { if !$0.isClosed, $0.readers.count < Self.readerLimit { $0.readers.append(reader) } }
        }
        return try reader.table.outcome(of: command, request)
    }

    // MARK: Writes

    private func write(_ command: TaskRequest.Command, _ request: TaskRequest) async throws -> TaskOutcome {
        try await withCheckedThrowingContinuation { continuation in
            let count = state.withLockedValue { state in
                state.waiting.append(Waiting(command: command, request: request, continuation: continuation))
                return state.waiting.count
            }
            if count == 1 { queue.async { self.commit() } }
        }
    }

    /// Writes all waiting commands, on the queue.
    private func commit() {
        while true {
            let group = state.withLockedValue { state in
                defer { state.waiting.removeFirst(min(Self.groupLimit, state.waiting.count)) }
                return Array(state.waiting.prefix(Self.groupLimit))
            }
            if group.isEmpty { return }
            let outcomes = outcomes(of: group)
            for (waiting, outcome) in zip(group, outcomes) { waiting.continuation.resume(with: outcome) }
        }
    }

    private func outcomes(of group: [Waiting]) -> [Result<TaskOutcome, any Error>] {
        let connection = writer.table.connection
        let changeCount = connection.totalChangeCount
        do {
            let outcomes = try connection.transaction {
                group.map { waiting in
                    Result {
                        try connection.savepoint { try writer.table.outcome(of: waiting.command, waiting.request) }
                    }
                }
            }
            if connection.totalChangeCount != changeCount { publish() }
            return outcomes
        } catch {
            return group.map { _ in .failure(error) }
        }
    }

    /// Makes the committed changes visible to reads, before the writes are answered.
    private func publish() {
        guard reading == .memory else { return }
        do {
            let new = try Snapshot(writer.table)
            snapshot.withLockedValue { $0 = new }
        } catch {
            logger.error("reading the tasks failed; requests read the database", metadata: ["error": "\(error)"])
            snapshot.withLockedValue { $0 = nil }
        }
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import Foundation
import HTTPTypes
import InClassTesting
import JSONStreaming
import NIOCore

extension TaskStore: SelfTesting {
    /// The tests of this type.
    public static var testSelectors: TestSelectors {
        [
            "testMemoryAgreesWithDatabase": testMemoryAgreesWithDatabase,
            "testRollsBackOnlyFailedWrites": testRollsBackOnlyFailedWrites,
            "testFailsWhenClosed": testFailsWhenClosed,
            "testFindsTasksInMemory": testFindsTasksInMemory,
            "testLocksTheDatabaseAtStart": testLocksTheDatabaseAtStart,
            "testReportsBusyDatabase": testReportsBusyDatabase,
        ] + .each("testRefusesPathsWithoutFile", ["", ":memory:", "file:tasks"], testRefusesPathsWithoutFile)
            + .each("testDoesNotChangeOtherDatabases", others, testDoesNotChangeOtherDatabases)
            + .each(
                "testConcurrentWritesGetTheirOwnTask", [Reading.database, .memory], testConcurrentWritesGetTheirOwnTask)
    }

    private static func open(_ reading: Reading, _ name: String = "tasks") throws -> TaskStore {
        let logger = Logger(label: "tests") { _ in SwiftLogNoOpLogHandler() }
        return try TaskStore(
            path: try temporaryDirectory() + "/\(name)-\(reading)", reading: reading, logger: logger)
    }

    private func send(_ method: HTTPRequest.Method, _ path: String, _ json: String = "") async -> (Int, String) {
        let fields: HTTPFields = [.contentType: "application/json"]
        let head = HTTPRequest(method: method, scheme: nil, authority: nil, path: path, headerFields: fields)
        let response = await response(to: TaskRequest(head: head, body: ByteBuffer(string: json)))
        return (response.status.code, String(buffer: response.body))
    }

    private static func testMemoryAgreesWithDatabase() async throws {
        let (stored, kept) = (try open(.database), try open(.memory))
        var seed: UInt64 = 14
        func random(_ count: UInt64) -> Int {
            seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(seed >> 33 % count)
        }
        for step in 0..<120 {
            let path = "/tasks/\(random(12) + 1)"
            let (method, target, json): (HTTPRequest.Method, String, String) =
                switch random(8) {
                case 0, 1, 2: (.post, "/tasks", #"{"title":"t\#(step)"}"#)
                case 3: (.put, path, #"{"title":"p\#(step)","done":true}"#)
                case 4: (.patch, path, #"{"done":true}"#)
                case 5: (.delete, path, "")
                case 6: (.get, path, "")
                default: (.post, "/tasks", "{}")
                }
            let (one, other) = (await stored.send(method, target, json), await kept.send(method, target, json))
            expectTrue(one == other, "\(step): \(method) \(target): \(one), from memory \(other)")
            let (all, others) = (await stored.send(.get, "/tasks"), await kept.send(.get, "/tasks"))
            expectTrue(all == others, "\(step): all tasks: \(all), from memory \(others)")
        }
        expectTrue(await stored.send(.get, "/tasks").1.utf8.count > 200, "some tasks are left")
    }

    private static func testConcurrentWritesGetTheirOwnTask(_ reading: Reading) async throws {
        let store = try open(reading)
        let responses = await withTaskGroup(of: (Int, Int, String).self) { group in
            for number in 0..<400 {
                group.addTask {
                    let (status, body) = await store.send(.post, "/tasks", #"{"title":"t\#(number)"}"#)
                    return (number, status, body)
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        let tasks = try store.queue.sync { try store.writer.table.all() }
        expectEqual(tasks.map(\.id), Array(1...400), "ids")
        for (number, status, body) in responses {
            expectEqual(status, 201, "status")
            let task = try requireNotNil(tasks.first { $0.title == "t\(number)" }, "task \(number)")
            expectEqual(body, try JSON.encodeToString(task), "its response")
        }
        // A read returns the last written value.
        expectEqual(await store.send(.get, "/tasks").1, try JSON.encodeToString(tasks), "all tasks")
    }

    private static func testRollsBackOnlyFailedWrites() async throws {
        let store = try open(.database)
        try store.queue.sync {
            try store.writer.table.connection.execute(
                """
                CREATE TABLE seen (id INTEGER);
                CREATE TRIGGER t AFTER INSERT ON tasks BEGIN
                    INSERT INTO seen VALUES (NEW.id);
                    SELECT RAISE(ABORT, 'refused') WHERE NEW.title = 'bad';
                END
                """)
        }
        // The commit begins when all of them are waiting.
        store.queue.suspend()
        async let responses = withTaskGroup(of: Int.self) { group in
            for number in 0..<20 {
                let title = number % 5 == 0 ? "bad" : "good"
                group.addTask { await store.send(.post, "/tasks", #"{"title":"\#(title)"}"#).0 }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        while store.state.withLockedValue({ $0.waiting.count }) < 20 { await Task.yield() }
        store.queue.resume()
        expectEqual(
            await responses.sorted(), Array(repeating: 201, count: 16) + Array(repeating: 500, count: 4), "statuses")
        let count = try store.queue.sync { try store.writer.table.connection.value("SELECT count(*) FROM seen") }
        expectEqual(count, 16, "what was done for tasks that are there")
    }

    private static func testFailsWhenClosed() async throws {
        let store = try open(.database)
        expectEqual(await store.send(.post, "/tasks", #"{"title":"a"}"#).0, 201, "before")
        expectEqual(await store.send(.get, "/tasks/1").0, 200, "before")
        try store.close()
        expectEqual(await store.send(.post, "/tasks", #"{"title":"a"}"#).0, 500, "status of a write")
        expectEqual(await store.send(.get, "/tasks/1").0, 500, "status of a read")
    }

    private static func testFindsTasksInMemory() async throws {
        for count in [0, 1, 2, 3, 8, 9] {
            let store = try open(.memory, "\(count)")
            try store.insert((0..<count).map { TaskRecord(id: $0 * 2 + 1, title: "t\($0)") })
            for id in 0..<count {
                let (status, body) = await store.send(.get, "/tasks/\(id * 2 + 1)")
                expectTrue(status == 200 && body.contains("\"t\(id)\""), "\(id) of \(count): \(body)")
                expectEqual(await store.send(.get, "/tasks/\(id * 2 + 2)").0, 404, "between")
            }
            expectEqual(await store.send(.get, "/tasks/\(count * 2 + 1)").0, 404, "behind")
        }
    }

    private static func testLocksTheDatabaseAtStart() async throws {
        let path = try temporaryDirectory() + "/tasks"
        let logger = Logger(label: "tests") { _ in SwiftLogNoOpLogHandler() }
        try TaskStore(path: path, logger: logger).close()
        // Without writes, all tasks are available.
        let store = try TaskStore(path: path, reading: .memory, logger: logger)
        let other = try SQLiteConnection(path: path, options: SQLiteOptions(busyTimeout: .zero))
        let error = expectThrows(SQLiteError.self, "of another one") {
            _ = try other.value("SELECT count(*) FROM tasks")
        }
        expectEqual(error?.code, .busy, "its code")
        expectEqual(await store.send(.post, "/tasks", #"{"title":"a"}"#).0, 201, "a write")
    }

    private static func testReportsBusyDatabase() async throws {
        let store = try open(.database)
        let other = try SQLiteConnection(path: store.path)
        try other.begin(.immediate)
        let json = ByteBuffer(string: #"{"title":"a"}"#)
        let head = HTTPRequest(
            method: .post, scheme: nil, authority: nil, path: "/tasks",
            headerFields: [.contentType: "application/json"])
        let response = await store.response(to: TaskRequest(head: head, body: json))
        expectEqual(response.status.code, 503, "status")
        expectEqual(response.fields[.retryAfter], "1", "when to come again")
        try other.rollBack()
        expectEqual(await store.response(to: TaskRequest(head: head, body: json)).status.code, 201, "afterwards")
    }

    private static func testRefusesPathsWithoutFile(_ path: String) throws {
        let logger = Logger(label: "tests") { _ in SwiftLogNoOpLogHandler() }
        for reading in [Reading.database, .memory] {
            let error = expectThrows(SQLiteError.self, "\(reading)") {
                _ = try TaskStore(path: path, reading: reading, logger: logger)
            }
            expectTrue(error?.message.hasPrefix("expected the path of a") == true, "\(error?.message ?? "no error")")
        }
    }

    /// Scripts that create databases of other programs.
    private static let others = [
        "CREATE TABLE places (a)", "CREATE TABLE tasks (id INTEGER PRIMARY KEY, text TEXT)",
        "CREATE TABLE tasks (id INTEGER PRIMARY KEY, text TEXT); PRAGMA user_version = 1",
        "CREATE TABLE a (b); PRAGMA user_version = 1", "PRAGMA user_version = 1", "PRAGMA user_version = 7",
        "PRAGMA user_version = -1", "PRAGMA application_id = 7",
        "CREATE TABLE places (a); PRAGMA journal_mode = WAL",
    ]

    private static func testDoesNotChangeOtherDatabases(_ script: String) throws {
        let path = try temporaryDirectory() + "/other"
        let other = try SQLiteConnection(path: path, options: SQLiteOptions(access: .create))
        try other.execute(script)
        try other.close()
        let before = FileManager.default.contents(atPath: path)
        let logger = Logger(label: "tests") { _ in SwiftLogNoOpLogHandler() }
        for reading in [Reading.database, .memory] {
            expectThrows(SQLiteError.self, "\(reading)") {
                _ = try TaskStore(path: path, reading: reading, logger: logger)
            }
            expectTrue(FileManager.default.contents(atPath: path) == before, "\(reading): the file is as it was")
        }
    }
}
#endif
