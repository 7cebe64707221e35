// The text of a JSON number and its value: which message it goes by, and the digits behind a double.

/// The value of a JSON number, as the message that holds it.
@usableFromInline
enum JSONNumber: Equatable, Sendable {
    case integer(Int64)
    case unsigned(UInt64)
    case real(Double)
    /// An integer beyond 64 bits, a real beyond the largest double, or one that no double stands for: only its text is exact.
    case text

    /// The value of a number that is known to follow the grammar.
    ///
    /// SPEC: RFC 8259 section 6. Integers are exact or text; `-0` is the double -0.0, as no integer holds it; fractions
    /// and exponents give the nearest double, ties to even, unless that misleads: see `DecimalRounding`.
    @usableFromInline
    static func value(of text: RawSpan) -> JSONNumber {
        var digits = DecimalDigits()
        digits.scan(text, from: 0)
        if digits.isInteger {
            guard !digits.isTruncated else { return .text }
            if !digits.isNegative {
                if let value = Int64(exactly: digits.mantissa) { return .integer(value) }
                return .unsigned(digits.mantissa)
            }
            if digits.mantissa == 0 { return .real(-0.0) }
            if digits.mantissa <= Int64.min.magnitude {
                return .integer(Int64(truncatingIfNeeded: 0 &- digits.mantissa))
            }
            return .text
        }
        let magnitude =
            digits.isTruncated
            ? DecimalRounding.nearest(to: digits, text: text) : DecimalRounding.nearest(to: digits)
        guard magnitude.isFinite, !DecimalRounding.isMisleading(magnitude, for: digits) else { return .text }
        return .real(digits.isNegative ? -magnitude : magnitude)
    }

    /// What `scanPlain` found.
    @usableFromInline
    struct Plain: Equatable, Sendable {
        /// The offset after the number, or `StringRuns.notFound`.
        @usableFromInline var end: Int
        @usableFromInline var isReal: Bool
        /// The integer, or the bit pattern of the real.
        @usableFromInline var bits: UInt64

        static let none = Plain(end: StringRuns.notFound, isReal: false, bits: 0)
    }

    /// Scans a plain number: up to 19 digits, an integer within `Int64` or a finite real.
    ///
    /// Not plain are also `-0`, wrong grammar, more than 64 bytes, and the end of the span: all of that is for the plain
    /// machine, from the number's beginning.
    @usableFromInline
    static func scanPlain(_ bytes: RawSpan, from start: Int) -> Plain {
        if start <= bytes.byteCount &- shortMargin {
            let number = scanShort(bytes, from: start)
            if number.end >= 0 { return number }
        }
        return scanLong(bytes, from: start)
    }

    /// Scans a plain number of any length.
    @inline(never)
    static func scanLong(_ bytes: RawSpan, from start: Int) -> Plain {
        // Every load below is of a byte before `lastWord`, or of eight bytes from an offset up to it.
        let lastWord = bytes.byteCount &- 8
        guard start < lastWord else { return .none }
        var offset = start
        let isNegative = bytes.uncheckedByte(offset) == UInt8(ascii: "-")
        if isNegative { offset &+= 1 }
        var mantissa: UInt64 = 0
        let firstDigit = offset
        while offset < lastWord {
            let digit = bytes.uncheckedByte(offset) &- 0x30
            if digit > 9 { break }
            mantissa = mantissa &* 10 &+ UInt64(digit)
            offset &+= 1
        }
        let digitCount = offset &- firstDigit
        guard digitCount > 0, digitCount <= 19, offset < lastWord else { return .none }
        let startsWithZero = bytes.uncheckedByte(firstDigit) == UInt8(ascii: "0")
        guard digitCount == 1 || !startsWithZero else { return .none }
        let follower = bytes.uncheckedByte(offset)
        let isExponent = follower | 0x20 == UInt8(ascii: "e")
        guard follower == UInt8(ascii: ".") || isExponent else {
            guard mantissa <= UInt64(Int64.max), !isNegative || mantissa != 0 else { return .none }
            return Plain(end: offset, isReal: false, bits: isNegative ? 0 &- mantissa : mantissa)
        }
        var exponent = 0
        if !isExponent {
            offset &+= 1
            let firstFraction = offset
            while offset <= lastWord, offset &- firstFraction < 16 {
                let word = bytes.uncheckedWord(offset)
                guard DigitWords.areDigits(word) else { break }
                mantissa = mantissa &* 100_000_000 &+ DigitWords.value(of: word)
                offset &+= 8
            }
            while offset < lastWord {
                let digit = bytes.uncheckedByte(offset) &- 0x30
                if digit > 9 { break }
                mantissa = mantissa &* 10 &+ UInt64(digit)
                offset &+= 1
            }
            guard offset > firstFraction, offset < lastWord else { return .none }
            exponent = firstFraction &- offset
            let isExact = digitCount &- exponent <= 19 || startsWithZero && hasFewDigits(bytes, firstFraction, offset)
            guard isExact else { return .none }
        }
        if bytes.uncheckedByte(offset) | 0x20 == UInt8(ascii: "e") {
            offset = scanExponent(bytes, from: offset &+ 1, to: lastWord, adding: &exponent)
        }
        guard offset > 0, offset &- start <= 64 else { return .none }
        let magnitude = DecimalRounding.nearest(mantissa: mantissa, exponent: exponent)
        guard magnitude.isFinite,
            !DecimalRounding.isMisleading(magnitude, mantissa: mantissa, exponent: exponent)
        else { return .none }
        return Plain(end: offset, isReal: true, bits: (isNegative ? -magnitude : magnitude).bitPattern)
    }

