// A task as it is stored and sent, and what a request says of one.

import JSONStreaming
import PlistBuilding
import PlistStreaming

/// A task: a row of the table, and an object of the JSON.
public struct TaskRecord: StreamObject, Equatable, Sendable {
    /// What it is found by; nil until SQLite has chosen it.
    public var id: Int? = nil
    /// What is to be done.
    public var title: String = ""
    /// A Boolean value that indicates whether it is done.
    public var done: Bool = false

    /// Makes a task without a title.
    public init() {}

    /// Makes a task.
    public init(id: Int? = nil, title: String, done: Bool = false) {
        (self.id, self.title, self.done) = (id, title, done)
    }
}

/// The members of a task that a request gives.
///
/// Each is set by a property that is not optional, so that `null` is refused and not taken for a member that is missing.
struct TaskDraft: StreamObject, Equatable, Sendable {
    /// The longest title in bytes.
    static let titleByteLimit = 1_000

    private(set) var givenID: Int?
    private(set) var givenTitle: String?
    private(set) var givenDone: Bool?

    private var id: Int {
        get { givenID ?? 0 }
        set { givenID = newValue }
    }
    private var title: String {
        get { givenTitle ?? "" }
        set { givenTitle = newValue }
    }
    private var done: Bool {
        get { givenDone ?? false }
        set { givenDone = newValue }
    }

    static var streamMembers: StreamMembers {
        [.member("id", \TaskDraft.id), .member("title", \TaskDraft.title), .member("done", \TaskDraft.done)]
    }

    init() {}

    /// Reads the body of a request.
    ///
    /// - Parameter id: What the path says; nil for a task that is to be made.
    /// - Throws: 400 for what is no JSON, with the place; 422 for JSON that says of no task what it is, or says it twice.
    init(json: [UInt8], id: Int?) throws(Refusal) {
        do throws(StreamError) {
            let options = BuilderOptions(unknownMembers: .reject, depthLimit: 16)
            var builder = UniqueKeys(try ObjectBuilder<TaskDraft>(options: options))
            try builder.readJSON(json)
            self = try builder.target.takeResult()
        } catch {
            throw Refusal(error)
        }
        if let givenID, givenID != id {
            let expected = id.map { "expected the id \($0) of the path" } ?? "expected no id, which is chosen here"
            throw Refusal(.unprocessableContent, "\(expected), found \(givenID)", at: "id")
        }
        guard let text = givenTitle?.utf8 else { return }
        if text.isEmpty || text.count > Self.titleByteLimit {
            throw Refusal(
                .unprocessableContent, "expected a title of 1 to \(Self.titleByteLimit) bytes, found \(text.count)",
                at: "title")
        }
        if text.contains(0) { throw Refusal(.unprocessableContent, "expected a title without NUL", at: "title") }
    }

    /// The whole task that a request gives.
    func task(id: Int?) throws(Refusal) -> TaskRecord {
        guard let givenTitle else { throw Refusal(.unprocessableContent, "expected a title, found none", at: "title") }
        return TaskRecord(id: id, title: givenTitle, done: givenDone ?? false)
    }

    /// A task with what a request gives of it.
    func applied(to task: TaskRecord) -> TaskRecord {
        TaskRecord(id: task.id, title: givenTitle ?? task.title, done: givenDone ?? task.done)
    }
}
