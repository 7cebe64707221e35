// The in-class tests of dates and data: their text in SQL, and as members of rows.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistBuilding
import PlistStreaming

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

enum SQLiteDateTests {
    struct Event: StreamObject, Equatable {
        var id: Int? = nil
        var when = Date(timeIntervalSinceReferenceDate: 0)
        var until: Date? = nil
        var bytes = Data()
        var link: URL? = nil
        var identifier = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
    }

    static let formats: [SQLiteDateFormat] = [.text, .secondsSince1970, .secondsSince2001]
}

extension SQLiteDateTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testWritesDatesThatSQLiteReads": testWritesDatesThatSQLiteReads,
            "testKeepsDatesAndDataOfRows": testKeepsDatesAndDataOfRows,
            "testStoresTextOfDatesAsDates": testStoresTextOfDatesAsDates,
            "testBindsDatesDataAndURLs": testBindsDatesDataAndURLs,
            "testReadsNumbersAsUnixTime": testReadsNumbersAsUnixTime,
            "testReadsNumbersOfOtherFormats": testReadsNumbersOfOtherFormats,
        ]
    }

    private static func testWritesDatesThatSQLiteReads() throws {
        let connection = try SQLiteConnection.inMemory()
        for seconds in [0, -0.5, 86_399.25, 817_022_296.125, -63_113_904_000, 252_423_993_599] {
            let text = try requireNotNil(DateText.text(secondsSince2001: seconds), "text")
            let unix = try connection.value("SELECT unixepoch(?)", [text])
            expectEqual(unix, .integer(Int64((seconds + secondsFrom1970To2001).rounded(.down))), text)
        }
    }

    private static func testKeepsDatesAndDataOfRows() throws {
        var events: [Event] = []
        for number in 0..<40 {
            var event = Event(id: number)
            event.when = Date(timeIntervalSinceReferenceDate: Double(number * 10_000_000) + 0.25)
            if number % 3 > 0 { event.until = event.when.addingTimeInterval(60) }
            event.bytes = Data(repeating: UInt8(number), count: number)
            if number % 2 > 0 { event.link = URL(string: "http://a/\(number)") }
            event.identifier = UUID()
            events.append(event)
        }
        for format in formats {
            for path in SQLiteInsertPath.allCases {
                let options = SQLiteTableOptions(dateFormat: format, insertPath: path)
                let table = try SQLiteTable<Event>(try SQLiteConnection.inMemory(), "events", options: options)
                try table.insert(events)
                expectEqual(try table.fetchAll(orderedBy: .ascending(\.when)), events, "\(format) by \(path)")
                let middle = events[20].when
                expectEqual(try table.count(where: \.when > middle && \.until != nil), 12, "later ones, \(format)")
                expectEqual(try table.update(.set(\.until, middle), where: \.when == middle), 1, "changed, \(format)")
                expectEqual(try table.fetchOne(where: \.id == 20)?.until, middle, "what was set, \(format)")
                let type = try table.connection.columns(ofTable: "events").map(\.declaredType)
                expectEqual(type, ["INTEGER", "DATETIME", "DATETIME", "BLOB", "TEXT", "TEXT"], "types")
            }
        }
    }

    private static func testBindsDatesDataAndURLs() throws {
        let table = try SQLiteTable<Event>(try SQLiteConnection.inMemory(), "events")
        var event = Event(id: 1)
        event.when = Date(timeIntervalSinceReferenceDate: 817_022_296.125)
        event.bytes = Data([0, 255])
        event.link = URL(string: "http://a/b")
        try table.insert(event)
        let sql = "SELECT count(*) FROM events WHERE \"when\" = ? AND bytes = ? AND link = ? AND identifier = ?"
        expectEqual(
            try table.connection.value(sql, [event.when, event.bytes, event.link, event.identifier]), 1,
            "a row with what a table stores")
        let tooLate = Date(timeIntervalSinceReferenceDate: 1e12)
        let error = expectThrows(SQLiteError.self, "a date beyond the year 9999") {
            _ = try table.connection.value("SELECT ?", [tooLate])
        }
        expectEqual(error?.code, .mismatch, "code")
    }

    private struct Visit: StreamObject, Decodable, Equatable {
        var at: Date? = nil
        var count: Int? = nil
    }

    /// A type that conforms only to `Decodable`.
    private struct DecodedVisit: Decodable {
        var at: Date?
    }

    /// Returns the date of the first row of `visits`, in seconds since 2001, with each function that reads rows as values.
    private static func dates(
        _ connection: SQLiteConnection, _ options: SQLiteReadingOptions
    ) -> [(function: String, seconds: Double?)] {
        // The query of the whole table is scanned, the others are stepped.
        let (scan, sql) = ("SELECT at, count FROM visits", "SELECT at, count FROM visits ORDER BY count")
        let functions: [(String, () throws -> Date?)] = [
            ("scan", { try connection.fetchAll(scan, as: Visit.self, options: options).first?.at }),
            ("all", { try connection.fetchAll(sql, as: Visit.self, options: options).first?.at }),
            ("one", { try connection.fetchOne(sql, as: Visit.self, options: options)?.at }),
            ("cursor", { try connection.fetchCursor(sql, as: Visit.self, options: options).next()?.at }),
            ("statement", { try connection.prepare(sql).values(as: Visit.self, options: options).first?.at }),
            (
                "dictionary",
                { try connection.fetchOne("SELECT at FROM visits", as: [String: Date].self, options: options)?["at"] }
            ),
            ("decoded scan", { try connection.fetchAll(scan, as: DecodedVisit.self, options: options).first?.at }),
            ("decoded all", { try connection.fetchAll(sql, as: DecodedVisit.self, options: options).first?.at }),
            ("decoded cursor", { try connection.fetchCursor(sql, as: DecodedVisit.self, options: options).next()?.at }),
            ("decoded one", { try connection.fetchOne(sql, as: DecodedVisit.self, options: options)?.at }),
        ]
        return functions.map { ($0.0, (try? $0.1())?.timeIntervalSinceReferenceDate) }
    }

    private static func visits(
        _ declaredType: String, _ value: SQLiteValue, countType: String = "INTEGER"
    ) throws -> SQLiteConnection {
        let connection = try SQLiteConnection.inMemory()
        try connection.execute("CREATE TABLE visits (at \(declaredType), count \(countType))")
        try connection.run("INSERT INTO visits VALUES (?, 7)", [value])
        return connection
    }

    private static func testReadsNumbersAsUnixTime() throws {
        for declaredType in ["", "INTEGER", "REAL", "DATE", "DATETIME", "TIMESTAMP"] {
            for (value, seconds) in [
                (1_583_582_400, 605_275_200), (0, -978_307_200), (1_583_582_400.25, 605_275_200.25),
                ("2020-03-07 12:00:00", 605_275_200), ("2020-03-07T12:00:00.5Z", 605_275_200.5),
            ] as [(SQLiteValue, Double)] {
                let connection = try visits(declaredType, value)
                for (options, label) in [
                    (SQLiteReadingOptions(), "as they are"), (SQLiteReadingOptions(declaredDates: .text), "text"),
                    (SQLiteReadingOptions(declaredDates: .secondsSince1970), "Unix time"),
                    (SQLiteReadingOptions(mappings: ["at": .stored]), "stored"),
                ] {
                    for (function, found) in dates(connection, options) {
                        expectEqual(found, seconds, "\(value) in \(declaredType), dates \(label), by \(function)")
                    }
                }
            }
        }
        let visit = try visits("DATETIME", 1_583_582_400, countType: "DATETIME").fetchOne(
            "SELECT * FROM visits", as: Visit.self)
        expectEqual(visit?.count, 7, "a number of a column declared DATETIME, read as an integer")
    }

    private static func testReadsNumbersOfOtherFormats() throws {
        for declaredType in ["REAL", "DATETIME"] {
            let connection = try visits(declaredType, 1.5)
            for (options, seconds) in [
                (SQLiteReadingOptions(declaredDates: .secondsSince2001), 1.5),
                (SQLiteReadingOptions(mappings: ["at": .date(.secondsSince2001)]), 1.5),
                (SQLiteReadingOptions(mappings: ["at": .date(.secondsSince1970)]), 1.5 - secondsFrom1970To2001),
                (SQLiteReadingOptions(mappings: ["at": .date(.text)]), nil),
            ] as [(SQLiteReadingOptions, Double?)] {
                for (function, found) in dates(connection, options) {
                    // A function that throws finds no date.
                    expectEqual(found, seconds, "\(declaredType) with \(options.mappings), by \(function)")
                }
            }
        }
        for format in formats {
            let table = try SQLiteTable<Visit>(
                try SQLiteConnection.inMemory(), "visits", options: SQLiteTableOptions(dateFormat: format))
            let at = Date(timeIntervalSinceReferenceDate: 605_275_200.25)
            try table.insert([Visit(at: at, count: 1)])
            let options = SQLiteReadingOptions(declaredDates: format)
            for (function, found) in dates(table.connection, options) {
                expectEqual(found, 605_275_200.25, "a table with dates of \(format), by \(function)")
            }
        }
    }

    private static func testStoresTextOfDatesAsDates() throws {
        for format in formats {
            let table = try SQLiteTable<Event>(
                try SQLiteConnection.inMemory(), "events", options: SQLiteTableOptions(dateFormat: format))
            var writer = try table.makeWriter()
            // The values that a JSON reader sends.
            try writer.write([
                ["when": "2001-01-01T00:00:07.5Z", "until": "2001-01-01T01:00:00+01:00", "bytes": "AP8="]
            ])
            try writer.finish()
            let event = try requireNotNil(try table.fetchOne(), "a row")
            expectEqual(event.when.timeIntervalSinceReferenceDate, 7.5, "a date, \(format)")
            expectEqual(event.until?.timeIntervalSinceReferenceDate, 0, "an optional date, \(format)")
            expectEqual(event.bytes, Data([0, 255]), "data")
            expectEqual(
                try table.connection.value("SELECT typeof(\"when\") || typeof(bytes) FROM events"),
                .text(format == .text ? "textblob" : "realblob"), "how they are stored, \(format)")
            let error = expectThrows(StreamError.self, "no date") {
                try writer.write([["when": "yesterday"]])
            }
            expectEqual(
                error?.description,
                "$[0].when: expected a date such as 2001-01-31T12:00:00Z, found string \"yesterday\"", "message")
        }
    }
}
#endif
