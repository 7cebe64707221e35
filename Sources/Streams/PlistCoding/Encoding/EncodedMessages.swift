// Sends an encoded value: a walk over the linked nodes, without recursion.

public import PlistBuilding
public import PlistStreaming

/// The nodes of a value and their text, which must not change during use.
///
/// PERF: JSONRecords/writing; inlinable throughout, so that the walk is specialized for the sink.
@safe @usableFromInline
struct EncodedMessages {
    // SAFETY: the memory belongs to an `EncodedTree`, which its user keeps alive and unchanged during use. Every index
    // is checked, and every range by slicing.
    @usableFromInline let nodes: UnsafeBufferPointer<EncodedNode>
    @usableFromInline let text: UnsafeRawBufferPointer
    @usableFromInline let names: UnsafeRawBufferPointer
    /// The position of each name, by number minus 1.
    @usableFromInline let entries: UnsafeBufferPointer<TapeKeys.Entry>

    @unsafe
    init(
        nodes: UnsafeBufferPointer<EncodedNode>, text: UnsafeRawBufferPointer,
        keys: (entries: UnsafeBufferPointer<TapeKeys.Entry>, text: UnsafeRawBufferPointer)
    ) {
        unsafe self.nodes = nodes
        unsafe self.text = text
        unsafe (entries, names) = keys
    }

    @inlinable
    func node(_ index: UInt32) -> EncodedNode {
        unsafe precondition(Int(index) < nodes.count, "no such node")
        return unsafe nodes[Int(index)]
    }

    /// Sends the value.
    @inlinable
    func send<Sink: PlistSink & ~Copyable>(to sink: inout Sink) throws(StreamError) {
        var node = node(0)
        var isRoot = true
        while true {
            if node.key != 0 { try unsafe sink.writeKey(name(node.key).bytes) }
            try unsafe sink.send(node.value.tag, node.value.payload) { body in unsafe withText(of: node.value, body) }
            if node.isContainer {
                let first = UInt32(truncatingIfNeeded: node.value.payload >> 32)
                if first != 0 {
                    (node, isRoot) = (self.node(first), false)
                    continue
                }
                try end(node, of: &sink)
            }
            while !isRoot, node.next == 0 {
                isRoot = node.parent == 0
                node = self.node(node.parent)
                try end(node, of: &sink)
            }
            if isRoot { return }
            node = self.node(node.next)
        }
    }

    @inlinable
    func name(_ number: UInt32) -> UnsafeRawBufferPointer {
        unsafe precondition(number > 0 && number <= entries.count, "no such name")
        let entry = unsafe entries[Int(number) - 1]
        let start = Int(entry.start)
        return unsafe UnsafeRawBufferPointer(rebasing: names[start..<start + entry.words.length])
    }

    @inlinable
    func end<Sink: PlistSink & ~Copyable>(_ container: EncodedNode, of sink: inout Sink) throws(StreamError) {
        if container.value.tag == .array { try sink.endArray() } else { try sink.endDictionary() }
    }

    @unsafe @inlinable
    func withText(of value: EncodedScalar, _ body: (UnsafeRawBufferPointer) -> Void) {
        if value.length > 8 {
            let start = Int(value.payload) + 8
            let length = unsafe Int(text.loadUnaligned(fromByteOffset: start - 8, as: UInt64.self))
            return unsafe body(UnsafeRawBufferPointer(rebasing: text[start..<start + length]))
        }
        // SAFETY: the bytes are those of a local value; slicing checks the length.
        unsafe withUnsafeBytes(of: value.payload) {
            unsafe body(UnsafeRawBufferPointer(rebasing: $0[..<Int(value.length)]))
        }
    }
}
