// The records for the tests and for the comparison with JSON, which use the format like any client.

import CBORStreaming
import JSONStreaming

/// A record of a sensor.
struct Measurement: StreamObject, Equatable {
    var id = 0
    var station = ""
    var temperature = 0.0
    var isValid = false
    var counts: [Int] = []

    init() {}

    init(number: Int) {
        id = number * 7_919 % 1_000_003
        station = "station \(number % 977)"
        temperature = Double(number * 31 % 4_001) / 100 - 20
        isValid = number % 3 != 0
        counts = (0..<number % 4).map { number * ($0 + 1) }
    }
}

/// The same record for `Codable`.
struct CodedMeasurement: Codable {
    var id: Int
    var station: String
    var temperature: Double
    var isValid: Bool
    var counts: [Int]
}

/// A comparison of the times to decode the same values from CBOR and from JSON.
public struct Comparison {
    private let cbor: [UInt8]
    private let json: [UInt8]

    /// Encodes the given number of records.
    public init(recordCount: Int) throws {
        let measurements = (0..<recordCount).map(Measurement.init(number:))
        (cbor, json) = (Array(try CBOR.encode(measurements)), Array(try JSON.encode(measurements)))
    }

    /// Returns the results as text, one per line.
    public func lines() throws -> [String] {
        try [
            "\(cbor.count) bytes of CBOR, \(json.count) bytes of JSON",
            line(
                "bound types", { try CBOR.decode([Measurement].self, from: cbor).count },
                { try JSON.decode([Measurement].self, from: json).count }),
            line(
                "Codable types", { try CBOR.decode([CodedMeasurement].self, from: cbor).count },
                { try JSON.decode([CodedMeasurement].self, from: json).count }),
            line(
                "trees", { try CBOR.propertyList(from: cbor).count }, { try JSON.propertyList(from: json).count }),
        ]
    }

    /// Returns a line with the shortest times of several rounds.
    private func line(_ name: String, _ cbor: () throws -> Int, _ json: () throws -> Int) throws -> String {
        let clock = ContinuousClock()
        var shortest = (cbor: Duration.seconds(1_000), json: Duration.seconds(1_000))
        var recordCount = 0
        let end = clock.now + .seconds(1)
        repeat {
            shortest.cbor = min(shortest.cbor, try clock.measure { recordCount = try cbor() })
            shortest.json = min(shortest.json, try clock.measure { recordCount -= try json() })
        } while clock.now < end
        guard recordCount == 0 else { return "\(name): another number of records" }
        let ratio = (shortest.json / shortest.cbor * 100).rounded() / 100
        return "\(name): \(shortest.cbor) from CBOR, \(shortest.json) from JSON, \(ratio) times the speed of JSON"
    }
}
