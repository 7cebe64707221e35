// Divides chunks into the parts of a document. Decoded and checked bytes go to the tokenizer. Bytes that are cut off by the
// end of a chunk are kept for the next one.

import PlistStreaming

/// A scanner that finds the parts of a document in chunks of any size.
///
/// The tokenizer reads from a window. The window is either a piece of the input or the carry. The piece is the chunk or its
/// decoded form. The carry has the incomplete end of the last piece and the bytes added to it since.
@usableFromInline
struct XMLScanner: ~Copyable {
    let options: XMLReaderOptions
    @usableFromInline var tokenizer: XMLTokenizer
    /// The error that ended the document.
    @usableFromInline var failure: StreamError?

    /// The depth of the element whose content the sink skips, or 0.
    @usableFromInline var skippedDepth = 0

    // The input before it is checked.
    var input = EncodedInput()
    /// The problem in the input after the checked bytes of the piece.
    var problem: EncodedInput.Problem?
    /// The declared encoding of the bytes after the declaration.
    private var nextEncoding: XMLEncoding?

    // The windows.
    private(set) var isCarry = true
    private var carry = KeptStack<UInt8>()
    /// A Boolean value that indicates whether the carry has bytes that the tokenizer hasn't read.
    private var carryIsNew = false
    /// A Boolean value that indicates whether the carry needs more bytes than it has.
    private var isWaiting = false
    /// A Boolean value that indicates whether the input ends after the carry.
    private var isAtEnd = false
    private var markupEnd: MarkupEnd?
    /// The offset in the piece after the bytes that were added to the carry.
    private var pieceOffset = 0
    private var checkedEnd = 0
    private var pieceEnd = 0
    /// The references that are being replaced: the number of the entity, the offset behind the reference, and the depth around
    /// it.
    private var references: [(entity: Int, offset: Int, depth: Int)] = []
    private var referenceRange = 0..<0

    // Places.
    /// The offsets of the window and of the piece in the UTF-8 form of the document.
    @usableFromInline private(set) var textOffset = 0
    private var pieceBase = 0
    /// The position where line counting has stopped, in the UTF-8 form, and the number of input bytes before it.
    private var counted = LinePlace()
    private var inputOffset = 0

    @usableFromInline
    init(options: XMLReaderOptions) {
        self.options = options
        tokenizer = XMLTokenizer(options: options)
        input.known = options.encoding
    }

    /// Begins a chunk after the last one was completely read.
    @usableFromInline
    mutating func begin(_ chunk: RawSpan) throws(StreamError) {
        if let failure { throw failure }
        input.begin(chunk, limit: options.limits.totalByteCount)
        (pieceOffset, checkedEnd, pieceEnd) = (0, 0, 0)
    }

    /// Begins the end of the input, without more chunks.
    @usableFromInline
    mutating func beginEnd() throws(StreamError) {
        try begin(RawSpan())
        input.isFinal = true
    }

    // MARK: Parts

    /// Finds the next part, or returns that the chunk has no more parts.
    @usableFromInline
    mutating func next(in chunk: RawSpan) throws(StreamError) -> XMLToken {
        if let encoding = nextEncoding { changeEncoding(to: encoding, chunk) }
        while true {
            var token: XMLToken
            if tokenizer.isInEntity {
                token = try nextInEntity()
                if token == .needsInput { continue }
            } else if isCarry {
                if isWaiting { guard try extendCarry(in: chunk) else { return .needsInput } }
                carryIsNew = false
                token = isCarry ? try tokenizer.next(in: window(of: chunk), isLast: isAtEnd) : .nothing
            } else {
                token = try tokenizer.next(in: window(of: chunk).extracting(0..<checkedEnd), isLast: false)
            }
            switch token {
            case .text, .startTag, .endTag: return token
            case .needsInput:
                guard try advance(in: chunk) else { return token }
            case .nothing: continue
            case .entity: beginEntity()
            case .declaration:
                try setEncoding(chunk)
                return token
            default: return token
            }
        }
    }

    /// Returns the text that contains the last part, for use while other properties of self change.
    @inline(__always) @_lifetime(copy chunk)
    mutating func unscopedText(of chunk: RawSpan) -> RawSpan {
        tokenizer.isInEntity ? entityText(of: chunk) : window(of: chunk)
    }

