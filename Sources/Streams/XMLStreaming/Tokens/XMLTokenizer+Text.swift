// Finds the text of elements: runs of characters, references, CDATA sections.

import PlistStreaming

extension XMLTokenizer {
    private static var carriageReturn: UInt8 { 0x0D }
    private static var lineFeed: UInt8 { 0x0A }
    private static var bracket: UInt8 { 0x5D }

    /// Finds a piece of text, up to the next markup, reference or line end to replace. In a CDATA section, finds a piece or the
    /// end of the section.
    mutating func textRun(in text: RawSpan, _ isLast: Bool) throws(StreamError) -> XMLToken {
        tokenStart = offset
        let isCDATA = phase == .cdata
        var first = offset
        if first < text.byteCount, text.uncheckedByte(first) == Self.carriageReturn, !isInEntity {
            // SPEC: XML 1.0, section 2.11.
            guard first + 1 < text.byteCount || isLast && !isCDATA else { return try endOfText(text, isLast) }
            guard first + 1 < text.byteCount, text.uncheckedByte(first + 1) == Self.lineFeed else {
                copies.removeAll()
                copies.append(Self.lineFeed)
                return foundCopies(to: first + 1)
            }
            first += 1
        }
        var end = first
        while true {
            end = endOfRun(in: text, from: end)
            guard end < text.byteCount else { break }
            let byte = text.uncheckedByte(end)
            if byte == Self.bracket {
                guard let isEnd = text.hasWord("]]>", at: end) else {
                    if isLast && !isCDATA { end = text.byteCount }
                    break
                }
                if isEnd {
                    // The text before it is sent first, as if a chunk ended there.
                    if end > first { break }
                    // SPEC: XML 1.0, section 2.4: "]]>" is allowed only at the end of a CDATA section.
                    guard isCDATA else { throw fail(.invalidSyntax, "expected no ']]>' in text", at: end) }
                    offset = end + 3
                    phase = .content
                    return .nothing
                }
            } else if byte == Self.carriageReturn ? !isInEntity : !isCDATA {
                break
            }
            end += 1
        }
        guard end > first else { return try endOfText(text, isLast) }
        (piece, isPieceCopied, offset) = (first..<end, false, end)
        return .text
    }

    private mutating func endOfText(_ text: RawSpan, _ isLast: Bool) throws(StreamError) -> XMLToken {
        guard isLast, phase == .cdata else { return .needsInput }
        let kind: StreamError.Kind = isInEntity ? .invalidSyntax : .unexpectedEnd
        throw fail(kind, "the input ends within a CDATA section", at: text.byteCount)
    }

    /// Returns the offset of the next `<`, `&`, CR or `]`, or the end of the text.
    @inline(__always)
    private mutating func endOfRun(in text: RawSpan, from start: Int) -> Int {
        var end = stops.seek(start) ? min(stops.base &+ stops.stop(stops.cursor), text.byteCount) : start
        while end < text.byteCount {
            let byte = text.uncheckedByte(end)
            if byte == UInt8(ascii: "<") || byte == UInt8(ascii: "&") || byte == Self.carriageReturn
                || byte == Self.bracket
            {
                break
            }
            end &+= 1
        }
        return end
    }

    /// Sets the piece to the copies.
    mutating func foundCopies(to end: Int) -> XMLToken {
        piece = 0..<copies.count
        isPieceCopied = true
        offset = end
        return .text
    }

    /// Finds the beginning of a CDATA section. Returns nil for other markup.
    mutating func cdataStart(in text: RawSpan, _ isLast: Bool) throws(StreamError) -> XMLToken? {
        guard let isStart = text.hasWord("<![CDATA[", at: offset) else { return try incomplete(text, isLast) }
        guard isStart else { return nil }
        offset += 9
        phase = .cdata
        return .nothing
    }

    // MARK: References

    /// Finds the meaning of a reference in content.
    mutating func reference(in text: RawSpan, _ isLast: Bool) throws(StreamError) -> XMLToken {
        copies.removeAll()
        guard let reference = try parsedReference(in: text, at: offset) else { return try incomplete(text, isLast) }
        switch reference.meaning {
        case .character(let scalar):
            copies.append(scalar: scalar)
            return foundCopies(to: reference.end)
        case .entity(let index):
            try enter(index, at: offset)
            entityIndex = index
            offset = reference.end
            return .entity
        case .external, .unknown:
            if options.externalEntities == .reject { throw absence(of: reference, in: text, at: offset) }
            piece = reference.name
            isPieceCopied = false
            offset = reference.end
            return .skippedEntity
        }
    }

    struct Reference {
        enum Meaning {
            case character(UInt32)
            /// The index of an entity with replacement text.
            case entity(Int)
            case external
            /// The entity may be declared in a part that the reader doesn't read.
            case unknown
        }
        var meaning: Meaning
        var name: Range<Int>
        var end: Int
    }

    /// Returns the meaning of a reference, or nil if the text ends within it.
    mutating func parsedReference(in text: RawSpan, at start: Int) throws(StreamError) -> Reference? {
        guard start + 1 < text.byteCount else { return nil }
        if text.uncheckedByte(start + 1) == UInt8(ascii: "#") { return try characterReference(in: text, at: start) }
        let extent = NameBytes.extent(in: text, from: start + 1)
        guard extent.end > start + 1 else {
            throw fail(
                .invalidSyntax, "expected a name or '#' after '&', found \(describe(text, at: start + 1))",
                at: start + 1)
        }
        guard extent.end < text.byteCount else { return nil }
        guard text.uncheckedByte(extent.end) == UInt8(ascii: ";") else {
            throw fail(
                .invalidSyntax, "expected ';' after a reference, found \(describe(text, at: extent.end))",
                at: extent.end)
        }
        let name = start + 1..<extent.end
        return Reference(meaning: try meaning(of: name, in: text, extent), name: name, end: extent.end + 1)
    }

