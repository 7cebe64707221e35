// The decoder that Codable calls: reads from a `PropertyList`. Errors are those of Codable, with its coding paths.

import StringTables

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Decodes values of `Decodable` types from property lists, whatever format these came from.
///
/// ```swift
/// let task = try PropertyListValueDecoder().decode(Task.self, from: list)
/// ```
public struct PropertyListValueDecoder {
    /// The strategies.
    public var options: DecodingOptions

    /// Makes a decoder.
    public init(options: DecodingOptions = DecodingOptions()) { self.options = options }

    /// Decodes a value.
    /// - Throws: `DecodingError`, or what the type throws.
    public func decode<Value: Decodable>(_ type: Value.Type, from list: PropertyList) throws -> Value {
        let context = DecodingContext(options: options, storage: list.storage)
        return try ValueDecoder(node: list.node, path: DecodingPath(context)).decode(type)
    }
}

/// What all decoders of one value share.
final class DecodingContext {
    let options: DecodingOptions
    let storage: PropertyListStorage
    private let keys: KeySet
    private let isMapped: Bool
    /// By coding key: the number of the key in the storage, -1 for one that is not there.
    private var keyNumbers: [String: Int] = [:]

    init(options: DecodingOptions, storage: PropertyListStorage) {
        self.options = options
        self.storage = storage
        keys = storage.keys
        if case .convertFromSnakeCase = options.keys { isMapped = true } else { isMapped = false }
        guard isMapped else { return }
        for number in 0..<storage.keys.count {
            let name = DecodingOptions.camelCased(storage.keys[number])
            // Of two names that become one, the first is found.
            if keyNumbers[name] == nil { keyNumbers[name] = number }
        }
    }

    /// Returns the number of a coding key in the storage.
    func number(of key: String) -> Int? {
        isMapped ? keyNumbers[key] : keys.index(of: key)
    }

    func name(of number: Int) -> String {
        if case .convertFromSnakeCase = options.keys { return DecodingOptions.camelCased(storage.keys[number]) }
        return storage.keys[number]
    }
}

/// The way to a value, kept as a list from the inside out, which costs one object a level.
final class DecodingPath {
    let context: DecodingContext
    /// The last step, nil at the root.
    private let key: (any CodingKey)?
    private let outer: DecodingPath?

    /// Makes the path of the root.
    init(_ context: DecodingContext) {
        self.context = context
        key = nil
        outer = nil
    }

    init(_ key: any CodingKey, in outer: DecodingPath) {
        self.key = key
        self.outer = outer
        context = outer.context
    }

    var keys: [any CodingKey] {
        var keys: [any CodingKey] = []
        var path = self
        while let key = path.key, let outer = path.outer {
            keys.append(key)
            path = outer
        }
        return keys.reversed()
    }
}

// PERF: JSONRecords/foundation; three words, which fit into an existential without memory of their own.
struct ValueDecoder: Decoder, SingleValueDecodingContainer {
    let node: PropertyListNode
    let path: DecodingPath

