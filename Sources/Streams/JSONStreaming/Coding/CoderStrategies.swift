// The options of our coders under the names that `JSONDecoder` and `JSONEncoder` use.

public import PlistBuilding
public import PlistCoding

extension JSONStreamDecoder {
    /// The mapping from names in the text to coding keys: `decodingOptions.keyMapping`. Use `KeyMapping.keys` for the
    /// `custom` strategy of `JSONDecoder`.
    public var keyDecodingStrategy: KeyMapping {
        get { decodingOptions.keyMapping }
        set { decodingOptions.keyMapping = newValue }
    }

    /// The format for reading dates: `decodingOptions.dates`.
    public var dateDecodingStrategy: DecodingOptions.Dates {
        get { decodingOptions.dates }
        set { decodingOptions.dates = newValue }
    }

    /// The format for reading data: `decodingOptions.bytes`.
    public var dataDecodingStrategy: DecodingOptions.Bytes {
        get { decodingOptions.bytes }
        set { decodingOptions.bytes = newValue }
    }

    /// The format for reading infinities and NaN: `decodingOptions.nonConformingFloats`.
    public var nonConformingFloatDecodingStrategy: DecodingOptions.NonConformingFloats {
        get { decodingOptions.nonConformingFloats }
        set { decodingOptions.nonConformingFloats = newValue }
    }

    /// Additional values that types can read while they are decoded: `decodingOptions.userInfo`.
    public var userInfo: [CodingUserInfoKey: any Sendable] {
        get { decodingOptions.userInfo }
        set { decodingOptions.userInfo = newValue }
    }
}

extension JSONStreamEncoder {
    /// The mapping from coding keys to names in the text: `encodingOptions.keyMapping`. Use `KeyMapping.names` for the
    /// `custom` strategy of `JSONEncoder`.
    public var keyEncodingStrategy: KeyMapping {
        get { encodingOptions.keyMapping }
        set { encodingOptions.keyMapping = newValue }
    }

    /// The format for writing dates: `encodingOptions.dates`.
    public var dateEncodingStrategy: EncodingOptions.Dates {
        get { encodingOptions.dates }
        set { encodingOptions.dates = newValue }
    }

    /// The format for writing data: `encodingOptions.bytes`.
    public var dataEncodingStrategy: EncodingOptions.Bytes {
        get { encodingOptions.bytes }
        set { encodingOptions.bytes = newValue }
    }

    /// The format for writing infinities and NaN: `encodingOptions.nonConformingFloats`.
    public var nonConformingFloatEncodingStrategy: EncodingOptions.NonConformingFloats {
        get { encodingOptions.nonConformingFloats }
        set { encodingOptions.nonConformingFloats = newValue }
    }

    /// Additional values that types can read while they are encoded: `encodingOptions.userInfo`.
    public var userInfo: [CodingUserInfoKey: any Sendable] {
        get { encodingOptions.userInfo }
        set { encodingOptions.userInfo = newValue }
    }
}

extension KeyMapping {
    /// The name of `exact` in `JSONDecoder` and `JSONEncoder`.
    public static var useDefaultKeys: KeyMapping { .exact }
    /// The name of `snakeCase` in `JSONDecoder`.
    public static var convertFromSnakeCase: KeyMapping { .snakeCase }
    /// The name of `snakeCase` in `JSONEncoder`.
    public static var convertToSnakeCase: KeyMapping { .snakeCase }
}

extension DecodingOptions.Dates {
    /// The name of `secondsSince2001` in `JSONDecoder`.
    public static var deferredToDate: DecodingOptions.Dates { .secondsSince2001 }
}

