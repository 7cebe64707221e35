// Comparing the name that is expected with the key that came, before anything is looked up.

import PlistStreaming

/// Compares names with keys.
@usableFromInline
enum NameComparison {
    @inlinable @inline(__always)  // PERF: JSONRecords/structures; the guessed name costs two loads and no look-up.
    static func isEqual(_ name: UnsafeRawBufferPointer, _ key: RawSpan) -> Bool {
        let count = name.count
        guard key.byteCount == count else { return false }
        // SAFETY: both have `count` bytes, and each branch loads only below the count it has just checked.
        if count >= 8 {
            var offset = 0
            while offset &+ 8 < count {
                let left = unsafe name.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
                guard unsafe left == key.unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: UInt64.self) else {
                    return false
                }
                offset &+= 8
            }
            return unsafe name.loadUnaligned(fromByteOffset: count &- 8, as: UInt64.self)
                == key.unsafeLoadUnaligned(fromUncheckedByteOffset: count &- 8, as: UInt64.self)
        } else if count >= 4 {
            let start =
                unsafe name.loadUnaligned(fromByteOffset: 0, as: UInt32.self)
                ^ key.unsafeLoadUnaligned(fromUncheckedByteOffset: 0, as: UInt32.self)
            let end =
                unsafe name.loadUnaligned(fromByteOffset: count &- 4, as: UInt32.self)
                ^ key.unsafeLoadUnaligned(fromUncheckedByteOffset: count &- 4, as: UInt32.self)
            return start | end == 0
        }
        var offset = 0
        while offset < count {
            guard unsafe name[offset] == key.unsafeLoad(fromUncheckedByteOffset: offset, as: UInt8.self) else {
                return false
            }
            offset &+= 1
        }
        return true
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension NameComparison: SelfTesting {
    /// The tests of this type.
    @usableFromInline
    static var testSelectors: TestSelectors { ["testComparesNames": testComparesNames] }

    private static func testComparesNames() {
        for length in [0, 1, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 64] {
            let name = [UInt8](repeating: 0x61, count: length)
            for place in 0...length {
                var key = name
                if place < length { key[place] = 0x62 }
                let isEqual = unsafe name.withUnsafeBytes { name in
                    unsafe key.withUnsafeBytes { unsafe NameComparison.isEqual(name, $0.bytes) }
                }
                expectEqual(isEqual, place == length, "\(length) bytes, another one at \(place)")
            }
        }
    }
}
#endif
