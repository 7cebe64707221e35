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

    private static let creation =
        "CREATE TABLE tasks (id INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT NOT NULL, done BOOLEAN NOT NULL)"

    /// Looks at a database before anything of it is changed; also the journal mode would be changed for good.
    ///
    /// - Throws: `SQLiteError` for a path that SQLite takes for no file, and for a database that another program has made.
    static func checkIsOurs(path: String) throws {
        guard path != ":memory:", !path.hasPrefix("file:") else {
            throw SQLiteError(.cannotOpen, "expected the path of a file, found \(path), which means something else")
        }
        let connection = try SQLiteConnection(path: path, options: SQLiteOptions(access: .create))
        // One transaction, since another process may be making it.
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

    /// Opens the database, and makes it when it is not there.
    ///
    /// What is committed is on the disk: the log is written before a commit ends, and read again after a crash.
    /// - Parameter isAlone: Whether no other connection may open it, so that what was read of it stays true.
    init(path: String, isAlone: Bool = false) throws {
        let options = SQLiteOptions(access: .create, journalMode: .wal, synchronization: .full)
        connection = try SQLiteConnection(path: path, options: options)
        if isAlone {
            try connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            // The lock is taken by the first transaction that may write.
            try connection.transaction {}
        }
        try connection.migrate([
            // An id of a task that was deleted is not given to another one.
            {
                try $0.execute(Self.creation)
            }
        ])
        table = try SQLiteTable(connection, "tasks", options: SQLiteTableOptions(missingTable: .reject))
    }

    /// All tasks, in the order of their ids.
    func all() throws -> [TaskRecord] { try table.fetchAll(orderedBy: byID) }

    /// Adds tasks.
    func insert(_ tasks: [TaskRecord]) throws { try table.insert(tasks) }

    /// Does what a request wants; what may change something, within a transaction.
    func outcome(of command: TaskRequest.Command, _ request: TaskRequest) throws -> TaskOutcome {
        switch command {
        case .page, .methods: return .missing
        case .list: return .list(try Representation(of: table, orderedBy: byID))
        case .create(var task):
            // What is added to is the list.
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

    /// Sets a task that is there, and whose representation is what the request expects; nil deletes it.
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
