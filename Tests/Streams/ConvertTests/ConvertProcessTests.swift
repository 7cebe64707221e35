// Checks `convert` while it runs: its progress line on a terminal, its memory, and the files that remain after it is
// interrupted.

import Foundation
import SQLiteStreaming
import Testing

@Suite(.serialized) struct ConvertProcessTests {
    /// Returns whether another file has at least one megabyte.
    private func hasMegabyte(besides name: String, in directory: URL) throws -> Bool {
        try files(in: directory).contains { other in
            // The file may have been renamed in the meantime.
            let size = try? FileManager.default.attributesOfItem(atPath: directory.appending(path: other).path)[.size]
            return other != name && size as? Int ?? 0 > 1 << 20
        }
    }

    /// Array elements that each end with a comma.
    private let elements = Array(String(repeating: "{\"a\":[1,2.5,\"x\"]},\n", count: 4_096).utf8)

    @Test func showsProgressOnATerminal() throws {
        try withDirectory { directory in
            let convert = try RunningConvert(["-", "out.json"], in: directory, hasTerminal: true)
            try convert.write(Array("[".utf8))
            // Progress is reported with the first chunk that is read after half a second.
            var text = ""
            try convert.wait(for: "a line of progress") {
                try convert.write(elements)
                text += convert.terminalText()
                return text.contains("MB/s")
            }
            #expect(text.hasPrefix("\r\u{1B}[K"))
            #expect(text.contains(#/[0-9]+ MB, [0-9]+ MB/s/#))
            #expect(!text.contains("\n"))
            try convert.write(Array("0]".utf8))
            convert.closeInput()
            #expect(convert.wait() == 0)
            text += convert.terminalText()
            // At the end, the progress line is erased.
            #expect(text.hasSuffix("\r\u{1B}[K"))
            #expect(try files(in: directory) == ["out.json"])
        }
    }

    @Test func showsProgressOfDatabaseCopies() throws {
        try withDirectory { directory in
            let input = directory.appending(path: "in.sqlite").path
            let database = try SQLiteConnection(path: input, options: SQLiteOptions(access: .create))
            try database.execute("CREATE TABLE t (a); INSERT INTO t VALUES (zeroblob(100000000))")
            try database.close()
            // Progress is reported after half a second, and copying takes less. So the test stops the copy on its way.
            var text = ""
            for _ in 0..<40 where text.isEmpty {
                try? FileManager.default.removeItem(at: directory.appending(path: "out.sqlite"))
                let convert = try RunningConvert([input, "out.sqlite"], in: directory, hasTerminal: true)
                try convert.wait(for: "a megabyte of the copy") { try hasMegabyte(besides: "in.sqlite", in: directory) }
                kill(convert.process, SIGSTOP)
                usleep(700_000)
                kill(convert.process, SIGCONT)
                #expect(convert.wait() == 0)
                text = convert.terminalText()
            }
            #expect(text.hasPrefix("\r\u{1B}[K"))
            #expect(text.contains(#/[0-9]+ % of 10[0-9] MB, [0-9]+ MB/s/#))
            #expect(text.hasSuffix("\r\u{1B}[K"))
            #expect(!text.contains("\n"))
        }
    }

    @Test func showsTheErrorBelowTheProgress() throws {
        try withDirectory { directory in
            let convert = try RunningConvert(["-", "out.json"], in: directory, hasTerminal: true)
            try convert.write(Array("[1,\n  x]".utf8))
            convert.closeInput()
            #expect(convert.wait() == 1)
            #expect(convert.terminalText() == "<stdin>:2:3: error: expected a value, found 'x'\r\n")
            #expect(try files(in: directory) == [])
        }
    }