    private mutating func meaning(
        of name: Range<Int>, in text: RawSpan, _ extent: NameBytes.Extent
    ) throws(StreamError) -> Reference.Meaning {
        let bytes = text.extracting(name)
        if let scalar = Self.predefined(bytes) { return .character(scalar) }
        try checkNameLength(name.count, at: name.lowerBound)
        if options.knowsNamespaces && extent.colon >= 0 {
            throw fail(.invalidSyntax, "expected no colon in the name of an entity", at: name.lowerBound)
        }
        let declared = types?.entity(bytes)
        // SPEC: XML 1.0, section 4.1, Entity Declared: such a declaration does not count in a standalone document.
        if let types, let declared, types.isFromParameter(declared.0), isStandalone == true, typeReference == nil {
            let message = "the entity '\(ShownText.shortened(bytes))' is declared only in a parameter entity"
            throw fail(.invalidSyntax, message, at: name.lowerBound - 1)
        }
        switch declared {
        case .some((let index, .text)): return .entity(index)
        case .some((_, .external)): return .external
        case .some((_, .unparsed)):
            throw fail(
                .invalidSyntax, "expected an entity with text, found the unparsed '\(String(xml: bytes))'",
                at: name.lowerBound)
        case nil:
            if let types, typeReference != nil || types.mayLackEntities && isStandalone != true { return .unknown }
            let error = fail(
                .invalidSyntax, "the entity '\(ShownText.shortened(bytes))' is not declared", at: name.lowerBound - 1)
            // A reference to a parameter entity may follow and make this valid.
            guard let types, phase == .prolog, isStandalone != true else { throw error }
            if types.undeclaredReference == nil { types.undeclaredReference = (name.lowerBound - 1, error) }
            return .unknown
        }
    }

    /// Returns the error for a reference to an entity that isn't in the document.
    mutating func absence(of reference: Reference, in text: RawSpan, at start: Int) -> StreamError {
        let name = ShownText.shortened(text.extracting(reference.name))
        return fail(.invalidSyntax, "the entity '\(name)' is not in the document", at: start)
    }

    // SPEC: XML 1.0, section 4.6.
    static func predefined(_ name: RawSpan) -> UInt32? {
        guard 2...4 ~= name.byteCount else { return nil }
        // The bytes as a big-endian number.
        var word: UInt32 = 0
        for offset in 0..<name.byteCount { word = word << 8 | UInt32(name.uncheckedByte(offset)) }
        switch word {
        case 0x6C74: return 0x3C  // lt
        case 0x6774: return 0x3E  // gt
        case 0x616D70: return 0x26  // amp
        case 0x6170_6F73: return 0x27  // apos
        case 0x7175_6F74: return 0x22  // quot
        default: return nil
        }
    }

    // SPEC: XML 1.0, production 66.
    private mutating func characterReference(in text: RawSpan, at start: Int) throws(StreamError) -> Reference? {
        guard start + 2 < text.byteCount else { return nil }
        let isHexadecimal = text.uncheckedByte(start + 2) == UInt8(ascii: "x")
        let first = start + (isHexadecimal ? 3 : 2)
        var (end, scalar): (Int, UInt32) = (first, 0)
        let base: UInt32 = isHexadecimal ? 16 : 10
        while end < text.byteCount {
            guard let digit = CharacterCode.hexadecimalValue(of: text.uncheckedByte(end)), digit < base else { break }
            scalar = min(scalar * base + digit, 0x110000)
            end += 1
        }
        guard end < text.byteCount else { return nil }
        guard end > first else {
            throw fail(.invalidSyntax, "expected a digit, found \(describe(text, at: end))", at: end)
        }
        guard text.uncheckedByte(end) == UInt8(ascii: ";") else {
            throw fail(.invalidSyntax, "expected ';' after a reference, found \(describe(text, at: end))", at: end)
        }
        guard NameBytes.isCharacter(scalar) else {
            throw fail(.invalidSyntax, "expected a reference to a character that XML allows", at: start)
        }
        return Reference(meaning: .character(scalar), name: first..<end, end: end + 1)
    }

    // MARK: Entities

    /// Begins the replacement text of an entity. Throws an error if the entity contains itself or exceeds a limit.
    mutating func enter(_ index: Int, at start: Int) throws(StreamError) {
        guard !openEntities.contains(index) else {
            throw fail(.invalidSyntax, "an entity contains itself", at: start)
        }
        let depthMax = min(64, options.entityDepthLimit)
        guard openEntities.count < depthMax else {
            throw fail(.limitExceeded, "more than \(depthMax) levels of entities", at: start)
        }
        try countExpansion(types?.textCount(index) ?? 0, at: start)
        openEntities.append(index)
    }

    /// Counts the bytes from entities, and additional bytes for each reference, so that the time is limited too.
    mutating func countExpansion(_ byteCount: Int, at start: Int) throws(StreamError) {
        let (sum, isTooMuch) = expandedByteCount.addingReportingOverflow(byteCount + 16)
        expandedByteCount = sum
        let (allowed, isUnbounded) = documentOffset.multipliedReportingOverflow(
            by: max(0, options.expansionFactorLimit))
        guard isTooMuch || !isUnbounded && sum - max(0, options.expansionByteLimit) > allowed else { return }
        throw fail(.limitExceeded, "entities expand to more than \(sum - byteCount - 16) bytes", at: start)
    }
}

extension KeptStack where Element == UInt8 {
    /// Appends a character as UTF-8.
    mutating func append(scalar: UInt32) { CharacterCode.encode(scalar) { append($0) } }
}
