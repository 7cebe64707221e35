// The shortest decimal number that a double is nearest to, for text that reads back as the same double.

/// The decimal number with the fewest digits that rounds to a double; among those, the one nearest to it.
///
/// SPEC: R. Giulietti, "The Schubfach way to render doubles" (2021); the powers of ten come from `PowersOfFive`.
struct ShortestDecimal {
    /// The digits as a number, without zeros at the end.
    let digits: UInt64
    /// The power of ten to multiply it with.
    let exponent: Int

    /// Finds the number for a finite double above zero.
    init(_ value: Double) {
        let bits = value.bitPattern
        let fraction = bits & (1 << 52 - 1)
        let biased = Int(bits &>> 52) & 0x7FF
        let significand = biased == 0 ? fraction : fraction | 1 << 52
        let power = biased == 0 ? -1074 : biased &- 1075
        // Whole numbers that a double holds exactly are their own shortest form, but for zeros at the end.
        if power <= 0 && power > -53 && significand & (1 &<< UInt64(0 &- power) &- 1) == 0 {
            (digits, exponent) = Self.withoutTrailingZeros(significand &>> UInt64(0 &- power), 0)
            return
        }
        let (found, scale) = Self.search(significand, power, isLowerHalfNear: fraction == 0 && biased > 1)
        (digits, exponent) = Self.withoutTrailingZeros(found, scale)
    }

    /// Schubfach's search: the interval that rounds to the double, scaled so that it holds one to twenty integers.
    private static func search(_ significand: UInt64, _ power: Int, isLowerHalfNear: Bool) -> (UInt64, Int) {
        // floor(log10(2^power)), or of three quarters of it where the next double below is nearer.
        let scale = (power &* 1_262_611 &- (isLowerHalfNear ? 524_031 : 0)) &>> 22
        // floor(log2(10^-scale)) is in the shift that brings the product to its place.
        let shift = UInt64(truncatingIfNeeded: power &+ ((0 &- scale) &* 1_741_647) &>> 19 &+ 1)
        let tenth = roundedUpPower(0 &- scale)
        let four = 4 &* significand
        let value = roundedToOdd(tenth, four &<< shift)
        let low = roundedToOdd(tenth, (four &- (isLowerHalfNear ? 1 : 2)) &<< shift)
        let high = roundedToOdd(tenth, (four &+ 2) &<< shift)
        // The ends of the interval belong to it when the significand is even.
        let isOdd = significand & 1
        let (lower, upper) = (low &+ isOdd, high &- isOdd)

        let floor = value &>> 2
        if floor >= 10 {
            let tens = floor / 10
            let isFloorInside = lower <= 40 &* tens
            let isCeilingInside = 40 &* tens &+ 40 <= upper
            if isFloorInside != isCeilingInside { return (tens &+ (isCeilingInside ? 1 : 0), scale &+ 1) }
        }
        let isFloorInside = lower <= 4 &* floor
        let isCeilingInside = 4 &* floor &+ 4 <= upper
        if isFloorInside != isCeilingInside { return (floor &+ (isCeilingInside ? 1 : 0), scale) }
        let middle = 4 &* floor &+ 2
        let isUp = value > middle || value == middle && floor & 1 == 1
        return (floor &+ (isUp ? 1 : 0), scale)
    }

    /// The leading 128 bits of a power of ten, rounded up unless they are exact.
    private static func roundedUpPower(_ exponent: Int) -> (high: UInt64, low: UInt64) {
        let power = PowersOfFive.table.power(exponent)
        // The table has these exact, or rounded up already.
        if exponent >= -27 && exponent <= 55 { return power }
        let (low, carry) = power.low.addingReportingOverflow(1)
        return (power.high &+ (carry ? 1 : 0), low)
    }

    /// The integer part of a product, with its lowest bit set when there is a fraction.
    private static func roundedToOdd(_ power: (high: UInt64, low: UInt64), _ factor: UInt64) -> UInt64 {
        let low = power.low.multipliedFullWidth(by: factor).high
        let product = power.high.multipliedFullWidth(by: factor)
        let (middle, carry) = product.low.addingReportingOverflow(low)
        let high = product.high &+ (carry ? 1 : 0)
        return high | (middle > 1 ? 1 : 0)
    }

    private static func withoutTrailingZeros(_ digits: UInt64, _ exponent: Int) -> (UInt64, Int) {
        var (digits, exponent) = (digits, exponent)
        if digits % 100_000_000 == 0 {
            digits /= 100_000_000
            exponent &+= 8
        }
        while digits % 10 == 0 {
            digits /= 10
            exponent &+= 1
        }
        return (digits, exponent)
    }

    /// The number of decimal digits of a number above zero and below 10^18.
    static func digitCount(of value: UInt64) -> Int {
        let estimate = ((64 &- value.leadingZeroBitCount) &* 1233) &>> 12
        return estimate &+ (value >= powerOfTen(estimate) ? 1 : 0)
    }

    /// A power of ten from 10^0 to 10^18.
    static func powerOfTen(_ exponent: Int) -> UInt64 {
        UInt64(PowersOfFive.table.exactPowerOfTen(exponent))
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension ShortestDecimal: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testAgreesWithTheStandardLibrary": testAgreesWithTheStandardLibrary,
            "testFindsKnownDecimals": testFindsKnownDecimals,
            "testCountsDigits": testCountsDigits,
        ]
    }

    private static func testAgreesWithTheStandardLibrary() {
        var state: UInt64 = 7
        for index in 0..<4000 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            // All exponents in turn; powers of two and their neighbours among them.
            let fraction = index % 5 == 0 ? 0 : index % 5 == 1 ? 1 << 52 - 1 : state >> 12
            let value = Double(bitPattern: UInt64(index % 2047) << 52 | fraction)
            guard value > 0 else { continue }
            let decimal = ShortestDecimal(value)
            let readBack = Double("\(decimal.digits)e\(decimal.exponent)")
            if readBack != value { expectEqual(readBack, value, "\(decimal)") }
            let digits = value.description.prefix { $0 != "e" }.filter(\.isNumber).drop { $0 == "0" }
            let shortest = digits.reversed().drop { $0 == "0" }.count
            if digitCount(of: decimal.digits) != shortest {
                expectEqual(digitCount(of: decimal.digits), shortest, "the digits of \(value)")
            }
        }
    }

    private static func testFindsKnownDecimals() {
        let rows: [(Double, UInt64, Int)] = [
            (1, 1, 0), (10, 1, 1), (0.1, 1, -1), (0.3, 3, -1), (1e23, 1, 23),
            (9_007_199_254_740_991, 9_007_199_254_740_991, 0),
            (2.2250738585072014e-308, 22_250_738_585_072_014, -324), (.leastNonzeroMagnitude, 5, -324), (1e22, 1, 22),
            (.greatestFiniteMagnitude, 17_976_931_348_623_157, 292), (0x1p-1, 5, -1),
            (9.5367431640625e-07, 95_367_431_640_625, -20),
        ]
        for (value, digits, exponent) in rows {
            let decimal = ShortestDecimal(value)
            expectEqual(decimal.digits, digits, "the digits of \(value)")
            expectEqual(decimal.exponent, exponent, "the exponent of \(value)")
        }
    }

    private static func testCountsDigits() {
        var power: UInt64 = 1
        for count in 1...17 {
            expectEqual(digitCount(of: power), count, "the digits of \(power)")
            expectEqual(digitCount(of: power * 10 - 1), count, "the digits of \(power * 10 - 1)")
            expectEqual(powerOfTen(count - 1), power, "10^\(count - 1)")
            power *= 10
        }
    }
}
#endif
