// The numbers of characters: where a byte is one, as hexadecimal digits and as UTF-8.

/// What is known of characters by their numbers.
package enum CharacterCode {
    // SPEC: https://encoding.spec.whatwg.org/index-windows-1252.txt, from 0x80 on; what is no character there is a control.
    @usableFromInline
    static let windowsCharacters: [UInt16] = [
        0x20AC, 0x0081, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0x008D,
        0x017D, 0x008F, 0x0090, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A,
        0x0153, 0x009D, 0x017E, 0x0178,
    ]

    // PERF: inlinable as all here, because it runs once a byte.
    /// The character of a byte in Windows-1252.
    @inlinable
    package static func ofWindows1252(_ byte: UInt8) -> UInt16 {
        0x80...0x9F ~= byte ? windowsCharacters[Int(byte) - 0x80] : UInt16(byte)
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension CharacterCode: SelfTesting {
    package static var testSelectors: TestSelectors {
        ["testKnowsTheCharactersOfWindows": testKnowsTheCharactersOfWindows]
    }

    private static func testKnowsTheCharactersOfWindows() {
        for (byte, character) in [(0, 0), (0x7F, 0x7F), (0x80, 0x20AC), (0x81, 0x81), (0x9F, 0x178), (0xA0, 0xA0), (0xFF, 0xFF)] {
            expectEqual(ofWindows1252(UInt8(byte)), UInt16(character), "byte \(byte)")
        }
    }
}
#endif
