// The text of a JSON number and its value.

import PlistBuilding
import PlistStreaming

/// The numbers of JSON.
@usableFromInline
enum JSONNumber {
    /// The message of a number that is known to follow the grammar.
    ///
    /// - Parameter digits: The reals that are sent as text.
    @usableFromInline
    static func message(
        _ text: UnsafeRawBufferPointer, _ digits: JSONReaderOptions.Digits = .ofNone
    ) -> ScalarMessage {
        guard let number = unsafe DecimalNumber(text.bytes) else { return unsafe .number(text) }
        // Rounded without the standard library, which takes longer for many digits.
        let message = unsafe ScalarMessage(number, in: text, nearest: DecimalRounding.nearest(to:text:))
        if digits != .ofNone, case .real(let value) = unsafe message,
            unsafe digits == .ofAll || !NumberText.hasDigits(of: text.bytes, value)
        {
            return unsafe .number(text)
        }
        return unsafe message
    }

    /// The result of `scanPlain`.
    @usableFromInline
    struct Plain: Equatable, Sendable {
        /// The offset after the number, or `StringRuns.notFound`.
        @usableFromInline var end: Int
        @usableFromInline var isReal: Bool
        /// The integer, or the bit pattern of the real.
        @usableFromInline var bits: UInt64

        static let none = Plain(end: StringRuns.notFound, isReal: false, bits: 0)
    }

    /// Scans a plain number: an integer within `Int64` or a finite real.
    ///
    /// The following are not plain either: `-0`, invalid grammar, more than 64 bytes, and the end of the span. For
    /// these, the plain scanner starts again at the beginning of the number.
    @usableFromInline
    static func scanPlain(_ bytes: RawSpan, from start: Int) -> Plain {
        if start <= bytes.byteCount &- shortMargin {
            let number = scanShort(bytes, from: start)
            if number.end >= 0 { return number }
        }
        return scanLong(bytes, from: start)
    }

    // PERF: JSONReader, reals with exponents; a loop for up to 19 digits takes 230 instructions less than
    // `DecimalNumber`.
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
                let run = DigitRun(bytes.uncheckedWord(offset))
                guard run.areAllDigits else { break }
                mantissa = mantissa &* 100_000_000 &+ DigitWords.value(ofDigits: run.digits)
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
            guard isExact else { return scanManyDigits(bytes, from: start) }
        }
        if bytes.uncheckedByte(offset) | 0x20 == UInt8(ascii: "e") {
            offset = scanExponent(bytes, from: offset &+ 1, to: lastWord, adding: &exponent)
        }
        guard offset > 0, offset &- start <= 64 else { return .none }
        let magnitude = DecimalRounding.nearest(mantissa: mantissa, exponent: exponent)
        guard magnitude.isFinite,
            !MisleadingDouble.isMisleading(magnitude, mantissa: mantissa, exponent: exponent)
        else { return .none }
        return Plain(end: offset, isReal: true, bits: (isNegative ? -magnitude : magnitude).bitPattern)
    }

    /// Scans a plain real of more than 19 digits.
    @inline(never)
    private static func scanManyDigits(_ bytes: RawSpan, from start: Int) -> Plain {
        guard let number = DecimalNumber(bytes, from: start), number.end < bytes.byteCount &- 8,
            number.end &- start <= 64
        else { return .none }
        let magnitude = DecimalRounding.nearest(to: number, text: bytes.extracting(start..<number.end))
        guard magnitude.isFinite, !MisleadingDouble.isMisleading(magnitude, for: number) else { return .none }
        return Plain(end: number.end, isReal: true, bits: (number.isNegative ? -magnitude : magnitude).bitPattern)
    }

    /// Returns whether a fraction has at most 19 digits, not counting leading zeros.
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

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension JSONNumber: SelfTesting {
    /// The tests of this type.
    @usableFromInline
    static var testSelectors: TestSelectors {
        [
            "testReadsIntegersExactly": testReadsIntegersExactly,
            "testRoundsRealsToNearest": testRoundsRealsToNearest,
            "testSendsLargeNumbersAsText": testSendsLargeNumbersAsText,
        ]
    }

    private static func testReadsIntegersExactly() {
        let integers: [Int64] = [
            0, 1, -1, 9, 10, .max, .min, .max - 1, .min + 1, 999_999_999_999_999_999, 1_000_000_000_000_000_000,
        ]
        for integer in integers {
            JSONScanner.expectOutcome(Array("[\(integer)]".utf8), "[ integer \(integer) ]", "\(integer)")
        }
        for integer in [UInt64(Int64.max) + 1, .max, .max - 1, 10_000_000_000_000_000_000] {
            JSONScanner.expectOutcome(Array("[\(integer)]".utf8), "[ unsigned \(integer) ]", "\(integer)")
        }
        JSONScanner.expectOutcome(Array("[-0]".utf8), "[ real -0.0 ]", "the negative zero")
    }

    private static func testRoundsRealsToNearest() {
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
            JSONScanner.expectOutcome(Array("[\(text)]".utf8), "[ real \(expected) ]", text)
        }
    }

    private static func testSendsLargeNumbersAsText() {
        let rows = [
            "18446744073709551616", "-9223372036854775809", "100000000000000000000", "1e309", "-1.8e308",
            "1.7976931348623159e308",
            "1e99999999999999999999", String(repeating: "9", count: 400) + ".5",
        ]
        for text in rows {
            JSONScanner.expectOutcome(Array("[\(text)]".utf8), "[ number \(text) ]", text)
        }
    }
}
#endif
