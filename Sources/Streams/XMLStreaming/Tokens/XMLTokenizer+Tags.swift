// Finds start tags and end tags: their grammar, their names, and the declared attributes.

import PlistStreaming

extension XMLTokenizer {
    // SPEC: XML 1.0, productions 40 to 44.
    /// Finds a start tag or an empty-element tag.
    mutating func startTag(in text: RawSpan, _ isLast: Bool) throws(StreamError) -> XMLToken {
        attributes.removeAll()
        copies.removeAll()
        let expandedBefore = expandedByteCount
        let extent = NameBytes.extent(in: text, from: tokenStart &+ 1)
        guard let name = try checkedName(extent, in: text, from: tokenStart &+ 1, "the name of an element") else {
            return try incomplete(text, isLast)
        }
        elementName = name
        var end = extent.end
        while true {
            let endOfName = end
            end = NameBytes.endOfSpace(in: text, from: end)
            guard end < text.byteCount else { break }
            let byte = text.uncheckedByte(end)
            if byte == UInt8(ascii: ">") {
                isEmptyElement = false
                return try finishStartTag(in: text, end &+ 1)
            }
            if byte == UInt8(ascii: "/") {
                guard end + 1 < text.byteCount else { break }
                guard text.uncheckedByte(end + 1) == UInt8(ascii: ">") else {
                    throw fail(
                        .invalidSyntax, "expected '>' after '/', found \(describe(text, at: end + 1))", at: end + 1)
                }
                isEmptyElement = true
                return try finishStartTag(in: text, end + 2)
            }
            guard end > endOfName else {
                let found = describe(text, at: end)
                throw fail(.invalidSyntax, "expected white space, '/>' or '>' in a tag, found \(found)", at: end)
            }
            guard let endOfAttribute = try attribute(in: text, from: end) else { break }
            end = endOfAttribute
        }
        expandedByteCount = expandedBefore
        return try incomplete(text, isLast)
    }

    /// Returns the record of a name, or nil if the text ends with it.
    @inline(__always)
    private mutating func checkedName(
        _ extent: NameBytes.Extent, in text: RawSpan, from start: Int, _ what: StaticString
    ) throws(StreamError) -> NameRecord? {
        guard extent.end < text.byteCount else { return nil }
        let count = extent.end &- start
        guard count > 0, count <= options.nameByteLimit, extent.isQualified || !options.knowsNamespaces else {
            throw badName(extent, in: text, from: start, what)
        }
        var record = NameRecord(qualified: .text(start &- tokenStart, count))
        if extent.colon >= 0 && options.knowsNamespaces {
            record.prefixCount = Int32(truncatingIfNeeded: extent.colon &- start)
        }
        return record
    }

    @inline(never)
    private mutating func badName(
        _ extent: NameBytes.Extent, in text: RawSpan, from start: Int, _ what: StaticString
    ) -> StreamError {
        guard extent.end > start else {
            return fail(.invalidSyntax, "expected \(what), found \(describe(text, at: start))", at: start)
        }
        guard extent.end - start <= options.nameByteLimit else {
            return fail(.limitExceeded, "more than \(options.nameByteLimit) bytes in a name", at: start)
        }
        let name = ShownText.shortened(text.extracting(start..<extent.end))
        return fail(
            .invalidSyntax,
            "expected a name with at most one colon, and a name on each side of it, found '\(name)'", at: start)
    }

