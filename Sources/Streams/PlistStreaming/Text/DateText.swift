// Dates as text, in the form of SQLite's date functions and of RFC 3339, without a calendar library.

/// The number of seconds from 1970 to 2001.
package let secondsFrom1970To2001: Double = 978_307_200.0

/// Dates as text in UTC, without a calendar library.
public enum DateText {
    /// Writes a date as `2026-11-21 06:38:16.250`. The fraction has the fewest digits, from three to nine, that are read back
    /// as the same date.
    ///
    /// - Returns: nil for dates outside the years 0 to 9999, which the form cannot represent, and for NaN.
    package static func text(secondsSince2001 seconds: Double) -> String? {
        // SPEC: https://sqlite.org/lang_datefunc.html, valid from 0000-01-01 to 9999-12-31.
        guard seconds >= -63_145_526_400, seconds < 252_423_993_600 else { return nil }
        let (total, fraction, width) = parts(seconds)
        return text(total, separator: " ").map { "\($0).\(padded(fraction, width))" }
    }

    /// Returns the whole seconds, and the fraction with the fewest decimal digits, from three to nine, that are read back as
    /// the same date.
    private static func parts(_ seconds: Double) -> (total: Int, fraction: Int, width: Int) {
        let whole = seconds.rounded(.down)
        var scale = 1e3
        for width in 3...9 {
            let fraction = ((seconds - whole) * scale).rounded()
            if width == 9 || whole + fraction / scale == seconds {
                return fraction == scale ? (Int(whole) + 1, 0, 3) : (Int(whole), Int(fraction), width)
            }
            scale *= 10
        }
        return (Int(whole), 0, 3)
    }

    /// Writes a date in the form of RFC 3339, such as `2001-01-01T00:00:00Z`. If the fraction of a second is not zero, it is
    /// written with the fewest digits, from three to nine, that are read back as the same date.
    ///
    /// - Returns: nil for dates outside the years 0 to 9999, and for NaN.
    public static func rfc3339(secondsSince2001 seconds: Double) -> String? {
        // 63,113,904,000 seconds are 2,000 years of 365.2425 days. The exact test of the year follows.
        guard seconds.isFinite, abs(seconds) < 400_000_000_000 else { return nil }
        let (total, fraction, width) = parts(seconds)
        guard let text = text(total, separator: "T") else { return nil }
        return fraction == 0 ? text + "Z" : "\(text).\(padded(fraction, width))Z"
    }

    /// Returns the date and time of whole seconds since 2001, or nil outside the years 0 to 9999.
    private static func text(_ total: Int, separator: String) -> String? {
        let day = total.floorDivided(by: 86_400)
        let second = total - day * 86_400
        let (year, month, date) = civil(daysSince2001: day)
        guard (0...9999).contains(year) else { return nil }
        return "\(padded(year, 4))-\(padded(month, 2))-\(padded(date, 2))\(separator)"
            + "\(padded(second / 3600, 2)):\(padded(second / 60 % 60, 2)):\(padded(second % 60, 2))"
    }

    /// Reads a date and time such as `2026-11-21T06:38:16.25+01:00`. Without an offset, the time is in UTC.
    ///
    /// - Returns: The seconds since 2001-01-01 00:00:00 UTC, or nil for any other text.
    public static func secondsSince2001(_ text: RawSpan) -> Double? {
        // SAFETY: the bytes are read only within the closure.
        unsafe text.withUnsafeBytes { unsafe secondsSince2001($0) }
    }

