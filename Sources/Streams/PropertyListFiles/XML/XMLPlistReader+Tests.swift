// Tests of the reader of property lists in XML: the result is the same whole, byte by byte and at every split point.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistBuilding
import PlistStreaming

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

enum XMLPlistReaderTests {}

extension XMLPlistReaderTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testReadsValues": testReadsValues,
            "testReadsDocuments": testReadsDocuments,
            "testRefusesInvalidDocuments": testRefusesInvalidDocuments,
            "testRefusesTruncatedDocuments": testRefusesTruncatedDocuments,
            "testReadsItsOwnOutput": testReadsItsOwnOutput,
            "testEnforcesLimits": testEnforcesLimits,
            "testReadsFromEverySource": testReadsFromEverySource,
            "testIgnoresEncodingDeclarationsOfStrings": testIgnoresEncodingDeclarationsOfStrings,
            "testRethrowsErrorsOfTheSink": testRethrowsErrorsOfTheSink,
        ]
    }

    private static func outcome(
        _ chunks: [[UInt8]], _ options: XMLPlistReaderOptions = XMLPlistReaderOptions()
    ) -> String {
        var reader = XMLPlistReader(sink: EventTrace(), options: options)
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
        _ text: String, _ expected: String?, _ options: XMLPlistReaderOptions = XMLPlistReaderOptions(),
        line: UInt = #line
    ) -> String {
        let bytes = Array(text.utf8)
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

    private static func plist(_ content: String) -> String { "<plist version=\"1.0\">\(content)</plist>" }

    private static func testReadsValues() {
        let rows = [
            ("<integer>42</integer>", "integer 42"), ("<integer> -7\n</integer>", "integer -7"),
            ("<integer>0x1F</integer>", "integer 31"),
            ("<integer>-0xff</integer>", "integer -255"),
            ("<integer>0xFFFFFFFFFFFFFFFF</integer>", "unsigned 18446744073709551615"),
            ("<integer>18446744073709551615</integer>", "unsigned 18446744073709551615"),
            ("<integer>-9223372036854775808</integer>", "integer -9223372036854775808"),
            ("<integer>18446744073709551616</integer>", "number 18446744073709551616"),
            ("<integer>5<!-- c -->6</integer>", "integer 56"),
            ("<real>0.1</real>", "real 0.1"), ("<real>1</real>", "real 1.0"), ("<real>-1e300</real>", "real -1e+300"),
            ("<real>nan</real>", "real nan"),
            ("<real>+infinity</real>", "real inf"), ("<real>-INF</real>", "real -inf"), ("<true/>", "true"),
            ("<false></false>", "false"),
            ("<true ></true >", "true"), ("<true> \r\n\t</true>", "true"), ("<false> <!-- c -->&#32;</false>", "false"),
            ("<date>2001-01-01T00:00:01Z</date>", "date 1.0"),
            ("<date>\n1969-07-20T20:17:40Z </date>", "date -992490140.0"),
            ("<data>\n\tAP8=\n\t</data>", "data 00ff"), ("<data/>", "data "), ("<data> A P 8 = </data>", "data 00ff"),
            ("<string/>", "string \"\""),
            ("<string></string>", "string \"\""), ("<string> a\n </string>", "string \" a\\u{a} \""),
            ("<string>&lt;&amp;&gt;&apos;&quot;</string>", "string \"<&>'\\u{22}\""),
            ("<string>&#x41;&#8364;&#x1F642;</string>", "string \"A€\u{1F642}\""),
            ("<string>a<![CDATA[<b>&amp;]]>c</string>", "string \"a<b>&amp;c\""),
            ("<string>\r\na&#13;\rb</string>", "string \"\\u{a}a\\u{d}\\u{a}b\""),
            ("<string a=\"b\">x</string>", "string \"x\""), ("<array/>", "[ ]"), ("<dict/>", "{ }"),
            ("<array> <true/> <!-- c --> <array></array> </array>", "[ true [ ] ]"),
            ("<dict><key/><true/></dict>", "{ key \"\" true }"),
            (
                "<dict>\n<key>a b</key>\n<dict><key>ü</key><string>é</string></dict><key>a b</key><false/></dict>",
                "{ key \"a b\" { key \"ü\" string \"é\" } key \"a b\" false }"
            ),
            ("<dict><key>CF$UID</key><integer>5</integer></dict>", "{ key \"CF$UID\" integer 5 }"),
        ]
        for (content, expected) in rows { expectOutcome(plist(content), expected) }
    }

    private static func testReadsDocuments() {
        let head =
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n"
        expectOutcome(head + plist("\n<true/>\n") + "\n<!-- c -->\n", "true")
        expectOutcome("\u{FEFF}" + head + plist("<true/>"), "true")
        expectOutcome(
            "<!DOCTYPE plist [<!ENTITY a \"x&#x41;\">]>" + plist("<string>&a;&a;</string>"), "string \"xAxA\"")
        let latin =
            Array("<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><plist><string>".utf8) + [0xE9]
            + Array("</string></plist>".utf8)
        expectEqual(outcome([latin]), "string \"é\"", "Latin 1")
        let wide = Array(("\u{FEFF}" + plist("<string>é</string>")).utf16).flatMap {
            [UInt8($0 >> 8), UInt8($0 & 255)]
        }
        expectEqual(outcome([wide]), "string \"é\"", "UTF-16")
        expectEqual(outcome(wide.map { [$0] }), "string \"é\"", "UTF-16, byte by byte")
        // Entities that grow endlessly, and external entities.
        var types = "<!ENTITY a0 \"0123456789\">"
        for level in 1..<12 {
            types += "<!ENTITY a\(level) \"" + String(repeating: "&a\(level - 1);", count: 10) + "\">"
        }
        let laughs = outcome([Array(("<!DOCTYPE plist [\(types)]>" + plist("<string>&a11;</string>")).utf8)])
        expectTrue(laughs.hasPrefix("! limitExceeded"), laughs)
        for text in [
            "<!DOCTYPE plist [<!ENTITY a SYSTEM \"file:///etc/passwd\">]>" + plist("<string>&a;</string>"),
            head + plist("<string>&a;</string>"), plist("<string>&a;</string>"),
        ] {
            let outcome = expectOutcome(text, nil)
            expectTrue(outcome.hasPrefix("! "), outcome)
        }
    }

    private static func testRefusesInvalidDocuments() {
        for content in [
            "", " ", "x", "<true/><true/>", "<true/>x", "<foo/>", "<array><foo/></array>", "<plist><true/></plist>",
            "<key>a</key>", "<array><key>a</key></array>",
            "<array>x</array>", "<dict>x</dict>", "<dict><true/></dict>", "<dict><key>a</key></dict>",
            "<dict><key>a</key><key>b</key></dict>",
            "<dict><key>a</key><true/><true/></dict>", "<dict><key>a</key>x<true/></dict>", "<true>x</true>",
            "<true> x </true>", "<false>&#48;</false>", "<false><true/></false>",
            "<string>a<b/>c</string>", "<key>a<array/></key>", "<integer/>", "<integer></integer>",
            "<integer>x</integer>", "<integer>1.0</integer>",
            "<integer>1 2</integer>", "<integer>0x</integer>", "<integer>0x10000000000000000</integer>", "<real/>",
            "<real>x</real>", "<real>0x10</real>", "<real>1e400</real>",
            "<date/>", "<date>2001-01-01</date>", "<date>2001-01-01 00:00:00Z</date>",
            "<date>2001-01-01T00:00:00</date>", "<date>2001-02-30T00:00:00Z</date>",
            "<date>2001-01-01T00:00:00.5Z</date>", "<date>2001-01-01T00:00:00+01:00</date>", "<data>Zg</data>",
            "<data>Z*==</data>", "<Array/>", "<a:array xmlns:a=\"b\"/>",
        ] {
            let outcome = expectOutcome(plist(content), nil)
            expectTrue(
                outcome.contains("! invalidSyntax") || outcome.contains("! unrepresentable"), "\(content): \(outcome)")
            expectTrue(outcome.contains("(byte "), "\(content): \(outcome)")
        }
        for text in [
            "<true/>", "<Plist><true/></Plist>", "<dict/>", "<plist><true/></plist><plist/>", "<plist><true/></dict>",
            plist("<true/>") + "x",
        ] {
            let outcome = expectOutcome(text, nil)
            expectTrue(outcome.contains("! invalidSyntax"), "\(text): \(outcome)")
        }
        expectEqual(
            expectOutcome(plist("<dict>\n<key>a</key>\n</dict>"), nil),
            "{ key \"a\" ! invalidSyntax $.plist.dict: expected the value of a key, found </dict> at line 3, column 1 (byte 41)",
            "place")
    }

    private static let sample = plist(
        "<dict><key>a</key><array><integer>1</integer><string>x</string><data>AP8=</data></array></dict>")

    private static func testRefusesTruncatedDocuments() {
        expectOutcome(sample, "{ key \"a\" [ integer 1 string \"x\" data 00ff ] }")
        let bytes = Array(sample.utf8)
        for end in bytes.indices {
            let outcome = outcome([Array(bytes[..<end])])
            expectTrue(outcome.contains("! unexpectedEnd"), "\(end) bytes: \(outcome)")
        }
    }

    private static func testReadsItsOwnOutput() throws {
        for script in [
            "string \"\"", "string \"a\"", "[ ]", "{ }", "data ", "data 00ff", "[ [ ] { } [ ] ]", "real inf",
            "real nan", "real -0.0", "real 5e-324", "true", "date -63145526400.0",
            "{ key \"\" { key \"ü <&> \" [ integer 1 real 1.0 string \"1\" true false number 99999999999999999999 ] } key \"b\" date -1.0 }",
            "[ string \"\u{7F}\u{80}\u{FFFD}\u{10FFFF}]]>\" string \"\n\t\r \" string \"&amp;\" unsigned 18446744073709551615 integer -9223372036854775808 ]",
            "data \(String(repeating: "0123456789abcdef", count: 50))",
        ] {
            let text = try XMLPlistWriterTests.written(script)
            var trace = EventTrace()
            try trace.readXMLPlist(text)
            var expected = EventTrace()
            try EventScript.send(script, to: &expected)
            expectEqual(trace.text, expected.text, text)
        }
    }

    private static func testEnforcesLimits() {
        let rows: [(String, StreamLimits, Bool)] = [
            ("<array><array/></array>", StreamLimits(depth: 2), true),
            ("<array><array/></array>", StreamLimits(depth: 1), false),
            ("<string>abc</string>", StreamLimits(stringByteCount: 30), true),
            ("<string>\(String(repeating: "a", count: 31))</string>", StreamLimits(stringByteCount: 30), false),
            ("<integer>123</integer>", StreamLimits(numberByteCount: 3), true),
            ("<integer>1234</integer>", StreamLimits(numberByteCount: 3), false),
            ("<true/>", StreamLimits(totalByteCount: 36), true), ("<true/>", StreamLimits(totalByteCount: 35), false),
        ]
        for (content, limits, isGood) in rows {
            let outcome = expectOutcome(plist(content), nil, XMLPlistReaderOptions(limits: limits))
            expectEqual(!outcome.contains("! limitExceeded"), isGood, "\(content): \(outcome)")
        }
    }

    private static func testReadsFromEverySource() throws {
        let text = plist("<string>é</string>")
        let path = try temporaryDirectory() + "/a.plist"
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        var traces = [EventTrace](repeating: EventTrace(), count: 4)
        try traces[0].readXMLPlist(text)
        try traces[1].readXMLPlist(Array(text.utf8))
        try traces[2].readXMLPlist(Data(text.utf8))
        try traces[3].readXMLPlist(.file(path))
        expectEqual(traces.map(\.text), Array(repeating: "string \"é\"", count: 4), "texts")
        var reader = XMLPlistReader(sink: EventTrace())
        let error = expectThrows(StreamError.self, "bad") { try reader.feed("<dict/>") }
        expectEqual(expectThrows(StreamError.self, "again") { try reader.finish() }, error, "the same error")
        reader.reset()
        try reader.feed(text)
        try reader.finish()
        expectEqual(reader.sink.text, "string \"é\"", "after another")
        expectEqual(reader.byteOffset, text.utf8.count, "bytes")
        let missing = expectThrows(StreamError.self, "no file") {
            try traces[0].readXMLPlist(.file("/no/such/file"))
        }
        expectEqual(missing?.kind, .cannotRead, "kind")
    }

    /// An encoding declaration applies only to bytes, not to strings.
    private static func testIgnoresEncodingDeclarationsOfStrings() throws {
        for encoding in ["UTF-16", "ISO-8859-1", "none"] {
            let text = "<?xml version=\"1.0\" encoding=\"\(encoding)\"?><plist><string>é</string></plist>"
            var traces = [EventTrace](repeating: EventTrace(), count: 2)
            try traces[0].readXMLPlist(text)
            try traces[1].readPropertyList(text)
            var reader = XMLPlistReader(sink: EventTrace())
            try reader.feed(text)
            try reader.finish()
            expectEqual(traces.map(\.text) + [reader.sink.text], Array(repeating: "string \"é\"", count: 3), encoding)
            expectEqual(try XMLPropertyList.decode(String.self, from: text), "é", encoding)
        }
    }

    private static func testRethrowsErrorsOfTheSink() throws {
        var builder = try ObjectBuilder<[Int]>()
        let error = expectThrows(StreamError.self, "no array of integers") {
            try builder.readXMLPlist(plist("<array><integer>1</integer>\n<true/></array>"))
        }
        expectEqual(error?.kind, .typeMismatch, "kind")
        expectEqual(error?.path?.description, "$[1]", "path")
        expectEqual(error?.position?.line, 2, "line")
        try builder.readXMLPlist(plist("<array><integer>1</integer></array>"))
        expectEqual(try builder.takeResult(), [1], "the next one")
    }
}
#endif
