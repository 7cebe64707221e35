// Trees as members of Codable types, with our coders and others.

import PlistBuilding
import PlistStreaming

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension PropertyList: Codable {
    /// Creates a list from the contents of a decoder.
    ///
    /// Our decoders return their part of the stream unchanged. Other decoders are tried with null, a Boolean, an
    /// integer, a floating-point number, a string, an array, a dictionary, a date and data, in this order. So a whole
    /// number may become an integer.
    /// - Throws: `DecodingError.dataCorrupted` if the decoder has none of these types; an error of the decoder.
    public init(from decoder: any Decoder) throws {
        if let decoder = decoder as? ValueDecoder {
            self = try decoder.list()
            return
        }
        var builder = PropertyListBuilder()
        try builder.write(decoder)
        self = try builder.takeResult()
    }

    /// Encodes the list: its containers, scalars, dates and data.
    /// - Throws: `EncodingError.invalidValue` for a number beyond `Decimal`, except by our encoders; an error of the encoder.
    public func encode(to encoder: any Encoder) throws {
        switch kind {
        case .array:
            var container = encoder.unkeyedContainer()
            for element in elements { try container.encode(element) }
        case .dictionary:
            var container = encoder.container(keyedBy: NameKey.self)
            for (key, value) in members { try container.encode(value, forKey: NameKey(key)) }
        case .number:
            try encodeNumber(to: encoder)
        default:
            var container = encoder.singleValueContainer()
            if let value = boolValue {
                try container.encode(value)
            } else if kind == .integer, let value = integerValue {
                try container.encode(value)
            } else if kind == .unsigned, let value = unsignedValue {
                try container.encode(value)
            } else if kind == .real, let value = realValue {
                try container.encode(value)
            } else if let value = stringValue {
                try container.encode(value)
            } else if let value = dateValue {
                try container.encode(Date(timeIntervalSinceReferenceDate: value))
            } else if let value = dataValue {
                try container.encode(Data(value))
            } else {
                try container.encodeNil()
            }
        }
    }

    private func encodeNumber(to encoder: any Encoder) throws {
        let text = numberText ?? ""
        if let encoder = encoder as? ValueEncoder { return encoder.tree.nodes.set(encoder.node, .number, text) }
        guard let decimal = Decimal(string: text), decimal.isFinite else {
            throw EncodingError.invalidValue(
                self,
                EncodingError.Context(
                    codingPath: encoder.codingPath, debugDescription: "expected a number that fits in a Decimal"))
        }
        var container = encoder.singleValueContainer()
        try container.encode(decimal)
    }
}

extension PropertyListBuilder {
    /// Adds the contents of another decoder.
    fileprivate mutating func write(_ decoder: any Decoder) throws {
        guard !StackBounds.isNearEnd else {
            throw StreamError(.limitExceeded, "more levels of nesting than the stack of the thread allows")
        }
        if let scalar = try? Self.scalar(in: decoder.singleValueContainer()) {
            try PlanWriter(options: WritingOptions()).send(scalar, to: &self)
        } else if var container = try? decoder.unkeyedContainer() {
            try beginArray()
            while !container.isAtEnd { try write(try container.superDecoder()) }
            try endArray()
        } else if let container = try? decoder.container(keyedBy: NameKey.self) {
            try beginDictionary()
            for key in container.allKeys {
                try key.stringValue.withUTF8Span { (name) throws(StreamError) in try writeKey(name) }
                try write(try container.superDecoder(forKey: key))
            }
            try endDictionary()
        } else {
            throw Self.unknown(decoder)
        }
    }

    private static func scalar(in container: any SingleValueDecodingContainer) -> ScalarValue? {
        if container.decodeNil() { return .null }
        if let value = try? container.decode(Bool.self) { return .bool(value) }
        if let value = try? container.decode(Int64.self) { return .integer(value) }
        if let value = try? container.decode(UInt64.self) { return .unsigned(value) }
        if let value = try? container.decode(Double.self) { return .real(value) }
        if let value = try? container.decode(String.self) { return .string(value) }
        if let value = try? container.decode(Date.self) { return .date(value.timeIntervalSinceReferenceDate) }
        if let value = try? container.decode(Data.self) { return .data(Array(value)) }
        return nil
    }

    fileprivate static func unknown(_ decoder: any Decoder) -> DecodingError {
        DecodingError.dataCorrupted(
            DecodingError.Context(
                codingPath: decoder.codingPath, debugDescription: "expected a value of a property list"))
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

#if canImport(FoundationEssentials)
import Foundation
#endif

enum PropertyListCodingTests {
    struct Envelope: Codable, Equatable {
        var name: String
        var payload: PropertyList
    }
}

extension PropertyListCodingTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testPassesThroughOurCoders": testPassesThroughOurCoders,
            "testPassesThroughFoundation": testPassesThroughFoundation,
            "testRefusesNumbersBeyondDecimal": testRefusesNumbersBeyondDecimal,
        ]
    }

    private static let payload = """
        { key "a_b" [ null true integer -1 unsigned 18446744073709551615 real 0.5 string "a longer string" { } [ ] ] }
        """

    private static func testPassesThroughOurCoders() throws {
        let list = try PropertyListBuilder.list("[ \(payload) number 1e400 data 01ff date 1.5 ]")
        let envelope = Envelope(name: "n", payload: list)
        var builder = PropertyListBuilder()
        try builder.write(encodable: [envelope, envelope])
        let written = try builder.takeResult()
        expectEqual(
            try PropertyListValueDecoder().decode([Envelope].self, from: written), [envelope, envelope], "both")
    }

    private static func testPassesThroughFoundation() throws {
        let list = try PropertyListBuilder.list(payload)
        let data = try JSONEncoder().encode(Envelope(name: "n", payload: list))
        expectEqual(try JSONDecoder().decode(Envelope.self, from: data).payload, list, "as JSON")
        let dated = try PropertyListBuilder.list("[ data 01ff date 1.5 string \"x\" integer 7 true ]")
        let plist = try PropertyListEncoder().encode(["k": dated])
        expectEqual(try PropertyListDecoder().decode([String: PropertyList].self, from: plist)["k"], dated, "as plist")
    }

    private static func testRefusesNumbersBeyondDecimal() throws {
        let list = try PropertyListBuilder.list("[ number 1e400 ]")
        expectThrows(EncodingError.self, "a number beyond Decimal") { _ = try JSONEncoder().encode(list) }
    }
}
#endif
