// The tests of all features of a format, from the point of view of a client.

#if DEBUG || IN_CLASS_TESTS
import CBORStreaming
import Foundation
import InClassTesting
import JSONStreaming

extension Measurement: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testReadsItsOwnOutputFromEverySource": testReadsItsOwnOutputFromEverySource,
            "testReadsAndWritesCodableTypes": testReadsAndWritesCodableTypes,
            "testReadsRecordsOneByOne": testReadsRecordsOneByOne,
            "testBuildsTreesAndColumns": testBuildsTreesAndColumns,
            "testKeepsEveryValueOfOtherFormats": testKeepsEveryValueOfOtherFormats,
            "testRefusesToEncodeText": testRefusesToEncodeText,
            "testReadsChunksOfAnySize": testReadsChunksOfAnySize,
            "testEnforcesLimitOnCollectedBytes": testEnforcesLimitOnCollectedBytes,
            "testReportsPathOfInvalidValues": testReportsPathOfInvalidValues,
        ]
    }

    private static let measurements = (0..<7).map(Measurement.init(number:))

    private static func isEqual(_ coded: [CodedMeasurement]) -> Bool {
        let found = coded.map { coded in
            var measurement = Measurement()
            (measurement.id, measurement.station, measurement.temperature) = (
                coded.id, coded.station, coded.temperature
            )
            (measurement.isValid, measurement.counts) = (coded.isValid, coded.counts)
            return measurement
        }
        return found == measurements
    }

    private static func testReadsItsOwnOutputFromEverySource() throws {
        let data = try CBOR.encode(measurements)
        let path = try temporaryDirectory() + "/measurements.cbor"
        try CBOR.write(measurements, to: .file(path))
        expectEqual(try Data(contentsOf: URL(filePath: path)), data, "the file")
        expectEqual(try CBOR.decode([Measurement].self, from: data), measurements, "data")
        expectEqual(try CBOR.decode([Measurement].self, from: Array(data)), measurements, "bytes")
        expectEqual(try CBOR.decode([Measurement].self, from: Array(data)[...]), measurements, "a slice")
        expectEqual(try CBOR.decode([Measurement].self, from: .file(path)), measurements, "a file")
        expectEqual(try CBOR.decode([Measurement].self, from: URL(filePath: path)), measurements, "a URL")
        let file = try FileHandle(forReadingFrom: URL(filePath: path))
        let read = try CBOR.decode([Measurement].self, from: .descriptor(file.fileDescriptor))
        expectEqual(read, measurements, "a descriptor")
        // If a file can't be written completely, it stays unchanged.
        expectThrows(StreamError.self, "an error of a document") {
            try CBOR().write(JSON().document("[1, 2"), to: .file(path))
        }
        expectEqual(try Data(contentsOf: URL(filePath: path)), data, "the file after an error")
    }

    private static func testReadsAndWritesCodableTypes() throws {
        let data = try CBOR.encode(measurements)
        let coded = try CBOR.decode([CodedMeasurement].self, from: data)
        expectTrue(isEqual(coded), "decoded: \(coded)")
        expectEqual(try CBOR.decode([Measurement].self, from: try CBOR.encode(coded)), measurements, "encoded")
        let path = try temporaryDirectory() + "/coded.cbor"
        try CBOR.write(coded, to: .file(path))
        expectTrue(isEqual(try CBOR.decode([CodedMeasurement].self, from: .file(path))), "the file")
        struct Special: Codable, Equatable {
            var data: Data
            var date: Date
            var decimal: Decimal
            var large: UInt64
            var none: Int?
        }
        let special = Special(
            data: Data([0, 255]), date: Date(timeIntervalSince1970: 1_363_896_240.5),
            decimal: Decimal(string: "12345678901234567890.12345") ?? 0, large: .max, none: nil)
        expectEqual(try CBOR.decode(Special.self, from: try CBOR.encode(special)), special, "other types")
    }

    private static func testReadsRecordsOneByOne() async throws {
        let data = try CBOR.encode(measurements)
        var found: [Measurement] = []
        try CBOR.decodeEach(Measurement.self, from: data) { found.append(copy $0) }
        expectEqual(found, measurements, "a closure")
        var coded: [CodedMeasurement] = []
        try CBOR().decodeEach(CodedMeasurement.self, from: data) { coded.append($0) }
        expectTrue(isEqual(coded), "Codable records: \(coded)")
        let records = CBOR().records(of: Measurement.self, from: data).makeIterator()
        found = []
        while let measurement = try records.next() { found.append(measurement) }
        expectEqual(found, measurements, "an iterator")
        (found, coded) = ([], [])
        for try await measurement in CBOR().records(of: Measurement.self, from: data) { found.append(measurement) }
        for try await measurement in CBOR().records(of: CodedMeasurement.self, from: data) { coded.append(measurement) }
        expectEqual(found, measurements, "an asynchronous sequence")
        expectTrue(isEqual(coded), "an asynchronous sequence of Codable records: \(coded)")
        let chunks = AsyncStream<Data> { continuation in
            for byte in data { continuation.yield(Data([byte])) }
            continuation.finish()
        }
        found = []
        for try await measurement in CBOR().records(of: Measurement.self, in: chunks) { found.append(measurement) }
        expectEqual(found, measurements, "chunks that arrive")
        found = []
        try CBOR.decodeEach(Measurement.self, from: data) { measurement in
            found.append(copy measurement)
            if found.count == 2 { throw StreamError.stopRequest() }
        }
        expectEqual(found, Array(measurements.prefix(2)), "until the closure stops")
    }

    private static func testBuildsTreesAndColumns() throws {
        let data = try CBOR.encode(measurements)
        let tree = try CBOR.propertyList(from: data)
        expectEqual(tree.count, measurements.count, "elements")
        expectEqual(tree, try JSON.propertyList(from: try JSON.encode(measurements)), "the tree of JSON")
        var written: [UInt8] = []
        try CBOR().write(tree, to: &written)
        expectEqual(try CBOR.decode([Measurement].self, from: written), measurements, "the tree, written")
        let columns = try CBOR.columns(["id": .integer, "station": .string, "temperature": .real], from: data)
        expectEqual(columns.rowCount, measurements.count, "rows")
        for (row, measurement) in measurements.enumerated() {
            expectEqual(columns["id"]?.integer(row), Int64(measurement.id), "id of row \(row)")
            expectEqual(columns["station"]?.string(row), measurement.station, "station of row \(row)")
            expectEqual(columns["temperature"]?.real(row), measurement.temperature, "temperature of row \(row)")
        }
    }

    private static func testKeepsEveryValueOfOtherFormats() throws {
        let documents = [
            "null", "[]", "{}", "\"ä 🙂\"", "[1,-1,0.5,1e300,true,false,null]", "[[[{\"a\":{\"b\":[]}}]],\"\"]",
            "[9223372036854775807,-9223372036854775808,18446744073709551615,18446744073709551616,-18446744073709551617]",
            "{\"a\":1,\"a\":2,\"\":\"x\"}", "[123456789012345678901234567890,-0.0]",
        ]
        for document in documents {
            var (cbor, json): ([UInt8], [UInt8]) = ([], [])
            try CBOR().write(JSON().document(document), to: &cbor)
            try JSON().write(CBOR().document(cbor), to: &json)
            expectEqual(String(decoding: json, as: UTF8.self), document, "through CBOR")
        }
        // Numbers that doubles can't represent are read back with the same value, as an integer with an exponent.
        for (number, same) in [
            ("1e400", "1e400"), ("-0.5e-400", "-5e-401"), ("9007199254740993.0", "90071992547409930e-1"),
        ] {
            var (cbor, json): ([UInt8], [UInt8]) = ([], [])
            try CBOR().write(JSON().document(number), to: &cbor)
            try JSON().write(CBOR().document(cbor), to: &json)
            expectEqual(String(decoding: json, as: UTF8.self), same, number)
        }
    }

    private static func testRefusesToEncodeText() throws {
        // The bytes of the first text are ASCII.
        for text in ["a", "größer"] {
            let bound = expectThrows(StreamError.self, text) { _ = try CBOR.encodeToString(text) }
            expectEqual(bound?.kind, .misuse, "kind of \(text)")
        }
        let coded = expectThrows(StreamError.self, "a Codable value") {
            _ = try CBOR.encodeToString(CodedMeasurement(id: 1, station: "", temperature: 1, isValid: true, counts: []))
        }
        expectEqual(coded?.kind, .misuse, "kind of a Codable value")
    }

    /// Returns the values and the error of a document that is split into two pieces.
    private static func outcome(_ document: [UInt8], splitAt place: Int) throws -> String {
        let found = Found()
        let stream = try RecordStream<PropertyList>(depth: 0) { value throws(StreamError) in found.text += "\(value) "
        }
        var reader = CBOR().pushReader(into: stream)
        do {
            try reader.feed(document[..<place])
            try reader.feed(document[place...])
            try reader.finish()
        } catch {
            found.text += "\(error)"
        }
        return found.text
    }

    private final class Found {
        var text = ""
    }

    private static func testReadsChunksOfAnySize() throws {
        let document = Array(try CBOR.encode(Array(measurements.prefix(3))))
        let broken = Array(document.dropLast(5)) + [0x1C]
        for document in [document, broken, Array(document.dropLast()), document + [0], []] {
            let whole = try outcome(document, splitAt: 0)
            expectNotEqual(whole, "", "an outcome")
            for place in 0...document.count {
                expectEqual(try outcome(document, splitAt: place), whole, "split at \(place)")
            }
        }
    }

    private static func testEnforcesLimitOnCollectedBytes() throws {
        let format = CBOR(limits: StreamLimits(totalByteCount: 4))
        let path = try temporaryDirectory() + "/limit.cbor"
        try [UInt8]([0x83, 1, 2, 3]).writeFile(path)
        expectEqual(try format.decode([Int].self, from: .file(path)), [1, 2, 3], "as many bytes as the limit")
        try [UInt8]([0x84, 1, 2, 3, 4]).writeFile(path)
        let file = expectThrows(StreamError.self, "a file") { _ = try format.decode([Int].self, from: .file(path)) }
        let memory = expectThrows(StreamError.self, "memory") {
            _ = try format.decode([Int].self, from: [0x84, 1, 2, 3, 4] as [UInt8])
        }
        var reader = format.pushReader(into: NullSink())
        try reader.feed([0x84, 1, 2] as [UInt8])
        let chunks = expectThrows(StreamError.self, "chunks") { try reader.feed([3, 4] as [UInt8]) }
        for error in [file, memory, chunks] { expectEqual(error?.kind, .limitExceeded, "kind of \(error as Any)") }
    }

    private static func testReportsPathOfInvalidValues() throws {
        var document: [UInt8] = []
        try CBOR().write(JSON().document("[{\"id\":1},{\"id\":\"x\"}]"), to: &document)
        let error = expectThrows(StreamError.self, "text as an integer") {
            _ = try CBOR.decode([Measurement].self, from: document)
        }
        expectEqual(error?.description, "$[1].id: expected an integer, found string \"x\" at byte 11", "the error")
        let coded = expectThrows(DecodingError.self, "text as an integer") {
            _ = try CBOR.decode([CodedMeasurement].self, from: document)
        }
        guard case .keyNotFound? = coded else { return fail("another error: \(coded as Any)") }
    }
}

extension [UInt8] {
    fileprivate func writeFile(_ path: String) throws { try Data(self).write(to: URL(filePath: path)) }
}
#endif
