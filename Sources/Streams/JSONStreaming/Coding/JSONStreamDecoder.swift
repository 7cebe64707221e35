// Codable types from JSON text: the name and strategies of Foundation's decoder over our reader.

import PlistBuilding
import PlistStreaming

public import PlistCoding

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// Decodes `Decodable` types from JSON text, in the place of `JSONDecoder`.
///
/// ```swift
/// let tasks = try JSONStreamDecoder().decode([Task].self, from: data)
/// ```
///
/// Text that is not JSON is a `DecodingError.dataCorrupted` whose underlying error is the `StreamError` with the position; so
/// are containers nested deeper than the stack of the thread allows, with their path.
/// Differences from `JSONDecoder`: of members with one name, the last counts; the text must be strict RFC 8259 in UTF-8;
/// the keys of coding paths are names and indexes, not of the types' own types of keys.
public struct JSONStreamDecoder: Sendable {
    /// The limits of the text and what is accepted as JSON.
    public var options: JSONReaderOptions
    /// The strategies.
    public var decodingOptions: DecodingOptions

    /// Makes a decoder.
    public init(
        options: JSONReaderOptions = JSONReaderOptions(),
        decodingOptions: DecodingOptions = DecodingOptions(dates: .secondsSince2001)
    ) {
        self.options = options
        self.decodingOptions = decodingOptions
    }

    /// Decodes a value from the text in the bytes.
    /// - Throws: `DecodingError`, or what the type throws, as it is: so a `StreamError` is about another text, which the type reads in
    ///   its `init(from:)`, and its position is one in that text.
    /// - Complexity: O(*n*) in the bytes; the text is scanned first, and its values are kept in 16 bytes each.
    public func decode<Value: Decodable>(_ type: Value.Type, from bytes: RawSpan) throws -> Value {
        try JSON(reader: options).decodeCoded(type, from: bytes, options: decodingOptions) { error in
            DecodingError.dataCorrupted(
                DecodingError.Context(codingPath: [], debugDescription: error.description, underlyingError: error))
        }
    }

    /// Decodes a value from data.
    /// - Throws: `DecodingError`, or what the type throws.
    public func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value {
        try decode(type, from: data.bytes)
    }

    /// Decodes a value from text.
    /// - Throws: `DecodingError`, or what the type throws.
    public func decode<Value: Decodable>(_ type: Value.Type, from text: String) throws -> Value {
        var text = text
        // SAFETY: the span does not leave the closure.
        return try text.withUTF8 { bytes in
            try unsafe decode(type, from: UnsafeRawBufferPointer(bytes).bytes)
        }
    }

    /// Decodes a value from the text in an array of bytes.
    /// - Throws: `DecodingError`, or what the type throws.
    public func decode<Value: Decodable>(_ type: Value.Type, from bytes: [UInt8]) throws -> Value {
        // SAFETY: the span does not leave the closure.
        try unsafe bytes.withUnsafeBytes { bytes in try unsafe decode(type, from: bytes.bytes) }
    }

    /// Decodes a value from text that comes in pieces, such as the parts of a download; each may end anywhere.
    ///
    /// - Throws: `DecodingError`, or what the type throws.
    /// - Complexity: O(*n*) in the bytes, all of which are held until the value is decoded.
    public func decode<Value: Decodable, Chunks: Sequence>(
        _ type: Value.Type, fromChunks chunks: Chunks
    ) throws -> Value where Chunks.Element: ContiguousBytes {
        var text: [UInt8] = []
        // SAFETY: the bytes are copied within the closure.
        for chunk in chunks { unsafe chunk.withUnsafeBytes { unsafe text.append(contentsOf: $0) } }
        return try decode(type, from: text)
    }

    /// Decodes a value from the text in a file.
    /// - Throws: `DecodingError`, what the type throws, or the system's error for a file that cannot be read.
    public func decode<Value: Decodable>(_ type: Value.Type, contentsOf url: URL) throws -> Value {
        try decode(type, from: Data(contentsOf: url, options: .mappedIfSafe))
    }

    /// Decodes a value from the text in the file at a path.
    /// - Throws: `DecodingError`, what the type throws, or the system's error for a file that cannot be read.
    public func decode<Value: Decodable>(_ type: Value.Type, contentsOfFile path: String) throws -> Value {
        try decode(type, contentsOf: URL(fileURLWithPath: path))
    }
}

extension JSON: CodingFormat {
    @usableFromInline
    package var byteLimit: Int { reader.limits.totalByteCount }

    @usableFromInline
    package func decodeCoded<Value: Decodable>(
        _ type: Value.Type, from bytes: RawSpan, options: DecodingOptions
    ) throws -> Value {
        try decodeCoded(type, from: bytes, options: options) { $0 }
    }

    /// Decodes a value of a text.
    ///
    /// - Parameter errorOfText: Makes the error that is thrown for a text that isn't JSON.
    func decodeCoded<Value: Decodable>(
        _ type: Value.Type, from bytes: RawSpan, options: DecodingOptions, errorOfText: (StreamError) -> any Error
    ) throws -> Value {
        if type == PropertyList.self {
            do throws(StreamError) {
                var builder = PropertyListBuilder(depthLimit: reader.limits.depth)
                try builder.readJSON(bytes, options: reader)
                if let list = try builder.takeResult() as? Value { return list }
            } catch {
                throw errorOfText(error)
            }
        }
        var scanner = JSONScanner(options: reader)
        let byteCount = bytes.byteCount
        // Padded before it is scanned, so that the tape finds the text of strings in its input.
        let spaces = JSONScanner.margin
        let isPadded = byteCount + spaces <= DecodingTape.longestPaddedCount && scanner.canPad(byteCount)
        return try DecodingTape.decode(
            type, from: bytes, spaces: isPadded ? spaces : 0, options: options,
            readingNumbers: JSONNumberTexts.reader
        ) { tape, text in
            do throws(StreamError) {
                if isPadded {
                    try scanner.scanLast(padded: text, byteCount: byteCount, into: &tape)
                } else {
                    try scanner.scanLast(text, into: &tape)
                }
            } catch {
                throw errorOfText(error)
            }
        }
    }
}
