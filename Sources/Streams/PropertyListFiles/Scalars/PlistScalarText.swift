// The texts of numbers that the text forms of property lists share.

import PlistBuilding
import PlistStreaming

/// Numbers of property lists as text.
enum PlistScalarText {
    /// Sends the integer in a text: decimal digits with an optional sign, or hexadecimal digits after `0x`.
    ///
    /// - Returns: False, without sending anything, for any other text.
    static func sendInteger<Sink: PlistSink & ~Copyable>(
        _ text: RawSpan, to sink: inout Sink
    ) throws(StreamError) -> Bool {
        var offset = 0
        let sign = text.byteCount > 0 ? text.byte(at: 0) : 0
        if sign == UInt8(ascii: "-") || sign == UInt8(ascii: "+") { offset = 1 }
        if text.byteCount > offset + 2, text.byte(at: offset) == UInt8(ascii: "0"),
            text.byte(at: offset + 1) | 0x20 == UInt8(ascii: "x")
        {
            return try sendHexadecimal(text, from: offset + 2, isNegative: sign == UInt8(ascii: "-"), to: &sink)
        }
        while offset < text.byteCount - 1, text.byte(at: offset) == UInt8(ascii: "0") { offset += 1 }
        let digits = text.extracting(offset..<text.byteCount)
        guard digits.byteCount > 0, digits.byte(at: 0) != UInt8(ascii: "-"), let number = DecimalNumber(digits),
            number.isInteger
        else { return false }
        var plain = sign == UInt8(ascii: "-") && number.mantissa > 0 ? [sign] : []
        digits.appendTo(&plain)
        return try send(plain, to: &sink)
    }

    private static func sendHexadecimal<Sink: PlistSink & ~Copyable>(
        _ text: RawSpan, from start: Int, isNegative: Bool, to sink: inout Sink
    ) throws(StreamError) -> Bool {
        var value: UInt64 = 0
        for offset in start..<text.byteCount {
            guard let digit = CharacterCode.hexadecimalValue(of: text.byte(at: offset)) else { return false }
            guard value >> 60 == 0 else {
                throw StreamError(.unrepresentable, "expected a hexadecimal integer of 64 bits, found a larger one")
            }
            value = value << 4 | UInt64(digit)
        }
        return try send(Array("\(isNegative && value > 0 ? "-" : "")\(value)".utf8), to: &sink)
    }

    private static func send<Sink: PlistSink & ~Copyable>(
        _ digits: [UInt8], to sink: inout Sink
    ) throws(StreamError) -> Bool {
        try digits.withRawSpan { (text) throws(StreamError) in
            guard let number = DecimalNumber(text) else { return false }
            try sink.write(number, in: text)
            return true
        }
    }

    /// Returns the double nearest to a text: nil if the text isn't a number, infinite if it is beyond all doubles.
    static func real(_ text: RawSpan) -> Double? {
        guard let text = String(validating: text) else { return nil }
        switch text.lowercased() {
        case "nan": return .nan
        case "inf", "+inf", "infinity", "+infinity": return .infinity
        case "-inf", "-infinity": return -.infinity
        default: break
        }
        guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) || "+-.eE".utf8.contains($0) }),
            let value = Double(text)
        else { return nil }
        return value
    }

    /// Returns whether a text names a non-finite number, as opposed to a number beyond the finite doubles.
    static func isNamed(_ text: RawSpan) -> Bool {
        (0..<text.byteCount).contains { text.byte(at: $0) | 0x20 == UInt8(ascii: "n") }
    }

    /// Returns the text of a real, in the shortest digits that read back as the same double.
    static func text(ofReal value: Double) -> String {
        if value.isNaN { return "nan" }
        if value.isInfinite { return value < 0 ? "-infinity" : "+infinity" }
        return "\(value)"
    }

    /// Returns the integer in a text without fraction and exponent, or nil for other text and beyond 128 bits.
    static func wideInteger(_ text: RawSpan) -> Int128? {
        NumberText.isInteger(text) ? NumberText.integer(text, as: Int128.self) : nil
    }

    /// The number to write for a text, in a form that has integers and doubles.
    enum Number {
        /// Decimal digits.
        case integer(String)
        case real(Double)
    }

    /// Returns the number that is written for a text: an integer of up to 128 bits exactly, or the double that has the digits
    /// of a number with a fraction or an exponent.
    ///
    /// - Throws: `unrepresentable` for any other one, `misuse` for text that isn't a number.
    static func number(_ text: RawSpan) throws(StreamError) -> Number {
        guard DecimalNumber(text) != nil else { throw StreamError(.misuse, "got text that isn't a number") }
        if let integer = wideInteger(text), integer != 0 || text.byte(at: 0) != UInt8(ascii: "-") {
            return .integer("\(integer)")
        }
        switch try NumberText.kept(text, rounding: false) {
        case .integer(let value): return .integer("\(value)")
        case .real(let value): return .real(value)
        }
    }
}

