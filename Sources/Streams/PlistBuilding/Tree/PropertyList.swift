// The type for trees of values, with access to scalars, elements and members. `PropertyListStorage` stores the tree.

import PlistStreaming

/// A property list of any shape: a compact, immutable tree with typed access.
///
/// ```swift
/// let title = list["tasks"]?[0]?["title"]?.stringValue
/// for (key, value) in list.members { … }
/// ```
///
/// Null is a value: a member that is null isn't missing. Dictionaries keep the order of their keys. If a key is repeated, its
/// last value is kept. A value keeps the whole tree that contains it alive.
public struct PropertyList: Sendable {
    let storage: PropertyListStorage
    let node: PropertyListNode

    init(_ storage: PropertyListStorage, _ node: PropertyListNode) {
        self.storage = storage
        self.node = node
    }

    /// The types of values.
    public enum Kind: Sendable, Hashable {
        /// Null, which is different from a missing value.
        case null
        /// A Boolean.
        case bool
        /// An integer from -2^63 to 2^63 - 1.
        case integer
        /// An integer from 2^63 to 2^64 - 1.
        case unsigned
        /// A floating-point number of 64 bits.
        case real
        /// A number that neither integers nor reals can represent, stored as its digits.
        case number
        /// A string.
        case string
        /// Bytes.
        case data
        /// A point in time.
        case date
        /// Elements in order.
        case array
        /// Members by key, in order.
        case dictionary
    }

    /// The type of the value.
    public var kind: Kind { node.tag.kind }

    // MARK: Scalars

    /// A Boolean value that indicates whether the value is null.
    public var isNull: Bool { node.tag == .null }

    /// The value as a Boolean, or nil for any other type.
    public var boolValue: Bool? {
        switch node.tag {
        case .yes: true
        case .no: false
        default: nil
        }
    }

    /// The value as an integer, or nil if it isn't an integer that fits into 64 bits with sign or a number without a
    /// fraction.
    public var integerValue: Int64? {
        switch node.tag {
        case .integer: Int64(bitPattern: node.payload)
        case .real: Int64(exactly: Double(bitPattern: node.payload))
        case .number: text.withUTF8Span { NumberText.integer($0, as: Int64.self) }
        default: nil
        }
    }

    /// The value as an unsigned integer, or nil if it isn't one.
    public var unsignedValue: UInt64? {
        switch node.tag {
        case .unsigned: node.payload
        case .real: UInt64(exactly: Double(bitPattern: node.payload))
        case .number: text.withUTF8Span { NumberText.integer($0, as: UInt64.self) }
        default: integerValue.flatMap { UInt64(exactly: $0) }
        }
    }

    /// The value as a floating-point number, or nil for any other type. Integers and the digits of a number are rounded. The
    /// result is also nil if the rounded number would be infinite.
    public var realValue: Double? {
        switch node.tag {
        case .real: Double(bitPattern: node.payload)
        case .integer: Double(Int64(bitPattern: node.payload))
        case .unsigned: Double(node.payload)
        case .number: text.withUTF8Span { NumberText.real($0, as: Double.self) }
        default: nil
        }
    }

    /// The text of a number that neither integers nor reals can represent, or nil for any other type.
    public var numberText: String? { node.tag == .number ? text : nil }

    /// The value as a string, or nil for any other type.
    public var stringValue: String? { node.tag == .string ? text : nil }

    /// The value as bytes, or nil for any other type.
    public var dataValue: [UInt8]? {
        guard node.tag == .data else { return nil }
        return unsafe storage.withBytes(of: node) { unsafe Array($0) }
    }

    /// The value as seconds since 2001-01-01 00:00:00 UTC, or nil for any other type.
    public var dateValue: Double? { node.tag == .date ? Double(bitPattern: node.payload) : nil }

    private var text: String { unsafe storage.withBytes(of: node) { unsafe String(decoding: $0, as: UTF8.self) } }

    // MARK: Containers

    /// The number of elements or members, or 0 for scalars.
    public var count: Int { isContainer ? node.count : 0 }

    private var isContainer: Bool { node.tag == .array || node.tag == .dictionary }

    /// The element at an index of an array, or nil if the value isn't an array or has no such element.
    /// - Complexity: O(1).
    public subscript(index: Int) -> PropertyList? {
        guard node.tag == .array, index >= 0, index < node.count else { return nil }
        return PropertyList(storage, storage.node(node.firstChild + index))
    }

    /// The value of a key of a dictionary, or nil if the value isn't a dictionary or has no such key.
    /// - Complexity: O(1); O(*n*) in the members for the first look-up in a dictionary of more than 64.
    public subscript(key: String) -> PropertyList? {
        guard node.tag == .dictionary, let key = storage.keys.index(of: key) else { return nil }
        return storage.member(of: node, key: key).map { PropertyList(storage, $0) }
    }

    /// The elements of an array, in order. Empty for any other type.
    public var elements: Elements { Elements(list: self, count: node.tag == .array ? node.count : 0) }

    /// The keys and values of a dictionary, in order. Empty for any other type.
    public var members: Members { Members(list: self, count: node.tag == .dictionary ? node.count : 0) }

    /// The elements of an array.
    public struct Elements: RandomAccessCollection, Sendable {
        let list: PropertyList
        /// The number of elements.
        public let count: Int
        /// The index of the first element, which is 0.
        public var startIndex: Int { 0 }
        /// The number of elements.
        public var endIndex: Int { count }
        /// The element at an index.
        public subscript(index: Int) -> PropertyList {
            precondition(index >= 0 && index < count, "index out of range")
            return PropertyList(list.storage, list.storage.node(list.node.firstChild + index))
        }
    }

