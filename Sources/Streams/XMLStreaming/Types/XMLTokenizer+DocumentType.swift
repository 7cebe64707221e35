// Parses document type declarations with the internal subset, like a processor that doesn't validate and never opens external
// resources.

import PlistStreaming

extension XMLTokenizer {
    /// Finds the document type declaration. Returns nil for other markup.
    mutating func documentType(in text: RawSpan, _ isLast: Bool) throws(StreamError) -> XMLToken? {
        guard let isType = text.hasWord("<!DOCTYPE", at: offset) else { return try incomplete(text, isLast) }
        guard isType else { return nil }
        guard options.documentTypes == .read else {
            throw fail(.invalidSyntax, "expected no document type declaration", at: offset)
        }
        copies.removeAll()
        types = DocumentTypes()
        offset += 9
        let token = try token(.documentType, in: text, isLast) { tokenizer throws(StreamError) in
            try tokenizer.parseType(in: text)
        }
        if token == .needsInput {
            types = nil
            expandedByteCount = 0
        } else {
            phase = .prologWithType
        }
        return token
    }

    // SPEC: XML 1.0, production 28.
    private mutating func parseType(in text: RawSpan) throws(StreamError) {
        typeParts = DocumentTypeParts()
        try space(in: text)
        typeParts.name = try name(in: text)
        let hasSpace = try skipSpace(in: text)
        if hasSpace, let isPublic = try skipExternalWord(in: text) {
            let id = try externalID(isPublic: isPublic, in: text, needsSystem: true)
            typeParts.hasExternalID = true
            typeParts.hasPublicID = id.publicID != nil
            typeParts.systemID = id.system
            let start = copies.count
            appendTokens(id.publicID ?? [])
            typeParts.publicID = start..<copies.count
            types?.mayLackEntities = true
            _ = try skipSpace(in: text)
        }
        if try skip("[", in: text) {
            let start = offset
            try internalSubset(in: text, isEntity: false)
            typeParts.internalSubset = start..<offset
            offset += 1
            _ = try skipSpace(in: text)
        }
        try expect(">", in: text)
        if let types, let (offset, error) = types.undeclaredReference, !types.mayLackEntities {
            failedOffset = offset
            throw error
        }
    }

    // MARK: The internal subset

    // SPEC: XML 1.0, productions 28a, 28b and 29.
    private mutating func internalSubset(in text: RawSpan, isEntity: Bool) throws(StreamError) {
        while true {
            offset = NameBytes.endOfSpace(in: text, from: offset)
            if isEntity && offset == text.byteCount { return }
            switch try byte(in: text) {
            case UInt8(ascii: "]") where !isEntity: return
            case UInt8(ascii: "%"): try parameterReference(in: text)
            case UInt8(ascii: "<"): try typeDeclaration(in: text)
            default: throw wrong("expected a declaration or ']'", in: text)
            }
        }
    }

    private mutating func typeDeclaration(in text: RawSpan) throws(StreamError) {
        if try skip("<!--", in: text) {
            offset = try Self.complete(try endOfComment(in: text, from: offset))
        } else if try skip("<?", in: text) {
            offset = try Self.complete(try instructionParts(in: text, from: offset)?.end)
        } else if try skip("<!ELEMENT", in: text) {
            try elementDeclaration(in: text)
        } else if try skip("<!ATTLIST", in: text) {
            try attributesDeclaration(in: text)
        } else if try skip("<!ENTITY", in: text) {
            try entityDeclaration(in: text)
        } else if try skip("<!NOTATION", in: text) {
            try notationDeclaration(in: text)
        } else {
            throw wrong("expected a declaration", in: text)
        }
    }

    // SPEC: XML 1.0, sections 4.4.8 and 5.1.
    private mutating func parameterReference(in text: RawSpan) throws(StreamError) {
        let start = offset
        offset += 1
        let range = try name(in: text, isQualified: false)
        try expect(";", in: text)
        types?.mayLackEntities = true
        let name = text.extracting(start..<range.upperBound)
        guard let types, let (index, kind) = types.entity(name), kind == .text else {
            if isStandalone != true { types?.ignoresDeclarations = true }
            return
        }
        let (end, outer) = (offset, typeReference)
        try enter(index, at: outer ?? start)
        typeReference = outer ?? start
        offset = 0
        do throws(StreamError) {
            try internalSubset(in: types.text(index), isEntity: true)
        } catch {
            failedOffset = outer ?? start
            guard error.kind == .unexpectedEnd else { throw error }
            throw StreamError(.invalidSyntax, "the text of a parameter entity ends within a declaration")
        }
        openEntities.removeLast()
        (offset, typeReference) = (end, outer)
    }

