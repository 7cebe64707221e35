// Places for addresses that threads put and take without a lock: what one call has done with, the next one takes.

import Synchronization

/// Some places, each of which holds an address or none.
///
/// Whoever takes an address owns what is there.
@safe
package struct SharedPlaces: @unchecked Sendable {
    // SAFETY: zeros, which are places without an address, until `deallocate`; changed by atomic operations only.
    private let words: UnsafeMutableRawPointer
    private let count: Int

    /// Makes empty places.
    package init(count: Int = 1) {
        self.count = count
        let byteCount = count * MemoryLayout<Int>.stride
        unsafe words = .allocate(byteCount: byteCount, alignment: 16)
        unsafe words.initializeMemory(as: UInt8.self, repeating: 0, count: byteCount)
    }

    /// Gives the memory back; what is in the places stays as it is.
    package func deallocate() { unsafe words.deallocate() }

    @inline(__always)  // PERF: JSONTyped/documents; once or twice a document.
    private func place(_ index: Int) -> UnsafeMutablePointer<Atomic<UnsafeMutableRawPointer?>> {
        precondition(index >= 0 && index < count, "there is no such place")
        // SAFETY: such a value is a word, and there is one for each index.
        return unsafe words.assumingMemoryBound(to: Atomic<UnsafeMutableRawPointer?>.self) + index
    }

    /// Takes what is in a place and leaves it empty.
    package func take(_ index: Int = 0) -> UnsafeMutableRawPointer? {
        return unsafe place(index).pointee.exchange(nil, ordering: .acquiring)
    }

    /// Puts an address into a place, and returns what is no more in any: what was there, or the address itself.
    package func put(_ address: UnsafeMutableRawPointer, _ index: Int = 0) -> UnsafeMutableRawPointer? {
        return unsafe place(index).pointee.exchange(address, ordering: .acquiringAndReleasing)
    }

    /// What is in a place, for addresses that stay valid when others are put there.
    package func look(_ index: Int) -> UnsafeMutableRawPointer? {
        return unsafe place(index).pointee.load(ordering: .acquiring)
    }

    /// A number for a type, below a power of two.
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
            "testHoldsOneAddressEach": testHoldsOneAddressEach,
            "testGivesEachAddressToOneThread": testGivesEachAddressToOneThread,
        ]
    }

    private static func testHoldsOneAddressEach() throws {
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

    private static func testGivesEachAddressToOneThread() async throws {
        let places = SharedPlaces()
        defer { places.deallocate() }
        // Each number is put once, and every one of them is to be found again once.
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
