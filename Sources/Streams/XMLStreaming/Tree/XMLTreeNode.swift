// A node of a tree: what it is, and what is around it.

import PlistStreaming

/// A node of a tree: an element, a text, a comment, a processing instruction, a reference to an entity that is not known, or the document.
///
/// A node keeps its tree alive, and stays what it is when the tree changes; one that was removed is in no document any more.
public struct XMLTreeNode: Hashable {
    /// What a node is.
    public enum Kind: Sendable, Hashable {
        case document, element, text, comment, processingInstruction, entityReference
    }

    /// The tree that the node is of.
    public let tree: XMLTree
    let index: Int32

    /// Returns whether both are the same node of the same tree.
    public static func == (left: XMLTreeNode, right: XMLTreeNode) -> Bool {
        left.tree === right.tree && left.index == right.index
    }

    /// Hashes the identity of the node.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(tree))
        hasher.combine(index)
    }

    var node: TreeNode { tree.memory.nodes[Int(index)] }

    private func node(_ index: Int32) -> XMLTreeNode? { index < 0 ? nil : XMLTreeNode(tree: tree, index: index) }

    private func name(_ number: Int32) -> String { number < 0 ? "" : tree.memory.names.string(number) }

    /// What the node is.
    public var kind: Kind {
        switch node.kind {
        case .document: .document
        case .element: .element
        case .text: .text
        case .comment: .comment
        case .instruction: .processingInstruction
        case .entityReference: .entityReference
        }
    }

    /// The name of an element as it is spelled, the target of a processing instruction, the name of an entity; empty for others.
    public var name: String { name(node.name) }

    /// The name of an element without its prefix.
    public var localName: String { String(Self.local(name)) }

    /// The URI of the namespace of an element, empty when it is in none.
    public var namespace: String { node.namespace < 0 ? "" : tree.memory.namespaces.string(node.namespace) }

    /// Returns whether an element has this name in a namespace, however its prefix is spelled.
    public func isNamed(_ local: String, in namespace: String = "") -> Bool {
        kind == .element && localName == local && self.namespace == namespace
    }

    /// Where the node is in the ``XMLTree/bytes`` of the tree.
    ///
    /// Nil for what is in the replacement text of an entity, if the document isn't in UTF-8, and from the first change of the tree on.
    public var byteRange: Range<Int>? {
        node.flags.contains(.hasNoPlace) || tree.isOfOtherEncoding || tree.isChanged ? nil : node.place
    }

    /// A Boolean value that indicates whether an element has an end tag, `<a></a>` and not `<a/>`, where the tree is written.
    public var isExpanded: Bool {
        kind == .element
            && (node.firstChild >= 0 || node.flags.isDisjoint(with: [.isEmptyTag, .hasNoPlace]))
    }

    /// The node as it is written, without what is around it.
    ///
    /// The declarations of namespaces in the elements around it are not repeated.
    /// - Complexity: O(*n*) in the bytes of the node, and in the number of removals from the tree.
    public var xml: String {
        guard kind != .document else { return tree.text }
        return tree.xml(of: index)
    }

    /// A Boolean value that indicates whether the node, or one around it, was removed.
    public var isRemoved: Bool {
        var index = index
        while index > 0 {
            let node = tree.memory.nodes[Int(index)]
            if node.flags.contains(.isRemoved) { return true }
            index = node.parent
        }
        return false
    }

    // MARK: Around

    /// The element that the node is in, or the document; nil for the document, and for what was removed.
    public var parent: XMLTreeNode? { node(node.parent) }

    /// The next node with the same parent.
    public var next: XMLTreeNode? { node(node.next) }

    /// The node before with the same parent.
    public var previous: XMLTreeNode? {
        let node = node
        guard node.parent >= 0, tree.memory.nodes[Int(node.parent)].firstChild != index else { return nil }
        return self.node(node.previous)
    }

    /// The first child.
    public var firstChild: XMLTreeNode? {
        tree.expand(index)
        return node(node.firstChild)
    }

    /// The last child.
    public var lastChild: XMLTreeNode? {
        tree.expand(index)
        return node(tree.memory.lastChild(of: index))
    }

    /// The children in their order; the sequence goes from one to the next, also when the tree changes meanwhile.
    public var children: some Sequence<XMLTreeNode> {
        sequence(state: firstChild) { (node: inout XMLTreeNode?) in
            defer { node = node?.next }
            return node
        }
    }

    /// The children that are elements.
    public var elements: [XMLTreeNode] { children.filter { $0.kind == .element } }

    /// The children that are elements with a name, as it is spelled.
    ///
    /// - Complexity: O(*n*) in the children.
    public func elements(_ name: String) -> [XMLTreeNode] {
        guard let number = number(of: name) else { return [] }
        return children.filter { $0.node.name == number && $0.node.kind == .element }
    }

    /// The first child that is an element with a name, as it is spelled, or nil.
    public func first(_ name: String) -> XMLTreeNode? {
        guard let number = number(of: name) else { return nil }
        return children.first { $0.node.name == number && $0.node.kind == .element }
    }

    /// The first child that is an element with a name in a namespace, or nil.
    public func first(_ local: String, in namespace: String) -> XMLTreeNode? {
        children.first { $0.isNamed(local, in: namespace) }
    }

    /// The first element at a path of names, as they are spelled, below this node: `tree.root["channel/item/title"]`.
    ///
    /// - Returns: The first one in the order of the document, or nil.
    /// - Complexity: O(*n*) in the children of the elements on the way.
    public subscript(path: String) -> XMLTreeNode? {
        let slash = path.firstIndex(of: "/")
        guard let slash else { return first(path) }
        let rest = String(path[path.index(after: slash)...])
        for element in elements(String(path[..<slash])) {
            if let found = element[rest] { return found }
        }
        return nil
    }

    private func number(of name: String) -> Int32? {
        tree.expand(index)
        return name.withUTF8Span { tree.memory.names.known($0) }
    }

    // MARK: Text

    /// The text of a text, a comment or a processing instruction; of an element, that of all texts within it.
    ///
    /// - Complexity: O(*n*) in what is within.
    public var text: String {
        switch node.kind {
        case .element, .document:
            return String(decoding: textBytes, as: UTF8.self)
        case .text, .comment, .instruction:
            return String(decoding: bytes(of: node), as: UTF8.self)
        case .entityReference:
            return ""
        }
    }

    private func bytes(of node: TreeNode) -> ArraySlice<UInt8> {
        node.flags.contains(.isCopied) ? tree.memory.copies[node.content] : tree.document[node.content]
    }

    private var textBytes: [UInt8] {
        var bytes: [UInt8] = []
        tree.expand(index)
        var next = node.firstChild
        while next >= 0 {
            let node = tree.memory.nodes[Int(next)]
            if node.kind == .text { bytes += self.bytes(of: node) }
            if node.kind == .element {
                tree.expand(next)
                if case let child = tree.memory.nodes[Int(next)].firstChild, child >= 0 {
                    next = child
                    continue
                }
            }
            // The next one, of this element or of one around it.
            var last = next
            while last != index, tree.memory.nodes[Int(last)].next < 0 { last = tree.memory.nodes[Int(last)].parent }
            next = last == index ? -1 : tree.memory.nodes[Int(last)].next
        }
        return bytes
    }

    // MARK: Attributes

    /// The names, as they are spelled, and values of the attributes of an element, with the declarations of namespaces.
    public var attributes: [(name: String, value: String)] {
        tree.attributes(of: index).map { (name($0.name), value($0)) }
    }

    func value(_ attribute: TreeAttribute) -> String {
        String(decoding: tree.memory.copies[attribute.value], as: UTF8.self)
    }

    /// The value of the attribute whose name is spelled so, or nil.
    ///
    /// - Complexity: O(*n*) in the attributes.
    public func attribute(_ name: String) -> String? {
        guard let number = name.withUTF8Span({ tree.memory.names.known($0) }) else { return nil }
        return tree.attributes(of: index).first { $0.name == number }.map { value($0) }
    }

    /// The value of the attribute with a name in a namespace, or nil.
    ///
    /// - Complexity: O(*n*) in the attributes.
    public func attribute(_ local: String, in namespace: String) -> String? {
        let number = namespace.isEmpty ? -1 : namespace.withUTF8Span { tree.memory.namespaces.known($0) }
        guard let number else { return nil }
        let found = tree.attributes(of: index).first { attribute in
            guard attribute.namespace == number, !attribute.isDeclaration else { return false }
            let name = name(attribute.name)
            return (name.firstIndex(of: ":").map { String(name[name.index(after: $0)...]) } ?? name) == local
        }
        return found.map { value($0) }
    }

    // MARK: Place

    /// The way from the root to the node, such as `/people/person[2]/text()`, with the number among siblings of the name, from 1.
    ///
    /// - Complexity: O(*n*) in the siblings of the nodes on the way.
    public var path: String {
        var steps: [String] = []
        var current = self
        while let parent = current.parent {
            let test: String =
                switch current.kind {
                case .element, .document: current.name
                case .text: "text()"
                case .comment: "comment()"
                case .processingInstruction: "processing-instruction()"
                case .entityReference: "entity()"
                }
            let same = parent.children.filter {
                $0.kind == current.kind && (current.kind != .element || $0.node.name == current.node.name)
            }
            let place = same.count > 1 ? same.firstIndex(of: current).map { "[\($0 + 1)]" } ?? "" : ""
            steps.append(test + place)
            current = parent
        }
        return "/" + steps.reversed().joined(separator: "/")
    }
}
