// What a connection needs beside its requests and answers: heads that may be taken, and an end when the server stops.

import NIOCore
import NIOHTTP1
import NIOHTTPTypesHTTP1

/// Closes a connection when the server has been stopping for some time, whatever its client does or does not.
final class ConnectionHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = Any

    /// The time for what is being answered when the server is told to stop.
    static let stopTimeLimit = TimeAmount.seconds(10)

    /// Adds the check of heads where they still are as they came.
    func handlerAdded(context: ChannelHandlerContext) {
        let pipeline = context.pipeline.syncOperations
        do {
            let codec = try pipeline.handler(type: HTTP1ToHTTPServerCodec.self)
            try pipeline.addHandler(HostHandler(), position: .before(codec))
        } catch {
            context.close(promise: nil)
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is ChannelShouldQuiesceEvent {
            let channel = context.channel
            context.eventLoop.scheduleTask(in: Self.stopTimeLimit) { channel.close(promise: nil) }
        }
        context.fireUserInboundEventTriggered(event)
    }
}

/// Refuses a request that does not say once whose it is, as text that is no HTTP is refused: with 400 and the end.
// SPEC: RFC 9112 section 3.2.
private final class HostHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart

    private var isRefused = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // What comes behind such a request is for nobody.
        if isRefused { return }
        if case .head(let head) = unwrapInboundIn(data) {
            let count = head.headers["host"].count
            isRefused = count > 1 || count == 0 && head.version == .http1_1
        }
        if isRefused {
            context.fireErrorCaught(HTTPParserError.invalidHeaderToken)
        } else {
            context.fireChannelRead(data)
        }
    }
}
