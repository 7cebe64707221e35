// The strategies for decoding with Codable that users of `JSONDecoder` know.

import PlistBuilding

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// The options for dates, data, numbers and keys that a stream represents with other types. They correspond to those of
/// `JSONDecoder`.
public struct DecodingOptions: Sendable {
    /// A format for reading dates. A date in the stream is always read as a date.
    public enum Dates: Sendable {
        /// From numbers of seconds since 2001, and from strings such as `2001-01-01T00:00:00Z`: every representation
        /// that a format writes.
        case native
        /// From numbers of seconds since 2001, as `Date` decodes itself, or since 1970.
        case secondsSince2001, secondsSince1970, millisecondsSince1970
        /// From strings such as `2001-01-01T00:00:00Z` in the Gregorian calendar at all times, as ISO 8601 requires.
        /// Foundation reads dates before October 15th, 1582, in the Julian calendar.
        case iso8601
        /// With a function.
        case custom(@Sendable (any Decoder) throws -> Date)

        /// From strings that a strategy parses, such as `Date.ISO8601FormatStyle`. To use a `DateFormatter`, use a
        /// function.
        public static func formatted<Strategy: ParseStrategy & Sendable>(_ strategy: Strategy) -> Dates
        where Strategy.ParseInput == String, Strategy.ParseOutput == Date {
            .custom { decoder in
                let text = try decoder.singleValueContainer().decode(String.self)
                do { return try strategy.parse(text) } catch {
                    throw DecodingError.dataCorrupted(
                        DecodingError.Context(
                            codingPath: decoder.codingPath, debugDescription: "expected a date, found other text",
                            underlyingError: error))
                }
            }
        }
    }

    /// A format for reading data. Data in the stream is always read as data.
    public enum Bytes: Sendable {
        /// From arrays of bytes, as `Data` decodes itself.
        case deferredToData
        /// From Base64 strings.
        case base64
        /// With a function.
        case custom(@Sendable (any Decoder) throws -> Data)
    }

    /// A format for reading non-finite numbers.
    public enum NonConformingFloats: Sendable {
        /// Throws an error.
        case `throw`
        /// From these strings.
        case convertFromString(positiveInfinity: String, negativeInfinity: String, nan: String)
    }

    /// The mapping from coding keys to the names to find in the stream. The keys of dictionaries with string keys are
    /// already names.
    public var keyMapping: KeyMapping
    /// The format for reading dates.
    public var dates: Dates
    /// The origin of native dates that are numbers, in seconds since 2001.
    package var nativeDateOrigin = 0.0
    /// The format for reading data.
    public var bytes: Bytes
    /// The format for reading infinities and NaN.
    public var nonConformingFloats: NonConformingFloats
    /// Additional values that types can read while they are decoded.
    public var userInfo: [CodingUserInfoKey: any Sendable]

    /// Creates options.
    public init(
        keyMapping: KeyMapping = .exact, dates: Dates = .native, bytes: Bytes = .base64,
        nonConformingFloats: NonConformingFloats = .throw, userInfo: [CodingUserInfoKey: any Sendable] = [:]
    ) {
        self.keyMapping = keyMapping
        self.dates = dates
        self.bytes = bytes
        self.nonConformingFloats = nonConformingFloats
        self.userInfo = userInfo
    }

    /// A Boolean value that indicates whether functions map the keys. Contexts with such functions aren't reused,
    /// because functions can't be compared.
    var hasKeyFunctions: Bool {
        switch keyMapping.rule {
        case .exact, .snakeCase: false
        case .custom, .keys: true
        }
    }

    /// The mapping from names to coding keys, or nil if they are equal.
    var codingKeys: ((String) -> String)? {
        switch keyMapping.rule {
        case .exact: nil
        case .snakeCase: { Self.camelCased($0) }
        case .custom(let functions): functions.inverse
        case .keys(let inverse): inverse
        }
    }

    /// The mapping from coding keys to names, if names aren't mapped to coding keys; otherwise nil.
    var names: ((String) -> String)? {
        if case .custom(let functions) = keyMapping.rule, functions.inverse == nil { functions.map } else { nil }
    }

    /// Converts `snake_case` to `camelCase`; keeps underscores at both ends.
    static func camelCased(_ name: String) -> String {
        let underscore = UInt8(ascii: "_")
        // PERF: once for each key; bytes are compared and split faster than characters.
        let bytes = name.utf8
        guard bytes.contains(underscore), let start = bytes.firstIndex(where: { $0 != underscore }),
            let last = bytes.lastIndex(where: { $0 != underscore })
        else { return name }
        let words = bytes[start...last].split(separator: underscore).map { Substring($0) }
        guard words.count > 1 else { return name }
        let others = words.dropFirst().map { $0.prefix(1).uppercased() + $0.dropFirst().lowercased() }
        return name[..<start] + words[0].lowercased() + others.joined() + name[bytes.index(after: last)...]
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension DecodingOptions: SelfTesting {
    /// The in-class tests of the options.
    public static var testSelectors: TestSelectors {
        ["testTurnsSnakeCaseIntoCamelCase": testTurnsSnakeCaseIntoCamelCase]
    }

    private static func testTurnsSnakeCaseIntoCamelCase() {
        let rows = [
            ("", ""), ("_", "_"), ("a", "a"), ("aB", "aB"), ("a_b", "aB"), ("_a_b_", "_aB_"),
            ("FIRST_NAME", "firstName"),
            ("a__b", "aB"), ("a_1b_c2", "a1bC2"), ("__x__y__", "__xY__"), ("_aB", "_aB"), ("größe_äX", "größeÄx"),
        ]
        for (name, expected) in rows { expectEqual(camelCased(name), expected, name) }
    }
}
#endif
