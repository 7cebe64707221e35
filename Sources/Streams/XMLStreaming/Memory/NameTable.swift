// Numbers names, so that names can be compared and counted as integers. The same spelling always gets the same number.

import PlistBuilding
import PlistStreaming
import StringTables

/// A table that assigns numbers to names, starting with 0.
struct NameTable {
    private var names = KeySet()
    // PERF: XML/objects, XML/tree; a comparison of words instead of a look-up for most names.
    /// The recently used names, in slots by their bytes, and their numbers.
    private var recent: [(words: KeyWords, number: Int32)]
    /// The approximate number of bytes that the names occupy.
    private(set) var byteCount = 0

    init() {
        let none = unsafe KeyWords(UnsafeRawBufferPointer(start: nil, count: 0))
        recent = Array(repeating: (none, -1), count: 64)
    }

    /// Returns the number of a name. A new name gets a new number.
    ///
    /// - Complexity: O(*n*) in the bytes of the name, on average.
    @inline(__always)  // PERF: see above; once a name.
    mutating func number(of name: RawSpan) -> Int32 {
        // SAFETY: the bytes are used during the lifetime of the name.
        let bytes = unsafe name.withUnsafeBytes { unsafe $0 }
        let words = unsafe KeyWords(bytes)
        let place = Int(truncatingIfNeeded: words.hash((0, 0)) &>> 58)
        let found = recent[place]
        if found.number >= 0, unsafe found.words.isEqual(to: words, bytes, nil) { return found.number }
        return lookUp(name, words, place)
    }

    @inline(never)
    private mutating func lookUp(_ name: RawSpan, _ words: KeyWords, _ place: Int) -> Int32 {
        let last = recent[place].number
        if name.byteCount > 16, last >= 0, withName(last, { $0.hasSameBytes(as: name) }) { return last }
        let (isNew, index) = names.insert(name)
        if isNew { byteCount += name.byteCount + 32 }
        recent[place] = (words, Int32(index))
        return Int32(index)
    }

    /// Returns the number of a name, or nil if it isn't in the table.
    func known(_ name: RawSpan) -> Int32? { names.index(of: name).map { Int32($0) } }

    /// Calls a closure with the bytes of a name.
    func withName<Value, Failure: Error>(
        _ number: Int32, _ body: (RawSpan) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        try names.withUTF8(at: Int(number), body)
    }

    /// Returns the bytes of all names, and the range of a name in them.
    func slice(_ number: Int32) -> (bytes: [UInt8], range: Range<Int>) { names.slice(at: Int(number)) }

    /// Returns a name as a string.
    func string(_ number: Int32) -> String { names[Int(number)] }

    private static let seed = UInt64.random(in: .min ... .max) | 1

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
