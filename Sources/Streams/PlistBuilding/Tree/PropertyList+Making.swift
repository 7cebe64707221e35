// Makes trees in code, from values and literals. `PropertyListBuilder` makes all other trees.

import PlistStreaming

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension PropertyList {
    /// Null, which can also be written as `nil`.
    public static let null: PropertyList = nil

    /// Creates a tree from a value of a bound type.
    ///
    /// - Throws: An error of writing the value: `limitExceeded` for a value that is nested too deep, or an error of its own
    ///   encoder.
    /// - Complexity: O(*n*) in the value.
    public init<Value: StreamValue>(of value: Value, options: WritingOptions = WritingOptions()) throws(StreamError) {
        var builder = PropertyListBuilder(depthLimit: .max)
        try builder.write(value, options: options)
        self = try builder.takeResult()
    }

    /// Creates a Boolean.
    public init(_ value: Bool) { self.init { (builder) throws(StreamError) in try builder.writeBool(value) } }

    /// Creates an integer. An integer beyond 64 bits is stored as its digits.
    public init(_ value: some FixedWidthInteger) {
        self.init { (builder) throws(StreamError) in
            if let value = Int64(exactly: value) {
                try builder.writeInteger(value)
            } else if let value = UInt64(exactly: value) {
                try builder.writeUnsigned(value)
            } else {
                try "\(value)".withUTF8Span { (span) throws(StreamError) in try builder.writeNumber(text: span) }
            }
        }
    }

    /// Creates a floating-point number.
    public init(_ value: Double) { self.init { (builder) throws(StreamError) in try builder.writeReal(value) } }

    /// Creates a floating-point number with the decimal digits of the value: 0.1 for 0.1.
    public init(_ value: Float) { self.init(Double(digitsOf: value)) }

    /// Creates an integer from a decimal number if it is an integer and fits into 64 bits. Other numbers are stored as their
    /// digits. Returns nil for NaN.
    public init?(decimal value: Decimal) {
        guard value.isFinite else { return nil }
        self.init { (builder) throws(StreamError) in
            try value.description.withUTF8Span { (span) throws(StreamError) in
                if let value = NumberText.integer(span, as: Int64.self) {
                    try builder.writeInteger(value)
                } else if let value = NumberText.integer(span, as: UInt64.self) {
                    try builder.writeUnsigned(value)
                } else {
                    try builder.writeNumber(text: span)
                }
            }
        }
    }

    /// Creates data.
    public init(data: some Sequence<UInt8>) {
        let bytes = Array(data)
        self.init { (builder) throws(StreamError) in
            // SAFETY: the span does not leave the closure.
            try unsafe bytes.withUnsafeBufferPointer { (buffer) throws(StreamError) in
                try builder.writeData(unsafe UnsafeRawBufferPointer(buffer).bytes)
            }
        }
    }

    /// Creates a date from the seconds since 2001-01-01 00:00:00 UTC, like `Date.timeIntervalSinceReferenceDate`.
    public init(secondsSince2001 seconds: Double) {
        self.init { (builder) throws(StreamError) in try builder.writeDate(secondsSince2001: seconds) }
    }

    /// Creates a string.
    public init(_ value: String) {
        self.init { (builder) throws(StreamError) in
            try value.withUTF8Span { (span) throws(StreamError) in try builder.writeString(span) }
        }
    }

    /// Creates an array.
    /// - Complexity: O(*n*) in the contents of the elements, which are copied.
    public init(_ elements: [PropertyList]) {
        self.init { (builder) throws(StreamError) in
            try builder.beginArray()
            for element in elements { try element.send(to: &builder) }
            try builder.endArray()
        }
    }

    /// Creates a dictionary. If a key is repeated, its last value is used.
    /// - Complexity: O(*n*) in the contents of the members, which are copied.
    public init(_ members: some Sequence<(String, PropertyList)>) {
        self.init { (builder) throws(StreamError) in
            try builder.beginDictionary()
            for (key, value) in members {
                try key.withUTF8Span { (span) throws(StreamError) in try builder.writeKey(span) }
                try value.send(to: &builder)
            }
            try builder.endDictionary()
        }
    }

    /// Creates a tree from messages to a builder without a limit. The builder accepts all messages in a valid order.
    private init(_ send: (inout PropertyListBuilder) throws(StreamError) -> Void) {
        var builder = PropertyListBuilder(depthLimit: .max)
        do throws(StreamError) { try send(&builder) } catch { assertionFailure(error.description) }
        self = (try? builder.takeResult()) ?? PropertyList(.empty, PropertyListNode(.null, 0, key: 0))
    }
}

extension PropertyList: ExpressibleByNilLiteral {
    /// Creates null.
    public init(nilLiteral: ()) { self.init { (builder) throws(StreamError) in try builder.writeNull() } }
}

