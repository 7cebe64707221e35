// Checks that bytes are valid UTF-8 with characters that documents may have.

import PlistStreaming

/// The check of all bytes before they are parsed as XML.
enum CharacterCheck {
    /// The problem after the valid bytes.
    enum Problem: Sendable {
        /// The last character is incomplete.
        case partial
        case noUTF8
        /// A character that documents exclude.
        case forbidden(UInt32)

        var message: String {
            switch self {
            case .partial: "the input ends within a character"
            case .noUTF8: "expected UTF-8"
            case .forbidden(let scalar): "expected a character that XML allows, found \(CharacterCode.name(of: scalar))"
            }
        }
    }

    /// Checks bytes, starting at an offset where a character begins.
    ///
    /// - Returns: The end of the valid bytes, and the problem there.
    static func check(_ bytes: RawSpan, from start: Int, to end: Int) -> (end: Int, problem: Problem?) {
        var offset = start
        while offset < end {
            let byte = bytes.uncheckedByte(offset)
            if byte < 0x80 {
                if byte < 0x20 && !NameBytes.isSpace(byte) { return (offset, .forbidden(UInt32(byte))) }
                offset &+= 1
                continue
            }
            guard 0xC2...0xF4 ~= byte else { return (offset, .noUTF8) }
            let count = NameBytes.characterCount(byte)
            for index in 1..<count {
                guard offset + index < bytes.byteCount else { return (offset, .partial) }
                let next = bytes.uncheckedByte(offset + index)
                guard next & 0xC0 == 0x80, index > 1 || maySecond(next, follow: byte) else { return (offset, .noUTF8) }
            }
            let (scalar, _) = NameBytes.character(in: bytes, at: offset)
            guard NameBytes.isCharacter(scalar) else { return (offset, .forbidden(scalar)) }
            offset += count
        }
        return (offset, nil)
    }

    // SPEC: Unicode 16, table 3-7.
    private static func maySecond(_ byte: UInt8, follow first: UInt8) -> Bool {
        switch first {
        case 0xE0: byte >= 0xA0
        case 0xED: byte < 0xA0
        case 0xF0: byte >= 0x90
        case 0xF4: byte < 0x90
        default: true
        }
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension CharacterCheck: SelfTesting {
    static var testSelectors: TestSelectors { ["testFindsInvalidCharacters": testFindsInvalidCharacters] }

    private static func testFindsInvalidCharacters() {
        let rows: [([UInt8], Int, String?)] = [
            (Array("a\t\r\né€🙂\u{7F}\u{85}".utf8), 16, nil), ([0x61, 0], 1, "found U+0000"),
            ([0x1F], 0, "found U+001F"),
            ([0xEF, 0xBF, 0xBD], 3, nil), ([0xEF, 0xBF, 0xBE], 0, "found U+FFFE"),
            ([0xEF, 0xBF, 0xBF], 0, "found U+FFFF"),
            ([0xC0, 0x80], 0, "UTF-8"), ([0xC1, 0xBF], 0, "UTF-8"), ([0xE0, 0x9F, 0x80], 0, "UTF-8"),
            ([0xED, 0xA0, 0x80], 0, "UTF-8"), ([0xF0, 0x8F, 0x80, 0x80], 0, "UTF-8"),
            ([0xF4, 0x90, 0x80, 0x80], 0, "UTF-8"),
            ([0xF5], 0, "UTF-8"), ([0x80], 0, "UTF-8"), ([0x61, 0xE2, 0x82], 1, "within a character"),
            ([0xE2, 0x28], 0, "UTF-8"), ([0xF0], 0, "within a character"),
        ]
        for (bytes, end, problem) in rows {
            // SAFETY: the span does not leave the closure.
            let found = unsafe bytes.withUnsafeBytes { unsafe check($0.bytes, from: 0, to: bytes.count) }
            expectEqual(found.end, end, "end of \(bytes)")
            expectTrue(found.problem?.message.hasSuffix(problem ?? "-") ?? (problem == nil), "\(bytes): \(found)")
        }
    }
}
#endif
