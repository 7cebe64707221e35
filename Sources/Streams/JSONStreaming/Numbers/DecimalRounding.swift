// The double nearest to a decimal number: exactly, ties to even. It has three methods: one division or multiplication,
// 128 bits of a power of five, and the standard library. Each method is either exact or reports that it can't decide.

import PlistStreaming

/// Conversions of decimal numbers to doubles.
@usableFromInline
enum DecimalRounding {
    /// Returns the double nearest to mantissa × 10^exponent; infinite above the largest.
    @usableFromInline
    static func nearest(mantissa: UInt64, exponent: Int) -> Double {
        if exponent == 0 && mantissa <= 1 << 53 { return Double(mantissa) }
        // Both operands are exact, so that IEEE rounds the exact result.
        if mantissa <= 1 << 53 && exponent >= -22 && exponent <= 22 {
            return exponent < 0
                ? Double(mantissa) / PowersOfFive.table.exactPowerOfTen(0 &- exponent)
                : Double(mantissa) * PowersOfFive.table.exactPowerOfTen(exponent)
        }
        let estimate = estimate(mantissa: mantissa, exponent: exponent)
        return estimate.isCertain ? estimate.value : Double("\(mantissa)e\(exponent)") ?? estimate.value
    }

    // PERF: JSONReader/coordinates; the same as above without the cases that can't occur for up to 19 decimal places,
    // and with the processor's own rounding of an integer to a double. The sign is in the last factor, which rounds
    // nothing. SPEC: as for `estimate`, which decides in the rare cases that the first product leaves open. The product
    // is less than one unit of its high word too small, and never exact. If the nine bits tested below are not all
    // ones, the error can't change any bit above them, and the product isn't a tie.
    /// Returns the double nearest to mantissa / 10^fractionCount, for a count of 1 to 19, with a sign bit.
    @inlinable @inline(__always)
    static func nearest(mantissa: UInt64, fractionCount: Int, sign: UInt64, powers: SmallPowers) -> Double {
        if mantissa <= 1 << 53 {
            let power = Double(bitPattern: powers.powerOfTen(fractionCount) | sign)
            return Double(Int64(truncatingIfNeeded: mantissa)) / power
        }
        let shift = mantissa.leadingZeroBitCount
        let product = (mantissa &<< UInt64(truncatingIfNeeded: shift)).multipliedFullWidth(
            by: powers.reciprocalOfFive(fractionCount))
        guard product.high & 0x1FF != 0x1FF else {
            let magnitude = nearest(mantissa: mantissa, exponent: 0 &- fractionCount)
            return Double(bitPattern: magnitude.bitPattern | sign)
        }
        // floor(log2(10^-fractionCount)), as in `estimate`; the lowest bit represents all that follow.
        let exponent = 1025 &- shift &+ (-217_706 &* fractionCount) &>> 16
        let scale = Double(bitPattern: UInt64(truncatingIfNeeded: exponent) &<< 52 | sign)
        return Double(Int64(truncatingIfNeeded: product.high &>> 1 | 1)) * scale
    }

    // PERF: JSONReader/coordinates; the same for a mantissa shifted by an amount that depends only on its number of
    // digits. That number is known before the value, while counting leading zeros would wait for the value. SPEC: a
    // number from 10^18 to 2^64 times a reciprocal from 2^63 has a high word of at least 59 bits, so at least five bits
    // follow the significand's 53 and the rounding bit.
    /// Returns the high word of a shifted mantissa, at least 10^18, times 1 / 5^fractionCount, for a count of 1 to 19.
    @inlinable @inline(__always)
    static func product(_ scaled: UInt64, fractionCount: Int, powers: SmallPowers) -> UInt64 {
        scaled.multipliedFullWidth(by: powers.reciprocalOfFive(fractionCount)).high
    }

    /// Returns whether a product determines the result.
    @inlinable @inline(__always)
    static func isCertain(_ product: UInt64) -> Bool { product & 0x1F != 0x1F }

