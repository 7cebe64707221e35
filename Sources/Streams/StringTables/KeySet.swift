// The set of keys, which finds the index of a key by its bytes. It uses open addressing over numbers of entries. An entry
// contains all bytes of a short key. Sets of up to 64 keys get a seed without collisions, if possible. `KeyDigest` loads and
// hashes keys. `KeySet+Placing` adds keys. `StringTable` adds values. Binding and interning use only the set.

/// An insertion-ordered set of byte strings that finds the index of a key without creating a `String`.
///
/// Keys may have any length, be empty, and contain any bytes. Looking up by bytes, by `String` and by `StaticString` gives
/// the same result: keys are compared by their UTF-8 bytes with `comparison`, never by canonical equivalence.
///
/// ```swift
/// let members: KeySet = ["id", "title", "done"]
/// members.index(of: "title")  // 1
/// ```
///
/// A look-up needs one hash of the bytes and one comparison of words. Only keys of more than 16 bytes are compared in
/// memory. Keys can't be removed, so an index stays valid. Several threads can read at once. A set can contain
/// up to 4,294,967,294 keys.
public struct KeySet: Sendable {
    /// The rule for the equality of keys.
    public let comparison: KeyComparison

    /// The buckets, each empty or with the number of a key and a part of its hash. Their count is a power of two.
    var places: [Bucket]
    /// 0 if every key is in the bucket of its hash, so that a look-up ends there; otherwise -1, and a look-up ends at an empty
    /// bucket.
    var continuation = 0  // PERF: StringTable/miss; one branch, which depends on no key in a perfect set.
    var seed = KeySeed()
    /// The number of buckets when the seed was last replaced. The seed is replaced once for each number, so that insertion
    /// stays O(1).
    var reseededPlaceCount = 0
    /// A Boolean value that indicates whether to search for a seed without collisions.
    private(set) var seeksSeed = true
    /// The entries of the keys, by their numbers. The first entry differs from every key.
    var entries = Self.noEntries
    var longestKey = 0
    @usableFromInline var bytes: [UInt8] = []
    /// The end of each key in `bytes`.
    @usableFromInline var ends: [Int] = []

    /// The number of a key, which is its index plus 1, in the low half, and the upper half of its hash in the high half; 0 if
    /// empty.
    struct Bucket {
        private let bits: UInt64

        static let free = Bucket(bits: 0)

        private init(bits: UInt64) { self.bits = bits }
        init(number: UInt32, hash: UInt64) { bits = hash & ~0xFFFF_FFFF | UInt64(number) }

        var isFree: Bool { bits == 0 }
        var number: Int { Int(truncatingIfNeeded: bits & 0xFFFF_FFFF) }

        // PERF: Linearity/JSON, tree, keys; a look-up doesn't load other keys into the processor's caches.
        /// Returns whether the key may have this hash.
        @inline(__always)
        func mayHold(_ hash: UInt64) -> Bool { (bits ^ hash) & ~0xFFFF_FFFF == 0 }
    }

    /// The words and the length of a key.
    struct Entry {
        var first: UInt64 = 0
        var last: UInt64 = 0
        var length = -1

        @inline(__always)  // PERF: StringTable/hit.
        func isEqual(to digest: KeyDigest, length: Int) -> Bool {
            first == digest.first && last == digest.last && self.length == length
        }
    }

    /// Creates an empty set that compares keys exactly.
    public init() { self.init(comparing: .exact) }

    /// Creates an empty set.
    /// - Parameters:
    ///   - comparison: The rule for the equality of keys.
    ///   - minimumCapacity: The number of keys to reserve memory for.
    public init(comparing comparison: KeyComparison, minimumCapacity: Int = 0) {
        self.comparison = comparison
        places = Self.freePlaces(for: minimumCapacity)
    }

