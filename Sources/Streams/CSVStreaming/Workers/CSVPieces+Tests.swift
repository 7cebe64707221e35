// Several workers compared with one: values, order, errors and positions, with quoted line ends at every position where
// a text is split.

#if DEBUG || IN_CLASS_TESTS
import Foundation
import InClassTesting
import PlistBuilding
import PlistStreaming

enum CSVPiecesTests {
    private struct Line: StreamObject, Equatable, Sendable {
        var a = ""
        var b: String?
    }

    /// Returns the index of a row, the position of its last field, and its fields.
    private static func shown(_ row: borrowing CSVRow) -> String {
        var text = "\(row.index) \(row.position(of: row.count - 1)) "
        for field in 0..<row.count { text += "\(row.string(at: field) ?? "nil")|" }
        return text
    }

    /// Returns the rows of a text, read by one worker or several.
    private static func rows(_ text: [UInt8], _ options: CSVReaderOptions, workers: Int) async -> String {
        do {
            guard workers > 0 else {
                var rows: [String] = []
                try CSV(reader: options).forEachRow(in: text) { row in
                    rows.append(shown(row))
                }
                return "\(rows)"
            }
            let pieces = CSVPieces(text, options, pieceByteCount: max(8, text.count / workers))
            let rows = try await CSV.map(pieces, workers) { row in shown(row) }
            return "\(rows)"
        } catch {
            return "\(error)"
        }
    }

    /// Returns the rows of a file, read by several workers in pieces of a given size.
    private static func rows(
        ofFile path: String, _ options: CSVReaderOptions, workers: Int, pieceByteCount: Int
    ) async -> String {
        do {
            let text = CSVPieces(try InputFile(path: path), options, pieceByteCount: pieceByteCount)
            let rows = try await CSV.map(text, workers) { row in shown(row) }
            return "\(rows)"
        } catch {
            return "\(error)"
        }
    }

    private static func expectSame(_ text: [UInt8], _ options: CSVReaderOptions, _ name: String) async throws {
        let expected = await rows(text, options, workers: 0)
        for workers in [1, 2, 3, 5, 8] {
            let found = await rows(text, options, workers: workers)
            if found != expected { expectEqual(found, expected, "\(name), \(workers) workers") }
        }
        let path = try temporaryDirectory() + "/rows.csv"
        try Data(text).write(to: URL(fileURLWithPath: path))
        for (workers, pieceByteCount) in [(2, 70), (3, 300)] {
            let found = await rows(ofFile: path, options, workers: workers, pieceByteCount: pieceByteCount)
            if found != expected {
                expectEqual(found, expected, "\(name), \(workers) workers, \(pieceByteCount) bytes of a file")
            }
        }
    }
}

