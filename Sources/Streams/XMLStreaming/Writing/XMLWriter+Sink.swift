// Makes an XML writer a sink, so that the messages of a reader are written again.

public import PlistStreaming

extension XMLWriter: XMLSink {
    /// Writes the XML declaration with the encoding UTF-8.
    public mutating func declaration(_ declaration: borrowing XMLDeclaration) throws(StreamError) {
        try self.declaration(standalone: declaration.isStandalone)
    }

    /// Writes the document type declaration.
    public mutating func documentType(_ type: borrowing XMLDocumentType) throws(StreamError) {
        try writeDoctype(
            Array(copying: type.name), publicID: type.hasPublicID ? Array(copying: type.publicID) : nil,
            systemID: type.hasExternalID ? Array(copying: type.systemID) : nil,
            internalSubset: type.hasInternalSubset ? Array(copying: type.internalSubset) : nil)
    }

    /// Writes a start tag with its namespace declarations, and with the declarations that it additionally needs here.
    ///
    /// Attributes that are defaults of the document type are left out if the document type is written.
    ///
    /// - Throws: ``/PlistStreaming/StreamError/Kind/unrepresentable`` if the text of an entity is missing from a value.
    public mutating func startElement(_ tag: borrowing XMLStartTag) throws(StreamError) -> XMLInterest {
        let withNamespaces = options.checksNamespaces
        let hasType = types != nil
        for index in 0..<tag.declarations.count where tag.declarations[index].hasSkippedEntity {
            throw tag.declarations[index].lack
        }
        for index in 0..<tag.attributes.count where tag.attributes[index].hasSkippedEntity {
            if !(tag.attributes[index].isDefaulted && hasType) { throw tag.attributes[index].lack }
        }
        try writeStartTag { draft in
            draft.begin(tag.name.qualified)
            if withNamespaces { draft.setNamespace(tag.name.namespace) }
            for index in 0..<tag.declarations.count {
                let declaration = tag.declarations[index]
                if withNamespaces {
                    let isDefault = declaration.name.prefix.byteCount == 0
                    draft.declare(isDefault ? RawSpan() : declaration.name.local, declaration.value)
                } else {
                    draft.add(declaration.name.qualified, value: declaration.value)
                }
            }
            for index in 0..<tag.attributes.count {
                let attribute = tag.attributes[index]
                if attribute.isDefaulted && hasType { continue }
                draft.add(attribute.name.qualified, value: attribute.value)
                if withNamespaces { draft.setNamespace(attribute.name.namespace) }
            }
        }
        return .content
    }

    /// Closes the innermost element. The tag must have its name.
    public mutating func endElement(_ tag: borrowing XMLEndTag) throws(StreamError) {
        guard isOpen(tag.name.qualified) else {
            throw StreamError(.misuse, "expected the end of the innermost element, got that of another one")
        }
        try endElement()
    }

    /// Writes a piece of text, as a CDATA section if it came from one.
    public mutating func text(_ text: borrowing XMLText) throws(StreamError) {
        if text.isCDATA { try cdata(text.utf8) } else { try self.text(text.utf8) }
    }

    /// Writes a comment.
    public mutating func comment(_ comment: borrowing XMLComment) throws(StreamError) {
        try self.comment(comment.utf8)
    }

    /// Writes a processing instruction.
    public mutating func processingInstruction(_ instruction: borrowing XMLProcessingInstruction) throws(StreamError) {
        try processingInstruction(instruction.target, instruction.data)
    }

    /// Writes a reference to an entity that isn't in the document.
    ///
    /// - Throws: ``/PlistStreaming/StreamError/Kind/unrepresentable`` if a reader wouldn't skip the reference. A reader skips
    ///   it if the written document type declares the entity as external. It also skips an undeclared entity if the document
    ///   type has a part outside the document and the document isn't standalone.
    public mutating func skippedEntity(_ reference: borrowing XMLSkippedEntity) throws(StreamError) {
        guard WrittenText.isName(reference.name), isSkipped(reference.name) else {
            throw StreamError(
                .unrepresentable,
                "expected a document type that declares the entity as external or has an external part")
        }
        try beginText(isWhitespace: false)
        try output.append(UInt8(ascii: "&"))
        try output.append(reference.name)
        try output.append(UInt8(ascii: ";"))
    }
}

extension XMLWriter {
    /// Returns whether a reader skips a reference to an entity instead of replacing or rejecting it.
    private func isSkipped(_ entity: RawSpan) -> Bool {
        guard let types else { return false }
        var tokenizer = XMLTokenizer(options: XMLReaderOptions(knowsNamespaces: options.checksNamespaces))
        (tokenizer.types, tokenizer.isStandalone, tokenizer.phase) = (types, isStandalone, .content)
        let text = Array("&".utf8) + Array(copying: entity) + Array(";".utf8)
        let reference = try? text.withRawSpan { (text) throws(StreamError) in
            try tokenizer.parsedReference(in: text, at: 0)
        }
        return switch reference?.meaning {
        case .external, .unknown: true
        case .character, .entity, nil: false
        }
    }
}

