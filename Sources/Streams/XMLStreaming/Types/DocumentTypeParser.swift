// Parses document type declarations with the internal subset, like a processor that doesn't validate and never opens external
// resources.

import PlistStreaming

/// A parser for one document type declaration, from its name to its end.
struct DocumentTypeParser {
    /// The reason for stopping before the end.
    enum Stop: Error {
        /// The text ends within the declaration.
        case incomplete
        case wrong(StreamError)
    }

    let types: DocumentTypes
    var parts = DocumentTypeParts()
    /// The current offset in the text.
    var offset: Int
    /// The offset of the reference in the document whose replacement text is parsed, or nil.
    private(set) var reference: Int?
    /// The offset in the document for an error at the current position.
    var errorOffset: Int { reference ?? offset }

    init(types: DocumentTypes, offset: Int) {
        self.types = types
        self.offset = offset
    }

    // SPEC: XML 1.0, production 28.
    mutating func parse(in text: RawSpan, _ tokenizer: inout XMLTokenizer) throws(Stop) {
        try space(in: text, &tokenizer)
        parts.name = try name(in: text, &tokenizer)
        let hasSpace = try skipSpace(in: text)
        if hasSpace, let word = try externalWord(in: text, &tokenizer) {
            let id = try externalID(word, in: text, needsSystem: true, &tokenizer)
            parts.hasExternalID = true
            parts.hasPublicID = id.publicID != nil
            parts.systemID = id.system
            let start = tokenizer.copies.count
            tokenizer.appendTokens(id.publicID ?? [])
            parts.publicID = start..<tokenizer.copies.count
            types.mayLackEntities = true
            _ = try skipSpace(in: text)
        }
        if try byte(in: text) == UInt8(ascii: "[") {
            offset += 1
            let start = offset
            try subset(in: text, isEntity: false, &tokenizer)
            parts.internalSubset = start..<offset
            offset += 1
            _ = try skipSpace(in: text)
        }
        try expect(">", in: text, &tokenizer)
        if let (offset, error) = types.undeclaredReference, !types.mayLackEntities {
            tokenizer.failedOffset = offset
            throw .wrong(error)
        }
    }

    // MARK: The internal subset

    // SPEC: XML 1.0, productions 28a, 28b and 29.
    private mutating func subset(in text: RawSpan, isEntity: Bool, _ tokenizer: inout XMLTokenizer) throws(Stop) {
        while true {
            offset = NameBytes.endOfSpace(in: text, from: offset)
            if isEntity && offset == text.byteCount { return }
            switch try byte(in: text) {
            case UInt8(ascii: "]") where !isEntity: return
            case UInt8(ascii: "%"): try parameterEntity(in: text, &tokenizer)
            case UInt8(ascii: "<"): try declaration(in: text, &tokenizer)
            default: throw wrong("expected a declaration or ']'", in: text, &tokenizer)
            }
        }
    }

    private mutating func declaration(in text: RawSpan, _ tokenizer: inout XMLTokenizer) throws(Stop) {
        if try isNext("<!--", in: text, &tokenizer) {
            offset = try whole { () throws(StreamError) in try tokenizer.endOfComment(in: text, from: offset + 4) }
        } else if try isNext("<?", in: text, &tokenizer) {
            offset = try whole { () throws(StreamError) in
                try tokenizer.instructionParts(in: text, from: offset + 2)?.end
            }
        } else if try isNext("<!ELEMENT", in: text, &tokenizer) {
            offset += 9
            try element(in: text, &tokenizer)
        } else if try isNext("<!ATTLIST", in: text, &tokenizer) {
            offset += 9
            try attributes(in: text, &tokenizer)
        } else if try isNext("<!ENTITY", in: text, &tokenizer) {
            offset += 8
            try entity(in: text, &tokenizer)
        } else if try isNext("<!NOTATION", in: text, &tokenizer) {
            offset += 10
            try notation(in: text, &tokenizer)
        } else {
            throw wrong("expected a declaration", in: text, &tokenizer)
        }
    }

    // SPEC: XML 1.0, sections 4.4.8 and 5.1.
    private mutating func parameterEntity(in text: RawSpan, _ tokenizer: inout XMLTokenizer) throws(Stop) {
        let start = offset
        offset += 1
        let range = try name(in: text, isQualified: false, &tokenizer)
        guard try byte(in: text) == UInt8(ascii: ";") else { throw wrong("expected ';'", in: text, &tokenizer) }
        offset += 1
        types.mayLackEntities = true
        guard let (index, kind) = types.parameterEntity(text.extracting(range)), kind == .text else {
            if tokenizer.isStandalone != true { types.ignoresDeclarations = true }
            return
        }
        let (types, end, outer) = (types, offset, reference)
        try checked { () throws(StreamError) in try tokenizer.enter(index, at: reference ?? start) }
        reference = reference ?? start
        tokenizer.isInParameterEntity = true
        offset = 0
        do throws(Stop) {
            try subset(in: types.text(index), isEntity: true, &tokenizer)
        } catch .incomplete {
            let message = "the text of a parameter entity ends within a declaration"
            throw .wrong(tokenizer.fail(.invalidSyntax, message, at: outer ?? start))
        } catch .wrong(let error) {
            tokenizer.failedOffset = outer ?? start
            throw .wrong(error)
        }
        tokenizer.openEntities.removeLast()
        tokenizer.isInParameterEntity = outer != nil
        (offset, reference) = (end, outer)
    }

