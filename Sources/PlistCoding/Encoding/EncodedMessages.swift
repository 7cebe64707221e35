// Sending what an `Encodable` encoded: a walk over the linked nodes, without recursion.

public import PlistStreaming

/// The nodes of a value and their text, while nothing changes them.
///
/// PERF: JSONRecords/writing; inlinable throughout, so that the walk is specialised for the sink.
@safe @usableFromInline
struct EncodedMessages {
    // SAFETY: the memory is that of an `EncodedTree`, which its user keeps alive and does not change meanwhile. Every
    // index is checked, and every range by slicing.
    @usableFromInline let nodes: UnsafeBufferPointer<EncodedNode>
    @usableFromInline let text: UnsafeRawBufferPointer
    @usableFromInline let names: UnsafeRawBufferPointer
    /// By number of a name: where it ends.
    @usableFromInline let nameEnds: UnsafeBufferPointer<Int>

    @unsafe
    init(
        nodes: UnsafeBufferPointer<EncodedNode>, text: UnsafeRawBufferPointer, names: UnsafeRawBufferPointer,
        nameEnds: UnsafeBufferPointer<Int>
    ) {
        unsafe self.nodes = nodes
        unsafe self.text = text
        unsafe self.names = names
        unsafe self.nameEnds = nameEnds
    }

    @inlinable
    func node(_ index: UInt32) -> EncodedNode {
        unsafe precondition(Int(index) < nodes.count, "no such node")
        return unsafe nodes[Int(index)]
    }

    /// Sends the value; one that encoded nothing is an empty dictionary, as in other encoders.
    @inlinable
    func send<Sink: PlistSink & ~Copyable>(to sink: inout Sink) throws(StreamError) {
        var node = node(0)
        var isRoot = true
        while true {
            if node.key != 0 { try unsafe sink.writeKey(name(node.key).bytes) }
            let isArray = node.value.tag == .array
            if isArray || node.value.tag == .dictionary {
                if isArray { try sink.beginArray() } else { try sink.beginDictionary() }
                let first = UInt32(truncatingIfNeeded: node.value.payload >> 32)
                if first != 0 {
                    (node, isRoot) = (self.node(first), false)
                    continue
                }
                if isArray { try sink.endArray() } else { try sink.endDictionary() }
            } else {
                try sendScalar(node.value, to: &sink)
            }
            while !isRoot, node.next == 0 {
                isRoot = node.parent == 0
                node = self.node(node.parent)
                if node.value.tag == .array { try sink.endArray() } else { try sink.endDictionary() }
            }
            if isRoot { return }
            node = self.node(node.next)
        }
    }

    @inlinable
    func name(_ number: UInt32) -> UnsafeRawBufferPointer {
        let number = Int(number)
        unsafe precondition(number > 0 && number < nameEnds.count, "no such name")
        let range = unsafe nameEnds[number - 1]..<nameEnds[number]
        return unsafe UnsafeRawBufferPointer(rebasing: names[range])
    }

    @inlinable
    func sendScalar<Sink: PlistSink & ~Copyable>(_ value: EncodedScalar, to sink: inout Sink) throws(StreamError) {
        switch value.tag {
        case .null: try sink.writeNull()
        case .no: try sink.writeBool(false)
        case .yes: try sink.writeBool(true)
        case .integer: try sink.writeInteger(Int64(bitPattern: value.payload))
        case .unsigned: try sink.writeUnsigned(value.payload)
        case .real: try sink.writeReal(Double(bitPattern: value.payload))
        case .date: try sink.writeDate(secondsSince2001: Double(bitPattern: value.payload))
        case .string: try withText(of: value) { (text) throws(StreamError) in try sink.writeString(text) }
        case .number: try withText(of: value) { (text) throws(StreamError) in try sink.writeNumber(text: text) }
        case .data: try withText(of: value) { (text) throws(StreamError) in try sink.writeData(text) }
        case .nothing, .array, .dictionary:
            try sink.beginDictionary()
            try sink.endDictionary()
        }
    }

    @inlinable
    func withText(of value: EncodedScalar, _ body: (RawSpan) throws(StreamError) -> Void) throws(StreamError) {
        if value.length > 8 {
            let start = Int(value.payload) + 8
            let length = unsafe Int(text.loadUnaligned(fromByteOffset: start - 8, as: UInt64.self))
            return try body(unsafe UnsafeRawBufferPointer(rebasing: text[start..<start + length]).bytes)
        }
        var thrown: StreamError?
        // SAFETY: the bytes are those of a local value; slicing checks the length.
        unsafe withUnsafeBytes(of: value.payload) { bytes in
            do throws(StreamError) {
                try body(unsafe UnsafeRawBufferPointer(rebasing: bytes[..<Int(value.length)]).bytes)
            } catch {
                thrown = error
            }
        }
        if let thrown { throw thrown }
    }
}
