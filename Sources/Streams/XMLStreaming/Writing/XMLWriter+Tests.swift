// In-class tests of the text that an XML writer writes, and of the errors for invalid text.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistStreaming

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

enum XMLWriterTests {}

extension XMLWriterTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testWritesElements": testWritesElements,
            "testDeclaresNamespacesIfNeeded": testDeclaresNamespacesIfNeeded,
            "testRefusesIllFormedMarkup": testRefusesIllFormedMarkup,
            "testWritesMarkupOutsideTheRoot": testWritesMarkupOutsideTheRoot,
            "testIndentsElementsButNotText": testIndentsElementsButNotText,
            "testSplitsCDATASections": testSplitsCDATASections,
            "testIsReusableAfterReset": testIsReusableAfterReset,
            "testChecksManyAttributesQuickly": testChecksManyAttributesQuickly,
            "testTextStartsWithWholeCharacter": testTextStartsWithWholeCharacter,
        ]
    }

    private static func text(
        _ options: XMLWriterOptions = XMLWriterOptions(), _ write: (inout XMLWriter) throws(StreamError) -> Void
    ) throws(StreamError) -> String {
        var writer = XMLWriter(options: options)
        try write(&writer)
        try writer.finish()
        return writer.text
    }

    private static func testTextStartsWithWholeCharacter() throws {
        // A pipe takes whole pages. The last page has only a part of a character.
        for start in ["", "a"] {
            var ends: [Int32] = [-1, -1]
            // SAFETY: the array has two elements for the two descriptors.
            try requireEqual(unsafe pipe(&ends), 0, "pipe")
            defer { for end in ends { close(end) } }
            expectEqual(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0, "fcntl")
            var writer = XMLWriter(descriptor: ends[1], bufferByteCount: 1 << 20)
            try writer.element("a", text: start + String(repeating: "é", count: 100_000))
            expectThrows(StreamError.self, "finish") { try writer.finish() }
            expectTrue(writer.text.hasPrefix("éé") && writer.text.hasSuffix("é</a>"), "text")
        }
    }

    private static func testWritesElements() throws {
        let written = try text { writer throws(StreamError) in
            try writer.element("people", ["n": "a<b>&\"'\t"]) { people throws(StreamError) in
                try people.element("person", ["id": "1"], text: "Ada & <Charles>")
                try people.element("sink")
                try people.text("")
                try people.startElement("größe", attributes: ["x": "é"])
                try people.text("1 > 0\r\n")
                try people.endElement()
                try people.comment(" - a comment - ")
                try people.processingInstruction("go", "on?")
                try people.processingInstruction("stop")
            }
        }
        expectEqual(
            written,
            """
            <people n="a&lt;b&gt;&amp;&quot;'&#9;"><person id="1">Ada &amp; &lt;Charles&gt;</person><sink/>\
            <größe x="é">1 &gt; 0&#13;\n</größe><!-- - a comment - --><?go on??><?stop?></people>
            """, "text")
    }

    private static func testDeclaresNamespacesIfNeeded() throws {
        let options = XMLWriterOptions(namespaces: ["p": "urn:p", "q": "urn:q"])
        let written = try text(options) { writer throws(StreamError) in
            try writer.element("a", ["xmlns": "urn:a"]) { a throws(StreamError) in
                try a.element("p:b", ["q:c": "1", "xml:lang": "de"]) { b throws(StreamError) in
                    try b.element("p:d", ["xmlns:p": "urn:other", "p:e": "2"])
                    try b.element("q:f")
                }
                try a.element("q:g", ["xmlns": ""])
            }
        }
        expectEqual(
            written,
            """
            <a xmlns="urn:a"><p:b xmlns:p="urn:p" xmlns:q="urn:q" q:c="1" xml:lang="de">\
            <p:d xmlns:p="urn:other" p:e="2"/><q:f/></p:b><q:g xmlns="" xmlns:q="urn:q"/></a>
            """, "text")
        var plain = XMLWriter(options: XMLWriterOptions(checksNamespaces: false))
        try plain.element("a:b:c", [":d": "1"])
        expectEqual(plain.text, "<a:b:c :d=\"1\"/>", "without namespaces")
    }

    /// Calls that are errors within `<r>` and must not write anything.
    private static var refusals: [(String, StreamError.Kind, (inout XMLWriter) throws(StreamError) -> Void)] {
        [
            ("a name", .unrepresentable, { (w) throws(StreamError) in try w.startElement("a b") }),
            ("no name", .unrepresentable, { (w) throws(StreamError) in try w.startElement("") }),
            ("two colons", .unrepresentable, { (w) throws(StreamError) in try w.startElement("a:b:c") }),
            ("a prefix", .misuse, { (w) throws(StreamError) in try w.startElement("p:a") }),
            ("a prefix of an attribute", .misuse, { (w) throws(StreamError) in try w.startElement("a", ["p:b": ""]) }),
            ("xmlns as a prefix", .misuse, { (w) throws(StreamError) in try w.startElement("xmlns:a") }),
            ("xml for another", .misuse, { (w) throws(StreamError) in try w.startElement("a", ["xmlns:xml": "b"]) }),
            ("an empty namespace", .misuse, { (w) throws(StreamError) in try w.startElement("a", ["xmlns:p": ""]) }),
            (
                "a name of a prefix", .unrepresentable,
                { (w) throws(StreamError) in try w.startElement("a", ["xmlns:1": "b"]) }
            ),
            ("an attribute", .unrepresentable, { (w) throws(StreamError) in try w.startElement("a", ["<": "b"]) }),
            ("a value", .unrepresentable, { (w) throws(StreamError) in try w.startElement("a", ["b": "\u{1}"]) }),
            (
                "two attributes", .duplicateKey,
                { (w) throws(StreamError) in try w.startElement("a", ["b": "1", "b": "2"]) }
            ),
            (
                "two of a namespace", .duplicateKey,
                { (w) throws(StreamError) in
                    try w.startElement("a", ["xmlns:p": "u", "xmlns:q": "u", "p:b": "1", "q:b": "2"])
                }
            ),
            (
                "two declarations", .duplicateKey,
                { (w) throws(StreamError) in try w.startElement("a", ["xmlns": "1", "xmlns": "2"]) }
            ),
            ("text", .unrepresentable, { (w) throws(StreamError) in try w.text("a\u{B}") }),
            (
                "text of an element", .unrepresentable,
                { (w) throws(StreamError) in try w.element("a", text: "\u{FFFF}") }
            ),
            ("a section", .unrepresentable, { (w) throws(StreamError) in try w.cdata("\u{0}") }),
            ("a comment", .unrepresentable, { (w) throws(StreamError) in try w.comment("a--b") }),
            ("the end of a comment", .unrepresentable, { (w) throws(StreamError) in try w.comment("a-") }),
            ("a line of a comment", .unrepresentable, { (w) throws(StreamError) in try w.comment("a\r\n") }),
            ("a target", .unrepresentable, { (w) throws(StreamError) in try w.processingInstruction("XmL", "a") }),
            (
                "a target with a colon", .unrepresentable,
                { (w) throws(StreamError) in try w.processingInstruction("a:b", "") }
            ),
            (
                "an instruction", .unrepresentable,
                { (w) throws(StreamError) in try w.processingInstruction("a", "b?>c") }
            ),
            (
                "space before it", .unrepresentable,
                { (w) throws(StreamError) in try w.processingInstruction("a", " b") }
            ),
            ("a declaration", .misuse, { (w) throws(StreamError) in try w.declaration() }),
            ("a type", .misuse, { (w) throws(StreamError) in try w.doctype("a") }),
            ("no end", .misuse, { (w) throws(StreamError) in try w.finish() }),
        ]
    }

    private static func testRefusesIllFormedMarkup() throws {
        for (name, kind, write) in refusals {
            var writer = XMLWriter()
            try writer.startElement("r", ["xmlns:s": "urn:s"])
            let error = expectThrows(StreamError.self, name) { try write(&writer) }
            expectEqual(error?.kind, kind, "kind of \(name)")
            try writer.element("s:t")
            try writer.endElement()
            try writer.finish()
            expectEqual(writer.text, "<r xmlns:s=\"urn:s\"><s:t/></r>", "what is written in spite of \(name)")
        }
        var writer = XMLWriter(options: XMLWriterOptions(depthLimit: 1))
        expectEqual(expectThrows(StreamError.self, "no root") { try writer.finish() }?.kind, .misuse, "no root")
        expectEqual(
            expectThrows(StreamError.self, "text") { try writer.text("a") }?.kind, .misuse, "text before the root")
        expectEqual(expectThrows(StreamError.self, "an end") { try writer.endElement() }?.kind, .misuse, "an end")
        try writer.startElement("a")
        let error = expectThrows(StreamError.self, "depth") { try writer.startElement("b") }
        expectEqual(error?.kind, .limitExceeded, "depth")
        try writer.endElement()
        expectEqual(
            expectThrows(StreamError.self, "text") { try writer.text("a") }?.kind, .misuse, "text behind the root")
        try writer.text("\n ")
        expectEqual(
            expectThrows(StreamError.self, "a root") { try writer.startElement("b") }?.kind, .misuse, "a second root")
        let unbalanced = expectThrows(StreamError.self, "a closure") {
            writer.reset()
            try writer.element("a") { a throws(StreamError) in try a.endElement() }
        }
        expectEqual(unbalanced?.kind, .misuse, "a closure that closes its element")
    }

    private static func testWritesMarkupOutsideTheRoot() throws {
        let written = try text { writer throws(StreamError) in
            try writer.declaration(standalone: true)
            try writer.comment("c")
            try writer.doctype("a", publicID: "-//X", systemID: "it's \u{E9}")
            try writer.processingInstruction("p", "i")
            try writer.element("a")
            try writer.comment("end")
        }
        expectEqual(
            written,
            """
            <?xml version="1.0" encoding="UTF-8" standalone="yes"?><!--c--><!DOCTYPE a PUBLIC "-//X" "it's é"><?p i?>\
            <a/><!--end-->
            """, "text")
        for (publicID, systemID, kind) in [
            ("a", nil, StreamError.Kind.misuse), ("{", "b", .unrepresentable), (nil, "\"'", .unrepresentable),
        ] {
            let error = expectThrows(StreamError.self, "identifiers") {
                _ = try text { writer throws(StreamError) in
                    try writer.doctype("a", publicID: publicID, systemID: systemID)
                }
            }
            expectEqual(error?.kind, kind, "kind of \(publicID ?? "") \(systemID ?? "")")
        }
    }

    private static func testIndentsElementsButNotText() throws {
        let written = try text(.pretty) { writer throws(StreamError) in
            try writer.declaration()
            try writer.element("a") { a throws(StreamError) in
                try a.element("b") { b throws(StreamError) in try b.element("c", text: "text") }
                try a.comment("d")
                try a.element("e") { e throws(StreamError) in
                    try e.text("mixed ")
                    try e.element("f") { f throws(StreamError) in try f.element("g") }
                }
                try a.element("h")
            }
            try writer.comment("i")
        }
        expectEqual(
            written,
            """
            <?xml version="1.0" encoding="UTF-8"?>
            <a>
              <b>
                <c>text</c>
              </b>
              <!--d-->
              <e>mixed <f>
                  <g/>
                </f></e>
              <h/>
            </a>
            <!--i-->

            """, "text")
        let error = expectThrows(StreamError.self, "late text") {
            _ = try text(.pretty) { writer throws(StreamError) in
                try writer.element("a") { a throws(StreamError) in
                    try a.element("b")
                    try a.text("c")
                }
            }
        }
        expectEqual(error?.kind, .misuse, "text behind children")
    }

    private static func testSplitsCDATASections() throws {
        for (content, expected) in [
            ("", ""), ("a]]>b", "a]]]]><![CDATA[>b"), ("]]>]]>", "]]]]><![CDATA[>]]]]><![CDATA[>"),
            ("]]]>", "]]]]]><![CDATA[>"),
            ("<&>", "<&>"), ("a\rb", "a]]>&#13;<![CDATA[b"), ("]\r]>", "]]]>&#13;<![CDATA[]>"), ("]]", "]]"),
            (">", ">"),
        ] {
            var writer = XMLWriter()
            try writer.element("a") { a throws(StreamError) in try a.cdata(content) }
            expectEqual(writer.text, "<a><![CDATA[\(expected)]]></a>", "section of \(content.debugDescription)")
        }
    }

    private static func testIsReusableAfterReset() throws {
        var writer = XMLWriter()
        try writer.startElement("p:a", ["xmlns:p": "urn:p"])
        writer.reset()
        expectThrows(StreamError.self, "a prefix of the text before") { try writer.startElement("p:a") }
        try writer.element("b")
        try writer.finish()
        expectEqual(writer.text, "<b/>", "text")
        expectEqual(writer.depth, 0, "depth")
    }

    private static func testChecksManyAttributesQuickly() throws {
        var writer = XMLWriter()
        let names = (0..<5_000).map { (key: "xmlns:p\($0)", value: "urn:\($0)") }
        let others = (0..<5_000).map { (key: "p\($0):a", value: "") }
        try writer.startElement("a", attributes: names + others)
        try writer.endElement()
        try writer.finish()
        expectGreaterThan(writer.bytes.count, 10_000 * 11, "bytes")
    }
}
#endif
