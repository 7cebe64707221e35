// Compares the fast scanner with the plain one: random texts of all special bytes, in pieces of any size.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistStreaming

enum CSVScannerTests {
    /// Returns a text of mostly well-formed records, with fields and line ends as different as possible.
    static func randomText(_ random: inout TestRandom, count: Int, width: Int, faults: Bool) -> [UInt8] {
        let plain = ["", "1", "-12.5", "true", "x", "größe", "€uro", "a b", "1234567890123456789", "🙂", "null"]
        let quoted = ["\"\"", "\"a,b\"", "\"\"\"\"", "\"x\"\"y\"", "\"\n\"", "\"\r\n,\"", "\"é\"", "\"#\""]
        let wrong = ["\"a", "a\"", "\"a\"b", "#c", "\u{FEFF}"]
        var text: [UInt8] = []
        while text.count < count {
            switch Int.random(in: 0..<12, using: &random) {
            case 0: text += Array("#, \" comment\n".utf8)
            case 1: text += Array("\n".utf8)
            default: break
            }
            for field in 0..<width {
                if field > 0 { text.append(0x2C) }
                let isFaulty = faults && Int.random(in: 0..<200, using: &random) == 0
                let choice = isFaulty ? wrong : Int.random(in: 0..<4, using: &random) == 0 ? quoted : plain
                text += Array((choice.randomElement(using: &random) ?? "").utf8)
                if faults, Int.random(in: 0..<2_000, using: &random) == 0 { text.append(0xE2) }
                if Int.random(in: 0..<40, using: &random) == 0 { text += Array(repeating: 0x7A, count: 130) }
            }
            text += Array((["\n", "\n", "\r\n", "\r"].randomElement(using: &random) ?? "\n").utf8)
        }
        return text
    }
}

extension CSVScannerTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testFastScanAgreesWithPlainScan": testFastScanAgreesWithPlainScan,
            "testReportsTheLineOfEveryError": testReportsTheLineOfEveryError,
        ]
    }

    // Each round has some KB, which takes a while in a debug build.
    private static func testFastScanAgreesWithPlainScan() {
        var random = TestRandom(seed: 20_261_123)
        for round in 0..<30 {
            let width = Int.random(in: 1...7, using: &random)
            let text = randomText(&random, count: 2_500, width: width, faults: round % 3 == 0)
            let comment: UInt8? = round % 2 == 0 ? UInt8(ascii: "#") : nil
            var options = CSVReaderOptions(
                dialect: CSVDialect(quote: round % 5 == 4 ? nil : 0x22, comment: comment, hasHeader: false),
                shortRecords: .omit, longRecords: .keep(under: ""), bareQuotes: round % 4 == 3 ? .keep : .reject)
            options.firstBlockCount = 1 + round % 9
            var plain = options
            plain.usesPlainScan = true
            let expected = CSVReaderTests.outcome(text, plain)
            let cut = Int.random(in: 0...text.count, using: &random)
            for cuts in [[], [cut], Array(stride(from: 700, to: text.count, by: 701))] {
                let found = CSVReaderTests.outcome(text, cuts: cuts, options)
                if found != expected { expectEqual(found, expected, "round \(round), cut at \(cuts)") }
            }
        }
    }

    private static func testReportsTheLineOfEveryError() {
        for end in ["\n", "\r\n", "\n\"\n\",x\n"] {
            for count in [1, 7, 40, 41, 150, 151] {
                let text = Array((String(repeating: "ab,cd\(end)", count: count) + "\"x\"y").utf8)
                var reader = CSVReader(sink: NullSink(), options: CSVReaderOptions(bareQuotes: .keep))
                let error = expectThrows(StreamError.self, "a byte behind a quote") {
                    try reader.feed(text)
                    try reader.finish()
                }
                let line = 1 + text.count { $0 == 0x0A }
                expectEqual(
                    error?.position, StreamPosition(byteOffset: text.count - 1, line: line, column: 4),
                    "\(count) times \(end.debugDescription)")
            }
        }
    }
}
#endif
