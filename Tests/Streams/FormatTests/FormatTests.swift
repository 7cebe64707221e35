// Tests every function of `StreamFormat` for every format: reading and writing, bound and Codable types, records,
// columns, conversion, and pushed input at every split point. A table lists the values that a format can't represent.

import CSVStreaming
import Foundation
import JSONStreaming
import PropertyListFiles
import Testing
import XMLStreaming

/// A bound type.
struct Stop: StreamObject, Equatable {
    var id = 0
    var name = ""
    var distance = 0.0
    var isOpen = false
    var zone: String?
}

/// The same type for Codable only.
struct CodedStop: Codable, Equatable {
    var id: Int
    var name: String
    var distance: Double
    var isOpen: Bool
    var zone: String?
}

/// A type that is both bound and Codable. Its Codable functions throw, so a test fails if they are used.
struct DoubleStop: StreamObject, Codable, Equatable {
    var id = 0
    var name = ""

    init() {}

    init(from decoder: any Decoder) throws {
        throw DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "decoded by Codable"))
    }

    func encode(to encoder: any Encoder) throws {
        throw EncodingError.invalidValue(self, .init(codingPath: [], debugDescription: "encoded by Codable"))
    }
}

@Suite struct FormatTests {
    static let formats: [any StreamFormat] = [
        JSON(), JSONLines(), CSV(), CSV(reader: CSVReaderOptions(fieldType: .inferred)), XML(), XMLPropertyList(),
        BinaryPropertyList(), OpenStepPropertyList(), AnyPropertyList(),
    ]

    static let stops = [
        Stop(id: 1, name: "Ostbahnhof <&>", distance: 0.5, isOpen: true, zone: "A"),
        Stop(id: -7, name: "ö, \"x\"", distance: 12, isOpen: false, zone: "B"),
    ]
    static var coded: [CodedStop] {
        stops.map {
            CodedStop(id: $0.id, name: $0.name, distance: $0.distance, isOpen: $0.isOpen, zone: $0.zone)
        }
    }

    @Test(arguments: formats)
    func readsItsOwnOutput(_ format: any StreamFormat) throws {
        try check(format)
    }

    private func check(_ format: some StreamFormat) throws {
        let data = try format.encode(Self.stops)
        let path = FileManager.default.temporaryDirectory.appending(path: "format-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        try format.write(Self.stops, to: .file(path))
        #expect(try Data(contentsOf: URL(filePath: path)) == data, "the file")
        #expect(try format.decode([Stop].self, from: data) == Self.stops, "data")
        #expect(try format.decode([Stop].self, from: Array(data)) == Self.stops, "bytes")
        #expect(try format.decode([Stop].self, from: Array(data)[...]) == Self.stops, "a slice")
        #expect(try format.decode([Stop].self, from: .file(path)) == Self.stops, "a file")
        #expect(try format.decode([Stop].self, from: URL(filePath: path)) == Self.stops, "a URL")
        let file = try FileHandle(forReadingFrom: URL(filePath: path))
        #expect(try format.decode([Stop].self, from: .descriptor(file.fileDescriptor)) == Self.stops, "a descriptor")
        if !(format is BinaryPropertyList) {
            let text = try format.encodeToString(Self.stops)
            #expect(Data(text.utf8) == data, "text")
            #expect(try format.decode([Stop].self, from: text) == Self.stops, "a string")
            #expect(try format.decode([Stop].self, from: text.dropLast(0)) == Self.stops, "a substring")
        } else {
            #expect(throws: StreamError.self) { try format.encodeToString(Self.stops) }
            // The function also throws if the bytes happen to be valid text.
            let error = #expect(throws: StreamError.self) { try format.encodeToString("a") }
            #expect(error?.kind == .misuse)
        }
    }

    @Test(arguments: formats)
    func readsRecordsOneByOne(_ format: any StreamFormat) async throws { try await checkRecords(format) }

    private func checkRecords(_ format: some StreamFormat) async throws {
        let data = try format.encode(Self.stops)
        var found: [Stop] = []
        try format.decodeEach(Stop.self, from: data) { found.append(copy $0) }
        #expect(found == Self.stops, "a closure")
        let records = format.records(of: Stop.self, from: data).makeIterator()
        found = []
        while let stop = try records.next() { found.append(stop) }
        #expect(found == Self.stops, "an iterator")
        #expect(try format.records(of: Stop.self, from: data).results.map { try $0.get() } == Self.stops, "results")
        found = []
        for try await stop in format.records(of: Stop.self, from: data) { found.append(stop) }
        #expect(found == Self.stops, "an asynchronous sequence")
        found = []
        let chunks = AsyncStream<Data> { continuation in
            for byte in data { continuation.yield(Data([byte])) }
            continuation.finish()
        }
        for try await stop in format.records(of: Stop.self, in: chunks) { found.append(stop) }
        #expect(found == Self.stops, "chunks that arrive")
        let error = #expect(throws: StreamError.self) {
            try format.decodeEach(Stop.self, from: data) { _ in throw Own() }
        }
        #expect(error?.cause is Own, "an error of the closure")
        try format.decodeEach(Stop.self, from: data) { _ in throw StreamError.stopRequest() }
    }

