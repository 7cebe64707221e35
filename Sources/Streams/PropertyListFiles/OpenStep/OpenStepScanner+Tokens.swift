// The tokens of the old text form: comments, strings with their escapes, data and typed values. Each function scans the token at
// `tokenStart` and returns the offset of its end, or nil if the token continues in the next chunk.

import PlistStreaming

extension OpenStepScanner {
    mutating func scanByteOrderMark(_ bytes: RawSpan, isLast: Bool) throws(StreamError) -> Int? {
        for (offset, byte) in [0xEF, 0xBB, 0xBF].enumerated() {
            guard offset < bytes.byteCount else { return try incomplete("a byte order mark", bytes, isLast: isLast) }
            guard bytes.byte(at: offset) == byte else {
                throw fail(expected: "a byte order mark of UTF-8", bytes, offset)
            }
        }
        return 3
    }

    // MARK: Comments

    mutating func scanLineComment(_ bytes: RawSpan, isLast: Bool) -> Int? {
        let end = (tokenStart..<bytes.byteCount).first { bytes.byte(at: $0) == 0x0A || bytes.byte(at: $0) == 0x0D }
        guard let end = end ?? (isLast ? bytes.byteCount : nil) else { return nil }
        comments = (comments.count + 1, comments.first ?? tokenPlace)
        return end
    }

    mutating func scanBlockComment(_ bytes: RawSpan, isLast: Bool) throws(StreamError) -> Int? {
        let slash = (min(tokenStart + 3, bytes.byteCount)..<bytes.byteCount).first { offset in
            bytes.byte(at: offset) == UInt8(ascii: "/") && bytes.byte(at: offset - 1) == UInt8(ascii: "*")
        }
        guard let slash else { return try incomplete("a comment", bytes, isLast: isLast) }
        comments = (comments.count + 1, comments.first ?? tokenPlace)
        return slash + 1
    }

    // MARK: Strings

    mutating func scanUnquoted<Sink: PlistSink & ~Copyable>(
        _ bytes: RawSpan, isLast: Bool, to sink: inout Sink
    ) throws(StreamError) -> Int? {
        try require((isValueNext || next == .key) && Self.isUnquoted(bytes.byte(at: tokenStart)), bytes)
        var end = tokenStart
        while end < bytes.byteCount, Self.isUnquoted(bytes.byte(at: end)) { end += 1 }
        try checkLength(end - tokenStart)
        guard end < bytes.byteCount || isLast else { return nil }
        try endString(bytes.extracting(tokenStart..<end), to: &sink)
        return end
    }

    mutating func scanQuoted<Sink: PlistSink & ~Copyable>(
        _ bytes: RawSpan, isLast: Bool, to sink: inout Sink
    ) throws(StreamError) -> Int? {
        let quote = bytes.byte(at: tokenStart)
        text.removeAll(keepingCapacity: true)
        var (start, offset) = (tokenStart + 1, tokenStart + 1)
        while offset < bytes.byteCount {
            let byte = bytes.byte(at: offset)
            guard byte == quote || byte == UInt8(ascii: "\\") else {
                offset += 1
                continue
            }
            let run = bytes.extracting(start..<offset)
            try checkLength(text.count + run.byteCount)
            if byte == quote, text.isEmpty {
                try endString(run, to: &sink)
                return offset + 1
            }
            run.appendTo(&text)
            if byte == quote {
                try endString(text, to: &sink)
                return offset + 1
            }
            guard let end = try scanEscape(bytes, offset + 1) else {
                return try incomplete("a string", bytes, isLast: isLast)
            }
            (start, offset) = (end, end)
        }
        try checkLength(text.count + bytes.byteCount - start)
        return try incomplete("a string", bytes, isLast: isLast)
    }

    private mutating func checkLength(_ byteCount: Int) throws(StreamError) {
        guard byteCount <= limits.stringByteCount else {
            throw fail(.limitExceeded, "more than \(limits.stringByteCount) bytes in a string", at: tokenPlace)
        }
    }

