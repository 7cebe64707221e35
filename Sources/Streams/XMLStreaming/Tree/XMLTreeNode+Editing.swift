// Changes the nodes of a tree. Every change is checked before it is made, so that the tree is always well-formed.

public import PlistStreaming

extension XMLTreeNode {
    // MARK: Text

    /// Replaces the content of an element with text, or the text of a text, a comment or a processing instruction.
    ///
    /// - Throws: ``/PlistStreaming/StreamError/Kind/misuse`` for the document, references, and removed nodes;
    ///   ``/PlistStreaming/StreamError/Kind/unrepresentable`` for text that XML doesn't allow in the node.
    public func setText(_ text: String) throws(StreamError) {
        try checkAttached()
        switch node.kind {
        case .element:
            let new = try makeNode(.text, text: text)
            tree.expand(index)
            removeContent()
            if !text.isEmpty { tree.memory.link(new.index, in: index) }
            markContentChanged()
        case .text, .comment, .processingInstruction:
            try Self.check(text, as: node.kind)
            let range = try text.withUTF8Span { (text) throws(StreamError) in try tree.memory.copy(text) }
            change { node in
                node.flags.formUnion([.isCopied, .isChanged])
                (node.contentStart, node.contentEnd) = (UInt32(range.lowerBound), UInt32(range.upperBound))
            }
            tree.memory.markChanged(around: index)
        case .document, .entityReference:
            throw StreamError(.misuse, "expected a node whose text can be set, found a document or an entity reference")
        }
    }

    private static func check(_ text: String, as kind: XMLTreeNode.Kind) throws(StreamError) {
        var writer = XMLWriter()
        switch kind {
        case .comment: try writer.comment(text)
        case .processingInstruction: try writer.processingInstruction("check", text)
        default: try text.withUTF8Span { (text) throws(StreamError) in try WrittenText.check(text, in: "text") }
        }
    }

    private func change(_ body: (inout TreeNode) -> Void) { body(&tree.memory.nodes[Int(index)]) }

    private func checkAttached() throws(StreamError) {
        guard !isRemoved else { throw StreamError(.misuse, "the node was removed from its document") }
    }

    /// Throws an error if a name is longer than the options of the tree's reader allow.
    private func checkLength(of name: String) throws(StreamError) {
        let limit = tree.options.reader.nameByteLimit
        guard name.utf8.count <= limit else { throw StreamError(.limitExceeded, "more than \(limit) bytes in a name") }
    }

    /// Throws an error if an element within this one would be deeper than the options of the tree's reader allow.
    private func checkDepth() throws(StreamError) {
        let limit = tree.options.reader.limits.depth
        guard tree.level(of: index) < limit else {
            throw StreamError(.limitExceeded, "more than \(limit) levels of elements")
        }
    }

    private func markContentChanged() {
        change { $0.flags.insert(.hasChanges) }
        tree.memory.markChanged(around: index)
    }

    /// Removes the content of an element.
    private func removeContent() {
        var child = node.firstChild
        while child >= 0 {
            let next = tree.memory.nodes[Int(child)].next
            tree.memory.nodes[Int(child)].flags.insert(.isRemoved)
            (tree.memory.nodes[Int(child)].previous, tree.memory.nodes[Int(child)].next) = (-1, -1)
            child = next
        }
        change { $0.firstChild = -1 }
        let node = node
        if !node.flags.contains(.hasNoPlace), !node.content.isEmpty { tree.remove(node.content) }
    }

    // MARK: Attributes

