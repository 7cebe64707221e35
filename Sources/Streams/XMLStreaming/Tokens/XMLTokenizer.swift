// The readable parser. It finds one part of a document after the other in text that is valid UTF-8 with allowed characters.
// If a part is incomplete, the parser stays before it and requests more text.

import PlistStreaming

/// The kind of part that the tokenizer has found. Its properties have the details.
@usableFromInline
enum XMLToken: UInt8 {
    /// The text has no complete part.
    case needsInput
    /// A part without a message, such as the end of a CDATA section.
    case nothing
    case startTag, endTag, text, comment, instruction, declaration, documentType, skippedEntity
    /// A reference to an entity whose replacement text follows.
    case entity
}

/// An element that isn't closed yet.
@usableFromInline
struct OpenElement: BitwiseCopyable {
    /// The first eight bytes of the name. A shorter name is right-aligned.
    @usableFromInline var word: UInt64
    @usableFromInline var nameStart: Int
    @usableFromInline var nameCount: Int32
    @usableFromInline var prefixCount: Int32
    @usableFromInline var namespaceStart: Int32
    @usableFromInline var namespaceCount: Int32
    /// The number of namespace declarations before the element.
    @usableFromInline var bindingCount: Int

    /// Returns the first bytes of a name as in ``word``, from the eight bytes at the start of the name.
    @inlinable @inline(__always)
    static func word(_ bytes: UInt64, _ nameCount: Int) -> UInt64 {
        bytes &<< UInt64(truncatingIfNeeded: 64 &- min(8, nameCount) &* 8)
    }
}

/// A parser that finds the parts of a document and checks that it is well-formed.
@usableFromInline
struct XMLTokenizer: ~Copyable {
    @usableFromInline
    enum Phase: UInt8 {
        /// At the first byte, which is the only position for an XML declaration.
        case start
        /// Before or after the document type declaration.
        case prolog, prologWithType
        case content
        /// Within a CDATA section.
        case cdata
        /// After the root element.
        case epilog
    }

    let options: XMLReaderOptions
    @usableFromInline var phase = Phase.start
    /// The offset of the next part in the text.
    @usableFromInline var offset = 0
    /// The offset of the last part.
    @usableFromInline var tokenStart = 0
    /// The range of a text, a comment, an instruction's data or an entity's name, in the text or in the copies.
    var piece = 0..<0
    var isPieceCopied = false
    /// The target of an instruction.
    var target = 0..<0
    /// The known stops of text and values.
    @usableFromInline var stops = MarkupStops()
    /// The bytes that differ from the text and had to be copied.
    var copies = KeptStack<UInt8>()

    // State of the tag.
    @usableFromInline var attributes = KeptStack<AttributeRecord>()
    var declaredNamespaces = KeptStack<AttributeRecord>()
    @usableFromInline var elementName = NameRecord(qualified: .text(0, 0))
    @usableFromInline var isEmptyElement = false
    /// A Boolean value that indicates whether the last value has a reference to an entity that is not in the document.
    var hasSkippedEntity = false
    var uniqueNames = UniqueNames()
    var knownNames = KnownNames()

    // State of all open elements.
    @usableFromInline var openNames = KeptStack<UInt8>()
    @usableFromInline var openElements = KeptStack<OpenElement>()
    @usableFromInline var namespaces = Namespaces()

    // State of the document.
    var versionRange = 0..<0
    var encodingRange = 0..<0
    var isStandalone: Bool?
    var types: DocumentTypes?
    var typeParts = DocumentTypeParts()

    // State of entities.
    /// The entities that are being replaced, starting with the outermost one.
    var openEntities: [Int] = []
    /// A Boolean value that indicates whether the text is the replacement text of the innermost entity.
    var isInEntity = false
    /// A Boolean value that indicates whether the text of an entity is being appended to the value of an attribute.
    var isExpandingValue = false
    /// The offset of the reference to a parameter entity whose text is parsed, or nil.
    var typeReference: Int?
    /// The number of elements around the reference to that entity.
    var depthAroundEntity = 0
    /// The entity that an ``XMLToken/entity`` refers to.
    var entityIndex = 0
    /// The number of bytes that entities have expanded to.
    var expandedByteCount = 0
    /// The number of bytes of the document before the text.
    var textOffset = 0
    /// The offset of the last reference of the document while the text is that of an entity.
    var referenceOffset = 0
    /// The offset of the last error in the text, or a negative number if no error occurred.
    var failedOffset = -1

