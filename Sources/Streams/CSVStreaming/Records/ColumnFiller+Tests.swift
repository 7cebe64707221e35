// Compares values that are stored column by column with the messages for the same records.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistBuilding
import PlistStreaming

enum ColumnFillerTests {}

extension ColumnFillerTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testStoresSameValuesAsMessages": testStoresSameValuesAsMessages,
            "testStoresRowsBeforeAnError": testStoresRowsBeforeAnError,
        ]
    }

    private static let types: [(name: String, type: ColumnType)] = [
        ("n", .integer), ("s", .string), ("r", .real), ("b", .bool), ("t", .string),
    ]

    /// Returns the columns of a text in pieces that end at some positions, or the error.
    fileprivate static func outcome(_ text: [UInt8], _ options: CSVReaderOptions, cuts: [Int] = []) -> String {
        var reader = CSVReader(sink: ColumnsBuilder(columns: types), options: options)
        do throws(StreamError) {
            var start = 0
            for end in cuts + [text.count] {
                try reader.feed(Array(text[start..<end]))
                start = end
            }
            try reader.finish()
            let columns = try reader.sink.takeResult()
            return columns.columns.map { column in
                let values = (0..<columns.rowCount).map { row in
                    column.isNull(row)
                        ? "-"
                        : column.integer(row).map { "\($0)" } ?? column.real(row).map { "\($0)" }
                            ?? column.bool(row).map { "\($0)" } ?? column.string(row)?.debugDescription ?? "?"
                }
                return "\(column.name) \(column.nullCount) \(values.joined(separator: " "))"
            }.joined(separator: "\n")
        } catch {
            return "\(error)"
        }
    }

    /// Returns the options for messages from the plain scanner.
    fileprivate static func plain(_ options: CSVReaderOptions) -> CSVReaderOptions {
        var plain = options
        (plain.usesPlainScan, plain.usesMessages) = (true, true)
        return plain
    }

    private static let fields: [[String]] = [
        [
            "1", "0", "12345678", "123456789012345", "1234567890123456", "9223372036854775807", "-1", "-12345678", "",
            "-9223372036854775808", "\"7\"",
        ],
        [
            "a", "größe", "", "\"\"", "\"q,\"\"\n\"", "15 bytes of text", "thirty-two bytes, no more of it.",
            "0123456789",
        ],
        ["0.5", "-1.25", "7", "-3", "1e3", "", "33554433.99999999999", "9007199254740993", "0.1234567890123456789"],
        ["true", "false", "1", "0", "", "\"true\""],
        ["x", "", "é", "more than thirty-two bytes of text in a field"],
    ]

    // Rounds of some KB each, so that there are runs of records. They take a while in a debug build.
    private static func testStoresSameValuesAsMessages() {
        var random = TestRandom(seed: 20_261_124)
        for round in 0..<24 {
            // Fields that need messages, invalid fields, and records of another width are rare, and not in every round.
            let odd = [["18446744073709551616.0"], ["x"], ["7", "8"], ["1e999"]]
            var text = Array("n,s,r,b,t,u\n".utf8)
            for row in 0..<120 {
                for (index, choices) in fields.enumerated() {
                    let isPlain = round % 3 != 0 || Int.random(in: 0..<4, using: &random) > 0
                    text += Array((isPlain ? choices[0] : choices.randomElement(using: &random) ?? "").utf8) + [0x2C]
                    guard round % 4 == 3, index == 2, Int.random(in: 0..<90, using: &random) == 0 else { continue }
                    text.removeLast(1 + choices[0].utf8.count)
                    text += Array((odd.randomElement(using: &random) ?? []).joined(separator: ",").utf8) + [0x2C]
                }
                text += Array((row % 40 == 39 ? "\r\n" : row % 50 == 49 ? "z\n\n" : "u\n").utf8)
            }
            var options = CSVReaderOptions(shortRecords: .omit, longRecords: .ignore)
            options.encoding = round % 6 == 5 ? .latin1 : .utf8
            options.columns = round % 2 == 0 ? nil : ["t", "r", "n", "s", "b"]
            let expected = outcome(text, plain(options))
            let cut = Int.random(in: 0...text.count, using: &random)
            for cuts in [[], [cut]] {
                let found = outcome(text, options, cuts: cuts)
                if found != expected { expectEqual(found, expected, "round \(round), cut at \(cuts)") }
            }
        }
    }

    private static func testStoresRowsBeforeAnError() {
        let rows = (0..<60).map { "\($0),name \($0),\($0).5,true,\($0 % 3 == 0 ? "" : "text \($0)")\n" }
        let wrong = [
            "x,a,1,true,b\n", "1,a,x,true,b\n", "1,a,1,2,b\n", "1,a,1,true\n", "1,a,1,true,b,c\n", "1,\"a,1\n",
        ]
        for (index, wrong) in wrong.enumerated() {
            for place in [0, 1, 7, 8, 9, 31, 59] {
                let text = Array(("n,s,r,b,t\n" + rows[..<place].joined() + wrong + rows[place...].joined()).utf8)
                let options = CSVReaderOptions()
                let expected = outcome(text, plain(options))
                expectTrue(expected.contains("line"), "an error of row \(place)")
                expectEqual(outcome(text, options), expected, "error \(index) in row \(place)")
            }
        }
    }
}
#endif
