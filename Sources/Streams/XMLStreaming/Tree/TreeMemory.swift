// The memory of a tree. Nodes and attributes are plain values in arrays. They refer to each other by index and to the
// document by offset. Nodes aren't separate objects.

import PlistStreaming

/// A node of a tree.
struct TreeNode {
    /// The flags of a node.
    struct Flags: OptionSet {
        let rawValue: UInt16
        /// The text is in `copies`. Without this flag, it is in the document.
        static let isCopied = Flags(rawValue: 1)
        /// The element is written as an empty-element tag.
        static let isEmptyTag = Flags(rawValue: 2)
        /// The nodes within this element weren't made yet.
        static let isLazy = Flags(rawValue: 4)
        /// The node's tag or its own text differs from the document.
        static let isChanged = Flags(rawValue: 8)
        /// A node within this node differs from the document.
        static let hasChanges = Flags(rawValue: 16)
        /// The node has no bytes in the document, because it was inserted or is in the replacement text of an entity.
        static let hasNoPlace = Flags(rawValue: 32)
        /// Some of the node's children have no bytes of their own in the document.
        static let hasExpansions = Flags(rawValue: 64)
        static let isRemoved = Flags(rawValue: 128)
        /// The element declares namespaces.
        static let declares = Flags(rawValue: 256)
    }

    var kind: XMLTreeNode.Kind
    var flags: Flags = []
    /// The number of an element's qualified name, an instruction's target or an entity's name.
    var name: Int32 = -1
    /// The number of the namespace's URI, or -1 if the name has no namespace.
    var namespace: Int32 = -1
    var parent: Int32 = -1
    var firstChild: Int32 = -1
    var next: Int32 = -1
    /// The previous sibling. For the first child, the last child.
    var previous: Int32 = -1
    var firstAttribute: Int32 = 0
    var attributeCount: Int32 = 0
    /// The byte range in the document.
    var start: UInt32 = 0
    var end: UInt32 = 0
    /// The range of an element's content in the document, or the range of another node's text in the document or in `copies`.
    var contentStart: UInt32 = 0
    var contentEnd: UInt32 = 0

    var content: Range<Int> { Int(contentStart)..<Int(contentEnd) }
    var place: Range<Int> { Int(start)..<Int(end) }
}

/// An attribute, or the declaration of a namespace.
struct TreeAttribute {
    var name: Int32
    var namespace: Int32
    /// The range of the value in `copies`.
    var valueStart: UInt32
    var valueCount: UInt32
    var isDeclaration = false
    /// A Boolean value that indicates whether the attribute is a default of the document type. Such attributes aren't
    /// written.
    var isDefaulted = false
    /// A Boolean value that indicates whether the text of an entity is missing from the value.
    var hasSkippedEntity = false

    var value: Range<Int> { Int(valueStart)..<Int(valueStart) + Int(valueCount) }
}

/// The nodes of a tree, with their attributes, texts and names.
struct TreeMemory {
    var nodes: [TreeNode] = []
    var attributes: [TreeAttribute] = []
    /// The values of attributes, and the texts that differ from the bytes of the document.
    var copies: [UInt8] = []
    var names = NameTable()
    /// The names of namespaces. The first ones are declared in every document.
    var namespaces = NameTable()

    /// The maximum number of nodes, of attributes, and of bytes in a document or in copies.
    static var countMax: Int { Int(Int32.max) }

    // PERF: XML/tree; growing memory is copied, and touching a page for the first time costs as much as filling it.
    /// Reserves the memory that a document of this size probably needs. Unused memory is never touched.
    mutating func reserve(for byteCount: Int) {
        nodes.reserveCapacity(byteCount / 20)
        attributes.reserveCapacity(byteCount / 64)
        copies.reserveCapacity(byteCount / 8)
        // SAFETY: the memory belongs to the arrays, and their contents aren't changed.
        unsafe nodes.withUnsafeMutableBytes {
            unsafe LargePages.use($0.baseAddress, byteCount / 20 * MemoryLayout<TreeNode>.stride)
        }
        unsafe attributes.withUnsafeMutableBytes {
            unsafe LargePages.use($0.baseAddress, byteCount / 64 * MemoryLayout<TreeAttribute>.stride)
        }
    }

    /// Throws an error if the indexes can't count any more nodes, attributes or bytes.
    @inline(__always)  // PERF: XML/tree; once a node.
    func checkCapacity() throws(StreamError) {
        guard nodes.count < Self.countMax, attributes.count < Self.countMax, copies.count < Int(UInt32.max) else {
            throw StreamError(
                .limitExceeded, "more than \(Self.countMax) nodes and attributes, or 4 GiB of text, in a tree")
        }
    }

