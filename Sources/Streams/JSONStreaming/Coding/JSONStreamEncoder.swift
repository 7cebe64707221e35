// JSON text from Codable types: the name and strategies of Foundation's encoder over our writer.

public import PlistCoding
public import PlistStreaming

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// Encodes `Encodable` types to JSON text, in the place of `JSONEncoder`.
///
/// ```swift
/// let data = try JSONStreamEncoder().encode(tasks)
/// let text = try JSONStreamEncoder().encodeToString(tasks)
/// ```
///
/// Values that encode values without end are an error, `limitExceeded`; see `EncodingOptions.depthLimit`. Differences from
/// `JSONEncoder`: a type that encodes nothing is an empty dictionary at the root as well; errors are `StreamError`s, those of
/// values with the path to them, such as `$[3].price`, and an error that a type throws on its own as their `cause`; members
/// come in the order in which they are encoded. A whole number that is a `Double` is written as `1`, while `JSON.encode` writes
/// `1.0`.
public struct JSONStreamEncoder: Sendable {
    /// The layout of the text, and what is written for numbers that are none where `encodingOptions` leave that to the writer.
    public var options: JSONWriterOptions
    /// How dates, data, keys and numbers that are none are written.
    public var encodingOptions: EncodingOptions

    /// Makes an encoder; data become strings in base 64, as in `JSONEncoder`.
    public init(
        options: JSONWriterOptions = JSONWriterOptions(),
        encodingOptions: EncodingOptions = EncodingOptions(dates: .secondsSince2001, bytes: .base64)
    ) {
        self.options = options
        self.encodingOptions = encodingOptions
    }

    /// Encodes a value to text in UTF-8.
    ///
    /// - Throws: `StreamError`, with the path to a value that cannot be encoded.
    public func encode(_ value: any Encodable) throws(StreamError) -> Data {
        var data = Data()
        try encode(value, to: &data)
        return data
    }

    /// Encodes a value to text.
    ///
    /// - Throws: `StreamError`, with the path to a value that cannot be encoded.
    public func encodeToString(_ value: any Encodable) throws(StreamError) -> String {
        var sink = StringSink()
        try encode(value, to: &sink)
        return sink.text ?? ""
    }

    private func encode(_ value: any Encodable, to sink: inout some ByteSink) throws(StreamError) {
        var encodingOptions = encodingOptions
        // The writer would refuse the number as well, but does not know where it is.
        if case .native = encodingOptions.nonConformingFloats, options.nonFinite == .reject {
            encodingOptions.nonConformingFloats = .throw
        }
        try sink.withOutput { (output) throws(StreamError) in
            var writer = JSONWriter(options: options, taking: &output)
            defer { writer.giveBack(&output) }
            writer.omitsPoints = true
            try writer.write(encodable: value, options: encodingOptions)
            try writer.finish()
        }
    }
}
