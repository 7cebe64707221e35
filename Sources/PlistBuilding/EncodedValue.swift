// From Codable to messages: what an `Encodable` encodes is kept as a tree of nodes, which is then sent in order.
// Containers of Codable may be filled in any order and interleaved; messages may not.

import PlistStreaming

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// How an encoder writes what a stream has no type for, as `JSONEncoder` does.
public struct EncodingOptions {
    /// How dates are written.
    public enum Dates {
        /// As dates, for sinks that have them; a JSON writer decides.
        case native
        /// As numbers of seconds since 2001 or since 1970.
        case secondsSince2001, secondsSince1970, millisecondsSince1970
        /// As strings such as `2001-01-01T00:00:00Z`.
        case iso8601
    }

    /// How data are written.
    public enum Bytes {
        /// As data, for sinks that have them.
        case native
        /// As strings in base 64.
        case base64
    }

    /// How coding keys become names in the stream.
    public var keyMapping: KeyMapping
    /// How dates are written.
    public var dates: Dates
    /// How data are written.
    public var bytes: Bytes

    /// Makes options.
    public init(keyMapping: KeyMapping = .exact, dates: Dates = .native, bytes: Bytes = .native) {
        self.keyMapping = keyMapping
        self.dates = dates
        self.bytes = bytes
    }
}

extension PlistSink where Self: ~Copyable {
    /// Sends a value of any `Encodable` type.
    /// - Throws: What the sink throws; an error of the value's own encoding comes as `unrepresentable` with its path.
    public mutating func write(
        encodable value: any Encodable, options: EncodingOptions = EncodingOptions()
    ) throws(StreamError) {
        let node = EncodedNode()
        do {
            try ValueEncoder(node: node, options: options, codingPath: []).encode(value)
        } catch let error as StreamError {
            throw error
        } catch let EncodingError.invalidValue(_, context) {
            throw StreamError(
                .unrepresentable, context.debugDescription, path: StreamPath(codingPath: context.codingPath))
        } catch {
            throw StreamError(.unrepresentable, "\(error)")
        }
        try node.send(to: &self)
    }
}

extension StreamPath {
    /// The path that coding keys spell.
    init(codingPath: [any CodingKey]) {
        self.init(codingPath.map { key in key.intValue.map { .index($0) } ?? .key(key.stringValue) })
    }
}

/// A value that is being encoded.
final class EncodedNode {
    enum Content {
        case nothing
        case scalar(ScalarValue)
        case array([EncodedNode])
        case dictionary(keys: [String], values: [EncodedNode])
    }

    var content = Content.nothing
    /// By key: the index of the value.
    private var indices: [String: Int] = [:]

    func append() -> EncodedNode {
        let node = EncodedNode()
        if case .array(var elements) = content {
            content = .nothing  // Leaves the array with one owner.
            elements.append(node)
            content = .array(elements)
        }
        return node
    }

    /// Makes the value of a key, in the place of an earlier one.
    func insert(_ key: String) -> EncodedNode {
        let node = EncodedNode()
        if case .dictionary(var keys, var values) = content {
            content = .nothing
            if let index = indices[key] {
                values[index] = node
            } else {
                indices[key] = keys.count
                keys.append(key)
                values.append(node)
            }
            content = .dictionary(keys: keys, values: values)
        }
        return node
    }

    var count: Int {
        switch content {
        case .array(let elements): elements.count
        case .dictionary(let keys, _): keys.count
        default: 0
        }
    }

    /// Sends the value; one that encoded nothing is an empty dictionary, as in other encoders.
    func send<Sink: PlistSink & ~Copyable>(to sink: inout Sink) throws(StreamError) {
        switch content {
        case .nothing:
            try sink.beginDictionary()
            try sink.endDictionary()
        case .scalar(let value):
            try PlanWriter(options: WritingOptions()).send(value, to: &sink)
        case .array(let elements):
            try sink.beginArray()
            for element in elements { try element.send(to: &sink) }
            try sink.endArray()
        case .dictionary(let keys, let values):
            try sink.beginDictionary()
            for (key, value) in zip(keys, values) {
                try key.withUTF8Span { (span) throws(StreamError) in try sink.writeKey(span) }
                try value.send(to: &sink)
            }
            try sink.endDictionary()
        }
    }
}
