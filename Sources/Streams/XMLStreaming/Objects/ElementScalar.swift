// Chooses the message for the text of an element or attribute from the value that the sink expects.

import PlistBuilding
import PlistCoding
import PlistStreaming

/// Sends text as the scalar that a sink expects.
enum ElementScalar {
    /// Sends text as a number or a Boolean if the sink expects one and the text is valid. Otherwise sends a string.
    ///
    /// Numbers are spelled as in JSON, but white space around them, a plus sign and leading zeros are allowed. Booleans are
    /// `true`, `false`, `1` and `0`.
    static func send<Sink: PlistSink & ~Copyable>(
        _ text: RawSpan, as expected: ExpectedValue, to sink: inout Sink
    ) throws(StreamError) {
        switch expected.kind {
        case .any, .text, .array, .dictionary:
            return try sink.writeString(text)
        case .nothing:
            return try sink.writeNull()
        case .integer, .real, .number, .bool:
            break
        }
        let value = text.withoutXMLWhitespaceAround
        if value.byteCount == 0, expected.isOptional { return try sink.writeNull() }
        if expected.kind == .bool {
            if let bool = ElementText.bool(value) { return try sink.writeBool(bool) }
        } else if try sendNumber(value, isDouble: expected.kind == .real, to: &sink) {
            return
        }
        // The sink reports the expected and the actual value.
        try sink.writeString(text)
    }

    /// Sends a number by the first message that can represent it.
    ///
    /// - Returns: `false` if the text isn't a number.
    private static func sendNumber<Sink: PlistSink & ~Copyable>(
        _ text: RawSpan, isDouble: Bool, to sink: inout Sink
    ) throws(StreamError) -> Bool {
        if try sendPlain(text, isDouble: isDouble, to: &sink) { return true }
        guard let digits = ElementText.plainNumber(text) else { return false }
        return try digits.withRawSpan { (digits) throws(StreamError) in
            try sendPlain(digits, isDouble: isDouble, to: &sink)
        }
    }

    private static func sendPlain<Sink: PlistSink & ~Copyable>(
        _ text: RawSpan, isDouble: Bool, to sink: inout Sink
    ) throws(StreamError) -> Bool {
        guard let number = DecimalNumber(text) else { return false }
        if number.isInteger || isDouble {
            try sink.write(number, in: text)
        } else {
            // A sink that needs the nearest value of its own type rounds the text only once.
            try sink.writeNumber(text: text)
        }
        return true
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension ElementScalar: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testSendsExpectedTypes": testSendsExpectedTypes,
            "testRoundsLikeTheStandardLibrary": testRoundsLikeTheStandardLibrary,
        ]
    }

    private static func sent(_ text: String, _ expected: ExpectedValue) throws -> String {
        var trace = EventTrace()
        try text.withUTF8Span { (text) throws(StreamError) in try send(text, as: expected, to: &trace) }
        return trace.text
    }

    private static func testSendsExpectedTypes() throws {
        let rows: [(String, ExpectedValue.Kind, String)] = [
            (" 12 ", .integer, "integer 12"), ("+007", .integer, "integer 7"), ("-007", .integer, "integer -7"),
            ("-0", .integer, "real -0.0"), ("00", .integer, "integer 0"),
            ("-9223372036854775808", .integer, "integer -9223372036854775808"),
            ("-9223372036854775809", .integer, "number -9223372036854775809"),
            ("18446744073709551615", .integer, "unsigned 18446744073709551615"),
            ("18446744073709551616", .integer, "number 18446744073709551616"), ("1.5", .integer, "number 1.5"),
            ("1.5", .real, "real 1.5"), ("-01.50", .real, "real -1.5"), ("2e3", .real, "real 2000.0"),
            ("1e400", .real, "number 1e400"), ("0.1", .number, "number 0.1"), ("12", .number, "integer 12"),
            ("x", .integer, "string \"x\""), ("", .integer, "string \"\""), ("+-1", .integer, "string \"+-1\""),
            ("--1", .real, "string \"--1\""), ("+", .real, "string \"+\""), (" ", .real, "string \" \""),
            (".5", .real, "string \".5\""),
            ("1 2", .integer, "string \"1 2\""), ("NaN", .real, "string \"NaN\""),
            ("0x10", .integer, "string \"0x10\""),
            ("true", .bool, "true"), (" 0\n", .bool, "false"), ("1", .bool, "true"), ("TRUE", .bool, "string \"TRUE\""),
            (" 1 ", .text, "string \" 1 \""), ("1", .any, "string \"1\""), ("1", .dictionary, "string \"1\""),
            ("1", .nothing, "null"),
        ]
        for (text, kind, expected) in rows {
            expectEqual(try sent(text, ExpectedValue(kind)), expected, "\(text) as \(kind)")
        }
        expectEqual(try sent(" ", ExpectedValue(.integer, isOptional: true)), "null", "nothing as an optional number")
        expectEqual(
            try sent("", ExpectedValue(.text, isOptional: true)), "string \"\"", "nothing as an optional string")
    }

    private static func testRoundsLikeTheStandardLibrary() throws {
        var generator = TestRandom(seed: 12)
        for _ in 0..<2_000 {
            let digits = UInt64.random(
                in: 0...UInt64.max >> UInt64.random(in: 0...60, using: &generator), using: &generator)
            let text = "\(digits)e\(Int.random(in: -40...40, using: &generator))"
            let real = Double(text) ?? .nan
            let found = try sent(text, ExpectedValue(.real))
            guard found != "real \(real)", found != "number \(text)" else { continue }
            expectEqual(found, "real \(real)", text)
        }
    }
}
#endif
