// The encoder that Codable calls, which fills an `EncodedTree`. An encoder and its containers are a reference to the
// tree and the number of a node in it, so that none of them needs memory of its own.

import PlistStreaming

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Encodes into one node of a tree.
struct ValueEncoder: Encoder {
    let tree: EncodedTree
    let node: UInt32
    /// The number of values around this one that are being encoded.
    let depth: UInt32
    /// A Boolean value that indicates whether keys are already names of the stream, as in dictionaries.
    var hasExactKeys = false

    var codingPath: [any CodingKey] { tree.nodes.path(of: node) }
    var userInfo: [CodingUserInfoKey: Any] { tree.options.userInfo }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        tree.nodes.open(node, .dictionary)
        if let (vendor, place) = unsafe tree.freeContainer(for: type) {
            unsafe place.initialize(to: EncodingPlace(self))
            return unsafe ContainerVendor<KeyedEncodingContainer<Key>>.vend(vendor)
        }
        return tree.makeContainer(at: EncodingPlace(self))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        tree.nodes.open(node, .array)
        return UnkeyedContainer(encoder: self)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { SingleContainer(encoder: self) }

    /// Creates the encoder for a part of the value.
    func child(_ node: UInt32) -> ValueEncoder { ValueEncoder(tree: tree, node: node, depth: depth) }

    /// Encodes a value into the node, and handles values of types that the stream supports directly.
    func encode<Value: Encodable>(_ value: Value) throws {
        let kind = tree.kind(of: Value.self)
        // PERF: JSONRecords/writing; types are compared instead of casting values, and only once per type.
        if kind == .other || kind == .dictionary || kind == .array {
            guard depth < UInt32(clamping: tree.options.depthLimit), !StackBounds.isBeyond(tree.stackLimit) else {
                throw tree.tooDeep()
            }
            let isExact = kind == .dictionary
            return try value.encode(
                to: ValueEncoder(tree: tree, node: node, depth: depth &+ 1, hasExactKeys: isExact))
        }
        // SAFETY: the kind determines the type of the value, which its memory is bound to.
        try unsafe withUnsafePointer(to: value) { try unsafe encode(kind, at: UnsafeRawPointer($0)) }
    }

    private func encode(_ kind: CodedKind, at address: UnsafeRawPointer) throws {
        func value<Value>(_ type: Value.Type) -> Value { unsafe address.assumingMemoryBound(to: type).pointee }
        switch kind {
        case .other, .dictionary, .array: break
        case .bool: tree.nodes.set(node, EncodedScalar(value(Bool.self)))
        case .string: tree.nodes.set(node, .string, value(String.self))
        case .double: try encode(value(Double.self))
        case .int: tree.nodes.set(node, EncodedScalar(Int64(value(Int.self))))
        case .date: try encode(value(Date.self))
        case .data: try encode(value(Data.self))
        case .url: tree.nodes.set(node, .string, value(URL.self).absoluteString)
        case .decimal: try encode(value(Decimal.self))
        case .ints:
            tree.nodes.open(node, .array)
            for value in value([Int].self) { tree.nodes.append(to: node, EncodedScalar(Int64(value))) }
        case .doubles:
            tree.nodes.open(node, .array)
            for (index, value) in value([Double].self).enumerated() {
                tree.nodes.append(to: node, try scalar(value, IndexKey(index)))
            }
        case .strings:
            tree.nodes.open(node, .array)
            for value in value([String].self) { tree.nodes.append(to: node, .string, value) }
        }
    }

    /// Encodes an integer of more than 64 bits.
    @inline(never)
    func encode(wide value: some FixedWidthInteger) {
        if let value = Int64(exactly: value) {
            tree.nodes.set(node, EncodedScalar(value))
        } else if let value = UInt64(exactly: value) {
            tree.nodes.set(node, EncodedScalar(value))
        } else {
            tree.nodes.set(node, .number, "\(value)")
        }
    }

