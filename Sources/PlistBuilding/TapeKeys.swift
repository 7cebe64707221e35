// The keys of a `DecodingTape`: each is stored once and known by its number. The key that came after another one the last
// time is expected again, and found by comparing words; the others are found by a small table.

import PlistStreaming
import StringTables

/// Keys by number, in the order in which they came first.
@safe
struct TapeKeys: ~Copyable {
    /// What no key has as its number.
    static let none = UInt32.max

    /// By number plus 1; the first one is no key, but what comes before and around all others.
    private var entries = unsafe GrowingMemory<Entry>()
    private var text = unsafe GrowingMemory<UInt8>()
    /// By hash: a number plus 1, or 0.
    private var places: [UInt32] = Array(repeating: 0, count: 64)
    /// All keys, from when too many met in one place.
    private var set: KeySet?
    private var generation: UInt32 = 0
    private static let seed = (UInt64.random(in: .min ... .max), UInt64.random(in: .min ... .max))
    private static let longestProbe = 24

    private struct Entry: BitwiseCopyable {
        var digest = Digest()
        var start: UInt64 = 0
        /// The number of the key that came after this one, and of the first key in a container under this one.
        var follower = TapeKeys.none
        var inner = TapeKeys.none
        var generation: UInt32 = 0
    }

    /// What is compared of a key: the length, and all bytes up to 16, or the first and the last eight.
    private struct Digest: BitwiseCopyable {
        var first: UInt64 = 0
        var last: UInt64 = 0
        var length: UInt = .max

        init() {}

        @inline(__always)  // PERF: JSONTyped; once a member.
        init(_ bytes: UnsafeRawBufferPointer) {
            let count = bytes.count
            // SAFETY: each branch loads only below the count it has just checked.
            if count >= 8 {
                first = unsafe bytes.loadUnaligned(fromByteOffset: 0, as: UInt64.self)
                last = unsafe bytes.loadUnaligned(fromByteOffset: count &- 8, as: UInt64.self)
            } else if count >= 4 {
                first = unsafe UInt64(bytes.loadUnaligned(fromByteOffset: 0, as: UInt32.self))
                last = unsafe UInt64(bytes.loadUnaligned(fromByteOffset: count &- 4, as: UInt32.self))
            } else if count > 0 {
                first = unsafe UInt64(bytes[0]) | UInt64(bytes[count &>> 1]) &<< 8
                last = unsafe UInt64(bytes[count &- 1])
            }
            length = UInt(count)
        }

        @inline(__always)  // PERF: see above.
        static func == (left: Digest, right: Digest) -> Bool {
            left.first == right.first && left.last == right.last && left.length == right.length
        }

        var hash: UInt64 {
            var one = (first ^ TapeKeys.seed.0) &* 0x9E37_79B9_7F4A_7C15
            var other = (last ^ TapeKeys.seed.1) &* 0xBF58_476D_1CE4_E5B9
            one ^= one &>> 32
            other ^= other &>> 29
            return (one &+ other &+ UInt64(length)) &* 0x94D0_49BB_1331_11EB
        }
    }

    init() { unsafe entries.append(Entry()) }

    deinit {
        unsafe entries.deallocate()
        unsafe text.deallocate()
    }

    /// The number of keys.
    var count: Int { unsafe entries.count - 1 }

    /// Calls a closure with the bytes of a key.
    func withUTF8<Result>(of number: Int, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        let entry = unsafe entries[number + 1]
        let start = Int(entry.start)
        // SAFETY: slicing checks the range; the pointer is used within the closure only.
        return unsafe body(
            UnsafeRawBufferPointer(
                rebasing: UnsafeRawBufferPointer(text.values)[start..<start + Int(entry.digest.length)]))
    }

    /// The text of a key.
    func name(_ number: Int) -> String {
        unsafe withUTF8(of: number) { unsafe String(decoding: $0, as: UTF8.self) }
    }

    // MARK: Finding

