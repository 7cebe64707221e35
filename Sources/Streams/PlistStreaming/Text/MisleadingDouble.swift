// Doubles that must not stand for the number they were rounded from, because they are rounded once more: to an integer,
// or to a type of fewer digits.

/// Doubles that mislead about the number they were rounded from.
@usableFromInline
package enum MisleadingDouble {
    // SPEC: rounding twice differs from rounding once only where the first result is in the middle between two values of
    // the narrower type, while the number is not. Middles of `Float` have 25 binary digits, the last of which is set. To
    // an integer nothing is rounded: a double without a fraction stands for a number that has one, or for another integer.
    /// The bits of a double that are zeros where it is in the middle of two floats.
    @inlinable @inline(__always)  // PERF: JSONReader/coordinates; a stored property would be a call for other modules.
    package static var lowBits: UInt64 { (1 << 28) - 1 }

    // PERF: JSONReader/coordinates; one comparison of bits for nearly every number.
    /// Returns whether a double below 2^24 in magnitude misleads about mantissa / 10^fractionCount, from which it was rounded.
    @inlinable @inline(__always)
    package static func isMisleading(small value: Double, mantissa: UInt64, fractionCount: Int) -> Bool {
        // Without a fraction it has fewer digits than a float.
        guard value.bitPattern & lowBits == 0 else { return false }
        let isMiddle = value.bitPattern & (lowBits + 1) != 0
        return (isMiddle || Double(Int64(value)) == value)
            && !isExact(value.magnitude, mantissa: mantissa, exponent: 0 &- fractionCount)
    }

    /// Returns whether the magnitude of a double misleads about mantissa × 10^exponent, from which it was rounded.
    @inlinable @inline(__always)
    package static func isMisleading(_ magnitude: Double, mantissa: UInt64, exponent: Int) -> Bool {
        couldMislead(magnitude) && !isExact(magnitude, mantissa: mantissa, exponent: exponent)
    }

    /// Returns whether the magnitude of a double misleads about a number, from which it was rounded.
    package static func isMisleading(_ magnitude: Double, for number: DecimalNumber) -> Bool {
        guard couldMislead(magnitude) else { return false }
        return number.isTruncated || !isExact(magnitude, mantissa: number.mantissa, exponent: number.exponent)
    }

    /// Returns whether a double that is not the number itself would mislead.
    @inlinable @inline(__always)  // PERF: JSONReader/catalogue; once a number with an exponent, or of many digits.
    static func couldMislead(_ magnitude: Double) -> Bool {
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

    /// Returns whether mantissa × 10^exponent is a double exactly.
    @usableFromInline @inline(never)
    package static func isExact(_ magnitude: Double, mantissa: UInt64, exponent: Int) -> Bool {
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
