// The table of values by string key: a `KeySet`, a value for each key, and a default. Values can be replaced, keys can't.
// `KeySet` finds keys.

/// A table with a fixed set of string keys and replaceable values, looked up by bytes without creating a `String`.
///
/// ```swift
/// let ports: StringTable = ["http": 80, "https": 443]
/// ports["https"]               // 443
/// ports[utf8: span]            // the value for bytes in some buffer
/// ports[constant: "http"]      // a literal, or it does not compile
/// ```
///
/// Entries keep the order of insertion. If a key is repeated, the first key determines position and spelling, and the last
/// one the value. Other initializers reject duplicates or combine their values. With `.asciiCaseInsensitive`, keys that differ
/// only in case are duplicates.
public struct StringTable<Value> {
    /// The keys in the order of insertion, with their original spelling.
    public let keys: KeySet
    /// The values in the order of their keys.
    public private(set) var values: [Value]
    /// The value of every key that is not in the table; nil at first.
    public var defaultValue: Value?

    /// Creates a table of pairs. If a key is repeated, its last value is used.
    /// - Complexity: O(*n*) in the bytes of all keys.
    public init(_ pairs: some Sequence<(String, Value)>, comparing comparison: KeyComparison = .exact) {
        self.init(pairs, comparing: comparison, uniquingKeysWith: { $1 })
    }

    /// Creates a table of pairs. If a key is repeated, a closure combines its values.
    /// - Parameters:
    ///   - pairs: The keys and values.
    ///   - comparison: The rule for the equality of keys.
    ///   - combine: Takes the value so far and the new one, and returns the value to keep.
    /// - Complexity: O(*n*) in the bytes of all keys.
    public init<Failure: Error>(
        _ pairs: some Sequence<(String, Value)>,
        comparing comparison: KeyComparison = .exact,
        uniquingKeysWith combine: (Value, Value) throws(Failure) -> Value
    ) throws(Failure) {
        var keys = KeySet(comparing: comparison, minimumCapacity: pairs.underestimatedCount)
        var values: [Value] = []
        values.reserveCapacity(pairs.underestimatedCount)
        for (key, value) in pairs {
            let (inserted, index) = keys.insert(key)
            if inserted { values.append(value) } else { values[index] = try combine(values[index], value) }
        }
        self.keys = keys
        self.values = values
    }

    /// Creates a table of pairs whose keys must all be different.
    /// - Throws: `StringTableError` of the kind `duplicateKey`.
    /// - Complexity: O(*n*) in the bytes of all keys.
    public init(
        uniqueKeysWithValues pairs: some Sequence<(String, Value)>, comparing comparison: KeyComparison = .exact
    ) throws(StringTableError) {
        var keys = KeySet(comparing: comparison, minimumCapacity: pairs.underestimatedCount)
        var values: [Value] = []
        for (key, value) in pairs {
            guard keys.insert(key).inserted else { throw StringTableError(kind: .duplicateKey, key: key) }
            values.append(value)
        }
        self.keys = keys
        self.values = values
    }

    // MARK: Lookup

    /// The value for the key, or the default value, which may be nil, if the key is unknown.
    /// - Complexity: O(*n*) in the length of the key. No allocation.
    @inlinable  // PERF: see value(at:).
    public subscript(key: String) -> Value? { value(at: keys.index(of: key)) }

    /// The value for the key with these bytes, or the default value, which may be nil, if the key is unknown.
    /// - Complexity: O(*n*) in the length of the key. No allocation.
    @inlinable  // PERF: see value(at:).
    public subscript(utf8 key: RawSpan) -> Value? { value(at: keys.index(of: key)) }

    /// The value for the key with the bytes of the buffer, or the default value, which may be nil, if the key is unknown.
    /// - Complexity: O(*n*) in the length of the key. No allocation.
    @inlinable  // PERF: see value(at:).
    public subscript(utf8 key: UnsafeRawBufferPointer) -> Value? { unsafe value(at: keys.index(of: key)) }

    /// The value for a literal key, or the default value, which may be nil, if the key is unknown.
    /// - Complexity: O(*n*) in the length of the key. No allocation.
    @inlinable  // PERF: see value(at:).
    public subscript(constant key: StaticString) -> Value? { value(at: keys.index(ofConstant: key)) }

    @inlinable  // PERF: StringTable/miss; specialises in other packages, which is not done without the attribute.
    func value(at index: Int?) -> Value? {
        guard let index else { return defaultValue }
        return values[index]
    }

    // MARK: Change

    /// Replaces the value for a key.
    /// - Throws: `StringTableError` of the kind `unknownKey`; then the table is unchanged.
    public mutating func setValue(_ value: Value, forKey key: String) throws(StringTableError) {
        guard let index = keys.index(of: key) else { throw StringTableError(kind: .unknownKey, key: key) }
        values[index] = value
    }

