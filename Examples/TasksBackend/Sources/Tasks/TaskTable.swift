// The tasks in SQLite, by one connection: what a command finds and changes. Who waits for whom is in `TaskStore`.

import JSONStreaming
import NIOCore
import PlistBuilding
import PlistStreaming
import SQLiteStreaming

/// Bytes to be sent, and the entity tag by which a client knows them again.
struct Representation: Sendable {
    let bytes: ByteBuffer
    /// Quoted. Another process gives the same bytes another one, so that nobody can prepare two texts that have the same.
    let entityTag: String

    init(_ bytes: ByteBuffer) {
        var hasher = Hasher()
        bytes.withUnsafeReadableBytes { hasher.combine(bytes: $0) }
        let digits = String(UInt(bitPattern: hasher.finalize()), radix: 16)
        self.bytes = bytes
        entityTag = "\"\(digits)\""
    }

    private init(_ writer: borrowing JSONWriter) {
        self.init(writer.withBytes { span in span.withUnsafeBytes { ByteBuffer(bytes: $0) } })
    }

    /// Makes the JSON of a value.
    init(of value: some StreamValue) throws {
        var writer = JSONWriter()
        try writer.write(value)
        try writer.finish()
        self.init(writer)
    }

    /// Makes the JSON of all rows.
    init(of table: SQLiteTable<TaskRecord>, orderedBy order: SQLiteOrder<TaskRecord>) throws {
        var writer = JSONWriter()
        try table.send(orderedBy: order, to: &writer)
        try writer.finish()
        self.init(writer)
    }
}

/// What came of a command.
enum TaskOutcome: Sendable {
    case list(Representation)
    case task(TaskRecord, Representation)
    case created(TaskRecord, Representation)
    case deleted
    case missing
    case failedCondition
}

/// The table of tasks. It is for one thread or task at a time, as its connection is.
struct TaskTable {
    let connection: SQLiteConnection
    private let table: SQLiteTable<TaskRecord>
    // PERF: TasksLoad, 7 of 60 µs a request with two tasks; what a key path stands for is looked for each time.
    private let byID = SQLiteOrder<TaskRecord>.ascending(\.id)

    /// Opens the database, and makes it when it is not there.
    ///
    /// What is committed is on the disk: the log is written before a commit ends, and read again after a crash.
    /// - Parameter isAlone: Whether no other connection may open it, so that what was read of it stays true.
    init(path: String, isAlone: Bool = false) throws {
        let options = SQLiteOptions(access: .create, journalMode: .wal, synchronization: .full)
        connection = try SQLiteConnection(path: path, options: options)
        if isAlone { try connection.execute("PRAGMA locking_mode = EXCLUSIVE") }
        try connection.migrate([
            // An id of a task that was deleted is not given to another one.
            {
                try $0.execute(
                    "CREATE TABLE tasks (id INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT NOT NULL, done BOOLEAN NOT NULL)"
                )
            }
        ])
        table = try SQLiteTable(connection, "tasks", options: SQLiteTableOptions(missingTable: .reject))
    }

    /// All tasks, in the order of their ids.
    func all() throws -> [TaskRecord] { try table.select(orderedBy: byID) }

    /// Adds tasks.
    func insert(_ tasks: [TaskRecord]) throws { try table.insert(tasks) }

    /// Does what a request wants; what may change something, within a transaction.
    func outcome(of command: TaskRequest.Command, _ request: TaskRequest) throws -> TaskOutcome {
        switch command {
        case .page, .methods: return .missing
        case .list: return .list(try Representation(of: table, orderedBy: byID))
        case .create(var task):
            try table.insert(&task)
            return .created(task, try Representation(of: task))
        case .fetch(let id):
            guard let task = try table.fetch(key: id) else { return .missing }
            return .task(task, try Representation(of: task))
        case .replace(let task): return try update(task.id, request) { _ in task }
        case .change(let id, let draft): return try update(id, request) { draft.applied(to: $0) }
        case .delete(let id):
            return try update(id, request) { _ in nil }
        }
    }

    /// Sets a task that is there, and whose representation is what the request expects; nil deletes it.
    private func update(
        _ id: Int?, _ request: TaskRequest, _ change: (TaskRecord) -> TaskRecord?
    ) throws -> TaskOutcome {
        guard let old = try table.fetch(key: id) else { return .missing }
        guard request.condition(try Representation(of: old).entityTag) == .holds else { return .failedCondition }
        guard let new = change(old) else {
            try table.delete(old)
            return .deleted
        }
        if new != old { try table.update(new) }
        return .task(new, try Representation(of: new))
    }
}
