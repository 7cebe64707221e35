// A feed of a transit agency, in the files of the General Transit Feed Specification, and what of it a timetable needs.

import Foundation
import PlistBuilding
import PlistStreaming

/// A feed: the texts of its files.
public struct TransitFeed: Sendable {
    /// `stops.txt`.
    public var stops: [UInt8]
    /// `trips.txt`.
    public var trips: [UInt8]
    /// `stop_times.txt`, mostly far larger than the others.
    public var stopTimes: [UInt8]

    /// Creates a feed of the texts of its files.
    public init(stops: [UInt8], trips: [UInt8], stopTimes: [UInt8]) {
        (self.stops, self.trips, self.stopTimes) = (stops, trips, stopTimes)
    }

    /// Reads the files of a folder, such as that of a published feed; its licence is yours to check.
    public init(folder: String) throws {
        func bytes(_ name: String) throws -> [UInt8] {
            try Array(Data(contentsOf: URL(filePath: folder).appending(path: name)))
        }
        try self.init(stops: bytes("stops.txt"), trips: bytes("trips.txt"), stopTimes: bytes("stop_times.txt"))
    }

    /// The bytes of all files.
    public var byteCount: Int { stops.count + trips.count + stopTimes.count }
}

/// A place where vehicles stop, or a station of several.
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
    /// What is written on the vehicle.
    public var trip_headsign: String?

    /// Creates a trip without an identifier.
    public init() {}
}

/// When a trip leaves a stop; nil where the feed leaves that to be guessed from the stops before and behind.
public struct StopTime: StreamObject, Sendable, Equatable {
    /// The trip.
    public var trip_id = ""
    /// The stop.
    public var stop_id = ""
    /// The time at which it leaves.
    public var departure_time: ClockTime?

    /// Creates a time of no trip.
    public init() {}
}
