// The scalar values of the JSON writer.

public import PlistStreaming

extension JSONWriter {
    /// Writes `null`.
    public mutating func writeNull() throws(StreamError) {
        try beginValue(reserving: 8)
        output.appendReserved(word: 0x6C6C_756E, byteCount: 4)
        if nesting.depth == 0 { try endRoot() }
    }

    /// Writes `true` or `false`.
    public mutating func writeBool(_ value: Bool) throws(StreamError) {
        try beginValue(reserving: 8)
        if value {
            output.appendReserved(word: 0x6575_7274, byteCount: 4)
        } else {
            output.appendReserved(word: 0x65_736C_6166, byteCount: 5)
        }
        if nesting.depth == 0 { try endRoot() }
    }

    /// Writes an integer.
    public mutating func writeInteger(_ value: Int64) throws(StreamError) {
        if next.isPlainValue {
            try output.reserve(IntegerText.maxByteCount &+ 1)
            let commaCount = unsafe storeComma(at: output.end)
            // SAFETY: memory was reserved for the comma and the number.
            output.advance(by: unsafe commaCount &+ IntegerText.store(value, at: output.end + commaCount))
            endValue()
            return
        }
        try writeAnyInteger(value)
    }

    @inline(never)
    private mutating func writeAnyInteger(_ value: Int64) throws(StreamError) {
        try beginValue(reserving: IntegerText.maxByteCount)
        // SAFETY: memory for it was reserved.
        output.advance(by: unsafe IntegerText.store(value, at: output.end))
        if nesting.depth == 0 { try endRoot() }
    }

    /// Writes an unsigned integer.
    public mutating func writeUnsigned(_ value: UInt64) throws(StreamError) {
        try beginValue(reserving: IntegerText.maxByteCount)
        // SAFETY: memory for it was reserved.
        output.advance(by: unsafe IntegerText.store(value, at: output.end))
        if nesting.depth == 0 { try endRoot() }
    }

    /// Writes a double with the fewest digits that read back as the same double.
    ///
    /// - Throws: ``/PlistStreaming/StreamError/Kind/unrepresentable`` for NaN and the infinities, unless the options
    ///   specify a replacement.
    public mutating func writeReal(_ value: Double) throws(StreamError) {
        if next.isPlainValue, let units {
            try output.reserve(RealText.maxByteCount &+ 1)
            let commaCount = unsafe storeComma(at: output.end)
            // SAFETY: memory was reserved for the comma and the number.
            let count = unsafe RealText.store(value, units: units, at: output.end + commaCount)
            if count > 0 {
                output.advance(by: commaCount &+ count)
                endValue()
                if omitsPoints { omitPoint(of: value) }
                return
            }
        }
        try writeAnyReal(value)
    }

    @inline(never)
    private mutating func writeAnyReal(_ value: Double) throws(StreamError) {
        units = ScaledUnits.table
        guard value.isFinite else { return try writeNonFinite(value) }
        try beginValue(reserving: RealText.maxByteCount)
        try RealText.write(value, to: &output)
        if omitsPoints { omitPoint(of: value) }
        if nesting.depth == 0 { try endRoot() }
    }

    // PERF: JSONWriter/reals; if this were inlined, the compiler would round every value before the test, which is a
    // library call.
    /// Removes the point and the zero from the end of a whole number that was written with all its digits.
    @inline(never)
    private mutating func omitPoint(of value: Double) {
        // Above this limit, the digits are not those of the exact value.
        if value.magnitude <= 0x1p53, value.rounded(.towardZero) == value { output.truncate(to: output.count - 2) }
    }

    private mutating func writeNonFinite(_ value: Double) throws(StreamError) {
        let name = value.isNaN ? "NaN" : value < 0 ? "-Infinity" : "Infinity"
        switch nonFinitePolicy {
        case .reject: throw StreamError(.unrepresentable, "JSON has no number for \(name)")
        case .null: try writeNull()
        case .string: try name.withUTF8Span { text throws(StreamError) in try writeString(text) }
        }
    }

    /// Writes the text of a number unchanged.
    ///
    /// - Throws: ``/PlistStreaming/StreamError/Kind/misuse`` if the text isn't a JSON number.
    public mutating func writeNumber(text: RawSpan) throws(StreamError) {
        guard DecimalNumber(text) != nil else {
            throw StreamError(.misuse, "expected a JSON number, got \(ShownText.quoted(text))")
        }
        try beginValue(reserving: 0)
        try output.append(text)
        if nesting.depth == 0 { try endRoot() }
    }

