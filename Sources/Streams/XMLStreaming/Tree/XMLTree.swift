// A document as a tree: initializers, properties of the whole document, and writing.

public import PlistStreaming

/// A document as a tree of nodes that you can navigate and change.
///
/// ```swift
/// let tree = try XMLTree("<people><person id='1'>Ada</person></people>")
/// for person in tree.root.elements("person") { print(person.attribute("id") ?? "", person.text) }
/// try tree.root.first("person")?.setAttribute("id", "2")
/// tree.text  // <people><person id="2">Ada</person></people>
/// ```
///
/// Nodes are values in arrays of the tree. They store their byte ranges in the document. The tree keeps the document's bytes
/// and makes strings only when you ask for them.
///
/// Unchanged parts are written back byte for byte. A changed tag or text is written again, and so is a text that has become
/// adjacent to another one. The written document is well-formed. Read with the same options, it gives the same tree with two
/// exceptions: adjacent texts are joined, and texts of only white space next to elements are kept only with
/// ``XMLTreeOptions/keepsWhitespace``. White space between tags that isn't among the children is dropped where it would
/// become text: next to a text, or alone in its element.
///
/// You can limit the number of levels that are made at once with ``XMLTreeOptions/depth``. Deeper elements are made when you
/// access them.
///
/// Use a tree from only one thread or task at a time, even if you don't change it, because access may make elements.
public final class XMLTree {
    var memory: TreeMemory
    /// The bytes of the document, in UTF-8.
    let document: [UInt8]
    let options: XMLTreeOptions
    /// The encoding of the document. It is UTF-8 for a string.
    public let encoding: XMLEncoding
    /// The bytes of the document if they aren't UTF-8.
    private let original: [UInt8]?
    let declarationPlace: Range<Int>?
    /// A Boolean value that indicates whether the document has an encoding other than UTF-8, or declares one.
    let isOfOtherEncoding: Bool
    let isStandalone: Bool?
    /// The declarations of the document type, which are read only once.
    let types: DocumentTypes?
    /// The namespaces in scope at `scopeElement`, kept for the next access.
    private var scope = Namespaces()
    private var scopeElement: Int32 = 0
    /// The removed ranges of the document, sorted by their start.
    private(set) var removals: [Range<Int>] = []
    /// The error of a lazy element that couldn't be made and therefore has no children. It is always nil unless this library
    /// has a defect, because the whole document was checked before.
    package internal(set) var expansionFailure: StreamError?