extension PropertyList: ExpressibleByBooleanLiteral {
    /// Creates a Boolean.
    public init(booleanLiteral value: Bool) { self.init(value) }
}

extension PropertyList: ExpressibleByIntegerLiteral {
    /// Creates an integer.
    public init(integerLiteral value: Int) { self.init(value) }
}

extension PropertyList: ExpressibleByFloatLiteral {
    /// Creates a floating-point number.
    public init(floatLiteral value: Double) { self.init(value) }
}

extension PropertyList: ExpressibleByStringLiteral {
    /// Creates a string.
    public init(stringLiteral value: String) { self.init(value) }
}

extension PropertyList: ExpressibleByArrayLiteral {
    /// Creates an array.
    public init(arrayLiteral elements: PropertyList...) { self.init(elements) }
}

extension PropertyList: ExpressibleByDictionaryLiteral {
    /// Creates a dictionary. If a key is repeated, its last value is used.
    public init(dictionaryLiteral elements: (String, PropertyList)...) { self.init(elements) }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

enum PropertyListMakingTests {
    private struct Part: StreamObject {
        var id = 1
        var name: String? = nil
    }
}

extension PropertyListMakingTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testCanBeWrittenAsLiteral": testCanBeWrittenAsLiteral,
            "testConvertsObjectsAndTrees": testConvertsObjectsAndTrees,
            "testConvertsEveryKindOfScalar": testConvertsEveryKindOfScalar,
        ]
    }

    private static func testCanBeWrittenAsLiteral() throws {
        let list: PropertyList = ["a": 1, "b": [:], "c": [], "a": 2]
        expectEqual(
            list, try PropertyListBuilder.list("{ key \"a\" integer 2 key \"b\" { } key \"c\" [ ] }"), "members")
        let elements: PropertyList = [1, 2.5, true, nil, "x"]
        expectEqual(elements, try PropertyListBuilder.list("[ integer 1 real 2.5 true null string \"x\" ]"), "elements")
    }

    private static func testConvertsObjectsAndTrees() throws {
        let made = try PropertyList(of: [Part(), Part(id: 2, name: "a name of more than fifteen bytes")])
        let expected: PropertyList = [["id": 1], ["id": 2, "name": "a name of more than fifteen bytes"]]
        expectEqual(made, expected, "of objects")
        expectEqual(PropertyList([PropertyList(1), PropertyList("é"), made]), [1, "é", made], "of trees")
        expectEqual(PropertyList([("k", PropertyList(0.5))]), ["k": 0.5], "of members")
    }

    private static func testConvertsEveryKindOfScalar() throws {
        let rows: [(PropertyList, PropertyList.Kind, String)] = [
            (.null, .null, "null"), (nil, .null, "null"), (PropertyList(true), .bool, "true"),
            (PropertyList(1), .integer, "integer 1"), (PropertyList(UInt8.max), .integer, "integer 255"),
            (PropertyList(Int64.min), .integer, "integer -9223372036854775808"),
            (PropertyList(UInt64.max), .unsigned, "unsigned 18446744073709551615"),
            (PropertyList(UInt64.max / 2), .integer, "integer 9223372036854775807"),
            (PropertyList(0.5), .real, "real 0.5"), (PropertyList(0.1 as Float), .real, "real 0.1"),
            (try requireNotNil(PropertyList(decimal: 12), "12"), .integer, "integer 12"),
            (
                try requireNotNil(PropertyList(decimal: Decimal(UInt64.max)), "a decimal"), .unsigned,
                "unsigned 18446744073709551615"
            ),
            (try requireNotNil(PropertyList(decimal: Decimal(5) / 2), "2.5"), .number, "number 2.5"),
            (PropertyList("é"), .string, "string \"é\""), (PropertyList(data: [1, 255]), .data, "data 01ff"),
            (PropertyList(data: Data()), .data, "data "), (PropertyList(secondsSince2001: -1.5), .date, "date -1.5"),
            (PropertyList([nil]), .array, "[ null ]"),
            (PropertyList([("k", .null)]), .dictionary, "{ key \"k\" null }"),
        ]
        for (list, kind, messages) in rows {
            var trace = EventTrace()
            try list.send(to: &trace)
            expectEqual(trace.text, messages, "messages")
            expectEqual(list.kind, kind, messages)
        }
        expectNil(PropertyList(decimal: .nan), "no number")
        expectEqual(PropertyList(UInt128.max).numberText, "\(UInt128.max)", "the digits of a long integer")
        expectEqual(PropertyList(Int128.min).numberText, "\(Int128.min)", "the digits of a long integer")
        expectEqual(PropertyList(Int128(-7)), -7, "a short one")
    }
}
#endif