    @Test(arguments: formats)
    func readsAndWritesCodableTypes(_ format: any StreamFormat) async throws { try await checkCodable(format) }

    private func checkCodable(_ format: some StreamFormat) async throws {
        let data = try format.encode(Self.coded)
        #expect(try format.decode([Stop].self, from: data) == Self.stops, "what Codable wrote")
        #expect(try format.decode([CodedStop].self, from: data) == Self.coded, "a value")
        var found: [CodedStop] = []
        try format.decodeEach(CodedStop.self, from: data) { found.append($0) }
        #expect(found == Self.coded, "a closure")
        found = []
        for try await stop in format.records(of: CodedStop.self, from: data) { found.append(stop) }
        #expect(found == Self.coded, "an asynchronous sequence")
        found = []
        let chunks = AsyncStream<Data> { continuation in
            for byte in data { continuation.yield(Data([byte])) }
            continuation.finish()
        }
        for try await stop in format.records(of: CodedStop.self, in: chunks) { found.append(stop) }
        #expect(found == Self.coded, "chunks that arrive")
    }

    struct BoundSample: StreamObject {
        var id = 0
        var ratio = 0.0
        var isOpen = false
        var count: Int?
        var shown: String { "\(id) \(ratio) \(isOpen) \(count.map { "\($0)" } ?? "nil")" }
    }

    struct CodedSample: Codable {
        var id: Int
        var ratio: Double
        var isOpen: Bool
        var count: Int?
        var shown: String { "\(id) \(ratio) \(isOpen) \(count.map { "\($0)" } ?? "nil")" }
    }

    /// Fields and elements that bound types and Codable types either both read or both reject.
    @Test(arguments: [
        ("7,1.5,true,3", "7 1.5 true 3"), ("-7,2,1,", "-7 2.0 true nil"), ("0,1e3,0,", "0 1000.0 false nil"),
        ("1.5,2,true,", "error"), ("1,x,true,", "error"), ("1,2,yes,", "error"), (",2,true,", "error"),
        ("99999999999999999999,2,true,", "error"), ("1,,true,", "error"), ("1,1e999,true,", "error"),
    ])
    func convertsTextToExpectedTypes(_ record: String, _ expected: String) {
        let text = "id,ratio,isOpen,count\n\(record)\n"
        #expect((try? CSV.decode([BoundSample].self, from: text)[0].shown) ?? "error" == expected, "bound")
        #expect((try? CSV.decode([CodedSample].self, from: text)[0].shown) ?? "error" == expected, "Codable")
        expectElements(record, expected)
    }

    /// Elements with spaces around their values, which fields can't have.
    @Test(arguments: [
        (" 007 ,+1.50, 1 , ", "7 1.5 true nil"), ("\n-01\n,\t.5,true,1", "error"), ("+-1,1,true,1", "error"),
    ])
    func acceptsSpaceAroundElementValues(_ record: String, _ expected: String) { expectElements(record, expected) }

    private func expectElements(_ record: String, _ expected: String) {
        let fields = record.split(separator: ",", omittingEmptySubsequences: false)
        let xml =
            "<r>" + zip(["id", "ratio", "isOpen", "count"], fields).map { "<\($0)>\($1)</\($0)>" }.joined() + "</r>"
        #expect((try? XML.decode(BoundSample.self, from: xml).shown) ?? "error" == expected, "bound elements")
        #expect((try? XML.decode(CodedSample.self, from: xml).shown) ?? "error" == expected, "Codable elements")
    }

    @Test func decodesArraysOfOneElement() throws {
        struct Book: Codable, Equatable {
            var title: String
            var author: [String]
            var pages: [Int]
            var notes: Notes?
        }
        struct Notes: Codable, Equatable { var note: [String]? }
        let book = try XML.decode(
            Book.self, from: "<b><title>T</title><author>A</author><pages>1</pages><pages>2</pages><notes/></b>")
        #expect(book == Book(title: "T", author: ["A"], pages: [1, 2], notes: Notes(note: nil)))
        let one = try XML.decode([Book].self, from: "<books><b><title/><author/><pages>3</pages></b></books>")
        #expect(one == [Book(title: "", author: [""], pages: [3], notes: nil)])
        #expect(throws: DecodingError.self) { try CSV.decode([Notes].self, from: "note\nx\n") }
        #expect(throws: DecodingError.self) { try JSON.decode(Notes.self, from: "{\"note\":\"x\"}") }
    }

