// Points in time as RFC 3339 text in UTC, without a calendar library.

/// The text of dates.
enum DateText {
    /// The text of a date, such as `2001-01-01T00:00:00Z`, or nil outside the years 0 to 9999.
    ///
    /// Fractions are rounded to milliseconds and written when they are not zero.
    static func rfc3339(secondsSince2001 seconds: Double) -> String? {
        // 63,113,904,000 seconds are 2,000 years of 365.2425 days; the year's own test follows.
        guard seconds.isFinite, abs(seconds) < 400_000_000_000 else { return nil }
        let milliseconds = Int64((seconds * 1000).rounded())
        let (days, rest) = floorDivide(milliseconds, by: 86_400_000)
        // 2001-01-01 is day 730,791 of a calendar that begins on 1 March of the year 0.
        let (year, month, day) = civil(daysSinceMarchOfYear0: days + 730_791)
        guard (0...9999).contains(year) else { return nil }
        let second = rest / 1000
        let fraction = rest % 1000
        let date = "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))"
        let time = "\(padded(second / 3600, 2)):\(padded(second / 60 % 60, 2)):\(padded(second % 60, 2))"
        return "\(date)T\(time)\(fraction == 0 ? "" : "." + padded(fraction, 3))Z"
    }

    /// The proleptic Gregorian date of a day; March is the first month, so that the leap day is the last day.
    private static func civil(daysSinceMarchOfYear0 days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let (era, dayOfEra) = floorDivide(days, by: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
    }

    private static func floorDivide(_ value: Int64, by divisor: Int64) -> (Int64, Int64) {
        let (quotient, remainder) = value.quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }

    private static func padded(_ value: Int64, _ width: Int) -> String {
        let digits = String(value)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension DateText: SelfTesting {
    static var testSelectors: TestSelectors { ["testWritesKnownDates": testWritesKnownDates] }

    private static func testWritesKnownDates() {
        let rows: [(Double, String?)] = [
            (0, "2001-01-01T00:00:00Z"), (-1, "2000-12-31T23:59:59Z"), (-978_307_200, "1970-01-01T00:00:00Z"),
            (-26_524_800, "2000-02-29T00:00:00Z"), (86_399.999, "2001-01-01T23:59:59.999Z"),
            (86_399.9996, "2001-01-02T00:00:00Z"),
            (-0.25, "2000-12-31T23:59:59.750Z"), (-63_113_904_000, "0001-01-01T00:00:00Z"),
            (252_423_993_599, "9999-12-31T23:59:59Z"),
            (252_423_993_600, nil), (.nan, nil), (.infinity, nil), (1e300, nil),
        ]
        for (seconds, expected) in rows { expectEqual(rfc3339(secondsSince2001: seconds), expected, "\(seconds)") }
    }
}
#endif
