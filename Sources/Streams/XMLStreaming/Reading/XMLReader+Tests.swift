// In-class tests of documents and their messages, with each document read whole, byte by byte and at every split.

#if DEBUG || IN_CLASS_TESTS
import Foundation
import InClassTesting
import PlistBuilding
import PlistStreaming

/// Reads a document in pieces and returns the result as text.
enum XMLOutcome {
    /// Returns the messages, and the error with its position.
    static func of(_ pieces: [[UInt8]], _ options: XMLReaderOptions = XMLReaderOptions(), unwanted: Set<String> = [])
        -> String
    {
        var reader = XMLReader(sink: XMLTrace(unwanted: unwanted), options: options)
        do throws(StreamError) {
            for piece in pieces { try reader.feed(piece) }
            try reader.finish()
            return reader.sink.line
        } catch {
            let told = reader.sink.abandonment == error ? "" : " (the sink was told \(reader.sink.abandonment as Any))"
            return (reader.sink.line.isEmpty ? "" : reader.sink.line + " ") + "! \(error)\(told)"
        }
    }

    /// Expects the same outcome for every division of a document.
    static func expect(
        _ text: [UInt8], _ expected: String, _ options: XMLReaderOptions = XMLReaderOptions(),
        unwanted: Set<String> = [],
        _ name: String
    ) {
        var plain = options
        plain.usesPlainScan = true
        for options in [options, plain] {
            let whole = of([text], options, unwanted: unwanted)
            if whole != expected { expectEqual(whole, expected, "\(name) whole") }
            let bytes = of(text.map { [$0] }, options, unwanted: unwanted)
            if bytes != expected { expectEqual(bytes, expected, "\(name) byte by byte") }
            for split in 0...text.count {
                let parts = of([Array(text[..<split]), Array(text[split...])], options, unwanted: unwanted)
                if parts != expected { expectEqual(parts, expected, "\(name) split at \(split)") }
            }
        }
    }

    static func expect(_ text: String, _ expected: String, _ options: XMLReaderOptions = XMLReaderOptions()) {
        expect(Array(text.utf8), expected, options, text)
    }
}

enum XMLReaderTests {}

