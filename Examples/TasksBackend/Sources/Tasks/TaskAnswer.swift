// What is answered to a request: a status, fields and a body, told from what came of its command.

import HTTPTypes
import NIOCore

/// The answer to a request.
public struct TaskAnswer: Sendable {
    /// The status.
    public var status: HTTPResponse.Status
    /// The fields, `Content-Length` among them where there is a length.
    public var fields: HTTPFields
    /// The body; empty for HEAD.
    public var body: ByteBuffer

    private static let json = "application/json"

    private init(
        _ status: HTTPResponse.Status, _ request: TaskRequest, type: String? = nil, _ body: ByteBuffer? = nil
    ) {
        self.status = status
        fields = HTTPFields()
        self.body = ByteBuffer()
        // As the server's end of the connection makes it of all ways to say so.
        if request.head.headerFields[.connection] == "close" { fields[.connection] = "close" }
        guard let body else { return }
        // Appended, since to set one is to look for it first.
        fields.append(HTTPField(name: .contentType, value: type ?? Self.json))
        fields.append(HTTPField(name: .contentLength, value: String(body.readableBytes)))
        if request.head.method != .head { self.body = body }
    }

    /// Makes the answer to a request that is refused.
    init(_ refusal: Refusal, _ request: TaskRequest) {
        self.init(refusal.status, request, (try? Representation(of: refusal.body))?.bytes)
        if let allowed = refusal.allowed { fields[.allow] = allowed }
        if refusal.status == .contentTooLarge { fields[.connection] = "close" }
    }

    /// Makes the answer to a request that the server cannot serve; one that waited in vain for a lock may come again.
    init(failureOf request: TaskRequest, isBusy: Bool) {
        if isBusy {
            self.init(Refusal(.serviceUnavailable, "another program has the tasks, and nothing was changed"), request)
            fields[.retryAfter] = "1"
            return
        }
        self.init(Refusal(.internalServerError, "the request could not be served, and has changed nothing"), request)
    }

    /// Makes the answer of what came of a command.
    init(_ outcome: TaskOutcome, _ request: TaskRequest) {
        switch outcome {
        case .list(let text), .task(_, let text):
            self.init(text, request)
        case .created(let task, let text):
            self.init(.created, request, text.bytes)
            fields[.location] = "/tasks/\(task.id ?? 0)"
            fields[.eTag] = text.entityTag
        case .deleted: self.init(.noContent, request)
        case .missing: self.init(Refusal(.notFound, "there is no such task"), request)
        case .failedCondition: self.init(Self.failedCondition, request)
        }
    }

    private static let failedCondition = Refusal(.preconditionFailed, "what is here is not what the condition expects")

    /// Makes the answer with a text. What was changed fulfilled the conditions as it was before.
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

    /// Makes the answer that says which methods there are.
    init(methods: [HTTPRequest.Method], _ request: TaskRequest) {
        self.init(.noContent, request)
        fields[.allow] = TaskRequest.list(methods)
    }

    /// Makes the answer with the page.
    init(pageFor request: TaskRequest) {
        self.init(Self.page, type: "text/html; charset=utf-8", request)
        // What a task is called can be no script, and nobody else's page shows this one.
        fields[.contentSecurityPolicy] =
            "default-src 'none'; connect-src 'self'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
            + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        fields[.xContentTypeOptions] = "nosniff"
    }

    private static let page = Representation(ByteBuffer(bytes: PackageResources.page_html))

    /// Makes the answer that is told from the request alone; nil when it wants something of the tasks.
    init?(to command: TaskRequest.Command, _ request: TaskRequest) {
        switch command {
        case .page: self.init(pageFor: request)
        case .methods(let methods): self.init(methods: methods, request)
        default: return nil
        }
    }
}