    // SPEC: XML 1.0, productions 70 to 76.
    private mutating func entity(in text: RawSpan, _ tokenizer: inout XMLTokenizer) throws(Stop) {
        try space(in: text, &tokenizer)
        let isParameter = try byte(in: text) == UInt8(ascii: "%")
        if isParameter {
            offset += 1
            try space(in: text, &tokenizer)
        }
        let place = offset
        let name = [UInt8](copying: text.extracting(try name(in: text, isQualified: false, &tokenizer)))
        try space(in: text, &tokenizer)
        var (kind, value): (DocumentTypes.EntityKind, [UInt8]) = (.text, [])
        if let word = try externalWord(in: text, &tokenizer) {
            _ = try externalID(word, in: text, needsSystem: true, &tokenizer)
            kind = .external
            if try skipSpace(in: text), !isParameter, try isNext("NDATA", in: text, &tokenizer) {
                offset += 5
                try space(in: text, &tokenizer)
                _ = try self.name(in: text, isQualified: false, &tokenizer)
                kind = .unparsed
            }
        } else {
            value = try entityValue(in: text, &tokenizer)
        }
        _ = try skipSpace(in: text)
        try expect(">", in: text, &tokenizer)
        guard !types.ignoresDeclarations else { return }
        guard types.entityCount < tokenizer.options.entityLimit else {
            let message = "more than \(tokenizer.options.entityLimit) entities"
            throw .wrong(tokenizer.fail(.limitExceeded, message, at: place))
        }
        types.declare(name, isParameter: isParameter, kind, text: value, isFromParameter: reference != nil)
    }

    // SPEC: XML 1.0, production 9 and section 4.5.
    private mutating func entityValue(in text: RawSpan, _ tokenizer: inout XMLTokenizer) throws(Stop) -> [UInt8] {
        let quote = try openQuote("a value in quotes or an external identifier", in: text, &tokenizer)
        var value = KeptStack<UInt8>()
        while true {
            let byte = try byte(in: text)
            switch byte {
            case quote:
                offset += 1
                return [UInt8](copying: value.bytes)
            case UInt8(ascii: "%"):
                throw wrong("expected no reference to a parameter entity within a declaration", in: text, &tokenizer)
            case UInt8(ascii: "&"): try entityValueReference(in: text, &value, &tokenizer)
            case 0x0D where reference == nil:
                value.append(0x0A)
                offset += 1
                if try self.byte(in: text) == 0x0A { offset += 1 }
            default:
                value.append(byte)
                offset += 1
            }
        }
    }

    /// Replaces a character reference. A reference to an entity is kept and replaced when the value is used.
    private mutating func entityValueReference(
        in text: RawSpan, _ value: inout KeptStack<UInt8>, _ tokenizer: inout XMLTokenizer
    ) throws(Stop) {
        let start = offset
        offset += 1
        if try byte(in: text) == UInt8(ascii: "#") {
            let found = try whole { () throws(StreamError) in try tokenizer.parsedReference(in: text, at: start) }
            if case .character(let scalar) = found.meaning { value.append(scalar: scalar) }
            offset = found.end
            return
        }
        _ = try name(in: text, isQualified: false, &tokenizer)
        guard try byte(in: text) == UInt8(ascii: ";") else { throw wrong("expected ';'", in: text, &tokenizer) }
        offset += 1
        value.append(contentsOf: text.extracting(start..<offset))
    }

    // SPEC: XML 1.0, productions 82 and 83.
    private mutating func notation(in text: RawSpan, _ tokenizer: inout XMLTokenizer) throws(Stop) {
        try space(in: text, &tokenizer)
        _ = try name(in: text, isQualified: false, &tokenizer)
        try space(in: text, &tokenizer)
        guard let word = try externalWord(in: text, &tokenizer) else {
            throw wrong("expected 'SYSTEM' or 'PUBLIC'", in: text, &tokenizer)
        }
        _ = try externalID(word, in: text, needsSystem: false, &tokenizer)
        _ = try skipSpace(in: text)
        try expect(">", in: text, &tokenizer)
    }

    // MARK: External identifiers

    private mutating func externalWord(in text: RawSpan, _ tokenizer: inout XMLTokenizer) throws(Stop) -> StaticString?
    {
        for word in ["SYSTEM", "PUBLIC"] as [StaticString] where try isNext(word, in: text, &tokenizer) {
            offset += 6
            return word
        }
        return nil
    }

