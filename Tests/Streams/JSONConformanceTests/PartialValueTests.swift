// Checks that builders deliver no incomplete values, for all kinds of bad input and every position where the input
// ends.

import JSONStreaming
import PlistBuilding
import PlistStreaming
import Testing

@Suite(.serialized) struct PartialValueTests {
    struct Inner: StreamObject, Equatable {
        var note = ""
        var numbers: [Int] = []
    }

    struct Record: StreamObject, Equatable {
        var id = 0
        var text = ""
        var inner = Inner()
        var more: [Inner] = []
    }

    /// The elements. Each ends with a brace, so the reader knows without further input whether it is complete.
    static let elements = [
        #"{"id":1,"text":"one","inner":{"note":"a","numbers":[1,2,3]},"more":[{"note":"ü"},{"numbers":[12]}]}"#,
        #"{"id":22,"text":"\u00e9\n"}"#,
        #"{"text":"only a text that is too long for a small string","id":333}"#,
    ]

    static let document = Array(("[" + elements.joined(separator: ", ") + "]").utf8)

    /// Returns the number of elements that end within the given number of bytes.
    private func completeCount(_ byteCount: Int) -> Int {
        var end = 1
        for (index, element) in Self.elements.enumerated() {
            end += element.utf8.count
            if end > byteCount { return index }
            end += 2
        }
        return Self.elements.count
    }

    private func expectedRecords() throws -> [Record] {
        var builder = try ObjectBuilder<[Record]>()
        try builder.readJSON(Self.document)
        return try builder.takeResult()
    }

    @Test func deliversOnlyWholeObjectsOfATruncatedText() throws {
        let records = try expectedRecords()
        #expect(records.map(\.id) == [1, 22, 333])
        for count in 0..<Self.document.count {
            let text = Array(Self.document.prefix(count))
            // Read at once: no value is delivered.
            var builder = try ObjectBuilder<[Record]>()
            let error = thrown { () throws(StreamError) in try builder.readJSON(text) }
            #expect(error?.kind == .unexpectedEnd, "cut after \(count)")
            #expect(error?.position?.byteOffset == count, "cut after \(count)")
            let result = thrown { () throws(StreamError) in _ = try builder.takeResult() }
            #expect(result?.kind == .unexpectedEnd, "the result after \(count)")
            // Read one by one: only the complete values are delivered, with the right content.
            let delivered = try streamedRecords(text)
            #expect(delivered == Array(records.prefix(completeCount(count))), "cut after \(count)")
        }
    }

    /// Returns the records delivered before the error.
    private func streamedRecords(_ text: [UInt8]) throws -> [Record] {
        let delivered = Delivered<Record>()
        var stream = try RecordStream<Record> { record throws(StreamError) in delivered.values.append(copy record) }
        do throws(StreamError) { try stream.readJSON(text) } catch { return delivered.values }
        return delivered.values
    }

    private final class Delivered<Value> {
        var values: [Value] = []
    }

    private func thrown(_ body: () throws(StreamError) -> Void) -> StreamError? {
        do throws(StreamError) { try body() } catch { return error }
        return nil
    }

    @Test func deliversNothingOfTruncatedText() throws {
        for count in 0..<Self.document.count {
            let text = Array(Self.document.prefix(count))
            var tree = PropertyListBuilder()
            #expect(thrown { () throws(StreamError) in try tree.readJSON(text) }?.kind == .unexpectedEnd)
            let list = thrown { () throws(StreamError) in _ = try tree.takeResult() }
            #expect(list?.kind == .unexpectedEnd, "cut after \(count)")
            var columns = ColumnsBuilder(["id": .integer, "text": .string])
            #expect(thrown { () throws(StreamError) in try columns.readJSON(text) }?.kind == .unexpectedEnd)
            #expect(columns.rowCount == completeCount(count), "cut after \(count)")
            if count > 0 {
                let result = thrown { () throws(StreamError) in _ = try columns.takeResult() }
                #expect(result?.kind == .unexpectedEnd, "the columns after \(count)")
            }
        }
    }

    @Test func deliversNothingOfInvalidElements() throws {
        let wrong = [
            #"{"id":"#, #"{"id":x}"#, #"{"id":1 "text":""}"#, #"{"id":01}"#, "{\"text\":\"\u{0}\"}",
            #"{"text":"\ud800"}"#,
            #"{"id":9223372036854775808}"#, #"{"id":"1"}"#, #"{"inner":[]}"#, #"{"inner":{"numbers":[1,"x"]}}"#,
            #"{"more":[{"note":null}]}"#, "7", "[]", "\"\"",
        ]
        for element in wrong {
            let text = Array("[\(Self.elements[0]),\(element),\(Self.elements[1])]".utf8)
            let delivered = try streamedRecords(text).map(\.id)
            var stream = try RecordStream<Record> { _ throws(StreamError) in }
            let error = thrown { () throws(StreamError) in try stream.readJSON(text) }
            #expect(error != nil, "\(element.debugDescription)")
            #expect(delivered == [1], "\(element.debugDescription)")
            let start = Self.elements[0].utf8.count + 2
            let offset = error?.position?.byteOffset ?? -1
            #expect((start...start + element.utf8.count + 1).contains(offset), "\(element.debugDescription): \(offset)")
        }
    }

    @Test func lastOfRepeatedNamesWins() throws {
        let text = #"[{"id":1,"id":2,"text":"a","inner":{"note":"x"},"text":"b","inner":{"numbers":[5]}}]"#
        var builder = try ObjectBuilder<[Record]>()
        try builder.readJSON(text)
        let record = try #require(try builder.takeResult().first)
        #expect(record == Record(id: 2, text: "b", inner: Inner(note: "", numbers: [5]), more: []))
        var tree = PropertyListBuilder()
        try tree.readJSON(text)
        let list = try #require(try tree.takeResult()[0])
        #expect(list["id"]?.integerValue == 2)
        #expect(list.count == 3)
        #expect(list["inner"]?["note"] == nil)
        var columns = ColumnsBuilder(["id": .integer, "text": .string])
        try columns.readJSON(text)
        let rows = try columns.takeResult()
        #expect(rows.rowCount == 1)
        #expect(rows["id"]?.integer(0) == 2)
        #expect(rows["text"]?.string(0) == "b")
        struct Codable: Decodable { var id: Int }
        #expect(try JSONStreamDecoder().decode([Codable].self, from: text).map(\.id) == [2])
    }

    @Test func decodesNothingOfInvalidText() {
        struct Small: Decodable { var id: Int? }
        for text in ["", "[", "[{}", "[{\"id\":1}", "[{\"id\":1}]x", " \u{FEFF}[]", "[{\"id\":1},]", "[]\0"] {
            #expect(throws: DecodingError.self, "\(text.debugDescription)") {
                try JSONStreamDecoder().decode([Small].self, from: text)
            }
        }
    }
}
