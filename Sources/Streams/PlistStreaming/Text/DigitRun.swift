// Decimal digits of text, eight bytes at a time: their count and their value.

/// The digits at the beginning of a word.
@usableFromInline
package struct DigitRun {
    /// The bytes as values. Values from 0 to 9 at the beginning are digits.
    @usableFromInline package let digits: UInt64
    /// A word whose lowest set bit marks the first byte that is not a digit.
    @usableFromInline package let others: UInt64

    // PERF: JSONReader/coordinates, JSONReader/catalogue; inlined throughout into the loops that scan numbers.
    /// Finds the digits of a word, starting with the lowest byte.
    @inlinable @inline(__always)
    package init(_ word: UInt64) { self.init(digits: word ^ 0x3030_3030_3030_3030) }

    @inlinable @inline(__always)  // PERF: see above.
    package init(digits: UInt64) {
        self.digits = digits
        // The addition can carry only into bytes after the first one that is not a digit.
        others = ((digits &+ 0x7676_7676_7676_7676) | digits) & 0x8080_8080_8080_8080
    }

    /// The number of digits, up to eight.
    @inlinable @inline(__always)
    package var count: Int { others.trailingZeroBitCount &>> 3 }

    /// A Boolean value that indicates whether all eight bytes are digits.
    @inlinable @inline(__always)
    package var areAllDigits: Bool { others == 0 }

    /// A Boolean value that indicates whether the first byte is the digit 0.
    @inlinable @inline(__always)
    package var startsWithZero: Bool { digits & 0xFF == 0 }

    /// The value of up to seven digits, or 0 without digits.
    @inlinable @inline(__always)
    package var value: UInt64 {
        // The shift adds zeros before the first digit, and removes the bytes after the last one. It is below 64 bits.
        DigitWords.value(ofDigits: (digits &<< 8) &<< UInt64(truncatingIfNeeded: 56 &- count &* 8))
    }

    /// 10^count for a count of up to three.
    @inlinable @inline(__always)
    package static func smallPowerOfTen(_ count: Int) -> UInt64 {
        (0x03E8_0064_000A_0001 &>> UInt64(truncatingIfNeeded: count &<< 4)) & 0xFFFF
    }

    /// 10^count for a count of up to seven.
    @inlinable @inline(__always)
    package static func powerOfTen(_ count: Int) -> UInt64 {
        // The compiler may convert a table to a branch.
        let power = smallPowerOfTen(count & 3)
        return count & 4 == 0 ? power : power &* 10_000
    }
}

/// Eight decimal digits in one word.
@usableFromInline
package enum DigitWords {
    // PERF: a dozen instructions for up to seven digits without a branch.
    /// Returns the number with one to seven digits, given as values from 0 to 9 in the lowest bytes, the first digit in the
    /// lowest.
    @inlinable @inline(__always)
    package static func integer(of digits: UInt64, count: Int) -> Int64 {
        // The shift adds zeros before the first digit, and removes the bytes after the last one.
        Int64(bitPattern: value(ofDigits: digits &<< UInt64(truncatingIfNeeded: 64 &- count &* 8)))
    }

    // PERF: three multiplications for eight digits; pairs, then fours, then all, each in its lane.
    /// Returns the number with eight digits as text, with the most significant digit in the first byte.
    @inlinable @inline(__always)
    package static func value(of word: UInt64) -> UInt64 {
        value(ofDigits: word &- 0x3030_3030_3030_3030)
    }

    /// Returns the number with eight digits as values from 0 to 9, with the most significant digit in the first byte.
    @inlinable @inline(__always)
    package static func value(ofDigits digits: UInt64) -> UInt64 {
        var lanes = digits
        lanes = (lanes &* 10) &+ (lanes &>> 8)
        let low = (lanes & 0x0000_00FF_0000_00FF) &* 0x000F_4240_0000_0064
        let high = ((lanes &>> 16) & 0x0000_00FF_0000_00FF) &* 0x0000_2710_0000_0001
        return (low &+ high) &>> 32
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension DigitRun: SelfTesting {
    /// The tests of this type.
    @usableFromInline
    package static var testSelectors: TestSelectors {
        ["testCountsAndReadsDigits": testCountsAndReadsDigits, "testReadsEightDigits": testReadsEightDigits]
    }

    /// Returns a word with the first eight bytes.
    private static func word(_ bytes: some Sequence<UInt8>) -> UInt64 {
        bytes.prefix(8).reversed().reduce(0) { word, byte in word << 8 | UInt64(byte) }
    }

    private static func testCountsAndReadsDigits() {
        for follower in [0, 0x2F, 0x3A, 0x2E, 0x7F, 0x80, 0xB0, 0xFF] as [UInt8] {
            for count in 0..<8 {
                let digits = Array("98765432".utf8.prefix(count))
                let run = DigitRun(word(digits + [follower] + Array("12345678".utf8)))
                let value = UInt64(String(decoding: digits, as: UTF8.self)) ?? 0
                expectEqual(run.count, count, "digits before \(follower)")
                expectEqual(run.value, value, "\(value) before \(follower)")
                expectEqual(powerOfTen(count), (0..<count).reduce(1) { power, _ in power * 10 }, "10^\(count)")
                guard count > 0 else { continue }
                let integer = DigitWords.integer(of: run.digits, count: count)
                expectEqual(integer, Int64(value), "\(value) by its count before \(follower)")
            }
        }
        expectEqual(DigitRun(0x3931_3233_3435_3637).count, 8, "eight digits")
    }

    private static func testReadsEightDigits() {
        for (text, expected) in [
            ("12345678", 12_345_678), ("00000000", 0), ("99999999", 99_999_999), ("10000001", 10_000_001),
        ] {
            expectTrue(DigitRun(word(text.utf8)).areAllDigits, "digits \(text)")
            expectEqual(DigitWords.value(of: word(text.utf8)), UInt64(expected), "value of \(text)")
        }
        for text in ["1234567:", "/2345678", "1234 678", "12345\u{7F}78", "é345678"] {
            expectFalse(DigitRun(word(text.utf8)).areAllDigits, "digits \(text)")
        }
    }
}
#endif
