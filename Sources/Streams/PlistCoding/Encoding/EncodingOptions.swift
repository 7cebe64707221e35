// From Codable to messages: the options, and the door. What an `Encodable` encodes is kept in an `EncodedTree`, which is
// then sent in order: containers of Codable may be filled in any order and interleaved, messages may not.

import PlistBuilding
import PlistStreaming

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// How an encoder writes what a stream has no type for, as `JSONEncoder` does.
public struct EncodingOptions: Sendable {
    /// How dates are written.
    public enum Dates: Sendable {
        /// As dates, for sinks that have them; a JSON writer decides.
        case native
        /// As numbers of seconds since 2001 or since 1970.
        case secondsSince2001, secondsSince1970, millisecondsSince1970
        /// As strings such as `2001-01-01T00:00:00Z`, of the Gregorian calendar at all times, as ISO 8601 has it; Foundation writes
        /// dates before October 15th, 1582, as those of the Julian one. Dates outside the years 0 to 9999 are an error.
        case iso8601
        /// By a function, which encodes one value.
        case custom(@Sendable (Date, any Encoder) throws -> Void)

        /// As strings that a style formats, such as `Date.ISO8601FormatStyle`; a `DateFormatter` is used by a function.
        public static func formatted<Style: FormatStyle & Sendable>(_ style: Style) -> Dates
        where Style.FormatInput == Date, Style.FormatOutput == String {
            .custom { date, encoder in
                var container = encoder.singleValueContainer()
                try container.encode(style.format(date))
            }
        }
    }

    /// How data are written.
    public enum Bytes: Sendable {
        /// As data, for sinks that have them.
        case native
        /// As strings in base 64.
        case base64
        /// As arrays of bytes, as `Data` encodes itself.
        case deferredToData
        /// By a function, which encodes one value.
        case custom(@Sendable (Data, any Encoder) throws -> Void)
    }

    /// How numbers that are none are written.
    public enum NonConformingFloats: Sendable {
        /// As they are, for sinks that have them; a JSON writer decides.
        case native
        /// Not at all: they are an error with the path to the number.
        case `throw`
        /// As these strings.
        case convertToString(positiveInfinity: String, negativeInfinity: String, nan: String)
    }

    /// How coding keys become names in the stream; those of dictionaries with string keys are names already.
    public var keyMapping: KeyMapping
    /// How dates are written.
    public var dates: Dates
    /// How data are written.
    public var bytes: Bytes
    /// How infinities and NaN are written.
    public var nonConformingFloats: NonConformingFloats
    /// What types can ask for while they are encoded.
    public var userInfo: [CodingUserInfoKey: any Sendable]
    /// How deep values may encode values, beyond which `limitExceeded` is thrown.
    public var depthLimit: Int

    /// Makes options.
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
    /// - Throws: What the sink throws; an error of the value's own encoding comes as the cause of `unrepresentable`, and
    ///   before anything is sent; `limitExceeded` for values that encode values without end.
    /// - Complexity: O(*n*) in the value, which is held as a tree of 24 bytes a value and the text.
    @inlinable  // PERF: JSONRecords/writing; so that sending is specialised for the sink.
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
    /// The path that coding keys spell.
    init(codingPath: [any CodingKey]) {
        self.init(codingPath.map { key in key.intValue.map { .index($0) } ?? .key(key.stringValue) })
    }
}
