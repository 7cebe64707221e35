// In-class tests with random documents. A written document is read and written again by a writer that is the sink. The result
// has to be the same.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistStreaming

enum XMLWriterRoundTripTests {}

extension XMLWriterRoundTripTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testRoundTripsRandomDocuments": testRoundTripsRandomDocuments,
            "testLayoutDoesNotChangeText": testLayoutDoesNotChangeText,
            "testRefusesInvalidDocumentTypes": testRefusesInvalidDocumentTypes,
        ]
    }

    private static let texts = [
        "x", " ", "<&>\"'", "]]>", "a\r\nb\rc\td", "größe 東京 🙂", "--", "?>", "\u{85}\u{2028}", "]]", "&amp;",
        "\u{FFFD}",
    ]

    /// Writes a random element with its content, and returns the text that a reader has to find.
    private static func write(
        _ writer: inout XMLWriter, _ random: inout TestRandom, depth: Int, texts: [String]
    ) throws(StreamError) -> String {
        var attributes: [(key: String, value: String)] = []
        var names = ["a", "b", "ü", "p:a", "xml:lang"].shuffled(using: &random)
        while names.count > 2, Bool.random(using: &random) {
            attributes.append((names.removeLast(), texts.randomElement(using: &random) ?? ""))
        }
        let name = ["a", "p:b", "q:c", "größe"].randomElement(using: &random) ?? "a"
        try writer.startElement(name, attributes: attributes)
        var found = "<\(name)\(attributes.map { " \($0.key)=\($0.value.debugDescription)" }.joined())>"
        var text = ""
        for _ in 0..<Int.random(in: 0...4, using: &random) {
            let part = texts.randomElement(using: &random) ?? ""
            switch Int.random(in: 0..<6, using: &random) {
            case 0:
                try writer.text(part)
                text += part
                continue
            case 1:
                try writer.cdata(part)
                text += part
                continue
            case 2 where !part.contains("\r") && !part.contains("--"):
                found += (text.isEmpty ? "" : text.debugDescription) + "<!--\(part)-->"
                text = ""
                try writer.comment(part)
            case 3 where depth < 5:
                found += text.isEmpty ? "" : text.debugDescription
                text = ""
                found += try write(&writer, &random, depth: depth + 1, texts: texts)
            default:
                continue
            }
        }
        try writer.endElement()
        return found + (text.isEmpty ? "" : text.debugDescription) + "</\(name)>"
    }

    /// A sink that describes a document in the same form as the function above.
    private struct Finder: XMLSink {
        var found = ""
        var text = ""

        mutating func flush() {
            found += text.isEmpty ? "" : text.debugDescription
            text = ""
        }
        mutating func startElement(_ tag: borrowing XMLStartTag) throws(StreamError) -> XMLInterest {
            flush()
            found += "<" + String(xml: tag.name.qualified)
            for index in 0..<tag.attributes.count {
                let attribute = tag.attributes[index]
                found += " \(String(xml: attribute.name.qualified))=\(String(xml: attribute.value).debugDescription)"
            }
            found += ">"
            return .content
        }
        mutating func endElement(_ tag: borrowing XMLEndTag) throws(StreamError) {
            flush()
            found += "</\(String(xml: tag.name.qualified))>"
        }
        mutating func text(_ piece: borrowing XMLText) throws(StreamError) { text += String(xml: piece.utf8) }
        mutating func comment(_ comment: borrowing XMLComment) throws(StreamError) {
            flush()
            found += "<!--\(String(xml: comment.utf8))-->"
        }
    }

    private static func testRoundTripsRandomDocuments() throws {
        var random = TestRandom(seed: 3)
        let namespaces = ["p": "urn:p", "q": "urn:q&<\""]
        for _ in 0..<150 {
            var writer = XMLWriter(options: XMLWriterOptions(namespaces: namespaces))
            let expected = try write(&writer, &random, depth: 0, texts: texts)
            try writer.finish()
            var finder = Finder()
            try finder.readXML(writer.bytes)
            expectEqual(finder.found, expected, "what is read of \(writer.text)")
            var copy = XMLWriter()
            var again = XMLTrace()
            try copy.readXML(writer.bytes)
            try copy.finish()
            var trace = XMLTrace()
            try trace.readXML(writer.bytes)
            try again.readXML(copy.bytes)
            expectEqual(again.line, trace.line, "what is read of the copy of \(writer.text)")
        }
    }

    private static func testLayoutDoesNotChangeText() throws {
        var random = TestRandom(seed: 4)
        var (count, refused) = (0, 0)
        for _ in 0..<300 {
            var writer = XMLWriter(
                options: XMLWriterOptions(layout: .pretty(indent: 1), namespaces: ["p": "u", "q": "v"]))
            do {
                let expected = try write(&writer, &random, depth: 0, texts: ["x", "y&"])
                try writer.finish()
                let tree = try XMLTree(writer.text)
                var finder = Finder()
                // White space between tags isn't in the tree.
                try finder.readXML(canonical(tree.root))
                expectEqual(finder.found, expected, "what is read of \(writer.text)")
                count += 1
            } catch let error as StreamError {
                expectEqual(error.kind, .misuse, "text behind children that have lines of their own")
                refused += 1
            }
        }
        expectGreaterThan(count, 50, "documents")
        expectGreaterThan(refused, 10, "documents with text behind children")
    }

    /// Returns a node as text, without white space between tags.
    private static func canonical(_ node: XMLTreeNode) throws -> String {
        var writer = XMLWriter()
        func write(_ node: XMLTreeNode) throws {
            switch node.kind {
            case .element:
                try writer.startElement(node.name, attributes: node.attributes.map { ($0.name, $0.value) })
                for child in node.children { try write(child) }
                try writer.endElement()
            case .text: try writer.text(node.text)
            case .comment: try writer.comment(node.text)
            default: break
            }
        }
        try write(node)
        return writer.text
    }

    private static func testRefusesInvalidDocumentTypes() throws {
        for (subset, isGood) in [
            ("<!ENTITY e 'x'> ", true), ("", true), ("<!ENTITY e", false), ("]><b/><!--", false), ("x", false),
        ] {
            var writer = XMLWriter()
            var thrown: StreamError?
            try "a".withUTF8Span { name throws(StreamError) in
                try subset.withUTF8Span { subset throws(StreamError) in
                    do throws(StreamError) {
                        try writer.documentType(
                            XMLDocumentType(
                                name: name, hasExternalID: false, publicID: RawSpan(), systemID: RawSpan(),
                                hasInternalSubset: true, internalSubset: subset))
                    } catch {
                        thrown = error
                    }
                }
            }
            expectEqual(thrown?.kind, isGood ? nil : .unrepresentable, "the subset \(subset)")
            expectEqual(writer.text, isGood ? "<!DOCTYPE a [\(subset)]>" : "", "what is written of \(subset)")
        }
    }
}
#endif
