// Sorts the members of a dictionary by key before they are written, so that equal dictionaries are written the same.

import PlistStreaming

/// A namespace for sorting keys.
@usableFromInline
enum KeyOrder {
    /// A key's first eight bytes as a big-endian number, and its index.
    private struct Entry {
        let word: UInt64
        let place: Int
        let key: String
    }

    // PERF: PropertyLists/items written; most keys differ within their first bytes, and strings would be compared by a call.
    /// Returns the indexes of keys in the order of the sorted strings.
    @usableFromInline
    static func sorted(_ keys: [String]) -> [Int] {
        var entries = keys.enumerated().map { Entry(word: firstBytes($0.element), place: $0.offset, key: $0.element) }
        entries.sort { left, right in
            // Strings are compared as if they were composed. A character is therefore complete only if the byte after it is
            // ASCII, too.
            if (left.word | right.word) & 0x8080_8080_8080_8080 == 0, left.word &>> 8 != right.word &>> 8 {
                return left.word < right.word
            }
            return left.key < right.key
        }
        return entries.map(\.place)
    }

    private static func firstBytes(_ key: String) -> UInt64 {
        key.withUTF8Span { bytes in
            if bytes.byteCount >= 8 {
                // SAFETY: the string has at least eight bytes.
                return UInt64(bigEndian: unsafe bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: 0, as: UInt64.self))
            }
            var word: UInt64 = 0
            for offset in bytes.byteOffsets { word = word &<< 8 | UInt64(bytes.byte(at: offset)) }
            return bytes.byteCount == 0 ? 0 : word &<< UInt64(64 &- 8 &* bytes.byteCount)
        }
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension KeyOrder: SelfTesting {
    @usableFromInline static var testSelectors: TestSelectors {
        ["testMatchesOrderOfStrings": testMatchesOrderOfStrings]
    }

    private static func testMatchesOrderOfStrings() {
        let pieces = [
            "", "a", "b", "\0", "z", "e", "\u{301}", "\u{327}", "é", "ﬁ", "\u{1F642}", "~", "\u{7F}", "\r\n", "abcdefg",
        ]
        var keys: Set<String> = []
        for first in pieces {
            for second in pieces {
                for third in pieces { keys.formUnion([first + second + third, "prefix" + first + second + third]) }
            }
        }
        let places = Array(keys)
        let found = sorted(places).map { places[$0] }
        expectEqual(found.map { Array($0.utf8) }, keys.sorted().map { Array($0.utf8) }, "order of \(keys.count) keys")
        expectEqual(sorted([]), [], "no keys")
    }
}
#endif
