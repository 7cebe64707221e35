// Tests of the meaning of texts, and of errors: rows of input and messages, each whole, byte by byte and at every split
// point.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistBuilding
import PlistStreaming

enum CSVReaderTests {
    /// Returns the messages of a text in pieces that end at some positions, and the error.
    static func outcome(_ bytes: [UInt8], cuts: [Int] = [], _ options: CSVReaderOptions) -> String {
        var reader = CSVReader(sink: EventTrace(), options: options)
        do throws(StreamError) {
            var start = 0
            for end in cuts + [bytes.count] {
                try reader.feed(Array(bytes[start..<end]))
                start = end
            }
            try reader.finish()
        } catch {
            return reader.sink.text + " ! \(error.kind.rawValue) \(error)"
        }
        return reader.sink.text
    }

    /// Expects the same messages for a text whole, in two pieces and byte by byte, from both scanners.
    static func expect(
        _ text: String, _ expected: String, _ options: CSVReaderOptions = CSVReaderOptions(), line: UInt = #line
    ) {
        expect(Array(text.utf8), expected, options, line: line)
    }

    static func expect(
        _ bytes: [UInt8], _ expected: String, _ options: CSVReaderOptions = CSVReaderOptions(), line: UInt = #line
    ) {
        var plain = options
        plain.usesPlainScan = true
        let shown = String(decoding: bytes.prefix(80), as: UTF8.self).debugDescription
        expectEqual(outcome(bytes, plain), expected, "\(shown), line \(line)")
        guard outcome(bytes, plain) == expected else { return }
        for options in [plain, options] {
            for cut in 0...bytes.count {
                let found = outcome(bytes, cuts: [cut], options)
                if found != expected { expectEqual(found, expected, "\(shown) cut at \(cut), line \(line)") }
            }
            expectEqual(
                outcome(bytes, cuts: Array(0..<bytes.count), options), expected, "\(shown) byte by byte, line \(line)")
        }
    }

    static let arrays = CSVReaderOptions(dialect: .standard.withoutHeader)
}

