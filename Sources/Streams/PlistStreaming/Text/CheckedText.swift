// Creation of strings from bytes that were already checked. The standard library would check the UTF-8 again, byte by byte.

/// Creates strings from bytes that are known to be UTF-8.
package enum CheckedText {
    // PERF: SQLite/read-non-ASCII; String(decoding:as:) checks every character beyond ASCII, 60 of 230 ns for each row.
    /// Returns a string with a copy of bytes, which must be UTF-8.
    ///
    /// - Complexity: O(bytes), one allocation beyond 15 bytes.
    package static func string(_ utf8: UnsafeRawBufferPointer) -> String {
        if utf8.count >= LargePages.byteCount { return unsafe longString(utf8, pieceByteCount: 1 << 18) }
        return unsafe copy(utf8)
    }

    // PERF: SQLite/read-non-ASCII; the new pages of a large text cost as much as its copy.
    /// Returns a long string, built in large pages from pieces of whole characters.
    private static func longString(_ utf8: UnsafeRawBufferPointer, pieceByteCount: Int) -> String {
        var string = ""
        string.reserveCapacity(utf8.count)
        string.withUTF8 { unsafe LargePages.use(UnsafeMutableRawPointer(mutating: $0.baseAddress), utf8.count) }
        var start = 0
        while start < utf8.count {
            var end = min(start + pieceByteCount, utf8.count)
            while unsafe end < utf8.count && utf8[end] & 0xC0 == 0x80 { end -= 1 }
            string += unsafe copy(UnsafeRawBufferPointer(rebasing: utf8[start..<end]))
            start = end
        }
        return string
    }

    private static func copy(_ utf8: UnsafeRawBufferPointer) -> String {
        guard #available(macOS 26.0, iOS 26.0, tvOS 26.0, watchOS 26.0, visionOS 26.0, *) else {
            return unsafe String(decoding: utf8, as: UTF8.self)
        }
        guard utf8.count > 0 else { return "" }
        // Strings that are known to be ASCII are compared and hashed faster.
        // SAFETY: the caller has checked that the bytes are UTF-8, and the span does not leave this function.
        return unsafe String(
            copying: UTF8Span(
                unchecked: utf8.assumingMemoryBound(to: UInt8.self).span, isKnownASCII: UTF8Check.isASCII(utf8)))
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension CheckedText: SelfTesting {
    package static var testSelectors: TestSelectors {
        ["testMakesStringsFromUTF8": testMakesStringsFromUTF8]
    }

    private static func testMakesStringsFromUTF8() {
        expectEqual(unsafe string(UnsafeRawBufferPointer(start: nil, count: 0)), "", "no memory")
        for character in ["a", "é", "€", "🙂", "e\u{301}", "\0"] {
            for count in [0, 1, 3, 7, 8, 15, 16, 17, 100, 5_000] {
                let text = String(repeating: character, count: count)
                var bytes = Array(text.utf8)
                let made = unsafe bytes.withUnsafeBytes { unsafe string($0) }
                for index in bytes.indices { bytes[index] = 0x78 }
                guard made != text || made.utf8.count != text.utf8.count || made.hashValue != text.hashValue else {
                    continue
                }
                expectEqual(made, text, "\(count) times \(character.debugDescription)")
            }
        }
        for piece in 4...9 {
            for text in ["größer", "€€€", "🙂🙂 x 🙂", "abcdefghij"] {
                let made = unsafe Array(text.utf8).withUnsafeBytes { unsafe longString($0, pieceByteCount: piece) }
                expectEqual(made, text, "pieces of \(piece) bytes")
            }
        }
        let long = String(repeating: "größer €", count: 300_000)
        expectTrue(unsafe Array(long.utf8).withUnsafeBytes { unsafe string($0) } == long, "a long string")
        var grown = unsafe Array("größer".utf8).withUnsafeBytes { unsafe string($0) }
        grown += " und länger als zuvor"
        expectEqual(grown, "größer und länger als zuvor", "a string that grows")
    }
}
#endif