    /// Writes a string, escaped.
    ///
    /// - Throws: ``/PlistStreaming/StreamError/Kind/invalidText`` if the text isn't valid UTF-8.
    public mutating func writeString(_ utf8: RawSpan) throws(StreamError) { try writeText(utf8, isChecked: false) }

    /// Writes an escaped string, which may already be known to be UTF-8.
    @inline(__always)  // PERF: JSONWriter/records; once a string.
    mutating func writeText(_ utf8: RawSpan, isChecked: Bool) throws(StreamError) {
        if next.isPlainValue, utf8.byteCount <= StringText.shortByteCount {
            try output.reserve(StringText.maxByteCount(for: utf8.byteCount))
            let commaCount = unsafe storeComma(at: output.end)
            // SAFETY: memory was reserved for the comma and the string.
            let count = unsafe StringText.store(utf8, isChecked: isChecked, at: output.end + commaCount)
            if count > 0 {
                output.advance(by: commaCount &+ count)
                endValue()
                return
            }
        }
        try writeAnyString(utf8)
    }

    @inline(never)
    private mutating func writeAnyString(_ utf8: RawSpan) throws(StreamError) {
        try StringText.check(utf8)
        try beginValue(reserving: 0)
        try StringText.writeQuoted(utf8, to: &output)
        if nesting.depth == 0 { try endRoot() }
    }

    /// Writes a string with the bytes in Base64, with padding.
    public mutating func writeData(_ bytes: RawSpan) throws(StreamError) {
        try beginValue(reserving: 0)
        try output.append(UInt8(ascii: "\""))
        try Base64Text.write(bytes, to: &output)
        try output.append(UInt8(ascii: "\""))
        if nesting.depth == 0 { try endRoot() }
    }

    /// Writes a date in the format of the options.
    ///
    /// - Throws: ``/PlistStreaming/StreamError/Kind/unrepresentable`` for a date that isn't finite, or for a date
    ///   outside the years 0 to 9999 if dates are written as strings.
    public mutating func writeDate(secondsSince2001 seconds: Double) throws(StreamError) {
        switch datePolicy {
        case .secondsSince2001: try writeReal(seconds)
        case .rfc3339:
            guard let text = DateText.rfc3339(secondsSince2001: seconds) else {
                throw StreamError(
                    .unrepresentable, "expected a date from year 0 to 9999, got \(seconds) seconds since 2001")
            }
            try text.withUTF8Span { text throws(StreamError) in try writeString(text) }
        }
    }
}

/// Whole numbers as decimal digits.
enum IntegerText {
    /// The number of bytes that `store` needs.
    static let maxByteCount = 32

    // PERF: eight digits per step with multiplications in one word, compared with a division per digit.
    /// Stores the digits of a number at an address with `maxByteCount` bytes, and returns their count.
    @unsafe @inline(__always)
    static func store(_ value: UInt64, at address: UnsafeMutableRawPointer) -> Int {
        if value < 100_000_000 { return unsafe storeLeading(value, at: address) }
        return unsafe storeLong(value, at: address)
    }

    /// Stores an optional sign and the digits of a number at an address with `maxByteCount` bytes, and returns their count.
    @unsafe @inline(__always)
    static func store(_ value: Int64, at address: UnsafeMutableRawPointer) -> Int {
        unsafe address.storeBytes(of: UInt8(ascii: "-"), as: UInt8.self)
        let signCount = value < 0 ? 1 : 0
        return unsafe signCount &+ store(value.magnitude, at: address + signCount)
    }

    @inline(never)
    private static func storeLong(_ value: UInt64, at address: UnsafeMutableRawPointer) -> Int {
        let rest = value / 100_000_000
        var count: Int
        // SAFETY: at most 8 + 8 + 8 bytes are stored.
        if rest < 100_000_000 {
            count = unsafe storeLeading(rest, at: address)
        } else {
            count = unsafe storeLeading(rest / 100_000_000, at: address)
            unsafe (address + count).storeBytes(of: eightDigits(rest % 100_000_000).littleEndian, as: UInt64.self)
            count &+= 8
        }
        unsafe (address + count).storeBytes(of: eightDigits(value % 100_000_000).littleEndian, as: UInt64.self)
        return count &+ 8
    }