    /// Reads a date and time in UTF-8; see `secondsSince2001(_:)` for a span.
    package static func secondsSince2001(_ text: UnsafeRawBufferPointer) -> Double? {
        var cursor = unsafe Cursor(text)
        guard let year = cursor.digits(4), cursor.skip(0x2D), let month = cursor.digits(2), cursor.skip(0x2D),
            let date = cursor.digits(2), (1...12).contains(month), (1...length(of: month, year)).contains(date),
            cursor.skip(0x20) || cursor.skip(0x54),
            let hour = cursor.digits(2), cursor.skip(0x3A), let minute = cursor.digits(2), hour < 24, minute < 60
        else { return nil }
        var second = 0
        var fraction = 0.0
        if cursor.skip(0x3A) {
            guard let value = cursor.digits(2), value < 60 else { return nil }
            second = value
            if cursor.skip(0x2E) {
                guard let value = cursor.fraction() else { return nil }
                fraction = value
            }
        }
        guard let offset = cursor.offset(), cursor.isAtEnd else { return nil }
        let total = days(year, month, date) * 86_400 + hour * 3600 + minute * 60 + second - offset
        return Double(total) + fraction
    }

    private static func padded(_ number: Int, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }

    private static func length(of month: Int, _ year: Int) -> Int {
        let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        return month == 2 ? (isLeap ? 29 : 28) : [4, 6, 9, 11].contains(month) ? 30 : 31
    }

    /// Returns the days from 2001-01-01 to a date of the Gregorian calendar. Months are counted from March, so that a leap day
    /// is last.
    private static func days(_ year: Int, _ month: Int, _ date: Int) -> Int {
        let shifted = month > 2 ? year : year - 1
        let era = shifted.floorDivided(by: 400)
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + date - 1
        // From 0000-03-01 to 2001-01-01 are 730,791 days.
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 730_791
    }

    /// Returns the date of the Gregorian calendar a number of days after 2001-01-01; the inverse of `days`.
    private static func civil(daysSince2001 days: Int) -> (Int, Int, Int) {
        let shifted = days + 730_791
        let era = shifted.floorDivided(by: 146_097)
        let day = shifted - era * 146_097
        let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365
        let dayOfYear = day - (365 * year + year / 4 - year / 100)
        let month = (5 * dayOfYear + 2) / 153
        let date = dayOfYear - (153 * month + 2) / 5 + 1
        return (year + era * 400 + (month >= 10 ? 1 : 0), (month + 2) % 12 + 1, date)
    }

    @safe
    private struct Cursor {
        private let text: UnsafeRawBufferPointer
        private var index = 0

        init(_ text: UnsafeRawBufferPointer) { unsafe self.text = unsafe text }

        var isAtEnd: Bool { unsafe index == text.count }

        private mutating func digit() -> Int? {
            guard unsafe index < text.count, unsafe (0x30...0x39).contains(text[index]) else { return nil }
            index += 1
            return unsafe Int(text[index - 1]) - 0x30
        }

        mutating func digits(_ count: Int) -> Int? {
            var value = 0
            for _ in 0..<count {
                guard let digit = digit() else { return nil }
                value = value * 10 + digit
            }
            return value
        }

        mutating func skip(_ byte: UInt8) -> Bool {
            guard unsafe index < text.count, unsafe text[index] == byte else { return false }
            index += 1
            return true
        }

        /// Reads any number of digits, and ignores those after the ninth.
        mutating func fraction() -> Double? {
            guard var value = digit() else { return nil }
            var scale = 10.0
            while let digit = digit() {
                if scale < 1e9 { (value, scale) = (value * 10 + digit, scale * 10) }
            }
            return Double(value) / scale
        }

        /// Reads `Z`, `+01:00` or an empty offset, in seconds.
        mutating func offset() -> Int? {
            if isAtEnd || skip(0x5A) { return 0 }
            let sign = skip(0x2D) ? -1 : skip(0x2B) ? 1 : 0
            guard sign != 0, let hour = digits(2), skip(0x3A), let minute = digits(2), hour < 24, minute < 60 else {
                return nil
            }
            return sign * (hour * 3600 + minute * 60)
        }
    }
}

