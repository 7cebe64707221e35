// Tests that our coders of Codable types agree with Foundation's: each can read the other's output, and the errors are
// equivalent.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistCoding
import PlistStreaming

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

enum CodableAgreementTests {
    /// Coders of both kinds with the same strategies.
    private struct Coders {
        var encoding = EncodingOptions(dates: .secondsSince2001, bytes: .base64)
        var decoding = DecodingOptions()
        let encoder = JSONEncoder()
        let decoder = JSONDecoder()

        /// Checks that all four combinations produce the same value, equal to the original unless it can't be
        /// preserved, and that the texts are equivalent.
        func expectAgreement<Value: Codable & Equatable>(
            _ value: Value, _ message: String, isKept: Bool = true, line: UInt = #line
        ) throws {
            let ours: Data = try JSONStreamEncoder(encodingOptions: encoding).encode(value)
            let theirs = try encoder.encode(value)
            expectEqual(
                try JSONDecoder().decode(Tree.self, from: ours), try JSONDecoder().decode(Tree.self, from: theirs),
                "text of \(message)", line: line)
            for (name, text) in [("our", ours), ("their", theirs)] {
                let streamed = try JSONStreamDecoder(decodingOptions: decoding).decode(Value.self, from: text)
                if isKept { expectEqual(streamed, value, "\(message) from \(name) text", line: line) }
                let other = try decoder.decode(Value.self, from: text)
                expectEqual(streamed, other, "\(message) by Foundation from \(name) text", line: line)
            }
        }

        /// Checks that both decoders produce the same value from a text, or throw the same error at the same position.
        func expectAgreement<Value: Decodable & Equatable>(
            on text: String, _ type: Value.Type, line: UInt = #line
        ) {
            let ours = Result { try JSONStreamDecoder(decodingOptions: decoding).decode(type, from: text) }
            let theirs = Result { try decoder.decode(type, from: Data(text.utf8)) }
            switch (ours, theirs) {
            case (.success(let ours), .success(let theirs)):
                expectEqual(ours, theirs, "\(type) from \(text)", line: line)
            case (.failure(let ours), .failure(let theirs)):
                expectEqual(summary(of: ours), summary(of: theirs), "error of \(type) from \(text)", line: line)
            default: fail("\(type) from \(text): ours \(ours), theirs \(theirs)", line: line)
            }
        }
    }

    /// Returns the kind of an error and the path to its position.
    private static func summary(of error: any Error) -> String {
        func path(_ context: DecodingError.Context) -> String {
            context.codingPath.map { $0.intValue.map { "[\($0)]" } ?? "." + $0.stringValue }.joined()
        }
        switch error {
        case DecodingError.typeMismatch(_, let context): return "type mismatch at \(path(context))"
        case DecodingError.valueNotFound(let type, let context): return "no \(type) at \(path(context))"
        case DecodingError.keyNotFound(let key, let context): return "no key \(key.stringValue) at \(path(context))"
        // Foundation omits the path for numbers and dates.
        case DecodingError.dataCorrupted: return "corrupted"
        default: return "\(error)"
        }
    }

    // MARK: Types

    private enum Color: String, Codable, CaseIterable { case red, dark_blue, lightGreen }

    private enum Level: Int, Codable { case low = 1, high = 10 }

    /// A key of dictionaries that is a string in JSON.
    private struct Name: RawRepresentable, Hashable, Codable, CodingKeyRepresentable {
        var rawValue: String
        var codingKey: any CodingKey { Key(stringValue: rawValue) }
        init(rawValue: String) { self.rawValue = rawValue }
        init?<T: CodingKey>(codingKey: T) { rawValue = codingKey.stringValue }

        struct Key: CodingKey {
            var stringValue: String
            var intValue: Int? { nil }
            init(stringValue: String) { self.stringValue = stringValue }
            init?(intValue: Int) { nil }
        }
    }