    /// Returns the text that the tokenizer reads from outside of entities. The tokenizer has no access to this memory.
    @inline(__always) @_lifetime(copy chunk)
    private mutating func window(of chunk: RawSpan) -> RawSpan {
        // SAFETY: callers don't add to this memory while they use the text.
        isCarry ? unsafe carry.unscopedBytes : piece(of: chunk)
    }

    /// Returns the chunk or its decoded form.
    @inline(__always) @_lifetime(copy chunk)
    private mutating func piece(of chunk: RawSpan) -> RawSpan {
        // SAFETY: callers don't decode other bytes while they use the piece.
        input.isChunk ? chunk : unsafe input.decoded.unscopedBytes
    }

    @inline(never) @_lifetime(copy chunk)
    private mutating func entityText(of chunk: RawSpan) -> RawSpan {
        guard let reference = references.last, let types = tokenizer.types else { return chunk }
        // SAFETY: the tokenizer of self keeps the types alive.
        return unsafe _overrideLifetime(types.text(reference.entity), copying: chunk)
    }

    /// The place of the last part.
    var place: XMLSourceRange {
        mutating get {
            if !tokenizer.isInEntity {
                return XMLSourceRange(byteRange: textOffset &+ tokenizer.tokenStart..<textOffset &+ tokenizer.offset)
            }
            return XMLSourceRange(byteRange: referenceRange, isInEntity: true)
        }
    }

    // MARK: Entities

    private mutating func beginEntity() {
        if references.isEmpty {
            referenceRange = textOffset + tokenizer.tokenStart..<textOffset + tokenizer.offset
            tokenizer.referenceOffset = referenceRange.lowerBound
        }
        references.append((tokenizer.entityIndex, tokenizer.offset, tokenizer.depthAroundEntity))
        tokenizer.depthAroundEntity = tokenizer.openElements.count
        tokenizer.isInEntity = true
        tokenizer.stops.use(false)
        tokenizer.offset = 0
    }

    /// Finds the next part of an entity's text. At its end, continues after the reference.
    private mutating func nextInEntity() throws(StreamError) -> XMLToken {
        guard let types = tokenizer.types, let reference = references.last else { return .needsInput }
        let token = try tokenizer.next(in: types.text(reference.entity), isLast: true)
        guard token == .needsInput else { return token }
        // SPEC: XML 1.0, production 78: the text of an entity has to be content without its surroundings.
        guard tokenizer.openElements.count == tokenizer.depthAroundEntity, tokenizer.phase == .content else {
            throw tokenizer.fail(.invalidSyntax, "what began in an entity does not end in it", at: 0)
        }
        references.removeLast()
        tokenizer.openEntities.removeLast()
        tokenizer.depthAroundEntity = reference.depth
        tokenizer.offset = reference.offset
        tokenizer.isInEntity = !references.isEmpty
        tokenizer.stops.use(references.isEmpty && !isCarry)
        return .needsInput
    }

    // MARK: Windows

    /// Gives the tokenizer more text after it has used its window. Returns false if no more text is available.
    private mutating func advance(in chunk: RawSpan) throws(StreamError) -> Bool {
        let used = tokenizer.offset
        if isCarry {
            countLines(window(of: chunk), at: textOffset, to: used)
            carry.removeFirst(used)
            setWindow(isCarry: true, at: textOffset + used, 0)
            markupEnd = nil
            if !carry.isEmpty { return try extendCarry(in: chunk) }
            setWindow(isCarry: false, at: pieceBase, pieceOffset)
            if pieceOffset < checkedEnd { return true }
        }
        if checkedEnd < pieceEnd && problem == nil {
            check(chunk)
            return true
        }
        // The piece is used. Its incomplete end waits for more bytes.
        let offset = tokenizer.offset
        let piece = piece(of: chunk)
        countLines(piece, at: pieceBase, to: offset)
        carry.append(contentsOf: piece.extracting(offset..<checkedEnd))
        pieceOffset = checkedEnd
        setWindow(isCarry: true, at: pieceBase + offset, 0)
        return try extendCarry(in: chunk)
    }

