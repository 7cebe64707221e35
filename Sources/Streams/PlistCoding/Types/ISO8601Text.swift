// Dates as text in ISO 8601 format, as Foundation writes them and RFC 3339 defines them.

import PlistStreaming

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Dates such as `2001-01-31T12:00:00Z`.
///
/// SPEC: ISO 8601 and RFC 3339 use the Gregorian calendar at all times, like the dates of our other texts and those of
/// SQLite. Foundation's style uses the Julian calendar before October 15th, 1582, so it isn't used here.
enum ISO8601Text {
    /// Returns the text of a date without fractions of a second, or nil outside the years 0 to 9999, which the format
    /// can't represent.
    static func text(_ date: Date) -> String? {
        // Fractions are rounded down first, as in Foundation; rounding to milliseconds would round them up.
        DateText.rfc3339(secondsSince2001: date.timeIntervalSinceReferenceDate.rounded(.down))
    }

    /// Returns the date of a text, or nil if the text has another format, or if the day or time doesn't exist.
    ///
    /// Zones may also be written as `+0100`, `+01` and `z`, as Foundation reads them.
    static func date(_ text: String) -> Date? {
        var bytes = Array(text.utf8)
        guard bytes.count > 19, bytes[10] == UInt8(ascii: "T"), bytes[16] == UInt8(ascii: ":") else { return nil }
        let isFraction = bytes[19] == UInt8(ascii: ".")
        let zone = isFraction ? bytes[20...].firstIndex { $0 &- 0x30 > 9 } ?? bytes.count : 19
        switch bytes.count - zone {
        case 1: bytes[zone] &= ~0x20
        case 3: bytes += Array(":00".utf8)
        case 5: bytes.insert(UInt8(ascii: ":"), at: zone + 3)
        case 6: break
        default: return nil
        }
        guard bytes[17...18].elementsEqual("60".utf8) else { return seconds(bytes).map(date(secondsSince2001:)) }
        // SPEC: RFC 3339 section 5.7: a leap second is the last one of a June or December in UTC. Dates don't count it,
        // so it becomes the first second of the next minute, as in Foundation.
        bytes.replaceSubrange(17...18, with: "59".utf8)
        let whole = Array(bytes[..<19] + bytes[zone...])
        guard let last = seconds(whole), let next = DateText.rfc3339(secondsSince2001: last + 1),
            next.hasSuffix("-01-01T00:00:00Z") || next.hasSuffix("-07-01T00:00:00Z")
        else { return nil }
        return seconds(bytes).map { date(secondsSince2001: $0 + 1) }
    }

    private static func seconds(_ bytes: [UInt8]) -> Double? {
        bytes.withRawSpan { DateText.secondsSince2001($0) }
    }

