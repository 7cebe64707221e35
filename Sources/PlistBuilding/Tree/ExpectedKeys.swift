// Comparing a key with the one that is expected, by the words that hold it instead of by its hash.

import PlistStreaming

/// Keys by number: the first and the last word of each, its length, and where the words between them are.
@safe
struct ExpectedKeys: ~Copyable {
    private var entries = unsafe GrowingMemory<Entry>()
    /// The words of keys of more than 16 bytes but for the first and the last one, of which the last overlaps that.
    private var middles = unsafe GrowingMemory<UInt64>()

    private struct Entry: BitwiseCopyable {
        var first: UInt64
        var last: UInt64
        var length: Int
        /// The number of the first word between.
        var middle: Int
    }

    deinit {
        unsafe entries.deallocate()
        unsafe middles.deallocate()
    }

    /// Adds the key with the next number.
    mutating func append(_ key: RawSpan) {
        let count = key.byteCount
        let (first, last) = Self.words(key, count)
        unsafe entries.append(Entry(first: first, last: last, length: count, middle: middles.count))
        // SAFETY: offsets are at least eight bytes before the end; the pointer stays in the closure.
        unsafe key.withUnsafeBytes { bytes in
            for offset in stride(from: 8, to: count - 8, by: 8) {
                unsafe middles.append(bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
            }
        }
    }

    mutating func removeAll() {
        unsafe entries.removeLast(entries.count)
        unsafe middles.removeLast(middles.count)
    }

    /// Whether there is a key with a number and it has these bytes.
    @inline(__always)  // PERF: JSONTree, JSONRecords/tree, JSONRecords/foundation; once a member.
    func isKey(_ number: Int, _ key: RawSpan) -> Bool {
        guard unsafe number < entries.count else { return false }
        let expected = unsafe entries[number]
        let count = key.byteCount
        guard expected.length == count else { return false }
        let (first, last) = Self.words(key, count)
        guard expected.first == first && expected.last == last else { return false }
        return count <= 16 || isMiddleEqual(expected.middle, key, count)
    }

    @inline(__always)  // PERF: see above.
    private func isMiddleEqual(_ middle: Int, _ key: RawSpan, _ count: Int) -> Bool {
        // SAFETY: as for `append`, which added a word for each offset.
        unsafe key.withUnsafeBytes { bytes in
            var (number, offset) = (middle, 8)
            while offset < count &- 8 {
                guard unsafe bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self) == middles[number] else {
                    return false
                }
                number &+= 1
                offset &+= 8
            }
            return true
        }
    }

    /// The first and the last eight bytes; of fewer bytes, two words that hold them all.
    @inline(__always)  // PERF: see above.
    private static func words(_ key: RawSpan, _ count: Int) -> (first: UInt64, last: UInt64) {
        // SAFETY: each branch loads only below the count it has just checked; the pointer stays in the closure.
        unsafe key.withUnsafeBytes { bytes in
            if count >= 8 {
                return unsafe (
                    bytes.loadUnaligned(fromByteOffset: 0, as: UInt64.self),
                    bytes.loadUnaligned(fromByteOffset: count &- 8, as: UInt64.self)
                )
            }
            if count >= 4 {
                return unsafe (
                    UInt64(bytes.loadUnaligned(fromByteOffset: 0, as: UInt32.self)),
                    UInt64(bytes.loadUnaligned(fromByteOffset: count &- 4, as: UInt32.self))
                )
            }
            guard count > 0 else { return (0, 0) }
            return unsafe (UInt64(bytes[0]) | UInt64(bytes[count &>> 1]) &<< 8, UInt64(bytes[count &- 1]))
        }
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

enum ExpectedKeysTests {}

extension ExpectedKeysTests: SelfTesting {
    static var testSelectors: TestSelectors {
        ["testTellsKeysApart": testTellsKeysApart, "testKnowsOnlyItsKeys": testKnowsOnlyItsKeys]
    }

    private static func testTellsKeysApart() {
        for length in 0...50 {
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

    private static func testKnowsOnlyItsKeys() {
        var keys = ExpectedKeys()
        let texts = ["", "a", "a key of more than sixteen bytes", "id", "another key of more than sixteen bytes"]
        for text in texts { text.withUTF8Span { keys.append($0) } }
        for (number, text) in texts.enumerated() {
            for other in texts.indices {
                expectEqual(text.withUTF8Span { keys.isKey(other, $0) }, other == number, "\(text) at \(other)")
            }
            expectFalse(text.withUTF8Span { keys.isKey(texts.count, $0) }, "a number without a key")
        }
        keys.removeAll()
        expectFalse("".withUTF8Span { keys.isKey(0, $0) }, "after all were removed")
    }
}
#endif