    private mutating func setWindow(isCarry: Bool, at base: Int, _ offset: Int) {
        self.isCarry = isCarry
        textOffset = base
        tokenizer.textOffset = base
        tokenizer.stops.use(!isCarry)
        tokenizer.offset = offset
    }

    /// Adds bytes to the carry, up to the possible end of its markup, or checks more of the piece if the carry is empty.
    /// Returns false if no more bytes are available.
    private mutating func extendCarry(in chunk: RawSpan) throws(StreamError) -> Bool {
        isWaiting = false
        while true {
            if pieceOffset < checkedEnd {
                guard !carry.isEmpty else {
                    setWindow(isCarry: false, at: pieceBase, pieceOffset)
                    return true
                }
                carryIsNew = true
                if addToCarry(from: chunk) { return true }
            } else if checkedEnd < pieceEnd && problem == nil {
                check(chunk)
            } else if let problem {
                if carryIsNew { return true }
                throw tokenizer.fail(problem.kind, problem.message, at: carry.count)
            } else if try !refill(chunk) {
                isWaiting = !(input.isFinal && !isAtEnd)
                isAtEnd = input.isFinal
                return !isWaiting
            }
        }
    }

    /// Adds bytes of the piece to the carry. Returns whether the carry should be read now.
    private mutating func addToCarry(from chunk: RawSpan) -> Bool {
        let piece = piece(of: chunk)
        var end = min(checkedEnd, pieceOffset + 16)
        var isTime = true
        if carry.count >= 16, tokenizer.phase != .cdata {
            var search = markupEnd ?? MarkupEnd(carry.bytes)
            let found = search.find(in: piece.extracting(0..<checkedEnd), from: pieceOffset)
            markupEnd = search
            end = min(found ?? checkedEnd, pieceOffset + max(1, options.markupByteCountMax - carry.count))
            isTime = end == found || carry.count + end - pieceOffset >= options.markupByteCountMax
        }
        // Add only whole characters.
        while end < checkedEnd, piece.uncheckedByte(end) & 0xC0 == 0x80 { end += 1 }
        carry.append(contentsOf: piece.extracting(pieceOffset..<end))
        pieceOffset = end
        return isTime
    }

    /// Checks the next part of the piece.
    private mutating func check(_ chunk: RawSpan) {
        let piece = piece(of: chunk)
        // Check at least as many bytes as an incomplete part already has, so that the part isn't read over and over.
        let start = checkedEnd
        let waiting = isCarry ? 0 : start - tokenizer.offset
        if !options.usesPlainScan {
            while let next = tokenizer.stops.scan(piece, from: checkedEnd, to: pieceEnd) {
                // The rest is only an incomplete character.
                if next == checkedEnd { break }
                checkedEnd = next
                if checkedEnd - start >= waiting { break }
            }
            tokenizer.stops.use(!isCarry)
            if checkedEnd > start { return }
        }
        var end = min(pieceEnd, start + max(1 << 14, waiting))
        while end < pieceEnd, piece.uncheckedByte(end) & 0xC0 == 0x80 { end += 1 }
        let found = CharacterCheck.check(piece.extracting(0..<pieceEnd), from: checkedEnd, to: end)
        checkedEnd = found.end
        guard let wrong = found.problem else { return }
        if case .partial = wrong, !input.isFinal {
            // The next chunk may complete the character.
            input.hold(piece.extracting(found.end..<pieceEnd))
            pieceEnd = found.end
        } else {
            problem = EncodedInput.Problem(kind: .invalidText, message: wrong.message)
        }
    }

    /// Takes another piece of the input. Returns false if no more input is available.
    private mutating func refill(_ chunk: RawSpan) throws(StreamError) -> Bool {
        let base = textOffset + carry.count
        let result = input.refill(chunk)
        guard let range = result.range else {
            // The last piece is used, and its memory may already be used for other data.
            (pieceBase, pieceOffset, checkedEnd, pieceEnd) = (base, 0, 0, 0)
            problem = result.problem
            return problem != nil
        }
        // A byte order mark has three bytes in UTF-8. It doesn't count for the column.
        let start = base + (result.markCount > 0 ? 3 : 0)
        if result.markCount > 0 { counted = LinePlace(offset: 3) }
        inputOffset += result.markCount
        pieceBase = start - range.lowerBound
        (pieceOffset, checkedEnd, pieceEnd) = (range.lowerBound, range.lowerBound, range.upperBound)
        if carry.isEmpty { setWindow(isCarry: true, at: start, 0) }
        return true
    }

