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
        let context = DecodingContext(options: options, list)
        defer { context.forgetContainers() }
        return try ValueDecoder(context: context, index: DecodingContext.root).decode(type)
    }
}

/// A decoder is a reference to the tree and the number of a node in it, so that it needs no memory of its own.
struct ValueDecoder: Decoder, SingleValueDecodingContainer {
    let context: DecodingContext
    /// The index of the node, or a number below 0 for one that is not in the storage.
    let index: Int
    /// Whether keys are names of the stream already, as those of dictionaries are.
    var hasExactKeys = false

    var node: PropertyListNode { context.node(index) }
    var codingPath: [any CodingKey] { context.path(of: index) }
    var userInfo: [CodingUserInfoKey: Any] { context.options.userInfo }
    var list: PropertyList { PropertyList(context.storage, node) }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        let node = node
        guard node.tag == .dictionary else { throw mismatch([String: Any].self, "a dictionary") }
        if let (address, place) = unsafe context.freeContainer(for: type) {
            unsafe place._withUnsafeGuaranteedRef { $0.move(to: index, node, hasExactKeys) }
            // SAFETY: the container was one of this type, which is the one for the type of keys.
            return unsafe address.assumingMemoryBound(to: KeyedDecodingContainer<Key>.self).pointee
        }
        let place = DecodingPlace(context)
        place.move(to: index, node, hasExactKeys)
        let container: KeyedDecodingContainer<Key> = place.makeContainer()
        context.remember(container, at: place, for: type)
        return container
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard node.tag == .array else { throw mismatch([Any].self, "an array") }
        return UnkeyedContainer(decoder: self)
    }

    func singleValueContainer() throws -> any SingleValueDecodingContainer { self }

    // MARK: Scalars

    func decodeNil() -> Bool { node.tag == .null }

    func decode(_ type: Bool.Type) throws -> Bool {
        switch node.tag {
        case .yes: return true
        case .no: return false
        default: throw mismatch(type, "a Boolean")
        }
    }

    func decode(_ type: String.Type) throws -> String {
        let node = node
        guard node.tag == .string else { throw mismatch(type, "a string") }
        return context.string(of: node)
    }

    func decode(_ type: Double.Type) throws -> Double { try real(type) }
    func decode(_ type: Float.Type) throws -> Float { try real(type) }
    @inline(__always)  // PERF: JSONRecords/foundation; specialises each type of integer.
    func decode<Value: FixedWidthInteger & Decodable>(_ type: Value.Type) throws -> Value { try integer(type) }

    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        let kind = context.kind(of: type)
        if kind == .other || kind == .dictionary {
            return try Value(from: ValueDecoder(context: context, index: index, hasExactKeys: kind == .dictionary))
        }
        if kind == .array, let type = type as? any DecodableArray.Type {
            return try Self.cast(type.decode(self))
        }
        return try decode(kind)
    }

    /// Decodes a type that is treated on its own; the kind stands for the type.
    private func decode<Value>(_ kind: CodedKind) throws -> Value {
        switch kind {
        case .other, .dictionary, .array: throw corrupted("there is no way to decode \(Value.self)")
        case .bool: try Self.cast(decode(Bool.self))
        case .string: try Self.cast(decode(String.self))
        case .double: try Self.cast(decode(Double.self))
        case .int: try Self.cast(decode(Int.self))
        case .date: try Self.cast(date())
        case .data: try Self.cast(data())
        case .url:
            if let url = URL(string: try decode(String.self)) {
                Self.cast(url)
            } else {
                throw corrupted("an invalid URL")
            }
        case .decimal:
            if let decimal = decimal() {
                Self.cast(decimal)
            } else if node.tag == .number || node.tag == .real {
                throw corrupted("the number \(list.shownNumber) does not fit in Decimal")
            } else {
                throw mismatch(Decimal.self, "a number")
            }
        case .ints: try Self.cast(elements { (decoder) throws in try decoder.decode(Int.self) })
        case .doubles: try Self.cast(elements { (decoder) throws in try decoder.decode(Double.self) })
        case .strings: try Self.cast(elements { (decoder) throws in try decoder.decode(String.self) })
        }
    }

    // PERF: JSONRecords/foundation; a cast by name takes longer than decoding most values.
    /// Gives a value the name of its type.
    private static func cast<Value, Known>(_ value: Known) -> Value {
        precondition(Value.self == Known.self, "a kind stands for one type")
        // SAFETY: the types are the same, as the line above checks.
        return unsafe withUnsafePointer(to: value) {
            unsafe UnsafeRawPointer($0).assumingMemoryBound(to: Value.self).pointee
        }
    }

    /// Decodes the elements of an array.
    @inline(__always)  // PERF: see above; specialises the closure.
    func elements<Element>(_ decode: (ValueDecoder) throws -> Element) throws -> [Element] {
        let node = node
        guard node.tag == .array else { throw mismatch([Any].self, "an array") }
        let (first, count) = (node.firstChild, node.count)
        return try unsafe [Element](unsafeUninitializedCapacity: count) { buffer, initializedCount in
            for offset in 0..<count {
                let element = try decode(ValueDecoder(context: context, index: first + offset))
                // SAFETY: the offset is below the capacity, and the elements before it are initialized.
                unsafe buffer.initializeElement(at: offset, to: element)
                initializedCount = offset + 1
            }
        }
    }

    func integer<Value: FixedWidthInteger>(_ type: Value.Type) throws -> Value {
        let node = node
        switch node.tag {
        case .integer:
            if let value = Value(exactly: Int64(bitPattern: node.payload)) { return value }
        case .unsigned:
            if let value = Value(exactly: node.payload) { return value }
        case .real:
            if let value = Value(exactly: Double(bitPattern: node.payload)) { return value }
        case .number:
            if Value.bitWidth > 64, let value = list.numberText.flatMap({ Value($0) }) { return value }
        default:
            throw mismatch(type, "an integer")
        }
        throw corrupted("the number \(list.shownNumber) does not fit in \(type)")
    }

    private func real<Value: BinaryFloatingPoint>(_ type: Value.Type) throws -> Value {
        let node = node
        if node.tag == .real, Value.self == Double.self { return Value(Double(bitPattern: node.payload)) }
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
            let text = try decode(String.self)
            guard let date = try? Date(text, strategy: .iso8601) else {
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
}

/// An array of whatever elements that can be decoded.
protocol DecodableArray {
    static func decode(_ decoder: ValueDecoder) throws -> Self
}

extension Array: DecodableArray where Element: Decodable {
    static func decode(_ decoder: ValueDecoder) throws -> [Element] {
        try decoder.elements { (decoder) throws in try decoder.decode(Element.self) }
    }
}

extension PropertyList {
    /// A number as it is shown in errors.
    fileprivate var shownNumber: String {
        numberText.map { $0.count > 64 ? "\($0.prefix(64))…" : $0 } ?? unsignedValue.map { "\($0)" }
            ?? integerValue.map { "\($0)" } ?? realValue.map { "\($0)" } ?? "\(kind)"
    }
}