    /// Sets the value of an attribute. The attribute is added if the element doesn't have it.
    ///
    /// The name `xmlns:p` declares a namespace. The prefix must not be declared for another namespace.
    /// - Throws: ``/PlistStreaming/StreamError/Kind/misuse`` for a node that isn't an element, for a removed node, and for an
    ///   undeclared prefix; ``/PlistStreaming/StreamError/Kind/unrepresentable`` for a name or a value that XML doesn't
    ///   allow, and if the text of an entity in another attribute is unknown;
    ///   ``/PlistStreaming/StreamError/Kind/limitExceeded`` if the result exceeds a limit of the reader's options.
    /// - Complexity: O(*n*) in the attributes of the elements around the node, amortized.
    public func setAttribute(_ name: String, _ value: String) throws(StreamError) {
        try checkAttached()
        guard node.kind == .element else { throw StreamError(.misuse, "only elements have attributes") }
        try value.withUTF8Span { (value) throws(StreamError) in
            try WrittenText.check(value, in: "a value of an attribute")
        }
        try checkLength(of: name)
        let (namespace, isDeclaration) = try resolveAttribute(name, value)
        let number = name.withUTF8Span { tree.memory.names.number(of: $0) }
        var attributes = Array(tree.attributes(of: index))
        let place = attributes.firstIndex { $0.name == number }
        if !isDeclaration, namespace >= 0 {
            let local = Self.local(name)
            let clash = attributes.contains { other in
                other.name != number && other.namespace == namespace && !other.isDeclaration
                    && Self.local(tree.memory.names.string(other.name)) == local
            }
            guard !clash else { throw StreamError(.duplicateKey, "the attribute \(name) already has another prefix") }
        }
        let limit = tree.options.reader.attributeLimit
        guard place != nil || attributes.count < limit else {
            throw StreamError(.limitExceeded, "more than \(limit) attributes")
        }
        try tree.memory.checkCapacity()
        // The declared type of an attribute may require different white space.
        let collapses = declaration(of: name)?.isTokenized == true
        let bytes = collapses ? Array(value.utf8.split(separator: 0x20).joined(separator: [0x20])) : Array(value.utf8)
        let range = try bytes.withRawSpan { (value) throws(StreamError) in try tree.memory.copy(value) }
        let made = TreeAttribute(
            name: number, namespace: namespace, valueStart: UInt32(range.lowerBound), valueCount: UInt32(range.count),
            isDeclaration: isDeclaration)
        if let place { attributes[place] = made } else { attributes.append(made) }
        try replaceAttributes(attributes)
        guard isDeclaration else { return }
        change { $0.flags.insert(.declares) }
        tree.leaveScope()
    }

    /// Returns the declaration of an attribute in the document type, or nil if it isn't declared.
    private func declaration(of attribute: String) -> AttributeList.Attribute? {
        guard let list = name.withUTF8Span({ tree.types?.attributes(of: $0) }) else { return nil }
        return attribute.withUTF8Span { list.index(of: $0) }.map { list[$0] }
    }

    /// Removes an attribute.
    ///
    /// - Returns: `true` if the element had the attribute.
    /// - Throws: ``/PlistStreaming/StreamError/Kind/misuse`` for removed nodes, for namespace declarations, because the
    ///   content may need them, and for attributes with defaults in the document type, because the default would replace the
    ///   attribute.
    @discardableResult
    public func removeAttribute(_ name: String) throws(StreamError) -> Bool {
        try checkAttached()
        guard let number = name.withUTF8Span({ tree.memory.names.known($0) }) else { return false }
        var attributes = Array(tree.attributes(of: index))
        guard let place = attributes.firstIndex(where: { $0.name == number }) else { return false }
        guard !attributes[place].isDeclaration else {
            throw StreamError(.misuse, "expected an attribute to remove, found a namespace declaration")
        }
        guard declaration(of: name)?.defaultValue == nil else {
            throw StreamError(.misuse, "the attribute \(name) has a default, which can't be removed")
        }
        attributes.remove(at: place)
        try replaceAttributes(attributes)
        return true
    }