    // PERF: JSONWriter/reals; 32 instructions for sixteen digits, compared with 36 if lanes are widened.
    /// Returns the digits, as numbers, of two numbers below 10^8, the first digit in the lowest byte of the first word.
    @inline(__always)
    static func sixteenDigits(_ high: UInt64, _ low: UInt64) -> SIMD2<UInt64> {
        #if _endian(little)
        // SAFETY: vectors of the same size; the order of lanes depends on the processor, which the condition above
        // checks. Two fours, then four pairs, then eight digits, each in its own lane, as in `eightDigits`. The mask
        // clears no bits, but lets the compiler multiply lanes of 16 bits.
        let fours = unsafe unsafeBitCast(SIMD2<UInt64>(twoFours(high), twoFours(low)), to: SIMD4<UInt32>.self)
        let hundreds = ((fours & 0x3FFF) &* 5243) &>> 19
        let hundredfold = unsafe unsafeBitCast(
            unsafeBitCast(hundreds, to: SIMD8<UInt16>.self) &* 100, to: SIMD4<UInt32>.self)
        let pairs = unsafe unsafeBitCast(hundreds &+ (fours &- hundredfold) &<< 16, to: SIMD8<UInt16>.self)
        let tens = (pairs &* 103) &>> 10
        return unsafe unsafeBitCast(pairs &<< 8 &- tens &* (10 << 8 &- 1), to: SIMD2<UInt64>.self)
        #else
        return SIMD2(eightDigits(high), eightDigits(low)) & 0x0F0F_0F0F_0F0F_0F0F
        #endif
    }

    /// Returns the quotient by 10^4 of a number below 10^8 in the low half of a word, and the remainder in the high
    /// half.
    @inline(__always)
    private static func twoFours(_ value: UInt64) -> UInt64 {
        let upper = (value &* 109_951_163) &>> 40
        // This is upper | (value - upper * 10^4) << 32 with one instruction less; the other two steps work the same
        // way.
        return value &<< 32 &- upper &* (10_000 << 32 &- 1)
    }

    /// Returns the text of a number below 10^8 in eight digits, the first in the lowest byte.
    @inline(__always)
    static func eightDigits(_ value: UInt64) -> UInt64 {
        // Two fours, then four pairs, then eight digits, each in its own lane; the quotients come from reciprocals.
        let fours = twoFours(value)
        let hundreds = ((fours &* 10_486) >> 20) & 0x0000_007F_0000_007F
        let pairs = fours &<< 16 &- hundreds &* (100 << 16 &- 1)
        let tens = ((pairs &* 103) >> 10) & 0x000F_000F_000F_000F
        return (pairs &<< 8 &- tens &* (10 << 8 &- 1)) | 0x3030_3030_3030_3030
    }

