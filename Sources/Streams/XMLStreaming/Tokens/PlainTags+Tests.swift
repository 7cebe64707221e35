// In-class tests that compare the fast path through tags and text with the plain one: names, places, and stops requested by
// the sink.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistStreaming

enum PlainTagsTests {}

extension PlainTagsTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testFindsSameNamesAsPlainScan": testFindsSameNamesAsPlainScan,
            "testAgreesWithPlainScanOnAllMarkup": testAgreesWithPlainScanOnAllMarkup,
            "testReportsSameRangesAsPlainScan": testReportsSameRangesAsPlainScan,
            "testStopsWhereTheSinkStops": testStopsWhereTheSinkStops,
            "testContinuesAcrossWindows": testContinuesAcrossWindows,
        ]
    }

    private static var plain: XMLReaderOptions {
        var options = XMLReaderOptions()
        options.usesPlainScan = true
        return options
    }

    private static func testFindsSameNamesAsPlainScan() {
        var generator = TestRandom(seed: 20_261_124)
        var known = KnownNames()
        let letters: [UInt8] = Array("azAZ_09-.:/;@[`{^<>\"= \n".utf8)
        for round in 0..<4_000 {
            let name = (0..<Int.random(in: 1...20, using: &generator)).map { _ in
                round % 2 == 0 || Int.random(in: 0..<9, using: &generator) == 0
                    ? letters.randomElement(using: &generator) ?? 0 : UInt8.random(in: 0x61...0x63, using: &generator)
            }
            let text = String(decoding: name, as: UTF8.self) + ">" + String(repeating: "\u{0}", count: 16)
            text.withUTF8Span { text in
                let extent = NameBytes.extent(in: text, from: 0)
                for found in [
                    PlainName(in: text, at: 0), known.name(in: text, at: 0, extent.end),
                    known.name(in: text, at: 0, extent.end),
                ] {
                    expectEqual(found.count, extent.isQualified ? extent.end : 0, "count of \(name)")
                    expectEqual(found.prefixCount, extent.isQualified ? max(0, extent.colon) : 0, "prefix of \(name)")
                }
            }
        }
    }

    /// Forms of a tag and of text. Enough text comes before each of them for the fast path.
    private static let forms = [
        "<b x='1' y=\"2\" z='>'/>", "<b\n\tx='1'\n\ty='2' >\r\n</b>", "<b x='1\t2'/>", "<b x='1\n2'></b>",
        "<b x=\"'\" y='\"'/>",
        "<b x='1' x='2'/>", "<b x='1' y='2' x='3'/>", "<b x='1'y='2'/>", "<b x = '1'/>", "<b x='&lt;' y='2'/>",
        "<b x='<'/>", "<b x='1'", "<b x=\"1'/>", "<b ='1'/>", "<b 1='1'/>", "<b x=''/>", "<b  x='' />", "<b/ >",
        "<b / >",
        "<p:b p:x='1'/>", "<p:b p:x='1' p:y='2'/>", "<b p:x='1' q:x='2'/>", "<b p:x='1' q:y='2'/>", "<q:b/>",
        "<n:b/>", "<b n:x='1'/>", "<:b/>", "<p:/>", "<p:b:c/>", "<p:1/>", "<xmlns:b/>", "<b xml:lang='de'/>",
        "<b xmlns:n='u'><n:c n:x='1'/></b><n:c/>", "<b xmlns='u'><c x='1'/></b><c/>", "<b xmlnsx='1'/>",
        "<b xmlns:p='u'><p:c/></b><p:c/>", "<p:b><p:b></p:b></p:b>", "<p:b></q:b>", "<é x='1'></é>", "<b é='1'/>",
        "<b x='é'/>",
        "<abcdefgh/>", "<abcdefghi/><abcdefgh/>", "<abcdefgh x='1'></abcdefgh>", "<abcdefghi></abcdefghj>",
        "<abcdefghijklmnopqrstuvw xyzabcdefghijklm='1'></abcdefghijklmnopqrstuvw>", "<b></c>", "<b></b >", "<b></bb>",
        "<b></",
        "</a>", "</a><!-- -->", "</a></a>", "</a> <b/>", "<b>]]</b>", "<b>]]></b>", "<b>></b>", "<b>]></b>",
        "<b>\r\r\n\r</b>",
        "&amp;&lt;&gt;&quot;&apos;", "&amp", "&ampx;", "&#65;", "&b;", "&lt;&#", "<b>\"'</b>", "<![CDATA[x]]>",
        "<!--x--><?y z?>", "<",
    ]

    private static func document(_ form: String) -> String {
        "<a xmlns:p='urn:p' xmlns:q='urn:p'>" + String(repeating: "<c>of some length</c> ", count: 5) + form
            + String(repeating: "<c d='e'>of some length</c> ", count: 4) + "</a>"
    }

    private static func testAgreesWithPlainScanOnAllMarkup() {
        for form in forms {
            let text = Array(document(form).utf8)
            for knowsNamespaces in [true, false] {
                var (fast, slow) = (XMLReaderOptions(), plain)
                fast.knowsNamespaces = knowsNamespaces
                slow.knowsNamespaces = knowsNamespaces
                let expected = XMLOutcome.of([text], slow)
                let whole = XMLOutcome.of([text], fast)
                if whole != expected { expectEqual(whole, expected, "\(form) whole") }
                for split in (64..<text.count).sampledInDebug(every: 7) {
                    let parts = XMLOutcome.of([Array(text[..<split]), Array(text[split...])], fast)
                    if parts != expected { expectEqual(parts, expected, "\(form) split at \(split)") }
                }
            }
        }
    }

    /// A sink that records the places of tags, and of text from markup to markup.
    private struct Places: XMLSink {
        var places: [Range<Int>] = []
        var endsWithText = false

        mutating func startElement(_ tag: borrowing XMLStartTag) throws(StreamError) -> XMLInterest {
            places.append(tag.place.byteRange)
            endsWithText = false
            return .content
        }
        mutating func endElement(_ tag: borrowing XMLEndTag) throws(StreamError) {
            places.append(tag.place.byteRange)
            endsWithText = false
        }
        mutating func text(_ text: borrowing XMLText) throws(StreamError) {
            if endsWithText, let last = places.last, last.upperBound == text.place.byteRange.lowerBound {
                places[places.count - 1] = last.lowerBound..<text.place.byteRange.upperBound
            } else {
                places.append(text.place.byteRange)
            }
            endsWithText = true
        }
    }

    private static func testReportsSameRangesAsPlainScan() {
        for form in forms {
            func places(_ options: XMLReaderOptions) -> [Range<Int>] {
                var sink = Places()
                do throws(StreamError) { try sink.readXML(document(form), options: options) } catch {}
                return sink.places
            }
            let (fast, slow) = (places(XMLReaderOptions()), places(plain))
            if fast != slow { expectEqual(fast, slow, "places of \(form)") }
        }
    }

    /// A sink that stops after a number of messages.
    private struct LimitedSink: XMLSink {
        var count: Int

        mutating func wait() throws(StreamError) {
            count -= 1
            if count < 0 { throw StreamError(.misuse, "enough") }
        }
        mutating func startElement(_ tag: borrowing XMLStartTag) throws(StreamError) -> XMLInterest {
            try wait()
            return tag.name.isSpelled("skipped") ? .skipChildren : .content
        }
        mutating func endElement(_ tag: borrowing XMLEndTag) throws(StreamError) { try wait() }
        mutating func text(_ text: borrowing XMLText) throws(StreamError) { try wait() }
    }

    private static func testStopsWhereTheSinkStops() {
        let text = document("<b x='1'>y\r\n&amp;<d/><skipped><d>\n</d>]]<e/></skipped></b>")
        for count in 0..<80 {
            func error(_ options: XMLReaderOptions) -> StreamError? {
                var sink = LimitedSink(count: count)
                do throws(StreamError) { try sink.readXML(text, options: options) } catch { return error }
                return nil
            }
            let (fast, slow) = (error(XMLReaderOptions()), error(plain))
            if fast != slow { expectEqual(fast, slow, "after \(count) messages") }
        }
    }

    /// Tests parts at all positions relative to the windows.
    private static func testContinuesAcrossWindows() throws {
        let line = "<record id='7' p:kind=\"some\">\n  <name>größe &amp; more</name><empty/>\r\n</record>\n"
        for shift in stride(from: 0, to: line.utf8.count, by: 4) {
            let text =
                "<a xmlns:p='urn:p'>" + String(repeating: " ", count: shift) + String(repeating: line, count: 220)
                + "</a>"
            var (fast, slow) = (XMLTrace(), XMLTrace())
            try fast.readXML(text)
            if shift % 16 == 0 {
                try slow.readXML(text, options: plain)
                expectTrue(fast.events == slow.events, "shifted by \(shift)")
            }
            expectEqual(fast.events.count, 220 * 10 + 4 - (shift == 0 ? 1 : 0), "events, shifted by \(shift)")
        }
    }
}
#endif
