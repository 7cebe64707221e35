// The scalar values of the JSON writer.

public import PlistStreaming

extension JSONWriter {
    /// Writes `null`.
    public mutating func writeNull() throws(StreamError) {
        try beginValue()
        try output.reserve(8)
        output.appendReserved(word: 0x6C6C_756E, byteCount: 4)
        try endValue()
    }

    /// Writes `true` or `false`.
    public mutating func writeBool(_ value: Bool) throws(StreamError) {
        try beginValue()
        try output.reserve(8)
        if value {
            output.appendReserved(word: 0x6575_7274, byteCount: 4)
        } else {
            output.appendReserved(word: 0x65_736C_6166, byteCount: 5)
        }
        try endValue()
    }

    /// Writes an integer.
    public mutating func writeInteger(_ value: Int64) throws(StreamError) {
        try beginValue()
        try output.reserve(32)
        if value < 0 { output.appendReserved(UInt8(ascii: "-")) }
        IntegerText.write(value.magnitude, to: &output)
        try endValue()
    }

    /// Writes an unsigned integer.
    public mutating func writeUnsigned(_ value: UInt64) throws(StreamError) {
        try beginValue()
        try output.reserve(32)
        IntegerText.write(value, to: &output)
        try endValue()
    }

    /// Writes a double with the fewest digits that read back as the same double.
    ///
    /// - Throws: ``PlistStreaming/StreamError/Kind/unrepresentable`` for NaN and the infinities, unless the options
    ///   have another use for them.
    public mutating func writeReal(_ value: Double) throws(StreamError) {
        guard value.isFinite else { return try writeNonFinite(value) }
        try beginValue()
        try RealText.write(value, to: &output)
        try endValue()
    }

    private mutating func writeNonFinite(_ value: Double) throws(StreamError) {
        let name = value.isNaN ? "NaN" : value < 0 ? "-Infinity" : "Infinity"
        switch nonFinitePolicy {
        case .reject: throw StreamError(.unrepresentable, "JSON has no number for \(name)")
        case .null: try writeNull()
        case .string: try name.withUTF8Span { text throws(StreamError) in try writeString(text) }
        }
    }

    /// Writes the text of a number as it is.
    ///
    /// - Throws: ``PlistStreaming/StreamError/Kind/misuse`` for text that is no JSON number.
    public mutating func writeNumber(text: RawSpan) throws(StreamError) {
        guard NumberGrammar.accepts(text) else { throw StreamError(.misuse, "got a number that is none in JSON") }
        try beginValue()
        try output.append(text)
        try endValue()
    }

    /// Writes a string, escaped.
    ///
    /// - Throws: ``PlistStreaming/StreamError/Kind/invalidText`` for text that is not valid UTF-8.
    public mutating func writeString(_ utf8: RawSpan) throws(StreamError) {
        try JSONText.check(utf8)
        try beginValue()
        try JSONText.writeQuoted(utf8, to: &output)
        try endValue()
    }

    /// Writes a string with the bytes in Base64, with padding.
    public mutating func writeData(_ bytes: RawSpan) throws(StreamError) {
        try beginValue()
        try output.append(UInt8(ascii: "\""))
        try Base64Text.write(bytes, to: &output)
        try output.append(UInt8(ascii: "\""))
        try endValue()
    }

    /// Writes a date as the options say.
    ///
    /// - Throws: ``PlistStreaming/StreamError/Kind/unrepresentable`` for a date that is not finite, or outside the years
    ///   0 to 9999 where a string is asked for.
    public mutating func writeDate(secondsSince2001 seconds: Double) throws(StreamError) {
        switch datePolicy {
        case .secondsSince2001: try writeReal(seconds)
        case .rfc3339:
            guard let text = DateText.rfc3339(secondsSince2001: seconds) else {
                throw StreamError(.unrepresentable, "RFC 3339 has no date for \(seconds) seconds since 2001")
            }
            try text.withUTF8Span { text throws(StreamError) in try writeString(text) }
        }
    }
}

/// Whole numbers as decimal digits.
enum IntegerText {
    /// Writes the digits of a number; 32 bytes must be reserved.
    static func write(_ value: UInt64, to output: inout ByteOutput) {
        // PERF: eight digits a step by multiplications in one word, against a division a digit.
        var rest = value
        if rest < 100_000_000 {
            writeLeading(rest, to: &output)
            return
        }
        let low = eightDigits(rest % 100_000_000)
        rest /= 100_000_000
        if rest < 100_000_000 {
            writeLeading(rest, to: &output)
        } else {
            let middle = eightDigits(rest % 100_000_000)
            writeLeading(rest / 100_000_000, to: &output)
            output.appendReserved(word: middle, byteCount: 8)
        }
        output.appendReserved(word: low, byteCount: 8)
    }

    /// The text of a number below 10^8 in eight digits, the first in the lowest byte.
    static func eightDigits(_ value: UInt64) -> UInt64 {
        // Two fours, then four pairs, then eight digits, each in its own lane; the quotients come from reciprocals.
        let fours = value / 10_000 | (value % 10_000) << 32
        let hundreds = ((fours &* 10_486) >> 20) & 0x0000_007F_0000_007F
        let pairs = hundreds | (fours &- hundreds &* 100) << 16
        let tens = ((pairs &* 103) >> 10) & 0x000F_000F_000F_000F
        return (tens | (pairs &- tens &* 10) << 8) | 0x3030_3030_3030_3030
    }

    /// Writes a number below 10^8 without leading zeros.
    private static func writeLeading(_ value: UInt64, to output: inout ByteOutput) {
        if value < 10 {
            output.appendReserved(0x30 | UInt8(truncatingIfNeeded: value))
            return
        }
        let digits = eightDigits(value)
        let zeros = (digits ^ 0x3030_3030_3030_3030).trailingZeroBitCount >> 3
        output.appendReserved(word: digits >> UInt64(8 * zeros), byteCount: 8 - zeros)
    }
}
