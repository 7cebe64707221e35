// Making strings of bytes that were found to be UTF-8, which the standard library checks again otherwise, byte by byte.

/// Makes strings of bytes that are known to be UTF-8.
package enum CheckedText {
    /// Whether a `StaticString` looks in memory the way `string` makes one, and copies its bytes into the string it describes.
    private static let isLayoutKnown = agreesWithStandardLibrary()

    // PERF: SQLite/read-non-ASCII; String(decoding:as:) goes through every character beyond ASCII, 60 of 230 ns a row.
    /// Returns a string of a copy of bytes, which must be UTF-8.
    ///
    /// - Complexity: O(bytes), one allocation beyond 15 bytes.
    package static func string(_ utf8: UnsafeRawBufferPointer) -> String {
        guard isLayoutKnown, let start = utf8.baseAddress else {
            return unsafe String(decoding: utf8, as: UTF8.self)
        }
        if utf8.count >= LargePages.byteCount { return unsafe longString(utf8, pieceByteCount: 1 << 18) }
        return unsafe described(start, utf8.count)
    }

    // PERF: SQLite/read-non-ASCII; the new pages of a large text cost as much as its copy.
    /// Returns a long string, made in large pages and of pieces that end with a character.
    private static func longString(_ utf8: UnsafeRawBufferPointer, pieceByteCount: Int) -> String {
        var string = ""
        string.reserveCapacity(utf8.count)
        string.withUTF8 { unsafe LargePages.use(UnsafeMutableRawPointer(mutating: $0.baseAddress), utf8.count) }
        var start = 0
        while start < utf8.count {
            var end = min(start + pieceByteCount, utf8.count)
            while unsafe end < utf8.count && utf8[end] & 0xC0 == 0x80 { end -= 1 }
            let piece = unsafe UnsafeRawBufferPointer(rebasing: utf8[start..<end])
            if let address = piece.baseAddress { string += unsafe described(address, piece.count) }
            start = end
        }
        return string
    }

    // SPEC: swift/stdlib/public/core/StaticString.swift. A frozen structure of an address, a count and a byte of flags, of
    // which the lowest bit is set for a single character in the place of the address, the next one for ASCII.
    private typealias Words = (UInt, UInt, UInt8)

    private static func described(_ start: UnsafeRawPointer, _ count: Int) -> String {
        let words: Words = (UInt(bitPattern: start), UInt(count), 0)
        // SAFETY: used only where the words of a static string are these; its description is a copy of the bytes.
        return unsafe unsafeBitCast(words, to: StaticString.self).description
    }

    private static func agreesWithStandardLibrary() -> Bool {
        guard MemoryLayout<StaticString>.size == MemoryLayout<Words>.size,
            MemoryLayout<StaticString>.stride == MemoryLayout<Words>.stride
        else { return false }
        let literal: StaticString = "a literal, whose words are known to be größer"
        // SAFETY: the literal has the words of the same size, as was just compared.
        let words = unsafe unsafeBitCast(literal, to: Words.self)
        guard literal.hasPointerRepresentation, unsafe words.0 == UInt(bitPattern: literal.utf8Start),
            words.1 == UInt(literal.utf8CodeUnitCount), words.2 & 1 == 0
        else { return false }
        for text in ["é", "größer als fünfzehn", "plain text of more than fifteen bytes", "🙂🙂🙂🙂🙂"] {
            var bytes = Array(text.utf8)
            // SAFETY: the bytes are there during the call, which copies them.
            let made = unsafe bytes.withUnsafeBytes { buffer in
                unsafe buffer.baseAddress.map { unsafe described($0, buffer.count) }
            }
            for index in bytes.indices { bytes[index] = 0 }
            guard let made, made.utf8.elementsEqual(text.utf8), made == text, made.count == text.count else {
                return false
            }
        }
        return true
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension CheckedText: SelfTesting {
    package static var testSelectors: TestSelectors {
        ["testKnowsTheLayout": testKnowsTheLayout, "testMakesStrings": testMakesStrings]
    }

    private static func testKnowsTheLayout() { expectTrue(isLayoutKnown, "the layout of static strings") }

    private static func testMakesStrings() {
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
