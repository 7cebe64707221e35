// Decodes values from an element of a tree. The element is sent to a sink as a reader would send it.

public import PlistBuilding
public import PlistCoding
public import PlistStreaming

extension XMLTreeNode {
    /// Decodes a value of a bound type from the current state of an element.
    ///
    /// - Parameters:
    ///   - type: The type of the value.
    ///   - format: The options for turning elements into values.
    ///   - options: The options for unknown and missing members, null and names.
    /// - Throws: `misuse` for a node that isn't an element; the error of a value that doesn't fit, with its path in the
    ///   element.
    /// - Complexity: O(*n*) in the content of the element.
    public func decode<Value: StreamValue>(
        _ type: Value.Type = Value.self, as format: XML = XML(), options: BuilderOptions = BuilderOptions()
    ) throws(StreamError) -> Value {
        try ElementFormat(node: self, objects: format.objects).decode(type, from: [UInt8](), options: options)
    }

    /// Decodes a value of a `Decodable` type from the current state of an element.
    ///
    /// - Parameters:
    ///   - type: The type of the value.
    ///   - format: The options for turning elements into values.
    ///   - options: The options for decoding values.
    /// - Throws: `misuse` for a node that isn't an element; `DecodingError` and errors of the type for values that don't fit.
    /// - Complexity: O(*n*) in the content of the element.
    @_disfavoredOverload
    public func decode<Value: Decodable>(
        _ type: Value.Type = Value.self, as format: XML = XML(), options: DecodingOptions = DecodingOptions()
    ) throws -> Value {
        try ElementFormat(node: self, objects: format.objects).decode(type, from: [UInt8](), options: options)
    }
}

/// A format whose only document is an element.
// SAFETY: only the caller's thread uses the tree, and only during the call.
private struct ElementFormat: StreamFormat, @unchecked Sendable {
    let node: XMLTreeNode
    let objects: XMLObjectOptions

    var valueTypes: ValueTypes { .elements }

    func read<Sink: PlistSink & ~Copyable>(_ source: some ByteSource, into sink: inout Sink) throws(StreamError) {
        guard node.kind == .element else { throw StreamError(.misuse, "expected an element to decode") }
        try sink.receive(objects) { (messages) throws(StreamError) in try node.tree.send(node.index, to: &messages) }
    }

    func write(_ content: some StreamContent, to output: inout some ByteSink) throws(StreamError) {
        throw StreamError(.misuse, "an element of a tree can't be written to")
    }
}
