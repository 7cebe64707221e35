// Checks the names of a tag for duplicates, finds their namespaces, and adds the defaults of the document type.

import PlistStreaming

extension XMLTokenizer {
    // SPEC: XML 1.0, section 3.1, Unique Att Spec.
    /// Throws an error if two attributes are spelled the same.
    mutating func checkSpellings(of tag: RawSpan) throws(StreamError) {
        if let repeated = repeatedSpelling(of: tag) { throw failRepeated(repeated, in: tag) }
    }

    /// Returns the index of the first attribute that is spelled as an earlier one, or nil if all spellings are different.
    mutating func repeatedSpelling(of tag: RawSpan) -> Int? {
        // SAFETY: the attributes and the copies don't change here. The same is true for all uses of `memory(of:)` below.
        let (memory, attributes) = unsafe (memory(of: tag), attributes.unscopedSpan)
        return uniqueNames.firstRepeated(
            in: 0..<attributes.count,
            hash: { unsafe NameTable.hash(memory.part(attributes[$0].name.qualified)) },
            isSame: {
                unsafe memory.part(attributes[$0].name.qualified).hasSameBytes(
                    as: memory.part(attributes[$1].name.qualified))
            })
    }

    private mutating func failRepeated(_ index: Int, in tag: RawSpan) -> StreamError {
        let name = attributes[index].name.qualified
        let spelling = unsafe ShownText.shortened(memory(of: tag).part(name))
        return fail(.invalidSyntax, "the attribute '\(spelling)' appears twice", at: place(of: name))
    }

    /// Returns the offset of a name in the text. For a default, returns the offset of the tag.
    private func place(of slice: MemorySlice) -> Int { tokenStart + max(0, Int(slice.start)) }

    // SPEC: Namespaces in XML 1.0, sections 3 to 6.
    /// Declares the namespaces of a tag, and finds the namespaces of its names.
    mutating func resolveNames(of tag: RawSpan) throws(StreamError) {
        var (kept, hasPrefixes) = (0, false)
        for index in 0..<attributes.count {
            let record = attributes[index]
            let name = record.name
            if name.prefixCount == 5 || name.qualified.count == 5 && name.prefixCount == 0,
                try declareNamespace(record, of: tag)
            {
                declaredNamespaces.append(record)
                continue
            }
            attributes[kept] = record
            kept += 1
            if name.prefixCount > 0 { hasPrefixes = true }
        }
        attributes.removeAll(from: kept)
        var name = elementName
        (name.namespaceStart, name.namespaceCount) = namespaces.defaultSlice
        if name.prefixCount > 0 { try resolve(&name, in: tag) }
        elementName = name
        if hasPrefixes { try resolveAttributes(of: tag) }
    }

    /// Declares a namespace if the attribute is a declaration.
    private mutating func declareNamespace(
        _ record: AttributeRecord, of tag: RawSpan
    ) throws(StreamError) -> Bool {
        let memory = memory(of: tag)
        let name = unsafe memory.part(record.name.qualified)
        let word: StaticString = "xmlns"
        // SAFETY: the word has five bytes.
        for index in 0..<5 where unsafe name.uncheckedByte(index) != word.utf8Start[index] { return false }
        let prefix = name.byteCount > 5 ? name.part(6, name.byteCount - 6) : RawSpan()
        if let problem = unsafe namespaces.declare(prefix, memory.part(record.value)) {
            throw fail(.invalidSyntax, problem, at: place(of: record.name.qualified))
        }
        return true
    }

    /// Sets the namespace of a name with a prefix.
    private mutating func resolve(_ name: inout NameRecord, in tag: RawSpan) throws(StreamError) {
        let prefix = unsafe memory(of: tag).name(name).prefix
        guard let slice = namespaces.slice(of: prefix, Self.firstWord(of: prefix)) else {
            let problem = namespaces.uri(of: prefix) == nil ? "is not declared" : "can't be a prefix of elements"
            throw fail(
                .invalidSyntax, "the prefix '\(ShownText.shortened(prefix))' \(problem)", at: place(of: name.qualified))
        }
        (name.namespaceStart, name.namespaceCount) = slice
    }

