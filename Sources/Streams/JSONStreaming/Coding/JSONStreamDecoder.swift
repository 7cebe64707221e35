// Decodes Codable types from JSON text, with the name and strategies of Foundation's decoder on top of our reader.

import PlistBuilding

public import PlistCoding
public import PlistStreaming

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// Decodes `Decodable` types from JSON text; replaces `JSONDecoder`.
///
/// ```swift
/// let tasks = try JSONStreamDecoder().decode([Task].self, from: data)
/// ```
///
/// Text that isn't JSON throws `DecodingError.dataCorrupted`, whose underlying error is the `StreamError` with the
/// position. Containers nested deeper than the stack of the thread allows throw the same error with their path. The
/// differences from `JSONDecoder` are:
///
/// - If members have the same name, the last one counts.
/// - The text must be strict RFC 8259 in UTF-8.
/// - Coding paths contain names and indexes instead of the key types of the decoded types.
public struct JSONStreamDecoder: Sendable {
    /// The limits of the text, and the accepted JSON.
    public var options: JSONReaderOptions
    /// The strategies.
    public var decodingOptions: DecodingOptions

    /// Creates a decoder.
    public init(
        options: JSONReaderOptions = JSONReaderOptions(),
        decodingOptions: DecodingOptions = DecodingOptions(dates: .secondsSince2001)
    ) {
        self.options = options
        self.decodingOptions = decodingOptions
    }

    /// Decodes a value from data.
    ///
    /// - Throws: `DecodingError`, or the unchanged error that the type throws. A `StreamError` is therefore about
    ///   another text, which the type reads in its `init(from:)`.
    /// - Complexity: O(*n*) in the bytes; the text is scanned first, and its values are kept in 16 bytes each.
    public func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value {
        try decodeText(type, data.bytes)
    }

    /// Decodes a value from text: a string, bytes, the `URL` of a file, or another source.
    ///
    /// - Throws: The same errors as ``decode(_:from:)-(_,Data)``, and the `StreamError` of a source that can't be read.
    public func decode<Value: Decodable>(_ type: Value.Type, from source: some ByteSource) throws -> Value {
        var result: Result<Value, any Error>?
        try source.withAllBytes(limit: options.limits.totalByteCount) { bytes in
            result = Result { try decodeText(type, bytes) }
        }
        guard let result else { throw StreamError(.cannotRead, "the source has no bytes") }
        return try result.get()
    }

    private func decodeText<Value: Decodable>(_ type: Value.Type, _ bytes: RawSpan) throws -> Value {
        try JSON(reader: options).decodeCoded(type, from: bytes, options: decodingOptions) { error in
            DecodingError.dataCorrupted(
                DecodingError.Context(codingPath: [], debugDescription: error.description, underlyingError: error))
        }
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

    @inline(never)  // PERF: JSONTyped/documents; the builder is large, and would be on the stack for every type.
    private func propertyList(_ bytes: RawSpan) throws(StreamError) -> PropertyList {
        var builder = PropertyListBuilder(depthLimit: reader.limits.depth)
        try builder.readJSON(bytes, options: reader)
        return try builder.takeResult()
    }

    /// Decodes a value from a text.
    ///
    /// - Parameter errorOfText: Returns the error to throw for a text that isn't JSON.
    func decodeCoded<Value: Decodable>(
        _ type: Value.Type, from bytes: RawSpan, options: DecodingOptions, errorOfText: (StreamError) -> any Error
    ) throws -> Value {
        if reader.duplicateKeys == .reject {
            do throws(StreamError) {
                var keys = UniqueKeys(NullSink())
                try keys.readJSON(bytes, options: reader)
            } catch {
                throw errorOfText(error)
            }
        }
        if type == PropertyList.self {
            do throws(StreamError) {
                if let list = try propertyList(bytes) as? Value { return list }
            } catch {
                throw errorOfText(error)
            }
        }
        var scanner = JSONScanner(options: reader)
        let byteCount = bytes.byteCount
        // Padded before it is scanned, so that the text of strings is in the input of the tape.
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
