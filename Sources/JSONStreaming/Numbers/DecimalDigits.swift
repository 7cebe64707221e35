// A decimal number in text, taken apart: sign, leading digits, exponent.

/// The parts of a number's text: up to 19 significant digits and a power of ten.
struct DecimalDigits {
    /// The first significant digits, at most 19; for an integer of 20 digits that fits, all of them.
    private(set) var mantissa: UInt64 = 0
    /// The power of ten to multiply the mantissa with.
    private(set) var exponent: Int = 0
    private(set) var isNegative: Bool = false
    /// Whether the text has neither a fraction nor an exponent.
    private(set) var isInteger: Bool = true
    /// Whether there are digits behind those of the mantissa, other than zeros of a fraction.
    private(set) var isTruncated: Bool = false

    private var isFull: Bool = false

    /// Takes apart a number that is known to follow the grammar.
    mutating func scan(_ text: RawSpan, from start: Int) {
        var offset = start
        let end = text.byteCount
        if offset < end, text.uncheckedByte(offset) == UInt8(ascii: "-") {
            isNegative = true
            offset += 1
        }
        var isFraction = false
        while offset < end {
            let byte = text.uncheckedByte(offset)
            if byte == UInt8(ascii: ".") {
                isFraction = true
                isInteger = false
            } else if byte &- 0x30 <= 9 {
                append(UInt64(byte &- 0x30), isFraction: isFraction)
            } else {
                isInteger = false
                scanExponent(text, from: offset + 1)
                return
            }
            offset += 1
        }
    }

    private mutating func append(_ digit: UInt64, isFraction: Bool) {
        // 20 digits fit for integers up to 2^64 - 1; what is not an integer is rounded from 19 or 20 alike.
        if !isFull {
            let (product, overflow) = mantissa.multipliedReportingOverflow(by: 10)
            let (sum, carry) = product.addingReportingOverflow(digit)
            if !overflow && !carry {
                mantissa = sum
                if isFraction { exponent -= 1 }
                return
            }
            isFull = true
        }
        if digit != 0 || !isFraction { isTruncated = true }
        if !isFraction { exponent += 1 }
    }

    private mutating func scanExponent(_ text: RawSpan, from start: Int) {
        var value = 0
        var isDown = false
        for offset in start..<text.byteCount {
            let byte = text.uncheckedByte(offset)
            switch byte {
            case UInt8(ascii: "-"): isDown = true
            case UInt8(ascii: "+"): break
            // A number's text is far shorter than 10^9 digits, so that no mantissa outweighs this exponent.
            default: value = min(value * 10 + Int(byte &- 0x30), 1_000_000_000)
            }
        }
        exponent += isDown ? -value : value
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension DecimalDigits: SelfTesting {
    static var testSelectors: TestSelectors { ["testTakesNumbersApart": testTakesNumbersApart] }

    private static func testTakesNumbersApart() {
        let rows: [(String, UInt64, Int, Bool, Bool)] = [
            ("0", 0, 0, true, false), ("-12", 12, 0, true, false), ("1.50", 150, -2, false, false),
            ("2e3", 2, 3, false, false),
            ("2.5E-3", 25, -4, false, false), ("18446744073709551615", .max, 0, true, false),
            ("18446744073709551616", 1_844_674_407_370_955_161, 1, true, true),
            ("0.000000000000000000000001", 1, -24, false, false), ("1e99999999999", 1, 1_000_000_000, false, false),
            ("1234567890123456789.00000", 12_345_678_901_234_567_890, -1, false, false),
        ]
        for (text, mantissa, exponent, isInteger, isTruncated) in rows {
            var digits = DecimalDigits()
            text.withUTF8Span { digits.scan($0, from: 0) }
            expectEqual(digits.mantissa, mantissa, "mantissa of \(text)")
            expectEqual(digits.exponent, exponent, "exponent of \(text)")
            expectEqual(digits.isInteger, isInteger, "whether \(text) is an integer")
            expectEqual(digits.isTruncated, isTruncated, "whether \(text) is truncated")
            expectEqual(digits.isNegative, text.hasPrefix("-"), "the sign of \(text)")
        }
    }
}
#endif
