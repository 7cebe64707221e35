// Runs the command `convert` as users do, with real processes, files and pipes.

import Foundation
import Testing

@Suite(.serialized) struct ConvertTests {
    /// The result of a run.
    struct Outcome {
        var status: Int32
        var output: String
        var errors: String
    }

    /// The built command next to the test bundle.
    static let command: URL = {
        #if os(macOS)
        let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }?.bundleURL ?? Bundle.main.bundleURL
        return bundle.deletingLastPathComponent().appending(path: "convert")
        #else
        return Bundle.main.bundleURL.appending(path: "convert")
        #endif
    }()

    private func run(
        _ arguments: [String], input: String = "", in directory: URL, fileSizeLimit: Int? = nil,
        isAmongOthers: Bool = false
    ) throws -> Outcome {
        let process = Process()
        process.executableURL = Self.command
        process.arguments = arguments
        if let fileSizeLimit {
            // `ulimit -f` counts in units of 512 bytes.
            process.executableURL = URL(filePath: "/bin/sh")
            process.arguments =
                ["-c", "ulimit -f \(fileSizeLimit) && exec \"$0\" \"$@\"", Self.command.path] + arguments
        }
        if isAmongOthers {
            process.executableURL = URL(filePath: "/bin/sh")
            process.arguments =
                ["-c", "echo before; \"$0\" \"$@\"; code=$?; echo after; exit $code", Self.command.path] + arguments
        }
        process.currentDirectoryURL = directory
        let files = ["in", "out", "err"].map { directory.appending(path: ".std\($0)") }
        try Data(input.utf8).write(to: files[0])
        for file in files.dropFirst() { try Data().write(to: file) }
        process.standardInput = try FileHandle(forReadingFrom: files[0])
        process.standardOutput = try FileHandle(forWritingTo: files[1])
        process.standardError = try FileHandle(forWritingTo: files[2])
        try process.run()
        process.waitUntilExit()
        let texts = try files.map { try String(contentsOf: $0, encoding: .utf8) }
        for file in files { try FileManager.default.removeItem(at: file) }
        return Outcome(status: process.terminationStatus, output: texts[1], errors: texts[2])
    }

    @Test func convertsBothWays() throws {
        try withDirectory { directory in
            let text = #"[{"a":1,"b":[2.5,"é"]},null,[]]"#
            try Data(text.utf8).write(to: directory.appending(path: "a.json"))
            var outcome = try run(["a.json", "b.jsonl"], in: directory)
            #expect(outcome.status == 0)
            #expect(outcome.errors == "")
            let lines = try String(contentsOf: directory.appending(path: "b.jsonl"), encoding: .utf8)
            #expect(lines == "{\"a\":1,\"b\":[2.5,\"é\"]}\nnull\n[]\n")
            outcome = try run(["b.jsonl", "c.json"], in: directory)
            #expect(outcome.status == 0)
            #expect(try String(contentsOf: directory.appending(path: "c.json"), encoding: .utf8) == text)
            #expect(try files(in: directory) == ["a.json", "b.jsonl", "c.json"])
        }
    }

    @Test func convertsStandardStreams() throws {
        try withDirectory { directory in
            let outcome = try run(["-", "-", "--pretty", "--sort-keys"], input: #"{"b":1,"a":[]}"#, in: directory)
            #expect(outcome.status == 0)
            #expect(outcome.output == "{\n  \"a\": [],\n  \"b\": 1\n}\n")
            #expect(outcome.errors == "")
        }
    }

    /// The first bytes decide the form. They are read only once.
    @Test(arguments: ["plist", "bplist", "openstep"], [1, 2_000])
    func readsPropertyListsFromStreams(form: String, count: Int) throws {
        try withDirectory { directory in
            let json = "[" + (0..<count).map { #"{"a":\#($0),"b":"x"}"# }.joined(separator: ",") + "]"
            try Data(json.utf8).write(to: directory.appending(path: "in.json"))
            #expect(try run(["in.json", "list", "--to", form], in: directory).status == 0)
            let bytes = try Data(contentsOf: directory.appending(path: "list"))
            let piped = try RunningConvert(
                ["-", "-", "--from", "plist", "--to", "json"], in: directory, output: directory.path + "/out.json")
            try piped.write(Array(bytes))
            piped.closeInput()
            #expect(piped.wait() == 0)
            #expect(try String(contentsOf: directory.appending(path: "out.json"), encoding: .utf8) == json)
        }
    }

    @Test func refusesOtherFilesAndOpenDatabases() throws {
        try withDirectory { directory in
            for text in ["x", "SQLite format 2", String(repeating: "x", count: 5_000)] {
                try Data(text.utf8).write(to: directory.appending(path: "bad.db"))
                let outcome = try run(["bad.db", "-"], in: directory)
                #expect(outcome.status == 1)
                #expect(outcome.output == "")
                #expect(outcome.errors == "bad.db: error: expected a SQLite database, found another file\n")
            }
            try Data("[{\"a\":1}]".utf8).write(to: directory.appending(path: "a.json"))
            try Data("an old one".utf8).write(to: directory.appending(path: "out.db"))
            try Data("its log".utf8).write(to: directory.appending(path: "out.db-wal"))
            var outcome = try run(["a.json", "out.db"], in: directory)
            #expect(outcome.status == 2)
            #expect(
                outcome.errors == "convert: error: the file out.db exists and isn't a database; use --replace\n")
            outcome = try run(["a.json", "out.db", "--replace"], in: directory)
            #expect(outcome.status == 1)
            #expect(outcome.errors.hasPrefix("out.db: error: cannot replace: "))
            #expect(try String(contentsOf: directory.appending(path: "out.db"), encoding: .utf8) == "an old one")
            #expect(try files(in: directory) == ["a.json", "bad.db", "out.db", "out.db-wal"])
        }
    }

    @Test func reportsBadInputAndWritesNothing() throws {
        try withDirectory { directory in
            try Data("[1,\n  x]".utf8).write(to: directory.appending(path: "bad.json"))
            let outcome = try run(["bad.json", "out.json"], in: directory)
            #expect(outcome.status == 1)
            #expect(outcome.errors == "bad.json:2:3: error: expected a value, found 'x'\n")
            #expect(try files(in: directory) == ["bad.json"])
        }
    }

    @Test func keepsAnEarlierOutputWhenItFails() throws {
        try withDirectory { directory in
            try Data("old".utf8).write(to: directory.appending(path: "out.json"))
            let outcome = try run(["-", "out.json"], input: "[1,", in: directory)
            #expect(outcome.status == 1)
            #expect(outcome.errors == "<stdin>:1:4: error: expected a value, found the end of the input\n")
            #expect(try String(contentsOf: directory.appending(path: "out.json"), encoding: .utf8) == "old")
            #expect(try files(in: directory) == ["out.json"])
        }
    }

    @Test func convertsAFileIntoItself() throws {
        try withDirectory { directory in
            let file = directory.appending(path: "a.json")
            try Data("[ 1 ]".utf8).write(to: file)
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
            #expect(try run(["a.json", "a.json"], in: directory).status == 0)
            #expect(try String(contentsOf: file, encoding: .utf8) == "[1]")
            let attributes = try FileManager.default.attributesOfItem(atPath: file.path)
            #expect(attributes[.posixPermissions] as? Int == 0o600)
        }
    }

    @Test func explainsMistakesOnTheCommandLine() throws {
        try withDirectory { directory in
            let outcome = try run(["a.json", "b.json", "--form", "json"], in: directory)
            #expect(outcome.status == 2)
            #expect(
                outcome.errors
                    == "convert: error: there is no option '--form'; did you mean '--from'?\nTry 'convert --help'.\n")
            #expect(try files(in: directory) == [])
            #expect(try run(["--help"], in: directory).output.hasPrefix("usage: convert IN OUT"))
        }
    }

    @Test func convertsDatabasesBothWays() throws {
        try withDirectory { directory in
            let tables = #"{"a b":[{"id":1,"t":"é","f":true},{"id":2,"t":null,"f":false}],"c":[{"x":1.5}]}"#
            try Data(tables.utf8).write(to: directory.appending(path: "in.json"))
            #expect(try run(["in.json", "out.sqlite"], in: directory).errors == "")
            #expect(try run(["out.sqlite", "-"], in: directory).output == tables)
            let lines = try run(["out.sqlite", "-", "--to", "jsonl", "--table", "a b"], in: directory)
            #expect(lines.output == "{\"id\":1,\"t\":\"é\",\"f\":true}\n{\"id\":2,\"t\":null,\"f\":false}\n")
            let one = try run(["-", "one.db", "--from", "jsonl", "--table", "t"], input: lines.output, in: directory)
            #expect(one.errors == "")
            let array = #"[{"id":1,"t":"é","f":true},{"id":2,"t":null,"f":false}]"#
            #expect(try run(["one.db", "-"], in: directory).output == array)
            #expect(try run(["one.db", "one.db", "--replace"], in: directory).status == 2)
            #expect(try run(["one.db", "copy.db"], in: directory).status == 0)
            #expect(try run(["copy.db", "-"], in: directory).output == array)
            #expect(try files(in: directory) == ["copy.db", "in.json", "one.db", "out.sqlite"])
        }
    }

    @Test func keepsTheNamesOfTables() throws {
        try withDirectory { directory in
            let tables = #"{"a":[{"x":1}],"b":[{"y":1.5},{"y":2.5}]}"#
            try Data(tables.utf8).write(to: directory.appending(path: "two.json"))
            #expect(try run(["two.json", "two.db"], in: directory).errors == "")
            #expect(try run(["two.db", "copy.db"], in: directory).errors == "")
            #expect(try run(["copy.db", "-"], in: directory).output == tables)
            // A single table keeps its name `b`, both as one of several and as the only one.
            #expect(try run(["two.db", "one.db", "--table", "b"], in: directory).errors == "")
            #expect(try run(["one.db", "again.db"], in: directory).errors == "")
            #expect(try run(["again.db", "-", "--table", "b"], in: directory).output == #"[{"y":1.5},{"y":2.5}]"#)
            #expect(try run(["one.db", "-", "--table", "rows"], in: directory).errors.contains("no such table: rows"))
        }
    }

    @Test func failedConversionsLeaveNoDatabase() throws {
        try withDirectory { directory in
            var outcome = try run(["-", "out.db"], input: #"[{"a":1},{"a":"#, in: directory)
            #expect(outcome.status == 1)
            #expect(outcome.errors == "<stdin>:1:15: error: expected a value, found the end of the input\n")
            outcome = try run(["-", "out.db"], input: "[{\"a\":1},\n{\"a\":\"x\\u0000\"}]", in: directory)
            #expect(outcome.status == 1)
            #expect(outcome.errors.hasPrefix("<stdin>:2:"))
            #expect(outcome.errors.contains("error: $[1].a: found a NUL character in text (at its byte 1)"))
            #expect(try files(in: directory) == [])
            try Data("no database".utf8).write(to: directory.appending(path: "bad.db"))
            outcome = try run(["bad.db", "out.json"], in: directory)
            #expect(outcome.status == 1)
            #expect(outcome.errors.hasPrefix("bad.db: error: expected a SQLite database"))
            #expect(try files(in: directory) == ["bad.db"])
            outcome = try run(["-", "bad.db", "--replace"], input: "[1]", in: directory)
            #expect(outcome.status == 1)
            #expect(try String(contentsOf: directory.appending(path: "bad.db"), encoding: .utf8) == "no database")
        }
    }

    @Test func reportsFilesItCannotOpen() throws {
        try withDirectory { directory in
            var outcome = try run(["none.json", "out.json"], in: directory)
            #expect(outcome.status == 1)
            #expect(outcome.errors == "none.json: error: cannot open \"none.json\": No such file or directory\n")
            outcome = try run(["-", "none/out.json"], input: "1", in: directory)
            #expect(outcome.status == 1)
            #expect(outcome.errors == "none/out.json: error: cannot create: No such file or directory\n")
            #expect(try files(in: directory) == [])
        }
    }

    @Test func reportsExceededFileSizeLimit() throws {
        try withDirectory { directory in
            let row = #"{"a":"some text that is more than the limit, if it comes a thousand times"}"#
            let text = "[" + Array(repeating: row, count: 1_000).joined(separator: ",") + "]"
            for output in ["out.json", "out.db"] {
                let outcome = try run(["-", output], input: text, in: directory, fileSizeLimit: 32)
                #expect(outcome.status == 1)
                #expect(outcome.errors.hasPrefix("\(output): error: "))
                #expect(try files(in: directory) == [])
            }
        }
    }

    @Test func writesToNamedStreams() throws {
        try withDirectory { directory in
            // Equivalent to `(echo before; convert …; echo after) > file`.
            for output in ["/dev/stdout", "/dev/fd/1", "link"] {
                let link = directory.appending(path: "link").path
                try? FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "/dev/stdout")
                let outcome = try run(["-", output, "--to", "json"], input: "[1]", in: directory, isAmongOthers: true)
                #expect(outcome.status == 0)
                #expect(outcome.output == "before\n[1]after\n")
                #expect(try files(in: directory) == ["link"])
            }
        }
    }

    @Test func requiresOptionToChangeExistingDatabase() throws {
        try withDirectory { directory in
            #expect(try run(["-", "app.db"], input: #"[{"a":1}]"#, in: directory).status == 0)
            let before = try Data(contentsOf: directory.appending(path: "app.db"))
            let outcome = try run(["-", "app.db"], input: #"[{"a":2}]"#, in: directory)
            #expect(outcome.status == 2)
            #expect(
                outcome.errors
                    == "convert: error: the database app.db exists; use --replace, or --append to add to it\n")
            #expect(try Data(contentsOf: directory.appending(path: "app.db")) == before)
            let added = try run(["-", "app.db", "--append"], input: #"[{"a":true},{}]"#, in: directory)
            #expect(added.status == 0)
            #expect(
                added.errors == """
                    <stdin>: warning: $[0].a: in the column a, which is not declared BOOLEAN, true and false become 1 and 0
                    <stdin>: warning: $: missing members get the default of the column a

                    """)
            #expect(try run(["app.db", "-"], in: directory).output == #"[{"a":1},{"a":1},{"a":null}]"#)
            #expect(try run(["-", "app.db", "--replace"], input: #"[{"a":2}]"#, in: directory).status == 0)
            #expect(try run(["app.db", "-"], in: directory).output == #"[{"a":2}]"#)
        }
    }

    @Test func writesToDevices() throws {
        try withDirectory { directory in
            let outcome = try run(["-", "/dev/null", "--to", "json"], input: "[]", in: directory)
            #expect(outcome.status == 0)
            #expect(outcome.errors == "")
        }
    }

    @Test(.enabled(if: FileManager.default.fileExists(atPath: "/dev/full"), "there is no /dev/full"))
    func reportsFullOutput() throws {
        try withDirectory { directory in
            let outcome = try run(["-", "/dev/full", "--to", "json"], input: "[]", in: directory)
            #expect(outcome.status == 1)
            #expect(outcome.errors.hasPrefix("/dev/full: error: cannot write: "))
        }
    }
}