    private enum Shape: Codable, Equatable {
        case empty
        case circle(radius: Double, center: [Int]?)
        case square(Int)
        indirect case pair(Shape, Shape)
    }

    private struct Mixture: Codable, Equatable {
        var colors: [Color: Int] = [:]
        var levels: [Level: String] = [:]
        var numbers: [Int: String] = [:]
        var names: [Name: Double?] = [:]
        var nested: [String: [String: Int?]] = [:]
        var identifiers: [UUID: Bool] = [:]
        var maybe: Int?? = nil
        var list: [String??] = []
        var shapes: [Shape] = []
        var set: Set<Int16> = []
        var range: ClosedRange<Int>? = nil
        var link: URL? = nil
        var decimal: Decimal = 0
        var wide: UInt64 = 0
        var small: Int8 = 0
        var float: Float = 0
        var color: Color? = nil
        var level: Level = .low
    }

    private struct Stamped: Codable, Equatable {
        var when: Date
        var later: Date?
        var all: [Date]
        var byName: [String: Date]
        var raw: Data
        var parts: [Data]
    }

    private struct Camel: Codable, Equatable {
        var firstName = "a"
        var userID = 1
        var myURLProperty = 2
        var address2Line = 3
        var _leading = 4
        var trailing_ = 5
        var aB = 6
        var already_snake = 7
        var tableOfNames = ["keyOfData": 1, "another_key": 2]
        var tableOfNumbers = [1: "x"]
        var shape = Shape.pair(.circle(radius: 1.5, center: nil), .square(2))
    }

    private struct Numbers: Codable, Equatable {
        var double: Double
        var float: Float
        var list: [Double]
        var table: [String: Double]
    }
}

