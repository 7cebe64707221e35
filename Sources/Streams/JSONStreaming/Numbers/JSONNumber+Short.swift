// The most common numbers: integers of up to 18 digits, and reals of up to 19 without an exponent. Every length is
// known to fit, so no comparison with the end of the span is needed; `scanPlain` scans all other numbers.

import PlistStreaming

extension JSONNumber {
    /// The number of bytes that must follow an offset for `scanShort`; a sign, seven digits, a point, 16 digits and a
    /// word need fewer.
    static let shortMargin = 48

    // PERF: JSONReader/coordinates, JSONReader/catalogue; always inlined into its only caller.
    /// Scans a short number whose first byte is a digit or a minus, or finds none.
    @inline(__always)
    static func scanShort(_ bytes: RawSpan, from start: Int) -> Plain {
        let isNegative = bytes.uncheckedByte(start) == UInt8(ascii: "-")
        let first = start &+ (isNegative ? 1 : 0)
        let run = DigitRun(bytes.uncheckedWord(first))
        if run.count == 8 { return scanLongInteger(bytes, from: first, run, isNegative: isNegative) }
        guard run.count > 0, run.count == 1 || !run.startsWithZero else { return .none }
        let mantissa = run.value
        let offset = first &+ run.count
        let follower = bytes.uncheckedByte(offset)
        guard follower == UInt8(ascii: ".") else {
            guard follower | 0x20 != UInt8(ascii: "e"), !isNegative || mantissa != 0 else { return .none }
            return Plain(end: offset, isReal: false, bits: isNegative ? 0 &- mantissa : mantissa)
        }
        let real = scanReal(bytes, from: start, powers: .table)
        guard real.isReal, !isExponent(bytes.uncheckedByte(real.end)) else { return .none }
        return Plain(end: real.end, isReal: true, bits: real.value.bitPattern)
    }

    // PERF: JSONReader/coordinates; words at fixed distances from the first digit, so that neither they nor the end of
    // the number depend on the position of the point. Always inlined into the loops that scan numbers.
    /// Scans a short real, or finds none: returns the offset after it, and its value unless an exponent follows.
    @inlinable @inline(__always)
    static func scanReal(
        _ bytes: RawSpan, from start: Int, powers: SmallPowers
    ) -> (isReal: Bool, end: Int, value: Double) {
        let isNegative = bytes.uncheckedByte(start) == UInt8(ascii: "-")
        let first = start &+ (isNegative ? 1 : 0)
        let whole = DigitRun(bytes.uncheckedWord(first))
        let wholeCount = whole.count
        guard whole.others != 0, bytes.uncheckedByte(first &+ wholeCount) == UInt8(ascii: "."), wholeCount > 0,
            wholeCount == 1 || !whole.startsWithZero
        else { return (false, 0, 0) }
        let sign: UInt64 = isNegative ? 1 << 63 : 0
        // The digits before the point come from the first word, those after it from the word that begins one byte
        // later.
        let wholeMask = (whole.others ^ (whole.others &- 1)) &>> 8
        let next = bytes.uncheckedWord(first &+ 1) ^ 0x3030_3030_3030_3030
        let upper = DigitRun(digits: next ^ ((whole.digits ^ next) & wholeMask))
        var mantissa: UInt64
        var digitCount: Int
        if upper.areAllDigits {
            mantissa = DigitWords.value(ofDigits: upper.digits)
            let lower = DigitRun(bytes.uncheckedWord(first &+ 9))
            if lower.areAllDigits {
                mantissa = mantissa &* 100_000_000 &+ DigitWords.value(ofDigits: lower.digits)
                // More than 19 digits do not fit.
                let rest = DigitTriple(bytes.uncheckedHalf(first &+ 17))
                guard rest.others != 0 else { return (false, 0, 0) }
                digitCount = rest.count &+ 16
                let end = first &+ 1 &+ digitCount
                let scaled = mantissa &* rest.scaledPowerOfTen &+ rest.scaledValue
                if !whole.startsWithZero {
                    let fractionCount = digitCount &- wholeCount
                    let high = DecimalRounding.product(scaled, fractionCount: fractionCount, powers: powers)
                    if DecimalRounding.isCertain(high) {
                        let value = DecimalRounding.nearest(
                            toProduct: high, shift: rest.shift, fractionCount: fractionCount, sign: sign, powers: powers
                        )
                        guard
                            !MisleadingDouble.isMisleading(
                                small: value, mantissa: scaled &>> UInt64(truncatingIfNeeded: rest.shift),
                                fractionCount: fractionCount)
                        else { return (false, 0, 0) }
                        return (true, end, value)
                    }
                }
                mantissa = scaled &>> UInt64(truncatingIfNeeded: rest.shift)
            } else {
                mantissa = mantissa &* DigitRun.powerOfTen(lower.count) &+ lower.value
                digitCount = lower.count &+ 8
            }
        } else {
            mantissa = upper.value
            digitCount = upper.count
        }
        guard digitCount > wholeCount else { return (false, 0, 0) }
        let value = DecimalRounding.nearest(
            mantissa: mantissa, fractionCount: digitCount &- wholeCount, sign: sign, powers: powers)
        // The double of a number with up to 12 digits is never misleading.
        guard
            digitCount <= 12
                || !MisleadingDouble.isMisleading(
                    small: value, mantissa: mantissa, fractionCount: digitCount &- wholeCount)
        else { return (false, 0, 0) }
        return (true, first &+ 1 &+ digitCount, value)
    }