    var context: DecodingContext { path.context }
    var codingPath: [any CodingKey] { path.keys }
    var userInfo: [CodingUserInfoKey: Any] { context.options.userInfo }
    var list: PropertyList { PropertyList(context.storage, node) }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard node.tag == .dictionary else { throw mismatch([String: Any].self, "a dictionary") }
        return KeyedDecodingContainer(KeyedContainer<Key>(decoder: self))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard node.tag == .array else { throw mismatch([Any].self, "an array") }
        return UnkeyedContainer(decoder: self)
    }

    func singleValueContainer() throws -> any SingleValueDecodingContainer { self }

    // MARK: Scalars

    func decodeNil() -> Bool { node.tag == .null }

    func decode(_ type: Bool.Type) throws -> Bool {
        guard let value = list.boolValue else { throw mismatch(type, "a Boolean") }
        return value
    }

    func decode(_ type: String.Type) throws -> String {
        guard let value = list.stringValue else { throw mismatch(type, "a string") }
        return value
    }

    func decode(_ type: Double.Type) throws -> Double { try real(type) }
    func decode(_ type: Float.Type) throws -> Float { try real(type) }
    func decode(_ type: Int.Type) throws -> Int { try integer(type) }
    func decode(_ type: Int8.Type) throws -> Int8 { try integer(type) }
    func decode(_ type: Int16.Type) throws -> Int16 { try integer(type) }
    func decode(_ type: Int32.Type) throws -> Int32 { try integer(type) }
    func decode(_ type: Int64.Type) throws -> Int64 { try integer(type) }
    func decode(_ type: UInt.Type) throws -> UInt { try integer(type) }
    func decode(_ type: UInt8.Type) throws -> UInt8 { try integer(type) }
    func decode(_ type: UInt16.Type) throws -> UInt16 { try integer(type) }
    func decode(_ type: UInt32.Type) throws -> UInt32 { try integer(type) }
    func decode(_ type: UInt64.Type) throws -> UInt64 { try integer(type) }

    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        // Types that Foundation's decoders treat on their own, tried only for these types.
        if type == Date.self, let date = try date() as? Value { return date }
        if type == Data.self, let data = try data() as? Value { return data }
        if type == URL.self {
            guard let url = URL(string: try decode(String.self)) as? Value else { throw corrupted("an invalid URL") }
            return url
        }
        if type == Decimal.self {
            guard let decimal = decimal() as? Value else { throw mismatch(type, "a number") }
            return decimal
        }
        return try Value(from: self)
    }

    private func integer<Value: FixedWidthInteger>(_ type: Value.Type) throws -> Value {
        switch node.tag {
        case .integer:
            if let value = Value(exactly: Int64(bitPattern: node.payload)) { return value }
        case .unsigned:
            if let value = Value(exactly: node.payload) { return value }
        case .real:
            if let value = Value(exactly: Double(bitPattern: node.payload)) { return value }
        case .number:
            break
        default:
            throw mismatch(type, "an integer")
        }
        throw corrupted("the number \(list.shownNumber) does not fit in \(type)")
    }

    private func real<Value: BinaryFloatingPoint>(_ type: Value.Type) throws -> Value {
        if let value = list.realValue {
            let converted = Value(value)
            guard converted.isFinite || !value.isFinite, node.tag != .number || value.isFinite else {
                throw corrupted("the number \(list.shownNumber) does not fit in \(type)")
            }
            return converted
        }
        if case .convertFromString(let positive, let negative, let nan) = context.options.nonConformingFloats,
            let text = list.stringValue
        {
            switch text {
            case positive: return .infinity
            case negative: return -.infinity
            case nan: return .nan
            default: break
            }
        }
        throw mismatch(type, "a number")
    }

    private func date() throws -> Date {
        if let seconds = list.dateValue { return Date(timeIntervalSinceReferenceDate: seconds) }
        switch context.options.dates {
        case .deferredToDate: return Date(timeIntervalSinceReferenceDate: try decode(Double.self))
        case .secondsSince1970: return Date(timeIntervalSince1970: try decode(Double.self))
        case .millisecondsSince1970: return Date(timeIntervalSince1970: try decode(Double.self) / 1_000)
        case .iso8601:
            guard let date = try? Date(try decode(String.self), strategy: .iso8601) else {
                throw corrupted("expected a date in the format of ISO 8601")
            }
            return date
        case .custom(let decode): return try decode(self)
        }
    }

    private func data() throws -> Data {
        if let bytes = list.dataValue { return Data(bytes) }
        switch context.options.bytes {
        case .deferredToData: return try Data(from: self)
        case .base64:
            guard let data = Data(base64Encoded: try decode(String.self)) else {
                throw corrupted("expected data in base 64")
            }
            return data
        case .custom(let decode): return try decode(self)
        }
    }

    private func decimal() -> Decimal? {
        switch node.tag {
        case .integer: Decimal(Int64(bitPattern: node.payload))
        case .unsigned: Decimal(node.payload)
        case .real: Decimal(string: "\(Double(bitPattern: node.payload))")
        case .number: list.numberText.flatMap { Decimal(string: $0) }
        default: nil
        }
    }

    // MARK: Errors

    @inline(never)
    func mismatch(_ type: Any.Type, _ expected: String) -> any Error {
        let context = DecodingError.Context(
            codingPath: codingPath, debugDescription: "expected \(expected), found \(list.kind)")
        return node.tag == .null
            ? DecodingError.valueNotFound(type, context) : DecodingError.typeMismatch(type, context)
    }

    @inline(never)
    func corrupted(_ description: String) -> any Error {
        DecodingError.dataCorrupted(DecodingError.Context(codingPath: codingPath, debugDescription: description))
    }

    func child(_ node: PropertyListNode, _ key: any CodingKey) -> ValueDecoder {
        ValueDecoder(node: node, path: DecodingPath(key, in: path))
    }
}

extension PropertyList {
    /// A number as it is shown in errors.
    fileprivate var shownNumber: String {
        numberText.map { $0.count > 64 ? "\($0.prefix(64))…" : $0 } ?? unsignedValue.map { "\($0)" }
            ?? integerValue.map { "\($0)" } ?? realValue.map { "\($0)" } ?? "\(kind)"
    }
}