extension CodableAgreementTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testAgreesWithFoundationOnMixedValues": testAgreesWithFoundationOnMixedValues,
            "testAgreesWithFoundationOnDatesAndData": testAgreesWithFoundationOnDatesAndData,
            "testAgreesWithFoundationOnKeys": testAgreesWithFoundationOnKeys,
            "testAgreesWithFoundationOnNonFiniteNumbers": testAgreesWithFoundationOnNonFiniteNumbers,
            "testAgreesWithFoundationOnFragments": testAgreesWithFoundationOnFragments,
            "testAgreesWithFoundationOnErrors": testAgreesWithFoundationOnErrors,
        ]
    }

    private static func mixture(_ random: inout some RandomNumberGenerator) -> Mixture {
        func text() -> String {
            String(
                (0..<Int.random(in: 0...20, using: &random)).map { _ in
                    "aZ_é\n\"/\\😀\u{1}9".randomElement(using: &random) ?? "x"
                })
        }
        func shape(_ depth: Int) -> Shape {
            switch Int.random(in: depth > 3 ? 1...3 : 0...3, using: &random) {
            case 0: .pair(shape(depth + 1), shape(depth + 1))
            case 1: .empty
            case 2: .square(.random(in: .min ... .max, using: &random))
            default:
                .circle(
                    radius: .random(in: -1e9...1e9, using: &random), center: Bool.random(using: &random) ? nil : [1])
            }
        }
        var value = Mixture()
        for color in Color.allCases where Bool.random(using: &random) { value.colors[color] = 1 }
        value.levels = [.low: text(), .high: text()]
        for _ in 0..<3 {
            value.numbers[.random(in: -99...99, using: &random)] = text()
            value.names[Name(rawValue: text())] = Bool.random(using: &random) ? .some(nil) : 0.5
            value.nested[text()] = [text(): nil, text(): 1]
            value.list.append(Bool.random(using: &random) ? nil : text())
            value.shapes.append(shape(0))
            value.set.insert(.random(in: .min ... .max, using: &random))
        }
        value.identifiers[UUID()] = true
        value.maybe = Bool.random(using: &random) ? 7 : nil
        value.range = -3...4
        value.link = URL(string: "https://a.b/c?d=e%20f#g")
        value.decimal = Decimal(Int.random(in: -1_000_000...1_000_000, using: &random)) / 1000
        value.wide = .random(in: 0 ... .max, using: &random)
        value.small = .random(in: .min ... .max, using: &random)
        value.float = Float(bitPattern: .random(in: 0..<0x7F80_0000, using: &random))
        value.color = Color.allCases.randomElement(using: &random)
        value.level = .high
        return value
    }

    private static func testAgreesWithFoundationOnMixedValues() throws {
        var random = TestRandom(seed: 1)
        try Coders().expectAgreement(Mixture(), "the first values")
        // A nil within an optional becomes nil, because JSON has only null for both.
        for round in 0..<100 { try Coders().expectAgreement(mixture(&random), "mixture \(round)", isKept: false) }
        try Coders().expectAgreement((0..<50).map { _ in mixture(&random) }, "many", isKept: false)
    }

    private static func testAgreesWithFoundationOnDatesAndData() throws {
        // Whole seconds, which ISO 8601 preserves.
        let dates = [0, 1, -1, 700_000_000, -978_307_200, 86_399].map { Date(timeIntervalSinceReferenceDate: $0) }
        let value = Stamped(
            when: dates[3], later: nil, all: dates, byName: ["a": dates[1]], raw: Data([0, 1, 255]),
            parts: [Data(), Data(repeating: 7, count: 100)])
        func check(
            _ name: String, _ encoding: EncodingOptions.Dates, _ decoding: DecodingOptions.Dates,
            _ theirEncoding: JSONEncoder.DateEncodingStrategy, _ theirDecoding: JSONDecoder.DateDecodingStrategy
        ) throws {
            var coders = Coders()
            coders.encoding.dates = encoding
            coders.decoding.dates = decoding
            coders.encoder.dateEncodingStrategy = theirEncoding
            coders.decoder.dateDecodingStrategy = theirDecoding
            try coders.expectAgreement(value, name)
            for text in ["[null]", "[\"x\"]", "[true]", "[{}]", "[1e3]", "[0.125]", "[\"2001-01-01T00:00:00Z\"]"] {
                coders.expectAgreement(on: text, [Date].self)
            }
        }
        try check("dates as they are", .secondsSince2001, .deferredToDate, .deferredToDate, .deferredToDate)
        try check("seconds", .secondsSince1970, .secondsSince1970, .secondsSince1970, .secondsSince1970)
        try check(
            "milliseconds", .millisecondsSince1970, .millisecondsSince1970, .millisecondsSince1970,
            .millisecondsSince1970)
        try check("ISO 8601", .iso8601, .iso8601, .iso8601, .iso8601)
        let encode: @Sendable (Date, any Encoder) throws -> Void = { date, encoder in
            var container = encoder.unkeyedContainer()
            try container.encode("at")
            try container.encode(date.timeIntervalSince1970)
        }
        let decode: @Sendable (any Decoder) throws -> Date = { decoder in
            var container = try decoder.unkeyedContainer()
            _ = try container.decode(String.self)
            return Date(timeIntervalSince1970: try container.decode(Double.self))
        }
        try check("functions", .custom(encode), .custom(decode), .custom(encode), .custom(decode))
        var bytes = Coders()
        bytes.encoding.bytes = .deferredToData
        bytes.decoding.bytes = .deferredToData
        bytes.encoder.dataEncodingStrategy = .deferredToData
        bytes.decoder.dataDecodingStrategy = .deferredToData
        try bytes.expectAgreement(value, "arrays of bytes")
        for text in ["[[256]]", "[[-1]]", "[\"AQ==\"]", "[[1,null]]"] { bytes.expectAgreement(on: text, [Data].self) }
        for text in ["[\"AQ==\"]", "[\"A\"]", "[\"\"]", "[1]"] { Coders().expectAgreement(on: text, [Data].self) }
    }

    private static func testAgreesWithFoundationOnKeys() throws {
        var coders = Coders()
        try coders.expectAgreement(Camel(), "keys as they are")
        coders.encoding.keyMapping = .snakeCase
        coders.encoder.keyEncodingStrategy = .convertToSnakeCase
        let ours: Data = try JSONStreamEncoder(encodingOptions: coders.encoding).encode(Camel())
        expectEqual(
            try JSONDecoder().decode(Tree.self, from: ours),
            try JSONDecoder().decode(Tree.self, from: try coders.encoder.encode(Camel())), "snake case")
        coders.decoding.keyMapping = .snakeCase
        coders.decoder.keyDecodingStrategy = .convertFromSnakeCase
        struct Some: Codable, Equatable {
            var firstName: String?
            var userId: Int?
            var _x: Int?
            var aBC: Int?
            var table: [String: [String: Int]]?
            var address2: Int?
        }
        let texts = [
            #"{"first_name":"a","user_id":1,"_x":2,"a_b_c":3,"address_2":4}"#,
            #"{"firstName":"a","user__id":2,"__x":2}"#,
            #"{"table":{"a_key":{"another_key":1}},"address2":1}"#, #"{"FIRST_NAME":"x","User_Id":1}"#, "{}",
            #"{"table":{"a_key":{"another_key":"x"}}}"#,
            #"{"table":{"a_key":{"b":1},"an_other":{"another_key":null}}}"#,
            #"{"table":{"a_key":1}}"#, #"{"first_name":1}"#,
        ]
        for text in texts { coders.expectAgreement(on: text, Some.self) }
        let upper: @Sendable (String) -> String = { $0.hasPrefix("X-") ? String($0.dropFirst(2)) : $0 }
        coders.decoding.keyMapping = .custom({ $0 }, inverse: upper)
        coders.decoder.keyDecodingStrategy = .custom { Name.Key(stringValue: upper($0.last?.stringValue ?? "")) }
        coders.expectAgreement(on: #"{"X-firstName":"a","userId":3,"X-table":{"X-k":{"X-l":1}}}"#, Some.self)
    }

    private static func testAgreesWithFoundationOnNonFiniteNumbers() throws {
        var coders = Coders()
        coders.encoding.nonConformingFloats = .convertToString(
            positiveInfinity: "+oo", negativeInfinity: "-oo", nan: "?")
        coders.encoder.nonConformingFloatEncodingStrategy = .convertToString(
            positiveInfinity: "+oo", negativeInfinity: "-oo", nan: "?")
        coders.decoding.nonConformingFloats = .convertFromString(
            positiveInfinity: "+oo", negativeInfinity: "-oo", nan: "?")
        coders.decoder.nonConformingFloatDecodingStrategy = .convertFromString(
            positiveInfinity: "+oo", negativeInfinity: "-oo", nan: "?")
        try coders.expectAgreement(
            Numbers(double: .infinity, float: -.infinity, list: [1, -.infinity, 0.5], table: ["a": .infinity]),
            "infinities")
        let read = try JSONStreamDecoder(decodingOptions: coders.decoding).decode([Float].self, from: #"["?","+oo",1]"#)
        expectTrue(read[0].isNaN && read[1] == .infinity && read[2] == 1, "NaN")
        for text in [#"["x"]"#, "[null]", "[1e400]", "[-0.0]", "[3e38]", "[1e39]"] {
            coders.expectAgreement(on: text, [Float].self)
            Coders().expectAgreement(on: text, [Double].self)
        }
    }

    private static func testAgreesWithFoundationOnFragments() throws {
        let coders = Coders()
        try coders.expectAgreement(1, "an integer")
        try coders.expectAgreement("x", "a string")
        try coders.expectAgreement(true, "a Boolean")
        try coders.expectAgreement(Int?.none, "null")
        try coders.expectAgreement(0.5, "a fraction")
        try coders.expectAgreement(Color.red, "a case")
        try coders.expectAgreement([Int?](arrayLiteral: nil, 1), "an array")
        try coders.expectAgreement(URL(string: "a:b"), "an address")
        try coders.expectAgreement(Decimal(string: "1234567890.123456789012345678"), "a decimal")
        for text in [
            "1", "1.0", "1.5", "1e2", "null", "\"1\"", "[]", "{}", "true", " 7 ", "-0", "18446744073709551616",
        ] {
            coders.expectAgreement(on: text, Int.self)
            coders.expectAgreement(on: text, UInt8?.self)
            coders.expectAgreement(on: text, Double.self)
            coders.expectAgreement(on: text, String?.self)
            // For a null, Foundation reports that it isn't a Boolean; for all other types, that the value is missing.
            if text != "null" { coders.expectAgreement(on: text, Bool.self) }
            coders.expectAgreement(on: text, [Int].self)
            coders.expectAgreement(on: text, [String: Int].self)
            coders.expectAgreement(on: text, Decimal.self)
            coders.expectAgreement(on: text, URL?.self)
        }
    }

    private static func testAgreesWithFoundationOnErrors() {
        struct Inner: Decodable, Equatable {
            var a: Int
            var b: [String: [Bool]]
        }
        struct Outer: Decodable, Equatable {
            var inner: Inner
            var list: [Inner]?
            var color: Color?
        }
        let texts = [
            "{}", "[]", "null", #"{"inner":null}"#, #"{"inner":{}}"#, #"{"inner":{"a":"1","b":{}}}"#,
            #"{"inner":{"a":1,"b":{"k":[true,1]}}}"#, #"{"inner":{"a":1,"b":{"k":null}}}"#,
            #"{"inner":{"a":1,"b":{}},"list":[{"a":1,"b":{}},{"a":1.5,"b":{}}]}"#,
            #"{"inner":{"a":1,"b":{}},"list":[{"a":1,"b":{}},null]}"#, #"{"inner":{"a":1,"b":{}},"list":{}}"#,
            #"{"inner":{"a":1,"b":{}},"color":"pink"}"#, #"{"inner":{"a":1,"b":{}},"color":1}"#,
            #"{"inner":{"a":99999999999999999999,"b":{}}}"#, #"{"inner":{"a":1,"b":{}},"list":null}"#,
        ]
        for text in texts { Coders().expectAgreement(on: text, Outer.self) }
        for text in [
            #"{"circle":{}}"#, #"{"square":{"_0":"x"}}"#, #"{"empty":{},"square":{"_0":1}}"#, "{}", #"{"none":{}}"#,
        ] {
            Coders().expectAgreement(on: text, Shape.self)
        }
        for text in ["[null]", "[1,null]", "[[null]]", "[{\"a\":null}]", "{\"a\":null}"] {
            Coders().expectAgreement(on: text, [Date].self)
            Coders().expectAgreement(on: text, [Data].self)
            Coders().expectAgreement(on: text, [URL].self)
            Coders().expectAgreement(on: text, [Decimal].self)
            Coders().expectAgreement(on: text, [Int8].self)
            Coders().expectAgreement(on: text, [Double].self)
            Coders().expectAgreement(on: text, [String].self)
            Coders().expectAgreement(on: text, [[Int]].self)
            Coders().expectAgreement(on: text, [[Int16]].self)
            Coders().expectAgreement(on: text, [String: Date].self)
            Coders().expectAgreement(on: text, [[String: Int]].self)
        }
        for text in [#"{"1":"a"}"#, #"{"x":"a"}"#, #"["1","a"]"#] {
            Coders().expectAgreement(on: text, [Int: String].self)
        }
        for text in [#"["red",1]"#, #"["red"]"#, #"{"red":1}"#, #"["pink",1]"#] {
            Coders().expectAgreement(on: text, [Color: Int].self)
        }
    }
}
#endif
