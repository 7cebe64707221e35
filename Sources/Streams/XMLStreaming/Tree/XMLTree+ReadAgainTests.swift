// In-class tests that compare trees with each other. A written tree has to be the same when it is read again, and nodes that
// are made later have to be the same as nodes that are made at once.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistStreaming

enum XMLTreeReadAgainTests {}

extension XMLTreeReadAgainTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testAdjacentTextsStayUnchanged": testAdjacentTextsStayUnchanged,
            "testKeepsWhiteSpaceBetweenTags": testKeepsWhiteSpaceBetweenTags,
            "testRereadsWhiteSpaceOnlyIfKept": testRereadsWhiteSpaceOnlyIfKept,
            "testRoundTripsAfterRandomChanges": testRoundTripsAfterRandomChanges,
            "testLazyNodesEqualEagerNodes": testLazyNodesEqualEagerNodes,
            "testReadsTheDocumentTypeOnce": testReadsTheDocumentTypeOnce,
            "testReadsDeepLevelsQuickly": testReadsDeepLevelsQuickly,
            "testRefusesChangesThatExceedReaderLimits": testRefusesChangesThatExceedReaderLimits,
            "testIgnoresEncodingDeclarationsOfStrings": testIgnoresEncodingDeclarationsOfStrings,
        ]
    }

    /// Returns the elements, attributes and texts of a node. Adjacent texts are joined. Unless white space is kept, white
    /// space between tags is left out.
    static func shape(_ node: XMLTreeNode) -> String {
        var shape = "<{\(node.namespace)}\(node.name)"
        for (name, value) in node.attributes.sorted(by: { $0.name < $1.name }) {
            shape += " \(name)=\(value.debugDescription)"
        }
        shape += ">"
        let isLeaf = node.children.allSatisfy { $0.kind == .text }
        var text = ""
        func flush() {
            let isBlank = text.utf8.allSatisfy { [0x20, 0x09, 0x0A, 0x0D].contains($0) }
            if !text.isEmpty, isLeaf || !isBlank || node.tree.options.keepsWhitespace { shape += text.debugDescription }
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

    private static func expectSameWhenReadAgain(_ tree: XMLTree, _ name: String) throws {
        let written = tree.text
        let again = try XMLTree(written, options: tree.options)
        expectEqual(again.text, written, "written twice: \(name)")
        expectEqual(shape(again.root), shape(tree.root), "the tree of \(written.debugDescription) for \(name)")
        expectNil(tree.expansionFailure, "what was made later of \(name)")
    }

    private static func testAdjacentTextsStayUnchanged() throws {
        func removeElements(_ root: XMLTreeNode) throws { for element in root.elements { try element.remove() } }
        let rows: [(String, String, (XMLTreeNode) throws -> Void)] = [
            ("<a>x]]<b/>>y</a>", "x]]>y", removeElements), ("<a>]<b/>]<c/>></a>", "]]>", removeElements),
            ("<a>x]<b/><![CDATA[]]]><c/>>y</a>", "x]]>y", removeElements),
            ("<a>x\r<b/>\ny</a>", "x\n\ny", removeElements), ("<a>x\r<b/>\n<c/>y</a>", "x\n\ny", removeElements),
            ("<a>x\r</a>", "x\n\n", { try $0.insertText("\n") }),
            ("<a>>x</a>", "]]>x", { try $0.insertText("]]", before: $0.firstChild) }),
            ("<a>x]<!--c-->]></a>", "x]]>", { try $0.firstChild?.next?.remove() }),
            (
                "<a>x<b/>y<c/>z</a>", "x\ryz",
                { root in
                    try removeElements(root)
                    try root.insertText("\r", before: root.firstChild?.next)
                }
            ),
        ]
        for (text, expected, change) in rows {
            for depth in [Int.max, 1] {
                let tree = try XMLTree(text, options: XMLTreeOptions(depth: depth, keepsWhitespace: true))
                try change(tree.root)
                expectEqual(tree.root.text, expected, "the text of \(text.debugDescription)")
                try expectSameWhenReadAgain(tree, text.debugDescription)
            }
        }
    }

    private static func testKeepsWhiteSpaceBetweenTags() throws {
        let type = "<!DOCTYPE a [<!ENTITY e '<b/>y<c/>'><!ENTITY n ''>]>"
        let rows: [(String, String, (XMLTreeNode) throws -> Void)] = [
            ("<a>\n <b/>\n <c/>\n</a>", "<a>\n \n <c/>\n</a>", { try $0.first("b")?.remove() }),
            // Next to a text, the white space would become a part of it. Alone, it would become the text of its element.
            ("<a>x<b/> <c/></a>", "<a>x<c/></a>", { try $0.first("b")?.remove() }),
            ("<a> <b/> </a>", "<a></a>", { try $0.first("b")?.remove() }),
            ("<a> <b/> </a>", "<a> <b/>x</a>", { try $0.insertText("x") }),
            ("<a> <b/> </a>", "<a>x<b/> </a>", { try $0.insertText("x", before: $0.firstChild) }),
            ("<a> <b/> <c/>y</a>", "<a> <b/>y</a>", { try $0.first("c")?.remove() }),
            ("<a> <b/> </a>", "<a y=\"1\"> <b/> </a>", { try $0.setAttribute("y", "1") }),
            ("<a>&n;</a>", "<a y=\"1\">&n;</a>", { try $0.setAttribute("y", "1") }),
            ("<a> <d/> &e; <d/> </a>", "<a> <d/> <b/>y<c/> <d/><n/> </a>", { try $0.insertElement("n") }),
            ("<a> &e; <d/> </a>", "<a> y<c/> <d/> </a>", { try $0.first("b")?.remove() }),
            ("<a>\n&e;\n</a>", "<a>\n<b/><c/>\n</a>", { try $0.firstChild?.next?.remove() }),
            ("<a>\n&e;\n</a>", "<a>y</a>", { for element in $0.elements { try element.remove() } }),
            (
                "<a> &e; <d/> </a>", "<a>  <d/> </a>",
                { root in
                    for _ in 0..<3 { try root.firstChild?.remove() }
                }
            ),
        ]
        for (text, expected, change) in rows {
            for depth in [Int.max, 1] {
                let tree = try XMLTree(type + text, options: XMLTreeOptions(depth: depth))
                try change(tree.root)
                // White space before a text is a part of the text if no tag is between them.
                expectEqual(tree.text, type + expected.replacing("> y<", with: ">y<"), "the changed \(text)")
                try expectSameWhenReadAgain(tree, text)
            }
        }
    }

    private static let document = """
        <!DOCTYPE a [<!ENTITY e "en<b>ti</b>ty"><!ENTITY n ''><!ENTITY w ' '><!ENTITY t '<c/> '>
        <!ATTLIST b d CDATA "default" k NMTOKENS #IMPLIED><!ATTLIST c xmlns:q CDATA 'urn:q'>]>
        <!-- before --><a x = '1'  y="&lt;2">
          <b>text ]] &amp; &e;</b> <b/>]]<!--c-->&gt;tail<![CDATA[<c>]]> &#13;<b> <c/>&#13;<c/>
        \r<c/>]<c/>]<c/>></b> &t; &n; <c/>&w;<c/> <e></e>
          <n:c xmlns:n="urn:n" n:z='3'><n:d>deep<b/>er</n:d> <b> </b></n:c><?go on?><!--c-->
        </a>
        """.replacing("\\r", with: "\r")

    /// Makes a random change to a random node.
    private static func change(_ tree: XMLTree, _ random: inout TestRandom) {
        var node = tree.root
        while Bool.random(using: &random), let child = Array(node.children).randomElement(using: &random) {
            node = child
        }
        let texts = ["", "x", "<&>\"'\r\n\t", "]]>", "größe", " ", "]", ">", "\n", "\r"]
        let text = texts.randomElement(using: &random) ?? ""
        let sibling = Array(node.children).randomElement(using: &random)
        switch Int.random(in: 0..<9, using: &random) {
        case 0: try? node.setText(text)
        case 1:
            let name = ["x", "q", "n:z", "xmlns:k", "k:a", "k"].randomElement(using: &random) ?? ""
            try? node.setAttribute(name, text)
        case 2:
            let name = ["b", "n:b", "k:c", "c"].randomElement(using: &random) ?? ""
            _ = try? node.insertElement(name, before: sibling)
        case 3: _ = try? node.insertElement("e")
        case 4: _ = try? node.insertText(text, before: sibling)
        case 5: _ = try? node.insertComment(text, before: sibling)
        case 6: _ = try? node.removeAttribute("x")
        default: try? node.remove()
        }
    }

    private static func testRoundTripsAfterRandomChanges() throws {
        var random = TestRandom(seed: 11)
        for round in 0..<60 {
            let options = XMLTreeOptions(
                depth: [Int.max, 1, 2][round % 3], keepsWhitespace: Bool.random(using: &random))
            let tree = try XMLTree(document, options: options)
            for count in 0..<Int.random(in: 1...12, using: &random) {
                change(tree, &random)
                if count % 3 == 0 { try expectSameWhenReadAgain(tree, "round \(round)") }
            }
            try expectSameWhenReadAgain(tree, "round \(round)")
        }
    }

    /// White space inserted next to an element is read as a text again only if the options keep white space.
    private static func testRereadsWhiteSpaceOnlyIfKept() throws {
        for keepsWhitespace in [false, true] {
            let options = XMLTreeOptions(keepsWhitespace: keepsWhitespace)
            let tree = try XMLTree("<a><b/></a>", options: options)
            try tree.root.insertText(" ", before: tree.root.firstChild)
            expectEqual(tree.text, "<a> <b/></a>", "what is written")
            let again = try XMLTree(tree.text, options: options)
            expectEqual(
                again.root.children.map(\.kind), keepsWhitespace ? [.text, .element] : [.element], "what is read")
            try expectSameWhenReadAgain(tree, "white space")
        }
    }

    // MARK: Deferred nodes

    private static func testLazyNodesEqualEagerNodes() throws {
        let subset = "<!ENTITY % p SYSTEM 'p'>%p;<!ENTITY e 'x<c>y</c>'><!ATTLIST b d CDATA 'v'>"
        let rows: [(String, XMLReaderOptions)] = [
            (document, XMLReaderOptions()),
            ("<!DOCTYPE a [<!ATTLIST scope p:x CDATA 'v'>]><a><b>text</b></a>", XMLReaderOptions()),
            ("<!DOCTYPE a [<!ATTLIST scope xmlns CDATA 'u'>]><a><b><c/></b></a>", XMLReaderOptions()),
            (
                "<a xmlns:p='u'><b xmlns:q='v'><c x='1'><p:d><q:e/></p:d></c></b></a>",
                XMLReaderOptions(attributeLimit: 1)
            ),
            (
                "<?xml version='1.0' standalone='yes'?><!DOCTYPE a [\(subset)]><a><b>&e;<b/></b></a>",
                XMLReaderOptions()
            ),
            ("<!DOCTYPE a [\(subset)]><a><b>&e;<b/></b></a>", XMLReaderOptions()),
            ("<a xmlns='u'><b xmlns=''><c xmlns:p='v'><p:d/><d xmlns='w'><e/></d></c></b></a>", XMLReaderOptions()),
            ("<a xmlns='u'><b xmlns:p='v'><c p:x='1'/></b></a>", XMLReaderOptions(knowsNamespaces: false)),
            ("<a><b>x</b></a>", XMLReaderOptions(limits: StreamLimits(depth: 2))),
        ]
        for (text, reader) in rows {
            for keepsWhitespace in [false, true] {
                let whole = try XMLTree(
                    text, options: XMLTreeOptions(reader: reader, keepsWhitespace: keepsWhitespace))
                for depth in 0..<5 {
                    let options = XMLTreeOptions(reader: reader, depth: depth, keepsWhitespace: keepsWhitespace)
                    let tree = try XMLTree(text, options: options)
                    expectEqual(shape(tree.root), shape(whole.root), "the tree of \(text), depth \(depth)")
                    expectEqual(places(tree.root), places(whole.root), "the places of \(text), depth \(depth)")
                    expectNil(tree.expansionFailure, "what was made later of \(text), depth \(depth)")
                }
            }
        }
    }

    /// Returns the byte range of each node in the document.
    private static func places(_ node: XMLTreeNode) -> String {
        "\(node.byteRange.map { "\($0)" } ?? "-")(" + node.children.map(places).joined(separator: " ") + ")"
    }

    /// Tests a document type with many declarations, and many elements that are made later.
    private static func testReadsTheDocumentTypeOnce() throws {
        let count = 1_500
        let declarations = (0..<count).map { "<!ENTITY e\($0) 'text \($0)'>" }.joined()
        let elements = (0..<count).map { "<b><c>&e\($0);</c></b>" }.joined()
        let namespaces = (0..<count).map { " xmlns:n\($0)='urn:\($0)'" }.joined()
        let tree = try XMLTree(
            "<!DOCTYPE a [\(declarations)]><a\(namespaces)>\(elements)</a>", options: XMLTreeOptions(depth: 1))
        for (index, element) in tree.root.elements.enumerated() {
            expectEqual(element.first("c")?.text, "text \(index)", "an entity")
        }
    }

    /// Tests a deep document with many bytes whose levels are made one after another.
    private static func testReadsDeepLevelsQuickly() throws {
        let depth = 1_000
        let text = String(repeating: "<a>", count: depth) + String(repeating: "<b>x</b>", count: 5_000)
        let tree = try XMLTree(
            text + String(repeating: "</a>", count: depth), options: XMLTreeOptions(depth: 1))
        var node = tree.root
        for _ in 1..<depth { node = node.firstChild ?? node }
        expectEqual(node.elements.count, 5_000, "the innermost elements")
        expectEqual(node.text.utf8.count, 5_000, "their text")
    }

    private static func testRefusesChangesThatExceedReaderLimits() throws {
        let reader = XMLReaderOptions(
            limits: StreamLimits(depth: 3), attributeLimit: 2, nameByteLimit: 4)
        let tree = try XMLTree("<a><b x='1'><c/></b></a>", options: XMLTreeOptions(reader: reader))
        let (b, c) = (tree.root.firstChild ?? tree.root, tree.root.firstChild?.firstChild ?? tree.root)
        let rows: [(String, () throws -> Void)] = [
            ("a level", { try c.insertElement("d") }), ("a name", { try b.insertElement("abcde") }),
            ("a name of an attribute", { try b.setAttribute("abcde", "1") }),
            (
                "an attribute",
                {
                    try b.setAttribute("y", "1")
                    try b.setAttribute("z", "1")
                }
            ),
        ]
        for (name, change) in rows {
            expectEqual(expectThrows(StreamError.self, name) { try change() }?.kind, .limitExceeded, name)
        }
        try b.insertElement("abcd")
        try expectSameWhenReadAgain(tree, "changes to the limits")
    }

    // MARK: Strings

    private static func testIgnoresEncodingDeclarationsOfStrings() throws {
        for encoding in ["UTF-8", "ISO-8859-1", "utf-16", "US-ASCII", "x-unknown"] {
            let text = "<?xml version='1.0' encoding='\(encoding)' standalone='no'?><a>größe<b/></a>"
            for depth in [Int.max, 1] {
                let tree = try XMLTree(text, options: XMLTreeOptions(depth: depth))
                expectEqual(tree.root.text, "größe", "the text of a string that says \(encoding)")
                expectEqual(tree.text, text, "the string")
                expectEqual(try XMLTree(tree.bytes).root.text, "größe", "the text of its bytes")
                try tree.root.first("b")?.setText("ü")
                expectEqual(try XMLTree(tree.bytes).root.text, "größeü", "the text of its changed bytes")
                expectEqual(try XMLTree(tree.text).root.text, "größeü", "the text of its changed string")
            }
            let list = text.replacing("<a>", with: "<a><b>").replacing("<b/>", with: "</b>")
            expectEqual(try XML.decode([String].self, from: list), ["größe"], "an object")
            var trace = XMLTrace()
            try trace.readXML(text)
            expectTrue(trace.line.contains("größe"), "the messages of a string that says \(encoding): \(trace.line)")
            var reader = XMLReader(sink: XMLTrace())
            for character in text { try reader.feed(String(character)) }
            try reader.finish()
            expectEqual(reader.sink.line, trace.line, "the messages of characters")
        }
        // An empty string doesn't fix the encoding to UTF-8.
        var reader = XMLReader(sink: XMLTrace())
        try reader.feed("")
        let latin = "<?xml version='1.0' encoding='ISO-8859-1'?><a>größe</a>"
        try reader.feed(latin.unicodeScalars.map { UInt8($0.value) })
        try reader.finish()
        expectTrue(reader.sink.line.contains("größe"), "the messages of bytes: \(reader.sink.line)")
        let error = expectThrows(StreamError.self, "characters that are UTF-16 as bytes") {
            _ = try XMLTree("<\0a\0/\0>\0")
        }
        expectEqual(error?.kind, .invalidText, "kind")
    }
}
#endif
