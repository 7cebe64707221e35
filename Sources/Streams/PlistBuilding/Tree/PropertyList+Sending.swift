// Sends a tree to any sink, without recursion.

import PlistStreaming

extension PropertyList {
    // PERF: PropertyList/send; inlinable only in its outermost layer, so that it is specialised for the sink.
    /// Sends the value to a sink, message by message.
    /// - Throws: The first error of the sink.
    public func send<Sink: PlistSink & ~Copyable>(to sink: inout Sink) throws(StreamError) {
        do throws(StreamError) { try sendMessages(to: &sink) } catch {
            sink.cancel(with: error)
            throw error
        }
    }

    private func sendMessages<Sink: PlistSink & ~Copyable>(to sink: inout Sink) throws(StreamError) {
        var open: [(children: Range<Int>, isDictionary: Bool)] = []
        try send(node, to: &sink, &open)
        while let (remaining, isDictionary) = open.popLast() {
            var children = remaining
            if let index = children.popFirst() {
                open.append((children, isDictionary))
                let child = storage.node(index)
                if isDictionary { try sendKey(child.key, to: &sink) }
                try send(child, to: &sink, &open)
            } else if isDictionary {
                try sink.endDictionary()
            } else {
                try sink.endArray()
            }
        }
    }

    private func sendKey<Sink: PlistSink & ~Copyable>(_ key: UInt32, to sink: inout Sink) throws(StreamError) {
        var thrown: StreamError?
        storage.keys.withUTF8(at: Int(key)) { span in
            do throws(StreamError) { try sink.writeKey(span) } catch { thrown = error }
        }
        if let thrown { throw thrown }
    }

    private func send<Sink: PlistSink & ~Copyable>(
        _ node: PropertyListNode, to sink: inout Sink, _ open: inout [(children: Range<Int>, isDictionary: Bool)]
    ) throws(StreamError) {
        // SAFETY: the bytes are used only within the call.
        try unsafe sink.send(node.tag, node.payload) { body in unsafe storage.withBytes(of: node, body) }
        if node.isContainer { open.append((node.children, node.tag == .dictionary)) }
    }
}
