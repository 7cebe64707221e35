// Parses declarations of elements and attributes. For elements, only the grammar is checked.

import PlistStreaming

extension DocumentTypeParser {
    // SPEC: XML 1.0, productions 45 to 51.
    mutating func element(in text: RawSpan, _ tokenizer: inout XMLTokenizer) throws(Stop) {
        try space(in: text, &tokenizer)
        _ = try name(in: text, &tokenizer)
        try space(in: text, &tokenizer)
        if try byte(in: text) == UInt8(ascii: "(") {
            offset += 1
            _ = try skipSpace(in: text)
            if try isNext("#PCDATA", in: text, &tokenizer) {
                offset += 7
                try mixedContent(in: text, &tokenizer)
            } else {
                try children(in: text, &tokenizer)
            }
        } else if try isNext("EMPTY", in: text, &tokenizer) {
            offset += 5
        } else if try isNext("ANY", in: text, &tokenizer) {
            offset += 3
        } else {
            throw wrong("expected 'EMPTY', 'ANY' or '('", in: text, &tokenizer)
        }
        _ = try skipSpace(in: text)
        try expect(">", in: text, &tokenizer)
    }

    private mutating func mixedContent(in text: RawSpan, _ tokenizer: inout XMLTokenizer) throws(Stop) {
        var hasNames = false
        while true {
            _ = try skipSpace(in: text)
            if try byte(in: text) != UInt8(ascii: "|") { break }
            offset += 1
            hasNames = true
            _ = try skipSpace(in: text)
            _ = try name(in: text, &tokenizer)
        }
        try expect(")", in: text, &tokenizer)
        if hasNames {
            try expect("*", in: text, &tokenizer)
        } else if try byte(in: text) == UInt8(ascii: "*") {
            offset += 1
        }
    }

    /// Skips the content between the first and the last parenthesis. Each level has one separator.
    private mutating func children(in text: RawSpan, _ tokenizer: inout XMLTokenizer) throws(Stop) {
        var separators: [UInt8] = [0]
        while true {
            _ = try skipSpace(in: text)
            if try byte(in: text) == UInt8(ascii: "(") {
                guard separators.count < tokenizer.options.limits.depth else {
                    let message = "more than \(tokenizer.options.limits.depth) groups within each other"
                    throw .wrong(tokenizer.fail(.limitExceeded, message, at: errorOffset))
                }
                separators.append(0)
                offset += 1
                continue
            }
            _ = try name(in: text, &tokenizer)
            try skipOccurrence(in: text)
            _ = try skipSpace(in: text)
            while try byte(in: text) == UInt8(ascii: ")") {
                offset += 1
                try skipOccurrence(in: text)
                separators.removeLast()
                if separators.isEmpty { return }
                _ = try skipSpace(in: text)
            }
            let separator = try byte(in: text)
            let known = separators[separators.count - 1]
            guard separator == UInt8(ascii: ",") || separator == UInt8(ascii: "|"), known == 0 || known == separator
            else {
                throw wrong(
                    "expected \(known == 0 ? "',', '|'" : "'\(UnicodeScalar(known))'") or ')'", in: text, &tokenizer)
            }
            separators[separators.count - 1] = separator
            offset += 1
        }
    }

    private mutating func skipOccurrence(in text: RawSpan) throws(Stop) {
        let byte = try byte(in: text)
        if byte == UInt8(ascii: "?") || byte == UInt8(ascii: "*") || byte == UInt8(ascii: "+") { offset += 1 }
    }

    // MARK: Attributes

