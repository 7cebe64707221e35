// Connects Hummingbird with the tasks: reads bodies within their limits, and logs responses.

import Hummingbird
import Logging
import NIOCore
import Tasks

/// The context of a request: the channel, whose time is limited, and the logger.
struct TaskContext: InitializableFromSource {
    let channel: any Channel
    let logger: Logger

    init(source: ApplicationRequestContextSource) { (channel, logger) = (source.channel, source.logger) }
}

/// Responds to requests from a store of tasks.
struct TaskResponder: HTTPResponder {
    let store: TaskStore
    /// A Boolean value that indicates whether only names of this machine are accepted. A request with another name that
    /// resolves to this machine may come from an untrusted page.
    let isLocal: Bool
    /// The time limit for receiving a body, and for discarding one that is too long.
    static let bodyTimeLimit = TimeAmount.seconds(10)

    func respond(to request: Request, context: TaskContext) async throws -> Response {
        let start = ContinuousClock.now
        var received = TaskRequest(head: request.head, isLocal: isLocal)
        if TaskRequest.readsBody(request.method) { received.body = try await body(of: request, context) }
        let response = await store.response(to: received)
        if context.logger.logLevel <= .debug {
            context.logger.debug(
                "answered",
                metadata: [
                    "method": "\(request.method)", "target": "\(request.head.path ?? "")",
                    "status": "\(response.status.code)", "bytes": "\(response.body.readableBytes)",
                    "duration": "\(ContinuousClock.now - start)",
                ])
        }
        let body = response.body.readableBytes > 0 ? ResponseBody(byteBuffer: response.body) : ResponseBody()
        return Response(status: response.status, headers: response.fields, body: body)
    }

    /// Reads the body of a request, or returns nil if it is too long. If the client takes too long, the connection is closed.
    private func body(of request: Request, _ context: TaskContext) async throws -> ByteBuffer? {
        let limit = TaskRequest.bodyByteLimit
        let channel = context.channel
        let end = channel.eventLoop.scheduleTask(in: Self.bodyTimeLimit) { channel.close(promise: nil) }
        if let length = request.headers[.contentLength].flatMap({ Int($0) }), length > limit { return nil }
        do {
            let body = try await request.body.collect(upTo: limit)
            end.cancel()
            return body
        } catch is NIOTooManyBytesError {
            return nil
        }
    }
}
