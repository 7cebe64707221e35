// The in-class tests of decoding from trees. The tests of `JSONStreamDecoder` check the agreement with Foundation on
// JSON.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistBuilding

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

enum ValueDecoderTests {
    struct Node: Codable, Equatable {
        var theName = ""
        var count: Int?
        var children: [Node] = []
        var table: [String: [String: Int8]] = [:]
    }

    struct Scalars: Codable, Equatable {
        var a: Int8
        var b: UInt64
        var c: Float
        var d: Double
        var e: Bool
        var f: String
        var g: [Int?]
        var h: [Double]
        var i: [[String]]
    }

    /// A type that uses its containers in ways that synthesized code never does.
    struct UnusualDecodable: Decodable, Equatable {
        enum Key: String, CodingKey { case a, b, list, missing }

        var text = ""

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: Key.self)
            let other = try decoder.container(keyedBy: Key.self)
            var list = try container.nestedUnkeyedContainer(forKey: .list)
            let nested = try list.nestedContainer(keyedBy: Key.self)
            text = try other.decode(String.self, forKey: .b) + nested.decode(String.self, forKey: .a)
            text += try container.decode(String.self, forKey: .a)
            text += try list.decodeNil() ? "null" : "none"
            text += "\(try list.decode(Int.self))"
            text += "\(try Int8(from: list.superDecoder()))"
            text += try list.decodeNil() ? "null" : "none"
            text += (try? list.decode(Int.self)) == nil ? "?" : "!"
            text += "\(list.currentIndex)\(try list.decode(String.self))\(list.isAtEnd)"
            text +=
                " \(container.allKeys.map(\.rawValue)) \(container.contains(.missing)) \(try container.decodeNil(forKey: .b))"
        }
    }
}

