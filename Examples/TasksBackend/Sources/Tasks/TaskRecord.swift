// A task as it is stored and sent, and the task members in a request.

import JSONStreaming
import PlistBuilding
import PlistStreaming

/// A task, which is a row of the table and an object in JSON.
public struct TaskRecord: StreamObject, Equatable, Sendable {
    /// The id of the task, or nil until SQLite has chosen it.
    public var id: Int? = nil
    /// The description of the work to do.
    public var title: String = ""
    /// A Boolean value that indicates whether the task is done.
    public var done: Bool = false

    /// Creates a task without a title.
    public init() {}

    /// Creates a task.
    public init(id: Int? = nil, title: String, done: Bool = false) {
        (self.id, self.title, self.done) = (id, title, done)
    }
}

/// The members of a task in a request.
///
/// Each member is set through a property that isn't optional, so that `null` is rejected and not treated as a missing member.
struct TaskDraft: StreamObject, Equatable, Sendable {
    /// The length limit of titles in bytes.
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
    /// - Parameter id: The id in the path, or nil for a new task.
    /// - Throws: 400 with the position for invalid JSON; 422 for JSON that isn't a valid task, or that repeats a member.
    init(json: [UInt8], id: Int?) throws(RequestError) {
        do throws(StreamError) {
            let options = BuilderOptions(unknownMembers: .reject, depthLimit: 16)
            var builder = UniqueKeys(try ObjectBuilder<TaskDraft>(options: options))
            try builder.readJSON(json)
            self = try builder.target.takeResult()
        } catch {
            throw RequestError(error)
        }
        if let givenID, givenID != id {
            let expected = id.map { "expected the id \($0) of the path" } ?? "expected no id, which is chosen here"
            throw RequestError(.unprocessableContent, "\(expected), found \(givenID)", at: "id")
        }
        guard let text = givenTitle?.utf8 else { return }
        if text.isEmpty || text.count > Self.titleByteLimit {
            throw RequestError(
                .unprocessableContent, "expected a title of 1 to \(Self.titleByteLimit) bytes, found \(text.count)",
                at: "title")
        }
        if text.contains(0) { throw RequestError(.unprocessableContent, "expected a title without NUL", at: "title") }
    }

    /// Returns the complete task of a request.
    func task(id: Int?) throws(RequestError) -> TaskRecord {
        guard let givenTitle else {
            throw RequestError(.unprocessableContent, "expected a title, found none", at: "title")
        }
        return TaskRecord(id: id, title: givenTitle, done: givenDone ?? false)
    }

    /// Returns a task, changed by the members of a request.
    func applied(to task: TaskRecord) -> TaskRecord {
        TaskRecord(id: task.id, title: givenTitle ?? task.title, done: givenDone ?? task.done)
    }
}
