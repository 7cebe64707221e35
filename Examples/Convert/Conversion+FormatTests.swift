// Tests conversions between any two formats, and the selection of tables and records.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistStreaming
import SQLiteStreaming
import XMLStreaming

enum ConversionFormatTests {}

extension ConversionFormatTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testConvertsExactlyBetweenAllFormats": testConvertsExactlyBetweenAllFormats,
            "testKeepsNestedValuesIfSupported": testKeepsNestedValuesIfSupported,
            "testWarnsAboutLostValues": testWarnsAboutLostValues,
            "testKeepsUIDsAndWarnsAboutDates": testKeepsUIDsAndWarnsAboutDates,
            "testDoublesStayDoubles": testDoublesStayDoubles,
            "testNamesCommentsOfPropertyLists": testNamesCommentsOfPropertyLists,
            "testCreatesOnlyTheRequestedTable": testCreatesOnlyTheRequestedTable,
            "testChoosesColumns": testChoosesColumns,
            "testReadsRecordsWithoutAHeader": testReadsRecordsWithoutAHeader,
            "testConvertsRowsOfAQuery": testConvertsRowsOfAQuery,
            "testConvertsAnyXML": testConvertsAnyXML,
            "testConvertsXMLRecordsToTables": testConvertsXMLRecordsToTables,
            "testSelectsRecordsByPath": testSelectsRecordsByPath,
            "testKeepsColumnsOfTablesWithoutRows": testKeepsColumnsOfTablesWithoutRows,
            "testWarnsAboutLostPartsOfXML": testWarnsAboutLostPartsOfXML,
            "testReadsEscapesInXMLRepresentation": testReadsEscapesInXMLRepresentation,
            "testReportsLocationOfErrors": testReportsLocationOfErrors,
        ]
    }

    private static let endings = ["json", "jsonl", "csv", "tsv", "plist", "bplist", "openstep", "xml", "db"]

    private static func file(_ name: String, _ text: String) throws -> String {
        let path = "\(try temporaryDirectory())/\(name)"
        try Conversion.write(text, to: path)
        return path
    }

    /// Returns the output of a command for a file with another extension, and its warnings.
    private static func converted(
        _ input: String, to ending: String, _ options: String...
    ) throws -> (text: String, warnings: [String]) { try converted(input, to: ending, options) }

    private static func converted(
        _ input: String, to ending: String, _ options: [String]
    ) throws -> (text: String, warnings: [String]) {
        let output = "\(try temporaryDirectory())/out.\(ending)"
        let conversion = Conversion(try Arguments([input, output, "--replace"] + options), isDurable: false)
        try conversion.check()
        try conversion.run()
        return (ending == "db" ? "" : try Conversion.text(output), conversion.warnings.lines)
    }

    private static func message(_ input: String, to ending: String, _ options: String...) -> String? {
        let error = expectThrows(StreamError.self, "\(input) to \(ending)") {
            let output = "\(try temporaryDirectory())/out.\(ending)"
            let conversion = Conversion(try Arguments([input, output, "--replace"] + options), isDurable: false)
            try conversion.check()
            try conversion.run()
        }
        return error?.compilerDescription(file: "in")
    }

    // MARK: Values

    private static let scalars = [
        "true", "false", "0", "-7", "9007199254740993", "-9223372036854775808", "1.5", "-0.0", "1e300", "5e-324",
        "9007199254740992.0", "\"\"", "\"a\"", "\"12\"", "\"true\"", "\"null\"", "\" x \"", "\"é🙂\"", "\"a,b;\\tc\"",
        "\"q\\\"uo\\\\te\"", "\"line\\nline\\r\\n\"", "\"<&>]]>\"", "\"{(=)}\"", "\"2001-01-01T00:00:00Z\"", "\"-\"",
        "\"1e5\"",
    ]

    /// Records with the same members and without null. All formats support them.
    private static func testConvertsExactlyBetweenAllFormats() throws {
        var random = TestRandom(seed: 12)
        for first in endings {
            for second in endings {
                let names = ["id", "näme", "with space", "x,y", "", "<k>", "q\"k"].prefix(
                    Int.random(in: 1...7, using: &random))
                let rows = (0..<Int.random(in: 1...4, using: &random)).map { _ in
                    let members = names.map { name in
                        "\"\(name.replacing("\"", with: "\\\""))\":\(scalars.randomElement(using: &random) ?? "0")"
                    }
                    return "{\(members.joined(separator: ","))}"
                }
                let input = try file("in.json", "[\(rows.joined(separator: ","))]")
                let directory = try temporaryDirectory()
                let steps = [["\(directory)/a.\(first)"], ["\(directory)/b.\(second)"], ["\(directory)/out.json"]]
                let outcome = try Conversion.outcome(input, by: steps, Conversion.sorted)
                // In a table, true and false become numbers if the column has other values, and a warning is printed.
                if case .warned(let message) = outcome, message.contains("true and false become 1 and 0") { continue }
                let text = try Conversion.text(input)
                expectEqual(outcome, .exact, "\(text) by \(first) and \(second)")
            }
        }
    }

    private static func testKeepsNestedValuesIfSupported() throws {
        let documents = [
            "{}", "[]", "\"x\"", "[[],{},[[]]]", "{\"a\":{\"b\":[1,\"x\",{\"c\":true}]},\"\":1}",
            "[18446744073709551615]",
            "{\"CF$UID\":3}", "{\"key\":\"key\",\"array\":[\"string\"]}",
        ]
        for document in documents {
            for ending in endings where !["csv", "tsv", "db", "jsonl"].contains(ending) {
                let input = try file("in.json", document)
                let steps = [["\(try temporaryDirectory())/a.\(ending)"], ["\(try temporaryDirectory())/out.json"]]
                expectEqual(
                    try Conversion.outcome(input, by: steps, Conversion.sorted), .exact, "\(document) by \(ending)")
            }
        }
    }

    private static func testWarnsAboutLostValues() throws {
        let nulls = try file("in.json", #"[{"a":null,"b":1},{"a":null,"b":null}]"#)
        for ending in ["plist", "bplist", "openstep"] {
            let found = try converted(nulls, to: ending)
            expectEqual(found.warnings, ["$[0].a: null members are left out (and 2 more)"], ending)
            expectEqual(
                message(try file("null.json", "[1,\n null]"), to: ending),
                "in:2:2: error: $[1]: property lists can't contain null", ending)
        }
        let missing = try converted(try file("missing.json", #"[{"a":1,"b":2},{"b":3}]"#), to: "csv")
        expectEqual(missing.warnings, ["$[1]: missing members become null"], "a missing member")
        expectEqual(missing.text, "a,b\r\n1,2\r\n,3\r\n", "csv")
        let nameless = try file("nameless.csv", try converted(try file("in.json", #"[{"":1,"b":2}]"#), to: "csv").text)
        expectEqual(try converted(nameless, to: "json").text, #"[{"":1,"b":2}]"#, "an empty name")
        let typed = try file(
            "in.openstep",
            "{d = <*D2001-01-01 00:00:01 +0000>; b = <01ff>; n = {list = (<*D2001-01-01 00:00:01 +0000>);};}")
        for ending in ["json", "xml"] {
            let found = try converted(typed, to: ending)
            expectEqual(
                found.warnings, ["$.d: dates become text (and 1 more)", "$.b: data become text, in base64"], ending)
        }
        expectEqual(
            try converted(typed, to: "json").text,
            #"{"d":"2001-01-01T00:00:01Z","b":"Af8=","n":{"list":["2001-01-01T00:00:01Z"]}}"#, "json")
        for ending in ["plist", "bplist"] { expectEqual(try converted(typed, to: ending).warnings, [], ending) }
        let named = try converted(try file("in.json", #"{"posts":[{"a":1}]}"#), to: "csv")
        expectEqual(named.warnings, ["the name of the records is left out: posts"], "a name")
        expectEqual(named.text, "a\r\n1\r\n", "records with a name")
    }

    /// Checks values that only databases or binary property lists treat specially.
    private static func testKeepsUIDsAndWarnsAboutDates() throws {
        let typed = try file("in.openstep", "({d = <*D2001-01-01 00:00:01 +0000>;})")
        let database = try converted(typed, to: "db")
        expectEqual(database.warnings, ["$[0].d: dates become numbers, seconds since 1970"], "database")
        let archive = try file("in.json", #"[{"u":{"CF$UID":5}}]"#)
        let list = "\(try temporaryDirectory())/list.bplist"
        try Conversion.run(archive, list, "--replace")
        var bytes: [UInt8] = []
        try InputFile(path: list).readChunks { bytes += Array(copying: $0) }
        expectFalse(bytes.contains(UInt8(ascii: "$")), "no dictionary")
        expectEqual(try converted(list, to: "json").text, #"[{"u":{"CF$UID":5}}]"#, "again")
        let double = try file("in.json", #"[{"a":2.6684676428008918e+17}]"#)
        for ending in ["plist", "bplist", "db"] {
            let path = "\(try temporaryDirectory())/double.\(ending)"
            try Conversion.run(double, path, "--replace")
            expectEqual(try converted(path, to: "json").text, #"[{"a":266846764280089184.0}]"#, ending)
        }
    }

    /// A number that is spelled as a double stays a double, even without a fraction or an exact double value.
    private static func testDoublesStayDoubles() throws {
        let input = try file("in.json", "[1.0,1e3,-0.0,1e20,9007199254740993.0,12345678901234567.0]")
        for ending in ["plist", "bplist", "openstep"] {
            let path = "\(try temporaryDirectory())/list.\(ending)"
            expectEqual(
                try Conversion.run(input, path, "--replace"),
                ["$[4]: numbers with a fraction or an exponent become the nearest doubles (and 1 more)"], ending)
            expectEqual(
                try converted(path, to: "json").text,
                "[1.0,1000.0,-0.0,1e20,9007199254740992.0,12345678901234568.0]", ending)
        }
        let row = try file("row.json", #"[{"a":1.0,"b":9007199254740993.0}]"#)
        expectEqual(
            try converted(row, to: "db").warnings,
            ["$[0].b: numbers with a fraction or an exponent that a double can't represent become integers"],
            "a database")
    }

    /// A warning lists the comments of a property list once, at the place of the first comment.
    private static func testNamesCommentsOfPropertyLists() throws {
        let rows = [
            (
                "in.openstep", "{\n /* c */ a = b; // d\n}",
                "in:2:2: warning: comments of a property list are left out (and 1 more)"
            ),
            ("in.plist", "{a = b;} // c", "in:1:10: warning: comments of a property list are left out"),
            ("in.plist", "{a = \"/*\"; b = /c;}", nil),
            (
                "in.plist", "<plist>\n<!--c--><true/></plist><!--d-->",
                "in:2:1: warning: comments of a property list are left out (and 1 more)"
            ),
            ("in.plist", "<?xml version='1.0'?>\n<!DOCTYPE plist>\n<plist><true/></plist>", nil),
        ]
        for (name, text, warning) in rows {
            for ending in ["json", "openstep"] {
                expectEqual(
                    try converted(try file(name, text), to: ending).warnings, warning.map { [$0] } ?? [], text)
            }
        }
    }

    // MARK: Columns and rows

    /// With `--table`, only the requested table is created.
    private static func testCreatesOnlyTheRequestedTable() throws {
        let directory = try temporaryDirectory()
        for (name, text) in [
            ("a.json", #"[{"a":1}]"#), ("b.json", #"{"x":[{"a":1}]}"#), ("c.jsonl", #"{"a":1}"#), ("d.csv", "a\n1\n"),
            ("e.xml", "<r><x><a>1</a></x></r>"),
        ] {
            let database = "\(directory)/out.db"
            try Conversion.run(try file(name, text), database, "--replace", "--table", "t")
            expectEqual(try Conversion.connection(database).tableNames(), ["t"], name)
        }
        for (name, text, path) in [
            ("in.json", #"{"x":[{"a":1}],"y":[{"a":2}]}"#, "$.y"), ("in.json", #"{"x":[],"y":[]}"#, "$.y"),
            ("in.xml", "<r><x><a>1</a></x><y><a>1</a></y></r>", "$.y"),
        ] {
            let found = message(try file(name, text), to: "db", "--table", "t") ?? ""
            expectTrue(
                found.contains(
                    "error: \(path): expected one array of rows, which --table names t, found another member"),
                "\(found) for \(text)")
        }
    }

    private static func testChoosesColumns() throws {
        let csv = try file("in.csv", "a,b,c\n1,x,true\n2,\"y,z\",\n")
        expectEqual(
            try converted(csv, to: "json", "--columns", "c,a").text, #"[{"c":true,"a":1},{"c":null,"a":2}]"#, "of csv")
        expectEqual(
            try converted(csv, to: "tsv", "--columns=b").text, "b\r\nx\r\n\"y,z\"\r\n".replacing("\"", with: ""), "tsv")
        let database = "\(try temporaryDirectory())/in.db"
        try Conversion.run(csv, database, "--replace", "--table", "t")
        expectEqual(
            try converted(database, to: "csv", "--columns", "b,a").text, "b,a\r\nx,1\r\n\"y,z\",2\r\n", "of a table")
        let json = try file("in.json", #"[{"a":1},{"b":2,"a":3}]"#)
        expectEqual(
            try converted(json, to: "csv", "--columns", "b,a").text, "b,a\r\n,1\r\n2,3\r\n", "of csv that is written")
        expectEqual(
            message(json, to: "csv"),
            "in:1:11: error: $[1].b: earlier records don't have this column; name all columns with --columns",
            "another")
        expectEqual(
            message(csv, to: "json", "--columns", "aa"),
            "in:1:1: error: there is no column \"aa\", did you mean \"a\"?",
            "an unknown column")
        expectTrue(
            message(database, to: "json", "--columns", "bb")?.contains("no column 'bb' in t; did you mean 'b'?")
                ?? false,
            "an unknown column of a table")
    }

    private static func testReadsRecordsWithoutAHeader() throws {
        let csv = try file("in.csv", "1;x\n2;\"a;b\"\n")
        let options = ["--no-header", "--delimiter", ";"]
        expectEqual(
            try converted(csv, to: "json", options[0], options[1], options[2]).text, #"[[1,"x"],[2,"a;b"]]"#, "json")
        let arrays = try file("in.json", #"[[1,"x"],[2,"a,b"]]"#)
        let written = try converted(arrays, to: "csv")
        expectEqual(written.text, "1,x\r\n2,\"a,b\"\r\n", "csv")
        expectEqual(written.warnings.count, 1, "\(written.warnings)")
        expectEqual(
            try converted(try file("again.csv", written.text), to: "json", "--no-header").text, #"[[1,"x"],[2,"a,b"]]"#,
            "read again")
        let records = try file("in.json", #"[{"a":1}]"#)
        expectEqual(try converted(records, to: "csv", "--no-header").text, "1\r\n", "written without a header")
        expectEqual(try converted(arrays, to: "csv", "--no-header").warnings, [], "asked for")
    }

    private static func testConvertsRowsOfAQuery() throws {
        let json = try file("in.json", #"[{"a":1,"b":"x"},{"a":2,"b":"x"},{"a":3,"b":"y"}]"#)
        let database = "\(try temporaryDirectory())/in.db"
        try Conversion.run(json, database, "--replace")
        let sql = "SELECT b, sum(a) AS n FROM rows GROUP BY b ORDER BY b"
        expectEqual(try converted(database, to: "csv", "--query", sql).text, "b,n\r\nx,3\r\ny,3\r\n", "csv")
        let copy = try converted(database, to: "db", "--query", sql, "--table", "sums")
        expectEqual(copy.warnings, [], "warnings")
        let again = "\(try temporaryDirectory())/out.db"
        expectEqual(
            try converted(again, to: "json", "--table", "sums").text, #"[{"b":"x","n":3},{"b":"y","n":3}]"#, "a table")
        for sql in ["selct", "DELETE FROM rows", "SELECT 1; SELECT 2"] {
            expectNotNil(message(database, to: "json", "--query", sql), sql)
        }
        expectEqual(try converted(database, to: "csv").text.count(where: { $0 == "\r\n" }), 4, "the rows are all there")
    }

    // MARK: XML

    private static func testConvertsAnyXML() throws {
        let people = try file(
            "in.xml", "<people><p id='1'><name>Ada</name></p><p id='2'><name>Bob &amp; C</name></p></people>")
        expectEqual(
            try converted(people, to: "json").text,
            #"{"people":{"p":[{"@id":"1","name":"Ada"},{"@id":"2","name":"Bob & C"}]}}"#, "json")
        expectEqual(try converted(people, to: "csv").text, "@id,name\r\n\"1\",Ada\r\n\"2\",Bob & C\r\n", "csv")
        let mixed = try converted(try file("in.xml", "<a>x<b/>y<c/>z<b>2</b></a>"), to: "json")
        expectEqual(mixed.text, ##"{"a":{"b":["","2"],"c":"","#text":"xyz"}}"##, "mixed content")
        expectTrue(mixed.warnings.first?.contains("of mixed text (4)") ?? false, "\(mixed.warnings)")
        let instance = "xmlns:i='http://www.w3.org/2001/XMLSchema-instance'"
        for (text, expected) in [
            ("<a \(instance) i:nil=' true '/>", #"{"a":null}"#),
            ("<a \(instance)><b i:nil='1'/><b/></a>", #"{"a":{"b":[null,""]}}"#),
            ("<a b='1'> </a>", ##"{"a":{"@b":"1","#text":" "}}"##),
        ] {
            expectEqual(try converted(try file("in.xml", text), to: "json").text, expected, text)
        }
        for text in [
            "<a \(instance) i:nil='1'>x</a>", "<a \(instance)><b c='2' i:nil='1'/></a>",
            "<!DOCTYPE a SYSTEM 'x'><a>&e;</a>", "<!DOCTYPE a SYSTEM 'x'><a b='1&e;2'/>",
            "<!DOCTYPE map SYSTEM 'x'><map xmlns='\(XMLRepresentation.namespace)'><null key='a&e;'/></map>",
        ] {
            let found = message(try file("in.xml", text), to: "json") ?? ""
            expectTrue(found.hasPrefix("in:1:"), "\(text): \(found)")
        }
    }

    /// A single record becomes a table like several records. A root without records becomes an empty table.
    private static func testConvertsXMLRecordsToTables() throws {
        let records = ["<p id='1'><n>Ada</n></p>", "<p id='2'><n>Bob</n><n/></p>", "<p id='3'><n>x</n></p>"]
        let lines = [#"{"@id":"1","n":"Ada"}"#, #"{"@id":"2","n":["Bob",""]}"#, #"{"@id":"3","n":"x"}"#]
        for count in 0...3 {
            let input = try file("in.xml", "<people>\n\(records[..<count].joined(separator: "\n"))\n</people>")
            let found = try converted(input, to: "jsonl")
            expectEqual(found.text, lines[..<count].map { $0 + "\n" }.joined(), "lines")
            expectEqual(
                found.warnings,
                (count == 0 ? [] : ["the name of the records is left out: p"])
                    + [
                        "in:1:1: warning: jsonl can't represent these parts, which are left out: the name of the root element"
                    ],
                "\(count) records")
            guard count == 0 || count == 1 else { continue }
            expectEqual(try converted(input, to: "csv").text, ["", "@id,n\r\n\"1\",Ada\r\n"][count], "csv")
            guard count == 1 else { continue }
            expectEqual(try converted(input, to: "tsv").text, "@id\tn\r\n\"1\"\tAda\r\n", "tsv")
            let database = "\(try temporaryDirectory())/people.db"
            try Conversion.run(input, database)
            expectEqual(try converted(database, to: "json", "--table", "p").text, "[\(lines[0])]", "a database")
        }
        let tables = try file("in.xml", "<db><p a='1'/><q a='2'/></db>")
        let database = "\(try temporaryDirectory())/two.db"
        try Conversion.run(tables, database)
        expectEqual(try converted(database, to: "json").text, #"{"p":[{"@a":"1"}],"q":[{"@a":"2"}]}"#, "two tables")
        for ending in ["csv", "jsonl"] {
            for (text, fragment) in [
                ("<db><p a='1'/><q a='2'/></db>", "another member"), ("<db>x</db>", "an array of records"),
            ] {
                let found = message(try file("in.xml", text), to: ending) ?? ""
                expectTrue(found.hasPrefix("in:1:") && found.contains(fragment), "\(text) to \(ending): \(found)")
            }
        }
        let versioned = try file("in.xml", "<db v='1' w='2'><p a='1'/><p a='2'/></db>")
        let found = try converted(versioned, to: "csv")
        expectEqual(found.text, "@a\r\n\"1\"\r\n\"2\"\r\n", "records beside attributes of the root")
        expectTrue(
            found.warnings.contains(#"$["@v"]: attributes of the root are left out (and 1 more)"#),
            "\(found.warnings)")
    }

    /// Selects records inside a document by their path.
    private static func testSelectsRecordsByPath() throws {
        let feed =
            "<rss version='2.0'><channel><title>t</title><item><a>1</a></item><item><a>2</a></item></channel></rss>"
        let rows: [(String, String, String, [String], String)] = [
            ("in.xml", feed, "csv", ["--records", "channel/item"], "a\r\n\"1\"\r\n\"2\"\r\n"),
            ("in.xml", feed, "json", ["--records", "channel/item"], #"[{"a":"1"},{"a":"2"}]"#),
            ("in.json", #"{"version":1,"list":[{"a":1},{"a":2}]}"#, "csv", ["--records", "list"], "a\r\n1\r\n2\r\n"),
            (
                "in.json", #"{"version":1,"list":[{"a":1},{"a":2}]}"#, "jsonl", ["--records", "list"],
                "{\"a\":1}\n{\"a\":2}\n"
            ),
            ("in.jsonl", "{\"r\":{\"a\":1}}\n{\"r\":[{\"a\":2}]}\n", "json", ["--records=r"], #"[{"a":1},{"a":2}]"#),
        ]
        for (name, text, ending, options, expected) in rows {
            expectEqual(try converted(try file(name, text), to: ending, options).text, expected, "\(text) to \(ending)")
        }
        let database = "\(try temporaryDirectory())/feed.db"
        try Conversion.run(try file("in.xml", feed), database, "--records", "channel/item", "--table", "items")
        expectEqual(try converted(database, to: "json").text, #"[{"a":"1"},{"a":"2"}]"#, "a table")
        let error = expectThrows(StreamError.self, "no records") {
            _ = try converted(try file("in.json", "{}"), to: "csv", ["--records", "list"])
        }
        expectEqual(error?.message, "expected records at \"list\", found none", "message")
    }

    /// Tables without rows keep their columns.
    private static func testKeepsColumnsOfTablesWithoutRows() throws {
        let input = try file("in.csv", "a,\"b c\"\n")
        expectEqual(try converted(input, to: "tsv").text, "a\tb c\r\n", "a header")
        expectEqual(try converted(input, to: "json").text, "[]", "no records")
        let database = "\(try temporaryDirectory())/empty.db"
        try Conversion.run(input, database)
        expectEqual(try converted(database, to: "csv").text, "a,b c\r\n", "a table without rows")
        try Conversion.run(input, database, "--append")
        let query = try converted(database, to: "csv", ["--query", "SELECT a AS x FROM rows WHERE 0"])
        expectEqual(query.text, "x\r\n", "a query without rows")
        let semicolons = try file("in.csv", "a;b\n1;2,5\n")
        expectEqual(
            try converted(semicolons, to: "csv", ["--delimiter", ";", "--to-delimiter", "\\t"]).text,
            "a\tb\r\n1\t2,5\r\n",
            "another delimiter for OUT")
    }

    /// A warning lists the parts of a document that values don't contain. It appears once, at the place of the first
    /// part.
    private static func testWarnsAboutLostPartsOfXML() throws {
        let namespace = "xmlns='http://www.w3.org/2005/xpath-functions'"
        let rows = [
            ("<a>\n<b>x</b></a>", nil), ("<?xml version='1.0'?>\n<a><![CDATA[x]]></a>", nil),
            ("\u{FEFF}<a>\n<b>é<!--c--></b><!----></a>", "in:2:6: warning: \(lost): comments (2)"),
            (
                "<a><b xmlns='u' xmlns:p='v'><p:c/></b></a>\n<?p i?>",
                "in:1:4: warning: \(lost): namespace declarations (2), processing instructions (1)"
            ),
            ("<!--c-->\n<!DOCTYPE a>\n<a/>", "in:1:1: warning: \(lost): the document type, comments (1)"),
            (
                "<!DOCTYPE a [<!ENTITY e '<!--c-->x'>]>\n<a>&e;</a>",
                "in:1:1: warning: \(lost): the document type, comments (1)"
            ), ("<array \(namespace)>\n<!--c--></array>", "in:2:1: warning: \(lost): comments (1)"),
            ("<a><r><b/><b/><c/>\n</r></a>", nil), ("<a><r><c/>x</r></a>", nil), ("<a><b/>x</a>", nil),
            ("<a><r><b/><c/><b/>\n</r></a>", "in:2:1: warning: \(lost): \(place) (1)"),
            ("<a><r>x\n<b/></r></a>", "in:2:1: warning: \(lost): \(place) (1)"),
            ("<a>x<b/></a>", "in:1:5: warning: \(lost): \(place) (1)"),
            (
                "<a><r><b/><c/><b/><c/></r><r><b/><c/><b/></r></a>", "in:1:23: warning: \(lost): \(place) (3)"
            ),
        ]
        for (text, warning) in rows {
            expectEqual(try converted(try file("in.xml", text), to: "json").warnings, warning.map { [$0] } ?? [], text)
        }
    }

    private static let lost = "json can't represent these parts, which are left out"
    private static let place = "the order of repeated children and of mixed text"

    private static func testReadsEscapesInXMLRepresentation() throws {
        let document = #"{"\u0000\\n":"a\u0001\\u0041\uFFFE\"","\\":"\\n"}"#
        let input = try file("in.json", document)
        let steps = [["\(try temporaryDirectory())/a.xml"], ["\(try temporaryDirectory())/out.json"]]
        expectEqual(try Conversion.outcome(input, by: steps, Conversion.sorted), .exact, document)
        let namespace = "xmlns='http://www.w3.org/2005/xpath-functions'"
        let rows = [
            ("<map \(namespace)><string/></map>", "expected a key for a member of a map"),
            ("<array \(namespace)><string key='a'/></array>", "expected no key outside a map"),
            ("<array \(namespace)>x</array>", "expected an element, found text"),
            ("<array \(namespace)><number>0x1</number></array>", "expected a JSON number, found '0x1'"),
            ("<boolean \(namespace)>yes</boolean>", "expected true or false, found 'yes'"),
            ("<array \(namespace)><list/></array>", "expected an element of a JSON representation, found <list>"),
            ("<string \(namespace)><null/></string>", "expected text in an element <string>, found an element <null>"),
            ("<string \(namespace) escaped='true'>\\x</string>", "expected text with JSON escapes"),
            ("<null \(namespace) escaped='true'/>", "expected no attribute escaped of an element <null>"),
        ]
        for (text, fragment) in rows {
            let found = message(try file("in.xml", text), to: "json") ?? ""
            expectTrue(found.contains(fragment), "\(found), expected: \(fragment)")
            expectTrue(found.hasPrefix("in:1:"), "the place of \(found)")
        }
    }

    private static func testReportsLocationOfErrors() throws {
        let rows: [(String, String, String)] = [
            ("in.csv", "a,b\n1,\"x", "in:2:3: error:"), ("in.csv", "a,b\n1,2,3\n", "in:2:"),
            ("in.tsv", "a\tb\nx\"y\t1\n", "in:2:"), ("in.openstep", "{a = b;\n c d;}", "in:2:"),
            ("in.plist", "<plist><dict>\n<string>x</string></dict></plist>", "in:2:"),
            ("in.xml", "<a>\n<b></a>", "in:2:"),
            ("in.bplist", "bplist00", "in: error:"),
        ]
        for (name, text, place) in rows {
            let found = message(try file(name, text), to: "json") ?? ""
            expectTrue(found.hasPrefix(place), "\(name): \(found)")
        }
    }
}
#endif
