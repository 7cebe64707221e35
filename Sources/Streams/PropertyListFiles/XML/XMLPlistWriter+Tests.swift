// Tests of the writer of property lists in XML.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistStreaming

enum XMLPlistWriterTests {}

extension XMLPlistWriterTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testWritesAllTypes": testWritesAllTypes,
            "testWritesDataInLines": testWritesDataInLines,
            "testEscapesText": testEscapesText,
            "testRefusesUnrepresentableValues": testRefusesUnrepresentableValues,
            "testRefusesMessagesOutOfOrder": testRefusesMessagesOutOfOrder,
            "testIsReusableAfterReset": testIsReusableAfterReset,
        ]
    }

    static func written(
        _ script: String, _ options: XMLPlistWriterOptions = XMLPlistWriterOptions()
    ) throws(StreamError) -> String {
        var writer = XMLPlistWriter(options: options)
        try EventScript.send(script, to: &writer)
        try writer.finish()
        return writer.text
    }

    private static let head = """
        <?xml version="1.0" encoding="UTF-8"?>
        <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
        <plist version="1.0">

        """

    private static func testWritesAllTypes() throws {
        let text = try written(
            """
            { key "a" [ integer -5 unsigned 18446744073709551615 real 0.1 real -inf true false date 0.0 \
            number 170141183460469231731687303715884105727 ] key "é" { key "" string "x" key "e" [ ] key "f" { } } \
            key "data" data 00ff key "none" data 01 key "last" string "" }
            """)
        expectEqual(
            text,
            head + """
                <dict>
                \t<key>a</key>
                \t<array>
                \t\t<integer>-5</integer>
                \t\t<integer>18446744073709551615</integer>
                \t\t<real>0.1</real>
                \t\t<real>-infinity</real>
                \t\t<true/>
                \t\t<false/>
                \t\t<date>2001-01-01T00:00:00Z</date>
                \t\t<integer>170141183460469231731687303715884105727</integer>
                \t</array>
                \t<key>é</key>
                \t<dict>
                \t\t<key></key>
                \t\t<string>x</string>
                \t\t<key>e</key>
                \t\t<array/>
                \t\t<key>f</key>
                \t\t<dict/>
                \t</dict>
                \t<key>data</key>
                \t<data>
                \tAP8=
                \t</data>
                \t<key>none</key>
                \t<data>
                \tAQ==
                \t</data>
                \t<key>last</key>
                \t<string></string>
                </dict>
                </plist>

                """, "text")
        expectEqual(try written("[ ]"), head + "<array/>\n</plist>\n", "an empty root")
        expectEqual(try written("true"), head + "<true/>\n</plist>\n", "a root without children")
        expectEqual(try written("data "), head + "<data>\n</data>\n</plist>\n", "no data")
    }

    private static func testWritesDataInLines() throws {
        let hex = String(repeating: "07", count: 130)
        for (depth, lengths) in [
            (0, [76, 76, 24]), (3, [52, 52, 52, 20]), (8, [Int](repeating: 12, count: 14) + [8]),
        ] {
            let script =
                String(repeating: "[ ", count: depth) + "data \(hex)" + String(repeating: " ]", count: depth)
            let lines = try written(script).split(separator: "\n").filter { $0.contains("Bw") }
            expectEqual(lines.map { $0.drop { $0 == "\t" }.utf8.count }, lengths, "\(depth) tabs")
        }
    }

    private static func testEscapesText() throws {
        let text = try written("{ key \"<&>'\" string \"a\r\n\t]]>\u{7F}\u{FFFD}\u{1F642}\" }")
        expectTrue(text.contains("<key>&lt;&amp;&gt;'</key>"), "the key")
        expectTrue(text.contains("<string>a&#13;\n\t]]&gt;\u{7F}\u{FFFD}\u{1F642}</string>"), "the string")
    }

    private static func testRefusesUnrepresentableValues() throws {
        let rows: [(String, StreamError.Kind)] = [
            ("string \"\u{0}\"", .unrepresentable), ("string \"a\u{1F}\"", .unrepresentable),
            ("string \"\u{FFFE}\"", .unrepresentable),
            ("string \"\u{FFFF}\"", .unrepresentable), ("{ key \"\u{B}\" true }", .unrepresentable),
            ("[ null ]", .unrepresentable),
            ("date 0.5", .unrepresentable), ("date 1e15", .unrepresentable), ("number 1e400", .unrepresentable),
            ("number x", .misuse),
        ]
        for (script, kind) in rows {
            expectEqual(expectThrows(StreamError.self, script) { _ = try written(script) }?.kind, kind, script)
        }
        let rounded = XMLPlistWriterOptions(dateFractions: .roundDown)
        expectTrue(try written("date 0.5", rounded).contains("<date>2001-01-01T00:00:00Z</date>"), "rounded")
        let error = expectThrows(StreamError.self, "too deep") {
            _ = try written("[ [ ] ]", XMLPlistWriterOptions(depthLimit: 1))
        }
        expectEqual(error?.kind, .limitExceeded, "kind")
        let text = expectThrows(StreamError.self, "no UTF-8") {
            var writer = XMLPlistWriter()
            try [0x61, 0xC3].withRawSpan { (bytes) throws(StreamError) in try writer.writeString(bytes) }
        }
        expectEqual(text?.kind, .invalidText, "kind")
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

    private static func testIsReusableAfterReset() throws {
        var writer = XMLPlistWriter()
        try EventScript.send("[ [ true", to: &writer)
        writer.reset()
        try EventScript.send("[ true ]", to: &writer)
        try writer.finish()
        expectEqual(writer.text, head + "<array>\n\t<true/>\n</array>\n</plist>\n", "text")
    }
}
#endif
