// A feed of a transit agency, in the files of the General Transit Feed Specification, and the values that a timetable needs.

import Foundation
import PlistBuilding
import PlistStreaming

/// A feed: the text of its files.
public struct TransitFeed: Sendable {
    /// `stops.txt`.
    public var stops: [UInt8]
    /// `trips.txt`.
    public var trips: [UInt8]
    /// `stop_times.txt`, usually much larger than the others.
    public var stopTimes: [UInt8]

    /// Creates a feed from the text of its files.
    public init(stops: [UInt8], trips: [UInt8], stopTimes: [UInt8]) {
        (self.stops, self.trips, self.stopTimes) = (stops, trips, stopTimes)
    }

    /// Reads the files of a folder, for example of a published feed. Check its license before you use it.
    public init(folder: String) throws {
        func bytes(_ name: String) throws -> [UInt8] {
            try Array(Data(contentsOf: URL(filePath: folder).appending(path: name)))
        }
        try self.init(stops: bytes("stops.txt"), trips: bytes("trips.txt"), stopTimes: bytes("stop_times.txt"))
    }

    /// The bytes of all files.
    public var byteCount: Int { stops.count + trips.count + stopTimes.count }
}

/// A place where vehicles stop, or a station with several such places.
public struct Stop: StreamObject, Sendable, Equatable {
    /// The identifier.
    public var stop_id = ""
    /// The name for riders.
    public var stop_name: String?
    /// The station that it is a part of.
    public var parent_station: String?

    /// Creates a stop without an identifier.
    public init() {}
}

/// A journey of a vehicle.
public struct Trip: StreamObject, Sendable, Equatable {
    /// The identifier.
    public var trip_id = ""
    /// The line.
    public var route_id = ""
    /// The destination shown on the vehicle.
    public var trip_headsign: String?

    /// Creates a trip without an identifier.
    public init() {}
}

/// The time when a trip leaves a stop, or nil if it has to be estimated from the stops before and after it.
public struct StopTime: StreamObject, Sendable, Equatable {
    /// The trip.
    public var trip_id = ""
    /// The stop.
    public var stop_id = ""
    /// The time of departure.
    public var departure_time: ClockTime?

    /// Creates a time without a trip.
    public init() {}
}
