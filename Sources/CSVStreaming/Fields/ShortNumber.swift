// The numbers that most fields are, of a word or two: read without a loop, or left to those who know all numbers.

import PlistStreaming

/// Numbers of few digits, with 24 bytes to be loaded from their first one.
enum ShortNumber {
    // PERF: CSV/typed; a dozen instructions for up to eight digits.
    /// The integer that a text of up to 16 digits is; nil for any other text, also for other integers.
    @inline(__always)
    static func integer(_ text: UnsafeRawPointer, _ count: Int) -> Int64? {
        // SAFETY: the caller has 24 bytes.
        let word = unsafe text.loadUnaligned(as: UInt64.self).littleEndian
        // A zero only alone.
        guard UInt(bitPattern: count &- 1) < 16, word & 0xFF != 0x30 || count == 1 else { return nil }
        guard count > 8 else {
            // Zeros move in before the first digit; what follows the last one moves out.
            let digits = DigitRun(
                digits: (word ^ 0x3030_3030_3030_3030) &<< UInt64(truncatingIfNeeded: 64 &- count &* 8))
            return digits.areAllDigits ? Int64(truncatingIfNeeded: DigitWords.value(ofDigits: digits.digits)) : nil
        }
        let first = DigitRun(word)
        let next = unsafe text.loadUnaligned(fromByteOffset: 8, as: UInt64.self).littleEndian
        let rest = DigitRun(
            digits: (next ^ 0x3030_3030_3030_3030) &<< UInt64(truncatingIfNeeded: 128 &- count &* 8))
        guard first.areAllDigits, rest.areAllDigits else { return nil }
        let power: UInt64 = count == 16 ? 100_000_000 : DigitRun.powerOfTen(count &- 8)
        return Int64(
            truncatingIfNeeded: DigitWords.value(ofDigits: first.digits) &* power
                &+ DigitWords.value(ofDigits: rest.digits))
    }

    // PERF: CSV/typed; see above. A quotient of numbers below 2^53 and a power of ten up to 10^22 is rounded once.
    /// The real that a text of up to seven digits, a point and up to seven digits is; nil for any other text, and for integers.
    @inline(__always)
    static func real(_ text: UnsafeRawPointer, _ count: Int) -> Double? {
        // SAFETY: the caller has 24 bytes.
        let isNegative = unsafe text.load(as: UInt8.self) == UInt8(ascii: "-")
        let sign = isNegative ? 1 : 0
        guard UInt(bitPattern: count &- 1) < 16 else { return nil }
        let word = unsafe (text + sign).loadUnaligned(as: UInt64.self).littleEndian
        let whole = DigitRun(word)
        let wholeCount = whole.count
        let point = sign &+ wholeCount
        guard wholeCount > 0, wholeCount < 8, point < count,
            unsafe text.load(fromByteOffset: point, as: UInt8.self) == 0x2E,
            !whole.startsWithZero || wholeCount == 1
        else { return nil }
        let fractionCount = count &- point &- 1
        guard fractionCount > 0, fractionCount <= 7, wholeCount &+ fractionCount <= 12 else { return nil }
        let next = unsafe (text + (point &+ 1)).loadUnaligned(as: UInt64.self).littleEndian
        let fraction = DigitRun(
            digits: (next ^ 0x3030_3030_3030_3030) &<< UInt64(truncatingIfNeeded: 64 &- fractionCount &* 8))
        guard fraction.areAllDigits else { return nil }
        let power = DigitRun.powerOfTen(fractionCount)
        let mantissa = whole.value &* power &+ DigitWords.value(ofDigits: fraction.digits)
        let value = Double(Int64(truncatingIfNeeded: mantissa)) / Double(Int64(truncatingIfNeeded: power))
        return isNegative ? -value : value
    }
}
