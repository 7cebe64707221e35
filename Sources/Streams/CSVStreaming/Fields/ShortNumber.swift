// The most common numbers in fields, with at most two words: read without a loop. General code handles all other
// numbers.

import PlistBuilding
import PlistStreaming

/// Numbers of few digits, with 24 readable bytes from the first one.
@usableFromInline
enum ShortNumber {
    // PERF: CSV/typed; a dozen instructions for up to eight digits.
    /// Returns the integer in a text of up to 16 digits, or nil for any other text, including other integers.
    @inlinable @inline(__always)
    static func integer(_ text: UnsafeRawPointer, _ count: Int) -> Int64? {
        // SAFETY: the caller guarantees 24 bytes.
        let word = unsafe text.loadUnaligned(as: UInt64.self).littleEndian
        guard count > 1 else {
            let digit = word & 0xFF ^ 0x30
            return count == 1 && digit < 10 ? Int64(truncatingIfNeeded: digit) : nil
        }
        // A zero may not have further digits.
        guard count < 17, word & 0xFF != 0x30 else { return nil }
        guard count > 8 else {
            // Zeros are shifted in before the first digit; the bytes after the last digit are shifted out.
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

    /// Returns the negative integer in a text with a minus and up to 15 digits, or nil for any other text. 25 bytes
    /// must be readable.
    static func negative(_ text: UnsafeRawPointer, _ count: Int) -> Int64? {
        guard unsafe text.load(as: UInt8.self) == UInt8(ascii: "-"), count < 17,
            let value = unsafe integer(text + 1, count &- 1), value != 0
        else { return nil }
        return -value
    }

    // PERF: CSV/typed; see above. A quotient of numbers below 2^53 and a power of ten up to 10^22 is rounded once.
    /// Returns the real in a text with up to seven digits, a point and up to seven digits, or nil for any other text,
    /// including integers.
    @inline(__always)
    static func real(_ text: UnsafeRawPointer, _ count: Int) -> Double? {
        // SAFETY: the caller guarantees 24 bytes.
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

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension ShortNumber: SelfTesting {
    @usableFromInline
    static var testSelectors: TestSelectors {
        [
            "testAgreesWithTheGrammar": testAgreesWithTheGrammar,
            "testReadsOnlyShortNumbers": testReadsOnlyShortNumbers,
        ]
    }

    /// Returns the numbers in a text that is followed by other bytes.
    private static func read(_ text: String, _ follower: UInt8) -> (integer: Int64?, real: Double?) {
        let bytes = Array(text.utf8) + [UInt8](repeating: follower, count: 25)
        // SAFETY: 25 more bytes follow.
        return unsafe bytes.withUnsafeBytes { buffer in
            guard let start = buffer.baseAddress else { return (nil, nil) }
            let integer = unsafe integer(start, text.utf8.count) ?? negative(start, text.utf8.count)
            return unsafe (integer, real(start, text.utf8.count))
        }
    }

    private static func testAgreesWithTheGrammar() {
        var random = TestRandom(seed: 9)
        let alphabet = Array("0123456789012345678901234567890123456789.-+e \"")
        for _ in 0..<20_000 {
            let count = Int.random(in: 0...18, using: &random)
            let text = String((0..<count).map { _ in alphabet.randomElement(using: &random) ?? "0" })
            let message = text.withUTF8Span { $0.shownNumber }
            for follower in [UInt8(ascii: ","), UInt8(ascii: "7")] {
                let found = read(text, follower)
                if let integer = found.integer { expectEqual(message, "integer \(integer)", text) }
                if let real = found.real { expectEqual(message, "real \(real)", text) }
            }
        }
    }

    private static func testReadsOnlyShortNumbers() {
        for count in 1...16 {
            let text = String("1234567890123456".prefix(count))
            expectEqual(read(text, 0x39).integer, Int64(text), text)
            expectNil(read("0" + text.dropLast(), 0x39).integer.flatMap { $0 == 0 ? nil : $0 }, "zeros before \(text)")
        }
        expectEqual(read("0", 0x39).integer, 0, "zero")
        for text in ["-1", "-12345678", "-123456789012345"] {
            expectEqual(read(text, 0x39).integer, Int64(text), text)
        }
        for text in ["-", "-0", "-01", "--1", "-1.", "-1234567890123456"] {
            expectNil(read(text, 0x39).integer, text)
        }
        for text in ["0.5", "-0.25", "1234567.12345", "12345.1234567", "0.0000001", "-1234567.5", "9.0"] {
            expectEqual(read(text, 0x39).real, Double(text), text)
        }
        for text in [
            "", "5", "5.", ".5", "-", "-.5", "00.5", "12345678.5", "1.12345678", "1234567.123456", "1.5e3", "1.2.3",
        ] {
            expectNil(read(text, 0x39).real, text)
        }
        expectNil(read("12345678901234567", 0x2C).integer, "17 digits")
    }
}
#endif
