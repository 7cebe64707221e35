// The formats of stored dates, for all ways of inserting rows. Their tests are in `SQLiteDateTests`.

import PlistStreaming

/// The formats for storing dates, since SQLite has no type for them.
public enum SQLiteDateFormat: Sendable, Hashable {
    /// As text in UTC, `2026-11-21 06:38:16.250`, which SQLite's date functions read and which sorts by time.
    ///
    /// The text has nanoseconds. Every date more than 100 days away from 2001-01-01 is read back exactly. Any date and time
    /// in ISO 8601 can be read, with `T` or a space, and with `Z`, an offset or neither.
    case text
    /// As seconds since 1970-01-01 00:00:00 UTC, Unix time.
    ///
    /// Current dates are rounded to a fraction of a microsecond, since `Date` counts from 2001.
    case secondsSince1970
    /// As seconds since 2001-01-01 00:00:00 UTC, as Core Data does.
    case secondsSince2001

    /// Returns the value that a date is stored as, or nil if the date can't be written as text.
    package func stored(secondsSince2001 seconds: Double) -> SQLiteValue? {
        switch self {
        case .text: DateText.text(secondsSince2001: seconds).map { .text($0) }
        case .secondsSince1970: .real(seconds + secondsFrom1970To2001)
        case .secondsSince2001: .real(seconds)
        }
    }

    /// The error message for a date that can't be written as text.
    package static let foundOtherYears = "expected a date in the years 0 to 9999, found another date"
}
