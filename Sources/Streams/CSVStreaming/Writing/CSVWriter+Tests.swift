// Tests of the writer: the text for messages, refused messages, and reading the text back.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistBuilding
import PlistStreaming

enum CSVWriterTests {
    private static let lines = CSVWriterOptions(lineEnd: .lf)

    private static func text(_ messages: String, _ options: CSVWriterOptions = lines) throws -> String {
        var writer = CSVWriter(options: options)
        try EventScript.send(messages, to: &writer)
        try writer.finish()
        return writer.text
    }

    private static func error(_ messages: String, _ options: CSVWriterOptions = lines) -> String {
        do {
            return "no error: \(try text(messages, options))"
        } catch {
            return "\((error as? StreamError)?.kind.rawValue ?? "") \(error)"
        }
    }
}

extension CSVWriterTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testWritesRecords": testWritesRecords,
            "testQuotesFieldsOnlyIfNeeded": testQuotesFieldsOnlyIfNeeded,
            "testRefusesNumbersThatNeedQuotes": testRefusesNumbersThatNeedQuotes,
            "testPutsMembersIntoTheirColumns": testPutsMembersIntoTheirColumns,
            "testRefusesInvalidRecords": testRefusesInvalidRecords,
            "testReadsItsOwnOutput": testReadsItsOwnOutput,
            "testWritesValuesOfBoundTypes": testWritesValuesOfBoundTypes,
            "testIsReusableAfterReset": testIsReusableAfterReset,
        ]
    }

    private static func testWritesRecords() throws {
        expectEqual(
            try text(#"[ { key "a" integer 1 key "b" string "x" } { key "a" integer -2 key "b" null } ]"#),
            "a,b\n1,x\n-2,\n", "dictionaries")
        expectEqual(try text(#"{ key "a" true } { key "a" false }"#), "a\ntrue\nfalse\n", "no array around them")
        expectEqual(
            try text(#"[ [ real 0.5 unsigned 18446744073709551615 ] [ number 1e400 real 1e300 ] ]"#),
            "0.5,18446744073709551615\n1e400,1e+300\n", "arrays")
        expectEqual(
            try text(#"[ [ date 0.5 data 00ff ] ]"#, CSVWriterOptions()), "2001-01-01T00:00:00.500Z,AP8=\r\n",
            "dates and data")
        expectEqual(try text("[ ]"), "", "no records")
        expectEqual(try text("[ ]", CSVWriterOptions(columns: ["a", "b"])), "a,b\r\n", "no records, but columns")
        expectEqual(
            try text(#"[ [ integer 1 integer 2 ] ]"#, CSVWriterOptions(columns: ["a", "b"], lineEnd: .lf)),
            "a,b\n1,2\n",
            "arrays with columns")
    }

    private static func testQuotesFieldsOnlyIfNeeded() throws {
        let rows = [
            ("x", "x"), ("", "\"\""), ("a,b", "\"a,b\""), ("1", "\"1\""), ("-0.5", "\"-0.5\""), ("-0.5e3", "-0.5e3"),
            ("true", "\"true\""),
            ("truer", "truer"), ("007", "007"), ("a\rb", "\"a\rb\""), ("\u{FEFF}", "\"\u{FEFF}\""), (" a ", " a "),
        ]
        for (string, expected) in rows {
            var writer = CSVWriter(options: lines)
            try writer.write([[string]])
            try writer.finish()
            expectEqual(writer.text, expected + "\n", string.debugDescription)
        }
        var writer = CSVWriter(options: CSVWriterOptions(lineEnd: .lf, quoting: .all))
        try writer.write([["a\"b", "\"\""]])
        expectEqual(writer.text, "\"a\"\"b\",\"\"\"\"\"\"\n", "quotes")
        let dialect = CSVDialect(delimiter: 0x3B, quote: nil, comment: 0x23)
        expectEqual(
            try text(#"[ [ string "a,b" string "" ] ]"#, CSVWriterOptions(dialect: dialect)), "a,b;\r\n", "no quotes")
        expectEqual(
            error(#"[ [ string "a" string "b;c" ] ]"#, CSVWriterOptions(dialect: dialect)),
            "unrepresentable $[0][1]: the text needs quotes, but the dialect has none", "what needs quotes")
        expectEqual(
            error(#"[ { key "" integer 1 } ]"#, CSVWriterOptions(dialect: dialect)),
            "unrepresentable a single empty name needs quotes, but the dialect has none", "a name")
        expectEqual(
            try text(
                ##"[ [ string "#a" string "#b" ] ]"##,
                CSVWriterOptions(dialect: CSVDialect(comment: 0x23), lineEnd: .lf)),
            "\"#a\",#b\n", "what would be a comment")
    }

    /// Numbers that would be read back as strings, because only unquoted fields are numbers and Booleans.
    private static func testRefusesNumbersThatNeedQuotes() throws {
        let message = "the value needs quotes, which make it a string"
        let minus = CSVWriterOptions(dialect: CSVDialect(delimiter: 0x2D), lineEnd: .lf)
        expectEqual(error(#"[ { key "a" integer -5 key "b" null } ]"#, minus), "unrepresentable $[0].a: \(message)", "")
        expectEqual(error("[ [ integer 5 real 1e-7 ] ]", minus), "unrepresentable $[0][1]: \(message)", "a real")
        expectEqual(error("[ [ number -1 ] ]", minus), "unrepresentable $[0][0]: \(message)", "a number")
        let letter = CSVWriterOptions(dialect: CSVDialect(quote: 0x65), lineEnd: .lf)
        expectEqual(error("[ [ true ] ]", letter), "unrepresentable $[0][0]: \(message)", "a Boolean")
        let comment = CSVWriterOptions(dialect: CSVDialect(comment: 0x2D), lineEnd: .lf)
        expectEqual(error("[ [ integer -5 ] ]", comment), "unrepresentable $[0][0]: \(message)", "a comment")
        expectEqual(try text("[ [ integer 5 integer -5 ] ]", comment), "5,-5\n", "no comment")
        expectEqual(
            try text(#"[ [ integer 5 string "-5" date 0.0 ] ]"#, minus), "5-\"-5\"-\"2001-01-01T00:00:00Z\"\n",
            "what may be in quotes")
        let all = CSVWriterOptions(dialect: CSVDialect(delimiter: 0x2D), lineEnd: .lf, quoting: .all)
        expectEqual(try text("[ [ integer -5 true ] ]", all), "\"-5\"-\"true\"\n", "all in quotes")
    }

    private static func testPutsMembersIntoTheirColumns() throws {
        expectEqual(
            try text(
                #"[ { key "a" integer 1 key "b" integer 2 } { key "b" integer 3 } { key "b" integer 5 key "a" integer 4 } ]"#
            ),
            "a,b\n1,2\n,3\n4,5\n", "other orders")
        let chosen = CSVWriterOptions(columns: ["b", "a"], lineEnd: .lf, unknownMembers: .ignore)
        expectEqual(
            try text(
                #"[ { key "x" string "y" key "a" integer 1 } { key "a" integer 2 key "z" null key "b" integer 3 } ]"#,
                chosen),
            "b,a\n,1\n3,2\n", "chosen columns")
        expectEqual(
            try text(
                #"[ { key "a" integer 1 } ]"#, CSVWriterOptions(dialect: .tabs.withoutHeader, columns: ["b", "a"])),
            "\t1\r\n", "no header")
    }

    private static func testRefusesInvalidRecords() {
        let rows = [
            (#"[ { key "a" [ ] } ]"#, "unrepresentable $[0].a: expected a single value, found an array"),
            (
                #"[ { key "a" null } { key "a" { } } ]"#,
                "unrepresentable $[1].a: expected a single value, found a dictionary"
            ),
            (
                #"[ { key "a" null } { key "b" null } ]"#,
                "unknownMember $[1].b: the records before have no such column; list all columns in CSVWriterOptions.columns"
            ),
            (#"[ { key "a" null key "b" null key "a" null } ]"#, "duplicateKey $[0].a: the member is repeated"),
            (
                #"[ { key "a" null key "b" null } { key "b" null key "b" null } ]"#,
                "duplicateKey $[1].b: the member is repeated"
            ),
            (
                #"[ { key "a" null } [ null ] ]"#,
                "typeMismatch $[1]: expected a dictionary like the records before, found an array"
            ),
            (
                #"[ [ null null ] [ null ] ]"#,
                "unrepresentable $[1]: expected 2 fields like the records before, found 1"
            ),
            (#"[ [ null ] ]"#, "unrepresentable $[0]: expected a value, found only null, which would be an empty line"),
            (#"[ { } ]"#, "unrepresentable $[0]: expected a record with fields, found none"),
            (#"[ integer 1 ]"#, "unrepresentable $[0]: expected a record, found a single value"),
            (#"[ { key "a" real inf } ]"#, "unrepresentable $[0].a: expected a finite number, got inf"),
            (#"[ { ] ]"#, "misuse got endArray without an open array"),
            (#"[ key "a" ]"#, "misuse got writeKey outside a dictionary"),
            (#"[ { integer 1 } ]"#, "misuse expected writeKey or endDictionary, got a value"),
            (#"[ "#, "misuse finished within an open container"),
            (#"[ ] [ ]"#, "misuse got an array after the end"),
        ]
        for (messages, expected) in rows { expectEqual(error(messages), expected, messages) }
    }

    /// Random records of all scalars, read back with inferred types; null and the empty string remain different.
    private static func testReadsItsOwnOutput() throws {
        var random = TestRandom(seed: 5)
        let scalars = [
            "null", "true", "false", "integer 0", "integer -9223372036854775808", "unsigned 18446744073709551615",
            "real 0.1", "real -0.0", "number 1e+22", "number 5e-324", #"string "1.10""#, #"string "1e400""#,
            #"string "123456789012345678901""#, #"string """#, #"string "true""#, #"string "12""#, #"string "a,b""#,
            #"string "x;y""#, #"string "größe""#, "string \" \"", "string \"é\rü\"", #"string "'""#, "string \"#\"",
        ]
        for round in 0..<40 {
            let width = 1 + round % 5
            let names = (0..<width).map { $0 == 0 && round % 4 == 0 ? "" : "c\($0)" }
            let isNamed = round % 2 == 0
            var messages = "["
            for _ in 0..<20 {
                messages += isNamed ? " {" : " ["
                for column in 0..<width {
                    let scalar = scalars.randomElement(using: &random) ?? "null"
                    messages +=
                        (isNamed ? " key \"\(names[column])\" " : " ")
                        + (width == 1 && !isNamed && scalar == "null" ? "true" : scalar)
                }
                messages += isNamed ? " }" : " ]"
            }
            messages += " ]"
            let dialect = CSVDialect(
                delimiter: [0x2C, 0x3B, 0x09][round % 3], quote: [0x22, 0x27][round % 2],
                comment: round % 4 < 2 ? nil : 0x23,
                hasHeader: isNamed)
            var expected = EventTrace()
            try EventScript.send(messages, to: &expected)
            let text = try text(messages, CSVWriterOptions(dialect: dialect, lineEnd: round % 3 == 0 ? .lf : .crlf))
            var found = EventTrace()
            try found.readCSV(text, options: CSVReaderOptions(dialect: dialect, fieldType: .inferred))
            expectEqual(found.text, expected.text, "round \(round)")
        }
    }

    private struct Stop: StreamObject, Equatable {
        var id = 0
        var name: String?
        var share = 0.0
    }

    private static func testWritesValuesOfBoundTypes() throws {
        let stops = [Stop(id: 1, share: 0.5), Stop(id: 2, name: "", share: 1e20), Stop(id: 3, name: "a\nb")]
        let text = try CSV(writer: lines).encodeToString(stops)
        expectEqual(text, "id,name,share\n1,,0.5\n2,\"\",1e+20\n3,\"a\nb\",0.0\n", "text")
        expectEqual(try CSV.decode([[Stop].Element].self, from: text), stops, "values")
    }

    private static func testIsReusableAfterReset() throws {
        var writer = CSVWriter(options: lines)
        let error = expectThrows(StreamError.self, "a list within a record") { try writer.write([["a": [1]]]) }
        expectEqual(error?.kind, .unrepresentable, "kind")
        expectEqual(writer.text, "", "nothing is written of a record that is refused")
        writer.reset()
        expectThrows(StreamError.self, "no record, and no number") { try writer.writeReal(.nan) }
        try writer.write([["a": 1]])
        try writer.finish()
        expectEqual(writer.text, "a\n1\n", "text")
    }
}
#endif
