// Makes the response to a request, with status, fields and body, from the result of its command.

import HTTPTypes
import NIOCore

/// The response to a request.
public struct TaskResponse: Sendable {
    /// The status.
    public var status: HTTPResponse.Status
    /// The fields, including `Content-Length` for a body with a length.
    public var fields: HTTPFields
    /// The body, empty for HEAD.
    public var body: ByteBuffer

    private static let json = "application/json"

    private init(
        _ status: HTTPResponse.Status, _ request: TaskRequest, type: String? = nil, _ body: ByteBuffer? = nil
    ) {
        self.status = status
        fields = HTTPFields()
        self.body = ByteBuffer()
        // The handler of the connection has normalized this field to `close`.
        if request.head.headerFields[.connection] == "close" { fields[.connection] = "close" }
        guard let body else { return }
        // Appended, since setting a field searches for it first.
        fields.append(HTTPField(name: .contentType, value: type ?? Self.json))
        fields.append(HTTPField(name: .contentLength, value: String(body.readableBytes)))
        if request.head.method != .head { self.body = body }
    }

    /// Makes the response to a rejected request.
    init(_ error: RequestError, _ request: TaskRequest) {
        self.init(error.status, request, (try? Representation(of: error.body))?.bytes)
        if let allowed = error.allowed { fields[.allow] = allowed }
        if error.status == .contentTooLarge { fields[.connection] = "close" }
    }

    /// Makes the response to a request that the server can't serve. If the database was locked, the client may try again.
    init(failureOf request: TaskRequest, isBusy: Bool) {
        if isBusy {
            self.init(RequestError(.serviceUnavailable, "the database is locked; nothing was changed"), request)
            fields[.retryAfter] = "1"
            return
        }
        self.init(RequestError(.internalServerError, "internal error; nothing was changed"), request)
    }

    /// Makes the response for the result of a command.
    init(_ outcome: TaskOutcome, _ request: TaskRequest) {
        switch outcome {
        case .list(let text), .task(_, let text):
            self.init(text, request)
        case .created(let task, let text):
            self.init(.created, request, text.bytes)
            fields[.location] = "/tasks/\(task.id ?? 0)"
            fields[.eTag] = text.entityTag
        case .deleted: self.init(.noContent, request)
        case .missing: self.init(RequestError(.notFound, "task not found"), request)
        case .failedCondition: self.init(Self.failedCondition, request)
        }
    }

    private static let failedCondition = RequestError(.preconditionFailed, "the task was changed since this version")

    /// Makes the response with a text. For a change, the conditions were already checked before it.
    private init(_ text: Representation, type: String? = nil, _ request: TaskRequest) {
        let isRead = [.get, .head].contains(request.head.method)
        switch isRead ? request.condition(text.entityTag) : .holds {
        case .holds: self.init(.ok, request, type: type, text.bytes)
        case .isKnown: self.init(.notModified, request)
        case .fails:
            self.init(Self.failedCondition, request)
            return
        }
        fields.append(HTTPField(name: .eTag, value: text.entityTag))
        fields.append(HTTPField(name: .cacheControl, value: "no-cache"))
    }

    /// Makes the response with the allowed methods.
    init(methods: [HTTPRequest.Method], _ request: TaskRequest) {
        self.init(.noContent, request)
        fields[.allow] = TaskRequest.list(methods)
    }

    /// Makes the response with the page.
    init(pageFor request: TaskRequest) {
        self.init(Self.page, type: "text/html; charset=utf-8", request)
        // This prevents scripts in the titles of tasks, and embedding the page in others.
        fields[.contentSecurityPolicy] =
            "default-src 'none'; connect-src 'self'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
            + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        fields[.xContentTypeOptions] = "nosniff"
    }

    private static let page = Representation(ByteBuffer(bytes: PackageResources.page_html))

    /// Makes a response that doesn't depend on the tasks, or returns nil if the command needs them.
    init?(to command: TaskRequest.Command, _ request: TaskRequest) {
        switch command {
        case .page: self.init(pageFor: request)
        case .methods(let methods): self.init(methods: methods, request)
        default: return nil
        }
    }
}
