// The in-class tests of decoding one document after another, where later documents reuse memory and caches of earlier
// ones: no part of a document may appear in the next one.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistBuilding
import PlistCoding

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

enum SpareDecodingTests {
    struct Item: Codable, Equatable {
        var id = 0
        var fullName: String?
        var tags: [String]?
        var table: [String: Item]?
    }

    /// Keeps the container and the decoder of its initializer.
    struct DecoderHolder: Decodable {
        enum Key: String, CodingKey { case id, fullName }
        let container: KeyedDecodingContainer<Key>
        let decoder: any Decoder
        init(from decoder: any Decoder) throws {
            self.decoder = decoder
            container = try decoder.container(keyedBy: Key.self)
        }
        var id: Int? { try? container.decode(Int.self, forKey: .id) }
        var name: String? { try? container.decodeIfPresent(String.self, forKey: .fullName) }
    }

    /// Decodes a document of its own type while it is decoded.
    struct Nested: Decodable, Equatable {
        enum Key: String, CodingKey { case id, text }
        var ids: [Int] = []
        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: Key.self)
            if let text = try container.decodeIfPresent(String.self, forKey: .text) {
                ids = try JSONStreamDecoder().decode(Nested.self, from: text).ids
            }
            ids.append(try container.decode(Int.self, forKey: .id))
        }
    }

    final class LifetimeProbe: Sendable {}
}

