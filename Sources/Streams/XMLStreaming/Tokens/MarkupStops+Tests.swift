// In-class tests that compare the fast path with the plain one. They read random changes of documents, whole and in random
// pieces.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistStreaming

enum MarkupStopsTests {}

extension MarkupStopsTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testAgreesWithPlainScan": testAgreesWithPlainScan,
            "testChecksCharactersAtEveryOffset": testChecksCharactersAtEveryOffset,
            "testReadsLongPartsOnce": testReadsLongPartsOnce,
        ]
    }

    private static let documents = [
        """
        <?xml version="1.0" encoding="UTF-8"?>
        <!DOCTYPE r [<!ENTITY e "<i>x&#38;amp;</i>"><!ATTLIST b c NMTOKENS " d  e " f CDATA #IMPLIED>]>
        <r xmlns="urn:a" xmlns:p="urn:b">\r
          <b p:x='1 &lt; "2"' x="größe\t&#x41;">text &amp; more, of some length, with an ü and a 🙂 in it ]] &e;</b>
          <!-- a comment - with quotes " ' --><?target data ?><p:c xml:lang="de"/><![CDATA[ <raw> & ]] ]]>
          <b>\r\n</b><d xmlns=""><e/></d>
        </r>
        """,
        """
        <feed xmlns="urn:a" xmlns:p="urn:b" xmlns:q='urn:b'>
          <entry id='1' p:kind="a>b" title="it's [here]" description='"x"'><p:value q:unit='kg' xml:lang="de">1 > 0</p:value></entry>
          <entry\n\tid='2'\n\tp:kind="c"/><link href="http://example.org/?a=1&amp;b=2"/><abcdefghijkl abcdefgh="" abcdefghijklmnopq='1'/>
          <p:entry>a ]] b "quoted" it's &lt;&gt;&amp;&quot;&apos;</p:entry><q:entry></q:entry>\r\n<x>\r\n</x>
        </feed>
        """,
        "<plist><dict>\n\t<key>a</key>\n\t<string>one</string>\n\t<key>b</key>\n\t<integer>2</integer>\n\t<true/>\n</dict></plist>",
    ]

    private static func testAgreesWithPlainScan() {
        var generator = TestRandom(seed: 20_261_123)
        let bytes: [UInt8] =
            Array("<>&;'\"=/!?-[] \r\n\tax:#%".utf8) + [0x00, 0x80, 0xC3, 0xBC, 0xEF, 0xBF, 0xBE, 0xFF]
        var plain = XMLReaderOptions()
        plain.usesPlainScan = true
        for round in 0..<600 {
            var text = Array(documents[round % documents.count].utf8)
            for _ in 0..<round % 4 {
                let place = Int.random(in: 0..<text.count, using: &generator)
                let byte = bytes.randomElement(using: &generator) ?? 0
                switch Int.random(in: 0..<3, using: &generator) {
                case 0: text[place] = byte
                case 1: text.insert(byte, at: place)
                default: text.removeSubrange(place..<min(text.count, place + Int.random(in: 1..<9, using: &generator)))
                }
            }
            let unwanted: Set<String> = round % 3 == 0 ? ["b", "dict"] : []
            let expected = XMLOutcome.of([text], plain, unwanted: unwanted)
            var pieces: [[UInt8]] = []
            var rest = text[...]
            while !rest.isEmpty {
                let count = Int.random(in: 1...200, using: &generator)
                pieces.append(Array(rest.prefix(count)))
                rest = rest.dropFirst(count)
            }
            let whole = XMLOutcome.of([text], unwanted: unwanted)
            if whole != expected { expectEqual(whole, expected, "round \(round), whole") }
            let parts = XMLOutcome.of(pieces, unwanted: unwanted)
            if parts != expected { expectEqual(parts, expected, "round \(round), pieces of \(pieces.map(\.count))") }
        }
    }

    private static func testChecksCharactersAtEveryOffset() {
        var plain = XMLReaderOptions()
        plain.usesPlainScan = true
        for character: [UInt8] in [
            [0x00], [0x1F], [0x7F], [0xC3, 0xA9], [0xEF, 0xBF, 0xBD], [0xEF, 0xBF, 0xBE], [0xEF, 0xBF, 0xBF],
            [0xED, 0xA0, 0x80], [0xF0, 0x9F, 0x99, 0x82], [0xEF, 0xBF], [0xBF, 0xEF, 0xBF], [0xE2, 0x82],
        ] {
            for place in [40, 58, 59, 60, 61, 62, 63, 64, 65, 120, 122, 123, 124, 125, 126, 127] {
                let text = Array("<a>".utf8) + [UInt8](repeating: 0x78, count: place) + character
                for tail in [[UInt8]](
                    arrayLiteral: [], Array("</a>".utf8), [UInt8](repeating: 0x79, count: 80) + Array("</a>".utf8))
                {
                    let expected = XMLOutcome.of([text + tail], plain)
                    let found = XMLOutcome.of([text + tail])
                    if found != expected { expectEqual(found, expected, "\(character) at \(place)") }
                }
            }
        }
    }

    /// Tests that parts longer than a window aren't read again and again: twice the bytes take twice the steps.
    private static func testReadsLongPartsOnce() throws {
        let long = String(repeating: "x", count: 300_000)
        for text in ["<a b='\(long)'/>", "<a><!--\(long)--></a>", "<a><?p \(long)?></a>", "<a>\(long)</a>"] {
            var whole = XMLTrace()
            try whole.readXML(text)
            let bytes = Array(text.utf8)
            var reader = XMLReader(sink: XMLTrace())
            for start in stride(from: 0, to: bytes.count, by: 1_000) {
                try reader.feed(Array(bytes[start..<min(start + 1_000, bytes.count)]))
            }
            try reader.finish()
            expectTrue(reader.sink.events == whole.events, "\(text.prefix(9))")
        }
    }
}
#endif
