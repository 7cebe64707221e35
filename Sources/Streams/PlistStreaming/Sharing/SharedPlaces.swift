// Lock-free slots for addresses that threads exchange, so that a call can reuse the memory of an earlier call.

import Synchronization

/// A number of slots, each empty or with an address.
///
/// The thread that takes an address owns the memory at this address.
@safe
package struct SharedPlaces: @unchecked Sendable {
    // SAFETY: initialized with zeros, which are empty slots, and valid until `deallocate`; changed only by atomic operations.
    private let words: UnsafeMutableRawPointer
    private let count: Int

    /// Creates empty slots.
    package init(count: Int = 1) {
        self.count = count
        let byteCount = count * MemoryLayout<Int>.stride
        unsafe words = .allocate(byteCount: byteCount, alignment: 16)
        unsafe words.initializeMemory(as: UInt8.self, repeating: 0, count: byteCount)
    }

    /// Frees the memory of the slots, but not the memory at their addresses.
    package func deallocate() { unsafe words.deallocate() }

    @inline(__always)  // PERF: JSONTyped/documents; once or twice a document.
    private func place(_ index: Int) -> UnsafeMutablePointer<Atomic<UnsafeMutableRawPointer?>> {
        precondition(index >= 0 && index < count, "index out of range")
        // SAFETY: an atomic pointer is a word, and the memory has one word for each index.
        return unsafe words.assumingMemoryBound(to: Atomic<UnsafeMutableRawPointer?>.self) + index
    }

    /// Takes the address from a slot, which is empty afterwards.
    package func take(_ index: Int = 0) -> UnsafeMutableRawPointer? {
        return unsafe place(index).pointee.exchange(nil, ordering: .acquiring)
    }

    /// Puts an address into a slot, and returns the address that is not in a slot now: the old address or the new one.
    package func put(_ address: UnsafeMutableRawPointer, _ index: Int = 0) -> UnsafeMutableRawPointer? {
        return unsafe place(index).pointee.exchange(address, ordering: .acquiringAndReleasing)
    }

    /// Returns the address in a slot without taking it, for addresses that stay valid after they are replaced.
    package func look(_ index: Int) -> UnsafeMutableRawPointer? {
        return unsafe place(index).pointee.load(ordering: .acquiring)
    }

    /// Returns a number for a type, below a power of two.
    package static func index(of type: Any.Type, below count: Int) -> Int {
        let bits = UInt64(UInt(bitPattern: ObjectIdentifier(type)))
        return Int(truncatingIfNeeded: (bits &* 0x9E37_79B9_7F4A_7C15) &>> 32) & (count &- 1)
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension SharedPlaces: SelfTesting {
    package static var testSelectors: TestSelectors {
        [
            "testHoldsOneAddressPerPlace": testHoldsOneAddressPerPlace,
            "testDeliversEachAddressOnce": testDeliversEachAddressOnce,
        ]
    }

    private static func testHoldsOneAddressPerPlace() throws {
        let places = SharedPlaces(count: 2)
        defer { places.deallocate() }
        let (first, second) = unsafe (
            try requireNotNil(UnsafeMutableRawPointer(bitPattern: 16), "an address"),
            try requireNotNil(UnsafeMutableRawPointer(bitPattern: 32), "an address")
        )
        expectTrue(unsafe places.take(0) == nil && places.look(1) == nil, "empty at first")
        expectTrue(unsafe places.put(first, 1) == nil, "nothing is in the way")
        expectTrue(unsafe places.look(1) == first && places.look(0) == nil, "it stays there when it is looked at")
        expectTrue(unsafe places.put(second, 1) == first, "what was there before")
        expectTrue(unsafe places.take(1) == second && places.take(1) == nil, "taken once")
    }

    private static func testDeliversEachAddressOnce() async throws {
        let places = SharedPlaces()
        defer { places.deallocate() }
        // Each number is put once, and must be found exactly once.
        let found = await withTaskGroup(of: [Int].self) { group in
            for worker in 0..<8 {
                group.addTask {
                    var found: [Int] = []
                    for number in 0..<1_000 {
                        guard
                            let address = unsafe UnsafeMutableRawPointer(bitPattern: 16 * (1 + worker * 1_000 + number))
                        else { continue }
                        if let other = unsafe places.put(address) { found.append(Int(bitPattern: other)) }
                        if number % 3 == 0, let taken = unsafe places.take() { found.append(Int(bitPattern: taken)) }
                    }
                    return found
                }
            }
            return await group.reduce(into: []) { $0 += $1 }
        }
        let last = unsafe places.take().map { [Int(bitPattern: $0)] } ?? []
        expectEqual((found + last).sorted(), (1...8_000).map { 16 * $0 }, "all addresses, each once")
    }
}
#endif