    /// The members of a dictionary.
    public struct Members: RandomAccessCollection, Sendable {
        let list: PropertyList
        /// The number of members.
        public let count: Int
        /// The index of the first member, which is 0.
        public var startIndex: Int { 0 }
        /// The number of members.
        public var endIndex: Int { count }
        /// The key and the value at an index.
        public subscript(index: Int) -> (key: String, value: PropertyList) {
            precondition(index >= 0 && index < count, "index out of range")
            let node = list.storage.node(list.node.firstChild + index)
            return (list.storage.keys[Int(node.key)], PropertyList(list.storage, node))
        }
    }
}

extension PropertyList: StreamValue {
    /// The binding of a property list, which can be any value.
    public static var streamBinding: StreamBinding {
        StreamBinding { _ in
            unsafe StreamPlan(ValueOperations(of: PropertyList.self), expectation: "any value", shape: .propertyList)
        }
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension PropertyList: SelfTesting {
    /// The in-class tests of the tree.
    public static var testSelectors: TestSelectors {
        [
            "testFindsMembersOfLargeDictionaries": testFindsMembersOfLargeDictionaries,
            "testReturnsEachTypeOnlyAsItself": testReturnsEachTypeOnlyAsItself,
            "testConvertsNumbersOnlyExactly": testConvertsNumbersOnlyExactly,
            "testDistinguishesNullFromMissing": testDistinguishesNullFromMissing,
            "testListsElementsAndMembersInOrder": testListsElementsAndMembersInOrder,
        ]
    }

    private static func list(_ script: String) throws -> PropertyList { try PropertyListBuilder.list(script) }

    private static func testFindsMembersOfLargeDictionaries() async throws {
        for count in [1, 63, 64, 65, 66, 1_000] {
            // One key is repeated, and an inner dictionary has the same keys in reverse order.
            let members = (0..<count).map { "key \"k\($0)\" integer \($0)" }
            let script =
                "{ \(members.joined(separator: " ")) key \"k0\" integer -1 "
                + "key \"inner\" { \(members.reversed().joined(separator: " ")) } }"
            let list = try list(script)
            let wrong = await withTaskGroup(of: Int.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        (0..<count).count { list["k\($0)"]?.integerValue != ($0 == 0 ? -1 : Int64($0)) }
                            + (0..<count).count { list["inner"]?["k\($0)"]?.integerValue != Int64($0) }
                    }
                }
                return await group.reduce(0, +)
            }
            expectEqual(wrong, 0, "wrong values among \(count)")
            expectNil(list["k\(count)"], "no member")
            expectNil(list["inner"]?["inner"], "a key of another dictionary")
        }
    }

    private static func testReturnsEachTypeOnlyAsItself() throws {
        let list = try list("[ null true integer 7 real 1.5 string \"7\" data 07 date 7.0 [ ] { } ]")
        expectEqual(list.elements.map(\.isNull), [true] + Array(repeating: false, count: 8), "null")
        expectEqual(list.elements.compactMap(\.boolValue), [true], "Booleans")
        expectEqual(list.elements.compactMap(\.integerValue), [7], "integers")
        expectEqual(list.elements.compactMap(\.realValue), [7, 1.5], "reals")
        expectEqual(list.elements.compactMap(\.stringValue), ["7"], "strings")
        expectEqual(list.elements.compactMap(\.dataValue), [[7]], "data")
        expectEqual(list.elements.compactMap(\.dateValue), [7], "dates")
        expectEqual(list.elements.map(\.kind).suffix(2), [.array, .dictionary], "containers")
        expectNil(list["a"], "a member of an array")
        expectNil(list[0]?[0], "an element of null")
    }

    private static func testConvertsNumbersOnlyExactly() throws {
        let list = try list("[ unsigned 18446744073709551615 real 2.0 real 2.5 integer -1 number 1e3 real 1e300 ]")
        expectEqual(list.elements.map(\.integerValue), [nil, 2, nil, -1, 1_000, nil], "integers")
        expectEqual(list.elements.map(\.unsignedValue), [.max, 2, nil, nil, 1_000, nil], "unsigned integers")
        expectEqual(list[4]?.realValue, 1_000, "real of a number's text")
        expectEqual(list[4]?.numberText, "1e3", "text of a number")
        let numbers = ["1e400", "-1e400", "1.7976931348623158e308", "1.7976931348623159e308", "1e-400", "-9e999"]
        let large = try Self.list("[ \(numbers.map { "number \($0)" }.joined(separator: " ")) ]")
        let greatest = Double.greatestFiniteMagnitude
        expectEqual(large.elements.map(\.realValue), [nil, nil, greatest, nil, 0, nil], "reals of large numbers")
    }

    private static func testDistinguishesNullFromMissing() throws {
        let list = try list("{ key \"a\" null }")
        expectEqual(list["a"]?.isNull, true, "a")
        expectNil(list["b"], "b")
    }

    private static func testListsElementsAndMembersInOrder() throws {
        let list = try list("{ key \"z\" integer 1 key \"a\" [ integer 2 integer 3 ] }")
        expectEqual(list.members.map(\.key), ["z", "a"], "keys")
        expectEqual(list["a"]?.elements.compactMap(\.integerValue), [2, 3], "elements")
        expectNil(list["a"]?[2], "an element beyond the end")
        expectNil(list["a"]?[-1], "an element before the start")
    }
}
#endif
