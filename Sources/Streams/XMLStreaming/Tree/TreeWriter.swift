// Writes a tree as text. Unchanged parts are copied from the bytes of the document, and all other parts are written again.
//
// Two rules separate text that a reader would join. First, a text next to another text is written again, with each `>` and CR
// escaped, so that they can't form `]]>` or a line end together. Second, white space between tags that isn't in a node is
// written only where it remains white space between tags: not next to a text, and not alone in an element.

import PlistStreaming

/// Writes the nodes of a tree in their order.
struct TreeWriter {
    private let tree: XMLTree
    private let memory: TreeMemory
    private let document: [UInt8]
    /// The removed ranges of the document, sorted by their start.
    private let removals: [Range<Int>]
    /// The end of the XML declaration, or of the byte order mark.
    private let declarationEnd: Int
    /// The index of the first removal that may be after the written bytes.
    private var nextRemoval = 0
    /// All bytes of the document before this offset were written or left out.
    private var cursor = 0

    init(_ tree: XMLTree) {
        self.tree = tree
        memory = tree.memory
        document = tree.document
        declarationEnd = tree.declarationPlace?.upperBound ?? (document.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0)
        removals = tree.removals
    }

    /// Writes an XML declaration for UTF-8 if the document has a declaration.
    mutating func writeDeclaration(of tree: XMLTree, to output: inout ByteOutput) throws(StreamError) {
        // A byte order mark is left out too.
        cursor = declarationEnd
        if tree.declarationPlace != nil { try WrittenText.appendDeclaration(tree.isStandalone, to: &output) }
    }

    /// Writes the document, or a node.
    ///
    /// - Complexity: O(*n*) in the written bytes, without recursion.
    mutating func write(from root: Int32 = 0, to output: inout ByteOutput) throws(StreamError) {
        var node = root
        if root != 0 { skipRemovals(around: memory.nodes[Int(root)].place) }
        while true {
            if try enter(node, &output) {
                node = memory.nodes[Int(node)].firstChild
                continue
            }
            while node != root, memory.nodes[Int(node)].next < 0 {
                node = memory.nodes[Int(node)].parent
                try leave(node, &output)
            }
            if node == root { return }
            node = memory.nodes[Int(node)].next
        }
    }

    /// Starts at a node. Removals of the node and of the nodes around it don't remove its parts.
    private mutating func skipRemovals(around place: Range<Int>) {
        cursor = place.lowerBound
        nextRemoval = tree.firstRemoval(from: cursor)
        while nextRemoval < removals.count, removals[nextRemoval].lowerBound == cursor,
            removals[nextRemoval].upperBound >= place.upperBound
        {
            nextRemoval += 1
        }
    }

    // MARK: Nodes

    /// Returns whether a node has bytes of its own in the document.
    private func hasPlace(_ node: TreeNode) -> Bool { !node.flags.contains(.hasNoPlace) }

    /// Writes the bytes before a node, and then the node or its start tag.
    ///
    /// - Returns: `true` if the children have to be written next.
    private mutating func enter(_ index: Int32, _ output: inout ByteOutput) throws(StreamError) -> Bool {
        let node = memory.nodes[Int(index)]
        // The document always has its root element. If the declaration was already written, the rest follows.
        if node.kind == .document && (cursor > 0 || hasChanges(index)) { return true }
        try reach(index, &output)
        if hasPlace(node) && !hasChanges(index) {
            try copy(node.place, &output)
            cursor = max(cursor, node.place.upperBound)
            return false
        }
        switch node.kind {
        case .element:
            try writeStartTag(node, &output)
            cursor = max(cursor, hasPlace(node) ? Int(node.contentStart) : node.place.upperBound)
            // If only the tag is changed, everything in the element is copied.
            let hasCopy = hasPlace(node) && !node.flags.contains(.hasChanges)
            if node.firstChild >= 0 && !hasCopy { return true }
            try leave(index, &output)
        case .text:
            try value(node).withRawSpan { (text) throws(StreamError) in
                try WrittenText.append(text, in: .content, to: &output)
            }
        case .comment, .processingInstruction, .entityReference, .document:
            try writeOther(node, &output)
        }
        if node.kind != .element { cursor = max(cursor, node.place.upperBound) }
        return false
    }

    /// Returns whether a node with bytes in the document has to be written again instead of copied.
    private func hasChanges(_ index: Int32) -> Bool {
        let node = memory.nodes[Int(index)]
        if !node.flags.isDisjoint(with: [.isChanged, .hasChanges]) { return true }
        // A text next to the replacement text of an entity may share bytes with it.
        return node.kind == .text
            && (memory.nodes[Int(node.parent)].flags.contains(.hasExpansions) || isBehindText(index)
                || node.next >= 0 && memory.nodes[Int(node.next)].kind == .text)
    }

    /// Returns whether the previous sibling of a node is a text.
    private func isBehindText(_ index: Int32) -> Bool {
        let node = memory.nodes[Int(index)]
        return node.previous >= 0 && memory.nodes[Int(node.parent)].firstChild != index
            && memory.nodes[Int(node.previous)].kind == .text
    }

