// The tasks for many clients at once: reads beside each other, writes one after the other, many of them in one commit.

import Dispatch
import Logging
import SQLiteStreaming
import Synchronization

/// Answers requests, from a database on the disk.
///
/// A write is answered when it is on the disk. Those that come while others are being written wait for them, and are then
/// committed together, each in a savepoint of its own.
public final class TaskStore: Sendable {
    /// Where reads find the tasks.
    public enum Reading: Sendable {
        /// In the database, each time.
        case database
        /// In memory: all tasks and their JSON, made anew after each commit. Nobody else may open the database meanwhile.
        case memory
    }

    /// A table that is lent to one thread at a time.
    // SAFETY: who took it out of the pool is the only one that has it, and the writer's is used on its queue only.
    private final class Lent: @unchecked Sendable {
        let table: TaskTable
        init(_ table: TaskTable) { self.table = table }
    }

    /// All tasks as they are after the last commit.
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
        var readers: [Lent] = []
        var waiting: [Waiting] = []
        var isClosed = false
    }

    private let path: String
    private let reading: Reading
    private let logger: Logger
    private let writer: Lent
    private let queue = DispatchQueue(label: "tasks.writer")
    private let state = Mutex(State())
    /// nil where reads go to the database, also when it could not be made after a commit.
    private let snapshot: Mutex<Snapshot?>
    /// The largest number of connections that are kept for reading.
    private static let readerLimit = 8
    /// The largest number of writes that are committed together.
    private static let groupLimit = 256

    /// Opens the database, and makes it when it is not there.
    ///
    /// - Throws: `SQLiteError` for a file that is no such database, or that somebody else has for himself.
    public init(path: String, reading: Reading = .database, logger: Logger) throws {
        (self.path, self.reading, self.logger) = (path, reading, logger)
        let table = try TaskTable(path: path, isAlone: reading == .memory)
        writer = Lent(table)
        snapshot = Mutex(reading == .memory ? try Snapshot(table) : nil)
    }

    /// Answers a request.
    public func answer(to request: TaskRequest) async -> TaskAnswer {
        do throws(Refusal) {
            let command = try request.command()
            if let answer = TaskAnswer(to: command, request) { return answer }
            do {
                let outcome = try await command.writes ? write(command, request) : read(command, request)
                return TaskAnswer(outcome, request)
            } catch {
                logger.error("a request failed", metadata: ["error": "\(error)"])
                return TaskAnswer(failureOf: request)
            }
        } catch {
            return TaskAnswer(error, request)
        }
    }

    /// Adds tasks, and reads them back.
    public func insert(_ tasks: [TaskRecord]) throws {
        try queue.sync {
            try writer.table.insert(tasks)
            publish()
        }
    }

    /// Waits for what is being written, and closes the database; what comes later fails.
    public func close() throws {
        let readers = state.withLock { state in
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
        if let snapshot = snapshot.withLock({ $0 }) {
            switch command {
            case .list: return .list(snapshot.list)
            case .fetch(let id): return try snapshot.task(id)
            default: break
            }
        }
        // The only connection that such a database has.
        if reading == .memory { return try queue.sync { try writer.table.outcome(of: command, request) } }
        let reader = try state.withLock { $0.readers.popLast() } ?? Lent(TaskTable(path: path))
        defer {
            state.withLock { if !$0.isClosed, $0.readers.count < Self.readerLimit { $0.readers.append(reader) } }
        }
        return try reader.table.outcome(of: command, request)
    }

    // MARK: Writes

    private func write(_ command: TaskRequest.Command, _ request: TaskRequest) async throws -> TaskOutcome {
        try await withCheckedThrowingContinuation { continuation in
            let count = state.withLock { state in
                state.waiting.append(Waiting(command: command, request: request, continuation: continuation))
                return state.waiting.count
            }
            if count == 1 { queue.async { self.commit() } }
        }
    }

    /// Writes all that waits, on the queue.
    private func commit() {
        while true {
            let group = state.withLock { state in
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
        do {
            let outcomes = try connection.transaction {
                group.map { waiting in
                    Result {
                        try connection.savepoint { try writer.table.outcome(of: waiting.command, waiting.request) }
                    }
                }
            }
            publish()
            return outcomes
        } catch {
            return group.map { _ in .failure(error) }
        }
    }

    /// Lets reads find what was committed, before anybody is told that it was.
    private func publish() {
        guard reading == .memory else { return }
        do {
            let new = try Snapshot(writer.table)
            snapshot.withLock { $0 = new }
        } catch {
            logger.error("reading the tasks failed; requests read the database", metadata: ["error": "\(error)"])
            snapshot.withLock { $0 = nil }
        }
    }
}
