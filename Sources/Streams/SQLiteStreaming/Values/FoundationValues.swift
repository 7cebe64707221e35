// Makes the types of Foundation that are often used as parameters bindable: dates, data, URLs and UUIDs.

import PlistStreaming

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension Date: SQLiteBindable {
    /// The text in UTC, as in ``SQLiteDateFormat/text``. If dates are stored as numbers, bind `timeIntervalSince1970`
    /// instead.
    /// - Throws: `mismatch` for a date outside the years 0 to 9999.
    public var sqliteValue: SQLiteValue {
        get throws(SQLiteError) { try SQLiteClause.value(.date(timeIntervalSinceReferenceDate), .text) }
    }
}

extension Data: SQLiteBindable {
    /// The blob.
    public var sqliteValue: SQLiteValue { get throws(SQLiteError) { .blob(Array(self)) } }
}

extension URL: SQLiteBindable {
    /// The absolute text.
    public var sqliteValue: SQLiteValue { get throws(SQLiteError) { .text(absoluteString) } }
}

extension UUID: SQLiteBindable {
    /// The text in capitals.
    public var sqliteValue: SQLiteValue { get throws(SQLiteError) { .text(uuidString) } }
}