extension SpareDecodingTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testNeverShowsAnEarlierDocument": testNeverShowsAnEarlierDocument,
            "testDistinguishesKeyStrategies": testDistinguishesKeyStrategies,
            "testRetainedDecodersStayValid": testRetainedDecodersStayValid,
            "testReleasesUserInfo": testReleasesUserInfo,
            "testDecodesDuringAnotherDecoding": testDecodesDuringAnotherDecoding,
            "testDecodesManyKeys": testDecodesManyKeys,
            "testDecodesOnManyThreads": testDecodesOnManyThreads,
        ]
    }

    private static let full = Item(
        id: 1, fullName: "a \"name\" of more than fifteen bytes", tags: ["x", "größe"], table: ["k": Item(id: 2)])

    private static func testNeverShowsAnEarlierDocument() throws {
        let decoder = JSONStreamDecoder()
        let texts = [
            #"{"id":3}"#, #"{"fullName":null,"id":4}"#, "{", "", "[]", #"{"id":"x"}"#, #"{"id":5} x"#,
            #"{"fullName":"y"}"#,
            #"{"id":6,"other":{"id":7},"id":8}"#, #"{"id":9,"table":{"a":{"id":1},"b":{"id":true}}}"#,
            #"{"tags":[],"id":1e2,"g\u0072öße":null}"#,
            #"{"id":10,"tags":["\#(String(repeating: "long ", count: 30_000))"]}"#,
        ]
        for text in texts + texts.reversed() + texts {
            for _ in 0..<20 { expectEqual(try decoder.decode(Item.self, from: self.text), full, "the same again") }
            let expected = try? JSONDecoder().decode(Item.self, from: Data(text.utf8))
            let found = try? decoder.decode(Item.self, from: text)
            // If members have the same name, the last one counts here, and any of them in Foundation.
            if !text.contains("id\":8") { expectEqual(found, expected, String(text.prefix(80))) }
        }
    }

    private static let text = (try? JSONStreamEncoder().encodeToString(full)) ?? ""

    private static func testDistinguishesKeyStrategies() throws {
        let exact = JSONStreamDecoder()
        var (snake, custom) = (JSONStreamDecoder(), JSONStreamDecoder())
        snake.keyDecodingStrategy = .convertFromSnakeCase
        custom.keyDecodingStrategy = .names { $0.uppercased() }
        for round in 0..<30 {
            let text = #"{"id":\#(round),"fullName":"exact","full_name":"snake","ID":-\#(round),"FULLNAME":"custom"}"#
            let last = #"{"full_name":"snake","id":\#(round)}"#
            expectEqual(try exact.decode(Item.self, from: text), Item(id: round, fullName: "exact"), "exact")
            expectEqual(try snake.decode(Item.self, from: last), Item(id: round, fullName: "snake"), "snake case")
            expectEqual(try custom.decode(Item.self, from: text), Item(id: -round, fullName: "custom"), "a function")
            expectEqual(try exact.decode(Item.self, from: last), Item(id: round), "no such key")
            // Both names map to the key; the first one counts.
            expectEqual(try snake.decode(Item.self, from: text).fullName, "exact", "two names for one key")
            for _ in 0..<round % 4 { expectEqual(try snake.decode(Item.self, from: last).id, round, "the same again") }
            expectEqual(try snake.decode(Item.self, from: text).fullName, "exact", "a second name for a known key")
            let turned = #"{"id":1,"full_name":"snake","fullName":"exact"}"#
            expectEqual(try snake.decode(Item.self, from: turned).fullName, "snake", "in another order")
        }
    }

    private static func testRetainedDecodersStayValid() throws {
        var kept: [DecoderHolder] = []
        for number in 0..<60 {
            let text = #"{"id":\#(number),"fullName":"a name with the number \#(number)"}"#
            let holder = try JSONStreamDecoder().decode(DecoderHolder.self, from: text)
            if number % 3 == 0 { kept.append(holder) }
            expectEqual(holder.id, number, "the number")
        }
        for (index, holder) in kept.enumerated() {
            expectEqual(holder.id, 3 * index, "the number of one that is kept")
            expectEqual(holder.name, "a name with the number \(3 * index)", "its name")
            expectEqual(try Item(from: holder.decoder).id, 3 * index, "its decoder")
        }
    }

    private static func testReleasesUserInfo() throws {
        guard let key = CodingUserInfoKey(rawValue: "probe") else { return fail("got no key") }
        weak var probe: LifetimeProbe?
        for _ in 0..<3 {
            let one = LifetimeProbe()
            probe = one
            var decoder = JSONStreamDecoder()
            decoder.userInfo = [key: one]
            decoder.dateDecodingStrategy = .custom { _ in withExtendedLifetime(one) { Date() } }
            expectEqual(try decoder.decode(Item.self, from: #"{"id":3}"#).id, 3, "value")
        }
        expectNil(probe, "what a decoder was told")
    }

    private static func testDecodesDuringAnotherDecoding() throws {
        let inner = #"{"id":1}"#
        for _ in 0..<30 {
            let text = try JSONStreamEncoder().encodeToString(["text": inner])
            expectThrows(DecodingError.self, "no number") {
                _ = try JSONStreamDecoder().decode(Nested.self, from: text)
            }
            let whole = text.dropLast() + #","id":2}"#
            expectEqual(try JSONStreamDecoder().decode(Nested.self, from: String(whole)).ids, [1, 2], "both")
        }
    }

    private static func testDecodesManyKeys() throws {
        let decoder = JSONStreamDecoder()
        for round in 0..<40 {
            let table = Dictionary(uniqueKeysWithValues: (0..<round * 10).map { ("key \(round * $0)", $0) })
            let text = try JSONStreamEncoder().encodeToString(table)
            expectEqual(try decoder.decode([String: Int].self, from: text), table, "keys of round \(round)")
            let equal = #"{"ö\#(round)":1,"o\u0308\#(round)":2}"#
            expectEqual(try decoder.decode([String: Int].self, from: equal), ["ö\(round)": 2], "keys that are equal")
        }
    }

    private static func testDecodesOnManyThreads() async throws {
        let decoder = JSONStreamDecoder()
        let wrong = await withTaskGroup(of: Int.self) { group in
            for worker in 0..<8 {
                group.addTask {
                    (0..<200).count { number in
                        let name = number % 3 == 0 ? #","fullName":"the name of the worker \#(worker)""# : ""
                        let id = worker * 1_000 + number
                        let expected = Item(id: id, fullName: name.isEmpty ? nil : "the name of the worker \(worker)")
                        if number % 7 == 0 {
                            _ = try? decoder.decode(Item.self, from: #"{"id":7,"fullName":"x","tags":[1]}"#)
                        }
                        return (try? decoder.decode(Item.self, from: #"{"id":\#(id)\#(name)}"#)) != expected
                    }
                }
            }
            return await group.reduce(0, +)
        }
        expectEqual(wrong, 0, "values that are not those of the text")
    }
}
#endif