extension XMLReaderTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testReadsElements": testReadsElements,
            "testReadsText": testReadsText,
            "testReadsAttributes": testReadsAttributes,
            "testReadsNamespaces": testReadsNamespaces,
            "testReadsOtherMarkup": testReadsOtherMarkup,
            "testReportsLocationOfErrors": testReportsLocationOfErrors,
            "testSkipsUnwantedElements": testSkipsUnwantedElements,
            "testReportsRangesOfMarkup": testReportsRangesOfMarkup,
            "testDistinguishesEmptyElementTags": testDistinguishesEmptyElementTags,
            "testNeverSplitsCharacters": testNeverSplitsCharacters,
            "testReadsFromEverySource": testReadsFromEverySource,
        ]
    }

    private static func expectRows(_ rows: [(String, String)], _ options: XMLReaderOptions = XMLReaderOptions()) {
        for (text, expected) in rows { XMLOutcome.expect(text, expected, options) }
    }

    private static func testReadsElements() {
        expectRows([
            ("<a/>", "<a/> </a> end"), ("<a></a >", "<a> </a> end"),
            ("\n<a><b/><b ></b></a>\n", "<a> <b/> </b> <b> </b> </a> end"),
            ("<é·1/>", "<é·1/> </é·1> end"), ("<a", "! the input ends within a tag at line 1, column 3 (byte 2)"),
            ("", "! expected a root element, found the end of the input at line 1, column 1 (byte 0)"),
            ("<a>", "<a> ! $.a: expected '</a>', found the end of the input at line 1, column 4 (byte 3)"),
            ("<a></b>", "<a> ! $.a: expected '</a>', found '</b>' at line 1, column 4 (byte 3)"),
            ("<a></a b>", "<a> ! $.a: expected '>' in an end tag, found 'b' at line 1, column 8 (byte 7)"),
            (
                "<a/><b/>",
                "<a/> </a> ! expected nothing after the root element, found a tag at line 1, column 5 (byte 4)"
            ),
            ("<a/>x", "<a/> </a> ! expected nothing after the root element, found 'x' at line 1, column 5 (byte 4)"),
            ("</a>", "! expected a start tag, found an end tag at line 1, column 1 (byte 0)"),
            ("<1/>", "! expected the name of an element, found '1' at line 1, column 2 (byte 1)"),
            ("< a/>", "! expected the name of an element, found U+0020 at line 1, column 2 (byte 1)"),
            ("<a/ >", "! expected '>' after '/', found U+0020 at line 1, column 4 (byte 3)"),
            ("<<<<", "! expected the name of an element, found '<' at line 1, column 2 (byte 1)"),
        ])
    }

    private static func testReadsText() {
        expectRows([
            ("<a>x y</a>", #"<a> "x y" </a> end"#), ("<a>\r\nx\r\ry\n</a>", #"<a> "\u{a}x\u{a}\u{a}y\u{a}" </a> end"#),
            ("<a>&lt;&#65;&#x1F642;&amp;&gt;&apos;&quot;</a>", ##"<a> "<A🙂&>'\u{22}" </a> end"##),
            ("<a>&#13;</a>", #"<a> "\u{d}" </a> end"#), ("<a>]]</a>", #"<a> "]]" </a> end"#),
            ("<a>x<![CDATA[<b>&]]]]>]</a>", #"<a> "x" cdata "<b>&]]" "]" </a> end"#),
            ("<a><![CDATA[]]><![CDATA[\r\n\r]]></a>", #"<a> cdata "\u{a}\u{a}" </a> end"#),
            ("<a>]]></a>", "<a> ! $.a: expected no ']]>' in text at line 1, column 4 (byte 3)"),
            ("<a>x]]]></a>", "<a> \"x]\" ! $.a: expected no ']]>' in text at line 1, column 6 (byte 5)"),
            ("<a>&b;</a>", "<a> ! $.a: the entity 'b' is not declared at line 1, column 4 (byte 3)"),
            ("<a>&;</a>", "<a> ! $.a: expected a name or '#' after '&', found ';' at line 1, column 5 (byte 4)"),
            ("<a>&lt </a>", "<a> ! $.a: expected ';' after a reference, found U+0020 at line 1, column 7 (byte 6)"),
            (
                "<a>&#0;</a>",
                "<a> ! $.a: expected a reference to a character that XML allows at line 1, column 4 (byte 3)"
            ),
            (
                "<a>&#99999999999999999999;</a>",
                "<a> ! $.a: expected a reference to a character that XML allows at line 1, column 4 (byte 3)"
            ),
            ("<a>&#x;</a>", "<a> ! $.a: expected a digit, found ';' at line 1, column 7 (byte 6)"),
            (
                "<a><![CDATA[x",
                #"<a> cdata "x" ! $.a: the input ends within a CDATA section at line 1, column 14 (byte 13)"#
            ),
        ])
    }

    private static func testReadsAttributes() {
        expectRows([
            ("<a b='c' d = \"e'\"/>", #"<a b="c" d="e'"/> </a> end"#),
            ("<a b=' x\ty\r\nz\r&#10;&lt;'/>", #"<a b=" x y z \u{a}<"/> </a> end"#),
            ("<a b='1' b='2'/>", "! the attribute 'b' appears twice at line 1, column 10 (byte 9)"),
            ("<a b='1'c='2'/>", "! expected white space, '/>' or '>' in a tag, found 'c' at line 1, column 9 (byte 8)"),
            ("<a b/>", "! expected '=' after the name of an attribute, found '/' at line 1, column 5 (byte 4)"),
            ("<a b=c/>", "! expected a value in quotes, found 'c' at line 1, column 6 (byte 5)"),
            ("<a b='<'/>", "! expected no '<' in the value of an attribute at line 1, column 7 (byte 6)"),
            ("<a b='&x;'/>", "! the entity 'x' is not declared at line 1, column 7 (byte 6)"),
            ("<a b='x", "! the input ends within a tag at line 1, column 8 (byte 7)"),
        ])
        let many = (0..<40).map { " n\($0)='\($0)'" }.joined()
        let shown = (0..<40).map { #" n\#($0)="\#($0)""# }.joined()
        expectRows([
            ("<a\(many)/>", "<a\(shown)/> </a> end"),
            ("<a\(many) n7=''/>", "! the attribute 'n7' appears twice at line 1, column 344 (byte 343)"),
        ])
    }

    private static func testReadsNamespaces() {
        expectRows([
            ("<a xmlns='u'><b/></a>", #"<{u}a xmlns="u"> <{u}b/> </{u}b> </{u}a> end"#),
            ("<p:a xmlns:p='u' p:x='1' x='2'/>", #"<{u}p:a {u}p:x="1" x="2" xmlns:p="u"/> </{u}p:a> end"#),
            ("<a xmlns='u'><b xmlns=''/><c/></a>", #"<{u}a xmlns="u"> <b xmlns=""/> </b> <{u}c/> </{u}c> </{u}a> end"#),
            ("<a xml:lang='x'/>", #"<a {http://www.w3.org/XML/1998/namespace}xml:lang="x"/> </a> end"#),
            ("<p:a/>", "! the prefix 'p' is not declared at line 1, column 2 (byte 1)"),
            ("<a p:x=''/>", "! the prefix 'p' is not declared at line 1, column 4 (byte 3)"),
            (
                "<a><b xmlns:p='u'/><p:c/></a>",
                #"<a> <b xmlns:p="u"/> </b> ! $.a: the prefix 'p' is not declared at line 1, column 21 (byte 20)"#
            ),
            (
                "<a xmlns:p='u' xmlns:q='u' p:x='' q:x=''/>",
                "! the attribute 'q:x' appears twice at line 1, column 35 (byte 34)"
            ),
            ("<xmlns:a/>", "! the prefix 'xmlns' can't be a prefix of elements at line 1, column 2 (byte 1)"),
            (
                "<a xmlns:p=''/>",
                "! expected a URI, since only the default namespace can be undeclared at line 1, column 4 (byte 3)"
            ),
            (
                "<a:b:c/>",
                "! expected a name with at most one colon, and a name on each side of it, found 'a:b:c' "
                    + "at line 1, column 2 (byte 1)"
            ),
            ("<a><?p:i?></a>", "<a> ! $.a: expected no colon in a target at line 1, column 6 (byte 5)"),
        ])
        expectRows(
            [("<a:b:c p:x='' xmlns='u'/>", #"<a:b:c p:x="" xmlns="u"/> </a:b:c> end"#)],
            XMLReaderOptions(knowsNamespaces: false))
    }

    private static func testReadsOtherMarkup() {
        expectRows([
            ("<?xml version='1.0'?><a/>", "xml 1.0 <a/> </a> end"),
            ("<?xml version=\"1.0\" encoding='utf-8' standalone = 'yes' ?>\n<a/>", "xml 1.0 utf-8 yes <a/> </a> end"),
            ("<!--x - y--><a><?b  c?d?><!----></a><?e?>", "<!--x - y--> <a> <?b c?d?> <!----> </a> <?e?> end"),
            ("<a><?b\r\nc\r\n?></a>", "<a> <?b c\n?> </a> end"),
            ("<!--a--b--><a/>", "! expected no '--' in a comment at line 1, column 6 (byte 5)"),
            ("<!--a--->", "! expected no '--' in a comment at line 1, column 6 (byte 5)"),
            ("<!-- x", "! the input ends within a comment at line 1, column 7 (byte 6)"),
            ("<?xml-style a?><a/>", "<?xml-style a?> <a/> </a> end"),
            (
                " <?xml version='1.0'?><a/>",
                "! an XML declaration is only allowed at the beginning, in lower case at line 1, column 2 (byte 1)"
            ),
            (
                "<?xml encoding='utf-8'?><a/>",
                "! expected 'version' in the XML declaration, found 'e' at line 1, column 7 (byte 6)"
            ),
            ("<?xml version='2.0'?><a/>", "! expected a version such as 1.0 at line 1, column 16 (byte 15)"),
            ("<?xml version='1.0' standalone='maybe'?><a/>", "! expected 'yes' or 'no' at line 1, column 33 (byte 32)"),
            ("<?a", "! the input ends within a processing instruction at line 1, column 4 (byte 3)"),
            ("<?a\u{1}?><a/>", "! expected a character that XML allows, found U+0001 at line 1, column 4 (byte 3)"),
            ("<!x><a/>", "! expected '--' or 'DOCTYPE' after '<!' at line 1, column 1 (byte 0)"),
            ("<a><!DOCTYPE a></a>", "<a> ! $.a: expected '--' or '[CDATA[' after '<!' at line 1, column 4 (byte 3)"),
        ])
    }

    private static func testReportsLocationOfErrors() {
        expectRows([
            (
                "<a>\n  <b>\r\n   &x;\n</b></a>",
                #"<a> "\u{a}  " <b> "\u{a}   " ! $.a.b: the entity 'x' is not declared at line 3, column 4 (byte 14)"#
            ),
            ("<é>\n€&x;", #"<é> "\u{a}€" ! $.é: the entity 'x' is not declared at line 2, column 4 (byte 8)"#),
            ("\n\n<a\n\nb=1>", "! expected a value in quotes, found '1' at line 5, column 3 (byte 8)"),
        ])
        let cases: [([UInt8], String)] = [
            (Array("<a>".utf8) + [0xC3], "<a> ! $.a: the input ends within a character at line 1, column 4 (byte 3)"),
            (Array("<a>x".utf8) + [0xC3, 0x28], "<a> \"x\" ! $.a: expected UTF-8 at line 1, column 5 (byte 4)"),
            (Array("<a b=\"".utf8) + [0xFF], "! expected UTF-8 at line 1, column 7 (byte 6)"),
            (
                Array("<a>]".utf8) + [0],
                "<a> ! $.a: expected a character that XML allows, found U+0000 at line 1, column 5 (byte 4)"
            ),
            (
                [0xEF, 0xBB, 0xBF] + Array("<a>\n&".utf8),
                "<a> \"\\u{a}\" ! $.a: the input ends within a reference at line 2, column 2 (byte 8)"
            ),
        ]
        for (bytes, expected) in cases { XMLOutcome.expect(bytes, expected, XMLReaderOptions(), "\(bytes)") }
    }

    private static func testSkipsUnwantedElements() {
        let rows = [
            ("<r><a>x<a><b/></a>&lt;<!--c--></a><c/></r>", "<r> <a> </a> <c/> </c> </r> end"),
            ("<r><a/>x</r>", "<r> <a/> </a> \"x\" </r> end"),
            ("<a><b></a>", "<a> ! $.a.b: expected '</b>', found '</a>' at line 1, column 7 (byte 6)"),
            ("<a><b x='1' x=''/></a>", "<a> ! $.a: the attribute 'x' appears twice at line 1, column 13 (byte 12)"),
            ("<a>", "<a> ! $.a: expected '</a>', found the end of the input at line 1, column 4 (byte 3)"),
        ]
        for (text, expected) in rows { XMLOutcome.expect(Array(text.utf8), expected, unwanted: ["a"], text) }
    }

    private static func testReportsRangesOfMarkup() throws {
        let text = "<?xml version='1.0'?>\n<a b='é'>x&lt;\r\ny<![CDATA[z]]><!--c--><?p?></a >"
        let expected = """
            xml 1.0 @0..<21 <a b="é"> @22..<32 "x" @32..<33 "<" @33..<37 "\\u{a}y" @37..<40 cdata "z" @49..<50 \
            <!--c--> @53..<61 <?p?> @61..<66 </a> @66..<71 end
            """
        var trace = XMLTrace(showsPlaces: true)
        try trace.readXML(text)
        expectEqual(trace.line, expected, "places")
        let bytes: [UInt8] = [0xFE, 0xFF] + "<a>é</a>".utf16.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
        var other = XMLTrace(showsPlaces: true)
        try other.readXML(bytes)
        expectEqual(other.line, "<a> @3..<6 \"é\" @6..<8 </a> @8..<12 end", "places of UTF-16")
    }

    private struct Ends: XMLSink {
        var areEmpty: [Bool] = []

        mutating func startElement(_ tag: borrowing XMLStartTag) throws(StreamError) -> XMLInterest { .content }
        mutating func endElement(_ tag: borrowing XMLEndTag) throws(StreamError) { areEmpty.append(tag.isEmptyElement) }
    }

    private static func testDistinguishesEmptyElementTags() throws {
        let text = "<!DOCTYPE a [<!ENTITY e '<c/>'>]><a><b/><b></b><b>&e;</b></a>"
        for pieces in [1, 7, text.utf8.count] {
            for isPlain in [false, true] {
                var options = XMLReaderOptions()
                options.usesPlainScan = isPlain
                var reader = XMLReader(sink: Ends(), options: options)
                let bytes = Array(text.utf8)
                for start in stride(from: 0, to: bytes.count, by: pieces) {
                    try reader.feed(Array(bytes[start..<min(start + pieces, bytes.count)]))
                }
                try reader.finish()
                expectEqual(reader.sink.areEmpty, [true, false, true, false, false], "by \(pieces)")
            }
        }
    }

    /// Tests names, values, comments and references with characters of two to four bytes, for a limit at any byte.
    private static func testNeverSplitsCharacters() {
        for character in ["é", "漢", "𐀀"] {
            let long = String(repeating: character, count: 30)
            for text in [
                "<\(long)/>", "<a \(long)='1'/>", "<a b='\(long)'/>", "<a><!--\(long)--></a>", "<a><?\(long)?></a>",
                "<a>&\(long);</a>", "<a></\(long)>",
            ] {
                for limit in (8...20).sampledInDebug(every: 4) {
                    let options = XMLReaderOptions(limits: StreamLimits(stringByteCount: limit))
                    let whole = XMLOutcome.of([Array(text.utf8)], options)
                    expectTrue(whole.contains("! "), "\(text), more than \(limit): \(whole)")
                    XMLOutcome.expect(Array(text.utf8), whole, options, "\(text), \(limit)")
                }
            }
        }
    }

    private static func testReadsFromEverySource() throws {
        var reader = XMLReader(sink: XMLTrace())
        try reader.feed("<a>")
        try reader.feed(Array("é".utf8))
        try reader.feed(Data("</a>".utf8))
        try reader.finish()
        expectEqual(reader.sink.line, "<a> \"é\" </a> end", "messages")
        expectEqual(reader.byteOffset, 9, "bytes")
        expectEqual(expectThrows(StreamError.self, "more") { try reader.feed("x") }?.kind, .misuse, "behind the end")
        reader.reset()
        reader.sink = XMLTrace()
        let error = expectThrows(StreamError.self, "a bad tag") { try reader.feed("<1>") }
        let again = expectThrows(StreamError.self, "again") { try reader.feed("<a/>") }
        expectEqual(again, error, "the same error")
        var missing = XMLTrace()
        let none = expectThrows(StreamError.self, "no file") { try missing.readXML(.file("/no/such/file")) }
        expectEqual(none?.kind, .cannotRead, "kind")
        expectEqual(missing.abandonment, none, "what the sink was told")
    }
}
#endif
