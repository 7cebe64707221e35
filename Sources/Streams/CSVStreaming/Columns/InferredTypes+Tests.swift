// Tests of columns: with given types, with inferred types, and with several workers.

#if DEBUG || IN_CLASS_TESTS
import Foundation
import InClassTesting
import PlistBuilding
import PlistStreaming

enum CSVColumnsTests {
    /// Returns the types and texts of all columns, or the error.
    private static func shown(_ columns: Columns) -> String {
        columns.columns.map { column in
            let values = (0..<columns.rowCount).map { row -> String in
                if column.isNull(row) { return "-" }
                switch column.type {
                case .integer: return column.integer(row).map { "\($0)" } ?? "?"
                case .real: return column.real(row).map { "\($0)" } ?? "?"
                case .bool: return column.bool(row).map { "\($0)" } ?? "?"
                case .string: return column.string(row).map { "'\($0)'" } ?? "?"
                }
            }
            return "\(column.name) \(column.type) " + values.joined(separator: " ")
        }.joined(separator: "; ")
    }

    private static func found(_ text: String, _ options: CSVReaderOptions = CSVReaderOptions()) -> String {
        do { return shown(try CSV(reader: options).columns(from: Array(text.utf8))) } catch { return "\(error)" }
    }
}

extension CSVColumnsTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testFindsTheNarrowestType": testFindsTheNarrowestType,
            "testLosesNoDigit": testLosesNoDigit,
            "testAcceptsGivenTypesInAnyOrder": testAcceptsGivenTypesInAnyOrder,
            "testAcceptsManyColumns": testAcceptsManyColumns,
            "testRefusesRepeatedNames": testRefusesRepeatedNames,
            "testCollectsInputFromPipes": testCollectsInputFromPipes,
            "testColumnsDoNotDependOnWorkerCount": testColumnsDoNotDependOnWorkerCount,
        ]
    }

    private static func testFindsTheNarrowestType() {
        let rows = [
            ("a\n1\n\n-2\n", "a integer 1 - -2"), ("a\n1\n0.5\n", "a real 1.0 0.5"),
            ("a\ntrue\nfalse\n", "a bool true false"),
            ("a\ntrue\n1\n", "a string 'true' '1'"), ("a\n1\n\"2\"\n", "a string '1' '2'"),
            ("a\n007\n", "a string '007'"),
            ("a,b\n,\"\"\n,x\n", "a string - -; b string '' 'x'"), ("a\n", "a string "),
            ("a,b\n1,x\n", "a integer 1; b string 'x'"),
            ("a\n-0\n", "a real -0.0"), ("a\n0\n0.0\n", "a real 0.0 0.0"),
        ]
        for (text, expected) in rows { expectEqual(found(text), expected, text) }
        expectEqual(found("1,x\n2,y\n", CSVReaderTests.arrays), "1 integer 1 2; 2 string 'x' 'y'", "no names")
        expectEqual(
            found("a,b\n1,2\n3,4,5\n", CSVReaderOptions(longRecords: .ignore)), "a integer 1 3; b integer 2 4",
            "too many fields")
        expectEqual(
            found("a,b\n1,2\n3\n", CSVReaderOptions(columns: ["b"], shortRecords: .omit)), "b integer 2 -",
            "a chosen column")
        expectTrue(found("a,b\n1,2\n3,\"\n").contains("expected a quote"), "an error")
    }

    private static func testLosesNoDigit() {
        let rows = [
            ("9223372036854775807", "integer"), ("9223372036854775808", "string"), ("9007199254740993", "integer"),
            ("9007199254740993\n0.5", "string"), ("9007199254740992\n0.5", "real"), ("0.1", "real"),
            ("0.30000000000000004", "real"),
            ("0.123456789012345678", "string"), ("1e308", "real"), ("1e309", "string"), ("1e-400", "string"),
            ("0e-400", "real"),
            ("123456789012345.5", "real"), ("1234567890123456.25", "string"), ("5e-324", "real"), ("4e-324", "string"),
            ("0.10000000000000000000", "real"),
        ]
        for (text, expected) in rows {
            expectEqual(found("a\n\(text)\n").split(separator: " ").dropFirst().first, Substring(expected), text)
        }
    }

    private static func testAcceptsGivenTypesInAnyOrder() throws {
        let text = Array("id,name,share\n1,x,0.5\n2,,\n".utf8)
        let columns = try CSV.columns(["share": .real, "id": .real, "name": .string], from: text)
        expectEqual(shown(columns), "share real 0.5 -; id real 1.0 2.0; name string 'x' -", "columns")
        let missing = expectThrows(StreamError.self, "an unknown column") {
            _ = try CSV.columns(["nam": .string], from: text)
        }
        expectEqual(missing?.message, "there is no column \"nam\", did you mean \"name\"?", "message")
        let wrong = expectThrows(StreamError.self, "a value of another type") {
            _ = try CSV.columns(["name": .integer], from: text)
        }
        expectEqual(
            wrong?.description, "$[0].name: expected an integer, found \"x\" at line 2, column 3 (byte 16)", "message")
    }

    /// More columns than fit into the record buffer.
    private static func testAcceptsManyColumns() throws {
        let names = (0..<100).map { "c\($0)" }
        let text =
            names.joined(separator: ",") + "\n" + (0..<100).map { $0 % 2 == 0 ? "\($0)" : "" }.joined(separator: ",")
            + "\n"
        let columns = try CSV.columns(from: Array(text.utf8))
        expectEqual(columns["c98"]?.integer(0), 98, "an integer")
        expectEqual(columns["c99"]?.isNull(0), true, "a null")
    }

    private static func testRefusesRepeatedNames() async throws {
        let options = CSVReaderOptions(duplicateNames: .keep)
        let text = "a,b,b,\n1,2,3,4\n"
        let message = "columns 2 and 3 have the same name, \"b\" at line 1, column 5 (byte 4)"
        expectEqual(found(text, options), message, "types that are found")
        expectEqual(
            found("a,,\n1,2,3\n", options),
            "columns 2 and 3 have the same name, \"\" at line 1, column 4 (byte 3)", "no names")
        expectEqual(declared(["a": .integer, "b": .string], text, options), message, "types that are given")
        expectEqual(declared(["a": .integer, "": .integer], text, options), "a integer 1;  integer 4", "other columns")
        for options in [options, CSVReaderOptions()] {
            expectEqual(
                declared(["a": .string, "a": .integer], "a,b\n1,2\n", options),
                "two columns have the same name, \"a\"", "two of the types")
        }
        expectEqual(
            found("a,b\n1,2\n", CSVReaderOptions(columns: ["b", "b"])), "two columns have the same name, \"b\"",
            "a column that is chosen twice")
        do {
            _ = try await CSV.columns(nil, options, 3) { CSVPieces(Array(text.utf8), $0, pieceByteCount: 4) }
            fail("a column was lost")
        } catch {
            expectEqual("\(error)", message, "several workers")
        }
    }

    private static func declared(
        _ columns: KeyValuePairs<String, ColumnType>, _ text: String, _ options: CSVReaderOptions
    ) -> String {
        do {
            return shown(try CSV(reader: options).columns(columns, from: Array(text.utf8)))
        } catch {
            return "\(error)"
        }
    }

    /// Returns the columns of a pipe whose other end is closed, by the path of its descriptor.
    private static func ofPipe(
        _ columns: KeyValuePairs<String, ColumnType>?, workers: Int
    ) async throws -> Columns {
        var ends: [Int32] = [-1, -1]
        // SAFETY: the array has two elements for the descriptors.
        try requireEqual(unsafe pipe(&ends), 0, "pipe")
        defer { close(ends[0]) }
        var output = ByteOutput(descriptor: ends[1])
        try "a,b\n1,2\n".withUTF8Span { try output.append($0) }
        try output.flush()
        close(ends[1])
        let source = FileSource(path: "/dev/fd/\(ends[0])")
        if workers > 0 { return try await CSV().columns(columns, from: source, workers: workers) }
        return try columns.map { try CSV.columns($0, from: source) } ?? CSV.columns(from: source)
    }

    private static func testCollectsInputFromPipes() async throws {
        for workers in 0...2 {
            for columns in [nil, ["b": .integer]] as [KeyValuePairs<String, ColumnType>?] {
                let found = try await ofPipe(columns, workers: workers)
                expectEqual(found["b"]?.integer(0), 2, "a value by \(workers) workers")
            }
        }
    }

    private static func testColumnsDoNotDependOnWorkerCount() async throws {
        var text = Array("id,name,share,open\n".utf8)
        for row in 0..<400 {
            text += Array("\(row),\"n\n\(row)\",\(row % 9 == 0 ? "" : "0.\(row)"),\(row % 2 == 0)\n".utf8)
        }
        let expected = shown(try CSV.columns(from: text))
        for workers in [1, 2, 3, 7] {
            let columns = try await CSV.columns(nil, CSVReaderOptions(), workers) { options in
                CSVPieces(text, options, pieceByteCount: text.count / workers)
            }
            let found = shown(columns)
            if found != expected { expectEqual(found, expected, "\(workers) workers") }
        }
        expectTrue(expected.hasPrefix("id integer 0 1 2"), "\(expected.prefix(40))")
    }
}
#endif
