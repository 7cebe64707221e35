// Tests conversions of random values and tables.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistStreaming
import SQLiteStreaming

extension Conversion {
    /// A generator of the same numbers in every run.
    private struct Generator {
        var state: UInt64

        mutating func next(_ count: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int((state >> 33) % UInt64(count))
        }

        mutating func pick(_ choices: [String]) -> String { choices[next(choices.count)] }
    }

    private static let jsonValues = [
        "null", "true", "false", "0", "1", "-1", "-0.0", "0.0", "2.5", "1e300", "5e-324", "0.1", "9007199254740993",
        "9223372036854775807", "-9223372036854775808", "9223372036854775808", "99999999999999999999", "1e999", "\"\"",
        "\"007\"",
        "\"1e5\"", "\"é\\ud83d\\ude42\"", "\"\\u0000\"", "[]", "{\"x\":[1,-0.0]}", "\"true\"", "\"x\"",
        "12345678901234567", "1.0",
    ]

    /// This test takes longer than others, because each case creates files.
    static func testConvertsRandomValuesExactlyOrWarns() throws {
        let directory = try temporaryDirectory()
        let input = "\(directory)/in.json"
        var exactCount = 0
        for seed in 0..<40 as Range<UInt64> {
            var generator = Generator(state: seed)
            // Each case draws from only a few values, so that many cases have values of one kind.
            let values = (0...generator.next(4)).map { _ in generator.pick(jsonValues) }
            let keys = ["a", "b", "A", "é", "rowid", ""].prefix(1 + generator.next(3) + generator.next(2))
            let rows = (0...generator.next(5)).map { _ in
                let members = keys.filter { _ in generator.next(12) > 0 }.map { "\"\($0)\":" + generator.pick(values) }
                return "{" + members.joined(separator: ",") + "}"
            }
            let json = "[" + rows.joined(separator: ",") + "]"
            try write(json, to: input)
            for middle in ["x.db", "x.jsonl", "x.json"] {
                let steps = [["\(directory)/\(middle)"], ["\(directory)/out.json"]]
                let outcome = try outcome(input, by: steps, sorted)
                if case .changed(let difference) = outcome { fail("\(difference) by \(middle)") }
                if middle != "x.db" { expectEqual(outcome, .exact, "\(json) by \(middle)") }
                if middle == "x.db", outcome == .exact { exactCount += 1 }
            }
        }
        expectGreaterThan(exactCount, 5, "tables that are exact")
    }

    static func testConvertsRandomTablesExactlyOrWarns() throws {
        let directory = try temporaryDirectory()
        let values = [
            "NULL", "0", "1", "2", "-0.0", "1.0", "2.5", "9e999", "9007199254740993", "9223372036854775807", "''",
            "'007'",
            "'1'", "x'00'", "x''", "CAST(x'6100' AS TEXT)", "CAST(x'c3' AS TEXT)", "'é'", "5e-324", "'true'",
        ]
        let types = [
            "", " INTEGER", " REAL", " TEXT", " BLOB", " BOOLEAN", " NUMERIC", " DATETIME",
            " VARCHAR(3) COLLATE NOCASE",
        ]
        var exactCount = 0
        for seed in 0..<40 as Range<UInt64> {
            var generator = Generator(state: seed &+ 1_000)
            let used = (0...generator.next(3)).map { _ in generator.pick(values) }
            let columns = ["a", "b", "c"].prefix(1 + generator.next(3)).map { $0 + generator.pick(types) }
            var script = "CREATE TABLE t (\(columns.joined(separator: ", ")));"
            for _ in 0...generator.next(4) {
                script += "INSERT INTO t VALUES (\(columns.map { _ in generator.pick(used) }.joined(separator: ", ")));"
            }
            let input = "\(directory)/in.db"
            unlink(input)
            try connection(input, script).close()
            for steps in [["copy.db"], ["table.db", "--table", "t"]] {
                let step = ["\(directory)/\(steps[0])"] + steps[1...]
                expectEqual(try outcome(input, by: [step], cells), .exact, "\(steps) of \(script)")
            }
            let back = try outcome(input, by: [["\(directory)/x.json"], ["\(directory)/x.db"]], cells)
            if case .changed(let difference) = back { fail("\(difference) of \(script)") }
            if back == .exact { exactCount += 1 }
        }
        expectGreaterThan(exactCount, 5, "tables that are exact")
    }
}
#endif
