// Makes the values that a sink borrows for the last part.

import PlistStreaming

// PERF: everything here is mutating. Otherwise the whole scanner, which is large, would be copied for each call.

extension XMLScanner {
    /// A Boolean value that indicates whether the last tag is an empty-element tag.
    @usableFromInline var isEmptyElement: Bool {
        mutating get { tokenizer.isEmptyElement }
    }

    /// The start tag.
    @usableFromInline @_lifetime(&self, copy chunk)
    mutating func startTag(in chunk: RawSpan) -> XMLStartTag {
        let place = place
        let text = unscopedText(of: chunk).extracting(tokenizer.tokenStart..<tokenizer.offset)
        // SAFETY: the memory is valid and unchanged while self is borrowed.
        let memory = unsafe BorrowedTag(
            text: text, copies: tokenizer.copies.unscopedBytes, namespaces: tokenizer.namespaces.unscopedURIBytes,
            attributes: tokenizer.attributes.unscopedSpan)
        return unsafe XMLStartTag(
            memory: memory, name: tokenizer.elementName, declarations: tokenizer.declaredNamespaces.unscopedSpan,
            isEmptyElement: tokenizer.isEmptyElement, place: place)
    }

    /// The end of the innermost element.
    @usableFromInline var endTag: XMLEndTag {
        @_lifetime(&self) mutating get {
            let place = place
            let element = tokenizer.openElements[tokenizer.openElements.count &- 1]
            // SAFETY: the memory is valid and unchanged while self is borrowed.
            let qualified = unsafe tokenizer.openNames.unscopedBytes.part(element.nameStart, Int(element.nameCount))
            let namespace = unsafe tokenizer.namespaces.unscopedURIBytes.part(
                Int(element.namespaceStart), Int(element.namespaceCount))
            let name = XMLName(qualified, prefixCount: Int(element.prefixCount), namespace: namespace)
            return XMLEndTag(name: name, isEmptyElement: tokenizer.isEmptyElement, place: place)
        }
    }

    /// The piece of text.
    @usableFromInline @_lifetime(&self, copy chunk)
    mutating func text(in chunk: RawSpan) -> XMLText {
        XMLText(piece(of: chunk), isCDATA: tokenizer.phase == .cdata, place: place)
    }

    /// The comment.
    @usableFromInline @_lifetime(&self, copy chunk)
    mutating func comment(in chunk: RawSpan) -> XMLComment { XMLComment(piece(of: chunk), place: place) }

    /// The processing instruction.
    @usableFromInline @_lifetime(&self, copy chunk)
    mutating func instruction(in chunk: RawSpan) -> XMLProcessingInstruction {
        XMLProcessingInstruction(
            target: unscopedText(of: chunk).extracting(tokenizer.target), data: piece(of: chunk), place: place)
    }

    /// The reference to an entity that isn't in the document.
    @usableFromInline @_lifetime(&self, copy chunk)
    mutating func skippedEntity(in chunk: RawSpan) -> XMLSkippedEntity {
        XMLSkippedEntity(name: piece(of: chunk), place: place)
    }

    /// The XML declaration.
    @usableFromInline @_lifetime(&self, copy chunk)
    mutating func declaration(in chunk: RawSpan) -> XMLDeclaration {
        let text = unscopedText(of: chunk)
        return XMLDeclaration(
            version: text.extracting(tokenizer.versionRange), encoding: text.extracting(tokenizer.encodingRange),
            isStandalone: tokenizer.isStandalone, place: place)
    }

    /// The document type declaration.
    @usableFromInline @_lifetime(&self, copy chunk)
    mutating func documentType(in chunk: RawSpan) -> XMLDocumentType {
        let text = unscopedText(of: chunk)
        let parts = tokenizer.typeParts
        // SAFETY: the copies live as long as self.
        return XMLDocumentType(
            name: text.extracting(parts.name), hasExternalID: parts.hasExternalID, hasPublicID: parts.hasPublicID,
            publicID: unsafe tokenizer.copies.unscopedBytes.extracting(parts.publicID),
            systemID: text.extracting(parts.systemID),
            hasInternalSubset: parts.internalSubset != nil,
            internalSubset: text.extracting(parts.internalSubset ?? 0..<0), place: place)
    }

    /// Returns the text of the last part, which the sink borrows. Each function above declares the lifetime of its result.
    @inline(__always) @_lifetime(copy chunk)
    private mutating func piece(of chunk: RawSpan) -> RawSpan {
        // SAFETY: the copies live as long as self, and the borrowed values depend on self.
        let source = tokenizer.isPieceCopied ? unsafe tokenizer.copies.unscopedBytes : unscopedText(of: chunk)
        return source.extracting(tokenizer.piece)
    }

    // MARK: Ends

    /// Removes the innermost element after its end was sent.
    @usableFromInline mutating func closeElement() { tokenizer.closeElement() }

    /// Starts to skip everything before the end of the innermost element.
    @usableFromInline mutating func beginSkipping() { skippedDepth = tokenizer.openElements.count }

    /// Skips a part. Returns false for the end tag of the skipped element.
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

    /// Marks the document as complete.
    @usableFromInline mutating func end() { failure = StreamError(.misuse, "the document has ended") }
}
