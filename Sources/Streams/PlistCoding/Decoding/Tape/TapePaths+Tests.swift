// Tests of the cost of decoding in steps, for types that look up members in any order, fail on purpose, or request
// their path.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistBuilding
import PlistStreaming

enum TapePathsTests {
    struct Name: CodingKey {
        var stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    /// A type that looks up all keys, starting with the last one.
    struct Backwards: Decodable {
        var sum = 0
        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: Name.self)
            for key in container.allKeys.reversed() where container.contains(key) {
                sum += try container.decode(Int.self, forKey: key)
            }
        }
    }

    /// A list that omits elements that aren't integers.
    struct Lossy: Decodable {
        var values: [Int] = []
        init(from decoder: any Decoder) throws {
            var container = try decoder.unkeyedContainer()
            while !container.isAtEnd {
                if let value = try? container.decode(Int.self) {
                    values.append(value)
                } else {
                    _ = try container.superDecoder()
                }
            }
        }
    }

    /// One of several types, found by trying.
    enum Anything: Decodable {
        case integer(Int)
        case text(String)
        case list([Anything])
        case table([String: Anything])

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let value = try? container.decode(Int.self) {
                self = .integer(value)
            } else if let value = try? container.decode(String.self) {
                self = .text(value)
            } else if let value = try? container.decode([Anything].self) {
                self = .list(value)
            } else {
                self = .table(try container.decode([String: Anything].self))
            }
        }
    }

    /// A type that stores its path.
    struct Located: Codable {
        var path = ""
        init() {}
        init(from decoder: any Decoder) throws { path = decoder.codingPath.map(\.stringValue).joined(separator: ".") }
        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(encoder.codingPath.map(\.stringValue).joined(separator: "."))
        }
    }
}

