// Reads a transit feed as slices, as typed columns, as columns with detected types, and as values of bound types, and
// joins files in memory. The peers are polars, pyarrow and duckdb, on one thread each, and SwiftCSV.

import CSVStreaming
import Foundation
import PlistBuilding
import PlistStreaming
import SwiftCSV
import Timetables

/// Returns a feed with the given number of stop times. The `--rows` option sets rows of databases only.
private func feed(_ scale: Scale, full: Int) -> TransitFeed { .make(scale.amount(full: full, smoke: 300)) }

let csvSuite = Suite(name: "CSV") { scale in
    let large = feed(scale, full: 5_000_000)
    let small = feed(scale, full: 100_000)
    return try [slices(large), columns(large), types(small), join(large)]
}

extension TransitFeed {
    /// The number of stop times. No field contains a line break.
    fileprivate var rowCount: Int { stopTimes.reduce(-1) { $0 + ($1 == UInt8(ascii: "\n") ? 1 : 0) } }
}

private struct WholeStopTime: StreamObject {
    var trip_id = 0
    var arrival_time = ""
    var departure_time = ""
    var stop_id = ""
    var stop_sequence = 0
    var pickup_type = 0
    var drop_off_type = 0

    var sum: UInt64 {
        UInt64(trip_id + stop_sequence + pickup_type + drop_off_type + stop_id.utf8.count + arrival_time.utf8.count)
    }
}

private let stopTimeTypes: KeyValuePairs<String, ColumnType> = [
    "trip_id": .integer, "arrival_time": .string, "departure_time": .string, "stop_id": .string,
    "stop_sequence": .integer, "pickup_type": .integer, "drop_off_type": .integer,
]

private func work(_ feed: TransitFeed) -> Work {
    Work(count: feed.rowCount, unit: "row", byteCount: feed.stopTimes.count)
}

private func slices(_ feed: TransitFeed) -> Group {
    Group(
        name: "slices", work: work(feed),
        cases: [
            Case(name: "forEachRow, one integer") {
                var sum: Int64 = 0
                try CSV.forEachRow(in: feed.stopTimes) { row in sum += row.integer(at: 4) ?? 0 }
                return UInt64(sum)
            },
            Case(name: "forEachRow, every field") {
                var (sum, byteCount): (Int64, Int) = (0, 0)
                try CSV.forEachRow(in: feed.stopTimes) { row in
                    for field in 0..<row.count { byteCount += row[field].byteCount }
                    sum += row.integer(at: 4) ?? 0
                }
                return byteCount > 0 ? UInt64(sum) : 0
            },
        ])
}

private func columns(_ feed: TransitFeed) throws -> Group {
    func sum(_ columns: Columns) -> UInt64 {
        columns["stop_sequence"]?.withIntegers { $0.reduce(0) { $0 + UInt64($1) } } ?? 0
    }
    return try Group(
        name: "columns", work: work(feed),
        cases: [
            .making(
                "typed", peer: "polars", goal: 3, also: [Goal(peer: "pyarrow"), Goal(peer: "duckdb")],
                { try CSV.columns(stopTimeTypes, from: feed.stopTimes) }, sum: sum),
            .making(
                "three chosen",
                {
                    try CSV.columns(
                        ["stop_sequence": .integer, "stop_id": .string, "trip_id": .integer], from: feed.stopTimes)
                },
                sum: sum),
            .making("types found", peer: "polars", { try CSV.columns(from: feed.stopTimes) }, sum: sum),
        ] + ["polars", "pyarrow", "duckdb"].flatMap { try CSVPythonPeer.cases($0, feed) })
}

private func types(_ feed: TransitFeed) throws -> Group {
    let text = String(decoding: feed.stopTimes, as: UTF8.self)
    return Group(
        name: "types", work: work(feed),
        cases: [
            .making(
                "structures", peer: "SwiftCSV", goal: 50,
                { try CSV.decode([WholeStopTime].self, from: feed.stopTimes) },
                sum: { $0.reduce(0) { $0 + $1.sum } }),
            .making(
                "SwiftCSV",
                {
                    try SwiftCSV.CSV<Named>(string: text).rows.map { row in
                        WholeStopTime(
                            trip_id: Int(row["trip_id"] ?? "") ?? 0, arrival_time: row["arrival_time"] ?? "",
                            departure_time: row["departure_time"] ?? "", stop_id: row["stop_id"] ?? "",
                            stop_sequence: Int(row["stop_sequence"] ?? "") ?? 0,
                            pickup_type: Int(row["pickup_type"] ?? "") ?? 0,
                            drop_off_type: Int(row["drop_off_type"] ?? "") ?? 0)
                    }
                }, sum: { $0.reduce(0) { $0 + $1.sum } }),
        ])
}

/// Returns a group that joins a timetable from three files, using columns or bound types.
private func join(_ feed: TransitFeed) -> Group {
    func sum(_ timetable: Timetable) -> UInt64 {
        timetable.stops.reduce(0) { sum, stop in
            timetable.departures(from: stop.stop_id, at: ClockTime(seconds: 43_200), count: 4)
                .reduce(sum) { $0 &* 31 &+ UInt64($1.time.seconds) &+ UInt64($1.headsign.utf8.count) }
        }
    }
    return Group(
        name: "join", work: Work(count: feed.rowCount, unit: "row", byteCount: feed.byteCount),
        cases: [
            .making("columns", { try Timetable(columnsOf: feed) }, sum: sum),
            .making("structures", { try Timetable(structuresOf: feed) }, sum: sum),
        ])
}

/// A Python library that runs in a new process each time.
private enum CSVPythonPeer {
    /// Returns the cases of a library. If Python doesn't have it, prints a message and returns an empty array.
    static func cases(_ library: String, _ feed: TransitFeed) throws -> [Case] {
        guard let version = try? run(["has", library]), version != "none" else {
            print("skipped: \(library); Python does not have it (pip install \(library))")
            return []
        }
        let file = FileManager.default.temporaryDirectory.appending(path: "benchmark-stop-times-\(getpid()).csv")
        return [
            Case(name: "\(library), \(version)") { _ in
                try Data(feed.stopTimes).write(to: file)
                defer { try? FileManager.default.removeItem(at: file) }
                let answer = try run(["run", library, file.path])
                let numbers = answer.split(separator: " ").compactMap { UInt64($0) }
                guard numbers.count == 3 else { throw DifferentResults(description: "\(library): \(answer)") }
                return RemoteRun(
                    checksum: numbers[2], elapsed: .nanoseconds(Int64(numbers[0])), peakGrowth: Int(numbers[1]))
            }
        ]
    }

    private static func run(_ arguments: [String]) throws -> String {
        let script = URL(filePath: #filePath).deletingLastPathComponent().appending(
            path: "../../../Python/csv_peers.py")
        let (process, output) = (Process(), Pipe())
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["python3", script.standardizedFileURL.path] + arguments
        process.standardOutput = output
        try process.run()
        let answer = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return String(decoding: answer, as: UTF8.self).trimmingCharacters(in: .newlines)
    }
}
