// An element in memory until it is complete: names as numbers, texts one behind the other, children linked in their order and
// by their names, so that what is repeated becomes an array wherever it stands.

import PlistStreaming

/// The elements of one record, with attributes as the first children.
struct HeldElements {
    /// An element or an attribute.
    struct Node {
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
        var textStart = 0
        var textCount = 0
        var firstChild: Int32 = -1
        var lastChild: Int32 = -1
        var next: Int32 = -1
        /// The next sibling with the same name.
        var nextSame: Int32 = -1
    }

    private struct OpenElement {
        let node: Int32
        /// Where the text since the last tag begins.
        var runStart: Int
    }

    private(set) var nodes: [Node] = []
    private(set) var text: [UInt8] = []
    private var open: [OpenElement] = []
    /// The last child with a name, and in which element, as these are counted, by the number of the name.
    private var lastOfName: [(element: Int, child: Int32)] = []
    /// The number of elements with children that were closed.
    private var elementCount = 0

    /// Whether an element is open.
    var isOpen: Bool { !open.isEmpty }
    /// Whether nothing is held.
    var isEmpty: Bool { nodes.isEmpty }
    /// About how many bytes are held.
    var byteCount: Int { nodes.count * MemoryLayout<Node>.stride + text.count + open.count * 16 }

    /// Opens an element.
    mutating func begin(_ name: Int32, namespace: Int32) {
        endRun()
        append(Node(name: name, namespace: namespace, isAttribute: false))
        open.append(OpenElement(node: Int32(nodes.count - 1), runStart: text.count))
    }

    /// Says that the innermost open element has no value.
    mutating func setNil() { nodes[Int(open[open.count - 1].node)].isNil = true }

    /// Whether the innermost open element has said that it has no value.
    var isInNil: Bool { open.last.map { nodes[Int($0.node)].isNil } ?? false }

    /// Whether there is text since the last tag that is no whitespace.
    var hasText: Bool { open.last.map { !Self.isBlank(text[$0.runStart...]) } ?? false }

    private static func isBlank(_ text: ArraySlice<UInt8>) -> Bool {
        text.allSatisfy { $0 == 0x20 || $0 == 0x0A || $0 == 0x09 || $0 == 0x0D }
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
        if let parent = open.last?.node {
            let last = nodes[Int(parent)].lastChild
            if last >= 0 { nodes[Int(last)].next = index } else { nodes[Int(parent)].firstChild = index }
            nodes[Int(parent)].lastChild = index
        }
        nodes.append(node)
    }

    /// Adds a piece of text to the innermost open element.
    mutating func append(_ piece: RawSpan) {
        // SAFETY: the bytes are copied within the closure.
        unsafe piece.withUnsafeBytes { unsafe text.append(contentsOf: $0) }
    }

    /// Ends the text since the last tag: the text of its element, unless it is whitespace between tags.
    private mutating func endRun() {
        guard let last = open.last, text.count > last.runStart else { return }
        let run = text[last.runStart...]
        let index = Int(last.node)
        if !Self.isBlank(run) {
            if nodes[index].textCount > 0 { nodes[index].isMixed = true }
            (nodes[index].textStart, nodes[index].textCount) = (last.runStart, run.count)
        } else {
            text.removeSubrange(last.runStart...)
        }
        open[open.count - 1].runStart = text.count
    }

    /// Closes the innermost element, and links its children by their names.
    ///
    /// - Returns: Whether it was the outermost one.
    mutating func end() -> Bool {
        let last = open[open.count - 1]
        let index = Int(last.node)
        let lastChild = nodes[index].lastChild
        if lastChild < 0 || nodes[Int(lastChild)].isAttribute {
            // Whitespace is text where there are no elements.
            (nodes[index].textStart, nodes[index].textCount) = (last.runStart, text.count - last.runStart)
        } else {
            endRun()
        }
        linkChildren(of: index)
        open.removeLast()
        if !open.isEmpty { open[open.count - 1].runStart = text.count }
        return open.isEmpty
    }

    private mutating func linkChildren(of parent: Int) {
        guard nodes[parent].firstChild >= 0 else { return }
        elementCount += 1
        var child = nodes[parent].firstChild
        while child >= 0 {
            let name = Int(nodes[Int(child)].name)
            while lastOfName.count <= name { lastOfName.append((0, -1)) }
            if lastOfName[name].element == elementCount {
                nodes[Int(lastOfName[name].child)].nextSame = child
                nodes[Int(child)].isRepeat = true
            }
            lastOfName[name] = (elementCount, child)
            child = nodes[Int(child)].next
        }
    }

    /// Forgets all, and keeps the memory.
    mutating func removeAll() {
        nodes.removeAll(keepingCapacity: true)
        text.removeAll(keepingCapacity: true)
        open.removeAll(keepingCapacity: true)
    }
}
