// Several workers against one: values, order, errors and positions, with line ends in quotes at every place where a text is cut.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistBuilding
import PlistStreaming

enum CSVPartsTests {
    private struct Line: StreamObject, Equatable, Sendable {
        var a = ""
        var b: String?
    }

    /// The rows of a text, by one worker or several.
    private static func rows(_ text: [UInt8], _ options: CSVReaderOptions, workers: Int) async -> String {
        do {
            guard workers > 0 else {
                var rows: [String] = []
                try CSV.forEachRow(in: text, options: options) { row in
                    rows.append((0..<row.count).map { "\(row.string(at: $0) ?? "nil")|" }.joined())
                }
                return "\(rows)"
            }
            let parts = await CSVParts(text, options, count: workers, smallest: 8)
            let rows = try await CSV.map(parts) { row in
                (0..<row.count).map { "\(row.string(at: $0) ?? "nil")|" }.joined()
            }
            return "\(rows)"
        } catch {
            return "\(error)"
        }
    }

    private static func expectSame(_ text: [UInt8], _ options: CSVReaderOptions, _ name: String) async {
        let expected = await rows(text, options, workers: 0)
        for workers in [1, 2, 3, 5, 8] {
            let found = await rows(text, options, workers: workers)
            if found != expected { expectEqual(found, expected, "\(name), \(workers) workers") }
        }
    }
}

extension CSVPartsTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testIsTheSameByAnyNumberOfWorkers": testIsTheSameByAnyNumberOfWorkers,
            "testFindsTheFirstError": testFindsTheFirstError,
            "testCutsWithinQuotesAtAnyPlace": testCutsWithinQuotesAtAnyPlace,
            "testMakesTheSameValues": testMakesTheSameValues,
            "testStopsWhenCancelled": testStopsWhenCancelled,
        ]
    }

    private static func testIsTheSameByAnyNumberOfWorkers() async {
        var random = TestRandom(seed: 11)
        for round in 0..<20 {
            let width = 1 + round % 4
            let header = (0..<width).map { "c\($0)" }.joined(separator: ",") + "\n"
            let text = CSVScannerTests.randomText(&random, count: 900, width: width, faults: round % 3 == 0)
            // Quotes in comments, and in fields without quotes, tell nothing of where records end.
            let options = CSVReaderOptions(
                dialect: CSVDialect(comment: round % 2 == 0 ? 0x23 : nil), shortRecords: .leaveOut, longRecords: .drop,
                bareQuotes: round % 5 == 0 ? .keep : .reject)
            await expectSame(Array(header.utf8) + text, options, "round \(round)")
        }
    }

    private static func testCutsWithinQuotesAtAnyPlace() async {
        for count in 0..<20 {
            let filler = String(repeating: "x", count: count)
            let text = "a,b\n\(filler),\"\n,\n\"\n" + String(repeating: "1,\"2\n3\"\r\n\"\"\"\n\",\n", count: 5)
            await expectSame(Array(text.utf8), CSVReaderOptions(), "\(count) bytes before")
        }
    }

    private static func testFindsTheFirstError() async {
        let good = String(repeating: "1,\"a\n\"\n", count: 10)
        for place in 0..<12 {
            var text = "a,b\n"
            for index in 0..<12 {
                // A second mistake behind the first one, of another kind.
                text += good + (index == place ? "1,x\"y\n" : index == place + 2 ? "1,2,3\n" : "")
            }
            await expectSame(Array(text.utf8), CSVReaderOptions(), "a quote in part \(place)")
            await expectSame(
                Array(("a,b\n" + text).utf8) + [0x22], CSVReaderOptions(bareQuotes: .keep), "an open quote")
        }
        await expectSame([], CSVReaderOptions(), "nothing")
        await expectSame(Array("a,a\n1,2\n3,4\n5,6\n7,8\n".utf8), CSVReaderOptions(), "a name that comes twice")
    }

    private static func testMakesTheSameValues() async throws {
        var text = Array("a,b\n".utf8)
        for row in 0..<500 { text += Array("name \(row),\(row % 7 == 0 ? "" : "\"line\n\(row)\"")\n".utf8) }
        let expected = try CSV.decode(Line.self, from: text)
        expectEqual(expected.count, 500, "values")
        let parts = await CSVParts(text, CSVReaderOptions(), count: 4, smallest: 16)
        expectGreater(parts.starts.count, 2, "parts")
        expectEqual(try await CSV.decode(Line.self, parts, BuilderOptions()), expected, "values of parts")
        expectEqual(try await CSV.decode(Line.self, from: text, workers: 2), expected, "values of small texts")
    }

    private static func testStopsWhenCancelled() async {
        let text = Array(("a\n" + String(repeating: "1\n", count: 1_000)).utf8)
        let task = Task { () -> String in
            while !Task.isCancelled { await Task.yield() }
            do {
                return "\(try await CSV.map(rowsOf: text, workers: 2) { row in row.count }.count) rows"
            } catch {
                return (error as? StreamError)?.cause is CancellationError ? "cancelled" : "\(error)"
            }
        }
        task.cancel()
        expectEqual(await task.value, "cancelled", "what a cancelled task gets")
    }
}
#endif
