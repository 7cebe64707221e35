// Stores texts for the duration of a scope, such as the declared prefixes. They are found by hash and removed last in, first
// out.

import PlistStreaming

/// A table of numbered texts that are removed in reverse order.
///
/// Because of this order, no remaining text was inserted after a conflict with a removed one. A slot can therefore simply be
/// cleared.
@usableFromInline
struct ScopedNames: ~Copyable {
    struct Entry: BitwiseCopyable {
        var start: Int32
        var count: Int32
        var hash: UInt32
        var slot: Int32
    }

    @usableFromInline private(set) var memory = KeptStack<UInt8>()
    private var entries = KeptStack<Entry>()
    /// Index of an entry plus 1, or 0.
    private var slots: [Int32] = [Int32](repeating: 0, count: 16)

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
        let hash = Self.hash(text)
        var slot = Int(hash) & (slots.count - 1)
        while true {
            let index = Int(slots[slot]) - 1
            guard index >= 0 else { return nil }
            let entry = entries[index]
            if entry.hash == hash, memory.bytes.part(Int(entry.start), Int(entry.count)).hasSameBytes(as: text) {
                return index
            }
            slot = (slot + 1) & (slots.count - 1)
        }
    }

    /// Adds a text that isn't in the table.
    mutating func append(_ text: RawSpan) -> Int {
        if entries.count * 2 >= slots.count { growSlots() }
        let hash = Self.hash(text)
        let slot = freeSlot(hash)
        let index = entries.count
        slots[slot] = Int32(index + 1)
        entries.append(
            Entry(start: Int32(memory.count), count: Int32(text.byteCount), hash: hash, slot: Int32(slot)))
        memory.append(contentsOf: text)
        return index
    }

    /// Removes the last text.
    mutating func removeLast() {
        let entry = entries.removeLast()
        slots[Int(entry.slot)] = 0
        memory.removeAll(from: Int(entry.start))
    }

    private func freeSlot(_ hash: UInt32) -> Int {
        var slot = Int(hash) & (slots.count - 1)
        while slots[slot] != 0 { slot = (slot + 1) & (slots.count - 1) }
        return slot
    }

    private mutating func growSlots() {
        slots = [Int32](repeating: 0, count: slots.count * 2)
        // Insert the texts in their order, so that again no text is placed because of a later one.
        for index in 0..<entries.count {
            let slot = freeSlot(entries[index].hash)
            slots[slot] = Int32(index + 1)
            entries[index].slot = Int32(slot)
        }
    }

    /// Returns a hash that the author of a document can't predict.
    static func hash(_ text: RawSpan) -> UInt32 { UInt32(truncatingIfNeeded: NameTable.hash(text)) }
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
