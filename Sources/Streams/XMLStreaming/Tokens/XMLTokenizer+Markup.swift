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
            throw fail(.invalidSyntax, "expected a target behind '<?', found \(describe(text, at: start))", at: start)
        }
        guard extent.end - start <= options.nameByteLimit else {
            throw fail(.limitExceeded, "more than \(options.nameByteLimit) bytes of a name", at: start)
        }
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
                throw fail(.invalidSyntax, "expected white space or '?>' behind a target, found \(found)", at: data)
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
        var names = [("version", true), ("encoding", false), ("standalone", false)][...]
        var end = offset + 5
        (versionRange, encodingRange, isStandalone) = (0..<0, 0..<0, nil)
        while true {
            let endOfValue = end
            end = NameBytes.endOfSpace(in: text, from: end)
            guard end + 1 < text.byteCount else { return try incomplete(text, isLast) }
            if text.uncheckedByte(end) == UInt8(ascii: "?") {
                guard text.uncheckedByte(end + 1) == UInt8(ascii: ">"), names.first?.1 != true else { break }
                offset = end + 2
                return .declaration
            }
            guard end > endOfValue else { break }
            let extent = NameBytes.extent(in: text, from: end)
            guard extent.end < text.byteCount else { return try incomplete(text, isLast) }
            let name = text.extracting(end..<extent.end)
            while let first = names.first, !first.1, !name.equals(first.0) { names.removeFirst() }
            guard let first = names.first, name.equals(first.0) else { break }
            names.removeFirst()
            guard let value = try declarationValue(in: text, from: extent.end) else {
                return try incomplete(text, isLast)
            }
            try setDeclared(first.0, value, in: text)
            end = value.upperBound + 1
        }
        let expected = names.first.map { "'\($0.0)'" + ($0.1 ? "" : " or '?>'") } ?? "'?>'"
        throw fail(
            .invalidSyntax, "expected \(expected) in the XML declaration, found \(describe(text, at: end))", at: end)
    }

    private mutating func declarationValue(in text: RawSpan, from start: Int) throws(StreamError) -> Range<Int>? {
        var offset = NameBytes.endOfSpace(in: text, from: start)
        guard offset < text.byteCount else { return nil }
        guard text.uncheckedByte(offset) == UInt8(ascii: "=") else {
            throw fail(.invalidSyntax, "expected '=', found \(describe(text, at: offset))", at: offset)
        }
        offset = NameBytes.endOfSpace(in: text, from: offset + 1)
        guard offset < text.byteCount else { return nil }
        let quote = text.uncheckedByte(offset)
        guard quote == 0x22 || quote == 0x27 else {
            throw fail(.invalidSyntax, "expected a value in quotes, found \(describe(text, at: offset))", at: offset)
        }
        var end = offset + 1
        while end < text.byteCount, text.uncheckedByte(end) != quote {
            let byte = text.uncheckedByte(end)
            guard NameBytes.isASCIIPart(byte), byte != UInt8(ascii: ":") else {
                throw fail(
                    .invalidSyntax, "expected a letter, a digit, '.', '_' or '-', found \(describe(text, at: end))",
                    at: end)
            }
            end += 1
        }
        return end < text.byteCount ? offset + 1..<end : nil
    }

    private mutating func setDeclared(_ name: String, _ range: Range<Int>, in text: RawSpan) throws(StreamError) {
        let value = String(xml: text.extracting(range))
        switch name {
        case "version":
            guard value.hasPrefix("1."), value.count > 2, value.dropFirst(2).allSatisfy({ "0"..."9" ~= $0 }) else {
                throw fail(.invalidSyntax, "expected a version 1.0", at: range.lowerBound)
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
