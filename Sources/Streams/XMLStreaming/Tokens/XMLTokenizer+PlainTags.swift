// The fast path for common start tags: values without references, and no declarations. All other tags are left
// to the tokenizer's plain functions.

import PlistStreaming

/// A name before a stop, with its first bytes.
struct PlainName {
    /// The number of bytes, or 0 if namespaces don't allow the name.
    var count = 0
    /// The number of bytes of the prefix, or 0 for a name without a prefix.
    var prefixCount = 0
    /// The first eight bytes of the text at the name.
    var word: UInt64

    /// Creates a name from known values.
    @inline(__always)
    init(count: Int, prefixCount: Int, word: UInt64) {
        self.count = count
        self.prefixCount = prefixCount
        self.word = word
    }

    /// Finds a name. The text must have eight more bytes.
    @inline(__always)
    init(in text: RawSpan, at start: Int) {
        word = text.uncheckedWord(start)
        let extent = NameBytes.extent(in: text, from: start)
        guard extent.isQualified else { return }
        count = extent.end &- start
        if extent.colon >= 0 { prefixCount = extent.colon &- start }
    }
}

/// A small cache of names of up to eight bytes that were found before.
struct KnownNames: ~Copyable {
    private struct Name: BitwiseCopyable {
        /// The name, right-aligned in eight bytes, or 0 for an empty slot.
        var word: UInt64 = 0
        var prefixCount = 0
    }

    private static let slotBits: UInt64 = 6
    private var names = KeptStack<Name>()

    init() { for _ in 0..<1 << Self.slotBits { names.append(Name()) } }

    // PERF: for most names of most documents, one comparison replaces a check of each character.
    /// Returns the name that begins at an offset.
    ///
    /// - Parameter count: The expected number of bytes. The byte after them can't be in a name.
    @inline(__always)
    mutating func name(in text: RawSpan, at start: Int, _ count: Int) -> PlainName {
        guard count > 0, count <= 8 else { return PlainName(in: text, at: start) }
        let bytes = text.uncheckedWord(start)
        let word = OpenElement.word(bytes, count)
        let slot = Int(truncatingIfNeeded: (word &* 0x9E37_79B9_7F4A_7C15) &>> (64 &- Self.slotBits))
        let known = names[slot]
        if known.word == word { return PlainName(count: count, prefixCount: known.prefixCount, word: bytes) }
        // The adjacent slot has a name that was replaced by another one.
        let other = names[slot ^ 1]
        if other.word == word { return PlainName(count: count, prefixCount: other.prefixCount, word: bytes) }
        return add(text, start, word, count, slot)
    }

    @inline(never)
    private mutating func add(
        _ text: RawSpan, _ start: Int, _ word: UInt64, _ count: Int, _ slot: Int
    ) -> PlainName {
        let name = PlainName(in: text, at: start)
        if name.count == count {
            names[slot ^ 1] = names[slot]
            names[slot] = Name(word: word, prefixCount: name.prefixCount)
        }
        return name
    }
}

extension XMLTokenizer {
    /// The end of a plain tag, and the index of the stop that is its last byte.
    @usableFromInline
    struct PlainEnd {
        @usableFromInline var offset: Int
        @usableFromInline var cursor: Int
    }

