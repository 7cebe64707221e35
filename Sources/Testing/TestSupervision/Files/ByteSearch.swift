// Searches bytes with a function of the C library. In a debug build, a Swift loop would be a hundred times slower.

internal import InClassSystem

extension [UInt8] {
    /// Returns the offset of a pattern's first occurrence at or after an offset.
    func offset(of pattern: [UInt8], from start: Int = 0) -> Int? {
        guard start >= 0, start <= count else { return nil }
        return withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return nil }
            return inclass_memmem(base + start, bytes.count - start, pattern, pattern.count).map { $0 - base }
        }
    }

    /// Returns whether the bytes contain a text.
    func contains(_ text: String) -> Bool { offset(of: Array(text.utf8)) != nil }
}

// MARK: - In-class tests

#if SELF_TESTS && (DEBUG || IN_CLASS_TESTS)
import InClassTesting

enum ByteSearchTests: SelfTesting {
    static var testSelectors: TestSelectors {
        .each("testFindsTheFirstMatchFromAnOffset", matches, named: { "\($0.pattern) in \($0.text) from \($0.start)" })
        {
            expectEqual(Array($1.utf8).offset(of: Array($0.utf8), from: $2), $3)
        }
    }

    private static let matches: [(pattern: String, text: String, start: Int, expected: Int?)] = [
        ("ab", "ab", 0, 0), ("ab", "xabab", 0, 1), ("ab", "xabab", 1, 1), ("ab", "xabab", 2, 3),
        ("ab", "xabab", 4, nil), ("ab", "xaba", 5, nil), ("ab", "xab", 4, nil), ("ab", "ab", -1, nil),
        ("abc", "ab", 0, nil), ("aab", "aaab", 0, 1), ("b", "aab", 0, 2), ("c", "aab", 0, nil), ("aab", "aab", 0, 0),
        ("ab", "", 0, nil),
    ]
}
#endif
