// Heads as they come and go, of requests and answers.

import NIOCore
import NIOHTTP1

/// Refuses a request that does not say once whose it is, as text that is no HTTP is refused: with 400 and the end. Says of a
/// connection that has to end after its answer that it does, in the one way that the server looks for.
// SPEC: RFC 9112 sections 3.2 and 9.3.
final class HeadHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    private var isRefused = false
    /// A Boolean value that indicates whether an answer has told the client that there will be no other one, and whether that
    /// is written.
    private var isEnding = false
    private var isOver = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // What comes behind such a request is for nobody.
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
            // It answers what was on its way before the last answer was.
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
