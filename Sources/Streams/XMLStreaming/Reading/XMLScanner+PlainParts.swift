// The fast path for content: common forms of text, tags and references, from stop to stop. All other parts are left to the
// tokenizer, which continues where this path stops.

import PlistStreaming

// PERF: inlinable, so that it specialises for sinks of other packages; the properties of the scanner that it reads are usable
// from inline code for that reason. All functions that read the scanner are mutating. Otherwise the whole scanner, more than
// a kilobyte, would be copied for each call.

extension XMLScanner {
    /// Sends plain parts, and stops before the first part that isn't plain.
    @inlinable
    mutating func sendPlainParts<Sink: XMLSink & ~Copyable>(
        of chunk: RawSpan, to sink: inout Sink
    ) throws(StreamError) {
        guard beginPlainParts() else { return }
        let text = plainText(of: chunk)
        let base = tokenizer.stops.base
        // At least sixteen bytes follow each stop before the limit.
        let limit = min(tokenizer.stops.activeCount, text.byteCount &- 16)
        var (offset, cursor) = (tokenizer.offset &- base, tokenizer.stops.cursor)
        while let run = plainRun(in: text, from: offset, limit, cursor) {
            cursor = run.cursor
            if run.end > run.start {
                setPlainPart(base &+ offset, base &+ run.end)
                offset = run.end
                let bytes = text.uncheckedPart(run.start, run.end &- run.start)
                try sink.text(XMLText(bytes, place: plainPlace))
            }
            let byte = text.uncheckedByte(offset)
            if byte == UInt8(ascii: "<") {
                let start = offset
                if text.uncheckedByte(offset &+ 1) == UInt8(ascii: "/") {
                    guard let close = plainEndTag(in: text, from: offset, limit, cursor) else { break }
                    (offset, cursor) = (close &+ 1, cursor &+ 2)
                    setPlainPart(base &+ start, base &+ offset)
                    tokenizer.isEmptyElement = false
                    try sink.endElement(plainEnd(start &+ 2, in: text))
                    guard closePlainElement() else { break }
                } else {
                    guard let end = tokenizer.plainStartTag(in: text, from: offset, limit, cursor) else { break }
                    (offset, cursor) = (end.offset, end.cursor &+ 1)
                    setPlainPart(base &+ start, base &+ offset)
                    let interest = try sink.startElement(plainStart(text.uncheckedPart(start, offset &- start)))
                    if tokenizer.isEmptyElement {
                        try sink.endElement(plainEnd(start &+ 1, in: text))
                        guard closePlainElement() else { break }
                    } else if interest == .skipChildren {
                        beginSkipping()
                        break
                    }
                }
            } else if byte == UInt8(ascii: "&") {
                guard let reference = Self.plainReference(in: text, at: offset, limit) else { break }
                setPlainPart(base &+ offset, base &+ offset &+ reference.count)
                (offset, cursor) = (offset &+ reference.count, cursor &+ 1)
                try sink.text(XMLText(reference.character, place: plainPlace))
            }
        }
        tokenizer.offset = base &+ offset
        tokenizer.stops.cursor = cursor
    }

    /// Skips plain parts without sending them.
    @usableFromInline
    mutating func skipPlainParts(of chunk: RawSpan) throws(StreamError) {
        var sink = SkippingSink()
        try sendPlainParts(of: chunk, to: &sink)
    }

    /// Returns whether the next part may be plain. If so, the cursor is at this part.
    @usableFromInline
    mutating func beginPlainParts() -> Bool {
        guard tokenizer.phase == .content, !isCarry, !tokenizer.isInEntity,
            options.markupByteCountMax > MarkupStops.byteCountMax, tokenizer.stops.seek(tokenizer.offset)
        else { return false }
        return tokenizer.types.map { $0.hasAttributes } != true
    }

    /// Returns the text that the offsets of the stops refer to.
    @usableFromInline @_lifetime(copy chunk)
    mutating func plainText(of chunk: RawSpan) -> RawSpan {
        let text = unscopedText(of: chunk)
        return text.extracting(tokenizer.stops.base..<text.byteCount)
    }

    // MARK: Text

    /// A range of text, and the stop at its end.
    @usableFromInline
    struct PlainRun {
        @usableFromInline var start: Int
        @usableFromInline var end: Int
        @usableFromInline var cursor: Int

        @inlinable
        init(start: Int, end: Int, cursor: Int) {
            self.start = start
            self.end = end
            self.cursor = cursor
        }
    }

    /// Returns the text from an offset up to `<`, `&` or CR, which may be empty, or nil if the text is cut off or invalid.
    @inlinable @inline(__always)
    mutating func plainRun(in text: RawSpan, from offset: Int, _ limit: Int, _ cursor: Int) -> PlainRun? {
        var run = PlainRun(start: offset, end: tokenizer.stops.stop(cursor), cursor: cursor)
        while run.end < limit {
            let byte = text.uncheckedByte(run.end)
            if byte == UInt8(ascii: "<") || byte == UInt8(ascii: "&") { return run }
            if byte == 0x0D {
                if run.end > offset { return run }
                // SPEC: XML 1.0, section 2.11: CR and LF together are one LF.
                guard text.uncheckedByte(run.end &+ 1) == 0x0A else { return nil }
                run.start = run.end &+ 1
            } else if byte == UInt8(ascii: "]") && text.uncheckedByte(run.end &+ 1) == byte {
                return nil
            }
            run.cursor &+= 1
            run.end = tokenizer.stops.stop(run.cursor)
        }
        return nil
    }

