// The keys of a `DecodingTape`: each is stored once and identified by its number. Keys that followed another key before
// are predicted and compared as words. All other keys are looked up in a small table.

import PlistBuilding
import PlistStreaming
import StringTables

/// Keys by number, in the order of their first occurrence.
@safe @usableFromInline
struct TapeKeys: ~Copyable {
    /// The entries, by number.
    private var entries = unsafe GrowingMemory<Entry>()
    private var text = unsafe GrowingMemory<UInt8>()
    /// The sequences of keys in dictionaries so far. The first state is the common start, and also means no state.
    private var states = unsafe GrowingMemory<State>()
    /// For each hash, a number plus 1, or 0.
    private var places: [UInt32] = Array(repeating: 0, count: 64)
    /// All keys, used as soon as too many have the same index.
    private var set: KeySet?
    private var generation: UInt32 = 0
    private static let seed = (UInt64.random(in: .min ... .max), UInt64.random(in: .min ... .max))
    private static let longestProbe = 32
    private static let stateLimit = 4_096
    private static let longestChoice = 4

    @usableFromInline
    struct Entry: BitwiseCopyable {
        @usableFromInline let words: KeyWords
        @usableFromInline let start: UInt64
        /// The state of the key if no other state represents it.
        let state: UInt32
        var generation: UInt32 = 0
    }

    /// A key at one position among others.
    private struct State: BitwiseCopyable {
        var key: UInt32 = 0
        /// The key that came next, and the first key in this key's value.
        var follower: UInt32 = 0
        var inner: UInt32 = 0
        /// Another key that occurred at the same position.
        var alternative: UInt32 = 0
    }

    init() {
        unsafe entries.reserve(64)
        unsafe states.append(State())
    }

    deinit {
        unsafe entries.deallocate()
        unsafe text.deallocate()
        unsafe states.deallocate()
    }

    /// A Boolean value that indicates whether there are few keys and few sequences of keys.
    var isSmall: Bool { unsafe count <= 256 && states.count <= 1_024 && text.count <= 1 << 14 && self.set == nil }

    /// The number of keys.
    var count: Int { unsafe entries.count }

    /// A Boolean value that indicates whether all keys are ASCII.
    var areASCII: Bool { unsafe text.values.allSatisfy { $0 < 0x80 } }

    /// Calls a closure with the bytes of a key.
    func withUTF8<Result>(of number: Int, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        let entry = unsafe entries[number]
        let start = Int(entry.start)
        // SAFETY: slicing checks the range; the pointer is used within the closure only.
        return unsafe body(
            UnsafeRawBufferPointer(
                rebasing: UnsafeRawBufferPointer(text.values)[start..<start + entry.words.length]))
    }

    /// The entries and the text of all keys; valid until the next change.
    var texts: (entries: UnsafeBufferPointer<Entry>, text: UnsafeRawBufferPointer) {
        unsafe (entries.values, UnsafeRawBufferPointer(text.values))
    }

    /// Returns the text of a key.
    func name(_ number: Int) -> String {
        unsafe withUTF8(of: number) { unsafe String(decoding: $0, as: UTF8.self) }
    }

    // MARK: Finding

    /// Returns the number of the key of a state.
    @inline(__always)  // PERF: JSONTyped; once a member.
    func key(of state: UInt32) -> UInt32 { unsafe states[Int(state)].key }

    /// Returns the state of a key that followed the key of another state in a dictionary, or was the first key in its
    /// value; otherwise 0.
    @inline(__always)  // PERF: see above.
    func expected(_ key: RawSpan, after last: UInt32, isFirst: Bool) -> UInt32 {
        // SAFETY: memory for both exists and does not change during the call.
        unsafe Self.expected(
            key, after: last, isFirst: isFirst, states: states.start.unsafelyUnwrapped,
            entries: entries.start.unsafelyUnwrapped, text: text.start)
    }

