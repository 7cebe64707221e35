// Tests of `JSONStreamDecoder` and `JSONStreamEncoder`: comparisons with Foundation's coders, and their differences.

#if DEBUG || IN_CLASS_TESTS
import Foundation
import InClassTesting
import PlistBuilding
import PlistCoding
import PlistStreaming

enum JSONStreamDecoderTests {
    struct Inner: Codable, Equatable {
        var x: Double
        var note: String?
    }

    enum Kind: String, Codable { case one, two }

    enum Choice: Codable, Equatable {
        case number(Int)
        case pair(a: String, b: [Int])
    }

    struct Sample: Codable, Equatable {
        var id: Int
        var small: UInt8
        var big: UInt64
        var name: String
        var flag: Bool?
        var inner: Inner
        var list: [Inner]
        var matrix: [[Int]]
        var table: [String: Float]
        var kind: Kind
        var choice: Choice
        var when: Date
        var bytes: Data
        var link: URL
    }

    class Base: Codable {
        var a = 1
    }

    final class Derived: Base {
        var b = 2

        override init() { super.init() }

        init(b: Int) {
            super.init()
            self.b = b
        }

        enum CodingKeys: String, CodingKey { case b }

        required init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            b = try container.decode(Int.self, forKey: .b)
            try super.init(from: container.superDecoder())
        }

        override func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try super.encode(to: container.superEncoder())
            try container.encode(b, forKey: .b)
        }
    }

    // A new value for each use: a leak sanitizer doesn't see the references of an enumeration.
    static var sample: Sample {
        Sample(
            id: -7, small: 255, big: .max, name: "näme \"quoted\" of more than fifteen bytes", flag: nil,
            inner: Inner(x: 0.1, note: nil), list: [Inner(x: -1e300, note: "n"), Inner(x: 3, note: nil)],
            matrix: [[1, 2], []], table: ["k": 1.5], kind: .two, choice: .pair(a: "x", b: [1]),
            when: Date(timeIntervalSinceReferenceDate: 123_456.5), bytes: Data([0, 255, 7]),
            link: URL(fileURLWithPath: "/a/b"))
    }
}

