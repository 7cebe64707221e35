// The sink that makes the nodes of a tree.

import PlistStreaming

/// A sink that makes the nodes of a whole document, or the nodes within a lazy element.
struct TreeBuilder: TreeSink, ~Copyable {
    var memory: TreeMemory
    /// The bytes of the document, in UTF-8.
    let document: [UInt8]
    /// The number that is added to the offsets of new nodes if only a part of the document is read.
    private let shift: Int
    private let depthMax: Int
    private let keepsWhitespace: Bool
    /// A Boolean value that indicates whether the next tag is the tag of the element whose content is made.
    private var isBeforeContent: Bool
    /// The open elements, with the innermost last. The first one is the document, or the element whose content is made.
    private var open: [(node: Int32, last: Int32)]
    /// The byte range of the XML declaration. The second property indicates whether the declaration names an encoding other
    /// than UTF-8.
    private(set) var declarationPlace: Range<Int>?
    private(set) var declaresOtherEncoding = false

    // The text since the last tag.
    private var hasText = false
    private var isTextBlank = true
    /// The end of the last tag, comment or instruction, where text may begin.
    private var textStart = 0
    /// A Boolean value that indicates whether the bytes of the document are the text itself, without references or line ends
    /// to replace.
    private var isTextInDocument = true
    private var textContent = 0..<0

    /// Makes a builder for a document.
    init(document: [UInt8], options: XMLTreeOptions) {
        memory = TreeMemory()
        if options.depth == .max { memory.reserve(for: document.count) }
        self.document = document
        (shift, isBeforeContent) = (0, false)
        (depthMax, keepsWhitespace) = (options.depth, options.keepsWhitespace)
        var root = TreeNode(kind: .document)
        (root.end, root.contentEnd) = (UInt32(document.count), UInt32(document.count))
        memory.nodes.append(root)
        open = [(0, -1)]
    }

    /// Makes a builder for the content of a lazy element. Its tags are read as well.
    ///
    /// The builder makes at least as many levels as there are elements around this one, so that no byte is read again for
    /// each level.
    init(
        _ memory: consuming TreeMemory, document: [UInt8], of node: Int32, at level: Int, options: XMLTreeOptions
    ) {
        shift = memory.nodes[Int(node)].place.lowerBound
        self.memory = memory
        self.document = document
        (depthMax, keepsWhitespace) = (max(options.depth, level), options.keepsWhitespace)
        isBeforeContent = true
        open = [(node, -1)]
    }

    private func shifted(_ place: XMLSourceRange) -> Range<Int> {
        (place.byteRange.lowerBound + shift)..<(place.byteRange.upperBound + shift)
    }

    // MARK: Nodes

    /// Adds a node after the last child of the innermost element.
    @inline(__always)  // PERF: XML/tree; a node has more bytes than are passed in registers.
    private mutating func append(_ node: consuming TreeNode, _ place: XMLSourceRange) throws(StreamError) {
        try memory.checkCapacity()
        let range = shifted(place)
        (node.start, node.end) = (UInt32(range.lowerBound), UInt32(range.upperBound))
        if place.isInEntity { node.flags.insert(.hasNoPlace) }
        append(node)
    }

    @inline(__always)  // PERF: see above.
    private mutating func append(_ node: consuming TreeNode) {
        let index = Int32(memory.nodes.count)
        let (parent, last) = open[open.count - 1]
        node.parent = parent
        node.previous = last
        if last < 0 { memory.nodes[Int(parent)].firstChild = index } else { memory.nodes[Int(last)].next = index }
        if node.flags.contains(.hasNoPlace) { memory.nodes[Int(parent)].flags.insert(.hasExpansions) }
        memory.nodes.append(node)
        open[open.count - 1].last = index
    }

    /// Ends the children of the innermost element. The first child stores the index of the last one.
    private mutating func closeChildren() {
        let (parent, last) = open.removeLast()
        guard last >= 0 else { return }
        memory.nodes[Int(memory.nodes[Int(parent)].firstChild)].previous = last
    }

    // MARK: Messages of the reader

    mutating func declaration(_ declaration: borrowing XMLDeclaration) throws(StreamError) {
        declarationPlace = shifted(declaration.place)
        let encoding = String(xml: declaration.encoding)
        declaresOtherEncoding = !encoding.isEmpty && XMLEncoding.named(encoding) != [.utf8]
    }

