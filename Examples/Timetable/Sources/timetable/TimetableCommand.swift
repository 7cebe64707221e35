// Makes a feed of 5,000,000 stop times, reads it into bound types and into columns, joins it with its stops and trips in
// memory, and prints the next departures from a station. Run this command in the checkout:
//
//     swift run -c release --package-path Examples/Timetable timetable [--rows N | --feed FOLDER] [--station ID] [--at
//     H:MM:SS]
//
// `--feed` reads a published feed instead. A build without `-c release` runs the tests.

import Foundation
import Timetables

@main
enum TimetableCommand {
    static func main() {
        do { try run(Array(CommandLine.arguments.dropFirst())) } catch {
            FileHandle.standardError.write(Data("timetable: error: \(error)\n".utf8))
            exit(error is UsageError ? 2 : 1)
        }
    }

    struct UsageError: Error, CustomStringConvertible {
        let description: String
    }

    private static func run(_ arguments: [String]) throws {
        var (rowCount, folder, station, time): (Int, String?, String?, ClockTime) = (
            5_000_000, nil, nil, ClockTime(seconds: 43_200)
        )
        var arguments = arguments[...]
        while let argument = arguments.popFirst() {
            guard ["--rows", "--feed", "--station", "--at"].contains(argument), let value = arguments.popFirst() else {
                throw UsageError(
                    description: "expected --rows N, --feed FOLDER, --station ID or --at H:MM:SS, found \(argument)")
            }
            switch argument {
            case "--rows":
                guard let count = Int(value), count > 0 else {
                    throw UsageError(description: "--rows needs a positive number")
                }
                rowCount = count
            case "--feed": folder = value
            case "--station": station = value
            default:
                guard let parsed = ClockTime(utf8: value.utf8) else {
                    throw UsageError(description: "--at needs a time such as 8:05:00")
                }
                time = parsed
            }
        }
        let feed = try timed("feed at hand") { try folder.map { try TransitFeed(folder: $0) } ?? .make(rowCount) }
        print("\(feed.byteCount / 1_000_000) MB")
        let byStructures = try timed("structures, joined") { try Timetable(structuresOf: feed) }
        let timetable = try timed("columns, joined") { try Timetable(columnsOf: feed) }
        print("\(timetable.stops.count) stops, \(timetable.trips.count) trips, \(timetable.departureCount) departures")
        let busiest = timetable.stops.map(\.stop_id).max {
            timetable.departureCount(from: $0) < timetable.departureCount(from: $1)
        }
        guard let shown = station ?? busiest else { return }
        let lines = timetable.departures(from: shown, at: time, count: 8)
        print("\(shown) from \(time):")
        for line in lines { print("  \(line.time)  \(line.route)  \(line.headsign)  (\(line.stop))") }
        try compare(timetable, byStructures)
    }

    /// Queries both timetables once for each stop.
    private static func compare(_ timetable: Timetable, _ other: Timetable) throws {
        func query(_ timetable: Timetable) -> Int {
            timetable.stops.reduce(0) { sum, stop in
                timetable.departures(from: stop.stop_id, at: ClockTime(seconds: 28_800), count: 5)
                    .reduce(sum) { $0 &* 31 &+ Int($1.time.seconds) &+ $1.stop.utf8.count }
            }
        }
        let sum = timed("\(timetable.stops.count) stops queried") { query(timetable) }
        guard query(other) == sum else { throw UsageError(description: "the two ways of reading do not agree") }
    }

    private static func timed<Value>(_ name: String, _ body: () throws -> Value) rethrows -> Value {
        let start = ContinuousClock.now
        let value = try body()
        let elapsed = (ContinuousClock.now - start).components
        print("\(name): \((elapsed.seconds * 1_000 + elapsed.attoseconds / 1_000_000_000_000_000)) ms")
        return value
    }
}
