// Doubles that must not stand for the number they were rounded from, because they are rounded once more: to an integer,
// or to a type of fewer digits.

import PlistStreaming

extension DecimalRounding {
    // SPEC: rounding twice differs from rounding once only where the first result is in the middle between two values of
    // the narrower type, while the number is not. Middles of `Float` have 25 binary digits, the last of which is set. To
    // an integer nothing is rounded: a double without a fraction stands for a number that has one, or for another integer.
    /// The bits of a double that are zeros where it is in the middle of two floats.
    @usableFromInline static let lowBits: UInt64 = (1 << 28) - 1

    // PERF: JSONReader/coordinates; one comparison of bits for nearly every number.
    /// Whether a double below 2^24 in magnitude misleads about mantissa / 10^fractionCount, from which it was rounded.
    @inlinable @inline(__always)
    static func isMisleading(small value: Double, mantissa: UInt64, fractionCount: Int) -> Bool {
        // Without a fraction it has fewer digits than a float.
        guard value.bitPattern & lowBits == 0 else { return false }
        let isMiddle = value.bitPattern & (lowBits + 1) != 0
        return (isMiddle || Double(Int64(value)) == value)
            && !isExact(value.magnitude, mantissa: mantissa, exponent: 0 &- fractionCount)
    }

    /// Whether the magnitude of a double misleads about mantissa × 10^exponent, from which it was rounded.
    @inline(__always)
    static func isMisleading(_ magnitude: Double, mantissa: UInt64, exponent: Int) -> Bool {
        couldMislead(magnitude) && !isExact(magnitude, mantissa: mantissa, exponent: exponent)
    }

    /// Whether the magnitude of a double misleads about a number, from which it was rounded.
    static func isMisleading(_ magnitude: Double, for number: DecimalNumber) -> Bool {
        guard couldMislead(magnitude) else { return false }
        return number.isTruncated || !isExact(magnitude, mantissa: number.mantissa, exponent: number.exponent)
    }

    /// Whether a double that is not the number itself would mislead.
    @inline(__always)  // PERF: JSONReader/catalogue; once a number with an exponent, or of many digits.
    private static func couldMislead(_ magnitude: Double) -> Bool {
        if magnitude < 0x1p53 {
            if Double(Int64(magnitude)) == magnitude { return true }
            guard magnitude.bitPattern & lowBits == 0 else { return false }
            if magnitude >= 0x1p-126 { return magnitude.bitPattern & (lowBits + 1) != 0 }
            // Below, floats are the even multiples of 2^-150.
            let multiple = magnitude * 0x1p150
            return Int64(multiple) & 1 == 1 && Double(Int64(multiple)) == multiple
        }
        // No integer type of a member is wider than 64 bits, and beyond 2^128 there are no floats.
        if magnitude <= 0x1p64 { return true }
        return magnitude <= 0x1p128 && magnitude.bitPattern & (2 * lowBits + 1) == lowBits + 1
    }

