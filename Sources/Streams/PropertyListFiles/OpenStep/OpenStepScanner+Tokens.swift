// The bytes within tokens: comments, strings with their escapes, data, and the typed values of GNUstep.

import PlistStreaming

extension OpenStepScanner {
    /// Scans U+FEFF, which is allowed at the beginning of the input.
    mutating func scanByteOrderMark(_ bytes: RawSpan, _ offset: Int) throws(StreamError) -> Int {
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        guard bytes.byte(at: offset) == mark[digitCount] else {
            throw fail(expected: "a byte order mark of UTF-8", bytes, offset)
        }
        digitCount += 1
        if digitCount == 3 { token = .none }
        return offset + 1
    }

    // MARK: Comments

    mutating func scanComment(_ bytes: RawSpan, _ start: Int) throws(StreamError) -> Int {
        var offset = start
        while offset < bytes.byteCount {
            let byte = bytes.byte(at: offset)
            switch token {
            case .slash where byte == UInt8(ascii: "/") || byte == UInt8(ascii: "*"):
                token = byte == UInt8(ascii: "/") ? .lineComment : .blockComment
                comments = (comments.count + 1, comments.first ?? tokenPlace)
            case .slash: return try endSlash() + offset
            case .lineComment where byte == 0x0A || byte == 0x0D:
                // The mark is also whitespace.
                token = .none
                return offset
            case .blockCommentStar where byte == UInt8(ascii: "/"):
                token = .none
                return offset + 1
            case .blockComment, .blockCommentStar:
                if byte == 0x0A { countLine(offset) }
                token = byte == UInt8(ascii: "*") ? .blockCommentStar : .blockComment
            default: break
            }
            offset += 1
        }
        return offset
    }

    /// Treats a slash that doesn't begin a comment as the start of a string, and returns 0, the number of bytes read.
    mutating func endSlash() throws(StreamError) -> Int {
        guard next == .root || next == .value || next == .element || next == .key else {
            throw fail(.invalidSyntax, "expected \(expectation), found '/'", at: tokenPlace)
        }
        begin(.unquoted)
        try append(UInt32(UInt8(ascii: "/")))
        return 0
    }

    // MARK: Strings

    mutating func scanString<Sink: PlistSink & ~Copyable>(
        _ bytes: RawSpan, _ start: Int, to sink: inout Sink
    ) throws(StreamError) -> Int {
        var offset = start
        var byte: UInt8 = 0
        if token == .unquoted {
            while offset < bytes.byteCount, Self.isUnquoted(bytes.byte(at: offset)) { offset += 1 }
        } else {
            while offset < bytes.byteCount {
                byte = bytes.byte(at: offset)
                if byte == quote || byte == UInt8(ascii: "\\") { break }
                if byte == 0x0A { countLine(offset) }
                offset += 1
            }
        }
        let run = bytes.extracting(start..<offset)
        try checkLength(text.count + run.byteCount)
        let isAtEnd = offset == bytes.byteCount
        if isAtEnd || byte == UInt8(ascii: "\\") && token == .quoted || !text.isEmpty { run.appendTo(&text) }
        if isAtEnd { return offset }
        if token == .quoted, byte == UInt8(ascii: "\\") {
            token = .escape
            return offset + 1
        }
        let endCount = token == .quoted ? 1 : 0
        if text.isEmpty {
            try endString(run, to: &sink)
        } else {
            try endString(text, to: &sink)
        }
        return offset + endCount
    }

    private mutating func checkLength(_ byteCount: Int) throws(StreamError) {
        guard byteCount <= limits.stringByteCount else {
            throw fail(.limitExceeded, "more than \(limits.stringByteCount) bytes in a string", at: tokenPlace)
        }
    }

    /// Appends a character to the text of the token.
    private mutating func append(_ scalar: UInt32) throws(StreamError) {
        CharacterCode.encode(scalar) { text.append($0) }
        try checkLength(text.count)
    }

    /// Scans one byte of an escape; returns the offset of the next one to scan, which may be the same.
    mutating func scanEscape(_ bytes: RawSpan, _ offset: Int) throws(StreamError) -> Int {
        let byte = bytes.byte(at: offset)
        switch token {
        case .octal:
            guard digitCount < 3, (0x30...0x37).contains(byte) else {
                try endOctal(bytes, offset)
                return offset
            }
            number = number << 3 | UInt32(byte & 7)
            digitCount += 1
        case .unicode:
            guard digitCount < 4, let digit = CharacterCode.hexadecimalValue(of: byte) else {
                guard digitCount > 0 else { throw fail(expected: "a hexadecimal digit", bytes, offset) }
                try endUnicode(offset)
                return offset
            }
            number = number << 4 | digit
            digitCount += 1
        case .lowSurrogateBackslash, .lowSurrogateU:
            let expected = token == .lowSurrogateU ? UInt8(ascii: "U") : UInt8(ascii: "\\")
            guard byte == expected else { throw failSurrogate(offset) }
            token = token == .lowSurrogateU ? .unicode : .lowSurrogateU
            (digitCount, number) = (0, 0)
        default: try scanEscaped(byte, offset)
        }
        return offset + 1
    }

