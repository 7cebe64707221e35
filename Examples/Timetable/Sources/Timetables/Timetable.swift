// Joins stops, trips and stop times in memory: one array contains all departures, sorted by stop and time.

import PlistStreaming
import StringTables

/// A timetable that finds the departures from a stop.
public struct Timetable: Sendable {
    /// The time and the trip of a departure.
    struct Departure: Sendable, Equatable {
        var time: ClockTime
        var trip: Int32
    }

    /// A departure as shown on a board.
    public struct Line: Sendable, Equatable {
        /// The time of departure.
        public let time: ClockTime
        /// The name of the line.
        public let route: String
        /// The destination.
        public let headsign: String
        /// The platform or other part of the station.
        public let stop: String
    }

    /// The stops, in the order of the feed.
    public let stops: [Stop]
    /// The trips, in the order of the feed.
    public let trips: [Trip]
    private let stopNumbers: KeySet
    /// For each stop, the numbers of the stop itself and of its parts.
    private let parts: [[Int32]]
    /// The index of each stop's first departure. Its departures end at the start of the next stop's.
    private let starts: [Int]
    private let departures: [Departure]

    /// Creates a timetable from joined stop times.
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

    /// Returns the number of departures from a stop and its parts, or 0 for an unknown stop.
    public func departureCount(from station: String) -> Int {
        numbers(of: station).reduce(0) { $0 + starts[Int($1) + 1] - starts[Int($1)] }
    }

    /// Returns the next departures from a stop and its parts, the earliest first. Departures at the same second are in the
    /// order of the feed's trips.
    ///
    /// - Complexity: O(log *n* + *m* log *m*) for each part, with *n* departures from it and a `count` of *m*.
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

    /// Returns the index of the first departure that isn't before a time.
    private func firstIndex(in range: Range<Int>, at time: ClockTime) -> Int {
        var (low, high) = (range.lowerBound, range.upperBound)
        while low < high {
            let middle = low + (high - low) / 2
            if departures[middle].time < time { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

/// Stop times that are being joined, each with the numbers of its trip and its stop.
struct StopTimeJoin {
    let stops: [Stop]
    let trips: [Trip]
    let stopNumbers: KeySet
    private let tripNumbers: KeySet
    private var lastTrip = -1
    private var joined: [(stop: Int32, departure: Timetable.Departure)] = []

    /// Begins with the stops and trips of a feed, without times.
    ///
    /// - Throws: `duplicateKey` for two stops or trips with the same identifier.
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
    /// - Throws: `unrepresentable` for an unknown stop or trip.
    mutating func add(trip: RawSpan, stop: RawSpan, _ time: ClockTime) throws(StreamError) {
        // The times of a trip are usually adjacent.
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

    /// Returns the departures sorted by stop, time and trip, and the index of each stop's first departure.
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
