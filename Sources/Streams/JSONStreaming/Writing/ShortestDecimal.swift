// The shortest decimal number whose nearest double is the given one, for text that reads back as the same double.

import PlistStreaming

/// The decimal number with the fewest digits that rounds to a double; among those, the one nearest to it.
///
/// SPEC: R. Giulietti, "The Schubfach way to render doubles" (2021), for most numbers; the standard library finds the
/// others.
struct ShortestDecimal {
    /// The first fifteen or sixteen digits, with zeros at the end if fewer are enough.
    let leading: UInt64
    /// The digit after them.
    let last: UInt64
    /// The exponent of ten of the last leading digit.
    let scale: Int

    /// 1 for fifteen leading digits, 0 for sixteen.
    @inline(__always)
    var missingCount: Int { Int(truncatingIfNeeded: (leading &- 1_000_000_000_000_000) &>> 63) }
    /// The exponent of the first digit.
    var exponent: Int { scale &+ 15 &- missingCount }

    // PERF: JSONWriter/reals; one multiplication of the significand determines sixteen digits, which become text while
    // the next digit is computed. That needs no branch, which would be mispredicted for mixed numbers.
    /// Finds the number for the bits of a finite double without the sign. Returns nil if it needs a search.
    ///
    /// These are powers of two, subnormal numbers, and numbers too close to a tie. The result is also nil for all other
    /// bits.
    /// - Parameter units: The table; accessing it here would cost a call.
    @inline(__always)
    init?(quickly bits: UInt64, units: ScaledUnits) {
        let fraction = bits & (1 << 52 - 1)
        let biased = Int(truncatingIfNeeded: bits &>> 52) & 0x7FF
        let unit = units.unit(biased)
        // The double divided by 10^scale, with 64 bits after the point; the last bit is at most one too small.
        let product = unit.high.multipliedFullWidth(by: fraction | 1 << 52)
        let low = unit.low.multipliedFullWidth(by: fraction | 1 << 52).high
        let (behind, carry) = product.low.addingReportingOverflow(low)
        let whole = product.high &+ (carry ? 1 : 0)
        // All numbers that round to the double lie within half a unit around it, and a unit is from a tenth to one
        // here: if the interval contains a whole number, that is the shortest number, otherwise the nearest tenth is.
        let half = unit.high &>> 1
        let above = behind &+ half
        // Both values have a spare bit, so the sign shows which one is greater.
        let difference = Int64(bitPattern: above &>> 1 &- half)
        let isWhole = UInt64(bitPattern: difference &>> 63)
        let tenths = behind.multipliedFullWidth(by: 10)
        // Each of these is less than four units of its last bit away from the exact value, the unit included, or less
        // than thirty; a tie between tenths does not matter for a whole number. Without a unit, only ties are left.
        let tie = tenths.low &- (1 << 63 &- 32) | isWhole
        guard fraction != 0, above &+ 8 > 16, UInt64(bitPattern: difference &+ 8) > 16, tie > 64 else { return nil }
        leading = whole &+ behind &>> 63 & isWhole
        // No number rounds to ten tenths, or to zero tenths: a whole number would be closer than half a unit.
        last = (tenths.high &+ tenths.low &>> 63) & ~isWhole
        scale = ScaledUnits.scale(biased)
    }

    /// Finds the number for any finite double above zero, with the digits of the standard library.
    @inline(never)
    static func searched(_ value: Double) -> ShortestDecimal {
        // PERF: JSONWriter/reals; whole numbers that a double holds exactly are mostly their own shortest form.
        if value < 0x1p53, value == value.rounded(.towardZero) { return ShortestDecimal(UInt64(value), 0) }
        guard let number = value.description.withUTF8Span({ DecimalNumber($0) }) else {
            preconditionFailure("the description of a double must be a number")
        }
        // A point of the text may be followed by a zero that is no digit of the number.
        let (tens, rest) = number.mantissa.quotientAndRemainder(dividingBy: 10)
        return rest == 0
            ? ShortestDecimal(tens, number.exponent + 1) : ShortestDecimal(number.mantissa, number.exponent)
    }

