// JSON text from Codable types: the name and strategies of Foundation's encoder over our writer.

import PlistStreaming

public import PlistBuilding

/// Encodes `Encodable` types to JSON text, in the place of `JSONEncoder`.
///
/// Values that encode values without end are an error, `limitExceeded`; see `EncodingOptions.depthLimit`. Differences from
/// `JSONEncoder`: the result is a `String`; a type that encodes nothing is an empty dictionary at the root as well; errors are
/// `StreamError`s, and numbers that are none are refused when the text is written, not by `encode` of a container.
public struct JSONStreamEncoder: Sendable {
    /// How dates, data and keys are written.
    public var options: EncodingOptions
    /// The layout of the text, and what is written for numbers that are none.
    public var writerOptions: JSONWriterOptions

    /// Makes an encoder; data become strings in base 64, as in `JSONEncoder`.
    public init(
        options: EncodingOptions = EncodingOptions(dates: .secondsSince2001, bytes: .base64),
        writerOptions: JSONWriterOptions = JSONWriterOptions()
    ) {
        self.options = options
        self.writerOptions = writerOptions
    }

    /// Encodes a value to text.
    /// - Throws: `StreamError`, with the path to a value that cannot be encoded.
    public func encode(_ value: any Encodable) throws(StreamError) -> String {
        var writer = JSONWriter(options: writerOptions)
        try writer.write(encodable: value, options: options)
        try writer.finish()
        return writer.text
    }
}