    // PERF: JSONTyped; with pointers instead of the keys themselves, which would be copied for the call.
    @unsafe @inline(__always)
    private static func expected(
        _ key: RawSpan, after last: UInt32, isFirst: Bool, states: UnsafePointer<State>,
        entries: UnsafePointer<Entry>, text: UnsafePointer<UInt8>?
    ) -> UInt32 {
        // SAFETY: states refer only to existing states and keys; the bytes belong to the span and are used during its
        // lifetime.
        let bytes = unsafe key.withUnsafeBytes { unsafe $0 }
        let words = unsafe KeyWords(bytes)
        let before = unsafe states + Int(last)
        var state = unsafe isFirst ? before.pointee.inner : before.pointee.follower
        while state != 0 {
            let entry = unsafe entries + Int(states[Int(state)].key)
            let known = unsafe text.map { unsafe UnsafeRawPointer($0 + Int(entry.pointee.start)) }
            if unsafe entry.pointee.words.isEqual(to: words, bytes, known) { return state }
            state = unsafe states[Int(state)].alternative
        }
        return 0
    }

    /// Returns the state of a key, which is added if it is new, and predicted from now on.
    @inline(never)
    mutating func state(of key: RawSpan, after last: UInt32, isFirst: Bool) -> UInt32 {
        // SAFETY: the pointer does not leave the closure.
        let number = unsafe key.withUnsafeBytes { bytes in unsafe find(bytes) ?? insert(bytes) }
        let known = unsafe entries[Int(number)].state
        let before = unsafe states[Int(last)]
        let others = isFirst ? before.inner : before.follower
        var (choice, length) = (others, 0)
        while choice != 0 {
            choice = unsafe states[Int(choice)].alternative
            length += 1
        }
        // A position at which any key may occur isn't worth learning.
        guard length < Self.longestChoice, unsafe states.count < Self.stateLimit else { return known }
        // The keys that followed at another position are also predicted here.
        var state = unsafe states[Int(known)]
        state.alternative = others
        let new = unsafe UInt32(truncatingIfNeeded: states.count)
        unsafe states.append(state)
        learn(new, after: last, isFirst: isFirst)
        if last != 0 {
            let base = unsafe entries[Int(before.key)].state
            let isKnown = unsafe (isFirst ? states[Int(base)].inner : states[Int(base)].follower) != 0
            if !isKnown { learn(new, after: base, isFirst: isFirst) }
        }
        return new
    }

    private mutating func learn(_ state: UInt32, after last: UInt32, isFirst: Bool) {
        if isFirst {
            unsafe states[Int(last)].inner = state
        } else {
            unsafe states[Int(last)].follower = state
        }
    }

    /// Returns the number of a key, or nil.
    func index(of key: String) -> Int? {
        var key = key
        // SAFETY: the pointer does not leave the closure.
        return key.withUTF8 { bytes in unsafe find(UnsafeRawBufferPointer(bytes)).map { Int($0) } }
    }

    /// Adds a key if it is new, and returns its number in either case.
    mutating func insert(_ key: String) -> (isNew: Bool, number: Int) {
        var key = key
        // SAFETY: the pointer does not leave the closure.
        return key.withUTF8 { bytes in
            let bytes = UnsafeRawBufferPointer(bytes)
            if let number = unsafe find(bytes) { return (false, Int(number)) }
            return unsafe (true, Int(insert(bytes)))
        }
    }

    private func find(_ bytes: UnsafeRawBufferPointer) -> UInt32? {
        if let set { return unsafe set.index(of: bytes).map { UInt32(truncatingIfNeeded: $0) } }
        let words = unsafe KeyWords(bytes)
        let mask = places.count - 1
        var place = Int(truncatingIfNeeded: words.hash(Self.seed) &>> 24) & mask
        while places[place] != 0 {
            let number = places[place] - 1
            let entry = unsafe entries[Int(number)]
            // SAFETY: the text of a key is that long.
            let known = unsafe text.start.map { unsafe UnsafeRawPointer($0 + Int(entry.start)) }
            if unsafe entry.words.isEqual(to: words, bytes, known) { return number }
            place = (place + 1) & mask
        }
        return nil
    }

    private mutating func insert(_ bytes: UnsafeRawBufferPointer) -> UInt32 {
        let number = UInt32(truncatingIfNeeded: count)
        let entry = unsafe Entry(
            words: KeyWords(bytes), start: UInt64(text.count), state: UInt32(truncatingIfNeeded: states.count))
        unsafe states.append(State(key: number))
        unsafe text.append(contentsOf: bytes.bindMemory(to: UInt8.self))
        unsafe entries.append(entry)
        if set != nil {
            unsafe set?.insert(bytes.bytes)
        } else {
            // At most a quarter of the table is used, so that ordinary keys don't cause long searches.
            if count * 4 > places.count {
                places = Array(repeating: 0, count: places.count * 4)
                for number in 0..<number where set == nil { put(number) }
            }
            if set == nil { put(number) }
        }
        return number
    }

