// Trees made in code: of values, and as literals. Those that come from elsewhere are made by `PropertyListBuilder`.

import PlistStreaming

extension PropertyList {
    /// Makes a tree of a value of a type that binds.
    ///
    /// - Throws: What writing the value throws: `limitExceeded` for one that is nested too deep, or what its own encoder says.
    /// - Complexity: O(*n*) in the value.
    public init<Value: StreamValue>(of value: Value, options: WritingOptions = WritingOptions()) throws(StreamError) {
        var builder = PropertyListBuilder(depthLimit: .max)
        try builder.write(value, options: options)
        self = try builder.takeResult()
    }

    /// Makes a Boolean.
    public init(_ value: Bool) { self.init { (builder) throws(StreamError) in try builder.writeBool(value) } }

    /// Makes an integer.
    public init(_ value: Int) { self.init { (builder) throws(StreamError) in try builder.writeInteger(Int64(value)) } }

    /// Makes a floating-point number.
    public init(_ value: Double) { self.init { (builder) throws(StreamError) in try builder.writeReal(value) } }

    /// Makes a string.
    public init(_ value: String) {
        self.init { (builder) throws(StreamError) in
            try value.withUTF8Span { (span) throws(StreamError) in try builder.writeString(span) }
        }
    }

    /// Makes an array.
    /// - Complexity: O(*n*) in all that the elements contain, which is copied.
    public init(_ elements: [PropertyList]) {
        self.init { (builder) throws(StreamError) in
            try builder.beginArray()
            for element in elements { try element.send(to: &builder) }
            try builder.endArray()
        }
    }

    /// Makes a dictionary; of a key that comes twice the last value counts.
    /// - Complexity: O(*n*) in all that the members contain, which is copied.
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

    /// Makes what is sent to a builder, which refuses nothing that is in order and has no limit.
    private init(_ send: (inout PropertyListBuilder) throws(StreamError) -> Void) {
        var builder = PropertyListBuilder(depthLimit: .max)
        do throws(StreamError) { try send(&builder) } catch { assertionFailure(error.description) }
        self = (try? builder.takeResult()) ?? PropertyList(.empty, PropertyListNode(.null, 0, key: 0))
    }
}

extension PropertyList: ExpressibleByNilLiteral {
    /// Makes null.
    public init(nilLiteral: ()) { self.init { (builder) throws(StreamError) in try builder.writeNull() } }
}

extension PropertyList: ExpressibleByBooleanLiteral {
    /// Makes a Boolean.
    public init(booleanLiteral value: Bool) { self.init(value) }
}

extension PropertyList: ExpressibleByIntegerLiteral {
    /// Makes an integer.
    public init(integerLiteral value: Int) { self.init(value) }
}

extension PropertyList: ExpressibleByFloatLiteral {
    /// Makes a floating-point number.
    public init(floatLiteral value: Double) { self.init(value) }
}

extension PropertyList: ExpressibleByStringLiteral {
    /// Makes a string.
    public init(stringLiteral value: String) { self.init(value) }
}

extension PropertyList: ExpressibleByArrayLiteral {
    /// Makes an array.
    public init(arrayLiteral elements: PropertyList...) { self.init(elements) }
}

extension PropertyList: ExpressibleByDictionaryLiteral {
    /// Makes a dictionary; of a key that comes twice the last value counts.
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
            "testIsWrittenAsALiteral": testIsWrittenAsALiteral,
            "testIsMadeOfValues": testIsMadeOfValues,
        ]
    }

    private static func testIsWrittenAsALiteral() throws {
        let list: PropertyList = ["a": 1, "b": [:], "c": [], "a": 2]
        expectEqual(
            list, try PropertyListBuilder.list("{ key \"a\" integer 2 key \"b\" { } key \"c\" [ ] }"), "members")
        let elements: PropertyList = [1, 2.5, true, nil, "x"]
        expectEqual(elements, try PropertyListBuilder.list("[ integer 1 real 2.5 true null string \"x\" ]"), "elements")
    }

    private static func testIsMadeOfValues() throws {
        let made = try PropertyList(of: [Part(), Part(id: 2, name: "a name of more than fifteen bytes")])
        let expected: PropertyList = [["id": 1], ["id": 2, "name": "a name of more than fifteen bytes"]]
        expectEqual(made, expected, "of objects")
        expectEqual(PropertyList([PropertyList(1), PropertyList("é"), made]), [1, "é", made], "of trees")
        expectEqual(PropertyList([("k", PropertyList(0.5))]), ["k": 0.5], "of members")
    }
}
#endif
