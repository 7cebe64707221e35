// Adding keys to a `KeySet`: buckets, growth, and the choice of a seed with few collisions.

extension KeySet {
    // PERF: JSONTree; all sets without keys share it, so they need no memory of their own.
    private static let noPlaces = [Bucket](repeating: .free, count: 16)
    static let noEntries = [Entry()]

    /// The greatest number of buckets that a look-up may visit. More visits indicate keys that were chosen to collide.
    private static let longestProbe = 64

    /// Adds a key if it is new, and returns its index in either case.
    mutating func add(_ key: UnsafeRawBufferPointer) -> (inserted: Bool, index: Int) {
        if let index = unsafe index(of: key) { return (false, index) }
        let index = count
        unsafe bytes.append(contentsOf: key)
        ends.append(bytes.count)
        precondition(ends.count < UInt32.max, "a set can have at most 4,294,967,294 keys")
        longestKey = max(longestKey, key.count)
        entries.append(Entry())
        if count > (seeksSeed ? Self.capacity(of: places.count) : places.count / 2) {
            places = seeksSeed ? Self.freePlaces(for: 2 * count) : [Bucket](repeating: .free, count: 4 * places.count)
            placeAll()
        } else {
            let probe = place(index)
            if isPerfect && probe > 0 {
                continuation = -1
                if seeksSeed { placeAll() }
            } else if probe > Self.longestProbe, reseededPlaceCount != places.count {
                // Keys that were chosen to collide would make look-ups slow. An unpredictable seed separates them.
                reseededPlaceCount = places.count
                seed = .random()
                placeAll()
            }
        }
        return (true, index)
    }

    /// Places every key again. For up to 64 keys, searches a few seeds for one without collisions.
    private mutating func placeAll() {
        let attempts = seeksSeed && count <= Self.perfectCount ? 32 : 1
        for attempt in 1...attempts {
            for position in places.indices { places[position] = .free }
            var longest = 0
            for index in 0..<count { longest = max(longest, place(index)) }
            continuation = longest == 0 ? 0 : -1
            if isPerfect || attempt == attempts { return }
            seed = seed.next()
        }
    }

    /// Puts a new key into a free bucket, and returns the distance from the bucket of its hash.
    private mutating func place(_ index: Int) -> Int {
        let range = range(at: index)
        // SAFETY: a range of keys is within the bytes; the pointer does not leave the closure.
        let digest = unsafe bytes.withUnsafeBytes { bytes in
            unsafe KeyDigest(UnsafeRawBufferPointer(rebasing: bytes[range]), isFolded: isFolded, seed: seed)
        }
        let mask = places.count - 1
        var position = Int(truncatingIfNeeded: digest.hash) & mask
        var probe = 0
        while !places[position].isFree {
            position = (position + 1) & mask
            probe += 1
        }
        places[position] = Bucket(number: UInt32(index + 1), hash: digest.hash)
        entries[index + 1] = Entry(first: digest.first, last: digest.last, length: range.count)
        return probe
    }

    /// The greatest number of keys for which a seed without collisions is searched.
    private static let perfectCount = 64

    /// Returns the greatest number of keys for a number of buckets.
    ///
    /// Up to 64 keys, at least one seed in eight has no collisions. For more keys, three of four buckets stay free.
    private static func capacity(of placeCount: Int) -> Int {
        switch placeCount {
        case ...16: 8
        case 32: 11
        case 64: 16
        case 128: 23
        case 256: 32
        case 512: 45
        case 1_024: perfectCount
        default: placeCount / 4
        }
    }

    static func freePlaces(for count: Int) -> [Bucket] {
        guard count > capacity(of: noPlaces.count) else { return noPlaces }
        var placeCount = noPlaces.count
        while capacity(of: placeCount) < count { placeCount *= 2 }
        return [Bucket](repeating: .free, count: placeCount)
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

enum KeySetPlacingTests {}

extension KeySetPlacingTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testAllocatesPlacesForEveryCount": testAllocatesPlacesForEveryCount,
            "testFindsEveryKeyAtEveryCount": testFindsEveryKeyAtEveryCount,
            "testSearchesSeedOnlyForFewKeys": testSearchesSeedOnlyForFewKeys,
            "testReseedsWhenKeysCollide": testReseedsWhenKeysCollide,
        ]
    }

    /// Tests the greatest number of keys for a number of buckets, and one more.
    private static func testAllocatesPlacesForEveryCount() {
        let rows = [
            (8, 16), (11, 32), (16, 64), (23, 128), (32, 256), (45, 512), (64, 1_024), (512, 2_048), (1_024, 4_096),
        ]
        for (count, places) in rows {
            expectEqual(KeySet.freePlaces(for: count).count, places, "\(count) keys")
            expectEqual(KeySet.freePlaces(for: count + 1).count, 2 * places, "\(count + 1) keys")
        }
    }

    /// Takes about 200 ms in a debug build, for the 100,000 keys.
    private static func testFindsEveryKeyAtEveryCount() {
        let counts = [0, 1, 2, 3, 4, 5, 8, 9, 63, 64, 65, 127, 128, 129, 254, 255, 256, 257, 100_000]
        for (count, seeksSeed) in counts.map({ ($0, true) }) + counts.dropLast().map({ ($0, false) }) {
            var set = KeySet(seeksSeed: seeksSeed)
            for number in 0..<count { set.insert("key\(number)") }
            expectEqual(set.count, count, "keys")
            expectTrue(set.isPerfect || count > 64 || !seeksSeed, "no two of \(count) keys meet")
            let wrong = (0..<count).first { set.index(of: "key\($0)") != $0 }
            expectNil(wrong, "first key of \(count) that is not at its index")
            let ghost = (count..<count + 1_000).first { set.contains("key\($0)") }
            expectNil(ghost, "first key found that is not among \(count)")
        }
    }

    private static func testSearchesSeedOnlyForFewKeys() {
        // The search for a seed places all keys up to 32 times. If many keys collide under every seed, it would be useless.
        for seeksSeed in [true, false] {
            var set = KeySet(seeksSeed: seeksSeed)
            var changes: [Int] = []
            for number in 0..<3_000 {
                let seed = set.seed
                set.insert("name \(number)")
                if set.seed != seed { changes.append(set.count) }
            }
            expectEqual(changes.isEmpty, !seeksSeed, "a seed was sought")
            expectLessThanOrEqual(changes.last ?? 0, 64, "keys when the last seed was sought")
        }
    }

    private static func testReseedsWhenKeysCollide() {
        // The last word cancels the initial seed of every large set, so all of these keys have the hash 0 at first.
        var set = KeySet((0..<100).map { "key\($0)" })
        let seed = set.seed
        let last = seed.last ^ 16
        let keys = (UInt64(0)..<500).map { [$0 | last << 32, last & 0xFFFF_FFFF_0000_0000] }
        for key in keys { unsafe key.withUnsafeBytes { _ = unsafe set.insert($0.bytes) } }
        expectEqual(set.count, 600, "keys")
        expectFalse(set.seed == seed, "seed")
        for (number, key) in keys.enumerated() {
            unsafe key.withUnsafeBytes { expectEqual(unsafe set.index(of: $0), 100 + number, "\(number)") }
        }
    }
}
#endif