extension Int {
    /// Returns the quotient, rounded down.
    fileprivate func floorDivided(by divisor: Int) -> Int {
        let quotient = self / divisor
        return self % divisor < 0 ? quotient - 1 : quotient
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension DateText: SelfTesting {
    /// The tests of this type.
    public static var testSelectors: TestSelectors {
        [
            "testWritesDates": testWritesDates,
            "testWritesDatesOfRFC3339": testWritesDatesOfRFC3339,
            "testRoundTripsDatesExactly": testRoundTripsDatesExactly,
            "testReadsOtherForms": testReadsOtherForms,
            "testRefusesInvalidDates": testRefusesInvalidDates,
        ]
    }

    private static func read(_ text: String) -> Double? {
        text.withUTF8Span { secondsSince2001($0) }
    }

    private static func testWritesDates() throws {
        let rows: [(Double, String)] = [
            (0, "2001-01-01 00:00:00.000"), (-0.5, "2000-12-31 23:59:59.500"), (86_399.25, "2001-01-01 23:59:59.250"),
            (817_022_296.125, "2026-11-22 06:38:16.125"), (-63_113_904_000, "0001-01-01 00:00:00.000"),
            (252_423_993_599, "9999-12-31 23:59:59.000"),
        ]
        for (seconds, expected) in rows {
            let text = try requireNotNil(text(secondsSince2001: seconds), "text")
            expectEqual(text, expected, "\(seconds)")
        }
        for seconds in [Double.nan, .infinity, -1e30, 252_423_993_600] {
            expectNil(text(secondsSince2001: seconds), "\(seconds)")
        }
    }

    private static func testWritesDatesOfRFC3339() {
        let rows: [(Double, String?)] = [
            (0, "2001-01-01T00:00:00Z"), (-1, "2000-12-31T23:59:59Z"), (-978_307_200, "1970-01-01T00:00:00Z"),
            (-26_524_800, "2000-02-29T00:00:00Z"), (86_399.999, "2001-01-01T23:59:59.999Z"),
            (86_399.9996, "2001-01-01T23:59:59.9996Z"), (800_000_000.123456, "2026-05-09T06:13:20.123456Z"),
            (-0.000_000_000_1, "2001-01-01T00:00:00Z"), (0.1, "2001-01-01T00:00:00.100Z"),
            (-0.25, "2000-12-31T23:59:59.750Z"), (-63_113_904_000, "0001-01-01T00:00:00Z"),
            (252_423_993_599, "9999-12-31T23:59:59Z"),
            (252_423_993_600, nil), (.nan, nil), (.infinity, nil), (1e300, nil),
        ]
        for (seconds, expected) in rows { expectEqual(rfc3339(secondsSince2001: seconds), expected, "\(seconds)") }
    }

    private static func testRoundTripsDatesExactly() throws {
        // The steps cover every month, leap days, and fractions of any kind.
        var seconds = -30_000_000_000.0
        while seconds < 200_000_000_000 {
            let text = try requireNotNil(text(secondsSince2001: seconds), "text")
            // Within 100 days of 2001, doubles have a higher precision than nanoseconds.
            if abs(seconds) > 8_640_000 {
                expectEqual(read(text), seconds, text)
                let short = try requireNotNil(rfc3339(secondsSince2001: seconds), "text of RFC 3339")
                expectEqual(read(short), seconds, short)
            }
            seconds += 123_456_789.012_345_6
        }
    }

    private static func testReadsOtherForms() {
        let rows: [(String, Double)] = [
            ("2001-01-01T00:00:00Z", 0), ("2001-01-01 00:00", 0), ("2001-01-01T01:00:00+01:00", 0),
            ("2000-12-31 23:30:00.5-00:30", 0.5), ("2004-02-29 00:00:00", 99_705_600),
        ]
        for (text, seconds) in rows { expectEqual(read(text), seconds, text) }
    }

    private static func testRefusesInvalidDates() {
        for text in [
            "", "2001", "2001-01-01", "2001-13-01 00:00", "2001-02-29 00:00", "2001-01-01 24:00", "2001-01-01 00:60",
            "2001-01-01 00:00:60", "2001-01-01 00:00:00.", "2001-01-01 00:00x", "2001-01-01  00:00",
            "2001-01-01 00:00+1",
            "20010101T000000", "2001-00-01 00:00", "2001-01-00 00:00",
        ] {
            expectNil(read(text), text)
        }
    }
}
#endif
