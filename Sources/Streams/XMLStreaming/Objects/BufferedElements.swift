// Keeps elements in memory until they are complete. Names are numbers, and texts are stored one after the other. Children are
// linked in their order and also by name, so that repeated elements become an array wherever they are.

import PlistStreaming

/// The elements of one record, or of several that follow each other, with attributes as the first children.
struct BufferedElements: ~Copyable {
    /// An element or an attribute.
    struct Node: BitwiseCopyable {
        var name: Int32
        /// The number of the namespace's URI, or -1 if the name has no namespace.
        let namespace: Int32
        let isAttribute: Bool
        /// A Boolean value that indicates whether `xsi:nil` marks the element as having no value.
        var isNil = false
        /// A Boolean value that indicates whether an earlier sibling has the same name.
        var isRepeat = false
        /// A Boolean value that indicates whether the element has child elements.
        var hasElements = false
        /// The number of the prefix plus one if `name` leaves out the prefix, otherwise 0.
        var prefix: UInt16 = 0
        var firstChild: Int32 = -1
        var next: Int32 = -1
        /// The next sibling with the same name.
        var nextSame: Int32 = -1
        /// The offset of the text.
        var textStart = 0
        var textCount = 0
    }

    /// A piece of the text of an open element, which ends at a child.
    private struct Piece: BitwiseCopyable {
        var start: Int
        let count: Int
    }

    private struct OpenElement: BitwiseCopyable {
        var node: Int32
        var lastChild: Int32 = -1
        /// The offset of the text since the last tag.
        var runStart: Int
        /// The number of pieces before those of the element.
        let pieceStart: Int
    }

    private struct LastChild: BitwiseCopyable {
        /// The number of the parent element, counted in the order of closing.
        var element = 0
        var child: Int32 = -1
    }

    /// The number of bytes of the prefix that keys of attributes have.
    private let attributePrefixCount: Int
    private(set) var nodes = KeptStack<Node>()
    private(set) var text = KeptStack<UInt8>()
    private var pieces = KeptStack<Piece>()
    /// The number of outermost elements.
    private(set) var rootCount = 0
    /// The last two outermost elements.
    private var (rootBefore, lastRoot): (Int32, Int32) = (-1, -1)
    /// The offset at which the text of the last outermost element begins.
    private var lastStart = 0
    private var open = KeptStack<OpenElement>()
    /// The last child with a name, by the number of the name.
    private var lastOfName = KeptStack<LastChild>()
    /// The number of elements with children that were closed.
    private var elementCount = 0
    /// The number of children and texts that the messages send earlier or later than their position among their siblings.
    private(set) var movedCount = 0

    init(attributePrefixCount: Int) { self.attributePrefixCount = attributePrefixCount }

    /// A Boolean value that indicates whether an element is open.
    var isOpen: Bool { !open.isEmpty }
    /// A Boolean value that indicates whether no elements are buffered.
    var isEmpty: Bool { nodes.isEmpty }
    /// The approximate number of bytes that are buffered.
    var byteCount: Int {
        nodes.count * MemoryLayout<Node>.stride + text.count + open.count * 16
            + pieces.count * MemoryLayout<Piece>.stride
    }

    /// Opens an element.
    mutating func begin(_ name: Int32, namespace: Int32, prefix: UInt16) {
        if isOpen {
            // Text that comes before this child is sent after all children.
            if endRun() { movedCount += 1 }
            nodes[innermost].hasElements = true
        }
        append(Node(name: name, namespace: namespace, isAttribute: false, prefix: prefix))
        open.append(OpenElement(node: Int32(nodes.count - 1), runStart: text.count, pieceStart: pieces.count))
    }

    /// The index of the node of the innermost open element.
    private var innermost: Int { Int(open[open.count - 1].node) }

    /// Marks the innermost open element as having no value.
    mutating func setNil() { nodes[innermost].isNil = true }

    /// A Boolean value that indicates whether the innermost open element is marked as having no value.
    var isInNil: Bool { isOpen && nodes[innermost].isNil }

    /// A Boolean value that indicates whether the text since the last tag has characters other than white space.
    var hasText: Bool { isOpen && !isBlank(from: open[open.count - 1].runStart) }

    private func isBlank(from start: Int) -> Bool {
        text.bytes.part(start, text.count - start).isXMLWhitespace
    }