    @Test(arguments: [SIGINT, SIGTERM, SIGHUP, SIGKILL])
    func removesPartialOutputWhenKilled(by signal: Int32) throws {
        try withDirectory { directory in
            try Data("old".utf8).write(to: directory.appending(path: "out.json"))
            let convert = try RunningConvert(["-", "out.json"], in: directory)
            try convert.write(Array("[".utf8))
            // This is more than a pipe holds. When all of it is written, `convert` is running and has opened the
            // output.
            for _ in 0..<8 { try convert.write(elements) }
            kill(convert.process, signal)
            #expect(convert.wait() == -signal)
            #expect(try String(contentsOf: directory.appending(path: "out.json"), encoding: .utf8) == "old")
            #if os(Linux)
            #expect(try files(in: directory) == ["out.json"])
            #else
            // A process can't handle SIGKILL.
            if signal != SIGKILL { #expect(try files(in: directory) == ["out.json"]) }
            #endif
        }
    }

    @Test(arguments: [SIGTERM, SIGKILL])
    func keepsDatabasesUnchangedWhenKilled(by signal: Int32) throws {
        try withDirectory { directory in
            func convert(_ arguments: [String], _ text: String) throws -> Int32 {
                let convert = try RunningConvert(arguments, in: directory)
                try convert.write(Array(text.utf8))
                convert.closeInput()
                return convert.wait()
            }
            #expect(try convert(["-", "out.db"], #"[{"a":1}]"#) == 0)
            for option in ["--replace", "--append"] {
                let running = try RunningConvert(["-", "out.db", option], in: directory)
                try running.write(Array("[".utf8))
                for _ in 0..<8 { try running.write(elements) }
                kill(running.process, signal)
                #expect(running.wait() == -signal)
            }
            // A killed conversion leaves a file whose name doesn't get in the way of other files.
            let left = try files(in: directory).filter { !["out.db", "out.db-journal"].contains($0) }
            #expect(left.allSatisfy { $0.hasPrefix(".output-") && $0.hasSuffix(".partial") })
            #expect(left.count == (signal == SIGKILL ? 1 : 0))
            #expect(try convert(["-", "out.db", "--append"], #"[{"a":2}]"#) == 0)
            let reading = try RunningConvert(["out.db", "-"], in: directory, output: directory.path + "/rows")
            #expect(reading.wait() == 0)
            #expect(try String(contentsOf: directory.appending(path: "rows"), encoding: .utf8) == #"[{"a":1},{"a":2}]"#)
            let again = try RunningConvert(["out.db", "copy.db"], in: directory, hasTerminal: true)
            #expect(again.wait() == 0)
            let text = again.terminalText()
            let warning = "interrupted conversions have left files, which you can remove: "
            #expect(text.contains(warning) == !left.isEmpty)
            #expect(left.allSatisfy { text.contains("\(warning)./\($0)") })
        }
    }

    /// When the database is opened, SQLite uses the remaining journal to undo its writes before the end of the
    /// transaction.
    @Test func rollsBackInterruptedAppend() throws {
        try withDirectory { directory in
            let database = directory.appending(path: "out.db")
            let first = try RunningConvert(["-", "out.db"], in: directory)
            try first.write(Array(#"[{"a":1}]"#.utf8))
            first.closeInput()
            #expect(first.wait() == 0)
            let before = try Data(contentsOf: database)
            let running = try RunningConvert(["-", "out.db", "--append"], in: directory, hasTerminal: true)
            try running.write(Array("[".utf8))
            try running.wait(for: "rows in the database") {
                try running.write(elements)
                return try Data(contentsOf: database).count != before.count
            }
            kill(running.process, SIGINT)
            #expect(running.wait() == -SIGINT)
            #expect(running.terminalText().contains("out.db: warning: interrupted; SQLite undoes the additions"))
            #expect(try files(in: directory) == ["out.db", "out.db-journal"])
            let reading = try RunningConvert(["out.db", "-"], in: directory, hasTerminal: true)
            #expect(reading.wait() == 1)
            #expect(reading.terminalText().contains("contains an unfinished transaction"))
            let connection = try SQLiteConnection(path: database.path, options: SQLiteOptions(access: .readWrite))
            #expect(try connection.value("SELECT count(*) FROM rows") == 1)
            try connection.close()
            #expect(try files(in: directory) == ["out.db"])
            #expect(try Data(contentsOf: database) == before)
        }
    }

    @Test func reportsPositionOfLateErrors() throws {
        try withDirectory { directory in
            let line = "{\"ä\": [1, 2.5, \"x\"]},\r\n"
            let text = "[\r\n" + String(repeating: line, count: 40_000) + "  \"é\" \"\r\n]"
            try Data(text.utf8).write(to: directory.appending(path: "bad.json"))
            for output in ["out.json", "out.jsonl"] {
                let convert = try RunningConvert(["bad.json", output], in: directory, hasTerminal: true)
                #expect(convert.wait() == 1)
                // Columns count bytes from 1. The é has two bytes. On a slow machine, a progress line comes first.
                let error = convert.terminalText().components(separatedBy: "\r\u{1B}[K").last
                #expect(error == "bad.json:40002:8: error: expected ',' or ']', found '\"'\r\n")
                #expect(try files(in: directory) == ["bad.json"])
            }
        }
    }

    #if os(Linux)
    /// The beginning, a record and the end of a document in each format.
    private static let documents: [String: (String, record: String, String)] = [
        "json": ("[", "{\"a\":1,\"b\":\"x\"},\n", "{\"a\":1,\"b\":\"x\"}]"), "csv": ("a,b\n", "1,\"x,\ny\"\n", "1,x"),
        "openstep": ("(", "{a = <*I1>; b = x;},\n", ")"),
        "plist": (
            "<plist version='1.0'><array>",
            "<dict><key>a</key><integer>1</integer><key>b</key><string>x</string></dict>\n",
            "</array></plist>"
        ), "xml": ("<people>", "<p a='1'><b>x &amp; y</b></p>\n", "</people>"),
    ]

    @Test(arguments: [
        "json json", "json jsonl", "csv jsonl", "csv xml", "openstep csv", "openstep plist", "plist openstep",
        "plist json", "xml json",
    ])
    func usesConstantMemory(formats: String) throws {
        let (format, output) = (
            formats.split(separator: " ")[0].description, formats.split(separator: " ")[1].description
        )
        let (start, record, end) = try #require(Self.documents[format])
        let records = Array(String(repeating: record, count: 2_048).utf8)
        try withDirectory { directory in
            let convert = try RunningConvert(["-", "-", "--from", format, "--to", output], in: directory)
            try convert.write(Array(start.utf8))
            for _ in 0..<8 { try convert.write(records) }
            let early = try #require(convert.peakMemory())
            for _ in 0..<8 { try convert.write(records) }
            let late = try #require(convert.peakMemory())
            // The memory may grow by sixteen bytes for each of the records in between.
            #expect(late - early < 1 << 18, "\(formats): \(early) bytes, \(late) behind twice as much")
            try convert.write(Array(end.utf8))
            convert.closeInput()
            #expect(convert.wait() == 0)
        }
    }
    #endif
}
