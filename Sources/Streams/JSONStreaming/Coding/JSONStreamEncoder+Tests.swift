// The tests of the encoder: its entry points, comparisons with Foundation's encoder for containers of all kinds and
// values that fail, and paths.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistCoding
import PlistStreaming

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension JSONStreamEncoder: SelfTesting {
    /// The in-class tests of the encoder.
    public static var testSelectors: TestSelectors {
        [
            "testReturnsDataAndText": testReturnsDataAndText,
            "testWritesIntoAnySink": testWritesIntoAnySink,
            "testFillsAllKindsOfContainers": testFillsAllKindsOfContainers,
            "testDiscardsFailedValues": testDiscardsFailedValues,
            "testReportsPathOfNonFiniteNumbers": testReportsPathOfNonFiniteNumbers,
            "testReportsErrorsOfTypes": testReportsErrorsOfTypes,
            "testWritesWholeNumbersLikeFoundation": testWritesWholeNumbersLikeFoundation,
        ]
    }

    private static func testReturnsDataAndText() throws {
        let data = try JSONStreamEncoder().encode(["a": [1.5, nil]])
        expectEqual(data, Data(#"{"a":[1.5,null]}"#.utf8), "data, as JSONEncoder gives them")
        let text = try JSONStreamEncoder().encodeToString(["a": [1.5, nil]])
        expectEqual(text, #"{"a":[1.5,null]}"#, "text")
        let fragment = try JSONStreamEncoder(options: .pretty).encodeToString("x")
        expectEqual(fragment, "\"x\"\n", "a value alone")
        expectEqual(try JSONStreamDecoder().decode([String: [Double?]].self, from: data), ["a": [1.5, nil]], "back")
    }

    private static func testWritesIntoAnySink() throws {
        var trace = EventTrace()
        let options = JSONStreamEncoder().encodingOptions
        try trace.write(encodable: [Date(timeIntervalSinceReferenceDate: 1.5)], options: options)
        expectEqual(trace.text, "[ real 1.5 ]", "messages")
        var writer = JSONWriter(options: JSONWriterOptions(allowsMultipleValues: true))
        for number in 1...3 { try writer.write(encodable: ["n": number], options: options) }
        try writer.finish()
        expectEqual(writer.text, "{\"n\":1}\n{\"n\":2}\n{\"n\":3}\n", "lines")
        var untouched = EventTrace()
        expectThrows(StreamError.self, "a number that is none") {
            try untouched.write(encodable: [1, .nan], options: EncodingOptions(nonConformingFloats: .throw))
        }
        expectEqual(untouched.text, "", "what was sent before the error")
    }

    private static func testReportsErrorsOfTypes() {
        struct Own: Error, Equatable { var code: Int }
        struct Failing: Codable {
            var code = 7
            func encode(to encoder: any Encoder) throws { throw Own(code: code) }
            init() {}
            init(from decoder: any Decoder) throws { throw Own(code: 8) }
        }
        for value in [Failing(), [Failing()], ["a": [Failing()]]] as [any Encodable] {
            let error = expectThrows(StreamError.self, "encoding") { _ = try JSONStreamEncoder().encode(value) as Data }
            expectEqual(error?.cause as? Own, Own(code: 7), "the cause")
        }
        let invalid = expectThrows(StreamError.self, "an error of Codable") {
            _ = try JSONStreamEncoder().encode([Double.nan]) as Data
        }
        expectTrue(invalid?.cause is EncodingError, "the cause of an error of Codable")
        let own = expectThrows(Own.self, "decoding") { _ = try JSONStreamDecoder().decode([Failing].self, from: "[1]") }
        expectEqual(own, Own(code: 8), "the error itself")
    }

    private static func testWritesWholeNumbersLikeFoundation() throws {
        let values = [0, -0.0, 1, -1, 100, 1e15, 9_007_199_254_740_992, 0.5, 123456789.25]
        try expectSameText(values, "doubles")
        try expectSameText(["a": [1.0, 2.5], "b": []] as [String: [Float]], "floats")
        try expectSameText(3.0, "a double alone")
        for value in [9_007_199_254_740_994, 1e16, 1e17, 1e300] {
            let text = try JSONStreamEncoder().encodeToString(value)
            expectEqual(try JSONDecoder().decode(Double.self, from: Data(text.utf8)), value, text)
            expectEqual(try JSONStreamDecoder().decode(Double.self, from: text), value, text)
        }
        var writer = JSONWriter()
        try writer.write(encodable: [1.0], options: JSONStreamEncoder().encodingOptions)
        expectEqual(writer.text, "[1.0]", "by a writer of one's own")
    }

    // MARK: Comparison with Foundation

    private static func expectSameText(_ value: any Encodable, _ message: String, line: UInt = #line) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let ours = try JSONStreamEncoder(options: JSONWriterOptions(sortsKeys: true)).encodeToString(value)
        expectEqual(ours, String(decoding: try encoder.encode(value), as: UTF8.self), message, line: line)
    }

    private enum Key: String, CodingKey { case a, b, c, nested, list, deep }

    /// A value that calls every function of the containers.
    private struct Containers: Encodable {
        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Key.self)
            try container.encode(1, forKey: .a)
            try "in super".encode(to: container.superEncoder())
            try [1, 2].encode(to: container.superEncoder(forKey: .b))
            try container.encodeIfPresent(Int?.none, forKey: .c)
            var nested = container.nestedContainer(keyedBy: Key.self, forKey: .nested)
            var list = nested.nestedUnkeyedContainer(forKey: .list)
            try list.encode(contentsOf: [true, false])
            var deep = list.nestedContainer(keyedBy: Key.self)
            try deep.encodeNil(forKey: .deep)
            var deeper = list.nestedUnkeyedContainer()
            try deeper.encode(["x": 1])
            try Int8(-1).encode(to: deeper.superEncoder())
            _ = deeper.superEncoder()
            try nested.encode(UInt.max, forKey: .a)
        }
    }

    private static func testFillsAllKindsOfContainers() throws {
        try expectSameText(Containers(), "containers")
        try expectSameText([[Containers()], []], "containers in arrays")
        try expectSameText(["k": Containers()], "containers in dictionaries")
    }

    private struct Refusal: Error {}

    /// A value that encodes some of its contents before it fails, unless it is empty.
    private struct Failing: Encodable {
        var depth = 0

        func encode(to encoder: any Encoder) throws {
            guard depth > 0 else { throw Refusal() }
            if depth % 2 == 0 {
                var container = encoder.container(keyedBy: Key.self)
                try container.encode("left over", forKey: .a)
                try container.encode(Failing(depth: depth - 1), forKey: .b)
            } else {
                var container = encoder.unkeyedContainer()
                try container.encode("left over")
                try container.encode(Failing(depth: depth - 1))
            }
        }
    }

    private struct IgnoresErrors: Encodable {
        var depth: Int

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Key.self)
            try? container.encode(Failing(depth: depth), forKey: .a)
            try container.encode(1, forKey: .b)
            try? container.encode(Failing(depth: depth), forKey: .b)
            try container.encode(["x": 2], forKey: .c)
            try? container.encode(Failing(depth: depth), forKey: .deep)
            var list = container.nestedUnkeyedContainer(forKey: .list)
            for number in 0..<4 {
                try? list.encode(Failing(depth: depth))
                if number % 2 == 0 { try list.encode(Single(depth: depth)) }
                try? list.encode(Failing(depth: depth))
            }
            try? list.encode(Double.nan)
            try? container.encode(Float.infinity, forKey: .nested)
            try container.encode(list.count, forKey: .nested)
        }

        /// A value that encodes something else if the first attempt fails.
        struct Single: Encodable {
            var depth: Int

            func encode(to encoder: any Encoder) throws {
                var container = encoder.singleValueContainer()
                do { try container.encode(Failing(depth: depth)) } catch { try container.encode("another") }
            }
        }
    }

    private static func testDiscardsFailedValues() throws {
        // Foundation's encoder traps in the next container if a container was open when a value failed.
        try expectSameText(IgnoresErrors(depth: 0), "a value that ignores errors")
        try expectSameText([IgnoresErrors(depth: 0)], "the same in an array")
        for depth in 0...4 {
            let text = try JSONStreamEncoder().encodeToString([IgnoresErrors(depth: depth)])
            expectEqual(text, #"[{"b":1,"c":{"x":2},"list":["another","another"],"nested":2}]"#, "at depth \(depth)")
        }
    }

    private static func testReportsPathOfNonFiniteNumbers() {
        struct Sample: Encodable {
            var list: [Double] = [1]
            var part: [String: Float] = [:]
            var many: [[Double?]] = []
            var when: Date?
            var decimal: Decimal?
        }
        func message(_ value: some Encodable, _ options: JSONWriterOptions = JSONWriterOptions()) -> String? {
            expectThrows(StreamError.self, "\(value)") {
                let _: Data = try JSONStreamEncoder(options: options).encode(value)
            }?.description
        }
        expectEqual(message(Double.nan), "$: expected a finite number, found nan", "alone")
        expectEqual(
            message(Sample(list: [1, .infinity])), "$.list[1]: expected a finite number, found inf", "an array")
        expectEqual(
            message([Sample(part: ["k": -.infinity])]), "$[0].part.k: expected a finite number, found -inf", "a key")
        expectEqual(
            message(Sample(many: [[], [nil, .nan]])), "$.many[1][1]: expected a finite number, found nan", "deep")
        expectEqual(
            message(Sample(when: Date(timeIntervalSinceReferenceDate: .nan))),
            "$.when: expected a finite number, found nan",
            "a date")
        expectEqual(message(Sample(decimal: .nan)), "$.decimal: expected a finite number, found nan", "a decimal")
        let text = try? JSONStreamEncoder(options: JSONWriterOptions(nonFinite: .null)).encodeToString([1, .nan])
        expectEqual(text, "[1,null]", "what the writer has for them")
    }
}
#endif