    private static func date(secondsSince2001 seconds: Double) -> Date {
        Date(timeIntervalSinceReferenceDate: seconds)
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

extension ISO8601Text: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testUsesGregorianCalendarForAllDates": testUsesGregorianCalendarForAllDates,
            "testRefusesInvalidTextsAndDates": testRefusesInvalidTextsAndDates,
            "testFractionsNeverChangeTheDay": testFractionsNeverChangeTheDay,
            "testReadsTimeZonesLikeFoundation": testReadsTimeZonesLikeFoundation,
            "testReadsOnlyPossibleLeapSeconds": testReadsOnlyPossibleLeapSeconds,
        ]
    }

    /// Returns the seconds since 2001 at the beginning of a day, counted year by year and month by month.
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

    private static func testUsesGregorianCalendarForAllDates() {
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
                // The same date in our other date texts.
                expectEqual(DateText.rfc3339(secondsSince2001: start + second), text, "RFC 3339")
                let read = text.withUTF8Span { DateText.secondsSince2001($0) }
                expectEqual(read, start + second, text)
            }
        }
    }

    private static func testRefusesInvalidTextsAndDates() {
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
            // Years with more or fewer than four digits.
            "999-03-01T00:00:00Z", "00999-03-01T00:00:00Z", "02001-02-30T00:00:00Z", "12001-01-01T00:00:00Z",
            "+2001-01-01T00:00:00Z", "-2001-01-01T00:00:00Z", "1-01-01T00:00:00Z",
            // Something other than a zone, and text after a zone.
            "2001-01-01T00:00:00", "2001-01-01T00:00:00Zgarbage", "2001-01-01T00:00:00Z ", "2001-01-01T00:00:00ZZ",
            "2001-01-01T00:00:00+01:00Z", "2001-01-01T00:00:00+01:00:00", "2001-01-01T00:00:00+24:00",
            "2001-01-01T00:00:00+01:60", "2001-01-01T00:00:00+1", "2001-01-01T00:00:00GMT", "2001-01-01T00:00:00.Z",
            "2001-01-01T00:00:00.5", "2001-01-01T00:00:00:", "2001-01-01T00:00+01:00", "2001-01-01T00:00:00x",
        ] {
            expectNil(date(text), text)
        }
    }

    private static func testFractionsNeverChangeTheDay() {
        // For the last second of a day, no fraction may change the day.
        for (year, month, day) in [(0, 1, 1), (1_000, 2, 28), (1_582, 10, 4), (1_582, 12, 27), (2_000, 12, 31)] {
            let digits = "\(year)"
            let days = (month < 10 ? "-0" : "-") + "\(month)" + (day < 10 ? "-0" : "-") + "\(day)"
            let text = String(repeating: "0", count: 4 - digits.count) + digits + days + "T23:59:59"
            let last = seconds(year, month, day) + 86_399
            for fraction in [0, 0.5, 0.9996, 0.999_985] {
                expectEqual(self.text(Date(timeIntervalSinceReferenceDate: last + fraction)), text + "Z", "\(fraction)")
                let read = date("\(text)\("\(fraction)".dropFirst())Z")
                expectEqual(read, Date(timeIntervalSinceReferenceDate: last + fraction), "\(text), \(fraction)")
            }
            // The last date before the next day.
            let end = (last + 1).nextDown
            expectEqual(self.text(Date(timeIntervalSinceReferenceDate: end)), text + "Z", "end of \(text)")
        }
        let text = "1582-10-04T23:59:59"
        expectEqual(date(text + ".999999Z").flatMap { self.text($0) }, text + "Z", "written once more")
        let written = self.text(Date(timeIntervalSinceReferenceDate: -13_191_206_400.000002))
        expectEqual(written, "1582-12-27T23:59:59Z", "microseconds before a day")
    }

    private static func testReadsTimeZonesLikeFoundation() {
        let rows: [(String, Double)] = [
            ("Z", 0), ("z", 0), ("+01:00", -3_600), ("+0100", -3_600), ("+01", -3_600), ("-01:30", 5_400),
            ("-0130", 5_400), ("+14:00", -50_400), ("-00:00", 0), (".5Z", 0.5), (".5+01:00", -3_599.5),
            (".25-0130", 5_400.25), (".125+01", -3_599.875),
        ]
        for (zone, seconds) in rows {
            let text = "2001-01-01T00:00:00" + zone
            expectEqual(date(text)?.timeIntervalSinceReferenceDate, seconds, text)
            expectEqual(date(text), try? Date(text, strategy: .iso8601), "\(text) by Foundation")
        }
    }

    private static func testReadsOnlyPossibleLeapSeconds() {
        for text in [
            "2016-12-31T23:59:60Z", "1990-12-31T15:59:60-08:00", "2015-06-30T23:59:60Z", "2015-07-01T01:29:60+0130",
            "2017-01-01T08:59:60+09", "2016-12-31T23:59:60.25Z", "2016-12-31T23:59:60.9999999Z",
        ] {
            let foundation = try? Date(text, strategy: .iso8601)
            expectNotNil(foundation, "\(text) by Foundation")
            expectEqual(date(text), foundation, text)
        }
        expectEqual(date("2016-12-31T23:59:60Z").flatMap { self.text($0) }, "2017-01-01T00:00:00Z", "the next minute")
        for text in [
            "2016-12-31T23:59:61Z", "2016-12-31T23:58:60Z", "2016-12-31T22:59:60Z", "2016-12-30T23:59:60Z",
            "2016-11-30T23:59:60Z", "2016-12-31T23:59:60+01:00", "2016-12-31T15:59:60-07:00", "2016-12-31T23:59:60",
            "9999-12-31T23:59:60Z", "2016-02-30T23:59:60Z",
        ] {
            expectNil(date(text), text)
        }
    }
}
#endif
