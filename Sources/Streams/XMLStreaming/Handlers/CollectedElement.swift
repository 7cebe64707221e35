// The element that a handler gets when the element closes: its attributes, its text, and the values made by the handlers of
// elements within it.

public import PlistStreaming

/// A closed element: its attributes, its text, and the values that handlers made from elements within it.
public struct CollectedElement {
    private struct Attribute {
        let name: Range<Int>
        let prefixCount: Int
        let namespace: Range<Int>
        let value: Range<Int>
    }

    /// The bytes of names, namespaces and values, one after the other.
    private var bytes: [UInt8] = []
    private var attributes: [Attribute] = []
    private var textBytes: [UInt8] = []
    private(set) var values: [(name: String, value: Any)] = []
    private var nameRange = 0..<0
    private var prefixCount = 0

    init() {}

    // MARK: Filling

    mutating func begin(_ tag: borrowing XMLStartTag) {
        bytes.removeAll(keepingCapacity: true)
        attributes.removeAll(keepingCapacity: true)
        textBytes.removeAll(keepingCapacity: true)
        values.removeAll(keepingCapacity: true)
        nameRange = keep(tag.name.qualified)
        prefixCount = tag.name.prefix.byteCount
        for index in 0..<tag.attributes.count {
            let attribute = tag.attributes[index]
            attributes.append(
                Attribute(
                    name: keep(attribute.name.qualified), prefixCount: attribute.name.prefix.byteCount,
                    namespace: keep(attribute.name.namespace), value: keep(attribute.value)))
        }
    }

    private mutating func keep(_ span: RawSpan) -> Range<Int> {
        let start = bytes.count
        // SAFETY: the bytes are copied within the closure.
        unsafe span.withUnsafeBytes { unsafe bytes.append(contentsOf: $0) }
        return start..<bytes.count
    }

    mutating func append(text: RawSpan) {
        // SAFETY: the bytes are copied within the closure.
        unsafe text.withUnsafeBytes { unsafe textBytes.append(contentsOf: $0) }
    }

    mutating func append(_ name: String, _ value: Any) { values.append((name, value)) }

    /// The approximate number of bytes in the element.
    var byteCount: Int { bytes.count + textBytes.count }

    // MARK: Reading

    private func string(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }

    /// The qualified name.
    public var name: String { string(nameRange) }

    /// The name without its prefix.
    public var localName: String {
        string(prefixCount == 0 ? nameRange : (nameRange.lowerBound + prefixCount + 1)..<nameRange.upperBound)
    }

    /// The text directly in the element, without the text of elements within it. CDATA sections and references are replaced
    /// by their text.
    public var text: String { String(decoding: textBytes, as: UTF8.self) }

    /// Returns the value of the attribute with a qualified name, or nil if the element doesn't have the attribute.
    ///
    /// - Complexity: O(*n*) in the attributes.
    public func attribute(_ name: String) -> String? {
        attributes.first { bytes[$0.name].elementsEqual(name.utf8) }.map { string($0.value) }
    }

    /// Returns the value of the attribute with a local name and namespace, or nil if the element doesn't have the attribute.
    ///
    /// - Complexity: O(*n*) in the attributes.
    public func attribute(_ local: String, in namespace: String) -> String? {
        let found = attributes.first { attribute in
            bytes[attribute.namespace].elementsEqual(namespace.utf8)
                && bytes[attribute.name].dropFirst(attribute.prefixCount == 0 ? 0 : attribute.prefixCount + 1)
                    .elementsEqual(local.utf8)
        }
        return found.map { string($0.value) }
    }

    /// The qualified names and the values of all attributes, in their order.
    public var allAttributes: [(name: String, value: String)] {
        attributes.map { (string($0.name), string($0.value)) }
    }

    /// Returns the value that a handler made from the first element with a qualified name within this one, or nil if no such
    /// value was made.
    ///
    /// - Throws: ``/PlistStreaming/StreamError/Kind/typeMismatch`` for a value of another type.
    /// - Complexity: O(*n*) in the values.
    public func value<Value>(_ name: String, as type: Value.Type = Value.self) throws(StreamError) -> Value? {
        for value in values where value.name.utf8.elementsEqual(name.utf8) {
            return try Self.cast(value.value, name)
        }
        return nil
    }

    /// Returns the values that handlers made from all elements with a qualified name within this one, in their order.
    ///
    /// - Throws: ``/PlistStreaming/StreamError/Kind/typeMismatch`` for a value of another type.
    /// - Complexity: O(*n*) in the values.
    public func values<Value>(_ name: String, as type: Value.Type = Value.self) throws(StreamError) -> [Value] {
        var found: [Value] = []
        for value in values where value.name.utf8.elementsEqual(name.utf8) {
            found.append(try Self.cast(value.value, name))
        }
        return found
    }

    private static func cast<Value>(_ value: Any, _ name: String) throws(StreamError) -> Value {
        guard let value = value as? Value else {
            throw StreamError(
                .typeMismatch, "expected a value of type \(Value.self) of \(name), found one of type \(type(of: value))"
            )
        }
        return value
    }
}
