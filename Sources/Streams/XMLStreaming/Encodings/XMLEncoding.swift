// Defines the encodings of documents: their names, their detection from the first bytes, and their conversion to UTF-8.

import PlistStreaming

/// An encoding of a document.
public enum XMLEncoding: Sendable, Hashable {
    /// UTF-8.
    case utf8
    /// UTF-16 with the low byte of each unit first.
    case utf16LittleEndian
    /// UTF-16 with the high byte of each unit first.
    case utf16BigEndian
    /// ISO-8859-1.
    case latin1
    /// Windows-1252, which some documents declare as ISO-8859-1.
    case windows1252
    /// ASCII.
    case ascii

    // SPEC: XML 1.0, appendix F.1.
    /// Detects the encoding and the length of its byte order mark from the first bytes. Returns nil if more bytes are needed,
    /// and a nil encoding if the encoding isn't supported.
    static func detect(_ bytes: RawSpan, isLast: Bool) -> (encoding: XMLEncoding?, markCount: Int)? {
        func byte(_ index: Int) -> UInt8? { index < bytes.byteCount ? bytes.byte(at: index) : nil }
        switch (byte(0), byte(1)) {
        case (nil, _): return isLast ? (.utf8, 0) : nil
        case (0xEF, nil) where !isLast, (0xFF, nil) where !isLast, (0xFE, nil) where !isLast, (0x3C, nil) where !isLast,
            (0, nil) where !isLast:
            return nil
        case (0xEF, 0xBB):
            guard let third = byte(2) else { return isLast ? (.utf8, 0) : nil }
            return (.utf8, third == 0xBF ? 3 : 0)
        case (0xFF, 0xFE):
            guard bytes.byteCount >= 4 || isLast else { return nil }
            return byte(2) == 0 && byte(3) == 0 ? (nil, 0) : (.utf16LittleEndian, 2)
        case (0xFE, 0xFF): return (.utf16BigEndian, 2)
        case (0x3C, 0): return (.utf16LittleEndian, 0)
        case (0, 0x3C): return (.utf16BigEndian, 0)
        case (0, 0): return (nil, 0)
        default: return (.utf8, 0)
        }
    }

    /// Returns the encodings that a name can refer to. One of them has to match the first bytes. Returns an empty array for
    /// an unknown name.
    static func named(_ name: String) -> [XMLEncoding] {
        switch name.lowercased() {
        case "utf-8", "utf8": [.utf8]
        case "utf-16", "iso-10646-ucs-2", "ucs-2", "utf16": [.utf16LittleEndian, .utf16BigEndian]
        case "utf-16le": [.utf16LittleEndian]
        case "utf-16be": [.utf16BigEndian]
        case "iso-8859-1", "iso_8859-1", "iso8859-1", "latin1", "latin-1", "l1": [.latin1]
        case "windows-1252", "cp1252", "cp-1252", "x-cp1252": [.windows1252]
        case "us-ascii", "ascii", "ansi_x3.4-1968", "iso646-us": [.ascii]
        default: []
        }
    }

    /// A Boolean value that indicates whether each character is one byte and bytes below 0x80 are ASCII, so that the
    /// declaration can be read before the encoding is known.
    var isByteEncoding: Bool { self == .latin1 || self == .windows1252 || self == .ascii }

    /// Returns the number of bytes that a piece of UTF-8 has in this encoding.
    func byteCount(of utf8: RawSpan, to end: Int) -> Int {
        if self == .utf8 { return end }
        var count = 0
        for offset in 0..<end {
            let byte = utf8.uncheckedByte(offset)
            if byte & 0xC0 == 0x80 { continue }
            count += isByteEncoding ? 1 : byte >= 0xF0 ? 4 : 2
        }
        return count
    }

    /// Decodes bytes into UTF-8.
    ///
    /// - Returns: The number of decoded bytes, and the problem of the next ones. The problem is nil if the next character is
    ///   only incomplete.
    func decode(_ bytes: RawSpan, into output: inout KeptStack<UInt8>) -> (count: Int, problem: String?) {
        var offset = 0
        switch self {
        case .utf8:
            output.append(contentsOf: bytes)
            return (bytes.byteCount, nil)
        case .utf16LittleEndian, .utf16BigEndian:
            while offset + 1 < bytes.byteCount {
                let (scalar, count) = utf16Scalar(bytes, offset)
                if count == 0 { return (offset, nil) }
                guard let scalar else { return (offset, "expected UTF-16, found half a surrogate pair") }
                output.append(scalar: scalar)
                offset += count
            }
        case .latin1, .windows1252, .ascii:
            while offset < bytes.byteCount {
                let byte = bytes.uncheckedByte(offset)
                guard let scalar = scalar(of: byte) else {
                    return (offset, "expected \(self == .ascii ? "ASCII" : "Windows-1252"), found byte \(byte)")
                }
                output.append(scalar: scalar)
                offset += 1
            }
        }
        return (offset, nil)
    }

