// Generates a feed in the format of GTFS (https://gtfs.org/schedule/reference) from a seed. Its stops, trips and stop times
// are as varied as in real feeds. It contains no data of published feeds.

extension TransitFeed {
    /// Makes a feed with the given number of stop times.
    public static func make(_ rowCount: Int) -> TransitFeed {
        var generator = SeededGenerator(seed: 20_261_123)
        let stopCount = max(4, rowCount / 250)
        let stops = (0..<stopCount).map { index in
            "de:\(Int.random(in: 1_000...16_077, using: &generator)):\(index):\(index % 7):\(index % 3)"
        }
        var feed = TransitFeed(
            stops: Array("stop_id,stop_name,stop_lat,stop_lon,location_type,parent_station\n".utf8),
            trips: Array("route_id,service_id,trip_id,trip_headsign,direction_id\n".utf8), stopTimes: [])
        let places = ["Hauptbahnhof", "Rathaus", "Am Bühl", "Universität", "Berlin, Alexanderplatz", "Schloß", "Markt"]
        for (index, stop) in stops.enumerated() {
            let name = "\(places.randomElement(using: &generator) ?? "") \(index % 90)"
            let shown = name.contains(",") ? "\"\(name)\"" : name
            let (latitude, longitude) = (
                Int.random(in: 47_300_000..<54_900_000, using: &generator),
                Int.random(in: 6_000_000..<14_900_000, using: &generator)
            )
            let parent = index % 3 == 0 ? "" : stops[index - index % 3]
            feed.stops += Array(
                "\(stop),\(shown),\(degrees(latitude)),\(degrees(longitude)),\(index % 3 == 0 ? 1 : 0),\(parent)\n".utf8
            )
        }
        feed.addTrips(rowCount, stops, &generator)
        return feed
    }

    private static func degrees(_ millionths: Int) -> String {
        "\(millionths / 1_000_000)." + String("\(1_000_000 + millionths % 1_000_000)".dropFirst())
    }

    private mutating func addTrips(_ rowCount: Int, _ stops: [String], _ generator: inout SeededGenerator) {
        stopTimes.reserveCapacity(rowCount * 58)
        stopTimes += Array("trip_id,arrival_time,departure_time,stop_id,stop_sequence,pickup_type,drop_off_type\n".utf8)
        var (row, trip) = (0, 1_000_000)
        while row < rowCount {
            trip += Int.random(in: 1...9, using: &generator)
            let headsign = row % 16 == 0 ? "\"Ring, \"\"S\(row % 40)\"\"\"" : "Linie \(row % 40)"
            trips += Array("\(row % 300),\(row % 9),\(trip),\(headsign),\(row % 2)\n".utf8)
            let length = min(rowCount - row, Int.random(in: 5...45, using: &generator))
            var second = Int.random(in: 14_400..<82_800, using: &generator)
            let first = Int.random(in: 0..<stops.count, using: &generator)
            for sequence in 0..<length {
                let arrival = Self.clock(second)
                second += Int.random(in: 0...3, using: &generator) == 0 ? 30 : 0
                let stop = stops[(first + sequence) % stops.count]
                let shown = row % 50 == 0 ? "\"\(stop)\"" : stop
                let fields = [
                    "\(trip)", arrival, Self.clock(second), shown, "\(sequence)", row % 17 == 0 ? "1" : "0",
                    row % 11 == 0 ? "3" : "0",
                ]
                stopTimes += Array((fields.joined(separator: ",") + "\n").utf8)
                second += Int.random(in: 45...400, using: &generator)
                row += 1
            }
        }
    }

    /// Returns the text of a time. Hours can exceed 24, as for times after midnight.
    private static func clock(_ second: Int) -> String {
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return "\(two(second / 3_600)):\(two(second / 60 % 60)):\(two(second % 60))"
    }
}