    /// Whether the digits of a fraction are at most 19 without the zeros before the first other digit.
    @inline(never)
    private static func hasFewDigits(_ bytes: RawSpan, _ start: Int, _ end: Int) -> Bool {
        var zero = start
        while zero < end, bytes.uncheckedByte(zero) == UInt8(ascii: "0") { zero &+= 1 }
        return end &- zero <= 19
    }

    private static func scanExponent(_ bytes: RawSpan, from start: Int, to end: Int, adding exponent: inout Int) -> Int
    {
        var offset = start
        guard offset < end else { return StringRuns.notFound }
        let sign = bytes.uncheckedByte(offset)
        if sign == UInt8(ascii: "-") || sign == UInt8(ascii: "+") { offset &+= 1 }
        let firstDigit = offset
        var value = 0
        while offset < end {
            let digit = bytes.uncheckedByte(offset) &- 0x30
            if digit > 9 { break }
            value = value &* 10 &+ Int(digit)
            offset &+= 1
        }
        guard offset > firstDigit, offset &- firstDigit <= 9, offset < end else { return StringRuns.notFound }
        exponent &+= sign == UInt8(ascii: "-") ? 0 &- value : value
        return offset
    }
}

/// Eight decimal digits in one word.
@usableFromInline
enum DigitWords {
    // PERF: inlinable for the scanner's loop; a dozen instructions for up to seven digits without a branch.
    /// The number that one to seven digits spell, given as values from 0 to 9 in the lowest bytes, the first lowest.
    @inlinable @inline(__always)
    static func integer(of digits: UInt64, count: Int) -> Int64 {
        // Zeros move in before the first digit; what follows the last one moves out.
        var lanes = digits &<< UInt64(truncatingIfNeeded: 64 &- count &* 8)
        lanes = (lanes &* 10) &+ (lanes &>> 8)
        let low = (lanes & 0x0000_00FF_0000_00FF) &* 0x000F_4240_0000_0064
        let high = ((lanes &>> 16) & 0x0000_00FF_0000_00FF) &* 0x0000_2710_0000_0001
        return Int64(bitPattern: (low &+ high) &>> 32)
    }

    /// Whether all eight bytes are ASCII digits.
    static func areDigits(_ word: UInt64) -> Bool {
        let high: UInt64 = 0xF0F0_F0F0_F0F0_F0F0
        return word & high == 0x3030_3030_3030_3030
            && (word &+ 0x0606_0606_0606_0606) & high == 0x3030_3030_3030_3030
    }

    // PERF: three multiplications for eight digits; pairs, then fours, then all, each in its lane.
    /// The number that eight digits spell, the first byte the most significant.
    static func value(of word: UInt64) -> UInt64 {
        value(ofDigits: word &- 0x3030_3030_3030_3030)
    }