    private init(_ bytes: [UInt8], isText: Bool, options: XMLTreeOptions) throws(StreamError) {
        let decoded = isText ? nil : DocumentText.decode(bytes, options.reader)
        document = decoded ?? bytes
        original = decoded == nil ? nil : bytes
        guard document.count <= Int(UInt32.max) else {
            throw StreamError(.limitExceeded, "more than 4 GiB of text in a tree")
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

    /// Builds the tree of a document from a source: bytes, a string (its declared encoding is ignored), a file or a
    /// descriptor. The tree keeps the bytes.
    ///
    /// - Throws: The first error of the source or the document, with its position; `limitExceeded` for more than 2 GiB of
    ///   nodes or 4 GiB of text.
    /// - Complexity: O(*n*) in the bytes.
    public convenience init(
        _ source: some ByteSource, options: XMLTreeOptions = XMLTreeOptions()
    ) throws(StreamError) {
        var bytes = source as? [UInt8]
        if bytes == nil { bytes = try source.withAllBytes(limit: Int(UInt32.max)) { Array(copying: $0) } }
        try self.init(bytes ?? [], isText: source.isText, options: options)
    }

    /// The document node, which is the parent of the root element and of the comments and processing instructions around it.
    public var documentNode: XMLTreeNode { XMLTreeNode(tree: self, index: 0) }

    /// The root element.
    public var root: XMLTreeNode {
        var child = memory.nodes[0].firstChild
        while child >= 0, memory.nodes[Int(child)].kind != .element { child = memory.nodes[Int(child)].next }
        return XMLTreeNode(tree: self, index: max(0, child))
    }

    /// A Boolean value that indicates whether the tree differs from the document.
    public var isChanged: Bool { memory.nodes[0].flags.contains(.hasChanges) }

    /// The document as text, with all changes.
    public var text: String {
        guard isOfOtherEncoding, !isChanged else { return String(decoding: bytes, as: UTF8.self) }
        // A string has no byte order mark.
        let mark = original != nil && document.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        return String(decoding: document.dropFirst(mark), as: UTF8.self)
    }

    /// The document as bytes. They are the original bytes if the tree is unchanged, otherwise UTF-8.
    public var bytes: [UInt8] {
        var output = ByteOutput(capacity: document.count + 1024)
        do throws(StreamError) { try write(to: &output) } catch {
            // Only descriptors can reject bytes.
            return []
        }
        return output.bytes
    }

    /// Writes the document: its original bytes if the tree is unchanged, otherwise UTF-8.
    ///
    /// - Throws: ``/PlistStreaming/StreamError/Kind/cannotWrite`` if the descriptor can't be written to.
    public func write(to output: inout ByteOutput) throws(StreamError) {
        if let original, !isChanged {
            return try original.withRawSpan { (bytes) throws(StreamError) in try output.append(bytes) }
        }
        var writer = TreeWriter(self)
        if isOfOtherEncoding { try writer.writeDeclaration(of: self, to: &output) }
        try writer.write(to: &output)
    }

    /// Removes a range of the document from the written form.
    func remove(_ range: Range<Int>) { removals.insert(range, at: firstRemoval(from: range.lowerBound)) }

    /// Returns the index of the first removal that starts at an offset or later.
    ///
    /// - Complexity: O(log *n*) in the number of removals.
    func firstRemoval(from offset: Int) -> Int {
        var (low, high) = (0, removals.count)
        while low < high {
            let middle = (low + high) / 2
            if removals[middle].lowerBound < offset { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Returns the written form of a node.
    func written(_ node: Int32) -> ByteOutput {
        var output = ByteOutput(capacity: 1024)
        var writer = TreeWriter(self)
        // Only descriptors can reject bytes.
        try? writer.write(from: node, to: &output)
        return output
    }

    /// Makes the nodes within a lazy element.
    func expand(_ index: Int32) {
        guard memory.nodes[Int(index)].flags.contains(.isLazy) else { return }
        memory.nodes[Int(index)].flags.remove(.isLazy)
        do throws(StreamError) { try expandContent(index) } catch { expansionFailure = error }
    }

    /// Reads the bytes of an element again, with the namespaces in scope and the declarations of the document type.
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

    /// Returns the number of elements around a node. If the node is an element, it is counted too.
    func level(of node: Int32) -> Int {
        var (level, node) = (0, node)
        while node > 0 {
            if memory.nodes[Int(node)].kind == .element { level += 1 }
            node = memory.nodes[Int(node)].parent
        }
        return level
    }

    /// Makes the element that a reader would read from a tag without attributes. The defaults are added.
    ///
    /// - Returns: The index of the new node, which is the last one and has no parent.
    /// - Throws: ``/PlistStreaming/StreamError/Kind/misuse`` if defaults of the document type aren't allowed in this place.
    func makeElement(_ name: String, in node: Int32) throws(StreamError) -> Int32 {
        do throws(StreamError) {
            try "<\(name)/>".withUTF8Span { (bytes) throws(StreamError) in
                try read(bytes, in: node) { memory in TagSink(memory: memory) }
            }
        } catch {
            throw StreamError(.misuse, "a default value of the document type is not allowed there", cause: error)
        }
        return Int32(memory.nodes.count - 1)
    }

    /// Reads an element as if it were within another element. The sink owns the tree's memory during the call, so that it is
    /// never copied.
    private func read<Sink: TreeSink & ~Copyable>(
        _ bytes: RawSpan, in node: Int32, _ makeSink: (consuming TreeMemory) -> Sink
    ) throws(StreamError) {
        try withScanner(in: node) { (scanner) throws(StreamError) in
            var moved = TreeMemory()
            swap(&moved, &memory)
            var sink = makeSink(moved)
            moved = TreeMemory()
            defer { swap(&sink.memory, &memory) }
            try scanner.feed(bytes, into: &sink)
            try scanner.finish(into: &sink)
        }
    }

    /// Sends the current state of an element to a sink, as a document whose root is this element.
    ///
    /// - Complexity: O(*n*) in the content of the element.
    func send<Sink: XMLSink & ~Copyable>(_ node: Int32, to sink: inout Sink) throws(StreamError) {
        let output = written(node)
        try withScanner(in: memory.nodes[Int(node)].parent) { (scanner) throws(StreamError) in
            do throws(StreamError) {
                try output.withBytes { (bytes) throws(StreamError) in try scanner.feed(bytes, into: &sink) }
                try scanner.finish(into: &sink)
            } catch {
                // The position is only that in the written element.
                throw StreamError(error.kind, error.message, path: error.path, cause: error.cause)
            }
        }
    }

    /// Calls a closure with a scanner for an element within another one.
    private func withScanner(
        in node: Int32, _ body: (inout XMLScanner) throws(StreamError) -> Void
    ) throws(StreamError) {
        let element = enterScope(of: node)
        var options = options.reader
        options.limits.totalByteCount = .max
        // The limit was already checked for the whole document.
        options.expansionByteLimit = .max / 4
        var scanner = XMLScanner(ofElementWith: types, isStandalone: isStandalone, options: options)
        scopeElement = -1
        swap(&scanner.tokenizer.namespaces, &scope)
        try body(&scanner)
        swap(&scanner.tokenizer.namespaces, &scope)
        scopeElement = element
    }

    // MARK: Namespaces

    /// Returns the URI for a prefix at an element, or nil if the prefix isn't declared, or if no default namespace is
    /// declared.
    ///
    /// - Complexity: O(*n*) in the elements around the node. If the innermost element with declarations isn't the same as in
    ///   the last call, also in the declarations of these elements.
    func uri(of prefix: [UInt8], at node: Int32) -> [UInt8]? {
        enterScope(of: node)
        return prefix.withRawSpan { scope.copyOfURI(of: $0) }
    }

    /// Discards the namespaces in scope, because a declaration was added.
    func leaveScope() { scopeElement = -1 }

    /// Declares the namespaces of an element and of the elements around it.
    ///
    /// - Returns: The innermost of these elements with declarations, or 0 if they have no declarations.
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

    /// Returns the attributes and declarations of an element.
    func attributes(of node: Int32) -> ArraySlice<TreeAttribute> {
        let element = memory.nodes[Int(node)]
        return memory.attributes[Int(element.firstAttribute)..<Int(element.firstAttribute + element.attributeCount)]
    }
}

/// A sink that owns the memory of a tree while it reads.
protocol TreeSink: XMLSink, ~Copyable {
    var memory: TreeMemory { get set }
}

/// A sink that makes the node of an element that has no parent yet.
private struct TagSink: TreeSink {
    var memory: TreeMemory

    mutating func startElement(_ tag: borrowing XMLStartTag) throws(StreamError) -> XMLInterest {
        var node = try memory.element(tag)
        node.flags.insert(.hasNoPlace)
        memory.nodes.append(node)
        return .content
    }
}
