// A document as a tree: the doors, and what belongs to the whole of it.

public import PlistStreaming

/// A document as a tree of nodes, to look around in and to change.
///
/// ```swift
/// let tree = try XMLTree("<people><person id='1'>Ada</person></people>")
/// for person in tree.root.elements("person") { print(person.attribute("id") ?? "", person.text) }
/// try tree.root.first("person")?.setAttribute("id", "2")
/// tree.text  // <people><person id="2">Ada</person></people>
/// ```
///
/// Nodes are values in arrays of the tree, with their places in the document, whose bytes the tree keeps; texts are made where they are
/// asked for. What was not changed is written back byte for byte; a tag or text that was changed is written anew, and so is a text that has
/// come beside another one. The whole is well-formed, and read again by the same options it is the same tree, but that
/// texts side by side are one, and that texts of nothing but white space beside elements are there only with
/// ``XMLTreeOptions/keepsWhitespace``. White space between tags that is among no children goes where it would become text:
/// beside one, and where it is left alone in its element.
/// Elements below a depth are not made until they are asked for, if the options say so: ``XMLTreeOptions/depth``.
///
/// A tree is for one thread or task at a time, also where nothing is changed, since elements may be made as they are asked for.
public final class XMLTree {
    var memory: TreeMemory
    /// The bytes of the document, in UTF-8.
    let document: [UInt8]
    let options: XMLTreeOptions
    /// The encoding that the document was read in; UTF-8 for a string.
    public let encoding: XMLEncoding
    /// The bytes of the document where they are not UTF-8.
    private let original: [UInt8]?
    let declarationPlace: Range<Int>?
    /// A Boolean value that indicates whether the document says that it is in another encoding than UTF-8, or is.
    let isOfOtherEncoding: Bool
    let isStandalone: Bool?
    /// What the document type declares, which is read once.
    let types: DocumentTypes?
    /// The namespaces in scope at an element that declares some, kept for the next time.
    private var scope = Namespaces()
    private var scopeElement: Int32 = 0
    /// The parts of the document that were removed, in no order.
    var removals: [Range<Int>] = []
    /// The error of an element that could not be made when it was asked for, and has no children therefore; nil unless there is a
    /// defect in this library, since all was checked before.
    public internal(set) var expansionFailure: StreamError?

    private init(_ bytes: [UInt8], isText: Bool, options: XMLTreeOptions) throws(StreamError) {
        let decoded = isText ? nil : DocumentText.decode(bytes, options.reader)
        document = decoded ?? bytes
        original = decoded == nil ? nil : bytes
        guard document.count <= Int(UInt32.max) else {
            throw StreamError(.limitExceeded, "a tree has at most 4 GiB of text")
        }
        self.options = options
        var builder = TreeBuilder(document: document, options: options)
        var scanner = XMLScanner(options: options.reader)
        if isText { scanner.takeText() }
        try bytes.withRawSpan { (bytes) throws(StreamError) in try scanner.feed(bytes, into: &builder) }
        try scanner.finish(into: &builder)
        (types, isStandalone) = (scanner.tokenizer.types, scanner.tokenizer.isStandalone)
        encoding = scanner.input.encoding ?? .utf8
        declarationPlace = builder.declarationPlace
        isOfOtherEncoding = original != nil || builder.declaresOtherEncoding
        memory = builder.memory
    }

    /// Builds the tree of a document in a source: bytes, a string, whose declared encoding is ignored, a file or a descriptor. The
    /// tree keeps the bytes.
    ///
    /// - Throws: The first error of the source or the document, with its position; `limitExceeded` beyond 2 GiB of nodes or 4 GiB
    ///   of text.
    /// - Complexity: O(*n*) in the bytes.
    public convenience init(
        _ source: some ByteSource, options: XMLTreeOptions = XMLTreeOptions()
    ) throws(StreamError) {
        var bytes = source as? [UInt8]
        if bytes == nil { bytes = try source.withAllBytes(limit: Int(UInt32.max)) { Array(copying: $0) } }
        try self.init(bytes ?? [], isText: source.isText, options: options)
    }

    /// The document: the parent of the root element, and of comments and processing instructions outside it.
    public var documentNode: XMLTreeNode { XMLTreeNode(tree: self, index: 0) }

