// Compares the package with Python's csv module: each reads the other's output. Without Python, the tests report it and
// are skipped.

import CSVStreaming
import Foundation
import PlistBuilding
import PlistStreaming
import TestCorpora
import Testing

/// Runs Python scripts.
private enum Python {
    static let isThere: Bool = (try? run("print(1)", Data())) == Data("1\n".utf8)

    static func run(_ script: String, _ input: Data) throws -> Data {
        let process = Process()
        // Use files because programs that other tests start would inherit pipes.
        let files = ["in", "out"].map {
            FileManager.default.temporaryDirectory.appending(path: "python-\(UUID().uuidString).\($0)")
        }
        defer { for file in files { try? FileManager.default.removeItem(at: file) } }
        try input.write(to: files[0])
        try Data().write(to: files[1])
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["python3", "-c", script]
        process.standardInput = try FileHandle(forReadingFrom: files[0])
        process.standardOutput = try FileHandle(forWritingTo: files[1])
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        return try Data(contentsOf: files[1])
    }
}

@Suite(.serialized, .enabled(if: Python.isThere, "there is no python3"))
struct PythonTests {
    private static let tables: [[[String]]] = {
        var random = SeededRandom(seed: 1)
        let pieces = [
            "a", "1", ",", "\"", "\"\"", "\n", "\r\n", "\r", " ", "größe", "€", "🙂", ";", "\t", "'", "#", "0.5", "true",
            "a longer text of many words, in quotes",
        ]
        return (0..<60).map { table in
            let width = 1 + table % 6
            return (0..<50).map { _ in
                (0..<width).map { _ in
                    (0..<Int.random(in: 0...4, using: &random)).map { _ in
                        pieces.randomElement(using: &random) ?? ""
                    }.joined()
                }
            }
        }
    }()

    private static func dialect(_ index: Int) -> (CSVDialect, python: [String: String]) {
        let delimiter = [",", ";", "\t"][index % 3]
        let quote = index % 2 == 0 ? "\"" : "'"
        let dialect = CSVDialect(
            delimiter: delimiter.utf8.first ?? 0x2C, quote: quote.utf8.first, hasHeader: false)
        return (dialect, ["delimiter": delimiter, "quotechar": quote])
    }

    /// Runs Python code for each of many tables in one process and returns the results.
    ///
    /// - Parameter body: The code that calculates `result` from `table` and from the arguments in `dialect`.
    private static func python(_ body: [String], _ tables: [(table: Any, dialect: [String: String])]) throws -> Any {
        let script =
            ["import csv,io,json,sys", "results=[]", "for table,dialect in json.load(sys.stdin):"]
            + body.map { "    " + $0 } + ["    results.append(result)", "print(json.dumps(results))"]
        let input = try JSONSerialization.data(withJSONObject: tables.map { [$0.table, $0.dialect] })
        return try JSONSerialization.jsonObject(with: Python.run(script.joined(separator: "\n"), input))
    }

    @Test func pythonReadsOurOutput() throws {
        let texts = try Self.tables.enumerated().map { index, table in
            let (dialect, python) = Self.dialect(index)
            var writer = CSVWriter(
                options: CSVWriterOptions(
                    dialect: dialect, lineEnd: index % 4 < 2 ? .lf : .crlf, quoting: index % 5 == 0 ? .all : .needed))
            try writer.write(table)
            try writer.finish()
            return (table: writer.text as Any, dialect: python)
        }
        let found = try Self.python(["result=list(csv.reader(io.StringIO(table,newline=''),**dialect))"], texts)
        let tables = try #require(found as? [[[String]]])
        #expect(tables.count == Self.tables.count)
        for (index, table) in Self.tables.enumerated() { #expect(tables[index] == table, "table \(index)") }
    }

    @Test func readsOutputOfPython() throws {
        let tables = Self.tables.enumerated().map { index, table in
            var python = Self.dialect(index).python
            // For a row with a single empty field, Python writes a pair of quotes, as the package does.
            let isAll = index / 6 % 2 == 1
            python["quoting"] = isAll ? "QUOTE_ALL" : "QUOTE_MINIMAL"
            // Before version 3.13, QUOTE_MINIMAL quotes line ends only if they occur in Python's own line terminator.
            python["lineterminator"] = isAll ? ["\n", "\r\n", "\r"][index / 3 % 3] : "\r\n"
            return (table: table as Any, dialect: python)
        }
        let body = [
            "dialect['quoting']=getattr(csv,dialect['quoting'])", "out=io.StringIO(newline='')",
            "csv.writer(out,**dialect).writerows(table)", "result=out.getvalue()",
        ]
        let texts = try #require(try Self.python(body, tables) as? [String])
        #expect(texts.count == Self.tables.count)
        for (index, table) in Self.tables.enumerated() {
            let (dialect, text) = (Self.dialect(index).0, Data(texts[index].utf8))
            var builder = try ObjectBuilder<[[String]]>()
            try builder.readCSV(text, options: CSVReaderOptions(dialect: dialect))
            #expect(try builder.takeResult() == table, "table \(index)")
            // The fast path and the byte-by-byte parser give the same result for two chunks as for the whole text.
            var reader = CSVReader(sink: try ObjectBuilder<[[String]]>(), options: CSVReaderOptions(dialect: dialect))
            let half = text.count / 2
            try reader.feed(text[..<half])
            try reader.feed(text[half...])
            try reader.finish()
            #expect(try reader.sink.takeResult() == table, "table \(index) in two pieces")
        }
    }
}