extension RawSpan {
    /// Appends the bytes to an array.
    func appendTo(_ bytes: inout [UInt8]) {
        // SAFETY: the buffer is read only within the closure.
        unsafe withUnsafeBytes { unsafe bytes.append(contentsOf: $0) }
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension PlistScalarText: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testReadsIntegers": testReadsIntegers, "testReadsWideIntegers": testReadsWideIntegers,
            "testReadsReals": testReadsReals,
            "testWritesNumbersOrRefuses": testWritesNumbersOrRefuses,
        ]
    }

    private static func testReadsIntegers() throws {
        let rows = [
            ("0", "integer 0"), ("-0", "integer 0"), ("+5", "integer 5"), ("007", "integer 7"), ("-007", "integer -7"),
            ("000", "integer 0"), ("9223372036854775807", "integer 9223372036854775807"),
            ("-9223372036854775808", "integer -9223372036854775808"),
            ("9223372036854775808", "unsigned 9223372036854775808"),
            ("18446744073709551616", "number 18446744073709551616"),
            ("-9223372036854775809", "number -9223372036854775809"), ("0x1F", "integer 31"), ("-0xff", "integer -255"),
            ("0XFFFFFFFFFFFFFFFF", "unsigned 18446744073709551615"), ("-0x0", "integer 0"),
            ("-0x8000000000000000", "integer -9223372036854775808"),
            ("-0x8000000000000001", "number -9223372036854775809"), ("", ""), ("-", ""), ("+", ""), ("+-5", ""),
            ("--5", ""), ("1.0", ""), ("1e3", ""), ("0x", ""), ("0xg", ""), (" 5", ""), ("5 ", ""), ("0-5", ""),
        ]
        for (text, expected) in rows {
            var trace = EventTrace()
            let isSent = try text.withUTF8Span { (text) throws(StreamError) in try sendInteger(text, to: &trace) }
            expectEqual(trace.text, expected, text)
            expectEqual(isSent, expected != "", text)
        }
        let error = expectThrows(StreamError.self, "more than 64 bits") {
            var trace = EventTrace()
            try "0x10000000000000000".withUTF8Span { (text) throws(StreamError) in _ = try sendInteger(text, to: &trace)
            }
        }
        expectEqual(error?.kind, .unrepresentable, "kind")
    }

    private static func testReadsWideIntegers() {
        for text in [
            "0", "1", "-1", "18446744073709551615", "18446744073709551616", "-18446744073709551617",
            "100000000000000000000000000000000000000", "170141183460469231731687303715884105727",
            "-170141183460469231731687303715884105728",
        ] { expectEqual(text.withUTF8Span { wideInteger($0) }.map { "\($0)" }, text, text) }
        for text in [
            "170141183460469231731687303715884105728", "-170141183460469231731687303715884105729",
            "340282366920938463463374607431768211456", "1.0", "1e3", "", "-", "01", "1 ",
            String(repeating: "9", count: 4_000),
        ] { expectNil(text.withUTF8Span { wideInteger($0) }, text) }
    }

    private static func testReadsReals() {
        for (text, value) in [
            ("0.5", 0.5), ("-1e3", -1_000), (".5", 0.5), ("5.", 5), ("+2", 2), ("1E-2", 0.01), ("+infinity", .infinity),
            ("inf", .infinity), ("-Infinity", -.infinity), ("-0.0", -0.0), ("1e400", .infinity), ("NaN", .nan),
        ] {
            let read = text.withUTF8Span { real($0) }
            expectEqual(read?.bitPattern, value.bitPattern, text)
            expectEqual(text.withUTF8Span { isNamed($0) }, !value.isFinite && text != "1e400", text)
        }
        for text in ["", "x", "0x10", "1 ", "e5", "1e", "--1", "1,5", "infinit", "nan(1)"] {
            let read: Double? = text.withUTF8Span { (text: RawSpan) -> Double? in real(text) }
            expectNil(read, text)
        }
    }

    private static func testWritesNumbersOrRefuses() throws {
        func written(_ text: String) throws(StreamError) -> String {
            switch try text.withUTF8Span({ (text) throws(StreamError) in try number(text) }) {
            case .integer(let digits): return digits
            case .real(let value): return "real \(value)"
            }
        }
        for (text, expected) in [
            ("18446744073709551616", "18446744073709551616"), ("-0", "real -0.0"), ("1.5", "real 1.5"), ("7", "7"),
            ("1.0", "real 1.0"), ("1e3", "real 1000.0"), ("-0.0", "real -0.0"),
            ("12345678901234568.0", "real 1.2345678901234568e+16"),
            ("2.6684676428008918e+17", "real 2.6684676428008918e+17"), ("9007199254740993.0", "9007199254740993"),
        ] { expectEqual(try written(text), expected, text) }
        for (text, kind) in [
            ("1e400", StreamError.Kind.unrepresentable), ("0.1234567890123456789", .unrepresentable),
            (String(repeating: "9", count: 40), .unrepresentable),
            ("x", .misuse),
        ] {
            expectEqual(expectThrows(StreamError.self, text) { _ = try written(text) }?.kind, kind, text)
        }
    }
}
#endif
