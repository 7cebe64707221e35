// Sends any value to any sink: with its plan, with its own encoder, or by its dynamic type.

import PlistBuilding
import PlistStreaming

extension PlistSink where Self: ~Copyable {
    /// Sends a value of any type: one that writes itself, a bound one, a dictionary, an array, an `Encodable`, or nil.
    ///
    /// Dictionaries that are not bound are sent in the order of their keys.
    /// - Throws: Any error of the sink, and `misuse` for a value that can't be written in any known way.
    public mutating func write(any value: Any, options: WritingOptions = WritingOptions()) throws(StreamError) {
        do throws(StreamError) { try write(any: value, PlanWriter(options: options), depth: 0) } catch {
            cancel(with: error)
            throw error
        }
    }

    /// Sends a value by its dynamic type.
    private mutating func write(any value: Any, _ writer: PlanWriter, depth: Int) throws(StreamError) {
        if try writer.writeBound(any: value, to: &self, depth: depth) { return }
        if let dictionary = value as? [String: Any] {
            try beginDictionary()
            for (key, value) in dictionary.sorted(by: { $0.key < $1.key }) {
                do throws(StreamError) {
                    try key.withUTF8Span { (span) throws(StreamError) in try writeKey(span) }
                    try write(any: value, writer, depth: depth + 1)
                } catch {
                    throw error.within(.key(key))
                }
            }
            return try endDictionary()
        }
        if let array = value as? [Any] {
            try beginArray()
            for (index, value) in array.enumerated() {
                do throws(StreamError) { try write(any: value, writer, depth: depth + 1) } catch {
                    throw error.within(.index(index))
                }
            }
            return try endArray()
        }
        if let encodable = value as? any Encodable { return try write(encodable: encodable) }
        if let optional = value as? any OptionalValue, optional.isNil { return try writeNull() }
        throw StreamError(.misuse, "\(type(of: value)) is neither StreamEncodable, StreamValue nor Encodable")
    }
}

/// An optional of any type.
private protocol OptionalValue {
    var isNil: Bool { get }
}

extension Optional: OptionalValue {
    var isNil: Bool { self == nil }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

enum AnyValueTests {
    struct Inner: StreamObject {
        var x = 1
        var note: String? = nil
    }

    struct Coded: Encodable {
        var a = 1
        var b: String? = nil
        var c = [true, false]
        var d = ["k": 1.5]
    }
}

extension AnyValueTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testWritesValuesOfAnyType": testWritesValuesOfAnyType,
            "testWritesTheDigitsOfAFloat": testWritesTheDigitsOfAFloat,
            "testRethrowsErrorsOfTheSink": testRethrowsErrorsOfTheSink,
        ]
    }

    private static func trace(_ value: Any) throws -> String {
        var trace = EventTrace()
        try trace.write(any: value)
        return trace.text
    }

    private static func testWritesValuesOfAnyType() throws {
        let value: [String: Any] = ["b": [1, "x", Inner(), 2.5, Optional<Int>.none as Any] as [Any], "a": ["c": true]]
        expectEqual(
            try trace(value),
            "{ key \"a\" { key \"c\" true } key \"b\" [ integer 1 string \"x\" { key \"x\" integer 1 } real 2.5 null ] }",
            "dictionary")
        expectEqual(
            try trace([Coded()]),
            "[ { key \"a\" integer 1 key \"c\" [ true false ] key \"d\" { key \"k\" real 1.5 } } ]", "Encodable")
        let error = expectThrows(StreamError.self, "a type nobody knows") { _ = try trace({ 1 } as () -> Int) }
        expectEqual(error?.kind, .misuse, "kind")
    }

    private static func testWritesTheDigitsOfAFloat() throws {
        expectEqual(try trace(["k": [0.1 as Float as any Encodable]]), "{ key \"k\" [ real 0.1 ] }", "of any type")
        var coded = EventTrace()
        try coded.write(encodable: ["k": 0.1 as Float])
        expectEqual(coded.text, "{ key \"k\" real 0.1 }", "by its encoder")
    }

    private static func testRethrowsErrorsOfTheSink() throws {
        let error = expectThrows(StreamError.self, "a sink that refuses") {
            var builder = try ObjectBuilder<[Int]>()
            try builder.write(any: [1, "x"] as [Any])
        }
        expectEqual(error?.description, "$[1]: expected an integer, found string \"x\"", "description")
    }
}
#endif
