// The keys of a tree that is being encoded: each name is mapped and stored once, and then known by its number.

import PlistStreaming
import StringTables

/// The names that coding keys became, by number from 1 on.
@safe
struct EncodedKeys: ~Copyable {
    private let mapping: KeyMapping
    private let isMapped: Bool
    private var names = KeySet()
    // PERF: JSONRecords/writing; the text once more, since sending goes over it without the checks of a set.
    private var text = unsafe GrowingMemory<UInt8>()
    /// By number: the end of its text.
    private var ends = unsafe GrowingMemory<Int>()
    /// By coding key: the number of its name.
    private var mapped: [String: Int] = [:]
    /// By number: a coding key that became the name, where it is another.
    private var originals: [Int: String] = [:]
    private var recent = RecentStrings()
    private var recentExact = RecentStrings()
    /// By number: the last dictionary that had it.
    private var lastDictionary = unsafe GrowingMemory<UInt32>()
    private var dictionary: UInt32 = 0

    init(mapping: KeyMapping) {
        self.mapping = mapping
        if case .exact = mapping.rule { isMapped = false } else { isMapped = true }
        unsafe ends.append(0)
        unsafe lastDictionary.append(0)
    }

    deinit {
        unsafe text.deallocate()
        unsafe ends.deallocate()
        unsafe lastDictionary.deallocate()
    }

    /// The number of the name that a coding key becomes; an exact one is the name.
    @inline(__always)  // PERF: JSONRecords/writing; once a member.
    mutating func number(of key: String, isExact: Bool) -> UInt32 {
        if isExact || !isMapped {
            let number = recentExact.number(of: key)
            return UInt32(truncatingIfNeeded: number > 0 ? number : insert(key))
        }
        let number = recent.number(of: key)
        return UInt32(truncatingIfNeeded: number > 0 ? number : map(key))
    }

    @inline(never)
    private mutating func insert(_ name: String) -> Int {
        let number = add(name).number
        recentExact.remember(name, number)
        return number
    }

    private mutating func add(_ name: String) -> (isNew: Bool, number: Int) {
        let (isNew, index) = names.insert(name)
        if isNew {
            var name = name
            // SAFETY: the bytes are copied within the closure.
            name.withUTF8 { unsafe text.append(contentsOf: $0) }
            unsafe ends.append(text.count)
            unsafe lastDictionary.append(0)
        }
        return (isNew, index + 1)
    }

    @inline(never)
    private mutating func map(_ key: String) -> Int {
        let number: Int
        if let known = mapped[key] {
            number = known
        } else {
            let name = mapping.name(for: key)
            let isNew: Bool
            (isNew, number) = add(name)
            mapped[key] = number
            if isNew && name != key { originals[number] = key }
        }
        recent.remember(key, number)
        return number
    }

    /// A coding key that became a name.
    func original(_ number: UInt32) -> String { originals[Int(number)] ?? names[Int(number) - 1] }

    /// The text of all names, and by number where each ends; valid until the next change.
    var texts: (names: UnsafeRawBufferPointer, ends: UnsafeBufferPointer<Int>) {
        unsafe (UnsafeRawBufferPointer(text.values), ends.values)
    }

    // MARK: Keys that come twice

    mutating func beginDictionary() { dictionary &+= 1 }

    /// Whether a name is met in the dictionary for the first time.
    mutating func isFirstInDictionary(_ number: UInt32) -> Bool {
        let isFirst = unsafe lastDictionary[Int(number)] != dictionary
        unsafe lastDictionary[Int(number)] = dictionary
        return isFirst
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension EncodedKeys: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testNumbersNamesOnce": testNumbersNamesOnce,
            "testMapsCodingKeysOnly": testMapsCodingKeysOnly,
            "testFindsKeysThatComeTwice": testFindsKeysThatComeTwice,
        ]
    }

    private static func name(_ number: UInt32, in keys: borrowing EncodedKeys) -> String {
        let (names, ends) = unsafe keys.texts
        return unsafe String(decoding: names[ends[Int(number) - 1]..<ends[Int(number)]], as: UTF8.self)
    }

    private static func testNumbersNamesOnce() {
        var keys = EncodedKeys(mapping: .exact)
        for (number, key) in [(1, "a"), (2, "b"), (1, "a"), (3, "a name of more than fifteen bytes")] {
            expectEqual(keys.number(of: key, isExact: false), UInt32(number), key)
            expectEqual(name(UInt32(number), in: keys), key, "name")
        }
    }

    private static func testMapsCodingKeysOnly() {
        var keys = EncodedKeys(mapping: .snakeCase)
        let coding = keys.number(of: "fullName", isExact: false)
        let exact = keys.number(of: "fullName", isExact: true)
        expectEqual(name(coding, in: keys), "full_name", "coding key")
        expectEqual(name(exact, in: keys), "fullName", "name")
        expectEqual(keys.original(coding), "fullName", "original")
        expectEqual(keys.number(of: "full_name", isExact: true), coding, "the number of the same name")
        expectEqual(keys.number(of: "fullName", isExact: false), coding, "the number by then")
    }

    private static func testFindsKeysThatComeTwice() {
        var keys = EncodedKeys(mapping: .exact)
        let (a, b) = (keys.number(of: "a", isExact: true), keys.number(of: "b", isExact: true))
        for _ in 0..<2 {
            keys.beginDictionary()
            expectTrue(keys.isFirstInDictionary(a), "a")
            expectTrue(keys.isFirstInDictionary(b), "b")
            expectFalse(keys.isFirstInDictionary(a), "a again")
        }
    }
}
#endif