// MARK: - In-class tests

#if DEBUG || IN_CLASS_TESTS
import InClassTesting

enum XMLWriterSinkTests {}

extension XMLWriterSinkTests: SelfTesting {
    static var testSelectors: TestSelectors {
        [
            "testDeclaresNeededNamespaces": testDeclaresNeededNamespaces,
            "testWritesEveryMessage": testWritesEveryMessage,
            "testRefusesMismatchedEndsAndEntities": testRefusesMismatchedEndsAndEntities,
            "testWritesOnlyReadableReferences": testWritesOnlyReadableReferences,
            "testRoundTripsDocumentTypes": testRoundTripsDocumentTypes,
        ]
    }

    /// Sends a start tag with names such as `p:a` and their namespaces.
    private static func start(
        _ name: (String, String), _ attributes: [(String, String, value: String)] = [],
        declaring: [(String, String)] = [], to writer: inout XMLWriter
    ) throws(StreamError) {
        var memory = XMLTagMemory()
        try with(name) { (name) throws(StreamError) in memory.begin(name) }
        for (qualified, namespace, value) in attributes {
            try with((qualified, namespace)) { (name) throws(StreamError) in
                value.withUTF8Span { memory.append(name, value: $0) }
            }
        }
        for (qualified, uri) in declaring {
            try with((qualified, "")) { (name) throws(StreamError) in
                uri.withUTF8Span { memory.appendDeclaration(name, uri: $0) }
            }
        }
        _ = try writer.startElement(memory.startTag)
    }

    private static func end(_ name: String, _ writer: inout XMLWriter) throws(StreamError) {
        try with((name, "")) { (name) throws(StreamError) in
            try writer.endElement(XMLEndTag(name: XMLName(name.qualified)))
        }
    }

    private static func with(
        _ name: (String, String), _ body: (borrowing XMLName) throws(StreamError) -> Void
    ) throws(StreamError) {
        try name.0.withUTF8Span { qualified throws(StreamError) in
            try name.1.withUTF8Span { namespace throws(StreamError) in
                let colon = name.0.utf8.firstIndex(of: UInt8(ascii: ":"))
                let count = colon.map { name.0.utf8.distance(from: name.0.startIndex, to: $0) } ?? 0
                try body(XMLName(qualified, prefixCount: count, namespace: namespace))
            }
        }
    }

    private static func testDeclaresNeededNamespaces() throws {
        var writer = XMLWriter()
        try start(("a", "urn:a"), [("p:b", "urn:p", "1")], to: &writer)
        try start(("p:c", "urn:p"), declaring: [("xmlns:q", "urn:q"), ("xmlns", "urn:a")], to: &writer)
        try start(("d", ""), [("p:e", "urn:other", "2")], to: &writer)
        for name in ["d", "p:c", "a"] { try end(name, &writer) }
        try writer.finish()
        expectEqual(
            writer.text,
            """
            <a xmlns="urn:a" xmlns:p="urn:p" p:b="1"><p:c xmlns:q="urn:q" xmlns="urn:a">\
            <d xmlns="" xmlns:p="urn:other" p:e="2"/></p:c></a>
            """, "text")
        writer.reset()
        let error = expectThrows(StreamError.self, "two namespaces") {
            try start(("p:a", "urn:a"), [("p:b", "urn:b", "1")], to: &writer)
        }
        expectEqual(error?.kind, .misuse, "kind")
        expectEqual(writer.text, "", "nothing is written")
    }

    private static func testWritesEveryMessage() throws {
        var writer = XMLWriter()
        try "1.0".withUTF8Span { text throws(StreamError) in
            try writer.declaration(XMLDeclaration(version: text, encoding: text, isStandalone: false))
        }
        try "a".withUTF8Span { a throws(StreamError) in
            try "<!ENTITY e SYSTEM 'e'>".withUTF8Span { subset throws(StreamError) in
                try writer.documentType(
                    XMLDocumentType(
                        name: a, hasExternalID: true, publicID: a, systemID: a, hasInternalSubset: true,
                        internalSubset: subset))
            }
            try start(("a", ""), to: &writer)
            try writer.text(XMLText(a))
            try writer.text(XMLText(a, isCDATA: true))
            try writer.comment(XMLComment(a))
            try writer.processingInstruction(XMLProcessingInstruction(target: a, data: a))
            try writer.skippedEntity(XMLSkippedEntity(name: a))
            try end("a", &writer)
        }
        try writer.endDocument()
        expectEqual(
            writer.text,
            """
            <?xml version="1.0" encoding="UTF-8" standalone="no"?><!DOCTYPE a PUBLIC "a" "a" [<!ENTITY e SYSTEM 'e'>]>\
            <a>a<![CDATA[a]]><!--a--><?a a?>&a;</a>
            """, "text")
    }

