// A growing stack whose memory is used again by a reader, and whose elements are borrowed as spans.
//
// `GrowingMemory` of PlistBuilding has no owner: its user frees it, and it moves large areas by remapping their pages. The
// memory here is small, belongs to the reader and is freed with it, so that its users need no `unsafe`.

/// A stack of plain values in its own memory, which is kept when the stack is emptied.
// PERF: inlinable where it is read by code that is made for sinks of other packages.
@safe @usableFromInline
struct KeptStack<Element: BitwiseCopyable>: ~Copyable {
    /// The owner that frees the memory. If a structure with its own deinitializer is used in code that other packages
    /// specialise, the compiler of Swift 6.3 fails.
    @safe
    private final class Owner {
        let memory: UnsafeMutablePointer<Element>

        init(capacity: Int) { unsafe memory = .allocate(capacity: capacity) }

        deinit { unsafe memory.deallocate() }
    }

    private var owner: Owner
    @usableFromInline var memory: UnsafeMutablePointer<Element>
    private var capacity: Int
    @usableFromInline var count = 0

    init() {
        capacity = 16
        owner = Owner(capacity: 16)
        unsafe memory = owner.memory
    }

    var isEmpty: Bool { count == 0 }

    /// Accesses the element at an index, which must be less than the count.
    @inlinable
    subscript(index: Int) -> Element {
        get {
            precondition(UInt(bitPattern: index) < UInt(bitPattern: count), "no such element")
            // SAFETY: the index was checked, and all elements below the count are initialised.
            return unsafe memory[index]
        }
        set {
            precondition(UInt(bitPattern: index) < UInt(bitPattern: count), "no such element")
            // SAFETY: as above.
            unsafe memory[index] = newValue
        }
    }

    mutating func append(_ element: Element) {
        if count == capacity { grow(to: count &+ 1) }
        // SAFETY: the memory has space for one more element.
        unsafe (memory + count).initialize(to: element)
        count &+= 1
    }

    /// Removes the elements starting at an index.
    @inlinable
    mutating func removeAll(from index: Int = 0) {
        precondition(index >= 0 && index <= count, "no such element")
        count = index
    }

    mutating func removeLast() -> Element {
        precondition(count > 0, "no element")
        count &-= 1
        // SAFETY: it was the last initialised element.
        return unsafe memory[count]
    }

    @inline(never)
    private mutating func grow(to needed: Int) {
        let newCapacity = max(needed, capacity * 2)
        let new = Owner(capacity: newCapacity)
        // SAFETY: the new memory has space for all elements, and does not overlap the old one, which no span refers to while
        // self mutates.
        unsafe new.memory.update(from: memory, count: count)
        owner = new
        unsafe memory = new.memory
        capacity = newCapacity
    }

    /// The elements.
    var span: Span<Element> {
        @_lifetime(borrow self) get {
            // SAFETY: the memory lives as long as self is not mutated, and `count` elements are initialised.
            let span = unsafe UnsafeBufferPointer(start: memory, count: count).span
            return unsafe _overrideLifetime(span, borrowing: self)
        }
    }
}

extension KeptStack {
    /// The elements, for use while another property of their owner changes, which the compiler would consider a change of the
    /// elements.
    ///
    /// The span is valid until elements are added or removed, or the owner is freed.
    @inlinable @unsafe var unscopedSpan: Span<Element> {
        @_lifetime(immortal) get {
            // SAFETY: the caller meets the conditions in the comment.
            let span = unsafe UnsafeBufferPointer(start: memory, count: count).span
            return unsafe _overrideLifetime(span, copying: ())
        }
    }
}

extension KeptStack where Element == UInt8 {
    /// The elements as bytes.
    var bytes: RawSpan {
        // SAFETY: bytes have no padding.
        @_lifetime(borrow self) get { unsafe span.bytes }
    }

    /// The elements as bytes, under the same conditions.
    @inlinable @unsafe var unscopedBytes: RawSpan {
        // SAFETY: bytes have no padding; the caller meets the conditions.
        @_lifetime(immortal) get { unsafe unscopedSpan.bytes }
    }

    /// Appends up to eight bytes of a word, starting with the lowest byte.
    mutating func append(_ word: UInt64, _ added: Int) {
        if capacity - count < 8 { grow(to: count + 8) }
        // SAFETY: the memory has space for eight more bytes.
        unsafe UnsafeMutableRawPointer(memory + count).storeBytes(of: word.littleEndian, as: UInt64.self)
        count += min(8, added)
    }

    /// Appends bytes that aren't from this memory.
    mutating func append(contentsOf bytes: RawSpan) {
        let added = bytes.byteCount
        guard added > 0 else { return }
        if capacity - count < added { grow(to: count + added) }
        // SAFETY: the memory has space for `added` bytes, and the source is borrowed, so that it can't be this memory.
        unsafe bytes.withUnsafeBytes { source in
            guard let start = source.baseAddress else { return }
            unsafe UnsafeMutableRawPointer(memory + count).copyMemory(from: start, byteCount: added)
        }
        count += added
    }

    /// Removes bytes at the beginning.
    mutating func removeFirst(_ removed: Int) {
        precondition(removed >= 0 && removed <= count, "no such element")
        // SAFETY: both ranges are within the count; `update` allows them to overlap.
        unsafe memory.update(from: memory + removed, count: count - removed)
        count -= removed
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistStreaming

enum KeptStackTests {}

extension KeptStackTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testPushesAndPops": testPushesAndPops, "testAppendsAndRemovesBytes": testAppendsAndRemovesBytes,
            "testRefusesMissingElements": testRefusesMissingElements,
        ]
    }

    private static func testPushesAndPops() {
        var memory = KeptStack<Int>()
        for number in 0..<100 { memory.append(number) }
        memory[99] = 7
        expectEqual(memory.removeLast(), 7, "the last one")
        memory.removeAll(from: 50)
        expectEqual(memory.count, 50, "count")
        expectEqual(memory.span[49], 49, "an element of the span")
        memory.removeAll()
        expectTrue(memory.isEmpty, "nothing left")
    }

    private static func testAppendsAndRemovesBytes() {
        var memory = KeptStack<UInt8>()
        for _ in 0..<10 { "abcdefg".withUTF8Span { memory.append(contentsOf: $0) } }
        "".withUTF8Span { memory.append(contentsOf: $0) }
        memory.removeFirst(8)
        expectTrue(memory.bytes.equals("bcdefg" + String(repeating: "abcdefg", count: 8)), "bytes")
        memory.removeAll()
        for count in 0...8 { memory.append(0x6867_6665_6463_6261, count) }
        expectTrue(memory.bytes.equals("aababcabcdabcdeabcdefabcdefgabcdefgh"), "bytes of words")
    }

    private static func testRefusesMissingElements() {
        expectTrap("an element") { _ = KeptStack<Int>()[0] }
        expectTrap("a negative index") { _ = KeptStack<Int>()[-1] }
        expectTrap("removing from nothing") {
            var memory = KeptStack<Int>(); _ = memory.removeLast()
        }
        expectTrap("removing more than there is") {
            var memory = KeptStack<Int>(); memory.removeAll(from: 1)
        }
    }
}
#endif