    /// Returns the scalar for a number.
    @inline(__always)  // PERF: JSONRecords/writing; a comparison a number.
    func scalar(_ value: Double, _ key: @autoclosure () -> (any CodingKey)? = nil) throws -> EncodedScalar {
        value.isFinite ? EncodedScalar(value) : try tree.scalar(nonFinite: value, at: node, key: key())
    }

    /// Encodes a number.
    func encode(_ value: Double) throws { tree.nodes.set(node, try scalar(value)) }

    private func encode(_ decimal: Decimal) throws {
        if decimal.isNaN { return try encode(Double.nan) }
        tree.nodes.set(node, .number, decimal.description)
    }

    private func encode(_ date: Date) throws {
        switch tree.options.dates {
        case .native: tree.nodes.set(node, EncodedScalar(date: date.timeIntervalSinceReferenceDate))
        case .secondsSince2001: try encode(date.timeIntervalSinceReferenceDate)
        case .secondsSince1970: try encode(date.timeIntervalSince1970)
        case .millisecondsSince1970: try encode(date.timeIntervalSince1970 * 1_000)
        case .iso8601:
            guard let text = ISO8601Text.text(date) else {
                throw EncodingError.invalidValue(
                    date,
                    EncodingError.Context(
                        codingPath: tree.nodes.path(of: node),
                        debugDescription: "expected a date with a year from 0 to 9999, as ISO 8601 requires"))
            }
            tree.nodes.set(node, .string, text)
        case .custom(let encode): try encode(date, ValueEncoder(tree: tree, node: node, depth: depth &+ 1))
        }
    }

    private func encode(_ data: Data) throws {
        switch tree.options.bytes {
        // SAFETY: the bytes are copied within the closure.
        case .native: unsafe data.withUnsafeBytes { unsafe tree.nodes.set(node, data: $0) }
        case .base64: tree.nodes.set(node, .string, data.base64EncodedString())
        case .deferredToData: try data.encode(to: ValueEncoder(tree: tree, node: node, depth: depth &+ 1))
        case .custom(let encode): try encode(data, ValueEncoder(tree: tree, node: node, depth: depth &+ 1))
        }
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

/// A key that is a name, in paths.
struct NameKey: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(_ name: String) { stringValue = name }
    init?(intValue: Int) { return nil }
    init?(stringValue: String) { self.stringValue = stringValue }

    /// The key for encoding `super`.
    static var `super`: NameKey { NameKey("super") }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistBuilding

enum ValueEncoderTests {
    /// A value that encodes itself endlessly.
    struct Endless: Encodable {
        func encode(to encoder: any Encoder) throws {
            var container = encoder.unkeyedContainer()
            try container.encode(self)
        }
    }

    /// A value that keeps containers open at the same time, and continues filling them later.
    struct Interleaved: Encodable {
        enum Key: String, CodingKey { case one, two, three, nested, list }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Key.self)
            var nested = container.nestedContainer(keyedBy: Key.self, forKey: .nested)
            var list = container.nestedUnkeyedContainer(forKey: .list)
            try container.encode(1, forKey: .one)
            try nested.encode("x", forKey: .two)
            try list.encode(1.5)
            var again = encoder.container(keyedBy: Key.self)
            try again.encode(Nested(), forKey: .two)
            try nested.encode(Int8(-3), forKey: .three)
            try list.encodeNil()
            try container.encode(2, forKey: .one)
        }
    }

    struct Nested: Codable, Equatable {
        var theNumber: UInt64 = .max
        var table = ["aKey": 1]
        var children: [Nested] = []
    }

    struct Refused: Encodable {
        var list = [[0: Part()]]

        struct Part: Encodable {
            func encode(to encoder: any Encoder) throws {
                throw EncodingError.invalidValue(
                    self, EncodingError.Context(codingPath: encoder.codingPath, debugDescription: "no"))
            }
        }
    }
}

