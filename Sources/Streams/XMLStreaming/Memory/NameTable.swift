// Numbers names, so that names can be compared and counted as integers. The same spelling always gets the same number.

import PlistStreaming

/// A table that assigns numbers to names, starting with 0.
///
/// The slots of names depend on a random number for each process, so that no document can choose names that all share a slot.
struct NameTable {
    private struct Entry {
        let start: Int
        let count: Int
        let hash: UInt64
        /// The number plus one of the next name in the same slot, or 0 for the last name.
        let next: Int32
    }

    /// A recently used name: all its bytes if it is short, or only its length if it is long.
    private struct Recent: BitwiseCopyable {
        var low: UInt64 = 0
        var high: UInt64 = 0
        var count = -1
        var number: Int32 = 0
    }

    private static let seed = UInt64.random(in: .min ... .max) | 1
    private static let recentBits: UInt64 = 6
    /// The recently used names, in slots by their bytes. After them the long names, in slots by their lengths.
    private var recent = [Recent](repeating: Recent(), count: (1 << Int(recentBits)) + 16)

    private var bytes: [UInt8] = []
    private var entries: [Entry] = []
    /// The number plus one of the first name in each slot, or 0 for an empty slot.
    private var places = [Int32](repeating: 0, count: 64)

    /// The approximate number of bytes that the names occupy.
    var byteCount: Int { bytes.count + entries.count * MemoryLayout<Entry>.stride }

    /// Returns the number of a name. A new name gets a new number.
    ///
    /// - Complexity: O(*n*) in the bytes of the name, on average.
    @inline(__always)  // PERF: XML/objects, XML/tree; once a name.
    mutating func number(of name: RawSpan) -> Int32 {
        let count = name.byteCount
        guard count <= 16 else { return numberOfLong(name) }
        let (low, high) = Self.words(of: name)
        let place = Int(truncatingIfNeeded: ((low ^ high &* 31) &* 0x9E37_79B9_7F4A_7C15) &>> (64 &- Self.recentBits))
        let found = recent[place]
        if found.low == low, found.high == high, found.count == count { return found.number }
        let number = lookUp(name)
        recent[place] = Recent(low: low, high: high, count: count, number: number)
        return number
    }

    /// Returns the number of a name with more than 16 bytes, such as the URI of a namespace.
    @inline(never)
    private mutating func numberOfLong(_ name: RawSpan) -> Int32 {
        let place = 1 << Int(Self.recentBits) | name.byteCount & 15
        let found = recent[place]
        if found.count == name.byteCount, isEqual(entries[Int(found.number)], name) { return found.number }
        let number = lookUp(name)
        recent[place] = Recent(count: name.byteCount, number: number)
        return number
    }

    @inline(never)
    private mutating func lookUp(_ name: RawSpan) -> Int32 {
        let hash = Self.hash(name)
        return find(name, hash) ?? add(name, hash)
    }

    /// Returns all bytes of a name with at most 16 bytes. Together with the length, they identify the name.
    @inline(__always)
    private static func words(of name: RawSpan) -> (low: UInt64, high: UInt64) {
        let count = name.byteCount
        // SAFETY: all loaded bytes are below the count; some may be loaded twice.
        if count >= 8 {
            return unsafe (
                name.unsafeLoadUnaligned(fromUncheckedByteOffset: 0, as: UInt64.self),
                name.unsafeLoadUnaligned(fromUncheckedByteOffset: count &- 8, as: UInt64.self)
            )
        }
        if count >= 4 {
            let first = unsafe name.unsafeLoadUnaligned(fromUncheckedByteOffset: 0, as: UInt32.self)
            let last = unsafe name.unsafeLoadUnaligned(fromUncheckedByteOffset: count &- 4, as: UInt32.self)
            return (UInt64(first) | UInt64(last) &<< 32, 0)
        }
        guard count > 0 else { return (0, 0) }
        let (first, middle) = (name.uncheckedByte(0), name.uncheckedByte(count &>> 1))
        return (UInt64(first) | UInt64(middle) &<< 8 | UInt64(name.uncheckedByte(count &- 1)) &<< 16, 0)
    }