extension JSONStreamDecoderTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testDecodesOutputOfFoundation": testDecodesOutputOfFoundation,
            "testFoundationDecodesItsOutput": testFoundationDecodesItsOutput,
            "testAgreesWithFoundationOnErrors": testAgreesWithFoundationOnErrors,
            "testFollowsStrategies": testFollowsStrategies,
            "testReportsPositionOfInvalidText": testReportsPositionOfInvalidText,
            "testEncodesByCustomFunctions": testEncodesByCustomFunctions,
            "testCodesSuperclasses": testCodesSuperclasses,
            "testKeepsFoundationValuesOfMembers": testKeepsFoundationValuesOfMembers,
            "testRetainedContainersStayValid": testRetainedContainersStayValid,
            "testFindsOptionalMembers": testFindsOptionalMembers,
            "testDecodesPropertyLists": testDecodesPropertyLists,
            "testReadsFromEverySource": testReadsFromEverySource,
        ]
    }

    private static func testDecodesOutputOfFoundation() throws {
        let data = try JSONEncoder().encode([sample, sample])
        expectEqual(try JSONStreamDecoder().decode([Sample].self, from: data), [sample, sample], "samples")
    }

    private static func testFoundationDecodesItsOutput() throws {
        let text = try JSONStreamEncoder().encodeToString([sample, sample])
        expectEqual(try JSONDecoder().decode([Sample].self, from: Data(text.utf8)), [sample, sample], "samples")
        expectEqual(try JSONStreamDecoder().decode([Sample].self, from: text), [sample, sample], "by our decoder")
    }

    private static func testAgreesWithFoundationOnErrors() {
        func shape(_ decode: () throws -> Void) -> String {
            do {
                try decode()
                return "none"
            } catch DecodingError.keyNotFound(let key, let context) {
                return "keyNotFound \(key.stringValue) \(context.codingPath.map(\.stringValue))"
            } catch DecodingError.typeMismatch(_, let context) {
                return "typeMismatch \(context.codingPath.map(\.stringValue))"
            } catch DecodingError.valueNotFound(_, let context) {
                return "valueNotFound \(context.codingPath.map(\.stringValue))"
            } catch DecodingError.dataCorrupted(let context) {
                return "dataCorrupted \(context.codingPath.map(\.stringValue))"
            } catch {
                return "\(error)"
            }
        }
        let texts = [
            "[{\"x\": 1}]", "[{\"x\": \"1\"}]", "[{\"x\": 1}, {}]", "[{\"x\": null}]", "[null]", "[1]", "{}",
            "[{\"x\":true}]",
            "[{\"x\": 1, \"note\": 2}]", "[[]]", "[{\"x\": 1, \"note\": null}]",
        ]
        for text in texts {
            let ours = shape { _ = try JSONStreamDecoder().decode([Inner].self, from: text) }
            let theirs = shape { _ = try JSONDecoder().decode([Inner].self, from: Data(text.utf8)) }
            let isIndexSpelling = ours.replacingOccurrences(of: "Index ", with: "")
            expectEqual(isIndexSpelling, theirs.replacingOccurrences(of: "Index ", with: ""), text)
        }
        for text in ["[1.5]", "[256]", "[-1]", "[\"1\"]", "[true]", "[1e2]", "[2.0]", "[18446744073709551616]"] {
            let ours = shape { _ = try JSONStreamDecoder().decode([UInt8].self, from: text) }
            let theirs = shape { _ = try JSONDecoder().decode([UInt8].self, from: Data(text.utf8)) }
            expectEqual(ours.prefix(4), theirs.prefix(4), text)
        }
        let dates = JSONDecoder()
        dates.dateDecodingStrategy = .iso8601
        for text in ["[1]", "[null]", "[{}]", "[\"2001\"]"] {
            let ours = shape {
                _ = try JSONStreamDecoder(decodingOptions: .init(dates: .iso8601)).decode([Date].self, from: text)
            }
            let theirs = shape { _ = try dates.decode([Date].self, from: Data(text.utf8)) }
            expectEqual(ours.prefix(13), theirs.prefix(13), text)
        }
        for text in ["[1e309]", "[1e300]"] {
            let decimal = shape { _ = try JSONStreamDecoder().decode([Decimal].self, from: text) }
            expectEqual(decimal.prefix(13), "dataCorrupted", "a number beyond Decimal")
        }
    }

    private struct Timed: Codable, Equatable {
        var startDate: Date
        var rawBytes: Data
        var ratio: Double
    }

    private static func testFollowsStrategies() throws {
        let options = DecodingOptions(
            keyMapping: .snakeCase, dates: .iso8601,
            nonConformingFloats: .convertFromString(positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan"))
        let text = "{\"start_date\": \"2001-01-02T00:00:00Z\", \"raw_bytes\": \"AP8=\", \"ratio\": \"-inf\"}"
        let timed = try JSONStreamDecoder(decodingOptions: options).decode(Timed.self, from: text)
        expectEqual(timed.startDate, Date(timeIntervalSinceReferenceDate: 86_400), "date")
        expectEqual(timed.rawBytes, Data([0, 255]), "bytes")
        expectEqual(timed.ratio, -.infinity, "ratio")
        let custom = DecodingOptions(
            dates: .custom { decoder in
                Date(timeIntervalSince1970: Double(try decoder.singleValueContainer().decode(String.self)) ?? 0)
            })
        let dates = try JSONStreamDecoder(decodingOptions: custom).decode([Date].self, from: "[\"5\"]")
        expectEqual(dates, [Date(timeIntervalSince1970: 5)], "custom")
        let milliseconds = DecodingOptions(dates: .millisecondsSince1970)
        let later = try JSONStreamDecoder(decodingOptions: milliseconds).decode([Date].self, from: "[1500]")
        expectEqual(later, [Date(timeIntervalSince1970: 1.5)], "milliseconds")
        // Two spellings of one key in one text; each dictionary has its own spelling.
        let spellings = try JSONStreamDecoder(decodingOptions: DecodingOptions(keyMapping: .snakeCase)).decode(
            [Named].self, from: "[{\"first_name\": \"a\"}, {\"firstName\": \"b\"}, {\"first__name\": \"c\"}, {}]")
        expectEqual(spellings.map(\.firstName), ["a", "b", "c", nil], "spellings of a key")
        try checkSpellings()
    }

    /// One dictionary with several spellings of a key: the first one counts, as in Foundation, regardless of earlier
    /// dictionaries.
    private static func checkSpellings() throws {
        struct Snake: Decodable, Equatable { var firstName: String? }
        struct Accent: Decodable, Equatable { var é: String? }
        func check<Value: Decodable & Equatable>(_ type: Value.Type, _ names: [String], isSnake: Bool) throws {
            let theirs = JSONDecoder()
            if isSnake { theirs.keyDecodingStrategy = .convertFromSnakeCase }
            let ours = JSONStreamDecoder(decodingOptions: DecodingOptions(keyMapping: isSnake ? .snakeCase : .exact))
            for count in [0, 200] {
                let more = (0..<count).map { ",\"m\($0)\":0" }.joined()
                let pairs = names.flatMap { one in names.map { [one, $0] } } + names.map { [$0] } + [[]]
                let texts = pairs.filter { Set($0.map { Array($0.utf8) }).count == $0.count }.map { pair in
                    "{\"o\":1" + pair.map { ",\"\($0)\":\"\($0.utf8.count)\"" }.joined() + more + "}"
                }
                for first in texts {
                    let text = "[\(first),\(texts.joined(separator: ",")),\(first)]"
                    let expected = try theirs.decode([Value].self, from: Data(text.utf8))
                    expectEqual(try ours.decode([Value].self, from: text), expected, text)
                }
            }
        }
        try check(Snake.self, ["first_name", "firstName", "first__name", "FIRST_NAME"], isSnake: true)
        for isSnake in [false, true] { try check(Accent.self, ["é", "e\u{301}"], isSnake: isSnake) }
    }

    private static func testEncodesByCustomFunctions() throws {
        struct Stamp: Encodable {
            var when = Date(timeIntervalSinceReferenceDate: 1.5), raw = Data([1, 2]), none: Date? = nil
        }
        let options = EncodingOptions(
            dates: .custom { date, encoder in
                var container = encoder.singleValueContainer()
                try container.encode("at \(date.timeIntervalSinceReferenceDate)")
            },
            bytes: .custom { data, encoder in
                var container = encoder.container(keyedBy: StampKey.self)
                try container.encode(data.count, forKey: .byteCount)
            })
        let text = try JSONStreamEncoder(encodingOptions: options).encodeToString([Stamp()])
        expectEqual(text, #"[{"when":"at 1.5","raw":{"byteCount":2}}]"#, "text")
        let failing = EncodingOptions(
            dates: .custom { date, encoder in
                throw EncodingError.invalidValue(date, .init(codingPath: encoder.codingPath, debugDescription: "no"))
            })
        let error = expectThrows(StreamError.self, "a function that fails") {
            _ = try JSONStreamEncoder(encodingOptions: failing).encode([Stamp()])
        }
        expectEqual(error?.description, "$[0].when: no", "its error")
    }

    private enum StampKey: String, CodingKey { case byteCount }

    private struct Named: Codable {
        var firstName: String?
    }

    private static func testReportsPositionOfInvalidText() {
        for text in ["", "[1,]", "{\"a\":}", "[1] x", "[\"\u{1}\"]"] {
            let error = expectThrows(DecodingError.self, text) {
                _ = try JSONStreamDecoder().decode([Int].self, from: text)
            }
            guard case .dataCorrupted(let context) = error else {
                fail("\(text) is not reported as corrupted data")
                continue
            }
            expectNotNil((context.underlyingError as? StreamError)?.position, "position in \(text)")
        }
    }

    private struct Bound: StreamObject, Equatable {
        var when = Date(timeIntervalSinceReferenceDate: 0)
        var bytes = Data()
        var link: URL? = nil
        var identifier: UUID? = nil
    }

    private static func testKeepsFoundationValuesOfMembers() throws {
        let exact = JSONWriterOptions(dates: .secondsSince2001)
        for (seconds, options) in [(7.125, JSONWriterOptions()), (-0.5, JSONWriterOptions.pretty), (0.1 + 0.2, exact)] {
            let value = Bound(
                when: Date(timeIntervalSinceReferenceDate: seconds), bytes: Data([0, 255]),
                link: URL(string: "http://a/b"), identifier: UUID())
            var writer = JSONWriter(options: options)
            try writer.write([value, Bound()])
            try writer.finish()
            var builder = try ObjectBuilder<[Bound]>()
            try builder.readJSON(writer.text)
            expectEqual(try builder.takeResult(), [value, Bound()], writer.text)
        }
    }

    /// Keeps its decoder and its containers, and decodes on request.
    private struct Later: Decodable {
        enum Key: String, CodingKey { case text, list, other }

        let decoder: any Decoder
        let container: KeyedDecodingContainer<Key>
        let list: any UnkeyedDecodingContainer

        init(from decoder: any Decoder) throws {
            self.decoder = decoder
            container = try decoder.container(keyedBy: Key.self)
            list = try container.nestedUnkeyedContainer(forKey: .list)
        }

        func texts() throws -> [String] {
            var list = list
            let again = try decoder.container(keyedBy: Key.self)
            return try [
                container.decode(String.self, forKey: .text), again.decode(String.self, forKey: .text),
                list.decode(String.self), String(again.contains(.other)),
            ] + container.decode([String].self, forKey: .list)
        }
    }

    private static func testRetainedContainersStayValid() throws {
        func member(_ number: Int) -> String {
            "{\"text\": \"a text of more than fifteen bytes \(number)\", \"list\": [\"\\n another long one \(number)\"]}"
        }
        let later = try JSONStreamDecoder().decode(
            [Later].self, from: "[" + (0..<100).map(member).joined(separator: ",") + "]")
        // Other values reuse memory that would have been freed.
        _ = try JSONStreamDecoder().decode(
            [Inner].self, from: "[" + String(repeating: "{\"x\":1},", count: 200) + "{\"x\":1}]")
        for (number, value) in later.enumerated() {
            let (text, element) = ("a text of more than fifteen bytes \(number)", "\n another long one \(number)")
            expectEqual(try value.texts(), [text, text, element, "false", element], "\(number)")
        }
        expectThrows(DecodingError.self, "a member that is missing") {
            _ = try later[70].container.decode(Int.self, forKey: .other)
        }
    }

    private struct Optionals: Decodable, Equatable {
        var a: Bool?
        var b: String?
        var c: Double?
        var d: Float?
        var e: Int?
        var f: UInt8?
        var g: Inner?
        var h: [Int?]?
        var i: [String: Int?]?
    }

    private static func testFindsOptionalMembers() throws {
        let members = [
            "\"a\":true", "\"b\":\"x\"", "\"c\":1.5", "\"d\":2", "\"e\":-3", "\"f\":255", "\"g\":{\"x\":0}",
            "\"h\":[1,null]",
            "\"i\":{\"k\":null}",
        ]
        var texts = ["{}", "{\"z\":[{\"a\":1}]}", "{" + members.reversed().joined(separator: ",") + "}"]
        for left in members.indices {
            let null = members[left].prefix(4) + "null"
            for chosen in [members.indices.filter { $0 != left }, Array(members.indices)] {
                texts.append("{" + chosen.map { $0 == left ? String(null) : members[$0] }.joined(separator: ",") + "}")
            }
        }
        // All texts together, so that the members of some are at positions where others have other members.
        let all = "[" + texts.joined(separator: ",") + "]"
        expectEqual(
            try JSONStreamDecoder().decode([Optionals].self, from: all),
            try JSONDecoder().decode([Optionals].self, from: Data(all.utf8)), "optional members")
        for text in ["{\"f\":256}", "{\"a\":1}", "{\"h\":{}}", "{\"g\":{}}"] {
            expectThrows(DecodingError.self, text) { _ = try JSONStreamDecoder().decode(Optionals.self, from: text) }
        }
    }

    private static func testDecodesPropertyLists() throws {
        let text = "{\"a\":[1,{\"b\":\"a text of more than fifteen bytes\\n\"}],\"b\":1e400,\"a\":[null,true,-0.5]}"
        let list = try JSONStreamDecoder().decode(PropertyList.self, from: text)
        expectEqual(list.members.map(\.key), ["a", "b"], "keys")
        expectEqual(list["a"]?.elements.map(\.kind), [.null, .bool, .real], "the last value of a key")
        let nested = try JSONStreamDecoder().decode([String: [PropertyList]].self, from: "{\"k\":[\(text),{}]}")
        expectEqual(nested["k"]?.first, list, "the same inside of another type")
        expectThrows(DecodingError.self, "bad text") {
            _ = try JSONStreamDecoder().decode(PropertyList.self, from: "[1,]")
        }
    }

    /// A source of chunks of any size.
    private struct Chunks: ByteSource {
        let chunks: [[UInt8]]

        func open() -> ByteInput {
            var rest = chunks[...]
            return ByteInput { (body) throws(StreamError) in
                guard let chunk = rest.popFirst() else { return false }
                try chunk.withRawSpan(body)
                return true
            }
        }
    }

    private static func testReadsFromEverySource() throws {
        let value = sample
        let text = try JSONStreamEncoder().encodeToString([value])
        let bytes = Array(text.utf8)
        let decoder = JSONStreamDecoder()
        expectEqual(try decoder.decode([Sample].self, from: text), [value], "text")
        expectEqual(try decoder.decode([Sample].self, from: Data(bytes)), [value], "data")
        expectEqual(try decoder.decode([Sample].self, from: bytes), [value], "bytes")
        for size in [1, 2, 3, 7, 64, bytes.count] {
            let chunks = stride(from: 0, to: bytes.count, by: size).map {
                Array(bytes[$0..<min($0 + size, bytes.count)])
            }
            expectEqual(try decoder.decode([Sample].self, from: Chunks(chunks: chunks)), [value], "chunks of \(size)")
        }
        expectThrows(DecodingError.self, "no chunks") { _ = try decoder.decode(Int.self, from: Chunks(chunks: [])) }
        let name = "JSONStreamDecoder-\(UUID().uuidString).json"
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(name)
        try Data(bytes).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        expectEqual(try decoder.decode([Sample].self, from: file), [value], "file")
        expectEqual(try decoder.decode([Sample].self, from: .file(file.path)), [value], "path of a file")
        let error = expectThrows(StreamError.self, "no such file") {
            _ = try decoder.decode(Int.self, from: .file(file.path + "/none"))
        }
        expectEqual(error?.kind, .cannotRead, "kind")
    }

    private static func testCodesSuperclasses() throws {
        let object = Derived(b: 3)
        object.a = 4
        let text = try JSONStreamEncoder().encodeToString(object)
        let again = try JSONStreamDecoder().decode(Derived.self, from: text)
        expectEqual(again.a, 4, "a")
        expectEqual(again.b, 3, "b")
        expectEqual(try JSONDecoder().decode(Derived.self, from: Data(text.utf8)).a, 4, "a by Foundation")
    }
}
#endif
