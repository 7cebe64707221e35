// Whether the names of a tag are all different: by comparing few with each other, and by hash when there are many.

import PlistStreaming

/// Memory for comparing the names of a tag.
struct UniqueNames: ~Copyable {
    /// Index plus 1 of a name, and the round it was put there in.
    private var slots: [UInt64] = []
    private var round: UInt32 = 0

    /// Forgets the names, and makes room for so many.
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

    /// The slot where a name with this hash would be.
    func first(_ hash: UInt32) -> Int { Int(hash) & (slots.count - 1) }

    /// The name in a slot, nil when it is free.
    func candidate(_ slot: Int) -> Int? {
        slots[slot] >> 32 == UInt64(round) ? Int(slots[slot] & 0xFFFF_FFFF) : nil
    }

    /// The slot behind one that another name has.
    func next(_ slot: Int) -> Int { (slot + 1) & (slots.count - 1) }

    /// Puts a name into a free slot.
    mutating func insert(_ index: Int, at slot: Int) { slots[slot] = UInt64(round) << 32 | UInt64(index) }
}

extension Int {
    fileprivate var nextPowerOfTwo: Int { self <= 1 ? 1 : 1 << (Int.bitWidth - (self - 1).leadingZeroBitCount) }
}
