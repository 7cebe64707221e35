// An element in memory until it is complete: names as numbers, texts one behind the other, children linked in their order and
// by their names, so that what is repeated becomes an array wherever it stands.

import PlistStreaming

/// The elements of one record, with attributes as the first children.
struct HeldElements: ~Copyable {
    /// An element or an attribute.
    struct Node: BitwiseCopyable {
        let name: Int32
        /// The number of the URI of the namespace, -1 for none.
        let namespace: Int32
        let isAttribute: Bool
        /// Whether the element says that it has no value.
        var isNil = false
        /// Whether the element has children, or text that is no whitespace, behind other text.
        var isMixed = false
        /// Whether a sibling before it has the same name.
        var isRepeat = false
        /// Whether a child is no attribute.
        var hasElements = false
        var firstChild: Int32 = -1
        var next: Int32 = -1
        /// The next sibling with the same name.
        var nextSame: Int32 = -1
        var textStart = 0
        var textCount = 0
    }

    private struct OpenElement: BitwiseCopyable {
        let node: Int32
        var lastChild: Int32 = -1
        /// Where the text since the last tag begins.
        var runStart: Int
    }

    private struct LastChild: BitwiseCopyable {
        /// In which element, as these are counted.
        var element = 0
        var child: Int32 = -1
    }

    private(set) var nodes = KeptStack<Node>()
    private(set) var text = KeptStack<UInt8>()
    private var open = KeptStack<OpenElement>()
    /// The last child with a name, by the number of the name.
    private var lastOfName = KeptStack<LastChild>()
    /// The number of elements with children that were closed.
    private var elementCount = 0
    /// The number of children and texts that become members before others that they followed, or behind such as
    /// followed them.
    private(set) var movedCount = 0

    /// Whether an element is open.
    var isOpen: Bool { !open.isEmpty }
    /// Whether nothing is held.
    var isEmpty: Bool { nodes.isEmpty }
    /// About how many bytes are held.
    var byteCount: Int { nodes.count * MemoryLayout<Node>.stride + text.count + open.count * 16 }

    /// Opens an element.
    mutating func begin(_ name: Int32, namespace: Int32) {
        if isOpen {
            // The text of an element is its last member.
            if endRun() { movedCount += 1 }
            nodes[innermost].hasElements = true
        }
        append(Node(name: name, namespace: namespace, isAttribute: false))
        open.append(OpenElement(node: Int32(nodes.count - 1), runStart: text.count))
    }

    /// The index of the node of the innermost open element.
    private var innermost: Int { Int(open[open.count - 1].node) }

    /// Says that the innermost open element has no value.
    mutating func setNil() { nodes[innermost].isNil = true }

    /// Whether the innermost open element has said that it has no value.
    var isInNil: Bool { isOpen && nodes[innermost].isNil }

    /// Whether there is text since the last tag that is no whitespace.
    var hasText: Bool { isOpen && !isBlank(from: open[open.count - 1].runStart) }

    private func isBlank(from start: Int) -> Bool {
        text.bytes.part(start, text.count - start).isXMLWhitespace
    }

    /// Adds an attribute to the element that was opened last.
    mutating func addAttribute(_ name: Int32, namespace: Int32, value: RawSpan) {
        var node = Node(name: name, namespace: namespace, isAttribute: true)
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
        }
        nodes.append(node)
    }

    /// Adds a piece of text to the innermost open element.
    mutating func append(_ piece: RawSpan) { text.append(contentsOf: piece) }

    /// Ends the text since the last tag: the text of its element, unless it is whitespace between tags.
    ///
    /// - Returns: Whether there is such a text.
    private mutating func endRun() -> Bool {
        let start = open[open.count - 1].runStart
        guard text.count > start else { return false }
        if isBlank(from: start) {
            text.removeAll(from: start)
            return false
        }
        let index = innermost
        if nodes[index].textCount > 0 { nodes[index].isMixed = true }
        setText(of: index, start)
        open[open.count - 1].runStart = text.count
        return true
    }

    private mutating func setText(of index: Int, _ start: Int) {
        nodes[index].textStart = start
        nodes[index].textCount = text.count - start
    }

    /// Closes the innermost element, and links its children by their names.
    ///
    /// - Returns: Whether it was the outermost one.
    mutating func end() -> Bool {
        let last = open[open.count - 1]
        let index = Int(last.node)
        if nodes[index].hasElements {
            _ = endRun()
        } else {
            // Whitespace is text where there are no elements.
            setText(of: index, last.runStart)
        }
        if last.lastChild >= 0, last.lastChild != nodes[index].firstChild { linkChildren(of: index) }
        open.removeAll(from: open.count - 1)
        guard isOpen else { return true }
        open[open.count - 1].runStart = text.count
        return false
    }

    private mutating func linkChildren(of parent: Int) {
        elementCount += 1
        var child = nodes[parent].firstChild
        var previous: Int32 = -1
        while child >= 0 {
            let node = nodes[Int(child)]
            let name = Int(node.name)
            while lastOfName.count <= name { lastOfName.append(LastChild()) }
            if lastOfName[name].element == elementCount {
                nodes[Int(lastOfName[name].child)].nextSame = child
                nodes[Int(child)].isRepeat = true
                if lastOfName[name].child != previous { movedCount += 1 }
            }
            lastOfName[name] = LastChild(element: elementCount, child: child)
            previous = child
            child = node.next
        }
    }

    /// Forgets all, and keeps the memory.
    mutating func removeAll() {
        nodes.removeAll()
        text.removeAll()
        open.removeAll()
    }
}

/// The nodes of a record and their text, lent while something else changes.
struct HeldRecord: ~Escapable, BitwiseCopyable {
    let nodes: Span<HeldElements.Node>
    let text: RawSpan

    /// Lends what is held; nothing may be added to it, or removed, as long as this is used.
    @unsafe @_lifetime(immortal)
    init(unscoped held: borrowing HeldElements) {
        nodes = unsafe held.nodes.unscopedSpan
        text = unsafe held.text.unscopedBytes
    }

    subscript(index: Int32) -> HeldElements.Node { nodes[Int(index)] }

    /// The text of an element or an attribute.
    @_lifetime(copy self)
    func text(of node: HeldElements.Node) -> RawSpan { text.part(node.textStart, node.textCount) }

    /// Whether the text of an element is more than white space.
    func hasText(_ node: HeldElements.Node) -> Bool { !text(of: node).isXMLWhitespace }
}
