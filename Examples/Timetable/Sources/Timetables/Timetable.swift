// Stops, trips and stop times joined in memory: all departures, in the order of their stops and times, in one array.

import PlistStreaming
import StringTables

/// A timetable that is asked when something leaves a stop.
public struct Timetable: Sendable {
    /// A departure: when, and which of the trips.
    struct Departure: Sendable, Equatable {
        var time: ClockTime
        var trip: Int32
    }

    /// A departure as a board shows it.
    public struct Line: Sendable, Equatable {
        /// When it leaves.
        public let time: ClockTime
        /// The line.
        public let route: String
        /// Where to.
        public let headsign: String
        /// Where in the station.
        public let stop: String
    }

    /// The stops, in the order of the feed.
    public let stops: [Stop]
    /// The trips, in the order of the feed.
    public let trips: [Trip]
    private let stopNumbers: KeySet
    /// The numbers of the stops that are parts of a stop, and its own, by its number.
    private let parts: [[Int32]]
    /// The departures of a stop are those from the start of its own to that of the next one.
    private let starts: [Int]
    private let departures: [Departure]

    /// Takes over what was joined.
    init(_ join: consuming StopTimeJoin) {
        (starts, departures) = join.sorted()
        (stops, trips, stopNumbers) = (join.stops, join.trips, join.stopNumbers)
        var parts = join.stops.indices.map { [Int32($0)] }
        for (number, stop) in join.stops.enumerated() {
            guard let parent = stop.parent_station, !parent.isEmpty, let station = stopNumbers.index(of: parent),
                station != number
            else { continue }
            parts[station].append(Int32(number))
        }
        self.parts = parts
    }

    /// The number of departures from all stops.
    public var departureCount: Int { departures.count }

    /// The number of departures from a stop and its parts, 0 for one that is not known.
    public func departureCount(from station: String) -> Int {
        numbers(of: station).reduce(0) { $0 + starts[Int($1) + 1] - starts[Int($1)] }
    }

    /// The next departures from a stop and its parts, the earliest first; those of the same second in the order of the feed's trips.
    ///
    /// - Complexity: O(log *n* + *m* log *m*) for *n* departures from the stop and *m* that are asked for, times the parts.
    public func departures(from station: String, at time: ClockTime, count: Int) -> [Line] {
        var found: [(departure: Departure, stop: Int)] = []
        for stop in numbers(of: station) {
            let stop = Int(stop)
            let first = firstIndex(in: starts[stop]..<starts[stop + 1], at: time)
            for index in first..<min(starts[stop + 1], first + max(0, count)) {
                found.append((departures[index], stop))
            }
        }
        found.sort { ($0.departure.time, $0.departure.trip, $0.stop) < ($1.departure.time, $1.departure.trip, $1.stop) }
        return found.prefix(max(0, count)).map { departure, stop in
            let trip = trips[Int(departure.trip)]
            return Line(
                time: departure.time, route: trip.route_id, headsign: trip.trip_headsign ?? "",
                stop: stops[stop].stop_name ?? stops[stop].stop_id)
        }
    }

    private func numbers(of station: String) -> [Int32] { stopNumbers.index(of: station).map { parts[$0] } ?? [] }

    /// The first of the departures that is not before a time.
    private func firstIndex(in range: Range<Int>, at time: ClockTime) -> Int {
        var (low, high) = (range.lowerBound, range.upperBound)
        while low < high {
            let middle = low + (high - low) / 2
            if departures[middle].time < time { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

/// Stop times on their way into a timetable, each with the numbers of its trip and its stop.
struct StopTimeJoin {
    let stops: [Stop]
    let trips: [Trip]
    let stopNumbers: KeySet
    private let tripNumbers: KeySet
    private var lastTrip = -1
    private var joined: [(stop: Int32, departure: Timetable.Departure)] = []

    /// Begins with the stops and trips of a feed, and no times.
    ///
    /// - Throws: `duplicateKey` for two stops or trips with one identifier.
    init(stops: [Stop], trips: [Trip], expectedCount: Int = 0) throws(StreamError) {
        (self.stops, self.trips) = (stops, trips)
        stopNumbers = try Self.numbers(stops.lazy.map(\.stop_id), "stop")
        tripNumbers = try Self.numbers(trips.lazy.map(\.trip_id), "trip")
        joined.reserveCapacity(expectedCount)
    }

    private static func numbers(_ identifiers: some Collection<String>, _ what: String) throws(StreamError) -> KeySet {
        var numbers = KeySet(comparing: .exact, minimumCapacity: identifiers.count)
        for identifier in identifiers where !numbers.insert(identifier).inserted {
            throw StreamError(.duplicateKey, "expected one \(what) for each identifier, found two '\(identifier)'")
        }
        return numbers
    }

    /// Adds a departure.
    ///
    /// - Throws: `unrepresentable` for one of a stop or trip that is not there.
    mutating func add(trip: RawSpan, stop: RawSpan, _ time: ClockTime) throws(StreamError) {
        // The times of a trip mostly stand together.
        if lastTrip < 0 || !tripNumbers.isKey(at: lastTrip, equalTo: trip) {
            guard let number = tripNumbers.index(of: trip) else { throw Self.unknown("trip") }
            lastTrip = number
        }
        guard let stop = stopNumbers.index(of: stop) else { throw Self.unknown("stop") }
        joined.append((Int32(stop), Timetable.Departure(time: time, trip: Int32(lastTrip))))
    }

    private static func unknown(_ what: String) -> StreamError {
        StreamError(.unrepresentable, "expected a \(what) of the feed, found another identifier")
    }

    /// The departures in the order of their stops, and within a stop in that of their times and trips, and where each stop begins.
    func sorted() -> (starts: [Int], departures: [Timetable.Departure]) {
        var starts = [Int](repeating: 0, count: stops.count + 1)
        for one in joined { starts[Int(one.stop) + 1] += 1 }
        for stop in stops.indices { starts[stop + 1] += starts[stop] }
        var next = starts
        var departures = [Timetable.Departure](
            repeating: Timetable.Departure(time: ClockTime(seconds: 0), trip: 0), count: joined.count)
        for one in joined {
            departures[next[Int(one.stop)]] = one.departure
            next[Int(one.stop)] += 1
        }
        for stop in stops.indices {
            departures[starts[stop]..<starts[stop + 1]].sort { ($0.time, $0.trip) < ($1.time, $1.trip) }
        }
        return (starts, departures)
    }
}
