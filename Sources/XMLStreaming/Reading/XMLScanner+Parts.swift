// The last part as it is lent to a sink.

import PlistStreaming

extension XMLScanner {
    /// Whether the last tag is an empty-element tag.
    @usableFromInline var isEmptyElement: Bool { tokenizer.isEmptyElement }

    /// The start tag.
    @usableFromInline @_lifetime(borrow self, copy chunk)
    func startTag(in chunk: RawSpan) -> XMLStartTag {
        let memory = TagSpans(
            text: unscopedText(of: chunk).extracting(tokenizer.tokenStart..<tokenizer.offset),
            copies: tokenizer.copies.bytes,
            namespaces: tokenizer.namespaces.uriBytes)
        let tag = XMLStartTag(
            memory: memory, name: tokenizer.elementName,
            attributes: XMLAttributes(memory: memory, records: tokenizer.attributes.span),
            declarations: XMLAttributes(memory: memory, records: tokenizer.declaredNamespaces.span),
            isEmptyElement: tokenizer.isEmptyElement, place: place)
        // SAFETY: the memories live as long as what the result depends on.
        return unsafe _overrideLifetime(tag, borrowing: self)
    }

    /// The end of the innermost element.
    @usableFromInline var endTag: XMLEndTag {
        @_lifetime(borrow self) get {
            let element = tokenizer.openElements[tokenizer.openElements.count &- 1]
            let name = XMLName(
                tokenizer.openNames.bytes.part(element.nameStart, Int(element.nameCount)),
                prefixCount: Int(element.prefixCount),
                namespace: tokenizer.namespaces.uriBytes.part(
                    Int(element.namespaceStart), Int(element.namespaceCount)))
            return XMLEndTag(name: name, isEmptyElement: tokenizer.isEmptyElement, place: place)
        }
    }

    /// The piece of text.
    @usableFromInline @_lifetime(borrow self, copy chunk)
    func text(in chunk: RawSpan) -> XMLText {
        XMLText(piece(of: chunk), isCDATA: tokenizer.phase == .cdata, place: place)
    }

    /// The comment.
    @usableFromInline @_lifetime(borrow self, copy chunk)
    func comment(in chunk: RawSpan) -> XMLComment { XMLComment(piece(of: chunk), place: place) }

    /// The processing instruction.
    @usableFromInline @_lifetime(borrow self, copy chunk)
    func instruction(in chunk: RawSpan) -> XMLProcessingInstruction {
        XMLProcessingInstruction(
            target: unscopedText(of: chunk).extracting(tokenizer.target), data: piece(of: chunk), place: place)
    }

    /// The reference to an entity that is not there.
    @usableFromInline @_lifetime(borrow self, copy chunk)
    func skippedEntity(in chunk: RawSpan) -> XMLSkippedEntity { XMLSkippedEntity(name: piece(of: chunk), place: place) }

    /// The XML declaration.
    @usableFromInline @_lifetime(borrow self, copy chunk)
    func declaration(in chunk: RawSpan) -> XMLDeclaration {
        let text = unscopedText(of: chunk)
        return XMLDeclaration(
            version: text.extracting(tokenizer.versionRange), encoding: text.extracting(tokenizer.encodingRange),
            isStandalone: tokenizer.isStandalone, place: place)
    }

    /// The document type declaration.
    @usableFromInline @_lifetime(borrow self, copy chunk)
    func documentType(in chunk: RawSpan) -> XMLDocumentType {
        let text = unscopedText(of: chunk)
        let parts = tokenizer.typeParts
        // SAFETY: the copies live as long as self.
        return XMLDocumentType(
            name: text.extracting(parts.name), hasExternalID: parts.hasExternalID,
            publicID: unsafe tokenizer.copies.unscopedBytes.extracting(parts.publicID),
            systemID: text.extracting(parts.systemID),
            hasInternalSubset: parts.internalSubset != nil,
            internalSubset: text.extracting(parts.internalSubset ?? 0..<0), place: place)
    }

    /// The text of the last part, for what is lent here: each function above says what its result depends on.
    @_lifetime(copy chunk)
    private func piece(of chunk: RawSpan) -> RawSpan {
        // SAFETY: the copies live as long as self, which what is lent depends on.
        let source = tokenizer.isPieceCopied ? unsafe tokenizer.copies.unscopedBytes : unscopedText(of: chunk)
        return source.extracting(tokenizer.piece)
    }

    // MARK: Ends

    /// Forgets the innermost element, whose end was told.
    @usableFromInline mutating func closeElement() { tokenizer.closeElement() }

    /// Notes that nothing is wanted before the end of the innermost element.
    @usableFromInline mutating func beginSkipping() { skippedDepth = tokenizer.openElements.count }

    /// Goes over a part that is not wanted; false for the end tag that is.
    @usableFromInline
    mutating func skip(_ token: XMLToken) -> Bool {
        switch token {
        case .startTag where tokenizer.isEmptyElement: tokenizer.closeElement()
        case .endTag:
            if tokenizer.openElements.count == skippedDepth {
                skippedDepth = 0
                return false
            }
            tokenizer.closeElement()
        default: break
        }
        return true
    }

    /// Notes that the document has ended well.
    @usableFromInline mutating func end() { failure = StreamError(.misuse, "the document has ended") }
}
