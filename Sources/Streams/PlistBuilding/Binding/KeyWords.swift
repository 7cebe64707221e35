// Compares a key with an expected key by words that contain its bytes, instead of by a hash.

import PlistStreaming

/// The parts of a key that are compared: its length, and all bytes up to 16, or the first and the last eight bytes.
@usableFromInline
package struct KeyWords: BitwiseCopyable {
    @usableFromInline let first: UInt64
    @usableFromInline let last: UInt64
    @usableFromInline package let length: Int

    // PERF: JSONTree, JSONTyped, JSONRecords/structures; once a member, mostly two loads and three comparisons.
    /// Loads the words of a key.
    @inlinable @inline(__always)
    package init(_ bytes: UnsafeRawBufferPointer) {
        length = bytes.count
        // SAFETY: each branch loads only below the count it has just checked.
        if length >= 8 {
            first = unsafe bytes.loadUnaligned(fromByteOffset: 0, as: UInt64.self)
            last = unsafe bytes.loadUnaligned(fromByteOffset: length &- 8, as: UInt64.self)
        } else if length >= 4 {
            first = unsafe UInt64(bytes.loadUnaligned(fromByteOffset: 0, as: UInt32.self))
            last = unsafe UInt64(bytes.loadUnaligned(fromByteOffset: length &- 4, as: UInt32.self))
        } else if length > 0 {
            first = unsafe UInt64(bytes[0]) | UInt64(bytes[length &>> 1]) &<< 8
            last = unsafe UInt64(bytes[length &- 1])
        } else {
            (first, last) = (0, 0)
        }
    }

    /// Returns whether these are the words of a key's bytes, and the bytes equal those at an address.
    @inlinable @inline(__always)  // PERF: see above.
    package func isEqual(to other: KeyWords, _ bytes: UnsafeRawBufferPointer, _ known: UnsafeRawPointer?) -> Bool {
        guard length == other.length, first == other.first, last == other.last else { return false }
        return unsafe length <= 16 || Self.isMiddleEqual(bytes, known)
    }

    /// Returns whether these are the words of a key, and the key equals the bytes at an address.
    @inlinable @inline(__always)  // PERF: see above.
    package func isEqual(to key: RawSpan, _ known: UnsafeRawPointer?) -> Bool {
        // SAFETY: the pointer does not leave the closure.
        unsafe key.withUnsafeBytes { unsafe isEqual(to: KeyWords($0), $0, known) }
    }

    /// Returns a number whose upper 40 bits are well mixed. Keys with the same length and the same ends have the same number.
    @inlinable
    package func hash(_ seed: (UInt64, UInt64)) -> UInt64 {
        var one = (first ^ seed.0) &* 0x9E37_79B9_7F4A_7C15
        var other = (last ^ seed.1) &* 0xBF58_476D_1CE4_E5B9
        one ^= one &>> 32
        other ^= other &>> 29
        return (one &+ other &+ UInt64(length)) &* 0x94D0_49BB_1331_11EB
    }

    /// Compares the bytes between the words of two keys with the same length of more than 16 bytes.
    @inlinable @inline(__always)  // PERF: see above.
    static func isMiddleEqual(_ bytes: UnsafeRawBufferPointer, _ known: UnsafeRawPointer?) -> Bool {
        guard let known = unsafe known else { return false }
        var offset = 8
        // SAFETY: the lengths are equal; each word begins eight or more bytes before the end of both.
        while offset < bytes.count &- 8 {
            let word = unsafe bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            if unsafe word != known.loadUnaligned(fromByteOffset: offset, as: UInt64.self) { return false }
            offset &+= 8
        }
        return true
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension KeyWords: SelfTesting {
    /// The tests of this type.
    @usableFromInline
    package static var testSelectors: TestSelectors { ["testComparesNamesByBytes": testComparesNamesByBytes] }

    private static func testComparesNamesByBytes() {
        for length in [0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 18, 24, 25, 31, 64] {
            let name = [UInt8](repeating: 0x61, count: length)
            func isEqual(_ key: [UInt8]) -> Bool {
                unsafe name.withUnsafeBytes { name in
                    unsafe key.withUnsafeBytes { unsafe KeyWords(name).isEqual(to: $0.bytes, name.baseAddress) }
                }
            }
            for place in 0...length {
                var key = name
                if place < length { key[place] = 0x62 }
                expectEqual(isEqual(key), place == length, "\(length) bytes, another one at \(place)")
            }
            expectFalse(isEqual(name + [0x61]), "a longer one than \(length) bytes")
        }
    }
}
#endif
