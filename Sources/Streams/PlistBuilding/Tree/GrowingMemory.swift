// Memory for many small trivial values. It grows without copying if the system can move pages.

import StreamingSystem

/// A growing array of trivial values without automatic ownership: its user has to free it.
///
/// `realloc` moves large areas by remapping their pages. An `Array` would copy them into new pages, and the system has to
/// clear each page first.
///
/// PERF: JSONTyped, JSONRecords/writing; inlinable throughout, because a generic type of another module is specialised only
/// this way. Access to a member of a decoded dictionary reads three of them.
@unsafe @usableFromInline
package struct GrowingMemory<Element: BitwiseCopyable> {
    @usableFromInline package private(set) var start: UnsafeMutablePointer<Element>?
    @usableFromInline package private(set) var count = 0
    @usableFromInline package private(set) var capacity = 0

    /// Makes memory without values.
    @inlinable
    package init() {}

    /// The values; valid until the next change.
    @inlinable
    package var values: UnsafeBufferPointer<Element> { unsafe UnsafeBufferPointer(start: start, count: count) }

    @inlinable
    package subscript(index: Int) -> Element {
        get {
            unsafe precondition(index >= 0 && index < count, "index out of range")
            // SAFETY: the index is checked on the line above; values below the count are initialized.
            return unsafe start.unsafelyUnwrapped[index]
        }
        set {
            unsafe precondition(index >= 0 && index < count, "index out of range")
            // SAFETY: see get.
            unsafe start.unsafelyUnwrapped[index] = newValue
        }
    }

    @inlinable @inline(__always)  // PERF: JSONRecords/tree; once a value.
    package mutating func append(_ value: Element) {
        if unsafe count == capacity { unsafe grow(to: count + 1) }
        // SAFETY: the memory has space beyond the count.
        unsafe (start.unsafelyUnwrapped + count).initialize(to: value)
        unsafe count &+= 1
    }

    @inlinable
    package mutating func append(contentsOf other: UnsafeBufferPointer<Element>) {
        guard other.count > 0, let first = other.baseAddress else { return }
        if unsafe capacity - count < other.count { unsafe grow(to: count + other.count) }
        // SAFETY: the memory has space for all values beyond the count, and they come from other memory.
        unsafe (start.unsafelyUnwrapped + count).initialize(from: first, count: other.count)
        unsafe count += other.count
    }

    /// Reserves memory for a number of values.
    @inlinable
    package mutating func reserve(_ number: Int) {
        if unsafe number > capacity { unsafe grow(to: number) }
    }

    @inlinable
    package mutating func removeLast(_ number: Int) {
        unsafe precondition(number >= 0 && number <= count, "cannot remove more values than the memory has")
        unsafe count -= number
    }

    /// Moves the last values to the end of other memory.
    @inline(__always)  // PERF: JSONTree; once a container.
    mutating func moveLast(_ number: Int, to other: inout GrowingMemory) {
        unsafe precondition(number >= 0 && number <= count, "cannot move more values than the memory has")
        guard number > 0 else { return }
        if unsafe other.capacity &- other.count < number { unsafe other.grow(to: other.count + number) }
        unsafe count &-= number
        // SAFETY: both ranges are within their memory, and the memory areas are different.
        let source = unsafe start.unsafelyUnwrapped + count
        unsafe (other.start.unsafelyUnwrapped + other.count).update(from: source, count: number)
        unsafe other.count &+= number
    }

    @inlinable @inline(never)
    mutating func grow(to needed: Int) {
        let larger = unsafe max(256, 2 * capacity, needed)
        let memory = unsafe realloc(start, larger * MemoryLayout<Element>.stride)
        guard let memory = unsafe memory else { preconditionFailure("out of memory") }
        unsafe start = memory.bindMemory(to: Element.self, capacity: larger)
        unsafe capacity = larger
    }

    /// Frees the unused memory, unless it is small.
    mutating func trim() {
        guard unsafe count > 0, unsafe capacity > 2 * count,
            let memory = unsafe realloc(start, count * MemoryLayout<Element>.stride)
        else { return }
        unsafe start = memory.bindMemory(to: Element.self, capacity: count)
        unsafe capacity = unsafe count
    }

    @inlinable
    package func deallocate() { unsafe free(start) }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

enum GrowingMemoryTests {}

extension GrowingMemoryTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testKeepsValuesWhileItGrows": testKeepsValuesWhileItGrows,
            "testAppendsAndRemovesManyValues": testAppendsAndRemovesManyValues,
            "testMovesLastValue": testMovesLastValue,
        ]
    }

    private static func testKeepsValuesWhileItGrows() {
        var memory = unsafe GrowingMemory<Int>()
        for value in 0..<10_000 { unsafe memory.append(value) }
        expectTrue(unsafe memory.values.elementsEqual(0..<10_000), "values")
        unsafe memory[5] = -1
        expectEqual(unsafe memory[5], -1, "a changed value")
        unsafe memory.trim()
        expectEqual(unsafe memory[9_999], 9_999, "the last one after trimming")
        unsafe memory.deallocate()
    }

    private static func testMovesLastValue() {
        var (memory, other) = unsafe (GrowingMemory<Int>(), GrowingMemory<Int>())
        for value in 0..<1_000 { unsafe memory.append(value) }
        for number in [0, 1, 2, 500] { unsafe memory.moveLast(number, to: &other) }
        expectTrue(unsafe memory.values.elementsEqual(0..<497), "what stays")
        expectTrue(unsafe other.values.elementsEqual([999, 997, 998] + Array(497..<997)), "what was moved")
        unsafe memory.deallocate()
        unsafe other.deallocate()
    }

    private static func testAppendsAndRemovesManyValues() {
        var memory = unsafe GrowingMemory<UInt8>()
        for count in [0, 1, 255, 256, 257, 5_000] {
            let bytes = [UInt8](repeating: UInt8(truncatingIfNeeded: count), count: count)
            unsafe bytes.withUnsafeBufferPointer { unsafe memory.append(contentsOf: $0) }
            expectEqual(unsafe Array(memory.values.suffix(count)), bytes, "\(count) bytes")
        }
        unsafe memory.removeLast(memory.count)
        expectEqual(unsafe memory.count, 0, "count")
        unsafe memory.deallocate()
    }
}
#endif
