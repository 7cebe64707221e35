// The shortened and quoted texts in error messages.

/// Text for error messages: at most 64 bytes, cut between characters, and `…` for the rest.
package enum ShownText {
    /// The beginning of text in UTF-8.
    ///
    /// - Complexity: O(1) for collections that know their count.
    package static func shortened(_ utf8: some Collection<UInt8>) -> String {
        let limit = 64
        let head = Array(utf8.prefix(limit + 1))
        guard head.count > limit else { return String(decoding: head, as: UTF8.self) }
        var end = limit
        while end > limit - 4, head[end] & 0xC0 == 0x80 { end -= 1 }
        return String(decoding: head[..<end], as: UTF8.self) + "…"
    }

    /// The beginning of text in UTF-8.
    package static func shortened(_ utf8: RawSpan) -> String {
        // SAFETY: the bytes are read only within the closure.
        unsafe utf8.withUnsafeBytes { unsafe shortened($0) }
    }

    /// The beginning of text in UTF-8, in quotation marks.
    package static func quoted(_ utf8: some Collection<UInt8>) -> String { shortened(utf8).debugDescription }

    /// The beginning of text in UTF-8, in quotation marks.
    package static func quoted(_ utf8: RawSpan) -> String { shortened(utf8).debugDescription }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension ShownText: SelfTesting {
    package static var testSelectors: TestSelectors {
        ["testShortensTextBetweenCharacters": testShortensTextBetweenCharacters]
    }

    private static func testShortensTextBetweenCharacters() {
        expectEqual(quoted("a\"b".utf8), #""a\"b""#, "quoted")
        for character in ["a", "é", "€", "🙂"] {
            let length = character.utf8.count
            for start in 0..<4 {
                for count in (60 / length - 4)...(70 / length + 4) {
                    let text = String(repeating: "x", count: start) + String(repeating: character, count: count)
                    let whole =
                        String(repeating: "x", count: start)
                        + String(repeating: character, count: (64 - start) / length)
                    let expected = text.utf8.count <= 64 ? text : whole + "…"
                    expectEqual(shortened(text.utf8), expected, "\(start) and \(count) of \(character)")
                    expectEqual(text.withUTF8Span { shortened($0) }, expected, "\(start) and \(count) of \(character)")
                }
            }
        }
    }
}
#endif
