// Defines the characters of names.

import PlistStreaming

/// Functions that check the characters of names and white space.
enum NameBytes {
    /// The end of a name, and the offset of its first colon or -1.
    struct Extent {
        var end: Int
        var colon: Int
        /// A Boolean value that indicates whether namespaces allow the name: at most one colon, with a name before and after
        /// it.
        var isQualified: Bool
    }

    // SPEC: XML 1.0, productions 4 and 4a, below U+0080; bit n is the character n or 64 + n.
    private static let startHigh: UInt64 = 0x07FF_FFFE_87FF_FFFE
    private static let partLow: UInt64 = 0x07FF_6000_0000_0000
    private static let colon: UInt8 = 0x3A

    /// Returns whether a byte below 0x80 may be in a name.
    @inline(__always)
    static func isASCIIPart(_ byte: UInt8) -> Bool {
        let bits = byte < 0x40 ? partLow : byte < 0x80 ? startHigh : 0
        return bits &>> UInt64(byte & 0x3F) & 1 != 0
    }

    /// Returns whether a byte below 0x80 may begin a name.
    @inline(__always)
    static func isASCIIStart(_ byte: UInt8) -> Bool {
        byte == colon || (0x40..<0x80 ~= byte && startHigh &>> UInt64(byte & 0x3F) & 1 != 0)
    }

    /// Returns whether a byte is white space.
    @inline(__always)
    static func isSpace(_ byte: UInt8) -> Bool {
        byte <= 0x20 && 0x1_0000_2600 as UInt64 &>> UInt64(byte & 0x3F) & 1 != 0
    }

    /// Returns the extent of the name that begins at an offset. It is empty if no name begins there.
    ///
    /// - Parameter text: UTF-8 with whole characters.
    @inline(__always)
    static func extent(in text: RawSpan, from start: Int) -> Extent {
        let count = text.byteCount
        var offset = start
        var colonOffset = -1
        guard offset < count else { return Extent(end: start, colon: -1, isQualified: false) }
        let first = text.uncheckedByte(offset)
        guard isASCIIStart(first) && first != colon else { return slowExtent(in: text, from: start) }
        offset &+= 1
        while offset < count {
            let byte = text.uncheckedByte(offset)
            if isASCIIPart(byte) {
                if byte == colon {
                    guard colonOffset < 0, offset &+ 1 < count, isASCIIStart(text.uncheckedByte(offset &+ 1)) else {
                        return slowExtent(in: text, from: start)
                    }
                    colonOffset = offset
                }
                offset &+= 1
            } else if byte < 0x80 {
                break
            } else {
                return slowExtent(in: text, from: start)
            }
        }
        return Extent(end: offset, colon: colonOffset, isQualified: true)
    }

    /// The plain form of ``extent(in:from:)``, for all characters.
    @inline(never)
    static func slowExtent(in text: RawSpan, from start: Int) -> Extent {
        var extent = Extent(end: start, colon: -1, isQualified: true)
        var startsPart = true
        while extent.end < text.byteCount {
            let (scalar, count) = character(in: text, at: extent.end)
            guard extent.end == start ? isStart(scalar) : isPart(scalar) else { break }
            if scalar == UInt32(colon) {
                if startsPart || extent.colon >= 0 { extent.isQualified = false }
                if extent.colon < 0 { extent.colon = extent.end }
                startsPart = true
            } else {
                if startsPart && !isStart(scalar) { extent.isQualified = false }
                startsPart = false
            }
            extent.end += count
        }
        if startsPart { extent.isQualified = false }
        return extent
    }

    /// Returns the number of bytes of a character by its first byte, in valid UTF-8.
    static func characterCount(_ first: UInt8) -> Int { first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4 }

    /// Returns the character at an offset of valid UTF-8, and its number of bytes.
    static func character(in text: RawSpan, at offset: Int) -> (scalar: UInt32, count: Int) {
        let first = UInt32(text.byte(at: offset))
        if first < 0x80 { return (first, 1) }
        let count = characterCount(text.byte(at: offset))
        var scalar = first & (0xFF >> UInt32(count + 1))
        for index in 1..<count { scalar = scalar << 6 | UInt32(text.byte(at: offset + index) & 0x3F) }
        return (scalar, count)
    }

