// Tests of reading and writing the old text form: the result is the same whole, byte by byte and at every split point.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistBuilding
import PlistStreaming

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

enum OpenStepPlistTests {}

extension OpenStepPlistTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testReadsValues": testReadsValues,
            "testReadsStrings": testReadsStrings,
            "testReadsEmptyText": testReadsEmptyText,
            "testRefusesUTF16": testRefusesUTF16,
            "testReadsTypedValues": testReadsTypedValues,
            "testRefusesInvalidText": testRefusesInvalidText,
            "testRefusesTruncatedText": testRefusesTruncatedText,
            "testEnforcesLimits": testEnforcesLimits,
            "testReadsFromEverySource": testReadsFromEverySource,
            "testWritesPrettyAndCompactText": testWritesPrettyAndCompactText,
            "testReadsItsOwnOutput": testReadsItsOwnOutput,
            "testFollowsOptions": testFollowsOptions,
            "testRefusesMessagesOutOfOrder": testRefusesMessagesOutOfOrder,
            "testRethrowsErrorsOfTheSink": testRethrowsErrorsOfTheSink,
        ]
    }

    /// Returns the trace of reading and its error, as one line.
    private static func outcome(
        _ chunks: [[UInt8]], _ options: OpenStepPlistReaderOptions = OpenStepPlistReaderOptions()
    ) -> String {
        var reader = OpenStepPlistReader(sink: EventTrace(), options: options)
        do throws(StreamError) {
            for chunk in chunks { try reader.feed(chunk) }
            try reader.finish()
            return reader.sink.text
        } catch {
            return (reader.sink.events + ["! \(error.kind) \(error)"]).joined(separator: " ")
        }
    }

    /// Reads whole, byte by byte and at every split point, and expects the same outcome.
    @discardableResult
    private static func expectOutcome(
        _ bytes: [UInt8], _ expected: String?, _ options: OpenStepPlistReaderOptions = OpenStepPlistReaderOptions(),
        line: UInt = #line
    ) -> String {
        let text = String(decoding: bytes, as: UTF8.self)
        let whole = outcome([bytes], options)
        if let expected { expectEqual(whole, expected, text, line: line) }
        let single = outcome(bytes.map { [$0] }, options)
        if single != whole { expectEqual(single, whole, "\(text), byte by byte", line: line) }
        for split in bytes.indices {
            let halves = outcome([Array(bytes[..<split]), Array(bytes[split...])], options)
            if halves != whole { expectEqual(halves, whole, "\(text), split at \(split)", line: line) }
        }
        return whole
    }

    private static func expectRows(_ rows: [(String, String)], line: UInt = #line) {
        for (text, expected) in rows { expectOutcome(Array(text.utf8), expected, line: line) }
    }

    private static func testReadsValues() {
        expectRows([
            ("abc", "string \"abc\""), (" \n/usr/bin ", "string \"/usr/bin\""), ("()", "[ ]"), ("{}", "{ }"),
            ("(a, b,)", "[ string \"a\" string \"b\" ]"), ("{a = b;}", "{ key \"a\" string \"b\" }"),
            ("{a;b=c;}", "{ key \"a\" string \"a\" key \"b\" string \"c\" }"), ("<>", "data "),
            ("< 0fBd 77>", "data 0fbd77"),
            ("a = b; \"c d\" = (e);", "{ key \"a\" string \"b\" key \"c d\" [ string \"e\" ] }"),
            ("a;", "{ key \"a\" string \"a\" }"), ("\u{FEFF}(a)", "[ string \"a\" ]"),
            ("// one\n{ /* two * / **/ a /**/ = /x//y; }// three", "{ key \"a\" string \"/x//y\" }"),
            ("{ a = { b = (<01>, {}); }; }", "{ key \"a\" { key \"b\" [ data 01 { } ] } }"),
            ("(-1.5:x_$)", "[ string \"-1.5:x_$\" ]"),
            ("/", "string \"/\""), ("(/,a)", "[ string \"/\" string \"a\" ]"), ("<[Zm9v\n]>", "data 666f6f"),
            ("<[]>", "data "),
            ("{1 = 2; 1 = 3;}", "{ key \"1\" string \"2\" key \"1\" string \"3\" }"),
        ])
    }

    private static func testReadsStrings() {
        expectRows([
            ("\"\"", "string \"\""), ("'a\"b'", "string \"a\\u{22}b\""), ("\"a'b\"", "string \"a'b\""),
            ("\"\\n\\t\\\\\\\"\"", "string \"\\u{a}\\u{9}\\u{5c}\\u{22}\""),
            ("\"\\a\\b\\f\\v\\r\"", "string \"\\u{7}\\u{8}\\u{c}\\u{b}\\u{d}\""),
            ("\"\\101\\1014\\7x\\18\"", "string \"AA4\\u{7}x\\u{1}8\""),
            ("\"\\200\\375\\341\"", "string \"\u{A0}\u{FF}\u{C6}\""),
            ("\"\\U00e9\\U41g\\U65E51\"", "string \"éAg日1\""), ("\"\\UD83D\\UDE42\"", "string \"\u{1F642}\""),
            ("\"\\x\\q\\é\"", "string \"xqé\""), ("\"a\\\nb\nc\"", "string \"a\\u{a}b\\u{a}c\""),
            ("\"日本 \u{1F642}\"", "string \"日本 \u{1F642}\""),
            ("{\"ü\" = \"\\U00fc\";}", "{ key \"ü\" string \"ü\" }"), ("\"\\000\"", "string \"\\u{0}\""),
        ])
    }

    private static func testReadsTypedValues() {
        expectRows([
            ("(<*I5>, <*I-7>, <*I18446744073709551615>)", "[ integer 5 integer -7 unsigned 18446744073709551615 ]"),
            ("<*I99999999999999999999>", "number 99999999999999999999"), ("<*R0.5>", "real 0.5"),
            ("<*R1e3>", "real 1000.0"),
            ("<*R-infinity>", "real -inf"), ("(<*BY>,<*BN>)", "[ true false ]"),
            ("<*D2001-01-01 00:00:00 +0000>", "date 0.0"),
            ("<*D2001-01-01 02:00:01 +0200>", "date 1.0"), ("{a = <*I5>;}", "{ key \"a\" integer 5 }"),
        ])
        for text in [
            "<*I>", "<*Ix>", "<*I5.5>", "<*R>", "<*Rx>", "<*R1e400>", "<*B>", "<*B1>", "<*BYES>", "<*D2001-01-01>",
            "<*D2001-01-01 00:00:00>", "<*D2001-13-01 00:00:00 +0000>", "<*X5>", "<*>", "<**>", "<[Zg]>", "<[Zm9v>",
            "<[Zm9v]x>",
        ] {
            let outcome = expectOutcome(Array(text.utf8), nil)
            expectTrue(
                outcome.hasPrefix("! invalidSyntax") || outcome.hasPrefix("! unrepresentable")
                    || outcome.hasPrefix("! unexpectedEnd"), "\(text): \(outcome)")
            expectTrue(outcome.contains("byte "), "\(text): \(outcome)")
        }
    }

    private static func testRefusesInvalidText() {
        let rows: [(String, Int)] = [
            ("a b", 2), ("(a b)", 3), ("(a,,b)", 3), ("(,)", 1), ("{a=b}", 4), ("{a}", 2), ("{=b;}", 1), ("{a==b;}", 3),
            ("{a=;}", 3),
            ("{(a)=b;}", 1), ("{<01>=b;}", 1), ("}", 0), (")", 0), ("(}", 1), ("{)", 1), ("() ()", 3), ("a = b; }", 7),
            ("a, b", 1), ("<0>", 2),
            ("<0 1>", 2), ("<0g>", 2), ("é", 0), ("{a=b;}x", 6), ("a = b;;", 6), ("(a;)", 2), ("\"\\UD83D\"", 7),
            ("\"\\UDE42\"", 7),
            ("\"\\UD83Dx\"", 7), ("\"\\UD83D\\n\"", 8), ("\"\\UD83D\\U0041\"", 13), ("\"\\Ux\"", 3), ("\"\\777\"", 5),
            ("\"\\376\"", 5),
            ("(a /x)", 3), ("=", 0), ("a\n\n=\n b c;", 8), ("\u{FEFF}\u{FEFF}a", 3), ("[a]", 0), ("(a) /", 4),
        ]
        for (text, offset) in rows {
            let outcome = expectOutcome(Array(text.utf8), nil)
            expectTrue(outcome.contains("! invalid"), "\(text): \(outcome)")
            expectTrue(outcome.contains("(byte \(offset))"), "\(text) at \(offset): \(outcome)")
        }
        let bad = expectOutcome(Array("(a,\n \"b".utf8) + [0xC3] + Array("\")".utf8), nil)
        expectEqual(
            bad, "[ string \"a\" ! invalidText expected text in UTF-8, found other bytes at line 2, column 2 (byte 5)",
            "no UTF-8")
        expectTrue(expectOutcome([0xEF, 0x61], nil).contains("(byte 1)"), "half a byte order mark")
        expectTrue(expectOutcome([0xFE, 0xFF, 0, 0x61], nil).contains("(byte 0)"), "UTF-16")
    }

    private static let sample = Array(
        """
        // !$*UTF8*$!
        { name = "a \\U00e9\\101\\UD83D\\UDE42"; /* c */ list = (a, <0fbd77>, <*I5>, <[Zm9v]>, 'x',); empty = {}; }
        """.utf8)

    private static func testRefusesTruncatedText() {
        expectOutcome(
            sample,
            "{ key \"name\" string \"a éA\u{1F642}\" key \"list\" [ string \"a\" data 0fbd77 integer 5 data 666f6f string \"x\" ] key \"empty\" { } }"
        )
        let start = sample.firstIndex(of: UInt8(ascii: "{")) ?? 0
        // A single slash is a string; a single comment is an empty list.
        for end in sample.indices where end != 1 {
            let outcome = expectOutcome(Array(sample[..<end]), (2...start).contains(end) ? "{ }" : nil)
            if end == 0 || end > start { expectTrue(outcome.contains("! unexpectedEnd"), "\(end) bytes: \(outcome)") }
        }
        for text in [
            "", "/* a", "/* a *", "(", "{a", "{a=", "{a=b", "a = ", "a = b", "\"a", "'", "<", "<*", "<[", "<[]",
            "\"\\", "\"\\U",
        ] {
            let outcome = expectOutcome(Array(text.utf8), nil)
            expectTrue(outcome.contains("! unexpectedEnd"), "\(text): \(outcome)")
        }
    }

    private static func testEnforcesLimits() {
        let rows: [(String, StreamLimits, Bool)] = [
            ("((a))", StreamLimits(depth: 2), true), ("((a))", StreamLimits(depth: 1), false),
            ("a=b;", StreamLimits(depth: 0), false),
            ("(abc)", StreamLimits(stringByteCount: 3), true), ("(abcd)", StreamLimits(stringByteCount: 3), false),
            ("\"abc\"", StreamLimits(stringByteCount: 3), true), ("\"abcd\"", StreamLimits(stringByteCount: 3), false),
            ("\"ab\\n\\n\\Q", StreamLimits(stringByteCount: 3), false),
            ("<010203>", StreamLimits(stringByteCount: 3), true),
            ("<01020304>", StreamLimits(stringByteCount: 3), false), ("<*I55>", StreamLimits(numberByteCount: 3), true),
            ("<*I555>", StreamLimits(numberByteCount: 3), false), ("(a)", StreamLimits(totalByteCount: 3), true),
            ("(a)\n", StreamLimits(totalByteCount: 3), false), ("abc", StreamLimits(totalByteCount: 0), false),
        ]
        for (text, limits, isGood) in rows {
            let outcome = expectOutcome(Array(text.utf8), nil, OpenStepPlistReaderOptions(limits: limits))
            expectEqual(!outcome.contains("! limitExceeded"), isGood, "\(text): \(outcome)")
        }
    }

    private static func testReadsFromEverySource() throws {
        let expected = "{ key \"a\" string \"é\" }"
        let text = "{a = \"é\";}"
        var trace = EventTrace()
        try trace.readOpenStepPlist(text)
        expectEqual(trace.text, expected, "from a string")
        trace = EventTrace()
        try trace.readOpenStepPlist(Array(text.utf8))
        expectEqual(trace.text, expected, "from bytes")
        let path = try temporaryDirectory() + "/a.plist"
        var file = OpenStepPlistWriter()
        try EventScript.send(expected, to: &file)
        try file.finish()
        try Data(file.bytes).write(to: URL(fileURLWithPath: path))
        trace = EventTrace()
        try trace.readOpenStepPlist(.file(path))
        expectEqual(trace.text, expected, "from a file")
        var reader = OpenStepPlistReader(sink: EventTrace())
        let error = expectThrows(StreamError.self, "bad") { try reader.feed("}") }
        expectEqual(expectThrows(StreamError.self, "again") { try reader.finish() }, error, "the same error")
        reader.reset()
        try reader.feed(text)
        try reader.finish()
        expectEqual(reader.sink.text, expected, "after another")
        expectEqual(reader.byteOffset, text.utf8.count, "bytes")
    }

    // MARK: Writing

    private static func written(
        _ script: String, _ options: OpenStepPlistWriterOptions = OpenStepPlistWriterOptions()
    ) throws(StreamError) -> String {
        var writer = OpenStepPlistWriter(options: options)
        try EventScript.send(script, to: &writer)
        try writer.finish()
        return writer.text
    }

    private static func testWritesPrettyAndCompactText() throws {
        let script = "{ key \"a b\" [ string \"x\" string \"\" [ ] { } ] key \"c\" { key \"d\" data 0001020304 } }"
        expectEqual(
            try written(script),
            """
            {
                "a b" = (
                    x,
                    "",
                    (),
                    {}
                );
                c = {
                    d = <00010203 04>;
                };
            }

            """, "pretty")
        expectEqual(
            try written(script, OpenStepPlistWriterOptions(layout: .compact)),
            "{\"a b\" = (x,\"\",(),{});c = {d = <00010203 04>;};}", "compact")
        expectEqual(
            try written("[ string \"é\u{1F642}\u{1}2\u{7F}-/\" ]", OpenStepPlistWriterOptions(layout: .compact)),
            "(\"\\U00e9\\Ud83d\\Ude42\\0012\\177-/\")", "escapes")
        expectEqual(
            try written(
                "[ integer 5 unsigned 18446744073709551615 real 0.5 true false date 0.0 ]",
                OpenStepPlistWriterOptions(layout: .compact)),
            "(<*I5>,<*I18446744073709551615>,<*R0.5>,<*BY>,<*BN>,<*D2001-01-01 00:00:00 +0000>)", "typed")
    }

    private static func testReadsItsOwnOutput() throws {
        for script in [
            "string \"\"", "string \"a\"", "[ ]", "{ }", "data ", "data 00ff", "[ [ ] { } [ ] ]", "real inf",
            "real nan",
            "{ key \"\" { key \"ü \" [ integer 1 real 1.0 string \"1\" true false number 99999999999999999999 ] } key \"b\" date -1.0 }",
            "[ string \"\u{0}1\u{7F}\u{80}\u{FFFF}\u{10FFFF}/*//\" string \"\n\t\r\" string \"a;b\" string \"<>\" string \"-\" ]",
        ] {
            for layout in [OpenStepPlistWriterOptions.Layout.compact, .pretty(indent: 0), .pretty(indent: 3)] {
                let text = try written(script, OpenStepPlistWriterOptions(layout: layout))
                var trace = EventTrace()
                try trace.readOpenStepPlist(text)
                var expected = EventTrace()
                try EventScript.send(script, to: &expected)
                expectEqual(trace.text, expected.text, text)
            }
        }
    }

    private static func testFollowsOptions() throws {
        let strings = OpenStepPlistWriterOptions(layout: .compact, scalars: .strings, dateFractions: .roundDown)
        expectEqual(
            try written("[ true false integer -5 real 0.5 date 0.5 ]", strings),
            "(1,0,\"-5\",0.5,\"2001-01-01 00:00:00 +0000\")", "strings")
        let reject = OpenStepPlistWriterOptions(scalars: .reject)
        let rows: [(String, OpenStepPlistWriterOptions, StreamError.Kind)] = [
            ("[ true ]", reject, .unrepresentable), ("[ integer 1 ]", reject, .unrepresentable),
            ("[ real 1 ]", reject, .unrepresentable),
            ("[ date 0 ]", reject, .unrepresentable), ("[ null ]", strings, .unrepresentable),
            ("[ date 0.5 ]", OpenStepPlistWriterOptions(), .unrepresentable),
            ("number 1e400", strings, .unrepresentable),
            ("[ [ ] ]", OpenStepPlistWriterOptions(depthLimit: 1), .limitExceeded),
        ]
        for (script, options, kind) in rows {
            expectEqual(expectThrows(StreamError.self, script) { _ = try written(script, options) }?.kind, kind, script)
        }
    }

    private static func testRefusesMessagesOutOfOrder() {
        for script in [
            "", "[", "]", "}", "[ }", "{ ]", "{ integer 1 }", "{ key \"a\" }", "{ key \"a\" key \"b\" }", "key \"a\"",
            "integer 1 integer 2", "[ ] [ ]", "[ key \"a\"",
        ] {
            let error = expectThrows(StreamError.self, script) { _ = try written(script) }
            expectEqual(error?.kind, .misuse, script)
        }
    }

    private static func testRethrowsErrorsOfTheSink() throws {
        let error = expectThrows(StreamError.self, "no array of integers") {
            var builder = try ObjectBuilder<[Int]>()
            try builder.readOpenStepPlist("(<*I1>,\n <*BY>)")
        }
        expectEqual(error?.kind, .typeMismatch, "kind")
        expectEqual(error?.path?.description, "$[1]", "path")
        expectEqual(error?.position?.line, 2, "line")
    }

    private static func testReadsEmptyText() {
        for text in [" ", "\n", "// a", "// a\n", "/* x */", " /**/ // b", "\u{FEFF}", "\u{FEFF}/**/\n"] {
            expectOutcome(Array(text.utf8), "{ }")
        }
        expectOutcome([], "! unexpectedEnd expected a value, found the end of the input at line 1, column 1 (byte 0)")
        expectOutcome(
            Array("/* a".utf8),
            "! unexpectedEnd expected the end of a comment, found the end of the input at line 1, column 5 (byte 4)")
        let flat = OpenStepPlistReaderOptions(limits: StreamLimits(depth: 0))
        expectOutcome([0x20], "! limitExceeded more than 0 levels of nesting at line 1, column 2 (byte 1)", flat)
    }

    private static func testRefusesUTF16() {
        for bytes in [[0xFE, 0xFF, 0, 0x61], [0xFF, 0xFE, 0x61, 0]] as [[UInt8]] {
            expectOutcome(bytes, "! invalidText expected text in UTF-8, found UTF-16 at line 1, column 1 (byte 0)")
        }
    }
}
#endif
