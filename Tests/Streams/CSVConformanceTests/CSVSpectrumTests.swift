// Compares the texts of the csv-spectrum corpus with their JSON equivalents. Without the corpus, the tests report it
// and are skipped.

import CSVStreaming
import Foundation
import PlistBuilding
import PlistStreaming
import TestCorpora
import Testing

/// The files of the corpus.
private enum Corpus {
    static let directory = TestCorpora.place("csv-spectrum")

    static let names: [String] = {
        let files = try? FileManager.default.contentsOfDirectory(atPath: directory.appending(path: "csvs").path)
        return (files ?? []).filter { $0.hasSuffix(".csv") }.map { String($0.dropLast(4)) }.sorted()
    }()

    static func bytes(_ name: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: directory.appending(path: "csvs/\(name).csv")))
    }

    static func records(_ name: String) throws -> [[String: String]] {
        let data = try Data(contentsOf: directory.appending(path: "json/\(name).json"))
        let object = try JSONSerialization.jsonObject(with: data)
        return (object as? [[String: String]]) ?? (object as? [String: String]).map { [$0] } ?? []
    }
}

@Suite(.enabled(if: !Corpus.names.isEmpty, "there is no corpus at ../shared/corpora/csv-spectrum"))
struct CSVSpectrumTests {
    private func records(_ bytes: [UInt8], _ options: CSVReaderOptions = CSVReaderOptions()) throws -> [[String:
        String]]
    {
        var builder = try ObjectBuilder<[[String: String]]>()
        try builder.readCSV(bytes, options: options)
        return try builder.takeResult()
    }

    @Test(arguments: Corpus.names)
    func readsExpectedRecords(_ name: String) throws {
        // This file has quotes in unquoted fields, and its JSON file has a different phone number.
        let isOdd = name == "location_coordinates"
        var options = CSVReaderOptions(bareQuotes: isOdd ? .keep : .reject)
        var (found, expected) = (try records(Corpus.bytes(name), options), try Corpus.records(name))
        if isOdd {
            #expect(throws: StreamError.self) { try records(Corpus.bytes(name)) }
            for index in found.indices { found[index]["Contact Phone Number"] = nil }
            for index in expected.indices { expected[index]["Contact Phone Number"] = nil }
        }
        #expect(found == expected)
        #expect(!found.isEmpty)
        options.longRecords = .ignore
        #expect(try records(Corpus.bytes(name), options).count == found.count)
    }

    @Test(arguments: Corpus.names)
    func roundTripsFiles(_ name: String) throws {
        let options = CSVReaderOptions(bareQuotes: name == "location_coordinates" ? .keep : .reject)
        var writer = CSVWriter()
        try writer.readCSV(Corpus.bytes(name), options: options)
        try writer.finish()
        #expect(try records(writer.bytes) == records(Corpus.bytes(name), options))
    }

    @Test(arguments: Corpus.names)
    func readsSameRecordsAtEverySplit(_ name: String) throws {
        let bytes = try Corpus.bytes(name)
        let options = CSVReaderOptions(bareQuotes: .keep)
        var whole = EventTrace()
        try whole.readCSV(bytes, options: options)
        for cut in 0...bytes.count {
            var reader = CSVReader(sink: EventTrace(), options: options)
            try reader.feed(Array(bytes[..<cut]))
            try reader.feed(Array(bytes[cut...]))
            try reader.finish()
            if reader.sink.text != whole.text { #expect(reader.sink.text == whole.text, "cut at \(cut)") }
        }
    }

    @Test func corpusIsComplete() {
        #expect(Corpus.names.count == 12)
    }
}