    /// The root element.
    public var root: XMLTreeNode {
        var child = memory.nodes[0].firstChild
        while child >= 0, memory.nodes[Int(child)].kind != .element { child = memory.nodes[Int(child)].next }
        return XMLTreeNode(tree: self, index: max(0, child))
    }

    /// A Boolean value that indicates whether anything is not as it is in the document.
    public var isChanged: Bool { memory.nodes[0].flags.contains(.hasChanges) }

    /// The document as text, with all changes.
    public var text: String {
        guard isOfOtherEncoding, !isChanged else { return String(decoding: bytes, as: UTF8.self) }
        // What is a string has no byte order mark.
        let mark = original != nil && document.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        return String(decoding: document.dropFirst(mark), as: UTF8.self)
    }

    /// The document as bytes: those it was made of unless something was changed, else UTF-8.
    public var bytes: [UInt8] {
        var output = ByteOutput(capacity: document.count + 1024)
        do throws(StreamError) { try write(to: &output) } catch {
            // Only descriptors refuse bytes.
            return []
        }
        return output.bytes
    }

    /// Writes the document: the bytes it was made of unless something was changed, else UTF-8.
    ///
    /// - Throws: ``/PlistStreaming/StreamError/Kind/cannotWrite`` when the descriptor refuses.
    public func write(to output: inout ByteOutput) throws(StreamError) {
        if let original, !isChanged {
            return try original.withRawSpan { (bytes) throws(StreamError) in try output.append(bytes) }
        }
        var writer = TreeWriter(self, removals: removals)
        if isOfOtherEncoding { try writer.writeDeclaration(of: self, to: &output) }
        try writer.write(to: &output)
    }

    /// A node as it is written.
    func xml(of node: Int32) -> String {
        var output = ByteOutput(capacity: 1024)
        var writer = TreeWriter(self, removals: removals)
        // Only descriptors refuse bytes.
        try? writer.write(from: node, to: &output)
        return String(decoding: output.bytes, as: UTF8.self)
    }

    /// Makes the nodes within an element that were not made yet.
    func expand(_ index: Int32) {
        guard memory.nodes[Int(index)].flags.contains(.isLazy) else { return }
        memory.nodes[Int(index)].flags.remove(.isLazy)
        do throws(StreamError) { try expandContent(index) } catch { expansionFailure = error }
    }

    /// Reads the bytes of an element again, with what is known around it: namespaces in scope, and what the document type declares.
    ///
    /// - Complexity: O(*n*) in the bytes of the element, and in the elements around it.
    private func expandContent(_ index: Int32) throws(StreamError) {
        let (node, level) = (memory.nodes[Int(index)], level(of: index))
        try document.withRawSpan { (bytes) throws(StreamError) in
            try read(bytes.extracting(node.place), in: node.parent) { memory in
                TreeBuilder(memory, document: document, of: index, at: level, options: options)
            }
        }
    }

    /// The number of elements around a node, itself included if it is one.
    func level(of node: Int32) -> Int {
        var (level, node) = (0, node)
        while node > 0 {
            if memory.nodes[Int(node)].kind == .element { level += 1 }
            node = memory.nodes[Int(node)].parent
        }
        return level
    }

    /// Makes the element that a reader finds in a tag: with its attributes as their types want them, and with defaults.
    ///
    /// - Returns: The index of the node, the last one, which is in no other.
    /// - Throws: ``/PlistStreaming/StreamError/Kind/misuse`` where defaults cannot stand there.
    func makeElement(
        _ name: String, _ attribute: (name: String, value: String)? = nil, in node: Int32
    ) throws(StreamError) -> Int32 {
        var output = ByteOutput()
        try "<\(name)".withUTF8Span { (tag) throws(StreamError) in try output.append(tag) }
        if let attribute {
            try " \(attribute.name)=\"".withUTF8Span { (name) throws(StreamError) in try output.append(name) }
            try attribute.value.withUTF8Span { (value) throws(StreamError) in
                try WrittenText.append(value, in: .attribute, to: &output)
            }
        }
        try WrittenText.append(attribute == nil ? "/>" : "\"/>", to: &output)
        do throws(StreamError) {
            try output.withBytes { (bytes) throws(StreamError) in
                try read(bytes, in: node) { memory in TagSink(memory: memory) }
            }
        } catch {
            throw StreamError(.misuse, "a default of the document type cannot stand there", cause: error)
        }
        return Int32(memory.nodes.count - 1)
    }

