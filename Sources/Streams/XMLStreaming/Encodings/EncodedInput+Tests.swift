// In-class tests of documents in every encoding, and of documents that declare a wrong encoding.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistStreaming

extension EncodedInput: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testReadsEveryEncoding": testReadsEveryEncoding,
            "testRefusesWrongClaims": testRefusesWrongClaims,
            "testReadsLongTextInEveryEncoding": testReadsLongTextInEveryEncoding,
        ]
    }

    private static func utf16(_ text: String, isLittle: Bool, mark: Bool = true) -> [UInt8] {
        ((mark ? [0xFEFF] : []) + Array(text.utf16)).flatMap { unit in
            isLittle ? [UInt8(unit & 0xFF), UInt8(unit >> 8)] : [UInt8(unit >> 8), UInt8(unit & 0xFF)]
        }
    }

    private static func expect(_ bytes: [UInt8], _ expected: String) {
        XMLOutcome.expect(bytes, expected, XMLReaderOptions(), String(decoding: bytes, as: UTF8.self))
    }

    private static func testReadsEveryEncoding() {
        expect([0xEF, 0xBB, 0xBF] + Array("<a>é</a>".utf8), #"<a> "é" </a> end"#)
        for isLittle in [true, false] {
            expect(utf16("<a>é€🙂</a>", isLittle: isLittle), #"<a> "é€🙂" </a> end"#)
            let declared = "<?xml version='1.0' encoding='UTF-16'?><a x='é'/>"
            let expected = #"xml 1.0 UTF-16 <a x="é"/> </a> end"#
            expect(utf16(declared, isLittle: isLittle), expected)
            expect(utf16(declared, isLittle: isLittle, mark: false), expected)
        }
        for (name, byte, character) in [("ISO-8859-1", 0xE9, "é"), ("windows-1252", 0x80, "€")]
            as [(String, UInt8, String)]
        {
            let start = Array("<?xml version='1.0' encoding='\(name)'?><a x='".utf8)
            let text = start + [byte] + Array("'>".utf8) + [byte, byte] + Array("</a>".utf8)
            expect(text, #"xml 1.0 \#(name) <a x="\#(character)"> "\#(character)\#(character)" </a> end"#)
        }
        expect(Array("<?xml version='1.0' encoding='us-ascii'?><a>x</a>".utf8), #"xml 1.0 us-ascii <a> "x" </a> end"#)
    }

    private static func testRefusesWrongClaims() {
        let ascii = Array("<?xml version='1.0' encoding='ASCII'?><a>x".utf8) + [0xC3, 0xA9]
        expect(ascii, #"xml 1.0 ASCII <a> "x" ! $.a: expected ASCII, found byte 195 at line 1, column 43 (byte 42)"#)
        expect(
            Array("<?xml version='1.0' encoding='UTF-16'?><a/>".utf8),
            "! the document is not in 'UTF-16', as its first bytes show at line 1, column 31 (byte 30)")
        expect(
            [0xEF, 0xBB, 0xBF] + Array("<?xml version='1.0' encoding='latin1'?><a/>".utf8),
            "! the document is not in 'latin1', as its first bytes show at line 1, column 31 (byte 33)")
        expect(
            utf16("<?xml version='1.0' encoding='UTF-8'?><a/>", isLittle: true),
            "! the document is not in 'UTF-8', as its first bytes show at line 1, column 31 (byte 62)")
        expect(
            Array("<?xml version='1.0' encoding='EBCDIC'?><a/>".utf8),
            "! the encoding 'EBCDIC' is not supported at line 1, column 31 (byte 30)")
        expect([0, 0, 0xFE, 0xFF], "! the encoding is not supported at line 1, column 1 (byte 0)")
        expect(
            utf16("<a>", isLittle: false) + [0xD8, 0, 0, 0x61],
            "<a> ! $.a: expected UTF-16, found half a surrogate pair at line 1, column 4 (byte 8)")
        for (text, shown, column) in [
            ("<a>\r\n", "\"\\u{a}\" ", 1), ("<a>]", "", 5), ("<a x='", "", 7), ("<a>&am", "", 7),
            ("<!DOCTYPE a [<!ELEMENT a (#PCDATA)>\n]>\n", "", 1),
        ] {
            let start =
                text.hasPrefix("<a>")
                ? "<a> \(shown)! $.a: " : text.hasPrefix("<!") ? "doctype a [<!ELEMENT a (#PCDATA)>\n] ! " : "! "
            let line = text.utf8.count { $0 == 0x0A } + 1
            let place = "at line \(line), column \(column) (byte \(2 * text.utf8.count + 2))"
            expect(
                utf16(text, isLittle: true) + [0xDB, 0xDB, 0xDB, 0xDB, 0x64, 0],
                start + "expected UTF-16, found half a surrogate pair " + place)
        }
        expect(
            utf16("<a>é", isLittle: false) + [0x20],
            #"<a> "é" ! $.a: the input ends within a character at line 1, column 6 (byte 10)"#)
        expect(
            Array("<?xml version='1.0' encoding='windows-1252'?>\n<a>".utf8) + [0xE9, 0x81],
            #"xml 1.0 windows-1252 <a> "é" ! $.a: expected Windows-1252, found byte 129 at line 2, column 6 (byte 50)"#)
    }

    /// Tests documents that are longer than the bytes decoded at a time.
    private static func testReadsLongTextInEveryEncoding() throws {
        let body = "<a>" + String(repeating: "<b x='é'>ö\n</b>", count: 1_200) + "</a>"
        var expected = XMLTrace()
        try expected.readXML(body)
        let latin = Array("<?xml version='1.0' encoding='latin1'?>".utf8) + body.unicodeScalars.map { UInt8($0.value) }
        for bytes in [utf16(body, isLittle: true), utf16(body, isLittle: false), latin] {
            for size in [997, .max] {
                var reader = XMLReader(sink: XMLTrace())
                var start = 0
                while start < bytes.count {
                    let end = size < bytes.count - start ? start + size : bytes.count
                    try reader.feed(Array(bytes[start..<end]))
                    start = end
                }
                try reader.finish()
                let events = reader.sink.events.drop { $0.hasPrefix("xml") }
                expectTrue(events.elementsEqual(expected.events), "pieces of \(size)")
            }
        }
    }
}
#endif