    /// Finds a start tag or an empty-element tag. Returns nil if the plain functions are needed. The state of the document is
    /// then unchanged.
    ///
    /// - Parameters:
    ///   - text: The text that the offsets of the stops refer to.
    ///   - start: The offset of `<`.
    ///   - limit: At least sixteen bytes follow each stop before this offset.
    ///   - cursor: The index of the stop at `<`.
    @usableFromInline @inline(never)
    mutating func plainStartTag(in text: RawSpan, from start: Int, _ limit: Int, _ cursor: Int) -> PlainEnd? {
        let stop = stops.stop(cursor &+ 1)
        guard stop < limit, openElements.count < options.limits.depth else { return nil }
        let name = plainElementName(in: text, at: start &+ 1, stop)
        guard name.count > 0, name.count <= options.nameByteLimit else { return nil }
        attributes.removeAll()
        var end = PlainEnd(offset: stop &+ 1, cursor: cursor &+ 1)
        let endOfName = start &+ 1 &+ name.count
        let isEnd = text.uncheckedByte(stop) == UInt8(ascii: ">")
        if isEnd && endOfName == stop {
            isEmptyElement = false
        } else if isEnd && endOfName &+ 1 == stop && text.uncheckedByte(endOfName) == UInt8(ascii: "/") {
            isEmptyElement = true
        } else {
            guard let found = plainAttributes(in: text, start, endOfName, limit, cursor &+ 1) else { return nil }
            end = found
        }
        var record = NameRecord(qualified: .text(1, name.count))
        if options.knowsNamespaces {
            (record.namespaceStart, record.namespaceCount) = namespaces.defaultSlice
            if name.prefixCount > 0 {
                record.prefixCount = Int32(truncatingIfNeeded: name.prefixCount)
                let prefix = text.uncheckedPart(start &+ 1, name.prefixCount)
                guard let slice = namespaces.slice(of: prefix, name.word) else { return nil }
                (record.namespaceStart, record.namespaceCount) = slice
            }
        } else if name.prefixCount > 0 {
            return nil
        }
        elementName = record
        openElement(
            text.uncheckedPart(start &+ 1, name.count), name.word, bindingCount: namespaces.bindingCount)
        return end
    }

    /// Finds the attributes after the name of an element, and the end of the tag.
    @inline(never)
    private mutating func plainAttributes(
        in text: RawSpan, _ start: Int, _ endOfName: Int, _ limit: Int, _ cursor: Int
    ) -> PlainEnd? {
        var tag = PlainTag(offset: endOfName, cursor: cursor)
        while true {
            let byte = text.uncheckedByte(tag.offset)
            if byte == UInt8(ascii: ">") {
                isEmptyElement = false
                tag.offset &+= 1
                break
            }
            if byte == UInt8(ascii: "/") {
                guard text.uncheckedByte(tag.offset &+ 1) == UInt8(ascii: ">") else { return nil }
                isEmptyElement = true
                tag.offset &+= 2
                break
            }
            guard plainAttribute(in: text, start, limit, &tag) else { return nil }
        }
        if tag.mayRepeat || !attributes.isEmpty && stops.hasTabs(start, tag.offset) {
            guard hasPlainAttributes(text.extracting(start..<tag.offset)) else { return nil }
        }
        return PlainEnd(offset: tag.offset, cursor: tag.cursor)
    }

    /// Returns the name of an element, which ends before a stop.
    @inline(__always)
    private mutating func plainElementName(in text: RawSpan, at start: Int, _ stop: Int) -> PlainName {
        // The name ends before a space, or at the end of the tag.
        let spaces = text.uncheckedWord(start) ^ 0x2020_2020_2020_2020
        let found = (spaces &- 0x0101_0101_0101_0101) & ~spaces & 0x8080_8080_8080_8080
        let isEmpty = text.uncheckedByte(stop &- 1) == UInt8(ascii: "/")
        let count = stop &- start &- (isEmpty ? 1 : 0)
        let first = found != 0 ? found.trailingZeroBitCount &>> 3 : text.uncheckedByte(start &+ 8) == 0x20 ? 8 : count
        return knownNames.name(in: text, at: start, min(count, first))
    }

    /// The state while a tag is read.
    private struct PlainTag {
        var offset: Int
        /// The first stop at or after the offset.
        var cursor: Int
        /// A bit set of the names so far.
        var names: UInt64 = 0
        var mayRepeat = false
        /// The prefix of attributes, right-aligned in eight bytes.
        var prefix: UInt64 = 0
    }