    private func replaceAttributes(_ attributes: [TreeAttribute]) throws(StreamError) {
        // The whole tag is written again, except its defaults.
        if let lacking = attributes.first(where: { $0.hasSkippedEntity && !$0.isDefaulted }) {
            let name = ShownText.quoted(tree.memory.names.string(lacking.name).utf8)
            throw StreamError(
                .unrepresentable, "the text of an entity in the attribute \(name), which stays, is unknown")
        }
        let (start, count) = (node.firstAttribute, Int(node.attributeCount))
        if attributes.count > count {
            // Attributes at the end of the array grow in place. Others are moved to the end.
            let isLast = Int(start) + count == tree.memory.attributes.count
            if isLast { tree.memory.attributes.removeLast(count) }
            let first = isLast ? start : Int32(tree.memory.attributes.count)
            change { $0.firstAttribute = first }
            tree.memory.attributes += attributes
        } else {
            for (offset, attribute) in attributes.enumerated() {
                tree.memory.attributes[Int(start) + offset] = attribute
            }
        }
        change { node in
            node.attributeCount = Int32(attributes.count)
            node.flags.insert(.isChanged)
        }
        tree.memory.markChanged(around: index)
    }

    static func local(_ name: String) -> Substring {
        name.firstIndex(of: ":").map { name[name.index(after: $0)...] } ?? name[...]
    }

    /// Returns the number of a new attribute's namespace, and whether the attribute declares a namespace.
    private func resolveAttribute(_ name: String, _ value: String) throws(StreamError) -> (Int32, Bool) {
        let prefix = try checkedPrefix(of: name)
        let isDefault = name == "xmlns" && tree.options.reader.knowsNamespaces
        if isDefault || prefix == Array("xmlns".utf8) {
            try checkDeclaration(Array(Self.local(name).utf8), isDefault: isDefault, value)
            return (-1, true)
        }
        return (prefix.isEmpty ? -1 : try namespaceNumber(prefix, at: index), false)
    }

    /// Returns the prefix of a name. It is empty if the name has no prefix, or if the tree's reader doesn't know namespaces.
    private func checkedPrefix(of name: String) throws(StreamError) -> [UInt8] {
        let colon = name.withUTF8Span { name in
            tree.options.reader.knowsNamespaces
                ? WrittenText.colon(inQualifiedName: name) : WrittenText.isName(name) ? -1 : nil
        }
        guard let colon else { throw StreamError(.unrepresentable, "\(ShownText.quoted(name.utf8)) is not a name") }
        return Array(name.utf8.prefix(max(0, colon)))
    }

    /// Throws an error if a declaration would change the meaning of names within the element.
    private func checkDeclaration(_ local: [UInt8], isDefault: Bool, _ uri: String) throws(StreamError) {
        let prefix = isDefault ? [] : local
        let objection = prefix.withRawSpan { prefix in
            uri.withUTF8Span { Namespaces.objection(to: prefix, $0) }
        }
        if let objection { throw StreamError(.misuse, objection) }
        let declared = tree.uri(of: prefix, at: index)
        let isSame = declared.map { $0 == Array(uri.utf8) } ?? (isDefault ? uri.isEmpty : true)
        guard isSame else {
            throw StreamError(.misuse, "the prefix \(ShownText.quoted(prefix)) already stands for another namespace")
        }
    }

    /// Returns the number of a prefix's namespace at a node.
    private func namespaceNumber(_ prefix: [UInt8], at node: Int32) throws(StreamError) -> Int32 {
        if prefix == Array("xml".utf8) {
            return Namespaces.xmlURI.withUTF8Span { tree.memory.namespace($0) }
        }
        guard let uri = tree.uri(of: prefix, at: node) else {
            if prefix.isEmpty { return -1 }
            throw StreamError(.misuse, "the prefix \(ShownText.quoted(prefix)) is not declared")
        }
        return try uri.withRawSpan { (uri) throws(StreamError) in tree.memory.namespace(uri) }
    }

    // MARK: Inserting and removing