    /// Finds the namespaces of attributes with prefixes. Throws an error if two attributes have the same local name and
    /// namespace.
    private mutating func resolveAttributes(of tag: RawSpan) throws(StreamError) {
        for index in 0..<attributes.count where attributes[index].name.prefixCount > 0 {
            var name = attributes[index].name
            try resolve(&name, in: tag)
            attributes[index].name = name
        }
        // SAFETY: the attributes don't change here.
        let (memory, attributes) = unsafe (memory(of: tag), attributes.unscopedSpan)
        let repeated = uniqueNames.firstRepeated(
            in: 0..<attributes.count,
            hash: { index in
                let name = attributes[index].name
                return unsafe NameTable.hash(memory.name(name).local)
                    ^ UInt64(name.namespaceStart) &<< 32
            },
            isSame: { one, other in
                let (one, other) = (attributes[one].name, attributes[other].name)
                return unsafe one.namespaceStart == other.namespaceStart && one.namespaceCount == other.namespaceCount
                    && memory.name(one).local.hasSameBytes(as: memory.name(other).local)
            })
        if let repeated { throw failRepeated(repeated, in: tag) }
    }

    /// The memory areas of a tag that is being finished, valid until copies are appended.
    private func memory(of tag: RawSpan) -> BorrowedTag {
        BorrowedTag(
            text: tag, copies: copies.bytes, namespaces: namespaces.uriBytes, attributes: attributes.span)
    }

    // MARK: Declared attributes

    // SPEC: XML 1.0, sections 3.3.2 and 3.3.3.
    /// Normalizes values by their declared types, and adds the defaults.
    mutating func applyDeclarations(of types: DocumentTypes, to tag: RawSpan) throws(StreamError) {
        let name = tag.part(Int(elementName.qualified.start), Int(elementName.qualified.count))
        guard let list = types.attributes(of: name) else { return }
        list.beginTag()
        for index in 0..<attributes.count {
            let memory = memory(of: tag)
            guard let declared = unsafe list.index(of: memory.part(attributes[index].name.qualified)) else { continue }
            list.mark(declared)
            guard list[declared].isTokenized else { continue }
            let first = copies.count
            let value = unsafe [UInt8](copying: memory.part(attributes[index].value))
            appendTokens(value)
            attributes[index].value = .copy(first, copies.count - first)
            try checkCopies(0, at: tokenStart)
        }
        for index in list.defaulted where !list.isMarked(index) {
            guard let value = list[index].defaultValue else { continue }
            try addDefault(list[index].name, value, list[index].hasSkippedEntity)
        }
    }

    private mutating func addDefault(
        _ name: [UInt8], _ value: [UInt8], _ hasSkippedEntity: Bool
    ) throws(StreamError) {
        guard attributes.count < options.attributeLimit else {
            throw fail(.limitExceeded, "more than \(options.attributeLimit) attributes", at: tokenStart)
        }
        try countExpansion(name.count + value.count, at: tokenStart)
        try checkCopies(name.count + value.count, at: tokenStart)
        let start = copies.count
        for byte in name { copies.append(byte) }
        for byte in value { copies.append(byte) }
        var record = NameRecord(qualified: .copy(start, name.count))
        if options.knowsNamespaces, let colon = name.firstIndex(of: UInt8(ascii: ":")) {
            record.prefixCount = Int32(colon)
        }
        attributes.append(
            AttributeRecord(
                name: record, value: .copy(start + name.count, value.count), isDefaulted: true,
                hasSkippedEntity: hasSkippedEntity))
    }

    /// Appends words, separated by single spaces, to the copies.
    mutating func appendTokens(_ value: [UInt8]) {
        var isFirst = true
        for word in value.split(separator: 0x20) {
            if !isFirst { copies.append(0x20) }
            isFirst = false
            for byte in word { copies.append(byte) }
        }
    }
}
