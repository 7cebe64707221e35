// Stores texts for the duration of a scope, such as the declared prefixes. They are removed last in, first out.

import PlistStreaming

/// A table of numbered texts that are removed in reverse order.
///
/// Because of this order, no remaining text was inserted after one that has the same hash and was removed.
@usableFromInline
struct ScopedNames: ~Copyable {
    struct Entry: BitwiseCopyable {
        let start: Int32
        let count: Int32
        let key: UInt64
    }

    @usableFromInline private(set) var memory = KeptStack<UInt8>()
    private var entries = KeptStack<Entry>()
    /// The indexes of the texts by their hashes. A text with the hash of another one has the next free number.
    private var indexes: [UInt64: Int] = [:]

    /// The number of texts.
    var count: Int { entries.count }

    /// Returns the slice of a text in the memory.
    func slice(_ index: Int) -> (start: Int32, count: Int32) {
        let entry = entries[index]
        return (entry.start, entry.count)
    }

    /// Returns the bytes of a text.
    @_lifetime(borrow self)
    func text(_ index: Int) -> RawSpan {
        let entry = entries[index]
        return memory.bytes.part(Int(entry.start), Int(entry.count))
    }

    /// Returns the index of a text, or nil if it isn't in the table.
    func index(of text: RawSpan) -> Int? {
        var key = NameTable.hash(text)
        while let index = indexes[key] {
            if self.text(index).hasSameBytes(as: text) { return index }
            key &+= 1
        }
        return nil
    }

    /// Adds a text that isn't in the table.
    mutating func append(_ text: RawSpan) -> Int {
        let index = entries.count
        var key = NameTable.hash(text)
        while indexes[key] != nil { key &+= 1 }
        indexes[key] = index
        entries.append(Entry(start: Int32(memory.count), count: Int32(text.byteCount), key: key))
        memory.append(contentsOf: text)
        return index
    }

    /// Removes the last text.
    mutating func removeLast() {
        let entry = entries.removeLast()
        indexes[entry.key] = nil
        memory.removeAll(from: Int(entry.start))
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

enum ScopedNamesTests {}

extension ScopedNamesTests: SelfTesting {
    static var testSelectors: TestSelectors { ["testForgetsNamesInReverseOrder": testForgetsNamesInReverseOrder] }

    private static func testForgetsNamesInReverseOrder() {
        var names = ScopedNames()
        func name(_ number: Int) -> String { String(repeating: "n", count: number % 11) + "\(number)" }
        for round in 0..<3 {
            for number in 0..<500 { expectEqual(name(number).withUTF8Span { names.append($0) }, number, "index") }
            for number in stride(from: 499, through: round * 100, by: -1) {
                expectEqual(name(number).withUTF8Span { names.index(of: $0) }, number, "round \(round)")
                expectTrue(names.text(number).equals(name(number)), "text \(number)")
                names.removeLast()
                expectNil(name(number).withUTF8Span { names.index(of: $0) }, "gone in round \(round)")
            }
            while names.count > 0 { names.removeLast() }
        }
        expectEqual("".withUTF8Span { names.append($0) }, 0, "an empty text")
        expectEqual("".withUTF8Span { names.index(of: $0) }, 0, "an empty text is found")
    }
}
#endif
