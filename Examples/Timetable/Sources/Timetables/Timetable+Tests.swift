// The tests of timetables: a board of a small feed, both variants of reading compared with a slow one, and errors in feeds.

#if DEBUG || IN_CLASS_TESTS
import CSVStreaming
import InClassTesting
import PlistStreaming

extension Timetable: SelfTesting {
    public static var testSelectors: TestSelectors {
        [
            "testListsNextDepartures": testListsNextDepartures,
            "testAgreesWithLinearSearch": testAgreesWithLinearSearch,
            "testReportsUnknownIdentifiers": testReportsUnknownIdentifiers,
            "testRefusesDuplicateIdentifiers": testRefusesDuplicateIdentifiers,
        ]
    }

    private static func feed(stops: String, trips: String, stopTimes: String) -> TransitFeed {
        TransitFeed(stops: Array(stops.utf8), trips: Array(trips.utf8), stopTimes: Array(stopTimes.utf8))
    }

    private static let small = feed(
        stops: "stop_id,stop_name,parent_station\nA,Market,\nA1,\"Market, north\",A\nA2,Market south,A\nB,Harbour,\n",
        trips: "route_id,trip_id,trip_headsign\n7,t1,Harbour\n7,t2,\n",
        // Reordered columns, a quoted stop, times after midnight, and a missing time.
        stopTimes: """
            stop_id,trip_id,departure_time,stop_sequence
            A1,t1,8:05:00,1
            B,t1,08:15:00,2
            "A2",t2,25:00:00,1
            B,t2,,2
            A2,t1,7:59:59,0

            """)

    private static func variants(_ feed: TransitFeed) throws(StreamError) -> [(name: String, timetable: Timetable)] {
        try [("structures", Timetable(structuresOf: feed)), ("columns", Timetable(columnsOf: feed))]
    }

    private static func testListsNextDepartures() throws {
        for (name, timetable) in try variants(small) {
            func board(_ station: String, at text: String, count: Int = 9) throws -> [String] {
                try timetable.departures(from: station, at: ClockTime(representation: text), count: count)
                    .map { "\($0.time) \($0.route) \($0.headsign) (\($0.stop))" }
            }
            let all = [
                "07:59:59 7 Harbour (Market south)", "08:05:00 7 Harbour (Market, north)", "25:00:00 7  (Market south)",
            ]
            expectEqual(try board("A", at: "0:00:00"), all, "\(name): all parts of a station")
            expectEqual(try board("A", at: "07:59:59", count: 1), [all[0]], "\(name): not before the time")
            expectEqual(try board("A", at: "8:00:00"), Array(all[1...]), "\(name): from a time on")
            expectEqual(try board("A1", at: "8:05:01"), [], "\(name): too late")
            expectEqual(try board("B", at: "0:00:00"), ["08:15:00 7 Harbour (Harbour)"], "\(name): none without a time")
            expectEqual(try board("C", at: "0:00:00"), [], "\(name): no such stop")
            expectEqual(timetable.departureCount, 4, "\(name): all")
            expectEqual(timetable.departureCount(from: "A"), 3, "\(name): of a station")
        }
    }

    private static func testAgreesWithLinearSearch() throws {
        for rowCount in [1, 30, 700] {
            let feed = TransitFeed.make(rowCount)
            for (name, timetable) in try variants(feed) {
                expectEqual(timetable.departureCount, rowCount, "\(name), \(rowCount) rows")
                for (number, stop) in timetable.stops.enumerated() {
                    let time = ClockTime(seconds: Int32(number * 7_919 % 90_000))
                    let found = timetable.departures(from: stop.stop_id, at: time, count: 5)
                    let expected = try search(feed, timetable, from: stop.stop_id, at: time).prefix(5)
                    expectEqual(found, Array(expected), "\(name), \(rowCount) rows, \(stop.stop_id) at \(time)")
                }
            }
        }
    }

    /// Finds the departures from a stop and its parts by searching all rows.
    private static func search(
        _ feed: TransitFeed, _ timetable: Timetable, from station: String, at time: ClockTime
    ) throws -> [Line] {
        let parts = timetable.stops.filter { $0.stop_id == station || $0.parent_station == station }
        var found: [(line: Line, trip: Int, stop: Int)] = []
        try CSV.forEachRow(in: feed.stopTimes) { (row) throws(StreamError) in
            guard let part = parts.firstIndex(where: { $0.stop_id == row.string(at: 3) }),
                let trip = timetable.trips.firstIndex(where: { $0.trip_id == row.string(at: 0) })
            else { return }
            let departure = try ClockTime(representation: row.string(at: 2) ?? "")
            guard departure >= time else { return }
            let line = Line(
                time: departure, route: timetable.trips[trip].route_id,
                headsign: timetable.trips[trip].trip_headsign ?? "", stop: parts[part].stop_name ?? "")
            found.append((line, trip, part))
        }
        return found.sorted { ($0.line.time, $0.trip, $0.stop) < ($1.line.time, $1.trip, $1.stop) }.map(\.line)
    }

    private static func testReportsUnknownIdentifiers() {
        var feed = small
        feed.stopTimes = Array("trip_id,stop_id,departure_time\nt1,A1,8:00:00\nt1,Z,8:01:00\n".utf8)
        let message = "expected a stop of the feed, found another identifier"
        let inStructures = expectThrows(try Timetable(structuresOf: feed), StreamError.self, "structures")
        expectEqual(inStructures?.message, message, "structures")
        expectEqual(inStructures?.position?.line, 3, "the line")
        let inColumns = expectThrows(try Timetable(columnsOf: feed), StreamError.self, "columns")
        expectEqual(inColumns?.message, message + " in row 2", "columns")
        feed.stopTimes = Array("trip_id,stop_id,departure_time\nt1,A1,8 o'clock\n".utf8)
        expectThrows(try Timetable(structuresOf: feed), StreamError.self, "structures")
        expectThrows(try Timetable(columnsOf: feed), StreamError.self, "columns")
    }

    private static func testRefusesDuplicateIdentifiers() {
        var feed = small
        feed.stops += Array("B,Another,\n".utf8)
        let error = expectThrows(try Timetable(structuresOf: feed), StreamError.self, "two stops")
        expectEqual(error?.message, "expected one stop for each identifier, found two 'B'", "two stops")
        expectThrows(try Timetable(columnsOf: feed), StreamError.self, "two stops")
    }
}
#endif
