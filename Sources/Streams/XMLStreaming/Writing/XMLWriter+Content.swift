// Writes all parts of a document except tags: text, CDATA sections, comments, processing instructions, and the parts before
// the root. Each part is checked before any of it is written.

import PlistCoding
public import PlistStreaming

extension XMLWriter {
    /// Writes `<?xml version="1.0" encoding="UTF-8"?>`. It has to be the first part of the document.
    ///
    /// - Parameter standalone: The value of `standalone`, or nil to leave it out.
    /// - Throws: ``/PlistStreaming/StreamError/Kind/misuse`` if another part is already written.
    public mutating func declaration(standalone: Bool? = nil) throws(StreamError) {
        guard place == .start else { throw StreamError(.misuse, "expected the XML declaration before other content") }
        try WrittenText.appendDeclaration(standalone, to: &output)
        isStandalone = standalone
        try endNode()
    }

    /// Writes the document type declaration. It has to come before the root, and only once.
    ///
    /// - Throws: ``/PlistStreaming/StreamError/Kind/misuse`` if it isn't allowed at this position, and for a public
    ///   identifier without a system identifier; ``/PlistStreaming/StreamError/Kind/unrepresentable`` for an invalid name or
    ///   identifier.
    public mutating func doctype(
        _ name: String, publicID: String? = nil, systemID: String? = nil
    ) throws(StreamError) {
        let parts = (Array(name.utf8), publicID.map { Array($0.utf8) }, systemID.map { Array($0.utf8) })
        try writeDoctype(parts.0, publicID: parts.1, systemID: parts.2, internalSubset: nil)
    }

    /// Returns the declarations of a document type.
    ///
    /// - Throws: `unrepresentable` if a reader would reject the document type.
    private func types(_ doctype: borrowing ByteOutput) throws(StreamError) -> DocumentTypes? {
        var tokenizer = XMLTokenizer(options: XMLReaderOptions(knowsNamespaces: options.checksNamespaces))
        (tokenizer.phase, tokenizer.isStandalone) = (.prolog, isStandalone)
        do throws(StreamError) {
            try doctype.withBytes { (bytes) throws(StreamError) in
                try WrittenText.check(bytes, in: "the document type")
                _ = try tokenizer.documentType(in: bytes, true)
            }
        } catch {
            throw StreamError(
                .unrepresentable, "the internal subset of the document type is not well-formed", cause: error)
        }
        guard tokenizer.offset == doctype.withBytes({ $0.byteCount }) else {
            throw StreamError(.unrepresentable, "expected only declarations in the internal subset")
        }
        return tokenizer.types
    }

    /// Writes the document type declaration with an internal subset.
    mutating func writeDoctype(
        _ name: [UInt8], publicID: [UInt8]?, systemID: [UInt8]?, internalSubset: [UInt8]?
    ) throws(StreamError) {
        guard place == .start || place == .prolog else {
            throw StreamError(.misuse, "expected the document type once, before the root element")
        }
        guard name.withRawSpan({ name in WrittenText.isName(name) }) else {
            throw StreamError(.unrepresentable, "\(ShownText.quoted(name)) is not a name of an element")
        }
        guard publicID == nil || systemID != nil else {
            throw StreamError(.misuse, "a document type with a public identifier needs a system identifier")
        }
        if let publicID, !publicID.allSatisfy(WrittenText.isPublicIDByte) {
            throw StreamError(.unrepresentable, "\(ShownText.quoted(publicID)) is not a public identifier")
        }
        if let systemID {
            try systemID.withRawSpan { (text) throws(StreamError) in
                try WrittenText.check(text, in: "a system identifier")
            }
            guard !systemID.contains(UInt8(ascii: "\"")) || !systemID.contains(UInt8(ascii: "'")) else {
                throw StreamError(.unrepresentable, "expected a system identifier with at most one kind of quotes")
            }
        }
        var doctype = ByteOutput()
        try WrittenText.append("<!DOCTYPE ", to: &doctype)
        try Self.append(name, to: &doctype)
        if let publicID {
            try WrittenText.append(" PUBLIC", to: &doctype)
            try Self.append(quoted: publicID, to: &doctype)
        } else if systemID != nil {
            try WrittenText.append(" SYSTEM", to: &doctype)
        }
        if let systemID { try Self.append(quoted: systemID, to: &doctype) }
        if let internalSubset {
            try WrittenText.append(" [", to: &doctype)
            try Self.append(internalSubset, to: &doctype)
            try doctype.append(UInt8(ascii: "]"))
        }
        try doctype.append(UInt8(ascii: ">"))
        types = try types(doctype)
        try beginNode()
        try doctype.withBytes { (bytes) throws(StreamError) in try output.append(bytes) }
        try endNode(.typed)
    }

    private static func append(_ bytes: [UInt8], to output: inout ByteOutput) throws(StreamError) {
        try bytes.withRawSpan { (bytes) throws(StreamError) in try output.append(bytes) }
    }

    private static func append(quoted bytes: [UInt8], to output: inout ByteOutput) throws(StreamError) {
        let quote = bytes.contains(UInt8(ascii: "\"")) ? UInt8(ascii: "'") : UInt8(ascii: "\"")
        try output.append(0x20)
        try output.append(quote)
        try append(bytes, to: &output)
        try output.append(quote)
    }