    private static func testRefusesMismatchedEndsAndEntities() throws {
        var writer = XMLWriter()
        try start(("a", ""), to: &writer)
        expectEqual(expectThrows(StreamError.self, "end") { try end("b", &writer) }?.kind, .misuse, "another end")
        let error = expectThrows(StreamError.self, "entity") {
            try "e".withUTF8Span { try writer.skippedEntity(XMLSkippedEntity(name: $0)) }
        }
        expectEqual(error?.kind, .unrepresentable, "an entity without a document type")
        for (text, expected) in [
            ("<a b='1&e;'/>", StreamError.Kind.unrepresentable), ("<a xmlns:p='1&e;'/>", .unrepresentable),
            ("<a/>", nil),
        ] {
            var copy = XMLWriter()
            let type = "<!DOCTYPE a SYSTEM 'x' [<!ATTLIST a c CDATA '&e;'>]>"
            var kind: StreamError.Kind?
            do throws(StreamError) { try copy.readXML(type + text) } catch { kind = error.kind }
            expectEqual(kind, expected, "a part of a value that is not there: \(text)")
        }
        try end("a", &writer)
        expectEqual(writer.text, "<a/>", "text")
    }

    private static func testWritesOnlyReadableReferences() throws {
        let standalone = "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>"
        let rows: [(String, Bool)] = [
            ("", false), ("<!DOCTYPE a>", false), ("<!DOCTYPE a []>", false), ("<!DOCTYPE a SYSTEM \"x\">", true),
            ("<!DOCTYPE a PUBLIC \"\" \"x\">", true), (standalone + "<!DOCTYPE a SYSTEM \"x\">", false),
            ("<!DOCTYPE a [<!ENTITY e SYSTEM 'x'>]>", true), ("<!DOCTYPE a [<!ENTITY f SYSTEM 'x'>]>", false),
            (standalone + "<!DOCTYPE a [<!ENTITY e SYSTEM 'x'>]>", true),
            ("<!DOCTYPE a [<!ENTITY e 'x'>]>", false), ("<!DOCTYPE a SYSTEM \"x\" [<!ENTITY e 'x'>]>", false),
            ("<!DOCTYPE a [<!NOTATION n SYSTEM 'n'><!ENTITY e SYSTEM 'x' NDATA n>]>", false),
            ("<!DOCTYPE a [<!ENTITY % p SYSTEM 'x'>%p;]>", true),
            (standalone + "<!DOCTYPE a [<!ENTITY % p SYSTEM 'x'>%p;]>", false),
        ]
        for (type, isGood) in rows {
            var thrown: StreamError?
            var reader = XMLReader(sink: XMLWriter())
            do throws(StreamError) {
                // With this many bytes after the document type, it has certainly been read.
                try reader.feed(type + "<a>" + String(repeating: "x", count: 256))
                try "e".withUTF8Span { e throws(StreamError) in try reader.sink.skippedEntity(XMLSkippedEntity(name: e))
                }
            } catch { thrown = error }
            expectEqual(thrown?.kind, isGood ? nil : .unrepresentable, "a reference behind \(type)")
            var trace = XMLTrace()
            let readError: StreamError?
            do throws(StreamError) {
                try trace.readXML(type + "<a>&e;</a>")
                readError = nil
            } catch { readError = error }
            let isSkipped = readError == nil && trace.line.contains("&e")
            expectEqual(isSkipped, isGood, "what a reader finds in \(type): \(trace.line)")
            var writer = XMLWriter()
            try writer.readXML(type + "<a/>")
            expectEqual(writer.text, type + "<a/>", "what is written of \(type)")
        }
    }

    private static func testRoundTripsDocumentTypes() throws {
        let rows = [
            // The declarations in the subset apply only to elements that occur.
            "<!DOCTYPE a [<!ATTLIST a p:x CDATA 'v'>]><a xmlns:p=\"u\"/>",
            "<!DOCTYPE b [<!ATTLIST a p:x CDATA 'v'>]><b/>",
            "<!DOCTYPE a [<!ATTLIST a xmlns:p CDATA 'u' p:x CDATA 'v'>]><a/>",
            "<!DOCTYPE a PUBLIC \"\" \"x\"><a/>", "<!DOCTYPE a PUBLIC \"\" \"\"><a/>", "<!DOCTYPE a SYSTEM \"\"><a/>",
        ]
        for text in rows {
            var writer = XMLWriter()
            var (trace, again) = (XMLTrace(), XMLTrace())
            try writer.readXML(text)
            try trace.readXML(text)
            try again.readXML(writer.text)
            expectEqual(again.line, trace.line, "what is read of what is written of \(text)")
        }
    }
}
#endif
