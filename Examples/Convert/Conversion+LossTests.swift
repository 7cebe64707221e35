// Tests losses that a warning describes, and input that violates the standards.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistStreaming
import SQLiteStreaming

enum ConversionLossTests {
    static let repeatedKeys = "the dictionary contains this key twice, and both are written"
}

extension ConversionLossTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testWarnsAboutRepeatedKeys": testWarnsAboutRepeatedKeys,
            "testKeepsDigitsOrWarns": testKeepsDigitsOrWarns,
            "testColumnsOfMixedFieldsBecomeText": testColumnsOfMixedFieldsBecomeText,
            "testAppendsFieldsByDeclaredTypes": testAppendsFieldsByDeclaredTypes,
            "testReadsUnusualDelimitedText": testReadsUnusualDelimitedText,
            "testReportsExpectedInput": testReportsExpectedInput,
            "testWarnsThatXMLBecomesOtherXML": testWarnsThatXMLBecomesOtherXML,
        ]
    }

    private static func file(_ name: String, _ text: String) throws -> String {
        let path = "\(try temporaryDirectory())/\(name)"
        try Conversion.write(text, to: path)
        return path
    }

    /// Returns the converted text and the warnings, or an empty text and the error.
    private static func converted(
        _ name: String, _ text: String, to ending: String, _ options: [String] = []
    ) throws -> (text: String, notes: [String]) {
        let output = "\(try temporaryDirectory())/out.\(ending)"
        let arguments = [try file(name, text), output, "--replace"] + options
        let conversion = Conversion(try Arguments(arguments), isDurable: false)
        try conversion.check()
        do throws(StreamError) {
            try conversion.run()
        } catch {
            return ("", [error.compilerDescription(file: "in")])
        }
        return (ending == "db" ? output : try Conversion.text(output), conversion.warnings.lines)
    }

    private static func testWarnsAboutRepeatedKeys() throws {
        let text = "[{\"a\":1,\"b\":{\"c\":1}},{\"a\":1,\"b\":{\"c\":2,\"c\":3},\"a\":2}]"
        for ending in ["json", "plist", "openstep", "xml"] {
            let found = try converted("in.json", text, to: ending)
            expectEqual(found.notes, ["$[1].b.c: \(repeatedKeys) (and 1 more)"], ending)
            if ending == "json" { expectEqual(found.text, text, ending) }
        }
        let strings = try converted("in.strings", "\"a\" = \"1\";\n\"a\" = \"2\";", to: "json")
        expectEqual(strings.notes, ["$.a: \(repeatedKeys)"], "strings")
        let lines = try converted("in.jsonl", "{\"a\":1}\n{\"a\":1,\"a\":2}\n", to: "jsonl")
        expectEqual(lines.notes, ["$[1].a: \(repeatedKeys)"], "lines")
        expectEqual(lines.text, "{\"a\":1}\n{\"a\":1,\"a\":2}\n", "lines")
    }

    private static func testKeepsDigitsOrWarns() throws {
        let numbers = [
            "0.1234567890123456789", "12345678901234567890123456789012345678901234.5", "0.10000000000000001",
        ]
        let warning = "numbers with a fraction or an exponent become the nearest doubles"
        for number in numbers {
            let text = "[{\"a\":0.5},{\"a\":\(number)}]"
            for ending in ["json", "jsonl", "csv", "xml"] {
                let found = try converted("in.json", text, to: ending)
                expectEqual(found.notes, [], "\(number) to \(ending)")
                expectTrue(found.text.contains(number), "\(number) in \(found.text)")
                guard ending == "xml" else { continue }
                expectEqual(try converted("in.xml", found.text, to: "json").text, text, "\(number) by xml")
            }
            for ending in ["plist", "bplist", "openstep", "db"] {
                expectEqual(
                    try converted("in.json", text, to: ending).notes, ["$[1].a: \(warning)"], "\(number) to \(ending)")
            }
            for type in ["number", "real"] {
                let (fields, options) = ("a\n0.5\n\(number)\n\(number)\n", ["--types", "a=\(type)"])
                let found = try converted("in.csv", fields, to: "json", options)
                expectEqual(found.text, "[{\"a\":0.5},{\"a\":\(number)},{\"a\":\(number)}]", "\(number) as \(type)")
                expectEqual(found.notes, [], "\(number) as \(type)")
                for ending in ["plist", "db"] {
                    let notes = try converted("in.csv", fields, to: ending, options).notes
                    expectEqual(notes, ["$[1].a: \(warning) (and 1 more)"], "\(number) as \(type) to \(ending)")
                }
            }
        }
    }

    /// Text is the only type that keeps every field, unless all fields are numbers or all are Booleans.
    private static func testColumnsOfMixedFieldsBecomeText() throws {
        let rows = [
            ("00601\n10001\n2.5\n1e+20\n\ntrue", "TEXT '00601','10001','2.5','1e+20',NULL,'true'"),
            ("10001\n0.1\n00601\n7", "TEXT '10001','0.1','00601','7'"), ("1\n2.5\n-0.5", " 1,2.5,-0.5"),
            ("true\n\nfalse", "BOOLEAN 1,NULL,0"), ("true\nfalse\n1", "TEXT 'true','false','1'"),
            ("1\n0\ntrue", "TEXT '1','0','true'"), ("12345678901234567890\n5", "TEXT '12345678901234567890','5'"),
            ("1\n2", "INTEGER 1,2"), ("x\ny", "TEXT 'x','y'"),
        ]
        for (fields, expected) in rows {
            for name in ["a", "rowid"] {
                let lines = fields.split(separator: "\n", omittingEmptySubsequences: false).map { "\($0),z\n" }
                let found = try converted("in.csv", "\(name),z\n\(lines.joined())", to: "db")
                expectEqual(found.notes, [], fields)
                let connection = try SQLiteConnection(path: found.text)
                let type = try connection.columns(ofTable: "rows").first?.declaredType ?? ""
                let cells = try connection.value("SELECT group_concat(quote(\(name))) FROM rows")?.text ?? ""
                expectEqual("\(type) \(cells)", expected, fields)
            }
        }
        let all = try converted("in.csv", "rowid,oid,_ROWID_\n1,1,1\nx,x,x\n", to: "db")
        expectEqual(
            try SQLiteConnection(path: all.text).columns(ofTable: "rows").map(\.declaredType),
            ["TEXT", "TEXT", "TEXT"], "all names of ids")
    }

    private static func testAppendsFieldsByDeclaredTypes() throws {
        let spelling = { (column: String, row: Int) in
            "$[\(row)].\(column): in the column \(column), which is declared as numbers, fields such as 007 and 1.10 "
                + "become their numbers"
        }
        let rows: [(String, String, String, [String])] = [
            ("z TEXT, p TEXT", "00601,1.10\n10001,2\n2.5,true\n", "'00601','10001','2.5' '1.10','2','true'", []),
            ("z INTEGER, p REAL", "7,2\n007,1.10\n", "7,7 2.0,1.1", [spelling("z", 1), spelling("p", 1)]),
            ("z, p", "00601,1.10\n7,2\n", "'00601',7 '1.10',2", []),
            ("z INTEGER, p", "x,1\n\"12\",2\n", "'x',12 1,2", []),
            (
                "z INTEGER, p", "12345678901234567890,1\n", "",
                [
                    "in:2:1: error: $[0].z: expected a value that the column z of the type INTEGER stores unchanged, "
                        + "found a text that would become a number"
                ]
            ),
        ]
        let directory = try temporaryDirectory()
        for (index, (columns, fields, expected, notes)) in rows.enumerated() {
            let (input, database) = ("\(directory)/in.csv", "\(directory)/\(index).db")
            try Conversion.connection(database, "CREATE TABLE rows (\(columns))").close()
            try Conversion.write("z,p\n\(fields)", to: input)
            do {
                expectEqual(try Conversion.run(input, database, "--append"), notes, fields)
            } catch let error as StreamError {
                expectEqual([error.compilerDescription(file: "in")], notes, fields)
                continue
            }
            let cells = "SELECT group_concat(quote(z)) || ' ' || group_concat(quote(p)) FROM rows"
            expectEqual(try SQLiteConnection(path: database).value(cells)?.text, expected, fields)
        }
    }

    private static func testReadsUnusualDelimitedText() throws {
        let rows: [(String, [String], String)] = [
            ("a,b\n1\n", ["--short-records", "omit"], #"[{"a":1}]"#),
            ("a\n1,2\n", ["--long-records", "ignore"], #"[{"a":1}]"#),
            ("a\n1,2\n", ["--long-records=keep"], #"[{"a":1,"more":["2"]}]"#),
            ("a\n5\" x\n", ["--stray-quotes", "keep"], #"[{"a":"5\" x"}]"#),
            ("#c\na\n1\n#c\n", ["--comment", "#"], #"[{"a":1}]"#),
            ("a,a\n1,2\n", ["--duplicate-names", "keep"], #"[{"a":1,"a":2}]"#),
        ]
        for (text, options, expected) in rows {
            let found = try converted("in.csv", text, to: "json", options)
            expectEqual(found.text, expected, text)
            expectEqual(found.notes, options[0] == "--duplicate-names" ? ["$[0].a: \(repeatedKeys)"] : [], text)
        }
    }

    private static func testReportsExpectedInput() throws {
        let list = try converted("in.plist", "<plist><date>2020-01-01</date></plist>", to: "json")
        let message = "expected a date such as 2001-01-31T12:00:00Z in <date>, found \"2020-01-01\""
        expectTrue(list.notes[0].contains(message), list.notes[0])
        let bytes: [[UInt8]] = [[0xFF, 0xFE, 0x61, 0, 0x0A, 0], [0xFE, 0xFF, 0, 0x61, 0, 0x0A]]
        for bytes in bytes {
            let path = "\(try temporaryDirectory())/in.csv"
            var sink = FileSink(path: path)
            try sink.withOutput { (output) throws(StreamError) in
                for byte in bytes { try output.append(byte) }
            }
            let error = expectThrows(StreamError.self, "UTF-16") { try Conversion.run(path, path + ".json") }
            expectEqual(error?.message, "expected UTF-8, found UTF-16", "message")
        }
    }

    private static func testWarnsThatXMLBecomesOtherXML() throws {
        let found = try converted("in.xml", "<a><b/></a>", to: "xml", ["--pretty"])
        expectEqual(found.notes, ["elements are written as json-to-xml writes their values"], "a document")
        let again = try converted("in.xml", found.text, to: "xml", ["--pretty"])
        expectEqual(again.notes, [], "a representation")
        expectEqual(again.text, found.text, "the same representation")
    }
}
#endif
