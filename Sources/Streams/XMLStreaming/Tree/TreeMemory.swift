// The memory of a tree: nodes and attributes as plain values in arrays, which refer to each other by their indexes and to the
// document by offsets. No node is an object of its own.

import PlistStreaming

/// A node of a tree.
struct TreeNode {
    /// What a node is.
    enum Kind: UInt8 {
        case document, element, text, comment, instruction, entityReference
    }

    /// What is known of a node.
    struct Flags: OptionSet {
        let rawValue: UInt16
        /// The text is among the copies; without, it is in the document.
        static let isCopied = Flags(rawValue: 1)
        /// It is written by an empty-element tag.
        static let isEmptyTag = Flags(rawValue: 2)
        /// The nodes within it were not made yet.
        static let isLazy = Flags(rawValue: 4)
        /// It is not as it is in the document, by its tag or its own text.
        static let isChanged = Flags(rawValue: 8)
        /// Something within it is not as it is in the document.
        static let hasChanges = Flags(rawValue: 16)
        /// It has no bytes in the document: it was inserted, or it is in the replacement text of an entity.
        static let hasNoPlace = Flags(rawValue: 32)
        /// Some of its children have no bytes in the document that are their own.
        static let hasExpansions = Flags(rawValue: 64)
        static let isRemoved = Flags(rawValue: 128)
        /// It declares namespaces.
        static let declares = Flags(rawValue: 256)
    }

    var kind: Kind
    var flags: Flags = []
    /// The number of the name as it is spelled, of an element, or of the target of an instruction or the name of an entity.
    var name: Int32 = -1
    /// The number of the URI of the namespace, -1 for none.
    var namespace: Int32 = -1
    var parent: Int32 = -1
    var firstChild: Int32 = -1
    var next: Int32 = -1
    /// The node before it; of the first one, the last.
    var previous: Int32 = -1
    var firstAttribute: Int32 = 0
    var attributeCount: Int32 = 0
    /// The bytes in the document.
    var start: UInt32 = 0
    var end: UInt32 = 0
    /// The content of an element in the document, or the text of another node there or among the copies.
    var contentStart: UInt32 = 0
    var contentEnd: UInt32 = 0

    var content: Range<Int> { Int(contentStart)..<Int(contentEnd) }
    var place: Range<Int> { Int(start)..<Int(end) }
}

/// An attribute, or the declaration of a namespace.
struct TreeAttribute {
    var name: Int32
    var namespace: Int32
    /// The value among the copies.
    var valueStart: UInt32
    var valueCount: UInt32
    var isDeclaration = false
    /// A Boolean value that indicates whether it is a default of the document type, which is not written.
    var isDefaulted = false
    /// A Boolean value that indicates whether the value lacks the text of an entity.
    var hasSkippedEntity = false

    var value: Range<Int> { Int(valueStart)..<Int(valueStart) + Int(valueCount) }
}

/// The nodes of a tree with what belongs to them.
struct TreeMemory {
    var nodes: [TreeNode] = []
    var attributes: [TreeAttribute] = []
    /// Values of attributes, and texts that are not in the document as they are meant.
    var copies: [UInt8] = []
    var names = NameTable()
    /// The names of namespaces; the first ones are those that are declared without a document.
    var namespaces = NameTable()

    /// The most nodes, attributes, and bytes of a document or of copies.
    static var countMax: Int { Int(Int32.max) }

    // PERF: XML/tree; memory that grows is copied, and pages that are touched for the first time cost as much as what is in them.
    /// Asks for as much memory as a document of so many bytes probably needs; what is not used is never touched.
    mutating func reserve(for byteCount: Int) {
        nodes.reserveCapacity(byteCount / 20)
        attributes.reserveCapacity(byteCount / 64)
        copies.reserveCapacity(byteCount / 8)
        // SAFETY: the memory is that of the arrays, of which no content is changed.
        unsafe nodes.withUnsafeMutableBytes {
            unsafe LargePages.use($0.baseAddress, byteCount / 20 * MemoryLayout<TreeNode>.stride)
        }
        unsafe attributes.withUnsafeMutableBytes {
            unsafe LargePages.use($0.baseAddress, byteCount / 64 * MemoryLayout<TreeAttribute>.stride)
        }
    }

    /// Refuses what indexes cannot count.
    @inline(__always)  // PERF: XML/tree; once a node.
    func checkRoom() throws(StreamError) {
        guard nodes.count < Self.countMax, attributes.count < Self.countMax, copies.count < Int(UInt32.max) else {
            throw StreamError(
                .limitExceeded, "a tree has at most \(Self.countMax) nodes and attributes, and 4 GiB of text")
        }
    }

    /// Copies bytes.
    mutating func copy(_ bytes: RawSpan) throws(StreamError) -> Range<Int> {
        let start = copies.count
        guard bytes.byteCount <= Int(UInt32.max) - start else {
            throw StreamError(.limitExceeded, "a tree has at most 4 GiB of text")
        }
        // SAFETY: the bytes are copied within the closure.
        unsafe bytes.withUnsafeBytes { unsafe copies.append(contentsOf: $0) }
        return start..<copies.count
    }

    /// The element that a tag begins, whose declarations and attributes are added.
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

    /// The number of a namespace, -1 for none.
    mutating func namespace(_ uri: RawSpan) -> Int32 { uri.byteCount == 0 ? -1 : namespaces.number(of: uri) }

    /// The index of the last child of a node, -1 when it has none.
    func lastChild(of parent: Int32) -> Int32 {
        let first = nodes[Int(parent)].firstChild
        return first < 0 ? -1 : nodes[Int(first)].previous
    }

    /// Puts a node that has no place yet before another one, or behind the last child.
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

    /// Takes a node out of its parent.
    mutating func unlink(_ node: Int32) {
        let (parent, next, previous) = (nodes[Int(node)].parent, nodes[Int(node)].next, nodes[Int(node)].previous)
        let first = nodes[Int(parent)].firstChild
        if first == node { nodes[Int(parent)].firstChild = next } else { nodes[Int(previous)].next = next }
        // The one behind gets the one before; where there is none behind, the first one gets the new last.
        let follower = next >= 0 ? next : first == node ? -1 : first
        if follower >= 0 { nodes[Int(follower)].previous = previous }
        (nodes[Int(node)].next, nodes[Int(node)].previous, nodes[Int(node)].parent) = (-1, -1, -1)
    }

    /// Says that something within the elements around a node is not as it is in the document.
    mutating func markChanged(around node: Int32) {
        var parent = nodes[Int(node)].parent
        while parent >= 0, !nodes[Int(parent)].flags.contains(.hasChanges) {
            nodes[Int(parent)].flags.insert(.hasChanges)
            parent = nodes[Int(parent)].parent
        }
    }
}