    init(options: XMLReaderOptions) { self.options = options }

    /// Finds the next part.
    ///
    /// - Parameters:
    ///   - text: The available text. It may begin at a different position for each call; ``offset`` is relative to it.
    ///   - isLast: A Boolean value that indicates whether the input ends with this text.
    mutating func next(in text: RawSpan, isLast: Bool) throws(StreamError) -> XMLToken {
        while true {
            let token =
                switch phase {
                case .content: try content(in: text, isLast)
                case .cdata: try textRun(in: text, isLast)
                case .start: try start(in: text, isLast)
                case .prolog, .prologWithType, .epilog: try outside(in: text, isLast)
                }
            if token != .nothing { return token }
        }
    }

    @inline(__always)
    private mutating func content(in text: RawSpan, _ isLast: Bool) throws(StreamError) -> XMLToken {
        tokenStart = offset
        guard offset < text.byteCount else { return .needsInput }
        let byte = text.uncheckedByte(offset)
        guard byte == UInt8(ascii: "<") || byte == UInt8(ascii: "&") else { return try textRun(in: text, isLast) }
        let window = window(in: text)
        let isLast = isLast && window.byteCount == text.byteCount
        guard byte == UInt8(ascii: "<") else { return try reference(in: window, isLast) }
        if offset &+ 1 < window.byteCount {
            let next = window.uncheckedByte(offset &+ 1)
            if next == UInt8(ascii: "/") { return try endTag(in: window, isLast) }
            if next >= UInt8(ascii: "A") { return try startTag(in: window, isLast) }
        }
        return try markup(in: window, isLast)
    }

    /// Returns the text up to the maximum end of a part.
    @inline(__always) @_lifetime(copy text)
    private func window(in text: RawSpan) -> RawSpan {
        let longest = options.markupByteCountMax
        return text.byteCount &- offset > longest ? Self.whole(text, to: offset &+ longest) : text
    }

    /// Returns the text up to an end, extended to the end of the character there.
    @inline(never) @_lifetime(copy text)
    private static func whole(_ text: RawSpan, to end: Int) -> RawSpan {
        var end = end
        while end < text.byteCount, text.uncheckedByte(end) & 0xC0 == 0x80 { end &+= 1 }
        return text.extracting(0..<end)
    }

    private mutating func markup(in text: RawSpan, _ isLast: Bool) throws(StreamError) -> XMLToken {
        guard offset &+ 1 < text.byteCount else { return try incomplete(text, isLast) }
        switch text.uncheckedByte(offset &+ 1) {
        case UInt8(ascii: "/"): return try endTag(in: text, isLast)
        case UInt8(ascii: "?"): return try instruction(in: text, isLast)
        case UInt8(ascii: "!"):
            if let token = try comment(in: text, isLast) { return token }
            if phase == .content, let token = try cdataStart(in: text, isLast) { return token }
            if phase == .prolog, let token = try documentType(in: text, isLast) { return token }
            throw fail(.invalidSyntax, "expected \(expectedMarkup) after '<!'", at: offset)
        default: return try startTag(in: text, isLast)
        }
    }

    private var expectedMarkup: String {
        switch phase {
        case .content: "'--' or '[CDATA['"
        case .prolog: "'--' or 'DOCTYPE'"
        default: "'--'"
        }
    }

