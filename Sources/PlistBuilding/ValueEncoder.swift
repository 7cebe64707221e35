// The encoder that Codable calls: fills a tree of `EncodedNode`s.

import PlistStreaming

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

struct ValueEncoder: Encoder {
    let node: EncodedNode
    let options: EncodingOptions
    var codingPath: [any CodingKey]
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        if case .dictionary = node.content {} else { node.content = .dictionary(keys: [], values: []) }
        return KeyedEncodingContainer(KeyedContainer<Key>(encoder: self))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        if case .array = node.content {} else { node.content = .array([]) }
        return UnkeyedContainer(encoder: self)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { SingleContainer(encoder: self) }

    /// Encodes a value into the node, those that the stream has types for directly.
    func encode(_ value: any Encodable) throws {
        switch value {
        case let date as Date: node.content = .scalar(scalar(of: date))
        case let data as Data:
            node.content = .scalar(options.bytes == .native ? .data(Array(data)) : .string(data.base64EncodedString()))
        case let url as URL: node.content = .scalar(.string(url.absoluteString))
        case let decimal as Decimal: node.content = .scalar(.number(decimal.description))
        default: try value.encode(to: self)
        }
    }

    private func scalar(of date: Date) -> ScalarValue {
        switch options.dates {
        case .native: .date(date.timeIntervalSinceReferenceDate)
        case .secondsSince2001: .real(date.timeIntervalSinceReferenceDate)
        case .secondsSince1970: .real(date.timeIntervalSince1970)
        case .millisecondsSince1970: .real(date.timeIntervalSince1970 * 1_000)
        case .iso8601: .string(date.formatted(.iso8601))
        }
    }

    static func scalar(of value: some BinaryInteger) -> ScalarValue {
        Int64(exactly: value).map { .integer($0) } ?? UInt64(exactly: value).map { .unsigned($0) }
            ?? .number("\(value)")
    }

    func child(_ node: EncodedNode, _ key: any CodingKey) -> ValueEncoder {
        ValueEncoder(node: node, options: options, codingPath: codingPath + [key])
    }
}

/// A key that is an index.
struct IndexKey: CodingKey {
    let intValue: Int?
    var stringValue: String { "\(intValue ?? 0)" }

    init(_ index: Int) { intValue = index }
    init?(intValue: Int) { self.intValue = intValue }
    init?(stringValue: String) { return nil }
}

/// The key that `super` is encoded under.
private struct SuperKey: CodingKey {
    var stringValue: String { "super" }
    var intValue: Int? { nil }

    init() {}
    init?(intValue: Int) { return nil }
    init?(stringValue: String) { return nil }
}

private struct KeyedContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let encoder: ValueEncoder
    var codingPath: [any CodingKey] { encoder.codingPath }

    private func insert(_ key: any CodingKey) -> EncodedNode {
        encoder.node.insert(encoder.options.keyMapping.name(for: key.stringValue))
    }

    private func set(_ scalar: ScalarValue, _ key: Key) { insert(key).content = .scalar(scalar) }

    func encodeNil(forKey key: Key) { set(.null, key) }
    func encode(_ value: Bool, forKey key: Key) { set(.bool(value), key) }
    func encode(_ value: String, forKey key: Key) { set(.string(value), key) }
    func encode(_ value: Double, forKey key: Key) { set(.real(value), key) }
    func encode(_ value: Float, forKey key: Key) { set(.real(Double(value)), key) }
    func encode(_ value: Int, forKey key: Key) { set(ValueEncoder.scalar(of: value), key) }
    func encode(_ value: Int8, forKey key: Key) { set(ValueEncoder.scalar(of: value), key) }
    func encode(_ value: Int16, forKey key: Key) { set(ValueEncoder.scalar(of: value), key) }
    func encode(_ value: Int32, forKey key: Key) { set(ValueEncoder.scalar(of: value), key) }
    func encode(_ value: Int64, forKey key: Key) { set(ValueEncoder.scalar(of: value), key) }
    func encode(_ value: UInt, forKey key: Key) { set(ValueEncoder.scalar(of: value), key) }
    func encode(_ value: UInt8, forKey key: Key) { set(ValueEncoder.scalar(of: value), key) }
    func encode(_ value: UInt16, forKey key: Key) { set(ValueEncoder.scalar(of: value), key) }
    func encode(_ value: UInt32, forKey key: Key) { set(ValueEncoder.scalar(of: value), key) }
    func encode(_ value: UInt64, forKey key: Key) { set(ValueEncoder.scalar(of: value), key) }
    func encode(_ value: some Encodable, forKey key: Key) throws {
        try encoder.child(insert(key), key).encode(value)
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy keyType: NestedKey.Type, forKey key: Key
    ) -> KeyedEncodingContainer<NestedKey> {
        encoder.child(insert(key), key).container(keyedBy: keyType)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        encoder.child(insert(key), key).unkeyedContainer()
    }

    func superEncoder() -> any Encoder { encoder.child(insert(SuperKey()), SuperKey()) }
    func superEncoder(forKey key: Key) -> any Encoder { encoder.child(insert(key), key) }
}

