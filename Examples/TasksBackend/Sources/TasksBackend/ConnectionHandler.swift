// What a connection needs beside its requests and answers: an end when the server stops, or when its client takes nothing.

import NIOCore
import NIOHTTPTypesHTTP1

/// Closes a connection when the server has been stopping for some time, whatever its client does or does not, and when a client
/// that is being answered has taken nothing for some time.
final class ConnectionHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = Any

    /// The time for what is being answered when the server is told to stop.
    static let stopTimeLimit = TimeAmount.seconds(10)
    /// The time in which a client that is being answered takes something.
    ///
    /// The system tells of it when a third of its own buffer is free, which can be more than a megabyte: a shorter time would
    /// end clients that are slow.
    static let takeTimeLimit = TimeAmount.seconds(20)

    private var isWaiting = false
    /// A Boolean value that indicates whether the channel was writable since the wait began: more may have been written again
    /// since then.
    private var hasTaken = false

    /// Adds the check of heads where they still are as they came.
    func handlerAdded(context: ChannelHandlerContext) {
        let pipeline = context.pipeline.syncOperations
        do {
            let codec = try pipeline.handler(type: HTTP1ToHTTPServerCodec.self)
            try pipeline.addHandler(HeadHandler(), position: .before(codec))
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

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable {
            hasTaken = true
        } else if !isWaiting {
            wait(context.channel)
        }
        context.fireChannelWritabilityChanged()
    }

    /// Waits until the channel is writable, and closes it when nothing of its bytes has gone meanwhile.
    private func wait(_ channel: any Channel) {
        isWaiting = true
        hasTaken = false
        let before = Self.waitingByteCount(channel)
        channel.eventLoop.assumeIsolated().scheduleTask(in: Self.takeTimeLimit) {
            self.isWaiting = false
            if channel.isWritable || !channel.isActive { return }
            if self.hasTaken || Self.waitingByteCount(channel) < before { return self.wait(channel) }
            channel.close(promise: nil)
        }
    }

    private static func waitingByteCount(_ channel: any Channel) -> Int {
        (try? channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0
    }
}