    /// A reference to one of the five predefined entities: its length in bytes, and its character.
    @usableFromInline
    struct PlainReference: ~Escapable {
        @usableFromInline let count: Int
        @usableFromInline let character: RawSpan

        @_lifetime(immortal)
        init(_ count: Int, _ index: Int) {
            let characters: StaticString = "<>&'\""
            self.count = count
            // SAFETY: the index is below the five bytes of the string, which is static.
            let bytes = unsafe UnsafeRawBufferPointer(start: characters.utf8Start + index, count: 1).bytes
            character = unsafe _overrideLifetime(bytes, copying: ())
        }
    }

    /// Returns the predefined reference at an offset, or nil if it is a different reference or cut off.
    @usableFromInline @_lifetime(immortal)
    static func plainReference(in text: RawSpan, at offset: Int, _ limit: Int) -> PlainReference? {
        guard offset &+ 8 <= limit else { return nil }
        let word = text.uncheckedWord(offset)
        switch word & 0xFFFF_FFFF {
        case 0x3B74_6C26: return PlainReference(4, 0)
        case 0x3B74_6726: return PlainReference(4, 1)
        default: break
        }
        if word & 0xFF_FFFF_FFFF == 0x3B_706D_6126 { return PlainReference(5, 2) }
        switch word & 0xFFFF_FFFF_FFFF {
        case 0x3B73_6F70_6126: return PlainReference(6, 3)
        case 0x3B74_6F75_7126: return PlainReference(6, 4)
        default: return nil
        }
    }

    // MARK: Tags

    /// Sets the range of the part that is sent next.
    @inlinable @inline(__always)
    mutating func setPlainPart(_ start: Int, _ end: Int) {
        tokenizer.tokenStart = start
        tokenizer.offset = end
    }

    /// The place of the part that is sent.
    @inlinable var plainPlace: XMLSourceRange {
        @inline(__always) mutating get {
            XMLSourceRange(start: textOffset &+ tokenizer.tokenStart, end: textOffset &+ tokenizer.offset)
        }
    }

    /// Returns the start tag with this text.
    @inlinable @inline(__always) @_lifetime(copy bytes)
    mutating func plainStart(_ bytes: RawSpan) -> XMLStartTag {
        // SAFETY: the memory is valid and unchanged while the tag is borrowed, which is during a call of the sink.
        let memory = unsafe BorrowedTag(
            text: bytes, copies: RawSpan(), namespaces: tokenizer.namespaces.unscopedURIBytes,
            attributes: tokenizer.attributes.unscopedSpan)
        return unsafe XMLStartTag(
            memory: memory, name: tokenizer.elementName, declarations: Span(),
            isEmptyElement: tokenizer.isEmptyElement, place: plainPlace)
    }

    /// The innermost element.
    @inlinable var innermost: OpenElement {
        @inline(__always) mutating get { tokenizer.openElements[tokenizer.openElements.count &- 1] }
    }

    /// Returns the end tag of the innermost element, with its name at an offset.
    @inlinable @inline(__always) @_lifetime(copy text)
    mutating func plainEnd(_ start: Int, in text: RawSpan) -> XMLEndTag {
        let element = innermost
        let qualified = text.uncheckedPart(start, Int(element.nameCount))
        // SAFETY: the URI of an open element is in scope, and the memory is unchanged while the tag is borrowed.
        let namespace = unsafe tokenizer.namespaces.unscopedURIBytes.uncheckedPart(
            Int(element.namespaceStart), Int(element.namespaceCount))
        let name = XMLName(qualified, prefixCount: Int(element.prefixCount), namespace: namespace)
        return XMLEndTag(name: name, isEmptyElement: tokenizer.isEmptyElement, place: plainPlace)
    }

    /// Returns the offset of the `>` of the innermost element's end tag, or nil if the tag isn't plain or ends the skipped
    /// content.
    @inlinable @inline(__always)
    mutating func plainEndTag(in text: RawSpan, from start: Int, _ limit: Int, _ cursor: Int) -> Int? {
        let (element, close) = (innermost, tokenizer.stops.stop(cursor &+ 1))
        let count = Int(element.nameCount)
        guard close < limit, close == start &+ 2 &+ count, text.uncheckedByte(close) == UInt8(ascii: ">"),
            OpenElement.word(text.uncheckedWord(start &+ 2), count) == element.word,
            tokenizer.openElements.count != skippedDepth
        else { return nil }
        if count > 8, !hasName(of: element, text.uncheckedPart(start &+ 2, count)) { return nil }
        return close
    }

    @usableFromInline
    mutating func hasName(of element: OpenElement, _ name: RawSpan) -> Bool {
        tokenizer.openNames.bytes.part(element.nameStart, name.byteCount).hasSameBytes(as: name)
    }

    /// Removes the innermost element. Returns false if it was the root.
    @inlinable @inline(__always)
    mutating func closePlainElement() -> Bool {
        let element = innermost
        guard tokenizer.openElements.count > 1, tokenizer.namespaces.bindingCount == element.bindingCount else {
            closeElement()
            return tokenizer.phase == .content
        }
        tokenizer.openElements.removeAll(from: tokenizer.openElements.count &- 1)
        tokenizer.openNames.removeAll(from: element.nameStart)
        return true
    }
}

/// A sink that ignores all parts.
struct SkippingSink: XMLSink {
    /// The same value as in `NullSink`.
    let hasSize = true

    mutating func startElement(_ tag: borrowing XMLStartTag) throws(StreamError) -> XMLInterest { .content }
}