    /// Copies bytes and returns their range.
    mutating func copy(_ bytes: RawSpan) throws(StreamError) -> Range<Int> {
        let start = copies.count
        guard bytes.byteCount <= Int(UInt32.max) - start else {
            throw StreamError(.limitExceeded, "more than 4 GiB of text in a tree")
        }
        // SAFETY: the bytes are copied within the closure.
        unsafe bytes.withUnsafeBytes { unsafe copies.append(contentsOf: $0) }
        return start..<copies.count
    }

    /// Makes the element for a start tag and adds its declarations and attributes.
    @inline(__always)  // PERF: XML/tree; once an element.
    mutating func element(_ tag: borrowing XMLStartTag) throws(StreamError) -> TreeNode {
        var node = TreeNode(kind: .element)
        let name = tag.name
        node.name = names.number(of: name.qualified)
        node.namespace = namespace(name.namespace)
        node.firstAttribute = Int32(self.attributes.count)
        if tag.isEmptyElement { node.flags.insert(.isEmptyTag) }
        if !tag.declarations.isEmpty { node.flags.insert(.declares) }
        let (declarations, attributes) = (tag.declarations, tag.attributes)
        for index in 0..<declarations.count { try append(declarations[index], isDeclaration: true) }
        for index in 0..<attributes.count { try append(attributes[index], isDeclaration: false) }
        node.attributeCount = Int32(self.attributes.count) - node.firstAttribute
        return node
    }

    private mutating func append(_ attribute: borrowing XMLAttribute, isDeclaration: Bool) throws(StreamError) {
        let value = try copy(attribute.value)
        attributes.append(
            TreeAttribute(
                name: names.number(of: attribute.name.qualified), namespace: namespace(attribute.name.namespace),
                valueStart: UInt32(value.lowerBound), valueCount: UInt32(value.count), isDeclaration: isDeclaration,
                isDefaulted: attribute.isDefaulted, hasSkippedEntity: attribute.hasSkippedEntity))
    }

    /// Returns the number of a namespace, or -1 if the URI is empty.
    mutating func namespace(_ uri: RawSpan) -> Int32 { uri.byteCount == 0 ? -1 : namespaces.number(of: uri) }

    /// Returns the index of a node's last child, or -1 if it has no children.
    func lastChild(of parent: Int32) -> Int32 {
        let first = nodes[Int(parent)].firstChild
        return first < 0 ? -1 : nodes[Int(first)].previous
    }

    /// Inserts an unlinked node before another one, or after the last child.
    mutating func link(_ node: Int32, in parent: Int32, before sibling: Int32 = -1) {
        nodes[Int(node)].parent = parent
        nodes[Int(node)].next = sibling
        let first = nodes[Int(parent)].firstChild
        if first < 0 {
            nodes[Int(parent)].firstChild = node
            nodes[Int(node)].previous = node
            return
        }
        let follower = sibling < 0 ? first : sibling
        let before = nodes[Int(follower)].previous
        nodes[Int(node)].previous = before
        nodes[Int(follower)].previous = node
        if sibling == first { nodes[Int(parent)].firstChild = node } else { nodes[Int(before)].next = node }
    }

    /// Removes a node from its parent. The node keeps the number of the parent, whose namespaces its names use.
    mutating func unlink(_ node: Int32) {
        let (parent, next, previous) = (nodes[Int(node)].parent, nodes[Int(node)].next, nodes[Int(node)].previous)
        let first = nodes[Int(parent)].firstChild
        if first == node { nodes[Int(parent)].firstChild = next } else { nodes[Int(previous)].next = next }
        // The next sibling gets the previous one. If the last child is removed, the first child gets the new last child.
        let follower = next >= 0 ? next : first == node ? -1 : first
        if follower >= 0 { nodes[Int(follower)].previous = previous }
        (nodes[Int(node)].next, nodes[Int(node)].previous) = (-1, -1)
    }

    /// Marks the elements around a node as having changes.
    mutating func markChanged(around node: Int32) {
        var parent = nodes[Int(node)].parent
        while parent >= 0, !nodes[Int(parent)].flags.contains(.hasChanges) {
            nodes[Int(parent)].flags.insert(.hasChanges)
            parent = nodes[Int(parent)].parent
        }
    }
}
