// How dates are stored, for all ways into a table. Their tests are in `SQLiteDateTests`.

import PlistStreaming

/// How dates are stored, since SQLite has no type for them.
public enum SQLiteDateFormat: Sendable, Hashable {
    /// As text in UTC, `2026-11-21 06:38:16.250`, which SQLite's date functions read and which sorts by time.
    ///
    /// To the nanosecond; every date further than 100 days from 2001-01-01 is read back exactly. Reading takes any ISO 8601
    /// date and time, with `T` or a space, with `Z`, an offset or none.
    case text
    /// As seconds since 1970-01-01 00:00:00 UTC, Unix time.
    ///
    /// Dates of our time are rounded to a fraction of a microsecond, since `Date` counts from 2001.
    case secondsSince1970
    /// As seconds since 2001-01-01 00:00:00 UTC, as Core Data does.
    case secondsSince2001

    /// The value that a date is stored as; nil for one that the text of a date cannot hold.
    package func stored(secondsSince2001 seconds: Double) -> SQLiteValue? {
        switch self {
        case .text: DateText.text(secondsSince2001: seconds).map { .text($0) }
        case .secondsSince1970: .real(seconds + secondsFrom1970To2001)
        case .secondsSince2001: .real(seconds)
        }
    }

    /// What is wrong with a date for which there is none.
    package static let foundOtherYears = "expected a date of the years 0 to 9999, found another one"
}
