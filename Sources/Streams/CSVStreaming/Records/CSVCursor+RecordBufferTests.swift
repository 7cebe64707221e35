// Compares values that are stored in the record buffers of builders with the messages for the same records.

#if DEBUG || IN_CLASS_TESTS
import Foundation
import InClassTesting
import PlistBuilding
import PlistStreaming

enum CSVRecordBufferTests {
    private struct Stop: StreamObject, Equatable {
        var id = 0
        var name = ""
        var latitude = 0.0
        var parent: String?
        var zone: Int?
        var weight: Double?
        var isOpen = false
        var isNew: Bool?
        var small: Int8 = 0
        var half: Float = 0
        var date: Date?
        var kind: UInt16?
    }

    private final class Trip: StreamObject {
        var id = 0
        var name = "none"
    }

    private struct Line: StreamObject, Equatable {
        var a = 1
        var b = "default"
    }

    private static let header = "id,name,latitude,parent,zone,weight,isOpen,isNew,small,half,date,kind\n"

    /// Returns the values of a text, stored directly or sent as messages, whole or in pieces, or the error.
    private static func stops(_ text: [UInt8], _ options: CSVReaderOptions, cuts: [Int] = []) -> String {
        do {
            var reader = CSVReader(sink: try ObjectBuilder<[Stop]>(), options: options)
            var start = 0
            for end in cuts + [text.count] {
                try reader.feed(Array(text[start..<end]))
                start = end
            }
            try reader.finish()
            return "\(try reader.sink.takeResult())"
        } catch {
            return "\(error)"
        }
    }

    private static func columns(_ text: [UInt8], _ options: CSVReaderOptions, cuts: [Int] = []) -> String {
        do {
            let builder = ColumnsBuilder([
                "id": .integer, "name": .string, "latitude": .real, "parent": .string, "isOpen": .bool,
                "zone": .integer,
            ])
            var reader = CSVReader(sink: builder, options: options)
            var start = 0
            for end in cuts + [text.count] {
                try reader.feed(Array(text[start..<end]))
                start = end
            }
            try reader.finish()
            let columns = try reader.sink.takeResult()
            return (0..<columns.rowCount).map { row in
                columns.columns.map { column in
                    "\(column.isNull(row)) \(column.integer(row) as Any) \(column.real(row) as Any)"
                        + " \(column.bool(row) as Any) \(column.string(row) as Any)"
                }.joined()
            }.joined(separator: "\n")
        } catch {
            return "\(error)"
        }
    }
}