extension TapePathsTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testDecodesInLinearTime": testDecodesInLinearTime,
            "testFindsMappedKeysInLinearTime": testFindsMappedKeysInLinearTime,
            "testFindsMembersInAnyOrder": testFindsMembersInAnyOrder,
            "testFindsPathsOfNodes": testFindsPathsOfNodes,
            "testEncodersFindPathsInLinearTime": testEncodersFindPathsInLinearTime,
        ]
    }

    private static func tape(_ send: (inout DecodingTape) throws -> Void) rethrows -> DecodingTape {
        var tape = DecodingTape()
        try send(&tape)
        return tape
    }

    /// Returns the steps that decoding takes for each value, in addition to advancing to the next one.
    private static func stepsPerValue<Value: Decodable>(
        _ type: Value.Type, options: DecodingOptions = DecodingOptions(), _ send: (inout DecodingTape) throws -> Void
    ) throws -> Double {
        let context = DecodingContext(options: options, try tape(send))
        _ = try context.decode(type, at: DecodingContext.root)
        return Double(context.stepCount) / Double(unsafe context.nodes.count)
    }

    private static func table(_ count: Int) -> (inout DecodingTape) throws -> Void {
        { tape in
            try tape.beginDictionary()
            for number in 0..<count {
                try "key\(number)".withUTF8Span { (name) throws(StreamError) in try tape.writeKey(name) }
                try tape.writeInteger(Int64(number))
            }
            try tape.endDictionary()
        }
    }

    private static func list(
        _ count: Int, _ send: @escaping (Int, inout DecodingTape) throws -> Void
    ) -> (inout DecodingTape) throws -> Void {
        { tape in
            try tape.beginArray()
            for number in 0..<count { try send(number, &tape) }
            try tape.endArray()
        }
    }

    private static func testDecodesInLinearTime() throws {
        for count in [400, 4_000] {
            let texts = list(count) { number, tape in
                if number % 2 == 0 { try tape.writeNull() } else { try "x".withUTF8Span { try tape.writeString($0) } }
            }
            let rows = list(count) { number, tape in
                try tape.beginDictionary()
                try "a".withUTF8Span { try tape.writeKey($0) }
                try tape.writeInteger(Int64(number))
                try "b".withUTF8Span { try tape.writeKey($0) }
                try "x".withUTF8Span { try tape.writeString($0) }
                try tape.endDictionary()
            }
            let steps = [
                ("a dictionary", try stepsPerValue([String: Int].self, table(count))),
                ("backwards", try stepsPerValue(Backwards.self, table(count))),
                ("a lossy array", try stepsPerValue(Lossy.self, texts)),
                ("any value", try stepsPerValue(Anything.self, rows)),
                ("paths", try stepsPerValue([Located].self, rows)),
            ]
            // One pass to decide whether a table is worthwhile, and one to build it.
            for (name, steps) in steps where steps > 8 { fail("\(name) of \(count): \(steps) steps a value") }
        }
    }

    private static func testFindsMappedKeysInLinearTime() throws {
        for count in [400, 4_000] {
            let snake = try stepsPerValue(
                Backwards.self, options: DecodingOptions(keyMapping: .snakeCase), table(count))
            let halves = DecodingOptions(
                keyMapping: .custom({ $0 }, inverse: { $0.hasSuffix("1") ? String($0.dropLast()) : $0 }))
            let custom = try stepsPerValue(Backwards.self, options: halves, table(count))
            for steps in [snake, custom] where steps > 8 { fail("\(count) members: \(steps) steps a value") }
        }
    }

    private static func testFindsMembersInAnyOrder() throws {
        for count in [1, 7, 8, 9, 127, 128, 129, 130, 1_000] {
            let context = DecodingContext(options: DecodingOptions(), try tape(table(count)))
            let decoder = ValueDecoder(context: context, index: DecodingContext.root)
            let container = try decoder.container(keyedBy: Name.self)
            var number = 0
            for step in 0..<(4 * count) {
                number = (number &* 7 &+ step) % (count + 3)
                let expected = number < count ? number : nil
                let found = try container.decodeIfPresent(Int.self, forKey: Name(stringValue: "key\(number)"))
                if found != expected { expectEqual(found, expected, "key\(number) of \(count)") }
            }
        }
    }

    private static func testFindsPathsOfNodes() throws {
        let tape = try tape { tape in
            try EventScript.send(
                "{ key \"a\" [ { } { key \"b\" [ [ ] null { key \"c\" true } ] } ] key \"d\" { key \"e\" [ integer 1 ] } }",
                to: &tape)
        }
        let context = DecodingContext(options: DecodingOptions(), tape)
        func paths() -> [String] {
            unsafe context.nodes.indices.map { context.path(of: $0).map(\.stringValue).joined(separator: ".") }
        }
        let expected = [
            "", "a", "a.0", "a.1", "a.1.b", "a.1.b.0", "a.1.b.1", "a.1.b.2", "a.1.b.2.c", "d", "d.e", "d.e.0",
        ]
        // The first one builds the table.
        for round in 0..<2 { expectEqual(paths(), expected, "paths in round \(round)") }
        expectEqual(
            context.path(of: DecodingContext.missingSuper(in: 3)).map(\.stringValue), ["a", "1", "super"], "super")
    }

    private static func testEncodersFindPathsInLinearTime() throws {
        struct Failing: Encodable {
            func encode(to encoder: any Encoder) throws { throw StreamError(.misuse, "\(encoder.codingPath.count)") }
        }
        struct Lossy: Encodable {
            var count: Int
            func encode(to encoder: any Encoder) throws {
                var container = encoder.unkeyedContainer()
                for number in 0..<count {
                    if number % 3 == 0 { try? container.encode(Failing()) }
                    try container.encode(Located())
                }
            }
        }
        for count in [10, 1_000] {
            let tree = EncodedTree(options: EncodingOptions())
            try ValueEncoder(tree: tree, node: EncodedTree.root, depth: 0).encode(Lossy(count: count))
            if tree.nodes.stepCount > 4 * count { fail("\(count) elements: \(tree.nodes.stepCount) steps") }
            var trace = EventTrace()
            try tree.messages().send(to: &trace)
            let expected = (0..<count).map { "string \"\($0)\"" }.joined(separator: " ")
            expectEqual(trace.text, "[ \(expected) ]", "the places of elements")
        }
    }
}
#endif