    // SPEC: XML 1.0, production 4.
    static func isStart(_ scalar: UInt32) -> Bool {
        switch scalar {
        case 0..<0x80: isASCIIStart(UInt8(scalar))
        case 0xC0...0xD6, 0xD8...0xF6, 0xF8...0x2FF, 0x370...0x37D, 0x37F...0x1FFF, 0x200C...0x200D, 0x2070...0x218F,
            0x2C00...0x2FEF, 0x3001...0xD7FF, 0xF900...0xFDCF, 0xFDF0...0xFFFD, 0x10000...0xEFFFF:
            true
        default: false
        }
    }

    // SPEC: XML 1.0, production 4a.
    static func isPart(_ scalar: UInt32) -> Bool {
        switch scalar {
        case 0..<0x80: isASCIIPart(UInt8(scalar))
        case 0xB7, 0x300...0x36F, 0x203F...0x2040: true
        default: isStart(scalar)
        }
    }

    // SPEC: XML 1.0, production 2.
    /// Returns whether a character may be in a document.
    static func isCharacter(_ scalar: UInt32) -> Bool {
        switch scalar {
        case 0x09, 0x0A, 0x0D, 0x20...0xD7FF, 0xE000...0xFFFD, 0x10000...0x10FFFF: true
        default: false
        }
    }

    /// Returns the offset after white space.
    @inline(__always)
    static func endOfSpace(in text: RawSpan, from start: Int) -> Int {
        var offset = start
        while offset < text.byteCount && isSpace(text.uncheckedByte(offset)) { offset &+= 1 }
        return offset
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension NameBytes: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testRecognizesBytesOfNames": testRecognizesBytesOfNames,
            "testFindsTheEndsOfNames": testFindsTheEndsOfNames,
            "testRecognizesCharactersOfDocuments": testRecognizesCharactersOfDocuments,
        ]
    }

    private static func testRecognizesBytesOfNames() {
        let letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
        for byte in UInt8.min..<0x80 {
            let character = String(UnicodeScalar(byte))
            expectEqual(isASCIIStart(byte), (letters + ":_").contains(character), "start \(byte)")
            expectEqual(isASCIIPart(byte), (letters + ":_-.0123456789").contains(character), "part \(byte)")
            expectEqual(isSpace(byte), [9, 10, 13, 32].contains(byte), "white space \(byte)")
        }
        for byte in UInt8(0x80) ... .max {
            expectFalse(isASCIIPart(byte) || isASCIIStart(byte) || isSpace(byte), "\(byte)")
        }
    }

    private static func testFindsTheEndsOfNames() {
        let rows: [(text: String, end: Int, colon: Int, isQualified: Bool)] = [
            ("a", 1, -1, true), ("abc=", 3, -1, true), ("a:b>", 3, 1, true), ("1a", 0, -1, false), ("", 0, -1, false),
            (":a ", 2, 0, false), ("a: ", 2, 1, false), ("a:b:c", 5, 1, false), ("a:1", 3, 1, false),
            ("-a", 0, -1, false),
            ("é1·=", 5, -1, true), ("a:é=", 4, 1, true), ("x\u{2014}", 1, -1, true), ("a:\u{B7}", 4, 1, false),
            ("\u{10000}a", 5, -1, true),
        ]
        for row in rows {
            row.text.withUTF8Span { text in
                for extent in [extent(in: text, from: 0), slowExtent(in: text, from: 0)] {
                    expectEqual(extent.end, row.end, "end of '\(row.text)'")
                    expectEqual(extent.colon, row.colon, "colon of '\(row.text)'")
                    expectEqual(extent.isQualified, row.isQualified, "form of '\(row.text)'")
                }
            }
        }
    }

    private static func testRecognizesCharactersOfDocuments() {
        for scalar: UInt32 in [9, 10, 13, 32, 0x7F, 0xD7FF, 0xE000, 0xFFFD, 0x10000, 0x10FFFF] {
            expectTrue(isCharacter(scalar), "\(scalar)")
        }
        for scalar: UInt32 in [0, 8, 11, 31, 0xD800, 0xDFFF, 0xFFFE, 0xFFFF, 0x110000] {
            expectFalse(isCharacter(scalar), "\(scalar)")
        }
    }
}
#endif
