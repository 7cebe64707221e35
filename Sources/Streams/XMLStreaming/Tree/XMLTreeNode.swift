// A node of a tree, with its properties and its relations to other nodes.

import PlistStreaming

/// A node of a tree: an element, a text, a comment, a processing instruction, a reference to an unknown entity, or the
/// document.
///
/// A node keeps its tree alive, and it remains the same node when the tree changes. A removed node doesn't belong to a
/// document anymore.
public struct XMLTreeNode: Hashable {
    /// The kinds of nodes.
    public enum Kind: Sendable, Hashable {
        case document, element, text, comment, processingInstruction, entityReference
    }

    /// The tree that contains the node.
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

    /// The kind of the node.
    public var kind: Kind { node.kind }

    /// The qualified name of an element, the target of a processing instruction, or the name of an entity. Empty for other
    /// nodes.
    public var name: String { name(node.name) }

    /// The name of an element without its prefix.
    public var localName: String { String(Self.local(name)) }

    /// The URI of an element's namespace, or an empty string if it has no namespace.
    public var namespace: String { node.namespace < 0 ? "" : tree.memory.namespaces.string(node.namespace) }

    /// Returns whether an element has a local name and namespace, regardless of its prefix.
    public func isNamed(_ local: String, in namespace: String = "") -> Bool {
        kind == .element && localName == local && self.namespace == namespace
    }

    /// The byte range of the node in the ``XMLTree/bytes`` of the tree.
    ///
    /// It is nil for nodes in the replacement text of an entity, if the document isn't in UTF-8, and after the first change
    /// of the tree.
    public var byteRange: Range<Int>? {
        node.flags.contains(.hasNoPlace) || tree.isOfOtherEncoding || tree.isChanged ? nil : node.place
    }

    /// A Boolean value that indicates whether an element is written with an end tag, as `<a></a>` instead of `<a/>`.
    public var isExpanded: Bool {
        kind == .element
            && (node.firstChild >= 0 || node.flags.isDisjoint(with: [.isEmptyTag, .hasNoPlace]))
    }

    /// The written form of the node, without its surroundings.
    ///
    /// The declarations of namespaces in the elements around it are not repeated.
    /// - Complexity: O(*n*) in the bytes of the node, and O(log *n*) in the number of removals from the tree.
    public var xml: String {
        guard kind != .document else { return tree.text }
        return String(decoding: tree.written(index).bytes, as: UTF8.self)
    }

    /// A Boolean value that indicates whether the node or a node around it was removed.
    public var isRemoved: Bool {
        var index = index
        while index > 0 {
            let node = tree.memory.nodes[Int(index)]
            if node.flags.contains(.isRemoved) { return true }
            index = node.parent
        }
        return false
    }

    // MARK: Parents and siblings

    /// The parent element or the document. It is nil for the document and for removed nodes.
    public var parent: XMLTreeNode? { node.flags.contains(.isRemoved) ? nil : node(node.parent) }

    /// The next node with the same parent.
    public var next: XMLTreeNode? { node(node.next) }

    /// The previous node with the same parent.
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

    /// The children in order. You can change the tree while you iterate, because each step goes to the next sibling.
    public var children: some Sequence<XMLTreeNode> {
        sequence(state: firstChild) { (node: inout XMLTreeNode?) in
            defer { node = node?.next }
            return node
        }
    }

    /// The children that are elements.
    public var elements: [XMLTreeNode] { children.filter { $0.kind == .element } }

    /// Returns the child elements with a qualified name.
    ///
    /// - Complexity: O(*n*) in the children.
    public func elements(_ name: String) -> [XMLTreeNode] {
        guard let number = number(of: name) else { return [] }
        return children.filter { $0.node.name == number && $0.node.kind == .element }
    }

    /// Returns the first child element with a qualified name, or nil if no child has this name.
    public func first(_ name: String) -> XMLTreeNode? {
        guard let number = number(of: name) else { return nil }
        return children.first { $0.node.name == number && $0.node.kind == .element }
    }

    /// Returns the first child element with a local name and namespace, or nil if no child has this name.
    public func first(_ local: String, in namespace: String) -> XMLTreeNode? {
        children.first { $0.isNamed(local, in: namespace) }
    }

    /// The first element at a path of qualified names below this node: `tree.root["channel/item/title"]`.
    ///
    /// - Returns: The first element in document order, or nil if the path has no element.
    /// - Complexity: O(*n*) in the children of the elements along the path.
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

    /// The text of a text, a comment or a processing instruction. For an element, all texts within it.
    ///
    /// - Complexity: O(*n*) in the content of the node.
    public var text: String {
        switch node.kind {
        case .element, .document:
            return String(decoding: textBytes, as: UTF8.self)
        case .text, .comment, .processingInstruction:
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
            // The next sibling of this element or of an element around it.
            var last = next
            while last != index, tree.memory.nodes[Int(last)].next < 0 { last = tree.memory.nodes[Int(last)].parent }
            next = last == index ? -1 : tree.memory.nodes[Int(last)].next
        }
        return bytes
    }

    // MARK: Attributes

    /// The qualified names and the values of an element's attributes, including namespace declarations.
    public var attributes: [(name: String, value: String)] {
        tree.attributes(of: index).map { (name($0.name), value($0)) }
    }

    func value(_ attribute: TreeAttribute) -> String {
        String(decoding: tree.memory.copies[attribute.value], as: UTF8.self)
    }

    /// Returns the value of the attribute with a qualified name, or nil if the element doesn't have the attribute.
    ///
    /// - Complexity: O(*n*) in the attributes.
    public func attribute(_ name: String) -> String? {
        guard let number = name.withUTF8Span({ tree.memory.names.known($0) }) else { return nil }
        return tree.attributes(of: index).first { $0.name == number }.map { value($0) }
    }

    /// Returns the value of the attribute with a local name and namespace, or nil if the element doesn't have the attribute.
    ///
    /// - Complexity: O(*n*) in the attributes.
    public func attribute(_ local: String, in namespace: String) -> String? {
        let number = namespace.isEmpty ? -1 : namespace.withUTF8Span { tree.memory.namespaces.known($0) }
        guard let number else { return nil }
        let found = tree.attributes(of: index).first { attribute in
            attribute.namespace == number && !attribute.isDeclaration && Self.local(name(attribute.name)) == local
        }
        return found.map { value($0) }
    }

    // MARK: Place

    /// The path from the root to the node, such as `/people/person[2]/text()`. Siblings with the same name are numbered from
    /// 1.
    ///
    /// - Complexity: O(*n*) in the siblings of the nodes along the path.
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
