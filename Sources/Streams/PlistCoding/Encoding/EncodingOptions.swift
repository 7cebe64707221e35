// Converts Codable values to messages: the options and the entry point. The encoded value is kept in an `EncodedTree`
// and then sent in order, because Codable containers may be filled in any order and interleaved, while messages must be
// in order.

import PlistBuilding
import PlistStreaming

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// The options for values whose type the stream doesn't have. They correspond to those of `JSONEncoder`.
public struct EncodingOptions: Sendable {
    /// A format for writing dates.
    public enum Dates: Sendable {
        /// As dates, for sinks that support them; a JSON writer chooses a format.
        case native
        /// As numbers of seconds since 2001 or since 1970.
        case secondsSince2001, secondsSince1970, millisecondsSince1970
        /// As strings such as `2001-01-01T00:00:00Z` in the Gregorian calendar at all times, as ISO 8601 requires.
        /// Foundation writes dates before October 15th, 1582, in the Julian calendar. Dates outside the years 0 to 9999
        /// are an error.
        case iso8601
        /// With a function that encodes one value.
        case custom(@Sendable (Date, any Encoder) throws -> Void)

        /// As strings that a style formats, such as `Date.ISO8601FormatStyle`. To use a `DateFormatter`, use a
        /// function.
        public static func formatted<Style: FormatStyle & Sendable>(_ style: Style) -> Dates
        where Style.FormatInput == Date, Style.FormatOutput == String {
            .custom { date, encoder in
                var container = encoder.singleValueContainer()
                try container.encode(style.format(date))
            }
        }
    }

    /// A format for writing data.
    public enum Bytes: Sendable {
        /// As data, for sinks that support it.
        case native
        /// As Base64 strings.
        case base64
        /// As arrays of bytes, as `Data` encodes itself.
        case deferredToData
        /// With a function that encodes one value.
        case custom(@Sendable (Data, any Encoder) throws -> Void)
    }

    /// A format for writing non-finite numbers.
    public enum NonConformingFloats: Sendable {
        /// As they are, for sinks that support them; a JSON writer chooses a format.
        case native
        /// Throws an error with the path to the number.
        case `throw`
        /// As these strings.
        case convertToString(positiveInfinity: String, negativeInfinity: String, nan: String)
    }

    /// The mapping from coding keys to names in the stream. The keys of dictionaries with string keys are already
    /// names.
    public var keyMapping: KeyMapping
    /// The format for writing dates.
    public var dates: Dates
    /// The format for writing data.
    public var bytes: Bytes
    /// The format for writing infinities and NaN.
    public var nonConformingFloats: NonConformingFloats
    /// Additional values that types can read while they are encoded.
    public var userInfo: [CodingUserInfoKey: any Sendable]
    /// The maximum depth of values that encode other values. Deeper values throw `limitExceeded`.
    public var depthLimit: Int

    /// Creates options.
    public init(
        keyMapping: KeyMapping = .exact, dates: Dates = .native, bytes: Bytes = .native,
        nonConformingFloats: NonConformingFloats = .native, userInfo: [CodingUserInfoKey: any Sendable] = [:],
        depthLimit: Int = 512
    ) {
        self.keyMapping = keyMapping
        self.dates = dates
        self.bytes = bytes
        self.nonConformingFloats = nonConformingFloats
        self.userInfo = userInfo
        self.depthLimit = depthLimit
    }
}

extension PlistSink where Self: ~Copyable {
    /// Sends a value of any `Encodable` type.
    /// - Throws: Any error of the sink; before anything is sent, an error of the value's own encoding as the cause of
    ///   `unrepresentable`; `limitExceeded` for values that encode values endlessly.
    /// - Complexity: O(*n*) in the value, which is stored as a tree of 24 bytes per value, plus the text.
    @inlinable  // PERF: JSONRecords/writing; so that sending is specialized for the sink.
    public mutating func write(
        encodable value: any Encodable, options: EncodingOptions = EncodingOptions()
    ) throws(StreamError) {
        let tree = try EncodedTree(of: value, options: options)
        defer { withExtendedLifetime(tree) {} }
        do throws(StreamError) { try tree.messages().send(to: &self) } catch {
            cancel(with: error)
            throw error
        }
    }
}

extension StreamPath {
    /// Creates the path from coding keys.
    init(codingPath: [any CodingKey]) {
        self.init(codingPath.map { key in key.intValue.map { .index($0) } ?? .key(key.stringValue) })
    }
}
