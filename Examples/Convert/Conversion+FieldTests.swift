// Tests the conversion of delimited fields, and `--types`.

#if DEBUG || IN_CLASS_TESTS
import CSVStreaming
import InClassTesting
import PlistBuilding
import PlistStreaming

enum ConversionFieldTests {}

extension ConversionFieldTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testKeepsTheTextOfEveryField": testKeepsTheTextOfEveryField,
            "testKeepsTheTextOfFieldsThroughEveryFormat": testKeepsTheTextOfFieldsThroughEveryFormat,
            "testKeepsSpellingOfNumbers": testKeepsSpellingOfNumbers,
            "testFollowsTypesOfColumns": testFollowsTypesOfColumns,
        ]
    }

    private static func converted(_ text: String, _ names: String..., options: [String] = []) throws -> String {
        let directory = try temporaryDirectory()
        var path = "\(directory)/in.csv"
        try Conversion.write(text, to: path)
        for (index, name) in names.enumerated() {
            let output = "\(directory)/\(index)\(name)"
            let conversion = Conversion(
                try Arguments([path, output, "--replace"] + (index == 0 ? options : [])), isDurable: false)
            try conversion.check()
            try conversion.run()
            path = output
        }
        return try Conversion.text(path)
    }

    /// Texts that look like numbers. No writer spells most of them this way.
    private static let texts = [
        "12345e6", "1.10", "2.50", "-0", "+5", "00601", "1e5", "1E5", "1e-05", "1e+20", "0.00001", "1.0", "0.0", "-0.0",
        "-7", "2.5", "1234567890123456789", "9223372036854775807", "9223372036854775808", "-9223372036854775809",
        "12345678901234567890123", "0.12345678901234567890", "0.30000000000000004", "1e400", "5e-324",
        "9007199254740993", "9007199254740993.0", "100000000000000000.0", "1.", ".5", "0x10", "1_000", "1,5", "NaN",
        "inf", "true", "false", "True", "null", "2001-01-31", " 1", "1 ", "x",
    ]

    /// Returns texts of seven hexadecimal digits. Some look like `1234e56`.
    private static func hashes(_ count: Int) -> [String] {
        var random = TestRandom(seed: 7)
        let digits = Array("0123456789abcdef0123456789e")
        return (0..<count).map { _ in
            String((0..<7).map { _ in digits.randomElement(using: &random) ?? "0" })
        }
    }

    private static func table(_ texts: [String]) -> String {
        "text,other\r\n" + texts.map { ($0.contains(",") ? "\"\($0)\"" : $0) + ",x\r\n" }.joined()
    }

    private static func testKeepsTheTextOfEveryField() throws {
        let table = table(texts + hashes(2_000) + [""])
        expectEqual(try converted(table, ".csv"), table, "csv")
        expectEqual(try converted(table, ".tsv", ".csv"), table, "by tsv")
        let columns = try converted(table, ".csv", options: ["--columns", "text"])
        expectEqual(columns, table.replacing(",x\r\n", with: "\r\n").replacing(",other", with: ""), "columns")
        expectEqual(try converted(table, ".csv", options: ["--types", "none"]), table, "without types")
        expectEqual(try converted(table, ".csv", options: ["--types=text=number"]), table, "with types")
        expectEqual(
            try converted("\"1\",\"\",\"a\"\n,\"1.10\",1.10\n", ".csv", options: ["--no-header"]),
            "\"1\",\"\",a\r\n,1.10,1.10\r\n", "quotes")
    }

    private static func testKeepsTheTextOfFieldsThroughEveryFormat() throws {
        for ending in [".json", ".jsonl", ".plist", ".bplist", ".openstep", ".xml", ".db"] {
            let table = table(texts + hashes(300))
            let found = try converted(table, ending, ".csv")
            // In a database, the column has the type TEXT. Texts that look like numbers get quotes.
            guard ending == ".db" else {
                expectEqual(found, table, ending)
                continue
            }
            expectEqual(found.replacing("\"", with: ""), table.replacing("\"", with: ""), ending)
        }
    }

    private static func testKeepsSpellingOfNumbers() throws {
        for text in texts where !text.contains(",") {
            let literals = ["[{\"a\":\(text)}]", "[{\"a\":\"\(text)\"}]"]
            // JSON has its own spelling of exponents.
            for names in text.contains("e") ? [[".json"]] : [[".json"], [".plist", ".json"], [".db", ".json"]] {
                let found =
                    try names.count == 1
                    ? converted("a\n\(text)\n", names[0]) : converted("a\n\(text)\n", names[0], names[1])
                expectTrue(literals.contains(found), "\(text) by \(names): \(found)")
            }
        }
        expectEqual(
            try converted("a,b,c,d\n1.10,42,-2.5,18446744073709551615\n", ".json"),
            #"[{"a":"1.10","b":42,"c":-2.5,"d":18446744073709551615}]"#, "numbers and texts")
    }

    private static func testFollowsTypesOfColumns() throws {
        let text = "sha,price,open,at,n\n0012345,1.10,1,2001-01-01T00:00:01Z,5\n1234567,,,,\"7\"\n"
        let rows: [([String], String)] = [
            (
                ["--types", "none"],
                #"[{"sha":"0012345","price":"1.10","open":"1","at":"2001-01-01T00:00:01Z","n":"5"},"#
                    + #"{"sha":"1234567","price":"","open":"","at":"","n":"7"}]"#
            ),
            (
                ["--types", "sha=text,price=number,open=bool,n=integer"],
                #"[{"sha":"0012345","price":1.1,"open":true,"at":"2001-01-01T00:00:01Z","n":5},"#
                    + #"{"sha":"1234567","price":null,"open":null,"at":null,"n":7}]"#
            ),
            (
                ["--types", "none,n=real", "--columns", "n,sha"],
                #"[{"n":5.0,"sha":"0012345"},{"n":7.0,"sha":"1234567"}]"#
            ),
        ]
        for (options, expected) in rows {
            expectEqual(try converted(text, ".json", options: options), expected, "\(options)")
        }
        let date = try converted(text, ".plist", options: ["--types", "at=date"])
        expectTrue(date.contains("<date>2001-01-01T00:00:01Z</date>"), date)
        for (options, expected) in [
            ("shaa=text", "there is no column \"shaa\", did you mean \"sha\"?"),
            ("price=integer", "$[0].price: expected an integer, found \"1.10\""),
        ] {
            let error = expectThrows(StreamError.self, options) {
                _ = try converted(text, ".json", options: ["--types", options])
            }
            expectTrue("\(error as Any)".contains(expected), "\(error as Any)")
        }
    }
}
#endif