    /// Adds an attribute to the element that was opened last.
    mutating func addAttribute(_ name: Int32, namespace: Int32, prefix: UInt16, value: RawSpan) {
        var node = Node(name: name, namespace: namespace, isAttribute: true, prefix: prefix)
        (node.textStart, node.textCount) = (text.count, value.byteCount)
        append(value)
        append(node)
        open[open.count - 1].runStart = text.count
    }

    private mutating func append(_ node: Node) {
        let index = Int32(nodes.count)
        if isOpen {
            let last = open[open.count - 1].lastChild
            if last >= 0 { nodes[Int(last)].next = index } else { nodes[innermost].firstChild = index }
            open[open.count - 1].lastChild = index
        } else {
            linkRoot(index)
        }
        nodes.append(node)
    }

    @inline(never)
    private mutating func linkRoot(_ index: Int32) {
        if lastRoot >= 0 { nodes[Int(lastRoot)].next = index }
        (rootBefore, lastRoot) = (lastRoot, index)
        rootCount += 1
        lastStart = text.count
    }

    /// Adds a piece of text to the innermost open element.
    mutating func append(_ piece: RawSpan) { text.append(contentsOf: piece) }

    /// Ends the text since the last tag. The text becomes a piece of its element, unless it is white space between tags.
    ///
    /// - Returns: `true` if there is such text.
    private mutating func endRun() -> Bool {
        let start = open[open.count - 1].runStart
        guard text.count > start else { return false }
        if isBlank(from: start) {
            text.removeAll(from: start)
            return false
        }
        pieces.append(Piece(start: start, count: text.count - start))
        open[open.count - 1].runStart = text.count
        return true
    }

    /// Joins the pieces of an element.
    @inline(never)
    private mutating func setText(of index: Int, fromPiece first: Int) {
        let start = pieces.count == first + 1 ? pieces[first].start : text.count
        if pieces.count > first + 1 {
            for piece in first..<pieces.count {
                for offset in pieces[piece].start..<pieces[piece].start + pieces[piece].count {
                    text.append(text[offset])
                }
            }
        }
        setText(of: index, start)
        if pieces.count == first + 1 { nodes[index].textCount = pieces[first].count }
        pieces.removeAll(from: first)
    }

    private mutating func setText(of index: Int, _ start: Int) {
        nodes[index].textStart = start
        nodes[index].textCount = text.count - start
    }

    /// Closes the innermost element, and links its children by their names.
    ///
    /// - Returns: `true` if it was the outermost element.
    mutating func end(_ names: inout NameTable) -> Bool {
        let last = open[open.count - 1]
        let index = Int(last.node)
        if nodes[index].hasElements {
            _ = endRun()
            if pieces.count > last.pieceStart { setText(of: index, fromPiece: last.pieceStart) }
        } else {
            // In an element without child elements, white space is text too.
            setText(of: index, last.runStart)
        }
        if last.lastChild >= 0, last.lastChild != nodes[index].firstChild {
            linkSpelled(from: nodes[index].firstChild, &names)
        }
        open.removeAll(from: open.count - 1)
        guard isOpen else { return true }
        open[open.count - 1].runStart = text.count
        return false
    }

    /// Links the elements of a list of siblings by their names. Names that differ only in their namespaces get their
    /// prefixes.
    @inline(__always)  // PERF: XML/objects; once an element with children.
    private mutating func linkSpelled(from first: Int32, _ names: inout NameTable) {
        let moved = movedCount
        guard link(from: first) else { return }
        movedCount = moved
        spell(from: first, &names)
        _ = link(from: first)
    }

    @inline(never)
    private mutating func spell(from first: Int32, _ names: inout NameTable) {
        var plain: [Int32: Int32] = [:]
        var child = first
        while child >= 0 {
            let node = nodes[Int(child)]
            if node.prefix == 0 { plain[node.name] = node.namespace }
            child = node.next
        }
        child = first
        while child >= 0 {
            var node = nodes[Int(child)]
            (node.isRepeat, node.nextSame) = (false, -1)
            if node.prefix > 0, let namespace = plain[node.name], namespace != node.namespace {
                var name = Array(names.string(node.name).utf8)
                let prefix = Array(names.string(Int32(node.prefix) - 1).utf8) + [UInt8(ascii: ":")]
                name.insert(contentsOf: prefix, at: node.isAttribute ? attributePrefixCount : 0)
                node.name = name.withRawSpan { names.number(of: $0) }
                node.prefix = 0
            }
            nodes[Int(child)] = node
            child = node.next
        }
    }