    /// Creates an empty set that is filled for a single use.
    /// - Parameters:
    ///   - seeksSeed: True to search for a seed without collisions, so that a look-up visits one bucket.
    ///   - minimumCapacity: The number of keys to reserve memory for.
    package init(seeksSeed: Bool, minimumCapacity: Int = 0) {
        self.init(comparing: .exact, minimumCapacity: minimumCapacity)
        self.seeksSeed = seeksSeed
    }

    /// Creates a set of the keys in their order. Repeated keys are ignored.
    /// - Complexity: O(*n*) in the bytes of all keys.
    public init(_ keys: some Sequence<String>, comparing comparison: KeyComparison = .exact) {
        self.init(comparing: comparison, minimumCapacity: keys.underestimatedCount)
        for key in keys { insert(key) }
    }

    // MARK: Lookup

    /// Returns the index of the key with these bytes, or nil.
    /// - Complexity: O(*n*) in the length of the key. No allocation.
    public func index(of key: RawSpan) -> Int? {
        // SAFETY: the pointer does not leave the closure.
        unsafe key.withUnsafeBytes { unsafe index(of: $0) }
    }

    /// Returns the index of the key with the bytes of the buffer, or nil.
    /// - Complexity: O(*n*) in the length of the key. No allocation.
    public func index(of key: UnsafeRawBufferPointer) -> Int? {
        switch comparison {
        case .exact: return unsafe findFirst(key, isFolded: false)
        case .asciiCaseInsensitive: return unsafe findFirst(key, isFolded: true)
        }
    }

    /// Returns whether the key at an index equals these bytes, which is faster than a look-up if you expect this key.
    /// - Precondition: The index is in `0..<count`.
    public func isKey(at index: Int, equalTo key: RawSpan) -> Bool {
        // SAFETY: the pointer does not leave the closure.
        unsafe key.withUnsafeBytes { key in
            guard key.count <= 16, comparison == .exact else { return unsafe self.index(of: key) == index }
            let digest = unsafe KeyDigest(short: key, isFolded: false, seed: seed)
            return entries[index + 1].isEqual(to: digest, length: key.count)
        }
    }

    /// Returns the index of the key with the UTF-8 bytes of the string, or nil.
    /// - Complexity: O(*n*) in the length of the key. No allocation for native strings.
    public func index(of key: String) -> Int? {
        // SAFETY: the pointer does not leave the closure.
        let found: Int?? = unsafe key.utf8.withContiguousStorageIfAvailable {
            unsafe index(of: UnsafeRawBufferPointer($0))
        }
        if let found { return found }
        return unsafe Array(key.utf8).withUnsafeBytes { unsafe index(of: $0) }
    }

    /// Returns the index of a literal key, or nil.
    ///
    /// Only a literal is a `StaticString`: the compiler refuses a computed string here.
    /// - Complexity: O(*n*) in the length of the key. No allocation.
    public func index(ofConstant key: StaticString) -> Int? {
        // SAFETY: the pointer does not leave the closure.
        key.withUTF8Buffer { unsafe index(of: UnsafeRawBufferPointer($0)) }
    }

    /// Returns whether the string is a key.
    public func contains(_ key: String) -> Bool { index(of: key) != nil }

    // MARK: Keys

    /// The number of keys.
    public var count: Int { ends.count }

    /// A Boolean value that indicates whether the set is empty.
    public var isEmpty: Bool { ends.isEmpty }

    /// Returns the key at the index, as it was inserted. Invalid UTF-8 is replaced with U+FFFD.
    /// - Precondition: The index is in `0..<count`.
    /// - Complexity: O(*n*) in the length of the key.
    public subscript(index: Int) -> String { String(decoding: bytes[range(at: index)], as: UTF8.self) }