extension CSVRecordBufferTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testStoresSameValuesAsMessages": testStoresSameValuesAsMessages,
            "testFillsBoundTypes": testFillsBoundTypes,
            "testReportsValuesThatDoNotFit": testReportsValuesThatDoNotFit,
            "testFillsDefaultsAndClasses": testFillsDefaultsAndClasses,
            "testDeliversRecords": testDeliversRecords,
            "testForgetsReplacedSink": testForgetsReplacedSink,
            "testFillsDefaultsWithoutMatchingColumns": testFillsDefaultsWithoutMatchingColumns,
        ]
    }

    private static func testFillsBoundTypes() throws {
        let text =
            header + "1,North,-12.5,,7,,true,,-3,0.5,2001-01-01T00:00:01Z,\n"
            + "\"2\",\"a \"\"long\"\" name, with text\",1e3,\"\",,2.5,0,1,4,1,,65535\n"
        var builder = try ObjectBuilder<[Stop]>()
        try builder.readCSV(text)
        let stops = try builder.takeResult()
        expectEqual(
            stops,
            [
                Stop(
                    id: 1, name: "North", latitude: -12.5, zone: 7, isOpen: true, small: -3, half: 0.5,
                    date: Date(timeIntervalSinceReferenceDate: 1)),
                Stop(
                    id: 2, name: "a \"long\" name, with text", latitude: 1_000, parent: "", weight: 2.5, isNew: true,
                    small: 4, half: 1, kind: 65_535),
            ], "values")
    }

    private static func testStoresSameValuesAsMessages() {
        var random = TestRandom(seed: 7)
        let fields: [[String]] = [
            ["1", "-2", "1234567", "12345678", "123456789012", "9007199254740993", "\"5\"", "3.0", "1e2", "-0"],
            [
                "x", "a name", "größe", "\"q,\"\"\"", "exactly 15 byte", "exactly 16 bytes", "more than sixteen bytes",
                "", "\"\"",
            ],
            ["0.5", "-1.25", "12", "1234567.123", "0.1234567890123456789", "1e-7", "33554433.99999999999", "\"2.5\""],
            ["", "\"\"", "p", "größer als sonst etwas"], ["", "7", "\"8\""], ["", "0.25", "-3"],
            ["true", "false", "1", "0"], ["", "true", "\"0\""], ["1", "-128"], ["0.1", "3", "1e3"],
            ["", "2001-01-01T00:00:00Z", "12.5"], ["", "65535", "0"],
        ]
        for round in 0..<32 {
            var text = Array(header.utf8)
            for row in 0..<40 {
                // Errors are rare, and occur in any column.
                let wrong = round % 4 == 0 && row == 30 ? Int.random(in: 0..<14, using: &random) : -1
                for (index, choices) in fields.enumerated() {
                    if index > 0 { text.append(0x2C) }
                    text += Array((wrong == index ? "007x" : choices.randomElement(using: &random) ?? "").utf8)
                }
                if wrong == 13 { text.append(0x2C) }
                text.append(0x0A)
            }
            var options = CSVReaderOptions(longRecords: round % 8 == 0 ? .ignore : .reject)
            var plain = options
            (plain.usesPlainScan, plain.usesMessages) = (true, true)
            options.firstBlockCount = 2
            let cut = Int.random(in: 0...text.count, using: &random)
            for make in [stops, columns] {
                let expected = make(text, plain, [])
                if round % 4 != 0 {
                    expectFalse(expected.contains("expected"), "round \(round): \(expected.prefix(200))")
                }
                for cuts in [[], [cut]] {
                    let found = make(text, options, cuts)
                    if found != expected { expectEqual(found, expected, "round \(round), cut at \(cuts)") }
                }
            }
        }
    }

    private static func testReportsValuesThatDoNotFit() {
        let rows = [
            ("1,a\nx,b\n", "$[1].a: expected an integer, found \"x\" at line 3, column 1 (byte 8)"),
            ("1,a\n,b\n", "$[1].a: expected an integer, found null at line 3, column 1 (byte 8)"),
            ("1.5,b\n", "$[0].a: expected an integer, found \"1.5\" at line 2, column 1 (byte 4)"),
        ]
        for (text, expected) in rows {
            let error = expectThrows(StreamError.self, text) {
                var builder = try ObjectBuilder<[Line]>()
                try builder.readCSV("a,b\n" + text)
            }
            expectEqual(error?.description, expected, text)
        }
    }

    private static func testFillsDefaultsAndClasses() throws {
        var builder = try ObjectBuilder<[Line]>()
        try builder.readCSV("x,a\nskipped,2\n\"\",3")
        expectEqual(try builder.takeResult(), [Line(a: 2), Line(a: 3)], "defaults of members without a column")
        var objects = try ObjectBuilder<[Trip]>()
        try objects.readCSV("id,name\n" + (0..<100).map { "\($0),trip \($0)\n" }.joined())
        let trips = try objects.takeResult()
        expectEqual(trips.map(\.id), Array(0..<100), "numbers of objects")
        expectEqual(trips[99].name, "trip 99", "a name of an object")
    }

    private static func testDeliversRecords() throws {
        var sum = 0
        let text = "a,b\n" + (0..<500).map { "\($0),x\n" }.joined()
        var stream = try RecordStream<Line>(depth: 1) { line in sum += line.a }
        try stream.readCSV(text)
        expectEqual(sum, 124_750, "sum of what was handed over")
    }

    private static func testFillsDefaultsWithoutMatchingColumns() throws {
        let unchecked = BuilderOptions(checksNames: false)
        let rows = String(repeating: "1,2\n", count: 200)
        expectEqual(
            try CSV.decode([Line].self, from: "x,y\n" + rows, options: unchecked),
            Array(repeating: Line(), count: 200))
        var options = CSVReaderOptions()
        options.columns = []
        expectEqual(try CSV(reader: options).decode([Line].self, from: "a,b\n" + rows).count, 200)
        expectEqual(
            try CSV.decode([Trip].self, from: "x,y\n" + rows, options: unchecked).map(\.name),
            Array(repeating: "none", count: 200))
        for wrong in ["1\n", "1,2,3\n", "1,\"2\"x\n", "1,\"2"] {
            let error = expectThrows(StreamError.self, wrong) {
                _ = try CSV.decode([Stop].self, from: "x,y\n" + rows + wrong, options: unchecked)
            }
            expectTrue(error?.description.contains("line 202") ?? false, wrong)
        }
        var stream = try RecordStream<Line>(depth: 1, options: unchecked) { line in expectEqual(line, Line()) }
        try stream.readCSV("x,y\n" + rows)
    }

    private static func testForgetsReplacedSink() throws {
        var reader = CSVReader(sink: try ObjectBuilder<[Line]>())
        try reader.feed("a,b\n1,x\n")
        reader.sink = try ObjectBuilder<[Line]>()
        let error = expectThrows(StreamError.self, "messages in the middle of a stream") {
            try reader.feed("2,y\n3,z\n")
        }
        expectEqual(error?.path?.description, "$", "path")
    }
}
#endif
