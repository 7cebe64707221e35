// The leading 128 bits of the powers of five that decimal exponents of doubles need, computed once.

/// The powers of five from 5^-342 to 5^308, each normalised to 128 bits.
///
/// SPEC: D. Lemire, "Number parsing at a gigabyte per second" (2021), section 5: positive powers are truncated;
/// reciprocals are rounded up where 128 bits may hold them exactly enough (5^-27 and above) and truncated below.
@safe
struct PowersOfFive: @unchecked Sendable {
    static let exponents: ClosedRange<Int> = -342...308

    // SAFETY: the words are written once, before the only instance is published, and live as long as the process.
    private let words: UnsafePointer<UInt64>

    /// The table; the first use computes it in well under a millisecond.
    static let table: PowersOfFive = PowersOfFive()

    // PERF: a pointer that lives for ever instead of an array: no retain and no second bounds check a number.
    /// The high and low words of 5^exponent; the exponent must be in `exponents`.
    func power(_ exponent: Int) -> (high: UInt64, low: UInt64) {
        assert(Self.exponents.contains(exponent))
        let index = 2 &* (exponent &- Self.exponents.lowerBound)
        // SAFETY: the callers compare the exponent with `exponents`; the memory has two words for each.
        return unsafe (words[index], words[index &+ 1])
    }

    private init() {
        var values = [(high: UInt64, low: UInt64)](repeating: (0, 0), count: Self.exponents.count)
        let zero = -Self.exponents.lowerBound
        var number = BigNumber(1)
        for exponent in 0...Self.exponents.upperBound {
            values[zero + exponent] = number.leadingBits
            number.multiply(by: 5)
        }
        // Floors nest: dividing floor(2^n / 5^k) by five gives floor(2^n / 5^(k + 1)). 5^342 has 795 bits; 1,280 leave
        // more than 128 exact ones.
        number = BigNumber(1)
        number.shiftLeft(by: 1280)
        for exponent in 1...zero {
            number.divide(by: 5)
            var bits = number.leadingBits
            if exponent <= 27 {
                let (low, carry) = bits.low.addingReportingOverflow(1)
                bits = (bits.high + (carry ? 1 : 0), low)
            }
            values[zero - exponent] = bits
        }
        // SAFETY: the memory is filled completely before it is read, and never freed.
        let memory = UnsafeMutablePointer<UInt64>.allocate(capacity: 2 * values.count)
        for (index, value) in values.enumerated() {
            unsafe (memory + 2 * index).initialize(to: value.high)
            unsafe (memory + 2 * index + 1).initialize(to: value.low)
        }
        unsafe words = UnsafePointer(memory)
    }
}