    /// Whether mantissa × 10^exponent is a double exactly.
    @usableFromInline @inline(never)
    static func isExact(_ magnitude: Double, mantissa: UInt64, exponent: Int) -> Bool {
        guard mantissa > 0, magnitude > 0 else { return mantissa == 0 && magnitude == 0 }
        // Both as an odd number and a power of two: a power of five must make up for the difference of the odd numbers.
        let bits = magnitude.bitPattern
        let biased = Int(bits >> 52)
        let significand = biased == 0 ? bits : bits & (1 << 52 - 1) | 1 << 52
        let (zeros, others) = (mantissa.trailingZeroBitCount, significand.trailingZeroBitCount)
        guard zeros + exponent == max(biased, 1) - 1075 + others, exponent.magnitude <= 27 else { return false }
        var (odd, other) = (mantissa >> UInt64(zeros), significand >> UInt64(others))
        if exponent < 0 { swap(&odd, &other) }
        for _ in 0..<exponent.magnitude {
            let (product, overflow) = odd.multipliedReportingOverflow(by: 5)
            guard !overflow else { return false }
            odd = product
        }
        return odd == other
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

enum MisleadingDoublesTests {}

extension MisleadingDoublesTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testKnowsWhatIsExact": testKnowsWhatIsExact,
            "testSendsTextWhereADoubleMisleads": testSendsTextWhereADoubleMisleads,
            "testFloatsAndIntegersOfDoublesAreThoseOfTheText": testFloatsAndIntegersOfDoublesAreThoseOfTheText,
        ]
    }

    private static func testKnowsWhatIsExact() {
        let rows: [(UInt64, Int, Bool)] = [
            (0, 0, true), (0, -400, true), (1, -1, false), (5, -1, true), (125, -3, true), (126, -3, false),
            (1, 22, true), (1, 23, false), (9_007_199_254_740_993, 0, false), (9_007_199_254_740_992, 0, true),
            (90_071_992_547_409_920, -1, true), (90_071_992_547_409_930, -1, false), (1, -400, false), (.max, 0, false),
            (1 << 63, 0, true), (1, 300, false), (5_000_000_000_000_000_000, -19, true),
            (7_450_580_596_923_828_125, -27, true),
        ]
        for (mantissa, exponent, expected) in rows {
            let value = DecimalRounding.nearest(mantissa: mantissa, exponent: exponent)
            expectEqual(
                DecimalRounding.isExact(value, mantissa: mantissa, exponent: exponent), expected,
                "\(mantissa)e\(exponent)")
        }
    }

    private static func testSendsTextWhereADoubleMisleads() {
        let misleading = [
            "9007199254740993.0", "9007199254740993e0", "900719925474099.3e1", "0.99999999999999999",
            "1.0000000000000001",
            "1.00000000000000000001", "123456.99999999999999", "33554433.99999999999", "1.2345678901234567e18",
            "18446744073709551615.0", "1.8446744073709551617e19", "1e-400", "-2e-324", "8.000001430511475",
            "1.00000017881393432617187499", "340282356779733661637539395458142568447.9",
            "4503599627370497.4999999999999999999999",
        ]
        for text in misleading {
            for text in [text, text.hasPrefix("-") ? text : "-" + text] {
                JSONScanner.expectOutcome(Array("[\(text)]".utf8), "[ number \(text) ]", text)
                JSONScanner.expectOutcome(Array("{\"a\":[[\(text),\(text)],[\(text)]]}".utf8), nil, text)
            }
        }
        for text in [
            "0.10000000149011612", "1.0000001192092896", "0.12500000000000000001", "3.4028234663852886e+38", "1e23",
            "1.0", "0.1", "1e2", "12345678.0", "9007199254740992.0", "0.5000000000000000", "0.000000000000000", "1e22",
        ] {
            let value = Double(text) ?? .nan
            JSONScanner.expectOutcome(Array("[\(text)]".utf8), "[ real \(value) ]", text)
        }
    }

    /// Random texts around the values and middles of floats and around whole numbers.
    private static func testFloatsAndIntegersOfDoublesAreThoseOfTheText() {
        var state: UInt64 = 11
        func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state ^ state >> 29
        }
        for _ in 0..<2_000 {
            let float = Float(bitPattern: UInt32(truncatingIfNeeded: next()))
            guard float.isFinite else { continue }
            let middle = (Double(float) + Double(float.nextUp)) / 2
            let whole = Double(next() >> (next() & 63))
            for value in [middle, Double(float), whole, whole + 0.5] where value.isFinite {
                for count in [6, 14, 15, 16, 17, 18, 20, 26] { check(value, count) }
            }
        }
    }

    private static func check(_ value: Double, _ digitCount: Int) {
        guard let text = Self.text(value, digitCount) else { return }
        text.withUTF8Span { span in
            guard case .real(let real) = JSONNumber.value(of: span) else { return }
            if Float(real) != Float(text) { expectEqual(Float(real), Float(text), text) }
            let exact = NumberText.integer(span, as: Int64.self)
            if Int64(exactly: real) != exact { expectEqual(Int64(exactly: real), exact, text) }
        }
    }

    /// A text with so many digits, a little off in the last one, for numbers that are not too large or small.
    private static func text(_ value: Double, _ digitCount: Int) -> String? {
        let magnitude = value.magnitude
        guard magnitude > 1e-9, magnitude < 1e19 else { return "\(value)" }
        // Whole digits, then one digit behind the point after the other; exact, since remainders of doubles are.
        var text = "\(UInt64(magnitude))"
        var rest = magnitude - magnitude.rounded(.towardZero)
        guard text.utf8.count < digitCount else { return value < 0 ? "-" + text + ".0" : text + ".0" }
        text += "."
        var digits = 0
        while text.utf8.count <= digitCount || digits == 0 {
            // Ten times a double of 53 bits has up to 57; the loss is in what is cut off anyway.
            rest *= 10
            let digit = min(rest.rounded(.towardZero), 9)
            text += "\(Int(digit))"
            rest -= digit
            digits += 1
        }
        return value < 0 ? "-" + text : text
    }
}
#endif
