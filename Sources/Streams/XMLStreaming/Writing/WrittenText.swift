// Checks the characters and names that XML allows, and escapes text in content and in values of attributes.

import PlistStreaming

/// Functions that check text against the characters and names of XML and escape it.
///
/// SPEC: XML 1.0, 5th edition, production 2; names are checked by `NameBytes`.
package enum WrittenText {
    /// The position of a text, which determines the characters that are escaped.
    package enum Place {
        /// Between tags.
        case content
        /// In a value in double quotes.
        case attribute

        /// The bytes below 64 that are escaped.
        fileprivate var escaped: UInt64 {
            let content: UInt64 = 1 << 0x0D | 1 << 0x26 | 1 << 0x3C | 1 << 0x3E
            return switch self {
            case .content: content
            case .attribute: content | 1 << 0x09 | 1 << 0x0A | 1 << 0x22
            }
        }
    }

    // MARK: Characters

    /// Throws an error if the bytes aren't valid UTF-8 or have a character that XML excludes.
    package static func check(_ utf8: RawSpan, in place: StaticString) throws(StreamError) {
        guard utf8.isValidUTF8 else { throw StreamError(.invalidText, "\(place) is not valid UTF-8") }
        if let offset = firstForbidden(utf8) { throw forbidden(utf8, offset, place) }
    }

    /// Returns the string for a scalar or a key of values.
    static func string(_ utf8: RawSpan) throws(StreamError) -> String {
        guard let text = String(validating: utf8) else {
            throw StreamError(.invalidText, "the string is not valid UTF-8")
        }
        return text
    }

    /// Returns the text of a scalar, or nil for null.
    ///
    /// - Throws: `unrepresentable` for an infinite number and a date outside the years 0 to 9999.
    static func text(of scalar: borrowing StreamScalar) throws(StreamError) -> String? {
        switch scalar {
        case .null: return nil
        case .bool(let value): return value ? "true" : "false"
        case .integer(let value): return "\(value)"
        case .unsigned(let value): return "\(value)"
        case .real(let value):
            guard value.isFinite else {
                throw StreamError(.unrepresentable, "expected a finite number, found \(value)")
            }
            return NumberText.text(of: value)
        case .number(let text): return try string(text)
        case .string(let utf8): return try string(utf8)
        case .data(let bytes): return Base64Text.string(of: bytes)
        case .date(let seconds):
            guard let text = DateText.rfc3339(secondsSince2001: seconds) else {
                throw StreamError(.unrepresentable, "expected a date with a year from 0 to 9999")
            }
            return text
        }
    }

    /// Returns the offset of the first character that XML excludes, in valid UTF-8.
    private static func firstForbidden(_ utf8: RawSpan) -> Int? {
        let allowed: UInt64 = ~0 << 32 | 1 << 0x09 | 1 << 0x0A | 1 << 0x0D
        let count = utf8.byteCount
        var offset = 0
        while offset < count {
            if offset <= count - 8 {
                // SAFETY: the line above compares with the count.
                let word = unsafe utf8.unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: UInt64.self)
                // No byte is a control character or 0xEF, which is the first byte of the last characters of the first plane.
                let ones: UInt64 = 0x0101_0101_0101_0101
                let last = word ^ (ones &* 0xEF)
                let found = (word &- ones &* 0x20) & ~word | (last &- ones) & ~last
                if found & (ones &* 0x80) == 0 {
                    offset += 8
                    continue
                }
            }
            let byte = utf8.byte(at: offset)
            if byte < 0x40, allowed >> UInt64(byte) & 1 == 0 { return offset }
            // U+FFFE and U+FFFF.
            if byte == 0xEF, offset + 2 < count, utf8.byte(at: offset + 1) == 0xBF, utf8.byte(at: offset + 2) >= 0xBE {
                return offset
            }
            offset += 1
        }
        return nil
    }

    @inline(never)
    private static func forbidden(_ utf8: RawSpan, _ offset: Int, _ place: StaticString) -> StreamError {
        let byte = utf8.byte(at: offset)
        let scalar = byte == 0xEF ? 0xFFC0 | UInt32(utf8.byte(at: offset + 2) & 0x3F) : UInt32(byte)
        return StreamError(
            .unrepresentable,
            "\(place) has the character \(CharacterCode.name(of: scalar)) at byte \(offset), which XML doesn't allow")
    }

    // MARK: Names

    /// Returns the offset of the only colon in a name, -1 for a name without a colon, or nil if the text isn't a name with at
    /// most one prefix.
    static func colon(inQualifiedName name: RawSpan) -> Int? {
        guard name.isValidUTF8 else { return nil }
        let extent = NameBytes.extent(in: name, from: 0)
        return extent.end == name.byteCount && extent.isQualified ? extent.colon : nil
    }

    /// Returns whether a text is a name. It may have any number of colons.
    static func isName(_ name: RawSpan) -> Bool {
        name.byteCount > 0 && name.isValidUTF8 && NameBytes.extent(in: name, from: 0).end == name.byteCount
    }

    /// Returns whether a text is a name without a colon.
    static func isPlainName(_ name: RawSpan) -> Bool { colon(inQualifiedName: name) == -1 }

    // SPEC: XML 1.0, production 13.
    /// Returns whether a byte may be in a public identifier.
    static func isPublicIDByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x61...0x7A, 0x41...0x5A, 0x30...0x39, 0x20, 0x0D, 0x0A: true
        default: "-'()+,./:=?;!*#@$_%".utf8.contains(byte)
        }
    }

    // MARK: Escapes

    /// Appends checked text, escaped for its position.
    package static func append(
        _ utf8: RawSpan, in place: Place, to output: inout ByteOutput
    ) throws(StreamError) {
        let escaped = place.escaped
        let count = utf8.byteCount
        var (start, offset) = (0, 0)
        while offset < count {
            if offset <= count - 8 {
                // SAFETY: the line above compares with the count.
                let word = unsafe utf8.unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: UInt64.self)
                // Letters and characters beyond ASCII have one of the two highest bits, and spaces need no escape.
                let ones: UInt64 = 0x0101_0101_0101_0101
                let spaces = word ^ (ones &* 0x20)
                let isSpace = ~((spaces & (ones &* 0x7F) &+ ones &* 0x7F) | spaces)
                if (word | word << 1 | isSpace) & (ones &* 0x80) == ones &* 0x80 {
                    offset += 8
                    continue
                }
            }
            let byte = utf8.byte(at: offset)
            if byte < 0x40, escaped >> UInt64(byte) & 1 != 0 {
                try output.append(utf8.extracting(start..<offset))
                try append(Self.escape(of: byte), to: &output)
                start = offset + 1
            }
            offset += 1
        }
        try output.append(utf8.extracting(start..<count))
    }

    private static func escape(of byte: UInt8) -> StaticString {
        switch byte {
        case 0x26: "&amp;"
        case 0x3C: "&lt;"
        case 0x3E: "&gt;"
        case 0x22: "&quot;"
        case 0x09: "&#9;"
        case 0x0A: "&#10;"
        default: "&#13;"
        }
    }

    /// Appends an XML declaration for UTF-8.
    static func appendDeclaration(_ isStandalone: Bool?, to output: inout ByteOutput) throws(StreamError) {
        try append("<?xml version=\"1.0\" encoding=\"UTF-8\"", to: &output)
        if let isStandalone {
            try append(isStandalone ? " standalone=\"yes\"" : " standalone=\"no\"", to: &output)
        }
        try append("?>", to: &output)
    }

    /// Appends a literal.
    static func append(_ literal: StaticString, to output: inout ByteOutput) throws(StreamError) {
        // SAFETY: the bytes of a literal are static; all literals here are longer than one character.
        try output.append(
            unsafe UnsafeRawBufferPointer(start: literal.utf8Start, count: literal.utf8CodeUnitCount).bytes)
    }

    /// Returns the offset of a byte sequence in a text.
    static func offset(of sequence: StaticString, in text: RawSpan, from start: Int = 0) -> Int? {
        var offset = start
        while let isFound = text.hasWord(sequence, at: offset) {
            if isFound { return offset }
            offset += 1
        }
        return nil
    }
}