    /// Returns the double nearest to mantissa / 10^fractionCount, from a product that determines it.
    ///
    /// - Parameter shift: The number of bits by which the mantissa was shifted.
    @inlinable @inline(__always)
    static func nearest(
        toProduct product: UInt64, shift: UInt32, fractionCount: Int, sign: UInt64, powers: SmallPowers
    ) -> Double {
        let scale = Double(
            bitPattern: powers.scale(fractionCount) &- UInt64(truncatingIfNeeded: shift) &<< 52 | sign)
        return Double(Int64(truncatingIfNeeded: product &>> 1 | 1)) * scale
    }

    /// Returns the double nearest to the magnitude of a number; infinite above the largest.
    ///
    /// - Parameter text: The text of the number, for rare numbers whose leading digits aren't enough.
    static func nearest(to number: DecimalNumber, text: RawSpan) -> Double {
        guard number.isTruncated else { return nearest(mantissa: number.mantissa, exponent: number.exponent) }
        // The number lies between the mantissa and the next one; if both round to the same double, so does the number.
        let low = estimate(mantissa: number.mantissa, exponent: number.exponent)
        if low.isCertain && number.mantissa < .max {
            let high = estimate(mantissa: number.mantissa + 1, exponent: number.exponent)
            if high.isCertain && high.value == low.value { return low.value }
        }
        return NumberText.nearest(to: number, text: text)
    }