private struct UnkeyedContainer: UnkeyedEncodingContainer {
    let encoder: ValueEncoder
    var codingPath: [any CodingKey] { encoder.codingPath }
    var count: Int { encoder.node.count }

    private func append(_ scalar: ScalarValue) { encoder.node.append().content = .scalar(scalar) }

    private func next() -> ValueEncoder {
        let index = count
        return encoder.child(encoder.node.append(), IndexKey(index))
    }

    func encodeNil() { append(.null) }
    func encode(_ value: Bool) { append(.bool(value)) }
    func encode(_ value: String) { append(.string(value)) }
    func encode(_ value: Double) { append(.real(value)) }
    func encode(_ value: Float) { append(.real(Double(value))) }
    func encode(_ value: Int) { append(ValueEncoder.scalar(of: value)) }
    func encode(_ value: Int8) { append(ValueEncoder.scalar(of: value)) }
    func encode(_ value: Int16) { append(ValueEncoder.scalar(of: value)) }
    func encode(_ value: Int32) { append(ValueEncoder.scalar(of: value)) }
    func encode(_ value: Int64) { append(ValueEncoder.scalar(of: value)) }
    func encode(_ value: UInt) { append(ValueEncoder.scalar(of: value)) }
    func encode(_ value: UInt8) { append(ValueEncoder.scalar(of: value)) }
    func encode(_ value: UInt16) { append(ValueEncoder.scalar(of: value)) }
    func encode(_ value: UInt32) { append(ValueEncoder.scalar(of: value)) }
    func encode(_ value: UInt64) { append(ValueEncoder.scalar(of: value)) }
    func encode(_ value: some Encodable) throws { try next().encode(value) }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy keyType: NestedKey.Type
    ) -> KeyedEncodingContainer<NestedKey> {
        next().container(keyedBy: keyType)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { next().unkeyedContainer() }
    func superEncoder() -> any Encoder { next() }
}

private struct SingleContainer: SingleValueEncodingContainer {
    let encoder: ValueEncoder
    var codingPath: [any CodingKey] { encoder.codingPath }

    private func set(_ scalar: ScalarValue) { encoder.node.content = .scalar(scalar) }

    func encodeNil() { set(.null) }
    func encode(_ value: Bool) { set(.bool(value)) }
    func encode(_ value: String) { set(.string(value)) }
    func encode(_ value: Double) { set(.real(value)) }
    func encode(_ value: Float) { set(.real(Double(value))) }
    func encode(_ value: Int) { set(ValueEncoder.scalar(of: value)) }
    func encode(_ value: Int8) { set(ValueEncoder.scalar(of: value)) }
    func encode(_ value: Int16) { set(ValueEncoder.scalar(of: value)) }
    func encode(_ value: Int32) { set(ValueEncoder.scalar(of: value)) }
    func encode(_ value: Int64) { set(ValueEncoder.scalar(of: value)) }
    func encode(_ value: UInt) { set(ValueEncoder.scalar(of: value)) }
    func encode(_ value: UInt8) { set(ValueEncoder.scalar(of: value)) }
    func encode(_ value: UInt16) { set(ValueEncoder.scalar(of: value)) }
    func encode(_ value: UInt32) { set(ValueEncoder.scalar(of: value)) }
    func encode(_ value: UInt64) { set(ValueEncoder.scalar(of: value)) }
    func encode(_ value: some Encodable) throws { try encoder.encode(value) }
}
