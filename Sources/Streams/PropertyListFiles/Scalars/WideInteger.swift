// Integers of 128 bits, which binary property lists have but integer messages don't. They are sent as decimal digits.

import PlistStreaming

/// A signed integer of 128 bits.
///
/// The standard library's type needs a newer system than the oldest one that this package supports.
@usableFromInline
struct WideInteger: Equatable, CustomStringConvertible {
    @usableFromInline var high: Int64
    @usableFromInline var low: UInt64

    @usableFromInline
    init(high: Int64, low: UInt64) {
        (self.high, self.low) = (high, low)
    }

    /// Reads decimal digits with an optional minus; returns nil for other text, and beyond 128 bits.
    init?(_ text: RawSpan) {
        guard let number = DecimalNumber(text), number.isInteger else { return nil }
        var (high, low): (UInt64, UInt64) = (0, 0)
        for offset in number.digits {
            let digit = UInt64(text.byte(at: offset) &- 0x30)
            let product = low.multipliedFullWidth(by: 10)
            let (sum, carry) = product.low.addingReportingOverflow(digit)
            let (upper, overflow) = high.multipliedReportingOverflow(by: 10)
            let (next, isBeyond) = upper.addingReportingOverflow(product.high + (carry ? 1 : 0))
            guard !overflow, !isBeyond else { return nil }
            (high, low) = (next, sum)
        }
        if number.isNegative {
            guard high < 1 << 63 || high == 1 << 63 && low == 0 else { return nil }
            (high, low) = Self.negated(high, low)
        } else {
            guard high < 1 << 63 else { return nil }
        }
        self.init(high: Int64(bitPattern: high), low: low)
    }

    private static func negated(_ high: UInt64, _ low: UInt64) -> (UInt64, UInt64) {
        (~high &+ (low == 0 ? 1 : 0), ~low &+ 1)
    }

    /// The decimal digits.
    @usableFromInline
    var description: String {
        var (upper, lower) = (UInt64(bitPattern: high), low)
        if high < 0 { (upper, lower) = Self.negated(upper, lower) }
        let unit: UInt64 = 10_000_000_000_000_000_000
        var parts: [UInt64] = []
        repeat {
            let first = upper.quotientAndRemainder(dividingBy: unit)
            let second = unit.dividingFullWidth((first.remainder, lower))
            (upper, lower) = (first.quotient, second.quotient)
            parts.append(second.remainder)
        } while upper > 0 || lower > 0
        var text = (high < 0 ? "-" : "") + String(parts.removeLast())
        for part in parts.reversed() {
            let digits = String(part)
            text += String(repeating: "0", count: 19 - digits.count) + digits
        }
        return text
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension WideInteger: SelfTesting {
    @usableFromInline static var testSelectors: TestSelectors {
        [
            "testRoundTripsIntegers": testRoundTripsIntegers,
            "testRefusesIntegersOutOfRange": testRefusesIntegersOutOfRange,
        ]
    }

    private static func read(_ text: String) -> WideInteger? { text.withUTF8Span { WideInteger($0) } }

    private static func testRoundTripsIntegers() {
        let rows: [(String, Int64, UInt64)] = [
            ("0", 0, 0), ("1", 0, 1), ("-1", -1, .max), ("18446744073709551615", 0, .max),
            ("18446744073709551616", 1, 0),
            ("-18446744073709551616", -1, 0), ("-18446744073709551617", -2, .max),
            ("10000000000000000000", 0, 10_000_000_000_000_000_000),
            ("100000000000000000000000000000000000000", 0x4B3B_4CA8_5A86_C47A, 0x098A_2240_0000_0000),
            ("170141183460469231731687303715884105727", .max, .max),
            ("-170141183460469231731687303715884105728", .min, 0),
        ]
        for (text, high, low) in rows {
            expectEqual(read(text), WideInteger(high: high, low: low), text)
            expectEqual(WideInteger(high: high, low: low).description, text, "text")
        }
    }

    private static func testRefusesIntegersOutOfRange() {
        for text in [
            "170141183460469231731687303715884105728", "-170141183460469231731687303715884105729",
            "340282366920938463463374607431768211456", "1.0", "1e3", "", "-", "01", "1 ",
            String(repeating: "9", count: 4_000),
        ] { expectNil(read(text), text) }
    }
}
#endif
