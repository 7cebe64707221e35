// Sends the interim response that a client waits for before it sends a body.

import HTTPTypes
import NIOCore
import NIOHTTPTypes
import Tasks

/// Sends 100 (Continue) to a client that expects it, unless its body is too long.
// SPEC: RFC 9110 section 10.1.1.
final class ContinueHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundOut = HTTPResponsePart

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .head(let head) = unwrapInboundIn(data), let expected = head.headerFields[.expect],
            expected.lowercased() == "100-continue", TaskRequest.readsBody(head.method),
            head.headerFields[.contentLength].flatMap({ Int($0) }) ?? 0 <= TaskRequest.bodyByteLimit
        {
            let part = HTTPResponsePart.head(HTTPResponse(status: .continue))
            context.writeAndFlush(wrapOutboundOut(part), promise: nil)
        }
        context.fireChannelRead(data)
    }
}