    private mutating func append(_ scalar: UInt32) throws(StreamError) {
        CharacterCode.encode(scalar) { text.append($0) }
        try checkLength(text.count)
    }

    // MARK: Escapes

    /// Appends the character of an escape, and returns the offset after it, or nil for an incomplete escape. Octal and
    /// hexadecimal digits end at the next byte.
    private mutating func scanEscape(_ bytes: RawSpan, _ offset: Int) throws(StreamError) -> Int? {
        guard offset < bytes.byteCount else { return nil }
        let byte = bytes.byte(at: offset)
        switch byte {
        case 0x30...0x37: return try scanOctal(bytes, offset)
        case UInt8(ascii: "U"): return try scanUnicode(bytes, offset + 1, after: nil)
        case UInt8(ascii: "a"): try append(0x07)
        case UInt8(ascii: "b"): try append(0x08)
        case UInt8(ascii: "t"): try append(0x09)
        case UInt8(ascii: "n"): try append(0x0A)
        case UInt8(ascii: "v"): try append(0x0B)
        case UInt8(ascii: "f"): try append(0x0C)
        case UInt8(ascii: "r"): try append(0x0D)
        default:
            text.append(byte)
            try checkLength(text.count)
        }
        return offset + 1
    }

    private mutating func scanOctal(_ bytes: RawSpan, _ start: Int) throws(StreamError) -> Int? {
        var (offset, number) = (start, UInt32(0))
        while offset < bytes.byteCount, offset < start + 3, (0x30...0x37).contains(bytes.byte(at: offset)) {
            number = number << 3 | UInt32(bytes.byte(at: offset) & 7)
            offset += 1
        }
        guard offset < bytes.byteCount else { return nil }
        guard number < 0x80 + UInt32(NextStepEncoding.upperHalf.count) else {
            throw fail(.invalidText, "expected a character from \\000 to \\375", at: position(bytes, offset))
        }
        try append(number < 0x80 ? number : UInt32(NextStepEncoding.upperHalf[Int(number) - 0x80]))
        return offset
    }

    /// Reads a UTF-16 unit of up to four hexadecimal digits, and a second one if the first is half of a pair.
    private mutating func scanUnicode(
        _ bytes: RawSpan, _ start: Int, after high: UInt32?
    ) throws(StreamError) -> Int? {
        var (offset, unit) = (start, UInt32(0))
        while offset < bytes.byteCount, offset < start + 4,
            let digit = CharacterCode.hexadecimalValue(of: bytes.byte(at: offset))
        {
            unit = unit << 4 | digit
            offset += 1
        }
        guard offset < bytes.byteCount else { return nil }
        guard offset > start else { throw fail(expected: "a hexadecimal digit", bytes, offset) }
        if let high {
            guard unit & 0xFC00 == 0xDC00 else { throw failSurrogate(bytes, offset) }
            try append(0x10000 + ((high & 0x3FF) << 10 | unit & 0x3FF))
            return offset
        }
        guard unit & 0xF800 == 0xD800 else {
            try append(unit)
            return offset
        }
        guard unit < 0xDC00 else { throw failSurrogate(bytes, offset) }
        for expected in [UInt8(ascii: "\\"), UInt8(ascii: "U")] {
            guard offset < bytes.byteCount else { return nil }
            guard bytes.byte(at: offset) == expected else { throw failSurrogate(bytes, offset) }
            offset += 1
        }
        return try scanUnicode(bytes, offset, after: unit)
    }

    private mutating func failSurrogate(_ bytes: RawSpan, _ offset: Int) -> StreamError {
        fail(.invalidText, "expected a surrogate pair, found a lone surrogate", at: position(bytes, offset))
    }

    // MARK: Data and typed values