    /// Scales a number above zero and below 10^17, and its exponent, to seventeen digits.
    private init(_ number: UInt64, _ scale: Int) {
        let missingCount = 17 &- Self.digitCount(of: number)
        (leading, last) = (number &* Self.powerOfTen(missingCount)).quotientAndRemainder(dividingBy: 10)
        self.scale = scale &- missingCount &+ 1
    }

    /// Returns the number of decimal digits of a number above zero and below 10^18.
    static func digitCount(of value: UInt64) -> Int {
        let estimate = ((64 &- value.leadingZeroBitCount) &* 1233) &>> 12
        return estimate &+ (value >= powerOfTen(estimate) ? 1 : 0)
    }

    /// Returns a power of ten from 10^0 to 10^18.
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
            "testAgreesWithTheSearch": testAgreesWithTheSearch,
            "testFindsKnownDecimals": testFindsKnownDecimals,
            "testCountsDigits": testCountsDigits,
        ]
    }

    /// All digits, padded with zeros to seventeen.
    private var digits: UInt64 { (leading * 10 + last) * (missingCount == 0 ? 1 : 10) }

    /// Returns the number in the same way as a writer.
    private static func found(_ value: Double) -> ShortestDecimal {
        ShortestDecimal(quickly: value.bitPattern, units: .table) ?? searched(value)
    }

    private static func testAgreesWithTheStandardLibrary() {
        var state: UInt64 = 7
        for index in 0..<8000 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            // All exponents in turn, with powers of two and their neighbors, and typical short numbers.
            let fraction = index % 5 == 0 ? 0 : index % 5 == 1 ? 1 << 52 - 1 : state >> 12
            let value =
                index < 4000
                ? Double(bitPattern: UInt64(index % 2047) << 52 | fraction)
                : Double(state >> UInt64(32 + index % 32)) / PowersOfFive.table.exactPowerOfTen(index % 23)
            guard value > 0 else { continue }
            let decimal = found(value)
            let text = String(decimal.digits)
            if text.count != 17 { expectEqual(text.count, 17, "the digits of \(value)") }
            let readBack = Double("\(text)e\(decimal.exponent - 16)")
            if readBack != value { expectEqual(readBack, value, "\(decimal)") }
            let expected = value.description.prefix { $0 != "e" }.filter(\.isNumber).drop { $0 == "0" }
            let (digits, expectedDigits) = (withoutZeros(text), withoutZeros(String(expected)))
            if digits != expectedDigits { expectEqual(digits, expectedDigits, "the digits of \(value)") }
        }
    }

    private static func withoutZeros(_ text: String) -> String {
        String(text.reversed().drop { $0 == "0" }.reversed())
    }

    private static func testAgreesWithTheSearch() {
        // Doubles that are exactly or nearly between two decimal numbers, and typical short numbers.
        var values: [Double] = []
        for exponent in 0..<64 {
            for offset in 0..<8 { values.append(Double(UInt64(1) << UInt64(exponent)) + Double(offset) / 8) }
        }
        for power in [1e-300, 1e-22, 1e-5, 1e-2, 0.5, 1, 3, 1e5, 1e15, 1e16, 1e17, 1e22, 1e23, 1e300] {
            for factor in 1...200 {
                for value in [Double(factor) * power, Double(factor) / power] {
                    values += [value, value.nextUp, value.nextDown]
                }
            }
        }
        for value in values {
            let (fast, exact) = (found(value), searched(value))
            if fast.digits != exact.digits || fast.exponent != exact.exponent {
                fail("\(value): \(fast), not \(exact)")
            }
        }
    }

    private static func testFindsKnownDecimals() {
        let rows: [(Double, UInt64, Int)] = [
            (1, 1, 0), (10, 1, 1), (0.1, 1, -1), (0.3, 3, -1), (1e23, 1, 23),
            (9_007_199_254_740_991, 9_007_199_254_740_991, 15),
            (2.2250738585072014e-308, 22_250_738_585_072_014, -308), (.leastNonzeroMagnitude, 5, -324), (1e22, 1, 22),
            (.greatestFiniteMagnitude, 17_976_931_348_623_157, 308), (0x1p-1, 5, -1),
            (9.5367431640625e-07, 95_367_431_640_625, -7),
        ]
        for (value, digits, exponent) in rows {
            let decimal = found(value)
            expectEqual(withoutZeros(String(decimal.digits)), "\(digits)", "the digits of \(value)")
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
