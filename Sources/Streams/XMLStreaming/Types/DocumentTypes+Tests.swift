// In-class tests of document types: entities, defaults, types of attributes, and their limits.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistStreaming

enum DocumentTypeTests {}

extension DocumentTypeTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testReportsDocumentType": testReportsDocumentType,
            "testReplacesEntities": testReplacesEntities,
            "testAppliesDeclaredAttributes": testAppliesDeclaredAttributes,
            "testSkipsExternalEntities": testSkipsExternalEntities,
            "testFollowsStandaloneDeclaration": testFollowsStandaloneDeclaration,
            "testListsOnlyDefaultAttributes": testListsOnlyDefaultAttributes,
            "testRefusesInvalidDeclarations": testRefusesInvalidDeclarations,
            "testLimitsEntityExpansion": testLimitsEntityExpansion,
            "testEnforcesLimits": testEnforcesLimits,
        ]
    }

    private static func testReportsDocumentType() {
        XMLOutcome.expect("<!DOCTYPE a><a/>", "doctype a <a/> </a> end")
        XMLOutcome.expect(
            "<!DOCTYPE a SYSTEM 'x'  [<!ELEMENT a (b|(c,d?)*)+><!-- ] --> %p;] ><a/>",
            #"doctype a system "x" [<!ELEMENT a (b|(c,d?)*)+><!-- ] --> %p;] <a/> </a> end"#)
        XMLOutcome.expect(
            "<!DOCTYPE a PUBLIC \" p\n q \" 'x\"'><a/>", #"doctype a public "p q" system "x\u{22}" <a/> </a> end"#)
        XMLOutcome.expect(
            "<!DOCTYPE a><!DOCTYPE a><a/>",
            "doctype a ! expected '--' after '<!' at line 1, column 13 (byte 12)")
        XMLOutcome.expect(
            "<!DOCTYPE a []><a/>", "! expected no document type declaration at line 1, column 1 (byte 0)",
            XMLReaderOptions(documentTypes: .reject))
    }

    /// Expects an outcome after the document type.
    private static func expect(
        _ subset: String, _ body: String, _ expected: String, _ options: XMLReaderOptions = .init()
    ) {
        XMLOutcome.expect("<!DOCTYPE a [\(subset)]>\(body)", "doctype a [\(subset)] \(expected)", options)
    }

    private static func testReplacesEntities() {
        expect("<!ENTITY e 'x&#38;#60;y'>", "<a>1&e;2</a>", ##"<a> "1x<y2" </a> end"##)
        expect("<!ENTITY e '<b>&f;</b>'><!ENTITY f '&#13;z'>", "<a>&e;</a>", ##"<a> <b> "\u{d}z" </b> </a> end"##)
        expect("<!ENTITY e ''><!ENTITY e 'second'>", "<a>&e;</a>", "<a> </a> end")
        expect("<!ENTITY e '&#60;![CDATA[]]&#62;'>", "<a>&e;x</a>", #"<a> "x" </a> end"#)
        expect("<!ENTITY % p '<!ENTITY e \"1\">'>%p;", "<a>&e;</a>", #"<a> "1" </a> end"#)
        expect("<!ENTITY e 'a\tb&#9;c&#38;lt;'>", "<a x='&e;'/>", ##"<a x="a b c<"/> </a> end"##)
        expect(
            "<!ENTITY e '<b>'>", "<a>&e;</b></a>",
            "<a> <b> ! $.a.b: what began in an entity does not end in it at line 1, column 36 (byte 35)")
        expect(
            "<!ENTITY e '</a>'>", "<a>&e;",
            "<a> ! $.a: an end tag in an entity ends an element outside of it at line 1, column 37 (byte 36)")
        expect(
            "<!ENTITY e '&#60;b'>", "<a>\n&e;</a>",
            #"<a> "\u{a}" ! $.a: the text of an entity ends within a part that began in it at line 2, column 1 (byte 39)"#
        )
        expect(
            "<!ENTITY e '&#60;'>", "<a x='&e;'/>",
            "! expected no '<' in the value of an attribute at line 1, column 41 (byte 40)")
        expect("<!ENTITY e '&e;'>", "<a>&e;</a>", "<a> ! $.a: an entity contains itself at line 1, column 36 (byte 35)")
        expect(
            "<!ENTITY e '&f;'><!ENTITY f '&e;'>", "<a x='&e;'/>",
            "! an entity contains itself at line 1, column 56 (byte 55)")
    }

    private static func testAppliesDeclaredAttributes() {
        expect(
            "<!ATTLIST a x NMTOKENS #IMPLIED y CDATA ' d&#10; '>", "<a x='  1 \n 2 '/>",
            ##"<a x="1 2" y:=" d\u{a} "/> </a> end"##)
        expect("<!ATTLIST a x (p|q) ' q ' x CDATA 'no'>", "<a/>", #"<a x:="q"/> </a> end"#)
        expect("<!ATTLIST a xmlns CDATA #FIXED 'u'>", "<a/>", #"<{u}a xmlns="u"/> </{u}a> end"#)
        expect("<!ENTITY e 'v'><!ATTLIST a x CDATA '&e;'>", "<a/>", #"<a x:="v"/> </a> end"#)
        expect("<!ATTLIST b x CDATA '1'>", "<a><b x='2'/></a>", #"<a> <b x="2"/> </b> </a> end"#)
    }

    private static func testSkipsExternalEntities() {
        expect("<!ENTITY e SYSTEM 'file:///etc/passwd'>", "<a>&e;</a>", "<a> skipped &e; </a> end")
        expect("%p;", "<a x='1&e;2'>&e;</a>", #"<a x="12"> skipped &e; </a> end"#)
        expect("%p;<!ENTITY e '1'>", "<a>&e;</a>", "<a> skipped &e; </a> end")
        // Any reference to a parameter entity has this effect, even if the entity was read.
        expect("<!ENTITY % p ''>%p;", "<a x='1&e;2'>&e;</a>", #"<a x="12"> skipped &e; </a> end"#)
        expect("<!ATTLIST a x CDATA '1&e;'>%p;", "<a>&e;</a>", #"<a x:="1"> skipped &e; </a> end"#)
        expect(
            "<!ENTITY % p ''>", "<a>&e;</a>",
            "<a> ! $.a: the entity 'e' is not declared at line 1, column 35 (byte 34)")
        XMLOutcome.expect(
            "<!DOCTYPE a [<!ATTLIST a x CDATA '&e;'><!ENTITY e ''>]><a/>",
            "! the entity 'e' is not declared at line 1, column 35 (byte 34)")
        XMLOutcome.expect(
            "<!DOCTYPE a [<!ENTITY e '&#38;f;'><!ATTLIST a x CDATA '-&e;'>]><a/>",
            "! the entity 'f' is not declared at line 1, column 57 (byte 56)")
        expect(
            "<!ENTITY e SYSTEM 'x'>", "<a>&e;</a>",
            "<a> ! $.a: the entity 'e' is not in the document at line 1, column 41 (byte 40)",
            XMLReaderOptions(externalEntities: .reject))
        expect(
            "%p;", "<a x='1&e;'/>", "! the entity 'e' is not in the document at line 1, column 26 (byte 25)",
            XMLReaderOptions(externalEntities: .reject))
        expect(
            "<!ENTITY e SYSTEM 'x'>", "<a x='&e;'/>",
            "! expected no reference to an external entity in the value of an attribute at line 1, column 44 (byte 43)")
        expect(
            "<!ENTITY e SYSTEM 'x' NDATA n>", "<a>&e;</a>",
            "<a> ! $.a: expected an entity with text, found the unparsed 'e' at line 1, column 50 (byte 49)")
        XMLOutcome.expect(
            "<?xml version='1.0' standalone='yes'?><!DOCTYPE a SYSTEM 'x'><a>&e;</a>",
            #"xml 1.0 yes doctype a system "x" <a> ! $.a: the entity 'e' is not declared at line 1, column 65 (byte 64)"#
        )
    }

    private static func testFollowsStandaloneDeclaration() {
        let start = "<?xml version='1.0' standalone='yes'?><!DOCTYPE a ["
        let parameter = "<!ENTITY % p '<!ENTITY e \"1\"><!ATTLIST a x CDATA \"&e;&f;\">'>%p;"
        XMLOutcome.expect(
            "\(start)\(parameter)]><a/>", #"xml 1.0 yes doctype a [\#(parameter)] <a x:="1"/> </a> end"#)
        XMLOutcome.expect(
            "\(start)\(parameter)]><a>&e;</a>",
            #"xml 1.0 yes doctype a [\#(parameter)] <a x:="1"> "#
                + "! $.a: the entity 'e' is declared only in a parameter entity at line 1, column 120 (byte 119)")
        XMLOutcome.expect(
            "\(start)%p;]><a>&f;</a>",
            "xml 1.0 yes doctype a [%p;] <a> ! $.a: the entity 'f' is not declared at line 1, column 60 (byte 59)")
    }

    /// Tests that the list searched for each tag has only the attributes with defaults. The other attributes are found by
    /// name.
    private static func testListsOnlyDefaultAttributes() {
        let types = DocumentTypes()
        let name = Array("a".utf8)
        for index in 0..<100 {
            let value: [UInt8]? = index % 40 == 7 ? [] : nil
            types.declare(.init(name: [UInt8(index)], isTokenized: true, defaultValue: value), of: name)
            types.declare(.init(name: [UInt8(index)], isTokenized: true, defaultValue: name), of: name)
        }
        expectEqual(types.attributeCount, 100, "declared once each")
        let list = "a".withUTF8Span { types.attributes(of: $0) }
        expectEqual(list?.defaulted, [7, 47, 87], "with defaults")
    }

    private static func testRefusesInvalidDeclarations() {
        let rows = [
            ("<!ELEMENT a (b,c|d)>", "expected ',' or ')', found '|' at line 1, column 30 (byte 29)"),
            ("<!ELEMENT a (#PCDATA|b)>", "expected '*', found '>' at line 1, column 37 (byte 36)"),
            (
                "<!ATTLIST a x NUMBER '1'>",
                "expected the type of an attribute, found 'N' at line 1, column 28 (byte 27)"
            ),
            (
                "<!ENTITY e '%p;'>",
                "expected no reference to a parameter entity within a declaration, found '%' at line 1, column 26 (byte 25)"
            ),
            ("<![INCLUDE[]]>", "expected a declaration, found '<' at line 1, column 14 (byte 13)"),
            ("<!ENTITY p:e 'x'>", "expected no colon in a name at line 1, column 23 (byte 22)"),
            (
                "<!ENTITY % p '<!ELEMENT'>%p;",
                "the text of a parameter entity ends within a declaration at line 1, column 39 (byte 38)"
            ),
            ("x", "expected a declaration or ']', found 'x' at line 1, column 14 (byte 13)"),
        ]
        for (subset, expected) in rows { XMLOutcome.expect("<!DOCTYPE a [\(subset)]><a/>", "! " + expected) }
        XMLOutcome.expect(
            "<!DOCTYPE a [<!--", "! the input ends within a document type declaration at line 1, column 18 (byte 17)")
    }

    private static func testLimitsEntityExpansion() throws {
        var laughs = "<!DOCTYPE a [<!ENTITY l0 'ha'>"
        for level in 1...9 {
            laughs += "<!ENTITY l\(level) '" + String(repeating: "&l\(level - 1);", count: 10) + "'>"
        }
        let blowUp = "<!DOCTYPE a [<!ENTITY e '" + String(repeating: "x", count: 2_000) + "'>]><a>"
        let texts = [
            laughs + "]><a>&l9;</a>", laughs + "]><a x='&l9;'/>", laughs + "<!ATTLIST a x CDATA '&l9;'>]><a/>",
            blowUp + String(repeating: "&e;", count: 2_000) + "</a>",
            "<!DOCTYPE a [<!ENTITY e ''>]><a>" + String(repeating: "&e;", count: 5_000) + "</a>",
            "<!DOCTYPE a [<!ENTITY % p '<!-- -->'>" + String(repeating: "%p;", count: 6_000) + "]><a/>",
            "<!DOCTYPE a [<!ATTLIST b x CDATA '" + String(repeating: "x", count: 2_000) + "'>]><a>"
                + String(repeating: "<b/>", count: 2_000) + "</a>",
        ]
        for (index, text) in texts.enumerated() {
            var sink = ByteCount()
            let isAllowed = index == 4
            do throws(StreamError) {
                try sink.readXML(text, options: XMLReaderOptions(expansionByteLimit: 1 << 14))
                expectTrue(isAllowed, "text \(index) was accepted")
            } catch {
                expectEqual(error.kind, isAllowed ? nil : .limitExceeded, "text \(index): \(error)")
            }
            expectTrue(sink.byteCount < 1 << 19, "\(sink.byteCount) bytes of text \(index)")
        }
    }

    private struct ByteCount: XMLSink {
        var byteCount = 0
        mutating func startElement(_ tag: borrowing XMLStartTag) throws(StreamError) -> XMLInterest {
            for index in 0..<tag.attributes.count { byteCount += tag.attributes[index].value.byteCount }
            return .content
        }
        mutating func text(_ text: borrowing XMLText) throws(StreamError) { byteCount += text.utf8.byteCount }
    }

    private static func testEnforcesLimits() {
        var limits = StreamLimits(depth: 2, stringByteCount: 40)
        XMLOutcome.expect(
            "<a><b><c/></b></a>",
            "<a> <b> ! $.a.b: more than 2 levels of elements at line 1, column 7 (byte 6)",
            XMLReaderOptions(limits: limits))
        XMLOutcome.expect(
            "<a><!--\(String(repeating: "x", count: 60))--></a>",
            "<a> ! $.a: more than 40 bytes of markup at line 1, column 4 (byte 3)",
            XMLReaderOptions(limits: limits))
        limits = StreamLimits(totalByteCount: 5)
        XMLOutcome.expect(
            "<a>xyz</a>", #"<a> "xy" ! $.a: more than 5 bytes of input at line 1, column 6 (byte 5)"#,
            XMLReaderOptions(limits: limits))
        XMLOutcome.expect(
            "<abcd/>", "! more than 3 bytes in a name at line 1, column 2 (byte 1)",
            XMLReaderOptions(nameByteLimit: 3))
        XMLOutcome.expect(
            "<a b='' c='' d=''/>", "! more than 2 attributes at line 1, column 14 (byte 13)",
            XMLReaderOptions(attributeLimit: 2))
        XMLOutcome.expect(
            "<!DOCTYPE a [<!ENTITY e '1'><!ENTITY f '1'>]><a/>",
            "! more than 1 entities at line 1, column 38 (byte 37)",
            XMLReaderOptions(entityLimit: 1))
        XMLOutcome.expect(
            "<!DOCTYPE a [<!ATTLIST a b ID #IMPLIED><!ATTLIST c d ID #IMPLIED>]><a/>",
            "! more than 1 declared attributes at line 1, column 52 (byte 51)",
            XMLReaderOptions(declaredAttributeLimit: 1))
        limits = StreamLimits(stringByteCount: 60)
        let entity = "<!ENTITY e '\(String(repeating: "x", count: 30))'>"
        expect(
            entity, "<a x='&e;&e;'/>", "<a x=\"\(String(repeating: "x", count: 60))\"/> </a> end",
            XMLReaderOptions(limits: limits))
        expect(
            entity, "<a x='&e;' y='&e;&e;'/>",
            "! more than 60 bytes of values in a tag at line 1, column 77 (byte 76)", XMLReaderOptions(limits: limits))
        expect(
            "<!ENTITY e '&f;'><!ENTITY f '1'>", "<a>&e;</a>",
            "<a> ! $.a: more than 1 levels of entities at line 1, column 51 (byte 50)",
            XMLReaderOptions(entityDepthLimit: 1))
    }
}
#endif
