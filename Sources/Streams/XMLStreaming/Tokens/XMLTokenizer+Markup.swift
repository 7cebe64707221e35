// Finds comments, processing instructions and the XML declaration.

import PlistStreaming

extension XMLTokenizer {
    // SPEC: XML 1.0, production 15.
    /// Finds a comment. Returns nil for other markup.
    mutating func comment(in text: RawSpan, _ isLast: Bool) throws(StreamError) -> XMLToken? {
        guard let isComment = text.hasWord("<!--", at: offset) else { return try incomplete(text, isLast) }
        guard isComment else { return nil }
        guard let end = try endOfComment(in: text, from: offset + 4) else { return try incomplete(text, isLast) }
        setPiece(offset + 4..<end - 3, in: text)
        offset = end
        return .comment
    }

    /// Returns the offset after a comment, or nil if the text ends within it.
    mutating func endOfComment(in text: RawSpan, from start: Int) throws(StreamError) -> Int? {
        guard let end = WrittenText.offset(of: "--", in: text, from: start), end + 2 < text.byteCount else {
            return nil
        }
        guard text.uncheckedByte(end + 2) == UInt8(ascii: ">") else {
            throw fail(.invalidSyntax, "expected no '--' in a comment", at: end)
        }
        return end + 3
    }

    // SPEC: XML 1.0, productions 16 and 17.
    /// Finds a processing instruction.
    mutating func instruction(in text: RawSpan, _ isLast: Bool) throws(StreamError) -> XMLToken {
        guard let parts = try instructionParts(in: text, from: offset + 2) else { return try incomplete(text, isLast) }
        target = parts.target
        setPiece(parts.data, in: text)
        offset = parts.end
        return .instruction
    }

    /// Returns the parts of an instruction after `<?`, or nil if the text ends within it.
    mutating func instructionParts(
        in text: RawSpan, from start: Int
    ) throws(StreamError) -> (target: Range<Int>, data: Range<Int>, end: Int)? {
        let extent = NameBytes.extent(in: text, from: start)
        guard extent.end < text.byteCount else { return nil }
        guard extent.end > start else {
            throw fail(.invalidSyntax, "expected a target after '<?', found \(describe(text, at: start))", at: start)
        }
        try checkNameLength(extent.end - start, at: start)
        let name = text.extracting(start..<extent.end)
        if name.byteCount == 3, String(xml: name).lowercased() == "xml" {
            throw fail(
                .invalidSyntax, "an XML declaration is only allowed at the beginning, in lower case", at: tokenStart)
        }
        if options.knowsNamespaces && extent.colon >= 0 {
            throw fail(.invalidSyntax, "expected no colon in a target", at: start)
        }
        let data = NameBytes.endOfSpace(in: text, from: extent.end)
        if data == extent.end {
            guard let isEnd = text.hasWord("?>", at: data) else { return nil }
            guard isEnd else {
                let found = describe(text, at: data)
                throw fail(.invalidSyntax, "expected white space or '?>' after a target, found \(found)", at: data)
            }
            return (start..<extent.end, data..<data, data + 2)
        }
        guard let end = WrittenText.offset(of: "?>", in: text, from: data) else { return nil }
        return (start..<extent.end, data..<end, end + 2)
    }

    /// Sets the piece to a part of the text, with line ends as LF.
    private mutating func setPiece(_ range: Range<Int>, in text: RawSpan) {
        let part = text.extracting(range)
        piece = range
        isPieceCopied = false
        guard !isInEntity, part.contains(0x0D) else { return }
        copies.removeAll()
        copies.append(normalizingLineEnds: part)
        piece = 0..<copies.count
        isPieceCopied = true
    }

    // SPEC: XML 1.0, productions 23 to 26, 32, 80 and 81.
    /// Finds the XML declaration.
    mutating func declaration(in text: RawSpan, _ isLast: Bool) throws(StreamError) -> XMLToken {
        (versionRange, encodingRange, isStandalone) = (0..<0, 0..<0, nil)
        offset += 5
        return try token(.declaration, in: text, isLast) { tokenizer throws(StreamError) in
            try tokenizer.parseDeclaration(in: text)
        }
    }

    private mutating func parseDeclaration(in text: RawSpan) throws(StreamError) {
        var names = [("version", true), ("encoding", false), ("standalone", false)][...]
        while true {
            let hasSpace = try skipSpace(in: text)
            if names.first?.1 != true, try skip("?>", in: text) { return }
            guard hasSpace else { break }
            let extent = NameBytes.extent(in: text, from: offset)
            guard extent.end < text.byteCount else { throw Self.incompleteText }
            let name = text.extracting(offset..<extent.end)
            while let first = names.first, !first.1, !name.equals(first.0) { names.removeFirst() }
            guard let first = names.first, name.equals(first.0) else { break }
            names.removeFirst()
            offset = extent.end
            try setDeclared(first.0, try declarationValue(in: text), in: text)
        }
        let expected = names.first.map { "'\($0.0)'" + ($0.1 ? "" : " or '?>'") } ?? "'?>'"
        throw wrong("expected \(expected) in the XML declaration", in: text)
    }

    private mutating func declarationValue(in text: RawSpan) throws(StreamError) -> Range<Int> {
        _ = try skipSpace(in: text)
        try expect("=", in: text)
        _ = try skipSpace(in: text)
        let quote = try openQuote("a value in quotes", in: text)
        let start = offset
        while case let byte = try byte(in: text), byte != quote {
            guard NameBytes.isASCIIPart(byte), byte != UInt8(ascii: ":") else {
                throw wrong("expected a letter, a digit, '.', '_' or '-'", in: text)
            }
            offset += 1
        }
        offset += 1
        return start..<offset - 1
    }

    private mutating func setDeclared(_ name: String, _ range: Range<Int>, in text: RawSpan) throws(StreamError) {
        let value = String(xml: text.extracting(range))
        switch name {
        case "version":
            guard value.hasPrefix("1."), value.count > 2, value.dropFirst(2).allSatisfy({ "0"..."9" ~= $0 }) else {
                throw fail(.invalidSyntax, "expected a version such as 1.0", at: range.lowerBound)
            }
            versionRange = range
        case "encoding":
            guard let first = value.utf8.first, first | 0x20 >= 0x61, first | 0x20 <= 0x7A else {
                throw fail(.invalidSyntax, "expected the name of an encoding", at: range.lowerBound)
            }
            encodingRange = range
        default:
            guard value == "yes" || value == "no" else {
                throw fail(.invalidSyntax, "expected 'yes' or 'no'", at: range.lowerBound)
            }
            isStandalone = value == "yes"
        }
    }
}

extension RawSpan {
    /// Returns whether the bytes contain a given byte.
    func contains(_ byte: UInt8) -> Bool {
        for offset in 0..<byteCount where uncheckedByte(offset) == byte { return true }
        return false
    }
}

extension KeptStack where Element == UInt8 {
    // SPEC: XML 1.0, section 2.11.
    /// Appends text with line ends as LF.
    mutating func append(normalizingLineEnds text: RawSpan) {
        for offset in 0..<text.byteCount {
            let byte = text.uncheckedByte(offset)
            if byte == 0x0A, offset > 0, text.uncheckedByte(offset - 1) == 0x0D { continue }
            append(byte == 0x0D ? 0x0A : byte)
        }
    }
}
