// Checks that the names of a tag are all different. Few names are compared one by one, many names by hash.

import PlistStreaming

/// A hash table for comparing the names of a tag.
struct UniqueNames: ~Copyable {
    /// The index of a name plus 1, and the round that inserted it.
    private var slots: [UInt64] = []
    private var round: UInt32 = 0

    /// Removes the names, and reserves memory for a number of names.
    mutating func begin(_ count: Int) {
        if slots.count < count * 2 {
            slots = [UInt64](repeating: 0, count: max(64, (count * 2).nextPowerOfTwo))
            round = 0
        }
        if round == .max {
            slots = [UInt64](repeating: 0, count: slots.count)
            round = 0
        }
        round += 1
    }

    /// Returns the slot for a name with this hash.
    func first(_ hash: UInt32) -> Int { Int(hash) & (slots.count - 1) }

    /// Returns the name in a slot, or nil if the slot is free.
    func candidate(_ slot: Int) -> Int? {
        slots[slot] >> 32 == UInt64(round) ? Int(slots[slot] & 0xFFFF_FFFF) : nil
    }

    /// Returns the next slot after one that is used by another name.
    func next(_ slot: Int) -> Int { (slot + 1) & (slots.count - 1) }

    /// Inserts a name into a free slot.
    mutating func insert(_ index: Int, at slot: Int) { slots[slot] = UInt64(round) << 32 | UInt64(index) }
}

extension Int {
    fileprivate var nextPowerOfTwo: Int { self <= 1 ? 1 : 1 << (Int.bitWidth - (self - 1).leadingZeroBitCount) }
}