    /// Counts the lines of a text up to an offset. The text begins at a given offset of the document.
    private mutating func countLines(_ text: RawSpan, at base: Int, to end: Int) {
        let start = counted.offset - base
        guard end > start, start >= 0 else { return }
        let part = text.extracting(start..<end)
        counted.advance(over: part)
        inputOffset += (input.encoding ?? .utf8).byteCount(of: part, to: part.byteCount)
    }

    // MARK: Encodings

    /// Changes the encoding to the declared one for the bytes after the declaration.
    private mutating func setEncoding(_ chunk: RawSpan) throws(StreamError) {
        let range = tokenizer.encodingRange
        guard !range.isEmpty, !input.isText, input.known == nil else { return }
        let name = String(xml: unscopedText(of: chunk).extracting(range))
        let meant = XMLEncoding.named(name)
        guard !meant.isEmpty else {
            throw tokenizer.fail(
                .invalidText, "the encoding '\(ShownText.shortened(name.utf8))' is not supported", at: range.lowerBound)
        }
        if let encoding = input.encoding, meant.contains(encoding) { return }
        guard let encoding = meant.first, input.mayBecome(encoding) else {
            throw tokenizer.fail(
                .invalidText,
                "the document is not in '\(ShownText.shortened(name.utf8))', as its first bytes show",
                at: range.lowerBound)
        }
        nextEncoding = encoding
    }

    private mutating func changeEncoding(to encoding: XMLEncoding, _ chunk: RawSpan) {
        let used = tokenizer.offset
        let base = textOffset + used
        countLines(window(of: chunk), at: textOffset, to: used)
        // Bytes after the declaration that were read as UTF-8 are decoded again.
        let rest = isCarry ? [UInt8](copying: carry.bytes.extracting(used..<carry.count)) : []
        input.restart(in: encoding, with: rest, from: isCarry ? pieceOffset : used, to: pieceEnd)
        carry.removeAll()
        (pieceOffset, checkedEnd, pieceEnd) = (0, 0, 0)
        (problem, nextEncoding, markupEnd, isAtEnd) = (nil, nil, nil, false)
        pieceBase = base
        setWindow(isCarry: true, at: base, 0)
    }

    // MARK: End of input

    /// Throws an error for the missing parts if the input ends here.
    @usableFromInline
    mutating func checkEnd() throws(StreamError) {
        guard tokenizer.phase != .epilog else { return }
        let expected: String
        if tokenizer.phase == .cdata {
            expected = "']]>'"
        } else if tokenizer.openElements.isEmpty {
            expected = "a root element"
        } else {
            expected = "'</\(innermostName)>'"
        }
        throw tokenizer.fail(.unexpectedEnd, "expected \(expected), found the end of the input", at: tokenizer.offset)
    }

    private var innermostName: String {
        let element = tokenizer.openElements[tokenizer.openElements.count - 1]
        return ShownText.shortened(tokenizer.openNames.bytes.part(element.nameStart, Int(element.nameCount)))
    }

    /// Makes the error final by adding the position and the elements around it.
    @usableFromInline @inline(never)
    mutating func locate(_ error: StreamError, in chunk: RawSpan) -> StreamError {
        if let failure { return failure }
        // Errors of the sink get the position of the part that was sent.
        let place = tokenizer.failedOffset < 0 ? tokenizer.tokenStart : tokenizer.failedOffset
        let offset = references.isEmpty ? place : referenceRange.lowerBound - textOffset
        countLines(window(of: chunk), at: textOffset, to: offset)
        var steps: [StreamPath.Step] = []
        for index in 0..<min(256, tokenizer.openElements.count) {
            let element = tokenizer.openElements[index]
            steps.append(.key(String(xml: tokenizer.openNames.bytes.part(element.nameStart, Int(element.nameCount)))))
        }
        var position = counted.position
        position.byteOffset = inputOffset
        var located = error.ofSink(at: position)
        if !steps.isEmpty { located = located.located(at: StreamPath(steps)) }
        failure = located
        return located
    }
}
