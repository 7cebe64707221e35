// Start tags as most are: names of ASCII, values with nothing to replace, no declarations. All others are left to the plain machine.

import PlistStreaming

/// A name of ASCII characters, found eight bytes at a time.
struct PlainName {
    /// Its bytes, 0 where there is no such name.
    var count = 0
    /// The bytes of its prefix, 0 when there is none.
    var prefixCount = 0
    /// The first eight bytes of the text, from the name on.
    var word: UInt64

    private static let ones: UInt64 = 0x0101_0101_0101_0101
    private static let highs: UInt64 = 0x8080_8080_8080_8080

    /// A name that is known.
    @inline(__always)
    init(count: Int, prefixCount: Int, word: UInt64) {
        self.count = count
        self.prefixCount = prefixCount
        self.word = word
    }

    /// Looks for a name; the text has sixteen bytes more than the offset of the next byte that is of no name.
    @inline(__always)
    init(in text: RawSpan, at start: Int) {
        word = text.uncheckedWord(start)
        guard NameBytes.isASCIIStart(UInt8(truncatingIfNeeded: word)) else { return }
        var (bytes, found, colon) = (word, 0, -1)
        while true {
            let ends = Self.others(bytes)
            var colons = Self.equal(bytes, 0x3A)
            if ends != 0 { colons &= (ends & (0 &- ends)) &- 1 }
            if colons != 0 {
                guard colon < 0, colons & (colons &- 1) == 0 else { return }
                colon = found &+ colons.trailingZeroBitCount &>> 3
            }
            guard ends == 0 else {
                found &+= ends.trailingZeroBitCount &>> 3
                break
            }
            found &+= 8
            bytes = text.uncheckedWord(start &+ found)
        }
        if colon >= 0 {
            guard colon > 0, colon &+ 1 < found else { return }
            let first = text.uncheckedByte(start &+ colon &+ 1)
            guard NameBytes.isASCIIStart(first) else { return }
            prefixCount = colon
        }
        count = found
    }

    /// The highest bits of the bytes that are in no name of ASCII.
    @inline(__always)
    private static func others(_ bytes: UInt64) -> UInt64 {
        let low = bytes & ~highs
        let letters = within(low | ones &* 0x20, 0x61, 0x7A)
        let digits = within(low, 0x30, 0x3A)
        let marks = within(low, 0x2D, 0x2E) | equal(bytes, 0x5F)
        return ((letters | digits | marks) & ~bytes & highs) ^ highs
    }

    /// The highest bits of the bytes that are in a range; all are below 0x80.
    @inline(__always)
    private static func within(_ bytes: UInt64, _ first: UInt64, _ last: UInt64) -> UInt64 {
        (bytes &+ ones &* (0x80 &- first)) & ~(bytes &+ ones &* (0x7F &- last))
    }

    /// The highest bits of the bytes that are one below 0x80.
    @inline(__always)
    private static func equal(_ bytes: UInt64, _ byte: UInt64) -> UInt64 {
        ~(((bytes & ~highs) ^ ones &* byte) &+ ~highs) & ~bytes & highs
    }
}

/// Names of up to eight bytes that were found before, a few of them.
struct KnownNames: ~Copyable {
    private struct Name: BitwiseCopyable {
        /// The name at the end of eight bytes, 0 for none.
        var word: UInt64 = 0
        var prefixCount = 0
    }

    private static let slotBits: UInt64 = 6
    private var names = KeptStack<Name>()

    init() { for _ in 0..<1 << Self.slotBits { names.append(Name()) } }

    // PERF: one comparison takes the place of a look at each character, for most names of most documents.
    /// The name that begins at an offset.
    ///
    /// - Parameter count: The bytes of the name, if there is one: behind them is a byte that is in no name.
    @inline(__always)
    mutating func name(in text: RawSpan, at start: Int, _ count: Int) -> PlainName {
        guard count > 0, count <= 8 else { return PlainName(in: text, at: start) }
        let bytes = text.uncheckedWord(start)
        let word = OpenElement.word(bytes, count)
        let slot = Int(truncatingIfNeeded: (word &* 0x9E37_79B9_7F4A_7C15) &>> (64 &- Self.slotBits))
        let known = names[slot]
        if known.word == word { return PlainName(count: count, prefixCount: known.prefixCount, word: bytes) }
        // In the slot beside are names that others took the place of.
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
    /// Where a plain tag ends, and the stop that is its last byte.
    @usableFromInline
    struct PlainEnd {
        @usableFromInline var offset: Int
        @usableFromInline var cursor: Int
    }

    /// Finds a start tag or an empty-element tag; nil, with nothing changed that is of the document, where the plain machine is needed.
    ///
    /// - Parameters:
    ///   - text: The text from the first byte of the stops on.
    ///   - start: Where `<` is.
    ///   - limit: Stops before it have sixteen bytes behind them.
    ///   - cursor: The index of the stop that is `<`.
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
        openPlainElement(name, text.uncheckedPart(start &+ 1, name.count))
        return end
    }

