// Tests records of every format: roots without records, containers that are kept, digits, declared encodings, and
// memory.

import CSVStreaming
import Foundation
import JSONStreaming
import PropertyListFiles
import Testing
import XMLStreaming

@Suite struct RecordTests {
    struct Row: StreamObject { var id = 0 }
    struct CodedRow: Codable { var id: Int }

    /// A container that outlives its record and its whole stream.
    private struct Kept: Error, @unchecked Sendable { let container: KeyedDecodingContainer<Keeping.Keys> }

    private struct Keeping: Decodable {
        enum Keys: CodingKey { case id, name }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: Keys.self)
            if try container.decode(Int.self, forKey: .id) == 30 { throw Kept(container: container) }
        }
    }

    @Test func retainedContainersOutliveFailedRecords() throws {
        let json =
            "[" + (0..<40).map { "{\"id\":\($0),\"name\":\"name of \($0), a longer text\"}" }.joined(separator: ",")
            + "]"
        let csv = "id,name\n" + (0..<40).map { "\($0),\"name of \($0), a longer text\"\n" }.joined()
        func check(_ format: some StreamFormat, _ text: String) throws {
            let error = #expect(throws: StreamError.self) { try format.decodeEach(Keeping.self, from: text) { _ in } }
            let kept = try #require(error?.cause as? Kept)
            #expect(try kept.container.decode(String.self, forKey: .name) == "name of 30, a longer text")
        }
        try check(JSON(), json)
        try check(CSV(), csv)
    }

    /// Numbers in a property list are read like those in JSON, into integers and floating-point numbers.
    @Test func numbersOfPropertyListsAreExact() throws {
        struct Number: StreamObject, Equatable {
            var integer: Int64? = nil
            var float: Float? = nil
        }
        func check(_ format: some StreamFormat, _ text: String) throws {
            let expected = try? JSON.decode([Number].self, from: text)
            var list = PropertyListBuilder()
            try list.readJSON(text)
            // A number that would lose digits is rejected.
            guard let written = try? format.encode(try list.takeResult()) else { return }
            #expect((try? format.decode([Number].self, from: written)) == expected, "\(text) in \(format)")
        }
        for number in [
            "9007199254740993.0", "9007199254740993", "9223372036854775807", "9223372036854775807.0", "1e18", "0.5",
            "7.0",
            "1.00000017881393432617187499", "0.1", "3.40282356779733661637539e38", "16777217", "-0.0", "1e39",
        ] {
            for member in ["integer", "float"] {
                let text = "[{\"\(member)\":\(number)}]"
                try check(XMLPropertyList(), text)
                try check(BinaryPropertyList(), text)
            }
        }
    }

    /// Digits that a double can't hold are preserved or rejected.
    @Test func decimalsLoseNoDigits() throws {
        struct Money: Codable, Equatable { var amount: Decimal }
        let exact = [Money(amount: Decimal(string: "1234567890123456.78")!)]
        let text = "[{\"amount\":1234567890123456.78}]"
        #expect(try JSON.decode([Money].self, from: text) == exact)
        #expect(throws: StreamError.self) { try JSON.decodeEach(Money.self, from: text) { _ in } }
        #expect(throws: (any Error).self) {
            try JSONLines.decode([Money].self, from: "{\"amount\":1234567890123456.78}")
        }
        #expect(try CSV.decode([Money].self, from: "amount\n1234567890123456.78\n") == exact)
        for format in [XMLPropertyList(), BinaryPropertyList(), OpenStepPropertyList()] as [any StreamFormat] {
            #expect(throws: StreamError.self, "\(format)") { try format.encode(exact) }
            let short = [Money(amount: Decimal(string: "1.25")!), Money(amount: 12_345)]
            #expect(try decoded(format, try format.encode(short)) == short, "\(format)")
        }
        func decoded(_ format: some StreamFormat, _ data: Data) throws -> [Money] {
            try format.decode([Money].self, from: data)
        }
        var found: [Money] = []
        try JSON.decodeEach(Money.self, from: "[{\"amount\":123456789.012345},{\"amount\":0.1}]") { found.append($0) }
        #expect(found.map { "\($0.amount)" } == ["123456789.012345", "0.1"])
    }

    @Test func refusesRootsWithoutRecords() {
        for text in ["1", "\"x\"", "null", "{}", "{\"a\":{\"id\":1}}", "true"] {
            #expect(throws: StreamError.self, "bound, \(text)") { try JSON.decodeEach(Row.self, from: text) { _ in } }
            #expect(throws: StreamError.self, "Codable, \(text)") {
                try JSON.decodeEach(CodedRow.self, from: text) { _ in }
            }
            #expect(throws: StreamError.self, "a sequence, \(text)") {
                try JSON.records(of: Row.self, from: text).results.forEach { _ = try $0.get() }
            }
        }
        for text in ["1", "\"x\"", "null"] {
            #expect(throws: StreamError.self, "columns, \(text)") { try JSON.columns(["id": .integer], from: text) }
        }
    }

    /// The encoding declared in a document applies to its bytes, not to a string.
    @Test func ignoresEncodingDeclarationsOfStrings() throws {
        struct Named: StreamObject { var name = "" }
        struct CodedNamed: Codable { var name: String }
        for encoding in ["ISO-8859-1", "UTF-16"] {
            let text = "<?xml version=\"1.0\" encoding=\"\(encoding)\"?><r><x><name>größe</name></x></r>"
            #expect(try XML.decode([Named].self, from: text)[0].name == "größe")
            #expect(try XML.records(of: Named.self, from: text).makeIterator().next()?.name == "größe")
            #expect(try XML.records(of: CodedNamed.self, from: text).makeIterator().next()?.name == "größe")
            var reader = XML().pushReader(into: try ObjectBuilder<[Named]>())
            for character in text { try reader.feed(String(character)) }
            try reader.finish()
            let list =
                "<?xml version=\"1.0\" encoding=\"\(encoding)\"?><plist><array><dict><key>name</key>"
                + "<string>größe</string></dict></array></plist>"
            for format in [XMLPropertyList(), AnyPropertyList()] as [any StreamFormat] {
                #expect(try firstName(format, list) == "größe")
            }
        }
        let windows = CSV(reader: CSVReaderOptions(encoding: .windows1252))
        #expect(try windows.decode([Named].self, from: "name\ngröße\n")[0].name == "größe")
        #expect(
            try windows.decode([Named].self, from: Data("name\ngr\u{F6}".unicodeScalars.map { UInt8($0.value) }))[0]
                .name == "grö")
        func firstName(_ format: some StreamFormat, _ text: String) throws -> String? {
            let names = try format.records(of: Named.self, from: text).results.map { try $0.get().name }
            return names.first
        }
    }

    /// Keys that occur only once don't slow down the following records.
    @Test func decodesManyDifferentKeysQuickly() throws {
        func decode(_ count: Int) throws {
            let text = "[" + (0..<count).map { "{\"key\($0)\":\($0)}" }.joined(separator: ",") + "]"
            var sum = 0
            try JSON.decodeEach([String: Int].self, from: text) { sum += $0.values.first ?? 0 }
            #expect(sum == count * (count - 1) / 2)
        }
        // Use a hundred times as many keys as the decoder keeps. Quadratic code would take minutes.
        try decode(30_000)
    }

    /// Codable and bound types read empty text and elements with attributes alike.
    @Test func bothDecodersAgreeOnEmptyText() throws {
        enum Color: String, Codable, StreamValue { case red }
        struct Coded: Codable {
            var small: Int8?
            var color: Color?
            var id: UUID?
            var list: [Int]?
            var name: String?
            var more: Int
        }
        let coded = try CSV.decode([Coded].self, from: "small,color,id,list,name,more\n,,,,,1\n")[0]
        #expect(coded.small == nil && coded.color == nil && coded.id == nil && coded.list == nil && coded.name == "")
        struct Numbers: Codable, Equatable { var o: [Int?] }
        #expect(try XML.decode(Numbers.self, from: "<r><o>1</o><o/><o>3</o></r>") == Numbers(o: [1, nil, 3]))
        struct Price: Codable, Equatable {
            var price: Double
            var name: String
            var counts: [Int]
        }
        let price = try XML.decode(
            Price.self,
            from: "<r><price currency=\"EUR\">5.5</price><name x=\"1\">n</name><counts a=\"b\">2</counts></r>")
        #expect(price == Price(price: 5.5, name: "n", counts: [2]))
        #expect(try CSV.decode([[String: Int]].self, from: "a,b\n1,2\n") == [["a": 1, "b": 2]])
        #expect(throws: StreamError.self) { try CSV.decode([[String: Int]].self, from: "a,b\n1,x\n") }
    }

    @Test func refusesInputAfterFinish() throws {
        let lines = MessageLines()
        var reader = JSONLines().pushReader(into: lines)
        try reader.feed("1\n2")
        try reader.finish()
        let text = lines.text
        #expect(throws: StreamError.self) { try reader.finish() }
        #expect(throws: StreamError.self) { try reader.feed("3") }
        #expect(lines.text == text)
        let error = #expect(throws: StreamError.self) { try JSONLines.decode(Int.self, from: "1\n") }
        #expect(error?.position?.line == 1)
    }
}
