// Finds strings that were looked up before, by their bits in memory instead of their text. Coding keys are literals or
// short, so the same key has the same bits each time.

/// The numbers of the strings that were looked up last.
///
/// PERF: JSONRecords/writing, JSONRecords/foundation; two words compared per key instead of hashing its text.
@safe
struct RecentStrings: ~Copyable {
    private let entries = UnsafeMutablePointer<Entry>.allocate(capacity: 32)
    /// The strings themselves, kept alive so that no other string can have the same bits.
    private var strings = [String](repeating: "", count: 32)

    private struct Entry {
        var bits: (UInt64, UInt64) = (0, 0)
        var number = -1
    }

    init() { unsafe entries.initialize(repeating: Entry(), count: 32) }

    deinit { unsafe entries.deallocate() }

    /// Returns the number of the string, or -1 if it isn't one of the last. A string with the same text but other bits
    /// may have a number.
    @inline(__always)  // PERF: see above.
    func number(of string: String) -> Int {
        guard let bits = Self.bits(of: string) else { return -1 }
        // SAFETY: an index has five bits, and there are 32 entries.
        let entry = unsafe entries[Self.place(of: bits)]
        return entry.bits == bits ? entry.number : -1
    }

    /// Remembers the number of a string, from 0 on.
    @inline(never)
    mutating func insert(_ string: String, _ number: Int) {
        guard let bits = Self.bits(of: string) else { return }
        let place = Self.place(of: bits)
        // SAFETY: see above.
        unsafe entries[place] = Entry(bits: bits, number: number)
        strings[place] = string
    }

    @inline(__always)  // PERF: see above.
    static func bits(of string: String) -> (UInt64, UInt64)? {
        guard MemoryLayout<String>.size == 16 else { return nil }
        // SAFETY: bits are compared as numbers. Equal bits are the same inline text, or the same memory with the same
        // length, which does not change while `strings` shares it.
        return unsafe unsafeBitCast(string, to: (UInt64, UInt64).self)
    }

    @inline(__always)  // PERF: see above.
    private static func place(of bits: (UInt64, UInt64)) -> Int {
        let mixed = (bits.0 ^ bits.1 &>> 32 ^ bits.1 &<< 32) &* 0x9E37_79B9_7F4A_7C15
        return Int(truncatingIfNeeded: mixed &>> 59)
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension RecentStrings: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testFindsRememberedStrings": testFindsRememberedStrings,
            "testNeverConfusesStrings": testNeverConfusesStrings,
        ]
    }

    private static func testFindsRememberedStrings() {
        var recent = RecentStrings()
        let names = ["", "id", "a name of more than fifteen bytes", "größe"]
        for name in names { expectEqual(recent.number(of: name), -1, "before \(name)") }
        for (number, name) in names.enumerated() {
            recent.insert(name, number)
            expectEqual(recent.number(of: name), number, name)
        }
    }

    private static func testNeverConfusesStrings() {
        // Long strings are created and freed, so that the allocator reuses the memory of one for the next.
        var recent = RecentStrings()
        for round in 0..<2_000 {
            let name = "a name of more than fifteen bytes \(round % 10) \(round)"
            let found = recent.number(of: name)
            if found != -1 { expectEqual(found, round, name) }
            if round % 3 == 0 { recent.insert(name, round) }
        }
    }
}
#endif
