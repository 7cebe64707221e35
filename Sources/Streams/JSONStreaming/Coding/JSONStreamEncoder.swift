// Encodes Codable types as JSON text, with the name and strategies of Foundation's encoder on top of our writer.

public import PlistCoding
public import PlistStreaming

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// Encodes `Encodable` types to JSON text; replaces `JSONEncoder`.
///
/// ```swift
/// let data = try JSONStreamEncoder().encode(tasks)
/// let text = try JSONStreamEncoder().encodeToString(tasks)
/// ```
///
/// Values that encode values endlessly throw `limitExceeded`; see `EncodingOptions.depthLimit`. The differences from
/// `JSONEncoder` are:
///
/// - A type that encodes nothing is an empty dictionary, also at the root.
/// - Errors are `StreamError`s. Errors of values contain their path, such as `$[3].price`, and an error that a type
///   throws itself is their `cause`.
/// - Members are written in the order in which they are encoded.
/// - A whole number that is a `Double` is written as `1`, while `JSON.encode` writes `1.0`.
public struct JSONStreamEncoder: Sendable {
    /// The layout of the text, and the policy for non-finite numbers if `encodingOptions` leave that to the writer.
    public var options: JSONWriterOptions
    /// The formats of dates, data, keys and non-finite numbers.
    public var encodingOptions: EncodingOptions

    /// Creates an encoder. Data becomes Base64 strings, as in `JSONEncoder`.
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
        // The writer would refuse the number too, but doesn't know its path.
        if case .native = encodingOptions.nonConformingFloats, options.nonFinite == .reject {
            encodingOptions.nonConformingFloats = .throw
        }
        try sink.withOutput { (output) throws(StreamError) in
            var writer = JSONWriter(options: options, taking: &output)
            defer { writer.returnOutput(&output) }
            writer.omitsPoints = true
            try writer.write(encodable: value, options: encodingOptions)
            try writer.finish()
        }
    }
}
