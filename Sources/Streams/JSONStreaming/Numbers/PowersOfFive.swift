// The leading 128 bits of the powers of five that decimal exponents of doubles need, computed once.

/// The powers of five from 5^-342 to 5^324, each normalized to 128 bits.
///
/// SPEC: D. Lemire, "Number parsing at a gigabyte per second" (2021), section 5: positive powers are truncated;
/// reciprocals are rounded up if 128 bits can be exact enough (5^-27 and above), otherwise truncated.
@safe
struct PowersOfFive: @unchecked Sendable {
    static let exponents: ClosedRange<Int> = -342...324

    // SAFETY: the words are written once, before the only instance is published, and are never freed.
    private let words: UnsafePointer<UInt64>

    // PERF: as for the powers of five.
    /// Returns 10^exponent as a double, exact from 0 to 22.
    func exactPowerOfTen(_ exponent: Int) -> Double {
        assert((0...22).contains(exponent))
        // SAFETY: the callers compare the exponent with 22; the memory has a word for each.
        return unsafe Double(bitPattern: words[2 &* Self.exponents.count &+ exponent])
    }

    /// The table; the first use computes it in well under a millisecond.
    static let table: PowersOfFive = PowersOfFive()

    // PERF: a pointer to memory that is never freed instead of an array: no retain and no second bounds check per
    // number.
    /// Returns the high and low words of 5^exponent; the exponent must be in `exponents`.
    func power(_ exponent: Int) -> (high: UInt64, low: UInt64) {
        assert(Self.exponents.contains(exponent))
        let index = 2 &* (exponent &- Self.exponents.lowerBound)
        // SAFETY: the callers compare the exponent with `exponents`; the memory has two words for each.
        return unsafe (words[index], words[index &+ 1])
    }

    private init() {
        var values = [(high: UInt64, low: UInt64)](repeating: (0, 0), count: Self.exponents.count)
        let zero = -Self.exponents.lowerBound
        var number = BigNumber(words: [1])
        for exponent in 0...Self.exponents.upperBound {
            values[zero + exponent] = number.leadingBits
            number.multiply(by: 5)
        }
        // Floors nest: dividing floor(2^n / 5^k) by five gives floor(2^n / 5^(k + 1)). 5^342 has 795 bits, so 1,280
        // bits leave more than 128 exact ones.
        number = BigNumber(words: Array(repeating: 0, count: 20) + [1])
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
        let memory = UnsafeMutablePointer<UInt64>.allocate(capacity: 2 * values.count + 23)
        for (index, value) in values.enumerated() {
            unsafe (memory + 2 * index).initialize(to: value.high)
            unsafe (memory + 2 * index + 1).initialize(to: value.low)
        }
        var power = 1.0
        for exponent in 0...22 {
            unsafe (memory + 2 * values.count + exponent).initialize(to: power.bitPattern)
            power *= 10
        }
        unsafe words = UnsafePointer(memory)
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension PowersOfFive: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testHoldsExactPowers": testHoldsExactPowers,
            "testPowersMatchTheirReciprocals": testPowersMatchTheirReciprocals,
        ]
    }

    private static func testHoldsExactPowers() {
        // 5^27 is the last power that fits into one word.
        var power: UInt64 = 1
        for exponent in 0...27 {
            let (high, low) = table.power(exponent)
            expectEqual(high, power << UInt64(power.leadingZeroBitCount), "5^\(exponent)")
            expectEqual(low, 0, "the low word of 5^\(exponent)")
            if exponent < 27 { power *= 5 }
        }
        // 1/5 is 0.001100110011… in binary; rounded up in its last bit.
        expectEqual(table.power(-1).high, 0xCCCC_CCCC_CCCC_CCCC, "1/5")
        expectEqual(table.power(-1).low, 0xCCCC_CCCC_CCCC_CCCD, "the low word of 1/5")
    }

    private static func testPowersMatchTheirReciprocals() {
        // 5^n times 5^-n is 1, so the product of the high words is just below a power of two.
        for exponent in 1...324 {
            let product = table.power(exponent).high.multipliedFullWidth(by: table.power(-exponent).high).high
            let isNearPower =
                product >= 0x3FFF_FFFF_FFFF_FFFD && product <= 0x4000_0000_0000_0000
                || product >= 0x7FFF_FFFF_FFFF_FFFD && product <= 0x8000_0000_0000_0000
            expectTrue(isNearPower, "5^\(exponent) and its reciprocal: \(product)")
            expectEqual(table.power(exponent).high >> 63, 1, "the first bit of 5^\(exponent)")
        }
        expectEqual(table.exactPowerOfTen(0), 1, "10^0")
        expectEqual(table.exactPowerOfTen(22), 1e22, "10^22")
    }
}
#endif