    private mutating func start(in text: RawSpan, _ isLast: Bool) throws(StreamError) -> XMLToken {
        tokenStart = offset
        // White space after the target distinguishes the declaration from other instructions.
        let count = text.byteCount - offset
        guard let isDeclaration = text.hasWord("<?xml", at: offset), !isDeclaration || count > 5 || isLast else {
            if isLast { phase = .prolog }
            return isLast ? .nothing : .needsInput
        }
        phase = .prolog
        if isDeclaration, count > 5, NameBytes.isSpace(text.uncheckedByte(offset + 5)) {
            let token = try declaration(in: window(in: text), isLast)
            if token == .needsInput { phase = .start }
            return token
        }
        return .nothing
    }

    /// Finds a part before or after the root element.
    private mutating func outside(in text: RawSpan, _ isLast: Bool) throws(StreamError) -> XMLToken {
        offset = NameBytes.endOfSpace(in: text, from: offset)
        tokenStart = offset
        guard offset < text.byteCount else { return .needsInput }
        guard text.uncheckedByte(offset) == UInt8(ascii: "<") else {
            let found = describe(text, at: offset)
            if phase == .epilog {
                throw fail(.invalidSyntax, "expected nothing after the root element, found \(found)", at: offset)
            }
            throw fail(.invalidSyntax, "expected '<', found \(found)", at: offset)
        }
        if phase == .epilog, offset + 1 < text.byteCount {
            let next = text.uncheckedByte(offset + 1)
            if next != UInt8(ascii: "!") && next != UInt8(ascii: "?") {
                throw fail(.invalidSyntax, "expected nothing after the root element, found a tag", at: offset)
            }
        }
        let window = window(in: text)
        return try markup(in: window, isLast && window.byteCount == text.byteCount)
    }

    /// Requests more text for an incomplete part, or throws an error at the end of the input.
    @inline(never)
    mutating func incomplete(_ text: RawSpan, _ isLast: Bool) throws(StreamError) -> XMLToken {
        if text.byteCount - tokenStart >= options.markupByteCountMax {
            throw fail(.limitExceeded, "more than \(options.markupByteCountMax) bytes of markup", at: tokenStart)
        }
        if isLast {
            if isInEntity {
                throw fail(
                    .invalidSyntax, "the text of an entity ends within a part that began in it", at: text.byteCount)
            }
            throw fail(.unexpectedEnd, "the input ends within \(partName(text))", at: text.byteCount)
        }
        offset = tokenStart
        return .needsInput
    }

    private func partName(_ text: RawSpan) -> String {
        let names: [(StaticString, String)] = [
            ("</", "an end tag"), ("<!--", "a comment"), ("<![", "a CDATA section"),
            ("<!D", "a document type declaration"), ("<?", "a processing instruction"), ("<", "a tag"),
            ("&", "a reference"),
        ]
        for (word, name) in names where text.hasWord(word, at: tokenStart) == true { return name }
        return "a part"
    }

    /// Makes an error and stores its offset.
    @inline(never)
    mutating func fail(_ kind: StreamError.Kind, _ message: String, at offset: Int) -> StreamError {
        failedOffset = offset
        return StreamError(kind, message)
    }

    /// Describes the character at an offset for error messages.
    @inline(never)
    func describe(_ text: RawSpan, at offset: Int) -> String {
        guard offset < text.byteCount else { return "the end" }
        let (scalar, _) = NameBytes.character(in: text, at: offset)
        guard scalar > 0x20, scalar != 0x7F, let character = UnicodeScalar(scalar) else {
            return CharacterCode.name(of: scalar)
        }
        return "'\(Character(character))'"
    }

    /// The offset in the document of the reference or part that is read, for counting the document's bytes before it.
    var documentOffset: Int { isInEntity ? referenceOffset : textOffset + tokenStart }
}

extension RawSpan {
    /// Returns whether the bytes have a word at an offset, or nil if they end within the word.
    @inline(__always)
    func hasWord(_ word: StaticString, at start: Int) -> Bool? {
        for index in 0..<word.utf8CodeUnitCount {
            guard start + index < byteCount else { return nil }
            // SAFETY: the index is below the count of the word's bytes.
            guard unsafe uncheckedByte(start + index) == word.utf8Start[index] else { return false }
        }
        return true
    }
}