    mutating func scanAngle<Sink: PlistSink & ~Copyable>(
        _ bytes: RawSpan, isLast: Bool, to sink: inout Sink
    ) throws(StreamError) -> Int? {
        let start = tokenStart + 1
        guard start < bytes.byteCount else { return try incomplete("data", bytes, isLast: isLast) }
        switch bytes.byte(at: start) {
        case UInt8(ascii: "*"): return try scanTyped(bytes, start + 1, isLast: isLast, to: &sink)
        case UInt8(ascii: "["): return try scanBase64(bytes, start + 1, isLast: isLast, to: &sink)
        default: return try scanHexadecimal(bytes, start, isLast: isLast, to: &sink)
        }
    }

    private mutating func scanHexadecimal<Sink: PlistSink & ~Copyable>(
        _ bytes: RawSpan, _ start: Int, isLast: Bool, to sink: inout Sink
    ) throws(StreamError) -> Int? {
        text.removeAll(keepingCapacity: true)
        var high: UInt32?
        for offset in start..<bytes.byteCount {
            let byte = bytes.byte(at: offset)
            if let digit = CharacterCode.hexadecimalValue(of: byte) {
                if let first = high {
                    text.append(UInt8(truncatingIfNeeded: first << 4 | digit))
                    try checkLength(text.count)
                }
                high = high == nil ? digit : nil
            } else if high == nil, byte == UInt8(ascii: ">") {
                try endData(text, to: &sink)
                return offset + 1
            } else if high != nil || !Self.isSpace(byte) {
                throw fail(expected: high == nil ? "hexadecimal digits or '>'" : "a hexadecimal digit", bytes, offset)
            }
        }
        return try incomplete("data", bytes, isLast: isLast)
    }

    private mutating func scanBase64<Sink: PlistSink & ~Copyable>(
        _ bytes: RawSpan, _ start: Int, isLast: Bool, to sink: inout Sink
    ) throws(StreamError) -> Int? {
        let end = (start..<bytes.byteCount).first { bytes.byte(at: $0) == UInt8(ascii: "]") }
        try checkLength((end ?? bytes.byteCount) - start)
        guard let end, end + 1 < bytes.byteCount else { return try incomplete("data", bytes, isLast: isLast) }
        guard bytes.byte(at: end + 1) == UInt8(ascii: ">") else { throw fail(expected: "'>'", bytes, end + 1) }
        guard let data = Base64Text.decoded(bytes.extracting(start..<end)) else {
            throw fail(.invalidSyntax, "expected data in Base64", at: tokenPlace)
        }
        try endData(data, to: &sink)
        return end + 2
    }

    private mutating func endData<Sink: PlistSink & ~Copyable>(
        _ data: [UInt8], to sink: inout Sink
    ) throws(StreamError) {
        try data.withRawSpan { (data) throws(StreamError) in try sink.writeData(data) }
        endValue()
    }

    private mutating func scanTyped<Sink: PlistSink & ~Copyable>(
        _ bytes: RawSpan, _ start: Int, isLast: Bool, to sink: inout Sink
    ) throws(StreamError) -> Int? {
        let end = (start..<bytes.byteCount).first { bytes.byte(at: $0) == UInt8(ascii: ">") }
        guard (end ?? bytes.byteCount) - start <= limits.numberByteCount else {
            throw fail(.limitExceeded, "more than \(limits.numberByteCount) bytes in a typed value", at: tokenPlace)
        }
        guard let end else { return try incomplete("a typed value", bytes, isLast: isLast) }
        guard end - start > 1,
            try send(bytes.byte(at: start), bytes.extracting(start + 1..<end), to: &sink)
        else {
            throw fail(.invalidSyntax, "expected a typed value such as <*I5>, <*R0.5>, <*BY> or <*D…>", at: tokenPlace)
        }
        endValue()
        return end + 1
    }

