// Doubles as JSON text: the digits of ShortestDecimal with a point or an exponent.

import PlistStreaming

/// The text of doubles.
enum RealText {
    /// Writes a finite double, always with a point or an exponent, so that it reads back as a real. Writes nothing for
    /// others.
    ///
    /// From 10^-5 to 10^17 the number is written in full, beyond that with an exponent: `0.00001`, `100.0`, `1.5e-6`,
    /// `1e17`. Whole numbers up to 2^64 are also written in full if their fewest digits aren't the exact ones, so that
    /// they can be read as integers.
    static func write(_ value: Double, to output: inout ByteOutput) throws(StreamError) {
        try output.reserve(maxByteCount)
        // SAFETY: the memory is large enough for all bytes that the function stores.
        output.advance(by: unsafe store(value, units: .table, at: output.end))
    }

    /// The number of bytes that `store` needs.
    static let maxByteCount = 48

    // PERF: JSONWriter/reals; always stores sixteen digits at once, and calls no function before the end, so that later
    // values can stay in registers.
    /// Stores a double at an address with `maxByteCount` bytes, and returns the number of bytes that count; 0 for a double
    /// that isn't finite.
    @unsafe @inline(__always)
    static func store(_ value: Double, units: ScaledUnits, at address: UnsafeMutableRawPointer) -> Int {
        // SAFETY: the pieces below take less than 40 bytes from the first digit on.
        unsafe address.storeBytes(of: UInt8(ascii: "-"), as: UInt8.self)
        guard let decimal = ShortestDecimal(quickly: value.bitPattern, units: units) else {
            return unsafe storeSearched(value, at: address)
        }
        let signCount = Int(truncatingIfNeeded: value.bitPattern &>> 63)
        return unsafe signCount &+ store(decimal, value, at: address + signCount)
    }

    /// Stores a number that isn't found quickly, after an optional sign, and returns the number of bytes, or 0.
    @unsafe @inline(never)
    private static func storeSearched(_ value: Double, at address: UnsafeMutableRawPointer) -> Int {
        guard value.isFinite else { return 0 }
        let signCount = value.sign == .minus ? 1 : 0
        let start = unsafe address + signCount
        // SAFETY: as above.
        guard value != 0 else {
            unsafe start.storeBytes(of: UInt32(0x30_2E30).littleEndian, as: UInt32.self)
            return signCount &+ 3
        }
        return unsafe signCount &+ store(.searched(value.magnitude), value, at: start)
    }

    /// Stores the decimal number of a value without its sign, and returns the number of bytes.
    @unsafe @inline(__always)
    private static func store(
        _ decimal: ShortestDecimal, _ value: Double, at start: UnsafeMutableRawPointer
    ) -> Int {
        let high = decimal.leading / 100_000_000
        let digits = IntegerText.sixteenDigits(high, decimal.leading &- high &* 100_000_000)
        let (missingCount, exponent) = (decimal.missingCount, decimal.exponent)
        guard UInt(bitPattern: exponent) < 7 else {
            return unsafe storePlaced(decimal, digits, value, at: start)
        }
        // The digits after the point are in place, with or without a zero before the first one. The digits before the
        // point, and the point itself, are among the first eight.
        let text = digits | zeros
        let first = text[0] &>> UInt64(truncatingIfNeeded: missingCount &* 8)
        let shift = UInt64(truncatingIfNeeded: exponent &* 8 &+ 8)
        let whole = first & (1 &<< shift &- 1)
        let head = whole | (first &- whole) &<< 8 | UInt64(UInt8(ascii: ".")) &<< shift
        unsafe store(text, at: start + (1 &- missingCount))
        unsafe start.storeBytes(of: head.littleEndian, as: UInt64.self)
        let end = 17 &- missingCount
        unsafe start.storeBytes(of: UInt8(truncatingIfNeeded: decimal.last | 0x30), toByteOffset: end, as: UInt8.self)
        // PERF: JSONWriter/reals; uses a branch, so that the next steps need not wait for the digits, which are mostly
        // similar.
        if decimal.last != 0 { return end &+ 1 }
        return max(significantCount(digits) &- missingCount &+ 1, exponent &+ 3)
    }

