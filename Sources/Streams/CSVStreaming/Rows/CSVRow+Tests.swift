// Tests of borrowed rows: their contents, their positions, and the source of errors.

#if DEBUG || IN_CLASS_TESTS
import Foundation
import InClassTesting
import PlistBuilding
import PlistStreaming

enum CSVRowTests {}

extension CSVRowTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testReadsFieldsOfRows": testReadsFieldsOfRows,
            "testReadsSameFieldsFromPieces": testReadsSameFieldsFromPieces,
            "testKeepsAllFieldsOfARow": testKeepsAllFieldsOfARow,
            "testAddsPositionsToErrors": testAddsPositionsToErrors,
            "testRefusesFieldsOutOfRange": testRefusesFieldsOutOfRange,
            "testReadsFieldsOfEveryEncoding": testReadsFieldsOfEveryEncoding,
            "testAcceptsEverySourceType": testAcceptsEverySourceType,
            "testQuotesAreNeverReadAsDigits": testQuotesAreNeverReadAsDigits,
            "testFindsFieldsByName": testFindsFieldsByName,
        ]
    }

    private static func testReadsFieldsOfRows() throws {
        var rows: [String] = []
        try CSV.forEachRow(in: "id,name,share\n7,\"a \"\"b\"\"\",0.25\n-8,,x\n") { row in
            rows.append("\(row.index) \(row.count) \(row.integer(at: 0) ?? 0) \(row.string(at: 1) ?? "nil")")
            rows.append("\(row.isQuoted(at: 1)) \(row.real(at: 2) ?? -1) \(row.position(of: 2))")
            expectEqual(row.header?.index(of: "share"), 2, "column")
        }
        expectEqual(
            rows,
            [
                "0 3 7 a \"b\"", "true 0.25 line 2, column 13 (byte 26)", "1 3 -8 ",
                "false -1.0 line 3, column 5 (byte 35)",
            ], "rows")
    }

    /// Returns the texts of all fields, in pieces that end at some positions.
    private static func fields(_ text: [UInt8], _ cuts: [Int], _ options: CSVReaderOptions) throws -> [String] {
        var fields: [String] = []
        var reader = CSVRowReader(options: options)
        var start = 0
        for end in cuts + [text.count] {
            try unsafe text[start..<end].withUnsafeBytes { buffer in
                try reader.feed(unsafe buffer.bytes) { row in
                    for field in 0..<row.count {
                        fields.append("\(row.position(of: field)) \(row.string(at: field) ?? "nil")")
                    }
                }
            }
            start = end
        }
        try reader.finish { row in
            for field in 0..<row.count { fields.append("\(row.position(of: field)) \(row.string(at: field) ?? "nil")") }
        }
        return fields
    }

    private static func testReadsSameFieldsFromPieces() throws {
        var random = TestRandom(seed: 3)
        let text = CSVScannerTests.randomText(&random, count: 1_500, width: 4, faults: false)
        var options = CSVReaderOptions(
            dialect: CSVDialect(comment: 0x23, hasHeader: false), shortRecords: .omit, longRecords: .keep(under: "")
        )
        options.usesPlainScan = true
        let expected = try fields(text, [], options)
        expectGreaterThan(expected.count, 50, "fields")
        options.usesPlainScan = false
        options.firstBlockCount = 3
        for cut in stride(from: 0, to: text.count, by: 97) {
            let found = try fields(text, [cut], options)
            if found != expected { expectEqual(found, expected, "cut at \(cut)") }
        }
    }

    private static func testKeepsAllFieldsOfARow() throws {
        try CSV(reader: CSVReaderTests.arrays).forEachRow(in: "\"1\"\"\",\"\"\"22\",3,\"4\"\"4\"\n") { row in
            let (first, second, last) = (row[0], row[1], row[3])
            expectTrue(first.equals("1\"") && second.equals("\"22") && last.equals("4\"4"), "all at once")
            expectTrue(row[0].equals("1\"") && row[2].equals("3"), "and again")
        }
    }

    private static func testAddsPositionsToErrors() {
        let stop = expectThrows(StreamError.self, "a request to stop") {
            try CSV.forEachRow(in: "a\n1\n2\n") { row throws(StreamError) in
                if row.index == 1 { throw .stopRequest() }
            }
        }
        expectTrue(stop?.isStopRequest ?? false, "\(stop?.description ?? "")")
        expectEqual(stop?.position?.line, 3, "line")
        let ragged = expectThrows(StreamError.self, "a record that is too short") {
            try CSV.forEachRow(in: "a,b\n1,2\n3\n") { row in _ = row.count }
        }
        expectEqual(ragged?.path?.description, "$[1]", "path")
    }

    private static func testRefusesFieldsOutOfRange() {
        for field in [-1, 1] {
            expectTrap("field \(field)") {
                try? CSV(reader: CSVReaderTests.arrays).forEachRow(in: "1") { row in _ = row[field] }
            }
        }
    }

    private static func testFindsFieldsByName() throws {
        var rows: [String] = []
        let options = CSVReaderOptions(shortRecords: .omit, longRecords: .ignore)
        try CSV(reader: options).forEachRow(in: "ID,nämé\n1,x\n2\n,\"\"\n3,y,z\n") { row in
            let number = row.header?.index(of: "ID").flatMap { row.integer(at: $0) }
            rows.append("\(row["ID"] ?? "nil") \(row["nämé"] ?? "nil") \(row["id"] ?? "nil") \(number ?? -1)")
            expectNil(row.string(at: 3), "the text of a field behind the last one")
            expectNil(row.real(at: -1), "the number of no field")
        }
        expectEqual(rows, ["1 x nil 1", "2 nil nil 2", "  nil -1", "3 y nil 3"], "fields by name")
        try CSV(reader: CSVReaderTests.arrays).forEachRow(in: "1\n") { row in expectNil(row["1"], "without a header") }
        expectEqual(try CSV.header(of: "a,b\n1,2")?.names, ["a", "b"], "header")
    }

    private static func testReadsFieldsOfEveryEncoding() throws {
        var options = CSVReaderTests.arrays
        options.encoding = .bytes
        try CSV(reader: options).forEachRow(in: [0xFF, 0x2C, 0x31]) { row in
            expectEqual(row[0].byte(at: 0), 0xFF, "a byte")
            expectNil(row.string(at: 0), "its text")
            expectEqual(row.integer(at: 1), 1, "an integer")
        }
        options.encoding = .latin1
        try CSV(reader: options).forEachRow(in: [0xFF, 0x2C, 0x31]) { row in
            expectEqual(row.string(at: 0), "ÿ", "its text")
        }
    }

    private struct Line: StreamObject {
        var a = 0
        var b: Double?
    }

    /// Dialects whose quotes are digits, a minus or a point, with the fast reading of numbers.
    private static func testQuotesAreNeverReadAsDigits() throws {
        for (quote, field, inner) in [("1", "121", "2"), ("-", "-7-", "7"), (".", ".5.", "5")] {
            let options = CSVReaderOptions(dialect: CSVDialect(quote: Array(quote.utf8)[0]))
            let text = "a,b\n" + String(repeating: "\(field),\(field)\n", count: 40)
            var rows = Set<String>()
            try CSV(reader: options).forEachRow(in: text) { row in
                rows.insert("\(row.string(at: 0) ?? "") \(row.integer(at: 0) ?? -1) \(row.real(at: 1) ?? -1)")
            }
            expectEqual(rows, ["\(inner) \(inner) \(inner).0"], "rows of \(field)")
            let values = try CSV(reader: options).decode([Line].self, from: text)
            expectEqual(Set(values.map { "\($0.a) \($0.b ?? -1)" }), ["\(inner) \(inner).0"], "values of \(field)")
            let columns = try CSV(reader: options).columns(["a": .integer, "b": .real], from: Array(text.utf8))
            let found = (0..<40).map { "\(columns["a"]?.integer($0) ?? -1) \(columns["b"]?.real($0) ?? -1)" }
            expectEqual(Set(found), ["\(inner) \(inner).0"], "columns of \(field)")
            let types = try CSV(reader: options).columns(from: Array(text.utf8)).columns.map(\.type)
            expectEqual(types, [.string, .string], "the types of \(field)")
        }
    }

    private static func testAcceptsEverySourceType() throws {
        let text = "a,b\n1,x\n2,\"y\"\n"
        let path = try temporaryDirectory() + "/rows.csv"
        try Data(text.utf8).write(to: URL(filePath: path))
        var sums: [Int64] = []
        let body = { (row: borrowing CSVRow) throws(StreamError) -> Void in sums.append(row.integer(at: 0) ?? 0) }
        try CSV.forEachRow(in: text, body)
        try CSV.forEachRow(in: Array(text.utf8), body)
        try CSV.forEachRow(in: Data(text.utf8), body)
        try CSV.forEachRow(in: .file(path), body)
        expectEqual(sums, [1, 2, 1, 2, 1, 2, 1, 2], "rows")
        var reader = CSVRowReader()
        try reader.feed("a,b\n1,", body)
        try reader.feed(Array("x\n2,\"".utf8), body)
        try reader.feed(Data("y\"\n3,z".utf8), body)
        try reader.finish(body)
        expectEqual(sums.suffix(3), [1, 2, 3], "rows of a text in pieces")
        var (trace, other) = (EventTrace(), EventTrace())
        try trace.readCSV(Data(text.utf8))
        try other.readCSV(.file(path))
        expectEqual(trace.text, other.text, "messages")
        expectEqual(try CSV.decode([[String: String]].self, from: .file(path))[1]["b"], "y", "a value")
        expectEqual(try CSV.columns(from: .file(path))["a"]?.integer(1), 2, "a column")
    }
}
#endif