    /// Finds the attributes behind the name of an element, and the end of the tag.
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

    /// The name of an element, before a stop.
    @inline(__always)
    private mutating func plainElementName(in text: RawSpan, at start: Int, _ stop: Int) -> PlainName {
        // It ends before a space, or where the tag does.
        let spaces = text.uncheckedWord(start) ^ 0x2020_2020_2020_2020
        let found = (spaces &- 0x0101_0101_0101_0101) & ~spaces & 0x8080_8080_8080_8080
        let isEmpty = text.uncheckedByte(stop &- 1) == UInt8(ascii: "/")
        let count = stop &- start &- (isEmpty ? 1 : 0)
        let first = found != 0 ? found.trailingZeroBitCount &>> 3 : text.uncheckedByte(start &+ 8) == 0x20 ? 8 : count
        return knownNames.name(in: text, at: start, min(count, first))
    }

    /// What is known of a tag on the way through it.
    private struct PlainTag {
        var offset: Int
        /// The first stop from the offset on.
        var cursor: Int
        /// Bits of the names that were there.
        var names: UInt64 = 0
        var mayRepeat = false
        /// The prefix of attributes, at the end of eight bytes.
        var prefix: UInt64 = 0
    }

    /// Adds the attribute behind white space, if there is one; false where it is not plain.
    @inline(__always)
    private mutating func plainAttribute(
        in text: RawSpan, _ start: Int, _ limit: Int, _ tag: inout PlainTag
    ) -> Bool {
        // Within a tag that is followed by a stop, so are names and white space; CR is a stop itself.
        var byte = text.uncheckedByte(tag.offset)
        guard byte == 0x20 || byte == 0x0A || byte == 0x09 else { return false }
        repeat {
            tag.offset &+= 1
            byte = text.uncheckedByte(tag.offset)
        } while byte == 0x20 || byte == 0x0A || byte == 0x09
        if byte == UInt8(ascii: ">") || byte == UInt8(ascii: "/") { return true }
        // Where there is a quote, the name is all before it but for the last byte.
        let name = knownNames.name(in: text, at: tag.offset, stops.stop(tag.cursor) &- tag.offset &- 1)
        let quoteOffset = tag.offset &+ name.count &+ 1
        guard name.count > 0, name.count <= options.nameByteLimit, attributes.count < options.attributeLimit,
            text.uncheckedByte(quoteOffset &- 1) == UInt8(ascii: "="), stops.stop(tag.cursor) == quoteOffset
        else { return false }
        let quote = text.uncheckedByte(quoteOffset)
        guard quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") else { return false }
        // Values may have `>`, `]` and the other quote as they are.
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
            // A declaration, or a name that is much like one.
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

    /// Finds the namespace of an attribute; false if it is not declared, or if there are several prefixes, which may mean the same.
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

    /// Returns whether all names are different, and no value has white space to replace.
    @inline(never)
    private mutating func hasPlainAttributes(_ tag: RawSpan) -> Bool {
        for index in 0..<attributes.count {
            let value = attributes[index].value
            let bytes = tag.part(Int(value.start), Int(value.count))
            if bytes.contains(0x0A) || bytes.contains(0x09) { return false }
        }
        return attributes.count < 2 || repeatedSpelling(of: tag) == nil
    }

    /// Notes the element as the innermost one.
    @inline(__always)
    private mutating func openPlainElement(_ name: PlainName, _ bytes: RawSpan) {
        openElements.append(
            OpenElement(
                word: OpenElement.word(name.word, name.count), nameStart: openNames.count,
                nameCount: elementName.qualified.count, prefixCount: elementName.prefixCount,
                namespaceStart: elementName.namespaceStart, namespaceCount: elementName.namespaceCount,
                bindingCount: namespaces.bindingCount))
        if name.count <= 8 {
            openNames.append(name.word, name.count)
        } else {
            openNames.append(contentsOf: bytes)
        }
    }
}