    /// Returns the number of a name, or nil if it isn't in the table.
    func known(_ name: RawSpan) -> Int32? { find(name, Self.hash(name)) }

    private func find(_ name: RawSpan, _ hash: UInt64) -> Int32? {
        var candidate = places[Int(truncatingIfNeeded: hash) & (places.count - 1)]
        while candidate > 0 {
            let entry = entries[Int(candidate - 1)]
            if entry.hash == hash, entry.count == name.byteCount, isEqual(entry, name) { return candidate - 1 }
            candidate = entry.next
        }
        return nil
    }

    @inline(never)
    private mutating func add(_ name: RawSpan, _ hash: UInt64) -> Int32 {
        if entries.count == places.count { spread() }
        let place = Int(truncatingIfNeeded: hash) & (places.count - 1)
        entries.append(Entry(start: bytes.count, count: name.byteCount, hash: hash, next: places[place]))
        // SAFETY: the bytes are copied within the closure.
        unsafe name.withUnsafeBytes { unsafe bytes.append(contentsOf: $0) }
        places[place] = Int32(entries.count)
        return Int32(entries.count - 1)
    }

    private mutating func spread() {
        places = [Int32](repeating: 0, count: places.count * 2)
        for index in entries.indices {
            let entry = entries[index]
            let place = Int(truncatingIfNeeded: entry.hash) & (places.count - 1)
            entries[index] = Entry(start: entry.start, count: entry.count, hash: entry.hash, next: places[place])
            places[place] = Int32(index + 1)
        }
    }

    private func isEqual(_ entry: Entry, _ name: RawSpan) -> Bool {
        unsafe bytes.withUnsafeBytes { bytes in
            // SAFETY: the span does not leave the closure.
            unsafe bytes.bytes.extracting(entry.start..<(entry.start + entry.count)).hasSameBytes(as: name)
        }
    }

    /// Calls a closure with the bytes of a name.
    func withName<Value, Failure: Error>(
        _ number: Int32, _ body: (RawSpan) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        let entry = entries[Int(number)]
        return try unsafe bytes.withUnsafeBufferPointer { (buffer) throws(Failure) in
            // SAFETY: the span does not leave the closure.
            try body(unsafe UnsafeRawBufferPointer(buffer).bytes.extracting(entry.start..<(entry.start + entry.count)))
        }
    }

    /// Returns a name as a string.
    func string(_ number: Int32) -> String { withName(number) { String(xml: $0) } }

    /// Returns a hash that the author of a document can't predict.
    static func hash(_ name: RawSpan) -> UInt64 {
        let count = name.byteCount
        var hash = seed ^ UInt64(truncatingIfNeeded: count)
        var offset = 0
        // SAFETY: each load is of eight bytes, or one, below the count.
        while offset &+ 8 <= count {
            let word = unsafe name.unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: UInt64.self)
            hash = mixed(hash ^ word)
            offset &+= 8
        }
        var rest: UInt64 = 0
        while offset < count {
            rest = rest << 8 | UInt64(name.uncheckedByte(offset))
            offset &+= 1
        }
        return mixed(hash ^ rest)
    }

    private static func mixed(_ value: UInt64) -> UInt64 {
        let product = (value ^ seed).multipliedFullWidth(by: 0x9E37_79B9_7F4A_7C15)
        return product.high ^ product.low
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension NameTable: SelfTesting {
    static var testSelectors: TestSelectors { ["testNumbersNamesInOrder": testNumbersNamesInOrder] }

    private static func testNumbersNamesInOrder() {
        var table = NameTable()
        let names = (0..<3_000).map { String(repeating: "n", count: $0 % 19) + "\($0)" } + [""]
        for round in 0..<2 {
            for (index, name) in names.enumerated() {
                expectEqual(name.withUTF8Span { table.number(of: $0) }, Int32(index), "number of \(name) in \(round)")
            }
        }
        expectNil("b".withUTF8Span { table.known($0) }, "another name")
        for (index, name) in names.enumerated() { expectEqual(table.string(Int32(index)), name, "name") }
        expectEqual("b".withUTF8Span { table.number(of: $0) }, Int32(names.count), "the next number")
    }
}
#endif