    mutating func startElement(_ tag: borrowing XMLStartTag) throws(StreamError) -> XMLInterest {
        if isBeforeContent {
            isBeforeContent = false
            textStart = shifted(tag.place).upperBound
            return .content
        }
        endText(before: tag.place)
        let node = try memory.element(tag)
        try append(node, tag.place)
        let index = Int32(memory.nodes.count - 1)
        memory.nodes[Int(index)].contentStart = memory.nodes[Int(index)].end
        open.append((index, -1))
        guard open.count - 1 >= depthMax, !tag.isEmptyElement, !tag.place.isInEntity else { return .content }
        memory.nodes[Int(index)].flags.insert(.isLazy)
        return .skipChildren
    }

    mutating func endElement(_ tag: borrowing XMLEndTag) throws(StreamError) {
        guard let (node, last) = open.last else { return }
        endText(before: tag.place, isOnlyChild: last < 0)
        closeChildren()
        // The content of a lazy element ends with the element's end tag.
        guard !open.isEmpty else { return }
        let place = shifted(tag.place)
        memory.nodes[Int(node)].end = UInt32(place.upperBound)
        let isEmpty = memory.nodes[Int(node)].flags.contains(.isEmptyTag)
        memory.nodes[Int(node)].contentEnd = UInt32(isEmpty ? place.upperBound : place.lowerBound)
    }

    mutating func comment(_ comment: borrowing XMLComment) throws(StreamError) {
        try append(.comment, name: -1, comment.utf8, comment.place)
    }

    mutating func processingInstruction(_ instruction: borrowing XMLProcessingInstruction) throws(StreamError) {
        try append(
            .processingInstruction, name: memory.names.number(of: instruction.target), instruction.data,
            instruction.place)
    }

    mutating func skippedEntity(_ reference: borrowing XMLSkippedEntity) throws(StreamError) {
        try append(.entityReference, name: memory.names.number(of: reference.name), RawSpan(), reference.place)
    }

    private mutating func append(
        _ kind: XMLTreeNode.Kind, name: Int32, _ value: RawSpan, _ place: XMLSourceRange
    ) throws(StreamError) {
        if open.isEmpty { return }
        endText(before: place)
        var node = TreeNode(kind: kind, flags: .isCopied)
        let content = try memory.copy(value)
        (node.contentStart, node.contentEnd) = (UInt32(content.lowerBound), UInt32(content.upperBound))
        node.name = name
        try append(node, place)
    }

    mutating func endDocument() throws(StreamError) {
        if open.count == 1 { closeChildren() }
    }

    // MARK: Text

    mutating func text(_ text: borrowing XMLText) throws(StreamError) {
        let place = shifted(text.place)
        let isPlain = !text.isCDATA && !text.place.isInEntity && isTextInDocument && isInDocument(text.utf8, place)
        if !hasText {
            try memory.checkCapacity()
            (hasText, isTextBlank) = (true, true)
            textContent = place.lowerBound..<place.lowerBound
        }
        if isPlain && textContent.upperBound == place.lowerBound {
            textContent = textContent.lowerBound..<place.upperBound
        } else {
            if isTextInDocument {
                // The text so far was in the document. It is copied.
                isTextInDocument = false
                let before = document[textContent]
                textContent = memory.copies.count..<(memory.copies.count + before.count)
                memory.copies += before
            }
            textContent = textContent.lowerBound..<(try memory.copy(text.utf8).upperBound)
        }
        if text.isCDATA || text.place.isInEntity { isTextBlank = false }
        if isTextBlank, !text.utf8.isXMLWhitespace { isTextBlank = false }
    }

    /// Returns whether the bytes of the document at the place of a piece are equal to the piece. All other pieces are shorter
    /// than their references and line ends, except a CR.
    private func isInDocument(_ text: RawSpan, _ place: Range<Int>) -> Bool {
        text.byteCount == place.count && place.upperBound <= document.count && document[place.lowerBound] != 0x0D
    }

    /// Makes a node for the text between the last part and the next one, unless it is white space between tags.
    private mutating func endText(before place: XMLSourceRange, isOnlyChild: Bool = false) {
        let range = shifted(place)
        let start = textStart
        textStart = range.upperBound
        guard hasText else { return }
        defer { (hasText, isTextInDocument) = (false, true) }
        if isTextBlank && !keepsWhitespace && !isOnlyChild { return }
        var node = TreeNode(kind: .text, flags: isTextInDocument ? [] : .isCopied)
        if let parent = open.last?.node, parent > 0, memory.nodes[Int(parent)].flags.contains(.hasNoPlace) {
            node.flags.insert(.hasNoPlace)
        }
        // The brackets of CDATA sections belong to the text.
        (node.start, node.end) = (UInt32(start), UInt32(max(start, range.lowerBound)))
        if node.start == node.end { node.flags.insert(.hasNoPlace) }
        (node.contentStart, node.contentEnd) = (UInt32(textContent.lowerBound), UInt32(textContent.upperBound))
        append(node)
    }
}
