// The coding keys for the keys of a tape: from the mapping rule, and from the bits of the strings found so far.

/// The coding keys for the keys of a tape.
struct CodingKeys {
    /// The number of keys that were processed.
    private(set) var count = 0
    /// The coding key for each key number; empty if the coding keys are the names and all of them are ASCII, where
    /// equal strings have equal bytes.
    private(set) var names: [String] = []
    /// For each coding key, the number of the first key in the tape that maps to it.
    private(set) var numbers: [String: Int] = [:]
    /// For each coding key that several keys map to, the first of those keys.
    private(set) var shared: Set<Int> = []
    /// For each key number, the first key that maps to the same coding key.
    private var firsts: [UInt32] = []

    /// The same, but empty if no two keys map to the same coding key.
    private(set) var canonical: [UInt32] = []

    /// Processes the keys that were added since the last call.
    mutating func add(_ keys: borrowing TapeKeys, _ map: ((String) -> String)?) {
        defer { count = keys.count }
        if map == nil && names.isEmpty && keys.areASCII { return }
        for number in names.count..<keys.count {
            let name = map?(keys.name(number)) ?? keys.name(number)
            names.append(name)
            // Dictionaries of one stream may spell a key differently, so each of them is searched for every spelling.
            let first = numbers[name] ?? number
            if first == number { numbers[name] = number } else { shared.insert(first) }
            firsts.append(UInt32(truncatingIfNeeded: first))
        }
        if !shared.isEmpty { canonical = firsts }
    }
}

/// The coding keys found so far, by their bits in memory; see `RecentStrings`.
@safe
final class KnownKeys {
    // SAFETY: one entry for each key, initially zeros, which aren't the bits of any string.
    private(set) var entries = UnsafeMutablePointer<(UInt64, UInt64)>.allocate(capacity: 0)
    private(set) var count = 0
    /// The strings themselves, kept alive so that no other string can have the same bits.
    private var strings: [String] = []

    /// Reserves memory for the given number of keys; no container may be in use.
    func reserve(_ number: Int) {
        guard number > count else { return }
        let larger = UnsafeMutablePointer<(UInt64, UInt64)>.allocate(capacity: number)
        unsafe larger.initialize(repeating: (0, 0), count: number)
        unsafe larger.update(from: entries, count: count)
        unsafe entries.deallocate()
        unsafe entries = unsafe larger
        count = number
    }

    deinit { unsafe entries.deallocate() }

    /// Removes all coding keys.
    func removeAll() {
        unsafe entries.update(repeating: (0, 0), count: count)
        strings = []
    }

    /// Remembers the first coding key that was found for a key.
    @inline(never)
    func insert(_ key: String, _ number: Int) {
        guard let bits = RecentStrings.bits(of: key), number < count, unsafe entries[number] == (0, 0) else { return }
        unsafe entries[number] = bits
        strings.append(key)
    }
}