    /// Adds an attribute. Returns its end, or nil if the text ends within it.
    private mutating func attribute(in text: RawSpan, from start: Int) throws(StreamError) -> Int? {
        let extent = NameBytes.extent(in: text, from: start)
        guard let name = try checkedName(extent, in: text, from: start, "an attribute, '/>' or '>'") else { return nil }
        guard attributes.count < options.attributeLimit else {
            throw fail(.limitExceeded, "more than \(options.attributeLimit) attributes", at: start)
        }
        var offset = NameBytes.endOfSpace(in: text, from: extent.end)
        guard offset < text.byteCount else { return nil }
        guard text.uncheckedByte(offset) == UInt8(ascii: "=") else {
            throw fail(
                .invalidSyntax, "expected '=' after the name of an attribute, found \(describe(text, at: offset))",
                at: offset)
        }
        offset = NameBytes.endOfSpace(in: text, from: offset &+ 1)
        guard offset < text.byteCount else { return nil }
        let quote = text.uncheckedByte(offset)
        guard quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") else {
            throw fail(.invalidSyntax, "expected a value in quotes, found \(describe(text, at: offset))", at: offset)
        }
        guard let value = try normalizedValue(in: text, from: offset &+ 1, quote) else { return nil }
        attributes.append(AttributeRecord(name: name, value: value.slice, hasSkippedEntity: hasSkippedEntity))
        return value.end
    }

    // SPEC: XML 1.0, section 3.3.3.
    /// Copies a value, with references replaced and white space as spaces. Returns nil if the text ends within it.
    mutating func normalizedValue(
        in text: RawSpan, from start: Int, _ quote: UInt8
    ) throws(StreamError) -> (slice: MemorySlice, end: Int)? {
        let first = copies.count
        hasSkippedEntity = false
        guard let end = try appendValue(in: text, from: start, quote: quote) else { return nil }
        try checkCopies(0, at: start)
        return (.copy(first, copies.count - first), end + 1)
    }

    /// Appends a value up to its quote, or the whole text of an entity, to the copies.
    private mutating func appendValue(in text: RawSpan, from start: Int, quote: UInt8?) throws(StreamError) -> Int? {
        var offset = start
        while offset < text.byteCount {
            let byte = text.uncheckedByte(offset)
            if byte == quote { return offset }
            switch byte {
            case UInt8(ascii: "<"):
                throw fail(.invalidSyntax, "expected no '<' in the value of an attribute", at: offset)
            case UInt8(ascii: "&"):
                guard let end = try appendReference(in: text, at: offset) else { return nil }
                offset = end
            case 0x0D where quote != nil && !isInEntity:
                // A line feed after it would add a second space.
                if offset + 1 < text.byteCount, text.uncheckedByte(offset + 1) == 0x0A { offset += 1 }
                fallthrough
            case 0x09, 0x0A, 0x0D:
                copies.append(0x20)
                offset += 1
            default:
                let first = offset
                repeat { offset &+= 1 } while offset < text.byteCount && Self.isPlain(text.uncheckedByte(offset))
                copies.append(contentsOf: text.part(first, offset &- first))
            }
        }
        return quote == nil ? offset : nil
    }

    /// Returns whether a byte of a value is neither a quote, a control character, `<` nor `&`.
    private static func isPlain(_ byte: UInt8) -> Bool {
        byte > 0x3C || 0x1000_00C4_FFFF_FFFF as UInt64 &>> UInt64(byte) & 1 == 0
    }

    /// Throws an error if entities and defaults make a tag too long, because offsets in copies have 32 bits.
    @inline(__always)
    mutating func checkCopies(_ added: Int, at start: Int) throws(StreamError) {
        guard added > options.markupByteCountMax - copies.count else { return }
        throw fail(.limitExceeded, "more than \(options.markupByteCountMax) bytes of values in a tag", at: start)
    }

    private mutating func appendReference(in text: RawSpan, at start: Int) throws(StreamError) -> Int? {
        guard let reference = try parsedReference(in: text, at: start) else {
            guard !isExpandingValue else {
                throw fail(.invalidSyntax, "the text of an entity ends within a reference", at: start)
            }
            return nil
        }
        switch reference.meaning {
        case .character(let scalar): copies.append(scalar: scalar)
        case .entity(let index):
            try enter(index, at: start)
            guard let types else { return nil }
            try checkCopies(types.textCount(index), at: start)
            let wasExpanding = isExpandingValue
            let isAllDeclared = types.undeclaredReference == nil
            isExpandingValue = true
            defer { isExpandingValue = wasExpanding }
            do throws(StreamError) {
                _ = try appendValue(in: types.text(index), from: 0, quote: nil)
            } catch {
                failedOffset = start
                openEntities.removeLast()
                throw error
            }
            openEntities.removeLast()
            if isAllDeclared { types.undeclaredReference?.offset = start }
        case .external:
            throw fail(
                .invalidSyntax, "expected no reference to an external entity in the value of an attribute", at: start)
        case .unknown:
            if options.externalEntities == .reject { throw absence(of: reference, in: text, at: start) }
            // SPEC: XML 1.0, section 5.1: without the declaration, the reference is not replaced.
            hasSkippedEntity = true
        }
        return reference.end
    }

    // MARK: Complete tags

    private mutating func finishStartTag(in text: RawSpan, _ end: Int) throws(StreamError) -> XMLToken {
        guard openElements.count < options.limits.depth else {
            throw fail(.limitExceeded, "more than \(options.limits.depth) levels of elements", at: tokenStart)
        }
        declaredNamespaces.removeAll()
        let tag = text.extracting(tokenStart..<end)
        if let types, types.hasAttributes { try applyDeclarations(of: types, to: tag) }
        if attributes.count > 1 { try checkSpellings(of: tag) }
        let bindingCount = namespaces.bindingCount
        if options.knowsNamespaces { try resolveNames(of: tag) }
        let name = tag.part(Int(elementName.qualified.start), Int(elementName.qualified.count))
        openElement(name, Self.firstWord(of: name), bindingCount: bindingCount)
        phase = .content
        offset = end
        return .startTag
    }

    static func firstWord(of name: RawSpan) -> UInt64 {
        var word: UInt64 = 0
        for index in 0..<min(8, name.byteCount) { word |= UInt64(name.uncheckedByte(index)) &<< UInt64(8 &* index) }
        return word
    }

    /// Removes the innermost element after its end was sent.
    mutating func closeElement() {
        let element = openElements.removeLast()
        openNames.removeAll(from: element.nameStart)
        if namespaces.bindingCount > element.bindingCount { namespaces.endScope(element.bindingCount) }
        if openElements.isEmpty { phase = .epilog }
    }

    // SPEC: XML 1.0, section 3, Element Type Match.
    /// Finds an end tag.
    mutating func endTag(in text: RawSpan, _ isLast: Bool) throws(StreamError) -> XMLToken {
        guard openElements.count > depthAroundEntity else {
            guard phase == .content else {
                throw fail(.invalidSyntax, "expected a start tag, found an end tag", at: tokenStart)
            }
            throw fail(.invalidSyntax, "an end tag in an entity ends an element outside of it", at: tokenStart)
        }
        let element = openElements[openElements.count &- 1]
        let start = tokenStart &+ 2
        let extent = NameBytes.extent(in: text, from: start)
        guard extent.end < text.byteCount else { return try incomplete(text, isLast) }
        let found = text.extracting(start..<extent.end)
        guard openNames.bytes.part(element.nameStart, Int(element.nameCount)).hasSameBytes(as: found) else {
            let name = ShownText.shortened(openNames.bytes.part(element.nameStart, Int(element.nameCount)))
            let foundText = extent.end > start ? "'</\(ShownText.shortened(found))>'" : describe(text, at: start)
            throw fail(.invalidSyntax, "expected '</\(name)>', found \(foundText)", at: tokenStart)
        }
        let end = NameBytes.endOfSpace(in: text, from: extent.end)
        guard end < text.byteCount else { return try incomplete(text, isLast) }
        guard text.uncheckedByte(end) == UInt8(ascii: ">") else {
            throw fail(.invalidSyntax, "expected '>' in an end tag, found \(describe(text, at: end))", at: end)
        }
        offset = end &+ 1
        isEmptyElement = false
        return .endTag
    }
}