    /// Adds an element after the children of this one, or before one of them.
    ///
    /// - Parameters:
    ///   - name: The qualified name. Its prefix must be declared at this node.
    ///   - sibling: The child that follows the new element, or nil to add it after the last child.
    /// - Throws: ``/PlistStreaming/StreamError/Kind/misuse`` for a node that isn't an element, for a removed node, for a
    ///   sibling that isn't a child of this node, and for an undeclared prefix;
    ///   ``/PlistStreaming/StreamError/Kind/unrepresentable`` for an invalid name;
    ///   ``/PlistStreaming/StreamError/Kind/limitExceeded`` if the result exceeds a limit of the reader's options.
    @discardableResult
    public func insertElement(_ name: String, before sibling: XMLTreeNode? = nil) throws(StreamError) -> XMLTreeNode {
        try checkParent(of: .element, sibling)
        try checkLength(of: name)
        try checkDepth()
        let prefix = try checkedPrefix(of: name)
        guard prefix != Array("xmlns".utf8) else {
            throw StreamError(.misuse, "the prefix 'xmlns' is reserved for declarations")
        }
        let namespace = try namespaceNumber(prefix, at: index)
        guard tree.types?.hasAttributes == true else {
            return try insert(try makeNode(.element, name: name, namespace: namespace), before: sibling)
        }
        try tree.memory.checkCapacity()
        let new = XMLTreeNode(tree: tree, index: try tree.makeElement(name, in: index))
        return try insert(new, before: sibling)
    }

    /// Adds a text after the children of this element, or before one of them.
    ///
    /// - Throws: The same errors as `insertElement(_:before:)`.
    @discardableResult
    public func insertText(_ text: String, before sibling: XMLTreeNode? = nil) throws(StreamError) -> XMLTreeNode {
        try checkParent(of: .text, sibling)
        return try insert(try makeNode(.text, text: text), before: sibling)
    }

    /// Adds a comment after the children of this node, or before one of them.
    ///
    /// - Throws: The same errors as `insertElement(_:before:)`.
    @discardableResult
    public func insertComment(_ text: String, before sibling: XMLTreeNode? = nil) throws(StreamError) -> XMLTreeNode {
        try checkParent(of: .comment, sibling)
        return try insert(try makeNode(.comment, text: text), before: sibling)
    }

    private func checkParent(of kind: XMLTreeNode.Kind, _ sibling: XMLTreeNode?) throws(StreamError) {
        try checkAttached()
        tree.expand(index)
        guard node.kind == .element || node.kind == .document && kind == .comment else {
            throw StreamError(.misuse, "expected an element to insert children into")
        }
        if let sibling {
            guard sibling.parent == self else {
                throw StreamError(.misuse, "expected a child of this node to insert before")
            }
        }
    }

    private func makeNode(
        _ kind: XMLTreeNode.Kind, name: String = "", namespace: Int32 = -1, text: String = ""
    ) throws(StreamError) -> XMLTreeNode {
        try Self.check(text, as: kind)
        try tree.memory.checkCapacity()
        var node = TreeNode(kind: kind, flags: [.isCopied, .hasNoPlace])
        if !name.isEmpty { node.name = name.withUTF8Span { tree.memory.names.number(of: $0) } }
        node.namespace = namespace
        node.firstAttribute = Int32(tree.memory.attributes.count)
        let range = try text.withUTF8Span { (text) throws(StreamError) in try tree.memory.copy(text) }
        (node.contentStart, node.contentEnd) = (UInt32(range.lowerBound), UInt32(range.upperBound))
        tree.memory.nodes.append(node)
        return XMLTreeNode(tree: tree, index: Int32(tree.memory.nodes.count - 1))
    }

    private func insert(_ new: XMLTreeNode, before sibling: XMLTreeNode?) throws(StreamError) -> XMLTreeNode {
        tree.memory.link(new.index, in: index, before: sibling?.index ?? -1)
        markContentChanged()
        return new
    }

    /// Removes the node and its content.
    ///
    /// - Throws: ``/PlistStreaming/StreamError/Kind/misuse`` for the document, the root element, and nodes that were already
    ///   removed.
    public func remove() throws(StreamError) {
        try checkAttached()
        let node = node
        guard index > 0, self != tree.root else {
            throw StreamError(.misuse, "expected a node other than the root element, which can't be removed")
        }
        // For nodes in the text of an entity, the place is that of the reference.
        if !node.place.isEmpty { tree.remove(node.place) }
        tree.memory.markChanged(around: index)
        tree.memory.unlink(index)
        change { $0.flags.insert(.isRemoved) }
    }
}
