// Determines the command of a request from the request alone. `TaskTable` runs the command, and `TaskResponse` makes the
// response.

import HTTPTypes
import NIOCore

/// A request with its body.
public struct TaskRequest: Sendable {
    /// The request line and the fields.
    public var head: HTTPRequest
    /// The body, or nil if it exceeds ``bodyByteLimit``.
    public var body: ByteBuffer?

    /// The length limit of bodies in bytes.
    public static let bodyByteLimit: Int = 1 << 16

    private let isLocal: Bool

    /// Creates a request.
    ///
    /// - Parameter isLocal: A Boolean value that indicates whether the server is only for this machine, and so has no names
    ///   except `localhost` and addresses. Requests that use another host name, for example from a web page whose name
    ///   resolves to this machine, are rejected.
    public init(head: HTTPRequest, body: ByteBuffer? = ByteBuffer(), isLocal: Bool = false) {
        (self.head, self.body, self.isLocal) = (head, body, isLocal)
    }

    /// Returns whether the body of a request with this method is read.
    public static func readsBody(_ method: HTTPRequest.Method) -> Bool { [.post, .put, .patch].contains(method) }

    /// The commands of requests.
    enum Command: Equatable, Sendable {
        case page
        case methods([HTTPRequest.Method])
        case list
        case fetch(id: Int)
        case create(TaskRecord)
        case replace(TaskRecord)
        case change(id: Int, TaskDraft)
        case delete(id: Int)

        /// A Boolean value that indicates whether the command may change a task.
        var writes: Bool {
            switch self {
            case .page, .methods, .list, .fetch: false
            case .create, .replace, .change, .delete: true
            }
        }
    }

    /// Returns the command of the request.
    ///
    /// - Throws: The first of these errors: 421 for the host; 404 or 400 for the path; 405 for the method; 413 and 415 for
    ///   the body; 400 and 422 for its content.
    func command() throws(RequestError) -> Command {
        if isLocal, let host = head.authority, !Self.isLocal(host) {
            throw RequestError(.misdirectedRequest, "expected the host localhost or an address, found \(host)")
        }
        let path = try TaskPath(target: head.path ?? "")
        let method = head.method
        guard path.methods.contains(method) else {
            throw RequestError(
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

    /// Returns whether a host, with or without a port, is `localhost` or an address, which others can't register as a name.
    private static func isLocal(_ authority: String) -> Bool {
        if authority.first == "[" { return true }
        let host = authority.split(separator: ":", omittingEmptySubsequences: false).first?.lowercased() ?? ""
        return host == "localhost" || host.hasSuffix(".localhost")
            || !host.isEmpty && host.utf8.allSatisfy { $0 == UInt8(ascii: ".") || 48...57 ~= $0 }
    }

    static func list(_ methods: [HTTPRequest.Method]) -> String { methods.map(\.rawValue).joined(separator: ", ") }

    private func draft(id: Int?) throws(RequestError) -> TaskDraft {
        guard let body else {
            throw RequestError(.contentTooLarge, "expected a body of at most \(Self.bodyByteLimit) bytes")
        }
        guard isJSON else {
            throw RequestError(.unsupportedMediaType, "expected a body of the type application/json in UTF-8")
        }
        return try TaskDraft(json: Array(body.readableBytesView), id: id)
    }

    /// A Boolean value that indicates whether the content type of the body is JSON in UTF-8, its only encoding.
    private var isJSON: Bool {
        let parts = (head.headerFields[.contentType] ?? "").lowercased().split(separator: ";")
            .map { $0.filter { !" \t\"".contains($0) } }
        return parts.first == "application/json"
            && parts.dropFirst().allSatisfy { !$0.hasPrefix("charset=") || $0 == "charset=utf-8" }
    }

    // MARK: Conditions

    /// The results of the conditions of a request.
    enum Condition: Sendable {
        case holds
        /// The client already has the requested representation: 304.
        case isKnown
        /// The client knows another representation than the current one: 412.
        case fails
    }

    /// Evaluates the conditions for the current representation. Its entity tag is only made if there are conditions.
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

    /// Returns whether a list of entity tags contains a tag. The tags of this server contain no commas.
    private static func names(_ list: String, _ entityTag: String, weakly: Bool) -> Bool {
        list.split(separator: ",").contains { item in
            var tag = item.drop { $0 == " " || $0 == "\t" }
            while tag.last == " " || tag.last == "\t" { tag.removeLast() }
            return tag == "*" || tag == entityTag || weakly && tag.hasPrefix("W/") && tag.dropFirst(2) == entityTag
        }
    }
}