extension ValueDecoderTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testDecodesEveryScalar": testDecodesEveryScalar,
            "testFindsMembersInAnyOrder": testFindsMembersInAnyOrder,
            "testReusesContainers": testReusesContainers,
            "testReportsPathOfErrors": testReportsPathOfErrors,
            "testMapsKeysOfTypesButNotDictionaries": testMapsKeysOfTypesButNotDictionaries,
            "testSupportsEveryContainerMethod": testSupportsEveryContainerMethod,
            "testDecodesURLsInBothForms": testDecodesURLsInBothForms,
        ]
    }

    private static func decode<Value: Decodable>(
        _ type: Value.Type, _ script: String, _ options: DecodingOptions = DecodingOptions()
    ) throws -> Value {
        try PropertyListValueDecoder(options: options).decode(type, from: PropertyListBuilder.list(script))
    }

    private static func testDecodesEveryScalar() throws {
        let scalars = Scalars(
            a: -8, b: .max, c: 0.5, d: 3, e: true, f: "a text of more than fifteen bytes", g: [1, nil], h: [1, 2.5],
            i: [[], ["x", "größe"]])
        var builder = PropertyListBuilder()
        try builder.write(encodable: scalars)
        let list = try builder.takeResult()
        expectEqual(try PropertyListValueDecoder().decode(Scalars.self, from: list), scalars, "round trip")
        expectEqual(try decode([Int].self, "[ integer 1 real 2.0 ]"), [1, 2], "integers")
        expectEqual(try decode([UInt8].self, "[ integer 255 ]"), [255], "small integers")
    }

    private static func testFindsMembersInAnyOrder() throws {
        let orders = [
            "{ key \"theName\" string \"n\" key \"count\" integer 1 key \"children\" [ ] key \"table\" { } }",
            "{ key \"table\" { } key \"x\" null key \"children\" [ ] key \"count\" integer 1 key \"theName\" string \"n\" }",
            "{ key \"count\" integer 7 key \"table\" { } key \"count\" integer 1 key \"theName\" string \"n\" key \"children\" [ ] }",
        ]
        for script in orders {
            expectEqual(try decode([Node].self, "[ \(script) \(orders[0]) ]").count, 2, "an array of \(script)")
            expectEqual(try decode(Node.self, script), Node(theName: "n", count: 1), script)
        }
    }

    private static func testReusesContainers() throws {
        // Enough dictionaries for containers to be reused, with one type within itself.
        let inner = (0..<300).map { (number: Int) in
            Node(theName: "\(number)", count: number, table: ["k": ["l\(number)": 1]])
        }
        let value = [Node(theName: "a", children: inner), Node(theName: "b", children: inner)]
        var builder = PropertyListBuilder()
        try builder.write(encodable: value)
        let list = try builder.takeResult()
        expectEqual(try PropertyListValueDecoder().decode([Node].self, from: list), value, "round trip")
    }

    private static func testReportsPathOfErrors() throws {
        func path<Value: Decodable>(_ type: Value.Type, _ script: String) -> String? {
            do {
                _ = try decode(type, script)
                return nil
            } catch DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context),
                DecodingError.dataCorrupted(let context)
            {
                return context.codingPath.map(\.stringValue).joined(separator: "/")
            } catch {
                return "\(error)"
            }
        }
        let head = "key \"theName\" string \"n\" key \"table\" { key \"a\" { key \"b\" integer 1 } }"
        let leaf = "{ \(head) key \"children\" [ ] }"
        let row = "[ \(leaf) { \(head) key \"children\" [ \(leaf) { key \"theName\" integer 1 } ] } ]"
        expectEqual(path([Node].self, row), "1/children/1/theName", "a member of an element")
        expectEqual(path([String: [Int]].self, "{ key \"a\" [ integer 1 string \"x\" ] }"), "a/1", "an element")
        expectEqual(path(Int.self, "string \"x\""), "", "the root")
        expectEqual(path([[Int8]].self, "[ [ integer 1 ] [ integer 1 integer 128 ] ]"), "1/1", "a number too large")
        expectEqual(path([[[Int]]].self, "[ [ ] [ [ ] null ] ]"), "1/1", "a null")
        let twice = "{ key \"theName\" [ integer 1 ] key \"table\" { } key \"theName\" [ integer 2 ] }"
        expectEqual(path([String: [String]].self, twice), "theName/0", "the last value of a key")
    }

    private static func testMapsKeysOfTypesButNotDictionaries() throws {
        let options = DecodingOptions(keyMapping: .snakeCase)
        let script = """
            { key "the_name" string "n" key "children" [ ] key "table" { key "a_key" { key "b_key" integer 1 } } }
            """
        let expected = Node(theName: "n", table: ["a_key": ["b_key": 1]])
        expectEqual(try decode(Node.self, script, options), expected, "a node")
    }

    private static func testSupportsEveryContainerMethod() throws {
        let script = """
            { key "a" string "A" key "b" string "B" key "list" \
            [ { key "a" string "N" } null integer 5 integer 6 string "x" ] }
            """
        expectEqual(
            try decode(UnusualDecodable.self, script).text, "BNAnull56none?4xtrue [\"a\", \"b\", \"list\"] false false",
            "what it saw")
        expectEqual(try decode([UnusualDecodable].self, "[ \(script) \(script) ]").count, 2, "two of them")
    }

    private static func testDecodesURLsInBothForms() throws {
        struct Link: Codable, Equatable { var at: [URL] }
        let url = try requireNotNil(URL(string: "https://example.org/a?b=c#d"))
        let base = try requireNotNil(URL(string: "x/y", relativeTo: url))
        // The output of Foundation's property list encoder, which lets a URL encode itself.
        let data = try PropertyListEncoder().encode(Link(at: [url, base]))
        expectEqual(try PropertyListDecoder().decode(Link.self, from: data), Link(at: [url, base]), "Foundation")
        let nested = "{ key \"relative\" string \"x/y\" key \"base\" { key \"relative\" string \"\(url)\" } }"
        let script = "{ key \"at\" [ { key \"relative\" string \"\(url)\" } \(nested) string \"\(url)\" ] }"
        expectEqual(try decode(Link.self, script), Link(at: [url, base, url]), "URLs")
        for text in ["{ }", "{ key \"relative\" integer 1 }", "integer 1", "[ ]"] {
            expectThrows(DecodingError.self, text) { _ = try decode([URL].self, "[ \(text) ]") }
        }
    }
}
#endif
