// The keys of a tree that is being encoded: each name is mapped and stored once, and then identified by its number.

import PlistBuilding
import PlistStreaming
import StringTables

/// The names for the coding keys, by number, starting at 1.
@safe
struct EncodedKeys: ~Copyable {
    private let mapping: KeyMapping
    private let isMapped: Bool
    // PERF: JSONRecords/writing; for a few names, a linear search is faster than creating a set.
    private var names: KeySet?
    private var text = unsafe GrowingMemory<UInt8>()
    /// For each number, the end of its text.
    private var ends = unsafe GrowingMemory<Int>()
    /// For each coding key, the number of its name.
    private var mapped: [String: Int] = [:]
    /// For each number, a coding key that maps to the name, if they differ.
    private var originals: [Int: String] = [:]
    private var recent = RecentStrings()
    private var recentExact = RecentStrings()
    /// For each number, the last dictionary that contained it.
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

    /// A Boolean value that indicates whether the names take little memory, and the numbers of dictionaries last for
    /// another small value.
    var isSmall: Bool { unsafe ends.count <= 128 && text.capacity <= 4_096 && dictionary < .max / 2 }

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
        var name = name
        // SAFETY: the bytes are copied within the closure.
        return name.withUTF8 { unsafe add(UnsafeRawBufferPointer($0)) }
    }

    private mutating func add(_ name: UnsafeRawBufferPointer) -> (isNew: Bool, number: Int) {
        if let number = unsafe find(name) { return (false, number) }
        unsafe text.append(contentsOf: name.bindMemory(to: UInt8.self))
        unsafe ends.append(text.count)
        unsafe lastDictionary.append(0)
        let count = unsafe ends.count - 1
        if names != nil {
            names?.insert(unsafe name.bytes)
        } else if count > 24 {
            names = KeySet((1...count).map { self.name(UInt32($0)) })
        }
        return (true, count)
    }

    private func find(_ name: UnsafeRawBufferPointer) -> Int? {
        if let names { return unsafe names.index(of: name).map { $0 + 1 } }
        let known = unsafe UnsafeRawBufferPointer(text.values)
        let count = unsafe ends.count
        for number in 1..<count {
            let (start, end) = unsafe (ends[number - 1], ends[number])
            // SAFETY: slicing checks the range.
            guard end - start == name.count else { continue }
            if unsafe known[start..<end].elementsEqual(name) { return number }
        }
        return nil
    }

    private func name(_ number: UInt32) -> String {
        let range = unsafe ends[Int(number) - 1]..<ends[Int(number)]
        return unsafe String(decoding: UnsafeRawBufferPointer(text.values)[range], as: UTF8.self)
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
        recent.insert(key, number)
        return number
    }

    /// Returns a coding key that maps to a name.
    func original(_ number: UInt32) -> String { originals[Int(number)] ?? name(number) }

    /// The text of all names, and the end of each by number; valid until the next change.
    var texts: (names: UnsafeRawBufferPointer, ends: UnsafeBufferPointer<Int>) {
        unsafe (UnsafeRawBufferPointer(text.values), ends.values)
    }

    // MARK: Duplicate keys

    mutating func beginDictionary() { dictionary &+= 1 }

    /// Returns whether a name occurs in the dictionary for the first time.
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
