// The two words and the hash of a key: loading, case folding, hashing and comparison.
// The two words contain all bytes of keys of up to 16 bytes, so their comparison doesn't access the stored key.
// `KeySet` owns the buckets and the bytes of keys.

/// The rule for the equality of keys.
public enum KeyComparison: Sendable {
    /// Keys are equal if their UTF-8 bytes are equal.
    ///
    /// Canonically equivalent spellings are therefore different keys: "é" as U+00E9 is not "e" followed by U+0301.
    case exact
    /// Keys are equal if their bytes are equal after A–Z are converted to a–z. All other bytes are compared unchanged.
    ///
    /// This is the rule of HTTP field names, SQLite's `NOCASE` and HTML attributes. It depends on no locale and no
    /// version of Unicode, and never changes a length. "É" and "é" stay different keys.
    case asciiCaseInsensitive
}

/// Secret numbers that determine the buckets of keys. If too many keys collide, a new seed is chosen, as a protection against
/// deliberately chosen keys.
struct KeySeed: Sendable, Equatable {
    var first: UInt64 = 0x9E37_79B9_7F4A_7C15
    var last: UInt64 = 0xD1B5_4A32_D192_ED03

    /// Returns the next seed of a deterministic sequence.
    func next() -> KeySeed {
        KeySeed(first: first &* 0xD134_2543_DE82_EF95 | 1, last: last &* 0xAF25_1AF3_B0F0_25B5 &+ first | 1)
    }

    static func random() -> KeySeed {
        var generator = SystemRandomNumberGenerator()
        return KeySeed(first: generator.next() | 1, last: generator.next() | 1)
    }
}

/// The bytes of a key of up to 16 bytes, or the first and last eight bytes of a longer one, and its hash.
struct KeyDigest: Equatable {
    let first: UInt64
    let last: UInt64
    private(set) var hash: UInt64

    /// Loads the words of `key`, folded if `isFolded`, and hashes all of its bytes.
    /// - Complexity: O(*n*) in the length of the key, eight bytes a step. No allocation.
    @inline(__always)  // PERF: StringTable/hit; the two constant values of `isFolded` make two straight pieces of code.
    init(_ key: UnsafeRawBufferPointer, isFolded: Bool, seed: KeySeed) {
        let count = key.count
        guard count > 16 else {
            unsafe self.init(short: key, isFolded: isFolded, seed: seed)
            return
        }
        let first = unsafe Self.word(of: key, at: 0, isFolded: isFolded)
        let last = unsafe Self.word(of: key, at: count &- 8, isFolded: isFolded)
        self.init(first: first, last: last, length: count, seed: seed)
        var offset = 8
        while offset < count &- 8 {
            hash = unsafe Self.mixed(hash ^ Self.word(of: key, at: offset, isFolded: isFolded), seed.last)
            offset &+= 8
        }
    }

    /// Loads and hashes a key of at most 16 bytes, which the caller has checked.
    @inline(__always)  // PERF: see above.
    init(short key: UnsafeRawBufferPointer, isFolded: Bool, seed: KeySeed) {
        let (first, last) = unsafe Self.words(ofShort: key)
        if isFolded {
            self.init(first: Self.lowercased(first), last: Self.lowercased(last), length: key.count, seed: seed)
        } else {
            self.init(first: first, last: last, length: key.count, seed: seed)
        }
    }

    @inline(__always)  // PERF: see above.
    private init(first: UInt64, last: UInt64, length: Int, seed: KeySeed) {
        self.first = first
        self.last = last
        hash = Self.mixed(first ^ seed.first, last ^ seed.last ^ UInt64(truncatingIfNeeded: length))
    }

    /// Returns whether the bytes between the first and the last word of two keys of the same length are equal.
    @inline(__always)  // PERF: see init.
    static func isMiddleEqual(_ key: UnsafeRawBufferPointer, _ other: UnsafeRawBufferPointer, isFolded: Bool) -> Bool {
        precondition(key.count == other.count, "the keys must have the same length")
        var offset = 8
        while offset < key.count &- 8 {
            guard
                unsafe word(of: key, at: offset, isFolded: isFolded) == word(of: other, at: offset, isFolded: isFolded)
            else {
                return false
            }
            offset &+= 8
        }
        return true
    }

    /// Loads eight bytes at `offset`, which the caller has checked to be at most `key.count - 8`.
    @inline(__always)  // PERF: see init.
    private static func word(of key: UnsafeRawBufferPointer, at offset: Int, isFolded: Bool) -> UInt64 {
        // SAFETY: every caller is in this file and runs offsets from 0 to count - 8 under its own check of the count.
        let word = unsafe key.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
        return isFolded ? lowercased(word) : word
    }