    /// The number of the key that is expected after another one, or first in the container of another, if it is this one.
    ///
    /// Keys around and before are given as numbers plus 1.
    @inline(__always)  // PERF: JSONTyped; once a member.
    func expected(_ key: RawSpan, after last: UInt32, isFirst: Bool) -> UInt32 {
        // SAFETY: a number is below the count, and entries are one more; the bytes are those of the span, used while it is.
        let entries = unsafe entries.start.unsafelyUnwrapped
        let before = unsafe entries + Int(last)
        let number = unsafe isFirst ? before.pointee.inner : before.pointee.follower
        guard number != Self.none else { return Self.none }
        let entry = unsafe entries + Int(number) + 1
        let bytes = unsafe key.withUnsafeBytes { unsafe $0 }
        let digest = unsafe Digest(bytes)
        guard unsafe digest == entry.pointee.digest else { return Self.none }
        guard digest.length > 16 else { return number }
        return unsafe isMiddle(of: bytes, equalTo: entry.pointee) ? number : Self.none
    }

    /// The number of a key, which is added when it is new, and expected from now on.
    @inline(never)
    mutating func number(of key: RawSpan, after last: UInt32, isFirst: Bool) -> UInt32 {
        // SAFETY: the pointer does not leave the closure.
        let number = unsafe key.withUnsafeBytes { bytes in unsafe find(bytes) ?? insert(bytes) }
        if isFirst {
            unsafe entries[Int(last)].inner = number
        } else {
            unsafe entries[Int(last)].follower = number
        }
        return number
    }

    /// The number of a key, or nil.
    func index(of key: String) -> Int? {
        var key = key
        // SAFETY: the pointer does not leave the closure.
        return key.withUTF8 { bytes in unsafe find(UnsafeRawBufferPointer(bytes)).map { Int($0) } }
    }

    private func find(_ bytes: UnsafeRawBufferPointer) -> UInt32? {
        if let set { return unsafe set.index(of: bytes).map { UInt32(truncatingIfNeeded: $0) } }
        let digest = unsafe Digest(bytes)
        let mask = places.count - 1
        var place = Int(truncatingIfNeeded: digest.hash &>> 40) & mask
        while places[place] != 0 {
            let number = places[place] - 1
            let entry = unsafe entries[Int(number) + 1]
            if digest == entry.digest, unsafe digest.length <= 16 || isMiddle(of: bytes, equalTo: entry) {
                return number
            }
            place = (place + 1) & mask
        }
        return nil
    }

    /// Compares what the digest does not hold of a key of more than 16 bytes.
    @inline(never)
    private func isMiddle(of bytes: UnsafeRawBufferPointer, equalTo entry: Entry) -> Bool {
        let known = unsafe UnsafeRawBufferPointer(text.values)
        let start = Int(entry.start)
        var offset = 8
        // SAFETY: the lengths are equal; each word begins eight or more bytes before the end of both.
        while offset < bytes.count - 8 {
            let word = unsafe bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            if unsafe word != known.loadUnaligned(fromByteOffset: start + offset, as: UInt64.self) { return false }
            offset += 8
        }
        return true
    }

    private mutating func insert(_ bytes: UnsafeRawBufferPointer) -> UInt32 {
        let number = UInt32(truncatingIfNeeded: count)
        var entry = Entry()
        entry.digest = unsafe Digest(bytes)
        entry.start = unsafe UInt64(text.count)
        unsafe text.append(contentsOf: bytes.bindMemory(to: UInt8.self))
        unsafe entries.append(entry)
        if set != nil {
            unsafe set?.insert(bytes.bytes)
        } else {
            if count * 2 > places.count {
                places = Array(repeating: 0, count: places.count * 4)
                for number in 0..<number where set == nil { put(number) }
            }
            if set == nil { put(number) }
        }
        return number
    }

    /// Puts a number into a free place near the one its hash names; keys chosen to meet in one place go into a set.
    private mutating func put(_ number: UInt32) {
        let mask = places.count - 1
        let first = unsafe Int(truncatingIfNeeded: entries[Int(number) + 1].digest.hash &>> 40)
        for probe in 0..<Self.longestProbe {
            let place = (first + probe) & mask
            if places[place] == 0 {
                places[place] = number + 1
                return
            }
        }
        var all = KeySet(comparing: .exact, minimumCapacity: count)
        for number in 0..<count { unsafe withUTF8(of: number) { _ = unsafe all.insert($0.bytes) } }
        set = all
    }

