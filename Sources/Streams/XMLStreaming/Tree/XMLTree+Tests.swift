// In-class tests of reading, writing and changing trees, and of the errors for invalid changes.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistStreaming

enum XMLTreeTests {}

extension XMLTreeTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testNavigatesNodes": testNavigatesNodes,
            "testFindsPathsAndDescribesElements": testFindsPathsAndDescribesElements,
            "testReadsEveryEncoding": testReadsEveryEncoding, "testDecodesElements": testDecodesElements,
            "testWritesRemovedElements": testWritesRemovedElements,
            "testResolvesNamespaces": testResolvesNamespaces,
            "testWritesUnchangedDocumentsByteForByte": testWritesUnchangedDocumentsByteForByte,
            "testRefusesToLoseEntities": testRefusesToLoseEntities,
            "testCreatesElementsLazily": testCreatesElementsLazily,
            "testRewritesOnlyChanges": testRewritesOnlyChanges,
            "testExpandsEntitiesThatAreChanged": testExpandsEntitiesThatAreChanged,
            "testConvertsOtherEncodingsToUTF8": testConvertsOtherEncodingsToUTF8,
            "testRefusesIllFormedChanges": testRefusesIllFormedChanges,
            "testStaysWellFormedAfterRandomChanges": testStaysWellFormedAfterRandomChanges,
            "testHandlesManyChildrenQuickly": testHandlesManyChildrenQuickly,
        ]
    }

    private static let document = """
        <?xml version='1.0'?>
        <!DOCTYPE a [<!ENTITY e "entity"><!ATTLIST b d CDATA "default">]>
        <!-- before --><a x = '1'  y="&lt;2">
          <b>text &amp; &e;</b> <b/>tail<![CDATA[<c>]]>
          <n:c xmlns:n="urn:n" n:z='3'><n:d>deep</n:d></n:c><?go on?><!--c-->
        </a>
        <?end?>

        """

    private static func testNavigatesNodes() throws {
        for depth in [Int.max, 1, 2] {
            let tree = try XMLTree(document, options: XMLTreeOptions(depth: depth))
            let root = tree.root
            expectEqual(root.name, "a", "the root")
            expectEqual(root.elements.map(\.name), ["b", "b", "n:c"], "elements")
            expectEqual(
                root.children.map(\.kind),
                [.element, .element, .text, .element, .processingInstruction, .comment], "children")
            expectEqual(root.attribute("y"), "<2", "an attribute")
            expectNil(root.attribute("z"), "no attribute")
            expectEqual(root.first("b")?.attributes.map(\.value), ["default"], "a default")
            expectEqual(root.first("b")?.text, "text & entity", "text")
            expectEqual(root.elements("b").map(\.text), ["text & entity", ""], "texts")
            expectEqual(root.text, "text & entitytail<c>\n  deep", "all text")
            expectEqual(root.children.map(\.path)[2], "/a/text()", "the path of a text")
            expectEqual(root.elements[1].path, "/a/b[2]", "the path of the second one")
            expectEqual(root.first("n:c")?.first("n:d")?.path, "/a/n:c/n:d", "a path")
            expectEqual(root.lastChild?.text, "c", "the last child")
            expectEqual(root.lastChild?.previous?.name, "go", "a processing instruction")
            expectNil(root.firstChild?.previous, "before the first child")
            expectNil(root.lastChild?.next, "behind the last child")
            expectEqual(root.first("n:c")?.first("n:d")?.parent?.parent, root, "the parent's parent")
            expectEqual(root.parent?.kind, .document, "around the root")
            expectEqual(
                tree.documentNode.children.map(\.kind), [.comment, .element, .processingInstruction], "the document")
            let range = root.first("n:c")?.byteRange ?? 0..<0
            expectEqual(String(decoding: Array(document.utf8)[range], as: UTF8.self).prefix(6), "<n:c x", "the place")
            expectEqual(tree.bytes[range].prefix(6), Array("<n:c x".utf8)[...], "the place in the bytes of the tree")
            expectNil(tree.expansionFailure, "elements that were made later")
        }
        let declaration = Array("<?xml version='1.0' encoding='latin1'?>".utf8)
        let latin = try XMLTree(declaration + Array("<a>".utf8) + [0xE9] + Array("<b/></a>".utf8))
        expectNil(latin.root.first("b")?.byteRange, "a place in another encoding")
        let changed = try XMLTree("<a>x<b/></a>")
        expectEqual(changed.root.first("b")?.byteRange, 4..<8, "a place before a change")
        try changed.root.firstChild?.setText("longer")
        expectNil(changed.root.first("b")?.byteRange, "a place after a change")
        let spaces = try XMLTree("<a> <b> </b> </a>", options: XMLTreeOptions(keepsWhitespace: true))
        expectEqual(spaces.root.children.map(\.kind), [.text, .element, .text], "white space that is kept")
        let none = try XMLTree("<a> <b> </b> </a>")
        expectEqual(none.root.children.map(\.text), [" "], "white space that is no text between tags")
    }

    private static func testFindsPathsAndDescribesElements() throws {
        let text =
            "<rss><channel><a/></channel><channel><item><t>1</t></item><item><t>2<b/></t><e></e></item></channel></rss>"
        for depth in [Int.max, 1] {
            let tree = try XMLTree(text, options: XMLTreeOptions(depth: depth))
            expectEqual(tree.root["channel/item/t"]?.text, "1", "the first of some")
            expectEqual(tree.root["channel/item/e"]?.path, "/rss/channel[2]/item[2]/e", "one in a later element")
            expectNil(tree.root["channel/x"], "no such element")
            expectNil(tree.root[""], "no path")
            expectEqual(tree.root["channel"]?.xml, "<channel><a/></channel>", "an element")
            let item = try requireNotNil(tree.root["channel/item/e"]?.parent)
            expectEqual(item.xml, "<item><t>2<b/></t><e></e></item>", "an element that is not changed")
            expectEqual(item["t/b"]?.isExpanded, false, "an empty-element tag")
            expectEqual(item["e"]?.isExpanded, true, "two tags")
            try item.first("t")?.setText("a < b")
            try item.first("e")?.remove()
            expectEqual(item.xml, "<item><t>a &lt; b</t></item>", "a changed element")
            expectEqual(item["t"]?.firstChild?.xml, "a &lt; b", "a changed text")
            expectEqual(tree.root["channel"]?.xml, "<channel><a/></channel>", "another one")
            try item.insertElement("n").insertElement("m").insertText("x")
            expectEqual(item["n"]?.xml, "<n><m>x</m></n>", "a new element")
            expectEqual(item["n"]?.isExpanded, true, "a new element with a child")
            expectEqual(tree.documentNode.xml, tree.text, "the document")
        }
        let entity = try XMLTree("<!DOCTYPE a [<!ENTITY e '<b>x</b>'>]><a>&e; <c/></a>")
        expectEqual(entity.root["b"]?.xml, "<b>x</b>", "an element of an entity")
    }

    private static func testReadsEveryEncoding() throws {
        let declared = Array("<?xml version='1.0' encoding='utf-8'?><a>".utf8) + [0x93, 0xE9] + Array("</a>".utf8)
        expectThrows(StreamError.self, "bytes that are not UTF-8") { _ = try XMLTree(declared) }
        let tree = try XMLTree(
            declared, options: XMLTreeOptions(reader: XMLReaderOptions(encoding: .windows1252)))
        expectEqual(tree.root.text, "\u{201C}\u{E9}", "an encoding that is given")
        expectEqual(tree.encoding, .windows1252, "the encoding")
        expectEqual(tree.bytes, declared, "the bytes")
        expectEqual(try XML(encoding: .windows1252).decode(String.self, from: declared), "\u{201C}\u{E9}", "a value")
        let utf16 = "<?xml version='1.0' encoding='utf-8'?><a>\u{E9}</a>".utf16
            .flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
        expectEqual(try XML(encoding: .utf16LittleEndian).decode(String.self, from: utf16), "\u{E9}", "UTF-16")
        for (text, encoding) in [("<a/>", XMLEncoding.utf8), ("<?xml version='1.0' encoding='latin1'?><a/>", .latin1)] {
            expectEqual(try XMLTree(Array(text.utf8)).encoding, encoding, text)
            expectEqual(try XMLTree(text).encoding, .utf8, "the string \(text)")
        }
    }

    private static func testDecodesElements() throws {
        struct Item: StreamObject, Equatable { var id = 0, t = "", tag: [String] = [], at = Place() }
        struct Place: StreamObject, Equatable { var x: Double? = nil }
        struct Coded: Decodable, Equatable { var id: Int, tag: [String] }
        let text = """
            <!DOCTYPE r [<!ENTITY e 'E&#38;amp;'>]><r xmlns:p='u'><!--c--><p:item p:id='7'> <tag>a</tag><p:t>1 &e;<![CDATA[<]]></p:t>
            <tag>b</tag><at><x> 0.5 </x></at><?i?></p:item><p:item id='8'><tag/></p:item></r>
            """
        for depth in [Int.max, 1] {
            let tree = try XMLTree(text, options: XMLTreeOptions(depth: depth))
            let item = try requireNotNil(tree.root.first("p:item"))
            let value = Item(id: 7, t: "1 E&<", tag: ["a", "b"], at: Place(x: 0.5))
            expectEqual(try item.decode(Item.self), value, "a bound type")
            expectEqual(try item.decode(Coded.self), Coded(id: 7, tag: ["a", "b"]), "a Codable type")
            expectEqual(try tree.root.elements("p:item").map { try $0.decode(Coded.self).id }, [7, 8], "each element")
            expectEqual(try item.first("tag")?.decode(String.self), "a", "a string")
            expectEqual(
                try item.decode(PropertyList.self, as: XML(objects: XMLObjectOptions(attributePrefix: "@")))
                    .description,
                #"{"@id": "7", "tag": ["a", "b"], "t": "1 E&<", "at": {"x": " 0.5 "}}"#, "a property list")
            try item.first("tag")?.setText("c")
            expectEqual(try item.decode(Item.self).tag, ["c", "b"], "a changed element")
            let error = expectThrows(StreamError.self, "a value that does not fit") {
                try item.setAttribute("p:id", "x")
                _ = try item.decode(Item.self)
            }
            expectEqual(error?.path?.description, "$.id", "the path")
            expectNil(error?.position, "the position")
            expectThrows(StreamError.self, "a comment") { _ = try tree.root.firstChild?.decode(Item.self) }
            try item.setAttribute("p:id", "9")
            try item.remove()
            expectEqual(try item.decode(Item.self).id, 9, "a removed element")
            let inner = try requireNotNil(tree.root.first("p:item")?.first("tag")?.insertText("x"))
            try inner.remove()
            expectEqual(inner.xml, "x", "a removed text")
        }
    }

    private static func testWritesRemovedElements() throws {
        let tree = try XMLTree("<r><a><b>1</b><b>2</b></a><c><d>2</d></c></r>")
        let (a, c) = try (requireNotNil(tree.root["a"]), requireNotNil(tree.root["c"]))
        let d = try requireNotNil(c["d"])
        try a.setAttribute("k", "v")
        try a["b"]?.remove()
        try d.setAttribute("k", "v")
        for node in [c, a] { try node.remove() }
        expectEqual(a.xml, "<a k=\"v\"><b>2</b></a>", "an element with another tag")
        expectEqual(d.xml, "<d k=\"v\">2</d>", "an element in a removed element")
        expectEqual(c.xml, "<c><d k=\"v\">2</d></c>", "the removed element")
        expectEqual(tree.text, "<r></r>", "the document")
    }

    private static func testResolvesNamespaces() throws {
        let text =
            "<a xmlns='urn:d' xmlns:p='urn:p' p:x='1' x='2'><p:b><c xmlns=''><p:d xmlns:p='urn:q'/></c></p:b></a>"
        for depth in [Int.max, 1, 2, 3] {
            let tree = try XMLTree(text, options: XMLTreeOptions(depth: depth))
            let root = tree.root
            expectTrue(root.isNamed("a", in: "urn:d"), "the default namespace")
            expectEqual(root.attribute("x", in: "urn:p"), "1", "an attribute with a prefix")
            expectEqual(root.attribute("x", in: ""), "2", "an attribute without")
            let deepest = root.first("b", in: "urn:p")?.first("c", in: "")?.first("d", in: "urn:q")
            expectEqual(deepest?.name, "p:d", "the scopes of namespaces at depth \(depth)")
            expectEqual(tree.text, text, "the text")
        }
    }

    private static func testWritesUnchangedDocumentsByteForByte() throws {
        let texts = [
            document, "<a/>", "\u{FEFF}<a></a>\n", "<a  b = 'c'\n/ >".replacing("/ ", with: "/"), "<a>\r\nx\ry</a >",
            "<!DOCTYPE a [<!ENTITY e 'x<b>y</b>z'>]><a>1&e;2</a>", "<a><![CDATA[]]></a>", "<a>&#65;&#x10FFFF;</a>",
            "<!DOCTYPE a SYSTEM 'x'><a>&e;</a>",
        ]
        for text in texts {
            for depth in [Int.max, 1, 2] {
                let tree = try XMLTree(text, options: XMLTreeOptions(depth: depth))
                expectEqual(tree.text, text, "the text")
                _ = tree.root.text
                expectEqual(tree.text, text, "the text when all is made")
                expectFalse(tree.isChanged, "whether it is changed")
            }
        }
    }

    /// A tag is not written again if the text of an entity in its values is unknown.
    private static func testRefusesToLoseEntities() throws {
        let type = "<!DOCTYPE a SYSTEM 'x' [<!ATTLIST b f CDATA '&e;'>]>"
        let tree = try XMLTree(type + "<a c='1&e;2' d=''><b/></a>")
        let root = tree.root
        for change in [{ try root.setAttribute("g", "1") }, { _ = try root.removeAttribute("d") }] {
            expectEqual(expectThrows(StreamError.self, "another attribute", change)?.kind, .unrepresentable, "kind")
        }
        expectFalse(tree.isChanged, "whether it is changed")
        try root.first("b")?.setAttribute("g", "1")
        try root.setAttribute("c", "3")
        try root.removeAttribute("d")
        expectEqual(tree.text, type + "<a c=\"3\"><b g=\"1\"/></a>", "the text")
    }

    private static func testCreatesElementsLazily() throws {
        let tree = try XMLTree("<a><b><c><d>1</d></c></b><e/></a>", options: XMLTreeOptions(depth: 2))
        let count = tree.memory.nodes.count
        expectEqual(count, 4, "nodes at first")
        expectEqual(tree.root.first("b")?.first("c")?.name, "c", "one that was not made")
        expectEqual(tree.memory.nodes.count, count + 2, "nodes then")
        expectEqual(tree.root.text, "1", "text")
        let error = expectThrows(StreamError.self, "a part that is skipped") {
            _ = try XMLTree("<a><b><c></d></b></a>", options: XMLTreeOptions(depth: 1))
        }
        expectEqual(error?.kind, .invalidSyntax, "an error in what is not made")
    }

    private static let changes: [(before: String, after: String, change: @Sendable (XMLTreeNode) throws -> Void)] = [
        (
            "<a  x='1' ><b/> <c></c></a>", "<a  x='1' ><b>t&lt;</b> <c></c></a>",
            { try $0.first("b")?.setText("t<") }
        ),
        ("<a  x='1' ><b/></a >", "<a x=\"2\"><b/></a >", { try $0.setAttribute("x", "2") }),
        (
            "<a><b  /> <c/></a>", "<a><b  y=\"\"/> <c/></a>".replacing("b  y", with: "b y"),
            { try $0.first("b")?.setAttribute("y", "") }
        ),
        ("<a><b/> <c/> </a>", "<a> <c/> </a>", { try $0.first("b")?.remove() }),
        ("<a>x<b/>y</a>", "<a>xy</a>", { try $0.first("b")?.remove() }),
        ("<a><b>x</b><!--c--></a>", "<a>new</a>", { try $0.setText("new") }),
        ("<a>x</a>", "<a></a>", { try $0.setText("") }),
        ("<a><b>x &amp; y</b></a>", "<a><b>z</b></a>", { try $0.first("b")?.firstChild?.setText("z") }),
        (
            "<a>x<!--c--><?p i?></a>", "<a>x<!--d--><?p j?></a>",
            {
                try $0.firstChild?.next?.setText("d")
                try $0.lastChild?.setText("j")
            }
        ),
        (
            "<a> <b/> </a>", "<a><n k=\"v\">t</n> <b/><m/> </a>",
            {
                let node = try $0.insertElement("n", before: $0.first("b"))
                try node.setAttribute("k", "v")
                try node.insertText("t")
                try $0.insertElement("m")
            }
        ),
        (
            "<a/>", "<a><b><c/></b><!--d--></a>",
            {
                try $0.insertElement("b").insertElement("c")
                try $0.insertComment("d")
            }
        ),
        (
            "<a xmlns='u'><p:b xmlns:p='v'/></a>", "<a xmlns='u'><p:b xmlns:p='v'><p:c/><d p:e=\"1\"/></p:b></a>",
            {
                try $0.first("p:b")?.insertElement("p:c")
                try $0.first("p:b")?.insertElement("d").setAttribute("p:e", "1")
            }
        ),
        ("<a x='1' y='2'/>", "<a y=\"2\"/>", { try $0.removeAttribute("x") }),
        (
            "<?xml version='1.0'?><a/><!--x-->", "<?xml version='1.0'?><!--y--><a/><!--x--><!--z-->",
            {
                try $0.parent?.insertComment("y", before: $0)
                try $0.parent?.insertComment("z")
            }
        ),
        (
            "<a><b/></a>",
            "<a><b q:x=\"1\" xmlns:q=\"u\"/></a>".replacing(
                "q:x=\"1\" xmlns:q=\"u\"", with: "xmlns:q=\"u\" q:x=\"1\""),
            {
                try $0.first("b")?.setAttribute("xmlns:q", "u")
                try $0.first("b")?.setAttribute("q:x", "1")
            }
        ),
        (
            "<a><b><c/>x<d/></b>y</a>", "<a><b>x</b>y</a>",
            {
                try $0.first("b")?.first("d")?.remove()
                try $0.first("b")?.first("c")?.remove()
            }
        ),
        (
            "<a><b/><b/><b/></a>", "<a><b/></a>",
            {
                try $0.lastChild?.remove()
                try $0.firstChild?.remove()
            }
        ),
    ]

    private static func testRewritesOnlyChanges() throws {
        for (text, expected, change) in changes {
            for depth in [Int.max, 1] {
                let tree = try XMLTree(text, options: XMLTreeOptions(depth: depth))
                try change(tree.root)
                expectEqual(tree.text, expected, "the changed \(text)")
                expectTrue(tree.isChanged, "whether it is changed")
            }
        }
    }

    private static func testExpandsEntitiesThatAreChanged() throws {
        let type = "<!DOCTYPE a [<!ENTITY e 'x<b>y</b>z'>]>"
        let rows: [(String, String, (XMLTreeNode) throws -> Void)] = [
            ("<a>1&e;2</a>", "<a>1x<b>new</b>z2</a>", { try $0.first("b")?.setText("new") }),
            ("<a> <c/>1&e;2<d  /></a>", "<a> <c/>1x<b>y</b>z2<d  /><n/></a>", { try $0.insertElement("n") }),
            ("<a><c>&e;</c> <d/></a>", "<a><c>&e;</c> <d>t</d></a>", { try $0.first("d")?.setText("t") }),
            ("<a>&e;&e;</a>", "<a>x<b>y</b>zxz</a>", { try $0.lastChild?.previous?.remove() }),
            ("<a>&e;</a>", "<a></a>", { try $0.setText("") }),
        ]
        for (text, expected, change) in rows {
            let tree = try XMLTree(type + text)
            try change(tree.root)
            expectEqual(tree.text, type + expected, "the changed \(text)")
        }
    }

    private static func testConvertsOtherEncodingsToUTF8() throws {
        let text = "<?xml version='1.0' encoding='ISO-8859-1' standalone='yes'?><a>größe<b/></a>"
        let latin = text.unicodeScalars.map { UInt8($0.value) }
        var wide: [UInt8] = [0xFE, 0xFF]
        for unit in "<a>größe<b/></a>".utf16 { wide += [UInt8(unit >> 8), UInt8(unit & 0xFF)] }
        for (bytes, head) in [(latin, "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>"), (wide, "")] {
            for depth in [Int.max, 1] {
                let tree = try XMLTree(bytes, options: XMLTreeOptions(depth: depth))
                expectEqual(tree.root.text, "größe", "text")
                expectEqual(tree.bytes, bytes, "unchanged bytes")
                expectEqual(tree.text, head.isEmpty ? "<a>größe<b/></a>" : text, "unchanged text")
                try tree.root.first("b")?.setText("ü")
                expectEqual(tree.text, head + "<a>größe<b>ü</b></a>", "changed text")
            }
        }
    }

    private static func testRefusesIllFormedChanges() throws {
        let rows: [(String, StreamError.Kind, (XMLTreeNode) throws -> Void)] = [
            ("a name", .unrepresentable, { try $0.insertElement("1") }),
            ("a prefix", .misuse, { try $0.insertElement("q:a") }),
            ("a prefix of an attribute", .misuse, { try $0.setAttribute("q:a", "") }),
            ("a name of an attribute", .unrepresentable, { try $0.setAttribute("a b", "") }),
            ("a value", .unrepresentable, { try $0.setAttribute("x", "\u{1}") }),
            ("text", .unrepresentable, { try $0.setText("\u{0}") }),
            ("inserted text", .unrepresentable, { try $0.insertText("\u{FFFF}") }),
            ("a comment", .unrepresentable, { try $0.insertComment("--") }),
            ("another comment", .unrepresentable, { try $0.firstChild?.setText("a-") }),
            ("an instruction", .unrepresentable, { try $0.firstChild?.next?.setText("?>") }),
            ("the root", .misuse, { try $0.remove() }),
            ("the document", .misuse, { try $0.parent?.remove() }),
            ("text of the document", .misuse, { try $0.parent?.setText("a") }),
            ("a second root", .misuse, { try $0.parent?.insertElement("a") }),
            ("text at the root", .misuse, { try $0.parent?.insertText("a") }),
            ("a child of a comment", .misuse, { try $0.firstChild?.insertText("a") }),
            ("another prefix", .misuse, { try $0.setAttribute("xmlns:p", "urn:other") }),
            ("another default", .misuse, { try $0.setAttribute("xmlns", "urn:other") }),
            ("no namespace", .misuse, { try $0.setAttribute("xmlns:z", "") }),
            ("a declaration", .misuse, { try $0.removeAttribute("xmlns:p") }),
            ("one attribute by two prefixes", .duplicateKey, { try $0.setAttribute("s:x", "2") }),
            ("a sibling that is none", .misuse, { try $0.insertElement("b", before: $0) }),
            (
                "a sibling of another tree", .misuse,
                { try $0.insertElement("b", before: XMLTree("<a><b/></a>").root.firstChild) }
            ),
            (
                "a node that was removed", .misuse,
                {
                    let node = try $0.insertElement("b")
                    try node.remove()
                    expectTrue(node.isRemoved, "whether it was removed")
                    try node.setText("x")
                }
            ),
            (
                "a node within one that was removed", .misuse,
                {
                    let node = try $0.insertElement("b").insertElement("c")
                    try $0.setText("")
                    try node.insertText("x")
                }
            ),
        ]
        let text = "<a xmlns:p='u' xmlns:s='u' p:x='1'><!--c--><?p i?></a>"
        for (name, kind, change) in rows {
            let tree = try XMLTree(text)
            let error = expectThrows(StreamError.self, name) { try change(tree.root) }
            expectEqual(error?.kind, kind, "kind of \(name): \(error?.description ?? "")")
            guard !name.hasPrefix("a node") else { continue }
            expectEqual(tree.text, text, "the text after \(name)")
        }
    }

    /// Makes random changes. After each change, the tree that is read from the text has to be the same.
    private static func testStaysWellFormedAfterRandomChanges() throws {
        var random = TestRandom(seed: 5)
        for round in 0..<60 {
            let options = XMLTreeOptions(depth: round % 3 == 0 ? 1 : .max, keepsWhitespace: true)
            let tree = try XMLTree(document, options: options)
            for _ in 0..<12 {
                var node = tree.root
                while Bool.random(using: &random), let child = Array(node.children).randomElement(using: &random) {
                    node = child
                }
                let text = ["", "x", "<&>\"'\r\n\t", "]]>", "größe", " "].randomElement(using: &random) ?? ""
                switch Int.random(in: 0..<8, using: &random) {
                case 0: try? node.setText(text)
                case 1:
                    try? node.setAttribute(
                        ["x", "q", "n:z", "xmlns:k", "k:a"].randomElement(using: &random) ?? "", text)
                case 2:
                    _ = try? node.insertElement(
                        ["b", "n:b", "k:c"].randomElement(using: &random) ?? "", before: node.firstChild)
                case 3: _ = try? node.insertElement("e")
                case 4: _ = try? node.insertText(text, before: node.lastChild)
                case 5: _ = try? node.insertComment(text)
                case 6: try? node.remove()
                default: _ = try? node.removeAttribute("x")
                }
            }
            let written = tree.text
            let again = try XMLTree(written, options: options)
            expectEqual(again.text, written, "written twice")
            expectEqual(shape(again.root), shape(tree.root), "the tree of \(written)")
        }
    }

    /// Returns the elements, attributes and texts of a node. Adjacent texts are joined, and defaults of the document type are
    /// left out.
    private static func shape(_ node: XMLTreeNode) -> String {
        var shape = "<{\(node.namespace)}\(node.name)"
        for (name, value) in node.attributes.sorted(by: { $0.name < $1.name }) where name != "d" {
            shape += " \(name)=\(value.debugDescription)"
        }
        shape += ">"
        var text = ""
        func flush() {
            if !text.isEmpty { shape += text.debugDescription }
            text = ""
        }
        for child in node.children {
            switch child.kind {
            case .text: text += child.text
            case .element:
                flush()
                shape += Self.shape(child)
            default:
                flush()
                shape += "(\(child.kind) \(child.name) \(child.text.debugDescription))"
            }
        }
        flush()
        return shape + "</>"
    }

    private static func testHandlesManyChildrenQuickly() throws {
        let count = 2_000
        let tree = try XMLTree(
            "<a>" + String(repeating: "<b><c/></b>", count: count) + "</a>", options: XMLTreeOptions(depth: 2))
        for node in tree.root.children { try node.first("c")?.setText("x") }
        for _ in 0..<count { try tree.root.insertElement("d") }
        for _ in 0..<count { try tree.root.insertElement("e", before: tree.root.firstChild) }
        for _ in 0..<count { try tree.root.firstChild?.remove() }
        for _ in 0..<count { try tree.root.lastChild?.remove() }
        expectEqual(tree.root.text.utf8.count, count, "texts")
        expectEqual(tree.bytes.count, 7 + count * 15, "bytes")
        for node in Array(tree.root.children) { try node.remove() }
        expectEqual(tree.text, "<a></a>", "nothing left")
    }
}
#endif