    /// Packs a key of 0 to 16 bytes into two words; different keys of one length give different words.
    @inline(__always)  // PERF: StringTable/hit; one way for the lengths 4 to 16, for names in mixed order.
    private static func words(ofShort key: UnsafeRawBufferPointer) -> (first: UInt64, last: UInt64) {
        let count = key.count
        // SAFETY: each branch loads only below the count it has just checked. From 4 to 16 bytes, `inner` is 0, 4 or 8
        // and at most count - 4; the four loads overlap and together cover the key. From 1 to 3, the three loads do.
        if count >= 4 {
            let inner = (count &>> 3) &<< 2
            let first = unsafe key.loadUnaligned(fromByteOffset: 0, as: UInt32.self)
            let second = unsafe key.loadUnaligned(fromByteOffset: inner, as: UInt32.self)
            let third = unsafe key.loadUnaligned(fromByteOffset: count &- 4 &- inner, as: UInt32.self)
            let fourth = unsafe key.loadUnaligned(fromByteOffset: count &- 4, as: UInt32.self)
            return (UInt64(first) | UInt64(second) &<< 32, UInt64(third) | UInt64(fourth) &<< 32)
        }
        guard count > 0 else { return (0, 0) }
        let start = unsafe key.load(fromByteOffset: 0, as: UInt8.self)
        let middle = unsafe key.load(fromByteOffset: count &>> 1, as: UInt8.self)
        let end = unsafe key.load(fromByteOffset: count &- 1, as: UInt8.self)
        return (UInt64(start) | UInt64(middle) &<< 8 | UInt64(end) &<< 16, 0)
    }

    /// Converts the ASCII capitals among the eight bytes to lower case.
    @inline(__always)  // PERF: StringTable/case-insensitive hit; eight bytes in six operations.
    static func lowercased(_ word: UInt64) -> UInt64 {
        let low = word & 0x7F7F_7F7F_7F7F_7F7F
        let fromA = low &+ 0x3F3F_3F3F_3F3F_3F3F  // Bit 7 of each byte: the low seven bits are "A" or more.
        let afterZ = low &+ 0x2525_2525_2525_2525  // Bit 7 of each byte: they are beyond "Z".
        let isCapital = fromA & ~afterZ & ~word & 0x8080_8080_8080_8080
        return word | isCapital &>> 2
    }

    /// Multiplies to 128 bits and folds the halves, so that every bit of both operands reaches the result.
    @inline(__always)  // PERF: StringTable/hit; one multiplication for a key of up to 16 bytes.
    private static func mixed(_ left: UInt64, _ right: UInt64) -> UInt64 {
        let product = left.multipliedFullWidth(by: right)
        return product.high ^ product.low
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension KeyDigest: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testLowercasesOnlyCapitals": testLowercasesOnlyCapitals,
            "testShortKeysOfEqualLengthDiffer": testShortKeysOfEqualLengthDiffer,
            "testEveryByteChangesTheHash": testEveryByteChangesTheHash,
            "testSeedChangesTheHash": testSeedChangesTheHash,
        ]
    }

    private static func digest(_ bytes: [UInt8], isFolded: Bool = false, seed: KeySeed = KeySeed()) -> KeyDigest {
        unsafe bytes.withUnsafeBytes { unsafe KeyDigest($0, isFolded: isFolded, seed: seed) }
    }

    private static func testLowercasesOnlyCapitals() {
        for byte in UInt8.min...UInt8.max {
            let expected = (0x41...0x5A).contains(byte) ? byte + 0x20 : byte
            let word = UInt64(byte) &* 0x0101_0101_0101_0101
            expectEqual(lowercased(word), UInt64(expected) &* 0x0101_0101_0101_0101, "byte \(byte) in all places")
            expectEqual(
                lowercased(UInt64(byte) << 24 | 0xFF), UInt64(expected) << 24 | 0xFF, "byte \(byte) beside others")
        }
    }

    private static func testShortKeysOfEqualLengthDiffer() {
        for count in 1...16 {
            var words: Set<[UInt64]> = []
            for place in 0..<count {
                for byte in UInt8(1)...UInt8.max {
                    var key = [UInt8](repeating: 0, count: count)
                    key[place] = byte
                    let digest = digest(key)
                    words.insert([digest.first, digest.last])
                }
            }
            expectEqual(words.count, 255 * count, "different words of keys of \(count) bytes")
        }
    }

    private static func testEveryByteChangesTheHash() {
        for count in [1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 24, 25, 31, 32, 33, 255, 256, 257] {
            let key = [UInt8](repeating: 0x61, count: count)
            var hashes: Set<UInt64> = [digest(key).hash]
            for place in 0..<count {
                var other = key
                other[place] = 0x62
                hashes.insert(digest(other).hash)
            }
            expectEqual(hashes.count, count + 1, "different hashes of keys of \(count) bytes")
        }
    }

    private static func testSeedChangesTheHash() {
        let key = Array("a key of more than sixteen bytes".utf8)
        expectFalse(digest(key).hash == digest(key, seed: KeySeed(first: 3, last: 5)).hash, "hash under another seed")
        expectFalse(KeySeed.random() == KeySeed.random(), "two random seeds")
        // An even factor would lose bits.
        var next = KeySeed.random()
        for seed in (0..<64).map({ _ in KeySeed.random() }) {
            next = next.next()
            for seed in [seed, next] { expectEqual([seed.first & 1, seed.last & 1], [1, 1], "a seed's lowest bits") }
        }
    }
}
#endif