    /// Replaces the value for the key with these bytes.
    /// - Throws: `StringTableError` of the kind `unknownKey`; then the table is unchanged.
    public mutating func setValue(_ value: Value, forUTF8Key key: RawSpan) throws(StringTableError) {
        guard let index = keys.index(of: key) else {
            // SAFETY: the pointer does not leave the closure.
            throw unsafe StringTableError(
                kind: .unknownKey, key: key.withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) })
        }
        values[index] = value
    }

    /// Replaces the value at an index.
    /// - Precondition: The index is in `0..<count`.
    public mutating func setValue(_ value: Value, at index: Int) { values[index] = value }
}

// The entries in the order of insertion, by index.
extension StringTable: RandomAccessCollection {
    /// The index of the first entry, which is 0.
    public var startIndex: Int { 0 }
    /// The index after the last entry, which is the number of entries.
    public var endIndex: Int { values.count }
    /// The key, with its original spelling, and the value at an index.
    public subscript(index: Int) -> (key: String, value: Value) { (keys[index], values[index]) }
}

extension StringTable: ExpressibleByDictionaryLiteral {
    /// Creates a table. If a key is repeated, its last value is used.
    public init(dictionaryLiteral elements: (String, Value)...) { self.init(elements) }
}

extension StringTable: Sendable where Value: Sendable {}

