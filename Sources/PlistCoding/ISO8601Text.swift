// Dates as text in the format of ISO 8601, as Foundation writes and reads it, but always of the calendar that the standard has.

import PlistStreaming

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Dates such as `2001-01-31T12:00:00Z`.
///
/// SPEC: ISO 8601 and RFC 3339 count by the Gregorian calendar at all times, and so do the dates of our other texts and those of
/// SQLite. Foundation's style counts by the Julian one before October 15th, 1582.
enum ISO8601Text {
    /// Five cycles of 400 years, after each of which the Gregorian calendar repeats, in years and in seconds.
    private static let shift = (years: 2_000, seconds: 63_113_904_000.0)

    /// The text of a date, without fractions of a second; nil outside the years 0 to 9999, which the format cannot hold.
    static func text(_ date: Date) -> String? {
        let seconds = date.timeIntervalSinceReferenceDate
        guard seconds >= -63_145_526_400, seconds < 252_423_993_600 else { return nil }
        // From 1583 on both calendars are the same.
        guard seconds < -13_191_206_400 else { return date.formatted(.iso8601) }
        let text = Date(timeIntervalSinceReferenceDate: seconds + shift.seconds).formatted(.iso8601)
        guard let year = Int(text.prefix(4)) else { return nil }
        let digits = "\(year - shift.years)"
        return String(repeating: "0", count: max(0, 4 - digits.count)) + digits + text.dropFirst(4)
    }

    /// The date of a text; nil for one in another format, and for a day or time that there is not.
    static func date(_ text: String) -> Date? {
        let digits = text.utf8.prefix(5)
        guard digits.count == 5, digits.last == UInt8(ascii: "-"), digits.dropLast().allSatisfy({ $0 &- 0x30 <= 9 }),
            let year = Int(text.prefix(4))
        else { return try? Date(text, strategy: .iso8601) }
        // Foundation takes the 30th of February for a day in March.
        let start = Array(text.utf8.prefix(19))
        guard unsafe start.withUnsafeBytes({ unsafe DateText.secondsSince2001($0) }) != nil else { return nil }
        guard year < 1583 else { return try? Date(text, strategy: .iso8601) }
        let later = try? Date("\(year + shift.years)\(text.dropFirst(4))", strategy: .iso8601)
        return later.map { $0 - shift.seconds }
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension ISO8601Text: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testCountsByTheGregorianCalendarAtAllTimes": testCountsByTheGregorianCalendarAtAllTimes,
            "testRefusesWhatTheFormatCannotHold": testRefusesWhatTheFormatCannotHold,
        ]
    }

    /// The seconds since 2001 at the beginning of a day, counted year by year and month by month.
    private static func seconds(_ year: Int, _ month: Int, _ day: Int) -> Double {
        func isLeap(_ year: Int) -> Bool { year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) }
        var days = day - 1
        for earlier in 1..<month {
            days += earlier == 2 ? (isLeap(year) ? 29 : 28) : [4, 6, 9, 11].contains(earlier) ? 30 : 31
        }
        for other in min(year, 2_001)..<max(year, 2_001) {
            days += (year > 2_001 ? 1 : -1) * (isLeap(other) ? 366 : 365)
        }
        return Double(days) * 86_400
    }

    private static func testCountsByTheGregorianCalendarAtAllTimes() {
        var days: [(Int, Int, Int)] = [
            (0, 1, 1), (0, 2, 29), (1, 1, 1), (4, 2, 29), (100, 2, 28), (100, 3, 1), (325, 3, 21), (1_000, 12, 31),
            (1_500, 2, 28),
            (1_500, 3, 1), (1_582, 12, 31), (1_583, 1, 1), (1_600, 2, 29), (1_900, 2, 28), (1_900, 3, 1), (1_970, 1, 1),
            (2_000, 2, 29), (2_001, 1, 1), (9_999, 12, 31),
        ]
        for day in 1...20 { days.append((1_582, 10, day)) }
        for (year, month, day) in days {
            func padded(_ number: Int, _ count: Int) -> String {
                String(repeating: "0", count: count - "\(number)".count) + "\(number)"
            }
            let start = seconds(year, month, day)
            for (second, time) in [(0.0, "00:00:00"), (86_399, "23:59:59")] {
                let text = "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))T\(time)Z"
                let date = Date(timeIntervalSinceReferenceDate: start + second)
                expectEqual(self.text(date), text, "text")
                expectEqual(self.date(text), date, text)
                let offset = String(text.dropLast()) + "+01:00"
                expectEqual(self.date(offset), date - 3_600, offset)
                // What our other texts of dates say.
                expectEqual(DateText.rfc3339(secondsSince2001: start + second), text, "RFC 3339")
                let read = unsafe Array(text.utf8).withUnsafeBytes { unsafe DateText.secondsSince2001($0) }
                expectEqual(read, start + second, text)
            }
        }
    }

    private static func testRefusesWhatTheFormatCannotHold() {
        for seconds in [-63_145_526_400, 252_423_993_599] as [Double] {
            expectNotNil(text(Date(timeIntervalSinceReferenceDate: seconds)), "\(seconds)")
        }
        for seconds in [-63_145_526_401, 252_423_993_600, .nan, .infinity, -1e300] {
            expectNil(text(Date(timeIntervalSinceReferenceDate: seconds)), "\(seconds)")
        }
        for text in [
            "", "1500", "1500-", "1500-02-29T00:00:00Z", "1582-10-32T00:00:00Z", "1582-13-01T00:00:00Z",
            "1500-01-01", "1500-01-01T24:01:00Z", "x500-01-01T00:00:00Z", "2001-02-29T00:00:00Z",
            "2001-01-01T24:00:00Z",
            "2001-01-01T00:60:00Z", "2001-01-01 00:00:00Z",
        ] {
            expectNil(date(text), text)
        }
    }
}
#endif
