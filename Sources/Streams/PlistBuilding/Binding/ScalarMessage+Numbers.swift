// Implements the rule of `PlistSink` for numbers in text: selects the message for each number, for all formats.

import PlistStreaming

extension ScalarMessage {
    /// Creates the message for a number, or returns nil if the text isn't a number.
    ///
    /// - Complexity: O(*n*) in the bytes.
    package init?(numberIn text: UnsafeRawBufferPointer) {
        guard let number = unsafe DecimalNumber(text.bytes) else { return nil }
        unsafe self.init(number, in: text)
    }

    /// Creates the message for a parsed number with its text. The number is rounded by a function, to infinity if it exceeds
    /// all doubles.
    ///
    /// SPEC: integers are exact or text; `-0` is the double -0.0, as no integer holds it; fractions and exponents give the
    /// nearest double, ties to even, unless that misleads: see `MisleadingDouble`.
    package init(
        _ number: DecimalNumber, in text: UnsafeRawBufferPointer,
        nearest: (DecimalNumber, RawSpan) -> Double = NumberText.nearest(to:text:)
    ) {
        unsafe self = .number(text)
        if number.isInteger {
            guard !number.isTruncated else { return }
            let mantissa = number.mantissa
            if !number.isNegative {
                unsafe self = Int64(exactly: mantissa).map { unsafe .integer($0) } ?? .unsigned(mantissa)
            } else if mantissa == 0 {
                unsafe self = .real(-0.0)
            } else if mantissa <= Int64.min.magnitude {
                unsafe self = .integer(Int64(truncatingIfNeeded: 0 &- mantissa))
            }
            return
        }
        let magnitude = unsafe nearest(number, text.bytes)
        guard magnitude.isFinite, !MisleadingDouble.isMisleading(magnitude, for: number) else { return }
        unsafe self = .real(number.isNegative ? -magnitude : magnitude)
    }
}

extension PlistSink where Self: ~Copyable {
    /// Sends the number in a text by the first message that can hold it: an integer, a real or the text.
    ///
    /// - Parameter text: A number in the grammar of RFC 8259 section 6.
    /// - Throws: `misuse` for any other text, and errors of the message.
    /// - Complexity: O(*n*) in the bytes.
    public mutating func write(numberIn text: RawSpan) throws(StreamError) {
        guard let number = DecimalNumber(text) else { throw StreamError(.misuse, "got text that isn't a number") }
        try write(number, in: text)
    }

    /// Sends a parsed number with its text by the first message that can hold it.
    package mutating func write(_ number: DecimalNumber, in text: RawSpan) throws(StreamError) {
        // SAFETY: the pointer does not leave the closure.
        try unsafe text.withUnsafeBytes { (text) throws(StreamError) in
            try unsafe write(ScalarMessage(number, in: text))
        }
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

enum ScalarMessageNumbersTests {}

extension ScalarMessageNumbersTests: SelfTesting {
    static var testSelectors: TestSelectors { ["testChoosesFirstExactMessage": testChoosesFirstExactMessage] }

    private static func testChoosesFirstExactMessage() {
        for number in ["0", "-1", "9223372036854775807", "-9223372036854775808"] { check(number, "integer \(number)") }
        for number in ["9223372036854775808", "18446744073709551615"] { check(number, "unsigned \(number)") }
        for (number, real) in [
            ("-0", -0.0), ("-0.0", -0.0), ("0e7", 0), ("1.5", 1.5), ("1e22", 1e22), ("1e23", 1e23), ("-1e-2", -0.01),
            ("9007199254740992.0", 0x1p53), ("1.7976931348623157e308", .greatestFiniteMagnitude),
        ] { check(number, "real \(real)") }
        for number in [
            "18446744073709551616", "-9223372036854775809", "1e309", "-1e400", "1e-400", "9007199254740993.0",
            "0.99999999999999999", "8.000001430511475",
        ] { check(number, "number \(number)") }
        for text in ["", "-", "+1", "01", "1.", ".5", "1e", "1x", "nan"] { check(text, nil) }
    }

    private static func check(_ text: String, _ expected: String?) {
        text.withUTF8Span { expectEqual($0.shownNumber, expected, text) }
        var trace = EventTrace()
        do throws(StreamError) {
            try text.withUTF8Span { (number) throws(StreamError) in try trace.write(numberIn: number) }
            expectEqual(trace.text, expected, "what is sent of \(text)")
        } catch {
            expectEqual(error.kind, .misuse, "kind of \(text)")
            expectNil(expected, "what is expected of \(text)")
        }
    }
}

extension RawSpan {
    /// A description of the message for a number.
    package var shownNumber: String? { unsafe withUnsafeBytes { unsafe ScalarMessage(numberIn: $0)?.shown } }
}

extension ScalarMessage {
    /// A description of the message.
    package var shown: String {
        var trace = EventTrace()
        do throws(StreamError) { try unsafe trace.write(self) } catch { return "\(error)" }
        return trace.text
    }
}
#endif