    /// Calls the closure with the bytes of the key at the index, as they were inserted.
    /// - Precondition: The index is in `0..<count`.
    @inlinable  // PERF: XML/objects; specializes the closure.
    public func withUTF8<Result, Failure: Error>(
        at index: Int, _ body: (RawSpan) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let range = range(at: index)
        return try unsafe bytes.withUnsafeBufferPointer { (bytes) throws(Failure) in
            // SAFETY: a range of keys is within the bytes; the span does not leave the closure.
            try unsafe body(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(bytes)[range]).bytes)
        }
    }

    /// Returns the bytes of all keys, and the range of the key at the index in them.
    package func slice(at index: Int) -> (bytes: [UInt8], range: Range<Int>) { (bytes, range(at: index)) }

    /// Adds a key if it is new, and returns its index in either case.
    /// - Returns: True if the key was new, and the index of this key or of the equal key.
    /// - Complexity: O(*n*) in the length of the key, averaged over many insertions.
    @discardableResult
    public mutating func insert(_ key: String) -> (inserted: Bool, index: Int) {
        var key = key
        // SAFETY: the pointer does not leave the closure.
        return key.withUTF8 { unsafe add(UnsafeRawBufferPointer($0)) }
    }

    /// Adds a key by its bytes if it is new, and returns its index in either case.
    /// - Returns: True if the key was new, and the index of this key or of the equal key.
    /// - Complexity: O(*n*) in the length of the key, averaged over many insertions.
    @discardableResult
    public mutating func insert(_ key: RawSpan) -> (inserted: Bool, index: Int) {
        // SAFETY: the pointer does not leave the closure.
        unsafe key.withUnsafeBytes { unsafe add($0) }
    }

    // MARK: Internals

    var isPerfect: Bool { continuation == 0 }

    var isFolded: Bool { comparison == .asciiCaseInsensitive }

    @inlinable
    func range(at index: Int) -> Range<Int> { (index == 0 ? 0 : ends[index - 1])..<ends[index] }

    /// Finds short keys in the bucket of the hash, and calls `findAnywhere` for all other keys.
    @inline(__always)  // PERF: StringTable/hit; without a loop or a call on its way it needs few registers, 2 of 7 ns.
    private func findFirst(_ key: UnsafeRawBufferPointer, isFolded: Bool) -> Int? {
        guard key.count <= 16 else { return key.count <= longestKey ? unsafe findAnywhere(key) : nil }
        let digest = unsafe KeyDigest(short: key, isFolded: isFolded, seed: seed)
        let place = places[Int(truncatingIfNeeded: digest.hash) & (places.count &- 1)]
        let number = place.number
        if place.mayHold(digest.hash), entries[number].isEqual(to: digest, length: key.count) { return number &- 1 }
        if number & continuation == 0 { return nil }
        return unsafe findAnywhere(key)
    }

    /// Finds keys of any length, in any bucket, with any comparison.
    @inline(never)  // PERF: see findFirst.
    private func findAnywhere(_ key: UnsafeRawBufferPointer) -> Int? {
        switch comparison {
        case .exact: unsafe find(key, isFolded: false)
        case .asciiCaseInsensitive: unsafe find(key, isFolded: true)
        }
    }

    /// Visits buckets from the bucket of the hash on, until the key or an empty bucket is found.
    @inline(__always)  // PERF: StringTable/case-insensitive; specialises the two values of `isFolded`.
    private func find(_ key: UnsafeRawBufferPointer, isFolded: Bool) -> Int? {
        let digest = unsafe KeyDigest(key, isFolded: isFolded, seed: seed)
        let mask = places.count &- 1
        var position = Int(truncatingIfNeeded: digest.hash) & mask
        while true {
            let place = places[position]
            let number = place.number
            if place.mayHold(digest.hash), entries[number].isEqual(to: digest, length: key.count) {
                if key.count <= 16 { return number &- 1 }
                if unsafe isMiddle(of: key, equalTo: number &- 1, isFolded: isFolded) { return number &- 1 }
            }
            if number & continuation == 0 { return nil }
            position = (position &+ 1) & mask
        }
    }

    /// Compares the bytes of a key of more than 16 bytes that are not in its entry.
    private func isMiddle(of key: UnsafeRawBufferPointer, equalTo index: Int, isFolded: Bool) -> Bool {
        let range = range(at: index)
        // SAFETY: a range of keys is within the bytes; the pointer does not leave the closure.
        return unsafe bytes.withUnsafeBytes { bytes in
            unsafe KeyDigest.isMiddleEqual(key, UnsafeRawBufferPointer(rebasing: bytes[range]), isFolded: isFolded)
        }
    }
}