    /// Returns a character and its number of bytes. The character is nil for an unpaired surrogate, and the number is 0 if
    /// bytes are missing.
    private func utf16Scalar(_ bytes: RawSpan, _ offset: Int) -> (UInt32?, Int) {
        func unit(_ offset: Int) -> UInt32 {
            let (first, second) = (UInt32(bytes.uncheckedByte(offset)), UInt32(bytes.uncheckedByte(offset + 1)))
            return self == .utf16LittleEndian ? second << 8 | first : first << 8 | second
        }
        let high = unit(offset)
        guard high & 0xF800 == 0xD800 else { return (high, 2) }
        guard high < 0xDC00 else { return (nil, 2) }
        guard offset + 3 < bytes.byteCount else { return (nil, 0) }
        let low = unit(offset + 2)
        guard low & 0xFC00 == 0xDC00 else { return (nil, 2) }
        return (0x10000 + (high & 0x3FF) << 10 + (low & 0x3FF), 4)
    }

    private func scalar(of byte: UInt8) -> UInt32? {
        if byte < 0x80 { return UInt32(byte) }
        switch self {
        case .latin1: return UInt32(byte)
        case .windows1252:
            let scalar = CharacterCode.ofWindows1252(byte)
            // SPEC: the IANA's table has no control characters there.
            return 0x80...0x9F ~= scalar ? nil : UInt32(scalar)
        default: return nil
        }
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension XMLEncoding: SelfTesting {
    public static var testSelectors: TestSelectors {
        [
            "testDetectsEncodingFromFirstBytes": testDetectsEncodingFromFirstBytes,
            "testDecodesEveryEncoding": testDecodesEveryEncoding,
        ]
    }

    private static func testDetectsEncodingFromFirstBytes() {
        let rows: [([UInt8], XMLEncoding?, Int)] = [
            ([0xEF, 0xBB, 0xBF], .utf8, 3), ([0xEF, 0xBB, 0xBE], .utf8, 0), ([0x3C, 0x61], .utf8, 0),
            ([0xFF, 0xFE, 0x3C, 0], .utf16LittleEndian, 2), ([0xFE, 0xFF], .utf16BigEndian, 2),
            ([0x3C, 0], .utf16LittleEndian, 0), ([0, 0x3C], .utf16BigEndian, 0), ([0xFF, 0xFE, 0, 0], nil, 0),
            ([0, 0, 0xFE, 0xFF], nil, 0), ([0x20], .utf8, 0),
        ]
        for (bytes, encoding, markCount) in rows {
            // SAFETY: the span does not leave the closure.
            let found = unsafe bytes.withUnsafeBytes { unsafe detect($0.bytes, isLast: false) }
            expectEqual(found?.encoding, encoding, "\(bytes)")
            expectEqual(found?.markCount, markCount, "mark of \(bytes)")
            for count in 0..<min(2, bytes.count) where bytes[0] != 0x20 {
                let part = unsafe bytes.withUnsafeBytes { unsafe detect($0.bytes.extracting(0..<count), isLast: false) }
                expectTrue(part == nil, "\(count) bytes of \(bytes) say nothing yet")
            }
        }
        expectEqual(
            unsafe [UInt8]([0x3C]).withUnsafeBytes { unsafe detect($0.bytes, isLast: true)?.encoding }, .utf8, "<")
    }

    private static func testDecodesEveryEncoding() {
        func decoded(_ encoding: XMLEncoding, _ bytes: [UInt8]) -> String {
            var output = KeptStack<UInt8>()
            // SAFETY: the span does not leave the closure.
            let (count, problem) = unsafe bytes.withUnsafeBytes { unsafe encoding.decode($0.bytes, into: &output) }
            let rest = problem ?? (count < bytes.count ? "\(bytes.count - count) more" : "")
            return String(xml: output.bytes) + "|" + rest
        }
        expectEqual(decoded(.latin1, [0x61, 0xE9, 0x80]), "aé\u{80}|", "Latin-1")
        expectEqual(decoded(.windows1252, [0x80, 0xE9, 0x9F]), "€éŸ|", "Windows-1252")
        expectEqual(decoded(.windows1252, [0x61, 0x81]), "a|expected Windows-1252, found byte 129", "no character")
        expectEqual(decoded(.ascii, [0x61, 0x80]), "a|expected ASCII, found byte 128", "not ASCII")
        expectEqual(decoded(.utf16LittleEndian, [0x61, 0, 0x3D, 0xD8, 0x42, 0xDE]), "a🙂|", "little")
        expectEqual(decoded(.utf16BigEndian, [0, 0x61, 0xD8, 0x3D, 0xDE, 0x42, 0x20]), "a🙂|1 more", "big")
        expectEqual(decoded(.utf16BigEndian, [0xD8, 0x3D]), "|2 more", "the half of a pair")
        let half = "|expected UTF-16, found half a surrogate pair"
        for bytes: [UInt8] in [[0xDC, 0, 0, 0], [0xD8, 0, 0, 0x61], [0xD8, 0, 0xD8, 0]] {
            expectEqual(decoded(.utf16BigEndian, bytes), half, "\(bytes)")
        }
        for (text, encoding) in [("aé€🙂", XMLEncoding.utf16BigEndian), ("aé", .latin1), ("aé€🙂", .utf8)] {
            let expected = encoding == .latin1 ? 2 : encoding == .utf8 ? 10 : 10
            expectEqual(
                text.withUTF8Span { encoding.byteCount(of: $0, to: $0.byteCount) }, expected, "bytes of \(text)")
        }
    }
}
#endif