    /// Writes the bytes of the document before a node: white space, and around the root element also parts that aren't nodes.
    private mutating func reach(_ index: Int32, _ output: inout ByteOutput) throws(StreamError) {
        let node = memory.nodes[Int(index)]
        if node.kind == .text || isBehindText(index) {
            cursor = max(cursor, node.place.lowerBound)
        } else {
            // No bytes are written before the XML declaration.
            try copyGap(to: max(node.place.lowerBound, node.parent == 0 ? declarationEnd : 0), &output)
        }
    }

    /// Writes the bytes of the document after a node's last child, and its end tag.
    private mutating func leave(_ index: Int32, _ output: inout ByteOutput) throws(StreamError) {
        let node = memory.nodes[Int(index)]
        guard node.kind == .element else { return try copyGap(to: document.count, &output) }
        if !hasPlace(node) || node.flags.contains(.isEmptyTag) {
            if node.firstChild >= 0 { try writeEndTag(node, &output) }
        } else {
            let last = memory.lastChild(of: index)
            let isBehindTag = last >= 0 && memory.nodes[Int(last)].kind != .text
            if isBehindTag || !node.flags.contains(.hasChanges) { try copyGap(to: Int(node.contentEnd), &output) }
            try copy(Int(node.contentEnd)..<Int(node.end), &output)
        }
        cursor = max(cursor, node.place.upperBound)
    }

    private mutating func writeStartTag(_ node: TreeNode, _ output: inout ByteOutput) throws(StreamError) {
        let isEmpty = node.flags.contains(.isEmptyTag) || !hasPlace(node)
        let endsTag = isEmpty && node.firstChild < 0
        if hasPlace(node) && !node.flags.contains(.isChanged) {
            let tag = node.place.lowerBound..<Int(node.flags.contains(.isEmptyTag) ? node.end : node.contentStart)
            guard node.flags.contains(.isEmptyTag), node.firstChild >= 0 else { return try copy(tag, &output) }
            // `/>` becomes `>`.
            try copy(tag.lowerBound..<(tag.upperBound - 2), &output)
            return try output.append(UInt8(ascii: ">"))
        }
        try output.append(UInt8(ascii: "<"))
        try writeName(node.name, &output)
        for attribute in memory.attributes[Int(node.firstAttribute)..<Int(node.firstAttribute + node.attributeCount)]
        where !attribute.isDefaulted || !hasPlace(node) {
            try output.append(0x20)
            try writeName(attribute.name, &output)
            try WrittenText.append("=\"", to: &output)
            try Array(memory.copies[attribute.value]).withRawSpan { (value) throws(StreamError) in
                try WrittenText.append(value, in: .attribute, to: &output)
            }
            try output.append(UInt8(ascii: "\""))
        }
        if endsTag { try output.append(UInt8(ascii: "/")) }
        try output.append(UInt8(ascii: ">"))
    }

    private func writeEndTag(_ node: TreeNode, _ output: inout ByteOutput) throws(StreamError) {
        try WrittenText.append("</", to: &output)
        try writeName(node.name, &output)
        try output.append(UInt8(ascii: ">"))
    }

    private func writeOther(_ node: TreeNode, _ output: inout ByteOutput) throws(StreamError) {
        switch node.kind {
        case .comment:
            try WrittenText.append("<!--", to: &output)
            try value(node).withRawSpan { (text) throws(StreamError) in try output.append(text) }
            try WrittenText.append("-->", to: &output)
        case .processingInstruction:
            try WrittenText.append("<?", to: &output)
            try writeName(node.name, &output)
            if node.content.count > 0 { try output.append(0x20) }
            try value(node).withRawSpan { (text) throws(StreamError) in try output.append(text) }
            try WrittenText.append("?>", to: &output)
        default:
            try output.append(UInt8(ascii: "&"))
            try writeName(node.name, &output)
            try output.append(UInt8(ascii: ";"))
        }
    }

    // MARK: Bytes

    private func value(_ node: TreeNode) -> [UInt8] {
        Array(node.flags.contains(.isCopied) ? memory.copies[node.content] : document[node.content])
    }

    private func writeName(_ name: Int32, _ output: inout ByteOutput) throws(StreamError) {
        try memory.names.withName(name) { (name) throws(StreamError) in try output.append(name) }
    }

    private func copy(_ range: Range<Int>, _ output: inout ByteOutput) throws(StreamError) {
        try document.withRawSpan { (bytes) throws(StreamError) in try output.append(bytes.extracting(range)) }
    }

    /// Writes the document up to an offset, without the removed ranges.
    private mutating func copyGap(to end: Int, _ output: inout ByteOutput) throws(StreamError) {
        while nextRemoval < removals.count, removals[nextRemoval].lowerBound < end {
            let removal = removals[nextRemoval]
            if removal.lowerBound > cursor { try copy(cursor..<removal.lowerBound, &output) }
            cursor = max(cursor, removal.upperBound)
            guard removal.upperBound <= end else { return }
            nextRemoval += 1
        }
        if cursor < end { try copy(cursor..<end, &output) }
        cursor = max(cursor, end)
    }
}