    /// Scans the byte after a backslash.
    private mutating func scanEscaped(_ byte: UInt8, _ offset: Int) throws(StreamError) {
        token = .quoted
        switch byte {
        case 0x30...0x37:
            token = .octal
            (digitCount, number) = (1, UInt32(byte & 7))
        case UInt8(ascii: "U"):
            token = .unicode
            (digitCount, number, highSurrogate) = (0, 0, 0)
        case UInt8(ascii: "a"): try append(0x07)
        case UInt8(ascii: "b"): try append(0x08)
        case UInt8(ascii: "t"): try append(0x09)
        case UInt8(ascii: "n"): try append(0x0A)
        case UInt8(ascii: "v"): try append(0x0B)
        case UInt8(ascii: "f"): try append(0x0C)
        case UInt8(ascii: "r"): try append(0x0D)
        default:
            // All other bytes represent themselves; bytes beyond ASCII are part of a character.
            if byte == 0x0A { countLine(offset) }
            text.append(byte)
            try checkLength(text.count)
        }
    }

    private mutating func endOctal(_ bytes: RawSpan, _ offset: Int) throws(StreamError) {
        token = .quoted
        guard number < 0x80 + UInt32(NextStepEncoding.upperHalf.count) else {
            throw fail(.invalidText, "expected a character from \\000 to \\375", at: position(offset))
        }
        try append(number < 0x80 ? number : UInt32(NextStepEncoding.upperHalf[Int(number) - 0x80]))
    }

    private mutating func endUnicode(_ offset: Int) throws(StreamError) {
        token = .quoted
        let unit = number
        if highSurrogate != 0 {
            guard unit & 0xFC00 == 0xDC00 else { throw failSurrogate(offset) }
            let high = highSurrogate
            highSurrogate = 0
            return try append(0x10000 + ((high & 0x3FF) << 10 | unit & 0x3FF))
        }
        guard unit & 0xF800 == 0xD800 else { return try append(unit) }
        guard unit < 0xDC00 else { throw failSurrogate(offset) }
        highSurrogate = unit
        token = .lowSurrogateBackslash
    }

    private mutating func failSurrogate(_ offset: Int) -> StreamError {
        fail(.invalidText, "expected a surrogate pair, found a lone surrogate", at: position(offset))
    }

    // MARK: Data and typed values

    mutating func scanAngle<Sink: PlistSink & ~Copyable>(
        _ bytes: RawSpan, _ offset: Int, to sink: inout Sink
    ) throws(StreamError) -> Int {
        let byte = bytes.byte(at: offset)
        switch token {
        case .angle:
            switch byte {
            case UInt8(ascii: "*"): token = .typed
            case UInt8(ascii: "["): token = .base64
            default:
                token = .hexadecimal
                return offset
            }
        case .hexadecimal: try scanHexadecimal(byte, bytes, offset, to: &sink)
        case .typed:
            if byte == UInt8(ascii: ">") {
                try endTyped(to: &sink)
            } else {
                guard text.count < limits.numberByteCount else {
                    throw fail(
                        .limitExceeded, "more than \(limits.numberByteCount) bytes in a typed value", at: tokenPlace)
                }
                if byte == 0x0A { countLine(offset) }
                text.append(byte)
            }
        case .base64 where byte == UInt8(ascii: "]"): token = .base64End
        case .base64:
            if byte == 0x0A { countLine(offset) }
            text.append(byte)
            try checkLength(text.count)
        default:
            guard byte == UInt8(ascii: ">") else { throw fail(expected: "'>'", bytes, offset) }
            guard let data = try text.withRawSpan({ (text) throws(StreamError) in Base64Text.decoded(text) }) else {
                throw fail(.invalidSyntax, "expected data in Base64", at: tokenPlace)
            }
            try endData(data, to: &sink)
        }
        return offset + 1
    }

    private mutating func scanHexadecimal<Sink: PlistSink & ~Copyable>(
        _ byte: UInt8, _ bytes: RawSpan, _ offset: Int, to sink: inout Sink
    ) throws(StreamError) {
        if let digit = CharacterCode.hexadecimalValue(of: byte) {
            number = number << 4 | digit
            digitCount ^= 1
            if digitCount == 0 {
                text.append(UInt8(truncatingIfNeeded: number))
                try checkLength(text.count)
            }
            return
        }
        guard digitCount == 0, byte == UInt8(ascii: ">") || byte == 0x20 || (0x09...0x0D).contains(byte) else {
            throw fail(expected: digitCount == 0 ? "hexadecimal digits or '>'" : "a hexadecimal digit", bytes, offset)
        }
        if byte == 0x0A { countLine(offset) }
        if byte == UInt8(ascii: ">") { try endData(text, to: &sink) }
    }

    private mutating func endData<Sink: PlistSink & ~Copyable>(
        _ data: [UInt8], to sink: inout Sink
    ) throws(StreamError) {
        token = .none
        try data.withRawSpan { (data) throws(StreamError) in try sink.writeData(data) }
        endValue()
    }

    private mutating func endTyped<Sink: PlistSink & ~Copyable>(to sink: inout Sink) throws(StreamError) {
        token = .none
        let typed = text
        let isSent = try typed.withRawSpan { (typed) throws(StreamError) in
            guard typed.byteCount > 1 else { return false }
            return try send(typed.byte(at: 0), typed.extracting(1..<typed.byteCount), to: &sink)
        }
        guard isSent else {
            throw fail(.invalidSyntax, "expected a typed value such as <*I5>, <*R0.5>, <*BY> or <*D…>", at: tokenPlace)
        }
        endValue()
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