    /// Sixteen zeros in ASCII.
    private static var zeros: SIMD2<UInt64> { SIMD2(repeating: 0x3030_3030_3030_3030) }

    /// Stores a whole number of more than 53 bits with all its digits if the fewest digits would denote another number,
    /// and returns the number of bytes, or 0.
    @unsafe @inline(never)
    private static func storeWhole(
        _ value: Double, _ decimal: ShortestDecimal, at start: UnsafeMutableRawPointer
    ) -> Int {
        guard value > 0x1p53, value < 0x1p64,
            !MisleadingDouble.isExact(
                value, mantissa: decimal.leading &* 10 &+ decimal.last, exponent: decimal.scale &- 1)
        else { return 0 }
        // SAFETY: there are 22 bytes at most.
        let count = unsafe IntegerText.store(UInt64(value), at: start)
        unsafe (start + count).storeBytes(of: UInt16(0x302E).littleEndian, as: UInt16.self)
        return count &+ 2
    }

    // PERF: JSONWriter/reals; without branches, which would be mispredicted for numbers of different lengths.
    /// Returns the number of digits up to the last nonzero one, of sixteen digits that are not all zero.
    @inline(__always)
    private static func significantCount(_ digits: SIMD2<UInt64>) -> Int {
        let (word, before): (UInt64, Int) = digits[1] == 0 ? (digits[0], 8) : (digits[1], 16)
        return before &- word.leadingZeroBitCount &>> 3
    }

    @inline(__always)
    private static func store(_ digits: SIMD2<UInt64>, at address: UnsafeMutableRawPointer) {
        let words = SIMD2(digits[0].littleEndian, digits[1].littleEndian)
        unsafe address.storeBytes(of: words, as: SIMD2<UInt64>.self)
    }

    /// Stores digits whose point isn't after one of the first seven, and returns the number of bytes.
    ///
    /// - Parameter digits: The leading digits, as numbers.
    @unsafe @inline(never)
    private static func storePlaced(
        _ decimal: ShortestDecimal, _ digits: SIMD2<UInt64>, _ value: Double, at start: UnsafeMutableRawPointer
    ) -> Int {
        let (missingCount, exponent) = (decimal.missingCount, decimal.exponent)
        let count = (decimal.last != 0 ? 17 : significantCount(digits)) &- missingCount
        // The seventeen digits, starting with the first one.
        let shift = missingCount * 8
        let text =
            SIMD2(digits[0] >> shift | digits[1] << (64 - shift), digits[1] >> shift | decimal.last << (64 - shift))
            | zeros
        let last = UInt8(truncatingIfNeeded: missingCount == 0 ? decimal.last | 0x30 : 0x30)
        // SAFETY: at most 25 bytes are stored, and 10 more for an exponent.
        if exponent < 0 && exponent >= -5 {
            unsafe start.storeBytes(of: UInt64(0x30_3030_3030_2E30).littleEndian, as: UInt64.self)
            unsafe store(text, at: start + (1 &- exponent))
            unsafe start.storeBytes(of: last, toByteOffset: 17 &- exponent, as: UInt8.self)
            return 1 &- exponent &+ count
        }
        if exponent >= 15 {
            let length = unsafe storeWhole(value.magnitude, decimal, at: start)
            if length > 0 { return length }
        }
        if exponent >= 7 && exponent < 16 {
            unsafe store(text, at: start)
            let point = unsafe start + (exponent + 1)
            unsafe point.storeBytes(of: UInt8(ascii: "."), as: UInt8.self)
            // Zeros follow the last digit.
            let shift = 8 * (exponent - 7)
            let fraction = text[1] >> shift | 0x3030_3030_3030_3030 << (64 - shift)
            unsafe point.storeBytes(of: fraction.littleEndian, toByteOffset: 1, as: UInt64.self)
            unsafe start.storeBytes(of: last, toByteOffset: 17, as: UInt8.self)
            return max(count &+ 1, exponent &+ 3)
        }
        if exponent == 16 {
            unsafe store(text, at: start)
            unsafe start.storeBytes(of: last, toByteOffset: 16, as: UInt8.self)
            unsafe start.storeBytes(of: UInt16(0x302E).littleEndian, toByteOffset: 17, as: UInt16.self)
            return 19
        }
        unsafe store(text, at: start + 1)
        unsafe start.storeBytes(of: last, toByteOffset: 17, as: UInt8.self)
        unsafe start.storeBytes(of: UInt8(truncatingIfNeeded: text[0]), as: UInt8.self)
        unsafe start.storeBytes(of: UInt8(ascii: "."), toByteOffset: 1, as: UInt8.self)
        let length = count == 1 ? 1 : count &+ 1
        return unsafe length &+ storeExponent(exponent, at: start + length)
    }