    // MARK: Keys that come twice

    mutating func beginDictionary() { generation &+= 1 }

    /// Whether a key is met in the dictionary for the first time.
    mutating func isFirstInDictionary(_ number: UInt32) -> Bool {
        let isFirst = unsafe entries[Int(number) + 1].generation != generation
        unsafe entries[Int(number) + 1].generation = generation
        return isFirst
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

enum TapeKeysTests {}

extension TapeKeysTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testNumbersKeysInTheirOrder": testNumbersKeysInTheirOrder,
            "testExpectsTheKeyThatFollowed": testExpectsTheKeyThatFollowed,
            "testTellsNearKeysApart": testTellsNearKeysApart,
            "testFindsKeysThatMeetInOnePlace": testFindsKeysThatMeetInOnePlace,
        ]
    }

    private static func number(of key: [UInt8], in keys: inout TapeKeys, after last: UInt32 = 0) -> UInt32 {
        unsafe key.withUnsafeBytes { unsafe keys.number(of: $0.bytes, after: last, isFirst: false) }
    }

    private static func testNumbersKeysInTheirOrder() {
        var keys = TapeKeys()
        for round in 0..<2 {
            for count in 0..<3_000 {
                let name = String(repeating: "k", count: count % 40) + "\(count)"
                expectTrue(number(of: Array(name.utf8), in: &keys) == UInt32(count), "\(name) in round \(round)")
            }
        }
        expectEqual(keys.count, 3_000, "keys")
        expectEqual(keys.name(45), "kkkkk45", "a name")
        expectEqual(keys.index(of: "kkkkk45"), 45, "its index")
        expectNil(keys.index(of: "none"), "the index of none")
    }

    private static func testExpectsTheKeyThatFollowed() {
        var keys = TapeKeys()
        func expected(_ name: String, after last: UInt32, isFirst: Bool) -> UInt32 {
            unsafe Array(name.utf8).withUnsafeBytes { unsafe keys.expected($0.bytes, after: last, isFirst: isFirst) }
        }
        let long = "a key of more than sixteen bytes"
        for name in ["a", long] {
            expectEqual(expected(name, after: 0, isFirst: true), TapeKeys.none, "\(name) at first")
            let number = unsafe Array(name.utf8).withUnsafeBytes {
                unsafe keys.number(of: $0.bytes, after: 0, isFirst: true)
            }
            expectEqual(expected(name, after: 0, isFirst: true), number, "\(name) afterwards")
            expectEqual(expected(name, after: 0, isFirst: false), TapeKeys.none, "\(name) elsewhere")
        }
        expectEqual(
            expected("a key of more thaX sixteen bytes", after: 0, isFirst: true), TapeKeys.none, "another middle")
    }

    private static func testTellsNearKeysApart() {
        for length in [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 18, 23, 24, 25, 31, 32, 33, 40] {
            var keys = TapeKeys()
            let base = [UInt8](repeating: 0x61, count: length)
            expectEqual(number(of: base, in: &keys), 0, "the key of \(length) bytes")
            for place in 0..<length {
                var key = base
                key[place] = 0x62
                expectEqual(number(of: key, in: &keys), UInt32(place + 1), "\(length) bytes, another at \(place)")
            }
            expectEqual(number(of: base, in: &keys), 0, "\(length) bytes again")
        }
    }

    private static func testFindsKeysThatMeetInOnePlace() {
        // The same first and last bytes and lengths: the same hash under every seed.
        var keys = TapeKeys()
        for round in 0..<2 {
            for index in 0..<500 {
                let name = "12345678 \(1_000 + index) 12345678"
                expectEqual(number(of: Array(name.utf8), in: &keys), UInt32(index), "\(name) in round \(round)")
            }
        }
        expectEqual(keys.index(of: "12345678 1499 12345678"), 499, "the last one")
    }
}
#endif