    @Test(arguments: formats)
    func prefersBindingsToCodable(_ format: any StreamFormat) throws {
        try checkDouble(format)
        #expect(try JSON.decode(DoubleStop.self, from: "{\"id\":3}").id == 3, "a static function")
        #expect(try JSON().decode([DoubleStop].self, from: "[{\"id\":3}]").map(\.id) == [3], "a function of JSON")
        #expect(try JSON.encodeToString([DoubleStop()]) == "[{\"id\":0,\"name\":\"\"}]", "a static function")
    }

    private func checkDouble(_ format: some StreamFormat) throws {
        var stop = DoubleStop()
        (stop.id, stop.name) = (5, "x")
        let data = try format.encode([stop])
        #expect(try format.decode([DoubleStop].self, from: data) == [stop], "a value")
        var found: [DoubleStop] = []
        try format.decodeEach(DoubleStop.self, from: data) { found.append($0) }
        #expect(found == [stop], "a closure")
    }

    @Test(arguments: formats)
    func buildsTreesAndColumns(_ format: any StreamFormat) throws { try checkTrees(format) }

    private func checkTrees(_ format: some StreamFormat) throws {
        let data = try format.encode(Self.stops)
        let tree = try format.propertyList(from: data)
        if format is XML {
            #expect(tree["record"]?.elements.map { $0["name"]?.stringValue } == Self.stops.map(\.name), "names")
        } else {
            #expect(tree.elements.map { $0["name"]?.stringValue } == Self.stops.map(\.name), "names")
        }
        guard !(format is XML) else { return }
        let columns = try format.columns(["id": .integer, "name": .string], from: data)
        #expect(columns.rowCount == 2)
        #expect((0..<2).map { columns["id"]?.integer($0) } == [1, -7])
        #expect((0..<2).map { columns["name"]?.string($0) } == Self.stops.map(\.name))
        let error = #expect(throws: StreamError.self) {
            try format.columns(["id": .integer, "id": .string], from: data)
        }
        #expect(error?.kind == .duplicateKey, "two columns of one name")
    }

    @Test(arguments: formats)
    func convertsToEveryFormat(_ format: any StreamFormat) throws {
        for other in Self.formats { try convert(format, other) }
    }

    private func convert(_ format: some StreamFormat, _ other: some StreamFormat) throws {
        // The tree of XML has the records as a member of the root, and the tree of untyped CSV contains only text.
        if format is XML || (format as? CSV)?.reader.fieldType == .text { return }
        let data = try format.encode(Self.stops)
        var output = Data()
        try other.write(format.document(data), to: &output)
        #expect(try other.decode([Stop].self, from: output) == Self.stops, "\(format) to \(other)")
    }

    @Test(arguments: formats)
    func readsSameValuesAtEverySplit(_ format: any StreamFormat) throws { try checkPushed(format) }

    private func checkPushed(_ format: some StreamFormat) throws {
        for isBroken in [false, true] {
            var data = try format.encode(Self.stops)
            if isBroken { data.removeLast(format is BinaryPropertyList ? 40 : data.count / 3) }
            let whole = Result { try Self.trace(format, [data]) }
            for split in 0...data.count {
                let parts = [data.prefix(split), data.dropFirst(split)]
                let pushed = Result { try Self.trace(format, parts) }
                #expect("\(pushed)" == "\(whole)", "split at \(split)")
            }
        }
    }

    /// Returns the messages of a pushed document, followed by its error.
    private static func trace(_ format: some StreamFormat, _ parts: [Data]) throws -> String {
        let lines = MessageLines()
        var reader = format.pushReader(into: lines)
        do {
            for part in parts { try reader.feed(part) }
            try reader.finish()
        } catch {
            lines.text += "! \(error)"
        }
        return lines.text
    }

    @Test func failedWritesKeepFiles() throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "format-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        try JSON.write(["a": 1], to: .file(path))
        #expect(throws: StreamError.self) { try JSON.write(["a": Double.infinity], to: .file(path)) }
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "{\"a\":1}")
        #expect(throws: StreamError.self) { try JSON.decode([Int].self, from: .file(path + "/no")) }
    }
}

/// An error that a closure throws.
private struct Own: Error {}

/// A sink class that writes a line for each message.
final class MessageLines: ScalarSink {
    var text = ""
    init() {}
    func beginArray() { text += "[ " }
    func endArray() { text += "] " }
    func beginDictionary() { text += "{ " }
    func endDictionary() { text += "} " }
    func writeKey(_ utf8: RawSpan) { text += "\(String(validating: utf8) ?? "?"): " }
    func write(_ scalar: borrowing StreamScalar) throws(StreamError) {
        var trace = EventTrace()
        try scalar.send(to: &trace)
        text += trace.text + " "
    }
    func cancel(with error: StreamError) { text += "abandoned " }
}