    /// Reads an element as one that is within another one, by a sink that has the memory meanwhile, so that it is never copied.
    private func read<Sink: TreeSink & ~Copyable>(
        _ bytes: RawSpan, in node: Int32, _ makeSink: (consuming TreeMemory) -> Sink
    ) throws(StreamError) {
        let element = enterScope(of: node)
        var options = options.reader
        options.limits.totalByteCount = .max
        // What was checked with the whole document is not counted against a part of it.
        options.expansionByteLimit = .max / 4
        var scanner = XMLScanner(ofElementWith: types, isStandalone: isStandalone, options: options)
        scopeElement = -1
        swap(&scanner.tokenizer.namespaces, &scope)
        var moved = TreeMemory()
        swap(&moved, &memory)
        var sink = makeSink(moved)
        moved = TreeMemory()
        defer { swap(&sink.memory, &memory) }
        try scanner.feed(bytes, into: &sink)
        try scanner.finish(into: &sink)
        swap(&scanner.tokenizer.namespaces, &scope)
        scopeElement = element
    }

    // MARK: Namespaces

    /// The URI that a prefix stands for at an element; nil for a prefix that is not declared, and where there is no default.
    ///
    /// - Complexity: O(*n*) in the elements around; where it is asked for other elements than before, in their declarations as well.
    func uri(of prefix: [UInt8], at node: Int32) throws(StreamError) -> [UInt8]? {
        enterScope(of: node)
        let index = try prefix.withRawSpan { (prefix) throws(StreamError) in scope.uri(of: prefix) }
        return index.map { scope.copy(of: $0) }
    }

    /// Forgets the namespaces in scope, since there is another declaration.
    func leaveScope() { scopeElement = -1 }

    /// Declares the namespaces that an element and those around it declare.
    ///
    /// - Returns: The innermost of them that declares any, 0 without one.
    @discardableResult
    private func enterScope(of node: Int32) -> Int32 {
        func declaring(_ node: Int32) -> Int32 {
            var node = node
            while node > 0, !memory.nodes[Int(node)].flags.contains(.declares) { node = memory.nodes[Int(node)].parent }
            return max(0, node)
        }
        let innermost = declaring(node)
        guard innermost != scopeElement else { return innermost }
        var elements: [Int32] = []
        var element = innermost
        while element > 0 {
            elements.append(element)
            element = declaring(memory.nodes[Int(element)].parent)
        }
        scope = Namespaces()
        for element in elements.reversed() {
            for attribute in attributes(of: element) where attribute.isDeclaration {
                memory.names.withName(attribute.name) { name in
                    let prefix = name.part(min(6, name.byteCount), max(0, name.byteCount - 6))
                    unsafe memory.copies.withUnsafeBytes { copies in
                        // SAFETY: the span does not leave the closure. All declarations were checked when they were made.
                        _ = scope.declare(prefix, unsafe copies.bytes.extracting(attribute.value))
                    }
                }
            }
        }
        scopeElement = innermost
        return innermost
    }

    /// The attributes and declarations of an element.
    func attributes(of node: Int32) -> ArraySlice<TreeAttribute> {
        let element = memory.nodes[Int(node)]
        return memory.attributes[Int(element.firstAttribute)..<Int(element.firstAttribute + element.attributeCount)]
    }
}

extension Namespaces {
    /// The bytes of a URI.
    fileprivate func copy(of uri: Int) -> [UInt8] {
        let slice = slice(uri)
        return Array(copying: uriBytes.part(Int(slice.start), Int(slice.count)))
    }
}

/// A sink that has the memory of a tree while it reads.
protocol TreeSink: XMLSink, ~Copyable {
    var memory: TreeMemory { get set }
}

/// A sink that makes a node of an element, which is in no other.
private struct TagSink: TreeSink {
    var memory: TreeMemory

    mutating func startElement(_ tag: borrowing XMLStartTag) throws(StreamError) -> XMLInterest {
        var node = try memory.element(tag)
        node.flags.insert(.hasNoPlace)
        memory.nodes.append(node)
        return .content
    }
}