    // SPEC: XML 1.0, productions 52 to 60.
    mutating func attributes(in text: RawSpan, _ tokenizer: inout XMLTokenizer) throws(Stop) {
        try space(in: text, &tokenizer)
        let element = [UInt8](copying: text.extracting(try name(in: text, &tokenizer)))
        while true {
            let hasSpace = try skipSpace(in: text)
            if try byte(in: text) == UInt8(ascii: ">") { break }
            guard hasSpace else { throw wrong("expected white space or '>'", in: text, &tokenizer) }
            let place = offset
            let name = [UInt8](copying: text.extracting(try name(in: text, &tokenizer)))
            try space(in: text, &tokenizer)
            let isTokenized = try attributeType(in: text, &tokenizer)
            try space(in: text, &tokenizer)
            let value = try defaultValue(in: text, isTokenized: isTokenized, &tokenizer)
            guard !types.ignoresDeclarations else { continue }
            guard types.attributeCount < tokenizer.options.declaredAttributeLimit else {
                let message = "more than \(tokenizer.options.declaredAttributeLimit) declared attributes"
                throw .wrong(tokenizer.fail(.limitExceeded, message, at: reference ?? place))
            }
            types.declare(
                .init(
                    name: name, isTokenized: isTokenized, defaultValue: value,
                    hasSkippedEntity: value != nil && tokenizer.hasSkippedEntity), of: element)
        }
        offset += 1
    }

    /// Skips a type. Returns whether white space in its values is collapsed.
    private mutating func attributeType(in text: RawSpan, _ tokenizer: inout XMLTokenizer) throws(Stop) -> Bool {
        if try byte(in: text) == UInt8(ascii: "(") {
            try enumeration(ofNames: false, in: text, &tokenizer)
            return true
        }
        // Longer words come first.
        for word in ["CDATA", "IDREFS", "IDREF", "ID", "ENTITIES", "ENTITY", "NMTOKENS", "NMTOKEN"] as [StaticString]
        where try isNext(word, in: text, &tokenizer) {
            offset += word.utf8CodeUnitCount
            return unsafe word.utf8Start.pointee != UInt8(ascii: "C")
        }
        guard try isNext("NOTATION", in: text, &tokenizer) else {
            throw wrong("expected the type of an attribute", in: text, &tokenizer)
        }
        offset += 8
        try space(in: text, &tokenizer)
        try enumeration(ofNames: true, in: text, &tokenizer)
        return true
    }

    private mutating func enumeration(
        ofNames: Bool, in text: RawSpan, _ tokenizer: inout XMLTokenizer
    ) throws(Stop) {
        try expect("(", in: text, &tokenizer)
        while true {
            _ = try skipSpace(in: text)
            if ofNames {
                _ = try name(in: text, isQualified: false, &tokenizer)
            } else {
                try nameToken(in: text, &tokenizer)
            }
            _ = try skipSpace(in: text)
            if try byte(in: text) == UInt8(ascii: ")") { break }
            try expect("|", in: text, &tokenizer)
        }
        offset += 1
    }

    // SPEC: XML 1.0, production 7.
    private mutating func nameToken(in text: RawSpan, _ tokenizer: inout XMLTokenizer) throws(Stop) {
        let start = offset
        while offset < text.byteCount {
            let (scalar, count) = NameBytes.character(in: text, at: offset)
            guard NameBytes.isPart(scalar) else { break }
            offset += count
        }
        guard try byte(in: text) > 0, offset > start else { throw wrong("expected a name token", in: text, &tokenizer) }
    }

    private mutating func defaultValue(
        in text: RawSpan, isTokenized: Bool, _ tokenizer: inout XMLTokenizer
    ) throws(Stop) -> [UInt8]? {
        if try byte(in: text) == UInt8(ascii: "#") {
            for word in ["#REQUIRED", "#IMPLIED"] as [StaticString] where try isNext(word, in: text, &tokenizer) {
                offset += word.utf8CodeUnitCount
                return nil
            }
            guard try isNext("#FIXED", in: text, &tokenizer) else {
                throw wrong("expected '#REQUIRED', '#IMPLIED' or '#FIXED'", in: text, &tokenizer)
            }
            offset += 6
            try space(in: text, &tokenizer)
        }
        let quote = try openQuote("a value in quotes", in: text, &tokenizer)
        let start = tokenizer.copies.count
        let found = try whole { () throws(StreamError) in try tokenizer.normalizedValue(in: text, from: offset, quote) }
        offset = found.end
        var value = [UInt8](copying: tokenizer.copies.bytes.part(start, tokenizer.copies.count - start))
        tokenizer.copies.removeAll(from: start)
        if isTokenized {
            tokenizer.appendTokens(value)
            value = [UInt8](copying: tokenizer.copies.bytes.part(start, tokenizer.copies.count - start))
            tokenizer.copies.removeAll(from: start)
        }
        return value
    }
}
