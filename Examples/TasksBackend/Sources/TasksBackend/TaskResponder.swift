// Between Hummingbird and the tasks: reads bodies within their limits, and says in the log what was answered.

import Hummingbird
import Logging
import NIOCore
import Tasks

/// What a request is answered with: the channel, whose time is limited, and the log.
struct TaskContext: InitializableFromSource {
    let channel: any Channel
    let logger: Logger

    init(source: ApplicationRequestContextSource) { (channel, logger) = (source.channel, source.logger) }
}

/// Answers requests from a store of tasks.
struct TaskResponder: HTTPResponder {
    let store: TaskStore
    /// A Boolean value that indicates whether only names of this machine are served: what resolves to it by another name may be
    /// a page of somebody else.
    let isLocal: Bool
    /// The time for a body to come, and for what is too long to be thrown away.
    static let bodyTimeLimit = TimeAmount.seconds(10)

    func respond(to request: Request, context: TaskContext) async throws -> Response {
        let start = ContinuousClock.now
        var received = TaskRequest(head: request.head, isLocal: isLocal)
        if TaskRequest.readsBody(request.method) { received.body = try await body(of: request, context) }
        let answer = await store.answer(to: received)
        if context.logger.logLevel <= .debug {
            context.logger.debug(
                "answered",
                metadata: [
                    "method": "\(request.method)", "target": "\(request.head.path ?? "")",
                    "status": "\(answer.status.code)", "bytes": "\(answer.body.readableBytes)",
                    "duration": "\(ContinuousClock.now - start)",
                ])
        }
        let body = answer.body.readableBytes > 0 ? ResponseBody(byteBuffer: answer.body) : ResponseBody()
        return Response(status: answer.status, headers: answer.fields, body: body)
    }

    /// The body of a request; nil when it is too long. A client that takes too much time for it is left.
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