    /// Puts a number into a free slot near the one of its hash. Keys that were chosen to collide are moved to a set.
    private mutating func put(_ number: UInt32) {
        let mask = places.count - 1
        let first = unsafe Int(truncatingIfNeeded: entries[Int(number)].words.hash(Self.seed) &>> 24)
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

    // MARK: Duplicate keys

    mutating func beginDictionary() { generation &+= 1 }

    /// Returns whether a key occurs in the dictionary for the first time.
    mutating func isFirstInDictionary(_ number: UInt32) -> Bool {
        let isFirst = unsafe entries[Int(number)].generation != generation
        unsafe entries[Int(number)].generation = generation
        return isFirst
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension TapeKeys {
    /// A Boolean value that indicates whether so many keys have collided that all are kept in a set.
    fileprivate var hasManyInOnePlace: Bool { self.set != nil }
}

enum TapeKeysTests {}

extension TapeKeysTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testNumbersKeysInOrder": testNumbersKeysInOrder,
            "testPredictsTheNextKey": testPredictsTheNextKey,
            "testDistinguishesSimilarKeys": testDistinguishesSimilarKeys,
            "testFindsCollidingKeys": testFindsCollidingKeys,
            "testMovesCollidingKeysIntoASet": testMovesCollidingKeysIntoASet,
        ]
    }

    private static func number(of key: [UInt8], in keys: inout TapeKeys) -> UInt32 {
        let state = unsafe key.withUnsafeBytes { unsafe keys.state(of: $0.bytes, after: 0, isFirst: false) }
        return keys.key(of: state)
    }

    private static func testNumbersKeysInOrder() {
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

    private static func testPredictsTheNextKey() {
        var keys = TapeKeys()
        func expected(_ name: String, after last: UInt32, isFirst: Bool) -> UInt32 {
            unsafe Array(name.utf8).withUnsafeBytes { unsafe keys.expected($0.bytes, after: last, isFirst: isFirst) }
        }
        func learn(_ name: String, after last: UInt32, isFirst: Bool) -> UInt32 {
            unsafe Array(name.utf8).withUnsafeBytes { unsafe keys.state(of: $0.bytes, after: last, isFirst: isFirst) }
        }
        let long = "a key of more than sixteen bytes"
        var states: [UInt32] = [0]
        for name in ["a", long, "b"] {
            let last = states[states.count - 1]
            expectEqual(expected(name, after: last, isFirst: false), 0, "\(name) at first")
            states.append(learn(name, after: last, isFirst: false))
            expectEqual(expected(name, after: last, isFirst: false), states[states.count - 1], "\(name) afterwards")
            expectEqual(expected(name, after: last, isFirst: true), 0, "\(name) elsewhere")
        }
        expectEqual(expected("a key of more thaX sixteen bytes", after: states[1], isFirst: false), 0, "another middle")
        let inner = learn("a", after: states[1], isFirst: true)
        expectFalse(inner == states[1], "the same key at another place is another state")
        expectEqual(keys.key(of: inner), 0, "but the same key")
        expectEqual(expected(long, after: inner, isFirst: false), states[2], "what came after it elsewhere")
        for number in 0..<10 { _ = learn("k\(number)", after: states[3], isFirst: false) }
        expectFalse(expected("k3", after: states[3], isFirst: false) == 0, "one of few keys at one place")
        expectEqual(expected("k4", after: states[3], isFirst: false), 0, "one of many keys at one place")
        expectEqual(keys.key(of: learn("k9", after: states[3], isFirst: false)), 12, "its number")
    }

    private static func testDistinguishesSimilarKeys() {
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

    private static func testMovesCollidingKeysIntoASet() {
        var keys = TapeKeys()
        for count in 0..<20_000 { _ = number(of: Array("key \(count)".utf8), in: &keys) }
        expectFalse(keys.hasManyInOnePlace, "keys that nobody chose are in a set of their own")
        for count in 0..<40 { _ = number(of: Array("12345678 \(10 + count) 12345678".utf8), in: &keys) }
        expectTrue(keys.hasManyInOnePlace, "keys of one hash are in a set of their own")
    }

    private static func testFindsCollidingKeys() {
        // The same first and last bytes and lengths, so the same hash for every seed.
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
