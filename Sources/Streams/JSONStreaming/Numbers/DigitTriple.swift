// The digits after the first 16, shifted to the top of a word for multiplication.

/// Up to three digits after the first 16, and the shift that moves all 16 to 19 of them to the top of a word.
@usableFromInline
struct DigitTriple {
    /// The bytes as values; the leading values from 0 to 9 are digits.
    @usableFromInline let digits: UInt32
    /// The lowest set bit marks the first byte that isn't a digit; 0 for four digits, which are too many.
    @usableFromInline let others: UInt32

    @inlinable @inline(__always)  // PERF: JSONReader/coordinates, which has no calls.
    init(_ half: UInt32) {
        digits = half ^ 0x3030_3030
        others = ((digits &+ 0x7676_7676) | digits) & 0x8080_8080
    }

    /// The number of digits, at most three.
    @inlinable @inline(__always)
    var count: Int { others.trailingZeroBitCount &>> 3 }

    /// The shift for a number of 16 + count digits; 10^16, 10^17, 10^18 and 10^19 are below 2^54, 2^57, 2^60 and 2^64.
    @inlinable @inline(__always)
    var shift: UInt32 { (0x0004_070A &>> (UInt32(truncatingIfNeeded: count) &<< 3)) & 0xFF }

    /// 10^count, shifted.
    @inlinable @inline(__always)
    var scaledPowerOfTen: UInt64 {
        // 1000, 100 << 4, 10 << 7, 1 << 10.
        (0x03E8_0640_0500_0400 &>> UInt64(truncatingIfNeeded: count &<< 4)) & 0xFFFF
    }

    /// The value of the digits, shifted; 0 without digits.
    @inlinable @inline(__always)
    var scaledValue: UInt64 {
        // As in `DigitWords`, in half a word.
        let half = (digits &<< 8) &<< UInt32(truncatingIfNeeded: 24 &- count &* 8)
        let pairs = (half &* 10 &+ (half &>> 8)) & 0x00FF_00FF
        return UInt64(((pairs &* 0x0064_0001) &>> 16) &<< shift)
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension DigitTriple: SelfTesting {
    /// The tests of this type.
    @usableFromInline
    static var testSelectors: TestSelectors {
        ["testReadsDigits": testReadsDigits, "testShiftsAsFarAsPossible": testShiftsAsFarAsPossible]
    }

    /// Every number of up to three digits, followed by every possible byte.
    private static func testReadsDigits() {
        for follower in [0x00, 0x2C, 0x2F, 0x3A, 0x5D, 0x65, 0x7F, 0x80, 0xB0, 0xFF] as [UInt32] {
            for (count, power) in [(0, 1), (1, 10), (2, 100), (3, 1000)] as [(Int, UInt64)] {
                for value in 0..<power {
                    var half: UInt32 = follower == 0x80 ? 0x3939_3939 : 0
                    var digits = value
                    half &= ~(0xFF << UInt32(count * 8))
                    half |= follower << UInt32(count * 8)
                    for place in (0..<count).reversed() {
                        half &= ~(0xFF << UInt32(place * 8))
                        half |= (0x30 + UInt32(digits % 10)) << UInt32(place * 8)
                        digits /= 10
                    }
                    let triple = DigitTriple(half)
                    guard triple.others != 0, triple.count == count,
                        triple.scaledValue == value << UInt64(triple.shift),
                        triple.scaledPowerOfTen == power << UInt64(triple.shift)
                    else {
                        fail("\(value) of \(count) digits before \(follower): \(triple)")
                        continue
                    }
                }
            }
        }
        expectEqual(DigitTriple(0x3930_3930).others, 0, "four digits")
    }

    private static func testShiftsAsFarAsPossible() {
        var largest: UInt64 = 9_999_999_999_999_999
        for half in [0x2C, 0x2C39, 0x2C_3939, 0x2C39_3939] as [UInt32] {
            let triple = DigitTriple(half)
            expectEqual(largest.leadingZeroBitCount - Int(triple.shift) < 2, true, "zero bits above \(largest)")
            expectGreaterThanOrEqual(largest.leadingZeroBitCount, Int(triple.shift), "bits above \(largest)")
            let smallest = (largest / 10 + 1) << UInt64(triple.shift)
            expectGreaterThanOrEqual(smallest, 1_000_000_000_000_000_000)
            largest = largest &* 10 &+ 9
        }
    }
}
#endif