    /// Stores a number below 10^8 without leading zeros.
    @inline(__always)
    private static func storeLeading(_ value: UInt64, at address: UnsafeMutableRawPointer) -> Int {
        // The count comes from comparisons instead of the digits, so that the next store need not wait for them.
        var count = 1
        if value >= 10 { count &+= 1 }
        if value >= 100 { count &+= 1 }
        if value >= 1000 { count &+= 1 }
        if value >= 10_000 { count &+= 1 }
        if value >= 100_000 { count &+= 1 }
        if value >= 1_000_000 { count &+= 1 }
        if value >= 10_000_000 { count &+= 1 }
        let digits = eightDigits(value) &>> UInt64((8 &- count) &* 8)
        // SAFETY: the callers have memory for eight bytes.
        unsafe address.storeBytes(of: digits.littleEndian, as: UInt64.self)
        return count
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

enum JSONWriterValuesTests {}

extension JSONWriterValuesTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testWritesEveryWidthOfInteger": testWritesEveryWidthOfInteger,
            "testConvertsSixteenDigitsAtOnce": testConvertsSixteenDigitsAtOnce,
            "testFollowsTheNonFinitePolicy": testFollowsTheNonFinitePolicy,
            "testWritesDataAndDates": testWritesDataAndDates,
            "testRefusesInvalidUTF8": testRefusesInvalidUTF8,
        ]
    }

    private static func written(
        _ options: JSONWriterOptions = JSONWriterOptions(), _ body: (inout JSONWriter) throws(StreamError) -> Void
    ) throws(StreamError) -> String {
        var writer = JSONWriter(options: options)
        try body(&writer)
        try writer.finish()
        return writer.text
    }

    private static func testWritesEveryWidthOfInteger() throws {
        var power: UInt64 = 1
        for _ in 0..<20 {
            for value in [power - 1, power, power &+ power &* 8 / 9] {
                expectEqual(
                    try written { writer throws(StreamError) in try writer.writeUnsigned(value) }, "\(value)",
                    "unsigned")
                let signed = Int64(truncatingIfNeeded: value)
                expectEqual(
                    try written { writer throws(StreamError) in try writer.writeInteger(signed) }, "\(signed)", "signed"
                )
            }
            power = power &* 10
        }
        expectEqual(
            try written { writer throws(StreamError) in try writer.writeInteger(.min) }, "\(Int64.min)", "the least")
        expectEqual(
            try written { writer throws(StreamError) in try writer.writeUnsigned(.max) }, "\(UInt64.max)",
            "the greatest")
    }

    private static func testConvertsSixteenDigitsAtOnce() {
        // All numbers of four digits, in each place of eight.
        for number in stride(from: UInt64(0), to: 10_000, by: 7) {
            for (high, low) in [(number, 99_999_999 - number), (number * 10_000, number * 10_001)] {
                let digits = IntegerText.sixteenDigits(high, low) | SIMD2(repeating: 0x3030_3030_3030_3030)
                for (word, value) in [(digits[0], high), (digits[1], low)] {
                    let text = (0..<8).map { String(UnicodeScalar(UInt8(truncatingIfNeeded: word >> ($0 * 8)))) }
                    let expected = String(repeating: "0", count: 8 - String(value).count) + String(value)
                    if text.joined() != expected { expectEqual(text.joined(), expected, "digits of \(value)") }
                    if word != IntegerText.eightDigits(value) { fail("\(value) in one word: \(word)") }
                }
            }
        }
    }

    private static func testFollowsTheNonFinitePolicy() throws {
        for (value, name) in [(Double.nan, "NaN"), (.infinity, "Infinity"), (-.infinity, "-Infinity")] {
            let error = expectThrows(StreamError.self, name) {
                _ = try written { writer throws(StreamError) in try writer.writeReal(value) }
            }
            expectEqual(error?.kind, .unrepresentable, "kind for \(name)")
            expectEqual(
                try written(JSONWriterOptions(nonFinite: .null)) { writer throws(StreamError) in
                    try writer.writeReal(value)
                }, "null", name)
            expectEqual(
                try written(JSONWriterOptions(nonFinite: .string)) { writer throws(StreamError) in
                    try writer.writeReal(value)
                }, "\"\(name)\"", name)
        }
    }

    private static func testWritesDataAndDates() throws {
        let text = try written { writer throws(StreamError) in
            try writer.beginArray()
            for text in ["", "f", "fo", "foo", "foob"] {
                try text.withUTF8Span { bytes throws(StreamError) in try writer.writeData(bytes) }
            }
            try writer.writeDate(secondsSince2001: 0.25)
            try writer.endArray()
        }
        // RFC 4648 section 10.
        expectEqual(text, #"["","Zg==","Zm8=","Zm9v","Zm9vYg==","2001-01-01T00:00:00.250Z"]"#, "text")
        expectEqual(
            try written(JSONWriterOptions(dates: .secondsSince2001)) { writer throws(StreamError) in
                try writer.writeDate(secondsSince2001: 0.25)
            },
            "0.25", "seconds")
        let error = expectThrows(StreamError.self, "a date far away") {
            _ = try written { writer throws(StreamError) in try writer.writeDate(secondsSince2001: 1e15) }
        }
        expectEqual(error?.kind, .unrepresentable, "kind")
    }

    private static func testRefusesInvalidUTF8() {
        for bytes: [UInt8] in [
            [0x80], [0xC3], [0xED, 0xA0, 0x80, 0x61, 0x61], [0x61, 0x61, 0xF5, 0x61, 0x61, 0x61, 0x61, 0x61, 0x61],
        ] {
            let error = expectThrows(StreamError.self, "bytes \(bytes)") {
                // SAFETY: the span does not leave the closure.
                try unsafe bytes.withUnsafeBytes { buffer in
                    var writer = JSONWriter()
                    try writer.writeString(unsafe buffer.bytes)
                }
            }
            expectEqual(error?.kind, .invalidText, "kind of \(bytes)")
        }
    }
}
#endif
