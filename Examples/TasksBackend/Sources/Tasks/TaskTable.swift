// The tasks in SQLite on one connection: runs commands that find and change tasks. `TaskStore` schedules them.

import JSONStreaming
import NIOCore
import PlistBuilding
import PlistStreaming
import SQLiteStreaming

/// The bytes to send, and the entity tag that identifies them to clients.
struct Representation: Sendable {
    let bytes: ByteBuffer
    /// The quoted tag. It differs between processes, so that clients can't prepare two texts with the same tag.
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

    /// Creates the JSON of a value.
    init(of value: some StreamValue) throws {
        var writer = JSONWriter()
        try writer.write(value)
        try writer.finish()
        self.init(writer)
    }

    /// Creates the JSON of all rows.
    init(of table: SQLiteTable<TaskRecord>, orderedBy order: SQLiteOrder<TaskRecord>) throws {
        var writer = JSONWriter()
        try table.send(orderedBy: order, to: &writer)
        try writer.finish()
        self.init(writer)
    }
}

/// The result of a command.
enum TaskOutcome: Sendable {
    case list(Representation)
    case task(TaskRecord, Representation)
    case created(TaskRecord, Representation)
    case deleted
    case missing
    case failedCondition
}

/// The table of tasks. Like its connection, it is for one thread or task at a time.
struct TaskTable {
    let connection: SQLiteConnection
    private let table: SQLiteTable<TaskRecord>
    // PERF: TasksLoad, 7 of 60 µs per request with two tasks; otherwise the key path is looked up each time.
    private let byID = SQLiteOrder<TaskRecord>.ascending(\.id)

    private static let creation =
        "CREATE TABLE tasks (id INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT NOT NULL, done BOOLEAN NOT NULL)"

    /// Checks a database before it is changed, because the journal mode would be changed permanently.
    ///
    /// - Throws: `SQLiteError` for a path that SQLite doesn't treat as a file, and for a database of another program.
    static func checkIsOurs(path: String) throws {
        guard path != ":memory:", !path.hasPrefix("file:") else {
            throw SQLiteError(.cannotOpen, "expected the path of a file, found \(path), which means something else")
        }
        let connection = try SQLiteConnection(path: path, options: SQLiteOptions(access: .create))
        // One transaction, since another process may be creating the database.
        let isOurs = try connection.transaction(.deferred) {
            guard try connection.value("PRAGMA application_id") == 0 else { return false }
            switch try connection.value("PRAGMA user_version") {
            case 0: return try connection.value("SELECT count(*) FROM sqlite_schema") == 0
            case 1:
                let sql = try connection.value("SELECT sql FROM sqlite_schema WHERE name = 'tasks'")
                return sql == .text(Self.creation)
            default: return false
            }
        }
        try connection.close()
        guard isOurs else {
            throw SQLiteError(
                .schema,
                "\(path.debugDescription): expected a database of tasks, found one of another program or a newer one")
        }
    }

    /// Opens the database, and creates it if it doesn't exist.
    ///
    /// Committed changes are on disk: the log is written before a commit ends, and read again after a crash.
    /// - Parameter isAlone: A Boolean value that indicates whether no other connection may open the database, so that values
    ///   read from it stay valid.
    init(path: String, isAlone: Bool = false) throws {
        let options = SQLiteOptions(access: .create, journalMode: .wal, synchronization: .full)
        connection = try SQLiteConnection(path: path, options: options)
        if isAlone {
            try connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            // The first transaction that may write acquires the lock.
            try connection.transaction {}
        }
        try connection.migrate([
            // The id of a deleted task is never used again.
            {
                try $0.execute(Self.creation)
            }
        ])
        table = try SQLiteTable(connection, "tasks", options: SQLiteTableOptions(missingTable: .reject))
    }

    /// Returns all tasks in the order of their ids.
    func all() throws -> [TaskRecord] { try table.fetchAll(orderedBy: byID) }

    /// Adds tasks.
    func insert(_ tasks: [TaskRecord]) throws { try table.insert(tasks) }

    /// Runs a command. Commands that may change a task must be run in a transaction.
    func outcome(of command: TaskRequest.Command, _ request: TaskRequest) throws -> TaskOutcome {
        switch command {
        case .page, .methods: return .missing
        case .list: return .list(try Representation(of: table, orderedBy: byID))
        case .create(var task):
            // The condition applies to the list that the task is added to.
            let condition = try request.condition(try Representation(of: table, orderedBy: byID).entityTag)
            guard condition == .holds else { return .failedCondition }
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

    /// Changes an existing task if its representation is the one that the request expects. If the closure returns nil, the
    /// task is deleted.
    private func update(
        _ id: Int?, _ request: TaskRequest, _ change: (TaskRecord) -> TaskRecord?
    ) throws -> TaskOutcome {
        guard let old = try table.fetch(key: id) else { return .missing }
        guard try request.condition(try Representation(of: old).entityTag) == .holds else { return .failedCondition }
        guard let new = change(old) else {
            try table.delete(old)
            return .deleted
        }
        if new != old { try table.update(new) }
        return .task(new, try Representation(of: new))
    }
}