    // MARK: Content

    /// Writes text and escapes it.
    ///
    /// - Parameter utf8: Bytes in UTF-8, which are read only during the call.
    /// - Throws: ``/PlistStreaming/StreamError/Kind/misuse`` outside the root, except for white space, which isn't written
    ///   there; ``/PlistStreaming/StreamError/Kind/unrepresentable`` or `invalidText` for text that XML doesn't allow.
    /// - Complexity: O(*n*) in the bytes.
    public mutating func text(_ utf8: RawSpan) throws(StreamError) {
        let isWhitespace = utf8.isXMLWhitespace
        if utf8.byteCount == 0 || isWhitespace && depth == 0 { return }
        if !isWhitespace { try WrittenText.check(utf8, in: "text") }
        try beginText(isWhitespace: isWhitespace)
        try WrittenText.append(utf8, in: .content, to: &output)
    }

    /// Writes text in a CDATA section. Text with `]]>` is divided into several sections, and a carriage return is escaped
    /// between two sections.
    ///
    /// - Throws: The same errors as ``text(_:)-(RawSpan)``.
    public mutating func cdata(_ utf8: RawSpan) throws(StreamError) {
        try WrittenText.check(utf8, in: "a CDATA section")
        try beginText(isWhitespace: false)
        try WrittenText.append("<![CDATA[", to: &output)
        var start = 0
        for offset in 0..<utf8.byteCount {
            switch utf8.byte(at: offset) {
            case UInt8(ascii: ">") where offset - start >= 2 && utf8.extracting((offset - 2)..<offset).equals("]]"):
                try output.append(utf8.extracting(start..<offset))
                try WrittenText.append("]]><![CDATA[", to: &output)
                start = offset
            case 0x0D:
                // A reader would change a carriage return to a line feed.
                try output.append(utf8.extracting(start..<offset))
                try WrittenText.append("]]>&#13;<![CDATA[", to: &output)
                start = offset + 1
            default:
                continue
            }
        }
        try output.append(utf8.extracting(start..<utf8.byteCount))
        try WrittenText.append("]]>", to: &output)
    }

    /// Writes a comment.
    ///
    /// - Throws: ``/PlistStreaming/StreamError/Kind/unrepresentable`` for text with `--`, with `-` at its end, with a
    ///   carriage return, because a reader would change it, or with a character that XML excludes.
    public mutating func comment(_ utf8: RawSpan) throws(StreamError) {
        try Self.checkUnescaped(utf8, in: "a comment")
        let last = utf8.byteCount - 1
        guard WrittenText.offset(of: "--", in: utf8) == nil, last < 0 || utf8.byte(at: last) != UInt8(ascii: "-") else {
            throw StreamError(.unrepresentable, "expected a comment without '--' and without '-' at its end")
        }
        try beginNode()
        try WrittenText.append("<!--", to: &output)
        try output.append(utf8)
        try WrittenText.append("-->", to: &output)
        try endNode()
    }

    /// Writes a processing instruction.
    ///
    /// - Throws: ``/PlistStreaming/StreamError/Kind/unrepresentable`` for a target that is reserved or isn't a name, for `?>`
    ///   in the text, for white space at its start or a carriage return, because a reader would change them, and for
    ///   characters that XML excludes.
    public mutating func processingInstruction(_ target: RawSpan, _ data: RawSpan) throws(StreamError) {
        let isReserved = target.byteCount == 3 && String(validating: target)?.lowercased() == "xml"
        guard WrittenText.isPlainName(target), !isReserved else {
            throw StreamError(.unrepresentable, "expected a name other than 'xml' as the target of an instruction")
        }
        try Self.checkUnescaped(data, in: "a processing instruction")
        guard WrittenText.offset(of: "?>", in: data) == nil else {
            throw StreamError(.unrepresentable, "expected a processing instruction without '?>'")
        }
        guard data.byteCount == 0 || !data.extracting(0..<1).isXMLWhitespace else {
            throw StreamError(.unrepresentable, "expected an instruction whose text begins without white space")
        }
        try beginNode()
        try WrittenText.append("<?", to: &output)
        try output.append(target)
        if data.byteCount > 0 { try output.append(0x20) }
        try output.append(data)
        try WrittenText.append("?>", to: &output)
        try endNode()
    }

    private static func checkUnescaped(_ utf8: RawSpan, in place: StaticString) throws(StreamError) {
        try WrittenText.check(utf8, in: place)
        for offset in utf8.byteOffsets where utf8.byte(at: offset) == 0x0D {
            throw StreamError(.unrepresentable, "\(place) has a carriage return, which a reader would change")
        }
    }
}

extension RawSpan {
    /// A Boolean value that indicates whether all bytes are white space.
    var isXMLWhitespace: Bool {
        var offset = 0
        while offset < byteCount, NameBytes.isSpace(uncheckedByte(offset)) { offset += 1 }
        return offset == byteCount
    }

    /// The bytes without leading and trailing white space.
    var withoutXMLWhitespaceAround: RawSpan {
        @_lifetime(copy self) get { extracting(ElementText.trimmed(self)) }
    }
}