extension EncodingOptions.Dates {
    /// The name of `secondsSince2001` in `JSONEncoder`.
    public static var deferredToDate: EncodingOptions.Dates { .secondsSince2001 }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistStreaming

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

enum JSONStrategiesTests {
    struct Reading: Codable, Equatable {
        var takenAt = Date(timeIntervalSince1970: 0)
        var rawBytes = Data([0, 255])
        var value = -Double.infinity
    }
}

extension JSONStrategiesTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testAcceptsFoundationStrategyNames": testAcceptsFoundationStrategyNames,
            "testFormatsDates": testFormatsDates,
            "testMapsKeysByFunctions": testMapsKeysByFunctions,
        ]
    }

    private static func testAcceptsFoundationStrategyNames() throws {
        let theirs = JSONEncoder()
        theirs.outputFormatting = .sortedKeys
        theirs.keyEncodingStrategy = .convertToSnakeCase
        theirs.dataEncodingStrategy = .deferredToData
        theirs.nonConformingFloatEncodingStrategy = .convertToString(
            positiveInfinity: "+", negativeInfinity: "-", nan: "?")
        var ours = JSONStreamEncoder(options: JSONWriterOptions(sortsKeys: true))
        ours.keyEncodingStrategy = .convertToSnakeCase
        ours.dataEncodingStrategy = .deferredToData
        ours.nonConformingFloatEncodingStrategy = .convertToString(
            positiveInfinity: "+", negativeInfinity: "-", nan: "?")
        var decoder = JSONStreamDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        decoder.dataDecodingStrategy = .deferredToData
        decoder.nonConformingFloatDecodingStrategy = .convertFromString(
            positiveInfinity: "+", negativeInfinity: "-", nan: "?")
        let reading = Reading()
        func check(_ name: String) throws {
            let data: Data = try ours.encode(reading)
            expectEqual(try theirs.encode(reading), data, name)
            expectEqual(try decoder.decode(Reading.self, from: data), reading, name)
        }
        try check("as they are")
        (theirs.dateEncodingStrategy, ours.dateEncodingStrategy) = (.deferredToDate, .deferredToDate)
        decoder.dateDecodingStrategy = .deferredToDate
        try check("deferred")
        (theirs.dateEncodingStrategy, ours.dateEncodingStrategy) = (.millisecondsSince1970, .millisecondsSince1970)
        decoder.dateDecodingStrategy = .millisecondsSince1970
        try check("milliseconds")
        (theirs.dateEncodingStrategy, ours.dateEncodingStrategy) = (.iso8601, .iso8601)
        decoder.dateDecodingStrategy = .iso8601
        try check("ISO 8601")
        expectTrue(ours.userInfo.isEmpty && decoder.userInfo.isEmpty, "nothing for types to ask for")
    }

    private static func testFormatsDates() throws {
        let style = Date.ISO8601FormatStyle().year().month().day()
        var encoder = JSONStreamEncoder()
        encoder.dateEncodingStrategy = .formatted(style)
        let date = Date(timeIntervalSince1970: 86_400)
        let text = try encoder.encodeToString(["day": date])
        expectEqual(text, #"{"day":"1970-01-02"}"#, "text")
        var decoder = JSONStreamDecoder()
        decoder.dateDecodingStrategy = .formatted(style)
        expectEqual(try decoder.decode([String: Date].self, from: text), ["day": date], "date")
        let error = expectThrows(DecodingError.self, "no date") {
            _ = try decoder.decode([String: Date].self, from: #"{"day":"yesterday"}"#)
        }
        guard case .dataCorrupted(let context)? = error else { return fail("another error: \(error as Any)") }
        expectEqual(context.codingPath.map(\.stringValue), ["day"], "path")
    }

    private struct Name: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { return nil }
    }

    private static func testMapsKeysByFunctions() throws {
        struct Names: Codable, Equatable {
            var first = 1
            var second: [String: Int] = ["kept": 2]
            var third: Int?
        }
        let oneWay = KeyMapping.names { $0.uppercased() }
        let bothWays = KeyMapping.custom({ $0.uppercased() }, inverse: { $0.lowercased() })
        for (name, mapping) in [("one way", oneWay), ("both ways", bothWays)] {
            var encoder = JSONStreamEncoder()
            encoder.keyEncodingStrategy = mapping
            let text = try encoder.encodeToString([Names(), Names(first: 3, third: 4)])
            expectEqual(text, #"[{"FIRST":1,"SECOND":{"kept":2}},{"FIRST":3,"SECOND":{"kept":2},"THIRD":4}]"#, name)
            var decoder = JSONStreamDecoder()
            decoder.keyDecodingStrategy = mapping
            expectEqual(try decoder.decode([Names].self, from: text), [Names(), Names(first: 3, third: 4)], name)
        }
        var reading = JSONStreamDecoder()
        reading.keyDecodingStrategy = .keys { $0.lowercased() }
        let theirs = JSONDecoder()
        theirs.keyDecodingStrategy = .custom { path in Name(stringValue: path.last?.stringValue.lowercased() ?? "") }
        for text in [#"{"FIRST":1,"Second":{"KEPT":2},"third":4}"#, #"{"first":1,"second":{}}"#] {
            expectEqual(
                try reading.decode(Names.self, from: text), try theirs.decode(Names.self, from: Data(text.utf8)), text)
        }
        var writing = JSONStreamEncoder()
        writing.keyEncodingStrategy = reading.keyDecodingStrategy
        let refused = expectThrows(StreamError.self, "names of keys") { let _: Data = try writing.encode(Names()) }
        expectEqual(refused?.kind, .misuse, "kind")
        struct Bound: StreamObject { var first = 1 }
        let options = BuilderOptions(keyMapping: reading.keyDecodingStrategy)
        let unbound = expectThrows(StreamError.self, "names of properties") {
            _ = try JSON.decode(Bound.self, from: "{}", options: options)
        }
        expectEqual(unbound?.kind, .misuse, "kind of the error of a bound type")
        var decoder = JSONStreamDecoder()
        decoder.keyDecodingStrategy = oneWay
        expectThrows(DecodingError.self, "keys that are not mapped") {
            _ = try decoder.decode(Names.self, from: #"{"first":1,"second":{}}"#)
        }
        // Types that read all keys need both directions.
        enum Choice: Codable, Equatable { case first(value: Int) }
        var encoder = JSONStreamEncoder()
        encoder.keyEncodingStrategy = oneWay
        let written = try encoder.encodeToString(Choice.first(value: 1))
        expectEqual(written, #"{"FIRST":{"VALUE":1}}"#, "an enumeration")
        expectThrows(DecodingError.self, "an enumeration by names") {
            _ = try decoder.decode(Choice.self, from: written)
        }
        decoder.keyDecodingStrategy = bothWays
        expectEqual(try decoder.decode(Choice.self, from: written), .first(value: 1), "an enumeration both ways")
    }
}
#endif