    // SPEC: XML 1.0, productions 11 to 13, 75 and 83.
    private mutating func externalID(
        _ word: StaticString, in text: RawSpan, needsSystem: Bool, _ tokenizer: inout XMLTokenizer
    ) throws(Stop) -> (publicID: [UInt8]?, system: Range<Int>) {
        try space(in: text, &tokenizer)
        var publicID: [UInt8]?
        if unsafe word.utf8Start.pointee == UInt8(ascii: "P") {
            let range = try literal(isPublic: true, in: text, &tokenizer)
            publicID = [UInt8](copying: text.extracting(range)).map { $0 == 0x0A || $0 == 0x0D ? 0x20 : $0 }
            let hasSpace = try skipSpace(in: text)
            let next = try byte(in: text)
            guard needsSystem || next == 0x22 || next == 0x27 else { return (publicID, 0..<0) }
            guard hasSpace else { throw wrong("expected white space", in: text, &tokenizer) }
        }
        return (publicID, try literal(isPublic: false, in: text, &tokenizer))
    }

    private mutating func literal(
        isPublic: Bool, in text: RawSpan, _ tokenizer: inout XMLTokenizer
    ) throws(Stop) -> Range<Int> {
        let quote = try openQuote("an identifier in quotes", in: text, &tokenizer)
        let start = offset
        while true {
            let byte = try byte(in: text)
            if byte == quote { break }
            guard !isPublic || Self.isPublicIDByte(byte) else {
                throw wrong("expected a character of public identifiers", in: text, &tokenizer)
            }
            offset += 1
        }
        offset += 1
        return start..<offset - 1
    }

    private static func isPublicIDByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), 0x20, 0x0D, 0x0A:
            true
        default: "-'()+,./:=?;!*#@$_%".utf8.contains(byte)
        }
    }
}

// MARK: - Steps

extension DocumentTypeParser {
    /// Returns the next byte.
    func byte(in text: RawSpan) throws(Stop) -> UInt8 {
        guard offset < text.byteCount else { throw .incomplete }
        return text.uncheckedByte(offset)
    }

    /// Skips white space, and returns whether any was skipped.
    mutating func skipSpace(in text: RawSpan) throws(Stop) -> Bool {
        let end = NameBytes.endOfSpace(in: text, from: offset)
        defer { offset = end }
        guard end < text.byteCount else { throw .incomplete }
        return end > offset
    }

    /// Skips required white space.
    mutating func space(in text: RawSpan, _ tokenizer: inout XMLTokenizer) throws(Stop) {
        guard try skipSpace(in: text) else { throw wrong("expected white space", in: text, &tokenizer) }
    }

    /// Returns whether a word comes next.
    func isNext(_ word: StaticString, in text: RawSpan, _ tokenizer: inout XMLTokenizer) throws(Stop) -> Bool {
        guard let isNext = tokenizer.isWord(word, in: text, at: offset) else { throw .incomplete }
        return isNext
    }

    /// Skips a required byte.
    mutating func expect(_ character: Unicode.Scalar, in text: RawSpan, _ tokenizer: inout XMLTokenizer) throws(Stop) {
        guard try byte(in: text) == UInt8(ascii: character) else {
            throw wrong("expected '\(character)'", in: text, &tokenizer)
        }
        offset += 1
    }

    mutating func openQuote(_ what: String, in text: RawSpan, _ tokenizer: inout XMLTokenizer) throws(Stop) -> UInt8 {
        let quote = try byte(in: text)
        guard quote == 0x22 || quote == 0x27 else { throw wrong("expected \(what)", in: text, &tokenizer) }
        offset += 1
        return quote
    }

    /// Skips a name. With namespaces, the names of entities, notations and targets have no colon.
    mutating func name(
        in text: RawSpan, isQualified: Bool = true, _ tokenizer: inout XMLTokenizer
    ) throws(Stop) -> Range<Int> {
        let extent = NameBytes.extent(in: text, from: offset)
        guard extent.end < text.byteCount else { throw .incomplete }
        guard extent.end > offset else { throw wrong("expected a name", in: text, &tokenizer) }
        guard extent.end - offset <= tokenizer.options.nameByteLimit else {
            let message = "more than \(tokenizer.options.nameByteLimit) bytes of a name"
            throw .wrong(tokenizer.fail(.limitExceeded, message, at: errorOffset))
        }
        if tokenizer.options.knowsNamespaces, !extent.isQualified || !isQualified && extent.colon >= 0 {
            let message = isQualified ? "expected one colon at the most" : "expected no colon"
            throw .wrong(tokenizer.fail(.invalidSyntax, message + " in a name", at: errorOffset))
        }
        defer { offset = extent.end }
        return offset..<extent.end
    }

    /// Returns an error at the current position.
    func wrong(_ expected: String, in text: RawSpan, _ tokenizer: inout XMLTokenizer) -> Stop {
        let found = tokenizer.describe(text, at: offset)
        return .wrong(tokenizer.fail(.invalidSyntax, "\(expected), found \(found)", at: errorOffset))
    }

    /// Returns the result of a tokenizer function, which returns nil if the text ends.
    func whole<Value>(_ step: () throws(StreamError) -> Value?) throws(Stop) -> Value {
        guard let value = try checked(step) else { throw .incomplete }
        return value
    }

    func checked<Value>(_ step: () throws(StreamError) -> Value) throws(Stop) -> Value {
        do throws(StreamError) { return try step() } catch { throw .wrong(error) }
    }
}