    /// Returns whether a byte that follows digits begins an exponent.
    @inlinable @inline(__always)  // PERF: see above.
    static func isExponent(_ byte: UInt8) -> Bool { byte | 0x20 == UInt8(ascii: "e") }

    /// Scans an integer that begins with a run of eight digits.
    @inline(__always)
    private static func scanLongInteger(
        _ bytes: RawSpan, from start: Int, _ first: DigitRun, isNegative: Bool
    ) -> Plain {
        var mantissa = DigitWords.value(ofDigits: first.digits)
        var offset = start &+ 8
        var run = DigitRun(bytes.uncheckedWord(offset))
        if run.count == 8 {
            mantissa = mantissa &* 100_000_000 &+ DigitWords.value(ofDigits: run.digits)
            offset &+= 8
            run = DigitRun(bytes.uncheckedWord(offset))
            guard run.count <= 2 else { return .none }
        }
        mantissa = mantissa &* DigitRun.powerOfTen(run.count) &+ run.value
        offset &+= run.count
        let follower = bytes.uncheckedByte(offset)
        guard follower != UInt8(ascii: "."), follower | 0x20 != UInt8(ascii: "e"),
            bytes.uncheckedByte(start) != UInt8(ascii: "0")
        else { return .none }
        return Plain(end: offset, isReal: false, bits: isNegative ? 0 &- mantissa : mantissa)
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

enum ShortNumberTests {}

extension ShortNumberTests: SelfTesting {
    static var testSelectors: TestSelectors { ["testAgreesWithGeneralParser": testAgreesWithGeneralParser] }

    /// Every number of digits on both sides of the point, with each sign, leading zeros, and every following byte.
    private static func testAgreesWithGeneralParser() {
        let digits = "1234567890123456789012345"
        for whole in 0...20 {
            for fraction in 0...22 {
                for leading in ["", "0", "9", "-", "-0", "-9"] {
                    for end in [",", "e5,", "E-3,", ".", "]"] {
                        let point = fraction == 0 ? "" : "." + String(digits.suffix(fraction))
                        let text = leading + digits.prefix(whole) + point + end
                        (text + String(repeating: "0", count: 60)).withUTF8Span { bytes in
                            let first = bytes.uncheckedByte(0)
                            guard first == UInt8(ascii: "-") || first &- 0x30 <= 9 else { return }
                            let short = JSONNumber.scanShort(bytes, from: 0)
                            let long = JSONNumber.scanLong(bytes, from: 0)
                            if short.end >= 0, short != long { fail("\(text): \(short), \(long)") }
                            if long.end >= 0, end == ",", fraction == 0 && whole < 16 || whole < 6 && fraction < 12 {
                                if short != long { fail("\(text) is short") }
                            }
                        }
                    }
                }
            }
        }
    }
}
#endif
