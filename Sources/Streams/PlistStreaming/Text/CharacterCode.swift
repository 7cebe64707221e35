// Conversion of character codes: bytes of Windows-1252, hexadecimal digits and UTF-8.

/// Functions for characters and their codes.
package enum CharacterCode {
    // SPEC: https://encoding.spec.whatwg.org/index-windows-1252.txt, from 0x80 on. Unassigned bytes are control characters.
    @usableFromInline
    static let windowsCharacters: [UInt16] = [
        0x20AC, 0x0081, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0x008D,
        0x017D, 0x008F, 0x0090, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A,
        0x0153, 0x009D, 0x017E, 0x0178,
    ]

    // PERF: this and the functions below are inlinable, because they run once for each byte.
    /// The character of a byte in Windows-1252.
    @inlinable
    package static func ofWindows1252(_ byte: UInt8) -> UInt16 {
        0x80...0x9F ~= byte ? windowsCharacters[Int(byte) - 0x80] : UInt16(byte)
    }

    /// The value of a hexadecimal digit in either case.
    @inlinable
    package static func hexadecimalValue(of byte: UInt8) -> UInt32? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte) - 0x30
        case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt32(byte) - 0x57
        case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt32(byte) - 0x37
        default: nil
        }
    }

    /// Calls a closure with the bytes of a character in UTF-8. The code must not be a surrogate or greater than U+10FFFF.
    @inlinable @inline(__always)
    package static func encode(_ scalar: UInt32, _ append: (UInt8) -> Void) {
        func next(_ shift: UInt32) { append(UInt8(truncatingIfNeeded: 0x80 | scalar >> shift & 0x3F)) }
        switch scalar {
        case ..<0x80: append(UInt8(truncatingIfNeeded: scalar))
        case ..<0x800:
            append(UInt8(truncatingIfNeeded: 0xC0 | scalar >> 6))
            next(0)
        case ..<0x10000:
            append(UInt8(truncatingIfNeeded: 0xE0 | scalar >> 12))
            next(6)
            next(0)
        default:
            append(UInt8(truncatingIfNeeded: 0xF0 | scalar >> 18))
            next(12)
            next(6)
            next(0)
        }
    }

    /// Returns the notation of a character by its code, such as `U+000A`.
    package static func name(of scalar: UInt32) -> String {
        let digits = String(scalar, radix: 16, uppercase: true)
        return "U+" + String(repeating: "0", count: max(0, 4 - digits.utf8.count)) + digits
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension CharacterCode: SelfTesting {
    package static var testSelectors: TestSelectors {
        [
            "testConvertsWindows1252Bytes": testConvertsWindows1252Bytes,
            "testReadsHexadecimalDigits": testReadsHexadecimalDigits,
            "testEncodesEachCharacter": testEncodesEachCharacter,
            "testNamesCharacters": testNamesCharacters,
        ]
    }

    private static func testConvertsWindows1252Bytes() {
        let rows = [(0, 0), (0x7F, 0x7F), (0x80, 0x20AC), (0x81, 0x81), (0x9F, 0x178), (0xA0, 0xA0), (0xFF, 0xFF)]
        for (byte, character) in rows {
            expectEqual(ofWindows1252(UInt8(byte)), UInt16(character), "byte \(byte)")
        }
    }

    private static func testReadsHexadecimalDigits() {
        for byte in UInt8.min...UInt8.max {
            let value = byte < 0x80 ? UInt32(String(UnicodeScalar(byte)), radix: 16) : nil
            expectEqual(hexadecimalValue(of: byte), value, "byte \(byte)")
        }
    }

    private static func testEncodesEachCharacter() {
        let scalars: [UnicodeScalar] = [
            "\0", "\u{7F}", "\u{80}", "\u{7FF}", "\u{800}", "\u{FFFF}", "\u{10000}", "\u{10FFFF}",
        ]
        for scalar in scalars {
            var bytes: [UInt8] = []
            encode(scalar.value) { bytes.append($0) }
            expectEqual(bytes, Array(String(scalar).utf8), name(of: scalar.value))
        }
    }

    private static func testNamesCharacters() {
        for (scalar, expected) in [(0, "U+0000"), (0xA0, "U+00A0"), (0xFFFF, "U+FFFF"), (0x1F642, "U+1F642")] {
            expectEqual(name(of: UInt32(scalar)), expected, "name")
        }
    }
}
#endif
