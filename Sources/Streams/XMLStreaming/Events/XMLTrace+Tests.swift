// Records all messages as short text for tests, and makes start tags that aren't read from a document.

#if DEBUG || IN_CLASS_TESTS
import InClassTesting
import PlistStreaming

/// A sink that records the messages as text, so that tests can compare them.
///
/// `<a x="1"><b/>t</a>` gives `<a x="1"> <b/> </b> "t" </a> end`. A name in a namespace has its URI in braces before it, as
/// in `<{urn:a}p:b>`. Declared namespaces come after the attributes, as they are spelled. A default is written as `x:="1"`.
/// The other words are `cdata "…"`, `<!--…-->`, `<?target data?>`, `xml 1.0 UTF-8 yes`,
/// `doctype a public "…" system "…" […]`, `skipped &e;`. Adjacent pieces of text are joined. Quotes, backslashes and control
/// characters are spelled as `\u{22}`.
package struct XMLTrace: XMLSink, Sendable {
    /// The words so far, in order.
    package private(set) var events: [String] = []
    /// The names of elements whose content is skipped.
    package var unwanted: Set<String> = []
    /// A Boolean value that indicates whether each word is followed by its bytes in the document, such as `@3..<10`. Pieces
    /// of text are then not joined.
    package var showsPlaces: Bool = false
    /// The error that ended the document.
    package private(set) var abandonment: StreamError?
    private var text = ""
    private var isCDATA = false

    /// Creates an empty trace.
    package init(unwanted: Set<String> = [], showsPlaces: Bool = false) {
        self.unwanted = unwanted
        self.showsPlaces = showsPlaces
    }

    /// All words in one line.
    package var line: String { (events + pendingText).joined(separator: " ") }

    private var pendingText: [String] { text.isEmpty ? [] : [(isCDATA ? "cdata " : "") + Self.quoted(text)] }

    private mutating func endText() {
        events += pendingText
        text = ""
    }

    private mutating func record(_ word: String, _ place: XMLSourceRange) {
        endText()
        let range = place.isInEntity ? "entity \(place.byteRange)" : "\(place.byteRange)"
        events.append(showsPlaces ? "\(word) @\(range)" : word)
    }

    /// Records `xml …`.
    package mutating func declaration(_ declaration: borrowing XMLDeclaration) throws(StreamError) {
        let standalone = declaration.isStandalone.map { $0 ? "yes" : "no" }
        let words = ["xml", String(xml: declaration.version), String(xml: declaration.encoding), standalone ?? ""]
        record(words.filter { !$0.isEmpty }.joined(separator: " "), declaration.place)
    }

    /// Records `doctype …`.
    package mutating func documentType(_ type: borrowing XMLDocumentType) throws(StreamError) {
        var word = "doctype \(String(xml: type.name))"
        if type.hasPublicID { word += " public \(Self.quoted(String(xml: type.publicID)))" }
        if type.hasExternalID { word += " system \(Self.quoted(String(xml: type.systemID)))" }
        if type.hasInternalSubset { word += " [\(String(xml: type.internalSubset))]" }
        record(word, type.place)
    }

    /// Records `<a …>` or `<a …/>`.
    package mutating func startElement(_ tag: borrowing XMLStartTag) throws(StreamError) -> XMLInterest {
        var word = "<" + Self.spelling(tag.name)
        for index in 0..<tag.attributes.count {
            let attribute = tag.attributes[index]
            let sign = attribute.isDefaulted ? ":=" : "="
            word += " \(Self.spelling(attribute.name))\(sign)\(Self.quoted(String(xml: attribute.value)))"
        }
        for index in 0..<tag.declarations.count {
            let declaration = tag.declarations[index]
            word += " \(String(xml: declaration.name.qualified))=\(Self.quoted(String(xml: declaration.value)))"
        }
        record(word + (tag.isEmptyElement ? "/>" : ">"), tag.place)
        return unwanted.contains(String(xml: tag.name.qualified)) ? .skipChildren : .content
    }

    /// Records `</a>`.
    package mutating func endElement(_ tag: borrowing XMLEndTag) throws(StreamError) {
        record("</\(Self.spelling(tag.name))>", tag.place)
    }

    /// Records the text and joins it with the previous piece.
    package mutating func text(_ piece: borrowing XMLText) throws(StreamError) {
        guard piece.utf8.byteCount > 0, let string = String(validating: piece.utf8) else {
            throw StreamError(.misuse, "expected a piece of text that is not empty and valid UTF-8")
        }
        if showsPlaces {
            record((piece.isCDATA ? "cdata " : "") + Self.quoted(string), piece.place)
            return
        }
        if piece.isCDATA != isCDATA { endText() }
        isCDATA = piece.isCDATA
        text += string
    }

    /// Records `<!--…-->`.
    package mutating func comment(_ comment: borrowing XMLComment) throws(StreamError) {
        record("<!--\(String(xml: comment.utf8))-->", comment.place)
    }

    /// Records `<?target data?>`.
    package mutating func processingInstruction(_ instruction: borrowing XMLProcessingInstruction) throws(StreamError) {
        let data = instruction.data.byteCount > 0 ? " " + String(xml: instruction.data) : ""
        record("<?\(String(xml: instruction.target))\(data)?>", instruction.place)
    }

    /// Records `skipped &e;`.
    package mutating func skippedEntity(_ reference: borrowing XMLSkippedEntity) throws(StreamError) {
        record("skipped &\(String(xml: reference.name));", reference.place)
    }

    /// Records `end`.
    package mutating func endDocument() throws(StreamError) {
        endText()
        events.append("end")
    }

    /// Stores the error.
    package mutating func cancel(with error: StreamError) {
        endText()
        abandonment = error
    }

    private static func spelling(_ name: borrowing XMLName) -> String {
        let namespace = name.namespace.byteCount > 0 ? "{\(String(xml: name.namespace))}" : ""
        return namespace + String(xml: name.qualified)
    }

    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            if scalar == "\"" || scalar == "\\" || scalar.value < 0x20 || scalar.value == 0x7F {
                quoted += "\\u{\(String(scalar.value, radix: 16))}"
            } else {
                quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}

/// Memory for start tags that aren't read from a document.
///
/// The caller sets the namespaces of the names. Only the prefixes are checked to be within their names.
struct XMLTagMemory: ~Copyable {
    private var copies = KeptStack<UInt8>()
    private var namespaces = KeptStack<UInt8>()
    private var name = NameRecord(qualified: .copy(0, 0))
    private var attributes = KeptStack<AttributeRecord>()
    private var declarations = KeptStack<AttributeRecord>()
    /// A Boolean value that indicates whether the tag is an empty-element tag.
    var isEmptyElement: Bool = false

    /// Creates memory for a tag without a name.
    init() {}

    /// Begins a tag with the name of its element, and discards the last tag.
    mutating func begin(_ name: borrowing XMLName) {
        copies.removeAll()
        namespaces.removeAll()
        attributes.removeAll()
        declarations.removeAll()
        isEmptyElement = false
        self.name = copied(name)
    }

    /// Adds an attribute.
    mutating func append(_ name: borrowing XMLName, value: RawSpan, isDefaulted: Bool = false) {
        let record = copied(name)
        attributes.append(AttributeRecord(name: record, value: copied(value), isDefaulted: isDefaulted))
    }

    /// Adds the declaration of a namespace: `xmlns`, or a name with the prefix `xmlns`.
    mutating func appendDeclaration(_ name: borrowing XMLName, uri: RawSpan) {
        let record = copied(name)
        declarations.append(AttributeRecord(name: record, value: copied(uri)))
    }

    /// The start tag, which borrows this memory.
    var startTag: XMLStartTag {
        @_lifetime(borrow self) get {
            let memory = BorrowedTag(
                text: RawSpan(), copies: copies.bytes, namespaces: namespaces.bytes, attributes: attributes.span)
            // SAFETY: the tag borrows this memory.
            let tag = unsafe XMLStartTag(
                memory: memory, name: name, declarations: declarations.span, isEmptyElement: isEmptyElement,
                place: .none)
            return unsafe _overrideLifetime(tag, borrowing: self)
        }
    }

    private mutating func copied(_ bytes: RawSpan) -> MemorySlice {
        let start = copies.count
        precondition(bytes.byteCount <= Int(Int32.max) - start, "expected a tag of at most 2 GiB")
        copies.append(contentsOf: bytes)
        return .copy(start, bytes.byteCount)
    }

    private mutating func copied(_ name: borrowing XMLName) -> NameRecord {
        let start = namespaces.count
        precondition(name.namespace.byteCount <= Int(Int32.max) - start, "expected a tag of at most 2 GiB")
        namespaces.append(contentsOf: name.namespace)
        return NameRecord(
            qualified: copied(name.qualified), prefixCount: Int32(name.prefixCount),
            namespaceCount: Int32(name.namespace.byteCount), namespaceStart: Int32(start))
    }
}

extension XMLTrace: SelfTesting {
    /// The tests of this type.
    package static var testSelectors: TestSelectors {
        [
            "testDescribesTags": testDescribesTags,
            "testDescribesOtherMarkup": testDescribesOtherMarkup,
            "testJoinsAdjacentText": testJoinsAdjacentText,
        ]
    }

    private static func testDescribesTags() throws {
        var trace = XMLTrace(unwanted: ["p:a"])
        var memory = XMLTagMemory()
        try withSpans("p:a", "urn:p", "say \"x\"") { name, uri, value throws(StreamError) in
            memory.begin(XMLName(name, prefixCount: 1, namespace: uri))
            memory.append(XMLName(name), value: value)
            memory.append(XMLName(name, prefixCount: 1, namespace: uri), value: uri, isDefaulted: true)
            memory.appendDeclaration(XMLName(name, prefixCount: 1), uri: uri)
            memory.isEmptyElement = true
            expectEqual(try trace.startElement(memory.startTag), .skipChildren, "an unwanted one")
            let tag = memory.startTag
            expectTrue(tag.name.isNamed("a", in: "urn:p") && tag.name.isSpelled("p:a"), "its name")
            expectTrue(tag.name.prefix.equals("p"), "its prefix")
            expectEqual(tag.attributes.string("p:a"), "say \"x\"", "the first of that spelling")
            expectEqual(tag.attributes.string("a", in: "urn:p"), "urn:p", "the one in the namespace")
            expectNil(tag.attributes.string("a"), "none of that spelling")
            try trace.endElement(XMLEndTag(name: tag.name))
        }
        try withSpans("urn:p", "", "") { uri, _, _ throws(StreamError) in
            memory.begin(XMLName(uri))
            expectEqual(try trace.startElement(memory.startTag), .content, "the next one")
        }
        expectEqual(
            trace.line,
            #"<{urn:p}p:a p:a="say \u{22}x\u{22}" {urn:p}p:a:="urn:p" p:a="urn:p"/> </{urn:p}p:a> <urn:p>"#, "words")
    }

    private static func testDescribesOtherMarkup() throws {
        var trace = XMLTrace()
        try withSpans("1.0", "a", "") { first, second, nothing throws(StreamError) in
            try trace.declaration(XMLDeclaration(version: first, encoding: second, isStandalone: false))
            try trace.documentType(
                XMLDocumentType(
                    name: second, hasExternalID: true, publicID: first, systemID: nothing, hasInternalSubset: true,
                    internalSubset: first))
            try trace.comment(XMLComment(first))
            try trace.processingInstruction(XMLProcessingInstruction(target: second, data: nothing))
            try trace.processingInstruction(XMLProcessingInstruction(target: second, data: first))
            try trace.skippedEntity(XMLSkippedEntity(name: second))
            try trace.endDocument()
        }
        expectEqual(
            trace.line,
            #"xml 1.0 a no doctype a public "1.0" system "" [1.0] <!--1.0--> <?a?> <?a 1.0?> skipped &a; end"#, "words")
    }

    private static func testJoinsAdjacentText() throws {
        var (trace, placed) = (XMLTrace(), XMLTrace(showsPlaces: true))
        try withSpans("a\n", "b", "") { first, second, nothing throws(StreamError) in
            try trace.text(XMLText(first))
            try trace.text(XMLText(second))
            try trace.text(XMLText(first, isCDATA: true))
            try trace.text(XMLText(second))
            try placed.text(XMLText(first, place: XMLSourceRange(byteRange: 3..<5)))
            try placed.text(XMLText(second, place: XMLSourceRange(byteRange: 5..<8, isInEntity: true)))
            do throws(StreamError) {
                try trace.text(XMLText(nothing))
                expectTrue(false, "an empty piece was taken")
            } catch {
                expectEqual(error.kind, .misuse, "an empty piece")
            }
        }
        trace.cancel(with: StreamError(.misuse, "m"))
        expectEqual(trace.line, #""a\u{a}b" cdata "a\u{a}" "b""#, "words")
        expectEqual(trace.abandonment?.message, "m", "the error")
        expectEqual(placed.line, #""a\u{a}" @3..<5 "b" @entity 5..<8"#, "with places")
    }

    private static func withSpans(
        _ first: String, _ second: String, _ third: String,
        _ body: (RawSpan, RawSpan, RawSpan) throws(StreamError) -> Void
    ) throws(StreamError) {
        try first.withUTF8Span { first throws(StreamError) in
            try second.withUTF8Span { second throws(StreamError) in
                try third.withUTF8Span { third throws(StreamError) in try body(first, second, third) }
            }
        }
    }
}
#endif