    /// Adds the attribute after white space, if the tag has one. Returns false if it isn't plain.
    @inline(__always)
    private mutating func plainAttribute(
        in text: RawSpan, _ start: Int, _ limit: Int, _ tag: inout PlainTag
    ) -> Bool {
        // A stop follows every offset within a tag. Names and white space end before it, because CR is a stop itself.
        var byte = text.uncheckedByte(tag.offset)
        guard byte == 0x20 || byte == 0x0A || byte == 0x09 else { return false }
        repeat {
            tag.offset &+= 1
            byte = text.uncheckedByte(tag.offset)
        } while byte == 0x20 || byte == 0x0A || byte == 0x09
        if byte == UInt8(ascii: ">") || byte == UInt8(ascii: "/") { return true }
        // If a quote follows, the name is everything before it except the last byte.
        let name = knownNames.name(in: text, at: tag.offset, stops.stop(tag.cursor) &- tag.offset &- 1)
        let quoteOffset = tag.offset &+ name.count &+ 1
        guard name.count > 0, name.count <= options.nameByteLimit, attributes.count < options.attributeLimit,
            text.uncheckedByte(quoteOffset &- 1) == UInt8(ascii: "="), stops.stop(tag.cursor) == quoteOffset
        else { return false }
        let quote = text.uncheckedByte(quoteOffset)
        guard quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") else { return false }
        // Values may contain `>`, `]` and the other quote.
        var end: Int
        repeat {
            tag.cursor &+= 1
            end = stops.stop(tag.cursor)
            guard end < limit else { return false }
            byte = text.uncheckedByte(end)
            if byte == UInt8(ascii: "<") || byte == UInt8(ascii: "&") || byte == 0x0D { return false }
        } while byte != quote
        tag.cursor &+= 1
        guard stops.stop(tag.cursor) < limit else { return false }
        var record = NameRecord(qualified: .text(tag.offset &- start, name.count))
        if options.knowsNamespaces {
            // A declaration, or a name that begins with `xmlns`.
            if name.word & 0xFF_FFFF_FFFF == 0x73_6E6C_6D78 { return false }
            if name.prefixCount > 0, !setNamespace(of: &record, name, in: text, &tag) { return false }
        }
        let value = MemorySlice.text(quoteOffset &+ 1 &- start, end &- quoteOffset &- 1)
        attributes.append(AttributeRecord(name: record, value: value))
        let bit: UInt64 = 1 &<< ((OpenElement.word(name.word, name.count) &* 0x9E37_79B9_7F4A_7C15) &>> 58)
        tag.mayRepeat = tag.mayRepeat || tag.names & bit != 0
        tag.names |= bit
        tag.offset = end &+ 1
        return true
    }

    /// Finds the namespace of an attribute. Returns false if the prefix isn't declared, or if several prefixes are used,
    /// because they may have the same namespace.
    @inline(never)
    private mutating func setNamespace(
        of record: inout NameRecord, _ name: PlainName, in text: RawSpan, _ tag: inout PlainTag
    ) -> Bool {
        let prefix = OpenElement.word(name.word, name.prefixCount)
        guard name.prefixCount <= 8, tag.prefix == 0 || tag.prefix == prefix,
            let slice = namespaces.slice(of: text.uncheckedPart(tag.offset, name.prefixCount), name.word)
        else { return false }
        tag.prefix = prefix
        record.prefixCount = Int32(truncatingIfNeeded: name.prefixCount)
        (record.namespaceStart, record.namespaceCount) = slice
        return true
    }

    /// Returns whether all names are different and no value has white space to replace.
    @inline(never)
    private mutating func hasPlainAttributes(_ tag: RawSpan) -> Bool {
        for index in 0..<attributes.count {
            let value = attributes[index].value
            let bytes = tag.part(Int(value.start), Int(value.count))
            if bytes.contains(0x0A) || bytes.contains(0x09) { return false }
        }
        return attributes.count < 2 || repeatedSpelling(of: tag) == nil
    }

    /// Adds an element as the innermost open element.
    ///
    /// - Parameter word: The first eight bytes at the name.
    @inline(__always)
    mutating func openElement(_ name: RawSpan, _ word: UInt64, bindingCount: Int) {
        openElements.append(
            OpenElement(
                word: OpenElement.word(word, name.byteCount), nameStart: openNames.count,
                nameCount: elementName.qualified.count, prefixCount: elementName.prefixCount,
                namespaceStart: elementName.namespaceStart, namespaceCount: elementName.namespaceCount,
                bindingCount: bindingCount))
        if name.byteCount <= 8 {
            openNames.append(word, name.byteCount)
        } else {
            openNames.append(contentsOf: name)
        }
    }
}
