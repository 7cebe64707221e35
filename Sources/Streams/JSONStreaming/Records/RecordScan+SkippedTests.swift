// Records with unneeded members, in the same order and in others, compared with the values from messages.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistBuilding
import PlistStreaming

enum RecordScanSkippedTests {}

extension RecordScanSkippedTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testBuildsSameValuesAsMessages": testBuildsSameValuesAsMessages,
            "testEnforcesLimits": testEnforcesLimits,
            "testAgreesOnMutatedTexts": testAgreesOnMutatedTexts,
        ]
    }

    private struct Few: StreamObject {
        var id = 0
        var aNameOfMoreThanSixteenBytes = ""
        var inner = Inner()
    }

    private struct Inner: StreamObject {
        var x = 0
        var rows: [Inner] = []
    }

    /// Returns a record with unneeded members, some of which are sometimes missing, and with values that sometimes
    /// differ.
    static func record(_ number: Int, _ gap: String, isPlain: Bool = false) -> String {
        let word = String(repeating: "ab", count: number % 9)
        var members = [
            "\"one\":\(number % 3 == 0 ? "null" : "\(number)")", "\"id\":\(number)", "\"same\":[1,{\"a\":true}]",
            "\"a name that is longer than a word of the text\":\"the same value\"", "\"text\":\"\(word)\"",
            "\"aNameOfMoreThanSixteenBytes\":\"\(word)\(word)\"", "\"e\":-1.5e3", "\"f\":\(number % 2 == 0)",
            "\"deep\":{\"a\":{\"b\":[\(number / 4),{\"c\":\"\(word)\"}],\"d\":1},\"e\":\"é\\n\(number / 2)\"}",
            "\"list\":[\((0..<number % 4).map { "{\"x\":\($0)}" }.joined(separator: ","))]",
            "\"inner\":{\"y\":[],\"x\":\(number),\"z\":\"same\",\"rows\":[{\"x\":1,\"y\":2},{\"y\":\(number)}],\"w\":0}",
            "\"last\":12\(number % 5 == 0 ? "3" : "")",
        ]
        if !isPlain {
            if number % 5 == 4 { members.remove(at: 8) }
            if number % 7 == 3 { members.insert("\"more\":{\"x\":[\(number)]}", at: 3) }
            if number % 11 == 10 { members.swapAt(2, 6) }
        }
        return "{\(gap)\(members.joined(separator: ",\(gap)"))\(gap.dropLast())}"
    }

    private static func expectOneOutcome(
        _ text: String, limits: StreamLimits = .standard, line: UInt = #line
    ) {
        RecordScan.expectOneOutcome(text, "records", limits: limits, line: line) {
            try ObjectBuilder<[Few]>()
        } describe: { builder in
            (try? builder.takeResult()).map { "\($0)" } ?? "nothing"
        }
    }

    /// Takes about 500 ms: texts that are read byte by byte and in two pieces.
    private static func testBuildsSameValuesAsMessages() throws {
        for gap in ["", "\n  ", " "] {
            let plain = (0..<3).map { record($0, gap, isPlain: true) }
            expectOneOutcome("[\(plain.joined(separator: ","))]")
            let records = (0..<50).map { record($0, gap) }
            let bytes = Array("[\(records.joined(separator: ","))]".utf8)
            let expected = outcome(bytes, isPlain: true, inPiecesOf: bytes.count)
            for size in [100, 1_000, 5_003, bytes.count] {
                expectTrue(outcome(bytes, isPlain: false, inPiecesOf: size) == expected, "in pieces of \(size)")
            }
        }
    }

    private static func outcome(_ bytes: [UInt8], isPlain: Bool, inPiecesOf size: Int) -> String {
        var options = JSONReaderOptions()
        options.usesPlainScan = isPlain
        do {
            var scanner = JSONScanner(options: options)
            var builder = try ObjectBuilder<[Few]>()
            for start in stride(from: 0, to: bytes.count, by: size) {
                // SAFETY: the span does not leave the closure.
                try unsafe bytes[start..<min(start + size, bytes.count)].withUnsafeBytes {
                    try scanner.scan(unsafe $0.bytes, into: &builder)
                }
            }
            try scanner.finish(into: &builder)
            return try "\(builder.takeResult())"
        } catch {
            return "\(error)"
        }
    }

    /// Values that are too long or too deep are found after others that are not.
    private static func testEnforcesLimits() {
        var limits = StreamLimits.standard
        // With a smaller limit, the plain scanner reads all text.
        (limits.depth, limits.stringByteCount) = (6, 64)
        let records = (0..<6).map { record($0, "", isPlain: true) }.joined(separator: ",")
        expectOneOutcome("[\(records)]", limits: limits)
        let long = String(repeating: "long", count: 17)
        for (old, new) in [("\"d\":1", "\"d\":[[]]"), ("\"d\":1", "\"d\":[[[]]]"), ("\"ab\"", "\"\(long)\"")] {
            let other = record(1, "", isPlain: true).replacing(old, with: new)
            expectOneOutcome("[\(records),\(other)]", limits: limits)
        }
    }

    /// Takes about 300 ms, for 400 texts that are each read twice.
    private static func testAgreesOnMutatedTexts() throws {
        var state: UInt64 = 7
        func random(below bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(truncatingIfNeeded: state >> 33) % bound
        }
        let odd = Array("{}[]\",:\\ 0123456789.eE+-tfnu\u{0}\u{1}\nxé".utf8) + [0x80, 0xFF]
        for round in 0..<400 {
            let records = (0..<4).map { record($0, round % 2 == 0 ? "" : "\n ", isPlain: round % 4 < 2) }
            var bytes = Array("[\(records.joined(separator: ","))]".utf8)
            // In one of the last two records.
            let place = bytes.count / 2 + random(below: bytes.count / 2)
            switch random(below: 3) {
            case 0: bytes[place] = odd[random(below: odd.count)]
            case 1: bytes.insert(odd[random(below: odd.count)], at: place)
            default: bytes.remove(at: place)
            }
            let text = bytes + [UInt8](repeating: 0x20, count: 60)
            let got = outcome(text, isPlain: false, inPiecesOf: text.count)
            let expected = outcome(text, isPlain: true, inPiecesOf: text.count)
            if got != expected {
                expectEqual(got, expected, "text \(round): \(String(decoding: bytes, as: UTF8.self))")
            }
        }
    }
}
#endif
