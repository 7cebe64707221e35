// Parses declarations of elements and attributes. For elements, only the grammar is checked.

import PlistStreaming

extension XMLTokenizer {
    // SPEC: XML 1.0, productions 45 to 51.
    mutating func elementDeclaration(in text: RawSpan) throws(StreamError) {
        try space(in: text)
        _ = try name(in: text)
        try space(in: text)
        if try skip("(", in: text) {
            _ = try skipSpace(in: text)
            if try skip("#PCDATA", in: text) {
                try mixedContent(in: text)
            } else {
                try children(in: text)
            }
        } else if try !skip("EMPTY", in: text), try !skip("ANY", in: text) {
            throw wrong("expected 'EMPTY', 'ANY' or '('", in: text)
        }
        _ = try skipSpace(in: text)
        try expect(">", in: text)
    }

    private mutating func mixedContent(in text: RawSpan) throws(StreamError) {
        var hasNames = false
        _ = try skipSpace(in: text)
        while try skip("|", in: text) {
            hasNames = true
            _ = try skipSpace(in: text)
            _ = try name(in: text)
            _ = try skipSpace(in: text)
        }
        try expect(")", in: text)
        if try !skip("*", in: text), hasNames { try expect("*", in: text) }
    }

    /// Skips the content between the first and the last parenthesis. Each level has one separator.
    private mutating func children(in text: RawSpan) throws(StreamError) {
        var separators: [UInt8] = [0]
        while true {
            _ = try skipSpace(in: text)
            if try byte(in: text) == UInt8(ascii: "(") {
                guard separators.count < options.limits.depth else {
                    let message = "more than \(options.limits.depth) levels of groups"
                    throw fail(.limitExceeded, message, at: errorOffset)
                }
                separators.append(0)
                offset += 1
                continue
            }
            _ = try name(in: text)
            try skipOccurrence(in: text)
            _ = try skipSpace(in: text)
            while try skip(")", in: text) {
                try skipOccurrence(in: text)
                separators.removeLast()
                if separators.isEmpty { return }
                _ = try skipSpace(in: text)
            }
            let separator = try byte(in: text)
            let known = separators[separators.count - 1]
            guard separator == UInt8(ascii: ",") || separator == UInt8(ascii: "|"), known == 0 || known == separator
            else {
                throw wrong("expected \(known == 0 ? "',', '|'" : "'\(UnicodeScalar(known))'") or ')'", in: text)
            }
            separators[separators.count - 1] = separator
            offset += 1
        }
    }

    private mutating func skipOccurrence(in text: RawSpan) throws(StreamError) {
        let byte = try byte(in: text)
        if byte == UInt8(ascii: "?") || byte == UInt8(ascii: "*") || byte == UInt8(ascii: "+") { offset += 1 }
    }

    // MARK: Attributes

    // SPEC: XML 1.0, productions 52 to 60.
    mutating func attributesDeclaration(in text: RawSpan) throws(StreamError) {
        try space(in: text)
        let element = [UInt8](copying: text.extracting(try name(in: text)))
        while true {
            let hasSpace = try skipSpace(in: text)
            if try byte(in: text) == UInt8(ascii: ">") { break }
            guard hasSpace else { throw wrong("expected white space or '>'", in: text) }
            let place = offset
            let name = [UInt8](copying: text.extracting(try name(in: text)))
            try space(in: text)
            let isTokenized = try attributeType(in: text)
            try space(in: text)
            let value = try defaultValue(in: text, isTokenized: isTokenized)
            guard let types, !types.ignoresDeclarations else { continue }
            guard types.attributeCount < options.declaredAttributeLimit else {
                let message = "more than \(options.declaredAttributeLimit) declared attributes"
                throw fail(.limitExceeded, message, at: typeReference ?? place)
            }
            types.declare(
                .init(
                    name: name, isTokenized: isTokenized, defaultValue: value,
                    hasSkippedEntity: value != nil && hasSkippedEntity), of: element)
        }
        offset += 1
    }

    /// Skips a type. Returns whether white space in its values is collapsed.
    private mutating func attributeType(in text: RawSpan) throws(StreamError) -> Bool {
        if try byte(in: text) == UInt8(ascii: "(") {
            try enumeration(ofNames: false, in: text)
            return true
        }
        if try skip("CDATA", in: text) { return false }
        // Longer words come first.
        for word in ["IDREFS", "IDREF", "ID", "ENTITIES", "ENTITY", "NMTOKENS", "NMTOKEN"] as [StaticString]
        where try skip(word, in: text) {
            return true
        }
        guard try skip("NOTATION", in: text) else { throw wrong("expected the type of an attribute", in: text) }
        try space(in: text)
        try enumeration(ofNames: true, in: text)
        return true
    }

    private mutating func enumeration(ofNames: Bool, in text: RawSpan) throws(StreamError) {
        try expect("(", in: text)
        while true {
            _ = try skipSpace(in: text)
            if ofNames { _ = try name(in: text, isQualified: false) } else { try nameToken(in: text) }
            _ = try skipSpace(in: text)
            if try skip(")", in: text) { return }
            try expect("|", in: text)
        }
    }

    // SPEC: XML 1.0, production 7.
    private mutating func nameToken(in text: RawSpan) throws(StreamError) {
        let start = offset
        while offset < text.byteCount {
            let (scalar, count) = NameBytes.character(in: text, at: offset)
            guard NameBytes.isPart(scalar) else { break }
            offset += count
        }
        guard try byte(in: text) > 0, offset > start else { throw wrong("expected a name token", in: text) }
    }

    private mutating func defaultValue(in text: RawSpan, isTokenized: Bool) throws(StreamError) -> [UInt8]? {
        if try byte(in: text) == UInt8(ascii: "#") {
            if try skip("#REQUIRED", in: text) { return nil }
            if try skip("#IMPLIED", in: text) { return nil }
            guard try skip("#FIXED", in: text) else {
                throw wrong("expected '#REQUIRED', '#IMPLIED' or '#FIXED'", in: text)
            }
            try space(in: text)
        }
        let quote = try openQuote("a value in quotes", in: text)
        let start = copies.count
        offset = try Self.complete(try normalizedValue(in: text, from: offset, quote)).end
        if isTokenized {
            let value = [UInt8](copying: copies.bytes.part(start, copies.count - start))
            copies.removeAll(from: start)
            appendTokens(value)
        }
        defer { copies.removeAll(from: start) }
        return [UInt8](copying: copies.bytes.part(start, copies.count - start))
    }
}
