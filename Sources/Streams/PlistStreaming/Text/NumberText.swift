// The values of numbers that are sent as text, because a double can't represent them: exact integers, rounded reals.

/// Conversion of the text of a number to an integer or a real.
package enum NumberText {
    /// Returns the exact integer, or nil for a fraction, an integer out of range and text that is not a number.
    ///
    /// - Complexity: O(*n*) in the bytes.
    package static func integer<Value: FixedWidthInteger>(_ text: RawSpan, as type: Value.Type) -> Value? {
        guard let number = DecimalNumber(text) else { return nil }
        guard let last = number.lastDigit(in: text) else { return 0 }
        guard last.power >= 0 else { return nil }
        var value: Value = 0
        for offset in number.digits.lowerBound...last.offset {
            let byte = text.byte(at: offset)
            if byte == UInt8(ascii: ".") { continue }
            guard append(byte &- 0x30, number.isNegative, to: &value) else { return nil }
        }
        // The value is not 0, so this overflows after few iterations.
        for _ in 0..<last.power { guard append(0, number.isNegative, to: &value) else { return nil } }
        return value
    }

    /// Returns the value of an integer of up to 18 digits without leading zeros, or nil for any other text.
    package static func shortInteger(_ text: RawSpan) -> Int64? {
        let isNegative = text.byteCount > 0 && text.uncheckedByte(0) == UInt8(ascii: "-")
        var offset = isNegative ? 1 : 0
        let count = text.byteCount &- offset
        guard count > 0, count <= 18, text.uncheckedByte(offset) != UInt8(ascii: "0") || count == 1 && !isNegative
        else { return nil }
        var value: Int64 = 0
        while offset < text.byteCount {
            let digit = text.uncheckedByte(offset) &- 0x30
            guard digit <= 9 else { return nil }
            value = value &* 10 &+ Int64(digit)
            offset &+= 1
        }
        return isNegative ? -value : value
    }

    /// Returns whether a number is an integer, in any spelling.
    package static func isWhole(_ text: RawSpan) -> Bool {
        guard let number = DecimalNumber(text) else { return false }
        return number.lastDigit(in: text).map { $0.power >= 0 } ?? true
    }

    /// Returns whether a number is spelled with neither a fraction nor an exponent.
    package static func isInteger(_ text: RawSpan) -> Bool { DecimalNumber(text)?.isInteger ?? false }

    /// Returns the nearest value of a type, rounded once, or nil if it is not finite or the text is not a number.
    package static func real<Value: BinaryFloatingPoint>(_ text: RawSpan, as type: Value.Type) -> Value? {
        guard DecimalNumber(text) != nil, let text = String(validating: text) else { return nil }
        let value: Value? =
            if let type = Value.self as? any LosslessStringConvertible.Type { type.init(text) as? Value } else {
                Double(text).map { Value($0) }
            }
        return value.flatMap { $0.isFinite ? $0 : nil }
    }

    // PERF: CSV, XML; not generic, and without the standard library for few digits.
    /// Returns the nearest double, or nil if it is not finite or the text is not a number.
    package static func real(_ text: RawSpan, as type: Double.Type) -> Double? {
        guard let number = DecimalNumber(text) else { return nil }
        let magnitude = nearest(to: number, text: text)
        return magnitude.isFinite ? number.isNegative ? -magnitude : magnitude : nil
    }

    /// Returns the fewest digits that are read back as the same finite double, always with a point or an exponent.
    package static func text(of value: Double) -> String {
        // The fewest digits of a large integer may be those of another integer.
        let isLarge = value.magnitude > 0x1p53 && value.magnitude < 0x1p64
        return isLarge ? "\(value < 0 ? "-" : "")\(UInt64(value.magnitude)).0" : value.description
    }

    /// A number in 64 bits.
    package enum Kept: Equatable {
        case integer(Int64)
        case real(Double)
    }

    /// Returns the value of a number whose type isn't declared.
    ///
    /// A number that is spelled with a fraction or an exponent is the nearest double if that has its value or all its digits.
    /// Other numbers are integers of 64 bits with a sign if they have such a value.
    /// - Parameter rounding: Whether a number that is neither becomes the nearest double, if it isn't spelled as an integer.
    /// - Throws: `unrepresentable` for other numbers, and for those that would become infinite, or zero.
    package static func kept(_ text: RawSpan, rounding: Bool) throws(StreamError) -> Kept {
        let real = isInteger(text) ? nil : real(text, as: Double.self)
        if let real, hasDigits(of: text, real) { return .real(real) }
        if let integer = integer(text, as: Int64.self) {
            // A zero has a sign as a double only.
            return integer == 0 && text.byte(at: 0) == UInt8(ascii: "-") ? .real(-0.0) : .integer(integer)
        }
        guard let real, real != 0 else {
            let range = "expected a 64-bit integer or a number within the range of a double"
            throw StreamError(.unrepresentable, "\(range), found \(ShownText.shortened(text))")
        }
        guard rounding else {
            throw StreamError(
                .unrepresentable,
                "expected a number that a double represents without loss, found \(ShownText.shortened(text))")
        }
        return .real(real)
    }

    /// Returns whether a double is exactly a number, or has all digits of its text.
    package static func hasDigits(of text: RawSpan, _ value: Double) -> Bool {
        if let whole = integer(text, as: Int128.self), Int128(exactly: value) == whole { return true }
        return isShortest(text, of: value)
    }

    /// Returns whether a number has the digits of the shortest text of a double.
    package static func isShortest(_ text: RawSpan, of value: Double) -> Bool {
        guard let number = DecimalNumber(text), !number.isTruncated,
            let shortest = value.description.withUTF8Span({ digits in DecimalNumber(digits) })
        else { return false }
        return normalized(number) == normalized(shortest)
    }

    /// Returns the digits without trailing zeros, and the power of ten.
    private static func normalized(_ number: DecimalNumber) -> SIMD2<Int64> {
        var (mantissa, exponent) = (number.mantissa, number.exponent)
        while mantissa != 0, mantissa % 10 == 0 { (mantissa, exponent) = (mantissa / 10, exponent + 1) }
        return SIMD2(Int64(bitPattern: mantissa), Int64(exponent))
    }

    /// Returns the magnitude of the double nearest to a number, or infinity above the greatest double.
    package static func nearest(to number: DecimalNumber, text: RawSpan) -> Double {
        // Both operands are exact, so IEEE arithmetic rounds the exact result.
        guard number.mantissa <= 1 << 53, !number.isTruncated, number.exponent.magnitude <= 22 else {
            return String(validating: text).flatMap { Double($0) }?.magnitude ?? .infinity
        }
        let power = exactPowers[Int(number.exponent.magnitude)]
        return number.exponent < 0 ? Double(number.mantissa) / power : Double(number.mantissa) * power
    }

    /// The powers of ten that are exact as doubles.
    private static let exactPowers: [Double] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
        1e20, 1e21, 1e22,
    ]

    private static func append<Value: FixedWidthInteger>(_ digit: UInt8, _ isNegative: Bool, to value: inout Value)
        -> Bool
    {
        let (product, overflow) = value.multipliedReportingOverflow(by: 10)
        let digit = Value(digit)
        let (sum, carry) =
            isNegative ? product.subtractingReportingOverflow(digit) : product.addingReportingOverflow(digit)
        value = sum
        return !overflow && !carry
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension NumberText: SelfTesting {
    package static var testSelectors: TestSelectors {
        [
            "testReadsIntegersOfAnySpelling": testReadsIntegersOfAnySpelling,
            "testRefusesFractionsAndOutOfRangeNumbers": testRefusesFractionsAndOutOfRangeNumbers,
            "testRoundsRealsOnce": testRoundsRealsOnce,
            "testKeepsNumbersOrRefusesThem": testKeepsNumbersOrRefusesThem,
        ]
    }

    private static func testReadsIntegersOfAnySpelling() {
        let rows: [(String, Int64)] = [
            ("0", 0), ("-0", 0), ("-0.0", 0), ("0e5", 0), ("0.000e-400", 0), ("7", 7), ("-7.0", -7), ("70e-1", 7),
            ("0.07E+2", 7), ("1e18", 1_000_000_000_000_000_000), ("9007199254740993.0", 9_007_199_254_740_993),
            ("9007199254740993e0", 9_007_199_254_740_993), ("-900719925474099.3e1", -9_007_199_254_740_993),
            ("9223372036854775807.00", .max), ("-9.223372036854775808e18", .min), ("120.50e1", 1205),
            ("0e99999999999999999999999", 0), ("1000000000000000000000e-21", 1),
        ]
        for (text, expected) in rows {
            text.withUTF8Span { span in
                expectEqual(integer(span, as: Int64.self), expected, text)
                expectTrue(isWhole(span), "whether \(text) is whole")
            }
        }
        "18446744073709551615.0".withUTF8Span { expectEqual(integer($0, as: UInt64.self), .max, "the largest") }
        "-128e0".withUTF8Span { expectEqual(integer($0, as: Int8.self), -128, "the smallest of a byte") }
    }

    private static func testRefusesFractionsAndOutOfRangeNumbers() {
        let fractions = [
            "0.5", "-1.000000000000000000001", "1e-400", "0.99999999999999999999", "5e-99999999999999999999",
        ]
        for text in fractions {
            text.withUTF8Span { span in
                expectFalse(isWhole(span), "whether \(text) is whole")
                expectNil(integer(span, as: Int64.self), text)
            }
        }
        for text in ["9223372036854775808", "-9223372036854775809.0", "1e19", "1e99999999999999999999999"] {
            text.withUTF8Span { span in
                expectTrue(isWhole(span), "whether \(text) is whole")
                expectNil(integer(span, as: Int64.self), text)
            }
        }
        for text in ["", "-", "x", "1x", "1e", "1e+", "1.5.5", "--1", "e5", "1e5x"] {
            text.withUTF8Span { span in
                expectNil(integer(span, as: Int64.self), "\(text), which is no number")
                expectFalse(isWhole(span), "whether \(text) is whole")
            }
        }
        "-1".withUTF8Span { expectNil(integer($0, as: UInt8.self), "less than nothing") }
    }

    private static func testRoundsRealsOnce() {
        let text = "1.00000017881393432617187499"
        text.withUTF8Span { span in
            expectEqual(real(span, as: Float.self), 1.000000119, "as a float")
            expectEqual(real(span, as: Double.self), 1.0000001788139343, "as a double")
        }
        "1e39".withUTF8Span { expectNil(real($0, as: Float.self), "beyond floats") }
        "1e309".withUTF8Span { expectNil(real($0, as: Double.self), "beyond doubles") }
        "x".withUTF8Span { expectNil(real($0, as: Double.self), "no number") }
    }

    private static func testKeepsNumbersOrRefusesThem() {
        let rows: [(String, Kept?)] = [
            ("7", .integer(7)), ("7.0", .real(7)), ("0.0", .real(0)), ("0e-999", .real(0)), ("1.5", .real(1.5)),
            ("9007199254740992.0", .real(0x1p53)), ("2.6684676428008918e+17", .real(266_846_764_280_089_184)),
            ("266846764280089180.0", .real(266_846_764_280_089_184)),
            ("26684676428008918.1e1", .integer(266_846_764_280_089_181)),
            ("9007199254740993.0", .integer(9_007_199_254_740_993)),
            ("-9223372036854775808", .integer(.min)), ("9223372036854775807e0", .integer(.max)),
            ("9223372036854775808", nil), ("-9223372036854775809", nil), ("18446744073709551616", nil),
            ("9223372036854775808.0", .real(0x1p63)), ("1.8446744073709552e+19", .real(0x1p64)), ("1e25", .real(1e25)),
            ("1e308", .real(1e308)), ("1e309", nil), ("-1e400", nil), ("1e-400", nil), ("-0.1e-324", nil),
            ("0.1234567890123456789", .real(0.1234567890123456789)),
            ("1234567890123456789.5e-1", .real(123456789012345678.95)),
            ("3e-324", .real(.leastNonzeroMagnitude)), ("2e-324", nil), ("1e-99999999999999999999", nil), ("x", nil),
        ]
        for (text, expected) in rows {
            expectEqual(text.withUTF8Span { span in try? kept(span, rounding: true) }, expected, text)
            let isRounded = text == "3e-324" || text.hasPrefix("0.123") || text.hasPrefix("123")
            expectEqual(
                text.withUTF8Span { span in try? kept(span, rounding: false) }, isRounded ? nil : expected,
                "\(text), without rounding")
        }
        for text in ["-0", "-0.0", "-0e7"] {
            let zero = text.withUTF8Span { span in try? kept(span, rounding: false) }
            expectTrue(zero == .real(0) && "\(zero as Any)".contains("-0.0"), "the sign of \(text): \(zero as Any)")
        }
    }
}
#endif