extension KeySet: ExpressibleByArrayLiteral {
    /// Creates a set of the keys, compared exactly.
    public init(arrayLiteral elements: String...) { self.init(elements) }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension KeySet: SelfTesting {
    /// The in-class tests of the set.
    public static var testSelectors: TestSelectors {
        [
            "testFindsNothingWhenEmpty": testFindsNothingWhenEmpty,
            "testFindsKeysOfEveryLengthAtABoundary": testFindsKeysOfEveryLengthAtABoundary,
            "testDistinguishesSimilarKeys": testDistinguishesSimilarKeys,
            "testComparesBytesNotCanonicalForms": testComparesBytesNotCanonicalForms,
            "testFindsSameIndexByEveryOverload": testFindsSameIndexByEveryOverload,
            "testFoldsOnlyASCIICapitals": testFoldsOnlyASCIICapitals,
            "testKeepsTheFirstSpelling": testKeepsTheFirstSpelling,
            "testReadsOnlyBytesOfTheKey": testReadsOnlyBytesOfTheKey,
            "testKeepsInvalidUTF8Bytes": testKeepsInvalidUTF8Bytes,
        ]
    }

    private static func testFindsNothingWhenEmpty() {
        let set = KeySet()
        expectEqual(set.count, 0, "keys")
        for key in ["", "a", "a key of more than sixteen bytes"] { expectNil(set.index(of: key), "index of \(key)") }
    }

    private static let boundaryLengths = [0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 23, 24, 25, 255, 256, 257, 65_536]

    private static func testFindsKeysOfEveryLengthAtABoundary() {
        for comparison in [KeyComparison.exact, .asciiCaseInsensitive] {
            let keys = boundaryLengths.map { String(repeating: "k", count: $0) }
            let set = KeySet(keys, comparing: comparison)
            expectEqual(set.count, keys.count, "keys")
            for (index, key) in keys.enumerated() {
                expectEqual(set.index(of: key), index, "index of the key of \(key.utf8.count) bytes")
                expectEqual(set[index], key, "the key of \(key.utf8.count) bytes")
                guard !boundaryLengths.contains(key.utf8.count + 1) else { continue }
                expectNil(set.index(of: key + "k"), "index of a key of \(key.utf8.count + 1) bytes")
            }
        }
    }

    private static func testDistinguishesSimilarKeys() {
        for length in [2, 3, 4, 7, 8, 9, 16, 17, 24, 25, 40, 257] {
            let base = [UInt8](repeating: 0x61, count: length)
            var set = KeySet()
            // One different byte at each offset: the same length, mostly the same first and last byte.
            for place in 0..<length {
                var key = base
                key[place] = 0x62
                expectTrue(set.insert(String(decoding: key, as: UTF8.self)).inserted, "\(length) bytes, b at \(place)")
                key[place] = 0x63
                expectNil(set.index(of: String(decoding: key, as: UTF8.self)), "\(length) bytes, c at \(place)")
            }
            expectNil(set.index(of: String(decoding: base, as: UTF8.self)), "\(length) bytes without a difference")
        }
    }

    private static func testComparesBytesNotCanonicalForms() {
        let composed = "caf\u{E9}"
        let decomposed = "cafe\u{301}"
        expectEqual(composed, decomposed, "the two as strings of Swift")
        let set = KeySet([composed])
        expectEqual(set.index(of: composed), 0, "composed")
        expectNil(set.index(of: decomposed), "decomposed")
        let both = KeySet([composed, decomposed, "\u{1F600}", "日本語", "\0", "\0\0", ""])
        expectEqual(both.count, 7, "keys")
        for index in 0..<both.count { expectEqual(both.index(of: both[index]), index, "index of \(both[index])") }
    }

    private static func testFindsSameIndexByEveryOverload() {
        let set: KeySet = ["", "id", "naïve", "日本語", "a key of more than sixteen bytes", "offset1"]
        expectEqual(set.index(ofConstant: ""), 0, "empty constant")
        expectEqual(set.index(ofConstant: "日本語"), 3, "constant of three characters")
        expectEqual(set.index(ofConstant: "\u{FC}"), nil, "constant of one scalar")
        for key in (0..<set.count).map({ set[$0] }) + ["ID", "offset2", "nai\u{308}ve", "key"] {
            let expected = set.index(of: key)
            unsafe Array(key.utf8).withUnsafeBytes { bytes in
                expectEqual(unsafe set.index(of: bytes), expected, "\(key) by buffer")
                expectEqual(unsafe set.index(of: bytes.bytes), expected, "\(key) by span")
            }
            expectEqual(set.index(of: String(("x" + key).dropFirst())), expected, "\(key) by a string made from a part")
            expectEqual(set.contains(key), expected != nil, "contains \(key)")
            for index in 0..<set.count {
                let isEqual = unsafe Array(key.utf8).withUnsafeBytes { unsafe set.isKey(at: index, equalTo: $0.bytes) }
                expectEqual(isEqual, index == expected, "\(key) is the key at \(index)")
            }
        }
    }

    private static func testFoldsOnlyASCIICapitals() {
        let set = KeySet(
            ["Help", "Content-Transfer-Encoding", "\u{C9}cole", "[", "@"], comparing: .asciiCaseInsensitive)
        let rows: [(String, Int?)] = [
            ("help", 0), ("HELP", 0), ("hELP", 0), ("helps", nil), ("content-transfer-encoding", 1),
            ("CONTENT-TRANSFER-ENCODING", 1), ("content_transfer_encoding", nil), ("\u{C9}COLE", 2),
            ("\u{E9}cole", nil),
            ("{", nil), ("`", nil), ("[", 3), ("@", 4),
        ]
        for (key, index) in rows { expectEqual(set.index(of: key), index, key) }
        expectNil(KeySet(["Help"]).index(of: "help"), "another case in an exact set")
    }

    private static func testKeepsTheFirstSpelling() {
        var set = KeySet(["Help"], comparing: .asciiCaseInsensitive)
        let again = set.insert("HELP")
        expectFalse(again.inserted, "inserted again")
        expectEqual(again.index, 0, "index of the second spelling")
        expectEqual(set[0], "Help", "spelling")
        set.withUTF8(at: 0) { expectEqual($0.byteCount, 4, "bytes of the key") }
    }

    private static func testReadsOnlyBytesOfTheKey() {
        // A key in the middle of a buffer. With the bytes around it, it would be another key.
        let bytes = Array("XXtitleXX".utf8)
        let set: KeySet = ["title", "titleX", "Xtitle", "titl"]
        unsafe bytes.withUnsafeBytes { bytes in
            expectEqual(unsafe set.index(of: UnsafeRawBufferPointer(rebasing: bytes[2..<7])), 0, "title")
            expectEqual(unsafe set.index(of: UnsafeRawBufferPointer(rebasing: bytes[2..<8])), 1, "titleX")
            expectNil(unsafe set.index(of: UnsafeRawBufferPointer(rebasing: bytes[2..<2])), "nothing")
        }
        expectNil(unsafe set.index(of: UnsafeRawBufferPointer(start: nil, count: 0)), "a buffer without memory")
    }

    private static func testKeepsInvalidUTF8Bytes() {
        var set = KeySet()
        for bytes: [UInt8] in [[0xFF], [0xFF, 0xFE], [0x80]] {
            unsafe bytes.withUnsafeBytes { _ = unsafe set.insert($0.bytes) }
        }
        expectEqual(set.count, 3, "keys")
        expectEqual(set[1], "\u{FFFD}\u{FFFD}", "shown")
        unsafe [UInt8(0x80)].withUnsafeBytes {
            expectEqual(unsafe set.index(of: $0), 2, "index of a lone continuation byte")
        }
    }
}
#endif
