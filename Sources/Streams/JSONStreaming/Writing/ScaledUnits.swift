// The distances between doubles, for all exponents, scaled to the size that the search for the shortest digits needs.

/// The unit in the last place of doubles with each biased exponent, divided by the power of ten that makes it less than
/// one, but at least a tenth.
@safe
struct ScaledUnits: @unchecked Sendable {
    // SAFETY: the words are written once, before the only instance is published, and are never freed.
    private let words: UnsafePointer<UInt64>

    /// The table; the first use computes it in well under a millisecond.
    static let table: ScaledUnits = ScaledUnits()

    // PERF: JSONWriter/reals; a load instead of two multiplications and two shifts that depend on each other.
    /// Returns the 128 bits after the point of the unit for a biased exponent from 0 to 2047; zero for the first and
    /// the last exponent, which normal numbers don't have.
    @inline(__always)
    func unit(_ biased: Int) -> (high: UInt64, low: UInt64) {
        assert(0...2047 ~= biased)
        // SAFETY: the caller passes at most eleven bits; the memory has two words for each exponent.
        return unsafe (words[2 &* biased], words[2 &* biased &+ 1])
    }

    /// Returns the exponent of the power of ten.
    @inline(__always)
    static func scale(_ biased: Int) -> Int {
        // floor(log10(2^power)) + 1
        ((biased &- 1075) &* 1_262_611) &>> 22 &+ 1
    }

    private init() {
        // SAFETY: the memory is filled completely before it is read, and never freed.
        let memory = UnsafeMutablePointer<UInt64>.allocate(capacity: 2 * 2048)
        unsafe memory.initialize(repeating: 0, count: 2 * 2048)
        for biased in 1...2046 {
            let exponent = -Self.scale(biased)
            let power = PowersOfFive.table.power(exponent)
            // The power of ten is a number from one half to one, times two to floor(log2(10^exponent)) + 1.
            let shift = UInt64(-(biased - 1075 + (exponent * 1_741_647) >> 19 + 1))
            unsafe memory[2 * biased] = power.high >> shift
            unsafe memory[2 * biased + 1] = power.low >> shift | power.high << (64 - shift)
        }
        unsafe words = UnsafePointer(memory)
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension ScaledUnits: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testUnitsAreBetweenATenthAndOne": testUnitsAreBetweenATenthAndOne,
            "testHasUnitsOnlyForNormalNumbers": testHasUnitsOnlyForNormalNumbers,
        ]
    }

    private static func testUnitsAreBetweenATenthAndOne() {
        for biased in 1...2046 {
            let (unit, next) = (table.unit(biased), table.unit(biased + 1))
            expectGreaterThanOrEqual(unit.high, 0x1999_9999_9999_9998, "the unit of \(biased)")
            guard biased < 2046 else { continue }
            // The next unit is twice as large, or a fifth, apart from truncation.
            let isSame = scale(biased) == scale(biased + 1)
            let part = isSame ? unit : next
            var rest = isSame ? next : unit
            for _ in 0..<(isSame ? 2 : 5) {
                let (low, borrow) = rest.low.subtractingReportingOverflow(part.low)
                rest = (rest.high &- part.high &- (borrow ? 1 : 0), low)
            }
            let isNear = rest.high == 0 && rest.low < 16 || rest.high == .max && rest.low > .max - 16
            expectTrue(isNear, "the unit of \(biased + 1), \(rest) beside that of \(biased)")
        }
        expectEqual(table.unit(1075).high, 0x1999_9999_9999_9999, "a tenth")
    }

    private static func testHasUnitsOnlyForNormalNumbers() {
        for biased in [0, 2047] {
            let unit = table.unit(biased)
            expectEqual(unit.high | unit.low, 0, "the unit of \(biased)")
        }
    }
}
#endif
