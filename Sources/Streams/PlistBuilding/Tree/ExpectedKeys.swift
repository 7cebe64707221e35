// Stores keys by number, to compare an expected key with the received one. A correct guess needs no hash.

import PlistStreaming

/// Keys by number, with the words and the bytes of each key.
@safe
struct ExpectedKeys: ~Copyable {
    private var entries = unsafe GrowingMemory<Entry>()
    private var text = unsafe GrowingMemory<UInt8>()

    private struct Entry: BitwiseCopyable {
        let words: KeyWords
        /// The offset of the key's bytes.
        let start: Int
    }

    deinit {
        unsafe entries.deallocate()
        unsafe text.deallocate()
    }

    /// Adds the key with the next number.
    mutating func append(_ key: RawSpan) {
        // SAFETY: the bytes are copied within the closure.
        unsafe key.withUnsafeBytes { bytes in
            unsafe entries.append(Entry(words: KeyWords(bytes), start: text.count))
            unsafe text.append(contentsOf: bytes.bindMemory(to: UInt8.self))
        }
    }

    mutating func removeAll() {
        unsafe entries.removeLast(entries.count)
        unsafe text.removeLast(text.count)
    }

    /// Returns whether a key with this number exists and has these bytes.
    @inline(__always)  // PERF: JSONTree, JSONRecords/tree, JSONRecords/foundation; once a member.
    func isKey(_ number: Int, _ key: RawSpan) -> Bool {
        guard unsafe number < entries.count else { return false }
        let entry = unsafe entries[number]
        // SAFETY: a key with bytes has memory for them.
        return unsafe entry.words.isEqual(to: key, text.start.map { unsafe UnsafeRawPointer($0 + entry.start) })
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

enum ExpectedKeysTests {}

extension ExpectedKeysTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testDistinguishesSimilarKeys": testDistinguishesSimilarKeys,
            "testRecognizesOnlyItsKeys": testRecognizesOnlyItsKeys,
        ]
    }

    private static func testDistinguishesSimilarKeys() {
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

    private static func testRecognizesOnlyItsKeys() {
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
