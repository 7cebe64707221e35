// Closes connections after a time limit: when the server stops, or when a client stops reading.

import NIOCore
import NIOHTTPTypesHTTP1

/// Closes a connection some time after the server began to stop, regardless of its client, and if a client hasn't read any of
/// its response for some time.
final class ConnectionHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = Any

    /// The time to complete responses after the server began to stop.
    static let stopTimeLimit = TimeAmount.seconds(10)
    /// The time limit for a client to read a part of its response.
    ///
    /// The system reports this when a third of its own buffer is free, which can be more than a megabyte. So a shorter limit
    /// would disconnect slow clients.
    static let takeTimeLimit = TimeAmount.seconds(20)

    private var isWaiting = false
    /// A Boolean value that indicates whether the channel was writable since the wait began. Meanwhile, more may have been
    /// written.
    private var hasTaken = false

    /// Adds the check of heads at a place in the pipeline where they are still unchanged.
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

    /// Waits until the channel is writable, and closes it if none of its bytes were sent meanwhile.
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