extension CSVReaderTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testReadsRecords": testReadsRecords,
            "testEmptyTextHasNoRecords": testEmptyTextHasNoRecords,
            "testReadsAnyLineEnds": testReadsAnyLineEnds,
            "testReadsDialects": testReadsDialects,
            "testReadsHeaders": testReadsHeaders,
            "testRefusesInvalidCSV": testRefusesInvalidCSV,
            "testFollowsPoliciesForRaggedRecords": testFollowsPoliciesForRaggedRecords,
            "testConvertsFieldsToTypedValues": testConvertsFieldsToTypedValues,
            "testSendsChosenColumns": testSendsChosenColumns,
            "testReadsEncodings": testReadsEncodings,
            "testEnforcesLimits": testEnforcesLimits,
            "testTimeDoesNotDependOnColumns": testTimeDoesNotDependOnColumns,
            "testKeepsItsErrorUntilReset": testKeepsItsErrorUntilReset,
        ]
    }

    private static func testReadsRecords() {
        expect("a,b\n1,2\n", #"[ { key "a" string "1" key "b" string "2" } ]"#)
        expect("a,b\n", "[ ]")
        expect(
            "a,b\n1,\n,2", ##"[ { key "a" string "1" key "b" string "" } { key "a" string "" key "b" string "2" } ]"##)
        expect("a,b\n\"x,y\",\"p\nq\"\n", "[ { key \"a\" string \"x,y\" key \"b\" string \"p\\u{a}q\" } ]")
        expect("1,\"\"\"2\"\"\",\"\"\n", #"[ [ string "1" string "\u{22}2\u{22}" string "" ] ]"#, arrays)
        expect("\"\"\"\"", #"[ [ string "\u{22}" ] ]"#, arrays)
        expect("größe\n€\n", #"[ { key "größe" string "€" } ]"#)
        expect("", "[ ]", arrays)
        expect("\n\n1\n\n2\n", #"[ [ string "1" ] [ string "2" ] ]"#, arrays)
        // With one column, an empty line is a record with an empty field.
        expect("\na\n1\n\n2\n", #"[ { key "a" string "1" } { key "a" string "" } { key "a" string "2" } ]"#)
    }

    private static func testEmptyTextHasNoRecords() throws {
        let options = CSVReaderOptions(
            dialect: CSVDialect(comment: 0x23), columns: ["a"], fieldTypes: ["a": .integer])
        for text in ["", "\n", "\r\n\r\n", "\u{FEFF}", "\u{FEFF}\n", "# nothing", "#\n\n"] {
            expect(text, "[ ]", options)
            let columns = try CSV(reader: options).columns(["a": .integer, "b": .string], from: Array(text.utf8))
            expectEqual(columns.columns.map { "\($0.name) \($0.count)" }, ["a 0", "b 0"], text.debugDescription)
            expectEqual(
                try CSV(reader: CSVReaderOptions(dialect: options.dialect)).columns(from: Array(text.utf8)).rowCount,
                0, text.debugDescription)
        }
        expectEqual(
            try CSV.decode([[String: Int]].self, from: try CSV.encodeToString([[String: Int]]())), [],
            "what was written")
    }

    private static func testReadsAnyLineEnds() {
        let expected = #"[ [ string "1" string "2" ] [ string "3" string "" ] ]"#
        for end in ["\n", "\r", "\r\n"] {
            for other in ["\n", "\r", "\r\n"] {
                for last in ["", end, other] { expect("1,2\(end)\(other)3,\(last)", expected, arrays) }
            }
        }
        expect("1,\"a\r\nb\"\r\n", "[ [ string \"1\" string \"a\\u{d}\\u{a}b\" ] ]", arrays)
    }

    private static func testReadsDialects() {
        expect("1\t2,5\n", #"[ [ string "1" string "2,5" ] ]"#, CSVReaderOptions(dialect: .tabs.withoutHeader))
        expect("1;\";\"\n", #"[ [ string "1" string ";" ] ]"#, CSVReaderOptions(dialect: .semicolons.withoutHeader))
        var dialect = CSVDialect(quote: nil, comment: UInt8(ascii: "#"), hasHeader: false)
        expect(
            "#a,\"\n\"1,2\n# \n3,#\n#", ##"[ [ string "\u{22}1" string "2" ] [ string "3" string "#" ] ]"##,
            CSVReaderOptions(dialect: dialect))
        dialect = CSVDialect(quote: UInt8(ascii: "'"), comment: UInt8(ascii: "#"))
        expect(
            "#c\r\na,'b'\r\n#d\r\n'#1',2\r\n", ##"[ { key "a" string "#1" key "b" string "2" } ]"##,
            CSVReaderOptions(dialect: dialect))
        var options = arrays
        options.bareQuotes = .keep
        expect("a\"b,\"c\"\n", #"[ [ string "a\u{22}b" string "c" ] ]"#, options)
    }

    private static func testReadsHeaders() {
        expect("\u{FEFF}\"a\",b\n1,2", #"[ { key "a" string "1" key "b" string "2" } ]"#)
        var options = CSVReaderOptions(skipsByteOrderMark: false)
        expect("\u{FEFF}a\n1", "[ { key \"\u{FEFF}a\" string \"1\" } ]", options)
        options = CSVReaderOptions(dialect: .standard.withoutHeader, names: ["x", "y"])
        expect("1,2", #"[ { key "x" string "1" key "y" string "2" } ]"#, options)
        options = CSVReaderOptions(names: ["x"])
        expect("a\n1", #"[ { key "x" string "1" } ]"#, options)
        expect("a,b\n1,2", " ! invalidSyntax expected 1 column, found 2 at line 1, column 1 (byte 0)", options)
        expect(
            "a,\"b\",a\n1",
            " ! duplicateKey columns 1 and 3 have the same name, \"a\" at line 1, column 7 (byte 6)")
        expect("a,\n1,2", #"[ { key "a" string "1" key "" string "2" } ]"#)
        expect("\"\"\n1\n\n", #"[ { key "" string "1" } { key "" string "" } ]"#)
        expect("a,,\n", " ! duplicateKey columns 2 and 3 have the same name, \"\" at line 1, column 4 (byte 3)")
        options = CSVReaderOptions(duplicateNames: .keep)
        expect("a,a\n1,2", #"[ { key "a" string "1" key "a" string "2" } ]"#, options)
    }

    private static func testRefusesInvalidCSV() {
        let begun = #"[ { key "a" string "1" key "b" string "2" }"#
        expect(
            "a,b\n1,2\n3,x\"y\n",
            begun + " ! invalidSyntax $[1].b: expected a delimiter or the end of the line, "
                + "found a quote in an unquoted field at line 3, column 4 (byte 11)")
        expect(
            "a,b\n1,2\n\"3\n\" ,4\n",
            begun + " ! invalidSyntax $[1].a: expected a delimiter or the end of the line after a closing quote, "
                + "found another byte at line 4, column 2 (byte 12)")
        expect(
            "a,b\n1,2\n3,\"4\n5,6\n",
            begun + " ! unexpectedEnd $[1].b: expected a quote that closes this field, found the end of the input "
                + "at line 3, column 3 (byte 10)")
        expect(
            Array("a,b\n1,2\n3,x".utf8) + [0xC3, 0x28, 0x0A],
            begun + " ! invalidText $[1].b: expected UTF-8, found invalid bytes at line 3, column 5 (byte 12)")
        let bytes = Array("a,b\n1,2\n".utf8)
        let wrong = " ! invalidText $[1].a: expected UTF-8, found invalid bytes at line 3"
        expect(bytes + [0xFF, 0x2C, 0x32, 0x0A], begun + wrong + ", column 1 (byte 8)")
        expect(bytes + [0xE2, 0x82, 0x2C, 0x32, 0x0A], begun + wrong + ", column 3 (byte 10)")
        expect(bytes + [0x22, 0xFF, 0x22, 0x2C, 0x22, 0x0A, 0x22, 0x0A], begun + wrong + ", column 2 (byte 9)")
        expect([0xEF, 0xBB], " ! invalidText expected UTF-8, found invalid bytes at line 1, column 3 (byte 2)")
        let utf16 = " ! invalidText expected UTF-8, found UTF-16 at line 1, column 1 (byte 0)"
        for text in ["a\tb\r\n1\t2\r\n", "\"a\"\r\n1\r\n", "", "\n", "\u{A0A}a\n1\n"] {
            let units = [0xFEFF] + Array(text.utf16)
            for options in [CSVReaderOptions(dialect: .tabs), CSVReaderOptions(skipsByteOrderMark: false)] {
                expect(units.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8($0 >> 8)] }, utf16, options)
                expect(units.flatMap { [UInt8($0 >> 8), UInt8(truncatingIfNeeded: $0)] }, utf16, options)
            }
        }
    }

    private static func testFollowsPoliciesForRaggedRecords() {
        expect("a,b\n1\n", "[ ! invalidSyntax $[0]: expected 2 fields, found 1 at line 2, column 1 (byte 4)")
        expect("a,b\n1,2,3\n", "[ ! invalidSyntax $[0]: expected 2 fields, found 3 at line 2, column 5 (byte 8)")
        var options = CSVReaderOptions(shortRecords: .omit, longRecords: .ignore)
        expect("a,b\n1\n1,2,3\n", #"[ { key "a" string "1" } { key "a" string "1" key "b" string "2" } ]"#, options)
        options.longRecords = .keep(under: "rest")
        expect("a\n1,2,\n", #"[ { key "a" string "1" key "rest" [ string "2" string "" ] } ]"#, options)
        options.dialect = .standard.withoutHeader
        expect(
            "1,2\n3\n4,5,6\n", #"[ [ string "1" string "2" ] [ string "3" ] [ string "4" string "5" string "6" ] ]"#,
            options)
    }

    private static func testConvertsFieldsToTypedValues() {
        var options = CSVReaderOptions(dialect: .standard.withoutHeader, fieldType: .inferred)
        expect(
            "1,-0.5,true,,x\n\"1\",\"\",false,007,1e400\n1.10,1e5,-0,-0.0,1e+22\n",
            #"[ [ integer 1 real -0.5 true null string "x" ] [ string "1" string "" false string "007" string "1e400" ] "#
                + #"[ string "1.10" string "1e5" string "-0" real -0.0 number 1e+22 ] ]"#,
            options)
        options.fieldType = .number
        expect(
            "1,1.10,\"1e5\",,-0\n007,,,,\n",
            "[ [ integer 1 real 1.1 real 100000.0 null real -0.0 ] [ "
                + "! typeMismatch $[1][0]: expected a number, found \"007\" at line 2, column 1 (byte 17)", options)
        options = CSVReaderOptions(fieldType: .integer, fieldTypes: ["b": .real, "c": .bool, "d": .date, "e": .text])
        expect(
            "a,b,c,d,e\n\"5.0\",5,1,2001-01-01T00:00:01Z,\n,,,\"\",\"\"\n",
            #"[ { key "a" integer 5 key "b" real 5.0 key "c" true key "d" date 1.0 key "e" string "" } "#
                + #"{ key "a" null key "b" null key "c" null key "d" null key "e" string "" } ]"#, options)
        options = CSVReaderOptions(fieldType: .integer)
        expect(
            "a,b\n1,2\n3,4x\n",
            #"[ { key "a" integer 1 key "b" integer 2 } { key "a" integer 3 "#
                + "! typeMismatch $[1].b: expected an integer, found \"4x\" at line 3, column 3 (byte 10)", options)
    }

    private static func testSendsChosenColumns() {
        var options = CSVReaderOptions(columns: ["c", "a"])
        expect("a,b,c\n1,2,3\n", #"[ { key "c" string "3" key "a" string "1" } ]"#, options)
        options.columns = ["stop_nam"]
        expect(
            "stop_id,stop_name\n1,2\n",
            " ! unknownMember there is no column \"stop_nam\", did you mean \"stop_name\"? at line 1, column 1 (byte 0)",
            options)
        options = CSVReaderOptions(fieldTypes: ["x": .text])
        expect("abc\n", " ! unknownMember there is no column \"x\" at line 1, column 1 (byte 0)", options)
    }

    private static func testReadsEncodings() {
        var options = CSVReaderOptions(dialect: .standard.withoutHeader, encoding: .latin1)
        expect([0xE4, 0x2C, 0x22, 0x80, 0x22, 0x22, 0x22], "[ [ string \"ä\" string \"\u{80}\\u{22}\" ] ]", options)
        options.encoding = .windows1252
        expect([0x80, 0x2C, 0x9F, 0xFF], "[ [ string \"€\" string \"Ÿÿ\" ] ]", options)
        options.encoding = .bytes
        expect(
            [0x31, 0x0A, 0xFF],
            #"[ [ string "1" ] [ ! invalidText $[1][0]: expected UTF-8 in a field at line 2, column 1 (byte 2)"#,
            options)
    }

    private static func testEnforcesLimits() {
        var options = CSVReaderOptions(dialect: .standard.withoutHeader, limits: StreamLimits(stringByteCount: 4))
        expect("1234,\"56\"\n", #"[ [ string "1234" string "56" ] ]"#, options)
        expect(
            "1,12345", " ! limitExceeded $[0][1]: more than 4 bytes in a field at line 1, column 3 (byte 2)", options)
        expect(
            "1\n\"\n3\n5",
            #"[ [ string "1" ] ! limitExceeded $[1][0]: more than 4 bytes in a field; is the closing quote missing? at line 2, column 1 (byte 2)"#,
            options)
        options = CSVReaderOptions(dialect: .standard.withoutHeader, recordByteLimit: 5)
        expect("1,345\n", #"[ [ string "1" string "345" ] ]"#, options)
        expect(
            "1\n,,,,,,",
            #"[ [ string "1" ] ! limitExceeded $[1][5]: more than 5 bytes in a record at line 2, column 1 (byte 2)"#,
            options)
        options = CSVReaderOptions(dialect: .standard.withoutHeader, fieldLimit: 2)
        expect("1,2\n", #"[ [ string "1" string "2" ] ]"#, options)
        expect(
            "1,2,\n", " ! limitExceeded $[0][2]: more than 2 fields in a record at line 1, column 5 (byte 4)", options)
        options = CSVReaderOptions(dialect: .standard.withoutHeader, limits: StreamLimits(totalByteCount: 3))
        expect("1\n2", #"[ [ string "1" ] [ string "2" ] ]"#, options)
        expect(
            "1\n2\n",
            #"[ [ string "1" ] ! limitExceeded $[1][0]: more than 3 bytes of input at line 2, column 2 (byte 3)"#,
            options)
    }

    private struct First: StreamObject, Equatable {
        var c0 = 0
        var c1: String?
    }

    /// So many columns that it would take minutes to visit all of them for each byte, or for each short record.
    private static func testTimeDoesNotDependOnColumns() throws {
        let count = 40_000
        let header = (0..<count).map { "c\($0)" }.joined(separator: ",") + "\n"
        let fields = [UInt8](repeating: 0x2C, count: count - 1)
        var reader = CSVReader(sink: try ObjectBuilder<[First]>())
        try reader.feed(header + "7")
        for byte in fields { try reader.feed([byte]) }
        try reader.finish()
        expectEqual(try reader.sink.takeResult(), [First(c0: 7)], "byte by byte")
        let records = String(repeating: "1\n", count: count)
        let short = header + "7" + String(decoding: fields, as: UTF8.self) + "\n" + records
        let options = CSVReaderOptions(shortRecords: .omit)
        let values = try CSV(reader: options).decode([First].self, from: short)
        expectEqual(values.count, count + 1, "records")
        expectEqual(values.last, First(c0: 1), "a short record")
        var trace = EventTrace()
        try trace.readCSV(header + records, options: options)
        expectTrue(trace.text.hasSuffix(#"{ key "c0" string "1" } ]"#), "messages")
    }

    private static func testKeepsItsErrorUntilReset() throws {
        var reader = CSVReader(sink: EventTrace())
        try reader.feed("a\n1\n")
        let first = expectThrows(StreamError.self, "too many fields") { try reader.feed("2,3\n") }
        let second = expectThrows(StreamError.self, "more text") { try reader.feed("4\n") }
        let third = expectThrows(StreamError.self, "the end") { try reader.finish() }
        expectTrue(first == second && second == third, "the same error")
        reader.reset()
        reader.sink = EventTrace()
        try reader.feed("a\n1\n")
        try reader.finish()
        for text in ["", "2\n"] {
            let late = expectThrows(StreamError.self, "more behind the end") { try reader.feed(text) }
            expectEqual(late?.kind, .misuse, "kind")
        }
        expectEqual(expectThrows(StreamError.self, "a second end") { try reader.finish() }?.kind, .misuse, "kind")
        expectEqual(reader.sink.text, #"[ { key "a" string "1" } ]"#, "messages")
        expectEqual(reader.header?.names, ["a"], "header")
    }
}
#endif
