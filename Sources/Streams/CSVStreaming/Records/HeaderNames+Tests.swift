// The in-class tests of headers whose names differ from those that a sink expects, for every entry point and division
// into chunks.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistBuilding
import PlistStreaming

enum HeaderNamesTests {
    fileprivate struct Stop: StreamObject, Equatable {
        var id = 1
        var name = ""
        var price = 0.0
    }

    fileprivate final class StopObject: StreamObject {
        var id = 1
        var name = ""
        var price = 0.0
        init() {}
    }
}

extension HeaderNamesTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testRefusesHeadersOfOtherNames": testRefusesHeadersOfOtherNames,
            "testAcceptsHeadersWithSomeMembers": testAcceptsHeadersWithSomeMembers,
            "testComparesOnlySentNames": testComparesOnlySentNames,
            "testComparesTheColumnsOfABuilder": testComparesTheColumnsOfABuilder,
            "testWorkersReportSameErrors": testWorkersReportSameErrors,
        ]
    }

    /// Returns the error of a text, or the number of records; the same for all entry points.
    private static func outcome(
        _ text: String, _ options: CSVReaderOptions = CSVReaderOptions(),
        _ builderOptions: BuilderOptions = BuilderOptions()
    ) -> String {
        let bytes = Array(text.utf8)
        func result(_ body: () throws -> Int) -> String { do { return "\(try body())" } catch { return "\(error)" } }
        func pushed(_ pieces: [Range<Int>]) throws -> Int {
            var reader = CSVReader(sink: try ObjectBuilder<[Stop]>(options: builderOptions), options: options)
            for piece in pieces { try reader.feed(Array(bytes[piece])) }
            try reader.finish()
            return try reader.sink.takeResult().count
        }
        func streamed() throws -> Int {
            var stream = try RecordStream<Stop>(options: builderOptions) { _ in }
            try stream.readCSV(bytes, options: options)
            return stream.count
        }
        var plain = options
        plain.usesMessages = true
        let whole = result {
            try CSV(reader: options).decode([Stop].self, from: bytes, options: builderOptions).count
        }
        let others = [
            result { try CSV(reader: plain).decode([Stop].self, from: bytes, options: builderOptions).count },
            result { try CSV(reader: options).decode([Stop?].self, from: bytes, options: builderOptions).count },
            result { try pushed(bytes.indices.map { $0..<$0 + 1 }) }, result(streamed),
        ]
        for other in others { expectEqual(other, whole, text) }
        for split in bytes.indices {
            expectEqual(result { try pushed([0..<split, split..<bytes.count]) }, whole, text)
        }
        let object = result {
            try CSV(reader: options).decode([StopObject].self, from: bytes, options: builderOptions).count
        }
        expectEqual(object.replacing("StopObject", with: "Stop"), whole, "objects of \(text)")
        return whole
    }

    private static func testRefusesHeadersOfOtherNames() {
        let near = "is not a member of Stop, but differs from the missing"
        let rows = [
            (
                "id;name;price\n1;a;2\n",
                #"none of the columns "id;name;price" is a member of Stop; the nearest: "price" at line 1, column 1 (byte 0)"#
            ),
            (
                "Id,Name\n1,a\n",
                #"none of the columns "Id", "Name" is a member of Stop; the nearest: "id", "name" at line 1, column 1 (byte 0)"#
            ),
            (
                "id, name\n1,a\n",
                "\" name\" \(near) \"name\" only in case or space at line 1, column 4 (byte 3)"
            ),
            (
                "# \"\nid,\"x\ny\",NAME\n",
                "\"NAME\" \(near) \"name\" only in case or space at line 3, column 4 (byte 13)"
            ),
            (
                "a,b",
                #"none of the columns "a", "b" is a member of Stop; the nearest: "id" at line 1, column 1 (byte 0)"#
            ),
        ]
        let options = CSVReaderOptions(dialect: CSVDialect(comment: 0x23))
        for (text, expected) in rows { expectEqual(outcome(text, options), expected, text) }
    }

    private static func testAcceptsHeadersWithSomeMembers() {
        for text in ["id\n1\n", "x,id\n1,1\n", "name,Name,id\na,b,1\n", "price\n1", "", "\n"] {
            expectEqual(outcome(text), text.contains("1") ? "1" : "0", text)
        }
        for text in ["x,y\n1,2\n", "Id\n1\n"] {
            expectEqual(outcome(text, CSVReaderOptions(), BuilderOptions(checksNames: false)), "1", text)
            expectEqual(outcome(text, CSVReaderOptions(), BuilderOptions(unknownMembers: .collect)), "1", text)
        }
        let rejecting = BuilderOptions(unknownMembers: .reject)
        expectTrue(outcome("x\n", CSVReaderOptions(), rejecting).hasPrefix("none of the columns"), "no records")
    }

    private static func testComparesOnlySentNames() {
        var options = CSVReaderOptions(names: ["ID", "name"])
        expectTrue(outcome("id,name\n1,a\n", options).hasPrefix("\"ID\" is not a member"), "names that are given")
        options.names = ["id", "name"]
        expectEqual(outcome("ID,Name\n1,a\n", options), "1", "names in place of others")
        options = CSVReaderOptions(columns: ["Name"])
        expectTrue(outcome("id,Name\n1,a\n", options).hasSuffix("at line 1, column 4 (byte 3)"), "a chosen column")
        options = CSVReaderOptions(longRecords: .keep(under: "name"))
        expectEqual(outcome("id,x\n1,a\n", options), "1", "a member of what is left")
    }

    private static func testComparesTheColumnsOfABuilder() throws {
        for (text, expected) in [
            ("a,B\n1,2\n", "\"B\" is not a column to build, but differs from the missing \"b\""),
            ("x,y\n", "none of the columns \"x\", \"y\" is a column to build; the nearest: \"a\""),
        ] {
            var builder = ColumnsBuilder(["a": .integer, "b": .integer])
            let error = expectThrows(StreamError.self, text) { try builder.readCSV(text) }
            expectTrue(error?.message.hasPrefix(expected) ?? false, "\(error as Any)")
        }
        var builder = ColumnsBuilder(["a": .integer, "b": .integer])
        try builder.readCSV("a,x\n1,2\n")
        expectEqual(try builder.takeResult().rowCount, 1, "rows")
    }

    private static func testWorkersReportSameErrors() async throws {
        let rows = (0..<200).map { "\($0),x\n" }.joined()
        for header in ["Id,x\n", "x,y\n", "id,x\n"] {
            let bytes = Array((header + rows).utf8)
            let expected = outcome("\(header)1,x\n")
            for workers in [1, 2, 3] {
                let pieces = CSVPieces(bytes, CSVReaderOptions(), pieceByteCount: bytes.count / workers)
                do {
                    expectEqual(try await CSV.decode(Stop.self, pieces, BuilderOptions(), workers).count, 200, header)
                    expectEqual(expected, "1", header)
                } catch { expectEqual("\(error)", expected, "\(workers) workers") }
            }
        }
    }
}
#endif