/// An error that prevents a table from being created or changed.
public struct StringTableError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The kind of error.
    public enum Kind: Sendable {
        /// The key is repeated, but keys must be different.
        case duplicateKey
        /// The key is not in the table.
        case unknownKey
    }

    /// The kind of error.
    public let kind: Kind
    /// The key, unchanged.
    public let key: String

    /// A description of the error, with at most 64 characters of the key.
    public var description: String {
        let shown = key.count > 64 ? key.prefix(64) + "…" : key[...]
        return switch kind {
        case .duplicateKey: "duplicate key \(String(shown).debugDescription)"
        case .unknownKey: "unknown key \(String(shown).debugDescription)"
        }
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension StringTable: SelfTesting where Value == Int {
    /// The in-class tests of the table.
    public static var testSelectors: TestSelectors {
        [
            "testFindsValuesByEveryOverload": testFindsValuesByEveryOverload,
            "testReturnsNilOrDefaultForUnknownKeys": testReturnsNilOrDefaultForUnknownKeys,
            "testFindsEmptyAndLongKeys": testFindsEmptyAndLongKeys,
            "testDistinguishesKeysWithEqualEnds": testDistinguishesKeysWithEqualEnds,
            "testLastValueOfADuplicateWins": testLastValueOfADuplicateWins,
            "testCombinesAndRejectsDuplicates": testCombinesAndRejectsDuplicates,
            "testReplacesValuesOnly": testReplacesValuesOnly,
            "testEnumeratesInTheOrderOfInsertion": testEnumeratesInTheOrderOfInsertion,
            "testIgnoresASCIICaseIfAsked": testIgnoresASCIICaseIfAsked,
            "testCopiesAreIndependent": testCopiesAreIndependent,
            "testErrorsNameTheKey": testErrorsNameTheKey,
        ]
    }

    private static var table: StringTable { ["Help": 1, "Marcel": 2, "ninebytes": 3, "offset": 4, "offset1": 5] }

    private static func testFindsValuesByEveryOverload() {
        expectEqual(table["Help"], 1, "by string")
        expectEqual(table[constant: "Marcel"], 2, "by constant")
        unsafe Array("ninebytes offset".utf8).withUnsafeBytes { bytes in
            expectEqual(unsafe table[utf8: UnsafeRawBufferPointer(rebasing: bytes[..<9])], 3, "by buffer and length")
            expectEqual(unsafe table[utf8: bytes.bytes.extracting(10..<16)], 4, "by span")
            expectNil(unsafe table[utf8: bytes], "by the whole buffer")
        }
        expectEqual(table.keys.index(of: "offset1"), 4, "index")
        expectEqual(table[4].key, "offset1", "key at an index")
    }

    private static func testReturnsNilOrDefaultForUnknownKeys() {
        var table = Self.table
        for key in ["", "H", "help", "Help!", "ninebyteS", "offset2", "offset-1"] { expectNil(table[key], key) }
        table.defaultValue = -1
        expectEqual(table["missing"], -1, "default by string")
        expectEqual(table[constant: "missing"], -1, "default by constant")
        expectEqual(table["Help"], 1, "a key with a value")
        expectNil(table.keys.index(of: "missing"), "index of a missing key")
    }

    private static func testFindsEmptyAndLongKeys() {
        let long = String(repeating: "é", count: 40_000)
        let table: StringTable = ["": 1, long: 2, String(repeating: "x", count: 256): 3]
        expectEqual(table[""], 1, "empty key")
        expectEqual(table[constant: ""], 1, "empty constant")
        expectEqual(table[long], 2, "key of 80,000 bytes")
        expectEqual(table[String(repeating: "x", count: 256)], 3, "key of 256 bytes")
        expectNil(table[String(repeating: "x", count: 255)], "key of 255 bytes")
    }

    private static func testDistinguishesKeysWithEqualEnds() {
        let table: StringTable = ["start": 1, "stunt": 2, "sweet": 3, "s\u{E9}nt": 4]
        for (index, key) in ["start", "stunt", "sweet", "s\u{E9}nt"].enumerated() {
            expectEqual(table[key], index + 1, key)
        }
        for key in ["stort", "smart", "stunT", "Start"] { expectNil(table[key], key) }
    }

    private static func testLastValueOfADuplicateWins() {
        let table = StringTable([("a", 1), ("b", 2), ("a", 3)])
        expectEqual(table.count, 2, "entries")
        expectEqual(table["a"], 3, "value of the key that comes twice")
        expectEqual(table.map(\.key), ["a", "b"], "order")
    }

    private static func testCombinesAndRejectsDuplicates() {
        let sums = StringTable([("a", 1), ("A", 2), ("b", 4)], comparing: .asciiCaseInsensitive, uniquingKeysWith: +)
        expectEqual(sums.map(\.value), [3, 4], "sums")
        let error = expectThrows(StringTableError.self, "a duplicate") {
            _ = try StringTable(uniqueKeysWithValues: [("a", 1), ("A", 2)], comparing: .asciiCaseInsensitive)
        }
        expectEqual(error?.kind, .duplicateKey, "kind")
        expectEqual(error?.key, "A", "key")
        expectNoThrow("different keys") { _ = try StringTable(uniqueKeysWithValues: [("a", 1), ("A", 2)]) }
    }

    private static func testReplacesValuesOnly() throws {
        var table = Self.table
        try table.setValue(10, forKey: "Help")
        unsafe try Array("Marcel".utf8).withUnsafeBytes { try unsafe table.setValue(20, forUTF8Key: $0.bytes) }
        table.setValue(30, at: 2)
        expectEqual(table.values, [10, 20, 30, 4, 5], "values")
        let error = expectThrows(StringTableError.self, "an unknown key") { try table.setValue(0, forKey: "new") }
        expectEqual(error?.kind, .unknownKey, "kind")
        expectThrows(StringTableError.self, "unknown bytes") {
            unsafe try [UInt8(0xFF)].withUnsafeBytes { try unsafe table.setValue(0, forUTF8Key: $0.bytes) }
        }
        expectEqual(table.values, [10, 20, 30, 4, 5], "values afterwards")
    }

    private static func testEnumeratesInTheOrderOfInsertion() {
        let keys = (0..<300).map { "key\($0 * 7919 % 300)" }
        let table = StringTable(keys.enumerated().map { ($1, $0) })
        expectEqual(table.map(\.key), keys, "keys")
        expectEqual(table.map(\.value), Array(0..<300), "values")
        expectEqual(StringTable().map(\.key), [], "keys of an empty table")
    }

    private static func testIgnoresASCIICaseIfAsked() throws {
        var table = StringTable([("Help", 1), ("Marcel", 2)], comparing: .asciiCaseInsensitive)
        for key in ["Help", "help", "HELP"] { expectEqual(table[key], 1, key) }
        expectEqual(table[constant: "marcel"], 2, "by constant")
        unsafe "MARCEL".utf8.withContiguousStorageIfAvailable {
            expectEqual(unsafe table[utf8: UnsafeRawBufferPointer($0)], 2, "by bytes")
        }
        try table.setValue(5, forKey: "hELP")
        expectEqual(table["Help"], 5, "after setting by another case")
        expectNil(table["missing"], "missing")
        table.defaultValue = 0
        expectEqual(table["missing"], 0, "default")
        expectEqual(table.map(\.key), ["Help", "Marcel"], "original spelling")
    }

    private static func testCopiesAreIndependent() throws {
        let original = Self.table
        var copy = original
        try copy.setValue(99, forKey: "Help")
        expectEqual(original["Help"], 1, "original")
        expectEqual(copy["Help"], 99, "copy")
    }

    private static func testErrorsNameTheKey() {
        let error = StringTableError(kind: .unknownKey, key: "a\"b")
        expectEqual(error.description, #"unknown key "a\"b""#, "description")
        for (count, shown) in [(64, 64), (65, 64), (1_000, 64)] {
            let error = StringTableError(kind: .duplicateKey, key: String(repeating: "é", count: count))
            let key = String(repeating: "é", count: shown) + (count > shown ? "…" : "")
            expectEqual(error.description, "duplicate key \"\(key)\"", "description of \(count) characters")
        }
    }
}
#endif
