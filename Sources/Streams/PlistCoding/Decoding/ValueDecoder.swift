// The decoder that Codable calls, which reads from a `DecodingTape`. `DecodingContext+Values` turns nodes into values.
// Errors are those of Codable, with its coding paths.

import PlistBuilding

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Decodes values of `Decodable` types from property lists of any format.
///
/// ```swift
/// let task = try PropertyListValueDecoder().decode(Task.self, from: list)
/// ```
public struct PropertyListValueDecoder {
    /// The strategies.
    public var options: DecodingOptions

    /// Creates a decoder.
    public init(options: DecodingOptions = DecodingOptions()) { self.options = options }

    /// Decodes a value.
    /// - Throws: `DecodingError`, or an error that the type throws.
    public func decode<Value: Decodable>(_ type: Value.Type, from list: PropertyList) throws -> Value {
        var tape = DecodingTape()
        try list.send(to: &tape)
        return try tape.decode(type, options: options)
    }
}

extension DecodingTape {
    /// Decodes a value from the messages of a closure, which must send only UTF-8.
    ///
    /// - Parameters:
    ///   - text: The bytes that may contain the text of strings. Such text isn't copied.
    ///   - spaces: The number of spaces that the closure needs after the text, which is then copied; 0 if the text with
    ///     the spaces is longer than `longestPaddedCount`.
    ///   - readNumbers: Reads the same input again, for types with more digits than a double.
    /// - Throws: `DecodingError`, or an error that the type or the closure throws.
    package static func decode<Value: Decodable>(
        _ type: Value.Type, from text: RawSpan, spaces: Int, options: DecodingOptions,
        readingNumbers readNumbers: NumberReader, _ send: (inout DecodingTape, RawSpan) throws -> Void
    ) throws -> Value {
        try DecodingContext.decode(
            type, from: text, spaces: spaces, options: options, readingNumbers: readNumbers, send)
    }

    /// The maximum length of a text that is copied, including the spaces after it.
    package static var longestPaddedCount: Int { DecodingContext.paddedCount }

    /// Decodes the value on the tape.
    ///
    /// - Throws: `DecodingError`, or an error that the type throws.
    package consuming func decode<Value: Decodable>(_ type: Value.Type, options: DecodingOptions) throws -> Value {
        var context = DecodingContext(options: options, self)
        defer { DecodingContext.finish(&context) }
        return try context.decode(type, at: DecodingContext.root)
    }
}

/// A decoder that is a reference to the tape and the number of a node in it, so that it needs no memory of its own.
struct ValueDecoder: Decoder, SingleValueDecodingContainer {
    let context: DecodingContext
    /// The index of the node, or a negative number for a node that is not on the tape.
    let index: Int

    var codingPath: [any CodingKey] { context.path(of: index) }
    var userInfo: [CodingUserInfoKey: Any] { context.options.userInfo }

    /// Returns the value as a separate list.
    func list() throws -> PropertyList { try context.list(at: index) }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        try context.container(keyedBy: type, at: index)
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try UnkeyedContainer(context: context, array: index)
    }

    func singleValueContainer() throws -> any SingleValueDecodingContainer { self }

    func decodeNil() -> Bool { context.isNil(at: index) }
    func decode(_ type: Bool.Type) throws -> Bool { try context.decode(type, at: index) }
    func decode(_ type: String.Type) throws -> String { try context.decode(type, at: index) }
    func decode(_ type: Double.Type) throws -> Double { try context.decode(type, at: index) }
    func decode(_ type: Float.Type) throws -> Float { try context.decode(type, at: index) }
    @inline(__always)  // PERF: JSONRecords/foundation; specializes each type of integer.
    func decode<Value: FixedWidthInteger & Decodable>(_ type: Value.Type) throws -> Value {
        try context.decode(type, at: index)
    }
    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try context.decode(type, at: index) }
}
