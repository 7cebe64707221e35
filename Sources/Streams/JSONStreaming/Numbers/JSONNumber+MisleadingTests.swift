// Tests that numbers are sent as text if their double would be misleading, in the same way in JSON and in
// `ScalarMessage`.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistBuilding
import PlistStreaming

enum MisleadingDoublesTests {}

extension MisleadingDoublesTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testDetectsExactDoubles": testDetectsExactDoubles,
            "testSendsTextIfADoubleIsInexact": testSendsTextIfADoubleIsInexact,
            "testConvertsDoublesLikeTheirText": testConvertsDoublesLikeTheirText,
        ]
    }

    private static func testDetectsExactDoubles() {
        let rows: [(UInt64, Int, Bool)] = [
            (0, 0, true), (0, -400, true), (1, -1, false), (5, -1, true), (125, -3, true), (126, -3, false),
            (1, 22, true), (1, 23, false), (9_007_199_254_740_993, 0, false), (9_007_199_254_740_992, 0, true),
            (90_071_992_547_409_920, -1, true), (90_071_992_547_409_930, -1, false), (1, -400, false), (.max, 0, false),
            (1 << 63, 0, true), (1, 300, false), (5_000_000_000_000_000_000, -19, true),
            (7_450_580_596_923_828_125, -27, true),
        ]
        for (mantissa, exponent, expected) in rows {
            let value = DecimalRounding.nearest(mantissa: mantissa, exponent: exponent)
            expectEqual(
                MisleadingDouble.isExact(value, mantissa: mantissa, exponent: exponent), expected,
                "\(mantissa)e\(exponent)")
        }
    }

    private static func testSendsTextIfADoubleIsInexact() {
        let misleading = [
            "9007199254740993.0", "9007199254740993e0", "900719925474099.3e1", "0.99999999999999999",
            "1.0000000000000001",
            "1.00000000000000000001", "123456.99999999999999", "33554433.99999999999", "1.2345678901234567e18",
            "18446744073709551615.0", "1.8446744073709551617e19", "1e-400", "-2e-324", "8.000001430511475",
            "1.00000017881393432617187499", "340282356779733661637539395458142568447.9",
            "4503599627370497.4999999999999999999999",
        ]
        for text in misleading {
            for text in [text, text.hasPrefix("-") ? text : "-" + text] {
                JSONScanner.expectOutcome(Array("[\(text)]".utf8), "[ number \(text) ]", text)
                JSONScanner.expectOutcome(Array("{\"a\":[[\(text),\(text)],[\(text)]]}".utf8), nil, text)
            }
        }
        for text in [
            "0.10000000149011612", "1.0000001192092896", "0.12500000000000000001", "3.4028234663852886e+38", "1e23",
            "1.0", "0.1", "1e2", "12345678.0", "9007199254740992.0", "0.5000000000000000", "0.000000000000000", "1e22",
        ] {
            let value = Double(text) ?? .nan
            JSONScanner.expectOutcome(Array("[\(text)]".utf8), "[ real \(value) ]", text)
        }
    }

    /// Random texts around the values and middles of floats and around whole numbers.
    private static func testConvertsDoublesLikeTheirText() {
        var state: UInt64 = 11
        func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state ^ state >> 29
        }
        for _ in (0..<2_000).sampledInDebug(every: 5) {
            let float = Float(bitPattern: UInt32(truncatingIfNeeded: next()))
            guard float.isFinite else { continue }
            let middle = (Double(float) + Double(float.nextUp)) / 2
            let whole = Double(next() >> (next() & 63))
            for value in [middle, Double(float), whole, whole + 0.5] where value.isFinite {
                for count in [6, 14, 15, 16, 17, 18, 20, 26] { check(value, count) }
            }
        }
    }

    private static func check(_ value: Double, _ digitCount: Int) {
        guard let text = Self.text(value, digitCount) else { return }
        text.withUTF8Span { span in
            let message = unsafe span.withUnsafeBytes { unsafe JSONNumber.message($0).shown }
            if message != span.shownNumber { expectEqual(message, span.shownNumber, "the message for \(text)") }
            guard message.hasPrefix("real "), let real = Double(message.dropFirst(5)) else { return }
            if Float(real) != Float(text) { expectEqual(Float(real), Float(text), text) }
            let exact = NumberText.integer(span, as: Int64.self)
            if Int64(exactly: real) != exact { expectEqual(Int64(exactly: real), exact, text) }
        }
    }

    /// Returns a text with the given number of digits, slightly wrong in the last one, for numbers that are neither too
    /// large nor too small.
    private static func text(_ value: Double, _ digitCount: Int) -> String? {
        let magnitude = value.magnitude
        guard magnitude > 1e-9, magnitude < 1e19 else { return "\(value)" }
        // Whole digits, then the digits after the point one by one; exact, because remainders of doubles are exact.
        var text = "\(UInt64(magnitude))"
        var rest = magnitude - magnitude.rounded(.towardZero)
        guard text.utf8.count < digitCount else { return value < 0 ? "-" + text + ".0" : text + ".0" }
        text += "."
        var digits = 0
        while text.utf8.count <= digitCount || digits == 0 {
            // Ten times a double of 53 bits has up to 57; only bits that are discarded anyway are lost.
            rest *= 10
            let digit = min(rest.rounded(.towardZero), 9)
            text += "\(Int(digit))"
            rest -= digit
            digits += 1
        }
        return value < 0 ? "-" + text : text
    }
}
#endif
