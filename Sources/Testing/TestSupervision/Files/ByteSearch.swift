// Searches bytes with functions of the C library. In a debug build, a Swift loop would be a hundred times slower.

internal import InClassSystem

enum ByteSearch {
    /// Returns the offset of a pattern's first occurrence at or after an offset.
    static func offset(
        of pattern: UnsafeRawBufferPointer, in bytes: UnsafeRawBufferPointer, from start: Int = 0
    ) -> Int? {
        guard let base = bytes.baseAddress, let needle = pattern.baseAddress, start >= 0, start <= bytes.count
        else { return nil }
        return inclass_memmem(base + start, bytes.count - start, needle, pattern.count).map { $0 - base }
    }

    /// Returns the offset of a text's first occurrence.
    static func offset(of text: StaticString, in bytes: UnsafeRawBufferPointer) -> Int? {
        offset(of: UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount), in: bytes)
    }

    /// Returns the end offsets of all occurrences of a text.
    static func ends(of text: StaticString, in bytes: UnsafeRawBufferPointer) -> [Int] {
        let pattern = UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        var ends: [Int] = []
        while let found = offset(of: pattern, in: bytes, from: ends.last ?? 0) { ends.append(found + pattern.count) }
        return ends
    }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

extension ByteSearch: SelfTesting {
    static var testSelectors: TestSelectors {
        ["testFindsTheFirstMatchFromAnOffset": testFindsTheFirstMatchFromAnOffset]
    }

    private static func testFindsTheFirstMatchFromAnOffset() {
        let rows: [(pattern: String, text: String, start: Int, expected: Int?)] = [
            ("ab", "ab", 0, 0), ("ab", "xabab", 0, 1), ("ab", "xabab", 1, 1), ("ab", "xabab", 2, 3),
            ("ab", "xabab", 4, nil),
            ("ab", "xaba", 5, nil), ("ab", "xab", 4, nil), ("ab", "ab", -1, nil), ("abc", "ab", 0, nil),
            ("aab", "aaab", 0, 1), ("b", "aab", 0, 2), ("c", "aab", 0, nil), ("aab", "aab", 0, 0),
        ]
        for row in rows {
            let (pattern, text) = (Array(row.pattern.utf8), Array(row.text.utf8))
            let found = pattern.withUnsafeBytes { pattern in
                text.withUnsafeBytes { offset(of: pattern, in: $0, from: row.start) }
            }
            expectEqual(found, row.expected, "\(row)")
        }
        expectEqual(Array("xab".utf8).withUnsafeBytes { offset(of: "ab", in: $0) }, 1)
        expectNil(offset(of: "ab", in: UnsafeRawBufferPointer(start: nil, count: 0)), "nothing")
    }
}
#endif
