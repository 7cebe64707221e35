// The coding keys that the keys of a tape are: by the rule that makes them, and by the bits of the strings that were found.

/// The coding keys that the keys of a tape are.
struct CodingKeys {
    /// The number of keys that were looked at.
    private(set) var count = 0
    /// By number of a key; none where the coding keys are the names, and all of ASCII, which are equal when their bytes are.
    private(set) var names: [String] = []
    /// By coding key: the number of the first key in the tape that becomes it.
    private(set) var numbers: [String: Int] = [:]
    /// The first keys of those coding keys that several keys become.
    private(set) var shared: Set<Int> = []
    /// By number of a key: the first one that becomes the same coding key.
    private var firsts: [UInt32] = []

    /// The same, and nothing where no two keys become one coding key.
    private(set) var canonical: [UInt32] = []

    /// Looks at the keys that have come since.
    mutating func add(_ keys: borrowing TapeKeys, _ map: ((String) -> String)?) {
        defer { count = keys.count }
        if map == nil && names.isEmpty && keys.areASCII { return }
        for number in names.count..<keys.count {
            let name = map?(keys.name(number)) ?? keys.name(number)
            names.append(name)
            // Dictionaries of one stream may spell a key differently, so each of them is looked through for every spelling.
            let first = numbers[name] ?? number
            if first == number { numbers[name] = number } else { shared.insert(first) }
            firsts.append(UInt32(truncatingIfNeeded: first))
        }
        if !shared.isEmpty { canonical = firsts }
    }
}

/// The coding keys that were found, by their bits in memory; see `RecentStrings`.
@safe
final class KnownKeys {
    // SAFETY: one entry for each key, zeros at first, which are the bits of no string.
    private(set) var entries = UnsafeMutablePointer<(UInt64, UInt64)>.allocate(capacity: 0)
    private(set) var count = 0
    /// The strings themselves, which stay alive, so that no other string can have the same bits.
    private var strings: [String] = []

    /// Makes room for so many keys; no container is in use.
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

    /// Forgets all coding keys.
    func forget() {
        unsafe entries.update(repeating: (0, 0), count: count)
        strings = []
    }

    /// Remembers the first coding key that was found to be a key.
    @inline(never)
    func remember(_ key: String, _ number: Int) {
        guard let bits = RecentStrings.bits(of: key), number < count, unsafe entries[number] == (0, 0) else { return }
        unsafe entries[number] = bits
        strings.append(key)
    }
}
