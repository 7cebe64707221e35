// Comparing a key with the one that is expected, by the words that hold it instead of by its hash.

import PlistStreaming

/// Short keys by number, as two words and a length.
@safe
struct ExpectedKeys: ~Copyable {
    private var entries = unsafe GrowingMemory<Entry>()

    private struct Entry: BitwiseCopyable {
        var first: UInt64 = 0
        var last: UInt64 = 0
        /// -1 for a key of more than 16 bytes.
        var length = -1

        @inline(__always)  // PERF: JSONRecords/tree, JSONRecords/foundation; once a member.
        init(_ key: RawSpan) {
            let count = key.byteCount
            // SAFETY: each branch loads only below the count it has just checked; the pointer stays in the closure.
            unsafe key.withUnsafeBytes { bytes in
                if count >= 8 {
                    guard count <= 16 else { return }
                    first = unsafe bytes.loadUnaligned(fromByteOffset: 0, as: UInt64.self)
                    last = unsafe bytes.loadUnaligned(fromByteOffset: count &- 8, as: UInt64.self)
                } else if count >= 4 {
                    first = unsafe UInt64(bytes.loadUnaligned(fromByteOffset: 0, as: UInt32.self))
                    last = unsafe UInt64(bytes.loadUnaligned(fromByteOffset: count &- 4, as: UInt32.self))
                } else if count > 0 {
                    first = unsafe UInt64(bytes[0]) | UInt64(bytes[count &>> 1]) &<< 8
                    last = unsafe UInt64(bytes[count &- 1])
                }
                length = count
            }
        }
    }

    deinit { unsafe entries.deallocate() }

    /// Adds the key with the next number.
    mutating func append(_ key: RawSpan) { unsafe entries.append(Entry(key)) }

    mutating func removeAll() { unsafe entries.removeLast(entries.count) }

    /// Whether the key with a number has these bytes; false for keys of more than 16 bytes.
    @inline(__always)  // PERF: see above.
    func isKey(_ number: Int, _ key: RawSpan) -> Bool {
        let (expected, found) = (unsafe entries[number], Entry(key))
        return expected.length == found.length && expected.first == found.first && expected.last == found.last
            && found.length >= 0
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

enum ExpectedKeysTests {}

extension ExpectedKeysTests: SelfTesting {
    static var testSelectors: TestSelectors {
        ["testTellsShortKeysApart": testTellsShortKeysApart, "testLeavesLongKeysToOthers": testLeavesLongKeysToOthers]
    }

    private static func testTellsShortKeysApart() {
        for length in 0...16 {
            let key = [UInt8](repeating: 0x61, count: length)
            var keys = ExpectedKeys()
            unsafe key.withUnsafeBytes { keys.append(unsafe $0.bytes) }
            expectTrue(unsafe key.withUnsafeBytes { keys.isKey(0, unsafe $0.bytes) }, "a key of \(length) bytes")
            for place in 0..<length {
                var other = key
                other[place] = 0
                expectFalse(unsafe other.withUnsafeBytes { keys.isKey(0, unsafe $0.bytes) }, "another at \(place)")
            }
            let longer = key + [0]
            expectFalse(unsafe longer.withUnsafeBytes { keys.isKey(0, unsafe $0.bytes) }, "a longer key")
        }
    }

    private static func testLeavesLongKeysToOthers() {
        var keys = ExpectedKeys()
        let key = String(repeating: "a", count: 17)
        key.withUTF8Span { keys.append($0) }
        expectFalse(key.withUTF8Span { keys.isKey(0, $0) }, "a key of 17 bytes")
    }
}
#endif