    /// Stores `e` and an exponent, and returns the number of bytes.
    private static func storeExponent(_ exponent: Int, at start: UnsafeMutableRawPointer) -> Int {
        unsafe start.storeBytes(of: UInt16(0x2D65).littleEndian, as: UInt16.self)
        let signCount = exponent < 0 ? 2 : 1
        let value = UInt64(exponent.magnitude)
        let count = value >= 100 ? 3 : value >= 10 ? 2 : 1
        let digits = IntegerText.eightDigits(value) &>> UInt64((8 &- count) &* 8)
        unsafe (start + signCount).storeBytes(of: digits.littleEndian, as: UInt64.self)
        return signCount &+ count
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension RealText: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testRoundTripsReals": testRoundTripsReals,
            "testChoosesPlainTextOrExponents": testChoosesPlainTextOrExponents,
            "testPlacesThePointAtEveryPosition": testPlacesThePointAtEveryPosition,
            "testWritesDigitsLikeTheStandardLibrary": testWritesDigitsLikeTheStandardLibrary,
            "testCountsSignificantDigits": testCountsSignificantDigits,
            "testWritesNoNonFiniteNumbers": testWritesNoNonFiniteNumbers,
        ]
    }

    private static func testChoosesPlainTextOrExponents() throws {
        let rows: [(Double, String)] = [
            (0, "0.0"), (-0.0, "-0.0"), (1, "1.0"), (-1.5, "-1.5"), (100, "100.0"), (0.1, "0.1"), (0.00001, "0.00001"),
            (0.000012345, "0.000012345"), (0.000001, "1e-6"), (0.0000015, "1.5e-6"), (123_456.789, "123456.789"),
            (1e16, "10000000000000000.0"), (12_345_678_901_234_568, "12345678901234568.0"), (1e17, "1e17"),
            (0x1p60, "1152921504606846976.0"), (-0x1p63, "-9223372036854775808.0"), (0x1p64, "1.8446744073709552e19"),
            (72_057_594_037_927_952, "72057594037927952.0"), (1.25e17, "1.25e17"),
            (1.7976931348623157e308, "1.7976931348623157e308"),
            (.leastNonzeroMagnitude, "5e-324"),
            (1.0000000000000002, "1.0000000000000002"), (10.05, "10.05"), (1e-5 * 3, "0.000030000000000000004"),
        ]
        for (value, expected) in rows {
            var output = ByteOutput()
            try write(value, to: &output)
            expectEqual(output.withBytes { String(validating: $0) }, expected, "\(value)")
        }
    }

    private static func testPlacesThePointAtEveryPosition() throws {
        for count in 1...15 {
            for exponent in -8...19 {
                let digits = String("123456789123456".prefix(count))
                let value = try requireNotNil(Double("\(digits)e\(exponent - count + 1)"), "a double")
                try expectText(of: value, digits, exponent)
                try expectText(of: -value, digits, exponent)
            }
        }
    }

    /// Doubles that need fifteen to seventeen digits, compared with the digits of the standard library.
    private static func testWritesDigitsLikeTheStandardLibrary() throws {
        var generator = TestRandom(seed: 20_261_123)
        for round in 0..<6000 {
            let exponent = round % 28 - 8
            let power = try requireNotNil(Double("1e\(exponent)"), "a double")
            let value = Double.random(in: -10...10, using: &generator) * power
            guard value != 0 else { continue }
            let parts = "\(value.magnitude)".split(separator: "e")
            let (whole, fraction) = (parts[0].prefix { $0 != "." }, parts[0].drop { $0 != "." }.dropFirst())
            let zeros = (whole + fraction).prefix { $0 == "0" }.count
            let digits = String((whole + fraction).dropFirst(zeros).reversed().drop { $0 == "0" }.reversed())
            let written = parts.count > 1 ? Int(parts[1]) ?? 0 : 0
            try expectText(of: value, digits, whole.count - 1 - zeros + written)
        }
    }

    /// Expects a double to be written with the given digits; the exponent is that of the first digit.
    private static func expectText(of value: Double, _ digits: String, _ exponent: Int) throws {
        let plain = plainText(digits, exponent)
        let isWhole = value.magnitude > 0x1p53 && value.magnitude < 0x1p64
        let whole = isWhole ? plain.withUTF8Span { NumberText.integer($0, as: UInt64.self) } : nil
        let expected = isWhole && whole != UInt64(value.magnitude) ? "\(UInt64(value.magnitude)).0" : plain
        var output = ByteOutput()
        try write(value, to: &output)
        let text = output.withBytes { String(validating: $0) }
        if text != (value < 0 ? "-" : "") + expected { expectEqual(text, expected, "\(value)") }
    }

    private static func testCountsSignificantDigits() {
        var power: UInt64 = 1
        for place in stride(from: 16, through: 1, by: -1) {
            for digit in [1, 7, 8, 9] as [UInt64] {
                for more in place > 1 ? [0, power * 90] : [0] {
                    let (high, low) = (digit * power + more).quotientAndRemainder(dividingBy: 100_000_000)
                    let count = significantCount(IntegerText.sixteenDigits(high, low))
                    if count != place { expectEqual(count, place, "\(digit) at \(place), \(more) before") }
                }
            }
            power *= 10
        }
    }

    private static func testWritesNoNonFiniteNumbers() throws {
        for value in [Double.nan, .infinity, -.infinity, .signalingNaN, -.nan] {
            var output = ByteOutput()
            try write(value, to: &output)
            expectEqual(output.count, 0, "bytes of \(value)")
        }
    }

    /// Returns the text of digits by cutting and joining strings; the exponent is that of the first digit.
    private static func plainText(_ digits: String, _ exponent: Int) -> String {
        func zeros(_ count: Int) -> String { String(repeating: "0", count: max(count, 0)) }
        if exponent < -5 || exponent > 16 {
            let fraction = digits.dropFirst()
            return "\(digits.prefix(1))\(fraction.isEmpty ? "" : ".")\(fraction)e\(exponent)"
        }
        let padded = zeros(-exponent) + digits + zeros(exponent + 2 - digits.count)
        let whole = max(exponent, 0) + 1
        return "\(padded.prefix(whole)).\(padded.dropFirst(whole))"
    }

    private static func testRoundTripsReals() throws {
        let values = [
            0, -0.0, 1, 0.1, -2.5, 1e16, 1e-5, 123_456_789, .leastNonzeroMagnitude, .greatestFiniteMagnitude,
            .leastNormalMagnitude, .pi, 1e22, 1e23, 0.3,
            9_007_199_254_740_994, 100, 1e15, 1e17, 0.001, 0.0001, 0x1p60, -0x1p63, 1.2345678901234567e18,
            Double(Float.pi), 0x1.8p-140,
        ]
        for value in values {
            var output = ByteOutput()
            try write(value, to: &output)
            let text = output.withBytes { String(validating: $0) } ?? ""
            JSONScanner.expectOutcome(Array("[\(text)]".utf8), "[ real \(value) ]", "\(value) by way of \(text)")
            expectTrue(text.withUTF8Span { DecimalNumber($0) != nil }, "the grammar of \(text)")
        }
    }
}
#endif
