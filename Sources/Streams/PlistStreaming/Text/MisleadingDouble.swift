// Detection of doubles that must not replace the number they were rounded from, because a second rounding, to an integer or
// to a narrower type, would give another result.

/// Tests whether a double misleads about the number it was rounded from.
@usableFromInline
package enum MisleadingDouble {
    // SPEC: rounding twice differs from rounding once only if the first result is in the middle between two values of the
    // narrower type, and the number is not. Middles of `Float` have 25 binary digits, and the last one is set. Conversion to an
    // integer doesn't round: a double without a fraction could replace a number that has one, or another integer.
    /// The bits of a double that are zeros if it is in the middle of two floats.
    @inlinable @inline(__always)  // PERF: JSONReader/coordinates; a stored property would be a call for other modules.
    package static var lowBits: UInt64 { (1 << 28) - 1 }

    // PERF: JSONReader/coordinates; one comparison of bits for nearly every number.
    /// Returns whether a double below 2^24 in magnitude, rounded from mantissa / 10^fractionCount, misleads about that number.
    @inlinable @inline(__always)
    package static func isMisleading(small value: Double, mantissa: UInt64, fractionCount: Int) -> Bool {
        // Without a fraction, the double has fewer digits than a float.
        guard value.bitPattern & lowBits == 0 else { return false }
        let isMiddle = value.bitPattern & (lowBits + 1) != 0
        return (isMiddle || Double(Int64(value)) == value)
            && !isExact(value.magnitude, mantissa: mantissa, exponent: 0 &- fractionCount)
    }

    /// Returns whether the magnitude of a double, rounded from mantissa × 10^exponent, misleads about that number.
    @inlinable @inline(__always)
    package static func isMisleading(_ magnitude: Double, mantissa: UInt64, exponent: Int) -> Bool {
        couldMislead(magnitude) && !isExact(magnitude, mantissa: mantissa, exponent: exponent)
    }

    /// Returns whether the magnitude of a double, rounded from a number, misleads about that number.
    package static func isMisleading(_ magnitude: Double, for number: DecimalNumber) -> Bool {
        guard couldMislead(magnitude) else { return false }
        return number.isTruncated || !isExact(magnitude, mantissa: number.mantissa, exponent: number.exponent)
    }

    /// Returns whether a double would mislead if it is not exactly the number.
    @inlinable @inline(__always)  // PERF: JSONReader/catalogue; once a number with an exponent, or of many digits.
    static func couldMislead(_ magnitude: Double) -> Bool {
        if magnitude < 0x1p53 {
            if Double(Int64(magnitude)) == magnitude { return true }
            guard magnitude.bitPattern & lowBits == 0 else { return false }
            if magnitude >= 0x1p-126 { return magnitude.bitPattern & (lowBits + 1) != 0 }
            // Below this limit, floats are the even multiples of 2^-150.
            let multiple = magnitude * 0x1p150
            return Int64(multiple) & 1 == 1 && Double(Int64(multiple)) == multiple
        }
        // Integer types of members have at most 64 bits, and floats are below 2^128.
        if magnitude <= 0x1p64 { return true }
        return magnitude <= 0x1p128 && magnitude.bitPattern & (2 * lowBits + 1) == lowBits + 1
    }

    /// Returns whether mantissa × 10^exponent is a double exactly.
    @usableFromInline @inline(never)
    package static func isExact(_ magnitude: Double, mantissa: UInt64, exponent: Int) -> Bool {
        guard mantissa > 0, magnitude > 0 else { return mantissa == 0 && magnitude == 0 }
        // Both are represented as an odd number times a power of two. They are equal if a power of five compensates for the
        // difference of the odd numbers.
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
