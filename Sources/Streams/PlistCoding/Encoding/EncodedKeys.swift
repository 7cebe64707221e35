// The keys of a tree that is being encoded: each name is mapped and stored once, and then identified by its number.

import PlistBuilding

/// The names for the coding keys, by number, starting at 1.
@safe
struct EncodedKeys: ~Copyable {
    private let mapping: KeyMapping
    private let isMapped: Bool
    /// The names, by number minus 1.
    private(set) var names = TapeKeys()
    /// For each coding key, the number of its name.
    private var mapped: [String: Int] = [:]
    /// For each number, a coding key that maps to the name, if they differ.
    private var originals: [Int: String] = [:]
    private var recent = RecentStrings()
    private var recentExact = RecentStrings()

    init(mapping: KeyMapping) {
        self.mapping = mapping
        if case .exact = mapping.rule { isMapped = false } else { isMapped = true }
    }

    /// Returns the number of the name for a coding key; an exact key is the name itself.
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
        recentExact.insert(name, number)
        return number
    }

    private mutating func add(_ name: String) -> (isNew: Bool, number: Int) {
        let (isNew, index) = names.insert(name)
        return (isNew, index + 1)
    }

    private func name(_ number: UInt32) -> String { names.name(Int(number) - 1) }

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
        recent.insert(key, number)
        return number
    }

    /// Returns a coding key that maps to a name.
    func original(_ number: UInt32) -> String { originals[Int(number)] ?? name(number) }

    // MARK: Duplicate keys

    mutating func beginDictionary() { names.beginDictionary() }

    /// Returns whether a name occurs in the dictionary for the first time.
    mutating func isFirstInDictionary(_ number: UInt32) -> Bool { names.isFirstInDictionary(number - 1) }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension EncodedKeys: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testNumbersNamesOnce": testNumbersNamesOnce,
            "testMapsOnlyCodingKeys": testMapsOnlyCodingKeys,
            "testFindsRepeatedKeys": testFindsRepeatedKeys,
        ]
    }

    private static func testNumbersNamesOnce() {
        var keys = EncodedKeys(mapping: .exact)
        let long = "a name of more than fifteen bytes"
        for (number, key) in [(1, "a"), (2, "b"), (1, "a"), (3, long), (4, ""), (2, "b")] {
            expectEqual(keys.number(of: key, isExact: false), UInt32(number), key)
            expectEqual(keys.name(UInt32(number)), key, "name")
        }
        for round in 0..<2 {
            for number in 5...200 {
                expectEqual(keys.number(of: "k\(number)", isExact: true), UInt32(number), "round \(round)")
            }
        }
        expectEqual(keys.number(of: long, isExact: true), 3, "the number among many")
    }

    private static func testMapsOnlyCodingKeys() {
        var keys = EncodedKeys(mapping: .snakeCase)
        let coding = keys.number(of: "fullName", isExact: false)
        let exact = keys.number(of: "fullName", isExact: true)
        expectEqual(keys.name(coding), "full_name", "coding key")
        expectEqual(keys.name(exact), "fullName", "name")
        expectEqual(keys.original(coding), "fullName", "original")
        expectEqual(keys.number(of: "full_name", isExact: true), coding, "the number of the same name")
        expectEqual(keys.number(of: "fullName", isExact: false), coding, "the number by then")
    }

    private static func testFindsRepeatedKeys() {
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
