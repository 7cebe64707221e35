// A table of the written objects, looked up by their bytes, so that repeated values are written once.

/// The numbers of objects by the hashes of their bytes.
///
/// Uses open addressing. The writer keeps the bytes and compares them. The hashes are seeded with a secret, so that an
/// attacker can't choose colliding values.
struct SharedObjects {
    /// The upper half of a bucket is the hash, the lower half the number plus 1; 0 marks a free bucket.
    private var buckets: [UInt64] = Array(repeating: 0, count: 64)
    private(set) var count = 0

    private static let secrets: (first: UInt64, second: UInt64) = {
        var generator = SystemRandomNumberGenerator()
        return (generator.next() | 1, generator.next() | 1)
    }()

    private let secrets = Self.secrets

    /// Returns the hash of bytes.
    @inline(__always)  // PERF: PropertyLists/binary; once a value.
    func hash(_ bytes: UnsafeRawBufferPointer) -> UInt32 {
        let count = bytes.count
        var hash = UInt64(truncatingIfNeeded: count) ^ secrets.first
        var offset = 0
        // SAFETY: the condition has just checked that each load is below the count.
        while offset &+ 8 <= count {
            hash = mixed(hash, unsafe bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
            offset &+= 8
        }
        if count >= 8 {
            if offset < count {
                hash = mixed(hash, unsafe bytes.loadUnaligned(fromByteOffset: count &- 8, as: UInt64.self))
            }
        } else {
            var word: UInt64 = 0
            for index in 0..<count { word = word &<< 8 | UInt64(unsafe bytes[index]) }
            hash = mixed(hash, word)
        }
        return UInt32(truncatingIfNeeded: mixed(hash, secrets.first) &>> 32)
    }

    @inline(__always)
    private func mixed(_ hash: UInt64, _ word: UInt64) -> UInt64 {
        let product = (hash ^ word).multipliedFullWidth(by: secrets.second)
        return product.high ^ product.low
    }

    /// Returns the first object with a hash for which a closure returns true, or nil if there isn't one.
    @inline(__always)  // PERF: as above.
    func find(_ hash: UInt32, _ isEqual: (UInt32) -> Bool) -> UInt32? {
        let mask = buckets.count &- 1
        var place = Int(truncatingIfNeeded: hash) & mask
        while true {
            let bucket = buckets[place]
            if bucket == 0 { return nil }
            if UInt32(truncatingIfNeeded: bucket &>> 32) == hash {
                let object = UInt32(truncatingIfNeeded: bucket) &- 1
                if isEqual(object) { return object }
            }
            place = (place &+ 1) & mask
        }
    }

    /// Adds an object that was not found.
    mutating func insert(_ object: UInt32, _ hash: UInt32) {
        // PERF: PropertyLists/items; a lookup costs one cache line, so the table is as small as probing permits.
        if count &* 4 >= buckets.count &* 3 { grow() }
        place(UInt64(hash) &<< 32 | UInt64(object &+ 1))
        count &+= 1
    }

    private mutating func place(_ bucket: UInt64) {
        let mask = buckets.count &- 1
        var place = Int(truncatingIfNeeded: bucket &>> 32) & mask
        while buckets[place] != 0 { place = (place &+ 1) & mask }
        buckets[place] = bucket
    }

    private mutating func grow() {
        let old = buckets
        buckets = Array(repeating: 0, count: 2 * old.count)
        for bucket in old where bucket != 0 { place(bucket) }
    }

    /// Removes all objects.
    mutating func removeAll() {
        buckets = Array(repeating: 0, count: 64)
        count = 0
    }
}

/// The numbers that were written last, in slots selected by their bits; a number replaces the earlier one in its slot.
struct RecentNumbers {
    private struct Number {
        var bits: UInt64 = 0
        var object: UInt32 = 0
        /// 255 isn't the marker of a number.
        var marker: UInt8 = 255
    }

    private static var placeBitCount: UInt64 { 10 }

    // PERF: PropertyLists/items written; these few stay in the processor's caches, unlike a table of all numbers.
    private var numbers: [Number] = []

    /// Returns the slot of a number.
    @inline(__always)
    static func place(of bits: UInt64, _ marker: UInt8) -> Int {
        Int(truncatingIfNeeded: ((bits ^ UInt64(marker)) &* 0x9E37_79B9_7F4A_7C15) &>> (64 &- placeBitCount))
    }

    /// Returns the object of a number, if its slot contains the number.
    @inline(__always)
    func object(at place: Int, _ bits: UInt64, _ marker: UInt8) -> UInt32? {
        guard place < numbers.count else { return nil }
        let number = numbers[place]
        return number.bits == bits && number.marker == marker ? number.object : nil
    }

    /// Puts the object of a number into its slot.
    mutating func set(_ object: UInt32, at place: Int, _ bits: UInt64, _ marker: UInt8) {
        if numbers.isEmpty { numbers = Array(repeating: Number(), count: 1 << Int(Self.placeBitCount)) }
        numbers[place] = Number(bits: bits, object: object, marker: marker)
    }

    /// Removes all numbers.
    mutating func removeAll() { numbers = [] }
}