    /// The number that eight values from 0 to 9 spell, the first the most significant.
    @inlinable @inline(__always)
    static func value(ofDigits digits: UInt64) -> UInt64 {
        var lanes = digits
        lanes = (lanes &* 10) &+ (lanes &>> 8)
        let low = (lanes & 0x0000_00FF_0000_00FF) &* 0x000F_4240_0000_0064
        let high = ((lanes &>> 16) & 0x0000_00FF_0000_00FF) &* 0x0000_2710_0000_0001
        return (low &+ high) &>> 32
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension JSONNumber: SelfTesting {
    /// The tests of this type.
    @usableFromInline
    static var testSelectors: TestSelectors {
        [
            "testKeepsIntegersExact": testKeepsIntegersExact,
            "testRoundsReals": testRoundsReals,
            "testSendsWhatIsTooLargeAsText": testSendsWhatIsTooLargeAsText,
            "testReadsEightDigits": testReadsEightDigits,
        ]
    }

    private static func value(_ text: String) -> JSONNumber { text.withUTF8Span { value(of: $0) } }

    private static func testKeepsIntegersExact() {
        let integers: [Int64] = [
            0, 1, -1, 9, 10, .max, .min, .max - 1, .min + 1, 999_999_999_999_999_999, 1_000_000_000_000_000_000,
        ]
        for integer in integers {
            expectEqual(value("\(integer)"), .integer(integer), "\(integer)")
            JSONScanner.expectOutcome(Array("[\(integer)]".utf8), "[ integer \(integer) ]", "\(integer)")
        }
        for integer in [UInt64(Int64.max) + 1, .max, .max - 1, 10_000_000_000_000_000_000] {
            expectEqual(value("\(integer)"), .unsigned(integer), "\(integer)")
            JSONScanner.expectOutcome(Array("[\(integer)]".utf8), "[ unsigned \(integer) ]", "\(integer)")
        }
        expectEqual(value("-0").description, "real(-0.0)", "the negative zero")
    }

    private var description: String { "\(self)" }

    private static func testRoundsReals() {
        let rows: [(String, Double)] = [
            ("0.0", 0), ("1.0", 1), ("-1.5e3", -1500), ("1e0", 1), ("1E+2", 100), ("1e-2", 0.01), ("0.1", 0.1),
            ("1e22", 1e22), ("1e23", 1e23),
            ("123456789.12345678", 123456789.12345678),
            ("0.000000000000000000000000000001", 1e-30), ("4.9e-324", .leastNonzeroMagnitude),
            ("2.4703282292062328e-324", .leastNonzeroMagnitude),
            ("2.2250738585072011e-308", .leastNormalMagnitude.nextDown),
            ("1.7976931348623157e308", .greatestFiniteMagnitude),

            ("9007199254740994.0", 9007199254740994), ("2.2250738585072014e-308", .leastNormalMagnitude),
            ("0e999999999999", 0),
        ]
        for (text, expected) in rows {
            expectEqual(value(text), .real(expected), text)
            JSONScanner.expectOutcome(Array("[\(text)]".utf8), "[ real \(expected) ]", text)
        }
    }

    private static func testSendsWhatIsTooLargeAsText() {
        let rows = [
            "18446744073709551616", "-9223372036854775809", "100000000000000000000", "1e309", "-1.8e308",
            "1.7976931348623159e308",
            "1e99999999999999999999", String(repeating: "9", count: 400) + ".5",
        ]
        for text in rows {
            expectEqual(value(text), .text, text)
            JSONScanner.expectOutcome(Array("[\(text)]".utf8), "[ number \(text) ]", text)
        }
    }

    private static func testReadsEightDigits() {
        for (text, expected) in [
            ("12345678", 12_345_678), ("00000000", 0), ("99999999", 99_999_999), ("10000001", 10_000_001),
        ] {
            let word = text.withUTF8Span { $0.uncheckedWord(0) }
            expectTrue(DigitWords.areDigits(word), "digits \(text)")
            expectEqual(DigitWords.value(of: word), UInt64(expected), "value of \(text)")
        }
        for text in ["1234567:", "/2345678", "1234 678", "12345\u{7F}78", "é345678"] {
            expectFalse(text.withUTF8Span { DigitWords.areDigits($0.uncheckedWord(0)) }, "digits \(text)")
        }
    }
}
#endif