    /// Links the elements of a list of siblings by their names.
    ///
    /// - Returns: `true` if elements with the same name are in different namespaces.
    private mutating func link(from first: Int32) -> Bool {
        elementCount += 1
        var hasClash = false
        var child = first
        var previous: Int32 = -1
        while child >= 0 {
            let node = nodes[Int(child)]
            let name = Int(node.name)
            while lastOfName.count <= name { lastOfName.append(LastChild()) }
            if lastOfName[name].element == elementCount {
                if nodes[Int(lastOfName[name].child)].namespace != node.namespace { hasClash = true }
                nodes[Int(lastOfName[name].child)].nextSame = child
                nodes[Int(child)].isRepeat = true
                if lastOfName[name].child != previous { movedCount += 1 }
            }
            lastOfName[name] = LastChild(element: elementCount, child: child)
            previous = child
            child = node.next
        }
        return hasClash
    }

    // MARK: Multiple roots

    /// Links the outermost elements by their names, except the last one if it is still open.
    mutating func linkRoots(_ names: inout NameTable) {
        if isOpen { nodes[Int(rootBefore)].next = -1 }
        if rootCount > 1 { linkSpelled(from: 0, &names) }
    }

    /// Returns the name of outermost elements that have other elements between them, or nil if no name has this property.
    ///
    /// - Parameter open: The name of elements that came before all buffered elements.
    func interleavedName(after open: Int32) -> Int32? {
        var (index, previous, names): (Int32, Int32, Set<Int32>) = (isEmpty ? -1 : 0, -1, [open])
        while index >= 0 {
            let node = nodes[Int(index)]
            if node.name != previous, !names.insert(node.name).inserted { return node.name }
            (index, previous) = (node.next, node.name)
        }
        return nil
    }

    /// Removes all outermost elements except the last one, which is open.
    ///
    /// - Complexity: O(*n*) in the nodes and the text of the last element.
    @inline(never)
    mutating func removeCompleteRoots() {
        let shift = lastRoot
        for index in Int(shift)..<nodes.count {
            var node = nodes[index]
            if node.firstChild >= 0 { node.firstChild -= shift }
            if node.next >= 0 { node.next -= shift }
            if node.nextSame >= 0 { node.nextSame -= shift }
            node.textStart = max(0, node.textStart - lastStart)
            nodes[index - Int(shift)] = node
        }
        nodes.removeAll(from: nodes.count - Int(shift))
        text.removeFirst(lastStart)
        for index in 0..<pieces.count { pieces[index].start -= lastStart }
        for index in 0..<open.count {
            open[index].node -= shift
            if open[index].lastChild >= 0 { open[index].lastChild -= shift }
            open[index].runStart -= lastStart
        }
        (rootCount, rootBefore, lastRoot, lastStart) = (1, -1, 0, 0)
    }

    /// Removes all elements but keeps the memory.
    mutating func removeAll() {
        nodes.removeAll()
        text.removeAll()
        pieces.removeAll()
        open.removeAll()
        (rootCount, rootBefore, lastRoot, lastStart) = (0, -1, -1, 0)
    }
}

/// A view of the nodes of a record and their text, so that other properties can change while it is in use.
struct BufferedRecord: ~Escapable, BitwiseCopyable {
    let nodes: Span<BufferedElements.Node>
    let text: RawSpan

    /// Creates a view of the buffered elements. Nothing may be added or removed while the view is in use.
    @unsafe @_lifetime(immortal)
    init(unscoped buffered: borrowing BufferedElements) {
        nodes = unsafe buffered.nodes.unscopedSpan
        text = unsafe buffered.text.unscopedBytes
    }

    subscript(index: Int32) -> BufferedElements.Node { nodes[Int(index)] }

    /// Returns the text of an element or an attribute.
    @_lifetime(copy self)
    func text(of node: BufferedElements.Node) -> RawSpan { text.part(node.textStart, node.textCount) }

    /// Returns whether the text of an element is more than white space.
    func hasText(_ node: BufferedElements.Node) -> Bool { !text(of: node).isXMLWhitespace }
}
