// Doubles as JSON text: the digits of ShortestDecimal with a point or an exponent.

import PlistStreaming

/// The text of doubles.
enum RealText {
    /// Writes a finite double, always with a point or an exponent, so that it reads back as a real.
    ///
    /// From 10^-5 to 10^17 it is written in full, beyond with an exponent: `0.00001`, `100.0`, `1.5e-6`, `1e17`.
    static func write(_ value: Double, to output: inout ByteOutput) throws(StreamError) {
        try output.reserve(64)
        var offset = output.count
        if value.sign == .minus {
            output.store(UInt8(ascii: "-"), at: offset)
            offset &+= 1
        }
        guard value != 0 else {
            output.store(word: 0x30_2E30, at: offset)
            output.advance(to: offset &+ 3)
            return
        }
        let decimal = ShortestDecimal(value.magnitude)
        let digitCount = ShortestDecimal.digitCount(of: decimal.digits)
        // The exponent of the first digit.
        let leading = digitCount &+ decimal.exponent &- 1
        if decimal.exponent >= 0 && leading < 17 {
            offset = storeWhole(decimal, in: &output, at: offset)
        } else if leading >= 0 && leading < 17 {
            offset = storeMixed(decimal.digits, fractionCount: 0 &- decimal.exponent, in: &output, at: offset)
        } else if leading < 0 && leading >= -5 {
            output.store(word: 0x30_3030_3030_2E30, at: offset)
            offset = IntegerText.store(decimal.digits, in: &output, at: offset &+ 1 &- leading)
        } else {
            offset = storeMixed(decimal.digits, fractionCount: digitCount &- 1, in: &output, at: offset)
            offset = storeExponent(leading, in: &output, at: offset)
        }
        output.advance(to: offset)
    }

    /// Stores a whole number and `.0`.
    private static func storeWhole(_ decimal: ShortestDecimal, in output: inout ByteOutput, at start: Int) -> Int {
        let offset = IntegerText.store(
            decimal.digits &* ShortestDecimal.powerOfTen(decimal.exponent), in: &output, at: start)
        output.store(word: 0x302E, at: offset)
        return offset &+ 2
    }

    /// Stores digits with a point before the last ones; without any, the point is left out.
    private static func storeMixed(
        _ digits: UInt64, fractionCount: Int, in output: inout ByteOutput, at start: Int
    ) -> Int {
        guard fractionCount > 0 else { return IntegerText.store(digits, in: &output, at: start) }
        let (whole, fraction) = digits.quotientAndRemainder(dividingBy: ShortestDecimal.powerOfTen(fractionCount))
        var offset = IntegerText.store(whole, in: &output, at: start)
        output.store(UInt8(ascii: "."), at: offset)
        offset &+= 1
        // At most sixteen digits follow, zeros at their beginning included.
        if fractionCount > 8 {
            let (high, low) = fraction.quotientAndRemainder(dividingBy: 100_000_000)
            offset = storeLast(fractionCount &- 8, of: high, in: &output, at: offset)
            return storeLast(8, of: low, in: &output, at: offset)
        }
        return storeLast(fractionCount, of: fraction, in: &output, at: offset)
    }

    /// Stores the last of the eight digits of a number below 10^8.
    private static func storeLast(_ count: Int, of value: UInt64, in output: inout ByteOutput, at offset: Int) -> Int {
        output.store(word: IntegerText.eightDigits(value) &>> UInt64((8 &- count) &* 8), at: offset)
        return offset &+ count
    }

    private static func storeExponent(_ exponent: Int, in output: inout ByteOutput, at start: Int) -> Int {
        output.store(UInt8(ascii: "e"), at: start)
        var offset = start &+ 1
        if exponent < 0 {
            output.store(UInt8(ascii: "-"), at: offset)
            offset &+= 1
        }
        return IntegerText.store(UInt64(exponent.magnitude), in: &output, at: offset)
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension RealText: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testReadsBackAsTheSameReal": testReadsBackAsTheSameReal,
            "testChoosesPlainTextOrExponents": testChoosesPlainTextOrExponents,
        ]
    }

    private static func testChoosesPlainTextOrExponents() throws {
        let rows: [(Double, String)] = [
            (0, "0.0"), (-0.0, "-0.0"), (1, "1.0"), (-1.5, "-1.5"), (100, "100.0"), (0.1, "0.1"), (0.00001, "0.00001"),
            (0.000012345, "0.000012345"), (0.000001, "1e-6"), (0.0000015, "1.5e-6"), (123_456.789, "123456.789"),
            (1e16, "10000000000000000.0"), (12_345_678_901_234_568, "12345678901234568.0"), (1e17, "1e17"),
            (1.25e17, "1.25e17"), (1.7976931348623157e308, "1.7976931348623157e308"),
            (.leastNonzeroMagnitude, "5e-324"),
            (1.0000000000000002, "1.0000000000000002"), (10.05, "10.05"), (1e-5 * 3, "0.000030000000000000004"),
        ]
        for (value, expected) in rows {
            var output = ByteOutput()
            try write(value, to: &output)
            expectEqual(output.withBytes { String(validating: $0) }, expected, "\(value)")
        }
    }

    private static func testReadsBackAsTheSameReal() throws {
        let values = [
            0, -0.0, 1, 0.1, -2.5, 1e16, 1e-5, 123_456_789, .leastNonzeroMagnitude, .greatestFiniteMagnitude,
            .leastNormalMagnitude, .pi, 1e22, 1e23, 0.3,
            9_007_199_254_740_994, 100, 1e15, 1e17, 0.001, 0.0001,
        ]
        for value in values {
            var output = ByteOutput()
            try write(value, to: &output)
            let text = output.withBytes { String(validating: $0) } ?? ""
            expectEqual(text.withUTF8Span { JSONNumber.value(of: $0) }, .real(value), "\(value) by way of \(text)")
            expectEqual(text.withUTF8Span { NumberGrammar.accepts($0) }, true, "the grammar of \(text)")
        }
    }
}
#endif
