// Finds names of a tag that are there twice. Few names are compared one by one, many names by hash.

/// Finds repeated names with memory that is used again.
struct UniqueNames: ~Copyable {
    /// The upper half of each name's hash, and its index in the lower half.
    private var keys: [UInt64] = []

    /// Returns the index of the first name that is the same as an earlier one, or nil if all names are different.
    ///
    /// - Complexity: O(*n* log *n*) in the names.
    mutating func firstRepeated(
        in indexes: Range<Int>, hash: (Int) -> UInt64, isSame: (Int, Int) -> Bool
    ) -> Int? {
        if indexes.count <= 8 {
            for index in indexes {
                for other in indexes.lowerBound..<index where isSame(other, index) { return index }
            }
            return nil
        }
        keys.removeAll(keepingCapacity: true)
        for index in indexes { keys.append(hash(index) & ~0xFFFF_FFFF | UInt64(index)) }
        keys.sort()
        var repeated: Int?
        for place in 1..<keys.count {
            let index = Int(keys[place] & 0xFFFF_FFFF)
            var other = place - 1
            // Different names rarely have the same hash.
            while other >= 0, keys[other] >> 32 == keys[place] >> 32 {
                if isSame(Int(keys[other] & 0xFFFF_FFFF), index) {
                    repeated = min(repeated ?? index, index)
                    break
                }
                other -= 1
            }
        }
        return repeated
    }
}