extension ValueEncoderTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testFillsContainersInAnyOrder": testFillsContainersInAnyOrder,
            "testEnforcesDepthLimit": testEnforcesDepthLimit,
            "testMapsKeysOfTypesButNotDictionaries": testMapsKeysOfTypesButNotDictionaries,
            "testReusesContainers": testReusesContainers,
            "testReportsPathOfErrors": testReportsPathOfErrors,
            "testEncodesEveryStandardType": testEncodesEveryStandardType,
        ]
    }

    private static func trace(
        _ value: any Encodable, _ options: EncodingOptions = EncodingOptions()
    ) throws(StreamError) -> String {
        var trace = EventTrace()
        try trace.write(encodable: value, options: options)
        return trace.text
    }

    private static func testFillsContainersInAnyOrder() throws {
        expectEqual(
            try trace(Interleaved()),
            """
            { key "nested" { key "two" string "x" key "three" integer -3 } key "list" [ real 1.5 null ] \
            key "one" integer 2 key "two" { key "theNumber" unsigned 18446744073709551615 key "table" \
            { key "aKey" integer 1 } key "children" [ ] } }
            """, "messages")
    }

    private static func testEnforcesDepthLimit() throws {
        let error = expectThrows(StreamError.self, "an endless value") { _ = try trace(Endless()) }
        expectEqual(error?.kind, .limitExceeded, "kind")
        expectEqual(try trace([[1]], EncodingOptions(depthLimit: 1)), "[ [ integer 1 ] ]", "arrays of integers")
        expectThrows(StreamError.self, "two levels") { _ = try trace([[[1]]], EncodingOptions(depthLimit: 1)) }
        expectNoThrow("two levels allowed") { _ = try trace([[[1]]], EncodingOptions(depthLimit: 2)) }
    }

    private static func testMapsKeysOfTypesButNotDictionaries() throws {
        expectEqual(
            try trace(Nested(), EncodingOptions(keyMapping: .snakeCase)),
            """
            { key "the_number" unsigned 18446744073709551615 key "table" { key "aKey" integer 1 } key "children" [ ] }
            """, "messages")
    }

    private static func testReusesContainers() throws {
        // Enough dictionaries for containers to be reused, with one type within itself.
        let inner = (0..<300).map { Nested(theNumber: UInt64($0), table: ["k\($0)": $0]) }
        let value = [Nested(theNumber: 1, children: inner), Nested(theNumber: 2, children: inner)]
        var builder = PropertyListBuilder()
        try builder.write(encodable: value)
        let list = try builder.takeResult()
        expectEqual(try PropertyListValueDecoder().decode([Nested].self, from: list), value, "round trip")
    }

    private static func testReportsPathOfErrors() {
        let error = expectThrows(StreamError.self, "a part that refuses") { _ = try trace(Refused()) }
        expectEqual(error?.description, "$.list[0][\"0\"]: no", "description")
    }

    private static func testEncodesEveryStandardType() throws {
        let when = Date(timeIntervalSinceReferenceDate: 1.5)
        expectEqual(try trace(when), "date 1.5", "a date")
        expectEqual(try trace([when], EncodingOptions(dates: .millisecondsSince1970)), "[ real 978307201500.0 ]", "ms")
        expectEqual(try trace(Data([1, 255])), "data 01ff", "data")
        expectEqual(try trace([Data([1])], EncodingOptions(bytes: .base64)), "[ string \"AQ==\" ]", "base 64")
        expectEqual(try trace(Decimal(string: "1.25")), "number 1.25", "a decimal")
        expectEqual(try trace(["a": [1, 2]]), "{ key \"a\" [ integer 1 integer 2 ] }", "integers")
        expectEqual(try trace([[0.5], []]), "[ [ real 0.5 ] [ ] ]", "doubles")
        expectEqual(
            try trace([["x", "a longer string"]]), "[ [ string \"x\" string \"a longer string\" ] ]", "strings")
        expectEqual(try trace([Int?.none, 3]), "[ null integer 3 ]", "optionals")
        expectEqual(try trace([UInt16(7), .max]), "[ integer 7 integer 65535 ]", "unsigned integers that are integers")
        expectEqual(try trace([true]), "[ true ]", "Booleans")
    }
}
#endif