    // SPEC: XML 1.0, productions 70 to 76.
    private mutating func entityDeclaration(in text: RawSpan) throws(StreamError) {
        try space(in: text)
        let isParameter = try skip("%", in: text)
        if isParameter { try space(in: text) }
        let place = offset
        let sign = isParameter ? [UInt8(ascii: "%")] : []
        let name = sign + [UInt8](copying: text.extracting(try name(in: text, isQualified: false)))
        try space(in: text)
        var kind = DocumentTypes.EntityKind.text
        var value = KeptStack<UInt8>()
        if let isPublic = try skipExternalWord(in: text) {
            _ = try externalID(isPublic: isPublic, in: text, needsSystem: true)
            kind = .external
            if try skipSpace(in: text), !isParameter, try skip("NDATA", in: text) {
                try space(in: text)
                _ = try self.name(in: text, isQualified: false)
                kind = .unparsed
            }
        } else {
            value = try entityValue(in: text)
        }
        _ = try skipSpace(in: text)
        try expect(">", in: text)
        guard let types, !types.ignoresDeclarations else { return }
        guard types.entityCount < options.entityLimit else {
            throw fail(.limitExceeded, "more than \(options.entityLimit) entities", at: place)
        }
        types.declare(name, kind, text: value, isFromParameter: typeReference != nil)
    }

    // SPEC: XML 1.0, production 9 and section 4.5.
    private mutating func entityValue(in text: RawSpan) throws(StreamError) -> KeptStack<UInt8> {
        let quote = try openQuote("a value in quotes or an external identifier", in: text)
        var value = KeptStack<UInt8>()
        while true {
            let byte = try byte(in: text)
            switch byte {
            case quote:
                offset += 1
                return value
            case UInt8(ascii: "%"):
                throw wrong("expected no reference to a parameter entity within a declaration", in: text)
            case UInt8(ascii: "&"): try entityValueReference(in: text, &value)
            case 0x0D where typeReference == nil:
                value.append(0x0A)
                offset += 1
                _ = try skip("\n", in: text)
            default:
                value.append(byte)
                offset += 1
            }
        }
    }

    /// Replaces a character reference. A reference to an entity is kept and replaced when the value is used.
    private mutating func entityValueReference(in text: RawSpan, _ value: inout KeptStack<UInt8>) throws(StreamError) {
        let start = offset
        offset += 1
        if try byte(in: text) == UInt8(ascii: "#") {
            let found = try Self.complete(try parsedReference(in: text, at: start))
            if case .character(let scalar) = found.meaning { value.append(scalar: scalar) }
            offset = found.end
            return
        }
        _ = try name(in: text, isQualified: false)
        try expect(";", in: text)
        value.append(contentsOf: text.extracting(start..<offset))
    }

    // SPEC: XML 1.0, productions 82 and 83.
    private mutating func notationDeclaration(in text: RawSpan) throws(StreamError) {
        try space(in: text)
        _ = try name(in: text, isQualified: false)
        try space(in: text)
        guard let isPublic = try skipExternalWord(in: text) else {
            throw wrong("expected 'SYSTEM' or 'PUBLIC'", in: text)
        }
        _ = try externalID(isPublic: isPublic, in: text, needsSystem: false)
        _ = try skipSpace(in: text)
        try expect(">", in: text)
    }

    // MARK: External identifiers

    /// Skips the word before an external identifier, and returns whether a public identifier follows, or nil without a word.
    private mutating func skipExternalWord(in text: RawSpan) throws(StreamError) -> Bool? {
        try skip("SYSTEM", in: text) ? false : try skip("PUBLIC", in: text) ? true : nil
    }

    // SPEC: XML 1.0, productions 11 to 13, 75 and 83.
    private mutating func externalID(
        isPublic: Bool, in text: RawSpan, needsSystem: Bool
    ) throws(StreamError) -> (publicID: [UInt8]?, system: Range<Int>) {
        try space(in: text)
        var publicID: [UInt8]?
        if isPublic {
            let range = try literal(isPublic: true, in: text)
            publicID = [UInt8](copying: text.extracting(range)).map { $0 == 0x0A || $0 == 0x0D ? 0x20 : $0 }
            let hasSpace = try skipSpace(in: text)
            let next = try byte(in: text)
            guard needsSystem || next == 0x22 || next == 0x27 else { return (publicID, 0..<0) }
            guard hasSpace else { throw wrong("expected white space", in: text) }
        }
        return (publicID, try literal(isPublic: false, in: text))
    }

    private mutating func literal(isPublic: Bool, in text: RawSpan) throws(StreamError) -> Range<Int> {
        let quote = try openQuote("an identifier in quotes", in: text)
        let start = offset
        while true {
            let byte = try byte(in: text)
            if byte == quote { break }
            guard !isPublic || WrittenText.isPublicIDByte(byte) else {
                throw wrong("expected a character of public identifiers", in: text)
            }
            offset += 1
        }
        offset += 1
        return start..<offset - 1
    }
}