    /// Sends the value of a type with a text; returns false if the text isn't valid for the type.
    private mutating func send<Sink: PlistSink & ~Copyable>(
        _ type: UInt8, _ text: RawSpan, to sink: inout Sink
    ) throws(StreamError) -> Bool {
        switch type {
        case UInt8(ascii: "I"): return try PlistScalarText.sendInteger(text, to: &sink)
        case UInt8(ascii: "R"):
            guard let value = PlistScalarText.real(text) else { return false }
            guard value.isFinite || PlistScalarText.isNamed(text) else {
                throw fail(
                    .unrepresentable, "expected a real within the range of a double, found a larger one", at: tokenPlace
                )
            }
            try sink.writeReal(value)
        case UInt8(ascii: "B"):
            guard text.equals("Y") || text.equals("N") else { return false }
            try sink.writeBool(text.equals("Y"))
        case UInt8(ascii: "D"):
            guard let seconds = Self.date(text) else { return false }
            try sink.writeDate(secondsSince2001: seconds)
        default: return false
        }
        return true
    }

    /// Returns the seconds since 2001 for a text such as `2001-01-01 00:00:00 +0000`.
    private static func date(_ text: RawSpan) -> Double? {
        var bytes = Array(copying: text)
        // Other texts have a colon within the offset.
        guard bytes.count > 6, bytes[bytes.count - 6] == 0x20 else { return nil }
        bytes.insert(UInt8(ascii: ":"), at: bytes.count - 2)
        bytes.remove(at: bytes.count - 7)
        return bytes.withRawSpan { DateText.secondsSince2001($0) }
    }
}

/// The characters of the upper half of NeXTSTEP's encoding, which octal escapes use.
enum NextStepEncoding {
    /// The characters from 0x80 to 0xFD, which are all that exist.
    ///
    /// SPEC: https://www.unicode.org/Public/MAPPINGS/VENDORS/NEXT/NEXTSTEP.TXT
    static let upperHalf: [UInt16] = [
        0x00A0, 0x00C0, 0x00C1, 0x00C2, 0x00C3, 0x00C4, 0x00C5, 0x00C7, 0x00C8, 0x00C9, 0x00CA, 0x00CB,
        0x00CC, 0x00CD, 0x00CE, 0x00CF, 0x00D0, 0x00D1, 0x00D2, 0x00D3, 0x00D4, 0x00D5, 0x00D6, 0x00D9,
        0x00DA, 0x00DB, 0x00DC, 0x00DD, 0x00DE, 0x00B5, 0x00D7, 0x00F7, 0x00A9, 0x00A1, 0x00A2, 0x00A3,
        0x2044, 0x00A5, 0x0192, 0x00A7, 0x00A4, 0x2019, 0x201C, 0x00AB, 0x2039, 0x203A, 0xFB01, 0xFB02,
        0x00AE, 0x2013, 0x2020, 0x2021, 0x00B7, 0x00A6, 0x00B6, 0x2022, 0x201A, 0x201E, 0x201D, 0x00BB,
        0x2026, 0x2030, 0x00AC, 0x00BF, 0x00B9, 0x02CB, 0x00B4, 0x02C6, 0x02DC, 0x00AF, 0x02D8, 0x02D9,
        0x00A8, 0x00B2, 0x02DA, 0x00B8, 0x00B3, 0x02DD, 0x02DB, 0x02C7, 0x2014, 0x00B1, 0x00BC, 0x00BD,
        0x00BE, 0x00E0, 0x00E1, 0x00E2, 0x00E3, 0x00E4, 0x00E5, 0x00E7, 0x00E8, 0x00E9, 0x00EA, 0x00EB,
        0x00EC, 0x00C6, 0x00ED, 0x00AA, 0x00EE, 0x00EF, 0x00F0, 0x00F1, 0x0141, 0x00D8, 0x0152, 0x00BA,
        0x00F2, 0x00F3, 0x00F4, 0x00F5, 0x00F6, 0x00E6, 0x00F9, 0x00FA, 0x00FB, 0x0131, 0x00FC, 0x00FD,
        0x0142, 0x00F8, 0x0153, 0x00DF, 0x00FE, 0x00FF,
    ]
}
