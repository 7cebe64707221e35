// Checks the heads of requests, and adapts those of responses.

import NIOCore
import NIOHTTP1

/// Rejects a request without exactly one host, like text that isn't HTTP: with 400 and the end of the connection. If a
/// connection has to end after its response, this handler sets the field that the server checks.
// SPEC: RFC 9112 sections 3.2 and 9.3.
final class HeadHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    private var isRefused = false
    /// A Boolean value that indicates whether a response has announced that it is the last one, and one that indicates
    /// whether that response is written.
    private var isEnding = false
    private var isOver = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // Data after such a request is ignored.
        if isRefused { return }
        guard case .head(var head) = unwrapInboundIn(data) else { return context.fireChannelRead(data) }
        if isEnding {
            isRefused = true
            return context.close(promise: nil)
        }
        let count = head.headers["host"].count
        isRefused = count > 1 || count == 0 && head.version == .http1_1
        if isRefused { return context.fireErrorCaught(HTTPParserError.invalidHeaderToken) }
        if !head.isKeepAlive { head.headers.replaceOrAdd(name: "connection", value: "close") }
        context.fireChannelRead(wrapInboundOut(.head(head)))
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if isOver {
            // This response belongs to a request that was received before the last response.
            promise?.fail(ChannelError.ioOnClosedChannel)
            return context.close(promise: nil)
        }
        switch unwrapOutboundIn(data) {
        case .head(let head): isEnding = isEnding || head.headers["connection"].contains("close")
        case .body: break
        case .end: isOver = isEnding
        }
        context.write(data, promise: promise)
    }
}
