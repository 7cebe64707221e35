// The parser of numbers in text, which checks the grammar and reads the digits in one pass: integers, reals, and numbers of any
// length.

/// The parts of a decimal number in text: sign, leading digits, power of ten.
///
/// SPEC: RFC 8259 section 6.
package struct DecimalNumber {
    /// The offset after the number.
    package let end: Int
    package let isNegative: Bool
    /// A Boolean value that indicates whether the number is spelled with neither a fraction nor an exponent.
    package let isInteger: Bool
    /// The first significant digits: 19, or as many as fit into 64 bits. If the number is not truncated, these are all digits.
    package private(set) var mantissa: UInt64 = 0
    /// The power of ten that multiplies the mantissa.
    package private(set) var exponent: Int = 0
    /// A Boolean value that indicates whether the number has more digits than the mantissa, except for zeros of a fraction.
    package private(set) var isTruncated: Bool = false
    /// The offsets of the digits, including the point. The next property is the offset of the point, or of the end of the
    /// digits.
    package let digits: Range<Int>
    private let point: Int
    /// The exponent as written in the text.
    private let power: Int

    /// Parses a text that consists of one number, or returns nil for any other text.
    ///
    /// - Complexity: O(*n*) in the bytes.
    package init?(_ text: RawSpan) {
        self.init(text, from: 0)
        guard end == text.byteCount else { return nil }
    }

    /// Parses the number that begins at an offset, or returns nil if the text there is not a number.
    ///
    /// - Complexity: O(*n*) in the bytes of the number.
    package init?(_ text: RawSpan, from start: Int) {
        isNegative = Self.byte(text, start) == UInt8(ascii: "-")
        let first = start + (isNegative ? 1 : 0)
        var end = Self.endOfDigits(text, from: first, adding: &mantissa)
        // A leading 0 must be the only digit.
        guard end > first, end == first + 1 || Self.byte(text, first) != UInt8(ascii: "0") else { return nil }
        point = end
        if Self.byte(text, end) == UInt8(ascii: ".") {
            end = Self.endOfDigits(text, from: point + 1, adding: &mantissa)
            guard end > point + 1 else { return nil }
            exponent = point + 1 - end
        }
        digits = first..<end
        var power = 0
        if Self.byte(text, end) | 0x20 == UInt8(ascii: "e") {
            let sign = Self.byte(text, end + 1)
            let firstOfPower = end + (sign == UInt8(ascii: "-") || sign == UInt8(ascii: "+") ? 2 : 1)
            end = firstOfPower
            while case let digit = Self.byte(text, end) &- 0x30, digit <= 9 {
                // No text has as many digits as this limit, so the sum below can't overflow.
                power = min(power * 10 + Int(digit), 1 << 56)
                end += 1
            }
            guard end > firstOfPower else { return nil }
            if sign == UInt8(ascii: "-") { power = -power }
        }
        self.end = end
        self.power = power
        isInteger = end == point
        exponent += power
        if digits.count > 19 { readLeadingDigits(of: text) }
    }

    /// Reads as many digits as fit into the mantissa, if the number has more.
    @inline(never)
    private mutating func readLeadingDigits(of text: RawSpan) {
        var zero = digits.lowerBound
        while zero < digits.upperBound, Self.isZeroOrPoint(Self.byte(text, zero)) { zero += 1 }
        guard digits.upperBound - zero - (zero <= point && point < digits.upperBound ? 1 : 0) > 19 else { return }
        (mantissa, exponent) = (0, power)
        var isFull = false
        for offset in digits where offset != point {
            let digit = UInt64(Self.byte(text, offset) &- 0x30)
            let isFraction = offset > point
            // 20 digits fit for integers up to 2^64 - 1. For other numbers, 19 and 20 digits are rounded to the same result.
            if !isFull {
                let (product, overflow) = mantissa.multipliedReportingOverflow(by: 10)
                let (sum, carry) = product.addingReportingOverflow(digit)
                if !overflow && !carry {
                    mantissa = sum
                    if isFraction { exponent -= 1 }
                    continue
                }
                isFull = true
            }
            if digit != 0 || !isFraction { isTruncated = true }
            if !isFraction { exponent += 1 }
        }
    }

    /// Returns the offset of the last digit that is not 0, and its power of ten, or nil for zero.
    package func lastDigit(in text: RawSpan) -> (offset: Int, power: Int)? {
        var last = digits.upperBound - 1
        while last >= digits.lowerBound, Self.isZeroOrPoint(Self.byte(text, last)) { last -= 1 }
        guard last >= digits.lowerBound else { return nil }
        return (last, power + (last < point ? point - 1 - last : point - last))
    }

    /// Adds digits to a value, modulo 2^64, and returns the offset after them.
    private static func endOfDigits(_ text: RawSpan, from start: Int, adding value: inout UInt64) -> Int {
        var offset = start
        while offset <= text.byteCount - 8 {
            // SAFETY: the line above compares the offset with the count; offsets are not negative.
            let word = unsafe text.unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: UInt64.self)
            let run = DigitRun(word.littleEndian)
            guard run.areAllDigits else {
                value = value &* DigitRun.powerOfTen(run.count) &+ run.value
                return offset + run.count
            }
            value = value &* 100_000_000 &+ DigitWords.value(ofDigits: run.digits)
            offset += 8
        }
        while case let digit = byte(text, offset) &- 0x30, digit <= 9 {
            value = value &* 10 &+ UInt64(digit)
            offset += 1
        }
        return offset
    }

    /// Returns the byte at an offset, or 0 after the end, because a number can't contain 0.
    @inline(__always)
    private static func byte(_ text: RawSpan, _ offset: Int) -> UInt8 {
        offset < text.byteCount ? text.byte(at: offset) : 0
    }

    private static func isZeroOrPoint(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "0") || byte == UInt8(ascii: ".") }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension DecimalNumber: SelfTesting {
    package static var testSelectors: TestSelectors {
        [
            "testAcceptsNumbersOnly": testAcceptsNumbersOnly,
            "testFindsTheEndOfNumbers": testFindsTheEndOfNumbers,
            "testSplitsMantissaAndExponent": testSplitsMantissaAndExponent,
            "testReadsAsManyDigitsAsFit": testReadsAsManyDigitsAsFit,
            "testFindsTheLastDigit": testFindsTheLastDigit,
        ]
    }

    private static func testAcceptsNumbersOnly() {
        for text in ["0", "-0", "10", "1.0", "0.5e-3", "1E+2", "1e400", "-9223372036854775809"] {
            expectTrue(text.withUTF8Span { DecimalNumber($0) != nil }, text)
        }
        for text in ["", "-", "+1", "01", "-01", ".5", "1.", "1e", "1e+", "1 ", "0x1", "NaN", "1.5.5", "1e5.5", "--1"] {
            expectTrue(text.withUTF8Span { DecimalNumber($0) == nil }, text)
        }
    }

    /// Tests numbers of many lengths before other text, and at the end of the text.
    private static func testFindsTheEndOfNumbers() {
        let digits = "1234567890123456789012345"
        for whole in [1, 2, 7, 8, 9, 16, 17, 20] {
            for fraction in [0, 1, 7, 8, 9, 16, 20] {
                for power in ["", "e1", "E-22", "e+300"] {
                    let point = fraction == 0 ? "" : "."
                    let number = "\(digits.prefix(whole))\(point)\(digits.suffix(fraction))\(power)"
                    for follower in ["", ",", "]", "-", "x12345678", ".", "e", " 123456789012345678"] {
                        let isCutOff = power == "" && (follower == "e" || follower == "." && fraction == 0)
                        let found = "[\(number)\(follower)".withUTF8Span { DecimalNumber($0, from: 1)?.end }
                        let expected = isCutOff ? nil : 1 + number.utf8.count
                        if found != expected { expectEqual(found, expected, "\(number) before \(follower)") }
                    }
                }
            }
        }
    }

    private static func testSplitsMantissaAndExponent() {
        let rows: [(String, UInt64, Int, Bool, Bool)] = [
            ("0", 0, 0, true, false), ("-12", 12, 0, true, false), ("1.50", 150, -2, false, false),
            ("2e3", 2, 3, false, false),
            ("2.5E-3", 25, -4, false, false), ("18446744073709551615", .max, 0, true, false),
            ("18446744073709551616", 1_844_674_407_370_955_161, 1, true, true),
            ("0.000000000000000000000001", 1, -24, false, false), ("1e99999999999999999999", 1, 1 << 56, false, false),
            ("1234567890123456789.00000", 12_345_678_901_234_567_890, -1, false, false),
        ]
        for (text, mantissa, exponent, isInteger, isTruncated) in rows {
            guard let number = text.withUTF8Span({ DecimalNumber($0) }) else {
                fail("\(text) is no number")
                continue
            }
            expectEqual(number.mantissa, mantissa, "mantissa of \(text)")
            expectEqual(number.exponent, exponent, "exponent of \(text)")
            expectEqual(number.isInteger, isInteger, "whether \(text) is an integer")
            expectEqual(number.isTruncated, isTruncated, "whether \(text) is truncated")
            expectEqual(number.isNegative, text.hasPrefix("-"), "the sign of \(text)")
        }
    }

    /// Tests numbers with slightly fewer and more digits than fit, with the point at each position and leading zeros.
    private static func testReadsAsManyDigitsAsFit() {
        for count in 17...22 {
            let digits = "9876543219876543219876".prefix(count)
            let held = min(count, 19)
            func check(_ text: String, _ exponent: Int) {
                let found = text.withUTF8Span { DecimalNumber($0) }
                expectEqual(found?.mantissa, UInt64(digits.prefix(held)), "mantissa of \(text)")
                expectEqual(found?.exponent, exponent, "exponent of \(text)")
                expectEqual(found?.isTruncated, count > 19, "whether \(text) is truncated")
            }
            for place in 1...count {
                let point = place == count ? "" : "."
                let text = "\(digits.prefix(place))\(point)\(digits.dropFirst(place))"
                check(text, place - held)
                check(text + "e5", place - held + 5)
            }
            for zeros in [0, 1, 7, 8, 30] {
                check("0." + String(repeating: "0", count: zeros) + digits, -zeros - held)
            }
        }
    }

    private static func testFindsTheLastDigit() {
        let rows: [(String, [Int]?)] = [
            ("0", nil), ("-0.000e7", nil), ("7", [0, 0]), ("-70", [1, 1]), ("7.0", [0, 0]), ("0.07", [3, -2]),
            ("120.50e1", [4, 0]), ("120.00e-1", [1, 0]), ("1e5", [0, 5]),
        ]
        for (text, expected) in rows {
            let last = text.withUTF8Span { span in DecimalNumber(span)?.lastDigit(in: span) }
            expectEqual(last.map { [$0.offset, $0.power] }, expected, text)
        }
    }
}
#endif
