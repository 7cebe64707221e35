// What a request wants, told from the request alone. What comes of it is in `TaskTable`, what is said of that in `TaskAnswer`.

import HTTPTypes
import NIOCore

/// A request with its body.
public struct TaskRequest: Sendable {
    /// What came before the body.
    public var head: HTTPRequest
    /// The body; nil when it is longer than ``bodyByteLimit``.
    public var body: ByteBuffer?

    /// The longest body in bytes.
    public static let bodyByteLimit: Int = 1 << 16

    private let isLocal: Bool

    /// Makes a request.
    ///
    /// - Parameter isLocal: Whether the server is for this machine only, and has no other name than `localhost` and addresses: a page
    ///   whose own name leads here is refused.
    public init(head: HTTPRequest, body: ByteBuffer? = ByteBuffer(), isLocal: Bool = false) {
        (self.head, self.body, self.isLocal) = (head, body, isLocal)
    }

    /// Returns whether the body is read at all.
    public static func readsBody(_ method: HTTPRequest.Method) -> Bool { [.post, .put, .patch].contains(method) }

    /// What a request wants.
    enum Command: Equatable, Sendable {
        case page
        case methods([HTTPRequest.Method])
        case list
        case fetch(id: Int)
        case create(TaskRecord)
        case replace(TaskRecord)
        case change(id: Int, TaskDraft)
        case delete(id: Int)

        /// A Boolean value that indicates whether it may change a task.
        var writes: Bool {
            switch self {
            case .page, .methods, .list, .fetch: false
            case .create, .replace, .change, .delete: true
            }
        }
    }

    /// What the request wants.
    ///
    /// - Throws: The first of these: 421 for the host; 404 for the path, or 400; 405 for the method; 413 and 415 for the body; 400 and 422 for what is
    ///   in it.
    func command() throws(Refusal) -> Command {
        if isLocal, let host = head.authority, !Self.isLocal(host) {
            throw Refusal(.misdirectedRequest, "expected the host localhost or an address, found \(host)")
        }
        let path = try TaskPath(target: head.path ?? "")
        let method = head.method
        guard path.methods.contains(method) else {
            throw Refusal(
                .methodNotAllowed, "\(head.path ?? "") has no method \(method)", allowed: Self.list(path.methods))
        }
        if method == .options { return .methods(path.methods) }
        switch (path, method) {
        case (.page, _): return .page
        case (.list, .post): return .create(try draft(id: nil).task(id: nil))
        case (.list, _): return .list
        case (.task(let id), .put): return .replace(try draft(id: id).task(id: id))
        case (.task(let id), .patch): return .change(id: id, try draft(id: id))
        case (.task(let id), .delete): return .delete(id: id)
        case (.task(let id), _): return .fetch(id: id)
        }
    }

    /// Returns whether a host, with or without a port, is `localhost` or an address, which nobody else can have as a name.
    private static func isLocal(_ authority: String) -> Bool {
        if authority.first == "[" { return true }
        let host = authority.split(separator: ":", omittingEmptySubsequences: false).first?.lowercased() ?? ""
        return host == "localhost" || host.hasSuffix(".localhost")
            || !host.isEmpty && host.utf8.allSatisfy { $0 == UInt8(ascii: ".") || 48...57 ~= $0 }
    }

    static func list(_ methods: [HTTPRequest.Method]) -> String { methods.map(\.rawValue).joined(separator: ", ") }

    private func draft(id: Int?) throws(Refusal) -> TaskDraft {
        guard let body else {
            throw Refusal(.contentTooLarge, "expected a body of at most \(Self.bodyByteLimit) bytes")
        }
        guard isJSON else {
            throw Refusal(.unsupportedMediaType, "expected a body of the type application/json in UTF-8")
        }
        return try TaskDraft(json: Array(body.readableBytesView), id: id)
    }

    /// A Boolean value that indicates whether the body says that it is JSON, in the only encoding that JSON has.
    private var isJSON: Bool {
        let parts = (head.headerFields[.contentType] ?? "").lowercased().split(separator: ";")
            .map { $0.filter { !" \t\"".contains($0) } }
        return parts.first == "application/json"
            && parts.dropFirst().allSatisfy { !$0.hasPrefix("charset=") || $0 == "charset=utf-8" }
    }

    // MARK: Conditions

    /// What the conditions of a request come to.
    enum Condition: Sendable {
        case holds
        /// The client has what it asks for: 304.
        case isKnown
        /// What the client knows is not what is there: 412.
        case fails
    }

    /// What the conditions come to for what is there, whose entity tag is made only when there are some.
    // SPEC: RFC 9110 sections 13.1.1, 13.1.2 and 13.2.2.
    func condition(_ entityTag: @autoclosure () throws -> String) rethrows -> Condition {
        if head.headerFields[.ifMatch] == nil, head.headerFields[.ifNoneMatch] == nil { return .holds }
        let entityTag = try entityTag()
        if let wanted = head.headerFields[.ifMatch], !Self.names(wanted, entityTag, weakly: false) { return .fails }
        if let known = head.headerFields[.ifNoneMatch], Self.names(known, entityTag, weakly: true) {
            return head.method == .get || head.method == .head ? .isKnown : .fails
        }
        return .holds
    }

    /// Returns whether a list of entity tags names one. Ours have no comma.
    private static func names(_ list: String, _ entityTag: String, weakly: Bool) -> Bool {
        list.split(separator: ",").contains { item in
            var tag = item.drop { $0 == " " || $0 == "\t" }
            while tag.last == " " || tag.last == "\t" { tag.removeLast() }
            return tag == "*" || tag == entityTag || weakly && tag.hasPrefix("W/") && tag.dropFirst(2) == entityTag
        }
    }
}