extension CSVPiecesTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testResultDoesNotDependOnWorkerCount": testResultDoesNotDependOnWorkerCount,
            "testFindsTheFirstError": testFindsTheFirstError,
            "testCutsWithinQuotesAtAnyOffset": testCutsWithinQuotesAtAnyOffset,
            "testFindsTheFirstErrorOfAClosure": testFindsTheFirstErrorOfAClosure,
            "testEnforcesLimitsOfTheWholeText": testEnforcesLimitsOfTheWholeText,
            "testEnforcesLimitsOfAllValues": testEnforcesLimitsOfAllValues,
            "testSkipsLinesBeforeTheFirstRecord": testSkipsLinesBeforeTheFirstRecord,
            "testDecodesSameValuesFromPieces": testDecodesSameValuesFromPieces,
            "testStopsWhenCancelled": testStopsWhenCancelled,
            "testDecodesSameValuesFromFile": testDecodesSameValuesFromFile,
            "testLimitsReadAhead": testLimitsReadAhead,
            "testEndsPiecesWithRecords": testEndsPiecesWithRecords,
        ]
    }

    private static func testResultDoesNotDependOnWorkerCount() async throws {
        var random = TestRandom(seed: 11)
        for round in 0..<20 {
            let width = 1 + round % 4
            let header = (0..<width).map { "c\($0)" }.joined(separator: ",") + "\n"
            let text = CSVScannerTests.randomText(&random, count: 900, width: width, faults: round % 3 == 0)
            // Quotes in comments and in unquoted fields give no information about the ends of records.
            let options = CSVReaderOptions(
                dialect: CSVDialect(comment: round % 2 == 0 ? 0x23 : nil), shortRecords: .omit, longRecords: .ignore,
                bareQuotes: round % 5 == 0 ? .keep : .reject)
            try await expectSame(Array(header.utf8) + text, options, "round \(round)")
        }
    }

    private static func testCutsWithinQuotesAtAnyOffset() async throws {
        for count in 0..<20 {
            let filler = String(repeating: "x", count: count)
            let text = "a,b\n\(filler),\"\n,\n\"\n" + String(repeating: "1,\"2\n3\"\r\n\"\"\"\n\",\n", count: 5)
            try await expectSame(Array(text.utf8), CSVReaderOptions(), "\(count) bytes before")
        }
    }

    private static func testFindsTheFirstError() async throws {
        let good = String(repeating: "1,\"a\n\"\n", count: 10)
        for place in 0..<12 {
            var text = "a,b\n"
            for index in 0..<12 {
                // A second error of another kind after the first one.
                text += good + (index == place ? "1,x\"y\n" : index == place + 2 ? "1,2,3\n" : "")
            }
            try await expectSame(Array(text.utf8), CSVReaderOptions(), "a quote in part \(place)")
            try await expectSame(
                Array(("a,b\n" + text).utf8) + [0x22], CSVReaderOptions(bareQuotes: .keep), "an open quote")
        }
        try await expectSame([], CSVReaderOptions(), "nothing")
        let comments = String(repeating: "# a \"comment\n", count: 20) + "a,b\n1,2\n3,\"\n\"\n"
        let options = CSVReaderOptions(dialect: CSVDialect(comment: 0x23))
        try await expectSame(Array(comments.utf8), options, "a header behind comments")
        var limited = CSVReaderOptions()
        limited.recordByteLimit = 40
        let long = String(repeating: "1,2\n", count: 20) + "1,\"" + String(repeating: "x\n", count: 100)
        try await expectSame(Array(("a,b\n" + long).utf8), limited, "a record that is too long")
        try await expectSame(Array(("a,b\n" + long).utf8), CSVReaderOptions(), "quotes that are open for long")
        try await expectSame(Array("a,a\n1,2\n3,4\n5,6\n7,8\n".utf8), CSVReaderOptions(), "a name that comes twice")
    }

    /// A closure that refuses a row with a certain index, with workers that don't begin with the first row.
    private static func testFindsTheFirstErrorOfAClosure() async throws {
        let text = Array(("\u{FEFF}a,b\n" + (0..<400).map { "\($0),\"x\n\"\n" }.joined()).utf8)
        let path = try temporaryDirectory() + "/rows.csv"
        try Data(text).write(to: URL(fileURLWithPath: path))
        let body = { @Sendable (row: borrowing CSVRow) throws(StreamError) -> Int in
            if row.index >= 350 { throw .stopRequest() }
            return row.index
        }
        for workers in [1, 2, 4, 9] {
            for pieces in [
                CSVPieces(text, CSVReaderOptions(), pieceByteCount: text.count / workers),
                CSVPieces(try InputFile(path: path), CSVReaderOptions(), pieceByteCount: 200),
            ] {
                do {
                    let found = try await CSV.map(pieces, workers, body)
                    fail("\(found.count) rows by \(workers) workers")
                } catch {
                    expectEqual(error.position?.line, 702, "\(workers) workers")
                    expectEqual(error.path?.description, "$[350]", "\(workers) workers")
                }
            }
        }
    }

    private static func testEnforcesLimitsOfTheWholeText() async throws {
        let text = Array(("a,b\n" + String(repeating: "1,\"\n\"\n", count: 60)).utf8)
        for limit in [0, 3, 4, 100, text.count / 2, text.count - 1, text.count] {
            let options = CSVReaderOptions(limits: StreamLimits(totalByteCount: limit))
            try await expectSame(text, options, "\(limit) bytes")
            let one = await columns(text, options, workers: 1)
            expectEqual(await columns(text, options, workers: 4), one, "columns of \(limit) bytes")
        }
    }

    /// Values whose unknown members are collected; their total number is limited.
    private static func testEnforcesLimitsOfAllValues() async throws {
        // At least two parts, and not much more than the size of a piece.
        let row = "1,2," + String(repeating: "x", count: 6_000) + "\n"
        let text = Array(("a,b,c\n" + String(repeating: row, count: 2 * CSV.smallestPiece / 6_000 + 1)).utf8)
        let options = BuilderOptions(unknownMembers: .collect, unknownMemberLimit: 60)
        let expected = expectThrows(StreamError.self, "too many") {
            _ = try CSV.decode([Line].self, from: text, options: options)
        }
        expectEqual(expected?.kind, .limitExceeded, "kind")
        let path = try temporaryDirectory() + "/rows.csv"
        try Data(text).write(to: URL(fileURLWithPath: path))
        for isFile in [false, true] {
            do {
                let values =
                    try await isFile
                    ? CSV.decode(
                        Line.self, CSVPieces(try InputFile(path: path), CSVReaderOptions(), pieceByteCount: 200_000),
                        options, 2)
                    : CSV().decode([Line].self, from: text, options: options, workers: 2)
                fail("\(values.count) values")
            } catch {
                expectEqual("\(error)", expected?.description, "the error of two workers")
            }
        }
    }

    /// Returns the number of rows in the columns, or the error.
    private static func columns(_ text: [UInt8], _ options: CSVReaderOptions, workers: Int) async -> String {
        do {
            let columns = try await CSV.columns(nil, options, workers) { options in
                CSVPieces(text, options, pieceByteCount: max(8, text.count / workers))
            }
            return "\(columns.rowCount) rows"
        } catch {
            return "\(error)"
        }
    }

    private static func testSkipsLinesBeforeTheFirstRecord() async throws {
        let options = CSVReaderOptions(dialect: .standard.withoutHeader, names: ["a"])
        for end in ["\n", "\r\n", "\r"] {
            for lines in ["", "1\(end)", "1\(end)\(end)\(end)2"] {
                let text = Array((String(repeating: end, count: 300) + lines).utf8)
                try await expectSame(text, options, "blank lines, then \(lines.debugDescription)")
                let one = await columns(text, options, workers: 1)
                expectEqual(await columns(text, options, workers: 4), one, "columns of blank lines")
            }
        }
        // All on one line, which begins after the byte order mark.
        let text = "\u{FEFF}a,b\r" + String(repeating: "1,x\r", count: 100)
        try await expectSame(Array((text + "1,2,3\r").utf8), CSVReaderOptions(), "a line behind a mark")
    }

    private static func testDecodesSameValuesFromPieces() async throws {
        var text = Array("a,b\n".utf8)
        for row in 0..<500 { text += Array("name \(row),\(row % 7 == 0 ? "" : "\"line\n\(row)\"")\n".utf8) }
        let expected = try CSV.decode([Line].self, from: text)
        expectEqual(expected.count, 500, "values")
        let pieces = CSVPieces(text, CSVReaderOptions(), pieceByteCount: text.count / 4)
        expectEqual(try await CSV.decode(Line.self, pieces, BuilderOptions(), 4), expected, "values of pieces")
        expectEqual(try await CSV().decode([Line].self, from: text, workers: 2), expected, "values of small texts")
    }

    private static func testDecodesSameValuesFromFile() async throws {
        var text = Array("a,b\n".utf8)
        for row in 0..<500 { text += Array("\(row),\(row % 7 == 0 ? "" : "\"line\n\(row)\"")\n".utf8) }
        let path = try temporaryDirectory() + "/lines.csv"
        try Data(text).write(to: URL(fileURLWithPath: path))
        let file = CSVPieces(try InputFile(path: path), CSVReaderOptions(), pieceByteCount: 1_000)
        expectEqual(
            try await CSV.decode(Line.self, file, BuilderOptions(), 3), try CSV.decode([Line].self, from: text),
            "values")
        expectEqual(
            try await CSV().decode([Line].self, from: .file(path), workers: 2).count, 500, "values of a small file")
        let columns = try await CSV.columns(nil, CSVReaderOptions(), 3) { (options) throws(StreamError) in
            CSVPieces(try InputFile(path: path), options, pieceByteCount: 1_000)
        }
        let expected = try CSV.columns(from: text)
        for (column, other) in zip(columns.columns, expected.columns) {
            expectEqual(column.type, other.type, column.name)
            let values = (0..<500).map { row in "\(column.integer(row) as Any) \(column.string(row) as Any)" }
            expectEqual(
                values, (0..<500).map { row in "\(other.integer(row) as Any) \(other.string(row) as Any)" }, column.name
            )
        }
        do {
            _ = try await CSV().map(rowsOf: .file(try temporaryDirectory()), workers: 2) { row in row.count }
            fail("a folder was read")
        } catch {
            expectEqual((error as? StreamError)?.kind, .cannotRead, "what a folder is")
        }
    }

    private static func testEndsPiecesWithRecords() {
        let text = Array("a\n1\r\n\"2\n\"\r3\n4".utf8)
        for (count, expected) in [
            (1, ["a\n", "1\r\n", "\"2\n\"\r", "3\n", "4"]), (4, ["a\n", "1\r\n", "\"2\n\"\r3\n", "4"]),
            (9, ["a\n1\r\n", "\"2\n\"\r3\n4"]), (text.count + 1, [String(decoding: text, as: UTF8.self)]),
        ] {
            let pieces = CSVPieces(text, CSVReaderOptions(), pieceByteCount: count)
            var (found, end): ([String], Int) = ([], 0)
            while let piece = pieces.next() {
                expectEqual(piece.startIndex, end, "start of piece \(found.count)")
                end = piece.endIndex
                found.append(String(decoding: piece, as: UTF8.self))
            }
            expectEqual(found, expected, "pieces of \(count) bytes")
        }
    }

    private static func testLimitsReadAhead() async throws {
        let path = try temporaryDirectory() + "/numbers.csv"
        var text = "offset\n"
        while text.utf8.count < 60_000 { text += "\(text.utf8.count)\n" }
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        // SAFETY: the path is a string that outlives the call.
        let descriptor = unsafe open(path, O_RDONLY)
        defer { close(descriptor) }
        let file = CSVPieces(InputFile(descriptor: descriptor), CSVReaderOptions(), pieceByteCount: 1_000)
        // The number of bytes that were read after a row when the closure receives it.
        let distances = try await CSV.map(file, 3) { row in
            Int64(lseek(descriptor, 0, SEEK_CUR)) - (row.integer(at: 0) ?? 0)
        }
        expectGreaterThan(distances.count, 8_000, "rows")
        expectLessThanOrEqual(distances.max() ?? .max, 8_000, "six pieces, the next one, and the rest of the last one")
    }

    private static func testStopsWhenCancelled() async {
        let text = Array(("a\n" + String(repeating: "1\n", count: 1_000)).utf8)
        let task = Task { () -> String in
            while !Task.isCancelled { await Task.yield() }
            do {
                return "\(try await CSV().map(rowsOf: text, workers: 2) { row in row.count }.count) rows"
            } catch {
                return (error as? StreamError)?.cause is CancellationError ? "cancelled" : "\(error)"
            }
        }
        task.cancel()
        expectEqual(await task.value, "cancelled", "what a cancelled task gets")
    }
}
#endif