    // SPEC: D. Lemire, "Number parsing at a gigabyte per second" (2021), algorithm 1; subnormals as in section 6.
    /// Returns the nearest double. In the rare cases that 128 bits do not decide, the result may be an adjacent double.
    static func estimate(mantissa: UInt64, exponent: Int) -> (value: Double, isCertain: Bool) {
        if mantissa == 0 || exponent < PowersOfFive.exponents.lowerBound { return (0, true) }
        if exponent > 308 { return (.infinity, true) }
        let shift = mantissa.leadingZeroBitCount
        let normalised = mantissa &<< UInt64(shift)
        let power = PowersOfFive.table.power(exponent)
        var product = normalised.multipliedFullWidth(by: power.high)
        if product.high & 0x1FF == 0x1FF {
            let more = normalised.multipliedFullWidth(by: power.low).high
            let (low, carry) = product.low.addingReportingOverflow(more)
            product = (product.high &+ (carry ? 1 : 0), low)
        }
        let isCertain = product.low != .max || (-27...55).contains(exponent)
        let upperBit = Int(product.high >> 63)
        var significand = product.high &>> UInt64(upperBit &+ 9)
        // floor(log2(5^exponent)) + exponent, from 217706 / 2^16 = log2(10) within the range of exponents.
        var binaryExponent = (217_706 &* exponent) &>> 16 &+ 63 &+ upperBit &- shift &+ 1023
        if binaryExponent <= 0 {
            guard -binaryExponent + 1 < 64 else { return (0, isCertain) }
            significand >>= UInt64(-binaryExponent + 1)
            significand += significand & 1
            significand >>= 1
            // Rounding up may reach the smallest normal number; the sum is also its bit pattern.
            return (Double(bitPattern: significand), isCertain)
        }
        // A tie is only possible for few exponents; then the product is exact and half goes to even.
        if product.low <= 1 && (-4...23).contains(exponent) && significand & 3 == 1
            && significand &<< UInt64(upperBit &+ 9) == product.high
        {
            significand &= ~1
        }
        significand += significand & 1
        significand >>= 1
        if significand >= 1 << 53 {
            significand = 1 << 52
            binaryExponent += 1
        }
        guard binaryExponent < 2047 else { return (.infinity, isCertain) }
        return (Double(bitPattern: significand & ~(1 << 52) | UInt64(binaryExponent) << 52), isCertain)
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension DecimalRounding: SelfTesting {
    /// The tests of this type.
    @usableFromInline
    static var testSelectors: TestSelectors {
        [
            "testAgreesWithTheStandardLibrary": testAgreesWithTheStandardLibrary,
            "testCertainEstimatesAreCorrect": testCertainEstimatesAreCorrect,
            "testRoundsTiesToEven": testRoundsTiesToEven,
            "testEstimatesLargestAndSmallestNumbers": testEstimatesLargestAndSmallestNumbers,
        ]
    }

    private static func testEstimatesLargestAndSmallestNumbers() {
        let rows: [(UInt64, Int, Double)] = [
            (0, 400, 0), (1, 308, 1e308), (1, 309, .infinity), (17, 307, 1.7e308), (179, 306, 1.79e308),
            (18, 307, .infinity),
            (1, 400, .infinity), (1, -307, 1e-307), (2, -320, Double(sign: .plus, exponent: -1074, significand: 4048)),
            (5, -324, .leastNonzeroMagnitude), (1, -400, 0), (.max, 288, 1.8446744073709552e307),
            (.max, 289, .infinity),
        ]
        for (mantissa, exponent, expected) in rows {
            expectEqual(estimate(mantissa: mantissa, exponent: exponent).value, expected, "\(mantissa)e\(exponent)")
        }
    }

    /// Linear congruential, so that every run checks the same numbers.
    private static func randomWords(_ count: Int) -> [UInt64] {
        var state: UInt64 = 42
        return (0..<count).map { _ in
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state ^ state >> 29
        }
    }

    private static func testAgreesWithTheStandardLibrary() {
        for word in randomWords(2000) {
            let exponent = Int(word % 700) - 360
            let mantissa = word >> (word % 60)
            let expected = Double("\(mantissa)e\(exponent)") ?? .nan
            let got = nearest(mantissa: mantissa, exponent: exponent)
            if got != expected { expectEqual(got, expected, "\(mantissa)e\(exponent)") }
            let fractionCount = 1 + Int((word >> 32) % 19)
            let decimal = nearest(mantissa: mantissa, fractionCount: fractionCount, sign: 0, powers: .table)
            let general = nearest(mantissa: mantissa, exponent: -fractionCount)
            if decimal != general { expectEqual(decimal, general, "\(mantissa)e-\(fractionCount)") }
            if mantissa >= 1_000_000_000_000_000 {
                let zeroBitCount = UInt32(mantissa.leadingZeroBitCount)
                for shift in (zeroBitCount > 3 ? zeroBitCount - 3 : 0)...zeroBitCount
                where mantissa << shift >= 1_000_000_000_000_000_000 {
                    let product = product(mantissa << shift, fractionCount: fractionCount, powers: .table)
                    guard isCertain(product) else { continue }
                    let value = nearest(
                        toProduct: product, shift: shift, fractionCount: fractionCount, sign: 1 << 63, powers: .table)
                    if value != -general { expectEqual(value, -general, "\(mantissa)e-\(fractionCount) << \(shift)") }
                }
            }
            let negative = nearest(
                mantissa: mantissa, fractionCount: fractionCount, sign: 1 << 63, powers: .table)
            if negative != -general { expectEqual(negative, -general, "-\(mantissa)e-\(fractionCount)") }
        }
    }

    private static func testCertainEstimatesAreCorrect() {
        for word in randomWords(600) {
            let exponent = Int(word % 620) - 330
            let (value, isCertain) = estimate(mantissa: word, exponent: exponent)
            guard isCertain else { continue }
            let expected = Double("\(word)e\(exponent)")
            if value != expected { expectEqual(value, expected, "\(word)e\(exponent)") }
        }
    }

    private static func testRoundsTiesToEven() {
        let zeros = String(repeating: "0", count: 400)
        let rows: [(String, Double)] = [
            ("9007199254740993", 9_007_199_254_740_992), ("9007199254740993.\(zeros)", 9_007_199_254_740_992),
            ("9007199254740993.\(zeros)1", 9_007_199_254_740_994), ("9007199254740995", 9_007_199_254_740_996),
            ("9007199254740994.\(String(repeating: "9", count: 400))", 9_007_199_254_740_994),
            ("1\(zeros)e-400", 1), ("0.\(zeros)1e401", 1),
        ]
        for (text, expected) in rows {
            let got = text.withUTF8Span { span in DecimalNumber(span).map { nearest(to: $0, text: span) } }
            expectEqual(got, expected, "\(text.prefix(40))…, \(text.utf8.count) bytes")
        }
    }
}
#endif
