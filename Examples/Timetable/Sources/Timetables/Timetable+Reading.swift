// Reads the files of a feed into a timetable, through bound types or through columns.

import CSVStreaming
import PlistBuilding
import PlistStreaming

extension Timetable {
    /// Reads a feed into bound types. Stops and trips are kept; stop times are joined as they arrive, and not stored.
    ///
    /// - Throws: The first error of a file with its line, including an unknown stop or trip of a stop time.
    /// - Complexity: O(*n* log *m*) for *n* stop times, of which each stop has *m*.
    public init(structuresOf feed: TransitFeed) throws(StreamError) {
        let times = try StopTimes(Self.join(feed, expectedCount: 0))
        var stream = try RecordStream<StopTime> { (one) throws(StreamError) in try times.add(one) }
        try stream.readCSV(feed.stopTimes)
        self.init(times.join)
    }

    /// Reads the stop times of a feed into columns and joins them.
    ///
    /// - Throws: The first error of a file with its line; an unknown stop or trip of a stop time is reported with its path.
    /// - Complexity: The same as `init(structuresOf:)`.
    public init(columnsOf feed: TransitFeed) throws(StreamError) {
        let columns = try CSV.columns(
            ["trip_id": .string, "stop_id": .string, "departure_time": .string], from: feed.stopTimes)
        var join = try Self.join(feed, expectedCount: columns.rowCount)
        guard let trips = columns["trip_id"], let stops = columns["stop_id"], let times = columns["departure_time"]
        else { throw StreamError(.missingMember, "expected the columns of stop times") }
        try trips.withStrings { (trip) throws(StreamError) in
            try stops.withStrings { (stop) throws(StreamError) in
                try times.withStrings { (text) throws(StreamError) in
                    for row in 0..<columns.rowCount where !text[row].isEmpty {
                        guard let time = ClockTime(utf8: text[row]) else {
                            throw StreamError(.unrepresentable, "expected a time such as 8:05:00 in row \(row + 1)")
                        }
                        do throws(StreamError) {
                            try join.add(trip: trip[row].bytes, stop: stop[row].bytes, time)
                        } catch {
                            throw StreamError(error.kind, "\(error.message) in row \(row + 1)")
                        }
                    }
                }
            }
        }
        self.init(join)
    }

    private static func join(_ feed: TransitFeed, expectedCount: Int) throws(StreamError) -> StopTimeJoin {
        try StopTimeJoin(
            stops: CSV.decode([Stop].self, from: feed.stops), trips: CSV.decode([Trip].self, from: feed.trips),
            expectedCount: expectedCount)
    }
}

/// Collects the stop times of a stream.
private final class StopTimes {
    var join: StopTimeJoin

    init(_ join: consuming StopTimeJoin) { self.join = join }

    func add(_ one: StopTime) throws(StreamError) {
        guard let time = one.departure_time else { return }
        var (trip, stop) = (one.trip_id, one.stop_id)
        try trip.withSpan { (trip) throws(StreamError) in
            try stop.withSpan { (stop) throws(StreamError) in try join.add(trip: trip, stop: stop, time) }
        }
    }
}

extension String {
    /// Calls a closure with the UTF-8 bytes.
    fileprivate mutating func withSpan<Failure: Error>(_ body: (RawSpan) throws(Failure) -> Void) throws(Failure) {
        var result: Result<Void, Failure> = .success(())
        withUTF8 { bytes in
            do throws(Failure) { try body(UnsafeRawBufferPointer(bytes).bytes) } catch { result = .failure(error) }
        }
        try result.get()
    }
}

/// The strings of a column, in borrowed memory.
private struct ColumnStrings {
    let text: UnsafeRawBufferPointer
    let ends: UnsafeBufferPointer<Int64>

    subscript(row: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: text[(row == 0 ? 0 : Int(ends[row - 1]))..<Int(ends[row])])
    }
}

extension Column {
    fileprivate func withStrings(_ body: (ColumnStrings) throws(StreamError) -> Void) throws(StreamError) {
        try withText { (text, ends) throws(StreamError) in try body(ColumnStrings(text: text, ends: ends)) }
    }
}
