// Sending a tree to any sink, without recursion.

import PlistStreaming

extension PropertyList {
    // PERF: PropertyList/send; inlinable only in its outermost layer, so that it is specialised for the sink.
    /// Sends the value to a sink, message by message.
    /// - Throws: What the sink throws.
    public func send<Sink: PlistSink & ~Copyable>(to sink: inout Sink) throws(StreamError) {
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
        switch node.tag {
        case .null: try sink.writeNull()
        case .no: try sink.writeBool(false)
        case .yes: try sink.writeBool(true)
        case .integer: try sink.writeInteger(Int64(bitPattern: node.payload))
        case .unsigned: try sink.writeUnsigned(node.payload)
        case .real: try sink.writeReal(Double(bitPattern: node.payload))
        case .date: try sink.writeDate(secondsSince2001: Double(bitPattern: node.payload))
        case .number, .string, .data:
            var thrown: StreamError?
            unsafe storage.withBytes(of: node) { bytes in
                do throws(StreamError) {
                    switch node.tag {
                    case .number: try unsafe sink.writeNumber(text: bytes.bytes)
                    case .string: try unsafe sink.writeString(bytes.bytes)
                    default: try unsafe sink.writeData(bytes.bytes)
                    }
                } catch {
                    thrown = error
                }
            }
            if let thrown { throw thrown }
        case .array:
            try sink.beginArray()
            open.append((node.children, false))
        case .dictionary:
            try sink.beginDictionary()
            open.append((node.children, true))
        }
    }
}
